"""Leaving out on the command line: rules, lists in and out, counting, and what is said of it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import json

import pytest

from tokstudio import Corpus, TrainingConfig, count, load_project, train
from tokstudio.cli.arguments import training as arguments
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.left_out_list import read_list_work, write_list_work
from tokstudio.core.corpus.rules import RULES
from tokstudio.core.corpus.source import Source
from tokstudio.core.project import open_work

TEXTS = [
    "the first post of the forum",
    "another post",
    "the first post of the forum",
    "\x01 noise",
    "the last post, long",
]
TRAIN = "train forum.jsonl --vocab-size 270 --pattern gpt2"


@pytest.fixture(autouse=True)
def forum(write):
    write("forum.jsonl", "".join(json.dumps({"text": text}) + "\n" for text in TEXTS))


@pytest.fixture
def listed(write):
    """Writes a list, and gives its name."""
    return lambda *rows: write("list.csv", "\n".join(rows) + "\n").name


def trained_on(*texts):
    return train(Corpus.from_texts(texts), TrainingConfig(vocabulary_size=270, pattern="gpt2")).run.corpus.sha256


def test_rules_are_those_of_the_core():
    assert tuple(RULES) == arguments.RULES


def test_rules_leave_out_documents_and_lines(run, tmp_path):
    printed = run(
        0, TRAIN, "--leave-out duplicates,control=1 --leave-out blobs --json --project p.tokstudio --left-out out.csv"
    )
    assert printed.json["left_out"] == [
        {"rule": "duplicates", "documents": 1, "lines": 0, "bytes": 27},
        {"rule": "control", "documents": 0, "lines": 1, "bytes": 7},
    ]
    entry = finish(open_work(tmp_path / "p.tokstudio")).runs[0]
    assert entry.run.corpus.sha256 == trained_on(TEXTS[0], TEXTS[1], TEXTS[4])
    assert [step.rules for step in entry.run.corpus.leaving_out] == [
        (("duplicates", None), ("blobs", 64), ("control", 1))
    ]
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [
            ["source", "document", "line", "reason"],
            ["forum.jsonl", "3", "", "duplicates"],
            ["forum.jsonl", "4", "1", "control"],
        ]
    shown = run(0, "inspect p.tokstudio").out
    assert "left out: 1 document and 1 line, 34 B (duplicates 1 document, control 1 line)" in shown


def test_a_written_list_leaves_the_same_out_again(run, tmp_path):
    run(0, TRAIN, "--leave-out duplicates --left-out out.csv --project a.tokstudio")
    assert (tmp_path / "out.csv").read_text() == "source,document,reason\nforum.jsonl,3,duplicates\n"
    run(
        0,
        TRAIN,
        "--leave-out-list out.csv --project b.tokstudio",
        says="Left out: 1 document, 27 B (named 1 document).",
    )
    one, other = (finish(open_work(tmp_path / f"{name}.tokstudio")).runs[0].run.corpus for name in "ab")
    assert one.sha256 == other.sha256 == trained_on(TEXTS[0], TEXTS[1], TEXTS[3], TEXTS[4])
    assert other.leaving_out[0].documents == ((0, 0, 2),)


def test_what_went_is_said(run):
    run(0, TRAIN, "--leave-out duplicates,control",
        says="Left out: 1 document and 1 line, 34 B (duplicates 1 document, control 1 line).\n")  # fmt: skip
    run(0, TRAIN, "--leave-out blobs", says="Left out: nothing, as nothing was found.")


def test_extending_and_training_by_a_library_follow_it(run):
    run(0, TRAIN, "--export huggingface=t.json")
    run(0, "extend t.json forum.jsonl --vocab-size 272 --leave-out control", says="Left out: 1 line, 7 B")
    run(
        0,
        "train forum.jsonl --algorithm wordpiece --vocab-size 60 --leave-out duplicates",
        says="Left out: 1 document, 27 B (duplicates 1 document).",
    )


def test_counting_leaves_out_as_training_does(run, tmp_path):
    run(
        0,
        "count forum.jsonl --pattern gpt2 --out all.parquet --leave-out duplicates,control",
        says="Left out: 1 document",
    )
    kept = Corpus.from_texts([TEXTS[0], TEXTS[1], TEXTS[4]])
    assert Corpus.from_counts(tmp_path / "all.parquet").bytes == kept.bytes
    table = Corpus.from_counts(tmp_path / "all.parquet")
    assert table.documents == len(count(kept, "gpt2"))


def test_a_cluster_refuses_it_by_name(run):
    run(2, "count forum.jsonl --pattern gpt2 --out t.parquet --dask local --leave-out blobs",
        says="--leave-out and --leave-out-list are not for --dask")  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--leave-out dupes", 'there is no rule "dupes": use duplicates, near-duplicates,'),
        ("--leave-out near-duplicates=2", "The threshold of near-duplicates must be from 0.7 to 1, not 2"),
        ("--leave-out duplicates=2", "The rule duplicates has no threshold"),
        ("--leave-out ,", "name a rule: duplicates,"),
        ("--leave-out near-duplicates=a", '"a" is not a number'),
        ("--left-out out.csv", "--left-out is the list of what --leave-out and --leave-out-list left out"),
        ("--leave-out-list nowhere.csv", "nowhere.csv: no such file"),
        ("--leave-out blobs --left-out forum.jsonl", "forum.jsonl"),
    ],
)
def test_wrong_words_are_refused(run, words, said):
    run(
        2 if any(part in words for part in ("dupes", "=a", "out ,")) or words.startswith("--left-out") else 1,
        TRAIN,
        words,
        says=said,
    )


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            ["a,b"],
            'list.csv: this is no list of documents: its first line must name the columns "source" and "document"',
        ),
        (["source,document", "forum.jsonl,9"], "list.csv, line 2: forum.jsonl has no row 9, counted from 1"),
        (["source,document", "forum.jsonl,1", "b.txt,1"], 'list.csv, line 3: There is no source "b.txt".'),
        (["source,document", "7,1"], "list.csv, line 2: There is no source 7: the corpus has 1"),
        (["source,document", "forum.jsonl,0"], 'list.csv, line 2: "0" is not the number of a document'),
        (["source,document", "forum.jsonl"], "list.csv, line 2: a cell is missing"),
        (["source,document,line", "forum.jsonl,1,3"], "forum.jsonl has no line 3 in its row 1, counted from 1"),
        (["source,document", 'forum.jsonl,"1'], "list.csv, line 2: this is no CSV"),
        (["source,document", *(f"forum.jsonl,{row}" for row in range(1, 6))], "Nothing of the text would be left"),
    ],
)
def test_a_list_that_does_not_fit_is_refused(run, listed, rows, said):
    run(1, TRAIN, f"--leave-out-list {listed(*rows)}", says=said)


def test_a_list_may_have_other_columns_and_lines(run, listed, tmp_path):
    name = listed("\ufeffReason,Document,Source,Line", "spam,4,forum.jsonl,1", "", "spam,2,0,", "spam,2,forum.jsonl,")
    run(
        0,
        TRAIN,
        f"--leave-out-list {name}",
        says="Left out: 1 document and 1 line, 19 B (named 1 document and 1 line).",
    )


def test_word_counts_are_refused_by_name(run, write):
    write("words.txt", "the\t3\n")
    run(
        1,
        "train --counts words.txt --vocab-size 260 --leave-out blobs",
        says="words.txt has word counts, not documents",
    )


def test_sources_of_one_name_are_listed_by_their_numbers(tmp_path):
    sources = [Source.from_texts(["a text", "same"], "a.txt"), Source.from_texts(["same"], "a.txt")]
    corpus = Corpus((*sources, Source.from_texts(["same"], 'other, "b".txt')))
    reduced = corpus.without(duplicates=True)
    finish(write_list_work(reduced, tmp_path / "list.csv"))
    assert (tmp_path / "list.csv").read_text() == (
        'source,document,reason\n1,1,duplicates\n"other, ""b"".txt",1,duplicates\n'
    )
    again = finish(corpus.without_work(finish(read_list_work(tmp_path / "list.csv", corpus))))
    assert again.sha256 == reduced.sha256


def test_a_divided_file_is_listed_as_a_whole(tmp_path, write):
    rows = [{"text": text, "lang": "en" if number % 2 else "de"} for number, text in enumerate(TEXTS)]
    write("b.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    corpus = Corpus.from_files(tmp_path / "b.jsonl", split_by="lang")
    reduced = corpus.without(duplicates=True, control=True)
    finish(write_list_work(reduced, tmp_path / "list.csv"))
    assert (tmp_path / "list.csv").read_text() == (
        "source,document,line,reason\nb.jsonl,3,,duplicates\nb.jsonl,4,1,control\n"
    )
    again = finish(corpus.without_work(finish(read_list_work(tmp_path / "list.csv", corpus))))
    assert again.sha256 == reduced.sha256


def test_a_report_says_what_was_left_out(run, tmp_path):
    run(0, TRAIN, "--leave-out duplicates --project p.tokstudio")
    run(0, "convert p.tokstudio t.json --format huggingface --report report.txt")
    report = " ".join((tmp_path / "report.txt").read_text().split())
    assert "Left out of the texts before: 1 document, 27 B (duplicates 1 document)." in report
    assert load_project(tmp_path / "p.tokstudio")["Run 1"].run.corpus.left_out == (("duplicates", 1, 0, 27),)
