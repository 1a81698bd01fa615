"""Each rule that reads text alone finds what a naive recount finds, however the text is cut into pieces."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokstudio import ConfigError, Corpus, CorpusError
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus import marks as module
from tokstudio.core.corpus import rules
from tokstudio.core.corpus.marks import Marked
from tokstudio.core.corpus.rules import RULES, marks_work, repeated_bytes_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.text.languages import SCRIPTS, script_of

Found = set[tuple[int, int, int]]


def _corpus(*sources: list[bytes]) -> Corpus:
    return Corpus(tuple(Source.from_texts(texts, f"{number}.txt") for number, texts in enumerate(sources)))


def _lines(document: bytes) -> list[bytes]:
    """The lines with their line feeds."""
    return re.findall(rb"[^\n]*\n|[^\n]+", document)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape").strip()


def _raw(line: bytes) -> bytes:
    return _text(line).encode("utf-8", "surrogateescape")


def _as_found(marks: Marked, sources: tuple[list[bytes], ...]) -> Found:
    """The marks; each must be the bytes of its line or document, in the order of the corpus."""
    rows = list(zip(marks.source.tolist(), marks.document.tolist(), marks.line.tolist(), strict=True))
    assert rows == sorted(rows)
    for (source, document, line), start, stop in zip(rows, marks.start.tolist(), marks.stop.tolist(), strict=True):
        whole = sources[source][document]
        before = b"".join(sources[source])[start:stop]
        assert before == (whole if line < 0 else _lines(whole)[line])
    return set(rows)


def _by_line(sources: tuple[list[bytes], ...], finds: Callable[[bytes], bool]) -> Found:
    return {
        (number, document, line)
        for number, texts in enumerate(sources)
        for document, text in enumerate(texts)
        for line, content in enumerate(_lines(text))
        if finds(content)
    }


@pytest.fixture
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text is cut within most documents, and some pieces hold several whole ones."""
    for each in (module, rules):
        monkeypatch.setattr(each, "PIECE", 32)
        monkeypatch.setattr(each, "LINES", 3)


in_small_pieces = pytest.mark.usefixtures("_small_pieces")

_SPACES = ["", " ", "\t", "\r", "\u3000", "\xa0", "\x85", "\u2028", "\x1c", "\u200a", "\u200b"]
_WORDS = ["the repeated line of boilerplate", "another line that is repeated", "short", "日本語の長い行です。", "x"]
_line = st.builds(
    lambda before, text, after: (before + text + after).encode(),
    st.sampled_from(_SPACES),
    st.sampled_from(_WORDS),
    st.sampled_from(_SPACES),
)
_bytes_of_lines = (
    st.binary(max_size=6) | _line | st.sampled_from([b"\xe2\x80 a line that is not UTF-8 \xc2", b"\xff" * 20])
)
_document = st.lists(_bytes_of_lines, max_size=5).map(b"\n".join)
_sources = st.lists(st.lists(_document, max_size=6), min_size=1, max_size=3).map(tuple)


@in_small_pieces
@given(_sources)
def test_repeated_lines_are_all_but_the_first(sources: tuple[list[bytes], ...]) -> None:
    counts = Counter(_raw(line) for texts in sources for text in texts for line in _lines(text))
    seen: set[bytes] = set()
    expected: Found = set()
    for source, texts in enumerate(sources):
        for document, text in enumerate(texts):
            for number, line in enumerate(_lines(text)):
                if len(_raw(line)) >= 20 and _raw(line) in seen:
                    expected.add((source, document, number))
                seen.add(_raw(line))
    corpus = _corpus(*sources)
    assert _as_found(finish(marks_work(corpus, "repeated-lines")), sources) == expected
    sizes = [
        [sum(len(line) for line in _lines(text) if len(_raw(line)) >= 20 and counts[_raw(line)] > 1) for text in texts]
        for texts in sources
    ]
    assert [part.tolist() for part in finish(repeated_bytes_work(corpus))] == sizes


@in_small_pieces
@given(_sources)
def test_duplicates_are_all_but_the_first(sources: tuple[list[bytes], ...]) -> None:
    seen: set[bytes] = {b""}
    expected: Found = set()
    for source, texts in enumerate(sources):
        for document, text in enumerate(texts):
            if text in seen and text:
                expected.add((source, document, -1))
            seen.add(text)
    assert _as_found(finish(marks_work(_corpus(*sources), "duplicates")), sources) == expected


def test_long_documents_differ_in_any_byte() -> None:
    text = random.Random(1).randbytes(3_000_001)
    other = text[:-1] + bytes([text[-1] ^ 1])
    marks = finish(marks_work(_corpus([text, other, text[:-1], text, other]), "duplicates"))
    assert marks.document.tolist() == [3, 4]
    assert marks.bytes.tolist() == [len(text)] * 2


def test_hashes_that_do_not_fit_are_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [b"a line that stands here often %d\n" % (number % 700) for number in range(1000)]
    corpus, rules = _corpus(texts[:600], texts[600:]), ("duplicates", "repeated-lines")
    whole = [_as_found(finish(marks_work(corpus, rule)), (texts[:600], texts[600:])) for rule in rules]
    sums = finish(repeated_bytes_work(corpus))
    monkeypatch.setattr(module, "_FIRST_ROOM", 64)
    monkeypatch.setattr(module, "free_memory", lambda: 0)
    assert [_as_found(finish(marks_work(corpus, rule)), (texts[:600], texts[600:])) for rule in rules] == whole
    assert np.array_equal(np.concatenate(finish(repeated_bytes_work(corpus))), np.concatenate(sums))
    assert [len(found) for found in whole] == [300, 300]


def _is_noise(run: bytes) -> bool:
    counts = Counter(run)
    bits = sum(count / len(run) * -math.log2(count / len(run)) for count in counts.values())
    is_hexadecimal = re.fullmatch(rb"[0-9A-Fa-f]+", run) is not None
    return bits >= (3 if is_hexadecimal else 5) - 1e-9


def _is_blob(line: bytes) -> bool:
    runs = [run for run in re.findall(rb"[!-~]+", _raw(line)) if len(run) >= 64 and _is_noise(run)]
    return bool(runs) and 2 * sum(map(len, runs)) >= len(_raw(line))


@st.composite
def _line_with_runs(draw: st.DrawFn) -> bytes:
    kind = draw(st.sampled_from(["base64", "hex", "words", "digits", "other"]))
    size, chance = draw(st.integers(20, 200)), random.Random(draw(st.integers(0, 1 << 30)))
    letters = {
        "base64": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        "hex": "0123456789abcdef",
        "words": "eeettaaooinshrdlu/",
        "digits": "0123456789",
        "other": "aé日",
    }[kind]
    run = "".join(chance.choice(letters) for _ in range(size))
    return (
        draw(st.sampled_from(["", "the picture: ", "a word " * 12])) + run + draw(st.sampled_from(["", " end"]))
    ).encode()


@in_small_pieces
@given(st.lists(st.lists(_line_with_runs(), min_size=1, max_size=4).map(b"\n".join), max_size=4))
def test_blobs(texts: list[bytes]) -> None:
    marks = finish(marks_work(_corpus(texts), "blobs"))
    assert _as_found(marks, (texts,)) == _by_line((texts,), _is_blob)


def _repeats(line: bytes) -> bool:
    raw = _raw(line)
    lasts = [at for at in range(len(raw)) if at + 1 == len(raw) or raw[at + 1] & 0xC0 != 0x80]
    for unit in range(1, min(32, len(raw) // 4) + 1):
        compared = [at for at in lasts if at >= unit]
        if len(raw) >= 20 and compared and sum(raw[at] == raw[at - unit] for at in compared) >= 0.8 * len(compared):
            return True
    return False


_unit = st.text("ab-。é ", min_size=1, max_size=9)


@in_small_pieces
@given(
    st.lists(
        st.builds(
            lambda unit, times, end: (unit * times + end).encode(),
            _unit,
            st.integers(1, 12),
            st.text("abcdef日", max_size=9),
        ),
        max_size=6,
    )
)
def test_repetition(lines: list[bytes]) -> None:
    text = b"\n".join(lines)
    assert _as_found(finish(marks_work(_corpus([text]), "repetition")), ([text],)) == _by_line(([text],), _repeats)


@in_small_pieces
def test_repetition_looks_at_the_first_64_kib_of_a_line() -> None:
    same, other = "ab" * (1 << 15), random.Random(1).randbytes(1 << 15).hex()
    texts = [(same + other).encode(), (other + same).encode()]
    marks = finish(marks_work(_corpus(texts), "repetition"))
    assert marks.document.tolist() == [0]


_BYTES = {chr(byte) for byte in range(0x80, 0xC0)} | {
    bytes([byte]).decode("cp1252") for byte in range(0x80, 0xC0) if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)
}
_ONE = "[" + re.escape("".join(sorted(_BYTES))) + "]"
_MISREAD = re.compile(f"[\xc2-\xdf]{_ONE}|[\xe0-\xef]{_ONE}{{2}}|[\xf0-\xf4]{_ONE}{{3}}")


def _misread(text: str) -> str:
    return "".join(
        chr(byte) if byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D) else bytes([byte]).decode("cp1252")
        for byte in text.encode()
    )


@in_small_pieces
@given(
    st.lists(
        st.text("é’日😀aÃÂ» €\x81", max_size=6).flatmap(lambda text: st.sampled_from([text, _misread(text)])),
        max_size=6,
    )
)
def test_mojibake(lines: list[str]) -> None:
    text = "\n".join(lines).encode()

    def finds(line: bytes) -> bool:
        return sum(len(match[0]) for match in _MISREAD.finditer(_text(line))) >= 3

    assert _as_found(finish(marks_work(_corpus([text]), "mojibake")), ([text],)) == _by_line(([text],), finds)


def test_mojibake_of_cp1252_is_found_and_its_source_is_not() -> None:
    right = ["Voilà déjà l’été", "日本語のテキスト", "«CAFÉ»", "Привет, мир"]
    marks = finish(marks_work(_corpus([line.encode() for line in right]), "mojibake"))
    assert len(marks) == 0
    wrong = [_misread(right[0]), _misread(right[1]), _misread(right[3])]
    marks = finish(marks_work(_corpus([line.encode() for line in wrong]), "mojibake"))
    assert marks.document.tolist() == [0, 1, 2]


@in_small_pieces
@given(st.binary(max_size=60) | st.text("a\t\r\v\x00\x1b\x7f\x80\x85\x9f\xa0\ufffd\n", max_size=30).map(str.encode))
def test_control(text: bytes) -> None:
    def finds(line: bytes) -> bool:
        return (
            re.search("[\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufffd]", line.decode("utf-8", "surrogateescape")) is not None
        )

    assert _as_found(finish(marks_work(_corpus([text]), "control")), ([text],)) == _by_line(([text],), finds)


_MARKUP = re.compile(
    rb"<[!?][^<>]*>|</?[A-Za-z_\xc3-\xe1\xe3-\xf4][A-Za-z0-9:_.\x80-\xbf\xc3-\xe1\xe3-\xf4-]*(?=[> \t]|/>)[^<>]*>"
    rb"|&(?=#?[A-Za-z0-9]+;)(?=[^;]{1,31};)#?[A-Za-z0-9]+;"
)


@in_small_pieces
@given(
    st.lists(
        st.sampled_from(
            [
                "<",
                ">",
                "/",
                "p",
                "a1",
                " ",
                "&",
                "#",
                ";",
                "!",
                "text",
                "amp",
                "x" * 31,
                "\n",
                "é",
                "–",
                "_",
                ".",
                ":",
                "-",
            ]
        ),
        max_size=30,
    ).map("".join)
)
def test_markup(text: str) -> None:
    raw = text.encode()

    def finds(line: bytes) -> bool:
        found = sum(map(len, _MARKUP.findall(_raw(line))))
        return found > 0 and found >= 0.6 * len(_raw(line))

    assert _as_found(finish(marks_work(_corpus([raw]), "markup")), ([raw],)) == _by_line(([raw],), finds)


@pytest.mark.parametrize(
    ("line", "is_markup"),
    [
        ("<my_tag/><_x.y z='1'></my_tag>", True),
        ("<тег>ж</тег>", True),
        ("<ns:a-1.b></ns:a-1.b>", True),
        ("<br/>", True),
        ("<https://example.org/page>", False),
        ("<doi:10.1000/182>", False),
        ("<someone@example.org>", False),
        ("a <– b –>", False),
        ("<.a> <-b> <1c>", False),
    ],
)
def test_names_of_tags_are_those_of_xml_and_an_address_is_none(line: str, is_markup: bool) -> None:
    assert len(finish(marks_work(_corpus([line.encode()]), "markup"))) == is_markup


def test_marks_on_letters_are_no_letters() -> None:
    thai = "ก็ก้ก"
    lines = [*["common text of many letters"] * 50, thai, f"{thai}กก"]
    marks = finish(marks_work(_corpus([line.encode() for line in lines]), "rare-script"))
    assert marks.document.tolist() == [51]


@in_small_pieces
@given(st.lists(st.lists(st.text("abcdefgжщ日本ไทย\u0e47\u0e491 \n", max_size=40), max_size=3), min_size=1, max_size=2))
def test_rare_script(texts: list[list[str]]) -> None:
    sources = tuple([text.encode() for text in each] for each in texts)

    def scripts(text: str) -> Counter[str]:
        letters = filter(str.isalpha, text)
        return Counter(script for letter in letters if (script := script_of(letter)) is not None)

    expected: Found = set()
    for source, documents in enumerate(texts):
        totals = scripts("".join(documents))
        for document, text in enumerate(documents):
            for number, line in enumerate(_lines(text.encode())):
                here = scripts(line.decode())
                if here:
                    main = max(SCRIPTS, key=lambda script: here[script])  # the first of several
                    if here[main] >= 5 and totals[main] < 0.2 * totals.total():
                        expected.add((source, document, number))
    marks = finish(marks_work(_corpus(*sources), "rare-script", 0.2))
    assert _as_found(marks, sources) == expected


@pytest.mark.parametrize("rule", RULES)
def test_any_text_is_looked_at(rule: str) -> None:
    assert len(finish(marks_work(Corpus(()), rule))) == 0
    assert len(finish(marks_work(_corpus([]), rule))) == 0
    assert len(finish(marks_work(_corpus([b"one document of a few words\r\nand two lines\r\n"]), rule))) == 0
    assert len(finish(marks_work(_corpus([b"lines that end\rwith a carriage return\ralone\r"]), rule))) == 0
    assert len(finish(marks_work(_corpus([b""] * 1000), rule))) == 0


def test_word_counts_have_no_lines() -> None:
    corpus = Corpus((*_corpus([b"a text"]).sources, *Corpus.from_counts({"the": 3}).sources))
    with pytest.raises(CorpusError, match="has word counts, not documents and lines"):
        finish(marks_work(corpus, "blobs"))


def test_unknown_rules_and_thresholds_are_refused() -> None:
    with pytest.raises(ConfigError, match=r'There is no rule "blob" .* use duplicates, '):
        finish(marks_work(Corpus(()), "blob"))
    with pytest.raises(ConfigError, match=r"threshold of repetition must be from 0.5 to 1, not 2"):
        finish(marks_work(Corpus(()), "repetition", 2))
    with pytest.raises(ConfigError, match="duplicates has no threshold"):
        finish(marks_work(Corpus(()), "duplicates", 2))
