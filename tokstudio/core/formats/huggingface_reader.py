"""Reads a `tokenizer.json` a piece at a time, and makes a tokenizer of it where our engine does what it asks for.

What the parts around the model mean is left to `huggingface_parts`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tokstudio.core.alphabet import Alphabet, Base
from tokstudio.core.byte_level import BYTE_OF
from tokstudio.core.errors import FormatError
from tokstudio.core.formats.base import GIGABYTE
from tokstudio.core.formats.huggingface_parts import (
    AddedToken,
    added_ids,
    added_token,
    check_decoder,
    kind,
    refuse_settings,
    splitting,
)
from tokstudio.core.formats.json_reader import JsonReader, shown
from tokstudio.core.formats.merge_list import MergeList
from tokstudio.core.formats.vocabulary import add_merge, byte_level_alphabet, read_vocabulary_work
from tokstudio.core.patterns import NAMES
from tokstudio.core.progress import Work

if TYPE_CHECKING:
    from tokstudio.core.tokenizer import Tokenizer

_MOST_ADDED = 1 << 20


def read_work(path: Path, name: str) -> Work[Tokenizer]:
    """Reads the file; a second time where the merges stand before what they can be understood with.

    Raises:
        FormatError: It is damaged, or asks for what cannot be modelled; `name` is what the message calls it.
    """
    found = yield from _read(path, name, None)
    if found.merges is None:
        found = yield from _read(path, name, found)
    return (yield from _tokenizer_work(name, found))


@dataclass
class _Found:
    """What is known of the file."""

    settings: dict[str, object] = field(default_factory=dict[str, object])
    model: dict[str, object] = field(default_factory=dict[str, object])
    added: list[AddedToken] = field(default_factory=list[AddedToken])
    vocabulary: dict[str, int] | None = None
    merges: MergeList | None = None


def _read(path: Path, name: str, before: _Found | None) -> Work[_Found]:
    """Goes through the file; what an earlier passage has found is known from its beginning."""
    found = _Found(vocabulary=None if before is None else before.vocabulary)
    with JsonReader(path, name, GIGABYTE) as reader:
        for key in reader.items():
            if key in found.settings:
                raise reader.fault(f"the key {shown(key)} stands there twice")
            found.settings[key] = None
            if key == "model":
                # Said before its tokens are looked at: another kind of file is not a damaged one.
                refuse_settings(name, found.settings)
                yield from _read_model(reader, found, before)
            elif key == "added_tokens" and reader.peek() == "[":
                for position in reader.elements():
                    if position == _MOST_ADDED:
                        raise reader.fault(f"there are more than {_MOST_ADDED:,} added tokens")
                    found.added.append(added_token(name, position + 1, reader.value()))
                    yield from reader.progress()
            else:
                found.settings[key] = reader.value()
            yield from reader.progress()
        reader.end()
        if "model" not in found.settings:
            raise reader.fault('the key "model" is missing')
    if found.settings.get("added_tokens") is not None:
        raise FormatError(f"{name}: its added tokens are not a list.")
    refuse_settings(name, found.settings)
    check_decoder(name, splitting(name, found.settings.get("pre_tokenizer"))[0], found.settings.get("decoder"))
    return found


def _read_model(reader: JsonReader, found: _Found, before: _Found | None) -> Work[None]:
    if reader.peek() != "{":
        raise reader.fault("the model must be an object")
    model = found.model
    for key in reader.items():
        if key in model:
            raise reader.fault(f"the key {shown(key)} stands there twice in the model")
        model[key] = None
        is_ours = model.get("type") in (None, "BPE")
        if key == "vocab" and before is None and is_ours and reader.peek() == "{":
            found.vocabulary = yield from read_vocabulary_work(reader)
        elif key == "merges" and is_ours and reader.peek() == "[" and (known := _enough(found, before)):
            yield from _read_merges(reader, found, known)
        elif key in ("vocab", "merges"):
            model[key] = reader.peek()
            for _ in reader.items() if reader.peek() == "{" else reader.elements():
                reader.value()
                yield from reader.progress()
        else:
            model[key] = reader.value()
    _judge(reader, model, found)


def _enough(found: _Found, before: _Found | None) -> _Found | None:
    """What is known of the file, where the merges can be understood with it."""
    if before is not None:
        return before
    is_known = found.vocabulary is not None and found.settings.keys() >= {"pre_tokenizer", "added_tokens"}
    return found if is_known else None


def _judge(reader: JsonReader, model: dict[str, object], found: _Found) -> None:
    if model.get("type", "BPE") != "BPE":
        raise FormatError(f"{reader.name}: its model is {kind(model)}, which TokStudio cannot model yet.")
    for key, opening in (("vocab", "{"), ("merges", "[")):
        if key not in model:
            raise reader.fault(f'the key "{key}" is missing in the model')
        if model[key] not in (None, opening):
            raise reader.fault(f'"{key}" is not of the right type in the model')
    for key, meaning in _CHANGING.items():
        if model.get(key) not in (None, False, 0, ""):
            raise FormatError(f"{reader.name}: it uses {key}, which {meaning}, and TokStudio cannot model that yet.")


_CHANGING = {
    "dropout": "leaves out merges at random",
    "continuing_subword_prefix": "marks tokens inside a word",
    "end_of_word_suffix": "marks the end of a word",
}
_CHANGING_CHARACTERS = {
    "fuse_unk": "makes one token of several unknown characters",
    "byte_fallback": "spells unknown characters in bytes",
}


def _read_merges(reader: JsonReader, found: _Found, known: _Found) -> Work[None]:
    vocabulary = known.vocabulary or {}
    base, _ = splitting(reader.name, known.settings.get("pre_tokenizer"))
    merges = MergeList(_alphabet(reader.name, base, vocabulary, known.added))
    for _ in reader.elements():
        pair = _read_pair(reader)
        if pair is not None and (problem := add_merge(merges, vocabulary, *pair)):
            raise reader.fault_before(problem)
        yield from reader.progress()
    found.merges = merges


def _alphabet(name: str, base: Base, vocabulary: dict[str, int], added: list[AddedToken]) -> Alphabet:
    if base == "bytes":
        return byte_level_alphabet(name, vocabulary)
    specials = {token.content for token in added}
    characters = [token for token in vocabulary if len(token) == 1 and token not in specials]
    if not characters:
        raise FormatError(f"{name}: the vocabulary holds no character.")
    if strange := next((token for token in characters if "\ud800" <= token <= "\udfff"), None):
        raise FormatError(f"{name}: the vocabulary has the token {shown(strange)}, which is no character.")
    return Alphabet.of_characters("".join(characters), [vocabulary[token] for token in characters])


def _tokenizer_work(name: str, found: _Found) -> Work[Tokenizer]:
    vocabulary, merges = found.vocabulary or {}, found.merges
    assert merges is not None
    specials = added_ids(name, found.added, vocabulary)
    for token, number in specials.items():
        if merges.has(number):
            raise FormatError(
                f"{name}: added token {shown(token)} is an ordinary token as well, which TokStudio cannot model yet."
            )
    ids = frozenset(specials.values())
    left_over = next((item for item in vocabulary.items() if not merges.has(item[1]) and item[1] not in ids), None)
    base, pattern = splitting(name, found.settings.get("pre_tokenizer"))
    if left_over is not None:
        is_spelled = base == "characters" or all(character in BYTE_OF for character in left_over[0])
        why = "no merge makes" if is_spelled else "is not byte-level"
        raise FormatError(f"{name}: the vocabulary has the token {shown(left_over[0])}, which {why}: not modelled yet.")
    unknown = _unknown(name, found) if base == "characters" else None
    if pattern not in NAMES:
        from tokstudio.core.formats.owners import check_split_work

        yield from check_split_work(name, pattern, pattern)
    tokenizer = merges.tokenizer(name, specials, pattern, unknown)
    if found.model.get("ignore_merges") not in (None, False):
        yield from _check_whole_words(name, tokenizer)
    return tokenizer


def _check_whole_words(name: str, tokenizer: Tokenizer) -> Work[None]:
    """Raises FormatError unless a word that is a token becomes that token by merging as well."""
    from tokstudio.core.formats.ranks import unreached_work

    if tokenizer.alphabet.base == "bytes":
        token = yield from unreached_work(tokenizer)
        if token is None:
            return
    raise FormatError(f"{name}: it uses ignore_merges, which takes whole words before merging: not modelled yet.")


def _unknown(name: str, found: _Found) -> int | None:
    """The id of the unknown token, where there is one."""
    token = found.model.get("unk_token")
    for key, meaning in _CHANGING_CHARACTERS.items():
        needs_token = key == "fuse_unk" and token is None
        if found.model.get(key) not in (None, False) and not needs_token:
            raise FormatError(f"{name}: it uses {key}, which {meaning}, and TokStudio cannot model that yet.")
    if token is None:
        return None
    number = (found.vocabulary or {}).get(token) if isinstance(token, str) else None
    if number is None:
        raise FormatError(f"{name}: its unknown token is not in the vocabulary.")
    return number


def _read_pair(reader: JsonReader) -> tuple[str, str] | None:
    """The two parts of a merge in either form, however long they are; None for the line that tells a version."""
    match reader.short():
        case [str(left), str(right)]:
            return left, right
        case str(line):
            return _split(reader, line)
        case None if reader.peek() == "[":
            parts = [reader.string() for _ in reader.elements()]
            if len(parts) == 2:
                return parts[0], parts[1]
        case None if reader.peek() == '"':
            return _split(reader, reader.string())
        case _:
            pass
    raise reader.fault_before("a merge must be two tokens")


def _split(reader: JsonReader, line: str) -> tuple[str, str] | None:
    if line.startswith("#version"):
        return None
    left, space, right = line.partition(" ")
    if not space or " " in right:
        raise reader.fault_before(f"the merge {shown(line)} must be two tokens with a space between them")
    return left, right
