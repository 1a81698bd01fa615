"""Determines the merge that the Why pane explains, or why there is none."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass

from tokstudio.core.base.wording import shown
from tokstudio.core.model.run import Run
from tokstudio.gui.session.view_state import ViewState
from tokstudio.gui.state.run import StudioRun

_ASK = "to see the candidate pairs and the rule that decided."
_NO_RUN = f"Train a tokenizer, and choose a merge {_ASK}"
_NO_TOKEN = f"Choose a merge, or a token that a merge made, {_ASK}"
_OF_THE_START = "The tokenizer that training started from has this merge: it was not chosen here."
_NOT_BEGUN = "The corpus is being read. Its pairs can be counted once merging has begun."
_NO_CORPUS = "The corpus of this run is no longer available, so its pairs cannot be counted."


@dataclass(frozen=True, eq=False)
class Asked:
    """A merge of a run."""

    run: StudioRun
    number: int  # the merge, from 1
    made: Run | None  # the run so far; None if its training text is not available
    problem: str = ""  # why its pairs cannot be counted, in a sentence; "" if they can

    def same_as(self, other: Asked) -> bool:
        """Whether another question is about the same merge, with the same availability."""
        return (self.run, self.number, self.problem) == (other.run, other.number, other.problem)

    @property
    def token(self) -> int:
        """The id of the token of the merge."""
        return self.run.id_of_merge(self.number)


def asked(view: ViewState) -> Asked | str:
    """Returns the merge of the token that was chosen last, or a sentence why there is none."""
    run, token = view.run, view.chosen
    if run is None:
        return _NO_RUN
    if not run.has_counts:
        return run.why_no_merges or run.why_no_counts(" of candidate pairs")
    if token is None:
        return _NOT_BEGUN if not run.ready else _NO_TOKEN
    number = run.merge_of(token)
    if number is None:
        return _no_merge(run, token)
    if number <= run.before:
        return _OF_THE_START
    if run.corpus_problem is not None:
        return Asked(run, number, None, f"{run.corpus_problem}, and its pairs cannot be counted.")
    if run.corpus is None:
        return Asked(run, number, None, _NO_CORPUS)
    made = run.so_far()
    return Asked(run, number, made, "" if made is not None else _NOT_BEGUN)


def _no_merge(run: StudioRun, token: int) -> str:
    for text, number in run.special_tokens.items():
        if number == token:
            return f"{shown(text)} is a special token: no merge made it."
    tokens = run.tokenizer.tokens
    if not tokens.in_use(token):
        return _NO_TOKEN
    raw = tokens[token] or b""
    try:
        text = shown(raw.decode())
    except UnicodeDecodeError:
        text = f"The byte {raw.hex().upper()}"
    return f"{text} is a base token: no merge made it."
