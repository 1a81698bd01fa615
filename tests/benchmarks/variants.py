"""Other ways of learning a vocabulary, beside the library each is held against, on the same texts.

Parity-aware BPE: ours and `ParityBpeTrainer` of `tokenizers`, by turns, each in its own process; times are medians,
from the texts in memory to the merges. Texts of `help` are trained on, those of `parallel` are measured. Plain BPE on
the same texts shows what parity costs and gains.

SuperBPE and BPE of whole characters: the mixed text of 10 MB, from its file to the merges, beside plain BPE with the
same pattern and size.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from _common import costs, in_fresh_process, is_installed, machine, parser, table, texts, training_by_phase

_ROUNDS = 7
_MERGES = 1_500
_TEXT = 300_000
_LANGUAGES = {"de": "deu_1996", "en": "eng", "ja": "jpn", "ru": "rus"}
_VARIANTS = {
    "base": ({}, {}),
    "hybrid, 500": ({"global_merges": 500}, {"global_merges": 500}),
    "window": ({"window": 100}, {"variant": "window"}),
}
_SIZE, _TRANSITION = 32_000, 24_000
_ON_MIXED = {
    "plain BPE": {},
    "whole characters": {"algorithm": "whole-characters"},
    "SuperBPE": {"algorithm": "superbpe", "transition": _TRANSITION},
}

Texts = dict[str, str]


def read(data: str, most: int) -> tuple[Texts, Texts]:
    """The texts to train on and the parallel ones, by language."""
    folder = Path(data) / "corpora" if (Path(data) / "corpora").exists() else Path(data)
    texts = {
        name: (folder / "help" / f"{name}.txt").read_bytes()[:most].decode("utf-8", "ignore") for name in _LANGUAGES
    }
    return texts, {
        name: (folder / "parallel" / f"{file}.txt").read_text(encoding="utf-8") for name, file in _LANGUAGES.items()
    }


def train_ours(texts: Texts, parallel: Texts | None, **settings: Any) -> Any:
    """The tokenizer of TokStudio; plain BPE without parallel texts."""
    from tokstudio import Corpus, TrainingConfig, train
    from tokstudio.core.corpus.source import Source

    corpus = Corpus(tuple(Source.from_texts([text], name) for name, text in texts.items()))
    if parallel is None:
        settings |= {"tie_break": "mapped-strings"}
    else:
        settings |= {"algorithm": "parity", "parallel": parallel}
    return train(corpus, TrainingConfig(vocabulary_size=256 + _MERGES, pattern="gpt2", **settings))


def train_theirs(texts: Texts, parallel: Texts, **settings: Any) -> Any:
    """The tokenizer of the library."""
    import tokenizers
    from tokenizers import models, pre_tokenizers, trainers

    from tokstudio.core.pretokenization.patterns import REGEX

    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(tokenizers.Regex(REGEX["gpt2"]), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.ParityBpeTrainer(num_merges=_MERGES, initial_alphabet=alphabet, show_progress=False, **settings)
    dev = [[text] for text in parallel.values()]
    trainer.train_from_iterator(made, [[text] for text in texts.values()], dev_iterators=dev)
    return made


def one(given: dict[str, Any]) -> dict[str, Any]:
    """Trains once, and measures the parallel texts, or that of the training."""
    if "file" in given:
        settings = _ON_MIXED[given["variant"]]
        cost, trainer = training_by_phase([given["file"]], vocabulary_size=_SIZE, pattern="gpt2", **settings)
        return {**cost, "ratio": trainer.run.bytes_per_token()}
    languages, parallel = read(given["data"], given["bytes"])
    ours, theirs = _VARIANTS.get(given["variant"], ({}, {}))
    work: Callable[[], Any]
    if given["who"] == "tokenizers":
        work = lambda: train_theirs(languages, parallel, **theirs)  # noqa: E731
    else:
        beside = parallel if given["who"] == "parity" else None
        train_ours({"a": "ab ab", "b": "cd cd"}, beside and {"a": "ab", "b": "cd"}, **ours)  # loads the loops
        work = lambda: train_ours(languages, beside, **ours)  # noqa: E731
    cost, made = costs(work)
    if given["who"] == "tokenizers":
        lengths = [len(made.encode(text).ids) for text in parallel.values()]
    else:
        lengths = [len(made.encode(text)) for text in parallel.values()]
    return {**cost, "lengths": lengths, "bytes": sum(len(text.encode()) for text in parallel.values())}


def gini(lengths: list[int]) -> float:
    """0 where all texts take as many tokens."""
    ordered, amount = sorted(lengths), len(lengths)
    return sum((2 * place - amount - 1) * length for place, length in enumerate(ordered, 1)) / (amount * sum(ordered))


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--one")
    arguments.add_argument("--way", choices=["parity", "mixed"], help="only this way of learning")
    given = arguments.parse_args()
    if given.one is not None:
        import json

        print(json.dumps(one(json.loads(given.one))))
        return
    if given.data is None:
        sys.exit("Say where the texts are: --data FOLDER, or set TOKSTUDIO_DATA.")
    if given.way in (None, "parity"):
        parity(given)
    if given.way in (None, "mixed"):
        mixed(given)


def mixed(given: Namespace) -> None:
    """Prints the table of what is trained on the mixed text."""
    print(
        f"Mixed text, {_SIZE:,} tokens, SuperBPE across words from {_TRANSITION:,} on; {_ROUNDS} runs; {machine()}\n"
    )
    made: dict[str, list[dict[str, Any]]] = {variant: [] for variant in _ON_MIXED}
    with texts(given, "mixed_10mb.txt") as (file,):
        for variant in _ROUNDS * [*_ON_MIXED]:
            if (result := in_fresh_process(__file__, {"file": str(file), "variant": variant})) is not None:
                made[variant].append(result)
    rows = [
        [
            f"TokStudio, {variant}",
            f"{median(result['seconds'] for result in results):.2f} s",
            f"{median(result['memory'] for result in results) / 1e6:.0f} MB",
            f"{results[0]['ratio']:.3f}",
        ]
        for variant, results in made.items()
        if results
    ]
    table(["way", "time", "memory", "bytes per token"], rows)


def parity(given: Namespace) -> None:
    """Prints the table of parity-aware BPE."""
    print(f"{len(_LANGUAGES)} languages, {_MERGES:,} merges, median of {_ROUNDS} by turns; {machine()}\n", flush=True)
    rivals = ["parity", "tokenizers"] if is_installed("tokenizers") else ["parity"]
    tasks = [(who, variant) for variant in _VARIANTS for who in rivals] + [("bpe", "")]
    made: dict[tuple[str, str], list[dict[str, Any]]] = {task: [] for task in tasks}
    for _ in range(_ROUNDS):
        for who, variant in tasks:
            asked = {"who": who, "variant": variant, "data": str(given.data), "bytes": given.bytes or _TEXT}
            result = in_fresh_process(__file__, asked)
            if result is not None:
                made[who, variant].append(result)
    rows: list[list[str]] = []
    for (who, variant), results in made.items():
        if not results:
            continue
        seconds = median(result["seconds"] for result in results)
        ours = made.get(("parity", variant), [])
        ratio = seconds / median(result["seconds"] for result in ours) if ours else 0.0
        lengths = results[0]["lengths"]
        rows.append(
            [
                f"{'tokenizers' if who == 'tokenizers' else 'TokStudio'}, {variant or 'plain BPE'}",
                f"{seconds:.3f} s",
                f"{ratio:.1f}x" if ratio else "",
                f"{median(result['memory'] for result in results) / 1e6:.0f} MB",
                f"{results[0]['bytes'] / sum(lengths):.3f}",
                f"{gini(lengths):.4f}",
            ]
        )
    table(["way", "time", "of ours", "memory", "bytes per token", "Gini"], rows)


if __name__ == "__main__":
    main()
