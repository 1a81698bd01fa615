"""What is taken of data sets at addresses is what the seed says, reckoned here once more from the definitions."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from hashlib import blake2b
from math import log

import pytest

from tokstudio.core.corpus.remote.choosing import (
    MOST_SHARDS,
    FileBlock,
    RowGroup,
    chance,
    chosen_blocks,
    chosen_files,
    chosen_groups,
)
from tokstudio.core.corpus.remote.files import RemoteFile

MB = 1 << 20
SEEDS = range(4)


def files(*sizes: int) -> list[RemoteFile]:
    return [RemoteFile(f"part-{place:03}.jsonl", size, "", "") for place, size in enumerate(sizes)]


def number(*names: object) -> float:
    """The number that belongs to a seed and names, by its definition."""
    digest = blake2b("\0".join(str(name) for name in names).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") + 1) / (2**64 + 1)


def test_the_number_of_a_seed_and_names_is_the_same_everywhere():
    assert chance(0, "a", 1) == number(0, "a", 1) == pytest.approx(0.74135775350983, abs=1e-15)
    assert len({chance(seed, name, group) for seed in SEEDS for name in ("a", "b") for group in (0, 1)}) == 16


def test_files_are_chosen_by_the_seed_and_the_larger_ones_more_often():
    small = files(*[MB] * 150, *[20 * MB] * 20)
    assert chosen_files(small[:MOST_SHARDS], 1) == small[:MOST_SHARDS]
    chosen = {seed: chosen_files(small, seed) for seed in SEEDS}
    for seed, taken in chosen.items():
        by_key = sorted(small, key=lambda file: log(number(seed, file.path)) / file.size)
        assert taken == sorted(by_key[-MOST_SHARDS:], key=small.index)
    assert len({tuple(taken) for taken in chosen.values()}) == len(SEEDS)
    large = sum(file.size > MB for taken in chosen.values() for file in taken)
    assert large > 0.9 * 20 * len(SEEDS)


def test_groups_of_rows_are_taken_in_the_order_that_the_seed_gives():
    paths, size = ["a.parquet", "b.parquet"], 40 * MB
    groups = [RowGroup(file, place, 8 * MB) for file in range(2) for place in range(20)]
    chosen = {seed: chosen_groups(groups, paths, size, seed) for seed in SEEDS}
    for seed, taken in chosen.items():
        order = sorted(groups, key=lambda group: number(seed, paths[group.file], group.number))
        # Four MiB of each are read, so ten groups are enough.
        assert taken == [(group, 4 * MB) for group in groups if group in order[:10]]
    assert len({tuple(taken) for taken in chosen.values()}) == len(SEEDS)


@pytest.mark.parametrize(("sizes", "size"), [([5 * MB], MB // 4), ([3 * MB, 5, MB, 0, 2 * MB], MB // 4)])
def test_blocks_lie_in_equal_stretches_where_the_seed_says(sizes, size):
    total, parts = sum(sizes), min(64, size // (1 << 16))
    chosen = {seed: chosen_blocks(files(*sizes), size, seed) for seed in SEEDS}
    begins = [sum(sizes[:file]) for file in range(len(sizes))]
    for seed, blocks in chosen.items():
        taken = set[int]()
        for block in blocks:
            assert 0 <= block.start < block.start + block.size <= sizes[block.file]
            taken.update(range(begins[block.file] + block.start, begins[block.file] + block.start + block.size))
        assert len(taken) == sum(block.size for block in blocks) == size
        for part in range(parts):
            first, last = total * part // parts, total * (part + 1) // parts
            start = first + int(number(seed, "block", part) * (last - first - size // parts))
            assert taken.issuperset(range(start, start + size // parts))
    assert len({tuple(blocks) for blocks in chosen.values()}) == len(SEEDS)


def test_a_sample_as_large_as_the_files_is_all_of_them():
    assert chosen_blocks(files(5, 7), 12, 3) == [FileBlock(0, 0, 5), FileBlock(1, 0, 7)]
