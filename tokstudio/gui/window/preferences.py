"""The preferences dialog: built from `ENTRIES`; changes apply at once."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QCheckBox, QDialog, QDialogButtonBox, QGridLayout, QLabel, QWidget

from tokstudio.gui.session.preferences import AUTOSAVE, AUTOSAVE_SECONDS, ENTRIES, Preference, Preferences
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Choice, ChoiceBox, Number
from tokstudio.gui.widgets.file_dialogs import Choosers
from tokstudio.gui.widgets.labels import paragraph_label
from tokstudio.gui.widgets.layouts import TallBody, column

Control = QCheckBox | ChoiceBox | Number

_QUESTION = "Everything on this page goes back to its default."
_WIDTH = 560


class PreferencesDialog(QDialog):
    """A dialog with all preferences; Escape closes it."""

    def __init__(
        self, preferences: Preferences, theme: Theme, choosers: Choosers, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Preferences")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._preferences, self._theme, self._choosers = preferences, theme, choosers
        self.controls: dict[str, Control] = {}  # by the key of the preference
        page = QWidget()
        grid = QGridLayout(page)
        grid.setContentsMargins(24, 16, 24, 8)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(0, 1)
        group = ""
        for entry in ENTRIES:
            if entry.group != group:
                group = entry.group
                self._add_title(grid, group)
            self._add(grid, entry)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.setContentsMargins(24, 8, 24, 16)
        self.close_button = buttons.button(QDialogButtonBox.StandardButton.Close)
        self.close_button.setAutoDefault(False)
        self.reset_button = buttons.addButton("Reset…", QDialogButtonBox.ButtonRole.ResetRole)
        self.reset_button.setToolTip("Set everything on this page to its default")
        self.reset_button.setAutoDefault(False)
        buttons.rejected.connect(self.reject)
        self.reset_button.clicked.connect(self._reset)
        column(TallBody(page), buttons, parent=self)
        preferences.changed.connect(self._show_values)
        self._show_values()
        room = self.screen().availableSize()
        height = page.sizeHint().height() + buttons.sizeHint().height() + 48
        self.resize(min(theme.scaled(_WIDTH), room.width() - 48), min(height, room.height() - 64))

    # ---- building

    def _add_title(self, grid: QGridLayout, text: str) -> None:
        if grid.count():
            grid.setRowMinimumHeight(grid.rowCount(), 8)
        title = QLabel(text.upper())
        title.setProperty("role", "title")
        grid.addWidget(title, grid.rowCount(), 0, 1, 2)

    def _add(self, grid: QGridLayout, entry: Preference[Any]) -> None:
        control = self._control(entry)
        self.controls[entry.key] = control
        control.setAccessibleName(entry.label)
        control.setAccessibleDescription(entry.help)
        row = grid.rowCount()
        grid.setRowMinimumHeight(row, 4)
        if isinstance(control, QCheckBox):
            grid.addWidget(control, row + 1, 0, 1, 2)
        else:
            label = QLabel(entry.label)
            label.setBuddy(control)
            grid.addWidget(label, row + 1, 0)
            grid.addWidget(control, row + 1, 1, Qt.AlignmentFlag.AlignRight)
        note = paragraph_label("muted")
        note.setText(entry.help)
        grid.addWidget(note, row + 2, 0, 1, 2)

    def _control(self, entry: Preference[Any]) -> Control:
        if isinstance(entry.default, bool):
            check = QCheckBox(entry.label)
            check.toggled.connect(partial(self._preferences.set, entry.key))
            return check
        if isinstance(entry.default, int):
            number = Number(self._theme, entry.most, entry.suffix)
            number.setMinimum(entry.least)
            number.setSpecialValueText(entry.least_name)
            # Otherwise each typed digit would set a value.
            number.setKeyboardTracking(False)
            number.valueChanged.connect(partial(self._preferences.set, entry.key))
            return number
        values = entry.choices if not entry.font else _fonts(entry.font, self._preferences.of(entry))
        box = ChoiceBox([Choice(value, name, "") for value, name in values])
        box.setMinimumContentsLength(16)
        box.currentIndexChanged.connect(partial(self._choose, entry.key, box))
        return box

    # ---- showing

    def _show_values(self) -> None:
        for entry in ENTRIES:
            control, value = self.controls[entry.key], self._preferences.of(entry)
            with QSignalBlocker(control):
                if isinstance(control, QCheckBox):
                    control.setChecked(value)
                elif isinstance(control, Number):
                    control.setValue(value)
                else:
                    control.choose(value)
        self.controls[AUTOSAVE_SECONDS.key].setEnabled(self._preferences.of(AUTOSAVE))

    # ---- input

    def _choose(self, key: str, box: ChoiceBox, index: int) -> None:
        self._preferences.set(key, box.choices[index].value)

    def _reset(self) -> None:
        if self._choosers.confirm("Reset Preferences", _QUESTION, "Reset"):
            for entry in ENTRIES:
                self._preferences.set(entry.key, entry.default)


def _fonts(kind: str, chosen: str) -> Sequence[tuple[str, str]]:
    """The families to choose from, including the chosen one even if the system no longer has it."""
    families = {family for family in QFontDatabase.families() if not QFontDatabase.isPrivateFamily(family)}
    if kind == "fixed":
        families = {family for family in families if QFontDatabase.isFixedPitch(family)}
    names = sorted(families | ({chosen} - {""}), key=str.casefold)
    return [("", "System"), *((name, name) for name in names)]
