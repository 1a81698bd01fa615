"""Writes an exercise for a class: a text, settings, a page of instructions, and the right merges."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tokstudio.core.base.atomic_files import StagedFiles
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import printable, several, shown
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.model.algorithms import TieBreak
from tokstudio.core.teaching.check import Check, Checker, CheckSettings
from tokstudio.core.teaching.hypotheses import Hypothesis
from tokstudio.core.teaching.submissions import Merge, read_submission, submissions
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.trainer import Trainer

# --- The text of our own for exercises: every mistake that the checker knows shows on it ------------------------------

#: 1 kB: accents, Han, CRLF, blank lines, digits of other scripts, adjacent special tokens, runs of one letter,
#: underscores, capitals, white space of every kind, and one byte that is not UTF-8.
TEXT = (
    "  The tailor's tale\r\n\r\n"
    "  In the old town there lived a tailor, and the tailor's name was Ānanda.\n"
    "He sewed  the coats of the town; he sewed them by the light of one lamp.\n\n\n"
    "“A coat,” he said, “is a story: naïve, très précis, and übermütig.”<|endoftext|><|endoftext|>"
    "裁缝说：一针一线，一针一线。裁缝的灯亮着，灯亮着。<|endoftext|>"
    "仕立屋は言った。一針、また一針。ランプの灯り、ランプの灯り。\n"
    "Ha<|endoftext|>ha<|endoftext|>ha<|endoftext|>ha<|endoftext|>ha!<|endoftext|><|endoftext|>\n"
    "def __sew__(the_cloth, __the_lamp__=None):\n"
    "    stitch_count = 1024  +  2048\n"
    "    return the_cloth_and_the_lamp if the_lamp else stitch_count\n\t\n"
    "<|endoftext|> "
    "aaaaaaa bbbbbb aaaaaaaa zzzz ZZZZ aaaaaaa — hmmmmm, brrrrr! ...... !!!!!! ?!?!\r\n"
    "Room ٣٤٥ costs १२३४ and ௧௨௩; room 345 (34 m², 12 m²) costs 1234 and 5678.\r\n"
    "endoftext| is the end of text, and the <end> of the text | the end.\n"
    "THE TAILOR SLEEPS. the tailor sleeps. The Tailor Sleeps.\n"
    "He'll sew it, she'd wear it, they've seen it, we're late, I'm cold, don't.  \n"
).encode() + b"caf\xe9 caf\xe9 caf\xe9t\xe9 caf\xe9t\xe9\n\n"
SPECIAL_TOKENS = ("<|endoftext|>",)
VOCABULARY_SIZE = 256 + 1 + 200

# --- What was found in a submission, as sentences for a student, as a row for a teacher, and as CSV -------------------

_RISKY = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would compute a cell that begins so


class Outcome(NamedTuple):
    """What was found in a submission; `check` is None for one that cannot be read."""

    name: str
    check: Check | None
    remarks: Sequence[str] = ()
    error: str = ""

    @property
    def identical(self) -> bool:
        """Whether it was read, and is right."""
        return self.check is not None and self.check.identical


def paths_of(paths: Iterable[Path]) -> Iterator[Path]:
    """Every submission in files and folders; a path that has none stays, as reading it says why."""
    for path in paths:
        try:
            yield from submissions(path)
        except FormatError:
            yield path


def outcome_work(path: Path, checker: Checker) -> Work[Outcome]:
    """Reads and checks a submission; one that cannot be read is an outcome too."""
    yield Progress("reading")
    name = path.name or path.absolute().name
    try:
        submission = read_submission(path)
    except FormatError as error:
        return Outcome(name, None, error=str(error))
    check = yield from checker.check_submission_work(submission)
    return Outcome(name, check, submission.remarks)


def sentences(outcome: Outcome) -> Iterator[str]:
    """What differs first, both counts, and what to look at."""
    outcome_check = outcome.check
    if outcome_check is None:
        yield outcome.error
        return
    difference = outcome_check.difference
    if difference is None:
        yield f"{outcome.name}: identical, {several(outcome_check.merges, 'merge')}."
        return
    merges = f"{several(outcome_check.merges, 'merge')}, {outcome_check.expected:,} expected"
    yield f"{outcome.name}: {merges}; merge {difference.place:,} differs."
    theirs, ours = difference.counts
    yield f"  Theirs: {_pair(difference.theirs, theirs)}"
    tied = f" {difference.tied:,} pairs have this count." if difference.tied > 1 else ""
    yield f"  Right:  {_pair(difference.ours, ours)}{tied if difference.ours is not None else ''}"
    yield from (f"  {remark}" for remark in outcome.remarks)
    for number, cause in enumerate(outcome_check.causes):
        yield f"  {'Or' if number else 'Cause'}: {' '.join(mistake.meaning for mistake in cause)} ({_keys(cause)})"
        yield from (f"    {advice}" for advice in dict.fromkeys(mistake.advice for mistake in cause))
    if not outcome_check.causes:
        yield "  No known mistake, and no two of them together, gives the whole list."


def texts(merge: Merge | None) -> list[str] | None:
    """A pair as text; bytes that are not UTF-8 are written as hexadecimal escapes."""
    return None if merge is None else [part.decode("utf-8", "backslashreplace") for part in merge]


def _pair(merge: Merge | None, count: int) -> str:
    if merge is None:
        return "the list has ended."
    left, right = (shown(text) for text in texts(merge) or ())
    return f"{left} and {right}, which stand side by side {several(count, 'time')}."


def _keys(cause: Sequence[Hypothesis]) -> str:
    return " + ".join(mistake.key for mistake in cause)


def causes_text(outcome: Outcome) -> str:
    """The keys of its causes on one line; the error of one that cannot be read."""
    outcome_check = outcome.check
    if outcome_check is None:
        return outcome.error.removeprefix(f"{printable(outcome.name)}: ")
    if outcome_check.identical:
        return ""
    return " or ".join(map(_keys, outcome_check.causes)) or "no known cause"


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """A row for each submission: its name, what was found, and the causes."""
    wide = max(len(printable(outcome.name)) for outcome in outcomes)
    for outcome in outcomes:
        outcome_check, causes = outcome.check, causes_text(outcome)
        if outcome_check is not None:
            differs = (
                f"differs at merge {outcome_check.difference.place:,}: {causes}" if outcome_check.difference else ""
            )
            causes = differs or f"identical, {several(outcome_check.merges, 'merge')}"
        yield f"{printable(outcome.name):{wide}}  {causes}"
    right = sum(outcome.identical for outcome in outcomes)
    yield f"{right:,} of {len(outcomes):,} submissions are identical to the right merges."


def to_csv(outcomes: Iterable[Outcome]) -> str:
    """A table with a row for each submission. A cell that a spreadsheet would compute begins with an apostrophe."""
    file = io.StringIO()
    write = csv.writer(file, lineterminator="\r\n").writerow
    write(("name", "identical", "merges", "expected", "first_difference", "causes", "error"))
    for outcome in outcomes:
        name, outcome_check = printable(outcome.name), outcome.check
        name = f"'{name}" if name.startswith(_RISKY) else name
        if outcome_check is None:
            write((name, "no", "", "", "", "", printable(outcome.error)))
        else:
            place = outcome_check.difference.place if outcome_check.difference else ""
            identical = "yes" if outcome_check.identical else "no"
            write((name, identical, outcome_check.merges, outcome_check.expected, place, causes_text(outcome), ""))
    return file.getvalue()


OWN_SETTINGS = CheckSettings(vocabulary_size=VOCABULARY_SIZE, special_tokens=SPECIAL_TOKENS)
TEXT_NAME, EXPECTED = "corpus.txt", "expected"

_TIES: Mapping[TieBreak, str] = {
    "bytes": "take the pair whose left token is the greatest by its bytes, and of these the one with the greatest\n"
    "  right token: in Python, the maximum of tuples (left, right) of bytes.",
    "first": "take the one that stands first in the text.",
    "lowest-id": "take the one with the lowest ids: first the lowest id of the left token, then of the right one.",
    "huggingface": "take the one with the lowest ids, where bytes have the ids of GPT-2.",
    "mapped-strings": "take the one with the greatest strings, left and then right, in the alphabet of GPT-2.",
}
_README = """\
Byte pair encoding: an exercise

Train a tokenizer on {text} and write its merges, in the order in which they were made.

- Base tokens: the 256 bytes. The vocabulary has {size:,} tokens, so there are at most {merges:,} merges.
- {specials}
- The text is split by this pattern, and no merge crosses its pieces (name in settings.json: {pattern}):
  {regex}
- Merge the pair with the highest count. Of several pairs with that count,
  {ties}
- Read the text as bytes. It may have several kinds of line ends, and bytes that are not UTF-8: keep all as they are.
  In Python: open("{text}", "rb").read().decode("utf-8", "surrogateescape"), and encode the pieces in the same way.
- Write a file merges.txt as GPT-2 has it, or JSON, or Python's repr of bytes.

Check it with TokStudio, in this folder:

  tokstudio check merges.txt {options}

For the teacher: the folder {expected} has the right merges. To check a class, give a folder of submissions in place of
merges.txt; --json prints all results for a program.
"""


def make_exercise_work(
    folder: Path, text: bytes | None = None, settings: CheckSettings = OWN_SETTINGS
) -> Work[tuple[Path, ...]]:
    """Writes all files of an exercise into a folder, which is made if needed, or none; returns their paths.

    Args:
        folder: Files of these names in it are replaced.
        text: What is trained on; None for our own text, on which every known mistake shows.
        settings: With a vocabulary size.

    Raises:
        ConfigError: The settings are invalid.
        FormatError: A file cannot be written.
    """
    if settings.vocabulary_size is None:
        raise ConfigError("An exercise needs a vocabulary size.")
    text = TEXT if text is None else text
    trainer = Trainer(Corpus.from_texts([text]), settings.config(settings.vocabulary_size))
    while not trainer.ended:
        yield trainer.progress
        trainer.advance()
    contents: dict[Path, Iterable[bytes]] = {
        folder / TEXT_NAME: [text],
        folder / "settings.json": [_json(_named(settings))],
        folder / "README.txt": [_readme(settings, settings.vocabulary_size).encode()],
    }
    contents |= {folder / EXPECTED / name: pieces for name, pieces in _expected(trainer.tokenizer()).items()}
    with StagedFiles() as staged:
        staged.make_folder(folder / EXPECTED)
        for path, pieces in contents.items():
            yield from staged.write(path, pieces)
        return staged.commit()


def check_options(settings: CheckSettings) -> str:
    """The options of `tokstudio check` for an exercise, as they are typed."""
    options = [f"--corpus {TEXT_NAME}"]
    if settings.vocabulary_size is not None:
        options.append(f"--vocab-size {settings.vocabulary_size}")
    options += [f"--pattern={_quoted(settings.pattern)}", f"--tie-break {settings.tie_break}"]
    return " ".join([*options, *(f"--special={_quoted(token)}" for token in settings.special_tokens)])


def _quoted(value: str) -> str:
    """A value for a shell: in double quotes, which all shells know, where it has no sign that they change."""
    if re.fullmatch(r"[\w.-]+", value, re.ASCII):
        return value
    return shlex.quote(value) if re.search(r'["$`\\!%\n]', value) else f'"{value}"'


def _named(settings: CheckSettings) -> Mapping[str, object]:
    return {
        "vocabulary_size": settings.vocabulary_size,
        "pattern": settings.pattern,
        "regular_expression": settings.regular_expression,
        "tie_break": settings.tie_break,
        "special_tokens": list(settings.special_tokens),
    }


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode("utf-8", "surrogateescape") + b"\n"


def _readme(settings: CheckSettings, size: int) -> str:
    specials = settings.special_tokens
    lines = (
        f"Special tokens, which count as tokens: {' '.join(specials)}\n  Cut them out of the text: no merge has a part "
        "of one, and none crosses one."
        if specials
        else "There are no special tokens."
    )
    return _README.format(
        text=TEXT_NAME,
        size=size,
        merges=size - 256 - len(specials),
        specials=lines,
        pattern=settings.pattern,
        regex=settings.regular_expression or "none: the text is not split",
        ties=_TIES[settings.tie_break],
        options=check_options(settings),
        expected=EXPECTED,
    )


def _expected(tokenizer: Tokenizer) -> dict[str, Iterable[bytes]]:
    """The right merges in the shapes that are handed in most."""
    tokens = tokenizer.tokens
    pairs: list[Merge] = [(tokens[left] or b"", tokens[right] or b"") for left, right in tokenizer.merges.tolist()]
    hexadecimal = [[left.hex(), right.hex()] for left, right in pairs]
    return {
        **FORMATS["gpt2"].contents(tokenizer),
        "merges_hex.json": [_json(hexadecimal)],
        "merges_repr.txt": ["".join(f"{pair!r}\n" for pair in pairs).encode()],
    }
