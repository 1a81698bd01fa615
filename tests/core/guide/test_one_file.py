"""The guide as one file: complete, current, and without anything that a browser would load or run."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import tokstudio
from tokstudio.core.guide.glossary import read_words
from tokstudio.core.guide.pages import Page, one_file, read_pages

FILE = Path(tokstudio.__file__).parent.parent / "docs" / "guide.html"


class Reader(HTMLParser):
    """Collects the tags with their attributes, and which are open."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "source"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def read(text: str) -> list[tuple[str, dict[str, str | None]]]:
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    return reader.tags


def test_the_file_of_the_documentation_is_current():
    written = FILE.read_text(encoding="utf-8")
    assert written == one_file(read_pages()), "python3 packaging/dev.py pictures writes it again"


def test_it_has_every_page_and_word_and_all_links_lead_somewhere():
    tags = read(one_file(read_pages()))
    places = {attributes["id"] for _, attributes in tags if "id" in attributes}
    assert {page.name for page in read_pages()} <= places
    assert {f"glossary-{key}" for key in read_words()} <= places
    links = [attributes["href"] for _, attributes in tags if "href" in attributes]
    assert len(links) > 60
    assert {link[1:] for link in links if link and link.startswith("#")} <= places


def test_nothing_is_loaded_or_run():
    text = one_file([Page("a", "A", "# A\n\n<script>x</script> [b](do:quit) [c](https://d.e) [f](javascript:g)")])
    tags = read(text)
    assert "script" not in {tag for tag, _ in tags}
    assert [attributes["href"] for _, attributes in tags if "href" in attributes] == ["#a", "https://d.e"]
    assert "<b>b</b>" in text
    for _, attributes in read(one_file(read_pages())):
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "srcset"):
            assert name not in attributes or re.match("data:image/png;base64,", attributes[name] or "")
