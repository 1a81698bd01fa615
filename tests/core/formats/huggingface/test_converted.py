"""`vocab.txt` of BERT and pairs with ends of words give the ids that transformers gives."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import itertools
import json

import pytest
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, trainers

from tokstudio import save
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.known_formats import tokenizer_files
from tokstudio.core.formats.loading import load, load_work
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.project import keep_tokenizer_work, reopen_tokenizer_work

TEXT = "Hello wörld, the WORLD of words. 日本 words日本 Straße [CLS] hello [MASK]\n"
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "hello",
    "Hello",
    "wor",
    "##ld",
    "##ds",
    "wörld",
    "日",
    "本",
    "W",
]
WORDS += [
    "the",
    "of",
    ",",
    ".",
    "[",
    "]",
    "s",
    "st",
    "##ra",
    "##ß",
    "##ss",
    "##e",
    "strasse",
    "日本",
    "##本",
    "wo",
    "##rl",
]


def bert(folder, words=WORDS, **config):
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    if config:
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", **config}))
    return folder


def theirs(name, folder, text):
    """The ids by the library of transformers, which has special tokens in the text recognised."""
    transformers = pytest.importorskip("transformers")
    made = getattr(transformers, name).from_pretrained(folder)
    return made.backend_tokenizer.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize(
    ("lower", "strip", "chinese"), list(itertools.product([None, True, False], [None, True, False], [None, False]))
)
def test_a_vocabulary_is_read_as_transformers_reads_it(tmp_path, lower, strip, chinese):
    given = {"do_lower_case": lower, "strip_accents": strip, "tokenize_chinese_chars": chinese}
    folder = bert(tmp_path / "b", **{key: value for key, value in given.items() if value is not None})
    for path in (folder, folder / "vocab.txt"):
        tokenizer = load(path)
        assert (tokenizer.library, tokenizer.model) == ("tokenizers", "WordPiece")
        for text in (TEXT, torture_text()):
            assert tokenizer.encode(text, "all") == theirs("BertTokenizer", folder, text)
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
    assert load(folder).encode("Hello world", "all") == theirs("BertTokenizer", folder, "Hello world")
    other = tmp_path / "bert-base-vocab.txt"
    other.write_bytes(lines)
    if lines.startswith(b"[PAD]"):
        assert tokenizer_files(other) == (other,)
        assert load(other).encode("Hello world") == load(folder).encode("Hello world")


def test_its_special_tokens_may_have_other_names(tmp_path):
    words = ["<pad>", "<unk>", "<s>", "</s>", *WORDS[5:]]
    roles = {"unk_token": "<unk>", "pad_token": {"content": "<pad>", "__type": "AddedToken"}, "cls_token": "<s>"}
    folder = bert(tmp_path / "b", words, **roles, sep_token="</s>")
    text = TEXT + "<s> unheard </s><pad>"
    assert load(folder).encode(text, "all") == theirs("BertTokenizer", folder, text)
    (folder / "special_tokens_map.json").write_text(json.dumps({"cls_token": "the"}))
    assert load(folder).encode(text, "all") == theirs("BertTokenizer", folder, text)
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
    assert made(TEXT, add_special_tokens=False).input_ids == tokenizer.encode(TEXT, "all")
    assert made("hello").input_ids == [2, 5, 3]
    kept = finish(keep_tokenizer_work("b", loaded.files))
    assert finish(reopen_tokenizer_work(kept)).encode(TEXT) == tokenizer.encode(TEXT)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"tokenizer_class": "EsmTokenizer"}, r"^vocab\.txt: it is made for EsmTokenizer, and TokStudio reads"),
        ({"do_lower_case": "yes"}, r'^tokenizer_config\.json: "do_lower_case" must be true or false\.$'),
    ],
)
def test_what_another_class_would_make_of_it_is_refused(tmp_path, config, words):
    with pytest.raises(FormatError, match=words):
        load(bert(tmp_path / "b", **config))


def test_a_list_of_words_is_a_text(tmp_path):
    (tmp_path / "vocab.txt").write_text("hello\nworld\n[UNK] is in no line of its own\n")
    (tmp_path / "my-vocab.txt").write_text("hello\nworld\n")
    for name in ("vocab.txt", "my-vocab.txt"):
        assert tokenizer_files(tmp_path / name) == ()
        with pytest.raises(FormatError, match="not a tokenizer file TokStudio can read"):
            load(tmp_path / name)


def test_a_damaged_vocabulary_is_named(tmp_path):
    folder = bert(tmp_path / "b")
    (folder / "vocab.txt").write_bytes(b"[UNK]\n\xff\xff\n[CLS]\n")
    with pytest.raises(FormatError, match=r"^vocab\.txt: this is not UTF-8, line 2\.$"):
        load(folder)


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
    known = "".join(character for character in TRAINED_ON[0] * 2 if byte_level or character.isascii())
    for path in (folder, folder / "vocab.json", folder / "merges.txt"):
        assert tokenizer_files(path) == (folder / "vocab.json", folder / "merges.txt")
        loaded = finish(load_work(path))
        tokenizer = loaded.tokenizer
        assert (loaded.format, tokenizer.library, tokenizer.model) == ("word-ends", "tokenizers", "BPE")
        for text in (TRAINED_ON[0], known.upper(), torture_text() + "<|endoftext|> <unk>"):
            assert tokenizer.encode(text, "all") == theirs(name, folder, text)
    assert tokenizer.decode(tokenizer.encode("the world")) == "the world"
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}))
    assert load(folder).encode(TRAINED_ON[0]) == tokenizer.encode(TRAINED_ON[0])
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "HerbertTokenizer"}))
    with pytest.raises(FormatError, match=r"^vocab\.json: it is made for HerbertTokenizer, and TokStudio reads"):
        load(folder)


def test_a_pair_of_clip_has_gpt_2_s_names_too(tmp_path):
    usual, folder = pair(tmp_path / "usual", True), tmp_path / "p"
    folder.mkdir()
    for name, other in (("vocab.json", "encoder.json"), ("merges.txt", "vocab.bpe")):
        (folder / other).write_bytes((usual / name).read_bytes())
    assert load(folder).encode(TRAINED_ON[0]) == load(usual).encode(TRAINED_ON[0])
