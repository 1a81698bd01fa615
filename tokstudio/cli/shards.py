"""`tokstudio encode` with a folder to write: encodes a data set into shards, also on a Dask cluster."""

# SPDX-License-Identifier: MIT
# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.cli.cluster import absolute, cores_work, neighbours, open_cluster, waited_work
from tokstudio.cli.process.terminal import Console, put
from tokstudio.cli.reading import plain_reading_errors, take_folder, texts_of
from tokstudio.cli.tokenizers import load_tokenizer_or_run
from tokstudio.core.base.atomic_files import file_name, write_fault
from tokstudio.core.base.errors import CorpusError, FormatError, TokStudioError
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.corpus.source import groups
from tokstudio.core.shards.dataset import EncodedDataset, encode_dataset_work, told
from tokstudio.core.shards.encoding import encode_units_work
from tokstudio.core.shards.inputs import EncodingSettings, Unit
from tokstudio.core.shards.manifest import NAME, EncodedFile
from tokstudio.core.shards.writing import ArrayFile, EncodedDocuments

if TYPE_CHECKING:
    from distributed import Client, Future


def encode_shards(arguments: argparse.Namespace, console: Console) -> None:
    """Encodes files into a folder of shards, and tells what is unusual about them."""
    folder: Path = arguments.folder
    _refuse_folder_of_tokenizer(folder, Path(arguments.tokenizer))
    texts = texts_of(arguments, arguments.files)
    allowed: list[str] = arguments.allow_special
    settings = EncodingSettings(
        load_tokenizer_or_run(arguments.tokenizer, arguments.run, arguments.pattern, console),
        arguments.end_token or arguments.append_eos,
        arguments.shard_tokens,
        tuple(dict.fromkeys(arguments.format)),
        arguments.dtype,
        "all" if "all" in allowed else tuple(allowed),
        texts.documents,
        texts.encoding,
        texts.reading,
    )

    encode = encode_units_work
    if arguments.dask is not None:
        encode = _OnCluster(arguments.dask, arguments.dask_wait, folder).encode_work
    tell = partial(take_folder, [], console)
    try:
        with plain_reading_errors():
            work = encode_dataset_work(arguments.files, settings, folder, encode, tell, texts.fetching)
            encoded = console.finish(work)
    except KeyboardInterrupt:
        if (folder / NAME).exists():
            console.say(f"{file_name(folder)}: its complete shards stay, and the same command goes on after them.")
        raise
    for sentence in told(encoded, settings):
        console.say(sentence)
    if arguments.json:
        put(sys.stdout, json.dumps(_as_json(encoded)) + "\n")


def _refuse_folder_of_tokenizer(folder: Path, tokenizer: Path) -> None:
    """Raises FormatError where the folder of the shards holds the tokenizer; one that is a name is in no folder."""
    own = tokenizer if os.path.isdir(tokenizer) else tokenizer.parent
    if os.path.lexists(tokenizer) and os.path.realpath(folder) == os.path.realpath(own):
        name, held = file_name(folder.absolute()), file_name(tokenizer)
        raise FormatError(f"{name}: this folder holds the tokenizer {held}: give the shards a folder of their own.")


def _as_json(encoded: EncodedDataset) -> dict[str, object]:
    return {
        "folder": str(encoded.folder),
        "tokens": encoded.tokens,
        "documents": encoded.documents,
        "bytes": encoded.bytes,
        "shards": list(map(asdict, encoded.shards)),
        "shards_before": encoded.shards_before,
        "files": list(map(asdict, encoded.files)),
    }


# --- On a cluster: tasks encode neighbouring files, beside the shards; these are written here, in their order ---------

_PARTS = ".parts"  # the folder of what the workers have encoded
_TASKS_PER_CORE = 4
_PART = 1 << 26  # stored bytes of a task, at least where there are many
_AHEAD = 2  # tasks for each core that may be done before those before them are written
_DOCUMENTS = 1 << 16  # of a part that are written together
_IDS = 1 << 22
_REMOVALS = 10


class _OnCluster:
    """Encodes on a cluster; its workers see the files and the folder of the shards by the same paths."""

    def __init__(self, address: str, minutes: float, folder: Path) -> None:
        self._address, self._minutes, self._parts = address, minutes, folder.absolute() / _PARTS

    def encode_work(
        self,
        units: Sequence[Unit],
        settings: EncodingSettings,
        take: Callable[[EncodedDocuments], Work[None]],
        files: list[EncodedFile],
        skip: int,
    ) -> Work[None]:
        """As `encode_units_work`."""
        units = [replace(unit, entry=absolute(unit.entry)) for unit in units]
        if not units:
            return
        with _emptied(self._parts), open_cluster(self._address, self._minutes) as cluster:
            client, cores = cluster.client, (yield from cores_work(cluster, _encode_part))
            total = sum(unit.weight for unit in units)
            most = max(_TASKS_PER_CORE * cores, total // _PART)
            parts = list(neighbours(units, [unit.weight for unit in units], most))
            # A task, which is done again where its result is lost with a worker, and not scattered.
            shared = client.submit(_given, settings, pure=False)
            futures, at, done = deque[Any](), 0, 0
            for number, part in enumerate(parts):
                while at < min(len(parts), number + _AHEAD * cores):
                    # An ended call had all documents of the files before, so that only the first file is left in part.
                    passed = skip if at == 0 else 0
                    futures.append(self._submit(client, parts[at], shared, passed, at))
                    at += 1
                progress = Progress("encoding", done, total)
                encoded, stem = yield from waited_work(
                    cluster, futures.popleft(), lambda told=progress: told, "encoded"
                )
                files += encoded
                done += sum(unit.weight for unit in part)
                for documents in _read_part(stem, settings.kind):
                    yield from take(documents)
                    yield Progress("encoding", done, total)
                shutil.rmtree(stem)

    def _submit(self, client: Client, part: Sequence[Unit], settings: object, skip: int, number: int) -> Future:
        return client.submit(_encode_part, part, settings, skip, self._parts / f"{number:06}", pure=False)


@contextmanager
def _emptied(folder: Path) -> Iterator[None]:
    """An empty folder during a block; what a killed call has left in it is of no use."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield
    finally:
        # After an interruption, tasks may still write there: each ends where its own part is gone.
        for _ in range(_REMOVALS):
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break


def _given(settings: EncodingSettings) -> EncodingSettings:
    return settings


def _encode_part(
    units: Sequence[Unit], settings: EncodingSettings, skip: int, place: Path
) -> tuple[list[EncodedFile], Path] | TokStudioError:
    """Encodes files into a folder beside a place, whose name it returns: one task may run on two workers at once."""
    folder, files = place.with_name(f"{place.name}-{secrets.token_hex(4)}"), list[EncodedFile]()
    try:
        folder.mkdir()
        with ExitStack() as opened:
            outputs: list[ArrayFile] = []
            for name, kind in _columns(settings.kind):
                (folder / name).touch(exist_ok=False)
                outputs.append(ArrayFile(folder / name, kind, False))
                opened.callback(outputs[-1].close)

            def take(documents: EncodedDocuments) -> Work[None]:
                counts = np.diff(documents.ends, prepend=0)
                for output, numbers in zip(outputs, (documents.ids, counts, documents.sizes), strict=True):
                    output.add(numbers)
                yield Progress("encoding")

            finish(encode_units_work(units, settings, take, files, skip, threads=1))
    except TokStudioError as error:
        return error
    except OSError as error:
        return write_fault(folder, error)
    return files, folder


def _columns(kind: str) -> tuple[tuple[str, str], ...]:
    """The files of a part with the types of their numbers: ids, how many each document has, and bytes of its text."""
    return ("ids", kind), ("counts", "<i8"), ("sizes", "<i8")


def _read_part(folder: Path, kind: str) -> Iterator[EncodedDocuments]:
    """The documents of a part, some at a time."""
    with ExitStack() as opened:
        ids, counts, sizes = (opened.enter_context((folder / name).open("rb")) for name, _ in _columns(kind))
        while len(some := np.fromfile(counts, "<i8", _DOCUMENTS)):
            its_sizes, ends = np.fromfile(sizes, "<i8", len(some)), np.cumsum(some)
            for first, last, start, stop in groups(ends, _IDS):
                its_ids = np.fromfile(ids, kind, stop - start)
                if len(its_ids) < stop - start:
                    raise CorpusError(f"{folder.name}: what a worker encoded is not all there; do all workers see it?")
                yield EncodedDocuments(its_ids, ends[first:last] - start, its_sizes[first:last])
