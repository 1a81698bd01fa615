"""The rows of the vocabulary against the tokenizer at the playhead, which lacks what Picky BPE removed."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from PySide6.QtCore import QPersistentModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester

from tests.gui.conftest import docked
from tests.gui.person import at_rest
from tests.gui.picky import trained
from tests.gui.tables import listed
from tokstudio import Corpus, TrainingConfig, train
from tokstudio.core.analysis.token_index import NOT_UTF8, WORDS, describe_token, index_work
from tokstudio.core.base.progress import finish
from tokstudio.core.base.resources import sample_text
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.model.run import MergeBatch
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.vocabulary.model import VocabularyModel
from tokstudio.gui.panes.vocabulary.pane import VocabularyPane
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.run_tokens import RunTokens
from tokstudio.gui.token_table.query import Query

CONFIG = TrainingConfig(vocabulary_size=700)
DOWN = Qt.SortOrder.DescendingOrder
ID, TOKEN, BYTES, LENGTH, MADE_BY, MERGE, USES, KIND, NOTES = range(9)


@pytest.fixture(scope="module")
def tokenizer():
    return train(Corpus.from_text(sample_text("scripts")), CONFIG)


@pytest.fixture
def run(tokenizer):
    run = StudioRun(1, "Run 1", CONFIG, Corpus.from_text(sample_text("scripts")))
    made = tokenizer.run
    run.append(MergeBatch(1, made.merges[:, 0], made.merges[:, 1], made.counts, made.tokens_after))
    run.complete(made)
    return run


@pytest.fixture
def model(qtbot, session, run):
    model = VocabularyModel(session.indexing)
    model.set_run(run, 444)
    return model


def settled(qtbot, model):
    at_rest(qtbot, model)
    qtbot.waitUntil(lambda: not model.searching)
    return listed(model)


def text(model, token, column):
    return model.index(model.row_of_token(token), column).data()


def test_a_row_says_what_a_token_is_made_of_and_how_often_it_is_used(model, tokenizer):
    left, right = tokenizer.parts(500)
    raw = tokenizer.tokens[500]
    assert model.rowCount() == 700
    assert text(model, 500, ID) == "500"
    assert text(model, 500, BYTES) == raw.hex(" ").upper()
    assert text(model, 500, LENGTH) == str(len(raw))
    made_by = model.cell(500, MADE_BY).tokens
    assert len(made_by) == 2
    assert text(model, 500, MADE_BY) == f"{text(model, left, TOKEN)} + {text(model, right, TOKEN)}"
    assert text(model, 500, MERGE) == "245"
    assert text(model, 500, USES) == f"{int(tokenizer.run.uses()[500]):,}"
    assert text(model, 65, MERGE) == "–"
    assert text(model, 65, MADE_BY) == ""
    assert text(model, 0xE2, KIND) == "byte"
    assert text(model, 0xE2, NOTES).startswith("not UTF-8")
    fields = model.copied_slot(500).split("\t")
    assert len(fields) == 9
    assert fields[0] == "500"
    assert bytes.fromhex(fields[2]) == tokenizer.tokens[500]
    assert int(fields[6]) == tokenizer.run.uses()[500]
    uses, base = tokenizer.run.uses(), tokenizer.run.base_counts
    taken = next(token for token in range(256, 700) if uses[token] == 0)
    byte = next(token for token in range(256) if uses[token] == 0 < base[token])
    assert text(model, taken, NOTES).endswith("only in longer tokens")
    assert text(model, byte, NOTES).endswith("only in longer tokens")
    assert text(model, 0xFF, NOTES).endswith("not in the corpus")
    assert text(model, int(uses.argmax()), NOTES) in ("", "white space", "not UTF-8")
    model.set_playhead(taken - 255)
    assert text(model, taken, KIND) == "merge"
    assert "in" not in text(model, taken, NOTES).split()


@pytest.mark.parametrize("merges", [0, 1, 200, 443, 444])
def test_only_tokens_at_the_playhead_are_listed_with_their_counts(model, tokenizer, merges):
    model.set_playhead(merges)
    assert listed(model) == list(range(256 + merges))
    uses = tokenizer.run.uses(merges)
    assert [text(model, token, USES) for token in listed(model)] == [f"{int(uses[token]):,}" for token in listed(model)]


def test_moving_the_playhead_by_id_only_adds_and_removes_rows_at_the_end(model):
    heard = []
    model.rowsInserted.connect(lambda _, first, last: heard.append((first, last)))
    model.rowsRemoved.connect(lambda _, first, last: heard.append((-first, -last)))
    model.modelReset.connect(lambda: heard.append("reset"))
    model.layoutChanged.connect(lambda: heard.append("layout"))
    model.set_playhead(100)
    model.set_playhead(103)
    assert heard == [(-356, -699), (356, 358)]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("column", range(9))
def test_every_column_sorts(qtbot, model, tokenizer, column, descending):
    model.set_playhead(300)
    model.sort(column, DOWN if descending else Qt.SortOrder.AscendingOrder)
    uses, tokens = tokenizer.run.uses(300), tokenizer.tokens

    def notes(token):
        raw = tokens[token]
        flags = 2 if _broken(raw) else 1 if _blank(raw) else 0
        return flags, (uses[token] == 0) + _absent(tokenizer, token)

    keys = {
        ID: lambda token: token,
        TOKEN: lambda token: tokens[token],
        BYTES: lambda token: tokens[token],
        LENGTH: lambda token: len(tokens[token]),
        MADE_BY: lambda token: tokenizer.parts(token) or (-1, -1),
        MERGE: lambda token: max(token - 255, 0),
        USES: lambda token: uses[token],
        KIND: lambda token: token >= 256,
        NOTES: notes,
    }
    shown = settled(qtbot, model)
    assert sorted(shown) == list(range(556))
    values = [keys[column](token) for token in shown]
    if column == MERGE:
        # Bytes have no merge and stand before all that have one.
        values = [value for value in values if value]
    assert values == sorted(values, reverse=descending)


def _broken(raw):
    try:
        raw.decode()
    except UnicodeDecodeError:
        return True
    return False


def _blank(raw):
    # Python counts four control characters of ASCII as white space in text, but not in bytes; nobody else does.
    return raw.isspace() if raw.isascii() else raw.decode().isspace()


def _absent(tokenizer, token):
    return token < 256 and tokenizer.run.base_counts[token] == 0


KEEPS = {
    "Base": lambda token, raw, uses, absent: token < 256,
    "Merges": lambda token, raw, uses, absent: token >= 256,
    "White space": lambda token, raw, uses, absent: not _broken(raw) and _blank(raw),
    "Cuts a character": lambda token, raw, uses, absent: _broken(raw),
    "Only in longer tokens": lambda token, raw, uses, absent: uses == 0 and not absent,
    "Not in the corpus": lambda token, raw, uses, absent: absent,
}


@pytest.mark.parametrize("kind", KEEPS)
def test_kinds_can_be_listed_alone_and_follow_the_playhead(qtbot, model, tokenizer, kind):
    model.set_choice([kind])
    for merges in (444, 150):
        model.set_playhead(merges)
        uses = tokenizer.run.uses(merges)
        keeps, tokens = KEEPS[kind], tokenizer.tokens
        expected = [t for t in range(256 + merges) if keeps(t, tokens[t], uses[t], _absent(tokenizer, t))]
        assert settled(qtbot, model) == expected
        assert expected
    model.set_choice(())
    assert settled(qtbot, model) == list(range(406))


def test_a_large_vocabulary_is_put_in_order_while_the_playhead_moves(qtbot, model, tokenizer, monkeypatch):
    monkeypatch.setattr("tokstudio.gui.panes.vocabulary.model._MOST_AT_ONCE", 100)
    lengths = [len(token) for token in tokenizer.tokens]
    for merges in (300, 444, 20):
        model.sort(LENGTH, DOWN)
        assert model.searching
        model.set_playhead(merges)
        assert settled(qtbot, model) == sorted(range(256 + merges), key=lambda token: -lengths[token])
        assert text(model, 97, USES) == f"{int(tokenizer.run.uses(merges)[97]):,}"
    for merges in (444, 7):
        # Back to the order of ids, where rows come and go at the end alone.
        model.sort(ID)
        assert not model.searching
        model.set_playhead(merges)
        assert settled(qtbot, model) == list(range(256 + merges))
        model.set_playhead(merges - 5)
        assert listed(model) == list(range(251 + merges))
        settled(qtbot, model)
        model.sort(TOKEN)
        settled(qtbot, model)


def test_text_and_kind_filter_together_in_any_order(qtbot, model, tokenizer):
    model.sort(LENGTH, DOWN)
    model.set_choice(["Merges"])
    model.set_query(Query("E"))
    shown = settled(qtbot, model)
    wanted = [t for t in range(256, 700) if b"e" in tokenizer.tokens[t].decode("utf-8", "replace").lower().encode()]
    assert sorted(shown) == wanted
    lengths = [len(tokenizer.tokens[t]) for t in shown]
    assert lengths == sorted(lengths, reverse=True)
    model.set_query(Query("400"))
    assert sorted(settled(qtbot, model)) == [400, 655]  # the token of that id, and the one that merge made


def test_a_persistent_index_follows_its_token_through_orders_filters_and_the_playhead(qtbot, model):
    kept = QPersistentModelIndex(model.index(model.row_of_token(300), TOKEN))
    for act in (
        lambda: model.sort(TOKEN, DOWN),
        lambda: model.set_choice(["Merges"]),
        lambda: model.set_playhead(100),
        lambda: model.sort(ID),
        lambda: model.set_choice(()),
    ):
        act()
        settled(qtbot, model)
        assert model.token_at(kept.row()) == 300
    model.set_playhead(10)
    assert not kept.isValid()


def test_a_sorted_list_follows_a_growing_run(qtbot, session, tokenizer):
    run = StudioRun(1, "Run 1", CONFIG, Corpus.from_text(sample_text("scripts")))
    run.uses.begin(tokenizer.run.base_counts, 0, 0)
    model = VocabularyModel(session.indexing)
    model.set_run(run)
    model.sort(TOKEN)
    made = tokenizer.run
    for first in (0, 9):
        part = slice(first, first + 9)
        run.append(
            MergeBatch(
                first + 1, made.merges[part, 0], made.merges[part, 1], made.counts[part], made.tokens_after[part]
            )
        )
        model.set_playhead(len(run))
        if not first:  # it looks at every cell, also at each change
            QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Warning, model)
    shown = [tokenizer.tokens[token] for token in settled(qtbot, model)]
    assert len(shown) == 256 + 18
    assert shown == sorted(shown)


def test_a_file_may_assign_ids_in_any_order(qtbot, session, tokenizer):
    byte_ids = np.arange(1255, 999, -1, dtype=np.int32)
    merges = np.array([[byte_ids[97], byte_ids[98]], [7, byte_ids[99]]], np.int32)
    opened = Tokenizer(merges, np.array([7, 3], np.int32), alphabet=Alphabet.of_bytes(byte_ids))
    model = VocabularyModel(session.indexing)
    model.set_run(StudioRun.opened(1, "file", opened), 2)
    shown = settled(qtbot, model)
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Warning, model)
    assert shown[:3] == [3, 7, 1000]
    assert text(model, 3, TOKEN) == "abc"
    assert text(model, 3, MADE_BY) == "ab + c"
    assert text(model, 3, USES) == "–"
    assert text(model, 7, MERGE) == "1"
    model.set_playhead(1)
    assert settled(qtbot, model)[:2] == [7, 1000]


@pytest.mark.parametrize(
    "text", ["é" * 4096, (" " * 3000 + "1" * 700) * 2, "\u3000" * 2000], ids=["é", "wide", "broad"]
)
def test_the_flags_of_a_long_token_are_those_of_the_whole(qtbot, text):
    corpus = Corpus.from_text(text)
    config = TrainingConfig(vocabulary_size=300, pattern="none")
    made = train(corpus, config)
    run = StudioRun(1, "r", config, corpus)
    run.append(MergeBatch(1, made.merges[:, 0], made.merges[:, 1], made.run.counts, made.run.tokens_after))
    tokens = RunTokens(run)
    whole = [made.tokens[token] for token in range(len(made))]
    assert max(map(len, whole)) > 256
    expected = [describe_token(raw) & ~WORDS for raw in whole]
    assert [bool(flag & NOT_UTF8) for flag in expected] == [_broken(raw) for raw in whole]
    begun = [flag if len(raw) <= 512 else flag & NOT_UTF8 for flag, raw in zip(expected, whole, strict=True)]
    assert [tokens.flags_of(slot) & ~WORDS for slot in range(len(made))] == begun
    tokens.index = finish(index_work(tokens.snapshot()))
    assert [tokens.flags_of(slot) & ~WORDS for slot in range(len(made))] == expected


pane = docked(VocabularyPane, 760, 320)


@pytest.fixture
def picky(qtbot, session, pane):
    return trained(qtbot, session)


@pytest.mark.parametrize("order", [Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder])
def test_only_tokens_that_are_there_are_listed_in_the_order_of_any_column(qtbot, pane, session, picky, order):
    for column, merges in product((ID, MERGE, TOKEN, USES), (len(picky), 3, 41, 39, 0)):
        if merges == len(picky):
            pane.table.sortByColumn(column, order)
        session.view.set_playhead(merges)
        expected = picky.tokenizer.at(merges).tokens.ids().tolist()
        shown = settled(qtbot, pane.model)
        assert sorted(shown) == expected, (column, merges)
        if column in (ID, MERGE):
            descending = order == Qt.SortOrder.DescendingOrder
            made = sorted((each for each in shown if each >= picky.base_size), reverse=descending)
            assert [each for each in shown if each >= picky.base_size] == made, (column, merges)
        assert pane.total() == len(expected)


def test_a_filter_finds_no_removed_token(qtbot, pane, session, picky):
    gone = next(
        token for token in range(picky.base_size, picky.base_size + len(picky)) if picky.removals.removed_by(token)
    )
    pane.filter.setText(str(gone))
    assert gone not in settled(qtbot, pane.model)
    session.view.set_playhead(picky.removals.removed_by(gone) - 1)
    assert gone in settled(qtbot, pane.model)
    session.view.set_playhead(picky.removals.removed_by(gone))
    assert gone not in settled(qtbot, pane.model)
