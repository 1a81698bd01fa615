"""Projects on the command line: their content, and the runs in them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokstudio.cli.process.terminal import Console
from tokstudio.cli.reading import LEFT_OUT_COLUMNS
from tokstudio.core.analysis.token_store import hash_work
from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.wording import in_units, percent_text, several
from tokstudio.core.corpus.corpus import ONCE
from tokstudio.core.corpus.leaving_out import told_totals
from tokstudio.core.model.algorithms import ALGORITHMS
from tokstudio.core.project import EXPERIMENT, Project, ProjectTokenizer, open_work, tokenizer_of_entry_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer

Rows = dict[str, Any]

_BEFORE = " " * 9  # before further lines about a source or a run


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
    tokenizers = [console.finish(tokenizer_of_entry_work(entry)) for entry in runs]
    texts = (entry.trained_on if isinstance(entry, ProjectTokenizer) else () for entry in runs)
    return list(zip((entry.name for entry in runs), tokenizers, texts, strict=True))


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
            "weight": in_units(source.weight, ONCE) if source.in_corpus else None,
            "reading": None if source.reading is None else source.reading.to_json(),
            "value": source.value,
        }
        for source in project.sources
    ]
    # How to train without the project; None where nobody has described it.
    experiment = project.state.get(EXPERIMENT) or None
    return {"sources": sources, "runs": list(_runs(project, console)), EXPERIMENT: experiment}


def project_lines(rows: Rows) -> Iterator[str]:
    """The same as text, a line each; control characters are not yet replaced."""
    yield "Format   TokStudio project"
    for source in rows["sources"]:
        where = source["path"] or "saved in the project"
        apart = "" if source["in_corpus"] else ", not in the corpus"
        weight = "" if source["weight"] in (1, None) else f", weight {source['weight']:,}"
        yield f"Source   {source['name']}, {several(source['bytes'], 'byte')}, {where}{apart}{weight}"
        if read := list(_read(source)):
            yield f"{_BEFORE}read: {', '.join(read)}"
        yield f"{_BEFORE}SHA-256 {source['sha256']}"
    for run in rows["runs"]:
        chosen = ", active" if run["active"] else ""
        if "merges" in run:
            size = f"{several(run['merges'], 'merge')}, {run['vocabulary_size']:,} tokens"
            how = f"{ALGORITHMS[run['algorithm']].title}, {size}, pattern {run['pattern']}, {run['ended']}"
        else:
            how = run["made"] or f"opened from a file ({', '.join(run['files'])})"
        yield f"Run      {run['name']}: {how}{chosen}"
        yield from (f"{_BEFORE}{line}" for line in _more(run))


def _read(source: dict[str, Any]) -> Iterator[str]:
    """How a file was read, and which documents of it were kept."""
    reading: dict[str, Any] = source["reading"] or {}
    words = {
        "field": "column {}",
        "split_by": "divided by the column {}",
        "delimiter": "columns separated by {!r}",
        "least_characters": "documents of fewer than {:,} characters left out",
        "most_characters": "documents cut after {:,} characters",
        "most_bytes": "the first {:,} bytes",
        "deduplicate": "documents that occurred before left out",
        "as_text": "as plain text",
        "keep_truncated": "to where it was cut",
        "join_values": "joined with the parts of other data sets by value",
    }
    for name, value in reading.items():
        yield words.get(name, name + " {}").format(value)
        if name == "split_by" and source["value"] is not None:
            yield f"the part {source['value']}"


def _more(run: dict[str, Any]) -> Iterator[str]:
    """The other facts about a run, a line each."""
    if "merges" in run:
        limits = ((run["limit"], "vocabulary size {:,}"), (run["min_frequency"], "minimum frequency {:,}"))
        facts = [f"tie rule {run['tie_break']}", *(text.format(value) for value, text in limits if value is not None)]
        facts += [f"held out {percent_text(run['held_out'], 1)}"] if run["held_out"] else []
        facts += [f"forbidden {', '.join(run['forbidden'])}"] if run["forbidden"] else []
        yield ", ".join(facts)
        if run["weights"]:
            named = (
                f"{each['name']} {each['weight']:,}" if each["name"] else f"{each['weight']:,}"
                for each in run["weights"]
            )
            yield f"weights: {', '.join(named)}"
        if run["left_out"]:
            rows = [tuple(row[name] for name in LEFT_OUT_COLUMNS) for row in run["left_out"]]
            yield f"left out: {told_totals(rows)}"
        yield f"trained on {several(run['corpus_bytes'], 'byte')} of a corpus with the SHA-256 {run['corpus_sha256']}"
        yield f"tokenizer SHA-256 {run['sha256']}"
    for name, digest in run.get("hashes", {}).items():
        yield f"{name}, SHA-256 {digest}"


def _runs(project: Project, console: Console) -> Iterator[dict[str, Any]]:
    for number, entry in enumerate(project.runs):
        common = {"name": entry.name, "active": number == project.active}
        if isinstance(entry, ProjectTokenizer):
            hashes = {file.name: hashlib.sha256(file.content).hexdigest() for file in entry.files}
            yield {**common, "files": [*hashes], "hashes": hashes, "made": _made(entry)}
            continue
        run = entry.run
        corpus, config = run.corpus, run.config
        mixture = corpus.mixture or [("", weight, None) for weight in corpus.weights or ()]
        yield {
            **common,
            "algorithm": config.algorithm.name,
            "merges": len(run),
            "vocabulary_size": run.vocabulary_size,
            "limit": config.vocabulary_size,
            "min_frequency": config.min_frequency,
            "base": config.base,
            "pattern": config.pattern,
            "tie_break": config.tie_break,
            "held_out": config.held_out,
            "forbidden": list(config.forbidden),
            "special_tokens": dict(run.special_tokens),
            "ended": run.ended,
            "bytes_per_token": run.bytes_per_token(),
            "sources": list(entry.sources),
            "weights": [
                {"name": name, "weight": in_units(weight, ONCE), "bytes": size} for name, weight, size in mixture
            ],
            "left_out": [dict(zip(LEFT_OUT_COLUMNS, row, strict=True)) for row in corpus.left_out],
            "corpus_bytes": in_units(corpus.bytes, corpus.weight_scale),
            "corpus_sha256": corpus.sha256,
            "sha256": console.finish(hash_work(Tokenizer.from_run(run))),
            "versions": dict(run.versions),
        }


def _made(entry: ProjectTokenizer) -> str:
    """How the window made a tokenizer, and of what; "" for one that was opened."""
    change, before = (
        value if isinstance(value := entry.state.get(name), str) else "" for name in ("change", "made_of")
    )
    words = "made with other special tokens" if change == "special tokens" else change
    return f"{words} from {before}" if change and before else words
