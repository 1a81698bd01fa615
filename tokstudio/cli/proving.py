"""The proof of a changed tokenizer, point by point, and the map of its ids."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from tokstudio.cli.exporting import Exports, check_places, try_place_work
from tokstudio.cli.process.terminal import Console
from tokstudio.core.base.errors import FormatError
from tokstudio.core.corpus.readers.files import read_file_work
from tokstudio.core.surgery.verify import verify_all_work
from tokstudio.core.tokenizer.embedding_map import embedding_map_work
from tokstudio.core.tokenizer.invariants import Proof
from tokstudio.core.tokenizer.tokenizer import Tokenizer


class Proving:
    """What the arguments of `parser.add_proof` ask for; made before long work, as it checks that files can be written.

    Raises:
        FormatError: A file cannot be written.
        CorpusError: The reference text cannot be read.
    """

    def __init__(self, arguments: argparse.Namespace, console: Console) -> None:
        self._console = console
        self._map: Path | None = arguments.map
        exports: Exports = arguments.export
        taken = check_places(exports, console)
        if self._map is not None:
            console.finish(try_place_work(self._map))
            if str(self._map.resolve()) in taken:
                raise FormatError(f"{self._map.name}: an export would write this file: give the map its own path.")
        path: Path | None = arguments.reference
        raw = b"" if path is None else console.finish(read_file_work(path))
        self.reference = raw.decode("utf-8", "replace")
        self._proof: Proof | None = None

    def prove(self, tokenizer: Tokenizer, sample: bytes = b"") -> None:
        """Proves the nine points and reports them; raises ConfigError where one fails."""
        texts = [sample] if sample else []
        self._proof = self._console.finish(verify_all_work(tokenizer, texts, self.reference))
        for line in self._proof.lines():
            self._console.say(line)
        self._proof.check()

    def write_map(self, tokenizer: Tokenizer) -> None:
        """Writes the map of ids, if one is wanted."""
        if self._map is not None:
            made = self._console.finish(embedding_map_work(tokenizer))
            self._console.finish(made.write_work(self._map))
            self._console.say(f"Wrote {self._map}: which id became which, and the old tokens of each new one.")

    def as_json(self) -> dict[str, object]:
        """The points, and the file of the map."""
        assert self._proof is not None
        outcome: dict[str, object] = {"points": [asdict(point) for point in self._proof.points]}
        if self._map is not None:
            outcome["map"] = str(self._map)
        return outcome
