"""The commands `compare` and `report`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from fifty import FIFTY

from tokstudio import ByteTokenizer, Corpus, Tokenizer, Trainer, TrainingConfig, cli, load
from tokstudio import compare as compare_in_core
from tokstudio.cli.arguments.comparing import FIGURES as _FIGURES
from tokstudio.core.base.progress import finish
from tokstudio.core.comparison.figures import FIGURES
from tokstudio.core.comparison.table import SIGNS
from tokstudio.core.project import Project, ProjectRun, keep_changed_work, open_work, save_work

ENGLISH, GERMAN = "The cat sat on the mat.\nA cat.\n", "Die Katze saß auf der Matte.\nEine Katze.\n"


@pytest.fixture
def texts(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "eng_Latn.txt").write_text(ENGLISH, encoding="utf-8")
    (folder / "deu_Latn.txt").write_text(GERMAN, encoding="utf-8")
    return str(folder)


def printed(capsys, *arguments):
    assert cli.main(["compare", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_the_figures_are_those_of_the_core(tokenizer, texts, capsys):
    told = json.loads(printed(capsys, tokenizer, "bytes", "--texts", texts, "--base", "eng_Latn", "--json"))
    assert told["tokenizers"] == ["tokenizer", "bytes"]
    assert told["texts"] == ["deu_Latn.txt", "eng_Latn.txt"]
    assert told["base"] == "eng_Latn.txt"
    tokenizers = {"tokenizer": load(tokenizer), "bytes": ByteTokenizer()}
    core = compare_in_core(tokenizers, {"deu_Latn.txt": GERMAN, "eng_Latn.txt": ENGLISH}, base="eng_Latn.txt")
    assert told["figures"] == json.loads(core.to_json())["figures"]


def test_bytes_per_token_are_an_aligned_table(tokenizer, texts, capsys):
    lines = printed(capsys, tokenizer, "bytes", "--texts", texts).splitlines()
    assert lines[0] == "Bytes per token = B / N. Unit: bytes of UTF-8 per token"
    assert lines[1].split("  ")[-2:] == [f"tokenizer ({len(load(tokenizer))} tokens)", "bytes (256 tokens)"]
    assert [line.split("  ")[0] for line in lines[2:]] == ["deu_Latn.txt", "eng_Latn.txt", "All texts"]
    assert len(set(map(len, lines[1:]))) == 1
    assert lines[2].endswith("  1.00")


def test_several_figures_are_several_tables(texts, capsys):
    shown = printed(capsys, "bytes", "characters", "--texts", texts, "--figure", "tokens", "--figure", "fertility")
    tokens, fertility = shown.split("\n\n")
    assert tokens.startswith("Tokens = N")
    assert fertility.startswith("Fertility = N / W")
    assert fertility.count("words  ") == 2


def test_markdown_is_that_of_the_core(texts, capsys):
    shown = printed(capsys, "bytes", "characters", "--texts", texts, "--markdown", "--figure", "tokens")
    assert shown.splitlines()[2] == "|  | bytes (256 tokens) | characters |"
    assert f"| deu\\_Latn.txt | {len(GERMAN.encode())} | **{len(GERMAN)}** |" in shown


def test_csv_is_written_to_a_file(texts, tmp_path, capsys):
    out = tmp_path / "matrix.csv"
    assert printed(capsys, "bytes", "--texts", texts, "--csv", out, "--figure", "tokens") == ""
    with out.open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[:4] == [
        ["figure", "text", "W counts", "bytes (256 tokens)"],
        ["tokens", "deu_Latn.txt", "", f"{len(GERMAN.encode())}"],
        ["tokens", "eng_Latn.txt", "", f"{len(ENGLISH)}"],
        ["tokens", "All texts", "", f"{len(GERMAN.encode()) + len(ENGLISH)}"],
    ]


def test_words_are_those_of_the_texts(texts, capsys):
    told = json.loads(printed(capsys, "words", "--texts", texts, "--figure", "vocabulary_used", "--json"))
    assert told["tokenizers"] == ["words"]
    assert all(0 < row[0] < 1 for row in told["figures"]["vocabulary_used"])


def test_a_file_named_like_a_simple_tokenizer_is_the_file(tokenizer, texts, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("bytes").write_bytes(Path(tokenizer).read_bytes())
    told = json.loads(printed(capsys, "bytes", "--texts", texts, "--figure", "tokens", "--json"))
    assert told["figures"]["tokens"][0][0] == len(load(tokenizer).encode(GERMAN))


def test_names_are_made_different(tokenizer, texts, tmp_path, capsys):
    other = tmp_path / "other"
    other.mkdir()
    copy = other / Path(tokenizer).name
    copy.write_bytes(Path(tokenizer).read_bytes())
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "eng_Latn.txt").write_text("more", encoding="utf-8")
    arguments = [tokenizer, copy, copy, "--texts", texts, tmp_path / "more", "--figure", "tokens", "--json"]
    told = json.loads(printed(capsys, *arguments))
    above = tmp_path.name
    assert told["tokenizers"] == [f"{above}/tokenizer", "other/tokenizer", "other/tokenizer (2)"]
    assert told["texts"] == ["deu_Latn.txt", "texts/eng_Latn.txt", "more/eng_Latn.txt"]


def test_the_runs_of_a_project_are_compared(texts, tmp_path, capsys):
    runs = []
    for size in (260, 300):
        trainer = Trainer(Corpus.from_text(FIFTY), TrainingConfig(vocabulary_size=size))
        for _ in trainer:
            pass
        runs.append(ProjectRun(f"Run {size}", trainer.run))
    path = tmp_path / "project.tokstudio"
    finish(save_work(Project(runs=tuple(runs)), path))
    told = json.loads(printed(capsys, path, "--texts", texts, "--figure", "tokens", "--json"))
    assert told["tokenizers"] == ["Run 260", "Run 300"]
    assert told["figures"]["tokens"][0][0] > told["figures"]["tokens"][0][1]
    finish(save_work(Project(), path))
    assert cli.main(["compare", str(path), "--texts", texts]) == 1
    assert "there are no runs" in capsys.readouterr().err


def test_the_texts_that_runs_of_a_project_were_trained_on_are_marked_in_every_form(texts, tmp_path, capsys):
    book, project, out = Path(texts) / "eng_Latn.txt", tmp_path / "mine.tokstudio", tmp_path / "out.csv"
    words = ["train", str(book), "--vocab-size", "270", "--project", str(project), "-q"]
    assert cli.main(words) == 0
    capsys.readouterr()
    shown = printed(capsys, project, "--texts", texts)
    assert "†" not in shown.splitlines()[2]
    assert "†" in shown.splitlines()[3]
    assert shown.splitlines()[-1] == f"† {SIGNS['†']}"
    assert "| eng\\_Latn.txt | †" in printed(capsys, project, "--texts", texts, "--markdown")
    told = json.loads(printed(capsys, project, "--texts", texts, "--json"))
    assert told["trained_on"] == [[False], [True]]
    printed(capsys, project, "--texts", texts, "--csv", out)
    assert "trained_on,eng_Latn.txt,,1\n" in out.read_text()
    page = tmp_path / "out.html"
    assert cli.main(["report", str(project), "--texts", texts, "--out", str(page)]) == 0
    assert f"† {SIGNS['†']}" in page.read_text()
    # What a project alone knows of a tokenizer that another library trained.
    kept = finish(open_work(project)).runs[0]
    assert isinstance(kept, ProjectRun)
    run = finish(keep_changed_work("changed", Tokenizer.from_run(kept.run)))
    state = {"trained_on": [hashlib.sha256(GERMAN.encode()).hexdigest(), 1]}
    finish(save_work(Project(runs=(replace(run, state=state),)), project))
    told = json.loads(printed(capsys, project, "--texts", texts, "--json"))
    assert told["trained_on"] == [[True], [False]]


@pytest.fixture
def latin(tmp_path):
    """A tokenizer of the characters of the English text."""
    text, path = tmp_path / "english.txt", tmp_path / "latin.json"
    text.write_text(ENGLISH, encoding="utf-8")
    words = ["train", str(text), "--vocab-size", "30", "--base", "characters", "--export", f"huggingface={path}", "-q"]
    assert cli.main(words) == 0
    return str(path)


def test_what_cannot_be_encoded_is_a_dash_and_a_reason(latin, texts, capsys):
    assert cli.main(["compare", latin, "--texts", texts]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[2].split() == ["deu_Latn.txt", "–"]
    assert shown.err.count("tokstudio: latin, deu_Latn.txt: ") == 1
    assert cli.main(["compare", latin, "--texts", f"{texts}/deu_Latn.txt"]) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bytes", "--base", "fra"], '--base: no text is named "fra"; the texts are deu_Latn.txt, eng_Latn.txt.'),
        (["bytes", "--against", "gpt2"], '--against: no tokenizer is named "gpt2"; the tokenizers are bytes.'),
        (["bytes", "--figure", "premium"], "--figure premium: say which text is the base with --base."),
        (["missing.json"], "missing.json: no such file or folder."),
        (["bytes", "--csv", "missing/matrix.csv"], "missing does not exist"),
    ],
)
def test_what_is_wrong_is_said(texts, tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["compare", *arguments, "--texts", texts]) == 1
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["bytes"],
        ["--texts", "a.txt"],
        ["bytes", "--texts", "a.txt", "--figure", "speed"],
        ["bytes", "--texts", "a.txt", "--json", "--markdown"],
        ["bytes", "--texts", "-", "-"],
        ["bytes", "--texts", "a", "b", "--parallel"],
        ["bytes", "--texts", "a", "--parallel", "--split-by", "language"],
        ["bytes", "--texts", "a", "--parallel", "--documents", "file"],
        ["bytes", "--texts", "a", "--parallel", "--encoding", "latin-1"],
    ],
)
def test_wrong_usage_is_said(arguments, capsys):
    assert cli.main(["compare", *arguments]) == 2
    assert capsys.readouterr().err.startswith("usage: tokstudio compare")


def test_the_help_names_the_figures_of_the_core():
    assert tuple(FIGURES) == _FIGURES


def test_standard_input_and_reading_options_are_texts(typed, capsys):
    typed(json.dumps({"text": "one two", "other": "x"}).encode() + b"\n")
    told = json.loads(printed(capsys, "bytes", "--texts", "-", "--field", "text", "--figure", "tokens", "--json"))
    assert told["texts"] == ["standard input"]
    assert told["figures"]["tokens"] == [[7]]


# ---- parallel sets


def test_a_parallel_set_is_encoded_line_by_line_with_english_as_base(tokenizer, texts, capsys):
    told = json.loads(printed(capsys, tokenizer, "--texts", texts, "--parallel", "--json"))
    assert (told["texts"], told["base"]) == (["deu_Latn", "eng_Latn"], "eng_Latn")
    own = load(tokenizer)
    counts = [sum(len(own.encode(line)) for line in text.splitlines()) for text in (GERMAN, ENGLISH)]
    assert told["figures"]["tokens"] == [[count] for count in counts]
    assert told["figures"]["premium"] == [[counts[0] / counts[1]], [1]]
    told = json.loads(printed(capsys, "words", "--texts", texts, "--parallel", "--base", "deu_Latn", "--json"))
    assert told["base"] == "deu_Latn"


def test_a_parallel_set_of_unequal_lengths_is_refused(tokenizer, texts, capsys):
    Path(texts, "deu_Latn.txt").write_text("one line\n", encoding="utf-8")
    assert cli.main(["compare", tokenizer, "--texts", texts, "--parallel"]) == 1
    assert '"eng_Latn" has 2 lines, but "deu_Latn" has 1' in capsys.readouterr().err


def test_lengths_relate_to_a_chosen_tokenizer(tokenizer, texts, capsys):
    arguments = [tokenizer, "bytes", "--texts", texts, "--figure", "normalised_length", "--json", "--against"]
    for name in ("bytes", "tokenizer", tokenizer):
        told = json.loads(printed(capsys, *arguments, name))
        assert told["against"] == Path(name).stem
        column = 1 if name == "bytes" else 0
        assert [row[column] for row in told["figures"]["normalised_length"]] == [1, 1]


def test_an_empty_text_beside_others_is_a_dash(texts, typed, capsys):
    Path(texts, "empty.txt").touch()
    files = [f"{texts}/{name}" for name in ("deu_Latn.txt", "empty.txt")]
    typed(b"")
    assert cli.main(["compare", "bytes", "--texts", *files, "-"]) == 0
    shown = capsys.readouterr()
    assert [line.split()[-1] for line in shown.out.splitlines()[2:]] == ["1.00", "–", "–", "1.00"]
    assert "empty.txt: it has no text." in shown.err
    assert cli.main(["compare", "bytes", "--texts", files[1]]) == 1
    assert "empty.txt: the file is empty." in capsys.readouterr().err


def test_a_base_with_other_lines_gives_no_premium_and_a_reason(texts, capsys):
    Path(texts, "deu_Latn.txt").write_text("Eine Katze.\n", encoding="utf-8")
    assert cli.main(["compare", "bytes", "--texts", texts, "--base", "eng_Latn", "--figure", "premium"]) == 0
    shown = capsys.readouterr()
    assert [line.split() for line in shown.out.splitlines()[2:]] == [["deu_Latn.txt", "–"], ["eng_Latn.txt", "1.00"]]
    assert "eng_Latn.txt has 2 lines, deu_Latn.txt has 1 line." in shown.err


# ---- report


def test_a_report_has_the_figures_and_the_hashes_of_the_files(tokenizer, texts, tmp_path, capsys):
    out = tmp_path / "report.html"
    assert cli.main(["report", tokenizer, "bytes", "--texts", texts, "--parallel", "--out", str(out)]) == 0
    assert capsys.readouterr().err.splitlines()[-1] == "Wrote report.html."
    page = out.read_text(encoding="utf-8")
    assert hashlib.sha256(Path(tokenizer).read_bytes()).hexdigest() in page
    core = compare_in_core({"tokenizer": load(tokenizer)}, {"deu": GERMAN.splitlines(), "eng": ENGLISH.splitlines()})
    assert f">{core.figure('bytes_per_token')[0, 0]:.2f}</td>" in page
    assert "N / N(eng_Latn)" in page


def test_a_report_that_cannot_be_written_is_said_before_anything_is_read(texts, tmp_path, capsys):
    out = tmp_path / "missing" / "report.html"
    assert cli.main(["report", "nothing", "--texts", texts, "--out", str(out)]) == 1
    assert "missing does not exist" in capsys.readouterr().err


def test_a_report_of_hostile_names_prints_and_writes_no_control_characters(tokenizer, tmp_path, capsys):
    if os.name == "nt":
        pytest.skip("Windows has no such names")
    text, out = tmp_path / "<b>\x1b[2J.txt", tmp_path / "\x1b]0;.html"
    text.write_text(ENGLISH, encoding="utf-8")
    assert cli.main(["report", tokenizer, "--texts", str(text), "--out", str(out)]) == 0
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    page = out.read_text(encoding="utf-8")
    assert "\x1b" not in page
    assert r"&lt;b&gt;\x1b[2J.txt" in page


@pytest.mark.parametrize("arguments", [["bytes", "--texts", "a"], ["--texts", "a", "--out", "b"]])
def test_a_report_needs_tokenizers_texts_and_a_file(arguments, capsys):
    assert cli.main(["report", *arguments]) == 2
    assert capsys.readouterr().err.startswith("usage: tokstudio report")
