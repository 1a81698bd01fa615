"""GGUF files of models, read by their header, as converters of models write them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import itertools
import os
import random
import re
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.formats.file_mutants import read_or_refused
from tests.core.formats.gguf.files import PIECES, byte_pairs, gguf, pieces, words
from tests.core.formats.gguf.llama import crossing, ids_of_llama, needs_llama
from tests.core.formats.trained import TEXT, same, trained, with_specials
from tokstudio import FormatError, load, save
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.common.format import PatternNeeded
from tokstudio.core.formats.gguf.header import header_work
from tokstudio.core.formats.gguf.names import PRE_TOKENIZERS
from tokstudio.core.formats.huggingface.format import HuggingFace
from tokstudio.core.formats.known_formats import tokenizer_files
from tokstudio.core.formats.loading import load_work
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.project.tokenizers import keep_tokenizer_work, reopen_tokenizer_work

LARGE = 40 * 10**9


def put(folder, values, name="model.gguf", **more):
    path = folder / name
    path.write_bytes(gguf(values, **more))
    return path


@pytest.mark.parametrize(
    ("pre", "pattern"),
    [("gpt-2", "gpt2"), ("dbrx", "llama3"), ("qwen2", "qwen2"), ("smaug-bpe", "llama3"), ("stablelm2", "qwen2")],
)
def test_a_model_of_byte_pairs_is_read_with_the_pattern_of_its_name(tmp_path, pre, pattern):
    tokenizer = with_specials(pattern, merges=60)
    loaded = load(put(tmp_path, byte_pairs(tokenizer, pre)))
    assert (loaded.pattern, loaded.library) == (pattern, None)
    assert loaded.merges.tolist() == tokenizer.merges.tolist()
    assert loaded.special_tokens == tokenizer.special_tokens
    for text in (TEXT, torture_text(), "<|end|><|start|> x<|end|>"):
        assert loaded.encode(text, "all") == tokenizer.encode(text, "all")


@needs_llama
@pytest.mark.parametrize("pre", {rule: pre for pre, rule in PRE_TOKENIZERS.items()}.values())
def test_every_name_splits_as_llama_cpp_does_but_where_it_is_said(tmp_path, pre):
    # Merges across every boundary, and a BOS for the names that imply one.
    tokenizer = crossing("<s>")
    values = byte_pairs(tokenizer, pre)
    values |= {f"tokenizer.ggml.{role}_token_id": ("u32", tokenizer.special_tokens["<s>"]) for role in ("bos", "sep")}
    path = put(tmp_path, values)
    loaded = load(path)
    texts = [torture_text(), TEXT, "1234567 12²³45 x9 a1b22\n\n 3 \t4", "don't WE'LL it's"]
    theirs = ids_of_llama(path, texts)
    differ = [text for text, ids in zip(texts, theirs, strict=True) if loaded.encode(text, "all") != ids]
    assert bool(differ) == bool(PRE_TOKENIZERS[pre].differs), differ
    assert any("llama.cpp itself" in remark for remark in loaded.remarks) == bool(PRE_TOKENIZERS[pre].differs)


def test_a_file_without_a_pre_tokenizer_is_asked_for_its_pattern(tmp_path):
    tokenizer = trained(TEXT, 60, pattern="qwen2")
    path = put(tmp_path, byte_pairs(tokenizer, **{"tokenizer.ggml.pre": None}))
    with pytest.raises(PatternNeeded, match=r"^model\.gguf: the file does not say how text is split: give a pattern"):
        load(path)
    assert same(load(path, "qwen2"), tokenizer)


def test_a_pre_tokenizer_without_a_pattern_is_named_and_asked_for(tmp_path):
    path = put(tmp_path, byte_pairs(trained(TEXT, 60), "deepseek-v3"))
    with pytest.raises(PatternNeeded, match=r'splits text as "deepseek-v3" of llama\.cpp, which .* for: give'):
        load(path)
    assert load(path, "gpt2").pattern == "gpt2"
    # A name that is known comes first.
    assert load(put(tmp_path, byte_pairs(trained(TEXT, 60), "qwen2")), "gpt2").pattern == "qwen2"


@pytest.mark.parametrize(("order", "version"), [("<", 2), ("<", 3), (">", 3), (">", 2)])
def test_both_versions_and_orders_of_bytes_are_read(tmp_path, order, version):
    tokenizer = with_specials("gpt2", merges=60)
    values = byte_pairs(tokenizer) | {"tokenizer.ggml.eos_token_id": ("u32", tokenizer.special_tokens["<|end|>"])}
    loaded = load(put(tmp_path, values, order=order, version=version, tensors=[("x", (3,), b"abc")]))
    assert loaded.encode(TEXT, "all") == tokenizer.encode(TEXT, "all")
    assert loaded.roles == {"eos_token": "<|end|>"}


def test_types_roles_templates_and_flags_are_kept(tmp_path):
    tokenizer = trained(TEXT, 20, pattern="gpt2", special_tokens=["<s>", "<e>", "<pre>", "<tool>"])
    ids = tokenizer.special_tokens
    values = byte_pairs(tokenizer)
    types = list(values["tokenizer.ggml.token_type"][1])
    types[ids["<tool>"]] = 4
    template = "{{ bos_token }}" + "{% for m in messages %}x{% endfor %}" * 30_000
    loaded = load(
        put(
            tmp_path,
            values
            | {
                "tokenizer.ggml.token_type": ("i32*", types),
                "tokenizer.ggml.bos_token_id": ("u32", ids["<s>"]),
                "tokenizer.ggml.eos_token_id": ("u32", ids["<e>"]),
                "tokenizer.ggml.eot_token_id": ("u32", ids["<e>"]),
                "tokenizer.ggml.prefix_token_id": ("u32", ids["<pre>"]),
                "tokenizer.ggml.separator_token_id": ("u32", 97),
                "tokenizer.ggml.mask_token_id": ("u32", 99_999),
                "tokenizer.ggml.add_bos_token": ("bool", True),
                "tokenizer.chat_template": ("str", template),
                "tokenizer.chat_template.tool_use": ("str", "{{ x }}"),
            },
        )
    )
    roles = {"bos_token": "<s>", "eos_token": "<e>", "eot_token": "<e>", "fim_pre_token": "<pre>"}
    assert loaded.roles == roles
    assert loaded.settings.chat_templates == {"default": template, "tool_use": "{{ x }}"}
    assert loaded.preparation.ordinary == {"<tool>"}
    assert loaded.encode("a<tool>") == [97, ids["<tool>"]]
    assert loaded.settings.around == (["<s>"], [])
    said = " ".join(loaded.remarks)
    assert "adds <s> before every text" in said
    assert 'the role sep to "' in said
    assert "the role mask to id 99,999, which no token has" in said


def test_of_a_pair_that_is_listed_again_the_first_rank_counts(tmp_path):
    tokenizer = trained("abcabcab", 2)
    values = byte_pairs(tokenizer)
    merges = values["tokenizer.ggml.merges"][1]
    loaded = load(put(tmp_path, values | {"tokenizer.ggml.merges": ("str*", [*merges, merges[0]])}))
    assert loaded.merges.tolist() == tokenizer.merges.tolist()


def test_places_without_a_token_are_holes(tmp_path):
    tokenizer = trained(TEXT, 20)
    values = byte_pairs(tokenizer)
    tokens, types = (list(values[f"tokenizer.ggml.{key}"][1]) for key in ("tokens", "token_type"))
    more = {
        "tokenizer.ggml.tokens": ("str*", [*tokens, "[PAD276]", "[PAD277]", "<end>"]),
        "tokenizer.ggml.token_type": ("i32*", [*types, 5, 5, 3]),
    }
    loaded = load(put(tmp_path, values | more))
    assert loaded.special_tokens == {"<end>": 278}
    assert (len(loaded), len(loaded.tokens)) == (277, 279)


def test_a_whole_tokenizer_json_comes_first(tmp_path):
    inner = with_specials("cl100k", merges=30)
    content = b"".join(HuggingFace().contents(inner)["tokenizer.json"]).decode()
    other = byte_pairs(trained(TEXT, 5), **{"tokenizer.huggingface.json": ("str", content)})
    loaded = load(put(tmp_path, other))
    assert loaded.pattern == "cl100k"
    assert loaded.encode(TEXT, "all") == inner.encode(TEXT, "all")
    alone = {key: other[key] for key in ("general.architecture", "tokenizer.huggingface.json")}
    assert load(put(tmp_path, alone)).encode(TEXT) == inner.encode(TEXT)


@needs_llama
@pytest.mark.parametrize(
    ("make", "library"),
    [
        (pieces, "sentencepiece"),
        (lambda: pieces(**{"tokenizer.ggml.add_space_prefix": ("bool", False)}), "sentencepiece"),
        (lambda: pieces(**{"tokenizer.ggml.model": ("str", "t5")}), "sentencepiece"),
        (words, "tokenizers"),
        (lambda: words(**{"tokenizer.ggml.normalizer.lowercase": ("bool", False)}), "tokenizers"),
    ],
)
def test_other_models_give_the_ids_of_llama_cpp(tmp_path, make, library):
    path = put(tmp_path, make())
    loaded = load(path)
    assert loaded.library == library
    texts = [
        "the banana the",
        " the  cats, The unaffable naïve CATS\n!",
        "日本 ban",
        "",
        "  ",
        "then the<s>",
        "[CLS]the[SEP]",
    ]
    for text, ids in zip(texts, ids_of_llama(path, texts), strict=True):
        assert loaded.encode(text, "all") == ids, text


def test_what_llama_cpp_does_behind_special_tokens_is_said(tmp_path):
    loaded = load(put(tmp_path, pieces()))
    assert any("puts a space before text that follows a special token" in remark for remark in loaded.remarks)
    assert loaded.roles == {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    # What was read is exported as the file of its library.
    (tmp_path / "out").mkdir()
    save(loaded, tmp_path / "out", "sentencepiece")
    assert load(tmp_path / "out").encode("the<|im|>the", "all") == loaded.encode("the<|im|>the", "all")


# --- Size -------------------------------------------------------------------------------------------------------------


def test_of_a_file_of_40_gigabytes_only_the_header_is_read(tmp_path):
    tokenizer = trained(TEXT, 60, pattern="gpt2")
    path = put(tmp_path, byte_pairs(tokenizer), tensors=[("token_embd.weight", (4, 316), b"x")])
    os.truncate(path, LARGE)
    tracemalloc.start()
    try:
        header = finish(header_work(path, path.name, lambda key: True, tensors=True))
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()
    assert (header.size, header.tensors[0].dimensions) == (LARGE, (4, 316))
    loaded = finish(load_work(path))
    assert same(loaded.tokenizer, tokenizer)
    # A project keeps the tokenizer, not the model.
    kept = finish(keep_tokenizer_work("mine", loaded.files))
    assert len(kept.files[0].content) < 50_000
    assert same(finish(reopen_tokenizer_work(kept)), tokenizer)


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=9),
        st.one_of(
            st.tuples(st.just("str"), st.text(max_size=30)),
            st.tuples(st.just("str*"), st.lists(st.text(max_size=9), max_size=9)),
            st.tuples(st.just("i32"), st.integers(-(2**31), 2**31 - 1)),
            st.tuples(st.just("u64"), st.integers(0, 2**64 - 1)),
            st.tuples(st.just("bool"), st.booleans()),
            st.tuples(st.just("f32*"), st.lists(st.floats(width=32, allow_nan=False), max_size=9)),
            st.tuples(st.just("u16*"), st.lists(st.integers(0, 65535), max_size=9)),
        ),
        max_size=8,
    ).filter(lambda values: "general.alignment" not in values),
    st.sampled_from("<>"),
    st.booleans(),
)
def test_every_header_is_read_as_it_was_written(tmp_path_factory, values, order, reads):
    path = tmp_path_factory.mktemp("header") / "a.gguf"
    path.write_bytes(gguf(values, order=order, tensors=[("x", (1, 2), b"12345678"), ("y", (), b"1")]))
    header = finish(header_work(path, "a.gguf", lambda key: reads, tensors=True))
    found = {key: one.content for key, one in header.values.items()}
    expected = {key: one for key, (_, one) in values.items()} if reads else {}
    assert found.keys() == expected.keys()
    for key, one in expected.items():
        plain = found[key].tolist() if isinstance(found[key], np.ndarray) else found[key]
        texts = [text.encode() for text in one] if isinstance(one, list) and one and isinstance(one[0], str) else one
        assert plain == (texts.encode() if isinstance(texts, str) else texts)
    data = path.read_bytes()
    for key, (start, stop) in header.places.items():
        assert key.encode() in data[start:stop]
    assert data[header.data : header.data + 8] == b"12345678"


def test_strings_longer_than_the_window_are_read(tmp_path):
    long = "日" * 200_000
    path = put(tmp_path, {"a": ("str*", ["x", long, "y" * 262_140, long]), "b": ("str", long), "c": ("u8", 7)})
    header = finish(header_work(path, path.name, lambda key: True))
    assert header.texts("a") == [text.encode() for text in ("x", long, "y" * 262_140, long)]
    assert (header.text("b"), header.number("c")) == (long, 7)
    skipped = finish(header_work(path, path.name, lambda key: key == "c"))
    assert skipped.number("c") == 7


# --- Bad files --------------------------------------------------------------------------------------------------------


def whole(**more):
    return byte_pairs(trained("banana bandana", 5), **more)


def raw(order="<", count=1, body=b"", tensors=0, version=3):
    return b"GGUF" + struct.pack(f"{order}IQQ", version, tensors, count) + body


def embedded(content):
    return gguf({"tokenizer.huggingface.json": ("str", content)})


IN_IT = "tokenizer.huggingface.json in it"
KEY = struct.pack("<Q", 21) + b"tokenizer.ggml.tokens"
BAD = [
    (b"GGUF", "the file ends too early, at byte 4."),
    (b"", "this is not a GGUF file."),
    (b"lmgg" + bytes(60), "this is a file of ggml from before GGUF, as whisper.cpp uses: TokStudio reads GGUF."),
    (raw(version=1), "it is GGUF of version 1, and TokStudio reads the versions 2 and 3."),
    (raw(version=4), "it is GGUF of version 4, and TokStudio reads the versions 2 and 3."),
    (raw(count=2**60), "it has 1,152,921,504,606,846,976 values, more than the rest of the file can hold."),
    (raw(tensors=2**31), "it has 2,147,483,648 tensors, more than the rest of the file can hold."),
    (
        raw(body=KEY + struct.pack("<IIQ", 9, 8, 2**31) + bytes(64)),
        "it has 2,147,483,648 strings in a list, more than the rest of the file can hold.",
    ),
    (
        raw(body=KEY + struct.pack("<IIQQ", 9, 8, 1, 2**60) + bytes(64)),
        "a string has 1,152,921,504,606,846,976 bytes, more than the rest of the file.",
    ),
    (
        raw(body=KEY + struct.pack("<IIQ", 9, 5, 2**40) + bytes(64)),
        "it has 1,099,511,627,776 numbers in a list, more than the rest of the file can hold.",
    ),
    (raw(body=KEY + struct.pack("<IIQ", 9, 9, 1) + bytes(64)), "is a list of lists."),
    (raw(body=KEY + struct.pack("<I", 77) + bytes(64)), "is of the unknown type 77."),
    (raw(body=struct.pack("<Q", 3) + b"\xff\xfe\xfd" + bytes(64)), "a key is not UTF-8."),
    (raw(count=2, body=(struct.pack("<Q", 1) + b"a" + struct.pack("<IB", 0, 1)) * 2), 'the key "a" appears twice.'),
    (gguf({"general.alignment": ("u32", 48)}), "its alignment is not a power of two."),
    (gguf({"general.alignment": ("u32", 0)}), "its alignment is not a power of two."),
    (gguf(whole(), tensors=[("x", (1,) * 9, b"")]), 'the tensor "x" has 9 dimensions.'),
    (gguf({"general.architecture": ("str", "clip")}), 'has no tokenizer, .* It is of the kind "clip".'),
    (gguf({"general.architecture": ("str", "whisper")}), 'has no tokenizer, .* It is of the kind "whisper".'),
    (gguf({}), "this GGUF file has no tokenizer, as files of embeddings, of images, of speech or of adapters."),
    (
        gguf({"split.no": ("u16", 1), "split.count": ("u16", 3)}),
        "this is part 2 of 3 of a model, and the first part has the tokenizer.",
    ),
    (gguf(whole(**{"tokenizer.ggml.model": ("str", "rwkv")})), 'is of the kind "rwkv", and TokStudio reads gpt2,'),
    (gguf(whole(**{"tokenizer.ggml.model": ("u8", 3)})), "the value of tokenizer.ggml.model has the wrong type."),
    (gguf(whole(**{"tokenizer.ggml.tokens": ("str*", [])})), "its list of tokens is empty."),
    (gguf(whole(**{"tokenizer.ggml.tokens": None})), "its list of tokens is empty."),
    (gguf(whole(**{"tokenizer.ggml.tokens": ("i32*", [1])})), "the value of tokenizer.ggml.tokens has the wrong type."),
    (gguf(whole(**{"tokenizer.ggml.token_type": ("i32*", [1])})), "not every token has a type."),
    (gguf(whole(**{"tokenizer.ggml.merges": None})), "its tokenizer has no merges."),
    (gguf(whole(**{"tokenizer.ggml.merges": ("str*", ["an"])})), "merge 1 is not two tokens with a space"),
    # Without a place in a file that is not there.
    (
        gguf(whole(**{"tokenizer.ggml.merges": ("str*", ["a xyz"])})),
        'model.gguf: merge 1 needs the token "xyz", which the vocabulary does not have.',
    ),
    (
        embedded('{"version": "1.0", "model": 3'),
        f"model.gguf: {IN_IT}: the model must be an object, line 1, column 29.",
    ),
    (embedded('{"version": "1.0"}'), f'model.gguf: {IN_IT}: the key "model" is missing, line 1, column 19.'),
    (embedded('{"version": "1.0", "model'), f"model.gguf: {IN_IT}: the file ends too early, line 1, column 26."),
    (embedded(" [1]"), "model.gguf: the value of tokenizer.huggingface.json is no JSON object."),
    (gguf({"tokenizer.huggingface.json": ("u8", 1)}), "value of tokenizer.huggingface.json has the wrong type."),
    (gguf(whole(**{"tokenizer.ggml.merges": ("str*", [b"\xff a"])})), "merge 1 is not UTF-8."),
    (gguf(whole(**{"tokenizer.chat_template": ("str", b"\xff")})), "value of tokenizer.chat_template is not UTF-8."),
    (gguf(pieces(**{"tokenizer.ggml.scores": ("f32*", [1.0])})), "not every token has a score."),
    (gguf(pieces(**{"tokenizer.ggml.scores": ("f32*", [float("nan")] * 300)})), "score of a token is not a number."),
    (gguf(pieces(**{"tokenizer.ggml.token_type": ("i32*", [1] * 300)})), "has 0 unknown tokens, and must have one."),
    (gguf(pieces(**{"tokenizer.ggml.tokens": ("str*", ["a", *PIECES[1:-1], "a"])})), 'the token "a" appears twice'),
    (gguf(whole(**{"tokenizer.ggml.tokens": ("str*", [b"\xff"] * 300)})), "token 0 is not UTF-8."),
]


@pytest.mark.parametrize(("content", "words_of_error"), BAD)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path, content, words_of_error):
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError) as error:
            load(path, "none")
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()
    text = str(error.value)
    assert re.search(words_of_error if ".*" in words_of_error else re.escape(words_of_error), text), text
    assert re.fullmatch(r"model\.gguf: [^\n]+\.", text), text


def opening(key, *numbers):
    """The beginning of a file with one key, of which the rest is a hole."""
    return raw(body=struct.pack("<Q", len(key)) + key.encode() + struct.pack(f"<{'I' * (len(numbers) - 1)}Q", *numbers))


TEXTS = "tokenizer.ggml.tokens"


@pytest.mark.parametrize(
    ("content", "words_of_error"),
    [
        (opening("tokenizer.huggingface.json", 8, 2**28), "value of tokenizer.huggingface.json is no JSON obj"),
        (opening("tokenizer.huggingface.json", 8, 2**26) + b'{"version": "', "this is not JSON (invalid contr"),
        (opening("tokenizer.huggingface.json", 8, 2**28 + 1) + b"{", "and at most 268,435,456 are read."),
        (opening("tokenizer.chat_template", 8, 2**28), "and at most 16,777,216 are read."),
        (opening("tokenizer.chat_template", 8, 2**24), "a long string is not text."),
        (opening(TEXTS, 9, 8, 2**24), "it has 16,777,216 strings in a list, and at most 4,194,304 are read."),
        (opening(TEXTS, 9, 8, 2**22), "more than 1,000 strings of a list are shorter than 3 bytes."),
        (opening(TEXTS, 9, 8, 9) + struct.pack("<Q", 2**24), "a long string is not text."),
        (opening(TEXTS, 9, 8, 9) + struct.pack("<Q", 9000), "a long string is not text."),
        (opening("tokenizer.ggml.scores", 9, 6, 2**24), "numbers in a list, and at most 4,194,304 are read."),
        (opening("tokenizer.ggml.scores", 9, 6, 2**22), "this GGUF file has no tokenizer"),
    ],
    ids=itertools.count(),
)
def test_a_small_file_with_large_holes_takes_little_memory(tmp_path, monkeypatch, content, words_of_error):
    monkeypatch.setattr("tokstudio.core.formats.gguf.header.MOST_SHORT", 1000)
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    os.truncate(path, 2**29)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=re.escape(words_of_error)):
            load(path, "none")
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


def test_a_large_whole_tokenizer_json_is_read_and_kept_in_a_project(tmp_path):
    tokenizer = with_specials("gpt2", merges=30)
    content = b"".join(HuggingFace().contents(tokenizer)["tokenizer.json"])
    path = tmp_path / "model.gguf"
    path.write_bytes(embedded(b" " * 2**24 + content))
    loaded = finish(load_work(path))
    assert loaded.tokenizer.merges.tolist() == tokenizer.merges.tolist()
    kept = finish(keep_tokenizer_work("mine", loaded.files))
    assert same(finish(reopen_tokenizer_work(kept)), loaded.tokenizer)


def test_a_later_part_of_a_model_names_the_first(tmp_path):
    path = put(tmp_path, {"split.no": ("u16", 1), "split.count": ("u16", 3)}, "big-00002-of-00003.gguf")
    with pytest.raises(FormatError, match=r"part 2 of 3 .* has the tokenizer: open big-00001-of-00003\.gguf\.$"):
        load(path)
    tokenizer = trained(TEXT, 20, pattern="gpt2")
    more = {"split.no": ("u16", 0), "split.count": ("u16", 3)}
    first = put(tmp_path, byte_pairs(tokenizer) | more, "big-00001-of-00003.gguf")
    # The first part has it; a folder is that of one model.
    for place in (first, tmp_path):
        loaded = finish(load_work(place))
        assert (loaded.files, loaded.format) == ((first,), "gguf")
        assert same(loaded.tokenizer, tokenizer)


def test_a_folder_of_several_models_is_not_guessed_at(tmp_path):
    for name in ("q4.gguf", "q8.gguf"):
        put(tmp_path, whole(), name)
    with pytest.raises(FormatError, match=r"holds more than one model, q4\.gguf and q8\.gguf: open one of them\.$"):
        load(tmp_path)
    assert tokenizer_files(tmp_path) == (tmp_path,)
    assert tokenizer_files(tmp_path / "q4.gguf") == (tmp_path / "q4.gguf",)
    # By its content, whatever its name.
    other = put(tmp_path, whole(), "blob")
    assert finish(load_work(other)).format == "gguf"


def mutant(content, chance):
    """Numbers set to extremes, bytes changed, taken out or put in, or the end cut off."""
    data = bytearray(content)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(4, len(data))
        match chance.randrange(6):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                data[at : at + 8] = struct.pack("<Q", chance.choice([0, 1, 2**16, 2**31, 2**32, 2**60, 2**64 - 1]))
            case 2:
                data[at : at + 4] = struct.pack("<I", chance.choice([0, 7, 8, 9, 12, 13, 2**31, 2**32 - 1]))
            case 3:
                del data[at : at + chance.randint(1, 30)]
            case 4:
                data[at:at] = data[at : at + chance.randint(1, 30)]
            case _:
                del data[at:]
                break
    return bytes(data)


@pytest.mark.parametrize("seed", range(10))
def test_damaged_files_are_read_or_refused_in_one_sentence(tmp_path, seed):
    chance = random.Random(seed)
    contents = [gguf(whole(), tensors=[("token_embd.weight", (2, 261), bytes(99))]), gguf(whole(), order=">")]
    refused = 0
    for _ in range(12):
        path = tmp_path / "model.gguf"
        path.write_bytes(mutant(chance.choice(contents), chance))
        tracemalloc.start()
        try:
            refused += read_or_refused(path, names=(r"model\.gguf",)) is None
            assert tracemalloc.get_traced_memory()[1] < 50_000_000
        finally:
            tracemalloc.stop()
    assert refused > 2
