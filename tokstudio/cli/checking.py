"""The command `check`: whether students' merges are right, and which mistakes explain those that are not."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tokstudio.cli.process.terminal import DONE, FAILED, Console, put
from tokstudio.cli.reading import read_corpus_work
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.wording import printable, several, shown
from tokstudio.core.exercises.check import Check, Checker, CheckSettings
from tokstudio.core.exercises.hypotheses import Hypothesis
from tokstudio.core.exercises.submissions import Merge, read_submission, submissions


class _Outcome(NamedTuple):
    """What was found in a submission; `check` is None for one that cannot be read."""

    name: str
    check: Check | None
    remarks: Sequence[str] = ()
    error: str = ""


def check(arguments: argparse.Namespace, console: Console) -> int:
    """Prints what was found; returns the exit code."""
    settings = CheckSettings(
        vocabulary_size=arguments.vocab_size,
        pattern=arguments.pattern,
        tie_break=arguments.tie_break,
        special_tokens=arguments.special,
    )
    corpus = console.finish(read_corpus_work(arguments.corpus, (), "file", arguments.encoding, console))
    checker = Checker(corpus, settings)
    outcomes = [_outcome(path, checker, console) for path in _paths(arguments.theirs)]
    if arguments.json:
        told = [_as_json(outcome) for outcome in outcomes]
        put(sys.stdout, json.dumps(told[0] if len(told) == 1 else told, ensure_ascii=False) + "\n")
    elif len(outcomes) == 1:
        put(sys.stdout, "".join(f"{printable(line)}\n" for line in _sentences(outcomes[0])))
    else:
        put(sys.stdout, "".join(f"{printable(line)}\n" for line in _table(outcomes)))
    return DONE if all(outcome.check is not None and outcome.check.identical for outcome in outcomes) else FAILED


def _paths(given: Sequence[Path]) -> Iterator[Path]:
    for path in given:
        try:
            yield from submissions(path)
        except FormatError:
            yield path  # reading it says why


def _outcome(path: Path, checker: Checker, console: Console) -> _Outcome:
    try:
        submission = read_submission(path)
    except FormatError as error:
        return _Outcome(path.name, None, error=str(error))
    return _Outcome(path.name, console.finish(checker.check_submission_work(submission)), submission.remarks)


def _as_json(outcome: _Outcome) -> dict[str, object]:
    found = outcome.check
    if found is None:
        return {"name": outcome.name, "identical": False, "error": outcome.error}
    difference = found.difference
    return {
        "name": outcome.name,
        "identical": found.identical,
        "merges": found.merges,
        "expected": found.expected,
        "first_difference": None if difference is None else difference.place,
        "theirs": None if difference is None else _texts(difference.theirs),
        "ours": None if difference is None else _texts(difference.ours),
        "counts": None if difference is None else list(difference.counts),
        "tied": None if difference is None else difference.tied,
        "causes": [[mistake.key for mistake in cause] for cause in found.causes],
        "remarks": list(outcome.remarks),
        "error": None,
    }


def _texts(merge: Merge | None) -> list[str] | None:
    """A pair as text; bytes that are not UTF-8 are written as hexadecimal escapes."""
    return None if merge is None else [part.decode("utf-8", "backslashreplace") for part in merge]


def _sentences(outcome: _Outcome) -> Iterator[str]:
    found = outcome.check
    if found is None:
        yield outcome.error
        return
    difference = found.difference
    if difference is None:
        yield f"{outcome.name}: identical, {several(found.merges, 'merge')}."
        return
    merges = f"{several(found.merges, 'merge')}, {found.expected:,} expected"
    yield f"{outcome.name}: {merges}; merge {difference.place:,} differs."
    theirs, ours = difference.counts
    yield f"  Theirs: {_pair(difference.theirs, theirs)}"
    tied = f" {difference.tied:,} pairs have this count." if difference.tied > 1 else ""
    yield f"  Right:  {_pair(difference.ours, ours)}{tied if difference.ours is not None else ''}"
    yield from (f"  {remark}" for remark in outcome.remarks)
    for number, cause in enumerate(found.causes):
        yield f"  {'Or' if number else 'Cause'}: {' '.join(mistake.meaning for mistake in cause)} ({_keys(cause)})"
        yield from (f"    {advice}" for advice in dict.fromkeys(mistake.advice for mistake in cause))
    if not found.causes:
        yield "  No known mistake, and no two of them together, gives the whole list."


def _pair(merge: Merge | None, count: int) -> str:
    if merge is None:
        return "the list has ended."
    left, right = (shown(text) for text in _texts(merge) or ())
    return f"{left} and {right}, which stand side by side {several(count, 'time')}."


def _keys(cause: Sequence[Hypothesis]) -> str:
    return " + ".join(mistake.key for mistake in cause)


def _table(outcomes: Sequence[_Outcome]) -> Iterator[str]:
    """A row for each submission: its name, what was found, and the causes."""
    wide = max(len(outcome.name) for outcome in outcomes)
    right = 0
    for outcome in outcomes:
        found = outcome.check
        if found is None:
            told = outcome.error.removeprefix(f"{outcome.name}: ")
        elif found.difference is None:
            right += 1
            told = f"identical, {several(found.merges, 'merge')}"
        else:
            causes = " or ".join(_keys(cause) for cause in found.causes) or "no known cause"
            told = f"differs at merge {found.difference.place:,}: {causes}"
        yield f"{outcome.name:{wide}}  {told}"
    yield f"{right:,} of {len(outcomes):,} submissions are identical to the right merges."
