"""The dialog Check Tokenizer: what rules find in a tokenizer and its files."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QSignalBlocker, QSize
from PySide6.QtWidgets import QComboBox

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import printable
from tokstudio.core.corpus.source import Source
from tokstudio.core.lint.findings import LEVELS, LintFinding, has_error, summary, to_csv, to_json
from tokstudio.core.lint.lint import lint_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.dialogs.checking.base import TokenizerCheckDialog
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.token_label import token_label
from tokstudio.gui.widgets.fields import label_for
from tokstudio.gui.widgets.figures import FigureModel
from tokstudio.gui.widgets.layouts import Item
from tokstudio.gui.widgets.menus import push_button

_LEVEL_WIDTH = 90
_FILES = "Tokenizers (*.json *.model *.tiktoken *.txt *.bpe *.gguf);;All files (*)"
_HARD, _CORPUS = "A hard text", "The corpus"
_EMPTY = (
    "Looks for faults before a model is trained: patterns that never match, special tokens that text can make, files "
    "that disagree. Chat templates are read and never run. Files can be dropped here."
)
_WIDE = re.compile(r"^ +| +$| {2,}")
_LONGEST_PIECE = 60


class FindingsModel(FigureModel):
    """A row for each finding."""

    titles = ("Level", "Finding")
    tips = ("\n".join(f"{level}: {meaning}" for level, meaning in LEVELS.items()), "What was found, the worst first")

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(theme, parent)
        self.findings: list[LintFinding] = []

    def show(self, findings: Sequence[LintFinding] = ()) -> None:
        """Shows findings."""
        with self.reset():
            self.findings = list(findings)

    def count(self) -> int:
        return len(self.findings)

    def text(self, row: int, column: int) -> str:
        finding = self.findings[row]
        return finding.level.capitalize() if column == 0 else printable(finding.message)

    def tip(self, row: int, column: int) -> str:
        return LEVELS[self.findings[row].level] if column == 0 else ""

    def colour(self, row: int, column: int) -> str | None:
        palette = self._theme.palette
        colours = {"error": palette.error, "danger": palette.warning, "remark": palette.muted}
        return colours[self.findings[row].level] if column == 0 else None


class CheckTokenizerDialog(TokenizerCheckDialog):
    """The tokenizer and the text, a list of what was found, and all about the selected finding."""

    titled, usual_size = "Check Tokenizer", QSize(820, 580)
    rows, tabled = FindingsModel, ("Findings", (_LEVEL_WIDTH,))
    about = "The selected finding: example and advice"
    saved_as = ("findings.csv", "CSV (*.csv);;JSON (*.json)")
    model: FindingsModel

    def _fields(self) -> Sequence[Item]:
        self.file_button = push_button("&File…", self._choose_file, "Check a file, such as tokenizer.json")
        self.folder_button = push_button("F&older…", self._choose_folder, "Check a folder with all its files")
        self.text = QComboBox()
        self.text.addItems([_HARD, _CORPUS])
        self.text.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.text.setMinimumContentsLength(10)
        self.text.setToolTip(
            "The text on which splitting, decoding and unknown characters are tried: a hard one in many scripts, or "
            "the corpus of the window"
        )
        self.text.currentIndexChanged.connect(self._forget)
        return self.file_button, self.folder_button, label_for("Te&xt", self.text), (self.text, 2)

    def choose(self, path: Path) -> None:
        """Takes a file or a folder."""
        self._path = path
        with QSignalBlocker(self.tokenizer):
            self.tokenizer.clear()
        self._list_runs()
        self.tokenizer.setCurrentIndex(self.tokenizer.count() - 1)
        self._forget()

    def _choose_file(self) -> None:
        for path in self._choosers.open_files("Check a Tokenizer", self._preferences.folder, _FILES)[:1]:
            self._preferences.folder = path.parent
            self.choose(path)

    def _choose_folder(self) -> None:
        folder = self._choosers.open_folder("Check the Tokenizer in a Folder", self._preferences.folder)
        if folder is not None:
            self._preferences.folder = folder
            self.choose(folder)

    def take(self, paths: Sequence[Path]) -> None:
        for path in paths[:1]:
            self.choose(path)

    @property
    def _reads_corpus(self) -> bool:
        return self.text.currentText() == _CORPUS

    def _work(self) -> Callable[[], Work[list[LintFinding]]]:
        sources = self._session.corpus.remaining if self._reads_corpus else ()
        return _work_of(self.tokenizer.currentData(), self._checked, sources)

    def _doing(self, progress: Progress) -> str:
        return f"Looking at {progress.phase}…" if progress.total else "Reading the tokenizer…"

    def _told(self, result: list[LintFinding]) -> tuple[str, str]:
        return f"{summary(result)}.", "error" if has_error(result) else "muted"

    def _refresh(self) -> None:
        obstacle = None
        if self.tokenizer.currentData() is None:
            obstacle = "Choose a file or a folder, or train a tokenizer."
        elif self._reads_corpus and not self._session.corpus.sources:
            obstacle = "The corpus of the window is empty: open a text, or choose the hard text."
        inputs = self.tokenizer, self.text, self.file_button, self.folder_button
        self._show_state(inputs, obstacle, bool(self.model.findings))

    def _show_details(self) -> None:
        number = self.table.currentIndex().row()
        finding = self.model.findings[number] if 0 <= number < len(self.model.findings) else None
        muted = self._theme.palette.muted
        empty = f'<p style="color: {muted}">{_EMPTY}</p>' if not self.model.findings else ""
        self.details.setHtml(empty if finding is None else self._details(finding))

    def _details(self, finding: LintFinding) -> str:
        parts = [html.escape(printable(finding.message)), html.escape(printable(finding.advice))]
        if finding.pieces or finding.example:
            parts.insert(1, f"Example:&nbsp; {self._example(finding)}")
        muted = self._theme.palette.muted
        rule = f'<span style="color: {muted}">Rule {finding.rule}</span>'
        return "".join(f'<p style="margin-top: 0; margin-bottom: 8px">{part}</p>' for part in (*parts, rule))

    def _example(self, finding: LintFinding) -> str:
        """The example with visible white space, its tokens on grounds of their own."""
        palette = self._theme.palette
        if not finding.pieces:
            text = _WIDE.sub(lambda spaces: "·" * len(spaces[0]), finding.example)
            return _boxed(printable(text), palette.tokens[0], palette.text)
        labels = [token_label(piece.encode("utf-8", "replace"), _LONGEST_PIECE) for piece in finding.pieces]
        return " ".join(
            _boxed(label, palette.tokens[number % len(palette.tokens)], palette.text)
            for number, label in enumerate(labels)
        )

    def _rows_text(self, ending: str) -> str:
        return (to_json if ending == ".json" else to_csv)(self.model.findings)


def _boxed(text: str, ground: str, colour: str) -> str:
    return f'<span style="background-color: {ground}; color: {colour}">&nbsp;{html.escape(text)}&nbsp;</span>'


def _work_of(chosen: StudioRun | Path, name: str, sources: Sequence[Source]) -> Callable[[], Work[list[LintFinding]]]:
    """Checks a run, by its files where it was opened from some that are still there, or a file or folder."""
    if isinstance(chosen, Path):
        return partial(_lint_work, chosen, sources, None, "")
    origin = chosen.origin
    if origin is not None and not origin.change:
        place = next((path for path in (origin.path, *origin.files) if path.exists()), None)
        if place is not None:
            pattern = None if origin.says_pattern else chosen.tokenizer.pattern
            return partial(_lint_work, place, sources, pattern, name)
    return partial(_lint_work, chosen.tokenizer, sources, None, name)


def _lint_work(
    tokenizer: Tokenizer | Path, sources: Sequence[Source], pattern: str | None, name: str
) -> Work[list[LintFinding]]:
    texts: dict[str, bytes] = {}
    for number, source in enumerate(sources, 1):
        text_name = printable(source.name)
        text_name = f"{text_name} ({number})" if text_name in texts else text_name
        texts[text_name] = bytes(source.data[: source.bytes])
    return (yield from lint_work(tokenizer, texts, pattern, name))
