"""The commands `prune`, `join`, `renumber` and `specials`: they change a tokenizer, prove it and export."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokstudio.cli.exporting import Proving, check_losses, export
from tokstudio.cli.process.terminal import DONE, FAILED, Console, put
from tokstudio.cli.reading import CommandTexts, TextsToRead, read_corpus, texts_of
from tokstudio.cli.results import Exports
from tokstudio.cli.tokenizers import load_other, load_tokenizer_or_run
from tokstudio.core.analysis.token_counts import count_uses_work
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.surgery.join import join_work
from tokstudio.core.surgery.prune import prune_work, tokens_of_scripts_work
from tokstudio.core.surgery.renumber import order_as_in, order_by_rank, order_by_use, renumber
from tokstudio.core.surgery.specials import add_specials, replace_specials, set_roles
from tokstudio.core.tokenizer.library_tokenizer import check_changeable
from tokstudio.core.tokenizer.origin import Origin, unchanged_ids
from tokstudio.core.tokenizer.tokenizer import Tokenizer

_SAMPLE = 1_000_000  # bytes of the texts for the proof
_SHOWN_NEEDED = 8


@dataclass(frozen=True, eq=False)
class _Changed:
    """What a command made."""

    tokenizer: Tokenizer
    read: CommandTexts | None = None
    remark: str = ""
    facts: Mapping[str, object] = field(default_factory=dict[str, object])  # for --json


def change(arguments: argparse.Namespace, console: Console) -> int:
    """Changes a tokenizer, proves what stayed the same, and exports; returns the exit code."""
    exports: Exports = arguments.export
    proving = Proving(arguments.reference, arguments.map, arguments.report, console)
    old = load_tokenizer_or_run(arguments.source, arguments.run, arguments.pattern, console)
    check_changeable(old, whole_words=True)
    if arguments.command == "prune":
        changed = _prune(old, arguments, console)
    elif arguments.command == "join":
        changed = _join(old, load_other(arguments.other, arguments.pattern, console), console)
    elif arguments.command == "renumber":
        changed = _renumber(old, arguments.by, arguments.pattern, texts_of(arguments, arguments.corpus), console)
    else:
        changed = _specials(old, arguments.rename, arguments.add, dict(arguments.role))
    tokenizer = changed.tokenizer
    check_losses(tokenizer, exports, arguments.accept_loss)
    console.say(f"{len(old):,} -> {several(len(tokenizer), 'token')}.")
    if changed.remark:
        console.say(changed.remark)
    sample = b"" if changed.read is None else changed.read.corpus.sample(_SAMPLE)
    proof = proving.prove(tokenizer, sample)
    sample = sample or proving.reference.encode()
    reports = export(tokenizer, exports, arguments, sample, console, proof=proof)
    if len(reports) == len(exports):
        proving.write(tokenizer, proof, reports)
    if arguments.json:
        files = [str(file) for report in reports for file in report.files]
        facts = {"tokens_before": len(old), "vocabulary_size": len(tokenizer), **changed.facts}
        facts |= {} if changed.read is None else changed.read.as_json()
        put(sys.stdout, json.dumps(facts | {"files": files} | proving.as_json(proof)) + "\n")
    return DONE if len(reports) == len(exports) else FAILED


def _prune(old: Tokenizer, arguments: argparse.Namespace, console: Console) -> _Changed:
    """Removes tokens that all of the arguments allow; None allows all."""
    texts, least = texts_of(arguments, arguments.corpus), arguments.least_uses
    if least is not None and not texts.files and old.run is None:
        raise ConfigError("--least-uses needs texts in which the uses are counted: add --corpus.")
    chosen: Sequence[int] | None = arguments.tokens
    size: int | None = arguments.vocab_size
    if arguments.script is not None:
        in_scripts: list[int] = console.finish(tokens_of_scripts_work(old, arguments.script)).tolist()
        chosen = in_scripts if chosen is None else sorted(set(in_scripts).intersection(chosen))
    read, uses = _uses(old, texts, console)
    work = prune_work(old, size, uses, least_uses=least, tokens=chosen, renumber=not arguments.keep_ids)
    pruned = console.finish(work)
    needed: list[int] = pruned.needed.tolist()
    remark = ""
    if needed and (size is None or len(pruned.tokenizer) > size):
        named = ", ".join(map(str, needed[:_SHOWN_NEEDED])) + ", …" * (len(needed) > _SHOWN_NEEDED)
        remark = f"{several(len(needed), 'token stays', 'tokens stay')} as a part of others: {named}."
    if len(pruned.tokenizer) == len(old):
        raise ConfigError(f"Nothing can be removed. {remark}".rstrip())
    if size is not None and len(pruned.tokenizer) > size:
        remark = f"No other tokens can be removed: more than {size:,} are left. {remark}".rstrip()
    return _Changed(pruned.tokenizer, read, remark, {"removed": len(old) - len(pruned.tokenizer), "needed": needed})


def _join(old: Tokenizer, other: Tokenizer, console: Console) -> _Changed:
    joined = console.finish(join_work(old, other))
    if len(joined) == len(old):
        raise ConfigError("The other tokenizer has no token to add: this one has them all, or no text becomes them.")
    tokens_of_joined = set(joined.tokens)
    left_out = len({other.tokens[token] for token in other.merge_results.tolist()} - tokens_of_joined)
    tokens = several(left_out, "token of the other tokenizer is", "tokens of the other tokenizer are")
    remark = f"{tokens} left out, which no text would become." if left_out else ""
    return _Changed(joined, remark=remark, facts={"left_out": left_out})


def _renumber(old: Tokenizer, by: str, pattern: str | None, texts: TextsToRead, console: Console) -> _Changed:
    read: CommandTexts | None = None
    if by == "rank":
        order = order_by_rank(old)
    elif by == "use":
        read, uses = _uses(old, texts, console)
        if uses is None:
            uses = None if old.run is None else old.run.uses_in_tokenizer(len(old.merges))
            if uses is None:
                raise ConfigError("--by use needs texts in which the uses are counted: add --corpus.")
        order = order_by_use(old, uses)
    else:
        order = order_as_in(old, load_other(Path(by), pattern, console))
    renumbered = renumber(old, order)
    ids = old.tokens.ids()
    moved = int(np.count_nonzero(renumbered.new_ids[ids] != ids))
    remark = f"{several(moved, 'token gets', 'tokens get')} another id."
    return _Changed(renumbered.tokenizer, read, remark, {"renumbered": moved})


def _specials(old: Tokenizer, renamed: Sequence[str], added: Sequence[str], roles: Mapping[str, str]) -> _Changed:
    changed = replace_specials(old, dict(_renaming(text, old.special_tokens) for text in renamed)) if renamed else old
    changed = add_specials(changed, added) if added else changed
    changed = set_roles(changed, roles) if roles else changed
    # All steps are one change of the old tokenizer.
    origin = Origin(old, "specials", unchanged_ids(old.tokens.ids()))
    return _Changed(changed.changed(origin=origin))


def _renaming(text: str, specials: Iterable[str]) -> tuple[str, str]:
    """A token and its new text; the first sign "=" that ends a special token divides them."""
    places = [place for place, sign in enumerate(text) if sign == "=" and 0 < place < len(text) - 1]
    place = next((place for place in places if text[:place] in specials), places[0])
    return text[:place], text[place + 1 :]


def _uses(old: Tokenizer, texts: TextsToRead, console: Console) -> tuple[CommandTexts | None, NDArray[np.int64] | None]:
    """The texts of --corpus and the uses of each token in them; None where there are no texts."""
    if not texts.files:
        return None, None
    read = read_corpus(texts, console)
    return read, console.finish(count_uses_work(old, read.corpus))
