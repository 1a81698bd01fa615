"""The proof that a changed tokenizer is what it should be, and that it fails where it is not."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import json
import os
import pickle
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from tokstudio import (
    ConfigError,
    Corpus,
    FormatError,
    Tokenizer,
    TrainingConfig,
    add_specials,
    embedding_map,
    extend,
    join,
    prune,
    renumber,
    replace_specials,
    save,
    train,
    verify,
)
from tokstudio.core.base.progress import finish
from tokstudio.core.surgery import proof
from tokstudio.core.surgery.embedding_map import python_lines
from tokstudio.core.surgery.proof import verify_work
from tokstudio.core.tokenizer.origin import Origin, Proof, unchanged_ids

TEXT = "the cat sat on the mat; the bat ate the hat, and the cat ate the bat.\n" * 5
OTHER = "der Hund und der Bund, rund und bunt; der Mund des Hundes.\n" * 5


def trained(text=TEXT, size=285, **settings):
    return train(Corpus.from_text(text), TrainingConfig(vocabulary_size=size, pattern="gpt2", **settings))


OLD = trained(special_tokens=("<|a|>", "<|b|>"))


def made(change="extended", new_ids=None, **given):
    """A change of `OLD` by hand."""
    origin = Origin(OLD, change, unchanged_ids(OLD.tokens.ids()) if new_ids is None else new_ids)
    return OLD.changed(origin=origin, **given)


def failing(tokenizer, **more):
    proof = finish(verify_work(tokenizer, **more))
    return [point.number for point in proof.points if not point.holds]


def test_what_is_unchanged_holds_in_every_way():
    for change in ("extended", "pruned", "renumbered", "specials"):
        proof = verify(made(change), [TEXT, b"\xff\xfe"], TEXT)
        assert [point.number for point in proof.points] == list(range(1, 10))
        assert proof.holds, proof.lines()
        assert proof.check() is proof
        assert "0 of 5 lines" in proof.points[5].sentence
        assert proof.points[8].sentence.startswith("Hugging Face: identical on the test text and a sample of your ")


def test_points_that_tell_a_change_are_neutral_and_say_nothing_that_is_not_so():
    same = verify(made("renumbered"), [TEXT], TEXT)
    assert not any(point.neutral for point in same.points)
    order = OLD.tokens.ids()
    special, other = OLD.special_tokens["<|a|>"], 255
    order[[special, other]] = order[[other, special]]
    of_specials = "Special tokens are never made of plain text"
    config = TrainingConfig(vocabulary_size=300, pattern="gpt2")
    cases = {
        "renumbered": (renumber(OLD, order).tokenizer, {1: "Every old token has the same bytes", 7: of_specials}),
        "pruned": (prune(OLD, vocabulary_size=270).tokenizer, {1: "Every old token that stays has the same bytes"}),
        "extended": (extend(OLD, Corpus.from_text(OTHER), config), {}),
        "renamed": (replace_specials(OLD, {"<|a|>": "<|c|>"}), {1: "Every old id that stays has the same bytes"}),
        "added": (add_specials(OLD, ["<|c|>"]), {}),
    }  # fmt: skip
    neutral = {
        "renumbered": {1, 7}, "pruned": {1, 2, 6, 7, 8}, "extended": {2, 4, 6, 8}, "renamed": {1, 7}, "added": {7, 8}
    }  # fmt: skip
    for case, (tokenizer, names) in cases.items():
        proof = verify(tokenizer, [TEXT], TEXT + OTHER)
        assert proof.holds, case
        told = {point.number for point in proof.points if point.neutral}
        assert told == neutral[case], (case, proof.lines())
        assert all(proof.points[number - 1].name == name for number, name in names.items()), (case, proof.lines())
        kept = [line for line in proof.lines() if "keep their ids" in line]
        assert not any("renumbered" in line for line in kept), kept
    assert verify(made("renumbered")).points[5].neutral, "no text was given to compare"


def test_a_tokenizer_that_was_made_from_none_has_nothing_to_prove():
    for ask in (verify, embedding_map):
        with pytest.raises(ConfigError, match="not made from another"):
            ask(OLD)


def test_other_bytes_or_a_new_merge_before_the_old_ones_fail():
    swapped = OLD.merge_results.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    assert {1, 2} <= set(failing(made(merge_results=swapped)))
    merges = np.concatenate([[[ord("t"), ord("e")]], OLD.merges])
    results = np.concatenate([[300], OLD.merge_results])
    assert 2 in failing(made(merges=merges, merge_results=results))


def test_merges_in_another_order_fail():
    for change in ("extended", "pruned", "renumbered", "specials"):
        rows = np.column_stack([OLD.merges, OLD.merge_results])
        free = [n for n in range(1, len(rows)) if rows[n - 1, 2] not in rows[n, :2]][-1]
        rows[[free - 1, free]] = rows[[free, free - 1]]
        assert 2 in failing(made(change, merges=rows[:, :2], merge_results=rows[:, 2]))


def test_removed_tokens_fail_unless_it_is_pruned():
    fewer = {"merges": OLD.merges[:-1], "merge_results": OLD.merge_results[:-1]}
    new_ids = unchanged_ids(OLD.tokens.ids())
    new_ids[OLD.merge_results[-1]] = -1
    assert failing(made("pruned", new_ids, **fewer)) == []
    assert failing(made("renumbered", pattern="cl100k")) == [2]
    assert {1, 2} <= set(failing(made("extended", new_ids, **fewer)))
    assert 1 in failing(made("pruned", **fewer))


def test_a_part_that_is_missing_fails_because_its_token_is_no_longer_produced():
    stays = np.ones(len(OLD.merges), np.bool_)
    part = next(token for token in OLD.merges.ravel() if token > 255)
    stays[OLD.merge_results == part] = False
    new_ids = unchanged_ids(OLD.tokens.ids())
    new_ids[part] = -1
    extra = {int(part): OLD.tokens[part]}
    broken = made(
        "pruned", new_ids, merges=OLD.merges[stays], merge_results=OLD.merge_results[stays], extra_tokens=extra
    )
    assert 4 in failing(broken)


def test_new_tokens_that_are_never_produced_are_listed_with_what_they_become():
    merges = np.concatenate([OLD.merges, [OLD.merges[0]]])
    results = np.concatenate([OLD.merge_results, [300]])
    proof = finish(verify_work(made(merges=merges, merge_results=results)))
    point = proof.points[3]
    assert point.holds
    assert "1 new, 1 never produced" in point.sentence
    assert point.details[0].endswith(f"{int(OLD.merge_results[0])}.")


def test_all_tokens_that_are_never_produced_are_counted_though_not_all_are_kept(monkeypatch):
    monkeypatch.setattr(proof, "_MOST_LISTED", 5)
    merges = np.concatenate([OLD.merges, OLD.merges[:7]])
    results = np.concatenate([OLD.merge_results, np.arange(300, 307)])
    made_proof = finish(verify_work(made(merges=merges, merge_results=results)))
    point = made_proof.points[3]
    assert "7 new, 7 never produced" in point.sentence
    assert (len(point.details), point.further) == (5, 2)
    assert "   and 4 more" in made_proof.lines()
    # And where they were produced before.
    wrong = proof._failed(4, "All", [f"Token {number}" for number in range(9)])
    assert Proof((wrong,)).lines()[-1] == "   and 6 more"


def test_other_special_tokens_fail_unless_they_were_replaced():
    specials = {"<|a|>": OLD.special_tokens["<|a|>"], "<|c|>": OLD.special_tokens["<|b|>"]}
    assert failing(made("specials", special_tokens=specials)) == []
    assert {1, 7} <= set(failing(made("extended", special_tokens=specials)))
    fewer = {"<|a|>": OLD.special_tokens["<|a|>"]}
    assert {1, 7} <= set(failing(made("specials", special_tokens=fewer)))


def test_a_reserved_token_may_give_way_to_a_new_one_in_extending():
    number = OLD.special_tokens["<|b|>"]
    new_ids = unchanged_ids(OLD.tokens.ids())
    new_ids[number] = -1
    merges = np.concatenate([OLD.merges, [[ord("q"), ord("x")]]])
    results = np.concatenate([OLD.merge_results, [number]])
    specials = {"<|a|>": OLD.special_tokens["<|a|>"]}
    filled = made("extended", new_ids, merges=merges, merge_results=results, special_tokens=specials)
    proof = finish(verify_work(filled))
    assert proof.holds, proof.lines()
    assert "1 replaced" in proof.points[6].sentence


def test_a_special_token_that_text_becomes_fails():
    merges = np.concatenate([OLD.merges, [[ord("<"), ord("|")]]])
    results = np.concatenate([OLD.merge_results, [OLD.special_tokens["<|a|>"]]])
    assert 7 in failing(made(merges=merges, merge_results=results))


def test_bytes_that_are_exchanged_or_text_that_is_not_given_back_fail():
    ids = OLD.byte_ids.copy()
    ids[[65, 66]] = ids[[66, 65]]
    assert {1, 3} <= set(failing(made(alphabet=type(OLD.alphabet).of_bytes(ids))))
    lossy = made(preparation=type(OLD.preparation)(nfc=True))
    assert 5 in failing(lossy, texts=["e\u0301"])


def test_lines_that_change_are_counted_and_the_first_is_shown_side_by_side():
    joined = join(OLD, trained(OTHER))
    proof = finish(verify_work(joined, reference="the cat\nder Hund und\nthe hat\nund rund"))
    point = proof.points[5]
    assert point.sentence == "2 of 4 lines."
    assert [detail.partition(": ")[0] for detail in point.details] == [
        "line 2, token 1, before",
        "line 2, token 1, after",
    ]
    assert '"der"' in point.details[1]
    spaced = type(OLD.preparation)(prefix_space=True)
    for change in ("renumbered", "specials"):
        assert 6 in failing(made(change, preparation=spaced), reference="the cat ate")


def test_it_is_proved_at_every_export(tmp_path):
    pruned = prune(OLD, 270).tokenizer
    report = save(pruned, tmp_path / "good", sample=TEXT)
    assert [line[:2] for line in report.changed if line[0].isdigit()] == [f"{n}." for n in range(1, 10)]
    assert "What stayed the same" in report.text()
    assert save(OLD, tmp_path / "plain").changed == ()
    wrong = np.concatenate([[[ord("t"), ord("e")]], OLD.merges])
    results = np.concatenate([[300], OLD.merge_results])
    with pytest.raises(FormatError, match="unchanged prefix: they differ"):
        save(made(merges=wrong, merge_results=results), tmp_path / "bad")
    assert not (tmp_path / "bad").exists()


def test_the_origin_goes_along_as_long_as_it_holds():
    joined = join(OLD, trained(OTHER))
    assert joined.origin.old is OLD
    assert joined.at(len(OLD.merges) + 3).origin is joined.origin
    assert joined.at(len(OLD.merges) - 1).origin is None
    assert prune(OLD, 270).tokenizer.at(5).origin is None
    again = pickle.loads(pickle.dumps(joined))
    assert again.origin.change == "extended"
    assert again.origin.old.tokens == OLD.tokens
    compact = joined.at(len(OLD.merges) + 3).compact()
    assert finish(verify_work(compact)).holds
    gap = Tokenizer(np.array([[97, 98]], np.int32), special_tokens={"<s>": 300})
    assert finish(verify_work(prune(gap, 257, renumber=False).tokenizer.compact())).holds


# --- The embedding map, tried on a small random model -----------------------------------------------------------------

WIDTH = 4


def changed():
    """Each with the tokenizer before."""
    old = OLD
    joined = join(old, trained(OTHER))
    return {
        "joined": (old, joined),
        "pruned": (old, prune(old, 270).tokenizer),
        "with holes": (old, prune(old, 270, renumber=False).tokenizer),
        "renumbered": (old, renumber(old, old.tokens.ids()[::-1]).tokenizer),
        "specials": (old, add_specials(old, ["<|the cat|>"])),
    }


CASES = changed()


class Weight(np.ndarray):
    """The weight of a layer, with what tensors have and arrays lack."""

    def detach(self):
        return self

    def clone(self):
        return self.copy()


class Layer:
    def __init__(self, rows):
        self.weight = np.random.default_rng(rows).normal(size=(rows, WIDTH)).view(Weight)


class Model:
    """A model as transformers has it, with random embeddings that are not tied."""

    def __init__(self, rows):
        self.layers = [Layer(rows), Layer(rows)]

    def get_input_embeddings(self):
        return self.layers[0]

    def get_output_embeddings(self):
        return self.layers[1]

    def resize_token_embeddings(self, rows):
        self.layers = [Layer(rows), Layer(rows)]


def check(old, new, before, after):
    """Tokens that stay have equal rows, and new ones the mean of the rows that their bytes were."""
    places = {(n in old.special_tokens.values(), old.tokens[n]): n for n in old.tokens.ids().tolist()}
    for token in new.tokens.ids().tolist():
        spelled = new.tokens[token]
        place = places.get((token in new.special_tokens.values(), spelled))
        parts = old.changed(pattern="none").encode(spelled) if place is None else [place]
        assert after[token] == pytest.approx(np.mean([before[part] for part in parts], axis=0))


@pytest.mark.parametrize("name", CASES)
def test_the_lines_resize_a_random_model(name, tmp_path, monkeypatch):
    old, new = CASES[name]
    finish(embedding_map(new).write_work(tmp_path / "map.npz"))
    model = Model(len(old.tokens))
    before = [layer.weight.copy() for layer in model.layers]
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(no_grad=nullcontext))
    lines = python_lines(tmp_path / "map.npz")
    with pytest.raises(AssertionError, match="of a larger tokenizer"):
        exec(lines, {"model": Model(len(old.tokens) - 1)})
    exec(lines, {"model": model})
    for row, layer in zip(before, model.layers, strict=True):
        assert len(layer.weight) == len(new.tokens)
        check(old, new, row, layer.weight)


@pytest.mark.parametrize("name", CASES)
def test_json_says_the_same(name, tmp_path):
    new = CASES[name][1]
    table = embedding_map(new)
    finish(table.write_work(tmp_path / "map.json"))
    said = json.loads((tmp_path / "map.json").read_text(encoding="utf-8"))
    assert said["size"] == table.size == len(new.tokens)
    assert said["new_ids"] == {str(a): b for a, b in zip(table.old_ids.tolist(), table.new_ids.tolist(), strict=True)}
    assert said["parts"] == {str(token): table.parts_of(token).tolist() for token in table.made.tolist()}
    for token in (65, 10**6):
        with pytest.raises(ConfigError, match="not the id of a new token"):
            table.parts_of(token)


def test_the_map_of_several_changes_is_of_the_first_tokenizer():
    pruned = prune(OLD, 270).tokenizer
    new = add_specials(renumber(pruned, pruned.tokens.ids()[::-1]).tokenizer, ["<|pad|>"])
    table = embedding_map(new)
    assert (table.before, table.size, len(table.old_ids)) == (len(OLD.tokens), 271, 270)
    for before, now in zip(table.old_ids.tolist(), table.new_ids.tolist(), strict=True):
        assert new.tokens[now] == OLD.tokens[before]
    assert [new.tokens[token] for token in table.made.tolist()] == [b"<|pad|>"]
    parts = table.parts_of(int(table.made[0])).tolist()
    assert b"".join(OLD.tokens[part] for part in parts) == b"<|pad|>"
    [point] = [point for point in verify(new).points if point.number == 8]
    assert f"270 rows stay of the {len(OLD.tokens)} of the first tokenizer" in point.sentence
    assert "1 is made of parts" in point.sentence


def test_a_proof_that_cannot_be_written_is_no_fault_of_the_tokenizer(monkeypatch):
    def full(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    reason = "tokenizer.json: there is no space left on the disk, so it was not written."
    with pytest.raises(FormatError) as raised:
        verify(made("renumbered"), [TEXT], TEXT)
    assert str(raised.value) == f"The tokenizer cannot be written to a temporary folder for its proof: {reason}"
