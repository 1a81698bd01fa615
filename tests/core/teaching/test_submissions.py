"""Merges are read in every shape in which students write them; nothing in a file is run."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import csv
import io
import json
import os
import pickle
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.formats.file_mutants import mutant_of_bytes, mutant_of_lines
from tests.core.new_content import give
from tests.times import TIMES
from tokstudio import Corpus, FormatError
from tokstudio.core.base.progress import finish
from tokstudio.core.teaching.check import Checker, CheckSettings
from tokstudio.core.teaching.exercise import SPECIAL_TOKENS, TEXT
from tokstudio.core.teaching.submissions import read_merges, read_submission, submissions
from tokstudio.core.text.byte_level import to_characters as mapped

MERGES = tuple(
    finish(Checker(Corpus.from_texts([TEXT]), CheckSettings(special_tokens=SPECIAL_TOKENS)).expected_work(200))
)


GPT2_IDS = {
    ord(byte): at for at, byte in enumerate(sorted(map(chr, range(256)), key=lambda c: mapped(c.encode("latin-1"))))
}


def as_csv(heading, rows, write=mapped, sign=","):
    file = io.StringIO()
    table = csv.writer(file, delimiter=sign)
    table.writerow(heading)
    table.writerows([write(cell) if isinstance(cell, bytes) else cell for cell in row] for row in rows)
    return file.getvalue().encode()


def latin_1(token):
    return token.decode("latin-1")


def shapes(merges):
    """The same merges in every shape."""

    def ids(byte=int, first=256):
        of = {bytes([number]): byte(number) for number in range(256)}
        for number, (left, right) in enumerate(merges, first):
            yield of[left], of[right]
            of[left + right] = number

    def each_id():
        return enumerate(ids())

    def as_json(write):
        return json.dumps([[write(left), write(right)] for left, right in merges]).encode()

    def in_lines(write, sign=" "):
        return "".join(f"{write(left)}{sign}{write(right)}\n" for left, right in merges)

    mapped_lines = in_lines(mapped)
    return {
        "GPT-2's lines": mapped_lines.encode(),
        "GPT-2's lines with a version": ("#version: 0.2\n" + mapped_lines).encode(),
        "lines with CRLF": mapped_lines.replace("\n", "\r\n").encode(),
        "lines with a byte order mark": b"\xef\xbb\xbf" + mapped_lines.encode(),
        "tabs": in_lines(mapped, "\t").encode(),
        "repr in lines": in_lines(repr).encode(),
        "repr of pairs in lines": "".join(f"{pair!r}\n" for pair in merges).encode(),
        "repr of a list": repr(list(merges)).encode(),
        "repr with the result": "".join(f"{a!r} {b!r} -> {a + b!r}\n" for a, b in merges).encode(),
        "hex in lines": in_lines(bytes.hex).encode(),
        "base64 in lines": in_lines(lambda token: base64.b64encode(token).decode()).encode(),
        "JSON of GPT-2's alphabet": as_json(mapped),
        "JSON of lines": json.dumps(mapped_lines.splitlines()).encode(),
        "JSON of hex": as_json(bytes.hex),
        "JSON of base64": as_json(lambda token: base64.b64encode(token).decode()),
        "JSON of latin-1": as_json(latin_1),
        "JSON of numbers": as_json(list),
        "JSON of repr": as_json(repr),
        "JSON of ids": json.dumps(list(ids())).encode(),
        "JSON of ids by pair": json.dumps({f"{a},{b}": 256 + n for n, (a, b) in enumerate(ids())}).encode(),
        "JSON of a dictionary of tuples": json.dumps({str(pair): 256 + n for n, pair in enumerate(ids())}).encode(),
        "JSON of ranks": json.dumps({line: rank for rank, line in enumerate(mapped_lines.splitlines())}).encode(),
        "JSON under a name": json.dumps({"vocab": {}, "merges": mapped_lines.splitlines()}).encode(),
        "tokenizer.json": json.dumps(
            {"model": {"type": "BPE", "vocab": {}, "merges": mapped_lines.splitlines()}}
        ).encode(),
        "JSON Lines": "".join(json.dumps([latin_1(a), latin_1(b)]) + "\n" for a, b in merges).encode(),
        "JSON Lines of objects": "".join(
            json.dumps({"left": latin_1(a), "right": latin_1(b)}) + "\n" for a, b in merges
        ).encode(),
        "minbpe": ("minbpe v1\n\n1\n<|endoftext|> 456\n" + "".join(f"{a} {b}\n" for a, b in ids())).encode(),
        **{f"pickle, protocol {number}": pickle.dumps(list(merges), number) for number in range(2, 6)},
        "pickle of a dictionary": pickle.dumps({pair: 256 + n for n, pair in enumerate(merges)}),
        "pickle of a vocabulary and merges": pickle.dumps(
            ({number: bytes([number]) for number in range(256)}, list(merges))
        ),
        "JSON of ids with their pairs": json.dumps({str(256 + n): pair for n, pair in enumerate(ids())}).encode(),
        "ids in lines": "".join(f"{a} {b}\n" for a, b in ids()).encode(),
        "a line of Python": f"merges = {list(merges)!r}\n".encode(),
        "lines in UTF-16, as of PowerShell": mapped_lines.encode("utf-16"),
        "pickle of ids": pickle.dumps({"merges": list(ids())}),
        "comments": (
            "# my merges\n\n// of group 7\n" + mapped_lines.replace("\n", "\n# a comment in between\n", 1)
        ).encode(),
        "comments beside ids": ("# left right\n" + "".join(f"{a} {b}\n" for a, b in ids())).encode(),
        "sums": in_lines(mapped, " + ").encode(),
        "sums with results": "".join(f"{mapped(a)} + {mapped(b)} -> {mapped(a + b)}\n" for a, b in merges).encode(),
        "pairs with results": "".join(f"{mapped(a)} {mapped(b)} => {mapped(a + b)}\n" for a, b in merges).encode(),
        "repr of sums": "".join(f"{a!r} + {b!r} = {a + b!r}\n" for a, b in merges).encode(),
        "tuples of strings in lines": "".join(f"{(mapped(a), mapped(b))!r}\n" for a, b in merges).encode(),
        "quoted strings": "".join(f"{json.dumps(mapped(a))}, {json.dumps(mapped(b))}\n" for a, b in merges).encode(),
        "ids in words": "".join(f"merging ({a}, {b}) into a new token {256 + n}\n" for n, (a, b) in each_id()).encode(),
        "ids with results": "".join(f"{a} {b} -> {256 + n}\n" for n, (a, b) in each_id()).encode(),
        "CSV with a heading": as_csv(("left", "right"), merges),
        "CSV of hex with ranks": as_csv(
            ("rank", "left", "right"), ((n, a, b) for n, (a, b) in enumerate(merges)), bytes.hex
        ),
        "CSV with semicolons": as_csv(("Token 1", "Token 2", "new"), ((a, b, a + b) for a, b in merges), sign=";"),
        "CSV of ids with counts": as_csv(("left_id", "right_id", "count"), ((a, b, 999) for a, b in ids())),
        "CSV of pairs": as_csv(("id", "pair"), ((256 + n, str(pair)) for n, pair in enumerate(merges))),
        "CSV without quotes": ("left\tright\n" + in_lines(mapped, "\t")).encode(),
        "ranks before": "".join(f"{n}: {mapped(a)} {mapped(b)}\n" for n, (a, b) in enumerate(merges)).encode(),
        "ids after": "".join(f"{a},{b},{256 + n}\n" for n, (a, b) in each_id()).encode(),
        "counts after": "".join(
            f"{mapped(a)}\t{mapped(b)}\t{999 - n // 2}\n" for n, (a, b) in enumerate(merges)
        ).encode(),
        "ids after special tokens": json.dumps(list(ids(first=258))).encode(),
        "ids after 744 reserved ones": json.dumps(list(ids(first=1000))).encode(),
        "special tokens before bytes": json.dumps(list(ids(byte=lambda byte: byte + 1, first=257))).encode(),
        "ids of bytes as GPT-2 has them": json.dumps(list(ids(byte=GPT2_IDS.__getitem__))).encode(),
        "pickle, protocol 0": pickle.dumps(list(merges), 0),
        "pickle, protocol 1": pickle.dumps(list(merges), 1),
        "old pickle of a dictionary of ids": pickle.dumps({pair: 256 + n for n, pair in each_id()}, 0),
        "old pickle of strings": pickle.dumps([(mapped(a), mapped(b)) for a, b in merges], 0),
        "old pickle of a tuple": pickle.dumps(merges, 0),
        "Python with a comment and a type": f"# mine\n\nmerges: list[tuple] = {list(merges)!r}\n".encode(),
    }


SHAPES = shapes(MERGES)
# A few merges are read sooner.
SMALL = shapes(MERGES[:12])


@pytest.mark.parametrize("shape", SHAPES)
def test_merges_are_read_in_every_shape(shape):
    assert MERGES in read_merges(SHAPES[shape])


ARROWS = ((b"-", b">"), (b" ", b"->"), (b"->", b"->"), (b"+", b"+"), (b"++", b"+"))


@pytest.mark.parametrize(
    ("data", "merges"),
    [
        # A line that begins as a comment is a merge where its tokens are known.
        (b"# #\n# my merges\n## ##\n#a b\n", ((b"#", b"#"), (b"##", b"##"))),
        # What only looks like repr is text.
        ("b'é' b'x'\n".encode(), ((b"b'\xe9'", b"b'x'"),)),
        (b"b'\0' b'x'\n", ((b"b'\0'", b"b'x'"),)),
        (b"- >\n\xc4\xa0 ->\n-> ->\n+ +\n++ +\n", ARROWS),
        # Digits that are merged are not taken for numbers of lines.
        (b"1 2\n12 3\n", ((b"1", b"2"), (b"12", b"3"))),
        (b"0 1\n1 2\n2 3\n", ((b"0", b"1"), (b"1", b"2"), (b"2", b"3"))),
    ],
)
def test_what_looks_like_something_else_is_read_as_merges(data, merges):
    assert read_merges(data)[0] == merges


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
    for protocol in range(6):
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
        (b"[[97, 98], [300, 97], [257, 97]]", "a merge joins id 300, which no merge before it makes"),
        (b"[[[97], [700]]]", "merge 1 is not a pair of tokens"),
        (b"minbpe v1\n\n0\n97 x\n", "it begins as a model of minbpe and does not go on as one"),
        (b"[" * 100_000, "its merges are in no known shape"),
        (json.dumps([[0, 0], *([n, n] for n in range(256, 320))]).encode(), "have more than 67,108,864 bytes together"),
        (b" " * 200_000, "its merges are in no known shape"),
        (b"7", "merge 1 is not a pair of tokens"),
        (b"," * 100_000 + b"\n", "its merges are in no known shape"),
        (b"x" * 1_000_000, "its merges are in no known shape"),
        (
            (b"a long text of many words, and no list of merges at all, so it has many places " * 9 + b"\n") * 2_000,
            "shape",
        ),
        (b"a b\n" * 500_001, "it has 500,001 merges: at most 500,000 are read"),
        (b"left,right\na,b\nc\n", "line 3 has 1 field, and the heading 2"),
        (b"left,right\n" + b"a" * 200_000 + b",b\n", "line 2 is not CSV: field larger than field limit"),
        (b"# only\n# comments\n", "its merges are in no known shape"),
        (b'[["\\ud800", "a"]]', "its merges are in no known shape"),
        (b"\x80\x04)" + b"\x85" * 50_000 + b".", "merge 1 is not a pair of tokens"),
        (b"\x80\x04})" + b"\x85" * 50_000 + b"K\x01s.", "has keys of several levels"),
        (b"\x80\x04(" + b"}" + b")" + b"\x85" * 9 + b"K\x01d.", "this pickle is damaged"),
        (b"\x80\x04]\x94(}h\x00e.", "its lists are nested too deeply"),
        (b"\x80\x04]\x8b" + (9000).to_bytes(4, "little") + b"\x11" * 9000 + b"a.", "a very large number"),
        (b"(lp0\nI1\na", "its merges are in no known shape"),
        (b"(lp0\nI1\na.", "merge 1 is not a pair of tokens"),
        (b"le\rft,right\na,b\nab,c\n", "is not CSV|in no known shape|merge"),
        (b'[["a","b"],["ab","left,right\na,b\nab,c\n', "line 2 has 2 fields, and the heading 5"),
    ],
)
def test_what_is_no_list_of_merges_is_refused(data, message):
    with pytest.raises(FormatError, match=message):
        read_merges(data)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mutate", [mutant_of_bytes, mutant_of_lines])
def test_a_damaged_submission_is_read_or_refused_in_one_sentence(tmp_path, shape, mutate):
    chance = random.Random(f"{shape} {mutate.__name__}")
    for _ in range(7 * TIMES):
        give(tmp_path / "merges.txt", mutate(SMALL[shape], chance))
        try:
            read_submission(tmp_path / "merges.txt")
        except FormatError as error:
            words = str(error)
            assert re.fullmatch(r"merges\.txt: [^\n]+\.", words), words


@pytest.mark.parametrize(
    ("merges", "remarks"),
    [
        ("a b|ab c", []),
        ("a b|xy c", ['Merge 2 joins "xy", which no merge before it makes.']),
        ("a b|c d|a b", ["Merge 3 is the same as merge 1."]),
        ("ab c|a b", ["The list seems to begin with the last merge: the first one must come first."]),
        ("b a|c ab", ["The right token seems to stand before the left one in each merge."]),
        ("|".join(f"{n}- x" for n in range(9)), 3),
    ],
)
def test_strange_merges_are_told(tmp_path, merges, remarks):
    (tmp_path / "merges.json").write_text(json.dumps([merge.split() for merge in merges.split("|")]))
    told = list(read_submission(tmp_path / "merges.json").remarks)
    assert (len(told) if isinstance(remarks, int) else told) == remarks


def test_a_folder_is_one_training_or_many(tmp_path):
    one = tmp_path / "one"
    one.mkdir()
    (one / "merges.txt").write_bytes(SHAPES["GPT-2's lines"])
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
        read_submission(tmp_path / "nowhere")
    with pytest.raises(FormatError, match="empty has no file of merges"):
        read_submission(tmp_path / "empty")
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"ab" * 32 + b"\nsize 4997\n"
    (tmp_path / "merges.txt").write_bytes(pointer)
    with pytest.raises(FormatError, match=r"^merges.txt: this is a Git LFS pointer, .* \"git lfs pull\"\.$"):
        read_submission(tmp_path / "merges.txt")
    os.truncate(tmp_path / "merges.txt", 1 << 30)
    with pytest.raises(FormatError, match=r"merges.txt: it has 1,073,741,824 bytes: a list of merges has at most"):
        read_submission(tmp_path / "merges.txt")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs the files of POSIX")
def test_what_cannot_be_read_in_a_folder_stays_a_submission(tmp_path):
    (tmp_path / "good.txt").write_bytes(SHAPES["GPT-2's lines"])
    (tmp_path / "loop.txt").symlink_to(tmp_path / "loop.txt")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere.txt")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "merges.txt").symlink_to(tmp_path / "inside" / "merges.txt")
    (tmp_path / "turning").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.txt")
    found = {}
    for path in submissions(tmp_path):
        try:
            found[path.name] = len(read_submission(path).readings[0])
        except FormatError as error:
            found[path.name] = str(error)
    assert found == {
        "good.txt": 200,
        "gone.txt": "gone.txt is not there.",
        "loop.txt": "loop.txt cannot be read: Too many levels of symbolic links.",
        "pipe.txt": "pipe.txt: it is not a file.",
    }


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is forbidden to the superuser")
def test_what_is_forbidden_is_told(tmp_path):
    (tmp_path / "secret.txt").write_bytes(SHAPES["GPT-2's lines"])
    (tmp_path / "closed").mkdir()
    for name in ("secret.txt", "closed"):
        (tmp_path / name).chmod(0)
    assert submissions(tmp_path) == [tmp_path / "closed", tmp_path / "secret.txt"]
    for path in submissions(tmp_path):
        with pytest.raises(FormatError, match=f"{path.name} cannot be read: Permission denied."):
            read_submission(path)
    (tmp_path / "closed").chmod(0o700)
