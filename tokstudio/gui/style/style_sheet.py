"""The style sheet of the application, as a template for any palette.

It does not depend on the theme: the caller passes the colours, the scale and the folders for small images.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from string import Template

from tokstudio.core.base.private_folders import cache_folder, make_private, session_folders
from tokstudio.version import __version__

# The glyphs of small images, with the roles of their colours; the sheet names an image by its property and both:
# `$image_down_muted`.
# Drawn for 10 to 14 pixels, so with a thicker stroke than the icons of the toolbar.
_GLYPHS = {
    "down": ("M5 8.5 12 15.5 19 8.5", ("muted", "disabled", "text")),
    "up": ("M5 15.5 12 8.5 19 15.5", ("muted", "disabled", "text")),
    "right": ("M8.5 5 15.5 12 8.5 19", ("muted",)),
    "left": ("M15.5 5 8.5 12 15.5 19", ("muted",)),
    "check": ("M5 12.5 10 17.5 19 7", ("on_accent", "text", "surface")),
    "dash": ("M6 12 18 12", ("on_accent",)),
    "dot": ("M12 12 12 12", ("on_accent", "text")),
    "cross": ("M6 6 18 18M18 6 6 18", ("muted",)),
}
# What an image is of a widget: beside what Qt draws, or instead of the icon that Qt has set.
_PROPERTIES = {"image": "image", "icon": "qproperty-icon"}
_STROKES = {"dot": 10.0, "check": 3.2, "dash": 3.2}


def image_folders() -> Iterator[Path]:
    """The folders for the tinted images, the best first; images of earlier starts are used again."""
    for folder in (cache_folder(), *session_folders()):
        images = folder / f"images-{__version__}"
        if make_private(folder) and make_private(images):
            yield images


def style_sheet(roles: Mapping[str, object], scaled: Callable[[int], int], folders: Iterable[Path]) -> str:
    """Gives the sheet for the colours in `roles`.

    Args:
        roles: The palette: role -> `#RRGGBB`; values that are not text are ignored.
        scaled: Scales a size designed for body text of 13 pixels to the current text size.
        folders: Folders for the tinted images; the first writable one is used. Without any there are no images.
    """
    colours = {role: value for role, value in roles.items() if isinstance(value, str)}
    sizes = {"title": f"{scaled(11)}px", "small": f"{scaled(11)}px", "note": f"{scaled(12)}px"}
    sizes |= {"body": f"{scaled(13)}px", "figure": f"{scaled(17)}px", "headline": f"{scaled(22)}px"}
    return Template(_SHEET).substitute(colours | sizes | _images(colours, folders))


def _images(colours: Mapping[str, str], folders: Iterable[Path]) -> dict[str, str]:
    images = [(glyph, role) for glyph, (_, roles) in _GLYPHS.items() for role in roles]
    for folder in folders:
        with suppress(OSError):
            urls = {(glyph, role): _written(folder, glyph, colours[role]).as_posix() for glyph, role in images}
            return {
                f"{kind}_{glyph}_{role}": f'{of_qt}: url("{url}");'
                for kind, of_qt in _PROPERTIES.items()
                for (glyph, role), url in urls.items()
            }
    return {f"{kind}_{glyph}_{role}": "" for kind in _PROPERTIES for glyph, role in images}


def _written(folder: Path, glyph: str, colour: str) -> Path:
    """The file of an image; an incomplete or damaged one is written again."""
    # The colour is part of the name, as Qt caches files by name.
    path, content = folder / f"{glyph}-{colour.lstrip('#')}.svg", _svg(glyph, colour).encode()
    with suppress(OSError):
        if path.read_bytes() == content:
            return path
    beside = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        beside.write_bytes(content)
        return beside.replace(path)
    except OSError:
        with suppress(OSError):
            beside.unlink()
        raise


def _svg(glyph: str, colour: str) -> str:
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24" fill="none" '
        f'stroke="{colour}" stroke-width="{_STROKES.get(glyph, 2.6)}" stroke-linecap="round" '
        f'stroke-linejoin="round"><path d="{_GLYPHS[glyph][0]}"/></svg>'
    )


_SHEET = """
QMainWindow::separator { background: transparent; width: 8px; height: 8px; }
QMainWindow::separator:hover { background: rgba(128, 138, 148, 80); }
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
QDialog { background: $window; }
QSplitter::handle { background: transparent; }
QSplitter::handle:horizontal { width: 8px; }
QSplitter::handle:vertical { height: 8px; }
QSplitter::handle:hover { background: $border; }
QDockWidget { border: 0; }
/* Each says in its own way that it has the keyboard; the style would draw a second frame inside. */
QPushButton, QToolButton, QCheckBox, QRadioButton, QComboBox, QSlider, QGroupBox, QTabBar { outline: 0; }

QFrame[card="true"] { background: $surface; border: 1px solid $border; border-radius: 8px; }
QFrame[card="true"]:focus { border-color: $accent; }
QFrame[card="top"] { background: $surface; border: 1px solid $border; border-bottom: 0;
    border-top-left-radius: 8px; border-top-right-radius: 8px; }
QFrame[card="bottom"] { background: $surface; border: 1px solid $border; border-top: 0;
    border-bottom-left-radius: 8px; border-bottom-right-radius: 8px; }
QFrame[rule="true"] { background: $border; border: 0; max-height: 1px; min-height: 1px; }
QLabel[role="title"] { color: $muted; font-size: $title; font-weight: 600; letter-spacing: 1px;
    text-transform: uppercase; }
QLabel[role="muted"] { color: $muted; font-size: $note; }
QLabel[role="figure"] { color: $text; font-size: $figure; font-weight: 600; }
QLabel[role="headline"] { color: $text; font-size: $headline; font-weight: 600; }
QLabel[role="error"] { color: $error; font-size: $note; }
QLabel[role="warning"] { color: $warning; font-size: $note; }
QLabel[role="good"] { color: $good; font-size: $note; }

QPushButton { background: $surface; color: $text; border: 1px solid $border; border-radius: 6px; padding: 6px 14px; }
QPushButton:hover { background: $hover; }
QPushButton:pressed, QPushButton:checked { background: $accent_soft; }
QPushButton:focus { border-color: $accent; }
QPushButton:disabled { color: $disabled; background: transparent; }
QPushButton[primary="true"] { background: $accent; color: $on_accent; border: 2px solid $accent; padding: 5px 14px;
    font-weight: 600; }
QPushButton[primary="true"]:focus { border-color: $text; }
QPushButton[primary="true"]:pressed { background: $accent_soft; color: $text; }
QPushButton[primary="true"]:disabled { background: $grid; border-color: $grid; color: $disabled; }
QPushButton[link="true"] { background: transparent; border: 1px solid transparent; color: $accent; padding: 2px 4px; }
QPushButton[link="true"]:hover { background: $hover; }
QPushButton[link="true"]:focus { border-color: $accent; }
QPushButton[link="true"]:disabled { color: $disabled; }
QPushButton[chip="true"] { background: $accent_soft; border-radius: 5px; padding: 2px 7px; }
QPushButton[chip="true"]:hover { background: $accent_soft; border-color: $accent; }
QPushButton[chip="true"]:focus { border-color: $accent; }
QPushButton::menu-indicator { $image_down_muted width: 12px; height: 12px; subcontrol-position: right center;
    right: 8px; }
QToolButton { background: transparent; color: $text; border: 1px solid transparent; border-radius: 6px;
    padding: 5px 7px; }
QToolButton:hover { background: $hover; }
QToolButton:pressed, QToolButton:checked { background: $accent_soft; }
QToolButton:focus { border-color: $accent; }
QToolButton:disabled { color: $disabled; }
QToolButton[popupMode="1"], QToolButton[popupMode="2"] { padding-right: 20px; }
QToolButton[low="true"] { padding: 0 20px 0 4px; }
QToolButton::menu-button { border: 0; width: 18px; }
QToolButton::menu-arrow { $image_down_muted width: 12px; height: 12px; }
QToolButton::menu-indicator { $image_down_muted width: 12px; height: 12px; subcontrol-position: right center;
    right: 5px; }
QToolBar { background: $window; border: 0; spacing: 4px; padding: 4px 8px; }
QToolBar QToolButton { padding: 6px 9px; }
QToolBar QToolButton[popupMode="2"] { padding-right: 22px; }
QToolBar QToolButton:hover { background: $grid; }
QToolBar QToolButton:pressed, QToolBar QToolButton:checked { background: $accent_soft; }
QToolBar [switch="true"] { background: $grid; border-radius: 7px; }
QToolBar [switch="true"] QToolButton { padding: 5px 12px; border: 1px solid transparent; }
QToolBar [switch="true"] QToolButton:checked { background: $surface; color: $accent; border-color: $border; }
QToolBar::separator { background: $border; width: 1px; margin: 7px 8px; }

QLineEdit, QPlainTextEdit, QTextEdit, QAbstractSpinBox, QComboBox { background: $surface; color: $text;
    border: 1px solid $border; border-radius: 6px; selection-background-color: $accent_soft; selection-color: $text;
    placeholder-text-color: $muted; }
QLineEdit { padding: 5px 8px; }
QPlainTextEdit, QTextEdit { padding: 4px 6px; }
QAbstractSpinBox { padding: 5px 24px 5px 2px; }
QComboBox { padding: 5px 0 5px 8px; combobox-popup: 0; }
QLineEdit:hover, QAbstractSpinBox:hover, QComboBox:hover { border-color: $control; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QAbstractSpinBox:focus,
QComboBox:focus { border-color: $accent; }
QLineEdit[invalid="true"], QAbstractSpinBox[invalid="true"], QPlainTextEdit[invalid="true"], QComboBox[invalid="true"] {
    border-color: $error; }
QLineEdit:disabled, QPlainTextEdit:disabled, QAbstractSpinBox:disabled, QComboBox:disabled { color: $disabled;
    background: transparent; border-color: $border; }
QAbstractSpinBox::up-button { subcontrol-origin: border; subcontrol-position: top right; width: 22px; border: 0;
    background: transparent; margin: 2px 2px 0 0; border-top-right-radius: 4px; }
QAbstractSpinBox::down-button { subcontrol-origin: border; subcontrol-position: bottom right; width: 22px; border: 0;
    background: transparent; margin: 0 2px 2px 0; border-bottom-right-radius: 4px; }
QAbstractSpinBox::up-button:hover, QAbstractSpinBox::down-button:hover { background: $hover; }
QAbstractSpinBox::up-button:pressed, QAbstractSpinBox::down-button:pressed { background: $accent_soft; }
QAbstractSpinBox::up-arrow { $image_up_muted width: 10px; height: 10px; }
QAbstractSpinBox::down-arrow { $image_down_muted width: 10px; height: 10px; }
QAbstractSpinBox::up-arrow:disabled, QAbstractSpinBox::up-arrow:off { $image_up_disabled }
QAbstractSpinBox::down-arrow:disabled, QAbstractSpinBox::down-arrow:off { $image_down_disabled }
QComboBox::drop-down { subcontrol-origin: border; subcontrol-position: center right; width: 26px; border: 0;
    background: transparent; }
QComboBox::down-arrow { $image_down_muted width: 12px; height: 12px; }
QComboBox::down-arrow:disabled { $image_down_disabled }
QComboBox QAbstractItemView { background: $surface; color: $text; border: 1px solid $border; padding: 4px;
    selection-background-color: $accent_soft; selection-color: $text; outline: 0; }
QComboBox QAbstractItemView::item { min-height: 26px; padding: 0 6px; border-radius: 4px; }
QComboBox QAbstractItemView::item:selected { background: $accent_soft; color: $text; }

QCheckBox, QRadioButton { spacing: 8px; border: 1px solid transparent; border-radius: 4px; padding: 1px; }
QCheckBox:disabled, QRadioButton:disabled, QLabel:disabled { color: $disabled; }
QCheckBox::indicator, QRadioButton::indicator, QAbstractItemView::indicator { width: 14px; height: 14px;
    border: 1px solid $control; background: $surface; border-radius: 4px; }
QRadioButton::indicator { border-radius: 8px; }
QCheckBox::indicator:hover, QRadioButton::indicator:hover { border-color: $accent; }
QCheckBox::indicator:focus, QRadioButton::indicator:focus { border: 2px solid $accent; width: 12px; height: 12px; }
QCheckBox::indicator:checked, QAbstractItemView::indicator:checked { background: $accent;
    border-color: $accent; $image_check_on_accent }
QCheckBox::indicator:indeterminate, QAbstractItemView::indicator:indeterminate { background: $accent;
    border-color: $accent; $image_dash_on_accent }
QRadioButton::indicator:checked { background: $accent; border-color: $accent; $image_dot_on_accent }
QCheckBox::indicator:checked:focus, QRadioButton::indicator:checked:focus { border-color: $text; }
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled { border-color: $border; background: transparent; }
QCheckBox::indicator:checked:disabled, QRadioButton::indicator:checked:disabled { background: $disabled;
    border-color: $disabled; $image_check_surface }
QGroupBox { border: 1px solid $border; border-radius: 6px; margin-top: 9px; padding: 10px 8px 8px 8px; }
QGroupBox::title { subcontrol-origin: margin; left: 8px; padding: 0 4px; color: $muted; }

QTabWidget::pane { border: 0; }
QTabBar { qproperty-drawBase: 0; background: transparent; }
QTabBar::tab { background: transparent; color: $muted; padding: 8px 14px; border: 0;
    border-bottom: 2px solid transparent; }
QTabBar[small="true"]::tab { padding: 2px 7px 3px 7px; }
QTabBar::tab:hover { color: $text; border-bottom-color: $border; }
QTabBar::tab:selected { color: $text; border-bottom-color: $accent; }
QTabBar::tab:focus { background: $accent_soft; }
QTabBar::tab:disabled { color: $disabled; }
QTabBar::close-button { $image_cross_muted }
QTabBar::scroller { width: 22px; }
QTabBar QToolButton { padding: 0; background: $window; border-radius: 0; }
QTabBar QToolButton::right-arrow { $image_right_muted width: 12px; height: 12px; }
QTabBar QToolButton::left-arrow { $image_left_muted width: 12px; height: 12px; }

QAbstractItemView { background: $surface; color: $text; border: 0; outline: 0; selection-color: $text;
    selection-background-color: $accent_soft; alternate-background-color: $hover; }
QTableView, QTreeView, QListView { border: 1px solid transparent; border-radius: 6px; gridline-color: $grid; }
QTableView:focus, QTreeView:focus, QListView:focus { border-color: $accent; }
QTableView::item { padding: 0 6px; border: 0; }
QTreeView::item, QListView::item { padding: 4px 6px; border: 0; }
QListView::item { border-radius: 4px; }
QTableView::item:selected, QTreeView::item:selected, QListView::item:selected {
    background: $accent_soft; color: $text; }
QTreeView::item:hover:!selected, QListView::item:hover:!selected { background: $hover; }
QHeaderView { background: $surface; border: 0; }
QHeaderView::section { background: $surface; color: $muted; font-size: $small; font-weight: 600; border: 0;
    border-bottom: 1px solid $grid; padding: 6px; }
QHeaderView[wide="true"]::section { padding: 6px 9px; }
QHeaderView::section:hover { color: $text; }
QHeaderView::up-arrow { $image_up_text width: 9px; height: 9px; subcontrol-position: top center; }
QHeaderView::down-arrow { $image_down_text width: 9px; height: 9px; subcontrol-position: top center; }
QTableCornerButton::section { background: $surface; border: 0; border-bottom: 1px solid $grid; }

QAbstractScrollArea::corner { background: transparent; border: 0; }
QScrollBar { background: transparent; border: 0; margin: 0; }
QScrollBar:vertical { width: 12px; }
QScrollBar:horizontal { height: 12px; }
QScrollBar::handle { background: $control; border-radius: 3px; margin: 3px; }
QScrollBar::handle:vertical { min-height: 32px; }
QScrollBar::handle:horizontal { min-width: 32px; }
QScrollBar::handle:hover, QScrollBar::handle:pressed { background: $muted; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; border: 0; background: transparent; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QSlider:horizontal { min-height: 22px; }
QSlider::groove:horizontal { height: 4px; border-radius: 2px; background: $border; }
QSlider::sub-page:horizontal { height: 4px; border-radius: 2px; background: $accent; }
QSlider::handle:horizontal { width: 12px; height: 12px; margin: -6px 0; border-radius: 8px; background: $accent;
    border: 2px solid $surface; }
QSlider::handle:horizontal:hover { border-color: $accent_soft; }
QSlider::handle:horizontal:focus { border-color: $text; }
QSlider::sub-page:horizontal:disabled, QSlider::handle:horizontal:disabled { background: $disabled; }
QProgressBar { background: $border; border: 0; border-radius: 3px; min-height: 6px; max-height: 6px;
    color: transparent; }
QProgressBar::chunk { background: $accent; border-radius: 3px; }

QMenuBar { background: $window; color: $text; padding: 2px 4px; border: 0; }
QMenuBar::item { background: transparent; padding: 5px 9px; border-radius: 6px; }
QMenuBar::item:selected, QMenuBar::item:pressed { background: $grid; }
QMenuBar::item:disabled { color: $disabled; }
/* Qt gives the button of the menus without room 12 pixels. */
#qt_menubar_ext_button { padding: 0; border: 0; $icon_down_text }
QMenu { background: $surface; color: $text; border: 1px solid $border; padding: 5px; }
QMenu::item { padding: 6px 24px 6px 10px; border-radius: 4px; border: 1px solid transparent; }
QMenu::item:selected { background: $accent_soft; }
QMenu::item:disabled { color: $disabled; }
QMenu::icon { padding-left: 8px; }
QMenu::separator { height: 1px; background: $border; margin: 5px 6px; }
QMenu::indicator { width: 14px; height: 14px; left: 8px; }
QMenu::indicator:non-exclusive:checked { $image_check_text }
QMenu::indicator:exclusive:checked { $image_dot_text }
QMenu::right-arrow { $image_right_muted width: 12px; height: 12px; right: 6px; }
QMenu::left-arrow { $image_left_muted width: 12px; height: 12px; left: 6px; }
QMessageBox, QDialogButtonBox { button-layout: 3; }
QToolTip { background: $surface; color: $text; border: 1px solid $control; padding: 5px 7px; }
QStatusBar { background: $window; color: $text; }
QStatusBar::item { border: 0; }
"""
