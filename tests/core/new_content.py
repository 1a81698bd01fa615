"""Another content for a file."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path


def give(path: Path, content: bytes) -> None:
    """Writes a file anew. Some systems wait for the disk where one is written over, so the old one is removed first."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)
