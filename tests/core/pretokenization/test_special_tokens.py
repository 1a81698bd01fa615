"""Special tokens in training, encoding and decoding, in each of their three places."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tests.core.texts import few_examples
from tokstudio import ConfigError, Corpus, TrainingConfig, train
from tokstudio.core.algorithms.common.prepare_corpus import prepare_corpus_work
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.core.pretokenization import special_tokens as module
from tokstudio.core.pretokenization.special_tokens import SpecialFinder

TEXT = "the cat<end>the hat<end>the cats<end>"
OVERLAPPING = ["<a>", "<a><a>", "a><", "the", "<end>", "<en"]

texts = st.lists(st.sampled_from(["<a>", "<", "a", ">", "the", "<end>", "<en", "d>", " ", "é"]), max_size=14).map(
    "".join
)
several = st.lists(st.sampled_from(OVERLAPPING), unique=True, max_size=5)


def trained(text=TEXT, **settings):
    return train(Corpus.from_texts([text]), TrainingConfig(**{"vocabulary_size": 270, **settings}))


def pieces_of(text: str, specials: list[str]) -> list[tuple[str, str]]:
    """Each piece of text and the special token behind it, by `regex`: leftmost, and there the longest."""
    if not specials:
        return [(text, "")]
    found = regex.split("(" + "|".join(map(regex.escape, sorted(specials, key=len, reverse=True))) + ")", text)
    return list(zip(found[::2], [*found[1::2], ""], strict=True))


def encoded_in_pieces(made, text, allowed):
    """Its ids, by encoding each piece of text alone."""
    expected = []
    for piece, special in pieces_of(text, allowed):
        expected += made.encode(piece)
        expected += [made.special_tokens[special]] if special else []
    return expected


@given(st.lists(texts, max_size=4), several, st.integers(1, 3), st.integers(0, 9))
def test_special_tokens_are_found_leftmost_then_longest(documents, specials, room, budget):
    data = np.frombuffer("".join(documents).encode(), np.uint8)
    ends = np.cumsum([len(document.encode()) for document in documents], dtype=np.int64)
    finder = SpecialFinder(special.encode() for special in specials)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_PIECES", room)
        patch.setattr(module, "BUDGET", budget)
        found = finish(finder.cut_work(data, ends))
    pieces = [data[start:stop].tobytes().decode() for start, stop in zip(found.starts, found.stops, strict=True)]
    behind = [finder.texts[number].decode() if number >= 0 else "" for number in found.specials]
    assert list(zip(pieces, behind, strict=True)) == [
        pair for document in documents for pair in pieces_of(document, specials)
    ]


def test_specials_are_cut_out_before_counting():
    made = trained(special_tokens=["<end>"], vocabulary_size=265)
    apart = train(Corpus.from_texts(["the cat", "the hat", "the cats", ""]), TrainingConfig(vocabulary_size=264))
    assert made.merges.tolist() == apart.merges.tolist()
    assert made.run.tokens_before == apart.run.tokens_before == len("the catthe hatthe cats")
    assert made.run.bytes_per_token() == apart.run.bytes_per_token()
    assert all(b"<" not in token for token in made.tokens[256:264])
    # Documents at the end may be empty.
    config = TrainingConfig(vocabulary_size=270, special_tokens=["<end>"])
    assert train(Corpus.from_texts(["a<end>", "", "", ""]), config).run.tokens_before == 1


def test_every_token_is_of_one_kind():
    made = trained(special_tokens=["<end>", "<s>"], vocabulary_size=262)
    kinds = [made.kind(token) for token in range(262)]
    assert kinds == ["byte"] * 256 + ["merge"] * 4 + ["special"] * 2
    letters = trained(special_tokens=["<end>"], special_placement="first", base="characters", vocabulary_size=12)
    kinds = ["character"] * (len(letters) - 1 - len(letters.merges)) + ["merge"] * len(letters.merges)
    assert [letters.kind(token) for token in range(12)] == ["special", *kinds]
    for absent in (-1, 262):
        with pytest.raises(ConfigError, match=f"Id {absent} is not in the vocabulary"):
            made.kind(absent)
    with pytest.raises(ConfigError, match="Id 258"):
        made.at(2).kind(258)


def test_special_tokens_placed_last_have_the_last_ids_and_placed_first_shift_all_ids():
    made = trained(special_tokens=["<end>", "<s>"], special_placement="first", vocabulary_size=262)
    last = trained(special_tokens=["<end>", "<s>"], vocabulary_size=262)
    assert last.special_tokens == {"<end>": 260, "<s>": 261}
    assert last.merge_results.tolist() == [256, 257, 258, 259]
    assert (len(last), last.run.vocabulary_size, last.tokens[260]) == (262, 262, b"<end>")
    assert last.run.ended == "reached vocabulary size"
    assert made.special_tokens == {"<end>": 0, "<s>": 1}
    assert (made.merges - 2).tolist() == last.merges.tolist()
    assert made.merge_results.tolist() == [258, 259, 260, 261]
    assert made.encode("t<end>", "all") == [ord("t") + 2, 0]
    assert made.run.base_counts.tolist()[:2] == [0, 0]
    assert made.run.base_counts[ord("t") + 2] == last.run.base_counts[ord("t")]
    for tie_break in ("first", "lowest-id", "huggingface", "bytes"):  # no merge changes
        settings = {"special_tokens": ["<x>"], "tie_break": tie_break, "vocabulary_size": 275}
        text = "abcd bcda cdab dabc <x> abcdabcd"
        first, last = trained(text, special_placement="first", **settings), trained(text, **settings)
        assert (first.merges - 1).tolist() == last.merges.tolist()
        assert first.run.counts.tolist() == last.run.counts.tolist()


def test_specials_stay_where_they_are_under_the_playhead():
    made = trained(special_tokens=["<end>"])
    early = made.at(2)
    assert early.special_tokens == made.special_tokens
    assert early.encode("the<end>", "all")[-1] == made.special_tokens["<end>"]
    assert len(early) == 256 + 2 + 1
    compact = early.compact()
    assert compact.special_tokens == {"<end>": 258}
    last = made.special_tokens["<end>"]
    assert compact.encode(TEXT, "all") == [258 if token == last else token for token in early.encode(TEXT, "all")]
    for allowed, words in ((["<no>"], 'There is no special token "<no>"'), ("<end>", "as a list")):
        with pytest.raises(ConfigError, match=words):
            made.encode("a", allowed)


def test_a_text_of_nothing_but_specials():
    made = trained("<end><end>", special_tokens=["<end>"], pattern="cl100k")
    assert (len(made.merges), made.run.ended, made.run.tokens_before) == (0, "nothing left to merge", 0)
    assert made.encode("<end>" * 3, "all") == [256] * 3
    assert made.encode("", "all") == []
    # A special token need not be of known characters.
    made = trained("abab", base="characters", special_tokens=["<é>"], vocabulary_size=4, pattern="gpt2")
    assert made.encode("ab<é>ab<é>", "all") == [2, 3, 2, 3]


def reports(finder, text):
    """How often cutting up a text reports, and how many pieces there are."""
    work, seen = finder.cut_work(np.frombuffer(text, np.uint8), np.array([len(text)], np.int64)), 0
    while True:
        try:
            next(work)
        except StopIteration as end:
            return seen, len(end.value.starts)
        seen += 1


def test_many_specials_with_one_beginning_are_searched_in_bounded_pieces(monkeypatch):
    monkeypatch.setattr(module, "BUDGET", 1_000)
    finder = SpecialFinder(b"<" * 199 + bytes([65 + n]) for n in range(50))
    seen, pieces = reports(finder, b"<" * 2_000 + b"A")
    # Some 200 bytes are compared at each place.
    assert (seen > 300, pieces) == (True, 2)
    # Those that cannot stand somewhere cost little.
    finder = SpecialFinder(f"<extra_id_{n}>".encode() for n in range(5_000))
    text = b"<b>x</b> " * 400 + b"<extra_id_77>"
    seen, pieces = reports(finder, text)
    assert (seen < 3 * len(text) / 1_000, pieces) == (True, 2)


@few_examples
@given(texts, several, st.sampled_from(["none", "gpt2", r"\w+|\W"]), st.integers(0, 9), st.integers(2, 4))
def test_pieces_are_encoded_alike_however_they_are_grouped(text, allowed, pattern, size, words):
    made = trained(special_tokens=OVERLAPPING, pattern=pattern, vocabulary_size=280)
    expected = encoded_in_pieces(made, text, allowed)
    assert made.encode(text, allowed) == expected
    assert made.decode(expected) == made.decode(made.encode(text)) == text
    assert not set(made.encode(text)) & set(made.special_tokens.values())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokstudio.core.tokenizer.encoder.GROUP", size)
        patch.setattr("tokstudio.core.pretokenization.patterns.MOST_WORDS", words)
        assert made.encode(text, allowed) == expected


@pytest.mark.parametrize("pattern", ["none", "gpt2", r"\w+|\W+"])
def test_many_short_pieces_are_encoded_together_and_reported(pattern, monkeypatch):
    monkeypatch.setattr("tokstudio.core.pretokenization.patterns.SECONDS_OF_A_PIECE", 3_600)
    made = trained("hi hi", special_tokens=["<s>"], vocabulary_size=258, pattern=pattern)
    done, work = [], made.encode_work("hi<s>" * 20_000, "all")
    try:
        while True:
            progress = next(work)
            done += [progress.done] if progress.phase == "encoding" else []
    except StopIteration as end:
        ids = end.value
    assert ids.tolist() == [256, 257] * 20_000
    assert 5 <= len(done) <= 20
    assert done == sorted(done)


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_each_special_token_that_is_cut_out_of_what_is_trained_on_is_counted(pattern):
    texts = [f"some{'<x>' * (n % 3)} words<y>" for n in range(300)]
    config = TrainingConfig(vocabulary_size=260, pattern=pattern, special_tokens=("<y>", "<x>", "<z>"), held_out=0.2)
    prepared, _ = finish(prepare_corpus_work(Corpus.from_texts(texts), config))
    held = b"".join(source.data[:].tobytes() for source in prepared.held_out).decode()
    assert held
    whole = "".join(texts)
    assert prepared.cut_out == {token: whole.count(token) - held.count(token) for token in ("<x>", "<y>", "<z>")}
    # With weights, in units of 1 / weight scale, as characters that became unknown.
    sources = tuple(Source.from_texts([f"some{'<x>' * n} words<y>"]) for n in range(3))
    for weights, x, y in (((0, 1000, 0), 1, 1), ((0, 1000, 2000), 5, 3), ((500, 1000, 2000), 5000, 3500)):
        corpus = Corpus(sources).weighted(weights)
        prepared, _ = finish(prepare_corpus_work(corpus, replace(config, held_out=0.0)))
        assert prepared.cut_out == {"<x>": x, "<y>": y, "<z>": 0}
