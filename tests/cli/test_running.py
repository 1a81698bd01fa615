"""The command `run` and `train --experiment`: what they train, write, keep and compare."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.fifty import FIFTY
from tokstudio import TrainingConfig, load, load_experiment, load_project, train
from tokstudio.cli import running
from tokstudio.core.base import atomic_files
from tokstudio.core.base.atomic_files import StagedFiles
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.experiment.experiment import merges_files
from tokstudio.core.model.algorithms import ALGORITHMS
from tokstudio.core.model.settings import LIBRARY_ALGORITHMS
from tokstudio.core.training.trainer import Trainer

OTHER = "mäyrä ja kettu istuvat matolla, " * 40
SHORT = "experiment = 1\n[settings]\nvocabulary_size = 290\npattern = 'gpt2'\n[[source]]\npath = 'fifty.txt'\n"
#: The options of each algorithm that make all of it be at work.
OPTIONS = {
    "parity": "--parallel fifty=fifty.txt --parallel other.txt=same.txt --global-merges 3 --window 5 --alpha 1.5",
    "superbpe": "--pattern gpt2 --transition 280",
    "boundless": "--pattern gpt2",
    "picky": "--threshold 0.4",
    "sentencepiece-bpe": "--character-coverage 0.99 --byte-fallback",
    "wordpiece": "--min-frequency 3 --continuing-prefix @",
}


@pytest.fixture
def texts(write, text):
    write("same.txt", "\n".join(FIFTY.splitlines()))
    return [text, str(write("other.txt", OTHER))]


@pytest.fixture
def experiment(run, texts):
    """Trains on two texts, and writes an experiment."""
    run(0, "train", texts, "--vocab-size 290 --weight other.txt=0.5 --experiment e.toml --quiet")
    return Path("e.toml")


def lines_of(name):
    return Path(name).read_text().splitlines()


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, *(name for name in LIBRARY_ALGORITHMS if "sentencepiece" in name)])
def test_an_experiment_of_each_algorithm_gives_the_same_in_another_folder(run, texts, monkeypatch, tmp_path, algorithm):
    size = 600 if algorithm in LIBRARY_ALGORITHMS and algorithm.endswith("bpe") else 300
    size = 60 if algorithm == "sentencepiece-unigram" else size
    options = OPTIONS.get(algorithm, "")
    if algorithm == "parity":
        options = options.replace("=fifty.txt", f"={tmp_path / 'fifty.txt'}")
    run(0, f"train {texts[0]} other.txt --vocab-size {size} --algorithm {algorithm} {options} --experiment e.toml")
    before, merges = Path("e.toml").read_text(), lines_of("e.merges")
    assert len(merges) >= 30
    (tmp_path / "moved").mkdir()
    for path in [*tmp_path.glob("*.t*"), tmp_path / "e.merges"]:
        shutil.move(path, tmp_path / "moved")
    monkeypatch.chdir(tmp_path / "moved")
    assert "The same texts and the same result" in run(0, "run --check e.toml").out
    assert Path("e.toml").read_text() == before
    run(0, "run e.toml", says="The result is the same as before.")
    assert (Path("e.toml").read_text(), lines_of("e.merges")) == (before, merges)


def test_all_options_of_train_are_written_and_made_again(run, write, texts, tmp_path):
    write(
        "rows.jsonl",
        "".join(json.dumps({"t": f"row {n} of rows", "k": "de" if n % 2 else "fi"}) + "\n" for n in range(30)),
    )
    write("list.csv", "source,document\nrows.jsonl,3\n")
    printed = run(
        0, "train rows.jsonl fifty.txt --field t --split-by k --min-document-chars 3 --documents line --weight de=2.5",
        "--leave-out repeated-lines=30 --leave-out-list list.csv --sample-bytes 400 --held-out 0.2 --tie-break bytes",
        "--special <|a|> --special", ["<|b|>\n"], "--special-placement first --max-token-bytes 6",
        "--min-frequency 2 --vocab-size 290 --pattern gpt2 --print-merges --forbid mixed-scripts",
        "--export huggingface=tokenizer.json",
        "--experiment e.toml",
    )  # fmt: skip
    assert lines_of("e.merges") == printed.out.splitlines()
    ids = load(tmp_path / "tokenizer.json").encode(OTHER)
    Path("tokenizer.json").unlink()
    again = run(0, "run e.toml --print-merges", says="The result is the same as before.")
    assert again.out == printed.out
    assert load(tmp_path / "tokenizer.json").encode(OTHER) == ids
    experiment = load_experiment("e.toml")
    assert [(source.path, source.weight) for source in experiment.sources] == [
        ("rows.jsonl", 1000),
        ("fifty.txt", 1000),
    ]
    assert {part.value: part.weight for part in experiment.sources[0].parts} == {"fi": None, "de": 2500}
    assert experiment.trainings[0].sample_bytes == 400


def test_standard_input_is_stored_beside(run, monkeypatch, tmp_path):
    class Input:
        buffer = open(os.devnull, "rb")  # noqa: SIM115

    path = tmp_path / "typed"
    path.write_text(FIFTY)
    Input.buffer.close()
    Input.buffer = path.open("rb")
    monkeypatch.setattr(sys, "stdin", Input)
    run(0, "train - --vocab-size 280 --experiment e.toml")
    Input.buffer.close()
    assert "The same texts" in run(0, "run e.toml --check").out
    assert [source.name for source in load_experiment("e.toml").sources] == ["standard input"]


def test_a_run_rewrites_only_the_result(run, text, write):
    own = SHORT.replace("\n", "   # mine\n") + "\n\n[[export]]\n'format' = 'tiktoken'\npath = 'x.tiktoken'\n# the end"
    path = write("e.toml", own)
    printed = run(0, "run e.toml --json").json
    assert (printed["merges"], printed["files"][0]) == (34, str(path.with_name("x.tiktoken")))
    after = path.read_text()
    assert after.startswith(own + "\n\n[result]\n")
    # Wherever it stands, and whatever is in it.
    path.write_text("[result]\ntokstudio = '0'\ncorpus_sha256 = ''\nmerges = 3\nmerges_sha256 = ''\n# keep\n" + after)
    path.write_text(after.replace("[result]", "[result]\n# goes\n").replace("# the end", "# the end\n"))
    run(0, "run e.toml --force", says="The result is the same as before.")
    assert path.read_text() == after.replace("# the end", "# the end\n")


def test_options_override_the_file_and_are_said(run, text, write, tmp_path):
    path = write("e.toml", SHORT + "[[export]]\nformat = 'tiktoken'\npath = 'x.tiktoken'\n")
    printed = run(
        0, "run e.toml --vocab-size 270 --algorithm picky --special <|a|> --sample-bytes 90",
        "--export vocabulary-csv=y.csv --accept-loss --project p.tokstudio",
    )  # fmt: skip
    for said in (
        "--algorithm replaces algorithm of e.toml (not set).", "--vocab-size replaces vocabulary_size of e.toml (290).",
        "--special replaces special_tokens of e.toml (not set).",
        "--sample-bytes replaces sample_bytes of e.toml (not set).",
        "--export replaces the exports of e.toml.", "Training on a sample of",
        "The result in e.toml stays as it is, because options replaced settings of the file: what else was",
    ):  # fmt: skip
        assert said in printed.err
    assert path.read_text().endswith("x.tiktoken'\n")
    assert [made.name for made in tmp_path.iterdir() if made.suffix in (".tiktoken", ".merges")] == []
    tokenizer = load_project(tmp_path / "p.tokstudio")["Run 1"]
    assert tokenizer.run.config.algorithm.name == "picky"
    assert tokenizer.run.vocabulary_size == 270


def test_what_is_not_in_place_is_said_before_anything_is_trained(run, text, write, tmp_path):
    write("e.toml", SHORT + "[[export]]\nformat = 'tiktoken'\npath = 'x.tiktoken'\n")
    before = write("x.tiktoken", "mine")
    run(1, "run e.toml", says="x.tiktoken: this file exists already: give the export another path, or add --force")
    run(1, "run e.toml --export vocabulary-csv=e.toml --force", says="e.toml: the command reads this file")
    run(1, "run e.toml --export vocabulary-csv=fifty.txt --force", says="fifty.txt: the command reads this file")
    run(1, "run e.toml --check", says="e.toml: it has no [result] to compare with: run it without --check.")
    run(1, "run missing.toml", says="missing.toml: no such file")
    run(2, "run e.toml --check --vocab-size 300", says="--check trains as the file says, and writes nothing: leave out")
    run(2, "run e.toml --check --export tiktoken=y", says="leave out --export")
    run(2, "run e.toml --sample-bytes 0", says="--sample-bytes must be at least 1")
    run(2, "train fifty.txt --vocab-size 290 --experiment e.txt", says='"e.txt" must end in .toml')
    run(
        1, "train fifty.txt --vocab-size 290 --experiment e.toml", says="e.toml: this file exists already: give the exp"
    )
    run(1, "run fifty.txt", says="fifty.txt, line 2: this is not TOML")
    assert before.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.toml", "fifty.txt", "x.tiktoken"]


def test_a_check_tells_the_first_difference_and_writes_nothing(run, experiment, texts, tmp_path):
    files = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert run(0, "run --check e.toml").out == "The same texts and the same result: 34 merges.\n"
    assert run(0, "run --check e.toml --json").json["same"] is True
    merges = lines_of("e.merges")
    Path("other.txt").write_text(OTHER.replace("kettu", "ketun"))
    out = run(1, "run --check e.toml").out.splitlines()
    assert out[0] == "other.txt has another text than then."
    assert out[1].startswith("The merges differ (34 both times), first in line ")
    number = int(out[1].partition("first in line ")[2].partition(" ")[0])
    assert f"of e.merges: then {merges[number - 1]} (" in out[1]
    assert run(1, "run --check e.toml --json").json["differences"] == out
    Path("e.merges").write_text("Merge (1, 2) into a new token 256\n")
    assert "e.merges was changed since, so the first cannot be told." in run(1, "run --check e.toml").out
    Path("e.merges").unlink()
    told = run(1, "run --check e.toml").out.splitlines()
    assert told[0] == "other.txt has another text than then."
    assert told[1].startswith("The merges differ (34 both times), and the first cannot be told. e.merges: no such file")
    files.pop(tmp_path / "e.merges")
    files[tmp_path / "other.txt"] = Path("other.txt").read_bytes()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files


@pytest.mark.parametrize("variants", [False, True])
def test_the_folder_of_an_experiment_may_be_its_text(run, write, variants):
    """What a run reads must not be what it has written."""
    for number in range(3):
        write(f"text-{number}.txt", f"the cat sat on the mat {number}\n" * 30)
    of_variants = '[[variant]]\nname = "a"\n[[variant]]\nname = "b"\nmin_frequency = 3\n' if variants else ""
    said = "[[variant.export]]" if variants else "[[export]]"
    export = f'{said}\nformat = "huggingface"\npath = "made"\n[[leave_out]]\nlists = ["left.csv"]\n'
    write("e.toml", f'experiment = 1\n[settings]\nvocabulary_size = 262\n{of_variants}{export}[[source]]\npath = "."\n')
    write("left.csv", "source,document\n")
    run(0, "run e.toml", says="of the experiment")
    assert [path.name for path in Path("made").iterdir()]
    names = [source.name for source in load_experiment("e.toml").corpus().sources]
    assert names == [f"text-{number}.txt" for number in range(3)]
    run(0, "run --check e.toml")
    run(0, "run e.toml --force", says="The result is the same as before")
    for merges in Path().glob("*.merges"):
        merges.unlink()
    assert run(0, "run --check e.toml").out.startswith("The same texts and the same result")
    write("text-1.txt", "another")
    assert run(1, "run --check e.toml").out.startswith("text-1.txt has another text than then.")


def test_a_check_tells_other_texts_though_the_merges_are_the_same(run, experiment, texts):
    Path("other.txt").write_text(OTHER + "x")
    assert "other.txt has another text than then.\n" in run(1, "run --check e.toml").out
    text = experiment.read_text()
    experiment.write_text(text.replace('path = "other.txt"', 'path = "same.txt"'))
    assert "same.txt is in the place of other.txt.\n" in run(1, "run --check e.toml").out
    experiment.write_text(text.replace('documents = "file"', 'documents = "line"'))
    Path("other.txt").write_text(OTHER)
    assert "has the same texts, but in other documents" in run(1, "run --check e.toml").out


VARIANTS = (
    SHORT
    + """
[output]
csv = "figures.csv"
[[variant]]
name = "two/hundred"
vocabulary_size = 280
[[variant.export]]
format = "tiktoken"
path = "small.tiktoken"
[[variant]]
name = "two-hundred"
algorithm = "picky"
sample_percent = 50
[[variant]]
name = "unigram"
algorithm = "sentencepiece-unigram"
vocabulary_size = 60
"""
)


def test_variants_are_trained_and_compared(run, text, write, tmp_path):
    write("e.toml", VARIANTS)
    printed = run(0, "run e.toml", says="Variant two-hundred:")
    assert "Wrote the comparison of the variants to figures.csv and e.html." in printed.err
    with Path("figures.csv").open() as file:
        names = [name.partition(" (")[0] for name in next(csv.reader(file))[-3:]]
    assert names == ["two/hundred", "two-hundred", "unigram"]
    page = Path("e.html").read_text()
    assert "<pre>experiment = 1\n[settings]\nvocabulary_size = 290\n" in page
    assert [gave.merges for gave in load_experiment("e.toml").result.trainings][0::2] == [24, 60]
    # Their names differ, but not as names of files.
    assert len(lines_of("e.two-hundred.merges")) == 24
    assert len(lines_of("e.two-hundred-2.merges")) >= 34
    assert Path("small.tiktoken").exists()
    out = run(0, "run e.toml --check").out
    assert out.startswith("The same texts and the same result: 24 merges, ")
    assert out.endswith(" merges, 60 tokens.\n")
    run(1, "run e.toml", says="Variant two/hundred: small.tiktoken: this file exists already: give the export")
    for path in tmp_path.glob("small*"):
        path.unlink()
    run(1, "run e.toml", says="figures.csv: this file exists already: give the comparison")
    names = [variant["name"] for variant in run(0, "run e.toml --force --json").json["variants"]]
    assert names == ["two/hundred", "two-hundred", "unigram"]
    run(1, "run e.toml --force --export tiktoken=x", says="--export and --project are for one training")
    write("fifty.txt", FIFTY.replace("e", "i"))
    Path("e.two-hundred.merges").unlink()
    told = run(1, "run e.toml --check").out
    for said in ("fifty.txt has another text", "Variant two/hundred: The merges differ (24 both times), and the first"):
        assert said in told
    assert "Variant two-hundred: The merges differ" in told


def test_a_variant_that_fails_does_not_stop_the_others(run, text, write):
    write("e.toml", VARIANTS.replace("vocabulary_size = 60", "vocabulary_size = 9"))
    said = run(1, "run e.toml", says="tokstudio: Variant unigram: ").err
    assert "Not written, as not every training has ended: e.toml, e.two-hundred.merges, " in said
    assert Path("small.tiktoken").exists()
    assert load_experiment("e.toml").result is None


def test_a_file_that_is_changed_while_it_is_run_keeps_the_change(run, text, write, monkeypatch):
    path = write("e.toml", SHORT)
    reading = load_experiment

    def edited(self, *given):
        path.write_text(SHORT.replace("290", "291"))
        return whole(self, *given)

    from tokstudio.core.experiment.reading import ExperimentTexts

    whole = ExperimentTexts.corpus_work
    monkeypatch.setattr(ExperimentTexts, "corpus_work", edited)
    run(
        1,
        "run e.toml",
        says="e.toml: it has been changed since it was read, so the result is not written: run it again.",
    )
    assert path.read_text() == SHORT.replace("290", "291")
    # The run is not lost.
    assert len(load_project(path.with_name("e.toml.tokstudio"))) == 1
    assert reading(path).result is None


@pytest.mark.parametrize("fails", ["replace", "write"])
def test_a_failure_while_writing_leaves_the_file_as_it_was(run, experiment, monkeypatch, fails, tmp_path):
    Path("other.txt").write_text(OTHER + OTHER.upper())
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}

    def broken(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        if fails == "replace":
            patch.setattr(atomic_files.os, "replace", broken)
        else:
            patch.setattr(atomic_files, "_copy", broken)
        run(1, "run e.toml", says="there is no space left on the disk")
    after = {path: path.read_bytes() for path in tmp_path.iterdir() if path in before}
    assert after == before


@pytest.mark.parametrize("full", ["e.toml", "e.html"])
def test_on_a_full_disk_it_is_said_what_was_written(run, text, write, monkeypatch, full):
    write("e.toml", VARIANTS)
    run(0, "run e.toml")
    before = {name: Path(name).read_bytes() for name in ("e.toml", "figures.csv", "e.html", "e.two-hundred.merges")}
    write("small.tiktoken", "old")
    write("fifty.txt", FIFTY + FIFTY.upper())
    whole = StagedFiles.write

    def write_until_full(self, path, pieces, total=0):
        if pieces and path.name == full:  # what is reserved before is empty
            raise atomic_files.write_fault(path, OSError(28, "No space left on device"))
        return (yield from whole(self, path, pieces, total))

    monkeypatch.setattr(StagedFiles, "write", write_until_full)
    said = run(1, "run e.toml --force", says=f"{full}: there is no space left on the disk, so it was not written.").err
    assert "nothing was changed" not in said
    assert Path("small.tiktoken").read_bytes() != b"old"
    result = "e.toml, e.two-hundred.merges, e.two-hundred-2.merges, e.unigram.merges"
    is_first = full == "e.toml"
    assert f"These files are not written: {f'{result}, ' * is_first}figures.csv, e.html. These were written" in said
    told = said.partition("written before: ")[2].partition("\n")[0]
    assert "small.tiktoken" in told
    assert ("e.toml" in told) == (not is_first)
    changed = {name for name, content in before.items() if Path(name).read_bytes() != content}
    assert changed == (set() if is_first else {"e.toml", "e.two-hundred.merges"})


@pytest.fixture
def untrained(monkeypatch):
    """No merge may be made."""

    def advance(self, merges=None):
        assert self.prepared is None, "trained"
        return whole(self, merges)

    whole = Trainer.advance
    monkeypatch.setattr(Trainer, "advance", advance)
    monkeypatch.setattr(running, "train_on", lambda *_, **__: pytest.fail("trained"))


def of_variants(*exports, more=""):
    """An experiment whose second and third variants have these exports; the first one has none."""
    tables = [f"[[variant]]\nname = 'v{number}'\n{export}" for number, export in enumerate(("", *exports))]
    return SHORT + more + "".join(tables)


def exporting(format, path):
    return f"[[variant.export]]\nformat = '{format}'\npath = '{path}'\n"


@pytest.mark.parametrize(
    ("exports", "said"),
    [
        (["algorithm = 'boundless'\n" + exporting("gguf", "x.gguf")], "v1: x.gguf: "),
        (["algorithm = 'sentencepiece-unigram'\n" + exporting("classic", "x")], "v1: x: Classic pair cannot hold"),
        (["pattern = 'none'\n" + exporting("gpt2", "x")], "v1: x: GPT-2 pair cannot hold all of this tokenizer. The p"),
        (["base = 'characters'\n" + exporting("tiktoken", "x.tiktoken")], "v1: x.tiktoken: "),
        ([exporting("classic", "old.txt")], "v1: old.txt: this is a file, and Classic pair has several files"),
        ([exporting("huggingface", "old.json")], "v1: old.json: this file exists already"),
        ([exporting("huggingface", "no/x.json")], "v1: x.json: the folder"),
        ([exporting("huggingface", "fifty.txt/x")], "v1: x: the folder cannot be created"),
        ([exporting("vocabulary-csv", "fifty.txt")], "v1: fifty.txt: the command reads this file"),
        (
            ["algorithm = 'parity'\nparallel = { 'fifty.txt' = 'old.txt' }\n" + exporting("vocabulary-csv", "old.txt")],
            "v1: old.txt: the command reads this file",
        ),
        ([exporting("huggingface", "a"), exporting("huggingface", "a")], "v2: a: variant v1 is exported there too"),
        ([exporting("huggingface", "a"), exporting("classic", "./b/../a/")], "v2: a: variant v1 is exported there too"),
        ([exporting("huggingface", "."), exporting("huggingface", "tokenizer.json")], "v2: tokenizer.json: two exp"),
    ],
)
def test_an_export_that_is_impossible_is_refused_before_the_first_training(run, text, write, untrained, exports, said):
    """Each with its variant: all could be found when the first one has been trained for hours."""
    write("e.toml", of_variants(*exports))
    old = [write("old.txt", "old"), write("old.json", "old")]
    before = sorted(Path().rglob("*"))
    run(1, "run e.toml", says=f"Variant {said}")
    assert sorted(Path().rglob("*")) == before
    assert [path.read_text() for path in old] == ["old", "old"]


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("csv = 'x.tiktoken'", "x.tiktoken: two results would be written to this file"),
        ("csv = 'a.csv'\nhtml = 'a.csv'", "a.csv: two results would be written to this file"),
        ("csv = 'e.v0.merges'", "e.v0.merges: two results would be written to this file"),
        ("html = 'fifty.txt'", "fifty.txt: the command reads this file"),
        ("html = 'no/a.html'", "a.html: the folder"),
    ],
)
def test_a_comparison_that_cannot_be_written_is_refused_before(run, text, write, untrained, output, said):
    write("e.toml", of_variants(exporting("tiktoken", "x.tiktoken"), more=f"[output]\n{output}\n"))
    before = sorted(Path().rglob("*"))
    run(1, "run e.toml --force", says=said)
    assert sorted(Path().rglob("*")) == before


def test_options_replace_nothing_that_is_of_the_file(run, text, write, tmp_path):
    """The result of the file stays where options replace settings, so all that belongs to it stays too."""
    write("e.toml", SHORT + "[[export]]\nformat = 'tiktoken'\npath = 'x.tiktoken'\n")
    run(0, "run e.toml")
    write("v.toml", of_variants(exporting("huggingface", "v.json")))
    run(0, "run v.toml")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    stays = "this file exists already, and is not replaced where options replace settings of "
    run(1, "run e.toml --force --vocab-size 270", says=f"x.tiktoken: {stays}e.toml, whose [result] stays: add --export")
    run(
        1,
        "run v.toml --force --vocab-size 270",
        says=f"Variant v1: v.json: {stays}v.toml, whose [result] stays: change",
    )
    Path("v.json").unlink()
    before.pop(tmp_path / "v.json")
    run(1, "run v.toml --force --vocab-size 270", says=f"v.csv: {stays}v.toml")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    said = run(0, "run e.toml --force --vocab-size 270 --export tiktoken=x.tiktoken").err
    assert "The result in e.toml stays as it is, because options replaced settings of the file: what else was" in said
    assert len(load("x.tiktoken")) == 270
    # In a folder where nothing is in place, the file says what is made.
    (tmp_path / "other").mkdir()
    for path in (text, "v.toml"):
        shutil.copy(path, "other")
    run(0, "run other/v.toml --vocab-size 270")
    assert len(load("other/v.json")) == 270
    assert Path("other/v.csv").exists()


#: Runs an experiment, and ends at the second move of a file into its place.
KILLED = """
import os
from tokstudio import cli
from tokstudio.core.base import atomic_files
from tokstudio.core.base.atomic_files import StagedFiles
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.experiment.experiment import merges_files
replace, moved = os.replace, []
def killed(*names):
    if moved:
        os._exit(9)
    moved.append(names)
    replace(*names)
atomic_files.os.replace = killed
cli.main(["run", "e.toml"])
"""


def test_a_killed_run_leaves_the_file_as_it_was_or_complete(run, experiment, monkeypatch, tmp_path):
    """The moves of the experiment and of its merges are finished by the next one that writes there."""
    Path("other.txt").write_text(OTHER + OTHER.upper())
    before = (experiment.read_bytes(), Path("e.merges").read_bytes())
    ended = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, capture_output=True, check=False)
    assert ended.returncode == 9
    half = (experiment.read_bytes(), Path("e.merges").read_bytes())
    assert [one == other for one, other in zip(half, before, strict=True)].count(True) == 1
    run(0, "train fifty.txt --vocab-size 270 --experiment other.toml")
    assert "The same texts and the same result" in run(0, "run --check e.toml").out


@pytest.mark.skipif(sys.platform != "linux", reason="file names are text elsewhere")
def test_names_that_are_no_text_or_have_quotes(run, tmp_path):
    names = [os.fsdecode(b"caf\xe9.txt"), 'a "b" \\c.txt']
    for name in names:
        (tmp_path / name).write_text(FIFTY)
    experiment = os.fsdecode(b"e\xff'\".toml")
    run(0, "train", names, "--vocab-size 270 --experiment", [experiment])
    assert "The same texts" in run(0, "run --check", [experiment]).out


def test_python_has_the_same(run, experiment):
    from tokstudio import train

    read = load_experiment("e.toml")
    run_of_core = train(read.corpus(), read.config).run
    assert run_of_core.corpus.sha256 == read.result.corpus
    lines = [
        f"Merge ({left}, {right}) into a new token {256 + at}"
        for at, (left, right) in enumerate(run_of_core.merges.tolist())
    ]
    assert lines == lines_of("e.merges")


def test_a_project_holds_the_same_text(run, texts, write):
    run(0, f"train {texts[0]} --vocab-size 290 --experiment e.toml --project p.tokstudio")
    text = run(0, "inspect p.tokstudio --json").json["experiment"]
    assert Path("e.toml").read_text().startswith(text)
    run(0, f"train {texts[0]} --vocab-size 290 --project q.tokstudio")
    assert run(0, "inspect q.tokstudio --json").json["experiment"] == text.replace("e.toml", "q.toml").replace(
        '"p.tokstudio"', '"q.tokstudio"'
    )
    write("r.toml", SHORT + "[output]\nproject = 'r.tokstudio'\n")
    run(0, "run r.toml")
    read = run(0, "inspect r.tokstudio --json").json["experiment"]
    assert read == SHORT + "[output]\nproject = 'r.tokstudio'\n"


SECRET = "http://bob:HUNTER2@127.0.0.1:9/x.txt?sig=SECRET&a=1"


def test_no_password_of_an_address_leaves_the_file(write):
    secrets = (
        f'# {SECRET}\n[settings]\nvocabulary_size = 290  # don\'t\n[[source]]\npath = "{SECRET}"\n'
        f"[[source]]\npath = '{SECRET}'\nname = 'a'\n[[source]]\npath = 'ftp://eve:HUNTER2@host/a'\n"
        f"[[source]]\npath = {{hex = '{SECRET.encode().hex()}'}}\n"
        f'[[source]]\npath = "http://bob:HUNTER2\\u0040127.0.0.1:9/y"\n'
    )
    path = write("e.toml", f"experiment = 1\n{secrets}")
    experiment = load_experiment(path)
    text = experiment.shown_text
    for secret in ("HUNTER2", "SECRET", b"HUNTER2".hex()):
        assert secret not in text
    assert text.count("http://…@127.0.0.1:9/x.txt?sig=…&a=…") == 3
    assert "vocabulary_size = 290  # don't\n" in text
    assert experiment.text == path.read_text()
    for wrong in ("weight = -1", "weight = 'x'", "encoding = 3", f"name = 3\nencoding = '{SECRET}'"):
        path.write_text(f'experiment = 1\n[[source]]\npath = "{SECRET}"\n{wrong}\n')
        with pytest.raises(ConfigError) as error:
            load_experiment(path)
        assert "HUNTER2" not in str(error.value)
    plain = SHORT + "# see https://example.org/a?page=1\n"
    assert load_experiment(write("p.toml", plain)).shown_text == plain


def test_other_merges_are_not_replaced(run, text, write):
    path, other = write("e.toml", SHORT), write("e.merges", "mine")
    run(1, "run e.toml", says="e.merges: this file exists already, and is not of the [result] in e.toml")
    assert (path.read_text(), other.read_text()) == (SHORT, "mine")
    write("t.merges", "mine")
    run(1, f"train {text} --vocab-size 280 --experiment t.toml", says="t.merges: this file exists already")
    assert Path("t.merges").read_text() == "mine"
    run(0, "run e.toml --force")
    run(0, "run e.toml", says="The result is the same as before.")
    # The merges of a.b.toml are where those of its variant b would be.
    write("a.b.toml", SHORT)
    run(0, "run a.b.toml")
    kept = Path("a.b.merges").read_bytes()
    write("a.toml", SHORT + "[[variant]]\nname = 'b'\n[[variant]]\nname = 'c'\nvocabulary_size = 270\n")
    run(1, "run a.toml", says="a.b.merges: this file exists already")
    assert Path("a.b.merges").read_bytes() == kept


def test_variants_whose_names_differ_only_in_case_are_refused(write):
    path = write("e.toml", SHORT + "[[variant]]\nname = 'A'\n[[variant]]\nname = 'a'\n")
    with pytest.raises(ConfigError, match='line 10: two variants differ only in case, "A" and "a": give each a name'):
        load_experiment(path)
    files = merges_files(path, ["x/Y", "x-y-3", "x-y"])
    assert len({file.name.casefold() for file in files.values()}) == 3


def compared_texts():
    """The texts of a comparison, each with the variants that were trained on it."""
    with Path("e.csv").open() as file:
        rows = list(csv.reader(file))
    names = [name.partition(" (")[0] for name in rows[0]]
    seen = {row[1]: set() for row in rows if row[0] == "bytes_per_token" and row[1] in ("long.txt", "short.txt")}
    for row in rows:
        if row[0] == "trained_on":
            seen[row[1]] = {name for name, value in zip(names[3:], row[3:], strict=True) if value == "1"}
    return seen


LINES = "".join(f"line {n} of the text about badgers and foxes {n * n}\n" for n in range(400))


@pytest.mark.parametrize(
    ("shared", "x", "y", "is_held_out"),
    [
        ("held_out = 0.2", "", "vocabulary_size = 270", True),
        ("held_out = 0.2", "", "algorithm = 'wordpiece'\nvocabulary_size = 80", True),
        ("held_out = 0.2\nsample_percent = 50", "", "algorithm = 'picky'", True),
        ("", "held_out = 0.2", "", False),
        ("", "held_out = 0.2", "held_out = 0.1", False),
        ("held_out = 0.2", "", "sample_percent = 50", False),
        ("", "", "vocabulary_size = 270", False),
    ],
)
def test_variants_are_compared_on_what_none_was_trained_on(run, write, shared, x, y, is_held_out):
    write("long.txt", LINES)
    write("short.txt", "a short text\n" * 9)
    # Nothing of a text without weight is held out.
    source = f"[[source]]\npath = 'long.txt'\n[[source]]\npath = 'short.txt'\nweight = {int(not is_held_out)}\n"
    head = f"experiment = 1\n[settings]\nvocabulary_size = 290\n{shared}\n{source}"
    write("e.toml", f"{head}[[variant]]\nname = 'x'\n{x}\n[[variant]]\nname = 'y'\n{y}\n")
    said = "what all variants held out" if is_held_out else "the whole corpus, which the variants were trained on"
    run(0, "run e.toml", says=f"The texts are {said}")
    assert f"The texts are {said}" in Path("e.html").read_text()
    texts = compared_texts()
    assert texts["long.txt"] == (set() if is_held_out else {"x", "y"})
    assert ("short.txt" in texts) != is_held_out


def test_each_variant_has_its_weights(run, write):
    write("long.txt", LINES)
    write("short.txt", "a short text of rats\n" * 600)
    sources = "[[source]]\npath = 'long.txt'\n[[source]]\npath = 'short.txt'\nweight = 2\n"
    head = f"experiment = 1\n[settings]\nvocabulary_size = 290\npattern = 'gpt2'\nheld_out = 0.2\n{sources}"
    variant = "[[variant]]\nname = '{}'\nweights = {}\n"
    # None of weight 0: all hold out the same.
    others = variant.format("x", "[1, 40]") + variant.format("y", "[20.5, 0.5]")
    write("e.toml", f"{head}{others}[[variant]]\nname = 'z'\n")
    run(0, "run e.toml", says="The texts are what all variants held out")
    assert compared_texts() == {"long.txt": set(), "short.txt": set()}
    files = merges_files(Path("e.toml"), ["x", "y", "z"])
    corpus = load_experiment("e.toml").corpus()
    config = TrainingConfig(vocabulary_size=290, pattern="gpt2", held_out=0.2)
    merges = [files[name].read_text() for name in "xyz"]
    assert merges[0] != merges[1]
    for weights, found in zip(([1, 40], [20.5, 0.5], [1, 2]), merges, strict=True):
        expected = train(corpus.with_weights_in_order(weights), config).merges.tolist()
        lines = (f"Merge ({one}, {other}) into a new token {at}\n" for at, (one, other) in enumerate(expected, 256))
        assert found == "".join(lines)
    run(0, "run e.toml --check")
    # A text of weight 0 is not held out.
    write("e.toml", head + variant.format("x", "[1, 0]") + variant.format("y", "[1, 3]"))
    run(0, "run e.toml --force", says="they do not all hold out the same text")
    assert compared_texts() == {"long.txt": {"x", "y"}, "short.txt": {"y"}}
    write("e.toml", head + variant.format("x", "[1, 3]") + variant.format("y", "[1]"))
    for path in Path().glob("e.*.merges"):
        path.unlink()
    says = "Variant y: 1 weight for 2 texts (long.txt, short.txt): give one for each, in order."
    run(1, "run e.toml --force", says=says)
    assert not list(Path().glob("e.*.merges")), "nothing was trained before"


def test_a_text_of_which_a_sample_took_nothing_is_not_marked(run, write):
    write("long.txt", LINES)
    write("short.txt", "a short text\n")
    sources = "[[source]]\npath = 'long.txt'\n[[source]]\npath = 'short.txt'\n"
    variants = "[[variant]]\nname = 'x'\n[[variant]]\nname = 'y'\nsample_percent = 10\n"
    write("e.toml", f"experiment = 1\n[settings]\nvocabulary_size = 290\n{sources}{variants}")
    run(0, "run e.toml")
    assert compared_texts() == {"long.txt": {"x", "y"}, "short.txt": {"x"}}


def test_a_run_writes_outside_the_folder_only_where_that_is_asked_for(run, write, tmp_path):
    write("in/fifty.txt", FIFTY)
    (tmp_path / "out").mkdir()
    (tmp_path / "in/link").symlink_to(tmp_path / "out")
    outside = (str(tmp_path / "out/x"), "../out/x", "link/x")
    for path in outside:
        for output, line in (
            (f"[[export]]\nformat = 'tiktoken'\npath = '{path}'\n", 9),
            (f"[output]\nproject = '{path}.tokstudio'\n", 8),
            (f"[[variant]]\nname = 'a'\n[[variant.export]]\nformat = 'tiktoken'\npath = '{path}'\n", 11),
            (f"[output]\ncsv = '{path}.csv'\n[[variant]]\nname = 'a'\n", 8),
            (f"[output]\nhtml = '{path}.html'\n[[variant]]\nname = 'a'\n", 8),
        ):
            write("in/e.toml", SHORT + output)
            said = f"e.toml, line {line}: {path}"
            assert "is outside the folder of the experiment" in run(1, "run in/e.toml --force", says=said).err
    assert not list((tmp_path / "out").iterdir())
    write("in/e.toml", SHORT + "[[export]]\nformat = 'tiktoken'\npath = '../out/x'\n")
    run(0, "run in/e.toml --export tiktoken=out/own")
    run(0, "run in/e.toml --write-outside")
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.suffix == "") == ["own", "x"]
    run(0, "run in/e.toml --check")
