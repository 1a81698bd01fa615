"""Other algorithms: parity-aware BPE beside the library's, and those that need only a pattern beside plain BPE.

Parity-aware BPE: ours and `ParityBpeTrainer` of `tokenizers`, by turns, each in its own process; times are medians,
from the texts in memory to the merges. Texts of `help` are trained on, those of `parallel` are measured. SuperBPE, BPE
of whole characters, Picky BPE and BoundlessBPE train on mixed 10 MB, with the pattern and size of plain BPE.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from _common import costs, in_fresh_process, is_installed, machine, parser, record, table, training_by_phase
from _common import texts as texts_of

from tokstudio import SuperBPE

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
_BY_PATTERN: dict[str, dict[str, Any]] = {
    "plain BPE": {},
    "whole characters": {"algorithm": "whole-characters"},
    "SuperBPE": {"algorithm": SuperBPE(transition=_TRANSITION)},
    "Picky BPE": {"algorithm": "picky"},
    "BoundlessBPE": {"algorithm": "boundless"},
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
    from tokstudio import Corpus, ParityAware, TrainingConfig, train
    from tokstudio.core.corpus.source import Source

    corpus = Corpus(tuple(Source.from_texts([text], name) for name, text in texts.items()))
    if parallel is None:
        settings |= {"tie_break": "mapped-strings"}
    else:
        settings = {"algorithm": ParityAware(parallel=parallel, **settings)}
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
    """Trains once, and measures the parallel texts."""
    texts, parallel = read(given["data"], given["bytes"])
    ours, theirs = _VARIANTS.get(given["variant"], ({}, {}))
    work: Callable[[], Any]
    if given["who"] == "tokenizers":
        work = lambda: train_theirs(texts, parallel, **theirs)  # noqa: E731
    else:
        beside = parallel if given["who"] == "parity" else None
        train_ours({"a": "ab ab", "b": "cd cd"}, beside and {"a": "ab", "b": "cd"}, **ours)  # loads the loops
        work = lambda: train_ours(texts, beside, **ours)  # noqa: E731
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


def parity(given: Any) -> None:
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
        if who == "tokenizers" and variant == "base" and ratio:
            text = f"4 languages of 300 kB, {_MERGES:,} merges"
            record("train, parity-aware BPE", text, seconds / ratio, "s", "tokenizers", seconds, "5x")
    table(["way", "time", "of ours", "memory", "bytes per token", "Gini"], rows)


def one_by_pattern(file: str, variant: str) -> dict[str, Any]:
    """Trains once on a file, and measures its text."""
    cost, trainer = training_by_phase([file], vocabulary_size=_SIZE, pattern="gpt2", **_BY_PATTERN[variant])
    return {**cost, "ratio": trainer.run.bytes_per_token()}


def by_pattern(file: Path) -> None:
    """Prints the table of the algorithms that need only a pattern, from the file to the merges."""
    print(f"\nmixed 10 MB, {_SIZE:,} tokens, SuperBPE across words from {_TRANSITION:,} on; {machine()}\n")
    made: dict[str, list[dict[str, Any]]] = {variant: [] for variant in _BY_PATTERN}
    for variant in _ROUNDS * [*_BY_PATTERN]:
        if (result := in_fresh_process(__file__, {"file": str(file), "variant": variant})) is not None:
            made[variant].append(result)
    rows: list[list[str]] = []
    took = {variant: median(result["seconds"] for result in results) for variant, results in made.items() if results}
    for variant, seconds in took.items():
        memory = median(result["memory"] for result in made[variant])
        rows.append([variant, f"{seconds:.2f} s", f"{memory / 1e6:.0f} MB", f"{made[variant][0]['ratio']:.3f}"])
        if variant == "SuperBPE":
            given, plain = f"mixed_10mb.txt, {_SIZE:,} tokens", took.get("plain BPE")
            record("train, SuperBPE", given, seconds, "s", "plain BPE", plain, "10 s")
    table(["algorithm", "time", "memory", "bytes per token"], rows)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--one", help="used by itself")
    arguments.add_argument("--only", choices=["parity", "pattern"], help="one of the tables")
    given = arguments.parse_args()
    if given.one is not None:
        asked = json.loads(given.one)
        print(json.dumps(one_by_pattern(**asked) if "file" in asked else one(asked)))
        return
    if given.data is None:
        sys.exit("Say where the texts are: --data FOLDER, or set TOKSTUDIO_DATA.")
    if given.only != "pattern":
        parity(given)
    if given.only != "parity":
        with texts_of(given, "mixed_10mb.txt") as (file,):
            by_pattern(file)


if __name__ == "__main__":
    main()
