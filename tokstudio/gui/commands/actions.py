"""The QActions of the window: made from their specs, and enabled while nothing stands in their way."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence

from tokstudio.gui.commands.registry import SPECS, Spec
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme


def build_actions(commands: QObject, theme: Theme, owner: QObject) -> dict[str, QAction]:
    """Makes the QAction of every spec; it calls the method of `commands` with its id as name, or `export_format`."""
    made: dict[str, QAction] = {}
    for spec in SPECS:
        action = QAction(spec.text, owner)
        action.setObjectName(spec.id)
        action.setStatusTip(spec.tip)
        action.setCheckable(spec.checkable)
        action.setMenuRole(spec.role)
        sequences = [QKeySequence(key) for key in spec.keys]
        action.setShortcuts([sequence for sequence in dict.fromkeys(sequences) if not sequence.isEmpty()])
        action.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
        if spec.icon:
            action.setIcon(icon(spec.icon, theme))
            # In a menu the tick stands where the icon would.
            action.setIconVisibleInMenu(not spec.checkable)
        action.triggered.connect(_slot(commands, spec))
        made[spec.id] = action
    # One key for both: only one of them can be enabled at a time.
    refresh_actions(made, None)
    return made


def _slot(commands: QObject, spec: Spec) -> Callable[..., object]:
    if not spec.format:
        return getattr(commands, spec.id)
    export: Callable[[str], None] = getattr(commands, "export_format")  # noqa: B009  of a QObject nothing more is known
    return lambda *_: export(spec.format)


def refresh_actions(actions: Mapping[str, QAction], session: Session | None) -> None:
    """Enables what can be done now; what cannot says why in its tool tip."""
    for spec in SPECS:
        action = actions[spec.id]
        reason = spec.obstacle(session) if session is not None else None
        action.setEnabled(reason is None)
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        words = spec.text.replace("&", "").rstrip("…")
        tip = reason or (f"{words} ({keys})" if keys else words)
        if tip != action.toolTip():
            action.setToolTip(tip)
