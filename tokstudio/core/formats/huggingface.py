"""Hugging Face's `tokenizer.json` for BPE over bytes or characters, written as `tokenizers` itself would write it.

Reading it is left to `huggingface_reader`, what is tried with it to `proof`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tokstudio.core.byte_level import BYTE_OF, CHARACTER_OF, to_bytes
from tokstudio.core.errors import FormatError
from tokstudio.core.formats.base import GIGABYTE, Format
from tokstudio.core.formats.huggingface_parts import BYTE_LEVEL, FUSE, KEYS, split_of, written_regex
from tokstudio.core.formats.huggingface_reader import read_work
from tokstudio.core.formats.json_reader import shown
from tokstudio.core.formats.proof import pieces_of, prove_work, trials_work
from tokstudio.core.patterns import NAMES
from tokstudio.core.progress import Progress, Work

if TYPE_CHECKING:
    from tokstudio.core.tokenizer import Tokenizer

TOKENIZER = "tokenizer.json"

_PIECE = 1 << 13
_BATCH = 256
_STEP = 1 << 12
_CHARACTERS = [json.dumps(CHARACTER_OF[byte], ensure_ascii=False)[1:-1].encode() for byte in range(len(CHARACTER_OF))]


class HuggingFace(Format):
    """`tokenizer.json`."""

    name = "huggingface"
    title = "Hugging Face"
    description = "tokenizer.json for the tokenizers and transformers libraries"
    files = (TOKENIZER,)
    readable = True
    writable = True
    keys = KEYS
    largest = GIGABYTE

    def losses(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """The library takes a special token for bytes when it decodes, if its characters all stand for one."""
        return tuple(
            f"The special token {shown(token)} is decoded as other text by the tokenizers library."
            for token in _misread(tokenizer)
        )

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """Each token stands there as itself and as the two parts of its merge; a byte takes two at most."""
        specials = sum(260 + 6 * len(token.encode()) for token in tokenizer.special_tokens)
        return 4 * token_bytes + 80 * len(tokenizer) + specials

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """The one file."""
        return {TOKENIZER: _pieces(tokenizer)}

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Lets the library read the file and encode, special tokens included; its ids must be ours."""
        from tokstudio.core.formats.owners import OwnedFile, check_split_work

        yield from _refuse_spelled_alike(tokenizer, name)
        is_own = tokenizer.pattern not in NAMES
        if is_own:
            # Where few pre-tokens have merges, equal ids would prove little.
            yield from check_split_work(name, tokenizer.pattern, written_regex(tokenizer.pattern), pieces_of(sample))
        trials = yield from trials_work(tokenizer, sample, decodes=not _misread(tokenizer))
        file = OwnedFile("tokenizers", written[TOKENIZER], name)
        return (yield from prove_work(tokenizer, file, trials, elsewhere=is_own))

    def read(self, files: tuple[Path, ...], names: tuple[str, ...], pattern: str | None = None) -> Work[Tokenizer]:
        """Reads the file, which says how text is split."""
        return (yield from read_work(files[0], names[0]))


def _pieces(tokenizer: Tokenizer) -> Iterator[bytes]:
    before, after = _settings(tokenizer).split('"added_tokens": []')
    yield before.encode() + b'"added_tokens": ['
    yield from _added_tokens(tokenizer)
    # What closes the model and the file is written when the vocabulary and the merges are.
    yield b"]" + after.removesuffix("\n  }\n}").encode() + b',\n    "vocab": {'
    texts = {number: token for token, number in tokenizer.special_tokens.items()}
    spelled = _spelling(tokenizer)
    waiting, lead = bytearray(), b""
    for token, made in enumerate(tokenizer.tokens):
        if made is None:
            continue
        waiting += lead + b'\n      "'
        if token in texts:
            waiting += _quoted(texts[token])
        else:
            yield from spelled(made, waiting)
        waiting += b'": %d' % token
        lead = b","
    yield bytes(waiting) + b'\n    },\n    "merges": ['
    yield from _merges(tokenizer)
    yield b"]\n  }\n}"


def _settings(tokenizer: Tokenizer) -> str:
    """The file without what may be long."""
    in_bytes, unknown = tokenizer.alphabet.base == "bytes", tokenizer.alphabet.unknown
    split = split_of(tokenizer.pattern)
    if in_bytes and split:
        pre_tokenizer = {"type": "Sequence", "pretokenizers": [split, BYTE_LEVEL]}
    else:
        pre_tokenizer = BYTE_LEVEL if in_bytes else split
    settings: dict[str, object] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": None,
        "decoder": BYTE_LEVEL if in_bytes else FUSE,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None if unknown is None else (tokenizer.tokens[unknown] or b"").decode(),
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": bool(tokenizer.whole_words),
        },
    }
    return json.dumps(settings, indent=2, ensure_ascii=False)


def _added_tokens(tokenizer: Tokenizer) -> Iterator[bytes]:
    lead = b""
    for token, number in sorted(tokenizer.special_tokens.items(), key=lambda item: item[1]):
        entry = {
            "id": number,
            "content": token,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        yield lead + b"\n    " + json.dumps(entry, indent=2, ensure_ascii=False).replace("\n", "\n    ").encode()
        lead = b","
    if lead:
        yield b"\n  "


def _merges(tokenizer: Tokenizer) -> Iterator[bytes]:
    tokens, merges, spelled = tokenizer.tokens, tokenizer.merges, _spelling(tokenizer)
    waiting, lead = bytearray(), b""
    for first in range(0, len(merges), _BATCH):
        for left, right in merges[first : first + _BATCH].tolist():
            waiting += lead + b'\n      [\n        "'
            yield from spelled(tokens[int(left)] or b"", waiting)
            waiting += b'",\n        "'
            yield from spelled(tokens[int(right)] or b"", waiting)
            waiting += b'"\n      ]'
            lead = b","
    if len(merges):
        yield bytes(waiting) + b"\n    "


def _spelling(tokenizer: Tokenizer) -> Callable[[bytes, bytearray], Iterator[bytes]]:
    """What adds a token to what is waiting, and gives that away whenever it is enough."""
    return _in_byte_level if tokenizer.alphabet.base == "bytes" else _in_characters


def _in_byte_level(token: bytes, waiting: bytearray) -> Iterator[bytes]:
    for start in range(0, len(token), _PIECE):
        waiting += b"".join([_CHARACTERS[byte] for byte in token[start : start + _PIECE]])
        if len(waiting) > _PIECE:
            yield bytes(waiting)
            waiting.clear()


def _in_characters(token: bytes, waiting: bytearray) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(token), _PIECE):
        waiting += _quoted(decoder.decode(token[start : start + _PIECE]))
        if len(waiting) > _PIECE:
            yield bytes(waiting)
            waiting.clear()


def _quoted(text: str) -> bytes:
    """A text as JSON has it between quotes."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


def _misread(tokenizer: Tokenizer) -> tuple[str, ...]:
    """Special tokens that the library decodes as if they were bytes, and to other text than themselves."""
    if tokenizer.alphabet.base != "bytes":
        return ()
    return tuple(
        token
        for token in tokenizer.special_tokens
        if not token.isascii() and all(character in BYTE_OF for character in token)
    )


def _refuse_spelled_alike(tokenizer: Tokenizer, name: str) -> Work[None]:
    """Raises FormatError where a special token is spelled as another token is in the file."""
    texts, tokens = tokenizer.special_tokens, tokenizer.tokens
    if tokenizer.alphabet.base == "bytes":
        spelled = {to_bytes(text): text for text in texts if all(character in BYTE_OF for character in text)}
    else:
        spelled = {text.encode(): text for text in texts}
    lengths, specials = {len(made) for made in spelled}, frozenset(texts.values())
    for first in range(0, len(tokens) if spelled else 0, _STEP):
        for token in range(first, min(first + _STEP, len(tokens))):
            if tokens.length(token) in lengths and token not in specials and tokens[token] in spelled:
                text = shown(spelled[tokens[token] or b""])
                raise FormatError(f"{name}: special token {text} and token {token} have one spelling in this format.")
        yield Progress("proving", first, len(tokens))
