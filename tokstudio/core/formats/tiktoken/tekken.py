"""Mistral's `tekken.json`: ranks of tiktoken with their pattern and special tokens, as `mistral-common` reads them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.private_folders import TemporaryFolder
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.format import GIGABYTE, NEVER_OF_TEXT, Fit, Format, gathered
from tokstudio.core.formats.common.known_files import Known
from tokstudio.core.formats.common.text_readers import JsonReader
from tokstudio.core.formats.common.vocabulary import IS_EMPTY, LARGEST_ID
from tokstudio.core.formats.tiktoken import writer
from tokstudio.core.formats.tiktoken.format import of_ranks_work
from tokstudio.core.model.alphabet import BYTES
from tokstudio.core.text.utf8 import has_surrogates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.tokenizer.tokenizer import Tokenizer

FILE = "tekken.json"
_NAME = re.compile(r"tekken.*\.json")
_VERSION = "v3"  # of written files: the first of which special tokens stand in the file

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
        versions = f"{', '.join(_VERSIONS[:-1])} and {_VERSIONS[-1]}"
        raise FormatError(f"{name}: its version is unknown: TokStudio reads {versions}.")
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
    pattern = "none" if pattern == writer.EVERYTHING else pattern
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


# --- Writing ----------------------------------------------------------------------------------------------------------

_SNIPPET = """\
# pip install mistral-common
from mistral_common.tokens.tokenizers.tekken import Tekkenizer

tokenizer = Tekkenizer.from_file({path})
ids = tokenizer.encode("Hello world", bos=False, eos=False)
print(ids)
"""


class Tekken(Format):
    """`tekken.json`."""

    name = "tekken"
    title = "Tekken"
    description = "tekken.json: ranks, the pattern and the special tokens in one file, for mistral-common"
    files = (FILE,)
    looked_for = FILE
    only_bytes = True
    largest = GIGABYTE
    holds_any_order = True

    def targets(self, path: Path) -> Mapping[str, Path]:
        """A file with tekken in its name, without which mistral-common does not read it."""
        target = path / FILE if path.is_dir() else path
        if "tekken" not in target.name or target.suffix != ".json":
            raise FormatError(f"{target.name}: mistral-common reads only files that are named like {FILE}.")
        return {FILE: target}

    def problem(self, tokenizer: Tokenizer) -> str | None:
        """The first ranks are the bytes."""
        if problem := super().problem(tokenizer):
            return problem
        if (missing := BYTES - len(tokenizer.alphabet)) > 0:
            return f"The format needs a token for each of the {BYTES} bytes, and {missing} have none."
        return None

    def losses(self, tokenizer: Tokenizer) -> Iterator[str]:
        """The order of ids is that of the format, and its library never makes special tokens of text."""
        ids = tokenizer.tokens.ids()
        if len(moved := np.flatnonzero(_new_ids(tokenizer)[ids] != ids)):
            yield (
                f"The ids change: special tokens come first, then the bytes, then the others; {len(moved):,} tokens "
                "move."
            )
        if tokenizer.special_tokens and NEVER_OF_TEXT not in tokenizer.remarks:
            yield NEVER_OF_TEXT

    def remarks_lost(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """The empty token is written, and that text makes no special tokens is as the format has it."""
        return tuple(
            each for each in super().remarks_lost(tokenizer) if each != NEVER_OF_TEXT and not each.endswith(IS_EMPTY)
        )

    def new_ids(self, tokenizer: Tokenizer) -> NDArray[np.int32] | None:
        """Special tokens get the first ids, then the bytes, then the others in the order of their merges."""
        return _new_ids(tokenizer)

    def check_tokens_work(self, tokenizer: Tokenizer) -> Work[Fit]:
        """No two tokens have the same bytes; the losses are tokens that merging by ranks makes otherwise."""
        return (yield from writer.fit_of_ranks_work(tokenizer))

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """Base64 takes four bytes for three, and text up to six for one."""
        specials = sum(80 + 6 * len(token.encode()) for token in tokenizer.special_tokens)
        return 8 * token_bytes + 60 * len(tokenizer) + specials + 1000

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """The file."""
        return {FILE: gathered(_written(_in_order(tokenizer)))}

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Reads the file back, and lets tiktoken, which encodes in mistral-common, encode with what was read."""
        rank_of, known, remarks = yield from read_tekken_work(written[FILE], name)
        back = yield from of_ranks_work(name, rank_of, known, remarks)
        folder = TemporaryFolder()
        try:
            ranks, sidecar = (folder.path / each for each in ("tekken.tiktoken", "tekken.json"))
            ranks.write_bytes(writer.lines(rank_of))
            pattern = writer.written_regex(known.pattern)
            sidecar.write_text(json.dumps({"pattern": pattern, "special_tokens": known.special_tokens}))
            return (yield from writer.prove_ranks_work(_in_order(tokenizer), back, ranks, sidecar, name, sample))
        finally:
            folder.close()

    def snippet(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> str:
        """Loads it with mistral-common."""
        return _SNIPPET.format(path=repr(str(targets[FILE].absolute())))

    def find(self, path: Path) -> tuple[Path, ...]:
        """A file with the usual beginning of the name; in a folder, `tekken.json`."""
        file = path / FILE if path.is_dir() else path
        return (file,) if _NAME.fullmatch(file.name) and file.is_file() else ()

    def recognises(self, path: Path, beginning: bytes) -> bool:
        """Whether it begins with its facts."""
        return beginning.lstrip().startswith(b"{") and MARK in beginning

    def read(self, files: tuple[Path, ...], names: tuple[str, ...], pattern: str | None = None) -> Work[Tokenizer]:
        """Reads the ranks, and recovers the merges."""
        rank_of, known, remarks = yield from read_tekken_work(files[0], names[0])
        return (yield from of_ranks_work(names[0], rank_of, known, remarks))


def _new_ids(tokenizer: Tokenizer) -> NDArray[np.int32]:
    """int32 [ids], the new id of each; -1 for an id that is not in use."""
    ranks = writer.rank_ids(tokenizer)
    rank_of = np.arange(len(tokenizer.tokens), dtype=np.int32) if ranks is None else ranks
    ids = tokenizer.tokens.ids()
    specials = np.sort(np.array([*tokenizer.special_tokens.values()], np.int64))
    first = np.concatenate([specials, tokenizer.byte_ids.astype(np.int64)])
    others = np.setdiff1d(ids, first)
    new_ids = np.full(len(tokenizer.tokens), -1, np.int32)
    in_order = np.concatenate([first, others[np.argsort(rank_of[others], kind="stable")]])
    new_ids[in_order] = np.arange(len(in_order), dtype=np.int32)
    return new_ids


def _in_order(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer with the ids of the file."""
    ordered = tokenizer.renumbered(_new_ids(tokenizer))
    return writer.in_rank_order(ordered)


def _written(tokenizer: Tokenizer) -> Iterator[bytes]:
    """The file, of a tokenizer with its ids; mistral-common wants exactly three keys in an entry."""
    specials = sorted(tokenizer.special_tokens.items(), key=lambda item: item[1])
    size = len(tokenizer.tokens)
    config = {
        "pattern": writer.written_regex(tokenizer.pattern),
        "num_vocab_tokens": size - len(specials),
        "default_vocab_size": size,
        "default_num_special_tokens": len(specials),
        "version": _VERSION,
    }
    yield b'{\n"config": ' + json.dumps(config, ensure_ascii=False).encode() + b',\n"vocab": [\n'
    for rank, token in enumerate(range(len(specials), size)):
        yield b",\n" * (rank > 0) + _json(rank, tokenizer.tokens[token] or b"")
    yield b'\n],\n"special_tokens": [\n'
    for rank, (text, _) in enumerate(specials):
        entry = {"rank": rank, "token_str": text, "is_control": True}
        yield b",\n" * (rank > 0) + json.dumps(entry, ensure_ascii=False).encode()
    yield b'\n],\n"type": "Tekken",\n"version": 1\n}\n'


def _json(rank: int, token: bytes) -> bytes:
    try:
        text = token.decode()
    except UnicodeDecodeError:
        text = None
    entry = {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": text}
    return json.dumps(entry, ensure_ascii=False).encode()
