"""What the parts of a `tokenizer.json` around its model mean: pre-tokenizer, decoder, added tokens.

What our engine does not do is told apart from what is damaged. Vocabulary and merges are left to `huggingface_reader`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import cast

from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.formats.common.json_reader import shown
from tokstudio.core.formats.common.merge_list import id_problem
from tokstudio.core.formats.common.split_regex import REPEATED_GROUP, known_pattern, written_regex
from tokstudio.core.model.alphabet import Base
from tokstudio.core.pretokenization.patterns import NAMES

KEYS = frozenset(
    {
        "version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder",
        "model",
    }
)  # fmt: skip
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
FUSE = {"type": "Fuse"}


class Beyond(Exception):
    """The file asks for what our engine does not do; the text says what, such as "its normalizer changes the text"."""


@dataclass(frozen=True)
class AddedToken:
    """A token that the library cuts out of text before anything else.

    Attributes:
        content: Its text.
        id: The id that the file gives it.
        normalized: Whether it is found in the normalized text, after those that are not.
        special: Whether it may be told not to be found.
        takes_more: What it takes out of the text besides itself, in words; or "".
    """

    content: str
    id: int
    normalized: bool
    special: bool
    takes_more: str


def split_of(pattern: str) -> dict[str, object] | None:
    """The pre-tokenizer that splits by a pattern; None for "none"."""
    if pattern == "none":
        return None
    return {"type": "Split", "pattern": {"Regex": written_regex(pattern)}, "behavior": "Isolated", "invert": False}


def check_version(name: str, settings: Mapping[str, object]) -> None:
    """Raises FormatError where the file is of a version that nobody knows."""
    if settings.get("version") not in (None, "1.0"):
        raise FormatError(f"{name}: TokStudio cannot read this version of the format yet.")


def check_normalizer(normalizer: object) -> None:
    """Raises Beyond where text is changed before anything else."""
    names = _names(normalizer, "normalizers")
    if names != ():
        raise Beyond(f"its normalizer {', '.join(names or (kind(normalizer),))} changes the text")


def splitting(pre_tokenizer: object) -> tuple[Base, str]:
    """What a pre-tokenizer makes of text: bytes or characters, split by which pattern.

    Raises:
        Beyond: It does something else.
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
            return "bytes", "gpt2" if _byte_level_splits(steps[0]) else "none"
        case ["Split"]:
            return "characters", _split_pattern(steps[0])
        case ["Split", "ByteLevel"]:
            pattern = _split_pattern(steps[0])
            if _byte_level_splits(steps[1]):
                raise Beyond("its pre-tokenizer splits text by two patterns")
            return "bytes", pattern
        case [other]:
            raise Beyond(f"its pre-tokenizer is {other or 'of an unknown kind'}")
        case _:
            raise Beyond("its pre-tokenizer splits text in several steps")


def check_decoder(base: Base, decoder: object) -> None:
    """Raises Beyond unless the decoder undoes what the pre-tokenizer does."""
    needed = "ByteLevel" if base == "bytes" else "Fuse"
    if kind(decoder) == "":
        what = "leaves bytes written as characters" if base == "bytes" else "puts spaces between tokens"
        raise Beyond(f"it has no decoder, so decoding {what}")
    if kind(decoder) != needed:
        raise Beyond(f"its decoder {kind(decoder)} does not match its pre-tokenizer")


def remarks(name: str, settings: Mapping[str, object]) -> tuple[str, ...]:
    """What the file does to the ids of a text as a whole, which is left to whoever gives them to a model.

    So does the library itself where it is told `add_special_tokens=False` and neither to cut nor to pad.

    Raises:
        FormatError: One of these parts is damaged.
        Beyond: It does more.
    """
    found: list[str] = []
    for key, what in (("truncation", "truncates long texts"), ("padding", "pads short texts")):
        if not isinstance(settings.get(key), (dict, type(None))):
            raise FormatError(f'{name}: "{key}" has the wrong type.')
        if settings.get(key) is not None:
            found.append(f"The file {what}; encode does not.")
    begins, ends = _added_around(settings.get("post_processor"))
    around = [f"{' '.join(tokens)} {where}" for tokens, where in ((begins, "before"), (ends, "after")) if tokens]
    if around:
        found.append(f"Its post-processor adds {' and '.join(around)} every text; encode does not.")
    return tuple(found)


def added_token(name: str, number: int, value: object) -> AddedToken:
    """One of `added_tokens`; `number` is its place, from 1.

    Raises:
        FormatError: It is damaged.
    """
    match value:
        case {"content": str(content), "id": object() as token} if content:
            entry = cast("dict[str, object]", value)
        case _:
            raise FormatError(f"{name}: added token {number:,} has no content or no id.")
    if problem := id_problem(token):
        raise FormatError(f"{name}: added token {shown(content)}: {problem}.")
    if any("\ud800" <= character <= "\udfff" for character in content):
        raise FormatError(f"{name}: added token {shown(content)} is not a string.")
    more = next((meaning for key, meaning in _TAKING_MORE.items() if entry.get(key) not in (None, False)), "")
    normalized, special = entry.get("normalized") is not False, entry.get("special") is True
    return AddedToken(content, cast("int", token), normalized, special, more)


def added_ids(name: str, added: Collection[AddedToken], vocabulary: Mapping[str, int]) -> dict[str, int]:
    """The id of each added token as the library gives it: the vocabulary's, else those behind its size.

    Raises:
        FormatError: That is not the id in the file, or a token or an id appears twice.
    """
    ids: dict[str, int] = {}
    following = len(vocabulary)
    for token in added:
        if token.content in ids:
            raise FormatError(f"{name}: added token {shown(token.content)} appears twice.")
        number = vocabulary.get(token.content, following)
        following += token.content not in vocabulary
        if number != token.id:
            raise FormatError(
                f"{name}: added token {shown(token.content)} has the id {token.id}, but by the vocabulary or its "
                f"place it must have {number}."
            )
        ids[token.content] = number
    if len(set(ids.values())) < len(ids):
        raise FormatError(f"{name}: two of its added tokens have the same id.")
    return ids


def check_added(added: Collection[AddedToken]) -> None:
    """Raises Beyond where added tokens are found in text otherwise than ours: leftmost, then longest."""
    for token in added:
        if token.takes_more:
            raise Beyond(f"its added token {shown(token.content)} {token.takes_more}")
    if len({token.normalized for token in added}) > 1:
        raise Beyond("some of its added tokens are found before others")


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
    "single_word": "matches only whole words",
    "lstrip": "includes the white space before it",
    "rstrip": "includes the white space after it",
}


_ADDING = ("BertProcessing", "RobertaProcessing")


def _names(settings: object, key: str) -> tuple[str, ...] | None:
    """What the steps of a sequence, or the one step, call themselves; None where that cannot be said."""
    match settings:
        case None:
            return ()
        case {"type": "Sequence"}:
            steps = cast("dict[str, object]", settings).get(key)
            return tuple(map(kind, cast("list[object]", steps))) if isinstance(steps, list) else None
        case _:
            return (kind(settings),)


def _added_around(post_processor: object) -> tuple[list[str], list[str]]:
    """What a post-processor adds before and after a text."""
    match post_processor:
        case None | {"type": "ByteLevel"}:
            return [], []
        case {"type": "Sequence", "processors": list()}:
            begins, ends = list[str](), list[str]()
            for step in cast("dict[str, list[object]]", post_processor)["processors"]:
                before, after = _added_around(step)
                begins, ends = before + begins, ends + after
            return begins, ends
        case {"type": "TemplateProcessing", "single": list()}:
            return _added_by_template(cast("dict[str, list[object]]", post_processor)["single"])
        case {"type": str(name), "cls": [str(first), int()], "sep": [str(last), int()]} if name in _ADDING:
            return [first], [last]
        case _:
            raise Beyond("its post-processor is of an unknown kind")


def _added_by_template(template: list[object]) -> tuple[list[str], list[str]]:
    around: list[list[str]] = [[]]
    for part in template:
        match part:
            case {"SpecialToken": {"id": str(token)}}:
                around[-1].append(token)
            case {"Sequence": {"id": "A"}}:
                around.append([])
            case _:
                raise Beyond("its post-processor is of an unknown kind")
    if len(around) != 2:
        raise Beyond("its post-processor repeats the text or leaves it out")
    return around[0], around[1]


def _byte_level_splits(step: object) -> bool:
    settings = cast("dict[str, object]", step)
    # Both are on where they are not given.
    if settings.get("add_prefix_space") is not False:
        raise Beyond("its pre-tokenizer adds a space")
    return settings.get("use_regex") is not False


def _split_pattern(step: object) -> str:
    settings = cast("dict[str, object]", step)
    match settings.get("pattern"):
        case {"Regex": str(regex)} if regex:
            pass
        case _:
            raise Beyond("its pre-tokenizer does not split text by a regular expression")
    # A pattern that covers all text leaves nothing between its matches, so that these are the same.
    behavior = (settings.get("behavior"), settings.get("invert", False))
    if behavior not in (("Isolated", False), ("Isolated", True), ("Removed", True)):
        raise Beyond("its pre-tokenizer drops or joins what its pattern finds")
    if regex in NAMES:
        raise Beyond(f"its pre-tokenizer splits text by the word {shown(regex)}")
    if REPEATED_GROUP.search(regex):
        return regex
    try:
        return known_pattern(regex)
    except ConfigError as error:
        raise Beyond("its pattern does not split text as TokStudio can") from error
