"""The export dialog, which shows its progress often."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_long_pauses(short_pauses: None) -> None:
    """Shortens the pauses of the window in all tests of this folder."""
