"""The tokenizer that a run started from, as JSON in a project."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import binascii
from dataclasses import asdict
from typing import TypeVar, cast

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.model.run import Run
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.project.checked_row import Row
from tokstudio.core.project.json_values import Json, to_json
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.from_tokenizer import start_of

_T = TypeVar("_T")
_SETS = ("late", "strips_left", "strips_right")  # of a `Preparation`


def start_to_json(run: Run) -> str | None:
    """The tokenizer that a run started from; None where there is none."""
    if (start := start_of(run)) is None:
        return None
    rows = np.column_stack([start.merges, start.merge_results])
    preparation = asdict(start.preparation)
    return to_json(
        {
            "bytes": start.byte_ids.tolist(),
            "merges": rows.ravel().tolist(),  # left, right and result of each
            "special_tokens": start.special_tokens,
            "pattern": start.pattern,
            "extra_tokens": {token: base64.b64encode(made).decode() for token, made in start.extra_tokens.items()},
            "whole_words": sorted(start.whole_words),
            "preparation": preparation | {name: sorted(preparation[name]) for name in _SETS},
            "remarks": start.remarks,
        }
    )


def read_start(row: Row) -> Tokenizer | None:
    """The tokenizer that the run of a row started from; FormatError where it is none."""
    if row.is_null("start"):
        return None
    given = row.json_object("start")
    try:
        merges = np.array(_listed(given, "merges", int), np.int64).reshape(-1, 3)
        extra = _mapped(given, "extra_tokens", str)
        preparation = cast("dict[str, Json]", _of_type(given["preparation"], dict))
        return Tokenizer(
            merges[:, :2],  # pyright: ignore[reportArgumentType]
            merges[:, 2],  # pyright: ignore[reportArgumentType]
            alphabet=Alphabet.of_bytes(_listed(given, "bytes", int)),
            special_tokens=_mapped(given, "special_tokens", int),
            pattern=_of_type(given["pattern"], str),
            extra_tokens={int(token): base64.b64decode(made, validate=True) for token, made in extra.items()},
            whole_words=_listed(given, "whole_words", int),
            preparation=Preparation(
                nfc=_of_type(preparation["nfc"], bool),
                prefix_space=_of_type(preparation["prefix_space"], bool),
                **{name: frozenset(_listed(preparation, name, str)) for name in _SETS},
            ),
            remarks=_listed(given, "remarks", str),
        )
    except ConfigError as error:
        raise row.fault("start", str(error).rstrip(".")) from error
    except (KeyError, TypeError, ValueError, OverflowError, binascii.Error) as error:
        raise row.fault("start", "it is not a tokenizer") from error


def _of_type(value: object, kind: type[_T]) -> _T:
    if type(value) is not kind:
        raise TypeError
    return cast("_T", value)


def _listed(given: dict[str, Json], name: str, kind: type[_T]) -> list[_T]:
    return [_of_type(value, kind) for value in cast("list[Json]", _of_type(given[name], list))]


def _mapped(given: dict[str, Json], name: str, kind: type[_T]) -> dict[str, _T]:
    values = cast("dict[str, Json]", _of_type(given[name], dict))
    return {key: _of_type(value, kind) for key, value in values.items()}
