"""The view: active run, playhead, token, text, and the selection in the text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

from PySide6.QtCore import QObject, Signal

from tokstudio.core.project.schema import Json
from tokstudio.core.tokenizer.dropout import Dropout
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.session.common.jobs import Jobs
from tokstudio.gui.state.run import StudioRun

_DROPOUT = 0.1  # usual in training
MOST_MESSAGES = 100  # of a chat


class TextSelection(NamedTuple):
    """A selected part of the text: its first byte, the byte after its last, and its number of tokens."""

    start: int
    stop: int
    tokens: int


class Chat(NamedTuple):
    """What a chat template gets: messages, each with its role, and whether the beginning of an answer follows."""

    messages: tuple[tuple[str, str], ...] = (("user", "What is a token?"),)
    prompt: bool = False

    def to_plain(self) -> dict[str, Json]:
        """What a project keeps of it."""
        return {"messages": [list[Json](message) for message in self.messages], "prompt": self.prompt}

    @classmethod
    def from_plain(cls, kept: object) -> Chat:
        """Makes it from `to_plain`; where something in it is missing or wrong, it is as at the start."""
        values: dict[str, object] = kept if isinstance(kept, dict) else {}
        messages: list[tuple[str, str]] = []
        listed = values.get("messages")
        for message in listed if isinstance(listed, list) else []:
            match message:
                case [str(role), str(content)]:
                    messages.append((role, content))
                case _:
                    return cls()
        return cls(tuple(messages), values.get("prompt") is True) if 0 < len(messages) <= MOST_MESSAGES else cls()


class ViewState(QObject):
    """The state of the view. Call every method from the GUI thread."""

    run_changed = Signal()  # `run`; those for the playhead and the token follow
    playhead_changed = Signal()  # `playhead`, or the tokenizer there
    token_changed = Signal()  # `token` or `chosen`
    text_changed = Signal()
    place_asked = Signal(object)  # to show a place of the text, see `show_text`
    target_changed = Signal()
    occurrence_asked = Signal(int)  # to go to the next (1) or previous (-1) occurrence of the target
    occurrences_changed = Signal()
    selection_changed = Signal()
    dropout_changed = Signal()
    chat_changed = Signal()

    def __init__(self, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self.run: StudioRun | None = None  # the active run, which all panes show; only `RunList` changes it
        # how often another run became active, except one that followed the weights in the place of the last
        self.switches = 0
        self.playhead = 0  # the number of applied merges
        self.token: int | None = None  # the token on display
        self.chosen: int | None = None  # the last token that was chosen, not only pointed at
        self.moved_since = False  # whether the user has moved the playhead since that was chosen
        self.hover = False  # whether the token is only pointed at; then the other panes do not follow
        self.text = ""  # the text shown as tokens
        self.chat = Chat()  # the messages whose tokens are shown
        self.target: int | None = None  # the token whose occurrences in the text are marked
        self.specials_recognised = False  # whether special tokens in the text become their ids
        self.dropout: Dropout | None = None  # how merges are passed over in encoding the text; None without dropout
        self._last_dropout = Dropout(_DROPOUT)
        # the number of the selected occurrence of the target, from 1 on, and how many there are
        self.occurrences = (0, 0)
        self.selection: TextSelection | None = None
        self._following = True
        self._left_at: WeakKeyDictionary[StudioRun, int] = WeakKeyDictionary()  # playheads that were not at the end

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer at the playhead."""
        if self.run is None:
            return None
        return self.run.tokenizer.at(min(self.playhead, len(self.run)))

    def set_playhead(self, merges: int) -> None:
        """Moves the playhead; at the end of a growing run, it follows the run."""
        if self.run is None:
            return
        merges = min(max(merges, 0), len(self.run))
        if merges < len(self.run) and self.run.no_playhead is not None:
            self._jobs.refuse(f"The playhead stays at the end: {self.run.no_playhead}.")
            return
        self._following = merges == len(self.run)
        if merges != self.playhead:
            self.playhead, self.moved_since = merges, True
            self.playhead_changed.emit()

    def look_at(self, token: int | None, *, hover: bool = False) -> None:
        """Shows a token in the Token pane; unless it is only pointed at (`hover`), the other panes follow."""
        before = self.token, self.chosen
        self.token = token
        if not hover:
            self.chosen, self.moved_since = token, False
        if (self.token, self.chosen) != before:
            self.hover = hover
            self.token_changed.emit()
            self.hover = False

    def set_target(self, token: int | None) -> None:
        """Marks the occurrences of a token in the text and shows the token; None removes the marks."""
        changed, self.target = token != self.target, token
        if token is None:
            self.set_occurrences(0, 0)
        else:
            self.look_at(token)
        if changed or token is not None:
            self.target_changed.emit()

    def go_to_occurrence(self, step: int) -> None:
        """Asks to go to the next (1) or previous (-1) occurrence of the target in the text."""
        if self.target is not None:
            self.occurrence_asked.emit(step)

    def set_occurrences(self, selected: int, number: int) -> None:
        """Sets the number of the selected occurrence of the target, and how many there are."""
        if (selected, number) != self.occurrences:
            self.occurrences = (selected, number)
            self.occurrences_changed.emit()

    def set_text(self, text: str) -> None:
        """Sets the text shown as tokens."""
        if text != self.text:
            self.text = text
            self.select(None)
            self.text_changed.emit()

    def set_chat(self, chat: Chat) -> None:
        """Sets the messages that a chat template gets."""
        if chat != self.chat:
            self.chat = chat
            self.chat_changed.emit()

    def show_text(self, text: str, place: tuple[int, int] | None) -> None:
        """Sets the text shown as tokens, and asks to show it with the tokens of some bytes selected.

        Without a place, that is the first occurrence of the target.
        """
        self.set_text(text)
        self.place_asked.emit(place)

    def recognise_specials(self, recognised: bool) -> None:
        """Sets whether special tokens in the text become their ids."""
        self.specials_recognised = recognised

    def switch_dropout(self, on: bool) -> None:
        """Sets whether the text is encoded with dropout, as it was last."""
        self.set_dropout(self._last_dropout if on else None)

    def set_dropout(self, dropout: Dropout | None) -> None:
        """Sets how merges are passed over in encoding the text."""
        if dropout != self.dropout:
            self.dropout = dropout
            self._last_dropout = dropout or self._last_dropout
            self.dropout_changed.emit()

    def drop_again(self) -> None:
        """Encodes the text with dropout, other merges being passed over than before."""
        last = self._last_dropout
        self.set_dropout(replace(last, seed=last.seed + 1))

    def dropped(self, tokenizer: Tokenizer) -> Tokenizer:
        """The tokenizer as it encodes the text: with the dropout, if it can have one."""
        if self.dropout is None or tokenizer.why_no_dropout is not None:
            return tokenizer
        return tokenizer.with_dropout(self.dropout.probability, self.dropout.seed)

    def select(self, selection: TextSelection | None) -> None:
        """Sets the selected part of the text."""
        if selection != self.selection:
            self.selection = selection
            self.selection_changed.emit()

    # ---- following the runs

    def start(self, run: StudioRun | None) -> None:
        """Shows another run, its playhead where it was left or at its end."""
        if self.run is not None:
            self._left_at.pop(self.run, None)
            if not self._following:
                self._left_at[self.run] = self.playhead
        self.switches += 1
        length = len(run) if run is not None else 0
        self._show(run, length if run is None else min(self._left_at.get(run, length), length))
        self._tell_run()

    def start_in_place(self, run: StudioRun) -> None:
        """Shows a run in the place of the last: the playhead stays, or at the end, and so does the token."""
        before, token, chosen = self.run, self.token, self.chosen
        at_end = before is None or self.playhead == len(before)
        self._show(run, len(run) if at_end else min(self.playhead, len(run)))
        if before is not None:
            self.token, self.chosen = (_same_token(before, run, each) for each in (token, chosen))
        self._tell_run()

    def _show(self, run: StudioRun | None, playhead: int) -> None:
        self.run, self.playhead = run, playhead
        self._following = run is None or playhead == len(run)
        self.token = self.chosen = None
        self.set_target(None)

    def _tell_run(self) -> None:
        self.run_changed.emit()
        self.playhead_changed.emit()
        self.token_changed.emit()

    def follow(self) -> bool:
        """Keeps the playhead valid in a grown run, or at its end if it was there; says whether to `tell_playhead`."""
        assert self.run is not None
        before = self.playhead
        self.playhead = len(self.run) if self._following else min(before, len(self.run))
        return self._following or self.playhead != before

    def tell_playhead(self) -> None:
        """Emits the signals for a moved playhead."""
        self.playhead_changed.emit()

    def shift_tokens(self, first: int, by: int) -> None:
        """Keeps the same tokens after the ids from `first` on have moved by `by`."""
        before = self.token, self.chosen
        self.token, self.chosen = (token + by if token is not None and token >= first else token for token in before)
        if (self.token, self.chosen) != before:
            self.token_changed.emit()
        if self.target is not None and self.target >= first:
            # Not by `set_target`, which would also show it; the user may be viewing another token.
            self.target += by
            self.target_changed.emit()


def _same_token(before: StudioRun, run: StudioRun, token: int | None) -> int | None:
    """The token of another run with the same text; None if there is none."""
    text = before.tokenizer.tokens[token] if token is not None and before.tokenizer.tokens.in_use(token) else None
    if token is None or text is None:
        return None
    special = before.tokenizer.kind(token) == "special"
    same = run.tokenizer.tokens.spelling(text)
    return next((same_token for same_token in same if (run.tokenizer.kind(same_token) == "special") == special), None)
