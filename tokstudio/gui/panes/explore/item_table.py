"""Pages of the Explore pane with a table of words or tokens: rows over arrays, filtered and sorted in a job."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QFont

from tokstudio.core.analysis.token_index import Texts, order_of_texts_work
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.gui.panes.explore.page import ExplorePage, ListRows, ListTable, widest_number
from tokstudio.gui.session.measuring.exploring import WrittenTable, table_work
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.filters import FilterEdit
from tokstudio.gui.token_table.query import FILTER_HINT, FilterQuery, Query
from tokstudio.gui.token_text.spelling import marked, shown
from tokstudio.gui.widgets.fields import restyle
from tokstudio.gui.widgets.labels import isolated

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STEP = 1 << 11
_LONGEST = 160  # bytes of an item that are shown
_WIDEST = "a word of such width"
TEXT = "text"  # the key of the column with the items


class HasTexts(Protocol):
    """Rows with texts: words, tokens or boilerplate."""

    def __len__(self) -> int:
        """The number of rows."""
        ...

    def raw(self, row: int) -> bytes:
        """The bytes of a row."""
        ...


class ItemColumn(NamedTuple):
    """A column with numbers: its key, and how they are shown."""

    key: str
    title: str
    tip: str
    kind: Literal["count", "ratio"] = "count"
    widest: str = "00,000,000"


@dataclass(frozen=True, eq=False)
class ItemList:
    """Words or tokens with what is known of them.

    Attributes:
        texts: The items.
        title: Of the column that has them.
        columns: The others.
        values: Of each column, an array of one number a row; NaN where there is none.
        ids: The ids of single tokens; None for others.
    """

    texts: HasTexts
    title: str
    columns: tuple[ItemColumn, ...]
    values: tuple[NDArray[Any], ...]
    ids: NDArray[np.int32] | None = None


@dataclass(frozen=True)
class ItemQuestion:
    """Which items are listed, and in what order."""

    query: Query
    by: str
    descending: bool


def item_rows_work(items: ItemList, among: NDArray[np.int64], asked: ItemQuestion) -> Work[NDArray[np.int64]]:
    """The rows to list among some, int64; without a column to sort by, in their order; texts are sorted by bytes."""
    query, rows = asked.query, among
    if query:
        kept: list[int] = []
        for number, row in enumerate(among.tolist()):
            if number % _STEP == 0:
                yield Progress("filtering", number, len(among))
            raw = items.texts.raw(row)
            limits = query.lengths
            if limits is not None and not limits[0] <= len(raw) <= limits[1]:
                continue
            is_named = query.number is not None and items.ids is not None and int(items.ids[row]) == query.number
            if is_named or query.accepts(raw):
                kept.append(row)
        rows = np.array(kept, np.int64)
    if asked.by == TEXT:
        texts: list[bytes] = []
        for first in range(0, len(rows), _STEP):
            texts += (items.texts.raw(row)[:_LONGEST] for row in rows[first : first + _STEP].tolist())
            yield Progress("sorting", first, len(rows))
        order = yield from order_of_texts_work(Texts.of(texts))
        return rows[order[::-1] if asked.descending else order]
    at = next((at for at, each in enumerate(items.columns) if each.key == asked.by), None)
    if at is None:
        return rows
    yield Progress("sorting")
    key = items.values[at][rows].astype(np.float64)
    return rows[np.argsort(-key if asked.descending else key, kind="stable")]


class ItemRows(ListRows):
    """The listed items."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(theme, parent)
        self.items: ItemList | None = None
        self.rows: NDArray[np.int64] = np.zeros(0, np.int64)

    def show(self, items: ItemList | None, rows: NDArray[np.int64]) -> None:
        """Lists some of the items."""
        with self.reset():
            self.items, self.rows = items, rows if items is not None else rows[:0]
            if items is not None:
                self.titles = (items.title, *(each.title for each in items.columns))
                forms = (",.2f" if each.kind == "ratio" else ",.0f" for each in items.columns)
                leasts = (each.widest for each in items.columns)
                self.widest = (_WIDEST, *map(widest_number, leasts, items.values, forms))
                self.tips = ("", *(each.tip for each in items.columns))
                self.numbers = range(1, len(self.titles))

    def count(self) -> int:
        return len(self.rows)

    def text(self, row: int, column: int) -> str:
        assert self.items is not None
        number = int(self.rows[row])
        if column == 0:
            return isolated(marked(shown(self.items.texts.raw(number), _LONGEST)))
        each, value = self.items.columns[column - 1], self.items.values[column - 1][number]
        if np.isnan(value):
            return "–"
        return f"{float(value):,.2f}" if each.kind == "ratio" else f"{int(value):,}"

    def tip(self, row: int, column: int) -> str:
        lines = (f"{title}: {self.text(row, at)}" for at, title in enumerate(self.titles) if at)
        return "\n".join((self.text(row, 0), *lines))

    def font(self, row: int, column: int) -> QFont | None:
        return self._theme.tabular_font() if column else self._theme.monospace_font()

    def written(self, title: str, name: str) -> WrittenTable | None:
        """The rows as a table to write; None without rows."""
        if self.items is None or not len(self.rows):
            return None
        return WrittenTable(title, name, partial(items_csv_work, self.items, self.rows))


def items_csv_work(
    items: ItemList, rows: NDArray[np.int64], path: Path, side_of: Callable[[int], str] | None = None
) -> Work[Path]:
    """Writes some items as CSV, with the ids of single tokens, and the text that each is typical of."""
    ids = () if items.ids is None else ("id",)
    sides = () if side_of is None else ("typical of",)
    titles = (*ids, items.title.lower(), *sides, *(each.title.lower() for each in items.columns))
    return (yield from table_work(path, titles, _cells(items, rows, side_of)))


def _cells(
    items: ItemList, rows: NDArray[np.int64], side_of: Callable[[int], str] | None
) -> Iterator[Sequence[object]]:
    for row in rows.tolist():
        ids = () if items.ids is None else (int(items.ids[row]),)
        sides = () if side_of is None else (side_of(row),)
        numbers: list[object] = [values[row].item() for values in items.values]
        text = items.texts.raw(row).decode("utf-8", "replace")
        yield *ids, text, *sides, *("" if n != n else n for n in numbers)


class ItemPage(ExplorePage):
    """A page with a table of items.

    A subclass asks `listing` for rows in `ask_rows`, shows them in `take_rows`, and opens an item in `open_item`.
    """

    def __init__(self, session: Session, theme: Theme, filter_name: str, table_name: str) -> None:
        super().__init__(session, theme)
        self.listing = self.inquire(self.take_rows)
        self.order = "", True  # the key of the column that sorts the rows, and whether descending
        self.filter = FilterEdit(theme, filter_name, FILTER_HINT)
        typed = QTimer(self, singleShot=True, interval=session.jobs.pauses.filtered)
        typed.timeout.connect(self.ask_rows)
        self.filter.textChanged.connect(typed.start)
        self.rows = ItemRows(theme, self)
        self.items = ListTable(self.rows, theme, table_name)
        self.items.title_clicked.connect(self._sort)
        self.items.opened.connect(lambda at: self.open_item(int(self.rows.rows[at])))
        self.filter.left.connect(self.items.setFocus)

    def ask_rows(self) -> None:
        """Asks which items are listed, and in what order."""
        raise NotImplementedError

    def take_rows(self) -> None:
        """Shows the answer of `listing`."""
        raise NotImplementedError

    def open_item(self, number: int) -> None:
        """Shows a token everywhere, or a word in the Text pane."""
        raise NotImplementedError

    def asked_rows(self) -> ItemQuestion:
        """Which items are asked for; an error is marked at the filter."""
        query = FilterQuery(self.filter.text())
        restyle(self.filter, "invalid", bool(query.error))
        return ItemQuestion(query, *self.order)

    def forget(self) -> None:
        super().forget()
        self.rows.show(None, self.rows.rows)

    @property
    def trouble(self) -> str:
        return super().trouble or FilterQuery(self.filter.text()).error

    def show_items(self, items: ItemList, rows: NDArray[np.int64]) -> None:
        """Lists some of the items, and marks the column that they are sorted by."""
        self.rows.show(items, rows)
        keys = [TEXT, *(each.key for each in items.columns)]
        by, descending = self.order
        self.items.show_order(keys.index(by) if by in keys else -1, descending)

    def _sort(self, at: int) -> None:
        """Sorts by a column: numbers the highest first, texts the first; by the same again, the other way round."""
        items, (before, descending) = self.rows.items, self.order
        if items is not None:
            by = items.columns[at - 1].key if at else TEXT
            self.order = by, not descending if by == before else by != TEXT
            self.ask_rows()
