"""Reads a tokenizer from files, or by its name."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.leftovers import recover_work
from tokstudio.core.base.progress import Work, finish
from tokstudio.core.formats.common.format import Loaded
from tokstudio.core.formats.common.text_readers import open_file
from tokstudio.core.formats.kept_tokenizers import read_or_kept_work
from tokstudio.core.formats.known_formats import format_of
from tokstudio.core.hub.names import name_of
from tokstudio.core.pretokenization.patterns import check_pattern
from tokstudio.core.text.utf8 import AnyPath

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer


def load(path: AnyPath, pattern: str | None = None) -> Tokenizer:
    """Reads a tokenizer from a file or a folder, or fetches one by its name, which uses the network.

    Args:
        path: The file or the folder; or, if there is none, a name: `hf:OWNER/REPOSITORY` with or without `@REVISION`,
            of the Hugging Face Hub, or `tiktoken:ENCODING`.
        pattern: The pattern, where the files do not have it: a name of `patterns.NAMES` or a regular expression. It
            comes before that of a well-known file, which is recognised by its hash.

    Raises:
        ConfigError: The pattern or the name is invalid.
        PatternNeeded: The files have no pattern, and none is given.
        FormatError: There is no tokenizer, it is damaged, or it needs something that TokStudio does not support; or it
            cannot be fetched.
    """
    return finish(load_work(path, pattern)).tokenizer


def load_work(path: AnyPath, pattern: str | None = None) -> Work[Loaded]:
    """Does the same as `load` in bounded pieces, and names the files."""
    if pattern is not None:
        check_pattern(pattern)
    if (name := name_of(path)) is not None:
        from tokstudio.core.hub.fetching import fetch_work

        fetched = yield from fetch_work(name)
        loaded = yield from load_work(Path(fetched.path), pattern)
        return replace(loaded, name=name.short, remark=fetched.remark)
    settled: set[Path] = set()
    yield from settle_work((Path(path),), settled)
    chosen, files = format_of(Path(path))
    yield from settle_work(files, settled)
    for file in files:
        # Before a pattern is asked for.
        open_file(file, file_name(file), chosen.largest_read)[0].close()
    tokenizer = yield from read_or_kept_work(chosen, files, tuple(file_name(file) for file in files), pattern)
    return Loaded(tokenizer, files, chosen.name)


def settle_work(paths: Iterable[Path], settled: set[Path]) -> Work[None]:
    """Finishes interrupted exports in folders other than `settled`; raises FormatError where one stays partial."""
    for path in paths:
        try:
            place = Path(os.path.realpath(path))
            folder = place if place.is_dir() else place.parent
        except (OSError, ValueError):
            continue  # opening it reports the error
        if folder in settled:
            continue
        settled.add(folder)
        torn = yield from recover_work(folder, "reading", strangers=False)
        if torn and (place == folder or place.name in torn):
            raise FormatError(
                f"{file_name(path)}: an export was interrupted or is not finished, and only some of the files are new: "
                "try again, or export it again."
            )
