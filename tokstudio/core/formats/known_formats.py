"""The known formats, and which of them a file has. A new format is one line in `_KNOWN`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.wording import printable
from tokstudio.core.corpus.readers.files import network_address
from tokstudio.core.formats.classic import Classic
from tokstudio.core.formats.common.format import Format
from tokstudio.core.formats.common.text_readers import JsonReader, LineReader, why_not
from tokstudio.core.formats.gguf.format import Gguf
from tokstudio.core.formats.gpt2 import Gpt2
from tokstudio.core.formats.huggingface.converted import WordEndPair, WordPieceVocabulary
from tokstudio.core.formats.huggingface.format import HuggingFace
from tokstudio.core.formats.huggingface.reader import read_work as read_json
from tokstudio.core.formats.loader.format import Loader
from tokstudio.core.formats.minbpe import Minbpe
from tokstudio.core.formats.sentencepiece.format import SentencePiece
from tokstudio.core.formats.sentencepiece.reader import read_work as read_model
from tokstudio.core.formats.tables import MergesCsv, MergesJsonl, VocabularyCsv
from tokstudio.core.formats.tiktoken.format import Tiktoken
from tokstudio.core.formats.tiktoken.tekken import Tekken
from tokstudio.core.formats.token_bytes import TokenBytes
from tokstudio.core.hub.names import name_in
from tokstudio.core.text.encodings import WHY_NOT_POINTER
from tokstudio.core.text.utf8 import AnyPath

# In the order of menus, and of the search in a folder.
_KNOWN: tuple[Format, ...] = (
    HuggingFace(),
    Classic(),
    WordEndPair(),
    Gpt2(),
    Tiktoken(),
    Tekken(),
    Minbpe(),
    SentencePiece(),
    WordPieceVocabulary(),
    Gguf(read_json, read_model),
    Loader(),
    MergesCsv(),
    MergesJsonl(),
    VocabularyCsv(),
    TokenBytes(),
)

_READABLE = [known for known in _KNOWN if known.readable]

FORMATS: Mapping[str, Format] = MappingProxyType({known.name: known for known in _KNOWN})

_LARGEST_LOOKED_INTO = 5 * 10**9
_ANY = 1 << 62  # of which only the beginning is read
# A text may begin like a file of any format, so the beginning is looked at only for these endings.
_ENDINGS = re.compile(r"(\.json|\.model(\.v[0-9]\w*)?|\.spm|\.tiktoken|\.gguf|vocab\.txt)$", re.IGNORECASE)


def format_of(path: Path) -> tuple[Format, tuple[Path, ...]]:
    """The format and the files of the tokenizer that a file or folder is, or belongs to.

    Raises:
        FormatError: There is no tokenizer, or it cannot be opened.
    """
    try:
        if not path.exists():
            raise FormatError(_not_there(path))
        format_of_file, files = _found(path)
        if format_of_file is not None:
            return format_of_file, files
        in_folder = path.is_dir()
    except (OSError, ValueError) as error:
        what = "the folder" if os.path.isdir(path) else "the file"
        raise FormatError(f"{file_name(path)}: {why_not(error, what)}.") from error
    if in_folder:
        usual = ", ".join(dict.fromkeys(format_of_file.looked_for for format_of_file in _READABLE))
        raise FormatError(f"{file_name(path)}: this folder has no tokenizer file TokStudio can read ({usual}).")
    return _by_first_key(path), (path,)


def tokenizer_files(path: AnyPath) -> tuple[Path, ...]:
    """The files of a tokenizer that a file or folder likely is, or belongs to; none for a likely text.

    Decides by names, otherwise by the ending and the beginning. For a folder with several tokenizers, it is the folder.
    """
    place = Path(path)
    try:
        _, files = _found(place, only_endings=True)
        return files
    except (FormatError, OSError, ValueError) as error:
        # Opening says which file of a folder to choose, or how to fetch one; one without its counterpart may be a text.
        return (place,) if os.path.isdir(place) or WHY_NOT_POINTER in str(error) else ()


def _not_there(path: Path) -> str:
    if not (address := network_address(path)):
        return f"{file_name(path)}: no such file or folder."
    name = name_in(address)
    advice = "download it, and give its path" if name is None else f"give its name, {name}"
    return (
        f"{printable(address)}: this is an address. A tokenizer is a file, a folder, or a name such as "
        f"hf:Qwen/Qwen3-8B: {advice}."
    )


def _found(path: Path, *, only_endings: bool = False) -> tuple[Format | None, tuple[Path, ...]]:
    """The format and the files of a tokenizer that a file or folder is, or belongs to; None and none for others.

    The beginning of a file decides, then its name. With `only_endings`, texts are not looked into.
    """
    if path.is_file() and (not only_endings or _ENDINGS.search(path.name)):
        with LineReader(path, file_name(path), _ANY) as lines:
            beginning = lines.peek()
        for file_format in _READABLE:
            if file_format.recognises(path, beginning):
                return file_format, file_format.find(path) or (path,)
    for file_format in _READABLE:
        if files := file_format.find(path):
            return file_format, files
    return None, ()


def _by_first_key(path: Path) -> Format:
    """The format of a file with another name, by its first key."""
    name = file_name(path)
    with JsonReader(path, name, _LARGEST_LOOKED_INTO) as reader:
        if reader.peek() == "{":
            key = next(reader.items(), "")
            for file_format in _READABLE:
                if key in file_format.keys:
                    return file_format
            if key.isdigit():
                raise FormatError(
                    f"{name}: this is a vocabulary without merges: put merges.json beside it and open that."
                )
        raise FormatError(f"{name}: not a tokenizer file TokStudio can read.")
