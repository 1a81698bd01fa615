"""The tokenizer that a run started from, as JSON in a project."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.model.run import Run
from tokstudio.core.project.checked_row import Row
from tokstudio.core.project.json_values import to_json
from tokstudio.core.project.whole_tokenizer import tokenizer_of, tokenizer_values
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.from_tokenizer import start_of


def start_to_json(run: Run) -> str | None:
    """The tokenizer that a run started from; None where there is none."""
    start = start_of(run)
    return None if start is None else to_json(tokenizer_values(start))


def read_start(row: Row) -> Tokenizer | None:
    """The tokenizer that the run of a row started from; FormatError where it is none."""
    if row.is_null("start"):
        return None
    try:
        return tokenizer_of(row.json_object("start"))
    except ConfigError as error:
        raise row.fault("start", str(error).rstrip(".")) from error
