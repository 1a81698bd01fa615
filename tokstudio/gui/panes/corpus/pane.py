"""The Corpus pane: the sources, their statistics, a preview of the selected one, and the mixture.

The session reads and counts them in the background.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from weakref import WeakKeyDictionary

from PySide6.QtCore import QEvent, QModelIndex, QPoint, Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import QAction, QActionGroup, QHideEvent, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.corpus.statistics import Statistics, statistics_work
from tokstudio.core.text.encodings import ENCODINGS
from tokstudio.gui.panes.corpus import views
from tokstudio.gui.panes.corpus.mixture import Mixture, TemperatureDialog
from tokstudio.gui.session.common.jobs import Job, LatestJob
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import CHANGED, GONE, Problem, is_data_set, is_missing
from tokstudio.gui.state.training_plans import has_mixture
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets import layouts
from tokstudio.gui.widgets.fields import say
from tokstudio.gui.widgets.labels import Caption, ElidedLabel, in_a_sentence, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, TallBody, column, row, stacked
from tokstudio.gui.widgets.menus import Menu, link_button, push_button, tool_button
from tokstudio.gui.widgets.pane import EmptyState, HeaderTabs, Pane

# --- A list of error messages that stay until they are dismissed or solved --------------------------------------------

_SHOWN = 3
#: What can be done about some problems: the text of the button, its accessible name, and the file.
_WAYS: tuple[tuple[str, str, Callable[[Problem], Path | None]], ...] = (
    ("Read as Bytes", "Read {} as bytes", lambda problem: problem.binary),
    ("Keep What Was Whole", "Keep what was whole of {}", lambda problem: problem.truncated),
    ("Read as Plain Text", "Read {} as plain text", lambda problem: problem.no_column),
)


class ProblemList(QWidget):
    """Shows the newest three problems and the number of the others; hidden if empty. Escape dismisses all."""

    bytesAsked = Signal(object)  # the user wants to read a binary file as bytes (its path)
    wholeAsked = Signal(object)  # the user wants to read what is whole of a truncated file (its path)
    textAsked = Signal(object)  # the user wants to read a data set without text as plain text (its path)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._problems: list[Problem] = []
        self._rows = [_Row(theme) for _ in range(_SHOWN)]
        self._more = plain_label("muted")
        self._dismiss_all = link_button("Dismiss all", self.clear)
        self._last = QWidget()
        row((self._more, 1), self._dismiss_all, parent=self._last)
        column(*self._rows, self._last, spacing=2, parent=self)
        for number, one in enumerate(self._rows):
            one.close_button.clicked.connect(partial(self._dismiss, number))
            for way, asked in enumerate((self.bytesAsked, self.wholeAsked, self.textAsked)):
                one.buttons[way].clicked.connect(partial(self._ask, number, way, asked))
        self._escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), self)
        # Another message of the window may use the same key: whichever is visible is closed.
        for signal in (self._escape.activated, self._escape.activatedAmbiguously):
            signal.connect(self.clear)
        self.setAccessibleName("Problems")
        self._show()

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems that are not dismissed, the newest first."""
        return tuple(problem.text for problem in self._problems)

    def add(self, problem: Problem) -> None:
        """Adds a problem at the top; it replaces one with the same text or the same file."""
        others = [one for one in self._problems if one.text != problem.text]
        self._problems = [problem, *(one for one in others if one.path is None or one.path != problem.path)]
        self._show()

    def mend(self, paths: Collection[Path | None]) -> None:
        """Removes the problems of these files; None stands for problems without a file."""
        self._problems = [problem for problem in self._problems if problem.path not in paths]
        self._show()

    def clear(self) -> None:
        """Dismisses all."""
        self._problems = []
        self._show()

    def _dismiss(self, number: int) -> None:
        del self._problems[number]
        self._show()

    def _ask(self, number: int, way: int, asked: SignalInstance) -> None:
        asked.emit(_WAYS[way][2](self._problems[number]))

    def _show(self) -> None:
        for number, one in enumerate(self._rows):
            one.show_problem(self._problems[number] if number < len(self._problems) else None)
        more = len(self._problems) - _SHOWN
        self._more.setText(f"and {more:,} more")
        self._last.setVisible(more > 0)
        self._escape.setEnabled(bool(self._problems))
        self.setVisible(bool(self._problems))


class _Row(QWidget):
    """One sentence, what can be done below it, and the button that dismisses it."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._label = plain_label("error")
        self._label.setWordWrap(True)
        self._label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.buttons = [QPushButton(text) for text, _, _ in _WAYS]
        for button in self.buttons:
            button.setProperty("link", True)
        self.close_button = tool_button("Dismiss (Esc dismisses all)", icon("close", theme, "muted"), name="Dismiss")
        top = Qt.AlignmentFlag.AlignTop
        # Beside the sentence, a button would leave it no room in a narrow pane.
        column_of_row = column(self._label, row(*self.buttons, STRETCH), spacing=2)
        row((column_of_row, 1), (self.close_button, top), spacing=4, parent=self)

    def show_problem(self, problem: Problem | None) -> None:
        """Shows a problem; None hides the row."""
        if problem is not None:
            say(self._label, in_a_sentence(problem.text), "muted" if problem.remark else "error")
            name = problem.path.name if problem.path is not None else ""
            for button, (_, words, file) in zip(self.buttons, _WAYS, strict=True):
                button.setVisible(file(problem) is not None)
                button.setAccessibleName(words.format(name))
            self.close_button.setAccessibleName(f"Dismiss: {problem.text}")
        # Only now: all buttons together would make the pane wider.
        self.setVisible(problem is not None)


_EMPTY = "The text a tokenizer learns from. Open files, drop them on the window, paste, or choose a sample."
_SAMPLES = ("sample_article", "sample_scripts", "sample_python", "sample_rubbish")
_TABS = {"Sources": "The sources, their statistics, and a preview of one", "Mixture": "How much each source counts"}
_CHECK = 5000  # milliseconds between two checks of the files


class CorpusPane(Pane):
    """The list of sources, the statistics of all, and a preview of one."""

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("corpus", "Corpus")
        self._jobs, self._corpus, self._exploring = session.jobs, session.corpus, session.exploring
        self._refilling = False  # whether rows are selected that the user has not chosen
        self._theme = theme
        self._actions = actions
        self._checking: Job | None = None
        self._chosen: dict[Path, str] = {}  # encodings that the user chose for reading again
        self._previewed: Source | None = None
        self._make_header()
        self.problems = ProblemList(theme)
        self.source_list = views.SourceList(theme)
        self.statistics = views.StatisticsTable(theme)
        self._of_sources: WeakKeyDictionary[Source, Statistics] = WeakKeyDictionary()
        take, fail = self._take_statistics, session.jobs.report
        self._counting = LatestJob(session.jobs, self, take, fail, quiet=True, asked=False)
        self.whose = Caption()
        self.caption = Caption()
        for caption in (self.whose, self.caption):
            caption.setContentsMargins(views.TEXT_INSET, 0, views.TEXT_INSET, 0)
        self.preview = views.Preview()
        self.left_out = ElidedLabel("muted")
        self.put_back = link_button("Leave Nothing Out", actions["leave_nothing_out"].trigger)
        self._left_out = QWidget()
        row((self.left_out, 1), self.put_back, spacing=8, margins=(views.TEXT_INSET, 0, 0, 0), parent=self._left_out)
        self._left_out.hide()
        facts, content = QWidget(), QWidget()
        body = TallBody(facts)
        self.preview.line_reached.connect(body.ensureVisible)
        column(self.whose, self.statistics, self.caption, self.preview, STRETCH, spacing=8, parent=facts)
        # The list has its own scroll bar where it is long, so it is beside the scrolling part and not in it.
        column(self.source_list, self._left_out, (body, 1), spacing=8, parent=content)
        self.mixture = Mixture(session, theme, actions)
        self._stack = stacked(TallBody(self._make_empty_state()), content, TallBody(self.mixture))
        self.tabs = HeaderTabs("Sources or mixture", _TABS)
        self.tabs.currentChanged.connect(self._show_page)
        self.body.addWidget(self.problems)
        self.body.addLayout(layouts.row(self.tabs, STRETCH, self.mixture.button))
        self.body.addWidget(self._stack, 1)

        self._clock = QTimer(self, interval=_CHECK)
        self._clock.timeout.connect(self._check_if_seen)
        self._connect()
        self._show_sources()
        self._show_statistics()

    def event(self, event: QEvent) -> bool:
        """Checks the files when the user comes back to the window."""
        if event.type() == QEvent.Type.WindowActivate:
            self._check_files()
        return super().event(event)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._clock.start()
        self._show_preview()
        self._show_statistics()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._clock.stop()

    def arrive(self, part: str) -> None:
        """Shows the mixture if that is asked for, or says what it needs."""
        if part == "mixture" and not has_mixture(self._corpus.sources):
            self._jobs.refuse("A mixture needs two sources: add another text to the corpus.")
        elif part == "mixture":
            self.tabs.setCurrentIndex(1)

    def _make_header(self) -> None:
        menu = Menu(self)
        for key in ("open_corpus", "open_folder", "open_counts", "paste_corpus", "", *_SAMPLES):
            menu.addAction(self._actions[key]) if key else menu.addSeparator()
        self.add_button = tool_button("Add text to the corpus", icon("add", self._theme), "Add", menu=menu)
        tip = "Remove the selected sources"
        drawing = icon("remove", self._theme)
        self.remove_button = tool_button(f"{tip} (Del)", drawing, name=tip, clicked=self.remove_selected)
        self.header.addWidget(self.add_button)
        self.header.addWidget(self.remove_button)

    def _make_empty_state(self) -> QWidget:
        first, *samples = (self._actions[key] for key in ("open_corpus", *_SAMPLES))
        kinds = [(push_button, first), *((link_button, action) for action in samples)]
        buttons = (make(one.text().replace("&", ""), one.trigger, one.statusTip()) for make, one in kinds)
        empty = EmptyState(_EMPTY, *buttons)
        layout = empty.layout()
        if layout is not None:
            layout.setContentsMargins(0, 0, 0, 0)
            layout.setSpacing(6)
        return empty

    def _connect(self) -> None:
        self.source_list.removeAsked.connect(self.remove_selected)
        self.source_list.clicked.connect(self._clicked)
        self.source_list.customContextMenuRequested.connect(self._show_menu)
        self.source_list.selectionModel().currentRowChanged.connect(self._show_preview)
        self.source_list.selectionModel().selectionChanged.connect(self._selection_changed)
        self._corpus.sources_changed.connect(self._show_sources)
        self._corpus.statistics_changed.connect(self._show_statistics)
        self._corpus.left_out_changed.connect(self._show_left_out)
        self._corpus.problem.connect(self.problems.add)

    def _show_sources(self) -> None:
        model, sources = self.source_list.sources_model, self._corpus.sources
        sources_before, rows = model.sources, self.source_list.selected_rows()
        self._refilling = True
        model.set_sources(sources)
        self._mend_problems(sources_before, sources)
        if len(sources) > len(sources_before) and sources[: len(sources_before)] == sources_before:
            rows = [len(sources_before)]
        elif len(sources) < len(sources_before):
            places = {source: row for row, source in enumerate(sources)}
            kept = [places[sources_before[row]] for row in rows if sources_before[row] in places]
            rows = kept or [min(rows[0] if rows else 0, len(sources) - 1)]
        self.source_list.select_rows([row for row in rows if 0 <= row < len(sources)] or [0])
        self._refilling = False
        model.set_left_out(self._corpus.remaining, self._corpus.left_out_texts())
        self.source_list.fit()
        self.mixture.show_sources()
        self._show_page()
        self.remove_button.setVisible(bool(sources))
        self._show_preview()
        self._show_statistics()
        self._show_left_out()

    def _show_left_out(self) -> None:
        """Says what is left out of all sources."""
        corpus = self._corpus
        amount = f"Left out: {corpus.left_out_text or 'nothing'}"
        self.left_out.setText("Leaving text out…" if corpus.is_leaving_out else amount)
        self.put_back.setVisible(not corpus.is_leaving_out)
        self._left_out.setVisible(corpus.is_leaving_out or corpus.reduced is not None)

    def _show_page(self) -> None:
        sources = self._corpus.sources
        mixed = has_mixture(sources)
        if not mixed:
            self.tabs.setCurrentIndex(0)
        self.tabs.setVisible(mixed)
        self.mixture.button.setVisible(mixed and self.tabs.currentIndex() == 1)
        self._stack.setCurrentIndex(self.tabs.currentIndex() + 1 if sources else 0)

    def _mend_problems(self, sources_before: tuple[Source, ...], sources: tuple[Source, ...]) -> None:
        """Removes problems that are solved: files that were read again or removed, and all of a replaced corpus."""
        if sources_before and set(map(_origin, sources_before)).isdisjoint(map(_origin, sources)):
            self.problems.clear()
        if changed := set(sources_before) ^ set(sources):
            # Problems without a file, as with the clipboard, are irrelevant after text was added.
            self.problems.mend({None, *(source.path for source in changed)})

    def _show_statistics(self) -> None:
        """Shows the facts of the source that is chosen; of several or none, those of all."""
        rows, sources = self.source_list.selected_rows(), self._corpus.remaining
        several_sources = len(sources) > 1
        self.whose.setVisible(several_sources)
        if several_sources and len(rows) == 1 and rows[0] < len(sources):
            source = sources[rows[0]]
            left_out = f"left out: {self._corpus.left_out_texts()[rows[0]] or 'nothing'}"
            self.whose.say(f"Of {source.name}", [left_out] if self._corpus.reduced is not None else [])
            known, corpus = self._of_sources.get(source), Corpus((source,))
            self.statistics.show_corpus(corpus, known)
            if known is None and self.isVisible():
                self._counting.run(partial(_statistics_work, source))
            return
        self._counting.cancel()
        self.whose.say(f"Of all {len(sources):,} sources")
        self.statistics.show_corpus(self._corpus.current, self._corpus.statistics)

    def _take_statistics(self, counted: tuple[Source, Statistics]) -> None:
        self._of_sources[counted[0]] = counted[1]
        self._show_statistics()

    def _show_preview(self) -> None:
        source = self._current()
        if not self.isVisible():
            # A removed source is released at once, even in a hidden pane.
            source = self._previewed if self._previewed in self._corpus.remaining else None
        if source is self._previewed:
            return
        self._previewed = source
        self._show_caption()
        self.preview.show_source(source)

    def _show_caption(self) -> None:
        source = self._current()
        if source is None:
            self.caption.say("")
            return
        source = self._corpus.whole(source)
        remarks = [views.read_text(source), source.note if source.counts is None else ""]
        if is_missing(source):
            remarks = ["not found when the project was opened"]
        elif source in self._corpus.outdated:
            remarks.append(views.outdated_text(self._corpus.outdated[source]))
        self.caption.say(source.name, remarks)

    def _selection_changed(self) -> None:
        rows = self.source_list.selected_rows()
        self.remove_button.setEnabled(bool(rows))
        self._show_statistics()
        self._show_preview()
        if self.source_list.hasFocus() and not self._refilling:
            self._limit()

    def _limit(self) -> None:
        self._exploring.limit([self._corpus.remaining[row] for row in self.source_list.selected_rows()])

    def _current(self) -> Source | None:
        """The source that is selected alone, as its figures are shown, else that with the keyboard."""
        rows = self.source_list.selected_rows()
        row = rows[0] if len(rows) == 1 else self.source_list.currentIndex().row()
        return self._corpus.remaining[row] if 0 <= row < len(self._corpus.remaining) else None

    def remove_selected(self) -> None:
        """Removes the selected sources from the corpus."""
        if rows := self.source_list.selected_rows():
            self._corpus.remove_sources(rows)

    def ask_temperature(self) -> None:
        """Asks for the exponent of By Temperature."""
        TemperatureDialog(self._corpus, self._theme, self).show()

    def _clicked(self, index: QModelIndex) -> None:
        if index.column() == views.RELOAD and self.source_list.sources_model.is_changed(index.row()):
            self._reload([index.row()])
        else:
            # Also where the row was selected already, and nobody had chosen it.
            self._limit()

    def _reload(self, rows: list[int]) -> None:
        for number in rows:
            path = self._corpus.sources[number].path
            if path is not None:
                self._corpus.reread(number, self._chosen.get(path))

    def reload_selected(self) -> None:
        """Reads the selected files again, each in its encoding."""
        self._reload(self.source_list.selected_rows())

    def _encoding_picked(self, action: QAction) -> None:
        rows = self._decoded_rows()
        paths = [path for number in rows if (path := self._corpus.sources[number].path) is not None]
        self._chosen = {path: encoding for path, encoding in self._chosen.items() if path not in paths}
        encoding: str | None = action.data()
        if encoding is not None:
            self._chosen |= dict.fromkeys(paths, encoding)
        self._reload(rows)

    def selected_sources(self) -> list[Source]:
        """The selected sources, in their order."""
        return [self._corpus.sources[row] for row in self.source_list.selected_rows()]

    def _decoded_rows(self) -> list[int]:
        """The selected rows whose files can be read in another encoding, as text files can."""
        selected = [(row, self._corpus.sources[row]) for row in self.source_list.selected_rows()]
        return [row for row, source in selected if source.path is not None and source.counts is None]

    def _show_menu(self, point: QPoint) -> None:
        if (menu := self.make_menu()) is not None:
            menu.popup(self.source_list.viewport().mapToGlobal(point))

    def make_menu(self) -> QMenu | None:
        """Returns the menu of the selected sources; None without a selection."""
        rows = self.source_list.selected_rows()
        if not rows:
            return None
        menu = Menu(self.source_list)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        reload = menu.addAction("Reload", self.reload_selected)
        reload.setVisible(any(self.source_list.sources_model.is_changed(row) for row in rows))
        if any(map(is_data_set, self.selected_sources())):
            menu.addAction(self._actions["change_columns"])
        if self._decoded_rows():
            self.add_encodings(menu.add_menu("Encoding"))
        menu.addAction("Remove", self.remove_selected)
        menu.addSeparator()
        menu.addAction(self._actions["clear_corpus"])
        return menu

    def add_encodings(self, menu: QMenu) -> None:
        """Fills a menu with the encodings for the selected files; without a selection it stays empty."""
        used = {self._corpus.sources[row].encoding for row in self._decoded_rows()}
        if not used:
            menu.addAction("No file is selected").setEnabled(False)
            return
        group = menu.findChild(QActionGroup)
        if group is None:
            group = QActionGroup(menu)
            group.triggered.connect(self._encoding_picked)
        for encoding in (None, *ENCODINGS):
            action = menu.addAction("Detect" if encoding is None else views.encoding_text(encoding))
            action.setData(encoding)
            action.setCheckable(encoding is not None)
            action.setChecked(used == {encoding})
            group.addAction(action)
            if encoding is None:
                menu.addSeparator()

    # ---- files that change

    def _check_if_seen(self) -> None:
        if self.isActiveWindow():
            self._check_files()

    def _check_files(self) -> None:
        sources = [source for source in self._corpus.sources if source.path is not None]
        if self._checking is None and sources:
            # In the background, as a network disk may be slow.
            self._checking = self._jobs.start(lambda: _outdated_work(sources), self._files_checked, quiet=True)
            self._checking.ended.connect(self._check_ended)

    def _files_checked(self, outdated: dict[Source, str]) -> None:
        self._corpus.set_outdated(outdated)
        self.source_list.sources_model.set_changed(self._corpus.outdated)
        self.source_list.fit()
        self._show_caption()

    def _check_ended(self) -> None:
        self._checking = None


def _origin(source: Source) -> Path | str:
    return source.path or source.name


def _statistics_work(source: Source) -> Work[tuple[Source, Statistics]]:
    return source, (yield from statistics_work(Corpus((source,))))


def _outdated_work(sources: list[Source]) -> Work[dict[Source, str]]:
    outdated: dict[Source, str] = {}
    for number, source in enumerate(sources):
        if source.changed_on_disk():
            outdated[source] = GONE if source.gone_from_disk() else CHANGED
        yield Progress("looking at files", number, len(sources))
    return outdated
