"""The fields of parity-aware BPE in Configure: what is measured, and a row for each language."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtGui import QAction, QFocusEvent
from PySide6.QtWidgets import QPushButton, QWidget

from tokstudio.core.algorithms.common.languages import (
    by_language,
    languages_in,
    matching_texts,
    told_silent,
    why_no_languages,
)
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.algorithms import ParityAware
from tokstudio.core.model.settings import SETTINGS, Setting
from tokstudio.gui.panes.configure.setting_fields import OwnFields, field_of
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import DECIMALS, Choice, ChoiceBox, Decimal
from tokstudio.gui.widgets.fields import Field
from tokstudio.gui.widgets.labels import Caption, TermLabel, plain
from tokstudio.gui.widgets.layouts import STRETCH, column, row
from tokstudio.gui.widgets.menus import link_button
from tokstudio.gui.widgets.sliced_work import Slices

# --- Fields with a row for each language of the corpus: its parallel text, or its ratio -------------------------------


MOST = 64  # languages with a row
_AT_ONCE = 8  # rows that are made in one step
MOST_RATIO = 1000.0
_NONE = Choice("", "None", "This language has no parallel text.")
_KEPT = "\0"  # the value of a text that is no longer offered

_Control = TypeVar("_Control", bound=QWidget)


class _Row(QWidget, Generic[_Control]):
    """The name of a language, and a control."""

    def __init__(self, control: _Control) -> None:
        super().__init__()
        self.name, self.control = Caption(), control
        self.name.setProperty("role", "")
        self.language = ""
        row((self.name, 1), (control, 1), spacing=8, margins=(12, 0, 0, 0), parent=self)

    def show_language(self, language: str, what: str) -> None:
        """Shows a name; `what` is what the control sets."""
        self.language = language
        self.name.say(language)
        self.control.setAccessibleName(f"{what} of {language}")


class _ByLanguage(Field, Generic[_Control]):
    """A row for each language; none where there are too many. Many rows are made in steps."""

    rows_made = Signal()  # each language has its row

    def __init__(self, text: str, help_text: str, word: str, what: str) -> None:
        self._rows = QWidget()
        super().__init__(help_text, self._rows)
        self._what = what
        self._languages: Sequence[str] = ()
        self._building = Slices(self)
        self.rows: list[_Row[_Control]] = []
        self.label = TermLabel(text, word)
        self.explain(word)
        self.row.addWidget(self.label, 1)
        self._list = column(spacing=4, parent=self._rows)
        self._links: Sequence[QPushButton] = ()
        self.column.insertWidget(1, self._rows)

    @property
    def controls(self) -> list[QWidget]:
        return [*(one.control for one in self.rows), *self._links]

    @property
    def _has_rows(self) -> bool:
        """Whether the rows show the values of all languages."""
        return bool(self.rows) and not self._building.running

    def _show(self, languages: Sequence[str]) -> None:
        """Makes, removes and fills rows, so that each of these languages has one."""
        self._languages = languages if len(languages) <= MOST else ()
        self._rows.setVisible(bool(self._languages))
        if len(self._languages) - len(self.rows) > _AT_ONCE:
            self._building.start(self._build())
        else:
            self._building.stop()
            for _ in self._build():
                pass

    def _build(self) -> Iterator[None]:
        while len(self.rows) > len(self._languages):
            over = self.rows.pop()
            self._list.removeWidget(over)
            over.hide()
            over.deleteLater()
            yield
        for place, language in enumerate(self._languages):
            if place == len(self.rows):
                self.rows.append(_Row(self._make()))
                self._list.addWidget(self.rows[-1])
            if self.rows[place].language != language:
                self.rows[place].show_language(language, self._what)
            self._fill(self.rows[place])
            yield
        self.rows_made.emit()

    def _make(self) -> _Control:
        raise NotImplementedError

    def _fill(self, one: _Row[_Control]) -> None:
        raise NotImplementedError


class TextBox(ChoiceBox):
    """A choice among texts; it lists them only when it is used, as many boxes have many."""

    def __init__(self) -> None:
        super().__init__((_NONE,))
        self._offered: tuple[Choice, ...] = (_NONE,)

    @property
    def chosen(self) -> Choice:
        """The chosen text."""
        return self.choices[max(0, self.currentIndex())]

    def offer(self, choices: tuple[Choice, ...], chosen: Choice) -> None:
        """Offers texts, one of them chosen, without emitting signals."""
        self._offered = choices
        self._list(choices if self.hasFocus() else (chosen,), chosen)
        self.setToolTip(plain(f"{chosen.name}: {chosen.meaning}"))

    def focusInEvent(self, e: QFocusEvent) -> None:
        self._list(self._offered, self.chosen)
        super().focusInEvent(e)

    def showPopup(self) -> None:
        self._list(self._offered, self.chosen)
        super().showPopup()

    def _list(self, choices: tuple[Choice, ...], chosen: Choice) -> None:
        with QSignalBlocker(self):
            if self.choices != choices:
                self.set_choices(choices)
            self.setCurrentIndex(choices.index(chosen))


class TextsField(_ByLanguage[TextBox]):
    """The parallel text of each language: one of those that were read."""

    def __init__(self, help_text: str, links: Sequence[QPushButton]) -> None:
        super().__init__("Parallel texts", help_text, "parallel-text", "Parallel text")
        self._before: tuple[tuple[str, str], ...] = ()  # as they were shown
        self._texts: Mapping[str, str] = {}
        self._choices: tuple[Choice, ...] = (_NONE,)
        self._given: Mapping[str, str] = {}
        self._links = links
        self.column.insertLayout(2, row(*links, STRETCH, spacing=10))

    @property
    def value(self) -> tuple[tuple[str, str], ...]:
        if not self._has_rows:
            return self._before
        chosen: list[tuple[str, str]] = []
        for one in self.rows:
            name = one.control.chosen.value
            if name:
                chosen.append((one.language, self._given[one.language] if name == _KEPT else self._texts[name]))
        return self._before if dict(chosen) == self._given else tuple(chosen)

    def show_texts(
        self, languages: Sequence[str], texts: Sequence[tuple[str, str]], offered: Mapping[str, str]
    ) -> None:
        """Shows the text of each language, and offers others; no rows where there are neither."""
        if offered is not self._texts:
            self._choices = (_NONE, *(Choice(name, name, lines_text(text)) for name, text in offered.items()))
        self._before, self._texts, self._given = tuple(texts), offered, by_language(languages, texts)
        self._show(list(dict.fromkeys([*languages, *self._given])) if texts or offered else [])

    def _make(self) -> TextBox:
        box = TextBox()
        box.currentIndexChanged.connect(self.changed)
        return box

    def _fill(self, one: _Row[TextBox]) -> None:
        text_or_file = self._given.get(one.language)
        if text_or_file is None:
            one.control.offer(self._choices, _NONE)
            return
        value = next((name for name, text in self._texts.items() if text == text_or_file), "")
        chosen = next((choice for choice in self._choices if value and choice.value == value), None)
        if chosen is not None:
            one.control.offer(self._choices, chosen)
        else:
            kept = Choice(_KEPT, lines_text(text_or_file), "The text that was chosen before.")
            one.control.offer((*self._choices, kept), kept)


class RatiosField(_ByLanguage[Decimal]):
    """The ratio of each language, 1 for most."""

    def __init__(self, help_text: str, theme: Theme) -> None:
        super().__init__("Ratios", help_text, "ratio", "Ratio")
        self._theme = theme
        self._before: tuple[tuple[str, float], ...] = ()  # as they were shown
        self._given: Mapping[str, float] = {}

    @property
    def value(self) -> tuple[tuple[str, float], ...]:
        """The ratios by language, without those of 1."""
        shown = {one.language: one.control.value() for one in self.rows}
        if not self._has_rows or shown == {language: self._shown(language) for language in shown}:
            return self._before
        return tuple((language, ratio) for language, ratio in shown.items() if ratio != 1)

    def show_ratios(self, languages: Sequence[str], ratios: Sequence[tuple[str, float]]) -> None:
        """Shows the ratio of each language; none shows no rows."""
        self._before, self._given = tuple(ratios), by_language(languages, ratios)
        self._show(list(dict.fromkeys([*languages, *self._given])) if languages else [])

    def _shown(self, language: str) -> float:
        return round(self._given.get(language, 1.0), DECIMALS)

    def _make(self) -> Decimal:
        field = Decimal(self._theme, MOST_RATIO)
        field.setValue(1)
        field.setToolTip("Above 1, the language chooses more often; below 1, less often")
        field.valueChanged.connect(self.changed)
        return field

    def _fill(self, one: _Row[Decimal]) -> None:
        if self._shown(one.language) != one.control.value():
            with QSignalBlocker(one.control):
                one.control.setValue(self._shown(one.language))


def lines_text(text: str) -> str:
    """The number of lines of a text."""
    return several(text.count("\n") + 1, "line")


# --- The settings of parity-aware BPE in the Configure pane: what is measured, and which language may choose ----------

_PARALLEL = SETTINGS["parallel"]
_NO_TEXTS_HELP = "None: the language with the fewest bytes per token chooses."
_CHOOSE = "No text has the name of a language of the corpus: choose one for each, or remove the texts."


class ParityFields(OwnFields):
    """The fields, with rows for the languages of the corpus."""

    BY_LANGUAGE = frozenset({"parallel", "ratios"})

    def __init__(
        self, session: Session, theme: Theme, actions: Mapping[str, QAction], settings: Sequence[Setting]
    ) -> None:
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
        self.texts = TextsField(_PARALLEL.help, (self.load, self.load_folder, self.remove))
        self.ratios = RatiosField(SETTINGS["ratios"].help, theme)
        others = {each.name: field_of(each, theme) for each in settings if each.name not in self.BY_LANGUAGE}
        self.add({"parallel": self.texts, "ratios": self.ratios, **others}, of_corpus=self.BY_LANGUAGE)
        for rows in (self.texts, self.ratios):
            rows.rows_made.connect(self.controls_made)

    def take_texts(self, texts: Mapping[str, str]) -> None:
        """Offers parallel texts by name, and gives those to languages of the corpus that are named like them."""
        names = languages_in(self._corpus.current)
        texts_by_name = matching_texts(names, list(texts))
        self._offered, self._waits = texts, not texts_by_name
        parallel = tuple((name, texts[texts_by_name[name]]) for name in names if name in texts_by_name)
        settings = self._training.settings.with_algorithm(ParityAware.name, self._training.defaults)
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
        unknown = problem or settings.problem or not corpus.bytes or self._waits
        silent = "" if unknown else told_silent(corpus, settings.config())
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

    def _problem(self, settings: Settings, corpus: Corpus) -> str:
        if settings.problem is not None or not corpus.bytes:
            return ""
        return _CHOOSE if self._waits else why_no_languages(corpus, settings.config())


def _texts_help(settings: Settings, languages: list[str]) -> str:
    if len(languages) > MOST:
        return f"{len(settings.parallel):,} of {len(languages):,} languages have a text, found by their names."
    numbers = {lines_text(text) for _, text in settings.parallel}
    return f"{_PARALLEL.help} {numbers.pop()} each." if len(numbers) == 1 else _PARALLEL.help
