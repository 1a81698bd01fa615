"""The parsed content of a `tokenizer.json`, and its parts around the model: pre-tokenizer, decoder, added tokens.

Unsupported settings raise `Beyond`, damaged ones FormatError.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from array import array
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.added_tokens import AddedToken, preparation_of
from tokstudio.core.formats.common.beside import Beside
from tokstudio.core.formats.common.spelling import REPEATED_GROUP, isolating_pattern, known_pattern, written_regex
from tokstudio.core.formats.common.vocabulary import id_problem, missing_part
from tokstudio.core.model.alphabet import Base
from tokstudio.core.model.file_settings import FileSettings
from tokstudio.core.pretokenization.patterns import NAMES
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.text.nfc import nfc as normalized
from tokstudio.core.text.utf8 import has_surrogates

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEYS = frozenset(
    {
        "version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder",
        "model",
    }
)  # fmt: skip
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
FUSE = {"type": "Fuse"}
_DEEPEST = 20


class Beyond(Exception):
    """The file needs something that TokStudio does not support, such as "its normalizer changes the text"."""


@dataclass
class ParsedFile:
    """The content of the file, before it is decided whether TokStudio or its library encodes."""

    vocabulary: dict[str, int]  # each token with its id
    settings: dict[str, object] = field(default_factory=dict[str, object])  # its parts except the model
    model: dict[str, object] = field(default_factory=dict[str, object])  # the model except its tokens and merges
    added: list[AddedToken] = field(default_factory=list[AddedToken])
    kind: str = ""  # the kind of the model, such as "BPE"
    has_merges: bool = False  # whether the merges were understood
    written: tuple[AddedToken, ...] = ()  # its added tokens as they are written
    remarks: tuple[str, ...] = ()  # what is said of the file besides; see `Tokenizer.remarks`
    beside: Beside = field(default_factory=Beside)  # what the files beside it say
    new: tuple[AddedToken, ...] = ()  # the added tokens that stand only there, or with other flags
    tokens_beside: tuple[str, ...] = ()  # those that stand only there
    said: FileSettings = field(default_factory=FileSettings)  # what the files say besides the tokens
    _rows: array[int] = field(default_factory=lambda: array("i"))

    @property
    def rows(self) -> NDArray[np.int32]:
        """int32 [n, 3], the merges: ids of left, right and result."""
        return np.frombuffer(self._rows, np.int32).reshape(-1, 3)

    def add(self, left: str, right: str, prefix: object) -> str | None:
        """Adds a merge of tokens that may have a prefix; returns what is wrong with it instead, if anything."""
        parts = left, right, left + (right[len(prefix) :] if isinstance(prefix, str) else right)
        if problem := missing_part(self.vocabulary, len(self._rows) // 3 + 1, *parts):
            return problem
        self._rows.extend(map(self.vocabulary.__getitem__, parts))
        return None

    def add_several(self, pairs: list[list[str]], prefix: object) -> bool:
        """Adds merges, if all are pairs of tokens that the vocabulary has with their result; else none of them."""
        behind = len(prefix) if isinstance(prefix, str) else 0
        ids, rows = self.vocabulary, array("i")
        try:
            for left, right in pairs:
                rows.extend((ids[left], ids[right], ids[left + right[behind:]]))
        except (KeyError, ValueError, TypeError):
            return False
        self._rows.extend(rows)
        return True

    @property
    def byte_level(self) -> bool:
        """Whether it writes bytes as characters."""
        around = (self.settings.get("pre_tokenizer"), self.settings.get("decoder"))
        return any(part.get("type") == "ByteLevel" for part in parts_in(around))

    def complete(self, name: str, beside: Beside) -> None:
        """Adds the tokens beside the file; FormatError where its own are impossible."""
        self.written = tuple(self.added)
        written = {token.content: token.id for token in self.added}
        self.added, notes = own_tokens(name, self.added, self.vocabulary)
        check_around(name, self.settings)
        self.beside = beside
        padding = FileSettings(padding=self.settings.get("padding")).padding_token
        if padding is not None and beside.library_class(self.byte_level) is None:
            # transformers gives it the role where the configuration names no other.
            beside = replace(beside, roles={"pad_token": padding, **beside.roles})
        completed = beside.completed(self.added, self.vocabulary, self.byte_level, written)
        own = {token.content for token in self.added}
        self.tokens_beside = tuple(token.content for token in completed.tokens if token.content not in own)
        self.added, self.new = list(completed.tokens), completed.new
        around = {key: self.settings.get(key) for key in ("post_processor", "truncation", "padding")}
        if has_surrogates(json.dumps(around, ensure_ascii=False)):
            raise FormatError(f"{name}: its post-processor or its padding is not a text.")
        # A file made of others that cannot name roles has none either.
        names_give_roles = beside.as_class and completed.settings.names_give_roles
        said = replace(completed.settings, names_give_roles=names_give_roles, **around)
        self.said = replace(said, notes=(*notes, *said.notes))

    def noted(self, pattern: str | None, nfc: bool) -> FileSettings:
        """What the files say, with a note where a class of transformers splits otherwise than by the pattern."""
        note = self.beside.class_note(self.byte_level, pattern, nfc)
        return replace(self.said, notes=(*self.said.notes, *note))


def split_of(pattern: str) -> dict[str, object] | None:
    """The pre-tokenizer that splits by a pattern; None for "none"."""
    if pattern == "none":
        return None
    return {"type": "Split", "pattern": {"Regex": written_regex(pattern)}, "behavior": "Isolated", "invert": False}


def check_version(name: str, settings: Mapping[str, object]) -> None:
    """Raises FormatError where the file has an unknown version."""
    if settings.get("version") not in (None, "1.0"):
        raise FormatError(f"{name}: TokStudio cannot read this version of the format yet.")


def normalizes(normalizer: object) -> bool:
    """Whether the file normalizes text to form C; Beyond where it changes text in any other way."""
    steps = [] if normalizer is None else [normalizer]
    match normalizer:
        case {"type": "Sequence", "normalizers": list()}:
            steps = cast("dict[str, list[object]]", normalizer)["normalizers"]
        case _:
            pass
    if any(step != {"type": "NFC"} for step in steps):
        raise Beyond(f"its normalizer {', '.join(map(kind, steps))} changes the text")
    return bool(steps)


def splitting(pre_tokenizer: object) -> tuple[Base, str, bool]:
    """The base, the pattern and whether there is a prefix space, by a pre-tokenizer; Beyond where it does more."""
    steps = [pre_tokenizer]
    match pre_tokenizer:
        case None:
            return "characters", "none", False
        case {"type": "Sequence", "pretokenizers": list()}:
            steps = cast("dict[str, list[object]]", pre_tokenizer)["pretokenizers"]
        case _:
            pass
    match [kind(step) for step in steps]:
        case ["ByteLevel"]:
            return "bytes", "gpt2" if _byte_level_splits(steps[0]) else "none", _adds_space(steps[0])
        case ["Split"]:
            return "characters", _split_pattern(steps[0]), False
        case ["Split", "ByteLevel"]:
            pattern = _split_pattern(steps[0])
            if _byte_level_splits(steps[1]):
                raise Beyond("its pre-tokenizer splits text by two patterns")
            if _adds_space(steps[1]):
                raise Beyond("its pre-tokenizer adds a space to every pre-token")
            return "bytes", pattern, False
        case [other]:
            raise Beyond(f"its pre-tokenizer is {other or 'of an unknown kind'}")
        case _:
            raise Beyond("its pre-tokenizer splits text in several steps")


def check_decoder(base: Base, decoder: object) -> None:
    """Raises Beyond unless the decoder reverses the pre-tokenizer."""
    needed = "ByteLevel" if base == "bytes" else "Fuse"
    if kind(decoder) == "":
        what = "leaves bytes written as characters" if base == "bytes" else "puts spaces between tokens"
        raise Beyond(f"it has no decoder, so decoding {what}")
    if kind(decoder) != needed:
        raise Beyond(f"its decoder {kind(decoder)} does not match its pre-tokenizer")


def check_around(name: str, settings: Mapping[str, object]) -> None:
    """Raises FormatError where truncation or padding is damaged."""
    for key in ("truncation", "padding"):
        if not isinstance(settings.get(key), (dict, type(None))):
            raise FormatError(f'{name}: "{key}" has the wrong type.')


def added_token(name: str, number: int, value: object) -> AddedToken:
    """An entry of `added_tokens`, or FormatError where it is damaged; `number` is its position, from 1."""
    match value:
        case {"content": str(content), "id": object() as token} if content:
            entry = cast("dict[str, object]", value)
        case _:
            raise FormatError(f"{name}: added token {number:,} has no content or no id.")
    if problem := id_problem(token):
        raise FormatError(f"{name}: added token {shown(content)}: {problem}.")
    if has_surrogates(content):
        raise FormatError(f"{name}: added token {shown(content)} is not a string.")
    flags = [entry.get(key) not in (None, False) for key in ("lstrip", "rstrip", "single_word")]
    normalized, special = entry.get("normalized") is not False, entry.get("special") is True
    return AddedToken(content, cast("int", token), normalized, special, *flags)


def own_tokens(
    name: str, added: Collection[AddedToken], vocabulary: Mapping[str, int]
) -> tuple[list[AddedToken], tuple[str, ...]]:
    """The added tokens with the ids that the library gives them, and notes where the file says otherwise.

    A token has its id in the vocabulary, otherwise the next after its size. Of a token that is listed again, the last
    flags count; it is special if any of the entries says so.

    Raises:
        FormatError: Two tokens get the same id.
    """
    tokens: dict[str, AddedToken] = {}
    moved: list[AddedToken] = []
    repeated: list[AddedToken] = []
    following = len(vocabulary)
    for token in added:
        if (earlier := tokens.get(token.content)) is not None:
            number = earlier.id
            repeated.append(token)
        else:
            number = vocabulary.get(token.content, following)
            following += token.content not in vocabulary
        if number != token.id:
            moved.append(token)
        special = token.special or (earlier is not None and earlier.special)
        tokens[token.content] = replace(token, id=number, special=special)
    if len({token.id for token in tokens.values()}) < len(tokens):
        raise FormatError(f"{name}: two of its added tokens have the same id.")
    notes: list[str] = []
    if moved:
        first, more = moved[0], f" ({len(moved) - 1:,} more)" * (len(moved) > 1)
        ids_text = f"{shown(first.content)} the id {first.id:,}, but it is {tokens[first.content].id:,}"
        notes.append(f"The file gives its added token {ids_text}: ids of added tokens are ignored{more}.")
    if repeated:
        notes.append(f"The file lists its added token {shown(repeated[0].content)} again: the last entry counts.")
    return list(tokens.values()), tuple(notes)


def preparation(nfc: bool, prefix_space: bool, added: Collection[AddedToken]) -> Preparation:
    """What is done to a text before splitting; Beyond where added tokens are found in another way."""
    for token in added:
        if nfc and token.normalized and normalized(token.content) != token.content:
            raise Beyond(f"its added token {shown(token.content)} is found as other text")
    return preparation_of(nfc, prefix_space, added)


def kind(settings: object) -> str:
    """The type of a part of the file; "" where there is none."""
    match settings:
        case None:
            return ""
        case {"type": str(name)}:
            return shown(name).strip('"')
        case _:
            return "of an unknown kind"


def parts_in(value: object, depth: int = 0) -> Iterator[Mapping[str, object]]:
    """Yields all objects within a value, from the outside in."""
    if isinstance(value, dict):
        yield cast("dict[str, object]", value)
    if depth < _DEEPEST and isinstance(value, (dict, list, tuple)):
        inner = cast("dict[str, object]", value).values() if isinstance(value, dict) else cast("list[object]", value)
        for part in inner:
            yield from parts_in(part, depth + 1)


def _byte_level_splits(step: object) -> bool:
    # It is on by default.
    return cast("dict[str, object]", step).get("use_regex") is not False


def _adds_space(step: object) -> bool:
    # It is on by default.
    return cast("dict[str, object]", step).get("add_prefix_space") is not False


def _split_pattern(step: object) -> str:
    settings = cast("dict[str, object]", step)
    match settings.get("pattern"):
        case {"Regex": str(regex)} if regex:
            pass
        case _:
            raise Beyond("its pre-tokenizer does not split text by a regular expression")
    # With a pattern that covers all text, these behave alike; the last drops other text.
    behavior = (settings.get("behavior"), settings.get("invert", False))
    if behavior not in (("Isolated", False), ("Isolated", True), ("Removed", True)):
        raise Beyond("its pre-tokenizer drops or joins what its pattern finds")
    if regex in NAMES:
        raise Beyond(f"its pre-tokenizer splits text by the word {shown(regex)}")
    if REPEATED_GROUP.search(regex):
        return regex
    try:
        return isolating_pattern(regex) if behavior[0] == "Isolated" else known_pattern(regex)
    except ConfigError as error:
        raise Beyond("its pattern does not split text as TokStudio can") from error
