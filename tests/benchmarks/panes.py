"""Long work in single panes, in the whole window, offscreen: texts, vocabulary, weights, the playhead.

Texts: frames while 1 MB and 10 MB are scrolled in the Text pane; a frame is a step of the scroll bar and the painting
that follows. Vocabulary: the time until 200,000 tokens are sorted and filtered, and the worst gap of a timer. Weights:
from a changed weight of one of four sources, which are counted once, to the finished run, and the gaps. Playhead: how
many true states a second are shown with 10 kB of text while it moves. Plot, Merges, Vocabulary, Text and Token are all
in sight; a state counts when each of them shows it and is painted.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from _common import cut, parser, record, run_parts, table, texts
from _window import BAR, HEAD, Clock, busy, open_studio
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QApplication

from tokstudio import Corpus, TrainingConfig, load, train
from tokstudio.gui.app.app import Studio
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.training_settings import Settings

Act = Callable[[], object]

_FRAMES, _FRAME = 600, 1000 / 60
_TOKENS, _ROUNDS = 200_000, 3
_FILTERS = ("e", "the", "naïve", "日", "E2 80", "length:4-8", "er length:9+", "/^ [A-Z][a-z]+$/", "/(a|b)+c/")
_LISTED = ("Merges", "White space", "Cuts a character", "script:Latin", "Used", "0 uses now", "Only in longer tokens")
_FILES, _CHANGES = 4, 6
_RATE, _TEXT, _STEPS = 30, 10_000, 300
_RUNS = {
    "32,768 tokens, no pattern": Settings(vocabulary_size=32_768),
    "32,768 tokens, cl100k": Settings(vocabulary_size=32_768, pattern="cl100k"),
    "frequency 2, no pattern": Settings(vocabulary_size=None, min_frequency=2),
}


def long_texts(chosen: argparse.Namespace) -> None:
    """Opens texts and scrolls them."""
    frames: list[list[str]] = []
    with texts(chosen, "mixed_10mb.txt") as (path,), open_studio() as studio:
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


def _note(
    rows: list[list[str]],
    name: str,
    prepare: Callable[[], object],
    act: Callable[[], object],
    ready: Callable[[], bool],
) -> float:
    """Acts some times, and adds a row with the answers' times; the worst gap, in milliseconds."""
    gaps, times = list[float](), list[float]()
    for _ in range(_ROUNDS):
        prepare()
        _settle(ready)
        began = time.perf_counter()
        act()
        at_once = 1000 * (time.perf_counter() - began)
        gap, took = _settle(ready)
        gaps.append(max(gap, at_once))
        times.append(at_once + took)
    rows.append([name, f"{max(gaps):.0f} ms", f"{median(times):.0f} ms", f"{max(times):.0f} ms"])
    return max(gaps)


def _settle(ready: Callable[[], bool]) -> tuple[float, float]:
    """The worst gap and the time until the answer is there, in milliseconds."""
    clock, started, answered = Clock(), time.perf_counter(), [0.0]

    def going_on() -> bool:
        if not answered[0] and ready():
            answered[0] = time.perf_counter() - started
        return not answered[0] or time.perf_counter() - started < answered[0] + 0.05

    clock.during("", going_on)
    return max(clock.gaps), 1000 * answered[0]


def large_vocabulary(chosen: argparse.Namespace) -> None:
    """Shows a vocabulary of 200,000 tokens, and sorts and filters it."""
    rows: list[list[str]] = []
    with open_studio() as studio:
        if chosen.file is not None:
            studio.session.runs.add_tokenizer(load(chosen.file), "opened")
        else:
            with texts(chosen, "mixed_10mb.txt") as paths:
                corpus = Corpus.from_files(paths)
            run = train(corpus, TrainingConfig(vocabulary_size=_TOKENS)).run
            assert run is not None
            studio.session.runs.add(StudioRun.reopened(1, "Run 1", run, corpus))
        gap = _sort_and_filter(studio, rows)
    table(["200,000 tokens", "worst gap", "answer (median)", "answer (worst)"], rows)
    record("sort or filter a vocabulary, worst gap", f"{_TOKENS:,} tokens", gap, "ms", bar=f"{BAR} ms")


def _sort_and_filter(studio: Studio, rows: list[list[str]]) -> float:
    pane, session, gaps = studio.window.vocabulary, studio.session, list[float]()
    pane.raise_()
    _settle(lambda: pane.seen and not session.jobs.running and not pane.busy())

    def note(name: str, prepare: Act, act: Act) -> None:
        gaps.append(_note(rows, name, prepare, act, lambda: not pane.busy()))

    for place, column in enumerate(pane.model.columns):
        for order in (Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder):
            note(
                f"sorted by {column.title}, {order.name.removesuffix('Order').lower()}",
                lambda place=place: pane.table.sortByColumn(0 if place else 3, Qt.SortOrder.AscendingOrder),
                lambda place=place, order=order: pane.table.sortByColumn(place, order),
            )
    pane.table.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    for typed in _FILTERS:
        note(f"filtered by {typed}", pane.filter.clear, lambda typed=typed: pane.filter.setText(typed))
    pane.filter.clear()
    for kind in _LISTED:
        note(f"listed: {kind}", lambda: pane.panel.choose(()), lambda kind=kind: pane.panel.choose([kind]))
    return max(gaps)


def changed_weights(chosen: argparse.Namespace) -> None:
    """Changes weights, from each change to the finished run."""
    with texts(chosen, "mixed_100mb.txt") as (path,), tempfile.TemporaryDirectory() as folder, open_studio() as studio:
        clock, session, mixture, took = Clock(), studio.session, studio.window.corpus.mixture, list[float]()
        session.corpus.open_paths(cut(path.read_bytes(), _FILES, Path(folder)))
        clock.during("", busy(studio))
        studio.window.corpus.tabs.setCurrentIndex(1)
        session.training.set_settings(Settings(vocabulary_size=32_768, pattern="cl100k"))
        clock.during("", busy(studio))
        session.training.start()
        rows = [clock.during("the first training, which counts", lambda: session.training.current is not None)]
        clock.during("", busy(studio))
        for change in range(_CHANGES):
            before, started = session.runs.active, time.perf_counter()
            mixture.rows[change % _FILES].field.setValue(0.5 + change)
            session.corpus.settle_weights()
            rows.append(clock.during(f"change {change + 1}", lambda before=before: session.runs.active is before))
            took.append(time.perf_counter() - started)
            clock.during("", busy(studio))
    table(HEAD, rows)
    given = "mixed_100mb.txt, 4 sources, 32,768 tokens"
    record("train again with a changed weight", given, median(took), "s", bar="1.5 s")


class _Painted(QObject):
    """Counts how often some widgets have been painted."""

    def __init__(self, widgets: Sequence[QObject]) -> None:
        super().__init__()
        self.count = dict.fromkeys(widgets, 0)
        for widget in widgets:
            widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            self.count[watched] += 1
        return False


def moved_playhead(chosen: argparse.Namespace) -> None:
    """Trains the runs, moves the playhead in several ways and prints the states a second."""
    rows: list[list[str]] = []
    with texts(chosen, "mixed_10mb.txt") as paths, open_studio() as studio:
        clock, window, session = Clock(), studio.window, studio.session
        # Else it shares its place with Merges, and one of them is hidden.
        window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, window.vocabulary)
        window.merges.raise_()
        session.corpus.open_paths(paths)
        clock.during("", busy(studio))
        session.view.set_text(session.corpus.sources[0].data[:_TEXT].tobytes().decode("utf-8", "ignore"))
        for name, settings in _RUNS.items():
            session.training.set_settings(settings)
            session.training.start()
            clock.during("", busy(studio))
            assert session.runs.active is not None
            session.view.look_at(session.runs.active.base_size + 100)
            rows += _move(f"{name}: {len(session.runs.active):,} merges", studio)
    table(["run", "moved", "states", "a second", "slowest", "work a state"], rows)
    least = min(float(row[3]) for row in rows)
    record("states while the playhead moves, the slowest way", "10 kB of text", least, "states/s", bar=f"{_RATE}")


def _move(name: str, studio: Studio) -> list[list[str]]:
    window, session = studio.window, studio.session
    n, middle = len(session.runs.active or ()), len(session.runs.active or ()) // 2
    chosen = random.Random(1)
    ways = {
        "forward by one merge": [middle + step for step in range(1, _STEPS + 1)],
        "back by one merge": [middle - step for step in range(1, _STEPS + 1)],
        "dragged over all": [n * step // _STEPS for step in range(_STEPS)],
        "anywhere": [chosen.randrange(n) for _ in range(_STEPS)],
    }
    panes = (window.merges.table.viewport(), window.vocabulary.table.viewport(), window.compression.plot)
    painted = _Painted((*panes, window.text.encode.view.viewport()))
    rows: list[list[str]] = []
    for way, places in ways.items():
        session.view.set_playhead(places[0] + 1)
        Clock().during("", busy(studio))
        painted.count = dict.fromkeys(painted.count, 0)
        worked, taken = time.process_time(), list[float]()
        for place in places:
            started = time.perf_counter()
            session.view.set_playhead(place)
            QApplication.processEvents()
            assert not window.text.encode.latest.busy, "the text shows another state"
            assert window.merges.model.playhead == window.vocabulary.model.playhead == place
            taken.append(time.perf_counter() - started)
        # A jump from one end of a table to the other may be no change to what is in sight.
        least = min(painted.count.values())
        assert least >= 0.99 * len(places), f"{least} of {len(places)} states were painted"
        rate, work = len(taken) / sum(taken), (time.process_time() - worked) / len(taken)
        cells = [f"{rate:.0f}", f"{1000 * max(taken):.0f} ms", f"{1000 * work:.0f} ms"]
        rows.append([name, way, str(len(taken)), *cells])
    return rows


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("--file", type=Path, help="a tokenizer to open for the vocabulary, instead of training one")
    parts = {"texts": long_texts, "vocabulary": large_vocabulary, "weights": changed_weights}
    run_parts(arguments, **parts, playhead=moved_playhead)
