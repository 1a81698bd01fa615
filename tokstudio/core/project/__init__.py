"""The project file `.tokstudio`: its model, reader and writer, and the recorder for crashes.

Imports `core.formats`, `core.training` and the folders below them.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from tokstudio.core.base.leftovers import SUFFIX
from tokstudio.core.project.model import (
    EXPERIMENT,
    Project,
    ProjectRun,
    ProjectSource,
    ProjectTokenizer,
    TokenizerFile,
    trained_on_state,
)
from tokstudio.core.project.reader import RestoredSource, keep_source_work, open_work, reopen_source_work
from tokstudio.core.project.recorder import LeftBehind, Recorder, recoverable_work
from tokstudio.core.project.tokenizers import (
    keep_changed_work,
    keep_tokenizer_work,
    load_project,
    reopen_tokenizer_work,
    save_project,
    tokenizer_of_entry_work,
)
from tokstudio.core.project.writer import save_work

__all__ = [
    "EXPERIMENT",
    "SUFFIX",
    "LeftBehind",
    "Project",
    "ProjectRun",
    "ProjectSource",
    "ProjectTokenizer",
    "Recorder",
    "RestoredSource",
    "TokenizerFile",
    "keep_changed_work",
    "keep_source_work",
    "keep_tokenizer_work",
    "load_project",
    "open_work",
    "recoverable_work",
    "reopen_source_work",
    "reopen_tokenizer_work",
    "save_project",
    "save_work",
    "tokenizer_of_entry_work",
    "trained_on_state",
]
