"""The corpus: the documents a tokenizer is trained on, as bytes, with their sources."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.base.arguments import told
from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import ConfigError, CorpusError, EmptyError
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import first_few, printable, several, shown
from tokstudio.core.corpus.counts_file import is_counts_file, read_counted_sources_work
from tokstudio.core.corpus.given_counts import LARGEST, counts_of_mapping, read_counts_work
from tokstudio.core.corpus.leaving_out import LeavingOut, LeftOut, leaving_out, without_work
from tokstudio.core.corpus.open_sources import SkippedFiles, empty_source, read_work
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.readers.files import Budget
from tokstudio.core.corpus.readers.folders import Fetching, expand_work
from tokstudio.core.corpus.source import Source, entries, groups, joined_value
from tokstudio.core.hub.addresses import is_address
from tokstudio.core.hub.kept_texts import kept_at
from tokstudio.core.text.utf8 import AnyPath, Text

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Small, so that no numpy call on a piece holds the interpreter for more than a few milliseconds.
_PIECE = 1 << 18
_DOCUMENTS_IN_A_PIECE = 1 << 14
ONCE = 1_000  # a weight in thousandths
LARGEST_WEIGHT = 1_000
_MOST_NAMED = 8
_HASHES = ("sha256", "text_hashes")  # which do not depend on weights


@dataclass(frozen=True, eq=False)
class Corpus:
    """The documents a tokenizer is trained on, in order: those of the first source, then those of the next."""

    sources: tuple[Source, ...]
    # How much each source counts, in thousandths, 0 to 1,000,000; None where all count once. The sources of one entry
    # have one weight; see `entries`.
    weights: tuple[int, ...] | None = None
    left: LeftOut | None = None  # what was left out of the sources; None where nothing was

    @classmethod
    def from_files(
        cls,
        paths: AnyPath | Iterable[AnyPath],
        documents: str = "file",
        encoding: str | None = None,
        *,
        field: str | None = None,
        split_by: str | None = None,
        delimiter: str | None = None,
        least_characters: int = 0,
        most_characters: int | None = None,
        most_bytes: int | None = None,
        deduplicate: bool = False,
        as_text: bool = False,
        keep_truncated: bool = False,
        join_values: bool = False,
        sample_bytes: int | None = None,
        seed: int = 0,
    ) -> Corpus:
        """Reads files in the order given, and what can be read of a folder sorted by path.

        Compressed files (gzip, Zstandard, xz, bzip2) and the members of ZIP and tar archives are read as what is in
        them. JSON Lines, JSON, CSV, Parquet, Arrow and folders of their shards are data sets: a column of text is
        read, and each row is a document. The notes of the sources say what was dropped.

        Args:
            paths: Files and folders; also addresses, such as "s3://bucket/texts/*.parquet", of which what is read is
                kept in the cache. One that is given twice counts twice, which its note says.
            documents: "file" for one document per file, "line" for one per line, including its line feed. The rows of
                a data set are not divided further.
            encoding: None to detect it for each file; "bytes" to decode and unpack nothing, which reads binary files
                too; else the name of an encoding. With characters as base tokens, bytes that are not UTF-8 become
                U+FFFD.
            field: The column of data sets that is read, such as "text" or "messages.content"; None to choose it: the
                first of text, content, body, document and sentence that there is, else the one with the longest texts.
            split_by: A column that divides each data set into a source for each of its values.
            delimiter: What separates the columns of CSV; None to detect it.
            least_characters: Documents with fewer characters are dropped.
            most_characters: Documents are cut after so many characters.
            most_bytes: Only the first so many bytes of each source are read.
            deduplicate: Whether a document that occurred before in the same file or data set is dropped.
            as_text: Whether JSON and tables are read as plain text.
            keep_truncated: Whether the beginning of compressed data that ends too early is read.
            join_values: Whether the sources of several data sets with the same value of `split_by` are one: they have
                one weight, under the name of the value, and are one language of parity-aware BPE.
            sample_bytes: Of a text by its address, take about so many bytes of text, from up to 64 of its files; None
                takes all.
            seed: Of the choice of what is taken: the same for the same files gives the same text.

        Raises:
            ConfigError: An argument is unknown or out of its range.
            CorpusError: A file or a folder cannot be read, holds no text, or has no such column. A binary file, or one
                without text, is refused if it is named, and skipped in a folder.
        """
        most = (least_characters, most_characters, most_bytes)
        reading = Reading(field, split_by, delimiter, *most, deduplicate, as_text, keep_truncated, join_values)
        return finish(cls.from_files_work(paths, documents, encoding, reading, sample_bytes=sample_bytes, seed=seed))

    @classmethod
    def from_names(
        cls,
        names: str | Iterable[str],
        sample_bytes: int | None = None,
        seed: int = 0,
        *,
        field: str | None = None,
        split_by: str | None = None,
    ) -> Corpus:
        """Reads data sets of the Hugging Face Hub by their names, such as "HuggingFaceFW/fineweb-2:deu_Latn".

        A name is `OWNER/NAME[:CONFIG[/SPLIT]][@REVISION]`; arguments and errors are those of `from_files`.

        Example:
            >>> corpus = Corpus.from_names("mine/animals", sample_bytes=1_000_000)
            >>> bytes(corpus.sources[0].data), corpus.sources[0].documents
            (b'the cata dog', 2)
        """
        prefix = "hf:datasets/"
        several = [names] if isinstance(names, str) else names
        addresses = [name if is_address(name) else prefix + name.removeprefix("datasets/") for name in several]
        return cls.from_files(addresses, field=field, split_by=split_by, sample_bytes=sample_bytes, seed=seed)

    @classmethod
    def from_files_work(
        cls,
        paths: AnyPath | Iterable[AnyPath],
        documents: str = "file",
        encoding: str | None = None,
        reading: Reading | None = None,
        keep_empty: bool = False,
        *,
        sample_bytes: int | None = None,
        seed: int = 0,
    ) -> Work[Corpus]:
        """Does the same as `from_files` in bounded pieces.

        With `keep_empty`, a file without text beside others is a source without documents, not an error.
        """
        if sample_bytes is not None and sample_bytes < 1:
            raise ConfigError("The size of a sample must be at least 1 byte.")
        fetching = Fetching(reading or Reading(), encoding, sample_bytes, seed)
        files = [paths] if isinstance(paths, (str, os.PathLike)) else paths
        entries = yield from expand_work(files, fetching=fetching)
        if not entries:
            raise CorpusError("No files given: name at least one.")
        sources, skipped, budget = list[Source](), SkippedFiles(), Budget()
        for entry in entries:
            with skipped.if_without_text(entry):
                try:
                    sources += yield from read_work(entry, documents, encoding, reading, budget)
                except EmptyError:
                    if not keep_empty or len(entries) == 1:
                        raise
                    sources.append(empty_source(file_name(entry.path)))
        return cls(skipped.noted(sources))

    @classmethod
    def from_text(cls, text: Text) -> Corpus:
        """Makes a corpus of one document."""
        return cls.from_texts([text])

    @classmethod
    def from_texts(cls, texts: Iterable[Text]) -> Corpus:
        """Makes a corpus of several documents; the iterable is read once, and only the bytes are kept.

        What is large for the free memory is kept in a private temporary file.

        Raises:
            CorpusError: It does not fit on the disk either.
        """
        return cls((Source.from_texts(texts),))

    @classmethod
    def from_counts(cls, counts: AnyPath | Mapping[Text, int]) -> Corpus:
        """Makes a corpus of pre-tokens with their counts; no pattern splits them again.

        `word_counts.read_counts_work` describes the form of a file of text. A Parquet file of `WordCounts.save` gives
        its sources and remembers its pattern and special tokens: a training must have the same.

        Raises:
            CorpusError: The file cannot be read or is empty, a count is not a positive whole number, or a pre-token is
                not UTF-8.
        """
        if isinstance(counts, Mapping):
            return cls((counts_of_mapping(counts),))
        if not isinstance(counts, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise CorpusError(
                f"Word counts must be a mapping from pre-token to count, or the name of a file, "
                f"not of the type {type(counts).__name__}."
            )
        return cls(finish(counted_sources_work(Path(counts))))

    def with_weights(self, weights: Mapping[str | int, float]) -> Corpus:
        """The same text with weights: a source of weight 2 counts twice, one of weight 0 not at all.

        Args:
            weights: By the name of a source, its value of the dividing column, or the name of a folder or archive that
                it is in, or by its index, from 0; each is 0 to 1,000, in steps of 0.001. Others count once. The texts
                of a folder of more than 64 are one source.
                A held-out share is taken of all sources but those of weight 0.

        Raises:
            ConfigError: There is no such source, several are named alike, or a weight is invalid.
        """
        if not isinstance(weights, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"Weights are a mapping from the names of sources, not {told(weights)}.")
        new_weights = [ONCE] * len(self.sources)
        for which, weight in weights.items():
            thousandths = check_weight(which, weight)
            for index in self.numbers_of(which):
                new_weights[index] = thousandths
        return self.weighted(new_weights)

    def with_weights_in_order(self, weights: Sequence[float]) -> Corpus:
        """The same text with a weight for each entry, in the order of `source.entries`; see `with_weights`.

        Raises:
            ConfigError: There are more or fewer than entries, or one is invalid.
        """
        names = list({number: name for name, number in entries(self.sources)}.values())
        if len(weights) != len(names):
            texts = f"{several(len(names), 'text')} ({first_few(names, _MOST_NAMED, printable)})"
            raise ConfigError(f"{several(len(weights), 'weight')} for {texts}: give one for each, in order.")
        thousandths = [check_weight(*each) for each in zip(names, weights, strict=True)]
        return self.weighted([thousandths[number] for _, number in entries(self.sources)])

    def weighted(self, weights: Sequence[int]) -> Corpus:
        """The same text with a weight in thousandths for each source; a hash that is known is not computed again."""
        weighted = replace(self, weights=tuple(weights) if set(weights) - {ONCE} else None)
        weighted.__dict__.update({name: self.__dict__[name] for name in _HASHES if name in self.__dict__})
        return weighted

    def without(
        self,
        rules: Iterable[str] = (),
        documents: Iterable[tuple[str | int, int]] = (),
        lines: Iterable[tuple[str | int, int, int]] = (),
        **keywords: bool | float,
    ) -> Corpus:
        """The same corpus without some documents and lines; `left_out` says which.

        Rules look at the text of all sources, whatever their weights, in the order of the corpus. What is named goes
        first, then what each rule finds, in the order of `rules.RULES`; what went is not looked at again. A document
        whose lines have all gone goes, too.

        Args:
            rules: Names of rules: "duplicates", "near-duplicates", "blobs", "repetition", "mojibake", "control",
                "markup", "rare-script", "repeated-lines", with their usual thresholds. `rules.RULES` has what each
                finds.
            documents: The name of a source or of its file, or its index, and the row or line of the document there,
                from 0; of a file that is one document, or a text without a file, the number of the document. Neither
                filters nor what was left out before change these numbers.
            lines: Likewise, and the number of the line in the document, from 0.
            keywords: Rules again, with `_` for `-`: True, or a threshold, such as `near_duplicates=0.8`.

        Raises:
            ConfigError: There is no such rule, source, document or line, or a threshold is not valid.
            CorpusError: A source has word counts, which have no documents and lines; nothing of the text would be left;
                or a source can no longer be read.
        """
        return finish(self.without_work(leaving_out(self, rules, documents, lines, **keywords)))

    def without_work(self, step: LeavingOut) -> Work[Corpus]:
        """Does the same as `without` in bounded pieces, with a value that `leaving_out.leaving_out` made.

        The memory that it takes does not grow with the text, but with the longest line and what is found.
        """
        sources, left = yield from without_work(self, step, self.left)
        return Corpus(sources, self.weights, left)

    @property
    def left_out(self) -> Mapping[str, NDArray[Any]]:
        """What was left out: a row for each document or line, in columns by name, arrays of one length.

        The columns are "source", its index in `sources`; "document", its row or line in the file, from 0; "line", the
        line in the document, from 0, or -1 for the whole document; "rule", the name of the rule, or "named"; "bytes";
        and "shard", the number of the file in `Source.shards`, for data sets of several files.
        """
        return (self.left or LeftOut()).columns

    @property
    def leaving_out(self) -> tuple[LeavingOut, ...]:
        """What was asked to be left out, one after another."""
        return () if self.left is None else self.left.steps

    def numbers_of(self, which: str | int) -> list[int]:
        """The numbers of the sources that a name or an index stands for, from 0; see `with_weights`.

        Raises:
            ConfigError: There is no such source, or several are named alike.
        """
        if isinstance(which, bool) or not isinstance(which, (str, int, np.integer)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"A source is named by its name or its index, not {told(which)}.")
        which = which if isinstance(which, str) else int(which)
        named_sources = entries(self.sources)
        around = [(source, number) for source, (_, number) in zip(self.sources, named_sources, strict=True)]
        if isinstance(which, int):
            last = max((number for _, number in named_sources), default=-1)
            if not 0 <= which <= last:
                raise ConfigError(f"There is no source {which}: the corpus has {last + 1}, counted from 0.")
            numbers = {which}
        else:
            numbers = {number for name, number in named_sources if name == which}
            if len(numbers) > 1:
                raise ConfigError(f"{shown(which)} is the name of {len(numbers)} sources: give the index, from 0.")
            numbers = numbers or {number for source, number in around if source.value == which}
            if not numbers:
                numbers = {number for source, number in around if _is_around(which, source)}
                others = {number for source, number in around if joined_value(source) and not _is_around(which, source)}
                if numbers & others:
                    raise ConfigError(f"{shown(which)} has only parts of its sources, joined by value: name a value.")
        if not numbers:
            names = ", ".join(map(shown, list(dict.fromkeys(name for name, _ in named_sources))[:_MOST_NAMED]))
            raise ConfigError(f"There is no source {shown(str(which))}. The corpus has: {names}.")
        return [index for index, (_, number) in enumerate(named_sources) if number in numbers]

    @property
    def weight_scale(self) -> int:
        """Counts of the corpus are in units of 1 / this: 1 where all weights are whole numbers, else 1,000."""
        return scale_of(self.weights)

    @property
    def multipliers(self) -> tuple[int, ...]:
        """How much each entry counts, in units of 1 / `weight_scale`."""
        numbers = [number for _, number in entries(self.sources)]
        weights = self.weights or (ONCE,) * len(self.sources)
        by_entry = dict(zip(numbers, weights, strict=True))
        return tuple(weight * self.weight_scale // ONCE for weight in by_entry.values())

    @property
    def bytes(self) -> int:
        """Bytes of text."""
        return sum(source.bytes for source in self.sources)

    @property
    def weighted_bytes(self) -> int:
        """Bytes of text, each entry as often as it counts, in units of 1 / `weight_scale`."""
        multipliers = self.multipliers
        numbered = zip(self.sources, entries(self.sources), strict=True)
        return sum(source.bytes * multipliers[number] for source, (_, number) in numbered)

    @property
    def documents(self) -> int:
        """The number of documents."""
        return sum(source.documents for source in self.sources)

    def sample(self, size: int) -> bytes:
        """At most `size` bytes of text: the beginning of every source, in proportion to its length."""
        share = min(1.0, size / self.bytes) if self.bytes else 0.0
        return b"".join(source.data[: int(share * len(source.data))].tobytes() for source in self.sources)

    def iter_documents(self) -> Iterator[memoryview]:
        """Yields each document's bytes, without copying those that are in memory."""
        for source in self.sources:
            for first, last, start, stop in groups(source.ends, _PIECE, _DOCUMENTS_IN_A_PIECE):
                # Only this part of a `FileText` is read into memory.
                view, at = np.asarray(source.data[start:stop]).data, start
                for end in source.ends[first:last].tolist():
                    yield view[at - start : end - start]
                    at = end

    @cached_property
    def sha256(self) -> str:
        """The hexadecimal SHA-256 of all documents, each preceded by its length as 8 bytes, little endian.

        A source of word counts begins with "counts" and all of its counts as 8 bytes each; one with `places` then has
        "places" and these.
        """
        return finish(self.sha256_work())

    @property
    def counted_hashes(self) -> tuple[str, ...]:
        """The hashes of the texts that count, as `text_hashes` but before anything was left out; not of word counts."""
        weights, texts = self.weights or (ONCE,) * len(self.sources), self.text_hashes
        if self.left is not None:
            texts = tuple(whole or own for whole, own in zip(self.left.texts, texts, strict=True))
        return tuple(text_hash for text_hash, weight in zip(texts, weights, strict=True) if text_hash and weight)

    @cached_property
    def text_hashes(self) -> tuple[str, ...]:
        """The hexadecimal SHA-256 of the text of each source, without regard to its documents; "" for word counts."""
        finish(self.sha256_work())
        return self.__dict__["text_hashes"]

    def sha256_work(self) -> Work[str]:
        """Computes `sha256` and `text_hashes` in bounded pieces, and caches them."""
        if all(name in self.__dict__ for name in _HASHES):
            return self.sha256
        digest, done, total = hashlib.sha256(), 0, sum(len(source.data) for source in self.sources)
        of_texts: list[str] = []
        for source in self.sources:
            of_text = hashlib.sha256()
            if source.counts is not None:
                digest.update(b"counts" + source.counts.astype("<i8").tobytes())
            if source.places is not None:
                digest.update(b"places" + source.places.astype("<i8").tobytes())
            for piece, text in _pieces_with_lengths(source.data, source.ends):
                digest.update(piece.data)
                of_text.update(text.data)
                done += len(text)
                yield Progress("hashing", done, total)
            of_texts.append(of_text.hexdigest() if source.counts is None else "")
        self.__dict__.update(sha256=digest.hexdigest(), text_hashes=tuple(of_texts))
        return self.sha256


def counted_sources_work(path: Path) -> Work[tuple[Source, ...]]:
    """Reads a file of word counts, of either kind; raises CorpusError as `Corpus.from_counts`."""
    if is_counts_file(path):
        sources = yield from read_counted_sources_work(path)
    else:
        sources = ((yield from read_counts_work(path)),)
    kept = kept_at(path)
    return sources if kept is None else tuple(replace(source, origin=kept.origin) for source in sources)


def _is_around(name: str, source: Source) -> bool:
    """Whether this is the path or the name of a file or folder that a source is, or is in."""
    path = source.path
    return path is not None and (name in path.parts or Path(name) in (path, *path.parents))


def check_weight(which: str | int, weight: float) -> int:
    """A weight in thousandths; raises ConfigError where it is not from 0 to 1,000."""
    if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 <= weight <= LARGEST_WEIGHT:
        raise ConfigError(f"The weight of {which} must be a number from 0 to {LARGEST_WEIGHT:,}, not {weight!r}.")
    thousandths = round(weight * ONCE)
    if weight and not thousandths:
        raise ConfigError(f"The weight of {which} must be 0 or at least 0.001, not {weight!r}.")
    return thousandths


def scale_of(weights: tuple[int, ...] | None) -> int:
    """1 where all weights, in thousandths, are whole numbers; else 1,000."""
    return 1 if weights is None or all(weight % ONCE == 0 for weight in weights) else ONCE


def refuse_overflow(corpus: Corpus) -> None:
    """Raises CorpusError where all weights are 0, or the weighted text of all sources is too large to count."""
    if corpus.sources and not any(corpus.multipliers):
        raise CorpusError("The weights of all sources are 0, so there is nothing to train on.")
    if corpus.weighted_bytes > LARGEST:
        raise CorpusError(
            "The corpus is too large: its word counts add up to more text than can be counted. Remove some"
            + (", or lower the weights." if corpus.weights else ".")
        )


def _pieces_with_lengths(
    data: NDArray[np.uint8], ends: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.uint8]]]:
    """Yields bytes to hash, and the text in them: many short documents together, a long one in parts."""
    for first, last, start, end in groups(ends, _PIECE, _DOCUMENTS_IN_A_PIECE):
        if end - start <= _PIECE:
            text = np.ascontiguousarray(data[start:end])
            yield _interleaved(text, ends[first:last] - start), text
        else:
            yield _lengths_as_bytes(np.array([end - start])), data[:0]
            for at in range(start, end, _PIECE):
                part = np.ascontiguousarray(data[at : min(at + _PIECE, end)])
                yield part, part


def _interleaved(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> NDArray[np.uint8]:
    r"""Puts each document's length before it: data `b"ab"` with ends 1, 2 gives `1 "a" 1 "b"`, each 1 in 8 bytes."""
    lengths = np.diff(ends, prepend=0)
    starts = ends - lengths + 8 * np.arange(len(ends))
    is_length = np.zeros(len(data) + 8 * len(ends), dtype=np.bool_)
    is_length[starts[:, np.newaxis] + np.arange(8)] = True
    mixed = np.empty(len(is_length), dtype=np.uint8)
    mixed[is_length] = _lengths_as_bytes(lengths)
    mixed[~is_length] = data
    return mixed


def _lengths_as_bytes(lengths: NDArray[np.int64]) -> NDArray[np.uint8]:
    return lengths.astype("<i8").view(np.uint8)
