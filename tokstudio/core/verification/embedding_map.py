"""What a model needs to follow its tokenizer: which row of its embedding stays, and of which rows each new one is made.

A new token begins with the mean of the rows of the tokens that its text was before.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.atomic_files import write_files
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work, finish
from tokstudio.core.tokenizer.origin import Origin, from_the_first
from tokstudio.core.tokenizer.self_encoding import each_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer

NPZ = ".npz"

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
    """The rows of a model's embedding before and after its tokenizer was changed."""

    size: int  # rows after: the highest id + 1
    before: int  # rows before, at least
    old_ids: NDArray[np.int64]  # [kept], the row before of each token that stays, ascending
    new_ids: NDArray[np.int64]  # [kept], its row after
    made: NDArray[np.int64]  # [made], the rows of tokens that are new, ascending
    parts: NDArray[np.int64]  # the rows before of the tokens that each new one was, one after another
    starts: NDArray[np.int64]  # [made + 1], the start of the parts of each, and the end of the last

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
        arrays = {name: getattr(self, name) for name in ("old_ids", "new_ids", "made", "parts", "starts")}
        np.savez_compressed(file, size=np.int64(self.size), before=np.int64(self.before), **arrays)
        return file.getvalue()

    def write_work(self, path: Path) -> Work[tuple[Path, ...]]:
        """Writes it for NumPy where the name ends in .npz, else as JSON; raises FormatError where it cannot."""
        return (yield from write_files({path: iter([self.npz()]) if path.suffix.lower() == NPZ else self.json()}))


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
    made = np.setdiff1d(ids, new_ids[kept])
    numbers: list[int] = made.tolist()
    # A token is merged as a pre-token of its own, whatever the pattern; a special token was text like any other.
    encoded, sizes = yield from each_work(
        old.encoder("none", whole_words=False), [tokenizer.tokens[token] or b"" for token in numbers]
    )
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    size, new = int(ids.max(initial=-1)) + 1, new_ids[kept].astype(np.int64)
    return EmbeddingMap(size, len(old.tokens), kept, new, made, encoded.astype(np.int64), starts)


def embedding_map(tokenizer: Tokenizer) -> EmbeddingMap:
    """The map of a tokenizer and the first from which it was made; see `embedding_map_work`."""
    return finish(embedding_map_work(tokenizer))
