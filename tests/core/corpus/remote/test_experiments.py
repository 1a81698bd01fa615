"""Experiments on texts by their address: the same commit and the same sample are trained on again."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.corpus.remote.sets import parquet, texts
from tests.core.hub.local_hub import COMMIT, Hub, Repository
from tokstudio import ConfigError, Corpus, load_experiment
from tokstudio.core.base.progress import finish
from tokstudio.core.experiment.writing import PlannedTraining, draft_work

NAME = "hf:datasets/me/set"
PLAIN = PlannedTraining({"vocabulary_size": 300})


def put(hub: Hub, number: int) -> None:
    hub.repositories["datasets/me/set"] = Repository(
        {f"train-{at}.parquet": parquet(texts(900, at), 100, k=["de", "fi", "fi"] * 300) for at in range(number)}
    )


def written(path: Path, corpus: Corpus) -> str:
    draft = finish(draft_work(path, corpus, [PLAIN]))
    finish(draft.write_work())
    assert draft.bound == ()
    return draft.text


def test_a_sample_is_taken_again_of_the_same_commit_and_offline(hub: Hub, tmp_path: Path):
    put(hub, 4)
    corpus = Corpus.from_files(NAME, sample_bytes=300_000, seed=7, least_characters=3).with_weights({0: 2})
    text = written(tmp_path / "e.toml", corpus)
    assert f'[[source]]\npath = "{NAME}@{COMMIT}"\nsample_bytes = 300000\nseed = 7\nscheme = 1\n' in text
    assert "least_characters = 3\n" in text
    assert "field" not in text.partition("[[source]]")[2]
    hub.status = 503
    again = load_experiment(tmp_path / "e.toml").corpus()
    assert (again.sha256, again.weights) == (corpus.sha256, corpus.weights)
    assert [source.name for source in again.sources] == [source.name for source in corpus.sources]


def test_some_values_of_a_data_set_that_is_fetched(hub: Hub, tmp_path: Path):
    put(hub, 2)
    whole = Corpus.from_files(NAME, split_by="k", field="text")
    corpus = Corpus(whole.sources[::-1]).weighted((1000, 3000))
    text = written(tmp_path / "e.toml", corpus)
    assert 'parts = [{ value = "fi" }, { value = "de", weight = 3 }]' in text
    again = load_experiment(tmp_path / "e.toml").corpus()
    assert (again.sha256, again.weights) == (corpus.sha256, corpus.weights)
    assert again.text_hashes == corpus.text_hashes


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "scheme = 1",
            "scheme = 2",
            "another version of TokStudio chose what seed 7 takes (scheme 2, here 1): ",
        ),
        ("seed = 7", "seed = '7'", 'seed must be a whole number, not "7".'),
        ("sample_bytes = 9", "sample_bytes = 0", "sample_bytes must be at least 1, not 0."),
        (NAME, "a.txt", "sample_bytes is for a text by its address, and this is a path: leave it out."),
    ],
)
def test_a_sample_that_cannot_be_taken_is_told_with_its_line(tmp_path: Path, old: str, new: str, says: str):
    source = f"[[source]]\npath = '{NAME}'\nsample_bytes = 9\nseed = 7\nscheme = 1\n"
    (tmp_path / "e.toml").write_text(f"experiment = 1\n{source.replace(old, new)}")
    with pytest.raises(ConfigError) as caught:
        load_experiment(tmp_path / "e.toml")
    line = source.replace(old, new).split("\n").index(new if "=" in new else "sample_bytes = 9") + 2
    assert str(caught.value).startswith(f"e.toml, line {line}: {says}")


def test_an_address_with_secrets_is_stored_without_them_and_that_is_said(hub: Hub, tmp_path: Path):
    hub.pages["get.txt?code=w0rd"] = b"a text of some words\n" * 20
    corpus = Corpus.from_files(f"{hub.address}/pages/get.txt?code=w0rd")
    draft = finish(draft_work(tmp_path / "e.toml", corpus, [PLAIN]))
    assert "w0rd" not in draft.text
    assert draft.remark == (
        f"e.toml names {hub.address}/pages/get.txt?code=… without the secret parts of the address: give the address "
        "again there before it is run."
    )
    finish(draft.write_work())
    with pytest.raises(ConfigError, match="the address was stored without its secret parts: give it again"):
        load_experiment(tmp_path / "e.toml").corpus()
    (tmp_path / "e.toml").write_text(draft.text.replace("code=…", "code=w0rd"), "utf-8")
    assert load_experiment(tmp_path / "e.toml").corpus().sha256 == corpus.sha256
