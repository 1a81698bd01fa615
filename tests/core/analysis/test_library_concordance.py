"""The lines of a library tokenizer, compared with the library's ids of whole documents."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
from collections import Counter

import numpy as np
import pytest
import sentencepiece

from tokstudio import load
from tokstudio.core.analysis import concordance as library_places
from tokstudio.core.analysis import token_counts as usage
from tokstudio.core.analysis.concordance import Concordance
from tokstudio.core.analysis.token_counts import count_uses_work
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.libraries.client import LibraryProcess
from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer

POEM = "she sells sea shells by the sea shore, and the shells she sells are sea shells\n"
# A character that has no token of its own is several tokens, of which all but one take no text.
STRANGE = "\U00013000"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory) -> LibraryTokenizer:
    """Puts a space before every text, and spells what it does not know in bytes."""
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([POEM] * 20),
        model_writer=out,
        model_type="bpe",
        vocab_size=300,
        hard_vocab_limit=False,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        minloglevel=2,
    )
    path = tmp_path_factory.mktemp("model") / "small.model"
    path.write_bytes(out.getvalue())
    return load(path)


def found(corpus, tokenizer, token):
    return finish(Concordance(corpus, tokenizer, token).find_work(100_000))


@pytest.mark.parametrize(
    "texts",
    [
        [f"the sea {STRANGE}"],
        [STRANGE],
        [f"she {STRANGE}{STRANGE}", "", "sea shore", f"{STRANGE} a", f"by\n{STRANGE}", "x"],
    ],
)
def test_tokens_without_text_stand_in_their_own_document(tokenizer, texts):
    corpus = Corpus.from_texts(texts)
    expected = {(number, token): n for number, text in enumerate(texts)
                for token, n in Counter(tokenizer.encode(text)).items()}  # fmt: skip
    for token in {token for _, token in expected}:
        hits = found(corpus, tokenizer, token)
        counts = Counter((hit.document, token) for hit in hits)
        assert counts == {key: n for key, n in expected.items() if key[1] == token}
        for hit in hits:
            assert hit.left + hit.text + hit.right in texts[hit.document]


def test_in_word_counts_each_word_is_encoded_separately(tokenizer):
    corpus = Corpus.from_counts({f"sea{STRANGE}": 5, "shore": 3, STRANGE: 2})
    last = tokenizer.encode(STRANGE)[-1]
    hits = found(corpus, tokenizer, last)
    assert {(hit.document, hit.count, hit.left) for hit in hits} == {(0, 5, f"sea{STRANGE}"), (2, 2, STRANGE)}
    assert sum(hit.count for hit in hits) == finish(count_uses_work(tokenizer, corpus))[last]


def test_spans_of_a_long_text_have_the_occurrences_of_the_whole(tokenizer, monkeypatch):
    monkeypatch.setattr(library_places, "_LIBRARY_PIECE", 100)
    monkeypatch.setattr(library_places, "_LIBRARY_MARGIN", 60)
    text = POEM * 3 + "12 " * 99 + f"{STRANGE} and\n  {STRANGE}{STRANGE}\n" * 20 + "the shells " * 40
    corpus = Corpus.from_texts([text, f"sea {STRANGE}"])
    uses = finish(count_uses_work(tokenizer, corpus))
    assert any(uses[token] and made == b" " for token, made in enumerate(tokenizer.tokens))
    for token in np.flatnonzero(uses).tolist():
        hits = found(corpus, tokenizer, token)
        assert len(hits) == uses[token]
        assert [hit.position for hit in hits] == sorted(hit.position for hit in hits)


def test_a_token_added_before_a_text_occurs_once(tokenizer, monkeypatch):
    monkeypatch.setattr(usage, "_LONGEST_SEQUENCE", 1000)
    monkeypatch.setattr(usage, "_LAST_LINES", 200)
    text = POEM * 50
    uses = finish(count_uses_work(tokenizer, Corpus.from_text(text)))
    assert {token: n for token, n in enumerate(uses.tolist()) if n} == Counter(tokenizer.encode(text))


def test_short_documents_are_sent_to_the_library_together(tokenizer, monkeypatch):
    asked = []
    ask = LibraryProcess.parts

    def counted(process, *request):
        asked.append(request)
        return ask(process, *request)

    monkeypatch.setattr(LibraryProcess, "parts", counted)
    texts = [f"sea {number}" for number in range(2000)]
    for corpus in (Corpus.from_texts(texts), Corpus.from_counts(dict.fromkeys(texts, 3))):
        asked.clear()
        sea = tokenizer.encode("sea")[0]
        uses = finish(count_uses_work(tokenizer, corpus))
        hits = found(corpus, tokenizer, sea)
        assert [hit.document for hit in hits] == list(range(2000))
        assert uses[sea] == sum(hit.count for hit in hits)
        assert len(asked) < 10
