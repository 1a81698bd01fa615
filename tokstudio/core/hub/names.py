"""Names of tokenizers, `hf:OWNER/REPOSITORY[@REVISION]` and `tiktoken:ENCODING`, and links to the Hub."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import re
from pathlib import Path, PurePath
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import shown

Source = Literal["hf", "tiktoken"]
HUB: Final = "hf"
TIKTOKEN: Final = "tiktoken"
#: The encodings of tiktoken itself.
ENCODINGS = ("gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony")

_SOURCES: tuple[Source, ...] = (HUB, TIKTOKEN)
COMMIT = re.compile(r"[0-9a-f]{40}")
_PART = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?"
_REPOSITORY = re.compile(f"{_PART}/{_PART}")
_ENCODING = re.compile(_PART)
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+/-]*")
_LONGEST = 96
_HOSTS = frozenset(("huggingface.co", "www.huggingface.co", "hf.co"))
_OF_REVISIONS = frozenset(("tree", "blob", "resolve", "raw", "commit", "commits"))
# The first part of addresses there that are not those of a model.
_NO_OWNERS = (
    *("api", "blog", "buckets", "chat", "collections", "datasets", "docs", "join", "kernels", "learn", "login"),
    *("models", "new", "organizations", "papers", "posts", "settings", "spaces", "tasks"),
)


@dataclass(frozen=True)
class Name:
    """The name of a tokenizer; as a text it has the prefix of its source."""

    source: Source  # where it is from
    name: str  # the repository with its owner, or the encoding
    revision: str = ""  # a branch, tag or commit of the repository; "" for the default branch, and for an encoding

    def __str__(self) -> str:
        return f"{self.source}:{self.name}" + (f"@{self.revision}" if self.revision else "")

    @property
    def short(self) -> str:
        """The name without the owner."""
        return self.name.rpartition("/")[2]


def name_of(path: str | os.PathLike[str]) -> Name | None:
    """The name that is given in place of a path; None for a path, and for whatever exists.

    Raises:
        ConfigError: It has the prefix of a source, but is not a name.
    """
    return parse_name(_text(path)) if has_prefix(path) and not os.path.exists(path) else None


def name_in(text: str) -> Name | None:
    """The tokenizer that a text names with its prefix, or by a link to its repository on the Hub; None for others."""
    text = text.strip()
    try:
        return parse_name(text if has_prefix(text) else _name_of_link(text))
    except ValueError:  # also of a link that is none
        return None


def _name_of_link(link: str) -> str:
    """The name of the repository of a link, with the revision that it says; "" for other links."""
    parts = urlsplit(link)
    hosts = _HOSTS | {urlsplit(os.environ.get("HF_ENDPOINT", "")).hostname}
    owner, repository, kind, revision = [*map(unquote, parts.path.strip("/").split("/")), "", "", ""][:4]
    if parts.scheme not in ("http", "https") or parts.hostname not in hosts or owner in _NO_OWNERS:
        return ""
    return f"{HUB}:{owner}/{repository}" + (f"@{revision}" if kind in _OF_REVISIONS and revision else "")


def has_prefix(path: str | os.PathLike[str]) -> bool:
    """Whether a path begins as a name does."""
    prefix, colon, _ = _text(path).partition(":")
    return bool(colon) and prefix in _SOURCES


def place_of(path: Path) -> Path:
    """The absolute path; a name that is given in place of a path as it is."""
    return path if has_prefix(path) and not path.exists() else path.absolute()


def parse_name(text: str) -> Name:
    """The name that a text means, with or without the prefix of its source.

    Raises:
        ConfigError: It is not a name.
    """
    text = text.strip()
    prefix, colon, rest = text.partition(":")
    source: Source | None = next((source for source in _SOURCES if colon and source == prefix), None)
    if source is None:
        rest = text
        source = HUB if "/" in text else TIKTOKEN
        if source == TIKTOKEN and text not in ENCODINGS:
            raise ConfigError(
                f"{shown(text)} is neither a repository, such as Qwen/Qwen3-8B, nor an encoding of tiktoken: "
                f"{', '.join(ENCODINGS)}."
            )
    if source == TIKTOKEN:
        if not _ENCODING.fullmatch(rest) or len(rest) > _LONGEST:
            raise ConfigError(f"{shown(text)} is not an encoding of tiktoken, such as o200k_base.")
        return Name(source, rest)
    if rest.startswith("datasets/"):
        raise ConfigError(f"{shown(text)} names a data set, not a tokenizer: it is opened as a text.")
    repository, sign, revision = rest.partition("@")
    if not is_repository(repository):
        raise ConfigError(
            f"{shown(text)} is not a repository of the Hugging Face Hub: write its owner and its name, "
            "such as Qwen/Qwen3-8B."
        )
    if sign:
        check_revision(revision)
    return Name(source, repository, revision)


def check_revision(revision: str) -> None:
    """Raises ConfigError unless a text can be a branch, a tag or a commit."""
    if not _REVISION.fullmatch(revision) or ".." in revision or revision.endswith("/"):
        raise ConfigError(f"{shown(revision)} is not a revision: give a branch, a tag or a commit, such as main.")


def is_repository(text: str) -> bool:
    """Whether a text is the name of a repository of the Hub, with its owner."""
    is_made_of_both = _REPOSITORY.fullmatch(text) is not None and len(text) <= _LONGEST
    return is_made_of_both and "--" not in text and ".." not in text and not text.endswith(".git")


def _text(path: str | os.PathLike[str]) -> str:
    return path.as_posix() if isinstance(path, PurePath) else os.fspath(path)
