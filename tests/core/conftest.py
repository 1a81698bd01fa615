"""Lets the tests of the core import `reference` and `texts`, which stand beside them, and never test outdated loops."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from pathlib import Path

from tokstudio.core.warm_up import discard_outdated

sys.path.insert(0, str(Path(__file__).parent))
discard_outdated()
