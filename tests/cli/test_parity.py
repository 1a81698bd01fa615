"""`tokstudio train --algorithm parity`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest

from tests.core.training.test_parity import PARALLEL, TEXTS, corpus_of, parity
from tokstudio import cli, train
from tokstudio.core.formats.loading import load


@pytest.fixture
def files(tmp_path):
    """The texts, and the parallel texts in a folder of their own."""
    (tmp_path / "parallel").mkdir()
    for name, texts in TEXTS.items():
        (tmp_path / name).write_text(texts[0], encoding="utf-8")
    for name, text in PARALLEL.items():
        (tmp_path / "parallel" / f"{name}.txt").write_text(text, encoding="utf-8")
    return [str(tmp_path / name) for name in TEXTS]


def run(files, *more):
    return cli.main(["train", *files, "--algorithm", "parity", "--vocab-size", "300", *more])


def test_the_settings_reach_the_core(files, tmp_path, capsys):
    parallel = [f"--parallel={name}={tmp_path / 'parallel' / f'{name}.txt'}" for name in PARALLEL]
    window = ["--window", "5", "--alpha", "1.5", "--global-merges", "3"]
    target = tmp_path / "tokenizer.json"
    assert run(files, *parallel, *window, "--json", "--export", f"huggingface={target}") == 0
    expected = train(corpus_of(TEXTS), parity(300, parallel=PARALLEL, window=5, alpha=1.5, global_merges=3))
    outcome = json.loads(capsys.readouterr().out)
    numbers = expected.run.chosen.numbers.tolist()
    assert [(source["name"], source["chosen_merges"]) for source in outcome["sources"]] == [
        (name, numbers.count(number)) for number, name in enumerate(TEXTS)
    ]
    loaded = load(target)
    for text in TEXTS.values():
        assert [loaded.tokens[token] for token in loaded.encode(text[0])] == [
            expected.tokens[token] for token in expected.encode(text[0])
        ]


def test_a_text_without_parallel_text_is_said_and_chooses_nothing(files, tmp_path, capsys):
    parallel = [f"--parallel={name}={tmp_path / 'parallel' / f'{name}.txt'}" for name in list(PARALLEL)[:2]]
    assert run(files, *parallel) == 0
    told = 'Without a parallel text, and so only counted, never choosing: "fi.txt".'
    assert told in capsys.readouterr().err.splitlines()
    assert run(files, *parallel, "--json") == 0
    sources = json.loads(capsys.readouterr().out)["sources"]
    assert [source.get("never_chooses", False) for source in sources] == [False, False, True]
    chosen = [source["chosen_merges"] for source in sources]
    assert (sum(chosen), chosen[2]) == (44, 0)


def test_parallel_texts_with_other_numbers_of_lines_are_refused(files, tmp_path, capsys):
    texts = tmp_path / "parallel"
    (texts / "fi.txt").write_text("yksi\nkaksi\n", encoding="utf-8")
    assert run(files, *(f"--parallel={name}={texts / f'{name}.txt'}" for name in PARALLEL)) == 1
    lines = PARALLEL["de"].rstrip().count("\n") + 1
    assert lines != 2
    assert f'must be the same lines in each language: that of "de.txt" has {lines} line' in capsys.readouterr().err
    assert run(files, *(f"--parallel={name}={texts / 'fi.txt'}" for name in PARALLEL)) == 0


def test_ratios(files, capsys):
    assert run(files, "--ratios", "fi=3", "--print-merges") == 0
    out, err = capsys.readouterr()
    made = train(corpus_of(TEXTS), parity(300, ratios={"fi": 3})).run
    assert [line.partition(" into")[0] for line in out.splitlines()] == [
        f"Merge ({left}, {right})" for left, right in made.merges.tolist()
    ]
    assert f"bytes per token, chose {made.chosen.numbers.tolist().count(2)} merges." in err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--parallel", "de"], "is not NAME=FILE"),
        (["--ratios", "de=x"], "is not NAME=R"),
        (["--ratios", "de=0"], "must be a number above 0"),
        (["--parallel", "de=missing.txt"], "missing.txt"),
        (["--window", "0"], "The window must be at least 1"),
    ],
)
def test_bad_input(files, capsys, more, message):
    try:
        code = run(files, *more)
    except SystemExit as stopped:
        code = stopped.code
    assert code != 0
    assert message in capsys.readouterr().err


def test_one_text_is_refused(files, capsys):
    assert run(files[:1]) != 0
    assert "at least two languages" in capsys.readouterr().err
