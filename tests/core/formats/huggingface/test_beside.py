"""The files beside a `tokenizer.json`, as transformers reads them: added tokens, roles, chat templates, settings."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import pickle

import pytest

from tests.core.formats.trained import trained
from tokstudio.core.formats import load, save

MESSAGES = [{"role": "user", "content": "What is  this?"}, {"role": "assistant", "content": "Ünïcode <b>"}]
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}{{ eos_token }}\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
AROUND = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<|im_start|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<|im_start|>": {"id": "<|im_start|>", "ids": [282], "tokens": ["<|im_start|>"]}},
}
TRUNCATION = {"direction": "Right", "max_length": 512, "strategy": "LongestFirst", "stride": 0}
PADDING = {
    "strategy": {"Fixed": 8},
    "direction": "Left",
    "pad_to_multiple_of": None,
    "pad_id": 281,
    "pad_type_id": 0,
    "pad_token": "<|endoftext|>",
}
CHAT = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "bos_token": None,
    "eos_token": "<|im_end|>",
    "pad_token": "<|endoftext|>",
    "image_token": "<|image|>",
    "additional_special_tokens": ["<|im_start|>", "<|im_end|>"],
    "model_max_length": 4096,
    "padding_side": "left",
    "response_schema": {"a": [1, None, "é"]},
}


@pytest.fixture
def from_folder(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers")
    return lambda folder: transformers.AutoTokenizer.from_pretrained(str(folder))


def written(folder, changes=None, **files):
    """A folder with the tokenizer.json of a small tokenizer, and files beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    save(trained("banana bandana", 281, pattern="gpt2", special_tokens=specials), folder / "tokenizer.json")
    file = json.loads((folder / "tokenizer.json").read_bytes()) | (changes or {})
    (folder / "tokenizer.json").write_text(json.dumps(file))
    for name, content in files.items():
        usual = {"config": "tokenizer_config.json", "map": "special_tokens_map.json", "added": "added_tokens.json"}
        (folder / usual[name]).write_text(json.dumps(content))
    return folder


def templates(folder, **named):
    for name, text in named.items():
        path = folder / ("chat_template.jinja" if name == "default" else f"additional_chat_templates/{name}.jinja")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def roles_of(theirs):
    named = {role: getattr(theirs, role, None) for role in ("bos_token", "eos_token", "pad_token", "unk_token")}
    return named | theirs.special_tokens_map


def facts(theirs):
    """What a program that uses the tokenizer would notice."""
    text = "banana<|im_start|>ban <|image|><think> <|im_end|>"
    names = ["default", *theirs.chat_template] if isinstance(theirs.chat_template, dict) else [None]
    rendered = []
    for name in names if theirs.chat_template else []:
        for prompt in (False, True):
            try:
                made = theirs.apply_chat_template(MESSAGES, name, tokenize=False, add_generation_prompt=prompt)
            except ValueError as error:
                made = str(error)
            rendered.append((name, prompt, made))
    return {
        "roles": roles_of(theirs),
        "class": type(theirs).__name__,
        "extra": theirs.extra_special_tokens,
        "rendered": rendered,
        "templates": theirs.chat_template,
        "longest": theirs.model_max_length,
        "side": theirs.padding_side,
        "ids": theirs.encode(text),
        "plain": theirs.encode(text, add_special_tokens=False),
        "skipped": theirs.decode(theirs.encode(text), skip_special_tokens=True),
        "vocabulary": theirs.get_vocab(),
        "added": {number: repr(token) for number, token in theirs.added_tokens_decoder.items()},
        "truncation": theirs.backend_tokenizer.truncation,
        "padding": theirs.backend_tokenizer.padding,
    }


def test_a_chat_tokenizer_keeps_its_configuration(tmp_path, from_folder):
    """What transformers makes of the export is what it makes of the original."""
    folder = written(
        tmp_path / "chat",
        {"post_processor": AROUND, "truncation": TRUNCATION, "padding": PADDING},
        config={**CHAT, "chat_template": TEMPLATE},
    )
    tokenizer = load(folder)
    assert tokenizer.no_playhead is None
    assert tokenizer.roles == {
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "image_token": "<|image|>",
    }
    assert tokenizer.settings.model_max_length == 4096
    assert save(tokenizer, tmp_path / "again").losses == ()
    before, after = facts(from_folder(folder)), facts(from_folder(tmp_path / "again"))
    assert before["rendered"][0][2].endswith("Ünïcode <b><|im_end|>\n")
    assert after == before
    again = load(tmp_path / "again")
    assert again.settings == tokenizer.settings == pickle.loads(pickle.dumps(tokenizer)).settings
    assert again.special_tokens == tokenizer.special_tokens
    assert again.preparation == tokenizer.preparation
    save(again, tmp_path / "third")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (tmp_path / "third" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@pytest.mark.parametrize(
    ("in_config", "in_files"),
    [
        (TEMPLATE, {}),
        ([{"name": "default", "template": TEMPLATE}, {"name": "tool use", "template": "x{{ messages|length }}"}], {}),
        (None, {"default": TEMPLATE}),
        ("another", {"default": TEMPLATE}),
        ([{"name": "rag", "template": "y"}], {"default": TEMPLATE}),
        (None, {"default": TEMPLATE, "tool_use": "{{ messages[0]['content'] }}", "rag": "z"}),
        (TEMPLATE, {"rag": "z"}),
    ],
)
def test_chat_templates_are_read_and_written_as_they_stand(tmp_path, from_folder, in_config, in_files):
    folder = written(tmp_path / "chat", config=CHAT | ({"chat_template": in_config} if in_config else {}))
    templates(folder, **in_files)
    tokenizer = load(folder)
    theirs = from_folder(folder)
    named = theirs.chat_template if isinstance(theirs.chat_template, dict) else {"default": theirs.chat_template}
    assert tokenizer.settings.chat_templates == named
    files = save(tokenizer, tmp_path / "again").files
    assert sum(file.suffix == ".jinja" for file in files) == len(in_files)
    assert facts(from_folder(tmp_path / "again")) == facts(theirs)
    assert load(tmp_path / "again").settings.chat_templates == named
    if in_config and in_files:
        assert any(
            "has another chat template than tokenizer_config.json, and wins." in said for said in tokenizer.remarks
        )
