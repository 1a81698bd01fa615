"""What a tokenizer can do; one whose own library encodes for it can do less.

`Tokenizer` inherits the answers for all that TokStudio encodes for, and `LibraryTokenizer` overrides them.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping


class Abilities:
    """What a tokenizer can do."""

    _pattern: str
    _first_stage: tuple[str, int] | None = None

    @property
    def first_stage(self) -> tuple[str, int] | None:
        """Of a training by SuperBPE past its transition: the pattern of stage 1, and the number of its merges."""
        return self._first_stage

    def _patterns_at(self, merges: int) -> tuple[str, tuple[str, int] | None]:
        """The pattern and the `first_stage` with fewer merges: up to the transition, those of stage 1."""
        stage = self._first_stage
        return (self._pattern, stage) if stage is None or merges > stage[1] else (stage[0], None)

    @property
    def library(self) -> str | None:
        """The library that encodes and decodes for this tokenizer; None where TokStudio does."""
        return None

    @property
    def model(self) -> str:
        """The kind of its model: "BPE", or another that its library has, such as "Unigram"."""
        return "BPE"

    @property
    def no_merges(self) -> str | None:
        """Why it has no merges, a sentence; None where its model is a byte pair encoding."""
        return None if self.model == "BPE" else f"There are no merges: the model of this tokenizer is {self.model}."

    @property
    def no_playhead(self) -> str | None:
        """Why only all merges together can be used, as the end of a sentence; None where `at` takes any number."""
        return None

    @property
    def source_files(self) -> Mapping[str, bytes]:
        """The files that its library reads, by name; none where TokStudio encodes."""
        return {}
