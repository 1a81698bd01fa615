"""The report of a comparison: what stands in it, and that names, tokens and texts cannot become markup."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import hashlib
import re
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.core.html_tags import tags_of
from tokstudio import (
    ByteTokenizer,
    Comparison,
    Corpus,
    Tokenizer,
    WordTokenizer,
    __version__,
    compare,
    explore,
    save,
    train,
)
from tokstudio.core.base.progress import finish
from tokstudio.core.base.wording import percent_text
from tokstudio.core.comparison.intervals import INTERVALS, NOT_DRAWN, OF_GREATEST
from tokstudio.core.comparison.report.curves import SizeCurve, drawing
from tokstudio.core.comparison.report.markup import SHADES, STYLE, escaped, shade, tag
from tokstudio.core.comparison.report.report import origin_work, report_work
from tokstudio.core.formats.loading import load_work
from tokstudio.core.model.config import TrainingConfig

LINES = {"eng": ["the cat sat on the mat", "a cat sat"], "עברית": ["החתול ישב", "חתול"]}
EVIL = "<script>alert(1)</script>\"'&\x1b]0;\u202e\x00\ufffe\ud800<b>"


def trained(size: int = 266, **settings: object) -> Tokenizer:
    config = TrainingConfig(vocabulary_size=size, pattern="gpt2", **settings)  # pyright: ignore[reportArgumentType]
    return train(Corpus.from_texts(LINES["eng"] * 3), config)


def parsed(made: str) -> ElementTree.Element:
    return ElementTree.fromstring(made.removeprefix("<!DOCTYPE html>\n"))


def text_of(element: ElementTree.Element) -> str:
    return "".join(element.itertext())


def section(page: ElementTree.Element, title: str) -> ElementTree.Element:
    """The innermost section with this heading."""
    found = [one for one in page.iter("section") if any(text_of(head) == title for head in one if head.tag in "h2h3")]
    return found[-1]


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    tokenizers = {"small": trained(260), "large": trained(), "bytes": ByteTokenizer()}
    return compare(tokenizers, LINES, base="eng")


@pytest.fixture(scope="module")
def page(comparison: Comparison) -> ElementTree.Element:
    return parsed(finish(report_work(comparison, written_at=datetime(2026, 5, 4, 3, 2, tzinfo=UTC))))


def test_each_figure_stands_there_with_its_formula_its_source_and_its_numbers(
    page: ElementTree.Element, comparison: Comparison
) -> None:
    for name in comparison.known_figures():
        table = comparison.table(name)
        here = section(page, table.figure.title)
        told = text_of(here)
        for said in (table.formula, table.figure.unit, table.figure.note, table.figure.source):
            assert said in told
        shown = [[text_of(cell) for cell in row.iter("td")][-3:] for row in here.iter("tr")][1:3]
        assert shown == [[table.cell(text, column) for column in range(3)] for text in range(2)]
        bold = [[cell.find("b") is not None for cell in row.iter("td")][-3:] for row in here.iter("tr")][1:3]
        assert bold == table.best.tolist()


def test_figures_have_their_intervals_where_they_are_asked_for_and_what_has_none_says_why() -> None:
    lines = {name: [f"{text} {'cat ' * (number % 5)}" for number in range(12)] for name, (text, _) in LINES.items()}
    many = compare({"small": trained(260), "bytes": ByteTokenizer()}, lines, base="eng")
    page, without = (parsed(finish(report_work(many, level=level))) for level in (0.95, None))
    for name in many.known_figures():
        table = many.table(name, 0.95)
        here, title = section(page, table.figure.title), table.figure.title
        rows = [[text_of(cell) for cell in row.iter("td")][-2:] for row in here.iter("tr")][1:]
        expected = [[f"{table.cell(i, j)} {table.interval(i, j)}".rstrip() for j in range(2)] for i in range(2)]
        assert rows[:2] == expected
        below = dict(zip([text_of(row.find("th")) for row in here.iter("tr")][3:], rows[2:], strict=True))  # pyright: ignore
        assert ("[" in "".join(rows[0])) is (name in INTERVALS)
        assert (NOT_DRAWN in text_of(here)) is (name in INTERVALS and "All texts" in below)
        assert (OF_GREATEST in text_of(here)) is (name == "premium")
        assert not any("[" in cell for row in ("All texts", "Worst premium") for cell in below.get(row, ()))
        if name == "premium":
            ends = [
                [float(end) for end in re.findall(r"[\d.]+", cell)[1:]] for cell in below["Gini of tokens per line"]
            ]
            assert np.allclose(ends, many.intervals("gini"), atol=5e-4)
        assert "resamples" not in text_of(section(without, title))


def test_each_tokenizer_has_its_settings_and_tokens(page: ElementTree.Element, comparison: Comparison) -> None:
    told = text_of(section(page, "Tokenizer large"))
    assert '266 tokens: 256 bytes, 10 merges.Pattern: "gpt2".' in told
    uses = np.zeros(266, np.int64)
    for text in range(2):
        counts = comparison.result(text, 1).counts  # pyright: ignore
        uses[counts.ids] += counts.counts
    assert f"Unused tokens: {np.count_nonzero(uses == 0):,}" in told
    hebrew = int(np.count_nonzero(uses[128:256]))
    assert f"Tokens that cut characters: 128, of which {hebrew} occur" in told
    assert '"\\xd7"' in told
    assert "No text becomes them" not in told
    assert text_of(section(page, "Tokenizer bytes")).endswith("A simple tokenizer: bytes.")


def test_what_the_vocabularies_share_is_told(page: ElementTree.Element, comparison: Comparison) -> None:
    overlap = finish(comparison.overlap_work())
    assert overlap.tokenizers == ("small", "large")
    shown = [[text_of(cell) for cell in row.iter("td")] for row in section(page, "Vocabularies").iter("tr")]
    assert [row for row in shown if row] == [
        [percent_text(value, 1) for value in row] for shares in (overlap.jaccard, overlap.shared_uses) for row in shares
    ]


def test_unreachable_tokens_are_listed_with_the_reason() -> None:
    # "bc" comes first, so no text becomes "ab" + "c".
    merges = np.array([[98, 99], [97, 98], [257, 99]], np.int32)
    made = finish(report_work(compare({"own": Tokenizer(merges)}, {"text": "abc"})))
    told = text_of(section(parsed(made), "Tokenizer own"))
    assert "Unreachable tokens: 1" in told
    assert 'Other merges join its bytes first: 1"abc"258' in told


def test_the_curve_ends_at_the_bytes_per_token_of_all_texts(page: ElementTree.Element, comparison: Comparison) -> None:
    (svg,) = page.iter("{http://www.w3.org/2000/svg}svg")
    sizes = comparison.totals("bytes_per_token")
    assert f"small: {sizes[0]:.2f} at 260 tokens; large: {sizes[1]:.2f} at 266 tokens." in svg.attrib["aria-label"]
    lines = [line.attrib["points"].split() for line in svg.iter("{http://www.w3.org/2000/svg}polyline")]
    dots = [dot.attrib for dot in svg.iter("{http://www.w3.org/2000/svg}circle")]
    assert [line[-1] for line in lines] == [f"{dot['cx']},{dot['cy']}" for dot in dots]
    assert lines[0][0] == lines[1][0]  # both begin with the bytes


def test_labels_of_equal_curves_do_not_overlap() -> None:
    curves = [SizeCurve(f"number {n}", np.array([1000.0]), np.array([4.0])) for n in range(30)]
    labels = [text for text in parsed(drawing(curves)).iter() if text.attrib.get("class") == "label"]
    heights = sorted(float(label.attrib["y"]) for label in labels)
    assert len(heights) == 30
    assert min(b - a for a, b in pairwise(heights)) >= 12


def test_files_and_texts_have_their_hashes(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    save(trained(), path)
    loaded = finish(load_work(path))
    comparison = compare({"one": loaded.tokenizer}, {"text": "the cat"})
    made = finish(report_work(comparison, {"one": finish(origin_work(loaded))}))
    assert hashlib.sha256(path.read_bytes()).hexdigest() in made
    assert "Format: Hugging Face" in made
    assert comparison.measured[0].sha256 in made


def test_versions_and_the_date_are_told(page: ElementTree.Element) -> None:
    assert f"TokStudio {__version__}, Python 3." in text_of(section(page, "Versions"))
    assert "2026-05-04 03:02 UTC" in text_of(page)


def test_the_page_loads_nothing_and_allows_no_script(comparison: Comparison) -> None:
    made = finish(report_work(comparison))
    tags = tags_of(made)
    names = {name for name, _ in tags}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "form", "base"}
    for _, attributes in tags:
        assert not attributes.keys() & {"src", "srcset", "style", "action"}
        assert not any(name.startswith("on") for name in attributes)
        assert (attributes.get("href") or "#").startswith("#")
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", made)
    (policy,) = (found["content"] for _, found in tags if found.get("http-equiv") == "Content-Security-Policy")
    style = re.search("<style>(.*)</style>", made, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def test_no_name_token_or_reason_becomes_markup() -> None:
    special = "<script>alert(2)</script>"
    own = train(Corpus.from_texts([EVIL * 3]), TrainingConfig(vocabulary_size=300, special_tokens=[special]))
    characters = train(Corpus.from_text("ab"), TrainingConfig(vocabulary_size=3, base="characters"))
    tokenizers = {EVIL: own, "characters": characters, "words": WordTokenizer.from_text("a", "[<a>]")}
    made = finish(report_work(compare(tokenizers, {EVIL: EVIL, "other" + EVIL: "ab"}, base=EVIL)))
    assert "<script" not in made
    assert "<b>]" not in made
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e\ufffe]", made)
    assert "script" not in {name for name, _ in tags_of(made)}
    assert r"\x1b]0;\u202e\x00" in text_of(parsed(made))


def test_rules_tell_what_is_in_the_texts_and_which_tokens_live_there() -> None:
    texts = [f"the cat number {number} sat on the mat" for number in range(30)] + ["zyxomma wolpertinger " * 40] * 2
    own = train(Corpus.from_texts(texts), TrainingConfig(vocabulary_size=330, pattern="gpt2"))
    made = parsed(finish(report_work(compare({"own": own, "bytes": ByteTokenizer()}, {"a": texts}))))
    shown = section(made, "What is in the texts")
    rows = {text_of(one[0]): [text_of(cell) for cell in one[1:]] for one in shown.iter("tr")}
    here = explore(Corpus.from_texts(texts), own)
    finding = next(each for each in here.findings() if each.rule == "duplicates")
    assert rows["Rule"][-1] == "Tokens of own"
    assert rows["duplicates"] == ["1", "0", "840", percent_text(840 / here.corpus.bytes, 1), str(len(finding.tokens))]
    listed = {text_of(one[0]): text_of(one[1]) for one in shown.iter("li")}
    assert listed['" wolpertinger"'] == "80 uses in 2 documents"


def test_names_do_not_turn_what_is_around_them(page: ElementTree.Element) -> None:
    isolated = [text_of(each) for each in page.iter("bdi")]
    assert isolated.count("עברית") >= 10
    outside = [each for each in page.iter() if each.tag != "bdi" and "עברית" in (each.text or "")]
    assert outside == []


def test_a_failed_cell_is_told() -> None:
    latin = train(Corpus.from_text("the cat sat on the mat "), TrainingConfig(vocabulary_size=30, base="characters"))
    made = parsed(finish(report_work(compare({"latin": latin}, {"eng": "the cat", "deu": "saß"}))))
    assert "latin, deu: " in text_of(section(made, "Overview"))
    assert not list(made.iter("{http://www.w3.org/2000/svg}svg"))  # a curve is of all texts


@pytest.mark.parametrize("texts", [{"empty": ""}, {"spaces": " \n"}])
def test_texts_without_words_make_a_page(texts: dict[str, str]) -> None:
    made = parsed(finish(report_work(compare({"own": trained(), "bytes": ByteTokenizer()}, texts))))
    assert "Report of" not in text_of(made)
    assert "Comparison of own, bytes" in text_of(made)


def test_escaping_a_text_and_its_attributes() -> None:
    assert tag("td", "a<b", class_='x"y') == '<td class="x&quot;y">a&lt;b</td>'
    assert tag("td", tag("b", "&")) == "<td><b>&amp;</b></td>"
    assert escaped("a\nb\ud800\uffff") == "a\\nb\ufffd\ufffd"


def test_the_shade_tells_how_much_worse_a_number_is() -> None:
    assert [shade(ratio) for ratio in (1, 1.04, 1.05, 2.9, float("inf"))] == ["s0", "s0", "s1", "s5", "s6"]
    assert shade(float("nan")) == ""
    assert all(f".s{number} " in STYLE for number in range(len(SHADES)))
