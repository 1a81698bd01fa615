"""The Runs pane: all trainings and opened tokenizers, to compare, activate, rename, export or delete.

The Compression pane shows their curves.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtCore import QModelIndex, QPoint, QTimer, Signal
from PySide6.QtGui import QAction, QHideEvent, QShowEvent

from tokstudio.gui.panes.runs.model import ALGORITHM, HELD_OUT, NAME, RATIO, RunsModel
from tokstudio.gui.panes.runs.table import RunTable
from tokstudio.gui.panes.runs.text_choice import TextButton
from tokstudio.gui.session.availability import why_pattern_stays
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import paragraph_label
from tokstudio.gui.widgets.layouts import stacked
from tokstudio.gui.widgets.menus import Menu, set_why_not
from tokstudio.gui.widgets.pane import EmptyState, Pane

_LIVE = 200  # milliseconds between two updates of the run in training
_ELSEWHERE = "* This run was trained on another text than the one that all are measured on."
_EMPTY = "Every run is kept here. You can compare, rename or delete it."
_IS_ACTIVE = "It is active already."
_HELD = "Training is in progress: its run stays active."
_IN_TRAINING = "Stop the training first; the run is kept."
_NO_MORE = "Only a run of this corpus continues, with a larger vocabulary or a lower frequency."


class RunsPane(Pane):
    """The table of runs."""

    deleteAsked = Signal(object)  # the user wants to delete a run (StudioRun)

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("runs", "Runs")
        self._runs, self._training = session.runs, session.training
        self._actions = actions
        self._shown_active: StudioRun | None = None
        self._on_text = session.on_text
        self._model = RunsModel(theme, session.on_text, self)
        self.table = RunTable(self._model, theme)
        self._stack = stacked(EmptyState(_EMPTY), self.table)
        self.elsewhere = paragraph_label("muted", _ELSEWHERE)
        self.body.addWidget(self._stack, 1)
        self.body.addWidget(self.elsewhere)
        self.text_button = TextButton(session, actions)
        self.header.addWidget(self.text_button)
        # The training may be of another run than the active one, so its growth signals are not used.
        self._live = QTimer(self, interval=_LIVE)
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
        session.on_text.changed.connect(self._explain_star)
        session.runs.changed.connect(self._refresh)
        session.training.state_changed.connect(self._refresh)
        self._refresh()

    def showEvent(self, event: QShowEvent) -> None:
        """Shows changes that were made while it was hidden."""
        super().showEvent(event)
        self._refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stops following the training."""
        super().hideEvent(event)
        self._live.stop()
        self._want()

    # ---- updates

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
        self.table.show_seldom(ALGORITHM, any(config is not None and config.algorithm != "bpe" for config in configs))
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
        self._explain_star()

    def _explain_star(self) -> None:
        starred = any(map(self._model.is_elsewhere, self._runs.all))
        self.elsewhere.setVisible(starred and not self.table.isColumnHidden(RATIO))

    def _refresh_live(self) -> None:
        if self._training.current is not None:
            self._model.refresh(self._training.current.run)

    # ---- user actions

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
        if run.has_curve:
            curve = menu.addAction("Show Curve")
            curve.setCheckable(True)
            curve.setChecked(is_active or not run.curve_hidden)
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
