"""Copies a tokenizer that its owner's library encodes for: its file as it was opened, in the format it came in.

What a library makes of such a file is not ours to write anew. What stands beside it is written by its format.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.formats.common.format import Fit, Format
from tokstudio.core.formats.common.proof import compare_work, trial_texts

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_COPIED = "The file is copied unchanged, because its own library encodes for this tokenizer."
_BESIDE = (
    "In a folder, a new {file} is written beside it, without other settings of the original, such as a chat template."
)
_PIECE = 1 << 16


class Copy(Format):
    """A format in which one tokenizer is copied.

    Args:
        of: The format.
        tokenizer: What it holds.
    """

    def __init__(self, of: Format, tokenizer: LibraryTokenizer) -> None:
        self._of, self._sources = of, tokenizer.source_files
        self.name, self.title, self.description, self.files = of.name, of.title, of.description, of.files
        self.folder, self.readable, self.writable, self.largest = of.folder, of.readable, of.writable, of.largest

    def takes_folder(self, path: Path) -> bool:
        """As its format does."""
        return self._of.takes_folder(path)

    def targets(self, path: Path) -> Mapping[str, Path]:
        """As its format has them."""
        return self._of.targets(path)

    def check_places(self, targets: Mapping[str, Path]) -> None:
        """As its format does."""
        self._of.check_places(targets)

    def fit_work(self, tokenizer: Tokenizer) -> Work[Fit]:
        """Nothing is lost of what was opened."""
        yield Progress("measuring")
        beside = [file for file in self.files if file.endswith(".json") and file not in self._sources]
        return Fit(None, (), (_COPIED, *(_BESIDE.format(file=file) for file in beside)))

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """That of the largest file."""
        return max(map(len, self._sources.values()))

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """What the library reads as it was, and what its format puts beside that."""
        usual, content = next(iter(self._sources.items()))
        pieces = (content[start : start + _PIECE] for start in range(0, len(content), _PIECE))
        return {**self._of.contents(tokenizer), usual: pieces}

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Opens the copy; it must hold the same, and give the same ids for hard text, special tokens and the sample."""
        usual, *others = self._sources
        files = tuple(written[file] for file in self._sources)
        back = yield from self._of.read(files, (name, *others))
        if getattr(back, "source_files", {}).get(usual) != self._sources[usual]:
            raise FormatError(f"{name}: when read back, it differs from the opened file.")
        ours: list[NDArray[np.uint32]] = []
        theirs: list[NDArray[np.uint32]] = []
        for text in trial_texts(tokenizer, sample):
            ours.append((yield from tokenizer.encode_work(text, "all")))
            theirs.append((yield from back.encode_work(text, "all")))
        return (yield from compare_work(tokenizer, name, "read back", ours, theirs))

    def snippet(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> str:
        """As its format has it."""
        return self._of.snippet(tokenizer, targets)


def writer_of(chosen: Format, tokenizer: Tokenizer) -> Format:
    """Who writes a tokenizer in a format: the format, or a copy where the tokenizer was opened through its library."""
    from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer

    if isinstance(tokenizer, LibraryTokenizer) and tokenizer.library == chosen.library:
        return Copy(chosen, tokenizer)
    return chosen
