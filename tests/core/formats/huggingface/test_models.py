"""Tokenizers without merges are opened through their library, and whatever needs merges says that there are none."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import pickle
import random
from functools import cache, partial

import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from tests.core.formats import without_merges
from tests.core.formats.trained import TEXT, library_ids, refusal
from tokstudio import ConfigError, FormatError, load, save
from tokstudio.core.analysis.encoding_steps import steps_work
from tokstudio.core.analysis.reachability import REACHED, reachability_work
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.known_formats import tokenizer_files
from tokstudio.core.formats.loading import load_work
from tokstudio.core.formats.saving import fit
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.project import keep_tokenizer_work, reopen_tokenizer_work
from tokstudio.core.text.byte_level import to_bytes

WORDS = [TEXT, "the cat sat on the mat, unaffable naïve cafés", torture_text()] * 3
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


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


@cache
def file_of(make):
    """The text of its file; it is trained once."""
    return make().to_str()


MADE = {"WordPiece": word_piece, "WordLevel": word_level, "Unigram": unigram, "Unigram of bytes": unigram_of_bytes}


@pytest.fixture(scope="module", params=MADE)
def both(request, tmp_path_factory):
    """The library's tokenizer, ours, and the file."""
    path = tmp_path_factory.mktemp("opened") / "tokenizer.json"
    path.write_text(file_of(MADE[request.param]), "utf-8")
    # Read back as ours is: scores of a model that was just trained have more digits than those in its file.
    return tokenizers.Tokenizer.from_file(str(path)), load(path), path


def ids_of(theirs, text):
    return theirs.encode(text, add_special_tokens=False).ids


def test_it_encodes_and_decodes_as_its_library(both):
    theirs, ours, _ = both
    told = "Its post-processor adds [CLS] before and [SEP] after every text; encode does not."
    assert ours.remarks == ((told,) if ours.model == "WordPiece" else ())
    chance = random.Random(1)
    drawn = ["".join(chance.choices("aehtsm ,\n0é日\u0301ﬁ😀▁", k=30)) for _ in range(40)]
    for text in (*WORDS[:3], "[CLS] the </s> cat [SEP]", "", "   ", "\n", "e\u0301 ﬁ", *drawn):
        found, ends = finish(ours.encode_with_ends_work(text, "all"))
        ids, ends = found.tolist(), ends.tolist()
        assert ids == ours.encode(text, "all") == ids_of(theirs, text)
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=False)
        assert len(ends) == len(ids)
        assert ends == sorted(ends)
        assert all(0 <= end <= len(text.encode()) for end in ends)


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
    assert report.proof.startswith("identical on the test text")
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
        assert (again.model, again.encode(TEXT, "all")) == (ours.model, ids_of(theirs, TEXT))


@pytest.mark.parametrize("make", [word_piece, word_level])
@pytest.mark.parametrize("vocabulary", [True, False])
def test_without_its_unknown_token_only_known_text_is_encoded(tmp_path, make, vocabulary):
    file = json.loads(file_of(make))
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


def test_without_an_unknown_id_only_known_pieces_are_encoded(tmp_path):
    file = json.loads(file_of(unigram)) | {"added_tokens": []}
    file["model"] |= {"unk_id": None, "vocab": [["a", -1.0], ["▁", -2.0]]}
    (tmp_path / "tokenizer.json").write_text(json.dumps(file))
    tokenizer = load(tmp_path)
    assert tokenizer.encode("a a") == [1, 0, 1, 0]
    with pytest.raises(FormatError, match=r"^tokenizer\.json: the tokenizers library cannot encode with it: [^\n]+$"):
        tokenizer.encode("b")
    assert tokenizer.encode("a") == [1, 0]


UNKNOWN = "its unknown token is not in the vocabulary"
PIECE = "a piece must be a text and a score"


@pytest.mark.parametrize(
    ("make", "change", "words"),
    [
        (word_piece, {"unk_token": None}, "its unknown token is not a string"),
        (word_piece, {"vocab": {"a": 10**12}}, 'token "a": id 1000000000000 is too large'),
        (word_piece, {"vocab": {"[UNK]": 0, "a": 2**24 - 1}}, "the id 16,777,215 is far too high for 2 tokens"),
        (word_piece, {"vocab": {"[UNK]": 0, "a": 0}}, 'token "a": id 0 appears twice'),
        (word_piece, {"vocab": None}, '"vocab" must be an object in the model'),
        (word_piece, {"continuing_subword_prefix": 5}, "the tokenizers library cannot read it: "),
        *((make, None, 'the key "vocab" is missing in the model') for make in (word_piece, word_level, unigram)),
        (word_level, {"vocab": {"a": -1}}, 'token "a": id -1 is negative'),
        (unigram, {"unk_id": 10**6}, UNKNOWN),
        (unigram, {"unk_id": True}, UNKNOWN),
        (unigram, {"vocab": []}, UNKNOWN),
        (unigram, {"vocab": {}}, '"vocab" must be an array in the model'),
        (unigram, {"vocab": [["a", -1.0], ["a", -2.0], ["b", 0]]}, 'token "a" appears twice'),
        (unigram, {"vocab": [["a"]]}, PIECE),
        (unigram, {"vocab": [["a", True]]}, PIECE),
        (unigram, {"vocab": [["a", 1.5]]}, "the number 1e999 is too large"),  # which stands in its place
        (unigram, {"vocab": [["a", -(10**400)]]}, PIECE),  # with a score that no number of the library can hold
        (unigram, {"vocab": [[1, 1.0]]}, PIECE),
        (unigram, {"vocab": [["a", float("nan")]]}, "this is not JSON (NaN is not a value)"),
    ],
)
def test_damaged_files_are_refused_in_one_sentence(tmp_path, make, change, words):
    file = json.loads(file_of(make))
    file["added_tokens"], file["post_processor"] = [], None
    if change is None:
        del file["model"]["vocab"]
    else:
        file["model"] |= change
    (tmp_path / "tokenizer.json").write_text(json.dumps(file).replace("1.5]", "1e999]"))
    with refusal(words, "tokenizer.json"):
        load(tmp_path)


# --- `vocab.txt` of BERT and pairs with ends of words give the ids that transformers gives ----------------------------

HELLO = "Hello wörld, the WORLD of words. 日本 words日本 Straße [CLS] hello [MASK]\n"
PIECES = [
    *SPECIALS, "hello", "Hello", "wor", "##ld", "##ds", "wörld", "日", "本", "W", "the", "of", ",", ".", "[", "]", "s",
    "st", "##ra", "##ß", "##ss", "##e", "strasse", "日本", "##本", "wo", "##rl",
]  # fmt: skip


def bert(folder, words=PIECES, **config):
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    if config:
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", **config}))
    return folder


def by_transformers(name, folder):
    """Encodes with the library of transformers, which has special tokens in the text recognised."""
    transformers = pytest.importorskip("transformers")
    made = getattr(transformers, name).from_pretrained(folder)
    return lambda text: ids_of(made.backend_tokenizer, text)


@pytest.mark.parametrize(
    ("lower", "strip", "chinese"),
    [(None, None, None), (True, None, False), (True, False, None), (False, None, None), (False, True, False)],
)
def test_a_vocabulary_is_read_as_transformers_reads_it(tmp_path, lower, strip, chinese):
    given = {"do_lower_case": lower, "strip_accents": strip, "tokenize_chinese_chars": chinese}
    folder = bert(tmp_path / "b", **{key: value for key, value in given.items() if value is not None})
    theirs = by_transformers("BertTokenizer", folder)
    for path in (folder, folder / "vocab.txt"):
        tokenizer = load(path)
        assert (tokenizer.library, tokenizer.model) == ("tokenizers", "WordPiece")
        for text in (HELLO, torture_text()):
            assert tokenizer.encode(text, "all") == theirs(text)
    assert tokenizer.special_tokens == {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
    assert tokenizer.encode("[CLS]") != [2]
    assert any("lower case" in remark for remark in tokenizer.remarks) == (lower is None)


@pytest.mark.parametrize(
    "lines",
    [
        b"[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\nhello\r\nwor\r\n##ld\r\n",
        b"[PAD]\n[UNK]\n[CLS]\n[SEP]\nhello \t\nwor\xe3\x80\x80\n##ld",  # no [MASK], white space at ends of lines
        b"hello\n[UNK]\n\nwor\nhello\n##ld\n[PAD]\n[CLS]\n[SEP]\n[MASK]\nthe\n",  # a token twice, and an empty line
    ],
)
def test_lines_are_read_as_the_library_reads_them(tmp_path, lines):
    folder = bert(tmp_path / "b")
    (folder / "vocab.txt").write_bytes(lines)
    assert load(folder).encode("Hello world", "all") == by_transformers("BertTokenizer", folder)("Hello world")
    other = tmp_path / "bert-base-vocab.txt"
    other.write_bytes(lines)
    if lines.startswith(b"[PAD]"):
        assert tokenizer_files(other) == (other,)
        assert load(other).encode("Hello world") == load(folder).encode("Hello world")


def test_its_special_tokens_may_have_other_names(tmp_path):
    words = ["<pad>", "<unk>", "<s>", "</s>", *PIECES[5:]]
    roles = {"unk_token": "<unk>", "pad_token": {"content": "<pad>", "__type": "AddedToken"}, "cls_token": "<s>"}
    folder = bert(tmp_path / "b", words, **roles, sep_token="</s>")
    text = HELLO + "<s> unheard </s><pad>"
    assert load(folder).encode(text, "all") == by_transformers("BertTokenizer", folder)(text)
    (folder / "special_tokens_map.json").write_text(json.dumps({"cls_token": "the"}))
    assert load(folder).encode(text, "all") == by_transformers("BertTokenizer", folder)(text)
    assert "the" in load(folder).special_tokens


def test_its_export_and_a_project_keep_it(tmp_path):
    transformers = pytest.importorskip("transformers")
    folder = bert(tmp_path / "b", do_lower_case=False)
    loaded = finish(load_work(folder))
    assert loaded.format == "wordpiece"
    tokenizer = loaded.tokenizer
    report = save(tokenizer, tmp_path / "out")
    assert report.proof.startswith("identical")
    made = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "out" / "tokenizer.json"))
    assert made(HELLO, add_special_tokens=False).input_ids == tokenizer.encode(HELLO, "all")
    assert made("hello").input_ids == [2, 5, 3]
    kept = finish(keep_tokenizer_work("b", loaded.files))
    assert finish(reopen_tokenizer_work(kept)).encode(HELLO) == tokenizer.encode(HELLO)


def test_what_is_no_such_vocabulary_or_that_of_another_class_is_refused(tmp_path):
    for config, words in (
        ({"tokenizer_class": "EsmTokenizer"}, r"^vocab\.txt: it is made for EsmTokenizer, and TokStudio reads"),
        ({"do_lower_case": "yes"}, r'^tokenizer_config\.json: "do_lower_case" must be true or false\.$'),
    ):
        with pytest.raises(FormatError, match=words):
            load(bert(tmp_path / "b", **config))
    (tmp_path / "b" / "vocab.txt").write_bytes(b"[UNK]\n\xff\xff\n[CLS]\n")
    with pytest.raises(FormatError, match=r"^vocab\.txt: this is not UTF-8, line 2\.$"):
        load(tmp_path / "b")
    (tmp_path / "vocab.txt").write_text("hello\nworld\n[UNK] is in no line of its own\n")
    (tmp_path / "my-vocab.txt").write_text("hello\nworld\n")
    for name in ("vocab.txt", "my-vocab.txt"):
        assert tokenizer_files(tmp_path / name) == ()
        with pytest.raises(FormatError, match="not a tokenizer file TokStudio can read"):
            load(tmp_path / name)


TRAINED_ON = ["the words of the worlds, hello world! it's 日本 wörter <unk> 12 34"] * 9


def pair(folder, byte_level):
    """Files as CLIP or GPT-1 has them, trained by the library."""
    specials = ["<|startoftext|>", "<|endoftext|>"] if byte_level else ["<unk>"]
    made = tokenizers.Tokenizer(models.BPE(end_of_word_suffix="</w>", unk_token=specials[-1]))
    made.normalizer = normalizers.Lowercase()
    # CLIP's vocabulary has each byte, and each as the end of a word.
    made.pre_tokenizer = pre_tokenizers.ByteLevel(False) if byte_level else pre_tokenizers.BertPreTokenizer()
    alphabet = pre_tokenizers.ByteLevel.alphabet() if byte_level else []
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=specials,
        end_of_word_suffix="</w>",
        initial_alphabet=alphabet,
        show_progress=False,
    )
    made.train_from_iterator(TRAINED_ON, trainer)
    folder.mkdir(exist_ok=True)
    made.model.save(str(folder))
    return folder


@pytest.mark.parametrize(("name", "byte_level"), [("CLIPTokenizer", True), ("OpenAIGPTTokenizer", False)])
def test_a_pair_with_ends_of_words_is_read_as_transformers_reads_it(tmp_path, name, byte_level):
    folder = pair(tmp_path / "p", byte_level)
    theirs = by_transformers(name, folder)
    known = "".join(character for character in TRAINED_ON[0] * 2 if byte_level or character.isascii())
    for path in (folder, folder / "vocab.json", folder / "merges.txt"):
        assert tokenizer_files(path) == (folder / "vocab.json", folder / "merges.txt")
        loaded = finish(load_work(path))
        tokenizer = loaded.tokenizer
        assert (loaded.format, tokenizer.library, tokenizer.model) == ("word-ends", "tokenizers", "BPE")
        for text in (TRAINED_ON[0], known.upper(), torture_text() + "<|endoftext|> <unk>"):
            assert tokenizer.encode(text, "all") == theirs(text)
    assert tokenizer.decode(tokenizer.encode("the world")) == "the world"
    renamed = tmp_path / "renamed"  # as GPT-2 names its files
    renamed.mkdir()
    for usual, other in (("vocab.json", "encoder.json"), ("merges.txt", "vocab.bpe")) if byte_level else ():
        (renamed / other).write_bytes((folder / usual).read_bytes())
    assert not byte_level or load(renamed).encode(TRAINED_ON[0]) == tokenizer.encode(TRAINED_ON[0])
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}))
    assert load(folder).encode(TRAINED_ON[0]) == tokenizer.encode(TRAINED_ON[0])
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "HerbertTokenizer"}))
    with pytest.raises(FormatError, match=r"^vocab\.json: it is made for HerbertTokenizer, and TokStudio reads"):
        load(folder)
