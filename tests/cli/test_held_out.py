"""The command `train` with a held-out share: its report, and interruptions of the measuring."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import signal

import pytest

from tokstudio import Trainer, TrainingConfig, cli
from tokstudio.cli import reading
from tokstudio.core.corpus.corpus import Corpus

LINES = [
    f"line {number} of the text, where {'abc' * (number % 5)} stands{'<|end|>' * (number % 2)}\n"
    for number in range(40)
]


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("".join(LINES))
    return path


def held_out_of(path, **settings):
    """The documents that the core holds out, and a tokenizer trained on the others."""
    trainer = Trainer(Corpus.from_files([path]), TrainingConfig(held_out=0.1, **settings))
    for _ in trainer:
        pass
    return list(Corpus(trainer.prepared.held_out).iter_documents()), trainer.tokenizer()


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_held_out_text_is_measured_without_its_special_tokens(lines, capsys, pattern):
    documents, tokenizer = held_out_of(lines, vocabulary_size=300, special_tokens=["<|end|>"], pattern=pattern)
    pieces = [piece for document in documents for piece in bytes(document).split(b"<|end|>")]
    text, tokens = sum(map(len, pieces)), sum(len(tokenizer.encode(piece)) for piece in pieces if piece)
    arguments = ["train", str(lines), "--vocab-size", "300", "--held-out", "0.1", "--special", "<|end|>"]
    arguments += ["--pattern", pattern]
    assert cli.main([*arguments, "--json"]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["held_out_bytes_per_token"] == pytest.approx(text / tokens)
    assert outcome["tokens"] == tokenizer.run.tokens_after[-1]
    assert cli.main(arguments) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[0] == f"Held out: {sum(map(len, documents)):,} bytes."
    assert told[-1] == f"Held-out text: {text / tokens:.2f} bytes per token, {text:,} bytes -> {tokens:,} tokens."


@pytest.mark.parametrize(
    "words",
    [
        ["train", "a.txt", "--held-out"],
        ["train", "a.txt", "--algorithm", "picky", "--threshold"],
        ["train", "a.txt", "--algorithm", "parity", "--window", "100", "--alpha"],
        ["train", "a.txt", "--algorithm", "sentencepiece-bpe", "--character-coverage"],
        ["encode", "--tokenizer", "a.json", "--text", "a", "--dropout"],
    ],
)
def test_a_decimal_comma_is_told_how_it_is_written(words, capsys):
    for typed, told in (("0,5", '"0,5" has a comma: write 0.5'), ("half", '"half" is not a number, such as 0.1')):
        assert cli.main([*words, typed]) == 2
        assert capsys.readouterr().err.endswith(f"argument {words[-1]}: {told}\n")


def test_without_a_share_no_held_out_result_is_printed(lines, capsys):
    assert cli.main(["train", str(lines), "--vocab-size", "300", "--json"]) == 0
    assert "held_out_bytes_per_token" not in json.loads(capsys.readouterr().out)
    assert cli.main(["train", str(lines), "--vocab-size", "300"]) == 0
    assert "eld" not in capsys.readouterr().err


def test_a_share_that_is_too_small_holds_nothing_out(lines, capsys):
    arguments = ["train", str(lines), "--vocab-size", "300", "--held-out", "0.001"]
    assert cli.main(arguments) == 0
    assert "Held out: nothing, because the share is too small.\n" in capsys.readouterr().err
    assert cli.main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["held_out_bytes_per_token"] is None


def test_a_character_only_in_held_out_text_does_not_stop_training(lines, tmp_path, capsys):
    documents, _ = held_out_of(lines, vocabulary_size=300)
    lines.write_text("".join(LINES).replace(bytes(documents[0]).decode(), "ж" * (len(documents[0]) // 2) + "\n"))
    out = tmp_path / "out.json"
    arguments = ["train", str(lines), "--min-frequency", "2", "--held-out", "0.1", "--base", "characters"]
    assert cli.main([*arguments, "--export", f"vocabulary-csv={out}"]) == 0
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith('The held-out text cannot be measured. The character "ж" (U+0436) is not in the vocabulary')
    assert out.exists()


def test_measuring_can_be_interrupted_and_loses_nothing_else(lines, tmp_path, monkeypatch, capsys):
    def interrupted(*_):
        signal.raise_signal(signal.SIGINT)
        yield
        pytest.fail("went on")

    monkeypatch.setattr(reading, "measure_work", interrupted)
    out = tmp_path / "out.csv"
    arguments = ["train", str(lines), "--vocab-size", "300", "--held-out", "0.1", "--export", f"merges-csv={out}"]
    assert cli.main([*arguments, "--json"]) == 130
    outcome = json.loads(capsys.readouterr().out)
    assert (outcome["merges"], outcome["held_out_bytes_per_token"]) == (44, None)
    assert out.exists()
    assert cli.main([*arguments, "--force"]) == 130
    assert capsys.readouterr().err.endswith("Interrupted: the held-out text was not measured.\n")


def test_an_interrupted_training_does_not_wait_for_it(lines, slow_trainer, monkeypatch, capsys):
    monkeypatch.setattr(reading, "measure_work", lambda *_: pytest.fail("measured"))
    slow_trainer(lambda: signal.raise_signal(signal.SIGINT))
    assert cli.main(["train", str(lines), "--vocab-size", "300", "--held-out", "0.1", "--json"]) == 130
    assert json.loads(capsys.readouterr().out)["held_out_bytes_per_token"] is None
