"""What an answer of *Why This Merge?* shows: the merge in a line, the rule, the candidates."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from PySide6.QtCore import QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QHideEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from tokstudio.core.analysis.why_this_merge import PairCount, WhyMerge
from tokstudio.core.base.progress import Progress
from tokstudio.core.base.wording import capitalized, columns_of, in_units
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.model import TokenCell, TokenColumn, TokenTable
from tokstudio.gui.token_text.spelling import marked
from tokstudio.gui.token_text.token_chips import Chip
from tokstudio.gui.widgets.fields import say
from tokstudio.gui.widgets.labels import ElidedLabel, isolated, paragraph_label, plain, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, Fitting, column, row
from tokstudio.gui.widgets.menus import push_button
from tokstudio.gui.widgets.work_line import ProgressBar

# --- A line that shows running work, its progress, and a button to cancel it ------------------------------------------

_TICK = 100  # milliseconds


class BusyLine(QWidget):
    """A text, a bar and Cancel; it reads the progress by a timer while it is visible.

    `phases` has texts for those of the work; other phases are shown by their name.
    """

    cancelAsked = Signal()  # the user has pressed Cancel

    def __init__(self, words: str, progress: Callable[[], Progress], phases: dict[str, str]) -> None:
        super().__init__()
        self._progress = progress
        self._phases = phases
        self.label, self.phase = paragraph_label("", words), plain_label("muted")
        self.bar = ProgressBar()
        self.cancel = push_button("Cancel", self.cancelAsked)
        self._timer = QTimer(self, interval=_TICK)
        self._timer.timeout.connect(self._refresh)
        below = row((self.phase, 1), self.cancel)
        column(self.label, self.bar, below, STRETCH, spacing=8, margins=(0, 4, 0, 0), parent=self)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._refresh()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()

    def _refresh(self) -> None:
        progress = self._progress()
        self.bar.show_progress(progress)
        words = self._phases.get(progress.phase, capitalized(progress.phase))
        self.phase.setText(f"{words}…" if words else "")


# --- A merge on one line: two tokens, a plus, and their token; each is a button ---------------------------------------

_FONT = 13
_EDGE = 9  # pixels left and right of a token's text, including the frame
_LEAST = 3  # characters left of a cut token


class MergeLine(Fitting, QWidget):
    """`left + right → token`; tokens that do not fit are cut, and the tool tip has them in full."""

    clicked = Signal(int)  # the id of the clicked token

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._chips: tuple[Chip, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.buttons = tuple(push_button("", partial(self._tell, place)) for place in range(3))
        for button, name in zip(self.buttons, ("Left token", "Right token", "Token"), strict=True):
            button.setProperty("chip", True)
            button.setAccessibleName(name)
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._signs = [plain_label("muted", "+"), plain_label("muted", "→")]
        (left, right, token), (plus, arrow) = self.buttons, self._signs
        row(left, plus, right, arrow, token, STRETCH, spacing=6, parent=self)
        theme.changed.connect(self.fit)

    def set_merge(self, left: Chip, right: Chip, token: Chip) -> None:
        """Shows a merge."""
        self._chips = (left, right, token)
        for button, chip in zip(self.buttons, self._chips, strict=True):
            button.setToolTip(plain(f"{chip.label}\nid {chip.id:,}"))
            button.setAccessibleName(f"{chip.label}, id {chip.id:,}")
        self.fit()

    def sizeHint(self) -> QSize:
        return QSize(200, self.buttons[0].sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """Returns a width that does not depend on the tokens."""
        return QSize(1, self.buttons[0].sizeHint().height())

    def fit(self) -> None:
        if not self._chips:
            return
        font = self._theme.monospace_font(_FONT)
        metrics = QFontMetrics(font)
        signs = sum(label.sizeHint().width() + 12 for label in self._signs)
        room = self.width() - signs - 2 * _EDGE * len(self.buttons)
        wanted = [metrics.horizontalAdvance(chip.label) + 1 for chip in self._chips]
        least = metrics.horizontalAdvance("m" * _LEAST)
        # The longest are cut first, to the same width.
        widths, left = list(wanted), max(room, 0)
        for place, index in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
            widths[index] = min(wanted[index], max(left // (len(wanted) - place), least))
            left -= widths[index]
        for button, chip, width in zip(self.buttons, self._chips, widths, strict=True):
            button.setFont(font)
            text = metrics.elidedText(chip.label, Qt.TextElideMode.ElideMiddle, width)
            button.setText(isolated(text).replace("&", "&&"))
            button.setFixedWidth(width + 2 * _EDGE)

    def _tell(self, place: int) -> None:
        if self._chips:
            self.clicked.emit(self._chips[place].id)


# --- The choices of other rules: a row each, with the pair and whether it is the same ---------------------------------


class RuleChoice(NamedTuple):
    """A rule and the pair that it chooses."""

    rule: str
    pair: str
    same: bool


class RuleGrid(QWidget):
    """Rules below a caption."""

    def __init__(self, theme: Theme, rows: int) -> None:
        super().__init__()
        self._theme = theme
        self.choices: tuple[RuleChoice, ...] = ()
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(1, 1)
        self._rows = [(plain_label("muted"), ElidedLabel(), plain_label()) for _ in range(rows)]
        for line, labels in enumerate(self._rows):
            for place, label in enumerate(labels):
                grid.addWidget(label, line, place)
        theme.follow(self._apply_style)

    def set_choices(self, choices: Sequence[RuleChoice]) -> None:
        """Shows one row for each rule, or none."""
        self.choices = tuple(choices)
        for (name, pair, same), choice in zip(self._rows, choices, strict=False):
            name.setText(choice.rule)
            pair.setText(choice.pair)
            say(same, *(("the same", "muted") if choice.same else ("another pair", "warning")))

    def _apply_style(self) -> None:
        for _, pair, _ in self._rows:
            pair.setFont(self._theme.monospace_font(12))


# --- The pairs that a merge was chosen from, as rows: the chosen one first, then the next candidates ------------------

_PLACE, _PAIR, _COUNT, _BEHIND, _LATER = range(5)
_TIP_BYTES = 400


class RunnersModel(TokenTable):
    """Row 0 is the chosen pair, which is marked. Rows are not tokens: the slot of a row is its number."""

    columns = (
        TokenColumn("#", "number", "Their order by this run's rule"),
        TokenColumn("Pair", "token", "The two tokens", 1, 9, word="pair"),
        TokenColumn("Count", "number", "How often the pair occurred at that moment", word="count"),
        TokenColumn("Behind", "number", "How much rarer it was than the pair that was merged", yields=2, muted=True),
        TokenColumn("Merge", "number", "The merge that joined this pair, if any did", yields=1, word="merge"),
    )

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pairs: tuple[PairCount, ...] = ()
        self._merges: list[int] = []
        self._scale = 1  # counts are in units of 1 / this

    def set_answer(self, run: StudioRun | None, why: WhyMerge | None) -> None:
        """Shows the candidates of a merge; None shows nothing."""
        with self.reset():
            self.hold(run)
            self._pairs = () if why is None else (why.chosen, *why.runners_up)
            self._merges = [] if run is None else merges_of(run, self._pairs)
            self._scale = 1 if why is None else why.scale

    def grow(self) -> None:
        """Updates which pairs were merged, as the run has grown."""
        if self.run is not None and self._pairs:
            self._merges = merges_of(self.run, self._pairs)
            self.dataChanged.emit(self.index(0, _LATER), self.index(len(self._pairs) - 1, _LATER))

    def merge_at(self, row: int) -> int:
        """The number of the merge that joined the pair in a row; 0 for none."""
        return self._merges[row]

    def behind(self, row: int) -> int:
        """The difference between the count of the chosen pair and that of a row."""
        return self._pairs[0].count - self._pairs[row].count

    def token_at(self, row: int) -> int | None:
        """The id of the token that the pair in a row became; None if it was never joined."""
        if self.run is None or not 0 <= row < len(self._pairs) or not self._merges[row]:
            return None
        return self.run.id_of_merge(self._merges[row])

    def cell(self, row: int, column: int) -> TokenCell:
        pair, chosen = self._pairs[row], row == 0
        if column == _PAIR and self.tokens is not None:
            tokens = tuple(self.shown(self.tokens.slot_of(token)) for token in (pair.left, pair.right))
            return TokenCell(" + ".join(map(marked, tokens)), tokens, marked=chosen)
        if column == _PLACE:
            text = f"{row + 1:,}"
        elif column == _COUNT:
            text = _exact(pair.count, self._scale)
        elif column == _BEHIND:
            behind = self.behind(row)
            text = _exact(behind, self._scale) if behind else "–" if chosen else "tied"
        else:
            text = f"{self._merges[row]:,}" if self._merges[row] else "–"
        return TokenCell(text, marked=chosen)

    def copied_slot(self, slot: int) -> str:
        assert self.tokens is not None
        pair = self._pairs[slot]
        texts = [self.copied_token(self.tokens.slot_of(one)) for one in (pair.left, pair.right)]
        counts = (in_units(count, self._scale) for count in (pair.count, self.behind(slot)))
        figures = (*counts, self._merges[slot] or "")
        return "\t".join([str(slot + 1), *texts, *map(str, figures)])

    def widest(self, column: int) -> str:
        return max((self.cell(row, column).text for row in range(len(self._pairs))), key=columns_of, default="")

    def count(self) -> int:
        return len(self._pairs)

    def tip(self, row: int, column: int) -> str:
        if self.tokens is None or column != _PAIR:
            return ""
        pair = self._pairs[row]
        texts = [marked(self._read(self.tokens.slot_of(token), _TIP_BYTES)) for token in (pair.left, pair.right)]
        return f"{texts[0]} + {texts[1]}\nids {pair.left:,} and {pair.right:,}"


def _exact(count: int, scale: int) -> str:
    """A count with the decimals that decide, the same for all rows."""
    return f"{count:,}" if scale == 1 else f"{count / scale:,.3f}"


def merges_of(run: StudioRun, pairs: tuple[PairCount, ...]) -> list[int]:
    """The number of the merge that joins each pair, from 1; 0 for none."""
    merges = run.merges
    keys = (merges[:, 0].astype(np.int64) << 32) | merges[:, 1]
    wanted = [(pair.left << 32) | pair.right for pair in pairs]
    rows = np.flatnonzero(np.isin(keys, np.array(wanted, np.int64)))
    number = {int(keys[row]): int(row) + 1 for row in rows[::-1]}
    return [number.get(key, 0) for key in wanted]
