"""The roles of special tokens, and which tokens are special: what transformers has of a folder it has of our export."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest

from tests.core.formats.trained import TEXT as LONG_TEXT
from tests.core.formats.trained import (
    added,
    everything,
    of_characters,
    same,
    settings_of,
    shuffled,
    trained,
    with_specials,
    with_unknown,
)
from tokstudio import (
    Corpus,
    LibraryConfig,
    TrainingConfig,
    add_specials,
    extend,
    join,
    load,
    replace_specials,
    save,
    set_roles,
    train_by_library,
)
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.loading import load_work
from tokstudio.core.formats.saving import fit
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.project.schema import from_json, to_json
from tokstudio.core.project.tokenizers import keep_changed_work, keep_tokenizer_work, reopen_tokenizer_work
from tokstudio.core.project.whole_tokenizer import tokenizer_of, tokenizer_values

SPECIALS = ["<|endoftext|>", "<unk>", "<pad>", "<|user|>"]
TEXT = "banana <pad>ban<|endoftext|> <|user|>a<unk>"
NAME = "tokenizer_config.json"
PLAIN = {"tokenizer_class": "PreTrainedTokenizerFast"}


def folder_of(folder, flags=None, changes=None, **beside):
    """A `tokenizer.json` with special tokens, other flags for some of them, and files beside it."""
    folder.mkdir(parents=True)
    file = settings_of(trained("banana bandana", 280, pattern="gpt2", special_tokens=SPECIALS)) | (changes or {})
    for token in file["added_tokens"]:
        token |= (flags or {}).get(token["content"], {})
    (folder / "tokenizer.json").write_text(json.dumps(file))
    for name, content in beside.items():
        if isinstance(content, str):
            (folder / f"{name}.jinja").write_text(content)
        else:
            (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def facts(theirs):
    """What a program notices of the roles and the special tokens."""
    ids = theirs.encode(TEXT)
    backend = theirs.backend_tokenizer
    backend.encode_special_tokens = True
    as_text = backend.encode(TEXT).ids
    backend.encode_special_tokens = False
    return {
        "roles": theirs.special_tokens_map,
        "all": (theirs.all_special_tokens, theirs.all_special_ids),
        "added": {number: repr(token) for number, token in theirs.added_tokens_decoder.items()},
        "ids": (ids, theirs.encode(TEXT, add_special_tokens=False), as_text),
        "skipped": theirs.decode(ids, skip_special_tokens=True),
    }


ORDINARY = {"special": False}


@pytest.mark.parametrize(
    ("listed", "role"),
    [
        ({}, "eos_token"),
        ({"260": added("<unk>")}, "image_token"),
        ({"263": added("<|user|>", special=False)}, "eos_token"),
    ],
)
def test_a_token_with_a_role_that_is_not_special_stays_so(tmp_path, from_folder, listed, role):
    config = PLAIN | {role: "<|endoftext|>", "added_tokens_decoder": listed}
    flags = {"<|endoftext|>": ORDINARY, "<|user|>": ORDINARY}
    folder = folder_of(tmp_path / "given", flags, tokenizer_config=config)
    before = facts(from_folder(folder))
    assert "<|endoftext|>" in before["skipped"]
    tokenizer = load(folder)
    assert tokenizer.preparation.ordinary >= {"<|endoftext|>"}
    save(tokenizer, tmp_path / "again")
    assert facts(from_folder(tmp_path / "again")) == before
    save(load(tmp_path / "again"), tmp_path / "third")
    assert (tmp_path / "third" / NAME).read_bytes() == (tmp_path / "again" / NAME).read_bytes()


def test_a_class_that_makes_a_tokenizer_anew_makes_a_token_with_a_role_special(tmp_path, from_folder):
    """It does not see that the file itself says the contrary, nor the file's other flags."""
    config = {"tokenizer_class": "GPT2Tokenizer", "pad_token": "<pad>", "added_tokens_decoder": {}}
    flags = {"<pad>": ORDINARY | {"lstrip": True}, "<|user|>": ORDINARY}
    folder = folder_of(tmp_path / "given", flags, tokenizer_config=config)
    theirs, tokenizer = from_folder(folder), load(folder)
    assert "<pad>" not in tokenizer.preparation.ordinary | tokenizer.preparation.strips_left
    told = [remark for remark in tokenizer.remarks if "does not list" in remark]
    assert told == [
        'tokenizer_config.json does not list "<unk>", "<|user|>": GPT2Tokenizer of transformers takes such tokens for '
        "text, or gives them other ids; TokStudio follows the file."
    ]
    save(tokenizer, tmp_path / "again")
    again = from_folder(tmp_path / "again")
    assert again.special_tokens_map == theirs.special_tokens_map
    for text in ("a <pad><|endoftext|>", "banana"):
        assert again.encode(text) == theirs.encode(text)
        assert again.decode(again.encode(text), skip_special_tokens=True) == theirs.decode(
            theirs.encode(text), skip_special_tokens=True
        )


LOWER = {"normalizer": {"type": "Lowercase"}}
MARKED = {token: {"normalized": True} for token in SPECIALS}


@pytest.mark.parametrize(
    ("changes", "flags", "beside"),
    [
        ({}, {}, {}),
        ({}, {"<pad>": ORDINARY}, {}),
        ({}, MARKED, {}),
        ({"normalizer": {"type": "NFC"}}, MARKED, {}),
        (LOWER, {"<|endoftext|>": ORDINARY}, {}),
        ({}, {}, {"added_tokens": {"<|more|>": 264}}),
        ({}, {}, {"special_tokens_map": {"eos_token": "<|user|>"}}),
        (LOWER, {}, {"special_tokens_map": {"additional_special_tokens": ["<|user|>"]}}),
        ({}, {}, {"config": {"model_type": "gpt2"}}),
        ({}, {}, {"tokenizer_config": {}}),
        ({}, {}, {"chat_template": "{{ messages }}"}),
    ],
)
def test_no_role_is_made_of_names_where_the_files_could_name_it(tmp_path, from_folder, changes, flags, beside):
    folder = folder_of(tmp_path / "given", flags, changes, **beside)
    before = facts(from_folder(folder))
    tokenizer = load(folder)
    assert save(tokenizer, tmp_path / "again").losses == ()
    assert facts(from_folder(tmp_path / "again")) == before
    assert dict(load(tmp_path / "again").roles) == dict(tokenizer.roles) == before["roles"]


def changed(tokenizer, files):
    config = TrainingConfig(vocabulary_size=288, pattern="gpt2")
    yield "extended", extend(tokenizer, Corpus.from_text("the cat the cat" * 9), config)
    yield "joined", join(tokenizer, trained("xyxyxy", 258, pattern="gpt2", special_tokens=["</s>"]))
    yield "kept as its files", finish(reopen_tokenizer_work(finish(keep_tokenizer_work("one", files))))
    yield "of a project", finish(reopen_tokenizer_work(finish(keep_changed_work("one", tokenizer))))
    yield "added", add_specials(tokenizer, ["<mask>"])
    yield "renamed", replace_specials(tokenizer, {"<|user|>": "</s>"})


@pytest.mark.parametrize("flags", [MARKED, {"<pad>": ORDINARY}])
def test_no_change_gives_roles_by_names(tmp_path, from_folder, flags):
    loaded = finish(load_work(folder_of(tmp_path / "given", flags)))
    tokenizer = loaded.tokenizer
    for what, made in changed(tokenizer, loaded.files):
        save(made, tmp_path / what)
        theirs = from_folder(tmp_path / what)
        assert theirs.special_tokens_map == {}, what
        assert theirs.all_special_tokens == (["<mask>"] if what == "added" else []), what
        assert theirs.encode(TEXT) == made.encode(TEXT, "all"), what
        left = "<pad>" if "<pad>" in tokenizer.preparation.ordinary else ""
        assert theirs.decode(made.encode("a<pad><|endoftext|>", "all"), skip_special_tokens=True) == f"a{left}", what
    given = set_roles(tokenizer, {"eos": "<|endoftext|>"})
    save(given, tmp_path / "given roles")
    assert from_folder(tmp_path / "given roles").special_tokens_map == {"eos_token": "<|endoftext|>"}


def test_the_project_of_an_older_version_knows_that_its_files_named_the_roles(tmp_path):
    for named in ({}, {"tokenizer_config": PLAIN}):
        tokenizer = load(folder_of(tmp_path / str(len(named)), **named))
        values = from_json(to_json(tokenizer_values(tokenizer)))
        del values["settings"]["names_give_roles"]
        assert tokenizer_of(values).settings.names_give_roles == (named == {})


def test_a_tokenizer_that_its_library_trained_has_roles_by_names(tmp_path, from_folder):
    specials = ("[UNK]", "[PAD]", "[CLS]", "<|user|>")
    config = LibraryConfig(algorithm="wordpiece", vocabulary_size=60, special_tokens=specials)
    save(train_by_library(Corpus.from_text("the cat in the hat sat on the mat"), config).tokenizer, tmp_path)
    library = from_folder(tmp_path)
    assert library.special_tokens_map == {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]"}
    assert set(library.all_special_tokens) == {"[UNK]", "[PAD]", "[CLS]", "<|user|>"}


def test_a_token_that_files_describe_in_several_ways_is_named(tmp_path, from_folder):
    listed = {"261": added("<pad>", special=False, normalized=True)}
    folder = folder_of(tmp_path / "given", tokenizer_config=PLAIN | {"added_tokens_decoder": listed})
    tokenizer = load(folder)
    assert (
        'The files describe "<pad>" in several ways (normalized, special): exports write those that count, '
        "transformers shows those that come last."
    ) in tokenizer.remarks
    save(tokenizer, tmp_path / "again")
    before, after = facts(from_folder(folder)), facts(from_folder(tmp_path / "again"))
    assert before.pop("added") != after.pop("added")
    assert after == before
    assert fit(tokenizer, "huggingface").problem is None


def test_an_added_token_has_the_place_of_the_id_that_its_file_gives(tmp_path, from_folder):
    """Where the file gives its own tokens other ids than they have, those of other files are beside these."""
    own = [added("<a>", id=900), added("<b>", id=901)]
    beside = {"added_tokens": {"<c>": 900, "<d>": 264, "ban": 901, "<e>": 265}}
    folder = folder_of(tmp_path / "given", changes={"added_tokens": own}, **beside)
    theirs, tokenizer = from_folder(folder), load(folder)
    assert dict(tokenizer.special_tokens) == theirs.get_added_vocab()
    save(tokenizer, tmp_path / "again")
    assert from_folder(tmp_path / "again").get_added_vocab() == theirs.get_added_vocab()


# --- Folders as the transformers library loads them -------------------------------------------------------------------


def config_of(folder):
    return json.loads((folder / "tokenizer_config.json").read_bytes())


@pytest.mark.parametrize(
    "make",
    [
        everything,
        shuffled,
        lambda: with_specials("cl100k"),
        lambda: with_specials("none", "first"),
        lambda: trained(LONG_TEXT, 60, special_tokens=["<s>", "</s>", "<pad>", "<unk>", "<|user|>", "[MASK]"]),
        with_unknown,
        lambda: of_characters(special_tokens=["<s>", "[UNK]"], unknown_token="[UNK]", special_placement="first"),
    ],
)
def test_transformers_loads_the_folder_and_gives_the_same_ids(tmp_path, from_folder, make):
    tokenizer, folder = make(), tmp_path / 'a "folder" of 日本'
    save(tokenizer, folder)
    theirs = from_folder(str(folder))
    specials = "".join(tokenizer.special_tokens)
    for text in (torture_text(), LONG_TEXT, specials, " ab".join(tokenizer.special_tokens)):
        ids = tokenizer.encode(text, "all")
        assert theirs.encode(text, add_special_tokens=False) == ids
        assert theirs.encode(text) == ids
        assert theirs.decode(ids) == tokenizer.decode(ids)
    assert len(theirs) == len(tokenizer)
    assert set(theirs.all_special_tokens) == set(tokenizer.special_tokens)
    assert theirs.decode(list(tokenizer.special_tokens.values()), skip_special_tokens=True) == ""
    assert same(load(folder), tokenizer)


def test_the_role_of_a_special_token_is_known_by_its_name(tmp_path, from_folder):
    names = ["<|endoftext|>", "</s>", "<PAD>", "[UNK]", "<|begin_of_text|>", "<|user|>", "[SEP]", "[CLS]", "<mask>"]
    save(trained("banana", 20, special_tokens=names), tmp_path)
    roles = {
        "bos_token": "<|begin_of_text|>",
        "eos_token": "<|endoftext|>",
        "unk_token": "[UNK]",
        "pad_token": "<PAD>",
        "sep_token": "[SEP]",
        "cls_token": "[CLS]",
        "mask_token": "<mask>",
    }
    config = config_of(tmp_path)
    assert {key: value for key, value in config.items() if key.endswith("_token")} == roles
    assert config["additional_special_tokens"] == ["</s>", "<|user|>"]
    theirs = from_folder(str(tmp_path))
    assert theirs.special_tokens_map == roles
    # The unknown token of characters is the unknown token whatever its name.
    save(of_characters(special_tokens=["<unk>", "???"], unknown_token="???", special_placement="first"), tmp_path)
    assert config_of(tmp_path)["unk_token"] == "???"
    save(everything(), tmp_path)
    assert config_of(tmp_path) == PLAIN | {"clean_up_tokenization_spaces": False}


def test_either_file_of_the_folder_opens_the_tokenizer_and_a_file_of_its_own_gets_nothing_beside_it(tmp_path):
    save(with_specials(), tmp_path)
    for place in (tmp_path, tmp_path / "tokenizer.json", tmp_path / "tokenizer_config.json"):
        loaded = finish(load_work(place))
        assert same(loaded.tokenizer, with_specials())
        assert loaded.files == (tmp_path / "tokenizer.json", tmp_path / "tokenizer_config.json")
    for name in ("mine.json", "tokenizer.json"):
        (tmp_path / "alone").mkdir(exist_ok=True)
        assert save(everything(), tmp_path / "alone" / name).files == (tmp_path / "alone" / name,)
    assert sorted(file.name for file in (tmp_path / "alone").iterdir()) == ["mine.json", "tokenizer.json"]
