"""The panes: tests that wait for what follows a key or an update."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_long_pauses(short_pauses: None) -> None:
    """Shortens the pauses of the window in all tests of this folder."""
