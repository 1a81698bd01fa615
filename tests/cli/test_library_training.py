"""`tokstudio train --algorithm` with the algorithms of other libraries."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import signal

import pytest
from fifty import FIFTY

from tests.processes import started_processes
from tokstudio import Corpus, LibraryConfig, cli, load, train_by_library
from tokstudio.cli.arguments.training import LIBRARY_ALGORITHMS
from tokstudio.core.base import subprocesses
from tokstudio.core.library_training import config


def run(text, algorithm, *more):
    try:
        return cli.main(["train", text, "--algorithm", algorithm, *more])
    except SystemExit as stopped:
        return stopped.code


def test_the_algorithms_are_those_of_the_core():
    assert LIBRARY_ALGORITHMS == config.LIBRARY_ALGORITHMS


@pytest.mark.parametrize(
    ("algorithm", "format", "name", "more"),
    [
        ("wordpiece", "huggingface", "tokenizer.json", ["--min-frequency", "2", "--continuing-prefix", "@@"]),
        ("unigram", "huggingface", "tokenizer.json", ["--unknown-token", "<?>"]),
        ("sentencepiece-bpe", "sentencepiece", "x.model", ["--character-coverage", "1"]),
        ("sentencepiece-unigram", "sentencepiece", "x.model", ["--byte-fallback"]),
    ],
)
def test_a_trained_tokenizer_is_exported_and_opened(text, tmp_path, capsys, algorithm, format, name, more):
    target = tmp_path / name
    exports = ["--export", f"{format}={target}", "--export", f"vocabulary-csv={tmp_path / 'v.csv'}"]
    assert run(text, algorithm, "--vocab-size", "320", "--special", "<|x|>", "--json", *more, *exports) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["files"] == [str(target), str(tmp_path / "v.csv")]
    assert (outcome["algorithm"], outcome["lines"]) == (algorithm, FIFTY.count("\n") + (FIFTY[-1] != "\n"))
    opened = load(target)
    assert outcome["vocabulary_size"] == len(opened) == len((tmp_path / "v.csv").read_text("utf-8").splitlines()) - 1
    assert len(opened.encode("<|x|>", "all")) <= 2
    tokens = {bytes(token) for token in opened.tokens if token}
    assert (b"<?>" in tokens) == ("<?>" in more)
    assert any(token.startswith(b"@@") for token in tokens) == ("@@" in more)


def test_the_settings_reach_the_core(text, tmp_path):
    target = tmp_path / "x.model"
    more = ["--vocab-size", "310", "--byte-fallback", "--special", "a,b", "--held-out", "0.2", "--weight", "0=2"]
    (tmp_path / "lines.txt").write_text("\n".join(FIFTY.split() * 2), "utf-8")
    lines = str(tmp_path / "lines.txt")
    assert run(lines, "sentencepiece-bpe", *more, "--export", f"sentencepiece={target}", "-q") == 0
    settings = {"byte_fallback": True, "special_tokens": ["a,b"], "held_out": 0.2}
    expected = train_by_library(
        Corpus.from_files(lines).with_weights({0: 2}),
        LibraryConfig(algorithm="sentencepiece-bpe", vocabulary_size=310, **settings),
    )
    assert target.read_bytes() == expected.files["tokenizer.model"]


def test_what_is_told(tmp_path, capsys):
    path = tmp_path / "lines.txt"
    path.write_bytes(b"low lower\n" * 30 + b"z\xe2\x96\x85\n" + b"newest\n" * 30)
    assert run(str(path), "sentencepiece-bpe", "--vocab-size", "500", "--held-out", "0.1") == 0
    told = capsys.readouterr().err
    assert "Trained SentencePiece BPE by sentencepiece " in told
    assert "found no more tokens in this text; 500 were wanted." in told
    assert "passed over 1 line:" in told
    assert "Held-out text: " in told
    assert "another order" not in told
    assert run(str(path), "wordpiece", "--vocab-size", "500") == 0
    assert "in another order each time" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("algorithm", "more", "code", "message"),
    [
        ("unigram", [], 2, "--algorithm unigram needs --vocab-size"),
        ("unigram", ["--pattern", "gpt2"], 2, "--pattern is not for --algorithm unigram: its library splits text"),
        ("wordpiece", ["--tie-break", "bytes"], 2, "its library has its own rule"),
        ("wordpiece", ["--max-token-bytes", "9"], 2, "its library has no such setting"),
        ("unigram", ["--window", "9"], 2, "its library has no such setting"),
        ("unigram", ["--counts", "x.txt"], 2, "give texts"),
        ("unigram", ["--print-merges"], 2, "does not tell"),
        ("bpe", ["--byte-fallback"], 2, "--byte-fallback is only for --algorithm sentencepiece-bpe"),
        ("unigram", ["--vocab-size", "300", "--min-frequency", "2"], 1, "only be set for the algorithm wordpiece"),
        ("unigram", ["--vocab-size", "300", "--weight", "0=0.5"], 1, "whole numbers"),
        ("unigram", ["--vocab-size", "300", "--export", "gpt2=there"], 1, "Export it as huggingface."),
        ("sentencepiece-bpe", ["--vocab-size", "300", "--export", "huggingface=x"], 1, "Export it as sentencepiece."),
        ("sentencepiece-bpe", ["--vocab-size", "300", "--export", "merges-csv=x"], 1, "does not tell its merges"),
        ("sentencepiece-bpe", ["--vocab-size", "9"], 1, "the vocabulary size must be at least"),
        ("wordpiece", ["--vocab-size", "0"], 1, "Vocabulary size must be from 1"),
    ],
)
def test_bad_input(text, tmp_path, monkeypatch, capsys, algorithm, more, code, message):
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    assert run(text, algorithm, *more) == code
    assert message in capsys.readouterr().err
    assert set(tmp_path.iterdir()) == before


def test_an_interruption_ends_the_process_and_writes_nothing(text, tmp_path, monkeypatch, capsys):
    started, exchange = started_processes(monkeypatch), subprocesses._exchange

    def interrupted(process, request, question):
        if request.settings is None:
            signal.raise_signal(signal.SIGINT)
        return exchange(process, request, question)

    monkeypatch.setattr(subprocesses, "_exchange", interrupted)
    # It would train for some seconds.
    (tmp_path / "long.txt").write_text("ab" * 12_000)
    target = tmp_path / "x.model"
    more = ["--vocab-size", "30", "--export", f"sentencepiece={target}"]
    assert run(str(tmp_path / "long.txt"), "sentencepiece-unigram", *more) == 130
    assert "Interrupted." in capsys.readouterr().err
    assert started[0].poll() is not None
    assert not target.exists()
