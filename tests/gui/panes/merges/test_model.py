"""The rows of the merge log against the run they come from."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from tests.gui.person import at_rest
from tests.gui.tables import row_texts
from tokstudio import Corpus, TrainingConfig, train
from tokstudio.core.base.resources import sample_text
from tokstudio.core.model.run import MergeBatch
from tokstudio.gui.panes.merges import MergesModel
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.token_table.query import FilterQuery, Query
from tokstudio.gui.token_text.spelling import Shown, copied, marked, shown
from tokstudio.gui.token_text.token_label import token_label

CONFIG = TrainingConfig(vocabulary_size=700)


@pytest.fixture(scope="module")
def tokenizer():
    return train(Corpus.from_text(sample_text("scripts")), CONFIG)


def growing(tokenizer, merges):
    run = StudioRun(1, "Run 1", CONFIG, Corpus.from_text(sample_text("scripts")))
    run.uses.begin(tokenizer.run.base_counts, 0, 0)
    add(run, tokenizer, merges)
    return run


def add(run, tokenizer, merges):
    made, first = tokenizer.run, len(run)
    part = slice(first, first + merges)
    columns = (made.merges[part, 0], made.merges[part, 1], made.counts[part], made.tokens_after[part])
    run.append(MergeBatch(first + 1, *columns))


@pytest.fixture
def model(qtbot, session):
    model = MergesModel(session.indexing)
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Warning, model)
    return model


def numbers(model):
    return [model.number_at(row) for row in range(model.rowCount())]


def settled(qtbot, model):
    at_rest(qtbot, model)
    qtbot.waitUntil(lambda: not model.searching)
    return numbers(model)


def test_the_column_of_counts_has_room_for_the_highest_of_them(model, tokenizer):
    run, made = growing(tokenizer, 0), tokenizer.run
    counts = np.array([5, 1_234_567, 40], np.int64)
    run.append(MergeBatch(1, made.merges[:3, 0], made.merges[:3, 1], counts, made.tokens_after[:3]))
    model.set_run(run, 3)
    assert model.widest(model.titles.index("Count")) == "1,234,567"


def test_the_newest_merge_stands_first_with_its_figures(model, tokenizer):
    run = growing(tokenizer, 444)
    model.set_run(run, 444)
    assert model.rowCount() == 444
    made = tokenizer.run
    left, right = made.merges[443].tolist()
    expected = [marked(shown(tokenizer.tokens[token])) for token in (699, left, right)]
    after = int(made.tokens_after[443])
    assert row_texts(model, 0) == [
        "444",
        *expected,
        f"{int(made.counts[443]):,}",
        f"{after:,}",
        f"{made.bytes_per_token():.3f}",
    ]
    assert row_texts(model, 443)[0] == "1"


def test_rows_are_added_at_the_top_during_training(qtbot, model, tokenizer):
    run = growing(tokenizer, 10)
    model.set_run(run, 10)
    add(run, tokenizer, 7)
    assert model.rowCount() == 10
    with qtbot.waitSignal(model.rowsInserted) as inserted:
        model.grow()
    assert inserted.args[1:] == [0, 6]
    assert numbers(model) == list(range(17, 0, -1))


def test_rows_after_the_playhead_are_dimmed_and_its_own_is_marked(model, tokenizer):
    model.set_run(growing(tokenizer, 50), 50)
    changed = []
    model.dataChanged.connect(lambda first, last: changed.append((first.row(), last.row())))
    model.set_playhead(20)
    assert changed == [(0, 30)]
    cells = {model.number_at(row): model.cell(row, 1) for row in range(50)}
    assert [number for number, cell in sorted(cells.items()) if cell.dimmed] == list(range(21, 51))
    assert [number for number, cell in cells.items() if cell.marked] == [20]


@pytest.mark.parametrize("typed", ["e ", "THE", "жи", "的", "D0 B8", "0xE3", "300", "#12", "zzzz", "\\n"])
def test_the_filter_finds_text_bytes_and_numbers(qtbot, model, tokenizer, typed):
    model.set_run(growing(tokenizer, 444), 444)
    model.set_query(Query(typed))
    text = typed.replace("\\n", "\n").lower()
    raw = bytes.fromhex(typed.replace("0x", "")) if typed in ("D0 B8", "0xE3") else None

    def passes(number):
        token = tokenizer.tokens[255 + number]
        by_number = typed.strip("#").isdigit() and int(typed.strip("#")) in (number, 255 + number)
        return text in token.decode("utf-8", "replace").lower() or (raw is not None and raw in token) or by_number

    assert settled(qtbot, model) == [number for number in range(444, 0, -1) if passes(number)]


def test_a_filter_also_applies_to_later_merges(qtbot, model, tokenizer):
    run = growing(tokenizer, 100)
    model.set_run(run, 100)
    model.set_query(Query("e"))
    before = settled(qtbot, model)
    add(run, tokenizer, 344)
    model.grow()
    after = settled(qtbot, model)
    assert len(after) > len(before) > 0
    assert after[-len(before) :] == before
    assert all(b"e" in tokenizer.tokens[255 + number].lower() for number in after)
    model.set_query(Query(""))
    assert numbers(model) == list(range(444, 0, -1))


def test_rows_map_to_tokens_and_back(qtbot, model, tokenizer):
    model.set_run(growing(tokenizer, 444), 444)
    assert model.row_of_token(256) == 443
    assert model.token_at(443) == 256
    assert model.row_of_token(65) == model.row_of_token(700) == model.row_of_token(None) == -1
    model.set_query(Query("e"))
    found = settled(qtbot, model)
    assert [model.row_of_number(number) for number in found] == list(range(len(found)))
    assert model.row_of_number(next(n for n in range(1, 445) if n not in found)) == -1


def test_a_run_opened_from_a_file_has_no_counts(model, tokenizer):
    model.set_run(StudioRun.opened(2, "file", tokenizer), 444)
    assert row_texts(model, 0)[4:] == ["–", "–", "–"]
    assert row_texts(model, 0)[1] == marked(shown(tokenizer.tokens[699]))


def test_a_copied_row_can_be_read_by_a_spreadsheet(model, tokenizer):
    model.set_run(growing(tokenizer, 444), 444)
    for slot in (256, 500, 699):
        fields = model.copied_slot(slot).split("\t")
        assert len(fields) == 7
        assert int(fields[0]) == slot - 255
        assert fields[1] == copied(tokenizer.tokens[slot])
        assert int(fields[4]) == tokenizer.run.counts[slot - 256]


def test_tokens_read_as_text_with_marks_or_as_bytes():
    assert shown(b" a") == Shown(" a", "text")
    assert marked(shown(b" a\r\n\tb\xc2\xa0")) == token_label(b" a\r\n\tb\xc2\xa0") == "·a←↵⇥b␣"
    assert shown(b"\xe2\x80") == Shown("E2 80", "bytes")
    assert shown("\u0331i".encode()) == Shown("\u25cc\u0331i", "text"), "a mark alone stands on a dotted circle"
    assert shown("é".encode() * 40, 61).text == "é" * 30 + "…"
    assert shown(b"a" * 61).text == "a" * 60 + "…"
    assert shown(b"\x80" * 70).text.endswith("80 …")
    assert shown(("🇩🇪" * 9).encode()).text == "🇩🇪" * 7 + "…", "no half of a flag"
    assert copied(b"a\\\n\t\xff") == "61 5C 0A 09 FF"
    assert copied(b"a\\\n\tb") == "a\\\\\\n\\tb"


def test_without_a_run_there_is_nothing(model):
    model.set_run(None)
    assert model.rowCount() == 0
    assert model.headerData(1, Qt.Orientation.Horizontal) == "Token"
    assert model.widest(0)


def test_a_length_range_in_reverse_order_is_an_error():
    assert FilterQuery("length:9-5").error == "No length is at least 9 and at most 5: write the smaller number first."
    assert FilterQuery("/a/ length:9-5").error
    assert not FilterQuery("length:5-5").error
