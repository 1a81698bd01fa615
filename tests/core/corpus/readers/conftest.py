"""Files for the readers of corpora."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tokstudio.core.corpus.readers import compression, files


@pytest.fixture
def write(tmp_path):
    """Writes a file and returns its path."""

    def write(name, data):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


@pytest.fixture
def small_bombs(monkeypatch):
    """Takes what unpacks to more than a megabyte for a bomb."""
    monkeypatch.setattr(compression, "PLAUSIBLE", 1_000_000)


@pytest.fixture
def kept_texts(monkeypatch, tmp_path):
    """Lets so many bytes of memory be free; the folder in which texts that do not fit are kept."""

    def begin(free=100):
        monkeypatch.setattr(files, "free_memory", lambda: free)
        monkeypatch.setattr(files, "cache_folder", lambda: tmp_path / "cache")
        return tmp_path / "cache" / "texts"

    return begin
