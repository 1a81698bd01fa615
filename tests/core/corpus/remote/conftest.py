"""A hub with data sets, and an empty cache, for each test."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.hub.local_hub import Hub, local_hub


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty cache folder for fetched texts."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tokstudio.core.hub.kept_texts.cache_folder", lambda: tmp_path / "cache/tokstudio")
    return tmp_path / "cache" / "tokstudio" / "data"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub without repositories, whose library has an empty cache."""
    with local_hub(monkeypatch) as made:
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        yield made


@pytest.fixture
def no_pauses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the process try again at once."""
    folder = tmp_path / "no pauses"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("import time\n\ntime.sleep = lambda seconds: None\n")
    monkeypatch.setenv("PYTHONPATH", str(folder))
