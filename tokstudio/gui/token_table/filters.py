"""Filters of a table of tokens: a text, kinds of tokens, and the offer to count uses."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QAction, QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from tokstudio.core.analysis.reachability import CUT, MADE_OTHERWISE, NORMALIZED, REACHED
from tokstudio.core.analysis.token_index import DIGITS, NOT_UTF8, WHITE_SPACE, WORDS
from tokstudio.core.base.wording import share_text
from tokstudio.core.model.tokens import TokenKind
from tokstudio.gui.state.run_tokens import RunTokens
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.token_uses import NEVER, NO_LONGER, UNCOUNTED, UNUSED, USED, TokenUses
from tokstudio.gui.widgets.controls import Number, SearchEdit
from tokstudio.gui.widgets.labels import paragraph_label, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, column, row
from tokstudio.gui.widgets.menus import ActionButton

# --- The kinds, forms and uses of tokens for the filters, and their text in the column of notes -----------------------

MADE: dict[str, tuple[TokenKind, ...]] = {
    "Base": ("byte", "character"),
    "Merges": ("merge",),
    "Special": ("special",),
    "Whole words": ("whole word",),
    "Unreachable": ("unreachable",),
    "Other": ("other",),
}
LOOKS = {"White space": WHITE_SPACE, "Digits": DIGITS, "Cuts a character": NOT_UTF8, "Across words": WORDS}
USES_STATES = {
    "Used": (USED,),
    "0 uses now": (NO_LONGER, NEVER, UNUSED),
    "Only in longer tokens": (NO_LONGER,),
    "Not in the corpus": (NEVER,),
}
IN_ONE, MOSTLY_IN_ONE, MOSTLY_REPEATED = "In one document", "Mostly in one document", "Mostly in repeated lines"
PLACES = (IN_ONE, MOSTLY_IN_ONE, MOSTLY_REPEATED)
SCRIPT = "script:"  # the prefix of a script in the choice
_WORDS = {USED: "", UNCOUNTED: "", NO_LONGER: "only in longer tokens", NEVER: "not in the corpus", UNUSED: "0 uses"}
_UNREACHED = {
    MADE_OTHERWISE: "other merges come first",
    CUT: "always cut by the pattern",
    NORMALIZED: "changed by the normalizer",
}


def notes(slot: int, tokens: RunTokens, uses: TokenUses) -> str:
    """Further notes on a token: `"not UTF-8, not in the corpus"`."""
    flags = tokens.flags_of(slot)
    look = "not UTF-8" if flags & NOT_UTF8 else "white space" if flags & WHITE_SPACE else ""
    reach = REACHED if tokens.reach is None else int(tokens.reach[slot])
    return ", ".join(filter(None, (look, _UNREACHED.get(reach), _WORDS[uses.state_of(slot)])))


# --- The filter field above a table -----------------------------------------------------------------------------------


_AROUND_WORD = 64  # pixels


class FilterEdit(SearchEdit):
    """Filters while typing; Escape empties it, Down and Enter go to the table (`left`); `hint`: what can be typed."""

    def __init__(self, theme: Theme, name: str, hint: str) -> None:
        super().__init__(theme, "filter", "Filter", name, hint)
        self.setAccessibleDescription(hint)
        self.setMaxLength(256)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(180, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """Makes room for a short word between the two signs."""
        word = self.fontMetrics().horizontalAdvance("encoding")
        return QSize(word + _AROUND_WORD, super().minimumSizeHint().height())


# --- A panel with filters of the vocabulary besides text: kinds, forms, scripts, uses, length -------------------------

_ANY = "any"
_LONGEST = 1_000_000_000
_TIPS = {
    "Base": "Bytes or characters that exist before any merge",
    "Merges": "Tokens that a merge has made",
    "Special": "Special tokens",
    "Whole words": "Only a whole pre-token becomes it",
    "Unreachable": "No text becomes it: no merge makes it, other merges come first, the pattern always cuts it, or the "
    "normalizer changes it",
    "Other": "Its library makes it by its own rules",
    "White space": "Only spaces, tabs, newlines and the like",
    "Digits": "Only digits, and white space around them",
    "Cuts a character": "Not UTF-8 alone: it cuts a character",
    "Across words": "Several words, with white space between them",
    "Used": "It occurs in the corpus at the playhead",
    "0 uses now": "It does not occur in the corpus at the playhead",
    "Only in longer tokens": "It occurred, but later merges used all of it",
    "Not in the corpus": "It never occurred in the corpus",
    IN_ONE: "All its uses are in one document, or piece where the corpus has few documents",
    MOSTLY_IN_ONE: "90 % of its uses are in one document, or piece where the corpus has few documents",
    MOSTLY_REPEATED: "90 % of its uses are in lines of 20 bytes and more that equal an earlier line",
    "In the texts": "It occurs in the texts that are compared",
    "Not in the texts": "It does not occur in the texts that are compared",
}


class FilterPanel(QFrame):
    """Boxes to tick in groups, fields for the length, and a switch for regular expressions."""

    changed = Signal()  # the filters have changed

    def __init__(
        self,
        theme: Theme,
        parent: QWidget,
        kinds: Iterable[str],
        uses: Iterable[str],
        places: Iterable[str] = (),
        *,
        has_scripts: bool,
    ) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self._theme = theme
        self._quiet = False
        self.boxes: dict[str, QCheckBox] = {}
        self.setProperty("card", True)
        self.setAccessibleName("Filter by kind, script, use and length")
        self._build(kinds, uses, tuple(places), has_scripts)
        theme.follow(self._apply_style)

    def chosen(self) -> frozenset[str]:
        """The checked kinds, forms, scripts and uses."""
        return frozenset(name for name, box in self.boxes.items() if box.isChecked())

    def lengths(self) -> tuple[int, int] | None:
        """The least and the most bytes; None for any."""
        low, high = self.least.value(), self.most.value()
        return None if not low and not high else (low, high or _LONGEST)

    def set_lengths(self, low: int, high: int) -> None:
        """Filters by length in bytes; 0 for any."""
        with self._one_change():
            self.least.setValue(low)
            self.most.setValue(high)

    def choose(self, names: Collection[str]) -> None:
        """Checks exactly these boxes."""
        with self._one_change():
            for name, box in self.boxes.items():
                box.setChecked(name in names)

    def clear(self) -> None:
        """Removes all filters."""
        with self._one_change():
            self.expression.setChecked(False)
            self.ask_for_all()

    def ask_for_all(self) -> None:
        """Removes the filters by kind, form, script, use and length."""
        with self._one_change():
            self.set_lengths(0, 0)
            self.choose(())

    def set_scripts(self, scripts: Sequence[tuple[str, float]]) -> None:
        """Lists the scripts, each with the share of tokens that have a letter of it."""
        ticked = self.chosen()
        for name in [name for name in self.boxes if name.startswith(SCRIPT)]:
            self._scripts.removeWidget(self.boxes[name])
            self.boxes.pop(name).deleteLater()
        for script, share in scripts:
            box = self._box(SCRIPT + script, f"{script}  {share_text(share)}")
            box.setChecked(SCRIPT + script in ticked)
            self._scripts.addWidget(box)
        self._no_scripts.setVisible(not scripts)
        bar = self._scroll.verticalScrollBar().sizeHint().width()
        self._scroll.setMinimumWidth(self._inner.sizeHint().width() + bar if scripts else 0)
        if ticked != self.chosen():
            self._emit_changed()

    def open_below(self, button: QWidget) -> None:
        """Opens it below a button, inside the screen."""
        self.adjustSize()
        screen = button.screen().availableGeometry()
        corner = button.mapToGlobal(QPoint(button.width() - self.width(), button.height() + 2))
        corner.setX(max(screen.left(), min(corner.x(), screen.right() - self.width())))
        corner.setY(max(screen.top(), min(corner.y(), screen.bottom() - self.height())))
        self.move(corner)
        self.show()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        next(iter(self.boxes.values())).setFocus(Qt.FocusReason.PopupFocusReason)

    def _build(self, kinds_shown: Iterable[str], uses: Iterable[str], places: Sequence[str], has_scripts: bool) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(14, 12, 14, 12)
        grid.setHorizontalSpacing(24)
        grid.setVerticalSpacing(10)
        self._no_scripts = plain_label("muted", "Available when all tokens have been made.")
        self._no_scripts.setWordWrap(True)
        self._inner = QWidget()
        self._scripts = column(spacing=2, parent=self._inner)
        self._scripts.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._scroll = QScrollArea(widgetResizable=True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setWidget(self._inner)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # So that the background of the panel is visible.
        for ground in (self._scroll.viewport(), self._inner):
            ground.setAutoFillBackground(False)
        kinds = (*self._group("Kind", kinds_shown), *self._group("Uses", uses), STRETCH)
        content = self._group("Content", LOOKS)
        if places:
            content += self._group("Place in the corpus", places)
        scripts = (plain_label("title", "Script, with share of tokens"), self._no_scripts, (self._scroll, 1))
        grid.addLayout(column(*kinds, spacing=2), 0, 0)
        below = scripts if has_scripts else (STRETCH,)
        grid.addLayout(column(*content, *below, spacing=2), 0, 1)
        grid.addLayout(self._build_lengths(), 1, 0, 1, 2)
        self.expression = QCheckBox("&Regular expression")
        self.expression.setToolTip("Read the filter as a regular expression; or write one between slashes")
        self.expression.toggled.connect(self._emit_changed)
        self.clear_button = QPushButton("&Clear")
        self.clear_button.clicked.connect(self.clear)
        # It repeats the number of matches, as the panel covers the usual place for it.
        self.matches = plain_label("muted")
        grid.addLayout(row((self.expression, 1), self.matches, 8, self.clear_button), 2, 0, 1, 2)

    def _group(self, title: str, names: Iterable[str]) -> list[QWidget | int]:
        return [plain_label("title", title), *(self._box(name, name) for name in names), 6]

    def _build_lengths(self) -> QHBoxLayout:
        self.least, self.most = Number(self._theme, _LONGEST), Number(self._theme, _LONGEST)
        for number, name in ((self.least, "Fewest bytes of a token"), (self.most, "Most bytes of a token")):
            number.setSpecialValueText(_ANY)
            number.setAccessibleName(name)
            number.valueChanged.connect(self._emit_changed)
        return row(QLabel("Length from"), self.least, QLabel("to"), self.most, QLabel("bytes"), STRETCH, spacing=8)

    def _box(self, name: str, text: str) -> QCheckBox:
        box = self.boxes[name] = QCheckBox(text)
        box.setToolTip(_TIPS.get(name, "Tokens with a letter of this script"))
        box.toggled.connect(self._emit_changed)
        return box

    @contextmanager
    def _one_change(self) -> Iterator[None]:
        """Emits `changed` once for all changes within it."""
        before, self._quiet = self._quiet, True
        yield
        self._quiet = before
        self._emit_changed()

    def _emit_changed(self) -> None:
        if not self._quiet:
            self.changed.emit()

    def _apply_style(self) -> None:
        self._scroll.setMinimumHeight(self._theme.scaled(150))


class FilterButton(QToolButton):
    """Opens a `FilterPanel`, and shows the number of its filters."""

    def __init__(
        self,
        theme: Theme,
        kinds: Iterable[str] = MADE,
        uses: Iterable[str] = USES_STATES,
        places: Iterable[str] = (),
        *,
        has_scripts: bool = True,
    ) -> None:
        super().__init__(toolButtonStyle=Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.panel = FilterPanel(theme, self, kinds, uses, places, has_scripts=has_scripts)
        self.setIcon(icon("filter", theme))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setToolTip("Filter by kind, script, use and length")
        self.clicked.connect(self._open)
        self.panel.changed.connect(self._show_count)
        self._show_count()

    def _open(self) -> None:
        self.panel.open_below(self)

    def _show_count(self) -> None:
        count = len(self.panel.chosen()) + (self.panel.lengths() is not None)
        self.setText(f"Kinds ({count})" if count else "Kinds")
        self.setAccessibleName(f"Filter by kind, script, use and length: {count or 'nothing'} selected")


# --- The offer to count the uses of a tokenizer from a file, in place of the missing figures --------------------------


class CountUsesButton(ActionButton):
    """A button that counts the uses in the open corpus; without a corpus it is disabled, and says why."""

    def __init__(self, action: QAction, theme: Theme) -> None:
        super().__init__(action, "Count Uses in the Corpus", theme)
        self.setProperty("primary", None)
        self.setProperty("link", True)


class UsesOffer(QFrame):
    """A muted line above a table, hidden while there is nothing to offer."""

    def __init__(self, action: QAction, theme: Theme) -> None:
        super().__init__()
        self.label = paragraph_label("muted")
        self.button = CountUsesButton(action, theme)
        row((self.label, 1), self.button, margins=(8, 0, 8, 0), parent=self)
        self.hide()

    def offer(self, words: str) -> None:
        """Says why there are no counts; "" hides the line."""
        if words != self.label.text():
            self.label.setText(words)
            self.setVisible(bool(words))
