"""The tokens that tokenizers make of texts: found once for all who ask, and kept by value.

An answer is kept by what it follows from: the question, the hash of the tokenizer and those of the sources. So nobody
has to say that a text or a tokenizer has changed: what is asked of it then has another key.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, is_dataclass
from functools import cached_property, lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from tokstudio.core.analysis.baselines import AnyTokenizer, SimpleTokenizer, WordTokenizer
from tokstudio.core.analysis.document_encoder import MARK, DocumentEncoder
from tokstudio.core.analysis.reachability import reachability_work
from tokstudio.core.analysis.token_counts import count_uses_work
from tokstudio.core.base.progress import Progress, Work, part_of
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source, by_entry
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")

MOST_BYTES = 256 << 20  # of all answers that are kept
_BESIDE_ARRAYS = 1 << 10  # bytes of an answer
_TURN = 0.02  # seconds
_PARTS = 1 << 12  # of JSON


@dataclass(frozen=True, eq=False)
class TokenCounts:
    """How often each token occurs in a text."""

    ids: NDArray[np.int64]  # [used], ascending
    counts: NDArray[np.int64]  # [used], at least 1
    remarks: tuple[str, ...] = ()  # each a sentence: unknown tokens, text that is lost or normalised
    loses_text: bool = False  # fewer tokens may then mean less text
    # Of text that is not UTF-8: how many characters are in several tokens, and how many tokens have a part of one and
    # bytes of another; tokens alone do not tell that. NaN where it is not known.
    parts_of_characters: tuple[float, float] | None = None

    @classmethod
    def of(cls, by_id: NDArray[Any]) -> TokenCounts:
        """The counts of all ids, [ids]."""
        used = np.flatnonzero(by_id)
        return cls(used, by_id[used].astype(np.int64))

    @cached_property
    def tokens(self) -> int:
        """The tokens of the text."""
        return int(self.counts.sum())

    def by_id(self, size: int) -> NDArray[np.int64]:
        """int64 [size], the counts of all ids."""
        counts = np.zeros(size, np.int64)
        counts[self.ids] = self.counts
        return counts


@lru_cache(maxsize=16)
def joined_counts(parts: tuple[TokenCounts, ...]) -> TokenCounts:
    """The counts of one tokenizer in several texts together, at least one. A window asks again and again."""
    ids, counts = np.concatenate([each.ids for each in parts]), np.concatenate([each.counts for each in parts])
    return TokenCounts.of(np.bincount(ids, counts))


class TokenStore:
    """Keeps what tokenizers make of texts, safely for all threads that ask.

    While one thread finds an answer, others that ask the same wait for it. Answers are kept up to `most_bytes`; the one
    that was not asked for the longest goes first. Their arrays are read-only.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        self.bytes = 0  # of the answers that are kept
        self._answers: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._hashes: WeakKeyDictionary[AnyTokenizer | Source, str] = WeakKeyDictionary()
        self._under_way: dict[Hashable, threading.Event] = {}
        self._lock = threading.Lock()

    def counts_work(self, tokenizer: AnyTokenizer, corpus: Corpus, *, recognise: bool = False) -> Work[TokenCounts]:
        """How often each token occurs in a corpus, in units of 1 / its `weight_scale`; see `count_uses_work`.

        Each entry of the corpus counts as often as its weight says. It is an answer of its own, so that another corpus
        with the same text, or other weights, is known, too.

        Raises:
            ConfigError, FormatError: As `count_uses_work`.
        """
        question = self.counts_question(tokenizer, recognise)
        parts, done = [TokenCounts(np.empty(0, np.int64), np.empty(0, np.int64))], 0
        for (_, sources), times in zip(by_entry(corpus.sources), corpus.multipliers, strict=True):
            size = sum(source.bytes for source in sources)
            if not times:
                done += size
                continue
            find = partial(uses_work, tokenizer, Corpus(sources), recognise and bool(tokenizer.special_tokens))
            work = self.answer_work(question, tokenizer, sources, find)
            found, done = (yield from part_of(work, "counting uses", done, size, corpus.bytes)), done + size
            parts.append(found if times == 1 else TokenCounts(found.ids, times * found.counts))
        return parts[1] if len(parts) == 2 else joined_counts(tuple(parts))

    def reach_work(self, tokenizer: Tokenizer) -> Work[NDArray[np.uint8]]:
        """Whether some text becomes each token; see `reachability_work`."""
        return (yield from self.answer_work("reach", tokenizer, (), partial(reachability_work, tokenizer)))

    def answer_work(
        self, question: Hashable, tokenizer: AnyTokenizer | None, sources: Sequence[Source], find: Callable[[], Work[T]]
    ) -> Work[T]:
        """The answer to a question about a tokenizer, or none, and sources: what `find` returns, unless it is kept.

        It must follow from these alone, and is an array, or a dataclass with arrays.
        """
        key: tuple[Hashable, ...] = (question,)
        for value in (*([] if tokenizer is None else [tokenizer]), *sources):
            key = *key, (yield from self._hash_work(value))
        while True:
            with self._lock:
                if key in self._answers:
                    self._answers.move_to_end(key)
                    return self._answers[key][0]
                other = self._under_way.get(key)
                if other is None:
                    is_found = self._under_way[key] = threading.Event()
                    break
            yield Progress("waiting")
            other.wait(_TURN)
        try:
            answer = yield from find()
            self._keep(key, answer)
        finally:
            with self._lock:
                del self._under_way[key]
            is_found.set()
        return answer

    def keep_work(
        self, question: Hashable, tokenizer: AnyTokenizer, sources: Sequence[Source], answer: object
    ) -> Work[None]:
        """Keeps an answer that was found together with another one; all as for `answer_work`."""

        def found() -> Work[object]:
            yield from ()
            return answer

        yield from self.answer_work(question, tokenizer, sources, found)

    def counts_question(self, tokenizer: AnyTokenizer, recognise: bool) -> Hashable:
        """The question that `counts_work` asks of each entry."""
        return "counts", recognise and bool(tokenizer.special_tokens)

    def _keep(self, key: Hashable, answer: object) -> None:
        parts: list[Any] = [answer, *(vars(answer).values() if is_dataclass(answer) else ())]
        arrays: list[NDArray[Any]] = [part for part in parts if isinstance(part, np.ndarray)]
        for array in arrays:
            array.setflags(write=False)
        size = _BESIDE_ARRAYS + sum(array.nbytes for array in arrays)
        with self._lock:
            self._answers[key], self.bytes = (answer, size), self.bytes + size
            while self.bytes > self.most_bytes:
                self.bytes -= self._answers.popitem(last=False)[1][1]

    def _hash_work(self, value: AnyTokenizer | Source) -> Work[str]:
        with self._lock:
            value_hash = self._hashes.get(value)
        if value_hash is None:
            if isinstance(value, Source):
                value_hash = yield from Corpus((value,)).sha256_work()
            elif isinstance(value, SimpleTokenizer):
                segments = value.segments if isinstance(value, WordTokenizer) else ()
                value_hash = value.title + _hash("\0".join(segments).encode())
            else:
                # One file can be read by two libraries, and one tokenizer has many dropouts.
                value_hash = f"{yield from hash_work(value)} {value.library} {value.dropout}"
            with self._lock:
                self._hashes[value] = value_hash
        return value_hash


def uses_work(tokenizer: AnyTokenizer, corpus: Corpus, recognise: bool = False) -> Work[TokenCounts]:
    """How often each token occurs in a corpus; see `TokenStore.counts_work`."""
    if not isinstance(tokenizer, SimpleTokenizer):
        return TokenCounts.of((yield from count_uses_work(tokenizer, corpus, recognise)))
    encoder, by_id = DocumentEncoder(tokenizer), np.zeros(0, np.int64)

    def take(ids: NDArray[np.uint32]) -> None:
        nonlocal by_id
        counts = np.bincount(ids[ids != MARK], minlength=len(by_id))
        counts[: len(by_id)] += by_id
        by_id = counts

    for source in corpus.sources:
        yield from encoder.take_work(source, take)
    return TokenCounts.of(by_id)


def hash_work(tokenizer: AnyTokenizer) -> Work[str]:
    """The hexadecimal SHA-256 of all that decides the ids of a tokenizer, for one at the playhead of its first merges.

    That is JSON with sorted keys, in which arrays are hashes: base tokens, merges with their results, special and extra
    tokens, pattern and preparation; or the files that its library reads. "" for a simple tokenizer, which its name
    describes.
    """
    if not isinstance(tokenizer, Tokenizer):
        return ""
    values: dict[str, object] = {name: _hash(content) for name, content in tokenizer.source_files.items()}
    yield Progress("hashing")
    alphabet, preparation = tokenizer.alphabet, asdict(tokenizer.preparation)  # which has sets
    rows = np.column_stack([tokenizer.merges, tokenizer.merge_results])
    supermerges, removals = tokenizer.supermerges, tokenizer.removals
    values |= {
        "base": alphabet.base,
        "base_ids": _hash(alphabet.ids.astype("<i8").tobytes()),
        "base_units": _hash(alphabet.units.astype("<i8").tobytes()),
        "unknown": alphabet.unknown,
        "merges": _hash(rows.astype("<i8").tobytes()),
        "supermerges": None if supermerges is None else _hash(supermerges.astype(np.uint8).tobytes()),
        "removals": None if removals is None else _hash(removals.astype("<i8").tobytes()),
        "special_tokens": dict(tokenizer.special_tokens),
        "extra_tokens": {token: token_bytes.hex() for token, token_bytes in tokenizer.extra_tokens.items()},
        "whole_words": sorted(tokenizer.whole_words),
        "pattern": tokenizer.pattern,
        "first_stage": tokenizer.content.first_stage,
        "preparation": preparation,
    }
    yield Progress("hashing")
    digest, parts = hashlib.sha256(), json.JSONEncoder(sort_keys=True, default=sorted).iterencode(values)
    # `json.dumps` of a large vocabulary would stop all other threads.
    while some := "".join(islice(parts, _PARTS)):
        digest.update(some.encode())
        yield Progress("hashing")
    return digest.hexdigest()


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
