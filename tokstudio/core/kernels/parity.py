"""The merge loop of parity-aware BPE: at each merge one language chooses, and its most frequent pair is merged.

The corpus is laid out in sections: the text of each language, then the parallel text of each. All of them share the
tables of the plain loop, in which the places of a pair ascend, so that those of one section stand together. A pair
is stored if its count in all languages reaches the floor. There is also its count in each language, and each language
has a lazy heap. The texts of the parallel sections have no weight: their pairs do not count.

While all languages choose together, the column after those of the languages is theirs.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false, reportAssignmentType=false
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels import tables as k
from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.intrinsics import prefetch, weight_at
from tokstudio.core.kernels.merge import before, prefix_of, sift_down, sorts_after, tie_of_ids
from tokstudio.core.kernels.tables import Int32, Int64, Tables

Float64 = NDArray[np.float64]

_AHEAD = 16

# Indexes of `LanguageChoice.numbers`.
(
    LANGUAGES,
    TOGETHER,  # merges that all languages still choose together
    FINAL_FLOOR,
    WINDOW,  # choices that are looked back on; 0 for no limit
    CHOICES,  # made so far by single languages
    FILLED,  # the next pair of which the counts by language are made
    NUMBERS_SIZE,
) = range(7)


class LanguageChoice(NamedTuple):
    """What decides which language chooses, and its pairs."""

    numbers: Int64  # [NUMBERS_SIZE]
    sections: Int64  # [languages or twice as many, + 1] where each begins, and the end of the last
    measures: Int64  # [n] how often a parallel sequence occurs, by the original position; [0] without parallel texts
    counts: Int64  # [pairs, columns] the count of a pair in each language
    heaps: Int64  # [columns, pairs, 3]
    sizes: Int64  # [columns] of the heaps in use
    lengths: Int64  # [languages] tokens of the text that is measured
    text_bytes: Float64  # [languages] bytes of it
    ratios: Float64  # [languages]
    exhausted: Int64  # [languages] 1 where no pair is left
    window: Int64  # [window] the languages of the last choices
    recent: Int64  # [languages] how often each is among them
    share: Float64  # [1] the largest share of a language in the window that does not bar it
    chosen_by: Int64  # [batch] the language that chose each merge; -1 for all together


@njit(nogil=True, cache=True)
def language_to_choose(c: LanguageChoice) -> int:
    """The language whose turn it is: the longest parallel text, or the fewest bytes per token; -1 if none is left."""
    limited = c.numbers[WINDOW] > 0
    while True:
        best, highest = -1, 0.0
        for language in range(c.numbers[LANGUAGES]):
            if c.exhausted[language] or (limited and c.recent[language] / c.numbers[WINDOW] > c.share[0]):
                continue
            score = float(c.lengths[language])
            if c.measures.size == 0:
                if score == 0.0:
                    continue
                score = -(c.text_bytes[language] / score) / c.ratios[language]
            if best < 0 or score > highest:
                best, highest = language, score
        if best >= 0 or not limited:
            return best
        # All that are left were passed over.
        limited = False


@njit(nogil=True, cache=True)
def _first_in_section(pool: Int32, start: int, stop: int, place: int) -> int:
    """The first of ascending places that is not before `place`."""
    while start < stop:
        middle = (start + stop) >> 1
        if pool[middle] < place:
            start = middle + 1
        else:
            stop = middle
    return start


@njit(nogil=True, cache=True)
def _tie_of(t: Tables, c: LanguageChoice, rule: int, pair: int, column: int, least: int) -> int:
    """The tie key of a pair; by place, its first place in the language that is valid and not before `least`."""
    left, right = t.pairs[pair, k.KEY] >> 32, t.pairs[pair, k.KEY] & k.NUMBER_BITS
    if rule != k.BY_PLACE:
        return tie_of_ids(rule, t.token_order[left], t.token_order[right], t.spelling[left, k.PREFIX])
    if column < c.numbers[LANGUAGES]:
        least = max(least, c.sections[column])
    at = _first_in_section(t.pool, t.pairs[pair, k.START], t.pairs[pair, k.STOP], least)
    span = t.token_span[left]
    while t.symbols[t.pool[at]] != left or t.symbols[t.pool[at] + span] != right:
        at += 1
    return t.pool[at]


@njit(nogil=True, cache=True)
def _push(t: Tables, c: LanguageChoice, rule: int, pair: int, column: int) -> None:
    """Puts a pair into the heap of a column."""
    heap, at, count = c.heaps[column], c.sizes[column], c.counts[pair, column]
    tie = _tie_of(t, c, rule, pair, column, 0)
    c.sizes[column] += 1
    while at > 0:
        parent = (at - 1) >> 2
        parent_count, parent_tie = heap[parent, k.HEAP_COUNT], heap[parent, k.HEAP_TIE]
        if not before(count, tie, parent_count, parent_tie) and not (
            rule == k.BY_BYTES
            and count == parent_count
            and tie == parent_tie
            and sorts_after(t.pairs, t.spelling, t.units, pair, heap[parent, k.HEAP_PAIR])
        ):
            break
        heap[at] = heap[parent]
        at = parent
    heap[at, k.HEAP_COUNT], heap[at, k.HEAP_TIE], heap[at, k.HEAP_PAIR] = count, tie, pair


@njit(nogil=True, cache=True)
def _columns(c: LanguageChoice) -> int:
    return c.numbers[LANGUAGES] + (c.numbers[TOGETHER] > 0)


@njit(nogil=True, cache=True)
def count_by_language(t: Tables, c: LanguageChoice, state: Int64, budget: int) -> bool:
    """Makes the counts by language and the heaps of a round, for about `budget` places; whether they are complete."""
    symbols, pool, pairs, counts, sections = t.symbols, t.pool, t.pairs, c.counts, c.sections
    languages, floor, columns = c.numbers[LANGUAGES], state[k.FLOOR], _columns(c)
    pair = c.numbers[FILLED]
    while pair < state[k.PAIRS] and budget > 0:
        left, right = pairs[pair, k.KEY] >> 32, pairs[pair, k.KEY] & k.NUMBER_BITS
        span, section = t.token_span[left], 0
        counts[pair] = 0
        for n in range(pairs[pair, k.START], pairs[pair, k.STOP]):
            prefetch(symbols, pool[min(n + _AHEAD, pairs[pair, k.STOP] - 1)])
            i = pool[n]
            while i >= sections[section + 1]:
                section += 1
            if section >= languages:
                break
            if symbols[i] == left and symbols[i + span] == right:
                counts[pair, section] += weight_at(t.weights, t.heavy, i)
        if columns > languages:
            counts[pair, languages] = pairs[pair, k.COUNT]
        for column in range(columns):
            if counts[pair, column] >= floor:
                _push(t, c, state[k.TIE_RULE], pair, column)
        budget -= pairs[pair, k.STOP] - pairs[pair, k.START] + 1
        pair += 1
    c.numbers[FILLED] = pair
    return pair == state[k.PAIRS]


@njit(nogil=True, cache=True)
def _best_of(t: Tables, c: LanguageChoice, state: Int64, column: int) -> int:
    """The most frequent pair of a column; 0 where none reaches the floor."""
    heap, size, rule, pairs = c.heaps[column], c.sizes[column], state[k.TIE_RULE], t.pairs
    while size > 0:
        pair, tie = heap[0, k.HEAP_PAIR], heap[0, k.HEAP_TIE]
        count = c.counts[pair, column]
        if count == heap[0, k.HEAP_COUNT]:
            break
        # Outdated. Counts only decrease: update it and let it sink, or replace it by the last entry.
        if count < state[k.FLOOR]:
            size -= 1
            count, tie, pair = heap[size, k.HEAP_COUNT], heap[size, k.HEAP_TIE], heap[size, k.HEAP_PAIR]
        elif rule == k.BY_PLACE:
            tie = _tie_of(t, c, rule, pair, column, tie)
        sift_down(heap, size, 0, (count, tie, pair), rule == k.BY_BYTES, pairs, t.spelling, t.units)
    c.sizes[column] = size
    return heap[0, k.HEAP_PAIR] if size > 0 else 0


@njit(nogil=True, cache=True)
def _note_choice(c: LanguageChoice, language: int) -> None:
    """Enters a choice into the window."""
    window = c.numbers[WINDOW]
    if window == 0:
        return
    at = c.numbers[CHOICES] % window
    if c.numbers[CHOICES] >= window:
        c.recent[c.window[at]] -= 1
    c.window[at] = language
    c.recent[language] += 1
    c.numbers[CHOICES] += 1


@njit(nogil=True, cache=True)
def merge_by_language(t: Tables, c: LanguageChoice, state: Int64, budget: int, batch: int) -> int:
    """Merges for about `budget` visits of places, or until `batch` merges are written to `out`. A merge is made whole.

    Returns:
        `BUDGET_SPENT`; `BATCH_FULL`; `NEED_ROOM` when the merge of the pair `state[PAIR]` doesn't fit; `ASKS` when that
        pair may not be allowed (allow it or set its counts to 0, then call again); `ROUND_OVER` when the language whose
        turn it is has no pair that reaches the floor, and at the final floor when none has.
    """
    numbers = c.numbers
    while budget > 0:
        if state[k.OUT] == batch:
            return k.BATCH_FULL
        together = numbers[TOGETHER] > 0
        column = numbers[LANGUAGES] if together else language_to_choose(c)
        if column < 0:
            return k.ROUND_OVER
        pair = _best_of(t, c, state, column)
        if pair == 0:
            if together or state[k.FLOOR] > numbers[FINAL_FLOOR]:
                return k.ROUND_OVER
            # As in `tokenizers`, the choice that finds nothing counts in the window.
            c.exhausted[column] = 1
            _note_choice(c, column)
            continue
        state[k.PAIR] = pair
        key, places = t.pairs[pair, k.KEY], t.pairs[pair, k.STOP] - t.pairs[pair, k.START]
        if state[k.ALLOWED] != k.ANY and state[k.ALLOWED] != key:
            return k.ASKS
        if state[k.POOL] + 4 * places > t.pool.size or (
            state[k.PAIRS] + 2 * min(places, state[k.VOCABULARY] + 1) > len(t.pairs)
        ):
            return k.NEED_ROOM
        out, count = state[k.OUT], t.pairs[pair, k.COUNT]
        _merge_everywhere(t, c, state, pair)
        t.out[out, 0], t.out[out, 1] = key >> 32, key & k.NUMBER_BITS
        t.out[out, 2], t.out[out, 3] = count, state[k.TOKENS]
        c.chosen_by[out] = -1 if together else column
        state[k.OUT] = out + 1
        if together:
            numbers[TOGETHER] -= 1
        else:
            _note_choice(c, column)
        budget -= places + 1
    return k.BUDGET_SPENT


@njit(nogil=True, cache=True)
def _merge_everywhere(t: Tables, c: LanguageChoice, state: Int64, pair: int) -> None:
    """Merges a pair in all sections, and stores the new pairs; see `merge.merge`, which does the same."""
    symbols, pool, pairs, index, counts = t.symbols, t.pool, t.pairs, t.pair_index, c.counts
    spans, sizes, spelling, left_slot, right_slot = t.token_span, t.token_bytes, t.spelling, t.left_slot, t.right_slot
    touched, sections, languages, columns = t.touched, c.sections, c.numbers[LANGUAGES], _columns(c)
    token, mask = state[k.VOCABULARY], index.size - 1
    left, right = pairs[pair, k.KEY] >> 32, pairs[pair, k.KEY] & k.NUMBER_BITS
    start, stop = pairs[pair, k.START], pairs[pair, k.STOP]
    left_span, span = spans[left], spans[left] + spans[right]
    while symbols[pool[start]] != left or symbols[pool[start] + left_span] != right:
        start += 1
    spans[token], sizes[token] = span, sizes[left] + sizes[right]
    t.token_order[token] = token
    spelling[token, k.SPELT] = spelling[left, k.SPELT] + spelling[right, k.SPELT]
    spelling[token, k.SPELT_AT] = t.origin[pool[start]]
    spelling[token, k.PREFIX] = prefix_of(
        state[k.UNIT_BITS], spelling[left, k.PREFIX], spelling[left, k.SPELT], spelling[right, k.PREFIX]
    )

    # Each neighbour that is met gets a row for its new pair; its slot is the number of the row.
    first = new = state[k.PAIRS]
    scratch = begun = state[k.POOL] + 2 * (stop - start)
    merged, section, met, total = start, 0, 0, 0
    for n in range(start, stop):
        ahead = pool[min(n + _AHEAD, stop - 1)]
        prefetch(symbols, ahead)
        prefetch(symbols, ahead + span)
        i = pool[n]
        if symbols[i] != left or symbols[i + left_span] != right:
            continue
        while i >= sections[section + 1]:
            section += 1
        weight = weight_at(t.weights, t.heavy, i)
        total += weight
        if section >= languages:
            c.lengths[section - languages] -= c.measures[t.origin[i]]
        elif c.measures.size == 0:
            c.lengths[section] -= weight
        before_it, after_it = symbols[i - 1] & k.TOKEN, symbols[i + span]
        symbols[i + left_span] = k.INSIDE
        symbols[i] = token
        symbols[i + span - 1] = token | k.END
        # Two adjacent new tokens are counted once, from the left one.
        if after_it == left and symbols[i + span + left_span] == right:
            after_it = token
        for side in range(2):
            if side == 0:
                if before_it == k.TOKEN or before_it == token:
                    continue
                row, neighbour, new_key = left_slot[before_it], before_it, (before_it << 32) | token
            else:
                if after_it < 0:
                    continue
                row, neighbour, new_key = right_slot[after_it], -1 - after_it, (token << 32) | after_it
            if row == 0:
                row = new
                new += 1
                touched[met] = neighbour
                met += 1
                pairs[row, k.COUNT], pairs[row, k.KEY], pairs[row, k.STOP] = 0, new_key, 0
                counts[row] = 0
                if side == 0:
                    left_slot[before_it] = row
                else:
                    right_slot[after_it] = row
            pairs[row, k.STOP] += 1
            if section < languages:
                pairs[row, k.COUNT] += weight
                counts[row, section] += weight
        pool[merged] = i
        pool[scratch], pool[scratch + 1] = before_it, after_it
        merged += 1
        scratch += 2

    # The counts of the new pairs are the losses of the old ones. New pairs that reach the floor stay.
    used = state[k.POOL]
    kept = first
    for n in range(met):
        row, neighbour, on_left = first + n, touched[n], touched[n] >= 0
        if on_left:
            old_left, old_right = neighbour, left
        else:
            neighbour = -1 - neighbour
            old_left, old_right = right, left if neighbour == token else neighbour
        key = (old_left << 32) | old_right
        hashed = old_left * k.HASH_LEFT + old_right * k.HASH_RIGHT
        slot = (hashed >> k.INDEX_SHIFT) & mask
        number = index[slot] & k.NUMBER_BITS
        while number > 0 and (((index[slot] ^ hashed) >> 32) != 0 or pairs[number, k.KEY] != key):
            slot = (slot + 1) & mask
            number = index[slot] & k.NUMBER_BITS
        count, places = pairs[row, k.COUNT], pairs[row, k.STOP]
        if columns > languages:
            counts[row, languages] = count
        if number > 0:
            pairs[number, k.COUNT] -= count
            for column in range(columns):
                counts[number, column] -= counts[row, column]
        number = 0
        if count >= state[k.FLOOR] and sizes[neighbour] + sizes[token] <= state[k.MAX_BYTES]:
            number = kept
            new_key = pairs[row, k.KEY]
            pairs[number, k.COUNT], pairs[number, k.KEY] = count, new_key
            pairs[number, k.START] = pairs[number, k.STOP] = used
            for column in range(columns):
                counts[number, column] = counts[row, column]
            hashed = (new_key >> 32) * k.HASH_LEFT + (new_key & k.NUMBER_BITS) * k.HASH_RIGHT
            slot = (hashed >> k.INDEX_SHIFT) & mask
            while index[slot] != 0:
                slot = (slot + 1) & mask
            index[slot] = (hashed & k.HASH_BITS) | number
            used += places
            kept += 1
        if on_left:
            left_slot[neighbour] = number
        else:
            right_slot[neighbour] = number
    pairs[pair, k.COUNT] = 0
    counts[pair] = 0

    # The places of the new pairs; those of dropped pairs go to index 0 of the pool.
    scratch = begun
    for n in range(start, merged):
        before_it, after_it = pool[scratch], pool[scratch + 1]
        scratch += 2
        if before_it != k.TOKEN and before_it != token:
            number = left_slot[before_it]
            to = pairs[number, k.STOP]
            pool[to] = pool[n] - spans[before_it]
            pairs[number, k.STOP] = to + (number > 0)
        if after_it >= 0:
            number = right_slot[after_it]
            to = pairs[number, k.STOP]
            pool[to] = pool[n]
            pairs[number, k.STOP] = to + (number > 0)
    for n in range(met):
        if touched[n] >= 0:
            left_slot[touched[n]] = 0
        else:
            right_slot[-1 - touched[n]] = 0
    pairs[pair, k.START] = pairs[pair, k.STOP] = start
    state[k.PAIRS], state[k.INDEXED], state[k.POOL] = kept, kept, used
    state[k.TOKENS] -= total
    state[k.VOCABULARY] = token + 1
    for new in range(first, kept):
        for column in range(columns):
            if counts[new, column] >= state[k.FLOOR]:
                _push(t, c, state[k.TIE_RULE], new, column)
