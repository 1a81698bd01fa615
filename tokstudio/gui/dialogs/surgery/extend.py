"""The dialog of Extend on the Corpus and Fork at the Playhead: training that goes on from a tokenizer."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np
from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QComboBox, QWidget

from tokstudio.core.base.errors import ConfigError, Faults
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import percent_text, several, size_text
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.algorithms import TieBreak
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.settings import RULES, SETTINGS, TIE_RULES
from tokstudio.core.pretokenization.patterns import NAMES
from tokstudio.core.surgery.extension_sheet import HELD_OUT
from tokstudio.core.surgery.specials import is_reserved
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.dialogs.surgery.parts import FieldError, SurgeryDialog
from tokstudio.gui.dialogs.surgery.sheet import SheetDialog, SheetPlan
from tokstudio.gui.dialogs.surgery.works import Effect, at_merge, closes_gaps, extension_work, short_name, word_of
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Choice
from tokstudio.gui.widgets.fields import ChoiceField, Field, LimitField, RulesField, TicksField
from tokstudio.gui.widgets.menus import push_button

# --- The field of reserved special tokens whose ids new tokens get ----------------------------------------------------

_HELP = "New tokens get the ids of the chosen ones, which go."
_LINES = 4


class ReservedField(TicksField):
    """Reserved special tokens, given with their ids, by id, with check boxes; none is chosen at first."""

    def __init__(self, tokens: Sequence[tuple[str, int]], theme: Theme) -> None:
        super().__init__("Fill &reserved ids", _HELP, theme)
        texts = (f"{number:,}  {word_of(token)}" for token, number in tokens)
        self.set_entries(zip(texts, (token for token, _ in tokens), strict=True))
        self.setVisible(bool(tokens))
        theme.follow(self._apply_theme)

    def _apply_theme(self) -> None:
        self.list.setFont(self._theme.monospace_font())
        line = self.list.sizeHintForRow(0) if self.list.count() else 0
        self.list.setFixedHeight(min(self.list.count(), _LINES) * line + 2 * self.list.frameWidth() + 10)


_MORE = 1000  # tokens
_TIES = tuple(Choice(rule, *texts) for rule, texts in TIE_RULES.items())


class PatternChoice(Field):
    """A pattern: one of the names, or an expression."""

    def __init__(self, pattern: str) -> None:
        self.combo = QComboBox(editable=True)
        super().__init__("How text is split into pre-tokens: a name or an expression.", self.combo)
        self.combo.addItems(NAMES)
        self.combo.setEditText(pattern)
        self.add_label("&Pre-tokens (pattern)", self.combo, "pattern")
        self.row.addWidget(self.combo, 2)
        self.combo.editTextChanged.connect(self.changed)


class ExtendDialog(SurgeryDialog):
    """Trains further on the corpus of the window.

    Args:
        merges: How many of the tokenizer's merges stay; None for all, so that the pattern stays too.
    """

    begun = Signal(object, object)  # the run that now trains, and the reserved tokens whose ids its first new ones get
    room = QSize(900, 780)

    def __init__(
        self, session: Session, run: StudioRun, theme: Theme, merges: int | None, parent: QWidget | None = None
    ) -> None:
        whole = merges is None
        title = "Extend on the Corpus" if whole else f"Fork at Merge {merges:,}"
        super().__init__(session, theme, title, "&Extend" if whole else "For&k", parent)
        self._run, self._merges = run, merges
        self._old = run.tokenizer
        self._corpus = session.corpus.current
        size = self._size = len(self._old) if merges is None else len(self._old.at(merges))
        tip = "All tokens in the end, the old ones included."
        self.size_limit = LimitField("Vocabulary size", tip, size + _MORE, theme, word="vocabulary-size")
        self.size_limit.set_value(size + _MORE)
        tip = "Stop when no pair occurs this often."
        self.frequency = LimitField("Min. frequency", tip, 2, theme, word="minimum-frequency")
        self.pattern = PatternChoice(self._old.pattern)
        self.pattern.setVisible(not whole)
        self.ties = ChoiceField("T&ie rule", _TIES, theme, word="tie-rule")
        self.ties.set_value(session.training.settings.tie_break)
        self.longest = LimitField("Longest token", "No new token is longer.", 16, theme, " bytes", word="longest-token")
        self.rules = RulesField("&Forbidden tokens", SETTINGS["forbidden"].help, RULES, theme, word="forbidden-token")
        self.rules.set_value(session.training.settings.forbidden)
        self.reserved = ReservedField(_reserved(self._old, merges), theme)
        fields = (self.size_limit, self.reserved, self.frequency, self.pattern, self.ties, self.longest, self.rules)
        for field in fields:
            field.changed.connect(self.ask)
        tip = "What each number of new tokens would save and change, from one training"
        self.sizes_button = push_button("Compare Si&zes…", self._compare_sizes, tip)
        self.build(run.name, size, self._about(), fields, beside=[self.sizes_button])
        self.size_limit.number.setFocus()

    def _about(self) -> str:
        sources = several(len(self._corpus.sources), "source")
        corpus = f"Corpus: {sources}, {size_text(self._corpus.bytes)}."
        if share := self._session.training.settings.held_out:
            corpus += f" As in Configure, about {percent_text(share)} of it is held out."
        if self._merges is None:
            kept = "All its tokens keep their ids, and its merges come first. New ids follow the highest."
        else:
            kept = f"The first {several(self._merges, 'merge')} stay; what follows is learned with these settings."
            if closes_gaps(self._old):
                kept += " Special tokens get the ids after them." if self._old.special_tokens else ""
            else:
                kept += " All ids stay, and new ones follow the highest."
        return f"{kept} {corpus}"

    # ---- the sizes

    def say(self, text: str, role: str = "muted", *, why_not: str = "") -> None:
        """Says as all dialogs do; sizes can be compared where the change can be made."""
        super().say(text, role, why_not=why_not)
        self.sizes_button.setEnabled(not why_not)

    def _compare_sizes(self) -> None:
        config, filled = self._config(), self.reserved.value
        config = replace(config, held_out=self._session.training.settings.held_out or HELD_OUT)
        start = partial(_start_work, self._old, self._merges, self._pattern)
        dialog = SheetDialog(self._session, self._theme, SheetPlan(start, self._corpus, config, filled), self)
        dialog.chosen.connect(partial(self._choose_added, len(filled)))
        dialog.open()

    def _choose_added(self, filled: int, added: int) -> None:
        self.size_limit.set_value(self._size + added - filled)
        self.ask()

    # ---- the change

    def _config(self) -> TrainingConfig:
        size = self.size_limit.value
        return TrainingConfig(
            # Those whose ids are filled are tokens until the end.
            vocabulary_size=None if size is None else size + len(self.reserved.value),
            min_frequency=self.frequency.value,
            pattern=self._pattern,
            tie_break=cast("TieBreak", self.ties.value),
            max_token_bytes=self.longest.value,
            forbidden=self.rules.value,
        )

    @property
    def _pattern(self) -> str:
        return self._old.pattern if self._merges is None else self.pattern.combo.currentText().strip()

    def _check_size(self) -> None:
        size, filled = self.size_limit.value, len(self.reserved.value)
        least = self._size - filled
        if size is not None and size <= least:
            besides = " besides those to fill" if filled else " already"
            raise ConfigError(f"At least {least + 1:,}: the tokenizer has {least:,}{besides}.")

    def effect_work(self) -> Callable[[], Work[Effect]]:
        """Tries the training on a sample."""
        faults = Faults()
        with faults.of("vocabulary_size"):
            self._check_size()
        with faults.of(""):
            self._config()
        named = {"vocabulary_size": self.size_limit, "min_frequency": self.frequency, "pattern": self.pattern}
        for name, field in (named | {"max_token_bytes": self.longest, "forbidden": self.rules}).items():
            field.set_error(faults.by_name.get(name))
        if faults.by_name:
            raise FieldError(next(iter(faults.by_name.values())))
        return partial(_tried_work, self._old, self._merges, self._config(), self._corpus, self.reserved.value)

    def result_work(self) -> Callable[[], Work[Tokenizer]]:
        """Makes the tokenizer that the training starts from."""
        return partial(_start_work, self._old, self._merges, self._pattern)

    def apply(self, result: object) -> None:
        assert isinstance(result, Tokenizer)
        how = "extended" if self._merges is None else f"from merge {self._merges:,}"
        remark = f" ({short_name(self._run.name)}, {how})"
        control = self._session.training
        if control.corpus_obstacle is not None:
            raise ConfigError(control.corpus_obstacle)
        config = replace(self._config(), held_out=control.settings.held_out)
        control.start_from(result, config, self._corpus, remark)
        assert control.current is not None
        self.begun.emit(control.current.run, self.reserved.value)
        self.accept()


def _reserved(old: Tokenizer, merges: int | None) -> list[tuple[str, int]]:
    """The reserved special tokens with their ids, by id, as training starts with them."""
    tokens = sorted((number, token) for token, number in old.special_tokens.items() if is_reserved(old, token))
    if merges is None or merges == len(old.merges) or not closes_gaps(old):
        return [(token, number) for number, token in tokens]
    # A fork closes the gaps of the merges that it drops; see `at_merge`.
    left = old.at(merges).tokens.ids()
    return [(token, int(np.searchsorted(left, number))) for number, token in tokens]


def _start_work(old: Tokenizer, merges: int | None, pattern: str) -> Work[Tokenizer]:
    yield Progress("loading")
    return old if merges is None else at_merge(old, merges, pattern)


def _tried_work(
    old: Tokenizer, merges: int | None, config: TrainingConfig, corpus: Corpus, reserved: Sequence[str]
) -> Work[Effect]:
    start = yield from _start_work(old, merges, config.pattern)
    return (yield from extension_work(start, config, corpus, reserved))
