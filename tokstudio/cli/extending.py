"""What `extend` adds to `train`: the tokenizer to start from, and the proof of what stayed the same."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
from typing import Any

from tokstudio.cli.exporting import Proving
from tokstudio.cli.loading import load_source
from tokstudio.cli.process.terminal import Console
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.wording import several
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.surgery.specials import check_reserved, fill_reserved
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.from_tokenizer import check_start


class Extension:
    """The start of an extension and its settings, checked before the texts are read.

    Raises:
        ConfigError: The tokenizer cannot be extended so.
        FormatError: It cannot be read, or a file cannot be written.
    """

    def __init__(self, arguments: argparse.Namespace, console: Console) -> None:
        self.proving, self._console = Proving(arguments, console), console
        start = load_source(arguments, console)
        self._unused = _unused_ids(start)
        self.start: Tokenizer = start if arguments.merges is None else start.at(arguments.merges)
        self._fill: list[str] = arguments.fill
        check_reserved(self.start, self._fill)
        self.config = check_start(self.start, self._config(arguments))

    def _config(self, arguments: argparse.Namespace) -> TrainingConfig:
        size: int | None = arguments.vocab_size
        filled = len(self._fill)
        if size is not None and size <= len(self.start) - filled:
            besides = " besides those to fill" if filled else " already"
            raise ConfigError(
                f"Vocabulary size must be greater than {len(self.start) - filled:,}: the tokenizer has that many "
                f"tokens{besides}."
            )
        return TrainingConfig(
            # Those to fill are tokens until the end.
            vocabulary_size=None if size is None else size + filled,
            min_frequency=arguments.min_frequency,
            pattern=self.start.pattern,
            **chosen_ties(arguments),
            max_token_bytes=arguments.max_token_bytes,
            forbidden=arguments.forbid,
            held_out=arguments.held_out,
        )

    def finished(self, tokenizer: Tokenizer, sample: bytes) -> Tokenizer:
        """The trained tokenizer with its reserved ids filled, after the proof; raises ConfigError where it fails."""
        if len(tokenizer.merges) == len(self.start.merges):
            raise ConfigError(
                "Nothing new can be learnt from this text: no pair of tokens occurs often enough, or all are forbidden."
            )
        made = fill_reserved(tokenizer, self._fill) if self._fill else tokenizer
        if (gaps := _unused_ids(made) - self._unused) > 0:
            unused = several(gaps, "id of a dropped merge stays", "ids of dropped merges stay")
            self._console.say(f"{unused} unused: renumber --by rank closes the gaps.")
        self.proving.prove(made, sample)
        self._size = len(made)
        return made

    def as_json(self) -> dict[str, object]:
        """The size, and the proof."""
        return {"tokens_before": len(self.start), "vocabulary_size": self._size, **self.proving.as_json()}


def _unused_ids(tokenizer: Tokenizer) -> int:
    """The ids below the highest one that no token has."""
    return int(tokenizer.tokens.ids().max()) + 1 - len(tokenizer)


def chosen_ties(arguments: argparse.Namespace) -> dict[str, Any]:
    """The tie rule for a `TrainingConfig`, where one was chosen."""
    return {} if arguments.tie_break is None else {"tie_break": arguments.tie_break}
