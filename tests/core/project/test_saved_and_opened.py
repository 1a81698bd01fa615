"""What is saved in a project is there when it is opened again."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import os
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.formats.trained import banana, ranks_of, same, tiktoken_lines
from tests.core.formats.trained import trained as trained_tokenizer
from tests.core.project.mutants import change
from tests.core.project.projects import LINES, differences, every_kind, opened, saved, small_project, trained
from tokstudio import ConfigError, Corpus, CorpusError, FormatError, Tokenizer, Trainer, TrainingConfig, save, train
from tokstudio.core.base import atomic_files as files
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus import leaving_out
from tokstudio.core.corpus.leaving_out import LeavingOut
from tokstudio.core.corpus.source import Source
from tokstudio.core.formats.loading import load_work
from tokstudio.core.formats.report import described
from tokstudio.core.project import (
    Project,
    ProjectRun,
    keep_source_work,
    keep_tokenizer_work,
    reopen_source_work,
    reopen_tokenizer_work,
    save_work,
    schema,
    writer,
)
from tokstudio.core.project.schema import tables_of

posix = pytest.mark.skipif(sys.platform == "win32", reason="permissions and limits are POSIX's")


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_every_kind_of_run_is_restored_field_by_field(tmp_path):
    runs = every_kind()
    project = Project(runs=tuple(ProjectRun(name, run) for name, run in runs.items()))
    again = opened(saved(project, tmp_path / "all.tokstudio"))
    assert [entry.name for entry in again.runs] == list(runs)
    for entry in again.runs:
        assert differences(entry.run, runs[entry.name]) == [], entry.name
        assert not entry.run.merges.flags.writeable
        assert same(Tokenizer.from_run(entry.run), Tokenizer.from_run(runs[entry.name]))


special_texts = st.lists(st.text(min_size=2, max_size=6), max_size=3, unique=True)
any_settings = st.fixed_dictionaries(
    {"vocabulary_size": st.none() | st.integers(270, 400)},
    optional={
        "min_frequency": st.none() | st.integers(2, 2**62),
        "pattern": st.sampled_from(["none", "gpt2", "cl100k", "o200k", "whitespace", r"\w+|\W"]),
        "base": st.sampled_from(["bytes", "characters"]),
        "base_vocabulary": st.none() | st.lists(st.text(min_size=1, max_size=3), max_size=40, unique=True),
        "unknown_token": st.none() | st.text(min_size=2, max_size=6),
        "special_tokens": special_texts,
        "special_placement": st.sampled_from(["last", "first"]),
        "tie_break": st.sampled_from(["first", "lowest-id", "huggingface", "bytes"]),
        "max_token_bytes": st.none() | st.integers(2, 40),
        "held_out": st.sampled_from([0.0, 0.1, 0.3333333333333333]),
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=any_settings)
def test_any_configuration_comes_back(tmp_path, values):
    if values.get("unknown_token"):
        values["special_tokens"] = [*values.get("special_tokens", ()), values["unknown_token"]]
    try:
        trainer = Trainer(Corpus.from_text(LINES[:1200]), TrainingConfig(**values))
        while trainer.ended is None and trainer.merges_made < 20:
            trainer.advance(20)
    except (ConfigError, CorpusError):
        return
    project = Project(runs=(ProjectRun("Run", trainer.run),))
    (entry,) = opened(saved(project, tmp_path / "one.tokstudio")).runs
    assert differences(entry.run, trainer.run) == []


def test_the_state_of_the_window_is_restored(tmp_path):
    project = small_project()
    again = opened(saved(project, tmp_path / "mine.tokstudio"))
    assert again.state == project.state
    assert again.active == 0
    for kept, expected in zip(again.sources, project.sources, strict=True):
        assert differences(kept, expected) == []
        assert kept.text.data.tobytes() == expected.text.data.tobytes()
        assert differences(kept.text, expected.text) == []
    trained_run, opened_tokenizer = again.runs
    assert (trained_run.name, trained_run.sources, trained_run.state) == ("Run 1", (0,), {"colour": 3})
    assert vars(opened_tokenizer) == vars(project.runs[1])


def test_names_and_texts_in_any_script_come_back(tmp_path):
    run = banana().run
    project = Project(
        runs=(ProjectRun("Läufe 走る 😀 'quoted' \x00 \n", run),), state={"ключ": "\udc80 half, \ud83d half"}
    )
    folder = tmp_path / "Projekte mit Leerzeichen %20 ?#日本"
    folder.mkdir()
    again = opened(saved(project, folder / "a b%41?x=1#日本.tokstudio"))
    assert again.runs[0].name == project.runs[0].name
    assert again.state == project.state
    assert names(folder) == ["a b%41?x=1#日本.tokstudio"]


def test_saving_what_was_opened_changes_nothing(tmp_path):
    path = saved(opened(saved(small_project(), tmp_path / "mine.tokstudio")), tmp_path / "again.tokstudio")
    before = path.read_bytes()
    assert saved(opened(path), path).read_bytes() == before


def test_anyone_can_query_it(tmp_path):
    path = saved(small_project(), tmp_path / "mine.tokstudio")
    connection = sqlite3.connect(path)
    try:
        rows = connection.execute(
            "SELECT merge.number, left, right, merge.count FROM merge JOIN run ON run.number = run WHERE name = 'Run 1'"
        ).fetchall()
        run = small_project().runs[0].run
        assert [row[1:3] for row in rows] == list(map(tuple, run.merges.tolist()))
        assert [row[3] for row in rows] == run.counts.tolist()
        kinds = dict(connection.execute("SELECT kind, count(*) FROM token GROUP BY kind").fetchall())
        assert kinds == {"base": 256, "special": 1}
        assert connection.execute("SELECT bytes FROM token WHERE kind = 'special'").fetchall() == [(b"<s>",)]
    finally:
        connection.close()


def test_a_setting_missing_in_an_older_project_gets_its_default(tmp_path):
    path = saved(small_project(), tmp_path / "mine.tokstudio")
    change(path, "UPDATE run SET config = replace(config, ',\"held_out\":0.0', '') WHERE number = 1")
    change(path, "UPDATE run SET content_sha256 = NULL")  # which an older project does not have
    assert differences(opened(path).runs[0].run.config, small_project().runs[0].run.config) == []


# The columns that came with each version, besides those of the versions after it.
ADDED = {
    1: {"source": ("weight", "counted_with", "places", "reading"), "run": ("weights",)},
    2: {"run": ("start", "languages", "parallel"), "merge": ("chosen_by",)},
    3: {"run": ("second_counts",)},
    4: {"merge": ("overtaken",)},
    5: {"run": ("left_out",)},
    6: {"run": ("content_sha256",)},
}


@pytest.mark.parametrize("version", ADDED)
def test_a_project_of_an_earlier_version_opens(tmp_path, version):
    project = small_project()
    path = saved(project, tmp_path / "mine.tokstudio")
    for added in [columns for since, columns in ADDED.items() if since >= version]:
        change(path, *(f"ALTER TABLE {table} DROP COLUMN {name}" for table, names in added.items() for name in names))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        for table in tables_of(version):
            connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (table, table.split()[2]))
        connection.execute(f"PRAGMA user_version={version}")
    again = opened(path)
    assert differences(again.runs[0].run, project.runs[0].run) == []
    if version == 1:
        assert [source.weight for source in again.sources] == [1000, 1000]
        assert [source.text.counted_with for source in again.sources] == [None, None]
    upgraded = opened(saved(again, path))
    assert differences(upgraded.runs[0].run, project.runs[0].run) == []
    assert upgraded.sources[1].text.counts.tolist() == [7, 1]


def test_a_saved_weighted_run_resumes_with_the_same_weights_only(tmp_path):
    texts = Corpus((Source.from_texts(LINES, "a"), Source.from_texts("some other words in it\n" * 30, "b")))
    corpus = texts.with_weights({"a": 0.5, "b": 3})
    run = trained(corpus, vocabulary_size=300, pattern="gpt2")
    (entry,) = opened(saved(Project(runs=(ProjectRun("Run", run),)), tmp_path / "one.tokstudio")).runs
    longer = replace(run.config, vocabulary_size=320)
    resumed = Trainer.resume(corpus, entry.run, longer)
    list(resumed)
    assert resumed.run.merges.tolist() == trained(corpus, vocabulary_size=320, pattern="gpt2").merges.tolist()
    with pytest.raises(CorpusError, match="weights of the sources have changed"):
        Trainer.resume(texts, entry.run, longer)


def test_the_report_of_a_saved_weighted_run_is_that_of_the_run(tmp_path):
    texts = tuple(Source.from_texts(text, name) for text, name in ((LINES, "a"), ("other words\n" * 30, "b")))
    counts = replace(Corpus.from_counts({"banana": 7, "bandana": 50}).sources[0], name="c")
    sources = (*texts, counts)
    run = trained(Corpus(sources).with_weights({"a": 0.5, "c": 3}), vocabulary_size=300, pattern="gpt2")
    kept = tuple(finish(keep_source_work(source)) for source in sources)
    (entry,) = opened(saved(Project(kept, (ProjectRun("Run", run, (0, 1, 2)),)), tmp_path / "one.tokstudio")).runs
    assert [name for name, *_ in run.corpus.mixture] == ["a", "b", "c"]
    assert described(Tokenizer.from_run(entry.run)) == described(Tokenizer.from_run(run))
    (entry,) = opened(saved(Project(runs=(ProjectRun("Run", run),)), tmp_path / "two.tokstudio")).runs
    assert described(Tokenizer.from_run(entry.run)) == described(Tokenizer.from_run(run))
    # As in projects of earlier versions.
    run = replace(run, corpus=replace(run.corpus, mixture=()))
    (entry,) = opened(saved(Project(runs=(ProjectRun("Run", run),)), tmp_path / "three.tokstudio")).runs
    assert "Weights of the sources: 0.5, 1, 3; the bytes are weighted." in described(Tokenizer.from_run(entry.run))


def test_a_text_in_the_project_keeps_its_group_its_number_and_its_rows(tmp_path):
    source = replace(Source.from_texts(["a", "b\n"], "English"), group="One Story", member="2", is_rows=True)
    project = Project(sources=(finish(keep_source_work(source)),))
    (again,) = opened(saved(project, tmp_path / "one.tokstudio")).sources
    assert (again.text.name, again.text.group, again.text.member) == ("English", "One Story", "2")
    assert again.text.is_rows
    assert again.text.ends.tolist() == [1, 3]


# ---- sources


def kept_and_reopened(source):
    return finish(reopen_source_work(finish(keep_source_work(source))))


def test_a_file_named_from_its_folder_is_kept_with_its_whole_path(tmp_path, monkeypatch):
    (tmp_path / "book.txt").write_text("a book")
    monkeypatch.chdir(tmp_path)
    (source,) = Corpus.from_files("book.txt").sources
    assert finish(keep_source_work(source)).path == tmp_path / "book.txt"


@pytest.mark.parametrize("documents", ["file", "line"])
@pytest.mark.parametrize(
    "content", [LINES.encode(), "\ufeffGrüße\nan alle".encode(), "Grüße\n\nan alle\n".encode("cp1252")]
)
def test_the_text_of_a_file_is_read_again_from_the_file(tmp_path, documents, content):
    file = tmp_path / "text.txt"
    file.write_bytes(content)
    (source,) = Corpus.from_files(file, documents).sources
    project = Project(sources=(finish(keep_source_work(source)),))
    (kept,) = opened(saved(project, tmp_path / "p.tokstudio")).sources
    assert kept.text is None
    again = finish(reopen_source_work(kept))
    assert not again.changed
    assert differences(again.source, source) == []
    assert Corpus((again.source,)).sha256 == Corpus((source,)).sha256


def test_a_file_with_faults_that_detection_kept_is_the_same_text_again(tmp_path):
    file = tmp_path / "text.txt"
    file.write_bytes(LINES.encode() * 5 + b"\xff one byte is wrong \xe4\n" + "日本語".encode())
    (source,) = Corpus.from_files(file).sources
    assert not kept_and_reopened(source).changed


def test_a_file_that_was_changed_is_said_to_be(tmp_path):
    file = tmp_path / "text.txt"
    file.write_text(LINES)
    (source,) = Corpus.from_files(file).sources
    kept = finish(keep_source_work(source))
    file.write_text(LINES.replace("words", "wards"))
    again = finish(reopen_source_work(kept))
    assert again.changed
    assert b"wards" in again.source.data.tobytes()
    file.unlink()
    with pytest.raises(CorpusError, match=r"^text\.txt: no such file"):
        finish(reopen_source_work(kept))


def test_the_beginning_of_a_file_that_a_run_took_is_the_same_beginning_again(tmp_path):
    file = tmp_path / "text.txt"
    file.write_text(LINES)
    (whole,) = Corpus.from_files(file, "line").sources
    part = Source(whole.name, file, "utf-8", "", whole.data[:100], np.append(whole.ends[whole.ends < 100], 100))
    again = kept_and_reopened(part)
    assert not again.changed
    assert Corpus((again.source,)).sha256 == Corpus((part,)).sha256


@posix
@pytest.mark.skipif(sys.platform == "darwin", reason="names are always UTF-8 there")
def test_a_path_that_is_no_text_comes_back(tmp_path):
    file = tmp_path / os.fsdecode(b"caf\xe9.txt")
    file.write_text(LINES)
    (source,) = Corpus.from_files(file).sources
    project = Project(sources=(finish(keep_source_work(source)),))
    (kept,) = opened(saved(project, tmp_path / "p.tokstudio")).sources
    assert kept.path == file
    assert not finish(reopen_source_work(kept)).changed


# ---- opened tokenizers


@pytest.mark.parametrize("format", ["huggingface", "classic", "tiktoken"])
def test_an_opened_tokenizer_is_kept_whole_and_needs_its_files_no_more(tmp_path, format):
    tokenizer = trained_tokenizer(LINES, 30)
    folder = tmp_path / "files"
    folder.mkdir()
    if format == "tiktoken":
        (folder / "my ranks.tiktoken").write_bytes(tiktoken_lines(ranks_of(tokenizer)))
        (folder / "my ranks.json").write_text('{"pattern": ".|\\\\n", "special_tokens": {"<s>": 999}, "version": 1}')
    else:
        save(tokenizer, folder, format, accept_loss=True)
    loaded = finish(load_work(folder))
    kept = finish(keep_tokenizer_work("mine", loaded.files))
    path = saved(Project(runs=(kept,)), tmp_path / "p.tokstudio")
    for file in loaded.files:
        file.unlink()
    (again,) = opened(path).runs
    assert [file.name for file in again.files] == [file.name for file in loaded.files]
    assert same(finish(reopen_tokenizer_work(again)), loaded.tokenizer)


# ---- going on


@pytest.mark.parametrize("base", ["bytes", "characters"])
@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_a_saved_run_resumes_to_the_merges_of_an_uninterrupted_one(tmp_path, base, pattern):
    (tmp_path / "text.txt").write_text(LINES * 3)
    corpus = Corpus.from_files(tmp_path / "text.txt")
    config = TrainingConfig(vocabulary_size=330, base=base, pattern=pattern, special_tokens=["corpus"])
    unbroken = train(corpus, config).run
    for merges in (1, 7, len(unbroken)):
        trainer = Trainer(corpus, config)
        while trainer.ended is None and trainer.merges_made < merges:
            trainer.advance(merges - trainer.merges_made)
        project = Project((finish(keep_source_work(corpus.sources[0])),), (ProjectRun("Run", trainer.run, (0,)),))
        again = opened(saved(project, tmp_path / "p.tokstudio"))
        sources = tuple(finish(reopen_source_work(again.sources[i])).source for i in again.runs[0].sources)
        longer = TrainingConfig(vocabulary_size=345, base=base, pattern=pattern, special_tokens=["corpus"])
        for limit, expected in ((config, unbroken), (longer, train(corpus, longer).run)):
            resumed = Trainer.resume(Corpus(sources), again.runs[0].run, limit)
            list(resumed)
            assert set(differences(resumed.run, expected)) <= {"seconds"}


# ---- what goes wrong in saving


def test_saving_reports_and_takes_the_merges_in_pieces(tmp_path):
    run = banana().run
    many = Project(runs=tuple(ProjectRun(f"Run {number}", run) for number in range(50)))
    assert sum(1 for _ in save_work(many, tmp_path / "p.tokstudio")) > 50


@pytest.mark.parametrize("pieces", [0, 1, 2, 4, 8])
def test_closing_the_work_leaves_the_old_project(tmp_path, pieces):
    path = saved(small_project(2), tmp_path / "p.tokstudio")
    before = path.read_bytes()
    work = save_work(small_project(6), path)
    for _ in range(pieces):
        next(work)
    work.close()
    assert path.read_bytes() == before
    assert names(tmp_path) == ["p.tokstudio"]


def test_a_full_disk_leaves_the_old_project(tmp_path, monkeypatch):
    path = saved(small_project(2), tmp_path / "p.tokstudio")
    before = path.read_bytes()
    create = writer.create

    def small_disk(temporary):
        connection = create(temporary)
        connection.execute("PRAGMA max_page_count = 20")
        return connection

    monkeypatch.setattr(writer, "create", small_disk)
    with pytest.raises(
        FormatError, match=r"^p\.tokstudio: there is no space left on the disk, so it was not written\.$"
    ):
        saved(Project(state={"text": "long " * 50_000}), path)
    assert path.read_bytes() == before
    assert names(tmp_path) == ["p.tokstudio"]


@posix
def test_a_limit_that_the_system_sets_leaves_the_old_project(tmp_path):
    import resource

    path = saved(small_project(2), tmp_path / "p.tokstudio")
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(
            FormatError, match=r"^p\.tokstudio: (the file cannot be written|there is no space left).*\.$"
        ):
            saved(Project(state={"text": "long " * 50_000}), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert names(tmp_path) == ["p.tokstudio"]


def test_a_target_that_cannot_be_replaced_leaves_the_old_project(tmp_path, monkeypatch):
    path = saved(small_project(2), tmp_path / "p.tokstudio")
    before = path.read_bytes()

    def locked(*_):
        raise PermissionError(errno.EACCES, "in use")

    monkeypatch.setattr(files.os, "replace", locked)
    with pytest.raises(FormatError, match=r"^p\.tokstudio: the folder .* cannot be written to: choose another\.$"):
        saved(small_project(6), path)
    assert path.read_bytes() == before
    assert names(tmp_path) == ["p.tokstudio"]


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(
        FormatError, match=r"^p\.tokstudio: the folder .* does not exist: create it, or choose another\.$"
    ):
        saved(Project(), tmp_path / "gone" / "p.tokstudio")


@posix
@pytest.mark.skipif(sys.platform != "win32" and os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_said(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(FormatError, match=r"^p\.tokstudio: the folder .* cannot be written to: choose another\.$"):
            saved(Project(), tmp_path / "p.tokstudio")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("state", [{"x": float("nan")}, {"x": [[]] * 200_000}, {"x": ["a" * 2**20]}])
def test_values_that_could_not_be_read_back_are_not_written(tmp_path, monkeypatch, state):
    monkeypatch.setattr(schema, "LONGEST", 2**20)
    with pytest.raises(FormatError, match=r"^p\.tokstudio: a setting cannot be saved in a project: [^\n]*\.$"):
        saved(Project(state=state), tmp_path / "p.tokstudio")
    assert names(tmp_path) == []


def test_a_long_text_and_many_special_tokens_with_brackets_can_be_kept(tmp_path):
    many = [f"[unused{number}]" for number in range(20_000)]
    project = Project(state={"text": "[" * 2**18 + "😀" * 2**12, "specials": list(many)})
    assert opened(saved(project, tmp_path / "p.tokstudio")).state == project.state


def test_a_run_on_as_many_weighted_texts_as_are_kept_can_be_saved(tmp_path):
    run = trained(Corpus((Source.from_texts(["the cat"], "text"),)).with_weights({0: 2}), vocabulary_size=258)
    mixture = tuple((f"text [{number}]", 2000, 7) for number in range(10_000))
    run = replace(run, corpus=replace(run.corpus, mixture=mixture))
    [entry] = opened(saved(Project(runs=(ProjectRun("Run 1", run),)), tmp_path / "p.tokstudio")).runs
    assert entry.run.corpus.mixture == mixture


def test_very_many_lines_that_are_left_out_by_name_come_back(tmp_path, monkeypatch):
    # As a list, they would be longer than this.
    monkeypatch.setattr(schema, "LONGEST_STRUCTURE", 1 << 21)
    chance = np.random.default_rng(0)
    numbers = np.sort(chance.integers(1 << 42, 1 << 43, 120_000)).tolist()
    lines = tuple((number % 3, 0, number, number % 1_000) for number in numbers)
    documents = tuple((0, 2, number) for number in range(9))
    step = LeavingOut((("duplicates", None),), documents, lines)
    few = LeavingOut((), documents[:2], lines[:2])
    run = banana().run
    run = replace(run, corpus=replace(run.corpus, leaving_out=(step, few)))
    project = Project(runs=(ProjectRun("Run 1", run),), leaving_out=(step,))
    again = opened(saved(project, tmp_path / "p.tokstudio"))
    is_same = again.leaving_out == (step,) and again.runs[0].run.corpus.leaving_out == (step, few)
    assert is_same, "so many rows are not compared one by one in the report"
    assert few.to_json() == {"documents": [0, 2, 0, 0, 2, 1], "lines": [*lines[0], *lines[1]]}, "as before"
    monkeypatch.setattr(leaving_out, "_MOST_UNPACKED", 1_000_000)
    with pytest.raises(FormatError, match=r"more than 31,250 documents or lines are left out by name: use rules"):
        saved(project, tmp_path / "q.tokstudio")
    with pytest.raises(FormatError, match="does not say which documents and lines are left out"):
        opened(tmp_path / "p.tokstudio")


_OTHER = "nine byte\nand a longer line of text\n" * 3


def test_what_is_left_out_comes_back(tmp_path):
    texts = Source.from_texts([LINES, "a", "b", LINES], "texts")
    corpus = Corpus((texts, Source.from_texts([_OTHER], "other"))).with_weights({"other": 2.5})
    reduced = corpus.without(duplicates=True, documents=[(0, 1)], lines=[("other", 0, 0)]).without(near_duplicates=0.9)
    run = trained(reduced, vocabulary_size=280, pattern="gpt2")
    kept = tuple(finish(keep_source_work(source)) for source in corpus.sources)
    runs = (ProjectRun("Run 1", run, (0, 1)), ProjectRun("Run 2", run), ProjectRun("Run 3", banana().run))
    project = Project(kept, runs, leaving_out=reduced.leaving_out)
    again = opened(saved(project, tmp_path / "mine.tokstudio"))
    assert again.leaving_out == reduced.leaving_out
    assert len(reduced.leaving_out) == 2
    for entry in again.runs[:2]:
        assert entry.run.corpus == run.corpus
        assert entry.run.corpus.left_out == (("named", 1, 1, 11), ("duplicates", 1, 0, len(LINES)))
        assert entry.run.corpus.mixture == run.corpus.mixture, "the texts that were trained on, not the whole ones"
        assert entry.run.corpus.texts == run.corpus.texts == corpus.counted_hashes
    assert again.runs[2].run.corpus.leaving_out == ()
    found = [finish(reopen_source_work(source)).source for source in again.sources]
    restored = Corpus(tuple(found)).weighted((1000, 2500))
    for step in again.leaving_out:
        restored = finish(restored.without_work(step))
    assert restored.sha256 == run.corpus.sha256
