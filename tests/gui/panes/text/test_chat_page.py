"""The page Chat of the Text pane: messages that are written and moved, their tokens by a template, and refusals."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAction, QGuiApplication, QWheelEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QWidget

from tests.core.libraries.test_chat_templates import folder
from tests.gui.person import at_window
from tests.processes import started_processes
from tokstudio import load
from tokstudio.core.tokenizer.dropout import Dropout
from tokstudio.gui.panes.text import chat_page
from tokstudio.gui.panes.text.pane import TextPane
from tokstudio.gui.session.common.view_state import Chat
from tokstudio.gui.style.icons import icon

CHAT = 3
TEMPLATE = """{% for m in messages %}
{%- if m.role == 'tool' %}{{ raise_exception('Tools are not known.') }}{% endif %}
{{- bos_token + m.role + ': ' + m.content + '<|user|>\\n' }}
{%- endfor %}{% if add_generation_prompt %}assistant:{% endif %}"""
HELLO = [{"role": "user", "content": "Hello"}]


@pytest.fixture
def pane(qtbot, session, theme) -> TextPane:
    names = ("show_white_space", "show_ids", "recognise_specials", "byte_level_characters", "encode_with_dropout",
             "dropout_again", "why_not_one_token", "copy", "copy_ids")  # fmt: skip
    actions = {name: QAction(icon("text", theme), name, checkable=True) for name in names}
    pane = TextPane(session, theme, actions)
    qtbot.addWidget(pane)
    pane.resize(420, 640)
    pane.show()
    return pane


@pytest.fixture
def add(session, tmp_path):
    """Adds a tokenizer with chat templates, or none."""

    def add(name="chatty", template=TEMPLATE):
        config = {} if template is None else {"chat_template": template}
        session.runs.add_tokenizer(load(folder(tmp_path / name, **config)), name)
        return session.runs.all[-1]

    return add


def settled(qtbot, pane) -> None:
    qtbot.waitUntil(lambda: not pane.chat.latest.busy and pane.chat.state[0] != "busy")


@pytest.fixture
def chat(qtbot, pane, add):
    """The page with one tokenizer and one message."""
    add()
    pane.tabs.setCurrentIndex(CHAT)
    write(qtbot, pane, 0, "Hello")
    return pane.chat


def write(qtbot, pane, number, text) -> None:
    pane.chat.list.rows[number].content.take(text)
    settled(qtbot, pane)


def messages(page) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in page.list.chat.messages]


def ids(page) -> list[int]:
    return [] if page.encoded is None else page.encoded.ids.tolist()


def test_it_is_there_as_soon_as_something_has_a_template(qtbot, session, pane, add):
    add("plain", None)
    assert not pane.tabs.isTabVisible(CHAT)
    run = add()
    assert pane.tabs.isTabVisible(CHAT)
    pane.tabs.setCurrentIndex(CHAT)
    settled(qtbot, pane)
    session.runs.delete(run)
    assert not pane.tabs.isTabVisible(CHAT)
    assert pane.page is not pane.chat
    assert pane.pages.currentWidget() is pane.page


def test_messages_become_the_tokens_of_the_template(session, chat):
    tokenizer = session.runs.active.tokenizer
    assert ids(chat) == tokenizer.chat(HELLO)
    assert chat.encoded.text == "<pad>user: Hello<|user|>\n"
    specials = {tokenizer.special_tokens[token] for token in ("<pad>", "<|user|>")}
    assert {token for token, special in zip(ids(chat), chat.encoded.special, strict=True) if special} == specials
    assert chat.state[0] == "good"


def test_messages_are_added_moved_and_removed(qtbot, session, pane, chat):
    qtbot.mouseClick(chat.list.add_button, Qt.MouseButton.LeftButton)
    assert chat.list.rows[1].content.hasFocus()
    qtbot.keyClicks(chat.list.rows[1].content, "Hi.")
    settled(qtbot, pane)
    both = [*HELLO, {"role": "assistant", "content": "Hi."}]
    assert messages(chat) == both
    assert ids(chat) == session.runs.active.tokenizer.chat(both)
    first, second = chat.list.rows
    assert not first.up.isEnabled()
    assert not second.down.isEnabled()
    second.up.trigger()
    assert second.button.hasFocus()
    assert messages(chat) == both[::-1]
    assert [each.content.accessibleName() for each in chat.list.rows] == ["Message 1", "Message 2"]
    first.remove.trigger()
    settled(qtbot, pane)
    assert messages(chat) == both[1:]
    assert second.content.hasFocus()
    assert not second.remove.isEnabled()
    assert ids(chat) == session.runs.active.tokenizer.chat(both[1:])


def test_messages_are_kept_for_projects_and_those_of_a_project_are_shown(qtbot, session, pane, chat):
    assert session.view.chat == Chat((("user", "Hello"),))
    chat.list.prompt.setChecked(True)
    assert session.view.chat.prompt
    of_project = Chat((("system", "Be\nbrief."), ("developer", ""), ("user", "é \ud800")), prompt=False)
    session.view.set_chat(Chat.from_plain(json.loads(json.dumps(of_project.to_plain()))))
    settled(qtbot, pane)
    assert chat.list.chat == session.view.chat == of_project
    assert [each.role.currentText() for each in chat.list.rows] == ["system", "developer", "user"]
    assert not chat.list.prompt.isChecked()
    assert chat.encoded.text.startswith("<pad>system: Be\nbrief.<|user|>\n")
    assert session.view.chat == of_project, "showing it has not changed it"


@pytest.mark.parametrize(
    "kept",
    [7, {}, {"messages": []}, {"messages": "ab"}, {"messages": [["user", 1]]}, {"messages": [["user"], "ab"]},
     {"messages": [["user", "x"]] * 101}],
)  # fmt: skip
def test_wrong_messages_of_a_project_are_those_of_the_start(kept):
    assert Chat.from_plain(kept) == Chat()


def test_a_role_is_chosen_or_written(qtbot, pane, chat):
    chat.list.rows[0].role.setCurrentText("system")
    settled(qtbot, pane)
    assert chat.encoded.text.startswith("<pad>system: ")
    chat.list.rows[0].role.setEditText("developer")
    settled(qtbot, pane)
    assert chat.encoded.text.startswith("<pad>developer: ")


def test_the_wheel_over_a_role_scrolls_and_does_not_change_it(chat):
    role = chat.list.rows[0].role
    nothing, none = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier
    for has_focus, expected in ((False, "user"), (True, "assistant")):
        (role if has_focus else chat.view).setFocus()
        place, turn = QPointF(role.rect().center()), QPoint(0, -120)
        phase = Qt.ScrollPhase.NoScrollPhase
        event = QWheelEvent(place, role.mapToGlobal(place), QPoint(), turn, nothing, none, phase, False)
        QApplication.sendEvent(role, event)
        assert role.currentText() == expected


def test_the_prompt_of_an_answer_is_added(qtbot, session, pane, chat):
    chat.list.prompt.click()
    settled(qtbot, pane)
    assert chat.encoded.text.endswith("\nassistant:")
    assert ids(chat) == session.runs.active.tokenizer.chat(HELLO, add_generation_prompt=True)


def test_a_refusal_is_told_and_mending_shows_the_tokens_again(qtbot, pane, chat):
    chat.list.rows[0].role.setEditText("tool")
    settled(qtbot, pane)
    assert chat.note() == "The chat template refuses these messages: Tools are not known."
    assert ids(chat) == []
    chat.list.rows[0].role.setEditText("user")
    settled(qtbot, pane)
    assert chat.note() == ""
    assert ids(chat)


def test_a_tokenizer_without_a_template_is_told_and_others_are_counted(qtbot, session, pane, chat, add):
    with_template = session.runs.active
    add("plain", None)
    add("other", "{{ messages[0].content }}")
    plain = next(run for run in session.runs.all if run.name == "plain")
    session.runs.activate(plain)
    qtbot.waitUntil(lambda: chat.note() == "This tokenizer has no chat template: its files name none.")
    expected = (("chatty", len(with_template.tokenizer.chat(HELLO))), ("other", 5))
    qtbot.waitUntil(lambda: chat.others.counts == expected)
    session.runs.activate(with_template)
    qtbot.waitUntil(lambda: chat.without.text() == "plain has no chat template.")
    settled(qtbot, pane)
    assert ids(chat) == with_template.tokenizer.chat(HELLO)
    assert chat.others.isVisible()
    assert chat.without.isVisible()
    pane.resize(420, 300)
    assert not chat.others.isVisible()


def test_of_several_templates_one_is_chosen(qtbot, session, pane, add):
    add("two", [{"name": "rag", "template": "rag"}, {"name": "default", "template": TEMPLATE}])
    pane.tabs.setCurrentIndex(CHAT)
    write(qtbot, pane, 0, "Hello")
    listed = pane.chat.list
    assert listed.template == "default"
    assert pane.chat.encoded.text == "<pad>user: Hello<|user|>\n"
    listed.templates.setCurrentIndex(0)
    settled(qtbot, pane)
    assert pane.chat.encoded.text == "rag"
    add("one")
    session.runs.activate(session.runs.all[-1])
    settled(qtbot, pane)
    assert listed.template is None
    assert pane.chat.encoded.text == "<pad>user: Hello<|user|>\n"


def test_it_follows_the_playhead(qtbot, session, pane, chat):
    write(qtbot, pane, 0, "how are you")
    told, tokenizer = messages(chat), session.runs.active.tokenizer
    session.view.set_playhead(0)
    settled(qtbot, pane)
    assert ids(chat) == tokenizer.at(0).chat(told)
    assert len(ids(chat)) > len(tokenizer.chat(told))


def test_dropout_does_not_change_it(qtbot, session, pane, chat):
    before = ids(chat)
    session.view.set_dropout(Dropout(1.0, 1))
    write(qtbot, pane, 0, "Hello!")
    write(qtbot, pane, 0, "Hello")
    assert ids(chat) == before


def test_while_one_writes_one_process_renders(qtbot, pane, add, monkeypatch):
    started = started_processes(monkeypatch)
    add()
    pane.tabs.setCurrentIndex(CHAT)
    text = "What is a token, and why are there so many?"
    pane.chat.list.rows[0].content.take("")
    qtbot.keyClicks(pane.chat.list.rows[0].content, text)
    qtbot.waitUntil(lambda: pane.chat.encoded is not None and text in pane.chat.encoded.text)
    assert len(started) == 1


def test_text_and_ids_are_copied(pane, chat):
    pane.copy()
    assert QGuiApplication.clipboard().text() == chat.encoded.text
    pane.copy_ids()
    assert QGuiApplication.clipboard().text() == " ".join(map(str, ids(chat)))


def test_there_are_at_most_so_many_messages(monkeypatch, chat):
    monkeypatch.setattr(chat_page, "MOST_MESSAGES", 10)
    while len(chat.list.rows) < 10:
        assert chat.list.add_button.isEnabled()
        chat.list.add_next()
    assert not chat.list.add_button.isEnabled()
    assert "10 messages" in chat.list.add_button.toolTip()
    chat.list.rows[5].remove.trigger()
    assert chat.list.add_button.isEnabled()


def test_every_control_has_a_name_and_tab_reaches_it(qtbot, pane, chat):
    chat.list.add_next()
    order = chat.list.order()
    inner = [one for one in chat.list.findChildren(QWidget) if isinstance(one, (QAbstractButton, QComboBox))]
    controls = [one for one in inner if one.isVisible() and one.focusPolicy() & Qt.FocusPolicy.TabFocus]
    for one in (*controls, *order):
        assert one.accessibleName() or one.text(), one
        assert one in order, one.accessibleName()
    visible = [one for one in order if one.isVisible()]
    visible[0].setFocus()
    for expected in visible[1:]:
        qtbot.keyClick(QGuiApplication.focusObject(), Qt.Key.Key_Tab)
        assert expected.hasFocus() or expected.isAncestorOf(QGuiApplication.focusObject()), expected.accessibleName()


@at_window()
def test_messages_and_tokens_have_room_in_a_small_window(qtbot, window, tmp_path):
    window.session.runs.add_tokenizer(load(folder(tmp_path / "chatty", chat_template=TEMPLATE)), "chatty")
    window.resize(1024, 640)
    pane = window.text
    pane.raise_()
    pane.tabs.setCurrentIndex(CHAT)
    qtbot.waitUntil(lambda: pane.chat.encoded is not None and pane.chat.view.isVisible())
    listed = pane.chat.list
    assert listed.rows[0].content.height() >= listed.fontMetrics().lineSpacing()
    assert listed.rows[0].content.width() > 60
    assert not listed.rows[0].content.verticalScrollBar().isVisible()
    for part in (listed.add_button, listed.prompt, pane.chat.figures):
        assert not part.visibleRegion().isEmpty()
    assert pane.chat.view.height() >= 46
