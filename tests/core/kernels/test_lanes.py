"""Numbers in lanes, compared with NumPy's arrays."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np

from tokstudio.core.kernels import lanes as k
from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.intrinsics import address_of

N = k.LANES


@njit(cache=False)
def use_all(numbers, others, shifts, several, data, addresses, out, scattered, number):
    """Writes a row for each operation; `several` and `out` are flat."""
    one, other, moved = k.lanes_at(address_of(numbers)), k.lanes_at(address_of(others)), k.lanes_at(address_of(shifts))
    lane, row = k.lane_numbers(), address_of(out)
    is_less, same = k.below(one, other), (one & 7) == (other & 7)
    high, low = k.wide(one) * number >> 40, k.narrow(k.wide(one) * number)
    rows = (
        one + other - 5,
        one * other & (one | other ^ 9),
        one << moved ^ ~other >> moved,
        k.least(one, other),
        k.chosen(is_less, one, k.each(7)),
        k.chosen(same & ~is_less | (lane == 3), one, other),
        k.lowest_bits(one << moved) + k.zeros_above(one >> moved) * 100,
        k.narrow(high),
        low,
        k.gather(address_of(others), lane ^ 1, is_less),
        k.narrow(k.gather_wide(address_of(several), lane ^ 1, is_less) >> 32),
        k.gather_bytes(k.wide_lanes_at(address_of(addresses)) + address_of(data), is_less),
        k.narrow(k.each_wide(number) >> 8),
    )
    for values in rows:
        k.set_lanes(row, values)
        row += 4 * N
    k.scatter(address_of(scattered), lane << 1, one, is_less)
    return k.is_any(is_less), k.is_any(is_less & ~is_less)


def test_each_operation_is_done_in_each_lane():
    chance, number = np.random.default_rng(3), -0x123456789ABCDEF
    for _ in range(20):
        numbers, others = (chance.integers(-(1 << 31), 1 << 31, N).astype(np.int32) for _ in range(2))
        numbers[:2] = 0, -1
        shifts = chance.integers(0, 32, N).astype(np.int32)
        several, data = chance.integers(-(1 << 62), 1 << 62, N), chance.integers(0, 256, N + 3).astype(np.uint8)
        addresses = chance.permutation(N)
        out, scattered = np.zeros(13 * N, np.int32), np.full(2 * N, 5, np.int32)
        given = numbers, others, shifts, several, data, addresses
        assert use_all(*given, out, scattered, number) == (True, False)

        one, other, moved = (each.view(np.uint32) for each in (numbers, others, shifts))
        lane, less = np.arange(N), one < other
        same, product = (one & 7) == (other & 7), numbers.astype(np.int64) * np.int64(number)
        left, right = one << moved, one >> moved
        expected = [
            one + other - np.uint32(5),
            one * other & (one | other ^ 9),
            left ^ ~other >> moved,
            np.minimum(one, other),
            np.where(less, one, 7),
            np.where(same & ~less | (lane == 3), one, other),
            [
                (32 if a == 0 else (int(a) & -int(a)).bit_length() - 1) + 100 * (32 - int(b).bit_length())
                for a, b in zip(left, right, strict=True)
            ],
            product.view(np.uint64) >> 40,
            product,
            np.where(less, other[lane ^ 1], 0),
            np.where(less, several[lane ^ 1] >> 32, 0),
            np.where(less, data[addresses], 0),
            np.full(N, number >> 8),
        ]
        for found, wanted in zip(out.view(np.uint32).reshape(13, N), expected, strict=True):
            assert found.tolist() == [int(each) & 0xFFFFFFFF for each in wanted]
        assert scattered.tolist()[::2] == np.where(less, numbers, 5).tolist()
        assert scattered.tolist()[1::2] == [5] * N
