"""TokStudio: train, watch and export byte pair encoding tokenizers.

The names below are the core's public interface. They resolve on first use, so that importing the package is cheap.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tokstudio.version import __version__

if TYPE_CHECKING:
    from tokstudio.core.corpus import Corpus as Corpus
    from tokstudio.core.errors import ConfigError as ConfigError
    from tokstudio.core.errors import CorpusError as CorpusError
    from tokstudio.core.errors import FormatError as FormatError
    from tokstudio.core.errors import TokStudioError as TokStudioError
    from tokstudio.core.formats import load as load
    from tokstudio.core.formats import save as save
    from tokstudio.core.run import MergeBatch as MergeBatch
    from tokstudio.core.run import Run as Run
    from tokstudio.core.run import TrainingConfig as TrainingConfig
    from tokstudio.core.simple import ByteTokenizer as ByteTokenizer
    from tokstudio.core.simple import CharacterTokenizer as CharacterTokenizer
    from tokstudio.core.simple import WordTokenizer as WordTokenizer
    from tokstudio.core.tokenizer import Tokenizer as Tokenizer
    from tokstudio.core.trainer import Trainer as Trainer
    from tokstudio.core.trainer import train as train

_HOMES = {
    "Corpus": "corpus",
    "ConfigError": "errors",
    "CorpusError": "errors",
    "FormatError": "errors",
    "TokStudioError": "errors",
    "MergeBatch": "run",
    "Run": "run",
    "TrainingConfig": "run",
    "ByteTokenizer": "simple",
    "CharacterTokenizer": "simple",
    "WordTokenizer": "simple",
    "Tokenizer": "tokenizer",
    "Trainer": "trainer",
    "train": "trainer",
    "load": "formats",
    "save": "formats",
}

__all__ = ["__version__", *sorted(_HOMES)]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'tokstudio' has no attribute {name!r}")
    value = getattr(import_module(f"tokstudio.core.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
