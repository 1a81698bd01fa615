"""The command `lint`: sentences, JSON and the exit code."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest

from tests.core.lint.made import END, content, folder
from tokstudio import Corpus, TrainingConfig, save_project, train


def test_a_good_tokenizer_ends_with_0_and_the_number_of_remarks(tmp_path, run):
    folder(tmp_path, config={"eos_token": END})
    out = run(0, "lint", ["tokenizer 0"]).out
    assert "REMARK  pattern-cuts-marks: " in out
    assert "    Example: " in out
    assert out.splitlines()[-1].endswith(" remark.")


def test_an_error_ends_with_1_and_comes_first(tmp_path, run):
    folder(tmp_path, config={"eos_token": "<|stop|>"})
    lines = run(1, "lint", ["tokenizer 0"]).out.splitlines()
    assert lines[0].startswith('ERROR  role-without-token: tokenizer_config.json: eos_token is "<|stop|>"')
    assert lines[1] == '    Example: "<|stop|>"'
    assert lines[-1].startswith("1 error")


def test_json_is_a_list_of_objects(tmp_path, run):
    folder(tmp_path, config={"eos_token": "<|stop|>"})
    first, *others = run(1, "lint", ["tokenizer 0", "--json"]).json
    assert first.keys() == {"rule", "level", "message", "example", "advice"}
    assert (first["rule"], first["level"], first["example"]) == ("role-without-token", "error", "<|stop|>")
    assert {other["level"] for other in others} == {"remark"}


def test_texts_are_counted_by_their_names(tmp_path, run, write):
    folder(tmp_path)
    write("hindi.txt", "कि की")
    write("english.txt", "apple")
    rows = run(0, "lint", ["tokenizer 0", "--json", "--texts", "hindi.txt", "english.txt"]).json
    [row] = [row for row in rows if row["rule"] == "pattern-cuts-marks"]
    assert "hindi.txt 100" in row["message"]
    assert "english" not in row["message"]


def test_a_run_of_a_project_is_checked(tmp_path, run):
    mine = train(Corpus.from_texts(["abab abab"]), TrainingConfig(vocabulary_size=258, pattern="cl100k"))
    save_project({"first": mine}, tmp_path / "mine.tokstudio")
    assert "digits-from-the-left" in run(0, "lint", ["mine.tokstudio"]).out


@pytest.mark.parametrize(
    ("files", "words", "said"),
    [
        ({}, ["."], "no tokenizer file"),
        ({"tokenizer.json": "{"}, ["."], "ends too early"),
        ({}, ["nothing"], "no such file"),
        ({"tokenizer.json": json.dumps(content())}, [".", "--texts", "lost.txt"], "lost.txt"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(run, write, files, words, said):
    for name, text in files.items():
        write(name, text)
    printed = run(1, "lint", words)
    assert printed.out == ""
    assert said in printed.err
    assert printed.err.count("\n") == 1
