"""Long work in single panes, in the whole window, offscreen: long texts, a large vocabulary, changed weights.

Texts: frames while 1 MB and 10 MB are scrolled in the Text pane; a frame is a step of the scroll bar and the painting
that follows. Vocabulary: the time until 200,000 tokens are sorted, filtered and searched, and the worst gap of a timer.
Weights: from a changed weight of one of four sources, which are counted once, to the finished run, and the gaps.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from _common import machine, parser, record, table, texts
from _window import BAR, HEAD, Clock, busy, open_studio
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from tokstudio import Corpus, TrainingConfig, load, train
from tokstudio.gui.app.app import Studio
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.training_settings import Settings

_FRAMES, _FRAME = 600, 1000 / 60
_TOKENS, _ROUNDS = 200_000, 3
_FILTERS = ("e", "the", "naïve", "日", "E2 80", "length:4-8", "er length:9+", "/^ [A-Z][a-z]+$/", "/(a|b)+c/")
_LISTED = ("Merges", "White space", "Cuts a character", "script:Latin", "Used", "0 uses now", "Only in longer tokens")
_FOUND = ("e", "the", "日", "E2 80")
_FILES, _CHANGES = 4, 6
_DRAGGED, _STEP = 12.0, 0.04  # seconds that a slider is dragged, and between two of its positions


def main() -> None:
    """Prints the tables of all parts, or of one."""
    parts = {"texts": long_texts, "vocabulary": large_vocabulary, "weights": changed_weights}
    arguments = parser(__doc__)
    arguments.add_argument("--only", choices=parts, help="one of the parts")
    arguments.add_argument("--file", type=Path, help="a tokenizer to open for the vocabulary, instead of training one")
    chosen = arguments.parse_args()
    print(f"{machine()}\n")
    for name, part in parts.items():
        if chosen.only in (None, name):
            with tempfile.TemporaryDirectory() as folder:
                part(chosen, Path(folder))


def long_texts(chosen: argparse.Namespace, folder: Path) -> None:
    """Opens texts and scrolls them."""
    frames: list[list[str]] = []
    with texts(chosen, "mixed_10mb.txt") as (path,), open_studio(folder) as studio:
        whole = path.read_bytes().decode("utf-8", "ignore")
        clock, session = Clock(), studio.session
        session.corpus.open_paths([path])
        clock.during("", busy(studio))
        session.training.set_settings(Settings(vocabulary_size=32_768, pattern="gpt2"))
        session.training.start()
        clock.during("", busy(studio))
        gaps: list[list[str]] = []
        longest = 0.0
        for name, text, ways in (
            ("1 MB", whole[: 1 << 20], {"a row at a time": 20, "a page at a time": 400, "from end to end": None}),
            ("10 MB", whole, {"from end to end": None}),
        ):
            session.view.set_text(text)
            gaps.append(clock.during(f"{name} opened in the Text pane", lambda: bool(session.jobs.running)))
            # Measured is the view, not what else begins after the text is there.
            clock.during("", busy(studio))
            for way, pixels in ways.items():
                row, slow = _scroll(studio, f"{name} scrolled {way}", pixels)
                frames.append(row)
                longest = max(longest, slow)
    table(["frames", "number", "median", "99 %", "longest", "longer than 1/60 s"], frames)
    table(HEAD, gaps)
    record("scroll the Text pane, 99 % of the frames", "1 MB and 10 MB", longest, "ms", bar="16 ms")


def _scroll(studio: Studio, name: str, way: int | None) -> tuple[list[str], float]:
    """Takes the scroll bar down by `way` pixels a frame, or over all of it; a row, and what 99 % of frames take."""
    scroll = studio.window.text.encode.view
    bar = scroll.verticalScrollBar()
    bar.setValue(0)
    step = way if way is not None else max(1, bar.maximum() // _FRAMES)
    taken: list[float] = []
    for frame in range(_FRAMES):
        started = time.perf_counter()
        bar.setValue(frame * step)
        scroll.viewport().repaint()
        QApplication.processEvents()
        taken.append(1000 * (time.perf_counter() - started))
    taken.sort()
    most = taken[int(0.99 * _FRAMES)]
    cells = [f"{one:.1f} ms" for one in (taken[_FRAMES // 2], most, taken[-1])]
    return [name, str(_FRAMES), *cells, str(sum(one > _FRAME for one in taken))], most


class _Answers:
    """Acts on the panes and notes how long each answer takes, and the worst gap meanwhile."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.rows: list[list[str]] = []
        self.gap = 0.0

    def settle(self, ready: Callable[[], bool]) -> tuple[float, float]:
        """The worst gap and the time until the answer is there, in milliseconds."""
        started, answered = time.perf_counter(), [0.0]

        def going_on() -> bool:
            if not answered[0] and ready():
                answered[0] = time.perf_counter() - started
            return not answered[0] or time.perf_counter() - started < answered[0] + 0.05

        self.clock.during("", going_on)
        return max(self.clock.gaps), 1000 * answered[0]

    def note(
        self, name: str, prepare: Callable[[], object], act: Callable[[], object], ready: Callable[[], bool]
    ) -> None:
        """Acts some times, and adds a row."""
        gaps, times = list[float](), list[float]()
        for _ in range(_ROUNDS):
            prepare()
            self.settle(ready)
            began = time.perf_counter()
            act()
            at_once = 1000 * (time.perf_counter() - began)
            gap, took = self.settle(ready)
            gaps.append(max(gap, at_once))
            times.append(at_once + took)
        self.gap = max(self.gap, *gaps)
        self.rows.append([name, f"{max(gaps):.0f} ms", f"{median(times):.0f} ms", f"{max(times):.0f} ms"])


def large_vocabulary(chosen: argparse.Namespace, folder: Path) -> None:
    """Shows a vocabulary of 200,000 tokens, and sorts, filters and searches it."""
    with open_studio(folder) as studio:
        if chosen.file is not None:
            studio.session.runs.add_tokenizer(load(chosen.file), "opened")
        else:
            with texts(chosen, "mixed_10mb.txt") as paths:
                corpus = Corpus.from_files(paths)
                run = train(corpus, TrainingConfig(vocabulary_size=_TOKENS)).run
                assert run is not None
                studio.session.runs.add(StudioRun.reopened(1, "Run 1", run, corpus))
        answers = _Answers()
        _sort_and_filter(studio, answers)
        record("sort or filter a vocabulary, worst gap", f"{_TOKENS:,} tokens", answers.gap, "ms", bar=f"{BAR} ms")
        _playhead_merges_and_find(studio, answers)
    table(["200,000 tokens", "worst gap", "answer (median)", "answer (worst)"], answers.rows)


def _sort_and_filter(studio: Studio, answers: _Answers) -> None:
    pane, session = studio.window.vocabulary, studio.session
    pane.raise_()
    answers.settle(lambda: pane.seen and not session.jobs.running and _quiet(studio))

    def quiet() -> bool:
        return _quiet(studio)

    for place, column in enumerate(pane.model.columns):
        for order in (Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder):
            answers.note(
                f"sorted by {column.title}, {order.name.removesuffix('Order').lower()}",
                lambda place=place: pane.table.sortByColumn(0 if place else 3, Qt.SortOrder.AscendingOrder),
                lambda place=place, order=order: pane.table.sortByColumn(place, order),
                quiet,
            )
    pane.table.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    for typed in _FILTERS:
        answers.note(f"filtered by {typed}", pane.filter.clear, lambda typed=typed: pane.filter.setText(typed), quiet)
    pane.filter.clear()
    for kind in _LISTED:
        clear = lambda: pane.panel.choose(())  # noqa: E731
        answers.note(f"listed: {kind}", clear, lambda kind=kind: pane.panel.choose([kind]), quiet)
    pane.panel.choose(())


def _quiet(studio: Studio) -> bool:
    pane = studio.window.vocabulary
    return not pane.busy() and not pane.model._later.isActive()


def _playhead_merges_and_find(studio: Studio, answers: _Answers) -> None:
    session, merges, finder = studio.session, studio.window.merges, studio.window.finder
    last = session.view.playhead
    back, by_one = (lambda: session.view.set_playhead(last)), (lambda: session.view.set_playhead(last - 1))
    answers.note("the playhead moved by one", back, by_one, lambda: _quiet(studio))
    session.view.set_playhead(last)
    merges.raise_()
    answers.settle(lambda: merges.seen and not merges.busy())
    for typed in ("e", "/^ [A-Z][a-z]+$/"):
        name, act = f"merges filtered by {typed}", lambda typed=typed: merges.filter.setText(typed)
        answers.note(name, merges.filter.clear, act, lambda: not merges.busy())
    merges.filter.clear()
    finder.begin()
    answers.settle(lambda: not session.jobs.running)

    def clear() -> None:
        finder.box.clear()
        finder.model.set_slots(())

    def type_it(typed: str) -> None:
        finder.box.setText(typed)
        finder.box.asked.emit(typed)

    def listed() -> bool:
        return not finder.box.text() or (finder.box.popup.isVisible() and "…" not in finder.box.note.text())

    for typed in _FOUND:
        answers.note(f"found: {typed}", clear, lambda typed=typed: type_it(typed), listed)


def changed_weights(chosen: argparse.Namespace, folder: Path) -> None:
    """Changes weights and drags a slider of Mixture."""
    with texts(chosen, "mixed_100mb.txt") as (path,):
        files = _cut(path, folder)
        with open_studio(folder) as studio:
            clock, session = Clock(), studio.session
            session.corpus.open_paths(files)
            clock.during("", busy(studio))
            studio.window.corpus.tabs.setCurrentIndex(1)
            session.training.set_settings(Settings(vocabulary_size=32_768, pattern="cl100k"))
            clock.during("", busy(studio))
            session.training.start()
            rows = [clock.during("the first training, which counts", lambda: session.training.current is not None)]
            clock.during("", busy(studio))
            took = _change(studio, clock, rows)
            runs = _drag(studio, clock, rows)
    table(HEAD, rows)
    print(f"From a changed weight to the finished run: {median(took):.2f} s, at most {max(took):.2f} s.")
    print(f"While the slider was dragged: {runs} runs in {_DRAGGED:.0f} s.\n")
    record(
        "train again with a changed weight", f"{path.name}, 4 sources, 32,768 tokens", median(took), "s", bar="1.5 s"
    )


def _cut(path: Path, folder: Path) -> list[Path]:
    """Files of equal size; what a cut damages are single characters."""
    data = path.read_bytes()
    made: list[Path] = []
    for number in range(_FILES):
        part = data[number * len(data) // _FILES : (number + 1) * len(data) // _FILES]
        made.append(folder / f"part{number + 1}.txt")
        made[-1].write_bytes(part.decode("utf-8", "ignore").encode())
    return made


def _change(studio: Studio, clock: Clock, rows: list[list[str]]) -> list[float]:
    """Seconds from each change of a weight to the finished run."""
    session, mixture, took = studio.session, studio.window.corpus.mixture, list[float]()
    for change in range(_CHANGES):
        before, started = session.runs.active, time.perf_counter()
        mixture.rows[change % _FILES].field.setValue(0.5 + change)
        session.corpus.settle_weights()
        rows.append(clock.during(f"change {change + 1}", lambda before=before: session.runs.active is before))
        took.append(time.perf_counter() - started)
        clock.during("", busy(studio))
    return took


def _drag(studio: Studio, clock: Clock, rows: list[list[str]]) -> int:
    """Drags a slider; how many runs are finished meanwhile."""
    session, slider = studio.session, studio.window.corpus.mixture.rows[0].slider
    seen, moved, until = {session.runs.active}, [0.0], time.perf_counter() + _DRAGGED
    slider.setSliderDown(True)

    def drag() -> bool:
        now = time.perf_counter()
        if now - moved[0] > _STEP:
            moved[0] = now
            slider.setValue(int(60 * (until - now) / _DRAGGED))
            seen.add(session.runs.active)
        return now < until

    rows.append(clock.during("a slider dragged", drag))
    slider.setSliderDown(False)
    rows.append(clock.during("released", lambda: session.live.busy))
    return len(seen) - 1


if __name__ == "__main__":
    main()
