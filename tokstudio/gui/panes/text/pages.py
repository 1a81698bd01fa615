"""The pages of the Text pane that encode a text and decode ids."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np
from PySide6.QtCore import QSignalBlocker, Qt, QTimer
from PySide6.QtGui import QAction, QGuiApplication, QShowEvent
from PySide6.QtWidgets import QCheckBox, QSizePolicy, QWidget

from tokstudio.core.analysis.baselines import SimpleTokenizer
from tokstudio.core.analysis.canonical import canonical_text, canonical_work
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.resources import DEMO_SENTENCES
from tokstudio.core.comparison.counts import tokens_of_text_work
from tokstudio.core.pretokenization.special_tokens import AllowedSpecial
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.panes.text.encoding_job import LONGEST, DecodedIds, Encoded, decode_work, encode_work
from tokstudio.gui.panes.text.grids import Count, CountsGrid, IdGrid
from tokstudio.gui.panes.text.page import TextPage
from tokstudio.gui.session.availability import no_specials
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.common.view_state import TextSelection, ViewState
from tokstudio.gui.session.measuring.compared import ComparedColumn
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.blocks import EncodedText
from tokstudio.gui.token_text.spelling import figure
from tokstudio.gui.widgets.controls import Percent, WholeLines
from tokstudio.gui.widgets.figures import FigureName
from tokstudio.gui.widgets.labels import ElidedLabel, TermLabel, named, paragraph_label
from tokstudio.gui.widgets.layouts import STRETCH, Fitting, row
from tokstudio.gui.widgets.menus import link_button
from tokstudio.gui.widgets.pane import EmptyState

# --- Dropout bar ------------------------------------------------------------------------------------------------------
# How often merges are passed over in encoding the text with dropout, and another try; shown while dropout is on.


class DropoutBar(QWidget):
    """Follows the dropout of the view."""

    def __init__(self, view: ViewState, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__()
        self._view = view
        self._switch = actions["encode_with_dropout"]
        self.share = named(Percent(theme), "Share of merges that are passed over")
        self.share.setToolTip("How often a merge that could be made is passed over")
        self.again = link_button("Again", actions["dropout_again"].trigger, "Pass over other merges")
        self.off = link_button("Off", self._switch.trigger, "Encode without dropout")
        row(TermLabel("Dropout", "dropout"), self.share, self.again, self.off, STRETCH, spacing=8, parent=self)
        self.share.valueChanged.connect(self._set_share)
        view.dropout_changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        dropout = self._view.dropout
        with QSignalBlocker(self.share):
            if dropout is not None and not self.share.shows(dropout.probability):
                self.share.setValue(100 * dropout.probability)
        self._switch.setChecked(dropout is not None)
        self.setVisible(dropout is not None)

    def _set_share(self) -> None:
        if self._view.dropout is not None:
            self._view.set_dropout(replace(self._view.dropout, probability=self.share.share))


# --- The page Encode of the Text pane: a text, its coloured tokens, figures, ids, and the check by decoding -----------

_FIGURES = (
    FigureName("characters", "Unicode characters of the text", "character"),
    FigureName("bytes", "Bytes of the text in UTF-8", "byte"),
    FigureName("tokens", "Tokens of the text with the active run, at the playhead", "token"),
    FigureName("bytes/token", "Bytes per token: a higher value means fewer tokens", "bytes-per-token"),
)
_COUNTED_AT_ONCE = 1_000_000  # characters
_LONGEST_COMPARED = 2_000_000  # characters; more would take too long while the user types
_LONG = 20_000  # characters from which other tokenizers take so long that their old counts are dimmed
# Heights in pixels below which a line is hidden in favour of the tokens.
_ROOM_FOR_OTHERS = 310
_ROOM_FOR_IDS = 270  # beside the figures; with less, only the ids below the pieces are shown
_ROOM_OF_IDS = 55  # the height of the list; for it, the counts of others become one line
_ROOM_FOR_LINE = 190  # beside the figures; with less, the counts of others are only in a tool tip
_PLACEHOLDER = "Type or paste a text to see it in tokens."
_Place: TypeAlias = tuple[int, int] | None  # see `ViewState.show_text`


class EncodePage(Fitting, TextPage):
    """Encodes a text. `show_ids` shows the ids below the pieces and, as a list to copy, below the figures."""

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        self._restoring = False
        self._recognised = False
        self._compared: object = None
        self._wanted: tuple[str, _Place] | None = None  # the text of which a place is to be shown
        super().__init__(session, theme, actions, _FIGURES, _PLACEHOLDER)
        sample = link_button("Try a sentence", self._take_sample)
        self.empty = EmptyState("Its tokens appear here, in colour.", sample)
        self.empty.setMinimumWidth(1)
        self.column.insertWidget(1, self.empty, 1)
        self.ids = IdGrid(theme)
        self._make_comparison(actions)
        self.column.addWidget(self.ids)
        self.ids.selectionChanged.connect(self.view.select)
        self.view.selectionChanged.connect(self._select_ids)
        self._show = actions["show_ids"]
        self._show.toggled.connect(self.fit)
        self.fit()
        self.input.edited.connect(self._take_text)
        session.view.text_changed.connect(self._follow_text)
        session.view.place_asked.connect(self._go_to_place)
        for signal in (session.view.text_changed, session.comparison.changed):
            signal.connect(self._compare_later)
        session.view.dropout_changed.connect(self.refresh)
        session.runs.changed.connect(self._follow_specials)
        session.training.state_changed.connect(self._follow_specials)
        self._follow_specials()
        self._follow_text()

    def text(self) -> str:
        return self.session.view.text

    def make(self, tokenizer: Tokenizer, text: str) -> Work[tuple[Encoded, EncodedText]]:
        recognised = "all" if self._recognised else ()
        encoded = yield from encode_work(tokenizer, text, recognised, byte_level=self.byte_level)
        return encoded, EncodedText(*encoded.drawn, encoded.ids, encoded.special)

    def variant(self) -> object:
        """Returns the dropout, and whether special tokens are recognised: their ids change while a run grows."""
        run = self.session.runs.active
        return self.session.view.dropout, len(run) if self._recognised and run is not None else None

    def display(self, result: object, table: EncodedText) -> None:
        """Shows the tokens; a visible selection stays."""
        assert isinstance(result, Encoded)
        place, before = self._selected_bytes(), self.encoded
        if place is not None and before is not None and before.data[: place[1]] != result.data[: place[1]]:
            place = None  # the selected text is gone or has moved
        self.empty.hide()
        self.view.show()
        self._restoring, self.encoded = True, result
        self.view.show_table(table)
        self._restoring = False
        self.ids.set_ids(result.ids, result.special)
        self.fit()
        counts = (len(result.text), len(result.data), len(result.ids))
        self.figures.set_values((*(f"{count:,}" for count in counts), f"{counts[1] / max(counts[2], 1):,.2f}"))
        if self._wanted is not None and self._wanted[0] == result.text:
            self._show_place(self._wanted[1])
        elif place is not None:
            self._select_again(*place)
        self._wanted = None
        self._tell_selected()
        if result.differs is None:
            self.set_state("good", "round trip")
        else:
            self.set_state("bad", f"differs at byte {result.differs:,}")

    def display_nothing(self, text: str) -> None:
        self.encoded = None
        self.session.view.select(None)
        self.empty.setVisible(not text)
        self.view.setVisible(bool(text))
        self.view.clear()
        self.ids.set_ids(np.zeros(0, np.uint32), np.zeros(0, np.bool_))
        self.fit()
        size = f"{len(text.encode('utf-8', 'replace')):,}" if len(text) <= _COUNTED_AT_ONCE else "–"
        self.figures.set_values((f"{len(text):,}", size, "–" if text else "0", "–"))

    def copy(self) -> None:
        """Copies the text of the selected tokens, or all of it, also without a tokenizer."""
        if self.encoded is None:
            QGuiApplication.clipboard().setText(self.session.view.text)
        else:
            super().copy()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._compare_later()

    def _make_comparison(self, actions: Mapping[str, QAction]) -> None:
        tip = "Tokens of the same text with other tokenizers\nA click shows the text in each, one below another"
        self.caption = link_button("Other tokenizers", lambda: self.session.comparison.stack_text(), tip)
        self.others = CountsGrid(self._theme)
        self.brief = ElidedLabel("muted")  # replaces the counts where there is little room
        self.specials = named(QCheckBox("Special tokens"), "Recognise special tokens")
        self.specials.toggled.connect(self._switch_specials)
        recognise = actions["recognise_specials"]
        self.specials.setChecked(recognise.isChecked())
        self.specials.toggled.connect(recognise.setChecked)
        recognise.toggled.connect(self.specials.setChecked)
        self._comparing = LatestJob(self.session.jobs, self, self._show_counts, quiet=True)
        self._compare_soon = QTimer(self, singleShot=True, interval=self.session.jobs.pauses.updates)
        self._compare_soon.timeout.connect(self._compare)
        self.column.addWidget(DropoutBar(self.session.view, self._theme, actions))
        self.column.addLayout(row(self.caption, STRETCH, self.specials))
        self.column.addWidget(self.others)
        self.column.addWidget(self.brief)

    def _compare_later(self) -> None:
        if self.isVisible():
            self._compare_soon.start()

    def _compare(self) -> None:
        """Counts the tokens of other tokenizers, unless the counts are shown already."""
        session, text = self.session, self.session.view.text
        columns = session.comparison.others
        shown = (text, self._recognised, tuple((each.name, each.key) for each in columns))
        if shown == self._compared or not self.isVisible():
            return
        self._compared = shown
        self._comparing.cancel()
        if not text or len(text) > _LONGEST_COMPARED:
            self._show_counts(())
            return
        allowed = "all" if self._recognised else ()
        if len(text) > _LONG:
            self._dim_others(True)
        self._comparing.run(partial(_counts_work, text, columns, allowed))

    def _follow_specials(self) -> None:
        runs = self.session.runs.shown
        # The other tokenizers use the same setting.
        some = any(run.special_tokens for run in runs)
        tip = "Encode special tokens in the text as their ids, not as plain text"
        if any(run.origin is not None and run.tokenizer.library for run in runs):
            tip += "\nSome tokenizers that a library encodes make these ids of plain text, too: Check Tokenizer tells"
        self.specials.setEnabled(some)
        self.specials.setToolTip((no_specials(self.session) if runs and not some else None) or tip)
        self._switch_specials()
        self.fit()

    def _show_counts(self, counts: Sequence[Count]) -> None:
        self._dim_others(False)
        self.others.set_counts(counts)
        text = ", ".join(f"{name} {figure(count)}" for name, count in counts)
        self.brief.setText(f"Others: {text}" if text else "")
        self.figures.add_to_tip("tokens", self.brief.text())
        self.fit()

    def _dim_others(self, dimmed: bool) -> None:
        for widget in (self.caption, self.others, self.brief):
            widget.setEnabled(not dimmed)

    def _switch_specials(self) -> None:
        recognised = self.specials.isChecked()
        if recognised != self._recognised:
            self._recognised = recognised
            self.session.view.recognise_specials(recognised)
            self.refresh()
            self._compare_later()

    def _take_sample(self) -> None:
        self.take_text(DEMO_SENTENCES[0][1])

    def _take_text(self) -> None:
        text = self.input.text()
        if len(text) > LONGEST:
            self.input.set_text(self.session.view.text)
            size = f"{len(text):,} characters"
            self.tell(f"The text is too long to show as tokens: {size}; the limit is {LONGEST:,}.", "error")
            return
        self.session.view.set_text(text)
        self.tell_shortened()

    def _follow_text(self) -> None:
        self.input.set_text(self.session.view.text)
        self.tell_shortened()
        self.refresh()

    def fit(self) -> None:
        """Shows the requested parts that fit; a switch that has an effect is always shown."""
        ids, compared, scaled = self._show.isChecked(), bool(self.others.counts), self._theme.scaled
        self.view.set_show_ids(ids)
        beside = self.height() - self.figures.sizeHint().height()
        listed = ids and self.encoded is not None and beside >= scaled(_ROOM_FOR_IDS)
        taken = _ROOM_OF_IDS if listed else 0
        roomy = self.height() >= scaled(_ROOM_FOR_OTHERS + taken)
        self.brief.setVisible(compared and not roomy and beside >= scaled(_ROOM_FOR_LINE + taken))
        self.caption.setVisible(compared and roomy)
        self.others.setVisible(compared and roomy)
        wide = self.caption.sizeHint().width() + self.specials.sizeHint().width() <= self.width()
        self.specials.setVisible((roomy and wide) or self.specials.isEnabled())
        self.ids.setVisible(listed)

    def _select_ids(self, first: int, last: int) -> None:
        self.ids.select(first, last)
        if not self._restoring:
            self.look_at_selected(first, last)
            self._tell_selected()

    def _tell_selected(self) -> None:
        selection, place = self.view.selection(), self._selected_bytes()
        text = None
        if selection is not None and place is not None:
            text = TextSelection(*place, selection[1] - selection[0] + 1)
        self.session.view.select(text)

    def _selected_bytes(self) -> tuple[int, int] | None:
        selection = self.view.selection()
        if selection is None or self.encoded is None:
            return None
        first, last = selection
        return int(self.encoded.ends[first - 1]) if first else 0, int(self.encoded.ends[last])

    def _go_to_place(self, place: _Place) -> None:
        """Shows a place of the text, as soon as that is encoded."""
        text = self.session.view.text
        if self.encoded is not None and self.encoded.text == text and not self.latest.busy and not self._stale:
            self._show_place(place)
        else:
            self._wanted = text, place

    def _tokens_of(self, begin: int, end: int) -> tuple[int, int]:
        """The first and the last token of some bytes; of none, the token there."""
        assert self.encoded is not None
        ends = self.encoded.ends
        return int(np.searchsorted(ends, begin, side="right")), int(np.searchsorted(ends, max(end, begin + 1), "left"))

    def _show_place(self, place: _Place) -> None:
        if place is None:
            self.view.go_to_occurrence(1)
        else:
            self.view.select(*self._tokens_of(*place))

    def _select_again(self, begin: int, end: int) -> None:
        assert self.encoded is not None
        if end > len(self.encoded.data):
            return
        first, last = self._tokens_of(begin, end)
        # Selecting scrolls, and the playhead must not scroll the text.
        sight = self.view.viewport().rect()
        if all(sight.contains(self.view.token_rectangle(token).toAlignedRect()) for token in (first, last)):
            self._restoring = True
            self.view.select(first, last)
            self._restoring = False


def _counts_work(
    text: str, columns: Sequence[ComparedColumn], allowed_special: AllowedSpecial
) -> Work[tuple[Count, ...]]:
    """Counts the tokens of a text by each tokenizer; None where one cannot encode it."""
    counts: list[Count] = []
    if not all(each.tokenizer is None or isinstance(each.tokenizer, SimpleTokenizer) for each in columns):
        yield from prepare_work()
    for each in columns:
        try:
            counts.append((each.name, (yield from tokens_of_text_work(each.tokenizer, text, allowed_special))))
        except TokStudioError:
            counts.append((each.name, None))
    return tuple(counts)


# --- The page Decode of the Text pane: decodes ids, and names those that do not exist ---------------------------------

_DECODE_FIGURES = (
    FigureName("tokens", "Ids that are in the vocabulary", "token"),
    FigureName("bytes", "Bytes of these tokens", "byte"),
    FigureName("characters", "Unicode characters of the decoded text", "character"),
    FigureName("bytes/token", "Bytes per token", "bytes-per-token"),
)
_DECODE_PLACEHOLDER = "Type or paste ids to see their text: 72 101 108, or [72, 101, 108]."
_SHOWN = 20_000
_OUTPUT_HEIGHT = 64


class DecodePage(Fitting, TextPage):
    """Decodes ids to pieces and to plain text that can be selected and copied."""

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__(session, theme, actions, _DECODE_FIGURES, _DECODE_PLACEHOLDER)
        self.input.setAccessibleName("Ids")
        self.problem = paragraph_label("error")
        self.problem.hide()
        self.column.insertWidget(1, self.problem)
        self.output = WholeLines(readOnly=True)
        self.output.setTabChangesFocus(True)
        self.output.setPlaceholderText("The text appears here.")
        self.output.setAccessibleName("Decoded text")
        self.output.setMinimumHeight(30)
        self.output.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self.column.insertWidget(2, self.output)
        self.canonical = paragraph_label("muted")
        self.canonical.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.column.insertWidget(3, self.canonical)
        self._checking = LatestJob(session.jobs, self, self._tell_canonical, quiet=True)
        theme.follow(self._fit_output)
        actions["show_ids"].toggled.connect(self.view.set_show_ids)
        self.view.set_show_ids(actions["show_ids"].isChecked())
        self.view.selectionChanged.connect(self.look_at_selected)
        self.input.edited.connect(self.refresh)
        self.display_nothing("")

    def make(self, tokenizer: Tokenizer, text: str) -> Work[tuple[DecodedIds, EncodedText]]:
        decoded = yield from decode_work(tokenizer, text, byte_level=self.byte_level)
        return decoded, EncodedText(*decoded.drawn, decoded.ids, decoded.special)

    def display(self, result: object, table: EncodedText) -> None:
        assert isinstance(result, DecodedIds)
        self.encoded = result
        self.view.show_table(table)
        self._set_output(result.text)
        self._set_problem(result.problem)
        self.set_state("", "")
        if result.problem or not len(result.ids):
            self._tell_canonical("")
        else:
            self._checking.run(partial(_canonical_work, result))
        count, size = len(result.ids), len(result.data)
        ratio = f"{size / count:,.2f}" if count else "–"
        self.figures.set_values((f"{count:,}", f"{size:,}", f"{len(result.text):,}", ratio))

    def display_nothing(self, text: str) -> None:
        self.encoded = None
        self.view.clear()
        self._set_output("")
        self._tell_canonical("")
        missing = bool(text) and self.session.runs.active is None
        self._set_problem("Train or open a tokenizer to decode these ids." if missing else "")
        self.view.set_placeholder("")
        self.figures.set_values(("0", "0", "0", "–"))

    def _fit_output(self) -> None:
        self.output.setMaximumHeight(self._theme.scaled(_OUTPUT_HEIGHT))

    def _set_output(self, text: str) -> None:
        # The pieces below show all of it; a field with megabytes would block the window.
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        if shown != self.output.toPlainText():
            self.output.setPlainText(shown)

    def _tell_canonical(self, text: str) -> None:
        if not text:
            self._checking.cancel()
        self.canonical.setText(text)
        self.canonical.setVisible(bool(text))
        self.fit()

    def _set_problem(self, text: str) -> None:
        self.problem.setText(text)
        self.problem.setVisible(bool(text))
        self.fit()

    def fit(self) -> None:
        """Keeps the sentences readable."""
        # A splitter ignores the height of a wrapped text.
        for label in (self.problem, self.canonical):
            label.setMinimumHeight(max(label.heightForWidth(self.width()), 0))


def _canonical_work(decoded: DecodedIds) -> Work[str]:
    yield from prepare_work()
    return canonical_text(decoded.tokenizer, (yield from canonical_work(decoded.tokenizer, decoded.ids)))
