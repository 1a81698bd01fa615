"""Pruning, joining, renumbering and special tokens, against naive implementations and on GPT-2."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import importlib
import json
import pickle
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.surgery import naive
from tests.core.texts import few_examples
from tokstudio import (
    ConfigError,
    Corpus,
    Tokenizer,
    TrainingConfig,
    add_specials,
    embedding_map,
    extend,
    fill_reserved,
    join,
    load,
    order_as_in,
    order_by_rank,
    order_by_use,
    prune,
    renumber,
    replace_specials,
    save,
    set_roles,
    train,
    verify,
)
from tokstudio.core.analysis.reachability import REACHED, reachability_work
from tokstudio.core.analysis.token_counts import count_uses_work
from tokstudio.core.base.progress import finish
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.surgery.prune import removal_order_work, tokens_of_scripts_work
from tokstudio.core.text.byte_level import CHARACTER_OF

TEXT = (
    "the cat sat on the mat; the bat ate the hat. Кот и кит, котам и китам: that is what 1234 says, in the end.\n"
    "A merchant of Venice was merchandising merchandise; whatever happens, happen it will, whenever and wherever.\n"
) * 3
BYTES = [bytes([byte]) for byte in range(256)]


def trained(text=TEXT, size=320, **settings):
    return train(Corpus.from_text(text), TrainingConfig(vocabulary_size=size, pattern="gpt2", **settings))


def merges_of(tokenizer):
    tokens = tokenizer.tokens
    return [(tokens[left], tokens[right]) for left, right in tokenizer.merges.tolist()]


def unreachable(tokenizer):
    return int(np.count_nonzero(finish(reachability_work(tokenizer)) != REACHED))


@st.composite
def merge_lists(draw):
    """Merges of a few letters in any order that is possible, with tokens that nothing makes among them."""
    tokens, merges = [b"a", b"b", b"c"], []
    for _ in range(draw(st.integers(0, 14))):
        pair = draw(st.sampled_from(tokens)), draw(st.sampled_from(tokens))
        if pair[0] + pair[1] not in tokens:
            tokens.append(pair[0] + pair[1])
            merges.append(pair)
    return merges


def from_merges(merges, first=256, **more):
    vocabulary = dict(enumerate(BYTES)) | {first + rank: a + b for rank, (a, b) in enumerate(merges)}
    return Tokenizer.from_parts(vocabulary, merges, **more)


@few_examples
@given(merge_lists(), st.data())
def test_pruning_is_what_removing_one_leaf_after_another_gives(merges, data):
    tokenizer = from_merges(merges)
    uses = [data.draw(st.integers(0, 3)) for _ in merges]
    size = data.draw(st.integers(0, len(merges)))
    pruned = prune(tokenizer, 256 + size, [0] * 256 + uses)
    ids = {a + b: 256 + rank for rank, (a, b) in enumerate(merges)}
    assert merges_of(pruned.tokenizer) == naive.prune(merges, size, dict(zip(ids, uses, strict=True)), ids)
    assert verify(pruned.tokenizer).holds
    for a, b in merges_of(pruned.tokenizer):  # what stays is produced as before
        was = naive.encode(merges, a + b) == [a + b]
        assert (naive.encode(merges_of(pruned.tokenizer), a + b) == [a + b]) >= was
    before, after = tokenizer.tokens, pruned.tokenizer.tokens
    for old, new in enumerate(pruned.new_ids.tolist()):
        assert new < 0 or after[new] == before[old]
    assert np.count_nonzero(pruned.new_ids >= 0) == 256 + size == len(pruned.tokenizer)


@few_examples
@given(merge_lists(), merge_lists())
def test_joining_appends_what_the_first_lacks_and_some_text_becomes(first, second):
    joined = join(from_merges(first), from_merges(second, 400))
    assert merges_of(joined) == naive.join(first, second)
    assert joined.merge_results[len(first) :].tolist() == list(range(256 + len(first), len(joined)))
    assert verify(joined).holds


def test_joining_keeps_tokens_that_a_custom_expression_makes_only_before_a_mark():
    settings = TrainingConfig(vocabulary_size=270, pattern=r"\w+(?=;)|[\s\S]")
    first = train(Corpus.from_text("zz;zz;"), settings)
    second = train(Corpus.from_text("key;value;key;value;key;other;"), settings)
    joined = join(first, second)
    assert [joined.tokens[token] for token in joined.encode("key;value;")] == [b"key", b";", b"value", b";"]
    assert unreachable(second) == 0
    assert verify(extend(first, Corpus.from_text("key;key;"), settings)).points[3].details == ()


def test_the_highest_ids_go_first_without_uses_and_the_uses_of_the_run_count():
    tokenizer = trained()
    order, needed = finish(removal_order_work(tokenizer.compact()))
    assert order.tolist() == sorted(order.tolist(), reverse=True)
    assert not len(needed)
    uses = tokenizer.run.uses()
    by_run, by_counts = prune(tokenizer, 290), prune(tokenizer, 290, uses)
    assert by_run.new_ids.tolist() == by_counts.new_ids.tolist() != prune(tokenizer.compact(), 290).new_ids.tolist()


def test_ids_stay_or_are_renumbered():
    tokenizer = trained(special_tokens=("<|end|>",))
    closed, open_ = prune(tokenizer, 280), prune(tokenizer, 280, renumber=False)
    assert closed.tokenizer.tokens.ids().tolist() == list(range(280))
    kept = np.flatnonzero(open_.new_ids >= 0)
    assert open_.new_ids[kept].tolist() == kept.tolist() == np.flatnonzero(closed.new_ids >= 0).tolist()
    assert open_.tokenizer.special_tokens == {"<|end|>": 319}
    early = prune(tokenizer.at(30), 270).tokenizer
    assert (len(early), len(early.origin.old), verify(early).holds) == (270, 287, True)
    text = "the cat and the hat"
    assert closed.new_ids[open_.tokenizer.encode(text)].tolist() == closed.tokenizer.encode(text)


def test_below_a_use_only_rarer_tokens_go_and_those_that_others_need_are_named():
    tokenizer = trained()
    uses = tokenizer.run.uses()
    pruned = prune(tokenizer, least_uses=4)
    removed = np.flatnonzero(pruned.new_ids < 0)
    assert len(removed)
    assert (uses[removed] < 4).all()
    assert (uses[pruned.needed] < 4).all()
    parts = set(tokenizer.merges[np.isin(tokenizer.merge_results, removed, invert=True)].ravel().tolist())
    assert set(pruned.needed.tolist()) <= parts
    assert len(pruned.tokenizer) == len(tokenizer) - len(removed)


def test_a_least_number_of_uses_counts_the_text_with_a_weight_of_its_own():
    corpus = Corpus.from_texts(["abab cdcdcd efef " * 3]).with_weights({0: 1.5})
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=262, pattern="gpt2"))
    uses = tokenizer.run.uses()[tokenizer.merge_results] / tokenizer.run.weight_scale
    assert uses.tolist() == [4.5, 0, 0, 9, 4.5, 4.5]
    assert [len(prune(tokenizer, least_uses=least).tokenizer) for least in (4, 5, 9, 10)] == [262, 257, 257, 256]


def test_tokens_of_a_script_go():
    tokenizer = trained()
    ids = finish(tokens_of_scripts_work(tokenizer, ["Cyrillic"]))
    spelled = [(tokenizer.tokens[token] or b"").decode("utf-8", "ignore") for token in ids.tolist()]
    assert spelled
    assert all(any("а" <= c.lower() <= "я" for c in token) for token in spelled)
    pruned = prune(tokenizer, tokens=ids)
    assert (pruned.new_ids[np.setdiff1d(ids, pruned.needed)] == -1).all()
    assert not len(finish(tokens_of_scripts_work(pruned.tokenizer, ["Cyrillic"]))) - len(pruned.needed)
    assert pruned.tokenizer.decode(pruned.tokenizer.encode(TEXT)) == TEXT


def test_a_merged_token_that_stands_for_unknown_characters_stays():
    alphabet = replace(Alphabet.of_characters("abc"), unknown=4)
    tokenizer = Tokenizer(np.array([[0, 1], [1, 2]], np.int32), alphabet=alphabet)
    made = prune(tokenizer, 4).tokenizer
    assert (made.encode("abc?"), made.alphabet.unknown) == ([0, 3, 3], 3)
    assert made.tokens[3] == b"bc"
    with pytest.raises(ConfigError, match="stands for unknown characters cannot be removed"):
        prune(tokenizer.at(1), 3)
    with pytest.raises(ConfigError, match="stands for unknown characters cannot be removed"):
        tokenizer.renumbered(np.array([0, 1, 2, 3, -1], np.int32))
    with pytest.raises(ConfigError, match="There are 5 ids, and only 1 new ones are given"):
        tokenizer.renumbered(np.zeros(1, np.int32))
    with pytest.raises(ConfigError, match="stands for unknown characters cannot be removed"):
        tokenizer.at(1).compact()


def test_renumbering_changes_only_ids():
    tokenizer = trained(special_tokens=("<|end|>",))
    ids = tokenizer.tokens.ids().tolist()
    random.Random(3).shuffle(ids)
    order = [*ids[:50], -1, -1, *ids[50:]]
    made = renumber(tokenizer, order)
    assert made.new_ids[ids[0]] == 0
    assert made.new_ids[ids[50]] == 52
    assert made.new_ids[tokenizer.encode(TEXT)].tolist() == made.tokenizer.encode(TEXT)
    assert made.tokenizer.decode(made.tokenizer.encode(TEXT)) == TEXT
    assert verify(made.tokenizer, reference=TEXT).holds


def test_orders_by_rank_by_use_and_as_in_another():
    tokenizer = trained(special_tokens=("<|end|>",))
    shuffled = renumber(tokenizer, np.random.default_rng(1).permutation(tokenizer.tokens.ids())).tokenizer
    back = renumber(shuffled, order_as_in(shuffled, tokenizer)).tokenizer
    assert back.tokens == tokenizer.tokens
    assert back.merges.tolist() == tokenizer.merges.tolist()
    ranked = renumber(shuffled, order_by_rank(shuffled)).tokenizer
    assert ranked.merge_results.tolist() == list(range(256, 319))
    assert ranked.special_tokens == {"<|end|>": 319}
    uses = finish(count_uses_work(tokenizer, Corpus.from_text(TEXT)))
    used = renumber(tokenizer, order_by_use(tokenizer, uses)).tokenizer
    counted = finish(count_uses_work(used, Corpus.from_text(TEXT)))
    assert (np.diff(counted) <= 0).all()
    smaller = prune(tokenizer, 300).tokenizer
    here = renumber(smaller, order_as_in(smaller, tokenizer)).tokenizer
    for token in here.tokens.ids().tolist():
        assert here.tokens[token] == tokenizer.tokens[token]


def test_reserved_tokens_are_replaced_and_new_ones_added():
    tokenizer = trained(special_tokens=("<|end|>", "<|reserved_0|>", "<|reserved_1|>"))
    ids = tokenizer.special_tokens
    made = replace_specials(tokenizer, {"<|reserved_0|>": "<|user|>", "<|reserved_1|>": "<|reserved_0|>"})
    assert made.special_tokens == {"<|end|>": ids["<|end|>"], "<|user|>": 318, "<|reserved_0|>": 319}
    assert made.encode("<|user|>", "all") == [318]
    more = add_specials(made, ["<|x|>", "<|y|>"])
    assert more.special_tokens["<|y|>"] == 321
    assert verify(made, reference=TEXT).holds
    assert verify(more, reference=TEXT).holds
    assert add_specials(tokenizer.at(10), {"<|x|>": 300}).encode("<|x|>", "all") == [300]


def test_special_tokens_get_roles(tmp_path):
    plain = trained(special_tokens=("<|end|>", "<|reserved|>"))
    made = set_roles(plain, {"eos": "<|end|>", "pad_token": "<|reserved|>"})
    renamed = replace_specials(made, {"<|reserved|>": "<|nothing|>"})
    filler = renamed.special_tokens["<|nothing|>"]
    assert renamed.encode_batch(["the", ""], padding=True).ids[1][0] == filler
    with pytest.raises(ConfigError, match="no padding token"):
        plain.encode_batch(["the", ""], padding=True)
    for same in (renamed, renamed.at(10), prune(renamed, 290).tokenizer, pickle.loads(pickle.dumps(renamed))):
        assert same.roles == {"eos_token": "<|end|>", "pad_token": "<|nothing|>"}
    assert verify(made).holds
    save(renamed, tmp_path / "out")
    said = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text("utf-8"))
    assert (said["eos_token"], said["pad_token"]) == ("<|end|>", "<|nothing|>")
    assert "additional_special_tokens" not in said
    # A role that is given counts before names.
    named = set_roles(trained(special_tokens=("</s>", "<pad>", "<unk>")), {"pad": "</s>", "unk": "<pad>"})
    save(named, tmp_path / "named")
    said = json.loads((tmp_path / "named" / "tokenizer_config.json").read_text("utf-8"))
    assert (said["pad_token"], said["unk_token"], "eos_token" in said) == ("</s>", "<pad>", False)
    assert said["additional_special_tokens"] == ["<unk>"]


def test_a_tokenizer_that_was_extended_is_pruned_by_the_uses_of_its_run():
    old = trained(size=280)
    settings = TrainingConfig(vocabulary_size=320, pattern="gpt2")
    extended = extend(old, Corpus.from_text(TEXT), settings)
    assert verify(extended, [TEXT], TEXT).holds
    pruned = prune(extended, 300)
    uses = extended.run.uses()
    assert pruned.new_ids.tolist() == prune(extended, 300, uses).new_ids.tolist()
    assert verify(pruned.tokenizer, [TEXT], TEXT).holds
    assert len(prune(extended.at(10), 260).tokenizer) == 260


def test_replacing_keeps_how_special_tokens_are_found(tmp_path):
    made = trained(special_tokens=("<a>",))
    stripping = made.changed(preparation=type(made.preparation)(strips_right=frozenset({"<a>"})))
    renamed = replace_specials(stripping, {"<a>": "<b>"})
    assert renamed.encode("<b>  the", "all") == stripping.encode("<a>  the", "all")
    save(renamed, tmp_path / "out")
    assert load(tmp_path / "out").encode("<b>  the", "all") == renamed.encode("<b>  the", "all")


def refused(call, words):
    with pytest.raises(ConfigError, match=words):
        call()


def test_what_cannot_be_done_is_refused_with_the_reason():
    made = trained(special_tokens=("<|end|>",))
    refused(lambda: prune(made), "nothing says what")
    refused(lambda: prune(made, 256), "too small: the 256 bytes and 1 special token")
    refused(lambda: prune(made, 321), "has 320")
    refused(lambda: prune(made, 300, [0] * 400), "at most 320")
    refused(lambda: prune(made, 300, [0.5] * 3), "whole numbers")
    refused(lambda: prune(made, tokens=[65]), "Token 65 is a byte")
    refused(lambda: prune(made, tokens=[319]), "special token, which must stay")
    refused(lambda: prune(made, tokens=[9999]), "9999 is not in the vocabulary")
    refused(lambda: finish(tokens_of_scripts_work(made, ["Klingon"])), "no script")
    refused(lambda: replace_specials(made, {"<|reserved|>": "<|x|>"}), 'no special token "<|reserved|>"')
    refused(lambda: replace_specials(made, {"<|end|>": ""}), "must be a text")
    refused(lambda: add_specials(made, ["<|end|>"]), "already there")
    refused(lambda: add_specials(made, ["<|x|>", "<|x|>"]), "already there")
    refused(lambda: add_specials(made, ["the"]), r'"the" is an ordinary token already, with the id \d+: choose another')
    refused(lambda: replace_specials(made, {"<|end|>": "a"}), '"a" is an ordinary token already, with the id 97')
    refused(lambda: add_specials(made, {"<|x|>": 65}), "not free")
    refused(lambda: add_specials(made, {"<|x|>": 2**31}), "from 0 to 2,147,483,646")
    refused(lambda: add_specials(made, {"<|x|>": 2**31 - 2}), "far too high")
    refused(lambda: renumber(made, range(319)), "id 319 is missing")
    refused(lambda: renumber(made, [0, *range(320)]), "id 0 twice")
    refused(lambda: renumber(made, range(321)), "320 is not in")
    refused(lambda: renumber(made, ["a"]), "list of ids")
    refused(lambda: set_roles(made, {"king": "<|end|>"}), "no role")
    refused(lambda: set_roles(made, {"eos": "<|x|>"}), "no special token")
    wrong = 5
    for token in (wrong, "\ud800"):
        refused(lambda token=token: add_specials(made, [token]), "must be a text")
        refused(lambda token=token: replace_specials(made, {"<|end|>": token}), "must be a text")
        refused(lambda token=token: replace_specials(made, {token: "<|x|>"}), "no special token")
        refused(lambda token=token: set_roles(made, {"eos": token}), "no special token")
        refused(lambda token=token: set_roles(made, {token: "<|end|>"}), "no role")
    refused(lambda: add_specials(made, wrong), "must be a list")
    refused(lambda: replace_specials(made, wrong), "must be a mapping")
    refused(lambda: set_roles(made, wrong), "must be a mapping")
    two = add_specials(made, ["<|x|>"])
    refused(lambda: replace_specials(two, {"<|end|>": "<|x|>"}), "cannot both be")
    characters = Tokenizer(np.empty((0, 2), np.int32), alphabet=Alphabet.of_characters("ab"))
    refused(lambda: join(made, characters), "made of bytes")


def test_a_tokenizer_of_whole_words_or_of_a_library_is_refused(tmp_path):
    whole = Tokenizer(np.array([[97, 98]], np.int32), extra_tokens={300: b"abc"}, whole_words=[300])
    for call in (lambda: prune(whole, 256), lambda: join(trained(), whole), lambda: join(whole, trained())):
        refused(call, "ignore_merges")
    assert renumber(whole, [*range(257), 300]).tokenizer.encode("abc") == [257]
    tokenizers = pytest.importorskip("tokenizers")
    other = tokenizers.Tokenizer(tokenizers.models.Unigram([("a", -1.0), ("b", -2.0), ("<unk>", -3.0)], 2))
    other.save(str(tmp_path / "tokenizer.json"))
    opened = load(tmp_path / "tokenizer.json")
    calls = (
        lambda: prune(opened, 2),
        lambda: join(trained(), opened),
        lambda: renumber(opened, [0, 1, 2]),
        lambda: replace_specials(opened, {}),
    )
    for call in calls:
        refused(call, "cannot be changed")


@pytest.mark.shared_data
def test_gpt2_pruned_to_half_has_no_unreachable_token(shared):
    gpt2 = load(shared / "tokenizers" / "gpt2", pattern="gpt2")
    text = (shared / "corpora" / "shakespeare.txt").read_text(encoding="utf-8")[:20_000]
    uses = finish(count_uses_work(gpt2, Corpus.from_text(text)))
    pruned = prune(gpt2, 25_000, uses)
    assert len(pruned.tokenizer) == 25_000
    assert unreachable(pruned.tokenizer) == 0
    proof = verify(pruned.tokenizer, [text], text)
    assert proof.holds, proof.lines()
    assert len(pruned.tokenizer.encode(text)) < 1.02 * len(gpt2.encode(text))


@pytest.mark.shared_data
def test_cl100k_joined_to_gpt2_has_no_unreachable_token_and_changes_no_english(shared):
    gpt2 = load(shared / "tokenizers" / "gpt2", pattern="gpt2")
    cl100k = load(shared / "tokenizers" / "cl100k_base.tiktoken", pattern="cl100k")
    joined = join(gpt2, cl100k.at(12_000))
    assert len(joined) > 51_000
    assert unreachable(joined) == 0
    russian = (shared / "corpora" / "parallel" / "rus.txt").read_text(encoding="utf-8")[:6_000]
    assert len(joined.encode(russian)) < 0.8 * len(gpt2.encode(russian))
    assert verify(joined, [russian], russian).holds


def test_tokens_that_another_pattern_always_splits_are_listed():
    trained = train(Corpus.from_text("the cat and the dog. " * 20), TrainingConfig(vocabulary_size=270))
    assert any(b" " in token[1:] for token in trained.tokens)
    forked = extend(
        trained.changed(pattern="gpt2"), Corpus.from_text(TEXT), TrainingConfig(vocabulary_size=275, pattern="gpt2")
    )
    reach = finish(reachability_work(forked))
    (point,) = [point for point in verify(forked).points if point.number == 4]
    assert point.holds
    assert f"{np.count_nonzero(reach != REACHED):,} never produced" in point.sentence
    assert any(line.endswith("is always split by the pattern.") for line in point.details)
    changed = train(Corpus.from_text("e\u0301 " * 20), TrainingConfig(vocabulary_size=258))
    normalizing = changed.changed(preparation=Preparation(nfc=True))
    forked = extend(normalizing, Corpus.from_text(TEXT), TrainingConfig(vocabulary_size=260))
    (point,) = [point for point in verify(forked).points if point.number == 4]
    assert point.holds
    assert any(line.endswith("is changed by the normalizer.") for line in point.details)


# --- New tokens with the ids of reserved special tokens ---------------------------------------------------------------

ENGLISH = "the cat sat on the mat; the bat ate the hat that the rat had. " * 3
GERMAN = "Der Hut der Katze hat der Katze gehört, und die Matte auch: der Kater saß auf der Matte. " * 3
RESERVED = ("<|r0|>", "<|end|>", "<|r1|>")


@pytest.fixture
def old():
    config = TrainingConfig(vocabulary_size=280, pattern="gpt2", special_tokens=RESERVED)
    return train(Corpus.from_text(ENGLISH), config)


def extended_for(old, more=6, **limits):
    config = TrainingConfig(vocabulary_size=len(old) + more, pattern="gpt2", **limits)
    return extend(old, Corpus.from_text(GERMAN), config)


def test_the_first_new_tokens_take_reserved_ids_and_the_others_follow(old, tmp_path):
    made = extended_for(old)
    filled = fill_reserved(made, ["<|r1|>", "<|r0|>"])
    ids = old.special_tokens
    assert filled.merge_results[-6:].tolist() == [ids["<|r0|>"], ids["<|r1|>"], 280, 281, 282, 283]
    assert filled.special_tokens == {"<|end|>": ids["<|end|>"]}
    assert len(filled) == len(made) - 2 == filled.tokens.ids()[-1] + 1
    moved = dict(zip(made.merge_results.tolist(), filled.merge_results.tolist(), strict=True))
    assert filled.encode(GERMAN) == [moved.get(token, token) for token in made.encode(GERMAN)]
    assert filled.decode(filled.encode("<|r0|> " + GERMAN, "all")) == "<|r0|> " + GERMAN
    proof = verify(filled, [GERMAN], ENGLISH)
    assert proof.holds
    assert "2 replaced" in proof.points[6].sentence
    assert embedding_map(filled).made.tolist() == sorted(filled.merge_results[-6:].tolist())
    save(filled, tmp_path / "tokenizer.json")
    assert made.special_tokens == old.special_tokens
    fewer = fill_reserved(extended_for(old, 1), ["<|r0|>", "<|r1|>"])
    assert fewer.merge_results[-1] == min(old.special_tokens.values())
    assert (len(fewer), len(fewer.special_tokens), np.count_nonzero(fewer.origin.new_ids < 0)) == (len(old), 2, 1)


def test_only_reserved_tokens_of_an_extended_tokenizer_are_filled(old):
    with pytest.raises(ConfigError, match="extended"):
        fill_reserved(old, ["<|r0|>"])
    made = extended_for(old)
    with pytest.raises(ConfigError, match=r'no special token "<\|r7\|>"'):
        fill_reserved(made, ["<|r7|>"])
    with pytest.raises(ConfigError, match=r'"<\|end\|>" is not reserved'):
        fill_reserved(made, ["<|end|>"])
    with pytest.raises(ConfigError, match=r'"<\|r0\|>" is not reserved'):
        fill_reserved(extended_for(set_roles(old, {"pad": "<|r0|>"})), ["<|r0|>"])
    with pytest.raises(ConfigError, match="named twice"):
        fill_reserved(made, ["<|r0|>", "<|r0|>"])


# --- Pruning against skeletoken, which removes the tokens that it is told to ------------------------------------------


@pytest.fixture(scope="module")
def skeletoken():
    """Loaded with the first test alone, because it loads much itself."""
    return importlib.import_module("skeletoken")


@pytest.mark.parametrize("size", [257, 300])
def test_skeletoken_makes_the_same_of_the_tokens_that_stay(skeletoken, size, tmp_path):
    settings = TrainingConfig(vocabulary_size=320, pattern="gpt2", special_tokens=("<|end|>",))
    whole = train(Corpus.from_text(TEXT), settings)
    pruned = prune(whole, size)
    save(whole, tmp_path / "whole")
    save(pruned.tokenizer, tmp_path / "pruned")
    gone = np.flatnonzero(pruned.new_ids < 0).tolist()
    spelled = ["".join(CHARACTER_OF[byte] for byte in whole.tokens[token]) for token in gone]
    model = skeletoken.TokenizerModel.from_string((tmp_path / "whole" / "tokenizer.json").read_text("utf-8"))
    theirs = model.remove_tokens_from_vocabulary(spelled)
    ours = json.loads((tmp_path / "pruned" / "tokenizer.json").read_text("utf-8"))["model"]
    made = json.loads(theirs.to_tokenizer().to_str())["model"]
    assert [tuple(pair) for pair in made["merges"]] == [tuple(pair) for pair in ours["merges"]]
    assert made["vocab"] == ours["vocab"]
    assert theirs.to_tokenizer().encode(TEXT).ids == pruned.tokenizer.encode(TEXT)
