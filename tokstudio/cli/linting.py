"""The command `lint`: Check Tokenizer, as sentences or as JSON."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from tokstudio.cli.process.terminal import DONE, FAILED, Console, put
from tokstudio.cli.projects import load_run
from tokstudio.cli.reading import TextsToRead, read_corpus
from tokstudio.cli.tokenizers import is_project
from tokstudio.core.base.wording import other_name, printable, shown
from tokstudio.core.lint.findings import LintFinding, has_error, summary, to_json
from tokstudio.core.lint.lint import lint_work

_LONGEST_SHOWN = 100


def lint(arguments: argparse.Namespace, console: Console) -> int:
    """Prints what was found, the worst first; returns the exit code."""
    texts: dict[str, bytes] = {}
    if arguments.texts:
        read = read_corpus(TextsToRead(arguments.texts, encoding=arguments.encoding), console)
        for source in read.corpus.sources:
            texts[other_name(source.name, texts)] = bytes(source.data[: source.bytes])
    tokenizer = arguments.tokenizer
    if is_project(tokenizer):
        tokenizer = load_run(tokenizer, arguments.run, console)
    findings = console.finish(lint_work(tokenizer, texts, arguments.pattern))
    if arguments.json:
        put(sys.stdout, (to_json(findings) + "\n").encode("utf-8", "backslashreplace"))
    else:
        put(sys.stdout, "".join(f"{line}\n" for line in _lines(findings)))
    return FAILED if has_error(findings) else DONE


def _lines(findings: Sequence[LintFinding]) -> Iterator[str]:
    for finding in findings:
        yield printable(f"{finding.level.upper()}  {finding.rule}: {finding.message}")
        if finding.pieces:
            yield printable(f"    Example: {' | '.join(shown(piece, _LONGEST_SHOWN) for piece in finding.pieces)}")
        elif finding.example:
            yield printable(f"    Example: {shown(finding.example, _LONGEST_SHOWN)}")
        yield printable(f"    {finding.advice}")
    yield f"{summary(findings).capitalize()}."
