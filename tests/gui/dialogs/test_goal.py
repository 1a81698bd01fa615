"""The dialog Weights for a Goal: it finds, stops with the best, sets weights that Undo takes back, and says faults."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog

from tokstudio.core.base.resources import resource
from tokstudio.gui.dialogs.goal import GoalDialog
from tokstudio.gui.state.training_plans import problem_of_plans
from tokstudio.gui.state.training_settings import Settings


@pytest.fixture
def dialog(qtbot, session, theme, opened) -> GoalDialog:
    for language in ("eng_Latn", "deu_Latn", "rus_Cyrl"):
        text = resource(f"corpora/story/{language}.txt").read_text(encoding="utf-8")
        session.corpus.add_text(text, f"{language}.txt")
    qtbot.waitUntil(lambda: not session.jobs.running)
    session.training.set_settings(Settings(vocabulary_size=400, pattern="gpt2"))
    shown = []
    dialog = opened(GoalDialog(session, theme, None, lambda *plans: shown.append(plans)))
    dialog.shown_plans = shown
    qtbot.waitUntil(dialog.start.isEnabled)
    return dialog


def test_weights_are_found_shown_as_dots_set_and_undone(qtbot, session, dialog):
    assert not dialog.use.isEnabled()
    assert not dialog.tabs.isTabEnabled(1)
    dialog.goal.combo.setCurrentIndex(2)
    assert dialog.limit.value == 3.0
    dialog.limit.set_value(10.0)
    dialog.start.click()
    assert not dialog.start.isEnabled()
    qtbot.waitUntil(dialog.use.isEnabled)
    assert "than alone" in dialog.note.text()
    search = dialog._searching.search
    assert len(dialog.path.dots) == len(search.trials) >= 1
    assert dialog.path.best == search.best
    assert all(dialog.path.rect().contains(place.toPoint()) for place in dialog.path.places())
    assert dialog.tabs.isTabEnabled(1)
    dialog.tabs.setCurrentIndex(1)
    assert dialog.sizes.isVisible()
    assert dialog.sizes.curve.x.tolist() == list(range(256, 401))
    # The last size is that of the search, on the lines that it reports.
    told = dialog.note.text().partition("not looked at: ")[2]
    assert told.startswith(f"worst premium {dialog.sizes.curve.y[-1]:.3f}")
    qtbot.keyClick(dialog.sizes, Qt.Key.Key_Home)
    assert dialog.sizes.accessibleDescription().startswith("256 tokens · worst premium ")
    wanted = search.trials[search.best].weights
    assert wanted != (1000, 1000, 1000)
    dialog.use.click()
    assert dialog.result() == QDialog.DialogCode.Accepted
    assert session.corpus.weights == wanted
    session.history.undo()
    assert session.corpus.weights == (1000, 1000, 1000)


def test_another_search_begins_without_the_sizes_of_the_last(qtbot, dialog):
    dialog.limit.set_value(100.0)
    dialog.start.click()
    qtbot.waitUntil(lambda: dialog.tabs.isTabEnabled(1))
    dialog.tabs.setCurrentIndex(1)
    dialog.start.click()
    assert dialog.tabs.currentIndex() == 0
    assert not dialog.tabs.isTabEnabled(1)
    qtbot.waitUntil(dialog.use.isEnabled)


def test_what_was_found_stays_and_is_said_to_be_of_the_values_before(qtbot, session, dialog):
    dialog.limit.set_value(100.0)
    dialog.start.click()
    qtbot.waitUntil(dialog.use.isEnabled)
    found, dots = dialog.note.text(), dialog.path.dots
    assert found.startswith("Met")
    first = dialog.languages.list.item(0)

    def tick():
        states = Qt.CheckState.Unchecked, Qt.CheckState.Checked
        first.setCheckState(states[first.checkState() == states[0]])

    limit, size = dialog.limit.number, dialog.size_field.number
    changes = [
        (lambda: limit.setValue(1.01), lambda: limit.setValue(100.0)),
        (lambda: size.setValue(2000), lambda: size.setValue(400)),
        (tick, tick),
        (lambda: dialog.goal.combo.setCurrentIndex(1), lambda: dialog.goal.combo.setCurrentIndex(0)),
    ]
    for change, back in changes:
        change()
        assert dialog.note.text() == f"For the values before: {found}"
        assert (dialog.path.dots, dialog.path.goal) == (dots, 100.0)
        assert dialog.use.isEnabled()
        back()
        limit.setValue(100.0)
        assert dialog.note.text() == found
    dialog.start.click()
    assert not dialog.note.text().startswith(("Met", "For"))
    qtbot.waitUntil(dialog.use.isEnabled)


def test_stop_keeps_the_best_so_far(qtbot, session, dialog):
    dialog.limit.set_value(0.01)
    dialog.start.click()
    qtbot.waitUntil(lambda: len(dialog.path.dots) >= 2)
    dialog.stop.click()
    qtbot.waitUntil(dialog.use.isEnabled)
    assert dialog.note.text().startswith(("Stopped after ", "Not met"))
    assert dialog.path.accessibleDescription().startswith(f"{len(dialog.path.dots)} trainings. The best: Training ")


def test_the_best_trainings_become_rows_of_train_several(qtbot, session, dialog):
    assert not dialog.several.isEnabled()
    dialog.limit.set_value(0.01)
    dialog.size_field.set_value(350)
    dialog.start.click()
    qtbot.waitUntil(lambda: len(dialog.path.dots) >= 7)
    dialog.stop.click()
    qtbot.waitUntil(dialog.several.isEnabled)
    search = dialog._searching.search
    dialog.several.click()
    ((plans, remark),) = dialog.shown_plans
    assert dialog.result() == QDialog.DialogCode.Accepted
    assert remark == "The weights of the trainings nearest to the goal."
    assert problem_of_plans(plans, session.corpus.current) is None
    nearest = sorted(search.trials, key=lambda trial: trial.excess)[:5]
    assert [plan.weighted(session.corpus.current).multipliers for plan in plans] == [
        search.corpus.weighted(trial.weights).multipliers for trial in nearest
    ]
    assert {plan.settings.vocabulary_size for plan in plans} == {350}
    assert session.corpus.weights == (1000, 1000, 1000)


def test_what_cannot_be_searched_is_said(qtbot, session, dialog):
    dialog.limit.set_value(0.0)
    dialog.start.click()
    assert dialog.note.text().startswith("The worst premium must be above 0")
    dialog.limit.set_value(1.3)
    session.corpus.set_weights((1000, 0, 0))
    dialog.start.click()
    qtbot.waitUntil(dialog.start.isEnabled)
    assert dialog.note.text().startswith("The weights of 1 text cannot be searched")
    assert not dialog.use.isEnabled()


def test_only_the_ticked_languages_count_and_those_of_the_corpus_are_ticked_first(qtbot, session, dialog):
    wanted = ("German deu_Latn", "English eng_Latn", "Russian rus_Cyrl")
    assert dialog.languages.value == wanted
    assert dialog.languages.list.count() == 31
    assert tuple(dialog.languages.list.item(row).text() for row in range(3)) == wanted, "they are in sight"
    assert dialog.languages.note.text().endswith("The base language is English eng_Latn.")
    dialog.limit.set_value(100.0)
    dialog.start.click()
    assert not dialog.languages.isEnabled()
    qtbot.waitUntil(dialog.use.isEnabled)
    assert dialog._searching.search.parallel.languages == wanted
    dialog.languages.list.item(row_of(dialog, "English")).setCheckState(Qt.CheckState.Unchecked)
    assert dialog.languages.note.text().endswith("The base language is German deu_Latn.")
    dialog.start.click()
    qtbot.waitUntil(dialog.use.isEnabled)
    assert dialog._searching.search.parallel.languages == ("German deu_Latn", "Russian rus_Cyrl")
    dialog.languages.list.item(row_of(dialog, "German")).setCheckState(Qt.CheckState.Unchecked)
    dialog.start.click()
    assert dialog.note.text() == "Tick at least two languages."


def row_of(dialog: GoalDialog, name: str) -> int:
    """The row of a language."""
    listed = dialog.languages.list
    return next(row for row in range(listed.count()) if listed.item(row).text().startswith(name))


def test_all_languages_are_ticked_where_the_corpus_names_fewer_than_two(qtbot, session, theme, opened):
    session.corpus.add_text("some text", "deu.txt")
    session.corpus.add_text("and other", "notes.txt")
    qtbot.waitUntil(lambda: not session.jobs.running)
    dialog = opened(GoalDialog(session, theme, None, lambda *plans: None))
    qtbot.waitUntil(dialog.start.isEnabled)
    assert len(dialog.languages.value) == 31
