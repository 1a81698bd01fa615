"""The command `train`: its options, compared with the core, and what it prints, writes and returns."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import json
import re
import signal
import sys
from pathlib import Path

import pytest

from tests.cli.fifty import FIFTY, FIFTY_LINES
from tokstudio import Corpus, Trainer, TrainingConfig, how_much_text, train
from tokstudio.cli import reading, training
from tokstudio.cli.process import terminal
from tokstudio.core.base.progress import Progress, finish
from tokstudio.core.corpus.sampling import sample_work
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.model.algorithms import TIE_BREAKS
from tokstudio.core.model.config import PLACEMENTS
from tokstudio.core.pretokenization.patterns import NAMES
from tokstudio.core.training import forecast

GOLDENS = Path(__file__).parents[1] / "data" / "goldens.json"
GOLDEN = next(
    case for case in json.loads(GOLDENS.read_text(encoding="utf-8"))["cases"] if case.get("base") == "characters"
)
UNUSUAL = ["a", "\n", "\r", "\t", "\\", " ", '"', "[", "]", "é", "\u2028", "\x85", "<UNK>"]


@pytest.fixture
def merges_of(run):
    """Trains by the command line, and gives each merge that it prints as left, right and result."""

    def of(*words):
        lines = run(0, "train", *words, "--print-merges").out.splitlines()
        return [[int(number) for number in re.findall(r"\d+", line)] for line in lines]

    return of


@pytest.fixture
def free(monkeypatch):
    """Sets how much memory seems to be free."""

    def arrange(size):
        for module in (training, forecast):
            monkeypatch.setattr(module, "free_memory", lambda: size)

    return arrange


def merges_by_core(corpus, **settings):
    tokenizer = train(corpus, TrainingConfig(**settings))
    merges, results = tokenizer.merges.tolist(), tokenizer.merge_results.tolist()
    return [[*pair, made] for pair, made in zip(merges, results, strict=True)]


def test_the_fifty_merges_are_printed_in_the_words_of_the_source(text, run):
    assert len(FIFTY_LINES) == 50
    printed = run(0, f"train {text} --vocab-size 306 --print-merges")
    assert printed.out.splitlines() == FIFTY_LINES
    ended = r"reached vocabulary size\. 50 merges, 2\.27 bytes per token, 333 -> 147 tokens\.\n"
    assert re.fullmatch(rf"Trained in \d+\.\d s: {ended}", printed.err)


def test_json_is_one_object_and_merges_go_to_standard_error(text, tmp_path, run):
    printed = run(0, f"train {text} --vocab-size 306 --json --print-merges --export huggingface={tmp_path}/made.json")
    assert printed.err.splitlines() == FIFTY_LINES
    result = printed.json
    seconds = result.pop("seconds")
    assert isinstance(seconds, float)
    assert seconds >= 0
    assert result == {
        "merges": 50,
        "vocabulary_size": 306,
        "ended": "reached vocabulary size",
        "tokens": 147,
        "bytes_per_token": pytest.approx(333 / 147),
        "files": [f"{tmp_path}/made.json"],
    }


def test_json_of_a_training_that_merges_nothing(write, run):
    write("one.txt", "a")
    result = run(0, "train one.txt --vocab-size 300 --json").json
    assert (result["merges"], result["vocabulary_size"], result["tokens"]) == (0, 256, 1)
    assert result["ended"] == "nothing left to merge"


@pytest.mark.parametrize(("algorithm", "size"), [("bpe", 10_000_000), ("picky", 10_000_000), ("wordpiece", 1000)])
def test_a_vocabulary_that_stays_smaller_than_wanted_is_said(text, run, algorithm, size):
    words = f"train {text} --vocab-size {size} --algorithm {algorithm}"
    result = run(0, words, "--json").json
    assert result["ended"] == "nothing left to merge"
    told = f"The vocabulary has {result['vocabulary_size']:,} tokens, not the 10,000,000 that were wanted: no pair is"
    assert (told in run(0, words).err) == (algorithm != "wordpiece")


def test_quiet_says_nothing_but_errors(text, run):
    assert run(0, f"train {text} --vocab-size 300 --export classic=out --quiet") == ("", "")
    assert run(1, f"train {text} --quiet").err


# --- Settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
def test_the_settings_reach_the_core(write, merges_of, tie_break):
    texts = ["baab abba\n", "zyzy aabb\n", "abzy"]
    path = write("lines.txt", "".join(texts))
    options = f"--min-frequency 2 --tie-break {tie_break} --max-token-bytes 3 --documents line"
    settings = {"min_frequency": 2, "tie_break": tie_break, "max_token_bytes": 3}
    assert merges_of(path, options) == merges_by_core(Corpus.from_texts(texts), **settings)


@pytest.mark.parametrize("pattern", [*NAMES, r"\w+|\W"])
def test_a_pattern_by_name_or_expression(text, merges_of, pattern):
    expected = merges_by_core(Corpus.from_text(FIFTY), min_frequency=2, pattern=pattern)
    assert merges_of(text, "--min-frequency 2 --pattern", [pattern]) == expected


def test_characters_are_numbered_as_they_appear(write, merges_of, run):
    path = write("text.txt", "xyzxyzé")
    assert merges_of(path, "--base characters --min-frequency 2") == [[0, 1, 4], [4, 2, 5]]
    assert run(0, f"train {path} --base characters --vocab-size 5 --json").json["vocabulary_size"] == 5


@pytest.mark.parametrize("form", ["lines", "crlf", "json", "json without its name"])
def test_a_base_vocabulary_gives_the_result_of_the_source_document(write, merges_of, form):
    entries = GOLDEN["base_vocabulary"]
    lines, listed = "".join(entry + "\n" for entry in entries), json.dumps(entries)
    name, content = {
        "lines": ("base.txt", lines),
        "crlf": ("base.txt", b"\xef\xbb\xbf" + lines.replace("\n", "\r\n").encode()),
        "json": ("base.json", listed),
        "json without its name": ("base.txt", listed),
    }[form]
    texts = [write(f"{number}.txt", sequence) for number, sequence in enumerate(GOLDEN["sequences"])]
    write(name, content)
    size = f"--vocab-size {GOLDEN['target_vocabulary_size']}"
    made = merges_of(texts, f"--base characters --base-vocabulary {name} --unknown-token <UNK> {size}")
    tokens = list(entries)
    for left, right, result in made:
        assert result == len(tokens)
        tokens.append(tokens[left] + tokens[right])
    assert [[tokens[left], tokens[right]] for left, right, _ in made] == GOLDEN["expect_merges_text"]


@pytest.mark.parametrize("name", ["base.txt", "base.json"])
def test_a_base_vocabulary_can_hold_any_character(write, merges_of, name):
    escaped = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\\": r"\\"}
    lines = "\n".join(escaped.get(entry, entry) for entry in UNUSUAL)
    write(name, json.dumps(UNUSUAL) if name.endswith("json") else lines)
    text = write("text", "\t\\a\t\\\r\n\u2028\x85[]")
    made = merges_of(text, f"--base characters --base-vocabulary {name} --min-frequency 2")
    assert made == [[UNUSUAL.index("\t"), UNUSUAL.index("\\"), len(UNUSUAL)]]


def test_a_file_of_lines_may_begin_with_a_bracket(write, merges_of):
    write("base.txt", "[\n]\na\n")
    made = merges_of(write("text", "[a[a]"), "--base characters --base-vocabulary base.txt --vocab-size 4")
    assert made == [[0, 2, 3]]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_special_tokens_have_ids_and_are_not_merged(write, merges_of, run, placement):
    path = write("text.txt", "abab<|end|>abab<|pad|>")
    options = f"--vocab-size 260 --special <|end|> --special <|pad|> --special-placement {placement}"
    first = 256 if placement == "last" else 258
    made = merges_of(path, options)
    assert [result for *_, result in made] == [first, first + 1]
    assert made[0][0] == ord("a") + first - 256
    outcome = run(0, f"train {path} {options} --json").json
    assert (outcome["vocabulary_size"], outcome["bytes_per_token"]) == (260, pytest.approx(8 / 2))


# --- Texts ------------------------------------------------------------------------------------------------------------


def test_standard_input_keeps_its_position_among_the_files(write, typed, run):
    write("first.txt", "abab")
    write("last.txt", "cdcd")
    typed("éé".encode("utf-16"))
    printed = run(0, "train first.txt - last.txt --vocab-size 270 --print-merges")
    expected = train(Corpus.from_texts(["abab", "éé", "cdcd"]), TrainingConfig(vocabulary_size=270)).merges
    assert printed.out.count("\n") == len(expected)
    assert printed.out.startswith("Merge ({}, {}) ".format(*expected[0]))
    assert "standard input: read as utf-16-le; byte order mark dropped.\n" in printed.err
    typed(b"")
    assert run(1, "train - --vocab-size 300").err == "tokstudio: standard input: it has no text.\n"


@pytest.mark.parametrize(("encoding", "pair"), [("windows-1252", "(195, 169)"), ("bytes", "(233, 233)")])
def test_the_encoding_can_be_given(write, run, encoding, pair):
    write("old.txt", b"\xe9\xe9")
    printed = run(0, f"train old.txt --vocab-size 257 --print-merges --encoding {encoding}").out
    assert printed == f"Merge {pair} into a new token 256\n"


def test_changes_of_the_corpus_are_reported(write, run):
    write("text.txt", b"abab<|end|>ab\xffabx\xfe\xfe<|end|>y<?>")
    write("base.txt", "a\nb\n\ufffd\n")
    words = "train text.txt --base characters --base-vocabulary base.txt --min-frequency 2 --encoding bytes"
    words += " --special <|end|> --special <?> --unknown-token <?>"
    assert run(0, words).err.splitlines()[:-1] == [
        "3 byte sequences were not UTF-8 and became U+FFFD: merging begins with characters.",
        "2 characters are not in the base vocabulary and became <?>.",
        "3 special tokens were cut out of the text.",
    ]
    assert run(0, words, "--quiet").err == ""


def test_word_counts_are_a_corpus(write, merges_of, run):
    counts = write("words.tsv", "abc\t5\n bc\t2\n")
    expected = merges_by_core(Corpus.from_counts(counts), min_frequency=2)
    assert merges_of("--counts words.tsv --min-frequency 2") == expected
    told = run(0, "train --counts words.tsv --vocab-size 257 --pattern gpt2").err.splitlines()
    assert told[0] == "words.tsv: counts of 2 words."
    assert told[1].endswith("21 -> 14 tokens.")
    write("counts.tsv", "<|e|>\t10\nab<|e|>\t2\nabc\t5\n")
    words = "train --counts counts.tsv --vocab-size 260 --special <|e|>"
    run(0, words, says="12 special tokens were cut out")


def test_word_counts_come_after_the_texts(write, merges_of):
    text, first, second = write("text", "xyxy"), write("a.tsv", "abc\t2\n"), write("b.jsonl", '["cd", 2]\n')
    sources = Corpus.from_files([text]).sources + Corpus.from_counts(first).sources + Corpus.from_counts(second).sources
    expected = merges_by_core(Corpus(sources), min_frequency=2)
    assert expected[0][:2] == list(b"xy")
    assert merges_of("--counts a.tsv text --counts b.jsonl --min-frequency 2") == expected


def test_a_sample_is_taken_from_all_over_the_texts_in_whole_lines(write, run):
    lines = [f"line {number} of the text\n" for number in range(4_000)]
    text = write("lines.txt", "".join(lines))
    taken = finish(sample_work(Corpus.from_files([text]), 20_000))
    raw = taken.sources[0].data.tobytes().decode()
    numbers = [lines.index(line) for line in raw.splitlines(keepends=True)]
    assert numbers == sorted(numbers)
    assert (numbers[0], numbers[-1] > 3_000) == (0, True)
    assert taken.documents == 4
    told = f"Training on a sample of {len(raw):,} of {text.stat().st_size:,} bytes."
    run(0, f"train {text} --vocab-size 300 --sample-bytes 20000", says=told)
    assert "sample" not in run(0, f"train {text} --vocab-size 300 --sample-bytes 999999").err


def test_a_binary_file_is_refused_and_trained_on_as_bytes(write, typed, run):
    data = bytes(range(256)) * 20
    write("a.bin", data)
    sentence = 'this is binary data, not text; use the encoding "bytes" to read it anyway.'
    run(1, "train a.bin --vocab-size 258", says=f"a.bin: {sentence} On the command line: --encoding bytes.")
    assert run(0, "train a.bin --vocab-size 258 --encoding bytes --json").json["merges"] == 2
    typed(data)
    run(1, "train - --vocab-size 258", says=f"standard input: {sentence}")
    # Bytes as characters: each that is not UTF-8 becomes U+FFFD, which is said.
    told = "byte sequences were not UTF-8 and became U+FFFD"
    run(0, "train a.bin --vocab-size 258 --encoding bytes --base characters", says=told)


def test_skipped_files_and_dropped_rows_are_reported(write, typed, run):
    write("texts/a.jsonl", '{"text": "the cat"}\n{"id": 1}\n{"text": "the hat"}\n')
    write("texts/b.png", b"\x89PNG\r\n\x1a\n")
    write("texts/c.txt", "")
    said = run(0, "train texts --vocab-size 258").err
    assert "texts: 2 files skipped: b.png (binary), c.txt (empty)." in said
    assert "a.jsonl: column text; 1 row without the column dropped." in said
    typed(b'{"text": "the cat"}\n{"text": 5}\n{"text": "the hat"}\n')
    run(0, "train - --vocab-size 258", says="standard input: column text; 1 row with no text in the column dropped.")


def test_a_tokenizer_that_is_trained_on_by_mistake_is_told(write, tokenizer, run):
    write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nhello\nhello\n")
    write("words.txt", "hello hello hello\n")
    for name, told in (("vocab.txt", True), ("words.txt", False)):
        said = f"{name}: this is a tokenizer; it is read all the same."
        assert (said in run(0, f"train {name} --vocab-size 260").err) == told
    write("mine/tokenizer.json", Path(tokenizer).read_bytes())
    write("texts/words.txt", "hello hello hello\n")
    for name, told in (("mine", True), ("texts", False)):
        said = f"{name}: this folder holds a tokenizer; its files are read all the same."
        assert (said in run(0, f"train {name} --vocab-size 260 --as-text").err) == told


# --- Refused before training ------------------------------------------------------------------------------------------


def test_losses_are_refused_before_the_first_merge_and_accepted_ones_reported(text, tmp_path, before_merging, run):
    words, out, accepted = f"train {text} --vocab-size 300 --special <|end|> --export classic=out", tmp_path / "out", []
    before_merging(lambda: accepted or pytest.fail("merged"))
    said = run(1, words).err
    assert said.startswith(f"tokstudio: out: {FORMATS['classic'].title} cannot hold all of this tokenizer. ")
    assert said.endswith(" Add --accept-loss to export anyway, with losses.\n")
    assert not out.exists()
    accepted.append(True)
    exported, *losses = run(0, words, "--accept-loss").err.splitlines()[1:]
    assert len(json.loads((out / "merges.json").read_text())["merges"]) == 43
    assert exported.startswith("Exported ")
    assert losses
    assert all(loss.startswith("out: ") for loss in losses)


@pytest.mark.parametrize("accepted", ["", "--accept-loss"])
def test_a_format_that_cannot_hold_characters_is_refused_before_the_first_merge(text, before_merging, run, accepted):
    before_merging(lambda: pytest.fail("merged"))
    options = "--vocab-size 300 --base characters --pattern gpt2 --export classic=out"
    said = run(1, f"train {text} {options} {accepted}").err
    assert said.startswith("tokstudio: out: ")
    # No loss that is accepted would help.
    assert "--accept-loss" not in said


def test_a_training_that_would_not_fit_is_refused(text, free, run):
    free(100)
    said = run(1, f"train {text} --vocab-size 300").err
    assert said.startswith("tokstudio: This training would take about ")
    # No text is so small that it fits into nothing.
    assert said.endswith(" add --force to try anyway.\n")
    run(0, f"train {text} --vocab-size 300 --force", says="44 merges")


@pytest.mark.parametrize(("size", "code"), [(100, 1), (2_000, 0)])
def test_word_counts_are_refused_only_where_they_do_not_fit(write, free, run, size, code):
    write("counts.tsv", "the cat\t1000000000\na hat\t3\n")
    free(size)
    told = "is free: leave out the rarest words. Or add --force"
    assert (told in run(code, "train --counts counts.tsv --vocab-size 258").err) == bool(code)


def test_other_forecast_problems_are_reported_by_the_training(text, free, run):
    free(66_000)  # 333 bytes times 200 do not fit for certain, but they do
    run(0, f"train {text} --vocab-size 300")
    assert run(1, f"train {text} --vocab-size 300 --held-out 0.5").err == (
        "tokstudio: The corpus has 5 lines, and holding out a share needs at least 20: set the held-out share to 0.\n"
    )


def test_a_failed_export_does_not_prevent_others(text, tmp_path, slow_trainer, run):
    taken = tmp_path / "taken"
    slow_trainer(lambda: taken.write_text("a file where a folder should be"))
    printed = run(1, f"train {text} --vocab-size 300 --json --export classic=taken --export huggingface=good.json")
    assert printed.err.startswith("tokstudio: ")
    assert printed.json["files"] == ["good.json"]
    assert (tmp_path / "good.json").exists()
    assert taken.read_text() == "a file where a folder should be"


def test_progress_is_one_line_on_a_terminal_and_gone_at_the_end(text, slow_trainer, look, run):
    screen = look()
    slow_trainer(lambda: None)
    run(0, f"train {text} --vocab-size 306")
    states = screen.getvalue().split("\r")
    assert any(re.fullmatch(r"Merging \d+ %, 25 merges *", state) for state in states)
    assert states[-2].strip() == ""
    assert re.fullmatch(r"Trained in .*\n", states[-1])


def test_printed_merges_and_progress_do_not_share_a_screen(text, slow_trainer, look, monkeypatch, run):
    screen = look()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    slow_trainer(lambda: None)
    run(0, f"train {text} --vocab-size 306 --print-merges")
    assert "Merging" not in screen.getvalue()


@pytest.mark.parametrize(
    ("seconds", "done", "words"),
    [(4, 500, ""), (6, 500, ", about 6 s left"), (6, 10, ""), (60, 250, ", about 3 min left")],
)
def test_the_time_left_is_shown_after_a_while(clock, look, seconds, done, words):
    screen = look()
    with terminal.Console(chatty=True) as console:
        clock.now += 100
        console.show(Progress("counting", 900, 1000))
        # What the phase before it has taken says nothing of this one.
        console.show(Progress("merging", 0, 1000))
        clock.now += seconds
        console.show(Progress("merging", done, 1000), ", 7 merges")
        last = screen.getvalue().split("\r")[-1].rstrip()
    assert last == f"Merging {done // 10} %, 7 merges{words}"


def test_the_time_left_restarts_with_each_file(clock, look):
    screen = look()
    with terminal.Console(chatty=True) as console:
        for _ in range(2):
            console.show(Progress("reading", 1, 10))
            clock.now += 4
            console.show(Progress("reading", 9, 10))
    assert "left" not in screen.getvalue()


LINES = [
    f"line {number} of the text, where {'abc' * (number % 5)} stands{'<|end|>' * (number % 2)}\n"
    for number in range(40)
]


@pytest.fixture
def lines(write):
    return write("lines.txt", "".join(LINES))


def held_out_of(path, **settings):
    """The documents that the core holds out, and a tokenizer trained on the others."""
    trainer = Trainer(Corpus.from_files([path]), TrainingConfig(held_out=0.1, **settings))
    for _ in trainer:
        pass
    return list(Corpus(trainer.prepared.held_out).iter_documents()), trainer.tokenizer()


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_held_out_text_is_measured_without_its_special_tokens(lines, run, pattern):
    documents, tokenizer = held_out_of(lines, vocabulary_size=300, special_tokens=["<|end|>"], pattern=pattern)
    pieces = [piece for document in documents for piece in bytes(document).split(b"<|end|>")]
    text, tokens = sum(map(len, pieces)), sum(len(tokenizer.encode(piece)) for piece in pieces if piece)
    arguments = f"train {lines} --vocab-size 300 --held-out 0.1 --special <|end|> --pattern {pattern}"
    outcome = run(0, arguments, "--json").json
    assert outcome["held_out_bytes_per_token"] == pytest.approx(text / tokens)
    assert outcome["tokens"] == tokenizer.run.tokens_after[-1]
    told = run(0, arguments).err.splitlines()
    assert told[0] == f"Held out: {sum(map(len, documents)):,} bytes."
    assert told[-1] == f"Held-out text: {text / tokens:.2f} bytes per token, {text:,} bytes -> {tokens:,} tokens."


def test_without_a_share_nothing_is_held_out_and_one_that_is_too_small_is_refused(lines, run):
    assert "held_out_bytes_per_token" not in run(0, f"train {lines} --vocab-size 300 --json").json
    assert "eld" not in run(0, f"train {lines} --vocab-size 300").err
    arguments = f"train {lines} --vocab-size 300 --held-out 0.001"
    run(1, arguments, says="A held-out share of 0.1 % is less than one of the ")


def test_a_character_only_in_held_out_text_does_not_stop_training(lines, tmp_path, run):
    documents, _ = held_out_of(lines, vocabulary_size=300)
    lines.write_text("".join(LINES).replace(bytes(documents[0]).decode(), "ж" * (len(documents[0]) // 2) + "\n"))
    words = "--min-frequency 2 --held-out 0.1 --base characters --export vocabulary-csv=out.csv"
    told = run(0, f"train {lines} {words}").err.splitlines()[-1]
    assert told.startswith('The held-out text cannot be measured. The character "ж" (U+0436) is not in the vocabulary')
    assert (tmp_path / "out.csv").exists()


def test_measuring_can_be_interrupted_and_loses_nothing_else(lines, tmp_path, monkeypatch, run):
    def interrupted(*_):
        signal.raise_signal(signal.SIGINT)
        yield
        pytest.fail("went on")

    monkeypatch.setattr(reading, "measure_work", interrupted)
    out = tmp_path / "out.csv"
    arguments = f"train {lines} --vocab-size 300 --held-out 0.1 --export merges-csv={out}"
    outcome = run(130, arguments, "--json").json
    assert (outcome["merges"], outcome["held_out_bytes_per_token"]) == (44, None)
    assert out.exists()
    assert run(130, arguments, "--force").err.endswith("Interrupted: the held-out text was not measured.\n")


def test_an_interrupted_training_does_not_wait_for_it(lines, slow_trainer, monkeypatch, run):
    monkeypatch.setattr(reading, "measure_work", lambda *_: pytest.fail("measured"))
    slow_trainer(lambda: signal.raise_signal(signal.SIGINT))
    assert run(130, f"train {lines} --vocab-size 300 --held-out 0.1 --json").json["held_out_bytes_per_token"] is None


def test_an_interrupted_training_says_that_its_experiment_is_not_written(lines, tmp_path, slow_trainer, run):
    slow_trainer(lambda: signal.raise_signal(signal.SIGINT))
    said = run(130, f"train {lines} --vocab-size 300 --experiment out.toml").err
    assert "Not written, as the training has not ended: out.toml.\n" in said
    assert not (tmp_path / "out.toml").exists()


def test_how_much_text_prints_the_figures_of_the_core(run, write):
    text = write(
        "lines.txt", "".join(f"{number} {'the cat sat on the mat ' * (number % 5)}\n" for number in range(300))
    )
    given = f"how-much-text {text} --vocab-size 280 --pattern gpt2 --held-out 0.2 --seed 4"
    config = TrainingConfig(vocabulary_size=280, pattern="gpt2")
    found = how_much_text(Corpus.from_files([text]), config, 0.2, 4)
    assert run(0, f"{given} --json").json == found.to_plain()
    table, told = run(0, given).out.split("\n\n")
    assert told == f"{found.sentence}\n{found.held_out}\n"
    assert [line.split()[0] for line in table.splitlines()[1:]] == ["1/64", "1/32", "1/16", "1/8", "1/4", "1/2", "all"]
    assert run(0, f"how-much-text {text} --vocab-size 280 --json").json["held_out_bytes"] < found.held_out_bytes
    short = write("short.txt", "one\ntwo\n")
    assert "at least 20 lines are needed" in run(1, f"how-much-text {short} --vocab-size 280").err
    assert "invalid choice" in run(2, f"how-much-text {text} --vocab-size 280 --algorithm unigram").err
