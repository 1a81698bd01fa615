"""Shares from merges: known mixtures, what cannot be asked, and what is said of the result."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import numpy as np
import pytest

from tokstudio import (
    ConfigError,
    Corpus,
    ParityAware,
    Picky,
    SuperBPE,
    Tokenizer,
    TrainingConfig,
    WholeCharacters,
    add_specials,
    extend,
    infer_mixture,
    prune,
    train,
)
from tokstudio.core.analysis.infer_mixture.inference import InferredMixture, infer_mixture_work
from tokstudio.core.base.resources import resource

CONFIG = TrainingConfig(vocabulary_size=256 + 300, pattern="gpt2")


def language(letters: str, seed: int, size: int = 40_000) -> str:
    """Lines of words of their own, of which few are frequent."""
    chosen = np.random.default_rng(seed)
    words = ["".join(chosen.choice(list(letters), chosen.integers(2, 8))) for _ in range(400)]
    odds = 1 / np.arange(1, len(words) + 1)
    drawn = chosen.choice(words, size // 5, p=odds / odds.sum())
    return "\n".join(" ".join(drawn[at : at + 9]) for at in range(0, len(drawn), 9))[:size]


LANGUAGES = {
    "one": language("abcdefgh", 1),
    "two": language("ghijklmnop", 2),
    "three": language("dthansrei", 3),
    "four": language("абвгдеж", 4),
}
TRUE = np.array([0.5, 0.3, 0.15, 0.05])


def mixed(texts, shares) -> Corpus:
    """Texts with weights that give them such shares of the bytes."""
    sources = tuple(source for text in texts for source in Corpus.from_text(text).sources)
    return Corpus(sources).with_weights({at: 1e5 * share / sources[at].bytes for at, share in enumerate(shares)})


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """One that was trained on `LANGUAGES` in the shares `TRUE`."""
    return train(mixed(LANGUAGES.values(), TRUE), CONFIG)


@pytest.fixture(scope="module")
def plain(tokenizer) -> InferredMixture:
    """What is found of it."""
    return infer_mixture(tokenizer, LANGUAGES)


def without_intervals(tokenizer, candidates) -> InferredMixture:
    """The same in a tenth of the time."""
    return infer_mixture(tokenizer, candidates, intervals=False)


def test_a_known_mixture_is_found_within_a_point_and_within_its_intervals(plain):
    found = plain
    assert [share.name for share in found.shares] == [*LANGUAGES]
    for share, true in zip(found.shares, TRUE, strict=True):
        assert share.share == pytest.approx(true, abs=0.01)
        assert share.low is not None
        assert share.high is not None
        assert share.low <= share.share <= share.high
        assert share.low - 0.005 <= true <= share.high + 0.005
        assert share.bytes == len(LANGUAGES[share.name].encode())
    assert sum(share.share for share in found.shares) == pytest.approx(1)
    assert (found.merges, found.unknown, found.passed_over) == (300, (), 0)
    assert found.misfit < 0.001
    assert not any("unlike" in caution for caution in found.cautions)


def test_other_texts_of_the_same_languages_serve_as_well(tokenizer):
    halves = {name: text.splitlines(keepends=True) for name, text in LANGUAGES.items()}
    trained = train(mixed(["".join(lines[::2]) for lines in halves.values()], TRUE), CONFIG)
    found = without_intervals(trained, {name: "".join(lines[1::2]) for name, lines in halves.items()})
    assert [share.share for share in found.shares] == pytest.approx(TRUE, abs=0.04)


def test_sample_texts_are_found():
    names = "how-tokenizers-work.txt", "story/rus_Cyrl.txt", "story/jpn_Jpan.txt"
    texts = [(resource("corpora") / name).read_text("utf-8") for name in names]
    shares = 0.2, 0.5, 0.3
    found = without_intervals(train(mixed(texts, shares), CONFIG), dict(zip("abc", texts, strict=True)))
    assert [share.share for share in found.shares] == pytest.approx(shares, abs=0.03)
    assert any('"a", "b", "c" have less than 100.0 kB' in caution for caution in found.cautions)


def test_any_number_of_threads_gives_the_same(tokenizer, plain):
    assert infer_mixture(tokenizer, LANGUAGES, threads=4) == plain
    without = infer_mixture(tokenizer, LANGUAGES, threads=1, intervals=False)
    assert [share.share for share in without.shares] == [share.share for share in plain.shares]
    assert {share.low for share in without.shares} == {None}


def test_base_tokens_may_be_characters_and_text_unsplit(tokenizer):
    config = TrainingConfig(vocabulary_size=420, base="characters", pattern="none")
    found = without_intervals(train(mixed(LANGUAGES.values(), TRUE), config), {**LANGUAGES, "other": "чц яю\n" * 50})
    assert [share.share for share in found.shares] == pytest.approx([*TRUE, 0], abs=0.015)


def test_special_tokens_and_bytes_that_are_no_text_are_told(tokenizer, plain):
    config = TrainingConfig(vocabulary_size=557, pattern="gpt2", special_tokens=["<s>"])
    marked = {name: text.replace("\n", "\n<s>") for name, text in LANGUAGES.items()}
    with_specials = without_intervals(train(mixed(LANGUAGES.values(), TRUE), config), marked)
    assert [share.bytes for share in with_specials.shares] == [share.bytes for share in plain.shares]
    expected = pytest.approx([share.share for share in plain.shares], abs=0.01)
    assert [share.share for share in with_specials.shares] == expected
    found = without_intervals(tokenizer, {**LANGUAGES, "bytes": b"\xff\xfe\x80\n" * 100})
    assert any('"bytes" is not UTF-8' in caution for caution in found.cautions)
    assert found.shares[-1].share < 0.01


def test_merges_that_no_candidate_has_are_named(tokenizer):
    found = without_intervals(tokenizer, {name: LANGUAGES[name] for name in ("one", "two", "three")})
    assert found.unknown
    assert all(any(byte >= 0x80 for byte in tokenizer.bytes_of(token)) for token in found.unknown)
    missing = next(caution for caution in found.cautions if "missing" in caution)
    assert f"no candidate has {len(found.unknown)} of 300 merges" in missing
    as_json = json.loads(json.dumps(found.to_plain()))
    assert as_json["shares"][0]["name"] == "one"
    assert len(as_json["unknown"]) == len(found.unknown)


def test_candidates_that_are_unlike_the_training_text_are_told(tokenizer):
    others = {"five": language("abcdefgh", 5), "six": language("ghijklmnop", 6)}
    found = without_intervals(tokenizer, others)
    assert found.misfit > 0.1
    assert any("unlike the training text" in caution for caution in found.cautions)


def test_candidates_in_one_piece_have_no_intervals(tokenizer):
    found = infer_mixture(tokenizer, {**LANGUAGES, "line": LANGUAGES["one"].replace("\n", " ")[:900]})
    assert {share.high for share in found.shares} == {None}
    assert any('"line" cannot be divided into 10 parts' in caution for caution in found.cautions)


def test_entries_of_a_corpus_are_candidates_without_their_weights(tokenizer):
    corpus = mixed(LANGUAGES.values(), [0.25] * 4)
    found = without_intervals(tokenizer, corpus)
    assert [share.name for share in found.shares] == ["Pasted text", *(f"Pasted text ({n})" for n in (2, 3, 4))]
    assert [share.share for share in found.shares] == pytest.approx(TRUE, abs=0.01)


def test_thirty_candidates_of_ten_kilobytes():
    texts = {str(n): language("abcdefghijklmnopqrst"[n % 12 : n % 12 + 7], n, 10_000) for n in range(30)}
    corpus = mixed([texts["5"], texts["23"]], (0.6, 0.4))
    found = without_intervals(train(corpus, CONFIG), texts)
    assert [share.share for share in found.shares if share.name in ("5", "23")] == pytest.approx([0.6, 0.4], abs=0.02)


def refusal(tokenizer: Tokenizer, candidates, **more) -> str:
    with pytest.raises(ConfigError) as error:
        infer_mixture(tokenizer, candidates, **more)
    return str(error.value)


def test_candidates_that_cannot_be_compared_are_refused(tokenizer):
    one, two = LANGUAGES["one"], LANGUAGES["two"]
    assert "none was given" in refusal(tokenizer, {})
    assert "one alone would have 100%" in refusal(tokenizer, {"one": one})
    assert '"two" is empty' in refusal(tokenizer, {"one": one, "two": ""})
    assert '"one" and "again" have the same pairs equally often' in refusal(
        tokenizer, {"one": one, "two": two, "again": one}
    )
    assert "No candidate has any" in refusal(tokenizer, {"one": "αβγδ\n" * 20, "two": "εζηθ\n" * 20})
    assert "a whole number from 50" in refusal(tokenizer, LANGUAGES, merges=49)


def test_a_candidate_that_fits_best_as_it_has_no_merge_is_refused(tokenizer):
    few = {"five": language("abcdefgh", 5, 4_000), "lines": "x\n" * 30}
    assert 'has none of them: leave out "lines", or give more text' in refusal(tokenizer, few)


def test_tokenizers_whose_order_tells_nothing_are_refused(tokenizer):
    corpus = mixed(LANGUAGES.values(), TRUE)

    def trained(algorithm, size=556) -> Tokenizer:
        return train(corpus, TrainingConfig(vocabulary_size=size, pattern="gpt2", algorithm=algorithm))

    assert "counts, and this tokenizer has 49" in refusal(tokenizer.at(49), LANGUAGES)
    assert "this tokenizer has 0" in refusal(tokenizer.at(0), LANGUAGES)
    assert "Parity-aware BPE merges other pairs" in refusal(parity := trained(ParityAware()), LANGUAGES)
    assert "Parity-aware BPE merges" in refusal(add_specials(parity, ["<s>"]), LANGUAGES)
    further = extend(whole := trained(WholeCharacters()), corpus, TrainingConfig(vocabulary_size=600, pattern="gpt2"))
    assert "BPE of whole characters merges" in refusal(further.at(100), LANGUAGES)
    assert without_intervals(add_specials(tokenizer, ["<s>"]), LANGUAGES).merges == 300
    assert "BPE of whole characters merges other pairs" in refusal(whole, LANGUAGES)
    assert "Picky BPE" in refusal(train(corpus, TrainingConfig(vocabulary_size=400, algorithm=Picky())), LANGUAGES)
    assert "this tokenizer has 30" in refusal(trained(SuperBPE(transition=286)), LANGUAGES)
    assert "were removed" in refusal(prune(tokenizer, tokens=[300]).tokenizer, LANGUAGES)
    assert "no merges" in refusal(object(), LANGUAGES)  # pyright: ignore[reportArgumentType]


def test_only_the_first_merges_of_an_extended_tokenizer_count(tokenizer, plain):
    longer = extend(tokenizer, Corpus.from_text(LANGUAGES["four"]), TrainingConfig(vocabulary_size=600, pattern="gpt2"))
    assert infer_mixture(longer, LANGUAGES) == plain
    first = extend(tokenizer.at(100), Corpus.from_text(LANGUAGES["four"]), CONFIG)
    assert without_intervals(first, LANGUAGES).merges == 100


def test_of_merges_that_make_one_token_only_the_needed_one_counts(tokenizer, plain):
    rows, made = list[tuple[int, int, int]](), {bytes([byte]): byte for byte in range(256)}
    for (left, right), result in zip(tokenizer.merges.tolist(), tokenizer.merge_results.tolist(), strict=True):
        token = tokenizer.bytes_of(result)
        pairs = [(made.get(token[:at]), made.get(token[at:])) for at in range(1, len(token))]
        rows += [(*pair, result) for pair in pairs if None not in pair and pair != (left, right)]
        rows.append((left, right, result))
        made[token] = result
    table = np.array(rows, np.int32)
    assert len(table) > len(tokenizer.merges)
    listed = Tokenizer(table[:, :2].copy(), table[:, 2].copy(), pattern="gpt2", checked=True)
    found = without_intervals(listed, LANGUAGES)
    assert [share.share for share in found.shares] == [share.share for share in plain.shares]
    assert (found.merges, found.passed_over) == (300, len(table) - 300)


def test_merges_of_later_tokens_are_applied_but_tell_nothing(tokenizer):
    merges = tokenizer.merges.tolist()
    # The last merge that joins a merged token comes first, as tokens of a vocabulary may be ranked.
    late = max(at for at, pair in enumerate(merges) if max(pair) >= 256)
    order = [late, *(at for at in range(len(merges)) if at != late)]
    moved = Tokenizer(tokenizer.merges[order], tokenizer.merge_results[order], pattern="gpt2", checked=True)
    found = without_intervals(moved, LANGUAGES)
    assert (found.merges, found.passed_over) == (299, 1)
    assert [share.share for share in found.shares] == pytest.approx(TRUE, abs=0.01)


def test_it_can_be_ended_between_any_two_of_its_steps(tokenizer):
    texts = {name: text[:8_000] for name, text in LANGUAGES.items()}
    phases = dict.fromkeys(progress.phase for progress in infer_mixture_work(tokenizer, texts))
    assert {"solving", "leaving tenths out"} <= phases.keys()
    for phase in phases:
        work = infer_mixture_work(tokenizer, texts, threads=2)
        assert any(progress.phase == phase for progress in work)
        work.close()
