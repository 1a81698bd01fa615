"""The Guide pane at the window: pages, the way back, search, links, keyboard."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

import pytest
from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QTextDocument
from PySide6.QtWidgets import QAbstractSlider, QApplication

from tests.gui.conftest import docked
from tests.gui.person import TEXT, at_rest, at_window, quiet, trained
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.guide.pages import read_pages
from tokstudio.gui.panes import guide as pane_module
from tokstudio.gui.panes.guide import GuidePane

ALT = Qt.KeyboardModifier.AltModifier


def shown(guide) -> str:
    return guide.browser.toPlainText()


@at_window()
def test_f1_opens_the_guide_in_every_workspace_which_is_on_the_left_in_learn_and_lists_its_pages_where_it_is_large(
    qtbot, monkeypatch, unstyled, window
):
    monkeypatch.setattr("tokstudio.gui.window.main_window.ShortcutsDialog.exec", lambda dialog: None)
    window.resize(1440, 870)
    assert window.guide.isHidden()
    window.actions_by_id["workspace_learn"].trigger()
    QApplication.processEvents()
    assert not window.guide.visibleRegion().isEmpty()
    assert window.guide.x() < window.compression.x()
    window.actions_by_id["workspace_train"].trigger()
    assert window.guide.isHidden()
    window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is not None)
    for name in ("train", "compare", "learn"):
        window.actions_by_id[f"workspace_{name}"].trigger()
        window.guide.close()
        window.setFocus()
        qtbot.keyClick(window, Qt.Key.Key_F1)
        assert not window.guide.visibleRegion().isEmpty()
        assert window.guide.browser.hasFocus()
        for page in ("bpe", "token"):  # with pictures
            window.guide.show_page(page)
            QApplication.processEvents()
            assert shown(window.guide).count("Try it.") == 1, page
    assert "What a token is" in shown(window.guide)
    qtbot.keyClick(window, Qt.Key.Key_F1, Qt.KeyboardModifier.ControlModifier)

    # Enlarged it lists its pages beside the text, which is in the middle of the rest.
    guide = window.guide
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    guide.show_page("token")
    qtbot.waitUntil(lambda: guide.choice.isVisible())
    assert not guide.contents.isVisible()
    for size in ((1440, 900), (1024, 640)):
        window.resize(*size)
        qtbot.mouseClick(guide.enlarge, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda: guide.contents.isVisible() and guide.browser.x() > guide.contents.geometry().right())
        assert not guide.choice.isVisible()
        left = guide.browser.x() - guide.contents.geometry().right()
        right = guide.width() - guide.browser.geometry().right()
        assert abs(left - right) < 40, size
        assert guide.browser.width() == guide.browser.maximumWidth(), size
        if size == (1440, 900):
            qtbot.mouseClick(guide.enlarge, Qt.MouseButton.LeftButton)
            qtbot.waitUntil(lambda: guide.choice.isVisible() and not guide.contents.isVisible())
    assert guide.contents.currentItem().text() == "What a token is"
    at = guide.contents.findItems("Ties", Qt.MatchFlag.MatchExactly)[0]
    place = guide.contents.visualItemRect(at).center()
    qtbot.mouseClick(guide.contents.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert guide.page == "ties"
    guide.go(-1)
    assert guide.contents.currentItem().text() == "What a token is"
    qtbot.mouseClick(guide.enlarge, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: guide.choice.isVisible() and not guide.contents.isVisible())


pane = docked(GuidePane, 360, 300)


def cut_lines(browser) -> list[str]:
    """The lines of text that the lower edge of the page cuts, but for pictures."""
    edge = browser.verticalScrollBar().value() + browser.viewport().height()
    layout, cut = browser.document().documentLayout(), []
    block = browser.document().begin()
    while block.isValid():
        top = layout.blockBoundingRect(block).top()
        for number in range(block.layout().lineCount()):
            line = block.layout().lineAt(number)
            first = top + line.y()
            text = block.text()[line.textStart() : line.textStart() + line.textLength()]
            if text.strip() and line.height() < 60 and first + 0.5 < edge < first + line.height() - 0.5:
                cut.append(text)
        block = block.next()
    return cut


@pytest.mark.parametrize("size", [(394, 431), (700, 560)])
def test_the_last_line_of_a_page_is_whole_wherever_it_is_scrolled(session, theme, actions, dock, size):
    pane = GuidePane(session, theme, actions)
    dock(pane, *size)
    browser, bar, trimmed = pane.browser, pane.browser.verticalScrollBar(), set()
    for page in ("bpe", "figures", "size"):  # text, lists and a table
        pane.show_page(page)
        QApplication.processEvents()
        assert bar.maximum() > 200
        for value in range(0, min(bar.maximum(), 1500), 37):
            bar.setValue(value)
            assert cut_lines(browser) == [], (page, value)
            trimmed.add(browser.viewportMargins().bottom())
        bar.setValue(bar.maximum())
        assert bar.value() + browser.viewport().height() >= browser.document().size().height() - 1, "its end is reached"
    pane.resize(size[0] - 20, size[1] - 11)
    QApplication.processEvents()
    assert cut_lines(browser) == []
    assert len(trimmed) > 5


@pytest.mark.parametrize("size", [(450, 262), (394, 749)])
def test_a_page_with_a_picture_is_shown_once(qtbot, session, theme, actions, dock, size):
    pane = GuidePane(session, theme, actions)
    dock(pane, *size)
    for page in read_pages():
        if "![" in page.text:
            pane.show_page(page.name)
            QApplication.processEvents()
            assert shown(pane).count("Try it.") == 1, page.name
    pane.show_page("bpe")
    pane.window().resize(size[0] + 60, size[1])
    QApplication.processEvents()
    assert shown(pane).count("Try it.") == 1
    assert picture_width(pane) <= pane.browser.viewport().width()
    assert not pane.browser.horizontalScrollBar().isVisible()


def test_a_change_of_width_while_a_page_is_read_does_not_show_it_twice(qtbot, pane):
    wider = []

    def grow() -> None:
        if not wider:
            wider.append(True)
            pane.browser.resize(pane.browser.width() + 30, pane.browser.height())

    pane.browser.document().contentsChanged.connect(grow)
    pane.browser.document().contentsChange.connect(grow)
    pane.show_page("bpe")
    QApplication.processEvents()
    assert wider
    assert shown(pane).count("Try it.") == 1


def picture_width(pane) -> int:
    """The width of the first picture of the page, in pixels of the window."""
    document = pane.browser.document()
    block = document.begin()
    while block.isValid():
        for fragment in (one.fragment() for one in block.begin()):
            if fragment.charFormat().isImageFormat():
                name = fragment.charFormat().toImageFormat().name()
                image = document.resource(QTextDocument.ResourceType.ImageResource.value, QUrl(name))
                # No gap below it: its line is as high as the picture.
                ratio = image.devicePixelRatio()
                assert document.documentLayout().blockBoundingRect(block).height() <= image.height() / ratio + 12
                return round(image.width() / ratio)
        block = block.next()
    raise AssertionError("no picture")


def test_pages_are_read_by_the_list_and_back_without_a_file_or_the_network(qtbot, pane):
    pane.show_page("ties")
    pane.browser.verticalScrollBar().setValue(70)
    pane.follow("page:languages")
    assert "Languages and cost" in shown(pane)
    assert pane.choice.currentText() == "Languages and cost"
    assert not pane.forward.isEnabled()
    qtbot.keyClick(pane.browser, Qt.Key.Key_Left, ALT)
    assert pane.page == "ties"
    assert pane.browser.verticalScrollBar().value() == 70
    qtbot.keyClick(pane.browser, Qt.Key.Key_Right, ALT)
    assert pane.page == "languages"
    qtbot.mouseClick(pane.back, Qt.MouseButton.LeftButton)
    qtbot.keyClick(pane.browser, Qt.Key.Key_Backspace)
    assert pane.page == "token"
    assert not pane.back.isEnabled()
    pane.go(-1)
    assert pane.page == "token"
    titles = [pane.choice.itemText(row) for row in range(pane.choice.count())]
    assert titles == [page.title for page in read_pages()]
    pane.choice.setFocus()
    qtbot.keyClick(pane.choice, Qt.Key.Key_Down)
    assert pane.page == "bpe"
    assert "Next: Reading the curve" in shown(pane)
    for name in ("file:///etc/hostname", "/etc/hostname", "../icons/add.svg", "https://example.org/a.png", "no.png"):
        for kind in QTextDocument.ResourceType:
            assert pane.browser.loadResource(kind.value, QUrl(name)) is None
    # A click on a link of the page follows it.
    assert pane.browser.anchorAt(QPoint(0, 0)) == ""


def test_search_lists_pages_and_escape_returns(qtbot, pane):
    pane.show_page("ties")
    qtbot.keyClicks(pane.search, "rustbpe")
    assert "1 page with this" in shown(pane)
    qtbot.keyClicks(pane.search, "zz")
    assert "No page has this." in shown(pane)
    assert (pane.choice.currentText(), pane.choice.placeholderText()) == ("", "Found pages")
    assert pane.contents.currentRow() == -1
    qtbot.keyClick(pane.search, Qt.Key.Key_Escape)
    assert shown(pane).startswith("Ties")
    assert pane.choice.currentText() == pane.contents.currentItem().text() == "Ties"
    qtbot.keyClicks(pane.search, "embedding")
    qtbot.keyClick(pane.search, Qt.Key.Key_Return)
    qtbot.waitUntil(pane.browser.hasFocus)
    # Tab goes to the first link, and Enter follows it.
    qtbot.keyClick(pane.browser, Qt.Key.Key_Tab)
    qtbot.keyClick(pane.browser, Qt.Key.Key_Return)
    assert pane.search.text() == ""
    assert pane.page != "ties"
    pane.go(-1)
    assert pane.page == "ties"


def test_links_do_what_the_menu_does_and_nothing_else(qtbot, pane, actions, session):
    done, said = [], []
    session.jobs.refused.connect(said.append)
    actions["train"].triggered.connect(lambda: done.append("train"))
    actions["shown"].setCheckable(True)
    actions["shown"].toggled.connect(done.append)
    actions["stop"].setEnabled(False)
    actions["stop"].setToolTip("No training is in progress.")
    asked = []
    pane.paneAsked.connect(asked.append)
    pane.browserAsked.connect(asked.append)
    for target in ("do:train", "do:shown", "do:shown", "do:stop", "pane:why", "https://example.org/a"):
        pane.follow(target)
    assert done == ["train", True], "a link switches on, never off"
    assert said == ["No training is in progress."]
    assert asked == ["why", "https://example.org/a"]
    known = len(actions)
    before = shown(pane)
    for target in ("", "do:", "do:no_such", "file:///etc/passwd", "http://a.b", "javascript:x", "merge:-1", "merge:x"):
        pane.follow(target)
    assert shown(pane) == before
    assert (done, asked[2:], len(actions)) == (["train", True], [], known)
    pane.follow("page:no-such")
    pane.follow("merge:3")
    pane.follow("merge:" + "9" * 5000)
    pane.follow("glossary:no-such")
    assert said[1:] == [
        "The guide has no page “no-such”.",
        "Train first: there are no merges yet.",
        "The glossary has no word “no-such”.",
    ]


@at_window()
def test_every_link_of_the_pages_acts_on_the_window_and_shows_where_it_leads(
    qtbot, monkeypatch, unstyled, window, answers
):
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    window.session.corpus.add_text(TEXT)
    trained(qtbot, window)
    targets = {found for page in read_pages() for found in re.findall(r"\]\(([^)\s]+)\)", page.text)}
    for target in sorted(targets):
        kind, _, what = target.partition(":")
        if kind == "do":
            assert what in window.actions_by_id, target
        elif kind == "pane":
            pane = next(pane for pane in window.panes if pane.objectName() == what.split("#")[0])
            pane.close()
            window.guide.follow(target)
            assert not pane.visibleRegion().isEmpty(), target
        elif kind == "merge":
            window.guide.follow(target)
            assert window.session.view.playhead == int(what)
            assert window.session.view.token == 255 + int(what)
    window.actions_by_id["workspace_learn"].trigger()
    window.guide.follow("pane:configure#more")
    assert window.actions_by_id["more_settings"].isChecked()
    qtbot.waitUntil(lambda: not window.configure.more.visibleRegion().isEmpty())
    window.guide.follow("merge:5000")
    assert window.session.view.playhead <= 44
    answers.yes = False
    window.guide.follow("https://example.org/")
    assert opened == []
    answers.yes = True
    window.guide.follow("https://example.org/")
    assert opened == ["https://example.org/"]
    window.activateWindow()
    window.show_guide()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is window.guide.browser)
    # As high as a page needs, and the whole window on request.
    qtbot.waitUntil(lambda: window.guide.height() > window.text.height())
    large = window.places
    for target in ("pane:text", "do:first", "merge:16"):
        qtbot.mouseClick(window.guide.enlarge, Qt.MouseButton.LeftButton)
        assert large.maximised is window.guide
        window.guide.follow(target)
        assert large.maximised is None, target
    window.guide.follow("pane:text")
    assert window.text.encode.input.hasFocus()
    window.guide.follow("pane:configure")
    assert window.flash.isVisible()
    assert window.flash.size() == window.configure.size()
    window.session.view.set_playhead(44)
    table = window.merges.table
    for _ in range(2):
        table.verticalScrollBar().setValue(0)
        window.guide.follow("merge:3")
        row = window.merges.model.row_of_number(3)
        assert table.viewport().rect().intersects(table.visualRect(table.model().index(row, 0)))
        assert table.current_row == row
    said = []
    window.session.jobs.refused.connect(said.append)
    window.guide.follow("pane:corpus#mixture")
    assert said == ["A mixture needs two sources: add another text to the corpus."]
    window.actions_by_id["sample_scripts"].trigger()
    quiet(qtbot, window)
    window.guide.follow("pane:corpus#mixture")
    assert window.corpus.tabs.currentIndex() == 1
    assert window.corpus.mixture.isVisible()


def test_theme_and_text_size_change_the_page_where_it_is(qapp, pane, theme):
    theme.apply(qapp)
    pane.show_page("ties")
    pane.browser.verticalScrollBar().setValue(40)
    link = pane.browser.document().toHtml().count(theme.palette.accent.lower())
    assert link
    theme.set_mode("dark")
    assert pane.browser.document().toHtml().count(theme.palette.accent.lower()) == link
    assert pane.browser.verticalScrollBar().value() == 40
    width = pane.browser.maximumWidth()
    theme.set_text_size(20)
    assert pane.browser.maximumWidth() > width
    heading = pane.browser.document().firstBlock().begin().fragment()
    assert heading.charFormat().font().pixelSize() == 30
    drawn = []
    pane.browser.document().contentsChanged.connect(lambda: drawn.append(None))
    # As after panes that are made later, which have the same theme.
    theme.changed.emit()
    assert not drawn


def test_a_page_that_is_not_seen_is_drawn_once_it_is(qapp, pane, theme):
    theme.apply(qapp)
    pane.show_page("ties")
    pane.browser.verticalScrollBar().setValue(40)
    pane.browser.hide()
    drawn = []
    pane.browser.document().contentsChanged.connect(lambda: drawn.append(None))
    theme.set_mode("dark")
    theme.set_text_size(20)
    assert not drawn
    pane.browser.show()
    assert drawn
    assert theme.palette.accent.lower() in pane.browser.document().toHtml()
    assert pane.browser.verticalScrollBar().value() == 40
    drawn.clear()
    pane.browser.hide()
    theme.set_text_size(16)
    pane.browser.show()
    assert drawn
    assert pane.browser.document().firstBlock().begin().fragment().charFormat().font().pixelSize() == 24
    pane.browser.hide()
    pane.show_page("glossary")
    pane.browser.show()
    assert shown(pane).startswith(pane.choice.currentText())


def test_the_end_of_a_page_is_reached_step_by_step_and_no_page_makes_the_pane_higher(qtbot, pane):
    browser, bar = pane.browser, pane.browser.verticalScrollBar()
    least = pane.minimumSizeHint().height()
    for name in ("token", "patterns", "libraries"):
        pane.show_page(name)
        at_rest(qtbot, browser)
        for _ in range(-(-bar.maximum() // bar.singleStep())):
            bar.triggerAction(QAbstractSlider.SliderAction.SliderSingleStepAdd)
            at_rest(qtbot, browser)
        assert bar.value() == bar.maximum(), name
        assert bar.value() + browser.viewport().height() >= int(browser.document().size().height()), name
        assert pane.minimumSizeHint().height() == least, name


def test_code_in_a_page_keeps_its_spaces_and_signs_and_no_mark_of_a_title_is_shown(pane):
    for page in read_pages():
        pane.show_page(page.name)
        words = shown(pane).replace("\N{NO-BREAK SPACE}", " ")
        for code in re.findall(r"`([^`\n]+)`", page.text):
            assert (f" {code}" if code.startswith(" ") else code) in words, (page.name, code)
        assert not re.search(r"^#+ ", words, re.MULTILINE), page.name
    assert any("`##`" in page.text for page in read_pages())
    assert any("` ?[a-z]+`" in page.text for page in read_pages())


def test_a_missing_guide_says_what_to_do(session, theme, actions, monkeypatch, dock):
    def missing() -> None:
        raise TokStudioError("The guide has no pages. Install TokStudio again.")

    monkeypatch.setattr(pane_module, "read_pages", missing)
    pane = GuidePane(session, theme, actions)
    dock(pane, 420, 600)
    assert "Install TokStudio again." in shown(pane)
    assert not pane.search.isEnabled()
    pane.show_page("token")
    pane.explain("token")
    pane.go(1)
    assert "Install TokStudio again." in shown(pane)


def test_a_narrow_pane_leaves_the_room_of_its_title_to_the_search(qtbot, pane):
    for width, titled in ((420, True), (262, False), (420, True)):
        pane.window().resize(width, 300)
        qtbot.waitUntil(lambda titled=titled: pane.title.isVisible() is titled)
        assert not pane.search.geometry().intersects(pane.back.geometry())
