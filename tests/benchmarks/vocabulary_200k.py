"""How long a vocabulary of 200,000 tokens takes to be sorted, filtered and searched, in the whole window, offscreen.

Beside the time until the rows are there stands the worst gap of a timer in the GUI thread. With `--file`, the
tokens are those of a tokenizer from a file.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from _common import machine, parser, table, texts
from _window import Clock, open_studio
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from tokstudio import Corpus, TrainingConfig, load, train
from tokstudio.gui.app.app import Studio
from tokstudio.gui.state.run import StudioRun

_ROUNDS = 3
_FILTERS = (
    "e",
    "the",
    "ing ",
    "naïve",
    "日",
    "E2 80",
    "61 62",
    "length:4-8",
    "er length:9+",
    "/^ [A-Z][a-z]+$/",
    "/(a|b)+c/",
)
_KINDS = ("Base", "Merges", "Special", "White space", "Digits", "Cuts a character", "script:Latin")
_USES = ("Used", "0 uses now", "Only in longer tokens", "Not in the corpus")
_FOUND = ("e", "the", "ing ", "日", "E2 80")


def main() -> None:
    """Shows a vocabulary, and sorts, filters and searches it in every way."""
    arguments = parser(__doc__)
    arguments.add_argument("--tokens", type=int, default=200_000)
    arguments.add_argument("--file", type=Path, help="a tokenizer to open instead of training one")
    parsed = arguments.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder, open_studio(Path(folder)) as studio:
        if parsed.file is not None:
            studio.session.runs.add_tokenizer(load(parsed.file), "opened")
        else:
            with texts(parsed, "mixed_10mb.txt") as paths:
                corpus = Corpus.from_files(paths)
                made = train(corpus, TrainingConfig(vocabulary_size=parsed.tokens)).run
                assert made is not None
                studio.session.runs.add(StudioRun.reopened(1, "Run 1", made, corpus))
        _measure(studio)


def _measure(studio: Studio) -> None:
    session, pane, finder = studio.session, studio.window.vocabulary, studio.window.finder
    model, clock = pane.model, Clock()
    rows: list[list[str]] = []

    def settle(until: Callable[[], bool]) -> tuple[float, float]:
        """The worst gap and the time until the answer is there, in milliseconds."""
        started = time.perf_counter()
        answered = 0.0

        def going_on() -> bool:
            nonlocal answered
            if not answered and until():
                answered = time.perf_counter() - started
            return not answered or time.perf_counter() - started < answered + 0.05

        clock.during("", going_on)
        return max(clock.gaps), 1000 * answered

    def tell(name: str, gap: float, *times: str) -> None:
        rows.append([name, f"{model.rowCount():,}", f"{gap:.0f} ms", *times])

    def note(name: str, prepare: Callable[[], object], act: Callable[[], object], ready: Callable[[], bool]) -> None:
        gaps, times = list[float](), list[float]()
        for _ in range(_ROUNDS):
            prepare()
            settle(ready)
            began = time.perf_counter()
            act()
            at_once = 1000 * (time.perf_counter() - began)
            gap, took = settle(ready)
            gaps.append(max(gap, at_once))
            times.append(at_once + took)
        median = sorted(times)[_ROUNDS // 2]
        tell(name, max(gaps), f"{median:.0f} ms", f"{max(times):.0f} ms")

    def quiet() -> bool:
        return not pane.busy() and not model._later.isActive()

    pane.raise_()
    gap, took = settle(lambda: pane.seen and not session.jobs.running and quiet())
    tell("shown, with all that is worked out of it", gap, "", f"{took:.0f} ms")
    for place, column in enumerate(model.columns):
        for order in (Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder):
            words = "descending" if order == Qt.SortOrder.DescendingOrder else "ascending"
            note(
                f"sorted by {column.title}, {words}",
                lambda place=place: pane.table.sortByColumn(0 if place else 3, Qt.SortOrder.AscendingOrder),
                lambda place=place, order=order: pane.table.sortByColumn(place, order),
                quiet,
            )
    pane.table.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    for typed in _FILTERS:
        note(f"filtered by {typed}", pane.filter.clear, lambda typed=typed: pane.filter.setText(typed), quiet)
    pane.filter.clear()
    for kind in (*_KINDS, *_USES):
        note(f"listed: {kind}", lambda: pane.panel.choose(()), lambda kind=kind: pane.panel.choose([kind]), quiet)
    pane.panel.choose(())
    last = session.view.playhead
    note(
        "the playhead moved by one",
        lambda: session.view.set_playhead(last),
        lambda: session.view.set_playhead(last - 1),
        quiet,
    )
    session.view.set_playhead(last)
    pane.table.sortByColumn(6, Qt.SortOrder.DescendingOrder)
    pane.filter.setText("e")
    note(
        "the playhead moved by one, filtered by e, by uses",
        lambda: session.view.set_playhead(last),
        lambda: session.view.set_playhead(last - 1),
        quiet,
    )
    session.view.set_playhead(last)
    pane.filter.clear()
    merges = studio.window.merges
    merges.raise_()
    settle(lambda: merges.seen and not merges.busy())
    for typed in ("e", "/^ [A-Z][a-z]+$/"):
        note(
            f"merges filtered by {typed}",
            merges.filter.clear,
            lambda typed=typed: merges.filter.setText(typed),
            lambda: not merges.busy(),
        )
    merges.filter.clear()
    finder.begin()
    settle(lambda: not session.jobs.running)

    def clear() -> None:
        finder.box.clear()
        finder.model.set_slots(())

    def listed() -> bool:
        return not finder.box.text() or (finder.box.popup.isVisible() and "…" not in finder.box.note.text())

    for typed in _FOUND:

        def type_it(typed: str = typed) -> None:
            finder.box.setText(typed)
            finder.box.asked.emit(typed)

        note(f"found: {typed}", clear, type_it, listed)
    table([f"{pane.total():,} tokens", "rows", "worst gap", "answer (median)", "answer (worst)"], rows)
    QApplication.processEvents()


if __name__ == "__main__":
    main()
