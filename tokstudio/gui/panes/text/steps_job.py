"""Encodes the text, or the pre-tokens around its selection, step by step, for the page Steps; work for a job."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tokstudio.core.analysis.encoding_steps import Steps, prepared_steps_work, steps_work
from tokstudio.core.analysis.why_not_one_token import WhyNot, why_not_one
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import percent_text
from tokstudio.core.pretokenization.patterns import splitter
from tokstudio.core.pretokenization.preparation import PreparedText
from tokstudio.core.pretokenization.special_tokens import AllowedSpecial
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.text.encoding_job import utf8_work

#: The most bytes for the steps.
LONGEST = 10_000


@dataclass(frozen=True, eq=False)
class Stepping:
    """The steps of a text, or of a part of it, with all merges."""

    steps: Steps
    begin: int  # the byte of the text where the text that was prepared for them begins
    note: str  # the part of the text, and remarks on it

    def here(self, start: int, stop: int) -> tuple[int, int]:
        """The part of the data of the steps that was made of some bytes of the text; it may lie outside."""
        first, last = self.steps.prepared.span(start - self.begin, stop - self.begin)
        return first - self.steps.begin, last - self.steps.begin

    def in_text(self, start: int, stop: int) -> tuple[int, int]:
        """The part of the text that some bytes of the steps stand for."""
        places = np.array([start, stop], np.int64) + self.steps.begin
        first, last = self.steps.prepared.original(places).tolist()
        return first + self.begin, last + self.begin


def stepping_work(
    tokenizer: Tokenizer, text: str, selected: tuple[int, int] | None, allowed_special: AllowedSpecial
) -> Work[Stepping]:
    """Encodes the selection, widened to whole pre-tokens, step by step; without one the text, up to a limit.

    The tokenizer has all its merges; `selected` is the first selected byte and the one after the last.

    Raises:
        ConfigError: As `steps_work`.
    """
    if selected is None:
        data = yield from utf8_work(text[:LONGEST])
        part = _head(data)
        note = f"The first {len(part):,} bytes of the text." if len(part) < len(data) or len(text) > LONGEST else ""
        return Stepping((yield from steps_work(tokenizer, part, None, allowed_special)), 0, _noted(tokenizer, note))
    data = yield from utf8_work(text)
    prepared = yield from tokenizer.prepared_work(data, allowed_special)
    span = prepared.span(*selected)
    if tokenizer.supermerges is not None:
        span = _line_around(prepared.data[: prepared.size].tobytes(), *span)
    begin, end = _widened(tokenizer, prepared, span)
    if end - begin <= LONGEST:
        steps = yield from prepared_steps_work(tokenizer, prepared, (begin, end), None, allowed_special)
        words = len(steps.pre_tokens)
        what = "The pre-token" if words == 1 else f"The {words:,} pre-tokens"
        return Stepping(steps, 0, _noted(tokenizer, f"{what} around the selection."))
    begin, end = selected
    part = _head(data[begin:end])
    note = f"The first {len(part):,} bytes of the selection" if len(part) < end - begin else "The selection"
    steps = yield from steps_work(tokenizer, part, None, allowed_special)
    note = f"{note}, encoded by itself: its pre-tokens are too long to step through."
    return Stepping(steps, begin, _noted(tokenizer, note))


def _noted(tokenizer: Tokenizer, note: str) -> str:
    """The note, and the dropout if there is one."""
    if tokenizer.dropout is None:
        return note
    return f"{note} {percent_text(tokenizer.dropout.probability)} of merges are passed over (dropout).".lstrip()


def answer(full: Steps, here: Steps, start: int, stop: int) -> tuple[WhyNot, str]:
    """Explains why the bytes from `start` to before `stop` are not one token, and which merges would make them one.

    `full` has all merges, `here` those at the playhead. Returns the answer, and a further sentence or "".
    """
    why = why_not_one(here, start, stop)
    pieces = full.pieces
    whole = np.flatnonzero((pieces.starts == start) & (pieces.stops == stop) & (pieces.ids >= 0) & (pieces.merges > 0))
    if not len(whole) and why.kind == "after":
        return why, f"With all merges it is not one token either: {why_not_one(full, start, stop).sentence}"
    if not len(whole) or why.kind == "one":
        return why, ""
    return why, f"It is one token {' and '.join(_while(full, piece) for piece in whole.tolist())}."


def _while(full: Steps, piece: int) -> str:
    """The merges with which a piece is there."""
    pieces = full.pieces
    first, after = int(pieces.merges[piece]), np.flatnonzero(pieces.first == pieces.gone[piece])
    if not len(after):
        return f"from merge {first:,} on"
    last = int(pieces.merges[after[0]]) - 1
    return f"only at merge {first:,}" if first == last else f"from merge {first:,} to merge {last:,}"


def answer_words(
    made: Stepping, here: Steps, asked: tuple[int, int], playhead: int, *, of_word: bool
) -> tuple[str, dict[int, int]]:
    """Explains in sentences why some bytes of the text are not one token at the playhead.

    `asked` has the first of the bytes and the one after the last; with `of_word`, the whole pre-token with the first
    is meant. Returns the sentences, and the tokens of the merges that they name, by number.
    """
    start, stop = made.here(*asked)
    if of_word:
        words = made.steps.pre_tokens
        word = int(np.searchsorted(words.stops, start, side="right"))
        start, stop = int(words.starts[word]), int(words.stops[word])
    why, more = answer(made.steps, here, start, stop)
    moves = why.kind in ("one", "was one", "fell apart", "after", "late") or why.left is not None
    lead = f"At merge {playhead:,}: " if moves and playhead < made.steps.merges else ""
    results = made.steps.tokenizer.merge_results
    merges = {merge: int(results[merge - 1]) for merge in (why.merge, why.taken_by) if merge}
    return f"{lead}{why.sentence} {more}".strip(), merges


def _head(data: bytes) -> bytes:
    """The beginning that is encoded step by step, without a cut character."""
    end = min(len(data), LONGEST)
    while end < len(data) and end > LONGEST - 4 and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end]


def _line_around(raw: bytes, start: int, stop: int) -> tuple[int, int]:
    """The lines of a part of a text, in which supermerges may join its words to others."""
    end = raw.find(b"\n", stop)
    return raw.rfind(b"\n", 0, start) + 1, len(raw) if end < 0 else end + 1


def _widened(tokenizer: Tokenizer, prepared: PreparedText, selected: tuple[int, int]) -> tuple[int, int]:
    """The start of the first pre-token in the selection, and the end of the last."""
    raw, parts, (first, last) = prepared.data, prepared.pieces, selected
    split, begin = splitter(tokenizer.pattern), 0
    for start, stop, special in zip(parts.starts.tolist(), parts.stops.tolist(), parts.specials.tolist(), strict=True):
        behind = stop + len(prepared.specials[special]) if special >= 0 else stop
        if behind <= first:
            continue
        if start <= first:
            begin = start
        for ends in split.ends_work(raw, start, stop):
            for end in ends.tolist():
                if end <= first:
                    begin = end
                elif end >= last:
                    return begin, end
        if special >= 0:
            if stop <= first:
                begin = stop
            if behind >= last:
                return begin, behind
    return begin, prepared.size
