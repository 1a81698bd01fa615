"""The format GGUF: a tokenizer out of a model's file, in a file of its own, or in a copy of a model."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.format import GIGABYTE, Fit, Format
from tokstudio.core.formats.common.spelling import spelled_alike_work
from tokstudio.core.formats.gguf import names, proof, writer
from tokstudio.core.formats.gguf.header import (
    MAGIC,
    STRING,
    Value,
    aligned,
    beginning,
    copy_text_work,
    header_work,
    text_value,
    written,
)  # fmt: skip
from tokstudio.core.formats.gguf.model import InModel
from tokstudio.core.formats.gguf.reader import OfJson, OfModel, is_wanted, read_work
from tokstudio.core.pretokenization.custom_regex import covered

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

FILE = "tokenizer.gguf"
_SUFFIX = ".gguf"
_LATER_PART = "-of-"
_MOST_LISTED = 1000
_VERSION, _ALIGNMENT = 3, 32
_ANY_SIZE = 1 << 62
_NO_NAME = (
    "llama.cpp splits text only as models that it knows, and has no name for the pattern {pattern}: gpt2, llama3, "
    "qwen2, cl100k and o200k can be written."
)
_OF_SUPERBPE = " So can SuperBPE that was trained with this second pattern: {pattern}"
_LONGEST_NAME = 40
_SNIPPET = """\
# pip install xllamacpp, or any other program made with llama.cpp; a vocabulary alone answers nothing:
#   llama-tokenize --model {path} --prompt "Hello world"
# To give a model this tokenizer:
#   tokstudio convert {path} NEW.gguf --format gguf --model MODEL.gguf
"""


class Gguf(Format):
    """`NAME.gguf`, for llama.cpp and programs made with it.

    Args:
        of_json: Reads the content of a `tokenizer.json`.
        of_model: Reads a SentencePiece model.
    """

    name = "gguf"
    title = "GGUF"
    description = "a vocabulary for llama.cpp and programs made with it, or a model with this tokenizer"
    files = (FILE,)
    looked_for = f"NAME{_SUFFIX}"
    only_bytes = True
    holds_any_order = True
    holds_preparation = True
    largest = GIGABYTE
    largest_read = _ANY_SIZE

    def __init__(self, of_json: OfJson, of_model: OfModel) -> None:
        self._of_json, self._of_model = of_json, of_model

    def problem(self, tokenizer: Tokenizer) -> str | None:
        """llama.cpp knows patterns by names only, and texts of special tokens as strings of C."""
        if problem := super().problem(tokenizer):
            return problem
        if writer.written_form(tokenizer) is None:
            pattern = tokenizer.pattern
            short = pattern if len(pattern) <= _LONGEST_NAME else f"{pattern[:_LONGEST_NAME]}…"
            superbpe = "" if covered(pattern) is None else _OF_SUPERBPE.format(pattern=names.SUPERBPE)
            return _NO_NAME.format(pattern=shown(short)) + superbpe
        if (cut := next((token for token in tokenizer.special_tokens if "\0" in token), None)) is not None:
            return f"llama.cpp reads the text of a token up to a character U+0000, which {shown(cut)} has."
        return None

    def settings_lost(self, tokenizer: Tokenizer) -> Iterable[str]:
        """It has some roles and the chat templates."""
        return writer.settings_lost(tokenizer)

    def notes(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """What stands for the beginning and the end of a text."""
        return tuple(filter(None, [*writer.roles_taken(tokenizer), writer.ends_of(tokenizer).note]))

    def check_tokens_work(self, tokenizer: Tokenizer) -> Work[Fit]:
        """Each token has a different spelling; the losses are what llama.cpp does otherwise."""
        alike = yield from spelled_alike_work(tokenizer)
        return Fit(alike, () if alike else tuple((yield from writer.losses_work(tokenizer))), ())

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """A byte takes at most two, in its token and in the parts of its merge; lengths take eight."""
        return 4 * token_bytes + 40 * len(tokenizer.tokens) + sum(map(len, tokenizer.settings.chat_templates.values()))

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """The one file, without tensors."""
        return {FILE: file_of({names.ARCHITECTURE: text_value("llama"), **writer.values_of(tokenizer)})}

    def snippet(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> str:
        """Commands that use the file."""
        return _SNIPPET.format(path=targets[FILE].absolute())

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Reads the file back, and lets llama.cpp read it and encode; its ids must be equal."""
        back = yield from self.read((written[FILE],), (name,), tokenizer.pattern)
        proof.check_same(tokenizer, back, name)
        return (yield from proof.proved_work(tokenizer, written[FILE], name, sample))

    def in_model(self, model: Path, pad: bool) -> Format:
        """The format that writes a copy of a model with the tokenizer."""
        return InModel(self, model, pad)

    def find(self, path: Path) -> tuple[Path, ...]:
        """The only file in a folder, or the first part of the only model there."""
        if not path.is_dir():
            return (path,) if path.suffix.lower() == _SUFFIX and path.is_file() else ()
        files = sorted(file for file in islice(path.glob(f"*{_SUFFIX}"), _MOST_LISTED) if file.is_file())
        firsts = [file for file in files if _LATER_PART not in file.stem or "-00001-of-" in file.stem]
        if len(firsts) > 1:
            raise FormatError(
                f"{path.name}: the folder holds more than one model, {firsts[0].name} and {firsts[1].name}: open one "
                "of them."
            )
        return tuple(firsts)

    def recognises(self, path: Path, beginning: bytes) -> bool:
        """Whether it begins as every file does."""
        return beginning.startswith(MAGIC)

    def read(self, files: tuple[Path, ...], names: tuple[str, ...], pattern: str | None = None) -> Work[Tokenizer]:
        """Reads the header, whatever the size of the model."""
        return (yield from read_work(files[0], names[0], pattern, self._of_json, self._of_model))


def file_of(values: Mapping[str, Value]) -> Iterator[bytes]:
    """Yields a file of these values without tensors, in pieces."""
    head = beginning("<", _VERSION, 0, len(values))
    size = len(head)
    yield head
    for key, value in values.items():
        for piece in written("<", key, value):
            size += len(piece)
            yield piece
    yield bytes(aligned(size, _ALIGNMENT) - size)


def vocabulary_work(path: Path, name: str) -> Work[bytes]:
    """What is read of a file of any size for its tokenizer, as a file of its own."""
    header = yield from header_work(path, name, is_wanted)
    values = dict(header.values)
    if names.HUGGING_FACE in header.places:
        content = BytesIO()
        yield from copy_text_work(path, header, names.HUGGING_FACE, content)
        values[names.HUGGING_FACE] = Value(STRING, content.getvalue())
    return b"".join(file_of(values))


def is_gguf(path: Path) -> bool:
    """Whether a file begins as one of this format."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC
