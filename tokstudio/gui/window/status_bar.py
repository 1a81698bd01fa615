"""The status bar: the current work with its progress, and the figures of the active run.

While a training is played, it shows the merge at the playhead as a sentence. After half a second of work it shows a
busy pointer, after two a progress bar, after five the time left. A timer reads the progress of the jobs.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import time
from collections import deque
from collections.abc import Container

from PySide6.QtCore import QRect, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QStatusBar, QStyle, QStyleOption, QWidget

from tokstudio.core.base.progress import Progress
from tokstudio.core.base.wording import capitalized, several, several_whole, whole_text
from tokstudio.core.comparison.table import SIGNS, TRAINED
from tokstudio.core.model.run import STOPPED
from tokstudio.gui.session.common.jobs import Job
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.spelling import merge_sentence
from tokstudio.gui.widgets.labels import ElidedLabel, guarded_painter, plain
from tokstudio.gui.widgets.layouts import STRETCH, row
from tokstudio.gui.widgets.menus import link_button
from tokstudio.gui.widgets.work_line import ProgressBar
from tokstudio.gui.window.message_bar import NoticeLine, close_button

_TICK = 100
_MARGIN = 2
_INSET = 12
_MOST_FIGURES = 0.55  # of the line's width
_POINTER_AFTER = 0.5
_TIME_LEFT_AFTER = 5.0
_JUDGED_BY = 5.0  # seconds of work for the estimate of the time left
_COMPILING_JUDGED_BY = 60.0  # some loops take a second and others ten, so that the last few say nothing
_LEAST_DONE = 0.02  # the least share of a phase for an estimate
_SHOWN_FOR = 15_000  # milliseconds that a message about a finished action is shown

# The phases of a training before merging.
_BEFORE_MERGING = (
    *("reading", "hashing", "cutting", "holding out", "splitting", "counting", "joining", "laying out"),
    *("merging words", "finding runs"),
)

_WORDS = {
    "compiling": "Getting ready, at the first start only",
    "loading": "Loading the engine",
    "downloading": "Downloading",
    "reading": "Reading the text",
    "hashing": "Computing the corpus's checksum",
    "cutting": "Looking for special tokens",
    "holding out": "Holding out text",
    "splitting": "Splitting the text",
    "counting": "Counting pairs",
    "joining": "Combining the counts",
    "laying out": "Preparing the tokens",
    "repeating": "Repeating the merges of the run",
    "merging": "Merging",
    "merging words": "Phase 1: merging within words",
    "finding runs": "Phase 2: finding adjacent words",
    "counting lines": "Counting lines and characters",
    "counting characters": "Counting lines and characters",
    "encoding": "Encoding",
    "measuring held-out text": "Measuring held-out text",
    "writing": "Writing",
    "proving": "Checking the written files",
}


class StatusLine(QStatusBar):
    """Shows the training, else the oldest other job, else the result of the active run."""

    caption_changed = Signal(str)  # what is told of the work to somebody who watches; "" for nothing

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._jobs, self._runs, self._view, self._training = session.jobs, session.runs, session.view, session.training
        self._queue, self._live = session.queue, session.live
        self._theme = theme
        self._job: Job | None = None
        self._begun = self._since = self._looked = 0.0  # the start of the job and its phase, and the last update
        self._phase = ""
        self._pace = Pace()
        self._merges_before = 0
        self._rate = 0.0
        self.caption = ""
        self.setSizeGripEnabled(False)

        self.label = ElidedLabel()
        self.bar = ProgressBar()
        self.bar.setFixedWidth(180)
        self.cancel = close_button(theme, "Cancel", "Cancel")
        self.cancel.clicked.connect(self._cancel)
        self.left_over = QLabel(textFormat=Qt.TextFormat.PlainText)
        self.left_over.setProperty("role", "muted")
        self._row = QWidget()
        self.skip = link_button("Jump to the End", session.training.hurry)
        self.skip.hide()  # the bar is as high as what it shows at first
        shown = (self.label, self.bar, self.left_over, self.cancel, self.skip)
        row(*shown, STRETCH, spacing=10, margins=(_INSET, 0, 0, _MARGIN), parent=self._row)
        self.addWidget(self._row, 1)
        self.notice = NoticeLine(theme, session.jobs.pauses.notice)
        self.addWidget(self.notice, 1)
        self.notice.changed.connect(self._show_notice)
        session.jobs.noticed.connect(self.notice.tell)

        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        self.figures = QLabel(textFormat=Qt.TextFormat.PlainText, alignment=right)
        self.figures.setContentsMargins(0, 0, _INSET, _MARGIN)
        self.addPermanentWidget(self.figures)

        self._timer = QTimer(self, interval=_TICK)
        self._timer.timeout.connect(self._refresh)
        for signal in (session.jobs.busy_changed, session.training.state_changed):
            signal.connect(self._jobs_changed)
        for signal in (session.view.playhead_changed, session.runs.changed):
            signal.connect(self._show_figures)
        # With the table of merges, which marks the same one.
        for signal in (session.training.merges_added, session.view.playhead_changed):
            signal.connect(self._follow_played)
        session.jobs.begun.connect(self.clearMessage)
        for signal in (session.history.changed, session.view.playhead_changed, session.view.text_changed):
            signal.connect(self._forget_sentence)
        session.training.state_changed.connect(self._forget_during_training)
        self.messageChanged.connect(self._tell_rest)
        self.messageChanged.connect(lambda sentence: self.notice.pause(bool(sentence)))
        theme.follow(self._set_fonts)
        self._refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_figures()
        self._tell_rest()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draws a sentence with dots at the end if it does not fit; Qt would cut it anywhere."""
        if not self.currentMessage():
            super().paintEvent(event)
            return
        with guarded_painter(self) as painter:
            option = QStyleOption()
            option.initFrom(self)
            self.style().drawPrimitive(QStyle.PrimitiveElement.PE_PanelStatusBar, option, painter, self)
            painter.setPen(self.palette().windowText().color())
            how = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
            painter.drawText(self._room(), how, self._fitting(self.currentMessage()))

    def say(self, sentence: str) -> None:
        """Shows a sentence for a while; behind a notice, if there is one."""
        if self.notice.notice is not None:
            self.notice.add(sentence)
            return
        # A job that reports its result has ended, so nothing is hidden.
        hides_progress = self._job is not None and self._job.running
        self.showMessage(sentence, self._jobs.pauses.brief_message if hides_progress else _SHOWN_FOR)

    def forget(self, sentences: Container[str]) -> None:
        """Removes one of these sentences: Qt shows the tip of an action until the mouse moves, even an outdated one."""
        if self.currentMessage() in sentences:
            self.clearMessage()

    def _show_notice(self) -> None:
        """Shows a notice in place of the progress, with the sentence that was there."""
        shown = self.notice.notice is not None
        if shown:
            self.notice.add(self.currentMessage())
            self.clearMessage()
        self._row.setVisible(not shown)
        self.notice.setVisible(shown)

    def _forget_sentence(self) -> None:
        """Removes a sentence when the user does the next thing; what a job changes belongs to what it told."""
        if self._current() is None and not self._live.busy:
            self.clearMessage()

    def _forget_during_training(self) -> None:
        if self._training.current is not None:
            self.clearMessage()

    def _room(self) -> QRect:
        """The area of a sentence: from the text of the progress to the figures."""
        return QRect(_INSET, 0, self.figures.x() - 2 * _INSET, self.height() - _MARGIN)

    def _fitting(self, sentence: str) -> str:
        return self.fontMetrics().elidedText(sentence, Qt.TextElideMode.ElideRight, self._room().width())

    def _tell_rest(self) -> None:
        sentence = self.currentMessage()
        self.setToolTip(plain(sentence) if self._fitting(sentence) != sentence else "")

    def _set_fonts(self) -> None:
        for label in (self.figures, self.left_over):
            label.setFont(self._theme.tabular_font())
        # If the height changed while a sentence is shown, these would show behind it.
        shown = (self.label, self.bar, self.left_over, self.cancel, self.skip)
        highest = max(widget.sizeHint().height() for widget in shown)
        self._row.setMinimumHeight(highest + _MARGIN)
        self._show_figures()

    def _current(self) -> Job | None:
        return self._current_training or next((job for job in self._jobs.running if not job.quiet), None)

    def _jobs_changed(self) -> None:
        job = self._current()
        if job is not self._job:
            self._job = job
            self._phase = ""
            self._since = self._begun = self._looked = time.monotonic()
            self._rate = 0.0
            self._merges_before = self._made
        if job is None:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()
        self._refresh()

    def _refresh(self) -> None:
        job = self._job
        if not self._training.played:
            self.skip.clearFocus()  # else hiding it would focus a button that nobody chose
        self.skip.setVisible(self._training.played)
        if job is None:
            _set_busy_pointer(False)
            self.bar.hide()
            self.cancel.hide()
            self.left_over.setText("")
            self.label.setText(self._how_it_ended())
            self._tell("")
            return
        progress, now = job.progress, time.monotonic()
        if progress.phase != self._phase:
            self._phase, self._since = progress.phase, now
            self._pace = Pace(_COMPILING_JUDGED_BY if progress.phase == "compiling" else _JUDGED_BY)
        doing = _WORDS.get(progress.phase, capitalized(progress.phase)) + "…" if progress.phase else ""
        compiles = progress.phase == "compiling" and progress.total > 0
        if compiles:
            doing = f"{_WORDS['compiling']}: {progress.done} of {progress.total} loops compiled"
        if job.paused:
            # A pause does not count as work.
            self._since += now - self._looked
            self._pace = Pace(self._pace.judged_by)
            doing = self._where_it_waits(progress.phase)
        self._pace.note(now, progress)
        elapsed = now - self._begun
        training = self._training.current
        caption = self._merge_played()
        self.label.setText(caption or self._in_queue(progress.phase, doing, paused=job.paused))
        self.bar.setVisible(not caption and 1000 * elapsed > self._jobs.pauses.shown_bar and not job.paused)
        # Else the bar would draw the window at once, with all that changed in it.
        self.bar.setUpdatesEnabled(False)
        self.bar.show_progress(progress)
        self.bar.setUpdatesEnabled(True)
        _set_busy_pointer(training is None and elapsed > _POINTER_AFTER)
        self.cancel.setVisible(training is None and 1000 * elapsed > self._jobs.pauses.shown_bar)
        left = self._pace.seconds_left() if now - self._since > _TIME_LEFT_AFTER else None
        then = ", then merging" if training is not None and progress.phase in _BEFORE_MERGING else ""
        # No tenths of a second, which nobody can foresee.
        text = f"about {_seconds(left) if left >= 9.95 else f'{max(1, round(left))} s'} left{then}" if left else ""
        self._tell(caption or (", ".join(filter(None, (doing, text))) if compiles else ""))
        figures = (self._speed(now), text)
        self.left_over.setText("" if job.paused or caption else " · ".join(filter(None, figures)))
        self._looked = now

    def _merge_played(self) -> str:
        """The merge at the playhead as a sentence, while a training is played; "" before the first."""
        training, at = self._training.current, self._view.playhead
        if training is None or not training.played or training.job.paused or training.run is not self._runs.active:
            return ""
        return merge_sentence(training.run, at) if at else ""

    def _follow_played(self) -> None:
        if caption := self._merge_played():
            self.label.setText(caption)
            self._tell(caption)

    def _tell(self, caption: str) -> None:
        if caption != self.caption:
            self.caption = caption
            self.caption_changed.emit(caption)

    def _in_queue(self, phase: str, doing: str, *, paused: bool) -> str:
        """Which training of several is in progress; what it does follows where that is not merging."""
        if not self._queue.total or self._job not in (self._current_training, self._training.by_library):
            return doing
        text = f"Training {self._queue.number} of {self._queue.total}: {self._queue.what}"
        return f"{text}…" if phase in ("merging", "training", "") and not paused else f"{text}. {doing}"

    @property
    def _current_training(self) -> Job | None:
        return self._training.current.job if self._training.current is not None else None

    def _where_it_waits(self, phase: str) -> str:
        training, merges = self._training.current, self._made
        if not merges:
            return f"Paused while {phase}. F6 resumes." if phase else "Paused. F6 resumes."
        what = "new merge" if training is not None and training.run.before else "merge"
        return f"Paused after {several(merges, what)}. F6 resumes, F10 makes one more."

    @property
    def _made(self) -> int:
        """The merges of the training, without those of the tokenizer that it started from."""
        training = self._training.current
        return max(0, len(training.run) - training.run.before) if training is not None else 0

    def _speed(self, now: float) -> str:
        training = self._training.current
        if training is None or training.job.paused:
            return ""
        merges = self._made
        if now - self._looked < _TICK / 2000:
            return f"{self._rate:,.0f} merges/s" if self._rate >= 1 else ""
        rate = (merges - self._merges_before) / (now - self._looked)
        self._merges_before = merges
        self._rate = rate if self._rate == 0 else 0.8 * self._rate + 0.2 * rate
        return f"{self._rate:,.0f} merges/s" if self._rate >= 1 and training.job.progress.phase == "merging" else ""

    def _how_it_ended(self) -> str:
        run = self._runs.active
        if run is None or run.ended is None:
            return ""
        if run.run is None:
            return run.ended.capitalize() + "."
        seconds = _seconds(run.run.seconds)
        played = f", played for {_seconds(run.played)}" if run.played else ""
        ended = (
            f"Stopped after {seconds}{played}."
            if run.ended == STOPPED
            else f"Trained in {seconds}{played}: {run.ended}."
        )
        remarks = [ended]
        if run.run.missed_stage:
            remarks.append(run.run.missed_stage)
        if run.replaced:
            remarks.append(f"{several(run.replaced, 'place was', 'places were')} not UTF-8 and became U+FFFD.")
        if run.uses.unknown:
            words = "character is", "characters are"
            remarks.append(f"{several_whole(run.uses.unknown, run.weight_scale, *words)} unknown.")
        return " ".join(remarks)

    def _show_figures(self) -> None:
        run, at = self._runs.active, self._view.playhead
        if run is None or (run.has_counts and not run.log.tokens_before):
            self._show_longest("")
        elif not run.has_counts:
            self._show_longest(several(at, "merge"))
        elif self._training.played:
            self._show_longest(several(at, "merge"))  # leaves room for the sentence of a merge
        else:
            ratio = run.held_out_bytes_per_token(at)
            held_out = f" ({ratio:,.2f} in held-out text)" if ratio is not None else ""
            # An extension is held against the tokenizer that it started from.
            first, when = (run.before, "the new merges") if at > run.before > 0 else (0, "merging")
            begun = whole_text(run.log.tokens_at(first), run.weight_scale)
            before = f" ({begun} before {when})" if at else ""
            ratio_text = (
                f"{several(at, 'merge')}    {TRAINED if at else ''}{run.bytes_per_token(at):,.2f} bytes per token"
            )
            tokens = f"    {several_whole(run.log.tokens_at(at), run.weight_scale, 'token')} in the training text"
            self._show_longest(f"{ratio_text}{held_out}{tokens}{before}", f"{ratio_text}{tokens}", ratio_text)
        if self._job is None:
            self.label.setText(self._how_it_ended())

    def _show_longest(self, *texts: str) -> None:
        """Shows the longest of some figures, longest first, that leaves room for text; no digit is ever cut."""
        metrics, room = self.figures.fontMetrics(), _MOST_FIGURES * self.width()
        text = next((text for text in texts if metrics.horizontalAdvance(text) <= room), texts[-1])
        # A fixed size, so that new figures cause no layout of the window.
        margins = self.figures.contentsMargins()
        beside, above = margins.left() + margins.right(), margins.top() + margins.bottom()
        self.figures.setFixedSize(metrics.horizontalAdvance(text) + beside + 2, metrics.height() + above)
        self.figures.setText(text)
        meaning = f"{TRAINED} {SIGNS[TRAINED]}" if TRAINED in text else ""
        if meaning and "held-out" in texts[0]:
            meaning += " It is of the part that was learned from; Tokenizers measures on the whole text."
        self.figures.setToolTip(plain("\n".join(filter(None, (texts[0], meaning)))))

    def _cancel(self) -> None:
        if self._job is not None and self._training.current is None:
            self._job.cancel()


def _set_busy_pointer(busy: bool) -> None:
    """Shows or hides the busy pointer; calls are not nested."""
    shown = QGuiApplication.overrideCursor() is not None
    if busy and not shown:
        QGuiApplication.setOverrideCursor(Qt.CursorShape.BusyCursor)
    elif not busy and shown:
        QGuiApplication.restoreOverrideCursor()


class Pace:
    """The speed of one phase, from the last seconds, as later merges are faster than the first ones."""

    def __init__(self, judged_by: float = _JUDGED_BY) -> None:
        self.judged_by = judged_by  # seconds
        self._noted: deque[tuple[float, float]] = deque()

    def note(self, now: float, progress: Progress) -> None:
        """Notes the progress at this moment."""
        if progress.total:
            self._noted.append((now, progress.done / progress.total))
        # A start that takes long, such as that of processes which compile, says nothing of the speed.
        while len(self._noted) > 1 and self._noted[1][1] == 0:
            self._noted.popleft()
        while len(self._noted) > 2 and now - self._noted[1][0] > self.judged_by:
            self._noted.popleft()

    def seconds_left(self) -> float | None:
        """The time left in seconds; None if it cannot be estimated."""
        if len(self._noted) < 2:
            return None
        (first, begun), (last, done) = self._noted[0], self._noted[-1]
        if last - first < _JUDGED_BY / 2 or done <= begun or done < _LEAST_DONE:
            return None
        return (1 - done) * (last - first) / (done - begun)


def _seconds(seconds: float) -> str:
    if seconds < 0.01:
        return "under 0.01 s"
    if seconds < 0.095:
        return f"{seconds:.2f} s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"
