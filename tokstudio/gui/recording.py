"""The record of a run in training, as the training's own thread keeps it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass

from tokstudio.core.base.progress import Work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.run import Run
from tokstudio.core.project import ProjectRun, ProjectSource, Recorder
from tokstudio.gui.kept_sources import KeptSources


@dataclass(frozen=True)
class Recording:
    """Who records, and what is known of the sources.

    Attributes:
        recorder: Writes to the disk.
        kept: What projects keep of the sources.
    """

    recorder: Recorder
    kept: KeptSources

    def begin_work(self, key: int, name: str, begun: Run, corpus: Corpus) -> Work[None]:
        """Begins with the run as it is before its next merge."""
        sources: list[ProjectSource] = []
        for source in corpus.sources:
            sources.append((yield from self.kept.keep_work(source)))
        entry = ProjectRun(name, begun, tuple(range(len(sources))), {"key": key})
        yield from self.recorder.begin_work(entry, tuple(sources))
