"""The window's actions as Qt has them, its menus, and what commands need of the window."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from functools import partial
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenuBar

from tokstudio.core.base.records import dataclass
from tokstudio.gui.dialogs.export.queue import TOKENIZERS
from tokstudio.gui.find.finder import Finder
from tokstudio.gui.session import availability
from tokstudio.gui.session.availability import Obstacle
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.menus import Menu

if TYPE_CHECKING:
    from tokstudio.gui.commands.dialogs import Dialogs
    from tokstudio.gui.panes.compare.pane import ComparePane
    from tokstudio.gui.panes.compression.pane import CompressionPane
    from tokstudio.gui.panes.configure.pane import ConfigurePane
    from tokstudio.gui.panes.corpus.pane import CorpusPane
    from tokstudio.gui.panes.text.pane import TextPane
    from tokstudio.gui.panes.token.pane import TokenPane
    from tokstudio.gui.panes.vocabulary.pane import VocabularyPane

# --- The protocol of the window for the actions -----------------------------------------------------------------------


class Window(Protocol):
    """The methods and panes of `MainWindow` that actions need."""

    compression: CompressionPane
    text: TextPane
    finder: Finder

    @property
    def dialogs(self) -> Dialogs: ...
    @property
    def corpus(self) -> CorpusPane: ...
    @property
    def compare(self) -> ComparePane: ...
    @property
    def configure(self) -> ConfigurePane: ...
    @property
    def token(self) -> TokenPane: ...
    @property
    def vocabulary(self) -> VocabularyPane: ...
    def focus_filter(self) -> None: ...
    def show_compare(self) -> None: ...
    def show_search(self) -> None: ...
    def show_why(self) -> None: ...
    def show_why_not(self) -> None: ...
    def show_steps(self) -> None: ...
    def reset_layout(self) -> None: ...
    def show_workspace(self, name: str) -> None: ...
    def leave_workspace(self) -> None: ...
    def no_workspace_left(self, session: Session) -> str | None: ...
    def maximise_pane(self) -> None: ...
    def float_pane(self) -> None: ...
    def show_preferences(self) -> None: ...
    def show_guide(self) -> None: ...
    def show_glossary(self) -> None: ...
    def take_tour(self) -> None: ...
    def continue_tour(self) -> None: ...
    def no_tour_to_continue(self, session: Session) -> str | None: ...
    def show_shortcuts(self) -> None: ...
    def show_about(self) -> None: ...
    def close(self) -> bool: ...


# --- Shows some runs alone in plots and in Compare, as a change that can be undone ------------------------------------


def show_alone(session: Session, shown: Collection[StudioRun], text: str, message: str = "") -> None:
    """Hides all other runs and the simple tokenizers; `text` is its name for Undo, a `message` offers that."""
    runs, state = session.runs.all, session.comparison
    earlier = {each: not each.marks.curve_hidden for each in runs}, state.simple
    now = {each: each in shown for each in runs}, frozenset[str]()
    back, forth = partial(_show, session, *earlier), partial(_show, session, *now)
    forth()
    if earlier != now:
        session.history.record(text, message, back, forth)


def _show(session: Session, shown: Mapping[StudioRun, bool], simple: Set[str]) -> None:
    runs = session.runs
    runs.show_curves({run: shown[run] for run in runs.all if run in shown})
    session.comparison.set_simple(simple)


# --- Actions of the window: definition, QAction and enabling ----------------------------------------------------------

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Action:
    """One action."""

    id: str
    text: str  # on menus and buttons; `&` marks the mnemonic
    tip: str  # one sentence for the status bar
    run: Callable[[], object] | Callable[[bool], object]  # if `checkable`, it may take the new state
    keys: tuple[str | QKeySequence.StandardKey, ...] = ()  # shortcuts; menus show the first
    icon: str = ""  # the name of a file in `resources/icons`, or ""
    obstacle: Obstacle = availability.always  # returns the reason why the action is disabled, or None
    checkable: bool = False  # whether it can be on or off
    role: QAction.MenuRole = QAction.MenuRole.NoRole  # in the menus of macOS


def build_actions(actions: Iterable[Action], theme: Theme, owner: QObject) -> dict[str, QAction]:
    """Creates the QAction of each action."""
    action_by_id: dict[str, QAction] = {}
    for action in actions:
        built = action_by_id[action.id] = QAction(action.text, owner)
        built.setObjectName(action.id)
        built.setCheckable(action.checkable)
        built.setMenuRole(action.role)
        sequences = [QKeySequence(key) for key in action.keys]
        built.setShortcuts([sequence for sequence in dict.fromkeys(sequences) if not sequence.isEmpty()])
        built.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
        _describe(action, built)
        if action.icon:
            built.setIcon(icon(action.icon, theme))
            # A menu shows the check mark in place of the icon.
            built.setIconVisibleInMenu(not action.checkable)
        built.triggered.connect(partial(_log_action, action.id))
        built.triggered.connect(action.run)
    return action_by_id


def refresh_actions(actions: Iterable[Action], built: Mapping[str, QAction], session: Session) -> set[str]:
    """Enables the available actions; the tool tip and the status tip of a disabled action give the reason.

    Returns the status tips that no action has any more.
    """
    reasons: dict[Obstacle, str | None] = {}  # most actions share theirs
    replaced = set[str]()
    for action in actions:
        if action.obstacle not in reasons:
            reasons[action.obstacle] = action.obstacle(session)
        reason = reasons[action.obstacle]
        shown = built[action.id]
        if reason is None and not shown.isEnabled():
            replaced.add(shown.statusTip())
            shown.setEnabled(True)
            _describe(action, shown)
        elif reason is not None and (shown.isEnabled() or reason != shown.toolTip()):
            replaced.add(shown.statusTip())
            shown.setEnabled(False)
            shown.setToolTip(reason)
            shown.setStatusTip(reason)
    return replaced.difference(shown.statusTip() for shown in built.values()) if replaced else replaced


def _log_action(name: str) -> None:
    _log.info("Action: %s", name)


def _describe(action: Action, built: QAction) -> None:
    """Sets the tips of an available action: its name and keys, and what it does."""
    keys = built.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    words = action.text.replace("&", "").rstrip("…")
    built.setToolTip(f"{words} ({keys})" if keys else words)
    built.setStatusTip(action.tip)


# --- The menus and the order of their actions -------------------------------------------------------------------------

_FORMATS = " ".join(f"export_{known.name}" for known in TOKENIZERS)
# "-" is a separator, "> Title" opens a submenu, "<" closes it.
_MENUS: dict[str, str] = {
    "&File": "open_project save_project save_project_as - open_experiment save_experiment - "
    "open_tokenizer open_tokenizer_folder open_by_name - open_data_set - "
    f">&Export export_tokenizer - {_FORMATS} - export_merges_csv export_merges_jsonl export_vocabulary_csv - "
    "export_ids encode_data_set - export_plot_png export_plot_svg export_tree_svg < >&Recent < - quit",
    "&Edit": "undo redo - copy copy_ids - find find_next find_previous - filter - preferences",
    "&View": ">Wor&kspace workspace_learn workspace_train workspace_explore workspace_compare - "
    "workspace_back < >&Panes < maximise_pane float_pane reset_layout - >&Theme theme_system theme_light theme_dark < "
    ">Text_&Size text_larger text_smaller text_reset < - "
    ">T&okens_in_Text show_white_space byte_level_characters show_ids recognise_specials - encode_with_dropout "
    "dropout_again < >Cur&ves_of_Tokenizers < compression_marks >&Columns_of_Tokenizers < >Columns_of_Voca&bulary <",
    "&Corpus": "open_corpus open_folder open_counts paste_corpus "
    ">Sa&mples sample_article sample_scripts sample_python sample_rubbish - "
    "sample_train_article sample_train_scripts sample_train_python sample_train_rubbish < - "
    "change_columns >Encodin&g < reload_source remove_source clear_corpus - "
    ">Mi&xture weights_as_they_are weights_equal weights_by_temperature weights_by_content weights_for_goal < "
    ">L&eft_Out leave_nothing_out save_left_out_csv < - search_corpus save_explored_csv",
    "&Train": "train train_on_sample train_anyway train_several continue_run - pause step hurry stop cancel_queue - "
    ">Base_To&kens_and_Parallel_Texts load_base_tokens base_tokens_of_corpus - "
    "load_parallel_files load_parallel_texts_folder remove_parallel_texts < more_settings",
    "&Playhead": "first previous next last - play >Playin&g_Speed < - previous_run next_run - "
    "why_merge why_not_one_token step_through_text",
    "To&kenizer": "rename_run delete_run change_pattern train_like count_uses measure_held_out - "
    "extend_tokenizer fork_tokenizer prune_tokenizer change_specials - forbid_tokens prune_tokens - show_proof",
    "C&ompare": "compare_algorithms compare_on_story open_compared_texts open_parallel_folder "
    "open_parallel_table open_compared_words - measure_comparison "
    ">Me&asure_On measure_on_corpus measure_on_text measure_on_held_out measure_on_file < - "
    "show_intervals - >&Copy_Figure copy_figure copy_figure_latex copy_figure_csv < "
    ">&Export_Comparison save_comparison_csv save_engines_csv save_dots save_report <",
    "Too&ls": "check_tokenizer trained_on - check_training make_exercise your_turn",
    "&Help": "guide glossary - take_tour continue_tour - shortcuts about",
}


def build_menus(bar: QMenuBar, actions: Mapping[str, QAction]) -> dict[str, Menu]:
    """Fills the menu bar; returns the submenus by title, including those that are filled elsewhere."""
    submenus: dict[str, Menu] = {}
    for title, names in _MENUS.items():
        stack = [Menu(title, bar)]
        bar.addMenu(stack[0])
        for name in names.split():
            if name == "-":
                stack[-1].addSeparator()
            elif name == "<":
                stack.pop()
            elif name.startswith(">"):
                stack.append(stack[-1].add_menu(name[1:].replace("_", " ")))
                submenus[name[1:].replace("&", "")] = stack[-1]
            else:
                stack[-1].addAction(actions[name])
    return submenus
