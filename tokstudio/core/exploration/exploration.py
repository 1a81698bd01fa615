"""The exploration of a corpus: computes what is asked for, once.

Each property has a twin that works in bounded pieces, for a window that shows progress and can cancel.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tokstudio.core.analysis.baselines import AnyTokenizer, SimpleTokenizer
from tokstudio.core.analysis.token_store import TokenCounts, TokenStore
from tokstudio.core.base.arguments import plain_number, several_of, told, whole_number
from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.markup import joined as markup
from tokstudio.core.base.markup import table_view, tag
from tokstudio.core.base.progress import Work, finish
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.rules import RULES, check_rules, repeated_bytes_work
from tokstudio.core.corpus.sampling import hold_out_work
from tokstudio.core.corpus.source import Source, by_entry, entries
from tokstudio.core.exploration.corpus_tokens import MOST_KEPT, CorpusTokens, UsesByDocument
from tokstudio.core.exploration.dispersion import Dispersion, dispersion_work
from tokstudio.core.exploration.documents import Columns, DocumentTable, columns_work, joined
from tokstudio.core.exploration.finders import HitFinder, RegexFinder, TextFinder
from tokstudio.core.exploration.findings import Finding, findings_work
from tokstudio.core.exploration.items import Items, token_items_work, word_items_work
from tokstudio.core.exploration.keyness import Keyness, keyness_work
from tokstudio.core.exploration.origin import TokenOrigin, origin_work
from tokstudio.core.exploration.search import Search
from tokstudio.core.exploration.token_finder import TokenFinder
from tokstudio.core.exploration.word_list import LEAST_RUN, Boilerplate, WordList, boilerplate_work, word_list_work
from tokstudio.core.text.utf8 import Text
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A side of a comparison: a source by name or index, several, or another corpus; see `Exploration.keyness`.
Side = str | int | Sequence[str | int] | Corpus | None

_MOST_SHARED = 64  # entries of a corpus


def explore(corpus: Corpus, tokenizer: AnyTokenizer | None = None) -> Exploration:
    """Explores a corpus, and what a tokenizer makes of it; without one, only what needs none.

    Raises:
        ConfigError: That is no corpus, or no tokenizer.
        CorpusError: The corpus has word counts, which have no documents.
    """
    return Exploration(corpus, tokenizer)


class Exploration:
    """A corpus, and a tokenizer or one at the playhead of its first merges; made by `explore`.

    All text counts, held-out text too, and weights do not matter. Special tokens are recognised, as in training. A
    figure is NaN where there is nothing to divide. Arrays are read-only.

    What needs the tokens of the text raises ConfigError where there is no tokenizer, or where the text has a character
    that is not in its vocabulary, and FormatError where the library that encodes for it refuses the text.
    """

    def __init__(
        self,
        corpus: Corpus,
        tokenizer: AnyTokenizer | None = None,
        store: TokenStore | None = None,
        most_kept: int = MOST_KEPT,
    ) -> None:
        if not isinstance(corpus, Corpus):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"A corpus is explored, such as of Corpus.from_files, not {told(corpus)}.")
        if tokenizer is not None and not isinstance(tokenizer, (Tokenizer, SimpleTokenizer)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"A tokenizer is needed, such as of load, or None, not {told(tokenizer)}.")
        for source in corpus.sources:
            if source.counts is not None:
                raise CorpusError(f"{source.name} has word counts, which have no documents: open the text.")
        self.corpus = corpus
        self.tokenizer = tokenizer
        self.store = store or TokenStore()  # of the counts of tokens, which others may share
        self._most_kept = most_kept  # bytes of tokens; what is more is encoded again
        self._text: tuple[CorpusTokens, UsesByDocument] | None = None
        self._dispersion: Dispersion | None = None
        self._of_text: Columns = {}  # of the documents; `at` shares it
        self._items: tuple[bool, Items] | None = None  # of tokens, or of pre-tokens

    def at(self, tokenizer: AnyTokenizer | None) -> Exploration:
        """The same corpus with another tokenizer, or without one; what needs none is computed once for all of them."""
        other = Exploration(self.corpus, tokenizer, self.store, self._most_kept)
        other._of_text = self._of_text
        return other

    def __repr__(self) -> str:
        sources = several(len(self.corpus.sources), "source")
        return f"<Exploration: {sources}, {several(self.corpus.documents, 'document')}, {self.corpus.bytes:,} bytes>"

    def _repr_html_(self) -> str:
        # What is here without reading or encoding the text.
        rows = [[each.name, f"{each.documents:,}", f"{each.bytes:,}"] for each in self.corpus.sources]
        by = "No tokenizer." if self.tokenizer is None else f"Tokens are those of {self.tokenizer!r}."
        return markup(tag("p", repr(self)), table_view(["Source", "Documents", "Bytes"], rows, by))

    # --- Parts --------------------------------------------------------------------------------------------------------

    @property
    def parts(self) -> int:
        """The number of units with tokens that range and top document are counted over."""
        return self._measured.parts

    @property
    def part_unit(self) -> str:
        """The units of range and top document: "documents" where 20 or more have tokens, otherwise "pieces"."""
        return self._measured.part_unit

    @property
    def pieces(self) -> NDArray[np.int64]:
        """int64 [pieces], the tokens of each: about 100 runs of whole documents, or of lines where one is longer."""
        return self._measured.pieces

    def pieces_of(self, token: int) -> NDArray[np.int64]:
        """int64 [pieces], the uses of a token in each."""
        return finish(self.pieces_of_work(token))

    def pieces_of_work(self, token: int) -> Work[NDArray[np.int64]]:
        """Does the same as `pieces_of` in bounded pieces."""
        pieces = (yield from self.dispersion_work()).pieces
        return (yield from self._uses_in_work(token, np.cumsum(pieces)))

    # --- Documents ----------------------------------------------------------------------------------------------------

    @property
    def documents(self) -> Mapping[str, NDArray[Any]]:
        """Arrays by name, with a row a document.

        source (index in `corpus.sources`), shard (index of its file in `Source.shards`), number (the row or line of
        that file, from 0), bytes, characters, not_utf8 (bytes), lines, repeated_bytes (in lines that equal another of
        the corpus, see `repeated_bytes_work`), longest_line, longest_run (without white space, both in bytes), script
        (number in `SCRIPTS` of `tokstudio.core.text.languages`, -1 for none); with a tokenizer also tokens and
        bytes_per_token.
        """
        return finish(self.documents_work())

    def documents_work(self) -> Work[Mapping[str, NDArray[Any]]]:
        """Does the same as `documents` in bounded pieces."""
        if not self._of_text:
            # What takes most memory for a time comes first.
            repeated = joined((yield from repeated_bytes_work(self.corpus)), self.corpus.documents)
            columns = (yield from columns_work(self.corpus)) | {"repeated_bytes": repeated}
            for column in columns.values():
                column.setflags(write=False)
            self._of_text.update(columns)
        tokens = None if self.tokenizer is None else (yield from self.dispersion_work()).document_tokens
        return DocumentTable(self.corpus, self._of_text, tokens)

    def uses_by_document(self, token: int) -> NDArray[np.int64]:
        """int64 [documents], the uses of a token in each."""
        return finish(self.uses_by_document_work(token))

    def uses_by_document_work(self, token: int) -> Work[NDArray[np.int64]]:
        """Does the same as `uses_by_document` in bounded pieces."""
        text, _ = yield from self._text_work()
        return (yield from self._uses_in_work(token, text.ends))

    # --- Tokens -------------------------------------------------------------------------------------------------------

    @property
    def tokens(self) -> Mapping[str, NDArray[Any]]:
        """Arrays by name, by id; see `Dispersion`.

        uses, range, top_part, top_share, bunched, dp, dp_norm, emitted.
        """
        return finish(self.tokens_work())

    def tokens_work(self) -> Work[Mapping[str, NDArray[Any]]]:
        """Does the same as `tokens` in bounded pieces."""
        measured = yield from self.dispersion_work()
        names = ("uses", "range", "top_part", "top_share", "bunched", "dp", "dp_norm", "emitted")
        return {name: getattr(measured, name) for name in names}

    def origin(self, token: int) -> TokenOrigin:
        """Where the uses of a token are; raises ConfigError where there is no such token."""
        return finish(self.origin_work(token))

    def origin_work(self, token: int) -> Work[TokenOrigin]:
        """Does the same as `origin` in bounded pieces."""
        measured = yield from self.dispersion_work()
        text, _ = yield from self._text_work()
        return (yield from origin_work(text, measured, self._checked(token, text)))

    # --- Findings -----------------------------------------------------------------------------------------------------

    def findings(
        self, rules: Sequence[str] = tuple(RULES), sources: str | int | Sequence[str | int] | None = None
    ) -> tuple[Finding, ...]:
        """What each rule finds, by itself, and the tokens that live there; without a tokenizer, no tokens.

        Args:
            rules: The names of rules; what `owners` finds comes with them where there is a tokenizer.
            sources: The name of a source, or its index in `corpus.sources`, or several, to list only what is found
                there. Rules still look at all: a document that equals one of an earlier source is a duplicate.

        Raises:
            ConfigError: There is no such rule or source.
        """
        return finish(self.findings_work(rules, sources))

    def findings_work(
        self, rules: Sequence[str] = tuple(RULES), sources: str | int | Sequence[str | int] | None = None
    ) -> Work[tuple[Finding, ...]]:
        """Does the same as `findings` in bounded pieces."""
        rules = [*check_rules(rules, {})]
        only = None if sources is None else self._numbers_of(sources)
        encoded = None
        if self.tokenizer is not None:
            measured = yield from self.dispersion_work()
            encoded = (yield from self._text_work())[0], measured
        return (yield from findings_work(self.corpus, encoded, rules, self.store, only))

    # --- Search -------------------------------------------------------------------------------------------------------

    def search(
        self,
        *,
        text: Text | None = None,
        regex: str | None = None,
        token: int | None = None,
        ids: Sequence[int] | None = None,
        case: bool = True,
        whole_words: bool = False,
        sources: str | int | Sequence[str | int] | None = None,
    ) -> Search:
        """Finds a text, the matches of a regular expression, a token, or several tokens in a row; one of these.

        Hits do not overlap, from left to right, and lie in one document. Iterating gives the first million; `total` and
        `by_source` count all.

        Args:
            text: Found as it is written; see `TextFinder`.
            regex: An expression of the library `regex`; see `RegexFinder`.
            token: An id, found where the text becomes this token.
            ids: Ids, found where the text becomes these tokens in this order.
            case: Whether case matters for text and expressions; else it is folded as Unicode says.
            whole_words: Whether only hits of text and expressions count beside which no word goes on: neither side is
                between two letters, marks, numbers or underscores.
            sources: The name of the source to search, or its index in `corpus.sources`, or several; None for all.

        Raises:
            ConfigError: Nothing or several things are given, one cannot be searched for, there is no such source, or a
                match of an expression takes too long.
            FormatError: The library that encodes for the tokenizer refuses the text.
        """
        search = self.begin_search(
            text=text, regex=regex, token=token, ids=ids, case=case, whole_words=whole_words, sources=sources
        )
        finish(search.find_work())
        return search

    def begin_search(
        self,
        *,
        text: Text | None = None,
        regex: str | None = None,
        token: int | None = None,
        ids: Sequence[int] | None = None,
        case: bool = True,
        whole_words: bool = False,
        sources: str | int | Sequence[str | int] | None = None,
        width: int = 60,
    ) -> Search:
        """A search that has found nothing yet: `Search.find_work` does in bounded pieces what `search` does.

        Hits have at most `width` characters on each side.

        Raises:
            ConfigError: As `search`, but nothing takes long.
        """
        given = [value is not None for value in (text, regex, token, ids)]
        if sum(given) != 1:
            raise ConfigError("Search for one thing: a text, a regular expression, a token, or ids.")
        numbers = None if sources is None else self._numbers_of(sources)
        width = whole_number("width", width, 0)
        finder: HitFinder
        if text is not None:
            finder = TextFinder(text, case, whole_words)
        elif regex is not None:
            finder = RegexFinder(regex, case, whole_words)
        elif not case or whole_words:
            raise ConfigError("Tokens are found as they are: case and whole words are for text and expressions.")
        else:
            wanted = [token] if token is not None else several_of("ids", ids)
            name = "token" if token is not None else "Each of ids"
            finder = TokenFinder(self._with_vocabulary(), [whole_number(name, each) for each in wanted])
        return Search(self.corpus, finder, sources=numbers, width=width)

    def source_tokens(self) -> NDArray[np.int64]:
        """The tokens of each source, int64 [sources], as for `Search.per_million`."""
        return finish(self.source_tokens_work())

    def source_tokens_work(self) -> Work[NDArray[np.int64]]:
        """Does the same as `source_tokens` in bounded pieces."""
        tokens = (yield from self.dispersion_work()).document_tokens
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(tokens, dtype=np.int64)])
        return np.diff(before[np.cumsum([0, *(source.documents for source in self.corpus.sources)])])

    def _with_vocabulary(self) -> Tokenizer:
        if not isinstance(self.tokenizer, Tokenizer):
            raise ConfigError("Tokens need a tokenizer with a vocabulary: ask for text or pre-tokens.")
        return self.tokenizer

    # --- Words --------------------------------------------------------------------------------------------------------

    def words(self, n: int = 1, of: str = "pre-tokens", least: int | None = None) -> WordList:
        """Pre-tokens or tokens, or runs of them within a document, with how often and in how many parts they stand.

        Pre-tokens are those of the tokenizer; o200k splits them where there is none, where its library encodes, and
        where it has no pattern. A special token is one of them.

        Args:
            n: From 1 to 5.
            of: "pre-tokens" or "tokens".
            least: How often a run must occur to be listed; None for 1, and 2 for runs. All are counted.

        Raises:
            ConfigError: An argument is out of its range, or there is no tokenizer with a vocabulary for tokens.
        """
        return finish(self.words_work(n, of, least))

    def words_work(self, n: int = 1, of: str = "pre-tokens", least: int | None = None) -> Work[WordList]:
        """Does the same as `words` in bounded pieces."""
        if of not in ("pre-tokens", "tokens"):
            raise ConfigError(f'Words are of "pre-tokens" or "tokens", not {told(of)}.', field="of")
        items = yield from self._items_work(of == "tokens")
        tokenizer = self.tokenizer if isinstance(self.tokenizer, Tokenizer) else None
        return (yield from word_list_work(items, n, least, tokenizer))

    def boilerplate(self, n: int = LEAST_RUN, documents: int = 10) -> tuple[Boilerplate, ...]:
        """Stretches of a document whose runs of `n` pre-tokens each stand in at least so many documents.

        Those that cover most pre-tokens come first.

        Raises:
            ConfigError: `n` is below 8, or `documents` below 2.
        """
        return finish(self.boilerplate_work(n, documents))

    def boilerplate_work(self, n: int = LEAST_RUN, documents: int = 10) -> Work[tuple[Boilerplate, ...]]:
        """Does the same as `boilerplate` in bounded pieces."""
        return (yield from boilerplate_work((yield from self._items_work(False)), n, documents))

    def keyness(
        self,
        source: Side = None,
        against: Side = None,
        of: str = "tokens",
        n: int = 1,
        smoothing: float = 1,
        held_out: float = 0.0,
    ) -> Keyness:
        """What is typical of one side, and of the other, by how often each token or word occurs there.

        Args:
            source: The first side: a source as for `findings`, several of these, or another corpus, such as an
                opened text.
            against: The second side; None for all other sources, or the whole corpus if the first is another one.
            of: "tokens" or "words", which are the pre-tokens of `words`.
            n: From 1 to 5, the length of the runs that are compared.
            smoothing: What is added to the frequencies per million in the ratio, such as 1, 10 or 100.
            held_out: Above 0, the first side is what `hold_out_work` holds out of `source`, or of all sources where
                that is None, and the second is the rest of it.

        Raises:
            ConfigError: There is no such source or it is ambiguous, a side is empty, one source is on both sides, or an
                argument is out of its range.
            CorpusError: There are too few lines to hold any out.
        """
        return finish(self.keyness_work(source, against, of, n, smoothing, held_out))

    def keyness_work(
        self,
        source: Side = None,
        against: Side = None,
        of: str = "tokens",
        n: int = 1,
        smoothing: float = 1,
        held_out: float = 0.0,
    ) -> Work[Keyness]:
        """Does the same as `keyness` in bounded pieces."""
        if of not in ("tokens", "words"):
            raise ConfigError(f'Keyness is of "tokens" or "words", not {told(of)}.', field="of")
        n, smoothing = whole_number("n", n), plain_number("smoothing", smoothing)
        held_out = plain_number("held_out", held_out)
        if not 0 <= held_out < 1:
            raise ConfigError(f"The held-out share must be from 0 to below 1, not {held_out:g}.", field="held_out")
        here, sides = yield from self._sides_work(source, against, held_out)
        items = yield from here._items_work(of == "tokens")
        of_documents = np.repeat(sides, [each.documents for each in here.corpus.sources])
        return (yield from keyness_work(items, of_documents, n, smoothing))

    def _sides_work(self, source: Side, against: Side, held_out: float) -> Work[tuple[Exploration, NDArray[np.int8]]]:
        """The exploration that has both sides, and the side of each of its sources; -1 for neither."""
        corpus = self.corpus
        if held_out:
            if against is not None or isinstance(source, Corpus):
                raise ConfigError("Held-out text is compared with the rest of its own sources: name only these.")
            chosen = corpus.sources if source is None else tuple(corpus.sources[k] for k in self._numbers_of(source))
            rest, held = yield from hold_out_work(chosen, held_out)
            return self._beside(held, rest)
        if isinstance(source, Corpus) or isinstance(against, Corpus):
            first = self._sources_of(source)
            second = corpus.sources if against is None else self._sources_of(against)
            return self._beside(first, second)
        if source is None:
            raise ConfigError("Name the source to compare with the others.")
        first = self._numbers_of(source)
        second = sorted(set(range(len(corpus.sources))) - set(first)) if against is None else self._numbers_of(against)
        if both := set(first) & set(second):
            raise ConfigError(f"{corpus.sources[min(both)].name} is on both sides: compare it with other sources.")
        sides = np.full(len(corpus.sources), -1, np.int8)
        sides[first], sides[second] = 0, 1
        return self, sides

    def _beside(self, first: tuple[Source, ...], second: tuple[Source, ...]) -> tuple[Exploration, NDArray[np.int8]]:
        sides = np.repeat(np.array([0, 1], np.int8), [len(first), len(second)])
        return Exploration(Corpus((*first, *second)), self.tokenizer, self.store, self._most_kept), sides

    def _sources_of(self, side: Side) -> tuple[Source, ...]:
        if isinstance(side, Corpus):
            return side.sources
        if side is None:
            raise ConfigError("Name the source to compare with the other text.")
        return tuple(self.corpus.sources[number] for number in self._numbers_of(side))

    def _numbers_of(self, side: str | int | Sequence[str | int]) -> list[int]:
        names = [side] if isinstance(side, (str, int, np.integer)) else several_of("sources", side)
        return sorted({number for name in names for number in self._numbers_named(cast("str | int", name))})

    def _numbers_named(self, which: str | int) -> list[int]:
        """The indices in `corpus.sources` of what is named; the texts of a large folder are sources of their own."""
        sources = self.corpus.sources
        if isinstance(which, str):
            own = [number for number, source in enumerate(sources) if source.name == which]
            is_entry = any(name == which for name, _ in entries(sources))
            return own if len(own) == 1 and not is_entry else self.corpus.numbers_of(which)
        if isinstance(which, bool) or not isinstance(which, (int, np.integer)):  # pyright: ignore[reportUnnecessaryIsInstance]
            return self.corpus.numbers_of(which)
        if not 0 <= which < len(sources):
            raise ConfigError(f"There is no source {which}: the corpus has {len(sources)}, counted from 0.")
        return [int(which)]

    def _items_work(self, are_tokens: bool) -> Work[Items]:
        """The tokens or pre-tokens of the corpus as a row; the last one that was asked for is kept."""
        if self._items is None or self._items[0] != are_tokens:
            self._items = None
            if are_tokens:
                tokenizer, measured = self._with_vocabulary(), (yield from self.dispersion_work())
                items = yield from token_items_work(tokenizer, (yield from self._text_work())[0], measured)
            else:
                items = yield from word_items_work(self.corpus, self.tokenizer)
            self._items = are_tokens, items
        return self._items[1]

    # --- What is computed once ----------------------------------------------------------------------------------------

    def dispersion_work(self) -> Work[Dispersion]:
        """Measures how the uses of all tokens are spread; the answer is kept in the store."""
        if self._dispersion is None:
            tokenizer = self._needed()
            work = self.store.answer_work("dispersion", tokenizer, self.corpus.sources, self._dispersion_work)
            self._dispersion = yield from work
        return self._dispersion

    @property
    def _measured(self) -> Dispersion:
        return finish(self.dispersion_work())

    def _dispersion_work(self) -> Work[Dispersion]:
        return (yield from dispersion_work(*(yield from self._text_work())))

    def _text_work(self) -> Work[tuple[CorpusTokens, UsesByDocument]]:
        if self._text is None:
            text = CorpusTokens(self.corpus, self._needed(), self._most_kept)
            found = yield from text.first_work()
            self._text = text, found
            yield from self._share_work(text, found)
        return self._text

    def _share_work(self, text: CorpusTokens, found: UsesByDocument) -> Work[None]:
        """Puts the uses of all tokens in each entry of the corpus into the store, for others who ask for them."""
        sources_of = [sources for _, sources in by_entry(self.corpus.sources)]
        if not text.is_kept or not 0 < len(sources_of) <= _MOST_SHARED:
            return
        counts = [found.uses] if len(sources_of) == 1 else [*(yield from text.counts_work()).values()]
        question = self.store.counts_question(text.tokenizer, recognise=True)
        for sources, uses in zip(sources_of, counts, strict=True):
            yield from self.store.keep_work(question, text.tokenizer, sources, TokenCounts.of(uses))

    def _needed(self) -> AnyTokenizer:
        if self.tokenizer is None:
            raise ConfigError("There is no tokenizer: give one to explore what it makes of the text.")
        return self.tokenizer

    def _uses_in_work(self, token: int, ends: NDArray[np.int64]) -> Work[NDArray[np.int64]]:
        """int64 [parts], the uses of a token in parts that end at these tokens."""
        text, _ = yield from self._text_work()
        is_token = np.zeros(len(text.feeds), np.int64)
        is_token[self._checked(token, text)] = 1
        return (yield from text.sums_work(is_token, ends))

    @staticmethod
    def _checked(token: int, text: CorpusTokens) -> int:
        if not 0 <= whole_number("token", token) < len(text.feeds):
            raise ConfigError(f"Id {token} is not in the vocabulary.")
        return token
