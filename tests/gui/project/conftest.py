"""Fixtures of the tests of projects."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tokstudio.gui.session import training_control


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """A training is looked at more often."""
    monkeypatch.setattr(training_control, "_TICK", 5)
