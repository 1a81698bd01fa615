"""Common fixtures of the command line tests."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import json
import logging
import sys
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from tests.cli.fifty import FIFTY
from tokstudio import Corpus, Trainer, TrainingConfig, cli, save, train
from tokstudio.cli import exporting
from tokstudio.cli.process import terminal
from tokstudio.core.base.atomic_files import StagedFiles
from tokstudio.core.base.errors import FormatError
from tokstudio.core.kernels import compiled


class Printed(NamedTuple):
    """What a command printed."""

    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs a command in the test's folder, which must end with a code, and gives what it printed.

    A text is divided into words, a list is not. What the command `says` must be among its messages.
    """
    monkeypatch.chdir(tmp_path)
    # Whether a loop is compiled depends on what this computer ran before.
    monkeypatch.setattr(logging.getLogger(compiled.__name__), "isEnabledFor", lambda level: False)

    def command(code, *given, says=""):
        words = [words.split() if isinstance(words, str) else words for words in given]
        words = [word for some in words for word in (some if isinstance(some, list) else [some])]
        assert cli.main([str(word) for word in words]) == code
        printed = Printed(*capsys.readouterr())
        assert says in printed.err
        return printed

    return command


@pytest.fixture
def write(tmp_path):
    """Writes a file in the test's folder, and gives its path."""

    def make(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


@pytest.fixture
def text(write):
    return str(write("fifty.txt", FIFTY))


@pytest.fixture
def learn(text, run):
    """Trains to the fifty merges of `FIFTY`, and gives what was printed."""
    return lambda code, *words, says="": run(code, f"train {text} --vocab-size 306", *words, says=says)


@pytest.fixture(scope="session")
def whole_run():
    """The fifty merges."""
    return train(Corpus.from_text(FIFTY), TrainingConfig(vocabulary_size=306)).merges.tolist()


@pytest.fixture
def saving(monkeypatch):
    """Lets something happen while a module, `exporting` or `training`, saves: before its first piece, or after it."""

    def arrange(module, happens, pieces=0):
        name = "save_proved_work" if hasattr(module, "save_proved_work") else "save_work"
        save = getattr(module, name)

        def work(*arguments, **options):
            work = save(*arguments, **options)
            for _ in range(pieces):
                yield next(work)
            happens(*arguments)
            return (yield from work)

        monkeypatch.setattr(module, name, work)

    return arrange


@pytest.fixture
def failing_export(monkeypatch):
    """Lets every export fail once its files are written."""

    def commit(_self):
        raise FormatError("made.json: there is no space left on the disk, so it was not written.")

    def arrange(fault=commit):
        save_work = exporting.save_proved_work

        def with_fault(*arguments, **options):
            with monkeypatch.context() as patched:
                patched.setattr(StagedFiles, "commit", fault)
                return (yield from save_work(*arguments, **options))

        monkeypatch.setattr(exporting, "save_proved_work", with_fault)

    return arrange


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The file of a tokenizer with 50 merges, as `train` exports it."""
    path = tmp_path_factory.mktemp("trained") / "tokenizer.json"
    save(train(Corpus.from_text(FIFTY), TrainingConfig(vocabulary_size=306)), path)
    return path.read_bytes()


@pytest.fixture
def tokenizer(trained, write):
    return str(write("tokenizer.json", trained))


@pytest.fixture(scope="module")
def dask():
    """The option for a cluster of two workers in this process."""
    from tests.cli.clusters import cluster_here

    with cluster_here(2) as workers:
        yield f"--dask {workers.scheduler_address}"


@pytest.fixture
def typed(monkeypatch):
    """Gives bytes to standard input."""

    def give(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))

    return give


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets; whenever it is asked, time has passed for another state of the progress line."""
    clock = SimpleNamespace(now=1000.0)

    def monotonic():
        clock.now += 0.15
        return clock.now

    clock.monotonic = monotonic
    monkeypatch.setattr(terminal, "time", clock)
    return clock


@pytest.fixture
def look(clock, monkeypatch):
    """Makes standard error a terminal that keeps what was written."""

    def begin():
        stream = io.StringIO()
        stream.isatty = lambda: True
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return begin


@pytest.fixture
def before_merging(monkeypatch):
    """Lets something happen when the corpus is prepared, before each piece of merging."""

    def arrange(happens):
        advance = Trainer.advance

        def step(self, merges=None):
            if self.prepared is not None:
                happens()
            return advance(self, merges)

        monkeypatch.setattr(Trainer, "advance", step)

    return arrange


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
