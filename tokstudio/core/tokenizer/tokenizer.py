"""The tokenizer: a vocabulary and ranked merges that encode text and decode ids. Immutable."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work, finish
from tokstudio.core.model.alphabet import Alphabet, frozen_ids
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.file_settings import FileSettings
from tokstudio.core.model.picky import LEFT_GONE, RESULT
from tokstudio.core.model.run import Run, special_ids
from tokstudio.core.model.tokens import TokenKind, TokenParts, Tokens, order_of_merges, whole_number
from tokstudio.core.model.validation import check_sparseness, check_vocabulary
from tokstudio.core.model.word_runs import Joining
from tokstudio.core.pretokenization.patterns import known_name
from tokstudio.core.pretokenization.preparation import Preparation, PreparedText, prepare_work
from tokstudio.core.pretokenization.special_tokens import AllowedSpecial, SpecialFinders
from tokstudio.core.pretokenization.word_table import PADDING
from tokstudio.core.text.utf8 import Text, to_utf8
from tokstudio.core.tokenizer.batch import Batch, check_text, encode_each, encode_texts, ends_work, padding_id
from tokstudio.core.tokenizer.dropout import Dropout, encode_with_dropout_work
from tokstudio.core.tokenizer.encoder import LONGEST, ShortTexts
from tokstudio.core.tokenizer.from_parts import arguments_of_parts
from tokstudio.core.tokenizer.origin import Origin, renumbered_arguments, unchanged_ids

if TYPE_CHECKING:
    from tokstudio.core.kernels.replay import Events
    from tokstudio.core.tokenizer.encoder import Encoder

_PLAIN = Preparation()
_NO_SETTINGS = FileSettings()
_SOON = 1 << 14  # merges that fit into a hash table in a few milliseconds


class Tokenizer:
    """A byte pair encoding tokenizer.

    Args:
        merges: int32 [n, 2], ids of left and right in rank order.
        merge_results: int32 [n], the id each merge makes; None for the ids after the alphabet's, in order.
        alphabet: The base tokens; None for the bytes with their own numbers.
        special_tokens: Each special token's text with its id.
        pattern: How text is split before merging: a name of `patterns.NAMES` or a regular expression.
        extra_tokens: Tokens of a file that no merge makes: the bytes of each by its id.
        whole_words: Ids of tokens that an equal pre-token becomes, though merging would not make them of it.
        ignores_merges: Whether every token is one that an equal pre-token becomes, as `ignore_merges` says in files.
        preparation: What is done to a text before it is split.
        remarks: See `left_out`.
        settings: See `settings`.
        supermerges: bool [n], which merges are supermerges of BoundlessBPE: they join adjacent pre-tokens that are one
            token each and hold a letter, or what earlier ones made of these; others merge within pre-tokens.
        run: The run it comes from, if any.
        origin: See `origin`.
        removals: See `removals`; the merges and the rows must be those of a run.
        checked: Whether the merges are known to be valid. They may then join tokens that later ones make.

    Raises:
        ConfigError: A merge names an id that neither a base token nor an earlier merge has, or two tokens share an id.
    """

    def __init__(
        self,
        merges: NDArray[np.int32],
        merge_results: NDArray[np.int32] | None = None,
        *,
        alphabet: Alphabet | None = None,
        special_tokens: Mapping[str, int] | None = None,
        pattern: str = "none",
        extra_tokens: Mapping[int, bytes] | None = None,
        whole_words: Collection[int] = (),
        ignores_merges: bool = False,
        preparation: Preparation = _PLAIN,
        remarks: Collection[str] = (),
        settings: FileSettings = _NO_SETTINGS,
        supermerges: NDArray[np.bool_] | None = None,
        run: Run | None = None,
        origin: Origin[Tokenizer] | None = None,
        removals: NDArray[np.int64] | None = None,
        checked: bool = False,
    ) -> None:
        self._alphabet = Alphabet.of_bytes() if alphabet is None else alphabet
        self._specials = dict(special_tokens or {})
        self._pattern, self._first_stage = pattern, None
        self._extra = dict(extra_tokens or {})
        self._whole_words, self._ignores_merges = frozenset(whole_words), ignores_merges
        self._preparation = preparation
        self._left_out = tuple(remarks)
        self._merges = frozen_ids(merges).reshape(-1, 2)
        if merge_results is None:
            first = int(np.max(self._alphabet.ids, initial=-1)) + 1
            merge_results = np.arange(first, first + len(self._merges), dtype=np.int32)
        self._results = frozen_ids(merge_results)
        self._removals = removals
        if len(self._results) != len(self._merges):
            counts = f"{len(self._merges):,} and {len(self._results):,}"
            raise ConfigError(f"Merges and their results must be equally many, not {counts}.")
        if "" in self._specials:
            raise ConfigError("A special token must not be empty.")
        self._settings, self._run, self._origin = settings, run, origin
        self._dropout: Dropout | None = None
        self._limit = len(self._merges)
        self._supermerges = None if supermerges is None or not supermerges.any() else read_only(supermerges)
        check_sparseness(self._results, self._alphabet, self._specials, self._extra)
        if not checked:
            check_vocabulary(self._merges, self._results, self._alphabet, self._specials, self._extra)
        self._order = None if run is not None or removals is not None else order_of_merges(self._merges, self._results)
        base = {number: token.encode() for token, number in self._specials.items()}
        rows = slice(None) if self._order is None else self._order.rows
        known = {**base, **self._extra, **self._alphabet.tokens}
        self._parts = TokenParts(known, read_only(self._merges[rows]), read_only(self._results[rows]))
        self._finders = SpecialFinders(self._specials)
        self._shared: dict[Any, Any] = {}

    @classmethod
    def from_run(cls, run: Run) -> Tokenizer:
        """The tokenizer that a run has trained."""
        if run.start is not None:
            assert isinstance(run.start, Tokenizer)
            return run.start.extended(run.merges, run.base_size, run)
        of_run = run.merges, run.config, run.alphabet, run.base_size, run
        return cls.from_training(*of_run, run.supermerges, run.removals)

    @classmethod
    def from_training(
        cls,
        merges: NDArray[np.int32],
        config: TrainingConfig,
        alphabet: Alphabet,
        base_size: int,
        run: Run | None = None,
        supermerges: NDArray[np.bool_] | None = None,
        removals: NDArray[np.int64] | None = None,
    ) -> Tokenizer:
        """The tokenizer of the merges that the `Trainer` has made so far; `base_size` ids come before theirs."""
        results = np.arange(base_size, base_size + len(merges), dtype=np.int32)
        if removals is not None:
            results = removals[:, RESULT].astype(np.int32)
        specials = special_ids(config, base_size + len(merges))
        if config.unknown_token is not None:
            alphabet = replace(alphabet, unknown=specials[config.unknown_token])
        given: dict[str, Any] = {"special_tokens": specials, "supermerges": supermerges, "removals": removals}
        made = cls(merges, results, alphabet=alphabet, run=run, checked=True, **given)
        made._pattern, made._first_stage = config.patterns_after(len(merges), base_size)
        return made

    def extended(self, merges: NDArray[np.int32], first: int, run: Run | None = None) -> Tokenizer:
        """The same tokenizer with further merges, which are known to be valid and make the ids from `first` on."""
        results = np.arange(first, first + len(merges), dtype=np.int32)
        return self.changed(
            merges=np.concatenate([self.merges, merges]),
            merge_results=np.concatenate([self.merge_results, results]),
            run=run,
            origin=Origin(self, "extended", unchanged_ids(self.tokens.ids())),
            checked=True,
        )

    @classmethod
    def from_parts(
        cls,
        vocabulary: Mapping[int, bytes],
        merges: Sequence[tuple[bytes, bytes]],
        pattern: str = "none",
        special_tokens: Mapping[str, int] | None = None,
    ) -> Tokenizer:
        """The tokenizer of a vocabulary by id, with or without special tokens, and of pairs of tokens in rank order.

        Raises:
            ConfigError: A byte or a part of a merge has no id; two tokens, or what two merges make, are equal; an id is
                impossible; or the pattern is.
        """
        return cls(**arguments_of_parts(vocabulary, merges, pattern, special_tokens or {}))

    @property
    def run(self) -> Run | None:
        """The run it was trained in; None for one that was loaded."""
        return self._run

    @property
    def origin(self) -> Origin[Tokenizer] | None:
        """The tokenizer that it was made from, and how; None for one that was trained from nothing or loaded."""
        return self._origin

    @property
    def merges(self) -> NDArray[np.int32]:
        """int32 [n, 2], ids of left and right in rank order."""
        return self._merges[: self._limit]

    @property
    def merge_results(self) -> NDArray[np.int32]:
        """int32 [n], the id that each merge makes."""
        return self._results[: self._limit]

    @property
    def removals(self) -> NDArray[np.int64] | None:
        """int64 [n, 4], what each merge of Picky BPE made and removed, as in `Run`; None for other tokenizers."""
        return None if self._removals is None else self._removals[: self._limit]

    @property
    def alphabet(self) -> Alphabet:
        """The base tokens."""
        return self._alphabet

    @property
    def byte_ids(self) -> NDArray[np.int32]:
        """int32 [256], the id of each byte, -1 for none; raises ConfigError where the base tokens are characters."""
        if self._alphabet.base != "bytes":
            raise ConfigError("This tokenizer is made of characters: its bytes have no ids.")
        return self._alphabet.id_of

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Each special token's text with its id."""
        return dict(self._specials)

    @property
    def roles(self) -> Mapping[str, str]:
        """The special tokens that were given a role, such as "eos_token", by role; names may give others theirs."""
        return dict(self._settings.roles)

    @property
    def settings(self) -> FileSettings:
        """What its files say besides its tokens: roles, chat templates, post-processor, the keys of configurations."""
        return self._settings

    @property
    def pattern(self) -> str:
        """How text is split before merging: a name or a regular expression."""
        return self._pattern

    @property
    def first_stage(self) -> tuple[str, int] | None:
        """Of a training by SuperBPE past its transition: the pattern of stage 1, and the number of its merges."""
        return self._first_stage

    @property
    def extra_tokens(self) -> Mapping[int, bytes]:
        """The bytes, by id, of each token that is neither base nor special and that no merge makes."""
        return dict(self._extra)

    @cached_property
    def whole_words(self) -> frozenset[int]:
        """Ids of tokens that an equal pre-token becomes, though merging would not make them of it."""
        if self._order is None or not self._ignores_merges:
            return self._whole_words
        return self._whole_words.union(self.merge_results[self._order.complete[: self._limit] > self._limit].tolist())

    @property
    def ignores_merges(self) -> bool:
        """Whether its file says that every token is one that an equal pre-token becomes."""
        return self._ignores_merges

    @property
    def needed_merges(self) -> NDArray[np.int32] | None:
        """int32 [n], how many of the first merges are needed for the result of each; None if it is always the last.

        It is given where a merge joins a token that a later one makes, as with the ranks of tiktoken. With fewer
        merges, the result is in the vocabulary, but merging does not make it.
        """
        return None if self._order is None else self._order.complete[: self._limit]

    @property
    def supermerges(self) -> NDArray[np.bool_] | None:
        """Which merges are supermerges, bool [n]; None where none is."""
        given = None if self._supermerges is None else self._supermerges[: self._limit]
        return None if given is None or not given.any() else given

    @property
    def preparation(self) -> Preparation:
        """What is done to a text before it is split."""
        return self._preparation

    @property
    def remarks(self) -> tuple[str, ...]:
        """Requests of its files that `encode` ignores, and what is to be known of these files, each a sentence."""
        return (*self._left_out, *self._settings.remarks())

    @property
    def left_out(self) -> tuple[str, ...]:
        """Those of the `remarks` that tell of requests which exported files leave out, too."""
        return self._left_out

    @property
    def library(self) -> str | None:
        """The library that encodes and decodes for this tokenizer; None where TokStudio does."""
        return None

    @property
    def model(self) -> str:
        """The kind of its model: "BPE", or another that its library has, such as "Unigram"."""
        return "BPE"

    @property
    def no_merges(self) -> str | None:
        """Why it has no merges, a sentence; None where its model is a byte pair encoding."""
        return None if self.model == "BPE" else f"There are no merges: the model of this tokenizer is {self.model}."

    @property
    def no_playhead(self) -> str | None:
        """Why only all merges together can be used, as the end of a sentence; None where `at` takes any number."""
        return None

    @property
    def source_files(self) -> Mapping[str, bytes]:
        """The files that its library reads, by name; none where TokStudio encodes."""
        return {}

    @property
    def ready(self) -> bool:
        """Whether `encode` starts at once, because its hash table of merges exists or is quickly made.

        With Picky BPE, only where its events exist: its loops may still have to be compiled.
        """
        return "merges" in self._shared or (self._removals is None and len(self._merges) <= _SOON)

    @cached_property
    def tokens(self) -> Tokens:
        """The bytes of each token by id; None where an id is not in use. A special token is its UTF-8."""
        in_use = np.zeros(self._parts.size, np.bool_)
        in_use[self._alphabet.ids] = True
        in_use[self.merge_results] = True
        if (rows := self.removals) is not None:
            gone = rows[:, LEFT_GONE:] >= 0
            in_use[self.merges[gone]] = False
        in_use[[*self._specials.values(), *self._extra]] = True
        size = int(np.max(np.flatnonzero(in_use), initial=-1)) + 1
        return Tokens(self._parts, in_use[:size])

    def __len__(self) -> int:
        """How many tokens there are."""
        if self._removals is not None:
            return len(self.tokens.ids())
        return len(self._alphabet) + self._limit + len(self._specials) + len(self._extra)

    def parts(self, token: int) -> tuple[int, int] | None:
        """The ids of the two tokens that a token joins; None for one that no merge makes."""
        left = int(self._parts.left[token])
        return None if left < 0 else (left, int(self._parts.right[token]))

    def bytes_of(self, token: int) -> bytes:
        """The bytes of a token that any merge has made, also of one that a later merge of Picky BPE has removed."""
        return self._parts[token]

    @property
    def lengths_of_all(self) -> NDArray[np.int64]:
        """int64 [ids and more], how many these are by id; -1 for an id without bytes."""
        return self._parts.lengths

    def is_known(self, token: int) -> bool:
        """Whether a token is in the vocabulary, or was until a merge of Picky BPE removed it."""
        return self.tokens.in_use(token) or (self._removals is not None and bool(np.any(self.merge_results == token)))

    def kind(self, token: int) -> TokenKind:
        """The kind of a token; raises ConfigError where it is not known."""
        if not self.is_known(token):
            raise ConfigError(f"Id {token} is not in the vocabulary.")
        if token in self.whole_words and token not in self._specials.values():
            return "whole word"
        if self.parts(token) is not None:
            return "merge"
        if token in self._extra:
            return "unreachable"
        if token in self._specials.values():
            return "special"
        return "byte" if self._alphabet.base == "bytes" else "character"

    def at(self, merges: int) -> Tokenizer:
        """The tokenizer with the first `merges` merges, the same ids and the pattern of that time; or ConfigError."""
        merges = whole_number("The number of merges", merges)
        if not 0 <= merges <= self._limit:
            raise ConfigError(f"There is no merge {merges:,}: this tokenizer has {self._limit:,}.")
        earlier = Tokenizer.__new__(Tokenizer)
        # One step, because another thread may be reading `tokens`.
        vars(earlier).update(vars(self).copy())
        for cached in ("tokens", "whole_words", "_encoder", "_short_texts"):
            vars(earlier).pop(cached, None)
        earlier._limit = merges
        if (stage := self._first_stage) is not None and merges <= stage[1]:
            earlier._pattern, earlier._first_stage = stage[0], None
        if (origin := self._origin) and (origin.change != "extended" or merges < len(origin.old.merges)):
            earlier._origin = origin if merges == self._limit else None
        return earlier

    def with_dropout(self, probability: float, seed: int = 0) -> Tokenizer:
        """The tokenizer with BPE-dropout in encoding: the same text with the same seed always becomes the same ids.

        Files and further trainings of the tokenizer do not have it; 0 takes it away.

        Raises:
            ConfigError: See `Dropout`; or another library encodes for this tokenizer, or it removes tokens.
        """
        dropout = Dropout(probability, seed)
        if probability and self.why_no_dropout is not None:
            raise ConfigError(self.why_no_dropout)
        other = self.at(self._limit)
        other._dropout = dropout if probability else None
        return other

    @property
    def why_no_dropout(self) -> str | None:
        """Why it encodes only without dropout, a sentence; None if it can have it."""
        if self.library is not None:
            return f"{self.library} encodes for this tokenizer: its merges cannot be passed over."
        if self._removals is not None:
            return "This tokenizer removes tokens again (Picky BPE): it encodes without dropout."
        if self.supermerges is not None:
            return "This tokenizer has supermerges, for which dropout is not defined."
        return None

    @property
    def dropout(self) -> Dropout | None:
        """How merges are passed over in encoding; None without dropout."""
        return self._dropout

    def compact(self) -> Tokenizer:
        """The same tokenizer without gaps between its ids, and without the merges after those of `at`."""
        new_ids = np.full(len(self.tokens), -1, np.int32)
        in_use = self.tokens.ids()
        new_ids[in_use] = np.arange(len(in_use), dtype=np.int32)
        return self.renumbered(new_ids)

    def renumbered(self, new_ids: NDArray[np.int32]) -> Tokenizer:
        """The same tokenizer with the ids `new_ids[id]` and no run; tokens with -1 go, unless others need them.

        Raises:
            ConfigError: It removes tokens again, as in Picky BPE, so that others depend on their ids.
        """
        if self.removals is not None:
            raise ConfigError("The ids of this tokenizer cannot change: it removes tokens again (Picky BPE).")
        origin = None if self._origin is None else self._origin.renumbered(new_ids)
        return Tokenizer(**renumbered_arguments(self._arguments(), new_ids), origin=origin, checked=True)

    def closed(self) -> Tokenizer:
        """The same tokenizer, where none of its merges joins a token that only merges after those of `at` make.

        Tokens that these merges lead to stay in the vocabulary, but no merge makes them.
        """
        order = self._order
        return self if order is None or np.all(order.complete[: self._limit] <= self._limit) else self.changed()

    def changed(self, **given: Any) -> Tokenizer:  # noqa: ANN401
        """The same tokenizer with the given arguments of `Tokenizer`, without its run."""
        # Its own merges are valid, also where later ones make what they join.
        arguments: dict[str, Any] = {"checked": self._order is not None, **self._arguments(), **given}
        return Tokenizer(**arguments)

    def encode(self, text: Text, allowed_special: AllowedSpecial = ()) -> list[int]:
        """The ids of a text, or of arbitrary bytes.

        Args:
            text: The text.
            allowed_special: The special tokens to recognise: "all", or their texts. Others are treated as text; added
                tokens that are not special (`preparation.ordinary`) are always recognised.

        Raises:
            ConfigError: A special token is unknown, a character is not in the vocabulary, or it is not one text.
        """
        short = self._short_ids(text, allowed_special)
        return finish(self.encode_work(text, allowed_special)).tolist() if short is None else short

    def encode_array(
        self, text: Text, allowed_special: AllowedSpecial = (), threads: int | None = None
    ) -> NDArray[np.uint32]:
        """The ids of a text as uint32 [tokens]; like `encode`.

        From 4 MiB on, text that a named pattern splits is encoded in at most so many `threads`; None is one per core.
        """
        short = self._short_ids(text, allowed_special)
        return finish(self.encode_work(text, allowed_special, threads)) if short is None else np.array(short, np.uint32)

    def encode_batch(
        self, texts: Iterable[Text], padding: bool | int = False, allowed_special: AllowedSpecial = ()
    ) -> Batch:
        """The ids of several texts.

        Args:
            texts: The texts.
            padding: Whether to pad all of them to the longest, with the padding token, else `<|endoftext|>`; or the id
                to pad with.
            allowed_special: As for `encode`.

        Raises:
            ConfigError: As for `encode`; or `padding` is True, and there is no such token.
        """
        role = self.roles.get("pad_token")
        filler = self._specials.get(role or "")
        if filler is None and role is not None:
            filler = next(iter(self.tokens.spelling(role.encode())), None)
        if filler is None:
            filler = padding_id(self.special_tokens)
        return encode_texts(lambda text: self.encode(text, allowed_special), texts, padding, filler)

    def encode_iterable(self, texts: Iterable[Text], allowed_special: AllowedSpecial = ()) -> Iterator[int]:
        """Yields the ids of one text after another; holds one text at a time, such as a line of an open file."""
        return encode_each(lambda text: self.encode(text, allowed_special), texts)

    def _short_ids(self, text: Text, allowed_special: AllowedSpecial) -> list[int] | None:
        """The ids of a short text; None for others."""
        check_text(text)
        if allowed_special == () and len(text) <= LONGEST and self._short_texts is not None:
            raw = to_utf8(text)
            is_short = len(raw) <= LONGEST and (self._alphabet.base == "bytes" or isinstance(text, str))
            if is_short and (self._always_found is None or self._always_found.search(raw) is None):
                return self._short_texts.encode(raw)
        return None

    def encode_work(
        self, text: Text, allowed_special: AllowedSpecial = (), threads: int | None = None
    ) -> Work[NDArray[np.uint32]]:
        """Does the same as `encode_array` in bounded pieces."""
        prepared = yield from self.prepared_work(text, allowed_special)
        return (yield from self._encode_work(prepared, threads))

    def prepared_work(self, text: Text, allowed_special: AllowedSpecial = ()) -> Work[PreparedText]:
        """A text ready to be split; raises the same as `encode`."""
        check_text(text)
        raw = to_utf8(text)
        if self._alphabet.base == "characters" and isinstance(text, bytes):
            raw = raw.decode("utf-8", "replace").encode()
        data = np.empty(len(raw) + PADDING, np.uint8)
        data[: len(raw)], data[len(raw) :] = np.frombuffer(raw, np.uint8), 0
        ends = np.array([len(raw)], np.int64)
        return (yield from prepare_work(self._preparation, self._finders, data, ends, allowed_special))

    def _encode_work(self, prepared: PreparedText, threads: int | None = None) -> Work[NDArray[np.uint32]]:
        special_ids = np.array([*(self._specials[text.decode()] for text in prepared.specials), -1], np.int32)
        given = prepared.data, prepared.pieces, special_ids
        if self._dropout is None:
            ids = yield from self._encoder.encode_work(*given, threads)
        else:
            ids = yield from encode_with_dropout_work(self._encoder, self._dropout, *given)
        return ids[0] if len(ids) == 1 else np.concatenate([*ids, np.empty(0, np.uint32)])

    def encode_with_ends_work(
        self, text: Text, allowed_special: AllowedSpecial = ()
    ) -> Work[tuple[NDArray[np.uint32], NDArray[np.int64]]]:
        """The ids of a text, and the end of each token in its UTF-8.

        Returns:
            uint32 [tokens] and int64 [tokens], never decreasing: token i stands for the bytes from `ends[i - 1]` (0 for
            the first) to `ends[i]`. Of several tokens of characters that are normalized together, the first stands for
            all of them.
        """
        prepared = yield from self.prepared_work(text, allowed_special)
        ids = yield from self._encode_work(prepared)
        recognised = bool(self._finders.allowed(allowed_special) | self._preparation.ordinary)
        raw = prepared.data[: prepared.size].tobytes() if prepared.changes else to_utf8(text)
        ends = yield from ends_work(self.tokens, self._alphabet.unknown, raw, ids, recognised)
        # Special tokens beside each other may stand for the same white space.
        return ids, np.maximum.accumulate(prepared.original(ends))

    def encode_texts_with_ends_work(
        self, texts: Sequence[Text], allowed_special: AllowedSpecial = ()
    ) -> Work[tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]]:
        """The ids of several texts, the end of each token in its text, and int64 [texts] the tokens of each."""
        made: list[tuple[NDArray[np.uint32], NDArray[np.int64]]] = []
        for text in texts:
            made.append((yield from self.encode_with_ends_work(text, allowed_special)))
        ids = np.concatenate([np.empty(0, np.uint32), *(ids for ids, _ in made)])
        ends = np.concatenate([np.empty(0, np.int64), *(ends for _, ends in made)])
        return ids, ends, np.array([len(ids) for ids, _ in made], np.int64)

    def encoder(self, pattern: str, *, whole_words: bool = True, alphabet: Alphabet | None = None) -> Encoder:
        """The encoder of text without special tokens, for any pattern; its own alphabet can be replaced.

        The hash table of merges is made on first use, once for all tokenizers of a run. Without `whole_words`, a
        pre-token with a token of its own is merged like others.
        """
        from tokstudio.core.tokenizer.encoder import Encoder, MergeTable

        supermerges, joining = self._supermerges, None
        if self.events is not None:
            from tokstudio.core.tokenizer.picky_encoder import PickyEncoder

            return PickyEncoder(alphabet or self._alphabet, self.events, self._limit, pattern)
        if "merges" not in self._shared:
            within = None if supermerges is None else ~supermerges
            self._shared["merges"] = MergeTable(self._merges, self._results, within, self._order is None)
        if supermerges is not None and known_name(pattern) != "none":
            if "joining" not in self._shared:
                table = MergeTable(self._merges, self._results, supermerges)
                self._shared["joining"] = Joining(self.words_with_letters(), table.pairs)
            joining = self._shared["joining"]
        chosen = self.whole_words if whole_words else ()
        words = {self._parts[token]: token for token in chosen if self.tokens.in_use(token)}
        return Encoder(alphabet or self._alphabet, self._shared["merges"], self._limit, pattern, words, joining)

    @property
    def events(self) -> Events | None:
        """Of Picky BPE: all merges and removals as encoding repeats them, for all tokenizers of a run; else None."""
        if self._removals is None:
            return None
        if "merges" not in self._shared:
            from tokstudio.core.tokenizer.picky_encoder import events_of

            # The first merge always makes a new token.
            first = int(self._results[0]) if len(self._results) else 0
            self._shared["merges"] = events_of(self._merges, self._removals, first)
        return self._shared["merges"]

    def words_with_letters(self) -> NDArray[np.bool_]:
        """Bool [all ids and more], which base tokens and results of merges within words hold a letter."""
        within = self._results if self._supermerges is None else self._results[~self._supermerges]
        found, words = np.zeros(self._parts.size + 1, np.bool_), np.concatenate([self._alphabet.ids, within])
        found[words] = self._parts.holds_letter[words]
        return found

    def decode(self, ids: Iterable[int], errors: str = "replace") -> str:
        """The text of ids; invalid UTF-8 becomes U+FFFD unless `errors` says otherwise (see `bytes.decode`).

        Raises:
            ConfigError: An id is not in the vocabulary; the message names it.
        """
        return self.decode_bytes(ids).decode("utf-8", errors)

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of ids; raises the same as `decode`."""
        tokens = self.tokens
        return b"".join([tokens[token] or b"" for token in tokens.known(ids)])

    def decode_bytes_work(self, ids: Iterable[int]) -> Work[bytes]:
        """Does the same as `decode_bytes` in bounded pieces."""
        return (yield from self.tokens.joined_work(ids))

    def __reduce__(self) -> tuple[Any, ...]:
        more = {**self._arguments(), "run": self._run, "origin": self._origin, "checked": True}
        return partial(Tokenizer, **more), (), {"_dropout": self._dropout, "_first_stage": self._first_stage}

    def _arguments(self) -> dict[str, Any]:
        """The arguments that make it, but for where it is from."""
        merges, results, extra, supermerges = self.merges, self.merge_results, self._extra, self.supermerges
        if self._order is not None and len(late := np.flatnonzero(self._order.complete[: self._limit] > self._limit)):
            # Their parts are not there.
            extra = extra | {token: self._parts[token] for token in results[late].tolist()}
            merges, results = np.delete(merges, late, axis=0), np.delete(results, late)
            supermerges = None if supermerges is None else np.delete(supermerges, late)
        return {
            "merges": merges,
            "merge_results": results,
            "alphabet": self._alphabet,
            "special_tokens": self._specials,
            "pattern": self._pattern,
            "extra_tokens": extra,
            "whole_words": self.whole_words,
            "ignores_merges": self._ignores_merges,
            "preparation": self._preparation,
            "remarks": self._left_out,
            "settings": self._settings,
            "removals": self.removals,
            "supermerges": supermerges,
        }

    @cached_property
    def _encoder(self) -> Encoder:
        return self.encoder(self._pattern)

    @cached_property
    def _always_found(self) -> re.Pattern[bytes] | None:
        """Finds added tokens that are not special; None where there are none."""
        ordinary = sorted(self._preparation.ordinary)
        return re.compile(b"|".join(re.escape(token.encode()) for token in ordinary)) if ordinary else None

    @cached_property
    def _short_texts(self) -> ShortTexts | None:
        """None where a short text needs all that a long one does."""
        changes = self._preparation.nfc or self._preparation.prefix_space
        may = self.library is None and self._dropout is None and not changes
        if not may or not ShortTexts.can_use(self._encoder):
            return None
        return ShortTexts(self.encoder(self._pattern, whole_words=False), self._encoder.whole_words)
