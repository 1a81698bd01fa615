"""What the pages say of the sample article is true of this program."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import get_args

import pytest

from tokstudio import Corpus, Tokenizer, TrainingConfig, train
from tokstudio.core.base.resources import DEMO_SENTENCES, sample_text
from tokstudio.core.guide.pages import read_pages
from tokstudio.core.model.algorithms import TieBreak
from tokstudio.core.teaching.your_turn import ROUNDS, TEXTS, YourTurn, count_pairs

TEXT = sample_text("article")
CORPUS = Corpus.from_texts([TEXT])
PAGES = {page.name: page.words for page in read_pages()}
SENTENCES = dict(DEMO_SENTENCES)


def trained(**settings) -> Tokenizer:
    return train(CORPUS, TrainingConfig(**{"vocabulary_size": 1000, **settings}))


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """The run of "Train on How Tokenizers Work"."""
    return trained()


def pieces(tokenizer: Tokenizer, text: str) -> list[str]:
    return [tokenizer.decode([token]) for token in tokenizer.encode(text)]


def test_the_first_merges_and_the_words_that_are_one_token(tokenizer):
    made = [tokenizer.decode([256 + merge]) for merge in range(16)]
    assert [made[0], made[1], made[2], made[15]] == ["e ", "s ", "th", " the "]
    assert [tokenizer.decode([int(part)]) for part in tokenizer.run.merges[15]] == [" th", "e "]
    assert tokenizer.run.counts[:3].tolist() == [927, 787, 676]
    assert all(number in PAGES["bpe"] for number in ("927 times", "927 fewer", "with 787", "with 676", ": 256 "))
    assert pieces(tokenizer, "tokenizer") == ["tokenizer"]
    assert pieces(tokenizer, "Hello") == ["H", "el", "lo"]
    assert {"number of ", ", which is "} <= {tokenizer.decode([256 + merge]) for merge in range(744)}


def test_the_curve_and_what_merges_save():
    run, size = trained(vocabulary_size=1256).run, len(TEXT.encode())
    ratios = {merges: size / int(run.tokens_after[merges - 1]) for merges in (100, 200, 500, 1000)}
    said = "100 merges give 1.76 bytes per token, 200 give 2.10, and 500 give 2.75"
    assert [f"{ratios[merges]:.2f}" for merges in (100, 200, 500)] == ["1.76", "2.10", "2.75"]
    assert said in PAGES["curve"]
    assert [int(run.counts[merge - 1]) for merge in (1, 100, 500)] == [927, 41, 7]
    assert "saves 927 tokens, the hundredth 41, the five-hundredth 7" in PAGES["curve"]
    assert [f"{ratios[500] - 1:.2f}", f"{ratios[1000] - ratios[500]:.2f}"] == ["1.75", "0.72"]
    assert "500 merges bring 1.75 bytes per token, the next 500 only 0.72" in PAGES["size"]


def test_the_pattern_changes_the_first_merge():
    run = trained(pattern="gpt2").run
    assert (run.merges[0].tolist(), int(run.counts[0])) == ([ord(" "), ord("t")], 920)
    assert "with 920 occurrences" in PAGES["patterns"]


def test_the_tie_rules_part_at_merge_30(tokenizer):
    runs = {rule: trained(tie_break=rule).run for rule in get_args(TieBreak) if rule != "smallest-bytes"}
    parts = {rule: (run.merges != tokenizer.run.merges).any(axis=1) for rule, run in runs.items()}
    assert int(parts["lowest-id"].argmax()) + 1 == 30
    assert "part at merge 30" in PAGES["ties"]
    assert int(parts["lowest-id"].sum()) == 645
    assert "645 of the 744" in PAGES["ties"]
    ends = [int(run.tokens_after[-1]) for run in runs.values()]
    assert (min(ends), max(ends)) == (9867, 9899)
    assert "between 9,867 and 9,899" in PAGES["ties"]


def test_the_two_sentences(tokenizer):
    japanese = SENTENCES["Japanese"]
    assert (len(japanese), len(japanese.encode()), len(tokenizer.encode(japanese))) == (22, 66, 66)
    same = "I took a camera and walked by the quiet sea with my younger sister."
    assert (len(same), len(tokenizer.encode(same))) == (67, 31)
    assert f"“{same}” has 67 characters and 31 tokens" in PAGES["languages"]
    assert "22 characters and 66 bytes" in PAGES["bytes"]


def test_the_game_on_sea_shells():
    game = YourTurn(TEXTS["Sea shells"])
    assert f"begins with {len(game.tokens)} tokens" in PAGES["your-turn"]
    assert count_pairs(game.tokens).most_common(1) == [((" ", "s"), 11)]
    assert "space and “s”, 11 times" in PAGES["your-turn"]
    for _ in range(ROUNDS):
        game.choose(count_pairs(game.tokens).most_common(1)[0][0])
    assert f"ends with {game.best_tokens} tokens" in PAGES["your-turn"]
