"""The Configure pane: the settings of the next training, its forecast, and the button that starts it.

The core validates the settings; the pane shows its messages at the fields.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLabel, QPushButton, QSizePolicy, QToolButton, QWidget

from tokstudio.core.base.errors import MissingCharacterError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import several, size_of_memory, size_text
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.algorithms import Picky
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.settings import SETTINGS
from tokstudio.core.training.forecast import Forecast, fitting_merges, forecast_work
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.panes.configure.algorithm_field import AlgorithmField
from tokstudio.gui.panes.configure.more_settings import MORE_TIP, MoreSettings
from tokstudio.gui.panes.configure.pattern_field import PatternField
from tokstudio.gui.panes.configure.setting_fields import field_of
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import CHANGED, GONE, is_missing
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.fields import Field, LimitField, set_role
from tokstudio.gui.widgets.labels import named, paragraph_label, plain
from tokstudio.gui.widgets.layouts import STRETCH, Fitting, TallBody, column, row, set_tab_order
from tokstudio.gui.widgets.pane import Pane

# --- Forecasts time and memory of the next training in the background, after changes of corpus or settings ------------


class Forecaster(QObject):
    """Keeps the session's forecast up to date; it pauses during a training."""

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._corpus, self._training = session.corpus, session.training
        self._latest = LatestJob(session.jobs, self, quiet=True)
        self._latest.done.connect(session.training.set_forecast)
        self._later = QTimer(self, singleShot=True, interval=session.jobs.pauses.forecast)
        self._later.timeout.connect(self._ask)
        for signal in (session.corpus.sources_changed, session.training.settings_changed):
            signal.connect(self.renew)
        session.training.state_changed.connect(self._follow_training)

    def renew(self) -> None:
        """Discards the forecast and starts another."""
        self._latest.cancel()
        if self._wanted:
            self._later.start()
        else:
            self._later.stop()

    @property
    def _wanted(self) -> bool:
        waits, settings = self._training.busy or self._corpus.splitting, self._training.settings
        # What another library needs is not known.
        return not waits and settings.problem is None and not settings.by_library and self._corpus.current.bytes > 0

    def _follow_training(self) -> None:
        if self._training.busy:
            self._later.stop()
            self._latest.cancel()
        elif self._training.forecast is None and not self._later.isActive() and not self._latest.busy:
            self.renew()

    def _ask(self) -> None:
        if self._wanted:
            corpus, config = self._corpus.current, self._training.settings.config()
            self._latest.run(lambda: _prepared_work(corpus, config))


def _prepared_work(corpus: Corpus, config: TrainingConfig) -> Work[Forecast]:
    yield from prepare_work()
    return (yield from forecast_work(corpus, config))


def forecast_text(forecast: Forecast) -> str:
    """Formats time and memory: "Estimate: 3 s, 1.2 GB of memory."."""
    return f"Estimate: {_time(forecast.seconds)}, {_memory(forecast.memory)} of memory."


def _time(seconds: float) -> str:
    if seconds < 1:
        return "< 1 s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _memory(size: int) -> str:
    return "< 10 MB" if size < 10_000_000 else size_of_memory(size)


# --- A summary of settings: the end of merging, and unusual settings --------------------------------------------------


def size_help(settings: Settings, size: int) -> str:
    """What a vocabulary has, and how large one fits a corpus of so many bytes, if its base tokens are known."""
    explained = SETTINGS["vocabulary_size"].help
    if not size or settings.base != "bytes":
        return explained
    return f"{explained} About {256 + fitting_merges(size):,} fit {size_text(size)} of text, by a rule of thumb."


def limit_words(settings: Settings, distinct: int | None) -> str:
    """Says when merging ends; with characters as base, the limit is approximate until they are counted.

    The settings are valid. `distinct` is the number of different characters of the corpus; None until it is known.
    """
    size, frequency = settings.vocabulary_size, settings.min_frequency
    if (of_library := settings.library_config) is not None:
        differs = "" if of_library.repeatable else " Training again may give other ids."
        return f"At most {size:,} tokens, by the {of_library.library} library.{differs}"
    if size is None:
        return f"Ends when no pair occurs {frequency:,} times."
    config = settings.config()
    base, about = config.base_size, ""
    if base is None:
        if distinct is None:
            return f"At most {size:,} tokens, including the characters of the corpus."
        base, about = distinct + len(config.leading_specials), "about "
    count = config.max_merges(base) or 0
    first = "256 bytes" if settings.base == "bytes" else f"{base - len(config.leading_specials):,} base tokens"
    specials = len(config.special_tokens)
    also = f" and {several(specials, 'special token')}" if specials else ""
    merges = f"{about}{several(max(0, count), 'merge')}"
    if isinstance(config.algorithm, Picky):
        merges = f"{about}{several(max(0, count), 'token made by merges', 'tokens made by merges')}"
    earlier = f"; ends earlier when no pair occurs {frequency:,} times" if frequency is not None else ""
    return f"At most {merges} on top of {first}{also}{earlier}."


def unusual_words(settings: Settings) -> str:
    """Names the settings under More that differ from the defaults; "" if none does."""
    words = (each.in_line(settings) for each in SETTINGS.values() if each.place == "more" and settings.has(each.name))
    also = ", ".join(filter(None, words))
    return f"Also set: {also}." if also else ""


def outdated_words(outdated: Mapping[Source, str]) -> str:
    """Says which files have changed (sources with `CHANGED` or `GONE`), and what a training uses; "" if none has."""
    if not outdated:
        return ""
    one, words = len(outdated) == 1, set(outdated.values())
    what = next(iter(outdated)).name if one else f"{len(outdated):,} files"
    if words == {CHANGED}:
        text = f"{'has' if one else 'have'} changed on disk"
    elif words == {GONE}:
        text = f"{'is' if one else 'are'} gone from disk"
    else:
        text = "have changed on disk or are gone from it"
    return f"{what} {text}: training uses the text as it was read."


_USUAL = SETTINGS["algorithm"].default
_SPACING = 8
_ABOVE_NOTE, _ABOVE_CAPTION = 3, 4  # pixels between a field and its help, or the preview and its caption
_BETWEEN_BUTTONS = 6
_ACTION = {"resume": "pause"}
_BUTTONS = {"idle": ("train",), "running": ("pause", "stop"), "paused": ("resume", "step", "stop")}


class ConfigurePane(Pane):
    """Every setting of the training, the forecast, and Train."""

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("configure", "Configure")
        self._corpus, self._runs, self._training = session.corpus, session.runs, session.training
        self._theme = theme
        self._actions = actions
        self.size_field = cast("LimitField", field_of(SETTINGS["vocabulary_size"], theme))
        self.frequency_field = cast("LimitField", field_of(SETTINGS["min_frequency"], theme))
        self.pattern = PatternField(session, theme)
        self.algorithm = AlgorithmField(session, theme, actions)
        self.more_button = self._make_more_button(actions["more_settings"])
        self.more = MoreSettings(theme, actions)
        self.summary, self.unusual = paragraph_label("muted"), paragraph_label("muted")
        self.outdated, self.forecast = paragraph_label("muted"), paragraph_label("muted")
        self.reason = paragraph_label("muted")
        self.sample_button = _ElidedButton(actions["train_on_sample"])
        self.anyway_button = _ElidedButton(actions["train_anyway"])
        self.anyway_button.set_full_text("Train Anyway")
        self.continue_button = _ElidedButton(actions["continue_run"])
        self.buttons = {
            name: self._button(actions[_ACTION.get(name, name)], name.capitalize(), primary=name in ("train", "resume"))
            for name in ("train", "pause", "resume", "step", "stop")
        }
        self.buttons["train"].setIcon(icon("train", theme, "on_accent"))
        self._lay_out()
        self._forecaster = Forecaster(session, self)
        self._connect()
        self._show_settings()
        self._refresh()

    def event(self, event: QEvent) -> bool:
        """Checks the memory again when the user comes back from another program."""
        if event.type() == QEvent.Type.WindowActivate and self._training.sample_size is not None:
            self._forecaster.renew()
        return super().event(event)

    def _lay_out(self) -> None:
        fields, self._button_row = QWidget(), QWidget()
        content = (*self._parts, self.more_button, self.more)
        column(*content, STRETCH, spacing=_SPACING, parent=fields)
        row(*((button, 1) for button in self.buttons.values()), spacing=_BETWEEN_BUTTONS, parent=self._button_row)
        self._fields = TallBody(fields)
        self._fields.room_changed.connect(self._fit)
        self.body.addWidget(self._fields, 1)
        # The part above Train stays visible, however little room there is for the fields.
        said = (self.summary, self.unusual, self.outdated, self.forecast, self.reason)
        self.body.addLayout(column(*said, spacing=2))
        for button in self._links:
            self.body.addWidget(button)
        self.body.addWidget(self._button_row)
        self._theme.follow(self._keep_room_for_buttons)
        order = [*self.size_field.controls, *self.frequency_field.controls]
        order += [self.pattern.choice.combo, self.pattern.own.edit, self.pattern.preview]
        order += [self.algorithm.choice.combo, self.more_button, *self.more.controls, *self._links]
        order += self.buttons.values()
        set_tab_order(*order)

    def _keep_room_for_buttons(self) -> None:
        """Reserves the width for the buttons of every state, so that a pause moves nothing."""
        widths = [
            sum(self.buttons[name].minimumSizeHint().width() + _BETWEEN_BUTTONS for name in names) - _BETWEEN_BUTTONS
            for names in _BUTTONS.values()
        ]
        self._button_row.setMinimumWidth(max(widths))

    @property
    def _links(self) -> tuple[QPushButton, ...]:
        return self.sample_button, self.anyway_button, self.continue_button

    @property
    def _parts(self) -> tuple[LimitField | PatternField | AlgorithmField, ...]:
        """What is always shown above More."""
        return self.size_field, self.frequency_field, self.pattern, self.algorithm

    def _fit(self) -> None:
        """Leaves help to the tool tips where the button More would not fit below it.

        The estimate and the link Continue come and go around a training. The help does not go with them, as controls
        would move: the room of both always counts as taken.
        """
        width, margins = self._fields.viewport().width(), self.body.contentsMargins()
        whole = self.widget().width() - margins.left() - margins.right()
        said = [label for label in (self.summary, self.unusual, self.outdated, self.reason) if not label.isHidden()]
        below = sum(_height(label, whole) + 2 for label in said) + self.forecast.fontMetrics().height()
        below += self.continue_button.sizeHint().height() + self._button_row.sizeHint().height()
        below += 3 * self.body.spacing()
        room = self.widget().height() - margins.top() - margins.bottom() - below
        # What an algorithm is for is always said, but for plain BPE.
        of_algorithm = [self.algorithm.choice] if self._training.settings.algorithm == _USUAL else []
        explained = [self.frequency_field, self.pattern.choice, *of_algorithm, self.size_field]
        shown = (self.size_field, self.frequency_field, self.pattern, self.algorithm.choice, self.more_button)
        least = sum(_height(widget, width) + _SPACING for widget in shown) - _SPACING
        least += sum(_height(field.note, width) + _ABOVE_NOTE for field in explained if field.note.isHidden())
        if self.pattern.caption.isHidden():
            # It counts before the first text is split, too.
            least += max(_height(self.pattern.caption, width), self.pattern.caption.fontMetrics().height())
            least += _ABOVE_CAPTION
        for field in explained:
            field.set_brief(least > room)
            least -= _height(field.note, width) + _ABOVE_NOTE if least > room else 0
        self.pattern.set_brief(least > room)

    def _connect(self) -> None:
        for field in (*self._parts, self.more):
            field.changed.connect(self._take_over)
        self.more.reset_asked.connect(self._reset)
        self._actions["more_settings"].toggled.connect(self._show_more)
        self._show_more(self._actions["more_settings"].isChecked())
        self._actions["more_settings"].toggled.connect(self._come_to_more)
        self._training.settings_changed.connect(self._show_settings)
        self._corpus.sources_changed.connect(self._show_sources)
        self._corpus.weights_settled.connect(self._show_sources)
        self.algorithm.refresh_asked.connect(self._show_sources)
        self._corpus.statistics_changed.connect(self._explain)
        self._corpus.outdated_changed.connect(self._explain)
        self._training.forecast_changed.connect(self._explain)
        self.pattern.problem_changed.connect(self._tell_field_problem)
        self._training.state_changed.connect(self._refresh)
        self._runs.changed.connect(self._refresh)
        # Hidden help has the new font after the pane has its new size.
        self._theme.follow(self._fit)

    def _make_more_button(self, action: QAction) -> QToolButton:
        button = named(QToolButton(toolButtonStyle=Qt.ToolButtonStyle.ToolButtonTextBesideIcon), "More settings")
        button.setText("More")
        button.setCheckable(True)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        button.setToolTip(MORE_TIP)
        button.clicked.connect(action.trigger)
        return button

    def _button(self, action: QAction, text: str, primary: bool) -> QPushButton:
        button = QPushButton(text)
        button.setProperty("primary", primary)
        button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        button.setToolTip(action.statusTip())
        button.clicked.connect(action.trigger)
        return button

    # ---- settings

    def _take_over(self) -> None:
        algorithm = self._training.settings.algorithm
        limits = {"vocabulary_size": self.size_field.value, "min_frequency": self.frequency_field.value}
        settings = replace(self._training.settings, **limits, pattern=self.pattern.value)
        self._training.set_settings(self.algorithm.taken_over(self.more.taken_over(settings)))
        if self._training.settings.algorithm != algorithm:
            # The fields of the chosen algorithm have appeared below its choice.
            self._fields.keep_visible(self.algorithm)

    def _reset(self) -> None:
        self._training.set_settings(self._training.defaults)

    def _show_more(self, shown: bool) -> None:
        self.more_button.setChecked(shown)
        self.more_button.setArrowType(Qt.ArrowType.DownArrow if shown else Qt.ArrowType.RightArrow)
        self.more.setVisible(shown)
        self._explain()

    def arrive(self, part: str) -> None:
        """Comes to the settings under More, which are opened, where these are asked for."""
        if part == "more":
            if not self._actions["more_settings"].isChecked():
                self._actions["more_settings"].trigger()
            self._come_to_more(True)

    def _come_to_more(self, shown: bool) -> None:
        # At the start it opens as it was closed; the user has not asked to see it.
        asked = shown and self.isVisible()
        self._fields.bring_to_top(self.more_button if asked else self.size_field)

    def _show_settings(self) -> None:
        settings = self._training.settings
        self.size_field.set_value(settings.vocabulary_size)
        self.frequency_field.set_value(settings.min_frequency)
        self.more.show_settings(settings, self._training.defaults)
        faults = settings.faults
        self.size_field.set_error(faults.get("vocabulary_size"))
        self.frequency_field.set_error(faults.get("min_frequency"))
        self.pattern.set_error(faults.get("pattern"))
        self.pattern.set_value(settings.pattern)
        self.algorithm.show_settings(settings)
        self.pattern.setVisible(settings.has("pattern"))
        self.frequency_field.setVisible(settings.has("min_frequency"))
        if settings.algorithm != _USUAL:
            self.algorithm.choice.set_brief(False)
        self._show_sources()
        self._explain()

    def _show_sources(self) -> None:
        self.more.show_corpus(self._training.settings, self._corpus.current)
        self.algorithm.show_corpus(self._training.settings, self._corpus.current)
        self.size_field.set_help(size_help(self._training.settings, self._corpus.current.bytes))
        self._tell_field_problem()

    def _tell_field_problem(self) -> None:
        of_pattern = "" if self._training.settings.by_library else self.pattern.problem
        problem = of_pattern or self.more.corpus_problem or self.algorithm.corpus_problem
        self._training.set_field_problem(problem)
        self._explain()

    def _explain(self) -> None:
        """Shows above Train the error of the settings, or else a summary of them."""
        settings, forecast = self._training.settings, self._training.forecast
        missing = forecast if forecast is not None and isinstance(forecast.cause, MissingCharacterError) else None
        self.more.show_missing(missing.problem if missing is not None else None)
        problem = self._problem
        if problem:
            _tell(self.summary, self._what_to_mend or problem, "error")
        else:
            statistics = self._corpus.statistics
            _tell(self.summary, limit_words(settings, statistics and statistics.distinct_characters), "muted")
        _tell(self.unusual, "" if problem or self.more_button.isChecked() else unusual_words(settings), "muted")
        unread = {} if problem else {one: word for one, word in self._corpus.outdated.items() if not is_missing(one)}
        _tell(self.outdated, outdated_words(unread), "muted")
        fits = not problem and forecast is not None and forecast.fits
        _tell(self.forecast, forecast_text(forecast) if forecast is not None and fits else "", "muted")
        size = self._training.sample_size if settings.problem is None and not self._training.busy else None
        if size is not None:
            self.sample_button.set_full_text(f"Train on a sample of {size_text(size)}")
        self.sample_button.setVisible(size is not None)
        self.anyway_button.setVisible(self._training.lacks_memory_alone)

    @property
    def _problem(self) -> str:
        """The error of the settings, or of the settings with this corpus; "" if there is none."""
        # Missing memory for the whole corpus is irrelevant while another training runs.
        forecast = None if self._training.busy else self._training.forecast
        foreseen = forecast.problem if forecast is not None else ""
        return self._training.settings.problem or self._training.field_problem or foreseen

    @property
    def _what_to_mend(self) -> str:
        """Names the field with the error, or the corpus; "" if no visible field has one.

        Also "" at the choice of the algorithm if the settings are wrong: the error itself says what to mend.
        """
        fields: dict[str, Field] = {
            "vocabulary_size": self.size_field,
            "min_frequency": self.frequency_field,
            "pattern": self.pattern.own,
            **self.algorithm.named,
        }
        if self.more_button.isChecked():
            fields |= self.more.named
        wrong = (name for name, field in fields.items() if field.is_invalid and not field.isHidden())
        name = next(wrong, "algorithm")
        if name != "algorithm":
            return f"Fix the {SETTINGS[name].words}."
        return "Change the corpus, or choose another algorithm." if self.algorithm.corpus_problem else ""

    # ---- training

    def _refresh(self) -> None:
        state, obstacle = self._training.state, self._training.obstacle
        shown = _BUTTONS[state] if self._training.by_library is None else ("stop",)
        had_focus = any(button.hasFocus() for button in (*self.buttons.values(), self.continue_button))
        for name, button in self.buttons.items():
            button.setVisible(name in shown)
        self._refresh_continue()
        tip = obstacle or "Train a tokenizer on the corpus"
        self.buttons["train"].setEnabled(obstacle is None)
        self.buttons["train"].setToolTip(plain(tip))
        self.buttons["train"].setAccessibleDescription(tip)
        # The error is shown already.
        is_shown = obstacle in (None, self._problem) or self._training.busy
        _tell(self.reason, "" if is_shown else str(obstacle), "muted")
        self._explain()
        if had_focus and not any(button.hasFocus() for button in self.buttons.values()):
            self.buttons[shown[0]].setFocus()

    def _refresh_continue(self) -> None:
        run, settings = self._runs.active, self._training.settings
        if self._training.state != "idle" or run is None or not self._training.can_continue(run):
            self.continue_button.hide()
            return
        size, frequency = settings.vocabulary_size, settings.min_frequency
        goal = f"{size:,} tokens" if size is not None else f"frequency {frequency:,}"
        self.continue_button.set_full_text(f"Continue {run.name} to {goal}")
        self.continue_button.show()


class _ElidedButton(Fitting, QPushButton):
    """A quiet button that shortens its text to its width."""

    def __init__(self, action: QAction) -> None:
        super().__init__()
        self._full = ""
        self.clicked.connect(action.trigger)
        self.setProperty("link", True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.hide()

    def set_full_text(self, text: str) -> None:
        """Sets the text; the tool tip has all of it."""
        self._full = text
        self.setToolTip(plain(text))
        self.setAccessibleName(text)
        self.fit()

    def fit(self) -> None:
        shown = self.fontMetrics().elidedText(self._full, Qt.TextElideMode.ElideMiddle, self.width() - 12)
        self.setText(shown.replace("&", "&&"))


def _tell(label: QLabel, text: str, role: str) -> None:
    set_role(label, role)
    label.setText(text)
    label.setVisible(bool(text))


def _height(widget: QWidget, width: int) -> int:
    return widget.heightForWidth(width) if widget.hasHeightForWidth() else widget.sizeHint().height()
