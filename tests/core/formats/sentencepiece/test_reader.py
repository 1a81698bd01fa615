"""SentencePiece's models are read as its library reads them, or refused in one sentence."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import math

import pytest
import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as schema

from tests.core.formats.trained import TEXT, banana, tiktoken_lines, with_unknown
from tokstudio import save
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.known_formats import tokenizer_files
from tokstudio.core.formats.loading import load, load_work
from tokstudio.core.formats.sentencepiece import reader
from tokstudio.core.libraries.client import torture_text

KINDS = ("byte", "character", "merge", "special", "unreachable", "other")
OPTIONS = {
    "plain": {},
    "bytes": {"byte_fallback": True, "character_coverage": 0.98},
    "symbols": {"user_defined_symbols": ["<x>", "the cat"], "control_symbols": ["<c>"]},
    "as it is": {
        "add_dummy_prefix": False,
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
    },
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


def test_derived_merges_are_those_of_the_training(tmp_path):
    tokenizer = load(put(tmp_path, trained_model(normalization_rule_name="identity")))
    assert len(tokenizer.merges) > 100
    known = set(tokenizer.alphabet.ids.tolist())
    for (left, right), result in zip(tokenizer.merges.tolist(), tokenizer.merge_results.tolist(), strict=True):
        assert {left, right} <= known
        assert tokenizer.tokens[left] + tokenizer.tokens[right] == tokenizer.tokens[result]
        known.add(result)


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
    path = path.rename(tmp_path / "weights.bin")
    assert finish(load_work(path)).format == "sentencepiece"
    save(banana(), tmp_path / "bpe.model", "minbpe")
    assert finish(load_work(tmp_path)).format == "minbpe"
    assert finish(load_work(tmp_path / "weights.bin")).format == "sentencepiece"
    put(tmp_path, small_model())
    with pytest.raises(
        FormatError, match=r"the folder holds more than one tokenizer, bpe\.model and mine\.model: open"
    ):
        load(tmp_path)


def test_a_written_model_is_read_back(tmp_path):
    tokenizer = with_unknown()
    save(tokenizer, tmp_path / "mine.model", "sentencepiece", accept_loss=True)
    again = load(tmp_path)
    assert len(again) == len(tokenizer)
    assert again.merges.tolist() == tokenizer.merges.tolist()
    assert again.encode("the cat") == tokenizer.encode("the cat")


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        *(("unigram", options) for options in OPTIONS),
        *(("word", options) for options in ("plain", "symbols", "spaces behind")),
        *(("char", options) for options in ("bytes", "as it is")),
    ],
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
        (("<unk2>", 0.0, 2), "the sentencepiece library cannot read it: "),
    ],
)
def test_invalid_pieces_are_refused(tmp_path, more, words):
    with pytest.raises(FormatError) as caught:
        load(put(tmp_path, small_model(more)))
    assert str(caught.value).startswith(f"mine.model: {words}")
    assert "\n" not in str(caught.value)


def test_a_model_without_an_unknown_piece_is_refused_by_the_library(tmp_path):
    model = small_model()
    del model.pieces[0]
    with pytest.raises(FormatError, match=r"^mine\.model: the sentencepiece library cannot read it: [^\n]+\.$"):
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
    with pytest.raises(FormatError) as caught:
        load(put(tmp_path, content))
    assert str(caught.value).startswith(f"mine.model: {words}")


def test_too_many_pieces_are_refused_before_they_are_made(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "_MOST_PIECES", 5)
    with pytest.raises(FormatError, match=r"^mine\.model: there are more than 5 pieces\.$"):
        load(put(tmp_path, small_model()))
    monkeypatch.setattr(reader, "_LARGEST", 20)
    with pytest.raises(
        FormatError, match=r"^mine\.model: the file is too large: \d+ bytes, and at most 20 are read\.$"
    ):
        load(put(tmp_path, small_model()))


def test_a_model_of_tiktoken_s_is_told_apart(tmp_path):
    content = tiktoken_lines({bytes([byte]): byte for byte in range(256)})
    assert finish(load_work(put(tmp_path, content), "none")).format == "tiktoken"


@pytest.mark.shared_data
def test_mistral_s_model_encodes_as_its_library_does(shared):
    path = shared / "tokenizers" / "mistral_v1.model"
    tokenizer, theirs = load(path), library(path.read_bytes())
    assert len(tokenizer) == 32000
    assert len(tokenizer.merges) == 28446
    text = (shared / "corpora" / "shakespeare.txt").read_text("utf-8")[:200_000]
    for sample in (text, torture_text(), TEXT):
        assert tokenizer.encode(sample) == theirs.encode(sample)


@pytest.mark.parametrize("name", ["vocab.spm", "tokenizer.model.v3", "TOKENIZER.MODEL.v7m1"])
def test_a_model_with_another_ending_is_a_tokenizer_and_no_text(tmp_path, name):
    (tmp_path / name).write_bytes(small_model().SerializeToString())
    assert tokenizer_files(tmp_path / name) == (tmp_path / name,)
    assert load(tmp_path / name).library == "sentencepiece"
    (tmp_path / name).write_text("\nA\nsmall text about models\n")
    (tmp_path / "book.txt").write_bytes(small_model().SerializeToString())
    assert tokenizer_files(tmp_path / "book.txt") == ()
