"""Lists what a folder holds: texts, archives, and data sets, whose shards belong together."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path, PurePath
from typing import TypeVar, cast

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.subprocesses import ChildProcess
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.readers.datasets import look
from tokstudio.core.corpus.readers.files import path_of, plain_errors
from tokstudio.core.corpus.readers.kinds import COLUMNAR, DATA, DESCRIPTIONS, JSON, PARQUET, kind_of, suffix_of
from tokstudio.core.corpus.readers.streams import OpenText
from tokstudio.core.hub.addresses import Address, address_of, parse_address
from tokstudio.core.hub.fetching_texts import fetch_work, files_work
from tokstudio.core.hub.kept_texts import KeptText, TextRequest, folders_of_kept, kept_at
from tokstudio.core.text.encodings import LFS_POINTER
from tokstudio.core.text.utf8 import AnyPath

_FOLDER = "folder"
# The reasons to skip an entry of a folder, in the order of the report.
_POINTER = f"{LFS_POINTER}: run git lfs pull"
_OUTSIDE = "a link out of the folder"
_OWN = "of the experiment"
_BESIDE = "beside a data set"
_WHY = (
    "unreadable",
    "damaged",
    _POINTER,
    "binary",
    "empty",
    "not a file",
    _OUTSIDE,
    _BESIDE,
    _OWN,
    "hidden",
)
_MOST_NAMED = 4
_EXAMPLES = 2
_DIGITS = re.compile(r"\d+")
_OF_LINES = frozenset((".jsonl", ".ndjson", ".csv", ".tsv", ".tab"))
_LARGEST_STATE = 1 << 22

F = TypeVar("F")

# The texts of a larger folder or archive are counted and weighted as one source.
MOST_APART = 64


@dataclass(frozen=True)
class Entry:
    """What is read as one: a file, an archive, or the shards of a data set."""

    path: Path  # the file; of shards, the folder
    group: str = ""  # the path of the folder of many texts that it was opened with, else ""
    shards: tuple[Path, ...] = ()  # the files of a data set, in their order; none of a single file
    # The name of such a data set within its folder; "" where it is the only one. Of a file at an address that is not
    # fetched yet, the name of the data set that it is with others, else "".
    name: str = ""
    is_found: bool = False  # whether it was found in a folder, and not named itself
    times: int = 1  # how many times it was given up to here: above 1 where the same files were given before
    note: str = ""  # what else is said of it; "" for nothing
    size: int = 0  # the bytes of a file at an address that is not fetched yet; else 0
    # Of such a file, as it was given; its `path` is the address without secrets.
    address: str = field(default="", repr=False)

    @property
    def remark(self) -> str:
        """What is said of an entry, also that it was given before; mostly ""."""
        times = f"given {'twice' if self.times == 2 else f'{self.times} times'}: it counts each time"
        return "; ".join(filter(None, (self.note, times if self.times > 1 else "")))


@dataclass(frozen=True)
class Folder:
    """The texts and data sets below a folder."""

    path: Path  # the folder
    files: tuple[Path, ...]  # the files that can be read, sorted by path
    # All other files, each with the reason, such as "binary" or "empty". A hidden folder counts as one.
    skipped: tuple[tuple[Path, str], ...]
    entries: tuple[Entry, ...] = ()  # what the files are read as

    @property
    def remark(self) -> str:
        """One sentence with each skipped file and the reason, or of many their numbers; "" where none was skipped."""
        if not self.skipped:
            return ""
        order = sorted(self.skipped, key=lambda one: (_WHY.index(one[1]), one[0]))
        if len(order) <= _MOST_NAMED:
            reasons = ", ".join(f"{file_name(path)} ({why})" for path, why in order)
        else:
            numbers = Counter(why for _, why in order)
            examples = ", ".join(file_name(path) for path, _ in order[:_EXAMPLES])
            reasons = f"{', '.join(f'{number:,} {why}' for why, number in numbers.items())}, such as {examples}"
        return f"{file_name(self.path)}: {several(len(order), 'file')} skipped: {reasons}."


def read_folder_work(path: AnyPath, own: Collection[Path] = ()) -> Work[Folder]:
    """Lists the files below a folder that can be read, but those of an experiment, `own`.

    Raises:
        CorpusError: It cannot be read, or holds none.
    """
    owned = frozenset(map(os.path.realpath, own))
    root, files, skipped = path_of(path), list[Path](), list[tuple[Path, str]]()
    folders, columnar, inside = [root], set[Path](), _held_together(root)
    while folders:
        folder = folders.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            if folder != root:
                skipped.append((folder, "unreadable"))
                continue
            with plain_errors(root):
                raise
        for entry in entries:
            # A file that has just been deleted is ignored.
            with suppress(FileNotFoundError):
                is_own = bool(owned) and os.path.realpath(entry.path) in owned
                what = _OWN if is_own else _folder_or_reason(entry, inside)
                if what == _FOLDER:
                    folders.append(Path(entry.path))
                elif what == PARQUET and entry.name in DESCRIPTIONS:
                    skipped.append((Path(entry.path), _BESIDE))
                elif what in COLUMNAR:
                    columnar.add(Path(entry.path))
                    files.append(Path(entry.path))
                elif what:
                    skipped.append((Path(entry.path), what))
                else:
                    files.append(Path(entry.path))
            yield Progress("looking for text", len(files))
    files.sort(key=lambda file: file.relative_to(root).parts)
    if columnar:
        # Texts beside tables, such as their description, are not part of the data.
        texts: list[Path] = []
        for file in files:
            if file not in columnar and not _is_data(file):
                texts.append(file)
            yield Progress("looking for text", len(files))
        skipped += [(file, _BESIDE) for file in texts]
        left_out = frozenset(texts)
        files = [file for file in files if file not in left_out]
    content = Folder(root, tuple(files), tuple(skipped), tuple(_entries(root, files, columnar)))
    if not files:
        raise CorpusError(" ".join(filter(None, (f"{file_name(root)}: no text files in this folder.", content.remark))))
    return content


@dataclass(frozen=True)
class Fetching:
    """How texts are fetched whose address is given in place of a path."""

    reading: Reading = field(default_factory=Reading)  # its columns are fetched
    encoding: str | None = None  # as of `read_work`
    sample_bytes: int | None = None  # how many bytes of text are taken of each address; None for all
    seed: int = 0  # of the choice of what is taken


def expand_work(
    paths: Iterable[AnyPath],
    tell: Callable[[Folder], None] | None = None,
    fetching: Fetching | None = None,
    own: Collection[Path] = (),
) -> Work[list[Entry]]:
    """Replaces each folder by what it holds, and passes it to `tell`; files stay as given, whether they exist or not.

    A text that is given by its address is fetched, unless it is in the cache. A file that is given twice, for example
    by its folder as well, is listed twice, with its `Entry.times`. Of folders, the files and folders of an experiment,
    `own`, are skipped.

    Raises:
        ConfigError: An address is none that TokStudio reads.
        CorpusError: A folder cannot be read, a text cannot be fetched, or a path is empty.
    """
    entries: list[Entry] = []
    several = list(paths)
    for given in several:
        path, address = path_of(given), address_of(given)
        if address is not None:
            entries += yield from _fetched_work(address, fetching or Fetching())
        elif os.path.isdir(path) and (kept := kept_at(path)) is not None:
            entries += _entries_of_kept(kept)
        elif os.path.isdir(path):
            folder = yield from read_folder_work(path, own)
            entries += folder.entries
            if tell is not None:
                tell(folder)
        else:
            entries.append(Entry(path))
    return (yield from numbered_work(entries)) if len(several) > 1 else entries


def remote_entries_work(address: Address, fetching: Fetching, number: int = 0) -> Work[list[Entry]]:
    """Lists the files of an address, each to be fetched by `at_hand_work`; together they give the sources of all of it.

    Args:
        address: Theirs.
        fetching: How they are read; with a filter that looks at several rows, or divided, files must be read together.
        number: That of the address among those that are given, which keeps their groups apart.

    Raises:
        CorpusError: There are none, or they may not be read.
    """
    entries: list[Entry] = []
    for file in (yield from files_work(address, _request(address, fetching))):
        group = f"{number}/{name}" if (name := file.group or file.text) else ""
        one = file.address
        entries.append(Entry(Path(str(one)), group, (), file.text, True, size=file.size, address=one.given))
    return entries


def at_hand_work(entry: Entry, fetching: Fetching, process: ChildProcess) -> Work[tuple[list[Entry], KeptText | None]]:
    """The entry itself, or what a process of `connection` fetches of one at an address.

    Beside that what is to be removed after it was read.
    """
    if not entry.address:
        return [entry], None
    before = folders_of_kept()
    fetched = yield from _fetched_work(parse_address(entry.address), fetching, process)
    kept = kept_at(fetched[0].path)
    is_new = kept is not None and kept.folder not in before
    found = [replace(one, group=entry.group or one.group, name=entry.name or one.name) for one in fetched]
    return found, kept if is_new else None


def _request(address: Address, fetching: Fetching) -> TextRequest:
    amount = (fetching.sample_bytes, fetching.seed if fetching.sample_bytes is not None else 0)
    one = fetching.reading
    columns = (one.field, one.split_by, one.delimiter, one.as_text, one.keep_truncated)
    return TextRequest(str(address), *columns, fetching.encoding, *amount, address.hidden)


def fetched_files_work(address: Address) -> Work[tuple[tuple[Path, ...], str]]:
    """The files of an address as they are stored there, with their names, and a remark where they may be outdated.

    Raises:
        CorpusError: A file cannot be fetched.
    """
    kept, remark = yield from fetch_work(address, _request(address, Fetching(encoding="bytes")))
    return tuple(kept.folder / name for one in kept.sets for name in one.files), remark


def _fetched_work(address: Address, fetching: Fetching, process: ChildProcess | None = None) -> Work[list[Entry]]:
    kept, remark = yield from fetch_work(address, _request(address, fetching), process)
    entries = _entries_of_kept(kept)
    return [replace(entries[0], note=remark), *entries[1:]]


def _entries_of_kept(kept: KeptText) -> list[Entry]:
    """What is read of a text that was fetched."""
    are_several = sum(one.is_data for one in kept.sets) > 1
    entries: list[Entry] = []
    for one in kept.sets:
        files = tuple(kept.folder / name for name in one.files)
        if one.is_data:
            entries.append(Entry(kept.folder, one.group, files, one.name if are_several else "", is_found=True))
        else:
            entries.append(Entry(files[0], one.group, is_found=True))
    return entries


def numbered_work(entries: Iterable[Entry]) -> Work[list[Entry]]:
    """The entries with their `times`, also where a file has several names."""
    numbers = Counter[tuple[str, str]]()
    numbered: list[Entry] = []
    for entry in entries:
        place = entry.address or str(entry.path)
        if not entry.address:
            with suppress(OSError, ValueError):
                place = os.path.realpath(entry.path)
        numbers[place, entry.name] += 1
        numbered.append(replace(entry, times=numbers[place, entry.name]))
        yield Progress("looking for text", len(numbered))
    return numbered


def without_numbers(path: PurePath) -> tuple[str, str]:
    """A folder, "" for none, and a name with `#` for each number, which the shards of a data set share."""
    folder = "" if path.parent == type(path)() else str(path.parent)
    return folder, _DIGITS.sub("#", path.name)


def by_numbers(files: Iterable[F], path_of: Callable[[F], PurePath]) -> dict[tuple[str, str], list[F]]:
    """Puts files together whose names differ in their numbers only, by what `without_numbers` gives, in their order."""
    sets: dict[tuple[str, str], list[F]] = {}
    for file in files:
        sets.setdefault(without_numbers(path_of(file)), []).append(file)
    return sets


def _is_data(file: Path) -> bool:
    """Whether a text is a data set of rows with a column of text; one object of JSON describes other data."""
    try:
        with file.open("rb") as opened:
            text = OpenText(opened, file.name, 0, keep_truncated=True)
            is_object = suffix_of(file.name) == ".json" and text.head().lstrip()[:1] == b"{"
            kind = look(text, None, Reading()).kind
    except (CorpusError, OSError):
        return False  # which `_folder_or_reason` has said
    return kind in DATA and not (kind == JSON and is_object)


def _entries(root: Path, files: list[Path], columnar: set[Path]) -> list[Entry]:
    """Puts the shards of each data set together: their names differ in their numbers only."""
    sets = by_numbers((one for one in files if one in columnar or suffix_of(one.name) in _OF_LINES), lambda one: one)
    shards = {shard: key for key, several in sets.items() if len(several) > 1 for shard in several}
    only = len({shards.get(file, file) for file in files}) == 1
    entries: list[Entry] = []
    for file in files:
        key = shards.get(file)
        if key is None:
            entries.append(Entry(file, is_found=True))
        elif file == sets[key][0]:
            name = "" if only else Path(*key).relative_to(root).as_posix()
            entries.append(Entry(root, "", _in_order(sets[key]), name, is_found=True))
    return entries if len(entries) <= MOST_APART else [replace(entry, group=str(root)) for entry in entries]


def _in_order(shards: list[Path]) -> tuple[Path, ...]:
    """The shards in the order that `datasets` has noted beside them, else by their numbers."""
    noted: list[str] = []
    with suppress(OSError, ValueError, RecursionError), (shards[0].parent / "state.json").open("rb") as file:
        match json.loads(file.read(_LARGEST_STATE)):
            case {"_data_files": [*names]}:
                noted = [
                    str(cast("dict[str, object]", name).get("filename")) for name in names if isinstance(name, dict)
                ]
            case _:
                pass
    place = {name: number for number, name in enumerate(noted)}
    numbers = {shard: tuple(map(int, _DIGITS.findall(shard.name))) for shard in shards}
    return tuple(sorted(shards, key=lambda shard: (place.get(shard.name, len(noted)), numbers[shard])))


def _is_hidden(entry: os.DirEntry[str]) -> bool:
    attributes = getattr(entry.stat(follow_symlinks=False), "st_file_attributes", 0)
    return entry.name.startswith(".") or bool(attributes & stat.FILE_ATTRIBUTE_HIDDEN)


def _held_together(root: Path) -> Path:
    """The real folder that links may lead to: the folder itself; of a snapshot in the Hub's cache, the repository's."""
    real = Path(os.path.realpath(root))
    place = next((above for above in (real, *real.parents) if above.parent.name == "snapshots"), None)
    is_cache = place is not None and (place.parent.parent / "blobs").is_dir()
    return place.parent.parent if place is not None and is_cache else real


def _folder_or_reason(entry: os.DirEntry[str], inside: Path) -> str:
    """`_FOLDER`, the kind of a table, or the reason to skip a file; "" for anything else that can be read."""
    try:
        if _is_hidden(entry):
            return "hidden"
        if entry.is_symlink() and not Path(os.path.realpath(entry.path)).is_relative_to(inside):
            return _OUTSIDE
        if entry.is_dir(follow_symlinks=False):
            return _FOLDER
        if not entry.is_file():
            return "not a file"
        with Path(entry.path).open("rb") as file:
            head = OpenText(file, entry.name, 0, keep_truncated=True).head()
    except FileNotFoundError:
        raise
    except CorpusError:
        return "damaged"
    except OSError:
        return "unreadable"
    if not head:
        return "empty"
    kind = kind_of(entry.name, head)
    if kind.name in COLUMNAR:
        return kind.name
    if kind.name == LFS_POINTER:
        return _POINTER
    return "binary" if kind.is_binary else ""
