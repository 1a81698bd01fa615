"""Comparisons as Markdown, CSV, JSON and plain text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokstudio import (
    ByteTokenizer,
    CharacterTokenizer,
    Comparison,
    ConfigError,
    Corpus,
    FormatError,
    Tokenizer,
    compare,
    prune,
    train,
)
from tokstudio.core.analysis.token_store import hash_work
from tokstudio.core.base.progress import finish
from tokstudio.core.base.wording import printable
from tokstudio.core.comparison.figures import FIGURES
from tokstudio.core.comparison.table import SIGNS, Below, FigureTable, number_text, plain_text
from tokstudio.core.formats.report import versions
from tokstudio.core.model.config import TrainingConfig

LINES = {"eng": ["the cat sat", "a cat"], "cmn": ["猫坐", "猫"], "עברית": ["חתול ישב", "חתול"]}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare({"bytes": ByteTokenizer(), "characters": CharacterTokenizer()}, LINES, base="eng")


@pytest.fixture(scope="module")
def failing() -> Comparison:
    config = TrainingConfig(vocabulary_size=30, base="characters")
    latin = train(Corpus.from_text("the cat sat on the mat "), config)
    return compare({"latin": latin, "bytes": ByteTokenizer()}, {"eng": "the cat", "deu": "saß"})


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize("form", ["to_markdown", "to_latex", "to_json"])
def test_one_name_in_place_of_a_list_is_refused(comparison: Comparison, form: str) -> None:
    with pytest.raises(
        ConfigError, match=r'The figures are a list of names: write \["premium"\] in place of "premium"'
    ):
        getattr(comparison, form)("premium")
    with pytest.raises(ConfigError, match="a list of names"):
        comparison.to_csv(figures="tokens")


def test_markdown_has_aligned_numbers_the_best_in_bold_and_totals(comparison: Comparison) -> None:
    lines = comparison.to_markdown(["bytes_per_token"]).splitlines()
    assert lines[0] == "**Bytes per token** = B / N. Unit: bytes of UTF-8 per token"
    assert cells_of(lines[2]) == ["", "bytes (256 tokens)", "characters"]
    assert cells_of(lines[3]) == ["---", "---:", "---:"]
    assert cells_of(lines[4]) == ["eng", "1.00", "1.00"]  # none is better
    assert cells_of(lines[5]) == ["cmn", "1.00", "**3.00**"]
    size = comparison.bytes.sum() / comparison.characters.sum()
    assert cells_of(lines[7]) == ["All texts", "1.00", f"{size:.2f}"]
    assert lines[9] == FIGURES["bytes_per_token"].note


def test_what_a_word_is_stands_beside_each_figure_of_words(comparison: Comparison) -> None:
    for name in ("fertility", "words_split", "whole_words"):
        lines = comparison.to_markdown([name]).splitlines()
        assert cells_of(lines[2])[1] == "W counts"
        assert cells_of(lines[3]) == ["---", "---", "---:", "---:"]
        assert [cells_of(line)[1] for line in lines[4:7]] == ["words", "characters", "words"]
    assert "characters" not in plain_text([comparison.table("premium")]).replace("tokens)  characters", "")


def test_premiums_name_their_base_and_have_gini_and_the_worst_below(comparison: Comparison) -> None:
    lines = comparison.to_markdown(["premium"]).splitlines()
    assert "= N / N(eng). Unit: times the tokens of the base" in lines[0]
    worst, gini = (comparison.summary(name) for name in ("worst_premium", "gini"))
    below = {name: numbers for name, *numbers in map(cells_of, lines[7:9])}
    assert below["Worst premium"] == [f"{worst[0]:.2f}", f"**{worst[1]:.2f}**"]
    assert below["Gini of tokens per line"] == [f"**{gini[0]:.3f}**", f"{gini[1]:.3f}"]


def test_names_of_strangers_are_no_markup() -> None:
    made = compare({"a|b\n**c**": ByteTokenizer()}, {"<img src=x>_y_": "ab"}).to_markdown(["tokens"])
    assert "| a\\|b\\\\n\\*\\*c\\*\\* (256 tokens) |" in made
    assert "&lt;img src=x>\\_y\\_" in made
    assert all(line.count(" | ") == 1 for line in made.splitlines() if line.startswith("|"))


HOSTILE = (
    "\\input{/etc/passwd}", "100%_a&b", "[a]", "*b", "$x^2$ #1~", "a--b ?`c,,d'' `e\"", "<p>|q", "% {",
    "}\n\\end{table}", "^^5cend", "–†\u00a0é 猫 עברית \ufffe",
)  # fmt: skip
COMMANDS = {
    "textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textasciigrave": "`", "textless": "<",
    "textgreater": ">", "textbar": "|", "char34": '"', "textdagger": "†",
}  # fmt: skip


def printed(tex: str) -> str:
    """What TeX prints for a text: it may have escapes, `COMMANDS` with {} after them, and pairs of braces."""
    text, depth, place = "", 0, 0
    while place < len(tex):
        assert tex[place] not in '&%$#_^"<>|', tex
        if tex.startswith("{}", place):
            place += 2
        elif tex[place] in "{}":
            depth += 1 if tex[place] == "{" else -1
            assert depth >= 0, tex
            place += 1
        elif tex[place] == "\\" and tex[place + 1] in "&%$#_{}":
            text, place = text + tex[place + 1], place + 2
        elif tex[place] == "\\":
            name, braces, _ = tex[place + 1 :].partition("{}")
            assert braces
            text, place = text + COMMANDS[name], place + len(name) + 3
        else:
            dash = tex.startswith("--", place)
            text, place = text + ("–" if dash else "\u00a0" if tex[place] == "~" else tex[place]), place + 1 + dash
    assert depth == 0
    return text


def rows_of_latex(tex: str) -> list[list[str]]:
    """The cells of the rows of a table as TeX prints them, a bold one in asterisks; all rows have as many."""
    lines = tex.partition("\\toprule\n")[2].partition("    \\bottomrule")[0].splitlines()
    rows: list[list[str]] = []
    for line in lines:
        if line.strip() != "\\midrule":
            assert line.endswith(" \\\\")
            assert not line.strip().startswith(("[", "*")), "TeX would read an argument of the row before"
            cells = [cell.strip() for cell in re.split(r"(?<!\\)&", line.removesuffix(" \\\\"))]
            bold = [cell.removeprefix("\\textbf{").removesuffix("}") for cell in cells]
            rows.append([
                f"**{printed(inner)}**" if cell.startswith("\\textbf") else printed(cell)
                for cell, inner in zip(cells, bold, strict=True)
            ])  # fmt: skip
    assert len(set(map(len, rows))) == 1
    columns = tex.partition("\\begin{tabular}{")[2].partition("}")[0]
    assert len(columns) == len(rows[0])
    return rows


def test_latex_has_the_cells_of_markdown_and_prints_any_name_as_it_is() -> None:
    own = train(Corpus.from_text("ab é ab"), TrainingConfig(vocabulary_size=258))
    tokenizers = {name: own.at(number % 3) for number, name in enumerate(HOSTILE)}
    made = compare(tokenizers, {name: ["ab é"] * 3 for name in HOSTILE} | {"empty": "ab é"}, base=HOSTILE[0])
    for figure in ("premium", "fertility", "words_split"):
        tex = made.to_latex([figure])
        head, *rows = rows_of_latex(tex)
        as_said = [printable(f"{each.name} ({len(each.tokenizer)} tokens)") for each in made.compared]
        as_said = [name.replace("\ufffe", "\ufffd") for name in as_said]
        assert head[-len(HOSTILE) :] == as_said
        assert [row[0] for row in rows[: len(HOSTILE)]] == [
            printable(name).replace("\ufffe", "\ufffd") for name in HOSTILE
        ]
        in_markdown = [line for line in made.to_markdown([figure]).splitlines() if line.startswith("| ")][2:]
        assert [row[-len(HOSTILE) :] for row in rows] == [cells_of(line)[-len(HOSTILE) :] for line in in_markdown]
        assert any("**" in cell for row in rows for cell in row) == (figure == "fertility")
        caption = tex.partition("\\caption{")[2].partition("}\n")[0]
        assert printed(caption) == f"{made.table(figure).heading}.".replace("\ufffe", "\ufffd")
        comments, _, body = tex.partition("\n\n")
        assert all(line.startswith("% ") for line in comments.splitlines())
        assert "\\input" not in body


def test_latex_explains_signs_and_names_sizes_hashes_and_versions() -> None:
    text = "the cat sat on the mat\n" * 4
    own = train(Corpus.from_text(text), TrainingConfig(vocabulary_size=260))
    made = compare({"mine": own, "latin": losing(30)}, {"eng": text, "deu": "saß", "empty": ""})
    tex = made.to_latex(["bytes_per_token"])
    rows = {name: cells for name, *cells in rows_of_latex(tex)}
    assert rows["eng"][0].strip("*").startswith("†")
    assert rows["deu"][1].startswith("*")
    assert rows["empty"] == ["–", "–"]
    notes = tex.partition(r"{\footnotesize ")[2]
    assert all(meaning in notes for meaning in SIGNS.values())
    assert [line[2:] for line in tex.splitlines() if line.startswith("% ")][1:] == [
        f"{kind}: {fact}" for kind, fact in made.facts
    ]


def test_shares_are_percent_and_nothing_is_a_dash() -> None:
    assert number_text(0.1234, 1, is_share=True) == "12.3\u00a0%"
    assert number_text(float("nan"), 1, is_share=True) == "–"
    assert number_text(1234567, 0) == "1,234,567"


def test_csv_has_all_digits_of_each_figure(comparison: Comparison, tmp_path: Path) -> None:
    path = tmp_path / "matrix.csv"
    made = comparison.to_csv(path, ["premium", "words_split"])
    assert path.read_bytes().decode() == made
    rows = list(csv.reader(io.StringIO(made)))
    assert rows[0] == ["figure", "text", "W counts", "bytes (256 tokens)", "characters"]
    below = "Worst premium", "Gini of tokens per line"
    names = [("premium", name) for name in (*LINES, *below)] + [("words_split", text) for text in LINES]
    assert [tuple(row[:2]) for row in rows[1:9]] == names
    assert [row[2] for row in rows[1:9]] == [""] * 5 + ["words", "characters", "words"]
    values = np.array([[float(value) for value in row[3:]] for row in rows[1:4]])
    assert (values == comparison.figure("premium")).all()
    for row, summary in zip(rows[4:6], ("worst_premium", "gini"), strict=True):
        assert [float(value) for value in row[3:]] == comparison.summary(summary).tolist()
    rows = csv_rows(comparison, "bytes_per_token")
    assert rows[4][:3] == ["bytes_per_token", "All texts", ""]
    assert [float(value) for value in rows[4][3:]] == comparison.totals("bytes_per_token").tolist()


def test_csv_that_cannot_be_written_is_said(comparison: Comparison, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="does not exist"):
        comparison.to_csv(tmp_path / "missing" / "matrix.csv", ["tokens"])


def test_json_is_everything(comparison: Comparison) -> None:
    told = json.loads(comparison.to_json())
    assert told["tokenizers"] == ["bytes", "characters"]
    assert told["texts"] == list(LINES)
    assert (told["base"], told["against"]) == ("eng", "bytes")
    assert (told["remarks"], told["notes"]) == ([], [])
    assert told["figures"]["tokens"] == comparison.tokens.tolist()
    assert told["figures"]["words_split"] == comparison.figure("words_split").tolist()
    assert told["totals"]["fertility"] == [None, None]  # units differ
    assert told["summaries"]["gini"] == comparison.summary("gini").tolist()
    assert told["summaries"]["total"] == comparison.tokens.sum(axis=0).tolist()
    assert [one["units"] for one in told["measured"]] == ["words", "characters", "words"]
    assert told["errors"] == []


def test_a_tokenizer_that_fails_is_a_dash_null_and_a_reason(failing: Comparison) -> None:
    told = json.loads(failing.to_json(["tokens"]))
    assert told["figures"] == {"tokens": [failing.tokens[0].tolist(), [None, 4]]}
    assert [(one["text"], one["tokenizer"]) for one in told["errors"]] == [("deu", "latin")]
    assert "ß" in told["errors"][0]["error"]
    assert failing.to_csv(figures=["tokens"]).splitlines()[2:4] == ["tokens,deu,,,4", "tokens,All texts,,,11"]
    assert cells_of(failing.to_markdown(["tokens"]).splitlines()[5]) == ["deu", "–", "4"]


def test_only_figures_with_a_number_are_written_by_default(failing: Comparison) -> None:
    names = failing.known_figures()
    assert "premium" not in names  # no base
    assert failing.summaries == ("total",)
    assert "fertility" in names
    one = compare({"characters": CharacterTokenizer()}, {"text": "ab"})
    assert not {"vocabulary_used", "renyi_whole", "normalised_length"} & set(one.known_figures())


def test_plain_text_is_aligned_with_wide_characters_and_marks(comparison: Comparison) -> None:
    made = compare({"猫": ByteTokenizer(), "b": CharacterTokenizer()}, {"n\u0303": "abc", "猫猫": "a" * 1000})
    lines = plain_text([made.table("tokens")]).splitlines()
    assert lines[0] == "Tokens = N. Unit: tokens"
    assert lines[1:] == [
        "           猫 (256 tokens)      b",
        "n\u0303                        3      3",
        "猫猫                 1,000  1,000",
        "All texts            1,003  1,003",
    ]


def test_how_much_worse_each_number_is() -> None:
    made = compare({"bytes": ByteTokenizer(), "characters": CharacterTokenizer()}, {"cmn": "猫坐"})
    assert made.table("bytes_per_token").ratios.tolist() == [[3, 1]]
    assert made.table("tokens").ratios.tolist() == [[3, 1]]
    assert made.table("not_utf8").ratios.tolist() == [[np.inf, 1]]  # the best has none
    assert np.isnan(made.table("shannon").ratios).all()  # neither is better


def losing(size: int) -> Tokenizer:
    config = TrainingConfig(vocabulary_size=size, base="characters", special_tokens=("<unk>",), unknown_token="<unk>")
    return train(Corpus.from_text("the cat sat on the mat "), config)


def test_no_tokenizer_is_the_best_by_losing_text() -> None:
    texts = {"eng": ["the cat"], "deu": ["the cat ßß"]}
    small, large = (train(Corpus.from_text("ßßß ßßß the"), TrainingConfig(vocabulary_size=n)) for n in (257, 258))
    made = compare({"latin": losing(30), "small": small, "large": large}, texts, base="eng")
    assert made.loses_text.tolist() == [[False, False, False], [True, False, False]]
    assert [row[2:] for row in csv_rows(made, "tokens") if row[0] == "loses_text"] == [["", "1", "", ""]]
    assert json.loads(made.to_json(["tokens"]))["loses_text"] == made.loses_text.tolist()
    table = made.table("tokens")
    assert table.values[1].argmin() == 0
    assert table.best.tolist() == [[True, False, False], [False, False, True]]
    assert table.notes[-1] == "Not ranked beside others where text is lost: latin."
    premium = made.table("premium")
    assert premium.below[-1].name == "Gini of tokens per line"
    assert not premium.best_below(premium.below[-1])[0]
    both = compare({"few": losing(13), "many": losing(30)}, {"mixed": ["the cat ß"]}).table("tokens")
    assert both.loses_text.all()
    assert both.best.tolist() == [[False, True]]  # there are no others


def test_the_fairest_premium_is_the_nearest_to_1() -> None:
    figure, lost = FIGURES["premium"], np.zeros((1, 3), np.bool_)
    values = np.array([[0.8, 1.1, 3.0]])
    below = Below("Gini", (0.2, 0.1, 0.3), 3, better="less")
    names = ("a", "b", "c")
    table = FigureTable(figure, "", (), names, ("deu",), values, (below,), (True,) * 3, None, lost)
    assert table.best.tolist() == [[False, True, False]]
    assert table.ratios[0] == pytest.approx([1.25 / 1.1, 1, 3 / 1.1])
    assert table.best_below(below).tolist() == [False, True, False]


def test_simple_tokenizers_are_not_ranked_beside_others() -> None:
    own = train(Corpus.from_text("abab"), TrainingConfig(vocabulary_size=257))
    made = compare(
        {"own": own, "one": own.at(0), "bytes": ByteTokenizer(), "characters": CharacterTokenizer()}, {"text": "ab"}
    )
    table = made.table("tokens")
    assert table.best.tolist() == [[True, False, False, False]]
    assert np.isnan(table.ratios).tolist() == [[False, False, True, True]]


def csv_rows(made: Comparison, *figures: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(made.to_csv(figures=figures or None))))


def test_every_form_names_the_size_at_the_playhead_the_hashes_and_the_versions() -> None:
    own = train(Corpus.from_text("the cat sat on the mat; the hat"), TrainingConfig(vocabulary_size=270))
    made = compare({"Run 4": own.at(5), "Run 5": own}, {"book": "the cat ate"})
    sizes = ["Run 4 (261 tokens)", "Run 5 (270 tokens)"]
    text = hashlib.sha256(b"the cat ate").hexdigest()
    told = json.loads(made.to_json(["tokens"]))
    assert told["vocabulary_sizes"] == [261, 270]
    assert len({*told["hashes"], text}) == 3
    facts = [f"{name}, SHA-256 {digest}" for name, digest in zip(sizes, told["hashes"], strict=True)]
    facts += [f"book, 11 bytes, SHA-256 {text}", ", ".join(versions())]
    rows = csv_rows(made, "tokens")
    assert rows[0][3:] == sizes
    assert [row[0] for row in rows[-4:]] == ["tokenizer", "tokenizer", "text", "versions"]
    assert [row[1] for row in rows[-4:]] == facts
    assert all(row[2:] == ["", "", ""] for row in rows[-4:]), "columns of numbers stay so"
    lines = made.to_markdown(["tokens"]).splitlines()
    assert cells_of(lines[2])[1:] == sizes
    assert [line.replace("\\", "") for line in lines[-4:]] == [f"- {fact}" for fact in facts]
    assert plain_text([made.table("tokens")]).splitlines()[1].split("  ")[-2:] == sizes
    assert told["versions"] == versions()


def test_the_hash_is_of_all_that_decides_the_ids() -> None:
    text, settings = "the cat sat on the mat; the hat", {"pattern": "gpt2", "special_tokens": ("<|a|>",)}
    whole = train(Corpus.from_text(text), TrainingConfig(vocabulary_size=270, special_placement="first", **settings))
    short = train(Corpus.from_text(text), TrainingConfig(vocabulary_size=262, special_placement="first", **settings))
    digest = finish(hash_work(whole.at(5)))
    assert digest == finish(hash_work(short)) == finish(hash_work(short.at(5)))
    others = [whole, whole.at(4), short.changed(pattern="none"), short.changed(special_tokens={"<|b|>": 0})]
    swapped = np.arange(262, dtype=np.int32)
    swapped[[1, 2]] = swapped[[2, 1]]
    others.append(short.renumbered(swapped))
    assert len({digest, *(finish(hash_work(other)) for other in others)}) == 6
    assert finish(hash_work(ByteTokenizer())) == ""


def test_a_tokenizer_that_was_trained_on_a_text_is_marked_also_where_it_wins() -> None:
    english, german = "the cat sat on the mat\n" * 4, "die Katze sass auf der Matte\n" * 4
    both = Corpus.from_texts([english, german])
    sources = Corpus(tuple(Corpus.from_text(text).sources[0] for text in (english, german)))
    config = TrainingConfig(vocabulary_size=270, pattern="gpt2")
    mine, two = train(Corpus.from_text(english), config), train(sources, config)
    assert two.run is not None
    assert len(two.run.corpus.texts) == 2
    unweighted = train(sources.with_weights({1: 0}), config)
    pruned = prune(two, vocabulary_size=265).tokenizer
    lines = [line for line in german.split("\n") if line]  # a parallel text has no line ends
    tokenizers = {"mine": mine, "two": two, "zero": unweighted, "pruned": pruned, "bytes": ByteTokenizer()}
    made = compare(tokenizers, {"eng": english, "deu": lines, "other": "the dog"})
    assert made.trained_on.tolist() == [
        [True, True, True, True, False], [False, True, False, True, False], [False] * 5,
    ]  # fmt: skip
    assert train(both, config).run.corpus.texts == (hashlib.sha256((english + german).encode()).hexdigest(),)
    table = made.table("bytes_per_token")
    assert table.best[0, 0]
    assert table.signed(0, 0) == f"†{table.cell(0, 0)}"
    assert table.signed(2, 0) == table.cell(2, 0)
    lines_of = made.to_markdown(["bytes_per_token"]).splitlines()
    assert cells_of(lines_of[4])[1] == f"**†{table.cell(0, 0)}**"
    assert cells_of(lines_of[7])[5] == "1.00", "bytes are of no text"
    assert all(cell.strip("*").startswith("†") for cell in cells_of(lines_of[7])[1:5]), "of all texts, too"
    assert f"† {SIGNS['†']}" in lines_of[9]
    assert plain_text([table]).splitlines()[-1] == f"† {SIGNS['†']}"
    rows = csv_rows(made, "tokens")
    assert [row for row in rows if row[0] == "trained_on"] == [
        ["trained_on", "eng", "", "1", "1", "1", "1", ""], ["trained_on", "deu", "", "", "1", "", "1", ""],
    ]  # fmt: skip
    assert json.loads(made.to_json(["tokens"]))["trained_on"] == made.trained_on.tolist()


@pytest.mark.parametrize("ending", ["", "\n"])
def test_lines_of_a_text_that_was_trained_on_are_that_text(ending: str) -> None:
    text = "one\ntwo\n\nthree" + ending
    rows = Corpus.from_texts(["one", "two", "", "three"])
    config = TrainingConfig(vocabulary_size=257)
    of_file, of_rows = train(Corpus.from_text(text), config), train(rows, config)
    made = compare({"file": of_file, "rows": of_rows}, {"file": text, "lines": ["one", "two", "", "three"], "": ""})
    assert made.trained_on.tolist() == [[True, True], [True, True], [False, False]]


def test_numbers_that_are_written_alike_are_equally_good() -> None:
    figure, lost = FIGURES["bytes_per_token"], np.zeros((1, 4), np.bool_)
    below = Below("All texts", (3.994, 3.996, 4.0049, 1.0), 2, better="more")
    values = np.array([[4.8812, 4.8849, 4.8851, 4.6]])
    table = FigureTable(figure, "", (), tuple("abcd"), ("deu",), values, (below,), (True,) * 4, None, lost)
    assert [table.cell(0, number) for number in range(4)] == ["4.88", "4.88", "4.89", "4.60"]
    assert table.best.tolist() == [[False, False, True, False]]
    assert table.best_below(below).tolist() == [False, True, True, False]  # 3.99, 4.00, 4.00
    alike = FigureTable(figure, "", (), tuple("ab"), ("deu",), values[:, :2], (), (True,) * 2, None, lost[:, :2])
    assert alike.ratios.tolist() == [[1, 1]]
    assert alike.best.tolist() == [[False, False]], "none is better"


@given(
    st.lists(st.floats(0.1, 9), min_size=2, max_size=6), st.sampled_from(["bytes_per_token", "words_split", "premium"])
)
def test_whatever_is_written_as_the_best_is_marked(values: list[float], name: str) -> None:
    figure, row = FIGURES[name], np.array([values]) / (10 if FIGURES[name].is_share else 1)
    lost = np.zeros(row.shape, np.bool_)
    table = FigureTable(figure, "", (), ("",) * len(values), ("",), row, (), (True,) * len(values), None, lost)
    cells = [table.cell(0, number) for number in range(len(values))]
    worse = np.maximum(row, 1 / row) if name == "premium" else -row if figure.better == "more" else row
    best = {cells[number] for number in np.flatnonzero(worse[0] == worse.min())}
    expected = [cell in best for cell in cells]
    assert table.best[0].tolist() == (expected if not all(expected) else [False] * len(cells))
