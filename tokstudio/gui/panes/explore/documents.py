"""The page Documents: a row for each document, sorted and filtered in a job, over arrays."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from PySide6.QtCore import QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QFont

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import columns_of, percent_text, several
from tokstudio.core.comparison.table import SIGNS, TRAINED
from tokstudio.core.corpus.source import Source, document_place
from tokstudio.core.exploration.document_filter import DocumentFilter
from tokstudio.core.exploration.exploration import Exploration
from tokstudio.core.text.languages import SCRIPTS
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.explore.page import ExplorePage, ListRows, ListTable, widest_number
from tokstudio.gui.session.measuring.exploring import WrittenTable, table_work
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.filters import FilterEdit
from tokstudio.gui.token_text.spelling import marked, shown
from tokstudio.gui.widgets.fields import restyle
from tokstudio.gui.widgets.labels import isolated, plain_label
from tokstudio.gui.widgets.layouts import column, row, stacked
from tokstudio.gui.widgets.menus import Menu
from tokstudio.gui.widgets.pane import EmptyState

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- What is listed ---------------------------------------------------------------------------------------------------


class _Column(NamedTuple):
    """A column: the key of its values, and how they are shown."""

    key: str
    title: str
    tip: str
    kind: Literal["name", "count", "share", "ratio"] = "count"
    widest: str = "00,000"
    worst_is_least: bool = False


_COLUMNS = (
    _Column("source", "Source", "The file or text", "name"),
    _Column("file", "File", "The file of a data set that has several", "name"),
    _Column("number", "Document", "Its number in the source: the row, the line, or 1 of a whole text"),
    _Column("uses", "Uses", "How often the chosen token occurs in it"),
    _Column("bytes", "Bytes", "Its size in UTF-8", widest="0,000,000"),
    _Column("tokens", "Tokens", "Its tokens at the playhead"),
    _Column("bytes_per_token", "Bytes/token", "Its bytes / its tokens", "ratio", f"{TRAINED}0.00", worst_is_least=True),
    _Column("repeated", "Repeated", "The share of its bytes in lines that the corpus has elsewhere, too", "share"),
    _Column("script", "Script", "The script of most of its letters", "name", "Devanagari  "),
    _Column("not_utf8", "Not UTF-8", "Bytes that are not UTF-8"),
    _Column("longest_run", "Longest run", "Bytes of its longest run without a space"),
    _Column("longest_line", "Longest line", "Bytes of its longest line"),
    _Column("lines", "Lines", "Its lines"),
)
_LONGEST_NAME = 28  # characters that a column is as wide as
_ORDER = "place"  # the order of the corpus
_PIECE = 1 << 12
_NO_ROWS = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Documents:
    """The documents of an exploration: their columns by name, and what the indices in columns of names stand for."""

    sources: tuple[Source, ...]
    columns: Mapping[str, NDArray[Any]]
    names: Mapping[str, Sequence[str]]
    firsts: NDArray[np.int64]  # [sources], the first document of each

    @property
    def total(self) -> int:
        """The number of documents."""
        return len(self.columns["source"])

    def place_of(self, document: int) -> tuple[int, int]:
        """The source of a document, and its number in it."""
        source = int(self.columns["source"][document])
        return source, document - int(self.firsts[source])


class Uses(NamedTuple):
    """The uses of a token in each document, int64 [documents]."""

    token: str  # as it is shown
    uses: NDArray[np.int64]


def documents_work(exploration: Exploration, before: Documents | None = None) -> Work[Documents]:
    """The documents with what the exploration knows of them; `before` has what is known without a tokenizer."""
    table = yield from exploration.documents_work()
    if before is not None:
        # Millions of documents have each column once.
        more = {name: table[name] for name in table if name not in before.columns}
        return replace(before, columns={**before.columns, **more})
    columns = dict(table)
    sources = exploration.corpus.sources
    amounts = np.array([source.documents for source in sources], np.int64)
    with np.errstate(invalid="ignore"):
        columns["repeated"] = np.divide(columns["repeated_bytes"], columns["bytes"], dtype=np.float32)
    names = {"source": [source.name for source in sources], "script": [*SCRIPTS, "–"]}
    if any(source.shards for source in sources):
        names["file"] = [file for source in sources for file in source.shards or ("",)]
        files = np.array([max(1, len(source.shards)) for source in sources], np.int64)
        columns["file"] = (np.cumsum(files) - files).astype(np.int32)[columns["source"]] + columns["shard"]
    return Documents(sources, columns, names, np.cumsum(amounts) - amounts)


@dataclass(frozen=True)
class Listing:
    """Which documents are listed, and in what order."""

    filter: DocumentFilter
    limits: frozenset[int] | None
    by: str
    descending: bool


def rows_work(documents: Documents, asked: Listing) -> Work[NDArray[np.int64]]:
    """The documents to list, int64.

    Raises:
        ConfigError: The filter has a column that is not known here.
    """
    columns = documents.columns
    yield Progress("filtering")
    passing = yield from asked.filter.passing_work(documents.sources, columns, documents.names)
    if asked.limits is not None:
        passing &= np.isin(columns["source"], list(asked.limits))
    yield Progress("filtering")
    rows = np.flatnonzero(passing)
    if asked.by not in columns:
        return rows
    yield Progress("sorting")
    key = columns[asked.by][rows]
    if asked.by in documents.names:
        names = documents.names[asked.by]
        ranks = np.argsort(np.argsort([name.lower() for name in names], kind="stable"), kind="stable")
        key = ranks[key]
    # Documents without a figure are the last in both directions.
    key = key.astype(np.float64)
    return rows[np.argsort(-key if asked.descending else key, kind="stable")]


@dataclass(frozen=True, eq=False)
class Listed:
    """Documents in the order of the rows, with the columns that are known."""

    documents: Documents
    rows: NDArray[np.int64]
    columns: tuple[_Column, ...]
    values: tuple[NDArray[Any], ...]  # [documents] of each column

    @classmethod
    def of(cls, documents: Documents, rows: NDArray[np.int64]) -> Listed:
        """Some documents, with the columns that are known."""
        columns = tuple(each for each in _COLUMNS if each.key in documents.columns)
        return cls(documents, rows, columns, tuple(documents.columns[each.key] for each in columns))

    def cells(self) -> Iterator[list[object]]:
        """The rows for a file: numbers without separators."""
        for first in range(0, len(self.rows), _PIECE):
            rows = self.rows[first : first + _PIECE]
            texts: list[list[object]] = []
            for each, values in zip(self.columns, self.values, strict=True):
                some: list[Any] = values[rows].tolist()
                if each.kind == "name":
                    some = [self.documents.names[each.key][value] for value in some]
                elif each.key == "number":
                    some = [value + 1 for value in some]
                texts.append(some)
            yield from map(list, zip(*texts, strict=True))


_NONE = Listed(Documents((), {}, {}, _NO_ROWS), _NO_ROWS, (), ())


class DocumentRows(ListRows):
    """The listed documents."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(theme, parent)
        self.listed, self._trained = _NONE, ()
        theme.follow(self._apply_style)

    def _apply_style(self) -> None:
        self._figures = self._theme.tabular_font()  # made once: every cell that is drawn asks for it

    def show(self, listed: Listed | None, token: str = "", trained: Sequence[bool] = ()) -> None:
        """Lists documents, with the uses in each of a token, which is shown as `token`.

        Bytes per token are marked in the sources that the tokenizer was `trained` on, as far as that is known.
        """
        with self.reset():
            self._trained = trained
            self.listed = listed or _NONE
            columns = self.listed.columns
            self.titles = [f"Uses of {token}" if each.key == "uses" else each.title for each in columns]
            self.tips = [each.tip for each in columns]
            self.widest = list(map(self._widest, columns, self.listed.values))
            self.numbers = [number for number, each in enumerate(columns) if each.kind != "name"]

    def _widest(self, each: _Column, values: NDArray[Any]) -> str:
        """The greatest number; the longest name of sources or files, cut where it is long; else what it may need."""
        if each.kind == "count":
            return widest_number(each.widest, values)
        names = () if each.key == "script" else self.listed.documents.names.get(each.key, ())
        return max(names, key=columns_of, default=each.widest)[:_LONGEST_NAME]

    def document_at(self, row: int) -> int:
        """The document of a row, from 0 over all sources."""
        return int(self.listed.rows[row])

    def row_of(self, document: int) -> int:
        """The row of a document; -1 if it is not listed."""
        found = np.flatnonzero(self.listed.rows == document)
        return int(found[0]) if len(found) else -1

    def count(self) -> int:
        return len(self.listed.rows)

    def text(self, row: int, column: int) -> str:
        each, value = self.listed.columns[column], self.listed.values[column][self.listed.rows[row]]
        if each.kind == "name":
            return self.listed.documents.names[each.key][int(value)]
        if each.kind == "count":
            return f"{int(value) + (each.key == 'number'):,}"
        if np.isnan(value):
            return "–"
        sign = self._sign(row) if each.key == "bytes_per_token" else ""
        return percent_text(float(value), 1) if each.kind == "share" else f"{sign}{float(value):,.2f}"

    def tip(self, row: int, column: int) -> str:
        """Returns all of a row, as a narrow table shows only a part."""
        documents = self.listed.documents
        source, document = documents.place_of(self.document_at(row))
        place = document_place(documents.sources[source], document) or documents.sources[source].name
        lines = (f"{title}: {self.text(row, at)}" for at, title in enumerate(self.titles) if at > 1)
        sign = (f"{TRAINED} {SIGNS[TRAINED]}",) if self._sign(row) else ()
        return "\n".join((place, *lines, *sign, "Enter, or a double click, opens it in the Text pane."))

    def _sign(self, row: int) -> str:
        source, _ = self.listed.documents.place_of(self.document_at(row))
        return TRAINED if source < len(self._trained) and self._trained[source] else ""

    def font(self, row: int, column: int) -> QFont | None:
        return self._figures if column in self.numbers else None


# --- The page ---------------------------------------------------------------------------------------------------------

_HINT = (
    "Words that documents contain, or conditions: tokens>1000 script:Han source:de repeated>50% not-utf-8>0. "
    'All must hold. Two words together: "buy now". Numbers can end in k, M, kB or MB.'
)
_NOTHING = "No document passes this filter."
_SHOWN_TOKEN = 16  # bytes


class DocumentsPage(ExplorePage):
    """All documents, sorted by any column and filtered."""

    titled = "Documents"
    tip = "A row for each document; a click on a title sorts, the most conspicuous first"
    will_show = "Each document of the corpus will have a row here, with its size, its tokens and what is odd about it."
    phases: ClassVar = {
        "reading": "Reading documents",
        "encoding": "Encoding documents",
        "measuring dispersion": "Counting tokens",
    }

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self._of_tokens, self._uses = self.inquire(self.update_state), self.inquire(self.update_state)
        self._listing = self.inquire(self._take_rows)
        self._trained = self.inquire(self._take_rows)
        self._documents: Documents | None = None  # with all that is known so far
        self._by, self._descending = _ORDER, True
        self._filter, self._wrong_filter = DocumentFilter(), ""
        self.filter = FilterEdit(theme, "Filter documents", _HINT)
        self._typed = QTimer(self, singleShot=True, interval=session.jobs.pauses.filtered)
        self._typed.timeout.connect(self._take_filter)
        self.filter.textChanged.connect(self._typed.start)
        self.count = plain_label("muted")
        self.rows = DocumentRows(theme, self)
        self.table_view = ListTable(self.rows, theme, "Documents")
        self.table_view.opened.connect(self._open)
        self.table_view.title_clicked.connect(self._sort)
        self.table_view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table_view.customContextMenuRequested.connect(self._show_menu)
        self.filter.left.connect(self.table_view.setFocus)
        row((self.filter, 1), self.count, spacing=8, parent=self.head)
        self.nothing = EmptyState(_NOTHING)
        self._list_or_none = stacked(self.table_view, self.nothing)
        column((self._list_or_none, 1), parent=self.content)
        self._show_order()

    @property
    def table(self) -> WrittenTable | None:
        if not self.rows.count():
            return None
        return WrittenTable("Documents as CSV", "documents.csv", partial(_write_work, self.rows.listed))

    def look(self, exploration: Exploration) -> None:
        # What needs no tokenizer comes first.
        self.asked.ask(exploration.corpus, partial(documents_work, exploration.at(None)))

    def follow_token(self) -> None:
        self.update_state()

    def show_answer(self) -> None:
        exploration, token = self.exploring.exploration, self.exploring.token
        if exploration is None or exploration.tokenizer is None:
            self._of_tokens.forget()
        elif self.asked.answer is not None:
            self._of_tokens.ask(exploration, partial(documents_work, exploration, self.asked.answer))
        run = self.exploring.place[0]
        if exploration is None or run is None:
            self._trained.forget()
        else:
            self._trained.ask((exploration.corpus, run, run.ended), self.exploring.look_for_trained(run))
        if exploration is None or token is None:
            self._uses.forget()
        elif self._of_tokens.answer is not None and not self._of_tokens.busy:
            self._uses.ask((exploration, token), partial(_uses_work, exploration, token, self._token_text(token)))
        self._put_together()
        self._list()

    def _put_together(self) -> None:
        documents: Documents | None = self._of_tokens.answer or self.asked.answer
        uses: Uses | None = self._uses.answer
        if documents is not None and uses is not None:
            documents = replace(documents, columns={**documents.columns, "uses": uses.uses})
        known, before = documents and documents.columns, self._documents and self._documents.columns
        if known is None or before is None or [*map(id, known.values())] != [*map(id, before.values())]:
            self._documents = documents

    def forget(self) -> None:
        super().forget()
        self._documents = None
        self.rows.show(None)

    @property
    def trouble(self) -> str:
        return super().trouble or self._wrong_filter

    # ---- what is listed

    def _token_text(self, token: int) -> str:
        tokenizer = self.exploring.exploration.tokenizer if self.exploring.exploration is not None else None
        raw = tokenizer.tokens.prefix(token, 2 * _SHOWN_TOKEN) if isinstance(tokenizer, Tokenizer) else b""
        return isolated(marked(shown(raw, _SHOWN_TOKEN)))

    def _list(self) -> None:
        documents = self._documents
        if documents is None:
            self._show_page()
            return
        asked = Listing(self._filter, self.exploring.limits, self._by, self._descending)
        self._listing.ask((documents, asked), partial(rows_work, documents, asked))
        self._show_page()

    def _take_rows(self) -> None:
        documents, rows, uses = self._documents, self._listing.answer, self._uses.answer
        if documents is not None and rows is not None and not self._listing.busy:
            current = self.table_view.currentIndex().row()
            kept = self.rows.document_at(current) if 0 <= current < self.rows.count() else -1
            token = uses.token if uses is not None else ""
            self.rows.show(Listed.of(documents, rows), token, self._trained.answer or ())
            self._show_order()
            row = self.rows.row_of(kept) if kept >= 0 else -1
            if row >= 0:
                self.table_view.setCurrentIndex(self.rows.index(row, 0))
            self._list_or_none.setCurrentIndex(int(not len(rows) and documents.total > 0))
            every = several(documents.total, "document")
            self.count.setText(f"{len(rows):,} of {every}" if len(rows) < documents.total else every)
        self.update_state()

    def _show_page(self) -> None:
        documents = self._documents
        self.stack.setCurrentWidget(self.empty if documents is None else self.content)

    def _take_filter(self) -> None:
        text = self.filter.text()
        try:
            self._filter, self._wrong_filter = DocumentFilter.parse(text), ""
        except ConfigError as error:
            self._wrong_filter = str(error)
        restyle(self.filter, "invalid", bool(self._wrong_filter))
        self._list()
        self.update_state()

    def _sort(self, at: int) -> None:
        """Sorts by a column: the worst first; by the same again, the other way round."""
        each = self.rows.listed.columns[at]
        if each.key == self._by:
            self._descending = not self._descending
        else:
            ascends = each.worst_is_least or each.kind == "name" or each.key == "number"
            self._by, self._descending = each.key, not ascends
        self._show_order()
        self._list()

    def _sort_by(self, key: str) -> None:
        if key == _ORDER:
            self._by = key
            self._show_order()
            self._list()
        else:
            self._sort(next(at for at, each in enumerate(self.rows.listed.columns) if each.key == key))

    def _show_order(self) -> None:
        at = next((at for at, each in enumerate(self.rows.listed.columns) if each.key == self._by), -1)
        self.table_view.show_order(at, self._descending)

    def _open(self, row: int) -> None:
        if 0 <= row < self.rows.count():
            self.exploring.open(*self.rows.listed.documents.place_of(self.rows.document_at(row)))

    def _leave_out(self, row: int) -> None:
        if 0 <= row < self.rows.count():
            self.exploring.leave_out(*self.rows.listed.documents.place_of(self.rows.document_at(row)))

    def _show_menu(self, place: QPoint) -> None:
        menu = Menu(self)
        row = self.table_view.currentIndex().row()
        menu.addAction("&Open in the Text Pane", partial(self._open, row)).setEnabled(row >= 0)
        menu.addAction("&Copy", self.table_view.copy)
        menu.addAction("&Leave This Document Out", partial(self._leave_out, row)).setEnabled(row >= 0)
        order = menu.add_menu("&Sort By")
        order.addAction("Order of the Corpus", partial(self._sort_by, _ORDER))
        for each, title in zip(self.rows.listed.columns, self.rows.titles, strict=True):
            order.addAction(title.replace("&", "&&"), partial(self._sort_by, each.key))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.table_view.viewport().mapToGlobal(place))


def _uses_work(exploration: Exploration, token: int, text: str) -> Work[Uses]:
    return Uses(text, (yield from exploration.uses_by_document_work(token)))


def _write_work(listed: Listed, path: Path) -> Work[Path]:
    return (yield from table_work(path, [each.title for each in listed.columns], listed.cells()))
