"""The classic pair: `vocabulary.json` with the tokens' bytes, and `merges.json`, as `json.dump(indent=2)` writes them.

Small teaching programs write it. It has no pattern, no special tokens and no base characters.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.format import (
    GIGABYTE,
    LARGEST_WRITTEN,
    Format,
    added_bytes,
    cut,
    gathered,
    named_specials,
)
from tokstudio.core.formats.common.text_readers import JsonReader
from tokstudio.core.formats.common.vocabulary import MergeList, id_problem
from tokstudio.core.model.alphabet import BYTES, Alphabet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.tokenizer.tokenizer import Tokenizer

VOCABULARY, MERGES = "vocabulary.json", "merges.json"

_ID = re.compile("0|[1-9][0-9]{0,8}")
_BEGINNING = re.compile(rb'\s*\{\s*"merges"\s*:\s*\[')
_NUMBERS = [str(byte).encode() for byte in range(BYTES)]
_LATIN_1 = [json.dumps(chr(byte))[1:-1].encode() for byte in range(BYTES)]

_SNIPPET = """\
# nothing to install
import json

with open({path}, encoding="utf-8") as file:
    merges = json.load(file)["merges"]

def encode(text):
    ids = list(text.encode())
    for (left, right), token in merges:
        joined = []
        for part in ids:
            if part == right and joined and joined[-1] == left:
                joined[-1] = token
            else:
                joined.append(part)
        ids = joined
    return ids

ids = encode("Hello world")
print(ids)
"""


class Classic(Format):
    """`vocabulary.json` and `merges.json`."""

    name = "classic"
    title = "Classic pair"
    description = "vocabulary.json and merges.json in plain JSON, for teaching and for programs of your own"
    files = (VOCABULARY, MERGES)
    looked_for = MERGES
    folder = True
    only_bytes = True
    keys = frozenset({"merges"})

    def losses(self, tokenizer: Tokenizer) -> Iterator[str]:
        """Its programs split no text, know no special tokens, use bytes as ids and merge the smallest id first."""
        yield from added_bytes(tokenizer)
        if not _has_usual_ids(tokenizer):
            yield "The ids change: this format numbers the bytes 0 to 255, then the merges in order."
        if tokenizer.pattern != "none":
            yield f"The pattern {shown(tokenizer.pattern)} is lost: this format does not split text."
        if tokenizer.special_tokens:
            yield f"{named_specials(tokenizer.special_tokens)} lost: this format has none."
        if extra := len(tokenizer.extra_tokens):
            yield f"Tokens that no merge makes are lost ({extra:,}): this format has only merges."
        if words := len(tokenizer.whole_words):
            yield f"Words that become a token without merging are merged ({words:,}): some ids will differ."

    def new_ids(self, tokenizer: Tokenizer) -> NDArray[np.int32]:
        """The same ids where those of the merges are ascending; otherwise the bytes, and then the merges in order."""
        new_id = np.full(len(tokenizer.tokens), -1, np.int32)
        held = np.concatenate([tokenizer.byte_ids, tokenizer.merge_results])
        new_id[held[held >= 0]] = held if _has_usual_ids(tokenizer) else np.flatnonzero(held >= 0)
        return new_id

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """An estimate of the size of `vocabulary.json`: a line for each byte of each token."""
        return 14 * token_bytes + 60 * len(tokenizer)

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """Both files."""
        tokenizer = self._renumbered(tokenizer)
        return {VOCABULARY: gathered(_vocabulary(tokenizer)), MERGES: gathered(_merges(tokenizer))}

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Reads both files back; every token and every merge must be the same."""
        expected = self._renumbered(tokenizer)
        back = yield from self.read((written[VOCABULARY], written[MERGES]), self.files)
        has_same_ids = np.array_equal(back.merge_results, expected.merge_results)
        if not (has_same_ids and np.array_equal(back.merges, expected.merges)):
            raise FormatError(f"{name}: when read back, its merges differ from those written.")
        return f"identical in all tokens ({len(expected):,}) and merges ({len(expected.merges):,})"

    def snippet(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> str:
        """Merges in plain Python, without any library."""
        return _SNIPPET.format(path=repr(str(targets[MERGES].absolute())))

    def find(self, path: Path) -> tuple[Path, ...]:
        """The merges are required; the vocabulary is optional."""
        in_folder = path.is_dir()
        folder = path if in_folder else path.parent
        files = tuple(folder / name for name in self.files if (folder / name).is_file())
        return files if folder / MERGES in files and (in_folder or path in files) else ()

    def recognises(self, path: Path, beginning: bytes) -> bool:
        """Whether it begins with a list of merges."""
        return _BEGINNING.match(beginning) is not None

    def read(self, files: tuple[Path, ...], names: tuple[str, ...], pattern: str | None = None) -> Work[Tokenizer]:
        """Reads the merges, the last of `files`, and compares the vocabulary with them, if there is one."""
        tokenizer = yield from _read_merges(files[-1], names[-1], pattern or "none")
        if len(files) > 1:
            yield from _check_vocabulary(tokenizer, files[0], names[0], names[-1])
        return tokenizer

    def _renumbered(self, tokenizer: Tokenizer) -> Tokenizer:
        """The same merges with ids that the format can hold, without anything else."""
        from tokstudio.core.tokenizer.tokenizer import Tokenizer

        if not any(self.losses(tokenizer)):
            return tokenizer
        if _has_usual_ids(tokenizer):
            return Tokenizer(tokenizer.merges, tokenizer.merge_results, checked=True)
        return Tokenizer(self.new_ids(tokenizer)[tokenizer.merges], checked=True)


def _has_usual_ids(tokenizer: Tokenizer) -> bool:
    results = tokenizer.merge_results
    return np.array_equal(tokenizer.byte_ids, np.arange(BYTES)) and bool(np.all(np.diff(results) > 0))


def _vocabulary(tokenizer: Tokenizer) -> Iterator[bytes]:
    lead = b"{"
    for token, token_bytes in enumerate(tokenizer.tokens):
        if token_bytes is None:
            continue
        yield b'%s\n  "%d": {\n    "bytes": [' % (lead, token)
        lead = b","
        between = b"\n      "
        for part in cut(token_bytes):
            yield between + b",\n      ".join([_NUMBERS[byte] for byte in part])
            between = b",\n      "
        yield b'\n    ],\n    "text": "'
        yield from (b"".join([_LATIN_1[byte] for byte in part]) for part in cut(token_bytes))
        yield b'"\n  }'
    yield b"\n}"


def _merges(tokenizer: Tokenizer) -> Iterator[bytes]:
    lead = b'{\n  "merges": ['
    for (left, right), result in zip(tokenizer.merges, tokenizer.merge_results, strict=True):
        yield lead + b"\n    [\n      [\n        %d,\n        %d\n      ],\n      %d\n    ]" % (left, right, result)
        lead = b","
    yield b"\n  ]\n}" if len(tokenizer.merges) else lead + b"]\n}"


def _read_merges(path: Path, name: str, pattern: str) -> Work[Tokenizer]:
    merges = MergeList(Alphabet.of_bytes())
    has_merges = False
    with JsonReader(path, name, GIGABYTE) as reader:
        for key in reader.items():
            if key != "merges":
                reader.skip()
                continue
            if has_merges:
                raise reader.fault('the key "merges" appears twice')
            has_merges = True
            for position in reader.elements():
                _add_merge(reader, merges, reader.value(), position + 1)
                yield from reader.progress()
        reader.end()
        if not has_merges:
            raise reader.fault('the key "merges" is missing')
    return merges.tokenizer(name, pattern=pattern)


def _add_merge(reader: JsonReader, merges: MergeList, value: object, number: int) -> None:
    """Adds `[[left, right], id]`."""
    match value:
        case [[object() as left, object() as right], object() as result]:
            for token in (left, right, result):
                if problem := id_problem(token):
                    raise reader.fault_before(f"merge {number:,}: {problem}")
            # Checked above, where the type checker does not see it.
            if problem := merges.add(cast("int", left), cast("int", right), cast("int", result)):
                raise reader.fault_before(problem)
        case _:
            raise reader.fault_before(f"merge {number:,} is not of the form [[left, right], id]")


def _check_vocabulary(tokenizer: Tokenizer, path: Path, name: str, merges: str) -> Work[None]:
    """Raises FormatError unless the vocabulary is that of the merges.

    A file as TokStudio or Python writes it is compared byte by byte, whatever the length of its tokens; any other
    layout is parsed.
    """
    with JsonReader(path, name, LARGEST_WRITTEN + GIGABYTE) as reader:
        if (yield from _is_written(tokenizer, path, reader.size)):
            return
        seen = np.zeros(len(tokenizer.tokens), np.bool_)
        for key in reader.items():
            if not _ID.fullmatch(key):
                raise reader.fault_before(f"{shown(key)} is not an id")
            token = int(key)
            _check_entry(tokenizer, token, reader, merges)
            if seen[token]:
                raise reader.fault_before(f"token {token} appears twice")
            seen[token] = True
            yield from reader.progress()
        reader.end()
        if np.count_nonzero(seen) < len(tokenizer):
            missing = [token_bytes is not None for token_bytes in tokenizer.tokens] & ~seen
            raise reader.fault(f"token {int(np.argmax(missing))}, which {merges} has, is missing")


def _is_written(tokenizer: Tokenizer, path: Path, size: int) -> Work[bool]:
    done = 0
    try:
        with path.open("rb") as file:
            for expected in gathered(_vocabulary(tokenizer)):
                if file.read(len(expected)) != expected:
                    return False
                done += len(expected)
                yield Progress("reading", min(done, size), size)
            return not file.read(1)
    except OSError:
        # The reader gives a better message.
        return False


def _check_entry(tokenizer: Tokenizer, token: int, reader: JsonReader, merges: str) -> None:
    value = reader.value()
    entry = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    if not isinstance(entry.get("bytes"), list):
        raise reader.fault_before(f'token {token} has no list of "bytes"')
    token_values = cast("list[object]", entry["bytes"])
    tokens = tokenizer.tokens
    length = tokens.length(token) if token < len(tokens) else -1
    if length < 0:
        raise reader.fault_before(f"token {token} is not made by {merges}")
    if any(type(byte) is not int or not 0 <= byte < BYTES for byte in token_values):
        raise reader.fault_before(f"token {token} contains something that is not a byte")
    if len(token_values) != length or bytes(cast("list[int]", token_values)) != tokens[token]:
        raise reader.fault_before(f"the bytes of token {token} differ from those that {merges} makes")
