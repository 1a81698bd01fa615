"""The folder with a loader in plain Python: it gives our ids for Picky BPE and BoundlessBPE, and opens again."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.formats.file_mutants import mutant_of_bytes, mutant_of_values, read_or_refused
from tests.core.formats.trained import everything, same, shuffled, with_specials
from tests.times import TIMES
from tokstudio import Boundless, Corpus, FormatError, Picky, TrainingConfig, load, save, train
from tokstudio.core.base.resources import sample_text
from tokstudio.core.formats.loader import format as loader_format
from tokstudio.core.formats.loader import loader
from tokstudio.core.formats.loader.format import LOADER, MERGES, VOCABULARY, Loader
from tokstudio.core.formats.saving import fit
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.pretokenization.preparation import Preparation

TEXT = sample_text("article")[:9000]
PICKY = {"algorithm": Picky(threshold=0.4), "vocabulary_size": 420}
BOUNDLESS = {"algorithm": Boundless(), "vocabulary_size": 700}
SPECIALS = ["<|end|>", "<|end|><|start|>"]
CASES = {
    "picky": {**PICKY, "pattern": "gpt2", "special_tokens": SPECIALS},
    "picky without a pattern": PICKY,
    "picky of characters": {
        **PICKY, "base": "characters", "pattern": "whitespace", "special_tokens": ["<unk>"], "unknown_token": "<unk>",
    },
    "picky, special tokens first": {**PICKY, "special_tokens": SPECIALS, "special_placement": "first"},
    "boundless": {**BOUNDLESS, "pattern": "gpt2", "special_tokens": SPECIALS},
    "boundless, an expression": {**BOUNDLESS, "pattern": r" ?[^\W\d_]+|[\s\S]"},
}  # fmt: skip
# As a stranger runs it, without TokStudio.
PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
from loader import load
tokenizer = load()
texts = json.loads(sys.stdin.read())
print(json.dumps([[tokenizer.encode(text, "all"), tokenizer.decode(tokenizer.encode(text))] for text in texts]))
assert not any(name.startswith(("tokstudio", "numpy", "numba")) for name in sys.modules), "more than Python is loaded"
"""


def trained(case="picky", text=TEXT, **more):
    return train(Corpus.from_text(text), TrainingConfig(**{**CASES[case], **more}))


@pytest.fixture(scope="module")
def tokenizers():
    return {case: trained(case) for case in CASES}


def of_loader(folder, texts):
    """The ids and the decoded texts of the loader in a folder, in a Python of its own."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", PROGRAM, str(folder)], input=json.dumps(texts), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def parts(tokenizer):
    return {name: b"".join(pieces) for name, pieces in Loader().contents(tokenizer).items()}


def of_package(tokenizer):
    """The loader with the data that would be written."""
    written = parts(tokenizer)
    return loader.LoadedTokenizer(json.loads(written[VOCABULARY]), json.loads(written[MERGES]))


@pytest.mark.parametrize("case", CASES)
def test_the_loader_gives_our_ids_and_the_folder_opens_as_the_same_tokenizer(tokenizers, tmp_path, case):
    whole = tokenizers[case]
    texts = [torture_text(), TEXT[:1000], *(token + TEXT[:200] + token for token in whole.special_tokens), "", "\ud83d"]
    texts.append("".join(whole.special_tokens))
    for merges in (len(whole.merges), *((len(whole.merges) // 2, 0) if case in ("picky", "boundless") else ())):
        tokenizer, folder = whole.at(merges), tmp_path / str(merges)
        report = save(tokenizer, folder, "loader", sample=TEXT[1000:2000])
        assert report.proof.startswith("identical on the test text and a sample of your text")
        assert report.losses == ()
        again = load(folder)
        assert same(again, tokenizer)
        for text, (ids, decoded) in zip(texts, of_loader(folder, texts), strict=True):
            assert ids == tokenizer.encode(text, "all") == again.encode(text, "all")
            assert decoded == tokenizer.decode(tokenizer.encode(text))
        for name in ("removals", "supermerges"):
            assert np.array_equal(getattr(again, name), getattr(tokenizer, name))
        assert parts(again) == parts(tokenizer)
        if merges:
            assert again.at(merges // 2).encode(TEXT) == tokenizer.at(merges // 2).encode(TEXT)


def test_the_cases_remove_tokens_and_join_words(tokenizers):
    for case, tokenizer in tokenizers.items():
        if case.startswith("picky"):
            assert (tokenizer.removals[:, 2:] >= 0).sum() > 10, case
        else:
            assert tokenizer.supermerges.sum() > 5, case


@settings(max_examples=25 * TIMES)
@given(st.text("ab ", max_size=60), st.text("ab c", max_size=80), st.sampled_from([0.2, 0.4, 0.6, 0.8]))
def test_small_texts_with_many_removals(text, other, threshold):
    config = TrainingConfig(algorithm=Picky(threshold=threshold), min_frequency=2, vocabulary_size=300)
    tokenizer = train(Corpus.from_text(text + "ab" * 3), config)
    for merges in {len(tokenizer.merges), len(tokenizer.merges) // 2}:
        here = tokenizer.at(merges)
        ours = of_package(here)
        for each in (text, other, other * 3):
            assert ours.encode(each) == here.encode(each)
            assert ours.decode(ours.encode(each)) == each


@settings(max_examples=20 * TIMES)
@given(st.lists(st.sampled_from(["the", " cat", " sat", ".", "1", " on", "\n"]), max_size=60).map("".join))
def test_small_texts_with_supermerges(text):
    config = TrainingConfig(algorithm=Boundless(), pattern="gpt2", min_frequency=2, vocabulary_size=300)
    tokenizer = train(Corpus.from_text(text + " the cat" * 4), config)
    assert of_package(tokenizer).encode(text) == tokenizer.encode(text)


def test_other_tokenizers_are_written_too(tmp_path):
    for number, tokenizer in enumerate((everything(), shuffled(), with_specials("cl100k", merges=30))):
        save(tokenizer, tmp_path / str(number), "loader", sample=TEXT)
        assert same(load(tmp_path / str(number)), tokenizer)


def test_nothing_of_the_folder_is_run(tokenizers, tmp_path):
    save(tokenizers["picky"], tmp_path, "loader")
    (tmp_path / LOADER).write_text("raise SystemExit('run')\n", "utf-8")
    for path in (tmp_path, tmp_path / VOCABULARY, tmp_path / MERGES, tmp_path / LOADER):
        assert same(load(path), tokenizers["picky"])
    (tmp_path / LOADER).unlink()
    assert same(load(tmp_path), tokenizers["picky"])


def test_a_loader_that_is_not_the_written_one_is_not_run(tokenizers, tmp_path, monkeypatch):
    right = Loader.contents
    wrong = b"raise SystemExit('run')\n"
    monkeypatch.setattr(Loader, "contents", lambda self, tokenizer: {**right(self, tokenizer), LOADER: [wrong]})
    with pytest.raises(FormatError, match=r"loader\.py has changed while it was written"):
        save(tokenizers["picky"], tmp_path, "loader")
    assert not any(tmp_path.iterdir())


def test_a_loader_that_encodes_otherwise_is_refused(tokenizers, tmp_path, monkeypatch):
    wrong = Loader.contents(Loader(), tokenizers["picky"])[LOADER]
    text = b"".join(wrong).replace(b"if 3 * number > event:", b"if 3 * number > 3 * event:")
    monkeypatch.setattr(loader_format, "_loader", lambda: text)
    with pytest.raises(FormatError, match=r"read back by the loader, it differs at token|its ids do not decode"):
        save(tokenizers["picky"], tmp_path, "loader", sample=TEXT)


def test_the_snippet_runs(tokenizers, tmp_path):
    for case in ("picky without a pattern", "boundless"):
        report = save(tokenizers[case], tmp_path / case, "loader")
        done = subprocess.run([sys.executable, "-I", "-c", report.snippet], capture_output=True, text=True)
        assert json.loads(done.stdout) == tokenizers[case].encode("Hello world")
        assert report.snippet.startswith("# nothing to install" if "without" in case else "# pip install regex")


def test_what_it_cannot_hold_is_told(tmp_path):
    settings_lost = fit(everything().changed(), "loader")
    assert (settings_lost.problem, settings_lost.losses) == (None, ())


def test_what_is_done_to_a_text_before_it_is_split_is_lost_by_name_and_the_rest_is_proved(tmp_path):
    taken, word = "<|taken|>", "<|word|>"
    specials = {token: 1000 + number for number, token in enumerate((taken, word))}
    ours = Preparation(nfc=True, strips_left=frozenset({taken}), words=frozenset({word}))
    tokenizer = everything().changed(special_tokens=specials, preparation=ours)
    losses = fit(tokenizer, "loader").losses
    assert [loss.split(" ")[:3] for loss in losses] == [
        ["The", "normalizer", "NFC"], ["White", "space", "beside"], ["Special", "tokens", "are"],
    ]  # fmt: skip
    report = save(tokenizer, tmp_path, "loader", accept_loss=True, sample=f"e\u0301 {taken} x{word}x")
    assert report.proof.startswith("identical on the test text and a sample of your text")
    assert load(tmp_path).encode(f"e\u0301 {word}", "all") == of_loader(tmp_path, [f"e\u0301 {word}"])[0][0]


class TestDamaged:
    @pytest.fixture
    def folder(self, tokenizers, tmp_path):
        save(tokenizers["picky"].at(60), tmp_path, "loader")
        return tmp_path

    def changed(self, folder, name, change):
        value = json.loads((folder / name).read_bytes())
        change(value)
        (folder / name).write_text(json.dumps(value), "utf-8")
        with pytest.raises(FormatError) as error:
            load(folder)
        return str(error.value)

    def test_one_sentence_names_the_fault(self, folder, tokenizers):
        whole = {name: (folder / name).read_bytes() for name in (VOCABULARY, MERGES)}
        gone = next(n for n, row in enumerate(json.loads(whole[MERGES])["merges"]) if row[4] >= 0)

        def merge(row, at, value):
            return lambda data: data["merges"][row].__setitem__(at, value)

        first = json.loads(whole[MERGES])["merges"][0][2]
        for name, change, sentence in (
            (MERGES, merge(3, 0, first + 3), f"merge 4 joins token {first + 3}, which does not exist yet"),
            (MERGES, merge(3, 2, first), "merge 4 makes another token than it should"),
            (MERGES, merge(gone, 4, -1), "makes another token than it should|does not follow from the merges"),
            (MERGES, merge(0, 4, 1), "merge 1 removes a token that is not there"),
            (MERGES, lambda data: data["falls"].pop(), "what removed tokens fall into does not follow"),
            (MERGES, lambda data: data["columns"].pop(), "its merges have 6 numbers each, but not so many columns"),
            (MERGES, lambda data: data["columns"].__setitem__(3, "x"), "its columns are unknown"),
            (MERGES, lambda data: data.clear(), "its columns are unknown"),
            (MERGES, lambda data: data["merges"][0].pop(), "is not a list of whole numbers"),
            (VOCABULARY, lambda data: data["tokens"].__setitem__("97", "b"), "two base tokens are equal|damaged"),
            (VOCABULARY, lambda data: data["tokens"].popitem(), "is in only one of the two files"),
            (
                VOCABULARY,
                lambda data: data["tokens"].__setitem__(max(data["tokens"], key=int), "zz"),
                "is not what loader_merges",
            ),
            (VOCABULARY, lambda data: data.__setitem__("regex", "x"), "its regular expression is not that"),
            (VOCABULARY, lambda data: data.__setitem__("version", 2), "a newer version wrote it"),
            (VOCABULARY, lambda data: data.__setitem__("joined_words", [97]), "the words that supermerges join"),
            (VOCABULARY, lambda data: data["special_tokens"].__setitem__("<x>", first), "has the id of a merge"),
            (VOCABULARY, lambda data: data.__setitem__("unknown", "x"), '"unknown" is missing, or of another kind'),
        ):
            said = self.changed(folder, name, change)
            assert any(words in said for words in sentence.split("|")), (said, sentence)
            assert said.endswith(".")
            for each, content in whole.items():
                (folder / each).write_bytes(content)
        assert same(load(folder), tokenizers["picky"].at(60))

    def test_tokens_that_would_fill_the_memory_are_refused(self, folder):
        def doubled(data):
            first = data["merges"][0][2]
            data["merges"] = [[97, 97, first, 1, -1, -1]]
            data["merges"] += [[first + n, first + n, first + n + 1, 1, -1, -1] for n in range(60)]

        assert "the tokens are too long" in self.changed(folder, MERGES, doubled)

    @pytest.mark.parametrize("name", [VOCABULARY, MERGES])
    @pytest.mark.parametrize("case", ["picky", "boundless"])
    def test_damaged_files_are_read_or_refused_in_one_sentence(self, tokenizers, tmp_path, name, case):
        save(tokenizers[case].at(60) if case == "picky" else tokenizers[case], tmp_path, "loader")
        whole, chance, refused = (tmp_path / name).read_bytes(), random.Random(5), 0
        for number in range(30 * TIMES):
            (tmp_path / name).write_bytes((mutant_of_values if number % 2 else mutant_of_bytes)(whole, chance))
            refused += read_or_refused(tmp_path / VOCABULARY, names=(r"loader_\w+\.json",)) is None
        assert refused > 15
