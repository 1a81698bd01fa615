"""Near duplicates are those of brute force, but for a few, and do not depend on how the text is read."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tokstudio import Corpus
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus import near_duplicates as module
from tokstudio.core.corpus.readers.files import FileText
from tokstudio.core.corpus.rules import marks_work
from tokstudio.core.corpus.source import Source

_NAMES = ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan")
_SCRIPTS = "".join(rf"\p{{Script={name}}}" for name in _NAMES)
_UNIT = regex.compile(
    rf"(?V1)[[{_SCRIPTS}]&&[\p{{L}}\p{{M}}]]|[[\p{{L}}\p{{M}}\p{{N}}]--[[{_SCRIPTS}]&&[\p{{L}}\p{{M}}]]]+"
)


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    units = [unit.lower() for unit in _UNIT.findall(text)]
    if len(units) < 5:
        return frozenset([tuple(units)] if units else [])
    return frozenset(tuple(units[at : at + 5]) for at in range(len(units) - 4))


def _jaccard(one: frozenset[object], other: frozenset[object]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


def _brute_force(texts: list[str], least: float) -> list[int]:
    """The documents that are left out if each is compared with all that stay and share anything with it."""
    sets = [_shingles(text) for text in texts]
    kept, found = defaultdict[object, list[int]](list), list[int]()  # the documents that stay, by shingle
    for number, own in enumerate(sets):
        others = {other for shingle in own for other in kept[shingle]}
        if any(_jaccard(own, sets[other]) >= least for other in others):
            found.append(number)
        else:
            for shingle in own:
                kept[shingle].append(number)
    return found


def _found(corpus: Corpus, least: float = 0.8) -> list[tuple[int, int]]:
    marks = finish(marks_work(corpus, "near-duplicates", least))
    assert np.all(marks.line == -1)
    for source, document, start, stop in zip(marks.source, marks.document, marks.start, marks.stop, strict=True):
        ends = corpus.sources[source].ends
        assert (start, stop) == (ends[document - 1] if document else 0, ends[document])
    return list(zip(marks.source.tolist(), marks.document.tolist(), strict=True))


def _texts(number: int, seed: int = 1) -> list[str]:
    """Texts in several scripts, a third of which are others with some words changed."""
    chance = random.Random(seed)
    letters = ["abcdefghijklmnop", "абвгдежзиклмноп", "日本語の長い文章です学校時間今人生", "ไทยภาษาคำกรุงเทพ"]
    texts: list[str] = []
    for _ in range(number):
        if texts and chance.random() < 0.35:
            words = chance.choice(texts).split(" ")
            for _ in range(chance.randrange(1 + len(words) // 20)):
                words[chance.randrange(len(words))] = chance.choice(["new", "新", "Слово", ""])
            texts.append(" ".join(words).upper() if chance.random() < 0.2 else " ".join(words))
        else:
            alphabet = chance.choice(letters)
            length = chance.randrange(5, 120)
            texts.append(" ".join("".join(chance.choices(alphabet, k=chance.randrange(1, 8))) for _ in range(length)))
    return texts


def test_nearly_all_of_brute_force_on_many_documents_are_found() -> None:
    texts = _texts(300)
    expected, found = set(_brute_force(texts, 0.8)), {number for _, number in _found(Corpus.from_texts(texts))}
    assert len(expected) > 40
    assert len(found & expected) > 0.95 * len(expected)
    # Each has its like among those that stay before it.
    sets = [_shingles(text) for text in texts]
    kept = defaultdict[object, list[int]](list)
    for number in set(range(len(texts))) - found:
        for shingle in sets[number]:
            kept[shingle].append(number)
    for number in found:
        others = {other for shingle in sets[number] for other in kept[shingle] if other < number}
        assert any(_jaccard(sets[number], sets[other]) >= 0.8 for other in others)


_words = st.text("aA bc.é1日本ไทカ", max_size=14)


@given(st.lists(_words, max_size=12))
def test_short_documents_are_compared_as_a_whole(texts: list[str]) -> None:
    short = [" ".join(text.split(" ")[:4]) for text in texts if len(_UNIT.findall(text)) < 5]
    assert [number for _, number in _found(Corpus.from_texts(short))] == _brute_force(short, 0.8)


@given(st.lists(_words, max_size=12))
def test_documents_of_the_same_shingles_are_always_found(texts: list[str]) -> None:
    found = [number for _, number in _found(Corpus.from_texts(texts), 1.0)]
    assert found == _brute_force(texts, 1.0)


def test_case_and_what_is_between_words_do_not_count() -> None:
    texts = [
        "One two three, four five six!",
        "one TWO three\nfour - five (six)",
        "one two three four five",
        "日本語の文章",
        "日 本 語 の 文 章",
    ]
    assert [number for _, number in _found(Corpus.from_texts(texts))] == [1, 4]


def test_the_order_is_that_of_the_corpus_and_kept_documents_count() -> None:
    words = [f"word{number}" for number in range(100)]
    near = [*words[:92], *"abcdefgh"]
    nearer = [*"rstuvwxy", *near[8:]]
    texts = [" ".join(each) for each in (words, near, nearer)]
    sets = [_shingles(text) for text in texts]
    assert _jaccard(sets[0], sets[1]) > 0.8 > _jaccard(sets[0], sets[2])
    assert _jaccard(sets[1], sets[2]) > 0.8
    sources = tuple(Source.from_texts([text]) for text in texts)
    assert _found(Corpus(sources)) == [(1, 0)], "the third is only like one that goes"
    assert _found(Corpus(sources[::-1])) == [(1, 0)]


@pytest.mark.parametrize("way", ["small pieces", "little memory", "in files"])
def test_the_result_does_not_depend_on_how_text_is_read(
    way: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    texts = _texts(300, seed=2)
    long = "é".join(_texts(40, seed=3))
    sources = [
        Source.from_texts([*texts[:100], long]),
        Source.from_texts([]),
        Source.from_texts(["", *texts[100:], long]),
    ]
    whole = _found(Corpus(tuple(sources)))
    assert len(whole) > 30
    assert whole[-1] == (2, 201)
    if way == "small pieces":
        monkeypatch.setattr(module, "_PIECE", 61)
        monkeypatch.setattr(module, "_BUDGET", 1)
    elif way == "little memory":
        monkeypatch.setattr(module, "free_memory", lambda: 1)
        monkeypatch.setattr("tokstudio.core.corpus.readers.files.free_memory", lambda: 1)
        monkeypatch.setattr("tokstudio.core.corpus.marks._FIRST_ROOM", 4)
        monkeypatch.setattr("tokstudio.core.corpus.marks.free_memory", lambda: 0)
    else:
        for number, source in enumerate(sources):
            (tmp_path / str(number)).write_bytes(source.data.tobytes())
            sources[number] = replace(source, data=FileText(tmp_path / str(number)))  # type: ignore[arg-type]
    assert _found(Corpus(tuple(sources))) == whole


def test_bytes_that_are_not_utf8_separate_words() -> None:
    texts = [
        b"one two three four five",
        b"one\xfftwo\xc3three\xe2\x80four\xf0five",
        "one two three four\udcffive".encode("utf-8", "surrogateescape"),
    ]
    assert [number for _, number in _found(Corpus.from_texts(texts))] == [1]
