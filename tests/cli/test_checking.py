"""The command `check`: sentences for a student, JSON and a table for a teacher."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import pickle
import sys

import pytest

from tests.core.teaching.students import divided, recounting_student
from tokstudio.cli.process.terminal import Console
from tokstudio.core.base.wording import shown
from tokstudio.core.teaching.exercise import TEXT
from tokstudio.core.text.byte_level import to_characters

RIGHT = recounting_student(divided(TEXT), 100)
SMALLEST = recounting_student(divided(TEXT), 100, best=min)
SIZE = "--vocab-size 357"


@pytest.fixture
def submit(write):
    """Writes merges as a submission, by default to merges.txt."""

    def make(merges, name="merges.txt"):
        write(name, "".join(f"{to_characters(a)} {to_characters(b)}\n" for a, b in merges))

    return make


@pytest.fixture
def check(write, run):
    write("corpus.txt", TEXT)
    return lambda code, *words: run(code, "check", *words, "--corpus corpus.txt --special=<|endoftext|>")


def in_words(pair):
    return [part.decode("utf-8", "backslashreplace") for part in pair]


def test_identical_merges_are_told_and_exit_with_0(submit, check):
    submit(RIGHT)
    assert check(0, "merges.txt", SIZE) == ("merges.txt: identical, 100 merges.\n", "")


def test_a_student_reads_what_differs_first_and_what_to_look_at(submit, check):
    submit(SMALLEST)
    lines = check(1, "merges.txt", SIZE).out.splitlines()
    place = next(n for n, (a, b) in enumerate(zip(SMALLEST, RIGHT, strict=True), 1) if a != b)
    assert lines[0] == f"merges.txt: 100 merges, 100 expected; merge {place} differs."
    count = lines[2].split("side by side ")[1]
    assert lines[1].startswith("  Theirs: ")
    assert lines[1].endswith(f"stand side by side {count.split(' times')[0]} times.")
    left, right = map(shown, in_words(RIGHT[place - 1]))
    assert lines[2].startswith(f"  Right:  {left} and {right}, which stand side by side ")
    assert lines[2].endswith("pairs have this count.")
    assert lines[3] == "  Cause: Of several pairs with the highest count, the smallest is taken. (ties-smallest)"
    assert lines[4].startswith("    Look at the place where the best pair is chosen")
    assert len(lines) == 5


def test_json_has_every_field(submit, check):
    submit(SMALLEST)
    told = check(1, "merges.txt --json", SIZE).json
    assert (told["name"], told["identical"], told["merges"], told["expected"]) == ("merges.txt", False, 100, 100)
    assert told["causes"] == [["ties-smallest"]]
    assert told["counts"][0] == told["counts"][1] > 1
    assert told["tied"] > 1
    place = told["first_difference"] - 1
    assert SMALLEST[:place] == RIGHT[:place]
    assert (told["theirs"], told["ours"]) == (in_words(SMALLEST[place]), in_words(RIGHT[place]))
    assert (told["error"], told["remarks"]) == (None, [])
    submit(RIGHT)
    told = check(0, "merges.txt --json", SIZE).json
    assert (told["identical"], told["first_difference"], told["theirs"], told["causes"]) == (True, None, None, [])


def test_a_folder_of_submissions_gives_a_table(submit, check, write):
    submit(RIGHT, "class/anna.txt")
    submit(SMALLEST, "class/ben.txt")
    write("class/carl.pkl", pickle.dumps(RIGHT))
    write("class/dora.json", '{"a": 0}')
    write("class/emil.txt", "")
    lines = check(1, "class", SIZE).out.splitlines()
    assert lines[0] == "anna.txt   identical, 100 merges"
    assert lines[1].startswith("ben.txt    differs at merge ")
    assert lines[1].endswith(": ties-smallest")
    assert lines[2:] == [
        "carl.pkl   identical, 100 merges",
        "dora.json  it is a vocabulary: the merges are needed too, such as merges.txt.",
        "emil.txt   there are no merges in it.",
        "2 of 5 submissions are identical to the right merges.",
    ]
    told = check(1, "class --json", SIZE).json
    assert [each["identical"] for each in told] == [True, False, True, False, False]
    assert told[3]["error"] == "dora.json: it is a vocabulary: the merges are needed too, such as merges.txt."


def test_without_a_size_as_many_merges_are_expected_as_there_are(submit, check):
    submit(SMALLEST[:60])
    told = check(1, "merges.txt --json").json
    assert (told["expected"], told["causes"]) == (60, [["ties-smallest"]])


def test_other_settings_are_taken(submit, check):
    submit(recounting_student(divided(TEXT, pattern=r"\w+|\W"), 40, best=lambda pairs: pairs[0]))
    printed = check(0, "merges.txt --tie-break first --pattern", [r"\w+|\W"]).out
    assert printed == "merges.txt: identical, 40 merges.\n"


def test_each_submission_of_a_folder_is_reported_while_it_is_checked(submit, check, write):
    submit(RIGHT, "class/anna.txt")
    write("class/ben\n.txt", "")
    assert check(1, "class", SIZE).err == "Checked anna.txt, 1 of 2.\nChecked ben\\n.txt, 2 of 2.\n"
    for quiet in ("--json", "--quiet"):
        assert check(1, "class", quiet, SIZE).err == ""


def test_on_a_terminal_the_line_of_progress_takes_the_place_of_the_reports(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Console(chatty=True) as console:
        console.note("Checked anna.txt, 1 of 2.")
    assert capsys.readouterr().err == ""


def test_a_class_with_broken_files_in_between_is_checked_to_its_end(submit, check, write, tmp_path):
    for number in range(10):
        submit(RIGHT, f"class/{number:03}.txt")
        write(f"class/{number:03}a.txt", b"\0" * 99)
        write(f"class/{number:03}b.pkl", pickle.dumps(RIGHT)[:-9] + b".")
    loop = tmp_path / "class" / "loop.txt"
    loop.symlink_to(loop)
    name = os.fsdecode(b"x\xff.txt")
    try:
        write(f"class/{name}", "")
    except OSError:  # a file system that takes only text
        name = "x.txt"
        write(f"class/{name}", "")
    told = json.loads(check(1, "class --json", SIZE).out)
    assert [each["identical"] for each in told] == [True, False, False] * 10 + [False, False]
    assert all(each["error"] for each in told if not each["identical"])
    assert told[-1]["name"] == name
    last = check(1, "class", SIZE).out.splitlines()[-1]
    assert last == "10 of 32 submissions are identical to the right merges."


@pytest.mark.parametrize(
    ("name", "said"),
    [("nowhere.txt", "nowhere.txt is not there."), ("empty", "empty has no file of merges, such as merges.txt.")],
)
def test_what_cannot_be_read_is_said(check, tmp_path, name, said):
    (tmp_path / "empty").mkdir()
    assert check(1, name).out == f"{said}\n"
