"""Counts the tokens that a tokenizer makes of a text, and of each of its words."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.analysis.baselines import WORDS, AnyTokenizer, SimpleTokenizer, WordTokenizer
from tokstudio.core.analysis.token_store import TokenCounts, TokenStore, uses_work
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.comparison.changed_texts import ChangedTokens, changed_tokens_work
from tokstudio.core.comparison.cut_characters import parts_of_characters_work
from tokstudio.core.comparison.numbers import NumberSplits, numbers_work
from tokstudio.core.comparison.texts import ComparedText, WordTypes, word_types_work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.pretokenization.special_tokens import AllowedSpecial
from tokstudio.core.tokenizer.self_encoding import each_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BEGINNING = 1 << 14  # bytes of text that are decoded again
_WORDS = 1 << 13
_TEXTS = 1 << 12
_LOST = "Decoding does not restore the text."
_NORMALISED = "Decoding gives the same text in another Unicode normal form."


@dataclass(frozen=True)
class WordPieces:
    """What a tokenizer makes of the words of a text, each encoded by itself as in running text."""

    words: int
    split: int  # words with more than one token
    types: int  # distinct words; 0 where they are not known, as of several texts together
    whole: int  # distinct words with one token that is not the unknown one

    @classmethod
    def joined(cls, parts: Sequence[WordPieces]) -> WordPieces:
        """Those of several texts, by the same tokenizer; a distinct word can be in several of them."""
        return cls(sum(part.words for part in parts), sum(part.split for part in parts), 0, 0)


#: What is measured of a text only for the figures that need it: "words", "numbers", or a change of `CHANGES`.
Part = WordPieces | NumberSplits | ChangedTokens


def part_work(name: str, tokenizer: AnyTokenizer, text: ComparedText) -> Work[Part]:
    """Measures what some figures need, by its name; raises as `counts_work`."""
    if name == "words":
        return (yield from words_work(tokenizer, text))
    if name == "numbers":
        return (yield from numbers_work(tokenizer, text))
    return (yield from changed_tokens_work(tokenizer, text, name))


def joined_parts(parts: Sequence[Part]) -> Part:
    """What was measured of several texts together, at least one; all are of one kind."""
    return type(parts[0]).joined(parts)  # pyright: ignore[reportArgumentType]


def counts_work(tokenizer: AnyTokenizer, text: ComparedText, store: TokenStore | None = None) -> Work[TokenCounts]:
    """Counts the tokens of a text, encoded document by document; special tokens in it are text like any other.

    Without a `store`, nothing is kept, and no hash of text and tokenizer is needed.

    Raises:
        ConfigError: The text has a character that is not in the vocabulary.
        FormatError: The library that encodes for the tokenizer refuses the text.
    """
    corpus = Corpus((text.source,))
    counts = yield from (uses_work(tokenizer, corpus) if store is None else store.counts_work(tokenizer, corpus))
    remarks, loses_text = yield from _remarks_work(tokenizer, text, counts)
    parts = None if text.is_utf8 else (yield from parts_of_characters_work(tokenizer, text))
    return replace(counts, remarks=remarks, loses_text=loses_text, parts_of_characters=parts)


def _remarks_work(
    tokenizer: AnyTokenizer, text: ComparedText, counts: TokenCounts
) -> Work[tuple[tuple[str, ...], bool]]:
    """What a reader of the figures must know, and whether text is lost: unknown tokens, and text not restored."""
    if isinstance(tokenizer, SimpleTokenizer):
        return (), False
    if number := _unknown(tokenizer, counts):
        return (f"{several(number, 'unknown token')}.", _LOST), True
    if _restores_all(tokenizer):
        return (), False
    is_normalised, is_lost = yield from _restores_work(tokenizer, text.source, text.word_types)
    return (_LOST,) if is_lost else (_NORMALISED,) if is_normalised else (), is_lost


def loses_text_work(tokenizer: Tokenizer, corpus: Corpus, counts: TokenCounts) -> Work[bool]:
    """Whether a text with these tokens is unknown in part or not restored, as `counts_work` says it of a text."""
    if _unknown(tokenizer, counts):
        return True
    if _restores_all(tokenizer) or not corpus.sources:
        return False
    words, _ = yield from word_types_work(*corpus.sources)
    return (yield from _restores_work(tokenizer, corpus.sources[0], words))[1]


def _unknown(tokenizer: Tokenizer, counts: TokenCounts) -> int:
    """How many of the tokens of a text are the unknown one."""
    unknown = tokenizer.alphabet.unknown
    return 0 if unknown is None else int(counts.counts[counts.ids == unknown].sum())


def _restores_all(tokenizer: Tokenizer) -> bool:
    """Whether decoding restores every text of known tokens."""
    return tokenizer.library is None and tokenizer.preparation.is_plain


def _restores_work(tokenizer: Tokenizer, source: Source, word_types: WordTypes) -> Work[tuple[bool, bool]]:
    """Whether decoding changes the beginning of a text, or words that have all its other characters.

    First whether it gives another normal form of the same text (NFC, NFD), then whether it gives another text.
    """
    beginning = np.asarray(source.data[:_BEGINNING]).tobytes().decode("utf-8", "ignore")
    seen, words = set(beginning), list[str]()
    for number, raw in enumerate(word_types):
        word = raw.decode("utf-8", "ignore").lstrip(" ")
        if not seen.issuperset(word):
            seen.update(word)
            words.append(word)
        if number % _WORDS == 0:
            yield Progress("encoding", number, len(word_types))
    # Spaces between all words, because a normalizer would join or reorder marks of different words.
    is_normalised = False
    for words_before in (beginning, " ".join(words)):
        back = yield from tokenizer.decode_bytes_work((yield from tokenizer.encode_work(words_before)))
        decoded = back.decode("utf-8", "replace").strip(" ")
        if decoded != words_before.strip(" "):
            if unicodedata.normalize("NFC", decoded) != unicodedata.normalize("NFC", words_before.strip(" ")):
                return False, True
            is_normalised = True
    return is_normalised, False


def words_work(tokenizer: AnyTokenizer, text: ComparedText) -> Work[WordPieces]:
    """Encodes each distinct word of a text by itself; raises as `counts_work`."""
    words = list(text.word_types)
    ids, sizes = yield from ids_of_each_work(tokenizer, (yield from in_running_text_work(tokenizer, words)))
    ends = np.cumsum(sizes)
    if isinstance(tokenizer, Tokenizer):
        first = np.full(len(words), -1, np.int64)
        first[sizes > 0] = ids[(ends - sizes)[sizes > 0]]
        sizes = sizes - _added_spaces(tokenizer, words, first)
    split, whole = sizes > 1, sizes == 1
    if isinstance(tokenizer, Tokenizer) and tokenizer.alphabet.unknown is not None:
        whole[whole] = ids[ends[whole] - 1] != tokenizer.alphabet.unknown
    occurrences = text.word_types.counts
    return WordPieces(text.words, int(occurrences[split].sum()), len(words), int(np.count_nonzero(whole)))


def _added_spaces(tokenizer: Tokenizer, words: Sequence[bytes], first: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which words without a space before them have the token of one, which their tokenizer adds to each text.

    `first` is int64 [words], the first token of each; -1 where there is none.
    """
    spaces = [token for token in np.unique(first).tolist() if token >= 0 and tokenizer.tokens[token] == b" "]
    has_none = np.fromiter((word[:1] != b" " for word in words), np.bool_, len(words))
    return has_none & np.isin(first, spaces)


def tokens_of_text_work(tokenizer: AnyTokenizer | None, text: str, allowed_special: AllowedSpecial = ()) -> Work[int]:
    """The number of tokens of a text; None stands for the words of the text itself. Raises as `counts_work`."""
    if tokenizer is None:
        tokenizer = yield from WordTokenizer.from_text_work(text, WORDS)
    if isinstance(tokenizer, SimpleTokenizer):
        return len((yield from tokenizer.encode_work(text)))
    return len((yield from tokenizer.encode_work(text, allowed_special)))


def in_running_text_work(tokenizer: AnyTokenizer, words: Sequence[bytes]) -> Work[list[bytes]]:
    """Words as the tokenizer is to encode them; of one that adds a space to each text, without their own at first."""
    before = yield from _before_work(tokenizer)
    if before == b" ":
        return list(words)
    return [before + word[1:] if word[:1] == b" " else word for word in words]


def tokens_of_each_work(tokenizer: AnyTokenizer, texts: Sequence[bytes]) -> Work[NDArray[np.int64]]:
    """int64 [texts], how many tokens each text becomes by itself; raises as `counts_work`."""
    return (yield from ids_of_each_work(tokenizer, texts))[1]


def ids_of_each_work(
    tokenizer: AnyTokenizer, texts: Sequence[bytes]
) -> Work[tuple[NDArray[np.uint32], NDArray[np.int64]]]:
    """Encodes each text by itself; raises as `counts_work`.

    Returns:
        uint32 [tokens], the ids of all texts, one after another; and int64 [texts], how many each text has.
    """
    ids, sizes = [np.empty(0, np.uint32)], np.zeros(len(texts), np.int64)
    for first in range(0, len(texts), _TEXTS):
        some = texts[first : first + _TEXTS]
        if isinstance(tokenizer, SimpleTokenizer):
            each = [tokenizer.encode_array(text) for text in some]
            all_ids, counts = np.concatenate(each), np.array(list(map(len, each)), np.int64)
        elif tokenizer.library is not None or not tokenizer.preparation.is_plain:
            all_ids, _, counts = yield from tokenizer.encode_texts_with_ends_work(some)
        else:
            if tokenizer.alphabet.base == "characters":
                some = [text.decode("utf-8", "replace").encode() for text in some]
            all_ids, counts = yield from each_work(tokenizer.encoder(tokenizer.pattern), some)
        ids.append(all_ids)
        sizes[first : first + _TEXTS] = counts
        yield Progress("encoding", first, len(texts))
    return np.concatenate(ids), sizes


def _before_work(tokenizer: AnyTokenizer) -> Work[bytes]:
    """The bytes to put before a word, so that it is encoded as after another word."""
    if isinstance(tokenizer, SimpleTokenizer):
        return b""
    try:
        alone = yield from tokenizer.encode_work("a")
        after = yield from tokenizer.encode_work(" a")
        together = yield from tokenizer.encode_work("a a")
    except ConfigError:  # a vocabulary of characters without these
        return b" "
    # Some libraries add a space to each text.
    adds = np.array_equal(together, np.concatenate([alone, alone])) and not np.array_equal(after, alone)
    return b"" if adds else b" "
