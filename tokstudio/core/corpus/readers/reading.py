"""How a file is read: the column of a data set that is the text, and which documents are kept."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields

from tokstudio.core.base.errors import ConfigError

TEXT_FIELDS = ("text", "content", "body", "document", "sentence")

_Value = bool | int | str | None


@dataclass(frozen=True)
class Reading:
    """How a file is read; the default reads all of it.

    Attributes:
        field: The column of a data set that is the text, such as "text" or "messages.content"; None to choose it: the
            first of `TEXT_FIELDS` that there is, else the column with the longest texts.
        split_by: A column that divides a data set into one source for each of its values; None not to divide it.
        join_values: Whether the parts of several data sets with the same value there are one source of a mixture.
        delimiter: What separates the columns of CSV, one ASCII character; None to detect it.
        least_characters: Documents with fewer characters are dropped.
        most_characters: Documents are cut after so many characters; None to keep them whole.
        most_bytes: Only the first so many bytes of each source are kept, up to a whole character; None to keep all.
        deduplicate: Whether a document that occurred before in the same file or data set is dropped.
        as_text: Whether JSON and tables are read as plain text, with their field names and separators.
        keep_truncated: Whether the beginning of compressed data that ends too early is read; otherwise it is refused.

    Raises:
        ConfigError: A value is out of its range.
    """

    field: str | None = None
    split_by: str | None = None
    delimiter: str | None = None
    least_characters: int = 0
    most_characters: int | None = None
    most_bytes: int | None = None
    deduplicate: bool = False
    as_text: bool = False
    keep_truncated: bool = False
    join_values: bool = False

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or not self.delimiter.isascii()):
            raise ConfigError("The delimiter must be one ASCII character, such as , or ; or a tab.")
        if self.delimiter is not None and self.delimiter in '\r\n"\0':
            raise ConfigError("The delimiter can be neither a line break nor a quote.")
        if self.least_characters < 0:
            raise ConfigError("The least number of characters of a document cannot be negative.")
        for limit, what in ((self.most_characters, "characters of a document"), (self.most_bytes, "bytes of a source")):
            if limit is not None and limit < 1:
                raise ConfigError(f"The largest number of {what} must be at least 1.")
        if self.join_values and self.split_by is None:
            raise ConfigError("To join parts by value (join_values), give the column that divides texts (split_by).")
        if self.as_text and (self.field is not None or self.split_by is not None):
            raise ConfigError("Plain text has no columns: give neither a field nor a column to divide it by.")

    @property
    def filters(self) -> bool:
        """Whether documents may be dropped or cut."""
        limits = (self.most_characters, self.most_bytes)
        return self.least_characters > 0 or self.deduplicate or any(limit is not None for limit in limits)

    def to_json(self) -> dict[str, _Value]:
        """The values that differ from the default, for JSON."""
        default = {one.name: one.default for one in fields(self)}
        return {name: value for name, value in asdict(self).items() if value != default[name]}

    @classmethod
    def from_json(cls, values: Mapping[str, object]) -> Reading:
        """The reading that `to_json` gave; ValueError where a value is unknown or has another type."""
        default = {one.name: one.default for one in fields(cls)}
        assert MISSING not in default.values()
        for name, value in values.items():
            if name not in default or not _fits(name, value):
                raise ValueError(f"{name} is not known")
        return cls(**values)  # pyright: ignore[reportArgumentType] -- checked above


def _fits(name: str, value: object) -> bool:
    if name in ("field", "split_by", "delimiter"):
        return isinstance(value, str)
    if name in ("deduplicate", "as_text", "keep_truncated", "join_values"):
        return isinstance(value, bool)
    return type(value) is int
