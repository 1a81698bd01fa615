"""Small panes: important parts stay visible, and wheel and keyboard work."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QGuiApplication, QWheelEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QTabBar, QToolButton, QWidget

from tests.gui.person import PAUSES, TEXT, at_rest, at_window, trained
from tokstudio.gui.panes.configure.pane import ConfigurePane
from tokstudio.gui.panes.corpus.pane import CorpusPane
from tokstudio.gui.session.common.jobs import Pauses
from tokstudio.gui.state.problems import Problem
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.widgets.layouts import TallBody
from tokstudio.gui.window.dock_sizes import DockSizes

SETTINGS = Settings(
    1000,
    2,
    "gpt2",
    base="characters",
    base_vocabulary=("a", "<?>"),
    unknown_token="<?>",
    special_tokens=("<|end|>",),
)


@pytest.fixture
def pauses() -> Pauses:
    """What is set here has its forecast at once."""
    return replace(PAUSES, forecast=5)


@pytest.fixture
def pane(qtbot, session, theme, actions, dock) -> ConfigurePane:
    actions["more_settings"].setCheckable(True)
    actions["more_settings"].setChecked(True)
    pane = ConfigurePane(session, theme, actions)
    dock(pane, 280, 420)
    session.corpus.add_text(TEXT)
    session.training.set_settings(SETTINGS)
    qtbot.waitUntil(pane.pattern.preview.isVisible)
    # What is said above Train takes room as well.
    qtbot.waitUntil(lambda: session.training.forecast is not None and not session.jobs.running)
    return pane


def body_of(widget: QWidget) -> TallBody:
    while not isinstance(widget, TallBody):
        widget = widget.parentWidget()
    return widget


def in_sight(widget: QWidget) -> bool:
    """Whether nothing around a widget cuts any of it off."""
    around = widget.parentWidget()
    while around is not None and not widget.isWindow():
        if not around.rect().contains(QRect(widget.mapTo(around, QPoint()), widget.size())):
            return False
        around = None if around.isWindow() else around.parentWidget()
    return widget.isVisible()


def turn_wheel(widget: QWidget, down: int = 1) -> None:
    """Turns the wheel over the middle of a widget: what is topmost there gets the event, then whoever is around it."""
    at = widget.mapToGlobal(widget.rect().center())
    reached = QApplication.widgetAt(at)
    assert reached is widget or widget.isAncestorOf(reached)
    send_wheel(reached, reached.mapFromGlobal(at), down)


def send_wheel(reached: QWidget | None, place: QPoint, down: int = 1) -> None:
    """Turns the wheel over a place of a widget."""
    event = QWheelEvent(
        QPointF(place),
        QPointF(reached.mapToGlobal(place)),
        QPoint(),
        QPoint(0, -120 * down),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    # Qt passes on what comes from a mouse, but not what comes from a program.
    while reached is not None:
        event.ignore()
        if QApplication.sendEvent(reached, event) and event.isAccepted():
            return
        reached = reached.parentWidget()


def test_fields_their_help_and_errors_are_scrolled_into_view_by_wheel_and_focus(pane, session, qtbot):
    bar = body_of(pane.size_field).verticalScrollBar()
    controls = [pane.size_field.number, pane.pattern.choice.combo, pane.pattern.preview, pane.more.named["base"].combo]
    controls += [pane.more.entries.edit, pane.more.specials.edit, pane.more.named["held_out"].number]
    pane.buttons["train"].setFocus()
    for control in controls:
        bar.setValue(control.mapTo(body_of(control).widget(), QPoint()).y())
        QApplication.processEvents()
        before = bar.value()
        turn_wheel(control, 1 if before < bar.maximum() else -1)
        assert bar.value() != before, control.accessibleName()
    assert session.training.settings == SETTINGS
    pane.size_field.check.setFocus()
    fields = {field.note: field for field in (pane.size_field, *pane.more.fields)}
    seen = 0
    for _ in range(30):
        focus = QGuiApplication.focusObject()
        qtbot.waitUntil(lambda focus=focus: in_sight(focus))
        field = next((field for field in fields.values() if field.isAncestorOf(focus)), None)
        if field is not None and field.note.isVisible():
            qtbot.waitUntil(lambda field=field: in_sight(field.note))
            seen += 1
        if focus is pane.more.reset:
            break
        qtbot.keyClick(focus, Qt.Key.Key_Tab)
    assert seen > 8
    edit, note = pane.more.specials.edit, pane.more.specials.note
    edit.setFocus()
    edit.selectAll()
    qtbot.keyClicks(edit, "x")
    assert note.property("role") == "error"
    qtbot.waitUntil(lambda: in_sight(note))


def test_the_wheel_scrolls_over_the_empty_room_below_the_last_whole_line(pane):
    body = body_of(pane.size_field)
    bar = body.verticalScrollBar()
    below = next(at for at in range(bar.maximum()) if bar.setValue(at) or body.viewport().height() < body.height() - 2)
    bar.setValue(below)
    at = QPoint(body.width() // 2, body.height() - 1)
    assert QApplication.widgetAt(body.mapToGlobal(at)) is body
    send_wheel(body, at)
    assert bar.value() > below


def test_the_focused_field_stays_visible_as_the_pane_shrinks(qtbot, pane):
    pane.more.named["max_token_bytes"].check.setFocus()
    qtbot.waitUntil(lambda: in_sight(pane.more.named["max_token_bytes"].note))
    for height in (390, 360, 330):
        pane.window().resize(280, height)
        qtbot.waitUntil(lambda: in_sight(pane.more.named["max_token_bytes"].note))


def test_a_low_pane_hides_help_but_not_errors(qtbot, pane, session):
    session.training.set_settings(Settings(1000, 2))
    pane.window().resize(280, 290)
    QApplication.processEvents()
    assert not pane.size_field.note.isVisible()
    assert pane.size_field.number.toolTip().endswith(
        "\nBase tokens, merges and special tokens. About 436 fit 2.0 kB of text, by a rule of thumb."
    )
    session.training.set_settings(Settings(1, 2))
    assert pane.size_field.note.isVisible()
    assert pane.summary.text() == "Fix the vocabulary size."


def test_help_gives_way_where_it_would_cut_off_the_button_for_more(qtbot, pane, actions):
    actions["more_settings"].setChecked(False)
    seen = []
    for height in range(420, 640, 5):
        pane.window().resize(280, height)
        QApplication.processEvents()
        seen.append((pane.size_field.note.isVisible(), in_sight(pane.more_button)))
    assert {(False, True), (True, True)} <= set(seen)
    assert (True, False) not in seen


def test_the_wheel_over_a_preview_scrolls_the_corpus_pane(qtbot, session, theme, actions, dock, tmp_path):
    pane = CorpusPane(session, theme, actions)
    dock(pane, 280, 240)
    session.corpus.add_text("line\n" * 100)
    QApplication.processEvents()
    bar = body_of(pane.preview).verticalScrollBar()
    bar.setValue(bar.maximum())
    QApplication.processEvents()
    assert bar.maximum() > 0
    turn_wheel(body_of(pane.preview), -1)
    assert bar.value() < bar.maximum()
    assert pane.preview.verticalScrollBar().maximum() == 0


def settle(qtbot, window) -> None:
    """Waits until the panes have the sizes that they keep."""
    for _ in range(3):
        QApplication.processEvents()
        at_rest(qtbot, window.findChild(DockSizes))
    QApplication.processEvents()


def tabs(window) -> set[str]:
    """The tabs of each place that panes share."""
    return {
        " ".join(bar.tabText(tab) for tab in range(bar.count()))
        for bar in window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        if bar.isVisible() and bar.count() > 1
    }


PLOTS, LISTS = "Compression Distribution", "Merges Vocabulary Tokenizers"


@at_window()
def test_chosen_pane_sizes_come_back_when_a_small_window_is_enlarged(qtbot, unstyled, window):
    def sizes(window):
        return {pane.objectName(): pane.size() for pane in window.panes if not pane.visibleRegion().isEmpty()}

    def resize(window, width, height):
        window.resize(width, height)
        qtbot.waitUntil(lambda: window.size() == QSize(width, height))
        settle(qtbot, window)

    resize(window, 1440, 900)
    window.reset_layout()
    settle(qtbot, window)
    usual = sizes(window)
    border = QPoint(window.text.geometry().left() - 3, window.text.geometry().center().y())
    qtbot.mousePress(window, Qt.MouseButton.LeftButton, pos=border)
    qtbot.mouseMove(window, border - QPoint(120, 0))
    QApplication.processEvents()
    qtbot.mouseRelease(window, Qt.MouseButton.LeftButton, pos=border - QPoint(120, 0))
    settle(qtbot, window)
    chosen = sizes(window)
    assert chosen["text"].width() > usual["text"].width() + 100
    resize(window, 1024, 640)
    small = sizes(window)
    # A click changes nothing, and what stands in front of its place has that place's size.
    qtbot.mouseClick(window, Qt.MouseButton.LeftButton, pos=border - QPoint(400, 0))
    window.vocabulary.raise_()
    qtbot.waitUntil(lambda: window.vocabulary.seen)
    resize(window, 1424, 900)
    qtbot.waitUntil(lambda: abs(window.text.width() - chosen["text"].width()) < 20)
    resize(window, 1440, 900)
    chosen["vocabulary"] = chosen.pop("merges")
    qtbot.waitUntil(lambda: sizes(window) == chosen)
    assert small != chosen


def fill_screen(qtbot, window, screen, bars) -> None:
    """Gives the window the size of its screen, in which panes share places that have their own in a large one."""
    window.reset_layout()
    window.resize(screen)
    qtbot.waitUntil(lambda: window.size() == screen and tabs(window) == bars)
    for pane in window.panes:
        if not pane.visibleRegion().isEmpty():
            assert window.rect().contains(QRect(pane.mapTo(window, QPoint()), pane.size()))


def the_essential_settings_need_no_scrolling(qtbot, window, size) -> None:
    pane = window.configure
    shown = [pane.size_field.number, pane.frequency_field.number, pane.pattern.choice.combo]
    shown += [pane.buttons["train"], pane.summary]
    if size.height() == 900:
        shown += [pane.pattern.preview, pane.algorithm.choice.combo]
    qtbot.waitUntil(lambda: pane.pattern.preview.isVisible() and pane.forecast.isVisible())
    qtbot.waitUntil(lambda: not window.session.jobs.running)
    qtbot.waitUntil(lambda: all(map(in_sight, shown)))
    around = QRect(pane.mapToGlobal(QPoint()), pane.size())
    assert QRect(window.mapToGlobal(QPoint()), window.size()).contains(around), size


def the_list_of_ids_is_below_the_tokens(qtbot, window) -> None:
    page = window.text.encode
    window.session.view.set_text("Bats! " * 100)
    window.text.raise_()
    qtbot.waitUntil(lambda: page.view.isVisible() and bool(page.others.counts))
    last = int(page.figures.values()[2].replace(",", "")) - 1
    page.view.select(last, last)
    window.actions_by_id["show_ids"].trigger()
    row = page.ids.place_of(0).height()
    qtbot.waitUntil(lambda row=row: page.ids.viewport().height() >= 2 * row)
    for widget in (page.input, page.view, page.figures, page.others, page.ids):
        assert in_sight(widget), widget
    assert page.ids.verticalScrollBar().maximum() > 0
    assert page.ids.viewport().rect().contains(page.ids.place_of(last)), "what is selected is in sight"
    assert page.view.viewport().height() >= 3 * page.view.verticalScrollBar().singleStep()  # of a row
    place = page.ids.place_of(last - 2).center()
    qtbot.mouseClick(page.ids.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert page.view.selection() == (last - 2, last - 2)
    # Where there is no room for both, the tokens and the ids below them stay.
    window.text.resize(window.text.width(), 260)
    assert not page.ids.isVisible()
    assert page.view.isVisible()
    window.actions_by_id["show_ids"].trigger()
    window.session.view.set_text("")


@pytest.mark.parametrize(
    ("screen", "bars", "sizes"),
    [
        (QSize(1440, 900), {PLOTS, LISTS, "Token Why"}, [QSize(1440, 900), QSize(1024, 640)]),
        # At 1024 x 600.
        (QSize(1024, 552), {"Configure Corpus", f"{PLOTS} {LISTS}", "Text Token Why"}, [QSize(1024, 552)]),
    ],
    indirect=["screen"],
)
@at_window("{book}")
def test_a_window_is_no_larger_than_its_screen_shows_what_is_essential_and_no_card_covers_a_control_or_another_card(
    qtbot, screen, bars, sizes, window
):
    looked = []
    window.recovery.offered.connect(lambda: looked.append(True))
    trained(qtbot, window)
    window.session.training.set_settings(Settings(1000, 2, "gpt2"))
    # The start hides the card of unsaved work when it has found none.
    qtbot.waitUntil(lambda: bool(looked))
    fill_screen(qtbot, window, screen, bars)
    cards = [window.messages, window.unsaved_work]

    def reached() -> bool:
        around = QRect(QPoint(), window.size())
        controls = [window.configure.buttons["train"], window.finder.box, window.merges.filter]
        controls += window.findChildren(QTabBar) + window.compression.bar.findChildren(QAbstractButton)
        controls += [button for card in cards for button in card.findChildren(QAbstractButton)]
        for control in controls:
            if control.isVisible() and not control.visibleRegion().isEmpty():
                at = control.visibleRegion().boundingRect().center()
                there = window.childAt(control.mapTo(window, at))
                assert there is not None
                assert there is control or control.isAncestorOf(there), control.accessibleName()
        return all(card.isVisible() and around.contains(card.geometry()) for card in cards)

    for size in sizes:
        for card in cards:
            card.offer("")
        window.resize(size)
        window.reset_layout()
        qtbot.waitUntil(lambda size=size: window.size() == size)
        settle(qtbot, window)
        if size.height() >= 640:
            the_essential_settings_need_no_scrolling(qtbot, window, size)
            the_list_of_ids_is_below_the_tokens(qtbot, window)
            window.reset_layout()
            settle(qtbot, window)
        window.messages.show_problem(
            Problem("What went wrong is told in one sentence, and what to do in another. " * 2)
        )
        window.unsaved_work.offer("Two runs of book.txt that nobody has saved were left by the last start.")
        QApplication.processEvents()
        assert reached(), size
        assert not cards[0].geometry().intersects(cards[1].geometry()), size
        train = window.configure.buttons["train"]
        assert not train.visibleRegion().isEmpty(), size
        assert train.visibleRegion().boundingRect().size() == train.size(), size
        # Where other panes come to the front, cards make way.
        window.distribution.raise_()
        window.vocabulary.raise_()
        QApplication.processEvents()
        at_rest(qtbot, *cards)
        assert reached(), size


@pytest.mark.parametrize("screen", [QSize(704, 412)], indirect=True)
@at_window()
def test_panes_share_one_place_in_a_narrow_window_and_the_find_field_stays_in_its_tool_bar(qtbot, screen, window):
    # At 1440 x 900 with everything at twice its size.
    fill_screen(qtbot, window, screen, {"Configure Corpus", f"{PLOTS} {LISTS} Text Token Why"})
    box, toolbar = window.finder.box, window.toolbar
    toolbar.show_run_tools(True)
    for width in (1024, 720, 704, 1024):
        window.resize(width, 480)
        qtbot.waitUntil(lambda width=width: window.width() == width and in_sight(box))
        assert toolbar.rect().contains(box.geometry())
        assert in_sight(toolbar.export_button)
        button = next(one for one in toolbar.findChildren(QToolButton) if one.text() == "Open Corpus")
        words = button.fontMetrics().horizontalAdvance("Open Corpus")
        qtbot.waitUntil(lambda button=button, words=words, wide=width == 1024: (button.width() > words) is wide)
        # Qt gives a button that is shown or hidden the state of its place.
        states = {
            one.defaultAction(): one.isEnabled() for one in toolbar.findChildren(QToolButton) if one.defaultAction()
        }
        assert states == {action: action.isEnabled() for action in states}
        assert set(states.values()) == {True, False}
    window.resize(720, 480)
    qtbot.mouseClick(box, Qt.MouseButton.LeftButton)
    qtbot.keyClicks(box, "the")
    assert box.text() == "the"
