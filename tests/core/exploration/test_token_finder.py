"""The occurrences of a token, compared with encoding whole documents or pre-tokens."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import re
from collections import Counter

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from tests.core.reference import encode_slowly, named_pattern, pre_tokens
from tests.core.texts import documents, settings_of_runs
from tokstudio import ConfigError, Corpus, Tokenizer, TrainingConfig, load, train
from tokstudio.core.analysis import document_encoder
from tokstudio.core.analysis.token_counts import count_uses_work
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.sampling import hold_out_work
from tokstudio.core.exploration import token_finder
from tokstudio.core.exploration.search import Search
from tokstudio.core.exploration.token_finder import TokenFinder
from tokstudio.core.libraries.client import LibraryProcess
from tokstudio.core.model.algorithms import Boundless, Picky, SuperBPE
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer

POEM = "she sells sea shells by the sea shore, and the shells she sells are sea shells\n"


def found(corpus, tokenizer, *ids, **chosen):
    search = Search(corpus, TokenFinder(tokenizer, ids), **chosen)
    finish(search.find_work())
    assert search.done
    assert search.places == len(search)
    return list(search)


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


def small_pieces(monkeypatch, part=8, block=16, long=1 << 23, margin=1 << 16, documents=1 << 17):
    for name, value in (
        ("PART", part),
        ("FIRST_BLOCK", block),
        ("BLOCK", 4 * block),
        ("LIBRARY_BLOCK", block),
        ("LONG", long),
        ("MARGIN", margin),
        ("MOST_DOCUMENTS", documents),
    ):
        monkeypatch.setattr(token_finder, name, value)


EXPRESSIONS = {"none": None, "whitespace": r"\s*\S+|\s+", r"\w+|\W": r"\w+|\W"}


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


@pytest.mark.parametrize("pattern", ["none", "gpt2", "o200k", r"\s?\w+|\W"])
def test_the_number_of_occurrences_equals_the_counts_of_the_run(pattern, monkeypatch):
    """Encoded bit by bit, from places in the middle of one document."""
    small_pieces(monkeypatch, part=1 << 7, block=1 << 9, long=1 << 11, margin=1 << 9)
    lines = (
        f"{n % 37} It's {n * n % 101} of\n\n  many,  {'日本é😀' * (n % 3)}!{' ' * (n % 5)}\r\n" for n in range(150)
    )
    text = "".join(lines) + "日" * 60 + "end  "
    corpus = Corpus.from_text(text)
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=400, pattern=pattern))
    for merges in (0, 60, len(tokenizer.merges)):
        uses = tokenizer.run.uses(merges)
        for token in (*range(256 + merges - 5, 256 + merges), 32, 0xE6, 260):
            if token < len(uses):
                assert len(places(corpus, tokenizer.at(merges), token)) == uses[token]


def test_the_next_page_continues_after_the_last(monkeypatch):
    small_pieces(monkeypatch, block=256)
    corpus = Corpus.from_texts([POEM] * 300)
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=270, pattern="gpt2"))
    token = int(np.argmax(tokenizer.run.uses()))
    search, found_before = Search(corpus, TokenFinder(tokenizer, [token])), [0]
    while not search.done:
        finish(search.find_work(50))
        assert search.total == search.places == len(search)
        found_before.append(len(search))
    assert min(np.diff(found_before)[:-1]) >= 50
    assert max(np.diff(found_before)) <= 250
    assert list(search) == found(corpus, tokenizer, token)
    assert len(search) == tokenizer.run.uses()[token] > 500
    finish(search.find_work(50))
    assert len(search) == found_before[-1]


def test_a_search_that_is_cancelled_goes_on(monkeypatch):
    small_pieces(monkeypatch, block=256)
    corpus = Corpus.from_texts([POEM] * 50)
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=270))
    token = int(np.argmax(tokenizer.run.uses()))
    search = Search(corpus, TokenFinder(tokenizer, [token]))
    work, done = search.find_work(), 0
    for _ in range(10):
        progress = next(work)
        assert done <= progress.done <= progress.total == corpus.bytes
        done = progress.done
    work.close()
    assert not search.done
    assert 0 < len(search) < tokenizer.run.uses()[token]
    finish(search.find_work())
    assert list(search) == found(corpus, tokenizer, token)


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


@pytest.mark.parametrize("part", range(1, 12))
def test_special_tokens_at_the_border_of_two_blocks_are_found(monkeypatch, part):
    texts = ["a<s>b", "<s>", "ab<s><s>b", "", "<s>a"] * 3
    trained = train(Corpus.from_texts(texts), TrainingConfig(vocabulary_size=257, pattern="gpt2"))
    tokenizer = trained.changed(special_tokens={"<s>": 1000})
    small_pieces(monkeypatch, part=part, block=part, documents=1)
    positions = [place.start() for place in re.finditer("<s>", "".join(texts))]
    assert places(Corpus.from_texts(texts), tokenizer, 1000) == [(0, position) for position in positions]


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


def test_with_base_characters_bytes_that_are_not_utf8_become_the_replacement_character():
    corpus = Corpus.from_texts(["ab\ufffdab"])
    tokenizer = train(corpus, TrainingConfig(base="characters", vocabulary_size=4, pattern="none"))
    broken = Corpus.from_texts([b"\xe2\x82ab\xffab", b"\xff", b"ab\xe2"])
    assert places(broken, tokenizer, tokenizer.encode("ab")[0]) == [(0, 2), (0, 5), (0, 8)]
    strange = tokenizer.encode("\ufffd")[0]
    # Two bytes that begin a character are replaced together.
    assert places(broken, tokenizer, strange) == [(0, 0), (0, 4), (0, 7), (0, 10)]
    assert finish(count_uses_work(tokenizer, broken))[strange] == 4


def test_an_id_that_is_not_in_use_is_refused():
    corpus = Corpus.from_text(POEM)
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=270))
    for token in (-1, 265, 270):
        with pytest.raises(ConfigError, match=f"Id {token} is not in the vocabulary"):
            TokenFinder(tokenizer.at(5), [256, token])


def test_nothing_to_search_for_is_refused():
    tokenizer = Tokenizer(np.empty((0, 2), np.int32))
    with pytest.raises(ConfigError, match="no ids to search for"):
        TokenFinder(tokenizer, [])
    assert found(Corpus(()), tokenizer, 97) == []
    assert found(Corpus.from_texts([]), tokenizer, 97) == []
    assert found(Corpus.from_texts(["", ""]), tokenizer, 97) == []


# --- Several tokens in a row, compared with the ids of each document --------------------------------------------------


def expected_rows(corpus, tokenizer, ids):
    """The document and the number among its tokens of each hit, from the left and without overlap."""
    rows = []
    for number, document in enumerate(corpus.iter_documents()):
        encoded_ids, at = tokenizer.encode(bytes(document), "all"), 0
        while at + len(ids) <= len(encoded_ids):
            is_hit = encoded_ids[at : at + len(ids)] == list(ids)
            rows += [(number, at)] * is_hit
            at += len(ids) if is_hit else 1
    return rows


PREPARED = {
    "plain": Preparation(),
    "normalized, with a space": Preparation(nfc=True, prefix_space=True),
    "special tokens with white space": Preparation(strips_left=frozenset({"<s>"}), strips_right=frozenset({"<s>"})),
}


@given(
    st.lists(st.text("ab e\u0301é\n日", max_size=30) | st.sampled_from(["a<s>b", " <s> a<s>", "ab" * 40]), max_size=8),
    st.sampled_from(["none", "gpt2", "cl100k", "o200k", r"\s?\w+|\W"]),
    st.sampled_from([*PREPARED]),
    st.integers(4, 40),
    st.integers(1, 5),
    st.data(),
)
def test_hits_are_those_in_the_ids_of_each_document(texts, pattern, prepared, block, documents, data):
    trained = train(
        Corpus.from_texts(["ab ab é日 aa\n a bb b" * 3, *texts]), TrainingConfig(vocabulary_size=280, pattern=pattern)
    )
    specials = {"<s>": 1000}
    tokenizer = trained.changed(special_tokens=specials, preparation=PREPARED[prepared])
    tokenizer = tokenizer.at(data.draw(st.integers(0, len(tokenizer.merges))))
    corpus = Corpus.from_texts(texts)
    known = sorted({token for text in texts for token in tokenizer.encode(text, "all")} | {97, 1000})
    ids = data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=3))
    with pytest.MonkeyPatch.context() as patch:
        small_pieces(patch, part=block, block=block, documents=documents)
        hits = found(corpus, tokenizer, *ids)
    expected_hits = expected_rows(corpus, tokenizer, ids)
    assert [hit.document for hit in hits] == [document for document, _ in expected_hits]
    starts = np.concatenate([[0], corpus.sources[0].ends])
    for hit, (document, row) in zip(hits, expected_hits, strict=True):
        _, ends = finish(tokenizer.encode_with_ends_work(texts[document], "all"))
        begin = int(ends[row - 1]) if row else 0
        assert hit.position == starts[document] + begin
        assert hit.text == texts[document].encode()[begin : ends[row + len(ids) - 1]].decode("utf-8", "replace")


def test_tokens_in_a_row_are_found_across_the_parts_of_a_long_document(monkeypatch):
    corpus = Corpus.from_text("one two one two one, one two\n" * 60)
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=270, pattern="gpt2"))
    whole = tokenizer.encode("one two one two one, one two\n" * 60)
    for size in (1, 2, 3, 7, 30):
        wanted = whole[5 : 5 + size]
        expected_hits = expected_rows(corpus, tokenizer, wanted)
        for part in (16, 50):
            small_pieces(monkeypatch, part=part, block=part)
            assert len(found(corpus, tokenizer, *wanted)) == len(expected_hits)


@pytest.mark.parametrize(
    "algorithm", [Picky(threshold=0.7), SuperBPE(transition=280), Boundless()], ids=["picky", "superbpe", "boundless"]
)
def test_tokens_of_other_algorithms_are_found_as_often_as_they_are_used(algorithm, monkeypatch):
    texts = ["by the end of the day, at the end of the way\n" * 30, "", "the end of it all"]
    corpus = Corpus.from_texts(texts)
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=300, pattern="gpt2", algorithm=algorithm))
    uses = finish(count_uses_work(tokenizer, corpus))
    small_pieces(monkeypatch, part=20, block=40)
    for token in np.flatnonzero(uses).tolist():
        assert len(found(corpus, tokenizer, token)) == uses[token]
    pair = tokenizer.encode(texts[0])[4:6]
    assert len(found(corpus, tokenizer, *pair)) == len(expected_rows(corpus, tokenizer, pair))


def test_tokens_of_neighbouring_documents_are_not_in_a_row():
    tokenizer = Tokenizer(np.array([[97, 98]], np.int32), pattern="gpt2")
    assert [hit.document for hit in found(Corpus.from_texts(["abc", "ab", "c", "abc"]), tokenizer, 256, 99)] == [0, 3]


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
    small_pieces(monkeypatch, block=100, long=200, margin=60)
    text = POEM * 3 + "12 " * 99 + f"{STRANGE} and\n  {STRANGE}{STRANGE}\n" * 20 + "the shells " * 40
    corpus = Corpus.from_texts([text, f"sea {STRANGE}"])
    uses = finish(count_uses_work(tokenizer, corpus))
    assert any(uses[token] and made == b" " for token, made in enumerate(tokenizer.tokens))
    for token in np.flatnonzero(uses).tolist():
        hits = found(corpus, tokenizer, token)
        assert len(hits) == uses[token]
        assert [hit.position for hit in hits] == sorted(hit.position for hit in hits)


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


def test_a_token_added_before_a_text_occurs_once(tokenizer, monkeypatch):
    monkeypatch.setattr(document_encoder, "LONGEST_SEQUENCE", 1000)
    monkeypatch.setattr(document_encoder, "LAST_LINES", 200)
    text = POEM * 50
    uses = finish(count_uses_work(tokenizer, Corpus.from_text(text)))
    assert {token: n for token, n in enumerate(uses.tolist()) if n} == Counter(tokenizer.encode(text))
