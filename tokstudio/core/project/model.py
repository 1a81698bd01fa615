"""What a project holds, as values: the window's state, sources, runs, and opened tokenizers.

Writing and reading them is left to `writer` and `reader`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tokstudio.core.corpus.source import Source
from tokstudio.core.model.run import Run
from tokstudio.core.project.json_values import Json


@dataclass(frozen=True, eq=False)
class ProjectSource:
    """A source as a project remembers it: where its file is, or the text itself.

    Attributes:
        name: The file's name, "Pasted text", or the title of a sample.
        path: Where the file is; None where there is none.
        encoding: What it was read as.
        note: A short remark for the person; mostly empty.
        bytes: How many bytes of its text are meant: fewer than the file holds where a run took the beginning only.
        documents: "file" or "line": how the text of the file is divided; None where the text is kept here.
        size_on_disk: The file's size when it was read.
        modified: The file's time of modification then, in seconds since the epoch.
        sha256: The hexadecimal SHA-256 of the text, in UTF-8, as it was read.
        text: The source itself where its text is kept in the project; None where its file is read again.
        in_corpus: Whether it is part of the corpus; others are there because a run was trained on them.
    """

    name: str
    path: Path | None
    encoding: str
    note: str
    bytes: int
    documents: Literal["file", "line"] | None
    size_on_disk: int | None
    modified: float | None
    sha256: str
    text: Source | None = None
    in_corpus: bool = True


@dataclass(frozen=True, eq=False)
class ProjectRun:
    """A run that was trained here.

    Attributes:
        name: What the person calls it.
        run: The run.
        sources: What it was trained on: indexes of the project's sources, in order.
        state: What else the window keeps of it.
    """

    name: str
    run: Run
    sources: tuple[int, ...] = ()
    state: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True)
class TokenizerFile:
    """A file of an opened tokenizer: its name without the folder, and all of its content."""

    name: str
    content: bytes


@dataclass(frozen=True, eq=False)
class ProjectTokenizer:
    """A tokenizer that was opened from files.

    Attributes:
        name: What the person calls it.
        files: Its files; the first is the one to open.
        pattern: The pattern that was given when it was opened, if any.
        state: What else the window keeps of it.
    """

    name: str
    files: tuple[TokenizerFile, ...]
    pattern: str | None = None
    state: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, eq=False)
class Project:
    """All that a person has in the window.

    Attributes:
        sources: The corpus in its order, and among it what runs were trained on besides.
        runs: The list of runs as the window shows it, opened tokenizers among them.
        active: Index of the active run; None where there is none.
        state: The rest, by names of the window's choice: text, playhead, settings, layout.
    """

    sources: tuple[ProjectSource, ...] = ()
    runs: tuple[ProjectRun | ProjectTokenizer, ...] = ()
    active: int | None = None
    state: Mapping[str, Json] = field(default_factory=dict[str, Json])
