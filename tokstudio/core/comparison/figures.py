"""The figures that tokenizers are compared by, each with its formula, unit and trap.

A figure is of a `Cell`: what one tokenizer makes of one text. Figures that relate cells to each other, and the
summaries of a column, are functions of arrays.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from tokstudio.core.analysis.baselines import AnyTokenizer, ByteTokenizer, SimpleTokenizer
from tokstudio.core.analysis.token_store import TokenCounts
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.comparison.changed_texts import ChangedTokens, unknown_of
from tokstudio.core.comparison.counts import Part, WordPieces
from tokstudio.core.comparison.numbers import NumberSplits
from tokstudio.core.comparison.texts import ComparedText, trained_texts
from tokstudio.core.model.tokens import BEGINS_INSIDE, NOT_UTF8
from tokstudio.core.text.utf8 import bytes_of_character
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALPHA = 2.5  # the order of the Renyi entropy
_RUST = "Rust et al. 2021, arXiv:2012.15613"
_PETROV = "Petrov et al. 2023, arXiv:2305.15425"
_ZOUHAR = "Zouhar et al. 2023, arXiv:2306.16842"
_SINGH = "Singh and Strouse 2024, arXiv:2402.14903"
_TOKEVAL = "SwissAI TokEval, github.com/swiss-ai/tokenizer-analysis-suite"
_NAN = float("nan")
_MOST_NAMED = 12

Better = Literal["more", "less", "near 1"] | None


@dataclass(frozen=True, eq=False)
class Compared:
    """A tokenizer to compare, with its name."""

    name: str
    tokenizer: AnyTokenizer
    also_trained_on: Collection[str] = ()  # hashes of texts besides those that the tokenizer itself knows

    @cached_property
    def sized_name(self) -> str:
        """The name with the size of the vocabulary, as figures carry it that leave: "Run 4 (5,000 tokens)"."""
        size = self.vocabulary_size
        return self.name if size is None else f"{self.name} ({several(size, 'token')})"

    @property
    def vocabulary_size(self) -> int | None:
        """All tokens of its vocabulary, special ones too; None where Unicode decides (characters)."""
        return len(self.tokenizer) if hasattr(self.tokenizer, "__len__") else None  # pyright: ignore[reportArgumentType]

    @cached_property
    def trained_on(self) -> frozenset[str]:
        """The hashes of the texts that it was trained on, as far as they are known; see `ComparedText.hashes`."""
        return trained_texts(self.tokenizer).union(self.also_trained_on)

    @cached_property
    def size(self) -> int | None:
        """The tokens of its vocabulary without special ones; None where Unicode decides (characters)."""
        size = self.vocabulary_size
        return None if size is None else size - len(self.specials)

    @cached_property
    def specials(self) -> NDArray[np.int64]:
        """The ids of its special tokens, int64."""
        return np.array(list(self.tokenizer.special_tokens.values()), np.int64)

    def cuts(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether each token is not UTF-8 by itself, and whether it begins inside a character; bool [ids] each."""
        if isinstance(self.tokenizer, ByteTokenizer):
            return ids >= 0x80, (ids >= 0x80) & (ids < 0xC0)
        if isinstance(self.tokenizer, SimpleTokenizer):
            return np.zeros(len(ids), np.bool_), np.zeros(len(ids), np.bool_)
        cuts = self.tokenizer.tokens.cuts(ids)
        return cuts & NOT_UTF8 != 0, cuts & BEGINS_INSIDE != 0

    def parts_of_characters(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which tokens begin a character that they do not end, and which hold a part of one and bytes of another.

        Returns:
            bool [ids] each.
        """
        starts, crosses = np.zeros(len(ids), np.bool_), np.zeros(len(ids), np.bool_)
        invalid, inside = self.cuts(ids)
        for at in np.flatnonzero(invalid).tolist():
            raw = bytes([ids[at]]) if isinstance(self.tokenizer, ByteTokenizer) else self._bytes_of(int(ids[at]))
            leads = [place for place, byte in enumerate(raw) if byte & 0xC0 != 0x80]
            starts[at] = bool(leads) and len(raw) - leads[-1] < bytes_of_character(raw[leads[-1]])
            crosses[at] = len(leads) + bool(inside[at]) > 1
        return starts, crosses

    def _bytes_of(self, token: int) -> bytes:
        assert isinstance(self.tokenizer, Tokenizer)
        return self.tokenizer.tokens[token] or b""


@dataclass(frozen=True, eq=False)
class Cell:
    """What one tokenizer makes of one text."""

    of: Compared
    text: ComparedText
    counts: TokenCounts
    parts: Mapping[str, Part] = field(default_factory=dict[str, Part])  # measured only for the figures that need it
    lines: NDArray[np.int64] | None = None  # the tokens of each line, counted only for intervals

    @property
    def words(self) -> WordPieces | None:
        """What became of its words; None where that was not measured."""
        words = self.parts.get("words")
        return words if isinstance(words, WordPieces) else None

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """The share of each used token, float64 [used]."""
        return self.counts.counts / self.counts.tokens if self.counts.tokens else np.zeros(0)

    @cached_property
    def cuts(self) -> tuple[float, float]:
        """The shares of tokens that are not UTF-8, and that begin inside a character."""
        invalid, inside = self.of.cuts(self.counts.ids)
        counts, tokens = self.counts.counts, self.counts.tokens
        return ratio(counts[invalid].sum(), tokens), ratio(counts[inside].sum(), tokens)

    @cached_property
    def parts_of_characters(self) -> tuple[float, float]:
        """How many characters are in several tokens, and how many tokens have a part of one and bytes of another."""
        if self.counts.parts_of_characters is not None:
            return self.counts.parts_of_characters
        starts, crosses = self.of.parts_of_characters(self.counts.ids)
        # Each character in several tokens has one that begins and does not end it.
        return int(self.counts.counts[starts].sum()), int(self.counts.counts[crosses].sum())


def ratio(over: float, under: float) -> float:
    """The quotient; NaN where there is nothing to divide by."""
    return float(over) / float(under) if under else _NAN


def bytes_per_token(cell: Cell) -> float:
    """B / N."""
    return ratio(cell.text.bytes, cell.counts.tokens)


def characters_per_token(cell: Cell) -> float:
    """C / N, C in code points."""
    return ratio(cell.text.characters, cell.counts.tokens)


def tokens_per_line(cell: Cell) -> float:
    """N / lines."""
    return ratio(cell.counts.tokens, cell.text.lines)


def fertility(cell: Cell) -> float:
    """N / W (Rust et al. 2021)."""
    return ratio(cell.counts.tokens, cell.text.words)


def words_split(cell: Cell) -> float:
    """Words with more than one token / W (Rust et al. 2021)."""
    return _NAN if cell.words is None else ratio(cell.words.split, cell.words.words)


def whole_words(cell: Cell) -> float:
    """Word types with one token / word types, the single token retention rate (STRR); an unknown token is none."""
    return _NAN if cell.words is None else ratio(cell.words.whole, cell.words.types)


def renyi_entropy(shares: NDArray[np.float64], alpha: float = ALPHA) -> float:
    """H_a = log2(sum p^a) / (1 - a) in bits, for a = 1 that of Shannon, - sum p log2 p; NaN without tokens."""
    if not len(shares):
        return _NAN
    if alpha == 1:
        return float(-(shares * np.log2(shares)).sum()) + 0.0  # not -0
    return float(np.log2((shares**alpha).sum()) / (1 - alpha)) + 0.0


def renyi(cell: Cell) -> float:
    """H_2.5 / log2 of the tokens that occur (Zouhar et al. 2023), as the package `tokenization-scorer` computes it."""
    return ratio(renyi_entropy(cell.shares), _bits(len(cell.shares)))


def renyi_whole(cell: Cell) -> float:
    """H_2.5 / log2 V."""
    return ratio(renyi_entropy(cell.shares), _bits(cell.of.size or 0))


def shannon(cell: Cell) -> float:
    """H_1 in bits a token."""
    return renyi_entropy(cell.shares, 1)


def _bits(tokens: int) -> float:
    return float(np.log2(tokens)) if tokens > 1 else 0.0


def vocabulary_used(cell: Cell) -> float:
    """Tokens that occur / V, both without special tokens."""
    ids, specials = cell.counts.ids, cell.of.specials
    # The ids ascend, so that each special one is looked up.
    there = np.searchsorted(ids, specials, "right") - np.searchsorted(ids, specials)
    return ratio(len(ids) - int(there.sum()), cell.of.size or 0)


def not_utf8(cell: Cell) -> float:
    """Tokens that are not UTF-8 by themselves / N."""
    return cell.cuts[0]


def begins_inside(cell: Cell) -> float:
    """Tokens that begin inside a character / N."""
    return cell.cuts[1]


def characters_cut(cell: Cell) -> float:
    """Characters in several tokens / characters that are not ASCII."""
    return ratio(cell.parts_of_characters[0], cell.text.beyond_ascii)


def crosses_characters(cell: Cell) -> float:
    """Tokens with a part of one character and bytes of another / N."""
    return ratio(cell.parts_of_characters[1], cell.counts.tokens)


def number_boundaries(cell: Cell) -> float:
    """2 both / (token boundaries between two digits + boundaries every three digits from the right), as F1.

    NaN where there are none of either, and for words. TokEval takes the mean of F1 over numbers instead.
    """
    splits = cell.parts.get("numbers")
    return splits.f1 if isinstance(splits, NumberSplits) else _NAN


def number_splits(cell: Cell) -> float:
    """H(split | digits) = - sum p(digits, split) log2 p(split | digits) in bits, of numbers of 2 to 64 digits."""
    splits = cell.parts.get("numbers")
    return splits.entropy if isinstance(splits, NumberSplits) else _NAN


def changed_tokens(cell: Cell, name: str) -> float:
    """Tokens of the text with a change of `CHANGES` / N.

    NaN where nothing is changed, or where the tokenizer cannot encode the changed text without more unknown tokens.
    """
    changed = cell.parts.get(name)
    if not isinstance(changed, ChangedTokens) or not changed.is_changed or changed.failed:
        return _NAN
    number, counts = unknown_of(cell.of.tokenizer), cell.counts
    unknown = 0 if number is None else int(counts.counts[counts.ids == number].sum())
    return _NAN if changed.unknown > unknown else ratio(changed.tokens, counts.tokens)


def tokens(cell: Cell) -> float:
    """N."""
    return float(cell.counts.tokens)


def premiums(counts: NDArray[np.float64], base: int) -> NDArray[np.float64]:
    """N(language) / N(base language), float64 [texts, tokenizers], for the same lines (Petrov et al. 2023).

    NaN where a text has no tokens.
    """
    return _divided(np.where(counts > 0, counts, _NAN), counts[base : base + 1])


def without_lines_of(texts: Sequence[ComparedText], base: int) -> list[int]:
    """The numbers of the texts that cannot have the same lines as a base: they are empty, or have more or fewer."""
    return [number for number, text in enumerate(texts) if not text.bytes or text.lines != texts[base].lines]


def premium_note(texts: Sequence[ComparedText], base: int) -> str:
    """Which texts have no premium because they do not have the lines of the base, as a sentence; "" for none."""
    missing = without_lines_of(texts, base)
    if not missing:
        return ""
    notes = [
        f"{text.name} has {several(text.lines, 'line')}" if text.bytes else f"{text.name} is empty"
        for text in (texts[number] for number in dict.fromkeys([base, *missing[:_MOST_NAMED]]))
    ]
    notes += [f"and so on in {several(more, 'other')}"] if (more := len(missing) - _MOST_NAMED) > 0 else []
    return f"Premiums and Gini need the same lines in each text: {', '.join(notes)}."


def normalised_lengths(counts: NDArray[np.float64], against: int) -> NDArray[np.float64]:
    """N / N of the tokenizer `against`, float64 [texts, tokenizers]."""
    return _divided(counts, counts[:, against : against + 1])


def _divided(over: NDArray[np.float64], under: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(under > 0, over / under, _NAN)


def gini(values: NDArray[np.float64]) -> float:
    """Sum over i, j of |c_i - c_j| / (2 n^2 mean c): 0 where all are equal; NaN where one is missing or all are 0."""
    n, mean = len(values), float(np.mean(values)) if len(values) else 0.0
    if not n or not mean or np.isnan(mean):
        return _NAN
    # Of sorted values, the sum over all pairs is 2 sum (2 i - n + 1) c_i.
    weights = 2 * np.arange(n) - n + 1
    return float(2 * (weights * np.sort(values)).sum() / (2 * n * n * mean))


_LETTERS = {
    "N": "tokens",
    "B": "bytes",
    "C": "characters",
    "W": "words",
    "V": "size of the vocabulary",
    "p": "share of a token among all",
}


@dataclass(frozen=True)
class Figure:
    """A figure with what a reader must know of it."""

    name: str
    title: str
    formula: str
    unit: str
    note: str
    better: Better  # which of two values is the better one; None where neither is
    decimals: int
    of: Callable[[Cell], float] | None  # of a cell; None where it relates cells (`premium`, `normalised_length`)
    need: str = ""  # what has to be measured for it, see `Part`; "" for the counts of tokens alone
    is_share: bool = False
    source: str = ""  # where it was proposed
    dash: str = ""  # what a dash means, where that is no error

    @property
    def explained_formula(self) -> str:
        """The formula, and what its letters stand for."""
        found = re.findall(r"\b[A-Za-z]\b", self.formula)
        letters = [f"{letter}: {meant}" for letter, meant in _LETTERS.items() if letter in found]
        return f"{self.formula} ({', '.join(letters)})" if letters else self.formula

    @property
    def is_of_words(self) -> bool:
        """Whether it depends on what a word is."""
        return self.need == "words" or self.of is fertility

    @property
    def only_asked(self) -> bool:
        """Whether it is computed only where it is asked for by name: the text is encoded once more for it."""
        return self.need not in ("", "words")

    @property
    def said_better(self) -> str:
        """Which of two values is the better one, as a sentence; "" where neither is."""
        if self.better == "near 1":
            return f"Nearer to 1 is {'fairer' if self.name == 'premium' else 'better'}."
        return f"{self.better.capitalize()} is better." if self.better else ""

    def value(self, cell: Cell) -> float:
        """The figure of a cell; NaN for one that relates cells."""
        return _NAN if self.of is None else self.of(cell)


_DASH = "Nothing is changed, or the changed text has characters that are unknown."
_OF_WORDS = "or the tokenizer is one of words."
_CHANGED = (
    ("upper_case", "Change: upper case", "in upper case", ""),
    ("lower_case", "Change: lower case", "in lower case", ""),
    ("title_case", "Change: title case", "with each word in title case", "Other letters of a word are in lower case."),
    ("no_diacritics", "Change: no diacritics", "without diacritics",
     "These are the marks that scripts share, as in é and in vocalised Arabic; vowel signs and voicing marks stay."),
    ("doubled_spaces", "Change: doubled spaces", "with two spaces for each", ""),
    ("no_spaces_at_marks", "Change: no spaces at punctuation", "without spaces before and after punctuation", ""),
    ("styled_letters", "Change: styled letters", "with a to z, A to Z and 0 to 9 in mathematical bold", ""),
    ("typing_errors", "Change: typing errors", "with an error in about every tenth word of four letters or more",
     "Two letters are swapped, one is left out, doubled, or replaced by the key beside it: the same each time."),
)  # fmt: skip

FIGURES = {
    figure.name: figure
    for figure in (
        Figure("bytes_per_token", "Bytes per token", "B / N", "bytes of UTF-8 per token",
               "Scripts differ in bytes per character, so this compares tokenizers on one text, not languages.", "more",
               2, bytes_per_token),
        Figure("tokens", "Tokens", "N", "tokens", "Without special tokens.", "less", 0, tokens),
        Figure("characters_per_token", "Characters per token", "C / N", "code points per token",
               "Marks on letters count as characters.", "more", 2, characters_per_token),
        Figure("tokens_per_line", "Tokens per line", "N / lines", "tokens per line",
               "Compares languages only where the lines have the same content.", "less", 1, tokens_per_line),
        Figure("fertility", "Fertility", "N / W", "tokens per word",
               "A word is a run without white space; in Han, Kana, Thai, Khmer, Lao and Myanmar a character, in "
               "Tibetan a syllable. Rows with different units cannot be ranked.", "less", 2, fertility, source=_RUST),
        Figure("words_split", "Words split", "Words with more than one token / W", "share of the words",
               "Each word is encoded with the space before it.", "less", 1, words_split, "words", True,
               _RUST),
        Figure("whole_words", "Whole word types", "Word types with one token / word types", "share of the word types",
               "Unknown tokens do not count. Rare words count as much as frequent ones, and longer texts have more.",
               "more", 1, whole_words, "words", True,
               "Nayeem et al. 2025, arXiv:2510.09947 (single token retention rate)"),
        Figure("premium", "Premium", "N / N(base)", "times the tokens of the base",
               "Only for the same lines in several languages.", "near 1", 2, None, source=_PETROV),
        Figure("renyi", "Renyi efficiency", "H / log2 tokens that occur, H = log2(sum p^2.5) / (1 - 2.5)", "",
               "Compares tokenizers on one text. It does not rank languages: a language that is split into bytes can "
               "score higher than one with whole words.", None, 4, renyi, source=_ZOUHAR),
        Figure("renyi_whole", "Renyi efficiency of the vocabulary", "H / log2 V, H = log2(sum p^2.5) / (1 - 2.5)", "",
               "V is all tokens but special ones, so a short text lowers it.", None, 4, renyi_whole, source=_ZOUHAR),
        Figure("shannon", "Shannon entropy", "- sum p log2 p", "bits per token",
               "Grows with the vocabulary; not comparable between texts.", None, 4, shannon),
        Figure("vocabulary_used", "Vocabulary used", "Tokens that occur / V", "share of the vocabulary",
               "A short text cannot use a large vocabulary. Special tokens are left out.", None, 1, vocabulary_used,
               "", True),
        Figure("not_utf8", "Cut characters", "Tokens that are not UTF-8 / N", "share of the tokens",
               "Such a token has a part of a character, which a model must put together.", "less", 1, not_utf8, "",
               True),
        Figure("begins_inside", "Begins inside a character", "Tokens that begin inside a character / N",
               "share of the tokens", "Text cut before such a token ends inside a character.", "less", 1, begins_inside,
               "", True),
        Figure("normalised_length", "Normalised length", "N / N(chosen tokenizer)", "times its tokens",
               "", "less", 3, None, source="Dagan et al. 2024, arXiv:2402.01035"),
        Figure("characters_cut", "Characters in several tokens",
               "Characters in several tokens / characters that are not ASCII", "share of these characters",
               "Unlike cut characters, it does not depend on how many tokens the rest of the text has.", "less", 1,
               characters_cut, "", True, _TOKEVAL),
        Figure("crosses_characters", "Crosses characters",
               "Tokens with a part of one character and bytes of another / N", "share of the tokens",
               "Such a token ends or begins inside a character, and is no part of one character alone.", "less", 2,
               crosses_characters, "", True, _TOKEVAL),
        Figure("number_boundaries", "Three-digit boundaries",
               "F1 = 2 both / (token boundaries in numbers + boundaries every three digits from the right)", "",
               "A number is a run of the digits 0 to 9. All boundaries of the text are one set, so a number of up to "
               "three digits in one token counts for nothing.",
               "more", 3, number_boundaries, "numbers", False, f"{_SINGH}, and {_TOKEVAL}",
               f"There is no boundary of either kind, {_OF_WORDS}"),
        Figure("number_splits", "Splits of numbers",
               "H(split | digits) = - sum p(digits, split) log2 p(split | digits)", "bits per number",
               "At 0, all numbers of as many digits are split alike. Numbers of 2 to 64 digits; text with few of them "
               "has few splits.", "less", 3, number_splits, "numbers", False, _TOKEVAL,
               f"The text has no number of 2 to 64 digits, {_OF_WORDS}"),
        *(
            Figure(name, title, f"Tokens of the text {change} / N", "times the tokens of the text as it is",
                   note, "near 1", 3, partial(changed_tokens, name=name), name, dash=_DASH)
            for name, title, change, note in _CHANGED
        ),
    )
}  # fmt: skip

SUMMARIES = ("total", "gini", "worst_premium")
