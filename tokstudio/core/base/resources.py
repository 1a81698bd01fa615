"""Finds TokStudio's own files (icons, sample corpora) and lists the sample texts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.records import dataclass


@dataclass(frozen=True)
class Sample:
    """A corpus that comes with TokStudio."""

    key: str  # a short name that never changes
    title: str  # its name in menus
    description: str  # one sentence about it
    file: str  # its path below the resource folder, with forward slashes. Of JSON Lines, each row is a document.
    parts: tuple[str, ...] = ()  # the names of its parts, which two empty lines separate; none for a text in one piece


SAMPLES: tuple[Sample, ...] = (
    Sample(
        key="article",
        title="How tokenizers work",
        description="An English article of 30 kB about tokenizers: read it, then train on it.",
        file="corpora/how-tokenizers-work.txt",
    ),
    Sample(
        key="scripts",
        title="One story in eight scripts",
        description="The same short story eight times: see how many tokens each script takes.",
        file="corpora/eight-scripts.txt",
        parts=("English", "Russian", "Greek", "Arabic", "Hebrew", "Hindi", "Chinese", "Korean"),
    ),
    Sample(
        key="python",
        title="A Python program",
        description="A short program that counts words: see indentation and names become tokens.",
        file="corpora/word_count.py",
    ),
    Sample(
        key="rubbish",
        title="A corpus with rubbish",
        description="200 kB in 275 documents with six kinds of rubbish: find what made the strange tokens.",
        file="corpora/with-rubbish.jsonl",
    ),
)

DEMO_SENTENCES: tuple[tuple[str, str], ...] = (
    ("English", "The baker's clever daughter counted thirty-seven warm loaves before the bells rang."),
    ("German", "Die Straßenbahnhaltestelle liegt gleich hinter der Bäckerei, sagte das Mädchen."),
    ("Russian", "Старый фонарь тихо качался над пустой улицей."),
    ("Arabic", "وصل القطار متأخراً، لكن أحداً لم يكن مستعجلاً."),
    ("Hindi", "बारिश रुकते ही बच्चे गली में खेलने निकल आए।"),
    ("Chinese", "雨停了，孩子们又跑到院子里放风筝，谁也不肯回家吃饭。"),
    ("Japanese", "カメラを持って、妹と静かな海辺を歩きました。"),
    ("Emoji", "Well done! 👍🏽 The whole family 👩‍👩‍👧‍👦 came to the café, and so did the cook 🧑🏿‍🍳."),
    ("Numbers and code", 'if total >= 1234567.89:\n    print(f"{total:,.2f} paid on 2031-04-05")'),
)


def resource(relative: str) -> Path:
    """Finds one of TokStudio's own files by its path below the resource folder, such as `icons/open.svg`.

    Raises:
        TokStudioError: Neither an installation, a bundle nor a source checkout has it.
    """
    package = Path(__file__).resolve().parents[2]
    folders = [package / "resources", package.parent / "resources"]
    if (bundle := getattr(sys, "_MEIPASS", None)) is not None:  # set by PyInstaller's loader
        folders.insert(0, Path(bundle) / "tokstudio" / "resources")
    for folder in folders:
        if (path := folder / relative).exists():
            return path
    raise TokStudioError(f"{relative}: this file of TokStudio is missing. Install TokStudio again.")


def sample_parts(key: str) -> tuple[tuple[str, str], ...]:
    """The parts of the sample corpus called `key`, each with its name; together they are its text."""
    sample = next(sample for sample in SAMPLES if sample.key == key)
    texts = re.split(r"(?<=\n\n\n)", sample_text(key)) if sample.parts else ()
    return tuple(zip(sample.parts, texts, strict=True))


def sample_rows(key: str) -> tuple[str, ...]:
    """The documents of the sample corpus called `key`, if its file has one in each row; else none."""
    sample = next(sample for sample in SAMPLES if sample.key == key)
    rows = sample_text(key).splitlines() if sample.file.endswith(".jsonl") else ()
    return tuple(json.loads(row)["text"] for row in rows)


def sample_text(key: str) -> str:
    """The text of the sample corpus called `key`."""
    sample = next(sample for sample in SAMPLES if sample.key == key)
    return resource(sample.file).read_text(encoding="utf-8")
