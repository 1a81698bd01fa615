"""The page Compare Sources: which tokens or words are typical of one text, and which of another."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np
from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QSizePolicy

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.exploration.exploration import Exploration
from tokstudio.core.exploration.keyness import STRONGEST, Keyness
from tokstudio.gui.panes.explore.item_table import (
    ItemColumn,
    ItemList,
    ItemPage,
    ItemQuestion,
    item_rows_work,
    items_csv_work,
)
from tokstudio.gui.panes.explore.keyness_plot import Dot, KeynessPlot
from tokstudio.gui.session.measuring.compared import TextSet
from tokstudio.gui.session.measuring.exploring import WrittenTable
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.spelling import marked, shown
from tokstudio.gui.widgets.controls import Choice, ChoiceBox
from tokstudio.gui.widgets.labels import isolated, named, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, column, row, stacked
from tokstudio.gui.widgets.pane import EmptyState

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- The sides, and what is typical of each ---------------------------------------------------------------------------


class TextSide(NamedTuple):
    """A text to compare: a source, the held-out text, texts opened in Compare, or what the other side does not have."""

    kind: Literal["source", "held out", "texts", "rest"]
    at: int | str = 0  # the number of the source, or the key of the texts


OTHERS = TextSide("rest")
HELD_OUT = TextSide("held out")


@dataclass(frozen=True, eq=False)
class Typical:
    """What is typical of each side, and the rows of a table of one side."""

    keyness: Keyness
    items: ItemList
    dots: tuple[Dot, ...]
    rows: NDArray[np.int64]
    asked: ItemQuestion


def compare_work(
    exploration: Exploration, sides: tuple[TextSide, TextSide], of: str, held_out: float, texts: Sequence[TextSet]
) -> Work[Keyness]:
    """Compares two sides; see `Exploration.keyness`, whose errors it raises."""
    if sides[0].kind == "held out":
        return (yield from exploration.keyness_work(of=of, held_out=held_out))
    found: list[int | Corpus | None] = []
    for side in sides:
        if side.kind == "texts":
            read = yield from next(each for each in texts if each.key == side.at).read()
            found.append(Corpus(tuple(source for _, source in read.named)))
        else:
            found.append(int(side.at) if side.kind == "source" else None)
    return (yield from exploration.keyness_work(found[0], found[1], of))


def typical_work(keyness: Keyness, smoothing: float, of_first: bool, asked: ItemQuestion) -> Work[Typical]:
    """The items with ratios for a smoothing, the dots of both sides, and the rows of one side."""
    yield Progress("sorting")
    same = keyness if keyness.smoothing == smoothing else keyness.with_smoothing(smoothing)
    values = tuple(np.asarray(same[each.key]) for each in _COLUMNS)
    unit = same.part_unit.capitalize()
    columns = tuple(each._replace(title=each.title.replace("Range", unit)) for each in _COLUMNS)
    ids = None if same.pattern else same.ids()[:, 0]
    items = ItemList(same, "Word" if same.pattern else "Token", columns, values, ids)
    first, second, ratio, likelihood = values[:4]
    dots = tuple(
        Dot(
            isolated(marked(shown(same.raw(at), _SHOWN))),
            int(first[at]),
            int(second[at]),
            float(ratio[at]),
            float(likelihood[at]),
            is_first,
        )
        for rows, is_first in zip(same.strongest(STRONGEST), (True, False), strict=True)
        for at in rows.tolist()
    )
    yield Progress("sorting")
    among = np.flatnonzero(likelihood > 0 if of_first else likelihood < 0)
    # Those that are most typical come first.
    rows = yield from item_rows_work(items, among if of_first else among[::-1], asked)
    return Typical(same, items, dots, rows, asked)


def _write_work(typical: Typical, names: tuple[str, str], path: Path) -> Work[Path]:
    """Writes the items of both sides that pass the filter: those of the first text, then those of the second."""
    items, likelihood = typical.items, np.asarray(typical.keyness["log_likelihood"])
    rows = yield from item_rows_work(items, np.arange(len(items.texts)), typical.asked)

    def side_of(row: int) -> str:
        return "" if not likelihood[row] else names[0] if likelihood[row] > 0 else names[1]

    return (yield from items_csv_work(items, rows, path, side_of))


_COLUMNS = (
    ItemColumn("a", "Uses A", "How often it occurs in the first text"),
    ItemColumn("b", "Uses B", "How often it occurs in the second text"),
    ItemColumn("ratio", "Ratio", "(uses per million in A + N) / (uses per million in B + N)", "ratio", "00,000.00"),
    ItemColumn("log_likelihood", "Log-likelihood", "How sure it is that the texts differ; below 0 where B has more",
               "ratio", "000,000.00"),
    ItemColumn("range_a", "Range A", "In how many of A it stands: one document can make a key token", widest="00,000"),
    ItemColumn("range_b", "Range B", "In how many of B it stands", widest="00,000"),
)  # fmt: skip
_SHOWN = 40  # bytes of an item in the plot

# --- The page ---------------------------------------------------------------------------------------------------------

_OF = (
    Choice("tokens", "Tokens", "What the tokenizer makes of the text."),
    Choice("words", "Words", "Pre-tokens: what the pattern splits the text into."),
)
_WORDS = 1  # the place of the words there
_SMOOTHING = tuple(
    Choice(n, f"N = {n}", meaning)
    for n, meaning in ((1, "Rare items can be strongest."), (10, ""), (100, "Frequent items are strongest."))
)
_VIEWS = (
    Choice("dots", "Dot plot", f"The {STRONGEST} strongest of each side."),
    Choice("table", "Table", "All items of one side."),
)
_TYPICAL_OF = (
    Choice(True, "Typical of A", "Items that the first text has more often."),
    Choice(False, "Typical of B", "Items that the second text has more often."),
)
_ONE_SOURCE = "Comparing needs two texts: add a source to the corpus, hold out a share, or open texts in Compare."


class CompareSourcesPage(ItemPage):
    """What is typical of one text and of another, as a dot plot or a table."""

    titled = "Compare Sources"
    tip = "Tokens or words that are typical of one source, and of the others"
    will_show = "Tokens and words that are typical of one source, or of the others, will be shown here."
    phases: ClassVar = {"counting words": "Counting", "encoding": "Encoding"}

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme, "Filter items", "Typical items")
        self._sides: tuple[tuple[TextSide, ...], tuple[TextSide, ...]] = (), ()
        self._limits: frozenset[int] | None = None
        self._of_before: int | None = None  # what was compared before there was no tokenizer; None where there is one
        self.first, self.second = named(ChoiceBox(()), "First text"), named(ChoiceBox(()), "Second text")
        self.of, self.smoothing = (
            named(ChoiceBox(_OF), "Tokens or words"),
            named(ChoiceBox(_SMOOTHING), "N of the ratio"),
        )
        self.views = named(ChoiceBox(_VIEWS), "Dot plot or table")
        self.side = named(ChoiceBox(_TYPICAL_OF), "Which items")
        self.plot = KeynessPlot(theme)
        self.plot.opened.connect(self._open_dot)
        self.alone = EmptyState(_ONE_SOURCE)
        self._views = stacked(self.plot, self.items, self.alone)
        for box in (self.first, self.second, self.of):
            box.currentIndexChanged.connect(self._choose)
        for box in (self.smoothing, self.side):
            box.currentIndexChanged.connect(self.ask_rows)
        self.views.currentIndexChanged.connect(self.update_state)
        texts = row((self.first, 2), plain_label("muted", "against"), (self.second, 2), STRETCH, spacing=8)
        for box in (self.of, self.smoothing, self.views, self.side):
            box.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        # In two lines, as large text leaves no room for one.
        choices = row(self.of, self.smoothing, self.views, STRETCH, spacing=8)
        shown = row(self.side, (self.filter, 1), STRETCH, spacing=8)
        column(texts, choices, shown, spacing=6, parent=self.head)
        column((self._views, 1), parent=self.content)
        session.comparison.opened_changed.connect(self._again)

    @property
    def table(self) -> WrittenTable | None:
        typical: Typical | None = self.listing.answer
        if typical is None or not len(typical.items.texts):
            return None
        work = partial(_write_work, typical, self._side_names())
        return WrittenTable("Typical Items as CSV", "typical.csv", work)

    def look(self, exploration: Exploration) -> None:
        self._fill_sides(exploration)
        sides = self._chosen
        if sides is None:
            self.asked.forget()
            return
        self._choose_of(exploration)
        of, held_out = self.of.value, self._held_out
        texts = self.session.comparison.sets
        work = partial(compare_work, exploration, sides, str(of), held_out, texts)
        self.asked.ask((exploration, sides, of, held_out), work)

    def show_answer(self) -> None:
        answer: Keyness | None = self.asked.answer
        alone = self._chosen is None
        self.stack.setCurrentWidget(self.content if answer is not None or alone else self.empty)
        is_table = self.views.value == "table"
        for each in (self.side, self.filter):
            each.setVisible(is_table)
        self._views.setCurrentWidget(self.alone if alone else self.items if is_table else self.plot)
        self.ask_rows()

    def forget(self) -> None:
        super().forget()
        self.plot.show_dots((), ("", ""))
        self.note.setText("")

    # ---- the sides

    @property
    def _held_out(self) -> float:
        """The share that the active run held out, or that is to be held out."""
        run, settings = self.session.runs.active, self.session.training.settings
        return run.config.held_out if run is not None and run.config is not None else settings.held_out or 0.0

    @property
    def _chosen(self) -> tuple[TextSide, TextSide] | None:
        first, second = self._sides
        if not first or not second:
            return None
        return first[max(self.first.currentIndex(), 0)], second[max(self.second.currentIndex(), 0)]

    def _fill_sides(self, exploration: Exploration) -> None:
        """Lists the texts of each side; what was chosen stays chosen."""
        sources = [
            (TextSide("source", number), source.name) for number, source in enumerate(exploration.corpus.sources)
        ]
        opened = [(TextSide("texts", each.key), each.title) for each in self.session.comparison.opened_sets]
        held_out = [(HELD_OUT, "Held-out text")] if self._held_out else []
        first = [*sources, *held_out, *opened]
        before = self._chosen or (None, None)
        wanted = self._limit() or before[0]
        chosen = wanted if wanted is not None and wanted in dict(first) else first[0][0]
        if chosen == HELD_OUT:
            second = [(OTHERS, "the rest of the corpus")]
        else:
            is_opened = chosen.kind == "texts"
            name = "the whole corpus" if is_opened else "all other sources"
            others = [(OTHERS, name)] if is_opened or len(sources) > 1 else []
            second = [*others, *(each for each in [*sources, *opened] if each[0] != chosen)]
        self._sides = tuple(side for side, _ in first), tuple(side for side, _ in second)
        boxes = ((self.first, first, chosen), (self.second, second, before[1]))
        for (box, texts, side), sides in zip(boxes, self._sides, strict=True):
            with QSignalBlocker(box):
                if [each.name for each in box.choices] != [name for _, name in texts]:
                    box.set_choices([Choice(name, name, "") for _, name in texts])
                box.setCurrentIndex(sides.index(side) if side in sides else 0)

    def _choose_of(self, exploration: Exploration) -> None:
        """Compares words while there is no tokenizer, as they need none; what was chosen before comes back with one."""
        before, needs_words = self._of_before, exploration.tokenizer is None
        self.of.setEnabled(not needs_words)
        if needs_words == (before is None):
            self._of_before = self.of.currentIndex() if needs_words else None
            with QSignalBlocker(self.of):
                self.of.setCurrentIndex(_WORDS if before is None else before)

    def _limit(self) -> TextSide | None:
        """The source that was chosen in Corpus since this was asked last."""
        before, self._limits = self._limits, self.exploring.limits
        is_new = self._limits is not None and self._limits != before and len(self._limits) == 1
        return TextSide("source", min(self._limits)) if is_new and self._limits is not None else None

    def _side_names(self) -> tuple[str, str]:
        names = [box.choices[max(box.currentIndex(), 0)].name for box in (self.first, self.second) if box.choices]
        return (names[0], names[1]) if len(names) == 2 else ("", "")

    def _choose(self) -> None:
        self.order = "", True
        self._again()

    def _again(self) -> None:
        if self.isVisible():
            self.refresh()

    def ask_rows(self) -> None:
        keyness: Keyness | None = self.asked.answer
        if keyness is None:
            return
        question, smoothing, of_first = self.asked_rows(), self.smoothing.value, self.side.value is True
        work = partial(typical_work, keyness, float(str(smoothing)), of_first, question)
        self.listing.ask((keyness, smoothing, of_first, question.query.text, self.order), work)

    def take_rows(self) -> None:
        typical: Typical | None = self.listing.answer
        if typical is not None and not self.listing.busy:
            first, second = map(isolated, self._side_names())
            names = first, second
            self.plot.show_dots(typical.dots, names)
            self.show_items(typical.items, typical.rows)
            unit = "word" if typical.keyness.pattern else "token"
            sizes = (several(total, unit) for total in typical.keyness.totals)
            self.note.setText(
                " ".join(f"{letter}: {name}, {size}." for letter, name, size in zip("AB", names, sizes, strict=True))
            )
        self.update_state()

    def _open_dot(self, at: int) -> None:
        typical: Typical | None = self.listing.answer
        if typical is not None:
            first, second = typical.keyness.strongest(STRONGEST)
            self.open_item(int(np.concatenate([first, second])[at]))

    def open_item(self, number: int) -> None:
        typical: Typical | None = self.listing.answer
        if typical is not None and typical.items.ids is not None:
            self.session.view.look_at(int(typical.items.ids[number]))
        elif typical is not None:
            self.session.view.show_text(typical.keyness.text(number), (0, 1))
