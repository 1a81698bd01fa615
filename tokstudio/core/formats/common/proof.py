"""The proof of an export: hard text and a sample, encoded by us and by whoever owns the format, must give equal ids.

Asking a library is left to `owners`; a format says which texts its files can be tried with.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import several, shown
from tokstudio.core.libraries.torture_text import torture_text

if TYPE_CHECKING:
    from tokstudio.core.libraries.client import OwnedFile, Trial
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

# Characters of the sample that are encoded at once: a library keeps the interpreter to itself meanwhile.
_SAMPLE_PIECE = 1 << 14
_SHOWN_IDS = 4


@dataclass(frozen=True)
class Trials:
    """Texts for someone else to encode, and our ids of each."""

    texts: list[Trial]
    ours: list[NDArray[np.uint32]]


def prove_work(tokenizer: Tokenizer, file: OwnedFile, trials: Trials, elsewhere: bool = False) -> Work[str]:
    """Lets a library read the file and encode the trials; its ids must be ours.

    Args:
        tokenizer: What the file should hold.
        file: The file.
        trials: What to encode.
        elsewhere: Let another process do it even if the file is small.

    Returns:
        The proof, such as "identical over 1,234 tokens".

    Raises:
        FormatError: The library refuses the file, or its ids differ; the message has the first difference.
    """
    from tokstudio.core.libraries.client import library_ids

    theirs = yield from library_ids(file, trials.texts, elsewhere)
    return (yield from compare_work(tokenizer, file.name, f"read back by {file.title}", trials.ours, theirs))


def compare_work(
    tokenizer: Tokenizer,
    name: str,
    how: str,
    ours: Sequence[NDArray[np.uint32]],
    theirs: Sequence[NDArray[np.uint32]],
) -> Work[str]:
    """The proof that all ids are equal.

    Args:
        tokenizer: Whose ids `ours` are.
        name: What a message calls the file.
        how: How `theirs` were made, such as "read back by the tokenizers library".
        ours: uint32 ids of each text.
        theirs: The same of the other.

    Raises:
        FormatError: They differ; the message has the first difference.
    """
    total = 0
    for ids, their_ids in zip(ours, theirs, strict=True):
        if not np.array_equal(ids, their_ids):
            raise FormatError(f"{name}: {how}, {_first_difference(tokenizer, ids.tolist(), their_ids.tolist())}")
        total += len(ids)
        yield Progress("proving")
    return f"identical over {several(total, 'token')}"


def trials_work(tokenizer: Tokenizer, sample: str, specials: bool = True, decodes: bool = True) -> Work[Trials]:
    """Hard text, the sample and, where the files hold them, the special tokens; with our ids.

    Args:
        tokenizer: What is to be proved.
        sample: Some text.
        specials: Whether special tokens in a text are recognised.
        decodes: Whether what the ids decode to is to be looked at.
    """
    from tokstudio.core.libraries.client import Trial

    texts: list[Trial] = []
    ours: list[NDArray[np.uint32]] = []
    alphabet = tokenizer.alphabet
    may_refuse = alphabet.base == "characters" and alphabet.unknown is None
    for text in trial_texts(tokenizer, sample, specials, may_refuse):
        try:
            ids = yield from tokenizer.encode_work(text, "all" if specials else ())
        except ConfigError:
            # Special tokens that begin within another may leave characters that have no id.
            if may_refuse:
                continue
            raise
        texts.append(Trial(text, tokenizer.decode(ids) if decodes else None))
        ours.append(ids)
        yield Progress("proving")
    return Trials(texts, ours)


def trial_texts(tokenizer: Tokenizer, sample: str, specials: bool = True, only_known: bool = False) -> Iterator[str]:
    """Hard text, the sample in pieces, and the special tokens side by side and apart.

    Args:
        tokenizer: Whose special tokens and characters.
        sample: Some text.
        specials: Whether the special tokens are tried.
        only_known: Leave out characters that are no base tokens.
    """
    units = tokenizer.alphabet.units
    known = set(map(chr, units.tolist())) if only_known else set[str]()
    for text in (torture_text(), *pieces_of(sample)):
        yield "".join(filter(known.__contains__, text)) if only_known else text
    if not specials:
        return
    between = chr(int(units[0])) if only_known and len(units) else " a\n"
    group: list[str] = []
    for token in tokenizer.special_tokens:
        group.append(token)
        if sum(map(len, group)) > _SAMPLE_PIECE:
            yield from ("".join(group), between.join(group))
            group.clear()
    yield from ("".join(group), between.join(group))


def varied(
    tokenizer: Tokenizer,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    whole_words: Collection[int] | None = None,
) -> Tokenizer:
    """The same tokens and merges with what a format makes of the rest; what is not given stays."""
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

    return Tokenizer(
        tokenizer.merges,
        tokenizer.merge_results,
        alphabet=tokenizer.alphabet,
        special_tokens=tokenizer.special_tokens if special_tokens is None else special_tokens,
        pattern=tokenizer.pattern if pattern is None else pattern,
        extra_tokens=tokenizer.extra_tokens,
        whole_words=tokenizer.whole_words if whole_words is None else whole_words,
        checked=True,
    )


def pieces_of(sample: str) -> list[str]:
    """A sample in pieces that are encoded at once."""
    return [sample[start : start + _SAMPLE_PIECE] for start in range(0, len(sample), _SAMPLE_PIECE)]


def _first_difference(tokenizer: Tokenizer, ours: list[int], theirs: list[int]) -> str:
    pairs = zip(ours, theirs, strict=False)
    at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(ours), len(theirs)))
    near = tokenizer.decode(ours[max(0, at - 3) : at + 3])
    pieces = [_piece(tokenizer, ids[at : at + _SHOWN_IDS]) for ids in (theirs, ours)]
    return f"it differs at token {at + 1:,}, near {shown(near)}: {pieces[0]} instead of {pieces[1]}."


def _piece(tokenizer: Tokenizer, ids: list[int]) -> str:
    """The first of some ids as text, and the ids; ids of another vocabulary may be unknown to ours."""
    if not ids:
        return "no token"
    token = tokenizer.tokens[ids[0]] if ids[0] < len(tokenizer.tokens) else None
    text = "an unknown token" if token is None else shown(token[:200].decode("utf-8", "backslashreplace"))
    return f"{text} {ids}"
