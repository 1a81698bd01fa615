"""Projects in Python: tokenizers saved in one, and opened from any."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tests.core.texts import config_by_name
from tokstudio import ConfigError, Corpus, FormatError, load_project, save_project, train
from tokstudio.core.base.progress import finish
from tokstudio.core.project import Project, ProjectRun, keep_changed_work, save_work
from tokstudio.core.surgery.prune import prune

TEXT = "abc " * 10 + "abd " * 9 + "ab " + "the cat and the dog and the bird, then the other cat " * 6
ALGORITHMS = {
    "bpe": {},
    "whole-characters": {},
    "superbpe": {"transition": 270, "pattern": "gpt2"},
    "boundless": {"pattern": "gpt2"},
    "picky": {"threshold": 0.4},
}


def trained(algorithm="bpe", **own):
    return train(Corpus.from_text(TEXT), config_by_name(algorithm, vocabulary_size=290, **own))


def test_every_algorithm_is_kept(tmp_path):
    made = {name: trained(name, **own) for name, own in ALGORITHMS.items()}
    assert made["picky"].run.lost > 0
    assert made["boundless"].supermerges.any()
    place = tmp_path / "all.tokstudio"
    assert save_project(made, place) == place
    opened = load_project(str(place))
    assert list(opened) == list(made)
    for name, tokenizer in made.items():
        assert opened[name].run.config == tokenizer.run.config
        for merges in (3, len(tokenizer.merges)):
            assert opened[name].at(merges).encode(TEXT) == tokenizer.at(merges).encode(TEXT)


def test_a_tokenizer_that_was_changed_in_the_window_is_opened_too(tmp_path):
    made = trained()
    small = prune(made, 270).tokenizer
    runs = (ProjectRun("Run 1", made.run), finish(keep_changed_work("small", small)))
    finish(save_work(Project(runs=runs, active=0), tmp_path / "a.tokstudio"))
    opened = load_project(tmp_path / "a.tokstudio")
    assert [len(tokenizer) for tokenizer in opened.values()] == [len(made), 270]
    assert opened["small"].encode(TEXT) == small.encode(TEXT)


def test_what_cannot_be_saved_is_refused_and_no_file_is_replaced(tmp_path):
    made = trained()
    place = tmp_path / "a.tokstudio"
    with pytest.raises(ConfigError, match=r"a.json: the name of a project must end in .tokstudio"):
        save_project({"a": made}, tmp_path / "a.json")
    with pytest.raises(ConfigError, match='"b" has no run, which is what a project keeps: export it instead'):
        save_project({"a": made, "b": prune(made, 270).tokenizer}, place)
    assert list(tmp_path.iterdir()) == []
    save_project({"a": made}, place)
    with pytest.raises(FormatError, match="this file exists already"):
        save_project({"b": made}, place)
    assert list(load_project(place)) == ["a"]
    with pytest.raises(FormatError, match=r"b\.tokstudio"):
        load_project(tmp_path / "b.tokstudio")


def test_a_project_can_be_empty(tmp_path):
    assert load_project(save_project({}, tmp_path / "a.tokstudio")) == {}
