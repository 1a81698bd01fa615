"""The base of the pages of the Explore pane: controls, content, and below them a note and the progress of the work."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from tokstudio.core.base.progress import Progress
from tokstudio.core.exploration.exploration import Exploration
from tokstudio.gui.session.measuring.exploring import Inquiry, WrittenTable
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import paragraph_label
from tokstudio.gui.widgets.layouts import column, stacked
from tokstudio.gui.widgets.pane import EmptyState
from tokstudio.gui.widgets.work_line import WorkLine


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
        progress, again = (lambda: self.progress), self.try_again
        self.work = WorkLine(self.titled, theme, self.phases, progress, self.cancel_work, again)
        self.problem, self.again, self.cancel = self.work.problem, self.work.again, self.work.cancel
        self.work.ticked.connect(self.fill)
        self.stack = stacked(self.empty, self.content)
        column(self.head, (self.stack, 1), self.note, self.work, spacing=6, parent=self)

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

    def take_keyboard(self) -> None:
        """Takes the focus where there is something to type."""

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
        self.work.rest()

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
        self.note.setVisible(bool(self.note.text()))
        self.work.show_state(self.busy, self.trouble)
        self.tabled.emit()
