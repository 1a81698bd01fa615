"""The command `train --weight`: how much each text counts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest

from tokstudio import Corpus, Tokenizer, TrainingConfig, cli, train


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "en.txt").write_text("the cat and the hat " * 40)
    (tmp_path / "de.txt").write_text("die Katze und der Hut " * 40)
    return [str(tmp_path / "en.txt"), str(tmp_path / "de.txt")]


def trained(arguments, capsys):
    """The result as JSON and as a summary."""
    said = []
    for more in (["--json"], []):
        assert cli.main(["train", *arguments, "--vocab-size", "280", "--pattern", "gpt2", *more]) == 0
        said.append(capsys.readouterr())
    return json.loads(said[0].out), said[1].err


def core(texts, weights):
    corpus = Corpus.from_files(texts).with_weights(weights)
    return train(corpus, TrainingConfig(vocabulary_size=280, pattern="gpt2")).run


@pytest.mark.parametrize("given", ["de.txt=0.5", "1=0.5"])
def test_a_weight_reaches_the_core_and_the_summary_by_name_or_by_number(texts, capsys, given):
    run = core(texts, {"de.txt": 0.5})
    result, said = trained([*texts, "--weight", given], capsys)
    assert result["tokens"] == int(run.tokens_after[-1]) / 1000
    assert result["bytes_per_token"] == run.bytes_per_token()
    ratios = [size / tokens for size, tokens in zip((800, 880), tokens_of(run, texts), strict=True)]
    assert result["sources"] == [
        {"name": "en.txt", "weight": 1, "bytes_per_token": pytest.approx(ratios[0])},
        {"name": "de.txt", "weight": 0.5, "bytes_per_token": pytest.approx(ratios[1])},
    ]
    assert f"de.txt: weight 0.5, {ratios[1]:.2f} bytes per token." in said
    assert f"{run.tokens_before / 1000:,.0f} -> {result['tokens']:,} tokens." in said


def tokens_of(run, texts):
    tokenizer = Tokenizer.from_run(run)
    return [len(tokenizer.encode(source.data.tobytes())) for source in Corpus.from_files(texts).sources]


def test_a_sample_keeps_the_weights(texts, capsys):
    result, _ = trained([*texts, "--weight", "de.txt=0", "--sample-bytes", "900"], capsys)
    assert [source["weight"] for source in result["sources"]] == [1, 0]


def test_without_weights_there_are_none_in_the_result(texts, capsys):
    result, said = trained(texts, capsys)
    assert "sources" not in result
    assert "weight" not in said


@pytest.mark.parametrize(
    ("weight", "words", "code"),
    [
        ("fr.txt=2", 'There is no source "fr.txt". The corpus has: "en.txt", "de.txt".', 1),
        ("2=2", "There is no source 2: the corpus has 2, counted from 0.", 1),
        ("de.txt=-1", "The weight of de.txt must be a number from 0 to 1,000, not -1.0.", 1),
        ("de.txt=nan", "The weight of de.txt must be a number from 0 to 1,000, not nan.", 1),
        ("de.txt", '"de.txt" is not NAME=W, such as de.txt=3', 2),
        ("de.txt=0,5", '"0,5" has a comma: write 0.5', 2),
        ("de.txt=two", '"de.txt=two" is not NAME=W, such as de.txt=3', 2),
    ],
)
def test_an_invalid_weight_is_told(texts, capsys, weight, words, code):
    try:
        given = cli.main(["train", *texts, "--vocab-size", "280", "--weight", weight])
    except SystemExit as end:
        given = end.code
    assert given == code
    assert words in capsys.readouterr().err


def test_a_file_whose_name_is_a_number_is_named_by_it(tmp_path, texts, capsys):
    (tmp_path / "0").write_text("another text")
    result, _ = trained([*texts, str(tmp_path / "0"), "--weight", "0=7"], capsys)
    assert [source["weight"] for source in result["sources"]] == [1, 1, 7]
