"""The Compression pane: welcome, curves, playhead, and changing runs."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QFontMetrics
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QToolButton

from tests.gui.conftest import alone
from tests.gui.person import TEXT
from tokstudio import Corpus, TrainingConfig, __version__, train
from tokstudio.core.base.resources import SAMPLES, sample_text
from tokstudio.gui.panes.compression.legend import Legend, LegendEntry
from tokstudio.gui.panes.compression.pane import CompressionPane
from tokstudio.gui.plot.content import PART
from tokstudio.gui.session.training.training import Settings
from tokstudio.gui.style.theme import Theme

pane = alone(CompressionPane, 700, 380)


def curve(pane, run):
    return pane.plot.content.curves[run.key]


def choose(pane, words):
    next(action for action in pane.menu.actions() if action.text() == words).trigger()


def test_the_first_start_shows_a_welcome_that_fits_and_with_a_corpus_train(qtbot, pane, actions, session):
    page = pane.welcome
    assert pane.stack.currentWidget() is page
    assert pane.bar.isHidden()
    buttons = page.findChildren(QPushButton)
    assert [button.accessibleName() for button in buttons[2:]] == [sample.title for sample in SAMPLES]
    assert "A tokenizer cuts text into tokens" in page.sentence.text()
    assert pane.title.text() == ""
    names = ["take_tour", "open_corpus", *(f"sample_train_{sample.key}" for sample in SAMPLES)]
    for button, name in zip(buttons, names, strict=True):
        with qtbot.waitSignal(actions[name].triggered):
            qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    card = buttons[2]
    card.setFocus()
    with qtbot.waitSignal(actions["sample_train_article"].triggered):
        qtbot.keyClick(card, Qt.Key.Key_Space)
    pane.resize(900, 600)
    [picture] = [label for label in page.findChildren(QLabel) if not label.pixmap().isNull()]
    title, description = card.findChildren(QLabel)
    assert picture.isVisible()
    assert description.isVisible()
    pane.resize(470, 240)
    assert not picture.isVisible()
    assert not description.isVisible()
    assert title.isVisible()
    assert card.toolTip()
    session.corpus.add_text("some text")
    assert pane.stack.currentWidget() is pane.ready
    assert pane.title.text() == "Compression"
    assert "Press Train" in pane.ready.sentence.text()
    button = pane.ready.findChild(QPushButton)
    with qtbot.waitSignal(actions["train"].triggered):
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    for height in range(300, 140, -4):
        pane.resize(300, height)
        QApplication.processEvents()
        assert button.visibleRegion().boundingRect() == button.rect(), (height, "the whole button, without scrolling")
    assert not pane.ready.sentence.isVisible()
    session.training.set_settings(Settings(None, None))
    assert pane.ready.sentence.isVisible(), "what is in the way of training is always said"
    assert pane.ready.sentence.text() == session.training.obstacle
    assert pane.ready.headline.text() == "Not ready to train"
    actions["train"].setEnabled(False)
    assert not button.isEnabled()


def test_the_curve_is_what_the_core_measures_in_each_view_and_moves_the_playhead(pane, trained, qtbot):
    made = train(Corpus.from_text(sample_text("article")), TrainingConfig(vocabulary_size=600)).run
    shown = curve(pane, trained.runs.active)
    assert pane.stack.currentWidget() is pane.plot
    assert np.array_equal(shown.x, np.arange(345))
    assert np.allclose(shown.y, [made.bytes_per_token(k) for k in range(345)])
    assert pane.bar.maximum() == pane.bar.value() == 344
    assert pane.plot.toolTip().startswith("† Trained on this text")
    assert pane.plot.accessibleDescription() == f"merge 344   †{made.bytes_per_token():.2f} bytes per token"
    plot = pane.plot
    place = plot.chart.place(100, 1.2).toPoint()
    qtbot.mouseClick(plot, Qt.MouseButton.LeftButton, pos=place)
    assert trained.view.playhead == pytest.approx(100, abs=2)
    start = plot.chart.place(trained.view.playhead, 1.2).toPoint()
    qtbot.mousePress(plot, Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(plot, start + QPoint(60, 0))
    qtbot.mouseRelease(plot, Qt.MouseButton.LeftButton, pos=start + QPoint(60, 0))
    assert trained.view.playhead > 110
    assert pane.bar.value() == trained.view.playhead
    first = next(one for one in pane.bar.findChildren(QToolButton) if "First" in one.accessibleName())
    qtbot.mouseClick(first, Qt.MouseButton.LeftButton)
    assert trained.view.playhead == 0
    assert pane.plot.accessibleDescription().startswith("no merges")
    image = pane.to_image(400, 300, 2.0)
    assert (image.width(), image.height()) == (800, 600)
    assert b"<svg" in pane.to_svg(400, 300)
    assert pane.view_button.text() == "Bytes per token"
    choose(pane, "Saved by a merge")
    assert pane.view_button.text() == "Saved by a merge"
    trained.view.set_playhead(344)
    run = trained.runs.active
    choose(pane, "Tokens in corpus")
    assert np.array_equal(curve(pane, run).y[1:], run.log.tokens_after)
    assert pane.view_button.text() == "Tokens in corpus"
    assert pane.plot.accessibleDescription() == f"merge 344   {run.log.tokens_at(344):,} tokens"
    choose(pane, "Count of chosen pair")
    assert np.array_equal(curve(pane, run).y, run.log.count)
    assert curve(pane, run).x[0] == 1
    trained.view.set_playhead(0)
    assert pane.plot.accessibleDescription() == "no merges"


def test_earlier_runs_stay_and_the_legend_activates_them(qtbot, pane, trained, make_run):
    first = trained.runs.active
    second = make_run(vocabulary_size=400)
    assert curve(pane, first).role == "other"
    assert curve(pane, second).role == "active"
    trained.runs.rename(first, "A long one")
    button = next(one for one in pane.legend.findChildren(QToolButton) if one.text() == "A long one")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert trained.runs.active is first
    assert curve(pane, first).role == "active"
    assert pane.bar.maximum() == 344
    trained.runs.delete(second)
    assert list(pane.plot.content.curves) == [first.key]


def test_the_legend_marks_curves_of_another_corpus(pane, trained, make_run):
    first = trained.runs.active
    trained.corpus.add_text("another text " * 20)
    second = make_run(vocabulary_size=270)
    texts = [button.text() for button in pane.legend.buttons]
    assert texts == [second.name, f"{first.name}, not comparable"]
    assert "other text than the active run's" in pane.legend.buttons[1].toolTip()
    third = make_run(vocabulary_size=265)
    assert [button.text() for button in pane.legend.buttons] == [
        third.name,
        second.name,
        f"{first.name}, not comparable",
    ]
    trained.corpus.set_weights((1000, 3000))
    last = make_run(vocabulary_size=265)
    others = [f"{run.name}, not comparable" for run in (third, second, first)]
    assert [button.text() for button in pane.legend.buttons] == [last.name, *others]


def curve_entries(pane) -> dict[str, QAction]:
    pane.curves.aboutToShow.emit()
    return {action.text(): action for action in pane.curves.actions() if not action.isSeparator()}


def test_curves_of_other_runs_can_be_hidden_and_the_plot_is_rescaled(qtbot, pane, trained, make_run):
    odd, second, active = trained.runs.active, make_run(vocabulary_size=300), make_run(vocabulary_size=290)
    trained.runs.rename(odd, "R&D")
    assert set(pane.plot.content.curves) == {odd.key, second.key, active.key}
    assert "R&D" in [entry.name for entry in pane.legend.entries]
    entries = curve_entries(pane)
    assert [*entries] == ["R&&D", second.name, active.name, "Show All", "Show Only the Active Tokenizer"]
    assert [entry.isEnabled() for entry in entries.values()] == [True, True, False, False, True]
    wide = pane.plot.chart.x_range[1]
    entries["R&&D"].trigger()
    assert set(pane.plot.content.curves) == {second.key, active.key}
    assert pane.plot.chart.x_range[1] < wide
    assert "R&D" not in [entry.name for entry in pane.legend.entries]
    curve_entries(pane)["Show Only the Active Tokenizer"].trigger()
    assert set(pane.plot.content.curves) == {active.key}
    assert not curve_entries(pane)["Show Only the Active Tokenizer"].isEnabled()

    trained.runs.activate(odd)
    assert set(pane.plot.content.curves) == {odd.key, active.key}, "what is looked at is always drawn"
    curve_entries(pane)["Show All"].trigger()
    assert set(pane.plot.content.curves) == {odd.key, second.key, active.key}


def at_curve(pane, run, merges):
    return pane.plot.chart.place(merges, run.bytes_per_token(merges)).toPoint()


def test_a_double_click_on_an_earlier_curve_makes_it_the_active_run_and_a_click_does_not(
    qtbot, pane, trained, make_run
):
    first = trained.runs.active
    second = make_run(vocabulary_size=300)
    place = at_curve(pane, first, 300)
    qtbot.mouseClick(pane.plot, Qt.MouseButton.LeftButton, pos=place)
    assert trained.runs.active is second
    qtbot.mouseDClick(pane.plot, Qt.MouseButton.LeftButton, pos=place)
    assert trained.runs.active is first


def test_during_a_paused_training_its_run_stays_active_with_a_message(qtbot, pane, trained, step_to):
    first = trained.runs.active
    second, said = step_to(1), []
    trained.jobs.refused.connect(said.append)
    place = at_curve(pane, first, 300)
    qtbot.mouseClick(pane.plot, Qt.MouseButton.LeftButton, pos=place)
    qtbot.mouseDClick(pane.plot, Qt.MouseButton.LeftButton, pos=place)
    button = next(one for one in pane.legend.findChildren(QToolButton) if one.text() == first.name)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert trained.runs.active is second
    assert said == ["Run 2 stays active until its training ends. Use Stop to end it."] * 2


def test_a_new_active_run_is_shown_whole_and_another_held_out_share_is_another_text(pane, trained, make_run):
    pane.plot.show_part(300, 320)
    make_run(vocabulary_size=280)
    low, high = pane.plot.chart.x_range
    assert low <= 0
    assert high >= 344
    first = trained.runs.active
    make_run(vocabulary_size=300, held_out=0.2)
    assert pane.plot.content.curves[first.key].other_corpus


def test_the_zoom_stays_while_the_run_follows_the_weights(qtbot, session, pane, make_run):
    session.corpus.add_text(TEXT)
    session.corpus.add_text("día de días, noche de noches\n" * 30)
    first = make_run(vocabulary_size=290, pattern="gpt2")
    pane.plot.show_part(5, 20)
    for weight in (2000, 3000):
        session.corpus.set_weights((1000, weight), moving=True)
        qtbot.waitUntil(lambda: not session.jobs.running)
        assert session.runs.active is session.runs.live is not None
        assert pane.plot.chart.x_range == (5, 20)
    session.corpus.settle_weights()
    assert pane.plot.chart.x_range == (5, 20)
    session.runs.activate(first)
    assert pane.plot.content.zoom is None


@pytest.mark.parametrize("width", [120, 260, 420])
def test_a_legend_shows_each_name_once_however_it_is_resized(qtbot, width):
    legend = Legend(Theme("light"))
    qtbot.addWidget(legend)
    legend.set_entries([LegendEntry(key, f"Run {key}", key - 1, key == 1) for key in range(1, 5)])
    legend.show()
    for step in (500, width, 90, width):
        legend.resize(step, 40)
        shown = [one.text() for one in legend.buttons if one.isVisible()]
        listed = [action.text() for action in legend.menu.actions() if action.isVisible()]
        assert shown + listed == ["Run 1", "Run 2", "Run 3", "Run 4"]
        assert legend.more.isVisible() == bool(listed)
    if listed:
        with qtbot.waitSignal(legend.chosen) as chosen:
            legend.menu.actions()[-1].trigger()
        assert chosen.args == [4]


def test_an_opened_tokenizer_has_the_curve_of_the_corpus(qtbot, pane, trained, make_run):
    second = make_run(vocabulary_size=265)
    trained.runs.add_tokenizer(second.tokenizer.compact(), "opened")
    opened = trained.runs.active
    qtbot.waitUntil(lambda: opened.key in pane.plot.content.curves)
    assert pane.stack.currentWidget() is pane.plot
    assert np.allclose(curve(pane, opened).y, second.curve()[1]), "on the same text as the run"
    assert curve(pane, opened).role == "active"
    assert pane.legend.buttons[0].text() == "opened"
    assert pane.remark.text() == "Opened tokenizers are measured on Pasted text."
    pane.bar.moved.emit(7)
    assert trained.view.playhead == 7
    assert pane.plot.accessibleDescription() == f"merge 7   {second.bytes_per_token(7):.2f} bytes per token"
    trained.runs.activate(second)
    assert curve(pane, opened).role == "other"
    trained.runs.show_curve(opened, False)
    assert opened.key not in pane.plot.content.curves
    trained.runs.show_curve(opened, True)
    assert opened.key in pane.plot.content.curves


def test_an_opened_tokenizer_without_a_curve_says_why(qtbot, pane, trained):
    tokenizer = trained.runs.active.tokenizer
    trained.corpus.set_sources(())
    trained.runs.add_tokenizer(tokenizer, "opened")
    assert pane.stack.currentWidget() is pane.opened
    assert pane.opened.label.text() == "No curve. Open a text to measure on. The playhead still works."
    assert not any(button.isVisible() for button in pane.legend.findChildren(QToolButton)), (
        "nothing is drawn that it could name"
    )
    pane.bar.moved.emit(7)
    assert trained.view.playhead == 7


def test_the_curve_waits_for_the_first_merge_and_then_grows(qtbot, session, pane):
    session.corpus.add_text(sample_text("article"))
    session.training.set_settings(Settings(600, None))
    session.training.step()
    assert pane.stack.currentWidget() is pane.waiting
    qtbot.waitUntil(lambda: session.training.state == "paused" and len(session.runs.active) == 1)
    assert pane.stack.currentWidget() is pane.plot
    assert len(curve(pane, session.runs.active).x) == 2
    session.training.step()
    qtbot.waitUntil(lambda: len(session.runs.active) == 2)
    assert len(curve(pane, session.runs.active).x) == 3


def test_earlier_curves_stay_while_another_run_is_prepared(qtbot, pane, trained):
    first = trained.runs.active
    trained.training.start()
    assert len(trained.runs.active) == 0
    assert pane.stack.currentWidget() is pane.plot
    assert curve(pane, first).role == "other"
    assert pane.plot.accessibleDescription() == ""
    assert not pane.plot.grab().isNull()
    qtbot.waitUntil(lambda: trained.training.current is None)
    assert curve(pane, trained.runs.active).role == "active"


def test_a_picture_says_what_it_is_of_and_marks_curves_of_another_corpus(pane, trained, make_run, unstyled):
    first = trained.runs.active
    trained.corpus.add_text("another text " * 20)
    second = make_run(vocabulary_size=270)
    trained.view.set_playhead(4)
    drawing = ElementTree.fromstring(pane.to_svg(1600, 900))
    texts = ["".join(each.itertext()) for each in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert f"{second.name} (270 tokens)" in texts
    assert f"{first.name} (600 tokens), not comparable" in texts
    told = f"{second.name} (260 tokens) at the playhead · trained on "
    of_text = f"SHA-256 {second.run.corpus.sha256} · TokStudio {__version__}"
    assert any(text.startswith(told) and text.endswith(of_text) for text in texts)
    description = next(drawing.iter("{http://www.w3.org/2000/svg}desc")).text
    assert description.startswith("merge 4 ")
    assert description.endswith(of_text)
    image = pane.to_image(800, 450)
    assert image.text("Description") == description
    bottom = image.copy(0, 430, 800, 20)
    assert len({bottom.pixel(x, y) for x in range(800) for y in range(20)}) > 1, "the line below is drawn"
    assert pane.remark.text().endswith(f"compared: {first.name} was trained on other text, or other shares of it.")
    marked = pane.plot.content.curves[first.key]
    assert pane.plot.reading(marked, 5.0, 2.0).startswith(f"{first.name}, not comparable: ")


def test_a_hidden_pane_draws_nothing_and_is_updated_when_shown(session, pane, make_run):
    pane.hide()
    session.corpus.add_text(sample_text("article"))
    run = make_run(vocabulary_size=400)
    assert not pane.plot.content.curves
    pane.show()
    assert len(curve(pane, run).x) == 145


def test_each_view_says_what_its_numbers_are_above_the_axis_and_has_scales_that_show_it(qtbot, theme, pane, trained):
    logarithmic = {}
    for action in pane.menu.actions()[:4]:
        action.trigger()
        logarithmic[action.text()] = pane.log.isChecked()
        caption = pane.plot.content.caption
        metrics = QFontMetrics(theme.tabular_font())
        assert caption
        assert pane.plot.chart.area.top() >= metrics.height(), "nothing is drawn over it"
        assert pane.plot.chart.getAxis("bottom").height() >= metrics.height(), "the numbers below have room"
        assert metrics.horizontalAdvance(caption.split(PART)[0]) < 400
    assert logarithmic == {
        "Bytes per token": False,
        "Tokens in corpus": False,
        "Count of chosen pair": True,
        "Saved by a merge": True,
    }


def test_a_change_of_theme_recolours_the_names_of_curves(pane, theme, trained, make_run):
    make_run(vocabulary_size=280)
    buttons = [button for button in pane.legend.findChildren(QToolButton) if button.property("key") is not None]
    assert len(buttons) > 1
    before = [button.icon().pixmap(20, 14).toImage() for button in buttons]
    theme.set_mode("dark" if theme.mode != "dark" else "light")
    after = [button for button in pane.legend.findChildren(QToolButton) if button.property("key") is not None]
    assert after == buttons
    assert all(button.icon().pixmap(20, 14).toImage() != old for button, old in zip(buttons, before, strict=True))


def test_log_scales_spread_the_first_merges(pane, trained):
    middle = pane.plot.chart.place(20, 1.5).x()
    choose(pane, "Log scales")
    assert pane.plot.chart.place(20, 1.5).x() > middle + 50
