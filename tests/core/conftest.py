"""A short search for garbage after each test."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True)
def what_stays_of_a_module() -> None:
    """Keeps what a module has made so far, such as its fixtures, out of the search for garbage after each test."""
    gc.freeze()
