"""Writes an exercise for a class: a text, settings, a page of instructions, and the right merges."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from tokstudio.core.base.atomic_files import StagedFiles
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.formats import FORMATS
from tokstudio.core.model.config import TieBreak
from tokstudio.core.teaching.check import CheckSettings
from tokstudio.core.teaching.own_text import SPECIAL_TOKENS, TEXT, VOCABULARY_SIZE
from tokstudio.core.teaching.submissions import Merge
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.trainer import Trainer

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
    told = (
        f"Special tokens, which count as tokens: {' '.join(specials)}\n  Cut them out of the text: no merge has a part "
        "of one, and none crosses one."
        if specials
        else "There are no special tokens."
    )
    return _README.format(
        text=TEXT_NAME,
        size=size,
        merges=size - 256 - len(specials),
        specials=told,
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
