"""Words, runs, boilerplate and keyness, compared with recounts in Python's dictionaries, and with published values."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter
from math import isnan, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokstudio import ConfigError, Corpus, CorpusError, Tokenizer, TrainingConfig, explore, train
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.sampling import hold_out_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.exploration import items as module
from tokstudio.core.exploration.items import OWN_PATTERN, pattern_of
from tokstudio.core.exploration.keyness import keyness_ratio, log_likelihood
from tokstudio.core.pretokenization.patterns import splitter
from tokstudio.core.pretokenization.preparation import Preparation

TRAINED = "the cat and the dog, the cat\nand a <s> rat " * 20


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train(Corpus.from_text(TRAINED), TrainingConfig(vocabulary_size=275, pattern="gpt2", special_tokens=["<s>"]))


def pre_tokens(text: str, pattern: str = "gpt2") -> list[str]:
    """The pre-tokens of a text; `<s>` is one."""
    made: list[str] = []
    for number, part in enumerate(text.split("<s>")):
        made += ["<s>"] * (number > 0) + [word.decode() for word in splitter(pattern).split(part)]
    return made


def pieces_of(rows: list[list], breaks) -> list[int]:
    """The piece of each item: about 100 runs of documents, or of lines where a document is longer."""
    total, piece, of, at = sum(map(len, rows)), 0, [], 0
    targets = sorted({-(-k * total // 100) for k in range(1, 100)}) if total else []
    for row in rows:
        is_long = 100 * len(row) > total
        for place in range(len(row)):
            begins = place == 0 or (is_long and breaks(row[place - 1]))
            # A piece begins with the first block that begins at its share of all items or later.
            while begins and piece < len(targets) and targets[piece] <= at:
                piece += 1
            of.append(piece)
            at += 1
    return of


def recount(rows: list[list], n: int, breaks) -> dict[tuple, tuple[int, int, int]]:
    """How often each run occurs, in how many documents, and in how many pieces."""
    counts, documents, pieces, at = Counter(), {}, {}, 0
    piece = pieces_of(rows, breaks)
    for number, row in enumerate(rows):
        for first in range(len(row) - n + 1):
            run = tuple(row[first : first + n])
            counts[run] += 1
            documents.setdefault(run, set()).add(number)
            pieces.setdefault(run, set()).add(piece[at + first])
        at += len(row)
    return {run: (count, len(documents[run]), len(pieces[run])) for run, count in counts.items()}


TEXTS = st.lists(st.lists(st.sampled_from(["the", " cat", " dog", "\n", "<s>", " é日", ","]), max_size=9).map("".join),
                 max_size=30)  # fmt: skip


def small_parts(patch, table=16, at_once=5, memory=7):
    patch.setattr(module, "LARGEST_TABLE", table)
    patch.setattr(module, "_AT_ONCE", at_once)
    patch.setattr(module, "MOST_IN_MEMORY", memory)
    patch.setattr(module, "_GROUP", 11)


@given(TEXTS, st.integers(1, 5), st.sampled_from(["pre-tokens", "tokens"]), st.integers(1, 3), st.booleans())
def test_words_are_those_of_a_recount(tokenizer, texts, n, of, least, is_small):
    here = explore(Corpus.from_texts(texts), tokenizer)
    rows = [pre_tokens(text) if of == "pre-tokens" else tokenizer.encode(text, "all") for text in texts]
    with pytest.MonkeyPatch.context() as patch:
        if is_small:
            small_parts(patch)
        words = here.words(n, of, least)
    tokens = tokenizer.tokens
    expected = recount(rows, n, lambda item: "\n" in item if of == "pre-tokens" else b"\n" in tokens[item])
    keys = [tuple(row) for row in words.ids().tolist()]
    if of == "pre-tokens":
        assert words.texts() == words["text"]
        known = {text: run for run in expected for text in ["".join(run)]}
        # Different runs can be one text.
        if len(known) == len(expected):
            keys = [known[text] for text in words.texts()]
        else:
            return
    else:
        assert words["ids"].tolist() == words.ids().tolist()
    found = {key: row for key, *row in zip(keys, words["count"], words["documents"], words["pieces"], strict=True)}
    listed = {run: list(row) for run, row in expected.items() if row[0] >= least}
    assert found == listed
    assert words.distinct == len(expected)
    assert words.total == sum(row[0] for row in expected.values())
    filled = sum(map(bool, rows))
    assert words.part_unit == ("documents" if filled >= 20 else "pieces")
    assert words["range"].tolist() == words["documents" if filled >= 20 else "pieces"].tolist()
    first_places = {run: place for place, run in reversed([*enumerate(runs_in_order(rows, n))])}
    assert keys == sorted(keys, key=lambda run: (-expected[run][0], first_places[run]))
    assert bool(words.note) == (len(listed) < len(expected))


def runs_in_order(rows, n):
    return [tuple(row[first : first + n]) for row in rows for first in range(len(row) - n + 1)]


def test_pieces_of_tokens_are_those_of_the_exploration(tokenizer):
    here = explore(Corpus.from_texts([TRAINED, "a rat\n" * 50]), tokenizer)
    words = here.words(of="tokens")
    for row, (token,) in enumerate(words["ids"].tolist()):
        assert words["pieces"][row] == np.count_nonzero(here.pieces_of(token))
        assert words["range"][row] == here.tokens["range"][token]
        assert words["count"][row] == here.tokens["uses"][token]
        assert words.text(row) == tokenizer.decode([token])


def test_words_are_split_by_the_pattern_of_the_tokenizer_or_by_one_of_ours(tokenizer):
    text = "naïve 日本 cat"
    assert explore(Corpus.from_text(text), tokenizer).words().pattern == "gpt2"
    assert explore(Corpus.from_text(text)).words().texts() == [
        word.decode() for word in splitter(OWN_PATTERN).split(text)
    ]
    assert pattern_of(tokenizer.changed(pattern="none")) == OWN_PATTERN
    assert pattern_of(tokenizer.changed(pattern=r"\S+|\s+")) == r"\S+|\s+"
    custom = explore(Corpus.from_text("a b"), tokenizer.changed(pattern=r"\S+|\s+")).words()
    assert custom.texts() == ["a", " ", "b"]
    normal = tokenizer.changed(preparation=Preparation(nfc=True, prefix_space=True))
    assert explore(Corpus.from_texts(["e\u0301 b", "é"]), normal).words().texts() == [" é", " b"]


def test_words_that_become_several_tokens_are_split(tokenizer):
    here = explore(Corpus.from_text("the cat <s> the zebra the é" + "x" * 300), tokenizer)
    words = here.words()
    tokens = finish(words.tokens_work())
    for text, amount in zip(words.texts(), tokens.tolist(), strict=True):
        assert amount == len(tokenizer.encode(text, "all"))
    assert dict(zip(words.texts(), tokens.tolist(), strict=True))["<s>"] == 1
    with pytest.raises(ConfigError, match="single pre-tokens"):
        finish(here.words(2).tokens_work())
    with pytest.raises(ConfigError, match="no tokenizer"):
        finish(explore(Corpus.from_text("a")).words().tokens_work())


def test_runs_that_occur_once_are_not_listed_unless_they_are_asked_for(tokenizer):
    here = explore(Corpus.from_text("a b a b c"), tokenizer)
    words = here.words(2)
    assert (words.texts(), words.distinct, words.total) == ([], 4, 4)
    assert words.note == "4 of 4 that occur once are counted and not listed."
    assert here.words(2, least=1).texts() == ["a b", " b a", " a b", " b c"]
    assert here.words(2, least=1).note == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "runs of 1 to 5"),
        ({"n": 6}, "runs of 1 to 5"),
        ({"of": "letters"}, '"pre-tokens" or "tokens"'),
        ({"least": 0}, "at least once"),
    ],
)
def test_other_words_are_refused(tokenizer, arguments, message):
    with pytest.raises(ConfigError, match=message):
        explore(Corpus.from_text("a"), tokenizer).words(**arguments)


def test_tokens_need_a_tokenizer_and_columns_have_names(tokenizer):
    with pytest.raises(ConfigError, match="need a tokenizer"):
        explore(Corpus.from_text("a")).words(of="tokens")
    words = explore(Corpus.from_text("a"), tokenizer).words()
    with pytest.raises(ConfigError, match="no column ids: choose text, count"):
        words["ids"]


def test_empty_corpora_have_no_words(tokenizer):
    for corpus in (Corpus(()), Corpus.from_texts([]), Corpus.from_texts([""] * 1000)):
        here = explore(corpus, tokenizer)
        for of in ("pre-tokens", "tokens"):
            for n in (1, 3):
                words = here.words(n, of)
                assert (len(words), words.total, words.distinct, words.part_unit) == (0, 0, 0, "pieces")
                assert words["count"].tolist() == words["range"].tolist() == []
        assert here.boilerplate() == ()
    assert explore(Corpus.from_texts([b"\xff\xfe a"]), tokenizer).words().texts() == ["\ufffd\ufffd", " a"]


# --- Boilerplate ------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.lists(st.integers(0, 5), max_size=3).map(lambda row: [word for k in row for word in BLOCKS[k]]),
             max_size=12),
    st.integers(8, 10),
    st.integers(2, 4),
    st.booleans(),
)  # fmt: skip
def test_boilerplate_is_that_of_a_recount(rows, n, documents, is_small):
    here = explore(Corpus.from_texts(["".join(row) for row in rows]))
    with pytest.MonkeyPatch.context() as patch:
        if is_small:
            small_parts(patch)
        found = here.boilerplate(n, documents)
    runs = recount(rows, n, lambda _: False)
    expected = {}
    for number, row in enumerate(rows):
        marked = [runs[tuple(row[at : at + n])][1] >= documents for at in range(max(0, len(row) - n + 1))]
        at = 0
        while at < len(marked):
            end = at
            while end < len(marked) and marked[end]:
                end += 1
            if end > at:
                stretch = tuple(row[at : end + n - 1])
                expected.setdefault(stretch, []).append(number)
            at = end + 1
    assert {row.text: (row.pre_tokens, row.count, row.documents, row.first_document) for row in found} == {
        "".join(stretch): (len(stretch), len(owners), len(set(owners)), owners[0])
        for stretch, owners in expected.items()
    }
    covered = [row.pre_tokens * row.count for row in found]
    assert covered == sorted(covered, reverse=True)


BLOCKS = [
    [" one", " two", " three", " four", " five", " six", " seven", " eight", " nine"],
    [" un", " deux", " trois", " quatre", " cinq", " six", " sept", " huit", " neuf", " dix"],
    [" a"],
    [" a"] * 12,
    [" two", " three", " four", " five", " six", " seven", " eight", " nine", " ten", " eleven"],
    [" b", " c"],
]


def test_boilerplate_is_found_in_many_documents():
    licence = " Copyright by the authors of this page; all rights reserved."
    texts = [f"Page number {'i' * k} is about {'xyz'[k % 3]}.{licence}" for k in range(12)]
    here = explore(Corpus.from_texts(texts))
    (row,) = here.boilerplate()
    assert row.text == "." + licence
    assert (row.count, row.documents, row.first_document) == (12, 12, 0)
    assert here.boilerplate(documents=13) == ()
    for wrong, message in (({"n": 7}, "at least 8"), ({"documents": 1}, "at least 2")):
        with pytest.raises(ConfigError, match=message):
            here.boilerplate(**wrong)


# --- Keyness ----------------------------------------------------------------------------------------------------------


def test_published_values_of_keyness():
    assert float(keyness_ratio(35, 263, 112_289_776, 1_559_716_979)) == pytest.approx(1.1224, abs=5e-5)
    assert float(log_likelihood(52, 57, 50_000, 75_000)) == pytest.approx(2.654, abs=5e-4)
    # Of two cells, as by Rayson's calculator, whose values are 2.65, 48.2 and 45.5.
    assert two_cells(52, 57, 50_000, 75_000) == pytest.approx(2.65, abs=5e-3)
    assert float(log_likelihood(3_000, 2_500, 50_000, 50_000)) == pytest.approx(48.2, abs=5e-2)
    assert two_cells(3_000, 2_500, 50_000, 50_000) == pytest.approx(45.5, abs=5e-2)
    assert float(log_likelihood(57, 52, 75_000, 50_000)) == pytest.approx(-2.654, abs=5e-4)


def two_cells(a, b, total_a, total_b):
    share = (a + b) / (total_a + total_b)
    return 2 * (a * log(a / (total_a * share)) + b * log(b / (total_b * share)))


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 200), st.integers(0, 200), st.sampled_from([1, 10, 100]))
def test_keyness_is_that_of_a_recount(a, b, rest_a, rest_b, smoothing):
    total_a, total_b = a + rest_a, b + rest_b
    found, ratio = float(log_likelihood(a, b, total_a, total_b)), float(
        keyness_ratio(a, b, total_a, total_b, smoothing)
    )  # fmt: skip
    if not total_a or not total_b:
        assert isnan(found)
        assert isnan(ratio)
        return
    expected, total = 0.0, total_a + total_b
    for observed, row, column in (
        (a, a + b, total_a), (b, a + b, total_b), (rest_a, rest_a + rest_b, total_a), (rest_b, rest_a + rest_b, total_b)
    ):  # fmt: skip
        if observed:
            expected += 2 * observed * log(observed * total / (row * column))
    assert abs(found) == pytest.approx(expected, abs=1e-6)
    if abs(found) > 1e-6:
        assert (found > 0) == (a / total_a > b / total_b)
    assert ratio == pytest.approx((1e6 * a / total_a + smoothing) / (1e6 * b / total_b + smoothing))


def sources(**texts):
    return Corpus(tuple(Source.from_texts(documents, name) for name, documents in texts.items()))


@given(TEXTS, TEXTS, TEXTS, st.integers(1, 3), st.sampled_from(["words", "tokens"]), st.booleans())
def test_sides_are_counted_as_in_a_recount(tokenizer, first, second, third, n, of, is_small):
    here = explore(sources(a=first, b=second, c=third), tokenizer)

    def rows_of(texts):
        return [pre_tokens(text) if of == "words" else tokenizer.encode(text, "all") for text in texts]

    counts = [recount(rows_of(texts), n, lambda _: False) for texts in (second, [*first, *third])]
    if not all(counts):
        with pytest.raises(ConfigError, match="nothing to compare"):
            here.keyness("b", of=of, n=n)
        return
    with pytest.MonkeyPatch.context() as patch:
        if is_small:
            small_parts(patch)
        found = here.keyness("b", of=of, n=n, smoothing=10)
    assert found.totals == tuple(sum(row[0] for row in side.values()) for side in counts)
    is_spelt = of == "words"
    runs = {("".join(run) if is_spelt else run): run for side in counts for run in side}
    if len(runs) < len({run for side in counts for run in side}):
        return
    keys = found["text"] if is_spelt else list(map(tuple, found["ids"].tolist()))
    assert sorted(keys) == sorted(runs)
    documents = found._found.documents
    for row, key in enumerate(keys):
        a, b = (side.get(runs[key], (0, 0, 0)) for side in counts)
        assert (found["a"][row], found["b"][row]) == (a[0], b[0])
        assert documents[row].tolist() == [a[1], b[1]]
    filled = min(sum(map(bool, rows_of(texts))) for texts in (second, [*first, *third]))
    assert found.part_unit == ("documents" if filled >= 20 else "pieces")
    likelihood = log_likelihood(found["a"], found["b"], *found.totals)
    assert found["log_likelihood"].tolist() == sorted(likelihood.tolist(), reverse=True) == likelihood.tolist()
    assert found["ratio"].tolist() == keyness_ratio(found["a"], found["b"], *found.totals, 10).tolist()


def test_the_strongest_of_each_side_are_at_its_end(tokenizer):
    here = explore(sources(a=["cat cat cat the the", "cat"], b=["dog dog the rat"]), tokenizer)
    found = here.keyness("a", of="words")
    first, second = found.strongest()
    assert [found.text(row) for row in first] == ["cat", " cat", " the"]
    assert sorted(found.text(row) for row in second) == [" dog", " rat", "dog"]
    assert all(found["log_likelihood"][first] > 0)
    assert all(found["log_likelihood"][second] < 0)
    assert np.all(np.diff(found["log_likelihood"][second]) >= 0)
    assert [len(side) for side in found.strongest(1)] == [1, 1]
    other = found.with_smoothing(100)
    assert other["ratio"].tolist() == keyness_ratio(found["a"], found["b"], *found.totals, 100).tolist()
    assert other["a"].tolist() == found["a"].tolist()
    # One document can make a word key, which range shows; with few documents it is that of pieces.
    assert (found.part_unit, found["range_a"].max() >= 1) == ("pieces", True)


def test_other_texts_and_held_out_text_are_sides(tokenizer):
    lines = "".join(f"line {number} of the cat\n" for number in range(200))
    here = explore(sources(a=[lines], b=["the dog"]), tokenizer)
    opened = Corpus.from_text("a rat and a rat")
    found = here.keyness(opened, of="words")
    assert found.totals == (len(pre_tokens("a rat and a rat", "gpt2")), len(pre_tokens(lines)) + 2)
    assert here.keyness("b", opened, of="words").totals == (2, found.totals[0])
    held = here.keyness(held_out=0.25, of="words")
    rest, part = finish(hold_out_work(here.corpus.sources, 0.25))
    sizes = [sum(len(pre_tokens(bytes(document).decode())) for document in Corpus(side).iter_documents())
             for side in (part, rest)]  # fmt: skip
    assert held.totals == tuple(sizes)
    with pytest.raises(CorpusError, match="needs at least 20"):
        here.keyness("b", held_out=0.25)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("c",), "no source c|no source “c”|There is no source"),
        ((2,), "no source 2"),
        (("a", "a"), "on both sides"),
        ((["a", "b"],), "second side has no text"),
        ((None,), "Name the source"),
        (("a", None, "letters"), '"tokens" or "words"'),
        (("a", None, "words", 6), "runs of 1 to 5"),
        (("a", None, "words", 1, 0), "above 0"),
        (("a", "b", "words", 1, 1, 0.5), "rest of its own"),
    ],
)
def test_sides_that_cannot_be_compared_are_refused(tokenizer, arguments, message):
    with pytest.raises(ConfigError, match=message):
        explore(sources(a=["the cat"], b=["a dog"]), tokenizer).keyness(*arguments)


def test_an_ambiguous_source_is_refused(tokenizer):
    twice = Corpus(sources(a=["the cat"]).sources * 2)
    with pytest.raises(ConfigError, match="name of 2 sources"):
        explore(twice, tokenizer).keyness("a")
    assert explore(twice, tokenizer).keyness(0, 1, of="words").totals == (2, 2)
