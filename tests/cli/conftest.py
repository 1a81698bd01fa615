"""Common fixtures of the command line tests, and the import path of `fifty`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tokstudio import Corpus, Trainer, TrainingConfig, save, train

sys.path.insert(0, str(Path(__file__).parent))

from fifty import FIFTY


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "fifty.txt"
    path.write_bytes(FIFTY.encode())
    return str(path)


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The file of a tokenizer with 50 merges, as `train` exports it."""
    path = tmp_path_factory.mktemp("trained") / "tokenizer.json"
    save(train(Corpus.from_text(FIFTY), TrainingConfig(vocabulary_size=306)), path)
    return path.read_bytes()


@pytest.fixture
def tokenizer(trained, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(trained)
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
