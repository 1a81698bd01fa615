"""A merge as a sentence that says which two tokens were joined, and why."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from tokstudio.core.base.wording import several_whole
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.token_text.pieces import describe
from tokstudio.gui.token_text.spelling import hex_head, marked, shown
from tokstudio.gui.widgets.labels import isolated

_LONGEST = 24  # bytes of a token
_SHOWN_FOR = 2.0  # seconds
_NAMES = {b" ": "space", b"\n": "line break", b"\r": "carriage return", b"\t": "tab"}


def token_name(raw: bytes) -> str:
    r"""Names a token in a sentence: `b" "` -> `"space"`, `b" a"` -> `"“·a”"`, `b"\xe2"` -> `"the byte E2"`."""
    if raw in _NAMES:
        return _NAMES[raw]
    if describe(raw)[1] == "bytes":
        return f"the byte{'s' if len(raw) > 1 else ''} {hex_head(raw, _LONGEST)}"
    return isolated(f"“{marked(shown(raw[: 2 * _LONGEST], _LONGEST))}”")


def merge_sentence(run: StudioRun, number: int) -> str:
    """Says of one merge, from 1 on, how often its pair was there: that is why it was made."""
    left, right = (token_name(run.tokenizer.bytes_of(token)) for token in run.merges[number - 1].tolist())
    times = several_whole(int(run.log.count[number - 1]), run.weight_scale, "time")
    sentence = f"{left} and {right} stand side by side {times}, so they become one token."
    return sentence[0].upper() + sentence[1:]


class MergeCaptions(QObject):
    """The sentences of a growing run, each shown so long that it can be read."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._run: StudioRun | None = None
        self._number = 0
        self._since = 0.0
        self.text = ""

    def follow(self, run: StudioRun, now: float) -> str:
        """The sentence to show now, in seconds; the newest, once the last was shown long enough."""
        if run is not self._run:
            self._run, self._number, self.text = run, 0, ""
        if len(run) > self._number and (not self._number or now - self._since >= _SHOWN_FOR):
            self._number, self._since = len(run), now
            self.text = merge_sentence(run, self._number)
            self.changed.emit()
        return self.text

    def of(self, run: StudioRun) -> str:
        """The sentence that is shown of a run; "" if none is."""
        return self.text if run is self._run else ""
