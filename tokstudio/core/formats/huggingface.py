"""Hugging Face's `tokenizer.json` for byte-level BPE without a pattern, written as `tokenizers` itself would write it.

Files that ask for more than that are refused by name; proving a file with the library is left to `tokenizers_library`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from tokstudio.core.byte_level import BYTE_OF, CHARACTER_OF
from tokstudio.core.errors import FormatError
from tokstudio.core.formats.base import GIGABYTE, Format
from tokstudio.core.formats.json_reader import JsonReader, shown
from tokstudio.core.formats.merge_list import MergeList, id_problem
from tokstudio.core.progress import Progress, Work
from tokstudio.core.run import BASE_SIZE
from tokstudio.core.torture import torture_text

if TYPE_CHECKING:
    from tokstudio.core.tokenizer import Tokenizer

TOKENIZER = "tokenizer.json"

_PIECE = 1 << 13
_BATCH = 256
# Characters of the sample that are encoded at once: the library keeps the interpreter to itself meanwhile.
_SAMPLE_PIECE = 1 << 14
_CHARACTERS = [json.dumps(CHARACTER_OF[byte], ensure_ascii=False)[1:-1].encode() for byte in range(BASE_SIZE)]
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
_BEFORE_MODEL: dict[str, object] = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": _BYTE_LEVEL,
    "post_processor": None,
    "decoder": _BYTE_LEVEL,
}
_MODEL: dict[str, object] = {
    "type": "BPE",
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
}


class HuggingFace(Format):
    """`tokenizer.json`."""

    name = "huggingface"
    title = "Hugging Face"
    description = "tokenizer.json for the tokenizers and transformers libraries"
    files = (TOKENIZER,)
    readable = True
    writable = True
    keys = frozenset({*_BEFORE_MODEL, "model"})
    largest = GIGABYTE

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """Each token stands there as itself and as the two parts of its merge; a byte takes two at most."""
        return 4 * token_bytes + 80 * len(tokenizer)

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """The one file."""
        return {TOKENIZER: _pieces(tokenizer)}

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Lets the library read the file and encode; its ids must be ours."""
        from tokstudio.core.formats.tokenizers_library import library_ids

        starts = range(0, len(sample), _SAMPLE_PIECE)
        texts = [torture_text(), *(sample[start : start + _SAMPLE_PIECE] for start in starts)]
        theirs = yield from library_ids(written[TOKENIZER], name, texts)
        total = 0
        for text, their_ids in zip(texts, theirs, strict=True):
            ids = yield from tokenizer.encode_work(text)
            if not np.array_equal(ids, their_ids):
                raise FormatError(f"{name}: {_first_difference(tokenizer, ids.tolist(), their_ids.tolist())}")
            total += len(ids)
            yield Progress("proving")
        return f"identical over {total:,} tokens"

    def read(self, files: tuple[Path, ...], names: tuple[str, ...]) -> Work[Tokenizer]:
        """Reads the file; a second time where the merges stand before the vocabulary that they need."""
        vocabulary = yield from _read(files[0], names[0], None)
        if isinstance(vocabulary, dict):
            vocabulary = yield from _read(files[0], names[0], vocabulary)
        return cast("Tokenizer", vocabulary)


def _pieces(tokenizer: Tokenizer) -> Iterator[bytes]:
    before = json.dumps(_BEFORE_MODEL | {"model": _MODEL}, indent=2)
    # What closes the model and the file is written when the vocabulary and the merges are.
    yield before.removesuffix("\n  }\n}").encode() + b',\n    "vocab": {'
    waiting, lead = bytearray(), b""
    for token, made in enumerate(tokenizer.tokens):
        if made is None:
            continue
        waiting += lead + b'\n      "'
        yield from _spelled(made, waiting)
        waiting += b'": %d' % token
        lead = b","
    yield bytes(waiting) + b'\n    },\n    "merges": ['
    yield from _merges(tokenizer)
    yield b"]\n  }\n}"


def _merges(tokenizer: Tokenizer) -> Iterator[bytes]:
    tokens, merges = tokenizer.tokens, tokenizer.merges
    waiting, lead = bytearray(), b""
    for first in range(0, len(merges), _BATCH):
        for left, right in merges[first : first + _BATCH].tolist():
            waiting += lead + b'\n      [\n        "'
            yield from _spelled(tokens[int(left)] or b"", waiting)
            waiting += b'",\n        "'
            yield from _spelled(tokens[int(right)] or b"", waiting)
            waiting += b'"\n      ]'
            lead = b","
    if len(merges):
        yield bytes(waiting) + b"\n    "


def _spelled(token: bytes, waiting: bytearray) -> Iterator[bytes]:
    """Adds a token in byte-level characters to what is waiting, and gives that away whenever it is enough."""
    for start in range(0, len(token), _PIECE):
        waiting += b"".join([_CHARACTERS[byte] for byte in token[start : start + _PIECE]])
        if len(waiting) > _PIECE:
            yield bytes(waiting)
            waiting.clear()


def _first_difference(tokenizer: Tokenizer, ours: list[int], theirs: list[int]) -> str:
    pairs = zip(ours, theirs, strict=False)
    at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(ours), len(theirs)))
    text = tokenizer.decode(ours[max(0, at - 3) : at + 3])
    return (
        f"read back by the tokenizers library, it differs at token {at + 1:,}, near {shown(text)}: "
        f"{theirs[at : at + 4]} instead of {ours[at : at + 4]}."
    )


def _read(path: Path, name: str, vocabulary: dict[str, int] | None) -> Work[Tokenizer | dict[str, int]]:
    """Gives the tokenizer, or the vocabulary where the merges could not be understood without it."""
    settings: dict[str, object] = {}
    model = _Model(name, vocabulary)
    with JsonReader(path, name, GIGABYTE) as reader:
        for key in reader.items():
            if key in settings:
                raise reader.fault(f"the key {shown(key)} stands there twice")
            settings[key] = None
            if key == "model":
                # Said before its tokens are looked at: another kind of file is not a damaged one.
                _refuse(name, settings)
                yield from model.read(reader)
            else:
                settings[key] = reader.value()
            yield from reader.progress()
        reader.end()
        if "model" not in settings:
            raise reader.fault('the key "model" is missing')
        _refuse(name, settings)
        for needed in ("pre_tokenizer", "decoder"):
            if settings.get(needed) is None:
                raise FormatError(f"{name}: it has no byte-level {needed.replace('_', '-')}, so it works on {_OTHER}.")
    return model.vocabulary if model.merges is None else model.tokenizer(model.merges)


_OTHER = "characters, which TokStudio cannot model yet"


class _Model:
    """The part of the file that has the vocabulary and the merges."""

    def __init__(self, name: str, vocabulary: dict[str, int] | None) -> None:
        self._name = name
        self._again = self._has_vocabulary = vocabulary is not None
        self.vocabulary: dict[str, int] = vocabulary or {}
        self.merges: MergeList | None = None

    def read(self, reader: JsonReader) -> Work[None]:
        if reader.peek() != "{":
            raise reader.fault("the model must be an object")
        settings: dict[str, object] = {}
        for key in reader.items():
            if key in settings:
                raise reader.fault(f"the key {shown(key)} stands there twice in the model")
            settings[key] = None
            kind = settings.get("type")
            if key == "vocab" and not self._again and kind in (None, "BPE") and reader.peek() == "{":
                yield from self._read_vocabulary(reader)
            elif key == "merges" and self._has_vocabulary and kind in (None, "BPE") and reader.peek() == "[":
                yield from self._read_merges(reader)
            elif key in ("vocab", "merges"):
                settings[key] = reader.peek()
                for _ in reader.items() if reader.peek() == "{" else reader.elements():
                    reader.value()
                    yield from reader.progress()
            else:
                settings[key] = reader.value()
        self._judge(settings, reader)

    def _judge(self, settings: dict[str, object], reader: JsonReader) -> None:
        kind = settings.get("type", "BPE")
        if kind != "BPE":
            raise FormatError(f"{self._name}: its model is {_kind(settings)}, which TokStudio cannot model yet.")
        for key, opening in (("vocab", "{"), ("merges", "[")):
            if key not in settings:
                raise reader.fault(f'the key "{key}" is missing in the model')
            if settings[key] not in (None, opening):
                raise reader.fault(f'"{key}" is not of the right type in the model')
        for key, meaning in _CHANGING.items():
            if settings.get(key) not in (None, False, 0, ""):
                raise FormatError(f"{self._name}: it uses {key}, which {meaning}, and TokStudio cannot model that yet.")

    def _read_vocabulary(self, reader: JsonReader) -> Work[None]:
        self._has_vocabulary = True
        used = bytearray()
        for token in reader.items():
            value = reader.value()
            if problem := id_problem(value):
                raise reader.fault_before(f"token {shown(token)}: {problem}")
            number = cast("int", value)
            if token in self.vocabulary:
                raise reader.fault_before(f"token {shown(token)} stands there twice")
            if number >= len(used):
                used.extend(bytes(number + 1 - len(used)))
            if used[number]:
                raise reader.fault_before(f"token {shown(token)}: id {number} stands there twice")
            used[number] = 1
            self.vocabulary[token] = number
            yield from reader.progress()

    def _read_merges(self, reader: JsonReader) -> Work[None]:
        byte_ids = [self.vocabulary.get(CHARACTER_OF[byte], -1) for byte in range(BASE_SIZE)]
        if -1 in byte_ids:
            raise FormatError(
                f"{self._name}: the byte {byte_ids.index(-1)} has no token in the vocabulary; TokStudio needs all 256."
            )
        self.merges = MergeList(byte_ids)
        for _ in reader.elements():
            pair = _read_pair(reader)
            if pair is not None:
                self._add(reader, self.merges, *pair)
            yield from reader.progress()

    def _add(self, reader: JsonReader, merges: MergeList, left: str, right: str) -> None:
        ids = self.vocabulary
        for part in (left, right, left + right):
            if part not in ids:
                problem = f"merge {len(merges) + 1:,} needs the token {shown(part)}, which the vocabulary does not have"
                raise reader.fault_before(problem)
        if problem := merges.add(ids[left], ids[right], ids[left + right]):
            raise reader.fault_before(problem)

    def tokenizer(self, merges: MergeList) -> Tokenizer:
        """The tokenizer; FormatError where the vocabulary has tokens that no merge makes."""
        if len(merges) + BASE_SIZE != len(self.vocabulary):
            token = next(token for token, number in self.vocabulary.items() if not merges.has(number))
            why = "no merge makes" if all(character in BYTE_OF for character in token) else "is not byte-level"
            raise FormatError(
                f"{self._name}: the vocabulary has the token {shown(token)}, which {why}: not modelled yet."
            )
        return merges.tokenizer(self._name)


_CHANGING = {
    "dropout": "leaves out merges at random",
    "continuing_subword_prefix": "marks tokens inside a word",
    "end_of_word_suffix": "marks the end of a word",
    "ignore_merges": "takes whole words before merging",
}


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


def _refuse(name: str, settings: Mapping[str, object]) -> None:
    """Raises FormatError, in words, where the file asks for what the engine does not do."""
    for found in (
        settings.get("version") not in (None, "1.0") and "its version is another",
        settings.get("added_tokens") not in (None, []) and "it has special or added tokens",
        settings.get("normalizer") is not None and f"its normalizer {_kind(settings['normalizer'])} changes the text",
        _pre_tokenizer_problem(settings.get("pre_tokenizer")),
        _kind(settings.get("post_processor")) not in ("", "ByteLevel") and "its post-processor adds tokens",
        _kind(settings.get("decoder")) not in ("", "ByteLevel") and f"its decoder is {_kind(settings['decoder'])}",
        settings.get("truncation") is not None and "it cuts long texts",
        settings.get("padding") is not None and "it pads short texts",
    ):
        if found:
            raise FormatError(f"{name}: {found}, which TokStudio cannot model yet.")


def _pre_tokenizer_problem(settings: object) -> str | None:
    match settings:
        case {"type": "Sequence", "pretokenizers": [object() as only]} if _kind(only) == "ByteLevel":
            return _pre_tokenizer_problem(only)
        case {"type": "Sequence"}:
            return "its pre-tokenizer splits text in several steps"
        case {"type": "ByteLevel"}:
            byte_level = cast("dict[str, object]", settings)
            # Both are on where they are not given.
            if byte_level.get("use_regex") is not False:
                return "its pre-tokenizer splits text by a pattern"
            return "its pre-tokenizer adds a space" if byte_level.get("add_prefix_space") is not False else None
        case {"type": "Split"}:
            return "its pre-tokenizer splits text by a pattern"
        case None:
            return None
        case _:
            return f"its pre-tokenizer is {_kind(settings)}"


def _kind(settings: object) -> str:
    """What a part of the file calls itself; "" where there is none."""
    match settings:
        case None:
            return ""
        case {"type": str(kind)}:
            return shown(kind).strip('"')
        case _:
            return "of an unknown kind"
