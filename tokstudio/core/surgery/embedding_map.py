"""The map of an embedding: what a model needs to follow its tokenizer when that is changed.

It says which row of the embedding stays, and of which rows each new one is made: a new token begins with the mean of
the rows of the tokens that its text was before.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.base.atomic_files import write_files
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.formats.common.text_readers import read_whole
from tokstudio.core.model.alphabet import LARGEST_ID
from tokstudio.core.text.utf8 import AnyPath
from tokstudio.core.tokenizer.origin import Origin, from_the_first
from tokstudio.core.tokenizer.self_encoding import each_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

NPZ = ".npz"
_LARGEST_MAP = 1 << 30

_LINES = """\
import numpy as np
import torch

with np.load({path}) as file:
    table = dict(file)
layers = lambda: [layer for layer in (model.get_input_embeddings(), model.get_output_embeddings()) if layer is not None]
before = [layer.weight.detach().clone() for layer in layers()]
assert all(len(old) >= int(table["before"]) for old in before), "the map is of a larger tokenizer"
model.resize_token_embeddings(int(table["size"]))
with torch.no_grad():
    for old, layer in zip(before, layers()):
        layer.weight[table["new_ids"]] = old[table["old_ids"]]
        for token, parts in zip(table["made"], np.split(table["parts"], table["starts"][1:-1])):
            layer.weight[token] = (old[parts] if len(parts) else old).mean(0)
"""


@dataclass(frozen=True, eq=False)
class EmbeddingMap:
    """The rows of a model's embedding before and after its tokenizer was changed.

    Example:
        >>> tokenizer = Tokenizer.from_parts({n: bytes([n]) for n in range(256)}, [])
        >>> table = embedding_map(add_specials(tokenizer, ["<s>"]))
        >>> table.apply(np.arange(512.0).reshape(256, 2)).shape
        (257, 2)
    """

    size: int  # rows after: the highest id + 1
    before: int  # rows before, at least
    old_ids: NDArray[np.int64]  # [kept], the row before of each token that stays, ascending
    new_ids: NDArray[np.int64]  # [kept], its row after
    made: NDArray[np.int64]  # [made], the rows of tokens that are new, ascending
    parts: NDArray[np.int64]  # the rows before of the tokens that each new one was, one after another
    starts: NDArray[np.int64]  # [made + 1], the start of the parts of each, and the end of the last

    @classmethod
    def load(cls, path: AnyPath) -> EmbeddingMap:
        """Opens a map that was written as NumPy's archive or as JSON; FormatError where it is damaged.

        Example:
            >>> tokenizer = Tokenizer.from_parts({n: bytes([n]) for n in range(256)}, [])
            >>> table = embedding_map(add_specials(tokenizer, ["<s>"]))
            >>> _ = table.save("map.npz")
            >>> EmbeddingMap.load("map.npz").made.tolist()
            [256]
        """
        file = Path(path)
        content = read_whole(file, file.name, _LARGEST_MAP)
        try:
            loaded = _of_npz(content) if file.suffix.lower() == NPZ else _of_json(content)
        except (
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            OverflowError,
            zipfile.BadZipFile,
            EOFError,
            RecursionError,
        ) as error:
            raise FormatError(f"{file.name}: this is no map of an embedding, or it is damaged.") from error
        if (fault := loaded._fault()) is not None:
            raise FormatError(f"{file.name}: {fault}.")
        return loaded

    def save(self, path: AnyPath) -> Path:
        """Writes it for NumPy where the name ends in .npz, else as JSON; FormatError where it cannot be written."""
        finish(self.write_work(Path(path)))
        return Path(path)

    def apply(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The embedding after the change, of the rows before it: a row for each id, in the same type.

        A new token has the mean of the rows of its parts; a row without a token, or of one without parts, that of all.

        Args:
            rows: Floating point [before or more, width], also of a file that is mapped into memory.

        Raises:
            ConfigError: These are no such rows.
        """
        if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype.kind != "f":  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError("An embedding must be an array of floating point numbers with a row for each token.")
        if len(rows) < self.before:
            raise ConfigError(
                f"The embedding has {len(rows):,} rows, and the map is of one with {self.before:,} at least."
            )
        new = np.empty((self.size, rows.shape[1]), rows.dtype)
        kept = np.zeros(self.size, np.bool_)
        kept[self.new_ids] = True
        if not kept.all():
            new[~kept] = rows.mean(axis=0, dtype=np.float64)
        new[self.new_ids] = rows[self.old_ids]
        for place, token in enumerate(self.made.tolist()):
            if len(parts := self.parts[self.starts[place] : self.starts[place + 1]]):
                new[token] = rows[parts].mean(axis=0, dtype=np.float64)
        return new

    def _fault(self) -> str | None:
        """What does not fit together, as a sentence without a stop."""
        ids = (
            (self.old_ids, self.before),
            (self.new_ids, self.size),
            (self.made, self.size),
            (self.parts, self.before),
        )
        if not 0 <= self.size <= LARGEST_ID or not 0 <= self.before <= LARGEST_ID:
            return "its number of rows is impossible"
        if any(len(numbers) and (numbers.min() < 0 or numbers.max() >= rows) for numbers, rows in ids):
            return "it names a row that the embedding does not have"
        if len(self.old_ids) != len(self.new_ids) or len(self.starts) != len(self.made) + 1:
            return "its lists differ in length"
        if np.any(np.diff(self.starts) < 0) or self.starts[0] != 0 or self.starts[-1] != len(self.parts):
            return "its parts do not belong to its new tokens"
        if len(np.unique(np.concatenate([self.new_ids, self.made]))) != len(self.new_ids) + len(self.made):
            return "it makes a row twice"
        if np.any(np.diff(self.made) <= 0):
            return "its new tokens are not in order"
        return None

    def parts_of(self, token: int) -> NDArray[np.int64]:
        """The old ids that a new token was; raises ConfigError where it is not new."""
        place = int(np.searchsorted(self.made, token))
        if place == len(self.made) or self.made[place] != token:
            raise ConfigError(f"Id {token} is not the id of a new token.")
        return self.parts[self.starts[place] : self.starts[place + 1]]

    def json(self) -> Iterator[bytes]:
        """Yields it as JSON: both sizes, the new id of each old one, and the old ids of the parts of each new one."""
        yield b'{\n"before": %d,\n"size": %d,\n"new_ids": {' % (self.before, self.size)
        lead = b"\n"
        for old, new in zip(self.old_ids.tolist(), self.new_ids.tolist(), strict=True):
            yield lead + b'"%d": %d' % (old, new)
            lead = b",\n"
        yield b'},\n"parts": {'
        lead = b"\n"
        for token in self.made.tolist():
            yield lead + b'"%d": %s' % (token, json.dumps(self.parts_of(token).tolist()).encode())
            lead = b",\n"
        yield b"}\n}\n"

    def npz(self) -> bytes:
        """The arrays as an archive of NumPy, with both sizes."""
        file = io.BytesIO()
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        np.savez_compressed(file, size=np.int64(self.size), before=np.int64(self.before), **arrays)
        return file.getvalue()

    def write_work(self, path: Path) -> Work[tuple[Path, ...]]:
        """Writes it for NumPy where the name ends in .npz, else as JSON; raises FormatError where it cannot."""
        return (yield from write_files({path: iter([self.npz()]) if path.suffix.lower() == NPZ else self.json()}))


_ARRAYS = ("old_ids", "new_ids", "made", "parts", "starts")


def _of_npz(content: bytes) -> EmbeddingMap:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _LARGEST_MAP:
            raise ValueError
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return _of_values(file["size"].item(), file["before"].item(), [file[name] for name in _ARRAYS])


def _of_json(content: bytes) -> EmbeddingMap:
    values = json.loads(content)
    new_ids, parts = values["new_ids"], values["parts"]
    made = sorted((int(token), ids) for token, ids in parts.items())
    ends = np.cumsum([0, *(len(ids) for _, ids in made)])
    arrays = [
        [int(old) for old in new_ids],
        list(new_ids.values()),
        [token for token, _ in made],
        [part for _, ids in made for part in ids],
        ends,
    ]
    return _of_values(values["size"], values["before"], arrays)


def _of_values(size: object, before: object, arrays: Sequence[Any]) -> EmbeddingMap:
    numbers = [np.asarray(values) for values in arrays]
    if any(array.ndim != 1 or (len(array) and array.dtype.kind not in "iu") for array in numbers):
        raise ValueError
    if type(size) is not int or type(before) is not int:
        raise ValueError
    return EmbeddingMap(size, before, *(array.astype(np.int64) for array in numbers))


def python_lines(path: Path | str) -> str:
    """Python code that resizes the embeddings of a `model` of transformers by a map that was written for NumPy."""
    return _LINES.format(path=repr(str(path)))


def embedding_map_work(tokenizer: Tokenizer, origin: Origin[Tokenizer] | None = None) -> Work[EmbeddingMap]:
    """The map of a tokenizer and that from which it was made; without `origin`, the first of several changes.

    Raises:
        ConfigError: It was not made from another.
    """
    if origin is None:
        if tokenizer.origin is None:
            raise ConfigError("This tokenizer was not made from another: there is no map of its ids.")
        origin = from_the_first(tokenizer.origin)
    old, new_ids = origin.old, origin.new_ids
    kept = np.flatnonzero(new_ids >= 0)
    ids = tokenizer.tokens.ids()
    made_ids = np.setdiff1d(ids, new_ids[kept])
    numbers: list[int] = made_ids.tolist()
    # A token is merged as a pre-token of its own, whatever the pattern; a special token was text like any other.
    encoded, sizes = yield from each_work(
        old.encoder("none", whole_words=False), [tokenizer.tokens[token] or b"" for token in numbers]
    )
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    size, new = int(ids.max(initial=-1)) + 1, new_ids[kept].astype(np.int64)
    return EmbeddingMap(size, len(old.tokens), kept, new, made_ids, encoded.astype(np.int64), starts)


def embedding_map(tokenizer: Tokenizer) -> EmbeddingMap:
    """The map of a tokenizer and the first from which it was made; see `embedding_map_work`."""
    return finish(embedding_map_work(tokenizer))
