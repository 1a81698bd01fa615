"""SentencePiece's `NAME.model`, written of tokenizers over characters: it does merges by the texts that they make.

What stands in the file is left to `sentencepiece_writer`, whether the library encodes with it as we do to `proof`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokstudio.core.formats import sentencepiece_writer
from tokstudio.core.formats.base import GIGABYTE, Fit, Format, library_problem
from tokstudio.core.progress import Work

if TYPE_CHECKING:
    from tokstudio.core.tokenizer import Tokenizer

MODEL = "tokenizer.model"

_SNIPPET = """\
from sentencepiece import SentencePieceProcessor

tokenizer = SentencePieceProcessor(model_file={path})
ids = tokenizer.encode("Hello world")
"""


class SentencePiece(Format):
    """`NAME.model`."""

    name = "sentencepiece"
    title = "SentencePiece"
    description = "a .model for the sentencepiece library, as Llama 2, Mistral and T5 have it; characters only"
    files = (MODEL,)
    writable = True
    largest = GIGABYTE

    def problem(self, tokenizer: Tokenizer) -> str | None:
        """It begins with characters."""
        if problem := library_problem(tokenizer):
            return problem
        if tokenizer.alphabet.base != "characters":
            return "SentencePiece merges characters, and this tokenizer is made of bytes."
        return None

    def losses(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """It splits no text, has no tokens apart from merging, and takes one character for a space."""
        return sentencepiece_writer.losses(tokenizer)

    def notes(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """What it does with characters that it does not know, with special tokens and with gaps between ids."""
        return sentencepiece_writer.notes(tokenizer)

    def fit_work(self, tokenizer: Tokenizer) -> Work[Fit]:
        """Each token needs a text of its own as well, and nothing else may give that text."""
        fitting = yield from super().fit_work(tokenizer)
        if fitting.problem is not None:
            return fitting
        return replace(fitting, problem=(yield from sentencepiece_writer.problem_work(tokenizer)))

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """Each token with some bytes around it, and names for the gaps."""
        return token_bytes + 24 * len(tokenizer.tokens) + 1000

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """The one file."""
        return {MODEL: sentencepiece_writer.model(tokenizer)}

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Lets the library read the file and encode; its ids must be ours, but for runs of unknown characters."""
        return (yield from sentencepiece_writer.prove(tokenizer, written[MODEL], name, sample))

    def snippet(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> str:
        """Python that loads the model with the library."""
        return _SNIPPET.format(path=repr(str(targets[MODEL].absolute())))
