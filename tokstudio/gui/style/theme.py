"""The colours, fonts and style of the window, light and dark, following the system while the program runs.

See also `style_sheet.py`, which uses these colours, and `icons.py`, whose icons tint themselves.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import MethodType
from typing import Literal, get_args
from weakref import WeakMethod

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QGuiApplication, QPalette
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QDockWidget, QStyleFactory, QWidget
from shiboken6 import isValid

from tokstudio.core.base.records import dataclass
from tokstudio.gui.style.style_sheet import image_folders, style_sheet

Mode = Literal["system", "light", "dark"]

BODY_PIXELS = 13
_SLICE = 0.008  # seconds of styling what cannot be seen, half of what a slot may take
_PAUSE = 2  # milliseconds between two slices, for other events
_FIRST = 150  # milliseconds before the first, so that what is seen is painted before


@dataclass(frozen=True)
class Palette:
    """A colour for every role, as `#RRGGBB`.

    Text, muted, accent, error, warning and good reach 4.5:1 on window and surface, and so do curves on surface; text
    reaches 7:1 and muted 3:1 on every colour of tokens, also the special ones'; control, the edge of
    buttons, reaches 3:1. Disabled has no minimum.
    """

    dark: bool
    window: str
    surface: str
    border: str
    grid: str
    hover: str
    text: str
    muted: str
    disabled: str
    control: str
    accent: str
    on_accent: str
    accent_soft: str
    error: str
    warning: str
    good: str
    special: str
    tokens: tuple[str, ...]
    curves: tuple[str, ...]


# The colours of each role: light, dark.
_COLOURS = {
    "window": ("#F4F5F7", "#15181C"),
    "surface": ("#FFFFFF", "#1D2126"),
    "border": ("#DCE0E5", "#2E343B"),
    "grid": ("#E9ECEF", "#2A3037"),
    "hover": ("#F0F2F5", "#252A31"),
    "text": ("#1B1F24", "#E6EAEE"),
    "muted": ("#5D6772", "#9AA4AF"),
    "disabled": ("#A3ABB4", "#5F6973"),
    "control": ("#848E9A", "#737E8A"),
    "accent": ("#2563EB", "#6CA4FF"),
    "on_accent": ("#FFFFFF", "#0E1420"),
    "accent_soft": ("#E8EFFD", "#243349"),
    "error": ("#B3261E", "#FF8F87"),
    "warning": ("#8A5300", "#F0B95A"),
    "good": ("#1B7340", "#62D08F"),
    "special": ("#E3E7EC", "#363D46"),
}
_TOKENS = (
    ("#FFDCD2", "#FFE9BD", "#E4F1C6", "#CDEFDD", "#CCE9F6", "#D9E0FB", "#EBDAF7", "#F9D7E6"),
    ("#5C3229", "#574820", "#42521F", "#1F5040", "#1F4A5B", "#33406F", "#4B3566", "#5E2E48"),
)
_CURVES = (
    ("#C2500A", "#0E7A5F", "#9333C8", "#8A6A00", "#C81E63", "#0B7391", "#7A3B1E", "#5D6772"),
    ("#FF9A52", "#4FD1A5", "#C99BFF", "#E3C44C", "#FF86B3", "#52C7E0", "#D9A28A", "#9AA4AF"),
)


def _palette(at: int) -> Palette:
    roles = {role: colours[at] for role, colours in _COLOURS.items()}
    return Palette(dark=bool(at), **roles, tokens=_TOKENS[at], curves=_CURVES[at])


LIGHT, DARK = _palette(0), _palette(1)


class Theme(QObject):
    """The current palette, and the application's style, font, colours and style sheet.

    Widgets that paint get the theme in their constructor, read `palette` while they paint and listen to `changed`,
    which is emitted once every widget in sight has the new style sheet; the others have it before they are seen.

    Args:
        mode: "system" follows the desktop's colour scheme, "light" and "dark" stay.
    """

    changing = Signal()  # every widget has the old style sheet
    changed = Signal()
    settled = Signal()  # the others have the new one too

    def __init__(self, mode: Mode = "system", parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.mode: Mode = mode  # the colour scheme to use: "system", "light" or "dark"
        self.text_size = BODY_PIXELS  # the size of body text in pixels; every other size is in proportion to it
        self._families = ("", "")
        self._application: QApplication | None = None
        self._system_font: QFont | None = None
        self._unseen = _Unseen(self)
        self._unseen.done.connect(self._settle)
        self._has_other_sizes = False  # than hidden widgets have
        self._followers: list[Callable[[], Callable[[], object] | None]] = []
        self.palette = self._chosen_palette()
        # Queued: the signal comes before the style has the new scheme's palette, which would then replace ours.
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._refresh, Qt.ConnectionType.QueuedConnection)

    def follow(self, apply: Callable[[], object]) -> None:
        """Calls `apply` now, after each change of colours, fonts or sizes, and when hidden widgets have the new fonts.

        Until then their size hints are those of the fonts before. A method of a hidden widget is called once that has
        the new style.
        """
        self._followers.append(WeakMethod(apply) if isinstance(apply, MethodType) else lambda: apply)
        apply()

    def set_mode(self, mode: Mode) -> None:
        """Sets the mode; unknown values count as "system"."""
        self.mode = mode if mode in get_args(Mode) else "system"
        self._refresh()

    def set_text_size(self, pixels: int) -> None:
        """Sets the size of body text, limited to 9 to 40 pixels."""
        pixels = min(max(pixels, 9), 40)
        if pixels != self.text_size:
            self.text_size = pixels
            self._change_sizes()

    def set_families(self, interface: str, monospace: str) -> None:
        """Sets the font families of the interface, and of tokens and bytes; "" for the system's."""
        if (interface, monospace) != self._families:
            self._families = interface, monospace
            self._change_sizes()

    def scaled(self, pixels: int) -> int:
        """Scales a size designed for body text of 13 pixels to the current text size."""
        return max(1, round(pixels * self.text_size / BODY_PIXELS))

    def monospace_font(self, size: int = BODY_PIXELS) -> QFont:
        """Returns the font of tokens and bytes; `size` is in pixels for body text of 13."""
        font = monospace_font(self.scaled(size))
        if self._families[1]:
            font.setFamilies([self._families[1]])
        return font

    def tabular_font(self, size: int = BODY_PIXELS) -> QFont:
        """Returns the font for columns of numbers; `size` is in pixels for body text of 13."""
        return tabular_font(self.scaled(size))

    @property
    def style_sheet(self) -> str:
        """The style sheet in the current colours and sizes."""
        roles = {role: getattr(self.palette, role) for role in Palette.__dataclass_fields__}
        return style_sheet(roles, self.scaled, image_folders())

    def apply(self, application: QApplication) -> None:
        """Applies style, font, colours and style sheet to `application`, now and whenever the theme changes."""
        self._application = application
        self._system_font = QFont(application.font())
        application.setStyle(QStyleFactory.create("Fusion"))
        self._apply()

    @contextmanager
    def sheet_at_end(self) -> Iterator[None]:
        """Removes the style sheet for a block that makes many widgets; applies it at the end, and emits `changed`.

        With a sheet, Qt computes the style of a widget anew each time that it, or a widget around it, gets a parent.
        Widgets that are there already keep what they have of it.
        """
        application = self._application
        if application is None:
            yield
            return
        there = application.allWidgets()
        with _left_alone(there):
            application.setStyleSheet("")
        try:
            yield
        finally:
            with _left_alone([widget for widget in there if isValid(widget)]):
                application.setStyleSheet(self.style_sheet)
            self._tell()

    def _change_sizes(self) -> None:
        self._has_other_sizes = True
        self._apply()
        self._tell()

    def _tell(self) -> None:
        self._have_followed()
        self.changed.emit()

    def _have_followed(self) -> None:
        """Has all that follow apply the theme; methods of widgets that wait for their style wait, too."""
        for follower in self._followers[:]:
            apply = follower()
            owner = getattr(apply, "__self__", None)
            if apply is None or (isinstance(owner, QObject) and not isValid(owner)):
                self._followers.remove(follower)
            elif not (isinstance(owner, QWidget) and self._unseen.postpone(owner, apply)):
                apply()

    def _settle(self) -> None:
        if self._has_other_sizes:
            self._has_other_sizes = False
            self._have_followed()
        self.settled.emit()

    def _chosen_palette(self) -> Palette:
        if self.mode == "system":
            return DARK if QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark else LIGHT
        return DARK if self.mode == "dark" else LIGHT

    def _refresh(self) -> None:
        if self._application is not None:
            # The window frame and native dialogs follow the hint; an unknown scheme means the system's.
            wanted = {"light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark}
            QGuiApplication.styleHints().setColorScheme(wanted.get(self.mode, Qt.ColorScheme.Unknown))
        before, self.palette = self.palette, self._chosen_palette()
        if self.palette != before:
            self._apply()
            self._tell()

    def _apply(self) -> None:
        if self._application is None or self._system_font is None:
            return
        font = QFont(self._system_font)
        font.setPixelSize(self.text_size)
        if self._families[0]:
            font.setFamilies([self._families[0]])
        self.changing.emit()
        widgets = self._application.allWidgets()
        unseen = self._unseen.among(widgets)
        left_out = set(unseen)
        seen = [widget for widget in widgets if widget not in left_out]
        with _left_alone(unseen):
            # Qt takes four times as long to replace one sheet by another as to remove the first.
            with _changed(seen, _HAS_OWN_STYLE, True):
                self._application.setStyleSheet("")
            self._application.setFont(font)
            self._application.setPalette(widget_palette(self.palette))
            self._application.setStyleSheet(self.style_sheet)
        self._unseen.style(unseen)


# Qt sends no StyleChange event to a widget with a style of its own, so that it is not laid out for a temporary one.
_HAS_OWN_STYLE = Qt.WidgetAttribute.WA_SetStyle
# Qt takes no style from a widget that has none yet, and gives it none.
_IS_POLISHED = Qt.WidgetAttribute.WA_WState_Polished

# The style keeps the font of such a widget as it was before the style sheet, and would give it back that old one.
_HAS_OWN_FONT = Qt.WidgetAttribute.WA_SetFont


@contextmanager
def _changed(widgets: Sequence[QWidget], attribute: Qt.WidgetAttribute, on: bool) -> Iterator[None]:
    """In this block, an attribute of these widgets is on, or off."""
    # There are thousands of such calls in a change, and to look a method up for each widget takes half of their time.
    test, set_to = QWidget.testAttribute, QWidget.setAttribute
    others = [widget for widget in widgets if test(widget, attribute) is not on]
    for widget in others:
        set_to(widget, attribute, on)
    try:
        yield
    finally:
        for widget in others:
            set_to(widget, attribute, not on)


@contextmanager
def _left_alone(widgets: Sequence[QWidget]) -> Iterator[None]:
    """In this block, these widgets keep what they have of the style sheet, whatever it becomes."""
    with _changed(widgets, _HAS_OWN_STYLE, True), _changed(widgets, _IS_POLISHED, False):
        yield


class _Unseen(QObject):
    """Gives a new style sheet to widgets that are not shown: in slices after those in sight, or when they are shown.

    Five of six widgets of the window are hidden, and take most of the time of a change.
    """

    done = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._waiting: dict[QWidget, list[Callable[[], object]]] = {}  # and what is called once each has its style
        # Qt knows what the others have of a sheet that was removed as long as any widget has one.
        self._keeper = QWidget()
        self._keeper.setStyleSheet("QWidget {}")
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._style_some)

    def among(self, widgets: Sequence[QWidget]) -> list[QWidget]:
        """Those that are hidden, or behind a tab, and have a style already; none before a window is shown."""
        is_visible, test = QWidget.isVisible, QWidget.testAttribute
        visible = {widget for widget in widgets if is_visible(widget)}
        if not visible:
            return []
        docks = [each for each in visible if isinstance(each, QDockWidget) and _is_behind(each)]
        visible.difference_update(docks, *(dock.findChildren(QWidget) for dock in docks))
        unseen = [widget for widget in widgets if widget not in visible]
        return [each for each in unseen if test(each, _IS_POLISHED) and not test(each, _HAS_OWN_FONT)]

    def style(self, widgets: Sequence[QWidget]) -> None:
        """Gives these the style sheet soon, in place of those that wait."""
        self._waiting = {widget: [] for widget in widgets}
        application = QApplication.instance()
        # Every event of the program passes a filter.
        if application is not None and widgets:
            application.installEventFilter(self)
        self._timer.start(_FIRST)

    def postpone(self, widget: QWidget, apply: Callable[[], object]) -> bool:
        """Whether a widget waits for its style: `apply` is called then."""
        if widget in self._waiting:
            self._waiting[widget].append(apply)
            return True
        return False

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # In this order, as to look at an event takes longest.
        if watched in self._waiting and isinstance(watched, QWidget):
            kind = event.type()
            if kind == QEvent.Type.Show:
                self._style(watched)
            elif kind == QEvent.Type.Move and isinstance(watched, QDockWidget) and not _is_behind(watched):
                for widget in (watched, *watched.findChildren(QWidget)):
                    if widget in self._waiting and widget.isVisible():
                        self._style(widget)
        return False

    def _style_some(self) -> None:
        self._timer.setInterval(_PAUSE)
        until = time.perf_counter() + _SLICE
        while self._waiting and time.perf_counter() < until:
            self._style(next(iter(self._waiting)))
        application = QApplication.instance()
        if not self._waiting and application is not None:
            self._timer.stop()
            application.removeEventFilter(self)
            self.done.emit()

    def _style(self, widget: QWidget) -> None:
        postponed = self._waiting.pop(widget)
        if isValid(widget):
            # This takes away what it has of the sheet before.
            widget.style().unpolish(widget)
            widget.style().polish(widget)
            QApplication.sendEvent(widget, QEvent(QEvent.Type.StyleChange))
            for apply in postponed:
                apply()


def _is_behind(dock: QDockWidget) -> bool:
    """Whether it is behind a tab: it is visible to Qt then, but left of and above its window."""
    return not dock.isWindow() and dock.geometry().right() < 0


def widget_palette(palette: Palette) -> QPalette:
    """Returns Qt's palette for `palette`, for everything outside the style sheet."""
    role = QPalette.ColorRole
    colours = (
        (palette.window, (role.Window,)),
        (palette.surface, (role.Base, role.Button, role.ToolTipBase, role.Light)),
        (palette.text, (role.WindowText, role.Text, role.ButtonText, role.ToolTipText, role.HighlightedText)),
        (palette.muted, (role.PlaceholderText,)),
        (palette.error, (role.BrightText,)),
        (palette.hover, (role.AlternateBase,)),
        (palette.accent_soft, (role.Highlight,)),
        (palette.accent, (role.Accent, role.Link, role.LinkVisited)),
        (palette.grid, (role.Midlight,)),
        (palette.border, (role.Mid, role.Shadow)),
        (palette.control, (role.Dark,)),
    )
    result = QPalette()
    for colour, roles in colours:
        for colour_role in roles:
            result.setColor(colour_role, QColor(colour))
    for colour_role in (role.WindowText, role.Text, role.ButtonText, role.HighlightedText, role.PlaceholderText):
        result.setColor(QPalette.ColorGroup.Disabled, colour_role, QColor(palette.disabled))
    return result


def monospace_font(size: int = BODY_PIXELS) -> QFont:
    """Returns the system's monospaced font at `size` pixels, for tokens and bytes."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    if not QFontInfo(font).fixedPitch():
        # Some systems return a proportional font here; these fonts come with Windows, macOS and most of Linux.
        font.setFamilies(["Cascadia Mono", "Consolas", "SF Mono", "Menlo", "DejaVu Sans Mono", "Liberation Mono"])
    font.setStyleHint(QFont.StyleHint.Monospace)
    font.setFixedPitch(True)
    font.setPixelSize(size)
    return font


def tabular_font(size: int = BODY_PIXELS) -> QFont:
    """Returns the body font at `size` pixels with digits of equal width, for columns of numbers."""
    font = QFont(QGuiApplication.font())
    font.setPixelSize(size)
    if hasattr(font, "setFeature"):
        font.setFeature(QFont.Tag("tnum"), 1)
    return font


def pad_spin_box(box: QAbstractSpinBox) -> None:
    """Adds a margin before the text of `box`: style sheets can do that for other fields, but not for this one."""
    box.lineEdit().setTextMargins(6, 0, 0, 0)
