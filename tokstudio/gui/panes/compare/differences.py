"""What differs between two tokenizers in words, and the first lines of the texts that become other tokens."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.comparison.alignment import cut_work
from tokstudio.core.comparison.differences import Differences, diff_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.panes.compare.stacked_lines import Stack, StackedLines, StackedRow
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.measuring.compared import ComparedColumn
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import ChoiceBox, WholeLines
from tokstudio.gui.widgets.labels import in_a_sentence, named, paragraph_label, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, column, row

_COMPARING = "Comparing…"
_LEGEND = "Of each text the first lines that become other tokens. A blue line is a border of tokens that only one has."


@dataclass(frozen=True, eq=False)
class _Compared:
    """What differs, and the lines to show by their names."""

    differences: Differences
    lines: tuple[tuple[str, Stack], ...]


class DifferencesView(QWidget):
    """Follows two tokenizers and the texts of the comparison."""

    tokenAsked = Signal(str, int)  # to show a token: the name of the tokenizer, and the id

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self._state = session.comparison
        self._asked: object = None
        self._lines: tuple[tuple[str, Stack], ...] = ()
        self.differences: Differences | None = None
        self.told = named(WholeLines(readOnly=True), "Differences")
        self.told.setTabChangesFocus(True)
        self.choice = named(ChoiceBox(()), "Line")
        self.choice.currentIndexChanged.connect(self._show_line)
        self.lines = StackedLines(theme)
        self.lines.tokenAsked.connect(self.tokenAsked)
        self.lines.stepAsked.connect(self._step)
        self.note = paragraph_label("muted")
        self._changed = QWidget()
        heading = row(plain_label("muted", "Line"), (self.choice, 1), STRETCH)
        column(heading, (self.lines, 1), paragraph_label("muted", _LEGEND), spacing=6, parent=self._changed)
        column((self.told, 1), (self._changed, 1), self.note, spacing=8, parent=self)
        self._comparing = LatestJob(session.jobs, self, self._take, self._fail, asked=False)
        self._changed.hide()

    def show_pair(self, first: ComparedColumn, second: ComparedColumn) -> None:
        """Compares two tokenizers on the chosen texts, unless that is shown already."""
        rows = self._state.rows or ()
        names = first.name, second.name
        asked = first.key, second.key, names, tuple(text.sha256 for text in rows)
        if asked == self._asked:
            return
        self._asked = asked
        self.note.setText(_COMPARING)
        texts = {text.name: text.source for text in rows}
        assert isinstance(first.tokenizer, Tokenizer)
        assert isinstance(second.tokenizer, Tokenizer)
        self._comparing.run(partial(_compared_work, first.tokenizer, second.tokenizer, texts, names))

    def forget(self) -> None:
        """Releases the tokenizers."""
        self._comparing.cancel()
        self._asked = self.differences = None
        self._show(())
        self.told.clear()

    def _take(self, compared: _Compared) -> None:
        self.differences = compared.differences
        self.told.setPlainText("\n".join(map(in_a_sentence, compared.differences.sentences())))
        self.note.setText("")
        self._show(compared.lines)

    def _show(self, lines: tuple[tuple[str, Stack], ...]) -> None:
        self._lines = lines
        self._changed.setVisible(bool(lines))
        self.choice.set_names([name for name, _ in lines])
        self._show_line()

    def _show_line(self) -> None:
        at = self.choice.currentIndex()
        self.lines.show_stack(self._lines[at][1] if 0 <= at < len(self._lines) else None)

    def _step(self, by: int) -> None:
        self.choice.setCurrentIndex(min(max(self.choice.currentIndex() + by, 0), len(self._lines) - 1))

    def _fail(self, error: Exception) -> None:
        self._asked = None
        self.note.setText(str(error))


def _compared_work(a: Tokenizer, b: Tokenizer, texts: dict[str, Source], names: tuple[str, str]) -> Work[_Compared]:
    yield from prepare_work()
    differences = yield from diff_work(a, b, texts, names)
    lines: list[tuple[str, Stack]] = []
    for text in differences.texts:
        for line in text.first:
            cuts = (yield from cut_work(a, line.text)), (yield from cut_work(b, line.text))
            rows = [StackedRow(name, cut) for name, cut in zip(names, cuts, strict=True)]
            lines.append((f"{text.name}, {line.place}", Stack(line.text, rows)))
    return _Compared(differences, tuple(lines))
