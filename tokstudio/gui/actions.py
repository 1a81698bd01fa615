"""Every action of the window, once: its id, words, shortcut, icon, and what may stand in its way.

What an action does is the method of `Commands` with the action's id as its name.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence

from tokstudio.gui.export_plan import TOKENIZERS
from tokstudio.gui.icons import icon
from tokstudio.gui.session import Session
from tokstudio.gui.theme import Theme

Obstacle = Callable[[Session], str | None]

_Key = QKeySequence.StandardKey


def _never(session: Session) -> str | None:
    return None


def _no_corpus(session: Session) -> str | None:
    return None if session.sources else "The corpus is empty."


def _cannot_train_a_sample(session: Session) -> str | None:
    return "A training is under way." if session.training is not None else session.settings.problem


def _not_running(session: Session) -> str | None:
    return None if session.state == "running" else "No training is under way."


def _not_paused(session: Session) -> str | None:
    return None if session.state == "paused" else "No training is paused."


def _no_training(session: Session) -> str | None:
    return None if session.training is not None else "No training is under way."


def _cannot_step(session: Session) -> str | None:
    return None if session.state == "paused" else session.obstacle


def _no_sample(session: Session) -> str | None:
    if session.training is not None:
        return "A training is under way."
    return None if session.sample_size is not None else "As far as is known, all of the corpus can be trained on."


def _no_need_to_force(session: Session) -> str | None:
    if session.lacks_memory_alone:
        return None
    return session.obstacle or "As far as is known, there is memory enough: Train is all it takes."


def _cannot_continue(session: Session) -> str | None:
    if session.can_continue(session.active):
        return None
    if session.active is not None and session.active.corpus_problem is not None:
        return f"{session.active.corpus_problem}."
    return "Choose a run of this corpus, and set a larger vocabulary or a lower frequency."


def _no_run(session: Session) -> str | None:
    return None if session.active is not None else "Train a tokenizer first, or open one."


def _no_specials(session: Session) -> str | None:
    if session.runs and not any(run.special_tokens for run in session.runs):
        return "None of the tokenizers has special tokens."
    return _no_run(session)


def _no_other_run(session: Session) -> str | None:
    if session.training is not None:
        return "A training is under way: its run stays active."
    return None if len(session.runs) > 1 else "There is no other run."


def _no_text(session: Session) -> str | None:
    return _no_run(session) or (None if session.text else "The Text pane holds no text.")


def _no_bytes(session: Session) -> str | None:
    if session.active is not None and session.active.ready and not session.active.byte_level:
        return "The tokens of this tokenizer are made of characters."
    return None


def _run_in_the_making(session: Session) -> str | None:
    if session.active is not None and session.active.ended is None:
        return "Stop the training first; the run is kept."
    return _no_run(session)


def _no_counts(session: Session) -> str | None:
    if session.active is not None and not session.active.has_counts:
        return "This tokenizer was opened from a file: it has no counts."
    return _run_in_the_making(session)


def _pattern_is_known(session: Session) -> str | None:
    run = session.active
    if run is None or run.origin is None:
        return "Only an opened tokenizer can be given another pattern: train anew to split text in another way."
    return "The tokenizer's files say how it splits text." if run.origin.says_pattern else None


def _no_playhead(session: Session) -> str | None:
    reason = session.active.no_playhead if session.active is not None else None
    return f"No playhead: {reason}." if reason is not None else _no_run(session)


def _at_start(session: Session) -> str | None:
    return _no_playhead(session) or (None if session.playhead > 0 else "The playhead is at the start.")


def _at_end(session: Session) -> str | None:
    at_end = session.active is not None and session.playhead == len(session.active)
    return _no_playhead(session) or ("The playhead is at the end." if at_end else None)


@dataclass(frozen=True)
class Spec:
    """One action.

    Attributes:
        id: Its name, and that of the method of `Commands` which it calls.
        text: The verb on menus and buttons; `&` marks the letter for the keyboard.
        tip: One sentence for the status bar.
        keys: Shortcuts, the first of which is shown.
        icon: Name of a drawing in `resources/icons`, or "".
        obstacle: Why it cannot be done now, or None.
        checkable: Whether it is a switch.
        role: Where macOS puts it.
        format: The format that it exports; what it calls is then `export_format`, with this name.
    """

    id: str
    text: str
    tip: str
    keys: tuple[str | _Key, ...] = ()
    icon: str = ""
    obstacle: Obstacle = _never
    checkable: bool = False
    role: QAction.MenuRole = QAction.MenuRole.NoRole
    format: str = ""


def _format_specs() -> Iterator[Spec]:
    """An action for each format, with a letter for the keyboard that no other entry of the menu has."""
    taken = set("fmjvips")
    for known in TOKENIZERS:
        title, tip = known.title, f"Write {known.description}."
        free = (place for place, letter in enumerate(title.lower()) if letter.isalpha() and letter not in taken)
        place = next(free, 0)
        taken.add(title[place].lower())
        text = f"{title[:place]}&{title[place:]}…"
        yield Spec(f"export_{known.name}", text, tip, (), "export", _run_in_the_making, format=known.name)


SPECS: tuple[Spec, ...] = (
    Spec("open_project", "Open Pro&ject…", "Open a project with all its runs.", ("Ctrl+Alt+P",), "open"),
    Spec("save_project", "&Save Project", "Save corpus, settings, runs and text.", (_Key.Save, "Ctrl+S"), "save"),
    Spec(
        "save_project_as",
        "Save Project &As…",
        "Save the project as another file.",
        (_Key.SaveAs, "Ctrl+Shift+S"),
        "save",
    ),
    Spec("open_corpus", "&Open Corpus…", "Add text files to the corpus.", (_Key.Open,), "open"),
    Spec("open_folder", "Open &Folder…", "Add all text files of a folder to the corpus.", ("Ctrl+Alt+O",), "folder"),
    Spec("open_counts", "Open Word Co&unts…", "Add a file of words and how often each occurs.", (), "open"),
    Spec(
        "paste_corpus", "&Paste as Corpus", "Add the text on the clipboard to the corpus.", ("Ctrl+Shift+V",), "paste"
    ),
    Spec("sample_article", "&How Tokenizers Work", "Add an English article of 30 kB to the corpus.", icon="text"),
    Spec("sample_scripts", "One Story in &Eight Scripts", "Add a small text in eight scripts.", icon="text"),
    Spec("sample_python", "A &Python Program", "Add a short Python program.", icon="text"),
    Spec("clear_recent", "&Clear This List", "Forget the files that were opened lately."),
    Spec("remove_source", "&Remove Selected", "Take the chosen sources out of the corpus.", (), "remove", _no_corpus),
    Spec("reload_source", "Re&load Selected", "Read the chosen files again.", (), "reload", _no_corpus),
    Spec("clear_corpus", "&Clear Corpus", "Take all sources out of the corpus.", (), "remove", _no_corpus),
    Spec("open_tokenizer", "Open &Tokenizer…", "Open a tokenizer's files.", ("Ctrl+Shift+O",), "tokenizer"),
    Spec("open_tokenizer_folder", "Open To&kenizer Folder…", "Open the tokenizer that a folder holds.", (), "folder"),
    Spec(
        "export_tokenizer",
        "Tokenizer &Files…",
        "Write files for other programs, and prove that they read them the same.",
        ("Ctrl+E",),
        "export",
        _run_in_the_making,
    ),
    *_format_specs(),
    Spec("export_merges_csv", "&Merge Log as CSV…", "Write every merge with its counts.", (), "export", _no_counts),
    Spec(
        "export_merges_jsonl",
        "Merge Log as &JSON Lines…",
        "Write every merge with its counts, as JSON.",
        (),
        "export",
        _no_counts,
    ),
    Spec(
        "export_vocabulary_csv",
        "&Vocabulary as CSV…",
        "Write every token with its bytes and uses.",
        (),
        "export",
        _run_in_the_making,
    ),
    Spec(
        "export_ids",
        "Token &Ids of the Text…",
        "Write the ids of the text in the Text pane, as a JSON list or as a NumPy array.",
        (),
        "export",
        _no_text,
    ),
    Spec("export_plot_png", "Plot as &PNG…", "Save the plot as a picture.", (), "export", _no_counts),
    Spec("export_plot_svg", "Plot as &SVG…", "Save the plot as a drawing that scales.", (), "export", _no_counts),
    Spec("quit", "&Quit", "Close TokStudio.", (_Key.Quit, "Ctrl+Q"), "", role=QAction.MenuRole.QuitRole),
    Spec("copy", "&Copy", "Copy what is selected.", (_Key.Copy,), "copy"),
    Spec("copy_ids", "Copy &Ids", "Copy the ids of the selected tokens of the text.", ("Ctrl+Shift+C",), "ids"),
    Spec("filter", "&Filter", "Go to the filter of the table that is shown.", (_Key.Find,), "filter"),
    Spec("train", "&Train", "Train a tokenizer on the corpus.", ("Ctrl+R", "F5"), "train", lambda s: s.obstacle),
    Spec("train_on_sample", "Train on a Sa&mple", "Train on as much as fits into memory.", (), "train", _no_sample),
    Spec(
        "train_anyway",
        "Train An&yway",
        "Train although there is likely too little memory.",
        obstacle=_no_need_to_force,
    ),
    Spec(
        "continue_run",
        "&Continue Run",
        "Go on from where the active run ended, to the limits that are set now.",
        ("Ctrl+Shift+R",),
        "train",
        _cannot_continue,
    ),
    Spec(
        "load_base_tokens",
        "&Load from File…",
        "Take the base tokens from a JSON list, or from a file with one a line.",
        (),
        "open",
    ),
    Spec(
        "base_tokens_of_corpus",
        "From the &Corpus",
        "Begin a list of base tokens with the characters of the corpus.",
        (),
        "text",
        _no_corpus,
    ),
    Spec("pause", "&Pause", "Hold the training; nothing is lost.", ("F6",), "pause", _not_running),
    Spec("resume", "&Resume", "Go on with the training.", ("F6",), "train", _not_paused),
    Spec("step", "&Step", "Make one merge, then pause.", ("F10",), "step", _cannot_step),
    Spec("stop", "St&op", "End the training here and keep the run.", ("Shift+F5",), "stop", _no_training),
    Spec(
        "sample_train_article",
        "&How Tokenizers Work",
        "Train on the English article.",
        (),
        "train",
        _cannot_train_a_sample,
    ),
    Spec(
        "sample_train_scripts",
        "One Story in &Eight Scripts",
        "Train on the text in eight scripts.",
        (),
        "train",
        _cannot_train_a_sample,
    ),
    Spec(
        "sample_train_python", "A &Python Program", "Train on the Python program.", (), "train", _cannot_train_a_sample
    ),
    Spec("first", "To the &Start", "Move the playhead before the first merge.", ("Alt+Home",), "first", _at_start),
    Spec("previous", "One Merge &Back", "Move the playhead back by one merge.", ("[",), "previous", _at_start),
    Spec("next", "One Merge &Forward", "Move the playhead on by one merge.", ("]",), "next", _at_end),
    Spec("last", "To the &End", "Move the playhead to the newest merge.", ("Alt+End",), "last", _at_end),
    Spec("previous_run", "Earlier &Run", "Show the run before the active one.", ("Alt+PgUp",), "", _no_other_run),
    Spec("next_run", "Later R&un", "Show the run after the active one.", ("Alt+PgDown",), "", _no_other_run),
    Spec("rename_run", "Re&name Run…", "Give the active run another name.", ("F2",), "rename", _no_run),
    Spec(
        "change_pattern",
        "Change &Pattern…",
        "Say how a tokenizer splits text whose files do not.",
        obstacle=_pattern_is_known,
    ),
    Spec("delete_run", "&Delete Run", "Forget the active run.", (), "delete", _run_in_the_making),
    Spec("show_white_space", "&White Space", "Mark spaces and line ends in tokens.", (), "whitespace", checkable=True),
    Spec("show_ids", "Token &Ids", "Write the id beneath each token of the text.", ("Ctrl+I",), "ids", checkable=True),
    Spec(
        "recognise_specials",
        "Special &Tokens in Text",
        "Make special tokens in the text their ids instead of plain text.",
        obstacle=_no_specials,
        checkable=True,
    ),
    Spec(
        "byte_level_characters",
        "&Byte-Level Characters",
        "Write tokens of bytes as GPT-2's files do: Ġ for a space, Ċ for a line end.",
        obstacle=_no_bytes,
        checkable=True,
    ),
    Spec("more_settings", "&More Settings", "Show every setting of the training.", checkable=True),
    Spec("theme_system", "Like the &System", "Light or dark, as the system is.", checkable=True),
    Spec("theme_light", "&Light", "Always light.", checkable=True),
    Spec("theme_dark", "&Dark", "Always dark.", checkable=True),
    Spec("text_larger", "&Larger Text", "Make all text larger.", (_Key.ZoomIn, "Ctrl+=")),
    Spec("text_smaller", "&Smaller Text", "Make all text smaller.", (_Key.ZoomOut,)),
    Spec("text_reset", "&Normal Text", "Give text its usual size again.", ("Ctrl+0",)),
    Spec("reset_layout", "&Reset Layout", "Put every pane back where it belongs."),
    Spec("shortcuts", "&Keyboard Shortcuts", "List every key.", (_Key.HelpContents,), "help"),
    Spec("about", "&About TokStudio", "Version and licence.", (), "info", role=QAction.MenuRole.AboutRole),
)


def build_actions(commands: QObject, theme: Theme, owner: QObject) -> dict[str, QAction]:
    """Makes the QAction of every spec; it calls the method of `commands` with its id as name, or `export_format`."""
    made: dict[str, QAction] = {}
    for spec in SPECS:
        action = QAction(spec.text, owner)
        action.setObjectName(spec.id)
        action.setStatusTip(spec.tip)
        action.setCheckable(spec.checkable)
        action.setMenuRole(spec.role)
        sequences = [QKeySequence(key) for key in spec.keys]
        action.setShortcuts([sequence for sequence in dict.fromkeys(sequences) if not sequence.isEmpty()])
        action.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
        if spec.icon:
            action.setIcon(icon(spec.icon, theme))
            # In a menu the tick stands where the icon would.
            action.setIconVisibleInMenu(not spec.checkable)
        action.triggered.connect(_slot(commands, spec))
        made[spec.id] = action
    # One key for both: only one of them can be enabled at a time.
    refresh_actions(made, None)
    return made


def _slot(commands: QObject, spec: Spec) -> Callable[..., object]:
    if not spec.format:
        return getattr(commands, spec.id)
    export: Callable[[str], None] = getattr(commands, "export_format")  # noqa: B009  of a QObject nothing more is known
    return lambda *_: export(spec.format)


def refresh_actions(actions: Mapping[str, QAction], session: Session | None) -> None:
    """Enables what can be done now; what cannot says why in its tool tip."""
    for spec in SPECS:
        action = actions[spec.id]
        reason = spec.obstacle(session) if session is not None else None
        action.setEnabled(reason is None)
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        words = spec.text.replace("&", "").rstrip("…")
        action.setToolTip(reason or (f"{words} ({keys})" if keys else words))
