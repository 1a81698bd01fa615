"""Training that starts from a tokenizer: its checks, the corpus as the tokenizer encodes it, and what may be merged."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.algorithms.common.symbols import LARGEST_CORPUS, Layout
from tokstudio.core.algorithms.common.units import Units
from tokstudio.core.base.arrays import in_four_bytes
from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.progress import Progress, Work, finish, part_of
from tokstudio.core.corpus.source import Source, groups
from tokstudio.core.model.alphabet import LARGEST_ID
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.pretokenization.preparation import prepare_work
from tokstudio.core.pretokenization.special_tokens import SpecialFinders
from tokstudio.core.pretokenization.word_counts import Sequences
from tokstudio.core.pretokenization.word_table import PADDING
from tokstudio.core.text.byte_level import BYTE_ORDER
from tokstudio.core.tokenizer.counts_by_merge import why_merges_differ
from tokstudio.core.tokenizer.library_tokenizer import check_changeable
from tokstudio.core.tokenizer.self_encoding import MARK, marked_work, merged_work

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.model.run import Run
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_GROUP = 1 << 20  # bytes of sequences encoded together


def check_start(start: Tokenizer, config: TrainingConfig) -> TrainingConfig:
    """The configuration of a training from a tokenizer, with the special tokens of the tokenizer.

    Raises:
        ConfigError: The tokenizer cannot be trained further, the pattern or the special tokens are not its own, or the
            vocabulary size is not above its present size.
    """
    if not config.algorithm.is_plain:
        raise ConfigError(f"{config.algorithm.title} cannot start from a tokenizer: choose plain BPE.")
    check_changeable(start, whole_words=True)
    if (reason := why_merges_differ(start)) is not None:
        raise ConfigError(f"This tokenizer cannot be trained further. {reason}")
    if start.alphabet.base != "bytes" or config.base != "bytes":
        raise ConfigError("Training can start only from a tokenizer whose base tokens are bytes.")
    if config.pattern != start.pattern:
        raise ConfigError(
            "The pattern must be that of the tokenizer: with another, its own tokens would be split in other places."
        )
    specials = start.special_tokens
    if config.special_tokens and set(config.special_tokens) != set(specials):
        raise ConfigError("The special tokens must be those of the tokenizer; change them before or afterwards.")
    size = config.vocabulary_size
    if size is not None and size <= len(start):
        raise ConfigError(
            f"Vocabulary size must be greater than {len(start):,}: the tokenizer has that many tokens already."
        )
    if len(start.tokens) > LARGEST_ID // 2:
        raise ConfigError(
            f"The ids of the tokenizer are too high to add others: the highest is {len(start.tokens) - 1:,}."
        )
    return replace(config, special_tokens=tuple(specials), special_placement="last")


def prepared_sources_work(sources: Sequence[Source], start: Tokenizer | None) -> Work[tuple[Source, ...]]:
    """The sources as the tokenizer prepares text, for example normalized; special tokens stay in them.

    Raises:
        ConfigError: A source has word counts, which cannot be prepared.
    """
    if start is None or start.preparation.is_plain:
        return tuple(sources)
    finders, sources_prepared = SpecialFinders(start.special_tokens), list[Source]()
    for source in sources:
        if source.counts is not None:
            raise ConfigError(
                f"{source.name} has word counts, but the tokenizer changes text before it is split: open the text."
            )
        data = np.concatenate([np.asarray(source.data), np.zeros(PADDING, np.uint8)])
        prepared = yield from prepare_work(start.preparation, finders, data, source.ends, "all")
        pieces = prepared.pieces
        text = prepared.data[: prepared.size]
        text.setflags(write=False)
        sources_prepared.append(replace(source, data=text, ends=pieces.stops[pieces.specials < 0]))
    return tuple(sources_prepared)


def lay_out_tokens_work(parts: Sequence[Sequences], config: TrainingConfig, start: Tokenizer) -> Work[Layout]:
    """Lays out sequences as the tokens that the tokenizer makes of them; see `symbols.lay_out_work`.

    Raises:
        CorpusError: The corpus is too large to be merged at once.
    """
    encoder, base = start.encoder("none"), len(start.tokens)
    weighted = any(part.counts is not None for part in parts)
    counts, size, positions = np.zeros(base, np.int64), 0, 1
    symbols, weights, heavy = [np.full(1, -1, np.int32)], [np.ones(1, np.int32)], np.empty(0, np.int64)
    total, done = sum(len(part.starts) for part in parts), 0
    for part in parts:
        size += part.size
        for data, ends, times in gathered_groups(part):
            work = marked_work(encoder, data, ends)
            ids = yield from part_of(work, "encoding", done, len(ends), total)
            here = np.where(ids == MARK, -1, ids.astype(np.int32))
            every = np.repeat(times, np.diff(np.flatnonzero(here < 0), prepend=-1))
            np.add.at(counts, here[here >= 0], every[here >= 0])
            symbols.append(here)
            if weighted:
                short, more = in_four_bytes(every, len(heavy))
                weights.append(short)
                heavy = np.concatenate([heavy, more])
            positions += len(here)
            if positions > LARGEST_CORPUS:
                raise CorpusError(
                    f"The corpus is too large: more than {LARGEST_CORPUS:,} tokens, which is all that can be merged at "
                    "once. Train on a part of it."
                )
            done += len(ends)
    spelled = [token or b"" for token in start.tokens]
    values = np.frombuffer(b"".join(spelled), np.uint8).astype(np.int32)
    units = Units(
        symbols=np.concatenate(symbols),
        weights=np.concatenate(weights) if weighted else np.empty(0, np.int32),
        token_bytes=np.array([len(token) for token in spelled], np.int64),
        tie_order=order_of_tokens(start) if config.tie_break == "huggingface" else np.arange(base, dtype=np.int32),
        values=np.array(BYTE_ORDER, np.int32)[values] if config.tie_break == "mapped-strings" else values,
        value_ends=np.cumsum([len(token) for token in spelled], dtype=np.int64),
        heavy=heavy,
    )
    yield Progress("encoding", total, total)
    return Layout(units, start.alphabet, counts, 0, size)


def gathered_groups(part: Sequences) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]]:
    """Groups of sequences: one after another, with padding; the end of each there; and how often each occurs."""
    until, times = np.cumsum(part.lengths), part.times
    for first, last, before, _ in groups(until, _GROUP):
        yield _gathered(part, first, last), until[first:last] - before, times[first:last]


def _gathered(part: Sequences, first: int, last: int) -> NDArray[np.uint8]:
    starts, stops = part.starts[first:last], part.stops[first:last]
    size = int((stops - starts).sum())
    data = np.zeros(size + PADDING, np.uint8)
    if np.array_equal(starts[1:], stops[:-1]):
        data[:size] = part.data[int(starts[0]) : int(stops[-1])]
    else:
        lengths = stops - starts
        begins = np.cumsum(lengths) - lengths
        data[:size] = part.data[np.repeat(starts - begins, lengths) + np.arange(size)]
    return data


def order_of_tokens(start: Tokenizer) -> NDArray[np.int32]:
    """int32 [ids], the order of tokens for the tie rule of the `tokenizers` library.

    Bytes come first, by their characters in the byte-level alphabet, then the results of merges by rank, then others.
    """
    alphabet, ids = start.alphabet, np.arange(len(start.tokens))
    base_ids = np.concatenate([alphabet.ids[np.argsort(np.array(BYTE_ORDER)[alphabet.units])], start.merge_results])
    order = np.empty(len(ids), np.int32)
    order[np.concatenate([base_ids, np.setdiff1d(ids, base_ids)])] = ids
    return order


def start_of(run: Run) -> Tokenizer | None:
    """The tokenizer that a run started from."""
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

    assert run.start is None or isinstance(run.start, Tokenizer)
    return run.start


def taken_by(start: Tokenizer) -> frozenset[bytes]:
    """The bytes that further merges could make, though they are those of a token of the start already."""
    return finish(_taken_work(start))


def _taken_work(start: Tokenizer) -> Work[frozenset[bytes]]:
    """See `taken_by`.

    What a token's own bytes become depends on no context. So where they become the token, they never become others.
    """
    ids = start.tokens.ids()
    numbers: list[int] = ids.tolist()
    spelled = [start.tokens[token] or b"" for token in numbers]
    sizes, last = yield from merged_work(start, spelled)
    made_otherwise = (sizes != 1) | (last != ids)
    return frozenset(spelled[at] for at in np.flatnonzero(made_otherwise).tolist())
