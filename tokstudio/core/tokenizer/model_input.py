"""What a model is given for texts: the tokens that a file adds, cutting, padding, and where each token is in its text.

The rules are those of transformers, whose settings the files of a tokenizer hold.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, cast

import numpy as np

from tokstudio.core.base.arguments import told, whole_number
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.model.file_settings import FileSettings
from tokstudio.core.pretokenization.preparation import WHITE_SPACE
from tokstudio.core.text.byte_level import CHARACTER_OF
from tokstudio.core.text.utf8 import is_utf8
from tokstudio.core.tokenizer.batch import Batch

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PADDING: Mapping[object, str] = {
    False: "", "do_not_pad": "", True: "longest", "longest": "longest", "max_length": "max"
}  # fmt: skip
_TRUNCATION: Mapping[object, bool | None] = {
    None: None, False: False, "do_not_truncate": False, True: True, "longest_first": True, "only_first": True
}  # fmt: skip

# A space is "Ġ" in tokens of bytes.
_SPACE_BEFORE = re.compile(rf"\A[{WHITE_SPACE}{CHARACTER_OF[ord(' ')]}]+")

#: Numbers of one text, of several, or an array of them.
Numbers: TypeAlias = "list[int] | list[list[int]] | NDArray[np.int64]"
Offsets: TypeAlias = "list[tuple[int, int]] | list[list[tuple[int, int]]] | NDArray[np.int64]"


class _ModelInput(TypedDict):
    input_ids: Numbers
    attention_mask: Numbers


class ModelInput(_ModelInput, total=False):
    """What a model is given; without `return_tensors`, lists of one text or of each text.

    `input_ids` are the ids, `attention_mask` is 0 for padding, and `offset_mapping` has the characters from which and
    up to which each token goes; (0, 0) for those that are not in the text.
    """

    offset_mapping: Offsets


@dataclass(frozen=True)
class InputShape:
    """What is done to the ids of each text."""

    before: list[int]  # the ids to put before each text
    after: list[int]  # the ids to put after it
    most: int | None  # the most ids of a text, with those around it; None for any number
    cut_left: bool  # whether text is cut off at its beginning, not at its end
    filler: int | None  # the id to pad with; None not to pad
    width: int | None  # how many ids are filled up; None for those of the longest text
    pad_left: bool  # whether the padding is before the ids

    def cut(self, batch: Batch, places: NDArray[np.int64] | None) -> tuple[Batch, NDArray[np.int64] | None]:
        """A batch without padding cut to fit, and the int64 [ids, 2] places of its ids, where they are given."""
        if self.most is None:
            return batch, places
        kept = np.minimum(batch.tokens, self.most - len(self.before) - len(self.after))
        begins = batch.offsets[1:] - kept if self.cut_left else batch.offsets[:-1]
        here = np.repeat(begins - (np.cumsum(kept) - kept), kept) + np.arange(int(kept.sum()))
        return Batch.of(batch.flat[here], kept), None if places is None else places[here]

    def filled(self, batch: Batch, places: NDArray[np.int64] | None) -> tuple[Batch, NDArray[np.int64] | None]:
        """The same with the ids around each text, and padded."""
        if self.before or self.after:
            batch, places = self._surrounded(batch, places)
        if self.filler is None:
            return batch, places
        padded = batch.padded(self.filler, self.width, self.pad_left)
        if places is not None:
            places, inner = np.zeros((len(padded.flat), 2), np.int64), places
            places[padded.is_text] = inner
        return padded, places

    def _surrounded(self, batch: Batch, offsets: NDArray[np.int64] | None) -> tuple[Batch, NDArray[np.int64] | None]:
        first, last = len(self.before), len(self.after)
        sizes = batch.tokens + first + last
        ends = np.cumsum(sizes)
        added = np.arange(len(batch)) * (first + last) + first
        there = np.arange(len(batch.flat)) + np.repeat(added, batch.tokens)
        ids = np.empty(int(sizes.sum()), np.uint32)
        ids[there] = batch.flat
        for place, token in enumerate(self.before):
            ids[ends - sizes + place] = token
        for place, token in enumerate(self.after):
            ids[ends - last + place] = token
        places = None
        if offsets is not None:
            places = np.zeros((len(ids), 2), np.int64)
            places[there] = offsets
        return Batch.of(ids, sizes), places


def input_shape(
    settings: FileSettings,
    padding: bool | str,
    truncation: bool | str | None,
    max_length: int | None,
    add_special_tokens: bool,
    filler: int | None,
) -> InputShape:
    """What arguments of a call ask for, with what files say; `filler` is the padding token.

    Raises:
        ConfigError: An argument has no meaning, alone or with these files.
    """
    pads, cuts = _chosen("padding", padding, _PADDING), _chosen("truncation", truncation, _TRUNCATION)
    if max_length is not None:
        max_length = whole_number("max_length", max_length, 1)
        if pads == "longest" and not cuts:
            raise ConfigError(
                "max_length does nothing where padding is True and nothing is cut: add truncation=True, or pad to it "
                'by padding="max_length".'
            )
        cuts = not pads if cuts is None else cuts
    most = settings.model_max_length if max_length is None else max_length
    if (cuts or pads == "max") and most is None:
        raise ConfigError("The files of this tokenizer name no largest number of tokens: give it as max_length.")
    if pads and filler is None:
        raise ConfigError(
            "This tokenizer has no padding token: give one of its special tokens that role by set_roles, or encode "
            "without padding."
        )
    before, after = list[int](), list[int]()
    if add_special_tokens:
        if isinstance(reason := settings.around, str):
            raise ConfigError(f"What this file adds to each text is not known: {reason}. Use add_special_tokens=False.")
        before, after = settings.around_ids
    if cuts and most is not None and most < len(before) + len(after):
        added = several(len(before) + len(after), "token")
        raise ConfigError(f"max_length {most:,} has no room for the {added} that this tokenizer adds to each text.")
    return InputShape(
        before,
        after,
        most if cuts else None,
        _is_left(settings, "truncation"),
        filler if pads else None,
        most if pads == "max" else None,
        _is_left(settings, "padding"),
    )


def _chosen(name: str, value: object, choices: Mapping[Any, Any]) -> Any:  # noqa: ANN401
    try:
        if isinstance(value, (bool, str)) or value is None:
            return choices[value]
    except KeyError:
        pass
    known = ", ".join(repr(choice) for choice in choices)
    raise ConfigError(f"{name} must be one of {known}, not {told(value)}.")


def _is_left(settings: FileSettings, what: Literal["padding", "truncation"]) -> bool:
    """The side that the configuration names, else `tokenizer.json`, else the right one."""
    side = (settings.config or {}).get(f"{what}_side")
    part: object = getattr(settings, what)
    if not isinstance(side, str) and isinstance(part, dict):
        side = cast("dict[str, object]", part).get("direction")
    return isinstance(side, str) and side.lower() == "left"


def as_model_input(
    batch: Batch, offsets: NDArray[np.int64] | None, is_one: bool, return_tensors: str | None
) -> ModelInput:
    """The lists or arrays of a batch; raises ConfigError where its rows are no array."""
    if return_tensors not in (None, "np"):
        raise ConfigError(
            f'return_tensors must be "np" or None, not {told(return_tensors)}: arrays are those of NumPy.'
        )
    bounds: list[int] = batch.offsets.tolist()
    if return_tensors is None:
        values: dict[str, Any] = {"input_ids": batch.ids.tolist(), "attention_mask": batch.attention_mask.tolist()}
        if offsets is not None:
            every: list[Any] = list(map(tuple, cast("list[Any]", offsets.tolist())))
            values["offset_mapping"] = [every[start:stop] for start, stop in pairwise(bounds)]
        return cast("ModelInput", {name: rows[0] for name, rows in values.items()} if is_one else values)
    shape = (len(batch), -1 if len(batch) else 0)
    try:
        values = {
            "input_ids": np.array(batch.ids, np.int64).reshape(shape),
            "attention_mask": np.array(batch.attention_mask, np.int64).reshape(shape),
        }
    except ValueError:
        raise ConfigError("The texts have different numbers of tokens: use padding=True to get one array.") from None
    if offsets is not None:
        values["offset_mapping"] = offsets.reshape(*shape, 2)
    return cast("ModelInput", values)


# --- Where tokens are in a text ---------------------------------------------------------------------------------------


def in_characters(raw: bytes, spans: NDArray[np.int64]) -> NDArray[np.int64]:
    """Spans of bytes of a text, int64 [tokens, 2], as spans of its characters.

    A token within a character has all of it. A byte that is not UTF-8 counts as one character.
    """
    data = np.frombuffer(raw, np.uint8)
    if is_utf8(raw):
        is_first = (data & 0xC0) != 0x80
    else:
        text = np.array([raw.decode("utf-8", "surrogateescape")]).view(np.uint32)
        widths = 1 + (text >= 0x80).astype(np.int64) + (text >= 0x800) + (text >= 0x10000)
        widths[(text >= 0xDC80) & (text < 0xDD00)] = 1
        is_first = np.zeros(len(data), np.bool_)
        is_first[np.cumsum(widths) - widths] = True
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(is_first)])
    begins, ends = spans[:, 0], spans[:, 1]
    inside = (np.append(~is_first, np.False_)[begins] & (ends > begins)).astype(np.int64)
    return np.stack([before[begins] - inside, before[ends]], axis=1).astype(np.int64)


def offset_trims(settings: FileSettings) -> list[bool]:
    """The steps of the post-processor that take white space off: whether each leaves one before the first token."""
    return list(_trims(settings.post_processor))


def _trims(step: object) -> Iterable[bool]:
    match step:
        case {"type": "ByteLevel" | "RobertaProcessing", "trim_offsets": True, "add_prefix_space": bool(adds)}:
            yield adds
        case {"type": "Sequence", "processors": list()}:
            for each in cast("dict[str, list[object]]", step)["processors"]:
                yield from _trims(each)
        case _:
            pass


def edge_spaces(token: str) -> tuple[int, int]:
    """How many characters of white space a token has at its beginning and end, with those that stand for a space."""
    leading, trailing = (len(token) - len(_SPACE_BEFORE.sub("", text)) for text in (token, token[::-1]))
    return leading, trailing


def trimmed(batch: Batch, places: NDArray[np.int64], trims: Iterable[bool]) -> NDArray[np.int64]:
    """Offsets of the tokens of texts without the white space at their ends, int64 [ids, 2].

    `places` are int64 [ids, 4]: the offsets, and how much white space each token has at its beginning and end.
    """
    columns: list[NDArray[np.int64]] = [*places.T]
    begins, ends, leading, trailing = columns
    is_first = np.zeros(len(batch.flat), np.bool_)
    is_first[batch.offsets[:-1][batch.tokens > 0]] = True
    for keeps_first in trims:
        kept = keeps_first & (leading == 1) & (is_first | (begins == 0))
        begins = np.minimum(begins + np.where(kept, 0, leading), ends)
        ends = np.where((trailing > 0) & (ends >= trailing), np.maximum(ends - trailing, begins), ends)
    return np.stack([begins, ends], axis=1)
