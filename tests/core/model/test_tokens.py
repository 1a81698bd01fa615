"""The tokens of a vocabulary as bytes."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np

from tokstudio.core.base.arrays import read_only
from tokstudio.core.model.tokens import NEAR, TokenParts


class Counting(dict[int, bytes]):
    """Counts how often it is asked."""

    asked = 0

    def get(self, key: int, default: bytes | None = None) -> bytes | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        self.asked += 1
        return super().get(key, default)


def test_the_beginning_of_a_token_that_grew_by_a_byte_at_a_time_is_found_in_few_steps() -> None:
    n = 3000
    merges = np.array([(97, 98), *((256 + at, 97 + at % 26) for at in range(n - 1)), (99, 256 + n - 1)], np.int32)
    results = np.arange(256, 256 + len(merges), dtype=np.int32)
    parts = TokenParts({byte: bytes([byte]) for byte in range(256)}, read_only(merges), read_only(results))
    for token in (256, 700, 256 + n - 1, 256 + n):
        whole = parts[token]
        for limit in (1, 68, NEAR):
            parts._known = known = Counting({byte: bytes([byte]) for byte in range(256)})
            assert parts.prefix(token, limit) == whole[:limit]
            assert known.asked < 2000
