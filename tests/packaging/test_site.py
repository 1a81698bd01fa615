"""The pages of the documentation site, before mkdocs builds them, and the reference of the command line."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tokstudio.core.guide.pages import read_pages

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s]+)\)")


@pytest.fixture
def site(docs, tmp_path):
    """The folder that is assembled for mkdocs."""
    docs.assemble(tmp_path / "site")
    return tmp_path / "site"


def test_the_reference_of_the_command_line_is_what_the_parser_takes(docs):
    document = docs.COMMANDS.read_text(encoding="utf-8")
    assert document == docs.command_line(document), "it is old: python3 packaging/dev.py docs"


def test_every_option_that_help_lists_is_in_the_reference(docs, capsys):
    from tokstudio import cli

    sections = re.split(r"^### tokstudio ?", docs.reference(), flags=re.MULTILINE)[1:]
    by_name = {section.partition("\n")[0]: section for section in sections}
    assert len(by_name) == 24
    for name, section in by_name.items():
        assert cli.main([*filter(None, [name]), "--help"]) == 0
        helped = set(re.findall(r"(?<!\S)--[a-z-]+", capsys.readouterr().out.partition("options:")[2]))
        assert helped - {"--help"} <= set(re.findall(r"--[a-z-]+", section)), name


def test_every_page_of_the_guide_and_every_document_is_in_the_navigation(site):
    settings = json.loads((site / "mkdocs.yml").read_text(encoding="utf-8"))
    assert (site / settings["INHERIT"]).resolve() == (ROOT / "mkdocs.yml").resolve()
    entries = {title: page for entry in settings["nav"] for title, page in entry.items()}
    assert list(entries) == [
        "Start",
        "Guide",
        "Algorithm",
        "Command line",
        "Python",
        "Benchmarks",
        "Changelog",
        "Sources",
    ]
    guide = [(title, page) for entry in entries.pop("Guide") for title, page in entry.items()]
    assert guide == [(page.title, f"guide/{page.name}.md") for page in read_pages()]
    assert not entries.pop("Sources").endswith("/")
    assert all((site / "pages" / page).is_file() for page in [*entries.values(), *(page for _, page in guide)])


def test_every_link_of_the_pages_leads_to_a_page_a_title_or_a_picture(site):
    followed = 0
    for file in (site / "pages").rglob("*.md"):
        for link in LINK.findall(file.read_text(encoding="utf-8")):
            path, _, part = link.partition("#")
            target = file.parent / path
            assert target.is_file(), f"{file.name}: {link}"
            if part and path.startswith("glossary"):
                assert f"{{ #{part} }}" in target.read_text(encoding="utf-8"), link
            followed += 1
    assert followed > 100


def test_what_acts_on_the_window_is_bold_and_sources_are_at_the_project_s_address(docs, site):
    guide = "".join(file.read_text(encoding="utf-8") for file in (site / "pages" / "guide").glob("*.md"))
    assert "**Take the Tour**" in guide
    assert re.findall(r"\]\((?:do|pane|merge|page|glossary):", guide) == []
    start = (site / "pages" / "index.md").read_text(encoding="utf-8")
    assert f"]({docs.homepage()}/blob/main/packaging/README.md)" in start
    assert "](cli.md)" in start


@pytest.mark.parametrize(
    ("name", "text", "loads"),
    [
        ("a.html", '<script src="https://one.example/a.js"></script>', True),
        ("a.html", '<link rel="stylesheet" href="//one.example/a.css">', True),
        ("a.html", '<img alt="" src="http://one.example/a.png">', True),
        ("a.css", "@import 'https://one.example/a.css'; a { color: red }", True),
        ("a.css", "a { background: url(https://one.example/a.png) }", True),
        ("a.html", '<a href="https://one.example/">x</a><link rel="canonical" href="https://one.example/a">', False),
        ("a.html", '<script src="assets/a.js"></script><img src="a.png">', False),
        ("a.css", "a { background: url(data:image/png;base64,AA) }", False),
    ],
)
def test_a_page_that_loads_from_another_host_is_found(docs, tmp_path, name, text, loads):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert bool(docs.foreign_requests(tmp_path)) is loads
