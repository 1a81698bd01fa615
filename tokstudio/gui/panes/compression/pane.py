"""The Compression pane: the tokens of the corpus after each merge, with the playhead.

Before the first training, it shows a welcome.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction, QActionGroup, QImage

from tokstudio.core.base.resources import SAMPLES
from tokstudio.core.base.wording import in_units, size_text
from tokstudio.core.comparison.table import SIGNS, TRAINED
from tokstudio.core.guide.glossary import explained
from tokstudio.gui.panes.compression import curves
from tokstudio.gui.panes.compression.legend import Legend, LegendEntry, SourceLines
from tokstudio.gui.panes.compression.welcome import SampleCard, Welcome
from tokstudio.gui.plot.content import Curve
from tokstudio.gui.plot.curve_plot import CurvePlot
from tokstudio.gui.session.player import SPEEDS
from tokstudio.gui.session.session import Session
from tokstudio.gui.session.training.control import BY_LIBRARY, TrainingControl
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import ElidedLabel, named, paragraph_label, plain, set_word
from tokstudio.gui.widgets.layouts import Fitting, give_way, stacked
from tokstudio.gui.widgets.menus import ActionButton, Menu, push_button, set_why_not, tool_button
from tokstudio.gui.widgets.pane import EmptyState, Pane
from tokstudio.gui.widgets.step_bar import StepBar, StepWords
from tokstudio.version import __version__

_MANY = 100_000  # merges from which the growing curve is drawn less often
_LONGEST_NAME = 360  # pixels
_LOW = 320  # pixels at the normal text size; a lower pane is low
_GAP, _LOW_GAP = 8, 2  # pixels between plot, remark and playhead bar; in a low pane
_MOST_NAMED = 3
_HELD_OUT = "held-out"  # part of the name of a curve, also for the plot
_NO_OTHERS = "No other curve is shown.", "All curves are shown."

PLAYHEAD = StepWords(
    "Playhead",
    explained("Number of merges applied", "playhead"),
    {
        "first": ("First state: no merges", "Alt+Home"),
        "previous": ("Previous merge", "["),
        "next": ("Next merge", "]"),
        "last": ("Last merge", "Alt+End"),
    },
)
_READY_FOR_LIBRARY = "Another library trains: its tokenizer is shown when it is complete. Press Train."
_READY = "Each merge joins the most frequent pair of tokens. Press Train and watch."
_WAITING = "The curve begins with the first merge."


class CompressionPane(Fitting, Pane):
    """The plot with its playhead; earlier runs are thin curves, and a double click activates one."""

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("compression", "Compression")
        self._session = session
        self._theme = theme
        self._view = curves.RATIO
        self._by_log = {view: view.log for view in curves.VIEWS}
        self._drawn: dict[int, tuple[object, ...]] = {}
        self._shown_active: StudioRun | None = None
        self._shown_switches = 0
        self.plot = CurvePlot(theme)
        self._opened = curves.OpenedCurves(self.plot, session.on_text)
        self.bar = named(StepBar(theme, PLAYHEAD, plays=True), "Playhead")
        set_word(self.bar, "playhead")
        self.legend = Legend(theme)
        self._marks = actions["compression_marks"]
        self._marks.toggled.connect(self.catch_up)
        self._make_header()
        self._make_speeds()
        self._make_pages(actions)
        self._later = QTimer(self, singleShot=True, interval=session.jobs.pauses.updates)
        self._later.timeout.connect(self._draw)
        self.plot.playheadMoved.connect(session.view.set_playhead)
        self.plot.curveDoubleClicked.connect(self._activate)
        self.bar.moved.connect(session.view.set_playhead)
        self.bar.grasped.connect(session.player.pause)
        self.bar.playAsked.connect(actions["play"].trigger)
        self._play = actions["play"]
        session.player.changed.connect(self._show_player)
        session.by_source.changed.connect(self._changed)
        session.on_text.changed.connect(self._changed)
        self.legend.chosen.connect(self._activate)
        session.training.merges_added.connect(self._merges_added)
        session.view.playhead_changed.connect(self._playhead_changed)
        for signal in (session.runs.changed, session.training.state_changed, session.corpus.sources_changed):
            signal.connect(self._changed)
        self._apply_view()
        self._show_player()
        self.catch_up()

    # ---- pictures

    def to_image(self, width: int, height: int, scale: float = 1.0) -> QImage:
        """The plot as a picture of `width` by `height` pixels, times `scale`."""
        self.catch_up()
        return self.plot.to_image(width, height, scale, self._about)

    def to_svg(self, width: int, height: int) -> bytes:
        """The plot as an SVG drawing."""
        self.catch_up()
        return self.plot.to_svg(width, height, self._about)

    @property
    def _about(self) -> str:
        """What a picture is of: the active run at the playhead, its text, and the version."""
        run = self._session.runs.active
        if run is None:
            return f"TokStudio {__version__}"
        sentences = [f"{run.sized_name(min(self._session.view.playhead, len(run)))} at the playhead"]
        if not run.has_counts:
            sentences.append(self._opened.measured_on)
        else:
            sentences.append(f"trained on {size_text(round(in_units(run.corpus_bytes, run.weight_scale)))} of text")
            sentences.append("" if run.run is None else f"SHA-256 {run.run.corpus.sha256}")
        return " · ".join(filter(None, (*sentences, f"TokStudio {__version__}")))

    def _make_header(self) -> None:
        # The legend takes the room beside the title.
        self.header.setStretch(1, 0)
        self.header.addWidget(self.legend, 1)
        self.menu = Menu(self)
        group = QActionGroup(self.menu)
        self._choices = {
            QAction(one.menu, group, checkable=True, checked=one is self._view): one for one in curves.VIEWS
        }
        self.menu.addActions(group.actions())
        self.menu.addSeparator()
        self.log = self.menu.addAction("Log scales")
        self.log.setCheckable(True)
        self.menu.addAction(self._marks)
        self.by_source = self.menu.addAction("")
        self._lines = SourceLines(self.plot, self._session.by_source, self.by_source)
        self.by_source.toggled.connect(self.catch_up)
        self.menu.aboutToShow.connect(self._may_draw_sources)
        self.curves = self.menu.add_menu("Curves of tokenizers")
        self.curves.aboutToShow.connect(partial(self.fill_curves, self.curves))
        self.menu.triggered.connect(self._choose_view)
        self.view_button = tool_button("", name="Values of the curve", menu=self.menu)
        self.header.addWidget(self.view_button)

    def _make_speeds(self) -> None:
        self.speeds = Menu(self)
        group = QActionGroup(self.speeds)
        for speed in SPEEDS:
            action = QAction(speed.text, group, checkable=True, statusTip="Set the speed of Play Merges.")
            action.setData(speed.key)
        self.speeds.addActions(group.actions())
        group.triggered.connect(lambda action: self._session.player.set_speed(action.data()))
        self.bar.speed_button.setMenu(self.speeds)

    def _make_pages(self, actions: Mapping[str, QAction]) -> None:
        theme = self._theme
        cards = [
            SampleCard(actions[f"sample_train_{sample.key}"], sample.title, sample.description) for sample in SAMPLES
        ]
        self.welcome = Welcome(
            theme,
            "Watch a tokenizer being made",
            "A tokenizer cuts text into tokens, the pieces that a language model reads, and gives each a number.",
            ActionButton(actions["take_tour"], "Show Me", theme, "help"),
            "Or drop a text anywhere, or train on a sample:",
            cards,
            push_button("Open a Text…", actions["open_corpus"].trigger),
        )
        self.ready = Welcome(theme, "Ready to train", _READY, ActionButton(actions["train"], "Train", theme, "train"))
        self.waiting, self.opened = EmptyState(_WAITING), EmptyState("")
        self.stack = stacked(self.welcome, self.ready, self.waiting, self.opened, self.plot)
        self.remark = paragraph_label("muted")
        self.remark_line = ElidedLabel("muted")
        self.body.addWidget(self.stack, 1)
        give_way(self.remark)
        for widget in (self.remark, self.remark_line, self.bar):
            self.body.addWidget(widget)

    # ---- curves

    def fill_curves(self, menu: Menu) -> None:
        """Lists the runs with curves, to show or hide them."""
        menu.clear()
        runs, session = self._with_curves, self._session
        for run in runs:
            name = menu.fontMetrics().elidedText(run.name, Qt.TextElideMode.ElideRight, _LONGEST_NAME)
            action = menu.addAction(name.replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(run is session.runs.active or not run.marks.curve_hidden)
            action.setStatusTip("Show or hide the curves of this run.")
            set_why_not(action, "The curve of the active run is always shown." if run is session.runs.active else "")
            # By key, as a menu must not keep a deleted run alive.
            action.toggled.connect(partial(self._show_curves, {run.key}))
        others = {run.key: run.marks.curve_hidden for run in runs if run is not session.runs.active}
        menu.addSeparator()
        for words, shown in (("Show All", True), ("Show Only the Active Tokenizer", False)):
            action = menu.addAction(words, partial(self._show_curves, set(others), shown))
            set_why_not(action, "" if shown in others.values() else _NO_OTHERS[shown])

    def _show_curves(self, keys: set[int], shown: bool) -> None:
        self._session.runs.show_curves({run: shown for run in self._with_curves if run.key in keys})

    @property
    def _with_curves(self) -> list[StudioRun]:
        return [run for run in self._session.runs.shown if run.has_curve]

    def catch_up(self) -> None:
        """Shows the current state of the session."""
        self._choose_page()
        self._draw()
        self._show_playhead()

    def leave(self) -> None:
        self._opened.leave()

    def _changed(self) -> None:
        if self._shown_active not in self._session.runs.shown:
            # Deleted runs are released at once, even in a hidden pane.
            self._shown_active = None
            self._lines.leave()
            self._opened.leave()
        if self.seen:
            self.catch_up()

    def _merges_added(self) -> None:
        if not self.seen or self._session.runs.active is None:
            return
        self._choose_page()
        if len(self._session.runs.active) < _MANY:
            self._draw()
        elif not self._later.isActive():
            self._later.start()
        self._show_playhead()

    def _playhead_changed(self) -> None:
        if self.seen:
            self._show_playhead()
            if self._lines.has_curves:
                self._draw()

    def _choose_page(self) -> None:
        session, run = self._session, self._session.runs.active
        if run is None:
            page = self.ready if session.corpus.sources else self.welcome
        elif not run.has_counts:
            page = self.plot if self._opened.has_curve(run) else self.opened
        else:
            self.waiting.label.setText(run.why_no_merges or _WAITING)
            # Earlier curves stay while the text is read for another one.
            page = self.plot if any(len(one) and one.has_counts for one in session.runs.shown) else self.waiting
        reason = run.no_playhead if run is not None else None
        self.bar.set_obstacle(f"No playhead: {reason}." if reason is not None else "")
        if page is self.opened and run is not None:
            self.opened.label.setText(self._opened.why_no_curve(run))
        if page is self.ready:
            self._invite(session.training)
        if self.stack.currentWidget() is not page:
            self.stack.setCurrentWidget(page)
        self.bar.setVisible(run is not None)
        self.view_button.setVisible(page is self.plot)
        self.title.setText("" if page is self.welcome else "Compression")

    def _invite(self, training: TrainingControl) -> None:
        """Says whether training can start, before there is a run."""
        headline, sentence = "Ready to train", _READY_FOR_LIBRARY if training.settings.by_library else _READY
        if training.by_library is not None:
            headline, sentence = "Training", BY_LIBRARY
        elif training.obstacle is not None:
            headline, sentence = "Not ready to train", training.obstacle
        self.ready.tell(headline, sentence, needed=headline != "Ready to train")

    def _draw(self) -> None:
        active = self._session.runs.active
        replaced, self._shown_active = active is not self._shown_active, active
        if self._shown_switches != self._session.view.switches:
            # A zoomed part of one run may not exist in another.
            self._shown_switches = self._session.view.switches
            self.plot.reset_zoom()
        shown = [run for run in self._with_curves if len(run) and (run is active or not run.marks.curve_hidden)]
        runs = [run for run in shown if run.has_counts]
        for key in set(self._drawn) - {run.key for run in runs}:
            self.plot.remove_curve(key)
            self.plot.remove_curve((key, _HELD_OUT))
            del self._drawn[key]
        for run in runs:
            of_run = run.identity, len(run), run.ended, run.name, run.held_out.tokens is None
            other = curves.has_other_corpus(run, active, self._session.on_text.text)
            state = (self._view, run is active, other, *of_run)
            if self._drawn.get(run.key) != state:
                self._drawn[run.key] = state
                self._draw_run(run, other)
        if replaced:
            self.plot.fit_zoom()
        wanted = [run for run in shown if not run.has_counts] if self._view is curves.RATIO and self.seen else []
        opened = self._opened.draw(wanted, active)
        if self.stack.currentWidget() is not self.plot:
            runs, opened = [], []
        start = sizes = ()
        if self._view is curves.RATIO and active is not None:
            start = curves.start_marks(active)
            sizes = curves.size_marks(active) if self._marks.isChecked() else ()
        self.plot.set_marks(start + sizes)
        self.plot.set_caption(curves.caption(self._view, active, sizes))
        self._lines.draw(active, self._view is curves.RATIO)
        self._show_legend([*runs, *opened])

    def _show_legend(self, runs: list[StudioRun]) -> None:
        active, merges = self._session.runs.active, self._session.view.playhead
        active_first = sorted(runs, key=lambda run: (run is not active, -run.key))
        shown = [entry for run in active_first for entry in self._entries(run)]
        self.legend.set_entries(shown + (self._lines.entries(merges) if runs else []))

    def _draw_run(self, run: StudioRun, other: bool) -> None:
        active = run is self._session.runs.active
        role, is_count, size = (
            "active" if active else "other",
            self._view in (curves.COUNT, curves.TOKENS),
            curves.size_in_picture(run),
        )
        points, sign = curves.curve(run, self._view), TRAINED if self._view is curves.RATIO else ""
        looks = {"counts": is_count, "size": size, "other_corpus": other, "sign": sign}
        self.plot.set_curve(run.key, Curve(run.name, role, *points, run.hue, **looks))
        key, held_out = (run.key, _HELD_OUT), curves.held_out_curve(run, self._view)
        if held_out is None:
            self.plot.remove_curve(key)
        else:
            role = "active held-out" if active else "other held-out"
            self.plot.set_curve(key, Curve(f"{run.name}, {_HELD_OUT}", role, *held_out, run.hue, other_corpus=other))

    def _entries(self, run: StudioRun) -> Iterator[LegendEntry]:
        active = run is self._session.runs.active
        other = curves.has_other_corpus(run, self._session.runs.active, self._session.on_text.text)
        yield LegendEntry(run.key, run.name, run.hue, active, other_corpus=other)
        if curves.has_held_out_curve(run, self._view):
            name = _HELD_OUT if active else f"{run.name}, {_HELD_OUT}"
            yield LegendEntry((run.key, _HELD_OUT), name, run.hue, active, held_out=True, other_corpus=other)

    def _show_playhead(self) -> None:
        run, merges = self._session.runs.active, self._session.view.playhead
        length = len(run) if run is not None else 0
        if self.bar.maximum() != length:
            self.bar.set_range(length)
        self.bar.set_value(merges)
        text = ""
        if run is not None and self._opened.has_curve(run):
            self.plot.set_playhead(float(merges), self._opened.playhead_text(run, merges, self._view))
            text = self._opened.remark(run, self._view)
        elif run is not None and run.has_counts and length:
            self.plot.set_playhead(float(merges), curves.playhead_text(run, merges, self._view))
            if self.stack.currentWidget() is self.plot:
                text = curves.remark(run, merges, self._view) or self._lines.remark
        else:
            self.plot.set_playhead(None, "")
        signed = TRAINED in self.plot.accessibleDescription()
        self.plot.setToolTip(f"{TRAINED} {SIGNS[TRAINED]}" if signed else "")
        text = " ".join(filter(None, (text, self._of_other_corpora)))
        self.remark.setText(text)
        self.remark_line.setText(text)
        self.fit()

    @property
    def _of_other_corpora(self) -> str:
        """Which curves are of another corpus, also where the legend has no room for their names; "" for none."""
        drawn = self.plot.content.curves.values() if self.stack.currentWidget() is self.plot else ()
        names = list(dict.fromkeys(each.name.removesuffix(f", {_HELD_OUT}") for each in drawn if each.other_corpus))
        more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
        was = "was" if len(names) == 1 else "were"
        sentence = (
            "Heights cannot all be compared: "
            f"{', '.join(names[:_MOST_NAMED])}{more} {was} trained on other text, or other shares of it."
        )
        return sentence if names else ""

    def fit(self) -> None:
        """Limits the remark to one line in a low pane; its tip has the rest."""
        low = self.height() < self._theme.scaled(_LOW)
        self.body.setSpacing(_LOW_GAP if low else _GAP)
        margins = self.body.contentsMargins()
        margins.setBottom(_GAP if low else margins.left())
        self.body.setContentsMargins(margins)
        self.remark.setVisible(bool(self.remark.text()) and not low)
        self.remark_line.setVisible(bool(self.remark.text()) and low)

    def _activate(self, key: object) -> None:
        for run in self._session.runs.shown:
            if key in (run.key, (run.key, _HELD_OUT)):
                self._session.runs.activate(run)
                return

    def _show_player(self) -> None:
        player = self._session.player
        self._play.setChecked(player.playing)
        self.bar.set_playing(player.playing)
        self.bar.set_speed(player.speed.short)
        for action in self.speeds.actions():
            action.setChecked(action.data() == player.speed.key)

    def _choose_view(self, action: QAction) -> None:
        if action is self.log:
            self._by_log[self._view] = action.isChecked()
        self._view = self._choices.get(action, self._view)
        self.log.setChecked(self._by_log[self._view])
        self._apply_view()
        self.catch_up()

    def _may_draw_sources(self) -> None:
        self._lines.allow(self._session.runs.active, self._view is curves.RATIO)

    def _apply_view(self) -> None:
        logarithmic = self.log.isChecked()
        self.plot.set_log(logarithmic, logarithmic)
        self.plot.set_labels("merges", self._view.axis, self._view.caption)
        self.view_button.setToolTip(plain(explained("Values and scales of the curve", self._view.word)))
        set_word(self.view_button, self._view.word)
        self.view_button.setText(self._view.menu)
        self.plot.setAccessibleName(f"Plot: {self._view.menu.lower()} over merges")
