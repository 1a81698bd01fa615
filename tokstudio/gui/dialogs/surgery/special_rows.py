"""The special tokens of a tokenizer as rows that can be edited, and what is wrong with them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.wording import shown
from tokstudio.core.model.alphabet import LARGEST_ID
from tokstudio.core.surgery.specials import check_text
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.dialogs.surgery.works import SpecialRow
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import plain

Place: TypeAlias = tuple[int, int]  # a row and a column
_Index = QModelIndex | QPersistentModelIndex
_NO_INDEX = QModelIndex()
TOKEN, ID, ROLE, KIND = range(4)
_MOST_DIGITS = 18  # of an id
_COLUMNS = ("Token", "Id", "Role", "Kind")
_KINDS = (
    "Programs can leave special tokens out when they decode, and find them only where they are allowed. Others are "
    "found in every text. With lstrip and rstrip a token takes the white space beside it, as a single word it is not "
    "found within words, and normalized means that it is looked for in normalized text."
)


def wrong_cells(tokenizer: Tokenizer, rows: Sequence[SpecialRow]) -> dict[Place, str]:
    """What is wrong with changed and added special tokens, by place."""
    errors: dict[Place, str] = {}
    texts, ids = set[str](), set[int]()
    for at, row in enumerate(rows):
        if row.text in texts:
            errors[at, TOKEN] = f"Two special tokens cannot both be {shown(row.text)}."
        elif row.text != row.before:
            try:
                check_text(tokenizer, row.text)
            except ConfigError as error:
                errors[at, TOKEN] = str(error)
        texts.add(row.text)
        if row.before is None:
            if row.id > LARGEST_ID:
                errors[at, ID] = f"The id of {shown(row.text)} must be from 0 to {LARGEST_ID:,}, not {row.id:,}."
            elif row.id in ids or (row.id < len(tokenizer.tokens) and tokenizer.tokens.in_use(row.id)):
                errors[at, ID] = f"The id {row.id:,} of {shown(row.text)} is not free."
            ids.add(row.id)
    return errors


class SpecialsModel(QAbstractTableModel):
    """One row per special token, by id; texts can be edited, and ids of added ones."""

    def __init__(self, rows: list[SpecialRow], first: int, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows = rows
        self._first, self._theme = first, theme
        self._errors: Mapping[Place, str] = {}

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
            others = tuple(name for name in each.roles if name != role)
            if number == at:
                self.rows[number] = replace(each, role=role, more_roles=())
            elif role in each.roles:
                self.rows[number] = replace(each, role=others[0] if others else "", more_roles=others[1:])
        self.dataChanged.emit(self.index(0, ROLE), self.index(len(self.rows) - 1, ROLE))

    def show_errors(self, errors: Mapping[Place, str]) -> None:
        """Marks the cells that are wrong, each with its sentence."""
        self._errors = errors

    # ---- Qt's own

    def rowCount(self, parent: _Index = _NO_INDEX) -> int:
        """Returns the number of special tokens."""
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: _Index = _NO_INDEX) -> int:
        """Returns the number of columns."""
        return 0 if parent.isValid() else len(_COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Returns the titles."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if section == ID else Qt.AlignmentFlag.AlignLeft
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        return _COLUMNS[section] if role == Qt.ItemDataRole.DisplayRole else None

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
        error = self._errors.get((index.row(), index.column()))
        if role == Qt.ItemDataRole.ForegroundRole and error is not None:
            return QColor(self._theme.palette.error)
        if role == Qt.ItemDataRole.ToolTipRole and error is not None:
            return plain(error)
        if role == Qt.ItemDataRole.ToolTipRole and each.before not in (None, each.text):
            return plain(f"Was {each.before}")
        if role == Qt.ItemDataRole.ToolTipRole and index.column() == KIND:
            return plain(_KINDS)
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return None
        if index.column() == KIND:
            return each.kind
        if index.column() == ID:
            return f"{each.id:,}" if role == Qt.ItemDataRole.DisplayRole else str(each.id)
        return each.text if index.column() == TOKEN else ", ".join(name.removesuffix("_token") for name in each.roles)

    def setData(self, index: _Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Sets a text, or an id of digits."""
        each = self.rows[index.row()]
        if index.column() == TOKEN:
            self.rows[index.row()] = replace(each, text=str(value))
        elif (digits := str(value).strip()).isdecimal() and len(digits) <= _MOST_DIGITS:
            self.rows[index.row()] = replace(each, id=int(digits))
        else:
            return False
        self.dataChanged.emit(index, index)
        return True
