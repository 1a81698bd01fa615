"""The Token pane: the token that was last pointed at, anywhere; where it came from and what is built from it.

All of it is read from the active run, at the playhead.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QContextMenuEvent, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QStackedWidget, QToolButton, QVBoxLayout, QWidget

from tokstudio.core.tokenizer import Tokenizer
from tokstudio.core.tokens import TokenKind
from tokstudio.gui.icons import icon
from tokstudio.gui.session import Session
from tokstudio.gui.studio_run import StudioRun
from tokstudio.gui.theme import Theme
from tokstudio.gui.widgets.merge_tree import MergeTree, TreeNode
from tokstudio.gui.widgets.pane import EmptyState, Pane
from tokstudio.gui.widgets.token_chips import Chip, TokenChips
from tokstudio.gui.widgets.token_label import TokenLabel, in_characters, meaning, token_label

_EMPTY = "Point at a token anywhere to see where it came from."
_EXPLAINED: dict[TokenKind, str] = {
    "special": "Text becomes it only where special tokens are recognised.",
    "whole word": "No merge makes this token: only a whole pre-token becomes it.",
    "unreachable": "No merge makes this token, so no text becomes it.",
    "other": "No merge makes this token: its library does, by rules of its own.",
}
_LONGEST_HEX = 24  # bytes
_LONGEST_LABEL = 48  # characters of a token in the tree and in boxes
_LONGEST_TITLE = 400  # bytes of a token in large type
_MOST_NODES = 300
_MOST_CHIPS = 50
_SMALLEST = 120  # pixels of height
_ROOM_FOR_MORE = 170  # below which the tree has what is built from the token left out
_ROWS_BESIDE_TREE = 2
_ROWS_ALONE = 6


class TokenPane(Pane):
    """One token: its text, bytes, uses, tree of merges and what is built from it.

    Args:
        session: The state of the studio.
        theme: Colours and fonts.
        actions: The window's actions, by id: `byte_level_characters`.
    """

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("token", "Token")
        self._session = session
        self._theme = theme
        self._shown: tuple[int, int] | None = None  # run and token that headline and tree show
        self._stale = True
        self._characters = actions["byte_level_characters"]
        self._build()
        self._characters.toggled.connect(self._show_anew)
        session.token_changed.connect(self.refresh)
        session.playhead_changed.connect(self.refresh)
        session.merges_added.connect(self.refresh)
        session.runs_changed.connect(self.refresh)
        self.visibilityChanged.connect(self._catch_up)
        self.refresh()

    def sizeHint(self) -> QSize:
        """Gives room for a small tree."""
        return QSize(380, 320)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leaves out what there is no room for."""
        super().resizeEvent(event)
        self._fit()

    def refresh(self) -> None:
        """Shows the token at the playhead; while nobody sees it, notes that it is not up to date."""
        if not self.isVisible():
            self._stale = True
            return
        self._stale = False
        run, token = self._session.active, self._session.token
        tokenizer = run.tokenizer if run is not None and token is not None else None
        if run is None or tokenizer is None or token is None or not tokenizer.tokens.in_use(token):
            self._shown = None
            self.pages.setCurrentWidget(self.empty)
            self.copies.setEnabled(False)
            return
        self.pages.setCurrentWidget(self.page)
        self.copies.setEnabled(True)
        if self._shown != (run.key, token):
            self._shown = (run.key, token)
            self._show_token(tokenizer, token)
        self._show_at_playhead(run, tokenizer, token)

    def _show_anew(self) -> None:
        self._shown = None
        self.chips.set_chips([])
        self.refresh()

    def copy(self) -> None:
        """Copies the token's text."""
        self._copy_text()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offers to copy the token."""
        if self._shown is not None:
            self._menu.popup(event.globalPos())

    def _build(self) -> None:
        self.empty = EmptyState(_EMPTY)
        self.empty.setMinimumWidth(1)
        self.page = QWidget()
        self.headline = TokenLabel(self._theme, 20)
        self.origin = _muted()
        self.facts = _muted(wraps=True)
        self.meaning = _muted(wraps=True)
        self.tree = MergeTree(self._theme)
        self.tree.setMinimumHeight(40)
        self.tree.nodeClicked.connect(self._session.look_at)
        self.built = _muted(wraps=True)
        self.chips = TokenChips(self._theme)
        self.chips.setAccessibleName("Built from it")
        self.chips.clicked.connect(self._session.look_at)
        self._filler = QWidget()
        column = QVBoxLayout(self.page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        top = QHBoxLayout()
        top.setSpacing(12)
        top.addWidget(self.headline, 1)
        top.addWidget(self.origin, 0, Qt.AlignmentFlag.AlignVCenter)
        column.addLayout(top)
        column.addWidget(self.facts)
        column.addWidget(self.meaning)
        column.addSpacing(4)
        column.addWidget(self.tree, 1)
        column.addWidget(self.built)
        column.addWidget(self.chips)
        column.addWidget(self._filler, 1)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.empty)
        self.pages.addWidget(self.page)
        self._theme.changed.connect(self._fit)
        self._fit()
        self.body.addWidget(self.pages)
        self._build_menu()

    def _build_menu(self) -> None:
        self._menu = QMenu(self)
        self._menu.addAction("Copy &Text", self._copy_text)
        self._menu.addAction("Copy &Bytes", self._copy_bytes)
        self._menu.addAction("Copy &Id", self._copy_id)
        self.copies = QToolButton()
        self.copies.setIcon(icon("copy", self._theme, "muted"))
        self.copies.setIconSize(QSize(16, 16))
        self.copies.setToolTip("Copy the token's text, bytes or id")
        self.copies.setAccessibleName("Copy the token")
        self.copies.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.copies.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.copies.setMenu(self._menu)
        self.header.addWidget(self.copies)
        QWidget.setTabOrder(self.copies, self.tree)
        QWidget.setTabOrder(self.tree, self.chips)

    def _show_token(self, tokenizer: Tokenizer, token: int) -> None:
        """What the playhead does not change."""
        length = tokenizer.tokens.length(token)
        raw = tokenizer.tokens.prefix(token, _LONGEST_TITLE)
        parts, kind = tokenizer.parts(token), tokenizer.kind(token)
        self.headline.set_token(raw, kind == "special", self._in_characters(tokenizer, token))
        self.origin.setText(f"id {token:,} · {_origin(tokenizer, token, kind)}")
        self.meaning.setText(_EXPLAINED.get(kind) or (meaning(raw) if 1 < length <= _LONGEST_TITLE else ""))
        self.tree.set_tree(self._tree(tokenizer, token) if parts is not None else None)
        self.tree.setVisible(parts is not None)
        self.chips.show_rows(_ROWS_BESIDE_TREE if parts is not None else _ROWS_ALONE)
        self._filler.setVisible(parts is None)

    def _show_at_playhead(self, run: StudioRun, tokenizer: Tokenizer, token: int) -> None:
        """What the playhead changes."""
        playhead = min(self._session.playhead, len(run))
        only_byte = tokenizer.tokens.length(token) == 1
        facts = [meaning(tokenizer.tokens.prefix(token, 1)) if only_byte else _hexadecimal(tokenizer, token)]
        number = _merge_number(tokenizer, token)
        if number > playhead:
            facts.append(f"Not made yet: merge {number:,} makes it.")
        else:
            uses = run.uses_of(token, playhead)
            if uses is not None:
                facts.append(_uses(uses, run.uses_of(token, number) or 0))
        text = "  ·  ".join(facts)
        if text != self.facts.text():
            self.facts.setText(text)
        self._show_built(tokenizer, token, playhead)

    def _show_built(self, tokenizer: Tokenizer, token: int, playhead: int) -> None:
        rows = np.flatnonzero((tokenizer.merges[:playhead] == token).any(axis=1))
        results = tokenizer.merge_results[rows[:_MOST_CHIPS]].tolist()
        if results != [chip.id for chip in self.chips.chips()]:
            self.chips.set_chips([Chip(made, self._label(tokenizer, made)) for made in results])
        count = len(rows)
        first = f", the first {_MOST_CHIPS} of them here" if count > _MOST_CHIPS else ""
        text = f"Built from it: {count:,} token{'' if count == 1 else 's'}{first}" if count else ""
        if text != self.built.text():
            self.built.setText(text)
        self._fit()

    def _in_characters(self, tokenizer: Tokenizer, token: int) -> bool:
        """Whether a token is shown in the byte-level alphabet."""
        made_of_bytes = tokenizer.alphabet.base == "bytes"
        return self._characters.isChecked() and made_of_bytes and tokenizer.kind(token) != "special"

    def _label(self, tokenizer: Tokenizer, token: int) -> str:
        # A character has four bytes at most: more than enough for the label, even where the last one is cut.
        length, limit = tokenizer.tokens.length(token), 4 * _LONGEST_LABEL
        raw = tokenizer.tokens.prefix(token, limit)
        if self._in_characters(tokenizer, token):
            return in_characters(raw, _LONGEST_LABEL)
        if length > limit:
            raw = raw.decode("utf-8", "ignore").encode() or raw
        return token_label(raw, _LONGEST_LABEL)

    def _tree(self, tokenizer: Tokenizer, token: int) -> TreeNode:
        """How a token was made, level by level; without recursion, as a long one is a chain of thousands of merges."""
        ids = [token]
        parts: list[tuple[int, int] | None] = []  # the places of both parts; None for a byte, and where it is cut short
        labels: dict[int, str] = {}
        for place in range(_MOST_NODES):
            if place == len(ids):
                break
            made = tokenizer.parts(ids[place])
            if made is None or len(ids) + 2 > _MOST_NODES:
                parts.append(None)
            else:
                parts.append((len(ids), len(ids) + 1))
                ids += made
        nodes: list[TreeNode | None] = [None] * len(ids)
        for place in reversed(range(len(ids))):
            one = ids[place]
            if one not in labels:
                labels[one] = self._label(tokenizer, one)
            label = labels[one]
            left_right = parts[place]
            if left_right is None:
                nodes[place] = TreeNode(one, label, truncated=tokenizer.parts(one) is not None)
            else:
                nodes[place] = TreeNode(one, label, nodes[left_right[0]], nodes[left_right[1]])
        root = nodes[0]
        assert root is not None
        return root

    def _fit(self) -> None:
        self.pages.setMinimumHeight(self._theme.scaled(_SMALLEST))
        # Without a tree there is room at any height.
        roomy = self.tree.isHidden() or self.pages.height() >= self._theme.scaled(_ROOM_FOR_MORE)
        self.meaning.setVisible(roomy and bool(self.meaning.text()))
        for widget in (self.built, self.chips):
            widget.setVisible(roomy and bool(self.chips.chips()))

    def _catch_up(self) -> None:
        if self._stale:
            self.refresh()

    def _copy_text(self) -> None:
        self._put(self._bytes().decode("utf-8", "replace"))

    def _copy_bytes(self) -> None:
        self._put(self._bytes().hex(" ").upper())

    def _copy_id(self) -> None:
        self._put(str(self._session.token))

    def _bytes(self) -> bytes:
        run, token = self._session.active, self._session.token
        return (run.tokenizer.tokens[token] or b"") if run is not None and token is not None else b""

    def _put(self, text: str) -> None:
        if self._shown is not None:
            QGuiApplication.clipboard().setText(text)


def _muted(wraps: bool = False) -> QLabel:
    label = QLabel()
    label.setProperty("role", "muted")
    label.setWordWrap(wraps)
    if wraps:
        label.setMinimumWidth(1)  # it takes the width it gets, and asks for height instead
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def _merge_number(tokenizer: Tokenizer, token: int) -> int:
    """Which merge makes a token, from 1 on; 0 for a byte."""
    rows = np.flatnonzero(tokenizer.merge_results == token)
    return int(rows[0]) + 1 if len(rows) else 0


def _origin(tokenizer: Tokenizer, token: int, kind: TokenKind) -> str:
    if kind == "merge":
        return f"merge {_merge_number(tokenizer, token):,}"
    return "special token" if kind == "special" else kind


def _hexadecimal(tokenizer: Tokenizer, token: int) -> str:
    length = tokenizer.tokens.length(token)
    shown = tokenizer.tokens.prefix(token, _LONGEST_HEX).hex(" ").upper()
    return shown if length <= _LONGEST_HEX else f"{shown} … {length:,} bytes"


def _uses(count: int, at_first: int) -> str:
    if count == 0:
        return "now only inside longer tokens" if at_first else "not in the corpus"
    return f"{count:,} use{'' if count == 1 else 's'} in the corpus"
