"""Tokenizers in a project: files of opened ones are kept whole and read again; those that were changed, as JSON.

The functions for Python save and open projects that have only tokenizers.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.leftovers import SUFFIX
from tokstudio.core.base.private_folders import TemporaryFolder
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.beside import usual_name
from tokstudio.core.formats.gguf.format import is_gguf, vocabulary_work
from tokstudio.core.formats.loading import load_work
from tokstudio.core.project.model import Project, ProjectRun, ProjectTokenizer, TokenizerFile
from tokstudio.core.project.reader import open_work
from tokstudio.core.project.schema import from_json, to_json
from tokstudio.core.project.whole_tokenizer import tokenizer_of, tokenizer_values
from tokstudio.core.project.writer import save_work
from tokstudio.core.text.utf8 import AnyPath

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_PIECE = 1 << 20
_OURS = "tokstudio-tokenizer.json"  # of a tokenizer that was changed here, which has no files


def save_project(tokenizers: Mapping[str, Tokenizer], path: AnyPath) -> Path:
    """Saves tokenizers that were trained here as a new project, which holds the run of every algorithm.

    A project has whole runs: of a tokenizer from `at` all merges. It does not have their texts.

    Args:
        tokenizers: Each with the name of its run.
        path: A new file; its name ends in `.tokstudio`.

    Raises:
        ConfigError: A tokenizer has no run, or the name of the file has another ending.
        FormatError: The file exists, or it cannot be written.
    """
    place, runs = Path(path), list[ProjectRun]()
    if place.suffix != SUFFIX:
        raise ConfigError(f"{file_name(place)}: the name of a project must end in {SUFFIX}.")
    if place.exists():
        raise FormatError(f"{file_name(place)}: this file exists already: give the project another name.")
    for name, tokenizer in tokenizers.items():
        if tokenizer.run is None:
            raise ConfigError(f"{shown(name)} has no run, which is what a project keeps: export it instead.")
        runs.append(ProjectRun(name, tokenizer.run))
    return finish(save_work(Project(runs=tuple(runs), active=0 if runs else None), place))


def load_project(path: AnyPath) -> dict[str, Tokenizer]:
    """The tokenizers of all runs of a project, by their names; the last of several runs with one name.

    Raises:
        FormatError: The project cannot be read.
    """
    return {entry.name: finish(tokenizer_of_entry_work(entry)) for entry in finish(open_work(Path(path))).runs}


def tokenizer_of_entry_work(entry: ProjectRun | ProjectTokenizer) -> Work[Tokenizer]:
    """The tokenizer of a run of a project, or one that was opened or changed; raises as `reopen_tokenizer_work`."""
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

    if isinstance(entry, ProjectRun):
        yield Progress("reading")
        return Tokenizer.from_run(entry.run)
    return (yield from reopen_tokenizer_work(entry))


def keep_tokenizer_work(name: str, files: Sequence[Path], pattern: str | None = None) -> Work[ProjectTokenizer]:
    """The tokenizer for a project; FormatError where one of its files, which are `Loaded.files`, cannot be read."""
    kept: list[TokenizerFile] = []
    for file in files:
        pieces: list[bytes] = []
        try:
            if is_gguf(file):
                # Not the model around it.
                content = yield from vocabulary_work(file, file_name(file))
                kept.append(TokenizerFile(usual_name(file), content))
                continue
            with file.open("rb") as content:
                while piece := content.read(_PIECE):
                    pieces.append(piece)
                    yield Progress("reading")
        except OSError as error:
            raise FormatError(f"{file_name(file)}: the file cannot be read: {error.strerror or error}.") from error
        kept.append(TokenizerFile(usual_name(file), b"".join(pieces)))
    return ProjectTokenizer(name, tuple(kept), pattern)


def keep_changed_work(name: str, tokenizer: Tokenizer) -> Work[ProjectTokenizer]:
    """A tokenizer that was changed here, for a project; every format of another program might lose something of it."""
    yield Progress("keeping")
    content = to_json(tokenizer_values(tokenizer)).encode()
    return ProjectTokenizer(name, (TokenizerFile(_OURS, content),))


def reopen_tokenizer_work(kept: ProjectTokenizer) -> Work[Tokenizer]:
    """Reads a kept tokenizer like any file; FormatError where its files are damaged, or cannot be written for that."""
    if kept.files[0].name == _OURS:
        yield Progress("reading")
        return _changed(kept)
    try:
        with TemporaryFolder() as folder:
            for file in kept.files:
                place = folder / usual_name(Path(file.name))
                place.parent.mkdir(exist_ok=True)
                yield from _write_work(place, file.content)
            return (yield from load_work(folder / kept.files[0].name, kept.pattern)).tokenizer
    except OSError as error:
        raise FormatError(f"{kept.name}: its files cannot be written: {error.strerror or error}.") from error


def _changed(kept: ProjectTokenizer) -> Tokenizer:
    try:
        values = from_json(kept.files[0].content.decode())
        return tokenizer_of(values if isinstance(values, dict) else {})
    except (ConfigError, ValueError) as error:
        raise FormatError(f"{kept.name}: its values are damaged.") from error


def _write_work(path: Path, content: bytes) -> Work[None]:
    with path.open("wb") as file:
        for at in range(0, len(content), _PIECE):
            file.write(content[at : at + _PIECE])
            yield Progress("reading", at, len(content))
