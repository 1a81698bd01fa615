"""The Runs pane: the table of runs, the text they are measured on, and what is done with them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtCore import QEvent, QModelIndex, QPoint, QRect, QRectF, QSize, Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import (
    QAction,
    QColor,
    QContextMenuEvent,
    QFontMetrics,
    QHideEvent,
    QKeyEvent,
    QPainter,
    QPen,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QMenu,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QWidget,
)

from tokstudio.core.base.wording import several
from tokstudio.core.comparison.table import SIGNS
from tokstudio.core.corpus.source import by_entry
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
from tokstudio.gui.plot.content import curve_pen, draw_mark
from tokstudio.gui.session.availability import why_pattern_stays
from tokstudio.gui.session.measuring.measurers import ChosenText
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.figures import Index, ReadOnlyTable
from tokstudio.gui.widgets.labels import ElidedLabel, guarded_painter, plain
from tokstudio.gui.widgets.layouts import Fitting, give_way, stacked
from tokstudio.gui.widgets.menus import Menu, set_why_not
from tokstudio.gui.widgets.pane import EmptyState, Pane

# --- The button of the text that all rows of Runs are measured on, with a menu of other texts -------------------------

_ACTIONS = ("measure_on_corpus", "measure_on_text", "measure_on_held_out", "measure_on_file")
_WIDEST = 290  # pixels of the button, and
_WIDEST_ENTRY = 360  # of an entry of its menu, at the normal text size
_MOST = 30  # sources in the menu
_LOW = 280  # pixels at the normal text size; a lower pane has its table alone


class TextButton(QToolButton):
    """Names the text, and opens the menu of texts; Qt shortens a long name in its middle."""

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__(popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
        self._on_text, self._corpus, self._theme = session.on_text, session.corpus, theme
        self._actions = [actions[name] for name in _ACTIONS]
        self.texts = Menu("&Measure On", self)
        self.texts.aboutToShow.connect(partial(self.fill, self.texts))
        self.fill(self.texts)
        self.setMenu(self.texts)
        self.setProperty("low", True)
        # The title decides how high the row is: a low window has no room to spare.
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._on_text.changed.connect(self._name)
        self._name()

    def sizeHint(self) -> QSize:
        width = min(super().sizeHint().width(), self._theme.scaled(_WIDEST))
        return QSize(width, self.fontMetrics().height() + 2)

    def fill(self, menu: QMenu) -> None:
        """Lists the actions and the sources of the corpus."""
        menu.clear()
        menu.addActions(self._actions)
        of_entry = by_entry(self._corpus.remaining)
        if len(of_entry) < 2:
            return
        menu.addSeparator()
        widest = self._theme.scaled(_WIDEST_ENTRY)
        for number, (name, sources) in enumerate(of_entry[:_MOST]):
            shown = menu.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, widest)
            action = menu.addAction(shown.replace("&", "&&"))
            action.setStatusTip("Measure all rows of Tokenizers on this source of the corpus.")
            # By number, as a menu must not keep a removed source alive.
            action.triggered.connect(partial(self._choose, name, number, len(sources)))
        if len(of_entry) > _MOST:
            menu.addAction(f"{len(of_entry) - _MOST:,} more").setEnabled(False)

    def _choose(self, name: str, number: int, count: int) -> None:
        named = by_entry(self._corpus.remaining)
        if number < len(named) and named[number][0] == name and len(named[number][1]) == count:
            self._on_text.choose(ChosenText.of_sources(*named[number]))

    def _name(self) -> None:
        text = self._on_text.text
        name = "no text" if text is None else text.name
        self.setText(f"Measured on {name}".replace("&", "&&"))
        size = f" ({several(text.corpus.bytes, 'byte')})" if text is not None else ""
        title = name if text is None else text.title
        self.setToolTip(plain(f"Bytes per token of every row are measured on {title}{size}. Choose another text."))
        self.setAccessibleName(f"Measured on {name}")


# --- The table of runs: chooses the columns that fit, and emits signals for its keys ----------------------------------

_CHOOSABLE = [number for number, column in enumerate(COLUMNS) if column.widest]
_USUAL_NAME = "Run 12 (with pre-tokens)"
_YIELDING = sorted(_CHOOSABLE, key=lambda number: -COLUMNS[number].yields)  # the tool tip of a row has all of them


class RunTable(Fitting, ReadOnlyTable):
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
        super().__init__("Tokenizers", about=model.about, named=(NAME, VOCABULARY, RATIO))
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
        self.setItemDelegateForColumn(MARK, _Mark(theme, self))
        self.columns_menu = self._make_columns_menu()
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._show_columns_menu)
        theme.follow(self._apply_style)

    # ---- columns

    @property
    def choices_text(self) -> str:
        """The columns that the user has shown or hidden, as a text for the preferences."""
        return ",".join(f"{'+' if shown else '-'}{COLUMNS[column].title}" for column, shown in self._choices.items())

    def set_choices(self, text: str) -> None:
        """Restores `choices_text`; unknown columns are ignored."""
        columns = {"Held out": HELD_OUT} | {COLUMNS[column].title: column for column in _CHOOSABLE}  # its earlier title
        entries = [entry for entry in text.split(",") if entry[1:] in columns]
        self._choices = {columns[entry[1:]]: entry[0] == "+" for entry in entries}
        self.fit()

    def show_seldom(self, column: int, shown: bool) -> None:
        """Shows or hides a column for what few runs have: another algorithm, held-out text."""
        if shown != self._seldom[column]:
            self._seldom[column] = shown
            self.fit()

    def fit(self) -> None:
        """Hides the columns that do not fit beside the names, and gives the remaining width to the names."""
        usual, room = self._width_of("Run 12"), self.viewport().width()
        # The end of a name that is longer than usual ones removes no column.
        widths = {
            MARK: self.columnWidth(MARK),
            NAME: max(usual, min(self._widths[NAME], self._width_of(_USUAL_NAME))),
        }
        for column in _CHOOSABLE:
            sample = self._width_of(COLUMNS[column].widest)
            is_text = COLUMNS[column].alignment == LEFT
            widths[column] = sample if is_text else max(sample, self._widths[column])
        hidden = {each for each in _CHOOSABLE if not self._choices.get(each, self._seldom.get(each, True))}

        def spare() -> int:
            return room - sum(width for column, width in widths.items() if column not in hidden)

        for column in _YIELDING:
            if spare() < 0 and column not in self._choices:
                hidden.add(column)
        for column in (NAME, CORPUS):
            if column not in hidden:
                widths[column] += min(max(spare(), 0), max(self._widths[column] - widths[column], 0))
        widths[NAME] += min(max(spare(), 0), 4 * usual)
        for column, width in widths.items():
            self.setColumnWidth(column, width)
            self.setColumnHidden(column, column in hidden)
        for action in self.columns_menu.actions():
            if action.isCheckable():
                action.setChecked(not self.isColumnHidden(action.data()))
        self.columnsFitted.emit()

    def _make_columns_menu(self) -> QMenu:
        menu = Menu("&Columns of Tokenizers", self)
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
        self.fit()
        self.columnsChosen.emit(self.choices_text)

    def _show_columns_menu(self, place: QPoint) -> None:
        self.columns_menu.popup(self.horizontalHeader().mapToGlobal(place))

    def _apply_style(self) -> None:
        self.set_row_height(self._theme.scaled(28))
        font = self._theme.tabular_font()  # its own font is still the old one while it is hidden
        font.setBold(True)
        self._bold = QFontMetrics(font)
        self._known: dict[str, int] = {}
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
            self.fit()

    def _width_of(self, text: str) -> int:
        """The width of a column for a text, which the active run has in bold."""
        if text not in self._known:
            self._known[text] = self._bold.horizontalAdvance(text) + 22
        return self._known[text]

    # ---- keys

    def event(self, event: QEvent) -> bool:
        """Handles its own keys before the window's actions while it has the focus."""
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

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        active, palette, hue = bool(index.data(ACTIVE)), self._theme.palette, index.data(HUE)
        pen = QPen(QColor(palette.control)) if hue is None else curve_pen(palette, hue, active=active)
        rect: QRect = getattr(option, "rect")  # noqa: B009  missing in the stubs
        with guarded_painter(painter):
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            draw_mark(painter, pen, QRectF(rect).center(), self._theme.scaled(4), active=active)


# --- The Runs pane: all trainings and opened tokenizers, to compare, activate, rename, export or delete ---------------
# The Compression pane shows their curves.

_EMPTY = "Every run is kept here. You can compare, rename or delete it."
_IS_ACTIVE = "It is active already."
_HELD = "Training is in progress: its run stays active."
_IN_TRAINING = "Stop the training first; the run is kept."
_NO_MORE = "Only a run of this corpus continues, with a larger vocabulary or a lower frequency."


class RunsPane(Fitting, Pane):
    """The table of runs."""

    deleteAsked = Signal(object)  # the user wants to delete a run (StudioRun)

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("runs", "Tokenizers")
        self._theme = theme
        self._runs, self._training = session.runs, session.training
        self._actions = actions
        self._shown_active: StudioRun | None = None
        self._on_text = session.on_text
        self._model = RunsModel(theme, session.on_text, self)
        self.table = RunTable(self._model, theme)
        self._stack = stacked(EmptyState(_EMPTY), self.table)
        self.legend = ElidedLabel("muted")
        self.body.addWidget(self._stack, 1)
        self.body.addWidget(self.legend)
        give_way(self.legend)
        self.text_button = TextButton(session, theme, actions)
        self.header.addWidget(self.text_button)
        # The training may be of another run than the active one, so its growth signals are not used.
        self._live = QTimer(self, interval=session.jobs.pauses.live)
        self._live.timeout.connect(self._refresh_live)
        self._model.renamed.connect(session.history.rename_run)
        # The selected row is the active run.
        self.table.clicked.connect(self._activate_index)
        self.table.doubleClicked.connect(self._activate_index)
        self.table.activateAsked.connect(self._activate_current)
        self.table.renameAsked.connect(self._rename_current)
        self.table.deleteAsked.connect(self._delete_current)
        self.table.menuAsked.connect(self._show_menu)
        self.table.columnsFitted.connect(self._want)
        session.on_text.changed.connect(self._model.refresh_measured)
        session.on_text.changed.connect(self.fit)
        session.runs.changed.connect(self._refresh)
        session.training.state_changed.connect(self._refresh)
        self._refresh()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._live.stop()
        self._want()

    def _refresh(self) -> None:
        listed = (self._shown_active, *map(self._model.run, range(self._model.rowCount())))
        # A deleted run is released at once, even in a hidden pane.
        if not self.isVisible() and all(run is None or run in self._runs.all for run in listed):
            return
        state = "paused" if self._training.state == "paused" else "training"
        self._model.set_runs(self._runs.all, self._runs.active, state)
        self._want()
        self._stack.setCurrentIndex(1 if self._runs.all else 0)
        configs = [run.config for run in self._runs.all]
        self.table.show_seldom(HELD_OUT, any(config is not None and config.held_out for config in configs))
        self.table.show_seldom(ALGORITHM, any(config and not config.algorithm.is_plain for config in configs))
        row = self._model.row_of(self._runs.active)
        # A live run has no row until the weights have settled.
        active = self._runs.active if row >= 0 else None
        if active is not self._shown_active:
            self._shown_active = active
            if active is not None:
                self.table.setCurrentIndex(self._model.index(row, NAME))
        if self._training.current is None or not self.isVisible():
            self._live.stop()
        elif not self._live.isActive():
            self._live.start()

    def _want(self) -> None:
        """Has the rows measured while they are seen."""
        is_seen = self.isVisible() and not self.table.isColumnHidden(RATIO)
        self._on_text.want(self._runs.all if is_seen else (), self.objectName())
        self.fit()

    def fit(self) -> None:
        """Explains the signs of figures below the table; in a low pane, the tips of the rows do."""
        there = set[str]() if self.table.isColumnHidden(RATIO) else set("".join(map(self._model.signs, self._runs.all)))
        self.legend.setText(" ".join(f"{sign} {meaning}" for sign, meaning in SIGNS.items() if sign in there))
        self.legend.setVisible(bool(there) and self.height() >= self._theme.scaled(_LOW))

    def _refresh_live(self) -> None:
        if self._training.current is not None:
            self._model.refresh(self._training.current.run)

    def _current(self) -> StudioRun | None:
        return self._model.run(self.table.currentIndex().row())

    def _activate_index(self, index: QModelIndex) -> None:
        run = self._model.run(index.row())
        if run is not None:
            self._runs.activate(run)

    def _activate_current(self) -> None:
        self._activate_index(self.table.currentIndex())

    def _rename_current(self) -> None:
        index = self.table.currentIndex().siblingAtColumn(NAME)
        self.table.setCurrentIndex(index)
        self.table.edit(index)

    def _delete_current(self) -> None:
        run = self._current()
        if run is not None:
            self.deleteAsked.emit(run)

    def _trigger(self, name: str) -> None:
        """Applies an action of the active run to the current one."""
        self._activate_current()
        if self._current() is self._runs.active:
            self._actions[name].trigger()

    def _show_menu(self, place: QPoint) -> None:
        run = self._current()
        if run is None:
            return
        trained, is_active = self._training.current, run is self._runs.active
        held = _HELD if trained is not None and not is_active else ""
        menu = Menu(self.table)
        # The keys are shown for information: the table handles them, not the menu.
        _add(menu, "Make Active\tEnter", self._activate_current, _IS_ACTIVE if is_active else held)
        menu.addSeparator()
        may_continue = self._training.can_continue(run)
        _add(menu, "Continue", partial(self._trigger, "continue_run"), "" if may_continue else _NO_MORE)
        _add(menu, "Export…", partial(self._trigger, "export_tokenizer"), _IN_TRAINING if run.ended is None else held)
        menu.addSeparator()
        if run.origin is not None:
            why_not = why_pattern_stays(run) or held
            _add(menu, self._actions["change_pattern"].text(), partial(self._trigger, "change_pattern"), why_not)
        _add(menu, self._actions["train_like"].text(), partial(self._trigger, "train_like"), held)
        if run.has_curve:
            curve = menu.addAction("Show Curve")
            curve.setCheckable(True)
            curve.setChecked(is_active or not run.marks.curve_hidden)
            curve.toggled.connect(partial(self._runs.show_curve, run))
            set_why_not(curve, "The curve of the active run is always shown." if is_active else "")
        _add(menu, "Rename\tF2", self._rename_current)
        in_training = trained is not None and trained.run is run
        _add(menu, "Delete\tDel", self._delete_current, _IN_TRAINING if in_training else "")
        menu.addSeparator()
        menu.addMenu(self.text_button.texts)
        menu.addMenu(self.table.columns_menu)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(place)


def _add(menu: Menu, text: str, done: Callable[[], None], why_not: str = "") -> None:
    set_why_not(menu.addAction(text, done), why_not)
