"""Writes the table of `core/text/unicode_classes.py`: asks `tokenizers` and `tiktoken` about every code point.

`.venv/bin/python packaging/unicode_classes.py` replaces the table there, and refuses where the two libraries disagree.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
import sys
from pathlib import Path

import tiktoken
from tokenizers import Regex, pre_tokenizers

TABLE = Path(__file__).resolve().parent.parent / "tokstudio" / "core" / "text" / "unicode_classes.py"

# The sets of the table, each with the expression that both libraries are asked for.
SETS = {
    "UPPER_LETTERS": r"[\p{Lu}\p{Lt}]",
    "LOWER_LETTERS": r"\p{Ll}",
    "OTHER_LETTERS": r"[\p{Lm}\p{Lo}]",
    "MARKS": r"\p{M}",
    "DIGITS": r"\p{Nd}",
    "OTHER_NUMBERS": r"[\p{Nl}\p{No}]",
    "WHITE_SPACE": r"\s",
    "UNASSIGNED": r"\p{Cn}",
}
_SURROGATES = range(0xD800, 0xE000)
_PART = 10_000  # characters; of longer texts the libraries take longer for each
_WIDTH = 112


def code_points(expression: str) -> list[int]:
    """The code points that match an expression of one character, ascending; surrogates are asked of nobody."""
    text = "".join(map(chr, [*range(_SURROGATES.start), *range(_SURROGATES.stop, sys.maxunicode + 1)]))
    split = pre_tokenizers.Split(Regex(f"{expression}+"), "removed")
    bytes_only = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("probe", pat_str=expression, mergeable_ranks=bytes_only, special_tokens={})
    found: list[str] = []
    other: list[str] = []
    for first in range(0, len(text), _PART):
        part, at = text[first : first + _PART], 0
        for _, (start, stop) in [*split.pre_tokenize_str(part), ("", (len(part), 0))]:
            found += part[at:start]
            at = stop
        # What the expression leaves out is dropped without a word, which is just what is wanted here.
        other += encoding.decode_bytes(encoding.encode(part, disallowed_special=())).decode()
    if found != other:
        raise SystemExit(f"tokenizers and tiktoken disagree about {expression}: {sorted(set(found) ^ set(other))}")
    return list(map(ord, found))


def ranges(codes: list[int]) -> str:
    """`ranges([65, 66, 67, 70, 256, 258, 260])` is `"41-43 46 100-104/2"`: the first and last in steps, hexadecimal."""
    words: list[str] = []
    at = 0
    while at < len(codes):
        best, word = 1, f"{codes[at]:x}"
        for step in (1, 2):
            length = 1
            while at + length < len(codes) and codes[at + length] == codes[at] + length * step:
                length += 1
            if length > max(best, step):
                best, word = length, f"{codes[at]:x}-{codes[at + length - 1]:x}" + ("/2" if step == 2 else "")
        words.append(word)
        at += best
    return " ".join(words)


def wrapped(name: str, text: str) -> str:
    """An assignment of `text` to `name`, in lines that are not too long."""
    lines = [line.rstrip() for line in re.findall(rf".{{1,{_WIDTH}}}(?: |$)", text)]
    return f'_{name} = """\n' + "\n".join(lines) + '\n"""\n'


def main() -> None:
    """Replaces everything behind the line that begins the table."""
    source = TABLE.read_text(encoding="utf-8")
    head, mark, _ = source.partition("# --- The table")
    if not mark:
        raise SystemExit(f"{TABLE.name}: the line that begins the table is missing.")
    line = "# --- The table, written by packaging/unicode_classes.py; not to be edited ---\n"
    tables = "\n".join(wrapped(name, ranges(code_points(expression))) for name, expression in SETS.items())
    TABLE.write_text(f"{head}{line}{tables}", encoding="utf-8")
    print(f"{TABLE.name}: as tiktoken and tokenizers see it")


if __name__ == "__main__":
    main()
