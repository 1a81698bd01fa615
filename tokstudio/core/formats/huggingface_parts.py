"""What the parts of a `tokenizer.json` around its model mean: pre-tokenizer, decoder, added tokens.

What our engine does not do is refused by name. Vocabulary and merges are left to `huggingface_reader`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import cast

from tokstudio.core.alphabet import Base
from tokstudio.core.errors import ConfigError, FormatError
from tokstudio.core.formats.json_reader import shown
from tokstudio.core.formats.merge_list import id_problem
from tokstudio.core.patterns import NAMES, OWN, REGEX, splitter

KEYS = frozenset(
    {
        "version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder",
        "model",
    }
)  # fmt: skip
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
FUSE = {"type": "Fuse"}

# The library's regular expressions are Oniguruma's. It takes `{1,3}+` for a repeated group, and others take it for a
# `{1,3}` that gives nothing back; in the named patterns nothing is wanted back, so `{1,3}` says the same to both.
_WRITTEN = {name: regex.replace("{1,3}+", "{1,3}") for name, regex in REGEX.items()}
_REPEATED_GROUP = re.compile(r"\{[0-9,]+\}\+")


@dataclass(frozen=True)
class AddedToken:
    """A token that the library cuts out of text before anything else."""

    content: str
    id: int
    normalized: bool


def written_regex(pattern: str) -> str:
    """The regular expression of a pattern other than "none", as the library must have it."""
    return next((_WRITTEN[name] for name, regex in REGEX.items() if pattern in (name, regex)), pattern)


def split_of(pattern: str) -> dict[str, object] | None:
    """The pre-tokenizer that splits by a pattern; None for "none"."""
    if pattern == "none":
        return None
    return {"type": "Split", "pattern": {"Regex": written_regex(pattern)}, "behavior": "Isolated", "invert": False}


def named_pattern(name: str, regex: str) -> str:
    """The name of a regular expression, if it splits text as a named pattern does, else itself.

    Raises:
        FormatError: It cannot split text; the message calls the file `name`.
    """
    try:
        number = splitter(regex).kind
    except ConfigError as error:
        raise FormatError(f"{name}: its pattern cannot be used: {error}") from error
    return regex if number == OWN else NAMES[number]


def refuse_settings(name: str, settings: Mapping[str, object]) -> None:
    """Raises FormatError, in words, where what is known of the file so far asks for what the engine does not do."""
    decoder = kind(settings.get("decoder"))
    for found in (
        settings.get("version") not in (None, "1.0") and "its version is another",
        settings.get("normalizer") is not None and f"its normalizer {kind(settings['normalizer'])} changes the text",
        kind(settings.get("post_processor")) not in ("", "ByteLevel") and "its post-processor adds tokens",
        decoder not in ("", "ByteLevel", "Fuse") and f"its decoder is {decoder}",
        settings.get("truncation") is not None and "it cuts long texts",
        settings.get("padding") is not None and "it pads short texts",
    ):
        if found:
            raise FormatError(f"{name}: {found}, which TokStudio cannot model yet.")
    splitting(name, settings.get("pre_tokenizer"))


def splitting(name: str, pre_tokenizer: object) -> tuple[Base, str]:
    """What a pre-tokenizer makes of text: bytes or characters, split by which pattern.

    Raises:
        FormatError: It does something else.
    """
    steps = [pre_tokenizer]
    match pre_tokenizer:
        case None:
            return "characters", "none"
        case {"type": "Sequence", "pretokenizers": list()}:
            steps = cast("dict[str, list[object]]", pre_tokenizer)["pretokenizers"]
        case _:
            pass
    match [kind(step) for step in steps]:
        case ["ByteLevel"]:
            return "bytes", "gpt2" if _byte_level_splits(name, steps[0]) else "none"
        case ["Split"]:
            return "characters", _split_pattern(name, steps[0])
        case ["Split", "ByteLevel"]:
            pattern = _split_pattern(name, steps[0])
            if _byte_level_splits(name, steps[1]):
                raise _refused(name, "its pre-tokenizer splits text by two patterns")
            return "bytes", pattern
        case [other]:
            raise _refused(name, f"its pre-tokenizer is {other or 'of an unknown kind'}")
        case _:
            raise _refused(name, "its pre-tokenizer splits text in several steps")


def check_decoder(name: str, base: Base, decoder: object) -> None:
    """Raises FormatError unless the decoder undoes what the pre-tokenizer does."""
    needed = "ByteLevel" if base == "bytes" else "Fuse"
    if kind(decoder) == "":
        what = "leaves bytes spelled as characters" if base == "bytes" else "puts spaces between tokens"
        raise FormatError(f"{name}: it has no decoder, so that decoding {what}, which TokStudio cannot model yet.")
    if kind(decoder) != needed:
        raise FormatError(f"{name}: its decoder {kind(decoder)} does not go with its pre-tokenizer.")


def added_token(name: str, number: int, value: object) -> AddedToken:
    """One of `added_tokens`; `number` is its place, from 1.

    Raises:
        FormatError: It is damaged, or takes more than itself out of the text.
    """
    match value:
        case {"content": str(content), "id": object() as token} if content:
            entry = cast("dict[str, object]", value)
        case _:
            raise FormatError(f"{name}: added token {number:,} has no content or no id.")
    if problem := id_problem(token):
        raise FormatError(f"{name}: added token {shown(content)}: {problem}.")
    if any("\ud800" <= character <= "\udfff" for character in content):
        raise FormatError(f"{name}: added token {shown(content)} is not a text.")
    for key, meaning in _TAKING_MORE.items():
        if entry.get(key) not in (None, False):
            raise _refused(name, f"its added token {shown(content)} {meaning}")
    return AddedToken(content, cast("int", token), entry.get("normalized") is not False)


def added_ids(name: str, added: Collection[AddedToken], vocabulary: Mapping[str, int]) -> dict[str, int]:
    """The id of each added token as the library gives it: the vocabulary's, else those behind its size.

    Raises:
        FormatError: That is not the id in the file; a token or an id stands there twice; in which order they are
            found in text is not ours.
    """
    ids: dict[str, int] = {}
    following = len(vocabulary)
    for token in added:
        if token.content in ids:
            raise FormatError(f"{name}: added token {shown(token.content)} stands there twice.")
        number = vocabulary.get(token.content, following)
        following += token.content not in vocabulary
        if number != token.id:
            raise FormatError(
                f"{name}: added token {shown(token.content)} has the id {token.id}, and in the vocabulary or by its "
                f"place it would be {number}."
            )
        ids[token.content] = number
    if len(set(ids.values())) < len(ids):
        raise FormatError(f"{name}: two of its added tokens have one id.")
    if len({token.normalized for token in added}) > 1:
        raise _refused(name, "some of its added tokens are found before others")
    return ids


def kind(settings: object) -> str:
    """What a part of the file calls itself; "" where there is none."""
    match settings:
        case None:
            return ""
        case {"type": str(name)}:
            return shown(name).strip('"')
        case _:
            return "of an unknown kind"


_TAKING_MORE = {
    "single_word": "stands for whole words only",
    "lstrip": "takes the white space before it along",
    "rstrip": "takes the white space after it along",
}


def _refused(name: str, what: str) -> FormatError:
    return FormatError(f"{name}: {what}, which TokStudio cannot model yet.")


def _byte_level_splits(name: str, step: object) -> bool:
    settings = cast("dict[str, object]", step)
    # Both are on where they are not given.
    if settings.get("add_prefix_space") is not False:
        raise _refused(name, "its pre-tokenizer adds a space")
    return settings.get("use_regex") is not False


def _split_pattern(name: str, step: object) -> str:
    settings = cast("dict[str, object]", step)
    match settings.get("pattern"):
        case {"Regex": str(regex)} if regex:
            pass
        case _:
            raise _refused(name, "its pre-tokenizer splits text by no regular expression")
    # A pattern that covers all text leaves nothing between its matches, so that these are the same.
    behavior = (settings.get("behavior"), settings.get("invert", False))
    if behavior not in (("Isolated", False), ("Isolated", True), ("Removed", True)):
        raise _refused(name, "its pre-tokenizer drops or joins what its pattern finds")
    if regex in NAMES:
        raise _refused(name, f"its pre-tokenizer splits text by the word {shown(regex)}")
    return regex if _REPEATED_GROUP.search(regex) else named_pattern(name, regex)
