"""`tokstudio train --algorithm superbpe`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest

from tests.core.algorithms import SUPERBPE_TEXT as TEXT
from tests.core.algorithms import superbpe
from tokstudio import Corpus, cli, train
from tokstudio.core.formats.loading import load

STAGES = ["--pattern", "gpt2", "--transition", "290"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8", newline="\n")
    return str(path)


def run(file, *more, stages=STAGES, size="330"):
    return cli.main(["train", file, "--algorithm", "superbpe", "--vocab-size", size, *stages, *more])


def test_the_settings_reach_the_core(file, tmp_path, capsys):
    target = tmp_path / "tokenizer.json"
    more = ["--max-words", "2", "--second-pattern", r"\d+", "--special", "<s>", "--json"]
    assert run(file, *more, "--export", f"huggingface={target}") == 0
    expected = train(Corpus.from_text(TEXT), superbpe(max_words=2, second_pattern=r"\d+", special_tokens=["<s>"]))
    out, err = capsys.readouterr()
    outcome = json.loads(out)
    assert (outcome["merges"], outcome["second_stage_merges"]) == (len(expected.merges), len(expected.merges) - 33)
    assert outcome["bytes_per_token"] == expected.run.bytes_per_token()
    assert err == ""
    assert load(target).encode(TEXT) == expected.encode(TEXT)


def test_merges_of_both_stages_are_printed(file, capsys):
    assert run(file, "--print-merges") == 0
    out, err = capsys.readouterr()
    assert err.endswith("Of the merges, stage 1 made 34 and stage 2 40.\n")
    assert [line.partition(" into")[0] for line in out.splitlines()] == [
        f"Merge ({left}, {right})" for left, right in train(Corpus.from_text(TEXT), superbpe()).merges.tolist()
    ]


def test_an_end_in_stage_1_is_told(file, capsys):
    assert run(file, "--quiet", "--json", stages=["--pattern", "gpt2", "--transition", "900"], size="1000") == 0
    outcome = json.loads(capsys.readouterr().out)
    assert (outcome["ended"], outcome["second_stage_merges"]) == ("nothing left to merge", 0)
    assert run(file, stages=["--pattern", "gpt2", "--transition", "900"], size="1000") == 0
    assert (
        "Stage 2 did not begin, as stage 1 ended before it: choose a transition of at most 309."
        in capsys.readouterr().err
    )


def test_losses_of_the_second_pattern_are_told_before_training(file, tmp_path, capsys):
    assert run(file, "--export", f"gpt2={tmp_path}") == 1
    err = capsys.readouterr().err
    assert "programs that read this format split text as GPT-2 does" in err
    assert "Trained in" not in err


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        (["--pattern", "gpt2"], "SuperBPE needs a transition"),
        (["--transition", "290"], "SuperBPE needs a pattern for its first stage"),
        (["--pattern", "gpt2", "--transition", "100"], "transition must be at least 256, not 100"),
        (["--pattern", "gpt2", "--transition", "330"], "transition must be below the vocabulary size"),
        ([*STAGES, "--max-words", "0"], "most words of a token must be at least 1"),
        ([*STAGES, "--second-pattern", "("], "second pattern cannot be used"),
        ([*STAGES, "--window", "5"], "only be set for Parity-aware BPE"),
        ([*STAGES, "--base", "characters"], "SuperBPE needs bytes"),
    ],
)
def test_bad_input(file, capsys, stages, message):
    assert run(file, stages=stages) == 1
    assert message in capsys.readouterr().err


def test_its_settings_need_the_algorithm(file, capsys):
    assert cli.main(["train", file, "--vocab-size", "300", "--transition", "280"]) == 1
    assert '"transition" can only be set for SuperBPE' in capsys.readouterr().err


def test_counted_words_are_refused(tmp_path, capsys):
    counts = tmp_path / "words.tsv"
    counts.write_text("the\t12\nend\t5\n", encoding="utf-8")
    assert cli.main(["train", "--counts", str(counts), "--algorithm", "superbpe", "--vocab-size", "330", *STAGES]) == 1
    assert "has word counts, but SuperBPE splits text in two ways" in capsys.readouterr().err
