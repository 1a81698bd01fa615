"""A project keeps where a text is from, and finds it again: in the cache, by the hub, or not at all."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.core.corpus.remote.sets import parquet, texts
from tests.core.hub.local_hub import COMMIT, Hub, Repository
from tokstudio import ConfigError, Corpus
from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.progress import finish
from tokstudio.core.hub.kept_texts import kept_texts
from tokstudio.core.project import Project, keep_source_work, open_work, reopen_source_work, save_work

NAME = "hf:datasets/me/set"


def test_a_project_keeps_the_origin_and_only_asks_the_network_when_told_to(hub: Hub, tmp_path: Path):
    files = {f"train-{number}.parquet": parquet(texts(800, number), 100) for number in range(4)}
    hub.repositories["datasets/me/set"] = Repository(files)
    source = Corpus.from_files(NAME, sample_bytes=100_000, seed=2).sources[0]
    kept = finish(keep_source_work(source))
    finish(save_work(Project((kept,)), tmp_path / "a.tokstudio"))
    [opened] = finish(open_work(tmp_path / "a.tokstudio")).sources
    assert opened.origin == source.origin
    again = finish(reopen_source_work(opened))
    assert (again.changed, bytes(again.source.data)) == (False, bytes(source.data))
    [text] = kept_texts()
    text.remove()
    hub.asked.clear()
    with pytest.raises(CorpusError, match="its text is no longer in the cache; read it again to fetch it"):
        finish(reopen_source_work(opened))
    assert hub.asked == [], "a project of a stranger asks no server"
    again = finish(reopen_source_work(opened, fetches=True))
    assert (again.changed, bytes(again.source.data)) == (False, bytes(source.data))
    assert not again.source.name.startswith("train")
    [text] = kept_texts()
    text.remove()
    hub.repositories["datasets/me/set"].commit = COMMIT[::-1]
    with pytest.raises(CorpusError, match=f'has no revision "{COMMIT}"'):
        finish(reopen_source_work(opened, fetches=True))
    assert opened.origin is not None
    later = replace(opened, origin=replace(opened.origin, scheme=opened.origin.scheme + 1))
    with pytest.raises(CorpusError, match="chosen in a way that this version of TokStudio does not know"):
        finish(reopen_source_work(later, fetches=True))


def test_an_address_with_secrets_is_found_in_the_cache_and_else_asked_for(hub: Hub):
    hub.pages = {f"get.txt?code={one}": f"the text of {one}\n".encode() for one in "ab"}
    first, _ = (Corpus.from_files(f"{hub.address}/pages/{page}").sources[0] for page in hub.pages)
    kept = finish(keep_source_work(first))
    assert bytes(finish(reopen_source_work(kept)).source.data) == b"the text of a\n"
    for text in kept_texts():
        text.remove()
    with pytest.raises(ConfigError, match="the address was stored without its secret parts: give it again"):
        finish(reopen_source_work(kept, fetches=True))
