"""The dialog that removes tokens from a tokenizer."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtWidgets import QButtonGroup, QRadioButton, QWidget

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import several
from tokstudio.core.text.languages import SCRIPTS
from tokstudio.core.tokenizer.library_tokenizer import check_changeable
from tokstudio.gui.dialogs.surgery.parts import SurgeryDialog, check_fields
from tokstudio.gui.dialogs.surgery.works import ChangedTokenizer, Effect, PruneChoice, PruneWork, check_size
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Choice, ChoiceBox, Number
from tokstudio.gui.widgets.fields import ChoiceField, Field

SIZE, USES, SCRIPT, TOKENS = range(4)
_ABOUT = (
    "Only tokens that no other token needs can go; the least used go first. Bytes and special tokens stay. Text whose "
    "tokens stay is encoded as before."
)
_RUN = Choice("run", "In its training", "As often as they were used in the training of this run.")
_CORPUS = Choice("corpus", "In the corpus", "The corpus of the window is encoded, and the tokens are counted.")
_NONE = Choice("none", "Not counted", "The highest ids go first.")
_IDS = (
    Choice("renumber", "Close the gaps", "The ids that are left become smaller; the map says which became which."),
    Choice("stay", "Stay", "All other ids stay, with gaps where tokens went."),
)
_FEW = 1  # uses


class WayField(Field):
    """A way to choose what goes; its `control` is a number or list, None where there is nothing to set."""

    def __init__(self, text: str, tip: str, control: QWidget | None) -> None:
        self.button = QRadioButton(text)
        super().__init__(tip, control or self.button)
        self.button.setToolTip(tip)
        self.row.addWidget(self.button, 1)
        if control is not None:
            control.setAccessibleName(text.replace("&", ""))
            self.row.addWidget(control)
        self.set_brief(True)


class PruneDialog(SurgeryDialog):
    """Removes tokens down to a size, below a use, of a script, or those that are selected.

    The selected `tokens`, by id, are chosen at first with `these`.
    """

    def __init__(
        self,
        session: Session,
        run: StudioRun,
        theme: Theme,
        tokens: Sequence[int] = (),
        *,
        these: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(session, theme, "Prune", "&Prune", parent)
        self._tokenizer = run.tokenizer
        self._tokens = tuple(tokens)
        own = run.uses.at(len(run)) if run.has_counts else None
        corpus, scale = session.corpus.current, run.weight_scale
        self._work = PruneWork(self._tokenizer, run.name, corpus, own, session.store, scale)
        self.ways = QButtonGroup(self)
        self.size_limit, self.least, self.script = Number(theme), Number(theme), ChoiceBox(())
        self.size_limit.setValue(max(len(self._tokenizer) - len(self._tokenizer.merges) // 2, 1))
        self.least.setValue(_FEW)
        self.script.set_names(SCRIPTS)
        choices = [
            choice
            for choice, is_possible in ((_RUN, own is not None), (_CORPUS, session.corpus.sources))
            if is_possible
        ]
        self.uses = ChoiceField("&Uses", [*choices, _NONE], theme, word="uses")
        self.ids = ChoiceField("&Ids", _IDS, theme, word="id")
        self.fields = self._make_ways()
        these = these and bool(tokens)
        self.ways.button(TOKENS if these else SIZE).setChecked(True)
        self.ways.button(TOKENS).setEnabled(bool(tokens))
        self._connect()
        self.build(run.name, len(self._tokenizer), _ABOUT, (*self.fields, self.uses, self.ids))
        (self.ways.button(TOKENS) if these else self.size_limit).setFocus()

    def _make_ways(self) -> list[WayField]:
        named = several(len(self._tokens), "selected token").replace("selected token", "selected &token")
        controls = (
            ("Down to a &size of", self.size_limit, "The number of tokens to end with"),
            ("Used &fewer times than", self.least, "Tokens that are used less often go, and those never produced"),
            ("With &letters of", self.script, "Tokens with a letter of this script go"),
            (f"The {named}" if self._tokens else "The selected &tokens (none)", None, "Select tokens in Vocabulary"),
        )
        fields = [WayField(text, tip, control) for text, control, tip in controls]
        for number, field in enumerate(fields):
            self.ways.addButton(field.button, number)
        return fields

    def _connect(self) -> None:
        self.ways.idToggled.connect(self._choose)
        for number, signal in (
            (SIZE, self.size_limit.valueChanged),
            (USES, self.least.valueChanged),
            (SCRIPT, self.script.currentIndexChanged),
        ):
            signal.connect(partial(self._changed, number))
        self.uses.changed.connect(self.ask)
        self.ids.changed.connect(self.ask)

    def _changed(self, way: int, _value: int) -> None:
        """Chooses the way whose value was changed."""
        if self.ways.checkedId() == way:
            self.ask()
        else:
            self.ways.button(way).setChecked(True)

    def _choose(self, way: int, chosen: bool) -> None:
        if chosen:
            self.ask()

    @property
    def choice(self) -> PruneChoice:
        """What is to be removed."""
        way, renumber = self.ways.checkedId(), self.ids.value == "renumber"
        if way == SIZE:
            return PruneChoice(size=self.size_limit.value(), renumber=renumber)
        if way == USES:
            return PruneChoice(least_uses=self.least.value(), renumber=renumber)
        if way == SCRIPT:
            return PruneChoice(script=SCRIPTS[max(0, self.script.currentIndex())], renumber=renumber)
        return PruneChoice(tokens=self._tokens, renumber=renumber)

    def effect_work(self) -> Callable[[], Work[Effect]]:
        check_changeable(self._tokenizer)
        way = self.ways.checkedId()
        checks: dict[Field, Callable[[], object]] = {
            self.fields[SIZE]: lambda: way != SIZE or check_size(self._tokenizer, self.size_limit.value()),
            self.fields[USES]: lambda: way != USES or _check_least(self.least.value()),
            self.uses: lambda: way != USES or _check_counted(self.uses.value),
        }
        check_fields(checks)
        return partial(self._work.effect_work, self.choice, self.uses.value)

    def result_work(self) -> Callable[[], Work[ChangedTokenizer]]:
        return partial(self._work.result_work, self.choice, self.uses.value)


def _check_least(uses: int) -> None:
    if uses < 1:
        raise ConfigError("At least 1: no token is used fewer times than 0.")


def _check_counted(uses: str) -> None:
    if uses == "none":
        raise ConfigError("The uses are not counted: choose where to count them.")
