"""The settings of SuperBPE, with their checks, and the tokens that its stage 2 does not make."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Protocol

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.pretokenization.patterns import covering

MAX_WORDS = 4  # of the paper
#: How stage 2 splits text unless another pattern is given: numbers, marks and spaces before spaces stay apart.
SECOND_PATTERN = r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)"


class _Settings(Protocol):
    """The part of a `TrainingConfig` that is checked here."""

    @property
    def algorithm(self) -> str: ...
    @property
    def base(self) -> str: ...
    @property
    def pattern(self) -> str: ...
    @property
    def vocabulary_size(self) -> int | None: ...
    @property
    def transition(self) -> int | None: ...
    @property
    def second_pattern(self) -> str: ...
    @property
    def max_words(self) -> int: ...


def is_vetoed(token: bytes, max_words: int) -> bool:
    """Whether stage 2 does not make a token: it has more words between its spaces, or a colon before a space."""
    return b": " in token or sum(map(bool, token.split(b" "))) > max_words


def check_superbpe(config: _Settings, least: int | None) -> None:
    """Raises ConfigError where settings of SuperBPE are invalid, or the algorithm is another.

    `least` is the number of tokens without a merge.
    """
    if config.algorithm != "superbpe":
        given = {
            "A transition": config.transition is not None,
            "A second pattern": config.second_pattern != "",
            "The most words of a token": config.max_words != MAX_WORDS,
        }
        for what, is_given in given.items():
            if is_given:
                raise ConfigError(f'{what} can only be set for SuperBPE: choose the algorithm "superbpe".')
        return
    if config.base != "bytes" or least is None:
        raise ConfigError("SuperBPE needs bytes as base tokens.")
    if config.max_words < 1:
        raise ConfigError(f"The most words of a token must be at least 1, not {config.max_words:,}.")
    if config.pattern == "none":
        raise ConfigError("SuperBPE needs a pattern for its first stage: choose one, such as gpt2.")
    _check_transition(config.transition, least, config.vocabulary_size)
    try:
        covering(config.second_pattern)
    except ConfigError as error:
        raise ConfigError(f"The second pattern cannot be used. {error}") from None


def _check_transition(transition: int | None, least: int, size: int | None) -> None:
    if transition is None:
        raise ConfigError("SuperBPE needs a transition: the vocabulary size at which its second stage begins.")
    if transition < least:
        raise ConfigError(
            f"The transition must be at least {least:,}, not {transition:,}: there are that many tokens before the "
            "first merge."
        )
    if size is not None and transition >= size:
        raise ConfigError(
            f"The transition must be below the vocabulary size, {size:,}, not {transition:,}: the second stage makes "
            "the tokens above it."
        )
