"""What differs between two tokenizers, counted anew in a simple way; and that nothing differs from itself."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.comparison.lines import numbered_lines
from tests.core.formats.trained import shuffled, trained, with_specials
from tests.core.formats.without_merges import unigram, word_piece
from tokstudio import ConfigError, Corpus, TrainingConfig, diff, load, save, train
from tokstudio.core.base.progress import finish
from tokstudio.core.comparison.engines import engines_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.pretokenization.preparation import Preparation

TEXT = "the cat in the hat sat on the mat, 12345 times\n\n  日本語 don't\r\n" * 4
SENTENCES = ["the cat sat on the mat, and the dog sat on the log"] * 30


def some(letters="abc", merges=6, **more):
    config = TrainingConfig(vocabulary_size=256 + merges + len(more.get("special_tokens", ())), **more)
    return train(Corpus.from_text(" ".join(letters[i % len(letters)] * (1 + i % 4) for i in range(30))), config)


made = st.builds(
    some,
    st.sampled_from(["abc", "abd", "cba", "xyz"]),
    st.integers(1, 8),
    pattern=st.sampled_from(["none", "gpt2"]),
    special_tokens=st.sampled_from([(), ("<s>",), ("<s>", "<e>")]),
    special_placement=st.sampled_from(["first", "last"]),
)


def named(tokenizer):
    """Whether each token is special, and its bytes, by id."""
    specials = set(tokenizer.special_tokens.values())
    return {i: (i in specials, token) for i, token in enumerate(tokenizer.tokens) if token is not None}


def pairs(tokenizer):
    return [(tokenizer.tokens[left], tokenizer.tokens[right]) for left, right in tokenizer.merges.tolist()]


@given(made, made)
def test_ids_and_tokens_are_those_of_a_simple_count(a, b):
    found, (here, there) = diff(a, b), (named(a), named(b))
    both = here.keys() & there.keys()
    assert [number for number, *_ in found.ids_changed] == sorted(i for i in both if here[i] != there[i])
    assert found.same_ids == sum(here[i] == there[i] for i in both)
    first = 0
    while first < max(len(here), len(there)) and here.get(first) == there.get(first):
        first += 1
    assert found.same_ids_from_0 == first
    ids = [{token: i for i, (special, token) in each.items() if not special} for each in (here, there)]
    assert {token for token, *_ in found.moved} == {t for t in ids[0] if t in ids[1] and ids[0][t] != ids[1][t]}
    assert dict(found.only_a) == {i: token for token, i in ids[0].items() if token not in ids[1]}
    assert dict(found.only_b) == {i: token for token, i in ids[1].items() if token not in ids[0]}
    assert [(left, right) for _, left, right in found.merges_inserted] == [p for p in pairs(b) if p not in pairs(a)]
    assert [(left, right) for _, left, right in found.merges_removed] == [p for p in pairs(a) if p not in pairs(b)]
    assert all(pairs(b)[number - 1] == (left, right) for number, left, right in found.merges_inserted)
    assert {token for token, *_ in found.specials} == {
        token
        for token in a.special_tokens.keys() | b.special_tokens.keys()
        if a.special_tokens.get(token) != b.special_tokens.get(token)
    }
    assert found.differs == (here != there or pairs(a) != pairs(b) or a.pattern != b.pattern)


def longest_common(first, second):
    """The length of the longest common subsequence, by the table of the textbook."""
    table = np.zeros((len(first) + 1, len(second) + 1), int)
    for i, one in enumerate(first, 1):
        for j, other in enumerate(second, 1):
            table[i, j] = table[i - 1, j - 1] + 1 if one == other else max(table[i - 1, j], table[i, j - 1])
    return int(table[-1, -1])


@given(made, made)
def test_merges_in_another_order_are_the_fewest_that_have_to_move(a, b):
    common = len(set(pairs(a)) & set(pairs(b)))
    assert diff(a, b).merges_moved == common - longest_common(pairs(a), pairs(b))


@pytest.mark.parametrize("tokenizer", [with_specials(), shuffled(), trained("日本語 日本", 9)])
def test_nothing_differs_from_itself_or_from_its_file(tmp_path, tokenizer):
    for other in (tokenizer, load(save(tokenizer, tmp_path / "tokenizer.json").files[0])):
        found = diff(tokenizer, other, {"text": TEXT})
        assert not found.differs
        count = len(tokenizer)
        lines = list(found.sentences())
        assert lines[0] == "A and B are the same."
        assert lines[-1] == f"A can draft for B: all {count:,} ids mean the same."
        assert found.lines_compared == 8


def test_a_line_of_a_data_set_is_named_by_its_row(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('id,text\n1,"c\nc"\n2,\n3,abab\n4,"c\n\nabab\nc\nabab"\n')
    (source,) = Corpus.from_files(path, field="text").sources
    a, b = trained("abab", 1, pattern="gpt2"), trained("abab", 2, pattern="gpt2")
    found = diff(a, b, {"a.csv": source})
    assert '1 merge makes a token only in B: the first is 2, "ab" "ab".' in found.sentences()
    [text] = found.texts
    assert [(line.place, line.text.strip()) for line in text.first] == [
        ("row 4", "abab"), ("row 5, line 1", "c\n\nabab"), ("row 5, line 3", "abab"),
    ]  # fmt: skip


lines_of_text = st.lists(st.text("ab 12\n日é", max_size=12) | st.sampled_from(["abab", "1234567", " bbb"]), max_size=6)


@given(lines_of_text, st.sampled_from(["gpt2", "cl100k", "none"]))
def test_lines_that_change_are_those_of_encoding_each_alone(texts, pattern):
    a, b = trained("abab 1234567 bbb" * 3, 12, pattern="gpt2"), trained("abab 1234567 bbb" * 3, 9, pattern=pattern)
    found = diff(a, b, {"mine": texts})
    # With line ends and empty lines, as the comparison of libraries has them.
    numbers, lines = [*zip(*numbered_lines(texts), strict=True)] or ((), ())
    ids = [(a.encode(line), b.encode(line)) for line in lines]
    tokens = [([a.tokens[i] for i in one], [b.tokens[i] for i in other]) for one, other in ids]
    changed = [one != other for one, other in ids]
    split = [one != other for one, other in tokens]
    if not any(changed):
        assert found.texts == ()
        return
    [text] = found.texts
    assert (text.name, text.lines, text.changed, text.split) == ("mine", len(lines), sum(changed), sum(split))
    assert text.tokens == tuple(sum(len(each.encode(document)) for document in texts) for each in (a, b))
    shown = [i for i, differs in enumerate(split if any(split) else changed) if differs][:3]
    assert [(line.number, line.text) for line in text.first] == [(numbers[i], lines[i]) for i in shown]
    assert [(list(line.a), list(line.b)) for line in text.first] == [tokens[i] for i in shown]


def test_lines_and_tokens_are_those_of_the_comparison_of_libraries():
    a, b = trained(TEXT * 3, 30, pattern="gpt2"), trained(TEXT * 3, 9, pattern="llama3")
    source = Source.from_texts(["the cat  \n\n  sat\n\r\non\n", "", "\n\n the mat\r\n12"])
    [text] = diff(a, b, {"mine": source}).texts
    rows = [finish(engines_work(each, {"mine": source}, engines=())).rows[0] for each in (a, b)]
    assert [(row.lines, row.tokens) for row in rows] == [(text.lines, text.tokens[0]), (text.lines, text.tokens[1])]
    # What differs at the end of a line is seen.
    [text] = diff(trained("a  \n\n b" * 9, 9, pattern="gpt2"), trained("a  \n\n b" * 9, 9), {"m": "a  \n\n b"}).texts
    assert (text.changed, text.first[0].text) == (2, "a  \n\n b")


def test_settings_are_said_in_words(tmp_path):
    a = some(pattern="gpt2")
    b = a.changed(pattern="cl100k_right", preparation=Preparation(nfc=True, prefix_space=True))
    assert diff(a, b).pattern == (
        "Text is split by gpt2 (as GPT-2: words with the space before) in A, by cl100k_right (as cl100k, digits "
        "grouped from the right) in B.",
        "Only in B text is normalized to NFC.",
        "Only in B a space is put before a text.",
    )
    names = replace(a.settings, roles={"eos_token": "<s>"}, chat_templates={"default": "x"})
    found = diff(a.changed(settings=names), a)
    assert found.roles == (("eos_token", "<s>", None),)
    assert found.pattern == ("Their chat templates differ.",)
    assert 'Role eos: "<s>" in A, none in B.' in list(found.sentences())
    strips = with_specials().changed(preparation=Preparation(strips_left=frozenset(["<|end|>"])))
    [(token, *_, other)] = diff(with_specials(), strips).specials
    assert (token, other) == ("<|end|>", ("strips_left",))


def written(path, content, change=lambda content: content):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(change(json.loads(content))))
    return load(path)


def test_tokenizers_of_libraries_are_compared_by_their_settings(tmp_path):
    def other(content):
        content["normalizer"]["lowercase"] = False
        content["model"]["max_input_chars_per_word"] = 7
        return content

    content = word_piece(SENTENCES, 60).to_str()
    a = written(tmp_path / "a" / "tokenizer.json", content)
    b = written(tmp_path / "b" / "tokenizer.json", content, other)
    assert not diff(a, tmp_path / "a" / "tokenizer.json").differs
    found = diff(a, b, {"text": "the Cat"})
    assert found.pattern[0].startswith('The normalizer is {"type": "BertNormalizer", ')
    assert found.pattern[1] == "max_input_chars_per_word of the model is 100 in A, 7 in B."
    assert found.texts[0].first[0].text == "the Cat"
    [sentence, *_] = diff(a, some()).pattern[1:]
    assert sentence == (
        "tokenizers encodes for A, TokStudio for B: whether they split text alike cannot be told from their settings."
    )


def test_other_scores_are_told(tmp_path):
    unigram(SENTENCES, 40).save(str(tmp_path / "a.json"))
    content = json.loads((tmp_path / "a.json").read_text())
    content["model"]["vocab"][3][1] -= 1
    (tmp_path / "b.json").write_text(json.dumps(content))
    assert diff(tmp_path / "a.json", tmp_path / "b.json").pattern == ("1 token has another score.",)


def test_a_draft_needs_the_same_ids():
    short, long = some(merges=3), some(merges=8)
    assert diff(short, long).draft == "A can draft for B: all its 259 ids mean the same; B has 5 more."
    assert diff(long, short).draft == (
        "A cannot draft for B by ids: the first 259 mean the same, and of all 259 (98.1\u00a0% of A's)."
    )


def test_of_many_special_tokens_the_first_are_named():
    many = some(special_tokens=[f"<{number}>" for number in range(20)])
    found = diff(some(), many)
    assert len(found.specials) == 20
    named = [line for line in found.sentences() if "pecial token" in line]
    assert named[0] == 'Special token "<0>": none in A, id 262 in B.'
    assert named[6:] == ["14 more special tokens differ."]


def test_what_cannot_be_compared_is_refused():
    counts = Corpus.from_counts({"the": 3}).sources[0]
    with pytest.raises(ConfigError, match=r"^words has word counts, not text"):
        diff(some(), some(), {"words": counts})
