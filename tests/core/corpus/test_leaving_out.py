"""A corpus without some documents and lines: what stays, what is said of what went, and that all else follows it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.texts import few_examples
from tokstudio import ConfigError, Corpus, CorpusError, Trainer, TrainingConfig, count, extend, train
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus import leaving_out as module
from tokstudio.core.corpus import marks, rules
from tokstudio.core.corpus.leaving_out import LeavingOut, leaving_out, named_work
from tokstudio.core.corpus.left_out_list import named_list_work, read_list_work, write_list_work
from tokstudio.core.corpus.readers.files import FileText
from tokstudio.core.corpus.sampling import hold_out_work, sample_work
from tokstudio.core.corpus.source import Source, document_numbers, first_occurrence_work

_LONG = b"a line of boilerplate that is repeated"
_CONFIG = TrainingConfig(vocabulary_size=300, pattern="gpt2")


def _documents(corpus: Corpus) -> list[list[bytes]]:
    numbers = iter(corpus.iter_documents())
    return [[bytes(next(numbers)) for _ in range(source.documents)] for source in corpus.sources]


def _rows(corpus: Corpus) -> list[tuple[int, int, int, str, int]]:
    columns = [corpus.left_out[name].tolist() for name in ("source", "document", "line", "rule", "bytes")]
    return list(zip(*columns, strict=True))


# --- A slow model: documents with their numbers, lines with theirs ----------------------------------------------------

Line = tuple[int, bytes]
Documents = list[list[tuple[int, list[Line]]]]


def _model(sources: list[list[bytes]]) -> Documents:
    return [
        [(number, list(enumerate(re.findall(rb"[^\n]*\n|[^\n]+", text)))) for number, text in enumerate(texts)]
        for texts in sources
    ]


def _text(lines: list[Line]) -> bytes:
    return b"".join(line for _, line in lines)


class _Slow:
    """Leaves out one thing after another; with `only`, nothing of other sources."""

    def __init__(self, sources: Documents, only: set[int] | None = None) -> None:
        self.sources, self.rows = sources, list[tuple[int, int, int, str, int]]()
        self._only = set(range(len(sources))) if only is None else only

    def documents(self, rule: str, goes) -> None:
        for index, documents in enumerate(self.sources):
            for number, lines in list(documents):
                if goes(index, number, _text(lines)) and index in self._only:
                    documents.remove((number, lines))
                    self.rows.append((index, number, -1, rule, len(_text(lines))))

    def lines(self, rule: str, goes) -> None:
        for index, documents in enumerate(self.sources):
            for number, lines in list(documents):
                gone = [(at, line) for at, line in lines if goes(index, number, at, line) and index in self._only]
                self.rows += [(index, number, at, rule, len(line)) for at, line in gone]
                rest = [line for line in lines if line not in gone]
                documents[documents.index((number, lines))] = (number, rest)

    def step(self, chosen: set[str], documents: set[tuple[int, int]], lines: set[tuple[int, int, int]]) -> None:
        before = len(self.rows)
        had_text = {(index, number) for index, each in enumerate(self.sources) for number, some in each if some}
        self.documents("named", lambda index, number, _: (index, number) in documents)
        if "duplicates" in chosen:
            seen = {b""}
            self.documents(
                "duplicates", lambda _i, _n, text: not (text not in seen and not seen.add(text)) and text != b""
            )
        self.lines("named", lambda index, number, at, _: (index, number, at) in lines)
        if "control" in chosen:
            self.lines("control", lambda _i, _n, _a, line: b"\x01" in line)
        if "repeated-lines" in chosen:
            known = set[bytes]()

            def is_repeated(_i: int, _n: int, _a: int, line: bytes) -> bool:
                stripped = line.strip()
                if len(stripped) < 20 or stripped not in known:
                    known.add(stripped)
                    return False
                return True

            self.lines("repeated-lines", is_repeated)
        self.sources = [
            [(number, some) for number, some in each if some or (index, number) not in had_text]
            for index, each in enumerate(self.sources)
        ]
        self.rows[before:] = sorted(self.rows[before:])


_line = st.sampled_from(
    [_LONG + b"\n", b" " + _LONG + b"\r\n", b"short\n", b"\x01 and a word\n", b"\n", b"another \xff\n"]
)
_text_of_lines = st.builds(
    lambda lines, end: b"".join(lines) + end, st.lists(_line, max_size=4), st.sampled_from([b"", b"", b"end", _LONG])
)


@st.composite
def _asked(draw: st.DrawFn, model: Documents) -> tuple[set[str], set[tuple[int, int]], set[tuple[int, int, int]]]:
    chosen = draw(st.sets(st.sampled_from(["duplicates", "control", "repeated-lines"])))
    there = [(index, number) for index, each in enumerate(model) for number, _ in each]
    lines = [(index, number, at) for index, each in enumerate(model) for number, some in each for at, _ in some]
    documents = draw(st.sets(st.sampled_from(there), max_size=2)) if there else set()
    return chosen, documents, draw(st.sets(st.sampled_from(lines), max_size=3)) if lines else set()


@pytest.mark.parametrize("piece", [1 << 20, 16])
@few_examples
@given(st.data(), st.lists(st.lists(_text_of_lines, max_size=5), min_size=1, max_size=3))
def test_what_stays_and_what_goes_is_that_of_a_slow_model(
    piece: int, data: st.DataObject, texts: list[list[bytes]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "PIECE", piece)
        patch.setattr(marks, "PIECE", piece)
        patch.setattr(module, "_PIECE", piece)
        slow = _Slow(_model(texts))
        corpus = Corpus(tuple(Source.from_texts(each, f"{index}.txt") for index, each in enumerate(texts)))
        for _ in range(2):
            chosen, documents, lines = data.draw(_asked(slow.sources))
            slow.step(chosen, documents, lines)
            if corpus.bytes and not any(some for each in slow.sources for _, some in each):
                with pytest.raises(CorpusError, match="Nothing of the text would be left: "):
                    corpus.without(chosen, documents, lines)
                return
            corpus = corpus.without(chosen, documents, lines)
            assert _documents(corpus) == [[_text(some) for _, some in each] for each in slow.sources]
            assert _rows(corpus) == slow.rows
            of_each = [[row for row in slow.rows if row[0] == index] for index in range(len(texts))]
            amounts = [(sum(row[2] < 0 for row in own), sum(row[2] >= 0 for row in own)) for own in of_each]
            sizes = [sum(row[4] for row in own) for own in of_each]
            assert corpus.left is not None
            assert corpus.left.by_source.tolist() == [[*row, size] for row, size in zip(amounts, sizes, strict=True)]
            numbers = [document_numbers(source).tolist() for source in corpus.sources]
            assert numbers == [[number for number, _ in each] for each in slow.sources]
            starts = [np.concatenate([[0], source.ends[:-1]]) for source in corpus.sources]
            for source, own in zip(corpus.sources, starts, strict=True):
                assert source.rows is None or np.array_equal(source.rows[:, 1], own[source.rows[:, 0]])


@given(
    st.lists(st.lists(_text_of_lines, max_size=5), min_size=1, max_size=3),
    st.sets(st.sampled_from(["duplicates", "repeated-lines", "control"])),
    st.sets(st.integers(0, 2)),
)
def test_what_rules_find_in_some_sources_is_named_as_a_slow_model_finds_it(
    texts: list[list[bytes]], chosen: set[str], only: set[int]
) -> None:
    corpus = Corpus(tuple(Source.from_texts(each, f"{index}.txt") for index, each in enumerate(texts)))
    slow = _Slow(_model(texts), only)
    slow.step(chosen, set(), set())
    named = finish(named_work(corpus, chosen, only))
    assert not named.rules
    rows = [row[:3] for row in slow.rows]
    assert sorted([(index, number, -1) for index, _, number in named.documents] + [
        (index, number, line) for index, _, number, line in named.lines]) == sorted(rows)  # fmt: skip
    if not corpus.bytes or any(some for each in slow.sources for _, some in each):
        left = finish(corpus.without_work(named))
        assert _documents(left) == [[_text(some) for _, some in each] for each in slow.sources]


# --- Numbers of files -------------------------------------------------------------------------------------------------


@pytest.fixture
def forum(tmp_path: Path) -> Path:
    texts = ["a", "the first post", "the second post", "the first post", "b", "a third post", "the last post of all"]
    rows = [json.dumps({"text": text, "lang": "en" if len(text) % 2 else "de"}) for text in texts]
    (tmp_path / "forum.jsonl").write_text("\n".join(rows) + "\n")
    return tmp_path / "forum.jsonl"


def test_rows_keep_their_numbers_past_filters_and_leaving_out(forum: Path) -> None:
    corpus = Corpus.from_files(forum, least_characters=2).without(duplicates=True)
    assert _rows(corpus) == [(0, 3, -1, "duplicates", 14)]
    assert document_numbers(corpus.sources[0]).tolist() == [1, 2, 5, 6]
    again = corpus.without(documents=[("forum.jsonl", 5)], lines=[(0, 6, 0)])
    assert _rows(again)[1:] == [(0, 5, -1, "named", 12), (0, 6, 0, "named", 20)]
    assert _documents(again) == [[b"the first post", b"the second post"]]
    assert [step.rules for step in again.leaving_out] == [(("duplicates", None),), ()]
    with pytest.raises(ConfigError, match=r"forum\.jsonl has no row 4, counted from 1"):
        again.without(documents=[("forum.jsonl", 3)])


def test_a_file_that_a_column_divides_is_named_as_a_whole(forum: Path) -> None:
    corpus = Corpus.from_files(forum, split_by="lang")
    assert [source.name for source in corpus.sources] == ["forum.jsonl: en", "forum.jsonl: de"]
    by_file = corpus.without(documents=[("forum.jsonl", 2), ("forum.jsonl", 1)])
    assert _rows(by_file) == [(0, 2, -1, "named", 15), (1, 1, -1, "named", 14)]
    assert _rows(corpus.without(documents=[("forum.jsonl: de", 1), (0, 2)])) == _rows(by_file)
    with pytest.raises(ConfigError, match="has no row 100,"):
        corpus.without(documents=[("forum.jsonl", 99)])


def test_the_rows_of_several_files_are_those_of_each(tmp_path: Path) -> None:
    for shard in range(2):
        rows = [json.dumps({"text": f"text {shard} {row}"}) for row in range(3)]
        (tmp_path / f"part-{shard}.jsonl").write_text("\n".join(rows))
    corpus = Corpus.from_files(tmp_path)
    if len(corpus.sources) > 1:  # each file is a source of its own
        corpus = Corpus((replace(corpus.sources[0], shards=("part-0.jsonl", "part-1.jsonl")),))
        both = Source.from_texts([f"text {shard} {row}" for shard in range(2) for row in range(3)], "parts")
        runs = np.array([[0, 0, 1, 0], [3, 24, 1, 1]])
        corpus = Corpus((replace(both, is_rows=True, rows=runs, shards=("part-0.jsonl", "part-1.jsonl")),))
    name = corpus.sources[0].name
    reduced = corpus.without(documents=[("part-1.jsonl", 0), ("part-0.jsonl", 2)])
    assert [text.decode() for text in _documents(reduced)[0]] == ["text 0 0", "text 0 1", "text 1 1", "text 1 2"]
    assert reduced.left_out["shard"].tolist() == [0, 1]
    assert document_numbers(reduced.sources[0]).tolist() == [0, 1, 1, 2]
    with pytest.raises(
        ConfigError, match="2 documents with the number 0, counted from 0, in several files: name one of these"
    ):
        corpus.without(documents=[(name, 0)])


def test_lines_of_a_file_keep_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\nthree\nfour\nfive \u20ac\n")
    whole = Corpus.from_files(path)
    reduced = whole.without(lines=[("a.txt", 0, 1), (0, 0, 0)]).without(lines=[("a.txt", 0, 3)])
    assert _documents(reduced) == [["three\nfive \u20ac\n".encode()]]
    assert reduced.left_out["line"].tolist() == [0, 1, 3]
    assert finish(first_occurrence_work(reduced.sources, "\u20ac")) == "a.txt, line 5, character 6"
    with pytest.raises(ConfigError, match=r"a\.txt has no line 2 in its document 1, counted from 1"):
        reduced.without(lines=[("a.txt", 0, 1)])
    lines = Corpus.from_files(path, documents="line").without(documents=[("a.txt", 1), ("a.txt", 3)])
    assert finish(first_occurrence_work(lines.sources, "\u20ac")) == "a.txt, line 5, character 6"
    assert document_numbers(lines.sources[0]).tolist() == [0, 2, 4]


def test_places_in_texts_are_not_told_where_lines_before_are_gone() -> None:
    corpus = Corpus.from_texts(["one", "two\nwith \u20ac", "three\nfour \u2190"]).without(
        lines=[(0, 1, 0)], documents=[(0, 0)]
    )
    assert finish(first_occurrence_work(corpus.sources, "\u20ac")) == "Pasted text, document 2"
    assert finish(first_occurrence_work(corpus.sources, "\u2190")) == "Pasted text, document 3, character 12"


# --- All else follows -------------------------------------------------------------------------------------------------


@pytest.fixture
def texts() -> list[str]:
    same = [
        f"the {word} of the day, and a longer line of text" for word in ("weather", "news", "book", "weather", "news")
    ]
    return [*same, *(f"{number} more documents of a few words" for number in range(60)), "\x01 noise", *same[:2]]


def test_training_counting_and_extending_follow_it(texts: list[str]) -> None:
    corpus = Corpus.from_texts(texts).without(("duplicates", "control"))
    kept = [text for text in dict.fromkeys(texts) if "\x01" not in text]
    plain = Corpus.from_texts(kept)
    assert corpus.sha256 == plain.sha256
    for config in (_CONFIG, replace(_CONFIG, held_out=0.1), replace(_CONFIG, pattern="none")):
        assert train(corpus, config).run.merges.tolist() == train(plain, config).run.merges.tolist()  # type: ignore[union-attr]
    tables = [count(each, "gpt2") for each in (corpus, plain)]
    for name in ("ends", "words", "counts", "firsts"):
        assert np.array_equal(getattr(tables[0], name), getattr(tables[1], name))
    assert tables[0].totals == tables[1].totals
    start = train(plain, TrainingConfig(vocabulary_size=270, pattern="gpt2"))
    grown = [extend(start, each, _CONFIG).merges.tolist() for each in (corpus, plain)]
    assert grown[0] == grown[1]
    parts = [finish(hold_out_work(each.sources, 0.2)) for each in (corpus, plain)]
    assert [source.data.tobytes() for part in parts[0] for source in part] == [
        source.data.tobytes() for part in parts[1] for source in part
    ]


def test_the_run_keeps_what_was_left_out_and_resumes_on_the_same_text(texts: list[str]) -> None:
    corpus = Corpus.from_texts(texts)
    reduced = corpus.without(("duplicates",), documents=[(0, 65)])
    trainer = Trainer(reduced, TrainingConfig(vocabulary_size=280, pattern="gpt2"))
    for _ in trainer:
        pass
    facts = trainer.run.corpus
    assert facts.leaving_out == (LeavingOut((("duplicates", None),), ((0, 0, 65),)),)
    assert [row[:3] for row in facts.left_out] == [("named", 1, 0), ("duplicates", 4, 0)]
    assert facts.texts == corpus.counted_hashes, "those of the whole texts, by which they are known again"
    assert facts.texts == (hashlib.sha256("".join(texts).encode()).hexdigest(),)
    resumed = Trainer.resume(finish(corpus.without_work(facts.leaving_out[0])), trainer.run, _CONFIG)
    assert sum(len(batch) for batch in resumed) + len(trainer.run) == 44
    with pytest.raises(CorpusError, match="has changed since this run was trained"):
        Trainer.resume(corpus, trainer.run, _CONFIG)


def test_weights_stay_and_do_not_matter_for_rules() -> None:
    parts = [Source.from_texts(["a text", "another"], "a"), Source.from_texts(["a text", "b", "b"], "b")]
    corpus = Corpus(tuple(parts)).with_weights({"a": 0, "b": 2.5})
    reduced = corpus.without(duplicates=True)
    assert reduced.weights == (0, 2500)
    assert _rows(reduced) == [(1, 0, -1, "duplicates", 6), (1, 2, -1, "duplicates", 1)]
    assert _rows(reduced.with_weights({"a": 3})) == _rows(reduced)


def test_parts_of_a_divided_text_stay_in_its_order(forum: Path) -> None:
    divided = Corpus.from_files(forum, split_by="lang").without(duplicates=True, documents=[("forum.jsonl", 2)])
    whole = Corpus.from_files(forum).without(duplicates=True, documents=[("forum.jsonl", 2)])
    config = replace(_CONFIG, pattern="none")
    assert train(divided, config).run.merges.tolist() == train(whole, config).run.merges.tolist()  # type: ignore[union-attr]


def test_a_text_on_the_disk_is_reduced_on_the_disk(
    texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\n".join(texts * 3))
    whole = Corpus.from_files(path, documents="line")
    expected = whole.without(tuple(rules.RULES))
    monkeypatch.setattr("tokstudio.core.corpus.readers.files.free_memory", lambda: 1)
    on_disk = Corpus((replace(whole.sources[0], data=FileText(path)),)).without(tuple(rules.RULES))  # type: ignore[arg-type]
    assert isinstance(on_disk.sources[0].data, FileText)
    assert on_disk.sha256 == expected.sha256
    assert _rows(on_disk) == _rows(expected)
    changed = Corpus((replace(whole.sources[0], data=FileText(path)),))  # type: ignore[arg-type]
    path.write_text("something else")
    with pytest.raises(CorpusError, match=r"a\.txt: the file has changed since it was opened"):
        changed.without(duplicates=True)


def test_a_sample_says_what_was_left_out_of_its_sources(texts: list[str]) -> None:
    lines = "".join(f"line number {number} of a long text\n" for number in range(3000))
    corpus = Corpus((Source.from_texts([]), Source.from_texts(texts, "texts"), Source.from_texts([lines], "lines")))
    reduced = corpus.without(("duplicates",), lines=[("lines", 0, 5), ("lines", 0, 2999)])
    sample = finish(sample_work(reduced, 20_000))
    assert [source.name for source in sample.sources] == ["texts", "lines"]
    assert _rows(sample) == [(source - 1, *row) for source, *row in _rows(reduced)]
    assert sample.leaving_out[0].lines == ((1, 0, 0, 5), (1, 0, 0, 2999))


# --- What is asked for ------------------------------------------------------------------------------------------------


def test_keywords_are_rules() -> None:
    corpus = Corpus.from_text("a text of a few words")
    asked = leaving_out(corpus, ("blobs",), duplicates=True, near_duplicates=0.9, repeated_lines=True, control=False)
    assert asked.rules == (("duplicates", None), ("near-duplicates", 0.9), ("blobs", 64), ("repeated-lines", 20))
    assert LeavingOut.from_json(json.loads(json.dumps(asked.to_json()))) == asked
    assert corpus.without().left_out["rule"].tolist() == []
    assert not LeavingOut()


def test_what_is_kept_as_json_comes_back() -> None:
    corpus = Corpus.from_texts(["one\ntwo", "three", "four"])
    asked = leaving_out(corpus, documents=[(0, 2), ("Pasted text", 1)], lines=[(0, 0, 1)])
    assert asked == LeavingOut((), ((0, 0, 1), (0, 0, 2)), ((0, 0, 0, 1),))
    assert asked.to_json() == {"documents": [0, 0, 1, 0, 0, 2], "lines": [0, 0, 0, 1]}
    assert LeavingOut.from_json(asked.to_json()) == asked


@pytest.mark.parametrize(
    "values",
    [{"rule": {}}, {"rules": ["blobs"]}, {"rules": {"blob": 1}}, {"rules": {"blobs": 1}}, {"rules": {"blobs": False}},
     {"documents": [1, 2]}, {"documents": [0, 0, -1]}, {"documents": [0, 0, 1.5]}, {"lines": "0"},
     {"lines": [True] * 4}],
)  # fmt: skip
def test_json_that_says_nothing_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        LeavingOut.from_json(values)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"rules": "duplicates"}, "Rules must be a list or another sequence, not 'duplicates'"),
        ({"rules": ["dupes"]}, 'There is no rule "dupes" to leave text out by: use duplicates, near-duplicates, '),
        ({"repeated_line": True}, 'There is no rule "repeated-line"'),
        ({"near_duplicates": 80}, "threshold of near-duplicates must be from 0.7 to 1, not 80"),
        ({"documents": [("b.txt", 0)]}, r'There is no source "b\.txt"\. The corpus has: "a", "same", "same"'),
        ({"documents": [("same", 0)]}, '"same" is the name of 2 sources: give the index'),
        ({"documents": [(4, 0)]}, "There is no source 4: the corpus has 4, counted from 0"),
        ({"documents": [("a", 2)]}, "a has no document 3, counted from 1"),
        ({"documents": [("a", -1)]}, "must be a whole number from 0, not -1"),
        ({"documents": [("a", 1.0)]}, "must be a whole number from 0, not 1.0"),
        ({"lines": [("a", 0, 2)]}, "a has no line 3 in its document 1, counted from 1"),
        ({"lines": [("a", 9, 0)]}, "a has no line 1 in its document 10, counted from 1"),
        (
            {"documents": [(0, 0), (0, 1), (1, 0), (2, 0)]},
            "Nothing of the text would be left: named would leave out all",
        ),
    ],
)
def test_what_cannot_be_left_out_is_refused(arguments: dict[str, object], error: str) -> None:
    sources = (["x\ny", "z"], "a"), (["1"], "same"), (["2"], "same"), ([], "none")
    corpus = Corpus(tuple(Source.from_texts(texts, name) for texts, name in sources))
    with pytest.raises((ConfigError, CorpusError), match=error):
        corpus.without(**arguments)  # type: ignore[arg-type]


def test_word_counts_are_never_left_out_silently() -> None:
    counts = Corpus.from_counts({"the": 3}).sources
    corpus = Corpus((*Corpus.from_texts(["a", "b", "b"]).sources, *counts))
    with pytest.raises(CorpusError, match="has word counts, not documents and lines"):
        corpus.without(duplicates=True)
    with pytest.raises(CorpusError, match="has word counts, not documents and lines"):
        corpus.without(documents=[(1, 0)])
    assert corpus.without(documents=[(0, 2)]).documents == 3


def test_it_has_progress_and_can_be_cancelled(texts: list[str]) -> None:
    corpus = Corpus.from_texts(texts)
    work = corpus.without_work(leaving_out(corpus, tuple(rules.RULES)))
    steps = [next(work) for _ in range(3)]
    assert all(step.phase.startswith("looking for ") for step in steps)
    work.close()
    assert {step.phase for step in corpus.without_work(leaving_out(corpus, ("duplicates",)))} == {
        "looking for duplicates",
        "leaving out",
    }


def test_odd_corpora_are_reduced() -> None:
    everything = tuple(rules.RULES)
    assert Corpus(()).without(everything).documents == 0
    empty = Corpus((replace(Source.from_texts([]), ends=np.zeros(70_000, np.int64)),)).without(everything)
    assert empty.documents == 70_000
    assert empty.without(documents=[(0, 69_999), (0, 5)]).documents == 69_998
    one = Corpus.from_text("x" * 1_200_000 + "\nand some words\r\n").without(everything)
    assert _rows(one) == [(0, 0, 0, "repetition", 1_200_001)]
    assert Corpus.from_text("words\rwith carriage returns\ralone").without(everything).left_out["line"].size == 0


def test_the_columns_of_an_exploration_name_documents_and_other_values_are_refused() -> None:
    corpus = Corpus.from_texts(["one", "two", "three"])
    assert corpus.without(documents=[(np.int32(0), np.int64(1))]).documents == 2
    for row in [(0,), (None, 0), 3, (0, 1, 2), (0, 1 << 44), (0, "1")]:
        with pytest.raises(ConfigError):
            corpus.without(documents=[row])  # type: ignore[list-item]
    with pytest.raises(ConfigError, match="owners needs a tokenizer"):
        corpus.without(("owners",))


@pytest.mark.parametrize("name", ["a\rb.csv", "a\nb.csv", 'a,"b.csv', " a .csv", "caf\udce9.csv", "a\u2028b.csv"])
@pytest.mark.parametrize("split_by", [None, "lang"])
def test_a_list_of_files_of_any_name_can_be_read(tmp_path: Path, name: str, split_by: str | None) -> None:
    try:
        (tmp_path / name).write_text("text,lang\nfoo bar,x\nbaz qux,y\nfoo bar,x\n")
    except OSError:
        pytest.skip("the system refuses such names")
    corpus = Corpus.from_files(tmp_path / name, field="text", split_by=split_by)
    reduced = corpus.without(("duplicates",))
    assert reduced.documents == corpus.documents - 1
    finish(write_list_work(reduced, tmp_path / "list"))
    again = finish(corpus.without_work(finish(read_list_work(tmp_path / "list", corpus))))
    assert again.sha256 == reduced.sha256
    # As an experiment writes it.
    step = LeavingOut((), ((len(corpus.sources) - 1, 0, 2),))
    (tmp_path / "list").write_bytes(finish(named_list_work(corpus, step)))
    assert finish(read_list_work(tmp_path / "list", corpus)) == step


def test_a_list_of_files_between_spaces_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    for number in range(2):
        (tmp_path / "set" / f" a-{number}.jsonl").write_text(f'{{"text": "same"}}\n{{"text": "one {number}"}}\n')
    corpus = Corpus.from_files(tmp_path / "set")
    reduced = corpus.without(("duplicates",))
    finish(write_list_work(reduced, tmp_path / "list.csv"))
    assert (tmp_path / "list.csv").read_text() == "source,file,document,reason\nset, a-1.jsonl,1,duplicates\n"
    assert finish(read_list_work(tmp_path / "list.csv", corpus)).documents == ((0, 1, 0),)
    for number in range(2):
        (tmp_path / "set" / f" a-{number}.jsonl").rename(tmp_path / "set" / f"a-{number}.jsonl")
    (tmp_path / "list.csv").write_text("source,file,document,line\nset, a-1.jsonl ,1, \n")
    found = finish(read_list_work(tmp_path / "list.csv", Corpus.from_files(tmp_path / "set")))
    assert found.documents == ((0, 1, 0),)


def test_a_list_of_data_sets_whose_files_have_the_same_names_can_be_read(tmp_path: Path) -> None:
    for folder in ("en", "de"):
        (tmp_path / folder).mkdir()
        for file in ("train-1.jsonl", "train-2.jsonl"):
            rows = [f'{{"text": "{folder} {file} {number}"}}' for number in range(4)]
            rows[2] = '{"text": "the same words"}'
            (tmp_path / folder / file).write_text("\n".join(rows))
    corpus = Corpus.from_files([tmp_path / "en", tmp_path / "de"])
    reduced = corpus.without(("duplicates",))
    finish(write_list_work(reduced, tmp_path / "list.csv"))
    rows = (tmp_path / "list.csv").read_text().splitlines()
    files = [("en", "train-2.jsonl"), ("de", "train-1.jsonl"), ("de", "train-2.jsonl")]
    assert rows == ["source,file,document,reason", *(f"{folder},{file},3,duplicates" for folder, file in files)]
    # As lists named them before there was a column for the file.
    old = [f"{('en', 'de').index(folder)}/{file},3" for folder, file in files]
    (tmp_path / "old.csv").write_text("\n".join(["source,document", *old]))
    for name in ("list.csv", "old.csv"):
        again = finish(corpus.without_work(finish(read_list_work(tmp_path / name, corpus))))
        assert again.sha256 == reduced.sha256
    (tmp_path / "old.csv").write_text("source,file,document\nde,train-3.jsonl,3")
    with pytest.raises(CorpusError, match=r'line 2: de has no file "train-3\.jsonl"\.'):
        finish(read_list_work(tmp_path / "old.csv", corpus))
    # A source without files beside them, and sources of one name.
    beside = Corpus((*corpus.sources[:1], *corpus.sources[:1], *Corpus.from_text("alone").sources))
    left = beside.without(documents=[("0/train-1.jsonl", 1), (1, 3), (2, 0)][::2])
    finish(write_list_work(left, tmp_path / "list.csv"))
    rows = (tmp_path / "list.csv").read_text().splitlines()
    assert rows[1:] == ["0,train-1.jsonl,2,named", "Pasted text,,1,named"]
    assert finish(beside.without_work(finish(read_list_work(tmp_path / "list.csv", beside)))).sha256 == left.sha256
    assert corpus.without(documents=[("en/train-2.jsonl", 2)]).documents == 15
    with pytest.raises(ConfigError, match=r"name one of these, such as 0/train-1\.jsonl"):
        corpus.without(documents=[(0, 2)])
