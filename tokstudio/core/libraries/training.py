"""Trains tokenizers with their own libraries, in the process of `server`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.wording import several

#: SentencePiece passes over longer lines, in bytes of UTF-8. Its byte pair encoding aborts at a word of 65,536
#: characters, and its Unigram takes time with the square of the length of a text that repeats itself.
LONGEST_LINE = 65_000
#: SentencePiece also passes over lines with this character, which it uses itself.
RESERVED = "\u2585"

_SPACES = " {2,}"
# What SentencePiece puts before the words of its errors: the kind, the place in its sources, the condition.
_PLACE = re.compile(r"^[A-Z_]+: (?:\S+\(\d+\) \[.*?\] ?(?=[A-Z]|$))?")
_TOO_FEW = "not large enough to contain all chars"  # of the Unigram of tokenizers
_NO_TEXT = re.compile(r"\[!(sentences_|required_chars_)\.empty\(\)\]")
_TOO_SMALL = re.compile(r"required_chars\. \d+ vs (\d+)\.")


def train(name: str, library: str, settings: Mapping[str, Any], texts: Iterator[str]) -> list[bytes]:
    """The file that a library makes, and as JSON how many lines it passed over (`skipped`).

    The settings are `algorithm`, `vocabulary_size`, `special_tokens`, `unknown_token`, and those of the algorithm.

    Raises:
        FormatError: The library refuses for a reason that is known; the message begins with `name`. For others it
            raises its own errors.
    """
    if library == "tokenizers":
        content, skipped = _by_tokenizers(name, settings, texts), 0
    else:
        content, skipped = _by_sentencepiece(name, settings, texts)
    return [content, json.dumps({"skipped": skipped}).encode()]


def _by_tokenizers(name: str, settings: Mapping[str, Any], texts: Iterator[str]) -> bytes:
    import tokenizers

    library: Any = tokenizers
    tokenizer, trainer = (_word_piece if settings["algorithm"] == "wordpiece" else _unigram)(library, settings)
    try:
        tokenizer.train_from_iterator(texts, trainer)
    except Exception as error:
        if _TOO_FEW not in str(error):
            raise
        raise FormatError(
            f"{name}: the vocabulary size is too small: each character of the corpus takes a token. Set it higher."
        ) from error
    return tokenizer.to_str(pretty=True).encode()


def _word_piece(library: Any, settings: Mapping[str, Any]) -> tuple[Any, Any]:  # noqa: ANN401
    """As of BERT for cased text in many languages."""
    prefix = settings["continuing_prefix"]
    tokenizer = library.Tokenizer(
        library.models.WordPiece(unk_token=settings["unknown_token"], continuing_subword_prefix=prefix)
    )
    tokenizer.normalizer = library.normalizers.BertNormalizer(strip_accents=False, lowercase=False)
    tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = library.decoders.WordPiece(prefix=prefix)
    trainer = library.trainers.WordPieceTrainer(
        vocab_size=settings["vocabulary_size"],
        min_frequency=settings["min_frequency"],
        special_tokens=settings["special_tokens"],
        continuing_subword_prefix=prefix,
        show_progress=False,
    )
    return tokenizer, trainer


def _unigram(library: Any, settings: Mapping[str, Any]) -> tuple[Any, Any]:  # noqa: ANN401
    """As of the library's own class for SentencePiece's Unigram."""
    tokenizer, normalizers = library.Tokenizer(library.models.Unigram()), library.normalizers
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(library.Regex(_SPACES), " ")]
    )
    tokenizer.pre_tokenizer = library.pre_tokenizers.Metaspace()
    tokenizer.decoder = library.decoders.Metaspace()
    trainer = library.trainers.UnigramTrainer(
        vocab_size=settings["vocabulary_size"],
        special_tokens=settings["special_tokens"],
        unk_token=settings["unknown_token"],
        show_progress=False,
    )
    return tokenizer, trainer


def _by_sentencepiece(name: str, settings: Mapping[str, Any], texts: Iterator[str]) -> tuple[bytes, int]:
    import sentencepiece

    library: Any = sentencepiece
    model_file, skipped = io.BytesIO(), 0

    def kept() -> Iterator[str]:
        nonlocal skipped
        for text in texts:
            if len(text.encode()) > LONGEST_LINE or RESERVED in text:
                skipped += 1
            else:
                yield text

    try:
        library.SentencePieceTrainer.train(
            sentence_iterator=kept(),
            model_writer=model_file,
            model_type=settings["algorithm"].removeprefix("sentencepiece-"),
            vocab_size=settings["vocabulary_size"],
            # A corpus without so many pieces gives fewer.
            hard_vocab_limit=False,
            user_defined_symbols=settings["special_tokens"],
            unk_piece=settings["unknown_token"],
            character_coverage=settings["character_coverage"],
            byte_fallback=settings["byte_fallback"],
            max_sentence_length=LONGEST_LINE,
        )
    except RuntimeError as error:
        raise FormatError(f"{name}: {_in_words(str(error), skipped)}") from error
    return model_file.getvalue(), skipped


def _in_words(error: str, skipped: int) -> str:
    """A sentence for an error of SentencePiece."""
    if (match := _TOO_SMALL.search(error)) is not None:
        return (
            f"the vocabulary size must be at least {int(match.group(1)):,}, one for each character of the corpus and "
            "special token: set it higher, or cover fewer characters."
        )
    if _NO_TEXT.search(error):
        passed = f" It passed over {several(skipped, 'line')}." if skipped else ""
        return f"the sentencepiece library finds no text to train on in this corpus.{passed}"
    words = (_PLACE.sub("", error).strip() or error).removesuffix(".")
    return f"the sentencepiece library cannot train on this corpus: {words}."
