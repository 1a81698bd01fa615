"""Finds the one file in a folder that ends as those of a format do."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from itertools import islice
from pathlib import Path

from tokstudio.core.errors import FormatError
from tokstudio.core.files import file_name

_MOST_LISTED = 1000


def only_file(folder: Path, ending: str) -> Path | None:
    """The file in a folder whose name ends in `ending`; None where there is none.

    Raises:
        FormatError: There are several.
    """
    files = sorted(file for file in islice(folder.glob(f"*{ending}"), _MOST_LISTED) if file.is_file())
    if len(files) > 1:
        names = f"{files[0].name} and {files[1].name}"
        raise FormatError(f"{file_name(folder)}: the folder holds more than one tokenizer, {names}: open one of them.")
    return files[0] if files else None
