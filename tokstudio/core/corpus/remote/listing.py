"""Lists the files of an address, of the Hub, a server or a store; in the child process that connects."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import fnmatch
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.untyped import untyped
from tokstudio.core.base.wording import first_few, shown
from tokstudio.core.corpus.readers.kinds import suffix_of
from tokstudio.core.corpus.remote.files import (
    PATIENCE,
    PlainErrors,
    RemoteConnection,
    RemoteFile,
    StoreConnection,
    TransferMeter,
    WebConnection,
    refuse_busy,
    tag_of,
)
from tokstudio.core.hub.addresses import HUB, PACKAGES, WEB, Address, without_password, without_query
from tokstudio.core.hub.names import COMMIT, Name
from tokstudio.core.hub.replacements import Connections, problem_of_connection, refuse_redirect
from tokstudio.core.hub.repositories import problem_of_hub

_COLUMNS = (".parquet", ".arrow", ".feather", ".jsonl", ".ndjson", ".csv", ".tsv", ".tab")
_TEXTS = (".txt", ".text", ".json", ".md", ".xml", ".html", ".htm", ".tex", ".rst")
_CARD = "README.md"
_LARGEST_CARD = 1 << 24
_LARGEST_LIST, _MOST_ANSWERS = 1 << 29, 2_000
_MOST_FILES = 1_000_000
_MOST_REDIRECTS = 10
_MOST_NAMED = 12
_CONVERTED = "refs/convert/parquet"
_SPLITS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
_WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True)
class RemoteListing:
    """The files of an address."""

    files: tuple[RemoteFile, ...]  # in the order in which they are read
    connection: RemoteConnection  # reads parts of them
    commit: str = ""  # of the Hub's repository; "" elsewhere
    notes: tuple[str, ...] = ()  # what was chosen or is missing, in words


@dataclass(frozen=True)
class SetConfiguration:
    """A configuration of a data set: patterns of the paths of its files, by split."""

    name: str
    splits: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class About:
    """What a data set of the Hub says of itself."""

    commit: str
    revision: str  # that is read: the asked one, or that of the converted files
    configurations: tuple[SetConfiguration, ...]
    license: str = ""
    gated: bool = False
    notes: tuple[str, ...] = ()


def list_work(address: Address, report: Callable[[], None]) -> tuple[RemoteListing, TransferMeter]:
    """The files of an address, and what counts the bytes that are read of them.

    Raises:
        CorpusError: There are none, or they may not be read; NoConnectionError where nothing answers.
        ConfigError: A library is missing.
    """
    meter = TransferMeter(report)
    if address.scheme == HUB:
        hub = HubData(address, meter)
        with hub.plain_errors():
            return hub.listing(), meter
    if address.scheme == WEB:
        return _web_listing(address, meter), meter
    return _store_listing(address, meter), meter


# --- Data sets of the Hub ---------------------------------------------------------------------------------------------


class HubData:
    """A data set of the Hub."""

    def __init__(self, address: Address, meter: TransferMeter) -> None:
        from huggingface_hub import HfApi, constants

        self._address, self._meter = address, meter
        self._endpoint = without_password(constants.ENDPOINT)
        self._name = Name("hf", f"datasets/{address.name}", address.revision)
        self._host = urlsplit(self._endpoint).netloc
        self._connections = Connections(self._name, self._host, _LARGEST_LIST, _MOST_ANSWERS)
        self._api: Any = HfApi(library_name="tokstudio")

    def plain_errors(self) -> PlainErrors:
        """Turns errors of the library into sentences."""
        return PlainErrors(lambda error: problem_of_hub(self._name, self._endpoint, error), str(self._address))

    def about(self) -> About:
        """Its configurations with the patterns of their files, licence and gating."""
        address, api = self._address, self._api
        commit = self._commit(address.revision)
        facts = api.dataset_info(address.name, revision=commit, expand=["gated", "cardData"])
        gated = bool(getattr(facts, "gated", False))
        card = self._card(commit)
        license_text = ", ".join(map(str, _list(card.get("license")))) or card.get("license", "")
        configurations = _of_card(card)
        revision, notes = address.revision, list[str]()
        if not configurations and not address.path:
            files = [file.path for file in self._tree(commit, "")]
            configurations = _of_paths(files)
            if not configurations and any(path.endswith(".py") for path in files):
                revision, commit = _CONVERTED, self._commit(_CONVERTED)
                configurations = _of_converted(file.path for file in self._tree(commit, ""))
                notes.append("read as converted to Parquet by the Hub, as the data set is made by a program")
        return About(commit, revision, tuple(configurations), str(license_text or ""), gated, tuple(notes))

    def listing(self) -> RemoteListing:
        """The files of the configuration and the split, or of the path."""
        address = self._address
        if address.path:
            commit, patterns, notes = self._commit(address.revision), (address.path,), list[str]()
        else:
            about = self.about()
            commit, notes = about.commit, list(about.notes)
            chosen = _configuration(address, about.configurations, notes)
            patterns = _split(address, chosen, notes)
            if any(pattern.partition("/")[2].startswith("partial-") for pattern in patterns):
                notes.append("the Hub converted only a part of this split")
        files = self._matching(commit, patterns)
        if not files:
            raise CorpusError(f"{address}: there are no files {first_few(patterns, 2)} of text in this repository.")
        self._connections.expect_parts()
        return RemoteListing(tuple(files), self._connection(), commit, tuple(notes))

    def _connection(self) -> WebConnection:
        from huggingface_hub import get_session
        from huggingface_hub.utils import hf_raise_for_status

        library = untyped("huggingface_hub.utils")

        def refuse(response: Any) -> None:  # noqa: ANN401
            if response.status_code >= 400:
                response.read()
                hf_raise_for_status(response)

        def headers() -> dict[str, str]:
            return library.build_hf_headers(library_name="tokstudio")

        return WebConnection(get_session, headers, self._host, self._meter, refuse, self.plain_errors())

    def _commit(self, revision: str) -> str:
        if COMMIT.fullmatch(revision):
            return revision
        found = self._api.resolve_revision(self._address.name, repo_type="dataset", revision=revision or None)
        if not COMMIT.fullmatch(commit := str(found.resolved)):
            raise CorpusError(f"{self._address}: {self._host} names a commit that is not one.")
        return commit

    def _url(self, commit: str, path: str) -> str:
        from huggingface_hub import hf_hub_url

        return hf_hub_url(self._address.name, path, repo_type="dataset", revision=commit)

    def _card(self, commit: str) -> Mapping[str, Any]:
        """What stands in YAML at the beginning of the description."""
        yaml = untyped("yaml")
        found = next((file for file in self._tree(commit, "", recursive=False) if file.path == _CARD), None)
        if found is None or found.size > _LARGEST_CARD or not found.size:
            return {}
        text = self._connection().read(found, 0, found.size).decode("utf-8", "replace")
        if not text.startswith("---"):
            return {}
        try:
            loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
            values: object = yaml.load(text.split("\n---", 1)[0].removeprefix("---"), Loader=loader)
        except (yaml.YAMLError, ValueError, RecursionError):
            return {}
        return cast("dict[str, Any]", values) if isinstance(values, dict) else {}

    def _tree(self, commit: str, folder: str, recursive: bool = True) -> list[RemoteFile]:
        from huggingface_hub import errors

        files: list[RemoteFile] = []
        options: dict[str, Any] = {"recursive": recursive, "revision": commit, "repo_type": "dataset"}
        try:
            for entry in self._api.list_repo_tree(self._address.name, folder or None, **options):
                if hasattr(entry, "blob_id"):
                    # The commit says which version it is.
                    files.append(RemoteFile(entry.path, int(entry.size), "", self._url(commit, entry.path)))
                    _refuse_many(files, self._address)
        except errors.EntryNotFoundError:
            return []
        return files

    def _matching(self, commit: str, patterns: Sequence[str]) -> list[RemoteFile]:
        """The files whose paths fit one of the patterns, in the order of the patterns, then of their paths."""
        found: dict[str, RemoteFile] = {}
        trees: dict[str, list[RemoteFile]] = {}
        for pattern in patterns:
            fixed = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
            folder = fixed.rpartition("/")[0] if fixed != pattern or suffix_of(pattern) else pattern.rstrip("/")
            if folder not in trees:
                trees[folder] = self._tree(commit, folder)
            fits = [file for file in trees[folder] if _fits(file.path, pattern)]
            if not fits:
                below = pattern.rstrip("/") + "/"
                fits = readable(file for file in trees[folder] if file.path.startswith(below))
            found |= {file.path: file for file in sorted(fits, key=lambda file: file.path) if file.size}
        return list(found.values())


def _fits(path: str, pattern: str) -> bool:
    """Whether a path fits a pattern, in which `*` stands for a part of one name, and `**` for any folders."""
    if path == pattern:
        return True
    text = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    text = text.replace(r"\?", "[^/]")
    if r"\[" in text or r"\{" in text:
        return fnmatch.fnmatchcase(path, pattern)
    return re.fullmatch(text, path) is not None


def _refuse_many(files: Sequence[object], address: Address) -> None:
    if len(files) > _MOST_FILES:
        raise CorpusError(f"{address}: there are more than {_MOST_FILES:,} files: name fewer by a longer address.")


def readable(files: Iterable[RemoteFile]) -> list[RemoteFile]:
    """The files of a folder that hold text: where there are data sets, only these."""
    listed = [file for file in files if not any(part.startswith((".", "_")) for part in file.path.split("/"))]
    listed = [file for file in listed if file.size]
    data = [file for file in listed if suffix_of(file.path) in _COLUMNS]
    return data or [file for file in listed if suffix_of(file.path) in _TEXTS and file.name != _CARD]


def _of_card(card: Mapping[str, Any]) -> list[SetConfiguration]:
    """The configurations that the YAML of a description lists; of other values nothing is taken."""
    configurations: list[SetConfiguration] = []
    for config in map(_mapping, _list(card.get("configs"))):
        name, files, folder = config.get("config_name"), config.get("data_files"), config.get("data_dir")
        before = f"{folder.strip('/')}/" if isinstance(folder, str) and folder else ""
        splits: dict[str, tuple[str, ...]] = {}
        if isinstance(files, dict):
            splits = {str(split): _patterns(paths, before) for split, paths in _mapping(cast("object", files)).items()}
        elif isinstance(files, str) or all(isinstance(one, str) for one in _list(files)):
            splits["train"] = _patterns(files, before)
        else:
            for one in map(_mapping, _list(files)):
                splits[str(one.get("split", "train"))] = _patterns(one.get("path"), before)
        splits = {split: patterns for split, patterns in splits.items() if patterns}
        if splits and isinstance(name, str):
            configurations.append(SetConfiguration(name, splits))
    return configurations


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _mapping(value: object) -> dict[object, object]:
    return cast("dict[object, object]", value) if isinstance(value, dict) else {}


def _patterns(paths: object, before: str) -> tuple[str, ...]:
    several = [paths] if isinstance(paths, str) else _list(paths)
    return tuple(before + path.removeprefix("./") for path in several if isinstance(path, str) and "://" not in path)


def _of_paths(paths: Iterable[str]) -> list[SetConfiguration]:
    """The configurations of a repository whose description lists none: folders, else one of the name "default"."""
    files = readable(RemoteFile(path, 1, "", "") for path in paths)
    by_folder: dict[str, dict[str, list[str]]] = {}
    for file in files:
        folder, slash, _ = file.path.partition("/")
        name = folder if slash and folder != "data" and _split_of(folder) is None else "default"
        split = _split_of(file.path.removeprefix(f"{name}/")) or "train"
        by_folder.setdefault(name, {}).setdefault(split, []).append(file.path)
    return [
        SetConfiguration(name, {split: tuple(paths) for split, paths in splits.items()})
        for name, splits in by_folder.items()
    ]


def _of_converted(paths: Iterable[str]) -> list[SetConfiguration]:
    """The configurations of converted files: `CONFIG/SPLIT/0000.parquet`, or `CONFIG/partial-SPLIT/...`."""
    globs: dict[str, dict[str, tuple[str, ...]]] = {}
    for path in paths:
        name, _, rest = path.partition("/")
        split, _, file = rest.partition("/")
        if file.endswith(".parquet"):
            globs.setdefault(name, {})[split.removeprefix("partial-")] = (f"{name}/{split}/*.parquet",)
    return [SetConfiguration(name, splits) for name, splits in globs.items()]


def _split_of(path: str) -> str | None:
    words = set(_WORD.findall(path.lower()))
    return next((split for split, names in _SPLITS.items() if words & set(names)), None)


def _configuration(
    address: Address, all_configurations: Sequence[SetConfiguration], notes: list[str]
) -> SetConfiguration:
    """The named configuration, else the default one, or the only one."""
    if not all_configurations:
        raise CorpusError(
            f"{address}: TokStudio finds no files of text there; name some by their path, such as "
            f"hf:datasets/{address.name}/data/*.parquet."
        )
    by_name = {one.name: one for one in all_configurations}
    if address.configuration:
        if address.configuration in by_name:
            return by_name[address.configuration]
        raise CorpusError(
            f"{address}: there is no configuration {shown(address.configuration)}; there are "
            f"{first_few([*by_name], _MOST_NAMED)}."
        )
    chosen = by_name.get("default") or (all_configurations[0] if len(by_name) == 1 else None)
    if chosen is None:
        raise CorpusError(
            f"{address}: it has several configurations: add one to the address, such as "
            f"hf:datasets/{address.name}:{all_configurations[0].name}. There are {first_few([*by_name], _MOST_NAMED)}."
        )
    if len(by_name) > 1:
        notes.append(f"its configuration {chosen.name}")
    return chosen


def _split(address: Address, configuration: SetConfiguration, notes: list[str]) -> tuple[str, ...]:
    """The files of the named split, else of "train", or the first."""
    splits = configuration.splits
    if address.split:
        if address.split in splits:
            return splits[address.split]
        raise CorpusError(
            f"{address}: there is no split {shown(address.split)}; there are {first_few([*splits], _MOST_NAMED)}."
        )
    chosen = "train" if "train" in splits else next(iter(splits))
    if len(splits) > 1:
        notes.append(f"its split {chosen}")
    return splits[chosen]


# --- Servers ----------------------------------------------------------------------------------------------------------


def _web_listing(address: Address, meter: TransferMeter) -> RemoteListing:
    """The one file of an address."""
    import httpx2

    given, host = address.given, address.host
    scheme = urlsplit(given).scheme

    def check(request: Any) -> None:  # noqa: ANN401
        refuse_redirect(address, host, request.url, scheme)
        if request.url.scheme == "http" and request.url.host not in ("127.0.0.1", "localhost", "::1"):
            refuse_redirect(address, host, request.url, "")
        if request.url.origin != origin:
            request.headers.pop("Authorization", None)
            request.headers.pop("Cookie", None)

    client = httpx2.Client(
        event_hooks={"request": [check]}, follow_redirects=True, max_redirects=_MOST_REDIRECTS, timeout=PATIENCE
    )
    origin = httpx2.URL(given).origin

    def refuse(response: Any) -> None:  # noqa: ANN401
        status = response.status_code
        if status in (401, 403):
            raise CorpusError(f"{address}: {host} refuses access (status {status}): it asks for a name or a signature.")
        if status in (404, 410):
            raise CorpusError(f"{address}: there is no such file (status {status}).")
        refuse_busy(str(address), host, status)
        if status >= 400:
            raise CorpusError(f"{address}: {host} refuses to send it (status {status}).")

    path = unquote(urlsplit(without_query(given)).path.rpartition("/")[2]) or host
    errors = PlainErrors(lambda error: problem_of_connection(host, error), str(address))
    with errors:
        # One byte, which says how long the file is, and whether parts of it can be had.
        with client.stream("GET", given, headers={"Range": "bytes=0-0", "Accept-Encoding": "identity"}) as response:
            if response.status_code != 416:
                refuse(response)
            total = response.headers.get("Content-Range", "").rpartition("/")[2]
            size = total if response.status_code in (206, 416) else response.headers.get("Content-Length", "")
            tag, sends_parts = tag_of(response), response.status_code == 206
        if not size.isdecimal():
            raise CorpusError(f"{address}: {host} does not say how large the file is: download it, and give its path.")
        if int(size) == 0:
            raise CorpusError(f"{address}: the file is empty.")
    file = RemoteFile(path, int(size), tag, given)
    connection = WebConnection(lambda: client, dict[str, str], host, meter, refuse, errors, sends_parts)
    return RemoteListing((file,), connection)


# --- Stores -----------------------------------------------------------------------------------------------------------


_OF_S3, _PAGE_OF_S3 = ("s3", "s3a"), "after-call.s3.ListObjectsV2"
# What the libraries of stores call the version of a file, or the time of its last change.
_TAGS = ("ETag", "etag", "LastModified", "last_modified", "updated", "modificationTime", "mtime")


def _store_listing(address: Address, meter: TransferMeter) -> RemoteListing:
    """The files of an address of a store, by its library."""
    try:
        return _listed_by_library(address, meter, {})
    except NoCredentialsError:
        return _listed_by_library(address, meter, {"anon": True})


class NoCredentialsError(CorpusError):
    """There are no credentials for a store; what is public can be read without."""


def system_of(address: Address, options: Mapping[str, Any], do: str = "read") -> tuple[Any, str]:
    """The file system of a store by its library, and what that calls the address.

    `options` are the library's own, and `do` says what is done there. Raises ConfigError where it is not installed.
    """
    if address.scheme in _OF_S3:
        limits = {"connect_timeout": 10, "read_timeout": PATIENCE, "retries": {"max_attempts": 3}}
        options = {"config_kwargs": limits, **options}
    try:
        core: Any = untyped("fsspec.core")
        return core.url_to_fs(address.given, use_listings_cache=False, **options)
    except (ImportError, ValueError, OSError) as error:
        # A protocol that fsspec learns from a package, and Hadoop's own library, which needs Java.
        is_unknown = isinstance(error, ValueError) and "Protocol not known" in str(error)
        if any(name in str(error) for name in ("libjvm", "libhdfs")):
            needed = "Java and Hadoop, and set JAVA_HOME and HADOOP_HOME"
        elif isinstance(error, ImportError) or is_unknown:
            needed = f"the package {PACKAGES[address.scheme]} beside TokStudio"
        else:
            raise
        raise ConfigError(f"{address}: to {do} {address.scheme}:// addresses, install {needed}.") from error


def _listed_by_library(address: Address, meter: TransferMeter, options: Mapping[str, Any]) -> RemoteListing:
    errors = PlainErrors(problem_of_store(address, "there is no such file"), str(address))
    with errors:
        system, place = system_of(address, options)
        has_pattern = any(sign in place for sign in "*?[")
        info: dict[str, Any] = {"type": "directory"} if has_pattern else system.info(place)
        with _pages_told(system, address, meter):
            if has_pattern:
                found: dict[str, Any] = system.glob(place, detail=True)
            elif info.get("type") == "file":
                found = {place: info}
            else:
                found = system.find(place, detail=True)
    fixed = re.split(r"[*?\[]", place, maxsplit=1)[0]
    below = fixed.rpartition("/")[0] if has_pattern or info.get("type") == "file" else place.rstrip("/")
    files: list[RemoteFile] = []
    for name, one in sorted(found.items()):
        if one.get("type", "file") == "file":
            size, tag = one.get("size"), next((one[key] for key in _TAGS if one.get(key)), "")
            files.append(RemoteFile(name.removeprefix(below).lstrip("/"), int(size or 0), str(tag), name))
            _refuse_many(files, address)
    chosen = readable(files) if info.get("type") != "file" and not has_pattern else [one for one in files if one.size]
    if not chosen:
        raise CorpusError(f"{address}: there are no files of text with this address.")
    return RemoteListing(tuple(chosen), StoreConnection(system, meter, errors))


@contextmanager
def _pages_told(system: Any, address: Address, meter: TransferMeter) -> Generator[None]:  # noqa: ANN401
    """Has a store with the interface of S3 report each page of a list: one of 100,000 files takes minutes."""
    if address.scheme not in _OF_S3:
        yield
        return

    def tell(**_: object) -> None:
        meter.add(0)

    system.connect()
    events = system.s3.meta.events
    events.register(_PAGE_OF_S3, tell)
    try:
        yield
    finally:
        events.unregister(_PAGE_OF_S3, tell)


_BUSY = (errno.EBUSY, 121)  # as s3fs tells 503 and 500, by the numbers of Linux


def _is_busy(error: Exception) -> bool:
    """Whether a store answers that it cannot do so now; libraries keep the status of its answer under two names."""
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    is_status = isinstance(status, int) and (status in (408, 429) or status >= 500)
    return is_status or (isinstance(error, OSError) and error.errno in _BUSY)


def problem_of_store(address: Address, missing: str) -> Callable[[Exception], str | None]:
    """Says what an error of the library of a store means; `missing` where something is not there."""

    def problem(error: Exception) -> str | None:
        kind = type(error).__name__
        if kind == "NoCredentialsError":
            raise NoCredentialsError(
                f"{address}: there are no credentials: set them as the library ({PACKAGES[address.scheme]}) looks for "
                "them."
            )
        match error:
            case FileNotFoundError():
                return missing
            case PermissionError():
                return (
                    f"access is refused: set the credentials of {address.scheme}:// as its library "
                    f"({PACKAGES[address.scheme]}) looks for them"
                )
            case _ if _is_busy(error):
                return f"{address.host} cannot answer now: try again later"
            case _ if "Connect" in kind or "Timeout" in kind or isinstance(error, (ConnectionError, TimeoutError)):
                return f"{address.host} cannot be reached, and there is no copy of it in the cache"
            case _:
                return None

    return problem
