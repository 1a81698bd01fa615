"""Fixtures of the tests of projects."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tokstudio.gui.session.training import control


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """A training is looked at more often."""
    monkeypatch.setattr(control, "_TICK", 5)
