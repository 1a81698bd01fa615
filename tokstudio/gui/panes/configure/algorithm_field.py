"""The algorithm of the training: a choice, and below it the few settings that only the chosen one has."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from tokstudio.core.algorithms.common.prepare_corpus import check_corpus
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.library_training import train
from tokstudio.core.model.algorithms import AlgorithmName, ParityAware
from tokstudio.core.model.settings import SETTINGS, LibraryAlgorithm, Setting
from tokstudio.gui.panes.configure.parity_fields import ParityFields
from tokstudio.gui.panes.configure.setting_fields import OwnFields, field_of
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.fields import ChoiceField, Field
from tokstudio.gui.widgets.layouts import column, set_tab_order


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
        self.choice = cast("ChoiceField", field_of(SETTINGS["algorithm"], theme))
        self._groups: dict[tuple[str, ...], OwnFields] = {}  # by the names of their settings
        self._layout = column(self.choice, spacing=8, parent=self)
        self.choice.changed.connect(self.changed)

    # ---- the fields of single algorithms: each group is made when its algorithm is first chosen

    def group(self, algorithm: str) -> OwnFields | None:
        """The fields of an algorithm; None where it has none of its own."""
        own = [each for each in SETTINGS.values() if each.place == "own" and algorithm in each.algorithms]
        names = tuple(setting.name for setting in own)
        if own and names not in self._groups:
            self._groups[names] = group = self._made(own)
            group.hide()
            self._layout.addWidget(group)
            group.changed.connect(self.changed)
            group.refresh_asked.connect(self.refresh_asked)
            group.controls_made.connect(partial(self._put_in_order, group))
            self._put_in_order(group)
        return self._groups.get(names)

    def _made(self, settings: Sequence[Setting]) -> OwnFields:
        if {setting.name for setting in settings} >= ParityFields.BY_LANGUAGE:
            return ParityFields(self._session, self._theme, self._actions, settings)
        fields = OwnFields()
        fields.add({setting.name: field_of(setting, self._theme) for setting in settings})
        return fields

    @property
    def parity(self) -> ParityFields:
        """Those of parity-aware BPE, which take parallel texts."""
        return cast("ParityFields", self.group(ParityAware.name))

    def _put_in_order(self, group: OwnFields) -> None:
        set_tab_order(self.choice.combo, *group.controls)

    @property
    def named(self) -> Mapping[str, Field]:
        """The fields by the names of their settings."""
        group = self._group
        return {"algorithm": self.choice} | (dict(group.named) if group is not None else {})

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
        for group in self._groups.values():
            group.setVisible(group is chosen)
        if chosen is not None:
            chosen.show_settings(settings)

    def show_corpus(self, settings: Settings, corpus: Corpus) -> None:
        """Shows what depends on the corpus."""
        group = self._group
        of_fields = group.show_corpus(settings, corpus) if group else ""
        self.corpus_problem = of_fields or _why_not(settings, corpus)
        shown = any(field.is_invalid for field in group.named.values()) if group else False
        problem = self.corpus_problem or settings.faults.get("algorithm")
        self.choice.set_error(None if shown else problem)

    @property
    def _group(self) -> OwnFields | None:
        return self.group(self.choice.value)
