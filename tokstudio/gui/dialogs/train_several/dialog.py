"""The dialog that plans several trainings, which run one after another."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QAbstractItemModel, QItemSelectionModel, QSize, Qt, QTimer
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QSpinBox,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QToolButton,
    QWidget,
)

from tokstudio.core.base.wording import several
from tokstudio.core.corpus.corpus import ONCE
from tokstudio.gui.dialogs.train_several.model import COLUMNS, VARIATIONS, WEIGHTS, Change, PlansModel
from tokstudio.gui.session.training.control import TrainingControl
from tokstudio.gui.session.training.queue import TrainingQueue
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.training_plans import (
    AS_THEY_ARE,
    EQUAL,
    TrainingPlan,
    by_temperature,
    entries_of,
    has_mixture,
    weights_text,
)
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Number
from tokstudio.gui.widgets.figures import Index
from tokstudio.gui.widgets.labels import named, paragraph_label
from tokstudio.gui.widgets.layouts import STRETCH, row
from tokstudio.gui.widgets.menus import Menu, push_button
from tokstudio.gui.widgets.pane import Dialog

# --- The editors of the table's cells: a list of choices, or a number -------------------------------------------------


class CellEditors(QStyledItemDelegate):
    """Makes an editor for a cell; a choice is taken at once."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        column = COLUMNS[index.column()]
        if column.is_text:
            return named(QLineEdit(parent), column.title)
        if column.choices is None:
            number = named(Number(self._theme, column.most, column.suffix), column.title)
            number.setParent(parent)
            return number
        box = named(QComboBox(parent), column.title)
        value = index.data(Qt.ItemDataRole.EditRole)
        # An expression of the user's own is not among the choices.
        own = {} if value in column.choices else {value: value}
        for choice, name in {**column.choices, **own}.items():
            box.addItem(name, choice)
        box.activated.connect(self._take)
        QTimer.singleShot(0, box, box.showPopup)
        return box

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        value = index.data(Qt.ItemDataRole.EditRole)
        if isinstance(editor, QComboBox):
            editor.setCurrentIndex(editor.findData(value))
        elif isinstance(editor, QSpinBox):
            editor.setValue(value or 0)
            editor.selectAll()
        elif isinstance(editor, QLineEdit):
            editor.setText(value)

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:
        if isinstance(editor, QComboBox):
            model.setData(index, editor.currentData())  # pyright: ignore[reportArgumentType]
        elif isinstance(editor, QSpinBox):
            editor.interpretText()
            value = editor.value()
            model.setData(index, value or (None if COLUMNS[index.column()].optional else 0))  # pyright: ignore[reportArgumentType]
        elif isinstance(editor, QLineEdit):
            model.setData(index, editor.text())  # pyright: ignore[reportArgumentType]

    def _take(self) -> None:
        box = self.sender()
        if isinstance(box, QComboBox):
            self.commitData.emit(box)
            self.closeEditor.emit(box)


_SIZE = QSize(1000, 460)
_EXPONENTS = (AS_THEY_ARE, 0.7, 0.5, 0.3, EQUAL)  # as of By Temperature
_HELP = (
    "Each row becomes a run. Rows with the same pattern, base and sample follow each other, as they share one count of "
    "the corpus. The other settings are those of Configure, or usual ones of an algorithm that is not chosen there. A "
    "smaller vocabulary needs no row: it is a place of the playhead."
)


class TrainSeveralDialog(Dialog):
    """A table of settings.

    Args:
        plans: The first rows; those of Configure alone if there are none.
        remark: What else there is to say about them.
        then: Called with the runs when all have ended.
        save: Saves the rows as an experiment; None for no button.
    """

    def __init__(
        self,
        training: TrainingControl,
        queue: TrainingQueue,
        theme: Theme,
        parent: QWidget | None = None,
        *,
        plans: Sequence[TrainingPlan] = (),
        remark: str = "",
        then: Callable[[Sequence[StudioRun]], object] | None = None,
        save: Callable[[Sequence[TrainingPlan]], object] | None = None,
    ) -> None:
        super().__init__("Train Several", parent)
        self._training, self._queue, self._then, self._save = training, queue, then, save
        self._first = TrainingPlan(training.settings)
        of_rows = training.settings, training.defaults, queue.corpus
        self.model = PlansModel(plans or (self._first,), *of_rows, theme, self)
        self._make_table(theme)
        self.note.setMinimumHeight(theme.scaled(18))
        self.remark = paragraph_label("muted", remark)
        self.remark.setVisible(bool(remark))
        above = paragraph_label("muted", _HELP), self._edit_buttons()
        for signal in (self.model.dataChanged, self.model.modelReset, self.model.rowsInserted, self.model.rowsRemoved):
            signal.connect(self._check)
        self.table.selectionModel().selectionChanged.connect(self._check)
        training.state_changed.connect(self._check_corpus)
        self.fill(theme, _SIZE, *above, (self.table, 1), self.remark, self.note, self._buttons())
        self._select([0])
        self._show_weights()
        self._check()

    def _make_table(self, theme: Theme) -> None:
        self.table = named(QTableView(showGrid=True, wordWrap=False), "Trainings")
        self.table.setModel(self.model)
        self.table.setItemDelegate(CellEditors(theme, self.table))
        self.table.setTabKeyNavigation(False)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        trigger = QAbstractItemView.EditTrigger
        self.table.setEditTriggers(trigger.DoubleClicked | trigger.SelectedClicked | trigger.EditKeyPressed)
        self.table.verticalHeader().setDefaultSectionSize(theme.scaled(32))
        self.table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header = self.table.horizontalHeader()
        header.setHighlightSections(False)
        header.setStretchLastSection(True)
        header.setProperty("wide", True)
        for number, column_shown in enumerate(COLUMNS):
            self.table.setColumnWidth(number, theme.scaled(column_shown.width))

    def _edit_buttons(self) -> QHBoxLayout:
        self.vary_button = QToolButton(popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
        self.vary_button.setText("&Vary")
        self.vary_button.setToolTip("Replace the selected rows, or all, by one row for each value of a setting")
        self.vary_button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        menu = Menu(self.vary_button)
        for words, changes in VARIATIONS.items():
            menu.addAction(words, partial(self._vary, changes))
        self.vary_weights = menu.addAction("&Weights, towards Equal Shares", self._vary_weights)
        self.vary_button.setMenu(menu)
        self.add_button = push_button("&Add", self._add, "Add a row with the settings of Configure")
        self.duplicate_button = push_button("D&uplicate", self._duplicate)
        self.remove_button = push_button("&Remove", self._remove)
        shown = (self.vary_button, STRETCH, self.add_button, self.duplicate_button, self.remove_button)
        return row(*shown, spacing=8)

    def _buttons(self) -> QHBoxLayout:
        self.cancel_button = push_button("Cancel", self.reject)
        self.train_button = push_button("Train", self._train, is_main=True)
        tip = "Save the corpus and these rows as a file, which tokstudio run trains"
        self.save_button = push_button("&Save Experiment…", self._save_rows, tip)
        self.save_button.setVisible(self._save is not None)
        return row(self.save_button, STRETCH, self.cancel_button, self.train_button, spacing=8)

    def _check_corpus(self) -> None:
        self.model.set_corpus(self._queue.corpus)
        self._show_weights()
        self._check()

    def _show_weights(self) -> None:
        """Shows weights where there are several sources, or a row has some."""
        mixed = has_mixture(self._queue.corpus.sources)
        self.table.setColumnHidden(WEIGHTS, not mixed and not any(plan.weights for plan in self.model.plans))
        self.vary_weights.setVisible(mixed)

    def _check(self) -> None:
        plans = self.model.plans
        problem = self.model.problem or self._training.corpus_obstacle
        self.say(problem or "", "error")
        for button in (self.train_button, self.save_button):
            button.setEnabled(problem is None)
        self.train_button.setText(f"Train {several(len(plans), 'Run')}" if plans else "Train")
        for button in (self.duplicate_button, self.remove_button):
            button.setEnabled(bool(self._selected()))
        self.vary_button.setEnabled(bool(plans))

    def _selected(self) -> list[int]:
        return sorted(index.row() for index in self.table.selectionModel().selectedRows())

    def _select(self, rows: list[int]) -> None:
        self.table.clearSelection()
        flag = QItemSelectionModel.SelectionFlag
        for at in rows:
            self.table.selectionModel().select(self.model.index(at, 0), flag.Select | flag.Rows)
        if rows:
            self.table.selectionModel().setCurrentIndex(self.model.index(rows[-1], 0), flag.NoUpdate)

    def _vary(self, changes: Sequence[Change]) -> None:
        self.model.vary(self._selected() or range(len(self.model.plans)), changes)

    def _vary_weights(self) -> None:
        """Varies the mixture from the shares that the texts have to equal ones."""
        sources = self._queue.corpus.sources
        mixed = entries_of(sources)
        weights = (by_temperature(sources, mixed, exponent) for exponent in _EXPONENTS)
        of_entries = ([each[entry.places[0]] / ONCE for entry in mixed] for each in weights)
        self._vary([{"weights": weights_text(each)} for each in of_entries])

    def _add(self) -> None:
        self._select([self.model.add(self._first)])

    def _duplicate(self) -> None:
        self._select(self.model.duplicate(self._selected()))

    def _remove(self) -> None:
        self.model.remove(self._selected())

    def _save_rows(self) -> None:
        if self._save is not None:
            self._save(self.model.plans)

    def _train(self) -> None:
        self._queue.start(self.model.plans, self._then)
        self.accept()
