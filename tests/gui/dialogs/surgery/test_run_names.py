"""Names of runs that are made from others."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest

from tokstudio.gui.dialogs.surgery.works import name_with, remark_of, short_name


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("Run 2 (Run 1, extended)", "Run 2"),
        ("Run 2 (Run 1, extended), pruned to 1,300", "Run 2, pruned to 1,300"),
        ("Run 12 (sample of 1.0 MB)", "Run 12"),
        ("gpt2 (old)", "gpt2 (old)"),
        ("Run 3", "Run 3"),
    ],
)
def test_a_short_name_has_no_remark_in_parentheses(name, short):
    assert short_name(name) == short


def test_a_change_of_one_kind_is_named_once():
    name = name_with("Run 2 (Run 1, extended)", "pruned to 1,300")
    assert name == "Run 2, pruned to 1,300"
    name = name_with(name_with(name, "other special tokens"), "pruned to 900")
    assert name == "Run 2, other special tokens, pruned to 900"
    assert name_with(name, "other special tokens") == "Run 2, pruned to 900, other special tokens"


def test_a_remark_follows_the_number_of_the_run():
    assert remark_of("Run 2 (Run 1, extended)", 2) == " (Run 1, extended)"
    assert remark_of("Run 2", 2) == ""
    assert remark_of("Run 20 (Run 1, extended)", 2) == ""
    assert remark_of("mine", 2) == ""
