"""Explains in a sentence why a span of text is not one token: which merge is missing, too late or not applied."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from tokstudio.core.analysis.encoding_steps import State, Steps
from tokstudio.core.analysis.why_this_merge import count_at_end_work
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import count_text, quoted_bytes, several
from tokstudio.core.corpus.corpus import ONCE, Corpus
from tokstudio.core.corpus.sampling import blocks_work
from tokstudio.core.model.run import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The kinds of an explanation:
#: "one": it is one token.
#: "was one": it was one token until it became a part of a longer one.
#: "fell apart": it was one token until a merge removed that from the vocabulary, in Picky BPE.
#: "special": it contains a special token, or is the text of one that is not recognised here.
#: "border": it contains a border between two pre-tokens, or a pre-token and a special token.
#: "whole word": it is part of a pre-token that is one token as a whole, or is a token only as a whole pre-token.
#: "unknown": it contains a character that is not in the vocabulary.
#: "missing": no merge makes it.
#: "unreachable": it is in the vocabulary, but no text becomes it.
#: "after": the merge that makes it is not applied yet.
#: "late": two of its parts had to be merged, but another merge had already taken one of them.
WhyNotKind = Literal[
    "one",
    "was one",
    "fell apart",
    "special",
    "border",
    "whole word",
    "unknown",
    "missing",
    "unreachable",
    "after",
    "late",
]

_NAMED_PAIRS = 2  # of tokens that no merge joins
_SEARCHED = 1 << 20  # bytes at once


@dataclass(frozen=True)
class WhyNot:
    """An explanation."""

    kind: WhyNotKind
    sentence: str  # the explanation for the user
    token: int | None = None  # the id of the token that the text is, was or would be; None where there is none
    # The number of the merge that makes it; for "late", of the merge that was impossible; for "missing", of the first
    # merge on the way that is not applied. Merges are numbered from 1. None: there is none.
    merge: int | None = None
    left: int | None = None  # the id of the left token of that merge, or of two tokens that no merge joins
    right: int | None = None  # the id of the right token
    # The number of the merge that took a part before, that made a longer token of it, or that removed it.
    taken_by: int | None = None


def why_not_one(steps: Steps, start: int, stop: int) -> WhyNot:
    """Explains why the bytes from `start` to `stop` of a text are not one token; raises ConfigError for no bytes."""
    if not 0 <= start < stop <= len(steps.data):
        size = several(len(steps.data), "byte")
        raise ConfigError(f"There is no text from byte {start:,} to {stop:,}: it has {size}.")
    question = _Question(steps, start, stop)
    return question.one() or question.border() or question.whole_word() or question.unknown() or question.merge()


def cause_work(corpus: Corpus, run: Run, steps: Steps, start: int, stop: int) -> Work[str]:
    """Says from the corpus of a run why no merge makes a text; "" for every kind of `why_not_one` but "missing".

    `steps` are those with all merges. Raises as `count_at_end_work`.
    """
    why = why_not_one(steps, start, stop)
    if why.kind != "missing":
        return ""
    sentences: list[str] = []
    if steps.tokenizer.preparation.is_plain:
        times = yield from _times_work(corpus, run, steps.data[start:stop])
        sentences.append(f"The corpus has {quoted_bytes(steps.data[start:stop])} {_times(times, run.weight_scale)}.")
    if why.left is not None and why.right is not None and why.merge is None:
        together = yield from count_at_end_work(corpus, run, why.left, why.right)
        if together is not None:
            pair = " + ".join(quoted_bytes(steps.tokenizer.bytes_of(token)) for token in (why.left, why.right))
            needed = count_text(int(run.counts[-1]), run.weight_scale)
            stood = _times(together, run.weight_scale)
            sentences.append(f"{pair} stood together {stood} at the end. The last merge needed {needed}.")
    return " ".join(sentences)


def _times(count: int, scale: int) -> str:
    return "once" if count == scale else f"{count_text(count, scale)} times"


def _times_work(corpus: Corpus, run: Run, text: bytes) -> Work[int]:
    """How often the text that a run was trained on has some bytes, in units of 1 / `Run.weight_scale`."""
    sources, weights = corpus.sources, run.corpus.weights or (ONCE,) * len(corpus.sources)
    blocks = [(source.ends, np.zeros(source.documents, np.bool_)) for source in sources]
    if run.config.held_out:
        blocks = yield from blocks_work(sources, run.config.held_out, run.corpus.weights)
    total, pattern = 0, re.compile(re.escape(text))
    for source, (ends, is_held), weight in zip(sources, blocks, weights, strict=True):
        size = len(source.data) if weight else 0
        for first in range(0, size, _SEARCHED):
            part = source.data[first : first + _SEARCHED + len(text) - 1].tobytes()
            places = first + np.fromiter((match.start() for match in pattern.finditer(part)), np.int64)
            documents = np.searchsorted(ends, places, side="right")
            counted = (places + len(text) <= ends[documents]) & ~is_held[documents]
            times = np.count_nonzero(counted) if source.counts is None else source.counts[documents[counted]].sum()
            total += int(times) * weight * run.weight_scale // ONCE
            yield Progress("searching", first, size)
    return total


class _Broken(NamedTuple):
    """A token that could not be made, and its piece that another merge took; -1: no text makes it."""

    wanted: int
    taken: int


class _Question:
    """The question; each method returns its explanation, or None where it does not apply."""

    def __init__(self, steps: Steps, start: int, stop: int) -> None:
        self._steps = steps
        self._start, self._stop = start, stop
        self._text = steps.data[start:stop]
        self._is_within = (steps.pieces.starts >= start) & (steps.pieces.stops <= stop)

    def one(self) -> WhyNot | None:
        """It is one token, or was one."""
        pieces, text = self._steps.pieces, quoted_bytes(self._text)
        whole = self._is_within & (pieces.starts == self._start) & (pieces.stops == self._stop) & (pieces.ids >= 0)
        for piece in np.flatnonzero(whole).tolist()[::-1]:
            if pieces.ids[piece] == self._steps.tokenizer.alphabet.unknown:
                continue
            token, parent = int(pieces.ids[piece]), int(pieces.parents[piece])
            merge = int(pieces.merges[piece]) if pieces.wholes[piece] < 0 else self._merge_of(token)
            merge = merge or None
            if (fallen := pieces.wholes == piece).any():
                removed_by = int(pieces.merges[fallen][0])
                parts = " and ".join(map(self._token, pieces.ids[fallen].tolist()))
                sentence = (
                    f"{text} was one token, until merge {removed_by:,} removed it from the vocabulary: "
                    f"it fell into {parts}."
                )
                return WhyNot("fell apart", sentence, token, merge, taken_by=removed_by)
            if parent < 0:
                return WhyNot("one", f"{text} is one token.", token, merge)
            taken_by = int(pieces.merges[parent])
            sentence = f"{text} was one token, until merge {taken_by:,} joined {self._parts_of(parent)}."
            return WhyNot("was one", sentence, token, merge, taken_by=taken_by)
        return None

    def border(self) -> WhyNot | None:
        """It contains a border that no merge crosses."""
        cut = self._steps.pre_tokens
        first, last = np.searchsorted(cut.stops, [self._start, self._stop - 1], side="right").tolist()
        for piece in range(first, last + 1):
            if cut.ids[piece] >= 0:
                special = quoted_bytes(self._steps.data[cut.starts[piece] : cut.stops[piece]])
                sentence = f"{special} is a special token: no merge joins it to other text or splits it."
                return WhyNot("special", sentence, int(cut.ids[piece]))
        if first == last:
            return None
        if self._steps.tokenizer.supermerges is not None:
            return self._border_of_runs(cut, first, last)
        left, right = (quoted_bytes(self._steps.data[cut.starts[i] : cut.stops[i]]) for i in (first, first + 1))
        sentence = f"The text is split between {left} and {right} before merging, and no merge crosses a split."
        return WhyNot("border", sentence)

    def _border_of_runs(self, cut: State, first: int, last: int) -> WhyNot | None:
        """It has a pre-token that no supermerge joins, or a part of one."""
        rule = "and supermerges join only words that are one token with a letter"
        letters, pieces = self._steps.tokenizer.words_with_letters(), self._steps.pieces
        if cut.starts[first] != self._start or cut.stops[last] != self._stop:
            end = last if cut.starts[first] == self._start else first
            word = quoted_bytes(self._steps.data[cut.starts[end] : cut.stops[end]])
            return WhyNot("border", f"It has only a part of {word}, {rule}.")
        for number in range(first, last + 1):
            same = (pieces.starts == cut.starts[number]) & (pieces.stops == cut.stops[number]) & (pieces.ids >= 0)
            if not letters[pieces.ids[same]].any():
                word = quoted_bytes(self._steps.data[cut.starts[number] : cut.stops[number]])
                what = "has no letter" if same.any() else "is not one token"
                return WhyNot("border", f"{word} {what}, {rule}.")
        return None

    def whole_word(self) -> WhyNot | None:
        """It is in a pre-token that was not merged."""
        pieces = self._steps.pieces
        around = (pieces.starts <= self._start) & (pieces.stops >= self._stop)
        for piece in np.flatnonzero(around & np.isin(pieces.ids, [*self._steps.tokenizer.whole_words])).tolist():
            if pieces.lefts[piece] < 0 and pieces.parents[piece] < 0:
                word = quoted_bytes(self._steps.data[pieces.starts[piece] : pieces.stops[piece]])
                return WhyNot("whole word", f"{word} is one token as a whole word: nothing in it is merged.")
        return None

    def unknown(self) -> WhyNot | None:
        """A character in it is not in the vocabulary."""
        pieces, unknown = self._steps.pieces, self._steps.tokenizer.alphabet.unknown
        if unknown is None:
            return None
        for piece in np.flatnonzero(self._is_within & (pieces.ids == unknown)).tolist():
            character = quoted_bytes(self._steps.data[pieces.starts[piece] : pieces.stops[piece]])
            sentence = f"{character} is not in the vocabulary: it became the unknown token, which no merge joins."
            return WhyNot("unknown", sentence, unknown)
        return None

    def merge(self) -> WhyNot:
        """The merge that is missing, not applied, or too late."""
        tokenizer = self._steps.tokenizer
        if tokenizer.removals is not None:
            return self._merge_of_picky()
        tokens = tokenizer.tokens.spelling(self._text)
        merges = [self._merge_of(token) for token in tokens]
        if not tokens:
            return self._missing()
        needed, words = tokenizer.needed_merges, [token for token in tokens if tokenizer.kind(token) == "whole word"]
        # Where merges stand in no order, the last one that is needed for a token may make a part of it.
        last = merges if needed is None else [int(needed[merge - 1]) if merge else 0 for merge in merges]
        candidates = sorted(
            (merge, token) for merge, token in zip(last, tokens, strict=True) if merge and token not in words
        )
        if not candidates:
            return self._unreachable(tokens[0])
        applied = self._steps.merges
        # Of tokens with the same bytes, one that can still be made says more than one that cannot.
        for merge, token in candidates:
            if merge > applied and self._broken(token) is None:
                left, right = tokenizer.merges[merge - 1].tolist()
                return WhyNot("after", f"{self._not_applied(left, right, merge)}.", token, merge, left, right)
        return self._late(candidates[0][1])

    def _merge_of_picky(self) -> WhyNot:
        """The same where tokens are also removed: what stood here before a merge depends on all events until then."""
        tokenizer, text = self._steps.tokenizer, quoted_bytes(self._text)
        lengths = tokenizer.lengths_of_all
        rows = [
            row
            for row in np.flatnonzero(lengths[tokenizer.merge_results] == len(self._text)).tolist()
            if tokenizer.bytes_of(int(tokenizer.merge_results[row])) == self._text
        ]
        if not rows:
            return WhyNot("missing", f"No merge makes {text}: it is not in the vocabulary.")
        applied = self._steps.merges
        late = next((row for row in reversed(rows) if row < applied), None)
        row = rows[0] if late is None else late
        left, right = tokenizer.merges[row].tolist()
        result = int(tokenizer.merge_results[row]), row + 1, left, right
        if late is None:
            return WhyNot("after", f"{self._not_applied(left, right, row + 1)}.", *result)
        sentence = f"Merge {row + 1:,} makes {text} of {self._pair(left, right)}, but not at this place."
        return WhyNot("late", sentence, *result)

    def _missing(self) -> WhyNot:
        here = self._steps.tokens
        first, last = np.searchsorted(here.starts, self._start), np.searchsorted(here.stops, self._stop)
        if last == first + 1 and here.starts[first] == self._start and here.stops[last] == self._stop:
            left, right = int(here.ids[first]), int(here.ids[last])
            sentence = f"No merge joins {self._token(left)} and {self._token(right)}."
            return WhyNot("missing", sentence, left=left, right=right)
        text = quoted_bytes(self._text)
        if last <= first or here.starts[first] != self._start or here.stops[last] != self._stop:
            return WhyNot("missing", f"No merge makes {text}: it is not in the vocabulary.")
        return self._missing_between(here.ids[first : last + 1].astype(np.int64))

    def _missing_between(self, ids: NDArray[np.int64]) -> WhyNot:
        """Explains which of several adjacent tokens no merge joins."""
        lefts, rights, text = ids[:-1], ids[1:], quoted_bytes(self._text)
        merges = self._steps.tokenizer.merges
        # Few merges have such parts on both sides, so not all pairs must be sorted.
        near = merges[np.isin(merges[:, 0], lefts) & np.isin(merges[:, 1], rights)].astype(np.int64)
        apart = np.flatnonzero(~np.isin((lefts << 32) | rights, (near[:, 0] << 32) | near[:, 1])).tolist()
        if not apart:
            # All pairs are merges, but not applied ones.
            left, right = int(lefts[0]), int(rights[0])
            merge = int(np.flatnonzero((merges[:, 0] == left) & (merges[:, 1] == right))[0]) + 1
            sentence = f"{self._not_applied(left, right, merge)}, and no merge makes {text}."
            return WhyNot("missing", sentence, None, merge, left, right)
        named = [f"{self._token(int(lefts[i]))} and {self._token(int(rights[i]))}" for i in apart[:_NAMED_PAIRS]]
        more = ", …" if len(apart) > _NAMED_PAIRS else ""
        sentence = f"No merge joins {', or '.join(named)}{more}: {text} is not in the vocabulary."
        return WhyNot("missing", sentence, left=int(lefts[apart[0]]), right=int(rights[apart[0]]))

    def _not_applied(self, left: int, right: int, merge: int) -> str:
        applied = self._steps.merges
        those = f"only the first {applied:,}" if applied else "none"
        return f"{self._pair(left, right)} is merge {merge:,}, but {those} of the merges are applied here"

    def _unreachable(self, token: int) -> WhyNot:
        kind, text = self._steps.tokenizer.kind(token), self._token(token)
        if kind == "special":
            return WhyNot("special", f"{text} is a special token, but here it is plain text.", token)
        if kind == "whole word":
            return WhyNot("whole word", f"{text} is a token only where it is a whole pre-token.", token)
        return WhyNot("unreachable", f"{text} is in the vocabulary, but no merge makes it.", token)

    def _late(self, token: int) -> WhyNot:
        broken = self._broken(token)
        if broken is None or broken.taken < 0:
            return self._unreachable(token if broken is None else broken.wanted)
        wanted, taken, pieces = broken.wanted, broken.taken, self._steps.pieces
        merge, parent = self._merge_of(wanted), int(pieces.parents[taken])
        taken_by, taken_id = int(pieces.merges[parent]), int(pieces.ids[taken])
        left, right = self._steps.tokenizer.merges[merge - 1].tolist()
        sentence = f"{self._pair(left, right)} is merge {merge:,}, but {self._token(taken_id)} was already taken by "
        if taken_by == merge:
            sentence += "the same merge one place before."
        else:
            sentence += f"merge {taken_by:,}: {self._parts_of(parent, ' + ')}."
        if wanted != token:
            sentence = f"{self._token(token)} is made of {self._token(wanted)}. {sentence}"
        return WhyNot("late", sentence, token, merge, left, right, taken_by)

    def _broken(self, token: int) -> _Broken | None:
        """The part of a token's tree that can no longer be made here: the deepest, leftmost; None if there is none."""
        tokenizer, pieces = self._steps.tokenizer, self._steps.pieces
        waiting: list[tuple[int, int]] = [(token, self._start)]
        broken: list[_Broken] = []
        while waiting:
            wanted, at = waiting.pop()
            parts = tokenizer.parts(wanted)
            if parts is None:
                broken.append(_Broken(wanted, -1))
                continue
            starts = (at, at + tokenizer.tokens.length(parts[0]))
            pieces_here = [self._pieces.get((start, part), -1) for start, part in zip(starts, parts, strict=True)]
            # A part that was merged into another token is missing for this one.
            taken = [piece for piece in pieces_here if piece >= 0 and pieces.parents[piece] >= 0]
            if taken:
                broken.append(_Broken(wanted, min(taken, key=lambda piece: pieces.gone[piece])))
            for start, part, piece in zip(starts, parts, pieces_here, strict=True):
                if piece < 0:
                    waiting.append((part, start))
        # Parts come after the tokens that they are parts of, and those on the right before those on the left.
        return broken[-1] if broken else None

    @cached_property
    def _pieces(self) -> dict[tuple[int, int], int]:
        """All pieces of any state within the span, by their first byte and token."""
        pieces, within = self._steps.pieces, np.flatnonzero(self._is_within)
        keys = zip(pieces.starts[within].tolist(), pieces.ids[within].tolist(), strict=True)
        return dict(zip(keys, within.tolist(), strict=True))

    def _merge_of(self, token: int) -> int:
        """The number of the merge that makes a token; 0 if none does."""
        rows = np.flatnonzero(self._steps.tokenizer.merge_results == token)
        return int(rows[0]) + 1 if len(rows) else 0

    def _parts_of(self, piece: int, between: str = " and ") -> str:
        pieces = self._steps.pieces
        return between.join(self._token(int(pieces.ids[part[piece]])) for part in (pieces.lefts, pieces.rights))

    def _pair(self, left: int, right: int) -> str:
        return f"{self._token(left)} + {self._token(right)}"

    def _token(self, token: int) -> str:
        return quoted_bytes(self._steps.tokenizer.bytes_of(token))
