"""JSON, JSON Lines and tables are named as what they are; prose is not."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import numpy as np
import pytest

from tokstudio.core.corpus.structured import structure_remark

LINES, JSON = (f"{kind} read as plain text, field names included" for kind in ("JSON Lines", "JSON"))
CSV, TSV = (f"{kind} read as plain text, separators included" for kind in ("CSV", "TSV"))
RECORDS = [{"text": f"Line {number}, with a comma.", "id": number} for number in range(4_000)]
ROWS = [f"{number},word{number},{number * 0.5}" for number in range(30)]
POEM = "Shall I compare thee to a summer's day?\nThou art more lovely, and more temperate:\n" * 9


def remark(name: str, text: str) -> str:
    return structure_remark(name, np.frombuffer(text.encode(), np.uint8))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", "\n".join(map(json.dumps, RECORDS)), LINES),
        ("a.txt", "\n".join(map(json.dumps, RECORDS)), LINES),
        ("a.txt", "\n".join(map(json.dumps, RECORDS[:2])), LINES),
        ("a.NDJSON", '["the", 12]\n["cat", 3]\n', LINES),
        ("a.jsonl", json.dumps({"text": "x" * 100_000}), LINES),
        ("a.json", json.dumps(RECORDS), JSON),
        ("a.json", json.dumps([1, 2, 3]), JSON),
        ("standard input", json.dumps(RECORDS), JSON),
        ("a.txt", json.dumps(RECORDS[:3], indent=2), JSON),
        ("a.csv", "\n".join(ROWS), CSV),
        ("a.csv", 'name;text\nx;"one\ntwo"\n', CSV),
        ("a.txt", "\n".join(ROWS), CSV),
        ("a.tsv", "word\tcount\n", TSV),
        ("a", "\n".join(f"word {number}\t{number}" for number in range(9)), TSV),
    ],
)
def test_structured_text_is_named(name, text, said):
    assert remark(name, text) == said


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", POEM),
        ("a.csv", "A chapter that somebody saved under a wrong name\n" * 9),
        ("a.json", "Once upon a time\n" * 9),
        ("a.jsonl", "Once upon a time\n" * 9),
        ("a.tsv", ""),
        ("a.md", "[one](two)\n[three](four)\n" * 9),
        ("a.md", '{"title": "A page"}\n\n# A page\n\nIts text begins here.\n'),
        ("a.tex", "{\\bf one}\n{\\it two}\n" * 9),
        ("a.py", "values = {\n    'one': 1,\n}\n" * 9),
        ("a.c", '{ "one", "two" },\n' * 9),
        ("a.txt", "Yes, he said, and no.\nOne, she said, or two.\n" * 9),
        ("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\n"),
        ("Makefile", "all:\n\techo one\n\techo two\n" * 9),
        ("a.txt", "12\n345\n6789\n" * 9),
        ("a.txt", '"Stop!"\n"Why?"\n' * 9),
    ],
)
def test_prose_and_programs_get_no_remark(name, text):
    assert remark(name, text) == ""
