"""A folder with a tokenizer as JSON, and `loader.py`, which encodes and decodes by it in plain Python.

It is the format that holds all of Picky BPE and BoundlessBPE: removals and supermerges are data.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import several, shown
from tokstudio.core.formats.common.format import GIGABYTE, Format, gathered, joined_early
from tokstudio.core.formats.common.proof import prove_work, trials_work
from tokstudio.core.formats.common.text_readers import JsonReader
from tokstudio.core.formats.common.vocabulary import IS_EMPTY, MergeList, empty_remarks, id_problem, sensible_ids
from tokstudio.core.model.alphabet import BYTES, CODE_POINTS, Alphabet
from tokstudio.core.model.picky import RESULT, falls_of, problem_of_events
from tokstudio.core.pretokenization.custom_regex import without_newer
from tokstudio.core.pretokenization.patterns import NAMES, REGEX, check_pattern, known_name
from tokstudio.core.pretokenization.preparation import Preparation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.tokenizer.tokenizer import Tokenizer

VOCABULARY, MERGES, LOADER = "loader_vocabulary.json", "loader_merges.json", "loader.py"
_VERSION = 1
_COLUMNS = ("left", "right", "result")
_SUPERMERGE = "supermerge"
_OF_REMOVALS = ("replaced", "left_gone", "right_gone")
_PART = 1 << 12
_LARGEST_SAMPLE = 200_000  # characters, some seconds of plain Python
_MOST_UNITS = 1 << 26  # base tokens of all tokens together, as removals are followed
_MOST_NUMBER = 1 << 62

_SNIPPET = """\
# {needs}
import sys

sys.path.insert(0, {folder})
from loader import load

tokenizer = load()
ids = tokenizer.encode("Hello world"{allowed})
print(ids)
"""


class Loader(Format):
    """`loader_vocabulary.json`, `loader_merges.json` and `loader.py`."""

    name = "loader"
    title = "Python loader"
    description = "a program in plain Python with its data, also for Picky BPE and BoundlessBPE"
    files = (VOCABULARY, MERGES, LOADER)
    looked_for = VOCABULARY
    folder = True

    def problem(self, tokenizer: Tokenizer) -> str | None:
        """It holds removals and supermerges."""
        if tokenizer.library is not None:
            return f"This tokenizer works only from its own file: {tokenizer.no_playhead}."
        problem = joined_early(tokenizer)
        return f"{self.title} {problem}" if problem else None

    def remarks_lost(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """The empty token is written, so the remark about it is not lost."""
        return tuple(remark for remark in super().remarks_lost(tokenizer) if not remark.endswith(IS_EMPTY))

    def snippet(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> str:
        """Python code that imports the loader."""
        needs = "nothing to install" if _regex(tokenizer.pattern) is None else "pip install regex"
        allowed = ', allowed_special="all"' if tokenizer.special_tokens else ""
        return _SNIPPET.format(needs=needs, folder=repr(str(targets[LOADER].absolute().parent)), allowed=allowed)

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """An estimate of the size of the vocabulary; a byte that is no text is written as a number."""
        return 6 * token_bytes + 60 * len(tokenizer) + 40 * len(tokenizer.merges)

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """All files."""
        written = gathered(_vocabulary(tokenizer)), gathered(_merges(tokenizer)), iter([_loader()])
        return dict(zip(self.files, written, strict=True))

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Runs the loader in a process of its own; its ids must be equal, and the files open as the same tokenizer."""
        from tokstudio.core.libraries.client import LibraryInput

        back = yield from self.read((written[VOCABULARY], written[MERGES]), self.files[:2])
        if not _is_same(back, tokenizer):
            raise FormatError(f"{name}: when read back, the tokenizer differs from the one written.")
        settings = {"vocabulary": str(written[VOCABULARY].absolute()), "merges": str(written[MERGES].absolute())}
        # Another program's text is never run.
        if written[LOADER].read_bytes() != _loader():
            raise FormatError(f"{name}: {LOADER} has changed while it was written.")
        # What is done to a text before it is split is a loss by name.
        held = tokenizer if tokenizer.preparation.is_plain else tokenizer.changed(preparation=Preparation())
        trials = yield from trials_work(held, without_newer(sample[:_LARGEST_SAMPLE]))
        file = LibraryInput("loader", written[LOADER], name, settings)
        return (yield from prove_work(held, file, trials, in_child=True))

    def find(self, path: Path) -> tuple[Path, ...]:
        """Both files of data; the loader is never read."""
        in_folder = path.is_dir()
        folder = path if in_folder else path.parent
        files = tuple(folder / name for name in self.files[:2])
        is_named = in_folder or path in (*files, folder / LOADER)
        return files if is_named and all(file.is_file() for file in files) else ()

    def read(self, files: tuple[Path, ...], names: tuple[str, ...], pattern: str | None = None) -> Work[Tokenizer]:
        """Reads both files of data, and checks all that the loader relies on."""
        vocabulary = yield from _read_vocabulary(files[0], names[0])
        return (yield from _Reader(vocabulary, names).read_work(files[1]))


def _loader() -> bytes:
    """The text of the loader."""
    return Path(__file__).with_name(LOADER).read_bytes()


def _regex(pattern: str) -> str | None:
    """The regular expression of a pattern for the loader; None where text is not split."""
    name = known_name(pattern)
    return None if name == "none" else REGEX[name] if name in NAMES else pattern


# --- Writing ----------------------------------------------------------------------------------------------------------


def _vocabulary(tokenizer: Tokenizer) -> Iterator[bytes]:
    alphabet, tokens = tokenizer.alphabet, tokenizer.tokens
    joined = tokenizer.supermerges is not None
    numbers: list[int] = tokens.ids().tolist()
    head: dict[str, Any] = {
        "format": "tokstudio loader",
        "version": _VERSION,
        "base": alphabet.base,
        "pattern": tokenizer.pattern,
        "regex": _regex(tokenizer.pattern),
        "unknown": alphabet.unknown,
        "special_tokens": dict(tokenizer.special_tokens),
        "base_tokens": alphabet.ids.tolist(),
        "whole_words": sorted(tokenizer.whole_words),
        "joined_words": _joined_words(tokenizer).tolist() if joined else [],
    }
    yield from _cut(json.dumps(head, ensure_ascii=False).removesuffix("}").encode("utf-8", "surrogatepass"))
    yield b', "tokens": {'
    between, special = "\n", frozenset(tokenizer.special_tokens.values())
    for number in numbers:
        if number in special:
            continue
        raw = tokens[number] or b""
        try:
            value = json.dumps(raw.decode(), ensure_ascii=False)
        except UnicodeDecodeError:
            value = json.dumps(list(raw), separators=(",", ":"))
        yield from _cut(f'{between}"{number}": {value}'.encode())
        between = ",\n"
    yield b"\n}}\n"


def _merges(tokenizer: Tokenizer) -> Iterator[bytes]:
    removals, supermerges = tokenizer.removals, tokenizer.supermerges
    table: list[NDArray[Any]] = [tokenizer.merges, tokenizer.merge_results.reshape(-1, 1)]
    names, falls = [*_COLUMNS], list[list[Any]]()
    if removals is not None:
        table.append(removals[:, RESULT + 1 :])
        names += _OF_REMOVALS
        falls = _falls(tokenizer.merges, removals)
    if supermerges is not None:
        table.append(supermerges.reshape(-1, 1).astype(np.int64))
        names.append(_SUPERMERGE)
    yield f'{{"columns": {json.dumps(names)}, "merges": ['.encode()
    for number, row in enumerate(np.concatenate(table, axis=1).tolist()):
        yield f"{',' if number else ''}\n{json.dumps(row, separators=(',', ':'))}".encode()
    yield b'\n], "falls": ['
    for number, fall in enumerate(falls):
        yield from _cut(f"{',' if number else ''}\n{json.dumps(fall, separators=(',', ':'))}".encode())
    yield b"\n]}\n"


def _falls(merges: NDArray[np.int32], removals: NDArray[np.int64]) -> list[list[Any]]:
    """For each removal the row of its merge, whether the left part (0) or the right goes, and what it falls into."""
    if not len(merges):
        return []
    falls = falls_of(merges, removals, int(removals[0, RESULT]))
    sides = (falls.tokens != merges[falls.merges, 0]).astype(int).tolist()
    return [[row, sides[n], falls.of(n).tolist()] for n, row in enumerate(falls.merges.tolist())]


def _joined_words(tokenizer: Tokenizer) -> NDArray[np.int64]:
    """The tokens that supermerges may join: words that hold a letter, without those of merges after the playhead."""
    return np.intersect1d(np.flatnonzero(tokenizer.words_with_letters()), tokenizer.tokens.ids())


def _cut(text: bytes) -> Iterator[bytes]:
    for start in range(0, len(text), _PART):
        yield text[start : start + _PART]


# --- Reading ----------------------------------------------------------------------------------------------------------


def _read_vocabulary(path: Path, name: str) -> Work[dict[str, Any]]:
    values: dict[str, Any] = {}
    with JsonReader(path, name, GIGABYTE) as reader:
        for key in reader.entries():
            if key in values:
                raise reader.fault_before(f"the key {shown(key)} appears twice")
            if key == "tokens" and reader.peek() == "{":
                tokens = values[key] = dict[int, bytes]()
                for number in reader.items():
                    token = reader.string() if reader.peek() == '"' else reader.value()
                    if problem := _add_token(tokens, number, token):
                        raise reader.fault_before(problem)
                    yield from reader.progress()
            elif key in ("base_tokens", "joined_words", "whole_words") and reader.peek() == "[":
                ids = values[key] = list[object]()
                for _ in reader.elements():
                    ids.append(reader.value())
                    if problem := id_problem(ids[-1]):
                        raise reader.fault_before(problem)
                    yield from reader.progress()
            elif key == "special_tokens" and reader.peek() == "{":
                specials = values[key] = dict[str, object]()
                for token in reader.items():
                    specials[token] = reader.value()
                    if problem := id_problem(specials[token]):
                        raise reader.fault_before(f"the special token {shown(token)}: {problem}")
                    yield from reader.progress()
            else:
                values[key] = reader.value()
        reader.end()
    return values


def _add_token(tokens: dict[int, bytes], number: str, token: object) -> str | None:
    """Adds a token; returns what is wrong with it instead."""
    key = int(number) if number.isascii() and number.isdigit() and len(number) < 12 else None
    if problem := id_problem(key):
        return f"{shown(number)}: {problem}"
    match token:
        case str(text):
            raw = text.encode("utf-8", "surrogatepass")
        case list():
            numbers = cast("list[object]", token)
            if not all(type(byte) is int and 0 <= byte < BYTES for byte in numbers):
                return f"token {number} contains something that is not a byte"
            raw = bytes(cast("list[int]", numbers))
        case _:
            return f"token {number} is neither a text nor a list of bytes"
    if tokens.setdefault(cast("int", key), raw) is not raw:
        return f"token {number} appears twice"
    return None


_KINDS: Mapping[str, tuple[type, ...]] = {
    "base": (str,), "pattern": (str,), "regex": (str, type(None)), "unknown": (int, type(None)),
    "special_tokens": (dict,), "base_tokens": (list,), "whole_words": (list,), "joined_words": (list,),
    "tokens": (dict,),
}  # fmt: skip


class _Reader:
    """Makes the tokenizer of a vocabulary and the merges beside it."""

    def __init__(self, vocabulary: dict[str, Any], names: tuple[str, ...]) -> None:
        self._values, (self._name, self._merges_name) = vocabulary, names[:2]

    def read_work(self, merges: Path) -> Work[Tokenizer]:
        """The tokenizer; FormatError where the files contradict themselves or each other."""
        self._check_head()
        alphabet = self._alphabet()
        columns, rows, falls = yield from _read_merges(merges, self._merges_name)
        with sensible_ids(self._name):
            if columns == (*_COLUMNS, *_OF_REMOVALS):
                tokenizer = self._with_removals(alphabet, rows, falls)
            elif columns in (_COLUMNS, (*_COLUMNS, _SUPERMERGE)) and not falls:
                tokenizer = self._of_merges(alphabet, rows)
            else:
                raise FormatError(f"{self._merges_name}: its columns are unknown: a newer version may have written it.")
        yield from self._compare_work(tokenizer)
        return tokenizer

    def _check_head(self) -> None:
        values, name = self._values, self._name
        if values.get("format") != "tokstudio loader" or values.get("version") != _VERSION:
            raise FormatError(f"{name}: this is no vocabulary of the loader, or a newer version wrote it.")
        for key, kinds in _KINDS.items():
            if key not in values or not isinstance(values[key], kinds) or isinstance(values[key], bool):
                raise FormatError(f"{name}: {shown(key)} is missing, or of another kind.")
        if values["unknown"] is not None and (problem := id_problem(values["unknown"])):
            raise FormatError(f'{name}: "unknown": {problem}.')
        try:
            check_pattern(values["pattern"])
        except ConfigError as error:
            raise FormatError(f"{name}: its pattern cannot be used: {error}") from error
        if values["regex"] != _regex(values["pattern"]):
            raise FormatError(f"{name}: its regular expression is not that of its pattern.")

    def _alphabet(self) -> Alphabet:
        values, name = self._values, self._name
        tokens, base = values["tokens"], values["base"]
        if missing := [number for number in values["base_tokens"] if number not in tokens]:
            raise FormatError(f"{name}: the base token {missing[0]} is missing.")
        spelled: list[bytes] = [tokens[number] for number in values["base_tokens"]]
        try:
            if base == "bytes" and all(len(token) == 1 for token in spelled):
                ids = np.full(BYTES, -1, np.int64)
                ids[[token[0] for token in spelled]] = values["base_tokens"]
                alphabet = Alphabet.of_bytes(ids)
            elif base == "characters" and all(len(token.decode()) == 1 for token in spelled):
                alphabet = Alphabet.of_characters(b"".join(spelled).decode(), values["base_tokens"])
            else:
                raise FormatError(f"{name}: its base tokens are neither bytes nor characters.")
        except (ConfigError, UnicodeDecodeError) as error:
            raise FormatError(f"{name}: its base tokens are damaged: {error}") from error
        if len(alphabet) != len(spelled):
            raise FormatError(f"{name}: two base tokens are equal.")
        return Alphabet(alphabet.base, alphabet.units, alphabet.ids, values["unknown"])

    def _of_merges(self, alphabet: Alphabet, rows: NDArray[np.int64]) -> Tokenizer:
        merges, extra = MergeList(alphabet), self._extra_tokens(alphabet, rows)
        for left, right, result in rows[:, :3].tolist():
            if problem := merges.add(left, right, result):
                raise FormatError(f"{self._merges_name}: {problem}.")
        more: dict[str, Any] = {
            "whole_words": frozenset(self._values["whole_words"]),
            "remarks": empty_remarks(extra),
        }
        if rows.shape[1] > 3:
            if not np.all((rows[:, 3] == 0) | (rows[:, 3] == 1)):
                raise FormatError(f"{self._merges_name}: whether a merge is a supermerge must be 0 or 1.")
            more["supermerges"] = rows[:, 3] == 1
        values = self._values
        return merges.tokenizer(
            self._merges_name, values["special_tokens"], values["pattern"], values["unknown"], extra, **more
        )

    def _with_removals(self, alphabet: Alphabet, rows: NDArray[np.int64], falls: list[object]) -> Tokenizer:
        from tokstudio.core.tokenizer.content import TokenizerContent
        from tokstudio.core.tokenizer.tokenizer import Tokenizer

        name, removals = self._merges_name, rows[:, 2:]
        base = int(rows[0, 2]) if len(rows) else 0
        if problem := _problem_of_rows(rows, base, frozenset(alphabet.ids.tolist())):
            raise FormatError(f"{name}: {problem}.")
        merges = rows[:, :2].astype(np.int32)
        if problem := problem_of_events(merges, removals, base):
            raise FormatError(f"{name}: {problem}.")
        if falls != _falls(merges, removals):
            raise FormatError(f"{name}: what removed tokens fall into does not follow from the merges.")
        values = self._values
        taken = range(base, base + len(rows))
        if any(number in taken for number in (*values["special_tokens"].values(), *alphabet.ids.tolist())):
            raise FormatError(f"{self._name}: a special or base token has the id of a merge.")
        extra = self._extra_tokens(alphabet, rows)
        content = TokenizerContent(
            *(merges, removals[:, RESULT].astype(np.int32), alphabet, values["special_tokens"], values["pattern"]),
            extra_tokens=extra,
            remarks=empty_remarks(extra),
            removals=removals,
        )
        return Tokenizer.of(content)

    def _extra_tokens(self, alphabet: Alphabet, rows: NDArray[np.int64]) -> dict[int, bytes]:
        """The tokens that are neither base tokens nor made by a merge."""
        made = {*alphabet.ids.tolist(), *rows[:, 2].tolist()}
        return {number: token for number, token in self._values["tokens"].items() if number not in made}

    def _compare_work(self, tokenizer: Tokenizer) -> Work[None]:
        """Raises FormatError unless the vocabulary is that of the merges, with the words that supermerges join."""
        values, tokens, name = self._values, tokenizer.tokens, self._name
        special = values["special_tokens"]
        numbers = set[int](tokens.ids().tolist()) - set(special.values())
        if len(set(special.values())) < len(special) or numbers & set(special.values()):
            raise FormatError(f"{name}: two tokens have the same id.")
        if numbers != values["tokens"].keys():
            number = min(numbers ^ values["tokens"].keys())
            raise FormatError(f"{name}: token {number} is in only one of the two files.")
        for position, (number, token) in enumerate(values["tokens"].items()):
            if tokens[number] != token:
                raise FormatError(f"{name}: token {number} is not what {self._merges_name} makes.")
            if position % _PART == 0:
                yield Progress("reading", position, len(numbers))
        joined: list[int] = _joined_words(tokenizer).tolist() if tokenizer.supermerges is not None else []
        if values["joined_words"] != joined:
            raise FormatError(f"{name}: the words that supermerges join do not follow from its tokens.")
        if not tokenizer.whole_words <= numbers:
            raise FormatError(f"{name}: a whole word is no token.")


def _read_merges(path: Path, name: str) -> Work[tuple[tuple[str, ...], NDArray[np.int64], list[object]]]:
    """The names of the columns, int64 [n, columns], and the falls of the file."""
    columns, rows, falls = list[object](), list[list[int]](), list[object]()
    seen = set[str]()
    with JsonReader(path, name, GIGABYTE) as reader:
        for key in reader.entries():
            if key in seen or key not in ("columns", "merges", "falls"):
                raise reader.fault_before(f"the key {shown(key)} is unknown, or appears twice")
            seen.add(key)
            for position in reader.elements():
                value = reader.value()
                if key == "merges":
                    rows.append(_row(value))
                    if len(rows[-1]) != len(rows[0]) or len(rows[-1]) < len(_COLUMNS):
                        raise reader.fault_before(f"merge {position + 1:,} is not a list of whole numbers")
                else:
                    (columns if key == "columns" else falls).append(value)
                yield from reader.progress()
        reader.end()
    names = tuple(map(str, columns))
    if rows and len(rows[0]) != len(names):
        raise FormatError(f"{name}: its merges have {several(len(rows[0]), 'number')} each, but not so many columns.")
    return names, np.array(rows, np.int64).reshape(len(rows), len(names)), falls


def _row(value: object) -> list[int]:
    """The numbers of a merge; none where it is something else."""
    numbers = cast("list[object]", value) if isinstance(value, list) else []
    is_right = all(type(number) is int and -1 <= number < _MOST_NUMBER for number in numbers)
    return cast("list[int]", numbers) if is_right and not any(map(id_problem, numbers[:3])) else []


def _problem_of_rows(rows: NDArray[np.int64], base: int, base_ids: frozenset[int]) -> str | None:
    """What is wrong with the numbers of merges and removals, before any of them is followed; None if nothing is."""
    if base > CODE_POINTS:
        return f"the ids of the merges begin at {base:,}, which is too high"
    lengths, total, numbers = list[int](), 0, cast("list[list[int]]", rows.tolist())
    for number, (left, right, result, replaced, *_) in enumerate(numbers):
        for part in (left, right):
            if (part < base and part not in base_ids) or part >= base + number:
                return f"merge {number + 1:,} joins token {part}, which does not exist yet"
        if not base <= result <= base + number or replaced < 0:
            return f"merge {number + 1:,} makes another token than it should"
        left_length, right_length = (1 if part < base else lengths[part - base] for part in (left, right))
        lengths.append(left_length + right_length)
        total += lengths[-1]
        if total > _MOST_UNITS:
            return f"the tokens are too long: together they have more than {_MOST_UNITS:,} base tokens"
    return None


def _is_same(one: Tokenizer, other: Tokenizer) -> bool:
    """Whether two tokenizers have the same tokens, merges, removals, supermerges and pattern."""
    arrays = ("merges", "merge_results", "removals", "supermerges")
    pairs = ((getattr(one, name), getattr(other, name)) for name in arrays)
    alike = all(np.array_equal(a, b) if a is not None and b is not None else a is b for a, b in pairs)
    values = ((each.special_tokens, each.pattern, each.whole_words, each.extra_tokens) for each in (one, other))
    return alike and next(values) == next(values)
