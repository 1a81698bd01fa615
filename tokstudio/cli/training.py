"""The commands `train` and `extend`: train on texts, export, and print a summary."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import field
from itertools import count
from pathlib import Path
from typing import TextIO

import numpy as np
import platformdirs
from numpy.typing import NDArray

from tokstudio.cli.exporting import Proving, check_losses, export, read_reference
from tokstudio.cli.process.terminal import DONE, FAILED, Console, put, reason
from tokstudio.cli.reading import (
    CommandTexts,
    files_at_hand,
    report_held_out,
    report_preparation,
    report_sources,
    source_facts,
)
from tokstudio.cli.results import Exports
from tokstudio.cli.tokenizers import load_tokenizer_or_run
from tokstudio.cli.training_input import Keep, chosen, read_texts, read_to_train, training_config, training_texts
from tokstudio.core.algorithms.common.from_tokenizer import check_start
from tokstudio.core.algorithms.common.languages import check_parallel_lines, silent_languages, told_silent
from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import ConfigError, CorpusError, TokStudioError
from tokstudio.core.base.machine import free_memory
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import count_text, in_units, percent_text, several
from tokstudio.core.comparison.table import aligned
from tokstudio.core.corpus.corpus import ONCE, Corpus
from tokstudio.core.experiment.result import merges_in_words
from tokstudio.core.formats.report import ExportReport
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.picky import LEFT_GONE
from tokstudio.core.model.run import NOTHING_LEFT, STOPPED, Run
from tokstudio.core.project import EXPERIMENT, Project, ProjectRun, save_work
from tokstudio.core.project import SUFFIX as PROJECT
from tokstudio.core.project.schema import Json
from tokstudio.core.surgery.extension_sheet import HELD_OUT, ExtensionSheet, check_sheet_work, sheet_work
from tokstudio.core.surgery.specials import check_reserved, fill_reserved
from tokstudio.core.tokenizer.origin import Proof
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.curves import SourceCurves
from tokstudio.core.training.forecast import forecast_work
from tokstudio.core.training.trainer import Trainer

# --- Saves a run as a project: where the user asks for one, or where an export of the run failed ----------------------
# The corpus is not saved: it could take long, and all the free space.

_LONGEST_NAME = 60  # characters: a file name has at most 255 bytes, and the length may be what failed


def save_project(run: Run, path: Path, console: Console, experiment: str = "") -> Path | None:
    """Saves a run where the user asks for it, and reports that; None where it cannot be written, or a file is there."""
    try:
        _save(run, path, console, experiment, may_replace=False)
    except (TokStudioError, OSError) as error:
        console.complain(reason(error))
        return None
    except MemoryError:
        console.complain(f"{file_name(path)}: this computer does not have enough free memory to write it.")
        return None
    console.say(f"Saved {path}: open that project, or export from it with tokstudio convert.")
    return path


def rescue(run: Run, target: Path, console: Console) -> Path | None:
    """Saves a run beside the target of its export, or else in this user's state folder, and reports where.

    No file is ever replaced.

    Returns:
        The project; None where it cannot be written.
    """
    name = target.absolute().name.removesuffix(PROJECT)[:_LONGEST_NAME].strip(".") or "run"
    # The folder of the target, or the nearest existing one above it.
    nearest = next((above for above in target.absolute().parents if os.path.isdir(above)), Path.cwd())
    for folder in (nearest, _state_folder()):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            place = _reserved(folder, name)
        except (OSError, ValueError):
            continue
        try:
            _save(run, place, console)
        except BaseException as error:
            with suppress(OSError):
                place.unlink()
            # The next folder may be on another disk.
            if not isinstance(error, (TokStudioError, OSError, MemoryError)):
                raise
            continue
        console.complain(f"The run is kept in {place}: open that project, or export from it with tokstudio convert.")
        return place
    console.complain(
        "The run is lost: it could not be saved as a project either, beside the export or in your own folder."
    )
    return None


def _save(run: Run, place: Path, console: Console, experiment: str = "", may_replace: bool = True) -> None:
    state: dict[str, Json] = {EXPERIMENT: experiment} if experiment else {}
    project = Project(runs=(ProjectRun("Run 1", run),), active=0, state=state)
    console.finish(save_work(project, place, may_replace=may_replace))


def _state_folder() -> Path:
    return Path(platformdirs.user_state_dir("tokstudio", appauthor=False)) / "kept"


def _reserved(folder: Path, name: str) -> Path:
    """Creates a new empty file, so that moving the project there replaces no other file."""
    for number in count(1):
        place = folder / f"{name}{f'-{number}' * (number > 1)}{PROJECT}"
        with suppress(FileExistsError):
            place.touch(mode=0o600, exist_ok=False)
            return place
    raise AssertionError


# --- What `extend` adds to `train`: the tokenizer to start from, and the proof of what stayed the same ----------------


class Extension:
    """The start of an extension: a tokenizer, or its first merges; and the reserved tokens whose ids are filled.

    Raises:
        ConfigError: The tokenizer cannot be extended so.
    """

    def __init__(
        self, whole: Tokenizer, merges: int | None, fill: Sequence[str], proving: Proving, console: Console
    ) -> None:
        self._unused, self._fill, self.proving, self._console = _unused_ids(whole), fill, proving, console
        self._references: dict[str, str] | None = None  # of the sheet; None where none is wanted
        self.start: Tokenizer = whole if merges is None else whole.at(merges)
        check_reserved(self.start, fill)

    def training_size(self, size: int | None) -> int | None:
        """The vocabulary size to train to, as those to fill are tokens until the end; raises ConfigError if reached."""
        filled = len(self._fill)
        if size is not None and size <= len(self.start) - filled:
            besides = " besides those to fill" if filled else " already"
            raise ConfigError(
                f"Vocabulary size must be greater than {len(self.start) - filled:,}: the tokenizer has that many "
                f"tokens{besides}."
            )
        return None if size is None else size + filled

    def prepare_sheet(self, corpus: Corpus, reference: Path | None, others: Sequence[Path]) -> None:
        """Reads the reference texts of the sheet; raises TokStudioError where there can be none."""
        paths: list[Path] = [*([] if reference is None else [reference]), *others]
        paths = list(dict.fromkeys(paths))
        names = Counter(file_name(path) for path in paths)
        self._references = {
            file_name(path) if names[file_name(path)] == 1 else str(path): read_reference(path, self._console)
            for path in paths
        }
        self._console.finish(check_sheet_work(self.start, corpus, self._references, self._fill))

    def sheet_work(self, trainer: Trainer) -> Work[ExtensionSheet | None]:
        """What each number of added tokens would give; None where that is not wanted."""
        if self._references is None:
            return None
        return (yield from sheet_work(trainer, self._references, self._fill))

    def finished(self, tokenizer: Tokenizer, sample: bytes) -> tuple[Tokenizer, Proof]:
        """The trained tokenizer with its reserved ids filled, and its proof; raises ConfigError where it fails."""
        if len(tokenizer.merges) == len(self.start.merges):
            raise ConfigError(
                "Nothing new can be learned from this text: "
                "no pair of tokens occurs often enough, or all are forbidden."
            )
        filled = fill_reserved(tokenizer, self._fill) if self._fill else tokenizer
        if (gaps := _unused_ids(filled) - self._unused) > 0:
            unused = several(gaps, "id of a dropped merge stays", "ids of dropped merges stay")
            self._console.say(f"{unused} unused: renumber --by rank closes the gaps.")
        return filled, self.proving.prove(filled, sample)

    def as_json(self, tokenizer: Tokenizer, proof: Proof) -> dict[str, object]:
        """The size, and the proof."""
        sizes = {"tokens_before": len(self.start), "vocabulary_size": len(tokenizer)}
        return sizes | self.proving.as_json(proof)


def _unused_ids(tokenizer: Tokenizer) -> int:
    """The ids below the highest one that no token has."""
    return int(tokenizer.tokens.ids().max()) + 1 - len(tokenizer)


SAMPLE = 1_000_000  # bytes of the corpus for the proof of an export
_CERTAIN_TO_FIT = 200  # times the corpus: more memory than any training takes, so no forecast is needed


@dataclass(frozen=True, eq=False)
class TrainingOutcome:
    """The exit code of a training, and what --json prints of it."""

    code: int
    facts: dict[str, object]

    def told(self, arguments: argparse.Namespace) -> int:
        """The exit code, after the rest was printed if that is wanted."""
        if arguments.json:
            put(sys.stdout, json.dumps(self.facts) + "\n")
        return self.code


def train(arguments: argparse.Namespace, console: Console) -> int:
    """Trains, and returns the exit code; an interrupted training is exported as well."""
    arguments.counts = files_at_hand(arguments.counts, console)
    config = training_config(arguments, console)
    read, keep = read_to_train(arguments, config.by_name(), console)
    return train_on(config, read, arguments, console, keep=keep).told(arguments)


def extend(arguments: argparse.Namespace, console: Console) -> int:
    """Trains a tokenizer further and proves what stayed the same; else like `train`."""
    proving = Proving(arguments.reference, arguments.map, arguments.report, console)
    whole = load_tokenizer_or_run(arguments.source, arguments.run, arguments.pattern, console)
    extension = Extension(whole, arguments.merges, arguments.fill, proving, console)
    size = extension.training_size(arguments.vocab_size)
    if arguments.sheet is not None and not arguments.held_out:
        arguments.held_out = HELD_OUT
        console.say(f"For the sheet, about {percent_text(HELD_OUT)} of the text is held out of the training.")
    values = chosen(arguments, TrainingConfig) | {"pattern": extension.start.pattern, "vocabulary_size": size}
    config = check_start(extension.start, TrainingConfig(**values))
    arguments.counts = files_at_hand(arguments.counts, console)
    read = read_texts(training_texts(arguments), console)
    if arguments.sheet is not None:
        extension.prepare_sheet(read.corpus, arguments.reference, arguments.sheet)
    return train_on(config, read, arguments, console, extension).told(arguments)


def _targets(arguments: argparse.Namespace) -> list[Path]:
    """Where the results are wanted."""
    return [*(path for _, path in arguments.export), *filter(None, [arguments.project, arguments.experiment])]


def train_on(
    config: TrainingConfig,
    read: CommandTexts,
    arguments: argparse.Namespace,
    console: Console,
    extension: Extension | None = None,
    keep: Keep | None = None,
) -> TrainingOutcome:
    """Trains on texts, exports, and measures."""
    corpus, targets = read.corpus, _targets(arguments)
    if not arguments.force:
        _check_memory(corpus, config, console)
    trainer = Trainer(corpus, config, start=None if extension is None else extension.start)
    check_parallel_lines(corpus, config)
    if silent := told_silent(corpus, config):
        console.say(silent)
    try:
        code = _train(trainer, arguments, console)
        trainer.stop()
        is_complete = code in (DONE, FAILED)
        written = _write(trainer, is_complete, arguments, console, extension, read.experiment)
        if keep is not None and code in (DONE, FAILED):
            with console.signals.finishing():
                keep(corpus, trainer.run)
        elif arguments.experiment is not None:
            console.say(f"Not written, as the training has not ended: {file_name(arguments.experiment)}.")
    except BaseException:
        if targets and trainer.prepared is not None and len(trainer.run):
            with console.signals.saving():
                rescue(trainer.run, targets[0], console)
        raise
    run, kept = trainer.run, written.project
    if written.failed and kept is None:
        with console.signals.saving():
            kept = rescue(run, targets[0], console)
    if console.signals.received:
        code = console.signals.code
    measured = _Measured()
    # Last, because the rest of the result is ready without it; after an interruption it is skipped.
    if code in (DONE, FAILED) and not _measure(measured, trainer, console, extension):
        code = console.signals.code
    facts = _as_json(run, written.reports, measured.ratio, kept) | read.as_json() | written.facts
    if _has_sources(run):
        facts["sources"] = _sources_as_json(run, corpus, measured.curves)
    if (sheet := measured.sheet) is not None:
        facts["sheet"] = sheet.to_plain()
        if not arguments.json:
            rows = [sheet.titles, *map(sheet.cells, sheet.rows)]
            put(sys.stdout, "\n".join(aligned(rows, [True] * len(sheet.titles))) + "\n")
    return TrainingOutcome(code or (FAILED if written.failed else DONE), facts)


@dataclass(frozen=True)
class _Written:
    """What a training has left."""

    reports: Sequence[ExportReport] = ()
    project: Path | None = None
    failed: bool = False  # whether something that was wanted is missing
    facts: dict[str, object] = field(default_factory=dict[str, object])  # what `extend` proved, for --json


def _write(
    trainer: Trainer,
    is_complete: bool,
    arguments: argparse.Namespace,
    console: Console,
    extension: Extension | None,
    described: str,
) -> _Written:
    """Exports and saves what was trained, also where it was interrupted after the first merge."""
    run = trainer.run
    exports: Exports = arguments.export
    project: Path | None = arguments.project
    if not is_complete and not len(run):
        lost = ": nothing was exported." if exports else ": nothing was saved." if project else "."
        # BoundlessBPE has no list of merges before.
        point = "the end of phase 1" if trainer.config.algorithm.joins_words else "the first merge"
        console.say(f"Interrupted before {point}{lost}")
        return _Written()
    console.say(_summary(run))
    with console.signals.finishing():
        sample = trainer.corpus.sample(SAMPLE) if exports or extension else b""
        tokenizer, proof, facts = trainer.tokenizer(), None, dict[str, object]()
        if extension is not None:
            tokenizer, proof = extension.finished(tokenizer, sample)
            facts = extension.as_json(tokenizer, proof)
        reports = export(tokenizer, exports, arguments, sample, console, proof=proof)
        kept = None if project is None else save_project(run, project, console, described)
        if extension is not None and proof is not None and len(reports) == len(exports):
            extension.proving.write(tokenizer, proof, reports)
    return _Written(reports, kept, len(reports) < len(exports) or (project is not None and kept is None), facts)


@dataclass
class _Measured:
    """What is measured after the training; None where it is not."""

    ratio: float | None = None  # bytes per token of the held-out text
    curves: SourceCurves | None = None
    sheet: ExtensionSheet | None = None


def _has_sources(run: Run) -> bool:
    """Whether a run is reported by source."""
    return run.corpus.weights is not None or len(run.languages) > 0


def _measure(measured: _Measured, trainer: Trainer, console: Console, extension: Extension | None) -> bool:
    """Measures the text by source, the held-out text and the sheet; returns whether it was not interrupted."""
    run, what = trainer.run, "text by source"
    try:
        if _has_sources(run):
            measured.curves = report_sources(run, trainer.corpus, console)
        what = "held-out text"
        if run.config.held_out:
            assert trainer.prepared is not None
            held_out = trainer.prepared.held_out
            measured.ratio = report_held_out(trainer.tokenizer(), held_out, run.config, console)
        what = "sheet"
        if extension is not None:
            measured.sheet = console.finish(extension.sheet_work(trainer))
    except KeyboardInterrupt:
        console.say(f"Interrupted: the {what} was not {'made' if what == 'sheet' else 'measured'}.")
        return False
    return True


def _check_memory(corpus: Corpus, config: TrainingConfig, console: Console) -> None:
    """Refuses a training that probably needs more than the free memory."""
    free = free_memory()
    size = sum(len(source.data) for source in corpus.sources)
    if free is None or size * _CERTAIN_TO_FIT < free:
        return
    forecast = console.finish(forecast_work(corpus, config))
    # The training itself reports other problems: it sees the whole corpus, the forecast a sample.
    if forecast.too_large:
        sampled = f"Give --sample-bytes {forecast.sample}, or" if forecast.sample else "Or"
        raise CorpusError(f"{forecast.problem} {sampled} add --force to try anyway.")


def _train(trainer: Trainer, arguments: argparse.Namespace, console: Console) -> int:
    """Trains to the end or to an interruption; returns the exit code."""
    try:
        while trainer.prepared is None:
            with console.signals.held():
                trainer.advance()
            console.show(trainer.progress)
        assert trainer.prepared is not None
        if arguments.export:
            check_losses(_with_last_pattern(trainer), arguments.export, arguments.accept_loss)
        report_preparation(trainer.prepared, trainer.config, trainer.corpus.weight_scale, console)
        return _merge(trainer, arguments, console)
    except KeyboardInterrupt:
        return console.signals.code
    except (TokStudioError, OSError, MemoryError) as error:
        if not (trainer.merges_made and _targets(arguments)):
            raise
        console.complain(reason(error) or "This computer does not have enough free memory to go on.")
        return FAILED


def check_fit(config: TrainingConfig, corpus: Corpus, arguments: argparse.Namespace, console: Console) -> None:
    """Refuses exports that cannot hold what a training will make, by preparing it with a little of its corpus."""
    trainer = Trainer(corpus, config)
    try:
        while trainer.prepared is None:
            trainer.advance()
            console.show(trainer.progress)
    except (ConfigError, CorpusError):
        return  # which the training reports, if the whole corpus has the fault too
    check_losses(_with_last_pattern(trainer), arguments.export, arguments.accept_loss)


def _with_last_pattern(trainer: Trainer) -> Tokenizer:
    """The tokenizer so far, with the pattern that it will have at the end, and a supermerge if it will have some."""
    tokenizer, config = trainer.tokenizer(), trainer.config
    if config.algorithm.joins_words and tokenizer.supermerges is None:
        some = {"merge_results": [len(tokenizer.tokens)], "supermerges": np.ones(1, np.bool_)}
        return tokenizer.changed(merges=np.resize(tokenizer.alphabet.ids, (1, 2)), **some)
    return tokenizer.changed(pattern=config.as_second_stage().pattern) if config.algorithm.stage_pattern else tokenizer


def _merge(trainer: Trainer, arguments: argparse.Namespace, console: Console) -> int:
    """Merges to the end; returns the exit code."""
    code = DONE
    stream: TextIO | None = None
    if arguments.print_merges:
        stream = sys.stderr if arguments.json else sys.stdout
    # Merges and progress on one screen would mix.
    progress_too = stream is None or not stream.isatty()
    assert trainer.prepared is not None
    first = len(trainer.prepared.base_counts)
    if trainer.start is not None:
        first -= len(trainer.start.merges)  # these are counted before the new ones
    while trainer.ended is None:
        with console.signals.held():  # so that exactly the printed merges are exported after an interruption
            batch = trainer.advance()
            if stream is not None and len(batch):
                try:
                    has_reader = put(stream, merges_in_words(batch, first))
                except TokStudioError as error:
                    if not _targets(arguments):
                        raise
                    stream = None  # the disk is full, but the files are still wanted
                    console.complain(reason(error))
                    code = FAILED
                else:
                    if not (has_reader or _targets(arguments)):
                        raise BrokenPipeError
                    stream = stream if has_reader else None
        if progress_too and trainer.ended is None:
            console.show(trainer.progress, f", {several(trainer.merges_made, 'merge')}" * (trainer.merges_made > 0))
    return code


def _summary(run: Run) -> str:
    seconds, size = f"{run.seconds:.1f} s", run.config.vocabulary_size
    fewer = ""
    if run.ended == NOTHING_LEFT and size is not None:
        fewer = (
            f" The vocabulary has {run.vocabulary_size:,} tokens, not the {size:,} that were wanted: no pair is left "
            "that can be merged."
        )
    ended = f"Stopped after {seconds}" if run.ended == STOPPED else f"Trained in {seconds}: {run.ended}"
    return (
        f"{ended}. {several(len(run), 'merge')}, {run.bytes_per_token():.2f} bytes per token, "
        f"{count_text(run.tokens_before, run.weight_scale)} -> {several(_tokens(run), 'token')}.{fewer}{_stages(run)}"
    )


def _stages(run: Run) -> str:
    """A sentence about the stages of SuperBPE, the supermerges of BoundlessBPE, or the removals of Picky BPE."""
    if run.supermerges is not None:
        joining = several(int(run.supermerges.sum()), "is a supermerge", "are supermerges")
        return f" Of the merges, {joining}, which join words."
    if run.removals is not None:
        removed = several(_removed(run.removals), "token was", "tokens were")
        return f" {removed} removed again: the vocabulary has {run.vocabulary_size:,}."
    if run.missed_stage:
        return f" {run.missed_stage}"
    first = run.config.first_merges(run.base_size)
    if first is None or len(run) < first:
        return ""
    return f" Of the merges, stage 1 made {first:,} and stage 2 {len(run) - first:,}."


def _removed(removals: NDArray[np.int64]) -> int:
    return int(np.count_nonzero(removals[:, LEFT_GONE:] >= 0))


def _as_json(run: Run, reports: Iterable[ExportReport], held_out: float | None, kept: Path | None) -> dict[str, object]:
    outcome: dict[str, object] = {
        "merges": len(run),
        "vocabulary_size": run.vocabulary_size,
        "ended": run.ended,
        "tokens": _tokens(run),
        "bytes_per_token": run.bytes_per_token(),
        "seconds": run.seconds,
        "files": [str(file) for report in reports for file in report.files],
    }
    if run.config.algorithm.stage_pattern:
        outcome["second_stage_merges"] = 0 if run.second_stage is None else len(run) - run.second_stage[0]
    if run.removals is not None:
        outcome["removals"] = _removed(run.removals)
    if run.supermerges is not None:
        outcome["supermerges"] = int(run.supermerges.sum())
    if run.config.held_out:
        outcome["held_out_bytes_per_token"] = held_out
    if kept is not None:
        outcome["project"] = str(kept)
    return outcome


def _sources_as_json(run: Run, corpus: Corpus, curves: SourceCurves | None) -> list[dict[str, object]]:
    """The name, weight and bytes per token of each source, and for parity-aware BPE the merges that it chose.

    Bytes per token are null where they were not measured.
    """
    facts, silent = source_facts(run, corpus), silent_languages(corpus, run.config)
    ratios: list[float | None] = [None] * len(facts) if curves is None else curves.bytes_per_token().tolist()
    rows: list[dict[str, object]] = []
    for (name, weight, merges), ratio in zip(facts, ratios, strict=True):
        rows.append({"name": name, "weight": in_units(weight, ONCE), "bytes_per_token": ratio})
        if merges is not None:
            rows[-1]["chosen_merges"] = merges
        if name in silent:
            rows[-1]["never_chooses"] = True
    return rows


def _tokens(run: Run) -> int | float:
    return in_units(int(run.tokens_after[-1]) if len(run) else run.tokens_before, run.weight_scale)
