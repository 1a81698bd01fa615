"""A dialog that asks how a tokenizer splits text if its files do not say so."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QDialog, QPushButton, QWidget

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.pretokenization.patterns import check_pattern
from tokstudio.gui.panes.configure.pattern_field import PatternField
from tokstudio.gui.panes.configure.pattern_question import PatternQuestion
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import paragraph_label, plain, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, column, row

_WHY = "The file does not say how text is split before merging. Another pattern gives other tokens."
_SIZE = QSize(480, 400)  # room for the preview, which is empty at first
_SHOWN = 2000  # characters of the sample text


class PatternDialog(QDialog):
    """Asks for a named pattern or an expression, and shows how it splits the current text."""

    answered = Signal(object)  # the pattern (str), or None if cancelled; emitted exactly once

    def __init__(
        self, question: PatternQuestion, session: Session, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(question.verb)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        headline = plain_label("headline", f"How does {question.name} split text?")
        headline.setWordWrap(True)
        why = paragraph_label("muted", _WHY)
        self.field = PatternField(session, theme, session.view.text[:_SHOWN])
        self.field.set_value(question.pattern)
        self.field.changed.connect(self._check)
        self.field.problem_changed.connect(self._allow)
        self.cancel = QPushButton("Cancel", autoDefault=False)
        self.cancel.clicked.connect(self.reject)
        self.accept_button = QPushButton(question.verb, default=True)
        self.accept_button.setProperty("primary", True)
        self.accept_button.clicked.connect(self.accept)
        self.finished.connect(self._answer)
        buttons = row(STRETCH, self.cancel, self.accept_button)
        column(headline, why, self.field, STRETCH, buttons, spacing=10, margins=(24, 20, 24, 16), parent=self)
        room = QSize(theme.scaled(_SIZE.width()), theme.scaled(_SIZE.height()))
        self.setMinimumSize(room.boundedTo(self.screen().availableSize() * 0.9))
        self.field.choice.combo.setFocus()
        self._check()

    def _check(self) -> None:
        """Shows the error of the pattern, and lets the field split the text."""
        self._fault = ""
        try:
            check_pattern(self.field.value)
        except ConfigError as error:
            self._fault = str(error)
        self.field.set_error(self._fault or None)
        self.field.renew()
        self._allow()

    def _allow(self) -> None:
        """Enables the button for valid patterns only."""
        problem = self._fault or self.field.problem
        self.accept_button.setEnabled(not problem)
        self.accept_button.setToolTip(plain(problem))

    def _answer(self, result: int) -> None:
        self.answered.emit(self.field.value if result == QDialog.DialogCode.Accepted else None)
