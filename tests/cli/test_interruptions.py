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

from tests.cli.fifty import FIFTY, FIFTY_LINES
from tokstudio import Corpus, Trainer, TrainingConfig, train
from tokstudio.cli import exporting, reading
from tokstudio.core.base.progress import finish
from tokstudio.core.project import open_work

HANGUP = [(signal.SIGHUP, 129)] if hasattr(signal, "SIGHUP") else []
not_windows = pytest.mark.skipif(os.name == "nt", reason="Windows sends no such signal to one process")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), *HANGUP])
def test_an_interrupted_training_is_exported_and_saved(tmp_path, slow_trainer, typed, learn, run, number, code):
    before = signal.getsignal(number)
    whole = train(Corpus.from_text(FIFTY), TrainingConfig(vocabulary_size=306))
    slow_trainer(lambda: signal.raise_signal(number))
    words = "--print-merges --export huggingface=part.json --project part.tokstudio"
    printed = learn(code, words, says="Stopped after ")
    made = printed.out.splitlines()
    assert made == FIFTY_LINES[: len(made)]
    assert 5 <= len(made) < 50
    assert signal.getsignal(number) is before
    # What was written is what was printed.
    (kept,) = finish(open_work(tmp_path / "part.tokstudio")).runs
    assert kept.run.merges.tolist() == whole.merges.tolist()[: len(made)]
    typed(FIFTY.encode())
    assert run(0, "encode --tokenizer part.json").json == whole.at(len(made)).encode(FIFTY)


def interrupt(*_):
    raise KeyboardInterrupt


def test_an_interruption_waits_for_the_current_piece(tmp_path, slow_trainer, learn, whole_run):
    slow_trainer(interrupt)
    result = learn(130, "--json --export classic=out").json
    assert (result["merges"], result["ended"]) == (5, "stopped")
    merges = json.loads((tmp_path / "out" / "merges.json").read_text())["merges"]
    assert [pair for pair, _ in merges] == whole_run[:5]


@pytest.mark.parametrize(("times", "merges"), [(1, 10), (2, 5)])
def test_a_second_signal_interrupts_the_current_piece(slow_trainer, learn, times, merges):
    slow_trainer(lambda: [signal.raise_signal(signal.SIGINT) for _ in range(times)])
    assert learn(130, "--print-merges").out.splitlines() == FIFTY_LINES[:merges]


def test_an_interruption_before_the_first_merge_exports_nothing(tmp_path, monkeypatch, learn):
    monkeypatch.setattr(Trainer, "advance", interrupt)
    learn(130, "--export classic=out", says="nothing was exported")
    assert not (tmp_path / "out").exists()
    words = "--base characters --special <?> --unknown-token <?> --held-out 0.1"
    assert learn(130, words).err == "Interrupted before the first merge.\n"
    outcome = learn(130, words, "--json").json
    assert (outcome["merges"], outcome["tokens"], outcome["held_out_bytes_per_token"]) == (0, 0, None)


def test_an_interruption_while_reading_ends_at_once(monkeypatch, learn):
    def interrupted(*_):
        signal.raise_signal(signal.SIGINT)
        yield
        pytest.fail("went on")

    monkeypatch.setattr(reading, "read_corpus_work", interrupted)
    assert learn(130).err == "tokstudio: Interrupted.\n"


def test_an_interruption_while_exporting_leaves_the_old_file(write, tmp_path, saving, learn):
    saving(exporting, lambda *_: signal.raise_signal(signal.SIGINT), pieces=1)
    out = write("old.json", "old")
    assert learn(130, "--export huggingface=old.json --force").err.endswith("tokstudio: Interrupted.\n")
    assert out.read_text() == "old"
    # Nor is the training lost.
    assert {path.name for path in tmp_path.iterdir()} == {"fifty.txt", "old.json", "old.json.tokstudio"}


def training_of(folder, letters, *words):
    """A command that trains on a random book, which has many more merges than a pipe takes before they are read."""
    book = folder / "book.txt"
    book.write_bytes(np.random.default_rng(1).integers(97, 105, letters, dtype=np.uint8).tobytes())
    command = [sys.executable, "-m", "tokstudio", "train", str(book), "--vocab-size", "1000000", "--print-merges"]
    return [*command, "--export", f"huggingface={folder / 'part.json'}", *words]


@not_windows
def test_a_real_interrupt_exports_the_merges_so_far(tmp_path):
    command = training_of(tmp_path, 60_000)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout.readline().startswith(b"Merge (")
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate(timeout=120)
    assert program.returncode == 130, errors
    assert b"Stopped after " in errors
    assert (tmp_path / "part.json").exists()


@not_windows
def test_a_closed_terminal_exports_the_merges_so_far(tmp_path):
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    ours, theirs = pty.openpty()
    # What is printed is read back as it is.
    settings = termios.tcgetattr(theirs)
    settings[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    # Nothing holds this training up: the text is large enough for it to last for seconds.
    command = training_of(tmp_path, 1_000_000, "--json")
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as program:
        os.close(theirs)
        with os.fdopen(ours, "rb") as screen:
            while not screen.readline().startswith(b"Merge ("):
                pass
        # The terminal is gone now: what is written to it fails, and the system and the shell say so.
        for _ in range(3):
            program.send_signal(signal.SIGHUP)
        assert program.wait(timeout=120) == 129
    assert json.loads((tmp_path / "part.json").read_bytes())["model"]["merges"]


@not_windows
def test_a_terminal_that_is_closed_during_the_export_does_not_end_it(tmp_path, saving, learn):
    saving(exporting, lambda *_: signal.raise_signal(signal.SIGHUP), pieces=1)
    learn(129, "--export huggingface=made.json", says="Exported ")
    assert len(json.loads((tmp_path / "made.json").read_bytes())["model"]["merges"]) == 50


@not_windows
def test_under_nohup_a_closed_terminal_does_not_interrupt(slow_trainer, learn):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        slow_trainer(lambda: signal.raise_signal(signal.SIGHUP))
        learn(0, says="reached vocabulary size")
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@not_windows
@pytest.mark.parametrize(
    "module", ["tokstudio.core.base.subprocesses", "tokstudio.cli", "tokstudio.cli.arguments.parser"]
)
def test_an_interruption_before_a_command_begins_leaves_no_traceback(module):
    script = f"""
import os, signal, sys

class Interrupted:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupted())
from tokstudio.__main__ import main
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", script, "engines", "--help"], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, b"")
