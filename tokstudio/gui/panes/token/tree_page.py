"""The origin of a token and its use: the tree of its merges, and the tokens that contain it as a part."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from tokstudio.core.base.wording import several
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.token.merge_tree import MergeTree, TreeNode
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.spelling import whole_characters
from tokstudio.gui.token_text.token_chips import Chip, TokenChips
from tokstudio.gui.token_text.token_label import in_characters, token_label
from tokstudio.gui.widgets.labels import paragraph_label
from tokstudio.gui.widgets.layouts import column

_LONGEST_LABEL = 48  # characters of a token in the tree and in boxes
_MOST_NODES = 300
_CHIPS_AT_ONCE = 50
_ROOM_FOR_MORE = 100  # pixels of height below which the tokens built from it are hidden
_ROWS_BESIDE_TREE = 2
_ROWS_ALONE = 6


class MergesPage(QWidget):
    """The tree of one token, and the tokens that are built from it.

    Args:
        theme: Fonts and colours.
    """

    #: A token was clicked (id).
    chosen = Signal(int)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._tokenizer: Tokenizer | None = None
        self._rows: NDArray[np.intp] = np.empty(0, np.intp)  # the merges that have the token as a part
        self._as_characters = False
        self.tree = MergeTree(theme)
        self.tree.setMinimumHeight(40)
        self.tree.nodeClicked.connect(self.chosen)
        self.built = paragraph_label("muted")
        self.chips = TokenChips(theme)
        self.chips.setAccessibleName("Built from it")
        self.chips.clicked.connect(self.chosen)
        self.chips.moreWanted.connect(self._more)
        self._filler = QWidget()
        column((self.tree, 1), self.built, self.chips, (self._filler, 1), spacing=4, parent=self)
        QWidget.setTabOrder(self.tree, self.chips)
        theme.changed.connect(self._fit)

    def show_token(self, tokenizer: Tokenizer, token: int, as_characters: bool) -> None:
        """Shows the tree of a token, in the byte-level alphabet if that is switched on."""
        self._tokenizer, self._as_characters = tokenizer, as_characters
        self.chips.set_chips([])
        made = tokenizer.parts(token) is not None and tokenizer.kind(token) != "whole word"
        self.tree.set_tree(self._tree(tokenizer, token) if made else None)
        self.tree.setVisible(made)
        self.chips.show_rows(_ROWS_BESIDE_TREE if made else _ROWS_ALONE)
        self._filler.setVisible(not made)

    def show_built(self, tokenizer: Tokenizer, token: int, playhead: int) -> None:
        """Shows the tokens that the first merges have built from it; of very many, scrolling shows more."""
        self._tokenizer = tokenizer
        left, right = tokenizer.merges[:playhead].T
        self._rows = np.flatnonzero((left == token) | (right == token))
        ids = [chip.id for chip in self.chips.chips()]
        results = tokenizer.merge_results[self._rows[: max(_CHIPS_AT_ONCE, len(ids))]].tolist()
        same = min(len(ids), len(results))
        if not same or results[:same] != ids[:same]:
            results = results[:_CHIPS_AT_ONCE]
        if results != ids:
            self.chips.set_chips([Chip(made, self._label(tokenizer, made)) for made in results])
        count = len(self._rows)
        self.built.setText(f"Built from it: {several(count, 'token')}" if count else "")
        self._fit()

    def forget(self) -> None:
        """Releases the tokenizer and everything shown of it."""
        self._tokenizer, self._rows = None, np.empty(0, np.intp)
        self.chips.set_chips([])
        self.tree.set_tree(None)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hides the parts that do not fit."""
        super().resizeEvent(event)
        self._fit()

    def _more(self) -> None:
        tokenizer, known = self._tokenizer, len(self.chips.chips())
        if tokenizer is not None and known < len(self._rows):
            more = tokenizer.merge_results[self._rows[known : known + _CHIPS_AT_ONCE]].tolist()
            self.chips.add_chips([Chip(made, self._label(tokenizer, made)) for made in more])

    def _label(self, tokenizer: Tokenizer, token: int) -> str:
        limit = 4 * _LONGEST_LABEL  # a character has four bytes at most
        raw = whole_characters(tokenizer.tokens.prefix(token, limit + 4), limit)
        as_characters = self._as_characters and tokenizer.kind(token) != "special"
        return in_characters(raw, _LONGEST_LABEL) if as_characters else token_label(raw, _LONGEST_LABEL)

    def _tree(self, tokenizer: Tokenizer, token: int) -> TreeNode:
        """Builds the tree level by level; not recursively, as a long token is a chain of thousands of merges."""
        ids = [token]
        first_parts: list[int] = []  # places; 0 for a base token, and where it is cut short
        for one in ids:  # which grows
            made = tokenizer.parts(one) if len(ids) + 2 <= _MOST_NODES else None
            first_parts.append(len(ids) if made is not None else 0)
            ids += made or ()
        labels = {one: self._label(tokenizer, one) for one in set(ids)}
        nodes: dict[int, TreeNode] = {}
        for place, (one, part) in reversed(list(enumerate(zip(ids, first_parts, strict=True)))):
            if part:
                nodes[place] = TreeNode(one, labels[one], nodes[part], nodes[part + 1])
            else:
                nodes[place] = TreeNode(one, labels[one], truncated=tokenizer.parts(one) is not None)
        return nodes[0]

    def _fit(self) -> None:
        # Without a tree, there is room at any height.
        roomy = self.tree.isHidden() or self.height() >= self._theme.scaled(_ROOM_FOR_MORE)
        for widget in (self.built, self.chips):
            widget.setVisible(roomy and bool(self.chips.chips()))
