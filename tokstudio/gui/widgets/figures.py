"""Figures in rows, drawings in SVG, and tables that size themselves."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from html import escape, unescape
from typing import NamedTuple, TypeAlias

from PySide6.QtCore import (
    QAbstractTableModel,
    QBuffer,
    QEvent,
    QIODevice,
    QMargins,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QGuiApplication, QKeyEvent, QKeySequence, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import (
    QAbstractItemView,
    QGridLayout,
    QHeaderView,
    QLabel,
    QSizePolicy,
    QTableView,
    QTreeWidget,
    QWidget,
)

from tokstudio.core.base.wording import printable
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import TermLabel, plain, plain_label
from tokstudio.gui.widgets.layouts import Fitting, column

# --- SVG drawings, made with a painter --------------------------------------------------------------------------------

_FAMILIES = re.compile(r'font-family="([^"]*)"')
_TEXT = re.compile(r'(<text [^>]*?) x="([^"]*)"([^>]*>)([^<]*)(?=</text>)')


def drawing_of(
    widget: QWidget, width: int, height: int, generic: str, paint: Callable[[QPainter], None], description: str = ""
) -> str:
    """Returns the SVG that `paint` draws on `width` by `height` pixels, titled with the accessible name of `widget`.

    A viewer without its fonts uses others of the family `generic`, such as "sans-serif". The description is `told`, or
    else that of `widget`.
    """
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    drawing = QSvgGenerator(QSvgGenerator.SvgVersion.Svg11)
    drawing.setOutputDevice(buffer)
    drawing.setSize(QSize(width, height))
    drawing.setViewBox(QRect(0, 0, width, height))
    drawing.setResolution(widget.logicalDpiX())
    drawing.setTitle(widget.accessibleName())
    drawing.setDescription(description or widget.accessibleDescription())
    with QPainter(drawing) as painter:
        paint(painter)
    return _FAMILIES.sub(rf'font-family="\1,{generic}"', bytes(buffer.data().data()).decode())


def pdf_of(width: int, height: int, paint: Callable[[QPainter], None], title: str, description: str) -> bytes:
    """Returns a page of PDF of `width` by `height` points that `paint` draws; the metadata say what it is of."""
    # Here, as to load them takes a part of the time of a start.
    from PySide6.QtCore import QMarginsF, QSizeF
    from PySide6.QtGui import QPageLayout, QPageSize, QPdfWriter

    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setResolution(72)
    size = QPageSize(QSizeF(width, height), QPageSize.Unit.Point, "", QPageSize.SizeMatchPolicy.ExactMatch)
    writer.setPageLayout(QPageLayout(size, QPageLayout.Orientation.Portrait, QMarginsF()))
    writer.setTitle(title)
    writer.setCreator("TokStudio")
    writer.setDocumentXmpMetadata(_xmp(title, description).encode())
    with QPainter(writer) as painter:
        paint(painter)
    return bytes(buffer.data().data())


def _xmp(title: str, description: str) -> str:
    """The metadata of a document, as XMP (ISO 16684-1) in RDF."""
    titles, descriptions = (
        f'<rdf:Alt><rdf:li xml:lang="x-default">{escape(printable(text), quote=False)}</rdf:li></rdf:Alt>'
        for text in (title, description)
    )
    return (
        '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{titles}</dc:title><dc:description>{descriptions}'
        '</dc:description></rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>'
    )


def svg_of(
    widget: QWidget, width: int, height: int, font: QFont, paint: Callable[[QPainter], None], description: str = ""
) -> bytes:
    """Returns the SVG of `drawing_of` with its text in the monospaced `font`.

    A viewer without that font uses another monospaced one, and each text keeps its centre.
    """
    metrics = QFontMetricsF(font)

    def centred(match: re.Match[str]) -> str:
        before, left, after, words = match.groups()
        middle = float(left) + metrics.horizontalAdvance(unescape(words)) / 2
        return f'{before} x="{middle:g}" text-anchor="middle"{after}{words}'

    return _TEXT.sub(centred, drawing_of(widget, width, height, "monospace", paint, description)).encode()


# --- Tables -----------------------------------------------------------------------------------------------------------
# Tables that show rows and edit nothing, and the keys that widgets with rows handle while they have the focus.

# Plain numbers: looking a member of an enumeration up, or joining two, takes longer than most answers for a cell.
_DISPLAYED, _ALIGNED = int(Qt.ItemDataRole.DisplayRole), int(Qt.ItemDataRole.TextAlignmentRole)
_FONT, _FOREGROUND = int(Qt.ItemDataRole.FontRole), int(Qt.ItemDataRole.ForegroundRole)
_TOLD = int(Qt.ItemDataRole.ToolTipRole)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
Index = QModelIndex | QPersistentModelIndex
NO_INDEX = QModelIndex()


class TableModel(QAbstractTableModel):
    """Rows below titles; a subclass says by their numbers what is in the cells.

    Attributes:
        titles: The title of each column.
        tips: The tool tip of each title, as plain text, or none.
        numbers: The columns that are aligned right.
        untitled: What a screen reader says of a column without a title.
    """

    titles: Sequence[str] = ()
    tips: Sequence[str] = ()
    numbers: Collection[int] = ()
    untitled = ""

    def count(self) -> int:
        """Returns the number of rows."""
        raise NotImplementedError

    def text(self, row: int, column: int) -> str | None:
        """Returns the text of a cell."""
        raise NotImplementedError

    def tip(self, row: int, column: int) -> str:
        """Returns the tool tip of a cell, as plain text."""
        return ""

    def font(self, row: int, column: int) -> QFont | None:
        """Returns the font of a cell, if that is not the usual one."""
        return None

    def colour(self, row: int, column: int) -> str | None:
        """Returns the colour of a cell's text, if that is not the usual one."""
        return None

    def more(self, row: int, column: int, role: int) -> object:
        """Returns what a cell has in another role."""
        return None

    @contextmanager
    def reset(self) -> Iterator[None]:
        """Lets views show anew what is set within it."""
        self.beginResetModel()
        yield
        self.endResetModel()

    def tell(self, first: int = 0, last: int = -1) -> None:
        """Emits that rows have changed: those up to the last of the table if `last` is -1."""
        last = last % max(self.count(), 1)
        if first <= last < self.count():
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(self.titles) - 1))

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else self.count()

    def columnCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self.titles)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self.titles):
            return None
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain(self.tips[section]) if self.tips else None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(section)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self.titles[section] or self.untitled
        return self.titles[section] if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        # Called seven times for each cell that is drawn.
        row = index.row()
        if not 0 <= row < self.count():
            return None
        column = index.column()
        if role == _DISPLAYED:
            return self.text(row, column)
        if role == _ALIGNED:
            return self.alignment(column)
        if role == _FONT:
            return self.font(row, column)
        if role == _FOREGROUND:
            colour = self.colour(row, column)
            return None if colour is None else QColor(colour)
        if role == _TOLD:
            return plain(self.tip(row, column)) or None
        return self.more(row, column, role)

    def alignment(self, column: int) -> int:
        """Returns where the texts of a column are."""
        return _RIGHT if column in self.numbers else _LEFT


class FigureModel(TableModel):
    """A table model that follows a theme: numbers are in its font for figures."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme

    def font(self, row: int, column: int) -> QFont | None:
        return self._theme.tabular_font() if column in self.numbers else None


_HIGHEST_ROWS = 200  # pixels of the rows that a table has at least; a low screen has no more for large text


class RowTable(QTableView):
    """A table that has the height for some rows, and cuts none at its lower edge."""

    least_rows = 5  # fewer where large text makes them too high

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        # Else rows stay as high as the largest text that the hidden header has had.
        self.verticalHeader().setMinimumSectionSize(1)

    def set_row_height(self, height: int) -> None:
        """Makes the rows so many pixels high; keeps the first row in sight, and the current one if it is in sight."""
        before, bar = self.verticalHeader().defaultSectionSize(), self.verticalScrollBar()
        if height == before:
            return
        row, room = self.currentIndex().row(), self.viewport().height()
        is_in_sight = row >= 0 and 0 <= self.rowViewportPosition(row) <= room - before
        by_pixels = self.verticalScrollMode() == QAbstractItemView.ScrollMode.ScrollPerPixel
        first = round(bar.value() / before) if by_pixels else bar.value()
        self.verticalHeader().setDefaultSectionSize(height)
        self.updateGeometries()
        if is_in_sight:
            first = max(first, row + 1 - max(self.viewport().height() // height, 1))
        bar.setValue(first * height if by_pixels else first)

    def minimumSizeHint(self) -> QSize:
        """Makes room for some rows."""
        each = self.verticalHeader().defaultSectionSize()
        rows = min(self.least_rows, max(_HIGHEST_ROWS // each, 1)) * each
        header = self.horizontalHeader()
        above = 0 if header.isHidden() else header.sizeHint().height()
        return QSize(super().minimumSizeHint().width(), above + rows + 2 * self.frameWidth())

    def updateGeometries(self) -> None:
        """Leaves the room below the last whole row empty."""
        super().updateGeometries()
        rest = rest_below_rows(self, self.verticalHeader().defaultSectionSize())
        if rest is not None:
            self.setViewportMargins(rest)


class RowList(QTreeWidget):
    """A list with columns, of rows of one height, that cuts none at its lower edge. Tab leaves it."""

    def __init__(self, name: str, titles: Sequence[str]) -> None:
        super().__init__()
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setAllColumnsShowFocus(True)
        self.setAccessibleName(name)
        self.setHeaderLabels(titles)
        self.setTabKeyNavigation(False)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)

    def updateGeometries(self) -> None:
        """Leaves the room below the last whole row empty."""
        super().updateGeometries()
        rest = rest_below_rows(self, self.sizeHintForRow(0))
        if rest is not None:
            self.setViewportMargins(rest)


def rest_below_rows(view: QAbstractItemView, height: int) -> QMargins | None:
    """The margins with which rows of a height in pixels fill what is shown of a view; None where it has them."""
    margins = view.viewportMargins()
    rest = (view.viewport().height() + margins.bottom()) % max(height, 1)
    if rest == margins.bottom():
        return None
    margins.setBottom(rest)
    return margins


_Lines: TypeAlias = Callable[[], Sequence[str]]


class ReadOnlyTable(RowTable):
    """A table without grid and row headings, whose rows can be selected. Tab leaves it.

    If `about` says in lines what the table is of, Copy gives these, the headings, the selected cells and those of the
    columns `named`, which say what a row is of, instead of the current cell.
    """

    def __init__(
        self, name: str, model: TableModel | None = None, about: _Lines | None = None, named: Sequence[int] = (0,)
    ) -> None:
        super().__init__()
        self.setShowGrid(False)
        self.setWordWrap(False)
        self._about, self._named = about, named
        self.setAccessibleName(name)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        # Headings are aligned with the texts of the cells.
        self.horizontalHeader().setProperty("wide", True)
        if model is not None:
            self.setModel(model)

    def event(self, event: QEvent) -> bool:
        """Handles Copy itself while it has the focus, where it says what it is of."""
        return (self._about is not None and keeps_copy(event)) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._about is not None and event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)

    def copy(self) -> None:
        """Copies the selected cells with their headings, and what they are of; else the current cell."""
        model, chosen = self.model(), self.selectedIndexes()
        if self._about is None or not chosen:
            QGuiApplication.clipboard().setText(on_one_line(self.currentIndex().data()))
            return
        rows = sorted({index.row() for index in chosen})
        columns = sorted({index.column() for index in chosen}.union(self._named))
        cells = [[on_one_line(model.index(row, column).data()) for row in rows] for column in columns]
        # A column without texts, such as one of drawn marks, is left out.
        kept = [[self._heading(column), *texts] for column, texts in zip(columns, cells, strict=True) if any(texts)]
        lines = ("\t".join(line) for line in zip(*kept, strict=True))
        QGuiApplication.clipboard().setText("\n".join([*map(on_one_line, self._about()), *lines]))

    def _heading(self, column: int) -> str:
        roles = Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.DisplayRole
        values = (self.model().headerData(column, Qt.Orientation.Horizontal, role) for role in roles)
        return on_one_line(next(filter(None, values), ""))


def on_one_line(text: object) -> str:
    """A cell on one line, without the marks that isolate names on screen."""
    return "" if text is None else printable(re.sub("[\u2066-\u2069]", "", str(text)))


def keeps_copy(event: QEvent) -> bool:
    """Accepts the override of the shortcuts Copy and Select All for a widget; returns whether it was one of them."""
    if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
        return False
    kept = event.matches(QKeySequence.StandardKey.Copy) or event.matches(QKeySequence.StandardKey.SelectAll)
    if kept:
        event.accept()
    return kept


# --- A row of large numbers with their names; two rows where the width is small ---------------------------------------

_GAP = 8


class FigureName(NamedTuple):
    """The name of a number, in the plural, its explanation, and the word of the glossary for its name."""

    name: str
    tip: str
    word: str


class Figures(Fitting, QWidget):
    """Numbers side by side."""

    def __init__(self, figures: Sequence[FigureName]) -> None:
        super().__init__()
        self._tips = {figure.name: figure.tip for figure in figures}
        self._names = tuple(self._tips)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(_GAP)
        self._grid.setVerticalSpacing(4)
        self._cells: list[QWidget] = []
        self._numbers: list[QLabel] = []
        for figure in figures:
            self._add(figure)
        self._columns = 0
        self.fit()

    def set_values(self, values: Sequence[str]) -> None:
        """Sets the texts, one for each name."""
        for label, name, value in zip(self._numbers, self._names, values, strict=True):
            if label.text() != value:
                label.setText(value)
                label.setAccessibleName(f"{name}: {value}")
        self.fit()

    def values(self) -> tuple[str, ...]:
        """The texts."""
        return tuple(label.text() for label in self._numbers)

    def add_to_tip(self, name: str, text: str) -> None:
        """Adds a line to the tool tip of a number; "" removes it."""
        tip = "\n".join(filter(None, (self._tips[name], text)))
        self._cells[self._names.index(name)].setToolTip(plain(tip))

    def tip(self, name: str) -> str:
        """The tool tip of a number."""
        return self._cells[self._names.index(name)].toolTip()

    def minimumSizeHint(self) -> QSize:
        """Returns the width of two columns; a narrower widget uses two rows."""
        widest = max(cell.minimumSizeHint().width() for cell in self._cells)
        return QSize(2 * widest + _GAP, super().minimumSizeHint().height())

    def _add(self, figure: FigureName) -> None:
        cell = QWidget()
        cell.setToolTip(figure.tip)
        number = plain_label("figure", "–")
        name = TermLabel(figure.name, figure.word)
        name.setProperty("role", "muted")
        column(number, name, spacing=0, parent=cell)
        self._cells.append(cell)
        self._numbers.append(number)

    def fit(self) -> None:
        count = len(self._cells)
        needed = sum(cell.sizeHint().width() for cell in self._cells) + (count - 1) * _GAP
        columns = count if needed <= self.width() else (count + 1) // 2
        if columns == self._columns:
            return
        self._columns = columns
        for index, cell in enumerate(self._cells):
            self._grid.addWidget(cell, index // columns, index % columns)
        for index in range(count):
            self._grid.setColumnStretch(index, 1 if index < columns else 0)
