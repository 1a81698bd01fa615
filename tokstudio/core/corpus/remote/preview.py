"""Shows what is at an address before anything large is read: configurations, columns, the first rows."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field

from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass, from_values
from tokstudio.core.corpus.readers.contents import Contents
from tokstudio.core.hub.addresses import Address
from tokstudio.core.hub.fetching_texts import ShownText, ShowText, ask_work


@dataclass(frozen=True)
class TextPreview:
    """What is at an address, before anything large is read."""

    address: str  # with the commit
    # Of a data set of the Hub: the names of each one's splits, by its name.
    configurations: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    license: str = ""  # of it; "" where it is not said
    gated: bool = False  # whether its owner asks for consent
    files: int = 0  # how many files are read; 0 where a configuration must be chosen first
    size: int = 0  # their bytes
    contents: Contents | None = None  # the columns with the first rows; None as above
    notes: tuple[str, ...] = ()  # what is to be said


def preview_work(address: Address) -> Work[TextPreview]:
    """Looks at what is at an address; errors are those of `fetch_work`."""
    shown = yield from ask_work(address, ShowText(address.given), ShownText)
    try:
        return from_values(TextPreview, json.loads(shown.facts))
    except ValueError as error:
        raise CorpusError(f"{address}: the process that looks at it gave no answer; try again.") from error
