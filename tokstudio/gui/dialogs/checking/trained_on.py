"""The dialog What Was It Trained On?: the shares of texts in a tokenizer's training text, from its merges."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSignalBlocker, QSize, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QComboBox, QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from tokstudio.core.analysis.infer_mixture.inference import InferredMixture, infer_mixture_work
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import capitalized, percent_text, printable, several
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.dialogs.checking.base import TokenizerCheckDialog
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.token_label import token_label
from tokstudio.gui.widgets.fields import label_for
from tokstudio.gui.widgets.figures import FigureModel
from tokstudio.gui.widgets.labels import guarded_painter
from tokstudio.gui.widgets.layouts import Item
from tokstudio.gui.widgets.menus import push_button

_NAME, _SHARE, _INTERVAL, _BAR = range(4)
_TEXTS = "Texts (*.txt *.jsonl *.json *.csv *.parquet *.gz *.zst *.xz);;All files (*)"
_CORPUS = "The texts of the corpus"
_EMPTY = (
    "Estimates from the order of a tokenizer's merges how much of its training text was like each of some texts: give "
    "about 1 MB of each language or kind of text that it may have learned. Files can be dropped here."
)
_LISTED = 200  # merges that no candidate has
_LONGEST = 60  # bytes of a token


class SharesModel(FigureModel):
    """A row for each candidate."""

    titles = ("Candidate", "Share", "95 % interval", "")
    tips = (
        "The texts that the merges are compared with",
        "Of the bytes of the training text",
        "How much the share changes with the choice of the candidates' text: a tenth of each is left out in turn",
        "The share as a bar, with its interval as a line",
    )
    numbers = (_SHARE, _INTERVAL)
    untitled = "Bar"
    found: InferredMixture | None = None

    def show(self, found: InferredMixture | None = None) -> None:
        """Shows shares, or none."""
        with self.reset():
            self.found = found

    def count(self) -> int:
        return 0 if self.found is None else len(self.found.shares)

    def ends(self, row: int) -> tuple[float, float, float]:
        """The share of a row and the ends of its interval, which are the share where there is none."""
        assert self.found is not None
        each = self.found.shares[row]
        return each.share, each.share if each.low is None else each.low, each.share if each.high is None else each.high

    def text(self, row: int, column: int) -> str:
        assert self.found is not None
        each = self.found.shares[row]
        if column == _NAME:
            return printable(each.name)
        if column == _SHARE:
            return percent_text(each.share, 1)
        if column == _INTERVAL and each.low is not None and each.high is not None:
            return f"{percent_text(each.low, 1)} to {percent_text(each.high, 1)}"
        return "–" if column == _INTERVAL else ""


class _Bars(QStyledItemDelegate):
    """Draws each share as a bar in the last column, and its interval as a line in it."""

    def __init__(self, model: SharesModel, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._model, self._theme = model, theme

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().paint(painter, option, index)
        if index.column() != _BAR:
            return
        area = QRectF(option.rect).adjusted(6, 4, -6, -4)  # pyright: ignore[reportAttributeAccessIssue]
        share, low, high = self._model.ends(index.row())
        palette, middle = self._theme.palette, area.center().y()
        with guarded_painter(painter):
            bar = QRectF(area.left(), area.top(), area.width() * share, area.height())
            painter.fillRect(bar, QColor(palette.accent))
            line = QRectF(area.left() + area.width() * low, middle - 1, max(area.width() * (high - low), 2), 2)
            painter.fillRect(line, QColor(palette.text))


class TrainedOnDialog(TokenizerCheckDialog):
    """The tokenizer and the candidates, their shares, and what is to be known of them."""

    titled, usual_size = "What Was It Trained On?", QSize(760, 560)
    rows, tabled = SharesModel, ("Shares of the candidates", (200, 80, 130))
    about = "What is to be known of the shares"
    saved_as = ("shares.csv", "CSV (*.csv);;JSON (*.json)")
    model: SharesModel

    def _build(self) -> None:
        self._files: tuple[Path, ...] = ()
        self._tokenizer: Tokenizer | None = None  # of the result
        self.table.setItemDelegate(_Bars(self.model, self._theme, self.table))
        self.table.horizontalHeader().setSectionResizeMode(_BAR, QHeaderView.ResizeMode.Stretch)
        self.check_button.setText("&Find")
        super()._build()
        self._list_candidates()
        self.candidates.currentIndexChanged.connect(self._forget)

    def _fields(self) -> Sequence[Item]:
        self.candidates = QComboBox()
        self.candidates.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.candidates.setMinimumContentsLength(14)
        self.candidates.setToolTip("About 1 MB of each language or kind of text that it may have learned")
        self.file_button = push_button("F&iles…", self._choose_files, "Choose two or more texts as candidates")
        return label_for("C&andidates", self.candidates), (self.candidates, 2), self.file_button

    # ---- what is compared

    def _list_candidates(self) -> None:
        with QSignalBlocker(self.candidates):
            self.candidates.clear()
            self.candidates.addItem(_CORPUS)
            if self._files:
                self.candidates.addItem(several(len(self._files), "file"), self._files)
            self.candidates.setCurrentIndex(self.candidates.count() - 1)
        self.candidates.setItemData(
            self.candidates.count() - 1, "\n".join(map(str, self._files)), Qt.ItemDataRole.ToolTipRole
        )
        self._forget()

    def take(self, paths: Sequence[Path]) -> None:
        """Takes files as candidates."""
        self._files = tuple(paths)
        self._list_candidates()

    def _choose_files(self) -> None:
        if paths := self._choosers.open_files("Choose Candidates", self._preferences.folder, _TEXTS):
            self._preferences.folder = paths[0].parent
            self.take(paths)

    @property
    def _reads_corpus(self) -> bool:
        return self.candidates.currentData() is None

    def _work(self) -> Callable[[], Work[InferredMixture]]:
        run: StudioRun = self.tokenizer.currentData()
        self._tokenizer = run.tokenizer
        return partial(_infer_work, run.tokenizer, self.candidates.currentData() or (), self._session.corpus.current)

    def _doing(self, progress: Progress) -> str:
        return f"{capitalized(progress.phase or 'reading')}{progress.detail}…"

    def _told(self, result: InferredMixture) -> tuple[str, str]:
        return result.told, "muted"

    def _refresh(self) -> None:
        obstacle = None
        if self.tokenizer.currentData() is None:
            obstacle = "Train or open a tokenizer with merges."
        elif self._reads_corpus and len(self._session.corpus.remaining) < 2:
            obstacle = "The corpus has fewer than two texts: open some, or choose files as candidates."
        self._show_state((self.tokenizer, self.candidates, self.file_button), obstacle, self.model.found is not None)

    def _show_details(self) -> None:
        found, muted = self.model.found, self._theme.palette.muted
        if found is None or self._tokenizer is None:
            self.details.setHtml(f'<p style="color: {muted}">{_EMPTY}</p>')
            return
        parts = [html.escape(printable(caution)) for caution in found.cautions]
        if found.unknown:
            tokens = self._tokenizer.tokens
            spelled = [token_label(tokens.prefix(token, _LONGEST), _LONGEST) for token in found.unknown[:_LISTED]]
            more = f" and {len(found.unknown) - _LISTED:,} more" if len(found.unknown) > _LISTED else ""
            parts.append(f"Merges that no candidate has: {html.escape('   '.join(spelled))}{more}")
        self.details.setHtml(
            "".join(f'<p style="margin-top: 0; margin-bottom: 8px; white-space: pre-wrap">{each}</p>' for each in parts)
        )

    def _rows_text(self, ending: str) -> str:
        assert self.model.found is not None
        if ending == ".json":
            return json.dumps(self.model.found.to_plain(), ensure_ascii=False)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("candidate", "share", "low", "high", "bytes"))
        for each in self.model.found.shares:
            writer.writerow((each.name, each.share, each.low, each.high, each.bytes))
        return text.getvalue()


def _infer_work(tokenizer: Tokenizer, files: Sequence[Path], corpus: Corpus) -> Work[InferredMixture]:
    if files:
        corpus = yield from Corpus.from_files_work(files, keep_empty=True)
    return (yield from infer_mixture_work(tokenizer, corpus))
