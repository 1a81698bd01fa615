"""The interface of a file format: its names, what it can hold, and how to write, prove and read it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import first_few, several, shown
from tokstudio.core.formats.common.text_readers import LineReader, only_file
from tokstudio.core.model.alphabet import BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokstudio.core.pretokenization.preparation import Preparation
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

GIGABYTE = 10**9
LARGEST_WRITTEN = 4 * GIGABYTE

#: The remark on a file of Mistral's; exported files do the opposite.
NEVER_OF_TEXT = "Text never becomes special tokens in Mistral's own library."

_LEFT_OUT = "The exported files leave it out, too."
_OF_TEXT = (
    "With the exported files it does, where a program looks for special tokens in text, as the tokenizers library does."
)
_MOST_NAMED = 3
_PIECE = 1 << 14
_PART = 3 << 10  # in base64 such a part needs no padding


@dataclass(frozen=True)
class Fit:
    """How well a format can hold a tokenizer, before anything is written."""

    problem: str | None  # the reason why it cannot be written at all, a sentence; None where it can
    losses: tuple[str, ...]  # the properties that would be lost, each a sentence
    notes: tuple[str, ...]  # advice on using the files, each a sentence


class PatternNeeded(FormatError):
    """The files have no pattern, so the caller must give one; `name` is that of the file, `why` the reason."""

    def __init__(self, name: str, why: str = "the file does not say how text is split") -> None:
        self.name = name
        super().__init__(f"{name}: {why}: give a pattern, such as gpt2 or cl100k.")


@dataclass(frozen=True, eq=False)
class Loaded:
    """A tokenizer that was read, its files, and the name of their format.

    Where it was opened by its name, `name` is that without the owner, and `remark` may say where it is from.
    """

    tokenizer: Tokenizer
    files: tuple[Path, ...]
    format: str
    name: str = ""
    remark: str = ""


class Format:
    """A file format."""

    name: str  # its name for programs, such as "huggingface"
    title: str  # its name in the interface, such as "Hugging Face"
    description: str  # its purpose in one line
    files: tuple[str, ...]  # the usual names of its files
    looked_for: str  # the files by which users recognise a folder of this format, where it can be loaded
    folder: bool = False  # whether it is saved to a folder, because it has several files
    readable: bool = True  # whether it can be loaded
    writable: bool = True  # whether it can be saved
    only_bytes: bool = False  # whether it holds only merges of bytes
    keys: frozenset[str] = frozenset()  # keys that a JSON file of this format may begin with
    largest: int = LARGEST_WRITTEN  # the largest size of a written file in bytes
    largest_read: int = 5 * GIGABYTE  # the largest size of a file that is read
    takes_near_form: bool = False  # whether it is offered the form nearest to a tokenizer that it cannot hold
    holds_any_order: bool = False  # whether a merge may join a token that a later one makes
    holds_preparation: bool = False  # whether it holds what is done to a text before it is split
    keeps_gaps: bool = False  # whether it is a table, which keeps the ids of a tokenizer and the gaps between them
    library: str | None = None  # the library that owns it, as in `Tokenizer.library`; None where there is none

    def takes_folder(self, path: Path) -> bool:
        """Whether `path` names a folder to write to, to be created if necessary, rather than a file."""
        return self.folder

    def targets(self, path: Path) -> Mapping[str, Path]:
        """The target of each file, by its usual name, for the `path` that the user named.

        Raises:
            FormatError: It has several files, and `path` is one file.
        """
        if not self.takes_folder(path):
            return {self.files[0]: path / self.files[0] if path.is_dir() else path}
        if path.is_file() or (path.name in self.files and not path.is_dir()):
            file = "this is a file, and " if path.is_file() else ""
            raise FormatError(f"{path.name}: {file}{self.title} has several files: name a folder to save them in.")
        return {usual: path / usual for usual in self.files}

    def check_places(self, targets: Mapping[str, Path]) -> None:
        """Checks the files that would be replaced.

        Raises:
            FormatError: The user did not name one of them, and may not want to replace it.
        """

    def further_targets(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> Mapping[str, Path]:
        """The targets of files that only some tokenizers have, by their usual names, beside those of `targets`.

        Raises:
            FormatError: A file in the folder would change what the written files mean.
        """
        return {}

    def lost_at(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> tuple[str, ...]:
        """What is lost because not all files of the format are among the targets, each a sentence; mostly nothing."""
        return ()

    def problem(self, tokenizer: Tokenizer) -> str | None:
        """The reason why this tokenizer cannot be written at all, a sentence; None where it can."""
        if self.readable and tokenizer.library is not None:
            return f"This tokenizer works only from its own file: {tokenizer.no_playhead}."
        if self.readable and tokenizer.removals is not None:
            return (
                f"{self.title} holds only merges, but this tokenizer also removes tokens: export it with a Python "
                "loader, or save it in a project."
            )
        if self.readable and tokenizer.supermerges is not None:
            return (
                f"{self.title} cannot hold supermerges, which join words that are whole tokens: export it with a "
                "Python loader, save it in a project, or export only merges before the first supermerge."
            )
        if self.readable and not self.holds_any_order and (problem := joined_early(tokenizer)):
            return f"{self.title} {problem}"
        if self.only_bytes and tokenizer.alphabet.base != "bytes":
            return f"{self.title} holds only merges of bytes, but this tokenizer merges characters."
        return None

    def losses(self, tokenizer: Tokenizer) -> Iterable[str]:
        """The properties of this tokenizer that the format cannot hold, each a sentence; mostly none."""
        return ()

    def remarks_lost(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """The remarks of the tokenizer about properties that the format cannot hold either; mostly all."""
        return tokenizer.content.remarks

    def settings_lost(self, tokenizer: Tokenizer) -> Iterable[str]:
        """What the format cannot hold of `Tokenizer.settings`, each a sentence; mostly all."""
        return tokenizer.settings.lost()

    def notes(self, tokenizer: Tokenizer) -> Iterable[str]:
        """Advice on using the files, each a sentence; mostly none."""
        return ()

    def new_ids(self, tokenizer: Tokenizer) -> NDArray[np.int32] | None:
        """The new id of each token in the files, by id, -1 for none; None where all ids stay."""
        return None

    def fit_work(self, tokenizer: Tokenizer) -> Work[Fit]:
        """How well it can hold a tokenizer: all of the above, and what only a look at every token shows."""
        problem = self.problem(tokenizer)
        yield Progress("measuring")
        if problem is not None:
            return Fit(problem, (), ())
        of_tokens = yield from self.check_tokens_work(tokenizer)
        if of_tokens.problem is not None:
            return of_tokens
        losses = [*self.losses(tokenizer)]
        if self.readable:  # these concern tokenizer files, not tables
            for remark in self.remarks_lost(tokenizer):
                losses.append(f"{remark} {_OF_TEXT if remark == NEVER_OF_TEXT else _LEFT_OUT}")
            losses += self.settings_lost(tokenizer)
            losses += () if self.holds_preparation else not_prepared(tokenizer.preparation)
        return Fit(None, (*losses, *of_tokens.losses), (*self.notes(tokenizer), *of_tokens.notes))

    def check_tokens_work(self, tokenizer: Tokenizer) -> Work[Fit]:
        """How well it can hold the tokens, as a look at each of them shows; mostly nothing is wrong."""
        yield from ()
        return Fit(None, (), ())

    def snippet(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> str:
        """Python code that loads the files, ready to paste; "" where there is none."""
        return ""

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """An estimate of the size of its largest file, where all tokens together have `token_bytes`."""
        raise NotImplementedError

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """The content of each file, by its usual name, in pieces of at most about 64 kB."""
        raise NotImplementedError

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Reads the files back and proves that they hold this tokenizer, also with the text `sample`.

        Raises:
            FormatError: They do not; the message begins with `name` and has the first difference.
        """
        yield Progress("proving")
        return ""

    def in_model(self, model: Path, pad: bool) -> Format:
        """The format that writes a copy of a model with a tokenizer in place of its own.

        With `pad`, tokens that the model has more are filled up.

        Raises:
            ConfigError: Its files have no model.
        """
        raise ConfigError(f"{self.title} holds a tokenizer alone: only a GGUF file has a model.")

    def find(self, path: Path) -> tuple[Path, ...]:
        """The files of this format in a folder, or those that a file with a usual name belongs to; or none.

        Raises:
            FormatError: The files are ambiguous, or one of them is missing.
        """
        in_folder = path.is_dir()
        files = tuple((path if in_folder else path.parent) / name for name in self.files)
        return files if (in_folder or path in files) and all(file.is_file() for file in files) else ()

    def find_only(self, path: Path, ending: str) -> tuple[Path, ...]:
        """The only file with this ending in a folder, if it is recognised; or none."""
        file = only_file(path, ending) if path.is_dir() else None
        if file is None:
            return ()
        with LineReader(file, file.name, GIGABYTE) as lines:
            return (file,) if self.recognises(file, lines.peek()) else ()

    def recognises(self, path: Path, beginning: bytes) -> bool:
        """Whether a file with another name is of this format, by its name and its beginning."""
        return False

    def read(self, files: tuple[Path, ...], names: tuple[str, ...], pattern: str | None = None) -> Work[Tokenizer]:
        """Reads the files from `find`, or one file; `names` are theirs in errors.

        Raises:
            FormatError: They are damaged, or need something that TokStudio does not support.
        """
        raise NotImplementedError


def named_specials(specials: Iterable[str]) -> str:
    """The beginning of a sentence about special tokens: their names, and "is" or "are"."""
    tokens = list(specials)
    if len(tokens) == 1:
        return f"The special token {shown(tokens[0])} is"
    return f"The special tokens {first_few(tokens, _MOST_NAMED)} are"


def joined_early(tokenizer: Tokenizer) -> str | None:
    """The end of a sentence where a merge joins a token that no merge before it makes; None where none does."""
    if tokenizer.needed_merges is not None:
        joined = "later ones"
    elif not tokenizer.extra_tokens.keys().isdisjoint(tokenizer.merges.ravel().tolist()):
        joined = "tokens that no merge makes"
    else:
        return None
    return f"holds only merges of tokens that earlier merges make, but some here join {joined}."


def added_bytes(tokenizer: Tokenizer) -> tuple[str, ...]:
    """A sentence where a tokenizer of bytes lacks some that the format always has; mostly none."""
    missing = BYTES - len(tokenizer.alphabet)
    return (f"Tokens for {several(missing, 'byte')} are added, which text never has: the format has all 256.",) * (
        missing > 0
    )


def not_prepared(preparation: Preparation) -> Iterator[str]:
    """A sentence on each part of a preparation that a format without any loses."""
    if preparation.nfc:
        yield "The normalizer NFC is lost: this format does not change text, so some ids will differ."
    if preparation.prefix_space:
        yield "The prefix space is lost: this format puts no space before a text, so some ids will differ."
    if stripping := preparation.strips_left | preparation.strips_right:
        named = ", ".join(map(shown, sorted(stripping)))
        yield f"White space beside special tokens is no longer part of them ({named})."
    if preparation.words:
        yield f"Special tokens are found within words, too ({', '.join(map(shown, sorted(preparation.words)))})."
    if preparation.ordinary:
        names = first_few(sorted(preparation.ordinary), _MOST_NAMED)
        yield f"Added tokens that are not special become special ones: {names}."
    if preparation.late and not preparation.nfc:
        yield "The order in which special tokens are found is lost: the leftmost counts, then the longest."


def bytes_of_tokens(tokenizer: Tokenizer) -> int:
    """Adds up the bytes of all tokens."""
    return int(tokenizer.tokens.lengths().clip(0).sum())


def cut(token: bytes) -> Iterator[bytes]:
    """Yields a token, which may be as long as the corpus, in small parts."""
    for start in range(0, len(token), _PART):
        yield token[start : start + _PART]


def gathered(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Joins the small parts of a file to pieces for `Format.contents`."""
    piece = bytearray()
    for part in parts:
        piece += part
        if len(piece) > _PIECE:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece)
