"""The scanners, compared with their expressions in `regex`, `tokenizers` and `tiktoken`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import random
import subprocess
import sys
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from tokstudio.core.kernels.scan import scan
from tokstudio.core.pretokenization import patterns
from tokstudio.core.text.unicode_classes import (
    DIGIT,
    LETTER,
    LOWER,
    NEWLINE,
    NUMBER,
    OTHER,
    SPACE,
    UPPER,
    classes,
    unassigned,
)

ROOT = Path(__file__).resolve().parents[3]
EXPRESSIONS = {
    name: entry["regex"]
    for name, entry in json.loads((ROOT / "tests" / "data" / "patterns.json").read_text())["patterns"].items()
}
each_pattern = pytest.mark.parametrize("name", EXPRESSIONS)

# One or more of every class, and all that some pattern treats in its own way.
PIECES = (
    *("a", "Z", "ß", "É", "ﬁ", "я", "Ω", "ǅ", "ʰ", "ˮ", "ª", "中", "日本", "ا", "हि", "각", "\U0001d400", "\U00020000"),
    *("\u0301", "\u0903", "\u20dd", "\ufe0f", "\U000e0100"),
    *("1", "42", "٣", "Ⅷ", "²", "½", "〇", "๙", "\U0001d7d8"),
    *("'s", "'S", "'ſ", "'t", "'re", "'vE", "'Ll", "'d", "'m", "'", "''", "’s", "'l", "'v", "'r", "ſ", "K"),
    *(" ", "  ", "   ", "\t", "\n", "\r", "\r\n", "\n\n", "\n ", " \n", "\v", "\f", "\x1c", "\x1f"),
    *("\x85", "\xa0", "\u1680", "\u2003", "\u2028", "\u2029", "\u200b", "\u202f", "\u3000", "\ufeff", "\u180e"),
    *(".", "!", "/", "//", ".\n/", "-", "_", "€", "😀", "👩\u200d🚀", "\0", "\x7f", "\ufffd", "\ue000", "\U000f0000"),
    # What newer Unicode has made a letter, a number, a mark, and a letter of another case.
    *("\u088f", "\u1acf", "\u0558", "\u0295", "\u0378", "\U00050000", "\U0010ffff"),
)
hard = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
text = st.one_of(hard, any_text, st.tuples(hard, any_text, hard).map("".join))
# Overlong forms, surrogates, too large, broken off, and continuation bytes alone.
BROKEN = (b"\xc0\x80", b"\xc3", b"\xe0\x80\x80", b"\xe2\x82", b"\xed\xa0\x80", b"\xed\x9f\xbf", b"\xee\x80\x80")
BROKEN += (b"\xf0\x80\x80\x80", b"\xf0\x9f\x98", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80")
BROKEN += (b"\x80", b"\xbf\xbf", b"\xff")
raw = st.one_of(
    text.map(str.encode),
    st.binary(max_size=12),
    st.lists(st.one_of(st.sampled_from(BROKEN), st.sampled_from(PIECES).map(str.encode)), max_size=10).map(b"".join),
)

# Long enough for blocks of 64 bytes, most of them ASCII, with runs of one piece across several blocks.
words = st.sampled_from(("word", " a", " the", "Ünï", " Москва", "x1", ", ", ".\n", "\n    ", " (", "it's", "12345"))
piece = st.one_of(words, words, words, st.sampled_from(PIECES)).map(str.encode) | st.sampled_from(BROKEN)
long_raw = st.lists(st.tuples(piece, st.sampled_from((1, 1, 1, 2, 3, 40))), min_size=12, max_size=40).map(
    lambda runs: b"".join(one * times for one, times in runs)
)


def translation():
    """What Python's `regex` must be shown so that its classes are those of our Unicode version."""
    codes = np.flatnonzero(unassigned())
    characters = codes.astype("<u4").tobytes().decode("utf-32-le")
    newer = regex.findall(r"[\p{L}\p{N}\p{M}\s]", characters)
    return str.maketrans({**dict.fromkeys(newer, "\U00050000"), "\u0295": "ʩ"})


TRANSLATION = translation()


@lru_cache(64)
def decoded(data):
    """The characters of a text, and those that `regex` is shown."""
    characters = data.decode("utf-8", "surrogateescape")
    return characters, characters.translate(TRANSLATION)


def by_definition(name, data):
    """The pre-tokens as Python's `regex` gives them."""
    characters, shown = decoded(data)
    found = [match.span() for match in regex.finditer(EXPRESSIONS[name], shown)]
    return [characters[first:last].encode("utf-8", "surrogateescape") for first, last in found]


def by_tokenizers(name, characters):
    # Oniguruma reads {1,3}+ as a repeated group.
    split = pre_tokenizers.Split(Regex(EXPRESSIONS[name].replace("{1,3}+", "{1,3}")), "isolated")
    return [piece for piece, _ in split.pre_tokenize_str(characters)]


def ends_of(name, data, room=4096, at=0, stop=None):
    array, ends = np.frombuffer(bytearray(data) or bytearray(1), np.uint8), np.empty(room, np.int64)
    stop = len(data) if stop is None else stop
    found: list[int] = []
    while at < stop:
        n = scan(patterns.NAMES.index(name), array, at, stop, classes(), ends)
        assert n > 0
        found += ends[:n].tolist()
        at = found[-1]
    return found


def scanned(name, data, **options):
    ends = ends_of(name, data, **options)
    first = options.get("at", 0)
    return [data[start:end] for start, end in zip([first, *ends], ends, strict=False)]


@settings(max_examples=50)
@given(before=raw, data=raw, behind=raw, room=st.sampled_from((1, 2, 3, 4096)))
def test_every_scanner_equals_its_expression(before, data, behind, room):
    """With any room for the ends; and nothing outside of the text is looked at."""
    place = {"at": len(before), "stop": len(before) + len(data)}
    for name in EXPRESSIONS:
        assert scanned(name, before + data + behind, room=room, **place) == by_definition(name, data)


@given(data=long_raw, room=st.sampled_from((4096, 70, 63)))
def test_a_long_text_is_split_as_its_expression_says(data, room):
    for name in EXPRESSIONS:
        assert scanned(name, data, room=room) == by_definition(name, data)


def test_characters_in_a_long_text_are_of_their_class():
    # All of those whose letters have a rule for blocks, and some of the others.
    codes = (*range(0x3100), *range(0x3100, 0x110000, 997))
    characters = (chr(code) for code in codes if not 0xD800 <= code < 0xE000)
    data = "".join(f" {character}x{character * 2}a." for character in characters).encode()
    for name in EXPRESSIONS:
        assert scanned(name, data, room=1 << 16) == by_definition(name, data), name


@given(characters=text)
def test_every_scanner_equals_tokenizers(characters):
    for name in EXPRESSIONS:
        assert [piece.decode() for piece in scanned(name, characters.encode())] == by_tokenizers(name, characters)


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "cl100k_right", "llama3", "qwen2", "o200k", "whitespace"])
def test_every_scanner_equals_tiktoken(name):
    tiktoken = pytest.importorskip("tiktoken")
    chance = random.Random(7)
    texts = ["".join(chance.choices(PIECES, k=7)) for _ in range(250)]
    # With every part of every text a token, whatever tiktoken splits off is one token.
    parts = {
        data[first:last]
        for data in map(str.encode, texts)
        for first in range(len(data))
        for last in range(first + 1, len(data) + 1)
    }
    parts |= {bytes([byte]) for byte in range(256)}
    ranks = {part: rank for rank, part in enumerate(sorted(parts, key=lambda part: (len(part), part)))}
    encoding = tiktoken.Encoding("parts", pat_str=EXPRESSIONS[name], mergeable_ranks=ranks, special_tokens={})
    for characters in texts:
        theirs = [encoding.decode_single_token_bytes(token) for token in encoding.encode_ordinary(characters)]
        assert scanned(name, characters.encode()) == theirs


@cache
def between_others(step):
    """Lines with characters between others, as `regex` is shown them, and where each character ends."""
    # Planes 4 to 13 hold no characters: their edges speak for them.
    codes = [code for code in range(0x110000) if not 0x40400 <= code < 0xDFC00 and not 0xD800 <= code < 0xE000]
    # It is enough where a class begins or ends, and some between.
    changes = np.flatnonzero(np.diff(classes()))
    codes = sorted({*range(0x800), *range(0, 0x110000, step), *changes.tolist(), *(changes + 1).tolist()} & set(codes))
    lines = "".join(f"a{chr(code)}b {chr(code)}1'{chr(code)}a{chr(code)}\n" for code in codes)
    widths = np.fromiter((len(one.encode()) for one in lines), np.int64, len(lines))
    return lines.encode(), lines.translate(TRANSLATION), np.cumsum(widths)


@each_pattern
def test_every_character_between_others(name):
    # Many for o200k, which looks at every bit of a class.
    data, shown, ends = between_others(17 if name == "o200k" else 101)
    theirs = np.fromiter((match.end() for match in regex.finditer(EXPRESSIONS[name], shown)), np.int64)
    assert np.array_equal(ends_of(name, data), ends[theirs - 1])


@settings(max_examples=8)
@given(data=long_raw, around=st.sampled_from(["a", "é", " ", "\n", "1", ".", "'s", "\u2003", "\xff"]))
def test_a_long_text_is_split_alike_wherever_it_stands(data, around):
    """At any place in the blocks and before any text, of which nothing is looked at."""
    around = around.encode() * 70
    data = data[:400]
    for name in EXPRESSIONS:
        wanted = by_definition(name, data)
        for before in range(0, 65, 3):
            place = {"at": before, "stop": before + len(data)}
            assert scanned(name, around[:before] + data + around, **place) == wanted
        for begin in range(0, len(data), 1 + len(data) // 64):
            assert scanned(name, data, at=begin) == by_definition(name, data[begin:])


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from("1٣๙\U0001d7d8½Ⅷa ,年\n"), st.integers(1, 9)), max_size=12),
    st.integers(0, 130),
    st.sampled_from((1, 2, 4096)),
)
def test_digits_are_grouped_from_the_right(runs, length, room):
    data = ("9" * length + "".join(one * times for one, times in runs)).encode()
    assert scanned("cl100k_right", data, room=room) == by_definition("cl100k_right", data)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("1234km", "1 234 km"),
        ("2024年", "2 024 年"),
        ("1234567", "1 234 567"),
        ("123", "123"),
        ("x12", "x 12"),
        ("1234½5678", "1 234 ½56 78"),  # a fraction is a number and no digit
        ("١٢٣٤", "١ ٢٣٤"),
    ],
)
def test_groups_of_digits(text, pieces):
    assert scanned("cl100k_right", text.encode()) == [piece.encode() for piece in pieces.split()]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is protected by a call of Linux")
def test_no_memory_outside_of_a_text_is_read():
    command = [sys.executable, "-m", "tests.core.kernels.guarded_memory"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


@each_pattern
def test_long_runs(name):
    for unit in ("a", "A", "é", "я", "中", "1", " ", "\n", "\xa0", ".", "\u0301", "'s", "aA", "a" * 15 + "B"):
        data = unit.encode() * 137
        assert scanned(name, data) == by_definition(name, data)
        assert scanned(name, data + b" x") == by_definition(name, data + b" x")
    assert scanned(name, b"\xff" * 137) == by_definition(name, b"\xff" * 137)


@each_pattern
def test_words_of_every_length(name):
    data = " ".join(f"{'a' * length}é {'B' * length}-{'c' * length}" for length in range(40)).encode()
    for stop in range(len(name) % 13, len(data), 13):
        assert scanned(name, data[:stop]) == by_definition(name, data[:stop])


def test_a_buffer_without_room_is_left_alone_and_no_pattern_makes_one_piece():
    data, ends = np.zeros(3, np.uint8), np.empty(0, np.int64)
    assert scan(2, data, 0, 3, classes(), ends) == 0
    assert scan(2, data, 3, 3, classes(), np.empty(4, np.int64)) == 0
    assert ends_of("none", b"one two\n") == [8]


@given(data=raw, at=st.integers(0, 30), more=raw)
def test_a_cut_changes_nothing(data, at, more):
    data += more
    at = min(at, len(data))
    place = patterns.cut(np.frombuffer(data, np.uint8), at, len(data))
    assert at <= place <= len(data)
    for name in EXPRESSIONS:
        parts = by_definition(name, data[:place]) + by_definition(name, data[place:])
        assert parts == by_definition(name, data)


@pytest.mark.parametrize(
    ("data", "at", "place"),
    [
        (b"one two three", 0, 3),
        (b"one two three", 3, 7),
        (b"one, two", 0, 4),
        (b"one,\ntwo\nthree", 0, 8),
        ("日本\n語".encode(), 0, 6),
        ("日本。\n語 ".encode(), 0, 13),
        ("a\u3000 b".encode(), 0, 6),
        ("\u3000 b".encode(), 1, 5),  # white space that begins before
        (b"\n \n  \n", 0, 6),
        (b"\xff b", 0, 1),
        (b"\x80\x80\x80\x80\x80 b", 0, 5),
        (b"a\xff b", 0, 2),
        (b"", 0, 0),
    ],
)
def test_where_text_can_be_cut(data, at, place):
    assert patterns.cut(np.frombuffer(data, np.uint8), at, len(data)) == place


def test_the_classes_are_those_of_tiktoken_and_tokenizers(monkeypatch):
    pytest.importorskip("tiktoken")
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    generator = import_module("unicode_classes")
    bits = {
        "UPPER_LETTERS": LETTER | UPPER,
        "LOWER_LETTERS": LETTER | LOWER,
        "OTHER_LETTERS": LETTER | UPPER | LOWER,
        "MARKS": OTHER | UPPER | LOWER,
        "DIGITS": NUMBER | DIGIT,
        "OTHER_NUMBERS": NUMBER,
        "WHITE_SPACE": SPACE,
    }
    ours = classes()[:0x40000] & ~np.uint8(NEWLINE)
    try:
        for name, expression in generator.SETS.items():
            # Planes 2 and 3 hold letters without case; what else is there, and planes 4 to 15, `regex` tells.
            last = 0x3FFFF if name in ("OTHER_LETTERS", "UNASSIGNED") else 0x1FFFF
            monkeypatch.setattr(generator, "sys", SimpleNamespace(maxunicode=last))
            found = unassigned()[:0x40000] if name == "UNASSIGNED" else ours == bits[name]
            assert np.flatnonzero(found).tolist() == generator.code_points(expression), name
    finally:
        del sys.modules["unicode_classes"]


def test_every_code_point_has_one_kind():
    kinds = classes() & (LETTER | NUMBER | SPACE | OTHER)
    assert len(kinds) == 0x110000
    assert set(kinds.tolist()) == {LETTER, NUMBER, SPACE, OTHER}
    assert np.flatnonzero(classes() & NEWLINE).tolist() == [10, 13]
    assert not classes().flags.writeable
