"""Encodes a data set into a folder of shards, or goes on where an earlier call was ended."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic

import numpy as np

from tokstudio.core.base.atomic_files import FolderError, StagedFiles, file_name, write_fault
from tokstudio.core.base.errors import CorpusError, FormatError
from tokstudio.core.base.leftovers import locked, recover_work
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import first_few, several, size_text
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.readers.folders import Fetching, Folder
from tokstudio.core.pretokenization.special_tokens import AllowedSpecial
from tokstudio.core.shards.checking import sound_shards_work
from tokstudio.core.shards.encoding import encode_units_work
from tokstudio.core.shards.inputs import SHARD_TOKENS, EncodingSettings, Unit, units_work
from tokstudio.core.shards.manifest import (
    NAME,
    NPY,
    EncodedFile,
    Manifest,
    Shard,
    read_manifest_work,
    shard_files,
    strange_files,
)
from tokstudio.core.shards.writing import EncodedDocuments, ShardWriter
from tokstudio.core.text.utf8 import AnyPath
from tokstudio.core.tokenizer.tokenizer import Tokenizer


class _ChangedError(CorpusError):
    """What is encoded again is not what it was."""


_NAMED = 3  # files of which the column is told
_FROM_NOW = 1.0  # seconds before a speed is told

#: Encodes files, of which so many first documents are skipped, in place of `encode_units_work`.
EncodeUnits = Callable[
    [Sequence[Unit], EncodingSettings, Callable[[EncodedDocuments], Work[None]], list[EncodedFile], int], Work[None]
]


@dataclass(frozen=True)
class EncodedDataset:
    """A data set in a folder of shards.

    Attributes:
        folder: Where its files are.
        shards: What is in each shard, in their order.
        files: What was read of each file, in their order.
        shards_before: How many of the shards an earlier call has made.
        tokens_per_second: How fast this call encoded; 0 where it had nothing to do.
        remark: What is to be said of shards that were there; mostly "".
    """

    folder: Path
    shards: tuple[Shard, ...]
    files: tuple[EncodedFile, ...]
    shards_before: int = 0
    tokens_per_second: float = 0.0
    remark: str = ""

    @property
    def tokens(self) -> int:
        """All ids."""
        return sum(shard.tokens for shard in self.shards)

    @property
    def documents(self) -> int:
        """All documents."""
        return sum(shard.documents for shard in self.shards)

    @property
    def bytes(self) -> int:
        """Those of all text."""
        return sum(shard.bytes for shard in self.shards)


def told(encoded: EncodedDataset, settings: EncodingSettings) -> Iterator[str]:
    """A sentence for all that is to be said of an encoded data set; the last one is the sum."""
    name = file_name(encoded.folder.absolute())
    if encoded.remark:
        yield f"{name}: {encoded.remark}"
    if not encoded.tokens_per_second:
        yield f"{name} has these shards already, of files with these names and sizes: nothing was encoded."
        return
    columns = dict[str, list[str]]()
    for file in encoded.files:
        remarks = [*([] if file.encoding in ("", "utf-8", "bytes") else [f"read as {file.encoding}"]), *file.notes]
        if file.column:
            columns.setdefault(file.column, []).append(file.name)
        if remarks:
            yield f"{file.name}: {'; '.join(remarks)}."
    for column, names in columns.items():
        yield f"{first_few(names, _NAMED, str)}: column {column}."
    if empty := sum(shard.empty_documents for shard in encoded.shards):
        yield f"{several(empty, 'document has', 'documents have')} no text."
    if unknown := sum(shard.unknown_tokens for shard in encoded.shards):
        yield f"{several(unknown, 'id is', 'ids are')} the unknown token, {settings.tokenizer.alphabet.unknown}."
    if settings.end_text is None:
        yield "No token ends the documents."
    if longer := sum(shard.tokens > settings.shard_tokens for shard in encoded.shards):
        yield f"{several(longer, 'shard has', 'shards have')} more tokens: those of one whole document."
    before = f", {encoded.shards_before:,} of which were there" if encoded.shards_before else ""
    yield (
        f"Encoded {several(encoded.documents, 'document')}, {size_text(encoded.bytes)}: "
        f"{several(encoded.tokens, 'token')} in "
        f"{several(len(encoded.shards), 'shard')}{before}, in {name}; {encoded.tokens_per_second:,.0f} tokens/s."
    )


def encode_dataset(
    paths: AnyPath | Iterable[AnyPath],
    tokenizer: Tokenizer,
    out: AnyPath,
    *,
    end_token: str | bool = False,
    shard_tokens: int = SHARD_TOKENS,
    formats: Sequence[str] = (NPY,),
    dtype: str | None = None,
    allowed_special: AllowedSpecial = (),
    documents: str = "file",
    encoding: str | None = None,
    reading: Reading | None = None,
    threads: int | None = None,
) -> EncodedDataset:
    """Encodes the documents of files, archives, folders and data sets into a folder of shards.

    The files are read in a stream. A shard is complete or not there, and what was ended is continued by the same call:
    all files are then the same, byte for byte, as those of one call, with any number of threads.

    Example:
        >>> from tokstudio import Tokenizer, encode_dataset
        >>> tokenizer = Tokenizer.from_parts({n: bytes([n]) for n in range(256)}, [], special_tokens={"<end>": 256})
        >>> encoded = encode_dataset("book.txt", tokenizer, "shards-of-bytes", end_token="<end>")
        >>> encoded.documents, encoded.tokens == encoded.bytes + 1
        (1, True)

    Args:
        paths: One path or several, read in their order.
        tokenizer: It encodes.
        out: The folder to write.
        end_token: The special token that ends each document; True for the tokenizer's own, False for none.
        shard_tokens: At most so many tokens are in a shard, of whole documents; a longer document is one of its own.
        formats: Some of "npy" (an array of NumPy), "bin" (the same without header) and "parquet" (a row for each
            document, in the column `input_ids`). Beside an array, `.ends.npy` has the ends of its documents, int64.
        dtype: "uint16" or "uint32", little-endian; None for uint16 where the whole vocabulary fits.
        allowed_special: As of `Tokenizer.encode`: special tokens in the text are text unless they are allowed.
        documents: What a document of plain text is: "file" or "line". The rows of a data set are its documents.
        encoding: As of `Corpus.from_files`.
        reading: Which column of a data set is read, and what is kept; None for the default.
        threads: At most so many; None is one per core.

    Raises:
        ConfigError: A setting is impossible, or not with this tokenizer.
        CorpusError: A file cannot be read, has no such column of text, or holds a document that cannot be encoded; or
            there is no text.
        FormatError: A file cannot be written, or the folder holds something else, such as the shards of another
            tokenizer. Complete shards stay, and the same call goes on after them.
    """
    names = (formats,) if isinstance(formats, str) else tuple(formats)
    settings = EncodingSettings(
        tokenizer, end_token, shard_tokens, names, dtype, allowed_special, documents, encoding, reading or Reading()
    )
    given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    return finish(encode_dataset_work(given, settings, Path(out), partial(encode_units_work, threads=threads)))


def encode_dataset_work(
    paths: Iterable[AnyPath],
    settings: EncodingSettings,
    out: Path,
    encode: EncodeUnits = encode_units_work,
    tell: Callable[[Folder], None] | None = None,
    fetching: Fetching | None = None,
) -> Work[EncodedDataset]:
    """Does the same as `encode_dataset` in bounded pieces.

    The files are encoded by `encode`, here or elsewhere. Each folder among them, which says what it skipped, goes to
    `tell`. Of texts that are given by their address, `fetching` says what is taken; None for all.
    """
    paths, skipped = list(paths), list[tuple[str, str]]()
    _refuse_inside(out, paths)

    def note(folder: Folder) -> None:
        skipped.extend((path.relative_to(folder.path).as_posix(), why) for path, why in folder.skipped)
        if tell is not None:
            tell(folder)

    described = yield from settings.to_json_work()
    units = yield from units_work(paths, settings, note, fetching)
    inputs = tuple(unit.input for unit in units)
    with _alone_in(out) as is_new:
        there = yield from _there_work(out, Manifest(described, inputs))
        before, remark = yield from _sound_work(out, there)
        if before.is_complete:
            return EncodedDataset(out, before.shards, before.files, len(before.shards))
        files = list(before.files)

        def describe(shards: Sequence[Shard], is_complete: bool) -> bytes:
            _refuse_changed(out, shards, there.shards)
            known = tuple(files) if is_complete else _finished(files, shards)
            return Manifest(described, inputs, tuple(shards), known, tuple(skipped), is_complete).to_bytes()

        with StagedFiles() as staged:
            yield from staged.write(out / NAME, [describe(before.shards, False)])
            staged.commit()
        unknown = settings.tokenizer.alphabet.unknown
        writer = ShardWriter(
            out, settings.kind, before.formats, settings.shard_tokens, unknown, describe, before.shards
        )
        skip = sum(shard.documents for shard in before.shards) - sum(file.documents for file in before.files)
        try:
            with writer:
                work = encode(units[len(before.files) :], settings, writer.add_work, files, skip)
                speed = yield from _told_work(work, writer)
                if not any(file.bytes for file in files):
                    raise CorpusError("There is no text in these files: nothing was encoded.")
                yield from writer.finish_work()
        except BaseException as error:
            _remove_useless(out, error, is_new and not writer.shards)
            if isinstance(error, FormatError) and writer.shards:
                complete = several(len(writer.shards), "shard is complete", "shards are complete")
                raise FormatError(f"{error} {complete}: the same call goes on after them.") from error
            raise
        return EncodedDataset(out, tuple(writer.shards), tuple(files), len(before.shards), speed, remark)


def _refuse_changed(out: Path, shards: Sequence[Shard], earlier: Sequence[Shard]) -> None:
    if any(new != old for new, old in zip(shards, earlier, strict=False)):
        raise _ChangedError(
            f"{file_name(out)}: a shard that is encoded again differs from what it was, as the files have changed "
            "since: choose another folder, or remove the files in it."
        )


@contextmanager
def _alone_in(out: Path) -> Generator[bool]:
    """Makes the folder, where no other call writes during the block; gives whether it is new.

    Where the block fails, a new folder that is empty is removed.
    """
    name, is_new = file_name(out), not os.path.lexists(out)
    if not is_new and not out.is_dir():
        raise FormatError(f"{name}: this is a file; give a folder for the shards.")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise FolderError(out, error) from error
    try:
        lock = locked(out)
    except BlockingIOError as error:
        raise FormatError(
            f"{name}: another call encodes into this folder: wait until it has ended, or choose another folder."
        ) from error
    has_failed = True
    try:
        yield is_new
        has_failed = False
    finally:
        if lock is not None:
            os.close(lock)
        if has_failed and is_new:
            with suppress(OSError):
                out.rmdir()


def _remove_useless(out: Path, error: BaseException, is_empty: bool) -> None:
    """Removes a manifest after which no call can go on, or that is all there is in a new folder."""
    with suppress(OSError):
        if isinstance(error, _ChangedError):
            # Without it, nobody takes shards of different files for one data set.
            (out / NAME).unlink()
        elif is_empty:
            (out / NAME).unlink()


def _told_work(work: Work[None], writer: ShardWriter) -> Work[float]:
    """Does the work with the speed in its reports; returns the tokens a second."""
    begun = monotonic()
    try:
        for progress in work:
            took = monotonic() - begun
            speed = f", {writer.tokens / took:,.0f} tokens/s" if took > _FROM_NOW else ""
            yield Progress(progress.phase, progress.done, progress.total, speed)
    finally:
        work.close()
    return writer.tokens / max(1e-9, monotonic() - begun)


def _finished(files: Sequence[EncodedFile], shards: Sequence[Shard]) -> tuple[EncodedFile, ...]:
    """The first files, whose documents are all in the shards."""
    ends = np.cumsum([file.documents for file in files])
    within = int(np.searchsorted(ends, sum(shard.documents for shard in shards), side="right"))
    return tuple(files[:within])


def _refuse_inside(out: Path, paths: Iterable[AnyPath]) -> None:
    """Raises FormatError where a folder that is read holds the one that is written."""
    target = Path(os.path.realpath(out))
    for path in paths:
        if os.path.isdir(path) and target.is_relative_to(os.path.realpath(path)):
            read = file_name(Path(path))
            raise FormatError(f"{file_name(out)}: the folder of the shards is in {read}, which is read: take another.")


def _there_work(out: Path, wanted: Manifest) -> Work[Manifest]:
    """What an earlier call has left in a folder; the same as is wanted, without shards, where there is nothing.

    Raises:
        FormatError: The folder holds something else.
    """
    name = file_name(out)
    yield from recover_work(out, "looking at files", strangers=False)
    manifest = yield from read_manifest_work(out, wanted.settings)
    if manifest is None:
        manifest = wanted
    elif why := manifest.why_not(wanted.settings, wanted.inputs):
        raise FormatError(f"{name}: {why}: choose another folder, or remove the files in it.")
    if strange := strange_files(out, tuple(manifest.sizes())):
        raise FormatError(
            f"{name}: it has shards that its manifest does not list, such as {strange[0]}: choose another folder."
        )
    return manifest


def _sound_work(out: Path, manifest: Manifest) -> Work[tuple[Manifest, str]]:
    """The manifest with the shards before the first that is damaged or missing, and what is said of it.

    The files of the other shards are removed: they are encoded again.
    """
    sound = yield from sound_shards_work(out, manifest)
    if sound == len(manifest.shards):
        return manifest, ""
    for number in range(sound, len(manifest.shards)):
        for name in shard_files(number, manifest.formats).values():
            try:
                (out / name).unlink(missing_ok=True)
            except OSError as error:
                raise write_fault(out / name, error) from error
        yield Progress("checking shards")
    shards = manifest.shards[:sound]
    others = several(len(manifest.shards) - sound - 1, "shard")
    after = f", with the {others} after it" if sound + 1 < len(manifest.shards) else ""
    remark = f"Shard {sound:,} was damaged or missing: it is encoded again{after}."
    return replace(manifest, shards=shards, files=_finished(manifest.files, shards), is_complete=False), remark
