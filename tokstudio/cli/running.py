"""The command `run`: trains what an experiment file says, keeps what it gave, or checks that it still does."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

from tokstudio.cli.process.terminal import DONE, FAILED, Console, put
from tokstudio.cli.reading import CommandTexts, report_left_out, report_read, take_folder
from tokstudio.cli.results import check_exports, check_results, refuse_existing
from tokstudio.cli.training import TrainingOutcome, check_fit, rescue, train_on
from tokstudio.core.base.atomic_files import file_name, write_files
from tokstudio.core.base.errors import ConfigError, FormatError, TokStudioError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import other_name, printable, several
from tokstudio.core.comparison.comparison import compare_work
from tokstudio.core.comparison.report.report import report_work
from tokstudio.core.comparison.texts import held_out_marks, text_work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.readers.folders import Folder
from tokstudio.core.corpus.sampling import hold_out_work, in_use, sample_in_one, sample_work
from tokstudio.core.corpus.source import Source, by_entry
from tokstudio.core.experiment.experiment import (
    SAMPLE_BYTES,
    Experiment,
    ExperimentTraining,
    Result,
    merges_files,
    sample_size,
    training_corpus_work,
    weighted_corpus,
)
from tokstudio.core.experiment.loading import load_experiment_work
from tokstudio.core.experiment.reading import shown_path
from tokstudio.core.experiment.result import (
    Trained,
    check_merges_work,
    difference_work,
    differing_texts,
    keep_result_work,
    result_work,
    texts_work,
)
from tokstudio.core.formats.saving import try_places_work
from tokstudio.core.hub.addresses import is_address
from tokstudio.core.library_training.config import LibraryConfig
from tokstudio.core.model.alphabet import read_base_vocabulary_work
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.run import STOPPED, Run
from tokstudio.core.model.settings import SETTINGS
from tokstudio.core.tokenizer.tokenizer import Tokenizer

_Config = TrainingConfig | LibraryConfig
_LITTLE = 1 << 16  # bytes of a corpus


def run(arguments: Namespace, console: Console) -> int:
    """Trains and compares, and returns the exit code: `FAILED` also where a check finds a difference."""
    experiment = console.finish(load_experiment_work(arguments.file))
    changed = _changed(arguments, experiment, console)
    experiment = experiment.with_settings(changed)
    result = experiment.result
    if arguments.check and (result is None or [each.name for each in result.trainings] != _names(experiment)):
        missing = "no [result]" if result is None else "a [result] of other variants"
        raise ConfigError(f"{file_name(experiment.path)}: it has {missing} to compare with: run it without --check.")
    plans = _plans(experiment, arguments, changed, console)
    read = _read(experiment, console)
    _refuse_unfit(plans, read.corpus, console)
    training = _Running(experiment, arguments, console, read)
    for plan in plans:
        if not training.train(plan):
            break
    if arguments.check:
        training.compare_with_result()
    else:
        training.write(changed)
    if arguments.json:
        put(sys.stdout, json.dumps(training.facts()) + "\n")
    return training.code


def _names(experiment: Experiment) -> list[str]:
    return [training.name for training in experiment.trainings]


def _changed(arguments: Namespace, experiment: Experiment, console: Console) -> dict[str, Any]:
    """The settings that options set in place of those of the file; says which."""
    changed: dict[str, Any] = {}
    options = {name: setting.argument for name, setting in SETTINGS.items()} | {SAMPLE_BYTES: SAMPLE_BYTES}
    for name, argument in options.items():
        value = getattr(arguments, argument)
        if value is None:
            continue
        option = f"--{argument.replace('_', '-')}"
        if experiment.trainings[0].name and name == "documents" and experiment.documents not in (None, value):
            console.say(f"{option} is for all variants.")
        if name == "base_vocabulary":
            value = console.finish(read_base_vocabulary_work(value))
        elif name in SETTINGS and SETTINGS[name].kind in ("texts by name", "numbers by name"):
            value = {key: str(each.absolute()) if isinstance(each, Path) else each for key, each in value}
        changed[name] = value
        before = dict.fromkeys(_before(training, name) for training in experiment.trainings)
        console.say(f"{option} replaces {name} of {file_name(experiment.path)} ({', '.join(before)}).")
    return changed


def _before(training: ExperimentTraining, name: str) -> str:
    value = training.sample_bytes if name == SAMPLE_BYTES else training.settings.get(name)
    if value in (None, (), []):
        return "not set"
    if isinstance(value, Mapping):
        paths = cast("Mapping[str, object]", value)
        value = {key: shown_path(each) if isinstance(each, str) else each for key, each in paths.items()}
    return f"{value:,}" if name == SAMPLE_BYTES else SETTINGS[name].text(value)


# --- What is to be trained, checked before anything is read -----------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """A training with its configuration, and the arguments of `train` for it."""

    training: ExperimentTraining
    config: _Config
    arguments: Namespace


def _plans(
    experiment: Experiment, arguments: Namespace, changed: Mapping[str, object], console: Console
) -> list[_Plan]:
    """The trainings; raises where a setting cannot work, or a result would replace a file."""
    several_of_them = len(experiment.trainings) > 1
    if not (arguments.check or arguments.write_outside):
        _refuse_outside(experiment, with_exports=not arguments.export, with_project=not arguments.project)
    if several_of_them and (arguments.export or arguments.project):
        raise ConfigError("--export and --project are for one training, and this experiment has variants.")
    if several_of_them and experiment.project:
        raise experiment.file.error(
            "a project holds one run, and there are variants: leave it out.", "output", "project"
        )
    plans: list[_Plan] = []
    places: dict[str, str] = {}
    taken = set[str]()
    for training in experiment.trainings:
        config = experiment.config_of(training)
        own = _arguments_of(training, experiment, arguments)
        with _named(training):
            if isinstance(config, LibraryConfig):
                from tokstudio.cli.library_training import check_formats

                check_formats(own.export, config)
            if changed and not arguments.export:
                for name, path in own.export:
                    _refuse_others(console.finish(try_places_work(path, name)), experiment)
            for _, path in own.export:
                other = places.setdefault(os.path.realpath(path), training.name)
                if other != training.name:
                    raise FormatError(
                        f"{file_name(path)}: variant {other} is exported there too: give each its own path."
                    )
            check_exports(own.export, own, console, taken)
        plans.append(_Plan(training, config, own))
    if not arguments.check:
        further = _check_own_files(experiment, arguments, changed, console)
        check_results(Namespace(**{**vars(plans[0].arguments), "export": []}), console, taken, further)
    if arguments.export:
        console.say(f"--export replaces the exports of {file_name(experiment.path)}.")
    return plans


def _arguments_of(training: ExperimentTraining, experiment: Experiment, arguments: Namespace) -> Namespace:
    """The arguments of `train` for one of the trainings."""
    parallel: Mapping[str, str] = training.settings.get("parallel", {})
    paths = [path for path in (*(source.path for source in experiment.sources), *parallel.values())]
    read = [str(experiment.place(path)) for path in paths if not is_address(path)]
    own = Namespace(**{**vars(arguments), "files": [*read, str(experiment.path)], "experiment": None})
    own.own_files = experiment.texts.own
    own.leave_out_list = [experiment.place(path) for step in experiment.leaving_out for path in step.lists]
    own.export = arguments.export or [(name, experiment.place(path)) for name, path in training.exports]
    own.accept_loss = arguments.accept_loss or experiment.accept_loss
    own.project = arguments.project or (experiment.place(experiment.project) if experiment.project else None)
    if arguments.check:
        own.export, own.project = [], None
    return own


def _check_own_files(
    experiment: Experiment, arguments: Namespace, changed: Mapping[str, object], console: Console
) -> list[Path]:
    """The files of the comparison and of the merges; raises FormatError where they would replace what they may not."""
    comparison = list(experiment.comparison_files)
    if changed:
        _refuse_others(comparison, experiment)
        return comparison
    if not arguments.force:
        refuse_existing(comparison, "the comparison ([output] csv, html)")
        try:
            console.finish(check_merges_work(experiment.path, _names(experiment), experiment.result))
        except FormatError as error:
            raise FormatError(f"{error} --force replaces it.") from error
    return [*comparison, *merges_files(experiment.path, _names(experiment)).values()]


@contextmanager
def _named(training: ExperimentTraining) -> Iterator[None]:
    """Names the variant in an error."""
    try:
        yield
    except FormatError as error:
        if not training.name:
            raise
        raise FormatError(f"Variant {training.name}: {error}") from error


def _refuse_others(files: Iterable[Path], experiment: Experiment) -> None:
    """Raises FormatError where a file exists which may be a result of the settings that options have replaced."""
    own = file_name(experiment.path)
    advice = f"change a copy of {own} instead" if experiment.trainings[0].name else "add --export to export elsewhere"
    for file in files:
        if os.path.lexists(file):
            raise FormatError(
                f"{file_name(file)}: this file exists already, and is not replaced where options replace settings of "
                f"{own}, whose [result] stays: {advice}."
            )


def _refuse_unfit(plans: Sequence[_Plan], corpus: Corpus, console: Console) -> None:
    """Refuses weights that do not fit the corpus, and a variant that would make what its exports cannot hold.

    A little of the corpus shows the latter.

    Raises:
        ConfigError: A variant has more or fewer weights than there are texts.
        FormatError: Its exports cannot hold what it would make.
    """
    for plan in plans:
        try:
            weighted_corpus(corpus, plan.training)
        except ConfigError as error:
            raise ConfigError(f"Variant {plan.training.name}: {error}") from error
    if len(plans) == 1:
        return  # which looks at the whole corpus before its first merge
    if corpus.bytes > _LITTLE:
        corpus = console.finish(sample_work(corpus, _LITTLE))
    for plan in plans:
        if plan.arguments.export and isinstance(plan.config, TrainingConfig):
            with _named(plan.training):
                check_fit(plan.config, corpus, plan.arguments, console)


def _refuse_outside(experiment: Experiment, *, with_exports: bool, with_project: bool) -> None:
    """Refuses to write outside the folder of the experiment, which may be a stranger's."""
    csv, html = experiment.comparison
    targets = [("csv", csv), ("html", html)] if experiment.trainings[0].name else []
    targets += [("project", experiment.project)] if with_project else []
    named = [(("output", name), path) for name, path in targets if path]
    for number, training in enumerate(experiment.trainings if with_exports else ()):
        table = ("variant", number, "export") if training.name else ("export",)
        named += [((*table, at, "path"), path) for at, (_, path) in enumerate(training.exports)]
    folder = Path(os.path.realpath(experiment.path.absolute().parent))
    for place, path in named:
        # Also by a link in the folder.
        if not Path(os.path.realpath(experiment.place(path))).is_relative_to(folder):
            raise experiment.file.error(
                f"{printable(shown_path(path))} is outside the folder of the experiment: add --write-outside to write "
                "there.",
                *place,
            )


def _read(experiment: Experiment, console: Console) -> CommandTexts:
    """The corpus; reports what is unusual about it."""
    folders: list[Folder] = []
    corpus = console.finish(experiment.texts.corpus_work(partial(take_folder, folders, console)))
    report_read(corpus.sources, console)
    if experiment.leaving_out:
        report_left_out(corpus, console)
    return CommandTexts(corpus, tuple(folders), experiment.shown_text)


# --- Training, and what comes of it -----------------------------------------------------------------------------------


@dataclass(eq=False)
class _Running:
    """The trainings of an experiment, one after another."""

    experiment: Experiment
    arguments: Namespace
    console: Console
    read: CommandTexts
    code: int = DONE
    trained: list[Trained] = field(default_factory=list[Trained])
    outcomes: dict[str, dict[str, object]] = field(default_factory=dict[str, dict[str, object]])
    differences: list[str] = field(default_factory=list[str])

    @property
    def is_complete(self) -> bool:
        """Whether every training has ended by itself."""
        return len(self.trained) == len(self.experiment.trainings)

    def train(self, plan: _Plan) -> bool:
        """Trains one; returns whether the next may begin."""
        name = plan.training.name
        if name:
            self.console.say(f"Variant {name}:")
        whole = self.read.corpus
        try:
            corpus = self.console.finish(training_corpus_work(whole, plan.training))
            if corpus.bytes < whole.bytes:
                self.console.say(f"Training on a sample of {corpus.bytes:,} of {whole.bytes:,} bytes.")
            outcome = self._outcome(plan, replace(self.read, corpus=corpus))
        except TokStudioError as error:
            if not name:
                raise
            self.console.complain(f"Variant {name}: {error}")
            self.code = FAILED
            return True
        self.code = outcome.code or self.code
        self.outcomes[name] = outcome.facts
        return not self.console.signals.received

    def _outcome(self, plan: _Plan, read: CommandTexts) -> TrainingOutcome:
        def keep(corpus: Corpus, product: Run | Tokenizer) -> None:
            if isinstance(product, Tokenizer) or product.ended != STOPPED:
                repeatable = not isinstance(plan.config, LibraryConfig) or plan.config.repeatable
                self.trained.append(Trained(plan.training.name, product, repeatable))

        if isinstance(plan.config, LibraryConfig):
            from tokstudio.cli.library_training import train_by_library_on

            return train_by_library_on(plan.config, read, plan.arguments, self.console, keep)
        return train_on(plan.config, read, plan.arguments, self.console, keep=keep)

    # ---- the result

    def write(self, changed: Mapping[str, object]) -> None:
        """Writes the result and the comparison; says what is and what is not written where that fails."""
        path, comparison = self.experiment.path, self.experiment.comparison_files
        own = [] if changed else [path, *merges_files(path, _names(self.experiment)).values()]
        if not self.is_complete:
            if left := [*own, *comparison]:
                self.console.say(f"Not written, as not every training has ended: {', '.join(map(file_name, left))}.")
            return
        left = [*own, *comparison]
        try:
            self.keep_result(changed)
            left = [*comparison]
            if comparison:
                self.write_comparison(*comparison)
        except (TokStudioError, OSError):
            files = [file for facts in self.outcomes.values() for file in cast("list[str]", facts.get("files", []))]
            files += [str(facts["project"]) for facts in self.outcomes.values() if "project" in facts]
            files += [str(file) for file in own if file not in left]
            written = f" These were written before: {', '.join(map(printable, files))}." if files else ""
            self.console.complain(f"These files are not written: {', '.join(map(file_name, left))}.{written}")
            raise

    def _result(self) -> Result:
        texts = self.console.finish(texts_work(self.read.corpus))
        return self.console.finish(result_work(texts, self.trained))

    def keep_result(self, changed: Mapping[str, object]) -> None:
        """Writes the result into the file, and says whether it is another one than before."""
        name = file_name(self.experiment.path)
        if changed:
            self.console.say(
                f"The result in {name} stays as it is, because options replaced settings of the file: what else was "
                "written is not of it."
            )
            return
        with self.console.signals.finishing():
            result = self._result()
            before = self.experiment.result
            if before is not None:
                same = (before.corpus, before.trainings) == (result.corpus, result.trainings)
                self.console.say("The result is the same as before." if same else "The result is another than before.")
            try:
                self.console.finish(keep_result_work(self.experiment, result, self.trained))
            except (TokStudioError, OSError):
                for trained in self.trained:
                    if trained.run is not None:
                        rescue(trained.run, self.experiment.path, self.console)
                raise
        files = merges_files(self.experiment.path, _names(self.experiment)).values()
        self.console.say(f"Wrote the result to {name}, and {', '.join(map(file_name, files))}.")

    def compare_with_result(self) -> None:
        """Compares texts and merges with the result in the file, and prints the differences."""
        before = self.experiment.result
        if before is None or not self.is_complete:
            return
        now = self._result()
        self.differences = differing_texts(before, now)
        for old, trained in zip(before.trainings, self.trained, strict=True):
            prefix = f"Variant {trained.name}: " if trained.name else ""
            differs = self.console.finish(difference_work(self.experiment, old, trained))
            if differs is not None:
                self.differences.append(prefix + differs)
                if not trained.repeatable:
                    self.console.say(
                        "The tokenizers library does not give the same each time, also for the same texts."
                    )
        if self.differences:
            self.code = self.code or FAILED
            if before.version != now.version:
                self.console.say(f"The result is of TokStudio {before.version}, and this is {now.version}.")
        if not self.arguments.json:
            numbers = ", ".join(several(trained.number, trained.unit) for trained in self.trained)
            lines = self.differences or [f"The same texts and the same result: {numbers}."]
            put(sys.stdout, "".join(f"{line}\n" for line in lines))

    def facts(self) -> dict[str, object]:
        """What --json prints."""
        names = _names(self.experiment)
        facts = dict(self.outcomes.get("", {}))
        if names[0]:
            facts["variants"] = [{"name": name, **self.outcomes[name]} for name in names if name in self.outcomes]
        if self.arguments.check:
            facts |= {"same": self.is_complete and not self.differences, "differences": self.differences}
        return facts

    # ---- the comparison of variants

    def write_comparison(self, csv: Path, html: Path) -> None:
        """Compares the tokenizers of all variants on text that none was trained on, or else on the whole corpus."""
        tokenizers = {each.name: _tokenizer(each) for each in self.trained}
        whole, trainings = self.read.corpus, self.experiment.trainings
        shares = {self.experiment.config_of(training).held_out for training in trainings}
        weighted = [weighted_corpus(whole, training) for training in trainings]
        sizes = {sample_size(whole, training) for training in trainings}
        used = {in_use(corpus.sources, corpus.weights) for corpus in weighted}
        trained_on: dict[str, frozenset[str]] = {}
        if len(shares) == len(sizes) == len(used) == 1 and shares != {0}:
            # All variants hold out the same text.
            (share,) = shares
            corpus = self.console.finish(training_corpus_work(whole, trainings[0]))
            _, sources = self.console.finish(hold_out_work(corpus.sources, share, corpus.weights))
            texts = _texts(Corpus(tuple(source for source in sources if source.bytes)))
            remark = "The texts are what all variants held out: none was trained on them."
            marks = held_out_marks(corpus.sha256, corpus.weights, share)
        else:
            texts, marks = _texts(whole), frozenset[str]()
            remark = "The texts are the whole corpus, which the variants were trained on, or on a part of it"
            remark += ": they do not all hold out the same text." if shares != {0} else "."
            for training in trainings:
                corpus = self.console.finish(training_corpus_work(whole, training))
                trained_on[training.name] = self.console.finish(_trained_on_work(texts, whole, corpus))
        self.console.say(remark)
        work = compare_work(tokenizers, texts, trained_on=trained_on, held_out=marks)
        comparison = self.console.finish(work)
        self.console.finish(comparison.words_work())
        page = self.console.finish(
            report_work(
                comparison, written_at=datetime.now().astimezone(), experiment=self.experiment.shown_text, remark=remark
            )
        )
        files = {csv: [comparison.to_csv().encode()], html: [page.encode()]}
        self.console.finish(write_files(files, may_replace=self.arguments.force))
        self.console.say(f"Wrote the comparison of the variants to {file_name(csv)} and {file_name(html)}.")


def _tokenizer(trained: Trained) -> Tokenizer:
    return Tokenizer.from_run(trained.product) if isinstance(trained.product, Run) else trained.product


def _trained_on_work(texts: Mapping[str, Source], whole: Corpus, corpus: Corpus) -> Work[frozenset[str]]:
    """The hashes of those texts, each an entry of a corpus, of which a training on a sample of it took something."""
    used = {_key(source) for source in in_use(corpus.sources, corpus.weights)}
    hashes = frozenset[str]()
    for (name, text), (_, sources) in zip(texts.items(), by_entry(whole.sources), strict=True):
        if any(_key(source) in used for source in sources):
            hashes |= (yield from text_work(name, text)).hashes
    return hashes


def _key(source: Source) -> tuple[object, ...]:
    return source.name, source.path, source.member, source.value


def _texts(corpus: Corpus) -> dict[str, Source]:
    """Each entry of a corpus by a name of its own."""
    texts: dict[str, Source] = {}
    for name, sources in by_entry(corpus.sources):
        for source in sample_in_one(Corpus(sources), sum(one.bytes for one in sources)).sources:
            # Many sources of an entry are joined, and have no name then.
            texts[other_name(source.name if len(sources) > 1 and source.name else name, texts)] = source
    return texts
