"""Patterns that leave text between their matches, with that text as pre-tokens too.

The `tokenizers` library calls this behaviour of a split "isolated". A covering pattern says it in one expression: it
matches like the other where that matches, else everything up to the next place where it does. `CustomRegex` takes the
shorter way.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.pretokenization.custom_regex import AFTER_REST, BEFORE_REST, compile_expression, covered
from tokstudio.core.pretokenization.patterns import NAMES, check_pattern, known_name

_REFERENCE = re.compile(r"\\[1-9]|\\g<|\(\?P[=>&]|\(\?[&R0-9(]")
_TRIAL = "Two words: it's 12 345, naïve 日本.\r\n\n  (End?!)\t_ "


def covering(pattern: str) -> str:
    """The covering pattern of a regular expression; a named pattern covers all text already.

    Raises:
        ConfigError: It cannot split text, or names a group.
    """
    check_pattern(pattern)
    if (name := known_name(pattern)) in NAMES:
        return name
    if covered(pattern) is not None:
        return pattern
    if _REFERENCE.search(pattern):
        raise ConfigError("A pattern that leaves text between its matches cannot refer to its own groups.")
    made = f"{pattern}{BEFORE_REST}{pattern}{AFTER_REST}"
    check_pattern(made)
    return made


def leaves_gaps(pattern: str) -> bool:
    """Whether an expression leaves text of a short sample between its matches."""
    return "".join(match.group() for match in compile_expression(pattern).finditer(_TRIAL, timeout=1.0)) != _TRIAL
