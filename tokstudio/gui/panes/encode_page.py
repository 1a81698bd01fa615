"""The page Encode of the Text pane: a text, its tokens in colour, figures, ids, and the proof that nothing was lost."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction, QGuiApplication, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QPushButton

from tokstudio.core.progress import Work
from tokstudio.core.tokenizer import Tokenizer
from tokstudio.gui.comparison import LONGEST as LONGEST_COMPARED
from tokstudio.gui.comparison import MOST, compare_work
from tokstudio.gui.encoded import LONGEST, Encoded, encode_work
from tokstudio.gui.latest import Latest
from tokstudio.gui.panes.text_page import TextPage
from tokstudio.gui.session import Session
from tokstudio.gui.theme import Theme
from tokstudio.gui.widgets.counts_line import CountsLine
from tokstudio.gui.widgets.id_grid import IdGrid
from tokstudio.gui.widgets.pane import EmptyState
from tokstudio.resources import DEMO_SENTENCES

_NAMES = ("characters", "bytes", "tokens", "bytes/token")
_COUNTED_AT_ONCE = 1_000_000  # characters
_ROOM_FOR_IDS = 290  # pixels of height, below which the ids beneath the pieces have to do
_COMPARED_AFTER = 250  # milliseconds without a change
_PLACEHOLDER = "Type or paste a text to see it in tokens."


class EncodePage(TextPage):
    """Text in, tokens out. `show_ids` writes the ids beneath the pieces and, as a list to copy, below the figures."""

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        self._encoded: Encoded | None = None
        self._restoring = False
        self._recognised = False
        self._compared: object = None
        super().__init__(session, theme, actions, _NAMES, _PLACEHOLDER)
        self._theme = theme
        sample = QPushButton("Try a sentence")
        sample.setProperty("link", True)
        sample.clicked.connect(self._take_sample)
        self.empty = EmptyState("Its tokens appear here, in colour.", sample)
        self.empty.setMinimumWidth(1)
        self.column.insertWidget(1, self.empty, 1)
        self.ids = IdGrid(theme)
        self.column.addLayout(self._make_comparison())
        self.column.addWidget(self.ids)
        self.ids.selectionChanged.connect(self._select_pieces)
        self.view.selectionChanged.connect(self._select_ids)
        self._show = actions.get("show_ids")
        if self._show is not None:
            self._show.toggled.connect(self._show_ids)
        self._show_ids()
        self.input.edited.connect(self._take_text)
        session.text_changed.connect(self._follow_text)
        for signal in (session.text_changed, session.runs_changed):
            signal.connect(self._compare_later)
        session.runs_changed.connect(self._follow_specials)
        session.training_changed.connect(self._follow_specials)
        self._follow_specials()
        self._follow_text()

    def text(self) -> str:
        """Gives the session's text."""
        return self.session.text

    def make(self, tokenizer: Tokenizer, text: str) -> Work[Encoded]:
        """Puts the text into tokens."""
        return encode_work(tokenizer, text, "all" if self._recognised else ())

    def variant(self) -> int:
        """Tells whether special tokens are recognised; the ids of those behind the merges move while a run grows."""
        run = self.session.active
        return 1 + len(run) if self._recognised and run is not None else 0

    def display(self, result: object) -> None:
        """Shows the tokens; a piece that was selected and is in sight stays selected."""
        assert isinstance(result, Encoded)
        place = self._selected_bytes()
        self._show_empty(False)
        self._encoded = result
        self.view.set_tokens(result.data, result.ends, result.ids)
        self.ids.set_ids(result.ids)
        self._show_ids()
        counts = (len(result.text), len(result.data), len(result.ids))
        self.figures.set_values((*(f"{count:,}" for count in counts), f"{result.bytes_per_token:.2f}"))
        if place is not None:
            self._select_again(*place)
        if result.differs is None:
            self.set_state("good", "round trip")
        else:
            self.set_state("bad", f"differs at byte {result.differs:,}")

    def display_nothing(self, text: str) -> None:
        """Shows how long the text is, and no tokens."""
        self._encoded = None
        self._show_empty(not text)
        self.view.clear()
        self.ids.set_ids(np.zeros(0, np.uint32))
        self._show_ids()
        size = f"{len(text.encode('utf-8', 'replace')):,}" if len(text) <= _COUNTED_AT_ONCE else "–"
        self.figures.set_values((f"{len(text):,}", size, "–" if text else "0", "–"))

    def token_at(self, index: int) -> int:
        """Gives the id of the token with this number."""
        assert self._encoded is not None
        return int(self._encoded.ids[index])

    def copy_ids(self) -> None:
        """Copies the ids of the selected tokens, or of all."""
        if self._encoded is not None:
            self.view.copy_ids()

    def copy(self) -> None:
        """Copies the selected tokens' text, or where none is selected the whole text."""
        if self.view.selection() is not None:
            self.view.copy()
        else:
            QGuiApplication.clipboard().setText(self.session.text)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leaves the list of ids out where there is no room for it."""
        super().resizeEvent(event)
        self._show_ids()

    def showEvent(self, event: QShowEvent) -> None:
        """Catches up with what changed meanwhile."""
        super().showEvent(event)
        self._compare_later()

    def _make_comparison(self) -> QHBoxLayout:
        self.others = CountsLine()
        self.others.show_counts(())
        self.specials = QCheckBox("Special tokens")
        self.specials.setAccessibleName("Recognise special tokens")
        self.specials.toggled.connect(self._switch_specials)
        self._comparing = Latest(self.session, self, quiet=True)
        self._comparing.done.connect(self.others.show_counts)
        self._compare_soon = QTimer(self)
        self._compare_soon.setSingleShot(True)
        self._compare_soon.setInterval(_COMPARED_AFTER)
        self._compare_soon.timeout.connect(self._compare)
        row = QHBoxLayout()
        row.addWidget(self.others.label, 1)
        row.addStretch(0)
        row.addWidget(self.specials, 0, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
        return row

    def _compare_later(self) -> None:
        if self.isVisible():
            self._compare_soon.start()

    def _compare(self) -> None:
        """Counts the tokens of others, unless that is what is shown."""
        session, text = self.session, self.session.text
        runs = [run for run in session.runs if run is not session.active and run.ended is not None and run.ready]
        shown = (text, self._recognised, tuple((run.key, run.name, len(run)) for run in runs[-MOST:]))
        if shown == self._compared or not self.isVisible():
            return
        self._compared = shown
        self._comparing.cancel()
        if not text or len(text) > LONGEST_COMPARED:
            self.others.show_counts(())
            return
        others = [(run.name, run.tokenizer) for run in runs[-MOST:]]
        allowed = "all" if self._recognised else ()
        self._comparing.run(lambda: compare_work(text, others, allowed))

    def _follow_specials(self) -> None:
        run = self.session.active
        some = run is not None and bool(run.special_tokens)
        tip = "Whether special tokens in the text become their ids, or plain text"
        self.specials.setEnabled(some)
        self.specials.setToolTip(tip if some else "This tokenizer has no special tokens." if run is not None else tip)
        self._switch_specials()

    def _switch_specials(self) -> None:
        recognised = self.specials.isChecked() and self.specials.isEnabled()
        if recognised != self._recognised:
            self._recognised = recognised
            self.refresh()
            self._compare_later()

    def _show_empty(self, empty: bool) -> None:
        self.empty.setVisible(empty)
        self.view.setVisible(not empty)

    def _take_sample(self) -> None:
        self.take_text(DEMO_SENTENCES[0][1])

    def _take_text(self) -> None:
        text = self.input.text()
        if len(text) > LONGEST:
            self.input.set_text(self.session.text)
            size = f"{len(text):,} characters"
            self.tell(f"That text is too long to be shown in tokens: {size}, and at most {LONGEST:,}.", "error")
            return
        self.session.set_text(text)
        self.tell_shortened()

    def _follow_text(self) -> None:
        self.input.set_text(self.session.text)
        self.tell_shortened()
        self.refresh()

    def _show_ids(self) -> None:
        shown = self._show is not None and self._show.isChecked()
        self.view.set_show_ids(shown)
        room = self.height() >= self._theme.scaled(_ROOM_FOR_IDS)
        self.ids.setVisible(shown and room and self._encoded is not None)

    def _select_pieces(self, first: int, last: int) -> None:
        self.view.select(first, last)

    def _select_ids(self, first: int, last: int) -> None:
        self.ids.select(first, last)
        if not self._restoring:
            self.look_at_selected(first, last)

    def _selected_bytes(self) -> tuple[int, int] | None:
        selection = self.view.selection()
        if selection is None or self._encoded is None:
            return None
        first, last = selection
        return int(self._encoded.ends[first - 1]) if first else 0, int(self._encoded.ends[last])

    def _select_again(self, begin: int, end: int) -> None:
        assert self._encoded is not None
        ends = self._encoded.ends
        if end > len(self._encoded.data):
            return
        first = int(np.searchsorted(ends, begin, side="right"))
        last = int(np.searchsorted(ends, end, side="left"))
        # Selecting brings into view, and the playhead must not move the text.
        sight = self.view.viewport().rect()
        if all(sight.contains(self.view.token_rectangle(token).toAlignedRect()) for token in (first, last)):
            self._restoring = True
            self.view.select(first, last)
            self._restoring = False
