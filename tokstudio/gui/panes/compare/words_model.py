"""Words with their pieces in each compared tokenizer: made in a job, and listed in any order."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from tokstudio.core.analysis.baselines import WORDS, SimpleTokenizer, WordTokenizer
from tokstudio.core.base.errors import ConfigError, TokStudioError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.comparison.counts import AnyTokenizer, ids_of_each_work, in_running_text_work
from tokstudio.gui.state.comparison_work import ComparedColumn
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.blocks import EncodedText
from tokstudio.gui.token_text.spelling import marked, shown
from tokstudio.gui.widgets.labels import isolated

_Index = QModelIndex | QPersistentModelIndex
_NO_INDEX = QModelIndex()
_STEP = 1 << 10
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

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
    made: list[InTokenizer] = []
    for column in columns:
        tokenizer = column.tokenizer
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
        made.append(InTokenizer(column.name, is_simple, ids, np.cumsum(sizes), spelled, problem))
    return CutWords([word.decode("utf-8", "replace").removeprefix(" ") for word in words], made)


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


class WordRows(QAbstractTableModel):
    """A row for each word: the word, the most tokens, and its pieces in each tokenizer."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._check = icon("check", theme, "good")
        self.made = CutWords((), ())
        self.order: NDArray[np.int64] = np.zeros(0, np.int64)
        self._sorting = MOST, Qt.SortOrder.DescendingOrder

    def show(self, made: CutWords) -> None:
        """Lists other words, in the order that was chosen."""
        self.beginResetModel()
        self.made = made
        self.order = self._sorted(*self._sorting)
        self.endResetModel()

    def pieces_at(self, row: int, column: int) -> tuple[int, EncodedText] | None:
        """The number of tokens of a cell, and these; None if the cell has none."""
        if column <= MOST:
            return None
        word, each = int(self.order[row]), self.made.columns[column - MOST - 1]
        count = int(each.counts[word])
        return (count, each.pieces(word)) if count else None

    def rowCount(self, parent: _Index = _NO_INDEX) -> int:
        """The number of words."""
        return 0 if parent.isValid() else len(self.order)

    def columnCount(self, parent: _Index = _NO_INDEX) -> int:
        """The word, the most tokens, and the tokenizers."""
        return 0 if parent.isValid() else MOST + 1 + len(self.made.columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> str | int | None:
        """The names of columns."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return ("Word", "Most")[section] if section <= MOST else self.made.columns[section - MOST - 1].name
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if section == MOST else _LEFT
        if role == Qt.ItemDataRole.ToolTipRole:
            tips = "The words; a check mark: one token in every tokenizer", "The most tokens in any tokenizer"
            return tips[section] if section <= MOST else self.made.columns[section - MOST - 1].problem or None
        return None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The text of a cell; the delegate draws the pieces."""
        word, column = int(self.order[index.row()]), index.column()
        whole = bool(self.made.whole[word])
        if role == Qt.ItemDataRole.DecorationRole:
            return self._check if column == WORD and whole else None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if column == MOST else None
        if role == Qt.ItemDataRole.FontRole:
            return self._theme.monospace_font() if column == WORD else self._theme.tabular_font()
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.ToolTipRole):
            return None
        if column == MOST:
            return f"{int(self.made.most[word]):,}" if role != Qt.ItemDataRole.ToolTipRole else None
        if column == WORD:
            if role == Qt.ItemDataRole.DisplayRole:
                return isolated(self.made.words[word])
            return self.made.words[word] + (": one token in every tokenizer" if whole else "")
        return None if role == Qt.ItemDataRole.DisplayRole else self._told(word, self.made.columns[column - MOST - 1])

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Orders the words by a column; equal ones stay as they were given."""
        self._sorting = column, order
        self.layoutAboutToBeChanged.emit()
        self.order = self._sorted(column, order)
        self.layoutChanged.emit()

    def _sorted(self, column: int, order: Qt.SortOrder) -> NDArray[np.int64]:
        made, words = self.made, range(len(self.made.words))
        key = made.most
        if column == WORD:
            key = np.argsort(np.array(sorted(words, key=lambda at: made.words[at].casefold()), np.int64))
        elif MOST < column <= MOST + len(made.columns):
            key = made.columns[column - MOST - 1].counts
        return np.argsort(key if order == Qt.SortOrder.AscendingOrder else -key, kind="stable")

    def _told(self, word: int, each: InTokenizer) -> str:
        end, count = int(each.ends[word]), int(each.counts[word])
        if not count:
            return each.problem or "–"
        ids = each.ids[end - count : end].tolist()
        return f"{count}: " + " ".join(f"{isolated(marked(shown(each.spelled[token])))} {token}" for token in ids)
