"""Checks before any work that the results of a command can be written, and replace nothing that is needed."""

# SPDX-License-Identifier: MIT
# Every command asks this module, so it loads only what the results of this one need.
from __future__ import annotations

import argparse
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tokstudio.cli.process.terminal import Console
from tokstudio.core.base.atomic_files import StagedFiles, file_name
from tokstudio.core.base.errors import CorpusError, FormatError

Exports = Sequence[tuple[str, Path]]  # the name of a format, and the target

# The arguments that name what a command reads: tokenizers, which can be names too, and other files and folders.
READ_TOKENIZERS = ("source", "other", "by", "tokenizer", "tokenizers")
READ_FILES = (
    "file", "files", "texts", "corpus", "counts", "parallel", "base_vocabulary", "sample", "reference", "theirs",
    "leave_out_list", "model", "sheet", "candidates",
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
        from tokstudio.core.hub.addresses import is_address

        if is_address(path.as_posix()) and not path.parent.is_dir():
            raise FormatError(f"{path.name}: results are files of this computer: give a path, and copy it from there.")
        if name == "project" and path.exists():
            raise FormatError(f"{file_name(path)}: this file exists already: give the project another name.")
        if name == "experiment" and not values["force"]:
            from tokstudio.core.experiment.experiment import merges_files

            refuse_existing([path, *merges_files(path, [""]).values()], "the experiment")
        _take([path], taken, "two results would be written to this file")
        _refuse_inputs([path], arguments, console)
        if name != "log_file":  # which is not replaced
            with StagedFiles() as staged:
                console.finish(staged.reserve(path))


def check_exports(exports: Exports, arguments: argparse.Namespace, console: Console, taken: set[str]) -> None:
    """Does of `check_results` what is for exports, and adds their files to those that are `taken`."""
    for name, path in exports:
        from tokstudio.core.formats.saving import try_places_work

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
    own: Collection[Path] = values.get("own_files", ())  # of an experiment, in whose folders of texts they are skipped
    for path in _read(_paths(values, READ_TOKENIZERS), _paths(values, READ_FILES), console, own):
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


def _read(tokenizers: Iterable[Path], texts: Iterable[Path], console: Console, own: Collection[Path]) -> Iterator[Path]:
    """The files that a command reads; of a folder of texts those that are not skipped."""
    from tokstudio.core.corpus.readers.folders import read_folder_work
    from tokstudio.core.formats.common.beside import files_beside
    from tokstudio.core.formats.known_formats import tokenizer_files

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
            yield from console.finish(read_folder_work(path, own)).files


def _paths(values: Mapping[str, object], names: Iterable[str]) -> Iterator[Path]:
    """The paths in arguments, each of which has one or a list, some with a name before it."""
    for name in names:
        value = values.get(name)
        for one in value if isinstance(value, list) else [value]:
            path = one[1] if isinstance(one, tuple) else one
            # `compare` has a flag with the name of the parallel texts of `train`.
            if isinstance(path, (str, Path)):
                yield Path(path)
