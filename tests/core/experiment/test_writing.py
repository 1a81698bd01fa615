"""What is written of a corpus and its settings, and that the same is read of it, in another folder too."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.core.algorithms import CASES
from tokstudio import ConfigError, Corpus, count, load_experiment, train
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.corpus import ONCE
from tokstudio.core.corpus.leaving_out import leaving_out
from tokstudio.core.corpus.source import Source
from tokstudio.core.experiment.result import Trained, result_work, texts_work
from tokstudio.core.experiment.writing import PlannedTraining, draft_work
from tokstudio.core.model.config import TrainingConfig

PLAIN = PlannedTraining({"vocabulary_size": 270, "documents": "file"})
ROWS = "".join(json.dumps({"body": f"row {n} of many", "k": "de" if n % 3 else "fi"}) + "\n" for n in range(20))


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def written(path, corpus, *trainings, **more):
    draft = finish(draft_work(path, corpus, trainings or (PLAIN,), **more))
    finish(draft.write_work())
    return draft


def again(path, corpus, moved):
    """The experiment, after a corpus was written down and read again, here and where its folder was moved to."""
    written(path, corpus)
    assert same_texts(load_experiment(path).corpus(), corpus)
    shutil.move(path.parent, moved)
    experiment = load_experiment(moved / path.name)
    assert same_texts(experiment.corpus(), corpus)
    return experiment


def same_texts(one, other):
    names = ("name", "member", "value", "kind", "is_rows")
    facts = [
        ([[getattr(source, name) for name in names] for source in each.sources], each.weights, each.text_hashes)
        for each in (one, other)
    ]
    assert facts[0] == facts[1]
    assert [len(groups) for groups in map(set, ([s.group for s in one.sources], [s.group for s in other.sources]))]
    return one.sha256 == other.sha256


def make_files(home):
    (home / "a.txt").write_text("the cat sat on the mat. " * 9)
    (home / "latin.txt").write_bytes(("ein schöner Tag für Käse, nördlich von Köln; " * 9).encode("windows-1252"))
    (home / "not.txt").write_bytes("déjà vu ".encode() * 20 + b"\xff" + "déjà".encode())
    (home / "mark.txt").write_bytes(b"\xef\xbb\xbfbyte order mark")
    (home / "a.jsonl").write_text(ROWS)
    (home / "settings.json").write_text('{"width": 3, "tall": true}\n' * 3)
    (home / "b.txt.gz").write_bytes(gzip.compress(b"compressed text " * 9))
    with zipfile.ZipFile(home / "all.zip", "w") as archive:
        archive.writestr("x/one.txt", "one of the archive " * 4)
        archive.writestr("two.jsonl", ROWS)
        archive.writestr("three.txt", "naïve façade, déjà vu; Ångström für Käse ".encode("windows-1252") * 9)


def test_files_are_read_as_they_were(home, tmp_path):
    make_files(home)
    names = ["a.txt", "latin.txt", "not.txt", "mark.txt", "b.txt.gz", "all.zip", "a.txt"]
    corpus = Corpus.from_files([home / name for name in names]).with_weights({0: 2.5, "x/one.txt": 0})
    experiment = again(home / "e.toml", corpus, tmp_path / "moved")
    assert [source.path for source in experiment.sources] == names
    assert [source.encoding for source in experiment.corpus().sources] == [s.encoding for s in corpus.sources]
    # What is in no encoding is detected again, since a file read as bytes is another one.
    assert [source.encoding for source in experiment.sources[:4]] == ["utf-8", "windows-1252", None, "utf-8"]


@pytest.mark.parametrize("reading", [{"split_by": "k"}, {"split_by": "k", "join_values": True}, {"field": "k"}])
def test_data_sets_are_read_as_they_were(home, tmp_path, reading):
    make_files(home)
    (home / "b.jsonl").write_text(ROWS)
    filters = {"least_characters": 2, "most_characters": 12, "most_bytes": 60, "deduplicate": True}
    files = [home / "a.jsonl", home / "b.jsonl", home / "all.zip"]
    corpus = Corpus.from_files(files, **reading, **filters)
    value = next(source.value or source.name for source in corpus.sources)
    again(home / "e.toml", corpus.with_weights({value if "join_values" in reading else 0: 0.125}), tmp_path / "moved")


@pytest.mark.parametrize("encoding", ["utf-8", "bytes", "iso-8859-15"])
def test_a_chosen_encoding_stays(home, tmp_path, encoding):
    make_files(home)
    files = [home / "latin.txt", home / "not.txt", home / "all.zip"]
    corpus = Corpus.from_files(files[: 2 if encoding == "bytes" else 3], encoding=encoding)
    again(home / "e.toml", corpus, tmp_path / "moved")


def test_some_parts_of_a_file_in_another_order(home, tmp_path):
    make_files(home)
    corpus = Corpus.from_files([home / "all.zip", home / "a.jsonl"], split_by="k")
    order = [2, 0, 5]
    some = Corpus(tuple(corpus.sources[n] for n in order)).weighted((ONCE, 2 * ONCE, ONCE))
    again(home / "e.toml", some, tmp_path / "moved")


def test_one_part_in_an_encoding_of_its_own(home, tmp_path):
    make_files(home)
    corpus = Corpus.from_files([home / "all.zip"])
    forced = Corpus.from_files([home / "all.zip"], encoding="iso-8859-15")
    mixed = Corpus((*corpus.sources[:2], forced.sources[2]))
    assert mixed.sources[2].encoding == "iso-8859-15" != corpus.sources[2].encoding
    experiment = again(home / "e.toml", mixed, tmp_path / "moved")
    assert experiment.corpus().sources[2].encoding == "iso-8859-15"


def test_folders_and_their_data_sets(home, tmp_path):
    for number in range(70):
        (home / "many" / str(number % 3)).mkdir(parents=True, exist_ok=True)
        (home / "many" / str(number % 3) / f"{number:02}.txt").write_text(f"text {number} ")
    (home / "sets").mkdir()
    for name in ("x-1.jsonl", "x-2.jsonl", "y-1.jsonl", "y-2.jsonl"):
        (home / "sets" / name).write_text(ROWS)
    (home / "plain").mkdir()
    # In a folder, JSON without text is read as a text; where it is named, it is refused.
    (home / "plain" / "settings.json").write_text('{"width": 3, "tall": true}\n' * 3)
    (home / "plain" / "a.txt").write_text("a text")
    corpus = Corpus.from_files([home / "many", home / "sets", home / "plain"]).with_weights({"many": 3})
    (first, *others) = again(home / "e.toml", corpus, tmp_path / "moved").sources
    assert (first.path, first.weight, len(first.parts)) == ("many", 3 * ONCE, 70)
    assert [source.path for source in others] == ["sets", "plain/a.txt", "plain/settings.json"]
    # A text that came later is not read, and one that went is missed.
    (tmp_path / "moved" / "many" / "0" / "99.txt").write_text("new")
    assert same_texts(load_experiment(tmp_path / "moved" / "e.toml").corpus(), corpus)
    (tmp_path / "moved" / "many" / "0" / "00.txt").unlink()
    with pytest.raises(ConfigError, match=r'line \d+: "0/00\.txt" is not in "many" any more'):
        load_experiment(tmp_path / "moved" / "e.toml").corpus()


def test_counted_words(home, tmp_path):
    (home / "a.txt").write_text("the cat sat on the mat")
    (home / "b.txt").write_text("another cat")
    count(Corpus.from_files([home / "a.txt", home / "b.txt"]), "gpt2").save(home / "words.parquet")
    (home / "words.tsv").write_text("the\t3\n cat\t2\n")
    tables = [Corpus.from_counts(home / name).sources for name in ("words.parquet", "words.tsv")]
    corpus = Corpus((*tables[0], *tables[1]))
    experiment = again(home / "e.toml", corpus.weighted((ONCE, 500, ONCE)), tmp_path / "moved")
    assert [source.counts for source in experiment.sources] == [True, True]


def test_texts_without_a_file_are_stored_beside(home, tmp_path):
    def pasted(text, name="Pasted text"):
        return Source.from_texts([text], name)

    rows = replace(Source.from_texts(["a row\nof two lines", "", "another é"], "Rows"), is_rows=True)
    sources = (pasted("pasted"), pasted("\ufeffwith a mark"), pasted(b"no \xff text", 'a/"b"'), pasted("x\r\n"), rows)
    corpus = Corpus(sources)
    draft = written(home / "e.toml", corpus)
    names = sorted(path.name.rpartition(".")[0].rpartition(".")[0] for path in draft.beside)
    assert names == ["e.Pasted text", "e.Pasted text", "e.Pasted text", "e.Rows", "e.a-b-"]
    read = load_experiment(home / "e.toml").corpus()
    assert [source.name for source in read.sources] == [source.name for source in sources]
    assert (read.sha256, read.text_hashes) == (corpus.sha256, corpus.text_hashes)
    # Saved again, they are the files that they are now; no other file is ever replaced.
    first = next(iter(draft.beside))
    first.write_text("something else")
    second = written(home / "e.toml", corpus)
    assert first.read_text() == "something else"
    assert first not in second.beside
    assert load_experiment(home / "e.toml").corpus().sha256 == corpus.sha256
    third = written(home / "e.toml", load_experiment(home / "e.toml").corpus())
    assert not third.beside


def test_what_cannot_be_stored_is_refused(home):
    counted = Corpus.from_counts({"a": 3})
    parts = Corpus((Source.from_texts([b"one \xff", b"two"]),))
    for corpus, says in [
        (counted, "word counts that are in no file cannot be part of an experiment: save a file first."),
        (parts, "Pasted text: a document in no file that is not UTF-8 cannot be stored."),
    ]:
        with pytest.raises(ConfigError) as caught:
            finish(draft_work(home / "e.toml", corpus, (PLAIN,)))
        assert str(caught.value).endswith(says)
    assert not list(home.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="file names are text elsewhere")
def test_names_of_files_that_are_no_text_or_have_quotes(home, tmp_path):
    names = [os.fsdecode(b"caf\xe9.txt"), 'a "quoted"\n\\name.txt', "#[x].txt", "Ünï'.txt"]
    for name in names:
        (home / name).write_text(f"text of {len(name)} ")
    folder = home / os.fsdecode(b"\xff")
    folder.mkdir()
    for number in range(65):
        (folder / os.fsdecode(b"%d\xfe.txt" % number)).write_text(f"{number} ")
    corpus = Corpus.from_files([*(home / name for name in names), folder])
    experiment = again(home / os.fsdecode(b"e\xff.toml"), corpus, tmp_path / "moved")
    assert [source.path for source in experiment.sources] == [*names, os.fsdecode(b"\xff")]


def test_texts_elsewhere_have_absolute_paths_which_is_said(home, tmp_path):
    (tmp_path / "far.txt").write_text("far away")
    (tmp_path / "further.txt").write_text("further")
    corpus = Corpus.from_files([tmp_path / "far.txt", tmp_path / "further.txt"])
    draft = written(home / "e.toml", corpus)
    assert draft.bound == (tmp_path / "far.txt", tmp_path / "further.txt")
    assert draft.remark == (
        f"e.toml names {tmp_path / 'far.txt'} and 1 more by absolute path, which binds it to this computer: keep the "
        "texts in its folder to move it."
    )
    assert load_experiment(home / "e.toml").corpus().sha256 == corpus.sha256
    inside = written(tmp_path / "e.toml", corpus)
    assert (inside.bound, inside.remark) == ((), "")


def test_what_is_left_out_is_left_out_again(home, tmp_path):
    make_files(home)
    corpus = Corpus.from_files([home / "a.jsonl", home / "all.zip", home / "a.txt"], "line", split_by="k")
    steps = [
        leaving_out(corpus, ["near-duplicates"], [(0, 3), ("a.txt", 0)], repeated_lines=25.0),
        leaving_out(corpus, documents=[(1, 2)], lines=[("x/one.txt", 0, 0)]),
    ]
    left = corpus
    for step in steps:
        left = finish(left.without_work(step))
    training = PlannedTraining({**PLAIN.settings, "documents": "line"})
    written(home / "e.toml", corpus, training, leaving_out=steps)
    experiment = load_experiment(home / "e.toml")
    assert [dict(step.rules) for step in experiment.leaving_out] == [{"near-duplicates": 0.8, "repeated-lines": 25}, {}]
    read = experiment.corpus()
    assert read.leaving_out == tuple(steps)
    assert read.sha256 == left.sha256 != corpus.sha256


@pytest.mark.parametrize("algorithm", CASES)
def test_an_experiment_of_each_algorithm_gives_the_same_run_in_another_folder(home, tmp_path, algorithm):
    case = CASES[algorithm]
    config = case.config(case.size)
    planned = PlannedTraining(config.by_name() | {"documents": "file"})
    written(home / "e.toml", case.corpus, planned)
    shutil.move(home, tmp_path / "moved")
    experiment = load_experiment(tmp_path / "moved" / "e.toml")
    assert experiment.config == config
    runs = [train(corpus, config).run for corpus in (case.corpus, experiment.corpus())]
    assert runs[0].merges.tolist() == runs[1].merges.tolist()
    assert runs[0].corpus.sha256 == runs[1].corpus.sha256


def test_all_settings_that_have_an_effect_are_written_with_what_they_mean(home):
    config = TrainingConfig(vocabulary_size=270, special_tokens=("<|a|>", "b\n"), forbidden=("x",), held_out=0.1)
    planned = PlannedTraining(config.by_name() | {"documents": "line"}, sample_bytes=7)
    draft = written(home / "e.toml", Corpus.from_text("text"), planned)
    settings = draft.text.partition("[settings]")[2].partition("\n\n")[0]
    assert [line for line in settings.splitlines() if line and not line.startswith("# ")] == [
        'algorithm = "bpe"', 'pattern = "none"', "vocabulary_size = 270", 'base = "bytes"',
        r'special_tokens = ["<|a|>", "b\n"]', 'special_placement = "last"', 'tie_break = "first"',
        'forbidden = ["x"]', 'documents = "line"', "held_out = 0.1", "sample_bytes = 7",
    ]  # fmt: skip
    assert "# Vocabulary Size: stop when there are N tokens, base and special tokens included.\n" in settings
    assert "# Minimum Frequency: stop when no pair occurs N times.\n# min_frequency = 2\n" in settings
    assert load_experiment(home / "e.toml").config == config


def test_variants_share_what_they_agree_on(home):
    configs = {"one": TrainingConfig(vocabulary_size=300, min_frequency=2), "two": TrainingConfig(min_frequency=2)}
    configs |= {name: CASES[name].config(CASES[name].size) for name in ("superbpe", "picky")}
    trainings = [
        PlannedTraining(
            config.by_name() | {"documents": "file"},
            name,
            sample_percent=50 if name == "two" else None,
            weights=(3, 0.125) if name == "one" else (),
        )
        for name, config in configs.items()
    ]
    written(home / "e.toml", CASES["superbpe"].corpus, *trainings)
    experiment = load_experiment(home / "e.toml")
    assert experiment.configs == configs
    assert [training.sample_percent for training in experiment.trainings] == [None, 50, None, None]
    assert [training.weights for training in experiment.trainings] == [(3, 0.125), (), (), ()]
    assert "weights = [3, 0.125]\n" in (home / "e.toml").read_text()


def test_a_result_is_written_with_it(home):
    corpus = Corpus.from_text("the cat sat on the mat. " * 9)
    draft = finish(draft_work(home / "e.toml", corpus, (PLAIN,)))
    trained = [Trained("", train(corpus, TrainingConfig(vocabulary_size=270)))]
    result = finish(result_work(finish(texts_work(corpus)), trained))
    finish(draft.write_work(trained, result))
    assert load_experiment(home / "e.toml").result == result
    assert (home / "e.merges").read_text().splitlines()[0] == "Merge (97, 116) into a new token 256"


@pytest.mark.parametrize(("least", "merges"), [(2, 2), (100, 0)])
def test_the_number_of_a_result_is_that_of_its_merges(least, merges):
    config = TrainingConfig(vocabulary_size=258, min_frequency=least)
    tokenizer = train(Corpus.from_text("the cat sat on the mat. "), config)
    for product in (tokenizer, tokenizer.run):
        trained = Trained("", product)
        assert (trained.number, trained.unit) == (merges, "merge")


def test_a_file_that_cannot_be_written_leaves_nothing(home, monkeypatch):
    corpus = Corpus.from_text("pasted")
    draft = finish(draft_work(home / "e.toml", corpus, (PLAIN,)))
    (home / "e.toml").mkdir()
    with pytest.raises(Exception, match="a folder with that name already exists"):
        finish(draft.write_work())
    assert [path.name for path in home.iterdir()] == ["e.toml"]
    assert isinstance(draft.path, Path)
