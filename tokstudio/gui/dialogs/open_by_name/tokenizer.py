"""The dialog that asks for the name of a tokenizer and opens it; the network is used only then."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QCompleter, QLineEdit, QTreeWidgetItem, QWidget

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work
from tokstudio.core.hub.names import TIKTOKEN, Name, name_in, parse_name
from tokstudio.gui.dialogs.open_by_name.base import OpenDialog, WellKnown
from tokstudio.gui.session.common.jobs import Jobs
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.fields import form_grid
from tokstudio.gui.widgets.layouts import STRETCH, in_card, row
from tokstudio.gui.widgets.menus import push_button

# --- Well-known tokenizers, for the list in the dialog ----------------------------------------------------------------

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
_HINT = "OWNER/REPOSITORY of the Hugging Face Hub, or an encoding of tiktoken"
_LISTED = ("Well-known tokenizers", ("Well-known name", "Kind", "Access"))
_PUBLIC, _GATED = "public", "sign in"
_SIZE = QSize(600, 540)


class OpenByNameDialog(OpenDialog):
    """Asks for a name, does `work` with it, and stays open until that succeeds or the user leaves.

    The fields show `name` at first.
    """

    def __init__(
        self,
        work: Callable[[Path], Work[Any]],
        jobs: Jobs,
        theme: Theme,
        parent: QWidget | None = None,
        *,
        name: Name | None = None,
    ) -> None:
        super().__init__("Open Tokenizer by Name", jobs, parent, _HINT, _LISTED)
        self._work = work
        self._build(theme)
        for signal in (self.name.textChanged, self.revision.textChanged):
            signal.connect(self._refresh)
        self.name.textEdited.connect(self.list.clearSelection)
        self.list.itemDoubleClicked.connect(self._open)
        if name is not None:
            self.name.setText(str(replace(name, revision="")))
            self.revision.setText(name.revision)
        self._refresh()
        self.name.setFocus()

    def _build(self, theme: Theme) -> None:
        self.revision = QLineEdit(placeholderText="main")
        self.revision.setToolTip("A branch, a tag or a commit of the repository; empty for its default branch")
        completer = QCompleter([name.name for name in WELL_KNOWN], self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        self.name.setCompleter(completer)
        for one in WELL_KNOWN:
            self.list.addTopLevelItem(QTreeWidgetItem([one.name, one.kind, _GATED if one.gated else _PUBLIC]))
        self.open_button = push_button("&Open", self._open, is_main=True)
        buttons = row(STRETCH, self.close_button, self.open_button, spacing=8)
        grid = form_grid(("&Name", self.name), ("&Revision", self.revision))
        self.fill(theme, _SIZE, grid, (in_card(self.list), 1), self.note, self.bar, buttons)

    # ---- the name

    def _refresh(self) -> None:
        """Shows what applies to the present name, in place of an earlier error."""
        text = self.name.text().strip()
        try:
            is_encoding = parse_name(text).source == TIKTOKEN
        except ConfigError:
            is_encoding = False
        self._show_busy(self.name, self.list)
        self.revision.setEnabled(not self.is_busy and not is_encoding)
        self.open_button.setEnabled(not self.is_busy and bool(text))
        well_known = next((well_known for well_known in WELL_KNOWN if well_known.name == text), None)
        gated = f" The owner of {text} asks for consent: sign in there first, and set HF_TOKEN."
        self.say(_ABOUT + (gated if well_known is not None and well_known.gated else ""))

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
        self._begin(partial(self._work, Path(str(name))))
