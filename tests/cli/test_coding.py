"""The commands `encode` and `decode`: bytes in, ids out, and the same bytes back."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import json

import numpy as np
import pytest
from fifty import FIFTY

from tokstudio import Corpus, TrainingConfig, cli, train
from tokstudio.cli import coding

TORTURE = "naïve 👩‍👩‍👧‍👦\r\n\ttokenizers\x00 über नमस्ते\n".encode() + b"\xff\xfe\x80 tokenizers"


@pytest.mark.parametrize("name", ["classic", "huggingface"])
def test_what_is_encoded_comes_back_byte_for_byte(text, tmp_path, typed, capsysbinary, name):
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


def test_the_source_documents_own_sentence(tokenizer, capsysbinary):
    ids = [104, 101, 108, 108, 111, 32, 301, 108, 100, 33]
    assert cli.main(["encode", "--tokenizer", tokenizer, "--text", "hello world!"]) == 0
    assert capsysbinary.readouterr().out == json.dumps(ids).encode() + b"\n"
    assert cli.main(["decode", "--tokenizer", tokenizer, "--text", " ".join(map(str, ids))]) == 0
    assert capsysbinary.readouterr().out == b"hello world!"


@pytest.mark.parametrize(
    ("typed_text", "meant"),
    [("é😀", "é😀".encode()), ("a\udcff", b"a\xff"), ("\ud83d\ude00", "😀".encode()), ("", b"")],
)
def test_the_text_of_an_argument_is_the_bytes_that_were_typed(tokenizer, capsysbinary, typed_text, meant):
    assert cli.main(["encode", "--tokenizer", tokenizer, "--text", typed_text]) == 0
    ids = capsysbinary.readouterr().out.decode()
    assert cli.main(["decode", "--tokenizer", tokenizer, "--text", ids]) == 0
    assert capsysbinary.readouterr().out == meant


@pytest.mark.parametrize(("largest", "kind"), [(2**16 - 1, np.uint16), (304, np.uint32)])
def test_npy_is_as_narrow_as_the_vocabulary_allows(tokenizer, tmp_path, monkeypatch, capsysbinary, largest, kind):
    monkeypatch.setattr(coding, "_LARGEST_UINT16", largest)
    source, out = tmp_path / "text", tmp_path / "ids.npy"
    source.write_bytes(TORTURE)
    assert cli.main(["encode", str(source), "--tokenizer", tokenizer, "--out", str(out)]) == 0
    ids = np.load(out, allow_pickle=False)
    assert ids.dtype == kind
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


def npy(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"104 306", "Id 306 is not in the vocabulary."),
        (b"104\n-1", "Id -1 is not in the vocabulary."),
        (b"104, 101", 'standard input: word 1, "104,", is not an id.'),
        (b"1_0", 'standard input: word 1, "1_0", is not an id.'),
        (b"\xff\xfe", "standard input: word 1, "),
        (b"[104, 101", "standard input: this is not a JSON list of ids ("),
        (b"[\xff]", "standard input: this is not a JSON list of ids ("),
        (b"[" * 100_000, "standard input: this is not a JSON list of ids ("),
        (b"[104, 1.0]", "standard input: item 2 of the list is not an id."),
        (b"[true]", "standard input: item 1 of the list is not an id."),
        (b"[[104]]", "standard input: item 1 of the list is not an id."),
        (npy(np.array([[104]])), "standard input: the array must be a row of whole numbers, not 2-dimensional int64."),
        (npy(np.array([1.0])), "standard input: the array must be a row of whole numbers, not 1-dimensional float64."),
        (npy(np.array([None]), allow_pickle=True), "standard input: this is not a NumPy array that can be read ("),
        (npy(np.arange(99))[:-1], "standard input: this is not a NumPy array that can be read ("),
        (npy(np.arange(99))[:20], "standard input: this is not a NumPy array that can be read ("),
        (npy(np.arange(9)).replace(b"(9,)", b"(9**"), "standard input: this is not a NumPy array that can be read ("),
    ],
)
def test_ids_that_cannot_be_decoded_get_a_sentence(tokenizer, typed, capsys, data, words):
    typed(data)
    assert cli.main(["decode", "--tokenizer", tokenizer]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"tokstudio: {words}")


@pytest.mark.parametrize("command", ["encode", "decode"])
def test_what_cannot_be_read_is_named(tokenizer, tmp_path, capsys, command):
    assert cli.main([command, str(tmp_path / "none.txt"), "--tokenizer", tokenizer]) == 1
    assert capsys.readouterr().err == "tokstudio: none.txt: there is no such file.\n"
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
