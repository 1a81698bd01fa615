"""The exports of commands, checks of all results before work begins, and the proof of a changed tokenizer.

The commands `convert` and `export-bytes` do nothing but export.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from tokstudio.cli.process.terminal import DONE, FAILED, Console, put, reason
from tokstudio.cli.projects import is_project, load_tokenizer_or_run
from tokstudio.core.base.atomic_files import StagedFiles, file_name, write_files
from tokstudio.core.base.errors import CorpusError, FormatError, TokStudioError
from tokstudio.core.corpus.readers.files import read_file_work
from tokstudio.core.corpus.readers.folders import read_folder_work
from tokstudio.core.formats.common.beside import files_beside
from tokstudio.core.formats.common.format import PatternNeeded
from tokstudio.core.formats.common.proof import closed_gaps
from tokstudio.core.formats.known_formats import FORMATS, tokenizer_files
from tokstudio.core.formats.loading import load_work
from tokstudio.core.formats.report import ExportReport, described
from tokstudio.core.formats.saving import fit, save_work, try_places_work
from tokstudio.core.hub.addresses import is_address
from tokstudio.core.surgery.proof import embedding_map_work, save_proved_work, verify_all_work
from tokstudio.core.tokenizer.origin import Proof
from tokstudio.core.tokenizer.tokenizer import Tokenizer

Exports = Sequence[tuple[str, Path]]  # the name of a format, and the target

# The arguments that name what a command reads: tokenizers, which can be names too, and other files and folders.
READ_TOKENIZERS = ("source", "other", "by", "tokenizer", "tokenizers")
READ_FILES = (
    "file", "files", "texts", "corpus", "counts", "parallel", "base_vocabulary", "sample", "reference", "theirs",
    "leave_out_list", "model", "sheet",
)  # fmt: skip
# The arguments that name what it writes, beside exports.
RESULTS = ("project", "out", "csv", "map", "report", "log_file", "left_out", "experiment")


def check_results(
    arguments: argparse.Namespace, console: Console, taken: set[str] | None = None, further: Iterable[Path] = ()
) -> None:
    """Checks before any work that the results of a command can be written and replace nothing that is needed.

    Args:
        arguments: What the command reads and writes.
        console: Shows the progress.
        taken: The files of results that were checked before.
        further: Results that no argument names.

    Raises:
        FormatError: A file cannot be written, two results would be written to it, or the command reads it; or an export
            or a project exists already.
    """
    values = vars(arguments)
    taken = set[str]() if taken is None else taken
    exports: Exports = values.get("export") or ([(values["format"], values["target"])] if "target" in values else [])
    check_exports(exports, arguments, console, taken)
    # The parallel set of `compare` is asked for by a flag, and `report` is a command too.
    named = [(name, path) for name in RESULTS if isinstance(path := values.get(name), Path)]
    for name, path in (*named, *(("", path) for path in further)):
        if is_address(path.as_posix()) and not path.parent.is_dir():
            raise FormatError(f"{path.name}: results are files of this computer: give a path, and copy it from there.")
        if name == "project" and path.exists():
            raise FormatError(f"{file_name(path)}: this file exists already: give the project another name.")
        if name == "experiment" and not values["force"]:
            from tokstudio.core.experiment.result import merges_files

            refuse_existing([path, *merges_files(path, [""]).values()], "the experiment")
        _take([path], taken, "two results would be written to this file")
        _refuse_inputs([path], arguments, console)
        if name != "log_file":  # which is not replaced
            with StagedFiles() as staged:
                console.finish(staged.reserve(path))


def check_exports(exports: Exports, arguments: argparse.Namespace, console: Console, taken: set[str]) -> None:
    """Does of `check_results` what is for exports, and adds their files to those that are `taken`."""
    for name, path in exports:
        files = console.finish(try_places_work(path, name, vars(arguments).get("model")))
        _take(files, taken, "two exports would write this file")
        _refuse_inputs(files, arguments, console)
        if not arguments.force:
            refuse_existing(files, "the export")


def refuse_existing(files: Iterable[Path], what: str) -> None:
    """Raises FormatError where a file of a result exists."""
    for file in files:
        if os.path.lexists(file):
            raise FormatError(
                f"{file_name(file)}: this file exists already: give {what} another path, or add --force to replace it."
            )


def _take(files: Iterable[Path], taken: set[str], problem: str) -> None:
    """Notes the files of a result; raises FormatError where another result has one of them."""
    places = {_place(file): file for file in files}
    for place, file in places.items():
        if place in taken:
            raise FormatError(f"{file_name(file)}: {problem}: give each its own path.")
    taken.update(places)


def _place(file: Path) -> str:
    """What all paths to a file that need not exist have in common."""
    real = Path(os.path.realpath(file))
    for folder in real.parents:
        other = folder.with_name(folder.name.swapcase()) if folder.name else folder
        if other != folder and folder.exists():
            with suppress(OSError):
                if os.path.samefile(other, folder):  # the system does not tell a from A
                    return str(real).casefold()
            break
    return str(real)


def _refuse_inputs(targets: Iterable[Path], arguments: argparse.Namespace, console: Console) -> None:
    """Raises FormatError where a result would replace a file that the command reads, by whatever name."""
    existing = {identity: target for target in targets if (identity := _identity(target)) is not None}
    if not existing:
        return
    values = vars(arguments)
    for path in _read(_paths(values, READ_TOKENIZERS), _paths(values, READ_FILES), console):
        if (identity := _identity(path)) in existing:
            name = file_name(existing[identity])
            raise FormatError(f"{name}: the command reads this file: give the result another path.")


def _identity(path: Path) -> tuple[int, int] | None:
    """What all names of a file have in common; None for a folder, a device, or where there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _read(tokenizers: Iterable[Path], texts: Iterable[Path], console: Console) -> Iterator[Path]:
    """The files that a command reads; of a folder of texts those that are not skipped."""
    for path in tokenizers:
        yield path
        yield from tokenizer_files(path)
        folder = path if os.path.isdir(path) else path.parent
        with suppress(FormatError, OSError):  # opening it reports the error
            yield from files_beside(folder)
    for path in texts:
        if not os.path.isdir(path):
            yield path
            continue
        with suppress(CorpusError):  # reading it reports the error
            yield from console.finish(read_folder_work(path)).files


def _paths(values: Mapping[str, object], names: Iterable[str]) -> Iterator[Path]:
    """The paths in arguments, each of which has one or a list, some with a name before it."""
    for name in names:
        value = values.get(name)
        for one in value if isinstance(value, list) else [value]:
            path = one[1] if isinstance(one, tuple) else one
            # `compare` has a flag with the name of the parallel texts of `train`.
            if isinstance(path, (str, Path)):
                yield Path(path)


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
    accept_loss: bool,
    sample: bytes,
    console: Console,
    original: Tokenizer | None = None,
    proof: Proof | None = None,
    model: Path | None = None,
    pad: bool = False,
) -> list[ExportReport]:
    """Writes every export that can be written, and returns their reports; see `save_proved_work`."""
    reports: list[ExportReport] = []
    for name, path in exports:
        try:
            more = {"sample": sample, "original": original, "proof": proof, "model": model, "pad": pad}
            report = console.finish(save_proved_work(tokenizer, path, name, accept_loss, **more))
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
    model, pad = arguments.model, arguments.pad
    check_losses(tokenizer, exports, arguments.accept_loss, model, pad)
    for sentence in moved:
        console.say(sentence)
    sample = console.finish(read_file_work(arguments.sample)) if arguments.sample is not None else b""
    reports = export(tokenizer, exports, arguments.accept_loss, sample, console, original, model=model, pad=pad)
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
    report = console.finish(save_work(tokenizer, arguments.target, arguments.format, proof=None))
    for sentence in report.notes:
        console.say(sentence)
    console.say(f"Wrote {file_name(arguments.target)}.")
    return DONE


def read_reference(path: Path, console: Console) -> str:
    """A reference text; raises CorpusError where it cannot be read, or is empty."""
    raw = console.finish(read_file_work(path))
    if not raw:
        raise CorpusError(f"{path.name}: the reference text is empty.")
    return raw.decode("utf-8", "replace")


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
