"""Ids that a format would have to skip or number anew, and the proof that it may."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from tests.core.formats.trained import SPECIALS, TEXT, shuffled, trained, with_specials
from tokstudio import Tokenizer, load, save
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.common.proof import closed_gaps, moves
from tokstudio.core.formats.saving import save_work

# --- Closing gaps between ids keeps the tokens and reports every move -------------------------------------------------


def tokens_of(tokenizer: Tokenizer, text: str) -> list[bytes | None]:
    return [tokenizer.tokens[token] for token in tokenizer.encode(text, allowed_special="all")]


def test_special_tokens_behind_merges_that_are_left_out_are_named_with_both_ids_and_more_than_three_are_counted():
    for whole in (with_specials(), with_specials(placement="first"), trained(TEXT, 20)):
        assert closed_gaps(whole) == (whole, ())
    tokenizer = trained(TEXT * 3, 61, special_tokens=["<|end|>"]).at(12)
    compact, sentences = closed_gaps(tokenizer)
    assert sentences == ('The special token "<|end|>" moves from 316 to 268.',)
    assert compact.special_tokens == {"<|end|>": 268}
    assert len(compact.tokens) == len(compact) == 256 + 12 + 1
    whole = with_specials()
    first = 256 + len(whole.merges)
    assert closed_gaps(whole.at(10))[1] == (f"{len(SPECIALS)} special tokens move, the first from {first} to 266.",)


def test_a_gap_before_ordinary_tokens_is_told_apart_from_special_ones():
    results = np.array([300, 301, 302, 303, 304], np.int32)
    merges = np.array([(97, 98), (300, 99), (98, 99), (99, 99), (99, 97)], np.int32)
    tokenizer = Tokenizer(merges, results, special_tokens={"<|end|>": 256, "a\nb": 900})
    compact, sentences = closed_gaps(tokenizer)
    assert sentences == (
        'The special token "a\\nb" moves from 900 to 262.',
        "5 other tokens move, the first from 300 to 257.",
    )
    assert compact.special_tokens == {"<|end|>": 256, "a\nb": 262}
    assert closed_gaps(tokenizer.at(2))[1][1:] == ("A token moves from 300 to 257.", "A token moves from 301 to 258.")


def test_the_same_text_becomes_the_same_tokens():
    for tokenizer in (with_specials().at(30), shuffled().at(25), shuffled()):
        compact, sentences = closed_gaps(tokenizer)
        assert sentences
        assert compact.tokens.ids().tolist() == list(range(len(tokenizer)))
        assert tokens_of(compact, TEXT * 2) == tokens_of(tokenizer, TEXT * 2)


# --- Reports of changed ids in an export: in the proof, and in a sentence ---------------------------------------------


def told(pairs):
    before, after = (np.array(ids, np.int32) for ids in zip(*pairs, strict=True))
    return moves(before, after)


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        ([(0, 0), (1, 1)], ""),
        ([(0, 0), (744, 743), (745, 744)], "Ids 744-745 became 743-744."),
        ([(9, 7)], "Id 9 became 7."),
        ([(1000, 999), (1001, -1)], "Id 1,000 became 999."),
        ([(5, 4), (6, 5), (8, 6), (9, 8)], "Ids 5-6 became 4-5, 8 became 6, 9 became 8."),
        ([(2, 3), (3, 2), (4, 5), (5, 4), (6, 7)], "Ids 2 became 3, 3 became 2, 4 became 5, and 2 more changed."),
    ],
)
def test_ids_side_by_side_are_named_together_and_many_are_counted(pairs, sentence):
    assert told(pairs) == sentence


def test_closed_gaps_are_told_in_proof_and_report(tmp_path):
    plain = trained(TEXT * 3, 61, special_tokens=["<|end|>", "<s>"]).at(12)
    compact, _ = closed_gaps(plain)
    report = finish(save_work(compact, tmp_path / "a.json", proof=None, original=plain, sample=TEXT))
    first = plain.special_tokens["<|end|>"]
    moved = f"Ids {first}-{first + 1} became 268-269."
    assert first > 268
    assert report.renumbered == moved
    assert report.proof.startswith("identical on the test text and a sample of your text (")
    assert report.proof.endswith(" tokens) after renumbering")
    assert f"Renumbered\n\n    {moved}\n" in report.text()
    report = save(with_specials(), tmp_path / "a.json")  # where all ids stay
    assert report.renumbered == ""
    assert "renumber" not in report.text().lower()
    first = with_specials(placement="first")  # which moves the bytes
    count, size = len(first.special_tokens), len(first)
    report = save(first, tmp_path, "classic", accept_loss=True)
    assert report.renumbered == f"Ids {count}-{size - 1} became 0-{size - 1 - count}."


@pytest.mark.parametrize("name", ["classic", "minbpe", "tiktoken"])
def test_a_format_that_numbers_anew_says_so_and_what_was_written_has_these_ids(tmp_path, name):
    tokenizer = shuffled()
    folder = tmp_path / name
    folder.mkdir()
    report = save(tokenizer, folder, name, accept_loss=True)
    assert report.proof.endswith("after renumbering")
    assert report.renumbered.startswith("Ids ")
    back = load(folder, "none" if name == "tiktoken" else None)
    first = report.renumbered.removeprefix("Ids ").split(",")[0].split(" became ")
    old, new = (int(ids.split("-")[0]) for ids in first)
    assert back.tokens[new] == tokenizer.tokens[old]
    assert old != new
