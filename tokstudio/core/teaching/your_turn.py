"""Your turn: a person chooses the pairs that are merged in a short text; the most frequent ones are the measure."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from tokstudio.core.base.errors import TokStudioError

Pair = tuple[str, str]

#: The merges of a game.
ROUNDS = 10
TEXTS: dict[str, str] = {
    "Sea shells": "she sells sea shells by the sea shore, and the shells she sells are sea shells for sure",
    "The house": "this is the cat that caught the rat that ate the malt that lay in the house that jack built",
    "Woodchuck": "how much wood would a woodchuck chuck if a woodchuck could chuck as much wood as he could",
}


class LearnerChoice(NamedTuple):
    """A merge that was chosen, with the most frequent pair of that moment: the first met of several."""

    pair: Pair
    times: int
    best: Pair
    best_times: int


def count_pairs(tokens: Sequence[str]) -> Counter[Pair]:
    """How often each pair stands side by side: `count_pairs("aaab")` has 2 for ("a", "a") and 1 for ("a", "b")."""
    return Counter(pairwise(tokens))


def join(tokens: Sequence[str], pair: Pair) -> list[str]:
    """The tokens after a merge, from left to right: `join("aaab", ("a", "a"))` is `["aa", "a", "b"]`."""
    joined: list[str] = []
    at = 0
    while at < len(tokens):
        both = tuple(tokens[at : at + 2]) == pair
        joined.append("".join(pair) if both else tokens[at])
        at += 2 if both else 1
    return joined


class YourTurn:
    """A game on a text, whose first tokens are its characters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(text)  # after the merges chosen so far
        self.choices: list[LearnerChoice] = []
        self._best = list(text)

    @property
    def best_tokens(self) -> int:
        """See the class."""
        return len(self._best)

    @property
    def is_over(self) -> bool:
        """Whether all merges are made, or no pair is left."""
        return len(self.choices) == ROUNDS or len(self.tokens) < 2

    def choose(self, pair: Pair) -> LearnerChoice:
        """Merges a pair; raises TokStudioError where the game is over, or the pair does not stand side by side."""
        counts = count_pairs(self.tokens)
        if self.is_over or pair not in counts:
            raise TokStudioError(f"{pair[0]} and {pair[1]} cannot be joined.")
        best, count = counts.most_common(1)[0]
        choice = LearnerChoice(pair, counts[pair], best, count)
        self.choices.append(choice)
        self.tokens = join(self.tokens, pair)
        if len(self._best) > 1:
            self._best = join(self._best, count_pairs(self._best).most_common(1)[0][0])
        return choice

    def to_json(self, name: str) -> str:
        """The score, with every choice, so that a teacher can play the game again."""
        score = {
            "exercise": "your-turn",
            "name": name,
            "text": self.text,
            "merges": [choice._asdict() for choice in self.choices],
            "tokens_at_first": len(self.text),
            "tokens": len(self.tokens),
            "tokens_of_best": self.best_tokens,
        }
        return json.dumps(score, ensure_ascii=False, indent=2) + "\n"
