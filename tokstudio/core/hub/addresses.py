"""Addresses of texts: `hf:datasets/OWNER/NAME[:CONFIG[/SPLIT]][@REVISION]`, `https://...`, `s3://...` and others."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import os
import re
from dataclasses import field, replace
from pathlib import PurePath
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import shown
from tokstudio.core.hub.names import check_revision, is_repository

HUB: Final = "hf"
WEB: Final = "https"
#: The packages with the libraries for other addresses, which a person installs; none for those of pyarrow.
PACKAGES = {
    "s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs", "abfss": "adlfs",
    "oss": "ossfs", "sftp": "paramiko", "ssh": "paramiko", "webhdfs": "requests", "hdfs": "pyarrow",
}  # fmt: skip

_WITHOUT_BUCKET = frozenset(("sftp", "ssh", "webhdfs", "hdfs"))

# One letter would be the drive of a path of Windows; a path has no two slashes together.
_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/+(?P<rest>.*)|(?P<hub>hf:.*)", re.DOTALL)
_DATA_SET = re.compile(
    r"(?P<name>[^/:@]+/[^/:@]+)(?::(?P<configuration>[^/:@]+)(?:/(?P<split>[^/:@]+))?|/(?P<path>[^@]+))?"
    r"(?:@(?P<revision>.+))?",
    re.DOTALL,
)
_OF_LIBRARY = re.compile(r"(?P<name>[^/:@]+/[^/:@]+)(?:@(?P<revision>[^/:@]+))?(?:/(?P<path>[^@]+))?", re.DOTALL)
_HERE = frozenset(("localhost", "127.0.0.1", "::1"))
_OWNER = re.compile(r"([A-Za-z0-9+.-]*)://([^/\s]*)@")
_HIDDEN = "…"
_IS_HIDDEN = re.compile(r":/+…@|[=?&#]…(?:[&#]|$)")
# The parameters of a query whose values are shown and stored; any other may be a secret.
_HARMLESS = frozenset((
    *("dl", "download", "export", "format", "inline", "lang", "language", "limit", "offset", "page", "raw", "ref"),
    *("revision", "version"),
))  # fmt: skip
_LONGEST = 2_000
_OF_REVISIONS = frozenset(("tree", "blob", "resolve", "raw"))  # in links, before a revision and perhaps a path
_HOSTS = frozenset(("huggingface.co", "www.huggingface.co", "hf.co"))


@dataclass(frozen=True)
class Address:
    """Where texts are; as a text it has … for each part that may be secret, and can be stored."""

    scheme: str  # `HUB`, `WEB`, or a key of `PACKAGES`
    name: str = ""  # a data set of the Hub, with its owner; "" for other addresses
    configuration: str = ""  # of it; "" where none is named
    split: str = ""  # likewise
    path: str = ""  # a path in its repository, with `*` for any part of a name; "" for what its configuration has
    revision: str = ""  # a branch, tag or commit; "" for the default branch
    whole: str = field(default="", repr=False)  # another address as it was given, with its secrets

    def __str__(self) -> str:
        if self.scheme != HUB:
            return _masked(self.whole)
        at = f"@{self.revision}" if self.revision else ""
        path = f"/{self.path}" if self.path else ""
        split = f"/{self.split}" if self.split else ""
        return f"hf:datasets/{self.name}{path}{f':{self.configuration}{split}' if self.configuration else ''}{at}"

    @property
    def given(self) -> str:
        """The address with its secrets, for the process that connects."""
        return self.whole or str(self)

    @property
    def hidden(self) -> str:
        """The SHA-256 of an address whose text lacks secret parts, which tells it from others; "" for the rest."""
        if self.scheme == HUB or str(self) == self.whole:
            return ""
        return hashlib.sha256(self.whole.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def host(self) -> str:
        """The server or the store, for messages."""
        return urlsplit(self.whole).netloc.rpartition("@")[2] if self.whole else "the Hugging Face Hub"

    def of_file(self, place: str) -> Address:
        """The address of a file of a store, by the place that the store's library tells for it.

        Most begin it with the name of the bucket, without the account behind `@`; the others with the path.
        """
        if self.scheme not in _WITHOUT_BUCKET:
            place = place.lstrip("/").partition("/")[2]
        return parse_address(f"{self.scheme}://{urlsplit(self.whole).netloc}/{place.lstrip('/')}")

    def at(self, commit: str) -> Address:
        """The same at a commit."""
        return replace(self, revision=commit)


def address_of(path: str | os.PathLike[str]) -> Address | None:
    """The address that is given in place of a path; None for a path, and for whatever exists.

    Raises:
        ConfigError: It begins as an address does, but is none that TokStudio reads.
    """
    text = path.as_posix() if isinstance(path, PurePath) else os.fspath(path)
    if not is_address(text) or os.path.lexists(text):
        return None
    return parse_address(text)


def is_address(text: str) -> bool:
    """Whether a text begins as an address does, and not as the name of a tokenizer."""
    match = _ADDRESS.match(text)
    return match is not None and not (match["hub"] and not match["hub"].startswith("hf:datasets"))


def address_in(text: str) -> Address | None:
    """The data set that a text names, also by a link to it or to files of it on the Hub; None for others."""
    text = text.strip()
    parts = urlsplit(text) if text.startswith("http") else None
    if parts is not None and parts.hostname in {*_HOSTS, urlsplit(os.environ.get("HF_ENDPOINT", "")).hostname}:
        first, owner, name, kind, *rest = [*map(unquote, parts.path.strip("/").split("/")), "", "", "", ""]
        if first != "datasets":
            return None
        rest = [part for part in rest if part]
        text = f"hf:datasets/{owner}/{name}"
        if kind == "viewer" and rest:
            text += f":{'/'.join(rest[:2])}"
        elif kind in _OF_REVISIONS and rest:
            text += "/".join(["", *rest[1:]]) + f"@{rest[0]}"
    try:
        return parse_address(text) if is_address(text) else None
    except ConfigError:
        return None


def parse_address(text: str) -> Address:
    """The address that a text is; ConfigError, in which no password stands, where it is none that TokStudio reads."""
    match = _ADDRESS.fullmatch(text)
    if match is None or len(text) > _LONGEST or any(ord(character) < 32 for character in text):
        raise ConfigError(f"{shown(_masked(text))} is not an address, such as s3://bucket/texts/*.parquet.")
    scheme, rest = (match["scheme"] or HUB).lower(), match["rest"] or match["hub"] or ""
    if scheme == HUB:
        return _data_set(text, rest.removeprefix("hf:"), is_of_library=not match["hub"])
    whole = f"{scheme}://{rest}"
    name = shown(_masked(whole), 100)
    if _IS_HIDDEN.search(whole):
        raise ConfigError(f"{name}: the address was stored without its secret parts: give it again.")
    try:
        parts = urlsplit(whole)
        _ = parts.port
    except ValueError:
        raise ConfigError(f"{name} is not an address: check its server.") from None
    if scheme == "http" and parts.hostname not in _HERE:
        raise ConfigError(f"{name}: texts are not read over a connection that others can change: give https://.")
    if scheme == "file":
        raise ConfigError(f"{name} is a file of this computer: give its path.")
    if scheme not in (WEB, "http", *PACKAGES):
        others = ", ".join(f"{one}://" for one in ("https", "s3", "gs", "az", "hdfs"))
        raise ConfigError(f"{name}: TokStudio reads hf:datasets/…, {others} and some others, not {scheme}://.")
    if not parts.netloc or "::" in rest or "//" in parts.path:
        raise ConfigError(f"{name} is not an address, such as s3://bucket/texts/*.parquet.")
    if scheme in PACKAGES and "@" in parts.netloc and ":" in parts.netloc.rpartition("@")[0]:
        raise ConfigError(f"{name}: a password in this address is not used: set it where its library looks for it.")
    if scheme in (WEB, "http") and any(sign in parts.path for sign in "*["):
        raise ConfigError(f"{name}: a server has no list of its files: give the address of each, without *.")
    return Address(WEB if scheme == "http" else scheme, whole=whole)


def _data_set(text: str, rest: str, is_of_library: bool) -> Address:
    """`rest` is what follows `hf:`; the form of the Hub's library has the revision before the path."""
    kind, slash, rest = rest.partition("/")
    match = (_OF_LIBRARY if is_of_library else _DATA_SET).fullmatch(rest)
    parts = {} if match is None else {key: value or "" for key, value in match.groupdict().items()}
    if kind != "datasets" or not slash or not parts or not is_repository(parts["name"]):
        raise ConfigError(
            f"{shown(text, 100)} is not a data set of the Hugging Face Hub: write its owner and its name, such as "
            "hf:datasets/HuggingFaceFW/fineweb-2:deu_Latn."
        )
    if any(part in ("", ".", "..") for part in parts.get("path", "").rstrip("/").split("/")) and parts.get("path"):
        raise ConfigError(f"{shown(text, 100)} has a path that is none in a repository.")
    if parts["revision"]:
        check_revision(parts["revision"])
    return Address(HUB, **parts)


# --- Without what may be secret ---------------------------------------------------------------------------------------


def _masked(text: str) -> str:
    """An address with … for its name and password, and for all values of its query that may be secret."""
    match = _ADDRESS.match(text)
    if match is None or match["hub"]:
        return text
    scheme, rest = match["scheme"], match["rest"]
    is_store = scheme.lower() in PACKAGES
    place, question, query = rest.partition("?")
    # A password may itself have a slash or a question mark.
    if "@" in query and "@" not in place.partition("/")[0]:
        before, _, after = rest.rpartition("@")
        if ":" in before or "/" not in before:
            place, question, query = f"{_HIDDEN}@{after}".partition("?")
    before, at, after = place.rpartition("@")
    # The name of a store before @, without a password, is no secret.
    if at and (":" in before or not ("/" in before or is_store)):
        place = f"{_HIDDEN}@{after}"
    if is_store:
        return f"{scheme}://{place}{question}{'&'.join(_pair(pair, pair) for pair in query.split('&'))}"
    place, mark, _ = place.partition("#")
    query, mark_behind, _ = query.partition("#")
    pairs = "&".join(_pair(pair, _HIDDEN if pair else "") for pair in query.split("&"))
    return f"{scheme}://{place}{question}{pairs}{f'#{_HIDDEN}' if mark or mark_behind else ''}"


def _pair(pair: str, other: str) -> str:
    """A pair of a query without its value, unless its name is harmless; `other` where it has no value."""
    name, sign, value = pair.partition("=")
    if name.lower() in _HARMLESS:
        return pair
    return f"{name}={_HIDDEN if value else ''}" if sign else other


def without_query(address: str) -> str:
    """The address of a file without what follows its path."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def without_password(address: str) -> str:
    """The address of a server without the name and the password that may stand in it."""
    scheme, mark, rest = address.partition("://")
    return scheme + mark + rest.rpartition("@")[2]


def without_secrets(text: str) -> str:
    """A message without names and passwords in its addresses, and without those of the environment anywhere."""
    owner, at, _ = os.environ.get("HF_ENDPOINT", "").partition("://")[2].rpartition("@")
    owners = (owner, unquote(owner)) if at else ()
    # First, as the expression finds only the beginning of a password with @ and a slash.
    for one in owners:
        text = text.replace(f"://{one}@", "://")
    # The name of a store before @, without a password, is no secret.
    text = _OWNER.sub(lambda m: m[0] if m[1].lower() in PACKAGES and ":" not in m[2] else f"{m[1]}://", text)
    for secret in filter(None, (*owners, *(one.partition(":")[2] for one in owners))):
        text = text.replace(f"{secret}@", "").replace(secret, _HIDDEN)
    return text
