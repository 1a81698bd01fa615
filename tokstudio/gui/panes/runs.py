"""The Runs pane: every training and every opened tokenizer, to be compared, made active, renamed or deleted.

How they compare as curves is the Compression pane's.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

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
from PySide6.QtGui import QAction, QColor, QHideEvent, QKeyEvent, QPainter, QPen, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QMenu,
    QStackedWidget,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from tokstudio.gui.models.runs import (
    ACTIVE,
    CORPUS,
    ENDED,
    FREQUENCY,
    HELD_OUT,
    HUE,
    MARK,
    MERGES,
    NAME,
    RATIO,
    SECONDS,
    SIZE,
    RunsModel,
)
from tokstudio.gui.session import Session
from tokstudio.gui.studio_run import StudioRun
from tokstudio.gui.theme import Theme
from tokstudio.gui.widgets.curve_marks import curve_pen
from tokstudio.gui.widgets.pane import EmptyState, Pane

_LIVE = 200  # milliseconds between two looks at the run that trains
_EMPTY = "Every training is kept here as a run, to be compared, renamed or deleted."
# The widest text that each column is made for, beside its heading.
_WIDEST = {
    CORPUS: "999.9 MB",
    SIZE: "1,000,000",
    FREQUENCY: "1,000",
    MERGES: "1,000,000",
    RATIO: "10.000",
    HELD_OUT: "10.000",
    ENDED: "reached vocabulary size",
    SECONDS: "1,000.0",
}
# Which columns a narrow table does without, the first one first; all is in the tool tip of a row.
_YIELDING = (SECONDS, CORPUS, FREQUENCY, SIZE, HELD_OUT, ENDED, RATIO)


class _Table(QTableView):
    """A table whose names take the room that the numbers leave, and in which keys mean its rows."""

    activateAsked = Signal()
    renameAsked = Signal()
    deleteAsked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.shows_held_out = False

    def event(self, event: QEvent) -> bool:
        """Keeps its keys from the window's actions of the same keys while it has the focus."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._meant_by(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        asked = self._meant_by(event)
        if asked is not None:
            asked.emit()
        else:
            super().keyPressEvent(event)

    def _meant_by(self, event: QKeyEvent) -> SignalInstance | None:
        # While a name is edited, the keys that its field does not want come here as well.
        if not self.hasFocus() or not self.currentIndex().isValid():
            return None
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            return None
        key = Qt.Key
        keys = {key.Key_Return: self.activateAsked, key.Key_Enter: self.activateAsked, key.Key_F2: self.renameAsked}
        return {**keys, key.Key_Delete: self.deleteAsked}.get(Qt.Key(event.key()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.spread()

    def spread(self) -> None:
        """Hides the columns there is no room for, and gives the room that is left to the names."""
        header = self.horizontalHeader()
        if header.count() <= NAME:
            return
        least = self.fontMetrics().horizontalAdvance("Run of twelve") + 20
        self.setColumnWidth(NAME, least)
        for column in _YIELDING:
            self.setColumnHidden(column, column == HELD_OUT and not self.shows_held_out)
        for column in _YIELDING:
            if header.length() > self.viewport().width():
                self.setColumnHidden(column, True)
        spare = self.viewport().width() - header.length()
        self.setColumnWidth(NAME, least + min(max(spare, 0), 2 * least))


class _Mark(QStyledItemDelegate):
    """A disc on the active run, a ring on the others, in the colours of their curves."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().paint(painter, option, index)
        active, palette = bool(index.data(ACTIVE)), self._theme.palette
        hue = index.data(HUE)
        colour = QColor(palette.control) if hue is None else curve_pen(palette, hue, active=active).color()
        rect: QRect = getattr(option, "rect")  # noqa: B009  missing in the stubs
        radius = self._theme.scaled(4)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colour, 1.5))
        painter.setBrush(colour if active else Qt.BrushStyle.NoBrush)
        painter.drawEllipse(QRectF(rect).center(), radius, radius)
        painter.restore()


class RunsPane(Pane):
    """The table of runs.

    Args:
        session: Whose runs are shown.
        theme: Its colours and fonts.
        actions: The window's actions by id; "delete_run" is used.
    """

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("runs", "Runs")
        self._session = session
        self._theme = theme
        self._actions = actions
        self._shown_active: StudioRun | None = None
        self._model = RunsModel(theme, self)
        self._table = self._make_table()
        self._stack = QStackedWidget()
        self._stack.addWidget(EmptyState(_EMPTY))
        self._stack.addWidget(self._table)
        self.body.addWidget(self._stack)

        # The training may be of another run than the active one, so its growth is looked at, not listened to.
        self._live = QTimer(self)
        self._live.setInterval(_LIVE)
        self._live.timeout.connect(self._refresh_live)
        self._model.renamed.connect(session.rename)
        session.runs_changed.connect(self._refresh)
        session.training_changed.connect(self._refresh)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()
        self._refresh()

    def showEvent(self, event: QShowEvent) -> None:
        """Catches up with what happened while it was hidden."""
        super().showEvent(event)
        self._refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stops looking at the training."""
        super().hideEvent(event)
        self._live.stop()

    def _make_table(self) -> _Table:
        table = _Table()
        table.setModel(self._model)
        table.setAccessibleName("Runs")
        table.setShowGrid(False)
        table.setWordWrap(False)
        table.setTabKeyNavigation(False)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        table.verticalHeader().hide()
        table.horizontalHeader().setHighlightSections(False)
        table.horizontalHeader().setMinimumSectionSize(24)
        # Headings stand where the texts of the cells do.
        table.horizontalHeader().setStyleSheet("QHeaderView::section { padding: 6px 9px; }")
        table.setItemDelegateForColumn(MARK, _Mark(self._theme, table))
        table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        table.customContextMenuRequested.connect(self._show_menu)
        table.clicked.connect(self._clicked)
        table.doubleClicked.connect(self._activate_index)
        table.activateAsked.connect(self._activate_current)
        table.renameAsked.connect(self._rename_current)
        table.deleteAsked.connect(self._delete_current)
        return table

    def _apply_theme(self) -> None:
        self._table.verticalHeader().setDefaultSectionSize(self._theme.scaled(28))
        header, metrics = self._table.horizontalHeader(), self._table.fontMetrics()
        header.resizeSection(MARK, self._theme.scaled(28))
        for column, widest in _WIDEST.items():
            title = str(self._model.headerData(column, Qt.Orientation.Horizontal))
            header.resizeSection(column, max(metrics.horizontalAdvance(text) for text in (widest, title)) + 22)
        self._table.spread()

    def _refresh(self) -> None:
        if not self.isVisible():
            return
        session = self._session
        self._model.set_runs(session.runs, session.active, "paused" if session.state == "paused" else "training")
        self._stack.setCurrentIndex(1 if session.runs else 0)
        held_out = any(run.config is not None and run.config.held_out for run in session.runs)
        if held_out != self._table.shows_held_out:
            self._table.shows_held_out = held_out
            self._table.spread()
        if session.active is not self._shown_active:
            self._shown_active = session.active
            row = self._model.row_of(session.active)
            if row >= 0:
                self._table.setCurrentIndex(self._model.index(row, NAME))
        if session.training is not None and not self._live.isActive():
            self._live.start()
        elif session.training is None:
            self._live.stop()

    def _refresh_live(self) -> None:
        if self._session.training is not None:
            self._model.refresh(self._session.training.run)

    def _current(self) -> StudioRun | None:
        return self._model.run(self._table.currentIndex().row())

    def _clicked(self, index: QModelIndex) -> None:
        # What is highlighted is what is shown and exported.
        self._activate_index(index)

    def _activate_index(self, index: QModelIndex) -> None:
        run = self._model.run(index.row())
        if run is not None:
            self._session.activate(run)

    def _activate_current(self) -> None:
        self._activate_index(self._table.currentIndex())

    def _rename_current(self) -> None:
        index = self._table.currentIndex().siblingAtColumn(NAME)
        self._table.setCurrentIndex(index)
        self._table.edit(index)

    def _delete_current(self) -> None:
        # The window's action deletes the active run, and asks where something would be lost.
        before = self._session.active
        self._activate_current()
        if self._current() is not None:
            self._actions["delete_run"].trigger()
        if before in self._session.runs:
            self._session.activate(before)

    def _show_menu(self, point: QPoint) -> None:
        if self._current() is None or not self._table.indexAt(point).isValid():
            return
        menu = QMenu(self._table)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        activate = menu.addAction("Make Active", self._activate_current)
        activate.setEnabled(self._current() is not self._session.active)
        menu.addAction("Rename", self._rename_current)
        delete = menu.addAction("Delete", self._delete_current)
        training = self._session.training
        delete.setEnabled(training is None or training.run is not self._current())
        menu.popup(self._table.viewport().mapToGlobal(point))
