"""Merges of parts that later merges make, as in files of tiktoken's ranks: read, encoded at any playhead, written."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import json
import lzma
import pickle
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.formats.trained import TEXT, everything, trained, with_specials
from tokstudio import ConfigError, FormatError, Tokenizer, add_specials, load, prune, save
from tokstudio.core.analysis.encoding_steps import Rounds, steps_work
from tokstudio.core.analysis.reachability import REACHED, reachability_work
from tokstudio.core.analysis.why_not_one_token import why_not_one
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.common import recover_merges as ranks
from tokstudio.core.formats.common.recover_merges import recover_merges_work
from tokstudio.core.formats.saving import fit
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.pretokenization.patterns import REGEX
from tokstudio.core.project.whole_tokenizer import tokenizer_of, tokenizer_values
from tokstudio.core.text.byte_level import to_characters
from tokstudio.core.tokenizer.counts_by_merge import why_not_by_merge
from tokstudio.core.tokenizer.self_encoding import pieces_work

tiktoken = pytest.importorskip("tiktoken")
tokenizers = pytest.importorskip("tokenizers")

BYTES = [bytes([byte]) for byte in range(256)]
PATTERN = REGEX["gpt2"]


def some_tokens(seed, letters=b"abc", size=40):
    """Tokens of a few letters in a random order of ranks, most of them made of two others."""
    chance = random.Random(seed)
    known = [bytes([letter]) for letter in letters]
    while len(known) < size:
        made = chance.choice(known) + chance.choice(known)
        if chance.random() < 0.15:
            made = bytes(chance.choices(letters, k=chance.randint(2, 6)))
        if made not in known and len(made) < 12:
            known.append(made)
    tokens = known[len(letters) :]
    chance.shuffle(tokens)
    return tokens


def some_words(seed, letters=b"abc", count=300):
    chance = random.Random(seed)
    return [bytes(chance.choices(letters, k=chance.randint(1, 14))).decode() for _ in range(count)]


def every_split(tokens):
    """The pairs that transformers writes of ranks: all that make a token, in the order of its rank."""
    known = {*BYTES, *tokens}
    ranks = {token: rank for rank, token in enumerate([*BYTES, *tokens])}
    pairs = [[(token[:at], token[at:]) for at in range(1, len(token))] for token in tokens]
    there = [[pair for pair in some if known.issuperset(pair)] for some in pairs]
    return [pair for some in there for pair in sorted(some, key=lambda pair: [ranks[part] for part in pair])]


def write_json(path, tokens, pairs, **more):
    vocabulary = {to_characters(token): number for number, token in enumerate([*BYTES, *tokens])}
    model = {"type": "BPE", "ignore_merges": True, "vocab": vocabulary, **more}
    model["merges"] = [[to_characters(left), to_characters(right)] for left, right in pairs]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
    whole = {"version": "1.0", "pre_tokenizer": level, "decoder": level, "model": model, "added_tokens": []}
    path.mkdir(parents=True, exist_ok=True)
    file = path / "tokenizer.json"
    file.write_text(json.dumps(whole, ensure_ascii=False), "utf-8")
    return file


def write_ranks(path, tokens):
    path.mkdir(parents=True, exist_ok=True)
    lines = (base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate([*BYTES, *tokens]))
    (path / "some.tiktoken").write_bytes(b"".join(lines))
    (path / "some.json").write_text(json.dumps({"pattern": PATTERN, "special_tokens": {}, "version": 1}))
    return path


def by_ranks(word, ranks):
    """As tiktoken encodes a pre-token: it is a token, or the two neighbours that make the lowest rank are joined."""
    if word in ranks:
        return [ranks[word]]
    parts = [bytes([byte]) for byte in word]
    while True:
        found = [(ranks[left + right], at) for at, (left, right) in enumerate(pairwise(parts)) if left + right in ranks]
        if not found:
            return [ranks[part] for part in parts]
        at = min(found)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


@pytest.mark.parametrize("seed", range(2))
def test_ranks_in_no_order_encode_as_the_libraries_at_any_playhead(tmp_path, seed):
    tokens, words = some_tokens(seed), some_words(seed, count=100)
    file, folder = write_json(tmp_path / "json", tokens, every_split(tokens)), write_ranks(tmp_path / "ranks", tokens)
    ranks = {token: rank for rank, token in enumerate([*BYTES, *tokens])}
    theirs = tokenizers.Tokenizer.from_file(str(file))
    openai = tiktoken.Encoding("x", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    of_json, of_ranks = load(file), load(folder)
    assert of_json.library is None
    assert of_ranks.library is None
    for word in words:
        ids = theirs.encode(word).ids
        assert of_json.encode(word) == of_ranks.encode(word) == openai.encode(word) == ids, word
    assert np.array_equal(of_json.merges, of_ranks.merges) or of_ranks.needed_merges is None
    long = "".join(words)
    assert of_json.encode(long) == theirs.encode(long).ids
    for merges in range(0, len(of_json.merges) + 1, 6):
        # The first results by rank; all else, also whole words, is as if the file ended there.
        known = BYTES + [of_json.tokens[token] for token in of_json.merge_results[:merges].tolist()]
        known += of_json.extra_tokens.values()
        held = {token: rank for token, rank in ranks.items() if token in known}
        here = of_json.at(merges)
        others = here.closed(), pickle.loads(pickle.dumps(here))
        for word in words[:25]:
            expected = by_ranks(word.encode(), held)
            assert here.encode(word) == expected, (merges, word)
            assert all(other.encode(word) == expected for other in others), (merges, word)
        assert here.encode(long) == by_ranks(long.encode(), held)


def test_every_result_of_ranks_has_a_place_on_the_playhead(tmp_path):
    tokens = [b"abcd", b"ab", b"cd", b"xyz", b"xy", b"bca", b"ca"]
    tokenizer = load(write_ranks(tmp_path, tokens))
    made = [tokenizer.tokens[token] for token in tokenizer.merge_results.tolist()]
    assert made == tokens
    assert tokenizer.needed_merges.tolist() == [3, 2, 3, 5, 5, 7, 7]
    assert [tokenizer.kind(256 + rank) for rank in range(7)] == ["merge"] * 7
    assert tokenizer.encode("abcd") == [256]
    # The token is there without its parts, as a whole word.
    assert tokenizer.at(1).encode("abcd") == [256]
    assert tokenizer.at(1).encode("abcde") == [*b"abcde"]
    assert tokenizer.at(2).encode("abcde") == [257, *b"cde"]
    assert tokenizer.at(3).encode("abcde") == [256, *b"e"]
    assert tokenizer.at(1).kind(256) == "whole word"


def test_a_token_that_only_whole_words_become_is_shown_so(tmp_path):
    # "abc" becomes "ab" and "c", as "ab" comes first; and "bc" is never joined to what is before it.
    tokens = [b"abcd", b"ab", b"bc", b"cd", b"abc", b"xbc", b"bcx", b"xb"]
    tokenizer = load(write_json(tmp_path, tokens, [p for p in every_split(tokens) if p != (b"ab", b"c")]))
    assert len(tokenizer.merges) == len(tokens)
    assert tokenizer.kind(256 + tokens.index(b"abc")) == "whole word"
    assert tokenizer.encode("abc abcx") == [260, 32, *tokenizer.encode("abcx")]
    assert tokenizer.encode("abc") == [260]
    assert 260 not in tokenizer.encode("abcx")
    assert finish(reachability_work(tokenizer))[260] == REACHED
    steps = finish(steps_work(tokenizer, "abcx"))
    assert why_not_one(steps, 0, 3).kind == "whole word"


def test_a_merge_listed_again_counts_where_it_stands_last(tmp_path):
    tokens = [b"ab", b"bc", b"abc"]
    pairs = [(b"a", b"b"), (b"b", b"c"), (b"ab", b"c"), (b"a", b"bc"), (b"a", b"b")]
    file = write_json(tmp_path, tokens, pairs, ignore_merges=False)
    tokenizer, theirs = load(file), tokenizers.Tokenizer.from_file(str(file))
    assert [tokenizer.tokens[token] for token in tokenizer.merge_results.tolist()] == [b"bc", b"abc", b"ab"]
    for word in ("abc", "ab", "abab", "bcabc", "abcabc aab"):
        assert tokenizer.encode(word) == theirs.encode(word).ids
    assert tokenizer.at(1).encode("abc") == [*b"a", 257]


@pytest.mark.parametrize("seed", range(5))
def test_any_list_of_pairs_encodes_as_the_library(tmp_path, seed):
    chance, tokens = random.Random(seed), some_tokens(seed)
    pairs = every_split(tokens)
    pairs = chance.sample(pairs, k=len(pairs) * 3 // 4) + chance.sample(pairs, k=5)
    for ignore in (False, True):
        file = write_json(tmp_path / str(ignore), tokens, pairs, ignore_merges=ignore)
        tokenizer, theirs = load(file), tokenizers.Tokenizer.from_file(str(file))
        assert tokenizer.library is None
        for word in some_words(seed, count=100):
            assert tokenizer.encode(word) == theirs.encode(word).ids, word
        save(tokenizer, tmp_path / f"again{ignore}.json", "huggingface")
        again = tokenizers.Tokenizer.from_file(str(tmp_path / f"again{ignore}.json"))
        for word in some_words(seed, count=100):
            assert again.encode(word).ids == tokenizer.encode(word)


def test_a_pair_in_no_order_encodes_as_the_library(tmp_path):
    tokens = some_tokens(3)
    vocabulary = {to_characters(token): number for number, token in enumerate([*BYTES, *tokens])}
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary))
    lines = [f"{left.decode()} {right.decode()}\n" for left, right in every_split(tokens)]
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" + "".join(lines) + lines[0])
    tokenizer = load(tmp_path, "none")
    model = tokenizers.models.BPE.from_file(*(str(tmp_path / name) for name in ("vocab.json", "merges.txt")))
    theirs = tokenizers.Tokenizer(model)
    for word in some_words(3):
        assert tokenizer.encode(word) == theirs.encode(word).ids
    save(tokenizer, tmp_path / "again", "gpt2", accept_loss=True)
    assert load(tmp_path / "again", "none").merges.tolist() == tokenizer.merges.tolist()


@pytest.mark.parametrize("name", ["huggingface", "tiktoken"])
def test_they_are_written_at_any_playhead(tmp_path, name):
    tokens, words = some_tokens(7), some_words(7, count=100)
    tokenizer = load(write_ranks(tmp_path / "ranks", tokens))
    assert tokenizer.needed_merges is not None
    most = len(tokenizer.merges)
    for merges in (*range(1, most, 8), most):
        here, folder = tokenizer.at(merges), tmp_path / f"{name}{merges}"
        assert fit(here, name).problem is None
        report = save(here, folder, name, accept_loss=merges < most)
        assert report.proof.startswith("identical on the test text")
        again = load(folder)
        assert [again.encode(word) for word in words] == [here.encode(word) for word in words]
        compact = here.compact()
        assert len(compact) == len(compact.tokens) == len(here)
        assert compact.decode(compact.encode("abcacb")) == "abcacb"
    assert (again.merges.tolist(), again.whole_words) == (tokenizer.merges.tolist(), tokenizer.whole_words)
    for merges in range(0, most, 5):
        assert again.at(merges).encode("abcabacabca") == tokenizer.at(merges).encode("abcabacabca")
    if name == "huggingface":
        theirs = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        assert [theirs.encode(word).ids for word in words] == [tokenizer.encode(word) for word in words]
    with pytest.raises(FormatError, match="join later ones"):
        save(tokenizer, tmp_path / "classic", "classic", accept_loss=True)


def test_a_project_keeps_them():
    ranks = Tokenizer(np.array([[257, 258], [97, 98], [99, 100]], np.int32), checked=True, pattern="gpt2")
    tokenizer = ranks.changed(ignores_merges=True)
    again = tokenizer_of(json.loads(json.dumps(tokenizer_values(tokenizer))))
    assert again.merges.tolist() == tokenizer.merges.tolist()
    assert again.at(1).encode("abcd") == tokenizer.at(1).encode("abcd") == [256]
    values = tokenizer_values(tokenizer)
    values["merges"] = [257, 98, 256, 256, 98, 257]
    with pytest.raises(ConfigError, match=r"not a tokenizer|made of it"):
        tokenizer_of(values)


@pytest.mark.parametrize("seed", range(2))
def test_steps_and_rounds_end_as_the_encoding_does_at_any_playhead(tmp_path, seed):
    tokenizer = load(write_ranks(tmp_path, some_tokens(seed)))
    text = " ".join(some_words(seed, count=12))
    whole = finish(steps_work(tokenizer, text))
    for merges in range(0, len(tokenizer.merges) + 1, 4):
        steps, anew = whole.at(merges), finish(steps_work(tokenizer, text, merges))
        assert len(steps) == len(anew)
        for number in range(len(steps)):
            assert steps.state(number).ids.tolist() == anew.state(number).ids.tolist()
            assert steps.step(number) == anew.step(number)
        expected = tokenizer.at(merges).encode(text)
        assert steps.tokens.ids.tolist() == expected
        rounds = Rounds(steps)
        assert rounds.state(len(rounds) - 1).ids.tolist() == expected
        assert rounds.state(1).ids.tolist() == steps.state(1).ids.tolist()
        needed = tokenizer.needed_merges
        last = 0
        for number in range(2, len(rounds)):
            now = int(needed[rounds.round(number).merge - 1])
            assert now >= last
            # After the last round of a merge, the text is encoded with the merges up to that one.
            following = number + 1 < len(rounds) and int(needed[rounds.round(number + 1).merge - 1]) == now
            if not following and not tokenizer.whole_words and not tokenizer.at(now).whole_words:
                assert rounds.state(number).ids.tolist() == tokenizer.at(now).encode(text)
            last = now


def test_why_a_token_is_not_made_names_the_merge_of_the_part_that_is_missing(tmp_path):
    tokenizer = load(write_ranks(tmp_path, [b"abcd", b"ab", b"cd"]))
    why = why_not_one(finish(steps_work(tokenizer, "abcde", 2)), 0, 4)
    assert why.kind == "after"
    assert why.merge == 3
    assert (why.left, why.right) == (ord("c"), ord("d"))
    assert why_not_one(finish(steps_work(tokenizer, "abcde")), 0, 4).kind == "one"


def test_what_cannot_be_done_with_them_is_told(tmp_path):
    tokenizer = load(write_json(tmp_path, [b"abcd", b"ab", b"cd"], every_split([b"abcd", b"ab", b"cd"])))
    assert "later merge" in why_not_by_merge(tokenizer)
    with pytest.raises(ConfigError, match="join tokens that later merges make"):
        prune(tokenizer, 258)
    with pytest.raises(ConfigError, match="does not exist yet"):
        Tokenizer(tokenizer.merges, tokenizer.merge_results)
    with pytest.raises(ConfigError, match="made of it"):
        Tokenizer(np.array([[257, 98], [256, 98]], np.int32), checked=True)


def test_a_special_token_that_a_whole_word_becomes_stays_special(tmp_path):
    tokenizer = add_specials(load(write_ranks(tmp_path / "ranks", [b"abcd", b"ab", b"cd"])), ["<|end|>"])
    save(tokenizer, tmp_path / "out")
    again = load(tmp_path / "out")
    assert again.kind(again.special_tokens["<|end|>"]) == "special"
    assert finish(reachability_work(again))[again.special_tokens["<|end|>"]] == REACHED
    save(again, tmp_path / "vocabulary.csv", "vocabulary-csv")
    rows = (tmp_path / "vocabulary.csv").read_text().splitlines()
    assert rows[-1].startswith('259,"special",')


@pytest.mark.shared_data
def test_llama_3_s_own_files_encode_as_their_libraries_at_any_playhead(shared, tmp_path):
    for name in ("tokenizer.json", "tiktoken-tokenizer.model"):
        packed = shared / "tokenizers" / "real" / f"llama3.{name}.xz"
        (tmp_path / name.removeprefix("tiktoken-")).write_bytes(lzma.decompress(packed.read_bytes()))
    tokenizer, of_ranks = load(tmp_path / "tokenizer.json"), load(tmp_path / "tokenizer.model")
    specials = {"<|begin_of_text|>": 128_000, "<|eot_id|>": 128_009, "<|reserved_special_token_245|>": 128_255}
    assert (len(of_ranks), of_ranks.special_tokens | specials) == (128_256, of_ranks.special_tokens)
    assert len(tokenizer.merges) == 127_744
    assert len(tokenizer.whole_words) == 588
    assert np.array_equal(tokenizer.merges, of_ranks.merges)
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    tokens = {token: rank for rank, token in enumerate(of_ranks.tokens) if token and rank < 128_000}
    chance = random.Random(1)
    spelled = [text for token in tokens if (text := token.decode("utf-8", "ignore"))]
    text = "\n".join("".join(chance.choices(spelled, k=3))[chance.randrange(3) :] for _ in range(4_000))
    assert tokenizer.encode(text) == theirs.encode(text, add_special_tokens=False).ids == of_ranks.encode(text)
    hard = f"{torture_text()}<|eot_id|>hi<|begin_of_text|>"
    assert tokenizer.encode(hard, "all") == theirs.encode(hard, add_special_tokens=False).ids
    assert tokenizer.encode(hard, "all") == of_ranks.encode(hard, "all")
    held = {token: rank for token, rank in tokens.items() if rank < 256 + 50_000}
    openai = tiktoken.Encoding("x", pat_str=REGEX["llama3"], mergeable_ranks=held, special_tokens={})
    assert tokenizer.at(50_000).encode(text) == openai.encode(text, disallowed_special=())


# --- Merges that are found again are those that a slow search over every pair of parts finds --------------------------

tokens = st.lists(st.text("ab", min_size=2, max_size=9).map(str.encode), max_size=25, unique=True)


@pytest.mark.parametrize("ordered", [True, False])
@given(tokens, st.randoms())
def test_every_merge_is_that_of_the_slow_search(ordered, words, chance):
    """Each behind what it may be made of, as in files of programs, or in any order."""
    chance.shuffle(words)
    ranked = BYTES + (sorted(words, key=len) if ordered else words)
    rank_of = {token: rank for rank, token in enumerate(ranked)}
    parts = finish(recover_merges_work(ranked)).tolist()
    for rank, token in enumerate(ranked[256:], 256):
        slow = by_ranks(token, {other: number for other, number in rank_of.items() if other != token})
        assert parts[rank] == (slow if len(slow) == 2 else [-1, -1])


def test_the_search_goes_on_where_it_stopped(monkeypatch):
    tokenizer = trained(TEXT * 20, 300)
    for budget in (1, 7):
        monkeypatch.setattr(ranks, "_BUDGET", budget)
        parts = finish(recover_merges_work(list(tokenizer.tokens)))
        assert np.array_equal(parts[256:], tokenizer.merges)


def test_tokens_of_a_run_are_all_made_of_their_own_bytes_and_others_of_several_tokens():
    for tokenizer in (everything(), with_specials("cl100k", "first"), trained("ab" * 5000, 14)):
        tokens = [tokenizer.tokens[token] for token in tokenizer.merge_results]
        assert set(finish(pieces_work(tokenizer, tokens)).tolist()) == {1}
    tokenizer = Tokenizer(np.array([[97, 98], [98, 99], [97, 257]]))
    for spelled, counts in (([b"abc", b"a", b"bc", b"xyz", b"abcabc"], [2, 1, 1, 3, 4]), ([], []), ([b"abc"], [2])):
        assert finish(pieces_work(tokenizer, spelled)).tolist() == counts
