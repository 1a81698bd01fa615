"""How well a finished run compresses the text that was kept out of it; work for a job."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass

from tokstudio.core.errors import ConfigError
from tokstudio.core.metrics import measure_work
from tokstudio.core.progress import Work
from tokstudio.gui.studio_run import StudioRun

_MOST = 2_000_000  # bytes that are encoded; of more, documents from all over


@dataclass(frozen=True, eq=False)
class Measured:
    """What came of it.

    Attributes:
        run: Whose text it was.
        bytes_per_token: The compression ratio; None where there is no text, or it cannot be encoded.
    """

    run: StudioRun
    bytes_per_token: float | None


def measure_run_work(run: StudioRun) -> Work[Measured]:
    """Encodes the held-out text of a run, or a part of it where it is long."""
    assert run.config is not None
    try:
        measured = yield from measure_work(run.tokenizer, run.held_out, run.config, _MOST)
    except ConfigError:
        # A character that the rest of the corpus has not, and no token for what is unknown.
        return Measured(run, None)
    return Measured(run, measured.bytes_per_token)
