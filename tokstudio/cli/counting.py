"""The command `count`: counts the pre-tokens of texts and writes the table, for training later or elsewhere."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tokstudio.cli.process.terminal import Console, put
from tokstudio.cli.reading import expand_files_work, plain_reading_errors, read_as_json, reading_of, report_read
from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.readers.folders import Folder
from tokstudio.core.corpus.source import CountedWith
from tokstudio.core.pretokenization.count_words import Counting
from tokstudio.core.pretokenization.word_counts import WordCounts


def count(arguments: argparse.Namespace, console: Console) -> None:
    """Counts files, here or on a cluster, and writes the table."""
    settings = CountedWith(arguments.pattern, tuple(arguments.special), arguments.documents)
    counting = Counting(settings, reading_of(arguments), arguments.encoding)
    if "-" in arguments.files:
        raise CorpusError("Standard input cannot be counted: give files. To train on it: tokstudio train -.")
    with plain_reading_errors():
        folders = list[Folder]()
        entries = console.finish(expand_files_work(arguments.files, folders, console))
        if arguments.dask is not None:
            from tokstudio.cli.cluster import count_on_cluster

            part = count_on_cluster(counting, entries, arguments.dask, console)
        else:
            part = console.finish(counting.count_work(entries))
        report_read(part.sources, console)
    counts = part.counts
    if not len(counts):
        raise CorpusError("There are no words in these texts: nothing was written.")
    out = console.finish(counts.save_work(arguments.out))
    if arguments.json:
        put(sys.stdout, json.dumps(_as_json(counts, out) | read_as_json(folders, part.sources)) + "\n")
    text = sum(total.bytes for total in counts.totals)
    console.say(
        f"Counted {several(text, 'byte')} of {several(len(counts.totals), 'source')}: "
        f"{several(len(counts), 'distinct word')}, in {out.name}."
    )


def _as_json(counts: WordCounts, out: Path) -> dict[str, object]:
    return {
        "file": str(out),
        "words": len(counts),
        "sources": [{"name": one.name, "bytes": one.bytes, "documents": one.documents} for one in counts.totals],
        "special_tokens": dict(counts.cut_out),
    }
