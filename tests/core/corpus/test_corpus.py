"""The documents of a corpus, and its hash."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import hashlib
import re
import unicodedata
from collections import Counter
from itertools import pairwise
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.texts import few_examples
from tokstudio import ConfigError, Corpus, CorpusError, Trainer, TrainingConfig, train
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.sampling import hold_out_work, numbered_sample_work
from tokstudio.core.corpus.source import Source, document_ends
from tokstudio.core.corpus.statistics import main_script_work, preview, statistics_work
from tokstudio.core.text.utf8 import is_utf8, to_utf8
from tokstudio.core.training.forecast import forecast_work


def documents_of(corpus):
    return [bytes(document) for document in corpus.iter_documents()]


def hash_of(documents):
    digest = hashlib.sha256()
    for document in documents:
        digest.update(len(document).to_bytes(8, "little") + document)
    return digest.hexdigest()


def as_array(data):
    return np.frombuffer(data, dtype=np.uint8)


@given(st.lists(st.binary()))
def test_texts_come_back_as_documents(texts):
    corpus = Corpus.from_texts(texts)
    assert documents_of(corpus) == texts
    assert (corpus.bytes, corpus.documents) == (sum(map(len, texts)), len(texts))


@pytest.mark.parametrize(
    ("texts", "documents"),
    [
        (["é\r\n", b"\xff\0"], ["é\r\n".encode(), b"\xff\0"]),
        ([""], [b""]),
        ("one text", [b"one text"]),
        (b"one text", [b"one text"]),
        (["\ud83d\ude00!\ud83d!"], ["😀!\ufffd!".encode()]),
    ],
)
def test_a_str_is_kept_as_utf8_and_bytes_as_they_are(texts, documents):
    corpus = Corpus.from_texts(texts)
    assert (documents_of(corpus), corpus.bytes) == (documents, sum(map(len, documents)))
    assert corpus.documents == len(documents)


@pytest.mark.parametrize("at_once", [1 << 22, 2])
@given(st.lists(st.text() | st.text("aé😀\ud83d\ude00") | st.binary(max_size=3), max_size=400))
def test_many_texts_are_converted_as_each_is_by_itself(at_once, texts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokstudio.core.corpus.source.JOINED", at_once)
        source = Source.from_texts(iter(texts))
    alone = [to_utf8(text) for text in texts]
    assert (source.data.tobytes(), np.diff(source.ends, prepend=0).tolist()) == (b"".join(alone), [*map(len, alone)])
    assert source.encoding == ("utf-8" if all(map(is_utf8, alone)) else "bytes")


def test_files_without_text_beside_others_are_kept_only_where_that_is_asked(tmp_path):
    contents = {"text.txt": b"text", "empty.txt": b"", "mark.txt": b"\xef\xbb\xbf", "rows.csv": b"id,text\n"}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    paths = [tmp_path / name for name in contents]
    corpus = finish(Corpus.from_files_work(paths, keep_empty=True))
    assert [(source.name, source.bytes) for source in corpus.sources] == [*zip(contents, (4, 0, 0, 0), strict=True)]
    for path in paths[1:]:
        for keep_empty, chosen in ((False, [paths[0], path]), (True, [path])):
            with pytest.raises(CorpusError, match=r"no text|is empty"):
                finish(Corpus.from_files_work(chosen, keep_empty=keep_empty))


@given(st.text(st.characters(exclude_categories=())))
def test_surrogates_become_their_character_or_the_replacement_character(text):
    expected = "".join(
        "\ufffd" if "\ud800" <= character <= "\udfff" else character
        for character in text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    )
    assert to_utf8(text).decode() == expected


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\xc3\xa9"])).map(b"".join))
def test_line_documents_join_to_the_whole_and_keep_their_line_feeds(data):
    ends = finish(document_ends(as_array(data), "line")).tolist()
    lines = [data[start:end] for start, end in pairwise([0, *ends])]
    assert lines == [line for line in re.split(rb"(?<=\n)", data) if line]


def test_lines_are_found_across_the_pieces_of_a_long_text():
    data = b"0123456\n" * 100_000 + b"no line feed"
    ends = finish(document_ends(as_array(data), "line"))
    assert ends.tolist() == [*range(8, 800_001, 8), len(data)]


def test_a_source_is_split_again_without_reading_it():
    source = Source.from_texts(["a\nb\n"])
    lines = finish(source.split_work("line"))
    assert lines.ends.tolist() == [2, 4]
    assert finish(lines.split_work("file")).ends.tolist() == [4]
    assert lines.data is source.data


def test_a_corpus_is_read_only():
    corpus = Corpus.from_text(b"abc")
    with pytest.raises(ValueError, match="read-only"):
        corpus.sources[0].data[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        corpus.sources[0].ends[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        corpus.sources = ()


@given(st.lists(st.lists(st.binary()), max_size=4))
def test_the_hash_is_over_each_document_with_its_length(sources):
    corpus = Corpus(tuple(Source.from_texts(texts) for texts in sources))
    assert corpus.sha256 == hash_of([text for texts in sources for text in texts])


def test_the_hash_of_long_and_of_many_short_documents_is_the_same_definition():
    texts = [b"", b"x" * 700_000, *[b"ab\n"] * 50_000, b"", b"y" * (1 << 18), b"z", b""]
    assert Corpus.from_texts(texts).sha256 == hash_of(texts)


def test_files_and_folders_come_in_the_order_given(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "z.txt").write_bytes(b"z\nz")
    (folder / "b.txt").write_bytes(b"b")
    (folder / "a.txt").write_bytes(b"a\r\n")
    corpus = Corpus.from_files([tmp_path / "z.txt", str(folder)])
    assert documents_of(corpus) == [b"z\nz", b"a\r\n", b"b"]
    assert [source.name for source in corpus.sources] == ["z.txt", "a.txt", "b.txt"]
    assert Corpus.from_files(tmp_path / "z.txt", documents="line").documents == 2


def test_unknown_documents_and_encodings_are_refused(tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes(b"a")
    with pytest.raises(ConfigError, match='Documents must be "file" or "line", not "paragraph"'):
        Corpus.from_files([file], documents="paragraph")
    with pytest.raises(CorpusError, match="No files given"):
        Corpus.from_files([])
    with pytest.raises(CorpusError, match=r"^The name of a file is empty: give the path of a file or a folder\.$"):
        Corpus.from_files([file, ""])
    with pytest.raises(CorpusError, match=r"^bad\.txt: no such file"):
        Corpus.from_files([file, tmp_path / "bad.txt"])
    with pytest.raises(ConfigError, match="Unknown encoding 'klingon'"):
        Corpus.from_files([file], encoding="klingon")
    with pytest.raises(ConfigError, match="Unknown encoding 'base64'"):
        Corpus.from_files([file], encoding="base64")


def test_a_file_that_changed_since_it_was_read_is_noticed(tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes(b"a")
    source = Corpus.from_files([file]).sources[0]
    assert not source.changed_on_disk()
    file.write_bytes(b"ab")
    assert source.changed_on_disk()
    assert not source.gone_from_disk()
    file.unlink()
    assert source.changed_on_disk()
    assert source.gone_from_disk()
    pasted = Source.from_texts(["a"])
    assert not pasted.changed_on_disk()
    assert not pasted.gone_from_disk()


def test_a_known_hash_is_kept_with_other_weights(monkeypatch):
    corpus = Corpus.from_texts(["one", "two"])
    expected = corpus.sha256
    monkeypatch.setattr("hashlib.sha256", lambda *_: pytest.fail("hashed again"))
    assert corpus.weighted([2000]).sha256 == expected
    assert corpus.weighted([2000]).weights == (2000,)
    assert corpus.weighted([2000]).weighted([1000]).weights is None


# --- The statistics of a corpus, compared with a count by hand --------------------------------------------------------


def statistics_of(*texts):
    return finish(statistics_work(Corpus.from_texts(texts)))


@given(st.lists(st.one_of(st.text(), st.binary(), st.text(st.sampled_from("aé\n\r😀")))))
def test_counts_equal_those_of_counting_document_by_document(texts):
    documents = [text if isinstance(text, bytes) else text.encode() for text in texts]
    decoded = [document.decode("utf-8", "surrogateescape") for document in documents]
    characters = [character for text in decoded for character in text if not "\udc80" <= character <= "\udcff"]
    lines = [line for document in documents for line in document.removesuffix(b"\n").split(b"\n") if document]
    found = statistics_of(*texts)
    assert found.bytes == sum(map(len, documents))
    assert found.documents == len(documents)
    assert found.characters == len(characters)
    assert found.distinct_characters == len(set(characters))
    assert found.invalid_bytes == sum(map(len, decoded)) - len(characters)
    assert found.lines == len(lines)
    assert found.longest_line_bytes == max(map(len, lines), default=0)


def test_characters_and_lines_reach_across_pieces_but_not_across_documents():
    found = statistics_of(b"x" + "é".encode() * 200_000 + b"\n" + "日本\n".encode() * 100_000)
    assert (found.characters, found.invalid_bytes) == (500_002, 0)
    assert (found.lines, found.longest_line_bytes) == (100_001, 400_001)
    halves = statistics_of(b"\xc3", b"\xa9", b"\xa9")
    assert (halves.characters, halves.invalid_bytes) == (0, 3)
    corpus = Corpus((Source.from_texts(["one\ntwo"]), Source.from_texts(["", "three\n", "four"])))
    found = finish(statistics_work(corpus))
    assert (found.lines, found.documents) == (4, 4)


@pytest.mark.parametrize(
    ("texts", "scripts"),
    [
        (["abc d — 123, да! 日"], (("Latin", 4 / 7), ("Cyrillic", 2 / 7), ("Han", 1 / 7))),
        (["नमस्ते"], (("Devanagari", 1.0),)),
        (["a\U00010330b\U00012000"], (("Latin", 0.5), ("Gothic", 0.25), ("Other", 0.25))),
        (["1 + 2 = 3 😀\n", b"\xff"], ()),
        ([""], ()),
        ({"ab": 3, "я": 2}, (("Latin", 0.75), ("Cyrillic", 0.25))),
    ],
)
def test_scripts_come_by_their_share_of_the_letters(texts, scripts):
    corpus = Corpus.from_counts(texts) if isinstance(texts, dict) else Corpus.from_texts(texts)
    assert finish(statistics_work(corpus)).scripts == scripts


@few_examples
@given(st.text())
def test_shares_sum_to_one_where_there_are_letters(text):
    shares = [share for _, share in statistics_of(text).scripts]
    assert sum(shares) == pytest.approx(1.0 if shares else 0)
    assert shares == sorted(shares, reverse=True)
    if any(unicodedata.name(character, "").startswith("LATIN SMALL LETTER") for character in text):
        assert shares


def test_a_preview_gives_the_first_lines():
    source = Source.from_texts(["one\ntwo\nthree\n"])
    assert preview(source, 2) == "one\ntwo"
    assert preview(source) == "one\ntwo\nthree\n"
    assert preview(Source.from_texts([b"a\xffb"])) == "a\ufffdb"
    assert preview(Source.from_texts([""])) == ""
    # That of a long line is bounded, and ends between characters.
    assert preview(Source.from_texts(["x" + "é" * 1_000_000])) == "x" + "é" * 32_767


@few_examples
@given(st.dictionaries(st.text(min_size=1), st.integers(1, 10**6), min_size=1))
def test_of_given_counts_every_word_counts_as_often_as_it_occurs(counts):
    found = finish(statistics_work(Corpus.from_counts(counts)))
    characters = Counter()
    for text, count in counts.items():
        for character in text:
            characters[character] += count
    assert found.bytes == sum(len(text.encode()) * count for text, count in counts.items())
    assert found.words == len(counts)
    assert (found.documents, found.lines, found.longest_line_bytes) == (0, 0, 0)
    assert found.characters == characters.total()
    assert found.distinct_characters == len(characters)
    assert found.invalid_bytes == 0


def test_text_and_given_counts_are_counted_together():
    corpus = Corpus((*Corpus.from_text("aa\nb").sources, *Corpus.from_counts({"a": 5}).sources))
    found = finish(statistics_work(corpus))
    assert (found.characters, found.lines, found.documents, found.words, found.bytes) == (9, 2, 1, 1, 9)


def test_the_main_script_has_most_letters_in_all_sources_together():
    latin, cyrillic = Source.from_texts(["abc" * 10]), Source.from_texts(["жук" * 11])
    assert finish(main_script_work([latin])) == "Latin"
    assert finish(main_script_work([latin, cyrillic])) == "Cyrillic"
    assert finish(main_script_work([latin, latin, cyrillic])) == "Latin"
    # That of a long text is not that of its beginning.
    assert finish(main_script_work([Source.from_texts(["a" * 300_000 + "ж" * 2_000_000])])) == "Cyrillic"
    assert finish(main_script_work([Source.from_texts(["1 + 2"])])) == ""


# --- Holding a share of the corpus out of training --------------------------------------------------------------------


def held(texts, share):
    parts = finish(hold_out_work([Source.from_texts(texts)], share))
    return [documents_of(Corpus(part)) for part in parts]


@few_examples
@given(st.lists(st.text("ab\n", min_size=1, max_size=9), min_size=25, max_size=60), st.floats(0, 0.99))
def test_small_documents_are_the_blocks(texts, share):
    blocks = [text.encode() for text in texts]
    chosen = [floor((i + 1) * share) > floor(i * share) for i in range(len(blocks))]
    if share and not any(chosen):
        with pytest.raises(CorpusError, match=f"is less than one of the {len(texts)} pieces of this text"):
            held(texts, share)
        return
    trained_on, held_out = held(texts, share)
    assert held_out == [block for block, out in zip(blocks, chosen, strict=True) if out]
    assert trained_on == [block for block, out in zip(blocks, chosen, strict=True) if not out]


@given(st.lists(st.integers(0, 40), min_size=20, max_size=80), st.sampled_from([0.1, 0.25, 0.5]))
def test_a_document_is_cut_at_lines_and_nothing_is_lost(lengths, share):
    lines = [bytes([97 + i % 26]) * length + b"\n" for i, length in enumerate(lengths)]
    trained_on, held_out = held([b"".join(lines)], share)
    assert all(block.endswith(b"\n") for block in trained_on + held_out)
    assert sorted(b"".join(trained_on + held_out).split(b"\n")) == sorted(b"".join(lines).split(b"\n"))
    blocks = len(trained_on) + len(held_out)
    assert blocks >= 20
    assert len(held_out) == floor(blocks * share)


def test_blocks_are_of_64_kib_at_most():
    trained_on, held_out = held([b"some words of a line\n" * 200_000], 0.1)
    assert max(map(len, trained_on + held_out)) <= 1 << 16
    assert min(map(len, (trained_on + held_out)[:-1])) > 0


def test_fewer_than_twenty_lines_and_counts_are_refused():
    config = TrainingConfig(vocabulary_size=300, held_out=0.1)
    with pytest.raises(CorpusError, match="The corpus has 2 lines, and holding out a share needs at least 20"):
        train(Corpus.from_text("one\ntwo"), config)
    with pytest.raises(ConfigError, match="Word counts have no lines"):
        train(Corpus.from_counts({"a": 2}), config)


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_training_sees_nothing_of_what_is_held_out(pattern):
    lines = [f"line {n} of {n * 7 % 5}\n" for n in range(40)]
    corpus = Corpus.from_text("".join(lines))
    trainer = Trainer(corpus, TrainingConfig(vocabulary_size=300, held_out=0.25, pattern=pattern))
    list(trainer)
    trained_on, held_out = finish(hold_out_work(corpus.sources, 0.25))
    by_hand = train(Corpus(trained_on), TrainingConfig(vocabulary_size=300, pattern=pattern)).run
    assert trainer.run.merges.tolist() == by_hand.merges.tolist()
    assert trainer.run.tokens_after.tolist() == by_hand.tokens_after.tolist()
    assert trainer.run.corpus.bytes == by_hand.corpus.bytes
    assert trainer.run.corpus.sha256 == corpus.sha256
    assert documents_of(Corpus(trainer.prepared.held_out)) == documents_of(Corpus(held_out))


def test_weights_in_order_are_of_entries_and_one_for_each():
    texts = [Source.from_texts(["text"], name) for name in ("a", "b", "c", "d")]
    corpus = Corpus((texts[0], *(dataclasses.replace(each, group="/x/both") for each in texts[1:3]), texts[3]))
    assert corpus.with_weights_in_order([2, 0.5, 1]).weights == (2000, 500, 500, 1000)
    assert corpus.with_weights_in_order([1, 1, 1]).weights is None
    for weights, says in (
        ([1, 2], r"2 weights for 3 texts \(a, both, d\): give one for each, in order"),
        ([1, 2, 3, 4], "4 weights for 3 texts"),
        ([1, -1, 1], "The weight of both must be a number from 0 to 1,000, not -1"),
        ([1, 1, float("nan")], "The weight of d must be a number"),
    ):
        with pytest.raises(ConfigError, match=says):
            corpus.with_weights_in_order(weights)


def test_a_sample_says_which_of_the_sources_it_has():
    texts = [Source.from_texts([text], f"{number}") for number, text in enumerate(("a\n" * 40_000, "", "b\n" * 40_000))]
    sample, numbers = finish(numbered_sample_work(Corpus(tuple(texts), (1000, 2000, 3000)), 80_000))
    assert numbers == [0, 2]
    assert [source.name for source in sample.sources] == ["0", "2"]
    assert sample.weights == (1000, 3000)


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
@pytest.mark.parametrize("unused", [Source.from_texts(["x y\n" * 33]), *Corpus.from_counts({"x": 2, "y": 1}).sources])
def test_a_source_of_weight_0_is_left_out(pattern, unused):
    texts = [Source.from_texts(["".join(f"{word} {n * 7 % 5}\n" for n in range(30))]) for word in ("line", "row")]
    config = TrainingConfig(vocabulary_size=300, held_out=0.25, pattern=pattern)
    found = []
    for corpus in (Corpus((texts[0], unused, texts[1]), (1000, 0, 1000)), Corpus(tuple(texts))):
        trainer = Trainer(corpus, config)
        list(trainer)
        held_out = documents_of(Corpus(trainer.prepared.held_out))
        found.append((trainer.run.merges.tolist(), trainer.run.tokens_after.tolist(), held_out))
        assert finish(forecast_work(corpus, config)).problem == ""
    assert found[0] == found[1]


def test_a_long_line_before_many_short_ones_is_cut_in_bounded_pieces():
    source = Source.from_texts([b"x" * 2_000_000 + b"\n" * 50_000])
    steps = []
    work = hold_out_work([source], 0.1)
    try:
        while True:
            steps.append(next(work))
    except StopIteration as end:
        trained_on, held_out = end.value
    splitting = [step.done for step in steps if step.phase == "splitting" and 2_000_000 < step.done < 2_050_000]
    assert max(b - a for a, b in pairwise([2_000_000, *splitting])) < 10_000
    assert trained_on[0].documents + held_out[0].documents == 50_000


@pytest.mark.parametrize("name", ["most_bytes", "most_characters", "least_characters"])
def test_limits_of_what_is_read_are_whole_numbers(tmp_path, name):
    (tmp_path / "a.txt").write_text("text")
    with pytest.raises(ConfigError, match=r"must be a whole number, not 1\.5\.$"):
        Corpus.from_files(tmp_path / "a.txt", **{name: 1.5})
