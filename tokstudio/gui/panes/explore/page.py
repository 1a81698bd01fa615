"""The base of the pages of the Explore pane: controls, content, and below them a note and the progress of the work."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QProgressBar, QWidget

from tokstudio.core.base.progress import Progress
from tokstudio.core.exploration.exploration import Exploration
from tokstudio.gui.session.measuring.exploring import Inquiry, WrittenTable
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import in_a_sentence, named, paragraph_label
from tokstudio.gui.widgets.layouts import column, row, stacked
from tokstudio.gui.widgets.menus import link_button
from tokstudio.gui.widgets.pane import EmptyState

_TICK = 100  # milliseconds between two looks at the progress
_BAR = 120  # pixels
_WORKING = "Working"


class ExplorePage(QWidget):
    """One page. A subclass puts its controls into `head` and its `content` below them, and asks in `look`.

    It is told when to `look`: when it comes into sight, and after each change of the exploration, its limits or the
    chosen token while it is in sight. It shows answers in `show_answer`.
    """

    titled = ""  # its tab
    tip = ""  # of its tab
    will_show = ""  # a sentence: what will be here
    needs_tokenizer = False
    phases: ClassVar[dict[str, str]] = {}  # words for the phases of its work
    tabled = Signal()  # `table` has changed

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self.session, self.exploring, self.theme = session, session.exploring, theme
        self.asked = Inquiry(session.jobs, self)
        self.asked.changed.connect(self.update_state)
        self.head, self.content = QWidget(), QWidget()
        self.empty = EmptyState(self.will_show)
        self.empty.setMinimumWidth(1)
        self.note = paragraph_label("muted")
        self.problem = paragraph_label("error")
        self.again = link_button("Try Again", self.try_again)
        self.bar = named(QProgressBar(maximum=1000, textVisible=False), f"Progress of {self.titled}")
        self.bar.setFixedWidth(theme.scaled(_BAR))
        self.doing = paragraph_label("muted")
        self.cancel = named(link_button("Cancel", self.cancel_work), f"Cancel {self.titled}")
        self._wrong, self._working = QWidget(), QWidget()
        row((self.problem, 1), self.again, spacing=8, parent=self._wrong)
        row((self.doing, 1), self.bar, self.cancel, spacing=8, parent=self._working)
        self.stack = stacked(self.empty, self.content)
        parts = self.head, self._wrong, (self.stack, 1), self.note, self._working
        column(*parts, spacing=6, parent=self)
        self._wrong.hide()
        self._working.hide()
        self._timer = QTimer(self, interval=_TICK)
        self._timer.timeout.connect(self._tick)

    # ---- for subclasses

    @property
    def table(self) -> WrittenTable | None:
        """What can be written; None for nothing."""
        return None

    def look(self, exploration: Exploration) -> None:
        """Asks for what the page shows of an exploration."""
        raise NotImplementedError

    def show_answer(self) -> None:
        """Shows the answer of `asked`, or that there is none."""
        raise NotImplementedError

    def forget(self) -> None:
        """Forgets the exploration: there is another, or none."""
        self.asked.forget()

    def follow_token(self) -> None:
        """Follows the chosen token."""

    def fill(self) -> None:
        """Shows what the work has found so far."""

    @property
    def busy(self) -> bool:
        """Whether something is still to come."""
        return self.asked.busy

    @property
    def progress(self) -> Progress:
        """The progress of the work."""
        return self.asked.progress

    @property
    def trouble(self) -> str:
        """Why there is no answer; "" if there is one, or one is to come."""
        return self.asked.problem

    def cancel_work(self) -> None:
        """Cancels the work."""
        self.asked.cancel()

    def try_again(self) -> None:
        """Asks again what has no answer."""
        self.asked.again()

    def leave(self) -> None:
        """Ends the work while the page is not seen."""
        self.asked.leave()
        self._timer.stop()

    # ---- for the pane

    def refresh(self) -> None:
        """Shows the exploration, or why there is none."""
        exploration = self.exploring.exploration
        why = self.exploring.problem
        if exploration is not None and self.needs_tokenizer and exploration.tokenizer is None:
            exploration, why = None, "Train a tokenizer, or open one."
        self.head.setVisible(exploration is not None)
        if exploration is None:
            self.forget()
            self.empty.label.setText(f"{self.will_show} {why}")
        else:
            self.look(exploration)
        self.update_state()

    def update_state(self) -> None:
        """Shows the answer, and what goes on."""
        self.show_answer()
        trouble = self.trouble
        self._wrong.setVisible(bool(trouble))
        self.problem.setText(in_a_sentence(trouble))
        if self.busy and not self._timer.isActive():
            self._timer.start()
        elif not self.busy:
            self._timer.stop()
            self._working.hide()
        self.tabled.emit()

    def _tick(self) -> None:
        """Shows progress, of work that takes longer than a moment."""
        progress = self.progress
        doing = self.phases.get(progress.phase, progress.phase.capitalize() or _WORKING)
        self.doing.setText(f"{doing}…")
        self.bar.setMaximum(1000 if progress.total else 0)
        self.bar.setValue(1000 * progress.done // progress.total if progress.total else 0)
        self.fill()
        self._working.setVisible(self.busy)
