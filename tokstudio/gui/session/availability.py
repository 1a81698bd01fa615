"""Why an action is not available: one sentence for the user, or None."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable

from tokstudio.core.corpus.corpus import ONCE
from tokstudio.core.model.algorithms import PlainBPE
from tokstudio.core.tokenizer.library_tokenizer import why_fixed
from tokstudio.gui.session.session import Session
from tokstudio.gui.session.training.control import BY_LIBRARY
from tokstudio.gui.state.problems import is_data_set
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.training_plans import has_mixture

Obstacle = Callable[[Session], str | None]


def always(session: Session) -> str | None:
    return None


def nothing_to_undo(session: Session) -> str | None:
    return None if session.history.undo_text else "There is nothing to undo."


def nothing_to_redo(session: Session) -> str | None:
    return None if session.history.redo_text else "There is nothing to redo."


def no_corpus(session: Session) -> str | None:
    return None if session.corpus.sources else "The corpus is empty."


def no_data_set(session: Session) -> str | None:
    known = any(map(is_data_set, session.corpus.sources))
    return no_corpus(session) or (None if known else "No source is a data set, such as JSON Lines, CSV or Parquet.")


def no_mixture(session: Session) -> str | None:
    return no_corpus(session) or (None if has_mixture(session.corpus.sources) else "The corpus has only one source.")


def as_they_are(session: Session) -> str | None:
    same = set(session.corpus.weights) == {ONCE}
    return no_mixture(session) or ("All sources count once." if same else None)


def cannot_train_a_sample(session: Session) -> str | None:
    return "Training is in progress." if session.training.busy else None


def cannot_train_several(session: Session) -> str | None:
    if session.queue.total:
        return "Several trainings are in progress."
    return session.training.corpus_obstacle


def nothing_waits(session: Session) -> str | None:
    return None if session.queue.waiting else "No training waits for another."


def no_parallel_texts(session: Session) -> str | None:
    return None if session.training.settings.parallel else "There are no parallel texts."


def not_running(session: Session) -> str | None:
    if session.training.by_library is not None:
        return BY_LIBRARY
    return None if session.training.state == "running" else "No training is in progress."


def not_paused(session: Session) -> str | None:
    return None if session.training.state == "paused" else "Training is not paused."


def not_played(session: Session) -> str | None:
    return None if session.training.played else "No training is being played."


def no_training(session: Session) -> str | None:
    return None if session.training.busy else "No training is in progress."


def cannot_step(session: Session) -> str | None:
    return None if session.training.state == "paused" else session.training.step_obstacle


def no_sample(session: Session) -> str | None:
    fits = None if session.training.sample_size is not None else "The whole corpus should fit into memory."
    return cannot_train_a_sample(session) or fits


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


def no_run(session: Session) -> str | None:
    return None if session.runs.active is not None else "Train a tokenizer first, or open one."


def no_specials(session: Session) -> str | None:
    if session.runs.all and not any(run.special_tokens for run in session.runs.all):
        several = len(session.runs.all) > 1
        return f"{'None of the tokenizers has' if several else 'The tokenizer has no'} special tokens."
    return no_run(session)


def no_other_run(session: Session) -> str | None:
    if session.training.current is not None:
        return "Training is in progress: its run stays active."
    return None if len(session.runs.all) > 1 else "There is no other run."


def no_text(session: Session) -> str | None:
    return no_run(session) or no_pane_text(session)


def no_dropout(session: Session) -> str | None:
    run = session.runs.active
    reason = run.tokenizer.why_no_dropout if run is not None and run.ready else None
    return reason or no_run(session)


def no_bytes(session: Session) -> str | None:
    if session.runs.active is not None and session.runs.active.ready and not session.runs.active.byte_level:
        return "The tokens of this tokenizer are made of characters."
    return None


def run_in_the_making(session: Session) -> str | None:
    if session.runs.active is not None and session.runs.active.ended is None:
        return "Stop the training first; the run is kept."
    return no_kept_run(session)


def no_kept_run(session: Session) -> str | None:
    if session.runs.live is not None and session.runs.live is session.runs.active:
        return "The run follows the weights until they stop changing."
    return no_run(session)


def no_trained_run(session: Session) -> str | None:
    if session.runs.active is not None and not session.runs.active.has_counts:
        return session.runs.active.why_no_counts()
    return no_run(session)


def no_counts(session: Session) -> str | None:
    return no_trained_run(session) or run_in_the_making(session)


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
    made = session.comparison.comparison
    if made is None or not made.measured or not made.compared:
        return "Nothing is compared: open the Compare pane with a tokenizer and a text."
    if session.comparison.busy:
        return "The comparison is being measured."
    if not session.comparison.is_measured:
        return "The comparison is not complete: choose Measure in the menu Compare."
    return None


def no_figure(session: Session) -> str | None:
    """Why the shown figure cannot be copied."""
    made = session.comparison.comparison
    if made is not None and made.base is None and session.comparison.figure == "premium":
        return nothing_compared(session) or "Premiums need texts with the same lines."
    return nothing_compared(session)


def nothing_to_measure(session: Session) -> str | None:
    """Why there is nothing to measure for the comparison."""
    state = session.comparison
    untouched = state.rows is None and not (state.problem or state.cancelled or state.busy)
    if untouched or not state.columns:
        return "Nothing is compared: open the Compare pane with a tokenizer and a text."
    if state.busy:
        return "The comparison is being measured."
    made = state.comparison
    done = made is not None and state.is_measured and not made.errors
    return "Everything is measured." if done and not (state.problem or state.cancelled) else None


def no_pane_text(session: Session) -> str | None:
    return None if session.view.text else "The Text pane is empty."


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


def cannot_prune(session: Session) -> str | None:
    return _cannot_change(session)


def cannot_change_specials(session: Session) -> str | None:
    return _cannot_change(session, whole_words=True)


def cannot_extend(session: Session) -> str | None:
    run = session.runs.active
    reason = _cannot_change(session, whole_words=True)
    if reason is None and run is not None and not run.byte_level:
        reason = "Training can go on only from a tokenizer made of bytes; this one is made of characters."
    return reason or session.training.corpus_obstacle or _not_plain(session)


def _not_plain(session: Session) -> str | None:
    is_plain = session.training.settings.algorithm == PlainBPE.name
    return None if is_plain else "Training goes on from a tokenizer by plain BPE only: choose it in Configure."


def cannot_fork(session: Session) -> str | None:
    return no_playhead(session) or cannot_extend(session)


def _no_merged_token(session: Session) -> str | None:
    run, token = session.runs.active, session.view.token
    if run is None or token is None:
        return no_run(session) or "Select a token first."
    made = run.ready and run.tokenizer.tokens.in_use(token) and run.tokenizer.parts(token) is not None
    return None if made else "Select a token that a merge makes: bytes and special tokens stay."


def cannot_forbid(session: Session) -> str | None:
    return _no_merged_token(session) or session.training.obstacle


def cannot_prune_tokens(session: Session) -> str | None:
    return cannot_prune(session) or _no_merged_token(session)


def nothing_to_prove(session: Session) -> str | None:
    run = session.runs.active
    made = run is not None and run.made_from_another
    return run_in_the_making(session) or (None if made else "This tokenizer was not made from another.")


def no_tree(session: Session) -> str | None:
    run, token = session.runs.active, session.view.token
    if run is None or token is None:
        return no_run(session) or "Select a token first."
    made = run.ready and run.tokenizer.is_known(token) and run.tokenizer.parts(token) is not None
    return None if made else run.why_no_merges or "No merge makes this token: it has no tree."


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
    return "The token is not in the text."


def nothing_to_play(session: Session) -> str | None:
    empty = session.runs.active is not None and not len(session.runs.active)
    return no_playhead(session) or ("There are no merges yet." if empty else None)


def at_start(session: Session) -> str | None:
    return no_playhead(session) or (None if session.view.playhead > 0 else "The playhead is at the start.")


def at_end(session: Session) -> str | None:
    at_end = session.runs.active is not None and session.view.playhead == len(session.runs.active)
    return no_playhead(session) or ("The playhead is at the end." if at_end else None)


_COUNTING = "The uses are being counted."


def why_no_counts(session: Session) -> str:
    """Why the counts of the active run are not known at the playhead; "" if they are, or will be without a request."""
    run = session.runs.active
    if run is None or run.has_counts or not run.ready or run.uses.at(session.view.playhead) is not None:
        return ""
    if session.runs.counting_uses:
        return _COUNTING
    if run.uses.counted is not None:
        return f"The uses were counted after merge {run.uses.counted.merges:,}, not here."
    unknown = "The tokenizer's file does not say how often each token is used."
    if run.was_changed:
        unknown = f"How often each token is used is not known: {run.how_made}."
    return unknown if session.corpus.sources else f"{unknown} Open a text to count them."
