"""Training without pre-tokenization beside rustbpe, on the same texts, in one process, in turns.

rustbpe knows no minimum frequency: where ours ends by one, rustbpe is asked for as many merges as ours made.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import rustbpe
from _common import machine, parser, seconds, table, texts

from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.training.trainer import train


def by_rustbpe(text: str, size: int) -> list[bytes]:
    """The tokens that rustbpe makes, in order; the whole text is one sequence to it too."""
    rival = rustbpe.Tokenizer()
    rival.train_from_iterator(iter([text]), size, pattern=r"[\s\S]+")
    ranks = sorted(rival.get_mergeable_ranks(), key=lambda entry: entry[1])
    return [bytes(token) for token, _ in ranks]


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--vocabulary-size", type=int, default=32768)
    arguments.add_argument("--runs", type=int, default=5, help="of ours; the best counts")
    arguments.add_argument("--rival-runs", type=int, default=1, help="of rustbpe; the best counts")
    chosen = arguments.parse_args()
    size = chosen.vocabulary_size
    limits = {
        f"size {size:,}": TrainingConfig(vocabulary_size=size),
        "frequency 2": TrainingConfig(min_frequency=2),
        f"size {size:,}, frequency 2": TrainingConfig(vocabulary_size=size, min_frequency=2),
    }
    rows = []
    train(Corpus.from_text("a first call compiles"), limits[f"size {size:,}"])
    with texts(chosen, "shakespeare.txt", "mixed_10mb.txt") as files:
        for file in files:
            corpus, text = Corpus.from_files([file], encoding="bytes"), file.read_bytes().decode()
            for name, config in limits.items():
                ours, theirs = [], []
                for turn in range(max(chosen.runs, chosen.rival_runs)):
                    if turn < chosen.runs:
                        took, tokenizer = seconds(lambda: train(corpus, config))  # noqa: B023
                        ours.append(took)
                    if turn < chosen.rival_runs:
                        took, tokens = seconds(lambda: by_rustbpe(text, len(tokenizer)))  # noqa: B023
                        theirs.append(took)
                same = (
                    train(corpus, TrainingConfig(vocabulary_size=len(tokens), tie_break="lowest-id")).tokens == tokens
                )
                best, rival = min(ours), min(theirs)
                rows.append(
                    [
                        f"{file.name}, {name}",
                        f"{len(tokenizer.merges):,}",
                        f"{best:.3f} s",
                        f"{rival:.2f} s",
                        f"{rival / best:.1f}x",
                        "yes" if same else "NO",
                    ]
                )
                print(*rows[-1], sep="  ", flush=True)
    print(f"\nTraining without pre-tokenization; {machine()}\n")
    table(["text and limits", "merges", "TokStudio", "rustbpe", "faster", "same tokens by lowest id"], rows)


if __name__ == "__main__":
    main()
