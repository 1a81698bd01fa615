"""The part of the report about one tokenizer: settings, files, and tokens of special interest."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.analysis.baselines import WordTokenizer
from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.wording import several, shown
from tokstudio.core.comparison.figures import Compared
from tokstudio.core.comparison.report.facts import ReadFrom, TokenFacts
from tokstudio.core.comparison.report.markup import Markup, joined, name_of, tag
from tokstudio.core.formats.report import described
from tokstudio.core.tokenizer.tokenizer import Tokenizer

_LISTED = 60  # tokens of each group
_LONGEST = 32  # characters of a token


def tokenizer_section(compared: Compared, facts: TokenFacts | None, origin: ReadFrom | None) -> Markup:
    """All about one tokenizer."""
    parts = [tag("h2", "Tokenizer ", name_of(compared.name))]
    tokenizer = compared.tokenizer
    if not isinstance(tokenizer, Tokenizer):
        pattern = f" Pattern: {tokenizer.pattern}." if isinstance(tokenizer, WordTokenizer) else ""
        return tag("section", *parts, tag("p", f"A simple tokenizer: {tokenizer.title.lower()}.{pattern}"))
    parts += [tag("p", line) for line in _settings(tokenizer)]
    if facts is not None:
        parts.append(tag("p", f"SHA-256 of the tokenizer, of all that decides its ids: {facts.sha256}"))
    if origin is not None:
        parts.append(tag("p", f"Format: {origin.format}."))
        parts += [
            tag("p", f"{file_name(file.path)}: {several(file.size, 'byte')}, SHA-256 {file.sha256}")
            for file in origin.files
        ]
    return tag("section", *parts, *(() if facts is None else _groups(tokenizer, facts)))


def _settings(tokenizer: Tokenizer) -> Iterator[str]:
    yield from described(tokenizer)
    if tokenizer.library is not None:
        yield f"Encoded by {tokenizer.library}: {tokenizer.no_playhead}."
    yield from tokenizer.remarks


def _groups(tokenizer: Tokenizer, facts: TokenFacts) -> Iterator[Markup]:
    """Tokens that no text becomes, that these texts do not use, and that cut characters."""
    count = sum(len(ids) for ids in facts.unreachable.values())
    yield tag("h3", f"Unreachable tokens: {count:,}")
    if count:
        yield tag("p", "No text becomes them (Land and Bartolo 2024, arXiv:2405.05417).", class_="muted")
    for reason, ids in facts.unreachable.items():
        yield tag("h4", f"{reason}: {len(ids):,}")
        yield _listed(tokenizer, ids)
    yield tag("h3", f"Unused tokens: {len(facts.unused):,}")
    yield tag("p", "They occur in none of the texts; a longer text uses more.", class_="muted")
    yield _listed(tokenizer, facts.unused)
    used = int(np.count_nonzero(facts.uses[facts.cut]))
    yield tag("h3", f"Tokens that cut characters: {len(facts.cut):,}, of which {used:,} occur")
    told = "They are not UTF-8 by themselves. Those that occur are listed with their uses, the most frequent first."
    if used:
        yield tag("p", told, class_="muted")
        yield _listed(tokenizer, facts.cut[:used], facts.uses)


def _listed(tokenizer: Tokenizer, ids: NDArray[np.int64], uses: NDArray[np.int64] | None = None) -> Markup:
    """The first of some tokens, with their ids or their uses."""
    numbers: Sequence[int] = ids[:_LISTED].tolist()
    items = [
        tag(
            "li",
            # From left to right, so that the escapes in it stand in their order.
            name_of(_spelled(tokenizer, token), dir="ltr"),
            tag("small", f"{token}" if uses is None else f"{token}: {several(int(uses[token]), 'use')}"),
        )
        for token in numbers
    ]
    more = len(ids) - len(numbers)
    return joined(
        tag("ul", *items, class_="tokens") if items else "",
        tag("p", f"and {more:,} more", class_="muted") if more else "",
    )


def _spelled(tokenizer: Tokenizer, token: int) -> str:
    r"""A token in quotes, its bytes that are no character as `\xe2`."""
    return shown(tokenizer.tokens.prefix(token, 4 * _LONGEST).decode("utf-8", "backslashreplace"), _LONGEST)
