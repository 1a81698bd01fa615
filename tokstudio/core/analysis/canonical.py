"""Whether ids are those that encoding gives for their text, and how many sequences of tokens that text has."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import log10, prod
from typing import TYPE_CHECKING, Literal

import numpy as np

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several, shown
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

Verdict = Literal["canonical", "not canonical", "undecided"]

#: Bytes of text up to which its encodings are counted: the number has about half as many digits.
MOST_COUNTED = 10_000

_STEP = 1 << 12
_MOST_SHOWN, _MOST_WRITTEN = 8, 10**15
_PIECES = frozenset({"BPE", "Unigram"})  # models whose tokens, joined, are the text
_NOT_UTF8 = "they are not the bytes of a text in UTF-8"
_CHANGED = "encoding changes their text (a normalizer, a space before it, white space beside special tokens)"


@dataclass(frozen=True)
class Canonical:
    """Whether ids are those that encoding gives."""

    verdict: Verdict  # "undecided" where their text cannot be encoded as it is
    reason: str = ""  # why it is undecided, as the end of a sentence; "" else
    # Where it is not canonical, the first of the ids, from 0, that encoding would not give there.
    first: int | None = None
    given: tuple[int, ...] = ()  # the ids from there on, up to where both end at the same byte
    expected: tuple[int, ...] = ()  # what encoding gives in their place
    # The sequences of ordinary tokens that have the same bytes, special tokens in their places; None where that is not
    # known: for a long text, or a model whose tokens are not pieces of text.
    encodings: int | None = None


def canonical_work(tokenizer: Tokenizer, ids: NDArray[np.uint32]) -> Work[Canonical]:
    """Decodes each run of ids between special tokens, and encodes it again without special tokens.

    In plain BPE, ids are canonical if each two adjacent ones are; a pattern that looks ahead makes that untrue, so that
    whole runs are encoded. Added tokens that are not special are found in every text, and divide nothing.

    Args:
        tokenizer: A tokenizer; its dropout is left aside.
        ids: uint32 [tokens], all of them in its vocabulary.
    """
    tokenizer = tokenizer.with_dropout(0)
    runs = list(_runs(tokenizer, ids))
    reason, found = "", None
    for start, run in runs:
        if not _is_utf8(b"".join(tokenizer.tokens[token] or b"" for token in run)):
            reason = _NOT_UTF8
            continue
        text = tokenizer.decode_bytes(run)
        again: list[int] = (yield from tokenizer.encode_work(text)).tolist()
        if again == run:
            continue
        if tokenizer.decode_bytes(again) == text:
            found = Canonical("not canonical", "", *_first_difference(tokenizer, start, run, again))
            break
        reason = _CHANGED
    encodings = yield from _encodings_work(tokenizer, [run for _, run in runs])
    if found is not None:
        return Canonical(found.verdict, "", found.first, found.given, found.expected, encodings)
    return Canonical("undecided" if reason else "canonical", reason, encodings=encodings)


def _runs(tokenizer: Tokenizer, ids: NDArray[np.uint32]) -> Iterator[tuple[int, list[int]]]:
    """The runs of ordinary tokens, each with the place where it begins."""
    special = [*_special(tokenizer)]
    begin = 0
    for stop in [*np.flatnonzero(np.isin(ids, special)).tolist(), len(ids)]:
        if stop > begin:
            yield begin, ids[begin:stop].tolist()
        begin = stop + 1


def _special(tokenizer: Tokenizer) -> frozenset[int]:
    """The ids that no text becomes by itself; added tokens that are not special are ordinary ones."""
    ordinary = tokenizer.preparation.ordinary
    return frozenset(token for text, token in tokenizer.special_tokens.items() if text not in ordinary)


def _first_difference(
    tokenizer: Tokenizer, start: int, run: Sequence[int], again: Sequence[int]
) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """The place of the first id that differs, and both sequences from there to where they meet again."""
    at = next(
        (i for i, (one, other) in enumerate(zip(run, again, strict=False)) if one != other), min(len(run), len(again))
    )
    ends = [np.cumsum([len(tokenizer.tokens[token] or b"") for token in each[at:]]).tolist() for each in (run, again)]
    meeting = min(set(ends[0]) & set(ends[1]), default=None)
    sizes = [len(each) if meeting is None else each.index(meeting) + 1 for each in ends]
    return start + at, tuple(run[at : at + sizes[0]]), tuple(again[at : at + sizes[1]])


def _encodings_work(tokenizer: Tokenizer, runs: Sequence[list[int]]) -> Work[int | None]:
    """How many sequences of ordinary tokens have the bytes of these, run by run."""
    texts = [b"".join(tokenizer.tokens[token] or b"" for token in run) for run in runs]
    if tokenizer.model not in _PIECES or sum(map(len, texts)) > MOST_COUNTED:
        return None
    whole = b"\0".join(texts)  # a token across two texts is looked for in vain below
    specials = _special(tokenizer)
    times = Counter[bytes]()  # how many ids have these bytes
    ids: list[int] = tokenizer.tokens.ids().tolist()
    for number, token in enumerate(ids):
        spelled = tokenizer.tokens[token]
        if spelled and token not in specials and spelled in whole:
            times[spelled] += 1
        if number % _STEP == 0:
            yield Progress("counting encodings", number, len(ids))
    lengths = sorted({len(token) for token in times})
    numbers: list[int] = []
    for text in texts:
        ways = [1]  # by the bytes before
        for end in range(1, len(text) + 1):
            here = [length for length in lengths if length <= end]
            ways.append(sum(ways[end - length] * times[text[end - length : end]] for length in here))
            if end % _STEP == 0:
                yield Progress("counting encodings", end, len(text))
        numbers.append(ways[-1])
    return prod(numbers)


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


# --- In words ---------------------------------------------------------------------------------------------------------


def canonical_text(tokenizer: Tokenizer, found: Canonical) -> str:
    """What was found, with the first difference and the number of encodings: one or two sentences."""
    if found.first is not None:
        given, expected = (_pieces(tokenizer, ids) for ids in (found.given, found.expected))
        said = f"Not canonical: at id {found.first + 1:,} encoding gives {expected} instead of {given}."
    elif found.reason:
        said = f"Undecided: {found.reason}."
    else:
        said = "Canonical: encoding gives these ids."
    return said if found.encodings is None else f"{said} The text has {_number(found.encodings)}."


def _pieces(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """Ids with the texts of their tokens."""
    texts = [(tokenizer.tokens[token] or b"").decode("utf-8", "backslashreplace") for token in ids[:_MOST_SHOWN]]
    more = " …" * (len(ids) > _MOST_SHOWN)
    return f"{' '.join(map(str, ids[:_MOST_SHOWN]))}{more} ({shown('|'.join(texts))})" if ids else "nothing"


def _number(encodings: int) -> str:
    """The number of encodings; of very many, the power of ten."""
    if encodings < _MOST_WRITTEN:
        return several(encodings, "encoding")
    exponent = int(log10(encodings))
    return f"about {10 ** (log10(encodings) - exponent):.1f} × 10^{exponent:,} encodings"
