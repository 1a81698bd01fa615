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
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.format import Fit, Format, cut, gathered
from tokstudio.core.formats.common.proof import Ids, compare_work, trial_texts
from tokstudio.core.formats.near_form import NearForm, near_form

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_COPIED = "The file of its own library is copied unchanged, because that library encodes for this tokenizer."
_BESIDE = "In a folder, a new {file} is written beside it."
_TOKENS = "The added tokens that stand only in the files beside it are lost: {names}."


class Copy(Format):
    """What differs from the format where it copies a tokenizer; names, targets and snippet are those of the format."""

    def __init__(self, of: Format, tokenizer: LibraryTokenizer) -> None:
        self._of, self._sources, self._beside = of, tokenizer.source_files, tokenizer.tokens_beside

    def fit_work(self, tokenizer: Tokenizer) -> Work[Fit]:
        """A copy with the files beside it loses nothing."""
        yield Progress("measuring")
        beside = [file for file in self._of.files if file.endswith(".json") and file not in self._sources]
        return Fit(None, (), (_COPIED, *(_BESIDE.format(file=file) for file in beside)))

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """The size of the largest file."""
        return max(map(len, self._sources.values()))

    def further_targets(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> Mapping[str, Path]:
        """The files that stand beside the library's, where a folder was named."""
        usual, file = next((usual, target) for usual, target in targets.items() if usual in self._sources)
        if file.name != usual or (self._of.folder and len(targets) == 1):
            return {}
        further = dict(self._of.further_targets(tokenizer, targets))
        further |= {name: file.parent.joinpath(*name.split("/")) for name in self._sources if name not in targets}
        for name, target in further.items() if not self._of.folder else ():
            if target.is_file() and target.read_bytes() != self._sources[name]:
                raise FormatError(
                    f"{target.name}: this file is in the folder already, and differs: choose another one."
                )
        return further

    def lost_at(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> tuple[str, ...]:
        """The library's file alone has only what stands in it."""
        if all(name in targets for name in self._sources):
            return ()
        lost = (_TOKENS.format(names=", ".join(map(shown, self._beside))),) if self._beside else ()
        return (*lost, *tokenizer.settings.lost_config())

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """The files of the library unchanged, and the other files of the format."""
        copied = {name: gathered(cut(content)) for name, content in self._sources.items()}
        return {**self._of.contents(tokenizer), **copied} if self._of.folder else copied

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Opens the copy; it must be equal, and give the same ids for a hard text, special tokens and the sample."""
        usual, *others = self._sources
        others = [file for file in others if file in written]
        files = (written[usual], *(written[file] for file in others))
        back = yield from self._of.read(files, (name, *(file.split("/")[-1] for file in others)))
        if getattr(back, "source_files", {}).get(usual) != self._sources[usual]:
            raise FormatError(f"{name}: when read back, it differs from the opened file.")
        if len(files) < len(self._sources):
            return "identical to the opened file"
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
