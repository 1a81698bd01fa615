"""The examples in the documents do what they say, and the reference of the command line is what the parser takes."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import doctest
import importlib
import linecache
import re
import runpy
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import tokstudio
from tests.core.corpus.remote.sets import parquet
from tests.core.hub.local_hub import Hub, Repository, local_hub
from tokstudio import cli
from tokstudio.cli.arguments.parse import parse

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s#]+)")


def blocks(document: Path, language: str) -> list[str]:
    """The blocks of code in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[list[str]]:
    """The words after `tokstudio` in each line."""
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert all(line[0] == "tokstudio" for line in lines)
    return [line[1:] for line in lines]


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the examples are run."""
    monkeypatch.chdir(tmp_path)
    shutil.copyfile(ROOT / "resources/corpora/how-tokenizers-work.txt", "book.txt")
    for language, names in {"eng": ("eng.txt", "en.txt", "dev.en"), "deu": ("deu.txt", "de.txt", "dev.de")}.items():
        for name in names:
            shutil.copyfile(ROOT / f"resources/corpora/story/{language}_Latn.txt", name)
    return tmp_path


@pytest.fixture
def hub(books: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub on this computer, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(books / "cache"))
    monkeypatch.setattr("tokstudio.core.hub.kept_texts.cache_folder", lambda: books / "cache/tokstudio")
    with local_hub(monkeypatch) as server:
        monkeypatch.setenv("HF_HOME", str(books / "hf"))
        yield server


def test_the_examples_of_the_algorithm_are_true(monkeypatch):
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testfile(str(DOCS / "algorithm.md"), module_relative=False, encoding="utf-8")
    assert tried > 60
    assert failed == 0


def test_the_pictures_of_the_algorithm_are_those_of_its_runs(monkeypatch, capsys, tmp_path):
    draw = runpy.run_path(str(DOCS / "pictures/draw.py"))
    monkeypatch.setitem(draw["main"].__globals__, "HERE", tmp_path)
    monkeypatch.setattr("sys.argv", ["draw.py"])
    draw["main"]()
    drawn = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert len(drawn) == 4
    assert drawn == {name: (DOCS / "pictures" / name).read_text(encoding="utf-8") for name in drawn}
    # The rounds of a file begin with its positions and one separator at each end, and each has a lower floor.
    (tmp_path / "text.txt").write_text("the cat and the hat " * 400)
    monkeypatch.setattr("sys.argv", ["draw.py", str(tmp_path / "text.txt")])
    draw["main"]()
    rounds = re.findall(r"Round\(floor=(\d+), merges=\d+, positions=(\d+), pairs=(\d+)", capsys.readouterr().out)
    assert int(rounds[0][1]) == 8_002
    floors = [int(floor) for floor, *_ in rounds]
    assert floors == sorted(set(floors), reverse=True)
    assert int(rounds[0][2]) > 0, "the pairs of a round are counted when it is noted"


def test_the_examples_of_the_python_page_are_true(books):
    failed, tried = doctest.testfile(str(DOCS / "api.md"), module_relative=False, encoding="utf-8")
    assert tried > 30
    assert failed == 0


def test_the_examples_in_docstrings_are_true(books, hub):
    hub.repositories["datasets/mine/animals"] = Repository({"train.parquet": parquet(["the cat", "a dog"])})
    names = {name: getattr(tokstudio, name) for name in tokstudio.__all__ if name != "__version__"}
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    linecache.clearcache()  # a runner looks at the time of each file in it, for each example
    for name in names:
        if (module_name := getattr(names[name], "__module__", "")).startswith("tokstudio."):
            module = importlib.import_module(module_name)
            for example in finder.find(names[name], name, module, globs={**vars(module), **names}):
                runner.run(example)
    assert runner.summarize(verbose=False).failed == 0
    assert runner.tries > 20
    assert hub.asked, "by the example of Corpus.from_names"


def test_the_python_page_has_every_public_name_once():
    names = re.findall(r"^::: tokstudio\.(\w+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(names) == sorted(set(tokstudio.__all__) - {"__version__"})


def test_the_readme_is_short_and_its_lines_of_python_work(books, capsys):
    assert len(README.read_bytes()) <= 7000
    (block,) = blocks(README, "python")
    exec(compile(block, "README.md", "exec"), {})
    assert (books / "mine" / "tokenizer.json").is_file()
    assert capsys.readouterr().out.startswith("[")


def test_the_commands_of_the_readme_work(books, capsys):
    for words in commands(blocks(README, "sh")[0]):
        assert cli.main(words) == 0, (words, capsys.readouterr().err)


@pytest.mark.parametrize("title", ["Train, encode, convert", "Algorithms", "Training by other libraries"])
def test_the_commands_for_training_work(title, books, capsys):
    section = (DOCS / "cli.md").read_text(encoding="utf-8").split(f"\n## {title}\n")[1]
    block = section.partition("```sh\n")[2].partition("```")[0]
    for words in commands(block):
        assert cli.main(words) == 0, (words, capsys.readouterr().err)


def test_every_command_in_the_documents_is_one_that_the_program_takes():
    lines = [words for block in blocks(README, "sh") + blocks(DOCS / "cli.md", "sh") for words in commands(block)]
    assert len(lines) > 30
    assert {parse(words).command for words in lines} == {
        *("train", "count", "encode", "decode", "convert", "inspect", "compare", "report", "check", "extend", "prune"),
        *("mixture", "join", "renumber", "specials", "explore", "export-bytes", "diff", "lint", "run", "how-much-text"),
        "infer-mixture",
    }


@pytest.mark.parametrize("folder", [".", "docs", "packaging"])
def test_every_link_to_a_file_leads_to_one(folder):
    for document in (ROOT / folder).glob("*.md"):
        targets = LINK.findall(document.read_text(encoding="utf-8"))
        assert [target for target in targets if not (document.parent / target).exists()] == [], document.name
