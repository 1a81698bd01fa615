"""Mistral's `tekken.json`: ranks of tiktoken with their pattern and special tokens, as `mistral-common` reads them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import cast

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.format import GIGABYTE, NEVER_OF_TEXT
from tokstudio.core.formats.common.json_reader import JsonReader
from tokstudio.core.formats.common.known_files import Known
from tokstudio.core.formats.common.merge_list import LARGEST_ID
from tokstudio.core.text.utf8 import has_surrogates

MARK = b'"default_num_special_tokens"'  # a key that no other file has

# Versions, and the last one whose files may lack the special tokens, which then are these.
_VERSIONS, _LAST_WITHOUT = ("v1", "v2", "v3", "v7", "v11", "v13", "v15"), "v7"
_USUAL = (
    "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]",
    "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
)  # fmt: skip
_KNOWN = frozenset({"config", "vocab", "special_tokens", "version", "type"})


def read_tekken_work(path: Path, name: str) -> Work[tuple[dict[bytes, int], Known, tuple[str, ...]]]:
    """The id of each token, the pattern with the special tokens, and remarks.

    The ids are the ranks behind those of the special tokens. Of the tokens, as many of the first count as the file's
    vocabulary size says.

    Raises:
        FormatError: The file is damaged, or of an unknown version.
    """
    tokens: list[bytes] = []
    specials: dict[str, int] | None = None
    config: dict[str, object] = {}
    others: list[str] = []
    with JsonReader(path, name, GIGABYTE) as reader:
        for key in reader.items():
            if key == "vocab" and reader.peek() == "[":
                for number in reader.elements():
                    tokens.append(_token(reader, number))
                    yield from reader.progress()
            elif key == "special_tokens" and reader.peek() == "[":
                specials = {}
                for _ in reader.elements():
                    _add_special(reader, specials)
                    yield from reader.progress()
            elif key == "config" and reader.peek() == "{":
                config = cast("dict[str, object]", reader.value())
            else:
                others += [key] if key not in _KNOWN else []
                reader.skip()
            yield from reader.progress()
        reader.end()
    pattern, version = config.get("pattern"), config.get("version")
    reserved, size = config.get("default_num_special_tokens"), config.get("default_vocab_size")
    if not isinstance(pattern, str) or type(reserved) is not int or type(size) is not int:
        raise FormatError(
            f'{name}: its "config" lacks the pattern, the vocabulary size or the number of special tokens.'
        )
    if version not in _VERSIONS:
        known = f"{', '.join(_VERSIONS[:-1])} and {_VERSIONS[-1]}"
        raise FormatError(f"{name}: its version is unknown: TokStudio reads {known}.")
    if specials is None:
        if _VERSIONS.index(cast("str", version)) > _VERSIONS.index(_LAST_WITHOUT):
            raise FormatError(f"{name}: it has no special tokens, which files of version {version} must have.")
        specials = {token: number for number, token in enumerate(_USUAL)}
    if not 0 <= reserved <= size <= min(LARGEST_ID, len(tokens) + reserved):
        raise FormatError(f"{name}: it has {len(tokens):,} tokens, which do not fit its vocabulary size.")
    free = [number for number in range(reserved) if number not in specials.values()]
    specials |= {f"<SPECIAL_{number}>": number for number in free}
    if len(specials) != reserved:
        raise FormatError(f"{name}: its special tokens do not have the ids below {reserved:,}, each once.")
    tokens = tokens[: size - reserved]
    ids = {token: reserved + rank for rank, token in enumerate(tokens)}
    if len(ids) < len(tokens):
        raise FormatError(f"{name}: two of its tokens have the same bytes.")
    said = [f"Its settings of {', '.join(map(shown, others))} do not concern text."] if others else []
    return ids, Known(pattern, dict(sorted(specials.items(), key=lambda item: item[1]))), (NEVER_OF_TEXT, *said)


def _token(reader: JsonReader, number: int) -> bytes:
    """An entry of the vocabulary."""
    match reader.value():
        case {"rank": int(rank), "token_bytes": str(written)} if rank == number:
            try:
                return base64.b64decode(written, validate=True)
            except (binascii.Error, ValueError):
                raise reader.fault_before(f"token {number:,} is not base64") from None
        case _:
            raise reader.fault_before(f"token {number:,} is damaged, or not in the order of its rank")


def _add_special(reader: JsonReader, specials: dict[str, int]) -> None:
    match reader.value():
        case {"rank": int(rank), "token_str": str(token)} if token and not has_surrogates(token):
            if token in specials or rank in specials.values():
                raise reader.fault_before(f"special token {shown(token)} appears twice")
            specials[token] = rank
        case _:
            raise reader.fault_before("a special token is damaged")
