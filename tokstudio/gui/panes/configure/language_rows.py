"""Fields with a row for each language of the corpus: its parallel text, or its ratio."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QPushButton, QWidget

from tokstudio.core.base.wording import several
from tokstudio.core.training.languages import by_language
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import DECIMALS, Choice, ChoiceBox, Decimal
from tokstudio.gui.widgets.fields import Field
from tokstudio.gui.widgets.labels import Caption, TermLabel, plain
from tokstudio.gui.widgets.layouts import STRETCH, column, row

MOST = 64  # languages with a row
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
    """A row for each language; none where there are too many."""

    def __init__(self, text: str, help_text: str, word: str) -> None:
        self._rows = QWidget()
        super().__init__(help_text, self._rows)
        self.rows: list[_Row[_Control]] = []
        self.label = TermLabel(text, word)
        self.explain(word)
        self.row.addWidget(self.label, 1)
        self._list = column(spacing=4, parent=self._rows)
        self.column.insertWidget(1, self._rows)

    @property
    def controls(self) -> list[QWidget]:
        """The controls of the rows."""
        return [one.control for one in self.rows]

    def _fit(self, languages: Sequence[str], what: str, make: Callable[[], _Control]) -> None:
        """Makes or removes rows, so that each of these languages has one."""
        wanted = languages if len(languages) <= MOST else ()
        while len(self.rows) > len(wanted):
            over = self.rows.pop()
            self._list.removeWidget(over)
            over.hide()
            over.deleteLater()
        while len(self.rows) < len(wanted):
            made = _Row(make())
            before = [self, *self.controls][-1]
            self.rows.append(made)
            self._list.addWidget(made)
            QWidget.setTabOrder(before, made.control)
        for made, language in zip(self.rows, wanted, strict=True):
            if made.language != language:
                made.show_language(language, what)
        self._rows.setVisible(bool(wanted))


class TextsField(_ByLanguage[ChoiceBox]):
    """The parallel text of each language: one of those that were read."""

    def __init__(self, help_text: str, links: Sequence[QPushButton]) -> None:
        super().__init__("Parallel texts", help_text, "parallel-text")
        self._before: tuple[tuple[str, str], ...] = ()  # as they were shown
        self._texts: Mapping[str, str] = {}
        self._given: Mapping[str, str] = {}
        self.column.insertLayout(2, row(*links, STRETCH, spacing=10))

    @property
    def value(self) -> tuple[tuple[str, str], ...]:
        """The texts by language."""
        if not self.rows:
            return self._before
        chosen: list[tuple[str, str]] = []
        for one in self.rows:
            name = one.control.choices[max(0, one.control.currentIndex())].value
            if name:
                chosen.append((one.language, self._given[one.language] if name == _KEPT else self._texts[name]))
        return self._before if dict(chosen) == self._given else tuple(chosen)

    def show_texts(
        self, languages: Sequence[str], given: Sequence[tuple[str, str]], offered: Mapping[str, str]
    ) -> None:
        """Shows the text of each language, and offers others; no rows where there are neither."""
        self._before, self._texts, self._given = tuple(given), offered, by_language(languages, given)
        shown = list(dict.fromkeys([*languages, *self._given])) if given or offered else []
        self._fit(shown, "Parallel text", self._make)
        for one in self.rows:
            self._offer(one.control, self._given.get(one.language))

    def _make(self) -> ChoiceBox:
        made = ChoiceBox((_NONE,))
        made.currentIndexChanged.connect(self.changed)
        return made

    def _offer(self, box: ChoiceBox, given: str | None) -> None:
        choices = [_NONE, *(Choice(name, name, lines_text(text)) for name, text in self._texts.items())]
        value = next((name for name, text in self._texts.items() if text == given), "")
        if given is not None and not value:
            value = _KEPT
            choices.append(Choice(_KEPT, lines_text(given), "The text that was chosen before."))
        with QSignalBlocker(box):
            if box.choices != tuple(choices):
                box.set_choices(choices)
            index = [choice.value for choice in choices].index(value)
            box.setCurrentIndex(index)
        box.setToolTip(plain(f"{choices[index].name}: {choices[index].meaning}"))


class RatiosField(_ByLanguage[Decimal]):
    """The ratio of each language, 1 for most."""

    def __init__(self, help_text: str, theme: Theme) -> None:
        super().__init__("Ratios", help_text, "ratio")
        self._theme = theme
        self._before: tuple[tuple[str, float], ...] = ()  # as they were shown
        self._given: Mapping[str, float] = {}
        theme.changed.connect(self._apply_theme)

    @property
    def value(self) -> tuple[tuple[str, float], ...]:
        """The ratios by language, without those of 1."""
        shown = {one.language: one.control.value() for one in self.rows}
        if shown == {language: self._shown(language) for language in shown}:
            return self._before
        return tuple((language, ratio) for language, ratio in shown.items() if ratio != 1)

    def show_ratios(self, languages: Sequence[str], given: Sequence[tuple[str, float]]) -> None:
        """Shows the ratio of each language."""
        self._before, self._given = tuple(given), by_language(languages, given)
        self._fit(list(dict.fromkeys([*languages, *self._given])), "Ratio", self._make)
        for one in self.rows:
            if self._shown(one.language) != one.control.value():
                with QSignalBlocker(one.control):
                    one.control.setValue(self._shown(one.language))

    def _shown(self, language: str) -> float:
        return round(self._given.get(language, 1.0), DECIMALS)

    def _make(self) -> Decimal:
        made = Decimal(MOST_RATIO)
        made.setValue(1)
        made.setToolTip("Above 1, the language chooses more often; below 1, less often")
        made.apply_style(self._theme)
        made.valueChanged.connect(self.changed)
        return made

    def _apply_theme(self) -> None:
        for one in self.rows:
            one.control.apply_style(self._theme)


def lines_text(text: str) -> str:
    """The number of lines of a text."""
    return several(text.count("\n") + 1, "line")
