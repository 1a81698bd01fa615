"""A run in the window: it grows while it trains and is complete when training ends, or it was opened from a file.

It belongs to the GUI thread. Every pane reads it; only its own methods change it.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.algorithms.common.from_tokenizer import check_start, start_of
from tokstudio.core.algorithms.common.prepare_corpus import PreparedCorpus
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import printable, several
from tokstudio.core.comparison.texts import trained_texts
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.picky import RESULT, Removals
from tokstudio.core.model.run import NOTHING_LEFT, STOPPED, MergeBatch, Run, may_continue, special_ids, vocabulary_size
from tokstudio.core.project import ProjectTokenizer
from tokstudio.core.project.schema import Json
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.curves import HeldOut, SourceCurves
from tokstudio.gui.state.problems import is_missing
from tokstudio.gui.state.run_counts import CountedUses, MergeLog, RunUses
from tokstudio.gui.state.run_tokens import RunTokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WHOLE = "whole"  # in the state of a run in a project: its sources are there with what was left out of them
_NEVER = -1  # `saved` of a tokenizer that may have no merges


@dataclass(frozen=True)
class RunOrigin:
    """Where a tokenizer is from that this window has not trained: the file or folder, or how it was made."""

    path: Path  # what was opened; for one that was opened by its name, the name
    files: tuple[Path, ...]  # what was read
    format: str
    says_pattern: bool  # whether the files define how text is split, so that there is nothing to choose
    kept: ProjectTokenizer | None = None  # the files as a project stores them
    change: str = ""  # how it was made in this window, such as "pruned"; "" if it was opened
    made_of: str = ""  # the name that the tokenizer had then that it was made of; "" if it was not made of one
    trained_on: tuple[str, ...] = ()  # the hashes of the texts that it was trained on, as `Corpus.counted_hashes`


@dataclass(frozen=True, eq=False)
class HeldOutState:
    """The held-out text of a run and its measurements."""

    sources: tuple[Source, ...] = ()  # the text, until it is measured
    ratio: float | None = None  # bytes per token after all merges; None if there is no text or it is not measured
    bytes: int = 0  # of the text, once it is measured
    tokens: NDArray[np.int64] | None = None  # [n + 1], after 0, 1, ... n merges; None if it is not measured
    problem: str = ""  # why it could not be measured; "" if it could, or was not tried


@dataclass(frozen=True)
class Marks:
    """What the window notes of a run that has nothing to do with its tokens."""

    exported: bool = False  # whether it was written to a file since it ended
    is_demo: bool = False  # whether the demo or the tour made it, so that closing does not ask about it
    saved: int = 0  # the number of its merges in a project file
    curve_hidden: bool = False  # whether the plot hides its curves while another run is active


#: The tokenizers that are compared beside runs, none of which has such a name.
SIMPLE = ("Characters", "Bytes", "Words and marks")


def whole_state(corpus: Corpus, wholes: tuple[Source, ...]) -> dict[str, Json]:
    """What a project notes of a run that was trained without some text of its sources, which are `wholes` there."""
    # The parts of a sample have no whole text.
    is_part = corpus.left is not None and (not len(corpus.left) or corpus.sources != wholes)
    return {_WHOLE: True} if is_part else {}


def has_wholes(state: Mapping[str, Json]) -> bool:
    """Whether a project has the sources of a run with what was left out of them."""
    return state.get(_WHOLE) is True


class StudioRun:
    """One run with its merges."""

    def __init__(
        self,
        key: int,
        name: str,
        config: TrainingConfig | None = None,
        corpus: Corpus | None = None,
        *,
        number: int = 0,
        start: Tokenizer | None = None,
    ) -> None:
        self.log = MergeLog()
        self.uses = RunUses(self.log, config, start)  # how often each of its tokens occurs in the corpus
        self.key = key  # a number that no other run of the session has; a run of another project may have had it
        self.identity = object()  # what is kept of a run, but not the run, is kept by this
        self.number = number  # among the runs that were trained here, from 1 on; 0 for a tokenizer opened from a file
        self.name = printable(name)  # a project may contain any name
        self.config = config  # None for a tokenizer opened from a file
        self.start = start  # the tokenizer that its training started from; its merges come first. None for most runs
        self.corpus = corpus  # None for a tokenizer opened from a file, and after it was released
        self.corpus_problem: str | None = None  # why it cannot continue: its text is not available any more
        self.corpus_bytes = corpus.bytes if corpus else 0  # of the text that is merged; of all until they are counted
        self.weight_scale = 1  # counts, tokens and `corpus_bytes` are in units of 1 / this, as in the core's run
        self.replaced = 0  # the invalid UTF-8 sequences that became U+FFFD
        self.origin: RunOrigin | None = None  # None for a run that was trained here
        self.held_out = HeldOutState()
        self.by_source: SourceCurves | str | None = None  # or why they could not be counted; None if not tried
        self.ended: str | None = None  # how; None while it trains
        self.run: Run | None = None  # the core's, once it has ended; None for a tokenizer opened from a file
        self.alphabet: Alphabet | None = None  # None until its characters are counted
        self.marks = Marks()
        self.seconds = 0.0  # the duration of its training so far
        self.played = 0.0  # the same with the waits between merges that were to be watched; 0 if none were
        self._begun: Run | None = None  # before its first merge, while it trains
        self._tokens: RunTokens | None = None
        if start is not None:
            self.alphabet = start.alphabet
        elif config is not None and config.base == "bytes":
            self.alphabet = Alphabet.of_bytes(first=len(config.leading_specials))
        self._tokenizer: Tokenizer | None = None

    @classmethod
    def opened(cls, key: int, name: str, tokenizer: Tokenizer, origin: RunOrigin | None = None) -> StudioRun:
        """A tokenizer from a file: it has merges, but neither counts nor a corpus."""
        run_of_file = cls(key, name)
        run_of_file.log.take_opened(tokenizer)
        run_of_file.origin, run_of_file._tokenizer, run_of_file.alphabet = origin, tokenizer, tokenizer.alphabet
        run_of_file.ended, run_of_file.marks = "opened from a file", Marks(exported=True)
        if run_of_file.was_changed:
            assert origin is not None
            run_of_file.ended, run_of_file.marks = origin.change, Marks(saved=_NEVER)
        return run_of_file

    @classmethod
    def reopened(
        cls, key: int, name: str, run: Run, corpus: Corpus, number: int = 0, replaced: int = 0, lost: str | None = None
    ) -> StudioRun:
        """A run from a project; `lost` says why its training text is not available."""
        studio_run = cls(key, name, run.config, corpus, number=number, start=start_of(run))
        studio_run.complete(run)
        studio_run.replaced, studio_run.corpus_problem = replaced, lost
        return studio_run

    def __len__(self) -> int:
        """The number of merges so far."""
        return len(self.log)

    @property
    def merges(self) -> NDArray[np.int32]:
        """int32 [n, 2], the ids of left and right."""
        return self.log.merges

    @property
    def pattern(self) -> str:
        """How it splits text: the name of a pattern or an expression."""
        return self.config.pattern if self.config is not None else self.tokenizer.pattern

    @property
    def no_playhead(self) -> str | None:
        """Why only all its merges together can be used, as the end of a sentence; None if any number can."""
        return self._tokenizer.no_playhead if self.config is None and self._tokenizer is not None else None

    @property
    def byte_level(self) -> bool:
        """Whether its tokens are made of bytes, so that they have byte-level forms."""
        return self.alphabet is not None and self.alphabet.base == "bytes"

    @property
    def merges_derived_from(self) -> str:
        """The source of its merges if its file has none: "scores" or "ranks"; else ""."""
        if self.why_no_merges:
            return ""
        library = self._tokenizer.library if self._tokenizer is not None and self.config is None else None
        if library == "sentencepiece":
            return "scores"
        ranks = library == "tiktoken" or (
            self.origin is not None and any(file.suffix == ".tiktoken" for file in self.origin.files)
        )
        return "ranks" if ranks else ""

    @property
    def hue(self) -> int:
        """The colour number of its curve; below 0, from the last colour on, for a tokenizer opened from a file."""
        return max(self.number - 1, 0) if self.has_counts else -self.key

    @property
    def has_curve(self) -> bool:
        """Whether there is a curve of it over its merges, from its training or measured on a text."""
        return self.no_playhead is None

    @property
    def has_counts(self) -> bool:
        """Whether it was trained here, so that counts, tokens and uses are known."""
        return self.config is not None

    def why_no_counts(self, of: str = "") -> str:
        """Why there are no counts of something, such as " of pairs", where `has_counts` is false: a sentence."""
        if self.was_changed:
            return f"This tokenizer has no counts{of}: {self.how_made}."
        return f"This tokenizer was opened from a file: it has no counts{of}."

    @property
    def ready(self) -> bool:
        """Whether its base tokens are known, so that text can be encoded."""
        return self.alphabet is not None

    @property
    def base_size(self) -> int:
        """The ids before those of its own merges, for a run that was trained here; 0 until they are known.

        Of tokenizers that were opened, those of Picky BPE have it: the first merge makes the id after them.
        """
        if self.config is None and self.log.removals is not None and len(self):
            return int(self.tokenizer.merge_results[0])
        if self.start is not None:
            return len(self.start.tokens)
        if self.uses.base is not None:
            return len(self.uses.base)
        return (self.config.base_size or 0) if self.config is not None and self.ready else 0

    @property
    def before(self) -> int:
        """The merges of the tokenizer that its training started from."""
        return 0 if self.start is None else len(self.start.merges)

    def id_of_merge(self, number: int) -> int:
        """The id that a merge makes; merges are numbered from 1."""
        if self.start is not None and number <= self.before:
            return int(self.start.merge_results[number - 1])
        if self.config is None:
            return int(self.tokenizer.merge_results[number - 1])
        if self.log.removals is not None:
            return int(self.log.removals[number - 1, RESULT])
        return self.base_size + number - self.before - 1

    def merge_of(self, token: int) -> int | None:
        """The number of the merge that makes a token; None where no merge so far does."""
        slot = self.tokens.slot_of(token)
        return slot - self.tokens.first + 1 if slot >= self.tokens.first else None

    @property
    def removals(self) -> Removals:
        """What was removed after which merge."""
        return Removals(self.merges, self.log.removals, self.base_size)

    def present(self, merges: int) -> NDArray[np.bool_] | None:
        """Bool [slots], which tokens are there after a number of merges of Picky BPE; None where all are."""
        is_present = self.removals.present(merges)
        return None if is_present is None else np.concatenate([np.ones(self.tokens.first, np.bool_), is_present])

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Each special token with its id; ids after the merges change while it grows."""
        if self.config is not None:
            return special_ids(self.config, self.base_size + len(self), self.start)
        return self._tokenizer.special_tokens if self._tokenizer is not None else {}

    @property
    def has_chat_template(self) -> bool:
        """Whether it can render messages."""
        known = self._tokenizer if self.start is None else self.start
        return known is not None and bool(known.settings.chat_templates)

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of all merges so far."""
        if self.start is not None and len(self) <= self.before:
            return self.start.at(len(self))
        if self._tokenizer is None or len(self._tokenizer.merges) != len(self):
            if self.start is not None:
                self._tokenizer = self.start.extended(self.merges[self.before :].copy(), self.base_size, self.run)
                return self._tokenizer
            assert self.config is not None
            alphabet = self.alphabet if self.alphabet is not None else Alphabet.of_characters("")
            columns = self.log.columns
            supermerges = columns["overtaken"] >= 0 if "overtaken" in columns else None
            removals = columns["removals"].copy() if "removals" in columns else None
            parts = self.merges.copy(), self.config, alphabet, self.base_size, self.run, supermerges, removals
            self._tokenizer = Tokenizer.from_training(*parts)
        return self._tokenizer

    @property
    def trained_on(self) -> frozenset[str]:
        """The hashes of the texts that it was trained on, as `trained_texts`; none while it trains."""
        return trained_texts(self.tokenizer).union(self.origin.trained_on if self.origin is not None else ())

    @property
    def tokens(self) -> RunTokens:
        """Its tokens by slot; everything that shows the run shares them and what they have cached."""
        if self._tokens is None:
            self._tokens = RunTokens(self)
        return self._tokens

    def identify(self, *, key: int | None = None, number: int | None = None, name: str | None = None) -> None:
        """Gives it another key, number or name."""
        self.key, self.number = key or self.key, number or self.number
        self.name = self.name if name is None else name

    def note(self, **marks: Any) -> None:  # noqa: ANN401
        """Changes some of its marks."""
        self.marks = replace(self.marks, **marks)

    # ---- its training

    def prepare(self, prepared: PreparedCorpus, begun: Run) -> None:
        """Sets what is known once the corpus is prepared, and the run before its first merge."""
        self.alphabet = prepared.alphabet
        self.weight_scale, self.corpus_bytes = begun.weight_scale, prepared.bytes
        if self.start is None:
            self.log.begin(prepared.tokens, begun)
        elif not len(self):
            self.log.take(begun)
        written = prepared.cut_out.get(self.config.unknown_token or "", 0) if self.config is not None else 0
        self.uses.begin(prepared.base_counts, prepared.unknown, written)
        self.replaced = prepared.replaced
        self.held_out = HeldOutState(prepared.held_out)
        self._begun = begun
        self._tokenizer = None

    def append(self, batch: MergeBatch) -> None:
        """Appends merges."""
        self.log.append(batch)

    def spend(self, seconds: float) -> None:
        """Sets the duration of its training so far."""
        self.seconds = seconds

    def note_played(self, seconds: float) -> None:
        """Sets how long it took with the waits between merges."""
        self.played = seconds

    def fail(self) -> None:
        """Ends it without a run of the core."""
        self.ended = "failed"

    def begin_with(self, earlier: Run) -> None:
        """Starts with the merges of an earlier run."""
        self.alphabet = earlier.alphabet
        self.weight_scale, self.corpus_bytes = earlier.weight_scale, earlier.corpus.bytes
        self.log.take(earlier)
        self.uses.take(earlier)

    def is_of(self, config: TrainingConfig, corpus: Corpus) -> bool:
        """Whether a training with these settings on this text, from nothing and to its end, makes it."""
        run, texts = self.so_far(), self.corpus
        if run is None or texts is None or (texts.sources, texts.weights) != (corpus.sources, corpus.weights):
            return False
        return run.start is None and run.config == config and run.ended != STOPPED and self.ended is not None

    def may_continue(self, config: TrainingConfig, corpus: Corpus) -> bool:
        """Whether training could continue it: the same sources, weights and settings, but a larger limit."""
        run = self.run
        if run is None or self.corpus is None or self.corpus_problem:
            return False
        if (corpus.sources, corpus.weights) != (self.corpus.sources, self.corpus.weights):
            return False
        try:
            return may_continue(run, self.own_config(config))
        except ConfigError:
            return False

    def own_config(self, config: TrainingConfig) -> TrainingConfig:
        """Settings as they apply to its tokenizer at the start; ConfigError where they cannot."""
        return config if self.start is None else check_start(self.start, config)

    def use_sources(self, same: Mapping[Source, Source]) -> None:
        """Replaces its sources by others with the same text; with the last missing one, the run can continue."""
        if self.corpus is not None:
            before, sources = self.corpus, tuple(same.get(one, one) for one in self.corpus.sources)
            self.corpus = replace(before, sources=sources)
            if any(map(is_missing, before.sources)) and not any(map(is_missing, self.corpus.sources)):
                self.corpus_problem = None

    def complete(self, run: Run) -> None:
        """Stores the ended run."""
        self.run, self.ended, self._tokenizer = run, run.ended, None
        self.begin_with(run)

    def so_far(self) -> Run | None:
        """The run as if it were stopped now; None before merging can begin."""
        if self.run is not None or self._begun is None:
            return self.run
        return self.log.run_so_far(self._begun, self.seconds)

    def bytes_per_token(self, merges: int) -> float:
        """The compression ratio of the corpus after a number of merges."""
        tokens = self.log.tokens_at(merges)
        return self.corpus_bytes / tokens if tokens else 0.0

    def take_counted(self, counted: CountedUses) -> None:
        """Takes the counts of an opened tokenizer in a corpus, with the scale of its weights."""
        self.weight_scale = counted.text.weight_scale
        self.uses.take_counted(counted)

    def take_by_source(self, curves: SourceCurves | str) -> None:
        """Stores the measurements of its sources, or why there are none."""
        self.by_source = curves

    def take_held_out(self, held_out: HeldOut | HeldOutState | str) -> None:
        """Stores the measurements of the held-out text, or why there are none, and releases the text."""
        if isinstance(held_out, HeldOutState):
            self.held_out = held_out
        elif isinstance(held_out, str):
            self.held_out = replace(self.held_out, sources=(), problem=held_out)
        else:
            last = int(held_out.tokens[-1])
            self.held_out = HeldOutState((), held_out.bytes / last if last else None, held_out.bytes, held_out.tokens)

    def held_out_bytes_per_token(self, merges: int) -> float | None:
        """The compression ratio of the held-out text after a number of merges; None if it is not known."""
        tokens = self.held_out.tokens
        if tokens is None:
            return self.held_out.ratio if merges == len(self) else None
        return self.held_out.bytes / int(tokens[merges]) if tokens[merges] else None

    def curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bytes per token after each number of merges, from 0 on: two float64 arrays [n + 1]."""
        tokens = np.concatenate([[self.log.tokens_before], self.log.tokens_after]).astype(np.float64)
        ratio = np.divide(self.corpus_bytes, tokens, out=np.zeros_like(tokens), where=tokens > 0)
        return np.arange(len(tokens), dtype=np.float64), ratio

    @property
    def why_no_merges(self) -> str:
        """Why a run ended without a merge, or the model of its file has none, a sentence; else ""."""
        if self.config is None:
            return (self._tokenizer.no_merges if self._tokenizer is not None else None) or ""
        if self.ended is None or len(self) > self.before:
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
        """Whether closing would lose it: it has merges that no project file holds, and was not exported."""
        return (self.has_counts or self.was_changed) and len(self) > self.marks.saved and not self.marks.exported

    @property
    def was_changed(self) -> bool:
        """Whether it was made in this window, but not by a training of ours."""
        return self.origin is not None and bool(self.origin.change)

    @property
    def how_made(self) -> str:
        """For one that `was_changed`: how, and what it was made of, as the end of a sentence."""
        assert self.origin is not None
        change, before = self.origin.change, self.origin.made_of or "another tokenizer"
        if change == "special tokens":
            return f"it is {before} with other special tokens"
        return f"it was {change}" + ("" if change.startswith("trained by ") else f" from {before}")

    @property
    def made_from_another(self) -> bool:
        """Whether there is a tokenizer before it that it can be held against."""
        if self.config is not None:
            return self.start is not None and self.ended is not None
        return self._tokenizer is not None and self._tokenizer.origin is not None

    @property
    def vocabulary_size(self) -> int:
        """The number of tokens after all merges so far."""
        return self.unmerged + len(self) - self.log.lost(self.base_size)

    def sized_name(self, merges: int | None = None) -> str:
        """The name with the tokens after some merges, or after all, as figures that leave the window carry it."""
        size = self.vocabulary_size if merges is None else int(self.vocabulary_sizes[merges])
        return f"{self.name} ({several(size, 'token')})"

    @property
    def unmerged(self) -> int:
        """The tokens that no merge makes."""
        if self.config is None:
            return len(self.tokenizer) - len(self) + self.log.lost(self.base_size)
        return vocabulary_size(self.config, self.base_size, -self.before, self.start)

    @property
    def vocabulary_sizes(self) -> NDArray[np.int64]:
        """int64 [n + 1], the tokens after 0, 1, ... n merges."""
        return self.unmerged + np.arange(len(self) + 1) - self.removals.lost()
