"""Saves a run as a project: where the user asks for one, or where an export of the run failed.

The corpus is not saved: it could take long, and all the free space.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from contextlib import suppress
from itertools import count
from pathlib import Path

import platformdirs

from tokstudio.cli.process.terminal import Console
from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.model.run import Run
from tokstudio.core.project import SUFFIX, Project, ProjectRun, save_work

_LONGEST_NAME = 60  # characters: a file name has at most 255 bytes, and the length may be what failed


def save_project(run: Run, path: Path, console: Console) -> Path | None:
    """Saves a run where the user asks for it, and reports that; None where it cannot be written."""
    try:
        _save(run, path, console)
    except (TokStudioError, OSError) as error:
        console.complain(str(error))
        return None
    except MemoryError:
        console.complain(f"{file_name(path)}: this computer does not have enough free memory to write it.")
        return None
    console.say(f"Saved {path}: open that project, or export from it with tokstudio convert.")
    return path


def rescue(run: Run, target: Path, console: Console) -> Path | None:
    """Saves a run beside the target of its export, or else in this user's state folder, and reports where.

    No file is ever replaced.

    Returns:
        The project; None where it cannot be written.
    """
    name = target.absolute().name.removesuffix(SUFFIX)[:_LONGEST_NAME].strip(".") or "run"
    for folder in (_nearest_folder(target), _state_folder()):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            place = _reserved(folder, name)
        except (OSError, ValueError):
            continue
        try:
            _save(run, place, console)
        except BaseException as error:
            with suppress(OSError):
                place.unlink()
            # The next folder may be on another disk.
            if not isinstance(error, (TokStudioError, OSError, MemoryError)):
                raise
            continue
        console.complain(f"The run is kept in {place}: open that project, or export from it with tokstudio convert.")
        return place
    console.complain(
        "The run is lost: it could not be saved as a project either, beside the export or in your own folder."
    )
    return None


def _save(run: Run, place: Path, console: Console) -> None:
    console.finish(save_work(Project(runs=(ProjectRun("Run 1", run),), active=0), place))


def _nearest_folder(target: Path) -> Path:
    """The folder of a target, or the nearest existing one above it."""
    return next((above for above in target.absolute().parents if os.path.isdir(above)), Path.cwd())


def _state_folder() -> Path:
    return Path(platformdirs.user_state_dir("tokstudio", appauthor=False)) / "kept"


def _reserved(folder: Path, name: str) -> Path:
    """Creates a new empty file, so that moving the project there replaces no other file."""
    for number in count(1):
        place = folder / f"{name}{f'-{number}' * (number > 1)}{SUFFIX}"
        with suppress(FileExistsError):
            place.touch(mode=0o600, exist_ok=False)
            return place
    raise AssertionError
