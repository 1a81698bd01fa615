"""Check Tokenizer: runs all rules over a tokenizer, and gives what they find, the worst first."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from tokstudio.core.base.progress import Progress, Work, finish, part_of
from tokstudio.core.lint import files, patterns, specials, vocabulary
from tokstudio.core.lint import texts as on_texts
from tokstudio.core.lint.findings import LintFinding, LintRule, worst_first
from tokstudio.core.lint.subject import Texts, subject_work
from tokstudio.core.text.utf8 import AnyPath

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

#: All rules. Findings of one level are in their order.
RULES: tuple[LintRule, ...] = (
    *patterns.RULES, *specials.RULES, *vocabulary.RULES, *files.RULES, *on_texts.RULES,
)  # fmt: skip
_STEPS = 100  # of the progress of a rule


def lint(tokenizer: Tokenizer | AnyPath, texts: Texts = None, pattern: str | None = None) -> list[LintFinding]:
    """Looks for faults of a tokenizer and of its files, before a model is trained with it.

    Args:
        tokenizer: A file, a folder or a name, as for `load`, or a tokenizer, whose files are then not looked at.
        texts: Texts, by name or in a list, on which splitting, decoding and unknown characters are tried; without any,
            a hard text in many scripts. Of more than some four million characters, parts in equal steps are looked at.
            Several texts are counted one by one, otherwise scripts are.
        pattern: How text is split, where the files do not say.

    Returns:
        What was found, the worst first. Chat templates are rendered in a sandbox.

    Raises:
        FormatError: There is no tokenizer, or it cannot be read.
    """
    return finish(lint_work(tokenizer, texts, pattern))


def lint_work(
    tokenizer: Tokenizer | AnyPath, texts: Texts = None, pattern: str | None = None, name: str = ""
) -> Work[list[LintFinding]]:
    """Does the same as `lint` in bounded pieces; `name` is the tokenizer's in messages."""
    subject = yield from subject_work(tokenizer, texts, pattern, name)
    findings: list[LintFinding] = []
    with closing(subject.process):
        for number, rule in enumerate(RULES):
            if not rule.needs_tokenizer or subject.tokenizer is not None:
                work = rule.findings_work(subject)
                findings += yield from part_of(work, rule.looks_at, number * _STEPS, _STEPS, len(RULES) * _STEPS)
            yield Progress(rule.looks_at, (number + 1) * _STEPS, len(RULES) * _STEPS)
    return worst_first(findings)
