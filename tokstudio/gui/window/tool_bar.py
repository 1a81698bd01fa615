"""The tool bar: the switch of workspaces, and buttons for the corpus, the training and the export."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QSize, Qt, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLineEdit, QMenu, QSizePolicy, QToolBar, QToolButton, QWidget

from tokstudio.core.base.wording import printable
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.layouts import Fitting, row
from tokstudio.gui.widgets.menus import button_of
from tokstudio.gui.window.workspaces import WORKSPACES

# --- The menu of recently opened files --------------------------------------------------------------------------------

# The icon and the tip of each kind of recent file.
_KINDS = {
    "text": ("text", "Add this to the corpus."),
    "bytes": ("text", "Add this to the corpus, read as bytes."),
    "plain": ("text", "Add this to the corpus, read as plain text."),
    "tokenizer": ("tokenizer", "Open this tokenizer."),
    "name": ("tokenizer", "Open this tokenizer by its name; uses the network."),
    "project": ("open", "Open this project."),
    "experiment": ("open", "Replace corpus and settings by those of this experiment."),
}


class RecentEntries(QObject):
    """Fills the menu when it is about to show; `clear` is its last entry, and `opened` opens a file of a kind."""

    def __init__(
        self, menu: QMenu, clear: QAction, preferences: Preferences, theme: Theme, opened: Callable[[Path, str], object]
    ) -> None:
        super().__init__(menu)
        self.menu, self._clear, self._preferences, self._theme, self._open = menu, clear, preferences, theme, opened
        menu.aboutToShow.connect(self._fill)

    def _fill(self) -> None:
        self.menu.clear()
        for path, kind in self._preferences.recent:
            action = self.menu.addAction(printable(str(path)).replace("&", "&&"))
            drawn, tip = _KINDS.get(kind, _KINDS["text"])
            action.setIcon(icon(drawn, self._theme))
            action.setStatusTip(tip)
            action.triggered.connect(partial(self._open, path, kind))
        self.menu.addSeparator()
        self.menu.addAction(self._clear)


_ALWAYS, _WITH_RUN = ("open_corpus", "train"), ("pause", "step", "stop")
#: The buttons that are without their text, from much room to little, and those that are only in the menu then.
_ALL = (*_ALWAYS, *_WITH_RUN, "export")
_WITHOUT_TEXT, _IN_MENU = ((), _WITH_RUN, _ALL, _ALL), ((), (), (), ("step", "stop"))


class ToolBar(Fitting, QToolBar):
    """The switch of workspaces, and buttons for the common actions; those that need a run are shown once there is one.

    `find` is the field at its right end.
    """

    def __init__(self, actions: Mapping[str, QAction], theme: Theme, find: QWidget) -> None:
        beside = Qt.ToolButtonStyle.ToolButtonTextBesideIcon
        super().__init__("Toolbar", movable=False, toolButtonStyle=beside, iconSize=QSize(18, 18))
        self._needed: list[int] = []  # the width that is needed without the texts of `_WITHOUT_TEXT`
        self._level = 0  # which of them are hidden
        self.setObjectName("toolbar")
        self.switch = QWidget()
        self.switch.setProperty("switch", True)
        for name, workspace in WORKSPACES.items():
            actions[f"workspace_{name}"].setIconText(workspace.title)
        row(*(button_of(actions[f"workspace_{name}"]) for name in WORKSPACES), spacing=0, parent=self.switch)
        self.addWidget(self.switch)
        self.addSeparator()
        self._buttons = {name: button_of(actions[name]) for name in (*_ALWAYS, *_WITH_RUN)}
        self._shown = {name: self.addWidget(button) for name, button in self._buttons.items()}
        for name, place in self._shown.items():
            # Whenever a place in the tool bar is shown or hidden, Qt gives its button the state of the place.
            place.setEnabled(actions[name].isEnabled())
            actions[name].enabledChanged.connect(place.setEnabled)
        self.train_button = self._buttons["train"]
        popup = QToolButton.ToolButtonPopupMode.InstantPopup
        self.export_button = QToolButton(toolButtonStyle=beside, popupMode=popup)  # its menu is set later
        self.export_button.setText("Export")
        self.export_button.setToolTip("Export")
        self.export_button.setIcon(icon("export", theme))
        self.export_button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        export = self.addWidget(self.export_button)
        self._buttons["export"] = self.export_button
        spacer = QWidget()
        spacer.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(spacer)
        self._with_run, self._others_with_run = False, (export, self.addWidget(find))
        self._show_run_tools()
        theme.follow(self._measure_again)

    def _measure_again(self) -> None:
        self._needed = []
        # Before the layout has followed, it would give the old widths.
        QTimer.singleShot(0, self, self.fit)

    def fit(self) -> None:
        """Hides the text of buttons if the Find field would have too little room: first of those that control a run."""
        if not self._needed:
            names = _ALL if self._with_run else _ALWAYS
            yielding = (field.sizeHint() - field.minimumSizeHint() for field in self.findChildren(QLineEdit))
            others = self.sizeHint().width() - sum(spare.width() for spare in yielding)
            others -= self._width_of(names)
            for level in range(len(_WITHOUT_TEXT)):
                self._set_level(level)
                self._needed.append(others + self._width_of(names))
        fitting = (level for level, width in enumerate(self._needed) if width <= self.width())
        self._set_level(next(fitting, len(_WITHOUT_TEXT) - 1))

    def _width_of(self, names: Iterable[str]) -> int:
        shown = (self._buttons[name] for name in names if name not in _IN_MENU[self._level])
        return sum(button.sizeHint().width() for button in shown)

    def _set_level(self, level: int) -> None:
        if level == self._level:
            return
        self._level = level
        only, beside = Qt.ToolButtonStyle.ToolButtonIconOnly, Qt.ToolButtonStyle.ToolButtonTextBesideIcon
        for name, button in self._buttons.items():
            button.setToolButtonStyle(only if name in _WITHOUT_TEXT[level] else beside)
        self._show_run_tools()

    def show_run_tools(self, shown: bool) -> None:
        """Shows what needs a run, or hides it."""
        if shown != self._with_run:
            self._with_run = shown
            self._show_run_tools()
            self._measure_again()

    def _show_run_tools(self) -> None:
        for name in _WITH_RUN:
            self._shown[name].setVisible(self._with_run and name not in _IN_MENU[self._level])
        for tool in self._others_with_run:
            tool.setVisible(self._with_run)
