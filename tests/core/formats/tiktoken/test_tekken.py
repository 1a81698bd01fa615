"""Mistral's `tekken.json` is read as `mistral-common` reads it, and written as other files with its loss by name."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import json
import lzma

import pytest

from tests.core.formats.trained import TEXT, ranks_of, trained
from tokstudio import FormatError, load, save
from tokstudio.core.formats.known_formats import tokenizer_files
from tokstudio.core.formats.saving import fit

tiktoken = pytest.importorskip("tiktoken")

RANKED = ranks_of(trained(TEXT * 3, 40, pattern="gpt2"))
PATTERN = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPECIALS = ("<unk>", "<s>", "</s>", "[INST]")


def tekken(specials=SPECIALS, *, extra=0, reserved=6, version="v3", **more):
    tokens = [*RANKED, *(b"not counted %d" % number for number in range(extra))]
    vocabulary = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate(tokens)
    ]
    config = {
        "pattern": PATTERN,
        "num_vocab_tokens": len(tokens),
        "default_vocab_size": len(RANKED) + reserved,
        "default_num_special_tokens": reserved,
        "version": version,
    }
    made = {"config": config, "vocab": vocabulary, **more}
    if specials is not None:
        made["special_tokens"] = [
            {"rank": rank, "token_str": token, "is_control": True} for rank, token in enumerate(specials)
        ]
    return made


def put(folder, content, name="tekken.json"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(content), "utf-8")
    return folder / name


def theirs():
    return tiktoken.Encoding("x", pat_str=PATTERN, mergeable_ranks=RANKED, special_tokens={})


@pytest.mark.parametrize("name", ["tekken.json", "tekken_240718.json"])
def test_it_is_read_under_each_of_its_names(tmp_path, name):
    file = put(tmp_path, tekken(extra=5), name)
    assert tokenizer_files(file) == (file,)
    tokenizer = load(file)
    assert tokenizer.encode(TEXT) == [6 + rank for rank in theirs().encode(TEXT)]
    assert tokenizer.decode(tokenizer.encode(TEXT)) == TEXT
    assert tokenizer.special_tokens == {**{t: n for n, t in enumerate(SPECIALS)}, "<SPECIAL_4>": 4, "<SPECIAL_5>": 5}
    assert len(tokenizer) == len(RANKED) + 6
    assert tokenizer.library is None
    assert len(tokenizer.at(3).merges) == 3


def test_a_folder_of_it_opens(tmp_path):
    file = put(tmp_path, tekken())
    assert tokenizer_files(tmp_path) == (file,)
    assert load(tmp_path).encode(TEXT) == load(file).encode(TEXT)


def test_keys_may_stand_in_any_order(tmp_path):
    content = tekken()
    file = put(tmp_path, dict(reversed(content.items())))
    assert load(file).encode(TEXT) == [6 + rank for rank in theirs().encode(TEXT)]


def test_files_of_early_versions_without_special_tokens_have_the_usual_ones(tmp_path):
    tokenizer = load(put(tmp_path, tekken(None, reserved=30, version="v7")))
    assert tokenizer.special_tokens["[PREFIX]"] == 14
    assert tokenizer.special_tokens["[TOOL_CONTENT]"] == 19
    assert tokenizer.special_tokens["<SPECIAL_20>"] == 20
    with pytest.raises(FormatError, match=r"^tekken\.json: it has no special tokens, which files of version v11 must"):
        load(put(tmp_path, tekken(None, reserved=30, version="v11")))


def test_it_is_written_as_tokenizer_json_with_its_loss_by_name(tmp_path):
    tokenizer = load(put(tmp_path, tekken(image={"size": 7})))
    losses = " ".join(fit(tokenizer, "huggingface").losses)
    assert (
        "Text never becomes special tokens in Mistral's own library. With the exported files it does, where a program "
        "looks for special tokens in text, as the tokenizers library does."
    ) in losses
    assert losses.count("leave it out") == 1  # the settings of images
    assert '"image"' in losses
    with pytest.raises(FormatError, match="Text never becomes special tokens"):
        save(tokenizer, tmp_path / "out", "huggingface")
    report = save(tokenizer, tmp_path / "out", "huggingface", accept_loss=True)
    assert report.proof.startswith("identical over")
    library = pytest.importorskip("tokenizers").Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    assert library.encode(TEXT, add_special_tokens=False).ids == tokenizer.encode(TEXT)
    assert 1 in library.encode("a<s>", add_special_tokens=False).ids
    again = load(tmp_path / "out")
    assert again.special_tokens == tokenizer.special_tokens
    assert again.encode(f"<s>{TEXT}", "all") == [1, *tokenizer.encode(TEXT)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda file: file["config"].pop("pattern"), 'its "config" lacks the pattern'),
        (lambda file: file["config"].update(version="v99"), "its version is unknown"),
        (lambda file: file["config"].update(default_vocab_size=10**6), "do not fit its vocabulary size"),
        (
            lambda file: file["config"].update(default_num_special_tokens=2, default_vocab_size=290),
            "its special tokens do not have the ids below 2",
        ),
        (lambda file: file["vocab"][7].update(rank=8), "token 7 is damaged, or not in the order of its rank"),
        (lambda file: file["vocab"][7].update(token_bytes="?"), "token 7 is not base64"),
        (lambda file: file["vocab"][290].update(token_bytes="YQ=="), "two of its tokens have the same bytes"),
        (lambda file: file["vocab"][7].update(token_bytes="//8="), "the byte 7 has no rank"),
        (lambda file: file["special_tokens"][1].update(rank=0), 'special token "<s>" appears twice'),
        (lambda file: file["special_tokens"][1].update(token_str=""), "a special token is damaged"),
        (lambda file: file["config"].update(pattern="("), "its pattern cannot be used"),
    ],
)
def test_a_damaged_file_is_refused_in_a_sentence(tmp_path, change, words):
    content = tekken()
    change(content)
    with pytest.raises(FormatError) as caught:
        load(put(tmp_path, content))
    assert str(caught.value).startswith("tekken.json: ")
    assert words in str(caught.value)


@pytest.mark.shared_data
def test_mistral_s_own_file_is_read(shared, tmp_path):
    content = lzma.decompress((shared / "tokenizers" / "real" / "tekken_240718.json.xz").read_bytes())
    (tmp_path / "tekken.json").write_bytes(content)
    tokenizer, whole = load(tmp_path), json.loads(content)
    ranks = {base64.b64decode(one["token_bytes"]): one["rank"] for one in whole["vocab"][:130_072]}
    library = tiktoken.Encoding("x", pat_str=whole["config"]["pattern"], mergeable_ranks=ranks, special_tokens={})
    text = "Hello wörld 123456 數據 Việt\n\n  l'été don't ÀÉ ǅ" + TEXT
    assert tokenizer.encode(text) == [1000 + rank for rank in library.encode(text)]
    assert len(tokenizer) == 131_072
    assert tokenizer.library is None
