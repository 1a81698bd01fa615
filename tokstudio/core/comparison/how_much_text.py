"""How much text a tokenizer needs: trainings on parts of a corpus, beside one on all of it.

The parts are held against the whole by the tokens that both find, and by held-out text.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from tokstudio.core.analysis.token_counts import measure_work
from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import percent_text, size_text
from tokstudio.core.comparison.table import MISSING
from tokstudio.core.corpus.corpus import Corpus, refuse_overflow
from tokstudio.core.corpus.sampling import (
    LEAST_BLOCKS,
    NestedSamples,
    check_lines_work,
    hold_out_work,
    in_use,
    nested_samples_work,
)
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.trainer import Trainer

SHARES = tuple(1 / (1 << halvings) for halvings in range(6, -1, -1))  # from 1/64 to 1
STEADY = 0.99  # the share of the tokens of the whole text that more text would keep, from which on it changes little
_HALF = 0.5
_PHASE = "training on parts"


@dataclass(frozen=True)
class TextAmount:
    """A training on a part of the text."""

    share: float  # of the text that is trained on, which is what is not held out
    bytes: int
    bytes_per_token: float | None  # of the held-out text; None where the part lacks a character of it
    kept: float  # of the tokens that merges make from the whole text, the share that this one makes too; 0 to 1


@dataclass(frozen=True)
class HowMuchText:
    """What becomes of a tokenizer with more text."""

    rows: tuple[TextAmount, ...]  # by ascending share; the last is the whole text
    halves: float  # the share of the tokens of two disjoint halves that both have, 0 to 1
    held_out_bytes: int

    @property
    def sentence(self) -> str:
        """The answer in words."""
        whole, halves = self.rows[-1], f"two halves agree in {_percent(self.halves)}"
        # A larger part may keep less than a smaller one.
        last_unsteady = max((at for at, row in enumerate(self.rows) if row.kept < STEADY), default=-1)
        steady = next(iter(self.rows[last_unsteady + 1 : -1]), None)
        if steady is not None:
            more = f"more text of this kind changes {_percent(1 - steady.kept)} of the tokens"
            return f"From {size_text(steady.bytes)} on, {more}; {halves}."
        last = self.rows[-2] if len(self.rows) > 1 else whole
        changed = _percent(1 - last.kept)
        return (
            f"More text of this kind still changes the tokens: from {size_text(last.bytes)} to "
            f"{size_text(whole.bytes)}, {changed} of them; {halves}."
        )

    @property
    def held_out(self) -> str:
        """How much was held out, a sentence: whole blocks are, so their bytes are not just the share asked for."""
        share = self.held_out_bytes / max(1, self.held_out_bytes + self.rows[-1].bytes)
        return f"Held out: {size_text(self.held_out_bytes)}, {percent_text(share, 1)} of the text."

    @property
    def table(self) -> list[tuple[str, ...]]:
        """Titles, and a row of texts for each part."""
        table: list[tuple[str, ...]] = [("share", "text", "bytes/token, held out", "tokens kept")]
        for row in self.rows:
            ratio = MISSING if row.bytes_per_token is None else f"{row.bytes_per_token:.3f}"
            share = "all" if row.share == 1 else f"1/{round(1 / row.share)}"
            table.append((share, size_text(row.bytes), ratio, percent_text(row.kept, 1)))
        return table

    def to_plain(self) -> dict[str, Any]:
        """All figures, for JSON."""
        return {**asdict(self), "rows": [asdict(row) for row in self.rows], "sentence": self.sentence}


def how_much_text(corpus: Corpus, config: TrainingConfig, held_out: float = 0.1, seed: int = 0) -> HowMuchText:
    """Trains on 1/64, 1/32 ... 1 of a corpus, and on two disjoint halves, to tell whether more text would matter.

    What is chosen are documents, or blocks of lines of long ones, in an order by the seed; each part is within the
    next. A part without a text of its own, in a short corpus, is left out.

    Args:
        corpus: The texts, with their weights.
        config: The settings of each training, but for its own held-out share.
        held_out: The share, above 0 and below 1, that is kept out of all trainings and measured.
        seed: Of the choice.

    Raises:
        ConfigError: The share is out of range, the settings do not fit, or there are word counts instead of text.
        CorpusError: There are fewer than 20 lines, or all weights are 0.

    Example:
        >>> from tokstudio import Corpus, TrainingConfig, how_much_text
        >>> corpus = Corpus.from_texts(f"line {number} of a text" for number in range(400))
        >>> found = how_much_text(corpus, TrainingConfig(vocabulary_size=270))
        >>> found.rows[-2].share, found.rows[-1].kept
        (0.5, 1.0)
    """
    return finish(how_much_text_work(corpus, config, held_out, seed))


def how_much_text_work(
    corpus: Corpus, config: TrainingConfig, held_out: float = 0.1, seed: int = 0
) -> Work[HowMuchText]:
    """See `how_much_text`."""
    if not 0 < held_out < 1:
        raise ConfigError(f"The held-out share must be above 0 and below 1, not {held_out:g}.")
    yield from _check_work(corpus)
    config = replace(config, held_out=0.0)
    Trainer(corpus, config)  # which checks all, and reads nothing yet
    trained, held = yield from hold_out_work(corpus.sources, held_out, corpus.weights)
    # What counts as nothing would count as text of a part.
    trained, weights = in_use(trained, corpus.weights), corpus.weights and tuple(filter(None, corpus.weights))
    samples = yield from nested_samples_work(trained, SHARES[0], seed)
    parts = dict(_filled(samples))
    size = sum(source.bytes for source in trained)
    done, total = 0, sum(parts.values()) + size - parts[_HALF]
    tokens: dict[float, set[bytes]] = {}
    ratios: dict[float, float | None] = {}
    for share, bytes_of_part in parts.items():
        sample = Corpus((yield from samples.sample_work(share)), weights)
        tokenizer = yield from _trained_work(sample, config, done, total)
        done += bytes_of_part
        ratios[share] = yield from _bytes_per_token_work(tokenizer, held, config)
        tokens[share] = _made(tokenizer)
    rest = Corpus((yield from samples.sample_work(_HALF, rest=True)), weights)
    other = yield from _trained_work(rest, config, done, total)
    whole = tokens[1.0]
    rows = (
        TextAmount(share, parts[share], ratios[share], len(made & whole) / len(whole) if whole else 1.0)
        for share, made in tokens.items()
    )
    agreement = _agreement(tokens[_HALF], _made(other))
    return HowMuchText(tuple(rows), agreement, sum(source.bytes for source in held))


def _check_work(corpus: Corpus) -> Work[None]:
    if any(source.counts is not None for source in corpus.sources):
        raise ConfigError("Word counts have no documents to choose from: open the texts.")
    refuse_overflow(corpus)
    try:
        yield from check_lines_work(in_use(corpus.sources, corpus.weights))
    except CorpusError as error:
        raise CorpusError(f"To compare parts of a text, at least {LEAST_BLOCKS} lines are needed.") from error


def _filled(samples: NestedSamples) -> Iterator[tuple[float, int]]:
    """The share and size of each sample that has more text than the one before; always of half and all."""
    before = 0
    for share in SHARES:
        if (size := samples.bytes_of(share)) > before or share >= _HALF:
            before = size
            yield share, size


def _trained_work(corpus: Corpus, config: TrainingConfig, done: int, total: int) -> Work[Tokenizer]:
    trainer = Trainer(corpus, config)
    while trainer.ended is None:
        trainer.advance()
        here = trainer.progress
        part = here.done / here.total if here.phase == "merging" and here.total else 0.0
        yield Progress(_PHASE, done + int(part * corpus.bytes), total)
    return trainer.tokenizer()


def _bytes_per_token_work(tokenizer: Tokenizer, held: Sequence[Source], config: TrainingConfig) -> Work[float | None]:
    try:
        return (yield from measure_work(tokenizer, held, config)).bytes_per_token
    except ConfigError:  # a character that the part lacks
        return None


def _made(tokenizer: Tokenizer) -> set[bytes]:
    """The tokens that merges have made, without those that Picky BPE has removed."""
    tokens, ids = tokenizer.tokens, set[int](tokenizer.merge_results.tolist())
    return {token for made in ids if (token := tokens[made]) is not None}


def _agreement(one: set[bytes], other: set[bytes]) -> float:
    """The share of the tokens of two that both have; 1 where neither has any."""
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 1.0


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
