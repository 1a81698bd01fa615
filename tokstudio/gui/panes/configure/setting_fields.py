"""The fields of settings, made from their table; and the group of those that only one algorithm has."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.settings import Setting
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Choice
from tokstudio.gui.widgets.fields import (
    ChoiceField,
    DecimalField,
    Field,
    LimitField,
    ListField,
    NumberField,
    RulesField,
    ShareField,
)
from tokstudio.gui.widgets.layouts import column


def field_of(setting: Setting, theme: Theme) -> Field:
    """The field of a setting; of a text, a choice with none alone."""
    title = setting.title.capitalize()
    label, tip, word = setting.label or title, setting.help, setting.word
    match setting.kind:
        case "limit":
            field = LimitField(label, tip, setting.first, theme, setting.suffix, word=word)
            field.name_it(title)
            return field
        case "number":
            return NumberField(label, tip, theme, word=word)
        case "decimal":
            return DecimalField(label, tip, setting.most, theme, word=word)
        case "share":
            return ShareField(label, tip, setting.most, theme, word=word)
        case "texts":
            return ListField(label, tip, theme, setting.lines, word=word)
        case "rules":
            return RulesField(label, tip, {rule: name for rule, (name, _) in setting.choices.items()}, theme, word=word)
        case "text":
            return ChoiceField(label, [Choice(None, "None", tip)], theme, word=word)
        case _:
            values = [False, True] if setting.kind == "switch" else [*setting.choices]
            named = zip(values, setting.choices.values(), strict=True)
            return ChoiceField(label, [Choice(value, *texts) for value, texts in named], theme, word=word)


def show(named: Mapping[str, Field], settings: Settings) -> None:
    """Shows the values of fields and their errors, by the names of their settings, without emitting signals."""
    for name, field in named.items():
        field.set_value(getattr(settings, name))
        field.set_error(settings.faults.get(name))


class OwnFields(QWidget):
    """The fields of one algorithm, by the names of their settings; they are hidden while another is chosen."""

    changed = Signal()  # the user changed one
    refresh_asked = Signal()  # what depends on the corpus is to be shown again
    controls_made = Signal()  # there are new controls

    def __init__(self) -> None:
        super().__init__()
        self.named: Mapping[str, Field] = {}
        self._shown: Mapping[str, Field] = {}

    def add(self, named: Mapping[str, Field], of_corpus: Collection[str] = ()) -> None:
        """Adds the fields; `show_corpus` shows some."""
        self.named = named
        self._shown = {name: field for name, field in named.items() if name not in of_corpus}
        column(*named.values(), spacing=8, parent=self)
        for field in named.values():
            field.changed.connect(self.changed)

    @property
    def controls(self) -> list[QWidget]:
        """The controls, in their order."""
        return [control for field in self.named.values() for control in field.controls]

    def taken_over(self, settings: Settings) -> Settings:
        """Returns the settings with the values of the fields."""
        return replace(settings, **{name: field.value for name, field in self.named.items()})

    def show_settings(self, settings: Settings) -> None:
        """Shows settings and their errors without emitting signals."""
        show(self._shown, settings)
        for name, field in self._shown.items():
            field.setVisible(settings.has(name))

    def show_corpus(self, settings: Settings, corpus: Corpus) -> str:
        """Shows what depends on the corpus; returns why the algorithm cannot train on it, "" if it can.

        A problem that no field shows is shown at the choice of the algorithm.
        """
        return ""
