"""Every action of the window, once: its id, words, shortcut, icon, and what may stand in its way.

What an action does is the method of `Commands` with the action's id as its name.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtGui import QAction, QKeySequence

from tokstudio.gui.export.plan import TOKENIZERS
from tokstudio.gui.session import availability
from tokstudio.gui.session.availability import Obstacle

_Key = QKeySequence.StandardKey


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
    obstacle: Obstacle = availability.always
    checkable: bool = False
    role: QAction.MenuRole = QAction.MenuRole.NoRole
    format: str = ""


def _format_specs() -> Iterator[Spec]:
    """An action for each format, with a letter for the keyboard that no other entry of the menu has."""
    taken = set("fmjvipsr")
    for known in TOKENIZERS:
        title, tip = known.title, f"Write {known.description}."
        free = (place for place, letter in enumerate(title.lower()) if letter.isalpha() and letter not in taken)
        place = next(free, 0)
        taken.add(title[place].lower())
        text = f"{title[:place]}&{title[place:]}…"
        yield Spec(f"export_{known.name}", text, tip, (), "export", availability.run_in_the_making, format=known.name)


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
    Spec("open_counts", "Open Word Co&unts…", "Add a file of words with their counts.", (), "open"),
    Spec(
        "paste_corpus", "&Paste as Corpus", "Add the text on the clipboard to the corpus.", ("Ctrl+Shift+V",), "paste"
    ),
    Spec("sample_article", "&How Tokenizers Work", "Add an English article of 30 kB to the corpus.", icon="text"),
    Spec("sample_scripts", "One Story in &Eight Scripts", "Add a small text in eight scripts.", icon="text"),
    Spec("sample_python", "A &Python Program", "Add a short Python program.", icon="text"),
    Spec("clear_recent", "&Clear Recent", "Clear the list of recent files."),
    Spec(
        "remove_source",
        "Remo&ve Selected",
        "Remove the selected sources from the corpus.",
        (),
        "remove",
        availability.no_corpus,
    ),
    Spec("reload_source", "Re&load Selected", "Read the selected files again.", (), "reload", availability.no_corpus),
    Spec("clear_corpus", "&Clear Corpus", "Remove all sources from the corpus.", (), "remove", availability.no_corpus),
    Spec("open_tokenizer", "Open &Tokenizer…", "Open a tokenizer's files.", ("Ctrl+Shift+O",), "tokenizer"),
    Spec("open_tokenizer_folder", "Open To&kenizer Folder…", "Open the tokenizer in a folder.", (), "folder"),
    Spec(
        "export_tokenizer",
        "Tokenizer &Files…",
        "Write files for other programs, and check that they read the same tokenizer.",
        ("Ctrl+E",),
        "export",
        availability.run_in_the_making,
    ),
    *_format_specs(),
    Spec(
        "export_merges_csv",
        "&Merge Log as CSV…",
        "Write every merge with its counts.",
        (),
        "export",
        availability.no_counts,
    ),
    Spec(
        "export_merges_jsonl",
        "Merge Log as &JSON Lines…",
        "Write every merge with its counts, as JSON.",
        (),
        "export",
        availability.no_counts,
    ),
    Spec(
        "export_vocabulary_csv",
        "&Vocabulary as CSV…",
        "Write every token with its bytes and uses.",
        (),
        "export",
        availability.run_in_the_making,
    ),
    Spec(
        "export_ids",
        "Token &Ids of the Text…",
        "Write the ids of the text in the Text pane, as a JSON list or as a NumPy array.",
        (),
        "export",
        availability.no_text,
    ),
    Spec("export_plot_png", "Plot as &PNG…", "Save the plot as a picture.", (), "export", availability.no_counts),
    Spec(
        "export_plot_svg", "Plot as &SVG…", "Save the plot as a vector drawing.", (), "export", availability.no_counts
    ),
    Spec(
        "export_tree_svg",
        "Merge T&ree as SVG…",
        "Save the merge tree of the current token as a vector drawing.",
        (),
        "export",
        availability.no_tree,
    ),
    Spec("quit", "&Quit", "Close TokStudio.", (_Key.Quit, "Ctrl+Q"), "", role=QAction.MenuRole.QuitRole),
    Spec("copy", "&Copy", "Copy the selection.", (_Key.Copy,), "copy"),
    Spec("copy_ids", "Copy &Ids", "Copy the ids of the selected tokens of the text.", ("Ctrl+Shift+C",), "ids"),
    Spec("find", "&Find…", "Find a token by text, id or bytes.", (_Key.Find,), "find"),
    Spec(
        "find_next",
        "Find Ne&xt",
        "Go to the next use of the found token in the text.",
        (_Key.FindNext, "F3"),
        "next",
        availability.no_target,
    ),
    Spec(
        "find_previous",
        "Find P&revious",
        "Go to the previous use of the found token in the text.",
        (_Key.FindPrevious, "Shift+F3"),
        "previous",
        availability.no_target,
    ),
    Spec("filter", "Fi&lter", "Go to the filter of the current table.", ("Ctrl+Shift+F",), "filter"),
    Spec(
        "train", "&Train", "Train a tokenizer on the corpus.", ("Ctrl+R", "F5"), "train", lambda s: s.training.obstacle
    ),
    Spec(
        "train_on_sample",
        "Train on a Samp&le",
        "Train on as much of the corpus as fits into memory.",
        (),
        "train",
        availability.no_sample,
    ),
    Spec(
        "train_anyway",
        "Train Any&way",
        "Train even if there may be too little memory.",
        obstacle=availability.no_need_to_force,
    ),
    Spec(
        "continue_run",
        "&Continue Run",
        "Continue the active run up to the current limits.",
        ("Ctrl+Shift+R",),
        "train",
        availability.cannot_continue,
    ),
    Spec(
        "load_base_tokens",
        "&Load from File…",
        "Load the base tokens from a JSON list, or from a file with one per line.",
        (),
        "open",
    ),
    Spec(
        "base_tokens_of_corpus",
        "From the &Corpus",
        "Fill the list of base tokens with the characters of the corpus.",
        (),
        "text",
        availability.no_corpus,
    ),
    Spec("pause", "&Pause", "Pause training; nothing is lost.", ("F6",), "pause", availability.not_running),
    Spec("resume", "&Resume", "Continue the paused training.", ("F6",), "train", availability.not_paused),
    Spec("step", "&Step", "Make one merge, then pause.", ("F10",), "step", availability.cannot_step),
    Spec("stop", "St&op", "End training here and keep the run.", ("Shift+F5",), "stop", availability.no_training),
    Spec(
        "sample_train_article",
        "&Train on “How Tokenizers Work”",
        "Train on the English article.",
        (),
        "train",
        availability.cannot_train_a_sample,
    ),
    Spec(
        "sample_train_scripts",
        "Train on “One &Story in Eight Scripts”",
        "Train on the text in eight scripts.",
        (),
        "train",
        availability.cannot_train_a_sample,
    ),
    Spec(
        "sample_train_python",
        "Train on “A P&ython Program”",
        "Train on the Python program.",
        (),
        "train",
        availability.cannot_train_a_sample,
    ),
    Spec(
        "first",
        "To the St&art",
        "Move the playhead before the first merge.",
        ("Alt+Home",),
        "first",
        availability.at_start,
    ),
    Spec(
        "previous", "One Merge &Back", "Move the playhead back by one merge.", ("[",), "previous", availability.at_start
    ),
    Spec("next", "One Merge &Forward", "Move the playhead forward by one merge.", ("]",), "next", availability.at_end),
    Spec("last", "To the &End", "Move the playhead to the newest merge.", ("Alt+End",), "last", availability.at_end),
    Spec(
        "play",
        "Pla&y Merges",
        "Move the playhead forward by itself; at the end, start over.",
        ("Ctrl+P",),
        "train",
        availability.nothing_to_play,
        checkable=True,
    ),
    Spec(
        "previous_run",
        "Earl&ier Run",
        "Show the run before the active one.",
        ("Alt+PgUp",),
        "",
        availability.no_other_run,
    ),
    Spec(
        "next_run", "Later R&un", "Show the run after the active one.", ("Alt+PgDown",), "", availability.no_other_run
    ),
    Spec("rename_run", "Rena&me Run…", "Give the active run another name.", ("F2",), "rename", availability.no_run),
    Spec(
        "change_pattern",
        "C&hange Pattern…",
        "Choose how an opened tokenizer splits text, if its files do not say.",
        obstacle=availability.pattern_is_known,
    ),
    Spec(
        "count_uses",
        "Cou&nt Uses in the Corpus",
        "Encode the corpus with the opened tokenizer, and count how often each token occurs.",
        obstacle=availability.cannot_count_uses,
    ),
    Spec(
        "measure_held_out",
        "Measure Held-Out Te&xt",
        "Measure the held-out text of the active run, if that was cancelled.",
        obstacle=availability.cannot_measure_held_out,
    ),
    Spec("delete_run", "&Delete Run", "Delete the active run.", (), "delete", availability.run_in_the_making),
    Spec(
        "why_merge",
        "Wh&y This Merge?",
        "Show the candidate pairs for the current token's merge, and the rule that decided.",
        ("Ctrl+Shift+Y",),
        "help",
        availability.no_trained_run,
    ),
    Spec(
        "why_not_one_token",
        "Why Not &One Token?",
        "Show which merge is missing, or came too late, to make one token of the selected tokens or of a word.",
        ("Ctrl+Shift+N",),
        "help",
        availability.no_text,
    ),
    Spec(
        "step_through_text",
        "Step Throu&gh the Text",
        "Step through the encoding of the text, merge by merge, with Left and Right.",
        ("Ctrl+Shift+T",),
        "step",
        availability.no_text,
    ),
    Spec("show_white_space", "&White Space", "Mark spaces and newlines in tokens.", (), "whitespace", checkable=True),
    Spec("show_ids", "Token &Ids", "Show the id below each token of the text.", ("Ctrl+I",), "ids", checkable=True),
    Spec(
        "recognise_specials",
        "Sp&ecial Tokens in Text",
        "Encode special tokens in the text as their ids, not as plain text.",
        obstacle=availability.no_specials,
        checkable=True,
    ),
    Spec(
        "byte_level_characters",
        "&Byte-Level Characters",
        "Show byte tokens as in GPT-2's files: Ġ for a space, Ċ for a newline.",
        obstacle=availability.no_bytes,
        checkable=True,
    ),
    Spec("more_settings", "&More Settings", "Show all training settings.", checkable=True),
    Spec("theme_system", "Follow &System", "Use the light or dark theme of the system.", checkable=True),
    Spec("theme_light", "&Light", "Use the light theme.", checkable=True),
    Spec("theme_dark", "&Dark", "Use the dark theme.", checkable=True),
    Spec("text_larger", "&Larger Text", "Make all text larger.", (_Key.ZoomIn, "Ctrl+=")),
    Spec("text_smaller", "&Smaller Text", "Make all text smaller.", (_Key.ZoomOut,)),
    Spec("text_reset", "&Normal Text", "Reset the text size.", ("Ctrl+0",)),
    Spec("reset_layout", "&Reset Layout", "Put all panes back in their original places."),
    Spec("shortcuts", "&Keyboard Shortcuts", "List all keyboard shortcuts.", (_Key.HelpContents,), "help"),
    Spec("about", "&About TokStudio", "Show version and licence.", (), "info", role=QAction.MenuRole.AboutRole),
)
