"""The arguments of `train`, `run`, `extend`, `how-much-text` and `count`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tokstudio.cli.arguments import parser as shared
from tokstudio.core.base.leftovers import SUFFIX
from tokstudio.core.model.settings import LIBRARY_ALGORITHMS, PATTERNS, SETTINGS

# A copy of the core's names, whose import would load NumPy; a test compares them.
RULES = (
    "duplicates", "near-duplicates", "blobs", "repetition", "mojibake", "control", "markup", "rare-script",
    "repeated-lines",
)  # fmt: skip

# --- The arguments of `train` for training by other libraries ---------------------------------------------------------

_TITLE = "training by another library"
_TEXT = """\
--algorithm unigram and wordpiece train by the tokenizers library, sentencepiece-bpe and sentencepiece-unigram by the
sentencepiece library, line by line, in a process of its own. Export them as huggingface, or as sentencepiece. They need
--vocab-size, and take --special, --unknown-token, --weight in whole numbers and --held-out; wordpiece --min-frequency.
"""
# The arguments with a meaning for a library, beside its settings.
_BESIDE = frozenset(
    {
        *("command", "files", "unknown_token", "documents", "sample_bytes", "sample_seed", "encoding", "weight"),
        *("field", "split_by"),
        *("join_values", "delimiter", "as_text", "min_document_chars", "max_document_chars", "max_bytes"),
        *("deduplicate", "keep_truncated", "force", "export", "accept_loss", "json", "quiet", "leave_out"),
        *("leave_out_list", "left_out", "experiment"),
    }
)
_REASONS = {
    "counts": "its library counts in lines of text, which it splits itself: give texts",
    "print_merges": "its library does not tell what it does",
    "project": "its library's own file holds the tokenizer: use --export",
}


def check_library(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> argparse.Namespace:
    """The arguments; ends with an error where one has no meaning for the algorithm."""
    algorithm: str = arguments.algorithm
    by_library = algorithm in LIBRARY_ALGORITHMS
    settings = {setting.argument: setting for setting in SETTINGS.values()}
    for name, value in vars(arguments).items():
        if name in _BESIDE or value == parser.get_default(name):
            continue
        option, setting = f"--{name.replace('_', '-')}", settings.get(name)
        if setting is not None and not by_library and not setting.ours:
            parser.error(f"{option} is only for --algorithm {' or '.join(setting.libraries)}")
        if by_library and (setting is None or not setting.libraries):
            reason = _REASONS.get(name, "its library has no such setting") if setting is None else setting.why_not
            parser.error(f"{option} is not for --algorithm {algorithm}: {reason}")
    if by_library and arguments.vocab_size is None:
        parser.error(f"--algorithm {algorithm} needs --vocab-size")
    return arguments


_TRAIN_TEXT = """\
Trains a tokenizer on text. Set a vocabulary size, a minimum frequency, or both.
If it is interrupted or the terminal is closed, it exports what it has trained so far.
If an export fails, the run is saved beside it as NAME.tokstudio, for the window and for convert.
"""

# A copy of the core's number, whose import would load NumPy; a test compares them.
MOST_TRAININGS = 120

_EXTEND_TEXT = """\
Trains a tokenizer further on text, such as one in a language it has few tokens for. Its tokens keep their ids, and its
merges come first as they are. New tokens get the ids after the highest, or those of reserved special tokens (--fill).
Then it proves, point by point, what stayed the same; if a point fails, nothing is exported.
"""

_HOW_MUCH_TEXT = """\
Trains on 1/64, 1/32 ... 1 of the texts and on two disjoint halves, and tells how many tokens of the whole text each
part finds, and how well it compresses text that is held out of all of them (a tenth, or --held-out). If two halves
agree and the last doublings change little, more text of this kind would not matter. Nothing is written.
"""

_RUN_TEXT = """\
Trains what an experiment file says, exports it with proof, and writes the hashes of texts and merges to [result] in
the file, of which all else stays as it is; the merges are kept beside it as NAME.merges. Options override the file;
where they override a setting, [result] stays too, and no export or comparison of the file is replaced, even with
--force. Variants are trained one after another, and compared in NAME.csv and NAME.html. train --experiment, and Save
Experiment in the window, write such a file.
"""

_COUNT_TEXT = """\
Counts the words (pre-tokens) of texts and writes a table, on which train --counts trains as on the texts. The texts are
read one after another and not kept, so they may be larger than the memory. The same texts, settings and versions give
the same bytes, however they were counted.
"""

_MIXTURE_TEXT = """\
Searches weights of texts with which a training reaches a goal on parallel lines, the same lines in several languages:
tells the weights for train --weight, and each training on the way. The first of every two lines is measured, and what
was found is reported on the others, too. Ctrl+C ends the search with the best so far.
"""
_MIXTURE_CODES = "exit codes: 0 the goal is met, 1 it is not met or there is an error, 2 wrong usage"


def train(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `train`."""
    parser = shared.new_parser("tokstudio train", _TRAIN_TEXT, shared.EXIT_CODES)
    _add_corpus(parser)
    shared.add_setting(
        _add_group(parser, "limits and merging", "limits", without=("pattern",)), "pattern", default=None
    )
    _add_group(parser, "algorithm", "algorithm")
    _add_group(parser, "base and special tokens", "tokens")
    _add_group(parser, _TITLE, "library", _TEXT)
    add = _add_results(parser)
    _add_project(add)
    add(
        "--experiment",
        type=shared.file_ending(".toml"),
        metavar="FILE",
        help="write all that decides this training, and what it gave, to an experiment NAME.toml, which tokstudio run "
        "trains again",
    )
    return check_library(parser, _checked(parser, parser.parse_args(words)))


def extend(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `extend`."""
    parser = shared.new_parser("tokstudio extend", _EXTEND_TEXT, shared.EXIT_CODES)
    add = shared.add_old(parser)
    add("--merges", type=shared.whole, metavar="K", help="start from its first K merges only")
    add(
        "--fill",
        action="extend",
        nargs="+",
        default=[],
        metavar="TOKEN",
        help="give the ids of these reserved special tokens to the first new tokens",
    )
    _add_corpus(parser)
    _add_group(parser, "limits and merging", "limits", without=("pattern",))
    add = parser.add_argument_group("how many tokens to add").add_argument
    add(
        "--sheet",
        nargs="*",
        type=Path,
        metavar="TEXT",
        help="print what each number of added tokens up to this one would give: the share of tokens saved on text that "
        "is held out of each source (a tenth, or --held-out) and on these reference texts and --reference, the added "
        "tokens that the held-out text uses, whole words among them, and the lines of reference texts that change",
    )
    shared.add_proof(parser)
    _add_results(parser)
    parser.set_defaults(project=None, experiment=None)
    return _checked(parser, parser.parse_intermixed_args(words))


def mixture(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `mixture`."""
    parser = shared.new_parser("tokstudio mixture", _MIXTURE_TEXT, _MIXTURE_CODES)
    add = parser.add_argument_group("goal, of which at least one is needed").add_argument
    add(
        "--worst-premium",
        type=shared.number,
        metavar="X",
        help="no language needs more than X times the tokens of the base language, such as 1.3",
    )
    add(
        "--above-average",
        type=shared.number,
        metavar="P",
        help="no language needs more tokens than the average of all by more than P per cent",
    )
    add(
        "--base-loss",
        type=shared.number,
        metavar="P",
        help="the base language needs at most P per cent more tokens than by a tokenizer for it alone",
    )
    add(
        "--parallel",
        required=True,
        metavar="FOLDER|TABLE",
        help="the same lines in several languages: a folder with a file of each, or a table with a column of each",
    )
    add("--languages", nargs="+", metavar="NAME", help="only these of the parallel lines (default: all)")
    add("--base-language", metavar="NAME", help="the base language (default: English)")
    add(
        "--trainings",
        type=shared.whole,
        default=MOST_TRAININGS,
        metavar="N",
        help=f"end after N trainings (default: {MOST_TRAININGS})",
    )
    _add_corpus(parser, help="hold this share of the text, such as 0.1, out of the trainings of the search")
    add = parser.add_argument_group("training").add_argument
    shared.add_setting(add, "vocabulary_size", required=True)
    shared.add_setting(add, "pattern", default=None)
    shared.add_special(add)
    add = parser.add_argument_group("output").add_argument
    add("--json", action="store_true", help="print the result with all trainings as one JSON object")
    shared.add_quiet(parser)
    arguments = _checked(parser, parser.parse_args(words))
    if (arguments.worst_premium, arguments.above_average, arguments.base_loss) == (None, None, None):
        parser.error("give a goal: --worst-premium, --above-average or --base-loss")
    if arguments.trainings < 1:
        parser.error("--trainings must be at least 1")
    return arguments


def how_much_text(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `how-much-text`."""
    parser = shared.new_parser("tokstudio how-much-text", _HOW_MUCH_TEXT, shared.EXIT_CODES)
    _add_corpus(parser, default=0.1)
    shared.add_setting(
        _add_group(parser, "limits and merging", "limits", without=("pattern",)), "pattern", default=None
    )
    own = [name for name in SETTINGS["algorithm"].choices if name not in LIBRARY_ALGORITHMS]
    _add_group(parser, "algorithm", "algorithm", without=("algorithm",))(
        "--algorithm", choices=own, default=own[0], help=SETTINGS["algorithm"].usage
    )
    add = _add_group(parser, "base and special tokens", "tokens")
    add("--seed", type=shared.whole, default=0, metavar="N", help="choose the parts by another number (default: 0)")
    add("--json", action="store_true", help="print the result as one JSON object")
    shared.add_quiet(parser)
    return _checked(parser, parser.parse_args(words))


def run(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `run`; a setting that is not given is None."""
    parser = shared.new_parser("tokstudio run", _RUN_TEXT, shared.EXIT_CODES)
    add = parser.add_argument_group("experiment").add_argument
    add("file", type=Path, metavar="EXPERIMENT", help="the experiment file")
    add("--check", action="store_true", help="write nothing, but train again and compare with the result in the file")
    add(
        "--write-outside",
        action="store_true",
        help="write exports, project and comparison also where the file names a place outside its own folder",
    )
    add = parser.add_argument_group("in place of what the file says").add_argument
    for setting in SETTINGS.values():
        shared.add_setting(add, setting.name, default=None)
    add("--sample-bytes", type=shared.size, metavar="N", help="train on about N bytes from all parts of the texts")
    _add_project(_add_results(parser))
    arguments = parser.parse_args(words)
    if arguments.check:
        values, settings = vars(arguments), (setting.argument for setting in SETTINGS.values())
        if given := [name for name in (*settings, "sample_bytes", "export", "project") if values[name]]:
            option = f"--{given[0].replace('_', '-')}"
            parser.error(f"--check trains as the file says, and writes nothing: leave out {option}")
    if arguments.sample_bytes is not None and arguments.sample_bytes < 1:
        parser.error("--sample-bytes must be at least 1")
    return arguments


def _checked(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> argparse.Namespace:
    """The arguments; ends with an error where those of the corpus do not fit together."""
    if not arguments.files and not arguments.counts:
        parser.error("the following arguments are required: FILE or --counts")
    if arguments.sample_bytes is not None and arguments.sample_bytes < 1:
        parser.error("--sample-bytes must be at least 1")
    if arguments.sample_bytes is not None and arguments.counts:
        parser.error("--sample-bytes is for texts: a sample of word counts would not keep their proportions")
    shared.refuse_two_inputs(parser, arguments.files)
    return _check_left_out(parser, arguments)


def _check_left_out(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> argparse.Namespace:
    if arguments.left_out is not None and not (arguments.leave_out or arguments.leave_out_list):
        parser.error("--left-out is the list of what --leave-out and --leave-out-list left out: give one of them")
    return arguments


def _add_corpus(parser: argparse.ArgumentParser, **held_out: object) -> None:
    """Adds the texts and what is done to them; `held_out` is what differs in that option."""
    add = parser.add_argument_group("corpus").add_argument
    add("files", nargs="*", metavar="FILE", help="a text, a data set, a folder of them, or - for standard input")
    add(
        "--counts",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a table of tokstudio count, whose pattern, special tokens and --documents are taken over, or a file of "
        "pre-tokens and counts, with a pre-token, a tab and its count on each line, or a JSON value such as "
        '["the", 12]; alone or after the texts; may be repeated',
    )
    shared.add_documents(add, None)
    shared.add_encoding(add)
    further = "train on about N bytes, in whole lines from all parts of the texts, for example if memory is short; "
    shared.add_reading(parser, joins=True, further=further)
    add(
        "--weight",
        action="append",
        default=[],
        type=partial(shared.named_number, "NAME=W, such as de.txt=3"),
        metavar="NAME=W",
        help="how much a text counts, such as de.txt=3 or de.txt=0.5, from 0 to 1000 (default: 1); NAME is that of a "
        "file or a folder, or a number from 0 in their order; may be repeated",
    )
    shared.add_setting(add, "held_out", **held_out)
    _add_leaving_out(add)


def _add_leaving_out(add: Callable[..., object]) -> None:
    add(
        "--leave-out",
        action="append",
        default=[],
        type=_rules,
        metavar="RULES",
        help=f"leave out the documents and lines that these rules find: {', '.join(RULES)}; with commas between them, "
        "and a threshold where it should not be the usual one, such as duplicates,near-duplicates=0.9; may be repeated",
    )
    add(
        "--leave-out-list",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="leave out the documents of this list: CSV with the columns source, document and reason, such as "
        "forum.jsonl,311,spam; documents are rows or lines of their files, counted from 1; may be repeated",
    )
    add("--left-out", type=Path, metavar="FILE", help="write the list of what was left out, with the rule as reason")


def _rules(text: str) -> list[tuple[str, float | bool]]:
    rules: list[tuple[str, float | bool]] = []
    for word in filter(None, text.split(",")):
        name, sign, threshold = word.partition("=")
        if name not in RULES:
            raise argparse.ArgumentTypeError(f'there is no rule "{name}": use {", ".join(RULES)}')
        rules.append((name, shared.number(threshold) if sign else True))
    if not rules:
        raise argparse.ArgumentTypeError(f"name a rule: {', '.join(RULES)}")
    return rules


def _add_group(
    parser: argparse.ArgumentParser, title: str, group: str, text: str | None = None, without: Sequence[str] = ()
) -> Callable[..., object]:
    """Adds the options of a group of settings; returns what adds others to it."""
    add = parser.add_argument_group(title, text).add_argument
    for setting in SETTINGS.values():
        if setting.group == group and setting.name not in without:
            shared.add_setting(add, setting.name)
    return add


def _add_results(parser: argparse.ArgumentParser) -> Callable[..., object]:
    """Adds the exports and what is printed; returns what adds other results."""
    add = shared.add_exports(parser, "train even if there is probably too little memory, and ")
    add("--print-merges", action="store_true", help="print each merge as it is made (with --json to standard error)")
    shared.add_quiet(parser)
    return add


def _place(text: str) -> Path | str:
    """A path, or an address as it is given."""
    from tokstudio.core.hub.addresses import is_address

    return text if is_address(text) and not Path(text).parent.is_dir() else Path(text)


def count(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `count`."""
    parser = shared.new_parser("tokstudio count", _COUNT_TEXT, shared.EXIT_CODES)
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="a text, a data set, or a folder of them")
    out_help = "the table to write, a Parquet file, by its path or an address such as s3://bucket/words.parquet"
    add("--out", type=_place, required=True, metavar="FILE|ADDRESS", help=out_help)
    add(
        "--pattern",
        required=True,
        metavar="NAME|REGEX",
        help=f"how text is split into words: {', '.join([*PATTERNS][1:])}, or a regular expression of your own",
    )
    shared.add_special(add)
    shared.add_documents(add)
    shared.add_encoding(add)
    shared.add_reading(parser, joins=True)
    add(
        "--min-count",
        type=shared.whole,
        default=1,
        metavar="N",
        help="leave out words that occur fewer than N times in all texts together (default: 1)",
    )
    add(
        "--dask",
        metavar="local|ADDRESS",
        help="count on a Dask cluster, such as tcp://10.0.0.1:8786, whose workers see the same files, or read them by "
        "their addresses; local starts a worker per core here (needs tokstudio[dask])",
    )
    shared.add_dask_wait(add)
    add("--json", action="store_true", help="print the result as one JSON object")
    shared.add_quiet(parser)
    _add_leaving_out(add)
    arguments = _check_left_out(parser, parser.parse_args(words))
    if arguments.min_count < 1:
        parser.error("--min-count must be at least 1")
    if arguments.dask is not None and (arguments.leave_out or arguments.leave_out_list):
        parser.error(
            "--leave-out and --leave-out-list are not for --dask: a worker sees only a part of the texts; count here"
        )
    return arguments


def _add_project(add: Callable[..., object]) -> None:
    add(
        "--project",
        type=_project_file,
        metavar="FILE",
        help="save the run, without its texts, as a new project NAME.tokstudio, which the window and other commands "
        "open; the one form that holds every algorithm",
    )


def _project_file(text: str) -> Path:
    path = Path(text)
    if path.suffix != SUFFIX:
        raise argparse.ArgumentTypeError(f'"{text}" must end in .tokstudio')
    return path
