"""Compare Algorithms: from the empty pane over Train Several to the matrix and the curves, and back by Undo."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt

from tests.gui.languages import NAMES, TEXTS
from tests.gui.person import TEXT, at_window, quiet, trained
from tokstudio.core.model import algorithms
from tokstudio.core.model.settings import ALGORITHM_TITLES, LIBRARY_ALGORITHMS
from tokstudio.gui.dialogs.train_several.dialog import TrainSeveralDialog
from tokstudio.gui.window.main_window import MainWindow

TITLES = [kind.title for kind in algorithms.ALGORITHMS.values()]
LANGUAGES = list(zip(NAMES, TEXTS.values(), strict=True))


def dialog_of(window: MainWindow) -> TrainSeveralDialog:
    return next(dialog for dialog in window.findChildren(TrainSeveralDialog) if dialog.isVisible())


def shown(window: MainWindow) -> list[str]:
    return [column.name for column in window.session.comparison.columns]


@at_window()
def test_the_button_opens_a_row_for_each_algorithm_and_compare_and_the_plot_show_what_was_trained_alone(
    qtbot, unstyled, window
):
    window.show_compare()
    button = window.compare.algorithms
    assert button.isVisible()
    assert not button.isEnabled()
    assert button.toolTip() == "Open a text first."
    window.session.corpus.add_text(TEXT)
    qtbot.waitUntil(button.isEnabled)
    quiet(qtbot, window)
    qtbot.waitUntil(button.isEnabled)
    button.setFocus()
    qtbot.keyClick(button, Qt.Key.Key_Space)
    dialog = dialog_of(window)
    rows = [plan.settings for plan in dialog.model.plans]
    assert [row.algorithm for row in rows] == [name for name in ALGORITHM_TITLES if name != "parity"]
    assert {(row.pattern, row.vocabulary_size) for row in rows} == {("gpt2", 1000)}
    assert dialog.remark.isVisible()
    told = "All have the pattern gpt2, as some algorithms need one; Configure has none. Left out: Parity-aware BPE"
    assert dialog.remark.text().startswith(f"{told} needs at least two languages")
    assert dialog.train_button.isEnabled()
    dialog.reject()

    session = window.session
    trained(qtbot, window)
    window.actions_by_id["compare_algorithms"].trigger()
    dialog_of(window).train_button.click()
    session.queue.cancel()
    qtbot.waitUntil(lambda: not session.queue.total)
    quiet(qtbot, window)
    assert shown(window) == ["Plain BPE (Run 2)"]
    # A queue of its own shows nothing in Compare alone.
    window.actions_by_id["train_several"].trigger()
    dialog_of(window).train_button.click()
    qtbot.waitUntil(lambda: not session.queue.total)
    assert shown(window) == ["Plain BPE (Run 2)", "Run 3"]
    for run in session.runs.all:
        run.note(exported=True)

    # After a training Compare and the plot show these runs alone.
    session.runs.replace_all([])
    session.corpus.set_sources(())
    session.corpus.add_texts(LANGUAGES)
    before = trained(qtbot, window)
    number = int(before.name.removeprefix("Run "))
    session.comparison.show_simple("Bytes", True)
    session.training.set_settings(replace(session.training.settings, vocabulary_size=400, pattern="gpt2"))
    told: list[str] = []
    session.jobs.told.connect(told.append)
    window.actions_by_id["compare_algorithms"].trigger()
    dialog = dialog_of(window)
    assert dialog.windowTitle() == "Compare Algorithms"
    assert not dialog.remark.isVisible()
    assert dialog.model.rowCount() == len(ALGORITHM_TITLES)
    # The first and the last of ours and a library stand for the others.
    for row in reversed(range(1, dialog.model.rowCount())):
        if row not in (len(TITLES) - 1, len(TITLES)):
            dialog.table.selectRow(row)
            qtbot.mouseClick(dialog.remove_button, Qt.MouseButton.LeftButton)
    expected = [
        f"{TITLES[0]} (Run {number + 1})",
        f"{TITLES[-1]} (Run {number + 2})",
        ALGORITHM_TITLES[next(iter(LIBRARY_ALGORITHMS))],
    ]
    qtbot.mouseClick(dialog.train_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not session.queue.total)
    quiet(qtbot, window)
    assert [run.name for run in session.runs.all] == [before.name, *expected]
    assert shown(window) == expected
    assert not window.compare.visibleRegion().isEmpty()
    assert session.runs.active.name == expected[1], "the last with a curve"
    assert told[-1] == f"{len(expected)} trainings are done: Compare shows only them."
    window.places.open(window.compression)
    assert {entry.name for entry in window.compression.legend.entries} == set(expected[:2])
    assert session.history.undo_text == "Compare Algorithms"
    session.history.undo()
    assert shown(window) == [before.name, *expected, "Bytes"]
    session.history.redo()
    assert shown(window) == expected
    assert before in session.runs.all
    for run in session.runs.all:
        run.note(exported=True)
