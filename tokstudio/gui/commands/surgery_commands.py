"""Actions of the Tokenizer menu: they open its dialogs, and add what these make to Runs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from tokstudio.core.analysis.training_like import training_like
from tokstudio.core.base.wording import several
from tokstudio.core.comparison.texts import trained_texts
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.commands.actions import Window, show_alone
from tokstudio.gui.dialogs.surgery.works import ChangedTokenizer, filled_work, remark_of
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import RunOrigin, StudioRun
from tokstudio.gui.state.training_settings import Settings, exact_rules
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.file_dialogs import Choosers

_FIXED = ("byte", "character", "special")


class SurgeryCommands(QObject):
    """Handlers of the actions that change a tokenizer."""

    def __init__(
        self,
        session: Session,
        theme: Theme,
        preferences: Preferences,
        choosers: Choosers,
        window: Window,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._session, self._theme, self._window, self._parent = session, theme, window, parent
        self._preferences, self._choosers = preferences, choosers
        self._begun: StudioRun | None = None  # trains on from a tokenizer
        self._reserved: Sequence[str] = ()  # whose ids its first new tokens get
        session.training.state_changed.connect(self._tell_of_proof)

    # ---- dialogs, which are loaded when they are opened

    def extend(self) -> None:
        """Asks how the active tokenizer is extended."""
        self._extend(None)

    def fork(self) -> None:
        """Asks how training goes on from the playhead."""
        self._extend(self._session.view.playhead)

    def _extend(self, merges: int | None) -> None:
        from tokstudio.gui.dialogs.surgery.extend import ExtendDialog

        run = self._session.runs.active
        if run is not None:
            dialog = ExtendDialog(self._session, run, self._theme, merges, self._parent)
            dialog.begun.connect(self._follow)
            dialog.open()

    def prune(self) -> None:
        """Asks what is removed from the active tokenizer."""
        self._prune(these=False)

    def prune_these(self) -> None:
        """Asks about removing the selected tokens from the active tokenizer."""
        self._prune(these=True)

    def _prune(self, *, these: bool) -> None:
        from tokstudio.gui.dialogs.surgery.prune import PruneDialog

        run = self._session.runs.active
        if run is not None:
            dialog = PruneDialog(self._session, run, self._theme, self._chosen(), these=these, parent=self._parent)
            dialog.made.connect(partial(self._add, run))
            dialog.open()

    def specials(self) -> None:
        """Asks for the special tokens of the active tokenizer."""
        from tokstudio.gui.dialogs.surgery.specials import SpecialsDialog

        run = self._session.runs.active
        if run is not None:
            dialog = SpecialsDialog(self._session, run, self._theme, self._parent)
            dialog.made.connect(partial(self._add, run))
            dialog.open()

    def show_proof(self) -> None:
        """Shows what stayed the same in the active tokenizer."""
        run = self._session.runs.active
        if run is not None:
            self._prove(run)

    def _prove(self, run: StudioRun) -> None:
        from tokstudio.gui.dialogs.surgery.proof import ProofDialog

        dialog = ProofDialog(self._session, run, self._theme, self._preferences, self._choosers, self._parent)
        dialog.compareAsked.connect(self.compare)
        dialog.open()

    def _add(self, before: StudioRun, changed: ChangedTokenizer) -> None:
        trained_on = trained_texts(changed.tokenizer).union(() if before.origin is None else before.origin.trained_on)
        origin = RunOrigin(
            Path(changed.name),
            (),
            changed.change,
            True,
            changed.kept,
            changed.change,
            before.name,
            tuple(sorted(trained_on)),
        )
        self._session.runs.add_tokenizer(changed.tokenizer, changed.name, origin)
        self._session.jobs.tell(f"{changed.name} is in Tokenizers: {several(len(changed.tokenizer), 'token')}.")
        run = self._session.runs.all[-1]
        if run.tokenizer is changed.tokenizer:
            self._prove(run)

    def _follow(self, run: StudioRun, reserved: Sequence[str] = ()) -> None:
        self._begun, self._reserved = run, reserved

    def _tell_of_proof(self) -> None:
        """After a training from a tokenizer, fills reserved ids if that is wanted, or offers the proof."""
        run = self._begun
        if run is None or self._session.training.current is not None:
            return
        self._begun = None
        if run not in self._session.runs.all or len(run) == run.before:
            return
        if self._reserved:
            work = partial(filled_work, run.tokenizer, run.name, self._reserved)
            self._session.jobs.start(work, partial(self._add, run))
        else:
            text = f"{run.name} has {several(len(run) - run.before, 'new token')}."
            self._session.jobs.notify(
                text, "What Stayed the Same", lambda: self._prove(run), lambda: run in self._session.runs.all
            )

    def compare(self, old: Tokenizer, run: StudioRun) -> None:
        """Shows the tokenizer before and the changed one alone in the Compare pane; Undo shows the others again."""
        runs = self._session.runs
        before = next((each for each in runs.all if each is not run and _is_same(each, old)), None)
        if before is None:
            before = StudioRun.opened(0, f"{run.name}, before", old)
            runs.add(before)
        message = "Compare shows only the tokenizers before and after."
        show_alone(self._session, (before, run), "Compare Before and After", message)
        runs.activate(run)
        self._window.show_compare()

    # ---- tokens

    def _chosen(self) -> list[int]:
        """The selected tokens that merges make, or the current one."""
        run = self._session.runs.active
        if run is None or not run.ready:
            return []
        tokenizer, token = run.tokenizer, self._session.view.token
        ids = self._window.vocabulary.selected_tokens() or ([] if token is None else [token])
        return [each for each in ids if tokenizer.tokens.in_use(each) and tokenizer.kind(each) not in _FIXED]

    def train_like(self) -> None:
        """Takes the settings of the active tokenizer for the next training; asks first where some are left out."""
        run, training = self._session.runs.active, self._session.training
        if run is None:
            return
        like = training_like(run.tokenizer)
        left_out = "\n".join(f"\u2022 {sentence}" for sentence in like.left_out)
        question = f"Configure gets the settings of {run.name}. What they do not hold:\n\n{left_out}"
        if left_out and not self._choosers.confirm("Train One Like This", question, "Take Settings"):
            return
        training.set_settings(Settings.from_plain(training.settings.to_plain() | {**like.settings}))
        self._window.show_workspace("train")
        self._session.jobs.tell(f"Configure has the settings of {run.name}.")

    def forbid(self) -> None:
        """Forbids the selected tokens in the settings, and trains again."""
        training, run, ids = self._session.training, self._session.runs.active, self._chosen()
        if run is None or not ids:
            self._session.jobs.refuse("Select a token that a merge makes: bytes and special tokens must stay.")
            return
        rules = exact_rules(run.tokenizer.tokens[each] or b"" for each in ids)
        if run.config is None:
            self._session.jobs.refuse("This tokenizer was not trained here: prune its tokens instead.")
            return
        if run.start is not None:
            self._forbid_further(run, ids, rules)
            return
        before = training.settings
        forbidden = tuple(dict.fromkeys([*before.forbidden, *rules]))
        training.set_settings(replace(before, forbidden=forbidden))
        self._session.jobs.tell(f"{several(len(ids), 'token is', 'tokens are')} forbidden in Configure.")
        if training.obstacle is None:
            training.start()
        else:
            self._session.jobs.refuse(training.obstacle)

    def _forbid_further(self, run: StudioRun, ids: list[int], rules: Sequence[str]) -> None:
        """Trains again from the tokenizer at the start of a run, with its settings, but without these tokens."""
        training = self._session.training
        assert run.start is not None
        assert run.config is not None
        if any((run.merge_of(each) or 0) <= run.before for each in ids):
            self._session.jobs.refuse("Tokens of the tokenizer that training started from stay: prune them instead.")
        elif (obstacle := training.corpus_obstacle) is not None:
            self._session.jobs.refuse(obstacle)
        else:
            config = replace(run.config, forbidden=[*run.config.forbidden, *rules])
            remark = remark_of(run.name, run.number)
            training.start_from(run.start, config, self._session.corpus.current, remark)
            self._follow(self._session.runs.all[-1])


def _is_same(run: StudioRun, tokenizer: Tokenizer) -> bool:
    """Whether a run's tokenizer is this one, or equal to it."""
    if run.ended is None or not run.ready:
        return False
    tokenizer_of_run = run.tokenizer
    if tokenizer_of_run is tokenizer:
        return True
    same_base = np.array_equal(tokenizer_of_run.alphabet.ids, tokenizer.alphabet.ids)
    of_one = (tokenizer_of_run.special_tokens, tokenizer_of_run.pattern) == (
        tokenizer.special_tokens,
        tokenizer.pattern,
    )
    return of_one and same_base and np.array_equal(tokenizer_of_run.merges, tokenizer.merges)
