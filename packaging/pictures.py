"""Draws the pictures of the guide from the program itself, and writes the guide as one file: run by `dev.py pictures`.

Each picture is drawn in light and dark at twice its size. `labels.json` lists the words of the program that each shows.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ast
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from PySide6.QtGui import QImage
    from PySide6.QtWidgets import QWidget

    from tokstudio.gui.app.app import Studio

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "resources" / "guide" / "pictures"
PAGE = ROOT / "docs" / "guide.html"
JAPANESE = "カメラを持って、妹と静かな海辺を歩きました。"
JAPANESE_FONT = "Noto Sans CJK JP"
QUIET = 40  # turns of the event loop without a job, after which nothing more is drawn


class Picture(NamedTuple):
    """A pane, its size in pixels, the playhead, and what else is set before."""

    pane: str
    width: int
    height: int
    playhead: int = 744
    before: Callable[[Studio], object] = lambda studio: None


def _ask_why(studio: Studio) -> None:
    studio.session.view.look_at(256 + 29)
    studio.window.actions_by_id["why_merge"].trigger()


def _choose_pattern(studio: Studio) -> None:
    from dataclasses import replace

    studio.session.training.set_settings(replace(studio.session.training.settings, pattern="gpt2"))


def _look_at_origin(studio: Studio) -> None:
    from PySide6.QtWidgets import QApplication

    studio.window.commands.train_sample("rubbish")
    while studio.session.training.current is not None:
        QApplication.processEvents()
        time.sleep(0.01)
    (token,) = studio.session.view.tokenizer.tokens.spelling(b"rundlepo")
    studio.session.view.look_at(token)
    studio.window.token.tabs.setCurrentIndex(2)


PICTURES = {
    "token": Picture("text", 420, 330),
    "merges": Picture("merges", 420, 330, 16),
    "curve": Picture("compression", 420, 300, 312),
    "why": Picture("why", 420, 380, 30, _ask_why),
    "sizes": Picture("sizes", 480, 390),
    "japanese": Picture("text", 420, 400, 744, lambda studio: studio.session.view.set_text(JAPANESE)),
    "pattern": Picture("configure", 420, 420, 744, _choose_pattern),
    "origin": Picture("token", 420, 360, 744, _look_at_origin),
}


def constants() -> set[str]:
    """All texts in the program, without the marks of mnemonics."""
    files = (ROOT / "tokstudio").rglob("*.py")
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return {text.replace("&", "") for text in texts}


def texts_of(pane: QWidget) -> Iterator[str]:
    """The texts that can be seen in a pane."""
    from PySide6.QtCore import Qt
    from PySide6.QtWidgets import QAbstractButton, QHeaderView, QLabel, QLineEdit, QTabBar, QWidget

    for widget in pane.findChildren(QWidget):
        if widget.visibleRegion().isEmpty():
            continue
        if isinstance(widget, QLabel | QAbstractButton):
            yield widget.text()
        elif isinstance(widget, QLineEdit):
            yield widget.placeholderText()
        elif isinstance(widget, QTabBar):
            yield from (widget.tabText(tab) for tab in range(widget.count()))
        elif isinstance(widget, QHeaderView) and widget.orientation() == Qt.Orientation.Horizontal:
            shown = (part for part in range(widget.count()) if not widget.isSectionHidden(part))
            yield from (str(widget.model().headerData(part, Qt.Orientation.Horizontal)) for part in shown)


def with_few_colours(image: QImage) -> QImage:
    """The image in its 256 most frequent colours, so that its file is small."""
    import numpy as np
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QImage

    image = image.convertToFormat(QImage.Format.Format_RGB32)
    colours, counts = np.unique(np.frombuffer(image.constBits(), np.uint32), return_counts=True)
    table = (colours[np.argsort(-counts)[:256]] | 0xFF000000).tolist()
    flags = Qt.ImageConversionFlag.ThresholdDither | Qt.ImageConversionFlag.AvoidDither
    return image.convertToFormat(QImage.Format.Format_Indexed8, table, flags)


def draw(theme: str) -> dict[str, list[str]]:
    """Draws all pictures in one theme; returns the labels of each."""
    from PySide6.QtWidgets import QApplication

    from tokstudio.gui.app.app import Studio
    from tokstudio.gui.session.preferences import Preferences

    application = QApplication.instance()
    assert isinstance(application, QApplication)
    known, labels = constants(), dict[str, list[str]]()

    def settle() -> None:
        until, quiet = time.monotonic() + 60, 0
        while quiet < QUIET:
            assert time.monotonic() < until, "the window does not come to rest"
            rests = not studio.session.jobs.running and studio.session.training.current is None
            quiet = quiet + 1 if rests else 0
            QApplication.processEvents()
            time.sleep(0.01)

    with tempfile.TemporaryDirectory() as folder:
        studio = Studio(application, Preferences(Path(folder) / "settings.ini"))
        window, session = studio.window, studio.session
        window.actions_by_id[f"theme_{theme}"].trigger()
        studio.show()
        window.commands.train_sample("article")
        settle()
        for name, picture in PICTURES.items():
            pane = next(pane for pane in window.panes if pane.objectName() == picture.pane)
            pane.setFloating(True)
            pane.show()
            pane.resize(picture.width, picture.height)
            settle()
            # Once it is seen: a table scrolls to the playhead only then.
            session.view.set_playhead(picture.playhead)
            picture.before(studio)
            settle()
            if (focus := pane.window().focusWidget()) is not None:
                focus.clearFocus()
                QApplication.processEvents()
            image = with_few_colours(pane.grab().toImage())
            assert image.save(str(FOLDER / f"{name}{'-dark' if theme == 'dark' else ''}.png"), "PNG", 0)
            found = (text.replace("&", "") for text in texts_of(pane))
            labels[name] = sorted({text for text in found if len(text) > 1 and text in known})
            pane.setFloating(False)
        for run in session.runs.all:
            run.note(exported=True)
        window.close()
        studio.close()
    return labels


def main() -> None:
    """Draws, lists the labels, and writes the page."""
    import font_source_sans_pro
    from PySide6.QtGui import QFont, QFontDatabase

    from tokstudio.core.base.progress import finish
    from tokstudio.core.guide.pages import one_file, read_pages
    from tokstudio.core.warm_up import prepare_work
    from tokstudio.gui.app.app import make_application

    FOLDER.mkdir(exist_ok=True)
    finish(prepare_work())
    application = make_application()
    files = Path(str(font_source_sans_pro.__file__)).parent / "files"
    for weight in ("Regular", "Semibold", "Bold"):
        QFontDatabase.addApplicationFont(str(files / f"SourceSansPro-{weight}.ttf"))
    if JAPANESE_FONT not in QFontDatabase.families():
        sys.exit(f"The pictures need the font {JAPANESE_FONT}; on Debian: apt-get install fonts-noto-cjk")
    application.setFont(QFont(["Source Sans Pro", JAPANESE_FONT]))
    labels = draw("light")
    assert draw("dark") == labels
    text = json.dumps(labels, ensure_ascii=False, indent=1)
    (FOLDER / "labels.json").write_text(f"{text}\n", encoding="utf-8", newline="\n")
    PAGE.write_text(one_file(read_pages()), encoding="utf-8", newline="\n")
    print(f"{len(labels)} pictures, light and dark; {PAGE.name}: {PAGE.stat().st_size:,} bytes")


if __name__ == "__main__":
    os.environ |= {"QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": "2"}
    sys.path.insert(0, str(ROOT))
    main()
