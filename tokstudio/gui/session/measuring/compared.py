"""What is compared: sets of texts, the tokenizers of the table, and what was measured of the ones by the others."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from math import nan
from pathlib import Path

from tokstudio.core.algorithms.common.languages import languages_in, text_of_each
from tokstudio.core.analysis.baselines import WORDS, AnyTokenizer, ByteTokenizer, WordTokenizer
from tokstudio.core.analysis.token_store import TokenCounts, TokenStore
from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.resources import resource
from tokstudio.core.comparison.comparison import Comparison
from tokstudio.core.comparison.counts import counts_work, part_work
from tokstudio.core.comparison.figures import Cell, Compared
from tokstudio.core.comparison.parallel_set import ParallelSet, open_parallel_work, story_work
from tokstudio.core.comparison.texts import ComparedText, held_out_marks, how_read
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.sampling import hold_out_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.project.schema import Json
from tokstudio.core.text.languages import language_name
from tokstudio.core.tokenizer.counts_by_merge import CountsByMerge, counts_by_merge_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.session.common.corpus import CorpusState
from tokstudio.gui.session.common.run_list import RunList
from tokstudio.gui.session.common.view_state import ViewState
from tokstudio.gui.state.run import StudioRun

# --- Sets of texts to compare tokenizers on ---------------------------------------------------------------------------

_MOST_SETS, _MOST_PATHS = 1_000, 10_000


@dataclass(frozen=True, eq=False)
class ReadTexts:
    """The texts of a set."""

    named: Sequence[tuple[str, Source]]
    notes: tuple[str, ...] = ()  # what the user should know of how they were read, a sentence each
    # Of held-out text: the hash of the whole of each, and what the training held out; see `text_work`.
    wholes: Sequence[str] = ()
    held_out: frozenset[str] = frozenset()

    def in_languages_of(self, corpus: Corpus) -> list[tuple[str, Source]]:
        """Of parallel texts, those in languages that a corpus has text of; all where these are fewer than two."""
        codes = [source.name for _, source in self.named]
        there = set(text_of_each(languages_in(corpus), codes).values())
        kept = [(name, source) for name, source in self.named if source.name in there]
        return kept if len(kept) > 1 else list(self.named)


@dataclass(frozen=True, eq=False)
class TextSet:
    """Texts that are compared in one table."""

    key: str  # never shown
    title: str
    meaning: str  # one sentence
    read: Callable[[], Work[ReadTexts]]
    is_parallel: bool = False  # whether all have the same lines, in different languages
    paths: tuple[Path, ...] = ()  # the files and folders that were opened for it; none for other sets
    languages: tuple[str, ...] = ()  # the codes of parallel texts, where they are known before they are read

    @property
    def as_plain(self) -> dict[str, Json]:
        """What a project keeps of it: where its texts are."""
        paths: list[Json] = [str(path.absolute()) for path in self.paths]
        return {"parallel": self.is_parallel, "paths": paths}

    @property
    def missing(self) -> tuple[Path, ...]:
        """The files and folders that are not there any more."""
        return tuple(path for path in self.paths if not os.path.lexists(path))


def story_set() -> TextSet:
    """Our own story, in many languages."""
    meaning = "Twenty sentences of our own, the same in each language."
    codes = tuple(sorted(path.stem for path in resource("corpora/story").iterdir()))
    read = partial(_parallel_work, story_work)
    return TextSet("story", "Our story in 31 languages", meaning, read, is_parallel=True, languages=codes)


def parallel_set(path: Path) -> TextSet:
    """A folder or a table with the same lines in several languages."""
    read = partial(_parallel_work, partial(open_parallel_work, path))
    key, meaning = f"parallel {path}", "The same lines in several languages."
    return TextSet(key, file_name(path), meaning, read, is_parallel=True, paths=(path,))


def file_set(paths: Sequence[Path]) -> TextSet:
    """Files and folders that are opened for measuring only."""
    title = file_name(paths[0]) + (f" and {len(paths) - 1:,} more" if len(paths) > 1 else "")
    key, meaning = " ".join(["files", *map(str, paths)]), "Opened for measuring only: nothing is trained on it."
    return TextSet(key, title, meaning, partial(_files_work, paths), paths=tuple(paths))


def text_sets_of(kept: object) -> tuple[TextSet, ...]:
    """The sets of `TextSet.as_plain`, which a project of a stranger may have; what is not one is left out."""
    sets: list[TextSet] = []
    for each in kept[:_MOST_SETS] if isinstance(kept, list) else ():
        values = each if isinstance(each, dict) else {}
        listed = values.get("paths")
        texts = (path for path in (listed if isinstance(listed, list) else ()) if isinstance(path, str))
        paths = [path for path in texts if path and "\0" not in path]
        if values.get("parallel") is True and len(paths) == 1:
            sets.append(parallel_set(Path(paths[0])))
        elif values.get("parallel") is False and paths:
            sets.append(file_set([Path(path) for path in paths[:_MOST_PATHS]]))
    return tuple({each.key: each for each in sets}.values())


def _files_work(paths: Sequence[Path]) -> Work[ReadTexts]:
    """Reads files; of several, an empty one is an empty text."""
    sources = (yield from Corpus.from_files_work(paths, keep_empty=True)).sources
    return ReadTexts([(source.name, source) for source in sources], tuple(filter(None, map(how_read, sources))))


def _parallel_work(read: Callable[[], Work[ParallelSet]]) -> Work[ReadTexts]:
    texts = yield from read()
    named = zip(texts.languages, texts.lines, strict=True)
    return ReadTexts([(_language(code), Source.from_texts(lines, code)) for code, lines in named], texts.notes)


def _language(code: str) -> str:
    """The name of a language with its code: "German deu_Latn"."""
    name = language_name(code)
    return code if name == code else f"{name} {code}"


class TextSets:
    """The sets of texts to choose from."""

    def __init__(self, corpus: CorpusState, runs: RunList, view: ViewState) -> None:
        self._corpus, self._runs, self._view = corpus, runs, view
        self._held_out_of: StudioRun | None = None  # the run whose held-out text was read
        self.of_corpus = TextSet("corpus", "Corpus", "Each source of the corpus is a row.", self._corpus_work)
        meaning = "The text that the active run kept out of its training."
        self.held_out = TextSet("held out", "Held-out text", meaning, self._held_out_work)
        self.of_pane = TextSet("text", "Text", "The text of the Text pane.", self._pane_work)
        self.opened = [story_set()]  # and what was opened for measuring only

    @property
    def all(self) -> list[TextSet]:
        """Every set, in the order of the menu."""
        return [self.of_corpus, self.held_out, self.of_pane, *self.opened]

    @property
    def has_held_out(self) -> bool:
        """Whether the held-out text that was read last is that of the active run."""
        return self._held_out_of is self._runs.active

    def add(self, texts: TextSet) -> None:
        """Adds a set that was opened, in place of the same one."""
        self.opened = [each for each in self.opened if each.key != texts.key] + [texts]

    def restore(self, kept: object) -> None:
        """Replaces the opened sets by those of a project."""
        self.opened = [story_set(), *text_sets_of(kept)]

    def _corpus_work(self) -> Work[ReadTexts]:
        yield from ()
        return ReadTexts([(source.name, source) for source in self._corpus.remaining])

    def _held_out_work(self) -> Work[ReadTexts]:
        run = self._held_out_of = self._runs.active
        if run is None or run.config is None or not run.config.held_out or run.corpus is None or run.corpus_problem:
            return ReadTexts([])
        _, held_out = yield from hold_out_work(run.corpus.sources, run.config.held_out, run.corpus.weights)
        yield from run.corpus.sha256_work()
        marks = held_out_marks(run.corpus.sha256, run.corpus.weights, run.config.held_out)
        named = [(source.name, source) for source in held_out]
        return ReadTexts(named, wholes=run.corpus.text_hashes, held_out=marks)

    def _pane_work(self) -> Work[ReadTexts]:
        yield from ()
        return ReadTexts([("Text", Source.from_texts([self._view.text]))] if self._view.text else [])


# --- The work of comparing: what is measured of each text by each tokenizer, and what is known already ----------------

Found = Cell | CountsByMerge | TokStudioError  # what is measured of a text by a tokenizer
Key = tuple[str, tuple[object, object]]  # the hash of a text, and the key of a column


@dataclass(frozen=True)
class ComparedColumn:
    """A tokenizer of the table."""

    name: str
    # The identity of a run, with its merges; or a name of `SIMPLE`, for "Words and marks" with the texts.
    key: tuple[object, object]
    tokenizer: AnyTokenizer | None  # None for the words of the texts
    whole: Tokenizer | None = None  # of the active run with all merges, where the playhead is before its end
    trained_on: tuple[str, ...] = ()  # as `Compared.also_trained_on`

    @property
    def by_merge(self) -> tuple[object, object]:
        """The key of its counts after any number of merges."""
        return self.key[0], "by merge"


class Measurements:
    """What was measured, kept by the text and the tokenizer: a new column or row leaves the others known."""

    def __init__(self) -> None:
        self.found: dict[Key, Found] = {}  # what was measured, or why it could not be
        self._changes = 0  # how often something became known, or was released
        self._last: tuple[object, Comparison] | None = None  # the last comparison, and what it is of

    def take(self, key: Key, result: Found) -> None:
        """Stores what was measured."""
        self.found[key] = result
        self._changes += 1

    def forget_failed(self) -> None:
        """Releases what could not be measured, so that it is tried again."""
        self.found = {key: result for key, result in self.found.items() if not isinstance(result, TokStudioError)}
        self._changes += 1

    def keep_only(self, tokenizers: Set[object]) -> None:
        """Releases what is of other tokenizers than these: identities of runs, and names of simple tokenizers."""
        self.found = {key: result for key, result in self.found.items() if key[1][0] in tokenizers}
        self._changes, self._last = self._changes + 1, None

    def comparison(
        self, rows: tuple[ComparedText, ...], columns: Sequence[ComparedColumn], base: int | None, against: str | None
    ) -> Comparison:
        """What is known of these texts by these tokenizers; the same object until that changes.

        `base` is the text that premiums relate to, `against` the tokenizer that normalised lengths relate to.
        """
        asked = rows, tuple((column.name, column.key) for column in columns), base, against, self._changes
        if self._last is None or self._last[0] != asked:
            names = [column.name for column in columns]
            tokenizers = [ByteTokenizer() if each.tokenizer is None else each.tokenizer for each in columns]
            self._last = (
                asked,
                Comparison(
                    list(map(Compared, names, tokenizers, [column.trained_on for column in columns])),
                    rows,
                    self._results(rows, columns),
                    base,
                    names.index(against) if against in names else 0,
                ),
            )
        return self._last[1]

    def _results(
        self, rows: Sequence[ComparedText], columns: Sequence[ComparedColumn]
    ) -> dict[tuple[int, int], Cell | TokStudioError]:
        """What is known of each text by each tokenizer, by their numbers."""
        results: dict[tuple[int, int], Cell | TokStudioError] = {}
        for at, row in enumerate(rows):
            for number, column in enumerate(columns):
                result = self.found.get((row.sha256, column.key))
                counts = self.found.get((row.sha256, column.by_merge))
                if result is None and column.whole is not None and isinstance(counts, CountsByMerge):
                    result = cell_at(row, column, counts)
                if result is not None and not isinstance(result, CountsByMerge):
                    results[at, number] = result
        return results


def missing_works(
    results: Mapping[Key, Found],
    rows: Sequence[ComparedText],
    columns: Sequence[ComparedColumn],
    need: str,
    store: TokenStore,
) -> dict[Key, Callable[[], Work[Cell] | Work[CountsByMerge]]]:
    """What is to be measured; `need` is what the figure needs, see `Part`."""
    works: dict[Key, Callable[[], Work[Cell] | Work[CountsByMerge]]] = {}
    for row in rows:
        for column in columns:
            key, by_merge = (row.sha256, column.key), (row.sha256, column.by_merge)
            result, counts = results.get(key), results.get(by_merge)
            if column.whole is not None and counts is None:
                works[by_merge] = partial(_by_merge_work, row, column.whole, store)
            by_position = (
                column.whole is not None and isinstance(counts, CountsByMerge | None) and not need and row.is_utf8
            )
            if not by_position and (result is None or (need and isinstance(result, Cell) and need not in result.parts)):
                works[key] = partial(_cell_work, row, column, need, result, store)
    return works


def _by_merge_work(row: ComparedText, tokenizer: Tokenizer, store: TokenStore) -> Work[CountsByMerge]:
    """Encodes a text once for all positions of the playhead."""
    counts = yield from store.counts_work(tokenizer, Corpus((row.source,)))
    return (yield from counts_by_merge_work(tokenizer, counts.by_id(len(tokenizer.tokens))))


def cell_at(row: ComparedText, column: ComparedColumn, counts: CountsByMerge) -> Cell:
    """What the tokenizer at the playhead makes of a text; counts do not tell what is cut of text that is not UTF-8."""
    assert column.tokenizer is not None
    tokens = TokenCounts.of(counts.at(int(str(column.key[1]))))
    parts = None if row.is_utf8 else (nan, nan)
    return Cell(Compared(column.name, column.tokenizer), row, replace(tokens, parts_of_characters=parts))


def with_words_work(columns: Sequence[ComparedColumn], rows: Sequence[ComparedText]) -> Work[list[ComparedColumn]]:
    """Makes the tokenizer of the words of all texts."""
    with_words: list[ComparedColumn] = []
    for column in columns:
        if column.tokenizer is None:
            text = b"\n".join(Corpus(tuple(row.source for row in rows)).iter_documents())
            words = yield from WordTokenizer.from_text_work(text, WORDS)
            column = ComparedColumn(column.name, (column.name, tuple(row.sha256 for row in rows)), words)
        with_words.append(column)
    return with_words


def _cell_work(
    row: ComparedText, column: ComparedColumn, need: str, known: Found | None, store: TokenStore
) -> Work[Cell]:
    """Measures a text by a tokenizer, beside what is known; what takes long to derive is derived here."""
    tokenizer = column.tokenizer
    assert tokenizer is not None
    counts = yield from counts_work(tokenizer, row, store)
    parts = dict(known.parts) if isinstance(known, Cell) else {}
    if need:
        find = partial(part_work, need, tokenizer, row)
        parts[need] = yield from store.answer_work(need, tokenizer, (row.source,), find)
    # What is kept does not keep the text.
    cell = Cell(Compared(column.name, tokenizer), row.without_text(), counts, parts)
    _ = cell.cuts, cell.shares, cell.parts_of_characters
    return cell
