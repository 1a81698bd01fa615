"""Copies a tokenizer whose own library encodes for it: its file as it was opened, in the same format.

TokStudio does not write such a file anew. Other files of the format are written beside it.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.formats.common.format import Fit, Format, cut, gathered
from tokstudio.core.formats.common.proof import Ids, compare_work, trial_texts
from tokstudio.core.formats.near_form import NearForm, near_form

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_COPIED = "The file is copied unchanged, because its own library encodes for this tokenizer."
_BESIDE = (
    "In a folder, a new {file} is written beside it, without other settings of the original, such as a chat template."
)


class Copy(Format):
    """What differs from the format where it copies a tokenizer; names, targets and snippet are those of the format."""

    def __init__(self, of: Format, tokenizer: LibraryTokenizer) -> None:
        self._of, self._sources = of, tokenizer.source_files

    def fit_work(self, tokenizer: Tokenizer) -> Work[Fit]:
        """A copy loses nothing."""
        yield Progress("measuring")
        beside = [file for file in self._of.files if file.endswith(".json") and file not in self._sources]
        return Fit(None, (), (_COPIED, *(_BESIDE.format(file=file) for file in beside)))

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """The size of the largest file."""
        return max(map(len, self._sources.values()))

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """The library's file unchanged, and the other files of the format."""
        usual, content = next(iter(self._sources.items()))
        return {**self._of.contents(tokenizer), usual: gathered(cut(content))}

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Opens the copy; it must be equal, and give the same ids for a hard text, special tokens and the sample."""
        usual, *others = self._sources
        files = tuple(written[file] for file in self._sources)
        back = yield from self._of.read(files, (name, *others))
        if getattr(back, "source_files", {}).get(usual) != self._sources[usual]:
            raise FormatError(f"{name}: when read back, it differs from the opened file.")
        ours, theirs = Ids(), Ids()
        for text in trial_texts(tokenizer, sample):
            ours.append((yield from tokenizer.encode_work(text, "all")))
            theirs.append((yield from back.encode_work(text, "all")))
        return (yield from compare_work(tokenizer, name, "read back", ours, theirs))


def writer_of(chosen: Format, tokenizer: Tokenizer, sample: str = "") -> Format:
    """The format that writes a tokenizer: itself, a copy of a library's files, or a near form, judged by a sample."""
    from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer

    if isinstance(tokenizer, LibraryTokenizer) and tokenizer.library == chosen.library:
        return Copy(chosen, tokenizer)
    if chosen.takes_near_form and (near := near_form(tokenizer)) is not None:
        return NearForm(chosen, near, sample)
    return chosen
