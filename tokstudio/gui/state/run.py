"""A run as the window holds it: growing while it trains, complete when it has ended, or opened from a file.

Lives in the GUI thread. Every pane reads it; only its own methods change it.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.wording import printable
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.run import NOTHING_LEFT, STOPPED, MergeBatch, Run, special_ids, uses
from tokstudio.core.project import ProjectTokenizer
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.held_out_curve import HeldOut
from tokstudio.core.training.prepare_corpus import Prepared
from tokstudio.gui.state.merge_log import MergeLog
from tokstudio.gui.state.run_tokens import RunTokens
from tokstudio.gui.state.source_records import is_missing


@dataclass(frozen=True)
class Origin:
    """Where a tokenizer was opened from.

    Attributes:
        path: The file or folder that was named.
        files: What was read.
        format: What people call their format.
        says_pattern: Whether they say how text is split, so that there is nothing to choose.
        kept: The files as a project keeps them.
    """

    path: Path
    files: tuple[Path, ...]
    format: str
    says_pattern: bool
    kept: ProjectTokenizer | None = None


@dataclass(frozen=True, eq=False)
class HeldOutState:
    """What is known of the text that was kept out of a training.

    Attributes:
        sources: The text, until it is measured.
        ratio: Bytes per token of it after all merges; None where there is none, or it is not measured.
        bytes: Bytes of it, once it is measured.
        tokens: int64 [n + 1], its tokens after 0, 1, ... n merges; None where it is not measured.
        problem: Why it could not be measured; "" where it could, or was not tried.
    """

    sources: tuple[Source, ...] = ()
    ratio: float | None = None
    bytes: int = 0
    tokens: NDArray[np.int64] | None = None
    problem: str = ""


class StudioRun:
    """One run with its merges.

    Args:
        key: A number of its own.
        name: What the person calls it.
        config: What was asked for; None for a tokenizer opened from a file.
        corpus: What it is trained on; None for one opened from a file.
        number: Which run it is of those that were trained here.

    Attributes:
        log: Its merges with their counts.
        key: A number of its own.
        number: Which run it is of those that were trained here, from 1 on; 0 for a tokenizer opened from a file.
        name: What the person calls it.
        config: What was asked for; None for a tokenizer opened from a file.
        origin: Where it was opened from; None for one that was trained here.
        corpus: What it was trained on; None for one opened from a file, and when the corpus was let go.
        ended: How it ended; None while it trains.
        run: The run itself, once it has ended; None while it trains, and for one opened from a file.
        alphabet: What merging begins with; None until it is known: characters are first to be counted.
        base_counts: int64 [base], how often each id before the merges stood in the corpus at first; None until that is
            counted.
        corpus_bytes: Bytes of text that merges are made in; of the whole corpus until they are counted.
        unknown: How many characters became the unknown token.
        written: How often the unknown token itself is written in the corpus.
        replaced: How many places were not UTF-8 and became U+FFFD.
        held_out: What is known of the text that was kept out.
        exported: Whether it was written to a file since it ended.
        is_demo: Whether it is the demo's, which anyone can make again: closing need not ask about it.
        saved: How many of its merges a project file holds.
        begun: The run before its first merge, while it trains; None before that is known.
        seconds: What its training has taken so far, while it trains.
        curve_hidden: Whether the plot leaves its curves out while another run is active.
        corpus_problem: Why it cannot go on: what it was trained on is not there any more.
        counted: The uses of a tokenizer opened from a file in the corpus that is open; None until somebody asks.
    """

    def __init__(
        self,
        key: int,
        name: str,
        config: TrainingConfig | None = None,
        corpus: Corpus | None = None,
        *,
        number: int = 0,
    ) -> None:
        self.log = MergeLog()
        self.key = key
        self.number = number
        self.name = printable(name)  # a project may bring any
        self.config = config
        self.corpus = corpus
        self.origin: Origin | None = None
        self.corpus_bytes = corpus.bytes if corpus else 0
        self.unknown = self.written = self.replaced = 0
        self.held_out = HeldOutState()
        self.ended: str | None = None
        self.run: Run | None = None
        self.alphabet: Alphabet | None = None
        self.base_counts: NDArray[np.int64] | None = None
        self.exported = False
        self.is_demo = False
        self.curve_hidden = False
        self.saved = 0
        self.seconds = 0.0
        self.corpus_problem: str | None = None
        self.begun: Run | None = None
        self.counted: CountedUses | None = None
        self._tokens: RunTokens | None = None
        self._uses: tuple[int, NDArray[np.int64]] | None = None
        if config is not None and config.base == "bytes":
            self.alphabet = Alphabet.of_bytes(first=len(config.leading_specials))
        self._tokenizer: Tokenizer | None = None

    @classmethod
    def opened(cls, key: int, name: str, tokenizer: Tokenizer, origin: Origin | None = None) -> StudioRun:
        """A tokenizer from a file: it has merges, but no counts and no corpus."""
        made = cls(key, name)
        made._open(tokenizer, origin)
        return made

    @classmethod
    def reopened(cls, key: int, name: str, run: Run, corpus: Corpus) -> StudioRun:
        """A run from a project."""
        made = cls(key, name, run.config, corpus)
        made.complete(run)
        return made

    def _open(self, tokenizer: Tokenizer, origin: Origin | None) -> None:
        nothing = np.empty(0, np.int64)
        self.log.replace(tokenizer.merges, nothing, nothing)
        self.origin, self._tokenizer, self.alphabet = origin, tokenizer, tokenizer.alphabet
        self.ended, self.exported = "opened from a file", True

    def __len__(self) -> int:
        """How many merges there are so far."""
        return len(self.log)

    @property
    def merges(self) -> NDArray[np.int32]:
        """int32 [n, 2], ids of left and right."""
        return self.log.merges

    @property
    def pattern(self) -> str:
        """How it splits text: a name or an expression."""
        return self.config.pattern if self.config is not None else self.tokenizer.pattern

    @property
    def no_playhead(self) -> str | None:
        """Why only all its merges together can be used, as the end of a sentence; None where any number can."""
        return self._tokenizer.no_playhead if self.config is None and self._tokenizer is not None else None

    @property
    def byte_level(self) -> bool:
        """Whether its tokens are made of bytes, so that they have forms in the byte-level alphabet."""
        return self.alphabet is not None and self.alphabet.base == "bytes"

    @property
    def merges_derived_from(self) -> str:
        """What of its file its merges are derived from: "scores" or "ranks"; "" where they are its own."""
        library = self._tokenizer.library if self._tokenizer is not None and self.config is None else None
        if library == "sentencepiece":
            return "scores"
        ranks = library == "tiktoken" or (self.origin is not None and self.origin.files[0].suffix == ".tiktoken")
        return "ranks" if ranks else ""

    @property
    def hue(self) -> int:
        """Which colour its curve has, active or not."""
        return max(self.number - 1, 0)

    @property
    def has_counts(self) -> bool:
        """Whether it was trained here, so that counts, tokens and uses are known."""
        return self.config is not None

    @property
    def ready(self) -> bool:
        """Whether it is known what merging begins with, so that text can be encoded."""
        return self.alphabet is not None

    @property
    def base_size(self) -> int:
        """Of a run that was trained here: the ids before those of the merges; 0 until they are known."""
        if self.base_counts is not None:
            return len(self.base_counts)
        return (self.config.base_size or 0) if self.config is not None and self.ready else 0

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Each special token with its id; the ids behind the merges move while it grows."""
        if self.config is not None:
            return special_ids(self.config, self.base_size + len(self))
        return self._tokenizer.special_tokens if self._tokenizer is not None else {}

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of all merges so far."""
        if self._tokenizer is None or len(self._tokenizer.merges) != len(self):
            assert self.config is not None
            alphabet = self.alphabet if self.alphabet is not None else Alphabet.of_characters("")
            self._tokenizer = Tokenizer.from_training(
                self.merges.copy(), self.config, alphabet, self.base_size, self.run
            )
        return self._tokenizer

    @property
    def tokens(self) -> RunTokens:
        """Its tokens by slot; all that show the run share them, so that what one gathers the others need not."""
        if self._tokens is None:
            self._tokens = RunTokens(self)
        return self._tokens

    # ---- what it is called, and what is kept of it

    def identify(self, key: int, number: int) -> None:
        """Gives it another number of its own, and among the runs that were trained here."""
        self.key, self.number = key, number

    def rename(self, name: str) -> None:
        """Gives it another name."""
        self.name = name

    def show_curve(self, shown: bool) -> None:
        """Lets the plot draw its curves while another run is active, or leave them out."""
        self.curve_hidden = not shown

    def mark_exported(self) -> None:
        """Notes that it was written to a file."""
        self.exported = True

    def mark_saved(self, merges: int) -> None:
        """Notes how many of its merges a project file holds."""
        self.saved = merges

    def mark_demo(self) -> None:
        """Notes that it is the demo's."""
        self.is_demo = True

    def restore(
        self,
        *,
        number: int,
        unknown: int,
        written: int,
        replaced: int,
        held_out_ratio: float | None,
        saved: int,
        exported: bool,
        curve_hidden: bool,
        corpus_problem: str | None,
    ) -> None:
        """Takes over what a project keeps beside the run itself."""
        self.number, self.saved, self.exported, self.curve_hidden = number, saved, exported, curve_hidden
        self.unknown, self.written, self.replaced = unknown, written, replaced
        self.held_out = HeldOutState(ratio=held_out_ratio)
        self.corpus_problem = corpus_problem

    # ---- its training

    def prepare(self, prepared: Prepared, begun: Run) -> None:
        """Takes over what is known once the corpus is laid out, and the run before its first merge."""
        self.alphabet = prepared.alphabet
        self.base_counts = prepared.base_counts
        self.corpus_bytes = prepared.bytes
        self.log.begin(prepared.tokens)
        self.unknown, self.replaced = prepared.unknown, prepared.replaced
        self.written = prepared.cut_out.get(self.config.unknown_token or "", 0) if self.config is not None else 0
        self.held_out = HeldOutState(prepared.held_out)
        self.begun = begun
        self._tokenizer = None

    def append(self, batch: MergeBatch) -> None:
        """Takes over the next merges."""
        self.log.append(batch)

    def set_seconds(self, seconds: float) -> None:
        """Notes what its training has taken so far."""
        self.seconds = seconds

    def fail(self) -> None:
        """Notes that an error has ended its training."""
        self.ended = "failed"

    def begin_with(self, earlier: Run) -> None:
        """Begins where an earlier run ended; its merges are this one's first."""
        self._take_over(earlier)

    def may_continue(self, config: TrainingConfig, sources: tuple[Source, ...]) -> bool:
        """Whether training would go on where it ended: the same sources and settings, but a larger limit."""
        made = self.run
        if made is None or self.corpus is None or self.corpus_problem or sources != self.corpus.sources:
            return False
        if _without_limits(made.config) != _without_limits(config):
            return False
        limit = config.max_merges(made.base_size)
        more = limit is None or limit > len(self)
        rarer = config.min_frequency is None or (len(self) > 0 and int(self.log.count[-1]) >= config.min_frequency)
        # A limit that held the run is gone or larger; what ended for want of pairs has nowhere to go.
        held = config != made.config or made.ended == STOPPED
        return more and rarer and held and made.ended != NOTHING_LEFT

    def give_back(self, missing: Source, found: Source) -> None:
        """Takes over a source that was missing, so that what was trained on it can go on."""
        if self.corpus is not None and missing in self.corpus.sources:
            self.corpus = Corpus(tuple(found if source is missing else source for source in self.corpus.sources))
            if not any(map(is_missing, self.corpus.sources)):
                self.corpus_problem = None

    def use_sources(self, same: Mapping[Source, Source]) -> None:
        """Lets it have been trained on other sources that hold the same text."""
        if self.corpus is not None:
            self.corpus = Corpus(tuple(same.get(source, source) for source in self.corpus.sources))

    def complete(self, run: Run) -> None:
        """Takes over the run as it ended."""
        self.run = run
        self.ended = run.ended
        self._take_over(run)
        self._tokenizer = None

    def so_far(self) -> Run | None:
        """The run as it is now, as if it were stopped here; None before merging can begin."""
        if self.run is not None or self.begun is None:
            return self.run
        return replace(
            self.begun,
            merges=self.merges,
            counts=self.log.count,
            tokens_after=self.log.tokens_after,
            seconds=self.seconds,
            ended=STOPPED,
        )

    def bytes_per_token(self, merges: int) -> float:
        """Compression ratio of the corpus after so many merges."""
        tokens = self.log.tokens_at(merges)
        return self.corpus_bytes / tokens if tokens else 0.0

    def take_held_out(self, found: HeldOut | None, problem: str = "") -> None:
        """Takes over what became of the text that was kept out, or why that is not known; lets go of the text."""
        if found is None:
            self.held_out = replace(self.held_out, sources=(), problem=problem)
        else:
            last = int(found.tokens[-1])
            self.held_out = HeldOutState((), found.bytes / last if last else None, found.bytes, found.tokens, problem)

    def forget_held_out_problem(self) -> None:
        """Lets the text that was kept out be measured anew."""
        self.held_out = replace(self.held_out, problem="")

    def held_out_bytes_per_token(self, merges: int) -> float | None:
        """Compression ratio of the text that was kept out after so many merges; None where it is not known."""
        tokens = self.held_out.tokens
        if tokens is None:
            return self.held_out.ratio if merges == len(self) else None
        return self.held_out.bytes / int(tokens[merges]) if tokens[merges] else None

    def curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bytes per token over merges, from 0 merges on: two float64 arrays [n + 1]."""
        tokens = np.concatenate([[self.log.tokens_before], self.log.tokens_after]).astype(np.float64)
        ratio = np.divide(self.corpus_bytes, tokens, out=np.zeros_like(tokens), where=tokens > 0)
        return np.arange(len(tokens), dtype=np.float64), ratio

    def take_counted(self, counted: CountedUses | None) -> None:
        """Takes over its uses as they were counted in a corpus; None where that is another corpus now."""
        self.counted = counted

    def uses(self, merges: int) -> NDArray[np.int64] | None:
        """How often each token stands in the corpus after so many merges, by id; None where that is not known.

        Every pane asks for those at the playhead: the last answer is kept, and must not be written to.
        """
        if self.base_counts is None:
            return self.counted.uses if self.counted is not None and self.counted.merges == merges else None
        if self._uses is None or self._uses[0] != merges:
            found = uses(self.base_counts, self.merges[:merges], self.log.merged[:merges])
            found.setflags(write=False)
            self._uses = merges, found
        return self._uses[1]

    def rank_of(self, token: int, merges: int) -> tuple[int, int] | None:
        """The place of a token among all when the most used comes first, and how many there are; None if not known."""
        every, own = self.uses(merges), self.uses_of(token, merges)
        if every is None or own is None:
            return None
        above = int(np.count_nonzero(every > own))
        if self.base_counts is not None:
            # Of special tokens the uses are known otherwise; and the ids of those behind the merges are not in them.
            base = self.base_size
            for text, number in self.special_tokens.items():
                above -= number < base and bool(every[number] > own)
                above += (self.special_uses(text) or 0) > own
        return above + 1, self.vocabulary_size - len(self) + merges

    def uses_of(self, token: int, merges: int) -> int | None:
        """What `uses` says of one token, without counting the others; None where it is not known."""
        if self.base_counts is None:
            known = self.uses(merges)
            return int(known[token]) if known is not None and token < len(known) else None
        special = next((text for text, number in self.special_tokens.items() if number == token), None)
        if special is not None:
            return self.special_uses(special)
        replacements = self.log.merged[:merges]
        base = self.base_size
        made = self.base_counts[token] if token < base else replacements[token - base]
        # A merge of a token with itself takes two of it at every place.
        taken = sum(replacements[self.merges[:merges, side] == token].sum() for side in (0, 1))
        return int(made - taken)

    def special_uses(self, special: str) -> int | None:
        """How often the unknown token stands in the corpus, as itself or for a character; of other specials None."""
        return self.unknown + self.written if self.config is not None and special == self.config.unknown_token else None

    @property
    def why_no_merges(self) -> str:
        """Why a run that was trained here ended without a merge; "" for any other."""
        if self.config is None or self.ended is None or len(self):
            return ""
        if self.ended == STOPPED:
            return "Stopped before the first merge."
        if self.ended != NOTHING_LEFT:
            return f"No pair could be merged: {self.ended}."
        longest = self.config.max_token_bytes
        also = f", or the token would be longer than {longest:,} bytes" if longest is not None else ""
        return f"No pair could be merged: no pre-token has two tokens{also}."

    @property
    def unsaved(self) -> bool:
        """Whether it would be lost: it has merges that are in no project file, and was not exported."""
        return self.has_counts and len(self) > self.saved and not self.exported

    @property
    def vocabulary_size(self) -> int:
        """Tokens of all merges so far."""
        if self.config is None:
            return len(self.tokenizer)
        return self.base_size + len(self) + len(self.config.trailing_specials)

    def _take_over(self, run: Run) -> None:
        self.alphabet, self.base_counts = run.alphabet, run.base_counts
        self.corpus_bytes = run.corpus.bytes
        self.log.replace(run.merges, run.counts, run.tokens_after, run.tokens_before)


def _without_limits(config: TrainingConfig) -> dict[str, object]:
    """Everything else that was asked for; looked at whenever a menu is, so it must not be checked anew each time."""
    return {name: value for name, value in vars(config).items() if name not in ("vocabulary_size", "min_frequency")}


@dataclass(frozen=True, eq=False)
class CountedUses:
    """How often each token of an opened tokenizer stands in a corpus.

    Attributes:
        merges: After how many merges that is so.
        uses: int64, by id.
        text: The corpus.
        corpus: What the corpus is called.
    """

    merges: int
    uses: NDArray[np.int64]
    text: Corpus
    corpus: str

    @cached_property
    def bytes_per_token(self) -> float:
        """Compression ratio of the corpus."""
        tokens = int(self.uses.sum())
        return self.text.bytes / tokens if tokens else 0.0
