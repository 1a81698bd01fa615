"""An encoding step by step, compared with encoding; explanations, compared with the states."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace as replace_config
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.reference import encode_slowly, named_pattern, pre_tokens, replace
from tests.core.texts import document, documents, settings_of_runs
from tokstudio import ConfigError, Corpus, CorpusError, Tokenizer, TrainingConfig, train
from tokstudio.core.analysis.encoding_steps import Rounds, steps_work
from tokstudio.core.analysis.why_not_one_token import cause_work, why_not_one
from tokstudio.core.base.progress import finish
from tokstudio.core.base.wording import count_text, shown

POEM = "she sells sea shells by the sea shore, and the shells she sells are sea shells\n"


@st.composite
def tokenizers(draw):
    """Tokenizers as files may hold them: merges that no training would have made, a pair that two merges join."""
    known, pairs = [97, 98, 0], []
    for number in range(draw(st.integers(0, 25))):
        pairs.append((draw(st.sampled_from(known)), draw(st.sampled_from(known))))
        known.append(256 + number)
    return Tokenizer(np.array(pairs, np.int32).reshape(-1, 2))


runs_of_ab = st.lists(st.sampled_from([b"a", b"b", b"ab", b"aaaa", b"\0"]), max_size=30).map(b"".join)


def trained(text=POEM, size=300, **chosen):
    return train(Corpus.from_text(text), TrainingConfig(vocabulary_size=size, **chosen))


def stepped(tokenizer, text, merges=None, allowed_special=()):
    return finish(steps_work(tokenizer, text, merges, allowed_special))


def spelled(steps, number):
    state = steps.state(number)
    return [steps.data[start:stop] for start, stop in zip(state.starts, state.stops, strict=True)]


def ids(steps, number):
    return steps.state(number).ids.tolist()


def assert_steps(steps, text):
    """Each state is the one before with one pair joined where the step says; in order of rank in each pre-token."""
    tokenizer = steps.tokenizer.at(steps.merges)
    assert steps.tokens.ids.tolist() == tokenizer.encode(text)
    before = 0, 0, 0
    for number in range(len(steps)):
        assert b"".join(spelled(steps, number)) == steps.data
        step = steps.step(number)
        if number < 2:
            assert (step.kind, step.merge) == (("pre-tokens", "base tokens")[number], 0)
            continue
        earlier, now = steps.state(number - 1), steps.state(number)
        at = int(np.searchsorted(earlier.starts, step.start))
        assert earlier.starts[at : at + 2].tolist() == [step.start, step.middle]
        assert earlier.ids[at : at + 2].tolist() == [step.left, step.right]
        assert tokenizer.merges[step.merge - 1].tolist() == [step.left, step.right]
        result = int(tokenizer.merge_results[step.merge - 1])
        assert now.ids.tolist() == [*earlier.ids[:at], result, *earlier.ids[at + 2 :]]
        pre_token = int(np.searchsorted(steps.pre_tokens.stops, step.start, side="right"))
        assert before < (pre_token, step.merge, step.start)
        before = pre_token, step.merge, step.start


@given(tokenizers(), runs_of_ab, st.data())
def test_the_steps_are_those_of_the_slow_loop(tokenizer, text, data):
    merges = data.draw(st.integers(0, len(tokenizer.merges)))
    steps = stepped(tokenizer, text, merges)
    assert_steps(steps, text)
    assert_same(stepped(tokenizer, text).at(merges), steps)
    assert steps.tokens.ids.tolist() == encode_slowly(text, tokenizer.merges[:merges].tolist())
    # After the last step of each merge the text is as the slow loop has it.
    slow = list(text)
    assert ids(steps, 1) == slow
    for merge, pair in enumerate(tokenizer.merges[:merges].tolist(), 1):
        slow = replace(slow, *pair, 255 + merge)
        last = max([i for i in range(2, len(steps)) if steps.step(i).merge <= merge], default=1)
        assert ids(steps, last) == slow


@given(documents, settings_of_runs, document, st.sampled_from(["none", "gpt2", "cl100k"]), st.data())
def test_a_trained_tokenizer(texts, chosen, text, pattern, data):
    tokenizer = train(Corpus.from_texts(texts), TrainingConfig(**chosen, pattern=pattern))
    for one in (text, *texts[:2]):
        merges = data.draw(st.integers(0, len(tokenizer.merges)))
        steps, whole = stepped(tokenizer, one, merges), stepped(tokenizer, one)
        assert_steps(steps, one)
        assert_same(whole.at(merges), steps)
        words = pre_tokens(one, named_pattern(pattern)) if pattern != "none" else [one] * bool(one)
        assert spelled(steps, 0) == words
        # The round of the last merge that is applied shows the text as with so many merges.
        rounds = Rounds(whole)
        last = max((i for i in range(2, len(rounds)) if rounds.round(i).merge <= merges), default=1)
        assert ids_of(rounds, last) == tokenizer.at(merges).encode(one)


def test_a_word_from_its_bytes_to_its_tokens():
    tokenizer = Tokenizer(np.array([[104, 101], [116, 256], [32, 257]], np.int32), pattern="gpt2")
    steps = stepped(tokenizer, "a the")
    assert [spelled(steps, number) for number in range(len(steps))] == [
        [b"a", b" the"],
        [b"a", b" ", b"t", b"h", b"e"],
        [b"a", b" ", b"t", b"he"],
        [b"a", b" ", b"the"],
        [b"a", b" the"],
    ]
    assert ids(steps, 0) == [-1, -1]
    assert steps.step(3).start == 2


def test_characters_and_the_unknown_token():
    vocabulary = ["a", "é", "日", "<u>"]
    tokenizer = trained("aéaé日日", 8, base="characters", base_vocabulary=vocabulary, unknown_token="<u>")
    for text in ("aé日日?é", "aé".encode() + b"\xff" + "日".encode()):
        steps = stepped(tokenizer, text)
        assert_steps(steps, text)
        assert steps.tokens.ids.tolist().count(3) == 1


def test_special_tokens_are_in_the_first_state():
    tokenizer = trained(special_tokens=["<end>"])
    steps = stepped(tokenizer, "the sea<end>the", allowed_special="all")
    assert spelled(steps, 0) == [b"the sea", b"<end>", b"the"]
    assert ids(steps, 0) == [-1, tokenizer.special_tokens["<end>"], -1]
    assert steps.tokens.ids.tolist() == tokenizer.encode("the sea<end>the", "all")
    assert spelled(stepped(tokenizer, "the<end>"), 0) == [b"the<end>"]


def words_as_they_are():
    merges = np.array([[104, 101]], np.int32)
    return Tokenizer(merges, pattern="whitespace", extra_tokens={300: b" the", 301: b"xyz"}, whole_words=[300])


def test_a_whole_word_is_not_merged():
    steps = stepped(words_as_they_are(), "the the then")
    assert spelled(steps, 1) == [b"t", b"h", b"e", b" the", *(bytes([byte]) for byte in b" then")]
    assert_steps(steps, "the the then")


def test_an_unknown_state_is_refused():
    empty, steps = stepped(trained(), ""), stepped(trained(), "the")
    assert (len(empty), len(empty.state(0)), len(empty.state(1))) == (2, 0, 0)
    for number in (-1, len(steps)):
        with pytest.raises(ConfigError, match=f"There is no state {number}: this encoding has {len(steps)}"):
            steps.state(number)


def test_a_long_text_without_pattern():
    text = POEM * 120
    tokenizer = trained(size=310)
    steps = stepped(tokenizer, text)
    assert steps.tokens.ids.tolist() == tokenizer.encode(text)
    assert len(steps) == 2 + len(text) - len(steps.tokens)
    assert b"".join(spelled(steps, len(steps) // 2)) == text.encode()


def assert_true(steps, start, stop):
    """What an answer claims can be seen in the states and in the vocabulary."""
    why = why_not_one(steps, start, stop)
    text, tokenizer, pieces = steps.data[start:stop], steps.tokenizer, steps.pieces
    stands = [number for number in range(1, len(steps)) if text_stands(steps, number, start, stop)]
    assert (why.kind == "one") == bool(stands and stands[-1] == len(steps) - 1)
    assert (why.kind in ("one", "was one")) == bool(stands)
    if why.kind in ("one", "was one"):
        assert tokenizer.tokens[why.token] == text
    elif why.kind == "border":
        assert any(start < edge < stop for edge in steps.pre_tokens.starts)
    elif why.kind == "missing":
        assert text not in list(tokenizer.tokens)
        assert_missing(steps, why, start, stop)
    elif why.kind == "after":
        assert why.merge > steps.merges
        assert tokenizer.merges[why.merge - 1].tolist() == [why.left, why.right]
        assert tokenizer.tokens[why.left] + tokenizer.tokens[why.right] == text
        # Whatever stands there is still a part of it.
        here, wanted = steps.tokens, set(parts_by_place(tokenizer, start, why.token))
        places = zip(here.starts.tolist(), here.ids.tolist(), strict=True)
        assert {(at, token) for at, token in places if start <= at < stop} <= wanted
        assert int(here.starts[np.searchsorted(here.stops, stop)]) < stop
    else:
        assert why.kind == "late"
        assert why.taken_by <= min(why.merge, steps.merges)
        assert tokenizer.merges[why.merge - 1].tolist() == [why.left, why.right]
        # Both parts stood there one day, within what was asked for, and the other merge took one of them.
        middles = [
            int(pieces.stops[one])
            for one in np.flatnonzero((pieces.ids == why.left) & (pieces.starts >= start))
            for other in np.flatnonzero((pieces.ids == why.right) & (pieces.stops <= stop))
            if pieces.stops[one] == pieces.starts[other]
        ]
        taken = [steps.step(i) for i in range(2, len(steps)) if steps.step(i).merge == why.taken_by]
        assert any(step.start <= middle <= step.stop and middle != step.middle for step in taken for middle in middles)
        assert f"merge {why.merge:,}, but" in why.sentence
    return why


def assert_missing(steps, why, start, stop):
    """Every pair of neighbours is looked up among all merges."""
    here, tokenizer, merges = steps.tokens, steps.tokenizer, steps.tokenizer.merges.tolist()
    places = [*zip(here.starts.tolist(), here.stops.tolist(), here.ids.tolist(), strict=True)]
    within = [token for first, last, token in places if first < stop and start < last]
    edges = [first for first, _, _ in places] + [places[-1][1]]
    text = named(steps.data[start:stop])
    if start not in edges or stop not in edges:
        assert why.sentence == f"No merge makes {text}: it is not in the vocabulary."
        assert why.left is why.right is why.merge is None
        return
    pairs = [[*pair] for pair in pairwise(within)]
    apart = [pair for pair in pairs if pair not in merges]
    assert [why.left, why.right] == (apart or pairs)[0]
    told = [" and ".join(named(tokenizer.tokens[part]) for part in pair) for pair in apart]
    if not apart:
        assert all(merges.index(pair) + 1 > steps.merges for pair in pairs)
        assert why.merge == merges.index(pairs[0]) + 1
        assert why.sentence.endswith(f"of the merges are applied here, and no merge makes {text}.")
    elif len(pairs) == 1:
        assert why.sentence == f"No merge joins {told[0]}."
    else:
        more = ", …" if len(told) > 2 else ""
        assert why.sentence == f"No merge joins {', or '.join(told[:2])}{more}: {text} is not in the vocabulary."


def named(raw):
    try:
        return shown(raw.decode()).replace(" ", "·")
    except UnicodeDecodeError:
        return raw.hex(" ").upper()


def test_the_cause_is_counted_in_the_corpus_of_the_run():
    lines = ["ab ab ab xy", "ab xy q", "hel d out"]
    corpus = Corpus.from_texts(lines)
    run = train(corpus, TrainingConfig(vocabulary_size=257, pattern=r"\S+|\s+")).run

    def cause(text, start=0, stop=None):
        steps = finish(steps_work(Tokenizer.from_run(run), text, None))
        return finish(cause_work(corpus, run, steps, start, len(text) if stop is None else stop))

    assert cause("ab") == ""
    assert cause("xy") == (
        'The corpus has "xy" 2 times. "x" + "y" stood together 2 times at the end. The last merge needed 4.'
    )
    assert cause("qd").startswith('The corpus has "qd" 0 times. "q" + "d" stood together 0 times at the end.')
    # Over a border of documents nothing stands.
    assert cause("yab").startswith('The corpus has "yab" 0 times.')
    work = cause_work(Corpus.from_texts(["ab"]), run, finish(steps_work(Tokenizer.from_run(run), "xy", None)), 0, 2)
    with pytest.raises(CorpusError, match="has changed since"):
        finish(work)


@pytest.mark.parametrize("weights", [None, (1000, 2500)])
def test_the_cause_counts_as_the_run_did(weights):
    corpus = Corpus.from_texts(["\n".join(["cd", "ab ab ab"] * 15), "\n".join(["cd ab"] * 8)])
    corpus = Corpus((*corpus.sources, *Corpus.from_texts(["cd ab " * 4]).sources)) if weights else corpus
    corpus = corpus.weighted(weights) if weights else corpus
    run = train(corpus, TrainingConfig(vocabulary_size=257, pattern="gpt2", held_out=0 if weights else 0.3)).run
    steps = finish(steps_work(Tokenizer.from_run(run), "cd", None))
    said = finish(cause_work(corpus, run, steps, 0, 2))
    # A second merge would have joined the pair.
    longer = train(corpus, replace_config(run.config, vocabulary_size=300)).run
    made = [Tokenizer.from_run(longer).tokens[256 + row] for row in range(len(longer))]
    times = count_text(int(longer.counts[made.index(b"cd")]), run.weight_scale)
    assert said.startswith(f'The corpus has "cd" {times} times. "c" + "d" stood together {times} times at the end.')


def parts_by_place(tokenizer, at, token):
    """A token and all that it is made of, each with the byte where it begins."""
    yield at, token
    parts = tokenizer.parts(token)
    if parts is not None:
        yield from parts_by_place(tokenizer, at, parts[0])
        yield from parts_by_place(tokenizer, at + len(tokenizer.tokens[parts[0]]), parts[1])


def text_stands(steps, number, start, stop):
    state = steps.state(number)
    at = int(np.searchsorted(state.starts, start))
    return at < len(state) and (state.starts[at], state.stops[at]) == (start, stop)


@given(documents, settings_of_runs, document, st.sampled_from(["none", "gpt2"]), st.data())
def test_every_explanation_agrees_with_the_states(texts, chosen, text, pattern, data):
    tokenizer = train(Corpus.from_texts(texts), TrainingConfig(**chosen, pattern=pattern))
    text = data.draw(st.sampled_from([text, *texts]))
    steps = stepped(tokenizer, text, data.draw(st.integers(0, len(tokenizer.merges))))
    if text:
        start = data.draw(st.integers(0, len(text) - 1))
        assert_true(steps, start, data.draw(st.integers(start + 1, min(len(text), start + 9))))


@given(tokenizers(), runs_of_ab, st.data())
def test_every_explanation_of_whole_tokens_agrees_with_the_states(tokenizer, text, data):
    steps = stepped(tokenizer, text, data.draw(st.integers(0, len(tokenizer.merges))))
    if len(steps.tokens):
        first = data.draw(st.integers(0, len(steps.tokens) - 1))
        last = data.draw(st.integers(first, min(len(steps.tokens) - 1, first + 4)))
        start, stop = int(steps.tokens.starts[first]), int(steps.tokens.stops[last])
        why = why_not_one(steps, start, stop)
        if why.kind == "missing":
            assert_missing(steps, why, start, stop)


@given(documents, settings_of_runs, document)
def test_no_merge_joins_adjacent_tokens_of_the_last_state(texts, chosen, text):
    tokenizer = train(Corpus.from_texts(texts), TrainingConfig(**chosen))
    steps = stepped(tokenizer, text)
    for left, right in zip(range(len(steps.tokens) - 1), range(1, len(steps.tokens)), strict=True):
        why = assert_true(steps, int(steps.tokens.starts[left]), int(steps.tokens.stops[right]))
        assert (why.kind, why.left, why.right) == ("missing", ids(steps, -1 + len(steps))[left], why.right)


class TestAnswers:
    """Of merges e + r, o + w, l + ow, ow + er."""

    tokenizer = Tokenizer(np.array([[101, 114], [111, 119], [108, 257], [257, 256]], np.int32), pattern="gpt2")

    def answer(self, text, start, stop, merges=None, tokenizer=None, allowed_special=()):
        steps = stepped(tokenizer or self.tokenizer, text, merges, allowed_special)
        return why_not_one(steps, start, stop)

    @pytest.mark.parametrize(
        ("text", "span", "merges", "kind", "sentence", "facts"),
        [
            ("low", (0, 3), None, "one", '"low" is one token.', {"token": 258, "merge": 3}),
            (
                "low",
                (1, 3),
                None,
                "was one",
                '"ow" was one token, until merge 3 joined "l" and "ow".',
                {"taken_by": 3},
            ),
            ("lower", (0, 5), None, "missing", 'No merge joins "low" and "er".', {"left": 258, "right": 256}),
            # A token that stands there goes beyond it.
            ("slower", (0, 3), None, "missing", 'No merge makes "slo": it is not in the vocabulary.', {"left": None}),
            (
                "slower",
                (0, 6),
                None,
                "missing",
                'No merge joins "s" and "low", or "low" and "er": "slower" is not in the vocabulary.',
                {"left": ord("s"), "right": 258},
            ),
            (
                "slowest",
                (0, 7),
                None,
                "missing",
                'No merge joins "s" and "low", or "low" and "e", …: "slowest" is not in the vocabulary.',
                {},
            ),
            # A pair that a merge joins which is not applied is not among them.
            ("slower", (0, 6), 2, "missing", 'No merge joins "s" and "l": "slower" is not in the vocabulary.', {}),
            (
                "lower",
                (0, 5),
                2,
                "missing",
                '"l" + "ow" is merge 3, but only the first 2 of the merges are applied here, and no merge makes '
                '"lower".',
                {"merge": 3, "left": ord("l"), "right": 257},
            ),
            (
                "lower",
                (1, 5),
                None,
                "late",
                '"ow" + "er" is merge 4, but "ow" was already taken by merge 3: "l" + "ow".',
                {"token": 259, "merge": 4, "left": 257, "right": 256, "taken_by": 3},
            ),
            (
                "low",
                (0, 3),
                2,
                "after",
                '"l" + "ow" is merge 3, but only the first 2 of the merges are applied here.',
                {"merge": 3},
            ),
            ("ow", (0, 2), 0, "after", '"o" + "w" is merge 2, but none of the merges are applied here.', {}),
            (
                "low er",
                (1, 5),
                None,
                "border",
                'The text is split between "low" and "·er" before merging, and no merge crosses a split.',
                {},
            ),
            ("日", (0, 2), None, "missing", "No merge joins E6 and 97.", {}),
            (" \n", (0, 2), None, "missing", 'No merge joins "·" and "\\n".', {}),
        ],
    )
    def test_the_answer(self, text, span, merges, kind, sentence, facts):
        why = self.answer(text, *span, merges)
        assert (why.kind, why.sentence) == (kind, sentence)
        assert {name: getattr(why, name) for name in facts} == facts

    @pytest.mark.parametrize(
        ("pairs", "text", "span", "applied", "sentence", "numbers"),
        [
            (
                [[98, 99], [97, 98], [257, 99]],  # bc, ab, abc
                "abc",
                (0, 3),
                (None,),
                '"abc" is made of "ab". "a" + "b" is merge 2, but "b" was already taken by merge 1: "b" + "c".',
                None,
            ),
            (
                [[97, 97]],
                "aaa",
                (1, 3),
                (None,),
                '"a" + "a" is merge 1, but "a" was already taken by the same merge one place before.',
                (1, 1),
            ),
            # Before the merge is applied as well: ab, cd, b + cd, which is taken, and b + bcd.
            (
                [[97, 98], [99, 100], [98, 257], [98, 258]],
                "abcd",
                (1, 4),
                (1, 2, 3),
                '"b" + "cd" is merge 3, but "b" was already taken by merge 1: "a" + "b".',
                (3, 1),
            ),
            # Where only its last part is lost: cd, ab, and ab + c, of which neither part stands after cd.
            ([[99, 100], [97, 98], [257, 99]], "abcd", (0, 3), (1,), None, (3, 1)),
        ],
    )
    def test_a_merge_came_too_late(self, pairs, text, span, applied, sentence, numbers):
        tokenizer = Tokenizer(np.array(pairs, np.int32))
        for merges in applied:
            why = self.answer(text, *span, merges, tokenizer)
            assert why.kind == "late"
            assert numbers in (None, (why.merge, why.taken_by))
            assert sentence in (None, why.sentence)

    def test_special_tokens(self):
        tokenizer = trained(special_tokens=["<end>"])
        why = self.answer("the<end>", 1, 8, tokenizer=tokenizer, allowed_special="all")
        assert why.sentence == '"<end>" is a special token: no merge joins it to other text or splits it.'
        assert self.answer("the<end>", 3, 8, tokenizer=tokenizer, allowed_special="all").kind == "one"
        plain = self.answer("the<end>", 3, 8, tokenizer=tokenizer)
        assert (plain.kind, plain.sentence) == ("special", '"<end>" is a special token, but here it is plain text.')

    def test_whole_words(self):
        tokenizer = words_as_they_are()
        assert self.answer("a the", 1, 5, tokenizer=tokenizer).kind == "one"
        within = self.answer("a the", 2, 5, tokenizer=tokenizer)
        assert (within.kind, within.sentence) == (
            "whole word",
            '"·the" is one token as a whole word: nothing in it is merged.',
        )
        only = self.answer("a then", 1, 5, tokenizer=tokenizer)
        assert (only.kind, only.sentence) == ("whole word", '"·the" is a token only where it is a whole pre-token.')
        never = self.answer("xyz", 0, 3, tokenizer=tokenizer)
        assert (never.kind, never.sentence) == (
            "unreachable",
            '"xyz" is in the vocabulary, but no merge makes it.',
        )

    def test_an_unknown_character(self):
        tokenizer = trained("abab", 4, base="characters", base_vocabulary=["a", "b", "<u>"], unknown_token="<u>")
        expected = '"é" is not in the vocabulary: it became the unknown token, which no merge joins.'
        for start, stop in ((0, 3), (1, 3)):
            why = self.answer("aéb", start, stop, tokenizer=tokenizer)
            assert (why.kind, why.sentence) == ("unknown", expected)

    @pytest.mark.parametrize(("start", "stop"), [(-1, 2), (0, 4), (2, 2)])
    def test_a_span_outside_the_text_is_refused(self, start, stop):
        with pytest.raises(ConfigError, match=f"There is no text from byte {start} to {stop}"):
            self.answer("low", start, stop)


@given(tokenizers(), st.data())
def test_tokens_are_found_by_their_bytes(tokenizer, data):
    tokens = list(tokenizer.tokens)
    raw = data.draw(st.one_of(st.sampled_from(tokens), st.binary(max_size=3)))
    assert tokenizer.tokens.spelling(raw) == [token for token, spelt in enumerate(tokens) if spelt == raw]
    earlier = tokenizer.at(len(tokenizer.merges) // 2)
    assert earlier.tokens.spelling(raw) == [token for token in tokenizer.tokens.spelling(raw) if token < len(earlier)]


# --- An encoding in rounds, compared with the slow loop and with encoding by fewer merges -----------------------------


def ids_of(rounds, number):
    return rounds.state(number).ids.tolist()


@given(tokenizers(), runs_of_ab)
def test_each_round_equals_one_pass_of_the_slow_loop(tokenizer, text):
    rounds = Rounds(stepped(tokenizer, text))
    slow, number = list(text), 1
    assert ids_of(rounds, 0) == [-1] * bool(text)
    assert ids_of(rounds, 1) == slow
    for merge, pair in enumerate(tokenizer.merges.tolist(), 1):
        before, slow = slow, replace(slow, *pair, 255 + merge)
        if slow == before:
            continue
        number += 1
        made = rounds.round(number)
        assert (made.kind, made.merge, [made.left, made.right], made.token) == ("merge", merge, pair, 255 + merge)
        assert ids_of(rounds, number) == slow
        assert len(made.starts) == len(before) - len(slow)
        state = rounds.state(number)
        assert [state.starts[i] for i in range(len(state)) if state.ids[i] == made.token] == made.starts.tolist()
    assert len(rounds) == number + 1


def assert_same(one, other):
    assert (one.data, one.merges, len(one)) == (other.data, other.merges, len(other))
    for name in vars(one.pieces):
        assert np.array_equal(getattr(one.pieces, name), getattr(other.pieces, name)), name


def test_a_whole_word_is_kept_until_its_merge_is_applied():
    # "ab" is one token as it is, once merge 2 has made that token of other parts.
    merges = np.array([[98, 97], [97, 98]], np.int32)
    tokenizer = Tokenizer(merges, pattern="whitespace", whole_words=[257])
    steps = stepped(tokenizer, "ab")
    assert len(steps) == 2
    for merges in range(3):
        assert_same(steps.at(merges), stepped(tokenizer, "ab", merges))
    words = stepped(words_as_they_are(), "a the then")
    assert_same(words.at(0), stepped(words_as_they_are(), "a the then", 0))


def test_the_first_round_has_special_tokens_and_an_unknown_one_is_refused():
    assert len(Rounds(stepped(trained(), ""))) == len(Rounds(stepped(trained(), "XYZ"))) == 2
    assert ids_of(Rounds(stepped(trained(), "XYZ")), 1) == list(b"XYZ")
    special = trained(special_tokens=["<end>"])
    rounds, end = Rounds(stepped(special, "sea<end>shells", allowed_special="all")), special.special_tokens["<end>"]
    assert all(end in ids_of(rounds, number) for number in range(len(rounds)))
    assert ids_of(rounds, 0) == [-1, end, -1]
    rounds = Rounds(stepped(trained(), "the"))
    for call in (rounds.state, rounds.round):
        with pytest.raises(ConfigError, match="There is no state 90"):
            call(90)
    with pytest.raises(ConfigError, match="No steps are known"):
        rounds.steps.at(10_000)
