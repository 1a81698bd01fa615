"""What the page Steps shows: the steps of an encoding, found in jobs, as rows with captions."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import zip_longest

import numpy as np
from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtWidgets import QFrame

from tokstudio.core.analysis.encoding_steps import Round, Rounds, Steps, prepared_steps_work, steps_work
from tokstudio.core.analysis.why_not_one_token import WhyNot, why_not_one
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import percent_text, several
from tokstudio.core.pretokenization.patterns import splitter
from tokstudio.core.pretokenization.preparation import PreparedText
from tokstudio.core.pretokenization.special_tokens import AllowedSpecial
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.text.encoding_job import utf8_work
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.model import TokenCell, TokenColumn, TokenTable
from tokstudio.gui.token_text.spelling import marked, whole_characters
from tokstudio.gui.token_text.token_label import in_characters as characters_label
from tokstudio.gui.token_text.token_label import token_label
from tokstudio.gui.widgets.labels import isolated, paragraph_label
from tokstudio.gui.widgets.layouts import STRETCH, column, row
from tokstudio.gui.widgets.menus import link_button, tool_button

# --- The line that names a step of an encoding ------------------------------------------------------------------------

_LABEL = 24  # characters of a token


def step_words(rounds: Rounds, number: int, pieces: int, *, in_characters: bool = False) -> str:
    """Describes the step to a state, counted from 0, with its number of pieces."""
    step = rounds.round(number)
    if step.kind == "pre-tokens":
        return f"Split into {several(pieces, 'pre-token')}"
    if step.kind == "base tokens":
        tokenizer = rounds.steps.tokenizer
        unit = "byte" if tokenizer.alphabet.base == "bytes" else "character"
        odd = {*tokenizer.special_tokens.values(), *tokenizer.whole_words}
        if odd.isdisjoint(rounds.state(1).ids.tolist()):
            return f"Base tokens: {several(pieces, unit)}"
        return f"Base tokens: {several(pieces, 'token')}, mostly {unit}s"
    tokens, limit = rounds.steps.tokenizer.tokens, 4 * _LABEL  # a character has four bytes at most
    label = characters_label if in_characters else token_label
    ids = (step.left, *step.parts) if step.kind == "removal" else (step.left, step.right, step.token)
    heads = (whole_characters(tokens.prefix(one, limit + 4), limit) for one in ids)
    first, *others = (isolated(label(head, _LABEL)) for head in heads)
    places = f" at {len(step.starts):,} places" if len(step.starts) > 1 else ""
    lead = f"Step {number + 1:,} of {len(rounds):,}:"
    if step.kind == "removal":
        return f"{lead} {first} → {' + '.join(others)}{places} (removed after merge {step.merge:,})"
    return f"{lead} {first} + {others[0]} → {others[1]}{places} (merge {step.merge:,})"


# --- The answer to "Why not one token?": sentences, and links to the merges that they name ----------------------------


class WhyNotLine(QFrame):
    """An answer that can be closed."""

    linkClicked = Signal(int)  # the id of the token of the clicked merge
    closed = Signal()  # the user has closed the answer

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("card", True)
        self.words = paragraph_label()
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.links = [link_button("", partial(self._tell, place)) for place in range(2)]
        for link in self.links:
            link.setAccessibleName("Show a merge")
        self._tokens: list[int] = []
        drawing = icon("close", theme, "muted")
        self.close_button = tool_button("Close", drawing, name="Close the answer", clicked=self.closed)
        self.close_button.setIconSize(QSize(14, 14))
        top = row((self.words, 1), (self.close_button, Qt.AlignmentFlag.AlignTop))
        column(top, row(*self.links, STRETCH), spacing=2, margins=(8, 6, 6, 6), parent=self)

    def show_answer(self, words: str, merges: Mapping[int, int]) -> None:
        """Shows sentences, and a link for each merge: its number, with the id of its token."""
        self.words.setText(words)
        self.setAccessibleName(words)
        self._tokens = list(merges.values())
        for link, number in zip_longest(self.links, merges):
            link.setVisible(number is not None)
            if number is not None:
                link.setText(f"Show merge {number:,}")
                link.setAccessibleName(link.text())

    def _tell(self, place: int) -> None:
        self.linkClicked.emit(self._tokens[place])


# --- Encodes the text, or the pre-tokens around its selection, step by step, for the page Steps; work for a job -------

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

    def span_of(self, asked: tuple[int, int], *, of_word: bool) -> tuple[int, int]:
        """The part of the data of the steps that a question is about: bytes, or the pre-token with the first."""
        start, stop = self.here(*asked)
        if of_word:
            words = self.steps.pre_tokens
            word = int(np.searchsorted(words.stops, start, side="right"))
            start, stop = int(words.starts[word]), int(words.stops[word])
        return start, stop

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
    stepping: Stepping, here: Steps, asked: tuple[int, int], playhead: int, *, of_word: bool
) -> tuple[str, dict[int, int]]:
    """Explains in sentences why some bytes of the text are not one token at the playhead.

    `asked` has the first of the bytes and the one after the last; with `of_word`, the whole pre-token with the first
    is meant. Returns the sentences, and the tokens of the merges that they name, by number.
    """
    start, stop = stepping.span_of(asked, of_word=of_word)
    why, more = answer(stepping.steps, here, start, stop)
    moves = why.kind in ("one", "was one", "fell apart", "after", "late") or why.left is not None
    lead = f"At merge {playhead:,}: " if moves and playhead < stepping.steps.merges else ""
    results = stepping.steps.tokenizer.merge_results
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


# --- Steps model ------------------------------------------------------------------------------------------------------
# The states of an encoding as rows: pre-tokens, base tokens, and a row for each merge or removal at all its places.

_STEP, _MERGE, PARTS, _TOKEN, _PLACES = range(5)
_TIP_BYTES = 400


class RoundsModel(TokenTable):
    """Row k is state k; the current one is marked. The slot of a row is its number."""

    columns = (
        TokenColumn("Step", "number", "Number of the step, from 1"),
        TokenColumn("Merge", "number", "The number of the merge"),
        TokenColumn(
            "Left + right", "token", "The two tokens that it joins; dimmed, the token that was removed after it", 3, 7
        ),
        TokenColumn("Token", "token", "What they become; dimmed, what the removed token falls into", 2, 5),
        TokenColumn("Places", "number", "How many times it joins them here; for the first two steps, pieces", yields=1),
    )

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rounds: Rounds | None = None
        self._known: dict[int, Round] = {}
        self._current = -1
        self._pieces = (0, 0)

    def set_rounds(self, run: StudioRun | None, rounds: Rounds | None) -> None:
        """Shows the states of an encoding; None shows nothing."""
        with self.reset():
            if run is not self.run:
                self.hold(run)
            self._rounds, self._known, self._current = rounds, {}, -1
            if rounds is not None:
                self._pieces = len(rounds.state(0)), len(rounds.state(1))

    def set_current(self, row: int) -> None:
        """Marks the current state."""
        before, self._current = self._current, row
        for one in (before, row):
            if 0 <= one < self.rowCount():
                self.dataChanged.emit(self.index(one, 0), self.index(one, _PLACES))

    def round(self, row: int) -> Round:
        """The step to the state in a row."""
        round_known = self._known.get(row)
        if round_known is None:
            assert self._rounds is not None
            round_known = self._known[row] = self._rounds.round(row)
        return round_known

    def token_at(self, row: int) -> int | None:
        """The id of the token that a row's merge makes; None for the first two rows."""
        return self.round(row).token if 2 <= row < self.rowCount() else None

    def cell(self, row: int, column: int) -> TokenCell:
        here, shown = self.round(row), row == self._current
        if column == _STEP:
            return TokenCell(f"{row + 1:,}", marked=shown)
        if column == _PLACES:
            return TokenCell(f"{self._places(row):,}", marked=shown)
        if not here.merge:
            return TokenCell(here.kind.capitalize() if column == PARTS else "", marked=shown)
        if column == _MERGE:
            return TokenCell(f"{here.merge:,}", marked=shown)
        assert self.tokens is not None
        tokens = tuple(self.shown(self.tokens.slot_of(token)) for token in _ids(here)[column == _TOKEN])
        return TokenCell(" + ".join(map(marked, tokens)), tokens, here.kind == "removal", shown)

    def copied_slot(self, slot: int) -> str:
        here = self.round(slot)
        if not here.merge:
            return "\t".join([str(slot + 1), "", here.kind, "", "", str(self._places(slot))])
        assert self.tokens is not None
        before, after = ([self.copied_token(self.tokens.slot_of(token)) for token in ids] for ids in _ids(here))
        texts = [*before, *after] if here.kind == "merge" else [*before, "", " + ".join(after)]
        return "\t".join([str(slot + 1), str(here.merge), *texts, str(self._places(slot))])

    def widest(self, column: int) -> str:
        rows = self.rowCount()
        if column == _STEP or not rows:
            return f"{rows:,}"
        if column == _MERGE:
            return self.cell(rows - 1, _MERGE).text
        return f"{max(self._pieces):,}"

    def count(self) -> int:
        return 0 if self._rounds is None else len(self._rounds)

    def tip(self, row: int, column: int) -> str:
        if self.tokens is None or column not in (PARTS, _TOKEN) or row < 2:
            return ""
        here = self.round(row)
        ids = _ids(here)[column == _TOKEN]
        texts = [marked(self._read(self.tokens.slot_of(token), _TIP_BYTES)) for token in ids]
        removed = f"Removed after merge {here.merge:,}:\n" if here.kind == "removal" else ""
        return f"{removed}{' + '.join(texts)}\nid {' + '.join(f'{token:,}' for token in ids)}"

    def _places(self, row: int) -> int:
        return self._pieces[row] if row < 2 else len(self.round(row).starts)


def _ids(here: Round) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The tokens before a merge or a removal, and those after it."""
    return ((here.left,), here.parts) if here.kind == "removal" else ((here.left, here.right), (here.token,))
