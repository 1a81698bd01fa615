"""The page Chat of the Text pane: messages by role, and the tokens that a chat template makes of them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from PySide6.QtCore import QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QShowEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QSizePolicy, QVBoxLayout, QWidget

from tokstudio.core.analysis.baselines import SimpleTokenizer
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import first_few
from tokstudio.core.libraries.chat_templates import ChatRenderer
from tokstudio.core.model.file_settings import DEFAULT
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.panes.text.encoding_job import Encoded, encode_work
from tokstudio.gui.panes.text.grids import Count, CountsGrid
from tokstudio.gui.panes.text.page import TextInput, TokensPage
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.common.view_state import MOST_MESSAGES, Chat
from tokstudio.gui.session.measuring.compared import ComparedColumn
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.blocks import EncodedText
from tokstudio.gui.widgets.controls import ChoiceBox, WheelWithFocus
from tokstudio.gui.widgets.figures import FigureName
from tokstudio.gui.widgets.labels import named, paragraph_label, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, Fitting, TallBody, column, row, set_tab_order
from tokstudio.gui.widgets.menus import Menu, link_button, tool_button

_ROLES = ("system", "user", "assistant", "tool")
_ANSWERS = {"user": "assistant"}  # the role of a new message, by that before it; of others "user"
_ROLE_WIDTH, _NARROW_ROLE = 104, 84
_NARROW = 300
_MOST_LINES = 4  # of a message that are seen at once
_EDGES = 20  # of a field, in pixels
_SHARE = 0.45  # of the height, for the messages
_ROOM_FOR_OTHERS = 330
_MOST_NAMED = 4

_FIGURES = (
    FigureName("tokens", "Tokens of the rendered messages with the active run, at the playhead", "token"),
    FigureName("special", "Special tokens among them", "special-token"),
    FigureName("characters", "Unicode characters of the rendered messages", "character"),
    FigureName("bytes/token", "Bytes per token", "bytes-per-token"),
)

# --- The messages to edit ---------------------------------------------------------------------------------------------


class _RoleBox(WheelWithFocus, QComboBox):
    """A role to choose or to write."""

    def __init__(self, role: str) -> None:
        super().__init__(editable=True, insertPolicy=QComboBox.InsertPolicy.NoInsert)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.addItems(_ROLES)
        if role in _ROLES:
            self.setCurrentIndex(_ROLES.index(role))
        else:
            self.setEditText(role)


class _MessageRow(QWidget):
    """A message: its role, its text, and a menu that moves or removes it."""

    changed = Signal()

    def __init__(self, role: str, content: str) -> None:
        super().__init__()
        self.role = _RoleBox(role)
        self.role.setToolTip("Who says it: choose a role, or write another that the template knows")
        self.content = TextInput()
        self.content.set_text(content)
        self.content.setPlaceholderText("What is said")
        self.content.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.menu = Menu(self)
        self.up = self.menu.addAction("Move Up")
        self.down = self.menu.addAction("Move Down")
        self.remove = self.menu.addAction("Remove")
        self.button = tool_button("Move or remove this message", menu=self.menu)
        self.button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        top = Qt.AlignmentFlag.AlignTop
        row((self.role, top), (self.content, 1), (self.button, top), spacing=4, parent=self)
        self.role.editTextChanged.connect(self.changed)
        self.content.edited.connect(self.changed)
        self.content.document().documentLayout().documentSizeChanged.connect(self.fit)

    @property
    def message(self) -> tuple[str, str]:
        """The role and the text."""
        return self.role.currentText(), self.content.text()

    def number(self, number: int, last: int) -> None:
        """Names its controls, and says where it can go."""
        named(self.role, f"Role of message {number}", self.role.toolTip())
        self.content.setAccessibleName(f"Message {number}")
        self.button.setAccessibleName(f"Move or remove message {number}")
        self.up.setEnabled(number > 1)
        self.down.setEnabled(number < last)
        self.remove.setEnabled(last > 1)

    def fit(self) -> None:
        """As high as its lines, up to some."""
        spacing = self.content.fontMetrics().lineSpacing()
        lines = min(max(round(self.content.document().size().height()), 1), _MOST_LINES)
        height = max(lines * spacing + _EDGES, self.role.sizeHint().height())
        if height != self.content.height():
            self.content.setFixedHeight(height)


class MessageList(Fitting, QWidget):
    """The messages of a chat, to be written, added, moved and removed, and what else the template gets."""

    #: Something that the template gets has changed.
    edited = Signal()

    def __init__(self, theme: Theme, chat: Chat) -> None:
        super().__init__()
        self._theme = theme
        self.rows: list[_MessageRow] = []
        self._list = QWidget()
        self._column: QVBoxLayout = column(spacing=4, parent=self._list)
        self._column.addStretch(1)
        self.add_button = link_button("Add Message", self.add_next, "Adds a message below the others")
        tip = "Whether the beginning of an answer follows, which a model goes on with"
        self.prompt = named(QCheckBox("Generation prompt"), "Add generation prompt", tip)
        self.prompt.toggled.connect(self.edited)
        self.templates = named(ChoiceBox([]), "Chat template", "Which of the chat templates of this tokenizer is used")
        self.templates.currentIndexChanged.connect(self.edited)
        self._template_row = QWidget()
        row(plain_label("muted", "Template"), (self.templates, 1), spacing=8, parent=self._template_row)
        self._template_row.hide()
        body = TallBody(self._list)
        column((body, 1), self._template_row, row(self.add_button, STRETCH, self.prompt), spacing=4, parent=self)
        self.show_chat(chat)
        theme.follow(self.fit)

    @property
    def chat(self) -> Chat:
        """All messages, in their order, and whether the beginning of an answer follows."""
        return Chat(tuple(each.message for each in self.rows), self.prompt.isChecked())

    def show_chat(self, chat: Chat) -> None:
        """Shows these messages in place of the others."""
        with QSignalBlocker(self):
            for gone in self.rows:
                self._take_away(gone)
            self.rows.clear()
            for number, message in enumerate(chat.messages):
                self._insert(number, *message)
            self.prompt.setChecked(chat.prompt)
        self.edited.emit()

    @property
    def template(self) -> str | None:
        """The name of the chosen template; None where there is no choice."""
        return None if self._template_row.isHidden() else self.templates.choices[self.templates.currentIndex()].name

    def set_templates(self, names: Sequence[str]) -> None:
        """Offers several templates; one or none is no choice."""
        if len(names) > 1 and tuple(names) != tuple(choice.name for choice in self.templates.choices):
            self.templates.set_names(names, names.index(DEFAULT) if DEFAULT in names else 0)
        self._template_row.setVisible(len(names) > 1)

    def add_next(self) -> None:
        """Adds an empty message of the role that comes next."""
        self._insert(len(self.rows), _ANSWERS.get(self.rows[-1].role.currentText(), "user"), "")
        self.rows[-1].content.setFocus()
        self.edited.emit()

    def minimumSizeHint(self) -> QSize:
        """Returns a height for one message."""
        return QSize(100, 2 * (self.fontMetrics().lineSpacing() + _EDGES))

    def fit(self) -> None:
        """Gives the roles the room that there is."""
        width = self._theme.scaled(_NARROW_ROLE if self.width() < self._theme.scaled(_NARROW) else _ROLE_WIDTH)
        for each in self.rows:
            each.role.setFixedWidth(width)
            each.fit()

    def wanted_height(self) -> int:
        """Returns the height at which nothing has to scroll."""
        return self._list.sizeHint().height() + self.add_button.sizeHint().height() + 8

    def _insert(self, place: int, role: str, content: str) -> None:
        new = _MessageRow(role, content)
        new.changed.connect(self.edited)
        new.up.triggered.connect(partial(self._move, new, -1))
        new.down.triggered.connect(partial(self._move, new, 1))
        new.remove.triggered.connect(partial(self._remove, new))
        self.rows.insert(place, new)
        self._column.insertWidget(place, new)
        self._renumber()

    def _move(self, moved: _MessageRow, by: int) -> None:
        place = self.rows.index(moved) + by
        self.rows.remove(moved)
        self.rows.insert(place, moved)
        self._column.removeWidget(moved)
        self._column.insertWidget(place, moved)
        self._renumber()
        moved.button.setFocus()
        self.edited.emit()

    def _remove(self, gone: _MessageRow) -> None:
        place = self.rows.index(gone)
        self.rows.remove(gone)
        self._take_away(gone)
        self._renumber()
        self.rows[min(place, len(self.rows) - 1)].content.setFocus()
        self.edited.emit()

    def _take_away(self, gone: _MessageRow) -> None:
        self._column.removeWidget(gone)
        gone.hide()
        gone.deleteLater()

    def _renumber(self) -> None:
        for number, each in enumerate(self.rows, 1):
            each.number(number, len(self.rows))
        is_full = len(self.rows) >= MOST_MESSAGES
        self.add_button.setEnabled(not is_full)
        self.add_button.setToolTip(
            f"There are {MOST_MESSAGES} messages, the most." if is_full else "Adds a message below"
        )
        set_tab_order(*self.order())
        self.fit()

    def order(self) -> list[QWidget]:
        """The widgets that take the focus, in the order of reading."""
        in_rows: list[QWidget] = [part for each in self.rows for part in (each.role, each.content, each.button)]
        return [*in_rows, self.templates, self.add_button, self.prompt]


# --- The page ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Counted:
    """The tokens of the messages with other tokenizers, and those without a chat template."""

    counts: tuple[Count, ...]
    without: tuple[str, ...]


class ChatPage(Fitting, TokensPage):
    """Renders messages by the template of the active run's tokenizer, and shows the text in tokens."""

    in_background = True

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        self.list = MessageList(theme, session.view.chat)
        self.renderer = ChatRenderer()
        self._counted: object = None
        super().__init__(session, theme, actions, _FIGURES, self.list)
        self.view.setAccessibleName("Tokens of the rendered messages")
        self.view.selectionChanged.connect(self.look_at_selected)
        actions["show_ids"].toggled.connect(self.view.set_show_ids)
        self.view.set_show_ids(actions["show_ids"].isChecked())
        self.caption = plain_label("muted", "Other tokenizers, by their own templates")
        self.others = named(CountsGrid(theme), "Tokens of the same messages with other tokenizers")
        self.without = paragraph_label("muted")
        self.column.addWidget(self.caption)
        self.column.addWidget(self.others)
        self.column.addWidget(self.without)
        self._comparing = LatestJob(session.jobs, self, self._show_counts, quiet=True)
        self._compare_soon = QTimer(self, singleShot=True, interval=session.jobs.pauses.updates)
        self._compare_soon.timeout.connect(self._compare)
        self.list.edited.connect(self._keep)
        self.list.edited.connect(self.refresh)
        session.view.chat_changed.connect(self._follow_chat)
        for signal in (session.comparison.changed, self.list.edited):
            signal.connect(self._compare_later)
        session.runs.changed.connect(self._follow_templates)
        self._show_counts(_Counted((), ()))
        self._follow_templates()

    def text(self) -> str:
        """Returns all that the template gets, as JSON."""
        chat = self.list.chat
        messages = [{"role": role, "content": content} for role, content in chat.messages]
        return json.dumps([messages, chat.prompt, self.list.template])

    def make(self, tokenizer: Tokenizer, text: str) -> Work[tuple[Encoded, EncodedText]]:
        messages, prompt, name = json.loads(text)
        rendered = yield from tokenizer.chat_text_work(
            messages, add_generation_prompt=prompt, name=name, renderer=self.renderer
        )
        # A model gets them without dropout.
        encoded = yield from encode_work(tokenizer.with_dropout(0), rendered, "all", byte_level=self.byte_level)
        return encoded, EncodedText(*encoded.drawn, encoded.ids, encoded.special)

    def display(self, result: object, table: EncodedText) -> None:
        assert isinstance(result, Encoded)
        self.encoded = result
        self.view.show_table(table)
        tokens, size = len(result.ids), len(result.data)
        ratio = f"{size / tokens:,.2f}" if tokens else "–"
        special = int(np.count_nonzero(result.special))
        self.figures.set_values((f"{tokens:,}", f"{special:,}", f"{len(result.text):,}", ratio))
        if result.differs is None:
            self.set_state("good", "round trip")
        else:
            self.set_state("bad", f"differs at byte {result.differs:,}")

    def display_nothing(self, text: str) -> None:
        self.encoded = None
        self.view.clear()
        self.figures.set_values(("–", "–", "–", "–"))

    def height_above(self) -> int:
        """Returns the height of the messages, up to a share of the page."""
        least = self.list.minimumSizeHint().height()
        return max(min(self.list.wanted_height(), round(_SHARE * self.height())), least)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._compare_later()

    def fit(self) -> None:
        """Shows the counts of others where there is room."""
        roomy = self.height() >= self._theme.scaled(_ROOM_FOR_OTHERS)
        for widget, has_content in (
            (self.caption, bool(self.others.counts)),
            (self.others, bool(self.others.counts)),
            (self.without, bool(self.without.text())),
        ):
            widget.setVisible(roomy and has_content)
        # A splitter ignores the height of a wrapped text.
        self.without.setMinimumHeight(max(self.without.heightForWidth(self.width()), 0))

    def _keep(self) -> None:
        self.session.view.set_chat(self.list.chat)

    def _follow_chat(self) -> None:
        if self.session.view.chat != self.list.chat:
            self.list.show_chat(self.session.view.chat)

    def _follow_templates(self) -> None:
        run = self.session.runs.active
        with QSignalBlocker(self.list.templates):
            names = list(run.tokenizer.settings.chat_templates) if run is not None and run.has_chat_template else []
            self.list.set_templates(names)
        self.refresh()
        self._compare_later()

    def _compare_later(self) -> None:
        if self.isVisible():
            self._compare_soon.start()

    def _compare(self) -> None:
        """Counts the tokens of other tokenizers, unless the counts are shown already."""
        columns = [each for each in self.session.comparison.others if _can_chat(each)]
        asked = (self.text(), tuple((each.name, each.key) for each in columns))
        if asked == self._counted or not self.isVisible():
            return
        self._counted = asked
        self._comparing.run(partial(_counts_work, asked[0], columns, self.renderer))

    def _show_counts(self, counted: _Counted) -> None:
        self.others.set_counts(counted.counts)
        names, is_one = counted.without, len(counted.without) == 1
        which = first_few(names, _MOST_NAMED, str)
        self.without.setText(f"{which} {'has' if is_one else 'have'} no chat template." if names else "")
        self.fit()


def _can_chat(one: ComparedColumn) -> bool:
    """Whether a column is a tokenizer of files or trainings, not one of characters, bytes or words."""
    return one.tokenizer is not None and not isinstance(one.tokenizer, SimpleTokenizer)


def _counts_work(asked: str, columns: Sequence[ComparedColumn], renderer: ChatRenderer) -> Work[_Counted]:
    """Counts the tokens of messages by each tokenizer; None where one cannot render or encode them."""
    messages, prompt, name = json.loads(asked)
    counts, without = list[Count](), list[str]()
    yield from prepare_work()
    for each in columns:
        tokenizer = each.tokenizer
        assert isinstance(tokenizer, Tokenizer)
        templates = tokenizer.settings.chat_templates
        if not templates:
            without.append(each.name)
            continue
        own = name if name in templates else None
        try:
            text = yield from tokenizer.chat_text_work(
                messages, add_generation_prompt=prompt, name=own, renderer=renderer
            )
            counts.append((each.name, len((yield from tokenizer.encode_work(text, "all")))))
        except TokStudioError:
            counts.append((each.name, None))
    return _Counted(tuple(counts), tuple(without))
