"""Interruptions keep the merges so far, and leave no file half-written."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from fifty import FIFTY, FIFTY_LINES

from tokstudio import Corpus, Trainer, TrainingConfig, cli, train
from tokstudio.cli import exporting, reading

HANGUP = [(signal.SIGHUP, 129)] if hasattr(signal, "SIGHUP") else []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), *HANGUP])
def test_an_interrupted_training_is_exported(text, tmp_path, slow_trainer, typed, capsysbinary, number, code):
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
    assert b"Stopped after " in printed.err
    assert signal.getsignal(number) is before
    # What was written is what was printed.
    typed(FIFTY.encode())
    assert cli.main(["encode", "--tokenizer", str(path)]) == 0
    assert json.loads(capsysbinary.readouterr().out) == whole.at(len(made)).encode(FIFTY)


def test_an_interruption_waits_for_the_current_piece(text, tmp_path, slow_trainer, capsys):
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


@pytest.mark.parametrize(("times", "merges"), [(1, 10), (2, 5)])
def test_a_second_signal_interrupts_the_current_piece(text, slow_trainer, capsys, times, merges):
    def interrupt():
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)

    slow_trainer(interrupt)
    assert cli.main(["train", text, "--vocab-size", "306", "--print-merges"]) == 130
    assert capsys.readouterr().out.splitlines() == FIFTY_LINES[:merges]


def test_an_interruption_before_the_first_merge_exports_nothing(text, tmp_path, monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "advance", interrupt)
    out = tmp_path / "out"
    assert cli.main(["train", text, "--vocab-size", "306", "--export", f"classic={out}"]) == 130
    assert not out.exists()
    assert "nothing was exported" in capsys.readouterr().err


def test_an_interruption_during_preparation_exports_nothing(text, monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "advance", interrupt)
    arguments = ["--base", "characters", "--special", "<?>", "--unknown-token", "<?>", "--held-out", "0.1"]
    assert cli.main(["train", text, "--vocab-size", "306", *arguments]) == 130
    assert capsys.readouterr().err == "Interrupted before the first merge.\n"
    assert cli.main(["train", text, "--vocab-size", "306", *arguments, "--json"]) == 130
    outcome = json.loads(capsys.readouterr().out)
    assert (outcome["merges"], outcome["tokens"], outcome["held_out_bytes_per_token"]) == (0, 0, None)


def test_an_interruption_while_reading_ends_at_once(text, monkeypatch, capsys):
    def interrupted(*_):
        signal.raise_signal(signal.SIGINT)
        yield
        pytest.fail("went on")

    monkeypatch.setattr(reading, "read_corpus_work", interrupted)
    assert cli.main(["train", text, "--vocab-size", "306"]) == 130
    assert capsys.readouterr().err == "tokstudio: Interrupted.\n"


def test_an_interruption_while_exporting_leaves_the_old_file(text, tmp_path, monkeypatch, capsys):
    save_work = exporting.save_proved_work

    def interrupted(*arguments, **options):
        work = save_work(*arguments, **options)
        yield next(work)
        signal.raise_signal(signal.SIGINT)
        return (yield from work)

    monkeypatch.setattr(exporting, "save_proved_work", interrupted)
    out = tmp_path / "old.json"
    out.write_text("old")
    assert cli.main(["train", text, "--vocab-size", "306", "--export", f"huggingface={out}", "--force"]) == 130
    assert capsys.readouterr().err.endswith("tokstudio: Interrupted.\n")
    assert out.read_text() == "old"
    # Nor is the training lost.
    assert {path.name for path in tmp_path.iterdir()} == {"fifty.txt", "old.json", "old.json.tokstudio"}


def random_book(folder, letters):
    book = folder / "book.txt"
    book.write_bytes(np.random.default_rng(1).integers(97, 105, letters, dtype=np.uint8).tobytes())
    return str(book)


@pytest.mark.skipif(os.name == "nt", reason="Windows sends no such signal to one process")
def test_a_real_interrupt_exports_the_merges_so_far(tmp_path):
    out = tmp_path / "part.json"
    # It has many more merges than the pipe takes before they are read.
    book = random_book(tmp_path, 300_000)
    arguments = ["train", book, "--vocab-size", "1000000", "--print-merges", "--export", f"huggingface={out}"]
    command = [sys.executable, "-m", "tokstudio", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout.readline().startswith(b"Merge (")
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate(timeout=120)
    assert program.returncode == 130, errors
    assert b"Stopped after " in errors
    assert out.exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
def test_a_closed_terminal_exports_the_merges_so_far(tmp_path):
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    out = tmp_path / "part.json"
    ours, theirs = pty.openpty()
    # What is printed is read back as it is.
    settings = termios.tcgetattr(theirs)
    settings[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    # Nothing holds this training up: the text is large enough for it to last for seconds.
    book = random_book(tmp_path, 3_000_000)
    words = ["train", book, "--vocab-size", "1000000", "--print-merges", "--json"]
    command = [sys.executable, "-m", "tokstudio", *words, "--export", f"huggingface={out}"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as program:
        os.close(theirs)
        with os.fdopen(ours, "rb") as screen:
            while not screen.readline().startswith(b"Merge ("):
                pass
        # The terminal is gone now: what is written to it fails, and the system and the shell say so.
        for _ in range(3):
            program.send_signal(signal.SIGHUP)
        assert program.wait(timeout=120) == 129
    assert json.loads(out.read_bytes())["model"]["merges"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
def test_a_terminal_that_is_closed_during_the_export_does_not_end_it(text, tmp_path, monkeypatch, capsys):
    save_work = exporting.save_proved_work

    def hung_up(*arguments, **options):
        work = save_work(*arguments, **options)
        yield next(work)
        signal.raise_signal(signal.SIGHUP)
        return (yield from work)

    monkeypatch.setattr(exporting, "save_proved_work", hung_up)
    out = tmp_path / "made.json"
    assert cli.main(["train", text, "--vocab-size", "306", "--export", f"huggingface={out}"]) == 129
    assert len(json.loads(out.read_bytes())["model"]["merges"]) == 50
    assert "Exported " in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
def test_under_nohup_a_closed_terminal_does_not_interrupt(text, slow_trainer, capsys):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        slow_trainer(lambda: signal.raise_signal(signal.SIGHUP))
        assert cli.main(["train", text, "--vocab-size", "306"]) == 0
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert "reached vocabulary size" in capsys.readouterr().err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_merges_that_cannot_be_printed_do_not_lose_the_training(text, tmp_path):
    out = tmp_path / "made.json"
    words = ["train", text, "--vocab-size", "306", "--print-merges", "--export", f"huggingface={out}", "-q"]
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "tokstudio", *words]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=120)
    assert done.returncode == 1
    assert done.stderr.startswith(b"tokstudio: standard output: it cannot be written (")
    assert done.stderr.count(b"\n") == 1
    assert len(json.loads(out.read_bytes())["model"]["merges"]) == 50
