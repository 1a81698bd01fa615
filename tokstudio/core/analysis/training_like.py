"""The settings of a training that makes a tokenizer like another one, and what settings cannot hold of it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import first_few, several
from tokstudio.core.formats.common.spelling import isolating_pattern
from tokstudio.core.model.settings import SETTINGS
from tokstudio.core.pretokenization.patterns import known_name
from tokstudio.core.tokenizer.tokenizer import Tokenizer

_MOST_NAMED = 3
_BY_LIBRARY = {
    ("tokenizers", "Unigram"): "unigram",
    ("tokenizers", "WordPiece"): "wordpiece",
    ("sentencepiece", "BPE"): "sentencepiece-bpe",
    ("sentencepiece", "Unigram"): "sentencepiece-unigram",
}
_CONTROLS = {"sentencepiece": ("<unk>", "<s>", "</s>"), "tokenizers": ()}  # that the library makes by itself


@dataclass(frozen=True)
class Like:
    """The settings of a new training by name, as `core.model.settings` has them, and what they leave out."""

    settings: Mapping[str, Any]  # settings that are not named keep what they are
    left_out: tuple[str, ...] = ()  # what the new tokenizer will not have, each a sentence


def training_like(tokenizer: Tokenizer) -> Like:
    """The pattern, special tokens, base and size of a tokenizer; of one that was trained here, all its settings.

    The merges are those of the new corpus. The playhead is left aside where the tokenizer was trained here.
    """
    if tokenizer.run is not None and tokenizer.run.start is None:
        return Like({name: value for name, value in tokenizer.run.config.by_name().items() if name in SETTINGS})
    settings: dict[str, Any] = {"vocabulary_size": len(tokenizer), "min_frequency": None}
    specials = sorted(tokenizer.special_tokens, key=tokenizer.special_tokens.__getitem__)
    left_out: list[str] = []
    name = _BY_LIBRARY.get((tokenizer.library or "", tokenizer.model))
    if name is not None:
        specials = [token for token in specials if token not in _CONTROLS[tokenizer.library or ""]]
        settings |= {"algorithm": name, "special_tokens": tuple(specials)}
        left_out.append(
            "Its own normalizer and its way of splitting text are replaced by those of the library's trainer."
        )
        return Like(settings, (*left_out, *_around(tokenizer)))
    others = [number for number in tokenizer.tokens.ids().tolist() if number not in tokenizer.special_tokens.values()]
    are_first = bool(specials) and max(tokenizer.special_tokens.values()) < min(others, default=0)
    settings |= {
        "algorithm": "bpe",
        "base": tokenizer.alphabet.base,
        "special_tokens": tuple(specials),
        "special_placement": "first" if are_first else "last",
        "base_vocabulary": None,
        "unknown_token": None,
    }
    if tokenizer.alphabet.base == "characters":
        left_out.append("The base tokens are the characters of the corpus, and there is no unknown token.")
    if tokenizer.library is None:
        settings["pattern"] = known_name(tokenizer.pattern)
        left_out += _of_ours(tokenizer)
    else:
        pattern, problem = _pattern_of(tokenizer)
        settings |= {} if pattern is None else {"pattern": pattern}
        left_out += [*problem, *_normalizer_of(tokenizer)]
    return Like(settings, (*left_out, *_around(tokenizer)))


def _of_ours(tokenizer: Tokenizer) -> Iterator[str]:
    prepared = tokenizer.preparation
    if prepared.nfc:
        yield "Text is not normalized to NFC: a training has no normalizer."
    if prepared.prefix_space:
        yield "No space is put before a text."
    if prepared.ordinary:
        yield f"Added tokens that are not special become special: {_named(prepared.ordinary)}."
    if flags := prepared.strips_left | prepared.strips_right | prepared.words:
        yield f"How special tokens are found beside white space and letters is left out: {_named(flags)}."
    if tokenizer.supermerges is not None or tokenizer.removals is not None:
        yield "The new training is plain BPE: supermerges and removed tokens need their algorithm, chosen in Configure."
    if extra := len(tokenizer.extra_tokens):
        yield f"{several(extra, 'token')} that no merge makes, of which the size counts each."


def _around(tokenizer: Tokenizer) -> Iterator[str]:
    settings = tokenizer.settings
    said = {
        "roles": settings.roles,
        "chat templates": settings.chat_templates,
        "the post-processor": settings.post_processor,
    }
    if parts := [name for name, value in said.items() if value]:
        yield f"Its files also have {', '.join(parts)}, which a training does not give."


def _pattern_of(tokenizer: Tokenizer) -> tuple[str | None, list[str]]:
    """The pattern of a `tokenizer.json`, where its pre-tokenizer has one, and what is said where it has none."""
    steps = [_part(tokenizer, "pre_tokenizer")]
    if steps[0].get("type") == "Sequence":
        steps = [step for step in cast("list[dict[str, Any]]", steps[0].get("pretokenizers") or [])]
    for step in steps:
        match step:
            case {"type": "Split", "pattern": {"Regex": str(regex)}}:
                try:
                    return isolating_pattern(regex), []
                except ValueError:
                    break
            case {"type": "ByteLevel"} if step.get("use_regex") is not False:
                return "gpt2", []
            case _:
                pass
    return None, ["How its library splits text is no pattern: Configure keeps the pattern that it has."]


def _normalizer_of(tokenizer: Tokenizer) -> Iterator[str]:
    if normalizer := _part(tokenizer, "normalizer"):
        yield f"Text is not normalized as by its library ({normalizer.get('type')}): a training has no normalizer."


def _part(tokenizer: Tokenizer, name: str) -> dict[str, Any]:
    content = tokenizer.source_files.get("tokenizer.json", b"{}")
    part = json.loads(content).get(name)
    return cast("dict[str, Any]", part) if isinstance(part, dict) else {}


def _named(tokens: frozenset[str]) -> str:
    return first_few(sorted(tokens), _MOST_NAMED)
