"""The dialog Special Tokens and its rows: texts, ids and roles that can be changed."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from PySide6.QtCore import QObject, QSignalBlocker, QSize, Qt
from PySide6.QtWidgets import QAbstractItemView, QComboBox, QHeaderView, QWidget

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import shown
from tokstudio.core.model.alphabet import LARGEST_ID
from tokstudio.core.model.file_settings import ROLES
from tokstudio.core.surgery.specials import check_text
from tokstudio.core.tokenizer.library_tokenizer import check_changeable
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.dialogs.surgery import works
from tokstudio.gui.dialogs.surgery.parts import FieldError, NothingYet, SurgeryDialog
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.fields import label_for
from tokstudio.gui.widgets.figures import NO_INDEX, Index, ReadOnlyTable, TableModel
from tokstudio.gui.widgets.labels import paragraph_label
from tokstudio.gui.widgets.layouts import STRETCH, row
from tokstudio.gui.widgets.menus import push_button

# --- The special tokens of a tokenizer as rows that can be edited, and what is wrong with them ------------------------


Place: TypeAlias = tuple[int, int]  # a row and a column
TOKEN, ID, ROLE, KIND = range(4)
_MOST_DIGITS = 18  # of an id
_KINDS = (
    "Programs can leave special tokens out when they decode, and find them only where they are allowed. Others are "
    "found in every text. With lstrip and rstrip a token takes the white space beside it, as a single word it is not "
    "found within words, and normalized means that it is looked for in normalized text."
)


def wrong_cells(tokenizer: Tokenizer, rows: Sequence[works.SpecialRow]) -> dict[Place, str]:
    """What is wrong with changed and added special tokens, by place."""
    errors: dict[Place, str] = {}
    texts, ids = set[str](), set[int]()
    for at, each in enumerate(rows):
        if each.text in texts:
            errors[at, TOKEN] = f"Two special tokens cannot both be {shown(each.text)}."
        elif each.text != each.before:
            try:
                check_text(tokenizer, each.text)
            except ConfigError as error:
                errors[at, TOKEN] = str(error)
        texts.add(each.text)
        if each.before is None:
            if each.id > LARGEST_ID:
                errors[at, ID] = f"The id of {shown(each.text)} must be from 0 to {LARGEST_ID:,}, not {each.id:,}."
            elif each.id in ids or (each.id < len(tokenizer.tokens) and tokenizer.tokens.in_use(each.id)):
                errors[at, ID] = f"The id {each.id:,} of {shown(each.text)} is not free."
            ids.add(each.id)
    return errors


class SpecialsModel(TableModel):
    """One row per special token, by id; texts can be edited, and ids of added ones."""

    titles = ("Token", "Id", "Role", "Kind")
    numbers = (ID,)

    def __init__(self, rows: list[works.SpecialRow], first: int, theme: Theme, parent: QObject | None = None) -> None:
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
        self.beginInsertRows(NO_INDEX, at, at)
        after = max([self._first - 1, *(row.id for row in self.rows)]) + 1
        self.rows.append(works.SpecialRow(f"<|new_{number}|>", after, None))
        self.endInsertRows()
        return at

    def remove(self, at: int) -> None:
        """Removes a token that was added."""
        self.beginRemoveRows(NO_INDEX, at, at)
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

    def count(self) -> int:
        return len(self.rows)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Makes texts editable, and the ids of added tokens."""
        flags = super().flags(index)
        edited = index.column() == TOKEN or (index.column() == ID and self.rows[index.row()].before is None)
        return flags | Qt.ItemFlag.ItemIsEditable if index.isValid() and edited else flags

    def text(self, row: int, column: int) -> str:
        each = self.rows[row]
        roles = ", ".join(name.removesuffix("_token") for name in each.roles)
        return (each.text, f"{each.id:,}", roles, each.kind)[column]

    def tip(self, row: int, column: int) -> str:
        each, error = self.rows[row], self._errors.get((row, column))
        if error is None and each.before not in (None, each.text):
            return f"Was {each.before}"
        return error or (_KINDS if column == KIND else "")

    def colour(self, row: int, column: int) -> str | None:
        return self._theme.palette.error if (row, column) in self._errors else None

    def more(self, row: int, column: int, role: int) -> object:
        text = str(self.rows[row].id) if column == ID else self.text(row, column)
        return text if role == Qt.ItemDataRole.EditRole else None

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        each = self.rows[index.row()]
        if index.column() == TOKEN:
            self.rows[index.row()] = replace(each, text=str(value))
        elif (digits := str(value).strip()).isdecimal() and len(digits) <= _MOST_DIGITS:
            self.rows[index.row()] = replace(each, id=int(digits))
        else:
            return False
        self.dataChanged.emit(index, index)
        return True


# --- The dialog of special tokens: rename them, add some, give them roles ---------------------------------------------

_ABOUT = (
    "Edit a token to rename it, for example a reserved one. All ids stay; those of added tokens follow the highest."
)
_NO_ROLE = "No role"


class SpecialsDialog(SurgeryDialog):
    """Changes special tokens."""

    room = QSize(1000, 640)
    shares = 6, 5

    def __init__(self, session: Session, run: StudioRun, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, "Special Tokens", "&Change Special Tokens", parent)
        self._tokenizer, self._name = run.tokenizer, run.name
        rows = works.special_rows(self._tokenizer)
        self._before = tuple(rows)
        self.model = SpecialsModel(rows, len(self._tokenizer.tokens), theme, self)
        self._make_table(theme)
        below = self._make_below()
        for signal in (self.model.dataChanged, self.model.rowsInserted, self.model.rowsRemoved):
            signal.connect(self._refresh)
        self.table.selectionModel().currentRowChanged.connect(self._show_role)
        self.problem = paragraph_label("error")
        self.files = paragraph_label("muted", works.settings_text(self._tokenizer.settings))
        self.files.setVisible(bool(self.files.text()))
        self.build(run.name, len(self._tokenizer), _ABOUT, (self.table, self.problem, below, self.files), self.table)
        self.table.setFocus()
        if rows:
            self.table.setCurrentIndex(self.model.index(0, 0))
        self._show_role()

    def _make_table(self, theme: Theme) -> None:
        self.table = ReadOnlyTable("Special tokens", self.model)
        trigger = QAbstractItemView.EditTrigger
        self.table.setEditTriggers(trigger.DoubleClicked | trigger.EditKeyPressed | trigger.AnyKeyPressed)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.table.set_row_height(theme.scaled(28))
        header = self.table.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(TOKEN, QHeaderView.ResizeMode.Stretch)
        self.table.setMinimumHeight(theme.scaled(220))

    def _make_below(self) -> QWidget:
        self.add_button = push_button("&Add", self._add, "Add a special token with the next id")
        self.remove_button = push_button("&Remove", self._remove, "Remove the selected token, if it was added here")
        self.role = QComboBox()
        self.role.addItem(_NO_ROLE, "")
        for name in dict.fromkeys([*ROLES, *self._tokenizer.roles]):
            self.role.addItem(name.removesuffix("_token"), name)
        self.role.setToolTip("What other programs use the selected token for")
        self.role.activated.connect(self._set_role)
        below, label = QWidget(), label_for("R&ole", self.role)
        row(self.add_button, self.remove_button, STRETCH, label, self.role, spacing=8, parent=below)
        return below

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

    def effect_work(self) -> Callable[[], Work[works.Effect]]:
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
        return partial(works.specials_work, self._tokenizer, rows)

    def result_work(self) -> Callable[[], Work[works.ChangedTokenizer]]:
        return partial(works.changed_specials_work, self._tokenizer, self._name, tuple(self.model.rows))
