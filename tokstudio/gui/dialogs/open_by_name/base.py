"""The base of the dialogs that open something by its name: the field for it, a list of names, and the job."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from tokstudio.core.base.progress import Progress
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import size_text
from tokstudio.gui.session.common.jobs import Jobs, LatestJob
from tokstudio.gui.state.problems import problem_of
from tokstudio.gui.widgets.fields import restyle
from tokstudio.gui.widgets.figures import RowList
from tokstudio.gui.widgets.pane import WorkDialog


@dataclass(frozen=True)
class WellKnown:
    """What many people open by its name."""

    name: str
    kind: str  # what it is, for the list
    gated: bool = False  # whether its owner asks for consent, for which one must sign in


class OpenDialog(WorkDialog):
    """A name and names to choose from; stays open until what is named has been opened, or the user leaves.

    Args:
        hint: What the field for the name shows while it is empty.
        listed: The name of the list, and the titles of its columns.
    """

    opened = Signal(object)  # what the job gave
    _leave = "Cancel"
    _reading = "Reading the files…"  # what is done after downloading

    def __init__(
        self, title: str, jobs: Jobs, parent: QWidget | None, hint: str, listed: tuple[str, Sequence[str]]
    ) -> None:
        super().__init__(title, jobs.pauses.dialogs, parent)
        self._job = self._opening = LatestJob(jobs, self, self._take, self._fail, quiet=True)
        self.name = QLineEdit(placeholderText=hint)
        self.list = RowList(*listed)
        self.list.itemSelectionChanged.connect(self._choose)

    def _choose(self) -> None:
        for item in self.list.selectedItems():
            self.name.setText(item.text(0))

    def say(self, text: str, role: str = "muted") -> None:
        """Shows a text in the note, and marks a wrong name."""
        super().say(text, role)
        self.name.setAccessibleDescription(text)
        restyle(self.name, "invalid", role == "error")

    def _doing(self, progress: Progress) -> str:
        if progress.phase != "downloading":
            return self._reading
        of = f" of {size_text(progress.total)}" if progress.total else ""
        return f"Downloading: {size_text(progress.done)}{of}" if progress.done else "Asking for the files…"

    def _take(self, result: Any) -> None:  # noqa: ANN401  of its own work
        self._timer.stop()
        self.accept()
        self.opened.emit(result)

    def _fail(self, error: Exception) -> None:
        self._settle(problem_of(error).text, "error")

    def _settle(self, text: str, role: str = "muted") -> None:
        """Lets the user change the name again."""
        super()._settle(text, role)
        self.name.setFocus()
