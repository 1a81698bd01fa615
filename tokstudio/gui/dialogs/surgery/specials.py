"""The dialog of special tokens: rename them, add some, give them roles."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QSignalBlocker, QSize, Signal
from PySide6.QtWidgets import QAbstractItemView, QComboBox, QHBoxLayout, QHeaderView, QLabel, QPushButton, QWidget

from tokstudio.core.base.progress import Work
from tokstudio.core.model.file_settings import ROLES
from tokstudio.core.tokenizer.library_tokenizer import check_changeable
from tokstudio.gui.dialogs.surgery.parts import FieldError, NothingYet, SurgeryDialog
from tokstudio.gui.dialogs.surgery.special_rows import ID, KIND, ROLE, TOKEN, SpecialsModel, wrong_cells
from tokstudio.gui.dialogs.surgery.works import (
    ChangedTokenizer,
    Effect,
    changed_specials_work,
    settings_text,
    special_rows,
    specials_work,
)
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import paragraph_label
from tokstudio.gui.widgets.layouts import STRETCH, row
from tokstudio.gui.widgets.tables import ReadOnlyTable

_ABOUT = (
    "Edit a token to rename it, for example a reserved one. All ids stay; those of added tokens follow the highest."
)
_NO_ROLE = "No role"


class SpecialsDialog(SurgeryDialog):
    """Changes special tokens.

    Signals:
        made: The tokenizer with them, a `ChangedTokenizer`.
    """

    made = Signal(object)
    room = QSize(1000, 640)
    shares = 6, 5

    def __init__(self, session: Session, run: StudioRun, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, "Special Tokens", "&Change Special Tokens", parent)
        self._tokenizer, self._name = run.tokenizer, run.name
        rows = special_rows(self._tokenizer)
        self._before = tuple(rows)
        self.model = SpecialsModel(rows, len(self._tokenizer.tokens), theme, self)
        self._make_table(theme)
        below = QWidget()
        below.setLayout(self._below())
        for signal in (self.model.dataChanged, self.model.rowsInserted, self.model.rowsRemoved):
            signal.connect(self._refresh)
        self.table.selectionModel().currentRowChanged.connect(self._show_role)
        self.problem = paragraph_label("error")
        self.files = paragraph_label("muted", settings_text(self._tokenizer.settings))
        self.files.setVisible(bool(self.files.text()))
        self.build(run.name, len(self._tokenizer), _ABOUT, (self.table, self.problem, below, self.files), self.table)
        self.table.setFocus()
        if rows:
            self.table.setCurrentIndex(self.model.index(0, 0))
        self._show_role()

    def _make_table(self, theme: Theme) -> None:
        self.table = ReadOnlyTable("Special tokens")
        self.table.setModel(self.model)
        trigger = QAbstractItemView.EditTrigger
        self.table.setEditTriggers(trigger.DoubleClicked | trigger.EditKeyPressed | trigger.AnyKeyPressed)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.verticalHeader().setDefaultSectionSize(theme.scaled(28))
        self.table.horizontalHeader().setHighlightSections(False)
        self.table.horizontalHeader().setSectionResizeMode(TOKEN, QHeaderView.ResizeMode.Stretch)
        self.table.setColumnWidth(ID, theme.scaled(72))
        self.table.setColumnWidth(ROLE, theme.scaled(104))
        self.table.setColumnWidth(KIND, theme.scaled(150))
        self.table.setMinimumHeight(theme.scaled(220))

    def _below(self) -> QHBoxLayout:
        self.add_button = QPushButton("&Add", autoDefault=False)
        self.add_button.setToolTip("Add a special token with the next id")
        self.remove_button = QPushButton("&Remove", autoDefault=False)
        self.remove_button.setToolTip("Remove the selected token, if it was added here")
        self.role = QComboBox()
        self.role.addItem(_NO_ROLE, "")
        for name in dict.fromkeys([*ROLES, *self._tokenizer.roles]):
            self.role.addItem(name.removesuffix("_token"), name)
        self.role.setToolTip("What other programs use the selected token for")
        label = QLabel("R&ole")
        label.setBuddy(self.role)
        self.role.setAccessibleName("Role")
        self.add_button.clicked.connect(self._add)
        self.remove_button.clicked.connect(self._remove)
        self.role.activated.connect(self._set_role)
        return row(self.add_button, self.remove_button, STRETCH, label, self.role, spacing=8)

    # ---- user actions

    def _add(self) -> None:
        index = self.model.index(self.model.add(), TOKEN)
        self.table.setCurrentIndex(index)
        self.table.edit(index)

    def _remove(self) -> None:
        self.model.remove(self.table.currentIndex().row())
        self.table.setFocus()

    def _set_role(self) -> None:
        if self.table.currentIndex().isValid():
            self.model.set_role(self.table.currentIndex().row(), self.role.currentData())

    def _refresh(self) -> None:
        self._show_role()
        self.ask()

    def _show_role(self) -> None:
        at = self.table.currentIndex().row()
        current = self.model.rows[at] if 0 <= at < len(self.model.rows) else None
        # A role that its files gave a token can go to another token, but not away.
        fixed = current is not None and current.before is not None and current.before in self._tokenizer.roles.values()
        self.role.setEnabled(current is not None and not fixed)
        self.remove_button.setEnabled(current is not None and current.before is None)
        with QSignalBlocker(self.role):
            self.role.setCurrentIndex(self.role.findData(current.role if current is not None else ""))

    # ---- the change

    def effect_work(self) -> Callable[[], Work[Effect]]:
        """Makes the tokenizer with these special tokens."""
        check_changeable(self._tokenizer, whole_words=True)
        rows = tuple(self.model.rows)
        errors = wrong_cells(self._tokenizer, rows)
        self.model.show_errors(errors)
        self.problem.setText(next(iter(errors.values()), ""))
        self.problem.setVisible(bool(errors))
        if errors:
            raise FieldError(self.problem.text())
        if rows == self._before:
            raise NothingYet("Nothing is changed yet: rename a special token, add one, or give one a role.")
        return partial(specials_work, self._tokenizer, rows)

    def result_work(self) -> Callable[[], Work[ChangedTokenizer]]:
        """Makes the tokenizer, with its name."""
        return partial(changed_specials_work, self._tokenizer, self._name, tuple(self.model.rows))

    def apply(self, result: object) -> None:
        """Hands over the tokenizer."""
        self.made.emit(result)
        self.accept()
