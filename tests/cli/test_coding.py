"""The commands `encode` and `decode`: bytes in, ids out, and the same bytes back."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import io
import json
import os
import socket
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cli.fifty import FIFTY
from tests.core.corpus.readers.written import COMPRESSIONS, FORMATS, zipped
from tokstudio import Corpus, TrainingConfig, cli, load, train
from tokstudio.core.corpus.readers import files
from tokstudio.core.text.byte_level import CHARACTER_OF

TORTURE = "naïve 👩‍👩‍👧‍👦\r\n\ttokenizers\x00 über नमस्ते\n".encode() + b"\xff\xfe\x80 tokenizers"
HELLO = [104, 101, 108, 108, 111, 32, 301, 108, 100, 33]


@pytest.fixture
def coded(tmp_path, monkeypatch, capsysbinary):
    """Runs `encode` or `decode`, which must end with 0, and gives the bytes that it printed."""
    monkeypatch.chdir(tmp_path)

    def command(words, *more):
        assert cli.main([*words.split(), *more]) == 0
        return capsysbinary.readouterr().out

    return command


@pytest.mark.parametrize("name", ["classic", "huggingface"])
def test_encode_and_decode_restore_every_byte(text, tmp_path, typed, coded, name):
    (tmp_path / "made").mkdir()
    coded(f"train {text} --vocab-size 306 --export {name}=made -q")
    typed(TORTURE)
    ids = coded("encode --tokenizer made")
    assert json.loads(ids) == train(Corpus.from_text(FIFTY), TrainingConfig(vocabulary_size=306)).encode(TORTURE)
    typed(ids)
    assert coded("decode --tokenizer made") == TORTURE


@pytest.mark.parametrize(
    ("typed_text", "meant", "ids"),
    [
        ("hello world!", b"hello world!", HELLO),
        ("é😀", "é😀".encode(), None),
        ("a\udcff", b"a\xff", [97, 255]),
        ("\ud83d\ude00", "😀".encode(), None),
        ("", b"", []),
    ],
)
def test_text_arguments_keep_invalid_bytes(tokenizer, coded, typed_text, meant, ids):
    printed = coded("encode --tokenizer tokenizer.json --text", typed_text)
    assert ids is None or printed == json.dumps(ids).encode() + b"\n"
    assert coded("decode --tokenizer tokenizer.json --text", printed.decode()) == meant


@pytest.mark.parametrize(("largest", "kind"), [(2**16 - 1, np.uint16), (2**16, np.uint32)])
def test_npy_uses_the_narrowest_type_for_the_vocabulary(write, tmp_path, coded, largest, kind):
    ranks = [(bytes([byte]), byte) for byte in range(256)] + [(b"to", largest)]
    write("a.tiktoken", b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks))
    write("text", TORTURE)
    assert coded("encode text --tokenizer a.tiktoken --pattern gpt2 --out ids.npy") == b""
    assert np.load(tmp_path / "ids.npy", allow_pickle=False).dtype == kind
    assert coded("decode ids.npy --tokenizer a.tiktoken --pattern gpt2") == TORTURE


def test_results_can_be_written_to_files(tokenizer, tmp_path, coded):
    assert coded("encode --tokenizer tokenizer.json --out ids.json --text", "tokenizers\r\n") == b""
    assert coded("decode ids.json --tokenizer tokenizer.json --out back.bin") == b""
    assert (tmp_path / "back.bin").read_bytes() == b"tokenizers\r\n"
    assert json.loads((tmp_path / "ids.json").read_bytes())


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
def test_invalid_ids_are_an_error(tokenizer, typed, run, data, words):
    typed(data)
    printed = run(1, f"decode --tokenizer {tokenizer}")
    assert printed.out == ""
    assert printed.err.startswith(f"tokstudio: {words}")


def test_the_file_found_in_a_folder_is_named(tokenizer, run):
    assert run(0, "encode --text a --tokenizer .").err == "Tokenizer: tokenizer.json.\n"


@pytest.mark.parametrize(
    ("allowed", "found"), [([], []), (["all"], [306, 307]), (["<|pad|>"], [307]), (["<|pad|>", "<|end|>"], [306, 307])]
)
def test_special_tokens_are_plain_text_unless_allowed(text, run, allowed, found):
    options = "--vocab-size 308 --special <|end|> --special <|pad|> --pattern gpt2"
    run(0, f"train {text} {options} --export huggingface=specials.json -q")
    given = "tokenizers<|end|> are<|pad|>"
    allow = [word for token in allowed for word in ("--allow-special", token)]
    printed = run(0, "encode --tokenizer specials.json --text", [given], allow)
    config = TrainingConfig(vocabulary_size=308, special_tokens=["<|end|>", "<|pad|>"], pattern="gpt2")
    expected = train(Corpus.from_text(FIFTY), config).encode(given, "all" if allowed == ["all"] else allowed)
    assert printed.json == expected
    assert [token for token in expected if token >= 306] == found
    assert run(0, "decode --tokenizer specials.json --text", [printed.out]).out == given


@pytest.mark.parametrize("command", ["encode", "decode"])
def test_the_pattern_option_serves_files_without_a_pattern(text, run, command):
    run(0, f"train {text} --vocab-size 306 --export classic=made -q")
    whole = train(Corpus.from_text(FIFTY), TrainingConfig(vocabulary_size=306))
    split = [token for word in ("we", " are", " not") for token in whole.encode(word)]
    assert split != whole.encode("we are not")
    given = {"encode": "we are not", "decode": json.dumps(split)}[command]
    printed = {"encode": json.dumps(split) + "\n", "decode": "we are not"}[command]
    assert run(0, f"{command} --tokenizer made -q --pattern gpt2 --text", [given]).out == printed
    refused = run(1, f"{command} --tokenizer made -q --pattern (a --text", [given]).err
    assert refused.startswith("tokstudio: The pattern does not compile")


def test_files_without_a_pattern_need_the_option(write, run):
    write("vocab.json", json.dumps({CHARACTER_OF[byte]: byte for byte in range(256)} | {"ab": 256}))
    write("merges.txt", "#version: 0.2\na b\n")
    words = "encode --tokenizer . --text ab -q"
    assert run(1, words).err.endswith(" Add --pattern with a name or an expression.\n")
    assert run(0, words, "--pattern gpt2").out == "[256]\n"


def test_text_that_decoding_cannot_restore_is_reported(write, typed, run):
    write("text.txt", "abab\ufffd")
    options = "--base characters --special <?> --unknown-token <?> --vocab-size 5"
    run(0, f"train text.txt {options} --export huggingface=made.json -q")
    typed(b"ab\xff\xffx")
    printed = run(0, "encode --tokenizer made.json")
    assert printed.json == [3, 2, 2, 4]
    assert printed.err.splitlines() == [
        "standard input: 2 byte sequences were not UTF-8 and became U+FFFD.",
        "standard input: 1 id is the unknown token, 4.",
    ]
    typed(b"ab")
    assert run(0, "encode --tokenizer made.json").err == ""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
@pytest.mark.parametrize("kind", ["device", "pipe", "socket"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("encode ODD --tokenizer tokenizer.json", "device or a pipe, not a file of text."),
        ("decode ODD --tokenizer tokenizer.json", "device or a pipe, not a file of text."),
        ("train fifty.txt --vocab-size 300 --base characters --base-vocabulary ODD", "or a pipe, not a file of text."),
        ("convert tokenizer.json o --format classic --sample ODD", "device or a pipe, not a file of text."),
        ("encode --text a --tokenizer ODD", ": this is not a file."),
        ("inspect ODD", ": this is not a file."),
    ],
)
def test_devices_are_refused_before_reading(tokenizer, text, tmp_path, run, kind, words, said):
    path = Path("/dev/zero") if kind == "device" else tmp_path / "odd"
    with socket.socket(socket.AF_UNIX) as listener:
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "socket":
            listener.bind("odd")  # the name of a socket must be short
        told = run(1, words.replace("ODD", str(path))).err
    assert told.startswith(f"tokstudio: {path.name}: this is ")
    assert told.endswith(f"{said}\n")


@pytest.mark.parametrize("command", ["encode", "decode"])
def test_endless_input_is_refused_before_memory_is_full(tokenizer, write, typed, monkeypatch, run, command):
    monkeypatch.setattr(files, "free_memory", lambda: 5_000_000)
    write("large", b"1 " * 2_000_000)
    typed(b"1 " * 2_000_000)
    said = "it is too large for the free memory of this computer.\n"
    assert run(1, f"{command} --tokenizer {tokenizer}").err == f"tokstudio: standard input: {said}"
    assert run(1, f"{command} large --tokenizer {tokenizer}").err == f"tokstudio: large: {said}"


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="needs names of descriptors")
@pytest.mark.parametrize("name", ["/dev/stdin", "/dev/fd/0", "the descriptor"])
def test_a_pipe_that_the_shell_has_made_is_read(tokenizer, monkeypatch, run, name):
    reading, writing = os.pipe()
    os.write(writing, b"hello world!")
    os.close(writing)
    with os.fdopen(reading) as pipe:
        if name == "the descriptor":
            name = f"/dev/fd/{reading}"
        else:
            monkeypatch.setattr(sys, "stdin", pipe)
        assert run(0, f"encode {name} --tokenizer {tokenizer}").json == HELLO


def test_dropout_is_that_of_the_library(tokenizer, run):
    given = "the cat sat on the mat"
    words = f"encode --tokenizer {tokenizer} --dropout"
    made = run(0, words, "0.5 --seed 3 --text", [given]).json
    assert made == load(tokenizer).with_dropout(0.5, 3).encode(given) != load(tokenizer).encode(given)
    run(1, words, "1.5 --text", [given], says="from 0 to 1")


ROWS = ["The cat sat.", "日本語 <|end|>", "", "a hat\n"]


@pytest.fixture
def contained(write):
    """Writes the same rows in a container by its name, or a text."""

    def make(name):
        kind, suffix = (name, "") if name.count(".") == 1 else name.rsplit(".", 1)
        content = FORMATS[kind](ROWS) if kind in FORMATS else "über\n".encode()
        if name == "a.zip":
            content = zipped(**{"a.txt": content})
        return write(name, COMPRESSIONS[f".{suffix}"](content) if suffix else content)

    return make


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.csv", "a.jsonl.gz", "a.jsonl.zst", "a.jsonl.xz"])
def test_the_column_of_a_data_set_is_encoded_row_by_row(contained, tokenizer, typed, run, name):
    file, known = contained(name), load(tokenizer)
    for given in (name, "-"):
        typed(file.read_bytes())
        printed = run(0, f"encode --tokenizer {tokenizer} {given} --field text", says="column text.")
        assert printed.json == [token for row in ROWS for token in known.encode(row)]
    run(1, f"encode --tokenizer {tokenizer} {name} --field body", says='there is no column "body"; there are')


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.csv", "a.jsonl.zst", "a.txt.gz", "a.txt.bz2", "a.zip"])
def test_the_bytes_of_a_container_are_encoded_and_that_is_said(contained, tokenizer, typed, run, name):
    file = contained(name)
    way = "--as-text" if name.startswith("a.txt") or name == "a.zip" else "--field text"
    for given in (name, "-"):
        typed(file.read_bytes())
        printed = run(0, f"encode --tokenizer {tokenizer} {given}")
        assert printed.json == load(tokenizer).encode(file.read_bytes())
        assert ": its bytes are encoded as they are stored, as " in printed.err
        assert printed.err.endswith(f"To encode the text in it: {way}.\n")


def test_a_git_lfs_pointer_is_told(tokenizer, write, run):
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"ab" * 32 + b"\nsize 4997\n"
    printed = run(0, f"encode --tokenizer {tokenizer}", [write("a.txt", pointer)])
    assert printed.json == load(tokenizer).encode(pointer)
    assert printed.err == 'a.txt: this is a Git LFS pointer, not the file itself: fetch that with "git lfs pull".\n'


@pytest.mark.parametrize("name", ["a.txt.gz", "a.txt.zst", "a.txt.xz", "a.txt.bz2", "a.zip", "a.txt"])
def test_the_text_in_a_container_is_encoded(contained, tokenizer, run, name):
    contained(name)
    assert run(0, f"encode --tokenizer {tokenizer} {name} --as-text").json == load(tokenizer).encode("über\n")
    assert name != "a.txt" or run(0, f"encode --tokenizer {tokenizer} {name}").err == ""
