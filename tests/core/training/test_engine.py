"""The engine with hardly any room or time; its compiled loops, and the memory after a training.

Sequences have weights here, which no Trainer gives them yet.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
import gc
import importlib
import itertools
import json
import pkgutil
import subprocess
import sys
import tracemalloc
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core.dispatcher import Dispatcher

from tests.core.reference import HUGGINGFACE_ORDER, count_pairs, train_slowly
from tests.core.texts import document
from tests.core.training.rooms import TIGHT, in_room, rooms
from tokstudio import Corpus, Tokenizer, Trainer, TrainingConfig, WordCounts, train
from tokstudio.core import kernels
from tokstudio.core.algorithms.bpe.engine import PairEngine
from tokstudio.core.algorithms.common.units import Units
from tokstudio.core.base.arrays import in_eight_bytes, in_four_bytes, read_only
from tokstudio.core.kernels import tables as k
from tokstudio.core.kernels.documents import valid_until
from tokstudio.core.model.algorithms import TIE_BREAKS
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.pretokenization import count_words
from tokstudio.core.text.unicode_classes import classes

weighted = st.lists(st.tuples(document, st.integers(1, 5) | st.integers((1 << 31) - 2, 1 << 40)), max_size=6)


def units_of(texts, weights=None, tie_break="first"):
    symbols, weight_at = [-1], [0]
    for text, weight in zip(texts, weights or [1] * len(texts), strict=True):
        symbols += [*text, -1]
        weight_at += [weight] * len(text) + [0]
    short, heavy = in_four_bytes(np.array(weight_at if weights else [], np.int64))
    order = np.arange(256, dtype=np.int32)
    if tie_break == "huggingface":
        order = np.argsort(HUGGINGFACE_ORDER).astype(np.int32)
    return Units(
        np.array(symbols, np.int32),
        short,
        np.ones(256, np.int64),
        order,
        np.argsort(HUGGINGFACE_ORDER).astype(np.int32) if tie_break == "mapped-strings" else None,
        heavy=heavy,
    )


class Drive:
    """An engine driven to its end, with what it made."""

    def __init__(self, units, tie_break, floor, longest, most=10_000, watch=None):
        self.engine = PairEngine(units, tie_break, floor, longest)
        self.merges, self.counts, self.tokens_after, self.calls = [], [], [], 0
        while len(self.merges) < most and (made := self.engine.advance(most - len(self.merges))) is not None:
            self.calls += 1
            assert self.calls < 200_000, "it does not come to an end"
            self.merges += zip(made.left.tolist(), made.right.tolist(), strict=True)
            self.counts += made.count.tolist()
            self.tokens_after += made.tokens_after.tolist()
            if watch is not None:
                watch(self.engine)


def inside(engine):
    return engine._tables, engine._state


def check(engine, texts=None, weights=None):
    """Asserts what `kernels.tables` promises of the tables between two merges, and of the tokens of some texts.

    No token is lost but those of sequences that hold just one, which are no longer looked at.
    """
    t, state = inside(engine)
    if state[k.STAGE] not in (k.CHOOSE, k.EXHAUSTED):
        return
    starts, tokens, documents, kept = tokens_of(t, state)
    if texts is not None:
        left = sum(len(d) * w for d, w in zip(documents, kept, strict=True))
        begun = sum(weight for text, weight in zip(texts, weights or [1] * len(texts), strict=True) if text)
        dropped = begun - sum(weight for document, weight in zip(documents, kept, strict=True) if document)
        assert state[k.TOKENS] == left + dropped
    check_pairs(t, state, starts, tokens, count_pairs(documents, kept))
    check_heap(t, state)
    check_index(t, state)
    for slots in (t.left_slot, t.right_slot, t.left_count, t.right_count):
        assert not slots.any()


def tokens_of(t, state):
    """Walks the corpus: where tokens start, which they are, and both as documents with their weights."""
    starts, tokens, documents, weights = [], [], [], []
    at = 0
    while at < state[k.LENGTH]:
        symbol = int(t.symbols[at])
        starts.append(at)
        tokens.append(symbol)
        if symbol < 0:
            documents.append([])
            weights.append(1)
            at += 1
            continue
        span = int(t.token_span[symbol])
        if span > 1:
            assert t.symbols[at + span - 1] == symbol | k.END, "a token has its id at its last position too"
        assert not ((t.symbols[at + 1 : at + span] >= 0) & (t.symbols[at + 1 : at + span] < k.END)).any()
        documents[-1].append(symbol)
        weights[-1] = int(in_eight_bytes(t.weights[at : at + 1], t.heavy)[0]) if len(t.weights) else 1
        at += span
    assert at == state[k.LENGTH]
    return starts, tokens, documents, weights


def check_pairs(t, state, starts, tokens, recount):
    places = {}
    for i, left, right in zip(starts, tokens, tokens[1:], strict=False):
        if left >= 0 and right >= 0:
            places.setdefault((left, right), []).append(i)
    stored = {}
    for pair in range(1, state[k.PAIRS]):
        key = left, right = (int(t.pairs[pair, k.KEY]) >> 32, int(t.pairs[pair, k.KEY]) & k.NUMBER_BITS)
        run = t.pool[t.pairs[pair, k.START] : t.pairs[pair, k.STOP]].tolist()
        assert run == sorted(set(run)), "places stand in order, once each"
        if t.pairs[pair, k.COUNT] < state[k.FLOOR]:
            continue
        standing = [i for i in run if t.symbols[i] == left and t.symbols[i + t.token_span[left]] == right]
        assert standing == places[key]
        assert t.pairs[pair, k.COUNT] == recount[key]
        assert key not in stored, "a pair has one number"
        stored[key] = pair
    for (left, right), count in recount.items():
        eligible = t.token_bytes[left] + t.token_bytes[right] <= state[k.MAX_BYTES]
        assert ((left, right) in stored) == (count >= state[k.FLOOR] and bool(eligible))


def check_index(t, state):
    """Every pair is found in the index under its number, and nothing else is in it."""
    if state[k.PAIRS] == 1:
        return
    mask, numbers = len(t.pair_index) - 1, set()
    for pair in range(1, state[k.PAIRS]):
        left, right = int(t.pairs[pair, k.KEY]) >> 32, int(t.pairs[pair, k.KEY]) & k.NUMBER_BITS
        hashed = left * k.HASH_LEFT + right * k.HASH_RIGHT
        slot = (hashed >> k.INDEX_SHIFT) & mask
        while t.pair_index[slot] & k.NUMBER_BITS != pair:
            assert t.pair_index[slot] != 0, "a pair can be found"
            slot = (slot + 1) & mask
        assert (int(t.pair_index[slot]) ^ hashed) >> 32 & k.NUMBER_BITS == 0
        numbers.add(pair)
    assert set((t.pair_index[t.pair_index != 0] & k.NUMBER_BITS).tolist()) == numbers


def check_heap(t, state):
    size = int(state[k.HEAP])
    counts, pairs = t.heap[:size, k.HEAP_COUNT], t.heap[:size, k.HEAP_PAIR].tolist()
    keys = list(zip((-counts).tolist(), t.heap[:size, k.HEAP_TIE].tolist(), strict=True))
    assert all(keys[(at - 1) // 4] <= keys[at] for at in range(1, size))
    assert len(set(pairs)) == size
    assert (counts >= t.pairs[pairs, k.COUNT]).all(), "counts only fall"
    waiting = np.flatnonzero(t.pairs[1 : state[k.PAIRS], k.COUNT] >= state[k.FLOOR]) + 1
    assert set(waiting.tolist()) <= set(pairs)


@settings(max_examples=25)
@given(weighted, st.booleans(), rooms, st.sampled_from(TIE_BREAKS), st.integers(1, 4), st.none() | st.integers(2, 5))
def test_small_arrays_and_budgets_give_the_merges_of_the_recount(texts, has_weights, room, tie_break, floor, longest):
    documents = [text for text, _ in texts]
    weights = [weight for _, weight in texts] if has_weights else None
    expected = train_slowly(documents, None, floor, tie_break, longest, weights)
    with in_room(**room):
        units = units_of(documents, weights, tie_break)
        made = Drive(units, tie_break, floor, longest, watch=lambda engine: check(engine, documents, weights))
    assert (made.merges, made.counts) == (expected.merges, expected.counts)
    assert made.tokens_after == expected.tokens_after
    assert made.engine.has_eligible_pair() == (expected.ended != "nothing left to merge")


def words(seed, number):
    """Text with Zipf's spread of words, as a language has, so that pairs die and are born all the time."""
    random = np.random.default_rng(seed)
    vocabulary = [bytes(random.choice(list(b"etaoin shrdlu"), random.integers(1, 7)).tolist()) for _ in range(60)]
    ranks = np.minimum(random.zipf(1.3, number) - 1, len(vocabulary) - 1)
    return b" ".join(vocabulary[rank] for rank in ranks)


@pytest.mark.parametrize(("tie_break", "weighted"), list(zip(TIE_BREAKS, itertools.cycle([False, True]), strict=False)))
@pytest.mark.parametrize("grid", [0, 1 << 22])
def test_a_corpus_that_needs_several_squeezes(weighted, tie_break, grid):
    texts = [words(1, 250), words(2, 40), b"", words(3, 30)]
    weights = [1, 7, 2, 3] if weighted else None
    expected = train_slowly(texts, 256 + 200, None, tie_break, None, weights)
    made_room, make_room = [], PairEngine._make_room

    def counted(engine):
        made_room.append(int(inside(engine)[1][k.STAGE]))
        make_room(engine)

    room = in_room(**TIGHT, largest_grid=grid, first_floor_share=10**9, budget=300)
    with room, patch.object(PairEngine, "_make_room", counted):
        made = Drive(units_of(texts, weights, tie_break), tie_break, 1, None, 200, check)
    assert (made.merges, made.counts) == (expected.merges, expected.counts)
    assert made_room.count(k.CHOOSE) > 1, "the pool was squeezed or grown while merging"
    assert (k.NUMBER_PAIRS if grid == 0 else k.NUMBER_CELLS) in made_room, "the pairs were grown while counting"


def test_a_squeeze_keeps_the_pool_bounded():
    """Without it the merges of this text would write several places a byte."""
    text = words(4, 4000)
    with in_room(**TIGHT, first_floor_share=10**9):
        made = Drive(units_of([text]), "first", 2, None)
    assert len(inside(made.engine)[0].pool) < 2 * len(text)


def test_rounds_go_down_to_the_floor():
    text = words(5, 2000)
    floors = []
    with in_room(first_floor_share=2, floor_step=2):
        note = lambda engine: floors.append(int(inside(engine)[1][k.FLOOR]))  # noqa: E731
        made = Drive(units_of([text]), "first", 1, None, 600, note)
    assert made.merges == train_slowly([text], 256 + 600).merges
    assert sorted(set(floors), reverse=True)[-2:] == [2, 1]
    assert len(set(floors)) > 5


def test_small_budgets_only_increase_the_number_of_calls():
    text = words(6, 300)
    whole = Drive(units_of([text]), "first", 2, None)
    with in_room(budget=20):
        cut = Drive(units_of([text]), "first", 2, None)
    assert cut.merges == whole.merges
    assert cut.calls > 20 * whole.calls


def test_the_first_count_is_measured_from_0_to_1_and_then_no_more():
    with in_room(budget=1000):
        engine = PairEngine(units_of([words(8, 3000)]), "first", 2, None)
        shares = []
        while (share := engine.first_count) is not None:
            shares.append(share)
            engine.advance()
        engine.advance()
    assert engine.first_count is None
    assert shares == sorted(shares)
    assert (shares[0], len(shares) > 20, max(shares) <= 1) == (0, True, True)


def loops():
    """Every compiled function, by name."""
    found = {}
    for module in pkgutil.iter_modules(kernels.__path__, f"{kernels.__name__}."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, Dispatcher):
                found[f"{value.__module__.rsplit('.', 1)[-1]}.{name}"] = value
    return found


def use_everything():
    corpus = Corpus.from_texts([words(9, 300), b"", b"aaaaaaaa"])
    for tie_break in TIE_BREAKS:
        run = train(corpus, TrainingConfig(vocabulary_size=300, tie_break=tie_break)).run
        frequent = TrainingConfig(min_frequency=2, max_token_bytes=6, tie_break=tie_break)
        list(Trainer.resume(corpus, run, TrainingConfig(vocabulary_size=400, tie_break=tie_break)))
        for grid in (0, 1 << 22):
            with in_room(**TIGHT, largest_grid=grid):
                train(corpus, frequent)
                Drive(units_of([b"abab"], [2], tie_break), tie_break, 1, None)
    specials = {"special_tokens": ["<s>", "hat"], "vocabulary_size": 310}
    for others in ({"pattern": "cl100k"}, {"base": "characters"}, {"base": "characters", "pattern": "gpt2"}, {}):
        of_words = train(corpus, TrainingConfig(**specials, **others))
        of_words.encode("the <s> hat" * 20, "all")
    train(Corpus.from_counts({"the": 3, "a": 1}), TrainingConfig(vocabulary_size=257, pattern="gpt2"))
    in_no_order = Tokenizer(np.array([[257, 99], [97, 98]], np.int32), pattern="gpt2", checked=True)
    assert in_no_order.lengths_of_all[256:].tolist() == [3, 2]
    assert in_no_order.encode("abc") == [256]
    train(Corpus.from_counts({"the": 3, "a": 1}), TrainingConfig(vocabulary_size=257))
    several = Corpus((*corpus.sources, *corpus.sources)).with_weights({0: 2})
    counts = count_words.count(several, "gpt2", threads=2)
    train(several, TrainingConfig(vocabulary_size=300, pattern="gpt2"))
    WordCounts.merge([counts, counts])
    made = Tokenizer.from_run(run)
    loaded = Tokenizer(np.array([[97, 98]]), np.array([300]), alphabet=Alphabet.of_bytes(np.arange(256)[::-1]))
    for tokenizer in (
        made,
        made.at(0),
        made.at(7),
        made.at(7).compact(),
        loaded,
        Tokenizer(np.empty((0, 2), np.int32)),
    ):
        for text in ("", "a", "the hat", b"\xff" * 50):
            tokenizer.encode(text)


def signatures():
    return {name: list(loop.signatures) for name, loop in loops().items()}


def test_preparing_the_loops_compiles_each_for_one_set_of_types_and_leaves_none_for_later():
    """Others would be compiled while somebody waits."""
    script = (
        "import json\n"
        "from tokstudio.core.warm_up import exercise\n"
        "exercise()\n"
        "import tests.core.training.test_engine as room\n"
        "prepared = room.signatures()\n"
        "room.use_everything()\n"
        "used = room.signatures()\n"
        "late = [name for name, found in used.items() if found != prepared[name]]\n"
        "print(json.dumps([late, {name: len(found) for name, found in used.items()}]))\n"
    )
    root = Path(__file__).parents[3]
    result = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    late, compiled = json.loads(result.stdout)
    assert late == []
    # The others are called by these alone, and are compiled as parts of them.
    parts = {
        "merge": "merge squeeze build_heap",
        "count_pairs": "eligible_pair compact count_cells number_cells place_cells sift_cells number_pairs allot "
        "place_pairs index_pairs",
        "symbols": "lay_out_bytes measure_tokens lay_out_characters",
        "encode": "fill_pairs encode_sequence collect",
        "short_words": "fill_byte_pairs",
        "many_words": "encode_words",
        "known_words": "find_tokens spread_slots pack emit write_words",
        "documents": "scan_documents cut_specials",
        "words": "look_up spread add_up gather enter join_rows take_rows renumber weigh",
    }
    called = [f"{module}.{name}" for module, names in parts.items() for name in names.split()]
    assert {name: compiled[name] for name in called if compiled[name] != 1} == {}


# --- The memory after a training --------------------------------------------------------------------------------------

MUCH = "".join(f"word{n * n % 997} and {n % 991} ünd {n * 7 % 89}\n" for n in range(6_000))


def ended(corpus, config, *, stopped):
    trainer = Trainer(corpus, config)
    while trainer.ended is None:
        trainer.advance()
        if stopped and trainer.merges_made:
            trainer.stop()
    return trainer


@pytest.mark.parametrize(
    ("pattern", "base", "stopped"),
    [
        ("none", "bytes", False),
        ("none", "characters", True),
        ("cl100k", "bytes", True),
        ("cl100k", "characters", False),
        (r"\S+|\s+", "bytes", False),
    ],
)
def test_the_memory_of_merging_is_freed_at_the_end(pattern, base, stopped):
    corpus = Corpus.from_text(MUCH)
    config = TrainingConfig(vocabulary_size=400, pattern=pattern, base=base)
    # What is kept for every later training (loops, classes of characters) is loaded by then.
    assert ended(corpus, config, stopped=stopped).merges_made
    gc.collect()
    tracemalloc.start()
    try:
        trainer = ended(corpus, config, stopped=stopped)
        gc.collect()
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert trainer.run.tokens_before > 0
    assert peak > len(MUCH), "there was something to free"
    assert kept < 100_000


# --- Validity of UTF-8, compared with Python's decoder document by document -------------------------------------------

# What decides in UTF-8: the first and the last byte of each kind, and those between which a lead byte allows fewer.
DECIDING = bytes.fromhex("41 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 ff")


def is_valid(documents: list[bytes], budget: int) -> bool:
    data = read_only(np.frombuffer(b"".join(documents), np.uint8))
    ends = read_only(np.cumsum([len(document) for document in documents], dtype=np.int64))
    at, document, valid = 0, 0, True
    for _ in range(len(data) + len(documents) + 1):
        if not valid or document >= len(documents):
            break
        at, document, valid = valid_until(data, at, document, ends, classes(), budget)
    assert not valid or (at, document) == (len(data), len(documents))
    return valid


def by_python(document: bytes) -> bool:
    try:
        document.decode()
    except UnicodeDecodeError:
        return False
    return True


def may_begin(document: bytes) -> bool:
    """Whether valid text begins so."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(document)
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_every_beginning_of_a_character_is_judged_as_by_python(length):
    beginnings = enumerate(map(bytes, itertools.product(DECIDING, repeat=length - 1)))
    # What follows bytes that are wrong already does not matter: some of it is enough.
    some = [beginning for number, beginning in beginnings if number % 97 == 0 or may_begin(beginning)]
    judged = [beginning + bytes([last]) for beginning in some for last in DECIDING]
    assert [document for document in judged if is_valid([document], 100) != by_python(document)] == []


@given(
    st.lists(st.one_of(st.text().map(str.encode), st.binary(), st.text("aé日😀", min_size=20).map(str.encode))),
    st.integers(1, 40),
)
def test_documents_are_valid_when_each_is_however_few_bytes_are_looked_at(documents, budget):
    assert is_valid(documents, budget) == all(map(by_python, documents))


@pytest.mark.parametrize("place", [0, 1, 7, 8, 4095, 4096, 4097])
def test_one_invalid_byte_is_found_anywhere(place, monkeypatch):
    monkeypatch.setattr("tokstudio.core.algorithms.common.prepare_corpus._LOOKED_AT", 4096)
    text = b"a" * place + b"\xe6\x97" + b"a" * 9000
    trainer = Trainer(Corpus.from_texts([text, "日".encode()]), TrainingConfig(base="characters", min_frequency=9000))
    list(trainer)
    assert trainer.prepared is not None
    assert trainer.prepared.replaced == 1
