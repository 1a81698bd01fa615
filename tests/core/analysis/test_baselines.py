"""Characters, bytes and words as tokens."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pickle

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tokstudio import ByteTokenizer, CharacterTokenizer, ConfigError, WordTokenizer
from tokstudio.core.analysis import baselines as simple
from tokstudio.core.base.progress import Progress

texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(" \n\r\t'!aé_1\x1c\x85\u2028\u200b"))
# All of planes 0 to 2, in which the characters are; the edges of the others speak for them.
EDGES = [place for plane in range(0x30000, 0x110000, 0x10000) for place in (*range(plane, plane + 512), plane + 0xFFFF)]
EVERY_CHARACTER = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x30000), *EDGES)))
ALL = [CharacterTokenizer(), ByteTokenizer(), WordTokenizer(("a", " ")), WordTokenizer(("a",), None)]


def pieces(work):
    """What some work says on its way, and its result."""
    said: list[Progress] = []
    while True:
        try:
            said.append(next(work))
        except StopIteration as end:
            return said, end.value


@pytest.fixture
def small_pieces(monkeypatch):
    """Every border between pieces is met with short texts too."""
    monkeypatch.setattr(simple, "BYTES_IN_A_PIECE", 3)
    monkeypatch.setattr(simple, "MATCHES_IN_A_PIECE", 2)


# What all of them do


@pytest.mark.parametrize("tokenizer", ALL, ids=lambda tokenizer: tokenizer.title)
class TestEach:
    def test_encode_and_encode_array_agree(self, tokenizer):
        array = tokenizer.encode_array("a é")
        assert array.dtype == np.uint32
        assert array.tolist() == tokenizer.encode("a é") == tokenizer.encode("a é".encode())
        for nothing in ("", b""):
            assert tokenizer.encode(nothing) == []
            assert tokenizer.encode_array(nothing).dtype == np.uint32
        assert tokenizer.decode([]) == ""
        ids = tokenizer.encode("a")
        assert tokenizer.decode(ids) == tokenizer.decode(np.array(ids)) == tokenizer.decode(iter(ids)) == "a"
        assert tokenizer.decode_bytes(ids) == b"a"

    def test_it_has_a_title_no_special_tokens_and_a_lower_bound_and_can_be_pickled(self, tokenizer):
        assert tokenizer.title in ("Characters", "Bytes", "Words and marks", "Split at spaces")
        assert tokenizer.special_tokens == {}
        # The lower bound is the highest id and one.
        assert tokenizer.vocabulary_size_lower_bound([3, 9, 0]) == 10
        assert tokenizer.vocabulary_size_lower_bound(np.array([3, 9, 0], np.uint32)) == 10
        assert tokenizer.vocabulary_size_lower_bound([]) == 0
        assert pickle.loads(pickle.dumps(tokenizer)) == tokenizer

    def test_it_encodes_batches(self, tokenizer):
        batch = tokenizer.encode_batch(["a", "a a"], padding=0)
        missing = [0] * (len(batch.ids[1]) - 1)
        assert batch.ids == [tokenizer.encode("a") + missing, tokenizer.encode("a a")]
        assert batch.attention_mask[0].tolist() == [1, *missing]

    @pytest.mark.parametrize("number", [-1, 0x110000, 2**70, -(2**70)])
    def test_an_invalid_id_is_named(self, tokenizer, number):
        with pytest.raises(ConfigError, match=f"^Id {number} is not in the vocabulary"):
            tokenizer.decode([0, number, 1])


@pytest.mark.parametrize("tokenizer", [CharacterTokenizer(), ByteTokenizer()])
def test_lossless_tokenizers_restore_every_text(tokenizer):
    assert tokenizer.lossless
    assert tokenizer.decode(tokenizer.encode(EVERY_CHARACTER)) == EVERY_CHARACTER


@pytest.mark.parametrize("tokenizer", ALL, ids=lambda tokenizer: tokenizer.title)
@pytest.mark.usefixtures("small_pieces")
def test_long_work_reports_progress(tokenizer):
    said, ids = pieces(tokenizer.encode_work("a é " * 9))
    assert len(said) >= 10
    assert ids.tolist() == tokenizer.encode("a é " * 9)
    assert all(0 <= piece.done <= piece.total for piece in said)
    for phase in {piece.phase for piece in said}:
        done = [piece.done for piece in said if piece.phase == phase]
        assert done == sorted(done), "progress never falls"
        assert done[-1] == next(piece.total for piece in said if piece.phase == phase)


# Characters


def test_the_id_of_a_character_is_its_code_point():
    tokenizer = CharacterTokenizer()
    assert tokenizer.encode(EVERY_CHARACTER) == list(map(ord, EVERY_CHARACTER))
    # Surrogates are joined or replaced, and cannot be decoded; the characters beside them can.
    assert tokenizer.encode("a\ud83d\ude00\ud83db") == [97, 0x1F600, 0xFFFD, 98]
    assert tokenizer.decode([0, 0xD7FF, 0xE000, 0x10FFFF]) == "\0\ud7ff\ue000\U0010ffff"
    for number in (0xD800, 0xDFFF):
        with pytest.raises(ConfigError, match=f"Id {number} .* not a Unicode character"):
            tokenizer.decode([97, number])


@given(st.lists(st.binary(max_size=4) | st.sampled_from(["é".encode(), "日".encode(), "😀".encode(), b"\xed\xa0\x80"])))
def test_bytes_that_are_not_utf8_become_replacement_characters_wherever_pieces_end(parts):
    data = b"".join(parts)
    expected = list(map(ord, data.decode("utf-8", "replace")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simple, "BYTES_IN_A_PIECE", 3)
        assert CharacterTokenizer().encode(data) == expected


# Bytes


@given(st.binary())
def test_the_id_of_a_byte_is_the_byte(data):
    tokenizer = ByteTokenizer()
    assert tokenizer.encode(data) == list(data)
    assert tokenizer.decode_bytes(list(data)) == data
    assert tokenizer.decode(list(data)) == data.decode("utf-8", "replace")


def test_there_are_256_bytes():
    tokenizer = ByteTokenizer()
    assert len(tokenizer) == len(tokenizer.tokens) == 256
    assert [tokenizer.tokens[byte] for byte in (0, 65, 255)] == [b"\0", b"A", b"\xff"]
    with pytest.raises(ConfigError, match=r"Id 256 .* not a byte"):
        tokenizer.decode([256])
    # A half character decodes as asked.
    assert tokenizer.decode([195], errors="ignore") == ""
    with pytest.raises(UnicodeDecodeError):
        tokenizer.decode([195], errors="strict")


# Words


def test_segments_are_numbered_from_one_in_order_of_appearance():
    tokenizer = WordTokenizer.from_text("b a b!")
    assert tokenizer.segments == ("b", " ", "a", "!")
    assert tokenizer.encode("b a b!") == [1, 2, 3, 2, 1, 4]
    assert len(tokenizer) == 5
    assert WordTokenizer.from_text(b"a\xffb").segments == ("a", "\ufffd", "b")
    for segments in (("a", ""), ("a", "b", "a")):
        with pytest.raises(ConfigError, match="must be distinct"):
            WordTokenizer(segments)
    assert len(repr(WordTokenizer.from_text(" ".join(map(str, range(1000)))))) < 100


def test_an_unknown_segment_has_id_zero_and_decodes_to_u_fffd():
    tokenizer = WordTokenizer.from_text("one two")
    assert tokenizer.encode("one three two") == [1, 2, 0, 2, 3]
    assert tokenizer.decode([1, 2, 0]) == "one \ufffd"
    assert tokenizer.tokens == ("\ufffd".encode(), b"one", b" ", b"two")
    assert tokenizer.decode([3]) == "two"
    with pytest.raises(ConfigError, match="Id 4 "):
        tokenizer.decode([4])


def test_the_word_pattern_drops_line_feeds():
    text = "one\ntwo\n"
    tokenizer, keeping = WordTokenizer.from_text(text), WordTokenizer.from_text(text, r"(?s)\w+|.")
    assert not tokenizer.lossless
    assert tokenizer.decode(tokenizer.encode(text)) == "onetwo"
    assert keeping.decode(keeping.encode(text)) == text


def test_without_a_pattern_decoding_puts_one_space_between_words():
    tokenizer = WordTokenizer.from_text("  two  words\n", pattern=None)
    assert tokenizer.encode("words\ttwo three") == [2, 1, 0]
    assert tokenizer.decode([2, 1, 0]) == "words two \ufffd"
    assert tokenizer.title == "Split at spaces"


PATTERNS = [
    r"\w+|.", r"(?s)\w+|.", r"\w*", r"(?<=a)b|\s+", r"(\w)(\w)?", r"\b", r"^.|.$", r"(?m)^.*$", r"a*?", r"\Ga|b",
]  # fmt: skip


@given(st.sampled_from(PATTERNS), texts)
def test_segments_are_what_regex_finds_wherever_pieces_end(pattern, text):
    expected = [match.group() for match in regex.finditer(pattern, text) if match.group()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simple, "BYTES_IN_A_PIECE", 3)
        patch.setattr(simple, "MATCHES_IN_A_PIECE", 2)
        tokenizer = WordTokenizer.from_text(text, pattern)
        segments = tokenizer.segments
        assert segments == tuple(dict.fromkeys(expected))
        assert [segments[number - 1] for number in tokenizer.encode(text)] == expected
        assert tokenizer.decode(tokenizer.encode(text)) == "".join(expected)


@given(texts)
def test_without_a_pattern_segments_are_what_python_splits(text):
    tokenizer = WordTokenizer.from_text(text, None)
    assert [tokenizer.segments[number - 1] for number in tokenizer.encode(text)] == text.split()


def test_white_space_is_python_s_for_every_character():
    text = "".join(f"a{character}" for character in EVERY_CHARACTER if not character.isalnum())
    tokenizer = WordTokenizer.from_text(text, None)
    assert [tokenizer.segments[number - 1] for number in tokenizer.encode(text)] == text.split()


def test_slow_matches_give_the_same_segments(monkeypatch):
    text = "ab ba\nabab " * 20
    expected = WordTokenizer.from_text(text, r"\w+\s").encode(text)
    # Every look at the clock is one too late, so that each match is looked for twice.
    monkeypatch.setattr(simple, "SECONDS_OF_A_PIECE", 1e-9)
    assert WordTokenizer.from_text(text, r"\w+\s").encode(text) == expected
    assert WordTokenizer.from_text("ab ab", r"\b").segments == ()


# Patterns that cannot be used


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("a(", r"does not compile at the end: missing \)"),
        ("*", "does not compile at character 1: nothing to repeat"),
        ("(?a)(?u)x", "does not compile: .*incompatible"),
        ("(" * 5000 + ")" * 5000, "does not compile: .*recursion"),
        ("(?r)a", "backwards"),
        ("", "is empty"),
        ("a{99999999999}", "The pattern repeats too much: use smaller numbers in braces"),
        ("(?:a{9999}){9999}", "repeats too much"),
    ],
    ids=lambda value: value[:12],
)
def test_a_pattern_that_cannot_be_used_is_refused_before_the_text_is_read(pattern, why):
    with pytest.raises(ConfigError, match=why):
        WordTokenizer.from_text("a", pattern)
    with pytest.raises(ConfigError, match=why):
        WordTokenizer(("a",), pattern)


def test_an_endless_pattern_is_stopped_and_the_place_named(monkeypatch):
    monkeypatch.setattr(simple, "SECONDS_OF_A_MATCH", 0.05)
    with pytest.raises(ConfigError, match=r'more than 0.05 seconds, from character 3 of the text: "aaaa a{35}"'):
        WordTokenizer.from_text("1\n" + "aaaa\n" + "a" * 60, r"^1\s|(?:a|a)*\d")


@pytest.mark.parametrize("seconds", [0.01, 1e-9])
def test_a_pattern_that_only_matches_empty_text_is_stopped(monkeypatch, seconds):
    # However busy the computer is: with next to no time, each match is looked for by itself.
    monkeypatch.setattr(simple, "SECONDS_OF_A_PIECE", seconds)
    with pytest.raises(ConfigError, match="keeps matching"):
        WordTokenizer.from_text("abab", r"(?=ab\K)")
