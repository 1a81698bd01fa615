"""How the commands open a tokenizer: its files, and the pattern where they do not say it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

from tokstudio.cli.terminal import Console
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress
from tokstudio.core.formats import Loaded, PatternNeeded, load_work


def tell_of_the_engine(console: Console) -> None:
    """Says why nothing seems to happen: at the first start the loops are compiled, which takes seconds."""
    console.show(Progress("preparing the engine"))


def load_tokenizer(path: Path, pattern: str | None, console: Console) -> Loaded:
    """Reads a tokenizer, and says which files of a folder it took.

    Raises:
        FormatError: There is none, it is damaged, or its files do not say how text is split and `pattern` is None.
    """
    tell_of_the_engine(console)
    try:
        loaded = console.finish(load_work(path, pattern))
    except PatternNeeded as error:
        raise FormatError(f"{error} Add --pattern with a name or an expression.") from error
    if path.is_dir():
        console.say(f"Tokenizer: {', '.join(file.name for file in loaded.files)}.")
    return loaded
