"""Training with a pattern beside every trainer one can install, on the same text, each in a process of its own.

Times are from the file to the trained vocabulary, reading included. All use the pattern cl100k but gigatoken, which has
GPT-2's built in, and SentencePiece, which has rules of its own. Where a library keeps to a tie rule, ours is also run
with that rule and the same pattern, and the tokens are compared.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from _common import (
    costs,
    in_fresh_process,
    is_installed,
    machine,
    parser,
    record,
    table,
    texts,
    training_by_phase,
)

_PIECE = 1 << 16
# What times as fast we should be.
_BARS = {"rustbpe": "4x", "gigatoken": "1.6x"}
# Which tie rule and pattern of ours must give the tokens of a rival.
_LIKE = {
    "rustbpe": ("lowest-id", "cl100k"),
    "bpeasy": ("lowest-id", "cl100k"),
    "tokenizers": ("huggingface", "cl100k"),
    "gigatoken": ("huggingface", "gpt2"),
}

Train = Callable[[Path, int], Iterable[bytes]]


@dataclass(frozen=True)
class Task:
    """One training: of ours where there is a tie rule, else of a rival."""

    name: str
    file: str
    size: int
    tie_break: str = ""
    pattern: str = "cl100k"


def pieces(file: Path) -> Iterator[str]:
    """The text in pieces that libraries can share out among threads.

    Cut before a line feed that follows a letter, where the pattern cuts anyway: the pre-tokens are those of the whole.
    """
    data, start = file.read_bytes(), 0
    while start < len(data):
        stop = data.find(b"\n", start + _PIECE)
        while stop > 0 and not data[stop - 1 : stop].isalpha():
            stop = data.find(b"\n", stop + 1)
        stop = len(data) if stop < 0 else stop
        yield data[start:stop].decode()
        start = stop


def expression() -> str:
    from tokstudio.core.pretokenization.patterns import REGEX

    return REGEX["cl100k"]


def rustbpe_trainer() -> Train:
    import rustbpe

    pattern = expression()

    def train(file: Path, size: int) -> Iterable[bytes]:
        tokenizer = rustbpe.Tokenizer()
        tokenizer.train_from_iterator(pieces(file), size, pattern=pattern)
        return [bytes(token) for token, _ in sorted(tokenizer.get_mergeable_ranks(), key=lambda entry: entry[1])]

    return train


def bpeasy_trainer() -> Train:
    import bpeasy

    pattern = expression()

    def train(file: Path, size: int) -> Iterable[bytes]:
        ranks = bpeasy.train_bpe(pieces(file), pattern, max_token_length=1 << 30, vocab_size=size)
        return sorted(ranks, key=ranks.__getitem__)

    return train


def tokenizers_trainer() -> Train:
    import tokenizers
    from tokenizers import models, pre_tokenizers, trainers

    from tokstudio.core.text.byte_level import to_bytes

    # Its regular expressions read {1,3}+ as a group that repeats.
    split = pre_tokenizers.Split(tokenizers.Regex(expression().replace("{1,3}+", "{1,3}")), "isolated")
    steps = [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]

    def train(file: Path, size: int) -> Iterable[bytes]:
        tokenizer = tokenizers.Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
        tokenizer.train_from_iterator(pieces(file), trainer)
        vocabulary = tokenizer.get_vocab()
        return (to_bytes(token) for token in sorted(vocabulary, key=vocabulary.__getitem__))

    return train


def gigatoken_trainer() -> Train:
    import gigatoken

    def train(file: Path, size: int) -> Iterable[bytes]:
        vocabulary, _ = gigatoken.train_bpe(str(file), size, [])
        return [vocabulary[token] for token in sorted(vocabulary)]

    return train


def sentencepiece_trainer() -> Train:
    import sentencepiece

    def train(file: Path, size: int) -> Iterable[bytes]:
        with tempfile.TemporaryDirectory() as folder:
            sentencepiece.SentencePieceTrainer.train(
                input=str(file),
                model_prefix=f"{folder}/made",
                model_type="bpe",
                vocab_size=size,
                max_sentence_length=1 << 30,  # else long lines would be left out
                minloglevel=2,
            )
            model = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/made.model")
        return [model.id_to_piece(number).encode() for number in range(model.get_piece_size())]

    return train


RIVALS = {
    "rustbpe": rustbpe_trainer,
    "gigatoken": gigatoken_trainer,
    "tokenizers": tokenizers_trainer,
    "bpeasy": bpeasy_trainer,
    "sentencepiece": sentencepiece_trainer,
}


def by_us(task: Task) -> dict[str, Any]:
    """Trains with TokStudio; the time apart by what it went into."""
    settings = {"vocabulary_size": task.size, "pattern": task.pattern, "tie_break": task.tie_break}
    made, trainer = training_by_phase([task.file], **settings)
    return {**made, "tokens": digest(token or b"" for token in trainer.tokenizer().tokens)}


def by_rival(task: Task) -> dict[str, Any]:
    train = RIVALS[task.name]()
    cost, tokens = costs(lambda: train(Path(task.file), task.size))
    return {**cost, "tokens": digest(tokens)}


def digest(tokens: Iterable[bytes]) -> str:
    """A hash of the tokens after the 256 bytes: two libraries may number those in different orders."""
    made = hashlib.sha256()
    for token in list(tokens)[256:]:
        made.update(len(token).to_bytes(4, "little") + token)
    return made.hexdigest()


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--vocabulary-size", type=int, default=32768)
    arguments.add_argument("--runs", type=int, default=2, help="of each, in turns; the fastest counts")
    arguments.add_argument("--text", default="mixed_100mb.txt", help="which of the texts")
    arguments.add_argument(
        "--only", nargs="*", choices=RIVALS, metavar="RIVAL", help=f"beside ours: {', '.join(RIVALS)}"
    )
    arguments.add_argument("--one", help="used by itself")
    chosen = arguments.parse_args()
    if chosen.one:
        task = Task(**json.loads(chosen.one))
        print(json.dumps(by_us(task) if task.tie_break else by_rival(task)))
        return
    rivals = [name for name in (RIVALS if chosen.only is None else chosen.only) if is_installed(name)]
    with texts(chosen, chosen.text) as (file,):
        tasks = {"TokStudio": Task("TokStudio", str(file), chosen.vocabulary_size, "first")}
        for rival in rivals:
            tasks[rival] = Task(rival, str(file), chosen.vocabulary_size)
            if rival in _LIKE:
                name = f"TokStudio, {', '.join(_LIKE[rival])}"
                tasks[name] = Task(name, str(file), chosen.vocabulary_size, *_LIKE[rival])
        measured = measure(tasks, chosen.runs)
        size = file.stat().st_size
    print(f"\nTraining on {size / 1e6:.0f} MB of {chosen.text}, {chosen.vocabulary_size:,} tokens; {machine()}\n")
    report(tasks, measured)
    given = f"{chosen.text}, {chosen.vocabulary_size:,} tokens"
    for rival in rivals:
        if (made := measured.get(rival)) is not None:
            record_beside(rival, made, measured, given)


def record_beside(rival: str, made: dict[str, Any], measured: dict[str, dict[str, Any]], given: str) -> None:
    """Keeps the result beside a rival, with its own tie rule and pattern where it has a pattern of its own."""
    ours = measured["TokStudio"]
    if rival in _LIKE and _LIKE[rival][1] != "cl100k":
        ours = measured.get(f"TokStudio, {', '.join(_LIKE[rival])}", ours)
    pattern = "its own pattern" if rival not in _LIKE else f"pattern {_LIKE[rival][1]}"
    record(f"train, {pattern}", given, ours["seconds"], "s", rival, made["seconds"], _BARS.get(rival, "1x"))


def measure(tasks: dict[str, Task], runs: int) -> dict[str, dict[str, Any]]:
    """The fastest run of each task, those that failed even once left out."""
    best: dict[str, dict[str, Any]] = {}
    for turn in range(runs):
        for name, task in tasks.items():
            if turn and name not in best:
                continue
            made = in_fresh_process(__file__, asdict(task))
            if made is None:
                print(f"{name}: failed, see above", flush=True)
                best.pop(name, None)
                continue
            print(f"{name}: {made['seconds']:.2f} s", flush=True)
            if name not in best or made["seconds"] < best[name]["seconds"]:
                best[name] = made
    return best


def report(tasks: dict[str, Task], measured: dict[str, dict[str, Any]]) -> None:
    """Two tables: ours beside the others, and where our time goes."""
    if "TokStudio" not in measured:
        sys.exit("TokStudio itself failed: there is nothing to compare.")
    ours = measured["TokStudio"]
    rows = []
    for name, made in measured.items():
        like = measured.get(f"TokStudio, {', '.join(_LIKE[name])}") if name in _LIKE else None
        rows.append(
            [
                name,
                "its own" if name == "sentencepiece" else _LIKE[name][1] if name in _LIKE else tasks[name].pattern,
                f"{made['seconds']:.2f} s",
                f"{made['seconds'] / ours['seconds']:.1f}x",
                f"{made['memory'] / 1e6:,.0f} MB" if made["memory"] else "",
                "" if like is None else "yes" if like["tokens"] == made["tokens"] else "NO",
            ]
        )
    table(["trainer", "pattern", "time", "to ours", "peak memory", "same tokens as ours by its tie rule"], rows)
    phases = [
        [name, *(f"{took:.2f} s" for took in made["phases"].values())]
        for name, made in measured.items()
        if "phases" in made
    ]
    table(["TokStudio by phase", *ours["phases"]], phases)


if __name__ == "__main__":
    main()
