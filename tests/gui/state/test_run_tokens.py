"""The tokens of a run by slot: base tokens, special tokens in every position, merges; growing, complete and opened."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest

from tokstudio import Corpus, Tokenizer, TrainingConfig
from tokstudio.core.analysis.token_index import describe_token, index_work
from tokstudio.core.base.progress import finish
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.training.trainer import Trainer
from tokstudio.gui.find.find_box import FoundModel
from tokstudio.gui.panes.merges import MergesModel
from tokstudio.gui.panes.vocabulary.model import VocabularyModel
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.run_tokens import KINDS, RunTokens
from tokstudio.gui.token_table.token_uses import NEVER, TokenUses

TEXT = "the cat <|end|> sat on the mat ¿ and the rat <|end|>\n" * 20
CONFIGS = {
    "bytes": TrainingConfig(vocabulary_size=290, max_token_bytes=30),
    "last": TrainingConfig(vocabulary_size=290, special_tokens=["<|end|>", "<pad>"]),
    "first": TrainingConfig(vocabulary_size=290, special_tokens=["<|end|>", "<pad>"], special_placement="first"),
    "characters": TrainingConfig(vocabulary_size=50, base="characters", special_tokens=["<|end|>"]),
    "base vocabulary": TrainingConfig(
        vocabulary_size=50,
        base="characters",
        base_vocabulary=["<?>", *"abcdehimnorst \n<|>"],
        unknown_token="<?>",
        special_tokens=["<|end|>"],
    ),
}


def grown(config, steps=()):
    """A run with so many merges after each of the steps; then all of them."""
    corpus = Corpus.from_text(TEXT)
    trainer, run = Trainer(corpus, config), StudioRun(1, "Run", config, corpus)
    yield run
    while trainer.prepared is None:
        trainer.advance()
    run.prepare(trainer.prepared, trainer.run)
    for step in steps:
        while len(run) < step:
            run.append(trainer.advance(1))
        yield run
    while trainer.ended is None:
        run.append(trainer.advance())
    run.complete(trainer.run)
    yield run


def check(run):
    """Every slot says of its token what the tokenizer says."""
    tokens, tokenizer = RunTokens(run), run.tokenizer
    tokens.index = finish(index_work(tokens.snapshot()))
    assert len(tokens) == len(tokenizer)
    assert sorted(tokens.ids.tolist()) == tokenizer.tokens.ids().tolist()
    for slot in range(len(tokens)):
        token = tokens.id_of(slot)
        raw = tokenizer.tokens[token]
        assert tokens.ids[slot] == token
        assert tokens.slot_of(token) == slot
        assert tokens.index.heads[slot] == tokens.head(slot, 99) == raw
        assert tokens.length(slot) == len(raw)
        parts, expected = tokens.parts_of(slot), tokenizer.parts(token)
        assert (parts and tuple(map(tokens.id_of, parts))) == expected
        kind = "special" if token in tokenizer.special_tokens.values() else tokenizer.alphabet.base.rstrip("s")
        assert tokens.kind_of(slot) == ("merge" if expected else kind)
        assert tokenizer.kind(token) == tokens.kind_of(slot) == KINDS[tokens.kinds(len(tokens))[slot]]
    assert tokens.slot_of(len(tokenizer)) == tokens.slot_of(-1) == tokens.slot_of(None) == -1


@pytest.mark.parametrize("key", CONFIGS)
def test_slots_and_ids_agree_with_the_tokenizer_at_every_stage(key):
    for number, run in enumerate(grown(CONFIGS[key], (0, 1, 7))):
        if number:
            check(run)


@pytest.mark.parametrize("key", CONFIGS)
def test_slots_and_ids_agree_for_an_opened_tokenizer(key):
    *_, run = grown(CONFIGS[key])
    check(StudioRun.opened(2, "File", run.tokenizer))


def test_a_file_may_have_tokens_that_no_merge_makes(qtbot, session):
    made = Tokenizer(
        np.array([[116, 104]], np.int32),
        np.array([260], np.int32),
        extra_tokens={300: b"cat", 256: b" dog"},
        special_tokens={"<s>": 299},
        whole_words=(256,),
    )
    run = StudioRun.opened(1, "File", made)
    tokens = RunTokens(run)
    assert len(tokens) == len(made)
    for token, kind in ((300, "unreachable"), (256, "whole word"), (299, "special"), (260, "merge")):
        slot = tokens.slot_of(token)
        assert tokens.id_of(slot) == token
        assert tokens.kind_of(slot) == KINDS[tokens.kinds(len(tokens))[slot]] == kind
        assert tokens.head(slot, 9) == made.tokens[token]
    model = VocabularyModel(session.indexing)
    model.set_run(run, 1)
    model.set_choice(["Unreachable"])
    qtbot.waitUntil(lambda: [model.token_at(row) for row in range(model.rowCount())] == [300])


@pytest.mark.parametrize("key", CONFIGS)
def test_counts_belong_to_their_tokens(key):
    *_, run = grown(CONFIGS[key])
    tokens, uses = RunTokens(run), TokenUses(run, 5)
    by_id = run.run.uses(5)
    states = uses.states(tokens.first + 5)
    for slot in range(tokens.first + 5):
        if tokens.kind_of(slot) == "special":
            assert uses.count_of(slot) == (run.uses.unknown if tokens.head(slot, 9) == b"<?>" else None)
        else:
            assert uses.count_of(slot) == by_id[tokens.id_of(slot)]
        assert uses.state_of(slot) == states[slot]
    assert (run.uses.unknown > 0) == (key == "base vocabulary")
    if key != "characters":
        assert NEVER in states
    assert uses.count_of(tokens.first + 5) is None


def test_all_tables_of_a_run_share_its_tokens(session):
    *_, run = grown(CONFIGS["bytes"])
    merges, vocabulary, found = MergesModel(session.indexing), VocabularyModel(session.indexing), FoundModel()
    merges.set_run(run)
    vocabulary.set_run(run, len(run))
    found.set_run(run)
    assert merges.tokens is vocabulary.tokens is found.tokens is run.tokens


def column(model, number):
    return [model.index(row, number).data() for row in range(model.rowCount())]


def test_the_vocabulary_lists_special_tokens_by_their_ids_while_the_run_grows(qtbot, session):
    model = VocabularyModel(session.indexing)
    stages = grown(CONFIGS["last"], (1, 3))
    model.set_run(next(stages), 0)
    for run in stages:
        model.set_playhead(len(run))
        ids = [f"{token:,}" for token in range(258 + len(run))]
        qtbot.waitUntil(lambda ids=ids: column(model, 0) == ids)
        assert column(model, 1)[-2:] == ["<|end|>", "<pad>"]
        assert column(model, 7)[-3:] == ["merge", "special", "special"]
        assert column(model, 6)[-1] == "–"
    model.set_choice(["Special"])
    qtbot.waitUntil(lambda: column(model, 1) == ["<|end|>", "<pad>"])
    model.set_choice(["Base"])
    qtbot.waitUntil(lambda: model.rowCount() == 256)


def test_a_vocabulary_of_characters_appears_when_they_are_known(qtbot, session):
    model = VocabularyModel(session.indexing)
    stages = grown(CONFIGS["characters"], (0, 2))
    model.set_run(next(stages), 0)
    assert model.rowCount() == 0
    for run in stages:
        model.set_playhead(len(run))
        qtbot.waitUntil(lambda run=run: model.rowCount() == len(run.tokenizer))
        assert column(model, 1)[:3] == ["t", "h", "e"]
        assert column(model, 7)[0].startswith("character")


@pytest.mark.parametrize("key", CONFIGS)
def test_merges_show_their_parts_after_any_base(session, key):
    model = MergesModel(session.indexing)
    *_, run = grown(CONFIGS[key])
    model.set_run(run, len(run))
    tokens = run.tokenizer.tokens
    for row in (0, model.rowCount() - 1):
        number = model.number_at(row)
        left, right = run.merges[number - 1].tolist()
        shown = [model.cell(row, number).tokens[0].text for number in (1, 2, 3)]
        assert shown == [tokens[t].decode() for t in (run.base_size + number - 1, left, right)]
        assert model.token_at(row) == run.base_size + number - 1
        assert model.row_of_token(run.base_size + number - 1) == row


class Growing:
    """A run of bytes whose merges are given, and come little by little."""

    config, start, special_tokens = CONFIGS["bytes"], None, {}
    alphabet, base_size = Alphabet.of_bytes(), 256
    ready = has_counts = byte_level = True

    def __init__(self, merges):
        self._merges = np.array(merges, np.int32)
        self.made = 0

    def __len__(self):
        return self.made

    @property
    def merges(self):
        return self._merges[: self.made]

    @property
    def tokenizer(self):
        return Tokenizer(self.merges)


def test_the_ends_of_tokens_that_grew_by_a_byte_at_a_time_are_found_in_few_steps(monkeypatch):
    n = 3000
    longer = [(97, 98), *((256 + at, 97 + at % 26) for at in range(n - 1))]  # a byte more at the end
    sooner = [(256 + n, 97), *((65 + at % 26, 256 + n + at) for at in range(n))]  # a byte more at the beginning
    merges = [*longer, (99, 100), *sooner[1:], (256 + n - 1, 256 + 2 * n - 2), (256 + 2 * n - 2, 256 + n - 1)]
    run = Growing(merges)
    tokens, steps = RunTokens(run), []
    parts_of = RunTokens.parts_of
    monkeypatch.setattr(RunTokens, "parts_of", lambda self, slot: steps.append(slot) or parts_of(self, slot))
    for made in (1, 150, 700, 701, n, n + 5, 2 * n - 1, len(merges)):
        run.made = made
        expected = run.tokenizer.tokens
        for slot in {256, 256 + made // 2, 256 + made - 2, 256 + made - 1} - {254, 255}:
            for limit in (4, 68, 512, 600):
                steps.clear()
                assert tokens.head(slot, limit) == expected[slot][:limit]
                assert limit > 512 or len(steps) < 2000
            steps.clear()
            assert tokens.flags_of(slot) == describe_token(expected[slot]), "as its end says"
            assert len(steps) < 2000


def test_a_file_whose_merges_join_tokens_of_later_ones_is_shown_like_any_other():
    """Tokens of tiktoken's ranks, the longest first; one of them is only a whole word."""
    long = [(number + 257, number + 257) for number in range(9)]  # 2, 4 ... 512 times "ab", longest first
    merges = [*long[:8], (265, 265), (97, 98), (97, 264)]
    tokenizer = Tokenizer(
        np.array(merges, np.int32), whole_words=(266,), special_tokens={"<s>": 300}, checked=True
    ).changed(ignores_merges=True)
    run = StudioRun.opened(1, "ranks", tokenizer)
    tokens = run.tokens
    assert tokens.lengths().tolist() == [len(tokenizer.tokens[tokens.id_of(slot)]) for slot in range(len(tokens))]
    index = finish(index_work(tokens.snapshot()))
    tokens.take_index(index)
    for slot in range(len(tokens)):
        made = tokenizer.tokens[tokens.id_of(slot)]
        assert index.heads[slot] == made[: len(index.heads[slot])]
        assert len(index.heads[slot]) == min(len(made), 256)
        assert tokens.head(slot, 2000) == made
    assert tokens.kind_of(tokens.slot_of(266)) == "whole word"
    assert tokens.kind_of(tokens.slot_of(256)) == "merge"
    assert [KINDS[kind] for kind in tokens.kinds(len(tokens))[-2:].tolist()] == ["merge", "whole word"]
    finish(index.scripts_work())
    latin = index.of_script("Latin")
    assert latin[tokens.slot_of(256)]
    assert latin[tokens.first :].all()
