"""What TokStudio brings along: sample corpora that keep their promises and icons that can be tinted."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
import sys
from collections import Counter
from itertools import pairwise

import pytest
import regex
from PySide6.QtCore import QByteArray
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from tests.core.reference import train_slowly
from tokstudio import Corpus
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import finish
from tokstudio.core.base.resources import DEMO_SENTENCES, SAMPLES, resource, sample_parts, sample_rows, sample_text
from tokstudio.core.corpus.rules import RULES, Gone, marks_work

SCRIPTS = ("Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Devanagari", "Han", "Hangul")
ICONS = sorted(resource("icons").glob("*.svg"))
NAMES = [
    "add", "check", "close", "copy", "cross", "delete", "enlarge", "export", "filter", "find", "first", "folder",
    "help", "ids", "info", "last", "next", "open", "paste", "pause", "previous", "redo", "reload", "remove", "rename",
    "save", "step", "stop", "text", "tokenizer", "tokstudio", "train", "undo", "warning", "welcome", "whitespace",
]  # fmt: skip


def merge(text: bytes, merges: int) -> list[bytes]:
    """Byte pair encoding by recounting everything; of equal pairs the first in the text wins."""
    recount = train_slowly([text], 256 + merges)
    return [recount.tokens[token] for token in recount.documents[0]]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.key)
def test_a_sample_is_plain_utf8_with_unix_line_ends(sample):
    data = resource(sample.file).read_bytes()
    text = data.decode("utf-8")
    assert sample_text(sample.key) == text
    assert text.endswith("\n")
    assert "\r" not in text
    assert not text.startswith("\ufeff")
    assert "\ufffd" not in text
    assert sample.title
    assert sample.description.endswith(".")


def test_a_sample_has_the_size_it_promises():
    sizes = {"article": (28, 34), "scripts": (6, 12), "python": (3, 5), "rubbish": (190, 205)}
    assert [sample.key for sample in SAMPLES] == list(sizes)
    for key, (least, most) in sizes.items():
        assert least * 1000 <= len(sample_text(key).encode()) <= most * 1000


def test_the_parts_of_a_sample_are_its_text():
    parts = sample_parts("scripts")
    assert "".join(text for _, text in parts) == sample_text("scripts")
    assert [name for name, _ in parts][:2] == ["English", "Russian"]
    assert len(parts) == 8
    assert parts[7][1].startswith("한국어\n")
    assert sample_parts("article") == ()
    assert sample_rows("article") == ()


# What a person would say is rubbish in the sample, each by another means than the rule that finds it.
_OFTEN = ("We use cookies to make", "Share this page with a", "All rights reserved. R")
_AGAIN = re.compile(r"(?:ha){9}|(?:=-){9}|\.{30}|(?:very ){9}|(?:na ){9}|(?:\+----){9}")
_PLANTED = {
    "blobs": lambda line, _: line.startswith("data:image/png;base64,") or re.fullmatch("[0-9a-f]{1800}", line),
    "repetition": lambda line, _: _AGAIN.match(line),
    "mojibake": lambda line, _: re.search("[ÂÃ][\x80-¿]", line),
    "repeated-lines": lambda line, seen: line.startswith(_OFTEN) and line[:22] in seen,
}


def test_rules_find_the_rubbish_of_the_sample_and_nothing_else():
    rows = sample_rows("rubbish")
    assert f"in {len(rows)} documents" in next(sample.description for sample in SAMPLES if sample.key == "rubbish")
    first = {row: number for number, row in reversed(list(enumerate(rows)))}
    again = {number for number, row in enumerate(rows) if first[row] < number}
    planted, seen = {rule: set() for rule in _PLANTED}, set()
    for document, row in enumerate(rows):
        for number, line in enumerate(row.split("\n") if document not in again else ()):
            for rule, finds in _PLANTED.items():
                if finds(line, seen):
                    planted[rule].add((document, number))
            seen.add(line[:22])
    corpus, found = Corpus.from_texts(rows), {}
    gone = Gone(corpus.sources)
    for rule in RULES:
        marks = finish(marks_work(corpus, rule, gone=gone))
        gone.add(marks)
        if len(marks):
            found[rule] = set(zip(marks.document.tolist(), marks.line.tolist(), strict=True))
    assert found == {"duplicates": {(document, -1) for document in again}, **planted}
    assert min(map(len, found.values())) > 5


def test_the_eight_scripts_are_exactly_eight_and_tell_the_same_story():
    text = sample_text("scripts")
    stories = text.strip().split("\n\n\n")
    assert len(stories) == 8
    assert {story.count("\n\n") for story in stories} == {5}  # a name, a title and four paragraphs
    for story, script in zip(stories, SCRIPTS, strict=True):
        assert all(regex.match(rf"\p{{Script={script}}}", one) for one in regex.findall(r"\p{Letter}", story)), script
    letters = len(regex.findall(r"\p{Letter}", text))
    found = {script: len(regex.findall(rf"\p{{Script={script}}}", text)) for script in SCRIPTS}
    assert min(found.values()) > 200
    # Hindi and Arabic marks are not letters, so the sum of the scripts may exceed the letters, never miss one.
    assert sum(len(regex.findall(rf"[\p{{Letter}}&&\p{{Script={s}}}]", text, regex.V1)) for s in SCRIPTS) == letters


def test_the_python_sample_runs_and_counts(tmp_path):
    sample = resource("corpora/word_count.py")
    names = {"__name__": "word_count"}
    exec(compile(sample.read_text(encoding="utf-8"), str(sample), "exec", dont_inherit=True), names)
    assert list(names["split_words"]("Don't say 'yes', ever!")) == ["don't", "say", "yes", "ever"]
    text = tmp_path / "text.txt"
    text.write_text("one two two\nthree\n", encoding="utf-8")
    report = names["read_files"]([str(text)])
    assert (report.lines, report.total, report.distinct, report.once_only()) == (2, 4, 3, ["one", "three"])


def test_the_worked_example_of_the_article_is_right():
    article = sample_text("article")
    example = b"pepper, paper, piper"
    for merges, tokens in [(1, 16), (2, 13), (5, 7)]:
        pieces = merge(example, merges)
        assert len(pieces) == tokens
        assert b"|".join(pieces).decode() in article.splitlines()
    assert max(Counter(pairwise(pieces)).values()) == 1
    assert f"{len(example) / len(pieces):.2f} bytes" in article
    pair, count = Counter(pairwise(article.encode())).most_common(1)[0]
    assert bytes(pair) == b"e "
    assert f"the letter e with a space after it, {count} times over" in article
    stories = dict(story.split("\n\n", 1) for story in sample_text("scripts").strip().split("\n\n\n"))
    assert (len(stories["English"].encode()), len(stories["हिन्दी"].encode())) == (956, 2325)
    assert "is 956 bytes long and the Hindi one 2,325" in article


def test_demo_sentences_show_several_scripts_and_a_joined_emoji():
    texts = [text for _, text in DEMO_SENTENCES]
    together = "".join(texts)
    present = [script for script in (*SCRIPTS, "Katakana") if regex.search(rf"\p{{Script={script}}}", together)]
    assert len(present) >= 6
    assert "\u200d" in together
    assert regex.search(r"\p{Emoji_Modifier}", together)
    assert len({title for title, _ in DEMO_SENTENCES}) == len(DEMO_SENTENCES)
    assert all(text == text.strip() and 20 < len(text) < 120 for text in texts)


def test_every_icon_is_there_draws_something_and_has_no_colour_of_its_own(qapp):
    assert sorted(NAMES) == [icon.stem for icon in ICONS]
    for icon in ICONS:
        renderer = QSvgRenderer(QByteArray(icon.read_bytes().replace(b"currentColor", b"#FF0000")))
        assert renderer.isValid(), icon
        assert renderer.viewBox().width() == renderer.viewBox().height(), icon
        image = QImage(16, 16, QImage.Format.Format_ARGB32_Premultiplied)
        image.fill(QColor(0, 0, 0, 0))
        painter = QPainter(image)
        renderer.render(painter)
        painter.end()
        assert any(image.pixelColor(x, y).alpha() > 0 for x in range(16) for y in range(16)), icon
        if icon.stem != "tokstudio":
            text = icon.read_text(encoding="utf-8")
            paints = set(re.findall(r'(?:fill|stroke|color)="([^"]*)"', text))
            assert "currentColor" in paints, icon
            assert paints <= {"currentColor", "none"}, icon
            assert not {"style", "#"} & {part for part in ("style", "#") if part in text}, icon


def test_a_bundle_is_asked_first_and_a_missing_resource_says_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(TokStudioError, match=r"icons/unicorn\.svg: .* Install TokStudio again\."):
        resource("icons/unicorn.svg")
    bundled = tmp_path / "tokstudio" / "resources" / "icons" / "open.svg"
    bundled.parent.mkdir(parents=True)
    bundled.write_text("<svg/>", encoding="utf-8")
    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path), raising=False)
    assert resource("icons/open.svg") == bundled
