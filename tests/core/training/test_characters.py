"""Training and encoding on characters, with and without a base vocabulary."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.reference import Recount, assert_recounted, train_slowly
from tests.core.texts import documents, few_examples
from tokstudio import ConfigError, Corpus, CorpusError, Trainer, TrainingConfig, extend, train
from tokstudio.core.algorithms.bpe.engine import PairEngine
from tokstudio.core.algorithms.common import symbols
from tokstudio.core.algorithms.common.prepare_corpus import count_text_work
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import CountedWith, Source
from tokstudio.core.kernels import tables as k
from tokstudio.core.model.algorithms import TIE_BREAKS
from tokstudio.core.model.run import NOTHING_LEFT
from tokstudio.core.pretokenization.word_counts import Sequences

FILE = Path(__file__).parents[2] / "data" / "goldens.json"

texts = st.lists(st.text("abé日😀 ", max_size=25), max_size=5)


def trained(documents, **settings):
    return train(Corpus.from_texts(documents), TrainingConfig(base="characters", **settings))


def recount(documents: list[str], size: int, tie_break: str, longest: int | None) -> Recount:
    tokens = list(dict.fromkeys("".join(documents)))
    order = {tokens.index(character): place for place, character in enumerate(sorted(tokens))}
    rules = {
        "huggingface": lambda best: min(best, key=lambda pair: [order.get(token, token) for token in pair]),
        "mapped-strings": "bytes",  # characters are shown as themselves
    }
    start = [token.encode() for token in tokens], [list(map(tokens.index, document)) for document in documents]
    rule = rules.get(tie_break, tie_break)
    return train_slowly([], vocabulary_size=size, tie_break=rule, max_token_bytes=longest, start=start)


@few_examples
@given(texts, st.integers(1, 12), st.sampled_from(TIE_BREAKS), st.one_of(st.none(), st.integers(2, 9)))
def test_merges_equal_those_of_the_slow_reference(documents, merges, tie_break, longest):
    alphabet = len(set("".join(documents)))
    slow = recount(documents, alphabet + merges, tie_break, longest)
    made = trained(documents, vocabulary_size=alphabet + merges, tie_break=tie_break, max_token_bytes=longest)
    assert_recounted(made.run, slow)
    assert list(made.tokens) == slow.tokens
    for document in documents:
        assert made.decode(made.encode(document)) == document


def test_a_text_without_characters_has_a_place_to_count_pairs_in(monkeypatch):
    laid, lay_cells = [], PairEngine._lay_cells

    def noted(engine: PairEngine) -> None:
        lay_cells(engine)
        laid.append((int(engine._state[k.WIDTH]), len(engine._tables.cells)))

    monkeypatch.setattr(PairEngine, "_lay_cells", noted)
    assert len(trained([""], vocabulary_size=1).merges) == 0
    assert laid == [(1, 1)], "without a cell, the loop would read beside its array"


def test_characters_and_a_base_vocabulary():
    cases = json.loads(FILE.read_text(encoding="utf-8"))["cases"]
    case = next(case for case in cases if case["name"] == "characters and a base vocabulary")
    made = train(
        Corpus.from_texts(case["sequences"]),
        TrainingConfig(
            base="characters",
            base_vocabulary=case["base_vocabulary"],
            unknown_token="<UNK>",
            vocabulary_size=case["target_vocabulary_size"],
        ),
    )
    spelled = [[made.tokens[token].decode() for token in pair] for pair in made.merges.tolist()]
    assert spelled == case["expect_merges_text"]
    ids = made.encode(case["encode"]["text"])
    assert [made.tokens[token].decode() for token in ids] == case["encode"]["tokens"]
    assert made.special_tokens == {"<PAD>": 95, "<UNK>": 96, "<BOS>": 97, "<EOS>": 98}
    assert made.merge_results.tolist() == list(range(99, 111))
    assert made.encode("the é")[-1] == 96
    assert made.encode("<BOS>the", "all")[0] == 97


def test_ids_are_in_order_of_first_appearance():
    made = trained(["cab", "dab"], vocabulary_size=5)
    assert [token.decode() for token in made.tokens] == ["c", "a", "b", "d", "ab"]
    assert made.run.base_counts.tolist() == [1, 2, 2, 1]


def test_an_unknown_character_takes_part_in_no_merge():
    made = trained(
        ["ab??ab"], vocabulary_size=5, base_vocabulary=["a", "b", "c"], special_tokens=["<unk>"],
        unknown_token="<unk>",
    )  # fmt: skip
    assert made.run.tokens_before == 6
    assert [token.decode() for token in made.tokens] == ["a", "b", "c", "ab", "<unk>"]
    assert (made.run.tokens_after.tolist(), made.run.merged.tolist()) == ([4], [2])
    assert made.encode("a??b ab") == [0, 4, 4, 1, 4, 3]
    assert made.run.bytes_per_token() == 6 / 4


@pytest.mark.parametrize("settings", [{"special_placement": "first"}, {"base_vocabulary": ["a", "<unk>", "b"]}])
def test_uses_of_an_unknown_token_are_counted(settings):
    settings = {"base_vocabulary": ["a", "b"], "special_tokens": ["<unk>"], **settings}
    if len(settings["base_vocabulary"]) == 3:
        settings["special_tokens"] = []
    made = trained(["ab?ab??"], vocabulary_size=4, unknown_token="<unk>", **settings)
    assert made.run.uses()[made.special_tokens["<unk>"]] == 3
    assert made.run.tokens_before == 7
    assert np.array_equal(made.run.uses(), np.bincount(made.encode_array("ab?ab??"), minlength=4))


def test_a_missing_character_is_named_with_its_position(tmp_path):
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text("abc\ncab\n", "utf-8")
    second.write_text("abc\r\nab" + "ß" * 400_000 + "\nßab é" + "b" * 100, "utf-8")
    config = TrainingConfig(vocabulary_size=20, base="characters", base_vocabulary=list("abcß\r\n "))
    for each in ("file", "line"):
        with pytest.raises(CorpusError, match=r"^second\.txt, line 3, character 5: The character \"é\""):
            train(Corpus.from_files([first, second], each), config)
    with pytest.raises(CorpusError, match=r"^Pasted text, document 2, character 3: The character \"x\""):
        train(Corpus.from_texts(["abc", "abx"]), config)


def test_without_an_unknown_token_a_missing_character_is_named():
    with pytest.raises(CorpusError, match=r'The character "é" \(U\+00E9\) is not in the base vocabulary.*"some cafés"'):
        trained(["a", "some cafés"], vocabulary_size=20, base_vocabulary=list("abcdefms o"))
    made = trained(["abab"], vocabulary_size=3)
    with pytest.raises(ConfigError, match=r'The character "c" \(U\+0063\) is not in the vocabulary'):
        made.encode("abc")
    with pytest.raises(ConfigError, match=r'The character "c"'):
        trained(["ab ab"], vocabulary_size=4, pattern="gpt2").encode("abc")


def test_a_size_below_the_characters_is_refused_with_their_number():
    with pytest.raises(ConfigError, match=r"must be greater than 4 \(3 characters and 1 special token\)"):
        trained(["abc"], vocabulary_size=4, special_tokens=["<s>"])


def test_invalid_utf8_becomes_u_fffd():
    trainer = Trainer(Corpus.from_texts([b"a\xffb", "ab\ufffd"]), TrainingConfig(base="characters", min_frequency=2))
    list(trainer)
    assert trainer.prepared.replaced == 1
    assert [token.decode() for token in trainer.tokenizer().tokens] == ["a", "\ufffd", "b"]
    assert trainer.tokenizer().encode(b"a\xff") == [0, 1]


def test_twenty_thousand_characters():
    alphabet = "".join(map(chr, range(0x4E00, 0x4E00 + 20_000)))
    text = alphabet + alphabet[:50] * 3
    made = trained([text], min_frequency=2)
    assert made.run.base_size == 20_000
    assert made.run.counts[0] == 4
    assert made.decode(made.encode(text)) == text
    assert np.array_equal(made.run.uses(), np.bincount(made.encode_array(text), minlength=len(made)))


def test_long_words_with_a_pattern():
    text = "é" * 5_000 + " " + "日本" * 3_000
    made = trained([text], vocabulary_size=40, pattern="gpt2")
    assert made.decode(made.encode(text)) == text
    assert made.encode(text) == made.encode(text[:5_000]) + made.encode(text[5_000:])


def test_words_of_characters_count_as_documents_do():
    made = trained(["one two one two one"], vocabulary_size=12, pattern="gpt2")
    numbers = count()
    base = {character: next(numbers) for character in dict.fromkeys("one two one two one")}
    assert made.run.base_counts.tolist() == [3 + 2, 3, 3, 4, 2, 2]
    assert made.alphabet.ids.tolist() == list(base.values())


def test_a_long_text_is_looked_up_in_pieces(monkeypatch):
    monkeypatch.setattr("tokstudio.core.tokenizer.encoder.PIECE", 10)
    text = "aé日😀" * 50
    made = trained([text], vocabulary_size=4 + 5, special_tokens=["<u>"], unknown_token="<u>")
    seen = list(made.encode_work(text + "x"))
    assert len(seen) >= 50
    assert [progress.done for progress in seen] == sorted(progress.done for progress in seen)
    assert made.encode(text + "x") == [*made.encode(text), made.special_tokens["<u>"]]
    assert made.decode(made.encode(text)) == text


@pytest.mark.parametrize("piece", [1, 3, 1 << 20])
@given(st.lists(st.tuples(st.text("aé本😀", max_size=4), st.booleans()), max_size=6), st.randoms())
def test_the_room_for_characters_is_counted_in_sequences_of_any_order_with_gaps(piece, words, random):
    """Words whose sources all have the weight 0 are left out, and others come first then."""
    ends = np.cumsum([len(word.encode()) for word, _ in words], dtype=np.int64)
    chosen = [number for number, (_, taken) in enumerate(words) if taken]
    random.shuffle(chosen)
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64) if words else ends
    data = np.frombuffer("".join(word for word, _ in words).encode(), np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(symbols, "_PIECE", piece)
        counted = symbols._characters(Sequences(data, starts[chosen], ends[chosen]))
    assert counted == sum(len(words[number][0]) for number in chosen)


def test_a_source_of_weight_0_gives_no_characters_and_a_missing_one_is_named_within_its_word():
    sources = Source.from_texts(["dd aa 日本 cd"], "first"), Source.from_texts(["日本 cd aa dd cd aa dd"], "second")
    settings = {"vocabulary_size": 16, "pattern": "whitespace", "base": "characters"}
    run = train(Corpus(sources).weighted((0, 1000)), TrainingConfig(**settings)).run
    alone = train(Corpus(sources[1:]), TrainingConfig(**settings)).run
    assert run.merges.tolist() == alone.merges.tolist()
    assert run.alphabet.units.tolist() == alone.alphabet.units.tolist()
    config = TrainingConfig(**settings, base_vocabulary=["a", "c", "d", " "])
    with pytest.raises(CorpusError, match='it occurs in "日本"'):
        train(Corpus(sources).weighted((0, 1000)), config)


@pytest.mark.parametrize("pattern", ["none", "whitespace"])
def test_a_missing_character_is_placed_in_a_text_that_counts(pattern):
    sources = Source.from_texts(["x 日 ab"], "first"), Source.from_texts(["ab", "ab 日"], "second")
    config = TrainingConfig(
        vocabulary_size=16, base="characters", base_vocabulary=["a", "b", "x", " "], pattern=pattern
    )
    for weights, place in (
        (None, "first, line 1, character 3"),
        ((0, 1000), "second, document 2, character 4"),
    ):
        corpus = Corpus(sources) if weights is None else Corpus(sources).weighted(weights)
        with pytest.raises(CorpusError, match=f"^{place}: "):
            train(corpus, config)


def test_text_of_weight_0_may_have_what_a_pattern_drops_and_counts_again_with_another_weight():
    sources = tuple(
        Source.from_texts([text], text[:4]) for text in ("drop! me", "ab ab\nab ab\n also x\n", "some more")
    )
    config = TrainingConfig(vocabulary_size=258, pattern=r"\w+|\s+")
    corpus = Corpus(sources)
    unused, used = corpus.weighted((0, 1000, 2000)), corpus.weighted((1000, 1000, 2000))
    run = train(unused, config).run
    alone = train(Corpus(sources[1:]).weighted((1000, 2000)), config).run
    assert (run.merges.tolist(), run.counts.tolist()) == (alone.merges.tolist(), alone.counts.tolist())
    assert run.tokens_before == alone.tokens_before
    with pytest.raises(ConfigError, match=r"The pattern drops"):
        train(used, config)
    counted = finish(count_text_work(unused, config))
    assert counted.sources == sources
    other = corpus.weighted((0, 3000, 0))
    again = Trainer(other, config, counted=counted)
    list(again)
    assert again.run.counts.tolist() == train(other, config).run.counts.tolist()
    with pytest.raises(ConfigError, match=r"The pattern drops"):
        list(Trainer(used, config, counted=counted))
    # Where the text that counts has it as well, its place is told.
    both = Corpus((*sources, Source.from_texts(["fine", "also! this"], "also"))).weighted((0, 1000, 1000, 1000))
    with pytest.raises(ConfigError, match=r'^also, document 2: The pattern drops "!"'):
        train(both, config)


def test_word_counts_of_weight_0_may_be_of_another_pattern():
    sources = (*Corpus.from_counts({"ab": 3, "cd": 2}).sources, *Corpus.from_text("ab ab ab").sources)
    sources = (replace(sources[0], counted_with=CountedWith("whitespace")), sources[1])
    config = TrainingConfig(vocabulary_size=258, pattern="gpt2")
    unused = Corpus(sources).weighted((0, 1000))
    assert train(unused, config).merges.tolist() == train(Corpus(sources[1:]), config).merges.tolist()
    counted = finish(count_text_work(unused, config))
    with pytest.raises(ConfigError, match="was counted with the pattern"):
        list(Trainer(Corpus(sources), config, counted=counted))


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_replacing_invalid_utf8_in_pieces_gives_the_same_result(size, monkeypatch):
    texts = [b"a\xffb", "\ufffd\ufffd日".encode() + b"\xe6\x97", b"\xa5", b"", "\ufffd".encode()]
    monkeypatch.setattr("tokstudio.core.algorithms.common.prepare_corpus._PIECE", size)
    trainer = Trainer(Corpus.from_texts(texts), TrainingConfig(base="characters", min_frequency=9))
    list(trainer)
    assert trainer.prepared.replaced == 3
    assert trainer.prepared.bytes == sum(len(text.decode("utf-8", "replace").encode()) for text in texts)


# --- Test whole characters --------------------------------------------------------------------------------------------

ASIAN = "日本語の日本は本日の日 中日 国中国 Ωμέγα — “ω” 👩‍👩‍👧‍👦👩 "


def allowed(made: bytes, characters: set[bytes]) -> bool:
    """Whether a merge makes whole characters, or lies inside one of the text."""
    try:
        made.decode()
    except UnicodeDecodeError:
        return any(made in character for character in characters)
    return True


any_documents = documents.map(lambda raw: [each.decode("utf-8", "replace") for each in raw])
asian = st.lists(st.text("日本語é—😀 a", max_size=30), max_size=4)


@given(any_documents | asian, st.sampled_from(TIE_BREAKS), st.booleans())
def test_it_is_the_definition(texts, tie_break, frequent):
    limits = {"min_frequency": 2} if frequent else {"vocabulary_size": 290}
    config = TrainingConfig(tie_break=tie_break, algorithm="whole-characters", **limits)
    run = train(Corpus.from_texts(texts), config).run
    raw = [text.encode() for text in texts]
    characters = {character.encode() for text in texts for character in text}
    recount = train_slowly(raw, tie_break=tie_break, refuses=lambda made: not allowed(made, characters), **limits)
    assert_recounted(run, recount)
    assert run.ended == recount.ended


def test_no_token_has_a_part_of_a_character_beside_anything_else():
    corpus = Corpus.from_text(ASIAN * 20)
    characters = {character.encode() for character in ASIAN}
    settings = {"vocabulary_size": 330, "pattern": "gpt2"}
    plain = train(corpus, TrainingConfig(**settings))
    whole = train(corpus, TrainingConfig(**settings, algorithm="whole-characters"))
    assert any(not allowed(token, characters) for token in plain.tokens if len(token) > 1)
    assert all(allowed(token, characters) for token in whole.tokens if len(token) > 1)
    assert whole.decode(whole.encode(ASIAN)) == ASIAN


def test_nothing_is_left_where_no_token_may_join_what_is_there():
    config = TrainingConfig(min_frequency=2, algorithm="whole-characters")
    assert train(Corpus.from_texts([b"\xa5\xe6"]), config).run.ended == NOTHING_LEFT
    assert train(Corpus.from_texts(["日"]), config).run.ended == "no pair occurs 2 times"


def test_rules_of_the_user_hold_too():
    config = TrainingConfig(vocabulary_size=300, algorithm="whole-characters", forbidden=["token:日本"])
    tokens = [*train(Corpus.from_text(ASIAN * 9), config).tokens]
    assert "日本".encode() not in tokens
    assert "日".encode() in tokens


def test_what_has_no_sense_is_refused():
    with pytest.raises(ConfigError, match="whole already: choose plain BPE"):
        TrainingConfig(vocabulary_size=300, base="characters", algorithm="whole-characters")
    start = train(Corpus.from_text(ASIAN), TrainingConfig(vocabulary_size=270))
    with pytest.raises(ConfigError, match="BPE of whole characters cannot start from a tokenizer"):
        extend(start, Corpus.from_text(ASIAN), TrainingConfig(vocabulary_size=300, algorithm="whole-characters"))
