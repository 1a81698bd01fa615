"""Why an action is not available: one sentence for the user, or None."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tokstudio.core.comparison.figures import FIGURES
from tokstudio.core.comparison.intervals import INTERVALS
from tokstudio.core.corpus.corpus import ONCE
from tokstudio.core.model.algorithms import PlainBPE
from tokstudio.core.tokenizer.library_tokenizer import why_fixed
from tokstudio.gui.session.session import Session
from tokstudio.gui.session.training.control import BY_LIBRARY
from tokstudio.gui.state.problems import is_data_set
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.training_plans import has_mixture, may_have_content

Obstacle = Callable[[Session], str | None]


def _first(*obstacles: Obstacle) -> Obstacle:
    """What gives the first reason of several obstacles."""
    return lambda session: next(filter(None, (obstacle(session) for obstacle in obstacles)), None)


def _unless(holds: Callable[[Session], object], reason: str, *others: Obstacle) -> Obstacle:
    """What gives a reason unless something holds; the reasons of others come first."""
    return _first(*others, lambda session: None if holds(session) else reason)


always = _first()
nothing_to_undo = _unless(lambda s: s.history.undo_text, "There is nothing to undo.")
nothing_to_redo = _unless(lambda s: s.history.redo_text, "There is nothing to redo.")

no_corpus = _unless(lambda s: s.corpus.sources, "The corpus is empty.")
no_mixture = _unless(lambda s: has_mixture(s.corpus.sources), "The corpus has only one source.", no_corpus)
no_content = _unless(
    lambda s: may_have_content(s.corpus.remaining, s.comparison.parallel_languages),
    "Fewer than two sources are in a language of the parallel texts: name them like these, such as de.txt, or open "
    "others in Compare.",
    no_mixture,
)
as_they_are = _unless(lambda s: set(s.corpus.weights) != {ONCE}, "All sources count once.", no_mixture)
nothing_left_out = _unless(
    lambda s: len(s.corpus.left) or s.corpus.is_leaving_out, "Nothing is left out of the corpus.", no_corpus
)
no_data_set = _unless(
    lambda s: any(map(is_data_set, s.corpus.sources)),
    "No source is a data set, such as JSON Lines, CSV or Parquet.",
    no_corpus,
)

nothing_explored = _unless(
    lambda s: s.exploring.table is not None, "Nothing is listed: open the Explore pane with a text.", no_corpus
)

cannot_train_a_sample = _unless(lambda s: not s.training.busy, "Training is in progress.")
no_training = _unless(lambda s: s.training.busy, "No training is in progress.")
_by_library = _unless(lambda s: s.training.by_library is None, BY_LIBRARY)
cannot_pause = _unless(lambda s: s.training.state != "idle", "No training is in progress.", _by_library)
not_played = _unless(lambda s: s.training.played, "No training is being played.")
nothing_waits = _unless(lambda s: s.queue.waiting, "No training waits for another.")
no_parallel_texts = _unless(lambda s: s.training.settings.parallel, "There are no parallel texts.")
no_sample = _unless(
    lambda s: s.training.sample_size is not None, "The whole corpus should fit into memory.", cannot_train_a_sample
)

no_run = _unless(lambda s: s.runs.active is not None, "Train a tokenizer first, or open one.")
no_pane_text = _unless(lambda s: s.view.text, "The Text pane is empty.")
no_text = _first(no_run, no_pane_text)
_in_training = _unless(lambda s: s.training.current is None, "Training is in progress: its run stays active.")
no_other_run = _unless(lambda s: len(s.runs.all) > 1, "There is no other run.", _in_training)
_follows_weights = _unless(
    lambda s: s.runs.live is None or s.runs.live is not s.runs.active,
    "The run follows the weights until they stop changing.",
)
no_kept_run = _first(_follows_weights, no_run)
_still_trains = _unless(
    lambda s: s.runs.active is None or s.runs.active.ended is not None, "Stop the training first; the run is kept."
)
run_in_the_making = _first(_still_trains, no_kept_run)
no_bytes = _unless(
    lambda s: s.runs.active is None or not s.runs.active.ready or s.runs.active.byte_level,
    "The tokens of this tokenizer are made of characters.",
)


def cannot_train_several(session: Session) -> str | None:
    if session.queue.total:
        return "Several trainings are in progress."
    return session.training.corpus_obstacle


def cannot_step(session: Session) -> str | None:
    return None if session.training.state == "paused" else session.training.step_obstacle


def no_need_to_force(session: Session) -> str | None:
    if session.training.lacks_memory_alone:
        return None
    return session.training.obstacle or "There should be enough memory: use Train."


def cannot_continue(session: Session) -> str | None:
    if session.training.can_continue(session.runs.active):
        return None
    if session.runs.active is not None and session.runs.active.corpus_problem is not None:
        return f"{session.runs.active.corpus_problem}."
    return "Choose a run of this corpus, and set a larger vocabulary or a lower frequency."


def no_specials(session: Session) -> str | None:
    if session.runs.all and not any(run.special_tokens for run in session.runs.all):
        several = len(session.runs.all) > 1
        return f"{'None of the tokenizers has' if several else 'The tokenizer has no'} special tokens."
    return no_run(session)


def no_dropout(session: Session) -> str | None:
    run = session.runs.active
    reason = run.tokenizer.why_no_dropout if run is not None and run.ready else None
    return reason or no_run(session)


def no_trained_run(session: Session) -> str | None:
    if session.runs.active is not None and not session.runs.active.has_counts:
        return session.runs.active.why_no_counts()
    return no_run(session)


no_counts = _first(no_trained_run, run_in_the_making)


def pattern_is_known(session: Session) -> str | None:
    run = session.runs.active
    if run is None or run.origin is None:
        return "Only the pattern of an opened tokenizer can be changed: train again to split text differently."
    return why_pattern_stays(run) or None


def why_pattern_stays(run: StudioRun) -> str:
    """Why the pattern of a tokenizer that was not trained here cannot be chosen; "" if it can."""
    if run.was_changed:
        return f"The pattern of this tokenizer stays: {run.how_made}."
    says = run.origin is not None and run.origin.says_pattern
    return "The tokenizer's files already say how it splits text." if says else ""


def cannot_measure_held_out(session: Session) -> str | None:
    run = session.runs.active
    if run is None or run.config is None or not run.config.held_out:
        return no_run(session) or "This run has no held-out text."
    if run.held_out.tokens is not None:
        return "The held-out text has been measured."
    return None if run.held_out.problem else "The held-out text is measured when training has ended."


def nothing_compared(session: Session) -> str | None:
    """Why there is no comparison to copy or write."""
    comparison = session.comparison.comparison
    if comparison is None or not comparison.measured or not comparison.compared:
        return "Nothing is compared: open the Compare pane with a tokenizer and a text."
    if session.comparison.busy:
        return "The comparison is being measured."
    if not session.comparison.is_measured:
        return "The comparison is not complete: choose Measure in the menu Compare."
    return None


def no_engines(session: Session) -> str | None:
    """Why there is no table of libraries to write."""
    return (
        None if session.comparison.engines else "No libraries are compared: press Run on the page Engines of Compare."
    )


def no_figure(session: Session) -> str | None:
    """Why the shown figure cannot be copied."""
    comparison = session.comparison.comparison
    wrong = comparison is not None and comparison.base is None and session.comparison.figure == "premium"
    return nothing_compared(session) or ("Premiums need texts with the same lines." if wrong else None)


def no_intervals(session: Session) -> str | None:
    """Why the shown figure has no intervals; they can always be taken away."""
    if session.comparison.intervals or session.comparison.figure in INTERVALS:
        return None
    titles = (FIGURES[name].title for name in INTERVALS if name in FIGURES)
    return f"Intervals are known of these figures: {', '.join(titles)}."


def nothing_to_measure(session: Session) -> str | None:
    """Why there is nothing to measure for the comparison."""
    state = session.comparison
    untouched = state.rows is None and not (state.problem or state.cancelled or state.busy)
    if untouched or not state.columns:
        return "Nothing is compared: open the Compare pane with a tokenizer and a text."
    if state.busy:
        return "The comparison is being measured."
    comparison = state.comparison
    done = comparison is not None and state.is_measured and not comparison.errors
    return "Everything is measured." if done and not (state.problem or state.cancelled) else None


def no_held_out_text(session: Session) -> str | None:
    run = session.runs.active
    if run is None or run.config is None or not run.config.held_out or run.corpus is None:
        return no_run(session) or "The active run has no held-out text."
    return None if run.corpus_problem is None else f"{run.corpus_problem}."


def cannot_count_uses(session: Session) -> str | None:
    if session.runs.active is not None and session.runs.active.has_counts:
        return "The uses of a trained run are already known."
    if session.runs.counting_uses:
        return "The uses are being counted."
    return no_run(session) or no_corpus(session)


def _cannot_change(session: Session, *, whole_words: bool = False) -> str | None:
    run = session.runs.active
    if run is None or (run.config is not None and run.config.algorithm.is_changeable):
        return run_in_the_making(session)
    if run.has_counts and (reason := run_in_the_making(session)):
        return reason
    return why_fixed(run.tokenizer, whole_words)


def _not_of_bytes(session: Session) -> str | None:
    if session.runs.active is None or session.runs.active.byte_level:
        return None
    return "Training can go on only from a tokenizer made of bytes; this one is made of characters."


cannot_prune: Obstacle = _cannot_change
cannot_change_specials: Obstacle = partial(_cannot_change, whole_words=True)
cannot_extend = _unless(
    lambda s: s.training.settings.algorithm == PlainBPE.name,
    "Training goes on from a tokenizer by plain BPE only: choose it in Configure.",
    *(cannot_change_specials, _not_of_bytes, lambda s: s.training.corpus_obstacle),
)


def _no_merged_token(session: Session) -> str | None:
    run, token = session.runs.active, session.view.token
    if run is None or token is None:
        return no_run(session) or "Select a token first."
    is_merged = run.ready and run.tokenizer.tokens.in_use(token) and run.tokenizer.parts(token) is not None
    return None if is_merged else "Select a token that a merge makes: bytes and special tokens stay."


cannot_forbid = _first(_no_merged_token, lambda s: s.training.obstacle)
cannot_prune_tokens = _first(cannot_prune, _no_merged_token)
nothing_to_prove = _unless(
    lambda s: s.runs.active is not None and s.runs.active.made_from_another,
    "This tokenizer was not made from another.",
    run_in_the_making,
)


def no_tree(session: Session) -> str | None:
    run, token = session.runs.active, session.view.token
    if run is None or token is None:
        return no_run(session) or "Select a token first."
    is_merged = run.ready and run.tokenizer.is_known(token) and run.tokenizer.parts(token) is not None
    return None if is_merged else run.why_no_merges or "No merge makes this token: it has no tree."


def no_playhead(session: Session) -> str | None:
    reason = session.runs.active.no_playhead if session.runs.active is not None else None
    return f"No playhead: {reason}." if reason is not None else no_run(session)


def no_target(session: Session) -> str | None:
    if session.view.target is None:
        return "Find a token first."
    return None if session.view.occurrences[1] else not_in_text(session)


def are_specials_off(session: Session) -> bool:
    """Whether the target is a special token while special tokens in the text are not recognised."""
    run, view = session.runs.active, session.view
    return run is not None and not view.specials_recognised and view.target in run.special_tokens.values()


def not_in_text(session: Session) -> str:
    """Why the text has no occurrence of the target."""
    if are_specials_off(session):
        return "Special tokens are not recognised in the text: turn on Special Tokens."
    return "The token is not in the text of the Text pane."


cannot_fork = _first(no_playhead, cannot_extend)
nothing_to_play = _unless(
    lambda s: s.runs.active is None or len(s.runs.active), "There are no merges yet.", no_playhead
)
at_start = _unless(lambda s: s.view.playhead > 0, "The playhead is at the start.", no_playhead)
at_end = _unless(
    lambda s: s.runs.active is None or s.view.playhead < len(s.runs.active), "The playhead is at the end.", no_playhead
)


def why_no_counts(session: Session) -> str:
    """Why the counts of the active run are not known at the playhead; "" if they are, or will be without a request."""
    run = session.runs.active
    if run is None or run.has_counts or not run.ready or run.uses.at(session.view.playhead) is not None:
        return ""
    if session.runs.counting_uses:
        return "The uses are being counted."
    if run.uses.counted is not None:
        return f"The uses were counted after merge {run.uses.counted.merges:,}, not here."
    unknown = "The tokenizer's file does not say how often each token is used."
    if run.was_changed:
        unknown = f"How often each token is used is not known: {run.how_made}."
    return unknown if session.corpus.sources else f"{unknown} Open a text to count them."
