"""Intervals of figures beside a plain loop, closed cases, and the tokens of each line."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest

from tests.core.formats.without_merges import word_piece
from tokstudio import (
    ByteTokenizer,
    CharacterTokenizer,
    Comparison,
    ConfigError,
    Corpus,
    Tokenizer,
    compare,
    load,
    train,
)
from tokstudio.core.analysis.baselines import AnyTokenizer
from tokstudio.core.base.progress import finish
from tokstudio.core.comparison import intervals
from tokstudio.core.comparison.intervals import INTERVALS, NOT_DRAWN, line_counts_work, line_ends_work
from tokstudio.core.comparison.texts import text_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.pretokenization.preparation import Preparation

ENGLISH = [f"the cat sat on the mat {'again ' * (number % 5)}{number}" for number in range(14)]
GERMAN = [f"die Katze saß {'wieder ' * (number % 3)}auf der Matte {number}" for number in range(14)]


def own(pattern: str = "gpt2", base: str = "bytes", text: str = "\n".join(ENGLISH), size: int = 300) -> Tokenizer:
    return train(Corpus.from_text(text), TrainingConfig(vocabulary_size=size, pattern=pattern, base=base))


@pytest.fixture(scope="module")
def parallel() -> Comparison:
    return compare({"own": own(), "bytes": ByteTokenizer()}, {"eng": ENGLISH, "deu": GERMAN}, base="eng")


def plain_gini(values: list[float]) -> float:
    mean = sum(values) / len(values)
    return sum(abs(a - b) for a in values for b in values) / (2 * len(values) ** 2 * mean)


def plain_ends(values: list[float], level: float) -> list[float]:
    """The percentiles, by linear interpolation between the two nearest values."""
    values, ends = sorted(values), list[float]()
    for share in ((1 - level) / 2, (1 + level) / 2):
        place = share * (len(values) - 1)
        low, high = values[math.floor(place)], values[math.ceil(place)]
        ends.append(low + (high - low) * (place - math.floor(place)))
    return ends


def test_intervals_are_those_of_a_plain_loop(parallel: Comparison) -> None:
    tokenizers, texts = {"own": own(), "bytes": ByteTokenizer()}, {"eng": ENGLISH, "deu": GERMAN}
    draw, lines = np.random.Generator(np.random.PCG64(7)), len(ENGLISH)
    found = {name: {} for name in INTERVALS}
    for _ in range(200):
        drawn = [int(draw.integers(0, lines)) for _ in range(lines)]
        for column, tokenizer in enumerate(tokenizers.values()):
            n = {name: sum(len(tokenizer.encode(text[line])) for line in drawn) for name, text in texts.items()}
            for row, (name, text) in enumerate(texts.items()):
                size = sum(len(text[line].encode()) for line in drawn)
                for figure, value in (
                    ("bytes_per_token", size / n[name]),
                    ("tokens_per_line", n[name] / lines),
                    ("premium", n[name] / n["eng"]),
                ):
                    found[figure].setdefault((row, column), []).append(value)
            found["gini"].setdefault((column,), []).append(plain_gini([each / lines for each in n.values()]))
    for figure, values in found.items():
        ends = parallel.intervals(figure, level=0.9, resamples=200, seed=7)
        assert ends.shape == ((2, 2) if figure == "gini" else (2, 2, 2))
        for key, each in values.items():
            assert ends[key] == pytest.approx(plain_ends(each, 0.9), rel=1e-12), (figure, key)


def test_a_figure_is_inside_its_interval_which_grows_with_the_level(parallel: Comparison) -> None:
    for name in INTERVALS:
        figure = parallel.summary(name) if name == "gini" else parallel.figure(name)
        wide, narrow = parallel.intervals(name, 0.99), parallel.intervals(name, 0.5)
        ends = np.stack([wide[..., 0], narrow[..., 0], narrow[..., 1], wide[..., 1]])
        assert (np.diff(ends, axis=0) >= 0).all(), name
        assert (wide[..., 0] <= figure).all(), name
        assert (figure <= wide[..., 1]).all(), name
    assert parallel.intervals("premium")[0].tolist() == [[1, 1]] * 2, "the base beside itself"
    assert (np.diff(parallel.intervals("premium")[1]) > 0).all()


def test_equal_lines_have_intervals_without_width() -> None:
    made = compare({"own": own(), "bytes": ByteTokenizer()}, {"a": ["the cat"] * 12, "b": ["die Katze"] * 12}, base="a")
    for name in INTERVALS:
        figure = made.summary(name) if name == "gini" else made.figure(name)
        assert np.allclose(made.intervals(name), np.stack([figure, figure], axis=-1), rtol=1e-15), name


def test_the_same_intervals_for_any_threads_pieces_and_other_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizers = {"own": own(), "bytes": ByteTokenizer()}

    def made(threads: int, *names: str) -> Comparison:
        texts = {"eng": ENGLISH, "deu": GERMAN, "more": ENGLISH * 3}
        comparison = compare(tokenizers, {name: texts[name] for name in names}, base=names[0])
        finish(comparison.lines_work(threads))
        return comparison

    whole = made(2, "eng", "deu", "more").intervals("bytes_per_token")
    monkeypatch.setattr(intervals, "PIECE", 100)
    monkeypatch.setattr(intervals, "COLUMNS", 20)
    assert made(1, "eng", "deu").intervals("bytes_per_token").tolist() == whole[:2].tolist()
    assert made(3, "more").intervals("bytes_per_token").tolist() == whole[2:].tolist()


def test_the_intervals_of_a_seed_are_the_same_on_each_machine(parallel: Comparison) -> None:
    assert parallel.intervals("bytes_per_token")[:, 1].tolist() == [[1, 1], [1, 1]]
    line = [f"{'a' * (number + 1)}" for number in range(12)]
    made = compare({"bytes": ByteTokenizer()}, {"a": line}).intervals("tokens_per_line")
    assert made.tolist() == [[[4.666666666666667, 8.416666666666666]]]


def test_few_lines_and_what_has_no_figure_have_no_interval_and_the_note_says_why() -> None:
    texts = {"eng": ENGLISH[:9], "deu": GERMAN[:9], "book": "\n".join(ENGLISH)}
    made = compare({"own": own(), "latin": own(base="characters", size=60)}, texts, base="eng")
    ends = made.intervals("bytes_per_token")
    assert np.isnan(ends[:2]).all()
    assert not np.isnan(ends[2]).any()
    assert np.isnan(made.intervals("premium")).all()
    assert np.isnan(made.intervals("gini")).all()
    notes = made.table("bytes_per_token", 0.95).notes
    few = "No interval where a text has fewer than 10 lines: eng has 9 lines, deu has 9 lines."
    assert notes[-2:] == (few, NOT_DRAWN)
    failing = compare({"latin": own(base="characters", size=60), "bytes": ByteTokenizer()}, {"deu": GERMAN})
    assert np.isnan(failing.intervals("tokens_per_line")).tolist() == [[[True, True], [False, False]]]
    mostly_empty = compare({"bytes": ByteTokenizer()}, {"a": ["a", *[""] * 9]})
    assert np.isnan(mostly_empty.intervals("bytes_per_token")).all(), "some resamples have no tokens"
    assert mostly_empty.intervals("tokens_per_line")[0, 0, 0] == 0


@pytest.mark.parametrize(
    ("tokenizer", "text"),
    [
        (own(), "".join(f"{line}\n" for line in ENGLISH)),
        (own("none", text="ab\n\nab\n\nab\n\n" * 9), "ab\n\nab\nab\n\n\n"),  # tokens over line ends
        (own().changed(preparation=Preparation(prefix_space=True)), "\n\nthe cat\r\nsat"),
        (own(base="characters", text="ab\n" * 5, size=6), "ab\nab"),
        (ByteTokenizer(), "é\n\nx"),
        (CharacterTokenizer(), "é\n\nx"),
        (own(), ""),
    ],
)  # fmt: skip
def test_a_line_has_the_tokens_that_end_in_it(tokenizer: AnyTokenizer, text: str) -> None:
    for documents in ([text], [text, "", text]):
        measured = finish(text_work("a", Source.from_texts(documents)))
        whole = [line for document in documents for line in document.splitlines(keepends=True)]
        counts = finish(line_counts_work(tokenizer, measured))
        assert counts.sum() == sum(len(tokenizer.encode(document)) for document in documents)
        assert np.diff(finish(line_ends_work(measured)), prepend=0).tolist() == [len(line.encode()) for line in whole]
        assert len(counts) == len(whole) == measured.lines
    if isinstance(tokenizer, Tokenizer) and text:
        _, ends = finish(tokenizer.encode_with_ends_work(text))
        lines = [text.encode()[: max(0, end - 1)].count(b"\n") for end in ends.tolist()]
        assert counts[: len(counts) // 2].tolist() == [lines.count(line) for line in range(len(counts) // 2)]


def test_lines_of_a_library_are_counted_too(tmp_path: Path) -> None:
    word_piece(["the cat sat", "a cat"], 40).save(str(tmp_path / "tokenizer.json"))
    tokenizer = load(tmp_path / "tokenizer.json")
    lines = ["the cat sat"] * 6 + ["a cat", "the the"] * 3
    made = compare({"library": tokenizer}, {"lines": lines, "book": "\n".join(lines)})
    per_line = [len(tokenizer.encode(line)) for line in lines]
    for text in (0, 1):
        counts = finish(line_counts_work(tokenizer, made.measured[text]))
        assert counts.tolist() == per_line
    ends = made.intervals("tokens_per_line")
    assert ends[0].tolist() == ends[1].tolist()
    assert ends[0, 0, 0] < made.figure("tokens_per_line")[0, 0] < ends[0, 0, 1]


def test_lines_are_drawn_in_whatever_documents_they_are() -> None:
    lines = [f"{'a' * (3 * number + 1)}\n" for number in range(12)]
    pairs = [text for first in range(0, 12, 2) for text in ("".join(lines[first : first + 2]), "")]
    texts = {"one": "".join(lines), "each": Source.from_texts(lines), "as many": Source.from_texts(pairs)}
    made = compare({"own": own(), "bytes": ByteTokenizer()}, texts, base="one")
    assert made.measured[2].lines == made.measured[2].source.documents == 12
    for name in ("bytes_per_token", "tokens_per_line"):
        ends = made.intervals(name)
        assert ends[2].tolist() == ends[1].tolist() == ends[0].tolist(), name
    assert made.intervals("premium").tolist() == [[[1, 1]] * 2] * 3
    assert made.intervals("gini").tolist() == [[0, 0]] * 2
    counts = finish(line_counts_work(ByteTokenizer(), made.measured[2]))
    assert counts.tolist() == [len(line) for line in lines]


def test_every_form_has_the_intervals(parallel: Comparison) -> None:
    low, high = parallel.intervals("premium")[1, 0]
    value = parallel.figure("premium")[1, 0]
    cell, note = (
        f"{value:.2f} [{low:.2f}, {high:.2f}]",
        "95\u00a0% intervals by the bootstrap over lines, 1,000 resamples, seed 0",
    )
    markdown = parallel.to_markdown(["premium", "tokens"], 0.95)
    assert f"| deu | {cell} |" in markdown.replace("**", "")
    assert markdown.count("[") == 2 * 2 + 2, "texts and Gini, not the worst premium or tokens"
    assert f"{note}." in markdown
    assert f"deu & {cell} &" in parallel.to_latex(["premium"], 0.95).replace("\\textbf{", "").replace("}", "")
    rows = list(csv.reader(io.StringIO(parallel.to_csv(figures=["premium", "tokens"], level=0.95))))
    assert rows[0] == next(csv.reader(io.StringIO(parallel.to_csv(figures=["premium"])))), "the same columns"
    of_premium = [row for row in rows if row[0] == "premium"]
    assert [row[1] for row in of_premium] == ["eng", "deu", "Worst premium", "Gini of tokens per line"]
    by_name = {tuple(row[:2]): row[3:] for row in rows}
    assert float(by_name["premium_low", "deu"][0]) == low
    assert float(by_name["premium_high", "deu"][0]) == high
    gini = parallel.intervals("gini")
    assert [float(each) for each in by_name["premium_high", "Gini of tokens per line"]] == gini[:, 1].tolist()
    assert rows[-1][:2] == ["intervals", note]
    told = json.loads(parallel.to_json(["premium", "tokens"], 0.95))["intervals"]
    assert (told["level"], told["resamples"], told["seed"]) == (0.95, 1000, 0)
    assert told["figures"] == {"premium": parallel.intervals("premium").tolist(), "gini": gini.tolist()}
    assert "intervals" not in json.loads(parallel.to_json(["premium"]))
    assert "[" not in parallel.to_markdown(["premium"])


def test_what_cannot_be_resampled_is_said(parallel: Comparison) -> None:
    with pytest.raises(ConfigError, match='"fertility" has no intervals: choose one of bytes_per_token'):
        parallel.intervals("fertility")
    for wrong in ({"level": 1.0}, {"level": 0}, {"resamples": 99}, {"resamples": 10**6}, {"seed": -1}):
        with pytest.raises(ConfigError, match="interval"):
            parallel.intervals("premium", **wrong)
    with pytest.raises(ConfigError, match="needs a base"):
        compare({"bytes": ByteTokenizer()}, {"a": ENGLISH}).intervals("premium")
