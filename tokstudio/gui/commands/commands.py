"""What the actions do: asks what is left open, and hands the rest to the session. One method an action.

It builds no widgets; the questions are `Choosers`', the state is the `Session`'s.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget

from tokstudio.core.base.wording import several
from tokstudio.core.model.base_vocabulary import corpus_characters_work, read_base_vocabulary_work
from tokstudio.gui.commands.open_commands import OpenCommands
from tokstudio.gui.commands.window_protocol import Views
from tokstudio.gui.project.document import ProjectDocument
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.notice import Notice
from tokstudio.gui.state.problem import Problem
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import BODY_PIXELS, Mode, Theme
from tokstudio.gui.widgets.file_dialogs import Choosers
from tokstudio.resources import DEMO_SENTENCES, SAMPLES, sample_text

_BASE_TOKENS = "Lists of base tokens (*.json *.txt);;All files (*)"


class Commands(OpenCommands):
    """Does what actions say."""

    def __init__(
        self,
        session: Session,
        theme: Theme,
        preferences: Preferences,
        choosers: Choosers,
        views: Views,
        projects: ProjectDocument,
        parent: QObject,
    ) -> None:
        super().__init__(session, preferences, choosers, views, projects, parent)
        self._theme = theme
        self._views = views
        projects.done.connect(self.done)

    # ---- project

    def open_project(self) -> None:
        """Asks for a project and opens it."""
        self._projects.ask_and_open()

    def save_project(self) -> None:
        """Saves the project."""
        self._projects.save()

    def save_project_as(self) -> None:
        """Saves the project as another file."""
        self._projects.save_as()

    # ---- corpus

    def paste_corpus(self) -> None:
        """Adds the text on the clipboard."""
        text = QGuiApplication.clipboard().text()
        if text:
            self._session.corpus.add_text(text)
        else:
            self._session.corpus.report(Problem("The clipboard has no text."))

    def sample_article(self) -> None:
        """Adds the article."""
        self._add_sample("article")

    def sample_scripts(self) -> None:
        """Adds the story in eight scripts."""
        self._add_sample("scripts")

    def sample_python(self) -> None:
        """Adds the Python program."""
        self._add_sample("python")

    def sample_train_article(self) -> None:
        """Trains on the article."""
        self.train_sample("article")

    def sample_train_scripts(self) -> None:
        """Trains on the story in eight scripts."""
        self.train_sample("scripts")

    def sample_train_python(self) -> None:
        """Trains on the Python program."""
        self.train_sample("python")

    def train_sample(self, key: str) -> None:
        """Makes a sample the corpus and trains on it; an empty Text pane gets a sentence to look at."""
        session = self._session
        names = ", ".join(source.name for source in session.corpus.sources[:3])
        question = f"The corpus ({names}) will be replaced by the sample."
        own = any(source.name not in {sample.title for sample in SAMPLES} for source in session.corpus.sources)
        if own and not self._choosers.confirm("Train on a Sample", question, "Replace Corpus"):
            return
        session.corpus.set_sources(())
        before, own_settings = session.training.settings, Settings()
        session.training.set_settings(own_settings)
        self._add_sample(key)
        if not self._session.view.text:
            self._session.view.set_text(DEMO_SENTENCES[0][1])
        self._session.training.start()
        if before != own_settings:
            text = "The sample trains with the default settings."
            back = partial(session.training.set_settings, before)
            session.jobs.notify(
                Notice(text, "Restore Settings", back, lambda: session.training.settings == own_settings)
            )

    def remove_source(self) -> None:
        """Takes the chosen sources out."""
        self._views.remove_sources()

    def reload_source(self) -> None:
        """Reads the chosen files again."""
        self._views.reload_sources()

    def clear_corpus(self) -> None:
        """Takes all sources away; runs stay."""
        self._session.corpus.set_sources(())

    # ---- training

    def train(self) -> None:
        """Begins a run."""
        self._session.training.start()

    def train_on_sample(self) -> None:
        """Begins a run on as much of the corpus as fits into memory."""
        self._session.training.start_on_sample()

    def train_anyway(self) -> None:
        """Begins a run although there is likely too little memory."""
        self._session.training.start(anyway=True)

    def continue_run(self) -> None:
        """Goes on from the active run."""
        if self._session.runs.active is not None:
            self._session.training.continue_run(self._session.runs.active)

    def load_base_tokens(self) -> None:
        """Asks for a file of base tokens and takes them."""
        paths = self._choosers.open_files("Load Base Tokens", self._folder(), _BASE_TOKENS)
        if paths:
            self._preferences.folder = paths[0].parent
            self._session.jobs.start(partial(read_base_vocabulary_work, paths[0]), self._take_base_tokens)

    def base_tokens_of_corpus(self) -> None:
        """Takes the characters of the corpus as base tokens."""
        self._session.jobs.start(partial(corpus_characters_work, self._session.corpus.current), self._take_base_tokens)

    def pause(self) -> None:
        """Holds the training."""
        self._session.training.pause()

    def resume(self) -> None:
        """Goes on with it."""
        self._session.training.resume()

    def step(self) -> None:
        """One merge."""
        self._session.training.step()

    def stop(self) -> None:
        """Ends it and keeps the run."""
        self._session.training.stop()

    def first(self) -> None:
        """The playhead to the start."""
        self._session.view.set_playhead(0)

    def previous(self) -> None:
        """The playhead back by one."""
        self._session.view.set_playhead(self._session.view.playhead - 1)

    def next(self) -> None:
        """The playhead on by one."""
        self._session.view.set_playhead(self._session.view.playhead + 1)

    def last(self) -> None:
        """The playhead to the end."""
        if self._session.runs.active is not None:
            self._session.view.set_playhead(len(self._session.runs.active))

    def play(self, playing: bool) -> None:
        """Lets the playhead run along, or holds it."""
        self._session.player.set_playing(playing)

    def previous_run(self) -> None:
        """The run before the active one; before the first comes the last."""
        self._activate_beside(-1)

    def next_run(self) -> None:
        """The run after the active one; after the last comes the first."""
        self._activate_beside(1)

    def rename_run(self) -> None:
        """Asks for the active run's new name."""
        run = self._session.runs.active
        if run is None:
            return
        name = self._choosers.text("Rename Run", "Name", run.name)
        if name is not None:
            self._session.runs.rename(run, name)

    def count_uses(self) -> None:
        """Counts the uses of an opened tokenizer's tokens in the corpus."""
        self._session.runs.count_uses()

    def measure_held_out(self) -> None:
        """Measures the held-out text of the active run again."""
        self._session.held_out.measure()

    def delete_run(self) -> None:
        """Forgets the active run."""
        if self._session.runs.active is not None:
            self.delete(self._session.runs.active)

    def delete(self, run: StudioRun) -> None:
        """Forgets a run; one that was never exported is asked about."""
        question = f"{run.name} has not been saved or exported. {several(len(run), 'merge')} will be lost."
        if not run.unsaved or self._choosers.confirm(f"Delete {run.name}?", question, "Delete Run"):
            self._session.runs.delete(run)
            if run not in self._session.runs.all:
                self.done.emit(f"Deleted {run.name}.")

    # ---- view

    def quit(self) -> None:
        """Closes the window, which ends the program."""
        self._views.close()

    def copy(self) -> None:
        """Copies what is selected where the keyboard is."""
        focus = QApplication.focusWidget()
        if isinstance(focus, QWidget) and callable(own := getattr(focus, "copy", None)):
            own()
        elif focus is not None:
            event = QKeyEvent(QKeyEvent.Type.KeyPress, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
            QApplication.sendEvent(focus, event)

    def copy_ids(self) -> None:
        """Copies the ids of the selected tokens."""
        self._views.copy_ids()

    def find(self) -> None:
        """Goes to the field that finds tokens."""
        self._views.focus_find()

    def find_next(self) -> None:
        """Goes to the next place of the found token."""
        self._session.view.go_to_occurrence(1)

    def find_previous(self) -> None:
        """Goes to the place before."""
        self._session.view.go_to_occurrence(-1)

    def filter(self) -> None:
        """Goes to the filter of the table that is shown."""
        self._views.focus_filter()

    def why_merge(self) -> None:
        """Shows why the merge was made of the token that was chosen; of none, the one at the playhead."""
        session, run = self._session, self._session.runs.active
        if run is not None and session.view.chosen is None and session.view.playhead > 0:
            session.view.look_at(run.base_size + session.view.playhead - 1)
        self._views.show_why()

    def why_not_one_token(self) -> None:
        """Says why what is selected of the text is not one token."""
        self._views.show_why_not()

    def step_through_text(self) -> None:
        """Goes to the steps of the text's encoding."""
        self._views.show_steps()

    def show_white_space(self, shown: bool) -> None:
        """Remembers the switch for the marks of white space; the Text pane listens to it itself."""
        self._preferences.set("show_white_space", shown)

    def byte_level_characters(self, shown: bool) -> None:
        """Remembers whether tokens are shown in the byte-level alphabet; panes listen to the switch themselves."""
        self._preferences.set("byte_level_characters", shown)

    def show_ids(self, shown: bool) -> None:
        """Remembers the switch for the ids beneath tokens."""
        self._preferences.set("show_ids", shown)

    def recognise_specials(self, recognised: bool) -> None:
        """Remembers whether special tokens in the text become their ids; the Text pane listens to it itself."""
        self._preferences.set("recognise_specials", recognised)

    def more_settings(self, shown: bool) -> None:
        """Remembers whether all settings are shown; the Configure pane listens to the switch itself."""
        self._preferences.set("more_settings", shown)

    def theme_system(self) -> None:
        """Follows the system."""
        self._set_theme("system")

    def theme_light(self) -> None:
        """Stays light."""
        self._set_theme("light")

    def theme_dark(self) -> None:
        """Stays dark."""
        self._set_theme("dark")

    def text_larger(self) -> None:
        """Makes text larger."""
        self._set_text_size(self._theme.text_size + 1)

    def text_smaller(self) -> None:
        """Makes text smaller."""
        self._set_text_size(self._theme.text_size - 1)

    def text_reset(self) -> None:
        """Gives text its usual size."""
        self._set_text_size(BODY_PIXELS)

    def reset_layout(self) -> None:
        """Puts every pane back."""
        self._views.reset_layout()

    def shortcuts(self) -> None:
        """Lists the keys."""
        self._views.show_shortcuts()

    def about(self) -> None:
        """Says version and licence."""
        self._views.show_about()

    # ---- private

    def _take_base_tokens(self, entries: list[str]) -> None:
        settings = replace(self._session.training.settings, base="characters", base_vocabulary=tuple(entries))
        self._session.training.set_settings(settings)

    def _activate_beside(self, step: int) -> None:
        runs, active = self._session.runs.all, self._session.runs.active
        if active is not None:
            self._session.runs.activate(runs[(runs.index(active) + step) % len(runs)])

    def _add_sample(self, key: str) -> None:
        title = next(sample.title for sample in SAMPLES if sample.key == key)
        self._session.corpus.add_text(sample_text(key), title)

    def _set_theme(self, mode: Mode) -> None:
        self._preferences.set("theme", mode)
        self._theme.set_mode(mode)

    def _set_text_size(self, pixels: int) -> None:
        self._theme.set_text_size(pixels)
        self._preferences.set("text_size", self._theme.text_size)
