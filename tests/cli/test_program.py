"""The command line as a process: its streams, whatever they are connected to."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.fifty import FIFTY
from tokstudio import Corpus, TrainingConfig, __version__, cli, train
from tokstudio.core.base.progress import finish
from tokstudio.core.base.wording import printable
from tokstudio.core.project import Project, ProjectRun, save_work


def test_the_module_is_the_command():
    printed = subprocess.check_output([sys.executable, "-m", "tokstudio", "--version"], timeout=120)
    assert printed.decode().strip() == f"tokstudio {__version__}"


@pytest.mark.parametrize("export", ["", "--export huggingface=whole.json"])
def test_a_closed_pipe_is_not_an_error(tmp_path, monkeypatch, learn, export):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:  # at the end, as when Python ends, it is flushed again
        monkeypatch.setattr(sys, "stdout", closed)
        said = learn(0, "--print-merges", export).err
    assert "rror" not in said
    assert ("Exported " in said) == (tmp_path / "whole.json").exists() == bool(export)


@pytest.mark.parametrize("json_too", ["", "--json"])
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("diff tokenizer.json other.json", 1),
        ("diff tokenizer.json tokenizer.json", 0),
        ("diff tokenizer.json missing.json", 1),
        ("lint tokenizer.json", 1),
        ("check merges.txt --corpus fifty.txt --vocab-size 306", 1),
    ],
)
def test_a_closed_pipe_changes_no_verdict(tokenizer, text, write, monkeypatch, run, command, code, json_too):
    run(0, f"train {text} --vocab-size 300 --export huggingface=other.json")
    write("tokenizer_config.json", json.dumps({"eos_token": "<|stop|>"}))
    write("merges.txt", "#version: 0.2\nx y\n")
    run(code, command, json_too)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        run(code, command, json_too)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize(
    ("arguments", "unbuffered"),
    [
        (["--help"], ""),
        (["--version"], "1"),
        # One command stands for all: they print in the same way.
        (["train", "--vocab-size", "306", "--print-merges", "-q"], ""),
    ],
)
def test_a_full_disk_is_reported_once_and_no_training_is_lost(text, tmp_path, arguments, unbuffered):
    out = tmp_path / "made.json"
    files = [text, "--export", f"huggingface={out}"] if "train" in arguments else []
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "tokstudio", *arguments, *files]
        environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=120, env=environment)
    assert done.returncode == 1
    assert re.fullmatch(rb"tokstudio: standard output: it cannot be written \(.*\)\.\n", done.stderr)
    assert "train" not in arguments or len(json.loads(out.read_bytes())["model"]["merges"]) == 50


def test_output_is_utf8_in_any_locale(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert cli.main(["train", "büch.txt", "--vocab-size", "300"]) == 1
    assert sys.stderr.buffer.getvalue().decode() == "tokstudio: büch.txt: no such file or folder.\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit")
@pytest.mark.parametrize(("command", "unbuffered"), [("encode", ""), ("decode", "1")])
def test_truncated_output_is_an_error(tokenizer, tmp_path, command, unbuffered):
    # A file that may not grow further takes a part of what is written, as a disk that is nearly full.
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100));"
        "from tokstudio.__main__ import main; sys.exit(main())"
    )
    words = {
        "encode": ["encode", "--tokenizer", tokenizer, "--text", "nothing of it " * 5],
        "decode": ["decode", "--tokenizer", tokenizer, "--text", "104 " * 150],
    }[command]
    out = tmp_path / "out"
    with out.open("wb") as file:
        # What is not warmed up may not be written to a cache that cannot grow either.
        environment = os.environ | {"PYTHONUNBUFFERED": unbuffered, "PYTHONDONTWRITEBYTECODE": "1"}
        whole = [sys.executable, "-c", limited, *words]
        done = subprocess.run(whole, stdout=file, stderr=subprocess.PIPE, timeout=300, env=environment)
    assert out.stat().st_size == 100
    assert done.returncode == 1
    assert re.fullmatch(rb"tokstudio: standard output: it cannot be written \(.*\)\.\n", done.stderr)


class Piecemeal(io.RawIOBase):
    """A stream that takes a few bytes at a time, and none once it has so many."""

    def __init__(self, room):
        self.room, self.taken = room, b""

    def writable(self):
        return True

    def write(self, data):
        part = bytes(data)[: min(7, self.room - len(self.taken))]
        if not part:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.taken += part
        return len(part)


@pytest.mark.parametrize("room", [10_000, 20])
def test_partial_writes_are_continued(tokenizer, monkeypatch, capsys, room):
    raw = Piecemeal(room)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, write_through=True))
    code = cli.main(["decode", "--tokenizer", tokenizer, "--text", "104 " * 150])
    assert (code, len(raw.taken)) == ((0, 150) if room > 150 else (1, 20))
    assert ("cannot be written" in capsys.readouterr().err) == (code == 1)


NAME = "\x1b]0;x\x07a\nb<b>.txt"
SHOWN = r"\x1b]0;x\x07a\nb<b>.txt"
posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")


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


def test_nothing_in_the_current_folder_is_run(tmp_path):
    """Python's `-m` looks for modules there first."""
    root = Path(cli.__file__).parents[2]
    for name in ("json", "regex", "numpy", "signal", "subprocess", "pyarrow"):
        (tmp_path / f"{name}.py").write_text("open('was_run', 'w').close()")
    (tmp_path / "text.txt").write_text("the cat sat on the mat")
    command = [sys.executable, "-m", "tokstudio", "train", "text.txt", "--vocab-size", "257", "--quiet"]
    ran = subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(root)}, capture_output=True)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert not (tmp_path / "was_run").exists()


@posix
def test_commands_escape_hostile_names(tokenizer, write, tmp_path, run):
    odd, folder = write(NAME, FIFTY), tmp_path / "\x1b[2J\nfolder"
    copy, broken = write(f"{NAME}.json", Path(tokenizer).read_bytes()), write(f"{NAME}.npy", "x")
    wrong, gone = write(f"{NAME}.base", "a\n\n"), tmp_path / f"{NAME}gone"
    train = ["train", odd, "--vocab-size", 306]
    commands = [
        (0, [*train, "--encoding", "windows-1252", "--export", f"classic={folder}"]),
        (1, [*train, "--export", f"huggingface={odd}/mine"]),
        (1, [*train, "--base", "characters", "--base-vocabulary", wrong]),
        (1, ["train", gone, "--vocab-size", 306]),
        (2, [*train, f"--{NAME}"]),
        (2, [*train, "--export", NAME]),
        (0, ["encode", odd, "--tokenizer", tokenizer]),
        (1, ["encode", gone, "--tokenizer", tokenizer]),
        (1, ["encode", "--text", "a", "--tokenizer", gone]),
        (1, ["decode", broken, "--tokenizer", tokenizer]),
        (0, ["inspect", copy]),
        (1, ["inspect", odd]),
        (0, ["convert", copy, folder / NAME, "--format", "classic"]),
    ]
    for code, words in commands:
        printed = run(code, words)
        assert clean(printed.out + printed.err), words
        assert code != 1 or printed.err.count("\n") == 1
    assert SHOWN in printed.err


@posix
def test_inspect_escapes_control_characters_in_tokens_and_pattern(write, run):
    write("text", b"\x1b]0;x\x07\n" * 50)
    odd = ["--special", "\x1b[2J<s>", "--pattern", "[^\x07]+|\x07"]
    run(0, "train text --vocab-size 300", odd, "--export huggingface=made.json -q")
    printed = run(0, "inspect made.json").out
    assert clean(printed)
    assert r"\x1b[2J<s>" in printed
    assert r"[^\x07]+" in printed


@posix
def test_control_characters_in_a_project_are_escaped(tmp_path, run):
    made = train(Corpus.from_text(FIFTY), TrainingConfig(vocabulary_size=260)).run
    project = Project(runs=(ProjectRun(NAME, made), ProjectRun("other", made)))
    finish(save_work(project, tmp_path / "project.tokstudio"))
    shown, said = run(0, "inspect project.tokstudio").out, run(1, "convert project.tokstudio out --format classic").err
    assert clean(shown + said)
    assert (SHOWN in shown, SHOWN in said) == (True, True)
