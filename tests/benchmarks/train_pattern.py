"""Training with a pattern beside every trainer one can install, on the same text, each in a process of its own.

Times are from the file to the trained vocabulary, reading included. All use the pattern cl100k but gigatoken, which has
GPT-2's built in, and SentencePiece, which has rules of its own. Where a library keeps to a tie rule, ours is also run
with that rule and the same pattern, and the tokens are compared.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from _common import costs, in_fresh_process, is_installed, machine, parser, record, table, texts, training_by_phase

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


def by_us(file: str, size: int, tie_break: str, pattern: str) -> dict[str, Any]:
    """Trains with TokStudio; the time apart by what it went into."""
    made, trainer = training_by_phase([file], vocabulary_size=size, pattern=pattern, tie_break=tie_break)
    return {**made, "tokens": digest(token or b"" for token in trainer.tokenizer().tokens)}


def by_rival(file: str, size: int, name: str) -> dict[str, Any]:
    """Trains with another library."""
    train = RIVALS[name]()
    cost, tokens = costs(lambda: train(Path(file), size))
    return {**cost, "tokens": digest(tokens)}


def digest(tokens: Iterable[bytes]) -> str:
    """A hash of the tokens after the 256 bytes: two libraries may number those in different orders."""
    made = hashlib.sha256()
    for token in list(tokens)[256:]:
        made.update(len(token).to_bytes(4, "little") + token)
    return made.hexdigest()


def ours_like(rival: str) -> str:
    """The name of our training by the rules of a rival."""
    return f"TokStudio, {', '.join(_LIKE[rival])}"


def main() -> None:
    """Prints ours beside the others, and where our time goes."""
    arguments = parser(__doc__)
    arguments.add_argument("--vocabulary-size", type=int, default=32768)
    arguments.add_argument("--runs", type=int, default=2, help="of each, in turns; the fastest counts")
    arguments.add_argument("--text", default="mixed_100mb.txt", help="which of the texts")
    arguments.add_argument("--only", nargs="*", choices=RIVALS, default=list(RIVALS), help="beside ours")
    chosen = arguments.parse_args()
    rivals = [name for name in chosen.only if is_installed(name)]
    tasks: dict[str, tuple[Any, ...]] = {"TokStudio": (by_us, "first", "cl100k")}
    for rival in rivals:
        tasks[rival] = (by_rival, rival)
        if rival in _LIKE:
            tasks[ours_like(rival)] = (by_us, *_LIKE[rival])
    with texts(chosen, chosen.text) as (file,):
        measured = measure(tasks, str(file), chosen.vocabulary_size, chosen.runs)
        size = file.stat().st_size
    if "TokStudio" not in measured:
        sys.exit("TokStudio itself failed: there is nothing to compare.")
    print(f"\nTraining on {size / 1e6:.0f} MB of {chosen.text}, {chosen.vocabulary_size:,} tokens; {machine()}\n")
    ours = measured["TokStudio"]
    rows = []
    for name, made in measured.items():
        like = measured.get(ours_like(name)) if name in _LIKE else None
        cells = [f"{made['seconds']:.2f} s", f"{made['seconds'] / ours['seconds']:.1f}x"]
        cells.append(f"{made['memory'] / 1e6:,.0f} MB" if made["memory"] else "")
        rows.append([name, *cells, "" if like is None else "yes" if like["tokens"] == made["tokens"] else "NO"])
        if name in rivals:
            # With its own tie rule and pattern where it has a pattern of its own.
            pattern = _LIKE.get(name, ("", "cl100k"))[1]
            best = like if like is not None and pattern != "cl100k" else ours
            work = f"train, pattern {pattern}" if name in _LIKE else "train, its own pattern"
            given, bar = f"{chosen.text}, {chosen.vocabulary_size:,} tokens", _BARS.get(name, "1x")
            record(work, given, best["seconds"], "s", name, made["seconds"], bar)
    table(["trainer", "time", "to ours", "peak memory", "same tokens as ours by its tie rule"], rows)
    phases = {name: made["phases"].values() for name, made in measured.items() if "phases" in made}
    shown = [[name, *(f"{took:.2f} s" for took in values)] for name, values in phases.items()]
    table(["TokStudio by phase", *ours["phases"]], shown)


def measure(tasks: dict[str, tuple[Any, ...]], file: str, size: int, runs: int) -> dict[str, dict[str, Any]]:
    """The fastest run of each task, those that failed even once left out."""
    best: dict[str, dict[str, Any]] = {}
    for turn in range(runs):
        for name, (function, *given) in tasks.items():
            if turn and name not in best:
                continue
            made = in_fresh_process(function, file, size, *given)
            if made is None:
                print(f"{name}: failed, see above", flush=True)
                best.pop(name, None)
                continue
            print(f"{name}: {made['seconds']:.2f} s", flush=True)
            if name not in best or made["seconds"] < best[name]["seconds"]:
                best[name] = made
    return best


if __name__ == "__main__":
    main()
