"""What tests of the core stand on: `reference` and `texts` beside them, and a short search for garbage."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def what_stays_of_a_module() -> None:
    """Keeps what a module has made so far, such as its fixtures, out of the search for garbage after each test."""
    gc.freeze()
