"""The editors of the table's cells: a list of choices, or a number."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QPersistentModelIndex, Qt, QTimer
from PySide6.QtWidgets import QComboBox, QSpinBox, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from tokstudio.gui.dialogs.train_several.model import COLUMNS
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Number

_Index = QModelIndex | QPersistentModelIndex


class CellEditors(QStyledItemDelegate):
    """Makes an editor for a cell; a choice is taken at once."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: _Index) -> QWidget:
        """Returns the editor."""
        column = COLUMNS[index.column()]
        if column.choices is None:
            number = Number(column.most, column.suffix)
            number.setParent(parent)
            number.setAccessibleName(column.title)
            number.apply_style(self._theme)
            return number
        box = QComboBox(parent)
        box.setAccessibleName(column.title)
        value = index.data(Qt.ItemDataRole.EditRole)
        # An expression of the user's own is not among the choices.
        own = {} if value in column.choices else {value: value}
        for choice, name in {**column.choices, **own}.items():
            box.addItem(name, choice)
        box.activated.connect(self._take)
        QTimer.singleShot(0, box, box.showPopup)
        return box

    def setEditorData(self, editor: QWidget, index: _Index) -> None:
        """Shows the value of the cell."""
        value = index.data(Qt.ItemDataRole.EditRole)
        if isinstance(editor, QComboBox):
            editor.setCurrentIndex(editor.findData(value))
        elif isinstance(editor, QSpinBox):
            editor.setValue(value or 0)
            editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: _Index) -> None:
        """Takes the value of the editor."""
        if isinstance(editor, QComboBox):
            model.setData(index, editor.currentData())  # pyright: ignore[reportArgumentType]
        elif isinstance(editor, QSpinBox):
            editor.interpretText()
            value = editor.value()
            model.setData(index, value or (None if COLUMNS[index.column()].optional else 0))  # pyright: ignore[reportArgumentType]

    def _take(self) -> None:
        box = self.sender()
        if isinstance(box, QComboBox):
            self.commitData.emit(box)
            self.closeEditor.emit(box)
