"""The algorithm of the training: a choice, and below it the few settings that only the chosen one has."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import TypeVar, cast

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from tokstudio.core.algorithms.common.prepare_corpus import check_corpus
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.library_training import train
from tokstudio.core.library_training.config import LibraryAlgorithm
from tokstudio.core.model.algorithms import AlgorithmName
from tokstudio.gui.panes.configure.own_fields import OwnFields, PickyFields, SentencePieceFields, SuperBpeFields
from tokstudio.gui.panes.configure.parity_fields import ParityFields
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Choice
from tokstudio.gui.widgets.fields import ChoiceField, Field
from tokstudio.gui.widgets.layouts import column, set_tab_order

_Fields = TypeVar("_Fields", bound=OwnFields)

#: What each algorithm is for, and whose it is.
ALGORITHMS: Mapping[AlgorithmName | LibraryAlgorithm, Choice] = {
    "bpe": Choice("bpe", "Plain BPE", "The most frequent pair first (Sennrich et al., 2016)."),
    "parity": Choice(
        "parity",
        "Parity-aware BPE",
        "Languages choose by turns, to cost about the same (Foroutan et al., 2025).",
    ),
    "superbpe": Choice("superbpe", "SuperBPE", "Words first, then tokens across words (Liu et al., 2025)."),
    "whole-characters": Choice(
        "whole-characters",
        "Whole characters",
        "A token is whole characters, or a part of one (Land and Arnett, 2025).",
    ),
    "boundless": Choice("boundless", "BoundlessBPE", "Words, and frequent words together (Schmidt et al., 2025)."),
    "picky": Choice("picky", "Picky BPE", "Removes tokens that only led to longer ones (Chizhov et al., 2024)."),
    "unigram": Choice("unigram", "Unigram", "The likeliest pieces (Kudo, 2018). The tokenizers library trains."),
    "wordpiece": Choice("wordpiece", "WordPiece", "As for BERT (Devlin et al., 2019). The tokenizers library trains."),
    "sentencepiece-bpe": Choice(
        "sentencepiece-bpe", "SentencePiece BPE", "As for Llama 2 (Kudo and Richardson, 2018). SentencePiece trains."
    ),
    "sentencepiece-unigram": Choice(
        "sentencepiece-unigram", "SentencePiece Unigram", "As for T5 (Kudo, 2018). SentencePiece trains."
    ),
}


def _why_not(settings: Settings, corpus: Corpus) -> str:
    """Why an algorithm whose fields do not tell cannot train on the corpus; "" if it can."""
    try:
        if settings.by_library:
            train.check_corpus(corpus)
        elif settings.problem is None:
            check_corpus(corpus, settings.config())
    except ConfigError as error:
        return str(error)
    return ""


class AlgorithmField(QWidget):
    """The choice and the fields of the chosen algorithm."""

    changed = Signal()  # the user changed something
    refresh_asked = Signal()  # what depends on the corpus is to be shown again

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__()
        self._session, self._theme, self._actions = session, theme, actions
        self.corpus_problem = ""  # why the algorithm cannot train on this corpus; "" if it can
        self.choice = ChoiceField("Al&gorithm", tuple(ALGORITHMS.values()), theme, word="algorithm")
        self._made: list[OwnFields] = []
        self._layout = column(self.choice, spacing=8, parent=self)
        self.choice.changed.connect(self.changed)

    # ---- the fields of single algorithms: each group is made when its algorithm is first chosen

    @cached_property
    def parity(self) -> ParityFields:
        """Those of Parity-aware BPE."""
        return self._added(ParityFields(self._session, self._theme, self._actions))

    @cached_property
    def superbpe(self) -> SuperBpeFields:
        """Those of SuperBPE."""
        return self._added(SuperBpeFields(self._theme))

    @cached_property
    def picky(self) -> PickyFields:
        """Those of Picky BPE."""
        return self._added(PickyFields(self._theme))

    @cached_property
    def sentencepiece(self) -> SentencePieceFields:
        """Those of both algorithms of SentencePiece."""
        return self._added(SentencePieceFields(self._theme))

    def _added(self, group: _Fields) -> _Fields:
        group.hide()
        self._layout.addWidget(group)
        self._made.append(group)
        group.changed.connect(self.changed)
        group.refresh_asked.connect(self.refresh_asked)
        group.controls_made.connect(partial(self._put_in_order, group))
        self._put_in_order(group)
        return group

    def _put_in_order(self, group: OwnFields) -> None:
        set_tab_order(self.choice.combo, *group.controls)

    @property
    def named_fields(self) -> Mapping[str, Field]:
        """The fields that can show an error, by name."""
        return {"algorithm": self.choice} | (dict(self._group.named_fields) if self._group else {})

    def taken_over(self, settings: Settings) -> Settings:
        """Returns the settings with the values of these fields."""
        chosen = cast("AlgorithmName | LibraryAlgorithm", self.choice.value)
        if chosen != settings.algorithm:
            return settings.with_algorithm(chosen, self._session.training.defaults)
        return self._group.taken_over(settings) if self._group else settings

    def show_settings(self, settings: Settings) -> None:
        """Shows settings without emitting signals."""
        self.choice.set_value(settings.algorithm)
        chosen = self._group
        for group in self._made:
            group.setVisible(group is chosen)
        if chosen is not None:
            chosen.show_settings(settings)

    def show_corpus(self, settings: Settings, corpus: Corpus) -> None:
        """Shows what depends on the corpus."""
        group = self._group
        of_fields = group.show_corpus(settings, corpus) if group else ""
        self.corpus_problem = of_fields or _why_not(settings, corpus)
        shown = any(field.is_invalid for field in group.named_fields.values()) if group else False
        problem = self.corpus_problem or settings.faults.get("algorithm")
        self.choice.set_error(None if shown else problem)

    @property
    def _group(self) -> OwnFields | None:
        match self.choice.value:
            case "parity":
                return self.parity
            case "superbpe":
                return self.superbpe
            case "picky":
                return self.picky
            case "sentencepiece-bpe" | "sentencepiece-unigram":
                return self.sentencepiece
            case _:
                return None
