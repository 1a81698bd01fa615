"""Damaged and hostile files: exactly one sentence each, and never another exception."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import random
import re
import sys
import tracemalloc
from codecs import BOM_UTF8
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.formats.file_mutants import mutant_of_bytes, mutant_of_lines, mutant_of_values, read_or_refused
from tests.core.formats.huggingface.test_models import bert, pair
from tests.core.formats.sentencepiece.test_format import small_model
from tests.core.formats.trained import (
    banana,
    gpt2_pair,
    ranks_of,
    same,
    settings_of,
    tiktoken_lines,
    trained,
    with_specials,
    with_unknown,
)
from tests.core.new_content import give
from tests.processes import no_processes
from tests.times import TIMES
from tokstudio import FormatError, Tokenizer, load, save
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.classic import Classic
from tokstudio.core.formats.common import text_readers
from tokstudio.core.formats.common.text_readers import JsonReader
from tokstudio.core.formats.common.vocabulary import read_vocabulary_work
from tokstudio.core.formats.huggingface.format import HuggingFace
from tokstudio.core.formats.huggingface.reader import read_work
from tokstudio.core.formats.known_formats import FORMATS


@cache
def content(name, merges=3):
    tokenizer = trained("banana bandana", merges)
    match name:
        case "specials.json":
            return b"".join(HuggingFace().contents(with_specials("cl100k", merges=9))["tokenizer.json"])
        case "characters.json":
            return b"".join(HuggingFace().contents(with_unknown())["tokenizer.json"])
        case "vocab.json" | "merges.txt":
            return gpt2_pair(tokenizer, ("<|endoftext|>",))[name == "merges.txt"]
        case "ranks.tiktoken":
            return tiktoken_lines(ranks_of(tokenizer))
        case "words.tiktoken":
            return tiktoken_lines(ranks_of(tokenizer) | {b"xyz": 400, b"xyza": 401}) + b"= 402\n"
        case "ranks.json":
            return json.dumps({"pattern": r"\w+|\W", "special_tokens": {"<s>": 300, "<t>": 301}, "version": 1}).encode()
        case "minbpe.model":
            tokenizer = trained("banana bandana", 9, pattern="gpt2", special_tokens=["<s>"])
            return b"".join(FORMATS["minbpe"].contents(tokenizer)["tokenizer.model"])
        case "pieces.model":
            return small_model().SerializeToString()
        case _:
            return b"".join((HuggingFace() if name == "tokenizer.json" else Classic()).contents(tokenizer)[name])


BESIDE = {
    "vocabulary.json": "merges.json",
    "vocab.json": "merges.txt",
    "merges.txt": "vocab.json",
    "ranks.json": "ranks.tiktoken",
}
JSON = [
    *("tokenizer.json", "specials.json", "characters.json", "merges.json", "vocabulary.json", "vocab.json"),
    "ranks.json",
]
LINES = ["merges.txt", "ranks.tiktoken"]


def opened(path) -> Tokenizer | None:
    """The tokenizer, or None after making sure that the error is one sentence that names the file."""
    names = [re.escape(path.name), re.escape(BESIDE.get(path.name, path.name))]
    return read_or_refused(path, text="bandana ban \0\xff", names=names)


def put(folder, name):
    """A file, and what stands beside it."""
    match name:
        case "vocab.txt" | "tokenizer_config.json":
            bert(folder, do_lower_case=False, strip_accents=None, cls_token="[CLS]")
        case "clip/merges.txt" | "gpt1/vocab.json":
            pair((folder / name).parent, byte_level=name.startswith("clip"))
        case _:
            for each in filter(None, (BESIDE.get(name), name)):
                (folder / each).write_bytes(content(each))
    return folder / name


every_file = pytest.mark.parametrize("name", JSON + LINES)


@every_file
def test_a_file_truncated_at_any_length_is_refused(tmp_path, name):
    path = put(tmp_path, name)
    whole = content(name)
    # All lengths near both ends, where the keys of these files stand, and some between them.
    lengths = {*range(50), *range(50, len(whole) - 50, 197), *range(len(whole) - 50, len(whole))}
    for length in sorted(length for length in lengths if 0 <= length < len(whole)):
        give(path, whole[:length])
        tokenizer = opened(path)
        if name == "ranks.tiktoken" and tokenizer is not None:
            # Such a file has no end: cut between two lines it is a good one.
            assert same(tokenizer, trained("banana bandana", 3).at(len(tokenizer.merges)))
        else:
            assert tokenizer is None or whole[length:] == b"\n", length
    if name in JSON:
        give(path, whole[: len(whole) // 2])
        with pytest.raises(FormatError, match=r"line [\d,]+, column [\d,]+\.$"):
            load(path.with_suffix(".tiktoken") if name == "ranks.json" else path, "none")


def test_a_tokenizer_cut_anywhere_ends_too_early():
    file = settings_of(with_specials(merges=4))
    file |= {"extra": {"number": -1.5e-3, "yes": True, "list": [None, False, 12]}}
    file["added_tokens"] = file["added_tokens"][:1]
    kept = [*"aé\u0120\u0100\ud83d", *file["model"]["vocab"]][:9]
    file["model"]["vocab"] = {token: number for number, token in enumerate(kept) if token.isprintable()}
    file["model"]["merges"] = []
    whole = json.dumps(file, ensure_ascii=False, indent=1).replace("\u0100", "\\u0100").encode("utf-8", "replace")
    for length in range(len(whole)):
        with pytest.raises(
            FormatError, match=r"^tokenizer\.json: the file ends too early, line [\d,]+, column [\d,]+\.$"
        ):
            finish(read_work(whole[:length], "tokenizer.json"))


def test_numbers_and_lines_that_are_cut_are_not_taken_for_others(tmp_path):
    whole = content("vocab.json")
    (tmp_path / "merges.txt").write_bytes(content("merges.txt"))
    give(tmp_path / "vocab.json", whole[: whole.index(b"258")] + b"25")
    with pytest.raises(FormatError, match=r"^vocab\.json: the file ends too early"):
        load(tmp_path, "none")
    ranks = tmp_path / "a.tiktoken"
    give(ranks, content("ranks.tiktoken")[:-2])
    with pytest.raises(FormatError, match=r"^a\.tiktoken: the file ends too early, or rank 25 appears twice, line 259"):
        load(ranks, "none")


@pytest.mark.parametrize(
    "names",
    [("tokenizer.json",), ("vocabulary.json", "merges.json"), ("vocab.json", "merges.txt"), ("a.tiktoken", "a.json")],
)
def test_a_byte_order_mark_changes_nothing(tmp_path, names):
    plain, marked = tmp_path / "plain", tmp_path / "marked"
    ranks = {"a.tiktoken": "ranks.tiktoken", "a.json": "ranks.json"}
    for folder, mark in ((plain, b""), (marked, BOM_UTF8)):
        folder.mkdir()
        for name in names:
            (folder / name).write_bytes(mark + content(ranks.get(name, name)))
    assert same(load(marked, "none"), load(plain, "none"))
    (marked / names[0]).write_bytes(BOM_UTF8 + b"{\n\xff")
    with pytest.raises(FormatError, match=r"byte 5|a line must be a token in base64, a space and a rank, line 1"):
        load(marked, "none")


def test_a_file_for_its_library_may_begin_with_a_mark_too(tmp_path):
    file = settings_of(banana()) | {"normalizer": {"type": "Lowercase"}}
    (tmp_path / "tokenizer.json").write_bytes(BOM_UTF8 + json.dumps(file).encode())
    tokenizer = load(tmp_path)
    assert tokenizer.library == "tokenizers"
    assert tokenizer.encode("BANANA") == banana().encode("banana")
    save(tokenizer, tmp_path / "copy")
    assert load(tmp_path / "copy").encode("BANANA") == banana().encode("banana")
    model = tmp_path / "x.model"
    model.write_bytes(BOM_UTF8 + b"minbpe v1\n\n0\n97 110\n")
    assert load(model, "none").encode("an") == [256]


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"ab" * 32 + b"\nsize 499723\n"


@pytest.mark.parametrize(
    "names",
    [
        ("tokenizer.json",),
        ("vocabulary.json", "merges.json"),
        ("vocab.json", "merges.txt"),
        ("encoder.json", "vocab.bpe"),
        ("a.tiktoken", "a.json"),
        ("tokenizer.model",),
        ("any.name",),
    ],
)
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
def test_a_git_lfs_pointer_is_named(tmp_path, names, ends):
    for name in names:
        (tmp_path / name).write_bytes(POINTER.replace(b"\n", ends))
    for path in (tmp_path / names[0], tmp_path) if names[0] != "any.name" else (tmp_path / names[0],):
        with pytest.raises(FormatError, match=r'^[a-z.]+: this is a Git LFS pointer, not .* "git lfs pull"\.$'):
            load(path)


@every_file
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=50) | st.text('{}[]",:0123456789e.-\\u model', max_size=60).map(str.encode))
def test_any_bytes_are_refused_in_one_sentence(tmp_path, name, data):
    path = put(tmp_path, name)
    give(path, data)
    assert opened(path) is None or b'"merges"' in data or name == "ranks.json"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"merges": ' + b"[" * 200_000, "nested too deeply"),
        (b'{"x": ' + b'{"a":' * 100_000, "nested too deeply"),
        # Newer versions of Python read more levels than older ones.
        (b'{"x": ' + b"[" * 300, "the data is nested too deeply, line 1, column 8"),
        (b'{"x": ' + b"[" * 300 + b"]" * 300 + b"}", "the data is nested too deeply, line 1, column 8"),
        (b'{"x": ' + b'["[", {"a": 1}, ' * 300 + b"1" + b"]" * 300 + b"}", "the data is nested too deeply"),
        (b'{"x": "' + b"[" * 300 + b'\\""}', 'the key "merges" is missing'),
        (b'{"x": [' + b"[[]]," * 300 + b'"' + b"[" * 300 + b'"]}', 'the key "merges" is missing'),
        (b'{"merges": [[[97, 1' + b"0" * 50_000 + b"], 256]]}", "a number is too long"),
        (b'{"merges": [[[97, 98], 256]', "the file ends too early, line 1, column 28"),
        (b'{"merges": [\n[[97 98], 256]]}', "this is not JSON"),
        (b'{"merges": []} {}', "something follows the end of the data, line 1, column 16"),
        (b'{"version": NaN, "merges": []}', "this is not JSON (NaN is not a value), line 1, column 13"),
        (b'{"merges": [[[97, -Infinity], 256]]}', "this is not JSON (-Infinity is not a value)"),
        (b'{"version": -1e400, "merges": []}', "the number -1e400 is too large, line 1, column 13"),
        (b'{"merges": [], "x": ' + b"9" * 400 + b".5}", f"the number {'9' * 40} is too large"),
        (b'{"merges": [], "merges": []}', 'the key "merges" appears twice'),
        (b'{"merges": [],}', "a string is missing"),
        (b'{"pairs": []}', 'the key "merges" is missing'),
        (b"null", "an object is missing"),
        (b"\xff\xfe{\x00", "this is not UTF-8, byte 0"),
        (b'{"merges": [], "x": "\xc3"}', "this is not UTF-8, byte 21"),
        (b'{"merges": [], "x": "\xc3', "the file ends too early, line 1, column 22"),
    ],
)
def test_errors_name_the_fault_and_the_place(tmp_path, data, words):
    path = tmp_path / "merges.json"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=re.escape(words)):
        load(path)
    assert opened(path) is None


def test_places_are_right_far_into_a_file(tmp_path):
    path = tmp_path / "merges.json"
    lines = ["{", '"x": [', *(f'"日本 {number}",' for number in range(30_000)), "1],", '"merges": [[[1, 2], -7]]}']
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(FormatError, match=rf"id -7 is negative, line {len(lines):,}, column 12\.$"):
        load(path)


def test_values_cut_by_the_reader_s_window_stay_whole(tmp_path, monkeypatch):
    whole = {name: content(name, 12) for name in ("tokenizer.json", "merges.json", "vocabulary.json")}
    expected = trained("banana bandana", 12)
    for size in (1, 2, 3, 7, 50):
        monkeypatch.setattr(text_readers, "CHUNK", size)
        for name, data in whole.items():
            folder = tmp_path / f"{name} {size}"
            folder.mkdir()
            (folder / "merges.json").write_bytes(whole["merges.json"])
            (folder / name).write_bytes(json.dumps(json.loads(data), indent=1).encode())
            assert same(load(folder / name), expected)


FAULTS = [
    *("", "1,", "1]", "1.0", "true", "-1", "1" + "0" * 9, "1" + "0" * 5000, "[1]", '{"a": 1}', "NaN", "null", '"'),
    *("257", '1, "an": 9000', '9001, "x": 9001', '9001, "xx": 9002, "xx": 9003', "[" * 400 + "]" * 400),
]
MERGE_FAULTS = ["", ",", "1", '"a"', '"a  b"', '["a"]', '["a", "b", "c"]', '["a", 1]', '["a", ["b"]]', '["a", "zz"]',
                '{"a": "b"}', '{"a": 1, "b": 2}', "]", '"#version 1"', '"', "NaN", '["x", "y"], ']  # fmt: skip


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("write", [list, " ".join])
def test_many_entries_at_once_are_read_and_refused_as_one_by_one(monkeypatch, indent, write):
    """Also where something is wrong with one far from the beginning: the sentences are equal, with their places."""
    monkeypatch.setattr(text_readers, "CHUNK", 300)
    file = settings_of(trained("banana bandana", 12))
    letters = [chr(0x100 + code) for code in range(14)]
    pairs = [left + right for left in letters for right in letters]
    file["model"]["vocab"] |= {pair: 1000 + number for number, pair in enumerate(pairs)}
    file["model"]["vocab"] |= {"x,": 7000, ',"': 7001, "]},": 7002, "#version": 7003, "#version1": 7004}
    file["model"]["merges"] = [write(pair) for pair in pairs]
    whole = json.dumps(file, indent=indent)

    def outcome(old, new):
        try:
            tokenizer = finish(read_work(whole.replace(old, new).encode(), "tokenizer.json"))
        except FormatError as error:
            return str(error)
        return tokenizer.merges.tolist(), list(tokenizer.tokens), tokenizer.library

    middle = json.dumps(file["model"]["merges"][120], indent=indent).replace("\n", "\n" + 3 * " ")
    assert whole.count(": 1120") == whole.count(middle) == 1
    cases = [(": 1120", f": {fault}") for fault in FAULTS] + [(middle, fault) for fault in MERGE_FAULTS]
    cases += [(": 7004", f": {fault}") for fault in ("", "1]", "1000", '1, "an": 9000')]  # the last entry
    at_once = [outcome(*case) for case in (("", ""), *cases)]
    monkeypatch.setattr(text_readers.JsonReader, "take_several", lambda *_: False)
    one_by_one = [outcome(*case) for case in (("", ""), *cases)]
    assert at_once == one_by_one
    monkeypatch.undo()
    with JsonReader(b'{"a": 1, , "b": 2}', "x", 99) as reader, pytest.raises(FormatError, match="a string is missing"):
        finish(read_vocabulary_work(reader))
    assert sum(isinstance(one, str) for one in at_once) > len(FAULTS) + len(MERGE_FAULTS) - 5


def test_a_huge_file_is_refused_without_being_read(tmp_path):
    for name in ("tokenizer.json", "merges.json", "ranks.tiktoken", "a.model"):
        path = tmp_path / name
        with path.open("wb") as file:
            file.write(b"minbpe v1\n" if name == "a.model" else b"")
            file.truncate(3 * 10**9)
        with pytest.raises(FormatError, match=rf"^{re.escape(name)}: the file is too large: 3,000,000,000 bytes"):
            load(path, "none")
        path.unlink()


def test_a_line_without_an_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(text_readers, "LONGEST", 1000)
    (tmp_path / "ranks.tiktoken").write_bytes(b"YQ== 97\n" + b"A" * 5000 + b" 98\n")
    (tmp_path / "vocab.json").write_bytes(content("vocab.json"))
    (tmp_path / "merges.txt").write_bytes(b"#version: 0.2\n" + b"a" * 5000)
    for name in ("ranks.tiktoken", "merges.txt"):
        with pytest.raises(FormatError, match=rf"^{re.escape(name)}: the line is too long to read, line 2\.$"):
            load(tmp_path / name, "none")


@pytest.mark.parametrize("name", ["tokenizer.json", "merges.json"])
def test_a_value_of_many_parts_takes_bounded_memory(tmp_path, monkeypatch, name):
    monkeypatch.setattr(text_readers, "CHUNK", 1 << 12)
    monkeypatch.setattr(text_readers, "LARGEST_VALUE", 1 << 14)
    path = tmp_path / name
    path.write_bytes(b'{"x": [[' + b"[]," * 200_000)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=r"this part is too large to read, line 1, column 8?7?\.$"):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 6_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are POSIX's")
def test_a_pipe_under_that_name_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "merges.json")
    with pytest.raises(FormatError):
        load(tmp_path)
    os.mkfifo(tmp_path / "ranks.tiktoken")
    for name in ("merges.json", "ranks.tiktoken"):
        with pytest.raises(FormatError, match=rf"^{re.escape(name)}: this is not a file\.$"):
            load(tmp_path / name, "none")


# --- Damaged files of each kind: each is read, or refused in one sentence -----------------------------------

MUTANTS = 40 * TIMES
# Libraries that cannot end the process need not be loaded again for each mutant.
IN_THIS_PROCESS = (
    *("specials.json", "characters.json", "ranks.json", "vocab.txt", "tokenizer_config.json"),
    *("clip/merges.txt", "gpt1/vocab.json"),
)
MUTANTS_OF = {
    mutant_of_values: (
        *("specials.json", "characters.json", "vocab.json", "ranks.json", "tokenizer_config.json", "gpt1/vocab.json"),
        *("vocabulary.json", "merges.json"),
    ),
    mutant_of_lines: ("merges.txt", "words.tiktoken", "minbpe.model", "vocab.txt", "clip/merges.txt"),
    mutant_of_bytes: (
        *("specials.json", "characters.json", "vocab.json", "merges.txt", "words.tiktoken", "ranks.json"),
        *("minbpe.model", "pieces.model", "vocab.txt", "tokenizer_config.json", "vocabulary.json", "merges.json"),
    ),
}


@pytest.mark.parametrize(("mutate", "name"), [(mutate, name) for mutate, names in MUTANTS_OF.items() for name in names])
def test_a_mutant_is_read_or_refused_in_one_sentence(tmp_path, monkeypatch, mutate, name):
    if name in IN_THIS_PROCESS:
        no_processes(monkeypatch)
    path = put(tmp_path, name)
    whole, chance = path.read_bytes(), random.Random(f"{name} {mutate.__name__}")
    assert read_or_refused(path) is not None
    results = []
    for _ in range(MUTANTS):
        give(path, mutate(whole, chance))
        results.append(read_or_refused(path) is None)
    # Of what a file beside another says, much is left out without harm; lines in another order are another vocabulary.
    share = {"ranks.json": 12, "tokenizer_config.json": 12}.get(name, 4)
    share = 40 if (name, mutate) == ("vocab.txt", mutant_of_lines) else share
    assert results.count(True) > MUTANTS // share, results.count(True)
