"""TokStudio: train, watch and export byte pair encoding tokenizers.

The names below are the core's public interface. They resolve on first use, so that importing the package is cheap.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tokstudio.version import __version__

if TYPE_CHECKING:
    from tokstudio.core.analysis.baselines import ByteTokenizer as ByteTokenizer
    from tokstudio.core.analysis.baselines import CharacterTokenizer as CharacterTokenizer
    from tokstudio.core.analysis.baselines import WordTokenizer as WordTokenizer
    from tokstudio.core.analysis.infer_mixture.inference import InferredMixture as InferredMixture
    from tokstudio.core.analysis.infer_mixture.inference import infer_mixture as infer_mixture
    from tokstudio.core.base.errors import ConfigError as ConfigError
    from tokstudio.core.base.errors import CorpusError as CorpusError
    from tokstudio.core.base.errors import FormatError as FormatError
    from tokstudio.core.base.errors import TokStudioError as TokStudioError
    from tokstudio.core.comparison.comparison import Comparison as Comparison
    from tokstudio.core.comparison.comparison import compare as compare
    from tokstudio.core.comparison.differences import Differences as Differences
    from tokstudio.core.comparison.differences import diff as diff
    from tokstudio.core.comparison.how_much_text import HowMuchText as HowMuchText
    from tokstudio.core.comparison.how_much_text import how_much_text as how_much_text
    from tokstudio.core.comparison.mixture import mixture_for as mixture_for
    from tokstudio.core.comparison.mixture_goal import FoundMixture as FoundMixture
    from tokstudio.core.comparison.mixture_goal import MixtureGoal as MixtureGoal
    from tokstudio.core.corpus.corpus import Corpus as Corpus
    from tokstudio.core.corpus.readers.contents import Reading as Reading
    from tokstudio.core.experiment.experiment import Experiment as Experiment
    from tokstudio.core.experiment.loading import load_experiment as load_experiment
    from tokstudio.core.exploration.exploration import Exploration as Exploration
    from tokstudio.core.exploration.exploration import explore as explore
    from tokstudio.core.formats.loading import load as load
    from tokstudio.core.formats.token_bytes import token_bytes as token_bytes
    from tokstudio.core.library_training.config import LibraryConfig as LibraryConfig
    from tokstudio.core.library_training.train import TrainedByLibrary as TrainedByLibrary
    from tokstudio.core.library_training.train import train_by_library as train_by_library
    from tokstudio.core.lint.findings import LintFinding as LintFinding
    from tokstudio.core.lint.lint import lint as lint
    from tokstudio.core.model.algorithms import Boundless as Boundless
    from tokstudio.core.model.algorithms import ParityAware as ParityAware
    from tokstudio.core.model.algorithms import Picky as Picky
    from tokstudio.core.model.algorithms import PlainBPE as PlainBPE
    from tokstudio.core.model.algorithms import SuperBPE as SuperBPE
    from tokstudio.core.model.algorithms import WholeCharacters as WholeCharacters
    from tokstudio.core.model.config import TrainingConfig as TrainingConfig
    from tokstudio.core.model.run import MergeBatch as MergeBatch
    from tokstudio.core.model.run import Run as Run
    from tokstudio.core.pretokenization.count_words import count as count
    from tokstudio.core.pretokenization.count_words import count_shard as count_shard
    from tokstudio.core.pretokenization.word_counts import WordCounts as WordCounts
    from tokstudio.core.project import load_project as load_project
    from tokstudio.core.project import save_project as save_project
    from tokstudio.core.shards.dataset import EncodedDataset as EncodedDataset
    from tokstudio.core.shards.dataset import encode_dataset as encode_dataset
    from tokstudio.core.surgery.embedding_map import EmbeddingMap as EmbeddingMap
    from tokstudio.core.surgery.embedding_map import embedding_map as embedding_map
    from tokstudio.core.surgery.extension_sheet import ExtensionSheet as ExtensionSheet
    from tokstudio.core.surgery.extension_sheet import SheetRow as SheetRow
    from tokstudio.core.surgery.extension_sheet import SheetText as SheetText
    from tokstudio.core.surgery.extension_sheet import extension_sheet as extension_sheet
    from tokstudio.core.surgery.join import join as join
    from tokstudio.core.surgery.proof import save as save
    from tokstudio.core.surgery.proof import verify as verify
    from tokstudio.core.surgery.prune import Pruned as Pruned
    from tokstudio.core.surgery.prune import prune as prune
    from tokstudio.core.surgery.renumber import order_as_in as order_as_in
    from tokstudio.core.surgery.renumber import order_by_rank as order_by_rank
    from tokstudio.core.surgery.renumber import order_by_use as order_by_use
    from tokstudio.core.surgery.renumber import renumber as renumber
    from tokstudio.core.surgery.specials import add_specials as add_specials
    from tokstudio.core.surgery.specials import fill_reserved as fill_reserved
    from tokstudio.core.surgery.specials import replace_specials as replace_specials
    from tokstudio.core.surgery.specials import set_roles as set_roles
    from tokstudio.core.tokenizer.batch import Batch as Batch
    from tokstudio.core.tokenizer.origin import Proof as Proof
    from tokstudio.core.tokenizer.tokenizer import Tokenizer as Tokenizer
    from tokstudio.core.training.trainer import Trainer as Trainer
    from tokstudio.core.training.trainer import extend as extend
    from tokstudio.core.training.trainer import train as train

_MODULES = {
    "Comparison": "comparison.comparison",
    "compare": "comparison.comparison",
    "Differences": "comparison.differences",
    "diff": "comparison.differences",
    "MixtureGoal": "comparison.mixture_goal",
    "mixture_for": "comparison.mixture",
    "FoundMixture": "comparison.mixture_goal",
    "HowMuchText": "comparison.how_much_text",
    "how_much_text": "comparison.how_much_text",
    "Corpus": "corpus.corpus",
    "Reading": "corpus.readers.contents",
    "ConfigError": "base.errors",
    "CorpusError": "base.errors",
    "FormatError": "base.errors",
    "TokStudioError": "base.errors",
    "MergeBatch": "model.run",
    "Run": "model.run",
    "TrainingConfig": "model.config",
    "PlainBPE": "model.algorithms",
    "ParityAware": "model.algorithms",
    "SuperBPE": "model.algorithms",
    "WholeCharacters": "model.algorithms",
    "Boundless": "model.algorithms",
    "Picky": "model.algorithms",
    "ByteTokenizer": "analysis.baselines",
    "CharacterTokenizer": "analysis.baselines",
    "WordTokenizer": "analysis.baselines",
    "InferredMixture": "analysis.infer_mixture.inference",
    "infer_mixture": "analysis.infer_mixture.inference",
    "WordCounts": "pretokenization.word_counts",
    "count": "pretokenization.count_words",
    "count_shard": "pretokenization.count_words",
    "Batch": "tokenizer.batch",
    "Tokenizer": "tokenizer.tokenizer",
    "extension_sheet": "surgery.extension_sheet",
    "ExtensionSheet": "surgery.extension_sheet",
    "SheetRow": "surgery.extension_sheet",
    "SheetText": "surgery.extension_sheet",
    "prune": "surgery.prune",
    "Pruned": "surgery.prune",
    "join": "surgery.join",
    "renumber": "surgery.renumber",
    "order_by_rank": "surgery.renumber",
    "order_by_use": "surgery.renumber",
    "order_as_in": "surgery.renumber",
    "fill_reserved": "surgery.specials",
    "replace_specials": "surgery.specials",
    "set_roles": "surgery.specials",
    "add_specials": "surgery.specials",
    "verify": "surgery.proof",
    "Proof": "tokenizer.origin",
    "EmbeddingMap": "surgery.embedding_map",
    "embedding_map": "surgery.embedding_map",
    "Trainer": "training.trainer",
    "train": "training.trainer",
    "extend": "training.trainer",
    "Experiment": "experiment.experiment",
    "load_experiment": "experiment.loading",
    "Exploration": "exploration.exploration",
    "explore": "exploration.exploration",
    "LibraryConfig": "library_training.config",
    "TrainedByLibrary": "library_training.train",
    "train_by_library": "library_training.train",
    "lint": "lint.lint",
    "LintFinding": "lint.findings",
    "EncodedDataset": "shards.dataset",
    "encode_dataset": "shards.dataset",
    "load": "formats.loading",
    "save": "surgery.proof",
    "token_bytes": "formats.token_bytes",
    "load_project": "project",
    "save_project": "project",
}

__all__ = ["__version__", *sorted(_MODULES)]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'tokstudio' has no attribute {name!r}")
    value = getattr(import_module(f"tokstudio.core.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
