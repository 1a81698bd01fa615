"""Actions of the window: definition, QAction and enabling."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence

from tokstudio.gui.session import availability
from tokstudio.gui.session.availability import Obstacle
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Action:
    """One action."""

    id: str
    text: str  # on menus and buttons; `&` marks the mnemonic
    tip: str  # one sentence for the status bar
    run: Callable[[], object] | Callable[[bool], object]  # if `checkable`, it may take the new state
    keys: tuple[str | QKeySequence.StandardKey, ...] = ()  # shortcuts; menus show the first
    icon: str = ""  # the name of a file in `resources/icons`, or ""
    obstacle: Obstacle = availability.always  # returns the reason why the action is disabled, or None
    checkable: bool = False  # whether it can be on or off
    role: QAction.MenuRole = QAction.MenuRole.NoRole  # in the menus of macOS


def build_actions(actions: Iterable[Action], theme: Theme, owner: QObject) -> dict[str, QAction]:
    """Creates the QAction of each action."""
    made: dict[str, QAction] = {}
    for action in actions:
        built = made[action.id] = QAction(action.text, owner)
        built.setObjectName(action.id)
        built.setCheckable(action.checkable)
        built.setMenuRole(action.role)
        sequences = [QKeySequence(key) for key in action.keys]
        built.setShortcuts([sequence for sequence in dict.fromkeys(sequences) if not sequence.isEmpty()])
        built.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
        _describe(action, built)
        if action.icon:
            built.setIcon(icon(action.icon, theme))
            # A menu shows the check mark in place of the icon.
            built.setIconVisibleInMenu(not action.checkable)
        built.triggered.connect(partial(_log_action, action.id))
        built.triggered.connect(action.run)
    return made


def refresh_actions(actions: Iterable[Action], built: Mapping[str, QAction], session: Session) -> None:
    """Enables the available actions; the tool tip and the status tip of a disabled action give the reason."""
    for action in actions:
        reason = action.obstacle(session)
        shown = built[action.id]
        if reason is None and not shown.isEnabled():
            shown.setEnabled(True)
            _describe(action, shown)
        elif reason is not None and (shown.isEnabled() or reason != shown.toolTip()):
            shown.setEnabled(False)
            shown.setToolTip(reason)
            shown.setStatusTip(reason)


def _log_action(name: str) -> None:
    _log.info("Action: %s", name)


def _describe(action: Action, built: QAction) -> None:
    """Sets the tips of an available action: its name and keys, and what it does."""
    keys = built.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    words = action.text.replace("&", "").rstrip("…")
    built.setToolTip(f"{words} ({keys})" if keys else words)
    built.setStatusTip(action.tip)
