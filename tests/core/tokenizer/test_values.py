"""Tokenizers as values: equal by content, shown in notebooks, and in other processes."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc
import multiprocessing
import pickle
import weakref
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.core.html_tags import tags_of
from tokstudio import (
    ByteTokenizer,
    ConfigError,
    Corpus,
    LibraryConfig,
    SuperBPE,
    Tokenizer,
    TrainingConfig,
    add_specials,
    compare,
    explore,
    load,
    save,
    set_roles,
    train,
    train_by_library,
)
from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source

TEXT = "the cat sat on the mat, and that's that: <b>Zürich</b> & 123\n" * 9


def trained(size: int = 300, text: str = TEXT, **more: Any) -> Tokenizer:
    return train(Corpus.from_text(text), TrainingConfig(vocabulary_size=size, **{"pattern": "gpt2", **more}))


@pytest.mark.parametrize("token", [-1, -300, 301, 9_999])
def test_an_id_that_no_token_has_is_refused(token):
    tokenizer = trained(301, special_tokens=["<e>"])
    for read in (tokenizer.bytes_of, tokenizer.parts, tokenizer.kind):
        with pytest.raises(ConfigError, match=f"^Id {token} is not in the vocabulary.$"):
            read(token)


def by_library() -> Tokenizer:
    return train_by_library(Corpus.from_text(TEXT), LibraryConfig(algorithm="wordpiece", vocabulary_size=80)).tokenizer


# --- Equal by content -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["bpe", "boundless", "picky", SuperBPE(transition=280)])
def test_equal_content_is_equal_whatever_it_comes_from(tmp_path, algorithm):
    one, other = trained(algorithm=algorithm), trained(algorithm=algorithm)
    for same in (other, pickle.loads(pickle.dumps(one)), one.at(len(one.merges)), one.at(20).at(20).changed()):
        wanted = one if len(same.merges) == len(one.merges) else one.at(20)
        assert (same == wanted, hash(same) == hash(wanted), {wanted: 1}.get(same)) == (True, True, 1)
    if algorithm == "bpe":
        save(one, tmp_path / "saved")
        assert load(tmp_path / "saved") == one
        assert hash(load(tmp_path / "saved")) == hash(one)


def test_what_changes_ids_makes_another_tokenizer():
    one = trained()
    others = [
        *(one.at(number) for number in (0, 20, len(one.merges) - 1)),
        trained(pattern="cl100k"),
        trained(text=TEXT[7:] + "dogs dogs dogs " * 30),
        add_specials(one, ["<t>"]),
        one.with_dropout(0.5),
        one.with_dropout(0.5, 1),
        one.renumbered(np.arange(len(one.tokens), dtype=np.int32) + 1),
        Tokenizer(one.merges, pattern="gpt2", whole_words={300}, extra_tokens={300: b"cat"}),
        by_library(),
        ByteTokenizer(),
        None,
        "text",
    ]
    for other in others:
        assert one != other
        assert other != one
    assert len({one, *others[:-1]}) == len(others)
    library = by_library()
    assert library == pickle.loads(pickle.dumps(library)) != one
    assert add_specials(one, ["<t>"]) == set_roles(add_specials(one, ["<t>"]), {"pad": "<t>"})


def test_views_and_tables_keep_no_tokenizer_alive():
    tokenizer, store = trained(), TokenStore()
    assert finish(store.counts_work(tokenizer, Corpus.from_text(TEXT))).tokens == len(tokenizer.encode(TEXT))
    _ = repr(tokenizer), tokenizer._repr_html_(), hash(tokenizer), tokenizer.get_vocab()
    gone = weakref.ref(tokenizer)
    del tokenizer
    gc.collect()
    assert gone() is None


# --- In notebooks -----------------------------------------------------------------------------------------------------


def test_values_have_a_view_in_notebooks_in_which_nothing_of_a_text_is_markup():
    tokenizer = trained()
    assert tokenizer.run is not None
    texts: dict[str, Any] = {"<script>alert(1)</script>": ["the cat"], "b": TEXT}
    comparison = compare({"<b>mine": tokenizer, "bytes": ByteTokenizer()}, texts)
    here = explore(Corpus((Source.from_texts([TEXT, "the cat"], "<img src=x>"),)), tokenizer)
    assert repr(tokenizer) == "<Tokenizer: BPE, 286 tokens, 30 merges, pattern gpt2>"
    assert repr(by_library()).endswith(" tokens, 0 merges, tokenizers encodes>")
    assert repr(comparison) == "<Comparison: 2 tokenizers, 2 texts>"
    assert repr(here) == f"<Exploration: 1 source, 2 documents, {len(TEXT.encode()) + 7} bytes>"
    assert repr(tokenizer.run) == f"<Run: 30 merges, 286 tokens, {tokenizer.run.ended}>"
    for value, words in (
        (tokenizer, 'title="id '),
        (comparison, "Bytes per token"),
        (here, "Documents"),
        (tokenizer.run, tokenizer.run.ended),
        (trained(60, base="characters"), "vocabulary"),
    ):
        page = value._repr_html_()
        names = {name for name, _ in tags_of(page)}
        assert names <= {"p", "small", "pre", "span", "table", "thead", "tbody", "tr", "th", "td"}
        assert words in page
    spans = [attributes for name, attributes in tags_of(tokenizer._repr_html_()) if name == "span"]
    assert len(spans) == len(tokenizer.encode("Tokenizers split text: größer, 日本語, 12345 and 🙂."))
    assert all("id " in (attributes["title"] or "") for attributes in spans)
    many = compare({"bytes": ByteTokenizer()}, {f"text {number}": "a" for number in range(50)})
    assert "30 more rows" in many._repr_html_()


# --- In other processes, and over batches -----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_tokenizer_works_in_a_pool_of_processes_after_it_was_used(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no such processes")
    tokenizer, texts = trained(), [*TEXT.split(" "), TEXT]
    wanted = tokenizer.encode_batch(texts)
    with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
        # Methods of the class, for which the process imports nothing of the tests.
        batch = pool.submit(Tokenizer.encode_batch, tokenizer, texts).result()
        assert batch.ids == wanted.ids
        assert pool.submit(Tokenizer.decode_batch, tokenizer, batch).result() == texts
        assert pool.submit(Tokenizer.at, tokenizer, 20).result() == tokenizer.at(20)
        assert [each.ids.tolist() for each in pool.map(Tokenizer.encode_batch, [tokenizer] * 2, [texts[:1], []])] == [
            [tokenizer.encode(texts[0])],
            [],
        ]


def test_a_map_over_batches_gives_the_columns_of_one_call():
    tokenizer, texts = trained(), [*TEXT.split(" "), "", TEXT]
    parts = [tokenizer(texts[at : at + 7]) for at in range(0, len(texts), 7)]
    whole: Any = tokenizer(texts)
    for name in ("input_ids", "attention_mask"):
        columns: list[Any] = [part[name] for part in parts]
        assert all(type(column) is list and type(column[0]) is list for column in columns)
        assert [row for column in columns for row in column] == whole[name]
