"""The named patterns, custom expressions, and refused expressions."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tokstudio import ConfigError
from tokstudio.core.kernels import scan
from tokstudio.core.model.algorithms import SECOND_PATTERN
from tokstudio.core.pretokenization import custom_regex as expressions
from tokstudio.core.pretokenization import patterns
from tokstudio.core.pretokenization.patterns import MINBPE, NAMES, OWN, REGEX, check_pattern, covering, splitter
from tokstudio.core.text.unicode_classes import LETTER, LOWER, NUMBER, SPACE, UPPER, classes, unassigned

GOLDEN = json.loads((Path(__file__).resolve().parents[2] / "data" / "patterns.json").read_text())["patterns"]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
ALL = r"\w+|\W"
SAMPLE = "It's 1990's naïve café, isn't it?\r\n\r\n  日本語 text\t😀 '\u017f x \u0301\n  "
own_text = st.text(st.one_of(st.sampled_from("ab 1'.\n\téя日😀\u088f\u0295"), st.characters()), max_size=30)
raw = st.one_of(own_text.map(lambda text: text.encode("utf-8", "replace")), st.binary(max_size=20))


def joined_ends(pattern, data, start=0, stop=None):
    array = np.frombuffer(data, np.uint8)
    pieces = splitter(pattern).ends_work(array, start, len(data) if stop is None else stop)
    return [end for piece in pieces for end in piece.tolist()]


def test_the_classes_stay_in_memory_while_a_loop_reads_them(monkeypatch):
    """Threads that ask for them first at once get arrays of their own, and a loop gets an address."""
    asked = []

    def own():
        made = classes().copy()
        asked.append(weakref.ref(made))
        return made

    def while_they_are_there(loop):
        def called(*given):
            assert asked[-1]() is not None
            return loop(*given)

        return called

    monkeypatch.setattr(patterns, "classes", own)
    monkeypatch.setattr(scan, "scan_at", while_they_are_there(scan.scan_at))
    monkeypatch.setattr(scan, "cut_at", while_they_are_there(scan.cut_at))
    assert splitter("gpt2").split("one two") == [b"one", b" two"]
    assert patterns.cut(np.frombuffer(b"one two", np.uint8), 1, 7) == 3
    assert len(asked) == 2


def test_the_expressions_are_those_of_their_owners():
    assert dict(REGEX) == {name: entry["regex"] for name, entry in GOLDEN.items()}
    assert set(NAMES) == {"none", *REGEX}
    for name in NAMES:
        assert (splitter(name).kind, splitter(name).pattern) == (getattr(scan, name.upper()), name)
    for name, expression in REGEX.items():
        assert (splitter(expression).kind, splitter(expression).pattern) == (splitter(name).kind, expression)


@pytest.mark.parametrize(
    "spelling",
    [
        GPT2,
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        MINBPE,
        REGEX["cl100k"].replace("{1,3}+", "{1,3}"),
    ],
)
def test_another_spelling_splits_every_text_alike(spelling):
    assert splitter(spelling).kind > 0
    # A group around it changes nothing, except that no scanner knows it.
    slow = f"(?:{spelling})"
    assert splitter(slow).kind == OWN

    @given(st.text("as'1. \n\r\tſ\xa0L", max_size=14))
    def alike(text):
        assert splitter(spelling).split(text) == splitter(slow).split(text)

    alike()


@pytest.mark.parametrize(
    ("pattern", "text", "words"),
    [
        # U+088F is a letter since Unicode 17.0; U+0295 was a small letter until then.
        (r"\p{L}+|\P{L}", "a\u088fb", [b"a", "\u088f".encode(), b"b"]),
        (r"\p{Cn}|\w+", "a\u088fb", [b"a", "\u088f".encode(), b"b"]),
        (r"\p{Ll}+|.", "a\u0295", ["a\u0295".encode()]),
        # A character that the expression names is that character.
        ("\u088f+|[a-z]+", "a\u088f\u088f", [b"a", "\u088f\u088f".encode()]),
        ("none", "a b", [b"a b"]),
        # Bytes that are not UTF-8 are characters of their own.
        (r"\w+|[^\w]", b"a\xe2\x82b\xff", [b"a", b"\xe2", b"\x82", b"b", b"\xff"]),
    ],
)
def test_splitting_a_sentence(pattern, text, words):
    assert splitter(pattern).split(text) == words


@pytest.mark.parametrize("pattern", [*NAMES, ALL])
def test_a_part_of_a_text_is_split_as_if_it_were_all(pattern):
    data = SAMPLE.encode()
    assert joined_ends(pattern, data, 3, 40) == [3 + end for end in joined_ends(pattern, data[3:40])]
    assert joined_ends(pattern, b"abc", 2, 2) == splitter(pattern).split("") == []
    # Lone surrogates become replacement characters.
    assert b"".join(splitter(pattern).split("a\ud800 \ud83d\ude00")) == "a\ufffd 😀".encode()


@pytest.mark.parametrize("pattern", ["gpt2", ALL])
def test_long_texts_come_in_pieces(pattern):
    text = SAMPLE * 4000
    pieces = list(splitter(pattern).ends_work(np.frombuffer(text.encode(), np.uint8), 0, len(text.encode())))
    assert len(pieces) > 1
    assert max(map(len, pieces)) <= 1 << 16
    ends = np.concatenate(pieces)
    assert np.all(np.diff(ends) > 0)
    assert ends[-1] == len(text.encode())
    work = splitter(pattern).ends_work(np.frombuffer(text.encode(), np.uint8), 0, len(text.encode()))
    next(work)
    work.close()
    assert list(work) == []


@given(data=raw, piece=st.integers(1, 9), matches=st.integers(1, 4))
def test_a_custom_expression_sees_the_document_as_one_text(data, piece, matches):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expressions, "BYTES_IN_A_PIECE", piece)
        patch.setattr(expressions, "MATCHES_IN_A_PIECE", matches)
        ends = joined_ends(r"(?<=a)b+|(?s:.)", data)
    text = data.decode("utf-8", "surrogateescape")
    expected = [match.group() for match in regex.finditer(r"(?<=a)b+|(?s:.)", text)]
    assert [data[a:b] for a, b in zip([0, *ends], ends, strict=False)] == [
        part.encode("utf-8", "surrogateescape") for part in expected
    ]


@given(data=raw)
def test_a_custom_expression_uses_the_unicode_of_the_scanners(data):
    for name, expression in REGEX.items():
        assert joined_ends(f"(?:{expression})", data) == joined_ends(name, data)


def test_regex_differs_in_no_other_letter():
    known = np.flatnonzero(~unassigned())
    codes = known[(known < 0xD800) | (known >= 0xE000)]
    text = codes.astype("<u4").tobytes().decode("utf-32-le")
    both = LETTER | NUMBER | SPACE | UPPER | LOWER
    theirs = np.zeros(0x110000, np.uint8)
    for expression, bits in (
        (r"[\p{Lu}\p{Lt}]", LETTER | UPPER),
        (r"\p{Ll}", LETTER | LOWER),
        (r"[\p{Lm}\p{Lo}]", LETTER | UPPER | LOWER),
        (r"\p{M}", UPPER | LOWER),
        (r"\p{N}", NUMBER),
        (r"\s", SPACE),
    ):
        theirs[list(map(ord, regex.findall(expression, text)))] = bits
    assert np.flatnonzero((theirs ^ classes()) & both).tolist() == list(expressions.CHANGED)


COMPILES = "The pattern does not compile"
EMPTY = "The pattern matches empty text: each match must take at least one character."
REPEATS = "The pattern repeats too much: use smaller numbers in braces."


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(abc", f"{COMPILES} at the end: missing )."),
        ("a**b", f"{COMPILES} at character 3: multiple repeat."),
        ("a|[b", f"{COMPILES} at the end: unterminated character set."),
        ("(" * 9000, COMPILES),
        *((pattern, EMPTY) for pattern in ("a*", "(?=a)", "x|")),
        ("", 'The pattern is empty. Use "none" to leave text whole.'),
        ("gpt-4", 'Pattern "gpt-4" is unknown. Choose one of: none, whitespace, gpt2,'),
        (r"(?r)\w+|\W+", "The pattern searches backwards: remove (?r)."),
        ("(a)" * 5000, "The pattern is too long: 15,000 characters, at most 10,000."),
        # These would take for ever to compile.
        ("(((a{1000}){1000}){1000}){1000}|.", REPEATS),
        ("a{100000000}|.", REPEATS),
        ("a{" + "9" * 5000 + "}", REPEATS),
        ("(?x)a{ 9999 # all\n 9999 }|.", REPEATS),
        ("(?i)[" + "".join(map(chr, range(0xDF, 0x200))) + "]{40000}|.", REPEATS),
    ],
)
def test_a_pattern_that_cannot_work_is_refused(pattern, words):
    with pytest.raises(ConfigError) as caught:
        check_pattern(pattern)
    assert str(caught.value).startswith(words)
    # Ordinary repeats are taken.
    check_pattern(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\w{1,99999}|\W")
    check_pattern(r"(?:[0-9a-f]{4} ){64}|a{9999}|[a-z]{9999}|.{1,999999}|\s")


def dropped(pattern, text):
    with pytest.raises(ConfigError) as caught:
        splitter(pattern).split(text)
    return str(caught.value)


def test_a_pattern_that_drops_text_says_what():
    message = 'The pattern drops "{}" (first at character {}): it must cover all text.'
    assert dropped(r"\w+", "one, two") == message.format(", ", 4)
    assert splitter(r"\w+").split("one") == [b"one"]
    assert dropped(r"\w+", "üü\n") == message.format("\\n", 3)
    assert dropped(r"[^x]+", "日本x") == message.format("x", 3)
    assert dropped(r"[a-z]", "é" * 50) == message.format("é" * 40 + "…", 1)
    assert dropped(r"\w+| ", b"one \xff") == message.format("\\xff", 5)
    assert dropped(r"\w+|\s+", "日本 \u088f") == message.format("\\u088f", 4)
    # It may match nothing only now and then.
    check_pattern(r"(?=ü)|(?s:.)")
    assert "matches empty text at character 3" in dropped(r"(?=ü)|(?s:.)", "abü")
    assert "(first at character 140,001)" in dropped(r"\w", "é" * 140_000 + "!" + "é" * 10)


def test_a_pattern_that_backtracks_for_ever_is_given_up(monkeypatch):
    monkeypatch.setattr(expressions, "SECONDS_OF_A_MATCH", 0.1)
    pattern = r"(?:a|aa)+$|b"
    check_pattern(pattern)
    message = dropped(pattern, "bb" + "a" * 60 + "!")
    assert message.startswith('The pattern takes more than 0.1 seconds at character 3, "' + "a" * 40 + '…".')


def test_a_long_text_without_a_match_is_given_time_by_its_length(monkeypatch):
    monkeypatch.setattr(expressions, "SECONDS_OF_A_PIECE", 1e-6)
    monkeypatch.setattr(expressions, "SECONDS_OF_A_MATCH", 1e-6)
    monkeypatch.setattr(expressions, "CHARACTERS_IN_A_SECOND", 10_000)
    text = "only words " * 50_000
    assert splitter(covering(SECOND_PATTERN)).split(text) == [text[:-1].encode(), b" "]


def test_choosing_a_pattern_loads_no_compiler():
    program = (
        "import sys; from tokstudio.core.pretokenization.patterns import check_pattern; check_pattern('cl100k');"
        "assert not {'numba', 'regex'} & set(sys.modules); check_pattern(r'\\w+|\\W');"
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
