"""The exports of commands, and checks of places before long work begins."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tokstudio.cli.process.terminal import Console
from tokstudio.core.base.atomic_files import StagedFiles
from tokstudio.core.base.errors import FormatError, TokStudioError
from tokstudio.core.base.progress import Work
from tokstudio.core.formats import FORMATS, ExportReport, fit, save_work, try_places_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer

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
