"""Runs the command line as `python -m tokstudio`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys

from tokstudio.cli import main

if __name__ == "__main__":
    sys.exit(main())
