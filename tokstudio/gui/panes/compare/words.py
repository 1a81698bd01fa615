"""A list of words, one's own or the most frequent of a text, with their pieces in each compared tokenizer."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPointF, QRect, QSignalBlocker, Qt, QTimer
from PySide6.QtGui import QAction, QColor, QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QBoxLayout, QPlainTextEdit, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from tokstudio.core.analysis.baselines import WORDS, AnyTokenizer, SimpleTokenizer, WordTokenizer
from tokstudio.core.base.errors import ConfigError, TokStudioError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.comparison.counts import ids_of_each_work, in_running_text_work
from tokstudio.core.comparison.texts import ComparedText, in_running_text
from tokstudio.core.pretokenization.custom_regex import compiled
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.measuring.compared import ComparedColumn
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.blocks import EncodedText, TokenBlocks
from tokstudio.gui.token_text.painter import INSET, RowPainter, TextStyle
from tokstudio.gui.token_text.rows import Shaper
from tokstudio.gui.token_text.spelling import marked, shown
from tokstudio.gui.widgets.controls import ChoiceBox
from tokstudio.gui.widgets.figures import FigureModel, ReadOnlyTable
from tokstudio.gui.widgets.labels import ElidedLabel, guarded_painter, isolated, named, paragraph_label, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, Fitting, TallBody, column, row, stacked
from tokstudio.gui.widgets.menus import link_button
from tokstudio.gui.widgets.pane import EmptyState

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- Words with their pieces in each compared tokenizer: made in a job, and listed in any order -----------------------

_STEP = 1 << 10
#: The first columns of the table; then comes one for each tokenizer.
WORD, MOST = range(2)


@dataclass(frozen=True, eq=False)
class InTokenizer:
    """The pieces of all words in one tokenizer."""

    name: str
    is_simple: bool
    ids: NDArray[np.uint32]  # [tokens], of all words, one after another
    ends: NDArray[np.int64]  # [words], the end of each word in `ids`; no tokens where it cannot be encoded
    spelled: dict[int, bytes]  # the bytes of each id
    problem: str = ""  # why some words cannot be encoded

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """int64 [words], the tokens of each word."""
        return np.diff(self.ends, prepend=0)

    def pieces(self, word: int) -> EncodedText:
        """The tokens of a word, to be drawn."""
        end = int(self.ends[word])
        ids = self.ids[end - int(self.counts[word]) : end]
        raw = [self.spelled[token] for token in ids.tolist()]
        return EncodedText(b"".join(raw), np.cumsum(np.array(list(map(len, raw)), np.int64)), ids)


@dataclass(frozen=True, eq=False)
class CutWords:
    """Words in each compared tokenizer."""

    words: Sequence[str]
    columns: Sequence[InTokenizer]

    @cached_property
    def most(self) -> NDArray[np.int64]:
        """int64 [words], the most tokens of each word; simple tokenizers count only where there are no others."""
        counts = [each.counts for each in self.columns if not each.is_simple] or [each.counts for each in self.columns]
        return np.max(counts, axis=0) if counts else np.zeros(len(self.words), np.int64)

    @cached_property
    def whole(self) -> NDArray[np.bool_]:
        """Bool [words], which are one token in every tokenizer that is not simple."""
        counts = [each.counts for each in self.columns if not each.is_simple]
        return np.all(np.array(counts) == 1, axis=0) if counts else np.zeros(len(self.words), np.bool_)


def cut_words_work(columns: Sequence[ComparedColumn], words: Sequence[bytes]) -> Work[CutWords]:
    """Encodes each word by itself with each tokenizer; words are as `ComparedText.word_types` has them."""
    in_tokenizers: list[InTokenizer] = []
    for compared in columns:
        tokenizer = compared.tokenizer
        if tokenizer is None:
            tokenizer = yield from WordTokenizer.from_text_work(b"\n".join(words), WORDS)
        ids, sizes, problem = yield from _each_work(tokenizer, words)
        spelled: dict[int, bytes] = {}
        for number, token in enumerate(np.unique(ids).tolist()):
            if isinstance(tokenizer, SimpleTokenizer):
                spelled[token] = tokenizer.decode_bytes([token])
            else:
                spelled[token] = tokenizer.tokens[token] or b""
            if number % _STEP == 0:
                yield Progress("spelling tokens", number)
        is_simple = isinstance(tokenizer, SimpleTokenizer)
        in_tokenizers.append(InTokenizer(compared.name, is_simple, ids, np.cumsum(sizes), spelled, problem))
    return CutWords([word.decode("utf-8", "replace").removeprefix(" ") for word in words], in_tokenizers)


def _each_work(
    tokenizer: AnyTokenizer, words: Sequence[bytes]
) -> Work[tuple[NDArray[np.uint32], NDArray[np.int64], str]]:
    """The ids of all words, how many each has, and why some cannot be encoded."""
    texts = words
    try:
        texts = yield from in_running_text_work(tokenizer, words)
        return *(yield from ids_of_each_work(tokenizer, texts)), ""
    except ConfigError:  # some have characters that are not in the vocabulary
        pass
    except TokStudioError as error:
        return np.empty(0, np.uint32), np.zeros(len(words), np.int64), str(error)
    ids, sizes, problem = [np.empty(0, np.uint32)], np.zeros(len(words), np.int64), ""
    for number, text in enumerate(texts):
        try:
            ids.append((yield from tokenizer.encode_work(text)))
            sizes[number] = len(ids[-1])
        except ConfigError as error:
            problem = str(error)
    return np.concatenate(ids), sizes, problem


class WordRows(FigureModel):
    """A row for each word: the word, the most tokens, and its pieces in each tokenizer."""

    numbers = (MOST,)

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(theme, parent)
        self._check = icon("check", theme, "good")
        self._sorting = MOST, Qt.SortOrder.DescendingOrder
        self.show(CutWords((), ()))

    def show(self, cut_words: CutWords) -> None:
        """Lists other words, in the order that was chosen."""
        with self.reset():
            self.made = cut_words
            self.titles = ("Word", "Most", *(each.name for each in cut_words.columns))
            tips = "The words; a check mark: one token in every tokenizer", "The most tokens in any tokenizer"
            self.tips = (*tips, *(each.problem for each in cut_words.columns))
            self.order: NDArray[np.int64] = self._sorted(*self._sorting)

    def pieces_at(self, row: int, column: int) -> tuple[int, EncodedText] | None:
        """The number of tokens of a cell, and these; None if the cell has none."""
        if column <= MOST:
            return None
        word, each = int(self.order[row]), self.made.columns[column - MOST - 1]
        count = int(each.counts[word])
        return (count, each.pieces(word)) if count else None

    def count(self) -> int:
        return len(self.order)

    def text(self, row: int, column: int) -> str | None:
        word = int(self.order[row])
        if column == WORD:
            return isolated(self.made.words[word])
        return self._told(word, column) if column == MOST else None

    def tip(self, row: int, column: int) -> str:
        return "" if column == MOST else self._told(int(self.order[row]), column)

    def font(self, row: int, column: int) -> QFont:
        return self._theme.monospace_font() if column == WORD else self._theme.tabular_font()

    def more(self, row: int, column: int, role: int) -> object:
        word = int(self.order[row])
        if role == Qt.ItemDataRole.DecorationRole and column == WORD and self.made.whole[word]:
            return self._check
        return self._told(word, column) if role == Qt.ItemDataRole.AccessibleTextRole else None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Orders the words by a column; equal ones stay as they were given."""
        self._sorting = column, order
        self.layoutAboutToBeChanged.emit()
        self.order = self._sorted(column, order)
        self.layoutChanged.emit()

    def _sorted(self, column: int, order: Qt.SortOrder) -> NDArray[np.int64]:
        cut_words, words = self.made, range(len(self.made.words))
        key = cut_words.most
        if column == WORD:
            key = np.argsort(np.array(sorted(words, key=lambda at: cut_words.words[at].casefold()), np.int64))
        elif MOST < column <= MOST + len(cut_words.columns):
            key = cut_words.columns[column - MOST - 1].counts
        return np.argsort(key if order == Qt.SortOrder.AscendingOrder else -key, kind="stable")

    def _told(self, word: int, column: int) -> str:
        if column == MOST:
            return f"{int(self.made.most[word]):,}"
        if column == WORD:
            return self.made.words[word] + (": one token in every tokenizer" if self.made.whole[word] else "")
        each = self.made.columns[column - MOST - 1]
        end, count = int(each.ends[word]), int(each.counts[word])
        if not count:
            return each.problem or "–"
        ids = each.ids[end - count : end].tolist()
        return f"{count}: " + " ".join(f"{isolated(marked(shown(each.spelled[token])))} {token}" for token in ids)


MOST_WORDS = 20_000
FREQUENT = 1_000  # words of a text that are listed
LONGEST_WORD = 200  # characters

_EMPTY = "Words are shown here with their pieces in each tokenizer. Type or paste some, or open a text."
_PLACEHOLDER = "Your own words, separated by spaces, commas or lines"
_BESIDE = 190  # pixels of the field of words
_NARROW = 420  # pixels of a view with that field above the table, in the height
_LINES = 84  # of two lines
_NARROWEST = 70  # pixels of the choice of a text
_FONT = 13
_MOST = 16_777_215  # pixels of a widget without a largest size: QWIDGETSIZE_MAX of Qt
_PADDING = 6
_KEPT_CELLS = 4_000
_BETWEEN = r"[\s,;]+"


@dataclass(frozen=True, eq=False)
class _Asked:
    """What words a job encodes."""

    own: str
    text: ComparedText | None
    columns: Sequence[ComparedColumn]


class PieceCells(QStyledItemDelegate):
    """Draws the pieces of a word after their number."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._style = TextStyle(True, None, None, -1, np.zeros(0, np.int64))
        self.apply_style()

    def apply_style(self) -> None:
        """Follows the theme."""
        self._shaper = Shaper(self._theme.monospace_font(_FONT), self._theme.monospace_font(_FONT - 3))
        self._digits = QFontMetricsF(self._theme.tabular_font()).horizontalAdvance("00")
        self._blocks = lru_cache(_KEPT_CELLS)(self._lay_out)

    @property
    def row_height(self) -> int:
        """The height of a row in pixels."""
        return round(self._shaper.height + 2 * INSET) + self._theme.scaled(6)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        model = index.model()
        if index.column() <= MOST or not isinstance(model, WordRows):
            super().paint(painter, option, index)
            return
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        state: QStyle.StateFlag = option.state  # pyright: ignore[reportAttributeAccessIssue]
        with guarded_painter(painter):
            painter.setClipRect(rect)
            if state & QStyle.StateFlag.State_Selected:
                painter.fillRect(rect, QColor(self._theme.palette.accent_soft))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            blocks_of_cell = self._blocks(model, model.made, int(model.order[index.row()]), index.row(), index.column())
            painter.setFont(self._theme.tabular_font())
            painter.setPen(QColor(self._theme.palette.muted))
            area = rect.adjusted(_PADDING, 0, 0, 0)
            area.setWidth(round(self._digits))
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            if blocks_of_cell is None:
                painter.drawText(area, right, "–")
                return
            count, blocks = blocks_of_cell
            painter.drawText(area, right | Qt.TextFlag.TextDontClip, str(count))
            place = QPointF(area.right() + _PADDING, rect.top() + (rect.height() - blocks.height - 2 * INSET) / 2)
            RowPainter(painter, blocks, self._theme.palette, self._style).paint_row(0, place.x(), place.y())

    def _lay_out(
        self, model: WordRows, cut_words: CutWords, word: int, at: int, column: int
    ) -> tuple[int, TokenBlocks] | None:
        # `made` and `word` are in the key of the cache: rows change their places.
        pieces = model.pieces_at(at, column)
        if pieces is None:
            return None
        blocks = TokenBlocks(pieces[1], self._shaper, 0, 1e6)
        blocks.lay_out(0)
        return pieces[0], blocks


class WordsView(Fitting, QWidget):
    """Words with their pieces; the field beside them takes one's own."""

    def __init__(self, session: Session, theme: Theme, opening: QAction) -> None:
        super().__init__()
        self._state, self._theme = session.comparison, theme
        self._asked: object = None
        self.own = named(QPlainTextEdit(), "Own words")
        self.own.setPlaceholderText(_PLACEHOLDER)
        self.own.setTabChangesFocus(True)
        self._typed = QTimer(self, singleShot=True, interval=session.jobs.pauses.keys)
        self._typed.timeout.connect(self._take_typed)
        self.own.textChanged.connect(self._typed.start)
        self.open = link_button("Open a File…", opening.trigger)
        self.texts = named(ChoiceBox(()), "Text whose most frequent words are shown")
        self.texts.currentIndexChanged.connect(self._encode)
        self.rows = WordRows(theme, self)
        self.table = ReadOnlyTable("Words and their pieces", self.rows)
        self.cells = PieceCells(theme, self.table)
        self.table.setItemDelegate(self.cells)
        self.table.horizontalHeader().setSortIndicator(MOST, Qt.SortOrder.DescendingOrder)
        self.table.horizontalHeader().setStretchLastSection(True)
        self.table.setSortingEnabled(True)
        self.note = paragraph_label("muted")
        self.empty = EmptyState(_EMPTY)
        self._beside, listed = QWidget(), QWidget()
        above = row(plain_label("muted", "Own words"), STRETCH, self.open)
        column(above, (self.own, 1), spacing=6, parent=self._beside)
        self._text_label = ElidedLabel("muted")
        self._text_label.setText("Most frequent words of")
        column(row(self._text_label, (self.texts, 1), STRETCH), (self.table, 1), self.note, spacing=6, parent=listed)
        self._stack = stacked(self.empty, TallBody(listed, self.table))
        self._halves = row(self._beside, (self._stack, 1), spacing=10, parent=self)
        self._encoding = LatestJob(session.jobs, self, self._take, self._fail, asked=False)
        theme.follow(self._apply_style)

    def refresh(self) -> None:
        """Follows the tokenizers and texts that are compared; call it while the view is visible."""
        if not self._typed.isActive() and self.own.toPlainText() != self._state.own_words:
            with QSignalBlocker(self.own):
                self.own.setPlainText(self._state.own_words)
        texts = self._state.rows or ()
        names = [each.name for each in texts]
        if names != [choice.value for choice in self.texts.choices]:
            self.texts.set_names(names)
        self._encode()

    def _take_typed(self) -> None:
        self._state.set_own_words(self.own.toPlainText())
        self._encode()

    def _encode(self) -> None:
        own, at = self._state.own_words, self.texts.currentIndex()
        own = own if own.strip() else ""
        texts = self._state.rows or ()
        text = texts[at] if not own and 0 <= at < len(texts) else None
        for widget in (self._text_label, self.texts):
            widget.setVisible(not own)
        self._stack.setCurrentIndex(bool(own or text))
        columns = self._state.columns
        asked = own, text and text.sha256, tuple((each.name, each.key) for each in columns)
        if asked != self._asked and (own or text):
            self._asked = asked
            self._encoding.run(partial(_words_work, _Asked(own, text, columns)))

    def _take(self, result: tuple[CutWords, str]) -> None:
        cut_words, left_out = result
        others = [each.name for each in self.rows.made.columns] != [each.name for each in cut_words.columns]
        self.rows.show(cut_words)
        if others:
            self.fit()
        whole, split = int(cut_words.whole.sum()), int((cut_words.most > 1).sum())
        said = f"{several(len(cut_words.words), 'word')}: {several(whole, 'is', 'are')} one token in every tokenizer, "
        said += f"{several(split, 'is', 'are')} split in at least one."
        problems = [f"{each.name}: {each.problem}" for each in cut_words.columns if each.problem]
        self.note.setText(" ".join([said, *([left_out] if left_out else []), *problems]))

    def _fail(self, error: Exception) -> None:
        self._asked = None
        self.note.setText(str(error))
        self.empty.label.setText(f"{error}\n\n{_EMPTY}")

    def fit(self) -> None:
        """Puts the field above the table in a narrow view, and fits the columns."""
        scaled, direction = self._theme.scaled, QBoxLayout.Direction
        narrow = self.width() < scaled(_NARROW)
        self._halves.setDirection(direction.TopToBottom if narrow else direction.LeftToRight)
        self._beside.setMinimumWidth(1 if narrow else scaled(_BESIDE))
        self._beside.setMaximumWidth(_MOST if narrow else scaled(_BESIDE))
        self._beside.setMaximumHeight(scaled(_LINES) if narrow else _MOST)
        self.texts.setMinimumWidth(scaled(_NARROWEST))
        header, columns = self.table.horizontalHeader(), self.rows.columnCount()
        if columns <= MOST + 1:
            return
        room = self.table.viewport().width()
        header.resizeSection(WORD, scaled(130))
        header.resizeSection(MOST, scaled(62))
        width = (room - scaled(192)) // (columns - MOST - 1)
        for at in range(MOST + 1, columns):
            header.resizeSection(at, max(width, scaled(150)))

    def _apply_style(self) -> None:
        self.cells.apply_style()
        # The viewport, which shows the placeholder, does not get the font of the field beside a style sheet.
        for widget in (self.own, self.own.viewport()):
            widget.setFont(self._theme.monospace_font(_FONT))
        self.table.set_row_height(self.cells.row_height)
        self.fit()


def _words_work(asked: _Asked) -> Work[tuple[CutWords, str]]:
    """Encodes the words, and says which are left out."""
    yield from prepare_work()
    if asked.text is not None:
        return (yield from cut_words_work(asked.columns, asked.text.word_types.most_common(FREQUENT))), ""
    words = list(dict.fromkeys(filter(None, compiled(_BETWEEN).split(asked.own))))
    fitting = [word for word in words if len(word) <= LONGEST_WORD]
    left_out: list[str] = []
    if len(fitting) < len(words):
        left_out.append(f"{several(len(words) - len(fitting), 'word')} of more than {LONGEST_WORD} characters")
    if len(fitting) > MOST_WORDS:
        left_out.append(f"{several(len(fitting) - MOST_WORDS, 'word')} after the first {MOST_WORDS:,}")
    cut_words = yield from cut_words_work(asked.columns, [in_running_text(word) for word in fitting[:MOST_WORDS]])
    return cut_words, f"Left out: {' and '.join(left_out)}." if left_out else ""
