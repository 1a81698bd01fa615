"""The Token pane: the token that the user last pointed at in any pane, at the playhead.

See also `merge_tree.py` (its merges, and the tokens built from it), `origin_page.py` and `lines_page.py`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QAction, QContextMenuEvent, QGuiApplication
from PySide6.QtWidgets import QWidget

from tokstudio.core.analysis.reachability import CUT, MADE_OTHERWISE, NORMALIZED, REACHED
from tokstudio.core.base.wording import several_whole, whole_text
from tokstudio.core.guide.glossary import explained
from tokstudio.core.model.tokens import TokenKind
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.token.lines_page import LinesPage
from tokstudio.gui.panes.token.merge_tree import MergesPage
from tokstudio.gui.panes.token.origin_page import OriginPage
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.spelling import whole_characters
from tokstudio.gui.token_text.token_label import TokenLabel, meaning
from tokstudio.gui.widgets.labels import TermLabel, paragraph_label
from tokstudio.gui.widgets.layouts import Fitting, column, row, set_tab_order, stacked
from tokstudio.gui.widgets.menus import Menu, tool_button
from tokstudio.gui.widgets.pane import EmptyState, HeaderTabs, Pane
from tokstudio.version import __version__

_EMPTY = "Point at a token anywhere to see where it came from."
_EXPLAINED: dict[TokenKind, str] = {
    "special": "Text becomes it only if special tokens are recognised.",
    "whole word": "No merge makes this token: only a whole pre-token becomes it.",
    "unreachable": "No merge makes this token, so no text becomes it.",
    "other": "No merge makes this token: its library does, by its own rules.",
}
_UNKNOWN = "Every character that is not in the vocabulary becomes it."
_UNREACHED = {
    MADE_OTHERWISE: "No text becomes it: other merges join its bytes first.",
    CUT: "No text becomes it: the pattern always cuts it.",
    NORMALIZED: "No text becomes it: the normalizer changes its text.",
}
_LONGEST_HEX = 24  # bytes
_LONGEST_TITLE = 400  # bytes of a token in large type
_SMALLEST = 120  # pixels of height
_ROOM_FOR_MEANING = 170
_MANY = 200_000  # merges from which the rank is updated only after the playhead has stopped
#: The word of the glossary for the origin of a token.
_KINDS = {"byte": "byte", "character": "character", "merge": "merge", "special": "special-token"}
_TABS = {
    "Merges": explained("The tree of its merges, and what is built from it", "merge"),
    "Lines": "The lines of the corpus with the token",
    "Origin": "The sources and documents that it comes from",
}


class TokenPane(Fitting, Pane):
    """One token: its text, bytes, uses and rank; its merges and what is built from it, its lines, or its origin."""

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("token", "Token")
        self._runs, self._view, self._reachability = session.runs, session.view, session.reachability
        self._theme = theme
        self._shown: tuple[StudioRun, int] | None = None  # run and token of the headline and the tree
        self._stale = self._titled = True
        self._characters = actions["byte_level_characters"]
        self._later = QTimer(self, singleShot=True, interval=session.jobs.pauses.changes)
        self._later.timeout.connect(self._show_uses)
        self._build(session, actions)
        self._characters.toggled.connect(self._show_anew)
        session.reachability.changed.connect(self._show_anew)
        for signal in (session.view.token_changed, session.view.playhead_changed, session.training.merges_added):
            signal.connect(self.refresh)
        session.runs.changed.connect(self.refresh)
        self.visibilityChanged.connect(self._catch_up)
        self.refresh()

    def sizeHint(self) -> QSize:
        return QSize(380, 320)

    def show_title(self, shown: bool) -> None:
        self._titled = shown
        self.fit()

    def refresh(self) -> None:
        """Shows the token at the playhead, or notes that it is outdated while the pane is hidden."""
        if self._shown is not None and self._shown[0] not in self._runs.shown:
            # A deleted run is released at once, even in a hidden pane.
            self._shown = None
            self.merges.forget()
        if not self.isVisible():
            self._stale = True
            return
        self._stale = False
        run, token = self._runs.active, self._view.token
        if run is None or token is None or not run.tokenizer.is_known(token):
            self._shown = None
            self.pages.setCurrentWidget(self.empty)
            self.copies.setEnabled(False)
            return
        self.pages.setCurrentWidget(self.page)
        self.copies.setEnabled(True)
        self._show_token(run, token)
        if len(run) < _MANY:
            self._show_uses()
        else:
            # Counting the uses of so many merges takes longer than a frame.
            self._later.start()
        self.merges.show_built(run.tokenizer, token, min(self._view.playhead, len(run)))
        self.lines.refresh()
        self.origins.refresh()

    def _show_anew(self) -> None:
        self._shown = None
        self.refresh()

    def tree_svg(self) -> bytes:
        """The tree of the current token as an SVG drawing in its natural size."""
        run, token = self._runs.active, self._view.token
        if run is not None and token is not None:
            self._show_token(run, token)
        about = "" if run is None else f"{run.sized_name(min(self._view.playhead, len(run)))} · TokStudio {__version__}"
        return self.tree.to_svg(about)

    def copy(self) -> None:
        """Copies the selected lines, the rows of the origin, or the token's text."""
        page = self.views.currentWidget()
        if page is self.lines and self.lines.table.selectionModel().hasSelection():
            self.lines.table.copy()
        elif page is self.origins and self.origins.table.hasFocus():
            self.origins.table.copy()
        else:
            self._copy_text()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self._shown is not None:
            on_tree = self.tree.isVisible() and self.tree.rect().contains(self.tree.mapFromGlobal(event.globalPos()))
            (self._tree_menu if on_tree else self._menu).popup(event.globalPos())

    def _build(self, session: Session, actions: Mapping[str, QAction]) -> None:
        self.empty = EmptyState(_EMPTY)
        self.empty.setMinimumWidth(1)
        self.page = QWidget()
        self.headline = TokenLabel(self._theme, 20)
        self.origin = TermLabel("", "id")
        self.origin.setProperty("role", "muted")
        self.facts, self.meaning = paragraph_label("muted"), paragraph_label("muted")
        self.merges, self.lines = MergesPage(self._theme), LinesPage(session, self._theme)
        self.merges.chosen.connect(self._view.look_at)
        self.tree, self.built, self.chips = self.merges.tree, self.merges.built, self.merges.chips
        self.origins = OriginPage(session, self._theme)
        self.views = stacked(self.merges, self.lines, self.origins)
        top = row((self.headline, 1), (self.origin, Qt.AlignmentFlag.AlignVCenter), spacing=12)
        column(top, self.facts, self.meaning, 4, (self.views, 1), spacing=4, parent=self.page)
        self.pages = stacked(self.empty, self.page)
        self.body.addWidget(self.pages)
        self.tabs = HeaderTabs("Merges, lines or origin", _TABS)
        self.tabs.currentChanged.connect(self.views.setCurrentIndex)
        self.header.insertWidget(1, self.tabs)
        self._build_menu(actions)
        self._theme.follow(self.fit)

    def _build_menu(self, actions: Mapping[str, QAction]) -> None:
        self._menu = Menu(self)
        self._menu.addAction("Copy &Text", self._copy_text)
        self._menu.addAction("Copy &Bytes", lambda: self._put(self._bytes().hex(" ").upper()))
        self._menu.addAction("Copy &Id", lambda: self._put(str(self._view.token)))
        self._tree_menu = Menu(self)
        self._tree_menu.addActions(self._menu.actions())
        self._tree_menu.addSeparator()
        self._tree_menu.addAction("Zoom I&n", self.tree.zoom_in).setToolTip("Also Ctrl+Wheel, or the + key")
        self._tree_menu.addAction("Zoom &Out", self.tree.zoom_out)
        self._tree_menu.addAction("&Fit", self.tree.fit)
        self._tree_menu.addSeparator()
        self._tree_menu.addAction(actions["export_tree_svg"])
        tip, drawing = "Copy the token's text, bytes or id", icon("copy", self._theme, "muted")
        self.copies = tool_button(tip, drawing, name="Copy the token", menu=self._menu)
        self.copies.setIconSize(QSize(16, 16))
        self.copies.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.header.addWidget(self.copies)
        set_tab_order(self.tabs, self.copies, self.tree)

    def _show_token(self, run: StudioRun, token: int) -> None:
        """Shows the part that does not depend on the playhead, unless it is shown already."""
        if self._shown == (run, token):
            return
        self._shown, tokenizer = (run, token), run.tokenizer
        length = int(tokenizer.lengths_of_all[token])
        raw = whole_characters(tokenizer.tokens.prefix(token, _LONGEST_TITLE + 4), _LONGEST_TITLE)
        kind = tokenizer.kind(token)
        made_of_bytes = tokenizer.alphabet.base == "bytes"
        as_characters = self._characters.isChecked() and made_of_bytes
        self.headline.set_token(raw, kind == "special", as_characters and kind != "special")
        self.origin.setText(f"id {token:,} · {_origin(tokenizer, token, kind)}")
        self.origin.set_word(_KINDS.get(kind, "id"))
        self._reachability.ask(run)
        unknown = _UNKNOWN if token == tokenizer.alphabet.unknown else ""
        explained = unknown or _EXPLAINED.get(kind) or _UNREACHED.get(_reach(run, token))
        self.meaning.setText(explained or (meaning(raw) if 1 < length <= _LONGEST_TITLE else ""))
        self.merges.show_token(tokenizer, token, as_characters)
        self.fit()

    def _show_uses(self) -> None:
        run, token = self._runs.active, self._view.token
        if run is None or token is None or self._shown != (run, token):
            return
        tokenizer, playhead = run.tokenizer, min(self._view.playhead, len(run))
        only_byte = tokenizer.lengths_of_all[token] == 1
        facts = [meaning(tokenizer.tokens.prefix(token, 1)) if only_byte else _hexadecimal(tokenizer, token)]
        number, removed_by = _merge_number(tokenizer, token), run.removals.removed_by(token)
        if number > playhead:
            facts.append(f"Not made yet: merge {number:,} makes it.")
        elif number and (needed := tokenizer.needed_merges) is not None and needed[number - 1] > playhead:
            facts.append(f"Not made yet: merge {needed[number - 1]:,} makes a part of it.")
        elif removed_by is not None and removed_by <= playhead:
            facts.append(f"Not in the vocabulary any more: removed after merge {removed_by:,}.")
        else:
            facts.append(_uses(run, token, playhead, number))
        self.facts.setText("  ·  ".join(filter(None, facts)))

    def fit(self) -> None:
        self.pages.setMinimumHeight(self._theme.scaled(_SMALLEST))
        # Tabs are never cut; in a narrow pane they are enough without the title.
        shown, margins = (self.title, self.tabs, self.copies), self.header.contentsMargins()
        needed = sum(each.sizeHint().width() + self.header.spacing() for each in shown)
        self.tabs.setMinimumWidth(self.tabs.sizeHint().width())
        self.title.setVisible(self._titled and needed + margins.left() + margins.right() <= self.width())
        roomy = self.tree.isHidden() or self.pages.height() >= self._theme.scaled(_ROOM_FOR_MEANING)
        self.meaning.setVisible(roomy and bool(self.meaning.text()))

    def _catch_up(self) -> None:
        if self._stale:
            self.refresh()

    def _copy_text(self) -> None:
        self._put(self._bytes().decode("utf-8", "replace"))

    def _bytes(self) -> bytes:
        run, token = self._runs.active, self._view.token
        return run.tokenizer.bytes_of(token) if run is not None and token is not None else b""

    def _put(self, text: str) -> None:
        if self._shown is not None:
            QGuiApplication.clipboard().setText(text)


def _merge_number(tokenizer: Tokenizer, token: int) -> int:
    """The number of the merge that makes a token, from 1; 0 for a base token."""
    rows = np.flatnonzero(tokenizer.merge_results == token)
    return int(rows[0]) + 1 if len(rows) else 0


def _origin(tokenizer: Tokenizer, token: int, kind: TokenKind) -> str:
    if kind == "merge":
        return f"merge {_merge_number(tokenizer, token):,}"
    return "special token" if kind == "special" else kind


def _reach(run: StudioRun, token: int) -> int:
    """Whether some text becomes a token, if that is known."""
    reach = run.tokens.reach
    return REACHED if reach is None else int(reach[run.tokens.slot_of(token)])


def _hexadecimal(tokenizer: Tokenizer, token: int) -> str:
    length = int(tokenizer.lengths_of_all[token])
    shown = tokenizer.tokens.prefix(token, _LONGEST_HEX).hex(" ").upper()
    return shown if length <= _LONGEST_HEX else f"{shown} … {length:,} bytes"


def _uses(run: StudioRun, token: int, playhead: int, number: int) -> str:
    """The count of a token and its rank; the reason, if it is not used any more."""
    count = run.uses.of(token, playhead)
    if count is None:
        counted = run.uses.counted
        return f"uses were counted after merge {counted.merges:,}" if counted is not None else ""
    where = "the training text" if run.uses.counted is None else run.uses.counted.corpus
    if count == 0:
        # All its occurrences are now parts of longer tokens.
        once = run.has_counts and bool(run.uses.of(token, number))
        return "0 uses: now only inside longer tokens" if once else f"0 uses in {where}"
    text = f"{several_whole(count, run.weight_scale, 'use')} in {where}"
    made = run.uses.of(token, number) if number and run.has_counts else None
    if made is not None and made > count:
        # The merge log has the count when it was made.
        text += f", {whole_text(made - count, run.weight_scale)} more now inside longer tokens"
    rank = run.uses.rank_of(token, playhead)
    return text if rank is None else f"{text}, rank {rank:,} of {run.vocabulary_sizes[playhead]:,}"
