"""The rows of a text of any length, in blocks of whole lines that are laid out when they become visible.

The number of rows of a block is estimated from its length until it is laid out, so that every place can be scrolled to.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.gui.token_text.rows import GAP, PADDING, PieceBox, Shaper, TokenRows, id_room, id_text
from tokstudio.gui.token_text.spelling import Piece, PieceTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TOKENS = 256  # per block, about: a quarter of a millisecond of work, or three if every piece is shaped
_SEARCHED = 8 * _TOKENS  # tokens in which the end of a line is searched
_KEPT = 64  # blocks that stay laid out


class EncodedText:
    """A text and its tokens; token t holds the bytes `edges[t]` to `edges[t + 1] - 1`. May be made in any thread.

    Args:
        data: The whole text.
        ends: int64 [tokens], for every token the byte after its last one; the last is the length of the text.
        ids: The id of every token.
        special: Whether each token is special; None if none is.

    Raises:
        ValueError: The tokens do not cover the text.
    """

    def __init__(
        self, data: bytes, ends: NDArray[np.int64], ids: NDArray[np.uint32], special: NDArray[np.bool_] | None = None
    ) -> None:
        if len(ends) != len(ids) or (int(ends[-1]) if len(ends) else 0) != len(data):
            raise ValueError("The tokens do not cover the text: one end and one id a token, the last end at its end.")
        self.edges = np.concatenate([np.zeros(1, np.int64), np.asarray(ends, np.int64)])
        self.data, self.ids = data, ids
        self.tokens = len(ids)
        self.special = np.zeros(len(ids), np.bool_) if special is None else special
        self.cuts = self._find_cuts()  # the first token of each block, followed by the number of tokens
        blocks = pairwise(self.edges[self.cuts].tolist())
        # int64 [blocks], the number of line ends in each block
        self.newlines = np.array([data.count(b"\n", *block) for block in blocks], np.int64)

    def pieces(self, block: int) -> PieceTable:
        """Returns the pieces of one block; tokens and bytes are counted from the start of the block."""
        first, after = int(self.cuts[block]), int(self.cuts[block + 1])
        begin, end = int(self.edges[first]), int(self.edges[after])
        edges = self.edges[first : after + 1] - begin
        return PieceTable(self.data[begin:end], edges, self.ids[first:after], self.special[first:after])

    def _find_cuts(self) -> NDArray[np.int64]:
        cuts = [0]
        while self.tokens - cuts[-1] > _TOKENS:
            cuts.append(self._cut(cuts[-1] + _TOKENS))
        if cuts[-1] < self.tokens or not self.tokens:
            cuts.append(self.tokens)
        return np.array(cuts, np.int64)

    def _cut(self, token: int) -> int:
        """Returns the end of the line with `token`; if it is too far away, the next border between characters."""
        latest = min(token + _SEARCHED, self.tokens)
        newline = self.data.find(b"\n", int(self.edges[token]), int(self.edges[latest]))
        if newline >= 0:
            return int(np.searchsorted(self.edges, np.int64(newline + 1), side="left"))
        for place in range(token, latest):
            start = int(self.edges[place])
            # ASCII starts a character, and a grapheme too.
            if start < int(self.edges[place + 1]) and self.data[start] < 0x80:
                return place
        return latest


class TokenBlocks:
    """The rows of a text for one width.

    Args:
        table: The text.
        shaper: Measures pieces that are not plain ASCII.
        id_cell: The width of a digit of the ids below the pieces, or 0 if no ids are shown.
        width: The width of a row.

    Attributes:
        height: The height of the tallest piece laid out so far.
        ascent: The ascent of the same piece.
    """

    def __init__(self, table: EncodedText, shaper: Shaper, id_cell: float, width: float) -> None:
        self.table, self.shaper = table, shaper
        self.height, self.ascent = shaper.height, shaper.ascent
        self._id_cell, self._width = id_cell, width
        self._laid_out: OrderedDict[int, TokenRows] = OrderedDict()
        self._counts = self._expected()
        self._known = np.zeros(len(self._counts), np.bool_)
        self._sum()

    def __len__(self) -> int:
        """The number of rows, as far as is known."""
        return int(self._firsts[-1])

    @property
    def blocks(self) -> int:
        """The number of blocks, at least 1."""
        return len(self._counts)

    def knows(self, block: int) -> bool:
        """Whether the rows of a block have been counted."""
        return bool(self._known[block])

    def count(self, block: int) -> int:
        """The number of rows of a block, as far as is known."""
        return int(self._counts[block])

    def first_row(self, block: int) -> int:
        """The first row of a block."""
        return int(self._firsts[block])

    def block_of_row(self, row: int) -> int:
        """The block of a row."""
        block = int(np.searchsorted(self._firsts, np.int64(row), side="right")) - 1
        return min(max(block, 0), self.blocks - 1)

    def block_of_token(self, token: int) -> int:
        """The block of a token."""
        return int(np.searchsorted(self.table.cuts, np.int64(token), side="right")) - 1

    def lay_out(self, block: int) -> int:
        """Lays out a block; returns by how many rows the estimate was too small."""
        rows = self._rows_of(block)
        more = len(rows) - int(self._counts[block])
        self._known[block] = True
        if more:
            self._counts[block] = len(rows)
            self._sum()
        return more

    def row_of(self, token: int) -> int:
        """The row where the piece of a token begins."""
        block = self.block_of_token(token)
        self.lay_out(block)
        rows = self._rows_of(block)
        local = token - int(self.table.cuts[block])
        return self.first_row(block) + rows.row_of(rows.table.index_of(local))

    def first_token(self, row: int) -> int:
        """The first token of a row in a block that is laid out."""
        block = self.block_of_row(row)
        rows = self._rows_of(block)
        piece = rows.first_piece(row - self.first_row(block))
        return int(self.table.cuts[block] + rows.table.first[piece])

    def piece_of(self, token: int) -> Piece:
        """The piece with a token."""
        block = self.block_of_token(token)
        table = self._rows_of(block).table
        return table.piece(table.index_of(token - int(self.table.cuts[block])))

    def boxes(self, row: int) -> Iterator[PieceBox]:
        """Returns the boxes of a row of a block that is laid out, from left to right."""
        block = self.block_of_row(row)
        first = int(self.table.cuts[block])
        for box in self._rows_of(block).boxes(row - self.first_row(block)):
            yield box._replace(first=first + box.first)

    def id_text(self, box: PieceBox) -> str:
        """Returns the ids below a piece in its direction, as many as fit its width."""
        ids = self.table.ids[box.first : box.first + box.tokens].tolist()
        text = id_text(ids, id_room(box.width, self._id_cell))
        return " ".join(reversed(text.split(" "))) if box.mirrored else text

    def _rows_of(self, block: int) -> TokenRows:
        rows = self._laid_out.get(block)
        if rows is None:
            if len(self._laid_out) >= _KEPT:
                self._laid_out.popitem(last=False)
            rows = TokenRows(self.table.pieces(block), self.shaper, self._id_cell, self._width)
            self._laid_out[block] = rows
            self.ascent = max(self.ascent, rows.ascent)
            self.height = max(self.height, self.ascent + rows.height - rows.ascent)
        else:
            self._laid_out.move_to_end(block)
        return rows

    def _sum(self) -> None:
        self._firsts = np.concatenate([np.zeros(1, np.int64), np.cumsum(self._counts)])

    def _expected(self) -> NDArray[np.int64]:
        """The estimated rows of each block: the text of each line fills rows, the last of them half."""
        table = self.table
        if not table.tokens:
            return np.zeros(1, np.int64)
        lines = table.newlines
        room = np.diff(table.edges[table.cuts]) * self.shaper.cell + np.diff(table.cuts) * (2 * PADDING + GAP)
        return np.maximum(lines, np.ceil(room / self._width).astype(np.int64) + lines // 2).clip(1)
