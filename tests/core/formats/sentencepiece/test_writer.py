"""Writing SentencePiece models, compared with the sentencepiece library."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.formats.trained import TEXT, everything, of_characters, with_unknown
from tokstudio import save
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.saving import fit
from tokstudio.core.formats.sentencepiece import format as own
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.tokenizer.tokenizer import Tokenizer

sentencepiece = pytest.importorskip("sentencepiece")

# The library takes no character U+0000.
PLAIN = TEXT.replace("\0", "") + " banana bandana\u3000\u3000 the cat, the mat"


def library(path):
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(path.read_bytes())
    return processor


def saved(tokenizer, path, **more):
    save(tokenizer, path, "sentencepiece", sample=PLAIN, **more)
    return library(path)


def fused(ids, unknown):
    return [token for place, token in enumerate(ids) if token != unknown or place == 0 or ids[place - 1] != unknown]


SPECIALS = ("<s>", "<s>a", "the mat", "雨は", "\n\n", "<unk>", "<gap 3>")

MAKE = [
    lambda: of_characters(PLAIN),
    lambda: of_characters(PLAIN).at(3),
    lambda: of_characters(PLAIN, special_tokens=SPECIALS),
    lambda: of_characters(PLAIN, special_tokens=SPECIALS, special_placement="first").at(2),
    lambda: of_characters("aaaa aaa aa a bbbbb ababab"),
    lambda: of_characters("a"),
    with_unknown,
    lambda: with_unknown().at(0),
]


@pytest.mark.parametrize("make", MAKE)
def test_the_library_has_our_ids_and_our_pieces(tmp_path, make):
    tokenizer = make()
    theirs = saved(tokenizer, tmp_path / "my.model")
    unknown = tokenizer.alphabet.unknown
    for token, made in enumerate(tokenizer.tokens):
        if made is not None:
            assert theirs.id_to_piece(token) == made.decode()
    assert theirs.vocab_size() == len(tokenizer.tokens) + (unknown is None)
    assert theirs.unk_id() == (len(tokenizer.tokens) if unknown is None else unknown)
    known = {chr(unit) for unit in tokenizer.alphabet.units.tolist()}
    specials = [token for token, number in tokenizer.special_tokens.items() if number != unknown]
    chance = random.Random(1)
    parts = [*specials, *known, "aaa", "the ", "  "]
    for text in (PLAIN, torture_text(), *("".join(chance.choices(parts, k=30)) for _ in range(50))):
        if unknown is None:
            text = "".join(filter(known.__contains__, text))
        ids = fused(tokenizer.encode(text, specials), unknown)
        assert theirs.encode(text) == ids
        assert theirs.decode(ids) == tokenizer.decode(ids)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30)
    | st.text("ab \n▁", min_size=1, max_size=60),
    merges=st.integers(0, 40),
)
def test_any_text_gives_a_model_that_the_library_reads_alike(tmp_path, text, merges):
    tokenizer = of_characters(text)
    tokenizer = tokenizer.at(min(merges, len(tokenizer.merges)))
    report = save(tokenizer, tmp_path / "any.model", "sentencepiece", accept_loss=True, sample=text)
    assert report.proof.startswith("identical over ")
    theirs = library(tmp_path / "any.model")
    for tried in (text, text[::-1], text * 3):
        assert theirs.encode(tried) == tokenizer.encode(tried)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    drawn=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=2, max_size=8),
    tried=st.text("abc", min_size=1, max_size=60),
)
def test_untrained_merges_are_refused_or_encoded_alike(tmp_path, drawn, tried):
    pairs: list[tuple[int, int]] = []
    for left, right in drawn:
        known = 3 + len(pairs)
        if (pair := (left % known, right % known)) not in pairs:
            pairs.append(pair)
    tokenizer = Tokenizer(np.array(pairs, np.int32), alphabet=Alphabet.of_characters("abc"))
    if fit(tokenizer, "sentencepiece").problem is None:
        assert saved(tokenizer, tmp_path / "any.model").encode(tried) == tokenizer.encode(tried)


def test_characters_that_the_model_does_not_know_are_one_piece_behind_all_others(tmp_path):
    tokenizer = of_characters("abab")
    theirs = saved(tokenizer, tmp_path / "my.model")
    assert theirs.encode("ab€€ab€") == [tokenizer.encode("ab")[0], 3, tokenizer.encode("ab")[0], 3]
    assert fit(tokenizer, "sentencepiece").notes == (
        'The model has one more piece, "<unk>" with the id 3, for a run of unknown characters.',
    )
    with pytest.raises(ConfigError):
        tokenizer.encode("€")


def test_runs_of_unknown_characters_are_told_of_and_their_text_stays(tmp_path):
    tokenizer = with_unknown()
    theirs = saved(tokenizer, tmp_path / "my.model")
    unknown = tokenizer.special_tokens["[UNK]"]
    assert tokenizer.encode("a€€a") == [*tokenizer.encode("a"), unknown, unknown, *tokenizer.encode("a")]
    assert theirs.encode("a€€a") == [*tokenizer.encode("a"), unknown, *tokenizer.encode("a")]
    assert theirs.decode([unknown]) == "[UNK]"
    assert fit(tokenizer, "sentencepiece").notes == (
        'A run of unknown characters becomes one "[UNK]", and that text itself is not recognised.',
        "SentencePiece always recognises the special tokens in a text.",
    )


def test_gaps_between_ids_are_kept_by_pieces_that_no_text_becomes(tmp_path):
    tokenizer = Tokenizer(
        np.array([[7, 2], [9, 7]], np.int32),
        np.array([9, 30], np.int32),
        alphabet=Alphabet.of_characters("ab<gp01>", [7, 2, 3, 4, 5, 6, 11, 12]),
        special_tokens={"<gap 1>": 20},
    )
    theirs = saved(tokenizer, tmp_path / "my.model")
    assert theirs.vocab_size() == 32
    assert theirs.encode("aba<gap 1>ab") == [30, 20, 9] == tokenizer.encode("aba<gap 1>ab", "all")
    assert theirs.id_to_piece(1) == "<gap 1>_"
    assert theirs.encode("<gap 0>") == [*tokenizer.encode("<g"), *tokenizer.encode("a"), *theirs.encode("p 0>")]
    notes = fit(tokenizer, "sentencepiece").notes
    assert notes[-1] == "Control pieces, which no text becomes, take the ids that no token has (20)."


@pytest.mark.parametrize(
    ("make", "losses"),
    [
        (
            lambda: of_characters(PLAIN, pattern="gpt2"),
            ('The pattern "gpt2" is lost: SentencePiece does not split text by one.',),
        ),
        (
            lambda: Tokenizer(
                of_characters("abab").merges, alphabet=Alphabet.of_characters("ab"), extra_tokens={9: b"x", 8: b"bb"}
            ),
            ("Tokens that no merge makes are lost (2): control pieces take their ids.",),
        ),
        (
            lambda: Tokenizer(of_characters("abab").merges, alphabet=Alphabet.of_characters("ab"), whole_words=[2]),
            ("Words that become a token without merging are merged (1): some ids will differ.",),
        ),
        (
            lambda: of_characters("a▁b"),
            ("The character ▁ (U+2581) is decoded as a space by the sentencepiece library.",),
        ),
    ],
)
def test_losses_need_to_be_accepted(tmp_path, make, losses):
    tokenizer, path = make(), tmp_path / "out.model"
    with pytest.raises(FormatError, match=r"^out\.model: SentencePiece cannot hold all of this tokenizer\. "):
        save(tokenizer, path, "sentencepiece")
    assert save(tokenizer, path, "sentencepiece", accept_loss=True).losses == losses
    theirs = library(path)
    for token in tokenizer.merge_results.tolist():
        assert theirs.id_to_piece(token) == tokenizer.tokens[token].decode()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (everything, "SentencePiece merges characters, but this tokenizer merges bytes."),
        (of_characters, "SentencePiece allows no token with the character U+0000, and this tokenizer has one."),
        (
            lambda: Tokenizer(
                np.array([[0, 1]], np.int32), alphabet=Alphabet.of_characters("ab"), special_tokens={"ab": 3}
            ),
            'The special token "ab" and token 2 have the same spelling in this format.',
        ),
        (
            lambda: Tokenizer(
                np.array([[0, 1], [1, 2], [3, 2], [0, 4]], np.int32), alphabet=Alphabet.of_characters("abc")
            ),
            "The token 5 and token 6 have the same spelling in this format.",
        ),
        (
            # "bc" is merged first, so that "ab" with "c" never meet in "abc"; the library would join "a" with "bc".
            lambda: Tokenizer(np.array([[1, 2], [0, 1], [4, 2]], np.int32), alphabet=Alphabet.of_characters("abc")),
            'SentencePiece would make the token "abc" from its characters, but merging does not.',
        ),
    ],
)
@pytest.mark.parametrize("accept_loss", [False, True])
def test_tokenizers_that_the_library_encodes_differently_are_refused(tmp_path, make, words, accept_loss):
    with pytest.raises(FormatError) as caught:
        save(make(), tmp_path / "out.model", "sentencepiece", accept_loss)
    assert str(caught.value) == f"out.model: {words}"
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_is_wrong_is_found_out_before_it_is_there(tmp_path, monkeypatch):
    right = own._pieces

    def wrong(held):
        pieces = list(right(held))
        texts = [text for text, _, _ in pieces]
        one, other = texts.index("th"), texts.index("the")
        pieces[one], pieces[other] = pieces[other], pieces[one]
        return iter(pieces)

    monkeypatch.setattr(own, "_pieces", wrong)
    words = r"^x\.model: read back by the sentencepiece library, .*"
    with pytest.raises(FormatError, match=words + r'("the" \[\d+.* instead of "th"|ids do not decode)'):
        save(of_characters(PLAIN), tmp_path / "x.model", "sentencepiece", sample=PLAIN)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["my model.model", "日本語.model", "tokenizer.model"])
def test_the_snippet_gives_our_ids(tmp_path, name):
    tokenizer = with_unknown()
    names = {}
    exec(save(tokenizer, tmp_path / name, "sentencepiece").snippet, names)
    unknown = tokenizer.alphabet.unknown
    assert names["ids"] == fused(tokenizer.encode("Hello world"), unknown)
    assert names["tokenizer"].encode(PLAIN) == fused(tokenizer.encode(PLAIN, ["<s>", "a b", "<pad>"]), unknown)


def test_a_file_without_a_name_gets_the_usual_one(tmp_path):
    assert save(of_characters("abab"), tmp_path, "sentencepiece").files == (tmp_path / "tokenizer.model",)
    assert FORMATS["sentencepiece"].writable
