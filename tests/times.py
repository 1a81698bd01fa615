"""How much more than usual the fuzzers of the tests do: `TOKSTUDIO_FUZZ=10 pytest` makes ten times the mutants."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os

TIMES = int(os.environ.get("TOKSTUDIO_FUZZ", "1"))
