"""Files of other programs are read like the tokenizers library reads them, or refused by name."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from tests.core.formats.trained import (
    BYTE_LEVEL,
    SPECIALS,
    TEXT,
    banana,
    everything,
    library_ids,
    of_characters,
    refusal,
    same,
    settings_of,
    split_by,
    steps,
    trained,
    with_specials,
    with_unknown,
)
from tokstudio import ConfigError, FormatError, load, save
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.known_formats import tokenizer_files
from tokstudio.core.formats.loading import load_work
from tokstudio.core.formats.saving import fit
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.pretokenization.patterns import REGEX

METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
CANNOT = "the tokenizers library cannot read it: "


def added(token, number, **more):
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    return {"id": number, "content": token, **plain, **more}


def change(file, part, value):
    """Another value for a part of a file; those of the model and of its vocabulary stand beside the others."""
    match part:
        case "model":
            file["model"] |= value
        case "vocab":
            file["model"]["vocab"] |= value
        case _:
            file[part] = value
    return file


LOWER = {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}]}


def template(*parts, ids=None):
    """A post-processor that puts special tokens around a text, which is `$A`."""
    single = [
        {"Sequence": {"id": "A", "type_id": 0}} if part == "$A" else {"SpecialToken": {"id": part, "type_id": 0}}
        for part in parts
    ]
    known = {token: {"id": token, "ids": [number], "tokens": [token]} for token, number in (ids or {}).items()}
    pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}]
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": known}


def read(folder, file):
    (folder / "tokenizer.json").write_text(json.dumps(file))
    return load(folder)


def test_parts_that_say_nothing_may_be_missing_and_sequences_may_have_one_step_or_none(tmp_path):
    for left_out in ("version", "truncation", "padding", "added_tokens", "normalizer", "post_processor"):
        file = settings_of(banana())
        del file[left_out]
        assert same(read(tmp_path, file), banana())
    file["normalizer"] = {"type": "Sequence", "normalizers": []}
    file["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [file["pre_tokenizer"]]}
    file["post_processor"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
    del file["model"]["type"]
    assert same(read(tmp_path, file), banana())
    file = settings_of(trained("banana", 3))
    file["model"]["merges"] = ["#version: 0.2", *(" ".join(pair) for pair in file["model"]["merges"])]
    assert same(read(tmp_path, file), trained("banana", 3))


def is_the_library_s(folder, file, reason, texts=None):
    """Makes sure that the file is opened through its library, and encodes and decodes as that does."""
    tokenizer = read(folder, file)
    assert tokenizer.library == "tokenizers"
    assert tokenizer.no_playhead.startswith(reason)
    assert tokenizer.no_playhead.endswith(", so the tokenizers library encodes for it")
    theirs = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    for text in texts or (TEXT, torture_text()):
        for allowed in ("all", ()):
            theirs.encode_special_tokens = allowed == ()
            ids = theirs.encode(text, add_special_tokens=False).ids
            assert tokenizer.encode(text, allowed) == ids
            assert tokenizer.decode(ids) == theirs.decode(ids, skip_special_tokens=False)
    known = theirs.get_vocab(with_added_tokens=True)
    assert {number for number, token in enumerate(tokenizer.tokens) if token is not None} == set(known.values())
    assert len(tokenizer) == len(known)
    for token in tokenizer.merge_results.tolist():
        left, right = tokenizer.parts(token)
        assert tokenizer.tokens[left] + tokenizer.tokens[right] == tokenizer.tokens[token]
    return tokenizer


WORDS = r"\s*\S+|\s+"
SEVERAL = "its pre-tokenizer splits text in several steps"
DROPS = "its pre-tokenizer drops or joins what its pattern finds"
OTHER = "its pattern does not split text as TokStudio can"
ORDINARY = "banana <s> an<s>anana a <t> banana<s>s"


@pytest.mark.parametrize(
    ("part", "value", "reason"),
    [
        (
            "pre_tokenizer",
            steps(split_by(WORDS), {**BYTE_LEVEL, "add_prefix_space": True}),
            "its pre-tokenizer adds a space to every pre-token",
        ),
        ("pre_tokenizer", {"type": "Whitespace"}, "its pre-tokenizer is Whitespace"),
        ("pre_tokenizer", steps(BYTE_LEVEL, split_by("x")), SEVERAL),
        (
            "pre_tokenizer",
            steps(split_by(WORDS), {**BYTE_LEVEL, "use_regex": True}),
            "its pre-tokenizer splits text by two patterns",
        ),
        ("pre_tokenizer", steps(split_by("x", "Removed", True), BYTE_LEVEL), "its pattern does not split text"),
        ("pre_tokenizer", steps(split_by("x*"), BYTE_LEVEL), OTHER),
        ("pre_tokenizer", steps(split_by(REGEX["cl100k"]), BYTE_LEVEL), OTHER),
        ("pre_tokenizer", steps(split_by("gpt2"), BYTE_LEVEL), 'its pre-tokenizer splits text by the word "gpt2"'),
        (
            "pre_tokenizer",
            steps({**split_by("x"), "pattern": {"String": "x"}}, BYTE_LEVEL),
            "its pre-tokenizer does not split text by a regular expression",
        ),
        ("pre_tokenizer", steps(split_by(WORDS, "MergedWithNext"), BYTE_LEVEL), DROPS),
        ("pre_tokenizer", None, "its decoder ByteLevel does not match its pre-tokenizer"),
        ("decoder", METASPACE, "its decoder Metaspace does not match"),
        ("decoder", None, "it has no decoder, so decoding leaves bytes written as characters"),
        ("normalizer", LOWER, "its normalizer NFD, Lowercase changes the text"),
        ("post_processor", template("$A", "$A"), "its post-processor repeats the text or leaves it out"),
        ("added_tokens", [added("a", 97)], 'its added token "a" is also an ordinary token'),
    ],
)
def test_unsupported_settings_are_left_to_the_library(tmp_path, part, value, reason):
    texts = (TEXT, torture_text(), ORDINARY, "1234567 x\n\ny")
    tokenizer = is_the_library_s(tmp_path, change(settings_of(everything()), part, value), reason, texts)
    assert tokenizer.special_tokens == {}


@pytest.mark.parametrize(
    ("make", "changes", "reason"),
    [
        (banana, {"added_tokens": [added("an", 256)]}, 'its added token "an" is also an ordinary token'),
        (
            banana,
            {
                "vocab": {"<s>": 300, "<s>a": 301},
                "model": {"merges": [["a", "n"], ["<s>", "a"]]},
                "added_tokens": [added("<s>", 300, special=True)],
            },
            'one of its merges joins "<s>", which no merge makes',
        ),
        (with_unknown, {"decoder": None}, "it has no decoder, so decoding puts spaces between tokens"),
        (with_unknown, {"model": {"fuse_unk": True}}, "it joins unknown characters into one token"),
        (with_unknown, {"model": {"byte_fallback": True}}, "it writes unknown characters as bytes"),
        (with_unknown, {"model": {"ignore_merges": True}}, "it takes whole words before merging"),
    ],
)
def test_other_models_are_left_to_the_library(tmp_path, make, changes, reason):
    file = settings_of(make())
    for part, value in changes.items():
        change(file, part, value)
    is_the_library_s(tmp_path, file, reason, ("the cat 日本 ЖЖ the", "banana <s>a", TEXT, ORDINARY))


MERGES, LIST = '"merges" must be an array in the model', "its added tokens are not a list"
KIND = "its model is of another kind than BPE, Unigram, WordPiece, WordLevel."
DROPOUT, NOT_AN_OBJECT = "its dropout is not a number from 0 to 1", '"vocab" must be an object in the model'
NO_CONTENT, TWO = "added token 1 has no content or no id", "a merge must be two tokens"


@pytest.mark.parametrize(
    ("make", "part", "value", "words"),
    [
        (banana, "pre_tokenizer", {"type": "Unheard"}, CANNOT),
        (banana, "pre_tokenizer", steps(split_by("("), BYTE_LEVEL), CANNOT),
        (banana, "normalizer", "NFC", CANNOT),
        (banana, "post_processor", {"type": "TemplateProcessing"}, CANNOT),
        (banana, "truncation", 5, '"truncation" has the wrong type'),
        (banana, "padding", "left", '"padding" has the wrong type'),
        (banana, "version", "2.0", "TokStudio cannot read this version"),
        (banana, "added_tokens", {}, LIST),
        (banana, "added_tokens", [added("", 257)], NO_CONTENT),
        (banana, "added_tokens", [added("<s>", "257")], 'added token "<s>": an id must be a whole number'),
        (banana, "added_tokens", [added("<s>", 10**9)], 'added token "<s>": id 1000000000 is too large'),
        (banana, "added_tokens", [added("\ud83d", 257)], 'added token "\\ud83d" is not a string'),
        (of_characters, "model", {"unk_token": 7}, "its unknown token is not a string"),
        (
            of_characters,
            "model",
            {"vocab": {"\ud83d": 0}, "merges": []},
            'the vocabulary has the token "\\ud83d", which is not a character',
        ),
        (banana, "model", {"type": "Neural"}, KIND),
        (banana, "model", {"dropout": 1.5}, DROPOUT),
        (banana, "model", {"continuing_subword_prefix": 7}, "the tokenizers library cannot read it"),
        (banana, "model", {"vocab": ["a"]}, NOT_AN_OBJECT),
        (banana, "model", {"merges": {"a": "b"}}, MERGES),
        (banana, "model", {"merges": [["a", "b"]]}, 'merge 1 needs the token "ab", which the vocabulary does not have'),
        (banana, "model", {"merges": [["a"]]}, TWO),
        (banana, "model", {"merges": ["a  n"]}, 'the merge "a  n" must be two tokens'),
        (banana, "model", {"merges": [["b", "a"], ["an", "a"]]}, 'merge 1 needs the token "ba", which the vocabulary'),
        (banana, "vocab", {"new": 10**9}, 'token "new": id 1000000000 is too large'),
        (banana, "vocab", {"new": "7"}, 'token "new": an id must be a whole number'),
        (banana, "vocab", {"new": 256}, 'token "new": id 256 appears twice'),
        (banana, "vocab", {"\ud83d": 300}, 'the vocabulary has the token "\\ud83d", which is not text'),
    ],
)
def test_parts_that_mean_nothing_are_refused_by_name(tmp_path, make, part, value, words):
    with refusal(words, "tokenizer.json"):
        read(tmp_path, change(settings_of(make()), part, value))


def test_tokens_added_to_every_text_become_remarks(tmp_path):
    file = settings_of(with_specials("llama3"))
    ids = dict(with_specials("llama3").special_tokens)
    first, last = SPECIALS[:2]
    ids = {first: ids[first], last: ids[last]}
    around = template(first, "$A", last, ids=ids)
    bert = {"type": "BertProcessing", "sep": [last, ids[last]], "cls": [first, ids[first]]}
    roberta = {**bert, "type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
    both = f"Its post-processor adds {first} before and {last} after every text; encode does not."
    for value, remark in (
        (around, both),
        (bert, both),
        (roberta, both),
        ({"type": "Sequence", "processors": [byte_level, around]}, both),
        (template(first, "$A", ids=ids), f"Its post-processor adds {first} before every text; encode does not."),
        (byte_level, None),
    ):
        file["post_processor"] = value
        tokenizer = read(tmp_path, file)
        assert tokenizer.library is None
        assert tokenizer.remarks == ((remark,) if remark else ())
        for text in (TEXT, torture_text()):
            assert library_ids(tmp_path / "tokenizer.json", text) == tokenizer.encode(text, "all")
    file["truncation"] = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
    file["padding"] = {
        "strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
        "pad_token": "x",
    }  # fmt: skip
    tokenizer = read(tmp_path, file)
    assert tokenizer.remarks == (
        "The file truncates long texts; encode does not.",
        "The file pads short texts; encode does not.",
    )
    assert len(tokenizer.encode(TEXT)) > 3
    file["normalizer"] = {"type": "Lowercase"}
    tokenizer = read(tmp_path, file)
    assert tokenizer.library == "tokenizers"
    assert 3 < len(tokenizer.encode(TEXT)) < 1000


@pytest.mark.parametrize(
    ("pre_tokenizer", "name"),
    [
        ({**BYTE_LEVEL, "use_regex": True}, "gpt2"),
        (steps({"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}), "gpt2"),
        (steps(split_by(REGEX["llama3"]), BYTE_LEVEL), "llama3"),
        (steps(split_by(REGEX["llama3"], "Removed", True), BYTE_LEVEL), "llama3"),
        (steps(split_by(REGEX["qwen2"], "Isolated", True), BYTE_LEVEL), "qwen2"),
        (steps(split_by(REGEX["cl100k"].replace("{1,3}+", "{1,3}")), BYTE_LEVEL), "cl100k"),
        (steps(split_by(r"\s*\S+|\s+"), BYTE_LEVEL), "whitespace"),
        (steps(split_by(r"\n|[^\n]+"), BYTE_LEVEL), r"\n|[^\n]+"),
    ],
)
def test_patterns_as_others_write_them_are_read_as_the_library_reads_them(tmp_path, pre_tokenizer, name):
    file = settings_of(everything())
    file["pre_tokenizer"] = pre_tokenizer
    tokenizer = read(tmp_path, file)
    assert tokenizer.pattern == name
    for text in (torture_text(), TEXT, "It's 12345 o'clock\n \n  x"):
        assert library_ids(tmp_path / "tokenizer.json", text) == tokenizer.encode(text)


@pytest.mark.parametrize("normalizer", [None, {"type": "Lowercase"}])
@pytest.mark.parametrize(
    ("tokens", "remarks"),
    [
        (
            [added("<s>", 258), added("<t>", 258), added("<u>", 5)],
            ['The file gives its added token "<s>" the id 258, but it is 257: ids of added'],
        ),
        (
            [added("<s>", 257), added("<t>", 258), added("<s>", 257) | {"lstrip": True, "special": False}],
            ['The file lists its added token "<s>" again: the last entry counts.'],
        ),
        ([added("<s>", 257) | {"special": False}, added("<s>", 257)], ['The file lists its added token "<s>" again']),
    ],
)
def test_ids_of_added_tokens_and_repeated_ones_are_read_as_by_the_library(tmp_path, tokens, remarks, normalizer):
    file = settings_of(banana())
    file["added_tokens"], file["normalizer"] = tokens, normalizer
    tokenizer = read(tmp_path, file)
    assert [told[: len(remark)] for told, remark in zip(tokenizer.remarks, remarks, strict=True)] == remarks
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in ("banana <s> ban<t>a", "<u> <s><t>"):
        for plain in (False, True):
            library.encode_special_tokens = plain
            expected = library.encode(text, add_special_tokens=False).ids
            assert tokenizer.encode(text, () if plain else "all") == expected
    assert not fit(tokenizer, "huggingface").losses


def test_tokens_that_no_merge_makes_are_kept(tmp_path):
    file = settings_of(with_unknown())
    file["model"]["vocab"] |= {"zz": 700, "[UNK]x": 701}
    tokenizer = read(tmp_path, file)
    assert tokenizer.extra_tokens == {700: b"zz", 701: b"[UNK]x"}
    for text in ("zz the [UNK]x", TEXT):
        assert library_ids(tmp_path / "tokenizer.json", text) == tokenizer.encode(text, "all")
    file = settings_of(banana())
    file["model"]["vocab"] |= {"Ġnew": 300, "日 本": 301, "an": 302}
    file["model"]["merges"] = []
    tokenizer = read(tmp_path, file)
    assert tokenizer.extra_tokens == {300: b" new", 301: "日 本".encode(), 302: b"an"}
    assert library_ids(tmp_path / "tokenizer.json", "banana new") == tokenizer.encode("banana new")


@pytest.mark.parametrize("make", [everything, lambda: with_specials("cl100k"), with_unknown])
def test_the_parts_may_stand_in_any_order(tmp_path, make):
    tokenizer = make()
    file = settings_of(tokenizer)
    for order in (sorted(file), sorted(file, reverse=True), ["model", *file]):
        model = {key: file["model"][key] for key in sorted(file["model"], reverse=order[0] == "model")}
        assert same(read(tmp_path, {key: model if key == "model" else file[key] for key in order}), tokenizer)


def test_whole_words_are_the_tokens_that_merging_does_not_make(tmp_path):
    file = settings_of(with_specials("llama3"))
    file["model"]["ignore_merges"] = True
    assert same(read(tmp_path, file), with_specials("llama3"))
    # "ab" comes first, so "a" and "bc" never meet in "abc".
    tokens = {"bc": 1000, "ab": 1001, "abc": 1002, "Ġwhole": 1003, "日": 1004}
    file["model"]["vocab"] |= tokens
    file["model"]["merges"] = [["a", "b"], ["b", "c"], ["a", "bc"], *file["model"]["merges"]]
    tokenizer = read(tmp_path, file)
    assert tokenizer.whole_words >= {1002, 1003}
    assert not tokenizer.whole_words & {1000, 1001, 1004}
    assert tokenizer.encode("abc whole 日")[:2] == [1002, 1003]
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for allowed in ("all", ()):
        theirs.encode_special_tokens = allowed == ()
        for text in ("abc abc abcc whole wholes<|end|> <|end|>", TEXT, torture_text()):
            assert theirs.encode(text, add_special_tokens=False).ids == tokenizer.encode(text, allowed)


def test_a_special_token_that_is_spelled_like_bytes_is_a_whole_word_too(tmp_path):
    file = settings_of(trained("banana", 1))
    file["model"] |= {"ignore_merges": True, "vocab": file["model"]["vocab"] | {"xyz": 300, "Ġq": 301}}
    file["added_tokens"] = [added("xyz", 300, special=True)]
    tokenizer = read(tmp_path, file)
    assert tokenizer.encode("xyz") == [300]
    assert tokenizer.encode("xyzb") == [*b"xyzb"]
    file["added_tokens"].append(added("Ġq", 301, special=True))
    is_the_library_s(tmp_path, file, 'its added token "Ġq" means different bytes', ("xyz", " q", "Ġq xyz"))


@pytest.mark.parametrize("normalizer", [None, {"type": "Lowercase"}])
def test_a_file_with_dropout_opens_without_it(tmp_path, normalizer):
    file = settings_of(banana()) | {"normalizer": normalizer}
    file["model"]["dropout"] = 0.75
    tokenizer = read(tmp_path, file)
    assert tokenizer.remarks == ("The file passes over merges at random (dropout 0.75); encode does not.",)
    assert (tokenizer.library is None) == (normalizer is None)
    text = "bananananana" * 20
    assert tokenizer.encode(text) == banana().encode(text)
    if normalizer is None:
        assert tokenizer.with_dropout(0.75).encode(text) != tokenizer.encode(text)


def test_a_model_of_characters_may_have_any_unknown_token_or_none(tmp_path):
    file = settings_of(of_characters())
    file["model"]["unk_token"] = "\ufeff"
    known = read(tmp_path, file)
    for text in ("Öthe", TEXT, "the \ufeff"):
        assert library_ids(tmp_path / "tokenizer.json", text) == known.encode(text)
    save(known, tmp_path / "again.json")
    loaded = finish(load_work(tmp_path / "again.json"))
    assert (loaded.format, loaded.files) == ("huggingface", (tmp_path / "again.json",))
    assert same(loaded.tokenizer, known)
    file["model"]["unk_token"] = "<unk>"
    tokenizer = read(tmp_path, file)
    assert tokenizer.library is None
    assert tokenizer.encode("the mat") == library_ids(tmp_path / "tokenizer.json", "the mat")
    assert tokenizer.remarks == ('Its unknown token "<unk>" is not in the vocabulary: unknown text is an error.',)
    with pytest.raises(ConfigError, match=r"U\+00E9.* is not in the vocabulary, and there is no unknown token"):
        tokenizer.encode("é")


@pytest.mark.parametrize("ignore_merges", [False, True])
def test_the_empty_token_of_whisper_is_kept_and_never_made(tmp_path, ignore_merges):
    file = settings_of(with_specials())
    number = file["model"]["vocab"][""] = len(with_specials())
    file["model"]["ignore_merges"] = ignore_merges
    tokenizer = read(tmp_path, file)
    assert tokenizer.library is None
    assert tokenizer.tokens[number] == b""
    remark = f"Id {number:,} of its file is the empty token: no text becomes it, and it is decoded to nothing."
    assert tokenizer.remarks == (remark,)
    for text in (TEXT, torture_text(), ""):
        assert tokenizer.encode(text, "all") == library_ids(tmp_path / "tokenizer.json", text)
    assert tokenizer.decode([number, 97]) == "a"
    with pytest.raises(FormatError, match="is the empty token"):
        save(tokenizer, tmp_path / "out")
    save(tokenizer, tmp_path / "out", accept_loss=True)
    assert load(tmp_path / "out").encode(TEXT) == tokenizer.encode(TEXT)
    assert save(tokenizer, tmp_path / "ranks", "tiktoken", accept_loss=True).proof.startswith("identical")
    assert load(tmp_path / "ranks").tokens[number] == b""


@pytest.mark.parametrize("name", ["vocab.json", "allenai_dolma2.json", "merges.txt", "vocab.txt", "any.model"])
def test_the_content_decides_whatever_the_name_is(tmp_path, name):
    path = tmp_path / name
    path.write_text(json.dumps(settings_of(with_specials())))
    assert same(load(path), with_specials())
    if name == "vocab.json":
        assert same(load(tmp_path), with_specials())
        assert tokenizer_files(tmp_path) == (path,)
    if name != "merges.txt":
        assert tokenizer_files(path) == (path,)
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" if name != "merges.txt" else path.read_text())
    assert same(load(path), with_specials())


def test_a_byte_without_a_token_is_left_to_the_library(tmp_path):
    file = settings_of(everything())
    del file["model"]["vocab"]["z"]
    tokenizer = is_the_library_s(tmp_path, file, "the byte 122 has no token in its vocabulary", (TEXT, "zoo z"))
    assert tokenizer.alphabet.base == "characters"


def trained_by_the_library(folder, model, trainer, **parts):
    """A `tokenizer.json` as the library itself writes it."""
    tokenizer = tokenizers.Tokenizer(model)
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    tokenizer.train_from_iterator([TEXT, torture_text()] * 3, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    return json.loads((folder / "tokenizer.json").read_text("utf-8"))


def test_a_model_in_the_manner_of_sentencepiece_shows_spaces_and_bytes(tmp_path):
    file = trained_by_the_library(
        tmp_path,
        models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True),
        trainers.BpeTrainer(
            vocab_size=500,
            special_tokens=["<unk>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256))],
            limit_alphabet=60,
            show_progress=False,
        ),
        normalizer=normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
        decoder=decoders.Sequence(
            [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        ),
    )
    file["added_tokens"] = file["added_tokens"][:2]
    tokenizer = is_the_library_s(tmp_path, file, "its normalizer Prepend, Replace changes the text")
    vocabulary = file["model"]["vocab"]
    assert tokenizer.tokens[vocabulary["<0x0A>"]] == b"\n"
    marked = {token: number for token, number in vocabulary.items() if "▁" in token}
    assert all(tokenizer.tokens[number] == token.replace("▁", " ").encode() for token, number in marked.items())
    assert marked
    assert tokenizer.decode(tokenizer.encode("the Ж 日本\n")) == "the Ж 日本\n"
    assert len(tokenizer.merges) > 50
    assert tokenizer.special_tokens == {"<unk>": 0, "<s>": 1}


def test_words_with_marks_inside_or_at_their_end_are_left_to_the_library(tmp_path):
    for more, reason in (
        ({"continuing_subword_prefix": "##"}, "it marks tokens inside a word"),
        ({"end_of_word_suffix": "</w>"}, "it marks the end of a word"),
    ):
        file = trained_by_the_library(
            tmp_path,
            models.BPE(unk_token="[UNK]", **more),
            trainers.BpeTrainer(vocab_size=300, special_tokens=["[UNK]"], show_progress=False, **more),
            pre_tokenizer=pre_tokenizers.Split(tokenizers.Regex(r"\s*\S+|\s+"), "isolated"),
            decoder=decoders.Fuse(),
        )
        is_the_library_s(tmp_path, file, reason)
