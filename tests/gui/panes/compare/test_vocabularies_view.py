"""The vocabularies of two tokenizers in the Compare pane: parts, filter, order, summary."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from tests.gui.person import PATIENCE
from tokstudio.gui.panes.compare.vocabularies import VocabulariesView
from tokstudio.gui.panes.compare.vocabulary_rows import LENGTH, SECOND_USES, TOKEN, USES
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme

Make = Callable[..., StudioRun]
Show = Callable[[QWidget, int, int], None]

ENGLISH, GERMAN = "the cat sat on the mat and the cat\n" * 9, "die Katze saß auf der Matte, die Katze\n" * 9
ONLY_FIRST, BOTH, ONLY_SECOND = range(3)


@pytest.fixture
def view(qtbot: QtBot, session: Session, theme: Theme, make_run: Make, show: Show) -> VocabulariesView:
    for name, text in (("eng", ENGLISH), ("deu", GERMAN)):
        session.corpus.set_sources(())
        session.corpus.add_texts([(name, text)])
        make_run(vocabulary_size=280, pattern="gpt2")
    session.comparison.set_seen(True)
    made = VocabulariesView(session, theme)
    show(made, 900, 500)
    session.comparison.changed.connect(made.refresh)
    made.refresh()
    qtbot.waitUntil(lambda: made.rows.rowCount() > 0 and made.rows.pair.uses[1] is not None, timeout=PATIENCE)  # pyright: ignore[reportOptionalMemberAccess]
    return made


def tokens(view: VocabulariesView) -> list[str]:
    return [view.rows.index(row, TOKEN).data() for row in range(view.rows.rowCount())]


def spelled(session: Session, run: int) -> set[bytes]:
    return {token for token in session.runs.all[run].tokenizer.tokens if token}


def choose(qtbot: QtBot, view: VocabulariesView, part: int) -> None:
    view.parts.setCurrentIndex(part)
    qtbot.waitUntil(lambda: not view._listing.busy, timeout=PATIENCE)


def test_each_part_lists_its_tokens(qtbot: QtBot, view: VocabulariesView, session: Session) -> None:
    first, second = spelled(session, 0), spelled(session, 1)
    for part, expected in ((ONLY_FIRST, first - second), (BOTH, first & second), (ONLY_SECOND, second - first)):
        choose(qtbot, view, part)
        assert view.rows.rowCount() == len(expected)
        assert view.parts.tabText(part).endswith(f": {len(expected):,}")
    assert f"{len(first & second) / len(first | second):.1%}" in view.note.text()


def test_the_most_used_tokens_are_first(qtbot: QtBot, view: VocabulariesView, session: Session) -> None:
    choose(qtbot, view, ONLY_SECOND)
    uses = [int(view.rows.index(row, SECOND_USES).data().replace(",", "")) for row in range(view.rows.rowCount())]
    ids = np.array([view.rows.ids_at(row)[1] for row in range(view.rows.rowCount())])
    assert uses == sorted(uses, reverse=True)
    counts = np.bincount(session.runs.all[1].tokenizer.encode(GERMAN), minlength=300)
    assert uses == counts[ids].tolist()
    assert view.table.isColumnHidden(USES)


def test_columns_sort(qtbot: QtBot, view: VocabulariesView) -> None:
    choose(qtbot, view, BOTH)
    view.table.horizontalHeader().sectionClicked.emit(LENGTH)
    qtbot.waitUntil(lambda: not view._listing.busy, timeout=PATIENCE)
    lengths = [int(view.rows.index(row, LENGTH).data()) for row in range(view.rows.rowCount())]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]


def test_the_filter_is_that_of_the_vocabulary(qtbot: QtBot, view: VocabulariesView) -> None:
    choose(qtbot, view, ONLY_SECOND)
    view.filter.setText("Katze")
    qtbot.waitUntil(lambda: tokens(view) == ["·Katze"], timeout=PATIENCE)
    view.filter.setText("/^ d/ length:4")
    qtbot.waitUntil(lambda: set(tokens(view)) <= {"·die", "·der"} and len(tokens(view)) > 0, timeout=PATIENCE)
    view.filter.setText("/(/")
    qtbot.waitUntil(lambda: "not valid" in view.note.text(), timeout=PATIENCE)


def test_a_row_of_the_summary_filters(qtbot: QtBot, view: VocabulariesView) -> None:
    choose(qtbot, view, ONLY_SECOND)
    every = view.rows.rowCount()
    view.by.setCurrentIndex(1)
    titles = [view.summary.item(row, 0).text() for row in range(view.summary.rowCount())]
    assert titles == sorted(titles, key=lambda title: int(title.rstrip("+")))
    row = titles.index("3")
    view.summary.selectRow(row)
    expected = int(view.summary.item(row, 3).text())
    qtbot.waitUntil(lambda: view.rows.rowCount() == expected < every, timeout=PATIENCE)
    assert {view.rows.index(at, LENGTH).data() for at in range(expected)} == {"3"}


def test_one_tokenizer_alone_is_not_compared(qtbot: QtBot, view: VocabulariesView, session: Session) -> None:
    session.runs.delete(session.runs.all[0])
    view.refresh()
    assert view.empty.isVisible()
