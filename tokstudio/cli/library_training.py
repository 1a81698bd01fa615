"""The command `train` where another library trains: exports what it made, and prints a summary."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
from dataclasses import asdict

from tokstudio.cli.exporting import export
from tokstudio.cli.process.terminal import DONE, FAILED, Console
from tokstudio.cli.reading import CommandTexts, report_held_out
from tokstudio.cli.results import Exports
from tokstudio.cli.training import SAMPLE, TrainingOutcome
from tokstudio.cli.training_input import Keep, chosen, read_to_train
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.wording import several
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.library_training.config import LibraryConfig
from tokstudio.core.library_training.train import TrainedByLibrary, own_format, train_by_library_work
from tokstudio.core.model.run import NOTHING_LEFT, REACHED_SIZE

_OF_MERGES = ("merges-csv", "merges-jsonl")


def train_by_library(arguments: argparse.Namespace, console: Console) -> int:
    """Trains, and returns the exit code; an interruption ends the library's process, and nothing is exported."""
    config = LibraryConfig(**chosen(arguments, LibraryConfig))
    check_formats(arguments.export, config)
    read, keep = read_to_train(arguments, asdict(config), console)
    return train_by_library_on(config, read, arguments, console, keep).told(arguments)


def train_by_library_on(
    config: LibraryConfig, read: CommandTexts, arguments: argparse.Namespace, console: Console, keep: Keep | None = None
) -> TrainingOutcome:
    """Trains on texts, exports, and measures."""
    exports: Exports = arguments.export
    corpus = read.corpus
    trained = console.finish(train_by_library_work(corpus, config))
    _report(trained, console)
    with console.signals.finishing():
        reports = export(trained.tokenizer, exports, arguments, corpus.sample(SAMPLE), console)
        if keep is not None:
            keep(corpus, trained.tokenizer)
    code, ratio = DONE if len(reports) == len(exports) else FAILED, None
    try:
        if config.held_out:
            ratio = report_held_out(trained.tokenizer, trained.held_out, config.as_plain, console)
    except KeyboardInterrupt:
        console.say("Interrupted: the held-out text was not measured.")
        code = console.signals.code
    files = [str(file) for report in reports for file in report.files]
    facts = _as_json(trained) | {"files": files} | read.as_json()
    if config.held_out:
        facts["held_out_bytes_per_token"] = ratio
    return TrainingOutcome(console.signals.code if console.signals.received else code, facts)


def check_formats(exports: Exports, config: LibraryConfig) -> None:
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


def _report(trained: TrainedByLibrary, console: Console) -> None:
    config = trained.config
    console.say(
        f"Trained {config.title} by {config.library} {trained.version} in {trained.seconds:.1f} s on "
        f"{several(trained.lines, 'line')}, {several(trained.bytes, 'byte')}: "
        f"{several(len(trained.tokenizer), 'token')}."
    )
    if len(trained.tokenizer) < config.vocabulary_size:
        console.say(f"The library found no more tokens in this text; {config.vocabulary_size:,} were wanted.")
    if trained.skipped:
        console.say(
            f"The library passed over {several(trained.skipped, 'line')}: longer than 65,000 bytes, or with U+2585."
        )
    if trained.replaced:
        console.say(
            f"{several(trained.replaced, 'byte sequence was', 'byte sequences were')} not UTF-8 and became U+FFFD."
        )
    if config.held_out:
        console.say(f"Held out: {several(sum(source.bytes for source in trained.held_out), 'byte')}.")
    if not config.repeatable:
        console.say(
            "Training again may give other ids and some other tokens, because the tokenizers library goes through the "
            "words in another order each time."
        )


def _as_json(trained: TrainedByLibrary) -> dict[str, object]:
    return {
        "algorithm": trained.config.algorithm,
        "library": trained.config.library,
        "library_version": trained.version,
        "repeatable": trained.config.repeatable,
        "vocabulary_size": len(trained.tokenizer),
        "ended": REACHED_SIZE if len(trained.tokenizer) >= trained.config.vocabulary_size else NOTHING_LEFT,
        "bytes": trained.bytes,
        "lines": trained.lines,
        "skipped_lines": trained.skipped,
        "seconds": trained.seconds,
    }
