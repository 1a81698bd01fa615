"""Checks the shards of an earlier call against the hashes in their manifest: reading is far cheaper than encoding."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
from pathlib import Path
from typing import BinaryIO

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.formats.ids import npy_header
from tokstudio.core.shards.manifest import ENDS, NPY, PARQUET, Manifest, Shard, shard_files

_PHASE = "checking shards"
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
            except OSError:
                is_sound = False
            if not is_sound:
                return number
            yield Progress(_PHASE, number, total)
    return total


def _is_sound_work(path: Path, form: str, kind: str, shard: Shard) -> Work[bool]:
    header = {NPY: npy_header(shard.tokens, kind), ENDS: npy_header(shard.documents, "<i8")}.get(form, b"")
    with path.open("rb") as file:
        if file.read(len(header)) != header:
            return False
        found = yield from hashed_work(file, _PHASE)
    return found == {ENDS: shard.ends_sha256, PARQUET: shard.parquet_sha256}.get(form, shard.sha256)


def hashed_work(file: BinaryIO, phase: str) -> Work[str]:
    """The hash of what is left of a file."""
    digest = hashlib.sha256()
    while piece := file.read(_PIECE):
        digest.update(piece)
        yield Progress(phase)
    return digest.hexdigest()
