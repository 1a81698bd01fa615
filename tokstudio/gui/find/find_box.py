"""The Find field in the tool bar and its list of results. See also `Finder`, which fills it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QFontMetrics, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QLineEdit, QSizePolicy, QWidget

from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.run_tokens import KINDS
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.model import TokenCell, TokenColumn, TokenTable
from tokstudio.gui.token_table.view import FollowTable
from tokstudio.gui.token_text.spelling import figure, marked
from tokstudio.gui.widgets.labels import ElidedLabel
from tokstudio.gui.widgets.layouts import column

# --- The results of Find as rows, in the order of `search.py` ---------------------------------------------------------

_TOKEN, _ORIGIN, _ID = range(3)
_NOT_YET, _REMOVED = "not yet", "removed"


class FoundModel(TokenTable):
    """A token in each row, with its merge; tokens that are not there at the playhead are dimmed, and say so."""

    columns = (
        TokenColumn("Token", "token", "The token as text, or as bytes if it is not text", 5, 8),
        TokenColumn("Made by", "words", "The merge that made it, or its kind", muted=True),
        TokenColumn("Id", "number", "Number of the token in the tokenizer's output"),
    )

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.playhead = 0
        self._slots: list[int] = []

    def set_run(self, run: StudioRun | None) -> None:
        """Sets the run and clears the list."""
        with self.reset():
            self.hold(run)
            self._slots = []

    def set_slots(self, slots: Sequence[int]) -> None:
        """Lists tokens."""
        with self.reset():
            self._slots = list(slots)

    def set_playhead(self, merges: int) -> None:
        """Sets which tokens exist."""
        if merges != self.playhead:
            self.playhead = merges
            self.tell()

    def merge_of(self, slot: int) -> int:
        """The number of the merge that makes a token; 0 for one without a merge."""
        return max(slot - self.tokens.first + 1, 0) if self.tokens is not None else 0

    def slot_at(self, row: int) -> int:
        return self._slots[row]

    def slots_between(self, top: int, bottom: int) -> list[int]:
        return self._slots[top : bottom + 1]

    def row_of(self, slot: int) -> int:
        return self._slots.index(slot) if slot in self._slots else -1

    def cell(self, row: int, column: int) -> TokenCell:
        slot = self._slots[row]
        assert self.tokens is not None
        absent = self._absence(slot)
        if column == _TOKEN:
            token = self.shown(slot)
            return TokenCell(marked(token), (token,), bool(absent), special=self.tokens.kind_of(slot) == "special")
        if column == _ID:
            return TokenCell(f"id {self.tokens.id_of(slot):,}", dimmed=bool(absent))
        number = self.merge_of(slot)
        words = f"merge {number:,}{absent and f', {absent}'}" if number else self.tokens.kind_of(slot)
        return TokenCell(words, dimmed=bool(absent))

    def _absence(self, slot: int) -> str:
        """Why a token is not there at the playhead; "" if it is."""
        number = self.merge_of(slot)
        if number > self.playhead:
            return _NOT_YET
        return (
            _REMOVED if number and self.run is not None and self.run.removals.is_absent(number, self.playhead) else ""
        )

    def copied_slot(self, slot: int) -> str:
        assert self.tokens is not None
        origin = str(self.merge_of(slot) or self.tokens.kind_of(slot))
        return "\t".join((self.copied_token(slot), origin, str(self.tokens.id_of(slot))))

    def widest(self, column: int) -> str:
        number = figure(max(len(self.tokens), 1000)) if self.tokens is not None else "0,000"
        if column == _ID:
            top = int(self.tokens.ids.max(initial=0)) if self.tokens is not None and not self.tokens.ids_ascend else 0
            return f"id {max(number, figure(top), key=len)}"
        return max(f"merge {number}, {_NOT_YET}", *KINDS, key=len)

    def count(self) -> int:
        return len(self._slots)


_HINT = (
    "Text, an id (567, #567) or bytes (C3, 61 62, 0x61); ␠, \\n and \\t are a space, a newline and a tab. "
    "Enter shows the token, F3 finds it in the text."
)
_ROWS = 12
_WIDTH = 380
_LEAST, _USUAL = 110, 260
_STEPS = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: 1 - _ROWS, Qt.Key.Key_PageDown: _ROWS - 1}


class FindBox(QLineEdit):
    """Finds while typing: Up and Down choose, Enter shows, Escape closes and returns the focus."""

    asked = Signal(str)  # the text to find, also when the list is to be shown again
    entered = Signal()  # Enter was pressed without a list, or with a list for an earlier text
    chosen = Signal(int)  # the chosen row of the list
    dismissed = Signal()  # Escape was pressed without a list
    left = Signal()  # the field lost the focus

    def __init__(self, theme: Theme, model: FoundModel) -> None:
        super().__init__()
        self._theme, self._model = theme, model
        self._before: QWidget | None = None
        self.setPlaceholderText("Find a token")
        self.setClearButtonEnabled(True)
        self.addAction(icon("find", theme, "muted"), QLineEdit.ActionPosition.LeadingPosition)
        self.setAccessibleName("Find a token")
        self.setAccessibleDescription(_HINT)
        self.setToolTip(f"{_HINT} (Ctrl+F)")
        self.setMaxLength(256)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        # Within the field: which occurrence in the text is shown.
        self.occurrence = QLabel(self, textFormat=Qt.TextFormat.PlainText)
        self.occurrence.setProperty("role", "muted")
        self.occurrence.hide()
        self.list = FollowTable(model, theme, "Found tokens")
        self.list.horizontalHeader().hide()
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.clicked.connect(self._click)
        self.note = ElidedLabel()
        self.note.setProperty("role", "muted")
        self.popup = QFrame(self)
        self.popup.setProperty("card", True)
        self.popup.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        column(self.list, self.note, margins=(6, 6, 6, 6), parent=self.popup)
        self.popup.hide()
        self.is_stale = False  # whether the list is for an earlier text
        self.textEdited.connect(self._ask)
        self.textChanged.connect(self._text_changed)

    # ---- for the finder

    def show_found(self, note: str, *, final: bool = True) -> None:
        """Shows the list of the model with its first row selected, and a note below it.

        `final`: the results for the typed text are complete.
        """
        rows = self._model.rowCount()
        self.is_stale = not final
        self.list.setVisible(rows > 0)
        self.note.setText(note)
        self.note.setVisible(bool(note))
        if rows:
            self.list.show_row(0)
            self.list.verticalScrollBar().setValue(0)
        self._tell()
        self._open()

    def close_list(self) -> None:
        """Hides the list."""
        self.popup.hide()

    def show_occurrence(self, words: str) -> None:
        """Shows within the field which occurrence in the text is selected; "" for none."""
        self.occurrence.setText(words)
        self.occurrence.setVisible(bool(words))
        self._put_occurrence()

    def take_keyboard(self) -> None:
        """Takes the focus, and remembers the widget that had it."""
        focus = QApplication.focusWidget()
        if focus is not self:
            self._before = focus
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.selectAll()

    def sizeHint(self) -> QSize:
        return QSize(self._theme.scaled(_USUAL), super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(self._theme.scaled(_LEAST), super().minimumSizeHint().height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Moves in the list, chooses, or leaves; other keys edit the text."""
        key = event.key()
        if key == Qt.Key.Key_Escape:
            self._leave()
        elif key in _STEPS:
            if self.popup.isVisible():
                self._step(Qt.Key(key))
            else:
                self.asked.emit(self.text())
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if self.popup.isVisible() and self.list.current_row >= 0 and not self.is_stale:
                self._choose(self.list.current_row)
            else:
                self.entered.emit()
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self.close_list()
            self.left.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._put_occurrence()
        if self.popup.isVisible():
            self._open()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Moves the list when the window is resized."""
        if event.type() == QEvent.Type.Resize and self.popup.isVisible():
            self._open()
        return super().eventFilter(watched, event)

    def _open(self) -> None:
        """Shows the list below the field, with its right edge within the window."""
        window = self.window()
        if self.popup.parent() is not window:
            self.popup.setParent(window)
            window.installEventFilter(self)
        corner = self.mapTo(window, QPoint(self.width(), self.height() + 4))
        width = min(max(self._theme.scaled(_WIDTH), self.width()), corner.x() - 4)
        rows = min(self._model.rowCount(), _ROWS)
        line = self.list.verticalHeader().defaultSectionSize()
        self.list.setFixedHeight(rows * line + 2)
        note = QFontMetrics(self.note.font()).height() + 8 if self.note.text() else 0
        height = 14 + (rows * line + 2 if rows else 0) + note
        height = min(height, window.height() - corner.y() - 8)
        self.popup.setGeometry(corner.x() - width, corner.y(), width, max(height, note + 14))
        self.popup.show()
        self.popup.raise_()
        self.list.refit()

    def _ask(self, text: str) -> None:
        self.is_stale = True
        self.asked.emit(text)

    def _step(self, key: Qt.Key) -> None:
        rows = self._model.rowCount()
        if rows:
            self.list.show_row(min(max(self.list.current_row + _STEPS[key], 0), rows - 1))
            self._tell()

    def _tell(self) -> None:
        """Announces the selected row to a screen reader."""
        row = self.list.current_row
        cells = [self._model.cell(row, place).text for place in range(3)] if row >= 0 else [self.note.text()]
        self.setAccessibleDescription(", ".join(filter(None, (*cells, _HINT))))

    def _click(self, index: QModelIndex) -> None:
        self._choose(index.row())

    def _choose(self, row: int) -> None:
        self.close_list()
        self.chosen.emit(row)

    def _leave(self) -> None:
        if self.popup.isVisible():
            self.close_list()
        else:
            self.dismissed.emit()
        before, self._before = self._before, None
        if before is not None and before.isVisible() and before.isEnabled():
            before.setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            self.clearFocus()

    def _text_changed(self, text: str) -> None:
        # For Qt, the clear button is not an edit.
        if not text:
            self.close_list()
            self.dismissed.emit()

    def _put_occurrence(self) -> None:
        self.occurrence.adjustSize()
        room = 30 if self.text() else 8
        size = self.occurrence.size()
        self.occurrence.move(self.width() - size.width() - room, (self.height() - size.height()) // 2)
        self.setTextMargins(0, 0, size.width() + 4 if self.occurrence.text() else 0, 0)
