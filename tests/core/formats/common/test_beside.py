"""The files beside a pair and beside a SentencePiece model: the tokens and roles that transformers finds there."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest
import sentencepiece

from tests.core.formats.sentencepiece.test_format import OPTIONS, trained_model
from tests.core.formats.trained import added, trained
from tokstudio import FormatError, load, save
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.common.format import PatternNeeded
from tokstudio.core.formats.loading import load_work
from tokstudio.core.formats.saving import fit
from tokstudio.core.libraries.client import torture_text


def pair(folder, **files):
    save(trained("banana bandana ban", 264, pattern="gpt2"), folder, "gpt2")
    usual = {"config": "tokenizer_config.json", "map": "special_tokens_map.json", "added": "added_tokens.json"}
    usual["model"] = "config.json"
    for name, content in files.items():
        (folder / usual[name]).write_text(json.dumps(content))
    return folder


@pytest.mark.parametrize(
    "files",
    [
        {
            "config": {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True, "model_max_length": 77},
            "map": {"additional_special_tokens": ["<|user|>"], "eos_token": "<|end|>", "pad_token": "ban"},
            "added": {"<|user|>": 300, "<|end|>": 299, "<think>": 298},
        },
        {
            "config": {
                "tokenizer_class": "Qwen2Tokenizer",
                "added_tokens_decoder": {"270": added("<|user|>", rstrip=True)},
            }
        },
        {"config": {"tokenizer_class": "GPT2Tokenizer", "add_bos_token": True, "bos_token": "<|user|>"}},
        {"config": {"tokenizer_class": "GPT2Tokenizer", "pad_token": ""}, "map": {"bos_token": ""}},
        {"model": {"model_type": "qwen2"}, "config": {"eos_token": "<|end|>"}},
        {"model": {"model_type": "gpt2", "tokenizer_class": "Qwen2TokenizerFast"}},
        {"model": {"model_type": "opt"}, "added": {"<|user|>": 900, "<think>": 5}},
    ],
)
def test_a_pair_has_the_tokens_beside_it(tmp_path, from_folder, files):
    """The class of transformers says how the text is split, too."""
    folder = pair(tmp_path / "pair", **files)
    theirs, tokenizer = from_folder(folder), load(folder)
    assert tokenizer.pattern == ("qwen2" if "Qwen" in type(theirs).__name__ else "gpt2")
    their_roles = {role: token for role, token in theirs.special_tokens_map.items() if token}
    assert dict(tokenizer.roles) == their_roles
    by_text = {bytes(token): number for number, token in enumerate(tokenizer.tokens)}
    assert {token: by_text[token.encode()] for token in theirs.get_added_vocab()} == theirs.get_added_vocab()
    for text in ("banana <|user|> ban 123<think>don't", "ban", "<|endoftext|>e\u0301 <|end|>x", torture_text()):
        if tokenizer.roles.get("pad_token") == "ban":
            text = text.replace("ban", "b n")  # the token of the vocabulary stays an ordinary one
        assert tokenizer.encode(text, "all") == theirs.encode(text, add_special_tokens=False)
    before = theirs.encode("abc")
    save(tokenizer, tmp_path / "again")
    again = from_folder(tmp_path / "again")
    assert again.special_tokens_map == theirs.special_tokens_map
    assert again.encode("abc <|user|>") == theirs.encode("abc <|user|>")
    assert len(before) == len(again.encode("abc"))
    back = load(tmp_path / "again").settings
    assert (back if "config" in files else back.roles) == (tokenizer.settings if "config" in files else tokenizer.roles)


def test_a_pattern_that_is_given_wins_over_that_of_the_class(tmp_path):
    folder = pair(tmp_path / "pair", config={"tokenizer_class": "GPT2Tokenizer"})
    names = ["vocab.json", "merges.txt", "tokenizer_config.json"]
    for place in (folder, *(folder / name for name in names)):
        assert [file.name for file in finish(load_work(place)).files] == names
    tokenizer = load(folder, "cl100k")
    assert tokenizer.pattern == "cl100k"
    assert any("anew as GPT2Tokenizer, with the pattern gpt2" in remark for remark in tokenizer.remarks)
    assert not any("anew" in remark for remark in load(folder, "gpt2").remarks)
    (folder / "tokenizer_config.json").unlink()
    with pytest.raises(PatternNeeded):
        load(folder)


LLAMA = {
    "tokenizer_class": "LlamaTokenizer",
    "bos_token": "<s>",
    "eos_token": "<|im_end|>",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
    "chat_template": "{{ messages[0]['content'] }}{{ eos_token }}",
    "model_max_length": 99,
}
SPOKEN = [
    *("the cat<|im_end|>", "the <|im_end|> cat sat", "<|im_end|>cat", "<think>the<think> mat", "<pad>", ""),
    *("the<|im_end|>\n\nmat<s>", "a\u3000b<unk>\u00e9", "the  <w> cat mat<w>"),
]


def test_a_model_has_the_tokens_beside_it(tmp_path, from_folder):
    listed = {
        "5000": added("<|im_end|>"),
        "4000": added("<think>", special=False),
        "6000": added("<w>", single_word=True, lstrip=True),
    }
    options = OPTIONS["as it is"] | {"byte_fallback": True}
    del options["add_dummy_prefix"]
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "tokenizer.model").write_bytes(trained_model(size=1300, **options))
    (folder / "tokenizer_config.json").write_text(json.dumps({**LLAMA, "added_tokens_decoder": listed}))
    theirs, tokenizer = from_folder(folder), load(folder)
    assert tokenizer.library == "sentencepiece"
    assert dict(tokenizer.roles) == theirs.special_tokens_map
    assert tokenizer.settings.model_max_length == 99
    for text in SPOKEN:
        ids = tokenizer.encode(text, "all")
        assert ids == theirs.encode(text, add_special_tokens=False)
        assert tokenizer.decode(ids) == theirs.decode(ids)
        found, ends = finish(tokenizer.encode_with_ends_work(text, "all"))
        assert found.tolist() == ids
        assert ends.tolist() == sorted(ends.tolist())
        assert not text or ends[-1] == len(text.encode())
    think = theirs.convert_tokens_to_ids("<think>")
    assert think in tokenizer.encode("the<think>")
    plain = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    assert tokenizer.encode("the<|im_end|><s>") == plain.encode("the<|im_end|><s>")
    (tmp_path / "again").mkdir()
    report = save(tokenizer, tmp_path / "again", "sentencepiece")
    assert sorted(file.name for file in report.files) == ["tokenizer.model", "tokenizer_config.json"]
    for name in ("tokenizer.model", "tokenizer_config.json"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()
    again = load(tmp_path / "again" / "tokenizer_config.json")
    assert again.settings == tokenizer.settings
    assert again.encode(SPOKEN[1], "all") == tokenizer.encode(SPOKEN[1], "all")
    alone = tmp_path / "alone.model"
    lost = fit(tokenizer, "sentencepiece", path=alone).losses
    assert '"<think>", "<|im_end|>", "<w>", "<pad>"' in lost[0]
    assert "The chat template is lost." in lost
    with pytest.raises(FormatError, match="The chat template is lost"):
        save(tokenizer, alone, "sentencepiece")
    save(tokenizer, alone, "sentencepiece", accept_loss=True)
