"""Sets of texts to compare tokenizers on."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tokstudio.core.base.progress import Work
from tokstudio.core.comparison.parallel_set import ParallelSet, open_parallel_work, story_work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.text.languages import language_name


@dataclass(frozen=True, eq=False)
class ReadTexts:
    """The texts of a set."""

    named: Sequence[tuple[str, Source]]
    notes: tuple[str, ...] = ()  # what the user should know of how they were read, a sentence each


@dataclass(frozen=True, eq=False)
class TextSet:
    """Texts that are compared in one table."""

    key: str  # never shown
    title: str
    meaning: str  # one sentence
    read: Callable[[], Work[ReadTexts]]
    is_parallel: bool = False  # whether all have the same lines, in different languages


def story_set() -> TextSet:
    """Our own story, in many languages."""
    meaning = "Twenty sentences of our own, the same in each language."
    return TextSet("story", "Our story in 31 languages", meaning, partial(_parallel_work, story_work), is_parallel=True)


def parallel_set(path: Path) -> TextSet:
    """A folder or a table with the same lines in several languages."""
    read = partial(_parallel_work, partial(open_parallel_work, path))
    return TextSet(f"parallel {path}", path.name, "The same lines in several languages.", read, is_parallel=True)


def file_set(paths: Sequence[Path]) -> TextSet:
    """Files and folders that are opened for measuring only."""
    title = paths[0].name + (f" and {len(paths) - 1:,} more" if len(paths) > 1 else "")
    key = " ".join(["files", *map(str, paths)])
    return TextSet(key, title, "Opened for measuring only: nothing is trained on it.", partial(_files_work, paths))


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
