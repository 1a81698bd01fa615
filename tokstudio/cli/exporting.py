"""The exports of commands, and the proof of a changed tokenizer.

The commands `convert` and `export-bytes` do nothing but export.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from tokstudio.cli.process.terminal import DONE, FAILED, Console, put, reason
from tokstudio.cli.results import Exports
from tokstudio.cli.tokenizers import is_project, load_tokenizer_or_run
from tokstudio.core.base.atomic_files import file_name, write_files
from tokstudio.core.base.errors import CorpusError, FormatError, TokStudioError
from tokstudio.core.corpus.readers.files import read_file_work
from tokstudio.core.formats.common.format import PatternNeeded
from tokstudio.core.formats.common.proof import KEEPS_IDS, closed_gaps
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.loading import load_work
from tokstudio.core.formats.report import ExportReport, described
from tokstudio.core.formats.saving import fit, save_work
from tokstudio.core.surgery.embedding_map import embedding_map_work
from tokstudio.core.surgery.proof import save_proved_work, verify_all_work
from tokstudio.core.text.encodings import SAMPLE, binary_kind, detect
from tokstudio.core.tokenizer.origin import Proof
from tokstudio.core.tokenizer.tokenizer import Tokenizer


def check_losses(
    tokenizer: Tokenizer, exports: Exports, accept_loss: bool, model: Path | None = None, pad: bool = False
) -> None:
    """Raises FormatError where a format cannot hold a tokenizer, such as one before its first merge."""
    for name, path in exports:
        fitting = fit(tokenizer, name, path=path, model=model, pad=pad)
        if fitting.problem is not None:
            padded = model is not None and not pad and fit(tokenizer, name, path=path, model=model, pad=True)
            advice = " Add --pad to fill it up." if padded and padded.problem is None else ""
            raise FormatError(f"{path.name}: {fitting.problem}{advice}")
        if fitting.losses and not accept_loss:
            raise FormatError(
                f"{path.name}: {FORMATS[name].title} cannot hold all of this tokenizer. {' '.join(fitting.losses)} "
                "Add --accept-loss to export anyway, with losses."
            )


def export(
    tokenizer: Tokenizer,
    exports: Exports,
    arguments: argparse.Namespace,
    sample: bytes,
    console: Console,
    original: Tokenizer | None = None,
    proof: Proof | None = None,
    model: Path | None = None,
    pad: bool = False,
) -> list[ExportReport]:
    """Writes every export that can be written, and returns their reports; see `save_proved_work`.

    Of the `arguments`, --accept-loss and --force are used: files may have appeared since they were checked.
    """
    reports: list[ExportReport] = []
    for name, path in exports:
        try:
            more = {"sample": sample, "original": original, "proof": proof, "model": model, "pad": pad}
            work = save_proved_work(tokenizer, path, name, arguments.accept_loss, may_replace=arguments.force, **more)
            report = console.finish(work)
        except (TokStudioError, OSError) as error:
            console.complain(reason(error))
            continue
        except MemoryError:
            console.complain(f"{path.name}: this computer does not have enough free memory to write it.")
            continue
        reports.append(report)
        console.say(f"Exported {', '.join(map(str, report.files))}" + (f": {report.proof}." if report.proof else "."))
        for sentence in filter(None, (report.renumbered, *report.losses, *report.notes)):
            console.say(f"{path.name}: {sentence}")
    return reports


def convert(arguments: argparse.Namespace, console: Console) -> int:
    """Reads, writes and proves; returns the exit code."""
    exports: list[tuple[str, Path]] = [(arguments.format, arguments.target)]
    original = load_tokenizer_or_run(arguments.source, arguments.run, arguments.pattern, console)
    if arguments.merges is not None:
        original = original.at(arguments.merges)
    tokenizer, moved = closed_gaps(original) if arguments.close_gaps else (original, ())
    if moved and FORMATS[arguments.format].keeps_gaps:
        tokenizer, moved = original, (f"{arguments.target.name}: {KEEPS_IDS}",)
    model, pad = arguments.model, arguments.pad
    check_losses(tokenizer, exports, arguments.accept_loss, model, pad)
    for sentence in moved:
        console.say(sentence)
    sample = console.finish(read_file_work(arguments.sample)) if arguments.sample is not None else b""
    reports = export(tokenizer, exports, arguments, sample, console, original, model=model, pad=pad)
    if not reports:
        return FAILED
    report = replace(reports[0], notes=(*moved, *reports[0].notes))
    if arguments.report is not None:
        console.finish(write_files({arguments.report: [report.text().encode()]}))
    if arguments.json:
        facts = {
            "files": [str(file) for file in report.files],
            **{name: getattr(report, name) for name in ("proof", "renumbered", "losses", "notes", "snippet")},
        }
        put(sys.stdout, json.dumps(facts) + "\n")
    return DONE


def export_bytes(arguments: argparse.Namespace, console: Console) -> int:
    """Writes the bytes of each token, for which the pattern need not be known; returns the exit code."""
    if is_project(arguments.source) or arguments.run is not None:
        tokenizer = load_tokenizer_or_run(arguments.source, arguments.run, None, console)
    else:
        try:
            tokenizer = console.finish(load_work(arguments.source)).tokenizer
        except PatternNeeded:
            tokenizer = console.finish(load_work(arguments.source, "none")).tokenizer
    work = save_work(tokenizer, arguments.target, arguments.format, proof=None, may_replace=arguments.force)
    report = console.finish(work)
    for sentence in report.notes:
        console.say(sentence)
    console.say(f"Wrote {file_name(arguments.target)}.")
    return DONE


def read_reference(path: Path, console: Console) -> str:
    """A reference text in the encoding that is detected; raises CorpusError where it is empty or cannot be read."""
    raw = np.frombuffer(console.finish(read_file_work(path)), np.uint8)
    if not len(raw):
        raise CorpusError(f"{path.name}: the reference text is empty.")
    if kind := binary_kind(raw[:SAMPLE]):
        raise CorpusError(f"{path.name}: the reference text cannot be read: it is {kind}, not text.")
    decoded = console.finish(detect(raw))
    if decoded.encoding != "utf-8" or decoded.note:
        remarks = [*([] if decoded.encoding == "bytes" else [f"read as {decoded.encoding}"]), decoded.note]
        console.say(f"{path.name}: {'; '.join(filter(None, remarks))}.")
    return decoded.data.tobytes().decode("utf-8", "replace")


class Proving:
    """What the arguments of `parser.add_proof` ask for: the nine points, the map of ids in a file, and a report.

    Made before long work, as it reads the reference text.

    Raises:
        CorpusError: The reference text cannot be read.
    """

    def __init__(self, reference: Path | None, map: Path | None, report: Path | None, console: Console) -> None:
        self._map, self._report, self._console = map, report, console
        self.reference = "" if reference is None else read_reference(reference, console)

    def prove(self, tokenizer: Tokenizer, sample: bytes = b"") -> Proof:
        """Proves the nine points and reports them; raises ConfigError where one fails."""
        texts = [sample] if sample else []
        proof = self._console.finish(verify_all_work(tokenizer, texts, self.reference))
        for line in proof.lines():
            self._console.say(line)
        return proof.check()

    def write(self, tokenizer: Tokenizer, proof: Proof, reports: Sequence[ExportReport]) -> None:
        """Writes the map of ids and the report, if they are wanted."""
        if self._report is not None:
            kept = reports or [ExportReport((), (), "", format="Not exported.", tokenizer=described(tokenizer))]
            texts = [replace(report, changed=proof.lines()).text() for report in kept]
            self._console.finish(write_files({self._report: ["\n".join(texts).encode()]}))
        if self._map is not None:
            map_columns = self._console.finish(embedding_map_work(tokenizer))
            self._console.finish(map_columns.write_work(self._map))
            self._console.say(f"Wrote {self._map}: which id became which, and the old tokens of each new one.")

    def as_json(self, proof: Proof) -> dict[str, object]:
        """The points, and the file of the map."""
        outcome: dict[str, object] = {"points": [asdict(point) for point in proof.points]}
        if self._map is not None:
            outcome["map"] = str(self._map)
        return outcome
