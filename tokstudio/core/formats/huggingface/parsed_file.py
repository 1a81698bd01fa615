"""What is read of a `tokenizer.json` before it is known who encodes for it."""

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
    """What is known of the file.

    Attributes:
        settings: Its parts but the model.
        model: The model but its tokens and merges.
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
        """Adds a merge of tokens that may have a prefix; gives what is wrong with it instead, if anything is."""
        made = left + (right[len(prefix) :] if isinstance(prefix, str) else right)
        for part in (left, right, made):
            if part not in self.vocabulary:
                number = len(self._rows) // 3 + 1
                return f"merge {number:,} needs the token {shown(part)}, which the vocabulary does not have"
        self._rows.extend((self.vocabulary[left], self.vocabulary[right], self.vocabulary[made]))
        return None
