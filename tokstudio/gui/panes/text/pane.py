"""The Text pane: encodes a text, decodes ids, shows the steps of an encoding, and renders messages, at the playhead.

Before there is a run, and a text in it, it shows the corpus to read. Its pages are in files of their own.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import weakref
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QDragEnterEvent, QDragMoveEvent, QDropEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QFrame, QLabel, QWidget

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.resources import DEMO_SENTENCES, sample_text
from tokstudio.core.base.wording import printable, size_text
from tokstudio.core.corpus.open_sources import read_source
from tokstudio.core.corpus.source import Source
from tokstudio.core.corpus.statistics import PREVIEW_BYTES, preview
from tokstudio.core.guide.glossary import explained
from tokstudio.gui.panes.text.chat_page import ChatPage
from tokstudio.gui.panes.text.encoding_job import LONGEST, text_work
from tokstudio.gui.panes.text.page import TextPage
from tokstudio.gui.panes.text.pages import DecodePage, EncodePage
from tokstudio.gui.panes.text.steps_page import STEP_KEYS, StepsPage
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import problem_of
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import WholeLines
from tokstudio.gui.widgets.fields import say
from tokstudio.gui.widgets.file_dialogs import path_of
from tokstudio.gui.widgets.labels import ElidedLabel, named, paragraph_label, plain, set_word
from tokstudio.gui.widgets.layouts import Fitting, column, set_tab_order, stacked
from tokstudio.gui.widgets.menus import Menu, button_of, offer_actions, tool_button
from tokstudio.gui.widgets.pane import HeaderTabs, Pane

_ICON = 16
_ARTICLE = "article"
_LINES = 2000  # of a text to read
_MENU = ("why_not_one_token", "copy", "copy_ids")  # for the pieces
_ROLES = {"": "muted", "busy": "muted", "good": "good", "bad": "error"}
_ICONS = {"good": "check", "bad": "cross"}
_TABS = {
    "Encode": explained("Text to tokens", "encoding"),
    "Decode": explained("Ids to text", "decoding"),
    "Steps": "The encoding of the text, merge by merge",
    "Chat": "Messages to tokens, by the tokenizer's chat template",
}
_STEPS, _CHAT = 2, 3  # the numbers of their tabs; Chat has one only with a template

_Page = TypeVar("_Page", DecodePage, StepsPage, ChatPage)


class CorpusReader(QWidget):
    """The first text of the corpus to read, or the sample article while there is none."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self._corpus, self._theme = session.corpus, theme
        self._shown: weakref.ref[Source] | None = None  # a removed source is released
        self.headline = ElidedLabel("headline")
        self.text = named(WholeLines(readOnly=True), "Text to read")
        self.text.setFrameShape(QFrame.Shape.NoFrame)
        self.note = paragraph_label("muted")
        column(self.headline, self.note, (self.text, 1), spacing=6, parent=self)
        session.corpus.sources_changed.connect(self.catch_up)

    def catch_up(self) -> None:
        """Shows what the corpus begins with."""
        source = self._corpus.sources[0] if self._corpus.sources else None
        shown = self._shown() if self._shown is not None else None
        if self.isHidden() or (shown is source and not self.text.document().isEmpty()):
            return
        self._shown = weakref.ref(source) if source is not None else None
        if source is None:
            title, text = sample_text(_ARTICLE).split("\n", 1)
            self.note.setText("An article to read, and a sample to train on.")
        else:
            title, text = source.name, preview(source, _LINES)
            # A line end after the last line is no more text.
            cut = len(source.data) > PREVIEW_BYTES or len(preview(source, _LINES + 2)) > len(text) + 1
            part = "The beginning of" if cut or source.counts is not None else "The whole text,"
            self.note.setText(f"{part} {size_text(source.bytes)}.")
        self.headline.setText(printable(title))
        self.text.setPlainText(text.strip())


class TextPane(Fitting, Pane):
    """Encode, Decode, Steps and Chat."""

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("text", "Text")
        self._view = session.view
        self._titled = True
        self._theme = theme
        self._needs = session, theme, actions
        self.encode = EncodePage(session, theme, actions)
        self.reader = CorpusReader(session, theme)
        self.pages = stacked(self.encode, self.reader)
        self.body.addWidget(self.pages)
        self._files = LatestJob(session.jobs, self, self._take_file, self._file_failed)
        self._target: TextPage = self.encode
        self.setAcceptDrops(True)
        self._step_keys = [self._step_key(name, sequence) for name, sequence in STEP_KEYS.items()]
        self._build_header(actions)
        self.encode.state_changed.connect(self._show_state)
        offer_actions(self.encode.view, [actions[name] for name in _MENU])
        theme.follow(self._show_state)
        self._runs = session.runs
        session.view.place_asked.connect(lambda: self.tabs.setCurrentIndex(0))
        for signal in (session.runs.changed, session.view.text_changed):
            signal.connect(self._choose_page)
        self._choose_page()

    @cached_property
    def decode(self) -> DecodePage:
        """The page Decode; like those below, it is made when it is first asked for."""
        page = DecodePage(*self._needs)
        return self._added(page, page.input, page.output, page.view)

    @cached_property
    def steps(self) -> StepsPage:
        """The page Steps."""
        page = StepsPage(*self._needs)
        offer_actions(page.view, [self._needs[2][name] for name in _MENU])
        return self._added(page, *page.order())

    @cached_property
    def chat(self) -> ChatPage:
        """The page Chat."""
        page = ChatPage(*self._needs)
        offer_actions(page.view, [self._needs[2][name] for name in _MENU if name.startswith("copy")])
        return self._added(page, *page.list.order(), page.view)

    def _added(self, page: _Page, *order: QWidget) -> _Page:
        self.pages.addWidget(page)
        page.state_changed.connect(self._show_state)
        # Else Tab would reach it after all other panes.
        set_tab_order(self.encode.ids, *order)
        return page

    @property
    def page(self) -> EncodePage | DecodePage | StepsPage | ChatPage:
        """The current page."""
        return getattr(self, ("encode", "decode", "steps", "chat")[max(self.tabs.currentIndex(), 0)])

    def arrive(self, part: str) -> None:
        self.tabs.setCurrentIndex(0)
        self.encode.input.setFocus()

    def copy(self) -> None:
        """Copies the text of the selected tokens, or all of it."""
        self.page.copy()

    def copy_ids(self) -> None:
        """Copies the ids of the selected tokens, or of all."""
        self.page.copy_ids()

    def sizeHint(self) -> QSize:
        return QSize(380, 460)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accepts one file, for its text."""
        _accepted_file(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        _accepted_file(event)

    def dropEvent(self, event: QDropEvent) -> None:
        path = _accepted_file(event)
        if path is not None:
            self.open_file(path)

    def show_title(self, shown: bool) -> None:
        self._titled = shown
        self.fit()

    def open_file(self, path: Path) -> None:
        """Reads a file in the background; its text goes to the current page, or to Encode."""
        if self.tabs.currentIndex() in (_STEPS, _CHAT):
            self.tabs.setCurrentIndex(0)
        self._target = self.encode if self.page is self.encode else self.decode
        self._target.tell(f"Reading {file_name(path)}…")
        self._files.run(lambda: _read_work(path))

    def _build_header(self, actions: Mapping[str, QAction]) -> None:
        self.tabs = HeaderTabs("Encode, decode, go through the steps, or chat", _TABS)
        self.tabs.currentChanged.connect(self._turn_to)
        self.tabs.tabBarClicked.connect(self._tab_clicked)
        self.header.insertWidget(1, self.tabs)
        self.state_icon, self.state_label = QLabel(), QLabel()
        for widget in (self.state_icon, self.state_label):
            set_word(widget, "round-trip")
        self.toggles = [button_of(actions[name]) for name in ("show_white_space", "show_ids")]
        menu = Menu(self)
        for name, sentence in DEMO_SENTENCES:
            menu.addAction(name).setData(sentence)
        menu.triggered.connect(self._take_sample)
        tip, drawing = "Samples: a sentence in another language", icon("text", self._theme, "muted")
        self.samples = tool_button(tip, drawing, name="Samples", menu=menu)
        for widget in (self.state_icon, self.state_label, *self.toggles, self.samples):
            self.header.addWidget(widget)
        for button in (*self.toggles, self.samples):
            button.setIconSize(QSize(_ICON, _ICON))
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        for widget in (self.state_label, *self.toggles):
            widget.setMinimumWidth(1)  # otherwise the current content would keep the pane from becoming narrower
        self.header.setSpacing(4)
        order: list[QWidget] = [self.tabs, *self.toggles, self.samples]
        set_tab_order(*order, self.encode.input, self.encode.view, self.encode.ids)

    def _step_key(self, name: str, sequence: str) -> QShortcut:
        """Goes to another step from anywhere in the pane while the page Steps is shown."""
        keys = QShortcut(QKeySequence(sequence), self)
        keys.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        keys.setEnabled(False)
        keys.activated.connect(lambda: self.steps.bar.buttons[name].click())
        return keys

    def ask_why_not(self) -> None:
        """Explains on the page Steps why the selection is not one token; of one piece or none, the word around it.

        If the text field has the focus, its selection counts, or the word at the cursor.
        """
        written = self.encode.input
        selection = None if written.hasFocus() else self._view.selection
        chosen = written.selected_bytes() if selection is None else selection[:2]
        start, stop = chosen or written.bytes_at_cursor()
        self.tabs.setCurrentIndex(_STEPS)
        self.steps.ask_why_not(start, stop, of_word=chosen is None or (selection is not None and selection.tokens == 1))

    def step_through(self) -> None:
        """Shows the page Steps, with the focus on its slider."""
        self.tabs.setCurrentIndex(_STEPS)
        self.steps.take_keyboard()

    def _choose_page(self) -> None:
        """Shows the page of the chosen tab, or the text to read while nothing can be encoded yet."""
        reads = not self._runs.all and not self._view.text
        self.tabs.setTabVisible(_CHAT, any(run.has_chat_template for run in self._runs.shown))
        if reads:
            self.pages.setCurrentWidget(self.reader)
        else:
            self.pages.setCurrentWidget(self.page)
        for control in (self.tabs, self.samples):
            control.setVisible(not reads)
        self.reader.catch_up()
        self._show_state()

    def _turn_to(self, index: int) -> None:
        self.pages.setCurrentWidget(self.page)
        for keys in self._step_keys:
            keys.setEnabled(index == _STEPS)
        self._show_state()

    def _tab_clicked(self, index: int) -> None:
        # A click on a tab does not move the focus, and the keys of the steps work only with the focus in the pane.
        if index == _STEPS:
            self.step_through()

    def _take_sample(self, entry: QAction) -> None:
        self.tabs.setCurrentIndex(0)
        self.encode.take_text(str(entry.data()))

    def _show_state(self) -> None:
        kind, text = self.page.state
        role, drawn, side = _ROLES[kind], _ICONS.get(kind), self._theme.scaled(13)
        say(self.state_label, text, role)
        if drawn is not None:
            self.state_icon.setPixmap(icon(drawn, self._theme, role).pixmap(QSize(side, side), self.devicePixelRatio()))
            tip = "Round trip: decoding the ids gives the text back." if kind == "good" else f"Round trip {text}."
            self.state_icon.setToolTip(plain(tip))
            self.state_label.setToolTip(plain(tip))
            self.state_icon.setAccessibleName(tip)
        self.state_icon.setVisible(drawn is not None)
        self.fit()

    def fit(self) -> None:
        """Shows the switches and the text of the mark if there is room; both are available elsewhere."""
        toggles = sum(button.sizeHint().width() + 4 for button in self.toggles)
        label = self.state_label.sizeHint().width() + 4 if self.state_label.text() else 0
        mark = self._theme.scaled(13) + 4
        # Tabs are never cut; in a narrow pane they are enough without the title.
        tabs = self.tabs.sizeHint().width()
        self.tabs.setMinimumWidth(tabs)
        beside = 0 if self.tabs.isHidden() else mark + tabs + self.samples.sizeHint().width() + 12
        free = self.width() - 24 - 16 - beside
        self.title.setVisible(self._titled and free >= self.title.sizeHint().width())
        fixed = (*([self.title] if not self.title.isHidden() else []), self.tabs, self.samples)
        room = self.width() - 24 - 16 - mark - sum(widget.sizeHint().width() + 4 for widget in fixed)
        # The mark alone shows success, but not busy or failed states.
        kind = self.page.state[0]
        shown = toggles + (0 if kind in ("", "good") else label) <= room
        left = room - toggles if shown else room
        self.state_label.setVisible(bool(label) and (label <= left or kind == "busy"))
        for button in self.toggles:
            button.setVisible(shown and not self.tabs.isHidden())

    def _take_file(self, read: tuple[str, bool, str]) -> None:
        text, lossless, name = read
        self._target.tell_shortened()
        self._target.take_text(text)
        if not lossless:
            self._target.tell(f"{name}: bytes that are not UTF-8 are shown as U+FFFD.", "warning")

    def _file_failed(self, error: Exception) -> None:
        self._target.tell(problem_of(error).text, "error")


def _accepted_file(event: QDropEvent) -> Path | None:
    """Accepts a drag of a single local file, which it returns."""
    urls = event.mimeData().urls()
    if len(urls) != 1 or not urls[0].isLocalFile():
        return None
    event.setDropAction(Qt.DropAction.CopyAction)
    event.accept()
    return path_of(urls[0])


def _read_work(path: Path) -> Work[tuple[str, bool, str]]:
    """Reads a text; raises CorpusError if that fails."""
    try:
        size = path.stat().st_size
    except OSError:
        size = 0  # reading reports the error better
    if size > LONGEST:
        much = f"{size / 1e6:,.0f} MB; the limit is {LONGEST // 1_000_000} MB"
        raise CorpusError(f"{file_name(path)}: too long to show as tokens: {much}.")
    source = yield from read_source(path)
    text, lossless = yield from text_work(source.data)
    return text, lossless, file_name(path)
