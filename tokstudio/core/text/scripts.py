"""The scripts of letters: those of living languages by name, "Other" for all others."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Progress, Work, finish

# Frequent ones first; fewer than 64, so that a set of them and "Other" fits into 64 bits.
# fmt: off
_SCRIPTS = (
    "Latin", "Cyrillic", "Han", "Hiragana", "Katakana", "Hangul", "Arabic", "Devanagari", "Greek", "Hebrew", "Thai",
    "Bengali", "Tamil", "Telugu", "Kannada", "Malayalam", "Gujarati", "Gurmukhi", "Oriya", "Sinhala", "Georgian",
    "Armenian", "Ethiopic", "Khmer", "Lao", "Myanmar", "Tibetan", "Mongolian", "Thaana", "Syriac", "Cherokee",
    "Canadian_Aboriginal", "Bopomofo", "Yi", "Tifinagh", "Nko", "Vai", "Javanese", "Balinese", "Sundanese", "Ol_Chiki",
    "Meetei_Mayek", "Chakma", "Lisu", "New_Tai_Lue", "Tai_Le", "Tai_Tham", "Adlam", "Osage", "Coptic", "Runic",
    "Gothic", "Ogham",
)
# fmt: on
#: The names of all scripts.
SCRIPTS = (*(script.replace("_", " ") for script in _SCRIPTS), "Other")


def scripts_work(distinct: NDArray[np.uint32]) -> Work[list[tuple[str, NDArray[np.uint32]]]]:
    """Groups distinct letters, and marks on letters, by script; characters that many scripts share are left out."""
    import regex

    text = distinct.astype("<u4").tobytes().decode("utf-32-le", "ignore")
    letters = "".join(regex.findall(r"[[\p{L}\p{M}]--[\p{Script=Common}\p{Script=Inherited}]]+", text, regex.V1))
    scripts: list[tuple[str, NDArray[np.uint32]]] = []
    for script in _SCRIPTS:
        if not letters:
            break
        others = regex.sub(rf"\p{{Script={script}}}+", "", letters)
        if len(others) < len(letters):
            here = "".join(regex.findall(rf"\p{{Script={script}}}+", letters))
            scripts.append((script.replace("_", " "), _points(here)))
            letters = others
        yield Progress("counting scripts")
    if letters:
        scripts.append(("Other", _points(letters)))
    return scripts


def _points(letters: str) -> NDArray[np.uint32]:
    return np.frombuffer(letters.encode("utf-32-le"), "<u4").astype(np.uint32)


@lru_cache(maxsize=1 << 17)
def script_of(character: str) -> str | None:
    """The script of a letter or of a mark on letters; None for characters that many scripts share."""
    points = np.frombuffer(character.encode("utf-32-le", "replace"), "<u4").astype(np.uint32)
    return next((script for script, _ in finish(scripts_work(points))), None)
