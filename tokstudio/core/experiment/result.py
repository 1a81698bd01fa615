"""What an experiment gave: its merges as lines, kept beside its file, and compared with those of another run."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from tokstudio.core.base.atomic_files import file_name, write_files
from tokstudio.core.base.errors import ConfigError, FormatError, TokStudioError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import quoted_bytes, shown
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.readers.files import read_file_work
from tokstudio.core.experiment.experiment import RESULT, Experiment, Gave, Result, merges_files
from tokstudio.core.experiment.toml import TomlFile, comment_text, parse_toml, value_text
from tokstudio.core.model.picky import LEFT_GONE
from tokstudio.core.model.picky import RESULT as RESULT_OF_PICKY
from tokstudio.core.model.run import MergeBatch, Run
from tokstudio.core.text.utf8 import is_utf8
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.version import __version__

_MOST_TEXTS = 1_000  # whose hashes are in the file
_STEP = 1 << 13
_LONGEST_LINE = 80  # characters in a message
_PAIR = re.compile(r"\((\d+), (\d+)\)")

# --- Merges as lines --------------------------------------------------------------------------------------------------


def merges_in_words(batch: MergeBatch, first: int) -> str:
    """Each merge on a line, in the words of the original program; `first` would be the id of merge 1.

    Lines about the parts that Picky BPE removes follow their merge.
    """
    removals = batch.columns.get("removals")
    pairs = enumerate(zip(batch.left.tolist(), batch.right.tolist(), strict=True), first + batch.first - 1)
    if removals is None:
        return "".join(f"Merge ({left}, {right}) into a new token {token}\n" for token, (left, right) in pairs)
    lines: list[str] = []
    for (own, (left, right)), row in zip(pairs, removals.tolist(), strict=True):
        verb = "a new token" if row[RESULT_OF_PICKY] == own else "the token"
        lines.append(f"Merge ({left}, {right}) into {verb} {row[RESULT_OF_PICKY]}\n")
        gone = zip((left, right), row[LEFT_GONE:], strict=True)
        lines += [f"Remove the token {part}\n" for part, places in gone if places >= 0]
    return "".join(lines)


def lines_of_run(run: Run) -> Iterator[str]:
    """The merges of a run as lines, many together."""
    for at in range(0, len(run), _STEP):
        some = slice(at, at + _STEP)
        columns = {"removals": run.removals[some]} if run.removals is not None else {}
        pairs = run.merges[some]
        batch = MergeBatch(at + 1, pairs[:, 0], pairs[:, 1], run.counts[some], run.tokens_after[some], columns)
        yield merges_in_words(batch, run.base_size)


def lines_of_tokens(tokenizer: Tokenizer) -> Iterator[str]:
    """The tokens of another library as lines: it does not tell its merges."""
    ids = tokenizer.tokens.ids().tolist()
    for at in range(0, len(ids), _STEP):
        yield "".join(f"Token {token}: {_exact(tokenizer.bytes_of(token))}\n" for token in ids[at : at + _STEP])


def _exact(token: bytes) -> str:
    return json.dumps(token.decode(), ensure_ascii=False) if is_utf8(token) else token.hex(" ")


@dataclass(frozen=True, eq=False)
class Trained:
    """What a training of an experiment made."""

    name: str  # of the variant; "" where there is only one
    product: Run | Tokenizer  # the run, or the tokenizer, which has a run unless it is of another library
    repeatable: bool = True  # whether training again gives the same, which not every library promises

    @property
    def run(self) -> Run | None:
        """The run; None where another library trained."""
        return self.product if isinstance(self.product, Run) else self.product.run

    @property
    def number(self) -> int:
        """How many merges there are, or tokens of another library."""
        return len(self.product if self.run is None else self.run)

    @property
    def unit(self) -> str:
        """What there are so many of."""
        return "token" if self.run is None else "merge"

    def lines(self) -> Iterator[str]:
        """The merges, or the tokens of another library, as lines."""
        if self.run is not None:
            return lines_of_run(self.run)
        assert isinstance(self.product, Tokenizer)
        return lines_of_tokens(self.product)

    def gave_work(self) -> Work[Gave]:
        """Their number and hash."""
        digest = hashlib.sha256()
        for at, lines in enumerate(self.lines()):
            digest.update(lines.encode())
            yield Progress("hashing", at * _STEP, self.number)
        return Gave(self.name, self.number, digest.hexdigest())


# --- The result in the file -------------------------------------------------------------------------------------------


def texts_work(corpus: Corpus) -> Work[Result]:
    """A result that has only the texts, of a corpus of which no sample was taken."""
    digest = yield from corpus.sha256_work()
    texts = [(source.name, text) for source, text in zip(corpus.sources, corpus.text_hashes, strict=True) if text]
    return Result(__version__, digest, tuple(texts) if len(texts) <= _MOST_TEXTS else (), ())


def result_work(texts: Result, trained: Sequence[Trained]) -> Work[Result]:
    """The result of trainings on texts."""
    gave: list[Gave] = []
    for each in trained:
        gave.append((yield from each.gave_work()))
    return replace(texts, trainings=tuple(gave))


def result_text(result: Result) -> str:
    """The result as tables of the file."""
    comment = "Written by tokstudio run; run --check trains again and compares. Merges are kept in the .merges beside."
    text = f"[{RESULT}]\n{comment_text(comment)}"
    text += f"tokstudio = {value_text(result.version)}\ncorpus_sha256 = {value_text(result.corpus)}\n"
    if result.texts:
        rows = [f"  {value_text({'name': name, 'sha256': digest})},\n" for name, digest in result.texts]
        text += f"texts = [\n{''.join(rows)}]\n"
    for gave in result.trainings:
        header = f"\n[[{RESULT}.variant]]\nname = {value_text(gave.name)}\n" if gave.name else ""
        text += f"{header}merges = {gave.merges}\nmerges_sha256 = {value_text(gave.sha256)}\n"
    return text


def files_of_result(path: Path, trained: Sequence[Trained]) -> dict[Path, Iterable[bytes]]:
    """The content of the files with the merges."""
    files = merges_files(path, [each.name for each in trained])
    return {files[each.name]: (lines.encode() for lines in each.lines()) for each in trained}


def check_merges_work(path: Path, names: Sequence[str], before: Result | None) -> Work[None]:
    """Raises FormatError where a file with merges would replace one that the result of the experiment does not name."""
    own = yield from own_merges_work(path, before)
    for file in merges_files(path, names).values():
        if os.path.lexists(file) and file not in own:
            raise FormatError(
                f"{file_name(file)}: this file exists already, and is not of the [result] in {file_name(path)}, whose "
                "merges are kept there: move it, or name the experiment otherwise."
            )


def own_merges_work(path: Path, result: Result | None) -> Work[list[Path]]:
    """The files beside an experiment that have the merges which its result names."""
    trainings = result.trainings if result is not None else ()
    files = merges_files(path, [gave.name for gave in trainings])
    own: list[Path] = []
    for gave in trainings:
        try:
            content = yield from read_file_work(files[gave.name])
        except TokStudioError:
            continue
        if hashlib.sha256(content).hexdigest() == gave.sha256:
            own.append(files[gave.name])
    return own


def keep_result_work(experiment: Experiment, result: Result, trained: Sequence[Trained]) -> Work[None]:
    """Writes the result into the file of an experiment, of which all else stays as it is, and the merges beside.

    Raises:
        ConfigError: The file has changed since it was read.
        CorpusError: It can no longer be read.
        FormatError: It cannot be written.
    """
    path = experiment.path
    now = parse_toml((yield from read_file_work(path)), file_name(path))
    if not is_same_but_result(now, experiment.file):
        raise ConfigError(
            f"{file_name(path)}: it has been changed since it was read, so the result is not written: run it again."
        )
    text = with_result(now, result)
    yield from write_files(files_of_result(path, trained) | {path: [text.encode()]})


def with_result(file: TomlFile, result: Result) -> str:
    """The text of an experiment with another result; ConfigError where its own is in no table."""
    text = file.with_table(RESULT, result_text(result))
    try:
        again = parse_toml(text.encode(), file.name)
    except ConfigError:
        again = None
    if again is None or not is_same_but_result(again, file):
        raise file.error(f"the result is not in a table: write [{RESULT}] on a line of its own.", RESULT)
    return text


def is_same_but_result(one: TomlFile, other: TomlFile) -> bool:
    """Whether two files say the same, whatever their results are."""
    return _without_result(one) == _without_result(other)


def _without_result(file: TomlFile) -> Mapping[str, object]:
    return {name: value for name, value in file.values.items() if name != RESULT}


# --- Comparing --------------------------------------------------------------------------------------------------------


def differing_texts(before: Result, now: Result) -> list[str]:
    """What differs of the texts, each a sentence; none where the corpus is the same."""
    if before.corpus == now.corpus:
        return []
    changed: list[str] = []
    for old, new in zip_longest(before.texts, now.texts):
        if old == new:
            continue
        if old is None or new is None:
            changed.append(f"{(new or old or ('',))[0]} was {'added' if old is None else 'removed'}.")
        elif old[0] != new[0]:
            changed.append(f"{new[0]} is in the place of {old[0]}.")
        else:
            changed.append(f"{new[0]} has another text than then.")
    return changed or ["The corpus has the same texts, but in other documents, or with other counts than then."]


def difference_work(experiment: Experiment, before: Gave, trained: Trained) -> Work[str | None]:
    """What differs first from the merges that were kept, as a sentence; None where they are the same."""
    gave = yield from trained.gave_work()
    if gave.sha256 == before.sha256:
        return None
    names = [each.name for each in experiment.result.trainings] if experiment.result is not None else [""]
    file = merges_files(experiment.path, names)[before.name]
    what = f"{trained.unit}s"
    is_same_number = before.merges == gave.merges
    numbers = f"{gave.merges:,} both times" if is_same_number else f"then {before.merges:,}, now {gave.merges:,}"
    try:
        kept = yield from read_file_work(file)
    except TokStudioError as error:
        return f"The {what} differ ({numbers}), and the first cannot be told. {error}"
    if hashlib.sha256(kept).hexdigest() != before.sha256:
        return f"The {what} differ ({numbers}); {file_name(file)} was changed since, so the first cannot be told."
    lines = (line for some in trained.lines() for line in some.split("\n")[:-1])
    for number, (old, new) in enumerate(zip_longest(kept.decode().split("\n")[:-1], lines), 1):
        if old != new:
            both = f"then {_told(old, trained)}, now {_told(new, trained)}"
            return f"The {what} differ ({numbers}), first in line {number:,} of {file_name(file)}: {both}."
        if number % _STEP == 0:
            yield Progress("comparing", number, before.merges)
    raise AssertionError


def _told(line: str | None, trained: Trained) -> str:
    """A line for a sentence, with the tokens that a merge joins: up to here, both runs have the same ids."""
    if line is None:
        return "no more"
    pair = _PAIR.search(line)
    # Characters as base tokens are those of the corpus, which may be another one now.
    if pair is None or trained.run is None or trained.run.config.base != "bytes":
        return shown(line, _LONGEST_LINE)
    tokenizer = Tokenizer.from_run(trained.run)
    parts = [int(part) for part in pair.groups()]
    known = all(tokenizer.is_known(part) for part in parts)
    words = " + ".join(quoted_bytes(tokenizer.bytes_of(part)) for part in parts) if known else ""
    return f"{line} ({words})" if words else line
