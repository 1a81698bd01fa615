"""The text of a page. It reads nothing but the pictures of the guide, follows no link and runs no script."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from string import Template

from PySide6.QtCore import QSize, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QImage, QKeyEvent, QResizeEvent, QTextDocument
from PySide6.QtWidgets import QTextBrowser

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.resources import resource
from tokstudio.core.guide.glossary import to_html
from tokstudio.core.guide.pages import FOLDER
from tokstudio.gui.style.theme import Theme

_MARGIN = 8  # pixels, left and right of a picture together
_STYLE = Template("""
body, p, li, td { line-height: 125%; }
h1 { font-size: x-large; font-weight: 600; margin: 4px 0 8px 0; }
h2 { font-size: large; font-weight: 600; margin: 18px 0 4px 0; }
h3 { font-size: medium; font-weight: 600; margin: 12px 0 4px 0; }
p { margin: 0 0 10px 0; }
p.picture { line-height: 100%; }
li { margin: 0 0 4px 0; }
a { color: $accent; text-decoration: underline; }
code, pre { font-family: "$mono"; background-color: $hover; }
pre { margin: 0 0 10px 0; }
th { text-align: left; padding: 2px 12px 2px 0; color: $muted; font-weight: 600; }
td { padding: 2px 12px 2px 0; }
table.try { margin: 6px 0 12px 0; }
table.try td { background-color: $accent_soft; padding: 10px 10px 0 10px; }
""")


class Browser(QTextBrowser):
    """Shows Markdown, in the colours and sizes of the window."""

    asked = Signal(str)  # the target of a link, by click or with Enter
    went = Signal(int)  # back (-1) or forward (1), by keyboard or by a button of the mouse

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._text = ""
        self._drawn_at = 0  # the width that the pictures fit
        # Later: the scroll bar appears within `setHtml`, which would run twice.
        self._refit = QTimer(self, singleShot=True, interval=0)
        self._refit.timeout.connect(self._restyle)
        self.setOpenLinks(False)
        self.setOpenExternalLinks(False)
        self.setAccessibleName("Page of the guide")
        self.setMinimumWidth(1)
        self.document().setDocumentMargin(2)
        self.setFrameShape(QTextBrowser.Shape.NoFrame)
        self.anchorClicked.connect(self._click)
        theme.changed.connect(self._restyle)

    def show_text(self, text: str, anchor: str = "", at: int = 0) -> None:
        """Shows a page from its top, from a title, or from where it was left."""
        self._text, self._drawn_at = text, self.width()
        roles = {role: getattr(self._theme.palette, role) for role in ("accent", "accent_soft", "hover", "muted")}
        mono = self._theme.monospace_font().family()
        self.document().setDefaultStyleSheet(_STYLE.substitute(roles, mono=mono))
        self.setHtml(to_html(text, lambda target, words: f'<a href="{target}">{words}</a>', self._picture))
        self.verticalScrollBar().setValue(at)
        if anchor:
            self.scrollToAnchor(anchor)

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        """Gives a picture of the guide in the colours of the theme, at the width of the page; nothing else is read."""
        file = QUrl(name).toString()
        if kind == QTextDocument.ResourceType.ImageResource.value and file == Path(file).name:
            image = QImage(str(self._file(file)))
            if not image.isNull():
                # It is drawn at twice its size.
                ratio = self.devicePixelRatioF()
                width = max(1, min(image.width() // 2, self._room()))
                image = image.scaledToWidth(round(width * ratio), Qt.TransformationMode.SmoothTransformation)
                image.setDevicePixelRatio(ratio)
                return image
        return None

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fits the pictures to the new width."""
        super().resizeEvent(event)
        if self.width() != self._drawn_at and "![" in self._text:
            self._refit.start()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Alt+Left and Alt+Right go back and forward, as Backspace goes back."""
        alt = event.modifiers() == Qt.KeyboardModifier.AltModifier
        if (alt and event.key() == Qt.Key.Key_Left) or event.key() == Qt.Key.Key_Backspace:
            self.went.emit(-1)
        elif alt and event.key() == Qt.Key.Key_Right:
            self.went.emit(1)
        else:
            super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        """Takes what room there is."""
        return QSize(300, 300)

    def _click(self, url: QUrl) -> None:
        self.asked.emit(url.toString())

    def _restyle(self) -> None:
        self.show_text(self._text, at=self.verticalScrollBar().value())

    def _room(self) -> int:
        """The width for a picture beside a scroll bar, so that its size does not depend on whether there is one."""
        bar = self.verticalScrollBar()
        return self.viewport().width() - _MARGIN - (0 if bar.isVisible() else bar.sizeHint().width())

    def _picture(self, file: str, description: str) -> str:
        return f'<img src="{file}" alt="{description}">'

    def _file(self, name: str) -> Path:
        themed = name.replace(".png", "-dark.png") if self._theme.palette.dark else name
        try:
            return resource(f"{FOLDER}/pictures/{themed}")
        except TokStudioError:
            return Path()
