"""Sets of texts to compare tokenizers on."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.progress import Work
from tokstudio.core.comparison.parallel_set import ParallelSet, open_parallel_work, story_work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.project.schema import Json
from tokstudio.core.text.languages import language_name

_MOST_SETS, _MOST_PATHS = 1_000, 10_000


@dataclass(frozen=True, eq=False)
class ReadTexts:
    """The texts of a set."""

    named: Sequence[tuple[str, Source]]
    notes: tuple[str, ...] = ()  # what the user should know of how they were read, a sentence each
    # Of held-out text: the hash of the whole of each, and what the training held out; see `text_work`.
    wholes: Sequence[str] = ()
    held_out: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class TextSet:
    """Texts that are compared in one table."""

    key: str  # never shown
    title: str
    meaning: str  # one sentence
    read: Callable[[], Work[ReadTexts]]
    is_parallel: bool = False  # whether all have the same lines, in different languages
    paths: tuple[Path, ...] = ()  # the files and folders that were opened for it; none for other sets

    @property
    def as_plain(self) -> dict[str, Json]:
        """What a project keeps of it: where its texts are."""
        paths: list[Json] = [str(path.absolute()) for path in self.paths]
        return {"parallel": self.is_parallel, "paths": paths}

    @property
    def missing(self) -> tuple[Path, ...]:
        """The files and folders that are not there any more."""
        return tuple(path for path in self.paths if not os.path.lexists(path))


def story_set() -> TextSet:
    """Our own story, in many languages."""
    meaning = "Twenty sentences of our own, the same in each language."
    return TextSet("story", "Our story in 31 languages", meaning, partial(_parallel_work, story_work), is_parallel=True)


def parallel_set(path: Path) -> TextSet:
    """A folder or a table with the same lines in several languages."""
    read = partial(_parallel_work, partial(open_parallel_work, path))
    key, meaning = f"parallel {path}", "The same lines in several languages."
    return TextSet(key, file_name(path), meaning, read, is_parallel=True, paths=(path,))


def file_set(paths: Sequence[Path]) -> TextSet:
    """Files and folders that are opened for measuring only."""
    title = file_name(paths[0]) + (f" and {len(paths) - 1:,} more" if len(paths) > 1 else "")
    key, meaning = " ".join(["files", *map(str, paths)]), "Opened for measuring only: nothing is trained on it."
    return TextSet(key, title, meaning, partial(_files_work, paths), paths=tuple(paths))


def text_sets_of(kept: object) -> tuple[TextSet, ...]:
    """The sets of `TextSet.as_plain`, which a project of a stranger may have; what is not one is left out."""
    made: list[TextSet] = []
    for each in kept[:_MOST_SETS] if isinstance(kept, list) else ():
        given = each if isinstance(each, dict) else {}
        listed = given.get("paths")
        texts = (path for path in (listed if isinstance(listed, list) else ()) if isinstance(path, str))
        paths = [path for path in texts if path and "\0" not in path]
        if given.get("parallel") is True and len(paths) == 1:
            made.append(parallel_set(Path(paths[0])))
        elif given.get("parallel") is False and paths:
            made.append(file_set([Path(path) for path in paths[:_MOST_PATHS]]))
    return tuple({each.key: each for each in made}.values())


def _files_work(paths: Sequence[Path]) -> Work[ReadTexts]:
    """Reads files; of several, an empty one is an empty text."""
    sources = (yield from Corpus.from_files_work(paths, keep_empty=True)).sources
    notes = [f"{source.name}: {said}." for source in sources if (said := _said(source))]
    return ReadTexts([(source.name, source) for source in sources], tuple(notes))


def _said(source: Source) -> str:
    """How a text was read, where that is not as it stands."""
    encoding = "" if source.encoding == "utf-8" else f"read as {source.encoding}"
    return ", ".join(filter(None, (encoding, source.note)))


def _parallel_work(read: Callable[[], Work[ParallelSet]]) -> Work[ReadTexts]:
    texts = yield from read()
    named = zip(texts.languages, texts.lines, strict=True)
    return ReadTexts([(_language(code), Source.from_texts(lines, code)) for code, lines in named], texts.notes)


def _language(code: str) -> str:
    """The name of a language with its code: "German deu_Latn"."""
    name = language_name(code)
    return code if name == code else f"{name} {code}"
