"""SentencePiece's `NAME.model`, written for tokenizers over characters; any model of byte pairs can be read."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokstudio.core.base.progress import Work
from tokstudio.core.formats.common.format import GIGABYTE, Fit, Format, library_problem
from tokstudio.core.formats.common.line_reader import LineReader, only_file
from tokstudio.core.formats.sentencepiece import reader as sentencepiece_reader
from tokstudio.core.formats.sentencepiece import writer as sentencepiece_writer

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

MODEL = "tokenizer.model"

_SUFFIX = ".model"

_SNIPPET = """\
from sentencepiece import SentencePieceProcessor

tokenizer = SentencePieceProcessor(model_file={path})
ids = tokenizer.encode("Hello world")
"""


class SentencePiece(Format):
    """`NAME.model`."""

    name = "sentencepiece"
    title = "SentencePiece"
    description = "a .model for the sentencepiece library, as used by Llama 2, Mistral and T5; only for characters"
    files = (MODEL,)
    readable = True
    writable = True
    largest = GIGABYTE
    library = "sentencepiece"

    @property
    def looked_for(self) -> str:
        """Its usual ending."""
        return f"NAME{_SUFFIX}"

    def problem(self, tokenizer: Tokenizer) -> str | None:
        """The format holds only merges of characters."""
        if problem := library_problem(tokenizer):
            return problem
        if tokenizer.alphabet.base != "characters":
            return "SentencePiece merges characters, but this tokenizer merges bytes."
        return None

    def losses(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """It has no patterns, no tokens apart from merging, and uses one character for a space."""
        return sentencepiece_writer.losses(tokenizer)

    def notes(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """Notes on unknown characters, special tokens and gaps between ids."""
        return sentencepiece_writer.notes(tokenizer)

    def fit_work(self, tokenizer: Tokenizer) -> Work[Fit]:
        """Checks that each token has a different text as well, and that no other merge makes it."""
        fitting = yield from super().fit_work(tokenizer)
        if fitting.problem is not None:
            return fitting
        return replace(fitting, problem=(yield from sentencepiece_writer.problem_work(tokenizer)))

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """Each token with a few bytes around it, and names for the gaps."""
        return token_bytes + 24 * len(tokenizer.tokens) + 1000

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """The one file."""
        return {MODEL: sentencepiece_writer.model(tokenizer)}

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Lets the library read the file and encode; its ids must be equal, except for runs of unknown characters."""
        return (yield from sentencepiece_writer.prove(tokenizer, written[MODEL], name, sample))

    def snippet(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> str:
        """Python that loads the model with the library."""
        return _SNIPPET.format(path=repr(str(targets[MODEL].absolute())))

    def find(self, path: Path) -> tuple[Path, ...]:
        """The only model in a folder, if it is SentencePiece's; a file is recognised by its beginning."""
        model = only_file(path, _SUFFIX) if path.is_dir() else None
        if model is None:
            return ()
        with LineReader(model, model.name, GIGABYTE) as lines:
            return (model,) if self.recognises(model, lines.peek()) else ()

    def recognises(self, path: Path, beginning: bytes) -> bool:
        """Whether it begins with a piece."""
        return sentencepiece_reader.is_model(beginning)

    def read(self, files: tuple[Path, ...], names: tuple[str, ...], pattern: str | None = None) -> Work[Tokenizer]:
        """Reads the model; only its library can split text."""
        return (yield from sentencepiece_reader.read_work(files[0], names[0]))
