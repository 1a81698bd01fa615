"""Rules for tokens that a training must not make."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import MappingProxyType
from unicodedata import category

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.wording import shown
from tokstudio.core.pretokenization.custom_regex import compile_expression
from tokstudio.core.text.scripts import script_of
from tokstudio.core.text.utf8 import is_utf8

_EXACT, _IN_HEX = "token:", "bytes:"
_SECONDS_OF_A_MATCH = 1.0

Rule = Callable[[bytes], bool]


def token_rule(token: bytes) -> str:
    """The rule that forbids exactly this token."""
    return _EXACT + token.decode() if is_utf8(token) else _IN_HEX + token.hex()


class Forbidden:
    """Tokens that must not be made: those that any rule describes.

    A rule is a name of `NAMED_RULES`; "token:" and the text of a token, or "bytes:" and its bytes in hexadecimal
    digits; or else a regular expression that matches anywhere in a token. Expressions see a token that is not UTF-8
    with U+FFFD for its invalid bytes.

    Raises:
        ConfigError: An expression does not compile, or digits are not hexadecimal.
    """

    def __init__(self, rules: Sequence[str]) -> None:
        self._tokens = frozenset(_exact(rule) for rule in rules if rule.startswith((_EXACT, _IN_HEX)))
        self._rules = [_rule(rule) for rule in rules if not rule.startswith((_EXACT, _IN_HEX))]

    def __bool__(self) -> bool:
        return bool(self._tokens or self._rules)

    def __contains__(self, token: bytes) -> bool:
        """Whether a token must not be made; ConfigError where an expression takes too long for it."""
        return token in self._tokens or any(rule(token) for rule in self._rules)


def _exact(rule: str) -> bytes:
    if rule.startswith(_EXACT):
        return rule.removeprefix(_EXACT).encode()
    try:
        return bytes.fromhex(rule.removeprefix(_IN_HEX))
    except ValueError:
        raise ConfigError(f"The forbidden token {shown(rule)} is not in hexadecimal digits.") from None


@lru_cache(maxsize=64)
def _rule(rule: str) -> Rule:
    if rule in NAMED_RULES:
        return NAMED_RULES[rule]
    try:
        expression = compile_expression(rule)
    except ConfigError as error:
        raise ConfigError(f"Forbidden tokens: {str(error)[:1].lower()}{str(error)[1:]}") from None

    def matches(token: bytes) -> bool:
        try:
            return expression.search(token.decode("utf-8", "replace"), timeout=_SECONDS_OF_A_MATCH) is not None
        except TimeoutError:
            raise ConfigError(f"The expression {shown(rule)} takes too long to match: write a simpler one.") from None

    return matches


def _mixes_scripts(token: bytes) -> bool:
    return len({script for character in token.decode("utf-8", "ignore") if (script := script_of(character))}) > 1


def _splits_characters(token: bytes) -> bool:
    """Whether it joins part of a character to something else; parts of one character alone are needed to make it."""
    return not is_utf8(token) and any(byte & 0xC0 != 0x80 for byte in token[1:])


def _has_letters_with_digits(token: bytes) -> bool:
    text = token.decode("utf-8", "ignore")
    return any(map(str.isalpha, text)) and any(category(character)[0] == "N" for character in text)


NAMED_RULES: MappingProxyType[str, Rule] = MappingProxyType(
    {
        "mixed-scripts": _mixes_scripts,
        "split-characters": _splits_characters,
        "letters-with-digits": _has_letters_with_digits,
    }
)
