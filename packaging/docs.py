"""Writes the reference of the command line and the pages of the documentation site: run by `dev.py docs`.

The reference is the second part of `docs/cli.md`. mkdocs builds the site of the pages assembled in `build/docs`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from unittest.mock import patch

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "docs"
COMMANDS = ROOT / "docs" / "cli.md"
#: What stands above this line in `docs/cli.md` is written by hand.
MARK = "<!-- What follows is made from the parser: python3 packaging/dev.py docs -->"
#: The documents of the site with their pages; the guide has a page for each of its own.
PAGES = {
    "README.md": "index.md",
    "docs/guide.html": "guide/token.md",
    "docs/algorithm.md": "algorithm.md",
    "docs/cli.md": "cli.md",
    "docs/api.md": "api.md",
    "BENCHMARKS.md": "benchmarks.md",
    "CHANGELOG.md": "changelog.md",
}
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_GUIDE = re.compile(r"^resources/guide/\d\d-(.*)\.md$")
_FENCES = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LOADED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\ssrc(?:set)?=\"?((?:https?:)?//[^\s\">]+)")
_LINKED = re.compile(r"<link\b(?![^>]*\brel=\"?(?:canonical|next|prev)\b)[^>]*\shref=\"?((?:https?:)?//[^\s\">]+)")
_STYLED = re.compile(r"(?:url\(|@import\s+)[\"']?((?:https?:)?//[^\s\"')]+)")


# --- The command line ---------------------------------------------------------------------------------------------


class _Asked(Exception):
    """A parser was asked for its help."""


def parser_of(*words: str) -> argparse.ArgumentParser:
    """The parser that the program uses for these words, the first of which is the command; for none, the window's."""
    from tokstudio import cli

    parsers: list[argparse.ArgumentParser] = []

    def take(parser: argparse.ArgumentParser, file: object = None) -> None:
        parsers.append(parser)
        raise _Asked

    with patch.object(argparse.ArgumentParser, "print_help", take):
        try:
            cli.main([*words, "--help"])
        except _Asked:
            return parsers[0]
    raise LookupError(f"tokstudio {' '.join(words)} has no help.")


def command_names() -> list[str]:
    """The commands in the order in which the program's help lists them."""
    return re.findall(r"^ +tokstudio ([a-z-]+) ", parser_of().description or "", flags=re.MULTILINE)


def reference() -> str:
    """Every command with its usage, arguments and options, as Markdown."""
    names = command_names()
    links = " · ".join(f"[{name}](#tokstudio-{name})" for name in names)
    sections = [_section(parser_of()), *(_section(parser_of(name)) for name in names)]
    return "\n\n".join(["## All commands", f"[tokstudio](#tokstudio) · {links}", *sections]) + "\n"


def command_line(document: str) -> str:
    """The whole of `docs/cli.md`: what is written by hand in `document`, then the reference."""
    return f"{document.partition(MARK)[0].rstrip()}\n\n{MARK}\n\n{reference()}"


def _section(parser: argparse.ArgumentParser) -> str:
    lines = [f"### {parser.prog}", f"```\n{_usage(parser)}\n```", _description(parser.description or "")]
    for group in parser._action_groups:
        options = [_option(parser, action) for action in group._group_actions if action.dest != "help"]
        if not options:
            continue
        lines.append(f"**{_begun(group.title or '')}**")
        if group.description:
            lines.append(_description(group.description))
        lines.append("\n".join(options))
    if parser.epilog:
        lines.append(f"{_begun(_prose(' '.join(parser.epilog.split())))}.")
    return "\n\n".join(lines)


def _usage(parser: argparse.ArgumentParser) -> str:
    words = [parser.prog]
    words += [_shape(action) for action in parser._actions if action.option_strings and action.required]
    words += ["[OPTION ...]"]
    words += [_shape(action) for action in parser._actions if not action.option_strings]
    return " ".join(words)


def _shape(action: argparse.Action) -> str:
    """An option with its value, or the name of an argument, with the signs for how often it may stand."""
    names = ", ".join(action.option_strings)
    if action.nargs == 0:
        return names
    value = str(action.metavar or action.dest.upper().replace("-", "_"))
    repeated = {"+": f"{value} [{value} ...]", "*": f"[{value} ...]", "?": f"[{value}]"}
    return f"{names} {repeated.get(str(action.nargs), value)}".strip()


def _option(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    said = _prose((action.help or "") % {**vars(action), "prog": parser.prog})
    if action.choices is not None and action.metavar is None:
        said += f"; one of {', '.join(f'`{choice}`' for choice in action.choices)}"
    return f"- `{_shape(action)}`: {said}{' (required)' if action.required and action.option_strings else ''}"


def _description(text: str) -> str:
    """A description; lines that are indented are kept as they are."""
    return "\n\n".join(_block(block) for block in re.split(r"\n\s*\n", text.strip("\n")))


def _block(text: str) -> str:
    return f"```\n{textwrap.dedent(text)}\n```" if text.startswith("  ") else _prose(" ".join(text.split()))


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]


def _prose(text: str) -> str:
    """Help as Markdown: signs stand for themselves, and options are code."""
    text = re.sub(r"([\\`*_<\[\]])", r"\\\1", text)
    return re.sub(r"(?<![\w-])(--[a-z][a-z-]*[a-z](?:=[^\s,;]+)?)", r"`\1`", text)


# --- The site -----------------------------------------------------------------------------------------------------


def homepage() -> str:
    """The address of the project, without a slash at its end."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project["urls"]["Homepage"].rstrip("/")


def site_pages() -> dict[str, str]:
    """All pages of the site: their Markdown by their path, in the order of the navigation."""
    pages: dict[str, str] = {}
    for document, page in PAGES.items():
        if document.endswith(".html"):
            pages.update(_guide_pages())
        else:
            pages[page] = _moved((ROOT / document).read_text(encoding="utf-8"), PurePosixPath(document), page)
    return pages


def _guide_pages() -> Iterator[tuple[str, str]]:
    from tokstudio.core.guide.glossary import slug
    from tokstudio.core.guide.pages import read_pages

    def title(found: re.Match[str]) -> str:
        return f"{found[0]} {{ #{slug(found[2])} }}"

    for page in read_pages():
        text = re.sub(r"^(##+) (.*)$", title, page.text, flags=re.MULTILINE)
        yield f"guide/{page.name}.md", _outside_code(text, lambda part: _LINK.sub(_guide_link, part))


def _guide_link(link: re.Match[str]) -> str:
    mark, words, target = link.groups()
    kind, _, name = target.partition(":")
    if mark:
        dark = target.replace(".png", "-dark.png")
        return f"![{words}](pictures/{target}#only-light)\n![{words}](pictures/{dark}#only-dark)"
    if kind == "page":
        page, _, part = name.partition("#")
        return f"[{words}]({page}.md{f'#{part}' if part else ''})"
    if kind == "glossary":
        return f"[{words}](glossary.md#{name})"
    # What acts on the window is a word to press there.
    return link[0] if kind == "https" else f"**{words}**"


def _moved(text: str, document: PurePosixPath, page: str) -> str:
    """A document with links to pages of the site, to its pictures, and for all other files to the project's address."""

    def link(found: re.Match[str]) -> str:
        mark, words, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        path, _, part = target.partition("#")
        file = os.path.normpath(document.parent / path).replace(os.sep, "/")
        here = PurePosixPath(page).parent
        place = PAGES.get(file) or _GUIDE.sub(r"guide/\1.md", file)
        if place != file or file.endswith((".png", ".svg")):
            there = os.path.relpath(place, here)
        else:
            there = f"{homepage()}/blob/main/{file}"
        return f"{mark}[{words}]({there.replace(os.sep, '/')}{f'#{part}' if part else ''})"

    # Between two brackets without a target mkdocs would look for the name of an object.
    return _outside_code(text, lambda part: _LINK.sub(link, part).replace("][", "]\\["))


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    return "".join(part if index % 2 else change(part) for index, part in enumerate(_FENCES.split(text)))


def navigation(pages: dict[str, str]) -> list[dict[str, object]]:
    """The navigation: the pages under their titles, those of the guide as one section, and the sources."""
    titles = {page: text.split("\n", 1)[0].removeprefix("# ") for page, text in pages.items()}
    guide = [{titles[page]: page} for page in pages if page.startswith("guide/")]
    names = {"index.md": "Start", "algorithm.md": "Algorithm", "cli.md": "Command line", "api.md": "Python"}
    entries: list[dict[str, object]] = []
    for page in pages:
        if not page.startswith("guide/"):
            entries.append({names.get(page, titles[page]): page})
    return [entries[0], {"Guide": guide}, *entries[1:], {"Sources": homepage()}]


def assemble(folder: Path) -> None:
    """Writes the pages, their pictures and the settings of mkdocs into a folder, in place of what is there."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = site_pages()
    for page, text in pages.items():
        file = folder / "pages" / page
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for source, target in (("docs/pictures", "docs/pictures"), ("resources/guide/pictures", "guide/pictures")):
        shutil.copytree(ROOT / source, folder / "pages" / target, ignore=shutil.ignore_patterns("*.py", "*.json"))
    shutil.copytree(ROOT / "resources/pictures", folder / "pages" / "resources/pictures")
    settings = {
        "INHERIT": Path(os.path.relpath(ROOT / "mkdocs.yml", folder)).as_posix(),
        "docs_dir": "pages",
        "site_dir": "site",
        "nav": navigation(pages),
        "plugins": {"mkdocstrings": {"handlers": {"python": {"paths": [str(ROOT)]}}}},
    }
    # JSON is YAML.
    (folder / "mkdocs.yml").write_text(json.dumps(settings, ensure_ascii=False, indent=1), encoding="utf-8")


def foreign_requests(site: Path) -> list[str]:
    """What the pages and style sheets of a site load from other hosts, each with the file that does."""
    found: list[str] = []
    for file in sorted(site.rglob("*")):
        if file.suffix in (".html", ".css"):
            text = file.read_text(encoding="utf-8")
            for pattern in (_LOADED, _LINKED, _STYLED):
                found += [f"{file.relative_to(site).as_posix()}: {address}" for address in pattern.findall(text)]
    return found


def main(arguments: list[str]) -> None:
    """Writes `docs/cli.md` and assembles the pages; with `--check`, looks at the built site instead."""
    if arguments == ["--check"]:
        if found := foreign_requests(BUILD / "site"):
            sys.exit("The pages load from other hosts:\n" + "\n".join(found))
        return
    COMMANDS.write_text(command_line(COMMANDS.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")
    assemble(BUILD)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main(sys.argv[1:])
