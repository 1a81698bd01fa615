"""Why there are no uses to be shown of the active run: the words that panes have for it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from tokstudio.gui.session import Session

_UNKNOWN = "The tokenizer's file has no uses."
_NO_CORPUS = f"{_UNKNOWN} Open a text to count them."
_ELSEWHERE = "The uses were counted after merge {:,}, not here."
_COUNTING = "The uses are being counted."


def uses_wanting(session: Session) -> str:
    """Why the uses of the active run are not known at the playhead; "" where they are, or will be by themselves."""
    run = session.active
    if run is None or run.has_counts or not run.ready or run.uses(session.playhead) is not None:
        return ""
    if session.counting_uses:
        return _COUNTING
    if run.counted is not None:
        return _ELSEWHERE.format(run.counted.merges)
    return _UNKNOWN if session.sources else _NO_CORPUS
