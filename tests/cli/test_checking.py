"""The command `check`: sentences for a student, JSON and a table for a teacher."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import pickle
import sys

import pytest

from tests.core.teaching.students import divided, recounting_student
from tokstudio import cli
from tokstudio.cli.process.terminal import Console
from tokstudio.core.base.wording import shown
from tokstudio.core.teaching.exercise import TEXT
from tokstudio.core.text.byte_level import to_characters

SPECIAL = "--special=<|endoftext|>"
SIZE = ["--vocab-size", "357"]


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_bytes(TEXT)
    return str(path)


@pytest.fixture
def submit(tmp_path):
    def write(name, merges):
        path = tmp_path / name
        path.write_text("".join(f"{to_characters(a)} {to_characters(b)}\n" for a, b in merges), encoding="utf-8")
        return str(path)

    return write


RIGHT = recounting_student(divided(TEXT), 100)
SMALLEST = recounting_student(divided(TEXT), 100, best=min)


def test_identical_merges_are_told_and_exit_with_0(corpus, submit, capsys):
    assert cli.main(["check", submit("merges.txt", RIGHT), "--corpus", corpus, *SIZE, SPECIAL]) == 0
    assert capsys.readouterr().out == "merges.txt: identical, 100 merges.\n"


def test_a_student_reads_what_differs_first_and_what_to_look_at(corpus, submit, capsys):
    assert cli.main(["check", submit("merges.txt", SMALLEST), "--corpus", corpus, *SIZE, SPECIAL]) == 1
    place = next(n for n, (a, b) in enumerate(zip(SMALLEST, RIGHT, strict=True), 1) if a != b)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"merges.txt: 100 merges, 100 expected; merge {place} differs."
    (left, right), count = RIGHT[place - 1], lines[2].split("side by side ")[1]
    assert lines[1].startswith("  Theirs: ")
    assert lines[1].endswith(f"stand side by side {count.split(' times')[0]} times.")
    left, right = (shown(part.decode("utf-8", "backslashreplace")) for part in (left, right))
    assert lines[2].startswith(f"  Right:  {left} and {right}, which stand side by side ")
    assert lines[2].endswith("pairs have this count.")
    assert lines[3] == "  Cause: Of several pairs with the highest count, the smallest is taken. (ties-smallest)"
    assert lines[4].startswith("    Look at the place where the best pair is chosen")
    assert len(lines) == 5


def test_json_has_every_field(corpus, submit, capsys):
    assert cli.main(["check", submit("merges.txt", SMALLEST), "--corpus", corpus, *SIZE, SPECIAL, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["name"], told["identical"], told["merges"], told["expected"]) == ("merges.txt", False, 100, 100)
    assert told["causes"] == [["ties-smallest"]]
    assert told["counts"][0] == told["counts"][1] > 1
    assert told["tied"] > 1
    place = told["first_difference"] - 1
    assert SMALLEST[:place] == RIGHT[:place]
    assert told["theirs"] == [part.decode("utf-8", "backslashreplace") for part in SMALLEST[place]]
    assert told["ours"] == [part.decode("utf-8", "backslashreplace") for part in RIGHT[place]]
    assert (told["error"], told["remarks"]) == (None, [])
    assert cli.main(["check", submit("merges.txt", RIGHT), "--corpus", corpus, *SIZE, SPECIAL, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["identical"], told["first_difference"], told["theirs"], told["causes"]) == (True, None, None, [])


def test_a_folder_of_submissions_gives_a_table(corpus, submit, tmp_path, capsys):
    (tmp_path / "class").mkdir()
    submit("class/anna.txt", RIGHT)
    submit("class/ben.txt", SMALLEST)
    (tmp_path / "class" / "carl.pkl").write_bytes(pickle.dumps(RIGHT))
    (tmp_path / "class" / "dora.json").write_text('{"a": 0}')
    (tmp_path / "class" / "emil.txt").write_text("")
    folder = str(tmp_path / "class")
    assert cli.main(["check", folder, "--corpus", corpus, *SIZE, SPECIAL]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "anna.txt   identical, 100 merges"
    assert lines[1].startswith("ben.txt    differs at merge ")
    assert lines[1].endswith(": ties-smallest")
    assert lines[2] == "carl.pkl   identical, 100 merges"
    assert lines[3] == "dora.json  it is a vocabulary: the merges are needed too, such as merges.txt."
    assert lines[4] == "emil.txt   there are no merges in it."
    assert lines[5] == "2 of 5 submissions are identical to the right merges."
    assert cli.main(["check", folder, "--corpus", corpus, *SIZE, SPECIAL, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [each["identical"] for each in told] == [True, False, True, False, False]
    assert told[3]["error"] == "dora.json: it is a vocabulary: the merges are needed too, such as merges.txt."


def test_without_a_size_as_many_merges_are_expected_as_there_are(corpus, submit, capsys):
    assert cli.main(["check", submit("merges.txt", SMALLEST[:60]), "--corpus", corpus, SPECIAL, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["expected"], told["causes"]) == (60, [["ties-smallest"]])


def test_other_settings_are_taken(corpus, submit, capsys):
    words = divided(TEXT, pattern=r"\w+|\W")
    first = recounting_student(words, 40, best=lambda pairs: pairs[0])
    options = ["--pattern", r"\w+|\W", "--tie-break", "first", SPECIAL]
    assert cli.main(["check", submit("merges.txt", first), "--corpus", corpus, *options]) == 0
    assert capsys.readouterr().out == "merges.txt: identical, 40 merges.\n"


def test_each_submission_of_a_folder_is_reported_while_it_is_checked(corpus, submit, tmp_path, capsys):
    (tmp_path / "class").mkdir()
    submit("class/anna.txt", RIGHT)
    (tmp_path / "class" / "ben\n.txt").write_text("")
    arguments = ["check", str(tmp_path / "class"), "--corpus", corpus, *SIZE, SPECIAL]
    assert cli.main(arguments) == 1
    assert capsys.readouterr().err == "Checked anna.txt, 1 of 2.\nChecked ben\\n.txt, 2 of 2.\n"
    for quiet in (["--json"], ["--quiet"]):
        assert cli.main([*arguments, *quiet]) == 1
        assert capsys.readouterr().err == ""
    assert cli.main(["check", submit("class/anna.txt", RIGHT), "--corpus", corpus, *SIZE, SPECIAL]) == 0
    assert capsys.readouterr().err == ""


def test_on_a_terminal_the_line_of_progress_takes_the_place_of_the_reports(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Console(chatty=True) as console:
        console.note("Checked anna.txt, 1 of 2.")
    assert capsys.readouterr().err == ""


def test_a_class_of_300_with_broken_files_in_between_is_checked_to_its_end(corpus, submit, tmp_path, capsysbinary):
    folder = tmp_path / "class"
    folder.mkdir()
    for number in range(100):
        submit(f"class/{number:03}.txt", RIGHT)
        (folder / f"{number:03}a.txt").write_bytes(b"\0" * 99)
        (folder / f"{number:03}b.pkl").write_bytes(pickle.dumps(RIGHT)[:-9] + b".")
    (folder / "loop.txt").symlink_to(folder / "loop.txt")
    name = os.fsdecode(b"x\xff.txt")
    try:
        (folder / name).write_bytes(b"")
    except OSError:  # a file system that takes only text
        name = "x.txt"
        (folder / name).write_bytes(b"")
    assert cli.main(["check", str(folder), "--corpus", corpus, *SIZE, SPECIAL, "--json"]) == 1
    told = json.loads(capsysbinary.readouterr().out)
    assert [each["identical"] for each in told] == [True, False, False] * 100 + [False, False]
    assert all(each["error"] for each in told if not each["identical"])
    assert told[-1]["name"] == name
    assert cli.main(["check", str(folder), "--corpus", corpus, *SIZE, SPECIAL]) == 1
    last = capsysbinary.readouterr().out.decode().splitlines()[-1]
    assert last == "100 of 302 submissions are identical to the right merges."


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.txt"], "nowhere.txt is not there."),
        (["empty"], "empty has no file of merges, such as merges.txt."),
    ],
)
def test_what_cannot_be_read_is_said(corpus, tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert cli.main(["check", *arguments, "--corpus", corpus]) == 1
    assert capsys.readouterr().out == f"{said}\n"


def test_wrong_settings_are_said(corpus, submit, capsys):
    path = submit("merges.txt", RIGHT)
    assert cli.main(["check", path, "--corpus", corpus, "--vocab-size", "200"]) == 1
    assert "Vocabulary size must be greater than 256" in capsys.readouterr().err
    assert cli.main(["check", path, "--corpus", corpus, "--tie-break", "last"]) == 2
    assert cli.main(["check", path]) == 2
