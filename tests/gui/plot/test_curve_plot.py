"""The plot as a person meets it: curves to read, a playhead to drag, pictures to take home."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PySide6.QtCore import QByteArray, QEvent, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QWheelEvent
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QWidget

from tokstudio.gui.plot.chart import Chart
from tokstudio.gui.plot.content import Curve
from tokstudio.gui.plot.curve_plot import CurvePlot
from tokstudio.gui.plot.labels import PlotLabels
from tokstudio.gui.plot.scale import decimate, range_between, tick_texts, tick_values, to_axis, value_text
from tokstudio.gui.style.theme import DARK, LIGHT

MERGES = 744


@pytest.fixture
def plot(qtbot, theme):
    host = QWidget()
    qtbot.addWidget(host)
    host.resize(660, 320)
    plot = CurvePlot(theme, host)
    plot.setGeometry(host.rect())
    plot.set_labels("merges", "bytes per token")
    plot.set_curve("run", Curve("this run", "active", *curve(MERGES)))
    plot.set_playhead(312, "merge 312   2.05 bytes per token")
    host.show()
    qtbot.waitExposed(host)
    QApplication.processEvents()
    yield plot
    host.hide()


def curve(merges, height=1.5):
    x = np.arange(merges + 1, dtype=np.float64)
    return x, 1.0 + height * np.sqrt(x / merges)


def axis_range(plot):
    """The visible part of x and of y, in the units of the data."""
    return tuple(
        tuple(10.0**end if logarithmic else end for end in ends)
        for ends, logarithmic in zip(plot.chart.getViewBox().viewRange(), plot.content.log, strict=True)
    )


def place(plot, x, y):
    return plot.chart.place(x, y).toPoint()


def drag(qtbot, plot, start, *stops):
    qtbot.mousePress(plot, Qt.MouseButton.LeftButton, pos=start)
    for stop in stops:
        qtbot.mouseMove(plot, stop)
    qtbot.mouseRelease(plot, Qt.MouseButton.LeftButton, pos=stops[-1])


def turn_wheel(plot, at, turns):
    event = QWheelEvent(
        QPointF(at),
        QPointF(plot.mapToGlobal(at)),
        QPoint(),
        QPoint(0, 120 * turns),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(plot, event)


def heard(signal):
    values = []
    signal.connect(values.append)
    return values


def numbers(axis):
    """The rectangles of the numbers that an axis draws."""
    image = QImage(8, 8, QImage.Format.Format_RGB32)
    with QPainter(image) as painter:
        _, _, texts = axis.generateDrawSpecs(painter)
    return [rect for rect, _, _ in texts]


# The playhead


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("text_size", [13, 24, 40])
def test_no_number_of_an_axis_overlaps_another_with_any_text_size(plot, theme, log, text_size):
    theme.set_text_size(text_size)
    plot.set_log(log, log)
    for merges, height in ((744, 1.5), (31_744, 3), (7, 0.2), (199_744, 2e6)):
        x, y = curve(merges, height)
        plot.set_curve("run", Curve("this run", "active", x + 256, y))
        for size in ((660, 320), (330, 130), (500, 90)):
            plot.resize(*size)
            QApplication.processEvents()
            for name in ("left", "bottom"):
                places = numbers(plot.chart.getAxis(name))
                assert not [pair for pair in combinations(places, 2) if pair[0].intersects(pair[1])], (merges, size)
            assert places, "the numbers of merges"


def test_the_numbers_of_the_axis_are_there_again_after_the_plot_was_small(qtbot, plot):
    x = np.arange(MERGES + 1, dtype=np.float64)
    plot.set_curve("run", Curve("this run", "active", x, 2 * np.exp(-x / 20)))
    QApplication.processEvents()
    wanted = plot.chart.getAxis("left").fixedWidth
    plot.resize(300, 120)
    QApplication.processEvents()
    assert plot.chart.getAxis("left").fixedWidth != wanted
    plot.resize(660, 320)
    QApplication.processEvents()
    assert plot.chart.getAxis("left").fixedWidth == wanted


def test_the_playhead_is_moved_by_dragging_clicks_and_keys_and_by_nothing_else(qtbot, plot):
    moves = heard(plot.playheadMoved)

    def last() -> list[float]:
        """The moves since it was called before."""
        made = moves.copy()
        moves.clear()
        return made

    drag(qtbot, plot, place(plot, 312, 1.2), place(plot, 400, 1.2), place(plot, 500, 1.2), place(plot, 600, 1.2))
    assert [round(value, -1) for value in last()] == [400, 500, 600]
    drag(qtbot, plot, place(plot, 312, 1.2), QPoint(-50, 100), QPoint(plot.width() + 50, 100))
    assert last() == [0, MERGES]
    qtbot.mouseClick(plot, Qt.MouseButton.LeftButton, pos=place(plot, 600, 1.1))
    assert last() == [pytest.approx(600, abs=2)]
    for key in ("Left", "Right", "PageUp", "PageDown"):
        plot.set_playhead(312, "merge 312")
        qtbot.keyClick(plot, Qt.Key[f"Key_{key}"])
    assert last() == [311, 313, 349, 275]
    qtbot.mouseClick(plot, Qt.MouseButton.RightButton, pos=place(plot, 600, 1.1))
    qtbot.keyClick(plot, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    qtbot.keyClick(plot, Qt.Key.Key_Home)
    qtbot.keyClick(plot, Qt.Key.Key_End)
    plot.set_playhead(10, "merge 10")
    assert plot.accessibleDescription() == "merge 10"
    plot.remove_curve("run")
    plot.set_playhead(None, "")
    qtbot.keyClick(plot, Qt.Key.Key_Right)
    qtbot.mouseClick(plot, Qt.MouseButton.LeftButton, pos=QPoint(300, 100))
    assert last() == []


# Curves


def test_a_double_click_on_another_curve_asks_for_it_and_leaves_the_playhead(qtbot, plot):
    plot.set_curve(("run", 2), Curve("Run 2", "other", *curve(500, 0.8)))
    chosen, clicked = heard(plot.curveDoubleClicked), heard(plot.playheadMoved)
    at = place(plot, 250, 1 + 0.8 * np.sqrt(0.5))
    qtbot.mouseClick(plot, Qt.MouseButton.LeftButton, pos=at)
    assert chosen == [], "one click moves the playhead, whatever else is drawn there"
    assert clicked == [pytest.approx(250, abs=2)]
    qtbot.mouseDClick(plot, Qt.MouseButton.LeftButton, pos=at)
    assert chosen == [("run", 2)]
    assert clicked[1:] == [312]


def test_twelve_curves_are_told_apart_and_keep_their_colours_when_active(theme, plot):
    for number in range(12):
        plot.set_curve(number, Curve(f"Run {number}", "other", *curve(500, 0.8), number))
    pens = [plot.chart.drawn[number].opts["pen"] for number in range(12)]
    assert len({(pen.color().name(), tuple(pen.dashPattern())) for pen in pens}) == 12
    for number in range(12):
        for role in ("other", "active", "other held-out", "active held-out"):
            plot.set_curve((number, role), Curve(f"Run {number}", role, *curve(500, 0.8), number))
        roles = ("other", "active", "other held-out", "active held-out")
        drawn = [plot.chart.drawn[number, role] for role in roles]
        pens = [one.opts["pen"] for one in drawn]
        assert len({pen.color().name() for pen in pens}) == 1
        assert pens[1].widthF() > pens[0].widthF()
        assert drawn[1].ground.brush().color().name() == pens[0].color().name()


def test_the_axes_follow_growing_flat_and_removed_curves_from_the_first_point(qtbot, plot):
    plot.set_curve("other", Curve("Run 2", "other", *curve(5_000, 9.0)))
    assert axis_range(plot)[0][1] > 5_000
    plot.remove_curve("other")
    plot.remove_curve("never there")
    assert axis_range(plot)[0][1] == pytest.approx(MERGES, rel=0.02)
    x, y = curve(30_000)
    for end in (1_000, 10_000, 30_001):
        plot.set_curve("run", Curve("this run", "active", x[:end], y[:end]))
        (low, high), (floor, top) = axis_range(plot)
        assert low <= 0
        assert high == pytest.approx(end - 1, rel=0.02)
        assert floor < 1.0
        assert y[end - 1] < top < y[end - 1] * 1.2
    plot.set_curve("run", Curve("this run", "active", np.arange(5.0), np.full(5, 7.0)))
    floor, top = axis_range(plot)[1]
    assert floor < 7.0 < top
    x, y = curve(10)
    for length in (0, 1, 2):
        plot.set_curve("run", Curve("this run", "active", x[:length], y[:length]))
        plot.set_playhead(0, "merge 0")
        assert not plot.grab().isNull()


def test_logarithmic_axes_leave_out_what_has_no_logarithm_and_keep_the_first_merges(plot):
    plot.set_log(True, True)
    (low, high), (floor, top) = axis_range(plot)
    assert 0.9 < low <= 1.0
    assert high == pytest.approx(MERGES, rel=0.1)
    assert 0 < floor < 1.1
    assert top > 2.4
    plot.set_playhead(0, "merge 0")
    assert not plot.grab().isNull()
    plot.set_curve("run", Curve("this run", "active", *curve(100_000)))
    plot.set_log(True, True)
    item = plot.chart.drawn["run"]
    drawn = set(np.round(10 ** (item.getData()[0] + item.pos().x()), 3))
    assert len(drawn) <= 4_000
    assert drawn >= set(map(float, range(1, 101)))


# Looking closer


def test_the_wheel_zooms_around_the_pointer_and_y_fits_what_is_left(plot):
    before = axis_range(plot)
    at = place(plot, 600, 2.0)
    turn_wheel(plot, at, 3)
    (low, high), (floor, _) = axis_range(plot)
    assert high - low < (before[0][1] - before[0][0]) * 0.6
    assert low < 600 < high
    assert place(plot, 600, 2.0).x() == pytest.approx(at.x(), abs=2)
    assert floor > before[1][0]


@pytest.mark.parametrize("how", ["A", "double click", "wheel"])
def test_everything_can_be_shown_again(qtbot, plot, how):
    before = axis_range(plot)
    turn_wheel(plot, place(plot, 600, 2.0), 3)
    assert axis_range(plot) != before
    if how == "A":
        qtbot.keyClick(plot, Qt.Key.Key_A)
    elif how == "wheel":
        turn_wheel(plot, place(plot, 600, 2.0), -20)
    else:
        qtbot.mouseDClick(plot, Qt.MouseButton.LeftButton, pos=place(plot, 600, 2.0))
    assert axis_range(plot) == before


def test_a_double_click_leaves_the_playhead_where_it_was(qtbot, plot):
    turn_wheel(plot, place(plot, 600, 2.0), 3)
    clicked = heard(plot.playheadMoved)
    at = place(plot, 650, 2.0)
    qtbot.mouseClick(plot, Qt.MouseButton.LeftButton, pos=at)
    qtbot.mouseDClick(plot, Qt.MouseButton.LeftButton, pos=at)
    assert clicked == [pytest.approx(650, abs=2), 312]


def test_a_zoomed_plot_is_dragged_along_and_stays_within_the_curve(qtbot, plot):
    turn_wheel(plot, place(plot, 600, 2.0), 5)
    low = axis_range(plot)[0][0]
    drag(qtbot, plot, QPoint(300, 60), QPoint(340, 60), QPoint(400, 60))
    assert axis_range(plot)[0][0] < low
    drag(qtbot, plot, QPoint(500, 60), QPoint(-9_000, 60))
    assert axis_range(plot)[0][1] == pytest.approx(MERGES)


def test_pointing_reads_values_and_leaving_hides_them(qtbot, plot):
    plain = plot.grab().toImage()
    qtbot.mouseMove(plot, place(plot, 600, 1.5))
    qtbot.waitUntil(lambda: plot.grab().toImage() != plain)
    QApplication.sendEvent(plot, QEvent(QEvent.Type.Leave))
    assert plot.grab().toImage() == plain


@pytest.fixture
def written(monkeypatch):
    """The labels of the last picture: text and box."""
    labels = []
    frame, write, draw_over = QPainter.drawRoundedRect, QPainter.drawText, CurvePlot.draw_over

    def picture(plot, painter):
        labels.clear()
        draw_over(plot, painter)

    def box(painter, rectangle, *radii):
        labels.append(("", rectangle))
        frame(painter, rectangle, *radii)

    def text(painter, *arguments):
        if labels and not labels[-1][0]:
            labels[-1] = arguments[-1], labels[-1][1]
        write(painter, *arguments)

    monkeypatch.setattr(CurvePlot, "draw_over", picture)
    monkeypatch.setattr(QPainter, "drawRoundedRect", box)
    monkeypatch.setattr(QPainter, "drawText", text)
    return labels


def test_pointing_at_the_playhead_repeats_nothing(qtbot, plot, written):
    qtbot.mouseMove(plot, place(plot, 312, 1.5))
    plot.grab()
    assert [text for text, _ in written] == ["merge 312   2.05 bytes per token"]


@pytest.mark.parametrize("merge", [0, 330, MERGES])
@pytest.mark.parametrize("width", [170, 300, 660])
def test_labels_stand_inside_the_plot_and_never_over_each_other(qtbot, plot, written, merge, width):
    plot.resize(width, 200)
    name = "A run with a name as long as nobody would ever read it"
    plot.set_curve("other", Curve(name, "other", *curve(MERGES, 1.4)))
    plot.grab()
    for height in (1.1, 2.0, 2.4):
        qtbot.mouseMove(plot, place(plot, merge, height))
        plot.grab()
        boxes = [box for _, box in written]
        assert boxes or width == 170, "without a free place nothing is written"
        assert all(plot.chart.area.adjusted(-1, -1, 1, 1).contains(box) for box in boxes)
        assert len(boxes) < 2 or not boxes[0].intersects(boxes[1])


@pytest.mark.parametrize(("width", "height"), [(400, 190), (660, 320)])
@pytest.mark.parametrize("merge", [10, 200, 430, MERGES])
def test_the_label_at_the_playhead_covers_no_curve_and_not_the_playhead(plot, written, merge, width, height):
    plot.resize(width, height)
    x, y = curve(MERGES)
    plot.set_curve("held-out", Curve("held-out", "active held-out", x, y * 0.93))
    plot.set_playhead(merge, "merge 1,000   2.77 bytes per token · held-out 2.62")
    plot.grab()
    [(text, box)] = written
    assert "2.77" in text
    for one in plot.content.curves.values():
        places = (plot.chart.place(*point) for point in zip(one.x, one.y, strict=True))
        assert not any(box.contains(point) for point in places)
    line = plot.chart.place(merge, 1.0).x()
    assert not box.left() <= line <= box.right()
    assert plot.chart.area.contains(box)


def test_where_no_place_is_free_the_label_is_left_out(plot, written):
    plot.resize(170, 120)
    plot.set_curve("noise", Curve("noise", "other", np.arange(MERGES + 1.0), np.tile([1.0, 2.5], MERGES)[: MERGES + 1]))
    plot.grab()
    assert not written


# Themes and pictures


def pixel(image, at):
    return image.pixelColor(at).name().upper()


def colours_of(image, colour):
    pixels = np.frombuffer(image.convertToFormat(QImage.Format.Format_RGB32).constBits(), np.uint32)
    return int(np.count_nonzero(pixels & 0xFFFFFF == QColor(colour).rgb() & 0xFFFFFF))


def test_a_picture_has_its_size_and_depends_on_what_is_shown_alone(plot, theme):
    before, windows = plot.grab().toImage(), len(QApplication.topLevelWidgets())
    image = plot.to_image(300, 200, 2.0)
    assert (image.width(), image.height()) == (600, 400)
    assert pixel(image, QPoint(1, 1)) == LIGHT.surface
    assert colours_of(image, LIGHT.accent) > 200
    assert plot.grab().toImage() == before
    assert len(QApplication.topLevelWidgets()) == windows
    turn_wheel(plot, place(plot, 600, 2.0), 3)
    image = plot.to_image(300, 200)
    plot.resize(400, 150)
    assert plot.to_image(300, 200) == image
    plot.reset_zoom()
    assert plot.to_image(300, 200) != image


def test_a_drawing_has_labels_and_the_names_of_its_curves_where_there_is_room(plot):
    assert ">1.0<" in plot.to_svg(600, 200).decode()
    for number in range(12):
        plot.set_curve(number, Curve(f"Run {number}", "other", *curve(500, 0.8), number))
    texts = re.findall(r'<text [^>]*? x="([^"]*)"[^>]*>([^<]*)</text>', plot.to_svg(800, 400).decode())
    names = [float(x) for x, text in texts if text.startswith("Run ")]
    assert len(names) == 12
    assert max(float(x) for x, text in texts if text[:1].isdigit()) < min(names)
    assert max(names) < 800
    drawing = plot.to_svg(800, 160).decode()
    assert "Run 1<" in drawing
    assert "Run 11<" not in drawing
    assert " more<" in drawing
    plot.set_curve("other", Curve("Run <2> & more", "other", *curve(500, 0.8)))
    drawing = plot.to_svg(800, 400)
    renderer = QSvgRenderer(QByteArray(drawing))
    assert renderer.isValid()
    assert (renderer.viewBox().width(), renderer.viewBox().height()) == (800, 400)
    text = drawing.decode()
    for word in ("merges", "bytes per token", "merge 312"):
        assert word in text
    families = set(re.findall(r'font-family="([^"]*)"', drawing.decode()))
    assert families
    assert all(family.endswith(",sans-serif") for family in families), "a viewer without the font takes a like one"


def test_a_fault_while_drawing_reaches_the_hook_and_not_qt(qtbot, plot, monkeypatch):
    def broken(*_):
        raise ValueError("no such colour")

    # Not while what follows is painted: one picture may well ask for another.
    with qtbot.captureExceptions() as faults, monkeypatch.context() as patch:
        patch.setattr(plot, "draw_over", broken)
        plot.grab()
    assert faults
    assert all(kind is ValueError for kind, *_ in faults)


def test_moving_the_playhead_leaves_axes_and_curves_as_they_were_drawn(plot, monkeypatch):
    drawn = []
    draw = Chart.draw
    before = plot.grab().toImage()
    monkeypatch.setattr(Chart, "draw", lambda chart, painter: (drawn.append(1), draw(chart, painter)))
    for place in (100.0, 200.0):
        plot.set_playhead(place, f"merge {place:.0f}")
        after = plot.grab().toImage()
        assert after != before
    assert not drawn
    plot.set_curve("run", Curve("this run", "active", *curve(MERGES, 0.5)))
    assert plot.grab().toImage() != after
    assert drawn


def test_it_has_a_name_and_follows_the_theme_also_while_closed(plot, theme):
    assert plot.accessibleName()
    assert plot.accessibleDescription() == "merge 312   2.05 bytes per token"
    assert plot.focusPolicy() & Qt.FocusPolicy.TabFocus
    corner = QPoint(2, 2)
    assert pixel(plot.grab().toImage(), corner) == LIGHT.surface
    theme.set_mode("dark")
    image = plot.grab().toImage()
    assert pixel(image, corner) == DARK.surface
    assert colours_of(image, DARK.accent) > 200
    assert colours_of(image, LIGHT.accent) == 0
    plot.close()
    theme.set_mode("dark")
    plot.set_curve("run", Curve("this run", "active", *curve(10)))
    plot.show()
    assert pixel(plot.grab().toImage(), QPoint(2, 2)) == DARK.surface


# Scales


def test_ticks_and_values_are_tidy():
    assert tick_values(0.0, 744.0, 8) == [0, 100, 200, 300, 400, 500, 600, 700]
    assert tick_values(4.1, 7.9, 1.5) == [5, 6, 7]  # not 5 alone
    assert tick_texts(tick_values(0.9, 2.6, 4)) == ["1.0", "1.5", "2.0", "2.5"]
    assert tick_texts(tick_values(1.5, 8.5, 4, whole=True), whole=True) == ["2", "4", "6", "8"]
    assert tick_values(0.2, 2.4, 8, whole=True) == [1, 2]
    assert tick_texts(tick_values(0, 32_000, 4)) == ["0", "10,000", "20,000", "30,000"]
    assert [round(10**place) for place in tick_values(0.0, 4.5, 6, log=True)] == [1, 10, 100, 1_000, 10_000]
    assert tick_values(1.0, 1.0, 5) == tick_values(0.0, float("nan"), 5) == []
    assert value_text(25_000.0, whole=True) == "25,000"
    assert value_text(2.0469, whole=False) == "2.05"
    assert value_text(381.0, whole=True) == "381"
    assert np.isnan(to_axis(np.array([0.0, -1.0]), log=True)).all()
    assert to_axis(np.array([100.0]), log=True) == [2.0]


@example(-4e8, 8e8, 1)
@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9), st.integers(1, 20))
def test_ticks_stand_inside_and_are_never_too_many(low, span, count):
    high = low + span
    slack = span * 1e-6 + abs(low) * 1e-12
    places = tick_values(low, high, count)
    assert all(low - slack <= place <= high + slack for place in places)
    # A step with one tick is longer than half the span, and the next one at least 0.4 times as long.
    assert len(places) <= max(count + 1, 5)
    assert len(tick_texts(places)) == len(places)


@given(st.floats(-3, 9), st.floats(0.01, 12), st.integers(1, 20))
def test_logarithmic_ticks_are_tidy_values_inside(low, span, count):
    places = tick_values(low, low + span, count, log=True)
    assert all(low - 1e-6 <= place <= low + span + 1e-6 for place in places)
    assert len(places) <= max(count, 1) + 3
    assert all(float(f"{10**place:.3g}") == pytest.approx(10**place) for place in places if span >= 1)


def test_what_a_curve_covers_is_told_between_its_points_too():
    x, y = np.array([0.0, 10.0, 20.0]), np.array([0.0, 100.0, 50.0])
    for low, high, expected in ((2, 4, (20, 40)), (8, 12, (80, 100)), (18, 30, (50, 60)), (-5, 1, (0, 10))):
        assert range_between(x, y, low, high) == expected
    assert range_between(x, y, 21, 30) is range_between(x, y, -3, -1) is range_between(x[:0], y[:0], 0, 1) is None


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400), st.integers(1, 20), st.booleans())
def test_a_decimated_curve_keeps_its_ends_and_every_peak(heights, columns, log):
    y = np.array(heights)
    x = to_axis(np.arange(1.0, len(y) + 1), log)
    kept = decimate(x, y, columns)
    assert kept[0] == 0
    assert kept[-1] == len(y) - 1
    assert (np.diff(kept) > 0).all()
    assert len(kept) <= 4 * columns
    assert y[kept].min() == y.min()
    assert y[kept].max() == y.max()


@pytest.mark.parametrize("low", [False, True])
def test_every_mark_has_its_name_and_all_stand_alike(theme, low):
    image = QImage(300, 200, QImage.Format.Format_RGB32)
    points = [QPointF(60, 60), QPointF(150, 100), QPointF(152, 97), QPointF(299, 95)]
    points = [point + QPointF(0, 95) for point in points] if low else points
    with QPainter(image) as painter:
        labels = PlotLabels(painter, QRectF(0, 0, 300, 200), theme.palette, lambda left, right: [])
        written = []
        labels._write = lambda box, text, colour: written.append((box, text))
        labels.name([(point, f"{place} %") for place, point in enumerate(points)])
    assert [text for _, text in written] == [f"{place} %" for place in range(4)]
    boxes = [box for box, _ in written]
    assert not any(one.intersects(other) for one, other in combinations(boxes, 2))
    # Below their points, or all above where one of them has no room below.
    assert all(
        (box.bottom() <= point.y()) if low else (box.top() >= point.y())
        for box, point in zip(boxes, points, strict=True)
    )
    assert all(QRectF(0, 0, 300, 200).contains(box) for box in boxes)


@pytest.mark.parametrize(("drop", "named"), [(20, ["90 %", "99 %"]), (120, ["99 %"])])
def test_a_name_that_a_steep_curve_moves_far_below_its_point_is_left_out(theme, drop, named):
    """It stood beside the curve of another run."""
    image = QImage(400, 300, QImage.Format.Format_RGB32)
    with QPainter(image) as painter:
        curve = [(0, 80, 40, 60 + drop), (80, 400, 40, 40)]

        def between(left, right):
            return [(top, low) for start, end, top, low in curve if start < right and end > left]

        labels = PlotLabels(painter, QRectF(0, 0, 400, 300), theme.palette, between)
        written = []
        labels._write = lambda box, text, colour: written.append(text)
        labels.name([(QPointF(60, 50), "90 %"), (QPointF(300, 40), "99 %")])
    assert written == named


@pytest.mark.parametrize("width", [300, 70])
@pytest.mark.parametrize(("apart", "named"), [(0.1, 1), (20, 3)])
def test_names_of_points_at_the_left_edge_stand_in_the_plot_beside_their_points_or_are_left_out(
    theme, width, apart, named
):
    """They were written across the numbers of the axis."""
    image = QImage(400, 200, QImage.Format.Format_RGB32)
    area = QRectF(40, 0, width, 200)
    with QPainter(image) as painter:
        labels = PlotLabels(painter, area, theme.palette, lambda left, right: [])
        written, points = [], ((apart, "90 %"), (2 * apart, "95 %"), (4 * apart, "99 %"))
        labels._write = lambda box, text, colour: written.append((box, text))
        labels.name([(QPointF(40 + x, 100), text) for x, text in points])
    assert [text for _, text in written] == ["90 %", "95 %", "99 %"][: named if width == 300 else 1]
    places = {text: 40 + x for x, text in points}
    assert all(abs(box.center().x() - places[text]) <= box.width() for box, text in written)
    assert all(area.adjusted(-1, 0, 1, 0).contains(box) for box, _ in written)
    assert not any(one.intersects(other) for (one, _), (other, _) in combinations(written, 2))


def test_names_of_points_on_a_steep_curve_stand_below_it(theme):
    """In a narrow plot, the names were written across the curve."""
    image = QImage(300, 300, QImage.Format.Format_RGB32)
    with QPainter(image) as painter:
        labels = PlotLabels(
            painter, QRectF(0, 0, 300, 300), theme.palette, lambda left, right: [(300 - right, 300 - left)]
        )
        written = []
        labels._write = lambda box, text, colour: written.append(box)
        labels.name([(QPointF(x, 300 - x), f"{x} %") for x in (150, 220, 250)])
    assert all(box.top() >= 300 - box.left() for box in written)
    assert not any(one.intersects(other) for one, other in combinations(written, 2))
