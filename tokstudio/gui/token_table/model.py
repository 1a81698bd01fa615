"""The base of the models of merges and of the vocabulary: columns, cells, rows for the clipboard."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple

from PySide6.QtCore import QObject, Signal

from tokstudio.core.base.records import dataclass
from tokstudio.core.guide.glossary import explained
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.run_tokens import RunTokens
from tokstudio.gui.token_text.spelling import SHOWN_BYTES, Shown, copied, in_characters, marked, shown
from tokstudio.gui.widgets.figures import TableModel
from tokstudio.version import __version__

_REMEMBERED = 4096
COPIED_BYTES = 4096


@dataclass(frozen=True)
class TokenColumn:
    """One column: title, content, width and priority."""

    title: str  # the text of the header
    kind: Literal["number", "token", "bytes", "words"]  # numbers are aligned right, tokens and bytes are monospaced
    tip: str  # an explanation of the title
    share: int = 0  # its share of the remaining width; 0: as wide as its longest text
    least: int = 6  # the least width in characters, if it has a share
    yields: int = 0  # columns with the highest number are hidden first if there is no room; 0 is never hidden
    muted: bool = False  # whether it is drawn in the muted colour
    word: str = ""  # the word of the glossary that the title is, or ""
    optional: bool = False  # whether it is shown only if the user chooses it


class TokenCell(NamedTuple):
    """The content of one cell: text, or tokens with a plus between them, or one special token."""

    text: str
    tokens: tuple[Shown, ...] = ()
    dimmed: bool = False
    marked: bool = False
    special: bool = False


class TokenTable(TableModel):
    """A table with a token in each row, over the arrays of a run.

    `matches_changed` is emitted when the number of rows of a filter changes, and when a filter ends.
    """

    columns: tuple[TokenColumn, ...] = ()
    matches_changed = Signal()
    failed = Signal(object)  # a filter or an order failed or was cancelled (Exception)
    reordering = Signal()  # Qt asks for the new row of every selected row

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.run: StudioRun | None = None
        self.tokens: RunTokens | None = None
        #: Whether rows are being added, moved or removed; selections in the meantime are not the user's.
        self.changing = False
        self.chosen: frozenset[int] = frozenset()  # the optional columns that are shown
        self._shown: dict[int, Shown] = {}
        self._in_characters = False
        self.set_columns(self.columns)

    # ---- reading

    def text(self, row: int, column: int) -> str:
        return self.cell(row, column).text

    def tip(self, row: int, column: int) -> str:
        kind = self.columns[column].kind
        if kind == "words":
            return self.cell(row, column).text
        if kind == "number" or self.tokens is None:
            return ""
        slot = self.slot_at(row)
        return f"{marked(self._read(slot, 400))}\nid {self.tokens.id_of(slot):,}"

    def cell(self, row: int, column: int) -> TokenCell:
        """The content of a cell."""
        raise NotImplementedError

    def slot_at(self, row: int) -> int:
        """The slot (see `RunTokens`) of the token in a row; its number where rows are not tokens."""
        return row

    def slots_between(self, top: int, bottom: int) -> list[int]:
        """The slots of the rows from `top` to `bottom`, both included."""
        return [self.slot_at(row) for row in range(top, bottom + 1)]

    def row_of(self, slot: int) -> int:
        """The row of a slot's token; -1 where it is not shown."""
        return slot if 0 <= slot < self.rowCount() else -1

    def may_list(self, slot: int) -> bool:
        """Whether a token has a row unless a filter hides it."""
        raise NotImplementedError

    def copied_slot(self, slot: int) -> str:
        """The row of a token for the clipboard, with tabs between its columns."""
        raise NotImplementedError

    def about(self) -> str:
        """What several copied rows are of: the run with the size of its vocabulary, and the version."""
        return "" if self.run is None else f"{self.run.sized_name(self._merges_listed())}, TokStudio {__version__}"

    def _merges_listed(self) -> int | None:
        """How many merges the rows are of; None for all of the run."""
        return None

    def widest(self, column: int) -> str:
        """A text as wide as the widest in a column without a share."""
        raise NotImplementedError

    @property
    def searching(self) -> bool:
        """Whether a filter or an order is still being computed."""
        return False

    def token_at(self, row: int) -> int | None:
        """The id of the token in a row."""
        if self.tokens is None or not 0 <= row < self.rowCount():
            return None
        return self.tokens.id_of(self.slot_at(row))

    def row_of_token(self, token: int | None) -> int:
        """The row of the token with an id; -1 where it is not shown."""
        slot = self.tokens.slot_of(token) if self.tokens is not None else -1
        return self.row_of(slot) if slot >= 0 else -1

    def is_hidden(self, token: int | None) -> bool:
        """Whether a filter hides the token with an id."""
        slot = self.tokens.slot_of(token) if self.tokens is not None else -1
        return slot >= 0 and self.may_list(slot) and self.row_of(slot) < 0

    # ---- for subclasses

    def set_columns(self, columns: tuple[TokenColumn, ...]) -> None:
        """Sets the columns; call it while the model is reset."""
        self.columns = columns
        self.titles = [column.title for column in columns]
        self.tips = [explained(column.tip, column.word) for column in columns]
        self.numbers = [number for number, column in enumerate(columns) if column.kind == "number"]

    def choose_columns(self, chosen: Collection[int]) -> None:
        """Sets which optional columns are shown."""
        self.chosen = frozenset(chosen)

    def copied_token(self, slot: int) -> str:
        """A token for the clipboard; a very long one is cut."""
        assert self.tokens is not None
        return copied(self.tokens.head(slot, COPIED_BYTES))

    def shown(self, slot: int) -> Shown:
        """The text of a token; recent ones are cached."""
        look = self._shown.get(slot)
        if look is None:
            assert self.tokens is not None
            if len(self._shown) >= _REMEMBERED:
                self._shown.clear()
            # One byte more than is shown, and the rest of a character, to know where to cut.
            look = self._shown[slot] = self._read(slot, SHOWN_BYTES)
        return look

    @property
    def in_characters(self) -> bool:
        """Whether tokens are shown in the byte-level alphabet: if that is switched on, and they are made of bytes."""
        return self._in_characters and self.tokens is not None and self.tokens.run.byte_level

    def set_in_characters(self, wanted: bool) -> None:
        """Switches between the byte-level alphabet and plain text for tokens made of bytes."""
        self._in_characters = wanted
        self._shown.clear()
        self.tell()

    def _read(self, slot: int, limit: int) -> Shown:
        assert self.tokens is not None
        head = self.tokens.head(slot, limit + 4)
        wanted = self.in_characters and self.tokens.kind_of(slot) != "special"
        return in_characters(head, limit) if wanted else shown(head, limit)

    @contextmanager
    def reset(self) -> Iterator[None]:
        with self.changes(), super().reset():
            yield

    @contextmanager
    def changes(self) -> Iterator[None]:
        """Marks changes of rows and selection within it as made by the program."""
        before, self.changing = self.changing, True
        try:
            yield
        finally:
            self.changing = before

    def fail(self, error: Exception) -> None:
        """Tells that a filter or an order could not be computed."""
        self.matches_changed.emit()
        self.failed.emit(error)

    def hold(self, run: StudioRun | None) -> None:
        """Sets the run; call it while the model is reset."""
        self.run = run
        self.tokens = run.tokens if run is not None else None
        self._shown.clear()
