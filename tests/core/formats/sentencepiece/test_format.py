"""SentencePiece's models: reading and writing them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import math
import random

import numpy as np
import pytest
import sentencepiece
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sentencepiece import sentencepiece_model_pb2 as schema

from tests.core.formats.trained import (
    TEXT,
    banana,
    everything,
    of_characters,
    refusal,
    spoil,
    tiktoken_lines,
    with_unknown,
)
from tokstudio import ConfigError, FormatError, Tokenizer, load, save
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.known_formats import tokenizer_files
from tokstudio.core.formats.loading import load_work
from tokstudio.core.formats.saving import fit
from tokstudio.core.formats.sentencepiece import reader
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.model.alphabet import Alphabet

# --- SentencePiece's models are read as its library reads them, or refused in one sentence ----------------------------

KINDS = ("byte", "character", "merge", "special", "unreachable", "other")
OPTIONS = {
    "plain": {},
    "bytes": {"byte_fallback": True, "character_coverage": 0.98},
    "symbols": {"user_defined_symbols": ["<x>", "the cat"], "control_symbols": ["<c>"]},
    "as it is": {"add_dummy_prefix": False, "normalization_rule_name": "identity", "remove_extra_whitespaces": False},
    "spaces behind": {"treat_whitespace_as_suffix": True, "split_digits": True},
}


def trained_model(kind="bpe", size=1000, **options):
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*TEXT.splitlines(), *torture_text().splitlines()] * 3),
        model_writer=out,
        model_type=kind,
        vocab_size=size,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    return out.getvalue()


def small_model(*more, kind=2):
    """Three letters, two merges, and what else is given as text, score and type."""
    model = schema.ModelProto()
    model.trainer_spec.model_type = kind
    model.normalizer_spec.name = "identity"
    pieces = [("<unk>", 0.0, 2), ("a", 0.0, 1), ("b", 0.0, 1), ("▁", 0.0, 1), ("ab", -1.0, 1), ("▁ab", -2.0, 1), *more]
    for text, score, type_ in pieces:
        model.pieces.add(piece=text, score=score, type=type_)
    return model


def put(folder, content):
    path = folder / "mine.model"
    path.write_bytes(content if isinstance(content, bytes) else content.SerializeToString())
    return path


def library(content):
    return sentencepiece.SentencePieceProcessor(model_proto=content)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_it_encodes_and_shows_what_the_library_does(tmp_path, options):
    content = trained_model(size=1000, **options)
    loaded = finish(load_work(put(tmp_path, content)))
    tokenizer, theirs = loaded.tokenizer, library(content)
    assert loaded.format == "sentencepiece"
    assert tokenizer.no_playhead == "SentencePiece has its own rules, so the sentencepiece library encodes for it"
    for text in (TEXT, torture_text(), "<x> the cat <c> <s> ▁ ЖЖ\n", "", "   "):
        ids = theirs.encode(text)
        assert tokenizer.encode(text) == tokenizer.encode(text, "all") == ids
        assert tokenizer.decode(ids) == theirs.decode(ids)
    assert len(tokenizer) == theirs.get_piece_size()
    for number, token in enumerate(tokenizer.tokens):
        if not theirs.is_byte(number):
            assert token.decode() == theirs.id_to_piece(number).replace("▁", " ")
    assert set(tokenizer.special_tokens) == {"<unk>", "<s>", "</s>", *options.get("control_symbols", ())}
    kinds = [tokenizer.kind(number) for number in range(len(tokenizer))]
    known = set(tokenizer.alphabet.ids.tolist())
    assert len(tokenizer.merges) > 100 or "symbols" in options
    for (left, right), result in zip(tokenizer.merges.tolist(), tokenizer.merge_results.tolist(), strict=True):
        assert {left, right} <= known
        assert tokenizer.tokens[left] + tokenizer.tokens[right] == tokenizer.tokens[result]
        known.add(result)
    assert kinds.count("byte") == (256 if "byte_fallback" in options else 0)
    assert kinds.count("other") == len(options.get("user_defined_symbols", ()))
    assert set(kinds) <= set(KINDS)


def test_the_bytes_of_a_character_share_all_of_it(tmp_path):
    tokenizer = load(put(tmp_path, trained_model(byte_fallback=True, character_coverage=0.98)))
    text = "the \U0001f984 cat \U0001f984\U0001f984"
    ids, ends = finish(tokenizer.encode_with_ends_work(text))
    pieces = zip(ids.tolist(), [0, *ends.tolist()], ends.tolist(), strict=False)
    in_bytes = [text.encode()[begin:end].decode() for token, begin, end in pieces if tokenizer.kind(token) == "byte"]
    assert in_bytes == ["\U0001f984", "", "", ""] * 3


def test_a_piece_that_no_merge_reaches_is_told(tmp_path):
    model = small_model(("ba▁", -3.0, 1), ("bab", -4.0, 1), ("Ж▁", -5.0, 1))
    tokenizer = load(put(tmp_path, model))
    assert [tokenizer.kind(number) for number in range(9)] == [
        "special", "character", "character", "character", "merge", "merge", "unreachable", "merge", "other",
    ]  # fmt: skip
    theirs = library(model.SerializeToString())
    assert 6 not in {token for text in ("ba ", "aba b", "ba ba") for token in theirs.encode(text)}


def test_it_is_found_in_a_folder_and_under_any_name(tmp_path):
    path = put(tmp_path, small_model())
    assert finish(load_work(tmp_path)).files == (path,)
    for name in ("vocab.spm", "tokenizer.model.v3", "TOKENIZER.MODEL.v7m1"):
        path = path.rename(tmp_path / name)
        assert tokenizer_files(path) == (path,)
        assert load(path).library == "sentencepiece"
        (tmp_path / "text").mkdir(exist_ok=True)
        (tmp_path / "text" / name).write_text("\nA\nsmall text about models\n")
        assert tokenizer_files(tmp_path / "text" / name) == ()
    (tmp_path / "book.txt").write_bytes(path.read_bytes())
    assert tokenizer_files(tmp_path / "book.txt") == ()
    (tmp_path / "book.txt").unlink()
    path = path.rename(tmp_path / "weights.bin")
    assert finish(load_work(path)).format == "sentencepiece"
    ranks = put(tmp_path, tiktoken_lines({bytes([byte]): byte for byte in range(256)}))
    assert finish(load_work(ranks, "none")).format == "tiktoken"
    ranks.unlink()
    save(banana(), tmp_path / "bpe.model", "minbpe")
    assert finish(load_work(tmp_path)).format == "minbpe"
    assert finish(load_work(tmp_path / "weights.bin")).format == "sentencepiece"
    put(tmp_path, small_model())
    with pytest.raises(
        FormatError, match=r"the folder holds more than one tokenizer, bpe\.model and mine\.model: open"
    ):
        load(tmp_path)


@pytest.mark.parametrize(
    ("kind", "options"),
    [*(("unigram", options) for options in OPTIONS), ("word", "symbols"), ("word", "spaces behind"), ("char", "bytes")],
)
def test_models_without_merges_encode_as_their_library_does(tmp_path, kind, options):
    content = trained_model(kind, **OPTIONS[options])
    tokenizer, theirs = load(put(tmp_path, content)), library(content)
    assert (tokenizer.library, tokenizer.model) == ("sentencepiece", kind.capitalize())
    assert tokenizer.no_merges == f"There are no merges: the model of this tokenizer is {kind.capitalize()}."
    assert len(tokenizer.merges) == 0
    assert len(tokenizer) == theirs.get_piece_size()
    for text in (TEXT, torture_text(), "<x> the cat <c> <s> ▁ ЖЖ\n", "", "   "):
        ids, ends = finish(tokenizer.encode_with_ends_work(text))
        assert ids.tolist() == theirs.encode(text)
        assert tokenizer.decode(ids) == theirs.decode(ids.tolist())
        assert len(ends) == len(ids)
        assert sorted(ends.tolist()) == ends.tolist()
        assert all(0 <= end <= len(text.encode()) for end in ends.tolist())
    pieces = {theirs.id_to_piece(number).replace("▁", " ").encode() for number in range(len(tokenizer))}
    assert {token for number, token in enumerate(tokenizer.tokens) if not theirs.is_byte(number)} <= pieces
    save(tokenizer, tmp_path / "copy.model", "sentencepiece", sample=TEXT)
    assert (tmp_path / "copy.model").read_bytes() == content


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("", 0.0, 1), "piece 6 is empty"),
        (("ab", 0.0, 1), 'the piece "ab" appears twice'),
        (("x", math.nan, 1), "the score of piece 6 is not a number"),
        (("x", -math.inf, 1), "the score of piece 6 is not a number"),
        (("x", 0.0, 6), 'piece 6, "x", is not a byte'),
        (("<0x0A>", 0.0, 6), "the sentencepiece library cannot read it: "),
        (None, "the sentencepiece library cannot read it: "),
        (("<unk2>", 0.0, 2), "the sentencepiece library cannot read it: "),
    ],
)
def test_invalid_pieces_are_refused(tmp_path, more, words):
    model = small_model(more) if more else small_model()
    if not more:
        del model.pieces[0]  # the unknown piece
    with refusal(words, "mine.model"):
        load(put(tmp_path, model))


def test_a_file_truncated_at_any_length_is_refused(tmp_path):
    whole = small_model().SerializeToString()
    for length in range(len(whole)):
        with pytest.raises(FormatError, match=r"^mine\.model: [^\n]+\.$"):
            load(put(tmp_path, whole[:length]))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02\n\xff\xff\xff\xff\x0f", "the file ends too early, in field 1"),
        (b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02\n\xff\xff\xff\xff\xff\xff\x01", "this is not a SentencePiece model"),
        (b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02\x0d\0\0\0\0", "this is not a SentencePiece model, or it is damaged"),
        (b"\n\x07\n\x05<\xffnk>\x12\x02\x18\x02\x1a\0", "piece 0 is not UTF-8"),
        (b"\n\x03\n\x01a\n\x02\x18\x63", "the file ends too early: it does not say how text is normalized"),
    ],
)
def test_bytes_that_are_no_model_are_refused(tmp_path, content, words):
    with refusal(words, "mine.model"):
        load(put(tmp_path, content))


def test_too_many_pieces_are_refused_before_they_are_made(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "MOST_PIECES", 1000)
    with pytest.raises(FormatError, match=r"^mine\.model: there are more than 1,000 pieces\.$"):
        load(put(tmp_path, b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02" + b"\n\x03\n\x01a" * 1000))
    with put(tmp_path, small_model()).open("ab") as file:
        file.truncate((1 << 26) + 1)
    with pytest.raises(FormatError, match=r"^mine\.model: the file is too large: 67,108,865 bytes, and at most"):
        load(tmp_path / "mine.model")


# --- Writing SentencePiece models, compared with the sentencepiece library --------------------------------------------

# The library takes no character U+0000.
PLAIN = TEXT.replace("\0", "") + " banana bandana\u3000\u3000 the cat, the mat"


def saved(tokenizer, path, **more):
    save(tokenizer, path, "sentencepiece", sample=PLAIN, **more)
    return library(path.read_bytes())


def fused(ids, unknown):
    return [token for place, token in enumerate(ids) if token != unknown or place == 0 or ids[place - 1] != unknown]


SPECIALS = ("<s>", "<s>a", "the mat", "雨は", "\n\n", "<unk>", "<gap 3>")

MAKE = [
    lambda: of_characters(PLAIN),
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


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    theirs = library(path.read_bytes())
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
def test_tokenizers_that_the_library_encodes_differently_are_refused(tmp_path, make, words):
    for accept_loss in (False, True):
        with refusal(words, "out.model"):
            save(make(), tmp_path / "out.model", "sentencepiece", accept_loss)
        assert list(tmp_path.iterdir()) == []


def test_a_model_that_is_wrong_is_found_out_before_it_is_there(tmp_path, monkeypatch):
    def exchanged(whole):
        model = schema.ModelProto.FromString(whole)
        one, other = (next(piece for piece in model.pieces if piece.piece == text) for text in ("th", "the"))
        one.piece, other.piece = other.piece, one.piece
        return model.SerializeToString()

    spoil(monkeypatch, "sentencepiece", "tokenizer.model", exchanged)
    words = r"^x\.model: read back by the sentencepiece library, .*"
    with pytest.raises(FormatError, match=words + r'("the" \[\d+.* instead of "th"|ids do not decode)'):
        save(of_characters(PLAIN), tmp_path / "x.model", "sentencepiece", sample=PLAIN)
    assert list(tmp_path.iterdir()) == []


def test_the_snippet_gives_our_ids(tmp_path):
    tokenizer, names = with_unknown(), {}
    exec(save(tokenizer, tmp_path / "my 日本語.model", "sentencepiece").snippet, names)
    unknown = tokenizer.alphabet.unknown
    assert names["ids"] == fused(tokenizer.encode("Hello world"), unknown)
    assert names["tokenizer"].encode(PLAIN) == fused(tokenizer.encode(PLAIN, ["<s>", "a b", "<pad>"]), unknown)
