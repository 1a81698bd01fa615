"""Other ways of learning a vocabulary, beside the library each is held against, on the same texts.

Parity-aware BPE: ours and `ParityBpeTrainer` of `tokenizers`, by turns, each in its own process; times are medians,
from the texts in memory to the merges. Texts of `help` are trained on, those of `parallel` are measured. Plain BPE on
the same texts shows what parity costs and gains; so it does on mixed 10 MB, where each script is a language and there
are no parallel texts, with our own story as the text that is measured.

SuperBPE, BPE of whole characters, Picky BPE and BoundlessBPE: mixed 10 MB, from its file to the merges, beside plain
BPE with the same pattern and size. Unigram, WordPiece and SentencePiece: trained by their libraries, on the texts of
parity.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from _common import costs, in_fresh_process, is_installed, machine, parser, table
from _common import texts as texts_of
from _library_variants import by_library, one_by_library
from _pattern_variants import by_pattern, one_by_pattern

_ROUNDS = 7
_MERGES = 1_500
_TEXT = 300_000
_LANGUAGES = {"de": "deu_1996", "en": "eng", "ja": "jpn", "ru": "rus"}
_VARIANTS = {
    "base": ({}, {}),
    "hybrid, 500": ({"global_merges": 500}, {"global_merges": 500}),
    "window": ({"window": 100}, {"variant": "window"}),
}

_MIXED_SIZE = 32_000
_MIXED_ROUNDS = 3
_LEAST = 20_000  # bytes of a script
_ON_MIXED = ("plain BPE", "parity", "parity with ratios")

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
    """Trains once, and measures the parallel texts."""
    texts, parallel = read(given["data"], given["bytes"])
    if given["who"] == "library":
        return one_by_library(texts, parallel, given["variant"], 256 + _MERGES)
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


def by_script(text: str) -> Texts:
    """The lines of a text by their main script, without scripts that have little text."""
    lines: dict[str, list[str]] = {}
    for line in text.splitlines(keepends=True):
        if (script := main_script(line)) is not None:
            lines.setdefault(script, []).append(line)
    joined = {script: "".join(some) for script, some in lines.items()}
    return {script: some for script, some in joined.items() if len(some.encode()) >= _LEAST}


def one_mixed(given: dict[str, Any]) -> dict[str, Any]:
    """Trains once on mixed text by its scripts, and measures the story."""
    from tokstudio import Corpus, TrainingConfig, train
    from tokstudio.core.corpus.source import Source

    texts, story = scripts_of(given["file"]), whole_story()
    settings: dict[str, Any] = {"tie_break": "mapped-strings"}
    if given["variant"] != "plain BPE":
        settings["algorithm"] = "parity"
    if given["variant"] == "parity with ratios":
        settings["ratios"] = story_ratios(texts, story)
    corpus = Corpus(tuple(Source.from_texts([text], name) for name, text in texts.items()))
    train_ours({"a": "ab ab", "b": "cd cd"}, None)  # loads the loops
    config = TrainingConfig(vocabulary_size=given["size"], pattern="gpt2", **settings)
    cost, made = costs(lambda: train(corpus, config))
    known = in_scripts(story, texts)
    lengths, size = [len(made.encode(text)) for text in known], sum(len(text.encode()) for text in known)
    return {**cost, "lengths": lengths, "bytes": size, "own": made.run.bytes_per_token(), "scripts": list(texts)}


def scripts_of(file: str | Path) -> Texts:
    """The texts of a file by their script."""
    return by_script(Path(file).read_text(encoding="utf-8", errors="replace"))


def whole_story() -> Texts:
    """Our own story in each of its languages."""
    from tokstudio.core.base.progress import finish
    from tokstudio.core.comparison.parallel_set import story_work

    read = finish(story_work())
    return {name: b"\n".join(lines).decode() for name, lines in zip(read.languages, read.lines, strict=True)}


def in_scripts(story: Texts, scripts: Texts) -> list[str]:
    """The texts of the story in the languages of some scripts."""
    return [text for text in story.values() if main_script(text) in scripts]


def story_ratios(texts: Texts, story: Texts) -> dict[str, float]:
    """How many bytes the story has in the languages of a script, beside those in English; 1 for other scripts."""
    english, found = len(story["eng_Latn"].encode()), dict[str, list[int]]()
    for text in story.values():
        if (script := main_script(text)) in texts:
            found.setdefault(script, []).append(len(text.encode()))
    return {script: sum(sizes) / len(sizes) / english for script, sizes in found.items()}


def main_script(text: str) -> str | None:
    """The script of most letters of a text."""
    from tokstudio.core.text.scripts import script_of

    scripts = Counter[str]()
    for character, times in Counter(text).items():
        if (script := script_of(character)) is not None:
            scripts[script] += times
    return scripts.most_common(1)[0][0] if scripts else None


def mixed(given: Any) -> None:
    """The table of mixed 10 MB."""
    with texts_of(given, "mixed_10mb.txt") as (file,):
        made: dict[str, list[dict[str, Any]]] = {variant: [] for variant in _ON_MIXED}
        for _ in range(_MIXED_ROUNDS):
            for variant in _ON_MIXED:
                asked = {"who": "mixed", "variant": variant, "file": str(file), "size": _MIXED_SIZE}
                made[variant].append(in_fresh_process(__file__, asked) or sys.exit("The benchmark failed."))
    scripts = ", ".join(made["plain BPE"][0]["scripts"])
    print(f"\nmixed 10 MB by script ({scripts}), {_MIXED_SIZE:,} tokens, median of {_MIXED_ROUNDS}\n")
    rows = [
        [
            variant,
            f"{median(result['seconds'] for result in results):.2f} s",
            f"{median(result['memory'] for result in results) / 1e6:.0f} MB",
            f"{results[0]['own']:.3f}",
            f"{results[0]['bytes'] / sum(results[0]['lengths']):.3f}",
            f"{gini(results[0]['lengths']):.4f}",
        ]
        for variant, results in made.items()
    ]
    table(["way", "time", "memory", "bytes per token of the corpus", "of the story", "Gini of the story"], rows)


def gini(lengths: list[int]) -> float:
    """0 where all texts take as many tokens."""
    ordered, amount = sorted(lengths), len(lengths)
    return sum((2 * place - amount - 1) * length for place, length in enumerate(ordered, 1)) / (amount * sum(ordered))


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--one")
    arguments.add_argument("--way", choices=["parity", "mixed", "pattern", "library"], help="only these rows")
    given = arguments.parse_args()
    if given.one is not None:
        import json

        asked = json.loads(given.one)
        if asked["who"] == "pattern":
            print(json.dumps(one_by_pattern(asked["file"], asked["variant"], asked["story"])))
        else:
            print(json.dumps(one_mixed(asked) if asked["who"] == "mixed" else one(asked)))
        return
    if given.data is None:
        sys.exit("Say where the texts are: --data FOLDER, or set TOKSTUDIO_DATA.")
    if given.way in (None, "parity"):
        parity(given)
    if given.way in (None, "mixed"):
        mixed(given)
    if given.way in (None, "pattern"):
        with texts_of(given, "mixed_10mb.txt") as (file,):
            by_pattern(__file__, file, in_scripts(whole_story(), scripts_of(file)), gini)
    if given.way in (None, "library"):
        by_library(__file__, {"data": str(given.data), "bytes": given.bytes or _TEXT}, gini)


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
    table(["way", "time", "of ours", "memory", "bytes per token", "Gini"], rows)


if __name__ == "__main__":
    main()
