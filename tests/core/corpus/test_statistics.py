"""The statistics of a corpus, compared with a count by hand."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.corpus.statistics import main_script_work, preview, statistics_work


def statistics_of(*texts):
    return finish(statistics_work(Corpus.from_texts(texts)))


@given(st.lists(st.one_of(st.text(), st.binary(), st.text(st.sampled_from("aé\n\r😀")))))
def test_counts_equal_those_of_counting_document_by_document(texts):
    documents = [text if isinstance(text, bytes) else text.encode() for text in texts]
    decoded = [document.decode("utf-8", "surrogateescape") for document in documents]
    characters = [character for text in decoded for character in text if not "\udc80" <= character <= "\udcff"]
    lines = [line for document in documents for line in document.removesuffix(b"\n").split(b"\n") if document]
    found = statistics_of(*texts)
    assert found.bytes == sum(map(len, documents))
    assert found.documents == len(documents)
    assert found.characters == len(characters)
    assert found.distinct_characters == len(set(characters))
    assert found.invalid_bytes == sum(map(len, decoded)) - len(characters)
    assert found.lines == len(lines)
    assert found.longest_line_bytes == max(map(len, lines), default=0)


def test_a_character_does_not_reach_into_the_next_document():
    halves = statistics_of(b"\xc3", b"\xa9", b"\xa9")
    assert (halves.characters, halves.invalid_bytes) == (0, 3)


def test_characters_and_lines_reach_across_the_pieces_of_a_long_text():
    found = statistics_of(b"x" + "é".encode() * 200_000 + b"\n" + "日本\n".encode() * 100_000)
    assert (found.characters, found.invalid_bytes) == (500_002, 0)
    assert (found.lines, found.longest_line_bytes) == (100_001, 400_001)


def test_lines_of_several_sources_are_counted_apart():
    corpus = Corpus((Source.from_texts(["one\ntwo"]), Source.from_texts(["", "three\n", "four"])))
    found = finish(statistics_work(corpus))
    assert (found.lines, found.documents) == (4, 4)


def test_scripts_come_by_their_share_of_the_letters():
    found = statistics_of("abc d — 123, да! 日")
    assert found.scripts == (("Latin", 4 / 7), ("Cyrillic", 2 / 7), ("Han", 1 / 7))


def test_marks_belong_to_their_script_and_rare_scripts_are_others():
    assert statistics_of("नमस्ते").scripts == (("Devanagari", 1.0),)
    assert statistics_of("a\U00010330b\U00012000").scripts == (("Latin", 0.5), ("Gothic", 0.25), ("Other", 0.25))


def test_text_without_letters_has_no_scripts():
    assert statistics_of("1 + 2 = 3 😀\n", b"\xff").scripts == ()
    assert statistics_of("").scripts == ()


@given(st.text())
def test_shares_sum_to_one_where_there_are_letters(text):
    shares = [share for _, share in statistics_of(text).scripts]
    assert sum(shares) == pytest.approx(1.0 if shares else 0)
    assert shares == sorted(shares, reverse=True)
    if any(unicodedata.name(character, "").startswith("LATIN SMALL LETTER") for character in text):
        assert shares


def test_a_preview_gives_the_first_lines():
    source = Source.from_texts(["one\ntwo\nthree\n"])
    assert preview(source, 2) == "one\ntwo"
    assert preview(source) == "one\ntwo\nthree\n"
    assert preview(Source.from_texts([b"a\xffb"])) == "a\ufffdb"
    assert preview(Source.from_texts([""])) == ""


def test_a_preview_of_a_long_line_is_bounded_and_ends_between_characters():
    text = preview(Source.from_texts(["x" + "é" * 1_000_000]))
    assert text == "x" + "é" * 32_767


@given(st.dictionaries(st.text(min_size=1), st.integers(1, 10**6), min_size=1))
def test_of_given_counts_every_word_counts_as_often_as_it_occurs(counts):
    found = finish(statistics_work(Corpus.from_counts(counts)))
    characters = Counter()
    for text, count in counts.items():
        for character in text:
            characters[character] += count
    assert found.bytes == sum(len(text.encode()) * count for text, count in counts.items())
    assert found.words == len(counts)
    assert (found.documents, found.lines, found.longest_line_bytes) == (0, 0, 0)
    assert found.characters == characters.total()
    assert found.distinct_characters == len(characters)
    assert found.invalid_bytes == 0


def test_scripts_of_given_counts_are_shared_out_by_how_often_words_occur():
    found = finish(statistics_work(Corpus.from_counts({"ab": 3, "я": 2})))
    assert found.scripts == (("Latin", 0.75), ("Cyrillic", 0.25))


def test_text_and_given_counts_are_counted_together():
    corpus = Corpus((*Corpus.from_text("aa\nb").sources, *Corpus.from_counts({"a": 5}).sources))
    found = finish(statistics_work(corpus))
    assert (found.characters, found.lines, found.documents, found.words, found.bytes) == (9, 2, 1, 1, 9)


def test_the_main_script_has_most_letters_in_all_sources_together():
    latin, cyrillic = Source.from_texts(["abc" * 10]), Source.from_texts(["жук" * 11])
    assert finish(main_script_work([latin])) == "Latin"
    assert finish(main_script_work([latin, cyrillic])) == "Cyrillic"
    assert finish(main_script_work([latin, latin, cyrillic])) == "Latin"


def test_the_main_script_of_a_long_text_is_not_that_of_its_beginning():
    assert finish(main_script_work([Source.from_texts(["a" * 300_000 + "ж" * 2_000_000])])) == "Cyrillic"


def test_a_text_without_letters_has_no_main_script():
    assert finish(main_script_work([Source.from_texts(["1 + 2"])])) == ""
