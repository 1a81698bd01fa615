"""Opens a tokenizer for a command, with an error that names --pattern; or takes one from a project."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
from pathlib import Path

from tokstudio.cli.process.terminal import Console
from tokstudio.cli.projects import is_project, load_run
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Progress
from tokstudio.core.formats import Loaded, PatternNeeded, load_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer

# At the first start the loops are compiled, which takes seconds.
PREPARING = Progress("preparing the engine")


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


def load_source(arguments: argparse.Namespace, console: Console) -> Tokenizer:
    """Reads `source`, a tokenizer, or a project with the run that --run names; raises as `load_tokenizer_or_run`."""
    return load_tokenizer_or_run(arguments.source, arguments, console)


def load_tokenizer_or_run(path: Path, arguments: argparse.Namespace, console: Console) -> Tokenizer:
    """Reads a tokenizer, or a project with the run that --run names.

    Raises:
        FormatError: See `load_tokenizer`.
        ConfigError: The project has no such run; or a run is named, but it is not a project.
    """
    if is_project(path):
        return load_run(path, arguments.run, console)
    if arguments.run is not None:
        raise ConfigError(f"{path.name}: --run chooses a run of a project, but this is not a project.")
    return load_tokenizer(path, arguments.pattern, console).tokenizer
