"""Trains a tokenizer by the library that its algorithm is from, in a process of its own, and opens the result."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.algorithms.common.prepare_corpus import valid_work
from tokstudio.core.base.errors import ConfigError, CorpusError, FormatError
from tokstudio.core.base.private_folders import TemporaryFolder
from tokstudio.core.base.progress import Work, finish, part_of
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.corpus import Corpus, refuse_overflow
from tokstudio.core.corpus.sampling import hold_out_work
from tokstudio.core.corpus.source import Source, document_ends, entries, groups, in_text_order, texts_of
from tokstudio.core.formats.common.beside import CONFIG
from tokstudio.core.formats.common.format import Format
from tokstudio.core.formats.huggingface.format import config_of_names
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.loading import load_work
from tokstudio.core.libraries.client import LibraryEnded, LibraryProcess
from tokstudio.core.libraries.server import Train
from tokstudio.core.library_training.config import LibraryConfig
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- The corpus as lines, which is what the libraries train on --------------------------------------------------------

PIECE = 1 << 20


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of a corpus."""

    # Each source with the ends of its lines, and how often it is given.
    sources: Sequence[tuple[Source, NDArray[np.int64], int]]
    held_out: tuple[Source, ...]  # the text that is kept out of training
    replaced: int  # places that were not UTF-8 and became U+FFFD

    @property
    def bytes(self) -> int:
        """Bytes of text, as often as it is given."""
        return sum(len(source.data) * times for source, _, times in self.sources)

    @property
    def count(self) -> int:
        """The number of lines."""
        return sum(len(ends) * times for _, ends, times in self.sources)

    def pieces(self) -> Iterator[tuple[bytes, int]]:
        """Yields some lines with a line feed after each, and how many bytes of the corpus they are.

        They are in the order of the text, which is given as often as its largest part, each time without the parts
        that were given often enough.
        """
        for text in texts_of([source for source, _, _ in self.sources]):
            parts = [self.sources[number] for number in text]
            for round_ in range(max(times for _, _, times in parts)):
                yield from _pieces([(source, ends) for source, ends, times in parts if times > round_])


def _pieces(parts: Sequence[tuple[Source, NDArray[np.int64]]]) -> Iterator[tuple[bytes, int]]:
    """The lines of the parts of a text; each part has the ends of its lines."""
    held, size = list[bytes](), 0
    for number, first, last in in_text_order([source for source, _ in parts]):
        source, ends = parts[number]
        start = int(source.ends[first - 1]) if first else 0
        stop = int(source.ends[last - 1]) if last else 0
        here = ends[np.searchsorted(ends, start, side="right") : np.searchsorted(ends, stop, side="right")]
        for one, other, begin, end in groups(here - start, PIECE):
            if held and size + end - begin > PIECE:
                yield b"".join(held), size
                held, size = [], 0
            raw = source.data[start + begin : start + end].tobytes()
            bounds = pairwise([0, *(here[one:other] - (start + begin)).tolist()])
            held.append(b"".join(raw[a:b].removesuffix(b"\n") + b"\n" for a, b in bounds))
            size += end - begin
    if held:
        yield b"".join(held), size


def check_corpus(corpus: Corpus) -> None:
    """Raises ConfigError where there are word counts, or a weight is no whole number."""
    if counted := next((source for source in corpus.sources if source.counts is not None), None):
        raise ConfigError(
            f"{counted.name} has word counts, and the library counts in lines of text, which it splits itself: give "
            "texts."
        )
    if corpus.weight_scale != 1:
        raise ConfigError("The library takes each text a whole number of times: choose whole numbers as weights.")


def lines_work(corpus: Corpus, held_out: float) -> Work[Lines]:
    """The lines of a corpus: documents end lines too, and a source of weight 3 is given three times.

    Raises:
        ConfigError: There are word counts, or a weight is no whole number.
        CorpusError: There is no text, or nothing of it has a weight, or too little to hold some out.
    """
    check_corpus(corpus)
    refuse_overflow(corpus)
    sources, held = corpus.sources, tuple[Source, ...]()
    if held_out:
        sources, held = yield from hold_out_work(sources, held_out, corpus.weights)
    multipliers = corpus.multipliers
    lines_of_sources: list[tuple[Source, NDArray[np.int64], int]] = []
    replaced, total, done = 0, 2 * sum(len(source.data) for source in sources), 0
    for source, (_, number) in zip(sources, entries(corpus.sources), strict=True):
        size = len(source.data)
        if times := multipliers[number]:
            valid, places = yield from part_of(valid_work(source), "splitting", done, size, total)
            lines = yield from part_of(document_ends(valid.data, "line"), "splitting", done + size, size, total)
            ends = np.union1d(lines, valid.ends)
            lines_of_sources.append((valid, ends[ends > 0], times))
            replaced += places
        done += 2 * size
    all_lines = Lines(lines_of_sources, held, replaced)
    if not all_lines.bytes:
        raise CorpusError("The corpus has no text to train on: add some.")
    return all_lines


@dataclass(frozen=True, eq=False)
class TrainedByLibrary:
    """What a library made of a corpus.

    Attributes:
        tokenizer: The tokenizer, for which the library encodes; its `source_files` are what the library wrote.
        config: The configuration.
        bytes: Bytes of text trained on, of each source as often as its weight says.
        lines: Lines of it.
        skipped: Lines that the library passed over: for SentencePiece those above 65,000 bytes, and those with U+2585.
        replaced: Places that were not UTF-8 and became U+FFFD.
        held_out: The text that was kept out of training.
        version: The version of the library.
        seconds: How long it took.
    """

    tokenizer: Tokenizer
    config: LibraryConfig
    bytes: int
    lines: int
    skipped: int
    replaced: int
    held_out: tuple[Source, ...]
    version: str
    seconds: float

    @property
    def files(self) -> Mapping[str, bytes]:
        """The content by its usual name of what the library wrote, and beside `tokenizer.json` the roles by names."""
        return self.tokenizer.source_files


def own_format(config: LibraryConfig) -> Format:
    """The one format that holds such a tokenizer: that of its library."""
    return next(
        file_format
        for file_format in FORMATS.values()
        if file_format.readable and file_format.library == config.library
    )


def train_by_library(corpus: Corpus, config: LibraryConfig) -> TrainedByLibrary:
    """Trains by another library, in a process of its own, on the lines of a corpus without their line feeds.

    The result is what the library makes of these lines with these settings. With `sentencepiece`, the same corpus gives
    the same files; `tokenizers` gives slightly different ones each time, see `LibraryConfig.repeatable`. A document
    ends a line. A source of weight 3 is given three times.

    Raises:
        ConfigError: A source has word counts or a fractional weight, or the vocabulary is too small for the characters.
        CorpusError: There is no text, the library refuses it, or its process ends while it trains.
    """
    return finish(train_by_library_work(corpus, config))


def train_by_library_work(corpus: Corpus, config: LibraryConfig) -> Work[TrainedByLibrary]:
    """Does the same as `train_by_library`; closing the work ends the process.

    The phases are "splitting", "reading" with the bytes that the library has taken, then "training" and
    "opening" without a number.
    """
    from importlib.metadata import version

    started = time.perf_counter()
    lines = yield from lines_work(corpus, config.held_out)
    try:
        content, facts = yield from _train_work(lines, config)
    except LibraryEnded as error:
        raise CorpusError(
            f"{config.title}: the {config.library} library ended while it trained. It may need more memory than it may "
            "take, which is half of this computer's: train on less text."
        ) from error
    except FormatError as error:
        raise CorpusError(str(error)) from error
    tokenizer = yield from _open_work(content, config)
    if len(tokenizer) > config.vocabulary_size:
        raise ConfigError(
            f"Vocabulary size must be at least {len(tokenizer):,}: the library gives each character of the corpus and "
            "each special token a token."
        )
    return TrainedByLibrary(
        tokenizer,
        config,
        lines.bytes,
        lines.count,
        facts["skipped"],
        lines.replaced,
        lines.held_out,
        version(config.library),
        time.perf_counter() - started,
    )


def _train_work(lines: Lines, config: LibraryConfig) -> Work[tuple[bytes, dict[str, Any]]]:
    """Gives the lines to the library piece by piece; returns its file and further facts."""
    library, title, done, total = config.library, config.title, 0, lines.bytes
    with closing(LibraryProcess()) as process:
        for content, size in lines.pieces():
            # A process that were started anew would have lost the lines before, and does not go on.
            request = Train(library, title, None if done else config.settings(), [content])
            answer = yield from part_of(process.parts(request, "reading"), "reading", done, size, total)
            if answer is None:
                raise FormatError(f"{title}: no process can be started to train it: close other programs.")
            done += size
        answer = yield from process.parts(Train(library, title, None, []), "training")
    assert answer is not None
    content, facts = answer
    return content, json.loads(facts)


def _open_work(content: bytes, config: LibraryConfig) -> Work[Tokenizer]:
    try:
        with TemporaryFolder() as folder:
            path = folder / own_format(config).files[0]
            path.write_bytes(content)
            if config.library == "tokenizers":
                specials = [token["content"] for token in json.loads(content)["added_tokens"]]
                path.with_name(CONFIG).write_bytes(config_of_names(specials))
            return (yield from part_of(load_work(path), "opening", 0, 0, 0)).tokenizer
    except OSError as error:
        raise FormatError(f"{config.title}: its file cannot be written: {error.strerror or error}.") from error
