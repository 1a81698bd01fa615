"""The dots of Compare as vector drawings."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from tokstudio import ByteTokenizer, Comparison, Corpus, TrainingConfig, compare, train
from tokstudio.core.comparison.figures import FIGURES
from tokstudio.gui.panes.compare.dots import Dots
from tokstudio.gui.panes.compare.matrix import MatrixContent
from tokstudio.gui.style.theme import LIGHT, Theme

TEXTS = {f"<text & {number}>": [f"the cat {'sat ' * number}"] * 2 for number in range(40)}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    own = train(Corpus.from_text("the cat sat"), TrainingConfig(vocabulary_size=260))
    return compare({"own <b>": own, "bytes": ByteTokenizer()}, TEXTS, base="<text & 3>")


def picture(comparison: Comparison, theme: Theme, is_pdf: bool = False, about: str = "facts <of> it & more") -> bytes:
    content = MatrixContent(comparison, FIGURES["premium"], None, (1, None))
    return Dots(theme).picture(content, about, is_pdf=is_pdf)


def test_a_drawing_has_all_texts_the_base_the_sizes_and_what_it_is_of(qtbot, comparison):
    drawn = picture(comparison, Theme("dark"))
    root = ElementTree.fromstring(drawn)
    name = "{http://www.w3.org/2000/svg}"
    texts = [each.text.strip() for each in root.iter(f"{name}text")]
    assert set(TEXTS) <= set(texts), "also those that a window would not show"
    assert {"own <b> (260 tokens)", "bytes (256 tokens)"} <= set(texts)
    heading = comparison.table("premium").heading
    assert heading == "Premium = N / N(<text & 3>). Unit: times the tokens of the base"
    assert heading in texts
    assert root.find(f"{name}title").text == heading
    assert root.find(f"{name}desc").text == "facts <of> it & more"
    assert drawn == picture(comparison, Theme("light")), "light colours, whatever the window has"
    renderer = QSvgRenderer(drawn)
    image = QImage(renderer.defaultSize(), QImage.Format.Format_RGB32)
    image.fill(0)
    with QPainter(image) as painter:
        renderer.render(painter)
    assert image.pixelColor(2, 2).name().upper() == LIGHT.surface
    colours = np.frombuffer(image.constBits(), np.uint32) & 0xFFFFFF
    assert int(LIGHT.curves[0].removeprefix("#"), 16) in colours


def test_a_page_of_pdf_has_the_same_size_and_metadata_that_are_xml(qtbot, comparison):
    drawn = picture(comparison, Theme("light"))
    page = picture(comparison, Theme("light"), is_pdf=True, about="tokenizer: own <b> (260 tokens) & more")
    assert page.startswith(b"%PDF-")
    width, height = re.search(rb'viewBox="0 0 (\d+) (\d+)"', drawn).groups()
    box = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", page).groups()
    assert [float(each) for each in box] == [float(width), float(height)]
    assert page.count(b"/Type /Page\n") == 1
    metadata = re.search(rb"<x:xmpmeta.*?</x:xmpmeta>", page, re.DOTALL)[0].decode()
    listed = [each.text for each in ElementTree.fromstring(metadata).iter() if each.tag.endswith("}li")]
    assert listed == [comparison.table("premium").heading, "tokenizer: own <b> (260 tokens) & more"]
    assert b"/Subtype /Image" not in page, "it is a vector drawing"


def test_a_figure_without_numbers_is_drawn_without_dots(qtbot, comparison):
    content = MatrixContent(comparison, FIGURES["words_split"], None, (1, None))
    assert np.isnan(content.table.values).all()
    assert b"Words split" in Dots(Theme("light")).picture(content, "", is_pdf=False)
