"""Loops over the parts of a corpus: what is in each document, and in which parts each token is used."""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false
from __future__ import annotations

from math import expm1, log1p

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.intrinsics import address_of, wide
from tokstudio.core.kernels.tables import Int32, Int64

Bytes = NDArray[np.uint8]
UInt32 = NDArray[np.uint32]
Int16 = NDArray[np.int16]
Float64 = NDArray[np.float64]

# The columns of the rows of tokens (int32 [ids, COLUMNS]): the last part with the token, and its uses there; the part
# with most uses before that, and these; the number of parts. Parts are numbered from 1; 0 is for none.
LAST, NOW, TOP_PART, TOP, RANGE, COLUMNS = range(6)

# The rows of figures of documents (int32 [FIGURES, documents]).
CHARACTERS, LINES, NOT_UTF8, LONGEST_LINE, LONGEST_RUN, FIGURES = range(6)
# The state of their description (int64).
AT, DOCUMENT, LINE, RUN, STATE_SIZE = range(5)

_SPACE, _ALL_SEEN = 4, -40.0  # a bit of the class of white space; exp(x) is nothing beside 1


@njit(nogil=True, cache=True, inline="always")
def _begin_part(rows: Int32, token: int, part: int) -> int:
    """Closes the last part with a token, and begins a new one; returns the uses in the closed part."""
    before = rows[token, NOW]
    if before > rows[token, TOP]:
        rows[token, TOP], rows[token, TOP_PART] = before, rows[token, LAST]
    rows[token, LAST], rows[token, NOW] = part, 1
    rows[token, RANGE] += 1
    return before


@njit(nogil=True, cache=True)
def take_documents(
    ids: UInt32,
    mark: int,
    document: int,
    rows: Int32,
    uses: Int64,
    tokens: Int32,
    out: UInt32,
) -> tuple[int, int]:
    """Counts the uses of tokens in documents; a document may go on in the next call.

    Args:
        ids: The tokens, with `mark` after those of each document.
        mark: See `ids`.
        document: The document that the first is in.
        rows: int32 [ids, COLUMNS], updated.
        uses: int64 [ids], updated, but for the uses in the last document with each token.
        tokens: int32 [documents], updated.
        out: Written: the tokens without marks, and without those that are not below the number of rows.

    Returns:
        How many were written, and the document to continue with.
    """
    written = begin = 0
    for k in range(ids.size):
        token = np.int64(ids[k])
        if token == mark:
            tokens[document] += written - begin
            begin = written
            document += 1
        elif token < uses.size:
            out[written] = token
            written += 1
            if rows[token, LAST] == document + 1:
                rows[token, NOW] += 1
            else:
                uses[token] += _begin_part(rows, token, document + 1)
    if document < tokens.size:
        tokens[document] += written - begin
    return written, document


@njit(nogil=True, cache=True)
def take_pieces(
    ids: UInt32,
    at: int,
    piece: int,
    ends: Int64,
    uses: Int64,
    total: int,
    rows: Int32,
    differences: Float64,
    least: Float64,
) -> int:
    """Counts the uses of tokens in pieces, for their dispersion.

    Args:
        ids: Tokens, of which `at` come before the first.
        at: See `ids`.
        piece: The piece that the first is in, or one before it.
        ends: int64, the end of each piece in tokens; of one that may go on, more than there are.
        uses: int64 [ids], the uses of each token in all pieces.
        total: The tokens of all pieces.
        rows: int32 [ids, COLUMNS], updated.
        differences: float64 [ids], updated: the sum over the pieces with a token, without the last, of |s - v| - s,
            with the share s of the piece in all tokens, and v in the uses of this one.
        least: float64 [ids], updated: the least s of these.

    Returns:
        The piece of the last token.
    """
    for k in range(ids.size):
        while at + k >= ends[piece]:
            piece += 1
        token = np.int64(ids[k])
        if rows[token, LAST] == piece + 1:
            rows[token, NOW] += 1
        else:
            last = rows[token, LAST] - 1
            before = _begin_part(rows, token, piece + 1)
            if last >= 0:
                _add_piece(token, before, last, ends, uses, total, differences, least)
    return piece


@njit(nogil=True, cache=True, inline="always")
def _add_piece(
    token: int,
    count: int,
    piece: int,
    ends: Int64,
    uses: Int64,
    total: int,
    differences: Float64,
    least: Float64,
) -> None:
    start = ends[piece - 1] if piece > 0 else 0
    share = (ends[piece] - start) / total
    differences[token] += abs(share - count / uses[token]) - share
    least[token] = min(least[token], share)


@njit(nogil=True, cache=True)
def close_pieces(ends: Int64, uses: Int64, total: int, rows: Int32, differences: Float64, least: Float64) -> None:
    """Does what `take_pieces` leaves to be done for the last piece with each token."""
    for token in range(len(rows)):
        if rows[token, LAST] > 0:
            piece = rows[token, LAST] - 1
            _add_piece(token, rows[token, NOW], piece, ends, uses, total, differences, least)


@njit(nogil=True, cache=True)
def expected_ranges(uses: Int64, sizes: Int64, amounts: Int64, total: int, expected: Float64) -> None:
    """The number of parts in which a token would be if its uses were strewn at random.

    Args:
        uses: int64 [n], the uses of a token, at least 1.
        sizes: int64 [m], sizes of parts in tokens, descending and at least 1.
        amounts: int64 [m], how many parts have each size.
        total: The tokens of all parts.
        expected: float64 [n], written.
    """
    logarithms = np.empty(sizes.size, np.float64)
    for j in range(sizes.size):
        logarithms[j] = log1p(-sizes[j] / total) if sizes[j] < total else _ALL_SEEN
    for i in range(uses.size):
        found = 0.0
        for j in range(sizes.size):
            power = uses[i] * logarithms[j]
            found += amounts[j] * (1.0 if power <= _ALL_SEEN else -expm1(power))
        expected[i] = found


@njit(nogil=True, cache=True)
def describe_documents(
    data: Bytes,
    ends: Int64,
    classes: Bytes,
    scripts: Bytes,
    figures: Int32,
    most_letters: Int16,
    first: int,
    letters: Int64,
    state: Int64,
    budget: int,
) -> None:
    """Counts what is in documents, for about `budget` bytes and documents per call.

    Args:
        data: The documents one after another.
        ends: int64, the end of each.
        classes: uint8 [0x110000], the class of each code point.
        scripts: uint8 [0x110000], the script of each, from 1; 0 for those of none.
        figures: int32 [FIGURES, documents and others], zeros at first.
        most_letters: int16 [documents and others], the script of most letters, from 0; -1 where there are none.
        first: The place of the first document in `figures` and `most_letters`.
        letters: int64 [scripts], zeros at first: the letters of the document so far by script.
        state: int64 [STATE_SIZE], zeros at first.
        budget: Bytes and documents.
    """
    text, class_table = address_of(data), address_of(classes)
    at, document, line, run = state[AT], state[DOCUMENT], state[LINE], state[RUN]
    last = at + document + budget
    while document < ends.size and at + document < last:
        stop, here = ends[document], first + document
        until = min(stop, last)
        while at < until:
            point, size, is_space = np.int64(data[at]), 1, False
            if point < 0x80:
                is_space = point <= 32 and (point == 32 or 9 <= point <= 13 or 28 <= point <= 31)
            else:
                found = wide(text, at, stop, class_table)
                size, is_space = found >> 8, found & _SPACE != 0
                if size == 1:
                    point = -1
                else:
                    point &= 0x7F >> size
                    for k in range(at + 1, at + size):
                        point = (point << 6) | (data[k] & 0x3F)
            if point < 0:
                figures[NOT_UTF8, here] += 1
            else:
                figures[CHARACTERS, here] += 1
                if scripts[point] > 0:
                    letters[scripts[point] - 1] += 1
            if is_space:
                figures[LONGEST_RUN, here] = max(figures[LONGEST_RUN, here], run)
                run = 0
            else:
                run += size
            if point == 10:
                figures[LONGEST_LINE, here] = max(figures[LONGEST_LINE, here], line)
                figures[LINES, here] += 1
                line = 0
            else:
                line += size
            at += size
        if at < stop:
            break
        figures[LONGEST_RUN, here] = max(figures[LONGEST_RUN, here], run)
        if line > 0:
            figures[LONGEST_LINE, here] = max(figures[LONGEST_LINE, here], line)
            figures[LINES, here] += 1
        line = run = 0
        most, most_letters[here] = 0, -1
        for script in range(letters.size):
            if letters[script] > most:
                most, most_letters[here] = letters[script], script
            letters[script] = 0
        document += 1
    state[AT], state[DOCUMENT], state[LINE], state[RUN] = at, document, line, run
