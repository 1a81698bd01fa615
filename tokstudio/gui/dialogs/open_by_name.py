"""The dialog that asks for the name of a tokenizer and opens it; the network is used only then."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QCompleter,
    QFrame,
    QGridLayout,
    QHeaderView,
    QLineEdit,
    QProgressBar,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import size_text
from tokstudio.core.hub.names import TIKTOKEN, Name, name_in, parse_name
from tokstudio.gui.session.common.jobs import Jobs, LatestJob
from tokstudio.gui.state.problems import problem_of
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.fields import label_for, restyle
from tokstudio.gui.widgets.labels import named
from tokstudio.gui.widgets.layouts import STRETCH, column, row
from tokstudio.gui.widgets.menus import push_button
from tokstudio.gui.widgets.pane import Dialog

# --- Well-known tokenizers, for the list in the dialog ----------------------------------------------------------------


@dataclass(frozen=True)
class WellKnown:
    """A tokenizer by its name."""

    name: str
    kind: str  # how it makes tokens
    gated: bool = False  # whether its owner asks for consent, for which one must sign in


_BYTES, _BYTE_FALLBACK = "byte-level BPE", "BPE, rare characters as bytes"
_UNIGRAM, _WORD_PIECE = "Unigram", "WordPiece"
_TIKTOKEN = "byte-level BPE, of tiktoken"

WELL_KNOWN = (
    WellKnown("openai-community/gpt2", _BYTES),
    WellKnown("Qwen/Qwen3-8B", _BYTES),
    WellKnown("deepseek-ai/DeepSeek-V3", _BYTES),
    WellKnown("meta-llama/Llama-3.1-8B", _BYTES, gated=True),
    WellKnown("mistralai/Mistral-7B-v0.3", _BYTE_FALLBACK, gated=True),
    WellKnown("mistralai/Mistral-Nemo-Base-2407", _BYTES, gated=True),
    WellKnown("google/gemma-2-2b", _BYTE_FALLBACK, gated=True),
    WellKnown("TinyLlama/TinyLlama-1.1B-Chat-v1.0", _BYTE_FALLBACK),
    WellKnown("microsoft/phi-4", _BYTES),
    WellKnown("HuggingFaceTB/SmolLM2-135M", _BYTES),
    WellKnown("EleutherAI/gpt-neox-20b", _BYTES),
    WellKnown("bigscience/bloom", _BYTES),
    WellKnown("FacebookAI/roberta-base", _BYTES),
    WellKnown("FacebookAI/xlm-roberta-base", _UNIGRAM),
    WellKnown("google-t5/t5-base", _UNIGRAM),
    WellKnown("google-bert/bert-base-uncased", _WORD_PIECE),
    WellKnown("gpt2", _TIKTOKEN),
    WellKnown("r50k_base", _TIKTOKEN),
    WellKnown("p50k_base", _TIKTOKEN),
    WellKnown("cl100k_base", _TIKTOKEN),
    WellKnown("o200k_base", _TIKTOKEN),
    WellKnown("o200k_harmony", _TIKTOKEN),
)


_ABOUT = (
    "Nothing is downloaded before you press Open. The tokenizer's files stay in the cache of their library, and open "
    "without a network the next time."
)
_TITLES = ("Well-known name", "Kind", "Access")
_PUBLIC, _GATED = "public", "sign in"
_SIZE = QSize(600, 540)
_TICK = 100  # milliseconds between two updates of the progress


class OpenByNameDialog(Dialog):
    """Asks for a name, does `work` with it, and stays open until that succeeds or the user leaves.

    Args:
        name: What the fields show at first.
    """

    opened = Signal(object)  # the result of the work

    def __init__(
        self,
        work: Callable[[Path], Work[Any]],
        jobs: Jobs,
        theme: Theme,
        parent: QWidget | None = None,
        *,
        name: Name | None = None,
    ) -> None:
        super().__init__("Open Tokenizer by Name", parent)
        self._work = work
        self._opening = LatestJob(jobs, self, self._take, self._fail, quiet=True)
        self._timer = QTimer(self, interval=_TICK)
        self._timer.timeout.connect(self._show_progress)
        self._build(theme)
        for signal in (self.name.textChanged, self.revision.textChanged):
            signal.connect(self._refresh)
        self.name.textEdited.connect(self.list.clearSelection)
        self.list.itemSelectionChanged.connect(self._choose)
        self.list.itemDoubleClicked.connect(self._open)
        if name is not None:
            self.name.setText(str(replace(name, revision="")))
            self.revision.setText(name.revision)
        self._refresh()
        self.name.setFocus()

    def _build(self, theme: Theme) -> None:
        self.name, self.revision = QLineEdit(), QLineEdit()
        self.name.setPlaceholderText("OWNER/REPOSITORY of the Hugging Face Hub, or an encoding of tiktoken")
        self.revision.setPlaceholderText("main")
        self.revision.setToolTip("A branch, a tag or a commit of the repository; empty for its default branch")
        completer = QCompleter([name.name for name in WELL_KNOWN], self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        self.name.setCompleter(completer)
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        grid.setHorizontalSpacing(12)
        for at, (text, edit) in enumerate((("&Name", self.name), ("&Revision", self.revision))):
            grid.addWidget(label_for(text, edit), at, 0)
            grid.addWidget(edit, at, 1)
        self.list = _list()
        card = QFrame()
        card.setProperty("card", "true")
        column(self.list, margins=(4, 4, 4, 4), parent=card)
        self.bar = named(QProgressBar(maximum=1000, textVisible=False), "Progress")
        self.cancel = push_button("Cancel", self.reject)
        self.open_button = push_button("&Open", self._open, is_main=True)
        buttons = row(STRETCH, self.cancel, self.open_button, spacing=8)
        self.fill(theme, _SIZE, grid, (card, 1), self.note, self.bar, buttons)

    # ---- the name

    def _choose(self) -> None:
        for item in self.list.selectedItems():
            self.name.setText(item.text(0))

    def _refresh(self) -> None:
        """Shows what applies to the present name, in place of an earlier error."""
        busy, text = self._opening.busy, self.name.text().strip()
        try:
            is_encoding = parse_name(text).source == TIKTOKEN
        except ConfigError:
            is_encoding = False
        for widget in (self.name, self.list):
            widget.setEnabled(not busy)
        self.revision.setEnabled(not busy and not is_encoding)
        self.open_button.setEnabled(not busy and bool(text))
        self.bar.setVisible(busy)
        well_known = next((well_known for well_known in WELL_KNOWN if well_known.name == text), None)
        gated = f" The owner of {text} asks for consent: sign in there first, and set HF_TOKEN."
        self.say(_ABOUT + (gated if well_known is not None and well_known.gated else ""))

    def say(self, text: str, role: str = "muted") -> None:
        """Shows a text in the note, and marks a wrong name."""
        super().say(text, role)
        self.name.setAccessibleDescription(text)
        restyle(self.name, "invalid", role == "error")

    def _asked(self) -> Name:
        """The name in the fields; raises ConfigError where there is none."""
        name, revision = self.name.text().strip(), self.revision.text().strip()
        if (named := name_in(name)) is not None:
            name = str(named)  # of a link
        if not revision or not self.revision.isEnabled():
            return parse_name(name)
        if "@" in name:
            raise ConfigError("The revision is given twice: empty one of the fields of it.")
        return parse_name(f"{name}@{revision}")

    # ---- opening

    def _open(self) -> None:
        if not self.open_button.isEnabled():
            return
        try:
            name = self._asked()
        except ConfigError as error:
            self._fail(error)
            return
        self._opening.run(partial(self._work, Path(str(name))))
        self._refresh()
        self.cancel.setFocus()
        self._timer.start()
        self._show_progress()

    def _show_progress(self) -> None:
        progress = self._opening.progress
        self.bar.setRange(0, 1000 if progress.total else 0)
        if progress.total:
            self.bar.setValue(1000 * progress.done // progress.total)
        if progress.phase == "downloading":
            of = f" of {size_text(progress.total)}" if progress.total else ""
            self.say(f"Downloading: {size_text(progress.done)}{of}" if progress.done else "Asking for the files…")
        else:
            self.say("Reading the files…")

    def _take(self, result: object) -> None:
        self._timer.stop()
        self.accept()
        self.opened.emit(result)

    def _fail(self, error: Exception) -> None:
        self._settle(problem_of(error).text, "error")

    def _settle(self, text: str, role: str) -> None:
        """Lets the user change the name again."""
        self._timer.stop()
        self._refresh()
        self.say(text, role)
        self.name.setFocus()

    def reject(self) -> None:
        """Cancels opening; closes the dialog if nothing is being opened."""
        if self._opening.busy:
            self._opening.cancel()
            self._settle("Cancelled.", "muted")
        else:
            super().reject()


def _list() -> QTreeWidget:
    """The well-known names, with what they are."""
    tree = named(QTreeWidget(), "Well-known tokenizers")
    tree.setRootIsDecorated(False)
    tree.setUniformRowHeights(True)
    tree.setAllColumnsShowFocus(True)
    tree.setHeaderLabels(_TITLES)
    tree.setTabKeyNavigation(False)
    for well_known in WELL_KNOWN:
        tree.addTopLevelItem(
            QTreeWidgetItem([well_known.name, well_known.kind, _GATED if well_known.gated else _PUBLIC])
        )
    header = tree.header()
    header.setStretchLastSection(False)
    header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
    return tree
