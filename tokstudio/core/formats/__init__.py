"""Tokenizer files: `save`, `load` and the known formats.

Imports `core.tokenizer` and the folders below it, but neither `core.training` nor `core.analysis`. A new format is a
folder with a subclass of `Format`, and one line in `_KNOWN`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from tokstudio.core.base.atomic_files import StagedFiles, file_name, write_fault
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.leftovers import recover_work
from tokstudio.core.base.progress import Work, finish
from tokstudio.core.base.wording import printable
from tokstudio.core.corpus.readers.files import network_address
from tokstudio.core.formats.classic import Classic
from tokstudio.core.formats.common.format import GIGABYTE, Fit, Format, Loaded, PatternNeeded, bytes_of_tokens
from tokstudio.core.formats.common.proof import renumbered
from tokstudio.core.formats.common.text_readers import JsonReader, LineReader, open_file
from tokstudio.core.formats.gpt2 import Gpt2
from tokstudio.core.formats.huggingface.converted import WordEndPair, WordPieceVocabulary
from tokstudio.core.formats.huggingface.format import HuggingFace
from tokstudio.core.formats.minbpe import Minbpe
from tokstudio.core.formats.report import ExportReport, WrittenFile, described
from tokstudio.core.formats.sentencepiece.format import SentencePiece
from tokstudio.core.formats.tables import MergesCsv, MergesJsonl, VocabularyCsv
from tokstudio.core.formats.tiktoken.format import Tiktoken
from tokstudio.core.formats.writers import writer_of
from tokstudio.core.hub.names import name_in, name_of
from tokstudio.core.pretokenization.patterns import check_pattern
from tokstudio.core.text.encodings import WHY_NOT_POINTER
from tokstudio.core.text.utf8 import AnyPath, Text

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.origin import Proof
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

    #: Proves what a tokenizer keeps of that from which it was made, with texts to be decoded and a reference text.
    Points = Callable[[Tokenizer, Iterable[Text], str], Work[Proof]]

__all__ = [
    "FORMATS", "ExportReport", "Fit", "Format", "Loaded", "PatternNeeded", "fit", "fit_work", "load", "load_work",
    "save_work", "tokenizer_files", "try_places_work",
]  # fmt: skip

# In the order of menus, and of the search in a folder.
_KNOWN: tuple[Format, ...] = (
    HuggingFace(),
    Classic(),
    WordEndPair(),
    Gpt2(),
    Tiktoken(),
    Minbpe(),
    SentencePiece(),
    WordPieceVocabulary(),
    MergesCsv(),
    MergesJsonl(),
    VocabularyCsv(),
)

_READABLE = [known for known in _KNOWN if known.readable]

FORMATS: Mapping[str, Format] = MappingProxyType({known.name: known for known in _KNOWN})

_LARGEST_SAMPLE = 1_000_000
_LARGEST_LOOKED_INTO = 5 * 10**9
# A text may begin like a file of any format, so the beginning is looked at only for these endings.
_ENDINGS = re.compile(r"(\.json|\.model(\.v[0-9]\w*)?|\.spm|\.tiktoken|vocab\.txt)$", re.IGNORECASE)


def save_work(
    tokenizer: Tokenizer,
    path: AnyPath,
    format: str = "huggingface",
    accept_loss: bool = False,
    *,
    points: Points | None,
    sample: Text | None = None,
    original: Tokenizer | None = None,
) -> Work[ExportReport]:
    """Writes a tokenizer to files for other programs, and proves that the files hold it, in bounded pieces.

    Either all files are written or none; existing files stay until the new ones are proved. Closing the work leaves
    everything unchanged.

    Args:
        tokenizer: The tokenizer; one from `at` has only the merges up to there.
        path: A file, or a folder where the format has several files; in a folder, files get their usual names.
        format: One of `FORMATS`.
        accept_loss: Whether to write even where the format cannot hold everything.
        points: What proves a tokenizer that was made from another, `verify_work` of `core.surgery.proof`; None where
            that is proved already.
        sample: Text to prove it with, besides a hard built-in text; its first megabyte is used.
        original: The tokenizer before the gaps between its ids were closed, if they were: the report lists new ids.

    Raises:
        ConfigError: The format is unknown, or cannot be written.
        FormatError: The format cannot hold this tokenizer, a point of the proof fails, or the files cannot be written.
    """
    chosen = _writable(format)
    tokenizer = tokenizer.closed() if chosen.readable else tokenizer
    targets = _targets(chosen, Path(path))
    name = file_name(next(iter(targets.values())))
    writer = writer_of(chosen, tokenizer, _as_text(sample))
    further = writer.further_targets(tokenizer, targets)
    targets = {**targets, **further}
    fitting = yield from writer.fit_work(tokenizer)
    fitting = replace(fitting, losses=fitting.losses + writer.lost_at(tokenizer, targets))
    if fitting.problem is not None:
        raise FormatError(f"{name}: {fitting.problem}")
    if fitting.losses and not accept_loss:
        raise FormatError(f"{name}: {chosen.title} cannot hold all of this tokenizer. {' '.join(fitting.losses)}")
    token_bytes = bytes_of_tokens(tokenizer)
    size = writer.size(tokenizer, token_bytes)
    if size > chosen.largest:
        limit = chosen.largest // GIGABYTE
        raise FormatError(
            f"{name}: the file would take about {size / GIGABYTE:,.1f} GB, and the limit is {limit} GB: the "
            f"{len(tokenizer):,} tokens hold {token_bytes:,} bytes. Export fewer merges, or limit the longest token."
        )
    files: list[WrittenFile] = []
    with StagedFiles() as staged:
        if Path(path) in (target.parent for target in targets.values()):
            staged.make_folder(Path(path))
        for usual, pieces in writer.contents(tokenizer).items():
            if usual in targets:
                target, digest = targets[usual], hashlib.sha256()
                if usual in further:
                    staged.make_folder(target.parent)
                yield from staged.write(target, _passed_to(digest.update, pieces), size)
                files.append(WrittenFile(target, staged[target].stat().st_size, digest.hexdigest()))
        written = {usual: staged[target] for usual, target in targets.items()}
        changed = yield from _proved_work(tokenizer, points, name, _as_text(sample))
        proof = yield from writer.prove(tokenizer, written, name, _as_text(sample))
        moved = renumbered(original or tokenizer, tokenizer, writer)
        return ExportReport(
            staged.commit(),
            fitting.losses,
            f"{proof} after renumbering" if proof and moved else proof,
            fitting.notes,
            chosen.snippet(tokenizer, targets),
            chosen.title,
            described(tokenizer),
            tuple(files),
            moved,
            () if changed is None else changed.read_back(f"{chosen.title}: {proof or 'a table'}.").lines(),
        )


def try_places_work(path: AnyPath, format: str) -> Work[tuple[Path, ...]]:
    """The files that `save` would write; checks that it can, with folders and empty files that are removed again.

    Raises:
        ConfigError: The format is unknown, or cannot be written.
        FormatError: The files cannot be written.
    """
    chosen = _writable(format)
    targets = _targets(chosen, Path(path))
    with StagedFiles() as staged:
        if Path(path) in (target.parent for target in targets.values()):
            staged.make_folder(Path(path))
        for target in targets.values():
            yield from staged.reserve(target)
    return tuple(targets.values())


def fit(tokenizer: Tokenizer, format: str, *, sample: Text | None = None, path: AnyPath | None = None) -> Fit:
    """Tells how well a format could hold a tokenizer, without writing anything.

    With a `sample`, of which the first megabyte is used, it says how many words a near form encodes differently. With
    the `path` to write to, it knows whether that is one file of several.

    Raises:
        ConfigError: The format is unknown, or cannot be written.
    """
    return finish(fit_work(tokenizer, format, sample=sample, path=path))


def fit_work(
    tokenizer: Tokenizer, format: str, *, sample: Text | None = None, path: AnyPath | None = None
) -> Work[Fit]:
    """Does the same as `fit` in bounded pieces."""
    chosen = _writable(format)
    tokenizer = tokenizer.closed() if chosen.readable else tokenizer
    writer = writer_of(chosen, tokenizer, _as_text(sample))
    fitting = yield from writer.fit_work(tokenizer)
    if path is None or fitting.problem is not None:
        return fitting
    targets = _targets(chosen, Path(path))
    targets = {**targets, **writer.further_targets(tokenizer, targets)}
    return replace(fitting, losses=fitting.losses + writer.lost_at(tokenizer, targets))


def load(path: AnyPath, pattern: str | None = None) -> Tokenizer:
    """Reads a tokenizer from a file or a folder, or fetches one by its name, which uses the network.

    Args:
        path: The file or the folder; or, if there is none, a name: `hf:OWNER/REPOSITORY` with or without `@REVISION`,
            of the Hugging Face Hub, or `tiktoken:ENCODING`.
        pattern: The pattern, where the files do not have it: a name of `patterns.NAMES` or a regular expression. It
            comes before that of a well-known file, which is recognised by its hash.

    Raises:
        ConfigError: The pattern or the name is invalid.
        PatternNeeded: The files have no pattern, and none is given.
        FormatError: There is no tokenizer, it is damaged, or it needs something that TokStudio does not support; or it
            cannot be fetched.
    """
    return finish(load_work(path, pattern)).tokenizer


def load_work(path: AnyPath, pattern: str | None = None) -> Work[Loaded]:
    """Does the same as `load` in bounded pieces, and names the files."""
    if pattern is not None:
        check_pattern(pattern)
    if (name := name_of(path)) is not None:
        from tokstudio.core.hub.client import fetch_work

        fetched = yield from fetch_work(name)
        loaded = yield from load_work(fetched.path, pattern)
        return replace(loaded, name=name.short, remark=fetched.remark)
    settled: set[Path] = set()
    yield from _settle_work((Path(path),), settled)
    chosen, files = _format_of(Path(path))
    yield from _settle_work(files, settled)
    for file in files:
        # Before a pattern is asked for.
        open_file(file, file_name(file), _LARGEST_LOOKED_INTO)[0].close()
    tokenizer = yield from chosen.read(files, tuple(file_name(file) for file in files), pattern)
    return Loaded(tokenizer, files, chosen.name)


def tokenizer_files(path: AnyPath) -> tuple[Path, ...]:
    """The files of a tokenizer that a file or folder likely is, or belongs to; none for a likely text.

    Decides by names, otherwise by the ending and the beginning. For a folder with several tokenizers, it is the folder.
    """
    place = Path(path)
    try:
        _, files = _found(place, only_endings=True)
        return files
    except (FormatError, OSError, ValueError) as error:
        # Opening says which file of a folder to choose, or how to fetch one; one without its counterpart may be a text.
        return (place,) if place.is_dir() or WHY_NOT_POINTER in str(error) else ()


def _writable(name: str) -> Format:
    known = [known.name for known in _KNOWN if known.writable]
    if name not in known:
        raise ConfigError(f'Format "{name}" is unknown. Choose one of: {", ".join(known)}.')
    return FORMATS[name]


def _targets(chosen: Format, path: Path) -> Mapping[str, Path]:
    try:
        targets = chosen.targets(path)
        chosen.check_places(targets)
        return targets
    except (OSError, ValueError) as error:
        raise write_fault(path, error) from error


def _settle_work(paths: Iterable[Path], settled: set[Path]) -> Work[None]:
    """Finishes interrupted exports in folders other than `settled`; raises FormatError where one stays partial."""
    for path in paths:
        try:
            place = Path(os.path.realpath(path))
            folder = place if place.is_dir() else place.parent
        except (OSError, ValueError):
            continue  # opening it reports the error
        if folder in settled:
            continue
        settled.add(folder)
        torn = yield from recover_work(folder, "reading", strangers=False)
        if torn and (place == folder or place.name in torn):
            raise FormatError(
                f"{file_name(path)}: an export was interrupted or is not finished, and only some of the files are new: "
                "try again, or export it again."
            )


def _passed_to(see: Callable[[bytes], object], pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        see(piece)
        yield piece


def _not_there(path: Path) -> str:
    if not (address := network_address(path)):
        return f"{file_name(path)}: no such file or folder."
    name = name_in(address)
    advice = "download it, and give its path" if name is None else f"give its name, {name}"
    return (
        f"{printable(address)}: this is an address. A tokenizer is a file, a folder, or a name such as "
        f"hf:Qwen/Qwen3-8B: {advice}."
    )


def _format_of(path: Path) -> tuple[Format, tuple[Path, ...]]:
    try:
        if not path.exists():
            raise FormatError(_not_there(path))
        known, files = _found(path)
        if known is not None:
            return known, files
        in_folder = path.is_dir()
    except (OSError, ValueError) as error:
        raise FormatError(f"{file_name(path)}: the file cannot be opened: {error}.") from error
    if in_folder:
        usual = ", ".join(dict.fromkeys(known.looked_for for known in _READABLE))
        raise FormatError(f"{file_name(path)}: this folder has no tokenizer file TokStudio can read ({usual}).")
    return _by_first_key(path), (path,)


def _found(path: Path, *, only_endings: bool = False) -> tuple[Format | None, tuple[Path, ...]]:
    """The format and the files of a tokenizer that a file or folder is, or belongs to; None and none for others.

    The beginning of a file decides, then its name. With `only_endings`, texts are not looked into.
    """
    if path.is_file() and (not only_endings or _ENDINGS.search(path.name)):
        with LineReader(path, file_name(path), _LARGEST_LOOKED_INTO) as lines:
            beginning = lines.peek()
        for known in _READABLE:
            if known.recognises(path, beginning):
                return known, known.find(path) or (path,)
    for known in _READABLE:
        if files := known.find(path):
            return known, files
    return None, ()


def _by_first_key(path: Path) -> Format:
    """The format of a file with another name, by its first key."""
    name = file_name(path)
    with JsonReader(path, name, _LARGEST_LOOKED_INTO) as reader:
        if reader.peek() == "{":
            key = next(reader.items(), "")
            for known in _READABLE:
                if key in known.keys:
                    return known
            if key.isdigit():
                raise FormatError(
                    f"{name}: this is a vocabulary without merges: put merges.json beside it and open that."
                )
        raise FormatError(f"{name}: not a tokenizer file TokStudio can read.")


def _proved_work(tokenizer: Tokenizer, points: Points | None, name: str, sample: str) -> Work[Proof | None]:
    """What stayed the same in a tokenizer that was made from another; None for any other, and without `points`.

    Raises:
        FormatError: Something did not, though it should have.
    """
    if tokenizer.origin is None or points is None:
        return None
    try:
        return (yield from points(tokenizer, [sample], sample)).check()
    except ConfigError as error:
        raise FormatError(f"{name}: {error}") from error


def _as_text(sample: Text | None) -> str:
    if sample is None:
        return ""
    if isinstance(sample, bytes):
        return sample[:_LARGEST_SAMPLE].decode("utf-8", "replace")
    return sample[:_LARGEST_SAMPLE].encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
