"""Names and tokens with control characters are escaped on the terminal."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from pathlib import Path

import pytest
from fifty import FIFTY

from tokstudio import Corpus, Trainer, TrainingConfig, cli
from tokstudio.core.base.progress import finish
from tokstudio.core.base.wording import printable
from tokstudio.core.project import Project, ProjectRun, save_work

NAME = "\x1b]0;x\x07a\nb<b>.txt"
SHOWN = r"\x1b]0;x\x07a\nb<b>.txt"
pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        (NAME, SHOWN),
        ("café 走る 😀 👩\u200d👩 a\u202fb\\n.txt", "café 走る 😀 👩\u200d👩 a\u202fb\\n.txt"),
        ("a\u202etxt.exe\x9b\x7f\u2028\udcff", r"a\u202etxt.exe\x9b\x7f\u2028" + "\ufffd"),
    ],
)
def test_only_control_characters_are_escaped(text, safe):
    assert printable(text) == safe


def clean(printed: str) -> bool:
    return "\x1b" not in printed and "\x07" not in printed and "\x9b" not in printed and "\nb<b>" not in printed


@pytest.fixture
def odd(tmp_path):
    path = tmp_path / NAME
    path.write_text(FIFTY)
    return path


def test_commands_escape_hostile_names(odd, tokenizer, tmp_path, capsys):
    odd_folder = tmp_path / "\x1b[2J\nfolder"
    tokens, copy = str(odd_folder), odd.with_name(NAME + ".json")
    copy.write_bytes(Path(tokenizer).read_bytes())
    gone, broken = str(odd) + "gone", tmp_path / f"{NAME}.npy"
    broken.write_text("x")
    wrong = odd.with_name(f"{NAME}.base")
    wrong.write_text("a\n\n")
    characters = ["--base", "characters", "--base-vocabulary", str(wrong)]
    commands = [
        (0, ["train", str(odd), "--vocab-size", "306", "--encoding", "windows-1252", "--export", f"classic={tokens}"]),
        (1, ["train", str(odd), "--vocab-size", "306", "--export", f"huggingface={odd}/mine"]),
        (1, ["train", str(odd), "--vocab-size", "306", *characters]),
        (1, ["train", gone, "--vocab-size", "306"]),
        (2, ["train", str(odd), "--vocab-size", "306", f"--{NAME}"]),
        (2, ["train", str(odd), "--vocab-size", "306", "--export", NAME]),
        (0, ["encode", str(odd), "--tokenizer", tokenizer]),
        (1, ["encode", gone, "--tokenizer", tokenizer]),
        (1, ["encode", "--text", "a", "--tokenizer", gone]),
        (1, ["decode", str(broken), "--tokenizer", tokenizer]),
        (0, ["inspect", str(copy)]),
        (1, ["inspect", str(odd)]),
        (0, ["convert", str(copy), str(odd_folder / NAME), "--format", "classic"]),
    ]
    for code, arguments in commands:
        assert cli.main(arguments) == code, arguments
        printed = capsys.readouterr()
        assert clean(printed.out), arguments
        assert clean(printed.err), arguments
        if code == 1:
            assert printed.err.count("\n") == 1
    assert SHOWN in printed.err


def test_inspect_escapes_control_characters_in_tokens_and_pattern(tmp_path, capsys):
    text, out = tmp_path / "text", tmp_path / "made.json"
    text.write_bytes(b"\x1b]0;x\x07\n" * 50)
    special = ["--special", "\x1b[2J<s>", "--pattern", "[^\x07]+|\x07"]
    assert cli.main(["train", str(text), "--vocab-size", "300", *special, "--export", f"huggingface={out}", "-q"]) == 0
    assert cli.main(["inspect", str(out)]) == 0
    printed = capsys.readouterr().out
    assert clean(printed)
    assert r"\x1b[2J<s>" in printed
    assert r"[^\x07]+" in printed


def test_control_characters_in_a_project_are_escaped(tmp_path, capsys):
    trainer = Trainer(Corpus.from_text(FIFTY), TrainingConfig(vocabulary_size=260))
    for _ in trainer:
        pass
    path = tmp_path / "project.tokstudio"
    finish(save_work(Project(runs=(ProjectRun(NAME, trainer.run), ProjectRun("other", trainer.run))), path))
    assert cli.main(["inspect", str(path)]) == 0
    assert cli.main(["convert", str(path), str(tmp_path / "out"), "--format", "classic"]) == 1
    printed = capsys.readouterr()
    assert clean(printed.out + printed.err)
    assert SHOWN in printed.out
    assert SHOWN in printed.err
