"""Opens a tokenizer for a command, with an error that names --pattern; or takes one from a project."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from pathlib import Path

from tokstudio.cli.process.terminal import Console
from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.leftovers import SUFFIX
from tokstudio.core.base.progress import Progress
from tokstudio.core.formats.common.format import Loaded, PatternNeeded
from tokstudio.core.formats.loading import load_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer

# At the first start the loops are compiled, which takes seconds.
PREPARING = Progress("preparing the engine")


def is_project(path: Path) -> bool:
    """Whether a path names a project."""
    return path.suffix == SUFFIX and not os.path.isdir(path)


def load_tokenizer(path: Path, pattern: str | None, console: Console) -> Loaded:
    """Reads a tokenizer, and reports which files of a folder were read.

    Raises:
        FormatError: There is none, it is damaged, or its files have no pattern and `pattern` is None.
    """
    console.show(PREPARING)
    try:
        loaded = console.finish(load_work(path, pattern))
    except PatternNeeded as error:
        raise FormatError(f"{error} Add --pattern with a name or an expression.") from error
    if pattern is not None and loaded.tokenizer.pattern != pattern:
        console.say(f"{path.name}: its files say how it splits text; --pattern was not used.")
    if loaded.remark:
        console.say(loaded.remark)
    if path.is_dir():
        console.say(f"Tokenizer: {', '.join(file.name for file in loaded.files)}.")
    return loaded


def load_tokenizer_or_run(path: Path, run: str | None, pattern: str | None, console: Console) -> Tokenizer:
    """Reads a tokenizer, or a project with the run of this name; `load_other` has no name of a run.

    Raises:
        FormatError: See `load_tokenizer`.
        ConfigError: The project has no such run; or a run is named, but it is not a project.
    """
    if is_project(path):
        from tokstudio.cli.projects import load_run

        return load_run(path, run, console)
    if run is not None:
        raise ConfigError(f"{path.name}: --run chooses a run of a project, but this is not a project.")
    return load_tokenizer(path, pattern, console).tokenizer


def load_other(path: Path, pattern: str | None, console: Console) -> Tokenizer:
    """Reads a tokenizer beside another one: a project must have one run.

    Raises:
        FormatError: See `load_tokenizer`.
        ConfigError: The project has no run, or several.
    """
    if not is_project(path):
        return load_tokenizer(path, pattern, console).tokenizer
    from tokstudio.cli.projects import load_runs

    [(_, tokenizer, _), *more] = load_runs(path, console)
    if more:
        raise ConfigError(f"{file_name(path)}: this project has {1 + len(more)} runs: export the one to use.")
    return tokenizer
