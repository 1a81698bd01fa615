"""The exports of commands, checks of places before long work begins, and the proof of a changed tokenizer.

The command `convert` does nothing but export.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from tokstudio.cli.loading import load_source
from tokstudio.cli.process.terminal import DONE, FAILED, Console, put
from tokstudio.core.base.atomic_files import StagedFiles, write_files
from tokstudio.core.base.errors import CorpusError, FormatError, TokStudioError
from tokstudio.core.base.progress import Work
from tokstudio.core.corpus.readers.files import read_file_work
from tokstudio.core.formats import FORMATS, ExportReport, fit, save_work, try_places_work
from tokstudio.core.formats.common.renumbering import closed_gaps
from tokstudio.core.formats.report import described
from tokstudio.core.surgery.verify import verify_all_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.verification.embedding_map import embedding_map_work
from tokstudio.core.verification.invariants import Proof

Exports = Sequence[tuple[str, Path]]  # the name of a format, and the target


def check_places(exports: Exports, console: Console) -> set[str]:
    """Checks before a long training whether its result can be written; returns the real paths of its files.

    Raises:
        FormatError: A file cannot be written, or two exports would write the same one.
    """
    taken = set[str]()
    for name, path in exports:
        files = {os.path.realpath(file) for file in console.finish(try_places_work(path, name))}
        if shared := taken & files:
            raise FormatError(f"{Path(shared.pop()).name}: two exports would write this file: give each its own path.")
        taken |= files
    return taken


def try_place_work(path: Path) -> Work[None]:
    """Raises FormatError where a file cannot be written, before the long work whose result it is to hold."""
    with StagedFiles() as staged:
        yield from staged.reserve(path)


def check_losses(tokenizer: Tokenizer, exports: Exports, accept_loss: bool) -> None:
    """Raises FormatError where a format cannot hold a tokenizer, such as one before its first merge."""
    for name, path in exports:
        fitting = fit(tokenizer, name)
        if fitting.problem is not None:
            raise FormatError(f"{path.name}: {fitting.problem}")
        if fitting.losses and not accept_loss:
            raise FormatError(
                f"{path.name}: {FORMATS[name].title} cannot hold all of this tokenizer. {' '.join(fitting.losses)} "
                "Add --accept-loss to export anyway, with losses."
            )


def export(
    tokenizer: Tokenizer,
    exports: Exports,
    accept_loss: bool,
    sample: bytes,
    console: Console,
    original: Tokenizer | None = None,
) -> list[ExportReport]:
    """Writes every export that can be written, and returns their reports; for `original` see `save_work`."""
    reports: list[ExportReport] = []
    for name, path in exports:
        try:
            report = console.finish(save_work(tokenizer, path, name, accept_loss, sample=sample, original=original))
        except (TokStudioError, OSError) as error:
            console.complain(str(error))
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
    check_places(exports, console)
    original = load_source(arguments, console)
    if arguments.merges is not None:
        original = original.at(arguments.merges)
    tokenizer, moved = closed_gaps(original) if arguments.close_gaps else (original, ())
    check_losses(tokenizer, exports, arguments.accept_loss)
    for sentence in moved:
        console.say(sentence)
    sample = console.finish(read_file_work(arguments.sample)) if arguments.sample is not None else b""
    reports = export(tokenizer, exports, arguments.accept_loss, sample, console, original)
    if not reports:
        return FAILED
    report = replace(reports[0], notes=(*moved, *reports[0].notes))
    if arguments.report is not None:
        console.finish(write_files({arguments.report: [report.text().encode()]}))
    if arguments.json:
        facts = {
            "files": [str(file) for file in report.files],
            "proof": report.proof,
            "renumbered": report.renumbered,
            "losses": list(report.losses),
            "notes": list(report.notes),
            "snippet": report.snippet,
        }
        put(sys.stdout, json.dumps(facts) + "\n")
    return DONE


def _refuse_inputs(arguments: argparse.Namespace, targets: set[str]) -> None:
    """Raises FormatError where a result would replace a file that the command reads."""
    given = vars(arguments)
    read = [given["source"], given["reference"], given.get("other"), *given.get("corpus", ()), *given.get("files", ())]
    inputs = [os.path.realpath(each) for each in read if each is not None and str(each) != "-"]
    for target in targets:
        if os.path.exists(target) and any(target == each or target.startswith(each + os.sep) for each in inputs):
            name = os.path.basename(target)
            raise FormatError(f"{name}: the command reads this file: give the result another path.")


class Proving:
    """What the arguments of `parser.add_proof` ask for; made before long work, as it checks that files can be written.

    Raises:
        FormatError: A file cannot be written.
        CorpusError: The reference text cannot be read.
    """

    def __init__(self, arguments: argparse.Namespace, console: Console) -> None:
        self._console = console
        self._map: Path | None = arguments.map
        self._report: Path | None = arguments.report
        exports: Exports = arguments.export
        taken = check_places(exports, console)
        for target in filter(None, (self._map, self._report)):
            console.finish(try_place_work(target))
            if (real := os.path.realpath(target)) in taken:
                raise FormatError(f"{target.name}: two results would be written to this file: give each its own path.")
            taken.add(real)
        _refuse_inputs(arguments, taken)
        path: Path | None = arguments.reference
        raw = b"" if path is None else console.finish(read_file_work(path))
        if path is not None and not raw:
            raise CorpusError(f"{path.name}: the reference text is empty.")
        self.reference = raw.decode("utf-8", "replace")
        self._proof: Proof | None = None

    def prove(self, tokenizer: Tokenizer, sample: bytes = b"") -> None:
        """Proves the nine points and reports them; raises ConfigError where one fails."""
        texts = [sample] if sample else []
        self._proof = self._console.finish(verify_all_work(tokenizer, texts, self.reference))
        for line in self._proof.lines():
            self._console.say(line)
        self._proof.check()

    def write(self, tokenizer: Tokenizer, reports: Sequence[ExportReport]) -> None:
        """Writes the map of ids and the report, if they are wanted."""
        if self._report is not None:
            assert self._proof is not None
            kept = reports or [ExportReport((), (), "", format="Not exported.", tokenizer=described(tokenizer))]
            texts = [replace(report, changed=self._proof.lines()).text() for report in kept]
            self._console.finish(write_files({self._report: ["\n".join(texts).encode()]}))
        if self._map is not None:
            made = self._console.finish(embedding_map_work(tokenizer))
            self._console.finish(made.write_work(self._map))
            self._console.say(f"Wrote {self._map}: which id became which, and the old tokens of each new one.")

    def as_json(self) -> dict[str, object]:
        """The points, and the file of the map."""
        assert self._proof is not None
        outcome: dict[str, object] = {"points": [asdict(point) for point in self._proof.points]}
        if self._map is not None:
            outcome["map"] = str(self._map)
        return outcome
