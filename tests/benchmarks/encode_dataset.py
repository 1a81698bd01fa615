"""A data set encoded into shards by GPT-2, beside a loop of tiktoken and NumPy's `tofile`, and its peak memory.

The documents are paragraphs of the mixed text, in JSON Lines. Both read them, encode each and write all ids as uint16,
in a process of their own; the files must be equal. Then the same file many times over, in Zstandard, beside counting
its words for a training: what both read and how much memory they need above what the process held.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import zstandard
from _common import (
    costs,
    in_fresh_process,
    is_installed,
    parser,
    record,
    run_parts,
    seconds,
    table,
    texts,
    tokenizer_file,
)
from encode import by_tiktoken, lay_out

_PARAGRAPHS = 1_500  # characters of a document, at least, but for the last one


def write_documents(text: str, path: Path) -> None:
    """Writes paragraphs of the text as rows, some of them together where they are short."""
    together = list[str]()
    with path.open("w", encoding="utf-8") as file:
        for paragraph in [*text.split("\n\n"), ""]:
            together.append(paragraph)
            if sum(map(len, together)) > _PARAGRAPHS or not paragraph:
                file.write(json.dumps({"text": "\n\n".join(together)}, ensure_ascii=False) + "\n")
                together.clear()


def _laid_out(chosen: argparse.Namespace, text: Path, folder: Path) -> Path:
    """A folder with GPT-2, the documents of the text, and a small file that is encoded before."""
    from tokstudio import load

    lay_out(load(tokenizer_file(chosen, "gpt2")), folder)
    write_documents(text.read_text(encoding="utf-8"), folder / "a.jsonl")
    write_documents("A first document.", folder / "small.jsonl")
    return folder


def by_us(folder: str, path: str, threads: int | None, count: bool = False) -> dict[str, float]:
    """Seconds and memory to encode a file into a folder, or to count its words."""
    from tokstudio import count_shard, encode_dataset, load

    tokenizer = load(Path(folder) / "tokenizer.json")
    out = Path(folder) / "out"
    shutil.rmtree(out, ignore_errors=True)
    encode_dataset([Path(folder) / "small.jsonl"], tokenizer, out)  # loads the compiled loops
    count_shard(Path(folder) / "small.jsonl", "gpt2")
    shutil.rmtree(out)
    if count:
        return costs(lambda: count_shard(path, "gpt2", threads=threads))[0]
    cost, made = costs(lambda: encode_dataset([path], tokenizer, out, formats=["bin"], threads=threads))
    return {**cost, "bytes": made.bytes, "tokens": made.tokens}


def by_loop(folder: str, path: str) -> float:
    """Seconds of a loop of tiktoken over the same documents."""
    encode = by_tiktoken(Path(folder), "gpt2")
    encode("Beginning")

    def loop() -> None:
        with open(path, encoding="utf-8") as rows, (Path(folder) / "loop.bin").open("wb") as out:
            for row in rows:
                np.array(encode(json.loads(row)["text"]), np.uint16).tofile(out)

    return seconds(loop)[0]


def speed(chosen: argparse.Namespace) -> None:
    """Prints the speed beside tiktoken."""
    with texts(chosen, chosen.text) as (text,), tempfile.TemporaryDirectory() as name:
        folder = _laid_out(chosen, text, Path(name) / "gpt2")
        rows, took = list[list[str]](), dict[int | None, float]()
        for threads in (1, None):
            measured = in_fresh_process(by_us, str(folder), str(folder / "a.jsonl"), threads)
            assert measured is not None
            took[threads] = measured["bytes"] / 1e6 / measured["seconds"]
            tokens = f"{measured['tokens'] / 1e6 / measured['seconds']:.2f} M tokens/s"
            memory = f"{measured['memory'] / 1e6:,.0f} MB"
            rows.append([f"TokStudio, {threads or 'all'} threads", f"{took[threads]:.1f} MB/s", tokens, memory, ""])
        if is_installed("tiktoken"):
            other = in_fresh_process(by_loop, str(folder), str(folder / "a.jsonl"))
            assert other is not None
            theirs, same = measured["bytes"] / 1e6 / other, _same(folder / "out", folder / "loop.bin")
            rows.append(["a loop of tiktoken", f"{theirs:.1f} MB/s", "", "", "yes" if same else "NO"])
            given = f"{chosen.text} in documents, GPT-2"
            record("encode_dataset, one thread", given, took[1], "MB/s", "tiktoken", theirs, "3x")
            record("encode_dataset, a thread a core", given, took[None], "MB/s", "tiktoken", theirs, "4x")
    table(["GPT-2, uint16", "speed", "tokens", "memory", "same file"], rows)


def _same(shards: Path, loop: Path) -> bool:
    return b"".join(path.read_bytes() for path in sorted(shards.glob("*.bin"))) == loop.read_bytes()


def memory(chosen: argparse.Namespace) -> None:
    """Prints the memory and the speed for many copies, beside counting."""
    with texts(chosen, chosen.text) as (text,), tempfile.TemporaryDirectory() as name:
        folder = _laid_out(chosen, text, Path(name) / "gpt2")
        content, large = (folder / "a.jsonl").read_bytes(), folder / "large.jsonl.zst"
        with large.open("wb") as out, zstandard.ZstdCompressor(1).stream_writer(out) as packed:
            for _ in range(chosen.copies):
                packed.write(content)
        ours = in_fresh_process(by_us, str(folder), str(large), None)
        counted = in_fresh_process(by_us, str(folder), str(large), None, True)
    if ours is None or counted is None:
        sys.exit("It failed, see above.")
    size = ours["bytes"]
    rows = [
        [what, f"{size / 1e6 / cost['seconds']:.1f} MB/s", f"{cost['memory'] / 1e6:,.0f} MB"]
        for what, cost in (("encode into shards", ours), ("count its words", counted))
    ]
    table([f"{size / 1e9:.1f} GB of text in Zstandard, GPT-2", "speed", "peak memory"], rows)
    given = f"{size / 1e9:.1f} GB in Zstandard, GPT-2"
    record("peak memory of encode_dataset", given, ours["memory"] / 1e6, "MB", bar="600 MB")
    of_both = size / 1e6 / ours["seconds"], size / 1e6 / counted["seconds"]
    record("encode_dataset of a large file", given, of_both[0], "MB/s", "counting its words", of_both[1], "0.5x")


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("--text", default="mixed_100mb.txt", help="which of the texts")
    arguments.add_argument("--copies", type=int, default=20, help="how many times the file is repeated")
    run_parts(arguments, speed=speed, memory=memory)
