"""The list of all actions: id, texts, handler, shortcuts, icon and condition."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from PySide6.QtGui import QAction, QKeySequence

from tokstudio.core.base.wording import capitalized
from tokstudio.core.corpus.leaving_out import LeavingOut
from tokstudio.gui.commands.actions import Action, Window
from tokstudio.gui.commands.commands import Commands
from tokstudio.gui.commands.compare_commands import CompareCommands
from tokstudio.gui.commands.export_commands import ExportCommands
from tokstudio.gui.commands.open_commands import OpenCommands
from tokstudio.gui.commands.surgery_commands import SurgeryCommands
from tokstudio.gui.dialogs.export.queue import TOKENIZERS
from tokstudio.gui.project.document import ProjectDocument
from tokstudio.gui.project.experiment import ExperimentFiles
from tokstudio.gui.session import availability
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.training_plans import AS_THEY_ARE, EQUAL
from tokstudio.gui.style.theme import BODY_PIXELS, Theme

_Key = QKeySequence.StandardKey


def _exports(exporting: ExportCommands) -> Iterator[Action]:
    """An action for each format, with a mnemonic that is unique in the menu."""
    taken = set("fmjvipsr")
    for name in TOKENIZERS:
        first, *others = name.title.split(" ")
        title, tip = " ".join([first, *(capitalized(word) for word in others)]), f"Write {name.description}."
        free = (place for place, letter in enumerate(title.lower()) if letter.isalpha() and letter not in taken)
        place = next(free, 0)
        taken.add(title[place].lower())
        text, run = f"{title[:place]}&{title[place:]}…", partial(exporting.export_formats, [name.name])
        yield Action(f"export_{name.name}", text, tip, run, (), "", availability.run_in_the_making)


# fmt: off


def _of_projects_and_texts(
    preferences: Preferences,
    projects: ProjectDocument,
    experiments: ExperimentFiles,
    opening: OpenCommands,
    commands: Commands,
) -> tuple[Action, ...]:
    """Projects, what adds text to the corpus, and the list of recent files."""
    return (
        Action("open_project", "Open Pro&ject…", "Open a project with all its runs.",
            projects.ask_and_open, keys=("Ctrl+Alt+P",), icon="open"),
        Action("save_project", "&Save Project", "Save corpus, settings, runs and text.",
            projects.save, keys=(_Key.Save, "Ctrl+S"), icon="save"),
        Action("save_project_as", "Save Project &As…", "Save the project as another file.",
            projects.save_as, keys=(_Key.SaveAs, "Ctrl+Shift+S"), icon="save"),
        Action("open_experiment", "Open E&xperiment…", "Open a file with texts and settings, to train what it says.",
            experiments.ask_and_open, icon="open"),
        Action("save_experiment", "Save Experi&ment…",
            "Save the corpus and the settings of Configure as a file, which tokstudio run trains.",
            experiments.save, icon="save", obstacle=availability.no_corpus),
        Action("open_corpus", "&Open Corpus…", "Add text files to the corpus.",
            opening.open_corpus, keys=(_Key.Open,), icon="open"),
        Action("open_folder", "Open &Folder…", "Add all text files of a folder to the corpus.",
            opening.open_folder, keys=("Ctrl+Alt+O",), icon="folder"),
        Action("open_counts", "Open Word Co&unts…", "Add a file of words with their counts.",
            opening.open_counts, icon="open"),
        Action("paste_corpus", "&Paste as Corpus", "Add the text on the clipboard to the corpus.",
            commands.paste_corpus, keys=("Ctrl+Shift+V",), icon="paste"),
        Action("sample_article", "&How Tokenizers Work", "Add an English article of 30 kB to the corpus.",
            partial(commands.add_sample, "article"), icon="text"),
        Action("sample_scripts", "One Story in &Eight Scripts", "Add a small text in eight scripts.",
            partial(commands.add_sample, "scripts"), icon="text"),
        Action("sample_python", "A &Python Program", "Add a short Python program.",
            partial(commands.add_sample, "python"), icon="text"),
        Action("sample_rubbish", "A &Corpus with Rubbish", "Add a text of 200 kB in which rubbish is to be found.",
            partial(commands.add_sample, "rubbish"), icon="text"),
        Action("clear_recent", "&Clear Recent", "Clear the list of recent files.", preferences.forget_recent),
    )


def _of_sources(
    session: Session, window: Window, opening: OpenCommands, exporting: ExportCommands, commands: Commands
) -> tuple[Action, ...]:
    """Changes of the sources in the corpus and of their weights."""
    return (
        Action("remove_source", "Remo&ve Selected", "Remove the selected sources from the corpus.",
            lambda: window.corpus.remove_selected(), icon="remove", obstacle=availability.no_corpus),
        Action("reload_source", "Re&load Selected", "Read the selected files again.",
            lambda: window.corpus.reload_selected(), icon="reload", obstacle=availability.no_corpus),
        Action("change_columns", "Cha&nge Columns…",
            "Choose the text of the selected data set, what divides it, and which documents are kept.",
            opening.importing.change_columns, obstacle=availability.no_data_set),
        Action("clear_corpus", "&Clear Corpus", "Remove all sources from the corpus.",
            lambda: session.corpus.set_sources(()), icon="remove", obstacle=availability.no_corpus),
        Action("search_corpus", "&Search the Corpus", "Search the corpus for a text, an expression or tokens.",
            window.show_search, keys=("Ctrl+Alt+F",), icon="find", obstacle=availability.no_corpus),
        Action("save_explored_csv", "&Table of Explore as CSV…", "Write what the Explore pane lists to a table.",
            exporting.save_explored, icon="export", obstacle=availability.nothing_explored),
        Action("weights_as_they_are", "&As They Are", "Let every source of the corpus count once.",
            partial(commands.weigh, AS_THEY_ARE), obstacle=availability.as_they_are),
        Action("weights_equal", "All &Equal", "Weight the sources so that each has the same share of the corpus.",
            partial(commands.weigh, EQUAL), obstacle=availability.no_mixture),
        Action("weights_by_temperature", "By &Temperature…",
            "Weight the sources so that their shares are in proportion to a power of their sizes.",
            lambda: window.corpus.ask_temperature(), obstacle=availability.no_mixture),
        Action("weights_by_content", "Equal &Content",
            "Weight the sources so that each says equally much, as far as parallel texts tell the bytes that a "
            "language needs.",
            commands.weigh_by_content, obstacle=availability.no_content),
        Action("weights_for_goal", "Find for a &Goal…",
            "Search weights with which a training reaches a goal on parallel texts, such as a worst premium.",
            window.dialogs.show_goal, obstacle=availability.no_mixture),
        Action("leave_nothing_out", "Leave &Nothing Out", "Take back the documents and lines that were left out.",
            lambda: session.corpus.leave_out(LeavingOut()), obstacle=availability.nothing_left_out),
        Action("save_left_out_csv", "&What Is Left Out as CSV…",
            "Write the documents and lines that are left out to a table.",
            exporting.save_left_out, obstacle=availability.nothing_left_out),
    )


def _of_opening_and_exports(window: Window, opening: OpenCommands, exporting: ExportCommands) -> tuple[Action, ...]:
    """Opening tokenizers, exports, Quit."""
    return (
        Action("open_tokenizer", "Open &Tokenizer…", "Open a tokenizer's files.",
            opening.open_tokenizer, keys=("Ctrl+Shift+O",), icon="tokenizer"),
        Action("open_tokenizer_folder", "Open To&kenizer Folder…", "Open the tokenizer in a folder.",
            opening.open_tokenizer_folder, icon="folder"),
        Action("open_data_set", "Open &Data Set by Name…",
            "Take a sample of a data set of the Hugging Face Hub, or of texts at another address.",
            opening.open_data_set, icon="open"),
        Action("open_by_name", "Open &by Name…",
            "Open a tokenizer of the Hugging Face Hub, or one of tiktoken's encodings, by its name.",
            opening.open_by_name, icon="tokenizer"),
        Action("export_tokenizer", "Tokenizer &Files…",
            "Write files for other programs, and check that they read the same tokenizer.",
            exporting.export_tokenizer, keys=("Ctrl+E",), icon="export", obstacle=availability.run_in_the_making),
        *_exports(exporting),
        Action("export_merges_csv", "&Merge Log as CSV…", "Write every merge with its counts.",
            partial(exporting.export_table, "merges-csv"), obstacle=availability.no_counts),
        Action("export_merges_jsonl", "Merge Log as &JSON Lines…", "Write every merge with its counts, as JSON.",
            partial(exporting.export_table, "merges-jsonl"), obstacle=availability.no_counts),
        Action("export_vocabulary_csv", "&Vocabulary as CSV…", "Write every token with its bytes and uses.",
            partial(exporting.export_table, "vocabulary-csv"), obstacle=availability.run_in_the_making),
        Action("export_ids", "Token &Ids of the Text…",
            "Write the ids of the text in the Text pane, as a JSON list or as a NumPy array.",
            exporting.export_ids, obstacle=availability.no_text),
        Action("encode_data_set", "&Encode a Data Set…",
            "Encode files, or those of the corpus, into shards of ids that a model is trained on.",
            window.dialogs.show_encode, obstacle=availability.run_in_the_making),
        Action("export_plot_png", "Plot as &PNG…", "Save the plot as a picture.",
            exporting.export_plot_png, obstacle=availability.no_counts),
        Action("export_plot_svg", "Plot as &SVG…", "Save the plot as a vector drawing.",
            exporting.export_plot_svg, obstacle=availability.no_counts),
        Action("export_tree_svg", "Merge T&ree as SVG…",
            "Save the merge tree of the current token as a vector drawing.",
            exporting.export_tree_svg, obstacle=availability.no_tree),
        Action("quit", "&Quit", "Close TokStudio.",
            window.close, keys=(_Key.Quit, "Ctrl+Q"), role=QAction.MenuRole.QuitRole),
    )


def _of_edits(session: Session, window: Window, commands: Commands) -> tuple[Action, ...]:
    """Undo, copies, finding, preferences."""
    view = session.view
    return (
        Action("undo", "&Undo", "Take back the last change.",
            session.history.undo, keys=(_Key.Undo,), icon="undo", obstacle=availability.nothing_to_undo),
        Action("redo", "Re&do", "Do again what was undone last.",
            session.history.redo, keys=(_Key.Redo, "Ctrl+Shift+Z", "Ctrl+Y"), icon="redo",
            obstacle=availability.nothing_to_redo),
        Action("copy", "&Copy", "Copy the selection.",
            commands.copy, keys=(_Key.Copy,), icon="copy"),
        Action("copy_ids", "Copy &Ids", "Copy the ids of the selected tokens of the text.",
            lambda: window.text.copy_ids(), keys=("Ctrl+Shift+C",), icon="ids"),
        Action("find", "&Find…", "Find a token by text, id or bytes.",
            lambda: window.finder.begin(), keys=(_Key.Find,), icon="find"),
        Action("find_next", "Find Ne&xt", "Go to the next use of the found token in the text.",
            partial(view.go_to_occurrence, 1), keys=(_Key.FindNext, "F3"), icon="next",
            obstacle=availability.no_target),
        Action("find_previous", "Find P&revious", "Go to the previous use of the found token in the text.",
            partial(view.go_to_occurrence, -1), keys=(_Key.FindPrevious, "Shift+F3"), icon="previous",
            obstacle=availability.no_target),
        Action("filter", "Fi&lter", "Go to the filter of the current table.",
            window.focus_filter, keys=("Ctrl+Shift+F",), icon="filter"),
        Action("preferences", "&Preferences…", "Set defaults, appearance, threads, copies and questions.",
            window.show_preferences, keys=(_Key.Preferences, "Ctrl+,"), role=QAction.MenuRole.PreferencesRole),
    )


def _of_training(session: Session, window: Window, commands: Commands) -> tuple[Action, ...]:
    """Training, and its control while it runs."""
    runs, training = session.runs, session.training
    return (
        Action("train", "&Train", "Train a tokenizer on the corpus.",
            training.start, keys=("Ctrl+R", "F5"), icon="train", obstacle=lambda s: s.training.obstacle),
        Action("train_on_sample", "Train on a Samp&le", "Train on as much of the corpus as fits into memory.",
            training.start_on_sample, icon="train", obstacle=availability.no_sample),
        Action("train_anyway", "Train Any&way", "Train even if there may be too little memory.",
            partial(training.start, anyway=True), obstacle=availability.no_need_to_force),
        Action("train_several", "Train Se&veral…",
            "Train with several algorithms, patterns, bases, tie rules or samples, one after another.",
            lambda: window.dialogs.show_train_several(), icon="train", obstacle=availability.cannot_train_several),
        Action("cancel_queue", "Cancel &Queue", "Finish the training in progress, but start no other of the queue.",
            session.queue.cancel, icon="stop", obstacle=availability.nothing_waits),
        Action("continue_run", "&Continue Run", "Continue the active run up to the current limits.",
            lambda: training.continue_run(runs.active), keys=("Ctrl+Shift+R",), icon="train",
            obstacle=availability.cannot_continue),
        Action("load_base_tokens", "Load &Base Tokens…",
            "Load the base tokens from a JSON list, or from a file with one per line.",
            commands.load_base_tokens, icon="open"),
        Action("base_tokens_of_corpus", "Base Tokens of the &Corpus",
            "Fill the list of base tokens with the characters of the corpus.",
            commands.base_tokens_of_corpus, icon="text", obstacle=availability.no_corpus),
        Action("pause", "&Pause", "Pause training, or go on with it; nothing is lost.",
            lambda: training.resume() if training.state == "paused" else training.pause(),
            keys=("F6",), icon="pause", obstacle=availability.cannot_pause),
        Action("step", "&Step", "Make one merge, then pause.",
            training.step, keys=("F10",), icon="step", obstacle=availability.cannot_step),
        Action("stop", "St&op", "End training here and keep the run.",
            training.stop, keys=("Shift+F5",), icon="stop", obstacle=availability.no_training),
        Action("hurry", "&Jump to the End", "Make the rest of the merges at full speed.",
            training.hurry, keys=("Ctrl+F5",), icon="last", obstacle=availability.not_played),
        Action("sample_train_article", "&Train on “How Tokenizers Work”", "Train on the English article.",
            partial(commands.play_sample, "article"), icon="train", obstacle=availability.cannot_train_a_sample),
        Action("sample_train_scripts", "Train on “One &Story in Eight Scripts”", "Train on the text in eight scripts.",
            partial(commands.play_sample, "scripts"), icon="train", obstacle=availability.cannot_train_a_sample),
        Action("sample_train_python", "Train on “A P&ython Program”", "Train on the Python program.",
            partial(commands.play_sample, "python"), icon="train", obstacle=availability.cannot_train_a_sample),
        Action("sample_train_rubbish", "Train on “A Corpus with &Rubbish”", "Train on the text with rubbish in it.",
            partial(commands.play_sample, "rubbish"), icon="train", obstacle=availability.cannot_train_a_sample),
        *commands.parallel.actions(),
    )


def _of_one_run(
    session: Session, opening: OpenCommands, surgery: SurgeryCommands, commands: Commands
) -> tuple[Action, ...]:
    """The playhead, and what is done with one run."""
    runs, view = session.runs, session.view
    return (
        Action("first", "To the St&art", "Move the playhead before the first merge.",
            partial(view.set_playhead, 0), keys=("Alt+Home",), icon="first", obstacle=availability.at_start),
        Action("previous", "One Merge &Back", "Move the playhead back by one merge.",
            lambda: view.set_playhead(view.playhead - 1), keys=("[",), icon="previous", obstacle=availability.at_start),
        Action("next", "One Merge &Forward", "Move the playhead forward by one merge.",
            lambda: view.set_playhead(view.playhead + 1), keys=("]",), icon="next", obstacle=availability.at_end),
        Action("last", "To the &End", "Move the playhead to the newest merge.",
            lambda: view.set_playhead(len(runs.active or ())), keys=("Alt+End",), icon="last",
            obstacle=availability.at_end),
        Action("play", "Pla&y Merges", "Move the playhead forward by itself; at the end, start over.",
            session.player.set_playing, keys=("Ctrl+P",), icon="train", obstacle=availability.nothing_to_play,
            checkable=True),
        Action("previous_run", "Earl&ier Tokenizer", "Show the tokenizer before the active one.",
            partial(runs.activate_beside, -1), keys=("Alt+PgUp",), obstacle=availability.no_other_run),
        Action("next_run", "Later Tokeni&zer", "Show the tokenizer after the active one.",
            partial(runs.activate_beside, 1), keys=("Alt+PgDown",), obstacle=availability.no_other_run),
        Action("rename_run", "Rena&me…", "Give the active tokenizer another name.",
            commands.rename_run, keys=("F2",), icon="rename", obstacle=availability.no_kept_run),
        Action("change_pattern", "C&hange Pattern…",
            "Choose how an opened tokenizer splits text, if its files do not say.",
            opening.change_pattern, obstacle=availability.pattern_is_known),
        Action("train_like", "Train One &Like This",
            "Take the pattern, special tokens and size of the active tokenizer as settings of the next training.",
            surgery.train_like, icon="train", obstacle=availability.no_kept_run),
        Action("count_uses", "Cou&nt Uses in the Corpus",
            "Encode the corpus with the opened tokenizer, and count how often each token occurs.",
            runs.count_uses, obstacle=availability.cannot_count_uses),
        Action("measure_held_out", "Measure Held-Out Te&xt",
            "Measure the held-out text of the active run, if that was cancelled.",
            session.held_out.measure, obstacle=availability.cannot_measure_held_out),
        Action("measure_on_corpus", "The &Corpus", "Measure all rows of Tokenizers on the corpus of the window.",
            commands.measuring.corpus, icon="text", obstacle=availability.no_corpus),
        Action("measure_on_text", "The &Text Pane", "Measure all rows of Tokenizers on the text of the Text pane.",
            commands.measuring.text, icon="text", obstacle=availability.no_pane_text),
        Action("measure_on_held_out", "&Held-Out Text",
            "Measure all rows of Tokenizers on the held-out text of the active run.",
            commands.measuring.held_out, icon="text", obstacle=availability.no_held_out_text),
        Action("measure_on_file", "A &File…",
            "Measure all rows of Tokenizers on a file, which is not added to the corpus.",
            commands.measuring.file, icon="open"),
        Action("delete_run", "&Delete", "Delete the active tokenizer.",
            lambda: commands.delete(runs.active), icon="delete", obstacle=availability.run_in_the_making),
    )


def _of_comparing(session: Session, comparing: CompareCommands) -> tuple[Action, ...]:
    """What tokenizers are compared on, and what is taken away."""
    return (
        Action("compare_on_story", "Compare on Our &Story",
            "Compare the tokenizers on a story of twenty sentences in many languages.",
            comparing.compare_on_story, icon="text"),
        Action("compare_algorithms", "Compare Al&gorithms…",
            "Train a tokenizer with each algorithm on the corpus, and compare them.",
            comparing.compare_algorithms, icon="train", obstacle=availability.cannot_train_several),
        Action("open_compared_texts", "&Open Texts to Compare On…",
            "Open files for measuring only: they do not enter the corpus.",
            comparing.open_texts, icon="open"),
        Action("open_parallel_folder", "Open &Folder of Parallel Texts…",
            "Open a folder with a file for each language, all with the same lines.",
            comparing.open_parallel_folder, icon="folder"),
        Action("open_parallel_table", "Open &Table of Parallel Texts…",
            "Open a table with a column for each language.",
            comparing.open_parallel_table, icon="open"),
        Action("open_compared_words", "Open &Words…", "Show the pieces of the words of a file in each tokenizer.",
            comparing.open_words, icon="open"),
        Action("measure_comparison", "&Measure", "Measure what is missing, and try again what failed.",
            comparing.measure, icon="reload", obstacle=availability.nothing_to_measure),
        Action("show_intervals", "&Intervals over Lines",
            "Show how far the figure would be from this for other lines: in tool tips, Dots and copies.",
            session.comparison.show_intervals, obstacle=availability.no_intervals, checkable=True),
        Action("copy_figure", "Copy Figure as &Markdown", "Copy the shown figure of all texts as a table.",
            comparing.copy_markdown, keys=("Ctrl+Alt+C",), icon="copy", obstacle=availability.no_figure),
        Action("copy_figure_latex", "Copy Figure as &LaTeX", "Copy the shown figure of all texts for a paper.",
            comparing.copy_latex, icon="copy", obstacle=availability.no_figure),
        Action("copy_figure_csv", "Copy Figure as CS&V", "Copy the shown figure of all texts for a spreadsheet.",
            comparing.copy_csv, icon="copy", obstacle=availability.no_figure),
        Action("save_comparison_csv", "Fig&ures as CSV…", "Write all figures of the comparison to a table.",
            comparing.save_csv, icon="export", obstacle=availability.nothing_compared),
        Action("save_engines_csv", "&Engines as CSV…", "Write what other libraries gave to a table.",
            comparing.save_engines_csv, icon="export", obstacle=availability.no_engines),
        Action("save_dots", "&Dots as Picture…", "Write the shown figure as dots: a vector drawing, SVG or PDF.",
            comparing.save_dots, icon="export", obstacle=availability.no_figure),
        Action("save_report", "&Report…", "Write a page about the compared tokenizers: settings, curves, all figures.",
            comparing.save_report, icon="export", obstacle=availability.nothing_compared),
    )


def _of_surgery(surgery: SurgeryCommands) -> tuple[Action, ...]:
    """Tokenizers made of others."""
    return (
        Action("extend_tokenizer", "&Extend on the Corpus…",
            "Train the active tokenizer further on the corpus: its tokens and merges stay, and new ones follow.",
            surgery.extend, icon="train", obstacle=availability.cannot_extend),
        Action("fork_tokenizer", "&Fork at the Playhead…",
            "Train on from the merges up to the playhead, with other settings.",
            surgery.fork, icon="train", obstacle=availability.cannot_fork),
        Action("prune_tokenizer", "&Prune…",
            "Remove tokens: the least used, those of a script, or the selected ones.",
            surgery.prune, icon="remove", obstacle=availability.cannot_prune),
        Action("change_specials", "&Special Tokens…", "Rename special tokens, add some, or give them roles.",
            surgery.specials, icon="tokenizer", obstacle=availability.cannot_change_specials),
        Action("forbid_tokens", "F&orbid and Train Again",
            "Forbid the selected tokens in Configure, and train on the corpus again.",
            surgery.forbid, icon="train", obstacle=availability.cannot_forbid),
        Action("prune_tokens", "Prune &These…", "Remove the selected tokens from the active tokenizer.",
            surgery.prune_these, icon="remove", obstacle=availability.cannot_prune_tokens),
        Action("show_proof", "&What Stayed the Same…",
            "Prove what the active tokenizer has in common with the one that it was made of.",
            surgery.show_proof, icon="info", obstacle=availability.nothing_to_prove),
    )


def _of_checks(window: Window) -> tuple[Action, ...]:
    """What is checked, and what a class needs."""
    return (
        Action("check_tokenizer", "Check To&kenizer…",
            "Look for faults of a tokenizer and its files before a model is trained.",
            window.dialogs.show_check_tokenizer),
        Action("trained_on", "&What Was It Trained On…",
            "Estimate from its merges how much of each of some texts a tokenizer was trained on.",
            window.dialogs.show_trained_on),
        Action("check_training", "&Check a Training…",
            "Compare students' merges with the right ones, and name the mistakes that explain a difference.",
            window.dialogs.show_check_training),
        Action("make_exercise", "&Make an Exercise…",
            "Write a text, settings and the right merges for a class.",
            window.dialogs.show_make_exercise),
    )


def _of_views(session: Session, preferences: Preferences, window: Window, commands: Commands) -> tuple[Action, ...]:
    """Questions about merges, and what is shown."""
    view = session.view
    return (
        Action("why_merge", "&Why This Merge?",
            "Show the candidate pairs for the current token's merge, and the rule that decided.",
            commands.why_merge, keys=("Ctrl+Shift+Y",), icon="help", obstacle=availability.no_trained_run),
        Action("why_not_one_token", "Why Not &One Token?",
            "Show which merge is missing, or came too late, to make one token of the selected tokens or of a word.",
            window.show_why_not, keys=("Ctrl+Shift+N",), icon="help", obstacle=availability.no_text),
        Action("step_through_text", "Step &Through the Text",
            "Step through the encoding of the text, merge by merge, with Left and Right.",
            window.show_steps, keys=("Ctrl+Shift+T",), icon="step", obstacle=availability.no_text),
        Action("show_white_space", "&White Space", "Mark spaces and newlines in tokens.",
            lambda on: preferences.set("show_white_space", on), icon="whitespace", checkable=True),
        Action("show_ids", "Token &Ids", "Show the id below each token of the text.",
            lambda on: preferences.set("show_ids", on), keys=("Ctrl+I",), icon="ids", checkable=True),
        Action("recognise_specials", "Sp&ecial Tokens in Text",
            "Encode special tokens in the text as their ids, not as plain text.",
            lambda on: preferences.set("recognise_specials", on), obstacle=availability.no_specials, checkable=True),
        Action("encode_with_dropout", "BPE &Dropout in Text",
            "Pass over merges at random in encoding the text, as is done in training models.",
            view.switch_dropout, obstacle=availability.no_dropout, checkable=True),
        Action("dropout_again", "Drop Ot&hers", "Encode the text with dropout, and pass over other merges than before.",
            view.drop_again, obstacle=availability.no_dropout),
        Action("byte_level_characters", "&Byte-Level Characters",
            "Show byte tokens as in GPT-2's files: Ġ for a space, Ċ for a newline.",
            lambda on: preferences.set("byte_level_characters", on), obstacle=availability.no_bytes, checkable=True),
        Action("compression_marks", "Marks of Compressio&n",
            "Mark on the curve where a run reaches 90, 95 and 99 % of the compression at its end.",
            lambda on: preferences.set("compression_marks", on), checkable=True),
        Action("more_settings", "&More Settings", "Show all training settings.",
            lambda on: preferences.set("more_settings", on), checkable=True),
    )


def _of_appearance(theme: Theme, window: Window, commands: Commands) -> tuple[Action, ...]:
    """Theme, size of the text, workspaces and panes."""
    return (
        Action("theme_system", "Follow &System", "Use the light or dark theme of the system.",
            partial(commands.set_theme, "system"), checkable=True),
        Action("theme_light", "&Light", "Use the light theme.",
            partial(commands.set_theme, "light"), checkable=True),
        Action("theme_dark", "&Dark", "Use the dark theme.",
            partial(commands.set_theme, "dark"), checkable=True),
        Action("text_larger", "&Larger Text", "Make all text larger.",
            lambda: commands.set_text_size(theme.text_size + 1), keys=(_Key.ZoomIn, "Ctrl+=")),
        Action("text_smaller", "&Smaller Text", "Make all text smaller.",
            lambda: commands.set_text_size(theme.text_size - 1), keys=(_Key.ZoomOut,)),
        Action("text_reset", "&Normal Text", "Reset the text size.",
            partial(commands.set_text_size, BODY_PIXELS), keys=("Ctrl+0",)),
        Action("workspace_learn", "&Learn Workspace", "Show the panes for learning how tokenizers work.",
            partial(window.show_workspace, "learn"), keys=("Ctrl+Alt+1",), checkable=True),
        Action("workspace_train", "&Train Workspace", "Show the panes for training.",
            partial(window.show_workspace, "train"), keys=("Ctrl+Alt+2",), checkable=True),
        Action("workspace_explore", "&Explore Workspace", "Show the panes for exploring the corpus.",
            partial(window.show_workspace, "explore"), keys=("Ctrl+Alt+3",), checkable=True),
        Action("workspace_compare", "&Compare Workspace", "Show the panes for comparing tokenizers.",
            partial(window.show_workspace, "compare"), keys=("Ctrl+Alt+4",), checkable=True),
        Action("workspace_back", "&Back to the Workspace Before", "Go back to the workspace that was left last.",
            window.leave_workspace, keys=("Ctrl+Alt+0",), obstacle=window.no_workspace_left),
        Action("maximise_pane", "Ma&ximise Pane",
            "Let the pane with the focus fill the window; again, or Esc, shows the other panes.",
            window.maximise_pane, keys=("Ctrl+Shift+M",), checkable=True),
        Action("float_pane", "&Float Pane", "Make the pane with the focus a window of its own, or put it back.",
            window.float_pane),
        Action("reset_layout", "&Reset Layout", "Put all panes of this workspace back in their original places.",
            window.reset_layout),
    )


def _of_help(window: Window) -> tuple[Action, ...]:
    """Guide, tour, game, shortcuts, version."""
    return (
        Action("guide", "&Guide", "Read how tokenizers work and how to use this window.",
            window.show_guide, keys=(_Key.HelpContents, "F1"), icon="help"),
        Action("glossary", "G&lossary", "Look up a word of the window.",
            window.show_glossary, icon="text"),
        Action("take_tour", "Take the &Tour", "Learn in five minutes how a tokenizer is made, in this window.",
            window.take_tour, icon="help", obstacle=availability.cannot_train_a_sample),
        Action("continue_tour", "&Continue the Tour", "Go on with the tour where you left it.",
            window.continue_tour, icon="help", obstacle=window.no_tour_to_continue),
        Action("your_turn", "&Your Turn…", "Choose ten merges of a short text yourself, and see how good they are.",
            window.dialogs.show_your_turn, icon="tokenizer"),
        Action("shortcuts", "&Keyboard Shortcuts", "List all keyboard shortcuts.",
            window.show_shortcuts, keys=("Ctrl+F1",)),
        Action("about", "&About TokStudio", "Show version and licence.",
            window.show_about, icon="info", role=QAction.MenuRole.AboutRole),
    )


# fmt: on


def list_actions(
    session: Session,
    theme: Theme,
    preferences: Preferences,
    window: Window,
    projects: ProjectDocument,
    experiments: ExperimentFiles,
    opening: OpenCommands,
    exporting: ExportCommands,
    comparing: CompareCommands,
    surgery: SurgeryCommands,
    commands: Commands,
) -> tuple[Action, ...]:
    """Lists the actions; in each entry, the texts come first, the handler second.

    The panes need not exist yet: an action looks them up when it is called.
    """
    return (
        *_of_projects_and_texts(preferences, projects, experiments, opening, commands),
        *_of_sources(session, window, opening, exporting, commands),
        *_of_opening_and_exports(window, opening, exporting),
        *_of_edits(session, window, commands),
        *_of_training(session, window, commands),
        *_of_one_run(session, opening, surgery, commands),
        *_of_comparing(session, comparing),
        *_of_surgery(surgery),
        *_of_checks(window),
        *_of_views(session, preferences, window, commands),
        *_of_appearance(theme, window, commands),
        *_of_help(window),
    )
