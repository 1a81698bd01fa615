"""The settings under More in the Configure pane: all except the limits and the pattern.

The core validates them; the pane passes its messages to the fields.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.sampling import in_use, refuse_counts
from tokstudio.core.model.algorithms import TieBreak
from tokstudio.core.model.alphabet import Base
from tokstudio.core.model.config import SpecialPlacement
from tokstudio.gui.state.training_settings import RULES, RULES_HELP, TIE_RULES, Documents, Settings
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.spelling import marked, shown
from tokstudio.gui.widgets.controls import Choice
from tokstudio.gui.widgets.fields import ChoiceField, Field, LimitField, ListField, RulesField, ShareField
from tokstudio.gui.widgets.layouts import column
from tokstudio.gui.widgets.menus import link_button

_BASES = (
    Choice("bytes", "Bytes", "The 256 bytes: every text can be encoded."),
    Choice("characters", "Characters", "Whole characters, from the corpus or a list."),
)
_FROM_CORPUS, _OWN_LIST = "corpus", "own"
_VOCABULARIES = (
    Choice(_FROM_CORPUS, "Corpus", "The corpus's characters, as they first appear."),
    Choice(_OWN_LIST, "Own list", "Only these characters, in this order."),
)
_NO_UNKNOWN = Choice("", "None", "A missing character is an error.")
_TIES = tuple(Choice(rule, *texts) for rule, texts in TIE_RULES.items())
_PLACES = (
    Choice("last", "Last", "Their ids come after those of the merges."),
    Choice("first", "First", "Their ids come first, and all others move up."),
)
_DOCUMENTS = (
    Choice("file", "By file", "A file is a document: merges may cross lines."),
    Choice("line", "By line", "A line is a document: no merge crosses its end."),
)
_LIST_HELP = r"One per line: a character or a longer special token. Escapes: \n, \t and \\."
_SPECIALS_HELP = r"One per line, such as <|endoftext|>. Never merged. Escapes: \n, \t and \\."
_LONGEST_HELP = "No token is longer than this."
_HELD_OUT_HELP = "Share that is measured, not trained on."
_NO_LINES = "Word counts have no lines to hold out."
_NAMED = 20  # special tokens that are listed below the field
_LONGEST = 40  # bytes of each


class MoreSettings(QWidget):
    """The other fields, and the button that resets all of them."""

    changed = Signal()  # the user changed one
    reset_asked = Signal()  # the user wants to reset all of them

    def __init__(self, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__()
        self.corpus_problem = ""  # why the settings do not work with this corpus; "" if they do
        self._list_is_wrong = False
        self.base = ChoiceField("&Base units", _BASES, theme, word="base-units")
        self.vocabulary = ChoiceField("Base vocabular&y", _VOCABULARIES, theme, word="base-vocabulary")
        self.entries = ListField("Base tokens", _LIST_HELP, theme, 5, word="base-tokens")
        self.load = link_button("Load from File…", actions["load_base_tokens"].trigger)
        self.start = link_button("From the Corpus", actions["base_tokens_of_corpus"].trigger)
        self.entries.add_links(self.load, self.start)
        self.specials = ListField("Special to&kens", _SPECIALS_HELP, theme, 2, word="special-token")
        self.placement = ChoiceField("Their ids", _PLACES, theme, word="ids-of-special-tokens")
        self.unknown = ChoiceField("&Unknown token", (_NO_UNKNOWN,), theme, word="unknown-token")
        self.ties = ChoiceField("T&ie rule", _TIES, theme, word="tie-rule")
        self.longest = LimitField("Longest token", _LONGEST_HELP, 16, theme, " bytes", word="longest-token")
        self.forbidden = RulesField("&Forbidden tokens", RULES_HELP, RULES, theme, word="forbidden-token")
        self.documents = ChoiceField("&Documents", _DOCUMENTS, theme, word="document")
        self.held_out = ShareField("He&ld out", _HELD_OUT_HELP, theme, word="held-out-text")
        self.load.setToolTip("Load the base tokens from a file: a JSON list, or one per line")
        self.start.setToolTip("Fill the list with the characters of the corpus")
        self.reset = link_button("Reset to Defaults", self.reset_asked.emit)
        self.reset.setToolTip("Reset every setting to its default")
        column(*self.fields, self.reset, spacing=8, parent=self)
        for field in self.fields:
            field.changed.connect(self.changed)

    @property
    def fields(self) -> tuple[Field, ...]:
        """All fields, in their order."""
        tokens = (self.base, self.vocabulary, self.entries, self.unknown, self.specials, self.placement)
        return (*tokens, self.ties, self.longest, self.forbidden, self.documents, self.held_out)

    @property
    def _of_bpe(self) -> tuple[Field, ...]:
        """Those that no other library's algorithm has; further ones depend on the base units."""
        return self.base, self.placement, self.ties, self.longest, self.forbidden, self.documents

    @property
    def controls(self) -> list[QWidget]:
        """The controls, in the same order."""
        base = [self.base.combo, self.vocabulary.combo, self.entries.edit, self.load, self.start, self.unknown.combo]
        specials = [self.specials.edit, self.placement.combo]
        rest = [self.ties.combo, self.longest.check, self.longest.number, *self.forbidden.controls]
        return [*base, *specials, *rest, self.documents.combo, self.held_out.number, self.reset]

    @property
    def named_fields(self) -> Mapping[str, Field]:
        """The fields that can show an error, by name."""
        return {
            "base tokens": self.entries,
            "unknown token": self.unknown,
            "special tokens": self.specials,
            "longest token": self.longest,
            "forbidden tokens": self.forbidden,
            "held-out share": self.held_out,
        }

    def taken_over(self, settings: Settings) -> Settings:
        """Returns the settings with the values of these fields."""
        own, is_shown = self.vocabulary.value == _OWN_LIST, self.held_out.number.shows
        return replace(
            settings,
            base=cast("Base", self.base.value),
            base_vocabulary=from_lines(self.entries.text()) if own else None,
            special_tokens=from_lines(self.specials.text()),
            special_placement=cast("SpecialPlacement", self.placement.value),
            unknown_token=self.unknown.value or None,
            tie_break=cast("TieBreak", self.ties.value),
            max_token_bytes=self.longest.value,
            forbidden=self.forbidden.rules,
            documents=cast("Documents", self.documents.value),
            held_out=settings.held_out if is_shown(settings.held_out) else self.held_out.number.share,
        )

    def show_settings(self, settings: Settings, defaults: Settings) -> None:
        """Shows settings without emitting signals."""
        own, in_characters = settings.base_vocabulary is not None, settings.base == "characters"
        self.base.set_value(settings.base)
        self.vocabulary.set_value(_OWN_LIST if own else _FROM_CORPUS)
        _show_list(self.entries, settings.base_vocabulary)
        _show_list(self.specials, settings.special_tokens)
        self.placement.set_value(settings.special_placement)
        self._offer_unknown(settings)
        self.ties.set_value(settings.tie_break)
        self.longest.set_value(settings.max_token_bytes)
        self.forbidden.set_rules(settings.forbidden)
        self.documents.set_value(settings.documents)
        self.held_out.set_value(settings.held_out)
        for field in self._of_bpe:
            field.setVisible(not settings.by_library)
        self.ties.setVisible(settings.has("tie_break"))
        in_characters &= not settings.by_library
        self.vocabulary.setVisible(in_characters)
        self.entries.setVisible(in_characters and own)
        self.unknown.setVisible(in_characters)
        self.placement.setEnabled(bool(settings.special_tokens))
        self.entries.count.setText(_counted(settings.base_vocabulary or ()))
        self.specials.show_read(_read_back(settings.special_tokens))
        self.reset.setEnabled(settings != defaults)

    def show_faults(self, faults: Mapping[str, str]) -> None:
        """Shows errors at the fields, by the settings' names."""
        self.entries.set_error(faults.get("base_vocabulary"))
        self.specials.set_error(faults.get("special_tokens"))
        self.unknown.set_error(faults.get("unknown_token"))
        self.longest.set_error(faults.get("max_token_bytes"))
        self.forbidden.set_error(faults.get("forbidden"))
        self._list_is_wrong = "base_vocabulary" in faults

    def show_missing(self, problem: str | None) -> None:
        """Names a character that is missing in the base tokens, if that is the error."""
        if not self._list_is_wrong:
            self.entries.set_error(problem)

    def show_corpus(self, settings: Settings, corpus: Corpus) -> None:
        """Disables settings that the corpus does not allow; those that are set can still be removed."""
        self.corpus_problem, reason = "", None
        try:
            refuse_counts(in_use(corpus.sources, corpus.weights))
        except ConfigError as error:
            self.corpus_problem, reason = (str(error), None) if settings.held_out else ("", _NO_LINES)
        self.held_out.set_unavailable(reason)
        if self.corpus_problem:
            self.held_out.set_error(self.corpus_problem)

    def _offer_unknown(self, settings: Settings) -> None:
        listed = [entry for entry in settings.base_vocabulary or () if len(entry) > 1]
        chosen = () if settings.unknown_token is None else (settings.unknown_token,)
        names = dict.fromkeys([*listed, *settings.special_tokens, *chosen])
        choices = [_NO_UNKNOWN, *(Choice(name, name, "Replaces a missing character.") for name in names)]
        if tuple(choices) != self.unknown.combo.choices:
            self.unknown.set_choices(choices, settings.unknown_token or "")
        self.unknown.set_value(settings.unknown_token or "")


def _show_list(field: ListField, entries: tuple[str, ...] | None) -> None:
    # An unfinished line is not an entry yet, and stays.
    if entries is not None and from_lines(field.text()) != entries:
        field.set_text(to_lines(entries))


def _read_back(specials: tuple[str, ...]) -> str:
    """Lists special tokens with marks for their white space, which is invisible in the field."""
    named = [marked(shown(special.encode("utf-8", "replace"), _LONGEST)) for special in specials[:_NAMED]]
    also = f" and {len(specials) - _NAMED:,} more" if len(specials) > _NAMED else ""
    return f"{several(len(specials), 'special token')}: {', '.join(named)}{also}" if specials else ""


def _counted(entries: tuple[str, ...]) -> str:
    specials = sum(len(entry) > 1 for entry in entries)
    return f"{len(entries):,}, {specials:,} of them special" if specials else f"{len(entries):,}"


_ESCAPE = re.compile(r"\\[\\ntr]")
_ESCAPED = {"\\\\": "\\", "\\n": "\n", "\\t": "\t", "\\r": "\r"}
_WRITTEN = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def to_lines(entries: Iterable[str]) -> str:
    """Writes one entry per line."""
    return "\n".join(entry.translate(_WRITTEN) for entry in entries)


def from_lines(text: str) -> tuple[str, ...]:
    r"""Reads entries: empty lines are ignored, and unknown escapes keep their backslash."""
    return tuple(_ESCAPE.sub(lambda found: _ESCAPED[found[0]], line) for line in text.split("\n") if line)
