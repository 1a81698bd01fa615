"""The command `check`: whether students' merges are right, and which mistakes explain those that are not."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tokstudio.cli.process.terminal import DONE, FAILED, Console, put
from tokstudio.cli.reading import TextsToRead, read_corpus_work
from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.wording import printable
from tokstudio.core.teaching.check import Checker, CheckSettings
from tokstudio.core.teaching.exercise import Outcome, outcome_work, paths_of, sentences, table, texts


def check(arguments: argparse.Namespace, console: Console) -> int:
    """Prints what was found; returns the exit code."""
    settings = CheckSettings(
        vocabulary_size=arguments.vocab_size,
        pattern=arguments.pattern,
        tie_break=arguments.tie_break,
        special_tokens=arguments.special,
    )
    texts = TextsToRead(arguments.corpus, encoding=arguments.encoding)
    read = console.finish(read_corpus_work(texts, console))
    checker = Checker(read.corpus, settings)
    outcomes = list(_outcomes(tuple(paths_of(arguments.theirs)), checker, console))
    if arguments.json:
        results = [_as_json(outcome) | read.as_json() for outcome in outcomes]
        text = json.dumps(results[0] if len(results) == 1 else results, ensure_ascii=False) + "\n"
        # A byte of a name that is not text is half of a pair of surrogates, which JSON writes as an escape.
        put(sys.stdout, text.encode("utf-8", "backslashreplace"))
    elif len(outcomes) == 1:
        put(sys.stdout, "".join(f"{printable(line)}\n" for line in sentences(outcomes[0])))
    else:
        put(sys.stdout, "".join(f"{printable(line)}\n" for line in table(outcomes)))
    return DONE if all(outcome.identical for outcome in outcomes) else FAILED


def _outcomes(paths: Sequence[Path], checker: Checker, console: Console) -> Iterator[Outcome]:
    """What is found in each submission; of several, one after another is reported."""
    for number, path in enumerate(paths, 1):
        yield console.finish(outcome_work(path, checker), f", {number:,} of {len(paths):,}" if len(paths) > 1 else "")
        if len(paths) > 1:
            console.note(f"Checked {file_name(path)}, {number:,} of {len(paths):,}.")


def _as_json(outcome: Outcome) -> dict[str, object]:
    outcome_check = outcome.check
    if outcome_check is None:
        return {"name": outcome.name, "identical": False, "error": outcome.error}
    difference = outcome_check.difference
    return {
        "name": outcome.name,
        "identical": outcome_check.identical,
        "merges": outcome_check.merges,
        "expected": outcome_check.expected,
        "first_difference": None if difference is None else difference.place,
        "theirs": None if difference is None else texts(difference.theirs),
        "ours": None if difference is None else texts(difference.ours),
        "counts": None if difference is None else list(difference.counts),
        "tied": None if difference is None else difference.tied,
        "causes": [[mistake.key for mistake in cause] for cause in outcome_check.causes],
        "remarks": list(outcome.remarks),
        "error": None,
    }
