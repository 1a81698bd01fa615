"""An experiment as a value: its sources, settings, exports and result, as `loading` reads them from its file."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field, fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import safe_name
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.sampling import sample_work
from tokstudio.core.experiment.reading import ExperimentSource, ExperimentTexts, LeftOutStep, shown_path
from tokstudio.core.experiment.toml import Place, TomlFile
from tokstudio.core.hub.addresses import is_address
from tokstudio.core.library_training.config import LibraryConfig
from tokstudio.core.model.algorithms import OWN_SETTINGS, algorithm_of
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.settings import LIBRARY_ALGORITHMS, SETTINGS

FORM = 1  # of the file; a file of a later one is refused
FORM_KEY = "experiment"
RESULT = "result"
_MERGES_SUFFIX = ".merges"

#: What a training has beside its settings.
SAMPLE_BYTES, SAMPLE_PERCENT, WEIGHTS = "sample_bytes", "sample_percent", "weights"
OF_ALL = "documents"  # the one setting that variants share, as it divides the text that they are trained on

# --- The parts of an experiment ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExperimentTraining:
    """One training of an experiment."""

    name: str  # of the variant; "" where there is only one
    settings: Mapping[str, Any]  # the values that are set, by the names of `SETTINGS`; parallel texts as paths
    sample_bytes: int | None = None  # how much of the corpus it is trained on; None for all
    sample_percent: int | None = None  # likewise
    weights: tuple[float, ...] = ()  # of each text of the corpus, in order; empty for those of the sources
    exports: tuple[tuple[str, str], ...] = ()  # the name of a format, and the target as in the file
    # Where in the file each setting is.
    places: Mapping[str, Place] = field(default_factory=dict[str, Place], compare=False)


@dataclass(frozen=True)
class Gave:
    """What a training of an experiment gave: its merges, or the tokens where another library trains."""

    name: str  # of the variant; "" where there is only one
    merges: int  # their number
    sha256: str  # the hexadecimal SHA-256 of the lines in `merges_file`


@dataclass(frozen=True)
class Result:
    """What an experiment gave when it was run."""

    version: str  # the version of TokStudio that ran it
    corpus: str  # the hexadecimal SHA-256 of the corpus, see `Corpus.sha256`
    # The name and the hexadecimal SHA-256 of each text, as `Corpus.text_hashes`; empty where there are many.
    texts: tuple[tuple[str, str], ...]
    trainings: tuple[Gave, ...]  # in the order of the variants


def merges_files(path: Path, names: Sequence[str]) -> dict[str, Path]:
    """Where the merges of each variant are kept; of the only training, whose name is "", beside the experiment."""
    files: dict[str, Path] = {}
    taken = set[str]()  # without case, which many file systems ignore
    for number, name in enumerate(names, 1):
        inner = f".{safe_name(name, f'variant {number}')}" if name else ""
        file = path.with_name(f"{path.stem}{inner}{_MERGES_SUFFIX}")
        while file.name.casefold() in taken:
            inner += f"-{number}"
            file = path.with_name(f"{path.stem}{inner}{_MERGES_SUFFIX}")
        taken.add(file.name.casefold())
        files[name] = file
    return files


@dataclass(frozen=True, eq=False)
class Experiment:
    """All that decides one training or several, as its file says it; relative paths are from the folder of the file.

    Attributes:
        path: The file.
        file: Its text, and where everything is in it.
        sources: What the corpus is made of, in order.
        leaving_out: What is left out of it, one step after another.
        trainings: One, or one for each variant.
        project: Where a project of the run is saved, as in the file; "" for none.
        accept_loss: Whether exports are made with losses.
        comparison: Where the comparison of variants is written, as CSV and as HTML; "" for the usual places.
        result: What it gave when it was run; None where it was not.
    """

    path: Path
    file: TomlFile
    sources: tuple[ExperimentSource, ...]
    leaving_out: tuple[LeftOutStep, ...]
    trainings: tuple[ExperimentTraining, ...]
    project: str = ""
    accept_loss: bool = False
    comparison: tuple[str, str] = ("", "")
    result: Result | None = None

    @property
    def text(self) -> str:
        """The text of the file."""
        return self.file.text

    @property
    def shown_text(self) -> str:
        """The text of the file for others to read: in its addresses there are neither passwords nor signatures."""

        def changed(value: str) -> str:
            try:
                path = os.fsdecode(bytes.fromhex(value))  # a path may be in hexadecimal digits
            except ValueError:
                return shown_path(value)
            return shown_path(path).encode().hex() if is_address(path) else value

        return self.file.text_with(changed)

    @property
    def documents(self) -> str | None:
        """What a document is: "file" or "line"; None where the file does not say."""
        return self.trainings[0].settings.get(OF_ALL)

    @property
    def texts(self) -> ExperimentTexts:
        """What it trains on, to be read."""
        return ExperimentTexts(self.file, self.path, self.documents, self.sources, self.leaving_out, self._own_files())

    def _own_files(self) -> frozenset[Path]:
        """The file, its lists, and all that a run writes: a folder of texts may have them, too."""
        lists = [path for step in self.leaving_out for path in step.lists]
        exports = [path for training in self.trainings for _, path in training.exports]
        named = [path for path in (self.project, *exports, *lists) if path]
        merges = merges_files(self.path, [training.name for training in self.trainings]).values()
        return frozenset([self.path, *merges, *self.comparison_files, *map(self._beside, named)])

    def _beside(self, path: str) -> Path:
        return self.path.absolute().parent / path

    @property
    def comparison_files(self) -> tuple[Path, ...]:
        """Where the comparison of variants is written, as CSV and as HTML; nothing where there are none."""
        if not self.trainings[0].name:
            return ()
        pairs = zip(self.comparison, (".csv", ".html"), strict=True)
        return tuple(self._beside(path) if path else self.path.with_suffix(suffix) for path, suffix in pairs)

    @property
    def config(self) -> TrainingConfig | LibraryConfig:
        """The configuration of its one training.

        Raises:
            ConfigError: It has variants, or a setting cannot work; the message names the line.
            CorpusError: A parallel text cannot be read.
        """
        first, *others = self.trainings
        if others or first.name:
            raise ConfigError(f"{self.file.name} has {len(self.trainings)} variants: take their configs.")
        return self.config_of(first)

    @property
    def configs(self) -> dict[str, TrainingConfig | LibraryConfig]:
        """The configuration of each training by the name of the variant, "" for the only one; raises as `config`."""
        return {training.name: self.config_of(training) for training in self.trainings}

    def config_of(self, training: ExperimentTraining) -> TrainingConfig | LibraryConfig:
        """The configuration of one of its trainings; raises as `config`."""
        values = dict(training.settings)
        if "parallel" in values:
            values["parallel"] = {name: self.place(path) for name, path in values["parallel"].items()}
        try:
            return config_of_settings(values)
        except ConfigError as error:
            place = next((training.places[name] for name in error.faults if name in training.places), None)
            if place is None:
                place = ("variant", self.trainings.index(training)) if training.name else ("settings",)
            raise self.file.error(str(error), *place) from error

    def corpus(self) -> Corpus:
        """Reads what it trains on, with weights, and without what is left out.

        Raises:
            ConfigError: A source or a weight is not there; the message names the line.
            CorpusError: A text cannot be read.
        """
        return finish(self.texts.corpus_work())

    def place(self, path: str) -> Path:
        """The file that a path in the experiment is."""
        return self.texts.place(path)

    def with_settings(self, changed: Mapping[str, Any]) -> Experiment:
        """The same with other values of some settings, or of a sample, in all trainings; parallel texts are paths."""
        return replace(self, trainings=tuple(_changed(training, changed) for training in self.trainings))


def _changed(training: ExperimentTraining, changed: Mapping[str, Any]) -> ExperimentTraining:
    given = {name: value for name, value in changed.items() if name in SETTINGS}
    # With another algorithm, settings that only the first one has are left.
    usable = effective({**training.settings, **given}) if "algorithm" in given else training.settings
    kept = {name: value for name, value in training.settings.items() if name in usable and name not in given}
    places = {name: training.places[name] for name in kept if name in training.places}
    training = replace(training, settings={**kept, **given}, places=places)
    if SAMPLE_BYTES in changed:
        training = replace(training, sample_bytes=changed[SAMPLE_BYTES], sample_percent=None)
    return training


def sample_size(corpus: Corpus, training: ExperimentTraining) -> int | None:
    """How many bytes of a corpus a training wants; None for all."""
    size = training.sample_bytes
    if training.sample_percent is not None and training.sample_percent < 100:
        size = corpus.bytes * training.sample_percent // 100
    return None if size is None or size >= corpus.bytes else size


def weighted_corpus(corpus: Corpus, training: ExperimentTraining) -> Corpus:
    """The corpus with the weights of a training; raises ConfigError where these are not one for each text."""
    return corpus.with_weights_in_order(training.weights) if training.weights else corpus


def training_corpus_work(corpus: Corpus, training: ExperimentTraining) -> Work[Corpus]:
    """The corpus of an experiment, or the sample of it that a training wants, with the weights that it has."""
    corpus, size = weighted_corpus(corpus, training), sample_size(corpus, training)
    return corpus if size is None else (yield from sample_work(corpus, size))


def config_of_settings(values: Mapping[str, Any]) -> TrainingConfig | LibraryConfig:
    """The configuration of settings by name, of which those that are missing have their defaults.

    Raises:
        ConfigError: A setting is invalid, or one that the algorithm does not have.
    """
    algorithm = values.get("algorithm", SETTINGS["algorithm"].default)
    if algorithm in LIBRARY_ALGORITHMS:
        if values.get("vocabulary_size") is None:
            raise ConfigError(f'The algorithm "{algorithm}" needs a vocabulary size.', field="vocabulary_size")
        names = {each.name for each in fields(LibraryConfig)}
        return LibraryConfig(**{name: value for name, value in values.items() if name in names})
    own = {name: value for name, value in values.items() if name in OWN_SETTINGS}
    names = {each.name for each in fields(TrainingConfig)} - {"algorithm"}
    common = {name: value for name, value in values.items() if name in names}
    return TrainingConfig(**common, algorithm=algorithm_of(algorithm, own))


def effective(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that have an effect: the algorithm has them, and what they need is set."""
    values = {name: setting.default for name, setting in SETTINGS.items()} | dict(settings)
    view = SimpleNamespace(**values)
    return {
        name: value
        for name, value in settings.items()
        if values["algorithm"] in SETTINGS[name].algorithms and ((needs := SETTINGS[name].needs) is None or needs(view))
    }
