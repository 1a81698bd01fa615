"""Rules on special tokens: what text makes them, what only looks like one, and roles without a token."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np

from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import first_few, several, shown
from tokstudio.core.formats.common.beside import CONFIG
from tokstudio.core.formats.gguf.reader import roles_without_token
from tokstudio.core.formats.huggingface.parts import own_tokens, parts_in
from tokstudio.core.lint.findings import LintRule, Observation, Observations
from tokstudio.core.lint.subject import MAP, NUMBER, Subject
from tokstudio.core.model.file_settings import ROLES
from tokstudio.core.text.byte_level import to_characters

#: A text that looks like a special token to everyone: `<|im_start|>`, also with the bars of DeepSeek.
LIKE_SPECIAL = re.compile(r"<[|｜][^|｜<>\s'\"{}%]{1,80}[|｜]>")
_LIKE_BYTES = re.compile(rb"<\|[^|<>\s]{1,80}\|>|<\xef\xbd\x9c[^|<>\s]{1,80}\xef\xbd\x9c>")
_USUAL = frozenset(name for names in ROLES.values() for name in names if not name.startswith("<|"))
_ZERO_WIDTH = {
    "\u200b": "a zero-width space", "\u200c": "a zero-width non-joiner", "\u200d": "a zero-width joiner",
    "\u2060": "a word joiner", "\ufeff": "a byte order mark", "\u00ad": "a soft hyphen",
}  # fmt: skip
_ACCENT = "\u0301"
_MOST, _OF_LIKE = 400, 2
_NAMED = 3
_ROLE_NAMES = 4


def _chosen(subject: Subject) -> list[str]:
    """The special tokens that are tried: those with a role, then a few of each group of like ones."""
    tokenizer = subject.opened
    # What stands for anything unknown is made of any text, and what is not special is always found.
    unknown, ordinary = tokenizer.alphabet.unknown, tokenizer.preparation.ordinary
    seen, chosen = dict[str, int](), list[str]()
    roles = {*subject.files.roles(CONFIG).values(), *tokenizer.roles.values()}
    for token in sorted(subject.specials, key=lambda token: (token not in roles, subject.specials[token])):
        like = NUMBER.sub("0", token)
        seen[like] = seen.get(like, 0) + 1
        is_tried = subject.specials[token] != unknown and token not in ordinary and token.strip()
        if is_tried and (token in roles or seen[like] <= _OF_LIKE):
            chosen.append(token)
    return chosen[:_MOST]


# --- Made from text ---------------------------------------------------------------------------------------------------


def _disguises(token: str) -> Iterator[tuple[str, str]]:
    """Yields other texts that a normalizer may turn into a token, with what was changed."""
    full = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in token)
    yield full, "with full-width characters"
    middle = max(1, len(token) // 2)
    for character, name in _ZERO_WIDTH.items():
        yield token[:middle] + character + token[middle:], f"with {name} in it"
    yield token.swapcase(), "in the other case"
    letter = next((place for place, c in enumerate(token) if c.isalpha()), None)
    if letter is not None:
        yield token[: letter + 1] + _ACCENT + token[letter + 1 :], "with an accent"
    for form in ("NFD", "NFKC"):
        yield unicodedata.normalize(form, token), f"in the form {form}"


def from_other_text_work(subject: Subject) -> Observations:
    """Special tokens that a normalizer makes of another text."""
    tokens = _chosen(subject)
    trials = [
        (token, text, how)
        for token in tokens
        for text, how in _disguises(token)
        if text != token and not any(other in text for other in tokens)
    ]
    made: dict[str, list[str]] = {}
    example: tuple[str, tuple[str, ...]] = "", ()
    encoded = yield from subject.encode_work([f"a {text} b" for _, text, _ in trials], True)
    for (token, text, how), ids in zip(trials, encoded, strict=True):
        if ids is not None and np.any(ids == subject.specials[token]):
            made.setdefault(how, []).append(token)
            example = example if example[0] else (f"a {text} b", ("a", token, "b"))
    for number, (how, of_how) in enumerate(made.items()):
        yield Observation(
            f"{several(len(of_how), 'special token is', 'special tokens are')} also made of text {how}, through the "
            f"normalizer: {first_few(of_how, _NAMED)}.",
            'Set "normalized": false for special tokens, and remove such characters from text that users write.',
            *(example if number == 0 else ("", ())),
        )


def from_merges_work(subject: Subject) -> Observations:
    """Special tokens that come out of the model itself, though they are not looked for in the text."""
    tokens = _chosen(subject)
    encoded = yield from subject.encode_work(tokens, False)
    made = [
        token
        for token, ids in zip(tokens, encoded, strict=True)
        if ids is not None and np.any(ids == subject.specials[token])
    ]
    if not made:
        return
    what = several(len(made), "special token is", "special tokens are")
    yield Observation(
        f"{what} made of their text even where special tokens are not to be recognised: {first_few(made, _NAMED)}.",
        "Remove the texts of special tokens from what users write: no setting of the library keeps them out.",
        made[0],
        (made[0],),
    )


def same_text_work(subject: Subject) -> Observations:
    """Special tokens that every file writes as it does an ordinary one, so that most formats hold one of both."""
    found = yield from _spelled_work(subject, True)
    for token, other in found[:_NAMED]:
        yield Observation(
            f"The special token {shown(token)} ({subject.specials[token]:,}) and the ordinary token {other:,} are one "
            "text, also as files write them: tokenizer.json and GGUF can hold one of both, tiktoken holds both, so "
            "that programs give different ids.",
            "Give the special token another text, or remove the ordinary token.",
            token,
        )


def _spelled_work(subject: Subject, is_alike: bool) -> Work[list[tuple[str, int]]]:
    """Special tokens with the id of an ordinary token of the same text, which files write alike or otherwise."""
    tokenizer = subject.opened
    # What a library reads may write spaces and bytes as other characters.
    of_library, of_bytes = tokenizer.library is not None, tokenizer.alphabet.base == "bytes"
    texts = {
        token.encode(): token
        for token in subject.specials.keys() - tokenizer.preparation.ordinary
        if is_alike != (of_library or (of_bytes and to_characters(token.encode()) != token))
    }
    special, found = frozenset(subject.specials.values()), list[tuple[str, int]]()
    for number, raw in (yield from subject.tokens_work()).items():
        token = texts.get(raw)
        if token is not None and number not in special:
            found.append((token, number))
    return found


def spelled_work(subject: Subject) -> Observations:
    """Special tokens whose text is also that of an ordinary token, which files write otherwise.

    No error, although both are one text: files write the bytes of one and the characters of the other, and tokenizers,
    transformers, tiktoken and llama.cpp all give the special token where such are recognised, and else the ordinary.
    """
    found = yield from _spelled_work(subject, False)
    if not found:
        return
    token, other = found[0]
    yield Observation(
        f"{several(len(found), 'special token has', 'special tokens have')} the text of an ordinary token too: "
        f"{first_few([token for token, _ in found], _NAMED)}. Where special tokens are not recognised, text "
        "becomes the ordinary one, and decoding shows no difference.",
        "Give the special token another text, or remove the ordinary token.",
        token,
        (f"{token} ({subject.specials[token]:,})", f"{token} ({other:,})"),
    )


def split_work(subject: Subject) -> Observations:
    """A configuration by which special tokens in a text are text."""
    tokenizer = subject.opened
    special = subject.specials.keys() - tokenizer.preparation.ordinary
    if subject.files.of(CONFIG).get("split_special_tokens") is not True or not special:
        return
    token = min(special, key=subject.specials.__getitem__)
    [ids] = yield from subject.encode_work([token], False)
    yield Observation(
        f'{CONFIG} says "split_special_tokens": transformers takes special tokens in a text, such as '
        f"{shown(token)}, also those of a chat template, for text, and other programs find them.",
        "Remove the key, and pass split_special_tokens=True where a text of users is encoded.",
        token,
        () if ids is None else tuple(map(subject.text_of, ids.tolist())),
    )


def looks_work(subject: Subject) -> Observations:
    """Tokens that look special, and are none."""
    tokenizer = subject.opened
    added, looks = tokenizer.preparation.ordinary, list[str]()
    special = frozenset(number for token, number in tokenizer.special_tokens.items() if token not in added)
    for number, raw in (yield from subject.tokens_work()).items():
        if raw[:1] in (b"<", b"[") and number not in special:
            is_usual = raw.decode("utf-8", "replace").lower() in _USUAL and number != tokenizer.alphabet.unknown
            is_usual = is_usual and tokenizer.kind(number) != "merge"
            if _LIKE_BYTES.fullmatch(raw) or is_usual:
                looks.append(raw.decode("utf-8", "replace"))
    if subject.files.json is not None:
        added = frozenset(token.content for token in subject.files.json.added if not token.special)
    for some, why, advice in (
        (
            [token for token in looks if token not in added],
            "an ordinary token of the vocabulary",
            'If it is to be special, list it among the added tokens with "special": true; else rename it.',
        ),
        (
            [token for token in looks if token in added],
            "an added token that is not special: it is found even where special tokens are not to be, and stays where "
            "they are left out in decoding",
            'Set "special": true for it, if that is not meant.',
        ),
    ):
        if some:
            one = several(len(some), "token looks", "tokens look")
            each = "it is" if len(some) == 1 else "each is"
            yield Observation(
                f"{one} special, but {each} {why}: {first_few(some, _NAMED)}.", advice, some[0], (some[0],)
            )


# --- Roles and flags --------------------------------------------------------------------------------------------------


def missing_role_work(subject: Subject) -> Observations:
    """Roles whose token no file has, and tokens that a post-processor adds with the id of another."""
    files, read = subject.files, subject.files.json
    if files.gguf is not None:
        for key, what in roles_without_token(files.gguf):
            yield Observation(f"{key} {what}.", "Give a special token the role, and write the file again.", key)
        return
    if read is not None:
        own, _ = own_tokens(subject.name, read.added, read.vocabulary)
        known = {**read.vocabulary, **{token.content: token.id for token in own}}
    elif subject.tokenizer is not None:
        known = dict(subject.specials)
    else:
        return
    there = known.keys() | files.listed().keys()
    missing: dict[str, list[str]] = {}
    # Beside this key, transformers reads no map.
    for name in (CONFIG, MAP) if files.decoder() is None else (CONFIG,):
        for role, token in files.roles(name).items() if read is not None or name in files.objects else ():
            # Without a tokenizer.json, the tokens that files name are added.
            if token not in there and (read is not None or not subject.opened.tokens.spelling(token.encode())):
                missing.setdefault(token, []).append(f"{name}: {role}")
    for token, roles in missing.items():
        yield Observation(
            f"{first_few(roles, _ROLE_NAMES, str)} is {shown(token)}, which is not in the vocabulary: transformers "
            "adds it with a new id, for which the model has no row.",
            "Name a token that is there, or add this one to the tokenizer and enlarge the model's embedding.",
            token,
        )
    yield from _post_processor(known, read.settings.get("post_processor") if read else None)


def _post_processor(known: dict[str, int], value: object) -> Iterator[Observation]:
    """Tokens that are added to each text with the id of another."""
    named: list[tuple[str, int]] = []
    for part in parts_in(value):
        match part:
            case {"id": str(token), "ids": [int(number)], "tokens": [str()]}:
                named.append((token, number))
            case {"cls": [str(cls), int(first)], "sep": [str(sep), int(last)]}:
                named += [(cls, first), (sep, last)]
            case _:
                pass
    for token, number in dict(named).items():
        if known.get(token) != number:
            its = f"has the id {known[token]:,}" if token in known else "is not in the vocabulary"
            yield Observation(
                f"The post-processor adds {shown(token)} to each text with the id {number:,}, but the token {its}.",
                "Write the id of the token into the post-processor.",
                token,
            )


def flags_work(subject: Subject) -> Observations:
    """Special tokens that take the white space beside them, or are found only as whole words."""
    tokenizer = subject.opened
    preparation = tokenizer.preparation
    takes, words = set[str](preparation.strips_left | preparation.strips_right), set[str](preparation.words)
    if subject.files.json is not None:
        takes |= {token.content for token in subject.files.json.added if token.strips_left or token.strips_right}
        words |= {token.content for token in subject.files.json.added if token.is_word}
    if takes:
        one = several(len(takes), "added token takes", "added tokens take")
        tokens = sorted(takes)
        yield Observation(
            f"{one} the white space beside it: {first_few(tokens, _NAMED)}. Decoding does not restore it.",
            'Set "lstrip" and "rstrip" to false, unless the model was trained so.',
            f"a {tokens[0]} b",
        )
    if words:
        one = several(len(words), "added token is", "added tokens are")
        tokens = sorted(words)
        yield Observation(
            f"{one} found only as a whole word: {first_few(tokens, _NAMED)}. Beside a letter it is plain text.",
            'Set "single_word" to false, unless that is meant.',
            f"a{tokens[0]}b",
        )


RULES: Sequence[LintRule] = (
    LintRule("role-without-token", "error", "roles", missing_role_work),
    LintRule("special-of-one-text", "error", "texts of special tokens", same_text_work, True),
    LintRule("special-from-other-text", "danger", "text that makes special tokens", from_other_text_work, True),
    LintRule("special-from-merges", "danger", "special tokens as text", from_merges_work, True),
    LintRule("special-is-ordinary", "danger", "texts of special tokens", spelled_work, True),
    LintRule("specials-are-split", "danger", "special tokens as text", split_work, True),
    LintRule("looks-special", "danger", "tokens that look special", looks_work, True),
    LintRule("special-takes-space", "remark", "flags of added tokens", flags_work, True),
)
