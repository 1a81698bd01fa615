"""The pictures of the guide: both themes, used in a page, and their labels still stand in the program."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import tokstudio
from tokstudio.core.base.resources import resource
from tokstudio.core.guide.pages import read_pages

FOLDER = resource("guide/pictures")
LABELS: dict[str, list[str]] = json.loads((FOLDER / "labels.json").read_text(encoding="utf-8"))


def texts_of_the_program() -> set[str]:
    files = Path(tokstudio.__file__).parent.rglob("*.py")
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return {text.replace("&", "") for text in texts}


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
