"""The spelling of tokens in Hugging Face's and GPT-2's files, quoted for JSON: bytes as one character each, or text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.format import cut
from tokstudio.core.pretokenization.custom_regex import covered
from tokstudio.core.pretokenization.patterns import NAMES, OWN, REGEX, covering, leaves_gaps, splitter
from tokstudio.core.text.byte_level import BYTE_OF, CHARACTER_OF, to_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.tokenizer.tokenizer import Tokenizer

# --- The regular expressions of patterns in files, and the patterns that such expressions name ------------------------

# The library's regular expressions are Oniguruma's. It takes `{1,3}+` for a repeated group, others for a possessive
# `{1,3}`; in the named patterns both split alike without the plus sign.
_WRITTEN = {name: regex.replace("{1,3}+", "{1,3}") for name, regex in REGEX.items()}

REPEATED_GROUP = re.compile(r"\{[0-9,]+\}\+")


def written_regex(pattern: str) -> str:
    """The regular expression of a pattern other than "none", for the library, which isolates what it matches."""
    if (expression := covered(pattern)) is not None:
        return expression
    return next((_WRITTEN[name] for name, regex in REGEX.items() if pattern in (name, regex)), pattern)


def isolating_pattern(regex: str) -> str:
    """Like `known_pattern`, for the library, which makes pre-tokens of text between matches too; or ConfigError."""
    pattern = known_pattern(regex)
    return covering(regex) if pattern not in NAMES and leaves_gaps(regex) else pattern


def named_pattern(name: str, regex: str) -> str:
    """Like `known_pattern`, with a FormatError that begins with `name`."""
    try:
        return known_pattern(regex)
    except ConfigError as error:
        raise FormatError(f"{name}: its pattern cannot be used: {error}") from error


def known_pattern(regex: str) -> str:
    """The name of a regular expression that splits like a named pattern, otherwise the expression; or ConfigError."""
    number = splitter(regex).kind
    return regex if number == OWN else NAMES[number]


_STEP = 1 << 12
_LONGEST_KEPT = 64
_QUOTED = [json.dumps(CHARACTER_OF[byte], ensure_ascii=False)[1:-1].encode() for byte in range(len(CHARACTER_OF))]


def spelling(tokenizer: Tokenizer) -> Callable[[bytes], Iterator[bytes]]:
    """A function that yields a token, escaped for JSON, in small parts."""
    return _in_byte_level if tokenizer.alphabet.base == "bytes" else _in_characters


def quoted(text: str) -> bytes:
    """A text escaped for JSON, without the quotes."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


def vocabulary(tokenizer: Tokenizer, indent: bytes) -> Iterator[bytes]:
    """Yields each token with its id, as lines of a JSON object in small parts; special tokens are written as text.

    The empty token is left out: no reader of such files could make it of a text.
    """
    texts = {number: token for token, number in tokenizer.special_tokens.items()}
    spelled = spelling(tokenizer)
    lead = b"\n"
    for token, token_bytes in enumerate(tokenizer.tokens):
        if token_bytes:
            yield lead + indent + b'"'
            yield from [quoted(texts[token])] if token in texts else spelled(token_bytes)
            yield b'": %d' % token
            lead = b",\n"


def misread_specials(tokenizer: Tokenizer) -> tuple[str, ...]:
    """Special tokens that the tokenizers library decodes as if they were byte-level, to another text."""
    if tokenizer.alphabet.base != "bytes":
        return ()
    return tuple(token for token in tokenizer.special_tokens if not token.isascii() and BYTE_OF.keys() >= set(token))


def spelled_alike_work(tokenizer: Tokenizer, specials_too: bool = True) -> Work[str | None]:
    """A sentence about two tokens with one spelling, of which a file can hold only one; None where all differ.

    `specials_too` says whether special tokens are in the same list as others.
    """
    texts = {number: token for token, number in tokenizer.special_tokens.items()}
    keys, tokens = _special_keys(tokenizer) if specials_too else dict.fromkeys(texts, b""), tokenizer.tokens
    lengths = tokens.lengths()
    for token, key in keys.items():
        lengths[token] = len(key)
    seen: dict[bytes, int] = {}
    size = 0
    for token in _with_repeated(lengths):
        size += 1 + int(lengths[token]) // _LONGEST_KEPT
        if size > _STEP:
            size = 0
            yield Progress("measuring")
        key = keys[token] if token in keys else tokens[token] or b""
        if len(key) > _LONGEST_KEPT:
            key = hashlib.sha256(key).digest() + len(key).to_bytes(8, "little")
        if key in seen:
            first, second = sorted((seen[key], token), key=lambda number: (number not in texts, number))
            name = f"special token {shown(texts[first])}" if first in texts else f"token {first}"
            return f"The {name} and token {second} have the same spelling in this format."
        seen[key] = token
    return None


def taken_whole_work(tokenizer: Tokenizer) -> Work[frozenset[int]]:
    """The tokens that merging does not make of their bytes, where every pre-token that equals a token becomes it."""
    from tokstudio.core.tokenizer.self_encoding import pieces_work

    specials, tokens = frozenset(tokenizer.special_tokens.values()), tokenizer.tokens
    # The empty token is not written, and no pre-token equals it.
    ids = [token for token in map(int, tokens.ids()) if token not in specials and tokens[token]]
    pieces = yield from pieces_work(tokenizer, [tokens[token] or b"" for token in ids])
    return frozenset(token for token, count in zip(ids, pieces.tolist(), strict=True) if count != 1)


def _with_repeated(lengths: NDArray[np.int64]) -> list[int]:
    """The ids whose token's length is not unique; most long tokens have unique lengths."""
    _, which, times = np.unique(lengths, return_inverse=True, return_counts=True)
    return np.flatnonzero((times[which] > 1) & (lengths > 0)).tolist()


def _special_keys(tokenizer: Tokenizer) -> Mapping[int, bytes]:
    """The bytes that each special token's spelling would mean for an ordinary token; empty where it means nothing."""
    texts = tokenizer.special_tokens
    if tokenizer.alphabet.base == "characters":
        return {number: text.encode() for text, number in texts.items()}
    return {number: to_bytes(text) if BYTE_OF.keys() >= set(text) else b"" for text, number in texts.items()}


def _in_byte_level(token: bytes) -> Iterator[bytes]:
    return (b"".join([_QUOTED[byte] for byte in part]) for part in cut(token))


def _in_characters(token: bytes) -> Iterator[bytes]:
    return map(quoted, codecs.iterdecode(cut(token), "utf-8"))
