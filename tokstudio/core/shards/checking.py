"""Checks the shards of an earlier call against the hashes in their manifest: reading is far cheaper than encoding."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.untyped import untyped
from tokstudio.core.formats.ids import npy_header
from tokstudio.core.shards.manifest import BIN, ENDS, NPY, PARQUET, Manifest, Shard, shard_files

COLUMN = "input_ids"  # of Parquet, as trainers that read it call it
_PIECE = 1 << 22


def sound_shards_work(folder: Path, manifest: Manifest) -> Work[int]:
    """How many of the first shards are in a folder as the manifest says, in all their files, byte for byte."""
    kind, total = manifest.kind, len(manifest.shards)
    sizes = manifest.sizes()
    for number, shard in enumerate(manifest.shards):
        for form, name in shard_files(number, manifest.formats).items():
            try:
                size = sizes[name]
                is_sound = size is None or (folder / name).stat().st_size == size
                is_sound = is_sound and (yield from _is_sound_work(folder / name, form, kind, shard))
            except (OSError, ValueError, untyped("pyarrow").ArrowException):
                is_sound = False
            if not is_sound:
                return number
            yield Progress("checking shards", number, total)
    return total


def _is_sound_work(path: Path, form: str, kind: str, shard: Shard) -> Work[bool]:
    if form == PARQUET:
        return (yield from _rows_hashed_work(path, kind)) == (shard.sha256, shard.ends_sha256)
    header = {NPY: npy_header(shard.tokens, kind), ENDS: npy_header(shard.documents, "<i8"), BIN: b""}[form]
    digest = hashlib.sha256()
    with path.open("rb") as file:
        if file.read(len(header)) != header:
            return False
        while piece := file.read(_PIECE):
            digest.update(piece)
            yield Progress("checking shards")
    return digest.hexdigest() == (shard.ends_sha256 if form == ENDS else shard.sha256)


def _rows_hashed_work(path: Path, kind: str) -> Work[tuple[str, str]]:
    """The hashes of the ids of Parquet, and of the ends of its documents."""
    parquet = untyped("pyarrow.parquet")
    ids, ends, before = hashlib.sha256(), hashlib.sha256(), 0
    with parquet.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            chunks: list[Any] = file.read_row_group(group, columns=[COLUMN]).column(0).chunks
            for chunk in chunks:
                offsets = np.asarray(chunk.offsets).astype("<i8")
                values = np.asarray(chunk.values)[int(offsets[0]) : int(offsets[-1])]
                if values.dtype != np.dtype(kind):
                    raise ValueError(f"its ids are {values.dtype}")
                ids.update(np.ascontiguousarray(values).data)
                ends.update((offsets[1:] - offsets[0] + before).data)
                before += len(values)
            yield Progress("checking shards")
    return ids.hexdigest(), ends.hexdigest()
