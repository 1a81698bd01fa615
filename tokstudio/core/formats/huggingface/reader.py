"""Reads a `tokenizer.json` in pieces, and makes a tokenizer of it where TokStudio supports all of its settings."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.beside import Beside
from tokstudio.core.formats.common.format import GIGABYTE
from tokstudio.core.formats.common.text_readers import JsonReader
from tokstudio.core.formats.common.vocabulary import (
    MergeList,
    byte_level_ids,
    empty_remarks,
    read_vocabulary_work,
    spelled,
    unmade_parts,
    utf8,
)
from tokstudio.core.formats.huggingface import library, parts
from tokstudio.core.formats.huggingface.library import library_work
from tokstudio.core.formats.huggingface.parts import Beyond, ParsedFile
from tokstudio.core.model.alphabet import Alphabet, Base, missing_byte
from tokstudio.core.pretokenization.custom_regex import covered
from tokstudio.core.pretokenization.patterns import NAMES
from tokstudio.core.text.byte_level import BYTE_OF, to_bytes

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_MOST_ADDED = 1 << 20
_REPORTED = 1 << 14
_CHANGING = {"continuing_subword_prefix": "marks tokens inside a word", "end_of_word_suffix": "marks the end of a word"}
_CHANGING_CHARACTERS = {
    "fuse_unk": "joins unknown characters into one token",
    "byte_fallback": "writes unknown characters as bytes",
}


def read_work(
    path: Path | bytes, name: str, remarks: tuple[str, ...] = (), beside: Beside | None = None
) -> Work[Tokenizer]:
    """Reads a file, or its content, twice where the merges come before the parts that they need.

    TokStudio encodes for a file whose settings it supports, its library for any other. Changes to a text as a whole
    (such as a token at its beginning) are left to the caller, and listed in the tokenizer's remarks, after those given.

    Raises:
        FormatError: It is damaged, or of an unknown kind; the message begins with `name`.
    """
    return (yield from opened_work(path, name, remarks, beside))[0]


def opened_work(
    path: Path | bytes, name: str, remarks: tuple[str, ...] = (), beside: Beside | None = None
) -> Work[tuple[Tokenizer, ParsedFile]]:
    """Does the same as `read_work`, and gives the content of the file as well."""
    parsed = yield from _read(path, name, None)
    parsed.remarks = remarks
    parsed.complete(name, beside or Beside())
    if parsed.kind != library.BPE:
        library.check_unknown(name, parsed.kind, parsed.model, parsed.vocabulary)
        return (yield from library_work(path, name, parsed, f"its model is {parsed.kind}")), parsed
    if not parsed.has_merges:
        parsed = yield from _read(path, name, parsed)
        parsed.remarks = remarks
        parsed.complete(name, beside or Beside())
    try:
        return (yield from _supported_work(name, parsed)), parsed
    except Beyond as beyond:
        reason = str(beyond)
    return (yield from library_work(path, name, parsed, reason)), parsed


def _read(path: Path | bytes, name: str, before: ParsedFile | None) -> Work[ParsedFile]:
    """Reads the file once; the result of an earlier reading is known from its beginning."""
    parsed = ParsedFile(vocabulary={} if before is None else before.vocabulary)
    with JsonReader(path, name, GIGABYTE) as reader:
        for key in reader.items():
            if key in parsed.settings:
                raise reader.fault(f"the key {shown(key)} appears twice")
            parsed.settings[key] = None
            if key == "model":
                # Before its tokens are read: a file of another kind is not a damaged one.
                parts.check_version(name, parsed.settings)
                yield from _read_model(reader, parsed, before)
            elif key == "added_tokens" and reader.peek() == "[":
                for position in reader.elements():
                    if position == _MOST_ADDED:
                        raise reader.fault(f"there are more than {_MOST_ADDED:,} added tokens")
                    parsed.added.append(parts.added_token(name, position + 1, reader.value()))
                    yield from reader.progress()
            else:
                parsed.settings[key] = reader.value()
            yield from reader.progress()
        reader.end()
        if "model" not in parsed.settings:
            raise reader.fault('the key "model" is missing')
    if parsed.settings.get("added_tokens") is not None:
        raise FormatError(f"{name}: its added tokens are not a list.")
    parts.check_version(name, parsed.settings)
    return parsed


def _read_model(reader: JsonReader, parsed: ParsedFile, before: ParsedFile | None) -> Work[None]:
    if reader.peek() != "{":
        raise reader.fault("the model must be an object")
    model = parsed.model
    for key in reader.items():
        if key in model:
            raise reader.fault(f"the key {shown(key)} appears twice in the model")
        model[key] = None
        opening = reader.peek()
        if key not in ("vocab", "merges"):
            model[key] = reader.value()
            continue
        model[key] = opening
        if key == "vocab" and before is None and library.may_have(model, opening):
            read = read_vocabulary_work if opening == "{" else library.read_pieces_work
            parsed.vocabulary |= yield from read(reader)
        elif key == "merges" and opening == "[" and (read_merges := _enough(parsed, before)):
            yield from _read_merges(reader, parsed, read_merges.model.get("continuing_subword_prefix"))
        else:
            yield from _pass_over(reader)
    parsed.kind = library.check_model(reader, model)


def _pass_over(reader: JsonReader) -> Work[None]:
    """Skips a vocabulary or merges that cannot be understood yet, or of another kind."""
    for _ in reader.parts():
        reader.value()
        yield from reader.progress()


def _enough(parsed: ParsedFile, before: ParsedFile | None) -> ParsedFile | None:
    """The parsed content, if it suffices to understand the merges."""
    if parsed.model.get("type") not in (None, library.BPE):
        return None
    if before is not None:
        return before
    is_known = "continuing_subword_prefix" in parsed.model and parsed.model.get("vocab") == "{"
    return parsed if is_known else None


def _read_merges(reader: JsonReader, parsed: ParsedFile, prefix: object) -> Work[None]:
    parsed.has_merges = True

    def take(entries: list[list[str] | str]) -> bool:
        pairs = [_parts(one) if isinstance(one, str) else one for one in entries]
        return parsed.add_several(pairs, prefix)

    has_several = True
    for _ in reader.elements():
        pair = read_pair(reader)
        if pair is not None and (problem := parsed.add(*pair, prefix)):
            raise reader.fault_before(problem)
        while has_several := has_several and reader.take_several("[]", take):
            yield from reader.progress()
        yield from reader.progress()


def _supported_work(name: str, parsed: ParsedFile) -> Work[Tokenizer]:
    """The tokenizer of a file whose settings TokStudio supports; Beyond otherwise."""
    settings, vocabulary = parsed.settings, parsed.vocabulary
    nfc = parts.normalizes(settings.get("normalizer"))
    base, pattern, prefix_space = parts.splitting(settings.get("pre_tokenizer"))
    parts.check_decoder(base, settings.get("decoder"))
    _check_model(parsed.model, base)
    preparation = parts.preparation(nfc, prefix_space, parsed.added)
    said = (*parsed.remarks, *library.remarks(parsed.kind, parsed.model, vocabulary))
    around = parsed.noted(pattern if base == "bytes" else None, nfc)
    if isinstance(reason := around.around, str):
        raise Beyond(reason)
    merges = yield from _merges_work(name, base, parsed)
    specials = {token.content: token.id for token in parsed.added}
    if (ordinary := next((token for token, number in specials.items() if merges.has(number)), None)) is not None:
        raise Beyond(f"its added token {shown(ordinary)} is also an ordinary token")
    ids = frozenset(specials.values())
    others = {number: token for token, number in vocabulary.items() if number not in ids and not merges.has(number)}
    extra = {number: spelled(token) if base == "bytes" else utf8(token) for number, token in others.items()}
    if (strange := next((n for n, token in extra.items() if not token and n != vocabulary.get("")), None)) is not None:
        raise FormatError(f"{name}: the vocabulary has the token {shown(others[strange])}, which is not text.")
    said += empty_remarks(extra)
    unknown = _unknown(name, parsed) if base == "characters" else None
    if pattern not in NAMES:
        from tokstudio.core.libraries.client import check_split_work

        try:
            yield from check_split_work(name, pattern, covered(pattern) or pattern)
        except FormatError as error:
            raise Beyond("its pattern does not split text as TokStudio can") from error
    more: dict[str, Any] = {"preparation": preparation, "remarks": said, "settings": around}
    tokenizer = merges.tokenizer(name, specials, pattern, unknown, extra, **more)
    if parsed.model.get("ignore_merges") in (None, False):
        return tokenizer
    whole = yield from _whole_words_work(base, tokenizer, vocabulary)
    return tokenizer.changed(whole_words=whole, ignores_merges=True)


def _check_model(model: dict[str, object], base: Base) -> None:
    """Raises Beyond where the model does more than merge."""
    for key, meaning in _CHANGING.items():
        if model.get(key) not in (None, ""):
            raise Beyond(f"it {meaning}")
    for key, meaning in _CHANGING_CHARACTERS.items() if base == "characters" else ():
        needs_token = key == "fuse_unk" and model.get("unk_token") is None
        if model.get(key) not in (None, False) and not needs_token:
            raise Beyond(f"it {meaning}")


def _merges_work(name: str, base: Base, parsed: ParsedFile) -> Work[MergeList]:
    alphabet, rows = _alphabet(name, base, parsed), parsed.rows
    texts, added = {number: token for token, number in parsed.vocabulary.items()}, {one.content for one in parsed.added}
    spell = to_bytes if base == "bytes" else utf8
    for part in (texts[number] for number in unmade_parts(alphabet, rows)):
        is_text = all(map(BYTE_OF.__contains__, part)) if base == "bytes" else utf8(part)
        if not part or not is_text or part in added:
            raise Beyond(f"one of its merges joins {shown(part)}, which no merge makes")
    return (yield from MergeList.in_any_order_work(alphabet, rows, lambda token: spell(texts[token])))


def _alphabet(name: str, base: Base, parsed: ParsedFile) -> Alphabet:
    vocabulary = parsed.vocabulary
    if base == "bytes":
        ids = byte_level_ids(vocabulary)
        if (missing := missing_byte({byte for byte, number in enumerate(ids) if number >= 0})) is not None:
            raise Beyond(f"the byte {missing} has no token in its vocabulary")
        return Alphabet.of_bytes(ids)
    specials = {token.content for token in parsed.added}
    characters = [token for token in vocabulary if len(token) == 1 and token not in specials]
    if strange := next((token for token in characters if "\ud800" <= token <= "\udfff"), None):
        raise FormatError(f"{name}: the vocabulary has the token {shown(strange)}, which is not a character.")
    return Alphabet.of_characters("".join(characters), [vocabulary[token] for token in characters])


def _whole_words_work(base: Base, tokenizer: Tokenizer, vocabulary: dict[str, int]) -> Work[list[int]]:
    """The tokens that an equal pre-token becomes, though merging does not make them of it."""
    from tokstudio.core.tokenizer.self_encoding import pieces_work

    if base == "characters":
        raise Beyond("it takes whole words before merging")
    # Other tokens cannot be equal to a pre-token.
    words = {token: number for token, number in vocabulary.items() if token and all(map(BYTE_OF.__contains__, token))}
    for token in tokenizer.special_tokens.keys() & words.keys():
        if to_bytes(token) != token.encode():
            raise Beyond(f"its added token {shown(token)} means different bytes as a whole word")
    pieces = yield from pieces_work(tokenizer, list(map(to_bytes, words)))
    return [number for number, count in zip(words.values(), pieces.tolist(), strict=True) if count != 1]


def _unknown(name: str, parsed: ParsedFile) -> int | None:
    """The id of the unknown token, where there is one."""
    token = parsed.model.get("unk_token")
    if not isinstance(token, str | None):
        raise FormatError(f"{name}: its unknown token is not a string.")
    return None if token is None else parsed.vocabulary.get(token)


def read_pair(reader: JsonReader) -> tuple[str, str] | None:
    """The two parts of a merge in either form, of any length; None for a line with the version."""
    match reader.short():
        case [str(left), str(right)]:
            return left, right
        case str(line):
            return _split(reader, line)
        case None if reader.peek() == "[":
            pair = [reader.string() for _ in reader.elements()]
            if len(pair) == 2:
                return pair[0], pair[1]
        case None if reader.peek() == '"':
            return _split(reader, reader.string())
        case _:
            pass
    raise reader.fault_before("a merge must be two tokens")


def _parts(line: str) -> list[str]:
    """Two parts of a merge; any other number is a fault, or the version."""
    return [] if line.startswith("#version") else line.split(" ")


def _split(reader: JsonReader, line: str) -> tuple[str, str] | None:
    match _parts(line):
        case []:
            return None
        case [left, right]:
            return left, right
        case _:
            raise reader.fault_before(f"the merge {shown(line)} must be two tokens with a space between them")
