"""Parts of the Import dialog: lists of columns and delimiters, and the first texts of a column."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, QSize, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QListWidget, QListWidgetItem, QSizePolicy

from tokstudio.core.base.wording import printable, several
from tokstudio.core.corpus.readers.contents import TEXT, Column, Contents
from tokstudio.core.corpus.readers.kinds import DELIMITERS
from tokstudio.gui.dialogs.corpus_import.question import divisors_of, texts_of
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.spelling import MARKS
from tokstudio.gui.widgets.controls import Choice, ChoiceBox
from tokstudio.gui.widgets.labels import plain

_ROWS, _FEWEST_ROWS = 10, 3
_VALUES_NAMED = 4
_DELIMITERS = {",": "Comma", ";": "Semicolon", "\t": "Tab", "|": "Bar"}
# Control characters and line ends are drawn as signs.
_ON_ONE_LINE = (
    {code: 0x2400 + code for code in range(0x20)} | {ord(one): MARKS[one] for one in "\n\r\t"} | {0x7F: 0x2421}
)
_UNDIVIDED = Choice("", "None", "One source with all rows.")


def text_choices(contents: Contents) -> list[Choice]:
    """The columns that can be the text, each with the length of its texts."""
    return [Choice(one.name, printable(one.name), _length(one)) for one in texts_of(contents)]


def divisor_choices(contents: Contents, field: str) -> list[Choice]:
    """The columns that can divide the rows, each with its first values, and none."""
    columns = [one for one in divisors_of(contents) if one.name != field]
    return [_UNDIVIDED, *(Choice(one.name, printable(one.name), _values(one)) for one in columns)]


def delimiter_choices(contents: Contents) -> list[Choice]:
    """The usual delimiters, and the one that is used now."""
    known = [contents.delimiter or ",", *DELIMITERS]
    return [Choice(one, _DELIMITERS.get(one, printable(one)), "") for one in sorted(set(known), key=known[1:].index)]


def _length(column: Column) -> str:
    length = round(column.length)
    return f"about {several(length, 'character')} in each" if column.values else "no text in the first rows"


def _values(column: Column) -> str:
    if column.kind != TEXT:
        return column.kind
    values = list(dict.fromkeys(printable(value[:20]) for value in column.values))
    return ", ".join(values[:_VALUES_NAMED]) + (", …" if len(values) > _VALUES_NAMED else "")


class ImportChoiceBox(ChoiceBox):
    """A list of choices in a dialog, whose default button Enter presses."""

    def show_choices(self, choices: Sequence[Choice], value: str | None) -> None:
        """Replaces the choices and chooses one, the first where it is not there; emits nothing."""
        values = [choice.value for choice in choices]
        with QSignalBlocker(self):
            self.set_choices(choices)
            self.setCurrentIndex(values.index(value) if value in values else 0)

    @property
    def value(self) -> str | None:
        """The chosen value; None where there are no choices."""
        return self.choices[self.currentIndex()].value if self.currentIndex() >= 0 else None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Leaves Enter to the dialog."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            event.ignore()
        else:
            super().keyPressEvent(event)


class FirstTexts(QListWidget):
    """The first texts of a column, each on one line."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setUniformItemSizes(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        theme.changed.connect(self._fit)

    def show_column(self, column: Column | None) -> None:
        """Shows the texts of another column."""
        self.clear()
        for text in () if column is None else column.values:
            item = QListWidgetItem(text.translate(_ON_ONE_LINE))
            item.setToolTip(plain(text))
            self.addItem(item)
        self.setAccessibleName(f"First texts of the column {printable(column.name)}" if column else "First texts")
        self._fit()

    def sizeHint(self) -> QSize:
        """Makes room for ten texts."""
        return QSize(300, _ROWS * self._row_height() + 4)

    def minimumSizeHint(self) -> QSize:
        """Makes room for three."""
        return QSize(120, _FEWEST_ROWS * self._row_height() + 4)

    def _row_height(self) -> int:
        return self._theme.scaled(24)

    def _fit(self) -> None:
        for row in range(self.count()):
            self.item(row).setSizeHint(QSize(0, self._row_height()))
        self.updateGeometry()
