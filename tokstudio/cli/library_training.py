"""The command `train` where another library trains: exports what it made, and prints a summary."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import json
import sys

from tokstudio.cli.exporting import Exports, export
from tokstudio.cli.process.terminal import DONE, FAILED, Console, Signals, put
from tokstudio.cli.reading import report_held_out
from tokstudio.cli.training import SAMPLE, chosen, read_texts, training_texts
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.wording import several
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.library_training.config import LibraryConfig
from tokstudio.core.library_training.train import TrainedByLibrary, own_format, train_by_library_work
from tokstudio.core.model.run import NOTHING_LEFT, REACHED_SIZE

_OF_MERGES = ("merges-csv", "merges-jsonl")


def train_by_library(arguments: argparse.Namespace, console: Console, signals: Signals) -> int:
    """Trains, and returns the exit code; an interruption ends the library's process, and nothing is exported."""
    exports: Exports = arguments.export
    config = LibraryConfig(**chosen(arguments, LibraryConfig))
    _check_formats(exports, config)
    read = read_texts(training_texts(arguments), console)
    corpus = read.corpus
    made = console.finish(train_by_library_work(corpus, config))
    _report(made, console)
    with signals.finishing():
        reports = export(made.tokenizer, exports, arguments.accept_loss, corpus.sample(SAMPLE), console)
    code, ratio = DONE if len(reports) == len(exports) else FAILED, None
    try:
        if config.held_out:
            ratio = report_held_out(made.tokenizer, made.held_out, config.as_plain, console)
    except KeyboardInterrupt:
        console.say("Interrupted: the held-out text was not measured.")
        code = signals.code
    if arguments.json:
        files = [str(file) for report in reports for file in report.files]
        outcome = _as_json(made) | {"files": files} | read.as_json()
        if config.held_out:
            outcome["held_out_bytes_per_token"] = ratio
        put(sys.stdout, json.dumps(outcome) + "\n")
    return signals.code if signals.received else code


def _check_formats(exports: Exports, config: LibraryConfig) -> None:
    """Refuses before a long training a format that cannot hold its result."""
    own = own_format(config)
    for name, path in exports:
        chosen = FORMATS[name]
        if chosen.readable and chosen is not own:
            raise FormatError(
                f"{path.name}: {chosen.title} cannot hold a tokenizer for which the {config.library} library encodes. "
                f"Export it as {own.name}."
            )
        if name in _OF_MERGES:
            raise FormatError(
                f"{path.name}: the {config.library} library does not tell its merges and their counts, so there is no "
                "table of them."
            )


def _report(made: TrainedByLibrary, console: Console) -> None:
    config = made.config
    console.say(
        f"Trained {config.title} by {config.library} {made.version} in {made.seconds:.1f} s on "
        f"{several(made.lines, 'line')}, {several(made.bytes, 'byte')}: {several(len(made.tokenizer), 'token')}."
    )
    if len(made.tokenizer) < config.vocabulary_size:
        console.say(f"The library found no more tokens in this text; {config.vocabulary_size:,} were wanted.")
    if made.skipped:
        console.say(
            f"The library passed over {several(made.skipped, 'line')}: longer than 65,000 bytes, or with U+2585."
        )
    if made.replaced:
        console.say(
            f"{several(made.replaced, 'byte sequence was', 'byte sequences were')} not UTF-8 and became U+FFFD."
        )
    if config.held_out:
        console.say(f"Held out: {sum(source.bytes for source in made.held_out):,} bytes.")
    if not config.repeatable:
        console.say(
            "Training again may give other ids and some other tokens, because the tokenizers library goes through the "
            "words in another order each time."
        )


def _as_json(made: TrainedByLibrary) -> dict[str, object]:
    return {
        "algorithm": made.config.algorithm,
        "library": made.config.library,
        "library_version": made.version,
        "repeatable": made.config.repeatable,
        "vocabulary_size": len(made.tokenizer),
        "ended": REACHED_SIZE if len(made.tokenizer) >= made.config.vocabulary_size else NOTHING_LEFT,
        "bytes": made.bytes,
        "lines": made.lines,
        "skipped_lines": made.skipped,
        "seconds": made.seconds,
    }
