"""The parts of the Corpus pane: the list of sources, the statistics, and the preview of a source."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QItemSelection, QItemSelectionModel, QModelIndex, QObject, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QKeyEvent, QKeySequence, QWheelEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QLabel, QPlainTextEdit, QSizePolicy, QWidget

from tokstudio.core.base.wording import printable, several, share_text, size_text
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.corpus.statistics import Statistics, preview
from tokstudio.gui.state.problems import CHANGED, GONE, is_missing
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.spelling import marked, shown
from tokstudio.gui.widgets import layouts
from tokstudio.gui.widgets.figures import ReadOnlyTable, TableModel
from tokstudio.gui.widgets.labels import TermLabel, plain, plain_label
from tokstudio.gui.widgets.sliced_work import Slices

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- The sources of a corpus as a table: name, size, and a mark on changed files --------------------------------------
# It reads no files; the caller says which have changed or are missing.

NAME, SIZE, RELOAD = range(3)
MISSING = "missing"


class SourcesModel(TableModel):
    """One row per source, in the order of the corpus."""

    titles = ("Source", "Size", "Reload")  # for a screen reader: the list has no visible header
    numbers = (SIZE,)

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._reload = icon("reload", theme, "accent")
        self.sources: tuple[Source, ...] = ()  # the sources in the rows
        self._changed: dict[Source, str] = {}
        self._remaining: tuple[Source, ...] = ()
        self._left: Sequence[str] = ()

    @property
    def widest_size(self) -> str:
        """The longest text in the column of sizes."""
        counted = (_words(source) for source in self.sources if source.counts is not None)
        return max(("999.9 MB", CHANGED if self._changed else "", *counted), key=len)

    @property
    def any_changed(self) -> bool:
        """Whether any file has changed or disappeared since it was read."""
        return bool(self._changed)

    def is_changed(self, row: int) -> bool:
        """Whether the file of a row has changed or disappeared since it was read."""
        return 0 <= row < len(self.sources) and self.sources[row] in self._changed

    def set_sources(self, sources: tuple[Source, ...]) -> None:
        """Shows other sources; rows added at the end keep selection and scroll position."""
        size_before = len(self.sources)
        self._changed = _of(sources, self._changed)
        self._remaining, self._left = sources, [""] * len(sources)
        if sources[:size_before] == self.sources:
            if len(sources) > size_before:
                self.beginInsertRows(QModelIndex(), size_before, len(sources) - 1)
                self.sources = sources
                self.endInsertRows()
            return
        with self.reset():
            self.sources = sources

    def set_left_out(self, remaining: tuple[Source, ...], left: Sequence[str]) -> None:
        """Shows the size of what remains of each source, with how much is left out of it."""
        self._remaining, self._left = remaining, left
        self.tell()

    def set_changed(self, changed: Mapping[Source, str]) -> None:
        """Marks sources whose files have changed, each with `CHANGED` or `GONE`."""
        marked = _of(self.sources, changed)
        if marked != self._changed:
            self._changed = marked
            self.tell()

    def count(self) -> int:
        return len(self.sources)

    def text(self, row: int, column: int) -> str | None:
        source = self.sources[row]
        if column == SIZE:
            size = size_text(self._remaining[row].bytes) if source.counts is None else _words(source)
            return MISSING if is_missing(source) else self._changed.get(source) or size
        return source.name if column == NAME else None

    def tip(self, row: int, column: int) -> str:
        changed = self._changed.get(self.sources[row], "")
        if column == RELOAD:
            return "Read the file again" if changed else ""
        left = f"\n{self._left[row]} left out" if self._left[row] else ""
        return _tip(self.sources[row], changed) + left

    def colour(self, row: int, column: int) -> str | None:
        wrong = self.is_changed(row) or is_missing(self.sources[row])
        return None if column != SIZE else self._theme.palette.warning if wrong else self._theme.palette.muted

    def font(self, row: int, column: int) -> QFont | None:
        return self._theme.tabular_font(12) if column == SIZE else None

    def more(self, row: int, column: int, role: int) -> object:
        if column == NAME and role == Qt.ItemDataRole.AccessibleTextRole and self._left[row]:
            return f"{self.sources[row].name}, {self._left[row]} left out"
        if column != RELOAD or not self.is_changed(row):
            return None
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"Reload {self.sources[row].name}"
        return self._reload if role == Qt.ItemDataRole.DecorationRole else None


def read_text(source: Source) -> str:
    """Says how a source was read: its encoding, the column of a data set, or that its words were counted."""
    if source.counts is not None:
        return f"{_words(source)}, counted"
    reading = source.reading
    if not source.is_rows or reading is None or reading.field is None:
        return encoding_text(source.encoding)
    value = f", {reading.split_by} {source.value}" if source.value is not None else ""
    return printable(f"{source.kind or 'data set'}, column {reading.field}{value}")


def encoding_text(encoding: str) -> str:
    """Formats the name of an encoding: `encoding_text("utf-16-le")` is "UTF-16 LE"."""
    if encoding == "bytes":
        return "Bytes, not decoded"
    first, _, order = encoding.removeprefix("utf-").partition("-")
    return f"UTF-{first} {order.upper()}".strip() if encoding.startswith("utf-") else encoding


def _of(sources: tuple[Source, ...], changed: Mapping[Source, str]) -> dict[Source, str]:
    shown_sources = set(sources)
    return {source: word for source, word in changed.items() if source in shown_sources}


def _words(source: Source) -> str:
    return several(source.documents, "word")


def outdated_text(changed: str) -> str:
    """Describes a file that has `CHANGED` or is `GONE`: "changed on disk since it was read"."""
    return f"{changed} {'from' if changed == GONE else 'on'} disk since it was read"


def _tip(source: Source, changed: str) -> str:
    if is_missing(source):
        return f"{printable(str(source.path))}\nNot found when the project was opened."
    lines = [printable(str(source.path or source.name)), f"{read_text(source)} · {several(source.bytes, 'byte')}"]
    if source.documents != 1 and source.counts is None:
        lines.append(f"{source.documents:,} documents")
    if source.note and source.counts is None:
        lines.append(source.note)
    if changed:
        lines.append(f"{outdated_text(changed).capitalize()}.")
    return "\n".join(lines)


# The indent of texts in a list, also used above and below them.
TEXT_INSET = 10
_LEAST_ROWS, _MOST_ROWS = 2, 4
_COUNTING = "…"
# Longer lines are reported; most texts have none.
_LONG_LINE = 10_000
_MOST_SCRIPTS = 3
# A line is laid out in one step, which must not block the window.
_LINE_CHARACTERS = 4000
_REST = " …"
_PREVIEW_CHARACTERS = 16_000
_PREVIEW_LINES = 200
_AROUND_LINES = 20  # pixels of its margins and its frame
_WORD_BYTES = 60
_CONTROLS = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}


class SourceList(ReadOnlyTable):
    """The list of sources, as high as its rows, up to four; up to two where a low window has no more room."""

    removeAsked = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__("Sources")
        self._theme = theme
        self.sources_model = SourcesModel(theme, self)
        self.setModel(self.sources_model)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self.horizontalHeader().hide()
        self.horizontalHeader().setMinimumSectionSize(16)
        self.horizontalHeader().setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        theme.follow(self.fit)

    def selected_rows(self) -> list[int]:
        """Returns the selected rows, ascending."""
        # By ranges: thousands of rows are usually one range.
        selection = self.selectionModel().selection()
        parts = (selection.at(number) for number in range(selection.count()))
        return sorted({row for part in parts for row in range(part.top(), part.bottom() + 1)})

    def select_rows(self, rows: list[int]) -> None:
        """Selects exactly these rows; the first one is current."""
        model = self.sources_model
        selection = QItemSelection()
        for row in rows:
            selection.select(model.index(row, NAME), model.index(row, RELOAD))
        flags = QItemSelectionModel.SelectionFlag
        self.selectionModel().select(selection, flags.ClearAndSelect)
        if rows:
            self.selectionModel().setCurrentIndex(model.index(rows[0], NAME), flags.NoUpdate)

    def fit(self) -> None:
        """Fits rows and columns to their text."""
        height = self._theme.scaled(26)
        self.setIconSize(QSize(self._theme.scaled(14), self._theme.scaled(14)))
        self.set_row_height(height)
        size = self.fontMetrics().horizontalAdvance(self.sources_model.widest_size)
        self.setColumnWidth(SIZE, size + 2 * TEXT_INSET)
        self.setColumnHidden(RELOAD, not self.sources_model.any_changed)
        self.setColumnWidth(RELOAD, height)
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._height_of(_MOST_ROWS))

    def minimumSizeHint(self) -> QSize:
        return QSize(self._theme.scaled(140), self._height_of(_LEAST_ROWS))

    def _height_of(self, rows: int) -> int:
        """The height of the list where it shows so many rows at most."""
        shown = min(max(self.sources_model.rowCount(), 1), rows)
        return shown * self.verticalHeader().defaultSectionSize() + 2

    def event(self, event: QEvent) -> bool:
        """Handles Delete itself while it has the focus."""
        if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent) or not _is_delete(event):
            return super().event(event)
        event.accept()
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if _is_delete(event):
            self.removeAsked.emit()
        else:
            super().keyPressEvent(event)


_TERMS = {"Bytes": "byte", "Characters": "character", "Documents": "document"}
_FIGURES = (
    "Bytes",
    "Characters",
    "Distinct characters",
    "Lines",
    "Documents",
    "Words, counted",
    "Longest line",
    "Scripts",
    "No font for",
    "Encoding",
    "Not UTF-8",
)


class StatisticsTable(QWidget):
    """The statistics of a corpus, as rows with a name and a figure."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._names: dict[str, QLabel] = {}
        self._values: dict[str, QLabel] = {}
        self._fonts = Slices(self)
        self._rows = layouts.column(margins=(TEXT_INSET, 0, TEXT_INSET, 0), parent=self)
        for name in _FIGURES:
            self._add_row(name)
        theme.follow(self._apply_theme)

    def shown(self) -> dict[str, str]:
        """Returns the visible rows: name and figure."""
        return {name: label.text() for name, label in self._values.items() if not label.isHidden()}

    def show_corpus(self, corpus: Corpus, statistics: Statistics | None) -> None:
        """Shows a corpus; without statistics, the part that is known before they are counted."""
        self._fonts.stop()
        texts = [source for source in corpus.sources if source.counts is None]
        documents = sum(source.documents for source in texts)
        words = corpus.documents - documents
        encodings = list(dict.fromkeys(encoding_text(source.encoding) for source in texts))
        self._set("Bytes", f"{corpus.bytes:,}")
        self._set("Documents", f"{documents:,}" if documents > 1 else None)
        self._set("Words, counted", f"{words:,}" if words else None)
        few = ", ".join(encodings) if len(encodings) <= 2 else f"{len(encodings)} encodings"
        self._set("Encoding", few if texts or not corpus.sources else None, ", ".join(encodings))
        self._set("Characters", _figure(statistics and statistics.characters))
        self._set("Distinct characters", _figure(statistics and statistics.distinct_characters))
        lines = _figure(statistics and statistics.lines)
        self._set("Lines", lines if texts or not corpus.sources else None)
        if statistics is None:
            # Optional rows stay while counting, so that nothing moves for a moment.
            self._set("Scripts", _COUNTING)
            for name in ("Longest line", "No font for", "Not UTF-8"):
                self._set(name, self._values[name].text() or None)
            return
        longest, invalid = statistics.longest_line_bytes, statistics.invalid_bytes
        self._set("Longest line", f"{longest:,} bytes" if longest >= _LONG_LINE else None)
        self._set("Scripts", *scripts_text(statistics.scripts))
        self._set("Not UTF-8", several(invalid, "byte") if invalid else None)
        self._fonts.start(self._name_missing_fonts([name for name, _ in statistics.scripts]))

    def _name_missing_fonts(self, scripts: list[str]) -> Iterator[None]:
        # In steps: the first check of the fonts of all scripts takes 30 ms.
        missing: list[str] = []
        for script in scripts:
            yield
            if lacks_font(script):
                missing.append(script)
        self._set("No font for", ", ".join(missing) or None, TIP)

    def _add_row(self, text: str) -> None:
        name = TermLabel(text, _TERMS[text]) if text in _TERMS else plain_label(text=text)
        name.setProperty("role", "muted")
        value = plain_label()
        name.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
        # A number has no blank, so that none is on two lines, and none is cut.
        value.setWordWrap(True)
        name.setBuddy(value)
        # Beside a short name, a long number or a list can use the room of the longest name.
        self._rows.addLayout(layouts.row(name, (value, 1), spacing=12))
        self._names[text], self._values[text] = name, value

    def _set(self, name: str, value: str | None, tip: str = "") -> None:
        label = self._values[name]
        label.setText(value or "")
        label.setToolTip(plain(tip) if tip != value else "")
        label.setAccessibleName(f"{name}: {value}" if value else name)
        for one in (self._names[name], label):
            one.setVisible(value is not None)

    def _apply_theme(self) -> None:
        self._rows.setSpacing(self._theme.scaled(3))
        for label in self._values.values():
            label.setFont(self._theme.tabular_font())


class Preview(QPlainTextEdit):
    """The first lines of a source, to read and copy; as high as they are, so that only the pane scrolls."""

    line_reached = Signal(int, int, int, int)  # the cursor is here in the pane, with a margin

    def __init__(self) -> None:
        super().__init__(readOnly=True, undoRedoEnabled=False, tabChangesFocus=True)
        self.setAccessibleName("Preview of the selected source")
        flags = Qt.TextInteractionFlag
        self.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        for set_policy in (self.setVerticalScrollBarPolicy, self.setHorizontalScrollBarPolicy):
            set_policy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().documentLayout().documentSizeChanged.connect(self.fit)
        self.cursorPositionChanged.connect(self._tell_line)

    def show_source(self, source: Source | None) -> None:
        """Shows the beginning of a source, with "…" for the rest."""
        self.setPlainText(beginning(source) if source is not None else "")

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scrolls the pane."""
        event.ignore()

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self.minimumHeight())

    def fit(self) -> None:
        """Makes it as high as its lines."""
        lines = self.document().documentLayout().documentSize().height()
        self.setFixedHeight(round(lines) * self.fontMetrics().lineSpacing() + _AROUND_LINES)

    def _tell_line(self) -> None:
        around = self.parentWidget()
        if around is not None and self.hasFocus():
            place = self.viewport().mapTo(around, self.cursorRect().center())
            self.line_reached.emit(place.x(), place.y(), 0, 2 * self.fontMetrics().lineSpacing())


def beginning(source: Source) -> str:
    """Returns the beginning of a source, with "…" for the rest and visible signs for control characters."""
    if source.counts is not None:
        return _first_words(source, source.counts)
    lines = preview(source, _PREVIEW_LINES + 1).split("\n")
    text = "\n".join(map(_shortened, lines[:_PREVIEW_LINES]))
    # Every text that `preview` shortens has more characters, more lines or a longer line than this.
    cut = len(text) > _PREVIEW_CHARACTERS or any(lines[_PREVIEW_LINES:])
    return text[:_PREVIEW_CHARACTERS].translate(_CONTROLS) + (_REST if cut else "")


def _first_words(source: Source, counts: NDArray[np.int64]) -> str:
    """The first words after their counts, with marks for white space."""
    lines: list[str] = []
    start = 0
    for end, count in zip(source.ends[:_PREVIEW_LINES].tolist(), counts[:_PREVIEW_LINES].tolist(), strict=True):
        word = source.data[start : min(end, start + _WORD_BYTES + 4)].tobytes()
        lines.append(f"{count:,}\t{marked(shown(word, _WORD_BYTES))}")
        start = end
    return "\n".join(lines) + ("\n…" if len(counts) > _PREVIEW_LINES else "")


def _shortened(line: str) -> str:
    return line if len(line) <= _LINE_CHARACTERS else line[:_LINE_CHARACTERS] + _REST


def scripts_text(scripts: tuple[tuple[str, float], ...]) -> tuple[str, str]:
    """Returns the largest scripts with their shares and how many others there are, and a list of all."""
    parts = [f"{name}\u00a0{share_text(share)}" for name, share in scripts]
    if not parts:
        return "none", "There are no letters."
    few = [part for part, (_, share) in zip(parts, scripts, strict=True) if share >= 0.005 or part == parts[0]]
    named = few[:_MOST_SCRIPTS]
    text, more = ", ".join(named), len(parts) - len(named)
    return (f"{text}, {more}\u00a0more" if more > 0 else text), ", ".join(parts)


def _figure(value: int | None) -> str:
    return _COUNTING if value is None else f"{value:,}"


def _is_delete(event: QKeyEvent) -> bool:
    return event.matches(QKeySequence.StandardKey.Delete) or event.key() == Qt.Key.Key_Backspace


TIP = "No installed font has their characters, so they are drawn as boxes. Install one, such as Noto Sans."

# A letter that every font of the script has. For Hangul it is not "가", which Droid Sans Fallback has as one of three
# syllables. Other scripts are not checked.
_LETTERS = {
    "Latin": "a", "Cyrillic": "ж", "Han": "中", "Hiragana": "あ", "Katakana": "ア", "Hangul": "한", "Arabic": "م",
    "Devanagari": "न", "Greek": "λ", "Hebrew": "ש", "Thai": "ส", "Bengali": "ক", "Tamil": "க", "Telugu": "క",
    "Kannada": "ಕ", "Malayalam": "ക", "Gujarati": "ક", "Gurmukhi": "ਕ", "Oriya": "କ", "Sinhala": "ක", "Georgian": "ა",
    "Armenian": "ա", "Ethiopic": "ሀ", "Khmer": "ក", "Lao": "ກ", "Myanmar": "က", "Tibetan": "ཀ", "Cherokee": "Ꭰ",
}  # fmt: skip


def lacks_font(script: str) -> bool:
    """Whether no font has a script, including substitutes. The first check may take some milliseconds."""
    return script in _LETTERS and not QFontMetrics(QFont()).inFontUcs4(ord(_LETTERS[script]))
