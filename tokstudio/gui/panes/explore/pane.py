"""The Explore pane: what is in the corpus, and what the tokenizer at the playhead makes of it, a page for each view."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QSizePolicy, QTableView, QWidget

from tokstudio.core.base.wording import first_few
from tokstudio.gui.panes.explore.clean_up import CleanUpPage
from tokstudio.gui.panes.explore.compare_sources import CompareSourcesPage
from tokstudio.gui.panes.explore.documents import DocumentsPage
from tokstudio.gui.panes.explore.page import ExplorePage
from tokstudio.gui.panes.explore.search import SearchPage
from tokstudio.gui.panes.explore.words import WordsPage
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import ElidedLabel, in_a_sentence
from tokstudio.gui.widgets.layouts import TallBody, column, in_tab_order, row, set_tab_order, stacked
from tokstudio.gui.widgets.menus import button_of, link_button
from tokstudio.gui.widgets.pane import HeaderTabs, Pane

#: The pages, in the order of their tabs.
PAGES: tuple[type[ExplorePage], ...] = (DocumentsPage, SearchPage, WordsPage, CompareSourcesPage, CleanUpPage)
_MOST_NAMED = 3
_LARGE = 1_000_000  # bytes above which a text is hardly one document


class ExplorePane(Pane):
    """Pages on one exploration of the corpus; the source that is chosen in Corpus limits all of them."""

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("explore", "Explore")
        self._exploring = session.exploring
        self._view, self._training = session.view, session.training
        self._sources = self._exploring.sources
        self._make = tuple(partial(page, session, theme) for page in PAGES)
        self._made: dict[int, ExplorePage] = {}  # the pages that were seen, by their numbers
        self.tabs = HeaderTabs("Views of the corpus", {page.titled: page.tip for page in PAGES})
        self.tabs.currentChanged.connect(self._turn_to)
        self.header.insertWidget(1, self.tabs)
        self.save = button_of(actions["save_explored_csv"], "Write as CSV")
        self.save.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.header.addWidget(self.save)
        self.limited = ElidedLabel("muted")
        self.unlimit = link_button("All Sources", partial(self._exploring.limit, ()), "Show all sources of the corpus")
        self._limits = QWidget()
        row((self.limited, 1), self.unlimit, spacing=8, parent=self._limits)
        self.undivided = ElidedLabel("muted")
        self.divide = link_button(
            "Take Lines as Documents", self._take_lines, "Each line becomes a document of its own"
        )
        self._division = QWidget()
        row((self.undivided, 1), self.divide, spacing=8, parent=self._division)
        self._stack = stacked()
        whole = QWidget()
        column(self._limits, self._division, (self._stack, 1), spacing=6, parent=whole)
        self.body.addWidget(whole)
        self._exploring.changed.connect(self._renew)
        self._exploring.limited.connect(self._refresh)
        session.view.token_changed.connect(self._follow_token)
        self._show_limits()

    @property
    def pages(self) -> tuple[ExplorePage, ...]:
        """All pages."""
        return tuple(map(self.page_at, range(len(self._make))))

    @property
    def page(self) -> ExplorePage:
        """The current page."""
        return self.page_at(max(self.tabs.currentIndex(), 0))

    def page_at(self, number: int) -> ExplorePage:
        """A page, made when it is first seen: together they would take too long."""
        if number not in self._made:
            page = self._made[number] = self._make[number]()
            for table in page.findChildren(QTableView):
                # One that is as high as its rows at most shows all of them.
                if not table.minimumHeight() and table.sizePolicy().verticalPolicy() != QSizePolicy.Policy.Maximum:
                    # This is enough: a page with labels that wrap would be as high as all its tables want to be.
                    table.setMinimumHeight(table.minimumSizeHint().height())
                    table.setSizePolicy(table.sizePolicy().horizontalPolicy(), QSizePolicy.Policy.Ignored)
            # With large text, a page may need more height than the screen has: it scrolls then.
            self._stack.addWidget(TallBody(page))
            # Else Tab would reach it after all other panes.
            set_tab_order(self.divide, *in_tab_order(page))
            page.tabled.connect(self._offer)
        return self._made[number]

    def sizeHint(self) -> QSize:
        return QSize(640, 460)

    def arrive(self, part: str) -> None:
        for number, page in enumerate(PAGES):
            if page.titled.lower().replace(" ", "-") == part:
                self.tabs.setCurrentIndex(number)
                self.page.take_keyboard()

    def catch_up(self) -> None:
        self._refresh()

    def leave(self) -> None:
        self.page.leave()
        self._offer()

    def _renew(self) -> None:
        """Follows another exploration; what pages know of the last is released at once, also where none is seen."""
        others, self._sources = self._sources != self._exploring.sources, self._exploring.sources
        for page in self._made.values():
            # What is in sight stays there until there is something newer.
            if others or page is not self.page or not self.seen:
                page.forget()
        self._refresh()

    def _refresh(self) -> None:
        self._show_limits()
        if self.seen:
            self.page.refresh()
        self._offer()

    def _show_limits(self) -> None:
        names = self._exploring.limit_names
        limits = f"Only {first_few(names, _MOST_NAMED, str)}." if names else ""
        self.limited.setText(in_a_sentence(" ".join(filter(None, (limits, self._exploring.note)))))
        self.unlimit.setVisible(bool(names))
        self._limits.setVisible(bool(self.limited.text()))
        whole = [
            source.name for source in self._exploring.sources
            if source.documents == 1 and source.bytes > _LARGE and source.counts is None and not source.is_rows
        ]  # fmt: skip
        are = "is one document" if len(whole) == 1 else "are one document each"
        self.undivided.setText(f"{first_few(whole, _MOST_NAMED, str)} {are}.")
        self._division.setVisible(bool(whole) and self._training.settings.documents == "file")

    def _take_lines(self) -> None:
        self._training.set_settings(replace(self._training.settings, documents="line"))

    def _turn_to(self, number: int) -> None:
        if self._made:
            list(self._made.values())[self._stack.currentIndex()].leave()
        self.page_at(number)
        # They are in the order in which they were seen.
        self._stack.setCurrentIndex(list(self._made).index(number))
        if self.seen:
            self.page.refresh()
        self._offer()

    def _follow_token(self) -> None:
        if self.seen and not self._view.hover:
            self.page.follow_token()

    def _offer(self) -> None:
        self._exploring.offer(self.page.table if self.seen else None)
