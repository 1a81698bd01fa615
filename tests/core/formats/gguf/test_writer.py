"""Tokenizers written as GGUF, proved by llama.cpp, and put into models."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import os
import re

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.formats.gguf.files import byte_pairs, gguf
from tests.core.formats.gguf.llama import crossing, ids_of_llama, inputs_of_llama, needs_llama
from tests.core.formats.trained import TEXT, everything, of_characters, same, trained, with_specials, with_unknown
from tokstudio import ConfigError, FormatError, SuperBPE, Tokenizer, load, save
from tokstudio.core.base.progress import finish
from tokstudio.core.base.resources import resource
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.proof import NOT_PROVED
from tokstudio.core.formats.gguf import proof, writer
from tokstudio.core.formats.gguf.header import Value, header_work
from tokstudio.core.formats.gguf.names import SUPERBPE
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.saving import fit
from tokstudio.core.libraries import client, llama
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.model.alphabet import NEVER_IN_TEXT, Alphabet
from tokstudio.core.model.file_settings import FileSettings
from tokstudio.core.pretokenization.patterns import covering
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.shards.inputs import EncodingSettings

ENDS = ("<s>", "</s>")
NAMED = ("gpt2", "llama3", "qwen2", "cl100k", "o200k")
LOST = {"cl100k": "white space after a line feed at the end", "o200k": "such as MÜNCHEN"}

PROVED = {
    "cl100k": " tokens), split as llama3 does, not cl100k",
    "o200k": " tokens), split as llama.cpp does by the name granite-embed-multi-97m, not as o200k",
}


def probe(pattern):
    """Merges that cross every boundary, of a text that has them all."""
    return crossing(*ENDS, "<|user|>").changed(pattern=pattern)


@needs_llama
@pytest.mark.parametrize("pattern", NAMED)
def test_every_named_pattern_is_proved_by_llama_cpp_with_a_vocabulary_that_crosses_boundaries(tmp_path, pattern):
    tokenizer, path = probe(pattern), tmp_path / "mine.gguf"
    report = save(tokenizer, path, "gguf", accept_loss=pattern in LOST, sample="the sample 12345 " * 40)
    assert report.proof.startswith("identical on ")
    assert report.is_proved
    # What was proved is said: not the pattern itself, but the one with the loss.
    assert report.proof.endswith(PROVED.get(pattern, " tokens)"))
    assert [LOST[pattern] in loss for loss in report.losses] == [True] * (pattern in LOST)
    loaded = load(path)
    assert loaded.pattern == ("llama3" if pattern == "cl100k" else pattern)
    assert same(loaded.changed(pattern=pattern), tokenizer.changed(settings=loaded.settings))
    assert loaded.roles == {"bos_token": "<s>", "eos_token": "</s>"}
    texts = [torture_text(), TEXT, "<s>a<|user|> b</s>", "a\n ", "MÜNCHEN FRANÇAIS", "straßeÄpfel приветМир"]
    differ = [text for text, ids in zip(texts, ids_of_llama(path, texts), strict=True)
              if tokenizer.encode(text, "all") != ids]  # fmt: skip
    # The losses are true, and nothing else is lost.
    assert differ == {"cl100k": [texts[0], "a\n "], "o200k": [texts[0], *texts[4:]]}.get(pattern, [])


@pytest.mark.parametrize("pattern", ["none", "whitespace", r"\w+|\W"])
def test_a_pattern_without_a_name_is_refused(tmp_path, pattern):
    tokenizer = trained(TEXT, 20, pattern=pattern)
    with pytest.raises(FormatError, match=r"no name for the pattern .*: gpt2, llama3, qwen2, cl100k and o200k"):
        save(tokenizer, tmp_path / "a.gguf", "gguf", accept_loss=True)
    assert not [*tmp_path.iterdir()]


NUMBERS = ["1234567 12²³45 x9 a1b22\n\n 3 \t4", "the years 2023 and 2024, of the 12345.", "१२३४५ ٣٤٥٦"]


@needs_llama
def test_superbpe_is_written_where_it_splits_as_llama_cpp_does(tmp_path):
    # The pattern that a training keeps is the second one, with what lies between its matches.
    text = f"{TEXT} of the 12 of the {' '.join(NUMBERS)}" * 9
    config = {"pattern": "gpt2", "algorithm": SuperBPE(transition=300, second_pattern=SUPERBPE)}
    for tokenizer in (probe(covering(SUPERBPE)), trained(text, 90, **config)):
        report = save(tokenizer, tmp_path / "a.gguf", "gguf")
        assert report.is_proved
        assert not report.losses
        texts = [torture_text(), TEXT, *NUMBERS]
        assert ids_of_llama(tmp_path / "a.gguf", texts) == [tokenizer.encode(text, "all") for text in texts]
        assert load(tmp_path / "a.gguf").pattern == SUPERBPE


@needs_llama
def test_no_line_of_a_story_in_many_languages_differs_under_llama_cpp(tmp_path):
    files = sorted(resource("corpora/story").glob("*.txt"))
    lines = [line for file in files for line in file.read_text("utf-8").splitlines()[::2] if line]
    assert len(files) > 30
    assert len(lines) > 300
    # Without a pattern, merges cross every boundary of the languages themselves.
    base = trained("\n".join(lines), 2000, special_tokens=ENDS)
    for pattern in (*NAMED, covering(SUPERBPE)):
        tokenizer = base.changed(pattern=pattern)
        [content] = FORMATS["gguf"].contents(tokenizer).values()
        (tmp_path / "a.gguf").write_bytes(b"".join(content))
        theirs = ids_of_llama(tmp_path / "a.gguf", lines)
        held = finish(writer.held_work(tokenizer))
        assert [held.encode(line, "all") for line in lines] == theirs, pattern
        differ = [line for line, ids in zip(lines, theirs, strict=True) if tokenizer.encode(line, "all") != ids]
        # What is lost by name is words in capitals, and mixed case, with letters outside ASCII.
        assert all(re.search(r"[A-Z][^\W\d_a-zA-Z]|[^\W\d_a-zA-Z][A-Z]", line) for line in differ), differ[:3]
        assert not differ or pattern == "o200k"


def test_superbpe_of_another_second_pattern_is_told_which_one_can_be_written(tmp_path):
    tokenizer = trained(TEXT * 3, 60, pattern="gpt2", algorithm=SuperBPE(transition=280))
    with pytest.raises(FormatError) as error:
        save(tokenizer, tmp_path / "a.gguf", "gguf", accept_loss=True)
    assert str(error.value).endswith(f"So can SuperBPE that was trained with this second pattern: {SUPERBPE}")
    assert not [*tmp_path.iterdir()]


def test_what_else_cannot_be_held_is_refused():
    assert (
        fit(with_unknown(), "gguf").problem == "GGUF holds only merges of bytes, but this tokenizer merges characters."
    )
    for token in ("\0", "<a\0b>"):
        problem = fit(everything().changed(pattern="gpt2", special_tokens={"<s>": 900, token: 901}), "gguf").problem
        assert problem == f"llama.cpp reads the text of a token up to a character U+0000, which {shown(token)} has."


@needs_llama
def test_words_that_are_taken_whole_need_a_name_that_takes_them(tmp_path):
    merged = trained("abab cdcd", 3, special_tokens=ENDS)
    # No merge makes it of its bytes.
    whole = merged.changed(
        extra_tokens={300: b"xyz"}, whole_words=frozenset({300}), ignores_merges=True, pattern="llama3"
    )
    assert save(whole, tmp_path / "a.gguf", "gguf").is_proved
    assert load(tmp_path / "a.gguf").encode("xyz") == [300]
    assert ids_of_llama(tmp_path / "a.gguf", ["xyz"]) == [[300]]
    other = whole.changed(pattern="gpt2")
    assert fit(other, "gguf").losses == (
        "Words that become a token without merging are merged (1): some ids will differ.",
    )
    assert save(other, tmp_path / "b.gguf", "gguf", accept_loss=True).is_proved
    # Its name takes all that are tokens.
    third = whole.changed(pattern="o200k", whole_words=frozenset(), ignores_merges=False)
    assert "takes every pre-token whole that equals a token (1 more than here)" in fit(third, "gguf").losses[1]
    assert save(third, tmp_path / "c.gguf", "gguf", accept_loss=True).is_proved


@needs_llama
def test_holes_ordinary_tokens_and_missing_bytes_are_held(tmp_path):
    ids = np.delete(np.arange(256), 200)
    base = Tokenizer(
        np.array([[97, 98], [300, 99]], np.int32), np.array([300, 310], np.int32), alphabet=Alphabet.of_bytes()
    )
    tokenizer = base.changed(
        special_tokens={"<s>": 320, "</s>": 321, "<tool>": 330, "[PAD305]": 331},
        preparation=Preparation(ordinary=frozenset({"<tool>"})),
        pattern="gpt2",
    )
    assert len(ids) == 255
    report = save(tokenizer, tmp_path / "a.gguf", "gguf")
    assert report.is_proved
    loaded = load(tmp_path / "a.gguf")
    assert loaded.special_tokens == tokenizer.special_tokens
    assert loaded.preparation.ordinary == {"<tool>"}
    assert len(loaded.tokens) == 332
    header = finish(header_work(tmp_path / "a.gguf", "a.gguf", lambda key: True))
    tokens = header.texts("tokenizer.ggml.tokens")
    assert tokens is not None
    assert (tokens[304], tokens[305], tokens[331]) == (b"[PAD304]", b"[PAD305]_", b"[PAD305]")


@needs_llama
def test_texts_that_llama_cpp_takes_for_special_tokens_are_named(tmp_path):
    tokenizer = trained("</s></s></s> x", 5, special_tokens=["<s>", "<e>"], pattern="none").changed(pattern="gpt2")
    token = next(number for number, text in enumerate(tokenizer.tokens) if text == b"</s>")
    (loss,) = fit(tokenizer, "gguf").losses
    assert loss == 'llama.cpp takes tokens with these texts for special tokens, and here they are ordinary: "</s>".'
    assert save(tokenizer, tmp_path / "a.gguf", "gguf", accept_loss=True).is_proved
    assert ids_of_llama(tmp_path / "a.gguf", ["</s>"]) == [[token]] != [tokenizer.encode("</s>")]


@needs_llama
def test_special_tokens_that_overlap_are_named(tmp_path):
    tokenizer = trained(TEXT, 9, special_tokens=["<s>", "</s>", "<ab>", "b>cdef"], pattern="gpt2")
    (loss,) = fit(tokenizer, "gguf").losses
    assert loss.startswith(
        'Where special tokens overlap in a text, as "<ab>" and "b>cdef" can, llama.cpp finds the longest'
    )
    assert save(tokenizer, tmp_path / "a.gguf", "gguf", accept_loss=True).is_proved
    assert ids_of_llama(tmp_path / "a.gguf", ["<ab>cdef"]) != [tokenizer.encode("<ab>cdef", "all")]


def ends(tokenizer):
    of = writer.ends_of(tokenizer)
    return of.first, of.last, of.note


def test_the_beginning_and_the_end_of_a_text_always_have_a_token():
    both = trained(TEXT, 5, special_tokens=["<s>", "</s>"])
    assert ends(both) == (259, 260, "")
    first, last, note = ends(trained(TEXT, 5, special_tokens=["<|endoftext|>"]))
    assert (first, last) == (260, 260)
    assert note == 'There is no token for the beginning of a text: "<|endoftext|>" stands for it, too.'
    first, last, note = ends(trained(TEXT, 5))
    assert (first, last) == (255, 255)
    assert "that of the byte 255, which no text has, stands for both" in note
    letters = of_characters("aÿb aÿb")
    first, last, note = ends(letters)
    assert first == last != letters.encode("ÿ")[0], "a letter with the number of that byte"
    given_roles = both.changed(settings=FileSettings(roles={"eos_token": "<s>"}, names_give_roles=False))
    assert ends(given_roles)[:2] == (259, 259)


@pytest.mark.parametrize(
    ("specials", "known"),
    [
        (("<|endoftext|>", "<|padding|>"), ("<|endoftext|>", "<|endoftext|>")),
        (("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"), ("<|begin_of_text|>", "<|end_of_text|>")),
    ],
)
def test_a_file_without_roles_ends_texts_with_the_token_that_a_data_set_is_ended_with(tmp_path, specials, known):
    # Two spaces are the last token, as in GPT-NeoX: added, and not special.
    tokenizer = trained(TEXT, 5, special_tokens=[*specials, "  "], pattern="gpt2").changed(
        preparation=Preparation(ordinary=frozenset({"  "})), settings=FileSettings(names_give_roles=False)
    )
    ids = tokenizer.special_tokens
    assert ends(tokenizer)[:2] == (ids[known[0]], ids[known[1]])
    assert EncodingSettings(tokenizer, end_token=True).end_text == known[1]
    save(tokenizer, tmp_path / "a.gguf", "gguf", accept_loss=True)
    assert load(tmp_path / "a.gguf").roles == {"bos_token": known[0], "eos_token": known[1]}


@pytest.mark.parametrize(
    ("specials", "stands_in", "called"),
    [
        (("<|user|>", "<|tool|>"), "<|tool|>", 'the last special token, "<|tool|>"'),
        ((), "  ", "although a text can become it and a model then ends its answer there"),
    ],
)
def test_where_no_token_ends_a_text_one_of_no_text_stands_in_before_one_of_text(specials, stands_in, called):
    # Without tokens for bytes that no text has.
    given = {n: bytes([n]) for n in range(256) if n not in NEVER_IN_TEXT}
    given = dict(enumerate(given.values()))
    texts = {token: len(given) + n for n, token in enumerate((*specials, "  "))}
    tokenizer = Tokenizer.from_parts(given, [], special_tokens=texts).changed(
        preparation=Preparation(ordinary=frozenset({"  "}))
    )
    first, last, note = ends(tokenizer)
    assert first == last == texts[stands_in]
    assert called in note
    texts = {token: number + 1 for token, number in texts.items()}
    assert ends(Tokenizer.from_parts(given, [], special_tokens=texts))[:2] == (len(given), len(given))


@needs_llama
def test_templates_roles_and_the_post_processor_are_held_and_the_rest_is_said(tmp_path):
    processor = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [258], "tokens": ["<s>"]}},
    }
    said = FileSettings(
        roles={"bos_token": "<s>", "eos_token": "</s>", "boi_token": "<|user|>"},
        chat_templates={"default": "{{ x }}", "rag": "{{ y }}"},
        config={"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 77},
        post_processor=processor,
        truncation={"max_length": 3},
    )
    tokenizer = trained(TEXT, 5, special_tokens=["<s>", "</s>", "<|user|>"], pattern="gpt2").changed(settings=said)
    assert fit(tokenizer, "gguf").losses == (
        'The roles of special tokens are lost: boi "<|user|>".',
        "The largest number of tokens for the model is lost: model_max_length 77.",
        "The truncation of the file is lost.",
    )
    save(tokenizer, tmp_path / "a.gguf", "gguf", accept_loss=True)
    loaded = load(tmp_path / "a.gguf")
    assert loaded.settings.chat_templates == said.chat_templates
    assert loaded.roles == {"bos_token": "<s>", "eos_token": "</s>"}
    assert loaded.settings.around == (["<s>"], [])
    other = tokenizer.changed(settings=FileSettings(post_processor={**processor, "type": "Strange"}))
    assert "The post-processor is lost." in fit(other, "gguf").losses


AROUND = ("<|begin|>", "<|over|>", "<|user|>")


def surrounded(before, after, pattern="llama3", ids=None, **more):
    """A tokenizer whose post-processor adds tokens to every text, of a file without roles."""
    tokenizer = trained(TEXT * 3, 60, special_tokens=AROUND, pattern=pattern)
    ids = tokenizer.special_tokens if ids is None else ids
    single = [*before, None, *after]
    parts = [{"SpecialToken": {"id": token, "type_id": 0}} if token else {"Sequence": {"id": "A", "type_id": 0}}
             for token in single]  # fmt: skip
    processor = {
        "type": "TemplateProcessing",
        "single": parts,
        "pair": [*parts, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in single if token},
    }
    said = FileSettings(post_processor=processor, **{"names_give_roles": False, **more})
    return tokenizer.changed(settings=said)


@needs_llama
@pytest.mark.parametrize(
    ("before", "after", "pattern"),
    [
        (["<|begin|>"], [], "llama3"),
        (["<|begin|>"], [], "gpt2"),
        ([], ["<|over|>"], "qwen2"),
        (["<|begin|>"], ["<|over|>"], "llama3"),
        (["<|over|>"], ["<|over|>"], "gpt2"),
    ],
)
def test_a_token_that_is_added_to_every_text_is_added_by_llama_cpp_too(tmp_path, before, after, pattern):
    tokenizer = surrounded(before, after, pattern)
    notes = fit(tokenizer, "gguf").notes
    assert [note for note in notes if "post-processor" in note] == [
        *(f'"{token}" gets the role bos, as the post-processor adds it before every text.' for token in before),
        *(f'"{token}" gets the role eos, as the post-processor adds it after every text: a model ends its answers with '
          "it." for token in after),
    ]  # fmt: skip
    report = save(tokenizer, tmp_path / "a.gguf", "gguf")
    assert (report.losses, report.is_proved) == ((), True)
    assert load(tmp_path / "a.gguf").settings.around == (before, after)
    save(tokenizer, tmp_path / "hf", "huggingface")
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "hf" / "tokenizer.json"))
    texts = ["the text <|user|> 12", "a", " <|begin|>b"]
    expected = [library.encode(text).ids for text in texts]
    ids = tokenizer.special_tokens
    assert expected[1] == [*(ids[token] for token in before), 97, *(ids[token] for token in after)]
    assert inputs_of_llama(tmp_path / "a.gguf", texts) == expected


@pytest.mark.parametrize(
    ("tokenizer", "adds"),
    [
        (surrounded(["<|begin|>", "<|user|>"], []), "<|begin|> <|user|> before"),
        (surrounded(["<|begin|>"], [], roles={"bos_token": "<|user|>"}), "<|begin|> before"),
        (surrounded(["<|begin|>"], ["<|over|>"], roles={"eos_token": "<|user|>"}),
         "<|begin|> before and <|over|> after"),
        # The library adds the id that stands in the post-processor, whichever token that is.
        (surrounded(["<|begin|>"], [], ids={"<|begin|>": 97}), "<|begin|> before"),
    ],
)  # fmt: skip
def test_tokens_that_llama_cpp_cannot_add_are_a_loss_by_name(tokenizer, adds):
    fitting, values = fit(tokenizer, "gguf"), writer.values_of(tokenizer)
    assert fitting.losses == (f"The post-processor is lost, which adds {adds} every text.",)
    assert not [note for note in fitting.notes if "post-processor" in note]
    assert [values[f"tokenizer.ggml.add_{role}_token"].content for role in ("bos", "eos")] == [False, False]
    assert writer.roles_of(tokenizer) == tokenizer.settings.roles


def test_one_name_in_a_post_processor_can_stand_for_several_tokens():
    tokenizer = surrounded(["<|begin|>"], [])
    processor = tokenizer.settings.post_processor
    assert isinstance(processor, dict)
    both = AROUND[:2]
    entry = {"id": "<|begin|>", "ids": [tokenizer.special_tokens[token] for token in both], "tokens": [*both]}
    said = FileSettings(post_processor={**processor, "special_tokens": {"<|begin|>": entry}}, names_give_roles=False)
    assert (said.around, said.around_ids) == (([*both], []), (entry["ids"], []))
    losses = fit(tokenizer.changed(settings=said), "gguf").losses
    assert losses == ("The post-processor is lost, which adds <|begin|> <|over|> before every text.",)


@needs_llama
@settings(max_examples=6)
@given(
    st.text(alphabet="ab '\n1éÄ日", min_size=4, max_size=60),
    st.lists(st.text(alphabet="<s>ab", min_size=2, max_size=6), max_size=4, unique=True),
    st.sampled_from(NAMED),
)
def test_whatever_is_written_is_read_and_proved(tmp_path_factory, text, specials, pattern):
    tokenizer = trained(text * 3, 40).changed(pattern=pattern)
    tokenizer = tokenizer.changed(special_tokens={token: 400 + number for number, token in enumerate(specials)})
    path = tmp_path_factory.mktemp("any") / "a.gguf"
    if any(set(tokenizer.tokens.spelling(token.encode())) - {tokenizer.special_tokens[token]} for token in specials):
        with pytest.raises(FormatError, match="have the same spelling in this format"):
            save(tokenizer, path, "gguf", accept_loss=True, sample=text)
        return
    assert save(tokenizer, path, "gguf", accept_loss=True, sample=text).is_proved
    again = load(path)
    assert again.merges.tolist() == tokenizer.merges.tolist()
    assert again.special_tokens == tokenizer.special_tokens


# --- The proof --------------------------------------------------------------------------------------------------------


def test_without_llama_cpp_it_is_written_and_not_proved(tmp_path, monkeypatch):
    monkeypatch.setattr(client, "is_installed", lambda library: library != "xllamacpp")
    tokenizer = with_specials("gpt2", merges=20)
    report = save(tokenizer, tmp_path / "a.gguf", "gguf", accept_loss=True)
    assert report.proof == 'written, not proved: pip install "tokstudio[llama]"'
    assert not report.is_proved
    assert 'Written, not proved: pip install "tokstudio[llama]".' in report.text()
    assert load(tmp_path / "a.gguf").encode(TEXT, "all") == tokenizer.encode(TEXT, "all")
    monkeypatch.setattr(proof, "is_bundle", lambda: True)
    report = save(tokenizer, tmp_path / "b.gguf", "gguf", accept_loss=True)
    assert report.proof.startswith(f"{NOT_PROVED}: this program has no llama.cpp: install TokStudio by pip, with ")


@needs_llama
def test_llama_cpp_is_used_only_as_far_as_it_is_known(monkeypatch):
    assert llama.why_unusable() == ""
    # A wrong place is found by the trial: it reads more than a vocabulary.
    monkeypatch.setattr(llama, "VOCABULARY_ONLY", dict.fromkeys(llama.VOCABULARY_ONLY, 73))
    assert "does not read a vocabulary alone (" in llama.why_unusable()
    monkeypatch.setattr(llama, "VOCABULARY_ONLY", {"1.2.3": 72})
    assert llama.why_unusable().endswith(" is not known: install 1.2.3")
    monkeypatch.setattr(llama, "PACKAGE", "no-such-package")
    assert llama.why_unusable() == "no-such-package is not installed"


@needs_llama
def test_a_file_that_llama_cpp_refuses_or_reads_otherwise_is_not_written(tmp_path, monkeypatch):
    tokenizer, path = with_specials("gpt2", merges=20), tmp_path / "a.gguf"
    values_of = writer.values_of

    def spoiled(key, change):
        def values(tokenizer, size=0):
            values = values_of(tokenizer, size)
            return values | {key: change(values[key])}

        monkeypatch.setattr(writer, "values_of", values)

    def refused():
        with pytest.raises(FormatError) as error:
            save(tokenizer, path, "gguf", accept_loss=True)
        assert not [*tmp_path.iterdir()]
        return str(error.value)

    monkeypatch.setattr(proof, "check_same", lambda *_: None)
    spoiled("tokenizer.ggml.pre", lambda _: Value(8, b"no-such-name"))
    assert "a.gguf: llama.cpp cannot read it: unknown pre-tokenizer type: 'no-such-name'" in refused()
    spoiled("tokenizer.ggml.merges", lambda value: Value(9, value.content[2:], 8))
    assert "a.gguf: read back by llama.cpp, it differs at token " in refused()


def test_what_is_read_back_otherwise_is_not_written(tmp_path, monkeypatch):
    values_of = writer.values_of

    def without_types(tokenizer, size=0):
        return {key: one for key, one in values_of(tokenizer, size).items() if "token_type" not in key}

    monkeypatch.setattr(writer, "values_of", without_types)
    with pytest.raises(FormatError, match=r"when read back, its tokens, merges or special tokens differ"):
        save(with_specials("gpt2", merges=20), tmp_path / "a.gguf", "gguf", accept_loss=True)
    assert not [*tmp_path.iterdir()]


# --- In a model -------------------------------------------------------------------------------------------------------

SIZE = 300


def model(folder, rows=SIZE, alignment=64, order="<", **more):
    """A model with three tensors, and values before and after its tokenizer."""
    chance = np.random.default_rng(5)
    tensors = [
        ("token_embd.weight", (8, rows), chance.bytes(8 * rows * 4)),
        ("blk.0.attn_q.weight", (8, 9), chance.bytes(288)),
        ("output_norm.weight", (8,), chance.bytes(32)),
    ]
    first = {
        "general.architecture": ("str", "llama"),
        "general.alignment": ("u32", alignment),
        "llama.vocab_size": ("u32", rows),
        "llama.context_length": ("u32", 64),
        "llama.embedding_length": ("u32", 8),
        "llama.block_count": ("u32", 1),
        "llama.feed_forward_length": ("u32", 8),
        "llama.attention.head_count": ("u32", 1),
        "llama.attention.layer_norm_rms_epsilon": ("f32", 1e-5),
    }
    own = byte_pairs(trained("old text old", 2), "qwen2")
    last = {"general.name": ("str", "Model"), "general.tags": ("str*", ["a", "b"])}
    path = folder / "model.gguf"
    path.write_bytes(
        gguf(
            {**first, **own, **last, "tokenizer.chat_template": ("str", "{{ old }}"), **more},
            tensors,
            order,
            alignment=alignment,
        )
    )
    return path, tensors


def mine(tokens=SIZE, **more):
    return trained(TEXT * 3, tokens - 256, special_tokens=ENDS, pattern="llama3", **more)


@needs_llama
@pytest.mark.parametrize("alignment", [32, 64])
def test_a_model_gets_another_tokenizer_and_keeps_the_rest_byte_for_byte(tmp_path, alignment):
    path, tensors = model(tmp_path, alignment=alignment)
    before = path.read_bytes()
    tokenizer, out = mine(), tmp_path / "new.gguf"
    assert len(tokenizer.tokens) == SIZE
    report = save(tokenizer, out, "gguf", model=path)
    assert report.is_proved
    assert "The tensors and all other values of model.gguf are copied as they are." in report.notes
    assert "The chat template of the model stays, as the tokenizer has none." in report.notes
    assert path.read_bytes() == before
    old, new = (finish(header_work(file, file.name, lambda key: True, tensors=True)) for file in (path, out))
    data, again = before, out.read_bytes()
    assert again[new.data :] == data[old.data :]
    assert again[slice(*new.infos)] == data[slice(*old.infos)]
    assert new.data % alignment == 0
    for key, place in old.places.items():
        if not key.startswith("tokenizer."):
            assert again[slice(*new.places[key])] == data[slice(*place)]
    assert tensors[1][2] in again
    loaded = load(out)
    assert loaded.encode(TEXT, "all") == tokenizer.encode(TEXT, "all")
    assert loaded.settings.chat_templates == {"default": "{{ old }}"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"bos_token": "<s>", "eos_token": "<|over|>", "eot_token": "<|over|>"}),
        ({"eos_token": "</s>"}, {"bos_token": "<s>", "eos_token": "</s>", "eot_token": "<|over|>"}),
    ],
    ids=["no roles", "an end"],
)
def test_a_model_keeps_its_own_ends_that_the_tokenizer_has_too_and_gives_other_roles_to(tmp_path, given, expected):
    ids = {"bos": 295, "eos": 296, "eot": 296, "padding": 97}
    own = byte_pairs(trained(TEXT * 3, 41, special_tokens=("<unk>", "<s>", "<|over|>")))
    numbers = {f"tokenizer.ggml.{name}_token_id": ("u32", number) for name, number in ids.items()}
    path, _ = model(tmp_path, **{**own, **numbers})
    assert load(path).special_tokens == {"<unk>": 294, "<s>": 295, "<|over|>": 296}
    tokenizer = trained(TEXT * 3, SIZE - 259, special_tokens=(*ENDS, "<|over|>"), pattern="llama3").changed(
        settings=FileSettings(roles=given, names_give_roles=False)
    )
    report = save(tokenizer, tmp_path / "new.gguf", "gguf", model=path, pad=True)
    loaded = load(tmp_path / "new.gguf")
    assert loaded.roles == expected
    kept = ", ".join(f'{role.removesuffix("_token")} "{expected[role]}"' for role in expected if role not in given)
    said = "The model's own roles of special tokens stay, as the files of the tokenizer give none"
    assert f"{said}: {kept}." in report.notes
    assert not any("stands for" in note for note in report.notes)


@needs_llama
def test_a_smaller_tokenizer_is_filled_up_only_if_asked(tmp_path):
    path, _ = model(tmp_path, rows=320)
    with pytest.raises(FormatError, match=r"has 300 tokens, and model\.gguf has 320: let it be filled up"):
        save(mine(), tmp_path / "new.gguf", "gguf", model=path)
    report = save(mine(), tmp_path / "new.gguf", "gguf", model=path, pad=True)
    assert "20 tokens that no text becomes are added, as many as the model has more." in report.notes
    header = finish(header_work(tmp_path / "new.gguf", "new.gguf", lambda key: True))
    tokens = header.texts("tokenizer.ggml.tokens")
    assert tokens is not None
    assert (len(tokens), tokens[-1]) == (320, b"[PAD319]")
    assert same(load(tmp_path / "new.gguf").changed(settings=FileSettings()), mine().changed(settings=FileSettings()))


@pytest.mark.parametrize(
    ("rows", "more", "words"),
    [
        (299, {}, r"The tokenizer has ids up to 299, and model\.gguf has only 299 tokens\."),
        (300, {"split.count": ("u16", 3)}, r"model\.gguf is one of 3 parts of a model: join them first"),
        (300, {"llama.vocab_size": ("u32", 400)}, r"several sizes .*: token_embd\.weight 300, llama\.vocab_size 400\."),
    ],
)
def test_a_model_that_does_not_fit_is_refused(tmp_path, rows, more, words):
    path, _ = model(tmp_path, rows=rows, **more)
    for pad in (False, True):
        with pytest.raises(FormatError, match=words):
            save(mine(), tmp_path / "new.gguf", "gguf", model=path, pad=pad)
    assert [file.name for file in tmp_path.iterdir()] == ["model.gguf"]


def test_what_is_no_model_is_refused(tmp_path):
    alone = tmp_path / "alone.gguf"
    alone.write_bytes(gguf(byte_pairs(mine(), "dbrx")))
    with pytest.raises(FormatError, match=r"alone\.gguf has no tensors: it is not a model\."):
        save(mine(), tmp_path / "new.gguf", "gguf", model=alone)
    (tmp_path / "text.gguf").write_text("hello")
    with pytest.raises(FormatError, match=r"^text\.gguf: this is not a GGUF file\.$"):
        save(mine(), tmp_path / "new.gguf", "gguf", model=tmp_path / "text.gguf")
    path, _ = model(tmp_path)
    with pytest.raises(FormatError, match=r"^model\.gguf: this is the model itself: give the copy another name\.$"):
        save(mine(), path, "gguf", model=path)
    with pytest.raises(ConfigError, match="holds a tokenizer alone"):
        save(mine(), tmp_path / "out", "huggingface", model=path)
    with pytest.raises(ConfigError, match="Only a model has tokens to fill up"):
        save(mine(), tmp_path / "out", "gguf", pad=True)


def test_a_model_of_the_other_order_of_bytes_keeps_it(tmp_path):
    path, tensors = model(tmp_path, order=">")
    report = save(mine(), tmp_path / "new.gguf", "gguf", model=path)
    assert report.proof == f"{NOT_PROVED}: llama.cpp reads this order of bytes only on other computers"
    assert same(load(tmp_path / "new.gguf").changed(settings=FileSettings()), mine().changed(settings=FileSettings()))
    assert (tmp_path / "new.gguf").read_bytes().endswith(tensors[2][2])


def test_on_a_full_disk_nothing_is_left(tmp_path, monkeypatch):
    path, _ = model(tmp_path)

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FormatError, match=r"^new\.gguf: there is no space left on the disk, so it was not written\.$"):
        save(mine(), tmp_path / "new.gguf", "gguf", model=path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.gguf"]


@needs_llama
def test_a_tokenizer_goes_from_one_model_into_another(tmp_path):
    (tmp_path / "a").mkdir()
    path, _ = model(tmp_path / "a", rows=258 + 42)
    save(mine(), tmp_path / "b.gguf", "gguf", model=path)
    again = load(tmp_path / "b.gguf")
    assert save(again, tmp_path / "c.gguf", "gguf", model=tmp_path / "b.gguf").is_proved
    assert (tmp_path / "c.gguf").read_bytes() == (tmp_path / "b.gguf").read_bytes()
