"""A tokenizer as JSON: with all that decides its ids, and refused where it is damaged."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tokstudio import load_project, save_project
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.project import Project, ProjectRun, keep_changed_work, reopen_tokenizer_work, save_work, schema
from tokstudio.core.project.schema import from_json, to_json
from tokstudio.core.project.whole_tokenizer import tokenizer_of, tokenizer_values
from tokstudio.core.surgery.embedding_map import embedding_map
from tokstudio.core.surgery.proof import verify
from tokstudio.core.surgery.prune import prune
from tokstudio.core.surgery.renumber import renumber
from tokstudio.core.surgery.specials import add_specials, set_roles
from tokstudio.core.training.trainer import extend, train

TEXT = "the cat sat on the mat and the rat sat on the cat. " * 20


def trained(**settings):
    return train(Corpus.from_text(TEXT), TrainingConfig(vocabulary_size=275, **settings))


def same(one, other):
    assert np.array_equal(one.merges, other.merges)
    assert np.array_equal(one.merge_results, other.merge_results)
    assert np.array_equal(one.alphabet.ids, other.alphabet.ids)
    assert one.alphabet.unknown == other.alphabet.unknown
    for name in ("special_tokens", "roles", "pattern", "extra_tokens", "whole_words", "preparation", "remarks"):
        assert getattr(one, name) == getattr(other, name), name


def test_a_pruned_tokenizer_with_gaps_and_roles_comes_back():
    made = set_roles(trained(pattern="gpt2", special_tokens=["<|end|>"]), {"eos": "<|end|>"})
    made = prune(made, 270, renumber=False).tokenizer
    made = made.changed(preparation=replace(Preparation(), nfc=True))
    same(tokenizer_of(tokenizer_values(made)), made)
    again = finish(reopen_tokenizer_work(finish(keep_changed_work("X", made))))
    same(again, made)
    assert again.encode(TEXT) == made.encode(TEXT)


def test_one_of_characters_comes_back():
    config = TrainingConfig(vocabulary_size=30, base="characters", special_tokens=["<unk>"], unknown_token="<unk>")
    made = prune(train(Corpus.from_text(TEXT), config), 25).tokenizer
    again = tokenizer_of(tokenizer_values(made))
    same(again, made)
    assert again.encode("the cat é") == made.encode("the cat é")


def test_merges_as_a_list_are_read_too():
    made = trained()
    rows = np.column_stack([made.merges, made.merge_results]).ravel().tolist()
    same(tokenizer_of(tokenizer_values(made) | {"merges": rows}), made)


@pytest.mark.parametrize("damage", [{"merges": "AAAA"}, {"merges": [1.5]}, {"bytes": [1]}, {"pattern": None}])
def test_damaged_values_are_refused(damage):
    with pytest.raises(ConfigError):
        tokenizer_of(tokenizer_values(trained()) | damage)


@pytest.mark.parametrize("unknown", [-1, 30, 10**9])
def test_an_unknown_token_that_does_not_exist_is_refused(unknown):
    config = TrainingConfig(vocabulary_size=30, base="characters", special_tokens=["<unk>"], unknown_token="<unk>")
    values = tokenizer_values(train(Corpus.from_text(TEXT), config))
    with pytest.raises(ConfigError):
        tokenizer_of(values | {"unknown": unknown})


def test_damaged_files_are_refused():
    kept = finish(keep_changed_work("X", trained()))
    damaged = replace(kept, files=(replace(kept.files[0], content=b"[]"),))
    with pytest.raises(FormatError, match="X: its values are damaged"):
        finish(reopen_tokenizer_work(damaged))


def changed_again_and_again():
    """A tokenizer that was extended, renumbered, given a special token, and pruned twice."""
    made = extend(trained(), Corpus.from_text(TEXT + "the dog and the fog " * 9), TrainingConfig(vocabulary_size=290))
    made = renumber(made, made.tokens.ids()[::-1]).tokenizer
    return prune(prune(add_specials(made, ["<|end|>"]), 285).tokenizer, 280).tokenizer


def test_what_a_tokenizer_was_made_from_comes_back_and_proves_the_same():
    made = changed_again_and_again()
    again = finish(reopen_tokenizer_work(finish(keep_changed_work("X", made))))
    same(again.origin.old, made.origin.old)
    assert again.origin.change == "pruned"
    assert np.array_equal(again.origin.new_ids, made.origin.new_ids)
    assert verify(again, reference=TEXT).lines() == verify(made, reference=TEXT).lines()


def test_of_many_changes_the_first_tokenizer_stays_with_the_same_embedding_map():
    made = changed_again_and_again()
    again = tokenizer_of(tokenizer_values(made))
    before, step = 0, again
    while step.origin is not None:
        before, step = before + 1, step.origin.old
    assert before == 3
    same(step, trained())
    assert {name: value.tolist() for name, value in arrays(embedding_map(again))} == {
        name: value.tolist() for name, value in arrays(embedding_map(made))
    }


def arrays(table):
    return [(name, np.asarray(value)) for name, value in vars(table).items()]


@pytest.mark.parametrize(
    "damage",
    [{"change": "broken"}, {"new_ids": "AAAA"}, {"new_ids": "/////w=="}, {"old": {}}, {"old": None}, {"change": None}],
)
def test_a_damaged_origin_is_refused(damage):
    values = tokenizer_values(prune(trained(), 270).tokenizer)
    values["origin"] |= damage
    with pytest.raises(ConfigError):
        tokenizer_of(values)


def test_an_origin_with_ids_that_the_tokenizer_lacks_is_refused():
    made = prune(trained(), 270).tokenizer
    values, larger = tokenizer_values(made), tokenizer_values(prune(trained(), 271).tokenizer)
    with pytest.raises(ConfigError):
        tokenizer_of(values | {"origin": larger["origin"]})


def test_long_strings_may_be_longer_than_lists(monkeypatch):
    monkeypatch.setattr(schema, "LONGEST_STRUCTURE", 1 << 14)
    monkeypatch.setattr(schema, "LONGEST_BETWEEN_STRINGS", 1 << 10)
    values = {"one": "a" * (1 << 14), "other": '"' * 1000}
    assert from_json(to_json(values)) == values
    with pytest.raises(ValueError, match="too long"):
        to_json([[0] * (1 << 10), "a" * (1 << 14)])


def test_a_number_that_could_not_be_written_again_is_not_read():
    assert from_json("[1e300, 2.5]") == [1e300, 2.5]
    for number in ("1e400", "-1e400", "Infinity"):
        with pytest.raises(ValueError, match=r"is too large|is not JSON"):
            from_json(f"[{number}]")


# --- Projects in Python: tokenizers saved in one, and opened from any -------------------------------------------------


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
