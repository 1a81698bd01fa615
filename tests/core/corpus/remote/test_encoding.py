"""A data set of the Hub is encoded into the shards that its files give."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

from tests.core.corpus.readers.written import json_lines
from tests.core.hub.local_hub import Repository
from tokstudio import Corpus, TrainingConfig, encode_dataset, train


def test_a_data_set_by_its_address_is_encoded_and_named_by_it(hub, tmp_path):
    shards = {f"train-{number}.jsonl": json_lines([f"text {number}", "the cat"] * 20) for number in range(2)}
    hub.repositories["datasets/me/set"] = Repository(shards)
    tokenizer = train(Corpus.from_text("the cat"), TrainingConfig(vocabulary_size=258, special_tokens=["<e>"]))
    options = {"end_token": "<e>", "shard_tokens": 50}
    made = encode_dataset("hf:datasets/me/set", tokenizer, tmp_path / "out", **options)
    for name, content in shards.items():
        (tmp_path / "set").mkdir(exist_ok=True)
        (tmp_path / "set" / name).write_bytes(content)
    whole = encode_dataset(tmp_path / "set", tokenizer, tmp_path / "whole", **options)
    assert made.shards == whole.shards
    assert [file.documents for file in made.files] == [40, 40]
    assert all(file.name.startswith("hf:datasets/me/set/") for file in made.files)
    again = encode_dataset("hf:datasets/me/set", tokenizer, tmp_path / "out", **options)
    assert again.shards_before == len(made.shards)
    assert json.loads((tmp_path / "out/manifest.json").read_bytes())["complete"] is True
