"""Fixtures of the tests of the whole window."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tokstudio.gui.session.training import control
from tokstudio.gui.window import dock_layout


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Panes are at rest sooner, and a training is looked at more often."""
    monkeypatch.setattr(dock_layout, "_AT_REST", 10)
    monkeypatch.setattr(control, "_TICK", 5)
