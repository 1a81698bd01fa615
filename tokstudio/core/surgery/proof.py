"""Proves what stayed the same when a tokenizer was changed, in nine points, and saves it so proved.

It has three parts: the points that need no files, the one that its files decide, and `save`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.analysis.reachability import CUT, NORMALIZED, REACHED, reachability_work
from tokstudio.core.base.atomic_files import WriteError
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.private_folders import TemporaryFolder
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several, shown
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.report import ExportReport
from tokstudio.core.formats.saving import fit_work, sample_text, save_work
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.surgery.embedding_map import EmbeddingMap, embedding_map_work
from tokstudio.core.text.utf8 import AnyPath, Text, lines_of, to_utf8
from tokstudio.core.tokenizer.origin import Origin, Point, Proof, from_the_first
from tokstudio.core.tokenizer.self_encoding import each_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- The eight points that need no files ------------------------------------------------------------------------------

_REPORTED = 1 << 12
_MOST_LISTED = 1_000  # tokens or lines in the details of a point
_SHOWN_TOKENS = 12
_PREVENTED = {CUT: "is always split by the pattern", NORMALIZED: "is changed by the normalizer"}


def verify_work(tokenizer: Tokenizer, texts: Iterable[Text] = (), reference: str = "") -> Work[Proof]:
    """Proves the first eight points of a tokenizer that was made from another.

    Args:
        tokenizer: The new tokenizer.
        texts: Texts that must be decoded as they were, such as the corpus, besides a hard built-in text.
        reference: A text whose lines are encoded by both tokenizers.

    Raises:
        ConfigError: It was not made from another.
    """
    if (origin := tokenizer.origin) is None:
        raise ConfigError("This tokenizer was not made from another: there is nothing to compare it with.")
    question = _Question(tokenizer, origin)
    table = yield from embedding_map_work(tokenizer, from_the_first(origin))
    points = [question.bytes(), question.merges(), question.base()]
    yield Progress("proving")
    points.append((yield from question.produced_work()))
    points.append((yield from question.decoded_work(texts)))
    points.append((yield from question.lines_work(reference)))
    points.append((yield from question.specials_work()))
    points.append(question.embedding(table))
    return Proof(tuple(points))


class _Question:
    """The question; each method answers one point."""

    def __init__(self, new: Tokenizer, origin: Origin[Tokenizer]) -> None:
        self._old, self._new, self._origin = origin.old, new, origin
        self._new_ids = origin.new_ids
        self._is_special = set(origin.old.special_tokens.values())

    def bytes(self) -> Point:
        """Every old id has the same bytes."""
        old, new = self._old.tokens, self._new.tokens
        in_use: list[int] = old.ids().tolist()
        moved = removed = renamed = 0
        wrong: list[str] = []
        for token in in_use:
            now = int(self._new_ids[token]) if token < len(self._new_ids) else -1
            if now < 0:
                removed += 1
                if not self._may_go(token):
                    wrong.append(f"Token {token} {_shown(old[token])} is gone.")
            elif not new.in_use(now) or (new[now] != old[token] and not self._may_be_renamed(token, now)):
                new_text = _shown(new[now]) if new.in_use(now) else "no token"
                wrong.append(f"Token {token} {_shown(old[token])} is now {now}, {new_text}.")
            else:
                moved += now != token
                renamed += new[now] != old[token]
        # What the point says must be true of what was found.
        name = f"Every old {'token' if moved else 'id'}{' that stays' if removed or renamed else ''} has the same bytes"
        if wrong:
            return _failed(1, name, wrong)
        kept = several(len(in_use) - removed, "token")
        ids = "with the same ids" if not moved else f"{several(moved, 'id')} renumbered"
        changes = [f"; {n:,} {what}" for n, what in ((renamed, "renamed"), (removed, "removed")) if n]
        return Point(1, name, True, f"{kept}, {ids}{''.join(changes)}.", neutral=bool(moved or changes))

    def merges(self) -> Point:
        """The old merges are a prefix or a subsequence."""
        whole = np.append(self._new_ids, np.int32(-1))
        size = len(self._new_ids)
        old = np.column_stack([self._old.merges, self._old.merge_results])
        mapped = whole[np.minimum(old, size)]
        new = np.column_stack([self._new.merges, self._new.merge_results])
        change, kept = self._origin.change, mapped[mapped[:, 2] >= 0]
        # The preparation names special tokens, which may have other names.
        prepared = change == "specials" or self._old.preparation == self._new.preparation
        if self._old.pattern != self._new.pattern or not prepared:
            return Point(2, "Text is split as before", False, "The pattern or the preparation of text differs.")
        if change == "pruned":
            same = np.array_equal(new, kept)
            sentence = f"{len(new):,} of {several(len(old), 'merge')}, in the same order."
            name, fewer = "The merges are a subsequence of the old ones", len(new) < len(old)
            return Point(2, name, same, sentence if same else "they differ.", neutral=same and fewer)
        if change == "extended":
            same = np.array_equal(new[: len(old)], mapped)
            sentence = f"{several(len(old), 'merge')}, then {len(new) - len(old):,} new."
            name, more = "The old merges are an unchanged prefix", len(new) > len(old)
            return Point(2, name, same, sentence if same else "they differ.", neutral=same and more)
        same = np.array_equal(new, mapped)
        return Point(2, "The merges are the same", same, f"{several(len(new), 'merge')}." if same else "they differ.")

    def base(self) -> Point:
        """Every byte, or every old character, has an id."""
        old, new = self._old.alphabet, self._new.alphabet
        name = "Every byte of UTF-8 has an id" if old.base == "bytes" else "Every character has an id"
        same = old.base == new.base and np.array_equal(old.units, new.units)
        same = same and np.array_equal(self._new_ids[old.ids], new.ids)
        return Point(3, name, bool(same), f"{len(new):,} {new.base}." if same else "the base tokens differ.")

    def produced_work(self) -> Work[Point]:
        """Every new token is produced by its own bytes, and every old one that was."""
        name = "Every token is produced by encoding its own bytes"
        broken, listed = list[str](), list[str]()
        kept = self._new_ids[self._new_ids >= 0]
        results = np.unique(self._new.merge_results)
        fresh = results[~np.isin(results, kept)]
        old_ids = np.full(max(len(self._new.tokens), int(kept.max(initial=-1)) + 1), -1, np.int64)
        old_ids[kept] = np.flatnonzero(self._new_ids >= 0)
        reach = yield from reachability_work(self._new)
        unreached = results[reach[results] != REACHED]
        reached_before = (
            (yield from reachability_work(self._old)) == REACHED if len(unreached) else np.empty(0, np.bool_)
        )
        for token, pieces in (yield from _merged_alone_work(self._new, unreached)):
            shown_token = f"{_shown(self._new.tokens[token])} {token}"
            prevented = _PREVENTED.get(int(reach[token]))
            line = f"{shown_token} {prevented or f'becomes {_pieces(self._new, pieces)}'}."
            before = int(old_ids[token])
            # A fork may have another pattern and preparation than the tokenizer that it was made from.
            if before < 0 or prevented:
                listed.append(line)
            elif reached_before[before]:
                broken.append(line)
            else:
                listed.append(f"{line} It was so before.")
        if broken:
            return _failed(4, name, broken)
        new = f"{len(fresh):,} new, " if self._origin.change == "extended" else ""
        sentence = f"{several(len(results), 'token')} made by merges, {new}{len(listed):,} never produced."
        if listed:
            name += ", or is listed"
        neutral = bool(listed or len(fresh))
        return Point(4, name, True, sentence, tuple(listed[:_MOST_LISTED]), neutral, _further(listed))

    def decoded_work(self, texts: Iterable[Text]) -> Work[Point]:
        """Decoding gives every text back."""
        name = "Decoding what was encoded gives the text back"
        number = size = as_before = 0
        wrong: list[str] = []
        for text in (torture_text(), *texts):
            text = _known(self._new, text)
            raw = to_utf8(text)
            back = self._new.decode_bytes((yield from self._new.encode_work(text)).tolist())
            if back != raw:
                before = self._old.decode_bytes((yield from self._old.encode_work(text)).tolist())
                as_before += back == before
                if back != before:
                    at = next(i for i in range(len(back) + 1) if back[: i + 1] != raw[: i + 1])
                    wrong.append(f"Text {number + 1:,} differs from byte {at:,} on: {_shown(back[at : at + 40])}.")
            number, size = number + 1, size + len(raw)
            yield Progress("proving")
        if wrong:
            return _failed(5, name, wrong)
        come = several(as_before, "comes back", "come back")
        changed = f"; {come} changed as by the old tokenizer" if as_before else ""
        finding = f"{several(number, 'text')}, {several(size, 'byte')}{changed}."
        return Point(5, name, True, finding, neutral=bool(as_before))

    def lines_work(self, reference: str) -> Work[Point]:
        """How many lines of a text become other tokens; libraries find new special tokens in any text."""
        name, details = "Lines of the reference text with other tokens", list[str]()
        changed, lines = (yield from changed_lines_work(self._new, reference)), len(lines_of(reference))
        for line in changed[:1]:
            place = f"line {line.number:,}, token {line.first + 1:,}"
            details.append(f"{place}, before: {_pieces(self._old, line.before[line.first :])}")
            details.append(f"{place}, after: {_pieces(self._new, line.after[line.first :])}")
        holds = not changed or self._origin.change in ("extended", "pruned")
        sentence = f"{len(changed):,} of {several(lines, 'line')}." if lines else "no reference text was given."
        return Point(6, name, holds, sentence, tuple(details), neutral=holds and bool(changed or not lines))

    def specials_work(self) -> Work[Point]:
        """Special tokens keep their ids and are never made of plain text."""
        wrong: list[str] = []
        texts = {number: token for token, number in self._new.special_tokens.items()}
        renamed = gone = moved = 0
        for token, number in self._old.special_tokens.items():
            now = int(self._new_ids[number])
            renamed += now in texts and texts[now] != token
            gone += now < 0
            moved += 0 <= now != number
            if (now not in texts or texts[now] != token) and not self._may_go_or_be_renamed(number, now):
                wrong.append(f"{shown(token)} {number} is now {shown(texts[now]) if now in texts else 'no token'}.")
        specials = np.array([*texts], np.int64)
        inside = np.isin(specials, np.column_stack([self._new.merges, self._new.merge_results[:, np.newaxis]]))
        wrong += [f"{shown(texts[token])} {token} is in a merge." for token in specials[inside].tolist()]
        for token, text in texts.items():
            if text in self._new.preparation.ordinary:
                continue  # it is not special, and found in every text
            ids = yield from self._new.encode_work(_known(self._new, text))
            may_be = token == self._new.alphabet.unknown or text in self._new.preparation.ordinary
            if not may_be and token in ids:
                wrong.append(f"{shown(text)} {token} is made of plain text.")
        kept = "" if moved or gone else "keep their ids and "
        name = f"Special tokens {kept}are never made of plain text"
        if wrong:
            return _failed(7, name, wrong)
        added = len(texts) - len(self._old.special_tokens) + gone
        kinds = ((moved, "renumbered"), (renamed, "renamed"), (added, "added"), (gone, "replaced"))
        more = [f"{n:,} {what}" for n, what in kinds if n]
        ordinary = len(self._new.preparation.ordinary)
        others = [f"{several(ordinary, 'added token is', 'added tokens are')} not special"] if ordinary else []
        sentence = ", ".join([several(len(texts) - ordinary, "special token"), *others, *more])
        return Point(7, name, True, f"{sentence}.", neutral=bool(more))

    def embedding(self, table: EmbeddingMap) -> Point:
        """The embedding map covers every token, and the parts of a new token are its bytes."""
        name = "The embedding map covers every token"
        first = from_the_first(self._origin).old
        wrong: list[str] = []
        covered = np.sort(np.concatenate([table.new_ids, table.made]))
        if not np.array_equal(covered, self._new.tokens.ids()):
            wrong.append("Some tokens have no row, or two.")
        unknown = first.alphabet.unknown
        for token in table.made.tolist():
            parts: list[int] = table.parts_of(token).tolist()
            spelled = b"".join([first.tokens[part] or b"" for part in parts])
            if spelled != self._new.tokens[token] and unknown not in parts:
                wrong.append(f"The parts of token {token} are not its bytes.")
        if wrong:
            return _failed(8, name, wrong)
        kept = several(len(table.old_ids), "row stays", "rows stay")
        made_text = several(len(table.made), "is made", "are made")
        sentence = f"{kept} of the {table.before:,} of the first tokenizer, {made_text} of parts."
        return Point(8, name, True, sentence, neutral=bool(len(table.made) or len(table.old_ids) < table.before))

    def _may_go(self, token: int) -> bool:
        """Whether a token may be removed: ordinary ones in pruning; reserved ones, for new ones, in extending."""
        if self._origin.change == "extended":
            return token in self._is_special
        return self._origin.change == "pruned" and token not in self._is_special

    def _may_be_renamed(self, token: int, now: int) -> bool:
        is_special = token in self._is_special and now in self._new.special_tokens.values()
        return is_special and self._origin.change == "specials"

    def _may_go_or_be_renamed(self, token: int, now: int) -> bool:
        return self._may_go(token) if now < 0 else self._may_be_renamed(token, now)


@dataclass(frozen=True, eq=False)
class ChangedLine:
    """A line of a text that becomes other tokens than before."""

    number: int  # from 1
    before: NDArray[np.uint32]  # the ids by the tokenizer before
    after: NDArray[np.uint32]  # the ids by the new one
    first: int  # the place of the first that differs


def changed_lines_work(tokenizer: Tokenizer, reference: str) -> Work[list[ChangedLine]]:
    """The lines of a text whose tokens are not those of the tokenizer that it was made from.

    Special tokens that are new are found, as libraries find them in any text.
    """
    origin = tokenizer.origin
    assert origin is not None
    changed_lines: list[ChangedLine] = []
    new_specials = tuple(tokenizer.special_tokens.keys() - origin.old.special_tokens.keys())
    lines = lines_of(reference)
    for number, line in enumerate(lines, 1):
        text = _known(tokenizer, line)
        before = yield from origin.old.encode_work(text)
        after = yield from tokenizer.encode_work(text, new_specials)
        mapped, size = origin.new_ids[before], min(len(before), len(after))
        if not np.array_equal(mapped, after):
            first = int(np.argmax(np.append(mapped[:size] != after[:size], True)))
            changed_lines.append(ChangedLine(number, before, after, first))
        if number % _REPORTED == 0:
            yield Progress("proving", number, len(lines))
    return changed_lines


def _merged_alone_work(tokenizer: Tokenizer, ids: NDArray[np.int32]) -> Work[list[tuple[int, NDArray[np.uint32]]]]:
    """What merging makes of the bytes of each token, as one pre-token."""
    numbers: list[int] = ids.tolist()
    pieces, sizes = yield from each_work(
        tokenizer.encoder("none"), [tokenizer.tokens[token] or b"" for token in numbers]
    )
    return list(zip(numbers, np.split(pieces, np.cumsum(sizes)[:-1]), strict=True)) if numbers else []


def _known(tokenizer: Tokenizer, text: Text) -> Text:
    """The text without characters that the tokenizer cannot encode."""
    alphabet = tokenizer.alphabet
    if alphabet.base == "bytes" or alphabet.unknown is not None:
        return text
    characters = set(map(chr, alphabet.units.tolist()))
    decoded = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return "".join(filter(characters.__contains__, decoded))


def _failed(number: int, name: str, wrong: Sequence[str]) -> Point:
    more = f" and {len(wrong) - 1:,} more" if len(wrong) > 1 else ""
    return Point(number, name, False, f"{wrong[0]}{more}", tuple(wrong[:_MOST_LISTED]), further=_further(wrong))


def _further(lines: Sequence[str]) -> int:
    """How many lines are not among the details of a point."""
    return max(0, len(lines) - _MOST_LISTED)


def _pieces(tokenizer: Tokenizer, ids: NDArray[np.uint32]) -> str:
    """The first tokens of a text, each in quotes with its id."""
    first: list[int] = ids[:_SHOWN_TOKENS].tolist()
    named = [f"{_shown(tokenizer.tokens[token])} {token}" for token in first]
    return ", ".join(named) + (" …" if len(ids) > _SHOWN_TOKENS else "")


def _shown(token: bytes | None) -> str:
    return shown((token or b"")[:200].decode("utf-8", "backslashreplace"))


# --- The ninth point: a library reads its files -----------------------------------------------------------------------

# Each with a library that reads it.
_FORMATS = ("huggingface", "tiktoken", "gpt2", "sentencepiece")


def verify(tokenizer: Tokenizer, texts: Iterable[Text] = (), reference: str = "") -> Proof:
    """What stayed the same in a tokenizer that was made from another; see `Proof`.

    Args:
        tokenizer: The new tokenizer.
        texts: Texts that must be decoded as they were, such as the corpus.
        reference: A text whose lines are compared, and which a library encodes.

    Raises:
        ConfigError: It was not made from another.
        FormatError: It cannot be written to a temporary folder, for a library to read it.
    """
    return finish(verify_all_work(tokenizer, texts, reference))


def verify_all_work(tokenizer: Tokenizer, texts: Iterable[Text] = (), reference: str = "") -> Work[Proof]:
    """Does the same as `verify` in bounded pieces."""
    proof = yield from verify_work(tokenizer, texts, reference)
    # Without its run: formats take it on trust that a trained tokenizer merges as their libraries do.
    alone = tokenizer.changed()
    for format in _FORMATS:
        fitting = yield from fit_work(alone, format)
        if fitting.problem is None and not fitting.losses:
            break
    else:
        return proof.read_back("No format of a library holds this tokenizer without a loss.", neutral=True)
    title = FORMATS[format].title
    with TemporaryFolder() as folder:
        try:
            report = yield from save_work(alone, folder / "exported", format, proof=None, sample=reference)
        except WriteError as error:
            raise WriteError(f"The tokenizer cannot be written to a temporary folder for its proof: {error}") from error
        except FormatError as error:
            return proof.read_back(f"{title}: {error}", holds=False)
    return proof.read_back(f"{title}: {report.proof}.")


# --- Saving, with the proof -------------------------------------------------------------------------------------------


def save(
    tokenizer: Tokenizer,
    path: AnyPath,
    format: str = "huggingface",
    accept_loss: bool = False,
    *,
    sample: Text | None = None,
    model: AnyPath | None = None,
    pad: bool = False,
) -> ExportReport:
    """Writes a tokenizer to files for other programs, and proves that the files hold it.

    Either all files are written or none; existing files stay until the new ones are proved. For a tokenizer that was
    made from another, it also proves what stayed the same.

    Args:
        tokenizer: The tokenizer; one from `at` has only the merges up to there.
        path: A file, or a folder where the format has several files; in a folder, files get their usual names.
        format: One of `FORMATS`.
        accept_loss: Whether to write even where the format cannot hold everything.
        sample: Text to prove it with, besides a hard built-in text; its first megabyte is used.
        model: A GGUF file, for the format gguf: a copy of it with this tokenizer is written, its tensors as they are.
        pad: Whether tokens that the model has more are filled up with some that no text becomes.

    Raises:
        ConfigError: The format is unknown, or cannot be written.
        FormatError: The format cannot hold this tokenizer, a point of the proof fails, or the files cannot be written;
            or the model cannot be read, or has another number of tokens.
    """
    return finish(save_proved_work(tokenizer, path, format, accept_loss, sample=sample, model=model, pad=pad))


def save_proved_work(
    tokenizer: Tokenizer,
    path: AnyPath,
    format: str,
    accept_loss: bool = False,
    *,
    sample: Text | None = None,
    original: Tokenizer | None = None,
    proof: Proof | None = None,
    model: AnyPath | None = None,
    pad: bool = False,
    may_replace: bool = True,
) -> Work[ExportReport]:
    """Does the same as `save` in bounded pieces; for `original` and `may_replace` see `save_work`.

    With a `proof`, it makes none.
    """
    if proof is None and tokenizer.origin is not None:
        text = sample_text(sample)
        proof = yield from verify_work(tokenizer, [text], text)
    saving = save_work(
        tokenizer,
        path,
        format,
        accept_loss,
        proof=proof,
        sample=sample,
        original=original,
        model=model,
        pad=pad,
        may_replace=may_replace,
    )
    return (yield from saving)
