"""How long a vocabulary of 200,000 tokens takes to be sorted and filtered: the worst piece in the GUI thread, and all.

The model alone, without a view, with the index of its tokens, which is made in a job; offscreen.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import time
from collections.abc import Callable

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from _common import machine, parser, table, texts
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from tokstudio import Corpus, TrainingConfig, train
from tokstudio.core.base.progress import finish
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.panes.vocabulary.model import VocabularyModel
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.token_table.index import index_work, snapshot
from tokstudio.gui.token_table.query import FilterQuery, Query
from tokstudio.gui.widgets import sliced_work as slices

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
_KINDS = ("Base", "Merges", "Special", "Unreachable", "White space", "Digits", "Cuts a character", "script:Latin")
_USES = ("Used", "0 uses now", "Only in longer tokens", "Not in the corpus")


class _Clock:
    """Times every slice that the model works in."""

    def __init__(self, model: VocabularyModel, application: QApplication) -> None:
        self._model, self._application = model, application
        self._worst = 0.0
        advance = slices.Slices._advance

        def timed(one: slices.Slices) -> None:
            started = time.perf_counter()
            advance(one)
            self._worst = max(self._worst, time.perf_counter() - started)

        slices.Slices._advance = timed

    def of(self, act: Callable[[], object]) -> tuple[float, float]:
        """The worst piece in the GUI thread and the time until the rows are there, in milliseconds."""
        self._worst = 0.0
        started = time.perf_counter()
        act()
        first = time.perf_counter() - started
        while self._model.searching or self._model._later.isActive():
            self._application.processEvents()
        return 1000 * max(first, self._worst), 1000 * (time.perf_counter() - started)


def main() -> None:
    """Trains a vocabulary, makes its index, and sorts and filters it in every way."""
    arguments = parser(__doc__)
    arguments.add_argument("--tokens", type=int, default=200_000)
    parsed = arguments.parse_args()
    finish(prepare_work())
    application = QApplication([])
    print(machine())
    with texts(parsed, "mixed_10mb.txt") as paths:
        corpus = Corpus.from_files(paths)
        config = TrainingConfig(vocabulary_size=parsed.tokens)
        made = train(corpus, config).run
        assert made is not None
        run = StudioRun.reopened(1, "Run 1", made, corpus)
        _measure(run, application)


def _measure(run: StudioRun, application: QApplication) -> None:
    model = VocabularyModel()
    # Timers of slices find what is timed only if they are made after it.
    clock = _Clock(model, application)
    model = VocabularyModel()
    clock._model = model
    rows: list[list[str]] = []

    def note(name: str, prepare: Callable[[], object], act: Callable[[], object]) -> None:
        worst = took = 0.0
        for _ in range(_ROUNDS):
            clock.of(prepare)
            piece, all_of_it = clock.of(act)
            worst, took = max(worst, piece), max(took, all_of_it)
        shown = f"{model.rowCount():,}"
        rows.append([name, shown, f"{worst:.0f} ms", f"{took:.0f} ms"])

    started = time.perf_counter()
    model.set_run(run, len(run))
    shown = 1000 * (time.perf_counter() - started)
    rows.append(["shown at first, by id", f"{model.rowCount():,}", f"{shown:.0f} ms", f"{shown:.0f} ms"])
    assert model.tokens is not None
    started = time.perf_counter()
    index = finish(index_work(snapshot(model.tokens)))
    seconds = time.perf_counter() - started
    model.set_index(index)
    for place, column in enumerate(model.columns):
        for order in (Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder):
            words = "descending" if order == Qt.SortOrder.DescendingOrder else "ascending"
            other = 0 if place else 3
            note(
                f"sorted by {column.title}, {words}",
                lambda other=other: model.sort(other),
                lambda place=place, order=order: model.sort(place, order),
            )
    model.sort(0)
    for typed in _FILTERS:
        note(
            f"filtered by {typed}",
            lambda: model.set_query(Query("")),
            lambda typed=typed: model.set_query(FilterQuery(typed)),
        )
    model.set_query(Query(""))
    for kind in (*_KINDS, *_USES):
        note(f"listed: {kind}", lambda: model.set_choice(()), lambda kind=kind: model.set_choice([kind]))
    model.set_choice(())
    note("the playhead moved by one", lambda: model.set_playhead(len(run)), lambda: model.set_playhead(len(run) - 1))
    model.set_playhead(len(run))
    model.sort(6, Qt.SortOrder.DescendingOrder)
    model.set_query(Query("e"))
    note(
        "the playhead moved by one, filtered by e, by uses",
        lambda: model.set_playhead(len(run)),
        lambda: model.set_playhead(len(run) - 1),
    )
    table([f"{len(run) + 256:,} tokens", "rows", "worst piece", "all of it"], rows)
    print(f"The index is made once for a run, in {seconds:.1f} s, in a job.")


if __name__ == "__main__":
    main()
