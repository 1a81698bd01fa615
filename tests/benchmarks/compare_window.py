"""The matrix of 5 tokenizers and 24 texts in the window: how long until it is complete, and the gaps meanwhile.

The texts are cut from the mixed text. Three tokenizers are trained on it, with 1,000, 8,000 and 32,768 tokens; the
others are GPT-2 and cl100k, or bytes and characters where these are not there.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import tempfile
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from _common import machine, parser, table, texts
from _window import HEAD, Clock, busy, open_studio
from compare_flores import tokenizers

from tokstudio.core.comparison.figures import FIGURES, Cell
from tokstudio.gui.app.app import Studio
from tokstudio.gui.state.text_set import file_set
from tokstudio.gui.state.training_settings import Settings

_TEXTS, _SIZE = 24, 1_000_000
_SIZES = (1_000, 8_000, 32_768)
_BAR = 10


def main() -> None:
    """Compares in the window and prints times and gaps."""
    parsed = parser(__doc__).parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder, texts(parsed, "mixed_100mb.txt") as (mixed,):
        data, files = mixed.read_bytes(), []
        for number in range(_TEXTS):
            start = number * (len(data) // _TEXTS)
            files.append(Path(folder) / f"text{number + 1}.txt")
            files[-1].write_bytes(data[start : start + _SIZE].decode("utf-8", "ignore").encode())
        with open_studio(Path(folder)) as studio:
            _measure(studio, files, Path(parsed.data))


def _measure(studio: Studio, files: list[Path], data: Path) -> None:
    clock, session = Clock(), studio.session
    session.corpus.open_paths(files[:4])
    clock.during("", busy(studio))
    for size in _SIZES:
        session.training.set_settings(Settings(vocabulary_size=size, pattern="cl100k"))
        session.training.start()
        clock.during("", lambda: session.training.current is not None)
    opened = tokenizers(data)
    for name, _, tokenizer in opened:
        session.runs.add_tokenizer(tokenizer, name)
    for name in ("Bytes", "Characters")[: 2 - len(opened)]:
        session.comparison.show_simple(name, True)
    clock.during("", busy(studio))
    session.comparison.add_texts(file_set(files))
    studio.window.show_compare()
    rows = [clock.during("the matrix fills", lambda: _known(studio, words=False) < _TEXTS * 5)]
    taken = rows[0][1]
    session.comparison.choose_figure("words_split")
    rows.append(clock.during("words are encoded", lambda: _known(studio, words=True) < _TEXTS * 5))
    left = list(FIGURES)

    def through_figures() -> bool:
        session.comparison.choose_figure(left.pop())
        return bool(left)

    rows.append(clock.during("through all figures", through_figures))
    table(HEAD, rows)
    print(f"\n{_TEXTS} texts of {_SIZE / 1e6:.0f} MB by 5 tokenizers: {taken} (bar {_BAR} s).")


def _known(studio: Studio, *, words: bool) -> int:
    made = studio.session.comparison.comparison
    if made is None:
        return 0
    cells = (made.result(row, column) for row in range(len(made.texts)) for column in range(len(made.tokenizers)))
    return sum(isinstance(cell, Cell) and (not words or cell.words is not None) for cell in cells)


if __name__ == "__main__":
    main()
