"""The text of the source document and the fifty merges that it prints."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

FIFTY = """
Tokenizers are essential tools in natural language processing.
They break down text into smaller units called tokens.
Tokenizers help in transforming raw text into a format that machine learning models can understand.
There are different types of tokenizers, including word tokenizers, subword tokenizers, and character tokenizers.
"""
# The pairs that the source document lists for this text, in order.
FIFTY_PAIRS = (
    "101 114, 32 116, 105 110, 101 110, 111 107, 260 259, 256 115, 261 105, 263 122, 264 262, 101 32, 32 258, 97 110, "
    "10 84, 97 114, 97 108, 258 103, 111 114, 257 265, 101 115, 97 116, 46 269, 32 99, 272 32, 274 44, 265 32, "
    "270 266, 275 115, 259 116, 108 115, 277 104, 257 101, 287 120, 288 116, 289 267, 290 116, 291 111, 292 32, "
    "271 108, 32 117, 295 110, 102 273, 297 109, 97 99, 268 100, 119 273, 301 100, 302 280, 303 32, 269 281"
)
FIFTY_LINES = [
    f"Merge ({pair.replace(' ', ', ')}) into a new token {token}"
    for token, pair in enumerate(FIFTY_PAIRS.split(", "), 256)
]
