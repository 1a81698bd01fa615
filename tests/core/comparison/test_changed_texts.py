from __future__ import annotations

import json
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokstudio import ByteTokenizer, CharacterTokenizer, Corpus, Tokenizer, WordTokenizer, compare
from tokstudio.core.comparison import changed_texts
from tokstudio.core.comparison.changed_texts import CHANGES, TypingErrors, with_error
from tokstudio.core.comparison.figures import FIGURES
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.training.trainer import train

TEXT = "The naïve café, in Zürich (really), is open: come in and see the cats of Zoë there. "
TOKENIZER = train(Corpus.from_text(TEXT * 3), TrainingConfig(vocabulary_size=330, pattern="gpt2"))


def test_the_text_after_each_change() -> None:
    changed = {name: make()("It's a Déjà-vu , (no) 42 in ΟΔΟΣ.\n") for name, make in CHANGES.items()}
    assert changed == {
        "upper_case": "IT'S A DÉJÀ-VU , (NO) 42 IN ΟΔΟΣ.\n",
        "lower_case": "it's a déjà-vu , (no) 42 in οδος.\n",
        "title_case": "It's A Déjà-Vu , (No) 42 In Οδος.\n",
        "no_diacritics": "It's a Deja-vu , (no) 42 in ΟΔΟΣ.\n",
        "doubled_spaces": "It's  a  Déjà-vu  ,  (no)  42  in  ΟΔΟΣ.\n",
        "no_spaces_at_marks": "It's a Déjà-vu,(no)42 in ΟΔΟΣ.\n",
        "styled_letters": "𝐈𝐭'𝐬 𝐚 𝐃é𝐣à-𝐯𝐮 , (𝐧𝐨) 𝟒𝟐 𝐢𝐧 ΟΔΟΣ.\n",
        "typing_errors": "It's a Déjà-vu , (no) 42 in ΟΔΟΣ.\n",
    }


def test_diacritics_go_but_letters_stay() -> None:
    without = CHANGES["no_diacritics"]()
    assert without("é e\u0301 ộ Å") == "e e o A"
    assert without("مُحَمَّد") == "محمد"
    for same in ("がぎぐ", "か\u3099", "한국어", "हिन्दी", "ß ø ł"):
        assert without(same) == same


def test_a_word_with_each_error() -> None:
    assert [with_error("table", kind, 1) for kind in range(4)] == ["tbale", "tble", "taable", "tsble"]
    assert [with_error("TYPO", kind, 2) for kind in range(4)] == ["TYOP", "TYO", "TYPPO", "TYOO"]  # P is the last key
    assert with_error("ΟΔΟΣ", 3, 1) == "ΟΔΔΟΣ"


def test_about_every_tenth_long_word_of_a_document_has_an_error() -> None:
    words = TypingErrors()(" ".join(["the", "table"] * 2000)).split()
    assert words[::2] == ["the"] * 2000
    wrong = [number for number, word in enumerate(words[1::2], 1) if word != "table"]
    assert wrong == [number for number in range(1, 2001) if crc32(f"{number} table".encode()) % 10 == 0]
    assert len(wrong) == pytest.approx(200, rel=0.2)
    assert set(words) == {"the", "table"} | {with_error("table", kind, at) for kind in range(4) for at in (1, 2, 3)}


@given(st.lists(st.text("aBcé ,.ΣσΑ\n1", max_size=60), max_size=3))
def test_a_text_is_changed_alike_in_pieces(documents: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(changed_texts, "PIECE", 4)
        small = compare({"bytes": ByteTokenizer()}, {"text": documents}, threads=1)
        values = [small.figure(name)[0, 0] for name in CHANGES]
    clean = len("".join(documents).encode())
    for (name, make), value in zip(CHANGES.items(), values, strict=True):
        texts = [make()(document) for document in documents]
        expected = len("".join(texts).encode()) / clean if texts != documents else float("nan")
        assert value == pytest.approx(expected, nan_ok=True), name


def test_tokens_of_the_changed_text_are_divided_by_those_of_the_text() -> None:
    texts = {"text": [TEXT * 4, "", "Zoë"], "plain": ["the cats"], "chinese": ["我家"]}
    made = compare({"one": TOKENIZER, "characters": CharacterTokenizer()}, texts)
    for name, make in CHANGES.items():
        values, totals = made.figure(name), made.totals(name)
        clean = changed = 0
        for row, documents in enumerate(texts.values()):
            now = [make()(document) for document in documents]
            before, after = (sum(len(TOKENIZER.encode(each)) for each in some) for some in (documents, now))
            clean, changed = clean + before, changed + after
            assert values[row, 0] == pytest.approx(after / before if now != documents else np.nan, nan_ok=True), name
        assert totals[0] == pytest.approx(changed / clean), name
        assert np.isnan(values[2]).all(), name
    assert made.figure("upper_case")[1, 1] == 1
    assert made.figure("upper_case")[0, 0] > 1.2


def test_bytes_that_are_no_text_stay() -> None:
    made = compare({"bytes": ByteTokenizer()}, {"text": [b"a\xff b\xc3"]})
    assert made.figure("doubled_spaces")[0, 0] == pytest.approx(6 / 5)
    assert made.figure("upper_case")[0, 0] == 1
    assert np.isnan(made.figure("no_diacritics")[0, 0])


def test_a_dash_stands_where_the_changed_text_is_lost() -> None:
    config = TrainingConfig(vocabulary_size=40, base="characters")
    letters = train(Corpus.from_text("the cat sat on the mat "), config)
    tokenizers = {"letters": letters, "words": WordTokenizer.from_text("the cat sat")}
    made = compare(tokenizers, {"eng": "the cat sat"})
    for column in (0, 1):
        assert np.isnan(made.figure("upper_case")[0, column])
    assert made.figure("doubled_spaces")[0, 0] > 1
    assert made.tokens[0].tolist() == [len(letters.encode("the cat sat")), 5]
    assert json.loads(made.to_json(["upper_case"]))["figures"]["upper_case"] == [[None, None]]


def test_changed_texts_and_numbers_are_measured_only_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [name for name, figure in FIGURES.items() if figure.only_asked]
    assert asked == ["number_boundaries", "number_splits", *CHANGES]
    made = compare({"one": TOKENIZER}, {"text": TEXT, "digits": "1234"})
    assert not set(asked) & set(made.known_figures())
    assert np.isnan(made.figure("upper_case", encode=False)).all()
    assert made.figure("upper_case")[0, 0] > 1
    assert not np.isnan(made.figure("upper_case", encode=False)[0, 0])


@given(
    st.text("aé日😀", max_size=12).map(str.encode)
    | st.lists(st.sampled_from([*"aé日😀", b"\xc3", b"\xa9", b"\xe6\x97", b"\xf0"]), max_size=12).map(
        lambda parts: b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    ),
    st.integers(0, 9),
)
def test_characters_in_several_tokens_are_those_of_a_recount(raw: bytes, merges: int) -> None:
    tokenizer = cutting().at(merges)
    made = compare({"one": tokenizer, "bytes": ByteTokenizer()}, {"text": raw}, threads=1)
    text, places, at = raw.decode("utf-8", "surrogateescape"), list[tuple[int, int]](), 0
    for character in text:
        places.append((at, at := at + len(character.encode("utf-8", "surrogateescape"))))
    for column, each in enumerate((tokenizer, ByteTokenizer())):
        ends = np.cumsum([len(each.decode_bytes([token])) for token in each.encode(raw)]).tolist()
        cut = sum(any(start < end < stop for end in ends) for start, stop in places)
        wide = sum(ord(character) > 127 for character in text)
        crossing = 0
        for start, stop in zip([0, *ends], ends, strict=False):
            held = [(low, high) for low, high in places if low < stop and high > start]
            crossing += len(held) > 1 and any(low < start or high > stop for low, high in held)
        expected = cut / wide if wide else np.nan, crossing / len(ends) if ends else np.nan
        values = [made.figure(name)[0, column] for name in ("characters_cut", "crosses_characters")]
        assert values == pytest.approx(expected, nan_ok=True)


def test_bytes_that_are_not_utf8_are_characters_of_one_token() -> None:
    texts = {
        "one": b"\xff",
        "cut": b"a\xe2\x82 x",
        "latin": "déjà vu, garçon".encode("latin-1"),
        "documents": Source.from_texts([b"\xe2", b"\x82\xac", "é"]),
        "utf-8": "aé",
    }
    joining = Tokenizer(np.array([[0xE9, ord("j")], [ord("a"), 0xE2], [0x82, 0xAC]]), pattern="none")
    made = compare({"bytes": ByteTokenizer(), "joining": joining, "characters": CharacterTokenizer()}, texts)
    cut, crossing = made.figure("characters_cut"), made.figure("crosses_characters")
    assert cut.tolist() == [[0, 0, 0]] * 3 + [[1 / 4, 1 / 4, 0], [1, 1, 0]]
    assert not crossing.any()
    assert made.totals("characters_cut").tolist() == [2 / 11, 2 / 11, 0]
    assert made.totals("crosses_characters").tolist() == [0, 0, 0]


def cutting() -> Tokenizer:
    """Joins bytes of neighbours as well as those of one character."""
    pairs = [[0xA9, 0xC3], [0xA5, 0xE6], [0x80, 0xF0], [0x97, 0xA5], [256, 0xA9], [0x9F, 0x98], [257, 0x97], [97, 0xC3]]
    return Tokenizer(np.array([*pairs, [258, 261]]), pattern="none")


def test_characters_cut_worked_out_by_hand() -> None:
    # é is C3 A9, and the merge joins the end of one é and the beginning of the next.
    tokenizer = Tokenizer(np.array([[0xA9, 0xC3]]), pattern="none")
    made = compare({"one": tokenizer}, {"text": "ééa"})
    assert made.figure("characters_cut")[0, 0] == 1
    assert made.figure("crosses_characters")[0, 0] == pytest.approx(1 / 4)  # C3, A9 C3, A9, a
    assert np.isnan(compare({"one": tokenizer}, {"text": "abc"}).figure("characters_cut")[0, 0])
