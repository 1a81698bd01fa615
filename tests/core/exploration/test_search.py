"""A search for text and regular expressions, compared with a recount in Python's strings, and its order and export."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import re
import unicodedata

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from tokstudio import ConfigError, Corpus
from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.core.exploration import finders, search
from tokstudio.core.exploration.finders import RegexFinder, TextFinder, foldings, word_characters
from tokstudio.core.exploration.search import BARS, Search


def searched(corpus, finder, **chosen):
    made = Search(corpus, finder, **chosen)
    finish(made.find_work())
    assert made.done
    return made


def spans(made):
    """The document, and the first byte and the byte after the last, of each hit."""
    _, begins, ends, documents = made._arrays()
    return list(zip(documents.tolist(), begins.tolist(), ends.tolist(), strict=True))


def is_word(character):
    return unicodedata.category(character)[0] in "LMN" or character == "_"


def recount(documents, needle, case=True, whole_words=False):
    """Hits from left to right: each a run of whole characters that is folded to what the needle is folded to."""
    hits, start = [], 0
    wanted = needle if case else needle.casefold()
    for number, text in enumerate(documents):
        at = 0
        while at < len(text):
            for size in range(1, min(len(needle) * 3, len(text) - at) + 1):
                part = text[at : at + size]
                if (part if case else part.casefold()) != wanted:
                    continue
                before, behind = text[:at][-1:], text[at + size :][:1]
                joins = [(before, part[0]), (part[-1], behind)]
                if whole_words and any(one and other and is_word(one) and is_word(other) for one, other in joins):
                    continue
                byte = start + len(text[:at].encode())
                hits.append((number, byte, byte + len(part.encode())))
                at += size
                break
            else:
                at += 1
        start += len(text.encode())
    return hits


# Letters of which several are folded to one, or one to several; those that a mark joins; and signs beside words.
STRANGE = "aAßẞsSſﬁfFiIİıkK\u212aΣσς\u0301_ -é日\n１ᾳ\u1fb3"
LETTERS = st.text(st.sampled_from(STRANGE), max_size=12)


@settings(max_examples=60)  # folding, words and pieces meet in many ways
@given(
    st.lists(LETTERS, max_size=6),
    st.text(st.sampled_from(STRANGE), min_size=1, max_size=3),
    st.booleans(),
    st.booleans(),
    st.sampled_from([1, 2, 5, 1 << 16]),
    st.sampled_from([1, 2, 1 << 15]),
)
def test_text_is_found_as_in_a_recount(documents, needle, case, whole_words, piece, at_once):
    corpus = Corpus.from_texts(documents)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("FIRST_PIECE", piece), ("PIECE", piece), ("HITS", at_once)):
            patch.setattr(finders, name, value)
        made = searched(corpus, TextFinder(needle, case, whole_words))
    assert spans(made) == recount(documents, needle, case, whole_words)
    assert made.total == made.places == len(made)


@given(st.binary(max_size=200), st.binary(min_size=1, max_size=3), st.integers(1, 70))
def test_bytes_are_found_wherever_they_are(raw, needle, documents):
    texts = [raw[at : at + documents] for at in range(0, len(raw), documents)]
    made = searched(Corpus.from_texts(texts), TextFinder(needle))
    expected = [match.span() for text in texts for match in re.finditer(re.escape(needle), text)]
    assert len(made) == len(expected) == sum(text.count(needle) for text in texts)
    starts = np.cumsum([0, *map(len, texts)])
    assert [(begin - starts[number], end - starts[number]) for number, begin, end in spans(made)] == expected


def test_long_texts_are_found_in_blocks_as_elsewhere():
    """The places of 64 bytes are looked at together, up to the end of the data."""
    for size in range(60, 200, 7):
        text = ("-" * size + "needle") * 3 + "needl" + "e" * (size % 2)
        for case in (True, False):
            made = searched(Corpus.from_text(text), TextFinder("needle", case))
            assert [begin for _, begin, _ in spans(made)] == [match.start() for match in re.finditer("needle", text)]


def test_the_foldings_are_those_of_python_and_words_those_of_unicode():
    folded, longer = foldings()
    several = ["".join(map(chr, filter(None, codes))) for codes in longer.tolist()]
    ours = [chr(value) if value >= 0 else several[~value] for value in folded[:0x20000].tolist()]
    assert ours == [chr(code).casefold() for code in range(0x20000)]
    assert folded[0x20000:].tolist() == list(range(0x20000, 0x110000))
    words = word_characters()
    assert [words[ord(character)] for character in "aß日1_\u0301"] == [True] * 6
    assert not any(words[ord(character)] for character in " -.'\n\u200d")


@pytest.mark.parametrize(
    ("text", "needle", "hits"),
    [
        ("Straße STRASSE", "strasse", ["Straße", "STRASSE"]),
        ("Straße", "s", ["S"]),  # there is no s in ß
        ("ΟΔΟΣ οδος οδοσ", "οδος", ["ΟΔΟΣ", "οδος", "οδοσ"]),
        ("\u212aelvin kelvin", "KELVIN", ["\u212aelvin", "kelvin"]),
        ("İstanbul istanbul", "istanbul", ["istanbul"]),  # İ is folded to i and a dot
        ("İstanbul", "i\u0307stanbul", ["İstanbul"]),
        ("café CAFE\u0301", "CAFÉ", ["café"]),  # nothing is normalized
        ("ﬁnd find", "FIND", ["ﬁnd", "find"]),
    ],
)
def test_without_case_text_is_folded_fully(text, needle, hits):
    assert [hit.text for hit in searched(Corpus.from_text(text), TextFinder(needle, case=False))] == hits


def test_whole_words_end_where_letters_marks_numbers_and_underscores_do():
    text = "cat cats cat_ cat1 cat\u0301 -cat- 'cat'. bobcat\ncat"
    made = searched(Corpus.from_texts([text, "cat", "cat"]), TextFinder("cat", whole_words=True))
    assert [(hit.left[-1:], hit.right[:1]) for hit in made] == [
        ("", " "), ("-", "-"), ("'", "'"), ("", ""), ("", ""), ("", "")
    ]  # fmt: skip
    # A byte that is not UTF-8 is not of a word.
    assert searched(Corpus.from_text(b"\xffcat\xe9 \xe3cat"), TextFinder("cat", whole_words=True)).total == 2
    # Letters of scripts without spaces are of one word.
    assert searched(Corpus.from_text("日本語 日本"), TextFinder("日本", whole_words=True)).total == 1
    assert searched(Corpus.from_text("a-b c"), TextFinder("-", whole_words=True)).total == 1


def test_hits_do_not_overlap_and_stay_in_their_document():
    made = searched(Corpus.from_texts(["aaaaa", "a", "a", "", "aa"]), TextFinder("aa"))
    assert spans(made) == [(0, 0, 2), (0, 2, 4), (4, 7, 9)]
    assert searched(Corpus.from_texts(["aaaaa"]), TextFinder("AA", case=False)).total == 2


# --- Regular expressions ----------------------------------------------------------------------------------------------

EXPRESSIONS = (
    r"a+", r"\bab?\b", r"^a", r"b$", r"(?<=a)b", r"a(?!b)", r".b", r"\s+", r"[^a]", "é|日", r"a*", r"(?i)A\n", r"\Aa",
    r"b\Z", r"(?<![^a])b", r"(?<=\n)a|b(?=\n)", r"[^b]*+b", r"(.)\1", r"(?s)a.*?b",
)  # fmt: skip
PARTS = (
    "a", "b", "é", ".", "^", "$", r"\b", r"\B", r"\s", r"\S+", r"\w", "[^a]", "[ab]*", "(a|b)", r"(?:ab|\n)?", "a*?",
    "|", r"\n",
)  # fmt: skip
plain_expressions = st.builds(
    str.__add__, st.sampled_from(["", "(?i)"]), st.lists(st.sampled_from(PARTS), min_size=1, max_size=5).map("".join)
)


@given(
    st.lists(st.text("aAbé日\n _", max_size=20), max_size=6),
    st.sampled_from(EXPRESSIONS) | plain_expressions,
    st.booleans(),
    st.booleans(),
    st.sampled_from([4, 16, 1 << 20]),
)
def test_expressions_match_as_in_each_document(documents, expression, case, whole_words, size):
    corpus = Corpus.from_texts(documents)
    expected, start = [], 0
    flags = regex.MULTILINE | (0 if case else regex.IGNORECASE | regex.FULLCASE)
    for number, text in enumerate(documents):
        for match in regex.finditer(expression, text, flags):
            begin, end = match.span()
            joins = [(text[:begin][-1:], match[0][:1]), (match[0][-1:], text[end:][:1])]
            joined = any(one and other and is_word(one) and is_word(other) for one, other in joins)
            if begin < end and not (whole_words and joined):
                expected.append((number, *(start + len(text[:at].encode()) for at in match.span())))
        start += len(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("LONG", size), ("_GROUP", size), ("AHEAD", 1 << 6), ("BEHIND", 8)):
            patch.setattr(finders, name, value)
        made = searched(corpus, RegexFinder(expression, case, whole_words))
    assert spans(made) == expected


@pytest.mark.parametrize(
    ("expression", "together"),
    [
        (r"[A-Z]\w+ing\b", True), (r"^(?:the|a) \p{Lu}[^,\n]{2,5}?$", True), (r"a.b", True), (r"(?i)eNDing", True),
        (r"a(?i)b", False), (r"(?is)a.b", False), (r"(?<=a)b", False), (r"a(?!b)", False), (r"a++", False),
        (r"(?>a|ab)c", False), (r"\Aa", False), (r"a{e<=1}", False), (r"(a)\1", False), (r"\X", False),
        (r"a\Kb", False), (r"(?s)a.b", False),
    ],
)  # fmt: skip
def test_short_documents_are_searched_together_if_an_expression_cannot_tell(expression, together):
    class Counting:
        def __init__(self, pattern):
            self.pattern, self.calls = pattern, 0

        def finditer(self, *given, **options):
            self.calls += 1
            return self.pattern.finditer(*given, **options)

    corpus, finder = Corpus.from_texts(["Ending a b", "a-b", "the End"] * 200), RegexFinder(expression)
    expected = spans(searched(corpus, finder))
    finder._pattern = counting = Counting(finder._pattern)
    assert spans(searched(corpus, finder)) == expected
    assert counting.calls == (1 if together else 600)


def test_bytes_that_are_not_utf8_are_characters_of_no_class():
    raw = b"ab\xffcd \xe2\x82 \xc3\xa9\xff\n"
    made = searched(Corpus.from_texts([raw, raw]), RegexFinder(r"\w+"))
    assert [raw[begin % len(raw) : (begin % len(raw)) + end - begin] for _, begin, end in spans(made)] == [
        b"ab", b"cd", b"\xc3\xa9"
    ] * 2  # fmt: skip
    assert searched(Corpus.from_text(raw), RegexFinder(r"[^\w\s]")).total == 4


@pytest.mark.parametrize("expression", ["(a+)+b", "(.*)*x", "(a|aa)+$", "(a|a)*b"])
def test_a_hostile_expression_is_ended_and_the_error_says_what_was_searched(expression, monkeypatch):
    monkeypatch.setattr(finders, "SECONDS_OF_A_MATCH", 0.05)
    corpus = Corpus.from_texts(["bx ab", "ab", "a" * 3_000 + "!\nbx", "ab"])
    made = Search(corpus, RegexFinder(expression))
    with pytest.raises(ConfigError, match=r"takes more than .* seconds in .*document 3. So far .* were searched"):
        finish(made.find_work())
    assert not made.done
    with pytest.raises(ConfigError, match="takes more than"):
        finish(made.find_work())


def test_an_expression_that_matches_everywhere_goes_on():
    text = "ab " * 20_000
    assert searched(Corpus.from_text(text), RegexFinder("x*")).total == 0
    assert searched(Corpus.from_text(text), RegexFinder("x*|b")).total == 20_000


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TextFinder(""), "empty"),
        (lambda: TextFinder(b""), "empty"),
        (lambda: TextFinder(b"\xff", case=False), "not UTF-8"),
        (lambda: RegexFinder(""), "empty"),
        (lambda: RegexFinder("(a"), "does not compile at the end: missing"),
        (lambda: RegexFinder("(?:a{1000}){1000}"), "repeats too much"),
        (lambda: RegexFinder("(?r)a"), "backwards"),
    ],
)
def test_what_cannot_be_searched_for_is_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


# --- Results ----------------------------------------------------------------------------------------------------------


def sources(**texts):
    return Corpus(tuple(Source.from_texts(documents, name) for name, documents in texts.items()))


def test_hits_are_counted_by_source():
    corpus = sources(one=["the cat\nthe", "a"], two=["a the"], three=["none"], four=[])
    made = searched(corpus, TextFinder("the"))
    assert (made.total, made.by_source) == (3, {"one": 2, "two": 1, "three": 0, "four": 0})
    assert made.counts.tolist() == [2, 1, 0, 0]
    per_million = made.per_million(np.array([4, 2, 1, 0]))
    assert per_million[:3].tolist() == [500_000, 500_000, 0]
    assert np.isnan(per_million[3])
    assert searched(corpus, TextFinder("the"), sources=[1, 3]).by_source == {"two": 1, "four": 0}
    assert [hit.source for hit in searched(corpus, TextFinder("a"), sources=[1])] == [1]
    # Sources may have one name.
    twice = Corpus(corpus.sources * 2)
    assert searched(twice, TextFinder("the")).by_source == {"one": 4, "two": 2, "three": 0, "four": 0}


def test_bars_have_all_hits_by_their_place(monkeypatch):
    monkeypatch.setattr(search, "MOST_KEPT", 10)
    text = "a" * 300 + "b" * 9_700
    made = searched(sources(one=["b"], two=[text]), TextFinder("a"))
    assert made.bars(0).tolist() == [0] * BARS
    assert made.bars(1).tolist() == [10] * 30 + [0] * (BARS - 30)
    assert (made.total, len(made), made.is_cut) == (300, 10, True)
    assert made.note == "There are 300 hits; the first 10 of them are kept, and all are counted."
    assert [hit.position for hit in made] == list(range(10))


def test_a_hit_has_its_line_and_place():
    corpus = sources(one=["first\nthe one ab two\r\nlast", "x"], two=["", "ab"])
    assert [(hit.source, hit.document, hit.position, hit.left, hit.text, hit.right) for hit in
            searched(corpus, TextFinder("ab"))] == [
        (0, 0, 14, "the one ", "ab", " two"),
        (1, 1, 0, "", "ab", ""),
    ]  # fmt: skip
    (hit,) = searched(Corpus.from_text("قال الكتاب مرحبا"), TextFinder("الكتاب"))
    assert (hit.left, hit.text, hit.right) == ("قال ", "الكتاب", " مرحبا")
    (hit,) = searched(Corpus.from_text("one\ntwo\nthree"), RegexFinder(r"e\ntwo\nt"))
    assert (hit.left, hit.text, hit.right) == ("on", "e\ntwo\nt", "hree")


@given(st.lists(st.text("abAßé日\n ", max_size=30), max_size=5), st.sampled_from(["left", "right"]))
def test_hits_are_sorted_by_what_is_beside_them(documents, by):
    corpus = Corpus.from_texts(documents)
    made = searched(corpus, TextFinder("a", case=False))
    rows = finish(made.order_work(by)).tolist()

    def key(row):
        document, begin, end = spans(made)[row]
        start = int(corpus.sources[0].ends[document - 1]) if document else 0
        raw = documents[document].encode()
        left, right = raw[: begin - start].decode(), raw[end - start :].decode()
        beside = right.split("\n")[0] if by == "right" else left.split("\n")[-1][::-1]
        return [ord(character.casefold()[0]) for character in beside][:15]

    assert sorted(rows) == list(range(len(made)))
    assert rows == sorted(range(len(made)), key=key)


def test_hits_are_sorted_by_source_and_place():
    corpus = sources(b=["a a"], a=["aa"], c=["a"])
    made = searched(corpus, TextFinder("a"))
    assert finish(made.order_work("place")).tolist() == [0, 1, 2, 3, 4]
    assert finish(made.order_work("source")).tolist() == [2, 3, 0, 1, 4]
    for by in ("place", "source", "left", "right"):
        assert finish(searched(corpus, TextFinder("x")).order_work(by)).tolist() == []


def test_hits_become_csv(tmp_path):
    corpus = sources(one=['say "the", ', "b\nthe\n"], two=["the"])
    made = searched(corpus, TextFinder("the"))
    order = finish(made.order_work("right"))
    path = made.save_csv(tmp_path / "hits.csv", order)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["source"] for row in rows] == ["one", "two", "one"]
    assert rows[2] == {
        "source": "one", "document": "1", "place": "one, document 1", "position": "5", "left": 'say "',
        "hit": "the", "right": '", '
    }  # fmt: skip
    assert made.save_csv(tmp_path / "more.csv").read_bytes().count(b"\r\n") == 4
    empty = searched(corpus, TextFinder("x")).save_csv(tmp_path / "none.csv").read_text(encoding="utf-8")
    assert empty == "source,document,place,position,left,hit,right\n"


def test_first_hits_come_before_the_search_ends_and_cancelled_work_goes_on(monkeypatch):
    monkeypatch.setattr(finders, "FIRST_PIECE", 64)
    monkeypatch.setattr(finders, "PIECE", 64)
    corpus = Corpus.from_texts(["the cat " * 100, "the " * 100])
    made = Search(corpus, TextFinder("the"))
    finish(made.find_work(5))
    assert not made.done
    assert 5 <= len(made) == made.total < 20
    work = made.find_work()
    seen = [next(work).done for _ in range(5)]
    assert seen == sorted(seen)
    work.close()
    finish(made.find_work())
    assert (made.total, made.hits(0, 2)[1].position) == (200, 8)


@pytest.mark.parametrize("finder", [TextFinder("a"), TextFinder("a", False, True), RegexFinder("a")])
def test_empty_and_strange_corpora(finder):
    for corpus in (Corpus(()), Corpus.from_texts([]), Corpus.from_texts([""] * 100_000), Corpus.from_texts(["", "b"])):
        made = searched(corpus, finder)
        assert (made.total, len(made), list(made), made.note) == (0, 0, [], "")
    made = searched(Corpus.from_texts(["", "", "a", ""]), finder)
    assert [(hit.document, hit.position) for hit in made] == [(2, 0)]


def test_an_empty_match_of_an_expression_is_no_hit():
    """Of the matches at 2, 5, 6 and 9 only that at 5 has a byte."""
    made = searched(Corpus.from_text("a\n\nb\n\n\nc\n"), RegexFinder(r"^\s*$"))
    assert [(hit.position, hit.text) for hit in made] == [(5, "\n")]


def test_word_counts_are_searched_word_by_word():
    corpus = Corpus.from_counts({"sea": 5, " seas": 2, "x": 9})
    made = searched(corpus, TextFinder("sea"))
    assert (made.total, made.places) == (7, 2)
    assert [(hit.document, hit.count) for hit in made] == [(0, 5), (1, 2)]


def test_a_file_that_changed_is_an_error(tmp_path, monkeypatch):
    from tokstudio.core.corpus.readers.files import FileText

    path = tmp_path / "book.txt"
    path.write_text("the cat " * 1000)
    text = FileText(path)
    source = Source("book.txt", path, "utf-8", "", text, np.array([len(text)], np.int64))
    assert searched(Corpus((source,)), TextFinder("cat")).total == 1000
    made = Search(Corpus((source,)), TextFinder("cat"))
    path.write_text("other " * 999)
    with pytest.raises(CorpusError, match="changed"):
        finish(made.find_work())


def test_a_long_line_and_many_documents_are_searched_in_pieces():
    corpus = Corpus.from_texts(["ab" * 2_000_000 + "needle"])
    for finder in (TextFinder("needle"), RegexFinder("needle")):
        made = Search(corpus, finder)
        assert len(list(made.find_work())) > 2
        assert [hit.position for hit in made] == [4_000_000]
        assert made.hit(0).left == "ab" * 30


def test_a_search_as_it_stands_does_not_change_while_it_goes_on(monkeypatch):
    monkeypatch.setattr(finders, "FIRST_PIECE", 50)
    monkeypatch.setattr(finders, "PIECE", 50)
    corpus = Corpus.from_texts(["a b " * 100, "b a " * 100])
    made = Search(corpus, TextFinder("a"))
    finish(made.find_work(5))
    before = made.so_far()
    hits, counts, bars = list(before), before.counts.tolist(), before.bars(0).tolist()
    assert 5 <= len(hits) < 100
    finish(made.find_work())
    assert (list(before), before.counts.tolist(), before.bars(0).tolist()) == (hits, counts, bars)
    finish(before.find_work())
    assert len(before) == len(hits), "it finds no more"
    assert list(made)[: len(hits)] == hits
    assert made.total == 200


@given(st.lists(st.text("ab\n", max_size=20), min_size=1, max_size=4), st.integers(1, 30))
def test_each_hit_has_its_line(texts, window):
    whole = "".join(texts)
    sources = tuple(Source.from_texts([text], str(number)) for number, text in enumerate(texts))
    corpora = Corpus(sources), Corpus((Source.from_texts(texts),))
    for corpus, parts in zip(corpora, (texts, [whole]), strict=True):
        made = searched(corpus, TextFinder("a"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(search, "_WINDOW", window)
            lines = finish(made.line_numbers_work()).tolist()
        spots = [(part, at) for part in parts for at, character in enumerate(part) if character == "a"]
        assert lines == [part.count("\n", 0, at) + 1 for part, at in spots]


def test_lines_of_parts_and_rows_of_data_sets_are_those_of_their_files(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f'{{"text": "{text}"}}\n' for text in ("", "a", "b", "", "a a")))
    made = searched(Corpus.from_files(path, least_characters=1), TextFinder("a"))
    assert finish(made.line_numbers_work()).tolist() == [2, 5, 5]
    # A text of which lines were left out: lines 3 to 4, then 9.
    runs = np.array([[0, 0, 3, 0], [2, 4, 9, 0]], np.int64)
    data, ends = np.frombuffer(b"a\nb\naa", np.uint8), np.array([2, 4, 6])
    source = Source("x.txt", None, "utf-8", "", data, ends, rows=runs)
    made = searched(Corpus((source,)), TextFinder("a"))
    assert finish(made.line_numbers_work()).tolist() == [3, 9, 9]
    assert finish(searched(Corpus.from_counts({"b": 1, "aa": 3}), TextFinder("a")).line_numbers_work()).tolist() == [
        2,
        2,
    ]


def test_the_hit_at_a_place_of_a_source():
    made = searched(Corpus((Source.from_texts(["xa a"]), Source.from_texts(["a"]))), TextFinder("a"))
    assert [made.row_at(0, at) for at in (0, 1, 2, 3, 4)] == [0, 0, 1, 1, -1]
    assert [made.row_at(1, at) for at in (0, 1)] == [2, -1]
    assert [made.span(row) for row in range(3)] == [(0, 0, 1, 2), (0, 0, 3, 4), (1, 0, 0, 1)]


def test_an_expression_without_end_is_refused(monkeypatch):
    class Endless:
        def finditer(self, *_, **__):
            raise MemoryError

    monkeypatch.setattr(finders, "SECONDS_OF_A_MATCH", 0.02)
    corpus, finder = Corpus.from_text("a line of some forty bytes, all in all."), RegexFinder("(?R)")
    with pytest.raises(ConfigError, match=r"takes more than .* seconds"):
        finish(Search(corpus, finder).find_work())
    finder._pattern = Endless()
    with pytest.raises(ConfigError, match="needs too much memory"):
        finish(Search(corpus, finder).find_work())
