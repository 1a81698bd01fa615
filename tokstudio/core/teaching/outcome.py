"""What was found in a submission, as sentences for a student, as a row for a teacher, and as CSV."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import printable, several, shown
from tokstudio.core.teaching.check import Check, Checker
from tokstudio.core.teaching.hypotheses import Hypothesis
from tokstudio.core.teaching.submissions import Merge, read_submission, submissions

_RISKY = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would compute a cell that begins so


class Outcome(NamedTuple):
    """What was found in a submission; `check` is None for one that cannot be read."""

    name: str
    check: Check | None
    remarks: Sequence[str] = ()
    error: str = ""

    @property
    def identical(self) -> bool:
        """Whether it was read, and is right."""
        return self.check is not None and self.check.identical


def paths_of(given: Iterable[Path]) -> Iterator[Path]:
    """Every submission in files and folders; a path that has none stays, as reading it says why."""
    for path in given:
        try:
            yield from submissions(path)
        except FormatError:
            yield path


def outcome_work(path: Path, checker: Checker) -> Work[Outcome]:
    """Reads and checks a submission; one that cannot be read is an outcome too."""
    yield Progress("reading")
    name = path.name or path.absolute().name
    try:
        submission = read_submission(path)
    except FormatError as error:
        return Outcome(name, None, error=str(error))
    check = yield from checker.check_submission_work(submission)
    return Outcome(name, check, submission.remarks)


def sentences(outcome: Outcome) -> Iterator[str]:
    """What differs first, both counts, and what to look at."""
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


def texts(merge: Merge | None) -> list[str] | None:
    """A pair as text; bytes that are not UTF-8 are written as hexadecimal escapes."""
    return None if merge is None else [part.decode("utf-8", "backslashreplace") for part in merge]


def _pair(merge: Merge | None, count: int) -> str:
    if merge is None:
        return "the list has ended."
    left, right = (shown(text) for text in texts(merge) or ())
    return f"{left} and {right}, which stand side by side {several(count, 'time')}."


def _keys(cause: Sequence[Hypothesis]) -> str:
    return " + ".join(mistake.key for mistake in cause)


def causes_text(outcome: Outcome) -> str:
    """The keys of its causes on one line; the error of one that cannot be read."""
    found = outcome.check
    if found is None:
        return outcome.error.removeprefix(f"{printable(outcome.name)}: ")
    if found.identical:
        return ""
    return " or ".join(map(_keys, found.causes)) or "no known cause"


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """A row for each submission: its name, what was found, and the causes."""
    wide = max(len(printable(outcome.name)) for outcome in outcomes)
    for outcome in outcomes:
        found, told = outcome.check, causes_text(outcome)
        if found is not None:
            differs = f"differs at merge {found.difference.place:,}: {told}" if found.difference else ""
            told = differs or f"identical, {several(found.merges, 'merge')}"
        yield f"{printable(outcome.name):{wide}}  {told}"
    right = sum(outcome.identical for outcome in outcomes)
    yield f"{right:,} of {len(outcomes):,} submissions are identical to the right merges."


def to_csv(outcomes: Iterable[Outcome]) -> str:
    """A table with a row for each submission. A cell that a spreadsheet would compute begins with an apostrophe."""
    file = io.StringIO()
    write = csv.writer(file, lineterminator="\r\n").writerow
    write(("name", "identical", "merges", "expected", "first_difference", "causes", "error"))
    for outcome in outcomes:
        name, found = printable(outcome.name), outcome.check
        name = f"'{name}" if name.startswith(_RISKY) else name
        if found is None:
            write((name, "no", "", "", "", "", printable(outcome.error)))
        else:
            place = found.difference.place if found.difference else ""
            identical = "yes" if found.identical else "no"
            write((name, identical, found.merges, found.expected, place, causes_text(outcome), ""))
    return file.getvalue()
