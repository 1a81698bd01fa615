"""The content of tiktoken's three files, and the differences between tiktoken's merging and TokStudio's."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.formats.common.format import GIGABYTE, measure_work
from tokstudio.core.formats.common.json_reader import shown
from tokstudio.core.formats.common.recover_merges import recover_merges_work
from tokstudio.core.pretokenization.patterns import REGEX
from tokstudio.core.tokenizer.self_encoding import pieces_work

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

EVERYTHING = r"[\s\S]+"  # "none" as a regular expression
IS_EMPTY = "is the empty token: no text becomes it, and it is decoded to nothing."  # the end of a remark
SIDECAR_BEGINNING = b'{\n  "pattern": '
LOADER_BEGINNING = b'"""The tokenizer beside this file for tiktoken, written by TokStudio."""\n'

_LOADER = """\
import base64
import json
from pathlib import Path

import tiktoken

ranks = {ranks}
settings = json.loads(ranks.with_suffix(".json").read_text(encoding="utf-8"))
lines = (line.split() for line in ranks.read_bytes().splitlines())
encoding = tiktoken.Encoding(
    ranks.stem,
    pat_str=settings["pattern"],
    mergeable_ranks={{base64.b64decode(token): int(rank) for token, rank in lines}},
    special_tokens=settings["special_tokens"],
)
"""
_USE = 'ids = encoding.encode("Hello world", allowed_special="all")\n'
_PIECE = 3 << 12
_ENOUGH = 1 << 20  # bytes of tokens between two reports
_TOKEN = 64  # bytes that a token takes besides its own


def written_regex(pattern: str) -> str:
    """A pattern as a regular expression for tiktoken."""
    return EVERYTHING if pattern == "none" else REGEX.get(pattern, pattern)


def ranks(tokenizer: Tokenizer) -> Iterator[bytes]:
    """`NAME.tiktoken`: each token except special ones in base64, with its id as the rank."""
    specials = frozenset(tokenizer.special_tokens.values())
    waiting = bytearray()
    for token, made in enumerate(tokenizer.tokens):
        if made is None or token in specials:
            continue
        # A piece of so many bytes needs no padding in base64.
        for start in range(0, len(made), _PIECE):
            waiting += base64.b64encode(made[start : start + _PIECE])
            if len(waiting) > _PIECE:
                yield bytes(waiting)
                waiting.clear()
        waiting += b" %d\n" % token if made else b"= %d\n" % token
    yield bytes(waiting)


def sidecar(tokenizer: Tokenizer) -> bytes:
    """`NAME.json`: the settings that the ranks lack."""
    known = {
        "pattern": written_regex(tokenizer.pattern),
        "special_tokens": dict(tokenizer.special_tokens),
        "version": 1,
    }
    return json.dumps(known, indent=2, ensure_ascii=False).encode() + b"\n"


def loader() -> bytes:
    """`NAME_tiktoken.py`, which makes a `tiktoken.Encoding` of both other files, whatever their name."""
    path = 'Path(__file__.removesuffix("_tiktoken.py") + ".tiktoken")'
    return LOADER_BEGINNING + b"\n" + _LOADER.format(ranks=path).encode()


def snippet(path: Path) -> str:
    """The same Python code to paste, for ranks at a path."""
    return _LOADER.format(ranks=f"Path({str(path.absolute())!r})") + _USE


def in_rank_order(tokenizer: Tokenizer) -> Tokenizer:
    """The same merges with ascending ids; only ids of merges change."""
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

    new_id = rank_ids(tokenizer)
    if new_id is None:
        return tokenizer
    return Tokenizer(
        new_id[tokenizer.merges],
        new_id[tokenizer.merge_results],
        alphabet=tokenizer.alphabet,
        special_tokens=tokenizer.special_tokens,
        pattern=tokenizer.pattern,
        extra_tokens=tokenizer.extra_tokens,
        whole_words=[int(new_id[token]) for token in tokenizer.whole_words if token < len(new_id)],
        checked=True,
    )


def rank_ids(tokenizer: Tokenizer) -> NDArray[np.int32] | None:
    """See `Format.new_ids`."""
    results = tokenizer.merge_results
    ascending = np.sort(results)
    if np.array_equal(results, ascending):
        return None
    new_id = np.arange(len(tokenizer.tokens), dtype=np.int32)
    new_id[results] = ascending
    return new_id


def id_losses(tokenizer: Tokenizer) -> tuple[str, ...]:
    """A sentence on changed ids with the first one; mostly none."""
    results = tokenizer.merge_results
    moved = np.flatnonzero(results != np.sort(results))
    if len(moved) == 0:
        return ()
    was, becomes = int(results[moved[0]]), int(np.sort(results)[moved[0]])
    return (
        f"The ids change: tiktoken merges in the order of ids, so {len(moved):,} merges make a different id, "
        f"the first of them {becomes} instead of {was}.",
    )


def unclear_specials(specials: Mapping[str, int]) -> tuple[str, ...]:
    """Special tokens that another one begins with, and those others: tiktoken may recognise either."""
    unclear: dict[str, None] = {}
    for token, following in pairwise(sorted(specials)):
        if following.startswith(token):
            unclear |= {token: None, following: None}
    return tuple(unclear)


def special_losses(tokenizer: Tokenizer) -> tuple[str, ...]:
    """A sentence on special tokens that tiktoken may recognise differently; mostly none."""
    unclear = unclear_specials(tokenizer.special_tokens)
    if not unclear:
        return ()
    return (
        f"The special token {shown(unclear[1])} begins with {shown(unclear[0])}, and tiktoken may find the shorter one "
        "where TokStudio finds the longer.",
    )


def merging_losses_work(tokenizer: Tokenizer) -> Work[tuple[str, ...]]:
    """Sentences on merging that differs in tiktoken; mostly none.

    tiktoken has no merges: it joins any two tokens that make a token, and takes any pre-token whole that is a token.
    """
    # A trained tokenizer merges alike; a file that is too large is refused anyway.
    if tokenizer.run is not None or (yield from measure_work(tokenizer)) > GIGABYTE:
        return ()
    ordered = in_rank_order(tokenizer)
    specials = np.array([*ordered.special_tokens.values()], np.int64)
    ids = np.setdiff1d(np.flatnonzero(ordered.tokens.lengths() > 0), specials)
    parts = yield from recover_merges_work((yield from _tokens_work(ordered, ids)))
    theirs = np.where(parts < 0, -1, ids[parts])
    ours = np.full(theirs.shape, -1, np.int64)
    ours[np.searchsorted(ids, ordered.merge_results)] = ordered.merges
    is_whole = np.isin(ids, np.fromiter(ordered.whole_words, np.int64, len(ordered.whole_words)))
    is_reached = theirs[:, 0] >= 0
    differs = np.any(theirs != ours, axis=1) & (is_reached | ~is_whole)
    unmade = np.flatnonzero(~is_reached)
    tokens = [ordered.tokens[token] or b"" for token in map(int, ids[unmade])]
    # They consist of two tokens with higher ranks, which no merge joins.
    joined = (yield from pieces_work(ordered, tokens)) == 2
    is_joined = np.isin(np.arange(len(ids)), unmade[joined])
    is_extra = np.isin(ids, np.fromiter(ordered.extra_tokens, np.int64, len(ordered.extra_tokens)))
    only_whole = ~is_reached & ~is_whole & (is_extra | differs)
    return tuple(
        sentence.format(count=np.count_nonzero(chosen), token=_first_of(ordered, ids[chosen]))
        for sentence, chosen in ((_MADE_OTHERWISE, (differs & is_reached) | is_joined), (_TAKEN_WHOLE, only_whole))
        if np.any(chosen)
    )


def _tokens_work(tokenizer: Tokenizer, ids: NDArray[np.int64]) -> Work[list[bytes]]:
    made: list[bytes] = []
    size = 0
    for token in map(int, ids):
        made.append(tokenizer.tokens[token] or b"")
        size += len(made[-1]) + _TOKEN
        if size > _ENOUGH:
            size = 0
            yield Progress("measuring", len(made), len(ids))
    return made


_MADE_OTHERWISE = (
    "tiktoken joins any two tokens that make a token, even if no merge here does ({count:,}, such as {token}): "
    "some ids will differ."
)
_TAKEN_WHOLE = (
    "tiktoken takes a pre-token that is a token whole, even if merging never makes it ({count:,}, such as {token}): "
    "some ids will differ."
)


def _first_of(tokenizer: Tokenizer, ids: NDArray[np.int64]) -> str:
    if len(ids) == 0:
        return ""
    return shown(tokenizer.tokens.prefix(int(ids[0]), 200).decode("utf-8", "backslashreplace"))
