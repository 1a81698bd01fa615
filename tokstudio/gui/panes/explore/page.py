"""The bases of the pages of the Explore pane, with controls, a note and the progress of the work, and of its lists."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from PySide6.QtCore import QEvent, QItemSelectionModel, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QGuiApplication, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView, QWidget

from tokstudio.core.base.progress import Progress
from tokstudio.core.exploration.exploration import Exploration
from tokstudio.gui.session.measuring.exploring import Inquiry, WrittenTable
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.figures import FigureModel, Index, ReadOnlyTable, keeps_copy, on_one_line
from tokstudio.gui.widgets.labels import paragraph_label
from tokstudio.gui.widgets.layouts import Fitting, column, stacked
from tokstudio.gui.widgets.pane import EmptyState
from tokstudio.gui.widgets.work_line import WorkLine

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_COPIED = 1 << 12  # rows
_BESIDE = 9  # pixels on each side of the text of a cell


class ListRows(FigureModel):
    """Rows over arrays, up to millions; `widest` has the widest text that each column must hold."""

    widest: Sequence[str] = ()


def widest_number(least: str, values: NDArray[Any], form: str = ",.0f") -> str:
    """The greatest of some numbers, NaN left out, in a form; or `least` where that is longer."""
    return max(least, f"{float(np.fmax.reduce(values, initial=0)):{form}}", key=len)


class _Cells(QStyledItemDelegate):
    """Paints the texts of `ListRows`: for a cell in a style sheet, Qt asks seven times, and takes twice as long."""

    def __init__(self, rows: ListRows, theme: Theme, table: QTableView) -> None:
        super().__init__(table)
        self._rows, self._theme, self._table = rows, theme, table
        theme.follow(self._apply_style)

    def _apply_style(self) -> None:
        self._text, self._selected = QColor(self._theme.palette.text), QColor(self._theme.palette.accent_soft)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row, at, area = index.row(), index.column(), option.rect
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(area, self._selected)
        area = area.adjusted(_BESIDE, 0, -_BESIDE, 0)
        painter.setFont(self._rows.font(row, at) or self._table.font())
        painter.setPen(self._text)
        text = self._rows.text(row, at) or ""
        metrics = painter.fontMetrics()
        if metrics.horizontalAdvance(text) > area.width():
            text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, area.width())
        painter.drawText(area, self._rows.alignment(at), text)


class ListTable(Fitting, ReadOnlyTable):
    """A table of such rows; a click on a title sorts, which the page does."""

    title_clicked = Signal(int)
    opened = Signal(int)  # a row

    def __init__(self, model: ListRows, theme: Theme, name: str) -> None:
        super().__init__(name)
        self._rows, self._theme = model, theme
        self._fitted: tuple[Sequence[tuple[str, str]], int] = (), 0
        self._order = -1, True
        self.setModel(model)
        self.setItemDelegate(_Cells(model, theme, self))
        header = self.horizontalHeader()
        # With the table's selection model, a header asks for every selected row, up to a million, at every repaint.
        header.setSelectionModel(QItemSelectionModel(model, self))
        header.setSectionsClickable(True)
        header.setSortIndicatorShown(True)
        header.sectionClicked.connect(self._click_title)
        self.activated.connect(lambda index: self.opened.emit(index.row()))
        model.modelReset.connect(self.fit)
        theme.follow(self._apply_style)

    def show_order(self, at: int, descending: bool) -> None:
        """Marks the column that the rows are sorted by; none for -1."""
        self._order = at, descending
        with QSignalBlocker(self.horizontalHeader()):
            order = Qt.SortOrder.DescendingOrder if descending else Qt.SortOrder.AscendingOrder
            self.horizontalHeader().setSortIndicator(at, order)

    def copy(self) -> None:
        """Copies the selected rows with their titles, the first of them where they are many."""
        ranges = list(self.selectionModel().selection())  # pyright: ignore[reportArgumentType] (it can be gone through)
        spans = (range(part.top(), min(part.bottom(), part.top() + _MOST_COPIED) + 1) for part in ranges)
        rows = sorted({row for span in spans for row in span})
        columns = range(len(self._rows.titles))
        lines = ["\t".join(self._rows.titles)]
        lines += ["\t".join(on_one_line(self._rows.text(row, at)) for at in columns) for row in rows[:_MOST_COPIED]]
        if rows:
            QGuiApplication.clipboard().setText("\n".join(lines))

    def event(self, event: QEvent) -> bool:
        return keeps_copy(event) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, rows = event.key(), self._rows.count()
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End) and rows:
            self.setCurrentIndex(self._rows.index(0 if key == Qt.Key.Key_Home else rows - 1, 0))
        else:
            super().keyPressEvent(event)

    def fit(self) -> None:
        """Gives each column the width of its title and its values, and the first what is left."""
        header, metrics = self.horizontalHeader(), self.fontMetrics()
        figures = QFontMetrics(self._theme.tabular_font())
        shown = tuple(zip(self._rows.titles, self._rows.widest, strict=True))
        room = self.viewport().width()
        if (shown, room) == self._fitted or not shown:
            return
        self._fitted = shown, room
        for at, texts in enumerate(shown):
            title = metrics.horizontalAdvance(texts[0] + "   ") + self._theme.scaled(12)
            value = max(each.horizontalAdvance(texts[1]) for each in (metrics, figures)) + 2 * _BESIDE + 2
            header.resizeSection(at, max(title, value))
        header.resizeSection(0, max(header.sectionSize(0), header.sectionSize(0) + room - header.length()))

    def _click_title(self, at: int) -> None:
        # Qt has moved the mark, before it is known whether these rows can be sorted so.
        self.show_order(*self._order)
        self.title_clicked.emit(at)

    def _apply_style(self) -> None:
        self.set_row_height(self._theme.scaled(24))
        self._fitted = (), 0
        self.fit()


class ExplorePage(QWidget):
    """One page. A subclass puts its controls into `head` and its `content` below them, and asks in `look`.

    It is told when to `look`: when it comes into sight, and after each change of the exploration, its limits or the
    chosen token while it is in sight. It shows answers in `show_answer`.
    """

    titled = ""  # its tab
    tip = ""  # of its tab
    will_show = ""  # a sentence: what will be here
    needs_tokenizer = False
    phases: ClassVar[dict[str, str]] = {}  # words for the phases of its work
    tabled = Signal()  # `table` has changed

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self.session, self.exploring, self.theme = session, session.exploring, theme
        self._inquiries: list[Inquiry] = []
        self.asked = self.inquire(self.update_state)
        self.head, self.content = QWidget(), QWidget()
        self.empty = EmptyState(self.will_show)
        self.empty.setMinimumWidth(1)
        self.note = paragraph_label("muted")
        progress, again = (lambda: self.progress), self.try_again
        self.work = WorkLine(self.titled, theme, self.phases, progress, self.cancel_work, again)
        self.problem, self.again, self.cancel = self.work.problem, self.work.again, self.work.cancel
        self.work.ticked.connect(self.fill)
        self.stack = stacked(self.empty, self.content)
        column(self.head, (self.stack, 1), self.note, self.work, spacing=6, parent=self)

    # ---- for subclasses

    def inquire(self, shown: Callable[[], object]) -> Inquiry:
        """Makes one more thing that the page asks with; `shown` follows its answers."""
        made = Inquiry(self.session.jobs, self)
        made.changed.connect(shown)
        self._inquiries.append(made)
        return made

    @property
    def table(self) -> WrittenTable | None:
        """What can be written; None for nothing."""
        return None

    def look(self, exploration: Exploration) -> None:
        """Asks for what the page shows of an exploration."""
        raise NotImplementedError

    def show_answer(self) -> None:
        """Shows the answer of `asked`, or that there is none."""
        raise NotImplementedError

    def forget(self) -> None:
        """Forgets the exploration: there is another, or none."""
        for each in self._inquiries:
            each.forget()

    def take_keyboard(self) -> None:
        """Takes the focus where there is something to type."""

    def follow_token(self) -> None:
        """Follows the chosen token."""

    def fill(self) -> None:
        """Shows what the work has found so far."""

    @property
    def busy(self) -> bool:
        """Whether something is still to come."""
        return any(each.busy for each in self._inquiries)

    @property
    def progress(self) -> Progress:
        """The progress of the work."""
        return next((each.progress for each in self._inquiries if each.busy), Progress(""))

    @property
    def trouble(self) -> str:
        """Why there is no answer; "" if there is one, or one is to come."""
        return next((each.problem for each in self._inquiries if each.problem), "")

    def cancel_work(self) -> None:
        """Cancels the work."""
        for each in self._inquiries:
            each.cancel()

    def try_again(self) -> None:
        """Asks again what has no answer."""
        for each in self._inquiries:
            if each.can_retry:
                each.again()

    def leave(self) -> None:
        """Ends the work while the page is not seen."""
        for each in self._inquiries:
            each.leave()
        self.work.rest()

    # ---- for the pane

    def refresh(self) -> None:
        """Shows the exploration, or why there is none."""
        exploration = self.exploring.exploration
        why = self.exploring.problem
        if exploration is not None and self.needs_tokenizer and exploration.tokenizer is None:
            exploration, why = None, "Train a tokenizer, or open one."
        self.head.setVisible(exploration is not None)
        if exploration is None:
            self.forget()
            self.empty.label.setText(f"{self.will_show} {why}")
        else:
            self.look(exploration)
        self.update_state()

    def update_state(self) -> None:
        """Shows the answer, and what goes on."""
        self.show_answer()
        self.note.setVisible(bool(self.note.text()))
        self.work.show_state(self.busy, self.trouble, can_retry=any(each.can_retry for each in self._inquiries))
        self.tabled.emit()
