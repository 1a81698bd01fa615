"""The command `train`: what it prints, writes and returns."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import json
import re
import sys

import pytest
from fifty import FIFTY_LINES

from tokstudio import Corpus, Trainer, TrainingConfig, cli, train
from tokstudio.cli import training
from tokstudio.cli.process import terminal
from tokstudio.core.base.progress import Progress, finish
from tokstudio.core.corpus.sampling import sample_work
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.model.algorithms import TIE_BREAKS
from tokstudio.core.training import forecast


def test_the_fifty_merges_are_printed_in_the_words_of_the_source(text, capsys):
    assert len(FIFTY_LINES) == 50
    assert cli.main(["train", text, "--vocab-size", "306", "--print-merges"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == FIFTY_LINES
    assert re.fullmatch(
        r"Trained in \d+\.\d s: reached vocabulary size\. 50 merges, 2\.27 bytes per token, 333 -> 147 tokens\.\n",
        printed.err,
    )


def test_json_is_one_object_and_merges_go_to_standard_error(text, tmp_path, capsys):
    path = tmp_path / "made.json"
    arguments = ["train", text, "--vocab-size", "306", "--json", "--print-merges", "--export", f"huggingface={path}"]
    assert cli.main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.err.splitlines() == FIFTY_LINES
    result = json.loads(printed.out)
    seconds = result.pop("seconds")
    assert isinstance(seconds, float)
    assert seconds >= 0
    assert result == {
        "merges": 50,
        "vocabulary_size": 306,
        "ended": "reached vocabulary size",
        "tokens": 147,
        "bytes_per_token": pytest.approx(333 / 147),
        "files": [str(path)],
    }


def test_json_of_a_training_that_merges_nothing(tmp_path, capsys):
    path = tmp_path / "one.txt"
    path.write_text("a")
    assert cli.main(["train", str(path), "--vocab-size", "300", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["merges"], result["vocabulary_size"], result["tokens"]) == (0, 256, 1)
    assert result["ended"] == "nothing left to merge"


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
def test_the_settings_reach_the_core(tmp_path, capsys, tie_break):
    texts = ["baab abba\n", "zyzy aabb\n", "abzy"]
    path = tmp_path / "lines.txt"
    path.write_text("".join(texts))
    arguments = ["--min-frequency", "2", "--tie-break", tie_break, "--max-token-bytes", "3", "--documents", "line"]
    assert cli.main(["train", str(path), *arguments, "--print-merges"]) == 0
    config = TrainingConfig(min_frequency=2, tie_break=tie_break, max_token_bytes=3)
    expected = train(Corpus.from_texts(texts), config).merges.tolist()
    printed = capsys.readouterr().out.splitlines()
    assert [list(map(int, re.findall(r"\d+", line))) for line in printed] == [
        [*pair, token] for token, pair in enumerate(expected, 256)
    ]


def test_standard_input_keeps_its_position_among_the_files(tmp_path, typed, capsys):
    first, last = tmp_path / "first.txt", tmp_path / "last.txt"
    first.write_text("abab")
    last.write_text("cdcd")
    typed("éé".encode("utf-16"))
    assert cli.main(["train", str(first), "-", str(last), "--vocab-size", "270", "--print-merges"]) == 0
    expected = train(Corpus.from_texts(["abab", "éé", "cdcd"]), TrainingConfig(vocabulary_size=270)).merges
    printed = capsys.readouterr()
    assert printed.out.count("\n") == len(expected)
    assert printed.out.startswith("Merge ({}, {}) ".format(*expected[0]))
    assert "standard input: read as utf-16-le; byte order mark dropped.\n" in printed.err


def test_the_encoding_can_be_given(tmp_path, capsys):
    path = tmp_path / "old.txt"
    path.write_bytes(b"\xe9\xe9")
    arguments = ["--vocab-size", "257", "--print-merges"]
    assert cli.main(["train", str(path), "--encoding", "windows-1252", *arguments]) == 0
    assert capsys.readouterr().out == "Merge (195, 169) into a new token 256\n"
    assert cli.main(["train", str(path), "--encoding", "bytes", *arguments]) == 0
    assert capsys.readouterr().out == "Merge (233, 233) into a new token 256\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Set a vocabulary size, a minimum frequency, or both."),
        (["--vocab-size", "256"], "Vocabulary size must be greater than 256."),
        (["--min-frequency", "1"], "Minimum frequency must be at least 2."),
        (["--vocab-size", "300", "--encoding", "klingon"], "Unknown encoding 'klingon'"),
    ],
)
def test_invalid_settings_give_the_core_error(text, capsys, arguments, words):
    assert cli.main(["train", text, *arguments]) == 1
    assert capsys.readouterr().err.startswith(f"tokstudio: {words}")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--vocab-size", "many"],
        ["--tie-break", "coin"],
        ["--export", "tokenizer.json"],
        ["--export", "classic="],
        ["--export", "papyrus=scroll"],
    ],
)
def test_arguments_that_make_no_sense_are_wrong_usage(text, capsys, arguments):
    assert cli.main(["train", text, "--min-frequency", "2", *arguments]) == 2
    assert capsys.readouterr().err.startswith("usage: tokstudio train")


def test_standard_input_is_read_once_only(typed, capsys):
    typed(b"text")
    assert cli.main(["train", "-", "-", "--vocab-size", "300"]) == 2
    assert "once" in capsys.readouterr().err


def test_a_text_that_is_missing_or_empty_is_named(tmp_path, typed, capsys):
    assert cli.main(["train", str(tmp_path / "missing.txt"), "--vocab-size", "300"]) == 1
    assert capsys.readouterr().err == "tokstudio: missing.txt: no such file or folder.\n"
    typed(b"")
    assert cli.main(["train", "-", "--vocab-size", "300"]) == 1
    assert capsys.readouterr().err == "tokstudio: standard input: it has no text.\n"


def test_a_folder_to_export_to_that_is_missing_is_said_before_training(text, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Trainer, "advance", lambda *_: pytest.fail("trained"))
    target = tmp_path / "nowhere" / "tokenizer.json"
    assert cli.main(["train", text, "--vocab-size", "300", "--export", f"huggingface={target}"]) == 1
    assert capsys.readouterr().err.startswith(f"tokstudio: tokenizer.json: the folder {target.parent} does not exist")


def test_losses_are_refused_before_the_first_merge(text, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(training, "_merge", lambda *_: pytest.fail("merged"))
    out = tmp_path / "out"
    arguments = ["train", text, "--vocab-size", "300", "--special", "<|end|>", "--export", f"classic={out}"]
    assert cli.main(arguments) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"tokstudio: out: {FORMATS['classic'].title} cannot hold all of this tokenizer. ")
    assert said.endswith(" Add --accept-loss to export anyway, with losses.\n")
    assert not out.exists()


def test_an_accepted_loss_is_reported(text, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = ["train", text, "--vocab-size", "300", "--special", "<|end|>", "--export", f"classic={out}"]
    assert cli.main([*arguments, "--accept-loss"]) == 0
    assert len(json.loads((out / "merges.json").read_text())["merges"]) == 43
    exported, *losses = capsys.readouterr().err.splitlines()[1:]
    assert exported.startswith("Exported ")
    assert losses
    assert all(loss.startswith("out: ") for loss in losses)


def test_a_format_that_cannot_hold_characters_is_refused_before_the_first_merge(text, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(training, "_merge", lambda *_: pytest.fail("merged"))
    arguments = ["train", text, "--vocab-size", "300", "--base", "characters", "--pattern", "gpt2"]
    for accepted in ([], ["--accept-loss"]):
        assert cli.main([*arguments, *accepted, "--export", f"classic={tmp_path / 'out'}"]) == 1
        said = capsys.readouterr().err
        assert said.startswith("tokstudio: out: ")
        # No loss that is accepted would help.
        assert "--accept-loss" not in said


def test_a_training_that_would_not_fit_is_refused(text, monkeypatch, capsys):
    for module in (training, forecast):
        monkeypatch.setattr(module, "free_memory", lambda: 100)
    assert cli.main(["train", text, "--vocab-size", "300"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("tokstudio: This training would take about ")
    # No text is so small that it fits into nothing.
    assert said.endswith(" add --force to try anyway.\n")
    assert cli.main(["train", text, "--vocab-size", "300", "--force"]) == 0
    assert "44 merges" in capsys.readouterr().err


def test_a_sample_is_taken_from_all_over_the_texts_in_whole_lines(tmp_path, capsys):
    lines = [f"line {number} of the text\n" for number in range(4_000)]
    text = tmp_path / "lines.txt"
    text.write_text("".join(lines))
    taken = finish(sample_work(Corpus.from_files([text]), 20_000))
    raw = taken.sources[0].data.tobytes().decode()
    kept = raw.splitlines(keepends=True)
    numbers = [lines.index(line) for line in kept]
    assert numbers == sorted(numbers)
    assert (numbers[0], numbers[-1] > 3_000) == (0, True)
    assert taken.documents == 4
    assert cli.main(["train", str(text), "--vocab-size", "300", "--sample-bytes", "20000"]) == 0
    said = capsys.readouterr().err
    assert f"Training on a sample of {len(raw):,} of {text.stat().st_size:,} bytes." in said
    assert cli.main(["train", str(text), "--vocab-size", "300", "--sample-bytes", "999999"]) == 0
    assert "sample" not in capsys.readouterr().err


@pytest.mark.parametrize("others", [["--sample-bytes", "0"], ["--sample-bytes", "9", "--counts", "counts.tsv"]])
def test_an_invalid_sample_size_is_wrong_usage(text, others):
    assert cli.main(["train", text, "--vocab-size", "300", *others]) == 2


def test_word_counts_are_refused_only_where_they_do_not_fit(tmp_path, monkeypatch, capsys):
    counts = tmp_path / "counts.tsv"
    counts.write_text("the cat\t1000000000\na hat\t3\n")
    arguments = ["train", "--counts", str(counts), "--vocab-size", "258"]
    for free, code in ((100, 1), (2_000, 0)):
        for module in (training, forecast):
            monkeypatch.setattr(module, "free_memory", lambda free=free: free)
        assert cli.main(arguments) == code
        assert ("is free: leave out the rarest words. Or add --force" in capsys.readouterr().err) == bool(code)


def test_other_forecast_problems_are_reported_by_the_training(text, monkeypatch, capsys):
    # 333 bytes times 200 do not fit for certain, but they do.
    for module in (training, forecast):
        monkeypatch.setattr(module, "free_memory", lambda: 66_000)
    assert cli.main(["train", text, "--vocab-size", "300"]) == 0
    capsys.readouterr()
    assert cli.main(["train", text, "--vocab-size", "300", "--held-out", "0.5"]) == 1
    assert capsys.readouterr().err == (
        "tokstudio: The corpus has 5 lines, and holding out a share needs at least 20: set the held-out share to 0.\n"
    )


def test_a_failed_export_does_not_prevent_others(text, tmp_path, slow_trainer, capsys):
    taken, good = tmp_path / "taken", tmp_path / "good.json"
    slow_trainer(lambda: taken.write_text("a file where a folder should be"))
    exports = ["--export", f"classic={taken}", "--export", f"huggingface={good}"]
    assert cli.main(["train", text, "--vocab-size", "300", "--json", *exports]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith("tokstudio: ")
    assert json.loads(printed.out)["files"] == [str(good)]
    assert good.exists()
    assert taken.read_text() == "a file where a folder should be"


def test_quiet_says_nothing_but_errors(text, tmp_path, capsys):
    arguments = ["train", text, "--vocab-size", "300", "--export", f"classic={tmp_path / 'out'}", "--quiet"]
    assert cli.main(arguments) == 0
    assert capsys.readouterr() == ("", "")
    assert cli.main(["train", text, "--quiet"]) == 1
    assert capsys.readouterr().err


class Terminal(io.StringIO):
    """A standard error that someone looks at."""

    def isatty(self):
        return True


def test_progress_is_one_line_on_a_terminal_and_gone_at_the_end(text, slow_trainer, monkeypatch):
    monkeypatch.setattr(terminal, "_REFRESH", -1)
    monkeypatch.setattr(sys, "stderr", Terminal())
    slow_trainer(lambda: None)
    assert cli.main(["train", text, "--vocab-size", "306"]) == 0
    shown = sys.stderr.getvalue()
    states = shown.split("\r")
    assert any(re.fullmatch(r"Merging \d+ %, 25 merges *", state) for state in states)
    assert states[-2].strip() == ""
    assert re.fullmatch(r"Trained in .*\n", states[-1])


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""

    class Clock:
        now = 1000.0

        def monotonic(self):
            return self.now

    made = Clock()
    monkeypatch.setattr(terminal, "time", made)
    return made


@pytest.mark.parametrize(
    ("seconds", "done", "words"),
    [
        (4, 500, ""),
        (6, 500, ", about 6 s left"),
        (6, 10, ""),
        (60, 250, ", about 3 min left"),
    ],
)
def test_the_time_left_is_shown_after_a_while(clock, monkeypatch, seconds, done, words):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with terminal.Console(chatty=True) as console:
        clock.now += 100
        console.show(Progress("counting", 900, 1000))
        # What the phase before it has taken says nothing of this one.
        console.show(Progress("merging", 0, 1000))
        clock.now += seconds
        console.show(Progress("merging", done, 1000), ", 7 merges")
        last = sys.stderr.getvalue().split("\r")[-1].rstrip()
    assert last == f"Merging {done // 10} %, 7 merges{words}"


def test_the_time_left_restarts_with_each_file(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with terminal.Console(chatty=True) as console:
        for _ in range(2):
            console.show(Progress("reading", 1, 10))
            clock.now += 4
            console.show(Progress("reading", 9, 10))
    assert "left" not in sys.stderr.getvalue()


def test_printed_merges_and_progress_do_not_share_a_screen(text, slow_trainer, monkeypatch):
    monkeypatch.setattr(terminal, "_REFRESH", -1)
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    slow_trainer(lambda: None)
    assert cli.main(["train", text, "--vocab-size", "306", "--print-merges"]) == 0
    assert "Merging" not in sys.stderr.getvalue()


def test_a_binary_file_is_refused_and_trained_on_as_bytes(tmp_path, typed, capsys):
    data = bytes(range(256)) * 20
    (tmp_path / "a.bin").write_bytes(data)
    sentence = 'this is binary data, not text; use the encoding "bytes" to read it anyway.'
    assert cli.main(["train", str(tmp_path / "a.bin"), "--vocab-size", "258"]) == 1
    assert f"a.bin: {sentence} On the command line: --encoding bytes." in capsys.readouterr().err
    arguments = ["train", str(tmp_path / "a.bin"), "--vocab-size", "258", "--encoding", "bytes", "--json"]
    assert cli.main(arguments) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["merges"] == 2
    typed(data)
    assert cli.main(["train", "-", "--vocab-size", "258"]) == 1
    assert f"standard input: {sentence}" in capsys.readouterr().err
    # Bytes as characters: each that is not UTF-8 becomes U+FFFD, which is said.
    assert cli.main([*arguments[:-1], "--base", "characters"]) == 0
    assert "byte sequences were not UTF-8 and became U+FFFD" in capsys.readouterr().err


def test_skipped_files_and_dropped_rows_are_reported(tmp_path, typed, capsys):
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"text": "the cat"}\n{"id": 1}\n{"text": "the hat"}\n')
    (folder / "b.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "c.txt").touch()
    assert cli.main(["train", str(folder), "--vocab-size", "258"]) == 0
    said = capsys.readouterr().err
    assert "texts: 2 files skipped: b.png (binary), c.txt (empty)." in said
    assert "a.jsonl: column text; 1 row without the column dropped." in said
    typed(b'{"text": "the cat"}\n{"text": 5}\n{"text": "the hat"}\n')
    assert cli.main(["train", "-", "--vocab-size", "258"]) == 0
    assert "standard input: column text; 1 row with no text in the column dropped." in capsys.readouterr().err


def test_a_tokenizer_that_is_trained_on_by_mistake_is_told(tmp_path, capsys):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nhello\nhello\n")
    (tmp_path / "words.txt").write_text("hello hello hello\n")
    for name, told in (("vocab.txt", True), ("words.txt", False)):
        assert cli.main(["train", str(tmp_path / name), "--vocab-size", "260"]) == 0
        said = f"{name}: this is a tokenizer; it is read as a text all the same."
        assert (said in capsys.readouterr().err) == told


@pytest.mark.parametrize("algorithm", ["bpe", "picky", "wordpiece"])
def test_a_vocabulary_that_stays_smaller_than_wanted_is_said(text, capsys, algorithm):
    words = ["train", text, "--vocab-size", "10000000", "--algorithm", algorithm]
    if algorithm == "wordpiece":
        words[3] = "1000"
    assert cli.main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ended"] == "nothing left to merge"
    if algorithm != "wordpiece":
        assert cli.main(words) == 0
        told_in_words = capsys.readouterr().err
        assert (
            f" The vocabulary has {told['vocabulary_size']:,} tokens, not the 10,000,000 that were wanted: no pair is "
            "left that can be merged."
        ) in told_in_words
