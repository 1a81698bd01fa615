"""The occurrences of a token, compared with encoding whole documents or pre-tokens."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
from collections import Counter

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.reference import encode_slowly, named_pattern, pre_tokens
from tests.core.texts import documents, patient, settings_of_runs
from tokstudio import ConfigError, Corpus, Tokenizer, TrainingConfig, load, train
from tokstudio.core.analysis import concordance as module
from tokstudio.core.analysis import document_encoder
from tokstudio.core.analysis.concordance import Concordance
from tokstudio.core.analysis.token_counts import count_uses_work
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.sampling import hold_out_work
from tokstudio.core.libraries.client import LibraryProcess
from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer

POEM = "she sells sea shells by the sea shore, and the shells she sells are sea shells\n"


def found(corpus, tokenizer, token, most=100_000, **chosen):
    concordance = Concordance(corpus, tokenizer, token, **chosen)
    hits = finish(concordance.find_work(most))
    assert concordance.hits == hits
    assert concordance.done
    return hits


def places(corpus, tokenizer, token, **chosen):
    return [(hit.source, hit.position) for hit in found(corpus, tokenizer, token, **chosen)]


def expected(corpus, tokenizer, split):
    """Where each token stands, by its id: split gives the sequences of a document."""
    standing = {}
    merges, tokens = tokenizer.merges.tolist(), tokenizer.tokens
    for number, source in enumerate(corpus.sources):
        at = 0
        for document in np.split(source.data, source.ends[:-1]):
            for sequence in split(document.tobytes()):
                for token in encode_slowly(sequence, merges):
                    standing.setdefault(token, []).append((number, at))
                    at += len(tokens[token])
    return standing


EXPRESSIONS = {"none": None, "whitespace": r"\s*\S+|\s+", r"\w+|\W": r"\w+|\W"}


@settings(patient, max_examples=100)
@given(
    documents, settings_of_runs, st.sampled_from(["none", "none", "whitespace", "gpt2", "cl100k", r"\w+|\W"]), st.data()
)
def test_documents_or_pre_tokens_are_sequences(texts, chosen, pattern, data):
    corpus = Corpus((*Corpus.from_texts(texts).sources, *Corpus.from_text(POEM).sources))
    tokenizer = train(corpus, TrainingConfig(**chosen, pattern=pattern))
    tokenizer = tokenizer.at(data.draw(st.integers(0, len(tokenizer.merges))))
    expression = EXPRESSIONS[pattern] if pattern in EXPRESSIONS else named_pattern(pattern)
    standing = expected(corpus, tokenizer, lambda text: pre_tokens(text, expression) if expression else [text])
    for token in [*data.draw(st.lists(st.integers(0, len(tokenizer) - 1), max_size=5)), len(tokenizer) - 1, 115]:
        assert places(corpus, tokenizer, token) == standing.get(token, [])


@pytest.mark.parametrize("pattern", ["none", "gpt2", "cl100k", "llama3", "o200k", r"\s?\w+|\W"])
def test_the_number_of_occurrences_equals_the_counts_of_the_run(pattern, monkeypatch):
    """Encoded bit by bit, from places in the middle of one document."""
    monkeypatch.setattr(module, "AROUND", 16)
    monkeypatch.setattr(module, "LEAST_CORE", 1 << 7)
    monkeypatch.setattr(module, "MOST_CORE", 1 << 10)
    monkeypatch.setattr(module, "MARGIN", 1 << 9)
    monkeypatch.setattr(module, "FIRST_PIECE", 1 << 8)
    lines = (
        f"{n % 37} It's {n * n % 101} of\n\n  many,  {'日本é😀' * (n % 3)}!{' ' * (n % 5)}\r\n" for n in range(900)
    )
    text = "".join(lines) + "日" * 60 + "end  "
    corpus = Corpus.from_text(text)
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=400, pattern=pattern))
    for merges in (0, 60, len(tokenizer.merges)):
        uses = tokenizer.run.uses(merges)
        for token in (*range(256 + merges - 5, 256 + merges), 32, 0xE6, 260):
            if token < len(uses):
                assert len(places(corpus, tokenizer.at(merges), token)) == uses[token]


def test_the_next_page_continues_after_the_last():
    corpus = Corpus.from_texts([POEM] * 300)
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=270, pattern="gpt2"))
    token = int(np.argmax(tokenizer.run.uses()))
    concordance, pages = Concordance(corpus, tokenizer, token), []
    while not concordance.done:
        pages.append(finish(concordance.find_work(50)))
    assert all(50 <= len(page) <= 80 for page in pages[:-1])
    assert [hit for page in pages for hit in page] == concordance.hits == found(corpus, tokenizer, token)
    assert len(concordance.hits) == tokenizer.run.uses()[token] > 500
    assert finish(concordance.find_work(50)) == []


def test_a_search_that_is_cancelled_goes_on():
    corpus = Corpus.from_texts([POEM] * 50)
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=270))
    token = int(np.argmax(tokenizer.run.uses()))
    concordance = Concordance(corpus, tokenizer, token)
    work = concordance.find_work(40)
    for _ in range(10):
        progress = next(work)
        assert 0 <= progress.done <= progress.total
    work.close()
    assert 0 < len(concordance.hits) < 40
    finish(concordance.find_work(100_000))
    assert concordance.hits == found(corpus, tokenizer, token)


class TestLines:
    def lines(self, text, token, pattern="none", **chosen):
        corpus = Corpus.from_texts(text if isinstance(text, list) else [text])
        tokenizer = train(Corpus.from_text("abab"), TrainingConfig(vocabulary_size=257, pattern=pattern))
        return [(hit.left, hit.text, hit.right) for hit in found(corpus, tokenizer, token, **chosen)]

    @pytest.mark.parametrize(
        ("text", "token", "chosen", "lines"),
        [
            ("first\none ab two\r\nlast ab", 256, {}, [("one ", "ab", " two"), ("last ", "ab", "")]),
            ("x" * 100 + "ab" + "y" * 100, 256, {"width": 5}, [("xxxxx", "ab", "yyyyy")]),
            ("日本", 0xE6, {}, [("", "\ufffd", "\ufffd本"), ("日", "\ufffd", "\ufffd")]),
            (["x", "ab", "y"], 256, {}, [("", "ab", "")]),
            ("x\ny", 10, {}, [("x", "\n", "y")]),
        ],
    )
    def test_a_hit_contains_its_line(self, text, token, chosen, lines):
        assert self.lines(text, token, **chosen) == lines

    def test_no_character_is_cut_at_the_ends_of_a_line(self):
        for filler in ("é", "日", "😀"):
            for pad in range(5):
                (line,) = self.lines("." * pad + filler * 40 + "ab" + "." * pad + filler * 40, 256, width=7)
                assert line == ((filler * 7, "ab", ("." * pad + filler * 7)[:7]))


def test_special_tokens_are_found_and_are_not_searched_for_text():
    corpus = Corpus.from_texts(["the <a the> sea", "<a the>the<a the>", "the <a"])
    config = TrainingConfig(vocabulary_size=270, special_tokens=["<a the>"], pattern="gpt2")
    tokenizer = train(corpus, config)
    the = next(token for token in range(len(tokenizer)) if tokenizer.tokens[token] == b"the")
    assert places(corpus, tokenizer, the) == [(0, 0), (0, 22), (0, 32)]
    assert places(corpus, tokenizer, tokenizer.special_tokens["<a the>"]) == [(0, 4), (0, 15), (0, 25)]
    for token in range(256, 256 + len(tokenizer.merges)):
        assert len(places(corpus, tokenizer, token)) == tokenizer.run.uses()[token]


def test_held_out_text_is_not_searched():
    corpus = Corpus.from_text("".join(f"line {n} of many, {n * n} and {n % 7}\n" for n in range(90)))
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=290, held_out=0.25))
    _, (held,) = finish(hold_out_work(corpus.sources, 0.25))
    held_lines = held.data.tobytes().decode().split("\n")[:-1]
    for token in np.argsort(tokenizer.run.uses())[-5:].tolist():
        hits = found(corpus, tokenizer, token, held_out=0.25)
        assert len(hits) == tokenizer.run.uses()[token] > 5
        assert all(f"{hit.left}{hit.text}{hit.right}".strip("\n") not in held_lines for hit in hits)
        assert [corpus.sources[0].data[hit.position] for hit in hits] == [tokenizer.tokens[token][0]] * len(hits)


def test_hits_in_word_counts_have_the_count():
    corpus = Corpus.from_counts({"low": 5, " lower": 2, "newest": 6, "a low": 3})
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=260, pattern="gpt2"))
    for token in (*range(256, 260), 108):
        hits = found(corpus, tokenizer, token)
        assert sum(hit.count for hit in hits) == tokenizer.run.uses()[token]
    low = next(token for token in range(260) if tokenizer.tokens[token] == b"low")
    assert [(hit.left, hit.right, hit.count) for hit in found(corpus, tokenizer, low)] == [
        ("", "", 5),
        (" ", "er", 2),
        ("a ", "", 3),
    ]


def test_characters_and_the_unknown_token():
    corpus = Corpus.from_texts(["aéa?日aé", "日日aé!"])
    config = TrainingConfig(
        base="characters", base_vocabulary=["a", "é", "日", "<u>"], unknown_token="<u>", vocabulary_size=5
    )
    tokenizer = train(corpus, config)
    assert [(hit.position, hit.text) for hit in found(corpus, tokenizer, 3)] == [(4, "?"), (20, "!")]
    assert [hit.position for hit in found(corpus, tokenizer, 4)] == [0, 8, 17]
    assert places(corpus, tokenizer, 2) == [(0, 5), (0, 11), (0, 14)]


def test_an_unknown_token_that_is_special_is_found_where_its_text_was_cut_out_as_well():
    config = TrainingConfig(
        base="characters", base_vocabulary=["a", "b"], special_tokens=["<u>"], unknown_token="<u>", vocabulary_size=4
    )
    tokenizer = train(Corpus.from_text("abab"), config)
    unknown = tokenizer.special_tokens["<u>"]
    corpus = Corpus.from_texts(["<u>aé<u><u>ab<", "b<u", "<u>", ">?ab<u>"])
    hits = found(corpus, tokenizer, unknown)
    texts = ["<u>", "é", "<u>", "<u>", "<", "<", "u", "<u>", ">", "?", "<u>"]
    assert [hit.text for hit in hits] == texts
    assert [hit.position for hit in hits] == sorted(hit.position for hit in hits)
    assert len(hits) == finish(count_uses_work(tokenizer, corpus))[unknown]


def test_invalid_utf8_is_skipped_with_base_characters_and_with_a_pattern_only_its_words():
    tokenizer = train(Corpus.from_text("abab"), TrainingConfig(base="characters", vocabulary_size=3))
    assert len(places(Corpus.from_texts([b"ab", b"ab\xff"]), tokenizer, 2)) == 1
    config = TrainingConfig(base="characters", vocabulary_size=4, pattern="whitespace")
    tokenizer = train(Corpus.from_text("abab "), config)
    assert tokenizer.tokens[3] == b"ab"
    assert [position for _, position in places(Corpus.from_text(b"ab abab ab\xff ab"), tokenizer, 3)] == [0, 3, 5, 12]


def test_an_id_that_is_not_in_use_is_refused():
    corpus = Corpus.from_text(POEM)
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=270))
    for token in (-1, 265, 270):
        with pytest.raises(ConfigError, match=f"Id {token} is not in the vocabulary"):
            Concordance(corpus, tokenizer.at(5), token)


# --- The lines of a library tokenizer, compared with the library's ids of whole documents -----------------------------

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


def found_by_library(corpus, tokenizer, token):
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
        hits = found_by_library(corpus, tokenizer, token)
        counts = Counter((hit.document, token) for hit in hits)
        assert counts == {key: n for key, n in expected.items() if key[1] == token}
        for hit in hits:
            assert hit.left + hit.text + hit.right in texts[hit.document]


def test_in_word_counts_each_word_is_encoded_separately(tokenizer):
    corpus = Corpus.from_counts({f"sea{STRANGE}": 5, "shore": 3, STRANGE: 2})
    last = tokenizer.encode(STRANGE)[-1]
    hits = found_by_library(corpus, tokenizer, last)
    assert {(hit.document, hit.count, hit.left) for hit in hits} == {(0, 5, f"sea{STRANGE}"), (2, 2, STRANGE)}
    assert sum(hit.count for hit in hits) == finish(count_uses_work(tokenizer, corpus))[last]


def test_spans_of_a_long_text_have_the_occurrences_of_the_whole(tokenizer, monkeypatch):
    monkeypatch.setattr(module, "LIBRARY_PIECE", 100)
    monkeypatch.setattr(module, "LIBRARY_MARGIN", 60)
    text = POEM * 3 + "12 " * 99 + f"{STRANGE} and\n  {STRANGE}{STRANGE}\n" * 20 + "the shells " * 40
    corpus = Corpus.from_texts([text, f"sea {STRANGE}"])
    uses = finish(count_uses_work(tokenizer, corpus))
    assert any(uses[token] and made == b" " for token, made in enumerate(tokenizer.tokens))
    for token in np.flatnonzero(uses).tolist():
        hits = found_by_library(corpus, tokenizer, token)
        assert len(hits) == uses[token]
        assert [hit.position for hit in hits] == sorted(hit.position for hit in hits)


def test_a_token_added_before_a_text_occurs_once(tokenizer, monkeypatch):
    monkeypatch.setattr(document_encoder, "LONGEST_SEQUENCE", 1000)
    monkeypatch.setattr(document_encoder, "LAST_LINES", 200)
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
        hits = found_by_library(corpus, tokenizer, sea)
        assert [hit.document for hit in hits] == list(range(2000))
        assert uses[sea] == sum(hit.count for hit in hits)
        assert len(asked) < 10


# --- Counts of tokens in a corpus, compared with encoding each document and with the counts of training ---------------

TEXTS = ["she sells sea shells by the sea shore\n" * 30, "", "the <|end|> of the sea <|end|>", "naïve 日本 shells"]


def without_run(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer as a file would hold it."""
    return Tokenizer(
        tokenizer.merges,
        pattern=tokenizer.pattern,
        special_tokens=tokenizer.special_tokens,
        alphabet=tokenizer.alphabet,
    )


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_counts_equal_those_of_separately_encoded_documents(pattern):
    corpus = Corpus.from_texts(TEXTS)
    tokenizer = train(
        corpus,
        TrainingConfig(vocabulary_size=300, pattern=pattern, special_tokens=["<|end|>"], special_placement="last"),
    )
    expected = Counter(token for text in TEXTS for token in tokenizer.encode(text, "all"))
    uses = finish(count_uses_work(tokenizer, corpus))
    assert {token: int(n) for token, n in enumerate(uses) if n} == dict(expected)
    assert uses[tokenizer.special_tokens["<|end|>"]] == 2
    seen = list(count_uses_work(tokenizer, corpus))
    assert seen[-1].done == seen[-1].total == corpus.bytes
    assert [progress.done for progress in seen] == sorted(progress.done for progress in seen)


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_counts_on_the_training_text_equal_those_of_the_run(pattern):
    corpus = Corpus.from_texts(TEXTS)
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=320, pattern=pattern))
    for merges in (0, 7, len(tokenizer.merges)):
        counted = finish(count_uses_work(without_run(tokenizer.at(merges)), corpus))
        followed = tokenizer.run.uses(merges)
        assert counted[: len(followed)].tolist() == followed.tolist()


def test_words_count_as_often_as_they_occur():
    corpus = Corpus.from_counts({"sea": 5, "shell": 3, "sells": 3, "日": 1})
    tokenizer = train(Corpus.from_texts(TEXTS), TrainingConfig(vocabulary_size=290, pattern="gpt2"))
    expected = Counter()
    for word, times in {"sea": 5, "shell": 3, "sells": 3, "日": 1}.items():
        for token in tokenizer.encode(word):
            expected[token] += times
    uses = finish(count_uses_work(tokenizer, corpus))
    assert {token: int(n) for token, n in enumerate(uses) if n} == dict(expected)


def test_invalid_utf8_is_replaced_with_base_characters():
    corpus = Corpus.from_texts(["abab \ufffd"])
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=7, base="characters", pattern="none"))
    broken = Corpus.from_texts([b"ab\xff"])
    uses = finish(count_uses_work(tokenizer, broken))
    assert uses.sum() == len(tokenizer.encode("ab\ufffd"))


def test_differences_at_a_cut_are_corrected(monkeypatch):
    monkeypatch.setattr(document_encoder, "LONGEST_SEQUENCE", 110)
    monkeypatch.setattr(document_encoder, "LAST_LINES", 60)
    monkeypatch.setattr(document_encoder, "BESIDE", 50)
    text = "naïve 日本\n  the sea\n" * 60
    corpus = Corpus.from_text(text)
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=290, pattern="none"))
    tokenizer = tokenizer.at(20)
    assert any(b"\n " in (token or b"") for token in tokenizer.tokens)
    uses = finish(count_uses_work(tokenizer, corpus))
    seen = [progress.done for progress in count_uses_work(tokenizer, corpus)]
    assert uses.tolist() == np.bincount(tokenizer.encode(text), minlength=len(uses)).tolist()
    assert seen == sorted(seen)
    assert seen[-1] == corpus.bytes
