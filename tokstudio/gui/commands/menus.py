"""The menus and the order of their actions."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenuBar

from tokstudio.gui.dialogs.export.plan import TOKENIZERS
from tokstudio.gui.widgets.menus import Menu

_FORMATS = " ".join(f"export_{known.name}" for known in TOKENIZERS)
# "-" is a separator, "> Title" opens a submenu, "<" closes it.
_MENUS: dict[str, str] = {
    "&File": "open_project save_project save_project_as - open_corpus open_folder open_counts paste_corpus "
    ">Sa&mples sample_article sample_scripts sample_python - "
    "sample_train_article sample_train_scripts sample_train_python < "
    ">&Recent < - remove_source reload_source change_columns >Encodin&g < clear_corpus "
    ">Mi&xture weights_as_they_are weights_equal weights_by_temperature < - "
    "open_tokenizer open_tokenizer_folder open_by_name "
    f">&Export export_tokenizer - {_FORMATS} - export_merges_csv export_merges_jsonl export_vocabulary_csv - "
    "export_ids export_plot_png export_plot_svg export_tree_svg < - quit",
    "&Edit": "undo redo - copy copy_ids - find find_next find_previous - filter - preferences",
    "&Train": "train train_on_sample train_anyway train_several continue_run pause resume step hurry stop "
    "cancel_queue - >Base_To&kens_and_Parallel_Texts load_base_tokens base_tokens_of_corpus - "
    "load_parallel_files load_parallel_texts_folder remove_parallel_texts < - "
    "first previous next last play >Playin&g_Speed < - previous_run next_run rename_run change_pattern count_uses "
    "measure_held_out delete_run",
    "&Compare": "compare_algorithms compare_on_story open_compared_texts open_parallel_folder "
    "open_parallel_table open_compared_words - measure_comparison - copy_figure copy_figure_csv "
    "save_comparison_csv save_report - "
    ">Me&asure_On measure_on_corpus measure_on_text measure_on_held_out measure_on_file <",
    "&View": ">Wor&kspaces workspace_train workspace_compare workspace_learn < >&Panes < "
    "maximise_pane float_pane reset_layout - why_merge why_not_one_token step_through_text - "
    ">&Theme theme_system theme_light theme_dark < >Text_&Size text_larger text_smaller text_reset < - "
    "show_white_space byte_level_characters show_ids recognise_specials encode_with_dropout dropout_again "
    "more_settings compression_marks >&Columns_of_Runs < >Cur&ves_of_Runs <",
    "To&kenizer": "extend_tokenizer fork_tokenizer prune_tokenizer change_specials - forbid_tokens prune_tokens - "
    "show_proof",
    "T&ools": "check_training make_exercise",
    "&Help": "guide glossary - take_tour continue_tour your_turn - shortcuts about",
}


def build_menus(bar: QMenuBar, actions: Mapping[str, QAction]) -> dict[str, Menu]:
    """Fills the menu bar; returns the submenus by title, including those that are filled elsewhere."""
    submenus: dict[str, Menu] = {}
    for title, names in _MENUS.items():
        stack = [Menu(title, bar)]
        bar.addMenu(stack[0])
        for name in names.split():
            if name == "-":
                stack[-1].addSeparator()
            elif name == "<":
                stack.pop()
            elif name.startswith(">"):
                stack.append(stack[-1].add_menu(name[1:].replace("_", " ")))
                submenus[name[1:].replace("&", "")] = stack[-1]
            else:
                stack[-1].addAction(actions[name])
    return submenus
