"""The lines of texts as libraries and tokenizers encode them, found by going through them one by one."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re


def lines_of(text):
    """Lines with their ends and the empty lines after them."""
    return [unit for _, unit in numbered_lines([text])]


def numbered_lines(texts):
    """The same of several documents, each line with its number in all of them."""
    found, number = [], 0
    for text in texts:
        units = []
        for line in re.findall(r"[^\n]*\n|[^\n]+\Z", text):
            number += 1
            if units and line in ("\n", "\r\n", "\r"):
                units[-1][1] += line
            else:
                units.append([number, line])
        whole = [unit for _, unit in units]
        found += [(n, unit + _behind(unit, "".join(whole[at:]))) for at, (n, unit) in enumerate(units, 1)]
    return found


def _behind(unit, following):
    """What is encoded with a line: nothing between `word`, line feed and `word`."""
    if not following or (unit[-2:-1].strip() and not following[0].isspace()):
        return ""
    word = re.match(r"\s*\S{1,40}", following, re.ASCII)
    return word[0] if word else ""
