"""The guide: its Markdown, its pages, its search and its glossary."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

import pytest

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.comparison.figures import FIGURES
from tokstudio.core.guide import pages as pages_module
from tokstudio.core.guide.glossary import plain_text, read_words, slug, to_html
from tokstudio.core.guide.pages import Page, read_pages, search

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


def test_plain_text_has_no_marks():
    assert plain_text("# A\n\n> **b** [c](d:e)\n\n| f |\n|---|\n| `g` |") == "A b c f g"


def test_every_page_has_a_title_something_to_do_and_links_that_lead_somewhere():
    names = {page.name: page for page in PAGES}
    assert len(names) == len(PAGES) == 24
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


def names_of(name: str) -> str:
    return next(page.text for page in PAGES if page.name == name)


def test_the_figures_of_the_guide_are_those_of_compare():
    text = names_of("figures")
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert titles == ["Compare algorithms", *(figure.title for figure in FIGURES.values())]
    for figure in FIGURES.values():
        part = text.split(f"## {figure.title}\n")[1].split("\n## ")[0]
        says = part.strip().split("\n")[0]
        assert says.endswith("."), figure.title
        assert not says.startswith("Formula"), figure.title
        for told in (figure.formula, figure.unit, figure.note, figure.source):
            assert told in part, figure.title


def test_only_a_warning_is_called_a_trap():
    text = names_of("figures")
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
