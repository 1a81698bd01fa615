"""The Guide pane: a list of pages, the way back, a search in all pages, and the page.

Links do only what a menu can: `do:ACTION`, `pane:NAME` or `pane:NAME#PART`, `merge:12`, `page:NAME`, `glossary:WORD`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from string import Template

from PySide6.QtCore import QPointF, QSignalBlocker, QSize, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QAction, QFont, QGuiApplication, QImage, QKeyEvent, QResizeEvent, QShowEvent, QTextDocument
from PySide6.QtWidgets import QComboBox, QFrame, QListWidget, QSizePolicy, QTextBrowser, QToolButton

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.resources import resource
from tokstudio.core.base.wording import several
from tokstudio.core.guide.glossary import read_words, to_html
from tokstudio.core.guide.pages import FOLDER, Page, read_pages, search
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import SearchEdit
from tokstudio.gui.widgets.labels import named
from tokstudio.gui.widgets.layouts import STRETCH, Fitting, row
from tokstudio.gui.widgets.menus import tool_button
from tokstudio.gui.widgets.pane import Pane

# --- The text of a page -----------------------------------------------------------------------------------------------
# It reads nothing but the pictures of the guide, follows no link and runs no script.

_MARGIN = 8  # pixels, left and right of a picture together
_HIGHEST = 3  # lines of text: what is higher is a picture
_APART = 60  # pixels between the places where a line that is cut is looked for
_MOST_CHARACTERS = 70  # of average width on a line; of English text, some more fit
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
        self._drawn: tuple[str, QFont, int] | None = None  # how the page looks, as of `_look`
        self._waiting: tuple[str, str, int] | None = None  # what is drawn when the page is seen
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
        self.verticalScrollBar().valueChanged.connect(self._end_at_line)
        theme.changed.connect(self._restyle)

    def show_text(self, text: str, anchor: str = "", at: int = 0) -> None:
        """Shows a page from its top, from a title, or from where it was left."""
        if not self.isVisible():
            self._waiting = text, anchor, at
            return
        self._text, self._drawn, self._waiting = text, self._look(), None
        self.document().setDefaultStyleSheet(self._drawn[0])
        self.setMaximumWidth(_MOST_CHARACTERS * self.fontMetrics().averageCharWidth() + 2 * _MARGIN)
        self.setHtml(to_html(text, lambda target, words: f'<a href="{target}">{words}</a>', self._picture))
        self.verticalScrollBar().setValue(at)
        if anchor:
            self.scrollToAnchor(anchor)
        self._end_at_line()

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
        super().resizeEvent(event)
        self._fit_pictures()
        self._end_at_line()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._waiting is not None:
            self.show_text(*self._waiting)
        self._fit_pictures()

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
        return QSize(300, 300)

    def _click(self, url: QUrl) -> None:
        self.asked.emit(url.toString())

    def _end_at_line(self) -> None:
        """Leaves the room below the last whole line empty; a picture may be cut, as an empty page would hide it."""
        margins, layout = self.viewportMargins(), self.document().documentLayout()
        room, top = self.viewport().height() + margins.bottom(), self.verticalScrollBar().value()
        end, cut = float(top + room), float(top + room)
        highest = _HIGHEST * self.fontMetrics().lineSpacing()
        if end < layout.documentSize().height():
            # The cells of a table may have lines at different heights.
            for x in range(_MARGIN, max(self.viewport().width(), _MARGIN + 1), _APART):
                at = layout.hitTest(QPointF(x, end), Qt.HitTestAccuracy.FuzzyHit)
                block = self.document().findBlock(max(at, 0))
                line = block.layout().lineForTextPosition(max(at, 0) - block.position())
                if line.isValid():
                    first = layout.blockBoundingRect(block).top() + line.y()
                    if first < end < first + line.height() and line.height() < highest:
                        cut = min(cut, first)
        bottom = int(end - cut + 0.999)
        if bottom != margins.bottom():
            margins.setBottom(bottom)
            self.setViewportMargins(margins)

    def _look(self) -> tuple[str, QFont, int]:
        """The style, the font and the width of a page that is drawn now."""
        roles = {role: getattr(self._theme.palette, role) for role in ("accent", "accent_soft", "hover", "muted")}
        style = _STYLE.substitute(roles, mono=self._theme.monospace_font().family())
        # A hidden page has a new font only when it is shown.
        return style, QGuiApplication.font(), self.width()

    def _fit_pictures(self) -> None:
        if self.isVisible() and "![" in self._text:
            self._refit.start()

    def _restyle(self) -> None:
        # The theme says that it has changed, too, when further panes have been made.
        if self._waiting is None and self._look() != self._drawn:
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


GLOSSARY = "glossary"
_OPENED = "token"  # the page at first; the article before it is long
_MOST_DIGITS = 18  # of a number in a link; Python refuses thousands
_FOUND = "Found pages"
_NOT_READ = "# The guide could not be read\n\n"
_BESIDE = 16  # pixels left and right of the list of pages
_TEXT = 1000  # the stretch of the text, so that the room beside it has only what is left
_MOST_KEPT = 100  # places to go back to


class GuidePane(Fitting, Pane):
    """Pages to read, with links that act on the window."""

    paneAsked = Signal(str)  # a pane to open, by its key, and a part of it after a #
    enlargeAsked = Signal()  # to fill the window, or to restore the layout
    acting = Signal()  # a link is about to change the rest of the window
    browserAsked = Signal(str)  # an address for the system's browser

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("guide", "Guide")
        self._jobs, self._view, self._runs = session.jobs, session.view, session.runs
        self._actions = actions
        self._pages: dict[str, Page] = {}
        self._problem = ""
        self._titled = True
        self._read()
        self.been: list[tuple[str, str, int]] = []  # page, title on it, and how far it was scrolled
        self._at = -1
        self.choice = named(QComboBox(), "Pages of the guide")
        self.choice.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.choice.setMaxVisibleItems(20)
        self.choice.setPlaceholderText(_FOUND)
        for page in self._pages.values():
            self.choice.addItem(page.title, page.name)
        self.search = SearchEdit(theme, "find", "Search", "Search the guide", "Search all pages of the guide")
        self.search.setMaxLength(100)
        self.search.setMinimumWidth(96)
        self.search.setMaximumWidth(240)
        self.browser = Browser(theme)
        self.header.addWidget(self.search)
        self.back = self._button("previous", "Back (Alt+Left)", lambda: self.go(-1), theme)
        self.forward = self._button("next", "Forward (Alt+Right)", lambda: self.go(1), theme)
        self.enlarge = self._button("enlarge", "Enlarge, or show the other panes again", self.enlargeAsked.emit, theme)
        # Where there is room beside the text, the pages are listed there, and the text is in the middle.
        self.contents = named(QListWidget(), "Contents of the guide")
        self.contents.setFrameShape(QFrame.Shape.NoFrame)
        self.contents.addItems([page.title for page in self._pages.values()])
        self.contents.currentRowChanged.connect(self._choose)
        self.body.addWidget(self.choice)
        self.body.addLayout(row(self.contents, STRETCH, (self.browser, _TEXT), STRETCH), 1)
        self.choice.activated.connect(self._choose)
        self.search.textChanged.connect(self._search)
        self.search.left.connect(self.browser.setFocus)
        self.browser.asked.connect(self.follow)
        self.browser.went.connect(self.go)
        self.show_page(_OPENED if _OPENED in self._pages else next(iter(self._pages), ""))

    def show_title(self, shown: bool) -> None:
        self._titled = shown
        self.fit()

    def fit(self) -> None:
        """Leaves the room of the title to the search where the pane is narrow."""
        beside = (self.back, self.forward, self.enlarge)
        needed = self.search.minimumWidth() + sum(button.sizeHint().width() for button in beside)
        margins = self.header.contentsMargins()
        needed += self.title.sizeHint().width() + 5 * self.header.spacing() + margins.left() + margins.right()
        self.title.setVisible(self._titled and needed <= self.width())
        wide = self.contents.sizeHintForColumn(0) + 2 * _BESIDE
        self.contents.setFixedWidth(wide)
        lists = bool(self._pages) and self.width() >= wide + self.browser.maximumWidth() + 2 * _BESIDE
        self.contents.setVisible(lists)
        self.choice.setVisible(not lists)

    @property
    def page(self) -> str:
        """The name of the page that is shown, or was before a search."""
        return self.been[self._at][0] if self.been else ""

    # ---- pages

    def show_page(self, name: str, anchor: str = "") -> None:
        """Shows a page, from a title on it if one is named; the way back leads to the page before."""
        if name not in self._pages:
            self._show_missing(name)
            return
        if self.been and not self.search.text():
            self.been[self._at] = (*self.been[self._at][:2], self.browser.verticalScrollBar().value())
        if (name, anchor) != (self.been[self._at][:2] if self.been else None):
            del self.been[self._at + 1 :]
            self.been = [*self.been, (name, anchor, 0)][-_MOST_KEPT:]
            self._at = len(self.been) - 1
        self._show()

    def explain(self, word: str) -> None:
        """Shows a word of the glossary."""
        self.show_page(GLOSSARY, word)
        if word and word not in read_words():
            self._jobs.refuse(f"The glossary has no word “{word}”.")

    def go(self, step: int) -> None:
        """Goes back (-1) or forward (1)."""
        if 0 <= self._at + step < len(self.been):
            self.been[self._at] = (*self.been[self._at][:2], self.browser.verticalScrollBar().value())
            self._at += step
            self._show()

    # ---- links

    def follow(self, target: str) -> None:
        """Does what a link asks for; an unknown one does nothing."""
        kind, _, what = target.partition(":")
        if kind in ("do", "merge"):
            self.acting.emit()
        if kind == "do":
            self._do(what)
        elif kind == "page":
            self.show_page(*what.split("#", 1))
        elif kind == GLOSSARY:
            self.explain(what)
        elif kind == "pane":
            self.paneAsked.emit(what)
        elif kind == "merge" and what.isdecimal() and len(what) <= _MOST_DIGITS:
            self._go_to_merge(int(what))
        elif kind == "https":
            self.browserAsked.emit(target)

    def _do(self, name: str) -> None:
        action = self._actions.get(name)
        if action is None:
            return
        if not action.isEnabled():
            self._jobs.refuse(action.toolTip())
        elif not action.isChecked():  # what is on stays on
            action.trigger()

    def _go_to_merge(self, number: int) -> None:
        run = self._runs.active
        if run is None or not len(run):
            self._jobs.refuse("Train first: there are no merges yet.")
        elif number > len(run):
            self._jobs.refuse(f"The run has {several(len(run), 'merge')}, so there is no merge {number:,}.")
        elif number:
            self._view.set_playhead(number)
            self._view.look_at(run.id_of_merge(number))
            self.paneAsked.emit(f"merges#{number}")

    def _read(self) -> None:
        try:
            self._pages = {page.name: page for page in read_pages()}
        except TokStudioError as error:
            self._problem = str(error)

    def _show(self) -> None:
        name, anchor, at = self.been[self._at]
        with QSignalBlocker(self.search):
            self.search.clear()
        at_page = self.choice.findData(name)
        self.choice.setCurrentIndex(at_page)
        with QSignalBlocker(self.contents):
            self.contents.setCurrentRow(at_page)
        self.browser.show_text(self._pages[name].text + self._next_of(name), "" if at else anchor, at)
        self.back.setEnabled(self._at > 0)
        self.forward.setEnabled(self._at + 1 < len(self.been))

    def _next_of(self, name: str) -> str:
        names = list(self._pages)
        after = names[names.index(name) + 1 :][:1]
        return f"\n\nNext: [{self._pages[after[0]].title}](page:{after[0]})" if after else ""

    def _show_missing(self, name: str) -> None:
        if self._pages:
            self._jobs.refuse(f"The guide has no page “{name}”.")
            return
        self.browser.show_text(_NOT_READ + self._problem)
        for control in (self.choice, self.contents, self.search, self.back, self.forward):
            control.setEnabled(False)

    def _choose(self, number: int) -> None:
        self.show_page(self.choice.itemData(number))

    def _search(self, query: str) -> None:
        if not query.strip():
            self._show()
            return
        pages = search(list(self._pages.values()), query)
        lines = [f"### [{one.page.title}](page:{one.page.name}#{one.title})\n\n{_escaped(one.around)}" for one in pages]
        said = f"{several(len(pages), 'page')} with this" if pages else "No page has this. Try another word."
        # No page is chosen, so that every page can be, also the one before the search.
        self.choice.setCurrentIndex(-1)
        with QSignalBlocker(self.contents):
            self.contents.setCurrentRow(-1)
        self.browser.show_text("\n\n".join([f"# {said}", *lines]))

    def _button(self, drawing: str, tip: str, act: Callable[[], object], theme: Theme) -> QToolButton:
        name = re.split(r"[ ,]", tip)[0]
        button = tool_button(tip, icon(drawing, theme), name=name, clicked=lambda: act())
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.header.addWidget(button)
        return button


def _escaped(text: str) -> str:
    return text.translate(str.maketrans("", "", "*`[]"))
