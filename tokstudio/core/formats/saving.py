"""Writes a tokenizer to files, and proves that they hold it; tells before what a format would lose."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokstudio.core.base.atomic_files import StagedFiles, file_name, write_fault
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Work, finish
from tokstudio.core.formats.common.format import GIGABYTE, Fit, Format, bytes_of_tokens
from tokstudio.core.formats.common.proof import NOT_PROVED, renumbered
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.report import ExportReport, WrittenFile, described
from tokstudio.core.formats.writers import writer_of
from tokstudio.core.text.utf8 import AnyPath, Text

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.origin import Proof
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_LARGEST_SAMPLE = 1_000_000


def save_work(
    tokenizer: Tokenizer,
    path: AnyPath,
    format: str = "huggingface",
    accept_loss: bool = False,
    *,
    proof: Proof | None,
    sample: Text | None = None,
    original: Tokenizer | None = None,
    model: AnyPath | None = None,
    pad: bool = False,
    may_replace: bool = True,
) -> Work[ExportReport]:
    """Does the same as `save` of `core.surgery.proof` in bounded pieces; closing the work leaves everything unchanged.

    The `proof` is what stayed the same in a tokenizer that was made from another, for the report; `save_proved_work`
    finds it. The `original` is the tokenizer before the gaps between its ids were closed, if they were: the report
    lists new ids. Without `may_replace`, no file that exists when all are proved is replaced: FormatError.
    """
    chosen, text = _writable(format), sample_text(sample)
    tokenizer = tokenizer.closed() if chosen.readable else tokenizer
    writer = _writer(chosen, tokenizer, text, model, pad)
    named = chosen if model is None else writer  # a copy is named after the model
    targets = _targets(named, Path(path))
    name = file_name(next(iter(targets.values())))
    try:
        proof = None if proof is None else proof.check()
    except ConfigError as error:
        raise FormatError(f"{name}: {error}") from error
    if model is not None and any(os.path.realpath(model) == os.path.realpath(target) for target in targets.values()):
        raise FormatError(f"{name}: this is the model itself: give the copy another name.")
    further = writer.further_targets(tokenizer, targets)
    targets = {**targets, **further}
    fitting = yield from writer.fit_work(tokenizer)
    fitting = replace(fitting, losses=fitting.losses + writer.lost_at(tokenizer, targets))
    _refuse(fitting, chosen, name, accept_loss)
    size = _checked_size(writer, tokenizer, name)
    with StagedFiles(may_replace=may_replace) as staged:
        for folder in {Path(path)} & {target.parent for target in targets.values()}:
            staged.make_folder(folder)
        for target in further.values():
            staged.make_folder(target.parent)
        files = yield from _write_work(staged, writer.contents(tokenizer), targets, size)
        written = {usual: staged[target] for usual, target in targets.items()}
        identical = yield from writer.prove(tokenizer, written, name, text)
        moved = renumbered(tokenizer if original is None else original, tokenizer, writer)
        return ExportReport(
            staged.commit(),
            fitting.losses,
            f"{identical} after renumbering" if moved and _is_proof(identical) else identical,
            fitting.notes,
            named.snippet(tokenizer, targets),
            chosen.title,
            described(tokenizer),
            files,
            moved,
            () if proof is None else _with_ninth(proof, chosen, identical).lines(),
        )


def _writer(chosen: Format, tokenizer: Tokenizer, text: str, model: AnyPath | None, pad: bool) -> Format:
    if pad and model is None:
        raise ConfigError("Only a model has tokens to fill up: name it.")
    return writer_of(chosen, tokenizer, text) if model is None else chosen.in_model(Path(model), pad)


def _is_proof(proof: str) -> bool:
    return bool(proof) and not proof.startswith(NOT_PROVED)


def _with_ninth(proof: Proof, chosen: Format, identical: str) -> Proof:
    """The proof of a changed tokenizer with what was read back."""
    return proof.read_back(f"{chosen.title}: {identical or 'a table'}.", neutral=identical.startswith(NOT_PROVED))


def _refuse(fitting: Fit, chosen: Format, name: str, accept_loss: bool) -> None:
    """Raises FormatError where a tokenizer does not fit, or where something is lost that must not be."""
    if fitting.problem is not None:
        raise FormatError(f"{name}: {fitting.problem}")
    if fitting.losses and not accept_loss:
        raise FormatError(f"{name}: {chosen.title} cannot hold all of this tokenizer. {' '.join(fitting.losses)}")


def _write_work(
    staged: StagedFiles, contents: Mapping[str, Iterable[bytes]], targets: Mapping[str, Path], size: int
) -> Work[tuple[WrittenFile, ...]]:
    """Writes the content of each file that has a target."""
    files: list[WrittenFile] = []
    for usual, pieces in contents.items():
        if usual in targets:
            target, digest = targets[usual], hashlib.sha256()
            yield from staged.write(target, _passed_to(digest.update, pieces), size)
            files.append(WrittenFile(target, staged[target].stat().st_size, digest.hexdigest()))
    return tuple(files)


def try_places_work(path: AnyPath, format: str, model: AnyPath | None = None) -> Work[tuple[Path, ...]]:
    """The files that `save` would write; checks that it can, with folders and empty files that are removed again.

    Raises:
        ConfigError: The format is unknown, or cannot be written.
        FormatError: The files cannot be written.
    """
    chosen = _writable(format)
    targets = _targets(chosen if model is None else chosen.in_model(Path(model), False), Path(path))
    with StagedFiles() as staged:
        if Path(path) in (target.parent for target in targets.values()):
            staged.make_folder(Path(path))
        for target in targets.values():
            yield from staged.reserve(target)
    return tuple(targets.values())


def fit(
    tokenizer: Tokenizer,
    format: str,
    *,
    sample: Text | None = None,
    path: AnyPath | None = None,
    model: AnyPath | None = None,
    pad: bool = False,
) -> Fit:
    """Tells how well a format could hold a tokenizer, without writing anything.

    With a `sample`, of which the first megabyte is used, it says how many words a near form encodes differently. With
    the `path` to write to, it knows whether that is one file of several. For `model` and `pad` see `save_work`.

    Raises:
        ConfigError: The format is unknown, or cannot be written.
        FormatError: The model cannot be read.
    """
    return finish(fit_work(tokenizer, format, sample=sample, path=path, model=model, pad=pad))


def fit_work(
    tokenizer: Tokenizer,
    format: str,
    *,
    sample: Text | None = None,
    path: AnyPath | None = None,
    model: AnyPath | None = None,
    pad: bool = False,
) -> Work[Fit]:
    """Does the same as `fit` in bounded pieces."""
    chosen = _writable(format)
    tokenizer = tokenizer.closed() if chosen.readable else tokenizer
    writer = _writer(chosen, tokenizer, sample_text(sample), model, pad)
    fitting = yield from writer.fit_work(tokenizer)
    if path is None or fitting.problem is not None:
        return fitting
    targets = _targets(chosen if model is None else writer, Path(path))
    targets = {**targets, **writer.further_targets(tokenizer, targets)}
    return replace(fitting, losses=fitting.losses + writer.lost_at(tokenizer, targets))


def _checked_size(writer: Format, tokenizer: Tokenizer, name: str) -> int:
    """About how many bytes the files will take; raises FormatError above the limit of the format."""
    token_bytes = bytes_of_tokens(tokenizer)
    size = writer.size(tokenizer, token_bytes)
    if size > writer.largest:
        limit = writer.largest // GIGABYTE
        raise FormatError(
            f"{name}: the file would take about {size / GIGABYTE:,.1f} GB, and the limit is {limit} GB: the "
            f"{len(tokenizer):,} tokens hold {token_bytes:,} bytes. Export fewer merges, or limit the longest token."
        )
    return size


def _writable(name: str) -> Format:
    names = [names.name for names in FORMATS.values() if names.writable]
    if name not in names:
        raise ConfigError(f'Format "{name}" is unknown. Choose one of: {", ".join(names)}.')
    return FORMATS[name]


def _targets(chosen: Format, path: Path) -> Mapping[str, Path]:
    try:
        targets = chosen.targets(path)
        chosen.check_places(targets)
        return targets
    except (OSError, ValueError) as error:
        raise write_fault(path, error) from error


def _passed_to(see: Callable[[bytes], object], pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        see(piece)
        yield piece


def sample_text(sample: Text | None) -> str:
    """The first megabyte of a sample as text."""
    if sample is None:
        return ""
    if isinstance(sample, bytes):
        return sample[:_LARGEST_SAMPLE].decode("utf-8", "replace")
    return sample[:_LARGEST_SAMPLE].encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
