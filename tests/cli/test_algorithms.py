"""`tokstudio train --algorithm` with each algorithm, and `--weight`: the settings reach the core, and what is told."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import signal

import pytest

from tests.cli.fifty import FIFTY
from tests.core import algorithms
from tests.core.training import test_parity as parity
from tests.processes import started_processes
from tokstudio import Corpus, LibraryConfig, Tokenizer, TrainingConfig, load, train, train_by_library
from tokstudio.cli.process.terminal import Console

OPTIONS = {
    "superbpe": "--vocab-size 330 --pattern gpt2 --transition 290",
    "boundless": "--vocab-size 320 --pattern gpt2",
    "picky": "--vocab-size 290 --threshold 0.4",
    "parity": "--vocab-size 300",
}
TEXTS = {"superbpe": algorithms.SUPERBPE_TEXT, "boundless": algorithms.BOUNDLESS_TEXT, "picky": algorithms.PICKY_TEXT}


@pytest.fixture
def learn(tmp_path, run):
    """Trains with an algorithm on its text, or its texts."""
    for name, text in (parity.TEXTS | TEXTS).items():
        text = text if isinstance(text, str) else text[0]
        (tmp_path / name).write_text(text, encoding="utf-8", newline="\n")

    def command(code, algorithm, *more):
        names = parity.TEXTS if algorithm == "parity" else [algorithm]
        files = [tmp_path / name for name in names]
        return run(code, "train", files, f"--algorithm {algorithm} {OPTIONS[algorithm]}", *more)

    return command


def merge_lines(merges):
    return [f"Merge ({left}, {right})" for left, right in merges.tolist()]


def before_into(printed):
    return [line.partition(" into")[0] for line in printed.splitlines()]


def test_the_settings_of_superbpe_reach_the_core(learn, tmp_path):
    target = tmp_path / "tokenizer.json"
    more = ["--max-words", "2", "--second-pattern", r"\d+", "--special", "<s>", "--json"]
    printed = learn(0, "superbpe", more, f"--export huggingface={target}")
    config = algorithms.superbpe(max_words=2, second_pattern=r"\d+", special_tokens=["<s>"])
    expected = train(Corpus.from_text(algorithms.SUPERBPE_TEXT), config)
    outcome = printed.json
    assert (outcome["merges"], outcome["second_stage_merges"]) == (len(expected.merges), len(expected.merges) - 33)
    assert outcome["bytes_per_token"] == expected.run.bytes_per_token()
    assert printed.err == ""
    assert load(target).encode(algorithms.SUPERBPE_TEXT) == expected.encode(algorithms.SUPERBPE_TEXT)


def test_an_end_in_stage_1_is_told(learn):
    more = "--transition 900 --vocab-size 1000"
    outcome = learn(0, "superbpe", more, "--quiet --json").json
    assert (outcome["ended"], outcome["second_stage_merges"]) == ("nothing left to merge", 0)
    told = "Stage 2 did not begin, as stage 1 ended before it: choose a transition of at most 309."
    assert told in learn(0, "superbpe", more).err


def test_a_run_prints_its_merges_and_says_how_many_are_of_which_kind(learn):
    made = train(Corpus.from_text(algorithms.BOUNDLESS_TEXT), algorithms.boundless(320)).run
    supermerges = int(made.supermerges.sum())
    outcome = learn(0, "boundless", "--json").json
    assert (outcome["merges"], outcome["supermerges"]) == (len(made), supermerges)
    staged = train(Corpus.from_text(algorithms.SUPERBPE_TEXT), algorithms.superbpe())
    for algorithm, merges, told in (
        ("boundless", made.merges, f"{supermerges} are supermerges, which join words"),
        ("superbpe", staged.merges, "stage 1 made 34 and stage 2 40"),
    ):
        printed = learn(0, algorithm, "--print-merges")
        assert printed.err.endswith(f"Of the merges, {told}.\n")
        assert before_into(printed.out) == merge_lines(merges)


def test_a_near_form_is_exported_where_its_loss_is_accepted(learn, tmp_path):
    export = f"--export=huggingface={tmp_path / 'made'}"
    assert "This is a near form" in learn(1, "boundless", export).err
    told = learn(0, "boundless", export, "--accept-loss").err
    assert "the near form is identical on the test text" in told
    assert "words in a sample of the text" in told


@pytest.mark.parametrize(
    ("algorithm", "format", "words"),
    [
        ("superbpe", "gpt2", "programs that read this format split text as GPT-2 does"),
        *(("boundless", name, "cannot hold supermerges, which join words") for name in ("tiktoken", "gpt2", "minbpe")),
        *(("picky", name, "removes tokens") for name in ("huggingface", "tiktoken", "minbpe", "gpt2", "classic")),
    ],
)
def test_files_that_cannot_hold_it_are_refused_before_training(learn, tmp_path, algorithm, format, words):
    said = learn(1, algorithm, f"--export={format}={tmp_path / 'made'}").err
    assert words in said
    assert "Trained in" not in said


def test_an_interruption_of_phase_1_is_told_as_that(learn, tmp_path, before_merging):
    before_merging(lambda: signal.raise_signal(signal.SIGINT))
    project = tmp_path / "mine.tokstudio"
    said = learn(130, "boundless", f"--project={project}").err
    assert said.endswith("Interrupted before the end of phase 1: nothing was saved.\n")
    assert not project.exists()


def test_the_settings_of_picky_reach_the_core(learn):
    outcome = learn(0, "picky", "--json").json
    expected = train(Corpus.from_text(algorithms.PICKY_TEXT), algorithms.picky()).run
    assert (outcome["merges"], outcome["vocabulary_size"]) == (len(expected), expected.vocabulary_size)
    removed = (expected.removals[:, 2:] >= 0).sum()
    assert outcome["removals"] == removed > 0
    told = f" {removed} tokens were removed again: the vocabulary has {len(expected) + 256 - removed}.\n"
    assert learn(0, "picky").err.endswith(told)


def test_the_merge_log_has_the_removals_and_the_vocabulary_has_what_is_left(learn, tmp_path):
    files = {name: tmp_path / name for name in ("merges-csv", "merges-jsonl", "vocabulary-csv")}
    learn(0, "picky", [f"--export={name}={file}" for name, file in files.items()])
    made = train(Corpus.from_text(algorithms.PICKY_TEXT), algorithms.picky())
    vocabulary, table = (files[name].read_text("utf-8").splitlines() for name in ("vocabulary-csv", "merges-csv"))
    assert len(vocabulary) == 1 + len(made.tokens.ids())
    rows = [json.loads(line) for line in files["merges-jsonl"].read_text("utf-8").splitlines()]
    gone = [[row["left_removed"], row["right_removed"]] for row in rows]
    assert gone == [[None if n < 0 else n for n in row] for row in made.run.removals[:, 2:].tolist()]
    assert [row["id"] for row in rows] == made.run.removals[:, 0].tolist()
    assert all(row["text"] == row["left_text"] + row["right_text"] for row in rows)
    assert table[0].endswith(",left_removed,right_removed")
    assert [line.split(",")[-2:] for line in table[1:]] == [["" if n is None else str(n) for n in row] for row in gone]


def test_printed_merges_say_what_was_made_and_removed(tmp_path, run):
    text = "aabbaaabaababba"
    (path := tmp_path / "text.txt").write_text(text, encoding="utf-8")
    printed = run(0, f"train {path} --algorithm picky {OPTIONS['picky']} --print-merges --quiet").out
    made = train(Corpus.from_text(text), algorithms.picky()).run
    expected = list[str]()
    for own, ((left, right), row) in enumerate(zip(made.merges.tolist(), made.removals.tolist(), strict=True), 256):
        result = f"a new token {own}" if row[0] == own else f"the token {row[0]}"
        expected.append(f"Merge ({left}, {right}) into {result}")
        expected += [f"Remove the token {part}" for part, n in zip((left, right), row[2:], strict=True) if n >= 0]
    assert printed.splitlines() == expected
    assert any("into the token" in line for line in expected)
    assert any(line.startswith("Remove") for line in expected)


@pytest.fixture
def parallel(tmp_path):
    """The options for parallel texts, in a folder of their own."""
    (tmp_path / "parallel").mkdir()
    for name, text in parity.PARALLEL.items():
        (tmp_path / "parallel" / f"{name}.txt").write_text(text, encoding="utf-8")
    return [f"--parallel={name}={tmp_path / 'parallel' / f'{name}.txt'}" for name in parity.PARALLEL]


def test_the_settings_of_parity_reach_the_core(learn, parallel, tmp_path):
    target = tmp_path / "tokenizer.json"
    window = f"--window 5 --alpha 1.5 --global-merges 3 --json --export huggingface={target}"
    outcome = learn(0, "parity", parallel, window).json
    config = parity.parity(300, parallel=parity.PARALLEL, window=5, alpha=1.5, global_merges=3)
    expected = train(parity.corpus_of(parity.TEXTS), config)
    numbers = expected.run.columns["chosen_by"].tolist()
    assert [(source["name"], source["chosen_merges"]) for source in outcome["sources"]] == [
        (name, numbers.count(number)) for number, name in enumerate(parity.TEXTS)
    ]
    loaded = load(target)
    for text in parity.TEXTS.values():
        ours, theirs = ([known.tokens[token] for token in known.encode(text[0])] for known in (loaded, expected))
        assert ours == theirs


def test_a_text_without_parallel_text_is_said_and_chooses_nothing(learn, parallel):
    told = 'Without a parallel text, and so only counted, never choosing: "fi.txt".'
    assert told in learn(0, "parity", parallel[:2]).err.splitlines()
    sources = learn(0, "parity", parallel[:2], "--json").json["sources"]
    assert [source.get("never_chooses", False) for source in sources] == [False, False, True]
    chosen = [source["chosen_merges"] for source in sources]
    assert (sum(chosen), chosen[2]) == (44, 0)


def test_parallel_texts_with_other_numbers_of_lines_are_refused(learn, parallel, tmp_path):
    short = tmp_path / "parallel" / "fi.txt"
    short.write_text("yksi\nkaksi\n", encoding="utf-8")
    lines = parity.PARALLEL["de"].rstrip().count("\n") + 1
    assert lines != 2
    told = f'must be the same lines in each language: that of "de.txt" has {lines} line'
    assert told in learn(1, "parity", parallel).err
    learn(0, "parity", [f"--parallel={name}={short}" for name in parity.PARALLEL])


def test_ratios(learn):
    printed = learn(0, "parity", "--ratios fi=3 --print-merges")
    made = train(parity.corpus_of(parity.TEXTS), parity.parity(300, ratios={"fi": 3})).run
    assert before_into(printed.out) == merge_lines(made.merges)
    assert f"bytes per token, chose {made.columns['chosen_by'].tolist().count(2)} merges." in printed.err


# --- Weights ----------------------------------------------------------------------------------------------------------

WEIGHED = "--vocab-size 280 --pattern gpt2"


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "en.txt").write_text("the cat and the hat " * 40)
    (tmp_path / "de.txt").write_text("die Katze und der Hut " * 40)
    return [str(tmp_path / "en.txt"), str(tmp_path / "de.txt")]


@pytest.mark.parametrize("given", ["de.txt=0.5", "1=0.5"])
def test_a_weight_reaches_the_core_and_the_summary_by_name_or_by_number(texts, run, given):
    corpus = Corpus.from_files(texts)
    made = train(corpus.with_weights({"de.txt": 0.5}), TrainingConfig(vocabulary_size=280, pattern="gpt2")).run
    result = run(0, "train", texts, f"--weight {given} {WEIGHED} --json").json
    assert result["tokens"] == int(made.tokens_after[-1]) / 1000
    assert result["bytes_per_token"] == made.bytes_per_token()
    tokenizer = Tokenizer.from_run(made)
    tokens = [len(tokenizer.encode(source.data.tobytes())) for source in corpus.sources]
    ratios = [size / count for size, count in zip((800, 880), tokens, strict=True)]
    assert result["sources"] == [
        {"name": "en.txt", "weight": 1, "bytes_per_token": pytest.approx(ratios[0])},
        {"name": "de.txt", "weight": 0.5, "bytes_per_token": pytest.approx(ratios[1])},
    ]
    said = run(0, "train", texts, f"--weight {given} {WEIGHED}").err
    assert f"de.txt: weight 0.5, {ratios[1]:.2f} bytes per token." in said
    assert f"{made.tokens_before / 1000:,.0f} -> {result['tokens']:,} tokens." in said


def test_a_sample_keeps_the_weights_and_a_file_whose_name_is_a_number_is_named_by_it(texts, tmp_path, run):
    result = run(0, "train", texts, f"--weight de.txt=0 --sample-bytes 900 {WEIGHED} --json").json
    assert [source["weight"] for source in result["sources"]] == [1, 0]
    (tmp_path / "0").write_text("another text")
    result = run(0, "train", texts, [tmp_path / "0"], f"--weight 0=7 {WEIGHED} --json").json
    assert [source["weight"] for source in result["sources"]] == [1, 1, 7]


def test_without_weights_there_are_none_in_the_result(texts, run):
    assert "sources" not in run(0, "train", texts, f"{WEIGHED} --json").json
    assert "weight" not in run(0, "train", texts, WEIGHED).err


@pytest.mark.parametrize(
    ("algorithm", "export", "more"),
    [
        ("wordpiece", "huggingface=tokenizer.json", "--min-frequency 2 --continuing-prefix @@"),
        ("unigram", "huggingface=tokenizer.json", "--unknown-token <?>"),
        ("sentencepiece-bpe", "sentencepiece=x.model", "--character-coverage 1"),
        ("sentencepiece-unigram", "sentencepiece=x.model", "--byte-fallback"),
    ],
)
def test_a_trained_tokenizer_is_exported_and_opened(text, tmp_path, run, algorithm, export, more):
    words = f"--algorithm {algorithm} --vocab-size 320 --special <|x|> --json {more}"
    outcome = run(0, f"train {text} {words} --export {export} --export vocabulary-csv=v.csv").json
    name = export.partition("=")[2]
    assert outcome["files"] == [name, "v.csv"]
    assert (outcome["algorithm"], outcome["lines"]) == (algorithm, FIFTY.count("\n") + (FIFTY[-1] != "\n"))
    opened = load(tmp_path / name)
    assert outcome["vocabulary_size"] == len(opened) == len((tmp_path / "v.csv").read_text("utf-8").splitlines()) - 1
    assert len(opened.encode("<|x|>", "all")) <= 2
    tokens = {bytes(token) for token in opened.tokens if token}
    assert (b"<?>" in tokens) == ("<?>" in more)
    assert any(token.startswith(b"@@") for token in tokens) == ("@@" in more)


def test_the_settings_reach_the_core(write, tmp_path, run):
    lines = write("lines.txt", "\n".join(FIFTY.split() * 2))
    more = "--vocab-size 310 --byte-fallback --special a,b --held-out 0.2 --weight 0=2 -q"
    run(0, f"train lines.txt --algorithm sentencepiece-bpe {more} --export sentencepiece=x.model")
    settings = {"byte_fallback": True, "special_tokens": ["a,b"], "held_out": 0.2}
    config = LibraryConfig(algorithm="sentencepiece-bpe", vocabulary_size=310, **settings)
    expected = train_by_library(Corpus.from_files(lines).with_weights({0: 2}), config)
    assert (tmp_path / "x.model").read_bytes() == expected.files["tokenizer.model"]


def test_what_is_told(write, run):
    write("lines.txt", b"low lower\n" * 30 + b"z\xe2\x96\x85\n" + b"newest\n" * 30)
    told = run(0, "train lines.txt --algorithm sentencepiece-bpe --vocab-size 500 --held-out 0.1").err
    assert "Trained SentencePiece BPE by sentencepiece " in told
    assert "found no more tokens in this text; 500 were wanted." in told
    assert "passed over 1 line:" in told
    assert "Held-out text: " in told
    assert "another order" not in told
    run(0, "train lines.txt --algorithm wordpiece --vocab-size 500", says="in another order each time")


def test_an_interruption_ends_the_process_and_writes_nothing(write, tmp_path, monkeypatch, run):
    started, show = started_processes(monkeypatch), Console.show

    def interrupted(self, *progress):
        if started:
            signal.raise_signal(signal.SIGINT)
        show(self, *progress)

    monkeypatch.setattr(Console, "show", interrupted)
    write("long.txt", "ab" * 12_000)  # it would train for some seconds
    more = "--vocab-size 30 --export sentencepiece=x.model"
    run(130, f"train long.txt --algorithm sentencepiece-unigram {more}", says="Interrupted.")
    assert started[0].poll() is not None
    assert not (tmp_path / "x.model").exists()
