"""The tour through the window: goes from stop to stop, keeps where it was left, and mends what stands in its way.

What it changes for its stops (corpus, settings, text, workspace), it puts back when it ends.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QCursor, QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractButton, QMainWindow, QWidget

from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.leaving_out import LeavingOut
from tokstudio.core.corpus.source import Source
from tokstudio.core.training.forecast import fitting_merges
from tokstudio.gui.commands.commands import Commands
from tokstudio.gui.session.common.corpus import sample_title
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.state.problems import Problem
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.tour.card import Shade, TourCard
from tokstudio.gui.tour.stops import (
    ENGLISH,
    HELD_OUT,
    JAPANESE,
    PRE_TOKENS,
    SAMPLE,
    SETTINGS,
    STOPS,
    Scene,
    Stage,
    has_article,
    is_of_tour,
    is_own,
    is_ready,
    run_of_tour,
    to_the_end,
)
from tokstudio.gui.widgets.card import Strips
from tokstudio.gui.widgets.pane import Pane

# The preference with the number of the stop to continue at; 0 if the tour was not begun, or was finished.
_PROGRESS = "tour_stop"
_LAYOUT = (QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.Show, QEvent.Type.Hide)
_TABS = 44  # pixels above a pane for its tabs
_TITLE = "Take the Tour"
_WORKSPACE = "learn"
_OWN_TITLE = "Train on Your Text"
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


@dataclass(frozen=True)
class _Before:
    """What the tour may change."""

    sources: tuple[Source, ...]
    settings: Settings
    text: str
    workspace: str
    left_out: LeavingOut
    hidden: dict[int, bool]  # whether the curves of each run are hidden, by its key; with those made since


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
        self._before: _Before | None = None  # to put back
        self._sentence = ENGLISH  # in the Text pane, before the tour asked for Japanese
        self._caption = ""  # what the status bar tells of a training
        self._drawn: StudioRun | None = None  # the run for which the curves of others were hidden
        self._awaits_own = False  # whether the next text of the person's own is trained on
        self._earlier: tuple[Source, ...] = ()  # the texts that were there when it was asked for
        self._problem = ""  # why that text was not taken
        self._helps: tuple[Callable[[], object], ...] = ()  # what the buttons of the card do
        self._keys = [QShortcut(QKeySequence(key), window, enabled=False) for key in (Qt.Key.Key_Escape, *_ENTER)]
        for key, act in zip(self._keys, (self.leave, self.card.go_on, self.card.go_on), strict=True):
            key.activated.connect(act)
        self._soon = QTimer(self, singleShot=True, interval=0)
        self._soon.timeout.connect(self._follow)
        stage.caption_changed.connect(self._take_caption)
        stage.session.corpus.problem.connect(self._take_problem)
        self.card.next.connect(self._go_on)
        self.card.back.connect(self._go_back)
        self.card.left.connect(self.leave)
        self.card.helped.connect(self._mend)
        session, view, training = stage.session, stage.session.view, stage.session.training
        self._input = stage.text.encode.input  # where Enter goes on, too
        for signal in (
            *(view.playhead_changed, view.token_changed, view.text_changed, session.runs.changed),
            *(training.state_changed, training.settings_changed, session.corpus.sources_changed),
            *(session.jobs.busy_changed, stage.text.tabs.currentChanged, theme.changed),
        ):
            signal.connect(self._follow_soon)
        for name, action in stage.actions.items():
            if name.startswith("export_"):
                action.triggered.connect(self._note_export)

    @cached_property
    def _watched(self) -> tuple[QWidget, ...]:
        """What the tour lights, from its begin on: some of the panes are not there before."""
        stage = self._stage
        panes = [stage.pane(name) for name in ("compression", "merges", "text", "why", "compare")]
        for pane in panes:
            pane.visibilityChanged.connect(self._follow_soon)
        return (self._window, stage.train, stage.export, *panes, self._input)

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self.at >= 0

    def start(self) -> None:
        """Starts at the first stop, with the sample; while it runs, its card gets the focus."""
        if self.running:
            self.card.setFocus()
            return
        before = self._now()
        if self._take_sample():
            self._begin(0, before)

    def resume(self) -> None:
        """Continues where it was left."""
        if self.running:
            self.card.setFocus()
        elif self.kept:
            self._begin(self.kept, self._now())

    def leave(self) -> None:
        """Ends the tour; `resume` goes on at the same stop."""
        if not self.running:
            return
        self.at = -1
        for key in self._keys:
            key.setEnabled(False)
        self._stage.session.training.set_played(False)
        for widget in self._watched:
            widget.removeEventFilter(self)
        focus = self._window.focusWidget()
        if focus is not None and (focus is self.card or self.card.isAncestorOf(focus)):
            self._window.setFocus()
        self.shade.hide()
        self.card.hide()
        self._cool()
        self._put_back()
        self._preferences.flush()
        self.changed.emit()
        if self.kept:
            told = f"The tour stopped at {self.kept + 1} of {len(STOPS)}. Help > Continue the Tour goes on there."
            self._stage.session.jobs.notify(told, "Continue", self.resume, lambda: bool(self.kept) and not self.running)

    def holds_back(self, widget: QWidget) -> bool:
        """Whether Tab leaves out a widget, because it is in the dark."""
        if not self.running:
            return False
        return not any(one is widget or one.isAncestorOf(widget) for one in (self.card, *self._places()))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _LAYOUT:
            self._soon.start()
        elif isinstance(event, QKeyEvent) and watched is self._input and event.key() in _ENTER:
            event.accept()  # else the shortcut of the window takes it
            if event.type() == QEvent.Type.KeyPress:
                # What was just written is not in the state yet.
                if self._done or self._scene.entered or self._input.text() == self._scene.text:
                    self.card.go_on()
                else:
                    self._scene = replace(self._scene, entered=True)
                    self._follow_soon()
            return True
        return False

    # ---- what it puts back

    def _now(self) -> _Before:
        session = self._stage.session
        settings, text = session.training.settings, session.view.text
        hidden = {run.key: run.marks.curve_hidden for run in session.runs.all}
        return _Before(session.corpus.sources, settings, text, self._stage.workspace(), session.corpus.left_out, hidden)

    def _put_back(self) -> None:
        before, self._before, session = self._before, None, self._stage.session
        if before is None:
            return
        self._drawn = None
        session.runs.show_curves({run: not before.hidden.get(run.key, False) for run in session.runs.all})
        is_back = bool(before.sources) and has_article(session)
        corpus = before.sources if is_back else session.corpus.sources
        settings = before.settings if session.training.settings == SETTINGS else session.training.settings
        if corpus != session.corpus.sources or settings != session.training.settings:
            with session.history.together("Leave the Tour"):
                session.corpus.set_sources(corpus, before.left_out if is_back else None)
                session.training.set_settings(settings)
        if before.text or session.view.text == JAPANESE:
            # The guide says what English sentences become.
            session.view.set_text(before.text or ENGLISH)
        self._stage.enter(before.workspace)

    def _cool(self) -> None:
        """Takes the colour under the pointer from buttons that are not below it any more; Qt tells only of moves."""
        under = self._window.childAt(self._window.mapFromGlobal(QCursor.pos()))
        for button in self._window.findChildren(QAbstractButton):
            if button.underMouse() and button is not under:
                button.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, False)
                button.update()

    # ---- from stop to stop

    def _take_sample(self) -> bool:
        return self._commands.take_sample(SAMPLE, SETTINGS, _TITLE)

    def _begin(self, at: int, before: _Before) -> None:
        self._before = before
        for widget in self._watched:
            widget.installEventFilter(self)
        for key in self._keys:
            key.setEnabled(True)
        self._go_to(at)

    def _go_on(self) -> None:
        session = self._stage.session
        if STOPS[self.at].trains and is_ready(session) and session.training.obstacle is None:
            session.training.start()  # the next stops need it
        elif self.at + 1 < len(STOPS):
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

    def _mend(self, number: int) -> None:
        self._helps[number]()
        self._follow_soon()

    def _go_to(self, at: int) -> None:
        self.at, stop = at, STOPS[at]
        session = self._stage.session
        self._keep(at)
        session.training.set_played(stop.trains)
        self._stage.enter(_WORKSPACE)
        active = session.runs.active
        if (
            active is not None
            and not self._serves(active)
            and any(stop.again and is_of_tour(active, stop.again) for stop in STOPS)
        ):
            first = run_of_tour(session, SETTINGS)
            session.runs.activate(active if first is None else first)
        if stop.enter is not None and self._serves(session.runs.active):
            stop.enter(session)
        if session.view.text != JAPANESE:
            self._sentence = session.view.text or ENGLISH
        elif self._serves(session.runs.active):
            session.view.set_text(self._sentence)
        self._done, self._awaits_own, self._problem = False, False, ""
        self._draw_only()
        self._scene = Scene(self._stage, session.view.playhead, session.view.text, session.runs.active)
        self._open()
        self._follow()
        self.card.setFocus()
        if stop.begin is not None and self._obstacle() is None:
            stop.begin(self._stage)
        self.changed.emit()

    def _draw_only(self) -> None:
        """Hides the curves of all runs but those that this stop speaks of."""
        runs = self._stage.session.runs
        self._drawn = runs.active
        first = run_of_tour(self._stage.session, SETTINGS) if STOPS[self.at].compares else None
        runs.show_curves({run: run in (runs.active, first) for run in runs.all})

    def _note_made(self) -> None:
        """Notes that the tour made the run that has just become active: closing does not ask about it."""
        run, before = self._stage.session.runs.active, self._before
        if run is not None and before is not None and run.key not in before.hidden:
            before.hidden[run.key] = False
            run.note(is_demo=any(is_of_tour(run, settings) for settings in (SETTINGS, PRE_TOKENS, HELD_OUT)))

    def _open(self) -> None:
        for place in reversed(self._places()):
            if isinstance(place, Pane):
                self._stage.open(place)

    def _place(self) -> QWidget:
        stop = STOPS[self.at]
        return self._stage.lit((stop.place_after if self._done else "") or stop.place)

    def _places(self) -> tuple[QWidget, ...]:
        """What stays light: the place of the task, then what is to be watched."""
        stop, place = STOPS[self.at], self._place()
        others = (self._stage.lit(name) for name in (stop.place, *stop.beside))
        return place, *(other for other in others if other is not place)

    # ---- trainings of the card

    def _serves(self, run: StudioRun | None) -> bool:
        """Whether a run is one that this stop shows."""
        again = STOPS[self.at].again
        return is_of_tour(run) or (again is not None and is_of_tour(run, again))

    def _train_again(self) -> None:
        """Trains on the article with the settings of this stop, or shows the run that did."""
        session, again = self._stage.session, STOPS[self.at].again
        first = run_of_tour(session, SETTINGS)
        if again is None or first is None or first.corpus is None:
            return
        if (made := run_of_tour(session, again)) is not None:
            session.runs.activate(made)
        else:
            session.training.start_with(again.config(), first.corpus, STOPS[self.at].remark)

    def _ask_own(self, action: str) -> None:
        jobs, corpus = self._stage.session.jobs, self._stage.session.corpus
        self._awaits_own, self._problem, self._earlier = True, "", corpus.sources
        running = [*jobs.running]
        self._stage.actions[action].trigger()
        reads = any(job not in running and not job.quiet for job in jobs.running)
        self._awaits_own = reads or corpus.sources != self._earlier  # else nothing was chosen

    def _train_own(self) -> None:
        """Trains on the text that was asked for, alone, with the size that fits it."""
        session = self._stage.session
        earlier = {id(one.data) for one in self._earlier}  # a division of a text makes another source
        own = tuple(one for one in session.corpus.sources if id(one.data) not in earlier and not sample_title(one))
        if not self._awaits_own or not own:
            return
        with session.history.together(_OWN_TITLE):
            if len(own) < len(session.corpus.sources):
                session.corpus.set_sources(own)
            session.training.set_settings(PRE_TOKENS.with_size(256 + fitting_merges(session.corpus.current.bytes)))
        if session.training.obstacle is None:
            self._awaits_own = False
            session.training.start()

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
        if stop.own:
            self._train_own()
        if self._stage.session.runs.active is not self._drawn:
            self._note_made()
            self._draw_only()
        if obstacle is None and not self._done and stop.done(self._scene):
            if stop.trains:
                self._go_to(self.at + 1)
                return
            self._done = True
            if stop.show is not None:
                stop.show(self._stage)
        # Only now: where both share a place, the pane after the task covers the one before.
        obstacle = obstacle or self._hidden()
        number = f"{self.at + 1} of {len(STOPS)}"
        if obstacle is not None:
            text, verb, mend = obstacle
            self.card.say(number, stop.title, text)
            self._offer((verb, mend), is_main=True)
        elif self._done:
            after = stop.after if isinstance(stop.after, str) else stop.after(self._scene)
            self.card.say(number, stop.title, after, stop.task_after)
            self._offer()
        else:
            native = QKeySequence.SequenceFormat.NativeText
            shortcuts = {name: action.shortcut().toString(native) for name, action in self._stage.actions.items()}
            keys = defaultdict(str, shortcuts)
            self.card.say(number, stop.title, stop.text, stop.task.format_map(keys), self._problem or self._caption)
            self._offer(*self._tasks(), is_main=stop.again is not None or stop.own)
        done = self._done and obstacle is None
        self.card.set_steps(first=self.at == 0, last=self.at + 1 == len(STOPS), done=done)
        self._show()

    def _tasks(self) -> tuple[tuple[str, Callable[[], object]], ...]:
        """The buttons that do the task of this stop or help with it."""
        stop, training = STOPS[self.at], self._stage.session.training
        if stop.own:
            asked = partial(self._ask_own, "open_corpus"), partial(self._ask_own, "paste_corpus")
            return ("Open a Text…", asked[0]), ("Paste a Text", asked[1])
        if stop.again is not None:
            return () if training.busy else ((stop.verb, self._train_again),)
        return (("Jump to the End", training.hurry),) if training.played else ()

    def _offer(self, *tasks: tuple[str, Callable[[], object]], is_main: bool = False) -> None:
        offered = [task for task in tasks if task[0]]
        self._helps = tuple(act for _, act in offered)
        self.card.offer(*(verb for verb, _ in offered), is_main=is_main)

    def _take_caption(self, caption: str) -> None:
        self._caption = caption
        self._follow()

    def _take_problem(self, problem: Problem) -> None:
        if self._awaits_own:
            self._problem = problem.text
            self._follow_soon()

    def _rectangle(self, place: QWidget) -> QRect:
        """Where a place is in the window; empty where it cannot be seen."""
        seen = place.window() is self._window and not place.visibleRegion().isEmpty()
        return QRect(place.mapTo(self._window, QPoint()), place.size()) if seen else QRect()

    def _obstacle(self) -> tuple[str, str, Callable[[], object]] | None:
        """What stands in the way of the stop, with the button that mends it; None if nothing does."""
        session, stop = self._stage.session, STOPS[self.at]
        training, active = session.training.current, session.runs.active
        if stop.own:
            if training is not None and is_own(training.run):
                return "The training on your text is in progress.", "", self._follow
            return self._in_progress() if session.training.busy else None
        if stop.trains:
            if training is None and not is_ready(session):
                return "The text or the settings are not those of the tour.", "Open the Article", self._take_sample
            return None
        if not self._serves(active):
            if (of_tour := run_of_tour(session, SETTINGS)) is not None:
                return "Another run is shown.", "Show the Run of the Tour", lambda: session.runs.activate(of_tour)
            if training is not None:
                return "Another training is in progress. The tour needs a run of its own.", "", self._follow
            if is_ready(session):
                play = partial(session.training.start, played=self.at == 1)
                return "This stop needs a trained tokenizer.", "Train", play
            return "This stop needs the run of the tour.", "Open the Article", self._take_sample
        if self.at > 1 and training is not None and not (stop.again and is_of_tour(training.run, stop.again)):
            return self._in_progress()
        return None

    def _in_progress(self) -> tuple[str, str, Callable[[], object]]:
        """The same, where a training stands in the way; one that is played only needs to go faster."""
        training = self._stage.session.training
        verb, mend = ("Jump to the End", training.hurry) if training.played else ("Stop", training.stop)
        return "A training is in progress. The tour goes on when it has ended.", verb, mend

    def _hidden(self) -> tuple[str, str, Callable[[], object]] | None:
        """The same, where the place of the stop cannot be seen."""
        place = self._place()
        if isinstance(place, Pane) and (place.isHidden() or place.visibleRegion().isEmpty()):
            return f"The pane {place.windowTitle()} is closed or behind another.", "Show It", self._open
        return None

    def _show(self) -> None:
        place = self._place()
        rectangles = [self._rectangle(one) for one in self._places()]
        moved = self.shade.light(rectangles)
        self.shade.show()
        taken = self.shade.place
        if isinstance(place, Pane) and self._window.tabifiedDockWidgets(place):
            taken = taken.adjusted(0, -_TABS, 0, 0)
        home = self._rectangle(self._stage.train).bottom()
        self.card.stand_beside(taken, rectangles[1:], home)
        self.card.show()
        # A message above the shade can be read and closed.
        above = [self.shade, *self._window.findChildren(Strips), self.card]
        if [child for child in self._window.children() if isinstance(child, QWidget)][-len(above) :] != above:
            for widget in above:
                widget.raise_()
        if moved:
            self._cool()
