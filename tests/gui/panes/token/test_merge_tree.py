"""The tree of a token's merges: the layout, and the effects of pointer and keys."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import itertools
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QByteArray, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QWidget

from tokstudio.gui.panes.token.merge_tree import MergeTree, TreeNode
from tokstudio.gui.panes.token.tree_drawing import lay_out
from tokstudio.gui.style.theme import DARK, LIGHT


def leaf(text):
    return TreeNode(ord(text), text)


def pair(id, left, right):
    return TreeNode(id, left.label + right.label, left, right)


def sample():
    an, d = pair(280, leaf("a"), leaf("n")), pair(264, leaf("d"), leaf("·"))
    return pair(503, pair(265, leaf(","), leaf("·")), pair(300, an, d))


def chain(length):
    node = TreeNode(1, "z")
    for index in range(length):
        node = TreeNode(2 + index, "zz", node, TreeNode(1, "z"))
    return node


@pytest.fixture
def tree(qtbot, theme):
    host = QWidget()
    qtbot.addWidget(host)
    host.resize(420, 240)
    tree = MergeTree(theme, host)
    tree.setGeometry(host.rect())
    tree.set_tree(sample())
    host.show()
    qtbot.waitExposed(host)
    yield tree
    host.hide()


@pytest.fixture
def clicks(tree):
    ids = []
    tree.nodeClicked.connect(ids.append)
    return ids


def middle(tree, index):
    return tree.place_of(index).center().toPoint()


# Layout

trees = st.recursive(
    st.builds(TreeNode, st.integers(0, 255), st.text(min_size=1, max_size=6), truncated=st.booleans()),
    lambda part: st.builds(TreeNode, st.integers(256, 999), st.text(max_size=30), part, part),
    max_leaves=40,
)


@settings(max_examples=40)
@given(trees, st.sampled_from([4.0, 10.0, 26.0]))
def test_no_two_boxes_overlap_and_parents_stand_above_their_parts(root, gap):
    boxes = lay_out(root, lambda label: 14.0 + 8.0 * len(label), gap)
    assert min(box.x - box.width / 2 for box in boxes) >= -1e-9
    for left, right in itertools.pairwise(boxes):
        assert (left.row, left.x) < (right.row, right.x)
        if left.row == right.row:
            assert right.x - right.width / 2 - (left.x + left.width / 2) >= gap - 1e-6
    for index, box in enumerate(boxes):
        parts = [boxes[child] for child in box.children]
        assert all(part.row == box.row + 1 and part.parent == index for part in parts)
        if parts:
            assert box.x == pytest.approx(sum(part.x for part in parts) / len(parts))


def test_even_long_shared_and_truncated_trees_are_laid_out():
    eight = [leaf(letter) for letter in "abcdefgh"]
    while len(eight) > 1:
        eight = [pair(256, left, right) for left, right in zip(eight[::2], eight[1::2], strict=True)]
    places = [box.x for box in lay_out(eight[0], lambda label: 14.0 + 8.0 * len(label)) if box.kind == "leaf"]
    gaps = {round(right - left, 6) for left, right in itertools.pairwise(places)}
    assert len(places) == 8
    assert len(gaps) == 1
    boxes = lay_out(chain(5_000), lambda label: 20.0)
    assert len(boxes) == 10_001
    assert boxes[-1].row == 5_000
    node = leaf("a")
    for index in range(60):
        node = TreeNode(256 + index, "a" * 8, node, node)
    boxes = lay_out(node, lambda label: 20.0)
    assert len(boxes) < 100_000
    assert any(box.kind == "more" for box in boxes)
    boxes = lay_out(pair(900, TreeNode(700, "the·", truncated=True), leaf("e")), lambda label: 20.0)
    assert [(box.label, box.kind, box.id) for box in boxes] == [
        ("the·e", "merge", 900),
        ("the·", "merge", 700),
        ("e", "leaf", 101),
        ("…", "more", 700),
    ]


# A person


def test_only_a_click_on_a_box_emits_its_token(qtbot, tree, clicks):
    qtbot.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(3, 3))
    assert clicks == []
    qtbot.mousePress(tree.viewport(), Qt.MouseButton.LeftButton, pos=middle(tree, 2))
    qtbot.mouseRelease(tree.viewport(), Qt.MouseButton.LeftButton, pos=middle(tree, 1))
    assert clicks == []
    qtbot.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=middle(tree, 2))
    assert clicks == [300]


def test_a_box_that_is_pointed_at_is_outlined_until_the_pointer_leaves_it(qtbot, tree):
    qtbot.mouseMove(tree.viewport(), QPoint(2, 2))
    plain = tree.viewport().grab().toImage()
    qtbot.mouseMove(tree.viewport(), middle(tree, 1))
    edge = tree.place_of(1)
    at = QPoint(round(edge.center().x()), round(edge.top()))
    pointed = tree.viewport().grab().toImage()
    accent, before = QColor(LIGHT.accent), plain.pixelColor(at)
    assert _distance(pointed.pixelColor(at), accent) < _distance(before, accent)
    qtbot.mouseMove(tree.viewport(), QPoint(2, 2))
    assert tree.viewport().grab().toImage() == plain


def _distance(one, other):
    return sum(abs(a - b) for a, b in zip(one.getRgb(), other.getRgb(), strict=True))


def test_arrow_keys_move_between_boxes_that_are_announced_and_enter_is_a_click(qtbot, tree, clicks):
    assert tree.accessibleName() == "Merge tree"
    assert tree.accessibleDescription() == ",·and·, id 503, merged from ,· and and·"
    keys = (Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Up)
    for key, token in zip(keys, (265, 300, 280, 264, 300, 503), strict=True):
        qtbot.keyClick(tree, key)
        assert f", id {token}" in tree.accessibleDescription()
    qtbot.keyClick(tree, Qt.Key.Key_Up)
    qtbot.keyClick(tree, Qt.Key.Key_Return)
    assert clicks == [503]
    qtbot.keyClick(tree, Qt.Key.Key_Down)
    assert tree.accessibleDescription().startswith(",·, id 265")


def test_the_view_follows_keys_dragging_and_the_wheel(qtbot, tree):
    tree.set_tree(chain(200))
    for _ in range(60):
        qtbot.keyClick(tree, Qt.Key.Key_Down)
    place = tree.place_of(119)
    assert tree.viewport().rect().contains(place.center().toPoint())
    tree.set_tree(chain(100))
    before = tree.place_of(0)
    empty = QPoint(5, tree.viewport().height() - 5)
    qtbot.mousePress(tree.viewport(), Qt.MouseButton.LeftButton, pos=empty)
    qtbot.mouseMove(tree.viewport(), empty - QPoint(0, 60))
    qtbot.mouseRelease(tree.viewport(), Qt.MouseButton.LeftButton, pos=empty - QPoint(0, 60))
    assert before.top() - tree.place_of(0).top() == pytest.approx(60)
    tree.set_tree(even(5))
    at = tree.place_of(0).center()
    before = tree.place_of(0)
    none = Qt.ScrollPhase.NoScrollPhase
    event = QWheelEvent(
        QPointF(at),
        tree.viewport().mapToGlobal(at),
        QPoint(),
        QPoint(0, 240),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.ControlModifier,
        none,
        False,
    )
    QApplication.sendEvent(tree.viewport(), event)
    after = tree.place_of(0)
    assert after.height() == pytest.approx(before.height() * 1.44)
    assert after.center().x() == pytest.approx(at.x(), abs=2)


def test_a_tree_shrinks_to_the_width_then_scrolls_and_may_be_empty(tree, qtbot, clicks):
    full = tree.place_of(0).height()
    tree.set_tree(even(5))
    assert tree.place_of(0).height() < full
    assert tree.horizontalScrollBar().maximum() > 0
    assert tree.viewport().rect().contains(middle(tree, 0))
    tree.set_tree(sample())
    assert tree.place_of(0).height() == full
    assert tree.horizontalScrollBar().maximum() == 0
    tree.set_tree(None)
    qtbot.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(200, 20))
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Plus):
        qtbot.keyClick(tree, key)
    assert clicks == []
    assert not tree.grab().isNull()


def even(depth):
    node = leaf("a")
    for index in range(depth):
        node = pair(256 + index, node, node)
    return node


# Looks


def test_colours_follow_the_theme_while_it_runs(tree, theme):
    inside = tree.place_of(0).topLeft().toPoint() + QPoint(6, 3)
    for mode, palette in (("light", LIGHT), ("dark", DARK)):
        theme.set_mode(mode)
        image = tree.grab().toImage()
        assert image.pixelColor(1, 1).name().upper() == palette.surface
        assert image.pixelColor(inside).name().upper() == palette.accent_soft


def test_the_svg_holds_the_whole_tree_with_its_text_in_the_boxes(tree):
    tree.set_tree(even(6))
    drawing = tree.to_svg()
    renderer = QSvgRenderer(QByteArray(drawing))
    assert renderer.isValid()
    assert renderer.defaultSize().width() > tree.width()
    assert drawing.decode().count(">a<") == 64
    tree.set_tree(pair(300, leaf("<"), pair(299, leaf("é"), leaf("&"))))
    drawing = ElementTree.fromstring(tree.to_svg())
    fonts = {part.get("font-family") for part in drawing.iter() if part.get("font-family")}
    assert {family.rpartition(",")[2] for family in fonts} == {"monospace"}
    texts = list(drawing.iter("{http://www.w3.org/2000/svg}text"))
    assert {text.get("text-anchor") for text in texts} == {"middle"}
    middles = {text.text: float(text.get("x")) for text in texts}
    assert middles == {box.label: pytest.approx(box.x, abs=1.0) for box in tree.drawn.boxes}


def test_an_error_while_drawing_goes_to_the_exception_hook(qtbot, tree, monkeypatch):
    def broken(*_):
        raise ValueError("no such colour")

    monkeypatch.setattr(tree.drawn, "draw", broken)
    with qtbot.captureExceptions() as faults:
        tree.grab()
    assert faults
    assert all(kind is ValueError for kind, *_ in faults)


def test_a_tree_is_whole_in_its_room_while_it_stays_readable(tree):
    for height in (240, 150, 120):
        tree.resize(420, height)
        last = max(range(len(tree.drawn.boxes)), key=lambda index: tree.place_of(index).bottom())
        whole = tree.place_of(last).bottom() <= tree.viewport().height()
        assert whole == (tree.verticalScrollBar().maximum() == 0)
        assert whole or 0.6 * tree.drawn.height > height - 16
