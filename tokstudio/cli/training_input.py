"""The settings and the texts of a training, as the arguments of a command give them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from tokstudio.cli.process.terminal import Console
from tokstudio.cli.reading import CommandTexts, TextsToRead, files_at_hand, read_corpus, texts_of, without_left_out
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.wording import shown
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.counts_file import counted_with, documents_counted_with
from tokstudio.core.corpus.sampling import sample_work
from tokstudio.core.corpus.source import CountedWith
from tokstudio.core.experiment.experiment import Result
from tokstudio.core.experiment.result import Trained, result_work, texts_work
from tokstudio.core.experiment.writing import SUFFIX, Draft, PlannedTraining, draft_work
from tokstudio.core.library_training.config import LibraryConfig
from tokstudio.core.model.algorithms import OWN_SETTINGS, algorithm_of
from tokstudio.core.model.alphabet import read_base_vocabulary_work
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.run import Run
from tokstudio.core.model.settings import SETTINGS
from tokstudio.core.tokenizer.tokenizer import Tokenizer

#: Takes the corpus and what a training made of it, once that is complete and exported.
Keep = Callable[[Corpus, Run | Tokenizer], None]


def chosen(arguments: argparse.Namespace, kind: type[TrainingConfig | LibraryConfig]) -> dict[str, Any]:
    """The settings of a configuration that are among the arguments, by name."""
    options = {each.name: SETTINGS[each.name].argument for each in fields(kind)}
    values = {
        name: value for name, option in options.items() if (value := getattr(arguments, option, None)) is not None
    }
    if "special_tokens" in values:
        values["special_tokens"] = [_utf8(token) for token in values["special_tokens"]]
    return values


def read_to_train(
    arguments: argparse.Namespace, settings: Mapping[str, Any], console: Console
) -> tuple[CommandTexts, Keep | None]:
    """The corpus of `train`, and what keeps the result if an experiment is to be written.

    The experiment is described at once, so that nothing is trained in vain if that is impossible.
    """
    arguments.counts = files_at_hand(arguments.counts, console)
    texts = training_texts(arguments)
    wanted = arguments.experiment or arguments.project
    if wanted is None:
        return read_texts(texts, console), None
    settings = {**settings, "documents": texts.documents, "parallel": dict(arguments.parallel)}
    planned = PlannedTraining(settings, sample_bytes=texts.sample_bytes, exports=arguments.export)
    described: list[tuple[Draft, Result]] = []

    def describe(whole: Corpus, corpus: Corpus) -> None:
        more = {"project": arguments.project, "accept_loss": arguments.accept_loss}
        work = draft_work(wanted.with_suffix(SUFFIX), whole, [planned], corpus.leaving_out, **more)
        try:
            described.append((console.finish(work), console.finish(texts_work(corpus))))
        except ConfigError:
            # A project is saved without a description.
            if arguments.experiment is not None:
                raise

    def keep(_: Corpus, product: Run | Tokenizer) -> None:
        ((draft, result),), trained = described, [Trained("", product)]
        result = console.finish(result_work(result, trained))
        console.finish(draft.write_work(trained, result, may_replace=arguments.force))
        console.say(f"Wrote {draft.path}: tokstudio run trains it again.")
        if draft.remark:
            console.say(draft.remark)

    read = read_texts(texts, console, describe)
    text = described[0][0].text if described else ""
    return replace(read, experiment=text), keep if arguments.experiment is not None else None


def training_texts(arguments: argparse.Namespace) -> TextsToRead:
    """The texts of the arguments; raises ConfigError where tables of counted words were counted otherwise."""
    return replace(
        texts_of(arguments, arguments.files),
        documents=documents_counted_with(arguments.documents, arguments.counts),
        counts=arguments.counts,
        weights=arguments.weight,
    )


def read_texts(
    texts: TextsToRead, console: Console, describe: Callable[[Corpus, Corpus], None] | None = None
) -> CommandTexts:
    """The corpus to train on, with its weights, or a sample of it.

    `describe` takes the corpus with its weights before anything is left out, and the one before a sample is taken.
    """
    read = read_corpus(texts, console)
    whole = read.corpus.sources
    read = without_left_out(read, texts, console)
    corpus, size = read.corpus.with_weights(_weights(texts.weights, read.corpus)), texts.sample_bytes
    if describe is not None:
        describe(Corpus(whole, corpus.weights), corpus)
    del whole
    if size is not None and size < corpus.bytes:
        whole, corpus = corpus.bytes, console.finish(sample_work(corpus, size))
        console.say(f"Training on a sample of {corpus.bytes:,} of {whole:,} bytes.")
    console.finish(corpus.sha256_work())
    return replace(read, corpus=corpus)


def _weights(pairs: Iterable[tuple[str, float]], corpus: Corpus) -> dict[str | int, float]:
    """The weights by the name of a text; by its index where a number is no name."""
    names = {name for source in corpus.sources for name in (source.name, source.group, source.value)}

    def is_index(name: str) -> bool:
        return name.isdecimal() and len(name) < 10 and name not in names

    return {int(name) if is_index(name) else name: weight for name, weight in pairs}


def training_config(arguments: argparse.Namespace, console: Console) -> TrainingConfig:
    """The settings that the arguments of `train` give."""
    values = chosen(arguments, TrainingConfig)
    if "base_vocabulary" in values:
        values["base_vocabulary"] = console.finish(read_base_vocabulary_work(arguments.base_vocabulary))
    if arguments.base == "characters":
        token = arguments.unknown_token
        if token is not None and token not in (*arguments.special, *values.get("base_vocabulary", ())):
            raise ConfigError(
                f'The unknown token "{token}" must be one of the special tokens: add --special "{token}", '
                "or add it to the base vocabulary."
            )
    counted = next(filter(None, map(counted_with, arguments.counts)), CountedWith("none"))
    values["algorithm"] = algorithm_of(arguments.algorithm, {name: getattr(arguments, name) for name in OWN_SETTINGS})
    values["special_tokens"] = values["special_tokens"] or counted.special_tokens
    values.setdefault("pattern", counted.pattern)
    return TrainingConfig(**values)


def _utf8(token: str) -> str:
    """A special token as it was typed; raises ConfigError where it is not valid text."""
    try:
        token.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"--special: {shown(token)} is not UTF-8.") from error
    return token
