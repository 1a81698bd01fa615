"""Batches of encoded texts, with padding to one length."""

# SPDX-License-Identifier: MIT
# pyright: reportMissingTypeStubs=false
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from operator import index
from typing import TYPE_CHECKING, Any, TypeAlias, cast, overload

import numpy as np

from tokstudio.core.base.arguments import told
from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.model.tokens import Tokens, several_ids
from tokstudio.core.text.utf8 import Text, all_to_utf8

if TYPE_CHECKING:
    import pyarrow
    from numpy.typing import DTypeLike, NDArray

# --- The offsets of tokens in a text, for a tokenizer whose tokens are parts of the text ------------------------------

_TOKENS = 1 << 15
GROUP = 1 << 24  # bytes of texts to encode together
TEXTS = 1 << 6  # converted together
_SHOWN = 8  # rows of a batch
_MOST_ID = (1 << 32) - 1


def ends_work(
    tokens: Tokens, unknown: int | None, data: bytes, ids: NDArray[np.uint32], recognised: bool
) -> Work[NDArray[np.int64]]:
    """int64 [tokens], the end in `data` of each of `ids`, uint32; `recognised` if special tokens were recognised."""
    if not len(ids):
        return np.zeros(0, np.int64)
    distinct = np.flatnonzero(np.bincount(ids)).tolist()
    lengths = np.zeros(distinct[-1] + 1, np.int64)
    lengths[distinct] = [tokens.length(token) for token in distinct]
    ends = np.cumsum(lengths[ids])
    yield Progress("encoding")
    spelling = None if unknown is None else tokens[unknown]
    if spelling is None:
        return ends
    return (yield from _cover_work(data, np.flatnonzero(ids == unknown), ends, spelling, recognised))


def _cover_work(
    data: bytes, unknowns: NDArray[np.int64], ends: NDArray[np.int64], spelling: bytes, recognised: bool
) -> Work[NDArray[np.int64]]:
    """Corrects the ends where the unknown token is: it is as long as the character that it stands for."""
    shorter = np.zeros(len(ends), np.int64)
    shift = 0
    for number, at in enumerate(unknowns.tolist()):
        begin = int(ends[at]) - len(spelling) - shift
        # Where special tokens are recognised, the text may contain the unknown token itself.
        if not recognised or data[begin : begin + len(spelling)] != spelling:
            first = data[begin]  # of a character in UTF-8, whose length it tells
            shorter[at] = len(spelling) - (1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0))
            shift += int(shorter[at])
        if number % _TOKENS == _TOKENS - 1:
            yield Progress("encoding", number, len(unknowns))
    return ends - np.cumsum(shorter)


# Common spellings in files: <pad>, <PAD>, [PAD], <|padding|>, <|pad|>.
_PADDING_TOKEN = re.compile(r"(?:<\|pad(?:ding)?\|>|<pad(?:ding)?>|\[pad\])", re.IGNORECASE)
_END_OF_TEXT = "<|endoftext|>"


class BatchRows(Sequence["NDArray[np.uint32]"]):
    """Numbers of each text, as a sequence of rows that equals lists of lists; `numpy.array` takes rows of one length.

    Args:
        flat: uint32, the numbers of all texts, of which each row is a view.
        starts: int64 [texts], where the row of each begins.
        stops: int64 [texts], where it ends.
    """

    def __init__(self, flat: NDArray[np.uint32], starts: NDArray[np.int64], stops: NDArray[np.int64]) -> None:
        self._flat, self._starts, self._stops = flat, starts, stops

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, index: int) -> NDArray[np.uint32]: ...
    @overload
    def __getitem__(self, index: slice) -> BatchRows: ...
    def __getitem__(self, index: int | slice) -> NDArray[np.uint32] | BatchRows:
        if isinstance(index, slice):
            return BatchRows(self._flat, self._starts[index], self._stops[index])
        return self._flat[self._starts[index] : self._stops[index]]

    def __iter__(self) -> Iterator[NDArray[np.uint32]]:
        flat = self._flat
        for start, stop in zip(self._starts.tolist(), self._stops.tolist(), strict=True):
            yield flat[start:stop]

    def __contains__(self, value: object) -> bool:
        return any(row.tolist() == _listed(value) for row in self)

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """The number of the first row that equals a list; ValueError where there is none."""
        numbers = range(*slice(start, stop).indices(len(self)))
        row = next((number for number in numbers if self[number].tolist() == _listed(value)), None)
        if row is None:
            raise ValueError("There is no such row.")
        return row

    def count(self, value: object) -> int:
        """How many rows equal a list."""
        return sum(row.tolist() == _listed(value) for row in self)

    def tolist(self) -> list[list[int]]:
        """All rows as lists."""
        return [row.tolist() for row in self]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Sequence, np.ndarray)) or isinstance(other, (str, bytes)):
            return NotImplemented
        rows = cast("Sequence[object]", other)
        return len(self) == len(rows) and all(
            row.tolist() == _listed(theirs) for row, theirs in zip(self, rows, strict=True)
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        sizes = self._stops - self._starts
        if len(sizes) and np.any(sizes != sizes[0]):
            raise ValueError("The rows differ in length: pad them to make one array.")
        if copy is False:
            raise ValueError("An array of rows is a copy.")
        if not len(sizes):
            return np.empty(0, dtype or np.uint32)
        return np.stack([*self]).astype(dtype or np.uint32, copy=False)

    def __repr__(self) -> str:
        shown = [str(row.tolist()) for row in self[:_SHOWN]]
        return f"[{', '.join([*shown, '...'] if len(self) > _SHOWN else shown)}]"


def _listed(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Several encoded texts: all ids in one array, seen as a row for each text.

    Iterating gives the rows, `len` their number, and `batch[i]` the row of one text.

    Example:
        >>> batch = ByteTokenizer().encode_batch(["ab", "c"], padding=0)
        >>> batch.ids == [[97, 98], [99, 0]], batch.attention_mask == [[1, 1], [1, 0]]
        (True, True)
        >>> batch.flat.tolist(), batch.offsets.tolist()
        ([97, 98, 99, 0], [0, 2, 4])
        >>> [row.tolist() for row in batch], batch.to_arrow().column_names
        ([[97, 98], [99, 0]], ['input_ids', 'attention_mask'])

    Attributes:
        flat: uint32 [ids], the ids of all texts one after another, with padding.
        offsets: int64 [texts + 1], where the ids of each text begin, and the end of the last.
        tokens: int64 [texts], how many ids of each text are not padding.
        padded_left: Whether the padding is before the ids, not after them.
    """

    flat: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    tokens: NDArray[np.int64]
    padded_left: bool = False

    @classmethod
    def of(cls, ids: NDArray[np.uint32], tokens: NDArray[np.int64]) -> Batch:
        """A batch without padding: the ids of all texts, and how many each has."""
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(tokens, dtype=np.int64)])
        return cls(read_only(ids), read_only(offsets), read_only(tokens))

    def padded(self, filler: int, width: int | None = None, left: bool = False) -> Batch:
        """The same with each row filled up to `width` ids, or to the longest row; longer rows stay."""
        sizes = self.tokens
        widths = np.maximum(sizes, np.max(sizes, initial=0) if width is None else width)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(widths, dtype=np.int64)])
        padded = Batch(np.full(int(offsets[-1]), filler, np.uint32), read_only(offsets), sizes, left)
        padded.flat[padded.is_text] = self.flat
        padded.flat.setflags(write=False)
        return padded

    def without_padding(self) -> Batch:
        """The same with each row as long as its text."""
        return self if self._is_whole else Batch.of(self.flat[self.is_text], self.tokens)

    @property
    def ids(self) -> BatchRows:
        """The ids of each text; with padding, all rows are as long as the longest."""
        return BatchRows(self.flat, self.offsets[:-1], self.offsets[1:])

    @property
    def attention_mask(self) -> BatchRows:
        """For each id, 1 for text and 0 for padding."""
        return BatchRows(self._mask, self.offsets[:-1], self.offsets[1:])

    def to_arrow(self) -> pyarrow.Table:  # pyright: ignore[reportUnknownParameterType, reportUnknownMemberType]
        """A table of Arrow with the columns `input_ids` and `attention_mask`, lists of which each is one text's.

        The ids are not copied. `datasets.Dataset.map` takes the table as it is.
        """
        import pyarrow

        arrow: Any = pyarrow  # the library has no types
        mask = np.broadcast_to(np.uint8(1), len(self.flat)) if self._is_whole else self._mask
        columns = {"input_ids": self.flat, "attention_mask": mask.astype(np.uint8)}
        lists = arrow.LargeListArray.from_arrays
        return arrow.table({name: lists(self.offsets, values) for name, values in columns.items()})

    def __len__(self) -> int:
        return len(self.tokens)

    def __iter__(self) -> Iterator[NDArray[np.uint32]]:
        return iter(self.ids)

    def __getitem__(self, index: int) -> NDArray[np.uint32]:
        return self.ids[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Batch):
            return NotImplemented
        mine, theirs = (self.flat, self.offsets, self._mask), (other.flat, other.offsets, other._mask)
        return all(map(np.array_equal, mine, theirs))

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return f"Batch({several(len(self), 'text')}, {several(int(self.tokens.sum()), 'token')})"

    @property
    def _is_whole(self) -> bool:
        return len(self.flat) == int(self.tokens.sum())

    @cached_property
    def is_text(self) -> NDArray[np.bool_]:
        """Bool [ids], which ids are not padding."""
        starts, stops = self.offsets[:-1], self.offsets[1:]
        begins = stops - self.tokens if self.padded_left else starts
        # Of ids that are text, one more begins than has ended.
        edges = np.bincount(begins, minlength=len(self.flat) + 1) - np.bincount(
            begins + self.tokens, minlength=len(self.flat) + 1
        )
        return np.cumsum(edges[: len(self.flat)]) > 0

    @cached_property
    def _mask(self) -> NDArray[np.uint32]:
        # Of text without padding, it takes no memory.
        return np.broadcast_to(np.uint32(1), len(self.flat)) if self._is_whole else self.is_text.astype(np.uint32)


#: Encodes several texts in UTF-8: uint32 [tokens], the ids of all of them, and int64 [texts], how many each has.
EncodeTexts: TypeAlias = "Callable[[Sequence[bytes]], tuple[NDArray[np.uint32], NDArray[np.int64]]]"


def encode_texts(
    encode: EncodeTexts, texts: Iterable[Text], padding: bool | int = False, pad_id: int | None = 0
) -> Batch:
    """Encodes texts and optionally pads all of them on the right to the longest.

    `padding` is True to pad with `pad_id`, False not to pad, or the id to pad with.

    Raises:
        ConfigError: `texts` is one text, `padding` is not an id, there is no id to pad with, or a text cannot be
            encoded.
    """
    check_several(texts)
    filler = _filler(padding, pad_id)
    groups = [encode(group) for group in grouped(texts)]
    ids = [np.empty(0, np.uint32), *(ids for ids, _ in groups)]
    tokens = [np.empty(0, np.int64), *(tokens for _, tokens in groups)]
    batch = Batch.of(np.concatenate(ids), np.concatenate(tokens))
    return batch if filler is None else batch.padded(filler)


def grouped(texts: Iterable[Text]) -> Iterator[list[bytes]]:
    """Yields texts in UTF-8, in groups of about `GROUP` bytes; ConfigError for what is not a text."""
    waiting, group, size = iter(texts), list[bytes](), 0
    while some := list(islice(waiting, TEXTS)):
        if not {*map(type, some)} <= {str, bytes}:
            for text in some:
                check_text(text)
        group += all_to_utf8(some)
        size += sum(map(len, group[-len(some) :]))
        if size >= GROUP:
            yield group
            group, size = list[bytes](), 0
    if group:
        yield group


def each_by_itself(encode: Callable[[Text], NDArray[np.uint32]]) -> EncodeTexts:
    """Encodes several texts one after another."""

    def encode_all(texts: Sequence[bytes]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        ids = [encode(text) for text in texts]
        return np.concatenate([np.empty(0, np.uint32), *ids]), np.array(list(map(len, ids)), np.int64)

    return encode_all


def rows_of(batch: Batch | Iterable[Iterable[int]]) -> Sequence[Sequence[int] | NDArray[Any]]:
    """The ids of each text, without padding; raises ConfigError for ids of one text."""
    if isinstance(batch, Batch):
        return batch.without_padding().ids
    try:
        if not isinstance(batch, (str, bytes)):
            return [several_ids(row) for row in batch]
    except TypeError:
        pass
    raise ConfigError("A batch must be a list of lists of ids: decode takes the ids of one text.")


def encode_each(encode: Callable[[Text], list[int]], texts: Iterable[Text]) -> Iterator[int]:
    """Yields the ids of one text after another; takes a text only when all ids before it are taken.

    Raises:
        ConfigError: `texts` is one text; later, a text cannot be encoded.
    """
    check_several(texts)
    return (token for text in texts for token in encode(text))


def padding_id(special_tokens: Mapping[str, int]) -> int | None:
    """The id to pad with: that of a padding token if there is one, else that of `<|endoftext|>`, else None.

    Padding has mask 0 and is not read; models were trained with these.
    """
    named = [number for token, number in special_tokens.items() if _PADDING_TOKEN.fullmatch(token)]
    return min(named, default=special_tokens.get(_END_OF_TEXT))


def check_text(text: Text) -> None:
    """Raises ConfigError for anything that is not one text, such as a list of several."""
    if not isinstance(text, (str, bytes)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(
            f"A text must be str or bytes, not {type(text).__name__}: encode takes one text, encode_batch several."
        )


def several_texts(texts: Iterable[Text]) -> Iterable[Text]:
    """The texts; raises ConfigError for what is neither a text nor several."""
    if not isinstance(texts, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"A text must be str or bytes, or several of them, not {type(texts).__name__}.")
    return texts


def check_several(texts: Iterable[Text]) -> None:
    """Raises ConfigError for one text where several are expected."""
    if isinstance(texts, (str, bytes)):
        raise ConfigError("A batch must be a list of texts, not one text.")


def _filler(padding: bool | int, pad_id: int | None) -> int | None:
    if isinstance(padding, bool):
        if padding and pad_id is None:
            raise ConfigError(
                "This tokenizer has no padding token: give the id to pad with, as in padding=0, or add a special token "
                "such as <|pad|>."
            )
        return pad_id if padding else None
    try:
        number = index(padding)
    except TypeError:
        number = -1
    if not 0 <= number <= _MOST_ID:
        raise ConfigError(f"Padding must be True, False or an id, not {told(padding)}.")
    return number
