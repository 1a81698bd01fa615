"""The settings of parity-aware BPE in the Configure pane: what is measured, and which language may choose."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.parity import WINDOW
from tokstudio.core.training.languages import (
    languages_in,
    matching_texts,
    told_silent,
    why_no_languages,
)
from tokstudio.gui.panes.configure.language_rows import MOST, RatiosField, TextsField, lines_text
from tokstudio.gui.panes.configure.own_fields import OwnFields
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.buttons import link_button
from tokstudio.gui.widgets.fields import DecimalField, Field, LimitField
from tokstudio.gui.widgets.layouts import column

_FIRST_GLOBAL = 500
_MOST_ALPHA = 1000.0
_TEXTS_HELP = "The same lines in each language: the longest in tokens chooses."
_NO_TEXTS_HELP = "None: the language with the fewest bytes per token chooses."
_CHOOSE = "No text has the name of a language of the corpus: choose one for each, or remove the texts."
_RATIOS_HELP = "Bytes per token are divided by these."
_TOGETHER_HELP = "All languages choose the first merges together."
_WINDOW_HELP = "Who made too many of the last choices is passed over."
_ALPHA_HELP = "Up to so many times a fair part of them is allowed."


class ParityFields(OwnFields):
    """The fields, with rows for the languages of the corpus."""

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__()
        self._training, self._corpus = session.training, session.corpus
        self._offered: Mapping[str, str] = {}  # the texts that were read last, by name
        self._waits = False  # whether none of them has been given to a language yet
        self.load = link_button("Load Files…", actions["load_parallel_files"].trigger)
        self.load.setToolTip("Load a text file for each language, or one table with a column for each")
        self.load_folder = link_button("Load Folder…", actions["load_parallel_texts_folder"].trigger)
        self.load_folder.setToolTip("Load a folder with a file for each language")
        self.remove = link_button("Remove", self.remove_texts)
        self.remove.setToolTip("Remove the parallel texts of all languages")
        self.texts = TextsField(_TEXTS_HELP, (self.load, self.load_folder, self.remove))
        self.ratios = RatiosField(_RATIOS_HELP, theme)
        self.together = LimitField("Global merges", _TOGETHER_HELP, _FIRST_GLOBAL, theme, word="global-merges")
        self.window_field = LimitField("Window", _WINDOW_HELP, WINDOW, theme, " choices", word="window")
        self.alpha = DecimalField("Al&pha", _ALPHA_HELP, _MOST_ALPHA, theme, word="window")
        fields = (self.texts, self.ratios, self.together, self.window_field, self.alpha)
        column(*fields, spacing=8, parent=self)
        for field in fields:
            field.changed.connect(self.changed)
        for rows in (self.texts, self.ratios):
            rows.rows_made.connect(self.controls_made)

    @property
    def controls(self) -> list[QWidget]:
        """The controls, in their order."""
        of_texts = [*self.texts.controls, self.load, self.load_folder, self.remove]
        others = [self.together.check, self.together.number, self.window_field.check, self.window_field.number]
        return [*of_texts, *self.ratios.controls, *others, self.alpha.number]

    @property
    def named_fields(self) -> Mapping[str, Field]:
        """The fields that can show an error, by name."""
        return {
            "parallel texts": self.texts,
            "ratios": self.ratios,
            "global merges": self.together,
            "window": self.window_field,
            "alpha": self.alpha,
        }

    def taken_over(self, settings: Settings) -> Settings:
        """Returns the settings with the values of these fields."""
        return replace(
            settings,
            parallel=self.texts.value,
            ratios=self.ratios.value,
            global_merges=self.together.value,
            window=self.window_field.value,
            alpha=settings.alpha if self.alpha.shows(settings.alpha) else self.alpha.number.value(),
        )

    def show_settings(self, settings: Settings) -> None:
        """Shows settings and their errors without emitting signals."""
        self.together.set_value(settings.global_merges)
        self.window_field.set_value(settings.window)
        self.alpha.set_value(settings.alpha)
        self.alpha.setVisible(settings.window is not None)
        self.together.set_error(settings.faults.get("global_merges"))
        self.window_field.set_error(settings.faults.get("window"))
        self.alpha.set_error(settings.faults.get("alpha"))

    def take_texts(self, texts: Mapping[str, str]) -> None:
        """Offers parallel texts by name, and gives those to languages of the corpus that are named like them."""
        names = languages_in(self._corpus.current)
        found = matching_texts(names, list(texts))
        self._offered, self._waits = texts, not found
        parallel = tuple((name, texts[found[name]]) for name in names if name in found)
        settings = self._training.settings.with_algorithm("parity", self._training.defaults)
        self._training.set_settings(replace(settings, parallel=parallel))
        self.refresh_asked.emit()

    def remove_texts(self) -> None:
        """Removes the parallel texts of all languages."""
        self._offered, self._waits = {}, False
        self._training.set_settings(replace(self._training.settings, parallel=()))
        self.refresh_asked.emit()

    def show_corpus(self, settings: Settings, corpus: Corpus) -> str:
        """Shows the languages of the corpus, and why they cannot be trained on."""
        self._waits = self._waits and not settings.parallel
        languages, has_texts = languages_in(corpus), bool(settings.parallel or self._waits)
        problem = self._problem(settings, corpus)
        at_field = None if len(languages) < 2 else problem or None
        self.texts.show_texts(languages, settings.parallel, self._offered if has_texts else {})
        silent = "" if problem or settings.problem or not corpus.bytes else self._silent(settings, corpus)
        self.texts.set_help(silent or _texts_help(settings, languages) if has_texts else _NO_TEXTS_HELP)
        self.remove.setVisible(has_texts)
        has_ratios = not has_texts and (len(languages) > 1 or bool(settings.ratios))
        self.ratios.setVisible(has_ratios)
        self.ratios.show_ratios(languages if has_ratios else [], settings.ratios)
        if has_texts:
            self.texts.set_error(at_field)
        else:
            self.texts.set_error(None)
            self.ratios.set_error(at_field or settings.faults.get("ratios"))
        return problem

    def _silent(self, settings: Settings, corpus: Corpus) -> str:
        return "" if self._waits else told_silent(corpus, settings.config())

    def _problem(self, settings: Settings, corpus: Corpus) -> str:
        if settings.problem is not None or not corpus.bytes:
            return ""
        return _CHOOSE if self._waits else why_no_languages(corpus, settings.config())


def _texts_help(settings: Settings, languages: list[str]) -> str:
    if len(languages) > MOST:
        return f"{len(settings.parallel):,} of {len(languages):,} languages have a text, found by their names."
    numbers = {lines_text(text) for _, text in settings.parallel}
    return f"{_TEXTS_HELP} {numbers.pop()} each." if len(numbers) == 1 else _TEXTS_HELP
