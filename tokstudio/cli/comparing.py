"""The commands `compare`, `report`, `diff` and `engines`: what tokenizers and other libraries make of texts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from pathlib import Path

from tokstudio.cli.process.terminal import DONE, FAILED, Console, put
from tokstudio.cli.projects import load_runs
from tokstudio.cli.reading import TextsToRead, files_at_hand, read_corpus, texts_of
from tokstudio.cli.tokenizers import is_project, load_tokenizer
from tokstudio.core.analysis.baselines import AnyTokenizer, ByteTokenizer, CharacterTokenizer, WordTokenizer
from tokstudio.core.base.atomic_files import file_name, write_files
from tokstudio.core.base.errors import ConfigError, TokStudioError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import other_name, printable, shown
from tokstudio.core.comparison.comparison import Comparison, compare_work
from tokstudio.core.comparison.differences import Differences, diff_work
from tokstudio.core.comparison.engine_table import EngineTable
from tokstudio.core.comparison.engines import OpenedFiles, engines_work
from tokstudio.core.comparison.intervals import INTERVALS, Resampling
from tokstudio.core.comparison.parallel_set import open_parallel_files_work, open_parallel_work
from tokstudio.core.comparison.report.report import origin_work, report_work
from tokstudio.core.comparison.table import plain_text
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.formats.common.format import Loaded
from tokstudio.core.hub.addresses import address_of
from tokstudio.core.text.languages import language_name
from tokstudio.core.tokenizer.tokenizer import Tokenizer

Texts = Mapping[str, Source | Sequence[bytes]]  # a source, or the lines of a language

_SIMPLE: Mapping[str, AnyTokenizer] = {
    "bytes": ByteTokenizer(),
    "characters": CharacterTokenizer(),
    "words": WordTokenizer(()),  # its words are those of the texts
}


@dataclass(frozen=True, eq=False)
class _Opened:
    """A tokenizer with its name, and a longer one if another has the same; `loaded` is None for one without files."""

    argument: str
    name: str
    longer: str
    tokenizer: AnyTokenizer
    loaded: Loaded | None = None
    trained_on: tuple[str, ...] = ()  # see `Compared.also_trained_on`


def compare(arguments: argparse.Namespace, console: Console) -> int:
    """Prints or writes the figures; returns the exit code."""
    figures: list[str] | None = arguments.figure
    if figures is None and not (arguments.json or arguments.csv):
        figures = ["bytes_per_token"]
    if arguments.intervals and figures is not None and not set(figures).intersection(INTERVALS):
        raise ConfigError(f"--intervals: none is known of {', '.join(figures)}: {', '.join(INTERVALS)} have one.")
    opened = _open(arguments.tokenizers, arguments.pattern, console)
    texts, read = _read(texts_of(arguments, arguments.texts), arguments.parallel, console)
    base = _base(texts, arguments.base, arguments.parallel)
    if base is None and "premium" in (figures or ()):
        raise ConfigError("--figure premium: say which text is the base with --base.")
    comparison = _compared(opened, texts, base, _against(opened, arguments.against), console)
    level = 0.95 if arguments.intervals else None
    tables = console.finish(comparison.tables_work(figures, level))
    if arguments.csv is not None:
        comparison.to_csv(arguments.csv, figures, level)
        console.say(f"Wrote {file_name(arguments.csv)}.")
    elif arguments.json:
        told = json.loads(comparison.to_json(figures, level))
        put(sys.stdout, json.dumps(told | read, ensure_ascii=False) + "\n")
    elif arguments.markdown:
        put(sys.stdout, comparison.to_markdown(figures, level))
    elif arguments.latex:
        put(sys.stdout, comparison.to_latex(figures, level))
    else:
        put(sys.stdout, plain_text(tables))
        if level is not None:
            notes = (comparison.notes_of_intervals(Resampling(level), table.figure.name) for table in tables)
            console.say(" ".join(dict.fromkeys(chain.from_iterable(notes))))
    return _told(comparison, console)


def _open(arguments: Sequence[str], pattern: str | None, console: Console) -> list[_Opened]:
    """The tokenizers in their order, with different names."""
    opened = [each for argument in arguments for each in _open_one(argument, pattern, console)]
    names = _different([each.name for each in opened], [each.longer for each in opened])
    return [replace(each, name=name) for name, each in zip(names, opened, strict=True)]


def _open_one(argument: str, pattern: str | None, console: Console) -> list[_Opened]:
    path = Path(argument)
    if argument in _SIMPLE and not path.exists():
        return [_Opened(argument, argument, argument, _SIMPLE[argument])]
    if is_project(path):
        runs = load_runs(path, console)
        return [_Opened(argument, name, f"{path.stem}/{name}", run, None, texts) for name, run, texts in runs]
    loaded = load_tokenizer(path, pattern, console)
    whole = path.absolute()
    name = loaded.name or (whole.stem if path.is_file() else whole.name)
    return [_Opened(argument, name, f"{whole.parent.name}/{name}", loaded.tokenizer, loaded)]


def _different(names: Sequence[str], longer: Sequence[str]) -> list[str]:
    """Names of which none occurs twice: of equal ones the longer, with a number where these are equal too."""
    repeated = Counter(names)
    chosen = [long if repeated[name] > 1 else name for name, long in zip(names, longer, strict=True)]
    differing: list[str] = []
    for name in chosen:
        differing.append(other_name(name, differing))
    return differing


def _read(texts: TextsToRead, is_parallel: bool, console: Console) -> tuple[Texts, Mapping[str, object]]:
    """The texts by different names, and for JSON what was passed over."""
    if is_parallel:
        [given] = texts.files
        is_remote = address_of(given) is not None
        work = open_parallel_files_work(files_at_hand([given], console)) if is_remote else open_parallel_work(given)
        parallel = console.finish(work)
        for note in parallel.notes:
            console.say(note)
        notes = [{"name": parallel.name, "note": note} for note in parallel.notes]
        return dict(zip(parallel.languages, parallel.lines, strict=True)), {"source_notes": notes}
    read = read_corpus(texts, console, keep_empty=True)
    sources = read.corpus.sources
    longer = [source.name if source.path is None else f"{source.path.parent.name}/{source.name}" for source in sources]
    return dict(zip(_different([source.name for source in sources], longer), sources, strict=True)), read.as_json()


def _base(texts: Texts, asked: str | None, is_parallel: bool) -> str | None:
    """The text that premiums relate to: the asked one, without its ending too; of a parallel set also English."""
    if asked is None and is_parallel:
        return next((name for name in texts if language_name(name).startswith("English")), None)
    if asked is None or asked in texts:
        return asked
    matching = [name for name in texts if Path(name).stem == asked]
    if len(matching) == 1:
        return matching[0]
    raise ConfigError(f"--base: no text is named {shown(asked)}; the texts are {', '.join(texts)}.")


def _against(opened: Sequence[_Opened], asked: str | None) -> str | None:
    """The tokenizer that lengths relate to, by its name in the table or as it was given."""
    if asked is None:
        return None
    for names in ([each.name for each in opened], [each.argument for each in opened]):
        if names.count(asked) == 1:
            return opened[names.index(asked)].name
    there = ", ".join(each.name for each in opened)
    raise ConfigError(f"--against: no tokenizer is named {shown(asked)}; the tokenizers are {there}.")


def _compared(
    opened: Sequence[_Opened], texts: Texts, base: str | None, against: str | None, console: Console
) -> Comparison:
    tokenizers: dict[str, AnyTokenizer] = {}
    for each in opened:
        tokenizers[each.name] = each.tokenizer
        if each.tokenizer is _SIMPLE["words"]:
            text = b"\n".join(map(_whole, texts.values()))
            tokenizers[each.name] = console.finish(WordTokenizer.from_text_work(text))
    trained_on = {each.name: each.trained_on for each in opened}
    return console.finish(compare_work(tokenizers, texts, base, against=against, trained_on=trained_on))


def _whole(text: Source | Sequence[bytes]) -> bytes:
    return b"\n".join(Corpus((text,)).iter_documents() if isinstance(text, Source) else text)


def _told(comparison: Comparison, console: Console) -> int:
    """Reports what could not be measured and what is unusual; fails where nothing was measured."""
    for text, tokenizer, why in comparison.errors:
        console.complain(f"{tokenizer}, {text}: {why}")
    for text, tokenizer, remark in comparison.remarks:
        console.say(f"{tokenizer}, {text}: {remark}")
    if comparison.premium_note:
        console.say(comparison.premium_note)
    return DONE if (comparison.tokens >= 0).any() else FAILED


def report(arguments: argparse.Namespace, console: Console) -> int:
    """Writes the page; returns the exit code."""
    opened = _open(arguments.tokenizers, arguments.pattern, console)
    origins = {each.name: console.finish(origin_work(each.loaded)) for each in opened if each.loaded is not None}
    texts, _ = _read(texts_of(arguments, arguments.texts), arguments.parallel, console)
    base, against = _base(texts, arguments.base, arguments.parallel), _against(opened, arguments.against)
    comparison = _compared(opened, texts, base, against, console)
    level = 0.95 if arguments.intervals else None
    page = console.finish(report_work(comparison, origins, datetime.now().astimezone(), level=level))
    console.finish(write_files({arguments.out: [page.encode()]}))
    console.say(f"Wrote {file_name(arguments.out)}.")
    return _told(comparison, console)


def diff(arguments: argparse.Namespace, console: Console) -> int:
    """Prints what differs; returns the exit code: `FAILED` also where it cannot be told."""
    try:
        differences = _differences(arguments, console)
    except TokStudioError as error:
        if not arguments.json:
            raise
        unknown = dict.fromkeys(Differences().to_plain())
        put(sys.stdout, json.dumps({**unknown, "error": str(error)}) + "\n")
        return FAILED
    _put(differences, arguments.json)
    return FAILED if differences.differs else DONE


def _put(found: Differences | EngineTable, as_json: bool) -> None:
    if as_json:
        put(sys.stdout, json.dumps(found.to_plain(), ensure_ascii=False) + "\n")
    else:
        put(sys.stdout, "".join(f"{printable(line)}\n" for line in found.lines()))


def _differences(arguments: argparse.Namespace, console: Console) -> Differences:
    opened = [_open_only(argument, arguments.pattern, console) for argument in (arguments.a, arguments.b)]
    names = _different([each.name for each in opened], [each.longer for each in opened])
    a, b = (each.tokenizer for each in opened)
    if not isinstance(a, Tokenizer) or not isinstance(b, Tokenizer):
        raise ConfigError("Bytes, characters and words are no tokenizers with files: give two others.")
    texts = _read(texts_of(arguments, arguments.texts), False, console)[0] if arguments.texts else {}
    return console.finish(diff_work(a, b, texts, (names[0], names[1])))


def _open_only(argument: str, pattern: str | None, console: Console) -> _Opened:
    """The tokenizer of an argument that names one."""
    found = _open_one(argument, pattern, console)
    if len(found) > 1:
        raise ConfigError(f"{argument}: this project has {len(found)} runs: export the one to compare.")
    return found[0]


def engines(arguments: argparse.Namespace, console: Console) -> int:
    """Prints the ids of other libraries beside ours; returns the exit code."""
    table = _engines(arguments, console)
    _put(table, arguments.json)
    return DONE if table.agrees else FAILED


def _engines(arguments: argparse.Namespace, console: Console) -> EngineTable:
    opened = _open_only(arguments.tokenizer, arguments.pattern, console)
    if not isinstance(opened.tokenizer, Tokenizer):
        raise ConfigError("Bytes, characters and words are no tokenizers with files: give another one.")
    read = _read(texts_of(arguments, arguments.texts), False, console)[0]
    texts = {name: text for name, text in read.items() if isinstance(text, Source)}
    loaded = opened.loaded
    files = None if loaded is None else OpenedFiles(loaded.format, loaded.files)
    return console.finish(engines_work(opened.tokenizer, texts, opened.name, files))
