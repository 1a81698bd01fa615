"""Opened tokenizers in a project: their files are kept whole and read again; those that were changed, as JSON."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.formats import load_work
from tokstudio.core.project.json_values import from_json, to_json
from tokstudio.core.project.model import ProjectTokenizer, TokenizerFile
from tokstudio.core.project.whole_tokenizer import tokenizer_of, tokenizer_values

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_PIECE = 1 << 20
_OURS = "tokstudio-tokenizer.json"  # of a tokenizer that was changed here, which has no files


def keep_tokenizer_work(name: str, files: Sequence[Path], pattern: str | None = None) -> Work[ProjectTokenizer]:
    """The tokenizer for a project; FormatError where one of its files, which are `Loaded.files`, cannot be read."""
    kept: list[TokenizerFile] = []
    for file in files:
        pieces: list[bytes] = []
        try:
            with file.open("rb") as content:
                while piece := content.read(_PIECE):
                    pieces.append(piece)
                    yield Progress("reading")
        except OSError as error:
            raise FormatError(f"{file_name(file)}: the file cannot be read: {error.strerror or error}.") from error
        kept.append(TokenizerFile(file.name, b"".join(pieces)))
    return ProjectTokenizer(name, tuple(kept), pattern)


def keep_changed_work(name: str, tokenizer: Tokenizer) -> Work[ProjectTokenizer]:
    """A tokenizer that was changed here, for a project; every format of another program might lose something of it."""
    yield Progress("keeping")
    content = to_json(tokenizer_values(tokenizer)).encode()
    return ProjectTokenizer(name, (TokenizerFile(_OURS, content),))


def reopen_tokenizer_work(kept: ProjectTokenizer) -> Work[Tokenizer]:
    """Reads a kept tokenizer like any file; FormatError where its files are damaged, or cannot be written for that."""
    if kept.files[0].name == _OURS:
        yield Progress("reading")
        return _changed(kept)
    try:
        with TemporaryDirectory(prefix="tokstudio-") as folder:
            for file in kept.files:
                yield from _write_work(Path(folder, file.name), file.content)
            return (yield from load_work(Path(folder, kept.files[0].name), kept.pattern)).tokenizer
    except OSError as error:
        raise FormatError(f"{kept.name}: its files cannot be written: {error.strerror or error}.") from error


def _changed(kept: ProjectTokenizer) -> Tokenizer:
    try:
        values = from_json(kept.files[0].content.decode())
        return tokenizer_of(values if isinstance(values, dict) else {})
    except (ConfigError, ValueError) as error:
        raise FormatError(f"{kept.name}: its values are damaged.") from error


def _write_work(path: Path, content: bytes) -> Work[None]:
    with path.open("wb") as file:
        for at in range(0, len(content), _PIECE):
            file.write(content[at : at + _PIECE])
            yield Progress("reading", at, len(content))
