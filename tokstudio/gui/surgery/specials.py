"""The dialog of special tokens: rename them, add some, give them roles."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QComboBox, QHBoxLayout, QHeaderView, QLabel, QPushButton, QWidget

from tokstudio.core.base.progress import Work
from tokstudio.core.model.roles import ROLES
from tokstudio.core.tokenizer.changeable import check_changeable
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.surgery.parts import SurgeryDialog
from tokstudio.gui.surgery.works import Effect, SpecialRow, specials_work
from tokstudio.gui.widgets.layouts import STRETCH, row
from tokstudio.gui.widgets.tables import ReadOnlyTable

_Index = QModelIndex | QPersistentModelIndex
_NO_INDEX = QModelIndex()
TOKEN, ID, ROLE = range(3)
_COLUMNS = ("Token", "Id", "Role")
_ABOUT = (
    "Edit a token to rename it, for example a reserved one. All ids stay; those of added tokens follow the highest."
)
_NO_ROLE = "No role"


class SpecialsModel(QAbstractTableModel):
    """One row per special token, by id; texts can be edited, and ids of added ones."""

    def __init__(self, rows: list[SpecialRow], first: int, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows = rows
        self._first = first

    def add(self) -> int:
        """Adds a token after the others; returns its row."""
        at = len(self.rows)
        taken, number = {row.text for row in self.rows}, 0
        while f"<|new_{number}|>" in taken:
            number += 1
        self.beginInsertRows(_NO_INDEX, at, at)
        after = max([self._first - 1, *(row.id for row in self.rows)]) + 1
        self.rows.append(SpecialRow(f"<|new_{number}|>", after, None))
        self.endInsertRows()
        return at

    def remove(self, at: int) -> None:
        """Removes a token that was added."""
        self.beginRemoveRows(_NO_INDEX, at, at)
        del self.rows[at]
        self.endRemoveRows()

    def set_role(self, at: int, role: str) -> None:
        """Gives a token a role, which no other has then; "" for none."""
        for number, each in enumerate(self.rows):
            if number == at or (role and each.role == role):
                self.rows[number] = replace(each, role=role if number == at else "")
        self.dataChanged.emit(self.index(0, ROLE), self.index(len(self.rows) - 1, ROLE))

    # ---- Qt's own

    def rowCount(self, parent: _Index = _NO_INDEX) -> int:
        """Returns the number of special tokens."""
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: _Index = _NO_INDEX) -> int:
        """Returns the number of columns."""
        return 0 if parent.isValid() else len(_COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Returns the titles."""
        shown = orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole
        return _COLUMNS[section] if shown else None

    def flags(self, index: _Index) -> Qt.ItemFlag:
        """Makes texts editable, and the ids of added tokens."""
        flags = super().flags(index)
        edited = index.column() == TOKEN or (index.column() == ID and self.rows[index.row()].before is None)
        return flags | Qt.ItemFlag.ItemIsEditable if index.isValid() and edited else flags

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Returns the texts of the cells."""
        if not index.isValid():
            return None
        each = self.rows[index.row()]
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() == ID:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        if role == Qt.ItemDataRole.ToolTipRole and each.before not in (None, each.text):
            return f"Was {each.before}"
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return None
        if index.column() == ID:
            return f"{each.id:,}" if role == Qt.ItemDataRole.DisplayRole else str(each.id)
        return each.text if index.column() == TOKEN else each.role.removesuffix("_token")

    def setData(self, index: _Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Sets a text, or an id of digits."""
        each = self.rows[index.row()]
        if index.column() == TOKEN:
            self.rows[index.row()] = replace(each, text=str(value))
        elif str(value).strip().isdecimal():
            self.rows[index.row()] = replace(each, id=int(str(value)))
        else:
            return False
        self.dataChanged.emit(index, index)
        return True


class SpecialsDialog(SurgeryDialog):
    """Changes special tokens.

    Signals:
        made: The tokenizer with them, a `Changed`.
    """

    made = Signal(object)

    def __init__(self, session: Session, run: StudioRun, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, f"Special Tokens of {run.name}", "&Make", parent)
        self._tokenizer, self._name = run.tokenizer, run.name
        roles = {token: role for role, token in self._tokenizer.roles.items()}
        by_id = sorted(self._tokenizer.special_tokens.items(), key=lambda each: each[1])
        rows = [SpecialRow(token, number, token, roles.get(token, "")) for token, number in by_id]
        self.model = SpecialsModel(rows, len(self._tokenizer.tokens), self)
        self._make_table(theme)
        below = QWidget()
        below.setLayout(self._below())
        for signal in (self.model.dataChanged, self.model.rowsInserted, self.model.rowsRemoved):
            signal.connect(self._refresh)
        self.table.selectionModel().currentRowChanged.connect(self._show_role)
        self.build(f"{run.name}. {_ABOUT}", (self.table, below))
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
        self.table.setColumnWidth(ROLE, theme.scaled(64))
        self.table.setMinimumHeight(theme.scaled(220))

    def _below(self) -> QHBoxLayout:
        self.add_button = QPushButton("&Add", autoDefault=False)
        self.add_button.setToolTip("Add a special token with the next id")
        self.remove_button = QPushButton("&Remove", autoDefault=False)
        self.remove_button.setToolTip("Remove the selected token, if it was added here")
        self.role = QComboBox()
        self.role.addItem(_NO_ROLE, "")
        for name in ROLES:
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
        return partial(specials_work, self._tokenizer, self._name, tuple(self.model.rows))

    def apply(self, effect: Effect) -> None:
        """Hands over the tokenizer."""
        self.made.emit(effect.made)
        self.accept()
