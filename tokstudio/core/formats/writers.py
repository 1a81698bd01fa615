"""The format that writes a tokenizer: itself, a copy of a library's files, or a near form of BoundlessBPE."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import percent_text, several, shown
from tokstudio.core.formats.common.format import Fit, Format, cut, gathered
from tokstudio.core.formats.common.proof import Ids, compare_work, named_trials, trial_texts
from tokstudio.core.formats.common.spelling import written_regex
from tokstudio.core.pretokenization.patterns import known_name, splitter, word_ends
from tokstudio.core.text.utf8 import to_utf8

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

# --- Near form --------------------------------------------------------------------------------------------------------
# BoundlessBPE in a file that knows only ordinary merges: a near form, and how many words it encodes differently.
#
# BoundlessBPE joins words that are one token each. A file cannot say so, but its pattern can leave adjacent words
# together. Then the merges within words come first, as in BoundlessBPE, and supermerges after them; these also join a
# word with the beginning or the end of another that is several tokens.

# How many of the first alternatives of each pattern match words; adjacent words become one pre-token.
_OF_WORDS = {"whitespace": 1, "gpt2": 2, "cl100k": 2, "cl100k_right": 2, "llama3": 2, "qwen2": 2, "o200k": 2}


def near_form(tokenizer: Tokenizer) -> Tokenizer | None:
    """The tokenizer without supermerges that is nearest to one with; None where its pattern is not a named one."""
    name, supermerges = known_name(tokenizer.pattern), tokenizer.supermerges
    if supermerges is None or name not in _OF_WORDS:
        return None
    alternatives, amount = list(_alternatives(written_regex(name))), _OF_WORDS[name]
    pattern = "|".join([f"(?:{'|'.join(alternatives[:amount])})+", *alternatives[amount:]])
    order = np.argsort(supermerges, kind="stable")
    return tokenizer.changed(
        merges=tokenizer.merges[order], merge_results=tokenizer.merge_results[order], pattern=pattern, supermerges=None
    )


def _alternatives(regex: str) -> Iterator[str]:
    """The alternatives of a named pattern, which has no bracket or bar as a character of its own."""
    depth = begin = 0
    for place, character in enumerate(regex):
        depth += (character == "(") - (character == ")")
        if character == "|" and depth == 0:
            yield regex[begin:place]
            begin = place + 1
    yield regex[begin:]


@dataclass(frozen=True)
class WordDifferences:
    """How many of the words of a text are encoded differently, and the first that is, between its neighbours."""

    different: int
    words: int
    example: str


def difference_work(tokenizer: Tokenizer, near: Tokenizer, text: str) -> Work[WordDifferences]:
    """Counts the words, as the pattern of `tokenizer` splits a text, with a byte whose token is not the same."""
    ids, ends = yield from tokenizer.encode_with_ends_work(text)
    near_ids, near_ends = yield from near.encode_with_ends_work(text)
    raw = to_utf8(text)
    differs = _tokens_of_bytes(ids, ends, len(raw)) != _tokens_of_bytes(near_ids, near_ends, len(raw))
    data, stops = np.frombuffer(raw, np.uint8), np.array([len(raw)], np.int64)
    pieces = [piece.copy() for piece, _ in word_ends(splitter(tokenizer.pattern), data, 0, stops)] if raw else []
    words = np.concatenate([np.zeros(1, np.int64), *pieces])
    changed = np.logical_or.reduceat(differs, words[:-1]) if raw else np.zeros(0, np.bool_)
    example = ""
    if changed.any():
        at = int(np.argmax(changed))
        around = words[max(0, at - 1)], words[min(len(words) - 1, at + 2)]
        example = raw[around[0] : around[1]].decode("utf-8", "replace").strip()
    return WordDifferences(int(np.count_nonzero(changed)), len(changed), example)


def _tokens_of_bytes(ids: NDArray[np.uint32], ends: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The token of each byte of a text, as its end and its id in one number; int64 [size]."""
    lengths = np.diff(ends, prepend=0)
    return np.repeat(ends << 32 | ids.astype(np.int64), lengths)[:size]


class NearForm(Format):
    """What differs from a format where it holds a near form; names, targets and snippet are those of the format."""

    def __init__(self, of: Format, near: Tokenizer, sample: str) -> None:
        self._of, self._near, self._sample = of, near, sample

    def fit_work(self, tokenizer: Tokenizer) -> Work[Fit]:
        """What the format says of the near form, and what is lost."""
        fitting = yield from self._of.fit_work(self._near)
        if fitting.problem is not None:
            return fitting
        loss = _NEAR
        if self._sample:
            difference = yield from difference_work(tokenizer, self._near, self._sample)
            share = f"{difference.different:,} ({percent_text(difference.different / max(1, difference.words), 1)})"
            loss += f" Of {several(difference.words, 'word')} in a sample of the text, {share} get other tokens"
            loss += f", as in “{difference.example}”." if difference.different else "."
        return replace(fitting, losses=(loss, *fitting.losses))

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """That of the near form."""
        return self._of.size(self._near, token_bytes)

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """Those of the near form."""
        return self._of.contents(self._near)

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Proves that the files hold the near form."""
        proof = yield from self._of.prove(self._near, written, name, sample)
        return f"the near form is {proof}"


_NEAR = (
    "This is a near form: it cannot say that only whole words are joined. Its pattern leaves adjacent words together, "
    "so that supermerges also join parts of words."
)

# --- Copies a tokenizer whose own library encodes for it: its file as it was opened, in the same format ---------------
# TokStudio does not write such a file anew. Other files of the format are written beside it.

_COPIED = "The file that its own library reads is written unchanged, because that library encodes for this tokenizer."
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
            raise FormatError(f"{name}: when read back, it differs from the file that its library reads.")
        if len(files) < len(self._sources):
            return "identical to the file that its library reads"
        ours, theirs = Ids(), Ids()
        for text in trial_texts(tokenizer, sample):
            ours.append((yield from tokenizer.encode_work(text, "all")))
            theirs.append((yield from back.encode_work(text, "all")))
        return (yield from compare_work(tokenizer, name, "read back", ours, theirs, named_trials(sample)))


def writer_of(chosen: Format, tokenizer: Tokenizer, sample: str = "") -> Format:
    """The format that writes a tokenizer: itself, a copy of a library's files, or a near form, judged by a sample."""
    from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer

    if isinstance(tokenizer, LibraryTokenizer) and tokenizer.library == chosen.library:
        return Copy(chosen, tokenizer)
    if chosen.takes_near_form and (near := near_form(tokenizer)) is not None:
        return NearForm(chosen, near, sample)
    return chosen
