"""Reads a `tokenizer.json` a piece at a time, and makes a tokenizer of it where our engine does what it asks for.

What the parts around the model mean is left to `huggingface_parts`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.formats.common.format import GIGABYTE
from tokstudio.core.formats.common.json_reader import JsonReader, shown
from tokstudio.core.formats.common.merge_list import MergeList
from tokstudio.core.formats.common.vocabulary import byte_level_ids, read_vocabulary_work, spelled
from tokstudio.core.formats.huggingface.library import library_work
from tokstudio.core.formats.huggingface.parsed_file import ParsedFile
from tokstudio.core.formats.huggingface.parts import (
    Beyond,
    added_ids,
    added_token,
    check_added,
    check_decoder,
    check_normalizer,
    check_version,
    kind,
    remarks,
    splitting,
)
from tokstudio.core.model.alphabet import Alphabet, Base
from tokstudio.core.pretokenization.patterns import NAMES
from tokstudio.core.text.byte_level import BYTE_OF, to_bytes

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_MOST_ADDED = 1 << 20
_REPORTED = 1 << 14
_OTHERS = ("WordPiece", "Unigram", "WordLevel")


def read_work(path: Path, name: str) -> Work[Tokenizer]:
    """Reads the file; a second time where the merges stand before what they can be understood with.

    What our engine does is a tokenizer of ours. What the file adds to a text as a whole (a token at its beginning, say)
    is left to whoever gives ids to a model, and told in the tokenizer's remarks. All else is the library's to encode.

    Raises:
        FormatError: It is damaged, or no byte pair encoding; `name` is what the message calls it.
    """
    found = yield from _read(path, name, None)
    if not found.has_merges:
        found = yield from _read(path, name, found)
    try:
        return (yield from _ours_work(name, found))
    except Beyond as beyond:
        reason = str(beyond)
    return (yield from library_work(path, name, found, reason))


def _read(path: Path, name: str, before: ParsedFile | None) -> Work[ParsedFile]:
    """Goes through the file; what an earlier passage has found is known from its beginning."""
    found = ParsedFile(vocabulary={} if before is None else before.vocabulary)
    with JsonReader(path, name, GIGABYTE) as reader:
        for key in reader.items():
            if key in found.settings:
                raise reader.fault(f"the key {shown(key)} appears twice")
            found.settings[key] = None
            if key == "model":
                # Said before its tokens are looked at: another kind of file is not a damaged one.
                check_version(name, found.settings)
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
    check_version(name, found.settings)
    return found


def _read_model(reader: JsonReader, found: ParsedFile, before: ParsedFile | None) -> Work[None]:
    if reader.peek() != "{":
        raise reader.fault("the model must be an object")
    model = found.model
    for key in reader.items():
        if key in model:
            raise reader.fault(f"the key {shown(key)} appears twice in the model")
        model[key] = None
        is_ours = model.get("type") in (None, "BPE")
        if key == "vocab" and before is None and is_ours and reader.peek() == "{":
            found.vocabulary |= yield from read_vocabulary_work(reader)
        elif key == "merges" and is_ours and reader.peek() == "[" and (known := _enough(found, before)):
            yield from _read_merges(reader, found, known.model.get("continuing_subword_prefix"))
        elif key in ("vocab", "merges"):
            model[key] = yield from _pass_over(reader)
        else:
            model[key] = reader.value()
    _judge(reader, model)


def _pass_over(reader: JsonReader) -> Work[str]:
    """Reads over a vocabulary or merges that cannot be understood yet, or are of another kind; gives how they begin."""
    opening = reader.peek()
    if opening not in ("{", "["):
        reader.value()
        return opening
    for _ in reader.items() if opening == "{" else reader.elements():
        reader.value()
        yield from reader.progress()
    return opening


def _enough(found: ParsedFile, before: ParsedFile | None) -> ParsedFile | None:
    """What is known of the file, where the merges can be understood with it."""
    if before is not None:
        return before
    # What was read elsewhere is left out of the model.
    is_known = "continuing_subword_prefix" in found.model and found.model.get("vocab", "") is None
    return found if is_known else None


def _judge(reader: JsonReader, model: dict[str, object]) -> None:
    if model.get("type", "BPE") != "BPE":
        other = kind({"type": model["type"]}) if model["type"] in _OTHERS else "of another kind"
        raise FormatError(f"{reader.name}: its model is {other}; TokStudio opens only byte pair encodings (BPE).")
    for key, opening, called in (("vocab", "{", "an object"), ("merges", "[", "an array")):
        if key not in model:
            raise reader.fault(f'the key "{key}" is missing in the model')
        if model[key] not in (None, opening):
            raise reader.fault(f'"{key}" must be {called} in the model')
    if model.get("dropout") not in (None, False, 0):
        raise FormatError(f"{reader.name}: it skips merges at random (dropout), so the ids of a text change each time.")


def _read_merges(reader: JsonReader, found: ParsedFile, prefix: object) -> Work[None]:
    found.has_merges = True
    for _ in reader.elements():
        pair = _read_pair(reader)
        if pair is not None and (problem := found.add(*pair, prefix)):
            raise reader.fault_before(problem)
        yield from reader.progress()


def _ours_work(name: str, found: ParsedFile) -> Work[Tokenizer]:
    """The tokenizer that our engine does all of; Beyond where it does not."""
    settings, vocabulary = found.settings, found.vocabulary
    check_normalizer(settings.get("normalizer"))
    base, pattern = splitting(settings.get("pre_tokenizer"))
    check_decoder(base, settings.get("decoder"))
    _check_model(found.model, base)
    check_added(found.added)
    said = remarks(name, settings)
    merges = yield from _merges_work(name, base, found)
    specials = added_ids(name, found.added, vocabulary)
    if (ordinary := next((token for token, number in specials.items() if merges.has(number)), None)) is not None:
        raise Beyond(f"its added token {shown(ordinary)} is also an ordinary token")
    ids = frozenset(specials.values())
    others = {number: token for token, number in vocabulary.items() if number not in ids and not merges.has(number)}
    extra = {number: spelled(token) if base == "bytes" else _utf8(token) for number, token in others.items()}
    if (strange := next((number for number, token in extra.items() if not token), None)) is not None:
        raise FormatError(f"{name}: the vocabulary has the token {shown(others[strange])}, which is not text.")
    unknown = _unknown(name, found) if base == "characters" else None
    if pattern not in NAMES:
        yield from _check_split(name, pattern)
    tokenizer = merges.tokenizer(name, specials, pattern, unknown, extra, remarks=said)
    if found.model.get("ignore_merges") in (None, False):
        return tokenizer
    whole = yield from _whole_words_work(base, tokenizer, vocabulary)
    return merges.tokenizer(name, specials, pattern, unknown, extra, whole, said)


def _check_model(model: dict[str, object], base: Base) -> None:
    """Raises Beyond where the model does more than merge."""
    for key, meaning in _CHANGING.items():
        if model.get(key) not in (None, ""):
            raise Beyond(f"it {meaning}")
    for key, meaning in _CHANGING_CHARACTERS.items() if base == "characters" else ():
        needs_token = key == "fuse_unk" and model.get("unk_token") is None
        if model.get(key) not in (None, False) and not needs_token:
            raise Beyond(f"it {meaning}")


_CHANGING = {
    "continuing_subword_prefix": "marks tokens inside a word",
    "end_of_word_suffix": "marks the end of a word",
}
_CHANGING_CHARACTERS = {
    "fuse_unk": "joins unknown characters into one token",
    "byte_fallback": "writes unknown characters as bytes",
}


def _merges_work(name: str, base: Base, found: ParsedFile) -> Work[MergeList]:
    merges, rows = MergeList(_alphabet(name, base, found)), found.rows.tolist()
    for number, (left, right, result) in enumerate(rows):
        if problem := merges.add(left, right, result):
            earlier = next((row for row in rows[:number] if row[2] == result), None)
            if merges.has(left) and merges.has(right) and earlier is not None and earlier[:2] != [left, right]:
                raise Beyond("several of its merges make the same token")
            raise FormatError(f"{name}: {problem}.")
        if number % _REPORTED == 0:
            yield Progress("reading", number, len(rows))
    return merges


def _alphabet(name: str, base: Base, found: ParsedFile) -> Alphabet:
    vocabulary = found.vocabulary
    if base == "bytes":
        ids = byte_level_ids(vocabulary)
        if -1 in ids:
            raise Beyond(f"the byte {ids.index(-1)} has no token in its vocabulary")
        return Alphabet.of_bytes(ids)
    specials = {token.content for token in found.added}
    characters = [token for token in vocabulary if len(token) == 1 and token not in specials]
    if not characters:
        raise FormatError(f"{name}: the vocabulary has no characters.")
    if strange := next((token for token in characters if "\ud800" <= token <= "\udfff"), None):
        raise FormatError(f"{name}: the vocabulary has the token {shown(strange)}, which is not a character.")
    return Alphabet.of_characters("".join(characters), [vocabulary[token] for token in characters])


def _check_split(name: str, pattern: str) -> Work[None]:
    from tokstudio.core.libraries.client import check_split_work

    try:
        yield from check_split_work(name, pattern, pattern)
    except FormatError as error:
        raise Beyond("its pattern does not split text as TokStudio can") from error


def _whole_words_work(base: Base, tokenizer: Tokenizer, vocabulary: dict[str, int]) -> Work[list[int]]:
    """The tokens that a pre-token equal to them becomes, and that merging does not make of it."""
    from tokstudio.core.tokenizer.self_encoding import pieces_work

    if base == "characters":
        raise Beyond("it takes whole words before merging")
    # Others cannot be equal to a pre-token.
    words = {token: number for token, number in vocabulary.items() if all(map(BYTE_OF.__contains__, token))}
    for token in tokenizer.special_tokens.keys() & words.keys():
        if to_bytes(token) != token.encode():
            raise Beyond(f"its added token {shown(token)} means different bytes as a whole word")
    pieces = yield from pieces_work(tokenizer, list(map(to_bytes, words)))
    return [number for number, count in zip(words.values(), pieces.tolist(), strict=True) if count != 1]


def _unknown(name: str, found: ParsedFile) -> int | None:
    """The id of the unknown token, where there is one."""
    token = found.model.get("unk_token")
    if token is None:
        return None
    number = found.vocabulary.get(token) if isinstance(token, str) else None
    if number is None:
        raise FormatError(f"{name}: its unknown token is not in the vocabulary.")
    return number


def _utf8(token: str) -> bytes:
    """Empty where it is no text."""
    return b"" if any("\ud800" <= character <= "\udfff" for character in token) else token.encode()


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
