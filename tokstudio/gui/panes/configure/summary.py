"""A summary of settings: the end of merging, and unusual settings."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

from tokstudio.core.base.wording import several
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.config import DEFAULT_TIES
from tokstudio.gui.state.source_records import CHANGED, GONE
from tokstudio.gui.state.training_settings import Settings

_TIES = {
    "first": "ties by first place", "lowest-id": "ties by lowest id", "huggingface": "ties as Hugging Face",
    "bytes": "ties by bytes", "mapped-strings": "ties by mapped strings",
}  # fmt: skip


def limit_words(settings: Settings, distinct: int | None) -> str:
    """Says when merging ends; with characters as base, the limit is approximate until they are counted.

    The settings are valid. `distinct` is the number of different characters of the corpus; None until it is known.
    """
    size, frequency = settings.vocabulary_size, settings.min_frequency
    if (of_library := settings.library_config) is not None:
        differs = "" if of_library.repeatable else " Training again may give other ids."
        return f"At most {size:,} tokens, by the {of_library.library} library.{differs}"
    if size is None:
        return f"Ends when no pair occurs {frequency:,} times."
    config = settings.config()
    base, about = config.base_size, ""
    if base is None:
        if distinct is None:
            return f"At most {size:,} tokens, including the characters of the corpus."
        base, about = distinct + len(config.leading_specials), "about "
    count = config.max_merges(base) or 0
    first = "256 bytes" if settings.base == "bytes" else f"{base - len(config.leading_specials):,} base tokens"
    specials = len(config.special_tokens)
    also = f" and {_special_tokens(specials)}" if specials else ""
    merges = f"{about}{several(max(0, count), 'merge')}"
    if settings.algorithm == "picky":
        merges = f"{about}{several(max(0, count), 'token made by merges', 'tokens made by merges')}"
    earlier = f"; ends earlier when no pair occurs {frequency:,} times" if frequency is not None else ""
    return f"At most {merges} on top of {first}{also}{earlier}."


def unusual_words(settings: Settings) -> str:
    """Names the settings besides limits and pattern that differ from the defaults; "" if none does."""
    usual = Settings()
    told: list[str] = []
    if settings.by_library:
        return _also([_special_tokens(len(settings.special_tokens))] if settings.special_tokens else [], settings)
    if settings.base != usual.base:
        own = settings.base_vocabulary
        told.append("characters" if own is None else f"characters from a list of {len(own):,}")
        if settings.unknown_token is not None:
            told.append(f"unknown token {settings.unknown_token}")
    specials = len(settings.special_tokens)
    if specials:
        place = " first" if settings.special_placement != usual.special_placement else ""
        told.append(f"{_special_tokens(specials)}{place}")
    if settings.has("tie_break") and settings.tie_break != DEFAULT_TIES[settings.config().algorithm]:
        told.append(_TIES[settings.tie_break])
    if settings.max_token_bytes is not None:
        told.append(f"tokens of at most {settings.max_token_bytes:,} bytes")
    if settings.forbidden:
        told.append(several(len(settings.forbidden), "rule for forbidden tokens", "rules for forbidden tokens"))
    if settings.documents != usual.documents:
        told.append("documents by line")
    return _also(told, settings)


def _also(told: list[str], settings: Settings) -> str:
    if settings.held_out:
        told.append(f"{100 * settings.held_out:.10g}\u00a0% held out")
    return f"Also set: {', '.join(told)}." if told else ""


def outdated_words(outdated: Mapping[Source, str]) -> str:
    """Says which files have changed (sources with `CHANGED` or `GONE`), and what a training uses; "" if none has."""
    if not outdated:
        return ""
    one, words = len(outdated) == 1, set(outdated.values())
    what = next(iter(outdated)).name if one else f"{len(outdated):,} files"
    if words == {CHANGED}:
        told = f"{'has' if one else 'have'} changed on disk"
    elif words == {GONE}:
        told = f"{'is' if one else 'are'} gone from disk"
    else:
        told = "have changed on disk or are gone from it"
    return f"{what} {told}: training uses the text as it was read."


def _special_tokens(number: int) -> str:
    return several(number, "special token")
