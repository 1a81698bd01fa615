"""GPT-2's pair of files: `vocab.json` with `merges.txt`, or `encoder.json` with `vocab.bpe`. Read only.

They say neither how text is split nor which tokens are special.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tokstudio.core.alphabet import BYTES
from tokstudio.core.errors import FormatError
from tokstudio.core.formats.base import GIGABYTE, Format, PatternNeeded
from tokstudio.core.formats.json_reader import JsonReader, shown
from tokstudio.core.formats.known_files import PAIRS, known_work
from tokstudio.core.formats.lines import LineReader
from tokstudio.core.formats.merge_list import MergeList
from tokstudio.core.formats.vocabulary import add_merge, byte_level_alphabet, read_vocabulary_work
from tokstudio.core.progress import Work

if TYPE_CHECKING:
    from tokstudio.core.tokenizer import Tokenizer

_NAMES = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
# What GPT-2's own programs take for special where it stands in the vocabulary.
_SPECIAL = ("<|endoftext|>", "<|startoftext|>")


class Gpt2(Format):
    """`vocab.json` and `merges.txt`."""

    name = "gpt2"
    title = "GPT-2 pair"
    description = "vocab.json and merges.txt, as GPT-2 and the models after it have them"
    files = _NAMES[0]
    folder = True
    readable = True

    @property
    def looked_for(self) -> str:
        """The second file of each pair."""
        return ", ".join(merges for _, merges in _NAMES)

    def find(self, path: Path) -> tuple[Path, ...]:
        """Either pair; one file of a pair alone is an error."""
        in_folder = path.is_dir()
        for pair in _NAMES:
            found = tuple((path if in_folder else path.parent) / name for name in pair)
            if (in_folder or path in found) and all(file.is_file() for file in found):
                return found
            if path in found:
                missing = next(file.name for file in found if not file.is_file())
                raise FormatError(f"{path.name}: {missing} belongs to it, and is not beside it.")
        return ()

    def read(self, files: tuple[Path, ...], names: tuple[str, ...], pattern: str | None = None) -> Work[Tokenizer]:
        """Reads both files, and makes sure that the one has what the other makes, and no more."""
        known = yield from known_work(files, PAIRS)
        if known is None and pattern is None:
            raise PatternNeeded(names[0])
        with JsonReader(files[0], names[0], GIGABYTE) as reader:
            vocabulary = yield from read_vocabulary_work(reader)
            reader.end()
        merges = yield from _read_merges(files[1], names, vocabulary)
        specials = {token: vocabulary[token] for token in _SPECIAL if token in vocabulary}
        specials = {token: number for token, number in specials.items() if not merges.has(number)}
        if len(merges) + BYTES + len(specials) != len(vocabulary):
            others = (token for token, number in vocabulary.items() if not (merges.has(number) or token in specials))
            raise FormatError(
                f"{names[0]}: the vocabulary has the token {shown(next(others))}, "
                f"which no merge in {names[1]} makes: not modelled yet."
            )
        return merges.tokenizer(names[1], specials, known.pattern if known else pattern or "none")


def _read_merges(path: Path, names: tuple[str, ...], vocabulary: Mapping[str, int]) -> Work[MergeList]:
    merges = MergeList(byte_level_alphabet(names[0], vocabulary))
    with LineReader(path, names[1], GIGABYTE) as lines:
        for line in lines:
            if line.startswith(b"#version") or not line:
                continue
            try:
                left, right = line.decode().split(" ")
            except UnicodeDecodeError as error:
                raise lines.fault("this is not UTF-8") from error
            except ValueError as error:
                text = shown(line.decode())
                raise lines.fault(f"the merge {text} must be two tokens with a space between them") from error
            if problem := add_merge(merges, vocabulary, left, right):
                raise lines.fault(problem)
            yield from lines.progress()
    return merges
