"""`tokstudio train --algorithm picky`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest

from tests.core.algorithms import PICKY_TEXT as TEXT
from tests.core.algorithms import picky as config_of
from tokstudio import Corpus, cli, train


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8", newline="\n")
    return str(path)


def run(file, *more):
    return cli.main(["train", file, "--algorithm", "picky", "--vocab-size", "290", *more])


def test_the_settings_reach_the_core(file, capsys):
    assert run(file, "--threshold", "0.4", "--json") == 0
    expected = train(Corpus.from_text(TEXT), config_of()).run
    outcome = json.loads(capsys.readouterr().out)
    assert (outcome["merges"], outcome["vocabulary_size"]) == (len(expected), expected.vocabulary_size)
    assert outcome["removals"] == (removed := (expected.removals[:, 2:] >= 0).sum()) > 0
    assert run(file, "--threshold", "0.4") == 0
    told = capsys.readouterr().err
    assert told.endswith(f" {removed} tokens were removed again: the vocabulary has {len(expected) + 256 - removed}.\n")


def test_held_out_text_is_measured(tmp_path, capsys):
    path = tmp_path / "lines.txt"
    path.write_text(f"{TEXT}\n" * 30, encoding="utf-8", newline="\n")
    assert run(str(path), "--documents", "line", "--threshold", "0.4", "--held-out", "0.2", "--json") == 0
    assert json.loads(capsys.readouterr().out)["held_out_bytes_per_token"] > 1


def test_only_projects_and_the_vocabulary_hold_it(file, tmp_path, capsys):
    table = tmp_path / "vocabulary.csv"
    assert run(file, "--threshold", "0.4", "--export", f"vocabulary-csv={table}") == 0
    tokens = train(Corpus.from_text(TEXT), config_of()).tokens.ids()
    assert len(table.read_text("utf-8").splitlines()) == 1 + len(tokens)
    for name in ("huggingface", "tiktoken", "minbpe", "gpt2", "classic"):
        assert run(file, "--threshold", "0.4", "--export", f"{name}={tmp_path / 'made'}") != 0
        assert "removes tokens" in capsys.readouterr().err


def test_the_merge_log_has_the_removals(file, tmp_path):
    table, lines = tmp_path / "merges.csv", tmp_path / "merges.jsonl"
    exports = ["--export", f"merges-csv={table}", "--export", f"merges-jsonl={lines}"]
    assert run(file, "--threshold", "0.4", *exports) == 0
    made = train(Corpus.from_text(TEXT), config_of()).run
    rows = [json.loads(line) for line in lines.read_text("utf-8").splitlines()]
    gone = [[row["left_removed"], row["right_removed"]] for row in rows]
    assert gone == [[None if n < 0 else n for n in row] for row in made.removals[:, 2:].tolist()]
    assert [row["id"] for row in rows] == made.removals[:, 0].tolist()
    assert all(row["text"] == row["left_text"] + row["right_text"] for row in rows)
    heading, *others = table.read_text("utf-8").splitlines()
    assert heading.endswith(",left_removed,right_removed")
    assert [line.split(",")[-2:] for line in others] == [["" if n is None else str(n) for n in row] for row in gone]


def test_printed_merges_say_what_was_made_and_removed(tmp_path, capsys):
    text = "aabbaaabaababba"
    (path := tmp_path / "text.txt").write_text(text, encoding="utf-8")
    assert run(str(path), "--threshold", "0.4", "--print-merges", "--quiet") == 0
    made = train(Corpus.from_text(text), config_of()).run
    expected = list[str]()
    for own, ((left, right), row) in enumerate(zip(made.merges.tolist(), made.removals.tolist(), strict=True), 256):
        result = f"a new token {own}" if row[0] == own else f"the token {row[0]}"
        expected.append(f"Merge ({left}, {right}) into {result}")
        expected += [f"Remove the token {part}" for part, n in zip((left, right), row[2:], strict=True) if n >= 0]
    assert capsys.readouterr().out.splitlines() == expected
    assert any("into the token" in line for line in expected)
    assert any(line.startswith("Remove") for line in expected)


def test_what_cannot_work_is_told(file, capsys):
    for more, message in (
        (["--threshold", "2"], "from 0 to 1"),
        (["--tie-break", "first"], "own tie rule"),
    ):
        assert run(file, *more) != 0
        assert message in capsys.readouterr().err
