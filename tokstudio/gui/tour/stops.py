"""The stops of the tour: what each says, asks for and lights, and when it is done."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from PySide6.QtCore import SignalInstance
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from tokstudio.core.base.records import dataclass
from tokstudio.core.base.resources import DEMO_SENTENCES, SAMPLES
from tokstudio.core.base.wording import several, several_whole, size_text
from tokstudio.core.model.run import NOTHING_LEFT
from tokstudio.core.training.forecast import fitting_merges, fitting_sizes
from tokstudio.gui.panes.text.pane import TextPane
from tokstudio.gui.session.common.corpus import sample_title
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.widgets.pane import Pane

SAMPLE = "article"  # what the tour trains on, as the sample does
SETTINGS = Settings()
PRE_TOKENS, HELD_OUT = replace(SETTINGS, pattern="gpt2"), replace(SETTINGS, held_out=0.1)  # to train it again with
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
    text: TextPane
    pane: Callable[[str], Pane]  # another pane by its name
    actions: Mapping[str, QAction]
    open: Callable[[Pane], None]  # shows a pane, in front of those that share its place
    workspace: Callable[[], str]  # the name of the workspace that is shown
    enter: Callable[[str], None]  # changes to a workspace
    caption_changed: SignalInstance  # with what the status bar tells of a training to somebody who watches

    def lit(self, name: str) -> QWidget:
        """What a stop lights: a button of the tool bar, or a pane."""
        return {"train": self.train, "export": self.export}.get(name) or self.pane(name)


@dataclass(frozen=True)
class Scene:
    """The window at a stop, with what there was when the stop began."""

    stage: Stage
    playhead: int
    text: str
    active: StudioRun | None = None
    exported: bool = False  # whether an export was asked for since
    entered: bool = False  # whether Enter was pressed in the text since

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
    place: str  # the pane or button of the task, as `Stage.lit` takes it; it stays light
    done: Callable[[Scene], bool]  # whether the task is done
    after: str | Callable[[Scene], str]  # what it has shown, in some sentences
    place_after: str = ""  # the place once it is done; "" for the same
    task_after: str = ""  # what the person can do then; "" for nothing
    beside: tuple[str, ...] = ()  # what else stays light, as it is to be watched
    enter: Callable[[Session], object] | None = None  # what the tour changes before it; None for nothing
    begin: Callable[[Stage], object] | None = None  # what takes the focus then; None for the card
    again: Settings | None = None  # with what the card trains the article once more; None if it does not
    verb: str = ""  # of the button for that
    remark: str = ""  # in the name of the run that it makes
    show: Callable[[Stage], object] | None = None  # what shows it once it is done; None for nothing
    trains: bool = False  # whether the task is to make the run of the tour, which is played
    compares: bool = False  # whether it speaks of the first run of the tour, too
    own: bool = False  # whether the task is to train on a text of one's own


def is_ready(session: Session) -> bool:
    """Whether Train makes the run of the tour."""
    return has_article(session) and session.training.settings == SETTINGS


def has_article(session: Session) -> bool:
    """Whether the corpus is the sample of the tour."""
    return [sample_title(one) for one in session.corpus.sources] == [_TITLE]


def is_of_tour(run: StudioRun | None, settings: Settings = SETTINGS) -> bool:
    """Whether a run was trained on the sample of the tour, with its settings or others."""
    if run is None or run.corpus is None or run.config != settings.config():
        return False
    return [sample_title(one) for one in run.corpus.sources] == [_TITLE]


def run_of_tour(session: Session, settings: Settings) -> StudioRun | None:
    """The newest run on the article with some settings."""
    return next((run for run in reversed(session.runs.all) if is_of_tour(run, settings)), None)


def is_own(run: StudioRun | None) -> bool:
    """Whether a run was trained on a text of the person's own."""
    return run is not None and run.corpus is not None and not any(map(sample_title, run.corpus.sources))


def to_the_end(session: Session) -> None:
    """Applies all merges of the active run."""
    session.view.set_playhead(len(session.runs.active or ()))


# ---- what is done at each stop, and what it has shown


def _merges_made(scene: Scene) -> str:
    run = scene.run
    merged, base = several(len(run), "merge was", "merges were"), run.base_size
    return (
        f"{merged} made: with the {base:,} bytes from which all text is made, the vocabulary has the "
        f"{base + len(run):,} tokens that the settings ask for. Each row is a merge, the newest on top: the new token, "
        "the two that it joins, and how often these stood side by side."
    )


def _at_playhead(scene: Scene) -> str:
    at, last = scene.session.view.playhead, len(scene.run)
    return (
        f"The whole window shows the tokenizer after {several(at, 'merge')} now. An English letter or a space is one "
        f"byte: a token of the article has {scene.run.bytes_per_token(at):.2f} bytes on average, and after all "
        f"{last:,} merges {scene.run.bytes_per_token(last):.2f}."
    )


def _select_first_merge(session: Session) -> None:
    run = session.runs.active
    if run is not None:
        to_the_end(session)
        session.view.look_at(run.base_size)


def _has_reason(scene: Scene) -> bool:
    # The pane is made after the window.
    from tokstudio.gui.panes.why.pane import asked

    seen = not scene.stage.pane("why").visibleRegion().isEmpty()
    return seen and not isinstance(asked(scene.session.view), str)


def _select_text(stage: Stage) -> None:
    stage.text.arrive("")
    stage.text.encode.input.selectAll()


def _has_written(scene: Scene) -> bool:
    text = scene.session.view.text
    return scene.entered and text != scene.text and len(text.strip()) >= _OWN_TEXT


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
        "Japanese, so no merge joins its bytes. A model works token by token, and one mostly pays by the token: the "
        "same sentence takes more time and money in Japanese. A tokenizer trained on Japanese would need fewer tokens."
    )


def _pre_tokens(scene: Scene) -> str:
    text, figures = scene.session.view.text[:_LONGEST], ""
    without, with_them = (run_of_tour(scene.session, settings) for settings in (SETTINGS, PRE_TOKENS))
    if text and without is not None and with_them is not None:
        amounts = [several(len(run.tokenizer.encode(text)), "token") for run in (without, with_them)]
        figures = f": {amounts[0]} without pre-tokens, {amounts[1]} with them"
    return (
        f"Your sentence in both tokenizers, one below the other{figures}. The number may fall or rise. The gain is "
        "that no token reaches into the next word: the first vocabulary has “e·the·”, which serves only after a word "
        "that ends in e; the second has “·the”, which serves in every sentence, and a model learns its meaning once."
    )


def _compare(stage: Stage) -> None:
    stage.open(stage.pane("compare"))
    stage.session.comparison.stack_text()


def _held_out(scene: Scene) -> str:
    run = scene.run
    ratio = run.held_out_bytes_per_token(len(run))
    if ratio is None:
        return "The held-out text has not been measured yet."
    held = run.held_out.bytes
    return (
        f"The dashed curve is the held-out text, {held:,} of {held + run.corpus_bytes:,} bytes. After "
        f"{len(run):,} merges a token has "
        f"{run.bytes_per_token(len(run)):.2f} bytes in the text that was learned from, and {ratio:.2f} in the "
        "held-out text. The second number is the fairer one. The gap comes from pieces that are frequent in the one "
        "text, and rarer elsewhere."
    )


def _sizes(scene: Scene) -> str:
    run = scene.run
    half, last = len(run) // 2, len(run)
    return (
        f"The first {half:,} merges bring a token from 1 byte to {run.bytes_per_token(half):.2f}, the other "
        f"{last - half:,} only to {run.bytes_per_token(last):.2f}. Each token costs a model a row of numbers, and a "
        "token that is rare in the text is seen too seldom to be learned. So the size follows the text. A rule of "
        f"thumb: {fitting_sizes()}. The vocabulary has these and the 256 bytes."
    )


def _own_trained(scene: Scene) -> str:
    run = scene.run
    size = run.corpus.bytes if run.corpus is not None else 0
    then = "; then no pair was left to join"
    if run.ended != NOTHING_LEFT and len(run):
        times = several_whole(int(run.log.count[-1]), run.weight_scale, "time")
        then = f". The last one joined a pair that occurred {times}; no pair that is left occurs more often"
    return (
        f"By the rule of thumb, {size_text(size)} of text support about {fitting_merges(size):,} merges, so the "
        f"vocabulary size is {256 + fitting_merges(size):,}: the 256 bytes and these. "
        f"{several(len(run), 'merge was', 'merges were')} made{then}. This is your tokenizer: "
        "Export in the tool bar writes its files, and the Guide has more to read."
    )


def _is_trained(scene: Scene, settings: Settings) -> bool:
    run = scene.session.runs.active
    return is_of_tour(run, settings) and run is not None and run.ended is not None


STOPS: tuple[Stop, ...] = (
    Stop(
        "Train",
        "A language model cannot read: it multiplies and adds numbers, and nobody can multiply a comma. So a tokenizer "
        "cuts text into pieces, the tokens, and each has a number. Training is how it learns which pieces to use, here "
        "from an English article.",
        "Press Train in the tool bar, or {train}.",
        "train",
        lambda scene: is_of_tour(scene.session.runs.active) and scene.session.training.current is not None,
        "",
        trains=True,
    ),
    Stop(
        "Merges",
        "At first, every letter and every space is a token (in English; stop 7 shows Japanese). A merge joins two "
        "tokens into one: each time, the two that stand side by side most often. The dot · is a space. The line in "
        "italics is the merge at the top of the table.",
        "Watch some merges. Then press Jump to the End, or {hurry}.",
        "merges",
        lambda scene: scene.run.ended is not None and len(scene.run) > 0,
        _merges_made,
        beside=("compression", "text"),
    ),
    Stop(
        "The playhead",
        "The curve shows how the tokens became longer, merge by merge. The longer the tokens, the fewer a text "
        "needs. The upright line is the playhead: it sets how many merges are used. The sign † stands before numbers "
        "that are measured on the text of the training itself. The marks 90, 95 and 99 % show how soon so much of the "
        "final length is reached.",
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
        "change with each merge: soon many a space belongs to “e·” and many a “t” to “th”, so space and “t”, second "
        "here, are never joined. The column Merge says which merge each pair became.",
        place_after="why",
        enter=_select_first_merge,
    ),
    Stop(
        "A sentence of yours",
        "The tokenizer now cuts any text into tokens, with the merges it learned from the article. The playhead is at "
        "the end, so all merges are used.",
        "Write an English sentence of your own at the top of the Text pane, in place of the one there. Then press "
        "Enter.",
        "text",
        _has_written,
        _own_tokens,
        enter=to_the_end,
        begin=_select_text,
    ),
    Stop(
        "Pre-tokens",
        "So far, merges cross the spaces between words: “e·the·” is one token, the end of one word and the next. Most "
        "tokenizers first cut the text into pre-tokens, mostly words, each with the space before it. Merges then join "
        "only inside a pre-token.",
        "Press Train with Pre-Tokens: the article again, cut by the rule of the language model GPT-2. Such a rule "
        "is called a pattern.",
        "text",
        lambda scene: _is_trained(scene, PRE_TOKENS),
        _pre_tokens,
        place_after="compare",
        again=PRE_TOKENS,
        verb="Train with Pre-Tokens",
        remark=" (split)",
        show=_compare,
        compares=True,
    ),
    Stop(
        "Japanese",
        "The window shows the first tokenizer again. A computer stores text as bytes: an English letter is one byte, a "
        "Japanese character three. Training starts from bytes, so a Japanese character begins as three tokens.",
        "Open Samples, the button with a T at the top right of the Text pane, and choose Japanese.",
        "text",
        lambda scene: any("\u3040" <= character <= "\u30ff" for character in scene.session.view.text[:_LONGEST]),
        _cost,
        enter=to_the_end,
    ),
    Stop(
        "Held-out text",
        "A tokenizer does well on the text that it has learned from. To test it fairly, a part of the text is held "
        "out: it is put aside before the training, and nothing is learned from it.",
        "Press Train on the Rest: the article again, with some of its lines held out.",
        "compression",
        lambda scene: _is_trained(scene, HELD_OUT),
        _held_out,
        task_after="Drag the playhead, and look at the gap between the two curves.",
        beside=("text",),
        again=HELD_OUT,
        verb="Train on the Rest",
        remark=" (part)",
    ),
    Stop(
        "How large?",
        "The window shows the first tokenizer again: its vocabulary has 1,000 tokens. Real ones are larger: "
        "50,257 tokens for the model GPT-2, 128,256 for Llama 3. A larger one makes texts shorter, so that a model "
        "works less and reads more at once. Why not take a million?",
        "Drag the playhead to the middle of the curve. With the keyboard: press {first}, then hold {next} down.",
        "compression",
        lambda scene: scene.session.view.playhead < 3 / 4 * len(scene.run),
        _sizes,
        beside=("text",),
        enter=to_the_end,
    ),
    Stop(
        "Export",
        "You can save the tokenizer in files that other programs read. A window opens over this card: it lists the "
        "kinds of files. Its button Export writes them, and checks that each program makes the same tokens. You need "
        "not save anything now: Close closes it.",
        "Press Export and choose Tokenizer Files in its menu, or press {export_tokenizer}.",
        "export",
        lambda scene: scene.exported,
        "That window has the files for each program: Hugging Face, tiktoken, and others. Nothing is written "
        "before you press its Export. One stop is left.",
        enter=to_the_end,
    ),
    Stop(
        "Now your text",
        "Train on a text of your own: a file, or what you have copied. The text is cut into pre-tokens, by the pattern "
        "of GPT-2, and the vocabulary size is chosen to fit it.",
        "Open a text, or paste one.",
        "compression",
        lambda scene: (
            is_own(scene.session.runs.active) and scene.run is not scene.active and scene.run.ended is not None
        ),
        _own_trained,
        beside=("merges", "text"),
        own=True,
    ),
)
