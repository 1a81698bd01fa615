"""The tokenizer: a vocabulary and ranked merges that encode text and decode ids. Immutable."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from tokstudio.core.base.arguments import whole_number
from tokstudio.core.base.errors import ConfigError, TokStudioError
from tokstudio.core.base.markup import Markup, joined, tag, token_view
from tokstudio.core.base.progress import Work, finish
from tokstudio.core.libraries.chat_templates import ChatRenderer, variables_of
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.file_settings import ROLES, FileSettings
from tokstudio.core.model.picky import LEFT_GONE, RESULT
from tokstudio.core.model.run import Run, special_ids
from tokstudio.core.model.tokens import TokenKind, TokenParts, Tokens, several_ids
from tokstudio.core.pretokenization.patterns import NAMES, known_name
from tokstudio.core.pretokenization.preparation import Preparation, PreparedText, prepare_work, utf8_with_padding
from tokstudio.core.pretokenization.special_tokens import AllowedSpecial, any_of
from tokstudio.core.pretokenization.word_table import PADDING
from tokstudio.core.text.byte_level import to_characters
from tokstudio.core.text.utf8 import Text, is_utf8, to_utf8
from tokstudio.core.tokenizer.batch import (
    Batch,
    check_text,
    encode_each,
    encode_texts,
    ends_work,
    padding_id,
    rows_of,
    several_texts,
)
from tokstudio.core.tokenizer.content import SharedTables, TokenizerContent, content_of_parts
from tokstudio.core.tokenizer.documents import as_text_work, joined_texts, marked_work, without_marks
from tokstudio.core.tokenizer.dropout import Dropout, encode_with_dropout_work
from tokstudio.core.tokenizer.encoder import LONGEST, Encoder
from tokstudio.core.tokenizer.little_text import LONGEST as MOST_OF_LITTLE
from tokstudio.core.tokenizer.little_text import LittleTexts, compiler_is_loaded
from tokstudio.core.tokenizer.model_input import (
    ModelInput,
    as_model_input,
    edge_spaces,
    in_characters,
    input_shape,
    offset_trims,
    trimmed,
)
from tokstudio.core.tokenizer.origin import Origin, unchanged_ids

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.kernels.replay import Events

_FEW = 1 << 9  # ids that are decoded without a compiled loop
_SAMPLE = "Tokenizers split text: größer, 日本語, 12345 and 🙂."


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
        remarks: See `remarks`.
        run: The run it comes from, if any.
        checked: Whether the merges are known to be valid. They may then join tokens that later ones make, and nothing
            checks them: impossible ones, such as two that make one id of different bytes, can end the process.

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
        remarks: Collection[str] = (),
        run: Run | None = None,
        checked: bool = False,
    ) -> None:
        alphabet = Alphabet.of_bytes() if alphabet is None else alphabet
        if merge_results is None:
            first = int(np.max(alphabet.ids, initial=-1)) + 1
            merge_results = np.arange(first, first + len(merges), dtype=np.int32)
        base = alphabet, special_tokens or {}, pattern, extra_tokens or {}
        more = frozenset(whole_words), False, Preparation(), tuple(remarks)
        content = TokenizerContent(merges, merge_results, *base, *more, run=run).frozen()
        if not checked:
            content.check()
        self._begin(content, SharedTables(content))

    def _begin(self, content: TokenizerContent, tables: SharedTables) -> None:
        self._content, self._tables = content, tables

    @classmethod
    def of(cls, content: TokenizerContent) -> Tokenizer:
        """The tokenizer of a content whose merges are known to be valid; they may join tokens that later ones make."""
        content = content.frozen()
        return cls._shares(content, SharedTables(content))

    @staticmethod
    def _shares(content: TokenizerContent, tables: SharedTables) -> Tokenizer:
        tokenizer = Tokenizer.__new__(Tokenizer)
        tokenizer._begin(content, tables)
        return tokenizer

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
        pattern, first_stage = config.patterns_after(len(merges), base_size)
        more: dict[str, Any] = {"supermerges": supermerges, "removals": removals, "first_stage": first_stage}
        return cls.of(TokenizerContent(merges, results, alphabet, specials, pattern, run=run, **more))

    def extended(self, merges: NDArray[np.int32], first: int, run: Run | None = None) -> Tokenizer:
        """The same tokenizer with further merges, which are known to be valid and make the ids from `first` on."""
        results = np.arange(first, first + len(merges), dtype=np.int32)
        return self.changed(
            merges=np.concatenate([self.merges, merges]),
            merge_results=np.concatenate([self.merge_results, results]),
            run=run,
            origin=Origin(self, "extended", unchanged_ids(self.tokens.ids())),
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
        return cls.of(content_of_parts(vocabulary, merges, pattern, special_tokens or {}))

    @property
    def content(self) -> TokenizerContent:
        """All that it is made of."""
        return self._content

    @property
    def run(self) -> Run | None:
        """The run it was trained in; None for one that was loaded."""
        return self._content.run

    @property
    def origin(self) -> Origin[Tokenizer] | None:
        """The tokenizer that it was made from, and how; None for one that was trained from nothing or loaded."""
        return self._content.origin

    @property
    def merges(self) -> NDArray[np.int32]:
        """int32 [n, 2], ids of left and right in rank order."""
        return self._content.merges

    @property
    def merge_results(self) -> NDArray[np.int32]:
        """int32 [n], the id that each merge makes."""
        return self._content.merge_results

    @property
    def removals(self) -> NDArray[np.int64] | None:
        """int64 [n, 4], what each merge of Picky BPE made and removed, as in `Run`; None for other tokenizers."""
        return self._content.removals

    @property
    def alphabet(self) -> Alphabet:
        """The base tokens."""
        return self._content.alphabet

    @property
    def byte_ids(self) -> NDArray[np.int32]:
        """int32 [256], the id of each byte, -1 for none; raises ConfigError where the base tokens are characters."""
        if self.alphabet.base != "bytes":
            raise ConfigError("This tokenizer is made of characters: its bytes have no ids.")
        return self.alphabet.id_of

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Each special token's text with its id."""
        return dict(self._content.special_tokens)

    @property
    def roles(self) -> Mapping[str, str]:
        """The special tokens that were given a role, such as "eos_token", by role; names may give others theirs."""
        return dict(self._content.settings.roles)

    @property
    def settings(self) -> FileSettings:
        """What its files say besides its tokens: roles, chat templates, post-processor, the keys of configurations."""
        return self._content.settings

    @property
    def pattern(self) -> str:
        """How text is split before merging: a name or a regular expression."""
        return self._content.pattern

    @property
    def extra_tokens(self) -> Mapping[int, bytes]:
        """The bytes, by id, of each token that is neither base nor special and that no merge makes."""
        return dict(self._content.extra_tokens)

    @cached_property
    def whole_words(self) -> frozenset[int]:
        """Ids of tokens that an equal pre-token becomes, though merging would not make them of it."""
        return self._tables.whole_words(self._content)

    @property
    def needed_merges(self) -> NDArray[np.int32] | None:
        """int32 [n], how many of the first merges are needed for the result of each; None if it is always the last.

        It is given where a merge joins a token that a later one makes, as with the ranks of tiktoken. With fewer
        merges, the result is in the vocabulary, but merging does not make it.
        """
        order = self._tables.order
        return None if order is None else order.complete[: len(self.merges)]

    @property
    def supermerges(self) -> NDArray[np.bool_] | None:
        """Which merges are supermerges, bool [n]; None where none is."""
        return self._content.supermerges

    @property
    def preparation(self) -> Preparation:
        """What is done to a text before it is split."""
        return self._content.preparation

    @property
    def remarks(self) -> tuple[str, ...]:
        """Requests of its files that `encode` ignores, and what is to be known of these files, each a sentence."""
        return (*self._content.remarks, *self.settings.remarks())

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
        return self._tables.ready

    @cached_property
    def tokens(self) -> Tokens:
        """The bytes of each token by id; None where an id is not in use. A special token is its UTF-8."""
        parts, content = self._tables.parts, self._content
        in_use = np.zeros(parts.size, np.bool_)
        in_use[self.alphabet.ids] = True
        in_use[self.merge_results] = True
        if (rows := self.removals) is not None:
            gone = rows[:, LEFT_GONE:] >= 0
            in_use[self.merges[gone]] = False
        in_use[[*content.special_tokens.values(), *content.extra_tokens]] = True
        size = int(np.max(np.flatnonzero(in_use), initial=-1)) + 1
        return Tokens(parts, in_use[:size])

    def __len__(self) -> int:
        """How many tokens there are."""
        content = self._content
        if content.removals is not None:
            return len(self.tokens.ids())
        return sum(map(len, (content.alphabet, content.merges, content.special_tokens, content.extra_tokens)))

    def parts(self, token: int) -> tuple[int, int] | None:
        """The ids of the two tokens that a token joins, None for one that no merge makes; or ConfigError."""
        parts = self._parts_with(token)
        left = int(parts.left[token])
        return None if left < 0 else (left, int(parts.right[token]))

    def bytes_of(self, token: int) -> bytes:
        """The bytes of a token that any merge has made, also of one that a later merge of Picky BPE has removed.

        Raises:
            ConfigError: There is no such token.
        """
        return self._parts_with(token)[token]

    def _parts_with(self, token: int) -> TokenParts:
        if token not in self._tables.parts:
            raise ConfigError(f"Id {token} is not in the vocabulary.")
        return self._tables.parts

    @property
    def lengths_of_all(self) -> NDArray[np.int64]:
        """int64 [ids and more], how many these are by id; -1 for an id without bytes."""
        return self._tables.parts.lengths

    def is_known(self, token: int) -> bool:
        """Whether a token is in the vocabulary, or was until a merge of Picky BPE removed it."""
        return self.tokens.in_use(token) or (self.removals is not None and bool(np.any(self.merge_results == token)))

    def kind(self, token: int) -> TokenKind:
        """The kind of a token; raises ConfigError where it is not known."""
        if not self.is_known(token):
            raise ConfigError(f"Id {token} is not in the vocabulary.")
        if token in self.whole_words and token not in self._content.special_tokens.values():
            return "whole word"
        if self.parts(token) is not None:
            return "merge"
        if token in self._content.extra_tokens:
            return "unreachable"
        if token in self._content.special_tokens.values():
            return "special"
        return "byte" if self.alphabet.base == "bytes" else "character"

    def at(self, merges: int) -> Tokenizer:
        """The tokenizer with the first `merges` merges, the same ids and the pattern of that time; or ConfigError."""
        merges, most = whole_number("The number of merges", merges), len(self.merges)
        if not 0 <= merges <= most:
            raise ConfigError(f"There is no merge {merges:,}: this tokenizer has {most:,}.")
        return self._shares(self._content.first(merges), self._tables)

    def with_dropout(self, probability: float, seed: int = 0) -> Tokenizer:
        """The tokenizer with BPE-dropout in encoding: the same text with the same seed always becomes the same ids.

        Files and further trainings of the tokenizer do not have it; 0 takes it away.

        Raises:
            ConfigError: See `Dropout`; or another library encodes for this tokenizer, or it removes tokens.
        """
        dropout = Dropout(probability, seed)
        if probability and self.why_no_dropout is not None:
            raise ConfigError(self.why_no_dropout)
        if not probability and self.dropout is None:
            return self
        return self._shares(replace(self._content, dropout=dropout if probability else None), self._tables)

    @property
    def why_no_dropout(self) -> str | None:
        """Why it encodes only without dropout, a sentence; None if it can have it."""
        if self.library is not None:
            return f"{self.library} encodes for this tokenizer: its merges cannot be passed over."
        if self.removals is not None:
            return "This tokenizer removes tokens again (Picky BPE): it encodes without dropout."
        if self.supermerges is not None:
            return "This tokenizer has supermerges, for which dropout is not defined."
        return None

    @property
    def dropout(self) -> Dropout | None:
        """How merges are passed over in encoding; None without dropout."""
        return self._content.dropout

    def compact(self) -> Tokenizer:
        """The same tokenizer without gaps between its ids, and without the merges after those of `at`."""
        new_ids = np.full(len(self.tokens), -1, np.int32)
        in_use = self.tokens.ids()
        new_ids[in_use] = np.arange(len(in_use), dtype=np.int32)
        return self.renumbered(new_ids)

    def renumbered(self, new_ids: NDArray[np.int32]) -> Tokenizer:
        """The same tokenizer with the ids `new_ids[id]` and no run; tokens with -1 go, unless others need them.

        Raises:
            ConfigError: It removes tokens again, as in Picky BPE, so that others depend on their ids; or there are too
                few new ids, or others than allowed.
        """
        if self.removals is not None:
            raise ConfigError("The ids of this tokenizer cannot change: it removes tokens again (Picky BPE).")
        if len(new_ids) < len(self.tokens):
            raise ConfigError(f"There are {len(self.tokens):,} ids, and only {len(new_ids):,} new ones are given.")
        return Tokenizer.of(self._tables.closed(self._content).renumbered(new_ids))

    def closed(self) -> Tokenizer:
        """The same tokenizer, where none of its merges joins a token that only merges after those of `at` make.

        Tokens that these merges lead to stay in the vocabulary, but no merge makes them.
        """
        return self if self._tables.closed(self._content) is self._content else self.changed()

    def changed(self, **changes: Any) -> Tokenizer:  # noqa: ANN401
        """The same tokenizer with the given fields of its content, which are valid; without run, origin and dropout."""
        return Tokenizer.of(replace(self._tables.closed(self._content).alone(), **changes))

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

        From 4 MiB on, text that a named pattern splits is encoded in at most so many `threads`, and from 512 Ki base
        tokens on, text that is not split; None is one per core.
        """
        short = self._short_ids(text, allowed_special)
        return finish(self.encode_work(text, allowed_special, threads)) if short is None else np.array(short, np.uint32)

    def encode_batch(
        self,
        texts: Iterable[Text],
        padding: bool | int = False,
        allowed_special: AllowedSpecial = (),
        threads: int | None = None,
    ) -> Batch:
        """The ids of several texts, those of `encode`, many times as fast as a loop.

        Example:
            >>> batch = Tokenizer.from_parts({n: bytes([n]) for n in range(256)}, []).encode_batch(["ab", "c"])
            >>> batch.ids == [[97, 98], [99]], batch[0]
            (True, array([97, 98], dtype=uint32))

        Args:
            texts: The texts; a generator is read in parts.
            padding: Whether to pad all of them to the longest, with the padding token, else `<|endoftext|>`; or the id
                to pad with.
            allowed_special: As for `encode`.
            threads: At most so many, from 4 MiB on; None is one per core.

        Raises:
            ConfigError: As for `encode`; or `padding` is True, and there is no such token.
        """

        def encode(some: Sequence[bytes]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
            return finish(self.encode_texts_work(some, allowed_special, threads))

        self._tables.finders.allowed(allowed_special)
        return encode_texts(encode, texts, padding, self._padding_id)

    @property
    def _padding_id(self) -> int | None:
        """The id of the token to pad with; None where there is none."""
        role = self.roles.get("pad_token", self.settings.padding_token)
        filler = self._content.special_tokens.get(role or "")
        if filler is None and role is not None:
            filler = next(iter(self.tokens.spelling(role.encode())), None)
        return padding_id(self.special_tokens) if filler is None else filler

    def __call__(
        self,
        text: Text | Iterable[Text],
        *,
        padding: bool | str = False,
        truncation: bool | str | None = None,
        max_length: int | None = None,
        add_special_tokens: bool = True,
        return_offsets: bool = False,
        return_tensors: Literal["np"] | None = None,
    ) -> ModelInput:
        """What a model is given for a text or several: ids with the special tokens that the file adds, and a mask.

        Special tokens in a text are recognised. Arguments mean what they mean to transformers; the sides are those of
        the files (`padding_side`, `truncation_side`).

        Example:
            >>> tokenizer = Tokenizer.from_parts({n: bytes([n]) for n in range(256)}, [], special_tokens={"<pad>": 256})
            >>> tokenizer(["ab", "c"], padding=True)
            {'input_ids': [[97, 98], [99, 256]], 'attention_mask': [[1, 1], [1, 0]]}
            >>> tokenizer("abc", max_length=2, return_offsets=True)["offset_mapping"]
            [(0, 1), (1, 2)]

        Args:
            text: A text, or several.
            padding: True or "longest" to pad to the longest text, "max_length" to pad to that.
            truncation: True, "longest_first" or "only_first" to cut at `max_length`; None does so where there is one
                and no padding.
            max_length: The most ids; None for the `model_max_length` of the files.
            add_special_tokens: Whether to add what the post-processor of the file adds.
            return_offsets: Whether to tell also the characters of each token, as `offset_mapping`.
            return_tensors: "np" for arrays, int64 [texts, ids]; None for lists.

        Raises:
            ConfigError: As for `encode_batch`; or an argument has no meaning for this tokenizer.
        """
        settings, is_one = self.settings, isinstance(text, (str, bytes))
        shape = input_shape(settings, padding, truncation, max_length, add_special_tokens, self._padding_id)
        texts: Iterable[Text] = [text] if isinstance(text, (str, bytes)) else several_texts(text)
        allowed = () if (settings.config or {}).get("split_special_tokens") is True else "all"
        # A library has trimmed them already.
        trims = offset_trims(settings) if return_offsets and self.library is None else []
        if return_offsets:
            encoded = shape.cut(*self._with_offsets(texts, allowed, bool(trims)))
        else:
            encoded = shape.cut(self.encode_batch(texts, allowed_special=allowed), None)
        batch, places = encoded
        if places is not None and self.library is None and self.preparation.prefix_space:
            # The `tokenizers` library puts a space that it adds where the character after it is.
            nowhere = np.flatnonzero(places[:, 0] == places[:, 1])
            places[[row for row in nowhere.tolist() if self.tokens[int(batch.flat[row])] == b" "], 1] += 1
        if places is not None and trims:
            places = trimmed(batch, places, trims)
        return as_model_input(*shape.filled(batch, places), is_one, return_tensors)

    def _with_offsets(
        self, texts: Iterable[Text], allowed: AllowedSpecial, with_spaces: bool
    ) -> tuple[Batch, NDArray[np.int64]]:
        """Encodes texts; int64 [ids, 2], the places of all tokens in characters; or [ids, 4], with `edge_spaces`."""
        ids, rows = [np.empty(0, np.uint32)], [np.zeros((0, 4 if with_spaces else 2), np.int64)]
        for text in texts:
            some, places = self.encode_with_offsets(text, allowed_special=allowed)
            ids.append(some)
            rows.append(np.concatenate([places, self._spaces(text, some, places)], axis=1) if with_spaces else places)
        tokens = np.array(list(map(len, ids[1:])), np.int64)
        return Batch.of(np.concatenate(ids), tokens), np.concatenate(rows)

    def _spaces(self, text: Text, ids: NDArray[np.uint32], places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The `edge_spaces` of the tokens of a text, int64 [ids, 2]."""
        numbers: list[int] = ids.tolist()
        of_id = {number: edge_spaces(self._string(self.tokens[number] or b"")) for number in {*numbers}}
        spaces = np.array([of_id[number] for number in numbers], np.int64).reshape(-1, 2)
        specials = {number: token for token, number in self._content.special_tokens.items()}
        characters = to_utf8(text).decode("utf-8", "surrogateescape")
        for row in np.flatnonzero(np.isin(ids, list(specials))).tolist():
            # With the white space that it takes. An unknown character is not the text of the unknown token.
            begin, end = places[row].tolist()
            found = characters[begin:end]
            if numbers[row] != self.alphabet.unknown or specials[numbers[row]] in found:
                spaces[row] = edge_spaces(found)
        return spaces

    def encode_with_offsets(
        self, text: Text, unit: Literal["characters", "bytes"] = "characters", allowed_special: AllowedSpecial = ()
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The ids of a text, and where each token begins and ends in it.

        Example:
            >>> tokenizer = Tokenizer.from_parts({n: bytes([n]) for n in range(256)}, [])
            >>> ids, offsets = tokenizer.encode_with_offsets("é!")
            >>> ids.tolist(), offsets.tolist()
            ([195, 169, 33], [[0, 1], [0, 1], [1, 2]])
            >>> tokenizer.encode_with_offsets("é!", "bytes")[1].tolist()
            [[0, 1], [1, 2], [2, 3]]

        Args:
            text: The text. Of bytes that are not UTF-8, each counts as one character.
            unit: What is counted: code points, or bytes of UTF-8.
            allowed_special: As for `encode`.

        Returns:
            uint32 [tokens], and int64 [tokens, 2]. A token that is a part of a character has all of it where characters
            are counted. Each of several tokens of characters that are normalized together has all of them.

        Raises:
            ConfigError: As for `encode`; or this tokenizer reads characters, and the text is not UTF-8.
        """
        if unit not in ("characters", "bytes"):
            raise ConfigError(f'Offsets count "characters" or "bytes", not {unit!r}.')
        check_text(text)
        raw = to_utf8(text)
        if (self.library is not None or self.alphabet.base == "characters") and not is_utf8(raw):
            raise ConfigError(
                "The text is not UTF-8, and this tokenizer reads characters: decode it first, so that offsets are "
                "those of the text that is encoded."
            )
        ids, spans = finish(self.encode_with_spans_work(raw, allowed_special))
        return ids, spans if unit == "bytes" else in_characters(raw, spans)

    def encode_with_spans_work(
        self, text: Text, allowed_special: AllowedSpecial = ()
    ) -> Work[tuple[NDArray[np.uint32], NDArray[np.int64]]]:
        """The ids of a text, and int64 [tokens, 2], where each begins and ends in its UTF-8."""
        ids, prepared, ends = yield from self._encode_with_ends_work(text, allowed_special)
        begins = np.concatenate([np.zeros(1, np.int64), ends])[: len(ends)]
        original = prepared.original(begins, begins=True), prepared.original(ends)
        return ids, np.maximum.accumulate(np.stack(original, axis=1))

    def token_to_id(self, token: str) -> int | None:
        """The id of a token as its file spells it, such as "Ġthe"; None where there is none.

        Example:
            >>> tokenizer = Tokenizer.from_parts({n: bytes([n]) for n in range(256)}, [], special_tokens={"<s>": 256})
            >>> tokenizer.token_to_id("Ġ"), tokenizer.token_to_id("<s>"), tokenizer.token_to_id("none")
            (32, 256, None)
        """
        return self._strings.get(token)

    def id_to_token(self, token: int) -> str | None:
        """A token as its file spells it, by its id; None where there is none.

        Example:
            >>> Tokenizer.from_parts({n: bytes([n]) for n in range(256)}, []).id_to_token(32)
            'Ġ'
        """
        return self._string_of.get(whole_number("An id", token))

    def get_vocab(self) -> dict[str, int]:
        """All tokens as the file spells them, with their ids: of one that splits text into bytes, a character a byte.

        Example:
            >>> Tokenizer.from_parts({n: bytes([n]) for n in range(256)}, []).get_vocab()["Ġ"]
            32
        """
        return dict(self._strings)

    @cached_property
    def _strings(self) -> dict[str, int]:
        special, spelled = {number: token for token, number in self._content.special_tokens.items()}, dict[str, int]()
        for number, token in enumerate(self.tokens):
            if token is not None and number not in special:
                spelled[self._string(token)] = number
        return {**spelled, **self._content.special_tokens}

    def _string(self, token: bytes) -> str:
        """A token that is not special, as its file spells it."""
        return to_characters(token) if self.alphabet.base == "bytes" else token.decode("utf-8", "replace")

    @cached_property
    def _string_of(self) -> dict[int, str]:
        return {number: token for token, number in self._strings.items()}

    def encode_texts_work(
        self, texts: Sequence[bytes], allowed_special: AllowedSpecial = (), threads: int | None = None
    ) -> Work[tuple[NDArray[np.uint32], NDArray[np.int64]]]:
        """The ids of several texts in UTF-8 one after another, uint32 [tokens]; and int64 [texts], how many each has.

        They are those of `encode`, of each text by itself.
        """
        if self.dropout is not None or not texts:
            parts = [np.empty(0, np.uint32)]
            for text in texts:
                parts.append((yield from self.encode_work(text, allowed_special)))
            return np.concatenate(parts), np.array(list(map(len, parts[1:])), np.int64)
        data, ends = joined_texts(texts)
        if self.alphabet.base == "characters":
            data, ends = yield from as_text_work(data[: ends[-1]], ends)
            data = np.concatenate([data, np.zeros(PADDING, np.uint8)])
        prepared = yield from prepare_work(self.preparation, self._tables.finders, data, ends, allowed_special)
        return without_marks(
            (yield from marked_work(self.own_encoder, self._content.special_tokens, prepared, threads))
        )

    def encode_iterable(self, texts: Iterable[Text], allowed_special: AllowedSpecial = ()) -> Iterator[int]:
        """Yields the ids of one text after another; holds one text at a time, such as a line of an open file."""
        return encode_each(lambda text: self.encode(text, allowed_special), texts)

    def _short_ids(self, text: Text, allowed_special: AllowedSpecial) -> list[int] | None:
        """The ids of a short text; None for others."""
        if (ids := self._ids_of_little(text, allowed_special)) is not None:
            return ids
        if len(text) > LONGEST or allowed_special not in ((), "all") or not self._may_be_short:
            return None
        raw, special = to_utf8(text), self._always_found if allowed_special == () else self._any_special
        if len(raw) > LONGEST or (special is not None and special.search(raw) is not None):
            return None
        is_text = self._content.alphabet.base == "bytes" or isinstance(text, str)
        return self.own_encoder.short_ids(raw) if is_text else None

    def _ids_of_little(self, text: Text, allowed_special: AllowedSpecial) -> list[int] | None:
        """The ids of a little text where the compiler would have to be loaded for it; None for others."""
        check_text(text)
        may = not compiler_is_loaded() and allowed_special == () and len(text) <= MOST_OF_LITTLE
        if not may or self._little_texts is None:
            return None
        raw = to_utf8(text)
        if len(raw) > MOST_OF_LITTLE or (self._always_found is not None and self._always_found.search(raw)):
            return None
        return self._little_texts.encode(raw)

    def encode_work(
        self, text: Text, allowed_special: AllowedSpecial = (), threads: int | None = None
    ) -> Work[NDArray[np.uint32]]:
        """Does the same as `encode_array` in bounded pieces."""
        if (ids := self._ids_of_little(text, allowed_special)) is not None:
            return np.array(ids, np.uint32)
        prepared = yield from self.prepared_work(text, allowed_special)
        return (yield from self._encode_work(prepared, threads))

    @overload
    def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tokenize: Literal[True] = True,
        **more: Any,  # noqa: ANN401
    ) -> list[int]: ...
    @overload
    def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tokenize: Literal[False],
        **more: Any,  # noqa: ANN401
    ) -> str: ...
    def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        add_generation_prompt: bool = False,
        tools: Sequence[Mapping[str, Any]] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        name: str | None = None,
        tokenize: bool = True,
        **variables: object,
    ) -> list[int] | str:
        """The ids of messages by the tokenizer's own chat template, as transformers' `apply_chat_template` gives them.

        The template runs in a sandbox, in a process of its own: for 2 seconds at most, in at most 512 MB where the
        system has limits of memory, and for at most 4 million characters.

        Example:
            >>> from pathlib import Path
            >>> from tokstudio import load, save
            >>> plain = Tokenizer.from_parts({n: bytes([n]) for n in range(256)}, [], special_tokens={"<end>": 256})
            >>> report = save(plain, "with-chat", format="huggingface")
            >>> template = "{% for message in messages %}{{ message.content }}<end>{% endfor %}"
            >>> size = Path("with-chat", "chat_template.jinja").write_text(template)
            >>> tokenizer, messages = load("with-chat"), [{"role": "user", "content": "Hi"}]
            >>> tokenizer.chat(messages, tokenize=False), tokenizer.chat(messages)
            ('Hi<end>', [72, 105, 256])

        Args:
            messages: Each with its "role" and "content", such as `{"role": "user", "content": "Hello"}`. Keys whose
                value is None are left out.
            add_generation_prompt: Whether the beginning of an answer follows, if the template has one.
            tools: Tools that the template may describe, as JSON schemas.
            documents: Documents that it may show, each with "title" and "text".
            name: Which of several templates; None for "tool_use" where there are tools, else "default".
            tokenize: False for the text in place of its ids.
            **variables: Further variables of the template, such as `enable_thinking=False`; they count before the
                special tokens of the roles.

        Raises:
            ConfigError: It has no such chat template, or the messages are no list of mappings.
            FormatError: The template refuses the messages, is wrong, does what it may not, or takes too much.
        """
        given = tools, documents, add_generation_prompt
        text = finish(self.chat_text_work(messages, *given, name, variables))
        return self.encode(text, "all") if tokenize else text

    def chat_text_work(
        self,
        messages: object,
        tools: object = None,
        documents: object = None,
        add_generation_prompt: bool = False,
        name: str | None = None,
        variables: Mapping[str, object] | None = None,
        renderer: ChatRenderer | None = None,
    ) -> Work[str]:
        """The text of messages, as of `chat`; by a `renderer` that several tokenizers share, or one of its own."""
        settings = self.settings
        title, template = settings.chat_template(name, tools is not None)
        roles = {role: token for role, token in settings.roles.items() if role in ROLES}
        values = variables_of(messages, tools, documents, add_generation_prompt, {**roles, **(variables or {})})
        return (yield from (renderer or self._tables.chat_renderer).render_work(title, template, values))

    def prepared_work(self, text: Text, allowed_special: AllowedSpecial = ()) -> Work[PreparedText]:
        """A text ready to be split; raises the same as `encode`."""
        check_text(text)
        if self.alphabet.base == "characters" and isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        data = utf8_with_padding(text)
        ends = np.array([len(data) - PADDING], np.int64)
        return (yield from prepare_work(self.preparation, self._tables.finders, data, ends, allowed_special))

    def _encode_work(self, prepared: PreparedText, threads: int | None = None) -> Work[NDArray[np.uint32]]:
        specials = self._content.special_tokens
        special_ids = np.array([*(specials[text.decode()] for text in prepared.specials), -1], np.int32)
        arguments = prepared.data, prepared.pieces, special_ids
        if self.dropout is None:
            ids = yield from self.own_encoder.encode_work(*arguments, threads)
        else:
            ids = yield from encode_with_dropout_work(self.own_encoder, self.dropout, *arguments)
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
        ids, prepared, ends = yield from self._encode_with_ends_work(text, allowed_special)
        # Special tokens beside each other may stand for the same white space.
        return ids, np.maximum.accumulate(prepared.original(ends))

    def _encode_with_ends_work(
        self, text: Text, allowed_special: AllowedSpecial
    ) -> Work[tuple[NDArray[np.uint32], PreparedText, NDArray[np.int64]]]:
        """The ids of a text, uint32 [tokens], and int64 [tokens], the end of each token in the prepared text."""
        prepared = yield from self.prepared_work(text, allowed_special)
        ids = yield from self._encode_work(prepared)
        recognised = bool(self._tables.finders.allowed(allowed_special) | self.preparation.ordinary)
        raw = prepared.data[: prepared.size].tobytes() if prepared.changes else to_utf8(text)
        return ids, prepared, (yield from ends_work(self.tokens, self.alphabet.unknown, raw, ids, recognised))

    def encode_texts_with_ends_work(
        self, texts: Sequence[Text], allowed_special: AllowedSpecial = ()
    ) -> Work[tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]]:
        """The ids of several texts, the end of each token in its text, and int64 [texts] the tokens of each."""
        encoded: list[tuple[NDArray[np.uint32], NDArray[np.int64]]] = []
        for text in texts:
            encoded.append((yield from self.encode_with_ends_work(text, allowed_special)))
        ids = np.concatenate([np.empty(0, np.uint32), *(ids for ids, _ in encoded)])
        ends = np.concatenate([np.empty(0, np.int64), *(ends for _, ends in encoded)])
        return ids, ends, np.array([len(ids) for ids, _ in encoded], np.int64)

    def encoder(self, pattern: str, *, whole_words: bool = True, alphabet: Alphabet | None = None) -> Encoder:
        """The encoder of text without special tokens, for any pattern; its own alphabet can be replaced.

        The hash table of merges is made on first use, once for all tokenizers of a run. Without `whole_words`, a
        pre-token with a token of its own is merged like others.
        """
        alphabet, tables, limit = alphabet or self.alphabet, self._tables, len(self.merges)
        if (events := tables.events) is not None:
            from tokstudio.core.tokenizer.picky_encoder import PickyEncoder

            return PickyEncoder(alphabet, events, limit, pattern)
        joining = None if known_name(pattern) == "none" else tables.joining
        words = self._spelled_whole() if whole_words else {}
        return Encoder(alphabet, tables.merge_table, limit, pattern, words, joining)

    def _spelled_whole(self) -> dict[bytes, int]:
        """The ids of the tokens that an equal pre-token becomes, by their bytes."""
        return {self._tables.parts[token]: token for token in self.whole_words if self.tokens.in_use(token)}

    @property
    def events(self) -> Events | None:
        """Of Picky BPE: all merges and removals as encoding repeats them, for all tokenizers of a run; else None."""
        return self._tables.events

    def words_with_letters(self) -> NDArray[np.bool_]:
        """Bool [all ids and more], which base tokens and results of merges within words hold a letter."""
        return self._tables.words_with_letters

    def decode(self, ids: Iterable[int], errors: str = "replace") -> str:
        """The text of ids; invalid UTF-8 becomes U+FFFD unless `errors` says otherwise (see `bytes.decode`).

        Raises:
            ConfigError: An id is not in the vocabulary; the message names it.
        """
        return str(self._spelled(ids), "utf-8", errors)

    def decode_batch(self, batch: Batch | Iterable[Iterable[int]], errors: str = "replace") -> list[str]:
        """The texts of a batch without its padding, or of several lists of ids; each is that of `decode`.

        Example:
            >>> tokenizer = Tokenizer.from_parts({n: bytes([n]) for n in range(256)}, [])
            >>> tokenizer.decode_batch([[97, 98], [], [99]])
            ['ab', '', 'c']

        Raises:
            ConfigError: An id is not in the vocabulary; or these are the ids of one text.
        """
        rows = rows_of(batch)
        if self.library is not None:
            return [self.decode(row, errors) for row in rows]
        flat = self.tokens.checked(
            batch.without_padding().flat if isinstance(batch, Batch) else list(chain.from_iterable(rows))
        )
        raw = bytes(self._spelled(flat))
        stops = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.tokens.lengths()[flat])])
        ends = stops[np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)))].tolist()
        return [raw[start:stop].decode("utf-8", errors) for start, stop in zip([0, *ends], ends, strict=False)]

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of ids; raises the same as `decode`."""
        return bytes(self._spelled(ids))

    def _spelled(self, ids: Iterable[int]) -> bytes | memoryview:
        values = several_ids(ids)
        if len(values) > _FEW:
            return finish(self.tokens.joined_work(values)).data
        return self.tokens.joined(values)

    def decode_bytes_work(self, ids: Iterable[int]) -> Work[bytes]:
        """Does the same as `decode_bytes` in bounded pieces."""
        return (yield from self.tokens.joined_work(ids)).tobytes()

    def __eq__(self, other: object) -> bool:
        """Whether another tokenizer gives every text the same ids, and all ids the same bytes, at each playhead.

        What files say besides (roles, chat templates, what they add to texts) is in `settings`; a run does not count.

        Example:
            >>> parts = {n: bytes([n]) for n in range(256)}
            >>> Tokenizer.from_parts(parts, []) == Tokenizer.from_parts(parts, [])
            True
            >>> Tokenizer.from_parts(parts, []) == Tokenizer.from_parts(parts, [], "gpt2")
            False
        """
        if self is other:
            return True
        if not isinstance(other, Tokenizer):
            return NotImplemented
        return hash(self) == hash(other) and self._is_like(other)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.library, self._content.quick_hash()))

    def _is_like(self, other: Tokenizer) -> bool:
        return self.whole_words == other.whole_words and self._content.decides_like(other.content)

    def __repr__(self) -> str:
        pattern = self.pattern if self.pattern in NAMES else "of its own"
        by = f"pattern {pattern}" if self.library is None else f"{self.library} encodes"
        return f"<Tokenizer: {self.model}, {len(self):,} tokens, {len(self.merges):,} merges, {by}>"

    def _repr_html_(self) -> str:
        shown: list[Markup] = [tag("p", repr(self))]
        try:
            ids: list[int] = self.encode_array(_SAMPLE).tolist()
            texts = [(self.tokens[token] or b"").decode("utf-8", "backslashreplace") for token in ids]
            shown.append(token_view(zip(ids, texts, strict=True)))
        except TokStudioError as error:  # a character that is not in its vocabulary
            shown.append(tag("p", str(error)))
        return joined(*shown)

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer.of, (self._tables.closed(self._content),)

    @cached_property
    def own_encoder(self) -> Encoder:
        """The encoder by its own pattern, which keeps the tokens of frequent words."""
        return self.encoder(self.pattern)

    @cached_property
    def _always_found(self) -> re.Pattern[bytes] | None:
        """Finds added tokens that are not special; None where there are none."""
        return any_of(self.preparation.ordinary)

    @cached_property
    def _any_special(self) -> re.Pattern[bytes] | None:
        """Finds all special tokens."""
        return any_of(self.special_tokens)

    @cached_property
    def _little_texts(self) -> LittleTexts | None:
        """None where a little text needs all that others do."""
        if self.library is not None or not LittleTexts.can_use(self._content):
            return None
        return LittleTexts(self._content, self._spelled_whole())

    @cached_property
    def _may_be_short(self) -> bool:
        """Whether a short text does not always need all that a long one does."""
        changes = self.preparation.nfc or self.preparation.prefix_space
        return self.library is None and self.dropout is None and not changes
