"""Shows some runs alone in plots and in Compare, as a change that can be undone."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from functools import partial

from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun


def show_alone(session: Session, shown: Collection[StudioRun], text: str, message: str = "") -> None:
    """Hides all other runs and the simple tokenizers.

    Args:
        session: Has the runs.
        shown: The runs.
        text: What Undo and Redo call it.
        message: What is said about it, with an offer to undo it; "" for nothing.
    """
    runs, state = session.runs.all, session.comparison
    earlier = {each: not each.curve_hidden for each in runs}, state.simple
    now = {each: each in shown for each in runs}, frozenset[str]()
    back, forth = partial(_show, session, *earlier), partial(_show, session, *now)
    forth()
    if earlier != now:
        session.history.record(text, message, back, forth)


def _show(session: Session, shown: Mapping[StudioRun, bool], simple: Set[str]) -> None:
    runs = session.runs
    runs.show_curves({run: shown[run] for run in runs.all if run in shown})
    session.comparison.set_simple(simple)
