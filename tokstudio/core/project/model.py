"""The values of a project: the window's state, sources, runs, and opened tokenizers."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Literal

from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.corpus import ONCE
from tokstudio.core.corpus.leaving_out import LeavingOut
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.source import Source
from tokstudio.core.hub.kept_texts import TextOrigin
from tokstudio.core.model.run import Run
from tokstudio.core.project.schema import Json

#: The state of a project that has the text of an experiment file.
EXPERIMENT = "experiment"
#: The state of a run or tokenizer that has the hashes of the texts that it was trained on.
TRAINED_ON = "trained_on"
_MOST_TRAINED_ON = 100_000  # hashes
#: The state of a run that has the name, the weight and the bytes of each text of its mixture.
MIXTURE = "mixture"
_MOST_MIXED = 10_000  # texts


@dataclass(frozen=True, eq=False)
class ProjectSource:
    """A source in a project: the path of its file, or its text; see also `Source`."""

    name: str  # the file's name, "Pasted text", or the title of a sample
    path: Path | None  # the file; None where there is none
    encoding: str
    note: str  # a short remark for the user; mostly empty
    bytes: int  # those of its text, perhaps fewer than in the file where a run was trained on the beginning only
    documents: Literal["file", "line"] | None  # how the file's text is divided; None where it is in the project
    size_on_disk: int | None  # the file's size when it was read
    modified: float | None  # the file's modification time then, in seconds since the epoch
    sha256: str  # the hexadecimal SHA-256 of the text, in UTF-8, as it was read
    text: Source | None = None  # the source itself where its text is in the project; None where its file is read again
    in_corpus: bool = True  # whether it is part of the corpus; other sources are those of earlier runs
    weight: int = ONCE  # how much it counts in the corpus, in thousandths
    reading: Reading | None = None
    member: str = ""
    value: str | None = None
    group: str = ""
    is_rows: bool = False
    origin: TextOrigin | None = None


@dataclass(frozen=True, eq=False)
class ProjectRun:
    """A run that was trained in TokStudio."""

    name: str
    run: Run
    sources: tuple[int, ...] = ()  # indexes of its sources in the project, in order
    state: Mapping[str, Json] = field(default_factory=dict[str, Json])  # further state of the window for it


@dataclass(frozen=True)
class TokenizerFile:
    """A file of an opened tokenizer: its name without the folder, and its content."""

    name: str
    content: bytes


@dataclass(frozen=True, eq=False)
class ProjectTokenizer:
    """A tokenizer that was opened from files."""

    name: str
    files: tuple[TokenizerFile, ...]  # its files; the first is the one to open
    pattern: str | None = None  # the pattern that was given when it was opened, if any
    state: Mapping[str, Json] = field(default_factory=dict[str, Json])  # further state of the window for it

    @property
    def trained_on(self) -> tuple[str, ...]:
        """The hashes of the texts that it was trained on, as `Corpus.counted_hashes`, where the window knew them."""
        return trained_on(self.state)


def trained_on_state(texts: Sequence[str]) -> dict[str, Json]:
    """The state that has these hashes; none where they are too many to be kept."""
    return {TRAINED_ON: list(texts)} if 0 < len(texts) <= _MOST_TRAINED_ON else {}


def trained_on(state: Mapping[str, Json]) -> tuple[str, ...]:
    """The hashes that a state of a run or tokenizer has."""
    hashes = state.get(TRAINED_ON)
    return tuple(each for each in hashes if isinstance(each, str)) if isinstance(hashes, list) else ()


def mixture_state(mixture: Sequence[tuple[str, int, int]]) -> dict[str, Json]:
    """The state that has a mixture; none where it has too many texts to be kept."""
    return {MIXTURE: [list(entry) for entry in mixture]} if 0 < len(mixture) <= _MOST_MIXED else {}


def mixture_in(state: Mapping[str, Json]) -> tuple[tuple[str, int, int], ...]:
    """The mixture that a state of a run has: name, weight in thousandths, and bytes of text."""
    shares = state.get(MIXTURE)
    mixture: list[tuple[str, int, int]] = []
    for entry in shares if isinstance(shares, list) else ():
        match entry:
            case [str(name), int(weight), int(size)] if min(weight, size) >= 0:
                mixture.append((name, weight, size))
            case _:
                return ()
    return tuple(mixture)


@dataclass(frozen=True, eq=False)
class Project:
    """The whole content of the window."""

    sources: tuple[ProjectSource, ...] = ()  # the corpus in its order, together with further sources of runs
    # The list of runs in the window's order, including opened tokenizers.
    runs: tuple[ProjectRun | ProjectTokenizer, ...] = ()
    active: int | None = None  # index of the active run; None where there is none
    # The rest, by names that the window chooses: text, playhead, settings, layout; and `EXPERIMENT`.
    state: Mapping[str, Json] = field(default_factory=dict[str, Json])
    # What is left out of the corpus, as `Corpus.leaving_out`; its sources are those in the corpus.
    leaving_out: tuple[LeavingOut, ...] = ()
