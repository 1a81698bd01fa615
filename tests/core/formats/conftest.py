"""What several formats are tested with."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest


@pytest.fixture
def from_folder(monkeypatch):
    """What transformers makes of a folder."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers")
    return lambda folder: transformers.AutoTokenizer.from_pretrained(str(folder))


@pytest.fixture
def in_a_process(monkeypatch):
    """Libraries read files of any size in a process of their own."""
    monkeypatch.setattr("tokstudio.core.libraries.client.SMALL", 0)
