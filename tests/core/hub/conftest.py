"""A hub of its own for each test, with one small tokenizer."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.hub.local_hub import Hub, Repository, local_hub
from tokstudio import Corpus, Tokenizer, TrainingConfig, save, train


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return train(Corpus.from_text("the cat sat on the mat. " * 20), TrainingConfig(vocabulary_size=280, pattern="gpt2"))


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> dict[str, bytes]:
    """The files of the tokenizer, by their names."""
    folder = save(tokenizer, tmp_path_factory.mktemp("tiny")).files[0].parent
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes]) -> Iterator[Hub]:
    """The hub, with the repository `me/tiny`, and with empty caches."""
    with local_hub(monkeypatch) as made:
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "encodings"))
        made.repositories["me/tiny"] = Repository({**tiny, "model.bin": b"weights", "code.py": b"raise SystemExit"})
        yield made


@pytest.fixture
def no_pauses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the libraries try again at once, where they would wait for a second."""
    folder = tmp_path / "no pauses"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import time\n\ntime.sleep = lambda seconds: None\n")
    monkeypatch.setenv("PYTHONPATH", str(folder))
