"""What Check Tokenizer finds: a finding of a rule with its level, as values for JSON and as a table."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several

if TYPE_CHECKING:
    from tokstudio.core.lint.subject import Subject

Level = Literal["error", "danger", "remark"]
#: The levels, the worst first, with what each means.
LEVELS: dict[Level, str] = {
    "error": "ids are wrong, or differ from one program to another",
    "danger": "text can make special tokens, what looks special is not, or transformers does not follow the file",
    "remark": "good to know before a model is trained",
}
_COLUMNS = ("level", "rule", "message", "example", "advice")
_LONGEST = 200  # characters of an example


@dataclass(frozen=True)
class Observation:
    """What a rule finds."""

    message: str  # a sentence
    advice: str  # what to do, a sentence
    example: str = ""  # a text or a token that shows it; "" where there is none
    pieces: tuple[str, ...] = ()  # the example as the tokens or pre-tokens that it becomes, if that is what it shows


#: What a rule finds, one after another, and its progress between.
Observations = Generator[Progress | Observation, None, None]


@dataclass(frozen=True)
class LintFinding:
    """What was found, with its rule; see `Observation`."""

    rule: str
    level: Level
    message: str
    example: str
    advice: str
    pieces: tuple[str, ...] = ()

    def to_json(self) -> dict[str, str]:
        """Its values by name."""
        return {name: getattr(self, name) for name in _COLUMNS}


@dataclass(frozen=True)
class LintRule:
    """A rule: its name, the level of all that it finds, what it looks at, and what it does.

    One that needs the tokenizer itself is left out where the files do not open.
    """

    name: str
    level: Level
    looks_at: str
    find: Callable[[Subject], Observations]
    needs_tokenizer: bool = False

    def findings_work(self, subject: Subject) -> Work[list[LintFinding]]:
        """What it finds, with its name and level."""
        found: list[LintFinding] = []
        for one in self.find(subject):
            if isinstance(one, Progress):
                yield one
            else:
                found.append(LintFinding(self.name, self.level, one.message, _cut(one.example), one.advice, one.pieces))
        return found


def worst_first(findings: Iterable[LintFinding]) -> list[LintFinding]:
    """Sorts findings by level; those of one level keep their order."""
    order = list(LEVELS)
    return sorted(findings, key=lambda finding: order.index(finding.level))


def has_error(findings: Iterable[LintFinding]) -> bool:
    """Whether one of them is an error."""
    return any(finding.level == "error" for finding in findings)


def summary(findings: Sequence[LintFinding]) -> str:
    """How many there are of each level: "1 error, 2 dangers and 3 remarks"."""
    counts = {level: sum(finding.level == level for finding in findings) for level in LEVELS}
    named = [several(count, level) for level, count in counts.items() if count]
    return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named) or "nothing found"


def to_json(findings: Iterable[LintFinding]) -> str:
    """A list of objects."""
    return json.dumps([finding.to_json() for finding in findings], ensure_ascii=False, indent=1)


def to_csv(findings: Iterable[LintFinding]) -> str:
    """A table with a heading; a cell that a spreadsheet would calculate begins with an apostrophe."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for finding in findings:
        writer.writerow([_harmless(value) for value in finding.to_json().values()])
    return table.getvalue()


def _harmless(value: str) -> str:
    return f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
