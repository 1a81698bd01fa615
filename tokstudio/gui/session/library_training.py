"""A training by another library, as a run of the window."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

from tokstudio.core.analysis.compression import measure_work
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.library_training.config import LibraryConfig
from tokstudio.core.library_training.train import TrainedByLibrary, train_by_library_work
from tokstudio.core.project import ProjectTokenizer, TokenizerFile
from tokstudio.gui.state.run import HeldOutState, Origin, StudioRun


def train_for_runs_work(corpus: Corpus, config: LibraryConfig, name: str) -> Work[tuple[StudioRun, str]]:
    """Trains, and makes a run of what the library made, with a sentence about it; raises as `train_by_library`."""
    made = yield from train_by_library_work(corpus, config)
    files = tuple(TokenizerFile(file, content) for file, content in made.files.items())
    how = f"trained by {config.library} {made.version}, {_settings(config)}"
    run = StudioRun.opened(
        0, name, made.tokenizer, Origin(Path(name), (), how, True, ProjectTokenizer(name, files), how)
    )
    if made.held_out:
        try:
            measured = yield from measure_work(made.tokenizer, made.held_out, config.as_plain)
            run.note(held_out=HeldOutState(ratio=measured.bytes_per_token, bytes=measured.bytes))
        except ConfigError as error:
            run.note(held_out=HeldOutState(problem=str(error)))
    return run, _told(run, made)


def _settings(config: LibraryConfig) -> str:
    """What the library was given, as the end of a sentence."""
    told = [f"vocabulary size {config.vocabulary_size:,}"]
    if config.special_tokens:
        told.append(several(len(config.special_tokens), "special token"))
    if config.min_frequency is not None:
        told.append(f"minimum frequency {config.min_frequency:,}")
    if config.character_coverage is not None:
        told.append(f"{100 * config.character_coverage:.10g}\u00a0% of the characters")
    if config.byte_fallback:
        told.append("bytes for rare characters")
    if config.held_out:
        told.append(f"{100 * config.held_out:.10g}\u00a0% held out")
    return ", ".join(told)


def _told(run: StudioRun, made: TrainedByLibrary) -> str:
    told = f"{run.name} is in Runs: {several(run.vocabulary_size, 'token')}."
    if made.skipped:
        told += f" The library passed over {several(made.skipped, 'line')}: longer than 65,000 bytes, or with U+2585."
    if made.replaced:
        told += f" {several(made.replaced, 'byte sequence was', 'byte sequences were')} not UTF-8 and became U+FFFD."
    return told
