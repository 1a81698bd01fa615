"""How long the checker takes to name a mistake: on its own text and on 130 kB, alone, in pairs, and in vain."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import time

from _common import machine, parser, record, texts

from tokstudio import Corpus
from tokstudio.core.base.progress import finish
from tokstudio.core.teaching.check import Checker, CheckSettings
from tokstudio.core.teaching.exercise import SPECIAL_TOKENS, TEXT
from tokstudio.core.teaching.hypotheses import hypotheses
from tokstudio.core.teaching.naive import NaiveTrainer, Recipe, Words, count_words_work

_MERGES = 744
_LISTS = {
    "right": Recipe(),
    "one mistake": Recipe(ties="smallest"),
    "two mistakes": Recipe(ties="smallest", lower_case="text"),
    "three mistakes (in vain)": Recipe(ties="smallest", lower_case="text", words_once=True),
}


def main() -> None:
    """Prints a row for each list."""
    print(machine())
    with texts(parser(__doc__).parse_args(), "shakespeare.txt") as (path,):
        whole = path.read_bytes()[:130_000]
    settings = CheckSettings(special_tokens=SPECIAL_TOKENS)
    known = hypotheses(settings.recipe, len(SPECIAL_TOKENS))
    alone = {recipe for each in known for _, recipe in each.recipes(settings.recipe)}
    print(f"{len(known)} mistakes, {len(alone)} trainings for them alone")
    finish(Checker(Corpus.from_texts(["ab ab"]), settings).expected_work(1))  # compiles the loops
    for name, text, merges in (("own text", TEXT, 200), ("130 kB", whole, _MERGES)):
        checker = Checker(Corpus.from_texts([text]), settings)
        for what, recipe in _LISTS.items():
            words = finish(Words.of_work(finish(count_words_work([text], SPECIAL_TOKENS, recipe)), characters=False))
            made = [merge for merge, _ in zip(NaiveTrainer(words, recipe).merges(), range(merges), strict=False)]
            begun = time.perf_counter()
            check = finish(checker.check_work(made))
            causes = " or ".join("+".join(each.key for each in cause) for cause in check.causes)
            took = time.perf_counter() - begun
            print(f"{name:9} {what:25} {took:6.1f} s  {causes or '-'}", flush=True)
            if name == "130 kB" and what == "one mistake":
                record("name a mistake in a training", f"130 kB, {_MERGES} merges", took, "s", bar="10 s")


if __name__ == "__main__":
    main()
