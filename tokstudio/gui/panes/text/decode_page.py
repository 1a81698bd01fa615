"""The page Decode of the Text pane: decodes ids, and names those that do not exist."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtGui import QAction, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy

from tokstudio.core.base.progress import Work
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.text.encoding_job import DecodedIds, decode_work
from tokstudio.gui.panes.text.page import TextPage
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.blocks import EncodedText
from tokstudio.gui.widgets.figures import FigureName
from tokstudio.gui.widgets.labels import paragraph_label

_FIGURES = (
    FigureName("tokens", "Ids that are in the vocabulary", "token"),
    FigureName("bytes", "Bytes of these tokens", "byte"),
    FigureName("characters", "Unicode characters of the decoded text", "character"),
    FigureName("bytes/token", "Bytes per token", "bytes-per-token"),
)
_PLACEHOLDER = "Type or paste ids to see their text: 72 101 108, or [72, 101, 108]."
_SHOWN = 20_000
_OUTPUT_HEIGHT = 64


class DecodePage(TextPage):
    """Decodes ids to pieces and to plain text that can be selected and copied."""

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        self._decoded: DecodedIds | None = None
        super().__init__(session, theme, actions, _FIGURES, _PLACEHOLDER)
        self.input.setAccessibleName("Ids")
        self.problem = paragraph_label("error")
        self.problem.hide()
        self.column.insertWidget(1, self.problem)
        self.output = QPlainTextEdit(readOnly=True, tabChangesFocus=True, placeholderText="The text appears here.")
        self.output.setAccessibleName("Decoded text")
        self.output.setMinimumHeight(30)
        self.output.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self.column.insertWidget(2, self.output)
        theme.changed.connect(self._fit_output)
        self._fit_output()
        actions["show_ids"].toggled.connect(self.view.set_show_ids)
        self.view.set_show_ids(actions["show_ids"].isChecked())
        self.view.selectionChanged.connect(self.look_at_selected)
        self.input.edited.connect(self.refresh)
        self.display_nothing("")

    def make(self, tokenizer: Tokenizer, text: str) -> Work[tuple[DecodedIds, EncodedText]]:
        """Decodes the entered ids."""
        made = yield from decode_work(tokenizer, text, byte_level=self.byte_level)
        return made, EncodedText(*made.drawn, made.ids, made.special)

    def display(self, result: object, table: EncodedText) -> None:
        """Shows the text of the existing ids, and names the others."""
        assert isinstance(result, DecodedIds)
        self._decoded = result
        self.view.show_table(table)
        self._set_output(result.text)
        self._set_problem(result.problem)
        self.set_state("", "")
        count, size = len(result.ids), len(result.data)
        ratio = f"{size / count:,.2f}" if count else "–"
        self.figures.set_values((f"{count:,}", f"{size:,}", f"{len(result.text):,}", ratio))

    def display_nothing(self, text: str) -> None:
        """Shows no text."""
        self._decoded = None
        self.view.clear()
        self._set_output("")
        missing = bool(text) and self.session.runs.active is None
        self._set_problem("Train or open a tokenizer to decode these ids." if missing else "")
        self.view.set_placeholder("")
        self.figures.set_values(("0", "0", "0", "–"))

    def token_at(self, index: int) -> int:
        """Returns the id of the token with this number."""
        assert self._decoded is not None
        return int(self._decoded.ids[index])

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keeps the message about a problem readable."""
        super().resizeEvent(event)
        self._fit_problem()

    def copy_ids(self) -> None:
        """Copies the ids of the selected tokens, or of all."""
        if self._decoded is not None:
            self.view.copy_ids()

    def copy(self) -> None:
        """Copies the text of the selected tokens, or all of it without a selection."""
        if self.view.selection() is not None:
            self.view.copy()
        elif self._decoded is not None:
            QGuiApplication.clipboard().setText(self._decoded.text)

    def _fit_output(self) -> None:
        self.output.setMaximumHeight(self._theme.scaled(_OUTPUT_HEIGHT))

    def _set_output(self, text: str) -> None:
        # The pieces below show all of it; a field with megabytes would block the window.
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        if shown != self.output.toPlainText():
            self.output.setPlainText(shown)

    def _set_problem(self, text: str) -> None:
        self.problem.setText(text)
        self.problem.setVisible(bool(text))
        self._fit_problem()

    def _fit_problem(self) -> None:
        # A splitter ignores the height of a wrapped text.
        self.problem.setMinimumHeight(max(self.problem.heightForWidth(self.width()), 0))
