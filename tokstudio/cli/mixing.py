"""The commands `mixture`, `how-much-text` and `infer-mixture`: what to train on, and what was trained on."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import json
import shlex
import sys
from inspect import GEN_CLOSED, getgeneratorstate
from typing import Any

from tokstudio.cli.process.terminal import DONE, FAILED, Console, put
from tokstudio.cli.reading import read_corpus, texts_of
from tokstudio.cli.tokenizers import load_tokenizer_or_run
from tokstudio.cli.training_input import chosen, read_texts, training_config, training_texts
from tokstudio.core.analysis.infer_mixture.inference import infer_mixture_work
from tokstudio.core.base.wording import percent_text, printable
from tokstudio.core.comparison.how_much_text import how_much_text_work
from tokstudio.core.comparison.mixture import MixtureSearch
from tokstudio.core.comparison.mixture_goal import FoundMixture, MixtureGoal
from tokstudio.core.comparison.parallel_set import open_parallel_work
from tokstudio.core.comparison.table import aligned
from tokstudio.core.corpus.counts_file import counted_with
from tokstudio.core.corpus.source import CountedWith
from tokstudio.core.model.config import TrainingConfig


def mixture(arguments: argparse.Namespace, console: Console) -> int:
    """Searches and prints; returns the exit code: `FAILED` also where the goal is not met."""
    goal = MixtureGoal(arguments.worst_premium, arguments.above_average, arguments.base_loss)
    counted = next(filter(None, map(counted_with, arguments.counts)), CountedWith("none"))
    values: dict[str, Any] = {"pattern": counted.pattern} | chosen(arguments, TrainingConfig)
    values["special_tokens"] = values["special_tokens"] or counted.special_tokens
    config = TrainingConfig(**values)
    parallel = console.finish(open_parallel_work(arguments.parallel, arguments.languages))
    for note in parallel.notes:
        console.say(note)
    read = read_texts(training_texts(arguments), console)
    search = MixtureSearch(read.corpus, config, goal, parallel, arguments.base_language, arguments.trainings)
    found = _searched(search, console)
    if arguments.json:
        put(sys.stdout, json.dumps(found.to_plain() | read.as_json(), ensure_ascii=False) + "\n")
    else:
        put(sys.stdout, printable(found.told) + "\n" + "".join(f"{each}\n" for each in _options(found)))
    return console.signals.code if console.signals.received else DONE if found.is_met else FAILED


def _searched(search: MixtureSearch, console: Console) -> FoundMixture:
    """The result, after Ctrl+C that of the trainings so far."""
    work, told = search.work(), 0
    while True:
        try:
            with console.signals.held():
                progress = next(work)
            console.show(progress)
            for trial in search.trials[told:]:
                told += 1
                console.say(
                    f"Training {told}: worst premium {trial.measured.worst_premium:.3f}, "
                    f"{trial.measured.mean:.2f} tokens per line."
                )
        except StopIteration as end:
            return end.value
        except KeyboardInterrupt:
            if getgeneratorstate(work) == GEN_CLOSED:  # a second signal ended the work itself
                raise
            search.stop()


def _options(found: FoundMixture) -> list[str]:
    """The weights as `train` takes them."""
    return [f"--weight {shlex.quote(f'{name}={weight:g}')}" for name, weight in found.weights.items()]


def how_much_text(arguments: argparse.Namespace, console: Console) -> None:
    """Trains on parts of texts, and prints a row for each, and the answer in words."""
    config = training_config(arguments, console)
    corpus = read_texts(training_texts(arguments), console).corpus
    found = console.finish(how_much_text_work(corpus, config, arguments.held_out, arguments.seed))
    if arguments.json:
        put(sys.stdout, json.dumps(found.to_plain()) + "\n")
        return
    table = aligned(found.table, [True] * len(found.table[0]))
    put(sys.stdout, "\n".join([*table, "", found.sentence, found.held_out]) + "\n")


def infer_mixture(arguments: argparse.Namespace, console: Console) -> None:
    """Prints the share of each candidate with its interval, and what is to be known of them."""
    tokenizer = load_tokenizer_or_run(arguments.tokenizer, arguments.run, arguments.pattern, console)
    read = read_corpus(texts_of(arguments, arguments.candidates), console, keep_empty=True)
    work = infer_mixture_work(tokenizer, read.corpus, arguments.merges, intervals=not arguments.no_intervals)
    found = console.finish(work)
    if arguments.json:
        put(sys.stdout, json.dumps(found.to_plain() | read.as_json(), ensure_ascii=False) + "\n")
        return
    rows: list[tuple[str, ...]] = [("candidate", "share", "from", "to")]
    for each in found.shares:
        shares = (each.share, each.low, each.high)
        rows.append((each.name, *("" if share is None else percent_text(share, 1) for share in shares)))
    put(sys.stdout, "\n".join([*aligned(rows, [False, True, True, True]), ""]) + "\n")
    for sentence in (found.told, *found.cautions):
        put(sys.stdout, printable(sentence) + "\n")
