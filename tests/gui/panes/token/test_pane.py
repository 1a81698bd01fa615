"""The Token pane: showing tokens, following their parts, the playhead, copying."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from tests.gui.person import at_window
from tokstudio import __version__
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.token.pane import TokenPane
from tokstudio.gui.session.availability import cannot_count_uses
from tokstudio.gui.token_text.token_label import meaning, segments, token_label

CORPUS = "the cat sat on the mat and the cat ate the rat; that is that.\n" * 40 + "太阳" * 30


@pytest.fixture
def pane(qtbot, session, theme, actions) -> TokenPane:
    pane = TokenPane(session, theme, actions)
    qtbot.addWidget(pane)
    pane.resize(400, 340)
    pane.show()
    return pane


@pytest.fixture
def trained(make_run, pane) -> TokenPane:
    make_run(CORPUS, vocabulary_size=330)
    return pane


def test_very_long_tokens_show_their_beginning(pane, session):
    assert not pane.copies.isEnabled()
    # Each merge doubles the one before: a million bytes, and a tree far larger than anyone could see.
    doubling = np.array([[97, 97]] + [[256 + k, 256 + k] for k in range(19)], np.int32)
    session.runs.add_tokenizer(Tokenizer(doubling), "long")
    session.view.look_at(275)
    assert pane.facts.text().endswith("… 1,048,576 bytes")
    assert len(pane.headline.text()) <= 400
    assert len(pane.tree.drawn.boxes) <= 600
    # "日", and twice as many with each merge: of the 768 bytes the first 400 would end within a character.
    doubling = np.array([[0xE6, 0x97], [256, 0xA5]] + [[257 + k, 257 + k] for k in range(8)], np.int32)
    session.runs.add_tokenizer(Tokenizer(doubling), "long")
    session.view.look_at(265)
    assert pane.headline.text() == "日" * 133
    assert pane.meaning.text() == ""
    chain = np.array([[97, 97]] + [[256 + k, 97] for k in range(1500)], np.int32)
    session.runs.add_tokenizer(Tokenizer(chain), "chain")
    session.view.look_at(256 + 1500)
    assert pane.origin.text() == "id 1,756 · merge 1,501"
    assert any(box.kind == "more" for box in pane.tree.drawn.boxes)


def test_a_token_is_shown_as_it_is_at_the_playhead_with_what_is_built_from_it(session, trained, qtbot):
    run, token = session.runs.active, 260
    session.view.look_at(token)
    raw = run.tokenizer.tokens[token]
    assert trained.headline.text() == token_label(raw)
    assert trained.origin.text() == "id 260 · merge 5"
    uses = int(run.uses.at(len(run))[token])
    rank = 1 + sum(int(other) > uses for other in run.uses.at(len(run)))
    used = f"{uses:,} use{'' if uses == 1 else 's'} in the corpus, rank {rank} of 330"
    expected = used if uses else "0 uses: now only inside longer tokens"
    assert trained.facts.text() == f"{raw.hex(' ').upper()}  ·  {expected}"
    session.view.look_at(0x20)
    assert trained.facts.text().startswith("byte 20: space  ·  ")
    assert trained.origin.text() == "id 32 · byte"
    assert not trained.tree.isVisible()
    session.view.look_at(ord("Z"))
    assert trained.facts.text() == "byte 5A: latin capital letter z  ·  0 uses in the training text"
    session.view.look_at(ord("t"))
    tokenizer = session.view.tokenizer
    built = [256 + row for row, pair in enumerate(tokenizer.merges.tolist()) if ord("t") in pair]
    assert [chip.id for chip in trained.chips.chips] == built[:50]
    assert trained.built.text().startswith(f"Built from it: {len(built)} token")
    place = trained.chips.place_of(0).center()
    qtbot.mouseClick(trained.chips.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert session.view.token == built[0]
    session.view.look_at(ord("t"))
    second = trained.chips.chips[1].id
    qtbot.keyClick(trained.chips, Qt.Key.Key_Right)
    qtbot.keyClick(trained.chips, Qt.Key.Key_Return)
    assert session.view.token == second
    run = session.runs.active
    session.view.look_at(ord("t"))
    session.view.set_playhead(3)
    assert all(chip.id < 259 for chip in trained.chips.chips)
    session.view.set_playhead(0)
    assert not trained.chips.isVisible()
    assert trained.facts.text().endswith(f"{CORPUS.count('t'):,} uses in the training text, rank 1 of 256")
    session.view.set_playhead(len(run))
    assert trained.facts.text().endswith("now only inside longer tokens")
    # The count of the merge log is of the moment when the token was made.
    token, playhead = next(
        (256 + row, later)
        for row in range(len(run))
        for later in range(row + 2, len(run) + 1)
        if 0 < run.uses.of(256 + row, later) < run.uses.of(256 + row, row + 1)
    )
    session.view.set_playhead(playhead)
    session.view.look_at(token)
    now, made = run.uses.of(token, playhead), run.uses.of(token, token - 255)
    assert (
        f"{now:,} uses in the training text, {made - now:,} more now inside longer tokens, rank" in trained.facts.text()
    )
    session.view.look_at(280)
    session.view.set_playhead(10)
    assert trained.facts.text().endswith("Not made yet: merge 25 makes it.")
    assert not trained.chips.isVisible()
    session.view.set_playhead(25)
    assert "Not made yet" not in trained.facts.text()


def test_the_unknown_token_is_explained_and_counted_in_ranks(session, pane, unknown_run):
    unknown_run(CORPUS)
    for merges in (0, 5, len(session.runs.active)):
        session.view.set_playhead(merges)
        uses = np.bincount(session.view.tokenizer.encode(CORPUS), minlength=len(session.view.tokenizer))
        assert uses[session.view.tokenizer.special_tokens["<unk>"]] > 100
        for token in np.flatnonzero(uses).tolist():
            session.view.look_at(token)
            rank = 1 + np.count_nonzero(uses > uses[token])
            words = re.sub(r", [\d,]+ more now inside longer tokens", "", pane.facts.text()).replace(
                " use in", " uses in"
            )
            assert words.endswith(
                f"{uses[token]:,} uses in the training text, rank {rank} of {len(session.view.tokenizer)}"
            )
    session.view.look_at(session.view.tokenizer.special_tokens["<unk>"])
    assert pane.meaning.text() == "Every character that is not in the vocabulary becomes it."


def test_scrolling_lists_more_built_tokens(qtbot, session, pane):
    # 300 tokens are built from "a".
    pairs = [[97, other] for other in range(256)] + [[other, 97] for other in range(44)]
    session.runs.add_tokenizer(Tokenizer(np.array(pairs, np.int32)), "wide")
    session.view.look_at(97)
    assert pane.built.text() == "Built from it: 300 tokens"
    assert len(pane.chips.chips) < 300
    pane.chips.setFocus()
    for _ in range(300):
        qtbot.keyClick(pane.chips, Qt.Key.Key_End)
    assert [chip.id for chip in pane.chips.chips] == list(range(256, 556))
    # What was added is still there when the playhead moves on, and goes when it comes before it.
    session.view.set_playhead(299)
    assert [chip.id for chip in pane.chips.chips] == list(range(256, 555))
    qtbot.keyClick(pane.chips, Qt.Key.Key_End)
    place = pane.chips.place_of(298)
    qtbot.mouseClick(pane.chips.viewport(), Qt.MouseButton.LeftButton, pos=place.center())
    assert session.view.token == 554


def test_the_tree_leads_to_parts_copies_are_of_text_bytes_and_id_and_another_run_empties_the_pane(
    qtbot, session, trained
):
    session.view.look_at(len(session.view.tokenizer) - 1)
    natural = trained.tree.place_of(0).width()
    trained.tree.setFocus()
    qtbot.keyClicks(trained.tree, "++")
    larger = trained.tree.place_of(0).width()
    qtbot.keyClicks(trained.tree, "-")
    assert natural < trained.tree.place_of(0).width() < larger
    qtbot.keyClicks(trained.tree, "0")
    assert trained.tree.place_of(0).width() == natural
    token = len(session.view.tokenizer) - 1
    session.view.look_at(token)
    left, _ = session.view.tokenizer.parts(token)
    place = trained.tree.place_of(1).center().toPoint()
    qtbot.mouseClick(trained.tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert session.view.token == left
    session.view.look_at(256)
    raw = session.view.tokenizer.tokens[256]
    found = []
    for entry in trained.copies.menu().actions():
        entry.trigger()
        found.append(QGuiApplication.clipboard().text())
    assert found == [raw.decode(), raw.hex(" ").upper(), "256"]
    session.view.look_at(97)
    trained.hide()
    session.view.look_at(98)
    assert trained.headline.text() == "a"
    trained.show()
    assert trained.headline.text() == "b"
    session.view.look_at(300)
    session.runs.add_tokenizer(Tokenizer(np.array([[97, 98]], np.int32)), "small")
    assert trained.pages.currentWidget() is trained.empty
    session.view.look_at(300)
    assert trained.pages.currentWidget() is trained.empty
    session.view.look_at(256)
    assert trained.headline.text() == "ab"
    assert trained.facts.text() == "61 62"


@pytest.mark.parametrize(
    ("raw", "label", "means"),
    [
        (b" a\n", "·a↵", ""),
        (b"\x1b", "ESC", "byte 1B: escape"),
        (b"a\x00b", "aNULb", ""),
        (b"\n", "↵", "byte 0A: line feed"),
        (b"\x7f", "DEL", "byte 7F: delete"),
        (b"\xe2", "E2", "byte E2: the first of a 3-byte character"),
        (b"\x80", "80", "byte 80: inside a character, never its first byte"),
        (b"\xff", "FF", "byte FF: never in UTF-8"),
        (b"\xe2\x80", "E2 80", "not UTF-8 alone: it cuts a character"),
        ("é".encode(), "é", "U+00E9 latin small letter e with acute"),
        ("\u200d".encode(), "E2 80 8D", "U+200D zero width joiner"),
        ("\u00a0".encode(), "␣", "U+00A0 no-break space"),
        (b"\r", "←", "byte 0D: carriage return"),
        ("\u0650".encode(), "\u25cc\u0650", "U+0650 arabic kasra"),
    ],
)
def test_every_token_can_be_read(raw, label, means):
    assert token_label(raw) == label
    assert meaning(raw) == means


def test_a_long_label_ends_between_two_graphemes_and_signs_differ_from_text():
    flags = "🇩🇪🇫🇷🇯🇵"
    assert token_label(flags.encode(), 6) == flags
    assert token_label(flags.encode(), 5) == "🇩🇪🇫🇷…"
    assert token_label(flags.encode(), 4) == "🇩🇪…"
    assert segments(" · ".encode()) == [("·", True), ("·", False), ("·", True)]


@at_window()
def test_the_tree_of_the_token_is_saved_as_a_drawing(qtbot, tmp_path, unstyled, window, answers):
    session, action = window.session, window.actions_by_id["export_tree_svg"]
    assert not action.isEnabled()
    session.runs.add_tokenizer(Tokenizer(np.array([[97, 98], [256, 99]], np.int32)), "small")
    session.view.look_at(97)
    assert not action.isEnabled()
    assert action.toolTip() == "No merge makes this token: it has no tree."
    # The drawing does not need the pane to be seen.
    window.token.hide()
    session.view.look_at(257)
    assert action.isEnabled()
    answers.target = tmp_path / "tree.svg"
    action.trigger()
    qtbot.waitUntil(lambda: answers.target.exists() and not session.jobs.running)
    drawing = answers.target.read_text(encoding="utf-8")
    assert "<svg" in drawing
    assert all(f">{label}<" in drawing for label in ("abc", "ab", "a", "b", "c"))
    assert f"small (258 tokens) · TokStudio {__version__}</desc>" in drawing


def test_uses_are_counted_only_of_an_opened_tokenizer_and_in_a_corpus(qtbot, session, pane):
    session.runs.add_tokenizer(Tokenizer(np.array([[97, 98], [256, 99]], np.int32)), "small")
    assert cannot_count_uses(session) == "The corpus is empty."
    session.corpus.add_text("ab abc ab", "three words")
    assert cannot_count_uses(session) is None
    session.view.look_at(256)
    assert "use" not in pane.facts.text()
    session.runs.count_uses()
    qtbot.waitUntil(lambda: "2 uses in three words" in pane.facts.text())
    assert pane.facts.text().endswith("rank 1 of 258")
    session.view.set_playhead(1)
    assert pane.facts.text().endswith("uses were counted after merge 2")


def test_an_unreachable_token_says_why(qtbot, session, pane):
    # "abc" is never made of "ab" and "c", as "bc" comes first.
    merges = np.array([[ord("b"), ord("c")], [ord("a"), ord("b")], [257, ord("c")], [ord("b"), ord(" ")]], np.int32)
    session.runs.add_tokenizer(Tokenizer(merges, pattern="gpt2"), "cut")
    session.view.look_at(258)
    qtbot.waitUntil(lambda: "other merges join its bytes first" in pane.meaning.text())
    session.view.look_at(259)
    assert "the pattern always cuts it" in pane.meaning.text()
    session.view.look_at(256)
    assert "No text" not in pane.meaning.text()
