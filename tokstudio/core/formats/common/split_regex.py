"""The regular expressions of patterns in files, and the patterns that such expressions name."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.pretokenization.custom_regex import covered
from tokstudio.core.pretokenization.patterns import NAMES, OWN, REGEX, covering, leaves_gaps, splitter

# The library's regular expressions are Oniguruma's. It takes `{1,3}+` for a repeated group, others for a possessive
# `{1,3}`; in the named patterns both split alike without the plus sign.
_WRITTEN = {name: regex.replace("{1,3}+", "{1,3}") for name, regex in REGEX.items()}

REPEATED_GROUP = re.compile(r"\{[0-9,]+\}\+")


def written_regex(pattern: str) -> str:
    """The regular expression of a pattern other than "none", for the library, which isolates what it matches."""
    if (expression := covered(pattern)) is not None:
        return expression
    return next((_WRITTEN[name] for name, regex in REGEX.items() if pattern in (name, regex)), pattern)


def isolating_pattern(regex: str) -> str:
    """Like `known_pattern`, for the library, which makes pre-tokens of text between matches too; or ConfigError."""
    known = known_pattern(regex)
    return covering(regex) if known not in NAMES and leaves_gaps(regex) else known


def named_pattern(name: str, regex: str) -> str:
    """Like `known_pattern`, with a FormatError that begins with `name`."""
    try:
        return known_pattern(regex)
    except ConfigError as error:
        raise FormatError(f"{name}: its pattern cannot be used: {error}") from error


def known_pattern(regex: str) -> str:
    """The name of a regular expression that splits like a named pattern, otherwise the expression; or ConfigError."""
    number = splitter(regex).kind
    return regex if number == OWN else NAMES[number]
