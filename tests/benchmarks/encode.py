"""Encoding without pre-tokenization, beside the `tokenizers` library with the same merges, in one process."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import tokenizers
from _common import machine, parser, seconds, table, texts

from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.text.byte_level import to_characters
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.trainer import train


def as_huggingface(tokenizer: Tokenizer) -> tokenizers.Tokenizer:
    """The same tokens and merges in the other library."""
    names = [to_characters(token or b"") for token in tokenizer.tokens]
    merges = [(names[left], names[right]) for left, right in tokenizer.merges.tolist()]
    model = tokenizers.models.BPE(vocab={name: number for number, name in enumerate(names)}, merges=merges)
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return made


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--vocabulary-size", type=int, default=32768)
    arguments.add_argument("--runs", type=int, default=5, help="of ours; the best counts")
    arguments.add_argument("--rival-bytes", type=int, default=1_000_000, help="how much the other library encodes")
    chosen = arguments.parse_args()
    rows = []
    with texts(chosen, "mixed_10mb.txt") as (file,):
        corpus, text = Corpus.from_files([file], encoding="bytes"), file.read_bytes().decode()
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=chosen.vocabulary_size))
    rival = as_huggingface(tokenizer)
    part = text.encode()[: chosen.rival_bytes].decode("utf-8", "ignore")
    for name, given in (("the whole text", text), ("the beginning of it", part)):
        megabytes = len(given.encode()) / 1e6
        best = min(seconds(lambda: tokenizer.encode_array(given))[0] for _ in range(chosen.runs))  # noqa: B023
        rows.append([f"TokStudio, {name}", f"{megabytes:.1f}", f"{best:.3f} s", f"{megabytes / best:.1f} MB/s", ""])
    took, theirs = seconds(lambda: rival.encode(part).ids)
    same = "yes" if theirs == tokenizer.encode(part) else "NO"
    rows.append(
        ["tokenizers, the beginning of it", f"{megabytes:.1f}", f"{took:.2f} s", f"{megabytes / took:.1f} MB/s", same]
    )
    print(f"\nEncoding without pre-tokenization, {len(tokenizer):,} tokens, one thread; {machine()}\n")
    table(["what", "MB", "time", "speed", "same ids"], rows)


if __name__ == "__main__":
    main()
