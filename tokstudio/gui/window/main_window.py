"""The main window: combines panes, menus and tool bar, and remembers their layout."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import QByteArray, QEvent, QSize, Qt, QTimer, QUrl, SignalInstance
from PySide6.QtGui import (
    QActionGroup,
    QCloseEvent,
    QDesktopServices,
    QDragEnterEvent,
    QDropEvent,
    QGuiApplication,
    QKeyEvent,
)
from PySide6.QtWidgets import QApplication, QMainWindow, QPushButton, QTabWidget, QToolButton, QWidget

from tokstudio.core.model.algorithms import TieBreak
from tokstudio.gui.commands.actions import build_actions, build_menus, refresh_actions
from tokstudio.gui.commands.commands import Commands
from tokstudio.gui.commands.compare_commands import CompareCommands
from tokstudio.gui.commands.dialogs import Dialogs
from tokstudio.gui.commands.export_commands import ExportCommands
from tokstudio.gui.commands.open_commands import OpenCommands, is_link
from tokstudio.gui.commands.registry import list_actions
from tokstudio.gui.commands.surgery_commands import SurgeryCommands
from tokstudio.gui.find.finder import Finder
from tokstudio.gui.project.autosave import Recovery
from tokstudio.gui.project.document import ProjectDocument
from tokstudio.gui.project.experiment import ExperimentFiles
from tokstudio.gui.session import preferences as entries
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import Problem
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Mode, Theme
from tokstudio.gui.tour.stops import Stage
from tokstudio.gui.tour.tour import Tour
from tokstudio.gui.widgets.card import Strips
from tokstudio.gui.widgets.file_dialogs import Choosers, dropped_paths
from tokstudio.gui.widgets.labels import WordAsked, word_of
from tokstudio.gui.widgets.layouts import after_tab, in_tab_order
from tokstudio.gui.widgets.menus import Menu
from tokstudio.gui.widgets.pane import Pane
from tokstudio.gui.window.about import AboutDialog, ShortcutsDialog
from tokstudio.gui.window.dock_layout import Arrangement, last_workspace
from tokstudio.gui.window.message_bar import Flash, MessageBar, RecoveryCard
from tokstudio.gui.window.pane_headers import PaneHeaders
from tokstudio.gui.window.panes import KINDS, PaneMaker
from tokstudio.gui.window.preferences import PreferencesDialog
from tokstudio.gui.window.status_bar import StatusLine
from tokstudio.gui.window.tool_bar import RecentEntries, ToolBar
from tokstudio.gui.window.workspaces import WORKSPACES

if TYPE_CHECKING:
    from tokstudio.gui.panes.compare.pane import ComparePane
    from tokstudio.gui.panes.compression.pane import CompressionPane
    from tokstudio.gui.panes.configure.pane import ConfigurePane
    from tokstudio.gui.panes.corpus.pane import CorpusPane
    from tokstudio.gui.panes.distribution import DistributionPane
    from tokstudio.gui.panes.explore.pane import ExplorePane
    from tokstudio.gui.panes.guide import GuidePane
    from tokstudio.gui.panes.merges import MergesPane
    from tokstudio.gui.panes.runs.pane import RunsPane, RunTable
    from tokstudio.gui.panes.sizes.pane import SizesPane
    from tokstudio.gui.panes.text.pane import TextPane
    from tokstudio.gui.panes.token.pane import TokenPane
    from tokstudio.gui.panes.vocabulary.pane import VocabularyPane
    from tokstudio.gui.panes.why.pane import WhyPane
    from tokstudio.gui.token_table.view import FollowTable

_HOW_BACK = "Press Esc, or double-click the title again, to show the other panes."
_SIZE = QSize(1440, 900)
_GUTTER = 8
_AT_ONCE = 2  # late panes, with their modules, so that the window answers in between
_AROUND = QSize(2 * _GUTTER, 48)  # the part of the screen that the title bar and borders need
# What the window itself connects.
_ALWAYS = ("compression", "text", "guide")


def _late(name: str) -> Any:  # noqa: ANN401  each attribute names its type
    """A pane of the window that is made when it is asked for, or soon after the start."""

    def pane(window: MainWindow) -> Pane:
        """It, made now if it is not there yet."""
        return window._pane_of(name)

    return property(pane)


class MainWindow(QMainWindow):
    """One window on a session."""

    compression: CompressionPane = _late("compression")
    text: TextPane = _late("text")
    guide: GuidePane = _late("guide")
    corpus: CorpusPane = _late("corpus")
    configure: ConfigurePane = _late("configure")
    distribution: DistributionPane = _late("distribution")
    compare: ComparePane = _late("compare")
    explore: ExplorePane = _late("explore")
    merges: MergesPane = _late("merges")
    vocabulary: VocabularyPane = _late("vocabulary")
    runs: RunsPane = _late("runs")
    sizes: SizesPane = _late("sizes")
    token: TokenPane = _late("token")
    why: WhyPane = _late("why")

    def __init__(
        self, session: Session, theme: Theme, preferences: Preferences, choosers: Choosers | None = None
    ) -> None:
        super().__init__()
        self.session, self.theme, self.preferences = session, theme, preferences
        self._choosers = choosers or Choosers(self)
        room = self._set_up_frame()

        self.projects = ProjectDocument(session, preferences, self._choosers, self, self)
        self.recovery = Recovery(session, self.projects, self._choosers, self, self)
        self.experiments = ExperimentFiles(
            session, preferences, self._choosers, lambda *plans: self.dialogs.show_train_several(*plans), self
        )
        self.dialogs = Dialogs(session, theme, preferences, self._choosers, self.experiments.save_plans, self)
        self.opening = OpenCommands(session, preferences, self._choosers, self, self.projects, self.experiments, self)
        self.exporting = ExportCommands(session, preferences, self._choosers, self, self)
        self.comparing = CompareCommands(session, preferences, self._choosers, self, self)
        self.surgery = SurgeryCommands(session, theme, preferences, self._choosers, self, self)
        self.commands = Commands(session, theme, preferences, self._choosers, self, self)
        files = self.projects, self.experiments
        others = self.opening, self.exporting, self.comparing, self.surgery, self.commands
        self._actions = list_actions(session, theme, preferences, self, *files, *others)
        self.actions_by_id = build_actions(self._actions, theme, self)
        self._made: dict[str, Pane] = {}  # the panes that are placed
        self._late: list[Pane] = []  # those that the start has left out, made and not placed yet
        self._maker = PaneMaker(
            session, theme, self.actions_by_id, preferences, self.opening, self.commands, self._list_lengths
        )
        with theme.sheet_at_end():
            self._make_panes()
        self.status = StatusLine(session, theme)
        self.setStatusBar(self.status)
        self.notices, self.strips = self.status.notice, Strips(self)
        self.unsaved_work = RecoveryCard(theme, self.strips)
        self.messages = MessageBar(theme, self.strips)
        self.finder = Finder(session, theme, self)
        self.toolbar = ToolBar(self.actions_by_id, theme, self.finder.box)
        self.addToolBar(Qt.ToolBarArea.TopToolBarArea, self.toolbar)
        self._make_menus()
        self.places = Arrangement(self, KINDS, self._pane_of, room, session.jobs.pauses.resized)
        of_pane = [self.actions_by_id[name] for name in ("maximise_pane", "float_pane")]
        self.headers = PaneHeaders(self, self.places, of_pane)
        for pane in self._made.values():
            self._place(pane)
        self.tour = self._make_tour()
        self.flash = Flash(theme, self)
        self._connect()
        self._restore()
        self._refresh()
        for signal in (*self._changes, session.jobs.begun):
            signal.connect(self.make_rest)

    # ---- the interface for actions

    def show_file(self, path: Path) -> bool:
        """Shows a file in the system's file manager; returns whether that worked."""
        return self._choosers.show_file(path)

    def focus_filter(self) -> None:
        """Moves the focus to the filter of the table that is shown."""
        if all(table.visibleRegion().isEmpty() for table in (self.vocabulary, self.merges)):
            self.places.give_back()
        shown = self.vocabulary if not self.vocabulary.visibleRegion().isEmpty() else self.merges
        self.places.open(shown)
        shown.focus_filter()

    def show_compare(self) -> None:
        """Shows the pane that compares tokenizers."""
        self.places.open(self.compare)

    def show_search(self) -> None:
        """Shows the search in the corpus."""
        self.places.open(self.explore)
        self.explore.arrive("search")

    def show_why(self) -> None:
        """Shows the pane that explains a merge."""
        self.places.open(self.why)

    def show_why_not(self) -> None:
        """Explains why the selected text is not one token."""
        self.places.open(self.text)
        self.text.ask_why_not()

    def show_steps(self) -> None:
        """Moves the focus to the steps of the text's encoding."""
        self.places.open(self.text)
        self.text.step_through()

    def arrangement(self) -> str:
        """The layout of the panes."""
        self.make_rest()
        return bytes(self.places.state().toBase64().data()).decode("ascii")

    def arrange(self, layout: str) -> None:
        """Restores a layout."""
        self.make_rest()
        self.places.restore(QByteArray.fromBase64(layout.encode("ascii", "replace")))

    def reset_layout(self) -> None:
        """Restores the default layout of the workspace."""
        self.places.reset()

    def show_workspace(self, name: str) -> None:
        """Changes to a workspace."""
        self.places.enter(name)
        # After it is drawn: writing the file takes 20 ms.
        QTimer.singleShot(0, self, self.remember)

    def leave_workspace(self) -> None:
        """Goes back to the workspace that was left last."""
        self.show_workspace(self.places.came_from)

    def no_workspace_left(self, session: Session) -> str | None:
        """Why there is no workspace to go back to; None where there is one."""
        return None if self.places.came_from else "No other workspace was left since the start."

    def maximise_pane(self) -> None:
        """Lets the pane with the focus fill the window, or restores the layout."""
        if not self.headers.maximise():
            self.status.say("No pane is open.")
        self._show_places()

    def float_pane(self) -> None:
        """Makes the pane with the focus a window of its own, or puts it back."""
        if not self.headers.float():
            self.status.say("No pane is open.")

    def show_preferences(self) -> None:
        """Opens the page of preferences, which applies at once."""
        PreferencesDialog(self.preferences, self.theme, self._choosers, self).open()

    def show_guide(self) -> None:
        """Opens the guide: at the word that the focused field is about, or at the page that was read last."""
        if key := word_of(QApplication.focusWidget()):
            self.explain(key)
            return
        self._open_guide()

    def show_glossary(self) -> None:
        """Opens the glossary."""
        self.explain("")

    def explain(self, key: str) -> None:
        """Opens a word of the glossary; "" for the first."""
        self._open_guide()
        self.guide.explain(key)

    def take_tour(self) -> None:
        """Starts the tour."""
        self.tour.start()

    def continue_tour(self) -> None:
        """Continues the tour where it was left."""
        self.tour.resume()

    def no_tour_to_continue(self, session: Session) -> str | None:
        """Why the tour cannot be continued, in a sentence; None if it can."""
        return None if self.tour.kept and not self.tour.running else "No tour was left before its end."

    def show_shortcuts(self) -> None:
        """Lists all keyboard shortcuts."""
        ShortcutsDialog(self.actions_by_id, self.theme, self).exec()

    def show_about(self) -> None:
        """Shows version and licence."""
        AboutDialog(self.theme, self).exec()

    # ---- construction

    def _set_up_frame(self) -> QSize:
        """Sets up what surrounds the panes, and gives the room of the screen for the window."""
        self.setWindowTitle("TokStudio")
        self.setWindowIcon(icon("tokstudio", self.theme))
        self.setAcceptDrops(True)
        # The window itself has the focus at first, so that no control looks selected.
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFocus()
        # Not animated: restoring a layout while docks still move leaves tab bars behind.
        self.setDockOptions(QMainWindow.DockOption.AllowNestedDocks | QMainWindow.DockOption.AllowTabbedDocks)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.setContentsMargins(_GUTTER, 0, _GUTTER, 0)
        room = _room(self)
        self.resize(_SIZE.boundedTo(self.screen().availableSize() - _AROUND))
        return room

    def _make_panes(self) -> None:
        """Makes the panes that the workspace shows at the start; `make_rest` makes the others."""
        workspace = WORKSPACES[last_workspace(self.preferences)]
        for name in dict.fromkeys((*_ALWAYS, *KINDS)):
            if name in _ALWAYS or name in workspace.panes - workspace.with_run:
                self._made[name] = self._maker.make(name)
        for name in filter(self._made.__contains__, KINDS):
            # Before the style sheet is applied: it would be computed again for a pane that gets its parent later.
            self._made[name].setParent(self)

    def make_some(self, number: int = _AT_ONCE) -> bool:
        """Makes some of the panes that the start has left out; False where there is none to make."""
        made = {*self._made, *(pane.objectName() for pane in self._late)}
        names = [name for name in KINDS if name not in made][:number]
        if names:
            with self.theme.sheet_at_end():
                for name in names:
                    self._late.append(self._maker.make(name))
                    self._late[-1].setParent(self)
        return bool(names)

    def make_rest(self) -> None:
        """Makes and places the panes that the start has left out.

        It is done before anything goes on: some do work for others, or keep what they were told.
        """
        if len(self._made) == len(KINDS):
            return
        self.make_some(len(KINDS))
        self._made |= {pane.objectName(): pane for pane in self._late}
        for pane in self._late:
            self._place(pane)
        self.places.complete()
        self._put_in_tab_order(self._late)
        self._late.clear()

    def _put_in_tab_order(self, late: Collection[Pane]) -> None:
        """Lets Tab go through the panes in their order, though some were made after others."""
        before: QWidget = self
        for pane in self.panes:
            for control in in_tab_order(pane):
                if pane in late:
                    self.setTabOrder(before, control)
                before = control

    def _pane_of(self, name: str) -> Pane:
        if name not in self._made:
            self.make_rest()
        return self._made[name]

    def _place(self, pane: Pane) -> None:
        self.places.add(pane)
        self.headers.add(pane)

    @property
    def panes(self) -> tuple[Pane, ...]:
        """All panes, in the order of the menu and of Tab."""
        self.make_rest()
        return tuple(self._made[name] for name in KINDS)

    def _make_tour(self) -> Tour:
        lit = (self.toolbar.train_button, self.toolbar.export_button, self.text, self._pane_of)
        workspaces = self.places.open, lambda: self.places.workspace, self.places.enter
        stage = Stage(self.session, *lit, self.actions_by_id, *workspaces, self.status.caption_changed)
        return Tour(self, stage, self.commands, self.preferences, self.theme)

    def _make_menus(self) -> None:
        menus = build_menus(self.menuBar(), self.actions_by_id)
        self.toolbar.export_button.setMenu(menus["Export"])
        clear = self.actions_by_id["clear_recent"]
        self.recent = RecentEntries(menus["Recent"], clear, self.preferences, self.theme, self.opening.open_recent)
        self._encoding_menu = menus["Encoding"]
        self._encoding_menu.aboutToShow.connect(self._fill_encodings)
        curves = menus["Curves_of_Tokenizers"]
        curves.aboutToShow.connect(partial(self.compression.fill_curves, curves))
        self._panes_menu = menus["Panes"]
        self._panes_menu.aboutToShow.connect(self._fill_panes)
        menus["Playing_Speed"].addActions(self.compression.speeds.actions())
        texts = menus["Measure_On"]
        texts.aboutToShow.connect(lambda: self.runs.text_button.fill(texts))
        of_table = {"Tokenizers": lambda: self.runs.table, "Vocabulary": lambda: self.vocabulary.table}
        for title, table in of_table.items():
            columns = menus[f"Columns_of_{title}"]
            columns.aboutToShow.connect(partial(self._fill_columns, columns, table))
        themes = QActionGroup(self)
        for mode in ("system", "light", "dark"):
            themes.addAction(self.actions_by_id[f"theme_{mode}"])
        self.actions_by_id[f"theme_{self.theme.mode}"].setChecked(True)
        workspaces = QActionGroup(self)
        for name in WORKSPACES:
            workspaces.addAction(self.actions_by_id[f"workspace_{name}"])
        # The context menu of a tool bar would allow hiding it.
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)

    def _connect(self) -> None:
        session, training = self.session, self.session.training
        for signal in self._changes:
            signal.connect(self._refresh)
        session.jobs.failed.connect(self.messages.show_problem)
        training.settings_changed.connect(self._keep_settings)
        self.guide.paneAsked.connect(self._open_pane)
        self.guide.acting.connect(self._show_beside_guide)
        self.guide.enlargeAsked.connect(self._enlarge_guide)
        self.guide.browserAsked.connect(self._open_address)
        session.player.changed.connect(self._keep_speed)
        self.theme.changing.connect(self.places.note_size)
        self.theme.settled.connect(self.places.keep_sizes)
        self.places.changed.connect(self._show_places)
        self.places.moved.connect(self._tell_workspace)
        session.view.place_asked.connect(lambda: self.places.open(self.text))
        comparison = session.comparison
        for asked in (comparison.stack_asked, comparison.words_asked, comparison.vocabularies_asked):
            asked.connect(lambda: self.places.open(self.compare))
        session.comparison.words_changed.connect(self._keep_words)
        self.preferences.changed.connect(self._apply_preferences)
        self.finder.message.connect(self.status.say)
        self.finder.found.connect(lambda: self.places.uncover(self.token, (self.vocabulary, self.merges)))
        session.jobs.refused.connect(self.status.say)
        session.jobs.told.connect(self.status.say)
        session.corpus.problem.connect(self._tell_problem)
        self.projects.done.connect(session.jobs.tell)
        self.projects.changed.connect(self._refresh)
        self.recovery.offered.connect(self._offer)
        self.unsaved_work.restore_button.clicked.connect(self.recovery.restore)
        self.unsaved_work.discard_button.clicked.connect(self.recovery.discard)
        self.unsaved_work.close_button.clicked.connect(self.recovery.put_off)
        # A newer message or a success replaces an earlier error.
        for signal in (session.jobs.told, session.jobs.begun):
            signal.connect(self.messages.clear)
        for signal in (session.corpus.sources_changed, training.settings_changed):
            signal.connect(self.messages.clear_of_training)

    @property
    def _changes(self) -> tuple[SignalInstance, ...]:
        """The signals of all that is asked of the session."""
        session, training, view = self.session, self.session.training, self.session.view
        of_view = (view.playhead_changed, view.token_changed, view.text_changed, view.selection_changed)
        of_target = (view.target_changed, view.occurrences_changed)
        of_settings = (training.settings_changed, session.corpus.sources_changed)
        of_training = (training.state_changed, session.queue.changed, *of_settings)
        others = (session.runs.changed, session.history.changed, session.comparison.changed, session.exploring.tabled)
        return (*of_view, *of_target, *of_training, *others, self.tour.changed)

    def _fill_panes(self) -> None:
        self._panes_menu.clear()
        for pane in self.places.panes:
            self._panes_menu.addAction(pane.toggleViewAction())

    def _fill_columns(self, menu: Menu, table: Callable[[], FollowTable | RunTable]) -> None:
        menu.clear()
        menu.addActions(table().columns_menu.actions())

    def _fill_encodings(self) -> None:
        self._encoding_menu.clear()
        self.corpus.add_encodings(self._encoding_menu)

    def _open_pane(self, link: str) -> None:
        """Opens a pane by its key, and a part of it after a #; shows for a moment where it is."""
        key, _, part = link.partition("#")
        for pane in self.panes:
            if pane.objectName() == key:
                self.places.open(pane)
                pane.arrive(part)
                self.flash.show_around(pane)

    def _open_guide(self) -> None:
        self.places.open(self.guide)
        self.guide.browser.setFocus()

    def _enlarge_guide(self) -> None:
        self.guide.browser.setFocus()
        self.maximise_pane()

    def _show_beside_guide(self) -> None:
        """Restores the layout if the guide fills the window, so that what a link does can be seen."""
        if self.places.maximised is self.guide:
            self.places.give_back()

    def _open_address(self, address: str) -> None:
        """Opens a page outside TokStudio, if the user wants that."""
        question = f"This opens your browser, outside TokStudio:\n\n{address}"
        if self._choosers.confirm("Open a Page of the Web", question, "Open in Browser"):
            QDesktopServices.openUrl(QUrl(address, QUrl.ParsingMode.StrictMode))

    def _list_lengths(self, fewest: int, most: int) -> None:
        self.places.open(self.vocabulary)
        self.vocabulary.show_lengths(fewest, most)

    # ---- updates

    def _refresh(self) -> None:
        self.status.forget(refresh_actions(self._actions, self.actions_by_id, self.session))
        history = self.session.history
        # In a menu, `&` would mark the next letter.
        undo, redo = (text.replace("&", "&&") for text in (history.undo_text, history.redo_text))
        self.actions_by_id["undo"].setText(f"&Undo {undo}".rstrip())
        self.actions_by_id["redo"].setText(f"Re&do {redo}".rstrip())
        self.actions_by_id["show_intervals"].setChecked(self.session.comparison.intervals)
        self.notices.refresh()
        paused, pause = self.session.training.state == "paused", self.actions_by_id["pause"]
        if pause.text() != (text := "&Resume" if paused else "&Pause"):
            pause.setText(text)
            # The same icon, too, would have the tool bar laid out anew.
            pause.setIcon(icon("train" if paused else "pause", self.theme))
        if self.session.runs.all:
            self.places.begin_runs()
            self.toolbar.show_run_tools(True)
        run = self.session.runs.active
        project = f"{self.projects.name}[*]" if self.projects.path is not None else ""
        self.setWindowTitle(" – ".join(filter(None, (project, run.name if run is not None else "", "TokStudio"))))
        self.setWindowModified(self.projects.modified)

    def _show_places(self) -> None:
        alone = self.places.maximised is not None
        self.actions_by_id[f"workspace_{self.places.workspace}"].setChecked(True)
        self.actions_by_id["maximise_pane"].setChecked(alone)
        self.status.forget(refresh_actions(self._actions, self.actions_by_id, self.session))
        if alone:
            self.status.say(_HOW_BACK)
        elif self.status.currentMessage() == _HOW_BACK:
            self.status.clearMessage()

    def _tell_workspace(self, pane: Pane) -> None:
        title, before = (WORKSPACES[name].title for name in (self.places.workspace, self.places.came_from))
        self.status.say(f"{pane.windowTitle()} is in the workspace {title}. Ctrl+Alt+0 goes back to {before}.")

    def _tell_problem(self, problem: Problem) -> None:
        """Says what the Corpus pane shows where that is not seen."""
        if not self.corpus.seen:
            self.status.say(problem.text)

    def _offer(self) -> None:
        self.unsaved_work.offer(self.recovery.sentence)

    def _apply_preferences(self) -> None:
        get = self.preferences.of
        self.theme.set_mode(cast("Mode", get(entries.THEME)))
        self.actions_by_id[f"theme_{self.theme.mode}"].setChecked(True)
        self.theme.set_text_size(get(entries.TEXT_SIZE))
        self.theme.set_families(get(entries.INTERFACE_FONT), get(entries.MONOSPACE_FONT))
        self.recovery.set_autosave(get(entries.AUTOSAVE), get(entries.AUTOSAVE_SECONDS))
        ties = cast("TieBreak", get(entries.DEFAULT_TIES))
        defaults = Settings(get(entries.DEFAULT_SIZE), pattern=get(entries.DEFAULT_PATTERN), tie_break=ties)
        self.session.training.set_defaults(defaults, get(entries.THREADS) or None)

    def _keep_settings(self) -> None:
        self.preferences.set("training", self.session.training.settings.to_text())

    def _keep_words(self) -> None:
        self.preferences.set("compared_words", self.session.comparison.own_words)

    def _keep_speed(self) -> None:
        self.preferences.set("playing_speed", self.session.player.speed.key)

    def _restore(self) -> None:
        preferences = self.preferences
        self.restoreGeometry(preferences.bytes("geometry"))
        self.places.load(preferences)
        others = ("byte_level_characters", "show_ids", "recognise_specials", "more_settings")
        for name in ("show_white_space", "compression_marks", *others):
            self.actions_by_id[name].setChecked(preferences.get(name, name not in others))
        self.session.comparison.set_own_words(preferences.get("compared_words", ""))
        self.session.player.set_speed(preferences.get("playing_speed", ""))
        with self.session.history.suspended():
            text = preferences.get("training", "")
            self._apply_preferences()
            self.session.training.set_settings(Settings.from_text(text) if text else self.session.training.defaults)

    def remember(self) -> None:
        """Stores the layouts."""
        self.make_rest()
        self.preferences.set_bytes("geometry", self.saveGeometry())
        self.places.store(self.preferences)
        self.preferences.flush()

    # ---- overrides of Qt

    def event(self, event: QEvent) -> bool:
        if isinstance(event, WordAsked):
            self.explain(event.key)
            return True
        return super().event(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Asks once if unsaved work would be lost, stores the layout, and ends every job."""
        if not self.projects.may_leave("Quit TokStudio", self.close, closing=True):
            event.ignore()
            return
        self.remember()
        self.session.close()
        event.accept()

    def focusNextPrevChild(self, next: bool) -> bool:
        """Skips panes behind a tab, which Qt counts as visible; while panes are moved, the window takes the focus."""
        behind = [pane for pane in self._made.values() if pane.visibleRegion().isEmpty()]

        def left_out(widget: QWidget) -> bool:
            return self.tour.holds_back(widget) or any(pane.isAncestorOf(widget) for pane in behind)

        to = self if self.places.moving else after_tab(self, left_out, forwards=next)
        if to is not None:
            to.setFocus(Qt.FocusReason.TabFocusReason if next else Qt.FocusReason.BacktabFocusReason)
        return to is not None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter presses the focused button; Escape closes a message or a notice, or restores the layout.

        Not where the focused widget uses the key.
        """
        focus = self.focusWidget()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and isinstance(focus, (QPushButton, QToolButton)):
            focus.click()
        elif event.key() == Qt.Key.Key_Escape and self.messages.isVisible():
            self.messages.clear()
        elif event.key() == Qt.Key.Key_Escape and self.notices.notice is not None:
            self.notices.clear()
        elif event.key() == Qt.Key.Key_Escape and self.places.maximised is not None:
            self.places.give_back()
        else:
            super().keyPressEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accepts files, folders, links and text anywhere in the window."""
        if event.mimeData().hasUrls() or event.mimeData().hasText():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Opens dropped tokenizers or a project, and adds everything else to the corpus; a link names a tokenizer."""
        data = event.mimeData()
        links = [url.toString() for url in data.urls() if not url.isLocalFile()]
        if not data.hasUrls() and is_link(data.text()):
            links.append(data.text().strip())
        self.opening.open_any(dropped_paths(data))
        self.opening.open_links(links)
        if not links and not data.hasUrls() and data.hasText():
            self.session.corpus.add_text(data.text(), "Dropped text")
        event.acceptProposedAction()


def _room(window: QMainWindow) -> QSize:
    """The room of the screen for a window; unlimited for a picture that is drawn offscreen."""
    return _SIZE if QGuiApplication.platformName() == "offscreen" else window.screen().availableSize() - _AROUND
