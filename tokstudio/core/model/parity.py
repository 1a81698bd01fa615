"""The settings of parity-aware BPE, with their checks."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Protocol, TypeAlias, cast

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.progress import finish
from tokstudio.core.base.wording import shown, value_text
from tokstudio.core.text.utf8 import to_utf8

#: A text, or the file with it.
ParallelText: TypeAlias = "str | PathLike[str]"

WINDOW, ALPHA = 100, 2.0  # of the paper


class _Settings(Protocol):
    """The part of a `TrainingConfig` that is checked here."""

    @property
    def algorithm(self) -> str: ...
    @property
    def parallel(self) -> object: ...
    @property
    def ratios(self) -> object: ...
    @property
    def global_merges(self) -> int: ...
    @property
    def window(self) -> int | None: ...
    @property
    def alpha(self) -> float: ...


def parallel_texts(given: object) -> tuple[tuple[str, str], ...]:
    """The name of each language with its parallel text, from texts and files.

    Raises:
        ConfigError: A name or a text is not a string, or a name occurs twice.
        CorpusError: A file cannot be read.
    """
    return tuple((name, _text(name, value)) for name, value in _by_name("Parallel texts", given))


def ratios_by_name(given: object) -> tuple[tuple[str, float], ...]:
    """The name of each language with its ratio; raises ConfigError where one is not a positive number."""
    made: list[tuple[str, float]] = []
    for name, ratio in _by_name("Ratios", given):
        if isinstance(ratio, bool) or not isinstance(ratio, (int, float)) or not (isfinite(ratio) and ratio > 0):
            raise ConfigError(f"The ratio of {shown(name)} must be a number above 0, not {value_text(ratio)}.")
        made.append((name, float(ratio)))
    return tuple(made)


def check_parity(config: _Settings) -> None:
    """Raises ConfigError where settings of parity-aware BPE are invalid, or the algorithm is another."""
    alpha = cast("object", config.alpha)
    if isinstance(alpha, bool) or not isinstance(alpha, (int, float)) or not (isfinite(alpha) and alpha > 0):
        raise ConfigError(f"Alpha must be a number above 0, not {value_text(alpha)}.")
    object.__setattr__(config, "alpha", float(alpha))
    if config.global_merges < 0:
        raise ConfigError(f"Global merges must be at least 0, not {config.global_merges:,}.")
    if config.window is not None and config.window < 1:
        raise ConfigError(f"The window must be at least 1, not {config.window:,}.")
    if config.parallel and config.ratios:
        raise ConfigError("Ratios are for training without parallel texts: give one of the two.")
    if config.window is None and config.alpha != ALPHA:
        raise ConfigError("Alpha needs a window.")
    if config.algorithm == "parity":
        return
    given = {
        "Parallel texts": config.parallel,
        "Ratios": config.ratios,
        "Global merges": config.global_merges,
        "A window": config.window,
    }
    for what, value in given.items():
        if value:
            raise ConfigError(f'{what} can only be set for parity-aware BPE: choose the algorithm "parity".')


def _by_name(what: str, given: object) -> list[tuple[str, object]]:
    pairs: object = cast("Mapping[object, object]", given).items() if isinstance(given, Mapping) else given
    made: list[tuple[str, object]] = []
    if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Iterable):
        raise ConfigError(f"{what} must be given by name, not as {reprlib.repr(pairs)}.")
    for pair in cast("Iterable[object]", pairs):
        both = cast("Sequence[object]", pair) if isinstance(pair, (tuple, list)) else ()
        name, value = both if len(both) == 2 else ("", None)
        if not isinstance(name, str) or not name:
            raise ConfigError(f"{what} must have the name of a language each, not {reprlib.repr(both)}.")
        made.append((to_utf8(name).decode(), value))
    for number, (name, _) in enumerate(made):
        if name in (before for before, _ in made[:number]):
            raise ConfigError(f"{what} must not contain {shown(name)} twice.")
    return made


def _text(name: str, given: object) -> str:
    if isinstance(given, str):
        raw = to_utf8(given)
        # Valid text, which may be long, is not copied: a window checks it after every key.
        return given if raw == given.encode("utf-8", "replace") else raw.decode()
    if not isinstance(given, PathLike):
        raise ConfigError(f"The parallel text of {shown(name)} must be a string or a path, not {reprlib.repr(given)}.")
    from tokstudio.core.corpus.open_sources import read_source

    path = Path(cast("PathLike[str]", given))
    if path.is_dir():
        raise CorpusError(
            f"{file_name(path)}: this is a folder; the parallel text of {shown(name)} is one file, with the same lines "
            "as those of the other languages."
        )
    source = finish(read_source(path))
    return bytes(source.data).decode("utf-8", "replace")
