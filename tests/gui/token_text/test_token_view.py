"""The token view: pointer, selection, keys, copying, scrolling, and changes of the theme."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QColor, QContextMenuEvent, QFontMetricsF, QGuiApplication
from PySide6.QtWidgets import QApplication, QMainWindow

from tokstudio.gui.style.theme import DARK, LIGHT
from tokstudio.gui.token_text.rows import PADDING
from tokstudio.gui.token_text.token_view import MARGIN, TokenView

LINES = (b"The", b" cat", b" sat", b"\n", b"on", b" the", b" mat", b".", b"\n", b"End")
FAMILY = "👨🏽‍👩🏽‍👧🏽‍👦".encode()
SHARED = 32  # tokens of the family
GLOBE = (b"a", b"\xf0\x9f", b"\x8c", b"\x8d", b"b")


def spans(*tokens: bytes):
    ends = np.cumsum([len(token) for token in tokens], dtype=np.int64)
    return b"".join(tokens), ends, np.arange(500, 500 + len(tokens), dtype=np.uint32)


@pytest.fixture
def view(qtbot, theme) -> TokenView:
    view = TokenView(theme)
    qtbot.addWidget(view)
    view.resize(400, 300)
    view.show()
    return view


def middle(view: TokenView, token: int) -> QPoint:
    return view.token_rectangle(token).center().toPoint()


def click(qtbot, view: TokenView, place: QPoint, modifier=Qt.KeyboardModifier.NoModifier):
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, modifier, place)


def press(qtbot, view: TokenView, *keys: Qt.Key, modifier=Qt.KeyboardModifier.NoModifier):
    for key in keys:
        qtbot.keyClick(view, key, modifier)


def clipboard() -> str:
    return QGuiApplication.clipboard().text()


def test_clicks_drags_and_hovering_find_the_tokens_below_the_pointer(qtbot, view):
    view.set_tokens(*spans(*LINES))
    with qtbot.waitSignal(view.selectionChanged) as heard:
        click(qtbot, view, middle(view, 5))
    assert heard.args == [5, 5]
    assert view.selected_text() == " the"
    view.select(2, 3)
    with qtbot.waitSignal(view.selectionChanged) as heard:
        click(qtbot, view, QPoint(200, 280))
    assert heard.args == [-1, -1]
    click(qtbot, view, middle(view, 6))
    click(qtbot, view, middle(view, 1), Qt.KeyboardModifier.ShiftModifier)
    assert view.selection() == (1, 6)
    qtbot.mousePress(view.viewport(), Qt.MouseButton.LeftButton, pos=middle(view, 0))
    qtbot.mouseMove(view.viewport(), middle(view, 2))
    qtbot.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, pos=middle(view, 2))
    assert view.selection() == (0, 2)
    with qtbot.waitSignal(view.tokenHovered) as heard:
        qtbot.mouseMove(view.viewport(), middle(view, 1))
    assert heard.args == [1]
    with qtbot.waitSignal(view.tokenHovered) as heard:
        qtbot.mouseMove(view.viewport(), QPoint(390, 290))
    assert heard.args == [-1]


def test_keys_move_and_extend_the_selection_over_rows_and_a_screen_reader_hears_it(view, qtbot):
    view.set_tokens(*spans(*LINES))
    tops = [view.token_rectangle(token).top() for token in range(len(LINES))]
    assert [tops.index(top) for top in tops] == [0, 0, 0, 0, 4, 4, 4, 4, 4, 9]
    key = Qt.Key
    seen = []
    view.selectionChanged.connect(lambda first, last: seen.append(first))
    press(qtbot, view, key.Key_Right, key.Key_Right, key.Key_Down, key.Key_Home, key.Key_End, key.Key_Up, key.Key_Left)
    assert seen == [0, 1, 5, 4, 8, 3, 2]
    press(qtbot, view, key.Key_End, modifier=Qt.KeyboardModifier.ControlModifier)
    assert view.selection() == (9, 9)
    press(qtbot, view, key.Key_Home, modifier=Qt.KeyboardModifier.ControlModifier)
    assert view.selection() == (0, 0)
    press(qtbot, view, key.Key_PageDown)
    assert view.selection() == (9, 9)
    press(qtbot, view, key.Key_Escape)
    assert view.selection() is None
    view.select(5, 5)
    press(qtbot, view, Qt.Key.Key_Left, Qt.Key.Key_Left, modifier=Qt.KeyboardModifier.ShiftModifier)
    assert view.selection() == (3, 5)
    press(qtbot, view, *[Qt.Key.Key_Right] * 4, modifier=Qt.KeyboardModifier.ShiftModifier)
    assert view.selection() == (5, 7)
    view.select(-1, -1)
    assert view.accessibleDescription() == "10 tokens."
    view.select(1, 1)
    assert view.accessibleDescription() == "10 tokens. Token 2: ' cat', id 501."


def test_copying_gives_the_exact_text_and_the_ids_of_a_piece_or_of_all(view, qtbot):
    view.set_tokens(*spans(*GLOBE))
    view.copy_ids()
    assert clipboard() == "500 501 502 503 504"
    assert view.token_rectangle(1) == view.token_rectangle(3)
    box = view.token_rectangle(2)
    thirds = [QPoint(round(box.left() + box.width() * share), round(box.center().y())) for share in (0.15, 0.5, 0.85)]
    assert [view.token_at(place) for place in thirds] == [1, 2, 3]
    view.select(1, 3)
    view.copy()
    assert clipboard() == "🌍"
    view.copy_ids()
    assert clipboard() == "501 502 503"
    view.set_tokens(*spans(b"\tx", b"  ", b"=", " 太".encode(), b"\r\n"))
    press(qtbot, view, Qt.Key.Key_A, modifier=Qt.KeyboardModifier.ControlModifier)
    press(qtbot, view, Qt.Key.Key_C, modifier=Qt.KeyboardModifier.ControlModifier)
    assert clipboard() == "\tx  = 太\r\n"


def test_the_view_handles_copy_while_it_has_the_focus(qtbot, theme):
    window = QMainWindow()
    qtbot.addWidget(window)
    view = TokenView(theme)
    window.setCentralWidget(view)
    taken = []
    action = QAction("Copy", window, shortcut="Ctrl+C")
    action.triggered.connect(lambda: taken.append(True))
    window.addAction(action)
    view.set_tokens(*spans(*LINES))
    with qtbot.waitActive(window):
        window.show()
        window.activateWindow()
    view.setFocus()
    view.select(0, 1)
    press(qtbot, view, Qt.Key.Key_C, modifier=Qt.KeyboardModifier.ControlModifier)
    assert clipboard() == "The cat"
    assert not taken


def pixel(view: TokenView, token: int) -> QColor:
    box = view.token_rectangle(token)
    return view.viewport().grab().toImage().pixelColor(round(box.left() + 2), round(box.center().y()))


def test_pieces_have_a_token_colour_an_outline_and_the_size_of_the_theme(view, theme):
    view.set_tokens(*spans(*LINES))
    view.select(1, 1)
    box = view.token_rectangle(1)
    image = view.viewport().grab().toImage()
    assert image.pixelColor(round(box.center().x()), round(box.top() + 1)) == QColor(LIGHT.accent)
    view.select(-1, -1)
    light = [pixel(view, token).name().upper() for token in range(3)]
    assert set(light) <= set(LIGHT.tokens)
    assert light[0] != light[1] != light[2]
    theme.set_mode("dark")
    dark = [pixel(view, token).name().upper() for token in range(3)]
    assert [DARK.tokens.index(colour) for colour in dark] == [LIGHT.tokens.index(colour) for colour in light]
    before = view.token_rectangle(0)
    theme.set_text_size(26)
    after = view.token_rectangle(0)
    assert after.width() > before.width() * 1.5
    assert after.height() > before.height() * 1.5


def image_of(view: TokenView):
    return view.viewport().grab().toImage()


def test_ids_make_room_below_and_marks_of_white_space_can_be_switched_off(view):
    view.set_tokens(*spans(b"a b", b"c"))
    marked = image_of(view)
    view.set_show_white_space(False)
    assert image_of(view) != marked
    view.set_tokens(*spans(b" ", b"\t", b"\n", "\u00a0".encode()))
    plain = image_of(view)
    view.set_show_white_space(True)
    assert image_of(view) == plain
    view.set_tokens(*spans(*LINES))
    without = image_of(view)
    step = view.token_rectangle(4).top() - view.token_rectangle(0).top()
    view.set_show_ids(True)
    assert view.token_rectangle(4).top() - view.token_rectangle(0).top() > step
    assert image_of(view) != without


def family(first_id: int):
    """A family of as many tokens as a piece can have, between two words."""
    pairs = len(FAMILY) - SHARED
    parts = [FAMILY[2 * pair : 2 * pair + 2] for pair in range(pairs)]
    parts += [FAMILY[byte : byte + 1] for byte in range(2 * pairs, len(FAMILY))]
    data, ends, ids = spans(b"a", *parts, b"b" * 90)
    return data, ends, ids - 500 + first_id


@pytest.mark.parametrize("first_id", [1, 99_990])
def test_ids_below_a_piece_are_as_many_as_fit_and_none_is_cut(qtbot, theme, first_id):
    data, ends, ids = family(first_id)
    whole = 0
    for width in range(120, 1001, 40):
        view = TokenView(theme)
        qtbot.addWidget(view)
        view.resize(width, 300)
        view.set_show_ids(True)
        view.set_tokens(data, ends, ids)
        view.show()
        measured = QFontMetricsF(theme.monospace_font(10)).horizontalAdvance
        room = view.width() - view.verticalScrollBar().sizeHint().width() - 2 * MARGIN
        boxes = [box for row in range(len(view.rows)) for box in view.rows.boxes(row)]
        assert max(box.x + box.width for box in boxes) <= room + 0.1
        shared = [box for box in boxes if box.tokens > 1]
        assert [box.tokens for box in shared] == [SHARED], "the emoji is drawn once"
        for box in boxes:
            if box.begin:
                continue
            text = view.rows.id_text(box)
            assert measured(text) <= box.width
            told = text.split()
            more = int(told.pop()) if told[-1].startswith("+") else 0
            assert told == [str(token) for token in ids[box.first : box.first + len(told)]]
            assert len(told) + more == box.tokens
            whole += box.tokens == SHARED and not more
            if more:
                following = " ".join([*told, str(ids[box.first + len(told)]), f"+{more - 1}" * (more > 1)]).strip()
                assert measured(following) > room - 2 * PADDING, "one more would have fitted"
        view.select(0, 0)  # else the view's own outline is drawn, at its edges
        image = image_of(view)
        for column in [*range(MARGIN), *range(image.width() - MARGIN, image.width())]:
            assert all(image.pixelColor(column, y) == QColor(LIGHT.surface) for y in range(0, image.height(), 2))
    assert whole > 0 or first_id > 1000, "all of them where they fit"


def test_broken_bytes_and_every_script_can_be_painted(view):
    text = "Ω Привет नमस्ते שלום مرحبا สวัสดี 太阳 🇩🇪 \u0301\u2028\u00a0".encode()
    tokens = [text[start : start + 5] for start in range(0, len(text), 5)]
    view.set_tokens(*spans(*tokens, b"\xff\xfe", b"\x00", b"", b"\xe2\x80"))
    view.set_show_ids(True)
    blank = image_of(view)
    view.clear()
    assert image_of(view) != blank


def big() -> tuple[bytes, np.ndarray, np.ndarray]:
    data = (b"It was a dark and stormy night; the rain fell in torrents,\nexcept at occasional intervals. " * 12_000)[
        :1_000_000
    ]
    ends = np.append(np.arange(4, len(data), 4), len(data))
    return data, ends, (np.arange(len(ends)) * 31 % 5000).astype(np.uint32)


def test_a_megabyte_can_be_reached_and_its_place_stays_with_other_tokens_and_widths(qtbot, view):
    view.set_tokens(*big())
    bar = view.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 12_000 * 20)
    data, ends, ids = big()
    view.set_tokens(data, ends, ids)
    press(qtbot, view, Qt.Key.Key_End, modifier=Qt.KeyboardModifier.ControlModifier)
    assert view.selection() == (len(ids) - 1, len(ids) - 1)
    assert view.viewport().rect().contains(middle(view, len(ids) - 1))
    assert view.selected_text() == data[-4:].decode()
    press(qtbot, view, Qt.Key.Key_Home, modifier=Qt.KeyboardModifier.ControlModifier)
    assert view.verticalScrollBar().value() == 0
    data, ends, ids = big()
    view.set_tokens(data, ends, ids)
    view.select(5000, 5000)
    view.verticalScrollBar().setValue(round(view.verticalScrollBar().value() + view.token_rectangle(5000).top()))
    fine = np.arange(1, len(data) + 1)
    view.set_tokens(data, fine, np.zeros(len(data), dtype=np.uint32))
    assert abs(view.token_rectangle(20_000).top()) < view.viewport().height() / 2
    view.set_tokens(data[1:], fine[:-1], np.zeros(len(data) - 1, dtype=np.uint32))
    assert view.verticalScrollBar().value() == 0
    view.set_tokens(*big())
    view.select(9000, 9000)
    view.verticalScrollBar().setValue(round(view.verticalScrollBar().value() + view.token_rectangle(9000).top()))
    for width in (350, 300, 250, 200):
        view.resize(width, 300)
    assert abs(view.token_rectangle(9000).top()) < view.viewport().height() / 2


def test_an_empty_view_has_a_placeholder_rows_are_as_wide_as_it_and_new_tokens_select_nothing(qtbot, view):
    empty = image_of(view)
    view.set_placeholder("Type a text to see its tokens.")
    assert image_of(view) != empty
    assert view.accessibleDescription() == "Type a text to see its tokens."
    press(qtbot, view, Qt.Key.Key_Right, Qt.Key.Key_PageDown)
    assert view.selection() is None
    view.set_tokens(*spans(*[b" word"] * 400))
    boxes = [view.token_rectangle(token) for token in range(400)]
    assert max(box.right() for box in boxes) <= view.viewport().width()
    assert len({box.top() for box in boxes}) > 20
    view.set_tokens(*spans(b"a", b"x" * 300, b"b"))
    height = view.token_rectangle(1).top() - view.token_rectangle(0).top()
    assert view.token_rectangle(2).top() - view.token_rectangle(1).top() >= 4 * height
    below = view.token_rectangle(1).center().toPoint() + QPoint(0, round(3 * height))
    assert view.token_at(below) == 1
    assert view.token_rectangle(1).right() <= view.viewport().width()
    view.set_tokens(*spans(*LINES))
    view.select(8, 9)
    with qtbot.waitSignal(view.selectionChanged) as heard:
        view.set_tokens(*spans(*GLOBE))
    assert heard.args == [-1, -1]
    view.select(3, 700)
    assert view.selection() is None


def test_text_from_right_to_left_is_shown_so_and_shared_pieces_are_mirrored(view):
    view.set_tokens(*spans(b"say ", "של".encode(), "ום".encode(), b" ", "עולם".encode(), b" twice"))
    begins = [view.token_rectangle(token).left() for token in range(6)]
    assert begins[0] < begins[4] < begins[3] < begins[2] < begins[1] < begins[5]
    boxes = [view.token_rectangle(token) for token in range(6)]
    assert all(view.token_at(box.center().toPoint()) == token for token, box in enumerate(boxes))
    view.set_tokens(*spans(b"a", "שלום".encode(), b"b", b"1", "太".encode()))
    begins = [view.token_rectangle(token).left() for token in range(5)]
    assert begins == sorted(begins)
    mark = "\u0645\u064f".encode()  # two characters that are drawn as one
    view.set_show_ids(True)
    view.set_tokens(*spans(mark[:2], mark[2:], b" ", "é".encode()[:1], "é".encode()[1:]))
    boxes = [view.token_rectangle(token) for token in range(5)]
    assert boxes[0] == boxes[1]
    assert boxes[3] == boxes[4]
    for first, from_left in ((0, (1, 0)), (3, (3, 4))):
        box = boxes[first]
        halves = [QPoint(round(box.left() + box.width() * share), round(box.center().y())) for share in (0.25, 0.75)]
        assert tuple(view.token_at(place) for place in halves) == from_left
        shown = next(one for one in view.rows.boxes(0) if one.first == first)
        assert view.rows.id_text(shown) == " ".join(str(view.table.ids[token]) for token in from_left)


def test_a_menu_opened_by_a_key_is_at_the_current_token(qtbot, view):
    view.set_tokens(*spans(*LINES))
    view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
    places = []
    view.customContextMenuRequested.connect(places.append)
    view.setFocus()
    qtbot.waitUntil(view.hasFocus)
    handle = view.window().windowHandle()
    for token in (1, view.table.tokens - 1):
        view.select(token, token)
        # What the platform sends to the window for the key.
        QApplication.sendEvent(handle, QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(), QPoint()))
        assert view.token_at(view.viewport().mapFrom(view, places[-1])) == token
    assert len(places) == 2


def test_highlighting_scrolls_only_if_no_highlighted_token_is_visible(view):
    view.set_tokens(*spans(*[b"word "] * 2000))
    bar, sight = view.verticalScrollBar(), view.viewport().rect()
    for place in (0, bar.maximum() // 2 + 11, bar.maximum()):
        bar.setValue(place)
        seen = [token for token in range(2000) if sight.contains(view.token_rectangle(token).toAlignedRect())]
        stays = bar.value()
        view.mark([0, seen[-1], 1999])
        assert bar.value() == stays
        far = 1500 if seen[0] < 1000 else 200
        view.mark([far, far + 1])
        assert sight.contains(view.token_rectangle(far).toAlignedRect())
    assert view.marked == {far, far + 1}
