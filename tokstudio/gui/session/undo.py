"""Undo and Redo of the user's changes to the corpus, the training settings and the list of runs.

`History` records changes of sources, weights, text that is left out and settings from their signals, and has methods to
delete and rename runs, and to record changes that others make.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

from tokstudio.core.base.wording import several
from tokstudio.core.corpus.leaving_out import LeavingOut
from tokstudio.core.corpus.source import Source, entries, entry_name
from tokstudio.core.model.settings import SETTINGS
from tokstudio.gui.session.common.corpus import CorpusState
from tokstudio.gui.session.common.jobs import Jobs
from tokstudio.gui.session.common.run_list import RunList
from tokstudio.gui.session.common.view_state import ViewState
from tokstudio.gui.session.training.control import TrainingControl
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.training_plans import entries_of
from tokstudio.gui.state.training_settings import Settings

LIMIT = 50  # entries; an entry keeps its deleted run or removed sources in memory
_SETTINGS = 1  # Qt tries to merge entries with the same id
_WEIGHTS = 2
_SEVERAL_WEIGHTS = "Weights"
_ALGORITHM = (
    "parallel",
    "algorithm",
    "tie_break",
    "transition",
)  # a change of the first of them may change those after it


class _Change(QUndoCommand):
    """An entry for a change that is already made: pushing it changes nothing.

    `of_runs`: it changes the active run, which is impossible during a training.
    """

    def __init__(
        self, text: str, back: Callable[[], None], forth: Callable[[], None], *, of_runs: bool = False
    ) -> None:
        super().__init__(text)
        self._back, self._forth = back, forth
        self._done = True
        self.of_runs = of_runs

    def undo(self) -> None:
        self._done = False
        self._back()

    def redo(self) -> None:
        if not self._done:
            self._done = True
            self._forth()


class _SettingsChange(_Change):
    """An entry for the settings; the next change of the same field merges into it, so typing makes one entry."""

    def __init__(self, before: Settings, after: Settings, runs: int, take: Callable[[Settings], None]) -> None:
        names = [field.name for field in fields(Settings)]
        changed = [name for name in names if getattr(before, name) != getattr(after, name)]
        named = changed if len(changed) == 1 else [name for name in _ALGORITHM if name in changed]
        text = SETTINGS[named[0]].title if named and {*changed} <= {*_ALGORITHM, *named} else "Training Settings"
        super().__init__(text, partial(take, before), partial(take, after))
        self._before, self._after = before, after
        # Changes before and after the start of a run do not merge.
        self._key = changed, runs

    def id(self) -> int:
        return _SETTINGS

    def mergeWith(self, other: QUndoCommand) -> bool:
        changed = self._key[0]
        if not isinstance(other, _SettingsChange) or other._key != self._key or len(changed) > 1:
            return False
        if changed == ["parallel"]:
            return False  # loaded or removed as a whole
        self._after, self._forth = other._after, other._forth
        self.setObsolete(self._after == self._before)
        return True


class _WeightsChange(_Change):
    """An entry for the weights; the changes of one move of a slider merge into it."""

    def __init__(
        self,
        text: str,
        before: tuple[int, ...],
        after: tuple[int, ...],
        move: int,
        take: Callable[[tuple[int, ...]], None],
    ) -> None:
        super().__init__(text, partial(take, before), partial(take, after))
        self._before, self._after, self._move = before, after, move

    def id(self) -> int:
        return _WEIGHTS

    def mergeWith(self, other: QUndoCommand) -> bool:
        if not isinstance(other, _WeightsChange) or other._move != self._move:
            return False
        self._after, self._forth = other._after, other._forth
        self.setText(self.text() if self.text() == other.text() else _SEVERAL_WEIGHTS)
        self.setObsolete(self._after == self._before)
        return True


class History(QObject):
    """The entries of Undo and Redo. Call every method from the GUI thread."""

    changed = Signal()  # `undo_text` or `redo_text`

    def __init__(
        self,
        jobs: Jobs,
        corpus: CorpusState,
        runs: RunList,
        training: TrainingControl,
        view: ViewState,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._jobs, self._corpus, self._runs, self._training, self._view = jobs, corpus, runs, training, view
        self._sources, self._weights, self._left_out = corpus.sources, corpus.weights, corpus.left_out
        self._awaited: LeavingOut | None = None  # what Undo or Redo leaves out, until it is left out
        self._settings = training.settings
        self._recording = self._telling = True
        self._stack = QUndoStack(self)
        self._stack.setUndoLimit(LIMIT)
        self._stack.indexChanged.connect(self.changed)
        corpus.sources_changed.connect(self._record_sources)
        corpus.weights_changed.connect(self._record_weights)
        corpus.left_out_changed.connect(self._record_left_out)
        training.settings_changed.connect(self._record_settings)

    # ---- undo and redo

    @property
    def undo_text(self) -> str:
        """The change that Undo would undo, such as "Delete Run 3"; "" for none."""
        return self._stack.undoText()

    @property
    def redo_text(self) -> str:
        """The change that Redo would repeat; "" for none."""
        return self._stack.redoText()

    def undo(self) -> None:
        """Undoes the last change, or tells the user why this is impossible now."""
        self._move(self._stack.index() - 1, "undo", self._stack.undo)

    def redo(self) -> None:
        """Repeats the change that was undone last, or tells the user why this is impossible now."""
        self._move(self._stack.index(), "redo", self._stack.redo)

    def clear(self) -> None:
        """Deletes all entries and the objects in them."""
        self._stack.clear()
        self.changed.emit()

    # ---- recording

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Stops recording inside the block and then deletes all entries; for replacing the whole state."""
        self._recording = False
        try:
            yield
        finally:
            self._recording = True
            self.clear()

    @contextmanager
    def together(self, text: str) -> Iterator[None]:
        """Makes one entry of all changes inside the block, without a message."""
        self._stack.beginMacro(text)
        self._telling = False
        try:
            yield
        finally:
            self._telling = True
            self._stack.endMacro()

    def delete_run(self, run: StudioRun) -> None:
        """Deletes a run that is not in training; Undo restores it at its place in the list."""
        at, playhead = self._runs.all.index(run), self._view.playhead if run is self._runs.active else None
        self._runs.delete(run)
        if run not in self._runs.all:
            back, forth = partial(self._bring_back, run, at, playhead), partial(self._delete, run)
            self._push(_Change(f"Delete {run.name}", back, forth, of_runs=True), f"Deleted {run.name}.")

    def rename_run(self, run: StudioRun, name: str) -> None:
        """Renames a run; an empty name changes nothing."""
        before = run.name
        self._runs.rename(run, name)
        if run.name != before:
            back, forth = partial(self._rename, run, before), partial(self._rename, run, run.name)
            self._push(_Change(f"Rename {before}", back, forth))

    def record(self, text: str, message: str, back: Callable[[], None], forth: Callable[[], None]) -> None:
        """Adds an entry for a change of what is shown, which is already made."""
        self._push(_Change(text, back, forth), message)

    def _move(self, place: int, verb: str, move: Callable[[], None]) -> None:
        if not 0 <= place < self._stack.count():
            return
        change = self._stack.command(place)
        text = change.text()
        if self._training.opening:
            self._jobs.refuse("A project is being opened.")
        elif getattr(change, "of_runs", False) and (training := self._training.current) is not None:
            self._jobs.refuse(f"{training.run.name} is in training. Stop it to {verb} “{text}”.")
        else:
            self._recording = False
            try:
                move()
            finally:
                self._recording = True
            self._jobs.tell(f"{'Undone' if verb == 'undo' else 'Redone'}: {text}.")

    def _push(self, change: _Change, message: str = "") -> None:
        self._stack.push(change)
        if message and self._telling:
            self._jobs.tell(message)
            self._jobs.notify(message, "Undo", self.undo, partial(self._is_last, change))

    def _is_last(self, change: _Change) -> bool:
        return self._stack.index() > 0 and self._stack.command(self._stack.index() - 1) is change

    def _record_sources(self) -> None:
        before, self._sources = self._sources, self._corpus.sources
        self._weights = self._corpus.weights
        left_out, self._left_out = self._left_out, self._corpus.left_out
        after = self._sources
        if self._recording and not _same_text(before, after):
            text, message = _sources_texts(before, after)
            undivided = self._corpus.splitting
            back = partial(self._set_sources, before, left_out, undivided)
            forth = partial(self._set_sources, after, self._left_out, undivided)
            self._push(_Change(text, back, forth), message)

    def _record_weights(self) -> None:
        before, self._weights = self._weights, self._corpus.weights
        if self._recording:
            named = [
                entry.name
                for entry in entries_of(self._sources)
                if any(before[place] != self._weights[place] for place in entry.places)
            ]
            text = f"Weight of {named[0]}" if len(named) == 1 else _SEVERAL_WEIGHTS
            self._push(_WeightsChange(text, before, self._weights, self._corpus.moves, self._corpus.set_weights))

    def _record_left_out(self) -> None:
        corpus = self._corpus
        if corpus.is_leaving_out:
            return
        before, self._left_out = self._left_out, corpus.left_out
        awaited, self._awaited = self._awaited, None
        if self._recording and awaited is None and before != corpus.left_out and not corpus.leaving_problem:
            how_much = corpus.left_out_text
            message = f"Left out of the corpus: {how_much}." if how_much else "Nothing is left out of the corpus now."
            back, forth = partial(self._leave_out, before), partial(self._leave_out, corpus.left_out)
            self._push(_Change(_left_out_title(before, corpus.left_out), back, forth), message)

    def _leave_out(self, what: LeavingOut) -> None:
        self._awaited = what
        self._corpus.leave_out(what)

    def _record_settings(self) -> None:
        before, self._settings = self._settings, self._training.settings
        if self._recording and before != self._settings:
            runs = len(self._runs.all)
            self._push(_SettingsChange(before, self._settings, runs, self._training.set_settings))

    def _set_sources(self, sources: tuple[Source, ...], left_out: LeavingOut, undivided: bool) -> None:
        self._corpus.set_sources(sources, left_out)
        if undivided and sources:
            # These sources were recorded before they were split into documents.
            self._corpus.split()

    def _rename(self, run: StudioRun, name: str) -> None:
        self._runs.rename(self._runs.now(run), name)

    def _bring_back(self, run: StudioRun, at: int, playhead: int | None) -> None:
        run = self._runs.now(run)
        self._runs.bring_back(run, at)
        if playhead is not None:
            self._runs.activate(run)
            self._view.set_playhead(playhead)

    def _delete(self, run: StudioRun) -> None:
        run = self._runs.now(run)
        # When weights return to those of another run, the one that followed them goes.
        if run in self._runs.all:
            self._runs.delete(run)


def _same_text(before: tuple[Source, ...], after: tuple[Source, ...]) -> bool:
    """Whether at most the division into documents differs, which depends on the settings."""
    return len(before) == len(after) and all(old.data is new.data for old, new in zip(before, after, strict=True))


def _sources_texts(before: tuple[Source, ...], after: tuple[Source, ...]) -> tuple[str, str]:
    """The text of an entry, and the message about it; "" for none."""
    sources_before, now = set(before), set(after)
    gone, new = [source for source in before if source not in now], [one for one in after if one not in sources_before]
    if gone and new:
        if not {source.path for source in gone} & {source.path for source in new if source.path is not None}:
            return f"Replace {_named(gone)}", ""
        return (f"Reload {_named(new)}" if len(before) == len(after) else "Change Corpus"), ""
    if gone:
        text = "Clear Corpus" if not after and len(gone) > 1 else f"Remove {_named(gone)}"
        return text, f"Removed {_named(gone)}."
    return (f"Add {_named(new)}" if new else "Change Corpus"), ""


def _left_out_title(before: LeavingOut, after: LeavingOut) -> str:
    """The text of an entry: what is left out that was not before, else that less is."""
    if not after:
        return "Leave Nothing Out"
    names = [name.replace("-", " ").title() for name, _ in after.rules if name not in dict(before.rules)]
    documents = len(set(after.documents) - set(before.documents))
    lines = len(set(after.lines) - set(before.lines))
    names += [several(documents, "Document")] if documents else []
    names += [several(lines, "Line")] if lines else []
    return f"Leave Out {', '.join(names)}" if names else "Leave Out Less"


def _named(sources: list[Source]) -> str:
    if len(sources) == 1:
        return sources[0].name
    is_one = len(set(entries(sources))) == 1
    return entry_name(sources[0]) if is_one else several(len(sources), "source")
