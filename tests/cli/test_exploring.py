"""The command `explore`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from tokstudio import Corpus, explore, load
from tokstudio.cli.arguments.exploring import COLUMNS

ROWS = ["the cat sat", "the dog", "qq qq qq qq qq", "", "日本 the cat"]


@pytest.fixture
def rows(write):
    return str(write("rows.jsonl", "".join(json.dumps({"text": row}) + "\n" for row in ROWS)))


@pytest.fixture
def here(rows, tokenizer):
    return explore(Corpus.from_files([rows]), load(tokenizer))


def test_json_has_the_columns_of_the_core(run, rows, tokenizer, here):
    told = run(0, f"explore {rows} --tokenizer {tokenizer} --json").json
    assert told["sources"] == ["rows.jsonl"]
    assert (told["parts"], told["part_unit"], told["pieces"]) == (here.parts, here.part_unit, here.pieces.tolist())
    rows_of = told["documents"]["row"]
    assert sorted(rows_of) == [*range(1, 6)]
    assert told["documents"]["bytes"] == sorted(here.documents["bytes"].tolist(), reverse=True)
    assert told["documents"]["number"] == rows_of, "rows are counted from 1"
    ids = told["tokens"]["id"]
    assert sorted(ids) == np.flatnonzero(here.tokens["uses"]).tolist()
    bunched = here.tokens["bunched"][ids]
    np.testing.assert_array_equal(bunched, np.sort(bunched)[::-1])
    assert told["tokens"]["uses"] == here.tokens["uses"][ids].tolist()
    assert told["tokens"]["top_part"] == (here.tokens["top_part"][ids] + 1).tolist()


def test_tables_are_printed_with_their_first_rows(run, rows, tokenizer):
    out = run(0, f"explore {rows} --tokenizer {tokenizer} --rows 2").out
    findings, documents, tokens = out.split("\n\n")
    assert findings == "Findings: none."
    assert documents.splitlines()[0] == "Documents, 2 of 5"
    assert documents.splitlines()[2].startswith("rows.jsonl, row 3")
    assert tokens.splitlines()[0].startswith("Tokens in ")
    assert len(tokens.splitlines()) == 4


def test_that_nothing_is_found_is_said(run, tmp_path):
    (tmp_path / "one.txt").write_text("nothing odd here")
    assert run(0, f"explore {tmp_path / 'one.txt'} --show findings").out == "Findings: none.\n"


def test_without_a_tokenizer_documents_and_findings_are_shown(run, rows):
    out = run(0, f"explore {rows} --sort longest_run").out
    assert "Tokens" not in out
    assert out.split("\n\n")[1].splitlines()[2].startswith("rows.jsonl, row 5")


def test_a_table_is_written_as_csv(run, rows, tokenizer, tmp_path, here):
    run(0, f"explore {rows} --show documents --csv made.csv --sort lines", says="Wrote made.csv.")
    heading, *lines = csv.reader(io.StringIO((tmp_path / "made.csv").read_text(encoding="utf-8")))
    assert heading[:4] == ["row", "source", "number", "bytes"]
    assert [line[1] for line in lines] == ["rows.jsonl"] * 5
    run(0, f"explore {rows} --tokenizer {tokenizer} --show tokens --csv made.csv")
    heading, *lines = csv.reader(io.StringIO((tmp_path / "made.csv").read_text(encoding="utf-8")))
    assert heading[:4] == ["id", "text", "hex", "uses"]
    assert len(lines) == np.count_nonzero(here.tokens["uses"])
    tops = {int(line[0]): line[heading.index("top_part")] for line in lines}
    assert tops == {token: str(here.tokens["top_part"][token] + 1) for token in tops}
    texts = {int(line[0]): line[1:3] for line in lines}
    assert texts[113] == ["q", "71"], "quoted once"
    assert texts[0xE6] == ["\ufffd", "e6"]
    run(0, f"explore {rows} --show findings --csv made.csv")
    assert (tmp_path / "made.csv").read_text().startswith("rule,documents,lines,bytes,tokens,first\n")


def test_files_of_a_data_set_have_a_column_and_rows_of_their_own(run, tmp_path):
    (tmp_path / "set").mkdir()
    for number in (1, 2):
        lines = (json.dumps({"text": row * number}) + "\n" for row in ROWS[:3])
        (tmp_path / "set" / f"part-{number}.jsonl").write_text("".join(lines), encoding="utf-8")
    run(0, "explore set --show documents --csv made.csv --sort number")
    heading, *lines = csv.reader(io.StringIO((tmp_path / "made.csv").read_text(encoding="utf-8")))
    assert heading[:5] == ["row", "source", "file", "number", "bytes"]
    assert sorted((int(line[0]), line[2], int(line[3])) for line in lines) == [
        (3 * part + row + 1, f"part-{part + 1}.jsonl", row + 1) for part in (0, 1) for row in range(3)
    ]
    documents = explore(Corpus.from_files([tmp_path / "set"])).documents
    assert documents["shard"].tolist() == [0, 0, 0, 1, 1, 1]
    assert run(0, "explore set --json").json["documents"]["file"].count("part-2.jsonl") == 3


def test_the_origin_of_a_token_is_told(run, rows, tokenizer, here):
    out = run(0, f"explore {rows} --tokenizer {tokenizer} --token 113 --rows 0").out
    assert out.startswith('Token 113, "q". Its 10 uses are all in one of 4 documents: rows.jsonl, row 3.')
    told = run(0, f"explore {rows} --tokenizer {tokenizer} --token 113 --json").json["origin"]
    assert told["sentence"] == here.origin(113).sentence()
    assert told["documents"][0] == {"place": "rows.jsonl, row 3", "uses": 10, "share": 1.0}


def test_the_playhead_is_a_number_of_merges(run, rows, tokenizer):
    told = run(0, f"explore {rows} --tokenizer {tokenizer} --merges 0 --json").json
    assert sum(told["documents"]["tokens"]) == sum(len(row.encode()) for row in ROWS)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--show tokens", "--show tokens needs --tokenizer"),
        ("--token 3", "--token needs --tokenizer"),
        ("--csv a.csv", "choose it with --show"),
        ("--sort colour", 'there is no column "colour"'),
        ("--sort uses", "--sort uses needs --tokenizer"),
        ("--sort tokens", "--sort tokens needs --tokenizer"),
        ("--sort bunched --show documents --tokenizer t", "--sort bunched sorts no table of --show documents"),
        ("--sort bytes --show findings", "--sort bytes sorts no table of --show findings"),
    ],
)
def test_wrong_usage_is_told(run, rows, words, why):
    assert why in run(2, f"explore {rows} {words}").err


def test_the_names_of_columns_are_those_of_the_core(here):
    assert set(COLUMNS["documents"]) == here.documents.keys() - {"source", "shard", "script"}
    assert set(COLUMNS["tokens"]) == here.tokens.keys()
