"""The choices for columns that were read before."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest

from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.gui.dialogs.corpus_import.question import Choices
from tokstudio.gui.session.preferences import Preferences


@pytest.fixture
def preferences(tmp_path):
    return Preferences(tmp_path / "settings.ini")


def test_a_choice_is_kept_for_the_next_start_but_is_of_this_one_only_here(preferences):
    first = Choices(preferences)
    first.remember("a", Reading(field="body", keep_truncated=True))
    assert first.of_this_start("a") == Reading(field="body")
    second = Choices(preferences)
    assert second.all == {"a": Reading(field="body")}
    assert second.of_this_start("a") is None


def test_only_the_newest_fifty_are_kept(preferences):
    choices = Choices(preferences)
    for number in range(60):
        choices.remember(f"key {number}", Reading(field="body"))
    assert list(Choices(preferences).all) == [f"key {number}" for number in range(10, 60)]


@pytest.mark.parametrize(
    "stored", ["no json", "[]", '{"a": 3}', '{"a": {"field": 3}}', '{"a": {"most_bytes": -1}}', "[" * 5000]
)
def test_settings_that_are_damaged_are_left_out(preferences, stored):
    preferences.set("imports", stored)
    assert Choices(preferences).all == {}


def test_a_valid_choice_beside_a_damaged_one_stays(preferences):
    preferences.set("imports", json.dumps({"a": {"field": 3}, "b": {"field": "body"}}))
    assert Choices(preferences).all == {"b": Reading(field="body")}
