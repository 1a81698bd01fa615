"""Fields of a form: a label, a control, and a line of help or error below."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QGridLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from tokstudio.core.guide.glossary import meaning
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import DECIMALS, LARGEST, Choice, ChoiceBox, Decimal, LinesEdit, Number, Percent
from tokstudio.gui.widgets.labels import TermLabel, paragraph_label, plain, plain_label, set_word
from tokstudio.gui.widgets.layouts import STRETCH, column, row
from tokstudio.gui.widgets.menus import link_button

_VALUE = Qt.ItemDataRole.UserRole


class Field(QWidget):
    """A label and a control in one row, and a line of help or error below.

    Its `word` is the key of the word of the glossary that explains it, or "".
    The `control` takes the focus, and is marked while its value is invalid.
    """

    changed = Signal()  # the user changed the value

    def __init__(self, help_text: str, control: QWidget) -> None:
        super().__init__()
        self._help = help_text
        self._about = ""
        self._reason: str | None = None
        self._brief = False
        self._control = control
        self.note = paragraph_label("muted")
        self.row = row(spacing=6)
        self.column = column(self.row, self.note, spacing=3, parent=self)
        self.set_error(None)

    @property
    def is_invalid(self) -> bool:
        """Whether an error is shown."""
        return bool(self._control.property("invalid"))

    @property
    def controls(self) -> list[QWidget]:
        """The widgets that take the focus, in their order."""
        return [self._control]

    @property
    def value(self) -> Any:  # noqa: ANN401
        """The value, as settings have it."""
        raise NotImplementedError

    def set_value(self, value: Any) -> None:  # noqa: ANN401
        """Shows a value without emitting `changed`."""
        raise NotImplementedError

    def set_help(self, help_text: str) -> None:
        """Replaces the line of help."""
        self._help = help_text
        if not self.is_invalid:
            self.set_error(None)

    def explain(self, key: str) -> None:
        """Describes it by a word of the glossary: in the tool tip, before the help or the error, and for F1."""
        self._about = meaning(key)
        set_word(self, key)
        self._show_tip()

    def set_brief(self, brief: bool) -> None:
        """Shows the help only in the tool tip; errors are still shown below."""
        self._brief = brief
        self._show_note()

    def set_unavailable(self, reason: str | None) -> None:
        """Disables the control and shows the reason instead of the help; None enables it."""
        self._reason = reason
        self._control.setEnabled(reason is None)
        self.set_error(None)

    def set_error(self, error: str | None) -> None:
        """Shows an error instead of the help; None removes it."""
        note_text = error or self._reason or self._help
        self.note.setText(note_text)
        set_role(self.note, "muted" if error is None else "error")
        self._show_tip()
        self._control.setAccessibleDescription(note_text)
        restyle(self._control, "invalid", error is not None)
        self._show_note()

    def _show_tip(self) -> None:
        self._control.setToolTip(plain("\n".join(filter(None, (self._about, self.note.text())))))

    def _show_note(self) -> None:
        self.note.setHidden(self._brief and not self.is_invalid and self._reason is None)

    def add_label(self, text: str, buddy: QWidget, word: str = "") -> QLabel:
        """Adds a label to the row, with a word of the glossary if one explains it; `&` marks the mnemonic."""
        label = TermLabel(text, word) if word else QLabel(text)
        if word:
            self.explain(word)
        label.setBuddy(buddy)
        buddy.setAccessibleName(text.replace("&", ""))
        self.row.addWidget(label, 1)
        return label


class LimitField(Field):
    """A limit that can be switched off: a check box and a number, which is `first` until it is set."""

    def __init__(
        self, text: str, help_text: str, first: int, theme: Theme, suffix: str = "", *, word: str = ""
    ) -> None:
        self.number = Number(theme, suffix=suffix)
        super().__init__(help_text, self.number)
        self.check = QCheckBox(text)
        self.number.setValue(first)
        # A click on the text of the check box changes it, so the word has a mark of its own.
        self.mark = TermLabel("?", word)
        if not word:
            self.mark.hide()
        self.row.addWidget(self.check)
        self.row.addWidget(self.mark)
        self.row.addStretch(1)
        self.row.addWidget(self.number)
        self.explain(word)
        self.name_it(text)
        self.number.setEnabled(False)
        self.check.toggled.connect(self._toggled)
        self.number.valueChanged.connect(self.changed)

    @property
    def controls(self) -> list[QWidget]:
        return [self.check, self.number]

    @property
    def value(self) -> int | None:
        """The number, or None while the limit is off."""
        return self.number.value() if self.check.isChecked() else None

    def name_it(self, name: str) -> None:
        """Sets the accessible name."""
        self.number.setAccessibleName(name)
        self.check.setAccessibleName(f"Limit by {name.lower()}")
        self.mark.setAccessibleName(f"What is {name.lower()}?")

    def explain(self, key: str) -> None:
        """Sets the same tool tip for the check box."""
        super().explain(key)
        self.check.setToolTip(plain(meaning(key)))

    def set_value(self, value: int | None) -> None:
        """Sets the value without emitting `changed`; a limit that is off keeps its number."""
        with QSignalBlocker(self.check), QSignalBlocker(self.number):
            self.check.setChecked(value is not None)
            self.number.setEnabled(value is not None)
            if value is not None and value != self.number.value():
                self.number.setValue(min(value, LARGEST))

    def _toggled(self, checked: bool) -> None:
        self.number.setEnabled(checked)
        self.changed.emit()


class SpinField(Field):
    """A label and a number that cannot be switched off."""

    def __init__(self, text: str, help_text: str, control: Number | Decimal, *, word: str = "") -> None:
        super().__init__(help_text, control)
        self.add_label(text, control, word)
        self.row.addWidget(control)
        control.valueChanged.connect(self.changed)


class NumberField(SpinField):
    """A whole number; see `SpinField`."""

    def __init__(self, text: str, help_text: str, theme: Theme, *, word: str = "") -> None:
        self.number = Number(theme)
        super().__init__(text, help_text, self.number, word=word)

    @property
    def value(self) -> int:
        return self.number.value()

    def set_value(self, value: int | None) -> None:
        """Sets the number without emitting `changed`; None leaves it."""
        with QSignalBlocker(self.number):
            if value is not None:
                self.number.setValue(min(value, LARGEST))


class ShareField(SpinField):
    """A percentage up to the share `most`; see `SpinField`."""

    def __init__(self, text: str, help_text: str, most: float, theme: Theme, *, word: str = "") -> None:
        self.number = Percent(theme)
        self.number.setMaximum(100 * most)
        self._given = 0.0
        super().__init__(text, help_text, self.number, word=word)

    @property
    def value(self) -> float:
        """The share of 1: the one that was set, which may have more decimals, while its percentage is displayed."""
        return self._given if self.number.shows(self._given) else self.number.share

    def set_value(self, value: float) -> None:
        self._given = value
        with QSignalBlocker(self.number):
            if not self.number.shows(value):
                self.number.setValue(100 * value)


class DecimalField(SpinField):
    """A number with decimals, from 0 to `most`; see `SpinField`."""

    def __init__(self, text: str, help_text: str, most: float, theme: Theme, *, word: str = "") -> None:
        self.number = Decimal(theme, most)
        self._given = 0.0
        super().__init__(text, help_text, self.number, word=word)

    @property
    def value(self) -> float:
        """The number: the one that was set, which may have more decimals, while it is displayed."""
        shown = self.number.value()
        return self._given if round(self._given, DECIMALS) == shown else shown

    def set_value(self, value: float) -> None:
        self._given = value
        with QSignalBlocker(self.number):
            self.number.setValue(value)


class ChoiceField(Field):
    """One of several values; the line below explains the chosen one."""

    def __init__(self, text: str, choices: Sequence[Choice], theme: Theme, *, word: str = "") -> None:
        self.combo = ChoiceBox(choices)
        super().__init__(choices[0].meaning, self.combo)
        self._theme = theme
        label = self.add_label(text, self.combo, word)
        label.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self.row.addWidget(self.combo, 3)
        self.combo.currentIndexChanged.connect(self._chosen)

    @property
    def value(self) -> Any:  # noqa: ANN401
        return self.combo.value

    def set_value(self, value: Any) -> None:  # noqa: ANN401
        self.combo.choose(value)
        self._explain()

    def set_choices(self, choices: Sequence[Choice], value: Any) -> None:  # noqa: ANN401
        """Replaces the choices."""
        self.combo.show_choices(choices, value)
        self._explain()

    def _chosen(self) -> None:
        self._explain()
        self.changed.emit()

    def _explain(self) -> None:
        self.set_help(self.combo.choices[max(0, self.combo.currentIndex())].meaning)


class ListField(Field):
    """A list of texts, one per line; so many `lines` are visible."""

    def __init__(self, text: str, help_text: str, theme: Theme, lines: int, *, word: str = "") -> None:
        self.edit = LinesEdit(lines)
        self._links: tuple[QPushButton, ...] = ()
        super().__init__(help_text, self.edit)
        self._theme = theme
        self.add_label(text, self.edit, word)
        self.count = plain_label("muted")
        self.count.setMinimumWidth(1)
        self.row.addWidget(self.count)
        self.read_as = paragraph_label("muted")
        self.read_as.hide()
        self.column.insertWidget(1, self.edit)
        self.column.insertWidget(2, self.read_as)
        self.edit.textChanged.connect(self.changed)
        theme.follow(self._apply_theme)

    @property
    def controls(self) -> list[QWidget]:
        return [self.edit, *self._links]

    @property
    def value(self) -> tuple[str, ...]:
        return from_lines(self.text())

    def set_value(self, value: tuple[str, ...] | None) -> None:
        """Sets the texts without emitting `changed`; None leaves them, and an unfinished line is not a text yet."""
        if value is not None and self.value != value:
            self.set_text(to_lines(value))

    def text(self) -> str:
        """The text of the field."""
        return self.edit.document().toRawText().replace("\u2029", "\n")

    def set_text(self, text: str) -> None:
        """Sets the text without emitting `changed`."""
        if text != self.text():
            with QSignalBlocker(self.edit):
                self.edit.setPlainText(text)

    def show_read(self, text: str) -> None:
        """Says below the list how it was read; "" shows nothing."""
        self.read_as.setText(text)
        self.read_as.setVisible(bool(text))

    def add_links(self, *buttons: QPushButton) -> None:
        """Adds links below the list that fill it."""
        self._links = buttons
        self.column.insertLayout(2, row(*buttons, STRETCH))

    def _apply_theme(self) -> None:
        self.edit.setFont(self._theme.monospace_font())


class TicksField(Field):
    """A list of entries, each with a check box; `value` has those that are ticked, in the order of the list."""

    def __init__(self, text: str, help_text: str, theme: Theme) -> None:
        self.list = QListWidget()
        super().__init__(help_text, self.list)
        self._theme = theme
        self.add_label(text, self.list)
        self.row.addWidget(link_button("All", lambda: self._tick_all(Qt.CheckState.Checked)))
        self.row.addWidget(link_button("None", lambda: self._tick_all(Qt.CheckState.Unchecked)))
        self.column.insertWidget(1, self.list)
        self.list.itemChanged.connect(self.changed)

    @property
    def value(self) -> tuple[Any, ...]:
        items = (self.list.item(row) for row in range(self.list.count()))
        return tuple(item.data(_VALUE) for item in items if item.checkState() == Qt.CheckState.Checked)

    def set_entries(self, entries: Iterable[tuple[str, Any]], ticked: Collection[Any] = ()) -> None:
        """Replaces the entries, each a text with a value, without emitting `changed`."""
        with QSignalBlocker(self.list):
            self.list.clear()
            for text, value in entries:
                item = QListWidgetItem(text, self.list)
                item.setData(_VALUE, value)
                item.setCheckState(Qt.CheckState.Checked if value in ticked else Qt.CheckState.Unchecked)

    def _tick_all(self, state: Qt.CheckState) -> None:
        with QSignalBlocker(self.list):
            for row in range(self.list.count()):
                self.list.item(row).setCheckState(state)
        self.list.viewport().update()
        self.changed.emit()


class RulesField(ListField):
    """Check boxes for the `named` rules, each with its words, and below them others, one per line."""

    def __init__(self, text: str, help_text: str, named: Mapping[str, str], theme: Theme, *, word: str = "") -> None:
        super().__init__(text, help_text, theme, 2, word=word)
        self.checks = {rule: QCheckBox(words) for rule, words in named.items()}
        self.column.insertLayout(1, column(*self.checks.values(), spacing=4))
        for check in self.checks.values():
            words = check.text()
            check.setToolTip(f"Make no tokens {words[0].lower()}{words[1:]}")
            check.toggled.connect(self.changed)

    @property
    def controls(self) -> list[QWidget]:
        return [*self.checks.values(), self.edit]

    @property
    def value(self) -> tuple[str, ...]:
        """The chosen rules: those with a name first."""
        named = [rule for rule, check in self.checks.items() if check.isChecked()]
        return (*named, *(line for line in self.text().split("\n") if line.strip()))

    def set_value(self, value: tuple[str, ...] | None) -> None:
        """Sets the rules without emitting `changed`; an unfinished line stays."""
        if value is None or self.value == value:
            return
        for rule, check in self.checks.items():
            with QSignalBlocker(check):
                check.setChecked(rule in value)
        others = (rule for rule in value if rule not in self.checks)
        # In an expression, the escape means the same as the character.
        self.set_text("\n".join(rule.replace("\n", r"\n") for rule in others))


def label_for(text: str, control: QWidget) -> QLabel:
    """A label of a control, which gets its text as accessible name; `&` marks the mnemonic."""
    label = QLabel(text)
    label.setBuddy(control)
    control.setAccessibleName(text.replace("&", ""))
    return label


def form_grid(*fields: tuple[str | QLabel, QWidget]) -> QGridLayout:
    """A row for each control, with a label before it, which `label_for` makes of a text."""
    grid = QGridLayout()
    grid.setColumnStretch(1, 1)
    grid.setHorizontalSpacing(12)
    for at, (text, control) in enumerate(fields):
        grid.addWidget(label_for(text, control) if isinstance(text, str) else text, at, 0)
        grid.addWidget(control, at, 1)
    return grid


def say(label: QLabel, text: str, role: str = "muted") -> None:
    """Shows a text in the style of a role."""
    label.setText(text)
    set_role(label, role)


_ESCAPE = re.compile(r"\\[\\ntr]")
_ESCAPED = {"\\\\": "\\", "\\n": "\n", "\\t": "\t", "\\r": "\r"}
_WRITTEN = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def to_lines(entries: Iterable[str]) -> str:
    """Writes one entry per line."""
    return "\n".join(entry.translate(_WRITTEN) for entry in entries)


def from_lines(text: str) -> tuple[str, ...]:
    r"""Reads entries: empty lines are ignored, and unknown escapes keep their backslash."""
    return tuple(_ESCAPE.sub(lambda found: _ESCAPED[found[0]], line) for line in text.split("\n") if line)


def set_role(label: QLabel, role: str) -> None:
    """Gives a label the style of another role."""
    restyle(label, "role", role)


def restyle(widget: QWidget, name: str, value: object) -> None:
    """Sets a property that the style sheet uses."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)
