"""The page Search: the hits of a text, an expression or tokens, each in its line, and where in each source they lie."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from PySide6.QtCore import QModelIndex, QObject, QPoint, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import QCheckBox, QHeaderView, QSizePolicy, QStyledItemDelegate, QStyleOptionViewItem

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import columns_of, percent_text, several
from tokstudio.core.corpus.source import Source
from tokstudio.core.exploration.exploration import Exploration
from tokstudio.core.exploration.search import BARS, Order, Search
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.explore.page import ExplorePage
from tokstudio.gui.session.measuring.exploring import Inquiry, WrittenTable
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.hits_table import WIDTH, FoundHits, HitRows, HitSearch, HitsTable
from tokstudio.gui.token_text.spelling import token_name
from tokstudio.gui.widgets.bar_code import paint_bars
from tokstudio.gui.widgets.controls import Choice, ChoiceBox, SearchEdit
from tokstudio.gui.widgets.fields import restyle
from tokstudio.gui.widgets.figures import FigureModel, Index, ReadOnlyTable
from tokstudio.gui.widgets.labels import ElidedLabel, guarded_painter, named, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, Fitting, column, row
from tokstudio.gui.widgets.pane import EmptyState

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- What is searched for ---------------------------------------------------------------------------------------------

TEXT, EXPRESSION, CHOSEN, IDS = "text", "regex", "token", "ids"
_KINDS = (
    Choice(TEXT, "Text", "A text as it is written."),
    Choice(
        EXPRESSION,
        "Expression",
        "A regular expression: ^ and $ stand for the ends of lines, too. Empty matches are no hits.",
    ),
    Choice(CHOSEN, "Chosen token", "The token that was chosen last in any pane, where the text becomes it."),
    Choice(IDS, "Token ids", "Tokens that follow each other, by their ids: 464 3797."),
)
_ORDERS = (
    Choice("place", "By place", "In the order of the corpus."),
    Choice("left", "By the left", "By the text to the left, from the hit outwards."),
    Choice("right", "By the right", "By the text to the right."),
    Choice("source", "By source", "By the names of sources."),
)
_HINTS = {
    TEXT: "Type a text to search for it.",
    EXPRESSION: "Type an expression such as [0-9]{4} to search for it.",
    CHOSEN: "Choose a token in any pane to search for it.",
    IDS: "Type ids such as 464 3797 to search for these tokens in a row.",
}
_MOST_DIGITS = 9  # of an id


@dataclass(frozen=True)
class Question:
    """What is searched for, and in which sources of the exploration; None for all."""

    kind: str
    text: str
    case: bool
    whole_words: bool
    token: int | None
    sources: tuple[int, ...] | None

    def begin(self, exploration: Exploration) -> Search:
        """Begins the search; raises ConfigError where that cannot be searched for."""
        begin = partial(exploration.begin_search, sources=self.sources, width=WIDTH)
        if self.kind == CHOSEN:
            return begin(token=self.token)
        if self.kind == IDS:
            return begin(ids=_ids(self.text))
        if self.kind == EXPRESSION:
            return begin(regex=self.text, case=self.case, whole_words=self.whole_words)
        return begin(text=self.text, case=self.case, whole_words=self.whole_words)


def _ids(text: str) -> list[int]:
    words = re.split(r"[\s,;]+", text.strip().strip("[]").strip())
    wrong = next((word for word in words if not word.isdecimal() or len(word) > _MOST_DIGITS), None)
    if wrong is not None:
        raise ConfigError(f"Ids are whole numbers, such as 464 3797, not “{wrong[:20]}”.", field="ids")
    return list(map(int, words))


# --- The sources, each with its hits and their bar code ---------------------------------------------------------------

SOURCE, HITS, RATE, WHERE = range(4)
_LEAST_ROWS, _MOST_ROWS = 2, 5
_NEAR = 4  # pixels from the pointer to a bar
_PARTS = 100


class SourceRows(FigureModel):
    """The searched sources."""

    titles = ("Source", "Hits", "Per million", "Where")
    tips = (
        "The file or text",
        "How often it occurs",
        "Hits per million tokens of the source, at the playhead",
        "Where in the source the hits are, from its beginning to its end; a click goes there",
    )
    numbers = (HITS, RATE)

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(theme, parent)
        self.sources: tuple[Source, ...] = ()
        self.search: Search | None = None
        self._numbers: tuple[int, ...] = ()
        self._rates: NDArray[np.float64] | None = None

    def show(self, sources: tuple[Source, ...], search: Search | None, tokens: NDArray[np.int64] | None) -> None:
        """Shows the hits of a search in sources, of which each has so many tokens if that is known."""
        numbers = search.sources if search is not None else ()
        others = numbers != self._numbers or sources != self.sources
        if others:
            self.beginResetModel()
        self.sources, self.search, self._numbers = sources, search, numbers
        self._rates = search.per_million(tokens) if search is not None and tokens is not None else None
        if others:
            self.endResetModel()
        else:
            self.tell()

    def source_at(self, row: int) -> int:
        """The number of the source in a row."""
        return self._numbers[row]

    def bars(self, row: int) -> NDArray[np.int64]:
        """The hits in each part of the source in a row."""
        assert self.search is not None
        return self.search.bars(self._numbers[row])

    def count(self) -> int:
        return len(self._numbers)

    def text(self, row: int, column: int) -> str | None:
        number = self._numbers[row]
        if column == SOURCE:
            return self.sources[number].name
        if column == HITS and self.search is not None:
            return f"{self.search.counts[number]:,}"
        if column != RATE:
            return None
        rate = self._rates[number] if self._rates is not None else np.nan
        return "–" if np.isnan(rate) else f"{rate:,.1f}" if rate < 100 else f"{rate:,.0f}"

    def more(self, row: int, column: int, role: int) -> object:
        if column != WHERE or role != Qt.ItemDataRole.AccessibleTextRole:
            return None
        taken = np.unique(np.flatnonzero(self.bars(row)) * _PARTS // BARS)
        if not len(taken):
            return "nowhere"
        return f"in {len(taken)} of {_PARTS} parts, from {taken[0]} % to {taken[-1] + 1} %"


class _BarCells(QStyledItemDelegate):
    """Draws bar codes in the last column, and marks the bar that keys have reached."""

    def __init__(self, theme: Theme, parent: BarTable) -> None:
        super().__init__(parent)
        self._theme, self._table = theme, parent

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        if index.column() != WHERE:
            return
        area = area_of(QRectF(option.rect))  # pyright: ignore[reportAttributeAccessIssue]
        with guarded_painter(painter):
            paint_bars(painter, area, self._table.rows.bars(index.row()), self._theme.palette)
            row, bar = self._table.reached
            if row == index.row() and bar >= 0:
                x = area.left() + (bar + 0.5) * area.width() / BARS
                colour = QColor(self._theme.palette.text)
                painter.fillRect(QRectF(x - 1, area.top() - 3, 2, area.height() + 6), colour)


def area_of(cell: QRectF) -> QRectF:
    """The part of a cell that a bar code fills."""
    return cell.adjusted(6, 4, -6, -4)


class BarTable(Fitting, ReadOnlyTable):
    """The sources with their bar codes, as high as its rows, up to five; two where there is little room.

    A click in a bar code, or Left and Right in its row, goes to the hits in a bar.
    """

    barChosen = Signal(int, int)  # the source, and a bar with hits
    opened = Signal()  # Enter

    def __init__(self, model: SourceRows, theme: Theme) -> None:
        super().__init__("Hits by source")
        self.rows, self._theme = model, theme
        self.reached = (-1, -1)  # a row, and a bar of it
        self.setModel(model)
        self.setItemDelegate(_BarCells(theme, self))
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setSectionResizeMode(WHERE, QHeaderView.ResizeMode.Stretch)
        # Its height does not follow its rows where there is little room: the window would grow.
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        model.modelReset.connect(self.forget)
        model.modelReset.connect(self.fit)
        theme.follow(self._apply_style)

    def sizeHint(self) -> QSize:
        return QSize(400, self._height_of(min(max(self.rows.count(), _LEAST_ROWS), _MOST_ROWS)))

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self._height_of(_LEAST_ROWS))

    def _height_of(self, rows: int) -> int:
        header = self.horizontalHeader().sizeHint().height()
        return rows * self.verticalHeader().defaultSectionSize() + header + 2 * self.frameWidth()

    def fit(self) -> None:
        """Gives the columns but the last the widths of what they can hold, and names a third at most."""
        header, metrics = self.horizontalHeader(), self.fontMetrics()
        leasts = {SOURCE: "", HITS: "0,000,000", RATE: "Per million    "}
        rows = range(self.rows.count())
        texts = {at: (least, *(self.rows.text(row, at) or "" for row in rows)) for at, least in leasts.items()}
        widest = {at: max(some, key=columns_of) for at, some in texts.items()}
        for at in (HITS, RATE):
            header.resizeSection(at, metrics.horizontalAdvance(widest[at]) + self._theme.scaled(14))
        name = metrics.horizontalAdvance(widest[SOURCE]) + self._theme.scaled(20)
        header.resizeSection(SOURCE, min(max(name, self._theme.scaled(90)), self.viewport().width() // 3))

    def bar_near(self, index: QModelIndex, at: QPoint) -> int:
        """The bar with hits that is nearest to a place in a cell; -1 where none is near."""
        taken = np.flatnonzero(self.rows.bars(index.row()))
        area = area_of(QRectF(self.visualRect(index)))
        if not len(taken) or area.width() <= 0:
            return -1
        middles = (taken + 0.5) * area.width() / BARS + area.left()
        nearest = int(np.argmin(np.abs(middles - at.x())))
        return int(taken[nearest]) if abs(middles[nearest] - at.x()) <= max(_NEAR, area.width() / BARS) else -1

    def words_of(self, row: int, bar: int) -> str:
        """Says what is in a bar."""
        hits = several(int(self.rows.bars(row)[bar]), "hit")
        return f"{hits} at {percent_text(bar / BARS)} of {self.rows.text(row, SOURCE)}"

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        place = event.position().toPoint()
        index = self.indexAt(place)
        if index.isValid() and index.column() == WHERE and event.button() == Qt.MouseButton.LeftButton:
            self._go_to(index.row(), self.bar_near(index, place))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row, step = self.currentIndex().row(), {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()), 0)
        if step and row >= 0:
            taken = np.flatnonzero(self.rows.bars(row))
            bar = self.reached[1] if self.reached[0] == row else -1
            at = int(np.searchsorted(taken, bar)) + step if bar >= 0 else 0
            self._go_to(row, int(taken[min(max(at, 0), len(taken) - 1)]) if len(taken) else -1)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.opened.emit()
        else:
            super().keyPressEvent(event)

    def _go_to(self, row: int, bar: int) -> None:
        if bar < 0:
            return
        self.reached = row, bar
        self.setAccessibleDescription(self.words_of(row, bar))
        self.viewport().update()
        self.barChosen.emit(self.rows.source_at(row), bar)

    def forget(self) -> None:
        """Marks no bar."""
        self.reached = -1, -1
        self.setAccessibleDescription("")
        self.updateGeometry()

    def _apply_style(self) -> None:
        self.set_row_height(self._theme.scaled(24))
        self.fit()


# --- The page ---------------------------------------------------------------------------------------------------------


class SearchPage(ExplorePage):
    """A search in the corpus."""

    titled = "Search"
    tip = "Text, expressions and tokens, each hit in its line, and where in each source the hits are"
    will_show = "Each hit of a search will be here in its line, below a bar code of where in each source they are."
    phases: ClassVar = {"searching": "Searching", "sorting": "Sorting", "encoding": "Encoding the corpus"}

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(session, theme)
        self._hits: HitSearch | None = None
        self._question: tuple[object, Question] | None = None
        self._ordered, self._tokens = self.inquire(self.update_state), Inquiry(session.jobs, self)
        self._tokens.changed.connect(self.update_state)
        self.kind = named(ChoiceBox(_KINDS), "What to search for")
        self.kind.currentIndexChanged.connect(self._choose_kind)
        self.field = SearchEdit(theme, "find", "Search the corpus", "Search the corpus", "")
        self._typed = QTimer(self, singleShot=True, interval=session.jobs.pauses.keys)
        self._typed.timeout.connect(self.refresh)
        self.field.textChanged.connect(self._typed.start)
        self.token = ElidedLabel("muted")
        self.case = named(QCheckBox("Case"), "Match case", "Whether capital and small letters differ")
        self.whole_words = named(QCheckBox("Whole words"), "Whole words", "Only where no word goes on beside a hit")
        for box in (self.case, self.whole_words):
            box.toggled.connect(self.refresh)
        self.order = named(ChoiceBox(_ORDERS), "Order of the hits")
        self.order.currentIndexChanged.connect(self.update_state)
        self.total = plain_label("muted")
        self.source_rows = SourceRows(theme, self)
        self.bars = BarTable(self.source_rows, theme)
        self.rows = HitRows(self)
        self.hits = HitsTable(self.rows, theme, "Hits", sources=True)
        self.nothing = EmptyState("")
        self.bars.barChosen.connect(self._go_to_bar)
        self.bars.opened.connect(self._open_current)
        self.hits.activated.connect(self._open_current)
        self._leaving = False  # whether the keyboard goes to the hits once there are some
        self.field.left.connect(self._leave_field)
        self.field.textChanged.connect(self._stay)
        fields = self.kind, (self.field, 1), (self.token, 1), self.case, self.whole_words
        row(*fields, spacing=8, parent=self.head)
        column(self.bars, row(self.total, STRETCH, self.order), (self.hits, 1), spacing=6, parent=self.content)
        self._choose_kind()

    @property
    def table(self) -> WrittenTable | None:
        found = self.rows.found
        if found is None or not len(found) or self.asked.busy:
            return None
        return WrittenTable("Hits as CSV", "hits.csv", partial(found.search.save_csv_work, order=found.order))

    def take_keyboard(self) -> None:
        if not self.field.isHidden():
            self.field.setFocus()
            self.field.selectAll()

    def look(self, exploration: Exploration) -> None:
        self._typed.stop()
        question = self._asked_now()
        if question is None:
            self.forget()
            return
        of_tokens = question.kind in (CHOSEN, IDS)
        # A text is where it is, whatever the tokenizer is.
        asked = exploration if of_tokens else exploration.corpus, question
        if asked != self._question:
            self._question = asked
            token = exploration.tokenizer, question.token
            shown = cast("tuple[Tokenizer, int]", token) if question.kind == CHOSEN else None
            self._hits = HitSearch(exploration.corpus, partial(question.begin, exploration), shown)
            self.bars.forget()
            self.asked.ask(asked, self._hits.more_work)

    def follow_token(self) -> None:
        if self.kind.value == CHOSEN:
            self.refresh()

    def forget(self) -> None:
        self._question = self._hits = None
        self._tokens.forget()
        super().forget()
        self.rows.clear()
        self.source_rows.show((), None, None)

    def leave(self) -> None:
        if self.asked.busy:
            self._question = None
        self._tokens.leave()
        super().leave()

    @property
    def trouble(self) -> str:
        return self.asked.problem  # hits without an order are in that of the corpus

    def show_answer(self) -> None:
        exploration, found = self.exploring.exploration, self._hits.found if self._hits is not None else None
        restyle(self.field, "invalid", bool(self.asked.problem) and not self.asked.busy and found is None)
        if exploration is None or self._question is None:
            hint = _HINTS[self.kind.value]
            if exploration is not None:
                self.empty.label.setText(f"{self.will_show} {hint}")
            self.stack.setCurrentWidget(self.empty)
            self.note.setText("")
            return
        self.stack.setCurrentWidget(self.content)
        if found is not None and not self.asked.busy:
            if exploration.tokenizer is not None:
                self._tokens.ask(exploration, partial(_source_tokens_work, exploration))
            found = self._in_order(found)
        self._show(exploration, found)

    def fill(self) -> None:
        exploration = self.exploring.exploration
        if exploration is not None and self._hits is not None and self.asked.busy:
            self._show(exploration, self._hits.found)
            self._go_to_hits()

    def update_state(self) -> None:
        super().update_state()
        self._go_to_hits()

    def _asked_now(self) -> Question | None:
        kind = self.kind.value
        token, text = self.exploring.token, self.field.text()
        if (token is None) if kind == CHOSEN else not text.strip():
            return None
        limits = self.exploring.limits
        sources = tuple(sorted(limits)) if limits is not None else None
        can_fold = kind in (TEXT, EXPRESSION)
        case, whole_words = self.case.isChecked(), self.whole_words.isChecked() and can_fold
        return Question(
            kind, text if kind != CHOSEN else "", case, whole_words, token if kind == CHOSEN else None, sources
        )

    def _in_order(self, found: FoundHits) -> FoundHits:
        """The hits in the chosen order, once that is known."""
        by = cast("Order", self.order.value)
        if by == "place":
            self._ordered.forget()
            return found
        self._ordered.ask((found, by), partial(_order_work, found, by))
        ordered: tuple[FoundHits, NDArray[np.int64]] | None = self._ordered.answer
        if ordered is None or self._ordered.busy or ordered[0] is not found:
            return found
        return replace(found, order=ordered[1])

    def _show(self, exploration: Exploration, found: FoundHits | None) -> None:
        before = self.rows.found
        if found is None:
            self.rows.clear()
            self.source_rows.show((), None, None)
            self.total.setText("")
            return
        same_order = before is not None and np.array_equal(before.order, found.order)  # pyright: ignore[reportArgumentType]
        if before is None or not same_order or before.search is not found.search or before.numbers is not found.numbers:
            continues = before is not None and before.order is None and found.order is None
            grown = continues and before is not None and before.search.continues_in(found.search)
            self.rows.show(found, grown=grown)
            if not grown:
                self.hits.scrollToTop()
        tokens = self._tokens.answer if exploration.tokenizer is not None else None
        self.source_rows.show(exploration.corpus.sources, found.search, tokens)
        hits = several(found.search.total, "hit")
        self.total.setText(f"{hits} so far" if self.asked.busy else hits)
        self.note.setText(found.search.note)

    def _choose_kind(self) -> None:
        kind = self.kind.value
        self.field.setVisible(kind != CHOSEN)
        self.token.setVisible(kind == CHOSEN)
        for box in (self.case, self.whole_words):
            box.setVisible(kind in (TEXT, EXPRESSION))
        self.refresh()

    def refresh(self) -> None:
        exploration, token = self.exploring.exploration, self.exploring.token
        tokenizer = exploration.tokenizer if exploration is not None else None
        known = token is not None and isinstance(tokenizer, Tokenizer)
        name = token_name(tokenizer.tokens.prefix(token, 64)) if known else ""  # pyright: ignore
        self.token.setText(f"{name}, id {token:,}" if known else "No token is chosen.")
        super().refresh()

    def _leave_field(self) -> None:
        self._leaving = True
        self.refresh()

    def _stay(self) -> None:
        self._leaving = False

    def _go_to_hits(self) -> None:
        """Goes from the field to the hits, if that was asked for and there are some."""
        if self._leaving and self.rows.count() and self.field.hasFocus():
            self.hits.setFocus()
            if not self.hits.currentIndex().isValid():
                self.hits.setCurrentIndex(self.rows.index(0, 1))
        self._leaving = self._leaving and self.asked.busy and not self.rows.count()

    def _go_to_bar(self, source: int, bar: int) -> None:
        found, exploration = self.rows.found, self.exploring.exploration
        if found is None or exploration is None:
            return
        size = len(exploration.corpus.sources[source].data)
        hit = found.search.row_at(source, -(-bar * size // BARS))
        if hit < 0:
            self.exploring.jobs.tell("This hit is counted, but it is not among the first million, which are listed.")
            return
        index = self.rows.index(found.row_of(hit), 1)
        self.hits.setCurrentIndex(index)
        self.hits.scrollTo(index, HitsTable.ScrollHint.PositionAtCenter)

    def _open_current(self) -> None:
        found, at = self.rows.found, self.hits.currentIndex().row()
        if found is not None and 0 <= at < len(found):
            self.exploring.open(*found.search.span(found.hit_at(at)))


def _order_work(found: FoundHits, by: Order) -> Work[tuple[FoundHits, NDArray[np.int64]]]:
    return found, (yield from found.search.order_work(by))


def _source_tokens_work(exploration: Exploration) -> Work[NDArray[np.int64]]:
    return (yield from exploration.source_tokens_work())
