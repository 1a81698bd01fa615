"""Compared tokenizers: every figure beside a simple one or an outside implementation, and texts that break figures."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest
import tokenization_scorer  # pyright: ignore[reportMissingTypeStubs]
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from tests.core.formats.without_merges import sentencepiece_unigram, word_piece
from tests.core.formats.without_merges import unigram as unigram_of
from tests.processes import started_processes
from tokstudio import (
    ByteTokenizer,
    CharacterTokenizer,
    Comparison,
    ConfigError,
    Corpus,
    Tokenizer,
    WordTokenizer,
    compare,
    load,
)
from tokstudio.core.base import subprocesses
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import finish
from tokstudio.core.comparison.comparison import compare_work
from tokstudio.core.comparison.counts import tokens_of_each_work
from tokstudio.core.comparison.figures import FIGURES, SUMMARIES, Cell, gini, renyi_entropy
from tokstudio.core.comparison.texts import held_out_marks, text_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.training.trainer import train

ENGLISH = ["The cat sat on the mat.", "The dog sat there, too.", "Nobody sat on the other cat."]
GERMAN = ["Die Katze saß auf der Matte.", "Der Hund saß auch dort.", "Niemand saß auf der anderen Katze."]


def trained(size: int = 320, pattern: str = "gpt2") -> Tokenizer:
    corpus = Corpus.from_texts(ENGLISH * 3)
    return train(corpus, TrainingConfig(vocabulary_size=size, pattern=pattern))


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    tokenizers = {"small": trained(280), "large": trained(), "bytes": ByteTokenizer()}
    return compare(tokenizers, {"eng": ENGLISH, "deu": GERMAN}, base="eng", threads=2)


def test_the_tokens_are_those_of_each_line(comparison: Comparison) -> None:
    assert comparison.tokenizers == ("small", "large", "bytes")
    assert comparison.texts == ("eng", "deu")
    for column, size in ((0, 280), (1, 320)):
        for row, lines in enumerate((ENGLISH, GERMAN)):
            assert comparison.tokens[row, column] == sum(len(trained(size).encode(line)) for line in lines)
    assert comparison.tokens[:, 2].tolist() == [len("".join(lines).encode()) for lines in (ENGLISH, GERMAN)]


def test_words_of_different_lines_are_not_joined() -> None:
    lines = ["the cat", "sat there", "", "the cat"]
    words = WordTokenizer.from_text("\n".join(lines))
    made = compare({"words": words, "characters": CharacterTokenizer()}, {"lines": lines, "cut": [b"\xc3", b"\xa9"]})
    assert made.tokens[0].tolist() == [sum(len(words.encode(line)) for line in lines), len("".join(lines))]
    assert made.tokens[1, 1] == 2, "a character does not extend over two documents"


def test_facts_of_the_texts(comparison: Comparison) -> None:
    assert comparison.bytes.tolist() == [len("".join(lines).encode()) for lines in (ENGLISH, GERMAN)]
    assert comparison.characters.tolist() == [len("".join(lines)) for lines in (ENGLISH, GERMAN)]
    assert comparison.lines.tolist() == [3, 3]
    assert comparison.words.tolist() == [sum(len(line.split()) for line in lines) for lines in (ENGLISH, GERMAN)]


def test_ratios_are_quotients_of_sums(comparison: Comparison) -> None:
    n = comparison.tokens.astype(float)
    for name, over in (("bytes_per_token", comparison.bytes), ("characters_per_token", comparison.characters)):
        assert np.allclose(comparison.figure(name), over[:, None] / n)
        assert np.allclose(comparison.totals(name), over.sum() / n.sum(axis=0))
    assert np.allclose(comparison.figure("tokens_per_line"), n / 3)
    assert np.allclose(comparison.figure("fertility"), n / comparison.words[:, None])
    assert np.allclose(comparison.figure("premium"), n / n[0])
    assert np.allclose(comparison.figure("normalised_length"), n / n[:, :1])
    assert np.allclose(comparison.totals("normalised_length"), n.sum(axis=0) / n.sum(axis=0)[0])
    assert np.allclose(comparison.summary("worst_premium"), np.maximum(1, n[1] / n[0]))
    assert comparison.summary("total").tolist() == n.sum(axis=0).tolist()


def test_words_are_encoded_with_the_space_before_them(comparison: Comparison) -> None:
    tokenizer = trained()
    words = Counter(word for line in ENGLISH for word in line.split())
    sizes = {word: len(tokenizer.encode(" " + word)) for word in words}
    split = sum(count for word, count in words.items() if sizes[word] > 1) / words.total()
    assert comparison.figure("words_split")[0, 1] == pytest.approx(split)
    whole = sum(size == 1 for size in sizes.values()) / len(sizes)
    assert comparison.figure("whole_words")[0, 1] == pytest.approx(whole)
    assert 0 < split < 1
    assert 0 < whole < 1


def test_words_are_prepared_as_texts_are() -> None:
    preparation = Preparation(nfc=True, prefix_space=True)
    tokenizer = Tokenizer(trained().merges, pattern="gpt2").changed(preparation=preparation)
    words = ["cafe\u0301", " the", "the", "\u212b"]
    sizes = finish(tokens_of_each_work(tokenizer, [word.encode() for word in words]))
    assert sizes.tolist() == [len(tokenizer.encode(word)) for word in words]
    assert sizes[1] == sizes[2]
    lines = ("cafe\u0301 the", "the caf\u00e9")
    compared = compare({"one": tokenizer}, {"eng": lines})
    assert compared.tokens[0, 0] == sum(len(tokenizer.encode(line)) for line in lines)


def test_a_space_that_a_library_adds_to_each_text_splits_no_word(tmp_path: Path) -> None:
    pieces = [("<unk>", 0.0), ("▁", -3.0), ("東", -2.0), ("京", -2.0), ("▁a", -2.0)]
    library = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, unk_id=0))
    library.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    own = opened(tmp_path / "tokenizer.json", library.to_str())
    assert own.encode("東京") == [1, 2, 3]
    made = compare({"own": own}, {"text": "東京 a 京東 東京大"})
    assert made.figure("words_split")[0, 0] == 0
    assert made.figure("whole_words")[0, 0] == 3 / 4  # not 大


def test_a_word_that_a_library_drops_is_neither_split_nor_whole(tmp_path: Path) -> None:
    own = opened(tmp_path / "tokenizer.json", word_piece(ENGLISH, 200).to_str())
    made = compare({"own": own}, {"text": "cat \ufffd", "nothing": "\ufffd"})  # BERT's normalizer drops it
    assert made.figure("words_split")[:, 0].tolist() == [0, 0]
    assert made.figure("whole_words")[:, 0].tolist() == [1 / 2, 0]


def test_words_of_simple_tokenizers_have_no_space() -> None:
    made = compare({"words": WordTokenizer.from_text("\n".join(ENGLISH))}, {"eng": ["cat sat, mat"]})
    assert made.figure("words_split").tolist() == [[pytest.approx(1 / 3)]]  # "sat," has two


def test_cut_characters() -> None:
    made = compare({"bytes": ByteTokenizer(), "characters": CharacterTokenizer()}, {"text": "aé語"})
    assert made.figure("not_utf8").tolist() == [[pytest.approx(5 / 6), 0]]
    assert made.figure("begins_inside").tolist() == [[pytest.approx(3 / 6), 0]]


def test_the_vocabulary_that_is_used_leaves_special_tokens_out() -> None:
    config = TrainingConfig(vocabulary_size=260, special_tokens=("<|end|>",))
    tokenizer = train(Corpus.from_text("ababab"), config)
    made = compare({"one": tokenizer}, {"text": "abab<|end|>"})
    used = set(tokenizer.encode("abab<|end|>"))
    assert made.figure("vocabulary_used")[0, 0] == pytest.approx(len(used) / (len(tokenizer) - 1))
    assert np.isnan(compare({"characters": CharacterTokenizer()}, {"text": "ab"}).figure("vocabulary_used")).all()


@given(st.lists(st.integers(1, 50), min_size=2, max_size=40))
def test_entropies_equal_those_of_tokenization_scorer(counts: list[int]) -> None:
    words = [f"t{i}" for i, count in enumerate(counts) for _ in range(count)]
    shares = np.array(counts) / sum(counts)
    theirs = tokenization_scorer.score([" ".join(words)], metric="renyi", power=2.5)
    assert renyi_entropy(shares) / math.log2(len(counts)) == pytest.approx(theirs)
    theirs = tokenization_scorer.score([" ".join(words)], metric="shannon_entropy")
    assert renyi_entropy(shares, 1) == pytest.approx(theirs)


@given(st.lists(st.floats(0.01, 1e6), min_size=1, max_size=30))
def test_gini_is_the_mean_difference_of_all_pairs(values: list[float]) -> None:
    n, mean = len(values), sum(values) / len(values)
    naive = sum(abs(a - b) for a in values for b in values) / (2 * n * n * mean)
    assert gini(np.array(values)) == pytest.approx(naive, abs=1e-12)


def test_the_figures_of_all_texts_together_are_those_of_one_text(comparison: Comparison) -> None:
    together = compare(
        {each.name: each.tokenizer for each in comparison.compared}, {"all": [*ENGLISH, *GERMAN]}, threads=1
    )
    for name in FIGURES.keys() - {"premium", "whole_words"}:
        assert np.allclose(comparison.totals(name), together.figure(name)[0], equal_nan=True), name
    assert np.isnan(comparison.totals("premium")).all()
    assert np.isnan(comparison.totals("whole_words")).all()  # a distinct word can be in several texts
    assert np.array_equal(together.totals("whole_words"), together.figure("whole_words")[0])


@pytest.mark.parametrize(
    ("text", "units", "words"),
    [
        ("Two  words.\nThree", "words", {b" Two", b" words.", b" Three"}),
        ("我家 GPT", "characters", {"我".encode(), "家".encode(), b" GPT"}),
        ("我家人GPT GPT", "characters", {*(each.encode() for each in "我家人"), b"GPT", b" GPT"}),
        ("東京、タワー。", "characters", {each.encode() for each in "東京、タワー。"}),
        ("ｸﾞﾗｰ", "characters", {each.encode() for each in "ｸﾞﾗｰ"}),
        ("བོད་GPT", "words", {"བོད".encode(), b"GPT"}),
        ("บ้าน", "characters", {each.encode() for each in "บ้าน"}),
        ("བོད་ཡིག", "syllables", {"བོད".encode(), "ཡིག".encode()}),
        ("ሰላም፡ልጅ", "words", {" ሰላም".encode(), " ልጅ".encode()}),
        (b"a\xff b", "words", {b" a\xff", b" b"}),
        ("", "words", set[bytes]()),
        (" \n\t", "words", set[bytes]()),
    ],
)
def test_what_a_word_is(text: str | bytes, units: str, words: set[bytes]) -> None:
    made = finish(text_work("text", text))
    assert made.units == units
    assert set(made.word_types) == words
    assert made.words == made.word_types.total()


def test_figures_of_words_of_all_texts_have_no_meaning_where_words_differ() -> None:
    made = compare({"bytes": ByteTokenizer()}, {"eng": "word", "cmn": "我家"})
    assert made.figure("fertility").tolist() == [[4], [3]]
    for name in ("fertility", "words_split", "whole_words"):
        assert np.isnan(made.totals(name)).all()


def test_texts_without_the_lines_of_the_base_have_no_premium() -> None:
    texts = {"eng": ["a", "b"], "deu": ["a", "b"], "fra": ["a"], "empty": "", "blank": ["", ""]}
    made = compare({"bytes": ByteTokenizer()}, texts, base="eng")
    assert np.isnan(made.figure("premium")[:, 0]).tolist() == [False, False, True, True, True]
    assert np.isnan([made.summary("gini"), made.summary("worst_premium")]).all()
    said = "Premiums and Gini need the same lines in each text: eng has 2 lines, fra has 1 line, empty is empty, "
    assert made.premium_note == f"{said}blank is empty."
    for told in (made.to_markdown(["premium"]), *json.loads(made.to_json(["premium"]))["notes"]):
        assert made.premium_note in told
    alike = compare({"bytes": ByteTokenizer()}, {name: texts[name] for name in ("eng", "deu")}, base="eng")
    assert alike.premium_note == ""
    assert alike.summary("gini").tolist() == [0]


def test_a_text_without_tokens_has_no_premium(tmp_path: Path) -> None:
    made = compare({"piece": sentence_piece(tmp_path)}, {"eng": "a cat", "spaces": "  "}, base="eng")
    assert made.tokens[1, 0] == 0
    assert np.isnan(made.figure("premium")[1, 0])


def test_lengths_relate_to_a_chosen_tokenizer(comparison: Comparison) -> None:
    tokenizers = {each.name: each.tokenizer for each in comparison.compared}
    made = compare(tokenizers, {"eng": ENGLISH}, against="bytes")
    assert np.allclose(made.figure("normalised_length")[0], made.tokens[0] / made.tokens[0, 2])
    assert "N / N(bytes)" in made.to_markdown(["normalised_length"])
    with pytest.raises(ConfigError, match='No tokenizer is named "words"'):
        compare(tokenizers, {"eng": ENGLISH}, against="words")


def test_each_document_of_a_source_can_be_a_line() -> None:
    source = Source.from_texts(["a", "", "b\nc"])
    assert finish(text_work("lines", source, is_lines=True)).lines == 3


def test_a_text_without_words_gives_no_number() -> None:
    made = compare({"small": trained(280)}, {"nothing": "", "spaces": "  ", "lines": list[str]()}, base="nothing")
    for name in FIGURES.keys() - {"tokens", "normalised_length"}:
        assert np.isnan(made.figure(name)[0]).all() or name == "vocabulary_used", name
    assert np.isnan(made.figure("fertility")[1]).all()
    for name in SUMMARIES:
        assert made.summary(name).shape == (1,)


def test_a_tokenizer_that_cannot_encode_a_text_leaves_the_other_cells() -> None:
    config = TrainingConfig(vocabulary_size=30, base="characters")
    latin = train(Corpus.from_text("the cat sat on the mat "), config)
    made = compare({"latin": latin, "bytes": ByteTokenizer()}, {"eng": "the cat", "deu": "saß"})
    assert made.tokens[1].tolist() == [-1, 4]
    assert np.isnan(made.figure("bytes_per_token")[1, 0])
    error = made.result(1, 0)
    assert isinstance(error, TokStudioError)
    assert "ß" in str(error)
    assert np.isnan(made.totals("bytes_per_token")[0])


def test_a_library_that_dies_on_one_text_leaves_the_other_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, write_message = started_processes(monkeypatch), subprocesses.write_message
    own = opened(tmp_path / "tokenizer.json", word_piece(ENGLISH, 200).to_str())

    def dying(stream: IO[bytes], request: Any) -> None:
        if b"fatal" in b"".join(getattr(request, "parts", ())):
            next(process for process in started if process.stdin is stream).kill()
        write_message(stream, request)

    monkeypatch.setattr(subprocesses, "write_message", dying)
    texts = {"first": "the cat", "worst": "the fatal cat", "last": "the dog sat"}
    made = compare({"piece": own, "bytes": ByteTokenizer()}, texts, threads=2)
    assert made.tokens.tolist() == [[2, 7], [-1, 13], [3, 11]]
    [(text, tokenizer, why)] = made.errors
    assert (text, tokenizer) == ("worst", "piece")
    assert why == "tokenizer.json: the tokenizers library ended without an answer; try again."
    assert made.figure("words_split")[:, 0].tolist() == [0, pytest.approx(np.nan, nan_ok=True), 0]
    assert np.isnan(made.totals("bytes_per_token")).tolist() == [True, False]
    assert "| worst | – |" in made.to_markdown(["bytes_per_token"])


def test_unknown_tokens_are_said() -> None:
    config = TrainingConfig(vocabulary_size=30, base="characters", special_tokens=("<unk>",), unknown_token="<unk>")
    latin = train(Corpus.from_text("the cat sat on the mat "), config)
    cell = compare({"latin": latin}, {"deu": "saß ßß"}).result(0, 0)
    assert isinstance(cell, Cell)
    assert cell.counts.remarks == ("3 unknown tokens.", "Decoding does not restore the text.")


def opened(path: Path, content: str | bytes) -> Tokenizer:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return load(path)


def sentence_piece(path: Path) -> Tokenizer:
    return opened(path / "unigram.model", sentencepiece_unigram(ENGLISH * 20, 60))


def test_unknown_tokens_of_libraries_are_said_and_are_neither_whole_nor_used(tmp_path: Path) -> None:
    own = opened(tmp_path / "tokenizer.json", word_piece(ENGLISH, 200).to_str())
    made = compare({"piece": own, "sentence": sentence_piece(tmp_path)}, {"text": "the 猫 cat 語 the"})
    for column, special in enumerate(("[UNK]", "<unk>")):
        cell = made.result(0, column)
        assert isinstance(cell, Cell)
        assert cell.counts.remarks == ("2 unknown tokens.", "Decoding does not restore the text.")
        unknown = made.compared[column].tokenizer.special_tokens[special]
        assert unknown in cell.counts.ids
        used = len(cell.counts.ids) - 1
        assert made.figure("vocabulary_used")[0, column] == pytest.approx(used / made.compared[column].size)
    # "the" and "cat", but neither "猫" nor "語".
    assert made.figure("whole_words")[0, 0] == pytest.approx(2 / 4)
    unigram = compare({"unigram": opened(tmp_path / "unigram.json", unigram_of(ENGLISH, 60).to_str())}, {"a": "語"})
    assert unigram.remarks[0][2] == "1 unknown token."


def test_text_is_lost_anywhere_in_a_long_text(tmp_path: Path) -> None:
    nfkc = opened(tmp_path / "unigram.json", unigram_of(ENGLISH, 60).to_str())
    plain = "the cat sat " * 3000
    made = compare({"nfkc": nfkc}, {"plain": plain.strip(), "late": f"{plain}cªt {plain}".strip()})
    assert made.remarks == (("late", "nfkc", "Decoding does not restore the text."),)


def test_another_normal_form_is_not_lost_text(tmp_path: Path) -> None:
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()
    )
    rust = tokenizers.Tokenizer(tokenizers.models.BPE())
    rust.normalizer = tokenizers.normalizers.NFD()
    rust.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel()
    rust.decoder = tokenizers.decoders.ByteLevel()
    rust.train_from_iterator(ENGLISH, trainer)
    own = Tokenizer(trained().merges, pattern="gpt2").changed(preparation=Preparation(nfc=True, prefix_space=True))
    nfd = opened(tmp_path / "nfd.json", rust.to_str())
    made = compare({"nfd": nfd, "nfc": own}, {"text": "the cafe\u0301 caf\u00e9"})
    told = "Decoding gives the same text in another Unicode normal form."
    assert made.remarks == (("text", "nfd", told), ("text", "nfc", told))
    assert not made.loses_text.any()


def test_one_token_has_no_entropy() -> None:
    made = compare({"own": trained()}, {"one": "a"})
    for name in ("shannon", "renyi_whole"):
        assert math.copysign(1, made.figure(name)[0, 0]) == 1
        assert made.figure(name)[0, 0] == 0


def test_equal_texts_have_one_hash_and_others_another() -> None:
    one, same, other = (
        finish(text_work(name, text)) for name, text in (("a", ["x", "y"]), ("b", ["x", "y"]), ("c", "xy"))
    )
    assert one.sha256 == same.sha256 != other.sha256


def test_what_cannot_be_compared_is_said() -> None:
    with pytest.raises(ConfigError, match="at least one"):
        compare({}, {"text": "a"})
    with pytest.raises(ConfigError, match='No text is named "fra"'):
        compare({"bytes": ByteTokenizer()}, {"eng": "a"}, base="fra")
    made = compare({"bytes": ByteTokenizer()}, {"eng": "a"})
    with pytest.raises(ConfigError, match="base text"):
        made.figure("premium")
    with pytest.raises(ConfigError, match="no figure"):
        made.figure("speed")
    with pytest.raises(ConfigError, match="no summary"):
        made.summary("mean")


def test_closing_the_work_ends_all_threads() -> None:
    work = compare_work({"one": trained()}, {str(i): "text " * 1000 for i in range(50)}, threads=2)
    for _ in range(60):
        next(work)
    work.close()
    with pytest.raises(StopIteration):
        next(work)


def test_other_weights_hold_out_the_same_text_unless_one_is_0() -> None:
    plain, weighted, without = (held_out_marks("ab12", weights, 0.2) for weights in (None, (2000, 1), (0, 1000)))
    assert not plain.isdisjoint(weighted)
    assert not weighted.isdisjoint(held_out_marks("ab12", (1000, 7), 0.2))
    assert plain.isdisjoint(without)
    assert weighted.isdisjoint(without)
    assert plain.isdisjoint(held_out_marks("ab12", None, 0.3))
    assert plain.isdisjoint(held_out_marks("cd34", None, 0.2))
    assert not held_out_marks("ab12", None, 0)
