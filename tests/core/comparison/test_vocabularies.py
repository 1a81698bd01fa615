"""Two vocabularies: what only one has, what both have, ranks, scripts and shared uses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tokstudio import ByteTokenizer, Corpus, Tokenizer, TrainingConfig, compare, train
from tokstudio.core.base.progress import finish
from tokstudio.core.comparison.comparison import Comparison, cells_work, compare_work
from tokstudio.core.comparison.figures import Compared
from tokstudio.core.comparison.report.report import report_work
from tokstudio.core.comparison.vocabularies import NO_SCRIPT, vocabularies_work

LATIN, MIXED = "the cat sat on the mat, the cat sat", "the cat, кот и кот и кот, the cat"


def trained(text: str, size: int = 280, specials: tuple[str, ...] = ()) -> Tokenizer:
    return train(Corpus.from_text(text), TrainingConfig(vocabulary_size=size, pattern="gpt2", special_tokens=specials))


def spelled(tokenizer: Tokenizer) -> dict[bytes, int]:
    specials = set(tokenizer.special_tokens.values())
    return {token: at for at, token in enumerate(tokenizer.tokens) if token and at not in specials}


def test_each_token_is_in_one_or_both() -> None:
    first, second = trained(LATIN, specials=("<|a|>",)), trained(MIXED)
    made = finish(vocabularies_work(first, second))
    ours, theirs = spelled(first), spelled(second)
    assert set(made.tokens) == set(ours) | set(theirs)
    for token, (one, other) in zip(made.tokens, made.ids.tolist(), strict=True):
        assert one == ours.get(token, -1)
        assert other == theirs.get(token, -1)
    assert made.jaccard == pytest.approx(len(set(ours) & set(theirs)) / len(set(ours) | set(theirs)))
    assert 0.5 < made.jaccard < 1


def test_a_rank_is_the_number_of_the_merge() -> None:
    first, second = trained(LATIN), trained(MIXED)
    made = finish(vocabularies_work(first, second))
    for which, tokenizer in enumerate((first, second)):
        results = tokenizer.merge_results.tolist()
        for number, rank in zip(made.ids[:, which].tolist(), made.ranks[:, which].tolist(), strict=True):
            assert rank == (-1 if number < 0 else results.index(number) + 1 if number in results else 0)


def test_scripts_are_those_of_the_first_letter() -> None:
    made = finish(vocabularies_work(trained(LATIN), trained(MIXED)))
    of = {token: made.script_names[script] for token, script in zip(made.tokens, made.scripts.tolist(), strict=True)}
    assert of[b" the"] == "Latin"
    assert of[" кот".encode()] == "Cyrillic"
    assert of[b","] == of[b"\xff"] == NO_SCRIPT


def test_shared_uses_are_weighted_by_the_text() -> None:
    first, second = trained(LATIN), trained(MIXED)
    made = finish(vocabularies_work(first, second))
    ids = second.encode(MIXED)
    ours = set(spelled(first))
    expected = sum(second.tokens[token] in ours for token in ids) / len(ids)
    assert made.shared_uses(np.bincount(ids)) == pytest.approx(expected)
    assert np.isnan(made.shared_uses(np.zeros(3, np.int64)))
    assert 0 < expected < 1


def test_the_overlap_of_several_is_that_of_each_two() -> None:
    tokenizers = {"latin": trained(LATIN, specials=("<|a|>",)), "mixed": trained(MIXED), "few": trained("aa aa", 258)}
    made = compare({**tokenizers, "simple": ByteTokenizer()}, {"one": LATIN, "two": MIXED})
    told = json.loads(made.to_json())["overlap"]
    assert told["tokenizers"] == list(tokenizers)
    for i, first in enumerate(tokenizers.values()):
        ids = [*first.encode(LATIN), *first.encode(MIXED)]
        for j, second in enumerate(tokenizers.values()):
            two = finish(vocabularies_work(second, first))
            assert told["jaccard"][i][j] == pytest.approx(two.jaccard)
            assert told["shared_uses"][i][j] == pytest.approx(two.shared_uses(np.bincount(ids)))
    assert "overlap" not in json.loads(made.to_json(["tokens"]))


def test_shared_uses_are_not_known_where_a_text_cannot_be_encoded() -> None:
    characters = train(Corpus.from_text("ab"), TrainingConfig(vocabulary_size=3, base="characters"))
    overlap = finish(compare({"ab": characters, "own": trained(LATIN)}, {"text": "abc"}).overlap_work())
    assert np.isnan(overlap.shared_uses).tolist() == [[True, True], [False, False]]
    assert not np.isnan(overlap.jaccard).any()


def test_tokenizers_of_one_name_stay_two() -> None:
    first, second, texts = trained(LATIN), trained(MIXED), {"text": LATIN}
    expected = finish(compare({"a": first, "b": second}, texts).overlap_work())
    made = finish(compare_work({"a": first, "b": second}, texts))
    both = [Compared("run", first), Compared("run", second)]
    twice = Comparison(both, made.measured, finish(cells_work(both, made.measured)))
    overlap = finish(twice.overlap_work())
    assert overlap.tokenizers == ("run", "run")
    assert np.array_equal(overlap.jaccard, expected.jaccard)
    assert np.array_equal(overlap.shared_uses, expected.shared_uses)
    assert finish(report_work(twice)).count("<h2>Tokenizer ") == 2


def test_a_vocabulary_equals_itself() -> None:
    tokenizer = trained(LATIN)
    made = finish(vocabularies_work(tokenizer, tokenizer))
    assert made.jaccard == 1
    assert made.is_in.all()
