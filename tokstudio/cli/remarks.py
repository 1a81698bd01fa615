"""Remarks of `train` on a corpus: special tokens, replaced bytes, unknown characters, held-out text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence

from tokstudio.cli.terminal import Console
from tokstudio.core.analysis.compression import measure_work
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.prepare_corpus import Prepared


def report_preparation(prepared: Prepared, config: TrainingConfig, console: Console) -> None:
    """Reports changes of the corpus before training."""
    if prepared.replaced:
        console.say(
            f"{several(prepared.replaced, 'byte sequence was', 'byte sequences were')} not UTF-8 and became U+FFFD: "
            "merging begins with characters."
        )
    if prepared.unknown:
        console.say(
            f"{several(prepared.unknown, 'character is', 'characters are')} not in the base vocabulary and became "
            f"{config.unknown_token}."
        )
    if config.held_out:
        held = sum(source.bytes for source in prepared.held_out)
        console.say(f"Held out: {held:,} bytes." if held else "Held out: nothing, because the share is too small.")
    if count := sum(prepared.cut_out.values()):
        console.say(f"{several(count, 'special token was', 'special tokens were')} cut out of the text.")


def report_held_out(
    tokenizer: Tokenizer, held_out: Sequence[Source], config: TrainingConfig, console: Console
) -> float | None:
    """Reports the compression of held-out text, and returns its bytes per token; None where it is unknown."""
    try:
        measured = console.finish(measure_work(tokenizer, held_out, config))
    except ConfigError as error:
        console.say(f"The held-out text cannot be measured. {error}")
        return None
    ratio = measured.bytes_per_token
    if ratio is not None:
        console.say(
            f"Held-out text: {ratio:.2f} bytes per token, {several(measured.bytes, 'byte')} -> "
            f"{several(measured.tokens, 'token')}."
        )
    return ratio
