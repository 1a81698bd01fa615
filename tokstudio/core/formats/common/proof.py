"""The proof of an export: TokStudio and the library of the format must give equal ids for a hard text and a sample."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.formats.common.format import Format
    from tokstudio.core.libraries.client import LibraryInput, Trial
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

# Characters of the sample to encode at once: a library holds the interpreter's lock meanwhile.
_SAMPLE_PIECE = 1 << 14
_SHOWN_IDS = 4
#: The beginning of what stands in place of a proof where the library is not there.
NOT_PROVED = "written, not proved"

Ids = list["NDArray[np.uint32]"]  # of several texts


@dataclass(frozen=True)
class Trials:
    """Texts for a library to encode, and TokStudio's ids of each."""

    texts: list[Trial]
    ours: Ids
    named: str  # what the texts are, as the proof says it


def prove_work(tokenizer: Tokenizer, file: LibraryInput, trials: Trials, in_child: bool = False) -> Work[str]:
    """Lets a library read the file and encode the trials; its ids must be those of the exported tokenizer.

    With `in_child`, a child process is asked even if the file is small.

    Returns:
        The proof, such as "identical on the test text and a sample of your text (1,234 tokens)".

    Raises:
        FormatError: The library refuses the file, or its ids differ; the message has the first difference.
    """
    from tokstudio.core.libraries.client import library_ids
    from tokstudio.core.libraries.server import TITLES

    theirs = yield from library_ids(file, trials.texts, in_child)
    return (
        yield from compare_work(
            tokenizer, file.name, f"read back by {TITLES[file.library]}", trials.ours, theirs, trials.named
        )
    )


def compare_work(tokenizer: Tokenizer, name: str, how: str, ours: Ids, theirs: Ids, named: str) -> Work[str]:
    """Proves that the ids of each text are equal: `ours`, of the tokenizer, and `theirs`. The texts are `named` so.

    Raises:
        FormatError: They differ; the message begins with `name` and `how` theirs were made, such as "read back by the
            tokenizers library", and has the first difference.
    """
    total = 0
    for ids, their_ids in zip(ours, theirs, strict=True):
        if not np.array_equal(ids, their_ids):
            raise FormatError(f"{name}: {how}, {_first_difference(tokenizer, ids.tolist(), their_ids.tolist())}")
        total += len(ids)
        yield Progress("proving")
    return f"identical on {named} ({several(total, 'token')})"


def named_trials(sample: str) -> str:
    """What `trial_texts` yields, in words: the hard text is built in, the sample is of the corpus or a file."""
    return "the test text and a sample of your text" if sample else "the test text"


def trials_work(tokenizer: Tokenizer, sample: str, decodes: bool = True, without: Collection[str] = ()) -> Work[Trials]:
    """The texts of `trial_texts` with TokStudio's ids.

    `decodes` says whether to check the decoded texts as well; there is a space in place of the texts `without` which
    they are to be.
    """
    from tokstudio.core.libraries.client import Trial

    texts, ours = list[Trial](), Ids()
    alphabet = tokenizer.alphabet
    may_refuse = alphabet.base == "characters" and alphabet.unknown is None
    for text in trial_texts(tokenizer, sample, may_refuse):
        for token in without:
            text = text.replace(token, " ")
        try:
            ids = yield from tokenizer.encode_work(text, "all")
        except ConfigError:
            # Special tokens that overlap may leave characters without an id.
            if may_refuse:
                continue
            raise
        texts.append(Trial(text, tokenizer.decode(ids) if decodes else None))
        ours.append(ids)
        yield Progress("proving")
    return Trials(texts, ours, named_trials(sample))


def trial_texts(tokenizer: Tokenizer, sample: str, only_known: bool = False) -> Iterator[str]:
    """Yields the hard text, the sample in pieces, and the special tokens side by side and apart.

    With `only_known`, characters that are not base tokens are left out.
    """
    from tokstudio.core.libraries.client import torture_text

    units = tokenizer.alphabet.units
    characters = set(map(chr, units.tolist())) if only_known else set[str]()
    for text in (torture_text(), *pieces_of(sample)):
        yield "".join(filter(characters.__contains__, text)) if only_known else text
    between = chr(int(units[0])) if only_known and len(units) else " a\n"
    group: list[str] = []
    for token in tokenizer.special_tokens:
        group.append(token)
        if sum(map(len, group)) > _SAMPLE_PIECE:
            yield from ("".join(group), between.join(group))
            group.clear()
    yield from ("".join(group), between.join(group))


def varied(tokenizer: Tokenizer, **fields: Any) -> Tokenizer:  # noqa: ANN401
    """The same tokens and merges, with the given fields of `TokenizerContent` as a format holds them; others stay."""
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

    content = tokenizer.content.of_merges()
    return Tokenizer.of(replace(content, **{"whole_words": tokenizer.whole_words, **fields}))


def pieces_of(sample: str) -> list[str]:
    """A sample in pieces to encode at once."""
    return [sample[start : start + _SAMPLE_PIECE] for start in range(0, len(sample), _SAMPLE_PIECE)]


def _first_difference(tokenizer: Tokenizer, ours: list[int], theirs: list[int]) -> str:
    pairs = zip(ours, theirs, strict=False)
    at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(ours), len(theirs)))
    near = tokenizer.decode(ours[max(0, at - 3) : at + 3])
    pieces = [_piece(tokenizer, ids[at : at + _SHOWN_IDS]) for ids in (theirs, ours)]
    return f"it differs at token {at + 1:,}, near {shown(near)}: {pieces[0]} instead of {pieces[1]}."


def _piece(tokenizer: Tokenizer, ids: list[int]) -> str:
    """The text of the first id, and the ids; ids of another vocabulary may be unknown."""
    if not ids:
        return "no token"
    token = tokenizer.tokens[ids[0]] if ids[0] < len(tokenizer.tokens) else None
    text = "an unknown token" if token is None else shown(token[:200].decode("utf-8", "backslashreplace"))
    return f"{text} {ids}"


# --- Closes the gaps between the ids of a tokenizer, and describes in words which tokens move -------------------------
# Gaps remain where `Tokenizer.at` leaves merges out, or come from an opened file. They are closed only on request.

_MOST_NAMED = 3
#: The sentence on a table where gaps are to be closed.
KEEPS_IDS = "It keeps the ids as they are, gaps included."


def closed_gaps(tokenizer: Tokenizer) -> tuple[Tokenizer, tuple[str, ...]]:
    """The same tokenizer with ids from 0 on without gaps, and a sentence for each kind of moved tokens.

    Without gaps, where a library encodes, and with Picky BPE, it is the tokenizer itself and no sentence. A sentence is
    such as 'The special token "<|end|>" moves from 1,000 to 568.'
    """
    before = tokenizer.tokens.ids()
    after = np.arange(len(before))
    fixed = tokenizer.library is not None or tokenizer.removals is not None
    if len(before) == len(tokenizer.tokens) or fixed:
        return tokenizer, ()
    compact = tokenizer.compact()
    special = np.isin(before, list(tokenizer.special_tokens.values()))
    moved = before != after
    specials = [
        (f"The special token {shown(text)}", number, compact.special_tokens[text])
        for text, number in sorted(tokenizer.special_tokens.items(), key=lambda item: item[1])
        if number != compact.special_tokens[text]
    ]
    others = zip(before[moved & ~special].tolist(), after[moved & ~special].tolist(), strict=True)
    plain = [("A token", old, new) for old, new in others]
    return compact, (
        *_sentences(specials, "special tokens"),
        *_sentences(plain, "other tokens" if specials else "tokens"),
    )


def _sentences(moves: Sequence[tuple[str, int, int]], several: str) -> list[str]:
    if len(moves) <= _MOST_NAMED:
        return [f"{name} moves from {old:,} to {new:,}." for name, old, new in moves]
    _, old, new = moves[0]
    return [f"{len(moves):,} {several} move, the first from {old:,} to {new:,}."]


def renumbered(original: Tokenizer, tokenizer: Tokenizer, chosen: Format) -> str:
    """A sentence on changed ids, such as "Ids 744-745 became 743-744."; "" where none changed.

    Args:
        original: The tokenizer with the ids shown to the user.
        tokenizer: The written tokenizer: the original, or the same tokens without gaps between their ids.
        chosen: The format, which may change ids.
    """
    before, after = original.tokens.ids(), tokenizer.tokens.ids()
    new_ids = chosen.new_ids(tokenizer)
    return moves(before, after if new_ids is None else new_ids[after])


def moves(before: NDArray[np.integer], after: NDArray[np.integer]) -> str:
    """A sentence on ascending ids that changed, at the same indexes; -1 stands for no new id."""
    moved = (after >= 0) & (before != after)
    old, new = before[moved].astype(np.int64), after[moved].astype(np.int64)
    if len(old) == 0:
        return ""
    starts = np.flatnonzero((np.diff(old, prepend=-2) != 1) | (np.diff(new, prepend=-2) != 1))
    ends = np.append(starts[1:], len(old))
    named = [
        f"{_range(old[start:end])} became {_range(new[start:end])}"
        for start, end in zip(starts[:_MOST_NAMED].tolist(), ends.tolist(), strict=False)
    ]
    more = len(old) - int(ends[: len(named)][-1])
    several = len(old) > 1
    others = f", and {more:,} more changed" if more else ""
    return f"{'Ids' if several else 'Id'} {', '.join(named)}{others}."


def _range(ids: NDArray[np.int64]) -> str:
    first, last = int(ids[0]), int(ids[-1])
    return f"{first:,}" if first == last else f"{first:,}-{last:,}"
