"""Merges are read in every shape in which students write them; nothing in a file is run."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.texts import patient
from tokstudio import Corpus, FormatError
from tokstudio.core.base.progress import finish
from tokstudio.core.exercises import submissions as module
from tokstudio.core.exercises.check import Checker, CheckSettings
from tokstudio.core.exercises.own_text import SPECIAL_TOKENS, TEXT
from tokstudio.core.exercises.submissions import read_merges, read_submission, submissions
from tokstudio.core.text.byte_level import to_characters

MERGES = tuple(
    finish(Checker(Corpus.from_texts([TEXT]), CheckSettings(special_tokens=SPECIAL_TOKENS)).expected_work(200))
)


def ids():
    of = {bytes([byte]): byte for byte in range(256)}
    for left, right in MERGES:
        yield of[left], of[right]
        of[left + right] = len(of)


def as_json(write):
    return json.dumps([[write(left), write(right)] for left, right in MERGES]).encode()


def in_lines(write, sign=" "):
    return "".join(f"{write(left)}{sign}{write(right)}\n" for left, right in MERGES)


def latin_1(token):
    return token.decode("latin-1")


MAPPED = in_lines(to_characters)
SHAPES = {
    "GPT-2's lines": MAPPED.encode(),
    "GPT-2's lines with a version": ("#version: 0.2\n" + MAPPED).encode(),
    "lines with CRLF": MAPPED.replace("\n", "\r\n").encode(),
    "lines with a byte order mark": b"\xef\xbb\xbf" + MAPPED.encode(),
    "tabs": in_lines(to_characters, "\t").encode(),
    "repr in lines": in_lines(repr).encode(),
    "repr of pairs in lines": "".join(f"{pair!r}\n" for pair in MERGES).encode(),
    "repr of a list": repr(list(MERGES)).encode(),
    "repr with the result": "".join(f"{a!r} {b!r} -> {a + b!r}\n" for a, b in MERGES).encode(),
    "hex in lines": in_lines(bytes.hex).encode(),
    "base64 in lines": in_lines(lambda token: base64.b64encode(token).decode()).encode(),
    "JSON of GPT-2's alphabet": as_json(to_characters),
    "JSON of lines": json.dumps(MAPPED.splitlines()).encode(),
    "JSON of hex": as_json(bytes.hex),
    "JSON of base64": as_json(lambda token: base64.b64encode(token).decode()),
    "JSON of latin-1": as_json(latin_1),
    "JSON of numbers": as_json(list),
    "JSON of repr": as_json(repr),
    "JSON of ids": json.dumps(list(ids())).encode(),
    "JSON of ids by pair": json.dumps({f"{a},{b}": 256 + n for n, (a, b) in enumerate(ids())}).encode(),
    "JSON of a dictionary of tuples": json.dumps({str(pair): 256 + n for n, pair in enumerate(ids())}).encode(),
    "JSON of ranks": json.dumps({line: rank for rank, line in enumerate(MAPPED.splitlines())}).encode(),
    "JSON under a name": json.dumps({"vocab": {}, "merges": MAPPED.splitlines()}).encode(),
    "tokenizer.json": json.dumps({"model": {"type": "BPE", "vocab": {}, "merges": MAPPED.splitlines()}}).encode(),
    "JSON Lines": "".join(json.dumps([latin_1(a), latin_1(b)]) + "\n" for a, b in MERGES).encode(),
    "JSON Lines of objects": "".join(
        json.dumps({"left": latin_1(a), "right": latin_1(b)}) + "\n" for a, b in MERGES
    ).encode(),
    "minbpe": ("minbpe v1\n\n1\n<|endoftext|> 456\n" + "".join(f"{a} {b}\n" for a, b in ids())).encode(),
    **{f"pickle, protocol {number}": pickle.dumps(list(MERGES), number) for number in range(2, 6)},
    "pickle of a dictionary": pickle.dumps({pair: 256 + n for n, pair in enumerate(MERGES)}),
    "pickle of a vocabulary and merges": pickle.dumps(
        ({number: bytes([number]) for number in range(256)}, list(MERGES))
    ),
    "JSON of ids with their pairs": json.dumps({str(256 + n): pair for n, pair in enumerate(ids())}).encode(),
    "ids in lines": "".join(f"{a} {b}\n" for a, b in ids()).encode(),
    "a line of Python": f"merges = {list(MERGES)!r}\n".encode(),
    "lines in UTF-16, as of PowerShell": MAPPED.encode("utf-16"),
    "pickle of ids": pickle.dumps({"merges": list(ids())}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_merges_are_read_in_every_shape(shape):
    assert MERGES in read_merges(SHAPES[shape])


@patient
@given(st.lists(st.sampled_from([b"ab", b" a", b"  ", b"\n\n", b"\xc3\xa9", b"\xa0b", b"a b"]), min_size=1, max_size=6))
def test_tokens_with_spaces_are_divided_where_their_parts_are_known(words):
    made: list[tuple[bytes, bytes]] = []
    for word in words:
        left = word[:1]
        for byte in word[1:]:
            pair = left, bytes([byte])
            if pair not in made:
                made.append(pair)
            left = b"".join(pair)
    lines = "".join(f"{latin_1(a)} {latin_1(b)}\n" for a, b in made if b"\n" not in a + b)
    wanted = tuple(pair for pair in made if b"\n" not in b"".join(pair))
    if wanted:
        assert wanted in read_merges(lines.encode("latin-1"))


class Harm:
    def __reduce__(self):
        return (open, ("harm", "w"))


def test_a_pickle_is_never_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for protocol in range(2, 6):
        with pytest.raises(FormatError, match=r"would use \"(io|_io)\.open\" when it is loaded, so it is not read"):
            read_merges(pickle.dumps([Harm()], protocol))
    assert not Path("harm").exists()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "there are no merges in it"),
        (b"\n\n", "there are no merges in it"),
        (b"[]", "there are no merges in it"),
        (b"hello\nworld\n", "its merges are in no known shape"),
        (b"\x80\x04garbage.", "this pickle is damaged"),
        (pickle.dumps(MERGES)[:50] + b".", "it has no list of merges"),
        (pickle.dumps(MERGES)[:-1] + b"t.", "this pickle is damaged"),
        (pickle.dumps({1.5}), "this pickle has the instruction"),
        (b'{"a": 0, "b": 1}', "it is a vocabulary: the merges are needed too"),
        (b'[["a", "b"], ["c"]]', r"merge 2 is not a pair of tokens"),
        (b"[[97, 300]]", "a merge joins id 300, which no merge before it makes"),
        (b"[[97, 98], [257, 97]]", "a merge joins id 257, which no merge before it makes"),
        (b"[[[97], [700]]]", "merge 1 is not a pair of tokens"),
        (b"minbpe v1\n\n0\n97 x\n", "it begins as a model of minbpe and does not go on as one"),
        (b"[" * 100_000, "its merges are in no known shape"),
        (json.dumps([[0, 0], *([n, n] for n in range(256, 320))]).encode(), "have more than 67,108,864 bytes together"),
        (b" " * 200_000, "its merges are in no known shape"),
        (b"7", "merge 1 is not a pair of tokens"),
    ],
)
def test_what_is_no_list_of_merges_is_refused(data, message):
    with pytest.raises(FormatError, match=message):
        read_merges(data)


def remarks(*merges):
    return list(module._remarks(merges))


def test_strange_merges_are_told():
    assert remarks((b"a", b"b"), (b"ab", b"c")) == []
    assert remarks((b"a", b"b"), (b"xy", b"c")) == ['Merge 2 joins "xy", which no merge before it makes.']
    assert remarks((b"a", b"b"), (b"c", b"d"), (b"a", b"b")) == ["Merge 3 is the same as merge 1."]
    assert remarks((b"ab", b"c"), (b"a", b"b")) == [
        "The list seems to begin with the last merge: the first one must come first."
    ]
    assert len(remarks(*((b"%d-" % n, b"x") for n in range(9)))) == 3


def test_a_folder_is_one_training_or_many(tmp_path):
    one = tmp_path / "one"
    one.mkdir()
    (one / "merges.txt").write_text(MAPPED)
    (one / "vocab.json").write_text("{}")
    (one / "train_bpe.py").write_text("print('never run')")
    assert submissions(one) == [one]
    assert MERGES in read_submission(one).readings
    (tmp_path / "two.json").write_bytes(SHAPES["JSON of hex"])
    assert submissions(tmp_path) == [one, tmp_path / "two.json"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match="empty has no file of merges"):
        submissions(tmp_path / "empty")
    with pytest.raises(FormatError, match="nowhere is not there"):
        submissions(tmp_path / "nowhere")
    with pytest.raises(FormatError, match="empty has no file of merges"):
        read_submission(tmp_path / "empty")


def test_a_very_large_file_is_not_read(tmp_path):
    with (tmp_path / "merges.txt").open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(FormatError, match=r"merges.txt has 1,073,741,824 bytes: a list of merges has at most"):
        read_submission(tmp_path / "merges.txt")
