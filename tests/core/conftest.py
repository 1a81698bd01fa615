"""Lets the tests of the core import `reference` and `texts`, which stand beside them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
