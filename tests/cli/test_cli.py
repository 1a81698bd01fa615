"""The command line as a person or a script uses it: what it prints, writes and returns."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

from tokstudio import Corpus, Trainer, TrainingConfig, cli, train
from tokstudio.core.formats import FORMATS
from tokstudio.core.run import TIE_BREAKS

FIFTY = """
Tokenizers are essential tools in natural language processing.
They break down text into smaller units called tokens.
Tokenizers help in transforming raw text into a format that machine learning models can understand.
There are different types of tokenizers, including word tokenizers, subword tokenizers, and character tokenizers.
"""
# The pairs that the source document lists for this text, in order.
FIFTY_PAIRS = (
    "101 114, 32 116, 105 110, 101 110, 111 107, 260 259, 256 115, 261 105, 263 122, 264 262, 101 32, 32 258, 97 110, "
    "10 84, 97 114, 97 108, 258 103, 111 114, 257 265, 101 115, 97 116, 46 269, 32 99, 272 32, 274 44, 265 32, "
    "270 266, 275 115, 259 116, 108 115, 277 104, 257 101, 287 120, 288 116, 289 267, 290 116, 291 111, 292 32, "
    "271 108, 32 117, 295 110, 102 273, 297 109, 97 99, 268 100, 119 273, 301 100, 302 280, 303 32, 269 281"
)
FIFTY_LINES = [
    f"Merge ({pair.replace(' ', ', ')}) into a new token {token}"
    for token, pair in enumerate(FIFTY_PAIRS.split(", "), 256)
]
TORTURE = "naïve 👩‍👩‍👧‍👦\r\n\ttokenizers\x00 über नमस्ते\n".encode() + b"\xff\xfe\x80 tokenizers"


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "fifty.txt"
    path.write_bytes(FIFTY.encode())
    return str(path)


@pytest.fixture
def tokenizer(text, tmp_path):
    path = tmp_path / "tokenizer.json"
    assert cli.main(["train", text, "--vocab-size", "306", "--export", f"huggingface={path}", "-q"]) == 0
    return str(path)


@pytest.fixture
def typed(monkeypatch):
    """Gives bytes to standard input."""

    def give(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))

    return give


@pytest.fixture
def slow_trainer(monkeypatch):
    """Makes the Trainer stop after every fifth merge, and lets a test do something in between."""

    def arrange(between):
        advance = Trainer.advance

        def step(self, merges=None):
            if self.merges_made >= 5:
                between()
            return advance(self, 5)

        monkeypatch.setattr(Trainer, "advance", step)

    return arrange


@pytest.fixture
def window(monkeypatch):
    """Stands in for the window, and notes how it is opened."""
    calls = []
    module = ModuleType("tokstudio.gui.app")
    module.run = lambda files, **options: calls.append(([str(file) for file in files], options)) or 0
    monkeypatch.setitem(sys.modules, "tokstudio.gui.app", module)
    return calls


def run_program(*arguments, **options):
    command = [sys.executable, "-m", "tokstudio", *arguments]
    return subprocess.run(command, capture_output=True, timeout=120, **options)


def said(capsys):
    return capsys.readouterr().err


# --- The window ---------------------------------------------------------------------------------------------------


def test_files_open_in_the_window(window):
    assert cli.main([]) == 0
    assert cli.main(["book.txt", "folder", "train"]) == 0
    plain = {"demo": False, "screenshot": None}
    assert window == [([], plain), (["book.txt", "folder", "train"], plain)]


def test_a_command_goes_before_a_file_of_that_name(window, capsys):
    assert cli.main(["train"]) == 2
    assert cli.main([os.path.join(".", "train")]) == 0
    assert [files for files, _ in window] == [["train"]]
    assert "tokstudio train: error: the following arguments are required: FILE" in said(capsys)


def test_the_demo_can_leave_a_picture(window):
    assert cli.main(["--demo", "--screenshot", "out.png"]) == 0
    [(files, options)] = window
    assert (files, options["demo"], str(options["screenshot"])) == ([], True, "out.png")


@pytest.mark.parametrize("arguments", [["--screenshot", "a.png"], ["--demo", "book.txt"], ["--nonsense"]])
def test_what_the_window_cannot_do_is_wrong_usage(window, capsys, arguments):
    assert cli.main(arguments) == 2
    assert not window
    assert said(capsys).startswith("usage: tokstudio")


def test_a_window_without_its_libraries_is_explained(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tokstudio.gui.app", None)
    assert cli.main([]) == 1
    assert said(capsys).startswith("tokstudio: The window cannot open: ")


# --- Help and start -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["train", "--help"], ["encode"], ["train", "-x"]])
def test_help_and_version_load_nothing_heavy(arguments):
    script = (
        "import sys; from tokstudio.cli import main; main(sys.argv[1:]); "
        "sys.exit(sum(name.split('.')[0] in ('numpy', 'numba', 'PySide6', 'regex') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, timeout=60).returncode == 0


def test_the_module_is_the_command(text):
    from tokstudio import __version__

    done = run_program("--version")
    assert (done.returncode, done.stdout.decode().strip()) == (0, f"tokstudio {__version__}")


def test_help_knows_what_the_core_knows(capsys):
    assert cli.main(["train", "--help"]) == 0
    shown = capsys.readouterr().out
    for name, kind in FORMATS.items():
        assert not kind.writable or name in shown
    assert f"{{{','.join(TIE_BREAKS)}}}" in shown


# --- train --------------------------------------------------------------------------------------------------------


def test_the_fifty_merges_are_printed_in_the_words_of_the_source(text, capsys):
    assert len(FIFTY_LINES) == 50
    assert cli.main(["train", text, "--vocab-size", "306", "--print-merges"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == FIFTY_LINES
    assert re.fullmatch(
        r"Trained in \d+\.\d s: reached vocabulary size\. 50 merges, 2\.27 bytes per token, 333 -> 147 tokens\.\n",
        printed.err,
    )


def test_json_is_one_object_and_the_merges_go_beside_it(text, tmp_path, capsys):
    path = tmp_path / "made.json"
    arguments = ["train", text, "--vocab-size", "306", "--json", "--print-merges", "--export", f"huggingface={path}"]
    assert cli.main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.err.splitlines() == FIFTY_LINES
    result = json.loads(printed.out)
    seconds = result.pop("seconds")
    assert isinstance(seconds, float)
    assert seconds >= 0
    assert result == {
        "merges": 50,
        "vocabulary_size": 306,
        "ended": "reached vocabulary size",
        "tokens": 147,
        "bytes_per_token": pytest.approx(333 / 147),
        "files": [str(path)],
    }


def test_json_of_a_training_that_merges_nothing(tmp_path, capsys):
    path = tmp_path / "one.txt"
    path.write_text("a")
    assert cli.main(["train", str(path), "--vocab-size", "300", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["merges"], result["vocabulary_size"], result["tokens"]) == (0, 256, 1)
    assert result["ended"] == "nothing left to merge"


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
def test_the_settings_reach_the_core(tmp_path, capsys, tie_break):
    texts = ["baab abba\n", "zyzy aabb\n", "abzy"]
    path = tmp_path / "lines.txt"
    path.write_text("".join(texts))
    arguments = ["--min-frequency", "2", "--tie-break", tie_break, "--max-token-bytes", "3", "--documents", "line"]
    assert cli.main(["train", str(path), *arguments, "--print-merges"]) == 0
    config = TrainingConfig(min_frequency=2, tie_break=tie_break, max_token_bytes=3)
    expected = train(Corpus.from_texts(texts), config).merges.tolist()
    printed = capsys.readouterr().out.splitlines()
    assert [list(map(int, re.findall(r"\d+", line))) for line in printed] == [
        [*pair, token] for token, pair in enumerate(expected, 256)
    ]


def test_standard_input_takes_its_place_among_the_files(tmp_path, typed, capsys):
    first, last = tmp_path / "first.txt", tmp_path / "last.txt"
    first.write_text("abab")
    last.write_text("cdcd")
    typed("éé".encode("utf-16"))
    assert cli.main(["train", str(first), "-", str(last), "--vocab-size", "270", "--print-merges"]) == 0
    expected = train(Corpus.from_texts(["abab", "éé", "cdcd"]), TrainingConfig(vocabulary_size=270)).merges
    printed = capsys.readouterr()
    assert printed.out.count("\n") == len(expected)
    assert printed.out.startswith("Merge ({}, {}) ".format(*expected[0]))
    assert "standard input: read as utf-16-le; byte order mark dropped.\n" in printed.err


def test_the_encoding_can_be_given(tmp_path, capsys):
    path = tmp_path / "old.txt"
    path.write_bytes(b"\xe9\xe9")
    arguments = ["--vocab-size", "257", "--print-merges"]
    assert cli.main(["train", str(path), "--encoding", "windows-1252", *arguments]) == 0
    assert capsys.readouterr().out == "Merge (195, 169) into a new token 256\n"
    assert cli.main(["train", str(path), "--encoding", "bytes", *arguments]) == 0
    assert capsys.readouterr().out == "Merge (233, 233) into a new token 256\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Set a vocabulary size, a minimum frequency, or both."),
        (["--vocab-size", "256"], "Vocabulary size must be greater than 256."),
        (["--min-frequency", "1"], "Minimum frequency must be at least 2."),
        (["--vocab-size", "300", "--encoding", "klingon"], "Unknown encoding 'klingon'"),
    ],
)
def test_settings_that_cannot_work_are_said_in_the_words_of_the_core(text, capsys, arguments, words):
    assert cli.main(["train", text, *arguments]) == 1
    assert said(capsys).startswith(f"tokstudio: {words}")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--vocab-size", "many"],
        ["--tie-break", "coin"],
        ["--export", "tokenizer.json"],
        ["--export", "classic="],
        ["--export", "papyrus=scroll"],
        ["--vocab", "300"],
    ],
)
def test_arguments_that_make_no_sense_are_wrong_usage(text, capsys, arguments):
    assert cli.main(["train", text, "--min-frequency", "2", *arguments]) == 2
    assert said(capsys).startswith("usage: tokstudio train")


def test_standard_input_is_read_once_only(typed, capsys):
    typed(b"text")
    assert cli.main(["train", "-", "-", "--vocab-size", "300"]) == 2
    assert "once" in said(capsys)


def test_a_text_that_is_missing_or_empty_is_named(tmp_path, typed, capsys):
    assert cli.main(["train", str(tmp_path / "missing.txt"), "--vocab-size", "300"]) == 1
    assert said(capsys) == "tokstudio: missing.txt: there is no such file or folder.\n"
    typed(b"")
    assert cli.main(["train", "-", "--vocab-size", "300"]) == 1
    assert said(capsys) == "tokstudio: standard input: it holds no text.\n"


def test_a_folder_to_export_to_that_is_missing_is_said_before_training(text, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Trainer, "advance", lambda *_: pytest.fail("trained"))
    target = tmp_path / "nowhere" / "tokenizer.json"
    assert cli.main(["train", text, "--vocab-size", "300", "--export", f"huggingface={target}"]) == 1
    assert said(capsys).startswith(f"tokstudio: tokenizer.json: the folder {target.parent} does not exist")


def test_an_export_that_fails_keeps_no_other_from_being_written(text, tmp_path, capsys):
    taken, good = tmp_path / "taken", tmp_path / "good.json"
    taken.write_text("a file where a folder should be")
    exports = ["--export", f"classic={taken}", "--export", f"huggingface={good}"]
    assert cli.main(["train", text, "--vocab-size", "300", "--json", *exports]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith("tokstudio: ")
    assert json.loads(printed.out)["files"] == [str(good)]
    assert good.exists()
    assert taken.read_text() == "a file where a folder should be"


def test_quiet_says_nothing_but_errors(text, tmp_path, capsys):
    arguments = ["train", text, "--vocab-size", "300", "--export", f"classic={tmp_path / 'out'}", "--quiet"]
    assert cli.main(arguments) == 0
    assert capsys.readouterr() == ("", "")
    assert cli.main(["train", text, "--quiet"]) == 1
    assert said(capsys)


class Terminal(io.StringIO):
    """A standard error that someone looks at."""

    def isatty(self):
        return True


def test_progress_is_one_line_on_a_terminal_and_gone_at_the_end(text, slow_trainer, monkeypatch):
    monkeypatch.setattr(cli, "_REFRESH", -1)
    monkeypatch.setattr(sys, "stderr", Terminal())
    slow_trainer(lambda: None)
    assert cli.main(["train", text, "--vocab-size", "306"]) == 0
    shown = sys.stderr.getvalue()
    states = shown.split("\r")
    assert any(re.fullmatch(r"Merging \d+ %, 25 merges *", state) for state in states)
    assert states[-2].strip() == ""
    assert re.fullmatch(r"Trained in .*\n", states[-1])


def test_printed_merges_and_progress_do_not_share_a_screen(text, slow_trainer, monkeypatch):
    monkeypatch.setattr(cli, "_REFRESH", -1)
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    slow_trainer(lambda: None)
    assert cli.main(["train", text, "--vocab-size", "306", "--print-merges"]) == 0
    assert "Merging" not in sys.stderr.getvalue()


# --- Interruptions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_training_is_kept_where_it_is_exported(
    text, tmp_path, slow_trainer, typed, capsysbinary, number, code
):
    before = signal.getsignal(number)
    whole = train(Corpus.from_text(FIFTY), TrainingConfig(vocabulary_size=306))
    path = tmp_path / "part.json"
    slow_trainer(lambda: signal.raise_signal(number))
    arguments = ["train", text, "--vocab-size", "306", "--print-merges", "--export", f"huggingface={path}"]
    assert cli.main(arguments) == code
    printed = capsysbinary.readouterr()
    made = printed.out.decode().splitlines()
    assert made == FIFTY_LINES[: len(made)]
    assert 5 <= len(made) < 50
    assert b": stopped. " in printed.err
    assert signal.getsignal(number) is before
    # What was written is what was printed.
    typed(FIFTY.encode())
    assert cli.main(["encode", "--tokenizer", str(path)]) == 0
    assert json.loads(capsysbinary.readouterr().out) == whole.at(len(made)).encode(FIFTY)


def test_an_interruption_in_the_middle_of_a_piece_loses_that_piece_only(text, tmp_path, slow_trainer, capsys):
    def interrupt():
        raise KeyboardInterrupt

    first_five = train(Corpus.from_text(FIFTY), TrainingConfig(vocabulary_size=261)).merges.tolist()
    slow_trainer(interrupt)
    out = tmp_path / "out"
    arguments = ["train", text, "--vocab-size", "306", "--json", "--export", f"classic={out}"]
    assert cli.main(arguments) == 130
    result = json.loads(capsys.readouterr().out)
    assert (result["merges"], result["ended"]) == (5, "stopped")
    merges = json.loads((out / "merges.json").read_text())["merges"]
    assert [pair for pair, _ in merges] == first_five


def test_an_interruption_before_the_first_merge_exports_nothing(text, tmp_path, monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "advance", interrupt)
    out = tmp_path / "out"
    assert cli.main(["train", text, "--vocab-size", "306", "--export", f"classic={out}"]) == 130
    assert not out.exists()
    assert "nothing was exported" in said(capsys)


def test_an_interruption_while_reading_ends_at_once(text, monkeypatch, capsys):
    def reading(*_):
        signal.raise_signal(signal.SIGINT)
        yield
        pytest.fail("went on")

    monkeypatch.setattr(cli, "_read_corpus", reading)
    assert cli.main(["train", text, "--vocab-size", "306"]) == 130
    assert said(capsys) == "tokstudio: Interrupted.\n"


# --- encode and decode --------------------------------------------------------------------------------------------


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
    monkeypatch.setattr(cli, "_LARGEST_UINT16", largest)
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
    assert said(capsys) == "tokstudio: none.txt: there is no such file.\n"
    assert cli.main([command, str(tmp_path), "--tokenizer", tokenizer]) == 1
    assert said(capsys) == f"tokstudio: {tmp_path.name}: this is a folder, not a file.\n"
    assert cli.main([command, "--text", "1", "--tokenizer", str(tmp_path / "none.json")]) == 1
    assert said(capsys).startswith("tokstudio: none.json: ")
    assert cli.main([command, "somewhere", "--text", "1", "--tokenizer", tokenizer]) == 2
    assert cli.main([command, "--text", "1"]) == 2


def test_a_result_that_cannot_be_written_leaves_nothing(tokenizer, tmp_path, capsys):
    out = tmp_path / "nowhere" / "ids.json"
    assert cli.main(["encode", "--text", "a", "--tokenizer", tokenizer, "--out", str(out)]) == 1
    assert said(capsys).startswith("tokstudio: ids.json: ")
    assert not out.parent.exists()


def test_the_file_found_in_a_folder_is_named(tokenizer, tmp_path, capsys):
    assert cli.main(["encode", "--text", "a", "--tokenizer", str(tmp_path)]) == 0
    assert said(capsys) == "Tokenizer: tokenizer.json.\n"


# --- As a program -------------------------------------------------------------------------------------------------


def test_a_reader_that_has_seen_enough_is_no_error(text, tmp_path):
    out = tmp_path / "whole.json"
    for exports, written in ([], False), (["--export", f"huggingface={out}"], True):
        command = [sys.executable, "-m", "tokstudio", "train", text, "--vocab-size", "306", "--print-merges", *exports]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
            program.stdout.close()
            errors = program.stderr.read()
        assert program.returncode == 0
        assert b"Error" not in errors
        assert out.exists() == written


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["train", "--vocab-size", "306", "--json"]])
def test_a_full_disk_is_said_once(text, arguments):
    files = [text] if arguments[0] == "train" else []
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "tokstudio", *arguments, *files]
        # Where Python is told not to buffer, argparse itself swallows the fault.
        environment = os.environ | {"PYTHONUNBUFFERED": ""}
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=120, env=environment)
    assert done.returncode == 1
    assert re.fullmatch(rb"tokstudio: standard output: it cannot be written \(.*\)\.\n", done.stderr)


def test_words_are_utf8_whatever_the_locale(tmp_path):
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = run_program("train", str(tmp_path / "büch.txt"), "--vocab-size", "300", env=environment)
    assert done.returncode == 1
    assert done.stderr.decode("utf-8") == "tokstudio: büch.txt: there is no such file or folder.\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows sends no such signal to one process")
def test_a_real_interrupt_keeps_what_was_trained(tmp_path):
    book, out = tmp_path / "book.txt", tmp_path / "part.json"
    words = np.random.default_rng(1).integers(97, 105, 3_000_000, dtype=np.uint8)
    book.write_bytes(words.tobytes())
    arguments = ["train", str(book), "--vocab-size", "1000000", "--print-merges", "--export", f"huggingface={out}"]
    command = [sys.executable, "-m", "tokstudio", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout.readline().startswith(b"Merge (")
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate(timeout=120)
    assert program.returncode == 130, errors
    assert b": stopped. " in errors
    assert out.exists()
