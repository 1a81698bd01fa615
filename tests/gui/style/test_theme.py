"""Theme and icons: contrast of every role, and changes with the theme."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QIcon, QPalette
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QDialog, QFrame, QLabel, QMainWindow, QPushButton, QSpinBox, QToolButton, QWidget
from shiboken6 import delete

from tokstudio import __version__
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.private_folders import cache_folder
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.style_sheet import style_sheet
from tokstudio.gui.style.theme import DARK, LIGHT, Palette, Theme, monospace_font
from tokstudio.gui.widgets.fields import restyle


def luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.fixture
def styled(qapp):
    """The application; it is as it was after the test."""
    font, palette, style = qapp.font(), qapp.palette(), qapp.style().name()
    yield qapp
    qapp.setStyle(style)
    qapp.setPalette(palette)
    qapp.setFont(font)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
class TestContrast:
    def test_text_on_tokens_reaches_seven_and_marks_three(self, palette: Palette):
        assert len(set(palette.tokens)) == 8
        tints = (*palette.tokens, palette.special)
        assert min(contrast(palette.text, colour) for colour in tints) >= 7
        assert min(contrast(palette.muted, colour) for colour in tints) >= 3
        assert min(contrast(palette.accent, colour) for colour in tints) >= 3

    def test_every_kind_of_text_can_be_read(self, palette: Palette):
        for role in ("text", "muted", "accent", "error", "warning", "good"):
            for ground in (palette.window, palette.surface):
                assert contrast(getattr(palette, role), ground) >= 4.5, role
        assert contrast(palette.on_accent, palette.accent) >= 4.5
        assert contrast(palette.text, palette.accent_soft) >= 7
        # Rows after the playhead, also those that are marked.
        assert contrast(palette.muted, palette.hover) >= 4.5

    def test_curves_can_be_seen_and_differ_from_each_other(self, palette: Palette):
        colours = {palette.accent, *palette.curves}
        assert len(colours) == 9
        assert min(contrast(colour, palette.surface) for colour in colours) >= 4.5

    def test_the_edge_of_a_check_box_can_be_seen(self, palette: Palette):
        assert contrast(palette.control, palette.surface) >= 3

    def test_the_handle_of_a_scroll_bar_can_be_seen(self, palette: Palette):
        roles = dict.fromkeys(Palette.__dataclass_fields__, "x") | {"control": "CONTROL"}
        sheet = style_sheet(roles, lambda size: size, [])
        assert "QScrollBar::handle { background: CONTROL;" in sheet
        assert min(contrast(palette.control, ground) for ground in (palette.window, palette.surface)) >= 3


def test_switching_to_dark_emits_changed_once_and_an_unknown_mode_follows_the_system(qapp, qtbot):
    theme = Theme("light")
    said = []
    theme.changed.connect(lambda: said.append(theme.palette))
    theme.set_mode("dark")
    theme.set_mode("dark")
    assert said == [DARK]
    theme = Theme("dark")
    theme.set_mode("mauve")  # as a settings file could say
    assert theme.mode == "system"


def middle(widget: QWidget) -> QColor:
    return widget.grab().toImage().pixelColor(widget.width() // 2, widget.height() // 2)


def test_a_window_has_the_colours_of_the_new_theme_at_once(styled, qtbot):
    theme = Theme("light")
    theme.apply(styled)
    window = QMainWindow()
    qtbot.addWidget(window)
    cards = [QFrame(window) for _ in range(20)]
    for card in cards:
        card.setProperty("card", True)
        card.resize(60, 60)
    assert {middle(card).name() for card in cards} == {LIGHT.surface.lower()}
    told = []
    theme.changed.connect(lambda: told.append({middle(card).name() for card in cards}))
    theme.set_mode("dark")
    theme.set_text_size(16)
    assert told == [{DARK.surface.lower()}] * 2
    assert styled.palette().color(QPalette.ColorRole.Text) == QColor(DARK.text)
    theme.set_mode("system")


def test_widgets_that_are_made_before_the_sheet_have_it_in_the_end(styled, qtbot):
    theme = Theme("light")
    theme.apply(styled)
    told = []
    theme.changed.connect(lambda: told.append(middle(card).name()))
    with theme.sheet_at_end():
        window = QMainWindow()
        qtbot.addWidget(window)
        card = QFrame()
        card.setProperty("card", True)
        card.setParent(window)
        card.resize(60, 60)
        assert middle(card).name() != LIGHT.surface.lower()
    assert told == [LIGHT.surface.lower()]


def test_widgets_that_are_made_later_leave_those_in_sight_alone(styled, qtbot):
    theme = Theme("light")
    theme.apply(styled)
    told = []

    class Card(QFrame):
        def changeEvent(self, event: QEvent) -> None:
            if event.type() == QEvent.Type.StyleChange:
                told.append(event.type())
            super().changeEvent(event)

    card = Card()
    qtbot.addWidget(card)
    card.setProperty("card", True)
    card.resize(60, 60)
    card.show()
    qtbot.waitExposed(card)
    told.clear()
    with theme.sheet_at_end():
        late = QFrame(card)
        late.setProperty("card", True)
        late.resize(20, 20)
    assert not told
    assert [middle(one).name() for one in (card, late)] == [LIGHT.surface.lower()] * 2
    theme.set_mode("dark")
    assert [middle(one).name() for one in (card, late)] == [DARK.surface.lower()] * 2
    assert told
    theme.set_mode("system")


def test_a_dialog_that_is_opened_later_has_the_theme_and_follows_it(styled, qtbot):
    theme = Theme("light")
    theme.apply(styled)
    window = QMainWindow()
    qtbot.addWidget(window)
    theme.set_mode("dark")
    dialog = QDialog(window)
    button = QPushButton("Train", dialog)
    button.setProperty("primary", True)
    button.resize(90, 30)
    dialog.show()
    assert button.grab().toImage().pixelColor(6, 15) == QColor(DARK.accent)
    theme.set_mode("light")
    assert button.grab().toImage().pixelColor(6, 15) == QColor(LIGHT.accent)
    dialog.close()


def test_text_size_scales_the_fonts_and_stays_in_bounds(styled, qtbot):
    theme = Theme("light")
    theme.apply(styled)
    with qtbot.waitSignal(theme.changed):
        theme.set_text_size(26)
    assert styled.font().pixelSize() == 26
    assert theme.monospace_font(14).pixelSize() == 28
    theme.set_text_size(4000)
    assert theme.text_size == 40


def test_a_hidden_widget_with_a_font_of_its_own_has_the_new_size_when_it_is_shown(styled, qtbot):
    theme = Theme("light")
    theme.apply(styled)
    window, hidden = QWidget(), QSpinBox()
    qtbot.addWidget(window)
    hidden.setParent(window)
    theme.follow(lambda: hidden.setFont(theme.tabular_font()))
    window.show()
    hidden.hide()
    with qtbot.waitSignal(theme.settled):
        theme.set_text_size(20)
    hidden.show()
    assert hidden.font().pixelSize() == 20


class Follower(QLabel):
    """Remembers which text size it had when it was told of a change."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__("text", parent)
        self.sizes: list[int] = []
        self._theme = theme
        theme.follow(self._take)

    def _take(self) -> None:
        self.ensurePolished()
        self.sizes.append(self.font().pixelSize())


def test_what_is_hidden_follows_once_it_has_the_new_style_and_what_is_gone_no_more(styled, qtbot):
    theme = Theme("light")
    theme.apply(styled)
    window = QWidget()
    qtbot.addWidget(window)
    shown, later, opened, gone = (Follower(theme, window) for _ in range(4))
    window.show()
    for label in (later, opened, gone):
        label.hide()
    for label in (shown, later, opened):
        label.sizes.clear()
    delete(gone)
    with qtbot.waitSignal(theme.settled):
        theme.set_text_size(20)
        assert (shown.sizes, later.sizes, opened.sizes) == ([20], [], [])
        opened.show()
        assert opened.sizes == [20], "before it is seen"
        assert later.sizes == []
    # Once with its style, and once more with all sizes.
    assert (shown.sizes, later.sizes, opened.sizes) == ([20, 20], [20, 20], [20, 20])
    with qtbot.waitSignal(theme.settled):
        theme.set_mode("dark")
    assert (len(shown.sizes), len(later.sizes)) == (3, 3)


def test_a_hidden_widget_keeps_nothing_of_an_older_sheet(styled, qtbot):
    theme = Theme("light")
    theme.apply(styled)
    window = QWidget()
    qtbot.addWidget(window)
    shown, hidden = (QLabel("text", window) for _ in range(2))
    for label in (shown, hidden):
        label.setProperty("role", "title")
    window.show()
    hidden.hide()
    for change in (lambda: theme.set_text_size(20), lambda: theme.set_mode("dark"), lambda: theme.set_text_size(26)):
        with qtbot.waitSignal(theme.settled):
            change()
        assert hidden.font() == shown.font(), "with the role"
        assert hidden.palette() == shown.palette(), "with the role"
    for label in (shown, hidden):
        restyle(label, "role", "")
    with qtbot.waitSignal(theme.settled):
        theme.set_text_size(16)
    hidden.show()
    assert hidden.font().pixelSize() == 16
    assert hidden.font().weight() == QFont.Weight.Normal
    assert hidden.font() == shown.font(), "without it"
    assert hidden.palette() == shown.palette(), "without it"
    theme.set_mode("system")


def test_the_sheet_uses_images_in_the_colours_of_the_palette(tmp_path, qapp):
    roles = {role: getattr(DARK, role) for role in Palette.__dataclass_fields__}
    sheet = style_sheet(roles, lambda size: size, [tmp_path])
    written = list(tmp_path.glob("*.svg"))
    assert written
    assert all(QSvgRenderer(str(path)).isValid() and path.as_posix() in sheet for path in written)
    assert "$" not in sheet


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_the_button_of_menus_without_room_is_seen(tmp_path, qtbot, palette):
    roles = {role: getattr(palette, role) for role in Palette.__dataclass_fields__}
    window = QMainWindow()
    qtbot.addWidget(window)
    window.setStyleSheet(style_sheet(roles, lambda size: size, [tmp_path]))
    for number in range(9):
        window.menuBar().addMenu(f"Menu {number}")
    window.resize(300, 100)
    window.show()
    button = window.menuBar().findChild(QToolButton, "qt_menubar_ext_button")
    assert button.isVisible()
    drawn = button.grab().toImage()
    colours = {drawn.pixelColor(x, y).name() for x in range(drawn.width()) for y in range(drawn.height())}
    assert max(contrast(colour, palette.window) for colour in colours) > 4.5


def test_a_damaged_image_is_written_again_and_others_are_reused(tmp_path):
    roles = {role: getattr(DARK, role) for role in Palette.__dataclass_fields__}
    sheet = style_sheet(roles, lambda size: size, [tmp_path])
    damaged, *others = sorted(tmp_path.iterdir())
    content = damaged.read_bytes()
    damaged.write_bytes(content[:20])
    stamps = [path.stat().st_ino for path in others]
    assert style_sheet(roles, lambda size: size, [tmp_path]) == sheet
    assert damaged.read_bytes() == content
    assert [path.stat().st_ino for path in others] == stamps
    assert sorted(tmp_path.iterdir()) == [damaged, *others]


def test_images_are_written_to_the_first_writable_folder_or_left_out(tmp_path):
    roles = {role: getattr(LIGHT, role) for role in Palette.__dataclass_fields__}
    sheet = style_sheet(roles, lambda size: size, [tmp_path / "absent", tmp_path])
    assert (tmp_path / "check-FFFFFF.svg").as_posix() in sheet
    assert "absent" not in sheet
    roles = {role: getattr(LIGHT, role) for role in Palette.__dataclass_fields__}
    sheet = style_sheet(roles, lambda size: size, [tmp_path / "absent"])
    assert "url(" not in sheet
    assert LIGHT.accent in sheet


def test_the_window_has_its_images_without_a_folder_for_temporary_files(tmp_path, monkeypatch, qapp):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "absent"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    sheet = Theme("light").style_sheet
    folder = cache_folder() / f"images-{__version__}"
    assert (folder / "check-FFFFFF.svg").as_posix() in sheet
    assert list((tmp_path / "here").iterdir()) == []


def test_digits_and_letters_of_the_monospace_font_have_one_width(qapp):
    metrics = QFontMetricsF(monospace_font(13))
    assert metrics.horizontalAdvance("iiii") == metrics.horizontalAdvance("MMMM")


def colours(shown: QIcon, mode: QIcon.Mode = QIcon.Mode.Normal) -> set[str]:
    image = shown.pixmap(QSize(24, 24), 2.0, mode).toImage()
    pixels = (image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height()))
    return {pixel.name().upper() for pixel in pixels if pixel.alpha() == 255}


def test_an_icon_has_the_colour_of_its_role_the_pixels_of_the_screen_or_is_an_error(qapp):
    theme = Theme("light")
    train = icon("train", theme)
    filled = icon("train", theme, "on_accent")
    assert colours(train) == {LIGHT.text}
    assert colours(train, QIcon.Mode.Disabled) == {LIGHT.disabled}
    theme.set_mode("dark")
    assert colours(train) == {DARK.text}
    assert colours(filled) == {DARK.on_accent}
    pixmap = icon("train", Theme("light")).pixmap(QSize(16, 16), 2.0)
    assert pixmap.size() == QSize(32, 32)
    assert pixmap.devicePixelRatio() == 2.0
    with pytest.raises((TokStudioError, FileNotFoundError)):
        icon("no-such-drawing", Theme("light"))
