"""The commands `compare` and `report`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.fifty import FIFTY
from tokstudio import ByteTokenizer, Corpus, Tokenizer, TrainingConfig, load, train
from tokstudio import compare as compare_in_core
from tokstudio.core.base.progress import finish
from tokstudio.core.comparison.intervals import NOT_DRAWN
from tokstudio.core.comparison.table import SIGNS
from tokstudio.core.project import Project, ProjectRun, keep_changed_work, open_work, save_work

ENGLISH, GERMAN = "The cat sat on the mat.\nA cat.\n", "Die Katze saß auf der Matte.\nEine Katze.\n"


@pytest.fixture
def compare(tokenizer, write, run):
    """Compares in a folder with a tokenizer and two texts."""
    write("texts/eng_Latn.txt", ENGLISH)
    write("texts/deu_Latn.txt", GERMAN)
    return lambda words, code=0: run(code, f"compare {words}")


def test_the_figures_are_those_of_the_core(tokenizer, compare):
    told = compare("tokenizer.json bytes --texts texts --base eng_Latn --json").json
    assert told["tokenizers"] == ["tokenizer", "bytes"]
    assert (told["texts"], told["base"]) == (["deu_Latn.txt", "eng_Latn.txt"], "eng_Latn.txt")
    tokenizers = {"tokenizer": load(tokenizer), "bytes": ByteTokenizer()}
    core = compare_in_core(tokenizers, {"deu_Latn.txt": GERMAN, "eng_Latn.txt": ENGLISH}, base="eng_Latn.txt")
    assert told["figures"] == json.loads(core.to_json())["figures"]


def test_bytes_per_token_are_an_aligned_table(tokenizer, compare):
    lines = compare("tokenizer.json bytes --texts texts").out.splitlines()
    assert lines[0] == "Bytes per token = B / N. Unit: bytes of UTF-8 per token"
    assert lines[1].split("  ")[-2:] == [f"tokenizer ({len(load(tokenizer))} tokens)", "bytes (256 tokens)"]
    assert [line.split("  ")[0] for line in lines[2:]] == ["deu_Latn.txt", "eng_Latn.txt", "All texts"]
    assert len(set(map(len, lines[1:]))) == 1
    assert lines[2].endswith("  1.00")


def test_several_figures_are_several_tables_and_markdown_is_that_of_the_core(compare):
    shown = compare("bytes characters --texts texts --figure tokens --figure fertility").out
    tokens, fertility = shown.split("\n\n")
    assert tokens.startswith("Tokens = N")
    assert fertility.startswith("Fertility = N / W")
    assert fertility.count("words  ") == 2
    shown = compare("bytes characters --texts texts --markdown --figure tokens").out
    assert shown.splitlines()[2] == "|  | bytes (256 tokens) | characters |"
    assert f"| deu\\_Latn.txt | {len(GERMAN.encode())} | **{len(GERMAN)}** |" in shown
    shown = compare("bytes characters --texts texts --latex --figure tokens").out
    assert rf"deu\_Latn.txt & {len(GERMAN.encode())} & \textbf{{{len(GERMAN)}}} \\" in shown


def test_intervals_stand_in_every_form_and_few_lines_are_said(write, run):
    write("long.txt", "".join(f"the cat {'and the dog ' * (number % 4)}\n" for number in range(12)))
    write("short.txt", ENGLISH)
    words = "compare characters words --texts long.txt short.txt --intervals"
    told = run(0, f"{words} --figure tokens_per_line")
    [long] = [line for line in told.out.splitlines() if line.startswith("long.txt")]
    assert long.count("[") == 2
    [short] = [line for line in told.out.splitlines() if line.startswith("short.txt")]
    assert short.count("[") == 0
    assert "95\u00a0% intervals by the bootstrap over lines, 1,000 resamples, seed 0." in told.err
    assert "fewer than 10 lines: short.txt has 2 lines." in told.err
    ends = run(0, f"{words} --json").json["intervals"]["figures"]["tokens_per_line"]
    assert f"[{ends[0][0][0]:.1f}, {ends[0][0][1]:.1f}]" in long
    assert ends[1] == [[None, None]] * 2
    assert NOT_DRAWN in told.err
    run(0, words.replace("compare", "report") + " --out report.html")
    assert f">[{ends[0][0][0]:.1f}, {ends[0][0][1]:.1f}]<" in Path("report.html").read_text(encoding="utf-8")
    for form in ("--markdown", "--latex"):
        assert f"[{ends[0][0][0]:.1f}, {ends[0][0][1]:.1f}]" in run(0, f"{words} {form} --figure tokens_per_line").out
    assert "--intervals: none is known of tokens" in run(1, f"{words} --figure tokens").err


def test_words_of_lines_that_are_documents_are_not_joined(write, run):
    write("lines.txt", "the cat\nsat on\nthe mat\n")
    told = run(0, "compare words --texts lines.txt --documents line --json").json
    words = {*["the", "cat", "sat", "on", "the", "mat"], " "}
    assert told["figures"]["tokens"] == [[3 * 3]]
    assert told["vocabulary_sizes"] == [len(words) + 1]


def test_words_are_those_of_the_texts(compare):
    told = compare("words --texts texts --figure vocabulary_used --json").json
    assert told["tokenizers"] == ["words"]
    assert all(0 < row[0] < 1 for row in told["figures"]["vocabulary_used"])


def test_a_file_named_like_a_simple_tokenizer_is_the_file(tokenizer, write, compare):
    write("bytes", Path(tokenizer).read_bytes())
    told = compare("bytes --texts texts --figure tokens --json").json
    assert told["figures"]["tokens"][0][0] == len(load(tokenizer).encode(GERMAN))


def test_names_are_made_different(tokenizer, write, tmp_path, compare):
    write("other/tokenizer.json", Path(tokenizer).read_bytes())
    write("more/eng_Latn.txt", "more")
    copies = "other/tokenizer.json other/tokenizer.json"
    told = compare(f"tokenizer.json {copies} --texts texts more --figure tokens --json").json
    assert told["tokenizers"] == [f"{tmp_path.name}/tokenizer", "other/tokenizer", "other/tokenizer (2)"]
    assert told["texts"] == ["deu_Latn.txt", "texts/eng_Latn.txt", "more/eng_Latn.txt"]


def test_the_runs_of_a_project_are_compared(tmp_path, compare):
    made = {size: train(Corpus.from_text(FIFTY), TrainingConfig(vocabulary_size=size)).run for size in (260, 300)}
    path = tmp_path / "project.tokstudio"
    finish(save_work(Project(runs=tuple(ProjectRun(f"Run {size}", run) for size, run in made.items())), path))
    told = compare("project.tokstudio --texts texts --figure tokens --json").json
    assert told["tokenizers"] == ["Run 260", "Run 300"]
    assert told["figures"]["tokens"][0][0] > told["figures"]["tokens"][0][1]
    finish(save_work(Project(), path))
    assert "there are no runs" in compare("project.tokstudio --texts texts", 1).err


def test_the_texts_that_runs_of_a_project_were_trained_on_are_marked_in_every_form(tmp_path, compare, run):
    run(0, "train texts/eng_Latn.txt --vocab-size 270 --project mine.tokstudio -q")
    mine = "mine.tokstudio --texts texts"
    lines = compare(mine).out.splitlines()
    assert ("†" in lines[2], "†" in lines[3]) == (False, True)
    assert lines[-1] == f"† {SIGNS['†']}"
    assert "| eng\\_Latn.txt | †" in compare(f"{mine} --markdown").out
    assert compare(f"{mine} --json").json["trained_on"] == [[False], [True]]
    compare(f"{mine} --csv out.csv")
    assert "trained_on,eng_Latn.txt,,1\n" in (tmp_path / "out.csv").read_text()
    run(0, f"report {mine} --out out.html")
    assert f"† {SIGNS['†']}" in (tmp_path / "out.html").read_text()
    # What a project alone knows of a tokenizer that another library trained.
    (kept,) = finish(open_work(project := tmp_path / "mine.tokstudio")).runs
    changed = finish(keep_changed_work("changed", Tokenizer.from_run(kept.run)))
    state = {"trained_on": [hashlib.sha256(GERMAN.encode()).hexdigest(), 1]}
    finish(save_work(Project(runs=(replace(changed, state=state),)), project))
    assert compare(f"{mine} --json").json["trained_on"] == [[True], [False]]


def test_what_cannot_be_encoded_is_a_dash_and_a_reason(compare, run):
    options = "--vocab-size 30 --base characters --export huggingface=latin.json -q"
    run(0, f"train texts/eng_Latn.txt {options}")
    shown = compare("latin.json --texts texts")
    assert shown.out.splitlines()[2].split() == ["deu_Latn.txt", "–"]
    assert shown.err.count("tokstudio: latin, deu_Latn.txt: ") == 1
    compare("latin.json --texts texts/deu_Latn.txt", 1)


def test_standard_input_and_reading_options_are_texts(typed, compare):
    typed(json.dumps({"text": "one two", "other": "x"}).encode() + b"\n")
    told = compare("bytes --texts - --field text --figure tokens --json").json
    assert (told["texts"], told["figures"]["tokens"]) == (["standard input"], [[7]])


def test_a_parallel_set_is_encoded_line_by_line_with_english_as_base(tokenizer, write, compare):
    told = compare("tokenizer.json --texts texts --parallel --json").json
    assert (told["texts"], told["base"]) == (["deu_Latn", "eng_Latn"], "eng_Latn")
    own = load(tokenizer)
    counts = [sum(len(own.encode(line)) for line in text.splitlines()) for text in (GERMAN, ENGLISH)]
    assert told["figures"]["tokens"] == [[count] for count in counts]
    assert told["figures"]["premium"] == [[counts[0] / counts[1]], [1]]
    assert compare("words --texts texts --parallel --base deu_Latn --json").json["base"] == "deu_Latn"
    write("texts/deu_Latn.txt", "one line\n")
    said = compare("tokenizer.json --texts texts --parallel", 1).err
    assert '"eng_Latn" has 2 lines, but "deu_Latn" has 1' in said


@pytest.mark.parametrize(("name", "column"), [("bytes", 1), ("tokenizer", 0), ("tokenizer.json", 0)])
def test_lengths_relate_to_a_chosen_tokenizer(compare, name, column):
    told = compare(f"tokenizer.json bytes --texts texts --figure normalised_length --json --against {name}").json
    assert told["against"] == Path(name).stem
    assert [row[column] for row in told["figures"]["normalised_length"]] == [1, 1]


def test_an_empty_text_beside_others_is_a_dash(write, typed, compare):
    write("texts/empty.txt", "")
    typed(b"")
    shown = compare("bytes --texts texts/deu_Latn.txt texts/empty.txt -")
    assert [line.split()[-1] for line in shown.out.splitlines()[2:]] == ["1.00", "–", "–", "1.00"]
    assert "empty.txt: it has no text." in shown.err
    assert "empty.txt: the file is empty." in compare("bytes --texts texts/empty.txt", 1).err


def test_a_report_has_the_figures_and_the_hashes_of_the_files(tokenizer, compare, tmp_path, run):
    said = run(0, "report tokenizer.json bytes --texts texts --parallel --out report.html").err
    assert said.splitlines()[-1] == "Wrote report.html."
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert hashlib.sha256(Path(tokenizer).read_bytes()).hexdigest() in page
    core = compare_in_core({"tokenizer": load(tokenizer)}, {"deu": GERMAN.splitlines(), "eng": ENGLISH.splitlines()})
    assert f">{core.figure('bytes_per_token')[0, 0]:.2f}</td>" in page
    assert "N / N(eng_Latn)" in page


def test_diff_exits_with_1_where_anything_differs_and_where_it_cannot_be_told(tokenizer, write, run):
    write("text.txt", ENGLISH)
    same = run(0, "diff tokenizer.json tokenizer.json --texts text.txt --json").json
    lists = ("ids_changed", "moved", "only_a", "only_b", "merges_inserted", "specials", "roles", "pattern", "texts")
    assert [same[name] for name in lists] == [[]] * len(lists)
    count = len(load(tokenizer))
    assert (same["same_ids_from_0"], same["same_ids"], same["error"]) == (count, count, None)
    assert run(0, "diff tokenizer.json tokenizer.json").out.splitlines()[0].endswith("tokenizer (2) are the same.")
    run(0, "train text.txt --vocab-size 260 --pattern gpt2 --export huggingface=other.json")
    other = run(1, "diff tokenizer.json other.json --texts text.txt --json").json
    assert other["texts"][0]["name"] == "text.txt"
    assert other["texts"][0]["first"][0]["text"] == "The cat sat on the mat.\n"
    shown = run(1, "diff tokenizer.json other.json --texts text.txt").out
    assert "\ntext.txt, line 1:\n  tokenizer  " in shown
    failed = run(1, "diff tokenizer.json nothing.json --json").json
    assert failed["error"] == "nothing.json: no such file or folder."
    assert failed.keys() == same.keys()
    assert "no tokenizers with files" in run(1, "diff tokenizer.json bytes").err


def test_engines_exits_with_1_where_a_library_differs(tokenizer, write, run):
    write("text.txt", ENGLISH)
    same = run(0, "engines tokenizer.json --texts text.txt --json").json
    assert same["agrees"]
    assert [text["name"] for text in same["texts"]] == ["text.txt"]
    engines = {engine["name"]: engine for engine in same["engines"]}
    assert list(engines) == ["tokenizers", "transformers", "tiktoken", "sentencepiece", "llama.cpp"]
    assert engines["transformers"]["form"] == "from tokenizer.json and the files beside it"
    assert "merges characters" in engines["sentencepiece"]["problem"]
    file = json.loads(Path(tokenizer).read_text())
    write("qwen/tokenizer.json", json.dumps(file))
    write("qwen/tokenizer_config.json", json.dumps({"tokenizer_class": "Qwen2Tokenizer"}))
    shown = run(1, "engines qwen --texts text.txt").out
    assert "transformers" in shown.splitlines()[0]
    assert "text.txt, line 1" in shown
    assert "no tokenizers with files" in run(1, "engines bytes --texts text.txt").err


def test_a_dash_for_a_text_without_numbers_is_explained(tokenizer, write, run):
    write("words.txt", "no numbers here\n")
    write("numbers.txt", "in 1984 and 2001\n")
    reason = "\n– The text has no number of 2 to 64 digits, or the tokenizer is one of words.\n"
    for name, is_told in (("words.txt", True), ("numbers.txt", False)):
        for form in ("", "--markdown"):
            out = run(0, f"compare tokenizer.json --texts {name} --figure number_splits {form}").out
            assert (reason.strip() in out) is is_told
