"""The vocabularies of two tokenizers in the Compare pane: parts, filter, order, summary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QSignalBlocker, Qt
from pytestqt.qtbot import QtBot

from tests.gui.tables import column_texts
from tokstudio import diff
from tokstudio.core.analysis.reachability import REACHED, reachability_work
from tokstudio.core.base.progress import finish
from tokstudio.core.base.wording import percent_text, shown
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.compare.vocabularies import LENGTH, SECOND_USES, TOKEN, USES, VocabulariesView, VocabularyRows
from tokstudio.gui.session.session import Session
from tokstudio.gui.widgets.labels import END, ISOLATE, in_a_sentence

ENGLISH, GERMAN = "the cat sat on the mat and the cat\n" * 9, "die Katze saß auf der Matte, die Katze\n" * 9
ONLY_FIRST, BOTH, ONLY_SECOND, MOVED = range(4)


@pytest.fixture
def view(qtbot, session, theme, make_run, show) -> VocabulariesView:
    for name, text in (("eng", ENGLISH), ("deu", GERMAN)):
        session.corpus.set_sources(())
        session.corpus.add_texts([(name, text)])
        make_run(vocabulary_size=280, pattern="gpt2")
    session.comparison.set_seen(True)
    made = VocabulariesView(session, theme)
    show(made, 1400, 500)
    session.comparison.changed.connect(made.refresh)
    made.refresh()
    qtbot.waitUntil(lambda: made.rows.rowCount() > 0 and made.rows.pair.uses[1] is not None)  # pyright: ignore[reportOptionalMemberAccess]
    return made


def tokens(view: VocabulariesView) -> list[str]:
    return column_texts(view.rows, TOKEN)


def spelled(session: Session, run: int) -> set[bytes]:
    return {token for token in session.runs.all[run].tokenizer.tokens if token}


def choose(qtbot: QtBot, session: Session, view: VocabulariesView, part: int) -> None:
    view.parts.setCurrentIndex(part)
    settled(qtbot, session)


def settled(qtbot: QtBot, session: Session) -> None:
    qtbot.waitUntil(lambda: not session.jobs.running)


def test_each_part_lists_its_tokens_under_titles_the_most_used_first(qtbot, view, session):
    first, second = spelled(session, 0), spelled(session, 1)
    for part, expected in ((ONLY_FIRST, first - second), (BOTH, first & second), (ONLY_SECOND, second - first)):
        choose(qtbot, session, view, part)
        assert view.rows.rowCount() == len(expected)
        assert view.parts.choices[part].name.endswith(f": {len(expected):,}")
    assert percent_text(len(first & second) / len(first | second), 1) in view.note.text()
    choose(qtbot, session, view, ONLY_SECOND)
    uses = [int(view.rows.index(row, SECOND_USES).data().replace(",", "")) for row in range(view.rows.rowCount())]
    ids = np.array([view.rows.ids_at(row)[1] for row in range(view.rows.rowCount())])
    assert uses == sorted(uses, reverse=True)
    counts = np.bincount(session.runs.all[1].tokenizer.encode(GERMAN), minlength=300)
    assert uses == counts[ids].tolist()
    assert view.table.isColumnHidden(USES)
    header = view.table.horizontalHeader()

    def titles() -> list[str]:
        shown = (at for at in range(header.count()) if not header.isSectionHidden(at))
        return [view.rows.headerData(at, Qt.Orientation.Horizontal) for at in shown]

    both = ["Token", "Length", "Id 1", "Merge 1", "Uses 1", "Id 2", "Merge 2", "Uses 2", "Script"]
    for part in (BOTH, ONLY_SECOND, BOTH, ONLY_FIRST):
        choose(qtbot, session, view, part)
        expected = both if part == BOTH else ["Token", "Length", "Id", "Merge", "Uses", "Script"]
        qtbot.waitUntil(lambda expected=expected: titles() == expected)
    metrics, heads = view.summary.fontMetrics(), view.summary.horizontalHeader()
    assert heads.sectionSize(0) >= metrics.horizontalAdvance("Devanagari") + 12
    model = view.summary.model()
    tips = [model.headerData(at, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole) for at in (1, 2, 3)]
    assert tips == ["Only in Run 1", "In both", "Only in Run 2"]
    for at in (1, 2, 3):
        assert heads.sectionSize(at) >= metrics.horizontalAdvance("100,000") + 12
    choose(qtbot, session, view, BOTH)
    view.table.horizontalHeader().sectionClicked.emit(LENGTH)
    settled(qtbot, session)
    lengths = [int(view.rows.index(row, LENGTH).data()) for row in range(view.rows.rowCount())]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]


def test_the_filter_of_the_vocabulary_and_a_row_of_the_summary_filter(qtbot, view, session):
    choose(qtbot, session, view, ONLY_SECOND)
    view.filter.setText("Katze")
    qtbot.waitUntil(lambda: tokens(view) == ["·Katze"])
    view.filter.setText("/^ d/ length:4")
    qtbot.waitUntil(lambda: set(tokens(view)) <= {"·die", "·der"} and len(tokens(view)) > 0)
    view.filter.setText("/(/")
    qtbot.waitUntil(lambda: "does not compile" in view.note.text())
    view.filter.clear()
    qtbot.waitUntil(lambda: view.rows.rowCount() > 2)
    every = view.rows.rowCount()
    view.by.setCurrentIndex(1)
    titles = [view.summary.item(row, 0).text() for row in range(view.summary.rowCount())]
    assert titles == sorted(titles, key=lambda title: int(title.rstrip("+")))
    row = titles.index("3")
    view.summary.selectRow(row)
    expected = int(view.summary.item(row, 3).text())
    qtbot.waitUntil(lambda: view.rows.rowCount() == expected < every)
    assert {view.rows.index(at, LENGTH).data() for at in range(expected)} == {"3"}


def test_the_last_row_by_length_has_all_longer_tokens(qtbot, session, theme, make_run, show):
    session.corpus.add_texts([("eng", "abcdefghijklmnopqrstuvwx " * 9)])
    make_run(vocabulary_size=256 + 22)
    session.corpus.set_sources(())
    session.corpus.add_texts([("deu", "zyxw " * 9)])
    make_run(vocabulary_size=258)
    view = VocabulariesView(session, theme)
    show(view, 900, 500)
    view.refresh()
    qtbot.waitUntil(lambda: view.rows.rowCount() > 0)
    choose(qtbot, session, view, ONLY_FIRST)
    view.by.setCurrentIndex(1)
    row = view.summary.rowCount() - 1
    assert view.summary.item(row, 0).text() == "16+"
    view.summary.selectRow(row)
    longer = sum(len(token) >= 16 for token in spelled(session, 0))
    assert longer > 1
    qtbot.waitUntil(lambda: view.rows.rowCount() == longer)
    assert view.summary.item(row, 1).text() == f"{longer}"


def test_kinds_and_uses_filter(qtbot, view, session):
    choose(qtbot, session, view, BOTH)
    every = view.rows.rowCount()
    merged = [len(token) > 1 for token in spelled(session, 0) & spelled(session, 1)]
    assert 0 < sum(merged) < every
    panel = view.kinds.panel
    panel.choose({"Merges"})
    qtbot.waitUntil(lambda: view.rows.rowCount() == sum(merged))
    panel.choose({"Base", "Merges", "Cuts a character"})
    qtbot.waitUntil(lambda: view.rows.rowCount() == 128)
    used = [np.bincount(run.tokenizer.encode(GERMAN), minlength=300) > 0 for run in session.runs.all]
    pair = view.rows.pair
    rows = pair.vocabularies.ids[pair.part(BOTH)].tolist()
    expected = sum(bool(used[0][one] or used[1][other]) for one, other in rows)
    panel.choose({"In the texts"})
    qtbot.waitUntil(lambda: view.rows.rowCount() == expected)
    panel.choose({"Not in the texts"})
    qtbot.waitUntil(lambda: view.rows.rowCount() == every - expected)
    panel.clear()
    panel.set_lengths(2, 3)
    lengths = pair.lengths[pair.part(BOTH)]
    expected = np.count_nonzero((lengths >= 2) & (lengths <= 3))
    assert expected > 0
    qtbot.waitUntil(lambda: view.rows.rowCount() == expected)
    panel.set_lengths(2, 0)
    qtbot.waitUntil(lambda: view.rows.rowCount() == np.count_nonzero(lengths >= 2))
    panel.set_lengths(0, 0)
    panel.expression.setChecked(True)
    view.filter.setText("^.a")
    qtbot.waitUntil(lambda: view.rows.rowCount() > 0 and all(t[1:2] == "a" for t in tokens(view)))


def test_unreachable_tokens_are_found(qtbot, session, theme, make_run, show):
    one = Tokenizer(np.array([[97, 98], [98, 99], [97, 257]], np.int32))
    session.runs.add_tokenizer(one, "one")
    make_run(vocabulary_size=260)
    view = VocabulariesView(session, theme)
    show(view, 900, 500)
    view.refresh()
    qtbot.waitUntil(lambda: view.rows.rowCount() > 0)
    choose(qtbot, session, view, ONLY_FIRST)
    view.kinds.panel.choose({"Unreachable"})
    reach = finish(reachability_work(one))
    expected = {one.tokens[token] for token in np.flatnonzero(reach != REACHED).tolist()}
    assert expected
    qtbot.waitUntil(lambda: {token.encode() for token in tokens(view)} == expected)


def test_a_new_name_and_another_text_are_followed_and_one_tokenizer_is_not_compared(qtbot, view, session):
    first = session.runs.all[0]
    session.runs.rename(first, "English")
    qtbot.waitUntil(lambda: view.parts.choices[ONLY_FIRST].name.startswith("Only in English: "))
    assert "are in English's vocabulary, too." in view.note.text()
    assert view.first.currentText().strip() == "English"
    choose(qtbot, session, view, BOTH)
    before = view.note.text()
    session.corpus.add_texts([("more", "the dog and the cat " * 9)])
    qtbot.waitUntil(lambda: view.note.text() != before and "too." in view.note.text())
    used = np.bincount(session.runs.all[1].tokenizer.encode(GERMAN), minlength=300)
    used += np.bincount(session.runs.all[1].tokenizer.encode("the dog and the cat " * 9), minlength=300)
    shared = [
        number for number, token in enumerate(session.runs.all[1].tokenizer.tokens) if token in first.tokenizer.tokens
    ]
    assert f" {percent_text(used[shared].sum() / used.sum(), 1)} of Run 2's tokens" in view.note.text()
    session.runs.delete(session.runs.all[0])
    view.refresh()
    assert view.empty.isVisible()


def test_the_mark_of_a_space_stands_where_a_token_is_read_from_right_to_left(
    qtbot: QtBot, session: Session, view: VocabulariesView
) -> None:
    rows = [number for number, token in enumerate(view.rows.pair.vocabularies.tokens)]  # pyright: ignore[reportOptionalMemberAccess]
    model, pair = VocabularyRows(view._theme), view.rows.pair
    assert pair is not None
    spelled = (" של".encode(), *pair.vocabularies.tokens[1:])
    model.show(replace(pair, vocabularies=replace(pair.vocabularies, tokens=spelled)), np.array(rows))
    # Isolated, its first letter decides on which side it begins, as in the other tables.
    assert model.text(0, TOKEN) == f"{ISOLATE}·של{END}"


@pytest.mark.parametrize("part", [ONLY_FIRST, BOTH, ONLY_SECOND])
def test_a_narrow_view_leaves_out_columns_and_cuts_none(qtbot: QtBot, view: VocabulariesView, part: int) -> None:
    view.parts.setCurrentIndex(part)
    qtbot.waitUntil(lambda: view.table.isColumnHidden(USES) == (part == ONLY_SECOND))
    wide = [at for at in range(view.rows.columnCount()) if not view.table.isColumnHidden(at)]
    view.window().resize(700, 500)
    qtbot.waitUntil(lambda: view.table.horizontalHeader().length() <= view.table.viewport().width())
    assert not view.table.isColumnHidden(TOKEN)
    assert not view.table.isColumnHidden(SECOND_USES if part == ONLY_SECOND else USES)
    view.window().resize(1500, 500)
    qtbot.waitUntil(lambda: not view.table.isColumnHidden(LENGTH))
    assert [at for at in range(view.rows.columnCount()) if not view.table.isColumnHidden(at)] >= wide


def test_tokens_that_moved_are_a_part_of_their_own(qtbot, view, session):
    choose(qtbot, session, view, MOVED)
    ids = [dict(zip(run.tokenizer.tokens, range(len(run.tokenizer.tokens)), strict=True)) for run in session.runs.all]
    moved = [token for token in ids[0].keys() & ids[1].keys() if ids[0][token] != ids[1][token]]
    assert view.rows.rowCount() == len(moved) > 0
    assert view.parts.choices[MOVED].name == f"In both, with another id: {len(moved)}"
    assert not view.table.isColumnHidden(SECOND_USES)


def test_differences_are_told_with_the_lines_that_change(qtbot, view, session):
    view.tabs.setCurrentIndex(1)
    page = view.differences
    qtbot.waitUntil(lambda: page.differences is not None)
    told = page.told.toPlainText()
    expected = diff(*(run.tokenizer for run in session.runs.all), {"deu": GERMAN})
    found = page.differences
    assert (found.ids_changed, found.same_ids_from_0) == (expected.ids_changed, expected.same_ids_from_0)
    assert f"tokens only in Run 1, such as {shown(expected.only_a[0][1].decode())}." in told
    assert told.splitlines()[-1] == in_a_sentence(replace(expected, names=("Run 1", "Run 2")).draft).replace(
        "\u00a0", " "
    )
    assert page.choice.choices[0].name == "deu, line 1"
    stack = page.lines.stack
    assert (stack.text, [row.name for row in stack.rows]) == (GERMAN.split("\n")[0] + "\n", ["Run 1", "Run 2"])
    assert stack.rows[1].cut.ids.tolist() == session.runs.all[1].tokenizer.encode(stack.text)
    qtbot.keyClick(page.lines, Qt.Key.Key_Right)
    assert page.choice.currentIndex() == 1
    with QSignalBlocker(view.first):
        view.first.setCurrentIndex(1)
    view.second.setCurrentIndex(1)
    view.refresh()
    qtbot.waitUntil(lambda: "Run 2 and Run 2 are the same." in page.told.toPlainText())
    assert not page.lines.isVisible()
    view.tabs.setCurrentIndex(0)
    settled(qtbot, session)
    assert page.isHidden()
