r"""The merge log as CSV and JSON Lines, and the vocabulary as CSV: UTF-8, one record per line.

Texts are in quotes, with U+FFFD for invalid UTF-8; the column `hex` has the exact bytes. In CSV a backslash is `\\`,
and a control character or a line separator is `\n`, `\t`, `\r`, `\x00` or `\u2028`, so that a record is one line; in
JSON they have JSON's escapes. Where languages chose the merges, a last column has who chose, and nothing where all
chose together. Of Picky BPE, two last columns have how often the left and the right part stood in the corpus when it
was removed after the merge, and nothing for a part that stayed. Of SuperBPE, a last column has the stage, 1 or 2; of
BoundlessBPE, the count of the merge within words that a supermerge came before, 0 where none was left, and nothing for
the merges within words. Special tokens have no `uses`: they are cut out of the
corpus before counting, so a run does not count them; nor does any token at fewer merges than training started from.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokstudio.core.base.wording import in_units
from tokstudio.core.formats.common.format import Format, cut, gathered

if TYPE_CHECKING:
    from tokstudio.core.model.columns import LogColumn
    from tokstudio.core.model.run import Run
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

MERGE_COLUMNS = (
    "number", "id", "left", "right", "left_text", "right_text", "text", "hex",
    "count", "tokens_after", "bytes_per_token",
)  # fmt: skip
VOCABULARY_COLUMNS = ("id", "kind", "text", "hex", "bytes", "left", "right", "merge", "uses")


@cache
def _escapes() -> Mapping[int, str]:
    own = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
    return {
        code: own.get(chr(code), f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")
        for code in range(0x3000)
        if code == ord("\\") or unicodedata.category(chr(code)) in ("Cc", "Zl", "Zp")
    }


class _Style(NamedTuple):
    """The form of a record: the bytes before each value, the escapes of texts, the end, and no number."""

    leads: tuple[bytes, ...]
    escapes: Mapping[int, str]
    end: bytes
    nothing: bytes  # a number that there is not


def _csv(columns: Sequence[str]) -> _Style:
    return _Style((b"", *[b","] * (len(columns) - 1)), {**_escapes(), ord('"'): '""'}, b"\n", b"")


def _json_lines(columns: Sequence[str]) -> _Style:
    leads = tuple(f'{", " if number else "{"}"{column}": '.encode() for number, column in enumerate(columns))
    return _Style(leads, {code: json.dumps(chr(code))[1:-1] for code in (*_escapes(), ord('"'))}, b"}\n", b"null")


class _Merges(Format):
    """The base class of both merge logs."""

    readable = False
    keeps_gaps = True

    def problem(self, tokenizer: Tokenizer) -> str | None:
        """The counts are those of a run."""
        if tokenizer.run is None:
            return tokenizer.no_merges or "This tokenizer was not trained here, so there are no counts to write."
        return None

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """Text and hex of each token, and the texts of its parts."""
        return 5 * token_bytes + 80 * len(tokenizer)


class MergesCsv(_Merges):
    """The merge log as a table."""

    name = "merges-csv"
    title = "Merge log (CSV)"
    description = "a table of all merges in order, with their counts and the compression after each"
    files = ("merges.csv",)

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """The table."""
        columns = _merge_columns(tokenizer)
        heading = ",".join(columns).encode() + b"\n"
        return {self.files[0]: chain([heading], gathered(_merge_rows(tokenizer, _csv(columns))))}


class MergesJsonl(_Merges):
    """The merge log as objects, one a line."""

    name = "merges-jsonl"
    title = "Merge log (JSON Lines)"
    description = "all merges in order as JSON, one a line, with their counts and the compression after each"
    files = ("merges.jsonl",)

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """Like the table, with a name before each value."""
        return super().size(tokenizer, token_bytes) + 120 * len(tokenizer)

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """The objects."""
        return {self.files[0]: gathered(_merge_rows(tokenizer, _json_lines(_merge_columns(tokenizer))))}


class VocabularyCsv(Format):
    """The vocabulary."""

    name = "vocabulary-csv"
    title = "Vocabulary (CSV)"
    description = "a table of all tokens, with their bytes and how often each occurs in the corpus"
    files = ("vocabulary.csv",)
    readable = False
    keeps_gaps = True

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """Text and hex of each token."""
        return 4 * token_bytes + 60 * len(tokenizer)

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """The table."""
        return {self.files[0]: gathered(_vocabulary_rows(tokenizer))}


def _merge_columns(tokenizer: Tokenizer) -> tuple[str, ...]:
    own = () if tokenizer.run is None else _own_columns(tokenizer.run)
    return (*MERGE_COLUMNS, *(shown.export for shown in own))


def _own_columns(run: Run) -> tuple[LogColumn, ...]:
    """The columns that only the algorithm of a run has."""
    return tuple(shown for shown in run.config.algorithm.shown if shown.export)


def _own_values(run: Run, row: int, style: _Style) -> Iterator[bytes]:
    """The values of `_own_columns` in a row."""
    for shown in _own_columns(run):
        value = shown.value(run, row)
        if shown.kind == "text":
            yield b'"' + b"".join(_text((value or "").encode(), style.escapes)) + b'"'
        elif value is None:
            yield style.nothing
        else:
            yield str(in_units(value, run.weight_scale) if shown.kind == "count" else value).encode()


def _merge_rows(tokenizer: Tokenizer, style: _Style) -> Iterator[bytes]:
    run = tokenizer.run
    assert run is not None
    merges, results, lengths = tokenizer.merges, tokenizer.merge_results, tokenizer.lengths_of_all
    numbers, texts = style.leads[:4], style.leads[4:7]
    # The merges of the tokenizer that an extension started from were not counted in it.
    first = 0 if run.start is None else len(run.start.merges)
    for row in range(len(merges)):
        left, right, result = int(merges[row, 0]), int(merges[row, 1]), int(results[row])
        for lead, number in zip(numbers, (row + 1, result, left, right), strict=True):
            yield lead + b"%d" % number
        token, middle = tokenizer.bytes_of(result), int(lengths[left])
        for lead, part in zip(texts, (token[:middle], token[middle:], token), strict=True):
            yield lead + b'"'
            yield from _text(part, style.escapes)
            yield b'"'
        yield style.leads[7] + b'"'
        yield from _hex(token)
        yield b'"'
        own = row - first
        if own < 0:
            yield from (lead + style.nothing for lead in style.leads[8:])
            yield style.end
            continue
        counts = (in_units(int(array[own]), run.weight_scale) for array in (run.counts, run.tokens_after))
        measures = (*counts, round(run.bytes_per_token(own + 1), 6))
        for lead, measure in zip(style.leads[8:11], measures, strict=True):
            yield lead + str(measure).encode()
        for lead, value in zip(style.leads[11:], _own_values(run, own, style), strict=True):
            yield lead + value
        yield style.end


def _vocabulary_rows(tokenizer: Tokenizer) -> Iterator[bytes]:
    escapes = _csv(VOCABULARY_COLUMNS).escapes
    yield ",".join(VOCABULARY_COLUMNS).encode() + b"\n"
    run, merges, size = tokenizer.run, tokenizer.merges, len(tokenizer.tokens)
    results = tokenizer.merge_results
    merge_of = np.zeros(max(size, int(results.max(initial=-1)) + 1), np.int64)
    merge_of[results[::-1]] = np.arange(len(merges), 0, -1)  # the first merge that makes a token
    base = tokenizer.alphabet.base.removesuffix("s").encode()
    # Only kinds that can differ are looked up one by one.
    specials = frozenset(tokenizer.special_tokens.values())
    kinds = dict.fromkeys(specials, b"special")
    words = tokenizer.whole_words - specials
    kinds |= {token: tokenizer.kind(token).encode() for token in tokenizer.extra_tokens}
    uses = None if run is None else run.uses_in_tokenizer(len(merges))
    for token, token_bytes in enumerate(tokenizer.tokens):
        if token_bytes is None:
            continue
        number = int(merge_of[token])
        kind = b"whole word" if token in words else b"merge" if number else kinds.get(token, base)
        yield b'%d,"%s","' % (token, kind)
        yield from _text(token_bytes, escapes)
        yield b'","'
        yield from _hex(token_bytes)
        how = b"%d,%d,%d" % (*merges[number - 1].tolist(), number) if number else b",,"
        used = "" if run is None or uses is None or token in specials else in_units(int(uses[token]), run.weight_scale)
        yield b'",%d,%s,%s\n' % (len(token_bytes), how, str(used).encode())


def _text(token: bytes, escapes: Mapping[int, str]) -> Iterator[bytes]:
    return (text.translate(escapes).encode() for text in codecs.iterdecode(cut(token), "utf-8", "replace"))


def _hex(token: bytes) -> Iterator[bytes]:
    return (part.hex().encode() for part in cut(token))
