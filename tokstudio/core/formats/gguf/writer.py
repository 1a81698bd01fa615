"""What a GGUF file holds of a tokenizer: its values, what is lost, and how llama.cpp encodes by them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import first_few, shown
from tokstudio.core.formats.common.added_tokens import ends_of_text, named_roles
from tokstudio.core.formats.common.format import not_prepared
from tokstudio.core.formats.common.proof import varied
from tokstudio.core.formats.common.spelling import taken_whole_work
from tokstudio.core.formats.gguf import names
from tokstudio.core.formats.gguf.header import BOOL as _BOOL
from tokstudio.core.formats.gguf.header import INT32, LIST, STRING, UINT32, Value, text_value
from tokstudio.core.formats.gguf.names import FORCED_CONTROL, Written, written_as
from tokstudio.core.model.file_settings import DEFAULT
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.text.byte_level import to_characters

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_HOLE = "[PAD{}]"
_STEP = 1 << 13
_MOST_NAMED = 3
_LONGEST_FORCED = max(len(text.encode()) for text in FORCED_CONTROL)

_MERGED = "Words that become a token without merging are merged ({count:,}): some ids will differ."
_TAKEN_WHOLE = (
    "llama.cpp takes every pre-token whole that equals a token ({count:,} more than here): some ids will differ."
)
_FORCED = "llama.cpp takes tokens with these texts for special tokens, and here they are ordinary: {names}."
_ENDS = ("bos_token", "eos_token")
_TAKEN = {
    "bos_token": "{token} gets the role bos, as the post-processor adds it before every text.",
    "eos_token": "{token} gets the role eos, as the post-processor adds it after every text: a model ends its answers "
    "with it.",
}
_OVERLAP = (
    "Where special tokens overlap in a text, as {names} can, llama.cpp finds the longest first, and TokStudio the "
    "leftmost."
)


def written_form(tokenizer: Tokenizer) -> Written | None:
    """How the pattern of a tokenizer is written; None where llama.cpp has no name for it."""
    return written_as(tokenizer.pattern, _takes_whole(tokenizer))


def _takes_whole(tokenizer: Tokenizer) -> bool:
    """Whether the tokenizer takes pre-tokens whole that merging would not make."""
    return bool(tokenizer.whole_words) or tokenizer.content.ignores_merges


def held_work(tokenizer: Tokenizer) -> Work[Tokenizer]:
    """The tokenizer as llama.cpp encodes by its file."""
    form = written_form(tokenizer)
    assert form is not None
    whole = (yield from taken_whole_work(tokenizer)) if form.takes_whole else frozenset[int]()
    ordinary = Preparation(ordinary=tokenizer.preparation.ordinary)
    return varied(tokenizer, pattern=form.pattern, whole_words=whole, preparation=ordinary)


def losses_work(tokenizer: Tokenizer) -> Work[tuple[str, ...]]:
    """What the file does not hold of a tokenizer with a named pattern, each a sentence."""
    form = written_form(tokenizer)
    assert form is not None
    sentences = [form.loss] if form.loss else []
    if not form.takes_whole and (count := len(tokenizer.whole_words)):
        sentences.append(_MERGED.format(count=count))
    if form.takes_whole:
        more = len((yield from taken_whole_work(tokenizer)) - tokenizer.whole_words)
        sentences += [_TAKEN_WHOLE.format(count=more)] if more else []
    if forced := (yield from forced_work(tokenizer)):
        sentences.append(_FORCED.format(names=first_few(forced, _MOST_NAMED)))
    if tokens := overlapping(tokenizer.special_tokens):
        sentences.append(_OVERLAP.format(names=" and ".join(map(shown, tokens[:2]))))
    # Added tokens that are not special have a type of their own.
    return (*sentences, *not_prepared(replace(tokenizer.preparation, ordinary=frozenset())))


def settings_lost(tokenizer: Tokenizer) -> Iterable[str]:
    """What the file does not hold of the settings, each a sentence."""
    settings = tokenizer.settings
    held = {role for role in settings.roles if role in names.ROLE_KEYS}
    others = {role: token for role, token in settings.roles.items() if role not in held}
    processor = None if _ends_added(tokenizer, roles_of(tokenizer)) is not None else settings.post_processor
    return replace(settings, roles=others, chat_templates={}, post_processor=processor).lost()


def roles_of(tokenizer: Tokenizer) -> dict[str, str]:
    """The special tokens by role: those given, and those of names where no file gives any."""
    settings, ids, roles = tokenizer.settings, tokenizer.special_tokens, given_roles(tokenizer)
    if not settings.names_give_roles:
        return roles
    specials = [token for token in sorted(ids, key=ids.__getitem__) if token not in tokenizer.preparation.ordinary]
    unknown = next((token for token in specials if ids[token] == tokenizer.alphabet.unknown), None)
    return named_roles(specials, roles, unknown)


def given_roles(tokenizer: Tokenizer) -> dict[str, str]:
    """The special tokens by role that the files give: those named, and those around every text."""
    roles = {role: token for role, token in tokenizer.settings.roles.items() if token in tokenizer.special_tokens}
    return roles | (_ends_added(tokenizer, roles) or {})


def _ends_added(tokenizer: Tokenizer, roles: Mapping[str, str]) -> dict[str, str] | None:
    """The tokens that the post-processor adds, by their roles; None where it does what llama.cpp cannot.

    llama.cpp adds one token before a text and one after it, those with these roles.
    """
    settings, ids = tokenizer.settings, tokenizer.special_tokens
    if isinstance(around := settings.around, str):
        return None
    added = dict[str, str]()
    for role, tokens, numbers in zip(_ENDS, around, settings.around_ids, strict=True):
        if not tokens:
            continue
        if len(tokens) > 1 or ids.get(tokens[0]) != numbers[0] or roles.get(role, tokens[0]) != tokens[0]:
            return None
        added[role] = tokens[0]
    return added


def roles_taken(tokenizer: Tokenizer) -> tuple[str, ...]:
    """A sentence for each token that has its role only as the post-processor adds it to every text."""
    roles = tokenizer.settings.roles
    added = _ends_added(tokenizer, roles_of(tokenizer)) or {}
    return tuple(_TAKEN[role].format(token=shown(token)) for role, token in added.items() if roles.get(role) != token)


@dataclass(frozen=True)
class Ends:
    """The ids of the tokens for the beginning and the end of a text, which every file names; and a note on them."""

    first: int
    last: int
    note: str = ""


def ends_of(tokenizer: Tokenizer) -> Ends:
    """The tokens with these roles, or what stands for them.

    Where a file does not name them, llama.cpp takes the id 11 for both, and ends an answer there.
    """
    ids = tokenizer.special_tokens
    first, last = ends_of_text(tokenizer, roles_of(tokenizer))
    if first is not None and last is not None:
        return Ends(ids[first], ids[last])
    if (one := last or first) is not None:
        which = "beginning" if first is None else "end"
        return Ends(
            ids[one], ids[one], f"There is no token for the {which} of a text: {shown(one)} stands for it, too."
        )
    token, name = _stand_in(tokenizer)
    return Ends(
        token,
        token,
        f"No special token is known to begin or end a text, and llama.cpp always has both: {name}, stands for both. "
        "Name special tokens such as <|endoftext|> to have a model end its answers.",
    )


def _stand_in(tokenizer: Tokenizer) -> tuple[int, str]:
    """A token for both ends where none is known, rather one that no text becomes; and what it is called in the note."""
    if tokenizer.alphabet.base == "bytes" and (byte := int(tokenizer.alphabet.id_of[names.NEVER])) >= 0:
        return byte, f"that of the byte {names.NEVER}, which no text has"
    tokens, ids = tokenizer.tokens, tokenizer.special_tokens
    unused = np.setdiff1d(np.arange(len(tokens)), tokens.ids())
    if len(unused):
        return int(unused[0]), f"the unused id {int(unused[0]):,}"
    specials = [token for token in ids if token not in tokenizer.preparation.ordinary]
    if specials:
        token = max(specials, key=ids.__getitem__)
        return ids[token], f"the last special token, {shown(token)}"
    last = int(tokens.ids()[-1])
    return last, f"the last one, id {last:,}, although a text can become it and a model then ends its answer there"


def forced_work(tokenizer: Tokenizer) -> Work[tuple[str, ...]]:
    """Tokens of text, or added ones that are not special, that llama.cpp takes for special tokens by their texts."""
    specials, tokens = tokenizer.special_tokens, tokenizer.tokens
    found = [token for token in specials if token in FORCED_CONTROL and token in tokenizer.preparation.ordinary]
    lengths = tokens.lengths()
    others = np.setdiff1d(np.flatnonzero((lengths > 0) & (lengths <= _LONGEST_FORCED)), [*specials.values()])
    # Others are spelled with other characters.
    texts = {text.encode(): text for text in FORCED_CONTROL if text.isascii()}
    for number, token in enumerate(map(int, others)):
        if (text := texts.get(tokens[token] or b"")) is not None:
            found.append(text)
        if number % _STEP == 0:
            yield Progress("measuring", number, len(others))
    return tuple(found)


def overlapping(specials: Collection[str]) -> tuple[str, ...]:
    """The special tokens of which one can begin within another; the first two are such a pair."""
    begins: dict[str, list[str]] = {}
    for token in sorted(specials):
        for size in range(1, len(token)):
            begins.setdefault(token[:size], []).append(token)
    found: dict[str, None] = {}
    for token in sorted(specials):
        for size in range(1, len(token)):
            if others := [other for other in begins.get(token[-size:], ()) if other != token]:
                found |= dict.fromkeys((token, *others))
    return tuple(found)


# --- The values of a file ---------------------------------------------------------------------------------------------


def values_of(tokenizer: Tokenizer, size: int = 0) -> dict[str, Value]:
    """The values of the tokenizer by key; with at least `size` tokens, of which the last only hold places."""
    form, ends = written_form(tokenizer), ends_of(tokenizer)
    assert form is not None
    roles, ids = roles_of(tokenizer), tokenizer.special_tokens
    texts, types = _tokens(tokenizer, size)
    added = _ends_added(tokenizer, roles) or {}
    values = {
        names.MODEL: text_value("gpt2"),
        names.PRE: text_value(form.pre),
        names.TOKENS: Value(LIST, texts, STRING),
        names.TYPES: Value(LIST, types, INT32),
        names.MERGES: Value(LIST, list(_merges(tokenizer)), STRING),
    }
    numbers = {role: ids[token] for role, token in roles.items() if role in names.ROLE_KEYS}
    numbers |= {"bos_token": ends.first, "eos_token": ends.last}
    for role, keys in names.ROLE_KEYS.items():
        if role in numbers:
            values[keys[0]] = Value(UINT32, numbers[role])
    values |= {names.ADD_BOS: Value(_BOOL, "bos_token" in added), names.ADD_EOS: Value(_BOOL, "eos_token" in added)}
    templates = tokenizer.settings.chat_templates
    for name, text in templates.items():
        values[names.CHAT_TEMPLATE + ("" if name == DEFAULT else f".{name}")] = text_value(text)
    if others := [name.encode() for name in templates if name != DEFAULT]:
        values[names.CHAT_TEMPLATES] = Value(LIST, others, STRING)
    return values


def _tokens(tokenizer: Tokenizer, size: int) -> tuple[list[bytes], list[int]]:
    """The text and the type of each id; ids without a token hold a place."""
    specials = {number: token for token, number in tokenizer.special_tokens.items()}
    tokens, ordinary = tokenizer.tokens, tokenizer.preparation.ordinary
    taken, texts, types = {token.encode() for token in specials.values()}, list[bytes](), list[int]()
    for number in range(max(len(tokens), size)):
        token = tokens[number] if number < len(tokens) else None
        if (special := specials.get(number)) is not None:
            texts.append(special.encode())
            types.append(names.USER_DEFINED if special in ordinary else names.CONTROL)
        elif token:
            texts.append(to_characters(token).encode())
            types.append(names.NORMAL)
        else:
            texts.append(b"")
            types.append(names.UNUSED)
    taken.update(texts)
    for number, kind in enumerate(types):
        if kind == names.UNUSED:
            hole = _HOLE.format(number).encode()
            while hole in taken:
                hole += b"_"
            taken.add(hole)
            texts[number] = hole
    return texts, types


def _merges(tokenizer: Tokenizer) -> Iterator[bytes]:
    tokens = tokenizer.tokens
    for left, right in tokenizer.merges:
        yield f"{to_characters(tokens[int(left)] or b'')} {to_characters(tokens[int(right)] or b'')}".encode()
