"""The guide: its Markdown, its pages, its search and its glossary."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

import pytest

import tokstudio
from tests.core.html_tags import tags_of
from tokstudio import Corpus, Tokenizer, TokStudioError, TrainingConfig, train
from tokstudio.core.base.resources import DEMO_SENTENCES, resource, sample_text
from tokstudio.core.comparison.figures import FIGURES
from tokstudio.core.corpus.rules import RULES
from tokstudio.core.exploration.findings import LIVES, OWNED, OWNERS
from tokstudio.core.guide import pages as pages_module
from tokstudio.core.guide.glossary import plain_text, read_words, slug, to_html
from tokstudio.core.guide.pages import Page, one_file, read_pages, search
from tokstudio.core.model.algorithms import TIE_BREAKS
from tokstudio.core.teaching.your_turn import ROUNDS, TEXTS, YourTurn, count_pairs
from tokstudio.core.training.forecast import fitting_merges

PAGES = read_pages()
LINK = re.compile(r"\]\(([^)\s]+)\)")


def html(text: str) -> str:
    return to_html(text, lambda target, words: f"<{target}>{words}</>", lambda file, words: f"[{file}|{words}]")


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("# A *b*\n\nc\nd", '<h1><a name="a-b"></a>A <i>b</i></h1>\n<p>c d</p>'),
        ("- one\n- **two**\n  more", "<ul><li>one</li><li><b>two</b>   more</li></ul>"),
        ("1. one\n2. two", "<ol><li>one</li><li>two</li></ol>"),
        ("a < b & `<c>**`", "<p>a &lt; b &amp; <code>&lt;c&gt;**</code></p>"),
        ("[`x` y](do:train)", "<p><do:train><code>x</code> y</></p>"),
        ("![A \"b\"](c.png)", '<p class="picture">[c.png|A &quot;b&quot;]</p>'),
        ("```\n<a> *b*\n```", "<pre>&lt;a&gt; *b*</pre>"),
        ("| a | b |\n|---|---|\n| 1 | *2* |", "<tr><th>a</th><th>b</th></tr><tr><td>1</td><td><i>2</i></td></tr>"),
        ("> **x**\n> y", '<table class="try" width="100%"><tr><td><p><b>x</b> y</p></td></tr></table>'),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
        ("", ""),
    ],
)  # fmt: skip
def test_markdown_becomes_html(text: str, made: str):
    assert made in html(text)
    assert plain_text("# A\n\n> **b** [c](d:e)\n\n| f |\n|---|\n| `g` |") == "A b c f g"


def test_every_page_has_a_title_something_to_do_and_links_that_lead_somewhere():
    names = {page.name: page for page in PAGES}
    assert len(names) == len(PAGES) == 27
    for page in PAGES:
        assert page.text.startswith("# "), page.name
        assert page.text.count("> **Try it.**") == 1, page.name
        for target in LINK.findall(page.text):
            kind, _, what = target.partition(":")
            if kind == "page":
                name, _, title = what.partition("#")
                assert name in names, target
                assert not title or f'name="{title}"' in html(names[name].text), target
            elif kind == "glossary":
                assert what in read_words(), target
            else:
                assert kind in ("do", "pane", "merge") or target.endswith(".png"), target


def test_every_word_has_two_sentences_and_a_name_in_links():
    words = read_words()
    assert len(words) >= 40
    for key, word in words.items():
        assert key == slug(word.title)
        sentences = re.sub(r"\[More\]\([^)]*\)", "", word.meaning).strip()
        assert len(re.findall(r"[.](?= [A-Z]|$)", sentences)) == 2, word.title
        assert f"## {word.title}" in names_of("glossary")


def test_the_article_is_the_first_page_with_its_titles_and_examples():
    page, text = PAGES[0], sample_text("article")
    assert (page.name, page.title) == ("article", text.split("\n")[0])
    titles = re.findall(r"^## (.*)$", page.text, re.MULTILINE)
    assert titles[:3] == ["Why text must become numbers", "Characters", "Bytes and UTF-8"]
    assert all(title in text.split("\n") and not title.endswith(".") for title in titles)
    assert "<pre>pe|p|per, p|a|per, p|i|per</pre>" in html(page.text)
    words = [line for line in text.split("\n")[1:] if line]
    assert all(plain_text(line) in page.words for line in words), "nothing is left out"


def names_of(name: str) -> str:
    return next(page.text for page in PAGES if page.name == name)


def test_every_letter_of_a_formula_is_explained_beside_it():
    assert FIGURES["bytes_per_token"].explained_formula == "B / N (N: tokens, B: bytes)"
    for figure in FIGURES.values():
        letters = set(re.findall(r"\b[A-Zp]\b", figure.formula.replace("A to Z", "")))
        defined = {letter for letter in letters if f"{letter} = " in figure.formula or f"{letter}(" in figure.formula}
        for letter in letters - (defined - {"N"}):
            assert f"{letter}: " in figure.explained_formula, (figure.title, letter)


def test_the_figures_of_the_guide_are_those_of_compare():
    text = names_of("figures")
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert titles == ["How sure a figure is", "Compare algorithms", *(figure.title for figure in FIGURES.values())]
    for figure in FIGURES.values():
        part = text.split(f"## {figure.title}\n")[1].split("\n## ")[0]
        says = part.strip().split("\n")[0]
        assert says.endswith("."), figure.title
        assert not says.startswith("Formula"), figure.title
        for told in (figure.formula, figure.unit, figure.note, figure.source):
            assert told in part, figure.title
    # Only a warning is called a trap.
    assert "*Trap:* Compares languages only where" in text
    for note in ("Without special tokens.", "Marks on letters count as characters.", "Each word is encoded with the"):
        assert f"*Note:* {note}" in text


def test_a_search_finds_all_words_anywhere_and_titles_first():
    found = search(PAGES, "tie RULE")
    assert found[0].page.name == "ties"
    assert {one.page.name: one.title for one in found}["glossary"] == "tie"
    assert "checking" in {one.page.name for one in found}
    assert "tie rule" in found[0].around.lower()
    assert search(PAGES, "  ") == []
    assert search(PAGES, "tie xylophone") == []
    # An expression is searched for as it is.
    assert search(PAGES, "(.*") == []
    assert search([Page("a", "A", "# A\n\nb")], "A")[0].around == "b"


def test_a_guide_without_pages_or_with_a_damaged_one_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(pages_module, "resource", lambda name: tmp_path)
    with pytest.raises(TokStudioError, match="no pages"):
        read_pages()
    (tmp_path / "01-a.md").write_text("\n", encoding="utf-8")
    (tmp_path / "02-b.md").write_text("no title", encoding="utf-8")
    assert [(page.name, page.title) for page in read_pages()] == [("b", "b")]
    (tmp_path / "02-b.md").write_bytes(b"\xff\xfe")
    with pytest.raises(TokStudioError, match=r"02-b\.md"):
        read_pages()


# --- What the pages say of the sample article is true of this program -------------------------------------------------

TEXT = sample_text("article")
CORPUS = Corpus.from_texts([TEXT])
WORDS = {page.name: page.words for page in read_pages()}
SENTENCES = dict(DEMO_SENTENCES)


def trained(**settings) -> Tokenizer:
    return train(CORPUS, TrainingConfig(**{"vocabulary_size": 1000, **settings}))


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """The run of "Train on How Tokenizers Work"."""
    return trained()


def pieces(tokenizer: Tokenizer, text: str) -> list[str]:
    return [tokenizer.decode([token]) for token in tokenizer.encode(text)]


def test_the_first_merges_and_the_words_that_are_one_token(tokenizer):
    made = [tokenizer.decode([256 + merge]) for merge in range(16)]
    assert [made[0], made[1], made[2], made[15]] == ["e ", "s ", "th", " the "]
    assert [tokenizer.decode([int(part)]) for part in tokenizer.run.merges[15]] == [" th", "e "]
    assert tokenizer.run.counts[:3].tolist() == [927, 787, 676]
    assert all(number in WORDS["bpe"] for number in ("927 times", "927 fewer", "with 787", "with 676", ": 256 "))
    assert pieces(tokenizer, "tokenizer") == ["tokenizer"]
    assert pieces(tokenizer, "Hello") == ["H", "el", "lo"]
    assert {"number of ", ", which is "} <= {tokenizer.decode([256 + merge]) for merge in range(744)}


def test_the_curve_and_what_merges_save():
    run, size = trained(vocabulary_size=1256).run, len(TEXT.encode())
    ratios = {merges: size / int(run.tokens_after[merges - 1]) for merges in (100, 200, 500, 1000)}
    said = "100 merges give 1.76 bytes per token, 200 give 2.10, and 500 give 2.75"
    assert [f"{ratios[merges]:.2f}" for merges in (100, 200, 500)] == ["1.76", "2.10", "2.75"]
    assert said in WORDS["curve"]
    assert [int(run.counts[merge - 1]) for merge in (1, 100, 500)] == [927, 41, 7]
    assert "saves 927 tokens, the hundredth 41, the five-hundredth 7" in WORDS["curve"]
    assert [f"{ratios[500] - 1:.2f}", f"{ratios[1000] - ratios[500]:.2f}"] == ["1.75", "0.72"]
    assert "500 merges bring 1.75 bytes per token, the next 500 only 0.72" in WORDS["size"]


def test_the_pattern_changes_the_first_merge():
    run = trained(pattern="gpt2").run
    assert (run.merges[0].tolist(), int(run.counts[0])) == ([ord(" "), ord("t")], 920)
    assert "with 920 occurrences" in WORDS["patterns"]


def test_the_tie_rules_part_at_merge_30(tokenizer):
    runs = {rule: trained(tie_break=rule).run for rule in TIE_BREAKS}
    assert len(runs) == 5
    assert "knows five rules" in WORDS["ties"]
    assert "with any of the five" in WORDS["ties"]
    parts = {rule: (run.merges != tokenizer.run.merges).any(axis=1) for rule, run in runs.items()}
    assert int(parts["lowest-id"].argmax()) + 1 == 30
    assert "part at merge 30" in WORDS["ties"]
    assert int(parts["lowest-id"].sum()) == 645
    assert "645 of the 744" in WORDS["ties"]
    ends = [int(run.tokens_after[-1]) for run in runs.values()]
    assert (min(ends), max(ends)) == (9867, 9899)
    assert "between 9,867 and 9,899" in WORDS["ties"]


def test_how_many_merges_a_text_supports_is_the_same_everywhere():
    said = [
        (int(number.replace(",", "")), int(size) * {"kB": 1_000, "MB": 10**6}[unit])
        for text in (WORDS["size"], read_words()["vocabulary-size"].meaning)
        for number, size, unit in re.findall(r"([\d,]+)(?: merges)? for (\d+) (kB|MB)", text)
    ]
    assert len(said) == 6
    assert said == [(fitting_merges(size), size) for _, size in said]


def test_the_two_sentences(tokenizer):
    japanese = SENTENCES["Japanese"]
    assert (len(japanese), len(japanese.encode()), len(tokenizer.encode(japanese))) == (22, 66, 66)
    same = "I took a camera and walked by the quiet sea with my younger sister."
    assert (len(same), len(tokenizer.encode(same))) == (67, 31)
    assert f"“{same}” has 67 characters and 31 tokens" in WORDS["languages"]
    assert "22 characters and 66 bytes" in WORDS["bytes"]


def test_the_game_on_sea_shells():
    game = YourTurn(TEXTS["Sea shells"])
    assert f"begins with {len(game.tokens)} tokens" in WORDS["your-turn"]
    assert count_pairs(game.tokens).most_common(1) == [((" ", "s"), 11)]
    assert "space and “s”, 11 times" in WORDS["your-turn"]
    for _ in range(ROUNDS):
        game.choose(count_pairs(game.tokens).most_common(1)[0][0])
    assert f"ends with {game.best_tokens} tokens" in WORDS["your-turn"]


# --- The pictures of the guide: both themes, used in a page, and their labels still stand in the program --------------

FOLDER = resource("guide/pictures")
LABELS: dict[str, list[str]] = json.loads((FOLDER / "labels.json").read_text(encoding="utf-8"))


def texts_in(value: object) -> Iterator[str]:
    """The strings among the constants of compiled code."""
    match value:
        case str():
            yield value
        case CodeType(co_consts=inner) | (tuple() | frozenset() as inner):
            for each in inner:
                yield from texts_in(each)


def texts_of_the_program() -> set[str]:
    files = map(str, Path(tokstudio.__file__).parent.rglob("*.py"))
    codes = [SourceFileLoader("any", file).get_code("any") for file in files]  # what Python keeps of its modules
    return {text.replace("&", "") for code in codes for text in texts_in(code)}


def test_every_label_in_a_picture_is_in_the_program():
    known = texts_of_the_program()
    for picture, labels in LABELS.items():
        assert labels, picture
        gone = [label for label in labels if label not in known]
        assert not gone, f"{picture}.png is out of date: python3 packaging/dev.py pictures"


def test_every_picture_is_there_in_both_themes_and_in_a_page():
    shown = {
        name for page in read_pages() for name in re.findall(r"^!\[[^\]]+\]\((.+)\.png\)$", page.text, re.MULTILINE)
    }
    assert shown == set(LABELS)
    files = {file.stem for file in FOLDER.glob("*.png")}
    assert files == {f"{name}{theme}" for name in LABELS for theme in ("", "-dark")}


# --- The guide as one file: complete, current, and without anything that a browser would load or run ------------------

FILE = Path(tokstudio.__file__).parent.parent / "docs" / "guide.html"


def test_the_file_of_the_documentation_is_current():
    written = FILE.read_text(encoding="utf-8")
    assert written == one_file(read_pages()), "python3 packaging/dev.py pictures writes it again"


def test_it_has_every_page_and_word_and_all_links_lead_somewhere():
    tags = tags_of(one_file(read_pages()))
    places = {attributes["id"] for _, attributes in tags if "id" in attributes}
    assert {page.name for page in read_pages()} <= places
    assert {f"glossary-{key}" for key in read_words()} <= places
    links = [attributes["href"] for _, attributes in tags if "href" in attributes]
    assert len(links) > 60
    assert {link[1:] for link in links if link and link.startswith("#")} <= places


def test_nothing_is_loaded_or_run():
    text = one_file([Page("a", "A", "# A\n\n<script>x</script> [b](do:quit) [c](https://d.e) [f](javascript:g)")])
    tags = tags_of(text)
    assert "script" not in {tag for tag, _ in tags}
    assert [attributes["href"] for _, attributes in tags if "href" in attributes] == ["#a", "https://d.e"]
    assert "<b>b</b>" in text
    for _, attributes in tags_of(one_file(read_pages())):
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "srcset"):
            assert name not in attributes or re.match("data:image/png;base64,", attributes[name] or "")


def test_the_guide_states_each_rule_of_clean_up_with_its_threshold():
    page = next(page for page in read_pages() if page.title == "What is in your text")
    rows = re.findall(r"^\| `([\w-]+)` \| (\w+) \| (.*) \|$", page.text, re.MULTILINE)
    assert [rule for rule, _, _ in rows] == [*RULES, OWNERS]
    for rule, goes, test in rows[:-1]:
        assert goes == ("lines" if RULES[rule].of_lines else "documents")
        threshold = RULES[rule].threshold
        if threshold is not None:
            assert re.search(rf"\b{threshold:g}\b" if threshold >= 1 else rf"\b{100 * threshold:g} %", test), rule
    assert rows[-1][1] == "documents"
    assert f"{LIVES:.0%}".replace("%", " %") in rows[-1][2]
    assert "five tokens" in rows[-1][2]
    assert OWNED == 5
