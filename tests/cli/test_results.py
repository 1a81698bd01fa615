"""Results that would replace a file: one that a command reads, one that exists, or another result."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from pathlib import Path

import pytest

from tokstudio import Corpus, TrainingConfig, cli, save, train
from tokstudio.cli.arguments.parser import Parser
from tokstudio.cli.results import READ_FILES, READ_TOKENIZERS, RESULTS

TEXT = "".join(f"the cat sat on the mat {number}\n" for number in range(200))
READ = "the command reads this file: give the result another path.\n"
EXISTS = "this file exists already: give the export another path, or add --force to replace it.\n"


@pytest.fixture
def place(tmp_path, write):
    """A folder with a text and a tokenizer."""
    write("a.txt", TEXT)
    write("en.txt", TEXT)
    write("tokenizer_config.json", "{}")
    (tmp_path / "mine").mkdir()
    tokenizer = train(Corpus.from_text(TEXT), TrainingConfig(vocabulary_size=300, pattern="gpt2"))
    save(tokenizer, tmp_path / "mine", "classic", accept_loss=True)
    save(tokenizer, tmp_path / "mine.json")
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


COMMANDS = [
    "report mine.json --texts a.txt --out {}",
    "compare mine.json --texts a.txt --csv {}",
    "count a.txt --pattern gpt2 --out {}",
    "encode --tokenizer mine.json a.txt --out {}",
    "decode --tokenizer mine.json a.txt --out {}",
    "train a.txt --vocab-size 300 --export merges-csv={} --force",
    "train en.txt --counts a.txt --vocab-size 300 --export merges-csv={} --force",
    "train en.txt --algorithm parity --parallel en=a.txt --vocab-size 300 --export merges-csv={} --force",
    "train en.txt --base characters --base-vocabulary a.txt --vocab-size 300 --export merges-csv={} --force",
    "extend mine.json a.txt --vocab-size 310 --export merges-csv={} --force",
    "extend mine.json a.txt --vocab-size 310 --report {}",
    "prune mine.json --vocab-size 280 --corpus a.txt --report {}",
    "prune mine.json --vocab-size 280 --reference a.txt --report {}",
    "renumber mine.json --by a.txt --report {}",
    "convert mine.json new.csv --format merges-csv --report {} --sample a.txt",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_result_replaces_a_text_that_is_read_by_any_name(place, command, run):
    (place / "hard.txt").hardlink_to(place / "a.txt")
    (place / "soft.txt").symlink_to(place / "a.txt")
    before = contents(place)
    for name in ("a.txt", "./a.txt", "mine/../a.txt", str(place / "a.txt"), "hard.txt", "soft.txt"):
        assert run(1, command.format(name)).err == f"tokstudio: {Path(name).name}: {READ}", name
        assert contents(place) == before, name


@pytest.mark.parametrize(
    "command",
    [
        "report mine --texts a.txt --pattern gpt2 --out mine/vocabulary.json",
        "compare mine --texts a.txt --pattern gpt2 --csv mine/merges.json",
        "encode --tokenizer mine --pattern gpt2 a.txt --out mine/merges.json",
        "encode --tokenizer mine/merges.json --pattern gpt2 a.txt --out mine/vocabulary.json",
        "prune mine --vocab-size 280 --pattern gpt2 --map mine/merges.json",
        "prune mine --vocab-size 280 --pattern gpt2 --export classic=mine --force",
        "join mine.json mine --export huggingface=mine.json --force",
        "convert mine mine --format classic --pattern gpt2 --force",
        "renumber mine.json --by mine --pattern gpt2 --report mine/merges.json",
        # What stands beside a tokenizer is read with it.
        "encode --tokenizer mine.json a.txt --out tokenizer_config.json",
    ],
)
def test_no_result_replaces_a_file_of_a_tokenizer_that_is_read(place, command, run):
    before = contents(place)
    assert run(1, command).err.endswith(READ)
    assert contents(place) == before


def test_in_a_folder_of_texts_only_what_is_read_is_kept(place, write, run):
    """A new file there, and one that is skipped, are no texts that the command reads."""
    text = write("texts/a.txt", TEXT)
    old = write("texts/old.npz", b"\x89PNG\r\n\x1a\n" + bytes(99))
    words = "prune mine.json --vocab-size 280 --corpus texts -q"
    run(0, words, "--map texts/old.npz --report texts/new.txt")
    assert old.read_bytes()[:2] == b"PK"
    for name in ("texts/a.txt", "texts/new.txt"):
        assert run(1, words, f"--report {name}").err.endswith(READ)
    assert text.read_text(encoding="utf-8") == TEXT


@pytest.mark.parametrize(
    "command",
    [
        "train a.txt --vocab-size 300 --export classic=mine",
        "train a.txt --vocab-size 300 --export merges-csv=other.txt",
        "train a.txt --vocab-size 60 --algorithm wordpiece --export huggingface=other.json",
        "extend mine.json a.txt --vocab-size 310 --export merges-csv=other.txt",
        "prune mine.json --vocab-size 280 --export vocabulary-csv=other.txt",
        "convert mine.json other.txt --format vocabulary-csv",
    ],
)
def test_an_export_over_a_file_that_exists_asks_for_force(place, command, run):
    for name in ("other.txt", "other.json"):
        (place / name).write_text("mine", encoding="utf-8")
    before = contents(place)
    assert run(1, command).err.endswith(EXISTS)
    assert contents(place) == before
    run(0, [*command.split()], "--force --accept-loss -q")
    assert contents(place) != before


def test_results_that_differ_only_in_case_are_refused_where_they_are_one_file(place, run):
    (place / "Folder").mkdir()
    command = (
        "train a.txt --vocab-size 300 --pattern gpt2 --export merges-csv=Folder/x.csv "
        "--export vocabulary-csv=Folder/{}.csv --accept-loss --force"
    )
    if not (place / "fOLDER").exists():
        run(0, command.format("X"))
        assert {path.name for path in (place / "Folder").iterdir()} == {"x.csv", "X.csv"}
        (place / "fOLDER").symlink_to(place / "Folder")  # as a system that ignores case has it
    before = contents(place)
    said = run(1, command.format("X")).err
    assert said == "tokstudio: X.csv: two exports would write this file: give each its own path.\n"
    assert contents(place) == before
    run(0, command.format("y"))


def test_a_log_is_not_added_to_a_text_that_the_window_opens(place, run):
    assert run(1, "a.txt --log-file ./a.txt").err.endswith(READ)
    assert (place / "a.txt").read_text(encoding="utf-8") == TEXT


def test_every_argument_that_names_a_file_is_read_or_written(monkeypatch, run):
    """So that no result of a new option is forgotten."""
    parsers = []

    def seen(self, *_):
        parsers.append(self)
        raise SystemExit(0)

    commands = re.findall("^  tokstudio ([\\w-]+)", run(0, "--help").out, re.MULTILINE)
    assert len(commands) == 23
    monkeypatch.setattr(Parser, "parse_args", seen)
    monkeypatch.setattr(Parser, "parse_intermixed_args", seen)
    for command in commands:
        cli.main([command])
    names = {
        action.dest
        for parser in parsers
        for action in parser._actions
        if action.type is Path or any(word in str(action.metavar) for word in ("FILE", "PATH", "THEIRS", "TOKENIZER"))
    }
    assert {"out", "files", "export", "reference", "theirs", "target"} <= names
    # One command prints what it is given, one compares by a name, and one expects an address.
    known = {*READ_FILES, *READ_TOKENIZERS, *RESULTS, "export", "target", "path", "against"}
    assert names - known == set()
