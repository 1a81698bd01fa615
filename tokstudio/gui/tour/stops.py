"""The stops of the tour: what each says, asks for and lights, and when it is done."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from tokstudio.core.base.resources import DEMO_SENTENCES, SAMPLES
from tokstudio.core.base.wording import several
from tokstudio.gui.panes.text.pane import TextPane
from tokstudio.gui.panes.why.pane import asked
from tokstudio.gui.session.common.corpus import sample_title
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.token_text.spelling import MergeCaptions
from tokstudio.gui.widgets.pane import Pane

SAMPLE = "article"  # what the tour trains on, and how: with pre-tokens and held-out text, which it explains
SETTINGS = Settings(1000, pattern="gpt2", held_out=0.1)
_TITLE = next(sample.title for sample in SAMPLES if sample.key == SAMPLE)
ENGLISH, JAPANESE = (dict(DEMO_SENTENCES)[language] for language in ("English", "Japanese"))
_IN_ENGLISH = "I took a camera and walked by the quiet sea with my younger sister."
_OWN_TEXT = 10  # characters that make a sentence
_LONGEST = 1000  # characters that are counted here: more would take too long while the person types


@dataclass(frozen=True)
class Stage:
    """What the tour needs of the window."""

    session: Session
    train: QWidget  # the buttons of the tool bar
    export: QWidget
    compression: Pane
    merges: Pane
    text: TextPane
    why: Pane
    actions: Mapping[str, QAction]
    open: Callable[[Pane], None]  # shows a pane, in front of those that share its place
    captions: MergeCaptions  # of the status bar


@dataclass(frozen=True)
class Scene:
    """The window at a stop, with what there was when the stop began."""

    stage: Stage
    playhead: int
    text: str
    exported: bool = False  # whether an export was asked for since

    @property
    def session(self) -> Session:
        """The state of the window."""
        return self.stage.session

    @property
    def run(self) -> StudioRun:
        """The active run; only where there is one."""
        run = self.session.runs.active
        assert run is not None
        return run

    def tokens(self, text: str) -> int:
        """The tokens of a text at the playhead."""
        tokenizer = self.session.view.tokenizer
        return len(tokenizer.encode(text)) if tokenizer is not None else 0


@dataclass(frozen=True)
class Stop:
    """One stop."""

    title: str  # its name
    text: str  # what it is about, in one or two sentences
    task: str  # what the person does; `{train}` stands for the shortcut of the action `train`
    place: str  # the pane or button that stays light, as a field of `Stage`
    done: Callable[[Scene], bool]  # whether the task is done
    after: str | Callable[[Scene], str]  # what it has shown, in some sentences
    place_after: str = ""  # the place once it is done; "" for the same
    task_after: str = ""  # what the person can do then; "" for nothing
    # what else the card should not cover, as fields of `Stage`; the place of the task is such in any case
    beside: tuple[str, ...] = ()
    enter: Callable[[Session], object] | None = None  # what the tour changes before it; None for nothing
    begin: Callable[[Stage], object] | None = None  # what takes the focus then; None for the card
    with_run: bool = True  # whether it needs the run of the tour


def is_ready(session: Session) -> bool:
    """Whether Train makes the run of the tour."""
    sources = session.corpus.sources
    return [sample_title(one) for one in sources] == [_TITLE] and session.training.settings == SETTINGS


def is_of_tour(run: StudioRun | None) -> bool:
    """Whether a run was trained on the sample of the tour, with its settings."""
    if run is None or run.corpus is None or run.config != SETTINGS.config():
        return False
    return [sample_title(one) for one in run.corpus.sources] == [_TITLE]


def to_the_end(session: Session) -> None:
    """Applies all merges of the active run."""
    session.view.set_playhead(len(session.runs.active or ()))


# ---- what is done at each stop, and what it has shown


def _merges_made(scene: Scene) -> str:
    merged = several(len(scene.run), "merge was", "merges were")
    return (
        f"{merged} made, as many as the settings allow. Each row is one, the newest on top: the new token, the two "
        "that it joins, and how often these stood side by side."
    )


def _at_playhead(scene: Scene) -> str:
    at, last = scene.session.view.playhead, len(scene.run)
    return (
        f"The whole window shows the tokenizer after {several(at, 'merge')} now. An English letter or a space is one "
        f"byte: a token has {scene.run.bytes_per_token(at):.2f} bytes on average, and after all {last:,} merges "
        f"{scene.run.bytes_per_token(last):.2f}. Stop 8 explains the dashed curve."
    )


def _select_first_merge(session: Session) -> None:
    run = session.runs.active
    if run is not None:
        to_the_end(session)
        session.view.look_at(run.base_size)


def _has_reason(scene: Scene) -> bool:
    seen = not scene.stage.why.visibleRegion().isEmpty()
    return seen and not isinstance(asked(scene.session.view), str)


def _select_text(stage: Stage) -> None:
    stage.text.arrive("")
    stage.text.encode.input.selectAll()


def _has_written(scene: Scene) -> bool:
    text = scene.session.view.text
    return text != scene.text and len(text.strip()) >= _OWN_TEXT


def _own_tokens(scene: Scene) -> str:
    text, figures = scene.session.view.text, ""
    if len(text) <= _LONGEST:
        figures = (
            f" Your {several(len(text), 'character is', 'characters are')} {several(scene.tokens(text), 'token')}."
        )
    return (
        f"Here, each coloured piece is a token.{figures} A word that is frequent in the article is often one token; a "
        "rare word becomes several. To compare, “Words and marks” at the bottom counts each word, space and "
        "punctuation mark as one piece."
    )


def _cost(scene: Scene) -> str:
    text = scene.session.view.text[:_LONGEST]
    cost = f"{several(len(text), 'character is', 'characters are')} {several(scene.tokens(text), 'token')}."
    if text == JAPANESE:
        cost += f" In English, “{_IN_ENGLISH}” is {several(scene.tokens(_IN_ENGLISH), 'token')}."
    return (
        f"{cost} Here one colour is one character; each of the three dashes below it is a token. The article has no "
        "Japanese, so no merge joins its bytes. A model works token by token, and is mostly paid by the token: the "
        "same sentence takes more time and money in Japanese. A tokenizer trained on Japanese would need fewer tokens."
    )


def _held_out(scene: Scene) -> str:
    at = scene.session.view.playhead
    ratio = scene.run.held_out_bytes_per_token(at)
    if ratio is None:
        return "The held-out text has not been measured yet."
    return (
        f"After {several(at, 'merge')}, a token has {scene.run.bytes_per_token(at):.2f} bytes in the text that was "
        f"learned from, and {ratio:.2f} in the held-out text. Longer tokens are better, as a model then has fewer to "
        "work through. The second number is the fairer test: the tokenizer has never seen this text. The gap comes "
        "from pieces that are frequent in the text that was learned from, and rarer elsewhere."
    )


STOPS: tuple[Stop, ...] = (
    Stop(
        "Train",
        "A language model does not read letters. It reads tokens: short pieces of text. A tokenizer cuts text into "
        "tokens. Training is how it learns which pieces to use, here from an English article.",
        "Press Train in the tool bar, or {train}.",
        "train",
        lambda scene: is_of_tour(scene.session.runs.active) and scene.session.training.current is not None,
        "",
        with_run=False,
    ),
    Stop(
        "Merges",
        "At first, every letter and every space is a token (in English; stop 7 has more). A merge joins two tokens "
        "into one: each time, the two that stand side by side most often. The dot · is a space. The line in italics "
        "explains one merge after another; the table runs ahead of it.",
        "Watch some merges. Then press Jump to the End, or {hurry}.",
        "merges",
        lambda scene: scene.run.ended is not None and len(scene.run) > 0,
        _merges_made,
    ),
    Stop(
        "The playhead",
        "The solid curve shows how the tokens became longer, merge by merge. The longer the tokens, the fewer a text "
        "needs. The upright line is the playhead: it sets how many merges are used.",
        "Drag the line into the left half, and watch the sentence in the Text pane. With the keyboard: press Tab until "
        "you reach the slider, then Home.",
        "compression",
        lambda scene: scene.session.view.playhead < len(scene.run) / 2,
        _at_playhead,
        beside=("text",),
    ),
    Stop(
        "Why these two?",
        "The Why pane shows the reason for a merge. The playhead is back at the end, and the first merge is selected.",
        "Right-click its row in Merges and choose Why This Merge?, or press {why_merge}.",
        "merges",
        _has_reason,
        "These two were joined because no pair stood side by side more often at that moment. The table ranks the pairs "
        "by their counts: the first one won. If counts are equal, the pair that comes first in the text wins. Counts "
        "change with each merge: after this one, many a “t” belongs to “·t”, so “t” and “h”, second here, are not "
        "joined until merge 31. The column Merge says which merge each pair became.",
        place_after="why",
        enter=_select_first_merge,
    ),
    Stop(
        "A sentence of yours",
        "The tokenizer now cuts any text into tokens, with the merges it learned from the article. The playhead is at "
        "the end, so all merges are used.",
        "Write an English sentence of your own at the top of the Text pane, in place of the one there.",
        "text",
        _has_written,
        _own_tokens,
        enter=to_the_end,
        begin=_select_text,
    ),
    Stop(
        "Pre-tokens",
        "Before any pair is counted, training cuts the text into pre-tokens: mostly words, each with the space before "
        "it. Merges join only inside a pre-token, so no token reaches from one word into the next. Your sentence is "
        "cut in the same way.",
        "Choose Steps in the Text pane, or press {step_through_text}.",
        "text",
        lambda scene: scene.stage.text.page is scene.stage.text.steps and bool(scene.session.view.text),
        "Step 1 shows the pre-tokens of your sentence, step 2 its single letters. Each later step makes one merge, at "
        "every place where its two tokens stand inside a pre-token. So tokens stay parts of words, which can be used "
        "in other sentences too.",
        task_after="Press the first arrow right of the slider some times.",
    ),
    Stop(
        "Japanese",
        "A computer stores text as bytes: an English letter is one byte, a Japanese character three. Training starts "
        "from bytes, so a Japanese character begins as three tokens.",
        "Open Samples, the button with a T at the top right of the Text pane, and choose Japanese.",
        "text",
        lambda scene: any("\u3040" <= character <= "\u30ff" for character in scene.session.view.text[:_LONGEST]),
        _cost,
    ),
    Stop(
        "Held-out text",
        "About 7 % of the article was held out: it was put aside before the training, and nothing was learned from "
        "it. The dashed curve shows how long the tokens are in this part.",
        "Drag the playhead to the left and to the right, and look at the gap between the two curves. With the "
        "keyboard: press Tab until you reach the slider, then Left or Right.",
        "compression",
        lambda scene: scene.session.view.playhead != scene.playhead,
        _held_out,
        beside=("text",),
    ),
    Stop(
        "Export",
        "You can save the tokenizer in files that other programs read. A window opens over this card: it lists the "
        "kinds of files. Its button Export writes them, and checks that each program makes the same tokens. You need "
        "not save anything now: Close closes it.",
        "Press Export and choose Tokenizer Files in its menu, or press {export_tokenizer}.",
        "export",
        lambda scene: scene.exported,
        "That was the tour. To train on a text of your own, press Open Corpus. To read on, open the Guide in the menu "
        "Help.",
        enter=to_the_end,
    ),
)
