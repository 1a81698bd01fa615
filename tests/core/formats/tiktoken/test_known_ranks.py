"""Well-known ranks: what stands beside the file and what is asked for come first; ranks in folders of models."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import hashlib
import json

import pytest

from tests.core.formats.trained import TEXT, ranks_of, tiktoken_lines, trained
from tokstudio import FormatError, Tokenizer, add_specials, load, save
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.common import known_files
from tokstudio.core.formats.common.format import PatternNeeded
from tokstudio.core.formats.common.known_files import RANKS, Known
from tokstudio.core.formats.known_formats import tokenizer_files
from tokstudio.core.formats.loading import load_work
from tokstudio.core.formats.saving import fit
from tokstudio.core.formats.tiktoken.sets import portable
from tokstudio.core.pretokenization.patterns import REGEX, known_name
from tokstudio.core.project.tokenizers import keep_tokenizer_work, reopen_tokenizer_work

tiktoken = pytest.importorskip("tiktoken")

RANKED = ranks_of(trained(TEXT * 3, 40, pattern="gpt2"))
END = {"<|endoftext|>": len(RANKED)}


@pytest.fixture
def known(monkeypatch, tmp_path):
    """Ranks that are known by their hash, in a folder."""
    content = tiktoken_lines(RANKED)
    facts = {**RANKS, (hashlib.sha256(content).hexdigest(),): Known("gpt2", END)}
    monkeypatch.setattr(known_files, "RANKS", facts)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "mine.tiktoken").write_bytes(content)
    return tmp_path / "mine"


PATTERN_OF_SIDECAR = r"\p{N}{1,3}|\s+|[^\s\p{N}]+"
OTHERS = {"<|im_start|>": len(RANKED) + 7}
BOTH = {"pattern": PATTERN_OF_SIDECAR, "special_tokens": OTHERS, "version": 1}
NOT_USED = 'mine.json says how text is split, so the pattern "o200k" is not used.'


@pytest.mark.parametrize(
    ("sidecar", "asked", "pattern", "specials", "remarks"),
    [
        (None, None, "gpt2", END, ()),
        (None, "cl100k", "cl100k", END, ()),
        (BOTH, None, PATTERN_OF_SIDECAR, OTHERS, ()),
        (BOTH | {"pattern": REGEX["cl100k"]}, "o200k", "cl100k", OTHERS, (NOT_USED,)),
        (BOTH | {"pattern": REGEX["cl100k"]}, "cl100k", "cl100k", OTHERS, ()),
        (BOTH | {"pattern": REGEX["cl100k"]}, REGEX["cl100k"], "cl100k", OTHERS, ()),
        ({"pattern": REGEX["cl100k"]}, None, "cl100k", END, ()),
        ({"other": 1}, None, "gpt2", END, ("mine.json has no pattern and no special tokens, so it is not read.",)),
    ],
)
def test_what_stands_beside_them_comes_before_what_is_asked_and_what_is_known(
    known, sidecar, asked, pattern, specials, remarks
):
    if sidecar is not None:
        (known / "mine.json").write_text(json.dumps(sidecar))
    tokenizer = load(known, asked)
    assert (tokenizer.pattern, tokenizer.special_tokens, tokenizer.remarks) == (pattern, specials, remarks)


def test_a_sidecar_of_special_tokens_alone_comes_first_and_takes_the_pattern_that_is_given(known, tmp_path):
    (tmp_path / "mine.tiktoken").write_bytes(tiktoken_lines({**RANKED, b"unknown": 900}))
    (tmp_path / "mine.json").write_text(json.dumps({"special_tokens": {"<|a|>": 5000}}))
    with pytest.raises(PatternNeeded):
        load(tmp_path / "mine.tiktoken")
    tokenizer = load(tmp_path / "mine.tiktoken", "gpt2")
    assert (tokenizer.pattern, tokenizer.special_tokens) == ("gpt2", {"<|a|>": 5000})
    specials = {"<|a|>": len(RANKED)}
    (known / "mine.json").write_text(json.dumps({"special_tokens": specials}))
    tokenizer = load(known)
    assert (tokenizer.pattern, tokenizer.special_tokens) == ("gpt2", specials)
    theirs = tiktoken.Encoding("x", pat_str=REGEX["gpt2"], mergeable_ranks=RANKED, special_tokens=specials)
    assert tokenizer.encode(f"the<|a|>{TEXT}", "all") == theirs.encode(f"the<|a|>{TEXT}", allowed_special="all")
    (known / "mine.json").write_text('{"special_tokens": {"<|a|>": 5}}')
    with pytest.raises(
        FormatError, match=r'^mine\.tiktoken: the special token "<\|a\|>" has the id 5, which is also a'
    ):
        load(known)


def flagged(**flags):
    return {"content": "<think>", "lstrip": False, "rstrip": False, "single_word": False, **flags}


@pytest.mark.parametrize("name", ["tokenizer.model", "mine.tiktoken"])
@pytest.mark.parametrize(
    "flags",
    [
        {"special": False, "normalized": False},
        {"special": True, "lstrip": True},
        {"special": False, "single_word": True, "rstrip": True},
    ],
)
def test_flags_of_tokens_beside_ranks_are_kept(tmp_path, name, flags):
    tokenizers = pytest.importorskip("tokenizers")
    (tmp_path / name).write_bytes(tiktoken_lines(RANKED))
    listed = {
        str(len(RANKED)): flagged(**flags),
        str(len(RANKED) + 1): flagged(content="<|end|>", special=True, normalized=False),
    }
    config = {"eos_token": "<|end|>", "pad_token": "<none>", "model_max_length": 9, "added_tokens_decoder": listed}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config | {"chat_template": "{{ 1 }}"}))
    (tmp_path / "chat_template.jinja").write_text("{{ 2 }}")
    tokenizer = load(tmp_path, "gpt2")
    assert tokenizer.settings.chat_templates == {"default": "{{ 2 }}"}
    assert tokenizer.special_tokens == {"<think>": len(RANKED), "<|end|>": len(RANKED) + 1}
    assert (tokenizer.roles, tokenizer.settings.model_max_length) == ({"eos_token": "<|end|>"}, 9)
    assert any("without an id, left out" in remark and "<none>" in remark for remark in tokenizer.remarks)
    # The library with the same vocabulary is given the same tokens.
    base = load(ranks_alone(tmp_path), "gpt2")
    save(base, tmp_path / "base", "huggingface")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "base" / "tokenizer.json"))
    for entry in listed.values():
        options = {key: value for key, value in entry.items() if key not in ("content", "special")}
        options.setdefault("normalized", not entry["special"])
        token = tokenizers.AddedToken(entry["content"], special=entry["special"], **options)
        (theirs.add_special_tokens if entry["special"] else theirs.add_tokens)([token])
    texts = ("a<think>", "a <think> b", "a<think>b  <think>\n<|end|>c", "x_<think>")
    for text in texts:
        assert tokenizer.encode(text, "all") == theirs.encode(text, add_special_tokens=False).ids
        if not flags["special"] and "<|end|>" not in text:
            assert tokenizer.encode(text) == theirs.encode(text, add_special_tokens=False).ids
    save(tokenizer, tmp_path / "out", "huggingface")
    assert load(tmp_path / "out").settings == tokenizer.settings
    written = json.loads((tmp_path / "out" / "tokenizer.json").read_text("utf-8"))["added_tokens"][0]
    assert written.items() >= flagged(**flags).items()
    again = tokenizers.Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    for text in texts:
        assert tokenizer.encode(text, "all") == again.encode(text, add_special_tokens=False).ids


def ranks_alone(folder):
    (folder / "alone").mkdir()
    (folder / "alone" / "alone.tiktoken").write_bytes(tiktoken_lines(RANKED))
    return folder / "alone"


def test_the_sidecar_comes_before_the_configuration_and_that_is_said(known):
    specials = {"<|a|>": len(RANKED) + 3}
    (known / "mine.json").write_text(json.dumps({"pattern": REGEX["gpt2"], "special_tokens": specials}))
    config = {"eos_token": "<|a|>", "added_tokens_decoder": {str(len(RANKED)): flagged(special=False)}}
    (known / "tokenizer_config.json").write_text(json.dumps(config))
    tokenizer = load(known)
    assert (tokenizer.special_tokens, tokenizer.roles) == (specials, {"eos_token": "<|a|>"})
    assert tokenizer.remarks == ("mine.json has the special tokens, so those of tokenizer_config.json are not read.",)
    # Beside a tokenizer.json, the configuration is that of this file.
    (known / "tokenizer.json").write_text("{}")
    assert load(known / "mine.tiktoken").remarks == ()


def test_other_special_tokens_are_exported_and_added_ones_beside_known_ranks_follow_those_that_are_known(
    known, tmp_path
):
    chat = add_specials(load(known), ["<|im_start|>", "<|im_end|>"])
    assert save(chat, tmp_path / "out", "tiktoken").proof.startswith("identical on the test text")
    assert load(tmp_path / "out").special_tokens == chat.special_tokens
    (known / "added_tokens.json").write_text(json.dumps({"<|mine|>": len(RANKED) + 4}))
    assert load(known).special_tokens == {**END, "<|mine|>": len(RANKED) + 4}


def test_special_tokens_of_the_configuration_beside_it_are_read(tmp_path):
    (tmp_path / "tiktoken.model").write_bytes(tiktoken_lines(RANKED))
    assert tokenizer_files(tmp_path) == (tmp_path / "tiktoken.model",)
    with pytest.raises(PatternNeeded):
        load(tmp_path)
    added = {str(len(RANKED) + 3): {"content": "[BOS]", "special": True}, str(len(RANKED) + 9): {"content": "<|end|>"}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 7, "added_tokens_decoder": added}))
    tokenizer = load(tmp_path, "gpt2")
    loaded = finish(load_work(tmp_path / "tiktoken.model", "gpt2"))
    kept = finish(keep_tokenizer_work("mine", loaded.files, "gpt2"))
    for other in (loaded.tokenizer, finish(reopen_tokenizer_work(kept))):
        assert other.special_tokens == tokenizer.special_tokens
    assert tokenizer.special_tokens == {"[BOS]": len(RANKED) + 3, "<|end|>": len(RANKED) + 9}
    assert tokenizer.encode("the[BOS]", "all")[-1] == len(RANKED) + 3
    twice = {str(len(RANKED) + number): flagged(special=True) for number in range(2)}
    for listed, words in (
        ({"7": 5}, "added_tokens_decoder: token 7 has no content"),
        (twice, "two of its added tokens"),
    ):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": listed}))
        with pytest.raises(FormatError, match=rf"^tokenizer_config\.json: {words}"):
            load(tmp_path, "gpt2")


@pytest.mark.parametrize("name", ["r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony"])
def test_hashes_patterns_and_special_tokens_are_those_of_tiktoken(monkeypatch, name):
    from tiktoken_ext import openai_public

    hashes = []
    monkeypatch.setattr(
        openai_public, "load_tiktoken_bpe", lambda *_, expected_hash: hashes.append(expected_hash) or {}
    )
    theirs = openai_public.ENCODING_CONSTRUCTORS[name]()
    known = RANKS[(hashes[0],)]
    if name in known_files.NAMED:
        digest, known = known_files.NAMED[name]
        assert digest == hashes[0]
    assert known.pattern == known_name(theirs["pat_str"])
    made = Tokenizer(trained("", 1).merges[:0], special_tokens=known.special_tokens, pattern=portable(known.pattern))
    text = next(iter(known.special_tokens))
    assert made.encode(f"a{text}", "all") == [97, known.special_tokens[text]]
    # tiktoken has two texts for one id of o200k_harmony.
    assert known.special_tokens == {
        text: number for text, number in theirs["special_tokens"].items() if text != "<|reserved_200018|>"
    }


# --- Test tekken ------------------------------------------------------------------------------------------------------

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
    assert tokenizer_files(tmp_path) == ((file,) if name == "tekken.json" else ())
    put(tmp_path, dict(reversed(tekken().items())))
    assert load(tmp_path).encode(TEXT) == tokenizer.encode(TEXT)


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
    assert report.proof.startswith("identical on the test text")
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
