"""The results of a training: batches of merges, and the run."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.markup import table_view
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.model.columns import Columns, stage_of
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.picky import REPLACED, Falls, falls_of, lost, uses_of_picky

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.corpus.leaving_out import LeavingOut

REACHED_SIZE = "reached vocabulary size"
NOTHING_LEFT = "nothing left to merge"
STOPPED = "stopped"

#: Of SuperBPE: the number of merges of stage 1, and int64, the occurrences of each id before the first of stage 2.
SecondStage: TypeAlias = "tuple[int, NDArray[np.int64]]"


class _StartTokenizer(Protocol):
    """The part of a `Tokenizer` that a run reads, where training started from one."""

    @property
    def merges(self) -> NDArray[np.int32]: ...
    @property
    def merge_results(self) -> NDArray[np.int32]: ...
    @property
    def special_tokens(self) -> Mapping[str, int]: ...
    def __len__(self) -> int: ...


@dataclass(frozen=True, eq=False)
class MergeBatch:
    """Consecutive merges from the `Trainer`; arrays of one length, read-only.

    Attributes:
        first: Number of its first merge; merges are numbered from 1, those of the tokenizer at the start included.
        left: int32, id of the left token of each merge.
        right: int32, id of the right token.
        count: int64, occurrences of the pair when it was chosen.
        tokens_after: int64, tokens in the corpus after the merge.
        columns: What the algorithm adds, as in `Run.columns`.
    """

    first: int
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    count: NDArray[np.int64]
    tokens_after: NDArray[np.int64]
    columns: Columns = field(default_factory=dict[str, "NDArray[Any]"])

    def __len__(self) -> int:
        return len(self.left)


@dataclass(frozen=True)
class TrainedOn:
    """The facts about its corpus that a run keeps."""

    bytes: int  # bytes of text that merges were made in, without held-out text and special tokens
    documents: int  # documents, including held-out ones
    sha256: str  # see `Corpus.sha256`
    weights: tuple[int, ...] | None = None  # in thousandths, by source; None where every source counted once
    weight_scale: int = 1  # bytes of text, counts and tokens of the run are in units of 1 / this: 1 or 1,000
    # With weights: the name, the weight in thousandths and the bytes of text of each source, or of a folder as a whole;
    # empty where they are unknown, as in a project without the sources.
    mixture: tuple[tuple[str, int, int], ...] = field(default=(), compare=False)
    # `Corpus.counted_hashes`; empty where they are unknown, as in a project without the sources.
    texts: tuple[str, ...] = field(default=(), compare=False)
    leaving_out: tuple[LeavingOut, ...] = ()  # as of `Corpus.leaving_out`
    left_out: tuple[tuple[str, int, int, int], ...] = ()  # by rule: its name; the documents, lines and bytes that went


@dataclass(frozen=True, eq=False)
class Run:
    """The result of a training, finished or stopped.

    Attributes:
        merges: int32 [n, 2], ids of left and right in the order they were made; the k-th of them (from 1) made the id
            `base_size + k - 1`.
        counts: int64 [n], occurrences of each pair when it was chosen, in units of 1 / `weight_scale`, as all counts.
        tokens_before: Tokens in the corpus before the first merge.
        tokens_after: int64 [n], tokens in the corpus after each merge.
        ended: The reason of the end: "reached vocabulary size", "nothing left to merge", "no pair occurs N times",
            "stopped".
        base_counts: int64 [base], occurrences of each id below the merges before the first merge. Special tokens among
            them have 0, except for the unknown token.
        versions: The versions of TokStudio and of the libraries that affect the result.
        seconds: Duration without pauses.
        start: The tokenizer that training started from; None where it started from the base tokens. All arrays are
            about the merges made here, and facts of the text before the first merge are those after its encoding by the
            tokenizer.
        languages: For parity-aware BPE: the names of the languages.
        columns: What the algorithm adds to the merges, by the names of `Algorithm.columns`.
            "chosen_by", for parity-aware BPE: int16 [n], the number of the language that chose each merge, from 0; -1
            where all chose together. The counts are those of all languages together.
            "second_counts", for SuperBPE, once stage 2 has made a merge: int64 [base + merges of stage 1], occurrences
            of each id before that merge, when the text is split as in stage 2. Counts and tokens up to the transition
            are those of the text as stage 1 splits it, those after it as stage 2 does.
            "removals", for Picky BPE: int64 [n, 4], by merge: the id that it made, its own or, where its bytes were
            present, theirs; the places that it replaced; and the places of its left and right part that fell apart
            after it, -1 for a part that was not removed. `tokens_after` counts after the removals.
            "overtaken", for BoundlessBPE: int64 [n], by supermerge: the count of the merge of phase 1 that it came
            before, 0 where none was left; -1 for the merges of phase 1.
    """

    config: TrainingConfig
    merges: NDArray[np.int32]
    counts: NDArray[np.int64]
    tokens_before: int
    tokens_after: NDArray[np.int64]
    ended: str
    corpus: TrainedOn
    alphabet: Alphabet
    base_counts: NDArray[np.int64]
    versions: Mapping[str, str]
    seconds: float
    start: _StartTokenizer | None = None
    languages: tuple[str, ...] = ()
    columns: Columns = field(default_factory=dict[str, "NDArray[Any]"])

    def __post_init__(self) -> None:
        for array in (self.merges, self.counts, self.tokens_after, self.base_counts, *self.columns.values()):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.merges)

    def __reduce__(self) -> tuple[Any, ...]:
        return Run, tuple(getattr(self, field.name) for field in fields(self))

    @property
    def base_size(self) -> int:
        """Ids before those of the merges: base tokens, and the special tokens that come before or among them.

        After a start from a tokenizer, all ids up to its highest.
        """
        return len(self.base_counts)

    @property
    def merges_before(self) -> int:
        """The merges of the tokenizer that training started from."""
        return 0 if self.start is None else len(self.start.merges)

    @property
    def second_stage(self) -> SecondStage | None:
        """Of a run by SuperBPE past its transition: the number of merges before that, and "second_counts"."""
        counts = self.columns.get("second_counts")
        return None if counts is None else (len(counts) - self.base_size, counts)

    def stage_of(self, merge: int) -> int | None:
        """Which stage of SuperBPE, 1 or 2, made a merge of this run, counted from 1; None for other algorithms."""
        return None if self.config.first_merges(self.base_size) is None else stage_of(self, merge - 1)

    @property
    def missed_stage(self) -> str:
        """Of SuperBPE: a sentence on why stage 2 did not begin; "" if it did, or the run was stopped before."""
        first = self.config.first_merges(self.base_size)
        if first is None or len(self) >= first or self.ended == STOPPED:
            return ""
        size = self.vocabulary_size
        return f"Stage 2 did not begin, as stage 1 ended before it: choose a transition of at most {size:,}."

    @property
    def supermerges(self) -> NDArray[np.bool_] | None:
        """Which merges are supermerges of BoundlessBPE, bool [n]; None for other algorithms."""
        overtaken = self.columns.get("overtaken")
        return None if overtaken is None else overtaken >= 0

    @cached_property
    def special_tokens(self) -> Mapping[str, int]:
        """Each special token with its id."""
        return special_ids(self.config, self.base_size + len(self), self.start)

    def max_merges(self, config: TrainingConfig | None = None) -> int | None:
        """How many merges the vocabulary size of `config` (None: its own) allows here; None for no limit.

        With Picky BPE, if no further token is removed.
        """
        limit = max_merges(config or self.config, self.base_size, self.start)
        return None if limit is None else limit + self.lost

    @property
    def removals(self) -> NDArray[np.int64] | None:
        """Of Picky BPE: see `columns`; None for other algorithms."""
        return self.columns.get("removals")

    @property
    def lost(self) -> int:
        """Of Picky BPE: the merges that have no token, because it was there before or was removed; else 0."""
        return lost(self.removals, self.base_size)

    @cached_property
    def falls(self) -> Falls | None:
        """Of Picky BPE: what removed tokens fall into."""
        return None if self.removals is None else falls_of(self.merges, self.removals, self.base_size)

    def __repr__(self) -> str:
        return f"<Run: {several(len(self), 'merge')}, {self.vocabulary_size:,} tokens, {self.ended}>"

    def _repr_html_(self) -> str:
        scale, after = self.weight_scale, int(self.tokens_after[-1]) if len(self) else self.tokens_before
        facts = [
            ("Algorithm", self.config.algorithm.title),
            ("Pattern", self.config.pattern),
            ("Merges", f"{len(self):,}"),
            ("Vocabulary", f"{self.vocabulary_size:,} tokens"),
            ("Text", f"{self.corpus.bytes // scale:,} bytes, {several(self.corpus.documents, 'document')}"),
            ("Tokens of the text", f"{self.tokens_before // scale:,} before, {after // scale:,} after"),
            ("Bytes per token", f"{self.bytes_per_token():.2f}"),
            ("Ended", self.ended),
            ("Time", f"{self.seconds:.1f} s"),
        ]
        return table_view(["Run", ""], facts)

    @property
    def weight_scale(self) -> int:
        """Counts and tokens are in units of 1 / this: 1,000 where a weight of a source is no whole number, else 1."""
        return self.corpus.weight_scale

    @property
    def vocabulary_size(self) -> int:
        """Tokens in all."""
        return vocabulary_size(self.config, self.base_size, len(self) - self.lost, self.start)

    @cached_property
    def merged(self) -> NDArray[np.int64]:
        """int64 [n], replacements of each merge: the decrease in tokens, before removals."""
        if self.removals is not None:
            return self.removals[:, REPLACED]
        return merged(self.tokens_before, self.tokens_after, self.second_stage)

    def uses(self, merges: int | None = None) -> NDArray[np.int64]:
        """How often each token occurs in the corpus after so many merges (None: all), by id; or ConfigError."""
        n = self._valid(merges)
        if self.removals is not None and self.falls is not None:
            return uses_of_picky(self.base_counts, self.merges[:n], self.removals[:n], self.falls)
        return uses(self.base_counts, self.merges[:n], self.merged[:n], second_stage=self.second_stage)

    def uses_in_tokenizer(self, merges: int) -> NDArray[np.int64] | None:
        """`uses` at so many merges of the run's tokenizer, counted with those that training started from.

        None at fewer merges than those: the text was never counted with them.
        """
        made = merges - self.merges_before
        return None if made < 0 else self.uses(made)

    def bytes_per_token(self, merges: int | None = None) -> float:
        """The compression ratio after so many merges (None: all): UTF-8 bytes per token; 0 for an empty corpus.

        Raises:
            ConfigError: The run has fewer merges.
        """
        n = self._valid(merges)
        tokens = self.tokens_before if n == 0 else int(self.tokens_after[n - 1])
        return self.corpus.bytes / tokens if tokens else 0.0

    def _valid(self, merges: int | None) -> int:
        """A number of merges that the run has, all for None."""
        number = len(self) if merges is None else merges
        if not 0 <= number <= len(self):
            raise ConfigError(f"There is no merge {number:,}: this run has {len(self):,}.")
        return number


def special_ids(config: TrainingConfig, end: int, start: _StartTokenizer | None = None) -> dict[str, int]:
    """The id of each special token of a training whose base tokens and merges take the ids below `end`."""
    if start is not None:
        return dict(start.special_tokens)
    ids = {token: number for number, token in enumerate(config.leading_specials)}
    ids |= {entry: len(config.leading_specials) + at for entry, at in config.base_specials.items()}
    return ids | {token: end + number for number, token in enumerate(config.trailing_specials)}


def max_merges(config: TrainingConfig, base_size: int, start: _StartTokenizer | None = None) -> int | None:
    """How many merges the vocabulary size allows after `base_size` ids or after the tokenizer; None for no limit."""
    # The configuration has the special tokens of the tokenizer.
    return config.max_merges(base_size if start is None else len(start) - len(start.special_tokens))


def vocabulary_size(config: TrainingConfig, base_size: int, merges: int, start: _StartTokenizer | None = None) -> int:
    """The tokens after so many merges."""
    return merges + (base_size + len(config.trailing_specials) if start is None else len(start))


def may_continue(run: Run, config: TrainingConfig) -> bool:
    """Whether training could continue a run with these settings: its own, but for a larger limit."""
    # Not by a copy of the configuration, which is checked: that would take too long for every menu.
    names = (each.name for each in fields(config))
    changed = {name for name in names if getattr(config, name) != getattr(run.config, name)}
    if changed - {"vocabulary_size", "min_frequency"}:
        return False
    limit, least = run.max_merges(config), config.min_frequency
    more = limit is None or limit > len(run)
    rarer = least is None or (len(run) > 0 and int(run.counts[-1]) >= run.weight_scale * least)
    # The limit that ended the run is gone or larger; a run that ran out of pairs cannot continue.
    held = len(changed) > 0 or run.ended == STOPPED
    return more and rarer and held and run.ended != NOTHING_LEFT


def merged(
    tokens_before: int, tokens_after: NDArray[np.int64], second_stage: SecondStage | None = None
) -> NDArray[np.int64]:
    """int64 [n], the decrease in tokens at each merge."""
    fewer = -np.diff(tokens_after, prepend=tokens_before)
    if second_stage is not None:
        # The text was split anew before this merge.
        first, counts = second_stage
        fewer[first] = counts.sum() - tokens_after[first]
    return fewer


def uses(
    base_counts: NDArray[np.int64],
    merges: NDArray[np.int32],
    replacements: NDArray[np.int64],
    results: NDArray[np.int32] | None = None,
    second_stage: SecondStage | None = None,
) -> NDArray[np.int64]:
    """How often each token occurs in the corpus: how often it was made, minus the occurrences that were merged later.

    Returns int64 [base + n], by id. The arguments are `base_counts`, `merges`, `merged` and `second_stage` of a `Run`.
    Where the merges make the ids `results` instead of those after the base, `base_counts` must have all ids.
    """
    if second_stage is not None and len(merges) > second_stage[0]:
        first, base_counts = second_stage
        merges, replacements = merges[first:], replacements[first:]
    counts = np.concatenate([base_counts, replacements if results is None else replacements[:0]])
    if results is not None:
        np.add.at(counts, results, replacements)
    for side in (0, 1):
        np.subtract.at(counts, merges[:, side], replacements)
    return counts
