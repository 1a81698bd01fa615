"""Lets the tests of projects import `projects`, and `trained` of the formats' tests, which are no tests."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from pathlib import Path

_HERE = Path(__file__).parent
sys.path[:0] = [str(_HERE), str(_HERE.parent / "formats")]
