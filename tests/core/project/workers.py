"""A process whose forks train, record and save for ever, to be killed: `python -m tests.core.project.workers FOLDER`.

It prepares the compiled loops once. For every line it reads, the name of a kind, it forks a worker, prints `pid N`, and
`dead` when the worker is gone. The worker prints what it has done, each line after it is done.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.core.project.projects import LINES
from tokstudio import Corpus, Trainer, TrainingConfig
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.core.project import Project, ProjectRun, Recorder, keep_source_work, save_work

CORPUS = Corpus((Source.from_texts([LINES * 5, "".join(str(number**5) for number in range(300))]),))
KINDS = {
    "bytes": TrainingConfig(vocabulary_size=700, special_tokens=["<s>"]),
    "gpt2": TrainingConfig(vocabulary_size=400, pattern="gpt2", special_tokens=["<s>"], special_placement="first"),
    "characters": TrainingConfig(vocabulary_size=300, base="characters"),
}
BATCH = 7


def say(*words):
    """Prints a line at once and in one piece."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def project(number, run, sources):
    """The project of a round: large enough that writing it takes a while."""
    return Project(
        sources, (ProjectRun(f"Run {number}", run, (0,)),), 0, {"number": number, "text": f"{number} " * 200_000}
    )


def work(folder, kind):
    config = KINDS[kind]
    recorder = Recorder(folder / "recovery")
    sources = (finish(keep_source_work(CORPUS.sources[0])),)
    number = int((folder / "number").read_text())
    while True:
        number += 1
        trainer = Trainer(CORPUS, config)
        while trainer.prepared is None:
            trainer.advance()
        finish(recorder.begin_work(ProjectRun(f"Run {number}", trainer.run, (0,)), sources))
        say("begun", number)
        while trainer.ended is None:
            recorder.append(trainer.advance(BATCH), trainer.seconds)
            say("merges", trainer.merges_made)
        recorder.finish(trainer.run)
        say("saving", number)
        finish(save_work(project(number, trainer.run, sources), folder / "mine.tokstudio"))
        say("saved", number)
        finish(recorder.autosave_work(project(number, trainer.run, sources)))
        say("kept", number)
        recorder.discard()
        assert recorder.problem is None, recorder.problem


def main():
    folder = Path(sys.argv[1])
    for config in KINDS.values():
        list(Trainer(CORPUS, config))
    say("ready")
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                work(folder, line.strip())
            except BaseException as error:
                say("failed", repr(error))
            os._exit(1)
        say("pid", pid)
        os.waitpid(pid, 0)
        say("dead")


if __name__ == "__main__":
    main()
