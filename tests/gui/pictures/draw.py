"""Draws all pictures of the window, in processes of their own: `python draw.py FOLDER`.

The font comes from a package, the texts from here, and the settings from nowhere: two computers draw the same.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

LATIN = "The baker's clever daughter counted thirty-seven warm loaves before the bells rang."
RIGHT_TO_LEFT_FONT = "Noto Sans Hebrew"  # of the system: no package has such a font
QUIET = 15  # turns of the event loop without a job, after which nothing more is drawn
HEBREW = "בתו הפיקחת של האופה ספרה שלושים ושבע כיכרות חמות לפני שצלצלו הפעמונים."


class Picture(NamedTuple):
    """How the window looks in a picture.

    Attributes:
        theme: "light" or "dark".
        width: Pixels at scale 1.
        height: Pixels at scale 1.
        scale: Pixels of the screen for each of these.
        text: The text in the Text pane.
        pane: The pane that is brought to the front, or "".
        workspace: The name of the workspace.
    """

    theme: str
    width: int = 1440
    height: int = 900
    scale: int = 1
    text: str = LATIN
    pane: str = ""
    workspace: str = "train"


PICTURES = {
    "light": Picture("light"),
    "dark": Picture("dark", workspace="learn"),
    "right-to-left": Picture("light", text=HEBREW, pane="why"),
    "small-light": Picture("light", 1024, 640),
    "small-dark": Picture("dark", 1024, 640, pane="vocabulary"),
    "double": Picture("light", 1024, 640, 2, pane="distribution"),
}


def prepare() -> QApplication:
    """Makes the application, with the font of all pictures."""
    import font_source_sans_pro
    from PySide6.QtGui import QFont, QFontDatabase

    from tokstudio.gui.app import app
    from tokstudio.gui.session.common.jobs import Pauses
    from tokstudio.gui.session.session import Session
    from tokstudio.gui.style import theme

    # What a person would not see before is drawn at once.
    short = {name: 5 for name, pause in asdict(Pauses()).items() if pause < 1000}
    app.Session = partial(Session, pauses=replace(Pauses(), **short))
    application = app.make_application()
    files = Path(str(font_source_sans_pro.__file__)).parent / "files"
    for weight in ("Regular", "Semibold", "Bold"):
        assert QFontDatabase.addApplicationFont(str(files / f"SourceSansPro-{weight}.ttf")) >= 0
    font = QFont(["Source Sans Pro", RIGHT_TO_LEFT_FONT])
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    application.setFont(font)
    # Tokens have it too, in place of the system's font of fixed pitch.
    theme.monospace_font = theme.tabular_font
    return application


def can_draw(picture: Picture) -> bool:
    """Whether the fonts that its text needs are installed."""
    from PySide6.QtGui import QFontDatabase

    return picture.text.isascii() or RIGHT_TO_LEFT_FONT in QFontDatabase.families()


def draw(scale: int, folder: Path) -> None:
    """Draws all pictures of a scale in one window; a process can have only one scale."""
    os.environ["QT_SCALE_FACTOR"] = str(scale)
    application = prepare()
    pictures = {key: one for key, one in PICTURES.items() if one.scale == scale and can_draw(one)}
    first = next(iter(pictures.values()))
    from tokstudio.gui.app.app import Studio
    from tokstudio.gui.session.preferences import Preferences

    def settle(done: Callable[[], bool], turns: int = 5) -> None:
        until, quiet = time.monotonic() + 60, 0
        while quiet < turns:
            busy = [job.progress for job in studio.session.jobs.running]
            assert time.monotonic() < until, f"no rest: {busy}, {session.training.state}, {window.messages.text.text()}"
            quiet = quiet + 1 if done() and not studio.session.jobs.running else 0
            application.processEvents()
            time.sleep(0.004)

    with tempfile.TemporaryDirectory() as settings:
        studio = Studio(application, Preferences(Path(settings) / "settings.ini"))
        window, session = studio.window, studio.session
        window.resize(first.width, first.height)
        studio.show()
        settle(lambda: window.isVisible())
        window.commands.train_sample("article")
        settle(lambda: session.training.current is None and session.runs.active is not None)
        session.view.set_playhead(312)
        session.view.look_at(500)
        for key, picture in pictures.items():
            window.actions_by_id[f"theme_{picture.theme}"].trigger()
            session.view.set_text(picture.text)
            window.show_workspace(picture.workspace)
            if window.size().toTuple() != (picture.width, picture.height):
                window.resize(picture.width, picture.height)
                settle(lambda: True)
                window.reset_layout()
            for pane in window.panes:
                if pane.objectName() == picture.pane:
                    pane.raise_()
            settle(lambda: True, QUIET)
            # How long the training took is not the same twice.
            window.status.label.setText("")
            window.grab().save(str(folder / f"{key}.png"), "PNG")
        for run in session.runs.all:
            run.note(exported=True)
        window.close()
        studio.close()


if __name__ == "__main__":
    from tokstudio import Corpus, TrainingConfig, train
    from tokstudio.core.base.progress import finish
    from tokstudio.core.warm_up import prepare_work
    from tokstudio.gui.app import app  # noqa: F401
    from tokstudio.gui.plot import chart  # noqa: F401
    from tokstudio.gui.window.panes import KINDS

    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    # Once for all scales: what the start of a window loads, and the compiled loops.
    for kind in KINDS.values():
        import_module(f"tokstudio.gui.panes.{kind.rpartition('.')[0]}")
    finish(prepare_work())
    train(Corpus.from_text(LATIN), TrainingConfig(vocabulary_size=260)).encode(LATIN)
    for scale in sorted({picture.scale for picture in PICTURES.values()}):
        if not (process := os.fork()):
            draw(scale, Path(sys.argv[1]))
            sys.exit()
        if code := os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]):
            sys.exit(f"scale {scale}: exit code {code}")
