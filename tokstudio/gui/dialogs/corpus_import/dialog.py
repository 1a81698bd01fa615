"""The dialog that asks how a data set is read: its text, what divides it, and which documents are kept."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace
from functools import partial

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QListWidget,
    QListWidgetItem,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.wording import printable, several
from tokstudio.core.corpus.open_sources import look_work
from tokstudio.core.corpus.readers.contents import TEXT, Column, Contents, Reading
from tokstudio.core.corpus.readers.kinds import DELIMITERS
from tokstudio.gui.dialogs.corpus_import.question import ImportQuestion, can_be_text, divisors_of, texts_of
from tokstudio.gui.session.common.jobs import Jobs, LatestJob
from tokstudio.gui.state.problems import problem_of
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.spelling import MARKS
from tokstudio.gui.widgets.controls import Choice, ChoiceBox
from tokstudio.gui.widgets.fields import LimitField, form_grid, label_for
from tokstudio.gui.widgets.labels import ElidedLabel, in_a_sentence, plain
from tokstudio.gui.widgets.layouts import STRETCH, column, in_card, row, set_tab_order
from tokstudio.gui.widgets.menus import link_button, push_button
from tokstudio.gui.widgets.pane import Dialog

# --- The filters of the Import step: which documents are kept, and how much of them -----------------------------------

_LEAST, _MOST, _BYTES = 10, 10_000, 10_000_000  # what the fields show before they are switched on
_WIDTH = 132


class Filters(QWidget):
    """Limits of documents and sources, and whether duplicates are dropped."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.least = LimitField("&Fewest characters of a document", "Shorter documents are dropped.", _LEAST, theme)
        self.most = LimitField("M&ost characters of a document", "The rest of longer documents is cut.", _MOST, theme)
        self.bytes = LimitField("Most &bytes of a source", "The rest of a longer source is not read.", _BYTES, theme)
        self.limits = self.least, self.most, self.bytes
        for field in self.limits:
            field.name_it(field.check.text().replace("&", ""))
            field.set_brief(True)
            field.number.setMinimum(1)
        theme.follow(self._widen)
        self.duplicates = QCheckBox("Drop d&uplicates")
        self.duplicates.setToolTip("A document that occurred before in the same data set is dropped.")
        column(self.least, self.most, self.bytes, self.duplicates, spacing=6, parent=self)

    def show_reading(self, reading: Reading) -> None:
        """Shows the filters of a reading."""
        self.least.set_value(reading.least_characters or None)
        self.most.set_value(reading.most_characters)
        self.bytes.set_value(reading.most_bytes)
        self.duplicates.setChecked(reading.deduplicate)

    def added_to(self, reading: Reading) -> Reading:
        """A reading with these filters."""
        return replace(
            reading,
            least_characters=self.least.value or 0,
            most_characters=self.most.value,
            most_bytes=self.bytes.value,
            deduplicate=self.duplicates.isChecked(),
        )

    def _widen(self) -> None:
        """Makes room for numbers of nine digits, after the fields have followed the text size."""
        for field in self.limits:
            field.number.setFixedWidth(self._theme.scaled(_WIDTH))


# --- Parts of the Import dialog: lists of columns and delimiters, and the first texts of a column ---------------------

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
    choices = [contents.delimiter or ",", *DELIMITERS]
    return [
        Choice(one, _DELIMITERS.get(one, printable(one)), "") for one in sorted(set(choices), key=choices[1:].index)
    ]


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
        return QSize(300, _ROWS * self._row_height() + 4)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, _FEWEST_ROWS * self._row_height() + 4)

    def _row_height(self) -> int:
        return self._theme.scaled(24)

    def _fit(self) -> None:
        for number in range(self.count()):
            self.item(number).setSizeHint(QSize(0, self._row_height()))
        self.updateGeometry()


_SIZE = QSize(560, 520)
_MOST_NAMED = 20


class ImportDialog(Dialog):
    """Asks how data sets with the same columns are read, and shows the first texts of the chosen column."""

    answered = Signal(object)  # the Reading, or None if cancelled; emitted exactly once

    def __init__(self, question: ImportQuestion, jobs: Jobs, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(f"{question.verb.replace('&', '')} – {question.looks[0].contents.name}", parent)
        self._question = question
        self._look = question.looks[0]
        self._contents = self._look.contents
        self._reading: Reading | None = None
        self._looks = LatestJob(jobs, self, self._take_contents, self._fail, quiet=True)
        self._build(theme)
        self._connect()
        self._show_contents(question.reading.field, question.reading.split_by)
        self.joins.setChecked(question.reading.join_values)
        self.filters.show_reading(question.reading)
        self.more_button.setChecked(question.reading.filters)
        self._show_more()
        self.text.setFocus()

    def _build(self, theme: Theme) -> None:
        self.headline, self.facts = ElidedLabel("headline"), ElidedLabel("muted")
        self.text, self.divisor, self.delimiter = ImportChoiceBox(()), ImportChoiceBox(()), ImportChoiceBox(())
        self._delimiter_label = label_for("De&limiter", self.delimiter)
        columns = ("&Text", self.text), ("&Divide by", self.divisor)
        grid = form_grid((self._delimiter_label, self.delimiter), *columns)
        self.joins = QCheckBox("&Join the parts with the same value")
        self.joins.setToolTip("The parts of all data sets with the same value are one source, named like the value")
        grid.addWidget(self.joins, 3, 1)
        self.preview = FirstTexts(theme)
        self.more_button = QToolButton(toolButtonStyle=Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.more_button.setText("&More")
        self.more_button.setCheckable(True)
        self.more_button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.more_button.setAccessibleName("More: which documents are kept")
        self.more_button.setToolTip("Keep only some documents, or the beginning of each")
        self.filters = Filters(theme)
        self.note.hide()
        tip = "Read the file as it is, with the names of its columns and its separators"
        self.plain_button = link_button("Read as &Plain Text Instead", self._choose_plain_text, tip)
        self.plain_button.setVisible(can_be_text(self._contents))
        self.cancel = push_button("Cancel", self.reject)
        self.import_button = push_button(self._question.verb, self._choose, is_main=True)
        head = column(self.headline, self.facts, spacing=2)
        buttons = row(self.plain_button, STRETCH, self.cancel, self.import_button, spacing=8)
        parts = (head, grid, (in_card(self.preview), 1), self.more_button, self.filters, self.note, buttons)
        self.fill(theme, _SIZE, *parts)
        set_tab_order(*self._order())

    def _order(self) -> tuple[QWidget, ...]:
        """The controls in the order of the Tab key."""
        filters = self.filters
        limits = [part for field in filters.limits for part in (field.check, field.number)]
        chosen = (self.delimiter, self.text, self.divisor, self.joins, self.preview, self.more_button)
        return (*chosen, *limits, filters.duplicates, self.plain_button, self.cancel, self.import_button)

    def _connect(self) -> None:
        self.text.currentIndexChanged.connect(self._show_column)
        self.divisor.currentIndexChanged.connect(self._show_joining)
        self.delimiter.currentIndexChanged.connect(self._look_again)
        self.more_button.toggled.connect(self._show_more)
        self.finished.connect(self._looks.cancel)
        self.finished.connect(self._answer)

    # ---- the data set

    def _show_contents(self, field: str | None, split_by: str | None) -> None:
        contents = self._contents
        self.headline.setText(in_a_sentence(contents.name))
        self.facts.setText(" · ".join(self._facts()))
        self.facts.setAccessibleName(self.facts.text())
        self.delimiter.show_choices(delimiter_choices(contents), contents.delimiter)
        for part in (self.delimiter, self._delimiter_label):
            part.setVisible(contents.delimiter is not None)
        is_known = any(one.name == field for one in texts_of(contents))
        self.text.show_choices(text_choices(contents), field if is_known else contents.field)
        self._show_divisors(split_by)
        self._show_column()

    def _facts(self) -> list[str]:
        contents, others = self._contents, self._question.looks[1:]
        facts = [contents.kind]
        if contents.rows is not None:
            facts.append(several(contents.rows, "row"))
        if contents.files > 1:
            facts.append(several(contents.files, "file"))
        if others:
            facts.append(f"{several(len(others), 'other file')} with the same columns")
            self.headline.setAccessibleDescription(
                ", ".join(file_name(look.place.path) for look in others[:_MOST_NAMED])
            )
        return facts

    def _show_column(self) -> None:
        field = self.text.value
        shown = next((one for one in texts_of(self._contents) if one.name == field), None)
        self.preview.show_column(shown)
        self._show_divisors(self.divisor.value)
        self.import_button.setEnabled(shown is not None)
        self.import_button.setToolTip("" if shown is not None else "No column holds text.")

    def _show_divisors(self, split_by: str | None) -> None:
        self.divisor.show_choices(divisor_choices(self._contents, self.text.value or ""), split_by)
        self._show_joining()

    def _show_joining(self) -> None:
        self.joins.setVisible(bool(self.divisor.value))

    def _look_again(self) -> None:
        self.import_button.setEnabled(False)
        self.note.hide()
        place, reading = self._look.place, Reading(delimiter=self.delimiter.value, keep_truncated=True)
        self._looks.run(partial(look_work, place.path, None, reading, place.member))

    def _take_contents(self, contents: Contents) -> None:
        self._contents = contents
        self._show_contents(self.text.value, self.divisor.value)

    def _fail(self, error: Exception) -> None:
        self.say(in_a_sentence(problem_of(error).text), "error")
        self.note.show()

    def _show_more(self) -> None:
        shown = self.more_button.isChecked()
        self.more_button.setArrowType(Qt.ArrowType.DownArrow if shown else Qt.ArrowType.RightArrow)
        self.filters.setVisible(shown)

    # ---- the answer

    @property
    def reading(self) -> Reading:
        """What is chosen."""
        before = self._question.reading.delimiter
        is_same = self._contents.delimiter == self._look.contents.delimiter
        delimiter = before if is_same else self._contents.delimiter
        divisor = self.divisor.value or None
        joins = divisor is not None and self.joins.isChecked()
        return self.filters.added_to(
            Reading(field=self.text.value, split_by=divisor, delimiter=delimiter, join_values=joins)
        )

    def _choose(self) -> None:
        self._accept(self.reading)

    def _choose_plain_text(self) -> None:
        self._accept(self.filters.added_to(Reading(as_text=True)))

    def _accept(self, reading: Reading) -> None:
        self._reading = replace(reading, keep_truncated=self._question.reading.keep_truncated)
        self.accept()

    def _answer(self) -> None:
        self.answered.emit(self._reading)
