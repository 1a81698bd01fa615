"""Trains tokenizers that have no merges, with their own libraries."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

import sentencepiece
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers


def word_piece(texts: Iterable[str], size: int, specials: Sequence[str] = ("[UNK]", "[CLS]")) -> tokenizers.Tokenizer:
    """In the manner of BERT; `specials` include [UNK]."""
    made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=list(specials), show_progress=False)
    made.train_from_iterator(texts, trainer)
    return made


def word_level(texts: Iterable[str]) -> tokenizers.Tokenizer:
    made = tokenizers.Tokenizer(models.WordLevel(unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=["[UNK]"], show_progress=False))
    return made


def unigram(texts: Iterable[str], size: int, specials: Sequence[str] = ("<unk>",)) -> tokenizers.Tokenizer:
    """In the manner of XLM-R; `specials` include <unk>."""
    made = tokenizers.Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=size, special_tokens=list(specials), unk_token="<unk>", show_progress=False
    )
    made.train_from_iterator(texts, trainer)
    return made


def sentencepiece_unigram(sentences: Iterable[str], size: int, **settings: Any) -> bytes:
    """The file of a model in the manner of T5."""
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=out,
        model_type="unigram",
        vocab_size=size,
        hard_vocab_limit=False,
        minloglevel=2,
        **settings,
    )
    return out.getvalue()
