"""GPT-2's pair of files: `vocab.json` with `merges.txt`, and for reading only `encoder.json` with `vocab.bpe`.

The files have neither a pattern nor a list of special tokens.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Work
from tokstudio.core.formats.common.format import GIGABYTE, Fit, Format, PatternNeeded, bytes_problem, library_problem
from tokstudio.core.formats.common.json_reader import JsonReader, shown
from tokstudio.core.formats.common.known_files import PAIRS, known_work
from tokstudio.core.formats.common.line_reader import LineReader
from tokstudio.core.formats.common.merge_list import MergeList
from tokstudio.core.formats.common.spelling import spelled_alike_work
from tokstudio.core.formats.common.vocabulary import add_merge, byte_level_alphabet, read_vocabulary_work, spelled
from tokstudio.core.formats.gpt2 import writer as gpt2_writer
from tokstudio.core.tokenizer.self_encoding import pieces_work

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_NAMES = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
# Special tokens of GPT-2's own programs, if the vocabulary has them.
_SPECIAL = ("<|endoftext|>", "<|startoftext|>")
# Tokens that other programs add to the vocabulary without a merge, such as <s>, <mask> and [PAD].
_LIKE_SPECIAL = re.compile(rb"<.*>|\[.*\]", re.DOTALL)


class Gpt2(Format):
    """`vocab.json` and `merges.txt`."""

    name = "gpt2"
    title = "GPT-2 pair"
    description = "vocab.json and merges.txt, for programs made for GPT-2 and its successors"
    files = _NAMES[0]
    folder = True
    readable = True
    writable = True
    largest = GIGABYTE

    @property
    def looked_for(self) -> str:
        """The second file of each pair."""
        return ", ".join(merges for _, merges in _NAMES)

    def problem(self, tokenizer: Tokenizer) -> str | None:
        """The format holds only merges of bytes."""
        return (
            library_problem(tokenizer) or bytes_problem(tokenizer, self.title) or gpt2_writer.merge_problem(tokenizer)
        )

    def losses(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """The files have neither the pattern nor, except for GPT-2's own, the special tokens."""
        return gpt2_writer.losses(tokenizer, _SPECIAL)

    def notes(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """Not all readers of GPT-2's own files can read these."""
        return gpt2_writer.notes(tokenizer, _SPECIAL)

    def fit_work(self, tokenizer: Tokenizer) -> Work[Fit]:
        """Checks that each token has a different spelling as well."""
        fitting = yield from super().fit_work(tokenizer)
        if fitting.problem is not None:
            return fitting
        return replace(fitting, problem=(yield from spelled_alike_work(tokenizer)))

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """The size of either file: a byte takes at most two."""
        specials = sum(6 * len(token.encode()) for token in tokenizer.special_tokens)
        return 4 * token_bytes + 20 * len(tokenizer) + specials

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """Both files."""
        vocabulary, merges = self.files
        return {vocabulary: gpt2_writer.vocab_json(tokenizer), merges: gpt2_writer.merges_txt(tokenizer)}

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Lets the tokenizers library read both files, with the settings that they lack."""
        vocabulary, merges = (written[usual] for usual in self.files)
        return (yield from gpt2_writer.prove(tokenizer, vocabulary, merges, name, sample, _SPECIAL))

    def snippet(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> str:
        """Loads both with tokenizers."""
        return gpt2_writer.snippet(tokenizer, targets, self.files)

    def find(self, path: Path) -> tuple[Path, ...]:
        """Either pair; one file of a pair alone is an error."""
        in_folder = path.is_dir()
        for pair in _NAMES:
            files = tuple((path if in_folder else path.parent) / name for name in pair)
            if (in_folder or path in files) and all(file.is_file() for file in files):
                return files
            if path in files:
                missing = next(file.name for file in files if not file.is_file())
                raise FormatError(f"{path.name}: {missing} belongs with it but is not in the same folder.")
        return ()

    def read(self, files: tuple[Path, ...], names: tuple[str, ...], pattern: str | None = None) -> Work[Tokenizer]:
        """Reads both files, and checks that they belong together."""
        known = yield from known_work(files, PAIRS)
        if known is None and pattern is None:
            raise PatternNeeded(names[0])
        with JsonReader(files[0], names[0], GIGABYTE) as reader:
            vocabulary = yield from read_vocabulary_work(reader)
            reader.end()
        merges = yield from _read_merges(files[1], names, vocabulary)
        specials = {token: vocabulary[token] for token in _SPECIAL if token in vocabulary}
        specials = {token: number for token, number in specials.items() if not merges.has(number)}
        special_ids = frozenset(specials.values())
        extra = {
            number: spelled(token)
            for token, number in vocabulary.items()
            if not merges.has(number) and number not in special_ids
        }
        strange = next((number for number, token in extra.items() if not token), None)
        if strange is not None:
            raise FormatError(f"{names[0]}: token {strange} is empty or not a string.")
        chosen = known.pattern if known else pattern or "none"
        tokenizer = merges.tokenizer(names[1], specials, chosen, extra_tokens=extra)
        yield from _check_end(names, tokenizer)
        return tokenizer


def _check_end(names: tuple[str, ...], tokenizer: Tokenizer) -> Work[None]:
    """Raises FormatError where the next merge is missing, as in a file that is truncated between two lines."""
    tokens = [token for token in tokenizer.extra_tokens.values() if not _LIKE_SPECIAL.fullmatch(token)]
    pieces = yield from pieces_work(tokenizer, tokens)
    cut = next((token for token, count in zip(tokens, pieces.tolist(), strict=True) if count == 2), None)
    if cut is not None:
        text = shown(cut[:200].decode("utf-8", "backslashreplace"))
        raise FormatError(
            f"{names[1]}: no merge makes the token {text} of {names[0]}, though its two parts are there: "
            "the end of the file may be missing."
        )


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
