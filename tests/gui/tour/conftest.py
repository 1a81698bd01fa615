"""All tests of the tour play a training that stands still."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tokstudio.gui.session.training import training as training_module


@pytest.fixture(autouse=True)
def slow(monkeypatch):
    """A played training that never ends by itself."""
    monkeypatch.setattr(training_module, "played_interval", lambda made: 3600.0)
