"""What each number of added tokens would give: a table of sizes for an extension, from one training and one encoding.

Each text is encoded once, with all new merges; `counts_by_merge` gives its tokens after fewer.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.algorithms.common.prepare_corpus import count_text_work
from tokstudio.core.analysis.document_encoder import DocumentEncoder, document_groups
from tokstudio.core.analysis.token_counts import count_uses_work
from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import percent_text, shown
from tokstudio.core.corpus.corpus import Corpus, refuse_overflow
from tokstudio.core.corpus.sampling import LEAST_BLOCKS, check_lines_work, in_use
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.pretokenization.word_counts import WordCounts
from tokstudio.core.surgery.specials import check_reserved
from tokstudio.core.text.utf8 import lines_of
from tokstudio.core.tokenizer.counts_by_merge import CountsByMerge, counts_by_merge_work
from tokstudio.core.tokenizer.documents import without_marks
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.curves import check_entries, uses_by_entry_work
from tokstudio.core.training.trainer import Trainer

HELD_OUT = 0.1  # the share that is held out unless another is given
_STEPS = 1, 2, 3, 5, 7
_LEAST_PART = 100  # of the new tokens, the smallest size that is a row unless sizes are given
_NEVER = np.iinfo(np.int64).max
_PIECE = 1 << 12
_PHASE = "counting tokens by size"
_MISSING = "–"


@dataclass(frozen=True)
class SheetText:
    """A text that an extension is measured on: what is held out of a source, or a reference text."""

    name: str
    bytes: int
    tokens: int  # by the tokenizer before
    lines: int | None  # of a reference text; None for a source


@dataclass(frozen=True)
class SheetRow:
    """What an extension by so many tokens gives."""

    added: int  # new tokens
    vocabulary_size: int  # tokens in the end
    tokens: tuple[int, ...]  # of each text
    used: int  # new tokens that occur in the held-out text
    whole_words: int | None  # those among them that are whole words of it; None without a pattern
    changed_lines: tuple[int, ...]  # of each reference text, the lines that become other tokens


@dataclass(frozen=True)
class ExtensionSheet:
    """What an extension gives by its size."""

    texts: tuple[SheetText, ...]  # the sources, then the reference texts
    rows: tuple[SheetRow, ...]  # by ascending size
    held_out: float  # the share of the sources, 0 to 1
    ended: str  # why there are no more new tokens

    def saved(self, row: SheetRow, text: int) -> float | None:
        """The share of the tokens of a text that an extension saves, 0 to 1; None where it has none."""
        before = self.texts[text].tokens
        return 1 - row.tokens[text] / before if before else None

    @property
    def titles(self) -> tuple[str, ...]:
        """What stands above the columns of `cells`."""
        saved = (f"tokens saved: {text.name}" for text in self.texts)
        changed = (f"lines changed: {text.name}" for text in self.texts if text.lines is not None)
        return ("added", "vocabulary", *saved, "used", "whole words", *changed)

    def cells(self, row: SheetRow) -> tuple[str, ...]:
        """A row in words, a cell for each of `titles`."""
        shares = (self.saved(row, number) for number in range(len(self.texts)))
        saved = (_MISSING if share is None else percent_text(share, 1) for share in shares)
        words = _MISSING if row.whole_words is None else f"{row.whole_words:,}"
        lines = (text.lines for text in self.texts if text.lines is not None)
        changed = (f"{some:,} of {all_lines:,}" for some, all_lines in zip(row.changed_lines, lines, strict=True))
        return (f"{row.added:,}", f"{row.vocabulary_size:,}", *saved, f"{row.used:,}", words, *changed)

    def to_plain(self) -> dict[str, Any]:
        """All figures, for JSON."""
        shares = [[self.saved(row, number) for number in range(len(self.texts))] for row in self.rows]
        rows = [{**asdict(row), "saved": saved} for row, saved in zip(self.rows, shares, strict=True)]
        return {**asdict(self), "rows": rows}


def extension_sheet(
    tokenizer: Tokenizer,
    corpus: Corpus,
    config: TrainingConfig,
    references: Mapping[str, str] | None = None,
    held_out: float = HELD_OUT,
    fill: Sequence[str] = (),
    sizes: Iterable[int] | None = None,
) -> ExtensionSheet:
    """Extends a tokenizer once, and tells what each number of new tokens up to that would give.

    Each row is what `extend` makes to that size of the text that is not held out. Special tokens are cut out of the
    sources as in training, and are text in the lines of reference texts.

    Args:
        tokenizer: The tokenizer to extend.
        corpus: The new texts; each source has a column.
        config: The settings of the training, as for `extend`, but for its own held-out share.
        references: Texts that should not change much, by name, such as one in a language the tokenizer is good at.
        held_out: The share of the corpus, above 0 and below 1, that is kept out of the training and measured.
        fill: Reserved special tokens whose ids the first new tokens get; see `fill_reserved`.
        sizes: The numbers of new tokens that have a row. By default 1, 2, 3, 5 and 7 times powers of ten, from a
            hundredth of all new tokens on, and all.

    Raises:
        ConfigError: The tokenizer cannot be extended so, a number is out of range, there are word counts instead of
            text, or more than 64 sources.
        CorpusError: There are fewer than 20 lines, all weights are 0, nothing is held out, or nothing is learned.

    Example:
        >>> from tokstudio import Corpus, TrainingConfig, extension_sheet, train
        >>> old = train(Corpus.from_text("the cat sat on the mat " * 9), TrainingConfig(vocabulary_size=265))
        >>> new = Corpus.from_texts(f"der Hund und die Katze Nummer {number}" for number in range(40))
        >>> sheet = extension_sheet(old, new, TrainingConfig(vocabulary_size=285), {"English": "the cat"})
        >>> [row.added for row in sheet.rows], sheet.rows[-1].vocabulary_size, sheet.rows[-1].changed_lines
        ([1, 2, 3, 5, 7, 10, 20], 285, (0,))
    """
    return finish(extension_sheet_work(tokenizer, corpus, config, references, held_out, fill, sizes))


def extension_sheet_work(
    tokenizer: Tokenizer,
    corpus: Corpus,
    config: TrainingConfig,
    references: Mapping[str, str] | None = None,
    held_out: float = HELD_OUT,
    fill: Sequence[str] = (),
    sizes: Iterable[int] | None = None,
) -> Work[ExtensionSheet]:
    """See `extension_sheet`."""
    if not 0 < held_out < 1:
        raise ConfigError(f"The held-out share must be above 0 and below 1, not {held_out:g}.")
    yield from check_sheet_work(tokenizer, corpus, references or {}, fill)
    trainer = yield from trained_for_sheet_work(tokenizer, corpus, replace(config, held_out=held_out))
    return (yield from sheet_work(trainer, references or {}, fill, sizes))


def trained_for_sheet_work(tokenizer: Tokenizer, corpus: Corpus, config: TrainingConfig) -> Work[Trainer]:
    """The training of a sheet, at its end; of one, sheets with any reference texts can be made."""
    trainer = Trainer(corpus, config, start=tokenizer)
    while trainer.ended is None:
        trainer.advance()
        yield trainer.progress
    return trainer


def check_sheet_work(
    start: Tokenizer, corpus: Corpus, references: Mapping[str, str], fill: Sequence[str] = ()
) -> Work[None]:
    """Raises the errors of a sheet that a training does not, before there is one."""
    check_reserved(start, fill)
    sources = in_use(corpus.sources, corpus.weights)
    if any(source.counts is not None for source in sources):
        raise ConfigError("Word counts have no lines to hold out, which the sheet measures: open the texts.")
    refuse_overflow(corpus)
    check_entries(sources)
    ordinary = next((token for token in fill if token in start.preparation.ordinary), None)
    if references and ordinary is not None:
        raise ConfigError(
            f"{shown(ordinary)} is found in any text, so reference texts change too where its id is filled: "
            "leave it or the reference texts out."
        )
    try:
        yield from check_lines_work(sources)
    except CorpusError as error:
        raise CorpusError(
            f"The sheet measures text that is held out of the training, which needs at least {LEAST_BLOCKS} lines."
        ) from error


def sheet_work(
    trainer: Trainer, references: Mapping[str, str], fill: Sequence[str] = (), sizes: Iterable[int] | None = None
) -> Work[ExtensionSheet]:
    """The sheet of a training from a tokenizer that held out text and has ended; raises as `extension_sheet`."""
    assert trainer.start is not None
    assert trainer.prepared is not None
    assert trainer.ended is not None
    made = trainer.merges_made
    if not made:
        raise CorpusError(f"Nothing new can be learned from this corpus: {trainer.ended}.")
    held = in_use(trainer.prepared.held_out, trainer.corpus.weights)
    rows = _sizes(made, len(fill), sizes)
    question = _Question(trainer.start, trainer.tokenizer(), made)
    yield from question.sources_work(held, replace(trainer.config, held_out=0.0))
    for name, reference in references.items():
        yield from question.reference_work(name, reference)
    sheet_rows: list[SheetRow] = []
    for number, added in enumerate(rows):
        yield Progress(_PHASE, number, len(rows))
        size = len(trainer.start) + added - min(added, len(fill))
        sheet_rows.append(question.row(added, size))
    return ExtensionSheet(tuple(question.texts), tuple(sheet_rows), trainer.config.held_out, trainer.ended)


def _sizes(made: int, filled: int, wanted: Iterable[int] | None) -> list[int]:
    """The numbers of new tokens that have a row, ascending."""
    if wanted is not None:
        numbers = sorted(set(wanted))
        if not numbers or numbers[0] < 1:
            raise ConfigError("A sheet needs sizes: numbers of new tokens of at least 1.")
        return sorted({min(number, made) for number in numbers})
    steps = (step * 10**power for power in range(len(str(made))) for step in _STEPS)
    # The ids of reserved tokens are there already, so fewer new tokens than these make it no smaller.
    return [*(step for step in steps if max(filled, made / _LEAST_PART) <= step < made), made]


class _Question:
    """Counts the texts once, by the tokenizer with all new merges, and tells what fewer give."""

    def __init__(self, start: Tokenizer, tokenizer: Tokenizer, made: int) -> None:
        self._start, self._tokenizer = start, tokenizer
        self._before = len(start.merges)
        self._new: NDArray[np.int32] = tokenizer.merge_results[self._before : self._before + made]
        self.texts: list[SheetText] = []
        self._tokens: list[NDArray[np.int64]] = []  # of each text, after any number of merges
        self._uses: CountsByMerge | None = None  # of tokens in all sources
        self._words: NDArray[np.int64] | None = None  # how many new merges make each whole word, ascending
        self._changes: list[NDArray[np.int64]] = []  # of each reference, how many change each line, ascending

    def sources_work(self, held: Sequence[Source], config: TrainingConfig) -> Work[None]:
        """Counts the text that is held out of each source."""
        names = check_entries(held)
        counted = yield from count_text_work(Corpus(tuple(held)), config, start=self._start)
        ids = len(self._tokenizer.tokens)
        # Words are counted already where there is a pattern, and documents are sequences where there is none.
        encoder = self._tokenizer.encoder("none")
        sizes, uses = yield from uses_by_entry_work(encoder, counted, len(names), ids)
        for name, size, counts in zip(names, sizes.tolist(), uses, strict=True):
            yield from self._add_work(name, size, counts, None)
        self._uses = yield from counts_by_merge_work(self._tokenizer, uses.sum(axis=0))
        if counted.counts is not None:
            self._words = yield from self._words_work(counted.counts)

    def reference_work(self, name: str, reference: str) -> Work[None]:
        """Counts the tokens of a reference text, and how many merges change each of its lines by itself."""
        whole = Corpus.from_text(reference)
        counts = yield from count_uses_work(self._tokenizer, whole, recognise=False)
        lines = Source.from_texts(lines_of(reference))
        first_merges = yield from self._first_merges_work()
        encoder = DocumentEncoder(self._tokenizer, recognise=False)
        changes = np.full(lines.documents, _NEVER, np.int64)
        for first, last, start, stop in document_groups(lines):
            parts = yield from encoder.ids_work(np.array(lines.data[start:stop]), lines.ends[first:last] - start)
            ids, sizes = without_marks(parts)
            np.minimum.at(changes, np.repeat(np.arange(first, last), sizes), first_merges[ids])
            yield Progress(_PHASE, stop, lines.bytes)
        self._changes.append(np.sort(changes))
        yield from self._add_work(name, whole.bytes, counts, lines.documents)

    def row(self, added: int, size: int) -> SheetRow:
        """What so many new tokens give."""
        assert self._uses is not None
        merges = self._before + added
        used = int(np.count_nonzero(self._uses.at(merges)[self._new[:added]]))
        words = None if self._words is None else _up_to(added, self._words)
        tokens = tuple(int(of_text[merges]) for of_text in self._tokens)
        return SheetRow(added, size, tokens, used, words, tuple(_up_to(added, each) for each in self._changes))

    def _add_work(self, name: str, size: int, counts: NDArray[np.int64], lines: int | None) -> Work[None]:
        tokens = (yield from counts_by_merge_work(self._tokenizer, counts)).tokens
        self._tokens.append(tokens)
        self.texts.append(SheetText(name, size, int(tokens[self._before]), lines))

    def _words_work(self, table: WordCounts) -> Work[NDArray[np.int64]]:
        """How many new merges make each pre-token of the text that has a letter and becomes one new token, ascending.

        What the bytes of a token become depends on nothing around them, so such a pre-token becomes the token.
        """
        new: list[int] = self._new.tolist()
        merges_of: dict[bytes, int] = {}
        for merges, token in enumerate(new, 1):
            merges_of[self._tokenizer.tokens[token] or b""] = merges
            if merges % _PIECE == 0:
                yield Progress(_PHASE, merges, len(new))
        found: list[int] = []
        start = 0
        for number, end in enumerate(table.ends.tolist()):
            word = table.data[start:end].tobytes()
            start = end
            if (merges := merges_of.get(word)) is not None and any(map(str.isalpha, word.decode("utf-8", "ignore"))):
                found.append(merges)
            if number % _PIECE == 0:
                yield Progress(_PHASE, number, len(table))
        return np.sort(np.array(found, np.int64))

    def _first_merges_work(self) -> Work[NDArray[np.int64]]:
        """int64 [ids], how many new merges make a text other than before, of the text of each token.

        It is the first of those that make the token and its parts; merges before it change nothing.
        """
        first = np.full(len(self._tokenizer.tokens), _NEVER, np.int64)
        rows = self._tokenizer.merges[self._before :].tolist()
        for number, ((left, right), token) in enumerate(zip(rows, self._new.tolist(), strict=True), 1):
            first[token] = min(first[left], first[right], number)
            if number % _PIECE == 0:
                yield Progress(_PHASE, number, len(rows))
        return first


def _up_to(added: int, ascending: NDArray[np.int64]) -> int:
    """How many of the numbers are no greater."""
    return int(np.searchsorted(ascending, added, "right"))
