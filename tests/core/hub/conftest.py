"""A hub of its own for each test, with one small tokenizer."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.hub.local_hub import Hub, Repository, local_hub
from tokstudio import Corpus, Tokenizer, TrainingConfig, save, train


@pytest.fixture
def tokenizer() -> Tokenizer:
    return train(Corpus.from_text("the cat sat on the mat. " * 20), TrainingConfig(vocabulary_size=280, pattern="gpt2"))


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokenizer: Tokenizer) -> Iterator[Hub]:
    """The hub, with the repository `me/tiny`, and with empty caches."""
    save(tokenizer, tmp_path / "tiny")
    files = {file.name: file.read_bytes() for file in (tmp_path / "tiny").iterdir()}
    with local_hub(monkeypatch) as made:
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "encodings"))
        made.repositories["me/tiny"] = Repository({**files, "model.bin": b"weights", "code.py": b"raise SystemExit"})
        yield made


@pytest.fixture
def no_pauses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the libraries try again at once, where they would wait for a second."""
    folder = tmp_path / "no pauses"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import time\n\ntime.sleep = lambda seconds: None\n")
    monkeypatch.setenv("PYTHONPATH", str(folder))
