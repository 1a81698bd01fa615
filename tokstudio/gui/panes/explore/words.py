"""The page Words: pre-tokens or tokens, runs of them, and boilerplate, with how often and in how many parts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from PySide6.QtWidgets import QCheckBox

from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.exploration.exploration import Exploration
from tokstudio.core.exploration.word_list import LEAST_RUN, LONGEST, Boilerplate
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.explore.item_table import ItemColumn, ItemList, ItemPage, item_rows_work
from tokstudio.gui.session.measuring.exploring import WrittenTable
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Choice, ChoiceBox
from tokstudio.gui.widgets.labels import named, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, column, row, stacked
from tokstudio.gui.widgets.pane import EmptyState

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- What is listed ---------------------------------------------------------------------------------------------------

PRE_TOKENS, TOKENS, BOILERPLATE = "pre-tokens", "tokens", "boilerplate"
_COUNT = ItemColumn("count", "Count", "How often it occurs in all of the text")
_DOCUMENTS = ItemColumn("documents", "Documents", "In how many documents it stands")
_PIECES = ItemColumn(
    "pieces", "Pieces", "In how many of about 100 pieces of equal numbers of words it stands", widest="000"
)
_PARTS = ItemColumn("tokens", "Tokens", "How many tokens it becomes by itself: more than one where it is split")
_SIZE = ItemColumn("size", "Pre-tokens", "How many pre-tokens it has")


@dataclass(frozen=True, eq=False)
class ListedWords:
    """Words with what is to be said of them."""

    items: ItemList
    split: NDArray[np.bool_] | None  # bool [rows], which become more than one token; None where that is not known
    note: str


class _Stretches:
    """Boilerplate as rows."""

    def __init__(self, found: tuple[Boilerplate, ...]) -> None:
        self._found = found

    def __len__(self) -> int:
        return len(self._found)

    def raw(self, row: int) -> bytes:
        return self._found[row].text.encode()


def words_work(exploration: Exploration, of: str, n: int) -> Work[ListedWords]:
    """Counts words; see `Exploration.words`, whose errors it raises."""
    if of == BOILERPLATE:
        found = yield from exploration.boilerplate_work()
        rows = [(each.pre_tokens, each.count, each.documents) for each in found]
        values = np.array(rows, np.int64).reshape(-1, 3).T
        return ListedWords(ItemList(_Stretches(found), "Text", (_SIZE, _COUNT, _DOCUMENTS), tuple(values)), None, "")
    words = yield from exploration.words_work(n, of)
    columns, numbers = (_COUNT, _DOCUMENTS, _PIECES), [words[each.key] for each in (_COUNT, _DOCUMENTS, _PIECES)]
    split = ids = None
    if of == PRE_TOKENS and n == 1 and isinstance(exploration.tokenizer, Tokenizer):
        amounts = yield from words.tokens_work()
        columns, split = (*columns, _PARTS), amounts > 1
        numbers.append(amounts)
    if of == TOKENS and n == 1:
        ids = words.ids()[:, 0]
    title = ("Word" if of == PRE_TOKENS else "Token") + ("s" if n > 1 else "")
    items = ItemList(words, title, columns, tuple(map(np.asarray, numbers)), ids)
    return ListedWords(items, split, words.note)


# --- The page ---------------------------------------------------------------------------------------------------------

_OF = (
    Choice(PRE_TOKENS, "Words", "Pre-tokens: what the pattern splits the text into."),
    Choice(TOKENS, "Tokens", "What the tokenizer makes of the text."),
    Choice(BOILERPLATE, "Boilerplate", f"Stretches of {LEAST_RUN} pre-tokens and more that stand in ten documents."),
)
_UNITS = {PRE_TOKENS: ("word",), TOKENS: ("token",), BOILERPLATE: ("stretch", "stretches")}
_RUNS = [Choice(n, "Single" if n == 1 else f"Runs of {n}", "") for n in range(1, LONGEST + 1)]
_NOTHING = {
    PRE_TOKENS: "No word passes this filter.",
    TOKENS: "No token passes this filter.",
    BOILERPLATE: "No stretch of text stands in ten documents.",
}


class WordsPage(ItemPage):
    """What the text consists of, most frequent first."""

    titled = "Words"
    tip = "Words, tokens or runs of them, with how often and in how many documents they occur"
    will_show = "The words of the corpus will be listed here, most frequent first, with the documents that have them."
    phases: ClassVar = {"counting words": "Counting words", "encoding": "Encoding"}

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme, "Filter words", "Words")
        self.of, self.runs = named(ChoiceBox(_OF), "Words or tokens"), named(ChoiceBox(_RUNS), "Single or in runs")
        self.split = QCheckBox("Only &split")
        self.split.setToolTip("Only words that the tokenizer splits into several tokens")
        self.count = plain_label("muted")
        self.nothing = EmptyState("")
        self._list_or_none = stacked(self.items, self.nothing)
        for box in (self.of, self.runs):
            box.currentIndexChanged.connect(self._choose)
        self.split.toggled.connect(self.ask_rows)
        of, filtered = (
            row(self.of, self.runs, self.split, STRETCH, spacing=8),
            row((self.filter, 1), self.count, spacing=8),
        )
        column(of, filtered, spacing=6, parent=self.head)
        column((self._list_or_none, 1), parent=self.content)

    @property
    def table(self) -> WrittenTable | None:
        return self.rows.written("Words as CSV", "words.csv")

    def look(self, exploration: Exploration) -> None:
        of, n = self._asked_for
        self.runs.setEnabled(of != BOILERPLATE)
        limited = self.exploring.limited_exploration or exploration
        self.asked.ask((limited, of, n), partial(words_work, limited, of, n))

    def show_answer(self) -> None:
        self.stack.setCurrentWidget(self.empty if self.asked.answer is None else self.content)
        listed: ListedWords | None = self.asked.answer
        self.split.setVisible(listed is not None and listed.split is not None)
        self.note.setText("" if listed is None else listed.note)
        self.ask_rows()

    # ---- what is listed

    @property
    def _asked_for(self) -> tuple[str, int]:
        of = self.of.value
        return of, 1 if of == BOILERPLATE else self.runs.value

    def _choose(self) -> None:
        self.order = "", True
        exploration = self.exploring.exploration
        if exploration is not None:
            self.look(exploration)

    def ask_rows(self) -> None:
        listed: ListedWords | None = self.asked.answer
        if listed is None:
            return
        question, items = self.asked_rows(), listed.items
        split = listed.split if self.split.isChecked() else None
        among = np.arange(len(items.texts)) if split is None else np.flatnonzero(split)
        work = partial(item_rows_work, items, among, question)
        self.listing.ask((listed, split is not None, question.query.text, self.order), work)

    def take_rows(self) -> None:
        listed: ListedWords | None = self.asked.answer
        if listed is not None and self.listing.answer is not None and not self.listing.busy:
            self.show_items(listed.items, self.listing.answer)
            found, total = self.rows.count(), len(listed.items.texts)
            self._list_or_none.setCurrentIndex(int(not found))
            self.nothing.label.setText(_NOTHING[self._asked_for[0]])
            every = several(total, *_UNITS[self._asked_for[0]])
            self.count.setText(f"{found:,} of {every}" if found < total else every)
        self.update_state()

    def open_item(self, number: int) -> None:
        items = self.rows.items
        if items is not None and items.ids is not None:
            self.session.view.look_at(int(items.ids[number]))
        elif items is not None:
            self.session.view.show_text(items.texts.raw(number).decode("utf-8", "replace"), (0, 1))
