"""A parser of arguments, and arguments that several commands have."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tokstudio.cli.process.terminal import put
from tokstudio.core.base.wording import printable
from tokstudio.core.model.settings import PATTERNS, SETTINGS

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

# A copy of the core's list, whose import would load NumPy; a test compares them.
EXPORTS = (
    "huggingface", "classic", "gpt2", "tiktoken", "tekken", "minbpe", "sentencepiece", "gguf", "loader", "merges-csv",
    "merges-jsonl", "vocabulary-csv", "token-bytes",
)  # fmt: skip

NAMES = "its name, which uses the network: hf:OWNER/REPOSITORY[@REVISION] or tiktoken:ENCODING"

EXIT_CODES = """\
exit codes: 0 done, 1 an error (one sentence says which), 2 wrong usage, 129 ended by a closed terminal, 130 by Ctrl+C,
143 by a request to terminate
"""


class Parser(argparse.ArgumentParser):
    """A parser that reports errors of standard output, which argparse ignores."""

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        if file is sys.stdout:
            put(sys.stdout, message)
        else:
            super()._print_message(message, file)

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride] -- it has overloads
        self,
        args: Any = None,  # noqa: ANN401
        namespace: Any = None,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Ends with the nearest option where one is misspelt, before others are found to be missing."""
        self._refuse_misspelt(args)
        return super().parse_known_args(args, namespace)

    def parse_known_intermixed_args(  # pyright: ignore[reportIncompatibleMethodOverride] -- it has overloads
        self,
        args: Any = None,  # noqa: ANN401
        namespace: Any = None,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """The same; newer versions of Python do not call the method above for it."""
        self._refuse_misspelt(args)
        return super().parse_known_intermixed_args(args, namespace)

    def _refuse_misspelt(self, words: Iterable[str] | None) -> None:
        for word in takewhile(lambda word: word != "--", words or ()):
            self._refuse_misspelt_word(word)

    def _refuse_misspelt_word(self, word: str) -> None:
        name, options = word.partition("=")[0], self._option_string_actions
        # argparse takes a word with a space for a value, and -qx for -q and -x.
        if len(name) < 3 or name[0] != "-" or " " in word or name in options or name[:2] in options:
            return
        whole = f"--{name.lstrip('-')}"
        begun = [option for option in options if option.startswith(whole)]
        near = begun or get_close_matches(whole, options, 1)
        if near:
            message = f"{self.prog}: error: there is no option {printable(name)}: did you mean {' or '.join(near)}?"
            self.exit(2, f"{message} {self.prog} --help lists all.\n")

    def error(self, message: str) -> NoReturn:
        """Prints an error; an argument in it may be the name of a file."""
        super().error(printable(message))


def new_parser(program: str, text: str, epilog: str | None = None) -> argparse.ArgumentParser:
    """A parser for a program or a command, with its description, and what stands below its options."""
    plain = argparse.RawDescriptionHelpFormatter
    return Parser(program, description=text, epilog=epilog, formatter_class=plain, allow_abbrev=False)


def add_pattern(parser: argparse.ArgumentParser) -> None:
    """Adds the pattern of a tokenizer's files that have none."""
    parser.add_argument(
        "--pattern",
        metavar="NAME|REGEX",
        help=f"how the tokenizer splits text, if its files do not say: {', '.join(PATTERNS)}, or a regular expression",
    )


def add_old(parser: argparse.ArgumentParser) -> Callable[..., object]:
    """Adds the tokenizer to change; returns what adds more about it. `cli.tokenizers.load_tokenizer_or_run` opens."""
    add = parser.add_argument_group("tokenizer").add_argument
    add("source", metavar="OLD", type=Path, help=f"the tokenizer's file, its folder, {NAMES}, or a project")
    add("--run", metavar="NAME", help="for a project: the run to change")
    add_pattern(parser)
    return add


def add_proof(parser: argparse.ArgumentParser) -> None:
    """Adds what proves a change, and the map of ids; `cli.exporting.Proving` reads them."""
    add = parser.add_argument_group("proof").add_argument
    add(
        "--reference",
        type=Path,
        metavar="FILE",
        help="a text to compare line by line: how many lines become other tokens, and the first before and after",
    )
    add(
        "--map",
        type=file_ending(".json", ".npz"),
        metavar="FILE",
        help="write which id became which, and of which old tokens each new one is made, to resize a model's "
        "embedding: NAME.json, or NAME.npz for NumPy",
    )
    add("--report", type=Path, metavar="FILE", help="write a report with the proof and the exports to FILE")


def add_exports(parser: argparse.ArgumentParser, further: str = "") -> Callable[..., object]:
    """Adds the exports and --json, and to --force a `further` meaning; returns what adds more about the output."""
    add = parser.add_argument_group("output").add_argument
    add(
        "--export",
        action="append",
        default=[],
        type=_export_target,
        metavar="FORMAT=PATH",
        help=f"write the tokenizer: {', '.join(EXPORTS)}; PATH is a file, or a folder for formats of several files; "
        "may be repeated",
    )
    add("--accept-loss", action="store_true", help="export even if a format loses part of the tokenizer")
    add("--force", action="store_true", help=f"{further}replace files that exist already by those of an export")
    add("--json", action="store_true", help="print the result as one JSON object")
    return add


def add_texts(parser: argparse.ArgumentParser) -> None:
    """Adds how the texts for a tokenizer are read, the pattern of its files, and --quiet."""
    add_encoding(parser.add_argument)
    add_pattern(parser)
    add_reading(parser)
    add_quiet(parser)


def refuse_two_inputs(parser: argparse.ArgumentParser, files: Sequence[str]) -> None:
    """Ends with an error where standard input is read more than once."""
    if files.count("-") > 1:
        parser.error("standard input can be read only once")


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """Adds --quiet."""
    parser.add_argument("--quiet", "-q", action="store_true", help="print only errors")


def add_dask_wait(add: Callable[..., object]) -> None:
    """Adds --dask-wait."""
    add(
        "--dask-wait",
        type=_minutes,
        default=10,
        metavar="MINUTES",
        help="end where the cluster does nothing for so long, as without workers (default: 10; 0: wait without end)",
    )


def _minutes(text: str) -> float:
    if not 0 <= (minutes := number(text)) < math.inf:
        raise argparse.ArgumentTypeError(f'"{text}" is not a number of minutes, such as 30')
    return int(minutes) if minutes == int(minutes) else minutes


def whole(text: str) -> int:
    """The whole number that an argument is."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is not a whole number') from None


_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)")


def size(text: str) -> int:
    """The bytes that an argument such as 200MB stands for."""
    match = _SIZE.fullmatch(text.strip().replace("_", ""))
    if match is None or match[2].upper() not in _UNITS:
        raise argparse.ArgumentTypeError(f'"{text}" is not a number of bytes, such as 200MB')
    value = float(match[1]) * _UNITS[match[2].upper()]
    return int(match[1]) if match[1].isdecimal() and _UNITS[match[2].upper()] == 1 else round(value)


def number(text: str) -> float:
    """The number that an argument is; its decimals follow a point."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        float(pointed := text.replace(",", "."))
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is not a number, such as 0.1') from None
    raise argparse.ArgumentTypeError(f'"{text}" has a comma: write {pointed}')


def named_number(form: str, text: str) -> tuple[str, float]:
    """The name and the number of an argument of a form, such as "NAME=W, such as de.txt=3"."""
    name, sign, value = text.rpartition("=")
    if sign and name:
        try:
            return name, number(value)
        except argparse.ArgumentTypeError:
            if "," in value:
                raise
    raise argparse.ArgumentTypeError(f'"{text}" is not {form}')


def _named_file(text: str) -> tuple[str, Path]:
    name, sign, file = text.partition("=")
    if not (name and sign and file):
        raise argparse.ArgumentTypeError(f'"{text}" is not NAME=FILE, such as de=parallel/de.txt')
    return name, Path(file)


def add_setting(add: Callable[..., object], name: str, **changed: object) -> None:
    """Adds the option of a setting."""
    setting = SETTINGS[name]
    form: dict[str, object] = {"default": setting.default, "metavar": setting.metavar}
    several: dict[str, object] = {"action": "append", "default": [], "metavar": setting.metavar}
    match setting.kind:
        case "limit" | "number":
            form["type"] = whole
        case "decimal" | "share":
            form["type"] = number
        case "choice":
            form["choices"] = [*setting.choices]
        case "switch":
            form = {"action": "store_true"}
        case "texts" if setting.metavar == "FILE":
            form["type"] = Path
        case "texts" | "rules":
            form = several
        case "texts by name":
            form = several | {"type": _named_file}
        case "numbers by name":
            form = several | {"type": partial(named_number, f"{setting.metavar}, such as hi=2.5")}
        case "text":
            pass
    add(setting.option, **{"help": setting.usage} | form | changed)


def add_documents(add: Callable[..., object], default: str | None = "file") -> None:
    """Adds what a document is."""
    add_setting(add, "documents", default=default)


def add_encoding(add: Callable[..., object]) -> None:
    """Adds the encoding of texts."""
    add(
        "--encoding",
        metavar="NAME",
        help="encoding of the files, such as utf-8 (default: detected); bytes also reads binary files",
    )


def add_special(add: Callable[..., object]) -> None:
    """Adds special tokens."""
    add_setting(add, "special_tokens")


def add_reading(parser: argparse.ArgumentParser, joins: bool = False, divides: bool = True, further: str = "") -> None:
    """Adds the arguments about how files are read, with `joins` also into which sources; `texts_of` reads them.

    Without `divides`, no column divides a data set. `further` is another meaning of --sample-bytes.
    """
    add = parser.add_argument_group(
        "data sets (JSON Lines, JSON, CSV, Parquet, Arrow) and what is kept of all files"
    ).add_argument
    add(
        "--field",
        metavar="COLUMN",
        help="the column that is the text, such as text or messages.content (default: text, content, body, document or "
        "sentence, else the column with the longest texts); each row is a document",
    )
    if divides:
        add("--split-by", metavar="COLUMN", help="make a source of each value of this column")
    if joins:
        add(
            "--join-values",
            action="store_true",
            help="with --split-by, make one source of a value in all files, named like the value: two files of six "
            "languages are six sources",
        )
    add("--delimiter", metavar="SIGN", help=r"what separates the columns of CSV, \t for a tab (default: detected)")
    add("--as-text", action="store_true", help="read JSON and tables as plain text")
    add("--min-document-chars", type=whole, default=0, metavar="N", help="drop documents with fewer characters")
    add("--max-document-chars", type=whole, metavar="N", help="cut documents after N characters")
    add("--max-bytes", type=whole, metavar="N", help="read the first N bytes of text of each source only")
    add("--deduplicate", action="store_true", help="drop documents that occurred before in the same file")
    add("--keep-truncated", action="store_true", help="read the whole part of compressed data that ends too early")
    add = parser.add_argument_group(
        "texts by address (hf:datasets/OWNER/NAME[:CONFIG[/SPLIT]][@REVISION], https://, s3://, gs://, az://)"
    ).add_argument
    add(
        "--sample-bytes",
        type=size,
        metavar="N",
        help=f"{further}of each address, take about N bytes of text, such as "
        "200MB, from up to 64 of its files; what is read is kept in the cache (default: all)",
    )
    add("--sample-seed", type=whole, default=0, metavar="N", help="choose what is taken by this number (default: 0)")


def _export_target(text: str) -> tuple[str, Path]:
    name, _, path = text.partition("=")
    if not name or not path:
        raise argparse.ArgumentTypeError(f'"{text}" is not FORMAT=PATH, such as huggingface=tokenizer.json')
    if name not in EXPORTS:
        raise argparse.ArgumentTypeError(f'format "{name}" is unknown; choose one of: {", ".join(EXPORTS)}')
    return name, Path(path)


def file_ending(*endings: str) -> Callable[[str], Path]:
    """What reads an argument that is a file with one of some endings."""

    def read(text: str) -> Path:
        path = Path(text)
        if path.suffix.lower() not in endings:
            raise argparse.ArgumentTypeError(f'"{text}" must end in {" or ".join(endings)}')
        return path

    return read
