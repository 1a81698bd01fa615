"""Lets the tests of the formats import `trained`, which stands beside them and is no test."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
