"""The regular expression of a pattern as files spell it, and the pattern that a file's expression names."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.pretokenization.patterns import NAMES, OWN, REGEX, splitter

# The library's regular expressions are Oniguruma's. It takes `{1,3}+` for a repeated group, and others take it for a
# `{1,3}` that gives nothing back; in the named patterns nothing is wanted back, so `{1,3}` says the same to both.
_WRITTEN = {name: regex.replace("{1,3}+", "{1,3}") for name, regex in REGEX.items()}


REPEATED_GROUP = re.compile(r"\{[0-9,]+\}\+")


def written_regex(pattern: str) -> str:
    """The regular expression of a pattern other than "none", as the library must have it."""
    return next((_WRITTEN[name] for name, regex in REGEX.items() if pattern in (name, regex)), pattern)


def named_pattern(name: str, regex: str) -> str:
    """The name of a regular expression, if it splits text as a named pattern does, else itself.

    Raises:
        FormatError: It cannot split text; the message calls the file `name`.
    """
    try:
        return known_pattern(regex)
    except ConfigError as error:
        raise FormatError(f"{name}: its pattern cannot be used: {error}") from error


def known_pattern(regex: str) -> str:
    """The name of a regular expression that splits as a named pattern does, else itself; may raise ConfigError."""
    number = splitter(regex).kind
    return regex if number == OWN else NAMES[number]
