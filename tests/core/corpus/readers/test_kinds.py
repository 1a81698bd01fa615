"""JSON, JSON Lines and tables are recognised as what they are; prose and programs are not."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest

from tokstudio.core.corpus.readers.kinds import CSV, JSON, JSON_LINES, TEXT, TSV, text_kind

RECORDS = [{"text": f"Line {number}, with a comma.", "id": number} for number in range(4_000)]
ROWS = [f"{number},word{number},{number * 0.5}" for number in range(30)]
POEM = "Shall I compare thee to a summer's day?\nThou art more lovely, and more temperate:\n" * 9


HEAD = 1 << 16


def kind(name: str, text: str) -> str:
    return text_kind(name, text[:HEAD], len(text) <= HEAD)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", "\n".join(map(json.dumps, RECORDS)), JSON_LINES),
        ("a.txt", "\n".join(map(json.dumps, RECORDS)), JSON_LINES),
        ("a.txt", "\n".join(map(json.dumps, RECORDS[:2])), JSON_LINES),
        ("a.NDJSON.gz", '{"text": "a"}\n', JSON_LINES),
        ("a.jsonl", json.dumps({"text": "x" * 100_000}), JSON_LINES),
        ("a.json", json.dumps(RECORDS), JSON),
        ("a.json", '{"text": "a"}', JSON),
        ("", '{"data": [{"text": "a"}]}', JSON),
        ("", json.dumps(RECORDS), JSON),
        ("a.txt", json.dumps(RECORDS[:3], indent=2), JSON),
        ("a.csv", "\n".join(ROWS), CSV),
        ("a.csv", 'name;text\nx;"one\ntwo"\n', CSV),
        ("a.csv.xz", 'text\none\n"two, three"\n', CSV),
        ("", "\n".join(ROWS), CSV),
        ("", "\n".join([",word,share", *ROWS]), CSV),
        ("a.tsv", "word\tcount\n", TSV),
        ("a", "\n".join(f"word {number}\t{number}" for number in range(9)), TSV),
    ],
)
def test_structured_text_is_recognised(name, text, said):
    assert kind(name, text) == said


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", POEM),
        ("a.csv", "A chapter that somebody saved under a wrong name\n" * 9),
        ("a.json", "Once upon a time\n" * 9),
        ("a.jsonl", "Once upon a time\n" * 9),
        ("a.csv", "It was late, and dark.\nShe went home.\nWhere, though, was it, and why?\n" * 9),
        ("a.jsonl", '["the", 12]\n["cat", 3]\n'),
        ("a.json", json.dumps([1, 2, 3])),
        ("a.txt", "\n".join(ROWS)),
        ("settings.conf", '{"name": "one", "size": 2}'),
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
def test_prose_programs_and_settings_are_plain_text(name, text):
    assert kind(name, text) == TEXT
