"""Projects on the command line: their content, and the runs in them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokstudio.cli.process.terminal import Console
from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.wording import several
from tokstudio.core.model.config import TITLES
from tokstudio.core.project import SUFFIX, Project, ProjectTokenizer, open_work, tokenizer_of_entry_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer

Rows = dict[str, list[dict[str, Any]]]


def is_project(path: Path) -> bool:
    """Whether a path names a project."""
    return path.suffix == SUFFIX and not path.is_dir()


def load_run(path: Path, name: str | None, console: Console) -> Tokenizer:
    """The tokenizer of one run of a project; `name` is None where there is only one.

    Raises:
        FormatError: The project cannot be read.
        ConfigError: It has no such run, or several.
    """
    runs = console.finish(open_work(path)).runs
    matching = [entry for entry in runs if name in (None, entry.name)]
    if len(matching) == 1:
        return console.finish(tokenizer_of_entry_work(matching[0]))
    names = ", ".join(f'"{entry.name}"' for entry in runs) or "none"
    if name is None:
        raise ConfigError(f"{file_name(path)}: choose a run with --run; the runs are: {names}.")
    said = f"{len(matching)} runs are" if matching else "no run is"
    raise ConfigError(f'{file_name(path)}: {said} called "{name}"; the runs are: {names}.')


def load_runs(path: Path, console: Console) -> list[tuple[str, Tokenizer, tuple[str, ...]]]:
    """The names and tokenizers of all runs of a project, and the texts that only the project says they were trained on.

    Raises:
        FormatError: The project cannot be read.
        ConfigError: It has no runs.
    """
    runs = console.finish(open_work(path)).runs
    if not runs:
        raise ConfigError(f"{file_name(path)}: there are no runs in this project.")
    made = [console.finish(tokenizer_of_entry_work(entry)) for entry in runs]
    texts = (entry.trained_on if isinstance(entry, ProjectTokenizer) else () for entry in runs)
    return list(zip((entry.name for entry in runs), made, texts, strict=True))


def project_rows(path: Path, console: Console) -> Rows:
    """The content of a project as values for JSON."""
    project = console.finish(open_work(path))
    sources = [
        {
            "name": source.name,
            "path": None if source.path is None else str(source.path),
            "bytes": source.bytes,
            "encoding": source.encoding,
            "sha256": source.sha256,
            "in_corpus": source.in_corpus,
        }
        for source in project.sources
    ]
    return {"sources": sources, "runs": list(_runs(project))}


def project_lines(rows: Rows) -> Iterator[str]:
    """The same as text, a line each; control characters are not yet replaced."""
    yield "Format   TokStudio project"
    for source in rows["sources"]:
        where = source["path"] or "saved in the project"
        apart = "" if source["in_corpus"] else ", not in the corpus"
        yield f"Source   {source['name']}, {several(source['bytes'], 'byte')}, {where}{apart}"
    for run in rows["runs"]:
        chosen = ", active" if run["active"] else ""
        if "merges" in run:
            size = f"{several(run['merges'], 'merge')}, {run['vocabulary_size']:,} tokens"
            how = f"{TITLES[run['algorithm']]}, {size}, pattern {run['pattern']}, {run['ended']}"
        else:
            how = f"opened from a file ({', '.join(run['files'])})"
        yield f"Run      {run['name']}: {how}{chosen}"


def _runs(project: Project) -> Iterator[dict[str, Any]]:
    for number, entry in enumerate(project.runs):
        common = {"name": entry.name, "active": number == project.active}
        if isinstance(entry, ProjectTokenizer):
            yield {**common, "files": [file.name for file in entry.files]}
            continue
        run = entry.run
        yield {
            **common,
            "algorithm": run.config.algorithm,
            "merges": len(run),
            "vocabulary_size": run.vocabulary_size,
            "base": run.config.base,
            "pattern": run.config.pattern,
            "special_tokens": dict(run.special_tokens),
            "ended": run.ended,
            "bytes_per_token": run.bytes_per_token(),
            "sources": list(entry.sources),
        }
