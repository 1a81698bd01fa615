"""The content of tiktoken's three files, their proof, and the differences between its merging and TokStudio's."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.format import GIGABYTE, Fit, bytes_of_tokens, cut
from tokstudio.core.formats.common.proof import pieces_of, prove_work, trials_work, varied
from tokstudio.core.formats.common.recover_merges import recover_merges_work
from tokstudio.core.formats.common.spelling import spelled_alike_work
from tokstudio.core.pretokenization.patterns import NAMES, REGEX

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.tokenizer.tokenizer import Tokenizer

EVERYTHING = r"[\s\S]+"  # "none" as a regular expression
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
_INSTALL = "# pip install tiktoken\n"
_USE = 'ids = encoding.encode("Hello world", allowed_special="all")\nprint(ids)\n'
_EMPTY = b"="  # the empty token, of which base64 has nothing to write
_ENOUGH = 1 << 20  # bytes of tokens between two reports
_TOKEN = 64  # bytes that a token takes besides its own


def written_regex(pattern: str) -> str:
    """A pattern as a regular expression for tiktoken."""
    return EVERYTHING if pattern == "none" else REGEX.get(pattern, pattern)


def ranks(tokenizer: Tokenizer) -> Iterator[bytes]:
    """`NAME.tiktoken`: each token except special ones in base64, with its id as the rank."""
    specials = frozenset(tokenizer.special_tokens.values())
    for token, token_bytes in enumerate(tokenizer.tokens):
        if token_bytes is not None and token not in specials:
            yield from map(base64.b64encode, cut(token_bytes)) if token_bytes else [_EMPTY]
            yield b" %d\n" % token


def lines(rank_of: Mapping[bytes, int]) -> bytes:
    """The same lines for tokens with their ranks, in their order."""
    return b"".join((base64.b64encode(token) or _EMPTY) + b" %d\n" % rank for token, rank in rank_of.items())


def sidecar(tokenizer: Tokenizer) -> bytes:
    """`NAME.json`: the settings that the ranks lack."""
    specials = dict(tokenizer.special_tokens)
    content = {"pattern": written_regex(tokenizer.pattern), "special_tokens": specials, "version": 1}
    return json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n"


def loader() -> bytes:
    """`NAME_tiktoken.py`, which makes a `tiktoken.Encoding` of both other files, whatever their name."""
    path = 'Path(__file__.removesuffix("_tiktoken.py") + ".tiktoken")'
    return LOADER_BEGINNING + b"\n" + _LOADER.format(ranks=path).encode()


def snippet(path: Path) -> str:
    """The same Python code to paste, for ranks at a path."""
    return _INSTALL + _LOADER.format(ranks=f"Path({str(path.absolute())!r})") + _USE


def in_rank_order(tokenizer: Tokenizer) -> Tokenizer:
    """The same merges with ascending ids, and text as it is; only ids of merges change."""
    new_id = rank_ids(tokenizer)
    if new_id is None:
        return tokenizer if tokenizer.preparation.is_plain else varied(tokenizer)
    whole_words = [int(new_id[token]) for token in tokenizer.whole_words if token < len(new_id)]
    merges, results = new_id[tokenizer.merges], new_id[tokenizer.merge_results]
    return varied(tokenizer, merges=merges, merge_results=results, whole_words=whole_words)


def rank_ids(tokenizer: Tokenizer) -> NDArray[np.int32] | None:
    """See `Format.new_ids`."""
    results = tokenizer.merge_results
    ascending = np.sort(results)
    if np.array_equal(results, ascending):
        return None
    new_id = np.arange(len(tokenizer.tokens), dtype=np.int32)
    new_id[results] = ascending
    return new_id


def losses(tokenizer: Tokenizer) -> Iterator[str]:
    """Sentences on changed ids, and on special tokens that tiktoken may recognise differently; mostly none."""
    results, ascending = tokenizer.merge_results, np.sort(tokenizer.merge_results)
    moved = np.flatnonzero(results != ascending)
    if len(moved):
        yield (
            f"The ids change: tiktoken merges in the order of ids, so {len(moved):,} merges make a different id, "
            f"the first of them {ascending[moved[0]]} instead of {results[moved[0]]}."
        )
    if unclear := unclear_specials(tokenizer.special_tokens):
        yield (
            f"The special token {shown(unclear[1])} begins with {shown(unclear[0])}, and tiktoken may find the shorter "
            "one where TokStudio finds the longer."
        )


def unclear_specials(specials: Mapping[str, int]) -> tuple[str, ...]:
    """Special tokens that another one begins with, and those others: tiktoken may recognise either."""
    unclear: dict[str, None] = {}
    for token, following in pairwise(sorted(specials)):
        if following.startswith(token):
            unclear |= {token: None, following: None}
    return tuple(unclear)


def fit_of_ranks_work(tokenizer: Tokenizer) -> Work[Fit]:
    """Whether ranks can hold the tokens, which are their bytes there, and what merging by ranks makes otherwise."""
    alike = yield from spelled_alike_work(tokenizer, specials_too=False)
    return Fit(alike, () if alike else (yield from _merging_losses_work(tokenizer)), ())


def _merging_losses_work(tokenizer: Tokenizer) -> Work[tuple[str, ...]]:
    """Sentences on merging that differs in tiktoken; mostly none.

    tiktoken has no merges: it joins any two tokens that make a token, and takes any pre-token whole that is a token.
    """
    # A trained tokenizer merges alike; a file that is too large is refused anyway.
    if tokenizer.run is not None or bytes_of_tokens(tokenizer) > GIGABYTE:
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
    is_extra = np.isin(ids, np.fromiter(ordered.extra_tokens, np.int64, len(ordered.extra_tokens)))
    only_whole = ~is_reached & ~is_whole & (is_extra | differs)
    return tuple(
        sentence.format(count=np.count_nonzero(chosen), token=_first_of(ordered, ids[chosen]))
        for sentence, chosen in ((_MADE_OTHERWISE, differs & is_reached), (_TAKEN_WHOLE, only_whole))
        if np.any(chosen)
    )


def _tokens_work(tokenizer: Tokenizer, ids: NDArray[np.int64]) -> Work[list[bytes]]:
    tokens: list[bytes] = []
    size = 0
    for token in map(int, ids):
        tokens.append(tokenizer.tokens[token] or b"")
        size += len(tokens[-1]) + _TOKEN
        if size > _ENOUGH:
            size = 0
            yield Progress("measuring", len(tokens), len(ids))
    return tokens


_MADE_OTHERWISE = (
    "tiktoken joins any two tokens that make a token, even if no merge here does ({count:,}, such as {token}): "
    "some ids will differ."
)
_TAKEN_WHOLE = (
    "tiktoken takes a pre-token that is a token whole, even if merging never makes it ({count:,}, such as {token}): "
    "some ids will differ."
)


def _first_of(tokenizer: Tokenizer, ids: NDArray[np.int64]) -> str:
    return shown(tokenizer.tokens.prefix(int(ids[0]), 200).decode("utf-8", "backslashreplace"))


def prove_ranks_work(
    tokenizer: Tokenizer, back: Tokenizer, ranks_file: Path, sidecar_file: Path, name: str, sample: str
) -> Work[str]:
    """Lets tiktoken, or TokStudio alone where that is not installed, read the files and encode; ids must be equal.

    `back` is the tokenizer as TokStudio has read it back.

    Raises:
        FormatError: The ids or the tokenizers differ; the message begins with `name`.
    """
    from tokstudio.core.libraries.client import LibraryInput, check_split_work, is_installed

    expected = in_rank_order(tokenizer)
    agrees = _is_same(back, expected)
    if not agrees and (yield from _merging_losses_work(tokenizer)):
        # The losses were accepted: the files are compared with what TokStudio reads in them.
        expected, agrees = back, True
    if is_installed("tiktoken"):
        settings: dict[str, Any] = json.loads(sidecar_file.read_bytes())
        if expected.pattern not in NAMES:
            # Where few pre-tokens have merges, equal ids would prove little.
            regex = settings["pattern"]
            yield from check_split_work(name, expected.pattern, regex, pieces_of(sample), "tiktoken")
        unclear = unclear_specials(expected.special_tokens)
        clear = {token: number for token, number in settings["special_tokens"].items() if token not in unclear}
        ours = {token: number for token, number in expected.special_tokens.items() if token not in unclear}
        tried = expected if not unclear or expected.library else varied(expected, special_tokens=ours)
        trials = yield from trials_work(tried, sample)
        file = LibraryInput("tiktoken", ranks_file, name, settings | {"special_tokens": clear})
        proof = yield from prove_work(tried, file, trials)
    else:
        proof = "identical by TokStudio alone: the tiktoken library is not installed"
    if not agrees:
        raise FormatError(f"{name}: when read back, its merges or its special tokens differ from those written.")
    return proof


def _is_same(back: Tokenizer, expected: Tokenizer) -> bool:
    """Whether what was read has the same tokens, and no additional merge or whole word.

    A merge that no text uses is not recovered, and its token becomes a whole word, with or without parts of its own.
    """
    if not np.array_equal(back.tokens.ids(), expected.tokens.ids()):
        return False
    parts = np.full((len(expected.tokens), 2), -1, np.int32)
    parts[expected.merge_results] = expected.merges
    is_used = ~np.isin(back.merge_results, [*back.whole_words])
    return (
        back.special_tokens == expected.special_tokens
        and np.array_equal(back.byte_ids, expected.byte_ids)
        and np.array_equal(parts[back.merge_results[is_used]], back.merges[is_used])
        and all(expected.tokens[number] == token for number, token in back.extra_tokens.items())
        and back.whole_words <= expected.whole_words
    )
