"""The settings under More in the Configure pane: all except the limits and the pattern.

The core validates them; the pane passes its messages to the fields.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.sampling import in_use, refuse_counts
from tokstudio.core.model.settings import SETTINGS
from tokstudio.gui.panes.configure.setting_fields import field_of, show
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.spelling import marked, shown
from tokstudio.gui.widgets.controls import Choice
from tokstudio.gui.widgets.fields import ChoiceField, Field, ListField
from tokstudio.gui.widgets.layouts import column
from tokstudio.gui.widgets.menus import link_button

_FROM_CORPUS, _OWN_LIST = "corpus", "own"
_VOCABULARIES = (
    Choice(_FROM_CORPUS, "Corpus", "The corpus's characters, as they first appear."),
    Choice(_OWN_LIST, "Own list", "Only these characters, in this order."),
)
_NO_LINES = "Word counts have no lines to hold out."
_NAMED = 20  # special tokens that are listed below the field
_LONGEST = 40  # bytes of each
# The share that is held out is wanted most often, and would be far below.
_SETTINGS = sorted((one for one in SETTINGS.values() if one.place == "more"), key=lambda one: one.name != "held_out")
_DEPENDENT = ("base_vocabulary", "unknown_token", "special_placement")
#: What they are, for the button that shows them.
MORE_TIP = ", ".join(setting.words for setting in _SETTINGS if setting.name not in _DEPENDENT).capitalize()


class MoreSettings(QWidget):
    """The other fields, and the button that resets all of them."""

    changed = Signal()  # the user changed one
    reset_asked = Signal()  # the user wants to reset all of them

    def __init__(self, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__()
        self.corpus_problem = ""  # why the settings do not work with this corpus; "" if they do
        self._list_is_wrong = False
        self.named: dict[str, Field] = {setting.name: field_of(setting, theme) for setting in _SETTINGS}
        self.vocabulary = ChoiceField("Base vocabular&y", _VOCABULARIES, theme, word="base-vocabulary")
        self.entries = cast("ListField", self.named["base_vocabulary"])
        self.specials = cast("ListField", self.named["special_tokens"])
        self.unknown = cast("ChoiceField", self.named["unknown_token"])
        self.load = link_button("Load from File…", actions["load_base_tokens"].trigger)
        self.start = link_button("From the Corpus", actions["base_tokens_of_corpus"].trigger)
        self.entries.add_links(self.load, self.start)
        self.load.setToolTip("Load the base tokens from a file: a JSON list, or one per line")
        self.start.setToolTip("Fill the list with the characters of the corpus")
        self.reset = link_button("Reset to Defaults", self.reset_asked.emit)
        self.reset.setToolTip("Reset every setting to its default")
        column(*self.fields, self.reset, spacing=8, parent=self)
        for field in self.fields:
            field.changed.connect(self.changed)

    @property
    def fields(self) -> list[Field]:
        """All fields, in their order."""
        fields = [*self.named.values()]
        fields.insert(fields.index(self.entries), self.vocabulary)
        return fields

    @property
    def controls(self) -> list[QWidget]:
        """The controls, in the same order."""
        return [*(control for field in self.fields for control in field.controls), self.reset]

    def taken_over(self, settings: Settings) -> Settings:
        """Returns the settings with the values of these fields."""
        values = {name: field.value for name, field in self.named.items()}
        if self.vocabulary.value != _OWN_LIST:
            values["base_vocabulary"] = None
        return replace(settings, **values)

    def show_settings(self, settings: Settings, defaults: Settings) -> None:
        """Shows settings and their errors without emitting signals."""
        own = settings.base_vocabulary is not None
        self.vocabulary.set_value(_OWN_LIST if own else _FROM_CORPUS)
        self._offer_unknown(settings)
        show(self.named, settings)
        for setting in _SETTINGS:
            field, has = self.named[setting.name], settings.has(setting.name)
            field.setVisible(has or (setting.greys and settings.algorithm in setting.algorithms))
            if setting.greys:
                field.setEnabled(has)
        self.vocabulary.setVisible(settings.has("base_vocabulary"))
        self.entries.setVisible(settings.has("base_vocabulary") and own)
        self.entries.count.setText(_counted(settings.base_vocabulary or ()))
        self.specials.show_read(_read_back(settings.special_tokens))
        self.reset.setEnabled(settings != defaults)
        self._list_is_wrong = "base_vocabulary" in settings.faults

    def show_missing(self, problem: str | None) -> None:
        """Names a character that is missing in the base tokens, if that is the error."""
        if not self._list_is_wrong:
            self.entries.set_error(problem)

    def show_corpus(self, settings: Settings, corpus: Corpus) -> None:
        """Disables settings that the corpus does not allow; those that are set can still be removed."""
        self.corpus_problem, reason = "", None
        try:
            refuse_counts(in_use(corpus.sources, corpus.weights))
        except ConfigError as error:
            self.corpus_problem, reason = (str(error), None) if settings.held_out else ("", _NO_LINES)
        held_out = self.named["held_out"]
        held_out.set_unavailable(reason)
        if self.corpus_problem:
            held_out.set_error(self.corpus_problem)

    def _offer_unknown(self, settings: Settings) -> None:
        listed = [entry for entry in settings.base_vocabulary or () if len(entry) > 1]
        chosen = () if settings.unknown_token is None else (settings.unknown_token,)
        names = dict.fromkeys([*listed, *settings.special_tokens, *chosen])
        choices = [
            self.unknown.combo.choices[0],
            *(Choice(name, name, "Replaces a missing character.") for name in names),
        ]
        if tuple(choices) != self.unknown.combo.choices:
            self.unknown.set_choices(choices, settings.unknown_token)


def _read_back(specials: tuple[str, ...]) -> str:
    """Lists special tokens with marks for their white space, which is invisible in the field."""
    named = [marked(shown(special.encode("utf-8", "replace"), _LONGEST)) for special in specials[:_NAMED]]
    also = f" and {len(specials) - _NAMED:,} more" if len(specials) > _NAMED else ""
    return f"{several(len(specials), 'special token')}: {', '.join(named)}{also}" if specials else ""


def _counted(entries: tuple[str, ...]) -> str:
    specials = sum(len(entry) > 1 for entry in entries)
    return f"{len(entries):,}, {specials:,} of them special" if specials else f"{len(entries):,}"
