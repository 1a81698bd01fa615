"""The files beside a `tokenizer.json`, as transformers reads them: added tokens, roles, chat templates, settings."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import copy
import inspect
import json
import pickle
import random

import numpy as np
import pytest

from tests.core.formats.trained import added, same, settings_of, trained
from tokstudio import (
    Corpus,
    FormatError,
    TrainingConfig,
    add_specials,
    extend,
    join,
    load,
    prune,
    renumber,
    replace_specials,
    save,
)
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.common.library_classes import CLASSES, class_of, library_class
from tokstudio.core.formats.huggingface.parts import splitting
from tokstudio.core.formats.loading import load_work
from tokstudio.core.formats.saving import fit
from tokstudio.core.project.schema import from_json, to_json
from tokstudio.core.project.tokenizers import keep_tokenizer_work, reopen_tokenizer_work
from tokstudio.core.project.whole_tokenizer import tokenizer_of, tokenizer_values

CONFIG = "tokenizer_config.json"
BESIDE = {"config": CONFIG, "map": "special_tokens_map.json", "added": "added_tokens.json", "model": "config.json"}
MESSAGES = [{"role": "user", "content": "What is  this?"}, {"role": "assistant", "content": "Ünïcode <b>"}]
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}{{ eos_token }}\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
AROUND = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<|im_start|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<|im_start|>": {"id": "<|im_start|>", "ids": [0], "tokens": ["<|im_start|>"]}},
}
TRUNCATION = {"direction": "Right", "max_length": 512, "strategy": "LongestFirst", "stride": 0}
PADDING = {
    "strategy": {"Fixed": 8},
    "direction": "Left",
    "pad_to_multiple_of": None,
    "pad_id": 0,
    "pad_type_id": 0,
    "pad_token": "<|endoftext|>",
}
ALL_AROUND = {"post_processor": AROUND, "truncation": TRUNCATION, "padding": PADDING}
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


def written(folder, changes=None, **files):
    """A folder with the tokenizer.json of a small tokenizer, and files beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    file = settings_of(trained("banana bandana", 281, pattern="gpt2", special_tokens=specials))
    file |= copy.deepcopy(changes or {})
    ids = {token["content"]: token["id"] for token in file["added_tokens"]}
    if file["post_processor"]:
        file["post_processor"]["special_tokens"]["<|im_start|>"]["ids"] = [ids["<|im_start|>"]]
    if file["padding"]:
        file["padding"]["pad_id"] = ids["<|endoftext|>"]
    (folder / "tokenizer.json").write_text(json.dumps(file))
    for name, content in files.items():
        (folder / BESIDE[name]).write_text(json.dumps(content))
    return folder


def template_file(name):
    return "chat_template.jinja" if name == "default" else f"additional_chat_templates/{name}.jinja"


def templates(folder, **named):
    for name, text in named.items():
        path = folder / template_file(name)
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
        "extra": [token for token in theirs.extra_special_tokens if token],
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


@pytest.mark.parametrize(
    ("in_config", "in_files"),
    [
        ([{"name": "default", "template": TEMPLATE}, {"name": "tool use", "template": "x{{ messages|length }}"}], {}),
        (None, {"default": TEMPLATE}),
        ("another", {"default": TEMPLATE}),
        ([{"name": "rag", "template": "y"}], {"default": TEMPLATE}),
        (None, {"default": TEMPLATE, "tool_use": "{{ messages[0]['content'] }}", "rag": "z"}),
        (TEMPLATE, {"rag": "z"}),
    ],
)
def test_chat_templates_are_read_and_written_as_they_stand(tmp_path, from_folder, in_config, in_files):
    config = CHAT | ({"chat_template": in_config} if in_config else {})
    folder = written(tmp_path / "chat", ALL_AROUND, config=config)
    templates(folder, **in_files)
    loaded = finish(load_work(folder))
    tokenizer, theirs = loaded.tokenizer, from_folder(folder)
    named = theirs.chat_template if isinstance(theirs.chat_template, dict) else {"default": theirs.chat_template}
    assert tokenizer.settings.chat_templates == named
    report = save(tokenizer, tmp_path / "again")
    files = report.files
    assert report.losses == ()
    kept = finish(keep_tokenizer_work("chat", loaded.files))
    assert {file.name for file in kept.files[1:]} == {CONFIG, *map(template_file, in_files)}
    assert finish(reopen_tokenizer_work(kept)).settings == tokenizer.settings == load(tmp_path / "again").settings
    assert sum(file.suffix == ".jinja" for file in files) == len(in_files)
    assert facts(from_folder(tmp_path / "again")) == facts(theirs)
    assert load(tmp_path / "again").settings.chat_templates == named
    if in_config and in_files:
        assert any(
            "has another chat template than tokenizer_config.json, and wins." in said for said in tokenizer.remarks
        )


TEXTS = ("banana<|im_start|>ban <|image|> <think> ab", "<|pad|>a<a>", "x <b>  <|im_end|>\n<c> ban ana", "ban", "")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"config": {"pad_token": "<|pad|>"}}, '1 token of the files beside it follow its own: "<|pad|>".'),
        (
            {"config": {"added_tokens_decoder": {"400": added("<a>"), "399": added("<b>", rstrip=True)}}},
            'tokenizer_config.json gives "<b>" the id 399, but it is 266: ids in this file are ignored (1 more).',
        ),
        (
            {"config": {"added_tokens_decoder": {}, "eos_token": "<|im_end|>"}, "map": {"eos_token": "ban"}},
            "tokenizer_config.json lists the added tokens, so special_tokens_map.json, which says otherwise, is not",
        ),
        (
            {"config": {"eos_token": "<|im_end|>"}, "map": {"eos_token": {"content": "<c>", "lstrip": True}}},
            'special_tokens_map.json says that eos_token is "<c>", tokenizer_config.json that it is "<|im_end|>": '
            "the first wins.",
        ),
        ({"config": {"extra_special_tokens": {"image": "<|image|>", "x_token": "<a>"}}}, ""),
        ({"config": {"foo_token": "ban"}}, 'The files beside it make tokens of its vocabulary added ones: "ban".'),
        (
            {"config": {"added_tokens_decoder": {"263": added("<|endoftext|>", lstrip=True, special=False)}}},
            'tokenizer_config.json describes "<|endoftext|>" (lstrip, special) otherwise than the file itself',
        ),
        ({"config": {"tokenizer_class": "GPT2Tokenizer", "sep_token": "<a>", "pad_token": "<b>"}}, ""),
        (
            {"config": {"tokenizer_class": "Qwen2TokenizerFast", "unk_token": None, "eos_token": "<|im_end|>"}},
            "transformers makes this tokenizer anew as Qwen2TokenizerFast, with the pattern qwen2 and the",
        ),
        (
            {"config": {"pad_token": "", "bos_token": {"__type": "AddedToken", "content": ""}, "eos_token": "<a>"}},
            '1 token of the files beside it follow its own: "<a>".',
        ),
        (
            {"config": {"pad_token": "<a>"}, "map": {"pad_token": ""}},
            'special_tokens_map.json says that pad_token is none, tokenizer_config.json that it is "<a>": the',
        ),
        ({"config": {"tokenizer_class": "GPT2Tokenizer", "eos_token": "", "pad_token": "<b>"}}, ""),
        ({"config": {"split_special_tokens": True}}, 'tokenizer_config.json says "split_special_tokens"'),
    ],
)
def test_files_beside_are_read_as_transformers_reads_them(tmp_path, from_folder, files, said):
    folder = written(tmp_path / "chat", **{"config": {"clean_up_tokenization_spaces": False}, **files})
    if "tokenizer_class" not in files.get("config", {}):
        config = json.loads((folder / CONFIG).read_bytes())
        config["tokenizer_class"] = "PreTrainedTokenizerFast"
        (folder / CONFIG).write_text(json.dumps(config))
    theirs, tokenizer = from_folder(folder), load(folder)
    assert len(theirs) == len(tokenizer)
    named = {token: number for number, token in enumerate(tokenizer.tokens) if token is not None}
    for token, number in theirs.get_added_vocab().items():
        assert named[token.encode()] == number
    # The library shows a role whose token is empty, and adds none.
    assert dict(tokenizer.roles) == {role: token for role, token in theirs.special_tokens_map.items() if token}
    assert any(said in remark for remark in tokenizer.remarks)
    if not files.get("config", {}).get("split_special_tokens"):
        for text in TEXTS:
            assert tokenizer.encode(text, "all") == theirs.encode(text, add_special_tokens=False)
    if tokenizer.library is None:
        save(tokenizer, tmp_path / "again")
        again = from_folder(tmp_path / "again")
        # A token that was special for the library stays so, also where it says the contrary.
        left = {"class": "", **({"added": {}} if "(lstrip, special)" in said else {})}
        assert facts(again) | left == facts(theirs) | left
    else:
        # The library's file is copied, with those beside it.
        report = save(tokenizer, tmp_path / "again")
        assert {file.name for file in report.files} >= {file.name for file in folder.iterdir()}
        assert facts(from_folder(tmp_path / "again")) == facts(theirs)


def test_a_file_alone_says_what_stands_beside_it(tmp_path):
    """Neither a file of our own nor one that is copied holds what stands in other files."""
    folder = written(tmp_path / "chat", config={**CHAT, "chat_template": TEMPLATE})
    ours = load(folder)
    with pytest.raises(FormatError, match="The chat template is lost"):
        save(ours, tmp_path / "alone.json")
    losses = save(ours, tmp_path / "alone.json", accept_loss=True).losses
    assert losses == fit(ours, "huggingface", path=tmp_path / "alone.json").losses
    assert fit(ours, "huggingface").losses == ()
    assert losses[:3] == (
        'The roles of special tokens are lost: eos "<|im_end|>", pad "<|endoftext|>", image "<|image|>".',
        "The chat template is lost.",
        "The largest number of tokens for the model is lost: model_max_length 4,096.",
    )
    lower = {"normalizer": {"type": "Lowercase"}}
    copied = load(written(tmp_path / "lower", lower, config={**CHAT, "chat_template": TEMPLATE}))
    assert copied.library == "tokenizers"
    assert copied.roles == ours.roles
    lost = fit(copied, "huggingface", path=tmp_path / "lower.json").losses
    assert lost[0] == 'The added tokens that stand only in the files beside it are lost: "<|image|>".'
    assert lost[1:] == losses
    save(copied, tmp_path / "lower.json", accept_loss=True)


@pytest.mark.parametrize("name", ["tiktoken", "gpt2", "minbpe", "classic"])
def test_what_another_format_cannot_hold_is_a_loss_by_name(tmp_path, name):
    tokenizer = load(written(tmp_path / "chat", ALL_AROUND, config={**CHAT, "chat_template": TEMPLATE}))
    losses = fit(tokenizer, name).losses
    for loss in (
        'The roles of special tokens are lost: eos "<|im_end|>", pad "<|endoftext|>", image "<|image|>".',
        "The chat template is lost.",
        "The largest number of tokens for the model is lost: model_max_length 4,096.",
        'Settings of tokenizer_config.json are lost: "padding_side", "response_schema".',
        "The post-processor is lost, which adds <|im_start|> before every text.",
        "The truncation of the file is lost.",
        "The padding of the file is lost.",
    ):
        assert loss in losses
    report = save(tokenizer, tmp_path / "there", name, accept_loss=True)
    assert set(losses) <= set(report.losses)
    assert fit(tokenizer, "vocabulary-csv").losses == ()
    assert fit(load_plain(tmp_path / "plain"), name).losses == fit(plain(), name).losses


def plain():
    return trained("banana", 20, special_tokens=["<|endoftext|>", "</s>"])


def load_plain(folder):
    save(plain(), folder)
    return load(folder)


def changed(tokenizer):
    """The same by every change, with the texts of tokens that were renamed."""
    more = extend(
        tokenizer, Corpus.from_text("the cat the cat" * 9), TrainingConfig(vocabulary_size=288, pattern="gpt2")
    )
    yield "extended", more, {}
    yield "joined", join(tokenizer, trained("xyxyxy", 258, pattern="gpt2")), {}
    yield "pruned", prune(tokenizer, vocabulary_size=len(tokenizer) - 2).tokenizer, {}
    order = np.roll(tokenizer.tokens.ids(), 5)
    yield "renumbered", renumber(tokenizer, order).tokenizer, {}
    yield "compact", tokenizer.at(3).compact(), {}
    yield "added", add_specials(tokenizer, ["<|new|>"]), {}
    names = {"<|im_start|>": "<|turn|>", "<|endoftext|>": "<|fill|>"}
    yield "renamed", replace_specials(tokenizer, names), names
    yield "pickled", pickle.loads(pickle.dumps(tokenizer)), {}
    yield "kept", tokenizer_of(from_json(to_json(tokenizer_values(tokenizer)))), {}


def test_every_change_keeps_the_configuration(tmp_path, from_folder):
    config = {**CHAT, "chat_template": TEMPLATE, "added_tokens_decoder": {"266": added("<think>", special=False)}}
    folder = written(tmp_path / "chat", ALL_AROUND, config=config)
    theirs, seen = from_folder(folder), []
    for what, made, names in changed(load(folder)):
        seen.append(what)
        save(made, tmp_path / what)
        after = from_folder(tmp_path / what)

        def new(token, names=names):
            return names.get(token, token)

        before = facts(theirs)
        assert {role: new(token) for role, token in before["roles"].items()} == roles_of(after), what
        extra = [*map(new, before["extra"]), *(["<|new|>"] if what == "added" else [])]
        assert after.extra_special_tokens == extra
        now = facts(after)
        rendered = str(before["rendered"])
        for old, name in names.items():
            rendered = rendered.replace(old, name)
        assert str(now["rendered"]) == rendered, what
        assert (now["longest"], now["side"]) == (before["longest"], before["side"])
        text = "ban <|im_start|><think>"
        for old, name in names.items():
            text = text.replace(old, name)
        # The post-processor and the padding have the new ids.
        assert after.encode("ban")[0] == after.convert_tokens_to_ids(new("<|im_start|>"))
        file = json.loads((tmp_path / what / "tokenizer.json").read_bytes())
        padding = file["padding"]
        assert (padding["pad_token"], padding["pad_id"]) == (
            new("<|endoftext|>"),
            after.convert_tokens_to_ids(new("<|endoftext|>")),
        )
        assert file["truncation"] == TRUNCATION
        assert after.decode(made.encode("a<think>"), skip_special_tokens=True) == "a<think>", what
        assert made.decode([made.encode("a<think>")[-1]]) == "<think>"
        assert after.encode(text, add_special_tokens=False) == made.encode(text, "all")
    assert len(seen) == 9


def test_a_chat_template_names_a_renamed_token_by_its_new_name(tmp_path):
    longer = "<|im_start|>x"
    config = CHAT | {"additional_special_tokens": [*CHAT["additional_special_tokens"], longer]}
    opened = load(written(tmp_path / "chat", config=config | {"chat_template": f"{TEMPLATE}{longer}<|im_start|>"}))
    renamed = replace_specials(opened, {"<|im_start|>": "<|turn|>"})
    before, after = (made.settings.chat_templates["default"] for made in (opened, renamed))
    assert after == before.replace("<|im_start|>", "<|turn|>").replace("<|turn|>x", longer)
    assert not any("still names" in told for told in renamed.remarks)
    assert replace_specials(renamed, {"<|turn|>": "<|im_start|>"}).settings.chat_templates == (
        opened.settings.chat_templates
    )
    # Other signs may be a part of other text, and a quote ends a text of the template.
    for name in ("&turn&", "<|'|>", "<|{{|>"):
        kept = replace_specials(opened, {"<|im_start|>": name})
        assert kept.settings.chat_templates == opened.settings.chat_templates
        told = 'The chat template still names "<|im_start|>", which is no special token any more.'
        assert told in kept.remarks


def test_a_chat_template_of_another_tokenizer_in_the_folder_is_not_taken_over(tmp_path):
    folder = written(tmp_path / "chat", config=CHAT)
    (tmp_path / "there").mkdir()
    templates(tmp_path / "there", default="of another")
    with pytest.raises(FormatError, match=r"^chat_template\.jinja: this chat template is in the folder already"):
        save(load(folder), tmp_path / "there")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (CONFIG, "[1]", r"this is not an object, line 1, column 1"),
        (CONFIG, '{"eos_token": 3}', r"eos_token: a token must be a text, not .3."),
        (CONFIG, '{"added_tokens_decoder": [1]}', "added_tokens_decoder must be an object"),
        (CONFIG, '{"added_tokens_decoder": {"x": {"content": "a"}}}', "added_tokens_decoder: .*id must be"),
        (CONFIG, '{"added_tokens_decoder": {"7": "a"}}', "added_tokens_decoder: token 7 has no content"),
        (CONFIG, '{"added_tokens_decoder": {"7": {"content": "a", "lstrip": 1}}}', "must be true or false"),
        (CONFIG, '{"additional_special_tokens": "a"}', "additional_special_tokens must be a list"),
        (CONFIG, '{"chat_template": 5}', "chat_template must be a text, or a list"),
        (CONFIG, '{"chat_template": [{"name": "a"}]}', "each chat template needs a name and a template"),
        (CONFIG, '{"tokenizer_class": []}', "tokenizer_class must be a text"),
        (CONFIG, '{"eos_token": "\\ud800"}', "is not a token"),
        (CONFIG, '{"a": ' + "[" * 500, "nested too deeply"),
        ("special_tokens_map.json", '{"eos_token": [1]}', "eos_token: a token must be a text"),
        ("added_tokens.json", '{"a": "b"}', "token .a.: an id must be a whole number"),
        ("added_tokens.json", '{"a": 99999999999}', "token .a.: id 99999999999 is too large"),
        ("chat_template.jinja", b"\xff", "this is not UTF-8"),
    ],
)
def test_damaged_files_beside_are_refused_in_one_sentence(tmp_path, name, content, words):
    folder = written(tmp_path / "chat")
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FormatError, match=rf"^{name.replace('.', '[.]')}: .*{words}") as refused:
        load(folder)
    assert "\n" not in str(refused.value)


def test_classes_are_those_of_transformers():
    """Each class has the roles by itself that are known here, and those of bytes split text as is known here."""
    pytest.importorskip("transformers")
    from transformers.models.auto.tokenization_auto import tokenizer_class_from_name
    from transformers.tokenization_utils_tokenizers import TokenizersBackend

    for name, known in CLASSES.items():
        theirs = tokenizer_class_from_name(name)
        assert "__init__" in vars(theirs)
        assert issubclass(theirs, TokenizersBackend)
        given = inspect.signature(theirs.__init__).parameters.values()
        roles = {each.name: str(each.default) for each in given if each.name.endswith("_token")}
        assert known.roles == {
            role: token for role, token in roles.items() if token not in ("None", "False", "True")
        }, name
        if known.splits is not None:
            file = json.loads(theirs(vocab={"a": 0}, merges=[]).backend_tokenizer.to_str())
            assert (file["normalizer"] == {"type": "NFC"}) == known.nfc
            assert splitting(file["pre_tokenizer"]) == ("bytes", known.splits, False)


# The library has the class of the first no more, and the second reads its own files by a function of its own.
ODD_MODELS = ["gpt-sw3", "nougat"]


def test_the_classes_of_models_are_those_in_the_tables_of_transformers():
    """Of each type with a configuration of its own, and of those whose files name a wrong class, or have none."""
    pytest.importorskip("transformers")
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
    from transformers.models.auto.tokenization_auto import (
        MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS,
        TOKENIZER_MAPPING_NAMES,
    )

    whole = ("TokenizersBackend", "PythonBackend", "PreTrainedTokenizerFast", "MistralCommonBackend")
    for kind in {*TOKENIZER_MAPPING_NAMES, *CONFIG_MAPPING_NAMES}.difference(ODD_MODELS):
        usual = TOKENIZER_MAPPING_NAMES.get(kind)
        theirs = usual if kind in CONFIG_MAPPING_NAMES else None
        assert library_class(class_of(None, {"model_type": kind})) == library_class(theirs), kind
        is_firm = kind in MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS or usual in whole
        theirs = usual if is_firm else "LlamaTokenizer"
        assert library_class(class_of("LlamaTokenizer", {"model_type": kind})) == library_class(theirs), kind


@pytest.mark.parametrize("named", [None, "GPT2TokenizerFast", "PreTrainedTokenizerFast"])
def test_the_class_of_a_model_is_that_of_transformers(tmp_path, from_folder, monkeypatch, named):
    """For some types of models, with a class in the tokenizer's configuration, in the model's, or in neither."""
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES
    from transformers.tokenization_utils_base import PreTrainedTokenizerBase

    monkeypatch.setattr(PreTrainedTokenizerBase, "from_pretrained", classmethod(lambda cls, *_, **__: cls.__name__))
    for kind in [*ODD_MODELS, "encoder-decoder", "unknown", "qwen2", *sorted(TOKENIZER_MAPPING_NAMES)[::20]]:
        model = {"model_type": kind}
        if kind == "encoder-decoder":
            model |= {"encoder": {"model_type": "qwen2"}, "decoder": {"model_type": "gpt2"}}
        for own in (None, named) if named else (None,):
            model |= {"tokenizer_class": own} if own else {}
            (tmp_path / "config.json").write_text(json.dumps(model))
            (tmp_path / CONFIG).write_text(json.dumps({"tokenizer_class": named} if named and not own else {}))
            theirs = from_folder(tmp_path)
            found = library_class(class_of(None if own else named, model))
            assert found == (library_class(theirs) if isinstance(theirs, str) else None), (kind, own)


MODELS = [
    ({"model_type": "qwen2"}, None),
    ({"model_type": "qwen2"}, {"eos_token": "<|im_end|>"}),
    ({"model_type": "bart", "id2label": {"0": "A"}}, {"model_max_length": 77}),
    ({"model_type": "whisper"}, {"tokenizer_class": None, "pad_token": "<a>"}),
    ({"tokenizer_class": "GPTNeoXTokenizerFast", "model_type": "none"}, None),
    ({"model_type": "granite"}, {"tokenizer_class": "GPT2Tokenizer", "eos_token": "<|im_end|>"}),
    ({"model_type": "qwen2"}, {"tokenizer_class": "GPT2Tokenizer"}),
    ({"model_type": "llama", "tokenizer_class": 7}, {"tokenizer_class": "PreTrainedTokenizerFast"}),
]


@pytest.mark.parametrize(
    ("model", "config", "own_library"),
    [*((*case, False) for case in MODELS), *((*case, True) for case in (MODELS[0], MODELS[3], MODELS[7]))],
)
def test_the_model_beside_it_tells_the_class(tmp_path, from_folder, model, config, own_library):
    """Its tokens and roles are there, and a remark where the class splits otherwise, as for a class that is named."""
    changes = {"normalizer": {"type": "Lowercase"}} if own_library else {}
    folder = written(tmp_path / "chat", changes, model=model, **({} if config is None else {"config": config}))
    theirs, tokenizer = from_folder(folder), load(folder)
    assert (tokenizer.library is None) != own_library
    assert dict(tokenizer.roles) == theirs.special_tokens_map
    by_text = {token: number for number, token in enumerate(tokenizer.tokens) if token is not None}
    added = theirs.get_added_vocab()
    assert {token: by_text[token.encode()] for token in added} == added
    says = [remark for remark in tokenizer.remarks if "makes this tokenizer anew" in remark]
    their_class = type(theirs).__name__
    plain = their_class in ("TokenizersBackend", "PreTrainedTokenizerFast")
    same = not own_library and their_class in ("GPT2Tokenizer", "RobertaTokenizer", "WhisperTokenizer")
    assert len(says) == (not plain and not same)
    if not says and not own_library:
        for text in TEXTS:
            assert tokenizer.encode(text, "all") == theirs.encode(text, add_special_tokens=False)
    # The model's file is read, and neither written nor lost.
    report = save(tokenizer, tmp_path / "again")
    assert "config.json" not in {file.name for file in report.files}
    again = load(tmp_path / "again")
    assert dict(again.roles) == dict(tokenizer.roles)
    assert again.encode("ban<|endoftext|>12<a>", "all") == tokenizer.encode("ban<|endoftext|>12<a>", "all")
    assert not any("class" in loss for loss in fit(tokenizer, "huggingface").losses)
    kept = finish(keep_tokenizer_work("kept", finish(load_work(folder)).files))
    assert finish(reopen_tokenizer_work(kept)).settings == tokenizer.settings


def test_a_damaged_file_of_the_model_is_said_and_not_read(tmp_path):
    folder = written(tmp_path / "chat")
    for content in (b"{", b"[]", b'{"model_type": "qwen2"', b"\xff"):
        (folder / "config.json").write_bytes(content)
        (said,) = (remark for remark in load(folder).remarks if "config.json" in remark)
        assert said.startswith("Whether the model's file names a class is not known: config.json: ")
    (folder / "config.json").write_text('{"model_type": 5, "encoder": [], "tokenizer_class": {}}')
    assert not any("config.json" in remark for remark in load(folder).remarks)


NAMED = ["<a>", "<b>", "<c>", "ban", "<e>", " f"]


def some_flags(chance):
    shares = {"lstrip": 0.2, "rstrip": 0.2, "single_word": 0.15, "normalized": 0.3, "special": 0.7}
    return {flag: chance.random() < share for flag, share in shares.items()}


def some_files(folder, chance):
    """A tokenizer with any added tokens, and any files beside it that name these and others."""
    own = chance.sample([name for name in NAMED if name != "ban"], chance.randint(0, 3))
    entries = [{"id": 263 + at, "content": name, **some_flags(chance)} for at, name in enumerate(own)]
    config, given = {"tokenizer_class": "PreTrainedTokenizerFast"}, {}
    for role in ("bos_token", "eos_token", "pad_token", "sep_token", "x_token"):
        if chance.random() < 0.3:
            config[role] = chance.choice(NAMED)
        elif chance.random() < 0.1:
            config[role] = {"__type": "AddedToken", "content": chance.choice(NAMED), **some_flags(chance)}
    if chance.random() < 0.4:
        names = chance.sample(NAMED, chance.randint(0, 3))
        numbers = chance.sample(range(255, 300), len(names))
        listed = {
            str(number): {"content": name, **some_flags(chance)} for number, name in zip(numbers, names, strict=True)
        }
        config["added_tokens_decoder"] = listed
    if chance.random() < 0.3:
        config[chance.choice(["additional_special_tokens", "extra_special_tokens"])] = chance.sample(NAMED, 2)
    if chance.random() < 0.4:
        roles = {role: chance.choice(NAMED) for role in ("eos_token", "unk_token", "y_token") if chance.random() < 0.4}
        given["map"] = roles | {"pad_token": {"content": chance.choice(NAMED), **some_flags(chance)}}
    if chance.random() < 0.4:
        numbers = chance.sample(range(255, 280), 3)
        given["added"] = dict(zip(chance.sample(NAMED, 3), numbers, strict=True))
    normalizer = {"type": "NFC"} if chance.random() < 0.3 else None
    return written(folder, {"added_tokens": entries, "normalizer": normalizer}, config=config, **given)


@pytest.mark.parametrize("seed", range(10))
def test_any_files_beside_mean_what_they_mean_to_transformers(tmp_path, from_folder, seed):
    """Which file wins, in which order tokens get ids, which flags stay: all as the library has it."""
    chance = random.Random(seed)
    folder = some_files(tmp_path / "chat", chance)
    theirs, tokenizer = from_folder(folder), load(folder)
    assert dict(tokenizer.roles) == theirs.special_tokens_map
    assert sorted(tokenizer.settings.additional) == sorted(set(theirs.extra_special_tokens))
    save(tokenizer, tmp_path / "again")
    again, library = from_folder(tmp_path / "again"), theirs.backend_tokenizer
    assert roles_of(again) == roles_of(theirs)
    for _ in range(8):
        text = "".join(chance.choice([*NAMED, " ", "x", "banana", "\u0301", "_", "\n"]) for _ in range(9))
        for allowed in ("all", ()):
            library.encode_special_tokens = allowed == ()
            assert tokenizer.encode(text, allowed) == library.encode(text, add_special_tokens=False).ids
        library.encode_special_tokens = False
        assert again.encode(text) == theirs.encode(text)


@pytest.mark.parametrize("part", ["post_processor", "truncation", "padding"])
def test_a_part_of_the_file_may_have_a_key_of_the_file_itself(tmp_path, part):
    changes = ALL_AROUND | {part: {**ALL_AROUND[part], "added_tokens": []}}
    opened = load(written(tmp_path / "from", changes))
    save(opened, tmp_path / "to", sample="ban <|im_start|>")
    file = json.loads((tmp_path / "to" / "tokenizer.json").read_bytes())
    assert file[part]["added_tokens"] == []
    assert [token["content"] for token in file["added_tokens"]] == [*opened.special_tokens]
    assert same(load(tmp_path / "to"), opened)


def test_numbers_of_a_configuration_are_kept_and_one_that_json_cannot_write_is_refused(tmp_path):
    numbers = {"model_max_length": int(1e30), "scale": 1e300, "least": -0.125}
    folder = written(tmp_path / "from", config=CHAT | numbers)
    save(load(folder), tmp_path / "to")
    config = json.loads((tmp_path / "to" / "tokenizer_config.json").read_bytes())
    assert {name: config[name] for name in numbers} == numbers
    for name in ("tokenizer.json", "tokenizer_config.json"):
        before = (folder / name).read_text()
        (folder / name).write_text(f'{before[:-1]}, "scale of it": 1e400}}')
        with pytest.raises(FormatError, match=rf"^{name}: the number 1e400 is too large, line 1, column "):
            load(folder)
        (folder / name).write_text(before)
