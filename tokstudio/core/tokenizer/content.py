"""What a tokenizer is made of, as one value, and the tables that all tokenizers of a run share."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.base.arguments import whole_number
from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import shown
from tokstudio.core.libraries.chat_templates import ChatRenderer
from tokstudio.core.model.alphabet import BYTES, LARGEST_ID, Alphabet, frozen_ids, missing_byte
from tokstudio.core.model.file_settings import FileSettings
from tokstudio.core.model.run import Run
from tokstudio.core.model.tokens import TokenParts, order_of_merges
from tokstudio.core.model.validation import check_sparseness, check_specials, check_vocabulary
from tokstudio.core.model.word_runs import Joining
from tokstudio.core.pretokenization.patterns import check_pattern
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.pretokenization.special_tokens import SpecialFinders
from tokstudio.core.tokenizer.dropout import Dropout
from tokstudio.core.tokenizer.merge_table import MergeTable
from tokstudio.core.tokenizer.origin import Origin, frozen_new_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.kernels.replay import Events

_LOOKED_AT = 1 << 6  # merges at either end
_SOON = 1 << 14  # merges that fit into a hash table in a few milliseconds


@dataclass(frozen=True, eq=False)
class TokenizerContent:
    """What a tokenizer is made of. The content of another is made of it by `dataclasses.replace`."""

    merges: NDArray[np.int32]  # [n, 2], ids of left and right in rank order
    merge_results: NDArray[np.int32]  # [n], the id that each merge makes
    alphabet: Alphabet = field(default_factory=Alphabet.of_bytes)
    special_tokens: Mapping[str, int] = field(default_factory=dict[str, int])  # with the id of each
    pattern: str = "none"
    extra_tokens: Mapping[int, bytes] = field(default_factory=dict[int, bytes])  # tokens that no merge makes, by id
    # ids of tokens that an equal pre-token becomes, though merging would not make them of it
    whole_words: frozenset[int] = frozenset()
    ignores_merges: bool = False  # whether every token is one that an equal pre-token becomes
    preparation: Preparation = field(default_factory=Preparation)
    remarks: tuple[str, ...] = ()  # those of `Tokenizer.remarks` that tell of requests which exported files leave out
    settings: FileSettings = field(default_factory=FileSettings)
    # bool [n], which merges are supermerges of BoundlessBPE: they join adjacent pre-tokens that are one token each and
    # hold a letter, or what earlier ones made of these; others merge within pre-tokens
    supermerges: NDArray[np.bool_] | None = None
    removals: NDArray[np.int64] | None = None  # see `Tokenizer.removals`; merges and rows are those of a run
    # of a training by SuperBPE past its transition: the pattern of stage 1, and the number of its merges
    first_stage: tuple[str, int] | None = None
    run: Run | None = None
    origin: Origin[Any] | None = None
    dropout: Dropout | None = None

    def frozen(self) -> TokenizerContent:
        """The same with read-only arrays; raises ConfigError where these cannot belong together."""
        merges, results = frozen_ids(self.merges).reshape(-1, 2), frozen_ids(self.merge_results)
        if len(results) != len(merges):
            counts = f"{len(merges):,} and {len(results):,}"
            raise ConfigError(f"Merges and their results must be equally many, not {counts}.")
        check_specials(self.special_tokens)
        check_sparseness(results, self.alphabet, self.special_tokens, self.extra_tokens)
        supermerges = self.supermerges
        return replace(
            self,
            merges=merges,
            merge_results=results,
            special_tokens=dict(self.special_tokens),
            extra_tokens=dict(self.extra_tokens),
            whole_words=frozenset(self.whole_words),
            remarks=tuple(self.remarks),
            supermerges=None if supermerges is None or not supermerges.any() else read_only(supermerges),
        )

    def check(self) -> None:
        """Raises ConfigError unless every merge joins tokens that exist already and makes a new one."""
        check_vocabulary(self.merges, self.merge_results, self.alphabet, self.special_tokens, self.extra_tokens)

    def first(self, merges: int) -> TokenizerContent:
        """The content with the first merges, and with the pattern of that time."""
        content = replace(self, merges=self.merges[:merges], merge_results=self.merge_results[:merges])
        if (supermerges := self.supermerges) is not None:
            some = supermerges[:merges]
            content = replace(content, supermerges=some if some.any() else None)
        if self.removals is not None:
            content = replace(content, removals=self.removals[:merges])
        if (stage := self.first_stage) is not None and merges <= stage[1]:
            content = replace(content, pattern=stage[0], first_stage=None)
        if (origin := self.origin) and (origin.change != "extended" or merges < len(origin.old.merges)):
            content = replace(content, origin=origin if merges == len(self.merges) else None)
        return content

    def alone(self) -> TokenizerContent:
        """The content without where it is from and without dropout."""
        return replace(self, run=None, origin=None, first_stage=None, dropout=None)

    def quick_hash(self) -> int:
        """A hash of what decides the ids, of which it looks at a part: equal contents have equal ones."""
        ends = self.merges[:_LOOKED_AT].tobytes(), self.merges[-_LOOKED_AT:].tobytes()
        specials = frozenset(self.special_tokens.items())
        return hash((self.pattern, self.alphabet.base, len(self.merges), *ends, specials, len(self.extra_tokens)))

    def decides_like(self, other: TokenizerContent) -> bool:
        """Whether another content gives the same ids, but for whole words, which a playhead may add."""
        pairs = [
            (getattr(self, name), getattr(other, name))
            for name in ("pattern", "special_tokens", "extra_tokens", "preparation", "first_stage", "dropout")
        ]
        mine, theirs = self.alphabet, other.alphabet
        pairs += [(mine.base, theirs.base), (mine.unknown, theirs.unknown)]
        arrays: list[tuple[NDArray[Any], NDArray[Any]]] = [
            (mine.units, theirs.units),
            (mine.ids, theirs.ids),
            (self.merges, other.merges),
            (self.merge_results, other.merge_results),
        ]
        for one, two in ((self.supermerges, other.supermerges), (self.removals, other.removals)):
            if one is None or two is None:
                pairs.append((one is None, two is None))
            else:
                arrays.append((one, two))
        return all(one == two for one, two in pairs) and all(np.array_equal(one, two) for one, two in arrays)

    def of_merges(self) -> TokenizerContent:
        """The content with its tokens, merges and pattern alone."""
        base = self.merges, self.merge_results, self.alphabet, self.special_tokens, self.pattern, self.extra_tokens
        return TokenizerContent(*base, self.whole_words)

    def renumbered(self, new_ids: NDArray[np.int32]) -> TokenizerContent:
        """The content with other ids, and alone but for its origin; see `Tokenizer.renumbered`."""
        origin = None if self.origin is None else self.origin.renumbered(new_ids)
        new_ids, specials, alphabet = frozen_new_ids(new_ids), self.special_tokens, self.alphabet
        stays = new_ids[self.merge_results] >= 0
        merges, results = self.merges[stays], self.merge_results[stays]
        if len(missing := np.flatnonzero(np.any(new_ids[merges] < 0, axis=1))):
            raise ConfigError(f"Token {results[missing[0]]} needs a token that is to be removed.")
        if np.any(new_ids[[*alphabet.ids.tolist(), *specials.values()]] < 0):
            raise ConfigError("Base tokens and special tokens cannot be removed.")
        if alphabet.unknown is not None and not np.any(new_ids[alphabet.unknown : alphabet.unknown + 1] >= 0):
            raise ConfigError("The token that stands for unknown characters cannot be removed.")
        used = new_ids[new_ids >= 0]
        if len(np.unique(used)) < len(used):
            raise ConfigError("Two tokens cannot get the same id.")
        id_of = {number: int(new) for number, new in enumerate(new_ids.tolist()) if new >= 0}
        return replace(
            self.alone(),
            merges=new_ids[merges],
            merge_results=new_ids[results],
            alphabet=alphabet.renumbered(new_ids),
            special_tokens={token: id_of[number] for token, number in specials.items()},
            extra_tokens={id_of[number]: token for number, token in self.extra_tokens.items() if number in id_of},
            whole_words=frozenset(id_of[number] for number in self.whole_words if number in id_of),
            settings=self.settings.renumbered(new_ids),
            supermerges=None if self.supermerges is None else self.supermerges[stays],
            origin=origin,
        )


class SharedTables:
    """What all tokenizers of a run share: the bytes of its tokens, and the tables of merges that encoding reads.

    Args:
        content: The frozen content with all merges.
    """

    def __init__(self, content: TokenizerContent) -> None:
        self._all = content
        merges, results = content.merges, content.merge_results
        in_order = content.run is not None or content.removals is not None
        # the order of merges, some of which join tokens of later ones; None where each comes after its parts
        self.order = None if in_order else order_of_merges(merges, results)
        rows = slice(None) if self.order is None else self.order.rows
        specials = {number: token.encode() for token, number in content.special_tokens.items()}
        tokens = {**specials, **content.extra_tokens, **content.alphabet.tokens}
        self.parts = TokenParts(tokens, read_only(merges[rows]), read_only(results[rows]))  # the parts of every token
        self.finders = SpecialFinders(content.special_tokens)  # what finds special tokens in text

    @cached_property
    def chat_renderer(self) -> ChatRenderer:
        """The process that renders chat templates."""
        return ChatRenderer()

    @property
    def ready(self) -> bool:
        """See `Tokenizer.ready`."""
        if self._all.removals is not None:
            return "events" in vars(self)
        return "merge_table" in vars(self) or len(self._all.merges) <= _SOON

    @cached_property
    def merge_table(self) -> MergeTable:
        """The hash table of the merges within pre-tokens."""
        supermerges = self._all.supermerges
        within = None if supermerges is None else ~supermerges
        return MergeTable(self._all.merges, self._all.merge_results, within, self.order is None)

    @cached_property
    def joining(self) -> Joining | None:
        """What joins tokens of adjacent words by supermerges; None where there are none."""
        if (supermerges := self._all.supermerges) is None:
            return None
        table = MergeTable(self._all.merges, self._all.merge_results, supermerges)
        return Joining(self.words_with_letters, table.pairs)

    @cached_property
    def words_with_letters(self) -> NDArray[np.bool_]:
        """Bool [all ids and more], which base tokens and results of merges within words hold a letter."""
        within, supermerges = self._all.merge_results, self._all.supermerges
        within = within if supermerges is None else within[~supermerges]
        has_letters, words = np.zeros(self.parts.size + 1, np.bool_), np.concatenate([self._all.alphabet.ids, within])
        has_letters[words] = self.parts.holds_letter[words]
        return has_letters

    @cached_property
    def events(self) -> Events | None:
        """Of Picky BPE: all merges and removals as encoding repeats them; else None."""
        if self._all.removals is None:
            return None
        from tokstudio.core.tokenizer.picky_encoder import events_of

        results = self._all.merge_results
        # The first merge always makes a new token.
        return events_of(self._all.merges, self._all.removals, int(results[0]) if len(results) else 0)

    def closed(self, content: TokenizerContent) -> TokenizerContent:
        """The content of the first merges without those that join tokens of merges after these; see `Tokenizer`."""
        n = len(content.merges)
        if self.order is None or not len(late := np.flatnonzero(self.order.complete[:n] > n)):
            return content
        # Their parts are not there.
        results, supermerges = content.merge_results, content.supermerges
        return replace(
            content,
            merges=np.delete(content.merges, late, axis=0),
            merge_results=np.delete(results, late),
            extra_tokens={**content.extra_tokens, **{token: self.parts[token] for token in results[late].tolist()}},
            whole_words=self.whole_words(content),
            supermerges=None if supermerges is None else np.delete(supermerges, late),
        )

    def whole_words(self, content: TokenizerContent) -> frozenset[int]:
        """The ids of tokens that an equal pre-token becomes with the first merges; see `Tokenizer.whole_words`."""
        if self.order is None or not content.ignores_merges:
            return content.whole_words
        n = len(content.merges)
        return content.whole_words.union(content.merge_results[self.order.complete[:n] > n].tolist())


# --- From a vocabulary and merges as bytes: ids are looked up, and all of it is checked -------------------------------


def content_of_parts(
    vocabulary: Mapping[int, bytes],
    merges: Sequence[tuple[bytes, bytes]],
    pattern: str,
    special_tokens: Mapping[str, int],
) -> TokenizerContent:
    """The content of a tokenizer; see `Tokenizer.from_parts`."""
    if not isinstance(vocabulary, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError("The vocabulary must be a mapping from ids to bytes.")
    check_pattern(pattern)
    check_specials(special_tokens)
    specials = {token: _id(shown(token), number) for token, number in special_tokens.items()}
    ids = _ids_of_tokens(vocabulary, specials)
    if (byte := missing_byte({token[0] for token in ids if len(token) == 1})) is not None:
        raise ConfigError(f"The byte {byte} has no token in the vocabulary: each of the 256 bytes needs one.")
    rows = np.array([_row(ids, number, pair) for number, pair in enumerate(merges, 1)], np.int32).reshape(-1, 3)
    id_of_part: dict[int, int] = {}
    for number, result in enumerate(rows[:, 2].tolist(), 1):
        if (earlier := id_of_part.setdefault(result, number)) != number:
            token = _shown(b"".join(merges[number - 1]))
            raise ConfigError(f"Merges {earlier:,} and {number:,} make the same token, {token}.")
    others = {number: token for token, number in ids.items() if len(token) > 1 and number not in id_of_part}
    alphabet = Alphabet.of_bytes([ids.get(bytes([byte]), -1) for byte in range(BYTES)])
    content = TokenizerContent(rows[:, :2].copy(), rows[:, 2].copy(), alphabet, specials, pattern, others).frozen()
    content.check()
    return content


def _ids_of_tokens(vocabulary: Mapping[int, bytes], specials: Mapping[str, int]) -> dict[bytes, int]:
    """The id of each token that is not special."""
    texts = {number: token.encode() for token, number in specials.items()}
    ids: dict[bytes, int] = {}
    for id_of_token, token in vocabulary.items():
        if not isinstance(token, bytes) or not token:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"Token {id_of_token!r} must be bytes, at least one, not {token!r}.")
        number = _id(_shown(token), id_of_token)
        if texts.get(number) == token:
            continue
        if (earlier := ids.setdefault(token, number)) != number:
            raise ConfigError(f"Tokens {earlier:,} and {number:,} have the same bytes, {_shown(token)}.")
    return ids


def _row(ids: Mapping[bytes, int], number: int, pair: tuple[bytes, bytes]) -> tuple[int, int, int]:
    """The ids of a merge: left, right and what it makes."""
    match pair:
        case [bytes() as left, bytes() as right]:
            tokens = (left, right, left + right)
        case _:
            raise ConfigError(f"Merge {number:,} must be two tokens as bytes, not {pair!r}.")
    if (missing := next((token for token in tokens if token not in ids), None)) is not None:
        raise ConfigError(f"Merge {number:,} needs the token {_shown(missing)}, which the vocabulary does not have.")
    return ids[left], ids[right], ids[left + right]


def _id(name: str, value: object) -> int:
    number = whole_number(f"The id of {name}", value)
    if not 0 <= number <= LARGEST_ID:
        raise ConfigError(f"The id of {name} must be from 0 to {LARGEST_ID:,}, not {number:,}.")
    return number


def _shown(token: bytes) -> str:
    return shown(token[:200].decode("utf-8", "backslashreplace"))
