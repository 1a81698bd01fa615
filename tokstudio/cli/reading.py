"""Reads the corpus of `train` from files, standard input and word counts, and reports what is unusual about it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path

import numpy as np

from tokstudio.cli.process.terminal import Console, standard_input_work
from tokstudio.core.algorithms.common.prepare_corpus import PreparedCorpus
from tokstudio.core.analysis.token_counts import measure_work
from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import BinaryError, ConfigError, CorpusError, EmptyError, TokStudioError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import count_text, first_few, in_units, printable, several
from tokstudio.core.corpus.corpus import ONCE, Corpus, counted_sources_work
from tokstudio.core.corpus.leaving_out import told_totals
from tokstudio.core.corpus.left_out_list import leaving_out_work, write_list_work
from tokstudio.core.corpus.open_sources import OF_FILE, SkippedFiles, content_work, empty_source, read_work
from tokstudio.core.corpus.readers.compression import TruncatedError
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.readers.datasets import NoColumnOfTextError
from tokstudio.core.corpus.readers.files import Budget
from tokstudio.core.corpus.readers.folders import (
    Entry,
    Fetching,
    Folder,
    expand_work,
    fetched_files_work,
    numbered_work,
)
from tokstudio.core.corpus.source import Source, entries
from tokstudio.core.formats.known_formats import tokenizer_files
from tokstudio.core.hub.addresses import address_of
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.run import Run
from tokstudio.core.text.utf8 import AnyPath
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.curves import SourceCurves, source_curves_work

_STANDARD_INPUT = "standard input"
_PIPE = Entry(Path(), name=_STANDARD_INPUT)  # in its place; no folder has an entry of this name without shards
_WHOLE = Reading()
LEFT_OUT_COLUMNS = ("rule", "documents", "lines", "bytes")
_VALUES_NAMED = 5  # of the column that divides a data set


@dataclass(frozen=True)
class TextsToRead:
    """Which texts and word counts a command reads, and how."""

    files: Sequence[str]
    documents: str = "file"
    encoding: str | None = None
    reading: Reading = _WHOLE
    counts: Sequence[Path] = ()
    weights: Sequence[tuple[str, float]] = ()  # by the name of a text, or its number
    sample_bytes: int | None = None
    sample_seed: int = 0
    leave_out: Sequence[tuple[str, float | bool]] = ()  # rules with their thresholds
    leave_out_lists: Sequence[Path] = ()
    left_out: Path | None = None  # where the list of what was left out is written

    @property
    def fetching(self) -> Fetching:
        """How texts are fetched that are given by their address."""
        return Fetching(self.reading, self.encoding, self.sample_bytes, self.sample_seed)


@dataclass(frozen=True, eq=False)
class CommandTexts:
    """The texts that a command reads, and the folders among them."""

    corpus: Corpus
    folders: tuple[Folder, ...]
    experiment: str = ""  # the text of the experiment that they are of, for a project; "" for none

    def as_json(self) -> dict[str, object]:
        """What was passed over in folders, what is to be said of each text, and what was left out of them."""
        facts = read_as_json(self.folders, self.corpus.sources)
        if self.corpus.left is not None:
            facts["left_out"] = [dict(zip(LEFT_OUT_COLUMNS, row, strict=True)) for row in self.corpus.left.totals]
        return facts


def read_as_json(folders: Iterable[Folder], sources: Iterable[Source]) -> dict[str, object]:
    """The skipped files of folders with the reasons, and the notes of the texts; nothing where there are none."""
    by_command: dict[str, list[dict[str, str]]] = {
        "skipped": [
            {
                "name": printable(path.relative_to(one.path).as_posix()),
                "reason": why,
                "folder": printable(str(one.path)),
            }
            for one in folders
            for path, why in one.skipped
        ],
        "source_notes": [{"name": source.name, "note": source.note} for source in sources if source.note],
    }
    return {name: values for name, values in by_command.items() if values}


def read_corpus(texts: TextsToRead, console: Console, keep_empty: bool = False) -> CommandTexts:
    """Reads texts as `read_corpus_work`, and reports what is unusual about how they were read."""
    read = console.finish(read_corpus_work(texts, console, keep_empty))
    report_read(read.corpus.sources, console)
    return read


def read_corpus_work(texts: TextsToRead, console: Console, keep_empty: bool = False) -> Work[CommandTexts]:
    """Reads texts in the order given, then word counts; reports skipped files of folders.

    With `keep_empty`, a file without text beside others is a source without documents, not an error.
    """
    budget, folders = Budget(), list[Folder]()
    entries: list[Entry] = []
    documents, encoding, reading = texts.documents, texts.encoding, texts.reading
    for file in texts.files:
        if os.path.isdir(file) and tokenizer_files(file):
            console.say(f"{file_name(Path(file))}: this folder holds a tokenizer; its files are read all the same.")
        entries += [_PIPE] if file == "-" else (yield from expand_files_work([file], folders, console, texts.fetching))
    sources, skipped = list[Source](), SkippedFiles()
    for entry in (yield from numbered_work(entries)):
        with plain_reading_errors(), skipped.if_without_text(entry):
            try:
                if entry == _PIPE:
                    raw = np.frombuffer((yield from standard_input_work()), np.uint8)
                    sources += yield from content_work(raw, _STANDARD_INPUT, documents, encoding, reading)
                    continue
                if not entry.is_found and not entry.shards and tokenizer_files(entry.path):
                    console.say(f"{file_name(entry.path)}: this is a tokenizer; it is read all the same.")
                sources += yield from read_work(entry, documents, encoding, reading, budget)
            except EmptyError:
                if not keep_empty or len(entries) == 1:
                    raise
                sources.append(empty_source(_STANDARD_INPUT if entry == _PIPE else file_name(entry.path)))
    sources = [*skipped.noted(sources)]
    for path in texts.counts:
        if str(path) == "-":
            raise CorpusError("--counts: word counts are read from a file; standard input is for text.")
        sources += yield from counted_sources_work(path)
    return CommandTexts(Corpus(tuple(sources)), tuple(folders))


def without_left_out(read: CommandTexts, texts: TextsToRead, console: Console) -> CommandTexts:
    """The texts without what is to be left out; reports how much went, and writes the list of it."""
    if not (texts.leave_out or texts.leave_out_lists):
        return read
    corpus = read.corpus
    step = console.finish(leaving_out_work(corpus, dict(texts.leave_out), texts.leave_out_lists))
    corpus = console.finish(corpus.without_work(step))
    report_left_out(corpus, console)
    if texts.left_out is not None:
        console.finish(write_list_work(corpus, texts.left_out))
    return replace(read, corpus=corpus)


def report_left_out(corpus: Corpus, console: Console) -> None:
    """Reports what was left out of a corpus."""
    totals = corpus.left.totals if corpus.left is not None else ()
    console.say(f"Left out: {told_totals(totals)}." if totals else "Left out: nothing, as nothing was found.")


def take_folder(folders: list[Folder], console: Console, folder: Folder) -> None:
    """Adds a folder to those that were read, and reports what it skips."""
    folders.append(folder)
    if folder.remark:
        console.say(folder.remark)


def expand_files_work(
    files: Sequence[str], folders: list[Folder], console: Console, fetching: Fetching
) -> Work[list[Entry]]:
    """Replaces each folder by what it holds, adds it to `folders`, and reports what it skips."""
    return (yield from expand_work(files, partial(take_folder, folders, console), fetching))


def files_at_hand(given: Iterable[AnyPath], console: Console) -> list[Path]:
    """Paths as they are; in place of an address the paths of its files, which are fetched as they are stored there."""
    paths: list[Path] = []
    for one in given:
        if (address := address_of(one)) is None:
            paths.append(Path(one))
            continue
        files, remark = console.finish(fetched_files_work(address))
        if remark:
            console.say(f"{address}: {remark}.")
        paths += files
    return paths


@contextmanager
def plain_reading_errors() -> Generator[None]:
    """Adds to an error of reading what the command line offers."""
    try:
        yield
    except BinaryError as error:
        raise CorpusError(f"{error} On the command line: --encoding bytes.") from error
    except TruncatedError as error:
        raise CorpusError(f"{error} On the command line: --keep-truncated.") from error
    except NoColumnOfTextError as error:
        raise CorpusError(f"{error} On the command line: --as-text.") from error


def texts_of(arguments: argparse.Namespace, files: Sequence[str]) -> TextsToRead:
    """The texts in `files`, read by the arguments of `parser.add_reading` and those beside them."""
    delimiter: str | None = arguments.delimiter
    reading = Reading(
        field=arguments.field,
        split_by=getattr(arguments, "split_by", None),
        delimiter="\t" if delimiter == r"\t" else delimiter,
        least_characters=arguments.min_document_chars,
        most_characters=arguments.max_document_chars,
        most_bytes=arguments.max_bytes,
        deduplicate=arguments.deduplicate,
        as_text=arguments.as_text,
        keep_truncated=arguments.keep_truncated,
        join_values=getattr(arguments, "join_values", False),
    )
    return TextsToRead(
        files,
        getattr(arguments, "documents", None) or "file",
        arguments.encoding,
        reading,
        leave_out=[rule for rules in getattr(arguments, "leave_out", ()) for rule in rules],
        leave_out_lists=getattr(arguments, "leave_out_list", ()),
        left_out=getattr(arguments, "left_out", None),
        sample_bytes=arguments.sample_bytes,
        sample_seed=arguments.sample_seed,
    )


def report_read(sources: Iterable[Source], console: Console) -> None:
    """Reports how sources were read, where that is unusual; one line for each file, however many sources it became."""
    before = ""
    for _, parts in groupby(sources, lambda one: id(one) if one.value is None else (one.path, one.member)):
        read = list(parts)
        first, name = read[0], read[0].name
        remarks = [f"column {first.reading.field}"] if first.is_rows and first.reading is not None else []
        if first.value is not None and first.reading is not None:
            name = name.removesuffix(f": {first.value}")
            named = first_few([source.value or "" for source in read], _VALUES_NAMED, str)
            remarks.append(f"{several(len(read), 'value')} of {first.reading.split_by} ({named})")
        remarks += [] if first.encoding in ("utf-8", "bytes") else [f"read as {first.encoding}"]
        remarks += dict.fromkeys(source.note.replace(OF_FILE, "") for source in read if source.note)
        # The shards of a data set that is counted file by file have one name, and mostly the same to say.
        if remarks and (told := f"{name}: {'; '.join(remarks)}.") != before:
            console.say(told)
            before = told


def report_preparation(prepared: PreparedCorpus, config: TrainingConfig, weight_scale: int, console: Console) -> None:
    """Reports changes of the corpus before training."""
    if prepared.replaced:
        console.say(
            f"{several(prepared.replaced, 'byte sequence was', 'byte sequences were')} not UTF-8 and became U+FFFD: "
            "merging begins with characters."
        )
    if prepared.unknown:
        unknown = in_units(prepared.unknown, weight_scale)
        console.say(
            f"{several(unknown, 'character is', 'characters are')} not in the base vocabulary and became "
            f"{config.unknown_token}."
        )
    if config.held_out:
        held = sum(source.bytes for source in prepared.held_out)
        console.say(f"Held out: {several(held, 'byte')}.")
    if count := sum(prepared.cut_out.values()):
        cut = in_units(count, weight_scale)
        console.say(f"{several(cut, 'special token was', 'special tokens were')} cut out of the text.")


def report_sources(run: Run, corpus: Corpus, console: Console) -> SourceCurves | None:
    """Reports the weight and the compression of each source, and returns them; None where they cannot be measured."""
    try:
        curves = console.finish(source_curves_work(run, corpus))
    except TokStudioError as error:
        console.say(f"The text by source cannot be measured. {error}")
        return None
    for (name, weight, merges), ratio in zip(source_facts(run, corpus), curves.bytes_per_token().tolist(), strict=True):
        weighed = "" if corpus.weights is None else f"weight {count_text(weight, ONCE)}, "
        chose = "" if merges is None else f", chose {several(merges, 'merge')}"
        console.say(f"{name}: {weighed}{ratio:.2f} bytes per token{chose}.")
    return curves


def source_facts(run: Run, corpus: Corpus) -> list[tuple[str, int, int | None]]:
    """The name and the weight in thousandths of each entry, and the merges it chose; None for plain BPE."""
    weights = corpus.weights or (ONCE,) * len(corpus.sources)
    facts = dict(zip(entries(corpus.sources), weights, strict=True)).items()
    if not run.languages:
        return [(name, weight, None) for (name, _), weight in facts]
    # Entries of weight 0 are no languages.
    chosen = iter(np.bincount(run.columns["chosen_by"] + 1, minlength=len(run.languages) + 1)[1:].tolist())
    return [(name, weight, next(chosen) if weight else 0) for (name, _), weight in facts]


def report_held_out(
    tokenizer: Tokenizer, held_out: Sequence[Source], config: TrainingConfig, console: Console
) -> float | None:
    """Reports the compression of held-out text, and returns its bytes per token; None where it is unknown."""
    try:
        measured = console.finish(measure_work(tokenizer, held_out, config))
    except ConfigError as error:
        console.say(f"The held-out text cannot be measured. {error}")
        return None
    ratio = measured.bytes_per_token
    if ratio is not None:
        console.say(
            f"Held-out text: {ratio:.2f} bytes per token, {several(measured.bytes, 'byte')} -> "
            f"{several(measured.tokens, 'token')}."
        )
    return ratio
