"""A row of a file of merges: both tokens as they are written, or a line that is still to be divided."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.wording import several

_MOST = 500_000  # more than the largest vocabularies in use

Part = str | bytes | int | list[int]
#: The two parts of a merge; or a line that is divided when its tokens are known.
Row = tuple[Part, Part] | str


def check_number(merges: int) -> None:
    """Raises FormatError where there are more merges than are read."""
    if merges > _MOST:
        raise FormatError(f"it has {several(merges, 'merge')}: at most {_MOST:,} are read.")
