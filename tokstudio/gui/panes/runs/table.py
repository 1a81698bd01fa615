"""The table of runs: chooses the columns that fit, and emits signals for its keys."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    Qt,
    QTimer,
    Signal,
    SignalInstance,
)
from PySide6.QtGui import QAction, QColor, QContextMenuEvent, QFontMetrics, QKeyEvent, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QMenu, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from tokstudio.gui.panes.runs.model import (
    ACTIVE,
    ALGORITHM,
    COLUMNS,
    CORPUS,
    HELD_OUT,
    HUE,
    LEFT,
    MARK,
    NAME,
    RATIO,
    VOCABULARY,
    RunsModel,
)
from tokstudio.gui.plot.curve_marks import curve_pen, draw_mark
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.menus import Menu
from tokstudio.gui.widgets.painting import guarded_painter
from tokstudio.gui.widgets.tables import ReadOnlyTable

_LONGEST_NAME = 4  # times the usual width of a name; a longer one is shortened for other columns
_CHOOSABLE = [number for number, column in enumerate(COLUMNS) if column.widest]
_YIELDING = sorted(_CHOOSABLE, key=lambda number: -COLUMNS[number].yields)  # the tool tip of a row has all of them


class RunTable(ReadOnlyTable):
    """Columns that the user has not chosen are shown if they fit beside the names; numbers are never shortened.

    Names and corpora take the remaining width.
    """

    activateAsked = Signal()  # Enter, for the current row
    renameAsked = Signal()  # F2
    deleteAsked = Signal()  # Delete
    menuAsked = Signal(QPoint)  # the menu of the current row, at a point of the screen
    columnsFitted = Signal()  # other columns may be shown
    columnsChosen = Signal(str)  # the user has shown or hidden columns: `choices_text`

    def __init__(self, model: RunsModel, theme: Theme) -> None:
        super().__init__("Runs", model.about, (NAME, VOCABULARY, RATIO))
        self._theme = theme
        self._seldom = {ALGORITHM: False, HELD_OUT: False}  # columns for what few runs have, and whether one has it
        self._choices: dict[int, bool] = {}
        self._widths: list[int] = []  # for the heading and all texts of each column
        self._measuring = QTimer(self, singleShot=True)
        self._measuring.timeout.connect(self._measure)
        self.setModel(model)
        model.dataChanged.connect(self._follow_data)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setMinimumSectionSize(24)
        # Headings are aligned with the texts of the cells.
        header.setProperty("wide", True)
        self.setItemDelegateForColumn(MARK, _Mark(theme, self))
        self.columns_menu = self._make_columns_menu()
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._show_columns_menu)
        theme.changed.connect(self._apply_style)
        self._apply_style()

    # ---- columns

    @property
    def choices_text(self) -> str:
        """The columns that the user has shown or hidden, as a text for the preferences."""
        return ",".join(f"{'+' if shown else '-'}{COLUMNS[column].title}" for column, shown in self._choices.items())

    def set_choices(self, text: str) -> None:
        """Restores `choices_text`; unknown columns are ignored."""
        known = {COLUMNS[column].title: column for column in _CHOOSABLE}
        entries = [entry for entry in text.split(",") if entry[1:] in known]
        self._choices = {known[entry[1:]]: entry[0] == "+" for entry in entries}
        self.spread()

    def show_seldom(self, column: int, shown: bool) -> None:
        """Shows or hides a column for what few runs have: another algorithm, held-out text."""
        if shown != self._seldom[column]:
            self._seldom[column] = shown
            self.spread()

    def spread(self) -> None:
        """Hides the columns that do not fit, and gives the remaining width to the names."""
        header, usual = self.horizontalHeader(), self._width_of("Run 12")
        least = min(max(self._widths[NAME], usual), _LONGEST_NAME * usual)
        self.setColumnWidth(NAME, least)
        for column in _CHOOSABLE:
            sample = self._width_of(COLUMNS[column].widest)
            is_text = COLUMNS[column].alignment == LEFT
            self.setColumnWidth(column, sample if is_text else max(sample, self._widths[column]))
            self.setColumnHidden(column, not self._choices.get(column, self._seldom.get(column, True)))
        for column in _YIELDING:
            if column == HELD_OUT:
                # What the runs achieve comes before the ends of long names.
                self.setColumnWidth(NAME, min(least, 2 * usual))
            if column == RATIO:
                self.setColumnWidth(NAME, min(least, usual))
            if header.length() > self.viewport().width() and column not in self._choices:
                self.setColumnHidden(column, True)
        for column in (NAME, CORPUS):
            spare = self.viewport().width() - header.length()
            if not self.isColumnHidden(column) and spare > 0:
                width = self.columnWidth(column)
                self.setColumnWidth(column, width + min(spare, max(self._widths[column] - width, 0)))
        spare = self.viewport().width() - header.length()
        self.setColumnWidth(NAME, self.columnWidth(NAME) + min(max(spare, 0), 4 * usual))
        for action in self.columns_menu.actions():
            if action.isCheckable():
                action.setChecked(not self.isColumnHidden(action.data()))
        self.columnsFitted.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fits the columns to the new width."""
        super().resizeEvent(event)
        self.spread()

    def _make_columns_menu(self) -> QMenu:
        menu = Menu("&Columns of Runs", self)
        for column in _CHOOSABLE:
            tip = f"{COLUMNS[column].tip}."
            action = QAction(COLUMNS[column].title, menu, checkable=True, statusTip=tip)
            action.setData(column)
            menu.addAction(action)
        menu.addSeparator()
        menu.addAction("As Many as Fit").setStatusTip("Show as many columns as there is room for.")
        menu.triggered.connect(self._choose_columns)
        return menu

    def _choose_columns(self, action: QAction) -> None:
        if action.isCheckable():
            self._choices[action.data()] = action.isChecked()
        else:
            self._choices.clear()
        self.spread()
        self.columnsChosen.emit(self.choices_text)

    def _show_columns_menu(self, place: QPoint) -> None:
        self.columns_menu.popup(self.horizontalHeader().mapToGlobal(place))

    def _apply_style(self) -> None:
        self.verticalHeader().setDefaultSectionSize(self._theme.scaled(28))
        font = self.font()
        font.setBold(True)
        self._bold = QFontMetrics(font)
        header = self.horizontalHeader()
        header.resizeSection(MARK, self._theme.scaled(28))
        self._widths = []
        self._measure()

    def _follow_data(self, first: QModelIndex, last: QModelIndex) -> None:
        # The progress of a training changes other columns, many times a second.
        if first.column() <= NAME:
            # Once for all changes of an event.
            self._measuring.start()

    def _measure(self) -> None:
        """Measures the texts of all runs, and fits the columns if that has changed anything."""
        model = self.model()
        rows = range(model.rowCount())
        widths = [
            max(map(self._width_of, (title.title, *(model.index(row, column).data() or "" for row in rows))))
            for column, title in enumerate(COLUMNS)
        ]
        if widths != self._widths:
            self._widths = widths
            self.spread()

    def _width_of(self, text: str) -> int:
        """The width of a column for a text, which the active run has in bold."""
        return self._bold.horizontalAdvance(text) + 22

    # ---- keys

    def event(self, event: QEvent) -> bool:
        """Handles its own keys before the window's actions while it has the focus."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._meant_by(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Emits the signal of a key; others move between rows."""
        asked = self._meant_by(event)
        if asked is not None:
            asked.emit()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Asks for the menu of the row under the pointer, or of the current row if opened by a key."""
        by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        index = self.currentIndex() if by_key else self.indexAt(event.pos())
        if index.isValid():
            place = self.visualRect(index.siblingAtColumn(NAME)).center() if by_key else event.pos()
            self.menuAsked.emit(self.viewport().mapToGlobal(place))

    def _meant_by(self, event: QKeyEvent) -> SignalInstance | None:
        # While a name is edited, unused keys of its field arrive here too.
        if not self.hasFocus() or not self.currentIndex().isValid():
            return None
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            return None
        key = Qt.Key
        keys = {key.Key_Return: self.activateAsked, key.Key_Enter: self.activateAsked, key.Key_F2: self.renameAsked}
        return {**keys, key.Key_Delete: self.deleteAsked}.get(Qt.Key(event.key()))


class _Mark(QStyledItemDelegate):
    """A disc on the active run, a ring on the others, in the colours and dashes of their curves."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().paint(painter, option, index)
        active, palette, hue = bool(index.data(ACTIVE)), self._theme.palette, index.data(HUE)
        pen = QPen(QColor(palette.control)) if hue is None else curve_pen(palette, hue, active=active)
        rect: QRect = getattr(option, "rect")  # noqa: B009  missing in the stubs
        with guarded_painter(painter):
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            draw_mark(painter, pen, QRectF(rect).center(), self._theme.scaled(4), active=active)
