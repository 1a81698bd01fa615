"""The command `train`: reads texts, trains on them, and writes what was asked for."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np

from tokstudio.cli.signals import Signals
from tokstudio.cli.terminal import DONE, FAILED, Console, put, standard_input
from tokstudio.core.corpus import Corpus, Source, document_ends
from tokstudio.core.decoding import decode, detect, encoding_name
from tokstudio.core.errors import CorpusError, FormatError, TokStudioError
from tokstudio.core.formats import FORMATS, ExportReport, save_work
from tokstudio.core.progress import Work
from tokstudio.core.run import MergeBatch, Run, TrainingConfig
from tokstudio.core.trainer import Trainer

_SAMPLE = 1_000_000  # bytes of the corpus that an export is tried with


def train(arguments: argparse.Namespace, console: Console, signals: Signals) -> int:
    """Trains, and gives the exit code; an interrupted training is kept as well."""
    exports: list[tuple[str, Path]] = arguments.export
    _check_folders(exports)
    config = TrainingConfig(
        vocabulary_size=arguments.vocab_size,
        min_frequency=arguments.min_frequency,
        tie_break=arguments.tie_break,
        max_token_bytes=arguments.max_token_bytes,
    )
    corpus = console.finish(_read_corpus(arguments.files, arguments.documents, arguments.encoding))
    for source in corpus.sources:
        _tell_of(source, console)
    console.finish(corpus.sha256_work())
    trainer = Trainer(corpus, config)
    code = _merge(trainer, arguments, console, signals)
    trainer.stop()
    run = trainer.run
    console.say(_summary(run))
    if exports and code != DONE and not len(run):
        console.say("Interrupted before the first merge: nothing was exported.")
        exports = []
    reports = _export(trainer, exports, console)
    if arguments.json:
        put(sys.stdout, json.dumps(_as_json(run, reports)) + "\n")
    return code or (DONE if len(reports) == len(exports) else FAILED)


def _check_folders(exports: Iterable[tuple[str, Path]]) -> None:
    """Finds before an hour of training what would be in the way of its result."""
    for name, path in exports:
        folder = path.absolute().parent
        if not FORMATS[name].folder and not folder.is_dir():
            raise FormatError(f"{path.name}: the folder {folder} does not exist: make it, or choose another.")
        if not os.access(path if FORMATS[name].folder and path.is_dir() else folder, os.W_OK):
            raise FormatError(f"{path.name}: nothing can be written to {folder}: choose another folder.")


def _read_corpus(files: Iterable[str], documents: str, encoding: str | None) -> Work[Corpus]:
    sources: list[Source] = []
    for file in files:
        if file == "-":
            sources.append((yield from _read_standard_input(documents, encoding)))
        else:
            sources += (yield from Corpus.from_files_work([file], documents, encoding)).sources
    return Corpus(tuple(sources))


def _read_standard_input(documents: str, encoding: str | None) -> Work[Source]:
    chosen = None if encoding is None else encoding_name(encoding)
    raw = np.frombuffer(standard_input(), np.uint8)
    decoded = yield from (detect(raw) if chosen is None else decode(raw, chosen))
    if not len(decoded.data):
        raise CorpusError("standard input: it holds no text.")
    ends = yield from document_ends(decoded.data, documents)
    return Source("standard input", None, decoded.encoding, decoded.note, decoded.data, ends)


def _tell_of(source: Source, console: Console) -> None:
    """Says how a source was read, where that is not a matter of course."""
    remarks = [] if source.encoding in ("utf-8", "bytes") else [f"read as {source.encoding}"]
    remarks += [source.note] if source.note else []
    if remarks:
        console.say(f"{source.name}: {'; '.join(remarks)}.")


def _merge(trainer: Trainer, arguments: argparse.Namespace, console: Console, signals: Signals) -> int:
    """Trains to the end or to an interruption; gives the exit code."""
    stream: TextIO | None = None
    if arguments.print_merges:
        stream = sys.stderr if arguments.json else sys.stdout
    # Merges and progress on one screen would be in each other's way.
    progress_too = stream is None or not stream.isatty()
    try:
        while trainer.ended is None:
            with signals.held():  # what is kept of an interrupted training is what was printed
                batch = trainer.advance()
                if stream is not None and len(batch):
                    try:
                        put(stream, _in_words(batch))
                    except BrokenPipeError:
                        if not arguments.export:
                            raise
                        stream = None  # nobody reads any longer, but the files are wanted
            if progress_too and trainer.ended is None:
                console.show(trainer.progress, f", {trainer.merges_made:,} merges" * (trainer.merges_made > 0))
    except KeyboardInterrupt:
        return signals.code
    return DONE


def _in_words(batch: MergeBatch) -> str:
    """Each merge on a line, in the words of the first source document."""
    # The ids of a run follow from the number of its merges: the first merge makes 256.
    pairs = enumerate(zip(batch.left.tolist(), batch.right.tolist(), strict=True), 255 + batch.first)
    return "".join(f"Merge ({left}, {right}) into a new token {made}\n" for made, (left, right) in pairs)


def _summary(run: Run) -> str:
    merges = "1 merge" if len(run) == 1 else f"{len(run):,} merges"
    return (
        f"Trained in {run.seconds:.1f} s: {run.ended}. {merges}, {run.bytes_per_token():.2f} bytes per token, "
        f"{run.tokens_before:,} -> {_tokens(run):,} tokens."
    )


def _as_json(run: Run, reports: Iterable[ExportReport]) -> dict[str, object]:
    return {
        "merges": len(run),
        "vocabulary_size": 256 + len(run),
        "ended": run.ended,
        "tokens": _tokens(run),
        "bytes_per_token": run.bytes_per_token(),
        "seconds": run.seconds,
        "files": [str(file) for report in reports for file in report.files],
    }


def _tokens(run: Run) -> int:
    return int(run.tokens_after[-1]) if len(run) else run.tokens_before


def _export(trainer: Trainer, exports: Sequence[tuple[str, Path]], console: Console) -> list[ExportReport]:
    """Writes every export that can be written, and gives their reports."""
    reports: list[ExportReport] = []
    if not exports:
        return reports
    tokenizer = trainer.tokenizer()
    sample = trainer.corpus.sample(_SAMPLE)
    for name, path in exports:
        try:
            report = console.finish(save_work(tokenizer, path, name, sample=sample))
        except TokStudioError as error:
            console.complain(str(error))
            continue
        reports.append(report)
        console.say(f"Exported {', '.join(map(str, report.files))}" + (f": {report.proof}." if report.proof else "."))
    return reports
