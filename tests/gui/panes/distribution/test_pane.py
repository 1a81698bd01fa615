"""The Distribution pane against the core: lengths and uses at the playhead, read by pointer and keys."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QApplication

from tests.gui.conftest import alone
from tests.gui.person import TEXT, at_rest, at_window, trained
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.distribution import DistributionPane

pane = alone(DistributionPane, 640, 360)


def settled(qtbot, pane):
    at_rest(qtbot, pane)
    return pane.lengths if pane.view == "lengths" else pane.ranks


def values(plot):
    return dict(zip(plot.curve.x.astype(int).tolist(), plot.curve.y.astype(int).tolist(), strict=True))


def tick_texts(axis, shown: tuple[float, float], size: float) -> list[str]:
    return axis.tickStrings(axis.tickValues(shown[0], shown[1], size)[0][1], 1.0, 0.0)


def test_lengths_and_counts_are_whole_numbers_on_their_axes(qtbot, pane, trained):
    plot = settled(qtbot, pane)
    texts = tick_texts(plot.chart.getAxis("bottom"), plot.chart.x_range, plot.chart.area.width())
    assert texts[:3] == ["2", "4", "6"]
    plot.set_values(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 1.0]), bars=True)
    chart = plot.chart
    for side, shown in zip(("bottom", "left"), chart.getViewBox().viewRange(), strict=True):
        texts = tick_texts(chart.getAxis(side), shown, 300)
        assert texts
        assert not any("." in text for text in texts), texts


def test_the_few_longest_share_one_bar_that_can_be_seen_and_clicked(qtbot, pane, session, make_run):
    words = " ".join(f"{chr(97 + n % 26)}{chr(97 + n // 26)}" * 2 for n in range(300))
    make_run((words + " " + "x" * 400 + "\n") * 3, vocabulary_size=None, min_frequency=2, pattern="gpt2")
    run = session.runs.active
    plot = settled(qtbot, pane)
    lengths = [len(token) for token in run.tokenizer.tokens]
    last = int(plot.curve.x[-1])
    assert 16 <= last <= 64 < max(lengths)
    expected = Counter(min(length, last) for length in lengths)
    assert values(plot) == dict(expected)
    assert sum(length > last for length in lengths) <= 0.01 * len(lengths)
    assert plot.content.caption == f"tokens by length in bytes; the last bar counts {last} and over"
    # One pixel above the axis there is something of every bar, and nothing where no token has the length.
    image, area = plot.grab().toImage(), plot.chart.area
    row = round(area.bottom()) - 2
    colours = {n: image.pixelColor(round(plot.chart.place(n, 0).x()), row) for n in range(1, last + 1)}
    surface = image.pixelColor(round(area.right()) + 3, row)
    assert {n for n, colour in colours.items() if colour != surface} == set(expected)
    place = plot.chart.place(float(last), 0.9 * max(expected.values()))
    with qtbot.waitSignal(pane.lengthsChosen) as heard:
        qtbot.mouseClick(plot, Qt.MouseButton.LeftButton, pos=place.toPoint())
    assert heard.args == [last, 0]
    assert plot.accessibleDescription() == f"{last} bytes or more · {expected[last]} tokens"


def test_bars_keep_their_height_where_a_zoom_cuts_them(qtbot, pane, trained):
    plot = settled(qtbot, pane)
    counts = values(plot)
    plot.show_part(2.2, 6.7)
    bars = plot.chart.drawn["values"].opts
    assert bars["height"].tolist() == [counts[length] for length in range(2, 8) if length in counts]
    assert (bars["x0"][0], bars["x1"][-1]) == (2.2, 6.7)


def test_uses_by_rank_are_those_of_the_run_and_a_chosen_rank_shows_its_token(qtbot, pane, trained, theme):
    pane.tabs.setCurrentIndex(1)
    for merges in (344, 30):
        trained.view.set_playhead(merges)
        plot = settled(qtbot, pane)
        expected = sorted((int(uses) for uses in trained.runs.active.uses.at(merges) if uses), reverse=True)
        drawn = values(plot)
        assert drawn[1] == expected[0]
        assert drawn[len(expected)] == expected[-1]
        assert all(expected[rank - 1] == uses for rank, uses in drawn.items())
    trained.view.set_playhead(344)
    plot = settled(qtbot, pane)
    plot.setFocus()
    qtbot.keyClick(plot, Qt.Key.Key_Home)
    qtbot.keyClick(plot, Qt.Key.Key_Return)
    uses = trained.runs.active.uses.at(344)
    assert trained.view.token == int(np.argmax(uses))
    shown = {trained.view.token}
    for _ in range(40):
        qtbot.keyClick(plot, Qt.Key.Key_Right)
        qtbot.keyClick(plot, Qt.Key.Key_Return)
        rank = int(plot.accessibleDescription().split()[1].replace(",", ""))
        assert uses[trained.view.token] == sorted(uses.tolist(), reverse=True)[rank - 1]
        shown.add(trained.view.token)
    assert len(shown) == 41, "tokens that are used equally often are not the same one each time"
    plot = pane.ranks
    QApplication.processEvents()
    metrics = QFontMetricsF(theme.tabular_font())
    assert plot.chart.area.top() - metrics.height() / 2 >= metrics.ascent()


def test_lengths_are_those_of_the_tokens_at_the_playhead_and_are_read_by_mouse_and_keys(qtbot, pane, trained):
    plot = settled(qtbot, pane)
    place = plot.chart.place(1.0, 100.0)
    assert plot.read(place) == (1.0, 256.0)
    with qtbot.waitSignal(pane.lengthsChosen) as heard:
        qtbot.mouseClick(plot, Qt.MouseButton.LeftButton, pos=place.toPoint())
    assert heard.args == [1, 1]
    assert plot.read(QPointF(2, 2)) is None
    plot.setFocus()
    qtbot.keyClick(plot, Qt.Key.Key_Home)
    assert plot.accessibleDescription() == "1 byte · 256 tokens"
    qtbot.keyClick(plot, Qt.Key.Key_Right)
    count = sum(len(token) == 2 for token in trained.runs.active.tokenizer.tokens)
    assert plot.accessibleDescription() == f"2 bytes · {count} tokens"
    with qtbot.waitSignal(pane.lengthsChosen) as heard:
        qtbot.keyClick(plot, Qt.Key.Key_Return)
    assert heard.args == [2, 2]
    tokens = list(trained.runs.active.tokenizer.tokens)
    for merges in (344, 100, 0):
        trained.view.set_playhead(merges)
        plot = settled(qtbot, pane)
        assert values(plot) == dict(Counter(len(token) for token in tokens[: 256 + merges]))
    assert pane.stack.currentWidget() is pane.lengths
    trained.view.set_playhead(344)
    settled(qtbot, pane)
    pane.hide()
    trained.view.set_playhead(0)
    assert sum(values(pane.lengths).values()) == 600
    pane.show()
    assert values(settled(qtbot, pane)) == {1: 256}


def test_uses_of_an_opened_tokenizer_are_drawn_after_counting(qtbot, pane, session, actions):
    tokenizer = Tokenizer(np.array([[97, 98]], np.int32))
    session.runs.add_tokenizer(tokenizer, "small")
    pane.tabs.setCurrentIndex(1)
    assert "Open a text" in pane.empty.label.text()
    session.corpus.add_text("ab ab b", "text")
    settled(qtbot, pane)
    assert "Open a text" not in pane.empty.label.text()
    actions["count_uses"].triggered.connect(session.runs.count_uses)
    qtbot.mouseClick(pane.count_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: pane.stack.currentWidget() is pane.ranks)
    expected = sorted(np.bincount(tokenizer.encode("ab ab b")).tolist(), reverse=True)[:3]
    assert list(values(settled(qtbot, pane)).values()) == expected
    session.view.set_playhead(0)
    settled(qtbot, pane)
    assert "were counted after merge 1" in pane.empty.label.text()


@at_window()
def test_at_the_window_a_bar_lists_its_tokens_in_the_vocabulary(qtbot, unstyled, window):
    window.session.corpus.add_text(TEXT)
    trained(qtbot, window)
    window.distribution.raise_()
    qtbot.waitUntil(lambda: window.distribution.stack.currentWidget() is window.distribution.lengths)
    plot = window.distribution.lengths
    window.vocabulary.filter.setText("xyz")
    window.vocabulary.panel.choose(["digits"])
    place = plot.chart.place(1.0, 10.0).toPoint()
    qtbot.mouseClick(plot, Qt.MouseButton.LeftButton, pos=place)
    model = window.vocabulary.model
    qtbot.waitUntil(lambda: model.rowCount() == 256)
    assert not window.vocabulary.visibleRegion().isEmpty()
    assert window.vocabulary.kinds.text() == "Kinds (1)", "what was filtered for before is over"
    assert window.vocabulary.filter.text() == ""
