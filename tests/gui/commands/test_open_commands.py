"""Tokenizers opened by menu, by dropping, from the command line and from the list of recent files."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
import tokenizers
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from tests.gui.person import TEXT, Answers, asked_to_import, at_window, drop
from tokstudio import Corpus, Tokenizer, TrainingConfig, load, save, train
from tokstudio.core.base.progress import finish
from tokstudio.core.model.alphabet import NEVER_IN_TEXT
from tokstudio.gui.commands.open_commands import open_work, sort_work
from tokstudio.gui.panes.configure.pattern_field import PatternDialog
from tokstudio.gui.window.main_window import MainWindow

pytestmark = pytest.mark.usefixtures("unstyled")

SENTENCE = "the cat's hat sat on 1984 mats\n"
BERT = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nwor\n##ld\n"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "ab" * 32 + "\nsize 499723\n"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train(Corpus.from_text(TEXT), TrainingConfig(vocabulary_size=300, pattern="gpt2"))


@pytest.fixture
def ranks(tmp_path, tokenizer) -> Path:
    """A file that does not say how it splits text, and one that nobody knows."""
    path = tmp_path / "my ranks.tiktoken"
    lines = [base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokenizer.tokens)]
    path.write_bytes(b"".join(lines))
    return path


def choose(window: MainWindow, answers: Answers, *files: Path) -> None:
    """Opens tokenizers by the menu."""
    answers.files = [*files]
    window.actions_by_id["open_tokenizer"].trigger()


def question(qtbot, window: MainWindow) -> PatternDialog:
    """Waits until the window asks how a file splits text."""
    asked: list[PatternDialog] = []

    def is_there() -> bool:
        asked[:] = [dialog for dialog in window.findChildren(PatternDialog) if dialog.isVisible()]
        return bool(asked)

    qtbot.waitUntil(is_there)
    return asked[0]


def opened(qtbot, window: MainWindow, count: int = 1) -> None:
    qtbot.waitUntil(lambda: len(window.session.runs.all) == count)


def at_rest(qtbot, window: MainWindow) -> None:
    qtbot.waitUntil(lambda: not window.session.jobs.running)


@pytest.fixture
def folder(tmp_path, tokenizer) -> Path:
    save(tokenizer, tmp_path / "model")
    return tmp_path / "model"


@at_window("{folder}")
def test_a_folder_of_the_command_line_keeps_its_pattern_and_shows_gpt2_s_characters_on_request(
    qtbot, folder, tokenizer, window
):
    opened(qtbot, window)
    session = window.session
    assert session.runs.active.name == "model"
    assert session.corpus.sources == ()
    change = window.actions_by_id["change_pattern"]
    assert not change.isEnabled()
    assert change.toolTip() == "The tokenizer's files already say how it splits text."
    the = tokenizer.encode(" the")[0]
    session.view.set_text("on the mat\né")
    session.view.look_at(the)
    at_rest(qtbot, window)
    assert window.token.headline.text() == "·the"
    window.actions_by_id["byte_level_characters"].trigger()
    assert window.token.headline.text() == "Ġthe"
    qtbot.waitUntil(lambda: window.text.encode.view.table.data.decode() == "onĠtheĠmatĊÃ©")
    merges = window.merges.model
    row = merges.row_of_token(the)
    assert merges.cell(row, 1).text == "Ġthe"
    assert merges.index(row, 1).data(Qt.ItemDataRole.ToolTipRole).startswith("Ġthe\n")
    window.vocabulary.raise_()
    qtbot.waitUntil(lambda: window.vocabulary.seen)
    vocabulary = window.vocabulary.model
    assert vocabulary.cell(vocabulary.row_of_token(the), 1).text == "Ġthe"
    # They can be looked for as they are written.
    window.vocabulary.filter.insert("Ġthe")
    qtbot.waitUntil(lambda: vocabulary.rowCount() == 1)
    window.actions_by_id["byte_level_characters"].trigger()
    assert vocabulary.cell(0, 1).text == "·the"
    qtbot.waitUntil(lambda: window.text.encode.view.table.data.decode() == "on the mat\né")


@at_window()
def test_json_that_is_no_tokenizer_can_stay_a_text_and_a_name_need_not_be_text(qtbot, tmp_path, window):
    cases = {'{"merges": "of companies"}': "which column", '["a text"]': "whether it is text", "no json": "nothing"}
    corpus = window.session.corpus
    for number, (content, asked) in enumerate(cases.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "data.json").write_text(content)
        (folder / "merges.txt").write_text("Chapter 1\nThe merges of rivers.\n")
        drop(window, folder / "data.json", folder / "merges.txt")
        if asked == "which column":
            asked_to_import(qtbot, window).plain_button.click()
        elif asked == "whether it is text":
            qtbot.waitUntil(lambda: len(corpus.sources) == 1)
            window.corpus.problems.textAsked.emit(folder / "data.json")
        qtbot.waitUntil(lambda: len(corpus.sources) == 2)
        assert window.session.runs.all == [], content
        assert content.encode() in [source.data.tobytes() for source in corpus.sources]
        at_rest(qtbot, window)
        corpus.set_sources(())
    if sys.platform in ("win32", "darwin"):
        return  # names are always text there
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.txt"))
    path.write_text(TEXT)
    drop(window, path)
    qtbot.waitUntil(lambda: len(corpus.sources) == 1)
    assert corpus.sources[0].path == path
    at_rest(qtbot, window)
    window.recent.menu.aboutToShow.emit()


@at_window()
def test_files_that_do_not_say_their_pattern_are_asked_about_one_after_the_other(
    qtbot, ranks, window, answers, tmp_path
):
    session = window.session
    session.view.set_text(SENTENCE)
    choose(window, answers, ranks)
    dialog = question(qtbot, window)
    assert dialog.field.value == "gpt2"
    assert dialog.field.choice.combo.hasFocus()
    for button in dialog.findChildren(QPushButton):
        assert button.focusPolicy() & Qt.FocusPolicy.TabFocus
    # How it would split the text that is looked at.
    told = "9 pre-tokens in the text of the Text pane."
    qtbot.waitUntil(lambda: dialog.field.caption.text() == told)
    assert dialog.field.preview.isVisible()
    assert session.runs.all == []
    combo = dialog.field.choice.combo
    qtbot.keyClick(combo, Qt.Key.Key_Down)
    assert dialog.field.value == "cl100k"
    qtbot.mouseClick(dialog.accept_button, Qt.MouseButton.LeftButton)
    opened(qtbot, window)
    assert session.runs.active.tokenizer.encode(SENTENCE) == load(ranks, "cl100k").encode(SENTENCE)
    # What was said last is offered next.
    choose(window, answers, ranks)
    dialog = question(qtbot, window)
    assert dialog.field.value == "cl100k"
    qtbot.keyClick(dialog.field.choice.combo, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not dialog.isVisible())
    at_rest(qtbot, window)
    assert len(session.runs.all) == 1
    window.session.runs.replace_all([])
    choose(window, answers, ranks)
    dialog = question(qtbot, window)
    combo = dialog.field.choice.combo
    qtbot.keyClick(combo, Qt.Key.Key_End)
    edit = dialog.field.own.edit
    edit.setFocus()
    edit.selectAll()
    qtbot.keyClicks(edit, "(")
    assert not dialog.accept_button.isEnabled()
    assert "missing )" in dialog.field.own.note.text()
    edit.selectAll()
    qtbot.keyClicks(edit, r"\w+")
    # It drops what stands between words.
    qtbot.waitUntil(lambda: bool(dialog.field.problem))
    assert not dialog.accept_button.isEnabled()
    assert dialog.field.own.note.text() == dialog.field.problem
    edit.selectAll()
    qtbot.keyClicks(edit, r"\w+|\W")
    qtbot.waitUntil(dialog.accept_button.isEnabled)
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    opened(qtbot, window)
    assert window.session.runs.active.tokenizer.pattern == r"\w+|\W"
    window.session.runs.replace_all([])
    other = tmp_path / "other.tiktoken"
    other.write_bytes(ranks.read_bytes())
    drop(window, ranks, other)
    first = question(qtbot, window)
    at_rest(qtbot, window)
    assert len([dialog for dialog in window.findChildren(PatternDialog) if dialog.isVisible()]) == 1
    first.cancel.click()
    second = question(qtbot, window)
    assert first.windowTitle() == second.windowTitle() == "Open Tokenizer"
    second.accept_button.click()
    opened(qtbot, window)
    at_rest(qtbot, window)
    assert len(window.session.runs.all) == 1
    window.session.runs.replace_all([])
    window.opening.open_any([ranks])
    question(qtbot, window).accept_button.click()
    opened(qtbot, window)
    run = session.runs.active
    ranks.unlink()
    window.actions_by_id["change_pattern"].trigger()
    dialog = question(qtbot, window)
    qtbot.keyClick(dialog.field.choice.combo, Qt.Key.Key_Up)
    dialog.accept_button.click()
    qtbot.waitUntil(lambda: session.runs.active is not run)
    assert session.runs.active.pattern != run.pattern
    assert len(session.runs.all) == 1


@at_window()
def test_a_classic_pair_is_one_tokenizer_and_not_split_until_one_says_how(qtbot, tmp_path, tokenizer, window, answers):
    save(tokenizer, tmp_path, "classic", accept_loss=True)
    session = window.session
    choose(window, answers, tmp_path / "merges.json", tmp_path / "vocabulary.json")
    opened(qtbot, window)
    at_rest(qtbot, window)
    assert len(session.runs.all) == 1
    session.runs.delete(session.runs.active)
    answers.folder = tmp_path
    told = []
    session.jobs.told.connect(told.append)
    window.actions_by_id["open_tokenizer_folder"].trigger()
    opened(qtbot, window)
    assert session.runs.active.pattern == "none"
    assert session.runs.active.name == tmp_path.name
    assert any("Change Pattern" in sentence for sentence in told)
    session.runs.rename(session.runs.active, "Mine")
    session.view.set_text(SENTENCE)
    session.view.set_playhead(7)
    window.actions_by_id["change_pattern"].trigger()
    dialog = question(qtbot, window)
    assert dialog.field.value == "none"
    combo = dialog.field.choice.combo
    while dialog.field.value != "gpt2":
        qtbot.keyClick(combo, Qt.Key.Key_Down)
    dialog.accept_button.click()
    qtbot.waitUntil(lambda: session.runs.active.pattern == "gpt2")
    # It is the same one still.
    assert [(run.name, session.view.playhead) for run in session.runs.all] == [("Mine", 7)]
    expected = tokenizer.at(7).encode(SENTENCE)
    at_rest(qtbot, window)
    assert window.text.encode.encoded.ids.tolist() == expected


def test_files_that_were_remembered_before_tokenizers_were_are_texts(tmp_path):
    from tokstudio.gui.session.preferences import Preferences

    preferences = Preferences(tmp_path / "settings.ini")
    preferences.set("recent", "/home/me/a.txt\n/home/me/b.txt")
    preferences.add_recent([tmp_path / "b.json"], "tokenizer")
    assert [(path.name, kind) for path, kind in preferences.recent] == [
        ("b.json", "tokenizer"),
        ("a.txt", "text"),
        ("b.txt", "text"),
    ]


@at_window()
def test_opening_can_be_cancelled_leaves_a_training_alone_and_recent_files_are_opened_as_what_they_are(
    qtbot, tmp_path, tokenizer, window
):
    save(tokenizer, tmp_path / "mine.json")
    session = window.session
    at_rest(qtbot, window)
    window.opening.load_tokenizer(tmp_path / "mine.json")
    assert [job.quiet for job in session.jobs.running] == [False]
    window.status.cancel.click()
    at_rest(qtbot, window)
    assert session.runs.all == []
    save(tokenizer, tmp_path / "mine.json")
    (tmp_path / "book.txt").write_text(TEXT)
    (tmp_path / "data.json").write_text(json.dumps({"text": TEXT}))
    drop(window, tmp_path / "book.txt", tmp_path / "mine.json")
    opened(qtbot, window)
    qtbot.waitUntil(lambda: len(window.session.corpus.sources) == 1)
    assert window.session.runs.active.name == "mine.json"
    assert window.session.runs.active.tokenizer.encode(SENTENCE) == tokenizer.encode(SENTENCE)
    assert window.session.corpus.sources[0].name == "book.txt"
    window.session.corpus.set_sources(())
    drop(window, tmp_path / "data.json")
    asked_to_import(qtbot, window).import_button.click()
    at_rest(qtbot, window)
    menu = window.recent.menu
    menu.aboutToShow.emit()
    listed = {action.text(): action for action in menu.actions()}
    assert listed[str(tmp_path / "mine.json")].statusTip() == "Open this tokenizer."
    assert listed[str(tmp_path / "data.json")].statusTip() == "Add this to the corpus."
    listed[str(tmp_path / "mine.json")].trigger()
    opened(qtbot, window, 2)
    menu.aboutToShow.emit()
    next(action for action in menu.actions() if "data" in action.text()).trigger()
    qtbot.waitUntil(lambda: len(window.session.corpus.sources) == 2)
    assert len(window.session.runs.all) == 2
    # While a run trains, another is listed and leaves it alone.
    session.training.step()
    qtbot.waitUntil(lambda: session.training.state == "paused")
    run = session.runs.active
    told = []
    session.jobs.told.connect(told.append)
    window.opening.open_any([tmp_path / "mine.json"])
    opened(qtbot, window, 4)
    assert session.runs.active is run
    assert any("It is listed in Tokenizers." in sentence for sentence in told)
    session.training.stop()
    qtbot.waitUntil(lambda: session.training.current is None)


def of_its_library(folder: Path) -> Path:
    """A tokenizer that makes all letters small, which TokStudio leaves to the library."""
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.normalizer = tokenizers.normalizers.Lowercase()
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<|end|>"], initial_alphabet=alphabet, show_progress=False
    )
    bpe.train_from_iterator([TEXT], trainer)
    path = folder / "tokenizer.json"
    bpe.save(str(path))
    return path


@at_window()
def test_odd_tokens_are_told_of_and_a_tokenizer_of_its_library_says_why_it_has_no_playhead(
    qtbot, ranks, tmp_path, window, answers
):
    session, told = window.session, []
    # An empty token.
    size = len(ranks.read_bytes().splitlines())
    ranks.write_bytes(ranks.read_bytes() + b"= %d\n" % size)
    ranks.with_suffix(".json").write_text(json.dumps({"pattern": r"[\s\S]+", "special_tokens": {}, "version": 1}))
    remark = f"Id {size} of its file is the empty token: no text becomes it, and it is decoded to nothing."
    session.jobs.told.connect(told.append)
    choose(window, answers, ranks)
    opened(qtbot, window)
    at_rest(qtbot, window)
    assert told[-1].endswith(remark)
    rows = window.runs.table.model()
    tips = [rows.index(0, column).data(Qt.ItemDataRole.ToolTipRole) for column in range(rows.columnCount())]
    assert any(remark in tip for tip in tips if tip)
    session.view.look_at(size)
    assert window.token.origin.text().startswith(f"id {size}")
    session.runs.replace_all([])

    # Tokens that no merge makes.
    odd = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"cab": 258, b"xyz": 259}
    path = tmp_path / "odd.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in odd.items()))
    window.opening.open_any([path])
    question(qtbot, window).accept_button.click()
    opened(qtbot, window)
    assert window.merges.derived.text() == "Merges derived from the file's ranks."
    assert window.merges.derived.isVisible()
    window.vocabulary.raise_()
    words = window.vocabulary.panel.boxes["Whole words"]
    words.click()
    model = window.vocabulary.model
    qtbot.waitUntil(lambda: [model.token_at(row) for row in range(model.rowCount())] == [259])
    session.view.look_at(259)
    assert window.token.meaning.text() == "No merge makes this token: only a whole pre-token becomes it."
    words.click()
    session.runs.replace_all([])

    # A tokenizer that is left to its library.
    path = of_its_library(tmp_path)
    theirs = tokenizers.Tokenizer.from_file(str(path))
    page = window.text.encode
    text = "The CAT sat, Ça va? 😀"
    window.opening.open_any([path])
    opened(qtbot, window)
    session.view.set_text(text)
    expected = theirs.encode(text, add_special_tokens=False).ids
    qtbot.waitUntil(lambda: page.encoded is not None and page.encoded.ids.tolist() == expected)
    # What is drawn is the text itself, though the tokens spell small letters.
    assert page.view.table.data.decode() == text
    assert page.state[1].startswith("differs at byte 0")
    at_rest(qtbot, window)

    reason = session.runs.active.no_playhead
    assert reason.startswith("its normalizer Lowercase changes the text")
    bar = window.compression.bar
    assert not bar.slider.isEnabled()
    assert bar.slider.toolTip() == bar.buttons["previous"].toolTip() == f"No playhead: {reason}."
    assert f"No playhead either: {reason}." in window.compression.opened.label.text()
    assert not window.actions_by_id["previous"].isEnabled()
    qtbot.keyClick(window, Qt.Key.Key_BracketLeft)
    session.view.set_playhead(1)
    assert session.view.playhead == len(session.runs.active)
    assert window.status.currentMessage() == f"The playhead stays at the end: {reason}."

    # Whoever types sees the last of it.
    page.input.clear()
    qtbot.keyClicks(page.input, SENTENCE.strip())
    typed = theirs.encode(SENTENCE.strip(), add_special_tokens=False).ids
    qtbot.waitUntil(lambda: page.encoded is not None and page.encoded.ids.tolist() == typed)
    at_rest(qtbot, window)
    session.runs.replace_all([])

    # A normalizer that leaves a playhead, and a space that is added.
    theirs.normalizer = tokenizers.normalizers.NFC()
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    theirs.save(str(path))
    text = "the cafe\u0301 sat"
    window.opening.open_any([path])
    opened(qtbot, window)
    run = session.runs.active
    assert run.no_playhead is None
    session.view.set_text(text)
    for merges in (len(run), 5, 0):
        session.view.set_playhead(merges)
        expected = run.tokenizer.at(merges).encode(text)
        qtbot.waitUntil(lambda ids=expected: page.encoded is not None and page.encoded.ids.tolist() == ids)
        assert page.view.table.data.decode() == text
    assert expected == list(run.tokenizer.at(0).encode(" the caf\u00e9 sat"))
    session.view.set_playhead(len(run))
    assert run.tokenizer.encode(text) == theirs.encode(text).ids
    window.actions_by_id["step_through_text"].trigger()
    steps = window.text.steps
    qtbot.waitUntil(lambda: steps.stepping is not None)
    assert steps.stepping.steps.data.decode() == " the caf\u00e9 sat"
    at_rest(qtbot, window)


def put(path: Path, content: str, encoding: str = "utf-8") -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content, encoding=encoding)
    return path


def test_files_of_others_are_tokenizers_by_their_content_and_json_of_others_is_not(tmp_path, tokenizer):
    save(tokenizer, tmp_path / "ours.json")
    whole = (tmp_path / "ours.json").read_text(encoding="utf-8")
    lacking, never = json.loads(whole), {chr(byte) for byte in NEVER_IN_TEXT}
    lacking["model"]["vocab"] = {
        token: number for number, token in enumerate(t for t in lacking["model"]["vocab"] if t not in never)
    }
    tokens = [*(bytes([byte]) for byte in range(256)), b"ab"]
    tekken = {
        "config": {
            "pattern": r"\s+|\S+",
            "num_vocab_tokens": 257,
            "default_vocab_size": 258,
            "default_num_special_tokens": 1,
            "version": "v3",
        },
        "vocab": [
            {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
            for rank, token in enumerate(tokens)
        ],
        "special_tokens": [{"rank": 0, "token_str": "<unk>", "is_control": True}],
    }
    contents = {
        "bert/vocab.txt": BERT,
        "named/bert-base-vocab.txt": BERT,
        "xtts/vocab.json": whole,
        "mistral/tekken.json": json.dumps(tekken),
        "olmo/dolma2.json": whole,
        "dropout/tokenizer.json": whole.replace('"dropout": null', '"dropout": 0.1'),
        "neox/tokenizer.json": json.dumps(lacking),
    }
    paths = [put(tmp_path / name, content) for name, content in contents.items()]
    paths += [put(tmp_path / "marked" / "tokenizer.json", whole, "utf-8-sig")]
    paths += [tmp_path / name for name in ("bert", "xtts", "mistral")]
    models = Counter()
    for path in paths:
        assert finish(sort_work([path])) == ((path,), ()), path
        models[finish(open_work(path)).loaded.tokenizer.model] += 1
    assert models == {"WordPiece": 3, "BPE": 8}
    for content in ('{"version": "1.1", "data": []}', '{"model": "T"}'):
        path = put(tmp_path / "texts" / "data.json", content)
        assert finish(sort_work([path])) == ((), (path,)), content


@at_window()
def test_tokenizers_and_pointers_to_files_that_are_dropped_do_not_become_the_corpus(qtbot, tmp_path, window):
    vocabulary = {"h": 0, "i": 1, "h</w>": 2, "i</w>": 3, "hi</w>": 4, "<unk>": 5}
    merges = put(tmp_path / "pair" / "merges.txt", "#version: 0.2\nh i</w>\n")
    put(tmp_path / "pair" / "vocab.json", json.dumps(vocabulary))
    runs, corpus = window.session.runs, window.session.corpus
    for number, path in enumerate((put(tmp_path / "vocab.txt", BERT), merges, tmp_path / "pair")):
        drop(window, path)
        opened(qtbot, window, number + 1)
        at_rest(qtbot, window)
        assert corpus.sources == (), path
    for name in ("tokenizer.json", "tokenizer.model", "a.tiktoken", "vocab.json", "data.jsonl", "book.txt"):
        window.opening.open_any([put(tmp_path / "pointers" / name, POINTER)])

        said = rf"{re.escape(name)}: this is a Git LFS pointer.*git lfs pull"
        qtbot.waitUntil(
            lambda said=said: any(
                re.match(said, text) for text in (window.messages.text.text(), *window.corpus.problems.problems)
            )
        )
        assert corpus.sources == ()
        assert len(runs.all) == 3
    at_rest(qtbot, window)


@at_window()
def test_an_experiment_beside_other_files_is_not_opened_and_no_text(qtbot, window, tmp_path):
    (tmp_path / "experiment.toml").write_text("experiment = 1\n")
    (tmp_path / "notes.toml").write_text("title = 'a text like any other'\n")
    (tmp_path / "book.txt").write_text(TEXT)
    drop(window, *(tmp_path / name for name in ("experiment.toml", "notes.toml", "book.txt")))
    qtbot.waitUntil(lambda: {source.name for source in window.session.corpus.sources} == {"notes.toml", "book.txt"})
    assert window.corpus.problems.problems == ("experiment.toml: an experiment replaces the corpus; open it alone.",)
