"""Every setting of the table has its field, its option, its name in Undo, its column or a reason, and its words."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import MISSING, fields, replace
from typing import Any

from tests.gui.conftest import docked
from tokstudio.cli.arguments.parse import parse
from tokstudio.core.library_training.config import LibraryConfig
from tokstudio.core.model.algorithms import OWN_SETTINGS, TIE_BREAKS
from tokstudio.core.model.config import NAMED_RULES, TrainingConfig
from tokstudio.core.model.settings import PATTERNS, RULES, SETTINGS, TIE_RULES, Setting, SettingColumn, described
from tokstudio.core.pretokenization.patterns import NAMES
from tokstudio.gui.dialogs.train_several.model import COLUMNS
from tokstudio.gui.panes.configure.pane import ConfigurePane
from tokstudio.gui.state.training_settings import Settings

# What others have to be, so that a setting has an effect.
BESIDE: dict[str, dict[str, Any]] = {
    "base_vocabulary": {"base": "characters", "base_vocabulary": ("a",)},
    "unknown_token": {"base": "characters", "special_tokens": ("<s>",)},
    "special_placement": {"special_tokens": ("<s>",)},
    "alpha": {"window": 9},
    "max_words": {"transition": 300},
}
BY_LANGUAGE = ("parallel", "ratios")  # their fields have a row for each language of the corpus


def another(setting: Setting) -> tuple[Any, str]:
    """A value that is not the default, and how the command line has it."""
    match setting.kind:
        case "limit" | "number":
            return 7, "7"
        case "decimal" | "share":
            return 0.985, "0.985"
        case "choice":
            return [*setting.choices][1], [*setting.choices][1]
        case "switch":
            return True, ""
        case "text":
            return ("gpt2" if setting.choices else "<s>"), ("gpt2" if setting.choices else "<s>")
        case "texts by name":
            return (("de", "ein"),), "de=ein.txt"
        case "numbers by name":
            return (("de", 1.5),), "de=1.5"
        case _:
            return ("<s>",), "<s>"


def before(setting: Setting) -> Settings:
    return replace(Settings(algorithm=setting.algorithms[0]), **BESIDE.get(setting.name, {}))


pane = docked(ConfigurePane, 320, 1500)


def test_each_has_its_field_and_its_name_in_undo(pane, session):
    groups = [group for name in SETTINGS["algorithm"].choices if (group := pane.algorithm.group(name)) is not None]
    named = {"vocabulary_size": pane.size_field, "min_frequency": pane.frequency_field, "pattern": pane.pattern}
    named |= {"algorithm": pane.algorithm.choice, **pane.more.named}
    named |= {name: field for group in groups for name, field in group.named.items()}
    assert {*named} == {setting.name for setting in SETTINGS.values() if setting.place}
    assert {*named} == {field.name for field in fields(Settings)}
    for name in {*named} - {*BY_LANGUAGE}:
        setting, value = SETTINGS[name], another(SETTINGS[name])[0]
        session.training.set_settings(before(setting))
        named[name].set_value(value)
        named[name].changed.emit()
        assert getattr(session.training.settings, name) == value, name
        assert session.history.undo_text == setting.title
        assert named[name].isVisibleTo(pane.more if setting.place == "more" else pane)


def test_each_has_its_option():
    for setting in SETTINGS.values():
        words = ["train", "book.txt", "--vocab-size=300", "--algorithm", setting.algorithms[0]]
        value, written = another(setting)
        words += [setting.option, *([written] if written else [])]
        given = getattr(parse(words), setting.argument)
        assert given == value or isinstance(value, tuple), words
        assert given != getattr(parse(["train", "book.txt"]), setting.argument)


def test_each_has_its_column_in_train_several_or_says_why_not():
    columns = {column.field for column in COLUMNS}
    for setting in SETTINGS.values():
        assert (setting.name in columns) == isinstance(setting.column, SettingColumn)
        assert isinstance(setting.column, SettingColumn) or setting.column.endswith(".")


def test_what_is_set_is_told_of_settings_and_of_a_run():
    for setting in SETTINGS.values():
        if setting.place == "more" and setting.name not in ("base_vocabulary", "special_placement"):  # told with others
            assert setting.in_line(replace(before(setting), **{setting.name: another(setting)[0]}))
    config = TrainingConfig(vocabulary_size=300, max_token_bytes=7, forbidden=("a", "b"), held_out=0.125)
    assert [*described(config, without=["algorithm", "vocabulary_size", "tie_break"])] == [
        ("Longest token", "7 bytes"),
        ("Forbidden tokens", "a, b"),
        ("Held-out share", "12.5\u00a0%"),
    ]


def test_the_table_has_the_names_and_the_defaults_of_the_core():
    assert tuple(PATTERNS) == NAMES
    assert {*RULES} == {*NAMED_RULES}
    assert tuple(TIE_RULES) == TIE_BREAKS
    known = {field.name: field.default for kind in (LibraryConfig, TrainingConfig) for field in fields(kind)}
    known = {**known, **OWN_SETTINGS, "documents": "file"}
    assert {*known} == {*SETTINGS}
    for name in {*known} - {"algorithm", "tie_break"}:
        assert known[name] in (SETTINGS[name].default, MISSING), name
