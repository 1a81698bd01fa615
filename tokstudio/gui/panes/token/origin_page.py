"""Where the current token comes from: the sources and documents with its uses, now and when it was made.

Computed on the page, once the token has not changed for a moment, from the corpus of the window at the playhead.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QHeaderView, QWidget

from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import percent_text, several
from tokstudio.core.corpus.corpus import ONCE
from tokstudio.core.corpus.source import document_place
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.session.measuring.exploring import Inquiry
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.bar_code import BarCode
from tokstudio.gui.widgets.figures import FigureModel, ReadOnlyTable
from tokstudio.gui.widgets.labels import in_a_sentence, isolated, paragraph_label, set_word
from tokstudio.gui.widgets.layouts import STRETCH, Fitting, TallBody, column, row, stacked
from tokstudio.gui.widgets.menus import link_button
from tokstudio.gui.widgets.pane import EmptyState
from tokstudio.gui.widgets.work_line import WorkLine
from tokstudio.version import __version__

if TYPE_CHECKING:
    from tokstudio.core.exploration.exploration import Exploration
    from tokstudio.core.exploration.origin import TokenOrigin

_WILL_SHOW = "The documents that the token comes from will be here."
_NO_TOKENIZER = "Train a tokenizer, or open one."
_NOT_THERE = "The token is not in the vocabulary at this playhead position."
_WEIGHTS = "Weights do not change these figures."
_FACTS = (
    "Bunched: how many documents would have it if it were strewn at random, by how many have it.\n"
    "DP: half the sum over pieces of the differences between their share of the text and of its uses; 0 is even."
)
_LEAVE_OUT = "Leave the chosen document out of the corpus; Undo brings it back"
_WAITING = "Counting begins in a moment."
_PHASES = {"encoding": "Encoding the corpus", "counting uses": "Counting uses", "measuring dispersion": "Measuring"}
_MOST_SOURCES = 10
_WHOLE, _SOURCE, _DOCUMENT = range(3)
_MOST_OPENED = 1_000_000  # bytes of a document that is opened whole


@dataclass(frozen=True, eq=False)
class _Answer:
    """The origin of a token, and what its figures were counted over."""

    exploration: Exploration
    origin: TokenOrigin
    parts: int  # the units of range with tokens
    pieces: int
    tokens: int  # of the whole text


def _origin_work(exploration: Exploration, token: int) -> Work[_Answer]:
    origin = yield from exploration.origin_work(token)
    measured = yield from exploration.dispersion_work()
    pieces = measured.pieces
    return _Answer(exploration, origin, measured.parts, len(pieces), int(pieces.sum()))


# --- The table --------------------------------------------------------------------------------------------------------


class _Row(NamedTuple):
    """The uses in the whole text, a source or a document."""

    kind: int
    name: str
    made: int | None
    uses: int
    share: float
    document: int = -1  # over all sources


def _rows_of(answer: _Answer) -> list[_Row]:
    """The whole text; the sources with most uses, where there are several; the documents with most uses."""
    origin, sources = answer.origin, answer.exploration.corpus.sources
    uses, made = origin.uses_by_source, origin.made_by_source
    rows = [_Row(_WHOLE, "The whole text", origin.made, origin.uses, 1.0 if origin.uses else np.nan)]
    if len(sources) > 1:
        order = np.argsort(-uses, kind="stable")
        for number in order[:_MOST_SOURCES].tolist():
            of_source = None if made is None else int(made[number])
            share = int(uses[number]) / origin.uses if origin.uses else np.nan
            rows.append(_Row(_SOURCE, sources[number].name, of_source, int(uses[number]), share))
        if len(more := order[_MOST_SOURCES:]):
            of_others = None if made is None else int(made[more].sum())
            share = int(uses[more].sum()) / origin.uses if origin.uses else np.nan
            rows.append(_Row(_SOURCE, f"{len(more):,} more sources", of_others, int(uses[more].sum()), share))
    rows += (_Row(_DOCUMENT, each.place, each.made, each.uses, each.share, each.document) for each in origin.documents)
    return rows


PLACE, MADE, USES, SHARE = range(4)
_FIGURES, _YIELDING = (MADE, USES, SHARE), (MADE, SHARE)
_LEAST_NAME = 130  # pixels


class OriginRows(FigureModel):
    """The uses by source and in the documents with most."""

    titles = ("In", "Made", "Uses in the text", "Share")
    tips = (
        "The whole text, its sources, and the ten documents with most uses",
        "How often its pair was merged in the text: its uses when it was made",
        "Its uses at the playhead, in all of the text, held-out text too; weights do not matter",
        "The share of its uses in the text",
    )
    numbers = (MADE, USES, SHARE)

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(theme, parent)
        self.rows: list[_Row] = []
        self._why_not_made = ""

    def show(self, rows: list[_Row], why_not_made: str = "") -> None:
        """Shows other rows; the sentence says why some have no *Made*."""
        with self.reset():
            self.rows, self._why_not_made = rows, why_not_made

    def count(self) -> int:
        return len(self.rows)

    def text(self, row: int, column: int) -> str:
        each = self.rows[row]
        if column == PLACE:
            return isolated(each.name)
        if column == SHARE:
            return "–" if isnan(each.share) else percent_text(each.share, 1)
        value = each.made if column == MADE else each.uses
        return "–" if value is None else f"{value:,}"

    def tip(self, row: int, column: int) -> str:
        each = self.rows[row]
        if column == MADE and each.made is None:
            return self._why_not_made
        opens = "\nEnter, or a double click, opens it in the Text pane." if each.kind == _DOCUMENT else ""
        return f"{each.name}{opens}" if column == PLACE else ""

    def colour(self, row: int, column: int) -> str | None:
        return None if self.rows[row].kind == _DOCUMENT else self._theme.palette.muted


class OriginTable(Fitting, ReadOnlyTable):
    """The table; the names take the room that the figures leave, of which the first and the last yield."""

    def __init__(self, model: OriginRows, theme: Theme) -> None:
        super().__init__("Uses by source and document", about=self._about_text)
        self._theme = theme
        self.about = ""
        self.setModel(model)
        self.setVerticalScrollMode(self.ScrollMode.ScrollPerPixel)
        # Of a place, the beginning of its source and the number of its document stay.
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setMinimumSectionSize(32)
        model.modelReset.connect(self.fit)
        theme.follow(self._apply_style)

    def fit(self) -> None:
        """Hides columns where the names would have too little room."""
        room = self.viewport().width()
        for at in _FIGURES:  # a hidden title has no width
            self.setColumnHidden(at, False)
        widths = {at: max(self.sizeHintForColumn(at), self.horizontalHeader().sectionSizeHint(at)) for at in _FIGURES}
        for at in _YIELDING:
            if room - sum(widths.values()) < self._theme.scaled(_LEAST_NAME):
                widths.pop(at)
        for at in _FIGURES:
            self.setColumnHidden(at, at not in widths)
            self.setColumnWidth(at, widths.get(at, 0))
        self.setColumnWidth(PLACE, max(room - sum(widths.values()), 32))

    def set_about(self, about: str) -> None:
        """Sets what the rows are of, which stands above copied ones."""
        self.about = about

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.activated.emit(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _about_text(self) -> list[str]:
        return [f"{self.about}, TokStudio {__version__}"]

    def _apply_style(self) -> None:
        self.set_row_height(self._theme.scaled(24))
        self.fit()


# --- The page ---------------------------------------------------------------------------------------------------------


class OriginPage(QWidget):
    """A sentence, figures, a bar code of the uses, and their table."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self._exploring, self._view, self._corpus = session.exploring, session.view, session.corpus
        self.asked = Inquiry(session.jobs, self)
        self.asked.changed.connect(self._show)
        self._build(theme)
        self._rest = QTimer(self, singleShot=True, interval=session.jobs.pauses.updates)
        self._rest.timeout.connect(self._ask)
        self._exploring.changed.connect(self._renew)
        session.corpus.weights_changed.connect(self._show)
        session.corpus.left_out_changed.connect(self._show_leave_out)

    @property
    def busy(self) -> bool:
        """Whether an answer is still to come."""
        return self.asked.busy or self._rest.isActive()

    def refresh(self) -> None:
        """Asks anew if the token has changed."""
        if self.isVisible():
            self._rest.start()
            self._show()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """Ends the work; it starts again when the page is shown."""
        super().hideEvent(event)
        self._rest.stop()
        self.work.rest()
        self.asked.leave()

    def _build(self, theme: Theme) -> None:
        self.sentence, self.facts = paragraph_label(), paragraph_label("muted")
        self.facts.setToolTip(_FACTS)
        set_word(self.facts, "dispersion")
        self.bars = BarCode(theme, "Where in the text its uses are", self._words_of_bar)
        self.bars.chosen.connect(self._open_bar)
        self.rows = OriginRows(theme, self)
        self.table = OriginTable(self.rows, theme)
        self.table.activated.connect(lambda index: self._open_row(index.row()))
        self.note = paragraph_label("muted", _WEIGHTS)
        asked, content = self.asked, QWidget()
        self.work = WorkLine("Origin", theme, _PHASES, lambda: asked.progress, asked.cancel, asked.again)
        self.leave_out = link_button("Leave This Document Out", self._leave_out, _LEAVE_OUT)
        self.table.selectionModel().currentRowChanged.connect(self._show_leave_out)
        left = row(self.leave_out, STRETCH)
        column(self.sentence, self.facts, self.bars, (self.table, 1), left, spacing=4, parent=content)
        self.empty = EmptyState(_WILL_SHOW)
        self.empty.setMinimumWidth(1)
        self._content = TallBody(content, self.table)
        self.stack = stacked(self.empty, self._content)
        column((self.stack, 1), self.note, self.work, spacing=4, parent=self)
        self.note.hide()
        theme.follow(self._apply_style)

    def _apply_style(self) -> None:
        self._content.set_least(self.table, self.table.minimumSizeHint().height())

    # ---- asking

    def _renew(self) -> None:
        """Follows another exploration; what is known of the last is released at once."""
        self.asked.forget()
        self.refresh()

    @property
    def _token(self) -> int | None:
        """The token of the pane, if it is in the vocabulary at the playhead."""
        exploration, token = self._exploring.exploration, self._view.token
        tokenizer = exploration.tokenizer if exploration is not None else None
        if not isinstance(tokenizer, Tokenizer) or token is None or not tokenizer.is_known(token):
            return None
        return token if tokenizer.tokens.in_use(token) else None

    def _ask(self) -> None:
        exploration, token = self._exploring.exploration, self._token
        if exploration is None or token is None or not self.isVisible():
            self.asked.forget()
            return
        self.asked.ask((exploration, token), lambda: _origin_work(exploration, token))

    @property
    def _answer(self) -> _Answer | None:
        """What is shown: the answer about the current token."""
        answer = self.asked.answer
        is_current = isinstance(answer, _Answer) and answer.origin.token == self._token
        return answer if is_current and answer.exploration is self._exploring.exploration else None

    def _show(self) -> None:
        answer, problem = self._answer, self.asked.problem
        self.stack.setCurrentWidget(self.empty if answer is None else self._content)
        self.note.setVisible(answer is not None and set(self._corpus.weights) != {ONCE})
        self.work.show_state(self.asked.busy, problem, can_retry=self.asked.can_retry)
        if answer is None:
            if self.rows.rows:
                self.rows.show([])
            self.empty.label.setText(self._why_empty())
        elif self.table.about != self._about(answer) or not self.rows.rows:
            self._fill(answer)

    def _why_empty(self) -> str:
        exploring = self._exploring
        if exploring.exploration is None:
            return f"{_WILL_SHOW} {exploring.problem}"
        if exploring.exploration.tokenizer is None:
            return f"{_WILL_SHOW} {_NO_TOKENIZER}"
        if self._token is None:
            return _NOT_THERE
        return "" if self.asked.problem else _WAITING

    def _about(self, answer: _Answer) -> str:
        tokenizer = answer.exploration.tokenizer
        size = len(tokenizer.tokens) if isinstance(tokenizer, Tokenizer) else 0
        return f"Token {answer.origin.token:,} of {size:,}"

    def _fill(self, answer: _Answer) -> None:
        origin, sources = answer.origin, answer.exploration.corpus.sources
        self.table.set_about(self._about(answer))
        self.sentence.setText(in_a_sentence(origin.sentence()))
        dash = "–"
        bunched = dash if isnan(origin.bunched) else f"{origin.bunched:,.1f}"
        dispersion = dash if isnan(origin.dp) else f"{origin.dp:.2f}"
        over = f" over {answer.pieces:,} pieces of {answer.tokens // max(answer.pieces, 1):,} tokens"
        self.facts.setText(
            f"In {origin.range:,} of {several(answer.parts, origin.part_unit[:-1])}  ·  bunched {bunched}"
            f"  ·  DP {dispersion}{over if answer.pieces > 1 else ''}"
        )
        sizes = np.cumsum([len(source.data) for source in sources])
        self.bars.show_bars(origin.bars, (sizes[:-1] / max(1, sizes[-1])).tolist() if len(sizes) > 1 else ())
        self.rows.show(_rows_of(answer), origin.why_not_made)
        first = next((at for at, each in enumerate(self.rows.rows) if each.kind == _DOCUMENT), -1)
        if first >= 0:
            self.table.setCurrentIndex(self.rows.index(first, 0))
        self._show_leave_out()

    # ---- documents

    def _show_leave_out(self) -> None:
        """Enables the button while a document is chosen."""
        at = self.table.currentIndex().row()
        is_document = 0 <= at < len(self.rows.rows) and self.rows.rows[at].kind == _DOCUMENT
        self.leave_out.setEnabled(is_document and not self._corpus.is_leaving_out)

    def _leave_out(self) -> None:
        answer, at = self._answer, self.table.currentIndex().row()
        if answer is not None and 0 <= at < len(self.rows.rows) and self.rows.rows[at].kind == _DOCUMENT:
            self._exploring.leave_out(*_place_of(answer.exploration, self.rows.rows[at].document))

    def _open_row(self, number: int) -> None:
        answer = self._answer
        if answer is not None and self.rows.rows[number].kind == _DOCUMENT:
            self._exploring.open(*_place_of(answer.exploration, self.rows.rows[number].document))

    def _words_of_bar(self, bar: int, uses: int) -> str:
        answer = self._answer
        if answer is None:
            return ""
        source, document, _ = self._at_bar(answer, bar)
        text = answer.exploration.corpus.sources[source]
        return f"{several(uses, 'use')} from {document_place(text, document) or text.name} on"

    def _open_bar(self, bar: int) -> None:
        answer = self._answer
        if answer is not None:
            source, document, at = self._at_bar(answer, bar)
            ends = answer.exploration.corpus.sources[source].ends
            start = int(ends[document - 1]) if document else 0
            is_long = int(ends[document]) - start > _MOST_OPENED
            self._exploring.open(source, document, *((at, at + 1) if is_long else ()))

    def _at_bar(self, answer: _Answer, bar: int) -> tuple[int, int, int]:
        """The source and the document in it in which a bar begins, and the byte of the source."""
        sources, bars = answer.exploration.corpus.sources, len(answer.origin.bars)
        ends = np.cumsum([len(source.data) for source in sources])
        at = -(-bar * int(ends[-1]) // bars)
        number = min(int(np.searchsorted(ends, at, side="right")), len(sources) - 1)
        at -= int(ends[number - 1]) if number else 0
        text = sources[number]
        return number, min(int(np.searchsorted(text.ends, at, side="right")), text.documents - 1), at


def _place_of(exploration: Exploration, document: int) -> tuple[int, int]:
    """The source of a document, and its number in it, by its number over all sources."""
    ends = np.cumsum([source.documents for source in exploration.corpus.sources])
    source = int(np.searchsorted(ends, document, side="right"))
    return source, document - (int(ends[source - 1]) if source else 0)
