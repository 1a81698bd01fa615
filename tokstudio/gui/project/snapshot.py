"""Converts the session into a project and back: plain values that a job can use."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from pathlib import Path

import numpy as np

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import printable
from tokstudio.core.corpus.corpus import ONCE, Corpus
from tokstudio.core.corpus.leaving_out import LeavingOut
from tokstudio.core.corpus.open_sources import read_again_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.project import (
    EXPERIMENT,
    Project,
    ProjectRun,
    ProjectSource,
    ProjectTokenizer,
    reopen_source_work,
    reopen_tokenizer_work,
    trained_on_state,
)
from tokstudio.core.project.schema import Json
from tokstudio.gui.project.experiment import text_work
from tokstudio.gui.session.common.corpus import joined_steps
from tokstudio.gui.session.common.source_jobs import KeptSources
from tokstudio.gui.session.common.view_state import Chat
from tokstudio.gui.session.measuring.compared import text_sets_of
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import Problem, changed_since, is_missing, missing_source
from tokstudio.gui.state.run import HeldOutState, RunOrigin, StudioRun, has_wholes, whole_state
from tokstudio.gui.state.training_settings import Documents, Settings

_COMPARISON = "comparison"  # the state of Compare; projects of earlier versions have none
_LONGEST_LAYOUT = 1 << 16
_LARGEST_NUMBER = 1 << 31
_MOST_NAMED = 3


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The session at one moment."""

    sources: tuple[Source, ...]  # the corpus, followed by other sources that runs were trained on
    in_corpus: int  # how many of the sources are in the corpus
    weights: tuple[int, ...]  # the weight of each source in the corpus, in thousandths
    runs: tuple[ProjectRun | ProjectTokenizer, ...]
    active: int | None  # index of the active run
    state: Mapping[str, Json]
    lengths: tuple[tuple[StudioRun, int], ...]  # the runs of the session with their numbers of merges
    left_out: LeavingOut  # of the corpus


@dataclass(frozen=True, eq=False)
class OpenedProject:
    """The content of a project in the form that the session needs."""

    sources: tuple[Source, ...]  # the corpus
    weights: tuple[int, ...]  # of its sources, in thousandths
    kept: tuple[tuple[Source, ProjectSource], ...]  # the records of the sources, for the next save
    runs: tuple[StudioRun, ...]
    active: StudioRun | None
    state: Mapping[str, Json]
    problems: tuple[Problem, ...]  # about sources that have changed
    missing: str = ""  # which texts of Compare are not there any more, as a sentence; "" for none
    left_out: LeavingOut = field(default_factory=LeavingOut)  # of the corpus
    reduced: Corpus | None = None  # the sources without it; None where nothing is left out, or a text is missing
    wholes: tuple[tuple[Source, Source], ...] = ()  # sources of which something is left out, each with its whole text

    def text(self, name: str) -> str:
        """A text of the state; "" if it has none."""
        value = self.state.get(name)
        return value if isinstance(value, str) else ""

    @property
    def layout(self) -> str:
        """The layout of the panes; "" if there is none, or it is too long to be one."""
        layout = self.text("layout")
        return layout if len(layout) <= _LONGEST_LAYOUT else ""


def snapshot(session: Session, layout: str, file: Path | None = None, *, in_training: bool = True) -> Snapshot:
    """Takes a snapshot of the session; quick, for the GUI thread.

    A copy for recovery has the project's `file`, and not the run that is `in_training`, with its merges so far.
    """
    numbers = {source: number for number, source in enumerate(session.corpus.sources)}
    left_out = None if in_training or session.training.current is None else session.training.current.run
    whole = session.corpus.whole
    entries = {run: entry for run in session.runs.all if run is not left_out and (entry := _entry(run, numbers, whole))}
    runs = list(entries)
    state: dict[str, Json] = {
        "settings": session.training.settings.to_plain(),
        "text": session.view.text,
        "chat": session.view.chat.to_plain(),
        "playhead": session.view.playhead,
        "layout": layout,
        _COMPARISON: session.comparison.to_plain(),
    }
    if file is not None:
        state["file"] = str(file)
    if session.corpus.splitting or any(map(is_missing, session.corpus.sources)):
        # Some texts may still have an earlier division: opening divides all of them by the settings.
        state["splitting"] = True
    return Snapshot(
        tuple(numbers),
        len(session.corpus.sources),
        session.corpus.weights,
        tuple(entries.values()),
        runs.index(session.runs.active) if session.runs.active in runs else None,
        state,
        tuple((run, len(run)) for run in runs),
        session.corpus.left_out,
    )


def project_work(taken: Snapshot, kept: KeptSources, folder: Path | None = None) -> Work[Project]:
    """Makes the project; this reads the text of new sources. In a `folder`, it also says how to train without it."""
    sources: list[ProjectSource] = []
    for number, source in enumerate(taken.sources):
        kept_text = yield from kept.keep_work(source)
        weight = taken.weights[number] if number < taken.in_corpus else ONCE
        sources.append(replace(kept_text, in_corpus=number < taken.in_corpus, weight=weight))
    leaving_out = (taken.left_out,) if taken.left_out else ()
    state = dict(taken.state)
    if folder is not None:
        corpus = Corpus(taken.sources[: taken.in_corpus]).weighted(taken.weights)
        settings = Settings.from_plain(state["settings"])
        state[EXPERIMENT] = yield from text_work(folder, corpus, settings, taken.left_out)
    return Project(tuple(sources), taken.runs, taken.active, state, leaving_out)


def run_state(run: StudioRun) -> dict[str, Json]:
    """The other state of a run."""
    return {
        "key": run.key,
        "number": run.number,
        "held_out_ratio": run.held_out.ratio,
        "unknown": run.uses.unknown,
        "written": run.uses.written,
        "saved": run.marks.saved,
        "replaced": run.replaced,
        "exported": run.marks.exported,
        "curve_hidden": run.marks.curve_hidden,
    }


def reopen_work(project: Project) -> Work[OpenedProject]:
    """Reads the files that a project refers to; a changed file does not affect the others.

    Raises:
        FormatError: An opened tokenizer cannot be read.
    """
    texts = _Texts()
    for kept in project.sources:
        yield from texts.reopen_work(kept)
    runs: list[StudioRun] = []
    for entry in project.runs:
        key = _number(entry.state, "key")
        if key < 1 or key in (run.key for run in runs):
            key = max((run.key for run in runs), default=0) + 1
        if isinstance(entry, ProjectTokenizer):
            tokenizer = yield from reopen_tokenizer_work(entry)
            run = StudioRun.opened(key, entry.name, tokenizer, _origin(entry))
            run.note(curve_hidden=entry.state.get("curve_hidden") is True)
            runs.append(run)
        else:
            runs.append((yield from _reopened_run_work(key, entry, texts)))
    left_out, reduced, corpus = joined_steps(project.leaving_out), None, tuple(texts.corpus)
    if left_out and not any(map(is_missing, corpus)):
        try:
            reduced = yield from texts.reduced_work(corpus, (left_out,))
        except TokStudioError as error:
            left_out = LeavingOut()
            texts.problems.append(Problem(f"Nothing is left out any more. {error}"))
    return OpenedProject(
        tuple(texts.corpus),
        tuple(kept.weight for kept in project.sources if kept.in_corpus),
        tuple(texts.kept),
        tuple(runs),
        None if project.active is None else runs[project.active],
        project.state,
        tuple(texts.problems),
        _missing_texts(project.state.get(_COMPARISON)),
        left_out,
        reduced,
        tuple(texts.wholes),
    )


def _missing_texts(comparison: Json) -> str:
    """Which files and folders of Compare are not there, as a sentence; "" for none."""
    sets = text_sets_of(comparison.get("sets") if isinstance(comparison, dict) else None)
    gone = list(dict.fromkeys(path for each in sets for path in each.missing))
    if not gone:
        return ""
    more = f" and {len(gone) - _MOST_NAMED:,} more" if len(gone) > _MOST_NAMED else ""
    listed = f"{', '.join(map(file_name, gone[:_MOST_NAMED]))}{more}"
    verb, back = ("was", "it is back") if len(gone) == 1 else ("were", "they are back")
    return f"{listed} {verb} not found. Compare still lists the text, and can read it when {back}."


def use_sources_work(
    reopened: OpenedProject, sources: tuple[Source, ...], kept: KeptSources, reduced: Corpus | None
) -> Work[OpenedProject]:
    """Replaces the sources of runs, which must not be in use yet, by available ones with the same text.

    The runs can continue then. `kept` has the records of the available sources, and `reduced` is what remains of them
    where something is left out.
    """
    left, same, whole_of = list(sources), dict[Source, Source](), dict(reopened.wholes)
    for source, entry in reopened.kept:
        for kept_source in left:
            if _same_documents(source, kept_source) and (yield from kept.keep_work(kept_source)).sha256 == entry.sha256:
                same[source] = kept_source
                left.remove(kept_source)
                break
    for run in reopened.runs:
        corpus, parts = run.corpus, dict[Source, Source]()
        if corpus is not None and reduced is not None and corpus.leaving_out == reduced.leaving_out:
            wholes = (whole_of.get(source, source) for source in corpus.sources)
            if tuple(same.get(whole) for whole in wholes) == sources:
                parts = dict(zip(corpus.sources, reduced.sources, strict=True))
        run.use_sources(same | parts)
    return replace(reopened, kept=tuple(pair for pair in reopened.kept if pair[0] not in same))


def adopt(session: Session, reopened: OpenedProject) -> None:
    """Replaces the content of the session by a project; nothing may be in training."""
    with session.history.suspended():
        session.corpus.set_sources(())
        session.corpus.remember_wholes(reopened.wholes)
        session.runs.replace_all(list(reopened.runs))
        for source, kept in reopened.kept:
            session.corpus.kept.put(source, kept)
        session.training.set_settings(Settings.from_plain(reopened.state.get("settings")))
        session.corpus.set_sources(reopened.sources, reopened.left_out, reduced=reopened.reduced)
        session.corpus.set_weights(reopened.weights)
        if reopened.state.get("splitting") is True:
            session.corpus.split()
        session.view.set_text(reopened.text("text"))
        session.view.set_chat(Chat.from_plain(reopened.state.get("chat")))
        session.runs.activate(reopened.active)
        session.view.set_playhead(_number(reopened.state, "playhead"))
        session.comparison.restore(reopened.state.get(_COMPARISON))
        for problem in reopened.problems:
            session.corpus.report(problem)
        if reopened.missing:
            session.jobs.report(Problem(reopened.missing))


def adopt_run(session: Session, reopened: OpenedProject) -> StudioRun | None:
    """Adds the run of a recording, unless the session has it already; returns the run.

    An empty corpus is replaced by the run's, so that the run can continue.
    """
    if not reopened.runs or reopened.runs[0].run is None:
        return None
    run, run_of_project = reopened.runs[0], reopened.runs[0].run
    wanted = run.name, run_of_project.config, run_of_project.corpus
    for listed in session.runs.all:
        same = listed.run is not None and (listed.name, listed.run.config, listed.run.corpus) == wanted
        if same and len(listed) >= len(run_of_project):
            return listed
    session.corpus.remember_wholes(reopened.wholes)
    for source, kept in reopened.kept:
        session.corpus.kept.put(source, kept)
    if not session.corpus.sources:
        settings = run_of_project.config.by_name() | {"documents": _documents(reopened.sources)}
        session.training.set_settings(Settings.from_plain(settings))
        steps, reduced = run_of_project.corpus.leaving_out, run.corpus
        is_known = reduced is not None and len(steps) == 1 and reduced.leaving_out == steps
        known = Corpus(reduced.sources, left=reduced.left) if reduced is not None and is_known else None
        session.corpus.set_sources(reopened.sources, joined_steps(steps), reduced=known)
        session.corpus.set_weights(run_of_project.corpus.weights or (ONCE,) * len(reopened.sources))
    session.runs.add(run)
    for problem in reopened.problems:
        session.corpus.report(problem)
    return run


class _Texts:
    """The sources of a project, read again."""

    def __init__(self) -> None:
        self.corpus: list[Source] = []  # those of the corpus, as they are now
        # the text of every source that runs were trained on; a placeholder if it is not available any more
        self.trained_on: list[Source] = []
        self.lost: dict[int, str] = {}  # why a source has changed, by its number
        self.kept: list[tuple[Source, ProjectSource]] = []  # the record of each
        self.problems: list[Problem] = []  # messages about the sources of the corpus
        self._found: dict[tuple[Path | None, str], Source] = {}
        self.wholes: list[tuple[Source, Source]] = []  # sources of which something is left out, with their whole text
        self._reduced: dict[tuple[tuple[Source, ...], tuple[LeavingOut, ...]], Corpus] = {}

    def reduced_work(self, sources: tuple[Source, ...], steps: tuple[LeavingOut, ...]) -> Work[Corpus]:
        """What remains of sources after steps, once for all that need it; raises as `Corpus.without`."""
        if (sources, steps) not in self._reduced:
            corpus = Corpus(sources)
            for step in steps:
                corpus = yield from corpus.without_work(step)
            self.wholes += zip(corpus.sources, sources, strict=True)
            self._reduced[sources, steps] = corpus
        return self._reduced[sources, steps]

    def reopen_work(self, kept: ProjectSource) -> Work[None]:
        """Reads one more source."""
        before, now, fault = missing_source(kept), None, ""
        try:
            source = yield from self._find_work(kept)
            if source is not None:
                before = now = source
            else:
                fault = changed_since(kept)
                if kept.in_corpus and kept.path is not None:
                    # The whole file, even if it is longer than before.
                    documents = kept.documents or "file"
                    again = read_again_work(kept.path, documents, kept.encoding, kept.reading, kept.member, kept.value)
                    now = replace((yield from again), group=kept.group)
        except TokStudioError as error:
            fault = str(error)
        if fault:
            self.lost[len(self.trained_on)] = fault.rstrip(".")
        if fault and kept.in_corpus:
            self.problems.append(Problem(fault, path=kept.path))
        self.trained_on.append(before)
        self.kept.append((before, kept))
        if kept.in_corpus:
            self.corpus.append(before if now is None else now)

    def _find_work(self, kept: ProjectSource) -> Work[Source | None]:
        """The source as it was; None if its file has changed. Each file is read once, however often it is listed."""
        found_before = self._found.get((kept.path, kept.sha256)) if kept.documents is not None else None
        if found_before is not None and kept.documents is not None:
            return (yield from found_before.split_work(kept.documents))
        found_again = yield from reopen_source_work(kept)
        if found_again.changed:
            return None
        source = found_again.source
        if source.size_on_disk != kept.size_on_disk:
            # The file continues after the earlier text: the text is the same, but the file has changed.
            source = replace(source, size_on_disk=kept.size_on_disk, modified=kept.modified)
        if kept.documents is not None:
            self._found[kept.path, kept.sha256] = source
        return source


def _entry(
    run: StudioRun, numbers: dict[Source, int], whole: Callable[[Source], Source]
) -> ProjectRun | ProjectTokenizer | None:
    """The record of a run, with the whole texts of its sources; None before its first merge. Numbers new sources."""
    origin = run.origin
    if origin is not None and origin.kept is not None:
        files: list[Json] = [str(file) for file in origin.files]
        about: dict[str, Json] = {"path": str(origin.path), "files": files, "format": origin.format}
        about |= {"says_pattern": origin.says_pattern, "change": origin.change, "made_of": origin.made_of}
        state = run_state(run) | about | trained_on_state(origin.trained_on)
        return replace(origin.kept, name=run.name, state=state)
    run_so_far = run.so_far()
    if run_so_far is None:
        return None
    corpus = run.corpus if run.corpus is not None else Corpus(())
    wholes = tuple(map(whole, corpus.sources))
    places = tuple(numbers.setdefault(source, len(numbers)) for source in wholes)
    return ProjectRun(run.name, run_so_far, places, run_state(run) | whole_state(corpus, wholes))


def _origin(entry: ProjectTokenizer) -> RunOrigin:
    files, path, kind = (entry.state.get(name) for name in ("files", "path", "format"))
    names = [file for file in files if isinstance(file, str)] if isinstance(files, list) else []
    change = entry.state.get("change")
    if isinstance(change, str) and change:
        made_of = entry.state.get("made_of")
        before = printable(made_of) if isinstance(made_of, str) else ""
        return RunOrigin(Path(entry.name), (), change, True, entry, change, before, entry.trained_on)
    return RunOrigin(
        Path(path if isinstance(path, str) else entry.files[0].name),
        tuple(map(Path, names or [file.name for file in entry.files])),
        kind if isinstance(kind, str) else "",
        entry.state.get("says_pattern") is True,
        entry,
    )


def _reopened_run_work(key: int, entry: ProjectRun, texts: _Texts) -> Work[StudioRun]:
    weights, steps = entry.run.corpus.weights if entry.sources else None, entry.run.corpus.leaving_out
    corpus = Corpus(tuple(texts.trained_on[number] for number in entry.sources), weights)
    why = next((texts.lost[number] for number in entry.sources if number in texts.lost), None)
    if why is None and steps and has_wholes(entry.state):
        try:
            reduced = yield from texts.reduced_work(corpus.sources, steps)
            corpus = replace(reduced, weights=weights)
        except TokStudioError as error:
            why = str(error).rstrip(".")
    problem = None if why is None else f"{why}; {printable(entry.name)} cannot continue"
    counts = _number(entry.state, "number"), _number(entry.state, "replaced")
    run = StudioRun.reopened(key, entry.name, entry.run, corpus, *counts, problem)
    run.uses.begin(entry.run.base_counts, _number(entry.state, "unknown"), _number(entry.state, "written"))
    ratio = entry.state.get("held_out_ratio")
    if isinstance(ratio, float) and 0 < ratio < _LARGEST_NUMBER:
        run.take_held_out(HeldOutState(ratio=ratio))
    exported, hidden = entry.state.get("exported") is True, entry.state.get("curve_hidden") is True
    run.note(saved=min(_number(entry.state, "saved"), len(run)), exported=exported, curve_hidden=hidden)
    return run


def _same_documents(one: Source, other: Source) -> bool:
    """Whether two texts have the same length, division into documents and counts."""
    if len(one.data) != len(other.data) or not np.array_equal(one.ends, other.ends):
        return False
    if one.counts is None or other.counts is None:
        return one.counts is other.counts
    return np.array_equal(one.counts, other.counts)


def _documents(sources: Iterable[Source]) -> Documents:
    return "line" if any(source.counts is None and source.documents > 1 for source in sources) else "file"


def _number(state: Mapping[str, Json], name: str) -> int:
    """A count from a project; 0 if it is invalid."""
    value = state.get(name)
    return value if type(value) is int and 0 <= value < _LARGEST_NUMBER else 0
