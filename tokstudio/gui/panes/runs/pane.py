"""The Runs pane: every training and every opened tokenizer, to be compared, made active, renamed, exported or deleted.

How they compare as curves is the Compression pane's.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import QModelIndex, QPoint, QTimer, Signal
from PySide6.QtGui import QAction, QHideEvent, QShowEvent
from PySide6.QtWidgets import QMenu, QStackedWidget

from tokstudio.gui.panes.runs.model import NAME, RunsModel
from tokstudio.gui.panes.runs.table import RunTable
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.pane import EmptyState, Pane

_LIVE = 200  # milliseconds between two looks at the run that trains
_EMPTY = "Every run is kept here. You can compare, rename or delete it."


class RunsPane(Pane):
    """The table of runs.

    Signals:
        deleteAsked: A person wants to be rid of a run (StudioRun).

    Args:
        session: Whose runs are shown.
        theme: Its colours and fonts.
        actions: The window's actions by id; "export_tokenizer" and "continue_run" are used.
    """

    deleteAsked = Signal(object)

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("runs", "Runs")
        self._runs, self._training = session.runs, session.training
        self._actions = actions
        self._shown_active: StudioRun | None = None
        self._model = RunsModel(theme, self)
        self.table = RunTable(self._model, theme)
        self._stack = QStackedWidget()
        self._stack.addWidget(EmptyState(_EMPTY))
        self._stack.addWidget(self.table)
        self.body.addWidget(self._stack)

        # The training may be of another run than the one that is looked at, so its growth is not listened to.
        self._live = QTimer(self)
        self._live.setInterval(_LIVE)
        self._live.timeout.connect(self._refresh_live)
        self._model.renamed.connect(session.history.rename_run)
        # What is highlighted is what is shown and exported.
        self.table.clicked.connect(self._activate_index)
        self.table.doubleClicked.connect(self._activate_index)
        self.table.activateAsked.connect(self._activate_current)
        self.table.renameAsked.connect(self._rename_current)
        self.table.deleteAsked.connect(self._delete_current)
        self.table.menuAsked.connect(self._show_menu)
        session.runs.changed.connect(self._refresh)
        session.training.state_changed.connect(self._refresh)
        self._refresh()

    def showEvent(self, event: QShowEvent) -> None:
        """Catches up with what happened while it was hidden."""
        super().showEvent(event)
        self._refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stops looking at the training."""
        super().hideEvent(event)
        self._live.stop()

    # ---- keeping up

    def _refresh(self) -> None:
        listed = (self._shown_active, *map(self._model.run, range(self._model.rowCount())))
        # A run that is gone is let go of at once, seen or not.
        if not self.isVisible() and all(run is None or run in self._runs.all for run in listed):
            return
        self._model.set_runs(
            self._runs.all, self._runs.active, "paused" if self._training.state == "paused" else "training"
        )
        self._stack.setCurrentIndex(1 if self._runs.all else 0)
        self.table.show_held_out(any(run.config is not None and run.config.held_out for run in self._runs.all))
        if self._runs.active is not self._shown_active:
            self._shown_active = self._runs.active
            row = self._model.row_of(self._runs.active)
            if row >= 0:
                self.table.setCurrentIndex(self._model.index(row, NAME))
        if self._training.current is not None and self.isVisible():
            if not self._live.isActive():
                self._live.start()
        else:
            self._live.stop()

    def _refresh_live(self) -> None:
        if self._training.current is not None:
            self._model.refresh(self._training.current.run)

    # ---- what a person does

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
        """Does to the current run what an action does to the active one."""
        self._activate_current()
        if self._current() is self._runs.active:
            self._actions[name].trigger()

    def _show_menu(self, place: QPoint) -> None:
        run = self._current()
        if run is None:
            return
        trained, held = self._training.current, self._training.current is not None and run is not self._runs.active
        menu = QMenu(self.table)
        # The keys stand there to be learnt: they are the table's, not the menu's.
        _add(menu, "Make Active\tEnter", self._activate_current, run is not self._runs.active and not held)
        menu.addSeparator()
        _add(menu, "Continue", partial(self._trigger, "continue_run"), self._training.can_continue(run))
        _add(menu, "Export…", partial(self._trigger, "export_tokenizer"), run.ended is not None and not held)
        menu.addSeparator()
        if run.origin is not None:
            change = self._actions["change_pattern"].text()
            _add(menu, change, partial(self._trigger, "change_pattern"), not run.origin.says_pattern and not held)
        if run.has_counts:
            curve = _add(menu, "Show Curve", None, run is not self._runs.active)
            curve.setCheckable(True)
            curve.setChecked(run is self._runs.active or not run.curve_hidden)
            curve.toggled.connect(partial(self._runs.show_curve, run))
        _add(menu, "Rename\tF2", self._rename_current)
        _add(menu, "Delete\tDel", self._delete_current, trained is None or trained.run is not run)
        menu.addSeparator()
        menu.addMenu(self.table.columns_menu)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(place)


def _add(menu: QMenu, text: str, done: object, possible: bool = True) -> QAction:
    action = menu.addAction(text)
    if done is not None:
        action.triggered.connect(done)  # pyright: ignore[reportArgumentType]
    action.setEnabled(possible)
    return action
