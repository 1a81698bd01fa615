"""What is encoded into shards and how: the settings, and the files to read, which are looked at before."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path

from tokstudio.core.analysis.token_store import hash_work
from tokstudio.core.base.arguments import whole_number
from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import ConfigError, CorpusError, EmptyError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import first_few, printable, shown
from tokstudio.core.corpus.readers import kinds
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.readers.datasets import look, plan_of, refuse_without_text, with_columns_work
from tokstudio.core.corpus.readers.files import Budget, plain_errors
from tokstudio.core.corpus.readers.folders import Entry, Fetching, Folder, expand_work, numbered_work
from tokstudio.core.corpus.readers.streams import OpenText, opened
from tokstudio.core.corpus.source import check_documents
from tokstudio.core.formats.common.added_tokens import ends_of_text
from tokstudio.core.hub.addresses import address_of
from tokstudio.core.pretokenization.special_tokens import AllowedSpecial, SpecialFinders
from tokstudio.core.shards.manifest import FORMATS, NPY, Input
from tokstudio.core.text.encodings import encoding_name
from tokstudio.core.text.utf8 import AnyPath
from tokstudio.core.tokenizer.tokenizer import Tokenizer

SHARD_TOKENS = 100_000_000
_LARGEST_UINT16 = (1 << 16) - 1
_TYPES = {"uint16": "<u2", "uint32": "<u4"}
_SPECIALS_NAMED = 6


@dataclass(frozen=True, eq=False)
class EncodingSettings:
    """How a data set is encoded into shards; see `encode_dataset`.

    Raises:
        ConfigError: A value is impossible, or not possible with this tokenizer.
    """

    tokenizer: Tokenizer
    end_token: str | bool = False
    shard_tokens: int = SHARD_TOKENS
    formats: tuple[str, ...] = (NPY,)
    dtype: str | None = None
    allowed_special: AllowedSpecial = ()
    documents: str = "file"
    encoding: str | None = None
    reading: Reading = field(default_factory=Reading)

    def __post_init__(self) -> None:
        if not isinstance(self.tokenizer, Tokenizer):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError("A data set is encoded by a tokenizer with a vocabulary, such as load gives.")
        if self.tokenizer.dropout is not None:
            raise ConfigError("A data set is encoded without dropout: what is trained on must not depend on chance.")
        if whole_number("The number of tokens of a shard", self.shard_tokens) < 1:
            raise ConfigError(f"A shard must have at least 1 token, not {self.shard_tokens:,}.")
        if isinstance(self.formats, str) or not self.formats or not set(self.formats) <= set(FORMATS):
            raise ConfigError(f"The formats of shards are some of {', '.join(FORMATS)}.")
        if self.dtype is not None and self.dtype not in _TYPES:
            raise ConfigError(f"The type of ids is uint16 or uint32, not {shown(str(self.dtype))}.")
        if self.dtype == "uint16" and self.largest_id > _LARGEST_UINT16:
            raise ConfigError(
                f"The ids of this tokenizer go up to {self.largest_id:,}, and uint16 holds at most "
                f"{_LARGEST_UINT16:,}: write uint32."
            )
        if self.reading.split_by is not None:
            raise ConfigError("A data set that is encoded keeps its order: give no column that divides it.")
        check_documents(self.documents)
        if self.encoding is not None:
            encoding_name(self.encoding)
        allowed = SpecialFinders(self.tokenizer.special_tokens).allowed(self.allowed_special)
        is_partial = 0 < len(allowed) < len(self.tokenizer.special_tokens)
        if self.tokenizer.library is not None and is_partial:
            raise ConfigError('This tokenizer\'s library recognises all special tokens or none: allow "all" or none.')
        _ = self.end_text  # which may not exist

    @cached_property
    def largest_id(self) -> int:
        """The largest id of the vocabulary."""
        return len(self.tokenizer.tokens) - 1

    @property
    def kind(self) -> str:
        """The type of the ids: "<u2" where the whole vocabulary fits, unless another is asked for, else "<u4"."""
        return _TYPES[self.dtype or ("uint16" if self.largest_id <= _LARGEST_UINT16 else "uint32")]

    @property
    def recognised(self) -> bool | frozenset[str]:
        """The special tokens that are recognised in text, as `DocumentEncoder` takes them."""
        allowed = SpecialFinders(self.tokenizer.special_tokens).allowed(self.allowed_special)
        return allowed if 0 < len(allowed) < len(self.tokenizer.special_tokens) else bool(allowed)

    @property
    def needs_text(self) -> bool:
        """Whether bytes that are not UTF-8 become U+FFFD."""
        return self.tokenizer.library is not None or self.tokenizer.alphabet.base == "characters"

    @cached_property
    def end_text(self) -> str | None:
        """The special token that ends each document; None for none."""
        ids = self.tokenizer.special_tokens
        if self.end_token is False:
            return None
        token = self.end_token
        if token is True:
            _, token = ends_of_text(self.tokenizer, self.tokenizer.roles)
        if token in ids:
            return token
        there = f"there are {first_few(list(ids), _SPECIALS_NAMED)}" if ids else "it has none"
        if token is None:
            raise ConfigError(
                f"No special token of this tokenizer is known to end texts: name it as the end token; {there}."
            )
        raise ConfigError(f"The tokenizer has no special token {shown(token)} to end documents with; {there}.")

    @cached_property
    def end_id(self) -> int | None:
        """The id that ends each document; None for none."""
        return None if self.end_text is None else self.tokenizer.special_tokens[self.end_text]

    def to_json_work(self) -> Work[dict[str, object]]:
        """All that decides what is written, as JSON values by the names that they have in the manifest."""
        tokenizer, recognised = self.tokenizer, self.recognised
        sha256 = yield from hash_work(tokenizer)
        return {
            "tokenizer": {"sha256": sha256, "largest_id": self.largest_id, "library": tokenizer.library},
            "dtype": {"<u2": "uint16", "<u4": "uint32"}[self.kind],
            "end_token": None if self.end_text is None else {"text": self.end_text, "id": self.end_id},
            "recognised_special_tokens": recognised if isinstance(recognised, bool) else sorted(recognised),
            "shard_tokens": self.shard_tokens,
            "formats": [each for each in FORMATS if each in self.formats],
            "documents": self.documents,
            "encoding": None if self.encoding is None else encoding_name(self.encoding),
            "reading": self.reading.to_json(),
        }


@dataclass(frozen=True)
class Unit:
    """What is read as one, and by one worker of a cluster."""

    entry: Entry  # a file, or files that are one data set where their documents are filtered together
    reading: Reading  # how it is read; of a file of a data set, with the column that its first file has
    name: str  # see `EncodedFile`
    stored_bytes: int  # the size of its files
    modified: int  # when the last of them was changed, in nanoseconds

    @property
    def weight(self) -> int:
        """Its share of the progress."""
        return max(1, self.stored_bytes)

    def check(self) -> None:
        """Raises CorpusError where a file is no longer what it was when it was listed."""
        if _state_of(self.entry.shards or (self.entry.path,)) != (self.stored_bytes, self.modified):
            raise CorpusError(f"{self.name}: the file changed while the data set was being encoded; encode it again.")

    @property
    def input(self) -> Input:
        """What a manifest says of it."""
        return Input(self.name, self.stored_bytes, self.modified)


def units_work(
    paths: Iterable[AnyPath],
    settings: EncodingSettings,
    tell: Callable[[Folder], None] | None = None,
    fetching: Fetching | None = None,
) -> Work[list[Unit]]:
    """Lists the files to encode, in their order, and looks at the beginning of each.

    `tell` receives each folder, which says what it skipped. Texts that are given by their address are fetched before;
    `fetching` says what is taken of them, None for all.

    Raises:
        CorpusError: There are none; one cannot be read, or has no such column of text.
    """
    entries, given = list[Entry](), list[AnyPath]()
    for path in paths:
        found = yield from expand_work([path], tell, fetching or Fetching(settings.reading, settings.encoding))
        entries += found
        given += [path] * len(found)
    if not entries:
        raise CorpusError("No files given: name at least one.")
    entries = yield from numbered_work(entries)
    units = list[Unit]()
    for number, (entry, path) in enumerate(zip(entries, given, strict=True)):
        units += yield from _units_of_entry_work(entry, path, settings)
        yield Progress("looking at files", number, len(entries))
    return units


def _units_of_entry_work(entry: Entry, given: AnyPath, settings: EncodingSettings) -> Work[list[Unit]]:
    files = entry.shards or (entry.path,)
    reading = yield from _checked_work(entry, files, settings)
    is_filtered = reading.deduplicate or reading.most_bytes is not None
    if entry.shards and not is_filtered:
        return [_unit(replace(entry, shards=(file,)), reading, [file], given) for file in files]
    return [_unit(entry, reading, files, given)]


def _unit(entry: Entry, reading: Reading, files: Sequence[Path], given: AnyPath) -> Unit:
    root, file = Path(given), files[0]
    address = address_of(given)  # which has no password when it is written
    whole = str(address) if address is not None else file_name(root.absolute()) if entry.is_found else ""
    inner = file.relative_to(root).as_posix() if whole and file.is_relative_to(root) else file.name
    name = "/".join(filter(None, (whole, entry.name if len(files) > 1 else inner)))
    return Unit(entry, reading, printable(name), *_state_of(files))


def _state_of(files: Sequence[Path]) -> tuple[int, int]:
    """The bytes of files together, and when the last of them was changed, in nanoseconds."""
    stored = modified = 0
    for file in files:
        with suppress(OSError, ValueError):
            status = file.stat()
            stored, modified = stored + status.st_size, max(modified, status.st_mtime_ns)
    return stored, modified


def _checked_work(entry: Entry, files: Sequence[Path], settings: EncodingSettings) -> Work[Reading]:
    """Looks at all files of an entry for the column of text; returns how each is read after the first one.

    What a look cannot show, such as the members of an archive, is seen when it is read.
    """
    reading = settings.reading
    for file in files:
        with plain_errors(file), suppress(EmptyError), opened(file) as open_file:
            text = OpenText(open_file.file, file_name(file), open_file.status.st_size, reading.keep_truncated)
            text_look = look(text, settings.encoding, reading)
            if text_look.kind in kinds.DATA:
                if text_look.kind in kinds.COLUMNAR:
                    if text_look.compression:
                        continue
                    text_look = yield from with_columns_work(text, text_look, open_file.file, Budget(), False)
                plan = plan_of(text_look, reading, text.name)
                if entry.shards:
                    delimiter = reading.delimiter if text_look.dialect is None else text_look.dialect.delimiter
                    reading = replace(reading, field=plan.text.name, delimiter=delimiter)
            elif entry.shards:
                raise CorpusError(f"{text.name}: it is no data set like the other files of {file_name(entry.path)}.")
            elif not entry.is_found:
                refuse_without_text(text, text_look)
        yield Progress("looking at files")
    return reading
