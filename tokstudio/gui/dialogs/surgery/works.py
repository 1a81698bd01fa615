"""What the dialogs compute in jobs: the effect of a change before it is made, and the changed tokenizer."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.algorithms.common.from_tokenizer import check_start
from tokstudio.core.analysis.reachability import REACHED
from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import count_text, percent_text, several, size_text
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.sampling import sample_in_one
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.file_settings import DEFAULT, FileSettings
from tokstudio.core.project import ProjectTokenizer, keep_changed_work
from tokstudio.core.surgery.prune import removal_order_work, tokens_of_scripts_work, with_ids, without
from tokstudio.core.surgery.specials import add_specials, fill_reserved, replace_specials, set_roles
from tokstudio.core.tokenizer.origin import Origin, unchanged_ids
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.trainer import Trainer
from tokstudio.gui.token_text.spelling import marked, shown
from tokstudio.gui.widgets.labels import isolated

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- Names of runs that are made from others: short, with each remark once --------------------------------------------

_NUMBERED = re.compile(r"(Run \d+) \(.*\)")
_NUMBER = re.compile(r"\d[\d,]*")


def short_name(name: str) -> str:
    """A name without the remark of a numbered run: "Run 2" for "Run 2 (Run 1, extended)"."""
    return _NUMBERED.sub(r"\1", name, count=1)


def name_with(name: str, change: str) -> str:
    """A short name with a change at its end, such as "pruned to 300", in place of an earlier change of this kind."""
    first, *others = short_name(name).split(", ")
    return ", ".join([first, *(other for other in others if _kind(other) != _kind(change)), change])


def remark_of(name: str, number: int) -> str:
    """What follows the number in the name of a run: " (Run 1, extended)"; "" after another name was given."""
    match = re.fullmatch(rf"Run {number}(?!\d)(.*)", name)
    return match.group(1) if match is not None else ""


def _kind(change: str) -> str:
    return _NUMBER.sub("0", change)


SAMPLE = 1 << 20  # bytes of the corpus that a preview looks at
_LISTED = 200  # tokens
_NOTHING = "Nothing would be removed."


@dataclass(frozen=True)
class EffectFigure:
    """A line of an effect: a quantity before and after."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Effect:
    """What a change does, for the preview."""

    figures: tuple[EffectFigure, ...]
    heading: str  # above the tokens
    tokens: tuple[str, ...]  # the first ones, a line each
    notes: tuple[str, ...] = ()
    problem: str = ""  # why the change is of no use


@dataclass(frozen=True, eq=False)
class ChangedTokenizer:
    """A tokenizer to add to Runs."""

    tokenizer: Tokenizer
    name: str
    change: str
    kept: ProjectTokenizer


@dataclass(frozen=True)
class PruneChoice:
    """What is removed: exactly one of the first four is set."""

    size: int | None = None
    least_uses: int | None = None
    script: str | None = None
    tokens: tuple[int, ...] | None = None
    renumber: bool = True


# ---- extending


def extension_work(
    start: Tokenizer, config: TrainingConfig, corpus: Corpus, reserved: Sequence[str] = ()
) -> Work[Effect]:
    """The effect of a training from a tokenizer, and of filling reserved ids, tried on a sample of the corpus.

    Raises:
        ConfigError: The tokenizer cannot be trained further, or not with these settings.
    """
    config = check_start(start, config)
    sample = sample_in_one(corpus, SAMPLE)
    trainer = Trainer(sample, config, start=start)
    while trainer.ended is None:
        trainer.advance()
        yield trainer.progress
    run, tokenizer = trainer.run, trainer.tokenizer()
    size = len(tokenizer)
    tokenizer = fill_reserved(tokenizer, reserved) if reserved else tokenizer
    new: list[int] = tokenizer.merge_results[len(start.merges) :].tolist()
    is_part = sample.bytes < corpus.bytes
    problem = ""
    if not new and not is_part:
        problem = "Nothing new can be learned from this corpus with these settings."
    after = int(run.tokens_after[-1]) if new else run.tokens_before
    scale = run.weight_scale
    figures = (
        EffectFigure("Vocabulary", f"{len(start):,}", f"{len(tokenizer):,}"),
        *_tokens_of_text(run.tokens_before // scale, after // scale, run.corpus.bytes // scale, sample, corpus),
    )
    limit = config.vocabulary_size
    notes = ["Tried on the sample; the training reads the whole corpus."] if is_part else []
    if limit is not None and size < limit and not problem:
        notes.append(f"Ends at {len(tokenizer):,} tokens: {run.ended}.")
    lines = tuple(lines_of(tokenizer, new[:_LISTED]))
    return Effect(figures, "First new tokens", lines, tuple(notes), problem)


def filled_work(tokenizer: Tokenizer, name: str, reserved: Sequence[str]) -> Work[ChangedTokenizer]:
    """An extended tokenizer whose first new tokens have the ids of reserved special tokens."""
    filled, title = fill_reserved(tokenizer, reserved), name_with(name, "reserved ids filled")
    return ChangedTokenizer(filled, title, "extended", (yield from keep_changed_work(title, filled)))


def _tokens_of_text(before: int, after: int, size: int, sample: Corpus, corpus: Corpus) -> tuple[EffectFigure, ...]:
    """The tokens of a sample of the corpus, or of all of it, and its bytes per token; `size` is its bytes."""
    change = f" ({_signed(after / before - 1)})" if before and after != before else ""
    what = f"a sample of {size_text(sample.bytes)}" if sample.bytes < corpus.bytes else "the corpus"
    return (
        EffectFigure(f"Tokens of {what}", f"{before:,}", f"{after:,}{change}"),
        EffectFigure("Bytes per token", _ratio(size, before), _ratio(size, after)),
    )


def _ratio(size: int, tokens: int) -> str:
    return f"{size / tokens:.2f}" if tokens else "–"


def _signed(share: float) -> str:
    return f"{'+' if share > 0 else '−'}{percent_text(abs(share), 1)}"


LARGEST_REFERENCE = 1 << 22  # bytes of a reference text whose lines are compared


def beginning_of(source: Source, size: int) -> str:
    """The first bytes of a text, in lines; one of several documents, such as a row of a data set, ends its line."""
    ends = source.ends[: np.searchsorted(source.ends, size) + 1]
    parts = np.split(np.asarray(source.data[: min(size, ends[-1])]), ends[:-1]) if len(ends) else []
    texts = [part.tobytes().decode("utf-8", "ignore") for part in parts]
    return texts[0] if len(texts) == 1 else "".join(text.removesuffix("\n") + "\n" for text in texts)


# ---- pruning


@dataclass(frozen=True, eq=False)
class _Pruned:
    tokenizer: Tokenizer
    removed: Sequence[int]  # ids, the first to go first
    needed: int  # tokens that stay, as others need them
    counts: NDArray[np.int64]  # by id, in units of 1 / `scale`; none where they are not counted
    scale: int


class PruneWork:
    """Prunes one tokenizer in several ways.

    Args:
        tokenizer: The tokenizer.
        name: Its name in Tokenizers.
        corpus: The corpus of the window, perhaps empty.
        own_uses: int64 by id, the uses in the run's own training, in units of 1 / `scale`; None for a tokenizer from a
            file.
        store: What is known of the tokens of the corpus.
        scale: The `weight_scale` of the run.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        name: str,
        corpus: Corpus,
        own_uses: NDArray[np.int64] | None,
        store: TokenStore,
        scale: int,
    ) -> None:
        self._tokenizer, self._name, self._corpus, self._own_uses = tokenizer, name, corpus, own_uses
        self._store, self._scale = store, scale
        nothing = np.empty(0, np.int32)
        self._ordered: tuple[object, tuple[NDArray[np.int32], NDArray[np.int32]]] = (None, (nothing, nothing))

    def effect_work(self, choice: PruneChoice, uses: str) -> Work[Effect]:
        """What pruning would do; `uses` is "run", "corpus" or "none".

        Raises:
            ConfigError: The tokenizer cannot be pruned, or not so.
        """
        pruned = yield from self._pruned_work(choice, uses)
        return (yield from self._effect_work(pruned))

    def result_work(self, choice: PruneChoice, uses: str) -> Work[ChangedTokenizer]:
        """The pruned tokenizer; raises ConfigError as `effect_work`, and where nothing would be removed."""
        pruned = yield from self._pruned_work(choice, uses)
        if not pruned.removed:
            raise ConfigError(_NOTHING)
        name = name_with(self._name, f"pruned to {len(pruned.tokenizer):,}")
        return ChangedTokenizer(
            pruned.tokenizer, name, "pruned", (yield from keep_changed_work(name, pruned.tokenizer))
        )

    def _pruned_work(self, choice: PruneChoice, uses: str) -> Work[_Pruned]:
        tokenizer = self._tokenizer
        if choice.size is not None:
            check_size(tokenizer, choice.size)
        counts, scale = yield from self._counts_work(uses)
        way = (uses, choice.least_uses, choice.script, choice.tokens)
        if way != self._ordered[0]:
            self._ordered = way, (yield from self._order_work(choice, counts, scale))
        order, needed = self._ordered[1]
        removed = order if choice.size is None else order[: len(tokenizer) - choice.size]
        pruned = without(tokenizer, removed, needed, renumber=choice.renumber).tokenizer
        return _Pruned(pruned, removed.tolist(), len(needed), counts, scale)

    def _order_work(
        self, choice: PruneChoice, counts: NDArray[np.int64], scale: int
    ) -> Work[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        named = choice.tokens
        if choice.script is not None:
            named = (yield from tokens_of_scripts_work(self._tokenizer, [choice.script])).tolist()
        least = None if choice.least_uses is None else scale * choice.least_uses
        return (yield from removal_order_work(self._tokenizer, counts, least_uses=least, tokens=named))

    def _counts_work(self, uses: str) -> Work[tuple[NDArray[np.int64], int]]:
        if uses == "run" and self._own_uses is not None:
            return self._own_uses[: len(self._tokenizer.tokens)], self._scale
        if uses != "corpus":
            return np.zeros(0, np.int64), 1
        counts = yield from self._store.counts_work(self._tokenizer, self._corpus)
        return counts.by_id(len(self._tokenizer.tokens)), self._corpus.weight_scale

    def _effect_work(self, pruned: _Pruned) -> Work[Effect]:
        old, new, removed, counts = self._tokenizer, pruned.tokenizer, pruned.removed, pruned.counts
        sample = sample_in_one(self._corpus, SAMPLE)
        before = yield from self._store.counts_work(old, sample)
        after = yield from self._store.counts_work(new, sample)
        never: list[int] = []
        for each in (old, new):
            reach = yield from self._store.reach_work(each)
            never.append(int(np.count_nonzero(reach[each.merge_results] != REACHED)))
        figures = [EffectFigure("Vocabulary", f"{len(old):,}", f"{len(new):,}")]
        if sample.bytes:
            scale = sample.weight_scale
            tokens, size = (before.tokens // scale, after.tokens // scale), sample.weighted_bytes // scale
            figures += _tokens_of_text(*tokens, size, sample, self._corpus)
        figures.append(EffectFigure("Never produced", *(f"{number:,}" for number in never)))
        notes: list[str] = []
        if needed := pruned.needed:
            notes.append(f"{several(needed, 'token stays, as another needs it', 'tokens stay, as others need them')}.")
        problem = "" if removed else _NOTHING
        listed = removed[:_LISTED]
        uses = {token: count_text(int(counts[token]) if token < len(counts) else 0, pruned.scale) for token in listed}
        lines = tuple(lines_of(old, listed, uses if len(counts) else None))
        heading = f"{several(len(removed), 'token goes', 'tokens go')}, the first:" if removed else "No token goes"
        return Effect(tuple(figures), heading, lines, tuple(notes), problem)


def check_size(tokenizer: Tokenizer, size: int) -> None:
    """Raises ConfigError where pruning cannot end at a size."""
    least = len(tokenizer.alphabet) + len(tokenizer.special_tokens)
    if size < least:
        base = f"{len(tokenizer.alphabet):,} {tokenizer.alphabet.base}"
        specials = several(len(tokenizer.special_tokens), "special token")
        raise ConfigError(f"At least {least:,}: the {base} and {specials} stay.")
    if size >= len(tokenizer):
        raise ConfigError(f"At most {len(tokenizer) - 1:,}: the tokenizer has {len(tokenizer):,}.")


# ---- special tokens


@dataclass(frozen=True)
class SpecialRow:
    """A special token as it will be."""

    text: str
    id: int
    before: str | None  # its text so far; None for one that is added
    role: str = ""
    more_roles: tuple[str, ...] = ()
    kind: str = "special"  # with what is particular about how it is found

    @property
    def roles(self) -> tuple[str, ...]:
        """All its roles."""
        return (self.role, *self.more_roles) if self.role else ()


def special_rows(tokenizer: Tokenizer) -> list[SpecialRow]:
    """The special tokens of a tokenizer, by id."""
    roles: dict[str, list[str]] = {}
    for role, token in tokenizer.roles.items():
        roles.setdefault(token, []).append(role)
    preparation, rows = tokenizer.preparation, list[SpecialRow]()
    flags = {
        "lstrip": preparation.strips_left,
        "rstrip": preparation.strips_right,
        "single word": preparation.words,
        "normalized": preparation.late or preparation.normalized,
    }
    for token, number in sorted(tokenizer.special_tokens.items(), key=lambda each: each[1]):
        first, *more = roles.get(token, [""])
        kind = "not special" if token in preparation.ordinary else "special"
        kind = ", ".join([kind, *(name for name, tokens in flags.items() if token in tokens)])
        rows.append(SpecialRow(token, number, token, first, tuple(more), kind))
    return rows


def settings_text(settings: FileSettings) -> str:
    """What the files of a tokenizer say besides its tokens, as a sentence; "" where they say nothing."""
    parts: list[str] = []
    if settings.chat_templates:
        names = ", ".join(settings.chat_templates)
        parts.append("a chat template" if names == DEFAULT else f"the chat templates {names}")
    if settings.tokenizer_class is not None:
        parts.append(f"the class {settings.tokenizer_class}")
    if settings.model_max_length is not None:
        parts.append(f"a limit of {several(settings.model_max_length, 'token')}")
    if settings.post_processor is not None:
        parts.append("a post-processor")
    if not parts and settings.config is None:
        return ""
    sentences = [f"Its files also have {_listed(parts)}; they stay, with the new names."] if parts else []
    return " ".join([*sentences, *(["There is no chat template."] if not settings.chat_templates else [])])


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def with_specials(tokenizer: Tokenizer, rows: Sequence[SpecialRow]) -> Tokenizer:
    """The tokenizer with other special tokens.

    Raises:
        ConfigError: A text or an id cannot be used, or the tokenizer cannot be changed.
    """
    renamed, added, roles = _changes(rows)
    changed = replace_specials(tokenizer, renamed) if renamed else tokenizer
    changed = add_specials(changed, added) if added else changed
    new_roles = {role: text for role, text in roles.items() if changed.roles.get(role) != text}
    changed = set_roles(changed, new_roles) if new_roles else changed
    origin = Origin(tokenizer, "specials", unchanged_ids(tokenizer.tokens.ids()))
    return changed.changed(origin=origin)


def _changes(rows: Sequence[SpecialRow]) -> tuple[dict[str, str], dict[str, int], dict[str, str]]:
    """New texts by the old ones, ids of added tokens by text, and texts by role."""
    renamed = {row.before: row.text for row in rows if row.before is not None and row.before != row.text}
    added = {row.text: row.id for row in rows if row.before is None}
    return renamed, added, {role: row.text for row in rows for role in row.roles}


def specials_work(tokenizer: Tokenizer, rows: Sequence[SpecialRow]) -> Work[Effect]:
    """What changes with other special tokens; ConfigError as in `with_specials`."""
    yield Progress("changing")
    changed, (renamed, added, roles) = with_specials(tokenizer, rows), _changes(rows)
    lines = [f"{word_of(old)} becomes {word_of(new)}" for old, new in renamed.items()]
    lines += [f"{word_of(text)} is added with the id {number:,}" for text, number in added.items()]
    before = {role: renamed.get(token, token) for role, token in tokenizer.roles.items()}
    new_roles = {role.removesuffix("_token"): text for role, text in roles.items() if before.get(role) != text}
    lines += [f"{word_of(text)} is {role}" for role, text in new_roles.items()]
    number = EffectFigure("Special tokens", f"{len(tokenizer.special_tokens):,}", f"{len(changed.special_tokens):,}")
    size = EffectFigure("Vocabulary", f"{len(tokenizer):,}", f"{len(changed):,}")
    return Effect((size, number), "Changes", tuple(lines))


def changed_specials_work(tokenizer: Tokenizer, name: str, rows: Sequence[SpecialRow]) -> Work[ChangedTokenizer]:
    """The tokenizer with other special tokens; ConfigError as in `with_specials`."""
    changed, title = with_specials(tokenizer, rows), name_with(name, "other special tokens")
    return ChangedTokenizer(changed, title, "special tokens", (yield from keep_changed_work(title, changed)))


def word_of(token: bytes | str | None) -> str:
    """A token within a line, which it does not turn round where it is written from right to left."""
    raw = token.encode("utf-8", "replace") if isinstance(token, str) else token
    return isolated(marked(shown(raw or b"")))


def lines_of(tokenizer: Tokenizer, ids: Sequence[int], uses: Mapping[int, str] | None = None) -> list[str]:
    """Tokens, a line each: id, uses where these are known, and token."""
    heads = [f"{token:,}" for token in ids]
    if uses is not None:
        most = max((len(uses[token]) for token in ids), default=0)
        heads = [f"{head}  {uses[token]:>{most}}×" for head, token in zip(heads, ids, strict=True)]
    width = max(map(len, heads), default=0)
    tokens = (word_of(tokenizer.tokens[token]) for token in ids)
    return [f"{head:>{width}}  {token}" for head, token in zip(heads, tokens, strict=True)]


def closes_gaps(tokenizer: Tokenizer) -> bool:
    """Whether ids move when a fork leaves out merges; see `at_merge`."""
    return tokenizer.run is not None and tokenizer.run.start is None


def at_merge(tokenizer: Tokenizer, merges: int, pattern: str) -> Tokenizer:
    """The tokenizer after its first merges, with a pattern.

    That of a run that began with the base tokens has no gaps between ids, as if its training had ended there. Other ids
    stay, with gaps: they are those of a file.
    """
    if merges == len(tokenizer.merges):
        same = tokenizer.pattern == pattern
        return tokenizer if same else tokenizer.changed(pattern=pattern, origin=tokenizer.origin)
    if not closes_gaps(tokenizer):
        start = tokenizer.at(merges)
        return start if start.pattern == pattern else start.changed(pattern=pattern)
    left = tokenizer.at(merges).tokens.ids()
    new_ids = np.full(len(tokenizer.tokens), -1, np.int32)
    new_ids[left] = np.arange(len(left))
    start = with_ids(tokenizer, new_ids, "pruned").tokenizer
    return start if start.pattern == pattern else start.changed(pattern=pattern, origin=start.origin)
