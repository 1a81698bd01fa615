"""Other algorithms: parity-aware BPE beside the library's, and those that need only a pattern beside plain BPE.

Parity-aware BPE: ours and `ParityBpeTrainer` of `tokenizers`, by turns, each in its own process; times are medians,
from the texts in memory to the merges. Texts of `help` are trained on, those of `parallel` are measured. SuperBPE, BPE
of whole characters, Picky BPE and BoundlessBPE train on mixed 10 MB, with the pattern and size of plain BPE.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median
from typing import Any

from _common import costs, in_fresh_process, is_installed, parser, record, run_parts, table, training_by_phase
from _common import texts as texts_of

from tokstudio import SuperBPE

_ROUNDS = 7
_MERGES = 1_500
_TEXT = 300_000
_LANGUAGES = {"de": "deu_1996", "en": "eng", "ja": "jpn", "ru": "rus"}
_SIZE, _TRANSITION = 32_000, 24_000
_BY_PATTERN: dict[str, dict[str, Any]] = {
    "plain BPE": {},
    "whole characters": {"algorithm": "whole-characters"},
    "SuperBPE": {"algorithm": SuperBPE(transition=_TRANSITION)},
    "Picky BPE": {"algorithm": "picky"},
    "BoundlessBPE": {"algorithm": "boundless"},
}

Texts = dict[str, str]


def train_ours(texts: Texts, parallel: Texts) -> None:
    """Trains with TokStudio."""
    from tokstudio import Corpus, ParityAware, TrainingConfig, train
    from tokstudio.core.corpus.source import Source

    corpus = Corpus(tuple(Source.from_texts([text], name) for name, text in texts.items()))
    algorithm = ParityAware(parallel=parallel)
    train(corpus, TrainingConfig(vocabulary_size=256 + _MERGES, pattern="gpt2", algorithm=algorithm))


def train_theirs(texts: Texts, parallel: Texts) -> None:
    """Trains with the library."""
    import tokenizers
    from tokenizers import models, pre_tokenizers, trainers

    from tokstudio.core.pretokenization.patterns import REGEX

    made = tokenizers.Tokenizer(models.BPE())
    split = pre_tokenizers.Split(tokenizers.Regex(REGEX["gpt2"]), "isolated")
    made.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.ParityBpeTrainer(num_merges=_MERGES, initial_alphabet=alphabet, show_progress=False)
    dev = [[text] for text in parallel.values()]
    trainer.train_from_iterator(made, [[text] for text in texts.values()], dev_iterators=dev)


def one(who: str, data: str, most: int) -> dict[str, float]:
    """Trains once."""
    folder = Path(data) / "corpora" if (Path(data) / "corpora").exists() else Path(data)
    texts, parallel = Texts(), Texts()
    for name, file in _LANGUAGES.items():
        texts[name] = (folder / "help" / f"{name}.txt").read_bytes()[:most].decode("utf-8", "ignore")
        parallel[name] = (folder / "parallel" / f"{file}.txt").read_text(encoding="utf-8")
    train = train_theirs if who == "tokenizers" else train_ours
    if train is train_ours:
        train_ours({"a": "ab ab", "b": "cd cd"}, {"a": "ab", "b": "cd"})  # loads the loops
    return costs(lambda: train(texts, parallel))[0]


def by_turns(name: str, tasks: dict[str, tuple[Any, ...]]) -> dict[str, float]:
    """Each task so many times, by turns, and a table with the medians of time and memory; the median times."""
    made: dict[str, list[dict[str, float]]] = {task: [] for task in tasks}
    for _ in range(_ROUNDS):
        for task, (function, *given) in tasks.items():
            if (result := in_fresh_process(function, *given)) is not None:
                made[task].append(result)
    took = {task: median(one["seconds"] for one in results) for task, results in made.items() if results}
    memory = {task: median(one["memory"] for one in made[task]) / 1e6 for task in took}
    rows = [[task, f"{took[task]:.3f} s", f"{memory[task]:.0f} MB"] for task in took]
    table([name, "time", "memory"], rows)
    return took


def parity(chosen: argparse.Namespace) -> None:
    """Parity-aware BPE beside the library's."""
    ways = ["TokStudio", *["tokenizers"] * is_installed("tokenizers")]
    tasks = {who: (one, who, str(chosen.data), chosen.bytes or _TEXT) for who in ways}
    with texts_of(chosen):
        took = by_turns(f"{len(_LANGUAGES)} languages, {_MERGES:,} merges", tasks)
    if len(took) == 2:
        text = f"4 languages of 300 kB, {_MERGES:,} merges"
        record("train, parity-aware BPE", text, took["TokStudio"], "s", "tokenizers", took["tokenizers"], "5x")


def one_by_pattern(file: str, variant: str) -> dict[str, float]:
    """Trains once on a file."""
    return training_by_phase([file], vocabulary_size=_SIZE, pattern="gpt2", **_BY_PATTERN[variant])[0]


def by_pattern(chosen: argparse.Namespace) -> None:
    """The algorithms that need only a pattern, from the file to the merges."""
    with texts_of(chosen, "mixed_10mb.txt") as (file,):
        tasks = {variant: (one_by_pattern, str(file), variant) for variant in _BY_PATTERN}
        took = by_turns(f"mixed 10 MB, {_SIZE:,} tokens", tasks)
    given = f"mixed_10mb.txt, {_SIZE:,} tokens"
    record("train, SuperBPE", given, took["SuperBPE"], "s", "plain BPE", took["plain BPE"], "10 s")


if __name__ == "__main__":
    run_parts(parser(__doc__), parity=parity, pattern=by_pattern)
