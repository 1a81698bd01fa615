"""Measures by which tokenizers are compared."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from tokstudio.core.analysis.compression import compression_ratio


@pytest.mark.parametrize("tokens", [[72, 233], (1, 2), np.array([5, 6], np.uint32), 2, np.int64(2)])
def test_the_compression_ratio_is_bytes_of_utf8_per_token(tokens):
    assert compression_ratio("Hé", tokens) == 1.5


def test_bytes_count_as_they_are():
    assert compression_ratio(b"\xff\xfe\xfd", 2) == 1.5


@pytest.mark.parametrize("text", ["", "a text"])
@pytest.mark.parametrize("tokens", [0, []])
def test_where_there_are_no_tokens_the_ratio_is_zero(text, tokens):
    assert compression_ratio(text, tokens) == 0.0


def test_surrogates_count_as_their_utf8():
    assert compression_ratio("\ud83d\ude00", 1) == 4.0, "a pair is one character"
    assert compression_ratio("\ud83d", 1) == 3.0, "a lone one is U+FFFD"
