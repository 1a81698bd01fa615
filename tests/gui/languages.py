"""Small texts in three languages for tests of parity-aware BPE in the window."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

TEXTS = {
    "de": "der dachs und der fuchs und der igel, und noch ein dachs. " * 4,
    "en": "the badger and the fox and the hedgehog, and another badger. " * 4,
    "fi": "mäyrä ja kettu ja siili, ja vielä toinen mäyrä. " * 4,
}
PARALLEL = {
    "de": "der fuchs und der igel",
    "en": "the fox and the hedgehog",
    "fi": "kettu ja siili ja mäyrä ja kettu ja siili",
}
NAMES = [f"{language}.txt" for language in TEXTS]
