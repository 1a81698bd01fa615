"""The proof of an export: TokStudio and the library of the format must give equal ids for a hard text and a sample."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import several, shown
from tokstudio.core.libraries.client import torture_text

if TYPE_CHECKING:
    from tokstudio.core.libraries.client import LibraryInput, Trial
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

# Characters of the sample to encode at once: a library holds the interpreter's lock meanwhile.
_SAMPLE_PIECE = 1 << 14
_SHOWN_IDS = 4

Ids = list[NDArray[np.uint32]]  # of several texts


@dataclass(frozen=True)
class Trials:
    """Texts for a library to encode, and TokStudio's ids of each."""

    texts: list[Trial]
    ours: Ids


def prove_work(tokenizer: Tokenizer, file: LibraryInput, trials: Trials, in_child: bool = False) -> Work[str]:
    """Lets a library read the file and encode the trials; its ids must be those of the exported tokenizer.

    With `in_child`, a child process is asked even if the file is small.

    Returns:
        The proof, such as "identical over 1,234 tokens".

    Raises:
        FormatError: The library refuses the file, or its ids differ; the message has the first difference.
    """
    from tokstudio.core.libraries.client import library_ids

    theirs = yield from library_ids(file, trials.texts, in_child)
    return (yield from compare_work(tokenizer, file.name, f"read back by {file.title}", trials.ours, theirs))


def compare_work(tokenizer: Tokenizer, name: str, how: str, ours: Ids, theirs: Ids) -> Work[str]:
    """Proves that the ids of each text are equal: `ours`, of the tokenizer, and `theirs`.

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
    return f"identical over {several(total, 'token')}"


def trials_work(tokenizer: Tokenizer, sample: str, decodes: bool = True) -> Work[Trials]:
    """The texts of `trial_texts` with TokStudio's ids; `decodes` says whether to check the decoded texts as well."""
    from tokstudio.core.libraries.client import Trial

    texts, ours = list[Trial](), Ids()
    alphabet = tokenizer.alphabet
    may_refuse = alphabet.base == "characters" and alphabet.unknown is None
    for text in trial_texts(tokenizer, sample, may_refuse):
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
    return Trials(texts, ours)


def trial_texts(tokenizer: Tokenizer, sample: str, only_known: bool = False) -> Iterator[str]:
    """Yields the hard text, the sample in pieces, and the special tokens side by side and apart.

    With `only_known`, characters that are not base tokens are left out.
    """
    units = tokenizer.alphabet.units
    known = set(map(chr, units.tolist())) if only_known else set[str]()
    for text in (torture_text(), *pieces_of(sample)):
        yield "".join(filter(known.__contains__, text)) if only_known else text
    between = chr(int(units[0])) if only_known and len(units) else " a\n"
    group: list[str] = []
    for token in tokenizer.special_tokens:
        group.append(token)
        if sum(map(len, group)) > _SAMPLE_PIECE:
            yield from ("".join(group), between.join(group))
            group.clear()
    yield from ("".join(group), between.join(group))


def varied(tokenizer: Tokenizer, **given: Any) -> Tokenizer:  # noqa: ANN401
    """The same tokens and merges, with the given arguments of `Tokenizer` as a format holds them; others stay."""
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

    parts = ("merges", "merge_results", "alphabet", "special_tokens", "pattern", "extra_tokens", "whole_words")
    same = {part: getattr(tokenizer, part) for part in parts}
    return Tokenizer(**same | given, checked=True)


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
