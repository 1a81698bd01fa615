"""Chooses by a seed which parts of remote files are a sample: the same parts for the same files, everywhere.

Numbers are made of hashes, not by a generator of a library, whose next version may give others.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import blake2b

from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.remote.files import RemoteFile

MOST_SHARDS = 64
_BLOCKS = 64
_LEAST_BLOCK = 1 << 16
_LEAST_OF_GROUP = 1 << 22  # bytes: of a larger group of rows, only the beginning is read


@dataclass(frozen=True)
class RowGroup:
    """A group of rows of the file with this number."""

    file: int  # the number of the file among those that were chosen
    number: int  # of the group in the file, from 0
    size: int  # about how many bytes of text it has


@dataclass(frozen=True)
class FileBlock:
    """A block of bytes of the file with this number."""

    file: int
    start: int
    size: int


def chance(seed: int, *names: str | int) -> float:
    """A number above 0 and below 1 that depends on nothing but the seed and the names."""
    text = "\0".join(map(str, (seed, *names))).encode("utf-8", "surrogatepass")
    return (int.from_bytes(blake2b(text, digest_size=8).digest(), "big") + 1) / ((1 << 64) + 1)


def chosen_files(files: Sequence[RemoteFile], seed: int) -> list[RemoteFile]:
    """At most `MOST_SHARDS` of the files, each the more likely the larger it is, in their order.

    By the keys of Efraimidis and Spirakis (2006): the largest of log(chance) / size.
    """
    if len(files) <= MOST_SHARDS:
        return list(files)
    keys = [math.log(chance(seed, file.path)) / file.size for file in files]
    numbers = sorted(range(len(files)), key=lambda number: (-keys[number], files[number].path))[:MOST_SHARDS]
    return [files[number] for number in sorted(numbers)]


def chosen_groups(groups: Sequence[RowGroup], paths: Sequence[str], size: int, seed: int) -> list[tuple[RowGroup, int]]:
    """Groups of rows for a sample of so many bytes, in the order of the text, each with how much of it is read.

    Groups are taken in an order by chance, of each at most a 64th of the sample or 4 MiB, or more where there are too
    few; so the sample is from many places.
    """
    most = max(_LEAST_OF_GROUP, -(-size // _BLOCKS))
    most = max(most, _level([group.size for group in groups], size))
    order = sorted(groups, key=lambda group: (chance(seed, paths[group.file], group.number), group.file, group.number))
    taken: list[tuple[RowGroup, int]] = []
    sum_of_taken = 0
    for group in order:
        if sum_of_taken >= size:
            break
        if group.size:
            taken.append((group, min(group.size, most)))
            sum_of_taken += taken[-1][1]
    return sorted(taken, key=lambda one: (one[0].file, one[0].number))


def _level(sizes: Sequence[int], size: int) -> int:
    """The least limit with which the sizes, each at most the limit, add up to `size`; the largest where none does."""
    left, ascending = size, sorted(sizes)
    for number, one in enumerate(ascending):
        share = -(-left // (len(ascending) - number))
        if one >= share:
            return share
        left -= one
    return ascending[-1] if ascending else 0


def chosen_blocks(files: Sequence[RemoteFile], size: int, seed: int) -> list[FileBlock]:
    """Blocks of files for a sample of so many bytes: one in each of up to 64 equal stretches of all, by chance."""
    total = sum(file.size for file in files)
    if size >= total:
        return [FileBlock(number, 0, file.size) for number, file in enumerate(files)]
    number_of_blocks = max(1, min(_BLOCKS, size // _LEAST_BLOCK))
    blocks: list[FileBlock] = []
    for number in range(number_of_blocks):
        first, last = (total * at // number_of_blocks for at in (number, number + 1))
        length = size * (number + 1) // number_of_blocks - size * number // number_of_blocks
        start = first + int(chance(seed, "block", number) * max(0, last - first - length))
        # Where a block would go over the end of a file, it ends there, and the rest is at the beginning of the next.
        before = 0
        for index, file in enumerate(files):
            begin, end = max(start, before), min(start + length, before + file.size)
            if begin < end:
                blocks.append(FileBlock(index, begin - before, end - begin))
            before += file.size
    return blocks
