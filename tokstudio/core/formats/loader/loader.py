"""Encodes and decodes text with the tokenizer in the two JSON files beside this file, in plain Python.

    from loader import load

    tokenizer = load()
    ids = tokenizer.encode("Hello world")
    text = tokenizer.decode(ids)

It needs nothing but Python, and the package `regex` where the tokenizer splits text by a pattern. A list of merges is
followed in its order. With Picky BPE, tokens are removed again between merges, and fall apart. With BoundlessBPE, words
that have become one token are joined afterwards. TokStudio wrote it, and checked that it gives TokStudio's ids.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import Any

VOCABULARY, MERGES = "loader_vocabulary.json", "loader_merges.json"
_MOST_KNOWN = 1 << 16  # words whose tokens are kept


def load(vocabulary: str | Path | None = None, merges: str | Path | None = None) -> LoadedTokenizer:
    """The tokenizer of the files beside this one, or of those that are named."""
    folder = Path(__file__).resolve().parent
    paths = Path(vocabulary or folder / VOCABULARY), Path(merges or folder / MERGES)
    return LoadedTokenizer(*(json.loads(path.read_text(encoding="utf-8")) for path in paths))


class LoadedTokenizer:
    """A tokenizer, from what the two files hold."""

    def __init__(self, vocabulary: dict[str, Any], merges: dict[str, Any]) -> None:
        self._of_bytes = vocabulary["base"] == "bytes"
        self.tokens = {int(number): _bytes(token) for number, token in vocabulary["tokens"].items()}
        self.special_tokens: dict[str, int] = vocabulary["special_tokens"]
        self._base = {self.tokens[number]: number for number in vocabulary["base_tokens"]}
        self._unknown: int | None = vocabulary["unknown"]
        self._whole_words = {self.tokens[number]: number for number in vocabulary["whole_words"]}
        self._joined_words = frozenset(vocabulary["joined_words"])
        self._pattern: Any = None
        if vocabulary["regex"] is not None:
            try:
                import regex
            except ImportError as error:
                raise ImportError("This tokenizer splits text by a pattern: pip install regex") from error

            self._pattern = regex.compile(vocabulary["regex"])
        columns, rows = merges["columns"], merges["merges"]
        numbered = [(number, *row[:3]) for number, row in enumerate(rows)]
        across = columns.index("supermerge") if "supermerge" in columns else None
        within = [row for row in numbered if across is None or not rows[row[0]][across]]
        self._within = _Events(within, merges["falls"])
        self._across = _Events([row for row in numbered if across is not None and rows[row[0]][across]], [])
        self._known: dict[str, list[int]] = {}

    def encode(self, text: str, allowed_special: Collection[str] | str = ()) -> list[int]:
        """The ids of a text; special tokens are recognised if they are allowed, by their texts or as "all"."""
        # Half a surrogate pair is no character.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        allowed = self.special_tokens.keys() if allowed_special == "all" else set(allowed_special)
        if unknown := sorted(allowed - self.special_tokens.keys()):
            raise ValueError(f"{unknown[0]!r} is no special token")
        ids: list[int] = []
        # Of several at one place, the longest is found.
        longest = sorted(allowed, key=len, reverse=True)
        parts = re.split(f"({'|'.join(map(re.escape, longest))})", text) if longest else [text]
        for number, part in enumerate(parts):
            ids += [self.special_tokens[part]] if number % 2 else self._encode(part)
        return ids

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of ids; KeyError for one that is not in the vocabulary."""
        texts = {number: token.encode() for token, number in self.special_tokens.items()}
        return b"".join(texts[number] if number in texts else self.tokens[number] for number in ids)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; bytes that are not UTF-8 become U+FFFD."""
        return self.decode_bytes(ids).decode("utf-8", "replace")

    def _encode(self, text: str) -> list[int]:
        """The ids of a text without special tokens."""
        ids: list[int] = []
        row: list[int] = []  # words that are one token each, next to each other
        for word in self._split(text):
            made = self._encode_word(word)
            if len(made) == 1 and made[0] in self._joined_words:
                row += made
                continue
            ids += self._across.apply(row)
            ids += made
            row = []
        return ids + self._across.apply(row)

    def _split(self, text: str) -> Iterator[str]:
        if self._pattern is None:
            return iter([text] if text else [])
        return (match.group() for match in self._pattern.finditer(text))

    def _encode_word(self, word: str) -> list[int]:
        made = self._known.get(word)
        if made is None:
            whole = self._whole_words.get(word.encode())
            made = self._within.apply(self._base_tokens(word)) if whole is None else [whole]
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[word] = made
        return made

    def _base_tokens(self, word: str) -> list[int]:
        units = [bytes([byte]) for byte in word.encode()] if self._of_bytes else [unit.encode() for unit in word]
        ids = [self._base.get(unit, self._unknown) for unit in units]
        if None in ids:
            raise ValueError(f"{units[ids.index(None)]!r} is not in the vocabulary")
        return [number for number in ids if number is not None]


class _Events:
    """Merges in their order, each with the removals after it, as events that follow each other.

    The merge of row k is event 3 k, the removal of its left part 3 k + 1, that of its right part 3 k + 2.
    """

    def __init__(self, rows: list[tuple[int, int, int, int]], falls: list[list[Any]]) -> None:
        self._merges = {number: (left, right, result) for number, left, right, result in rows}
        self._rows_of: dict[tuple[int, int], list[int]] = {}
        self._spans: dict[int, int] = {}  # of how many base tokens a token is
        for number, left, right, result in rows:
            self._rows_of.setdefault((left, right), []).append(number)
            self._spans[result] = self._spans.get(left, 1) + self._spans.get(right, 1)
        # By token: the event that removes it, and what it falls into.
        self._falls: dict[int, tuple[int, list[int]]] = {}
        for number, side, parts in falls:
            self._falls[self._merges[number][side]] = 3 * number + 1 + side, parts

    def apply(self, base: list[int]) -> list[int]:
        """The tokens that a sequence becomes. A token stands at the place of its first base token."""
        n = len(base)
        if n < 2:
            return list(base)
        symbols, following, previous = list(base), list(range(1, n + 1)), list(range(-1, n - 1))
        heap: list[tuple[int, int]] = []  # an event and its place; those that are not true any more are passed over
        for place in range(n - 1):
            if (event := self._next_merge(base[place], base[place + 1], -1)) >= 0:
                heap.append((event, place))
        heapify(heap)
        while heap:
            event, place = heappop(heap)
            number, kind = divmod(event, 3)
            left, right, result = self._merges[number]
            if kind == 0:
                gone = following[place]
                if symbols[place] != left or gone >= n or symbols[gone] != right:
                    continue
                parts, end = [result], following[gone]
                symbols[gone] = -1
            else:
                token = left if kind == 1 else right
                if symbols[place] != token:
                    continue
                parts, end = self._falls[token][1], following[place]
            at, before = place, previous[place]
            for index, part in enumerate(parts):
                symbols[at], previous[at] = part, before
                behind = at + self._spans.get(part, 1) if index + 1 < len(parts) else end
                following[at] = behind
                before, at = at, behind
            if end < n:
                previous[end] = before
            self._enter(heap, event, place, len(parts), (symbols, following, previous))
        return list(_linked(symbols, following))

    def _enter(
        self,
        heap: list[tuple[int, int]],
        event: int,
        place: int,
        amount: int,
        state: tuple[list[int], list[int], list[int]],
    ) -> None:
        """Enters what follows for new tokens from `place` on, for their pairs, and for the pair before them."""
        symbols, following, previous = state
        at = place if previous[place] < 0 else previous[place]
        for _ in range(amount + (at != place)):
            if at >= place and symbols[at] in self._falls and self._falls[symbols[at]][0] > event:
                heappush(heap, (self._falls[symbols[at]][0], at))
            behind = following[at]
            if behind < len(symbols):
                merge = self._next_merge(symbols[at], symbols[behind], event)
                if merge >= 0:
                    heappush(heap, (merge, at))
            at = behind

    def _next_merge(self, left: int, right: int, event: int) -> int:
        """The first event after `event` that merges two tokens; -1 for none."""
        for number in self._rows_of.get((left, right), ()):
            if 3 * number > event:
                return 3 * number
        return -1


def _linked(symbols: list[int], following: list[int]) -> Iterator[int]:
    at = 0
    while at < len(symbols):
        yield symbols[at]
        at = following[at]


def _bytes(token: str | list[int]) -> bytes:
    """A token as it is written: its text, or its bytes where these are not UTF-8."""
    return token.encode() if isinstance(token, str) else bytes(token)
