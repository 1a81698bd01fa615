"""The report of an export, as a value and as a text to keep beside the files."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import platform
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import count_text, first_few, in_units, percent_text, several, shown
from tokstudio.core.corpus.corpus import ONCE
from tokstudio.core.corpus.leaving_out import told_totals
from tokstudio.core.formats.common.proof import NOT_PROVED
from tokstudio.version import __version__

if TYPE_CHECKING:
    from tokstudio.core.model.run import TrainedOn
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_LIBRARIES = ("tokenizers", "tiktoken", "sentencepiece", "xllamacpp")
_WRAPPER = textwrap.TextWrapper(
    120, initial_indent="    ", subsequent_indent="      ", break_long_words=False, break_on_hyphens=False
)
_MOST_NAMED = 20


@dataclass(frozen=True)
class WrittenFile:
    """A written file: its path, size in bytes, and SHA-256."""

    path: Path
    size: int
    sha256: str


@dataclass(frozen=True)
class ExportReport:
    """The report of an export."""

    files: tuple[Path, ...]
    losses: tuple[str, ...]  # properties that the format could not hold, each a sentence
    # The result of reading it back, such as "identical on the test text (1,234 tokens)", or that the library is not
    # there; empty for a table.
    proof: str
    notes: tuple[str, ...] = ()  # advice on using the files, each a sentence
    snippet: str = ""  # Python code that loads them; empty where there is none
    format: str = ""  # the title of the format
    tokenizer: tuple[str, ...] = ()  # a description of the tokenizer, in a few lines
    written: tuple[WrittenFile, ...] = ()  # the files again, with sizes and hashes
    renumbered: str = ""  # a sentence on changed ids; "" where none changed
    # For a tokenizer that was made from another, what stayed the same: nine points in lines.
    changed: tuple[str, ...] = ()

    @property
    def is_proved(self) -> bool:
        """Whether the library that owns the format gave the same ids."""
        return bool(self.proof) and not self.proof.startswith(NOT_PROVED)

    @property
    def proof_sentence(self) -> str:
        """A sentence on the proof; "" where there is none."""
        if not self.proof or self.is_proved:
            return f"Read back: {self.proof}." if self.proof else ""
        return f"{self.proof[:1].upper()}{self.proof[1:]}."

    def text(self) -> str:
        """The whole report as text, with the versions of the libraries."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield f"A tokenizer exported by TokStudio {__version__}"
        yield from _section("Format", [self.format])
        yield from _section(
            "Files",
            [f"{file_name(file.path)}: {several(file.size, 'byte')}, SHA-256 {file.sha256}" for file in self.written],
        )
        yield from _section("Tokenizer", self.tokenizer)
        yield from _section("Lost", self.losses or ["Nothing."])
        yield from _section("Renumbered", [self.renumbered] if self.renumbered else [])
        yield from _section("Notes", self.notes)
        yield from _section("What stayed the same, and what changed", self.changed)
        yield from _section("Proof", [self.proof_sentence] if self.proof else [])
        if self.snippet:
            yield from ("", "To load it", "", textwrap.indent(self.snippet.rstrip("\n"), "    "))
        yield from _section("Versions", [", ".join(versions())])


def described(tokenizer: Tokenizer) -> tuple[str, ...]:
    """A description of a tokenizer in a few lines."""
    specials, extra = tokenizer.special_tokens, tokenizer.extra_tokens
    counts = [f"{len(tokenizer.alphabet):,} {tokenizer.alphabet.base}", several(len(tokenizer.merges), "merge")]
    counts += [several(len(specials), "special token")] if specials else []
    counts += [several(len(extra), "token that no merge makes", "tokens that no merge makes")] if extra else []
    lines = [f"{several(len(tokenizer), 'token')}: {', '.join(counts)}.", f"Pattern: {shown(tokenizer.pattern)}."]
    if specials:
        named = first_few(specials, _MOST_NAMED, lambda token: f"{shown(token)} {specials[token]}")
        lines.append(f"Special tokens with their ids: {named}.")
    if (run := tokenizer.run) is not None:
        size = several(in_units(run.corpus.bytes, run.weight_scale), "byte")
        lines.append(f"Trained on {size}; SHA-256 of the corpus: {run.corpus.sha256}.")
        if run.corpus.left_out:
            lines.append(f"Left out of the texts before: {told_totals(run.corpus.left_out)}.")
        if weights := _weights(run.corpus):
            lines.append(f"Weights of the sources: {first_few(weights, _MOST_NAMED, str)}; the bytes are weighted.")
    return tuple(lines)


def _weights(corpus: TrainedOn) -> list[str]:
    """The weight of each source, with its name and its share of the weighted text where they are known."""
    whole = sum(weight * size for _, weight, size in corpus.mixture) or 1
    return [
        f"{shown(name)} {count_text(weight, ONCE)} ({percent_text(weight * size / whole, 1)} of the text)"
        for name, weight, size in corpus.mixture
    ] or [count_text(weight, ONCE) for weight in corpus.weights or ()]


def _section(title: str, lines: list[str] | tuple[str, ...]) -> Iterator[str]:
    if lines:
        yield from ("", title, "")
    yield from map(_WRAPPER.fill, lines)


def versions() -> list[str]:
    """TokStudio, Python and the libraries with their versions."""
    from importlib.metadata import PackageNotFoundError, version

    programs = [f"TokStudio {__version__}", f"Python {platform.python_version()}"]
    for library in _LIBRARIES:
        try:
            programs.append(f"{library} {version(library)}")
        except PackageNotFoundError:
            programs.append(f"{library}: not installed")
    return programs
