"""The tour through the window: goes from stop to stop, keeps where it was left, and mends what stands in its way."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QMainWindow, QWidget

from tokstudio.gui.commands.commands import Commands
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.tour.card import Shade, TourCard
from tokstudio.gui.tour.stops import (
    ENGLISH,
    JAPANESE,
    SAMPLE,
    SETTINGS,
    STOPS,
    Scene,
    Stage,
    is_of_tour,
    is_ready,
    to_the_end,
)
from tokstudio.gui.widgets.card import Strips
from tokstudio.gui.widgets.pane import Pane

# The preference with the number of the stop to continue at; 0 if the tour was not begun, or was finished.
_PROGRESS = "tour_stop"
_LAYOUT = (QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.Show, QEvent.Type.Hide)
_TABS = 44  # pixels above a pane for its tabs
_TITLE = "Take the Tour"
_TOLD = "The tour has changed the training settings."


class Tour(QObject):
    """The tour; it runs from `start` or `resume` to `leave`, and darkens the window. Preferences keep its progress."""

    changed = Signal()  # whether it runs, or can be continued

    def __init__(
        self, window: QMainWindow, stage: Stage, commands: Commands, preferences: Preferences, theme: Theme
    ) -> None:
        super().__init__(window)
        self._window, self._stage, self._commands, self._preferences = window, stage, commands, preferences
        self.shade, self.card = Shade(theme, window), TourCard(theme, window)
        self.at = -1  # the number of the stop, from 0; -1 while it does not run
        kept = preferences.get(_PROGRESS, 0)
        self.kept = kept if 0 < kept < len(STOPS) else 0  # the stop at which it can be continued; 0 if there is none
        self._scene = Scene(stage, 0, "")
        self._done = False
        self._before: Settings | None = None  # the settings before the tour, to restore
        self._help: Callable[[], object] = self._follow
        self._escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), window, enabled=False)
        self._escape.activated.connect(self.leave)
        self._soon = QTimer(self, singleShot=True, interval=0)
        self._soon.timeout.connect(self._follow)
        stage.captions.changed.connect(self._follow)
        self.card.next.connect(self._go_on)
        self.card.back.connect(self._go_back)
        self.card.left.connect(self.leave)
        self.card.helped.connect(self._mend)
        session, view, training = stage.session, stage.session.view, stage.session.training
        self._panes: tuple[Pane, ...] = (stage.compression, stage.merges, stage.text, stage.why)
        self._watched: tuple[QWidget, ...] = (window, stage.train, stage.export, *self._panes)
        for signal in (
            *(view.playhead_changed, view.token_changed, view.text_changed, session.runs.changed),
            *(training.state_changed, training.settings_changed, session.corpus.sources_changed),
            *(stage.text.tabs.currentChanged, theme.changed, *(pane.visibilityChanged for pane in self._panes)),
        ):
            signal.connect(self._follow_soon)
        for name, action in stage.actions.items():
            if name.startswith("export_"):
                action.triggered.connect(self._note_export)

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self.at >= 0

    def start(self) -> None:
        """Starts at the first stop, with the sample; while it runs, its card gets the focus."""
        if self.running:
            self.card.setFocus()
        elif self._take_sample():
            self._begin(0)

    def resume(self) -> None:
        """Continues where it was left."""
        if self.running:
            self.card.setFocus()
        elif self.kept:
            self._begin(self.kept)

    def leave(self) -> None:
        """Ends the tour; `resume` goes on at the same stop."""
        if not self.running:
            return
        self.at = -1
        self._escape.setEnabled(False)
        self._stage.session.training.set_played(False)
        for widget in self._watched:
            widget.removeEventFilter(self)
        focus = self._window.focusWidget()
        if focus is not None and (focus is self.card or self.card.isAncestorOf(focus)):
            self._window.setFocus()
        self.shade.hide()
        self.card.hide()
        if self._stage.session.view.text == JAPANESE:
            # The guide says what English sentences become.
            self._stage.session.view.set_text(ENGLISH)
        self._preferences.flush()
        self.changed.emit()
        if self._before is not None and self._stage.session.training.settings == SETTINGS:
            self._commands.offer_settings(self._before, _TOLD, lambda: not self.running)
        else:
            self._before = None

    def holds_back(self, widget: QWidget) -> bool:
        """Whether Tab leaves out a widget, because it is in the dark."""
        if not self.running:
            return False
        place = self._place()
        return not any(one is widget or one.isAncestorOf(widget) for one in (self.card, place))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _LAYOUT:
            self._soon.start()
        return False

    # ---- from stop to stop

    def _take_sample(self) -> bool:
        before = self._stage.session.training.settings
        taken = self._commands.take_sample(SAMPLE, SETTINGS, _TITLE)
        if taken and before != SETTINGS:
            self._before = before
        return taken

    def _begin(self, at: int) -> None:
        for widget in self._watched:
            widget.installEventFilter(self)
        self._escape.setEnabled(True)
        self._go_to(at)

    def _go_on(self) -> None:
        if self.at + 1 < len(STOPS):
            self._go_to(self.at + 1)
        else:
            self._keep(0)
            if is_of_tour(self._stage.session.runs.active):
                to_the_end(self._stage.session)
            self.leave()

    def _keep(self, at: int) -> None:
        self.kept = at
        self._preferences.set(_PROGRESS, at)

    def _go_back(self) -> None:
        self._go_to(max(self.at - 1, 0))

    def _mend(self) -> None:
        self._help()
        self._follow_soon()

    def _go_to(self, at: int) -> None:
        self.at, stop = at, STOPS[at]
        session = self._stage.session
        self._keep(at)
        session.training.set_played(not stop.with_run)
        if stop.enter is not None:
            stop.enter(session)
        self._done = False
        self._scene = Scene(self._stage, session.view.playhead, session.view.text)
        self._open()
        self._follow()
        self.card.setFocus()
        if stop.begin is not None and self._obstacle() is None:
            stop.begin(self._stage)
        self.changed.emit()

    def _open(self) -> None:
        place = self._place()
        if isinstance(place, Pane):
            self._stage.open(place)

    def _place(self) -> QWidget:
        stop = STOPS[self.at]
        return getattr(self._stage, (stop.place_after if self._done else "") or stop.place)

    def _note_export(self) -> None:
        self._scene = replace(self._scene, exported=True)
        self._follow_soon()

    # ---- what the card says

    def _follow_soon(self) -> None:
        if self.running:
            self._soon.start()

    def _follow(self) -> None:
        if not self.running:
            return
        stop, obstacle = STOPS[self.at], self._obstacle()
        if obstacle is None and not self._done and stop.done(self._scene):
            if not stop.with_run:
                self._go_on()
                return
            self._done = True
        # Only now: where both share a place, the pane after the task covers the one before.
        obstacle = obstacle or self._hidden()
        number = f"{self.at + 1} of {len(STOPS)}"
        if obstacle is not None:
            text, verb, self._help = obstacle
            self.card.say(number, stop.title, text)
            self.card.offer(verb)
        elif self._done:
            after = stop.after if isinstance(stop.after, str) else stop.after(self._scene)
            self.card.say(number, stop.title, after, stop.task_after)
            self.card.offer("")
        else:
            training = self._stage.session.training
            native = QKeySequence.SequenceFormat.NativeText
            shortcuts = {name: action.shortcut().toString(native) for name, action in self._stage.actions.items()}
            keys = defaultdict(str, shortcuts)
            playing = training.played and stop.with_run
            caption = self._stage.captions.of(self._scene.run) if playing else ""
            self.card.say(number, stop.title, stop.text, stop.task.format_map(keys), caption)
            self._help = training.hurry
            self.card.offer("Jump to the End" if playing else "")
        self.card.set_steps(first=self.at == 0, last=self.at + 1 == len(STOPS), done=self._done and obstacle is None)
        self._show()

    def _rectangle(self, place: QWidget) -> QRect:
        """Where a place is in the window; empty where it cannot be seen."""
        seen = place.window() is self._window and not place.visibleRegion().isEmpty()
        return QRect(place.mapTo(self._window, QPoint()), place.size()) if seen else QRect()

    def _obstacle(self) -> tuple[str, str, Callable[[], object]] | None:
        """What stands in the way of the stop, with the button that mends it; None if nothing does."""
        session, stop = self._stage.session, STOPS[self.at]
        of_tour = next(filter(is_of_tour, reversed(session.runs.all)), None)
        if stop.with_run and not is_of_tour(session.runs.active):
            if of_tour is not None:
                return "Another run is shown.", "Show the Run of the Tour", lambda: session.runs.activate(of_tour)
            if session.training.current is not None:
                return "Another training is in progress. The tour needs a run of its own.", "", self._follow
            if is_ready(session):
                play = partial(session.training.start, played=self.at == 1)
                return "This stop needs a trained tokenizer.", "Train", play
            return "This stop needs the run of the tour.", "Open the Article", self._take_sample
        if stop.with_run and self.at > 1 and session.training.current is not None:
            return "A training is in progress. The tour goes on when it has ended.", "Stop", session.training.stop
        if not stop.with_run and session.training.current is None and not is_ready(session):
            return "The text or the settings are not those of the tour.", "Open the Article", self._take_sample
        return None

    def _hidden(self) -> tuple[str, str, Callable[[], object]] | None:
        """The same, where the place of the stop cannot be seen."""
        place = self._place()
        if isinstance(place, Pane) and (place.isHidden() or place.visibleRegion().isEmpty()):
            return f"The pane {place.windowTitle()} is closed or behind another.", "Show It", self._open
        return None

    def _show(self) -> None:
        place = self._place()
        self.shade.light(self._rectangle(place))
        self.shade.show()
        # The place of the task is still worth seeing when another is lit.
        stop, taken = STOPS[self.at], self.shade.place
        spared = [self._rectangle(getattr(self._stage, name)) for name in (stop.place, *stop.beside)]
        if isinstance(place, Pane) and self._window.tabifiedDockWidgets(place):
            taken = taken.adjusted(0, -_TABS, 0, 0)
        self.card.stand_beside(taken, spared)
        self.card.show()
        # A message above the shade can be read and closed.
        above = [self.shade, *self._window.findChildren(Strips), self.card]
        if [child for child in self._window.children() if isinstance(child, QWidget)][-len(above) :] != above:
            for widget in above:
                widget.raise_()
