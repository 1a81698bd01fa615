"""Tokenizers without merges are opened through their library, and whatever needs merges says that there are none."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import pickle
from functools import partial

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import decoders, models, pre_tokenizers, processors, trainers

from tests.core.formats import without_merges
from tests.core.formats.trained import TEXT, library_ids
from tokstudio import save
from tokstudio.core.analysis.encoding_steps import steps_work
from tokstudio.core.analysis.reachability import REACHED, reachability_work
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.loading import load
from tokstudio.core.formats.saving import fit
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.text.byte_level import to_bytes

WORDS = [TEXT, "the cat sat on the mat, unaffable naïve cafés", torture_text()] * 3
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PATIENT = settings(deadline=None, max_examples=60)


def word_piece():
    made = without_merges.word_piece(WORDS, 300, SPECIALS)
    ids = [(token, made.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ids)
    return made


word_level = partial(without_merges.word_level, WORDS)
unigram = partial(without_merges.unigram, WORDS, 1000, ["<s>", "</s>", "<unk>"])


def unigram_of_bytes():
    made = tokenizers.Tokenizer(models.Unigram())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=True), decoders.ByteLevel()
    trainer = trainers.UnigramTrainer(
        vocab_size=400,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<unk>"],
        unk_token="<unk>",
        show_progress=False,
    )
    made.train_from_iterator(WORDS, trainer)
    return made


MADE = {
    "WordPiece": word_piece,
    "WordLevel": word_level,
    "Unigram": unigram,
    "Unigram of bytes": unigram_of_bytes,
}


@pytest.fixture(scope="module", params=MADE)
def both(request, tmp_path_factory):
    """The library's tokenizer, ours, and the file."""
    path = tmp_path_factory.mktemp("opened") / "tokenizer.json"
    MADE[request.param]().save(str(path))
    # Read back as ours is: scores of a model that was just trained have more digits than those in its file.
    return tokenizers.Tokenizer.from_file(str(path)), load(path), path


def ids_of(theirs, text):
    return theirs.encode(text, add_special_tokens=False).ids


def test_it_encodes_and_decodes_as_its_library(both):
    theirs, ours, _ = both
    for text in (*WORDS[:3], "[CLS] the </s> cat [SEP]", "", "   ", "\n", "e\u0301 ﬁ"):
        ids = ids_of(theirs, text)
        assert ours.encode(text, "all") == ids
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=False)


@PATIENT
@given(st.text(max_size=60))
def test_its_tokens_end_within_the_text(both, text):
    theirs, ours, _ = both
    ids, ends = finish(ours.encode_with_ends_work(text, "all"))
    assert ids.tolist() == ids_of(theirs, text)
    assert len(ends) == len(ids)
    assert ends.tolist() == sorted(ends.tolist())
    assert all(0 <= end <= len(text.encode()) for end in ends.tolist())


def test_it_shows_its_vocabulary(both):
    theirs, ours, _ = both
    known = theirs.get_vocab(with_added_tokens=True)
    assert len(ours) == len(known)
    assert ours.special_tokens == {token: number for token, number in known.items() if token in ours.special_tokens}
    assert set(ours.special_tokens) == {token.content for token in theirs.get_added_tokens_decoder().values()}
    space = "▁" if theirs.normalizer is not None and ours.model == "Unigram" else " "
    for token, number in known.items():
        in_bytes = ours.alphabet.base == "bytes" and token not in ours.special_tokens
        assert ours.tokens[number] == (to_bytes(token) if in_bytes else token.replace(space, " ").encode())
    assert {ours.kind(number) for number in known.values()} <= {"byte", "character", "special", "other"}
    assert (finish(reachability_work(ours)) == REACHED).all()


def test_whatever_needs_merges_says_that_there_are_none(both):
    _, ours, _ = both
    sentence = f"There are no merges: the model of this tokenizer is {ours.model}."
    assert ours.no_merges == sentence
    assert ours.no_playhead == f"its model is {ours.model}, so the tokenizers library encodes for it"
    assert ours.merges.shape == (0, 2)
    assert ours.at(0) is ours
    for ask in (lambda: ours.at(1), lambda: finish(steps_work(ours, "the cat"))):
        with pytest.raises(ConfigError) as caught:
            ask()
        assert str(caught.value) == sentence
    assert fit(ours, "merges-csv").problem == fit(ours, "merges-jsonl").problem == sentence
    assert "works only from its own file" in fit(ours, "tiktoken").problem


def test_it_is_exported_as_a_copy_and_its_vocabulary_as_a_table(both, tmp_path):
    _, ours, path = both
    report = save(ours, tmp_path / "copy", "huggingface", sample=TEXT)
    assert (tmp_path / "copy" / "tokenizer.json").read_bytes() == path.read_bytes()
    assert report.proof.startswith("identical over ")
    save(ours, tmp_path / "tokens.csv", "vocabulary-csv")
    assert (tmp_path / "tokens.csv").read_text("utf-8").count("\n") == len(ours) + 1
    assert pickle.loads(pickle.dumps(ours)).encode(TEXT) == ours.encode(TEXT)


def test_the_parts_of_a_model_may_stand_in_any_order_and_its_kind_may_be_missing(both, tmp_path):
    theirs, ours, path = both
    file = json.loads(path.read_text("utf-8"))
    for backwards in (False, True):
        model = {key: file["model"][key] for key in sorted(file["model"], reverse=backwards) if key != "type"}
        (tmp_path / "tokenizer.json").write_text(json.dumps({**file, "model": model}))
        again = load(tmp_path)
        assert again.model == ours.model
        assert again.encode(TEXT, "all") == ids_of(theirs, TEXT)


def test_a_tokenizer_in_the_manner_of_bert_tells_what_is_added_to_every_text(tmp_path):
    word_piece().save(str(tmp_path / "tokenizer.json"))
    assert load(tmp_path).remarks == (
        "Its post-processor adds [CLS] before and [SEP] after every text; encode does not.",
    )


@pytest.mark.parametrize("make", [word_piece, word_level])
@pytest.mark.parametrize("vocabulary", [True, False])
def test_without_its_unknown_token_only_known_text_is_encoded(tmp_path, make, vocabulary):
    file = json.loads(make().to_str())
    file["model"]["unk_token"] = "[WHAT]"
    file["added_tokens"], file["post_processor"] = [], None
    if not vocabulary:
        file["model"]["vocab"] = {}
    (tmp_path / "tokenizer.json").write_text(json.dumps(file))
    tokenizer = load(tmp_path)
    assert tokenizer.remarks == ('Its unknown token "[WHAT]" is not in the vocabulary: unknown text is an error.',)
    known = next((token for token in file["model"]["vocab"] if token.isalpha()), "")
    assert tokenizer.encode(known) == library_ids(tmp_path / "tokenizer.json", known)
    with pytest.raises(FormatError, match=r"^tokenizer\.json: the tokenizers library cannot encode with it: .*Missing"):
        tokenizer.encode("x" * 200)


UNKNOWN = "its unknown token is not in the vocabulary"
PIECE = "a piece must be a text and a score"


@pytest.mark.parametrize(
    ("make", "change", "words"),
    [
        (word_piece, {"unk_token": None}, "its unknown token is not a string"),
        (word_piece, {"unk_token": {}}, "its unknown token is not a string"),
        (word_piece, {"vocab": {"a": 10**12}}, 'token "a": id 1000000000000 is too large'),
        (word_piece, {"vocab": {"[UNK]": 0, "a": 2**24 - 1}}, "id 16,777,215 is far too high for 2 tokens"),
        (word_piece, {"vocab": {"[UNK]": 0, "a": 0}}, 'token "a": id 0 appears twice'),
        (word_piece, {"vocab": [["a", 1.0]]}, '"vocab" must be an object in the model'),
        (word_piece, {"vocab": None}, '"vocab" must be an object in the model'),
        (word_piece, {"max_input_chars_per_word": -1}, "the tokenizers library cannot read it: "),
        (word_piece, {"continuing_subword_prefix": 5}, "the tokenizers library cannot read it: "),
        (word_level, {"vocab": {"a": -1}}, 'token "a": id -1 is negative'),
        (unigram, {"unk_id": 10**6}, UNKNOWN),
        (unigram, {"unk_id": -1}, UNKNOWN),
        (unigram, {"unk_id": True}, UNKNOWN),
        (unigram, {"vocab": []}, UNKNOWN),
        (unigram, {"vocab": {}}, '"vocab" must be an array in the model'),
        (unigram, {"vocab": "a"}, '"vocab" must be an array in the model'),
        (unigram, {"vocab": [["a", -1.0], ["a", -2.0], ["b", 0]]}, 'token "a" appears twice'),
        (unigram, {"vocab": [["a"]]}, PIECE),
        (unigram, {"vocab": [["a", "b"]]}, PIECE),
        (unigram, {"vocab": [["a", True]]}, PIECE),
        (unigram, {"vocab": [["a", None]]}, PIECE),
        (unigram, {"vocab": [[1, 1.0]]}, PIECE),
        (unigram, {"vocab": ["a"]}, PIECE),
        (unigram, {"vocab": [["a", float("nan")]]}, "this is not JSON (NaN is not a value)"),
        (unigram, {"vocab": [["a", float("inf")]]}, "this is not JSON (Infinity is not a value)"),
    ],
)
def test_damaged_files_are_refused_in_one_sentence(tmp_path, make, change, words):
    file = json.loads(make().to_str())
    file["model"] |= change
    file["added_tokens"], file["post_processor"] = [], None
    (tmp_path / "tokenizer.json").write_text(json.dumps(file))
    with pytest.raises(FormatError) as caught:
        load(tmp_path)
    assert str(caught.value).startswith("tokenizer.json: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("make", [word_piece, word_level, unigram])
def test_a_model_without_a_vocabulary_is_refused(tmp_path, make):
    file = json.loads(make().to_str())
    del file["model"]["vocab"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(file))
    with pytest.raises(FormatError, match=r'^tokenizer\.json: the key "vocab" is missing in the model'):
        load(tmp_path)


def test_a_score_that_no_number_can_hold_is_refused(tmp_path):
    file = json.loads(unigram().to_str())
    whole = json.dumps(file).replace('["<s>", 0.0]', '["<s>", -1e999]')
    (tmp_path / "tokenizer.json").write_text(whole)
    with pytest.raises(FormatError, match=rf"^tokenizer\.json: {PIECE}, line 1"):
        load(tmp_path)


def test_text_without_tokens_is_an_error_where_there_is_no_unknown_token(tmp_path):
    file = json.loads(unigram().to_str())
    file["model"] |= {"unk_id": None, "vocab": [["a", -1.0], ["▁", -2.0]]}
    file["added_tokens"] = []
    (tmp_path / "tokenizer.json").write_text(json.dumps(file))
    tokenizer = load(tmp_path)
    assert tokenizer.encode("a a") == [1, 0, 1, 0]
    with pytest.raises(FormatError, match=r"^tokenizer\.json: the tokenizers library cannot encode with it: [^\n]+$"):
        tokenizer.encode("b")
    assert tokenizer.encode("a") == [1, 0]
