"""The command `convert`: writes a tokenizer's files in another format, with proof."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from tokstudio.cli.exporting import check_losses, check_places, export
from tokstudio.cli.loading import load_source
from tokstudio.cli.process.terminal import DONE, FAILED, Console, put
from tokstudio.core.base.atomic_files import write_files
from tokstudio.core.corpus.readers.files import read_file_work
from tokstudio.core.formats.common.renumbering import closed_gaps


def convert(arguments: argparse.Namespace, console: Console) -> int:
    """Reads, writes and proves; returns the exit code."""
    exports: list[tuple[str, Path]] = [(arguments.format, arguments.target)]
    check_places(exports, console)
    original = load_source(arguments, console)
    if arguments.merges is not None:
        original = original.at(arguments.merges)
    tokenizer, moved = closed_gaps(original) if arguments.close_gaps else (original, ())
    check_losses(tokenizer, exports, arguments.accept_loss)
    for sentence in moved:
        console.say(sentence)
    sample = console.finish(read_file_work(arguments.sample)) if arguments.sample is not None else b""
    reports = export(tokenizer, exports, arguments.accept_loss, sample, console, original)
    if not reports:
        return FAILED
    report = replace(reports[0], notes=(*moved, *reports[0].notes))
    if arguments.report is not None:
        console.finish(write_files({arguments.report: [report.text().encode()]}))
    if arguments.json:
        facts = {
            "files": [str(file) for file in report.files],
            "proof": report.proof,
            "renumbered": report.renumbered,
            "losses": list(report.losses),
            "notes": list(report.notes),
            "snippet": report.snippet,
        }
        put(sys.stdout, json.dumps(facts) + "\n")
    return DONE
