"""How far work is: a bar, and the line below a page with Cancel, or why there is no answer, with Try Again."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QProgressBar, QWidget

from tokstudio.core.base.progress import Progress
from tokstudio.core.base.wording import capitalized
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import in_a_sentence, named, paragraph_label
from tokstudio.gui.widgets.layouts import column, row
from tokstudio.gui.widgets.menus import link_button

TICK = 100  # milliseconds between two looks at the progress
_BAR = 120  # pixels
_WORKING = "Working"


class ProgressBar(QProgressBar):
    """How far work is; it only moves where the work has no end that is known."""

    def __init__(self, name: str = "Progress") -> None:
        super().__init__(maximum=0, textVisible=False)
        self.setAccessibleName(name)

    def show_progress(self, progress: Progress) -> None:
        """Shows progress in thousandths, as Qt has only 31 bits for bytes."""
        self.setMaximum(1000 if progress.total else 0)
        if progress.total:
            self.setValue(1000 * min(progress.done, progress.total) // progress.total)


class WorkLine(QWidget):
    """A line below a page, hidden while there is nothing to say; progress is shown of work longer than a moment.

    `phases` has words for those of the work; others are shown by their name.
    """

    ticked = Signal()  # work goes on

    def __init__(
        self,
        name: str,
        theme: Theme,
        phases: Mapping[str, str],
        progress: Callable[[], Progress],
        cancel: Callable[[], None],
        again: Callable[[], None],
    ) -> None:
        super().__init__()
        self._phases, self._progress = phases, progress
        self.problem, self.doing = paragraph_label("error"), paragraph_label("muted")
        self.again = link_button("Try Again", again)
        self.bar = ProgressBar(f"Progress of {name}")
        self.bar.setFixedWidth(theme.scaled(_BAR))
        self.cancel = named(link_button("Cancel", cancel), f"Cancel {name}")
        self._wrong, self._working = QWidget(), QWidget()
        row((self.problem, 1), self.again, spacing=8, parent=self._wrong)
        row((self.doing, 1), self.bar, self.cancel, spacing=8, parent=self._working)
        column(self._wrong, self._working, spacing=6, parent=self)
        for part in (self._wrong, self._working, self):
            part.hide()
        self._timer = QTimer(self, interval=TICK)
        self._timer.timeout.connect(self._tick)

    def show_state(self, busy: bool, problem: str, *, can_retry: bool = True) -> None:
        """Shows whether work goes on, and else why there is no answer; "" if there is one."""
        self.problem.setText(in_a_sentence(problem))
        self.again.setVisible(can_retry)
        self._wrong.setVisible(bool(problem))
        if busy and not self._timer.isActive():
            self._timer.start()
        elif not busy:
            self.rest()
        self.setVisible(bool(problem) or not self._working.isHidden())

    def rest(self) -> None:
        """Looks no more at the progress."""
        self._timer.stop()
        self._working.hide()

    def _tick(self) -> None:
        progress = self._progress()
        self.doing.setText(f"{self._phases.get(progress.phase, capitalized(progress.phase) or _WORKING)}…")
        self.bar.show_progress(progress)
        self._working.show()
        self.show()
        self.ticked.emit()
