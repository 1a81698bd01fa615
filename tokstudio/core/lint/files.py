"""Rules on files that disagree, on what they name that is not there, and on chat templates."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, zip_longest
from typing import Any, cast

import numpy as np

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress
from tokstudio.core.base.wording import first_few, several, shown
from tokstudio.core.formats.common.beside import CONFIG
from tokstudio.core.formats.common.format import PatternNeeded
from tokstudio.core.formats.huggingface.format import TOKENIZER
from tokstudio.core.formats.huggingface.parts import own_tokens
from tokstudio.core.lint.findings import LintRule, Observation, Observations
from tokstudio.core.lint.specials import LIKE_SPECIAL
from tokstudio.core.lint.subject import (
    ADDED,
    GENERATION,
    MAP,
    MERGES,
    SENTENCEPIECE,
    VOCABULARY,
    Subject,
    TokenizerJson,
    text_of,
)
from tokstudio.core.model.file_settings import DEFAULT
from tokstudio.core.tokenizer.tokenizer import Tokenizer

_NAMED = 3
_FLAGS = ("special", "lstrip", "rstrip", "single_word")
_OF_GENERATION = ("bos", "eos", "pad")
_LEAST_PIECES = 100
_HELLO = ({"role": "user", "content": "Hello"},)
_MOST_NAMES = 1000  # of one chat template


def damaged_work(subject: Subject) -> Observations:
    """Files beside the tokenizer that cannot be read."""
    damaged = dict(subject.files.damaged)
    pieces = yield from subject.pieces_work()
    # One of this name may have ranks, for which a pattern would be needed.
    if isinstance(pieces, FormatError) and not isinstance(pieces, PatternNeeded):
        damaged[SENTENCEPIECE] = str(pieces)
    for name, error in damaged.items():
        what = f"{error} The tokenizer opens, but what this file says is not known."
        yield Observation(what, "Mend the file or remove it.", name)


# --- Tokens and their ids ---------------------------------------------------------------------------------------------


def tokens_work(subject: Subject) -> Observations:
    """Files that give a token another id, or of which one lacks it."""
    read = subject.files.json
    if read is None:
        return
    own, _ = own_tokens(subject.name, read.added, read.vocabulary)
    ids = {**read.vocabulary, **{token.content: token.id for token in own}}
    yield from _own_ids(read, ids)
    yield from _beside(subject, ids)
    yield from _pair(subject, read, ids)
    yield from _pieces_work(subject, read, ids)


def _own_ids(read: TokenizerJson, ids: Mapping[str, int]) -> Iterator[Observation]:
    moved = [token for token in read.added if ids[token.content] != token.id]
    if moved:
        token = moved[0]
        yield Observation(
            f"{TOKENIZER} gives {several(len(moved), 'added token')} another id than the vocabulary or their order "
            f"does: {shown(token.content)} is written with {token.id:,}, and libraries give it {ids[token.content]:,}.",
            "Write the ids that libraries give, and see to it that the model was trained with them.",
            token.content,
        )


def _beside(subject: Subject, ids: Mapping[str, int]) -> Iterator[Observation]:
    """Added tokens of the configuration, or of `added_tokens.json`, against those of `tokenizer.json`."""
    decoder = subject.files.decoder()
    name = ADDED if decoder is None else CONFIG
    listed = subject.files.listed()
    final = dict(subject.specials)
    tokenizer = subject.tokenizer
    other = {token: number for token, number in listed.items() if token in ids and ids[token] != number}
    if other:
        token, number = next(iter(other.items()))
        yield Observation(
            f"{name} and {TOKENIZER} give {several(len(other), 'token')} different ids: {shown(token)} has {number:,} "
            f"in the first and {ids[token]:,} in the second, which counts.",
            "Write the same ids into both files.",
            token,
        )
    lacking = [token for token in listed if token not in ids]
    if lacking:
        written = {token: listed[token] for token in lacking}
        gets = {t: final.get(t, next(iter(tokenizer.tokens.spelling(t.encode())), None) if tokenizer else None) for t in
                lacking[:_NAMED]}  # fmt: skip
        token = lacking[0]
        number = gets[token]
        moved = f" {shown(token)} is written with {written[token]:,} and gets {number:,}." if number not in (
            None, written[token]
        ) else ""  # fmt: skip
        yield Observation(
            f"{name} adds {several(len(lacking), 'token')} that {TOKENIZER} does not have: "
            f"{first_few(lacking, _NAMED)}. transformers finds them in text; programs that read {TOKENIZER} alone "
            f"split them.{moved}",
            f"Save the tokenizer again, so that {TOKENIZER} has all tokens.",
            token,
        )


def _pair(subject: Subject, read: TokenizerJson, ids: Mapping[str, int]) -> Iterator[Observation]:
    """`vocab.json` and `merges.txt` beside a `tokenizer.json`."""
    if subject.files.pair is None:
        return
    vocabulary, merges = subject.files.pair
    other = {token: number for token, number in vocabulary.items() if ids.get(token) != number}
    added = {token.content for token in read.added}
    lacking = [token for token in read.vocabulary if token not in vocabulary and token not in added]
    if other:
        token, number = next(iter(other.items()))
        theirs = f"{ids[token]:,}" if token in ids else "none"
        yield Observation(
            f"{VOCABULARY} and {TOKENIZER} disagree on {several(len(other), 'token')}: {shown(token)} has the id "
            f"{number:,} in the first and {theirs} in the second. Programs choose one file or the other.",
            f"Remove {VOCABULARY} and {MERGES}, or write them anew.",
            token,
        )
    elif lacking:
        yield Observation(
            f"{VOCABULARY} lacks {several(len(lacking), 'token')} of {TOKENIZER}: {first_few(lacking, _NAMED)}. "
            "Programs choose one file or the other.",
            f"Remove {VOCABULARY} and {MERGES}, or write them anew.",
            lacking[0],
        )
    texts = {number: token for token, number in read.vocabulary.items()}
    own = ((texts[left], texts[right]) for left, right, _ in read.merges.tolist())
    pairs = enumerate(zip_longest(merges, own), 1)
    if merges and (first := next(((n, a, b) for n, (a, b) in pairs if a != b), None)) is not None:
        number, theirs, ours = first
        named = [f"{shown(pair[0])} and {shown(pair[1])}" if pair else "nothing" for pair in (theirs, ours)]
        yield Observation(
            f"{MERGES} and {TOKENIZER} have other merges: merge {number:,} joins {named[0]} in the first and "
            f"{named[1]} "
            "in the second.",
            f"Remove {VOCABULARY} and {MERGES}, or write them anew.",
            " ".join(theirs or ours or ()),
        )


def _pieces_work(subject: Subject, read: TokenizerJson, ids: Mapping[str, int]) -> Observations:
    """A SentencePiece model beside a `tokenizer.json`: its pieces must be tokens in the same order."""
    tokenizer = yield from subject.pieces_work()
    if not isinstance(tokenizer, Tokenizer) or tokenizer.library != "sentencepiece":
        return
    tokens = tokenizer.tokens
    numbers: list[int] = tokens.ids().tolist()
    specials = frozenset(tokenizer.special_tokens.values())
    texts = {n: (tokens[n] or b"").decode("utf-8", "replace").replace(" ", "▁") for n in numbers
             if n not in specials and tokenizer.kind(n) != "byte"}  # fmt: skip
    if len(texts) < _LEAST_PIECES:
        return
    # Some models number their tokens after others that stand first.
    shifts = [ids[text] - number for number, text in texts.items() if text in ids]
    usual = max(set(shifts), key=shifts.count) if shifts else 0
    other = [text for number, text in texts.items() if ids.get(text) != number + usual]
    if not other:
        return
    token = other[0]
    theirs = f"the id {ids[token]:,}" if token in ids else "no id"
    yield Observation(
        f"{SENTENCEPIECE} and {TOKENIZER} disagree on {several(len(other), 'token')}: {shown(token)} has {theirs} "
        "in the second, which the order of the pieces does not give. Programs choose one file or the other.",
        "Remove the file that the model was not trained with.",
        token,
    )


# --- Roles, flags, templates ------------------------------------------------------------------------------------------


def roles_work(subject: Subject) -> Observations:
    """Files that give a role to different tokens."""
    files, found = subject.files, list[Observation]()
    # Beside `added_tokens_decoder`, transformers reads no map.
    config, other = files.roles(CONFIG), files.roles(MAP) if files.decoder() is None else {}
    for role in config.keys() & other.keys():
        if " " not in role and config[role] != other[role]:
            found.append(
                Observation(
                    f"{CONFIG} says that {role} is {shown(config[role])}, {MAP} that it is {shown(other[role])}: which "
                    "counts depends on the version of transformers.",
                    f"Name the same token in both files, or remove {MAP}.",
                    config[role],
                )
            )
    tokenizer = subject.tokenizer
    generation = files.of(GENERATION)
    roles = {**other, **config}
    for role in _OF_GENERATION if tokenizer is not None else ():
        value, token = generation.get(f"{role}_token_id"), roles.get(f"{role}_token")
        numbers = [n for n in (cast("list[Any]", value) if isinstance(value, list) else [value]) if isinstance(n, int)]
        if tokenizer is None or token is None or not numbers:
            continue
        number = tokenizer.special_tokens.get(token, next(iter(tokenizer.tokens.spelling(token.encode())), None))
        if number is not None and number not in numbers:
            named = " or ".join(
                f"{n:,} ({shown(subject.text_of(n))})"
                if tokenizer.tokens.in_use(n) else f"{n:,} (no token)"
                for n in numbers[:_NAMED]
            )  # fmt: skip
            found.append(
                Observation(
                    f"{GENERATION} says that the {role} token is {named}, but the tokenizer's is {shown(token)} "
                    f"({number:,}).",
                    f"Write {number:,} into {GENERATION}, or give the role to the other token.",
                    token,
                )
            )
    yield from sorted(found, key=lambda one: one.message)


def flags_work(subject: Subject) -> Observations:
    """Added tokens that the configuration describes otherwise than `tokenizer.json`."""
    read, decoder = subject.files.json, subject.files.decoder()
    if read is None or not decoder:
        return
    own = {token.content: token.flags for token in read.added}
    other: dict[str, list[str]] = {}
    for entry in decoder.values():
        token = text_of(entry)
        flags = own.get(token)
        for flag in _FLAGS if flags is not None else ():
            if flags is not None and isinstance(entry.get(flag), bool) and entry[flag] != flags[flag]:
                other.setdefault(flag, []).append(token)
    for flag, tokens in other.items():
        yield Observation(
            f'{CONFIG} and {TOKENIZER} disagree on "{flag}" of {several(len(tokens), "token")}: '
            f"{first_few(tokens, _NAMED)}. transformers follows the first, other programs the second.",
            "Save the tokenizer again with transformers, so that both say the same.",
            tokens[0],
        )


def template_work(subject: Subject) -> Observations:
    """Chat templates that name tokens which are not there."""
    tokenizer = subject.opened
    added = {*tokenizer.special_tokens, *tokenizer.preparation.ordinary}
    if subject.files.json is not None:
        added |= {token.content for token in subject.files.json.added} | subject.files.listed().keys()
    for name, template in subject.templates.items():
        # Read as text: what is named may be in a part that few messages reach.
        names = dict.fromkeys(match[0] for match in islice(LIKE_SPECIAL.finditer(template), _MOST_NAMES))
        missing = [token for token in names if token not in added]
        yield Progress("checking")
        if missing:
            which, _ = tokenizer.settings.chat_template(name)
            encoded = yield from subject.encode_work(missing[:1], True)
            count = 0 if encoded[0] is None else len(encoded[0])
            yield Observation(
                f"{which} names {first_few(missing, _NAMED)}, which {'is' if len(missing) == 1 else 'are'} no "
                f"special token: in a chat it becomes {several(count, 'ordinary token')}.",
                "Add the tokens to the tokenizer, or use the template that belongs to it.",
                missing[0],
                _tokens(subject, encoded[0]),
            )


def begins_twice_work(subject: Subject) -> Observations:
    """Chat templates that begin with the token which the post-processor puts before every text."""
    tokenizer = subject.opened
    settings = tokenizer.settings
    before = "" if isinstance(settings.around, str) else "".join(settings.around[0][-1:])
    for name in settings.chat_templates if before else ():
        with suppress(FormatError):  # of these, another rule tells
            text = yield from tokenizer.chat_text_work(_HELLO, name=name)
            if text.startswith(before):
                title, _ = settings.chat_template(name)
                encoded = yield from subject.encode_work([text], True)
                ids = None if encoded[0] is None else np.concatenate([settings.around_ids[0], encoded[0]])
                yield Observation(
                    f"{title} begins with {shown(before)}, and the post-processor puts it before every text: a "
                    "program that encodes a rendered chat like any text gives it to the model twice.",
                    "Encode rendered chats without added tokens (add_special_tokens=False), or take the token out "
                    "of the template.",
                    before + text,
                    _tokens(subject, ids),
                )


def template_fails_work(subject: Subject) -> Observations:
    """Chat templates that cannot be rendered with the message of a user; some for other uses need more."""
    tokenizer = subject.opened
    if DEFAULT in tokenizer.settings.chat_templates:
        try:
            yield from tokenizer.chat_text_work(_HELLO, name=DEFAULT)
        except FormatError as error:
            advice = "Mend the template, or use the one that belongs to the tokenizer."
            yield Observation(f"With one message of a user: {error}", advice)


def _tokens(subject: Subject, ids: Any) -> tuple[str, ...]:  # noqa: ANN401
    return () if ids is None else tuple(map(subject.text_of, ids.tolist()))


def reading_work(subject: Subject) -> Observations:
    """What opening the files told, and no other rule does."""
    tokenizer = subject.opened
    for sentence in tokenizer.remarks:
        if sentence not in tokenizer.settings.notes:
            yield Observation(sentence, "Nothing, if the program that uses the tokenizer expects it.")


RULES: Sequence[LintRule] = (
    LintRule("files-disagree-on-token", "error", "ids in all files", tokens_work),
    LintRule("files-disagree-on-role", "error", "roles in all files", roles_work),
    LintRule("file-is-damaged", "error", "files beside it", damaged_work),
    LintRule("template-names-no-token", "danger", "chat templates", template_work, True),
    LintRule("template-fails", "danger", "chat templates", template_fails_work, True),
    LintRule("begins-twice", "remark", "chat templates", begins_twice_work, True),
    LintRule("files-disagree-on-flags", "remark", "flags in all files", flags_work),
    LintRule("said-on-reading", "remark", "settings of the files", reading_work, True),
)
