"""The parsed content of a `tokenizer.json`, before it is decided whether TokStudio or its library encodes."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.formats.common.json_reader import shown
from tokstudio.core.formats.huggingface.parts import AddedToken


@dataclass
class ParsedFile:
    """The parsed content of the file.

    Attributes:
        settings: Its parts except the model.
        model: The model except its tokens and merges.
        added: The added tokens.
        vocabulary: Each token with its id.
        has_merges: Whether the merges were understood.
    """

    settings: dict[str, object] = field(default_factory=dict[str, object])
    model: dict[str, object] = field(default_factory=dict[str, object])
    added: list[AddedToken] = field(default_factory=list[AddedToken])
    vocabulary: dict[str, int] = field(default_factory=dict[str, int])
    has_merges: bool = False
    _rows: array[int] = field(default_factory=lambda: array("i"))

    @property
    def rows(self) -> NDArray[np.int32]:
        """int32 [n, 3], the merges: ids of left, right and result."""
        return np.frombuffer(self._rows, np.int32).reshape(-1, 3)

    def add(self, left: str, right: str, prefix: object) -> str | None:
        """Adds a merge of tokens that may have a prefix; returns what is wrong with it instead, if anything."""
        made = left + (right[len(prefix) :] if isinstance(prefix, str) else right)
        for part in (left, right, made):
            if part not in self.vocabulary:
                number = len(self._rows) // 3 + 1
                return f"merge {number:,} needs the token {shown(part)}, which the vocabulary does not have"
        self._rows.extend((self.vocabulary[left], self.vocabulary[right], self.vocabulary[made]))
        return None
