"""The commands `encode` and `decode`: bytes in, ids out, and the same bytes back."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import json
import os
import socket
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from fifty import FIFTY

from tests.core.corpus.readers.written import COMPRESSIONS, FORMATS, zipped
from tokstudio import Corpus, TrainingConfig, cli, load, train
from tokstudio.core.corpus.readers import files
from tokstudio.core.formats import ids
from tokstudio.core.text.byte_level import CHARACTER_OF

TORTURE = "naïve 👩‍👩‍👧‍👦\r\n\ttokenizers\x00 über नमस्ते\n".encode() + b"\xff\xfe\x80 tokenizers"


@pytest.mark.parametrize("name", ["classic", "huggingface"])
def test_encode_and_decode_restore_every_byte(text, tmp_path, typed, capsysbinary, name):
    folder = tmp_path / "made"
    folder.mkdir()
    assert cli.main(["train", text, "--vocab-size", "306", "--export", f"{name}={folder}", "-q"]) == 0
    typed(TORTURE)
    assert cli.main(["encode", "--tokenizer", str(folder)]) == 0
    ids = capsysbinary.readouterr().out
    assert json.loads(ids) == train(Corpus.from_text(FIFTY), TrainingConfig(vocabulary_size=306)).encode(TORTURE)
    typed(ids)
    assert cli.main(["decode", "--tokenizer", str(folder)]) == 0
    assert capsysbinary.readouterr().out == TORTURE


def test_the_sentence_of_the_source_document_is_encoded(tokenizer, capsysbinary):
    ids = [104, 101, 108, 108, 111, 32, 301, 108, 100, 33]
    assert cli.main(["encode", "--tokenizer", tokenizer, "--text", "hello world!"]) == 0
    assert capsysbinary.readouterr().out == json.dumps(ids).encode() + b"\n"
    assert cli.main(["decode", "--tokenizer", tokenizer, "--text", " ".join(map(str, ids))]) == 0
    assert capsysbinary.readouterr().out == b"hello world!"


@pytest.mark.parametrize(
    ("typed_text", "meant"),
    [("é😀", "é😀".encode()), ("a\udcff", b"a\xff"), ("\ud83d\ude00", "😀".encode()), ("", b"")],
)
def test_text_arguments_keep_invalid_bytes(tokenizer, capsysbinary, typed_text, meant):
    assert cli.main(["encode", "--tokenizer", tokenizer, "--text", typed_text]) == 0
    ids = capsysbinary.readouterr().out.decode()
    assert cli.main(["decode", "--tokenizer", tokenizer, "--text", ids]) == 0
    assert capsysbinary.readouterr().out == meant


@pytest.mark.parametrize(("largest", "kind"), [(2**16 - 1, np.uint16), (304, np.uint32)])
def test_npy_uses_the_narrowest_type_for_the_vocabulary(tokenizer, tmp_path, monkeypatch, capsysbinary, largest, kind):
    monkeypatch.setattr(ids, "_LARGEST_UINT16", largest)
    source, out = tmp_path / "text", tmp_path / "ids.npy"
    source.write_bytes(TORTURE)
    assert cli.main(["encode", str(source), "--tokenizer", tokenizer, "--out", str(out)]) == 0
    assert np.load(out, allow_pickle=False).dtype == kind
    assert capsysbinary.readouterr().out == b""
    assert cli.main(["decode", str(out), "--tokenizer", tokenizer]) == 0
    assert capsysbinary.readouterr().out == TORTURE


def test_results_can_be_written_to_files(tokenizer, tmp_path, capsysbinary):
    ids, back = tmp_path / "ids.json", tmp_path / "back.bin"
    assert cli.main(["encode", "--tokenizer", tokenizer, "--text", "tokenizers\r\n", "--out", str(ids)]) == 0
    assert cli.main(["decode", str(ids), "--tokenizer", tokenizer, "--out", str(back)]) == 0
    assert back.read_bytes() == b"tokenizers\r\n"
    assert json.loads(ids.read_bytes())
    assert capsysbinary.readouterr().out == b""


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"104 306", "Id 306 is not in the vocabulary."),
        (b"104\n-1", 'standard input: word 2, "-1", is not an id. Give a JSON list, or ids separated by white space.'),
        (b"[104, 101", "standard input: the list of ids does not end; the file may be cut off."),
        (b"[104, 1.0]", 'standard input: item 2, "1.0", is not an id.'),
        (npy(np.array([[104]])), "standard input: the array must be a row of whole numbers, not 2-dimensional int64."),
    ],
)
def test_invalid_ids_are_an_error(tokenizer, typed, capsys, data, words):
    typed(data)
    assert cli.main(["decode", "--tokenizer", tokenizer]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"tokstudio: {words}")


@pytest.mark.parametrize("command", ["encode", "decode"])
def test_an_unreadable_input_is_named(tokenizer, tmp_path, capsys, command):
    assert cli.main([command, str(tmp_path / "none.txt"), "--tokenizer", tokenizer]) == 1
    assert capsys.readouterr().err == "tokstudio: none.txt: no such file or folder.\n"
    assert cli.main([command, str(tmp_path), "--tokenizer", tokenizer]) == 1
    assert capsys.readouterr().err == f"tokstudio: {tmp_path.name}: this is a folder, not a file.\n"
    assert cli.main([command, "--text", "1", "--tokenizer", str(tmp_path / "none.json")]) == 1
    assert capsys.readouterr().err.startswith("tokstudio: none.json: ")
    assert cli.main([command, "somewhere", "--text", "1", "--tokenizer", tokenizer]) == 2
    assert cli.main([command, "--text", "1"]) == 2


def test_a_result_that_cannot_be_written_leaves_nothing(tokenizer, tmp_path, capsys):
    out = tmp_path / "nowhere" / "ids.json"
    assert cli.main(["encode", "--text", "a", "--tokenizer", tokenizer, "--out", str(out)]) == 1
    assert capsys.readouterr().err.startswith("tokstudio: ids.json: ")
    assert not out.parent.exists()


def test_the_file_found_in_a_folder_is_named(tokenizer, tmp_path, capsys):
    assert cli.main(["encode", "--text", "a", "--tokenizer", str(tmp_path)]) == 0
    assert capsys.readouterr().err == "Tokenizer: tokenizer.json.\n"


@pytest.fixture
def with_specials(text, tmp_path):
    path = tmp_path / "specials.json"
    arguments = ["--vocab-size", "308", "--special", "<|end|>", "--special", "<|pad|>", "--pattern", "gpt2"]
    assert cli.main(["train", text, *arguments, "--export", f"huggingface={path}", "-q"]) == 0
    return str(path)


@pytest.mark.parametrize(
    ("allowed", "found"), [([], []), (["all"], [306, 307]), (["<|pad|>"], [307]), (["<|pad|>", "<|end|>"], [306, 307])]
)
def test_special_tokens_are_plain_text_unless_allowed(with_specials, capsysbinary, allowed, found):
    given = "tokenizers<|end|> are<|pad|>"
    options = [word for token in allowed for word in ("--allow-special", token)]
    assert cli.main(["encode", "--tokenizer", with_specials, "--text", given, *options]) == 0
    printed = capsysbinary.readouterr().out
    ids = json.loads(printed)
    config = TrainingConfig(vocabulary_size=308, special_tokens=["<|end|>", "<|pad|>"], pattern="gpt2")
    assert ids == train(Corpus.from_text(FIFTY), config).encode(given, "all" if allowed == ["all"] else allowed)
    assert [token for token in ids if token >= 306] == found
    assert cli.main(["decode", "--tokenizer", with_specials, "--text", printed.decode()]) == 0
    assert capsysbinary.readouterr().out == given.encode()


def test_an_unknown_special_token_is_named(with_specials, capsys):
    arguments = ["encode", "--tokenizer", with_specials, "--text", "a", "--allow-special", "<|mask|>"]
    assert cli.main(arguments) == 1
    assert capsys.readouterr().err == 'tokstudio: There is no special token "<|mask|>".\n'


@pytest.mark.parametrize("command", ["encode", "decode"])
def test_the_pattern_option_serves_files_without_a_pattern(text, tmp_path, capsys, command):
    folder = tmp_path / "made"
    assert cli.main(["train", text, "--vocab-size", "306", "--export", f"classic={folder}", "-q"]) == 0
    whole = train(Corpus.from_text(FIFTY), TrainingConfig(vocabulary_size=306))
    split = [token for word in ("we", " are", " not") for token in whole.encode(word)]
    assert split != whole.encode("we are not")
    given = {"encode": "we are not", "decode": json.dumps(split)}[command]
    printed = {"encode": json.dumps(split) + "\n", "decode": "we are not"}[command]
    arguments = [command, "--tokenizer", str(folder), "--text", given, "-q"]
    assert cli.main([*arguments, "--pattern", "gpt2"]) == 0
    assert capsys.readouterr().out == printed
    assert cli.main([*arguments, "--pattern", "(a"]) == 1
    assert capsys.readouterr().err.startswith("tokstudio: The pattern does not compile")


def test_files_without_a_pattern_need_the_option(tmp_path, capsys):
    vocabulary = {CHARACTER_OF[byte]: byte for byte in range(256)} | {"ab": 256}
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary))
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\n")
    arguments = ["encode", "--tokenizer", str(tmp_path), "--text", "ab", "-q"]
    assert cli.main(arguments) == 1
    assert capsys.readouterr().err.endswith(" Add --pattern with a name or an expression.\n")
    assert cli.main([*arguments, "--pattern", "gpt2"]) == 0
    assert capsys.readouterr().out == "[256]\n"


def test_text_that_decoding_cannot_restore_is_reported(tmp_path, typed, capsys):
    text, path = tmp_path / "text.txt", tmp_path / "characters.json"
    text.write_text("abab\ufffd")
    arguments = ["--base", "characters", "--special", "<?>", "--unknown-token", "<?>", "--vocab-size", "5"]
    assert cli.main(["train", str(text), *arguments, "--export", f"huggingface={path}", "-q"]) == 0
    typed(b"ab\xff\xffx")
    assert cli.main(["encode", "--tokenizer", str(path)]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == [3, 2, 2, 4]
    assert printed.err.splitlines() == [
        "standard input: 2 byte sequences were not UTF-8 and became U+FFFD.",
        "standard input: 1 id is the unknown token, 4.",
    ]
    typed(b"ab")
    assert cli.main(["encode", "--tokenizer", str(path)]) == 0
    assert capsys.readouterr().err == ""


DEVICE = "this is a device or a pipe, not a file of text."
needs_posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")


@needs_posix
@pytest.mark.parametrize("kind", ["device", "pipe", "socket"])
@pytest.mark.parametrize("command", ["encode", "decode", "train", "convert", "--tokenizer", "inspect"])
def test_devices_are_refused_before_reading(tokenizer, text, tmp_path, capsys, kind, command):
    path, words = tmp_path / "odd", DEVICE
    with socket.socket(socket.AF_UNIX) as listener:
        if kind == "device":
            path = Path("/dev/zero")
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            with in_folder(tmp_path):
                listener.bind("odd")
        arguments = {
            "encode": ["encode", str(path), "--tokenizer", tokenizer],
            "decode": ["decode", str(path), "--tokenizer", tokenizer],
            "train": ["train", text, "--vocab-size", "300", "--base", "characters", "--base-vocabulary", str(path)],
            "convert": ["convert", tokenizer, str(tmp_path / "o"), "--format", "classic", "--sample", str(path)],
            "--tokenizer": ["encode", "--text", "a", "--tokenizer", str(path)],
            "inspect": ["inspect", str(path)],
        }[command]
        if command in ("--tokenizer", "inspect"):
            words = "this is not a file."
        assert cli.main(arguments) == 1
    assert capsys.readouterr().err == f"tokstudio: {path.name}: {words}\n"


@contextmanager
def in_folder(folder):
    """Works in a folder, because the name of a socket must be short."""
    before = Path.cwd()
    os.chdir(folder)
    yield
    os.chdir(before)


@pytest.mark.parametrize("command", ["encode", "decode"])
def test_endless_input_is_refused_before_memory_is_full(tokenizer, tmp_path, typed, monkeypatch, capsys, command):
    monkeypatch.setattr(files, "free_memory", lambda: 5_000_000)
    typed(b"1 " * 2_000_000)
    assert cli.main([command, "--tokenizer", tokenizer]) == 1
    said = "it is too large for the free memory of this computer.\n"
    assert capsys.readouterr().err == f"tokstudio: standard input: {said}"
    large = tmp_path / "large"
    large.write_bytes(b"1 " * 2_000_000)
    assert cli.main([command, str(large), "--tokenizer", tokenizer]) == 1
    assert capsys.readouterr().err == f"tokstudio: large: {said}"


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="needs names of descriptors")
@pytest.mark.parametrize("name", ["/dev/stdin", "/dev/fd/0", "the descriptor"])
def test_a_pipe_that_the_shell_has_made_is_read(tokenizer, monkeypatch, capsys, name):
    reading, writing = os.pipe()
    os.write(writing, b"hello world!")
    os.close(writing)
    with os.fdopen(reading) as pipe:
        if name == "the descriptor":
            name = f"/dev/fd/{reading}"
        else:
            monkeypatch.setattr(sys, "stdin", pipe)
        assert cli.main(["encode", name, "--tokenizer", tokenizer]) == 0
    assert json.loads(capsys.readouterr().out) == [104, 101, 108, 108, 111, 32, 301, 108, 100, 33]


def test_dropout_is_that_of_the_library(tokenizer, tmp_path, capsysbinary):
    words = ["encode", "--tokenizer", tokenizer, "--text", "the cat sat on the mat", "--dropout", "0.5", "--seed", "3"]
    assert cli.main([str(word) for word in words]) == 0
    expected = load(tokenizer).with_dropout(0.5, 3).encode("the cat sat on the mat")
    assert json.loads(capsysbinary.readouterr().out) == expected != load(tokenizer).encode("the cat sat on the mat")
    assert cli.main([str(word) for word in [*words[:-4], "--dropout", "1.5"]]) == 1
    assert b"from 0 to 1" in capsysbinary.readouterr().err


ROWS = ["The cat sat.", "日本語 <|end|>", "", "a hat\n"]


@pytest.fixture
def contained(tmp_path):
    """The same rows in containers of several kinds, and one text in others."""
    for name in ("a.parquet", "a.jsonl", "a.csv"):
        (tmp_path / name).write_bytes(FORMATS[name](ROWS))
    for suffix in (".gz", ".zst", ".xz", ".bz2"):
        (tmp_path / f"a.jsonl{suffix}").write_bytes(COMPRESSIONS[suffix](FORMATS["a.jsonl"](ROWS)))
        (tmp_path / f"a.txt{suffix}").write_bytes(COMPRESSIONS[suffix]("über\n".encode()))
    (tmp_path / "a.txt").write_bytes("über\n".encode())
    (tmp_path / "a.zip").write_bytes(zipped(**{"a.txt": "über\n".encode()}))
    return tmp_path


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.csv", "a.jsonl.gz", "a.jsonl.zst", "a.jsonl.xz"])
def test_the_column_of_a_data_set_is_encoded_row_by_row(contained, tokenizer, typed, capsys, name):
    file, known = contained / name, load(tokenizer)
    expected = [token for row in ROWS for token in known.encode(row)]
    for words in ([str(file)], ["-"]):
        typed(file.read_bytes())
        assert cli.main(["encode", "--tokenizer", tokenizer, *words, "--field", "text"]) == 0
        printed = capsys.readouterr()
        assert json.loads(printed.out) == expected
        assert "column text." in printed.err
    assert cli.main(["encode", "--tokenizer", tokenizer, str(file), "--field", "body"]) == 1
    assert 'there is no column "body"; there are' in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.csv", "a.jsonl.zst", "a.txt.gz", "a.txt.bz2", "a.zip"])
def test_the_bytes_of_a_container_are_encoded_and_that_is_said(contained, tokenizer, typed, capsys, name):
    file = contained / name
    way = "--as-text" if name.startswith("a.txt") or name == "a.zip" else "--field text"
    for words in ([str(file)], ["-"]):
        typed(file.read_bytes())
        assert cli.main(["encode", "--tokenizer", tokenizer, *words]) == 0
        printed = capsys.readouterr()
        assert json.loads(printed.out) == load(tokenizer).encode(file.read_bytes())
        assert ": its bytes are encoded as they are stored, as " in printed.err
        assert printed.err.endswith(f"To encode the text in it: {way}.\n")


def test_a_git_lfs_pointer_is_told(tokenizer, tmp_path, capsys):
    path = tmp_path / "a.txt"
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"ab" * 32 + b"\nsize 4997\n")
    assert cli.main(["encode", "--tokenizer", tokenizer, str(path)]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == load(tokenizer).encode(path.read_bytes())
    assert printed.err == 'a.txt: this is a Git LFS pointer, not the file itself: fetch that with "git lfs pull".\n'


@pytest.mark.parametrize("name", ["a.txt.gz", "a.txt.zst", "a.txt.xz", "a.txt.bz2", "a.zip", "a.txt"])
def test_the_text_in_a_container_is_encoded(contained, tokenizer, capsys, name):
    assert cli.main(["encode", "--tokenizer", tokenizer, str(contained / name), "--as-text"]) == 0
    assert json.loads(capsys.readouterr().out) == load(tokenizer).encode("über\n")


def test_a_text_is_encoded_without_a_word(contained, tokenizer, capsys):
    assert cli.main(["encode", "--tokenizer", tokenizer, str(contained / "a.txt")]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("words", [["--text", "a", "--field", "text"], ["a.txt", "--field", "text", "--as-text"]])
def test_what_reads_a_file_is_not_for_other_input(tokenizer, capsys, words):
    assert cli.main(["encode", "--tokenizer", tokenizer, *words]) == 2
