"""Opens a tokenizer for a command, with an error that names --pattern."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

from tokstudio.cli.process.terminal import Console
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress
from tokstudio.core.formats import Loaded, PatternNeeded, load_work

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
    if loaded.remark:
        console.say(loaded.remark)
    if path.is_dir():
        console.say(f"Tokenizer: {', '.join(file.name for file in loaded.files)}.")
    return loaded
