"""The trial of the bundle finds what is wrong. `dev.py test` builds a bundle and runs the trial itself."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage

ROOT = Path(__file__).resolve().parents[2]
_GOOD = ["INFO tokstudio: TokStudio 1 (bundle), Linux", "INFO tokstudio: The window answers."]


def test_a_log_is_good_with_its_start_and_without_errors(smoke, tmp_path):
    log = tmp_path / "log"
    log.write_text("\n".join(_GOOD))
    smoke.check_log(log, "Linux")


@pytest.mark.parametrize("lines", [[], _GOOD[1:], _GOOD[:1], [*_GOOD, "12:00 ERROR tokstudio: Nobody caught this"]])
def test_a_log_that_lacks_something_or_has_an_error_is_wrong(smoke, tmp_path, lines):
    log = tmp_path / "log"
    log.write_text("\n".join(lines))
    with pytest.raises(smoke.Wrong):
        smoke.check_log(log)


def test_only_a_picture_with_a_window_in_it_is_good(smoke, tmp_path):
    smoke.check_picture(ROOT / "resources" / "pictures" / "window.png", 1440, 900)
    empty = QImage(144, 90, QImage.Format.Format_RGB32)
    empty.fill(QColor("white"))
    empty.save(str(tmp_path / "empty.png"))
    for name, said in (("empty", "the picture lacks"), ("none", r"the picture is \(0, 0\)")):
        with pytest.raises(smoke.Wrong, match=said):
            smoke.check_picture(tmp_path / f"{name}.png", 144, 90)


def test_a_program_that_fails_is_wrong_and_ends_the_trial(smoke, tmp_path, capsys):
    with pytest.raises(smoke.Wrong, match="ended with 2: "):
        smoke.Bundle(Path(sys.executable), tmp_path).run("--nonsense")
    assert smoke.main([sys.executable]) == 1
    assert "WRONG: " in capsys.readouterr().out


def _program(folder, body):
    """A program that is a Python script."""
    file = folder / "program"
    file.write_text(f"#!{sys.executable}\n{body}\n", encoding="utf-8")
    file.chmod(0o700)
    return file


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no program there")
def test_a_program_that_does_not_end_is_wrong_and_killed(smoke, monkeypatch, capsys, tmp_path):
    program = _program(tmp_path, "import time\ntime.sleep(600)")
    monkeypatch.setattr(smoke, "PATIENCE", 0.1)
    processes: list[subprocess.Popen[bytes]] = []

    class Noted(smoke.Bundle):
        def started(self, *arguments, **variables):
            processes.append(super().started(*arguments, **variables))
            return processes[-1]

    for attempt in (smoke.try_own_process, smoke.try_no_display):
        with pytest.raises(smoke.Wrong, match="did not end within"):
            attempt(Noted(program, tmp_path))
        assert processes[-1].returncode is not None
    # A start that does not go when it is told to.
    stubborn = subprocess.TimeoutExpired("program", 2)
    monkeypatch.setattr(smoke, "try_command_line", lambda bundle: (_ for _ in ()).throw(stubborn))
    assert smoke.main([str(program)]) == 1
    assert "WRONG: Command 'program' timed out" in capsys.readouterr().out


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no program there")
def test_a_program_that_is_tried_gets_nothing_from_the_terminal(smoke, monkeypatch, tmp_path):
    monkeypatch.setattr(smoke, "PATIENCE", 20)
    reader, writer = os.pipe()  # a terminal at which nobody types
    before = os.dup(0)
    os.dup2(reader, 0)
    try:
        program = _program(tmp_path, "import sys\nprint(len(sys.stdin.read()))")
        assert smoke.Bundle(program, tmp_path).run().strip() == "0"
    finally:
        os.dup2(before, 0)
        for descriptor in (before, reader, writer):
            os.close(descriptor)


def test_icons_of_windows_and_macos_say_where_their_pictures_are(icons):
    small, large = icons.draw(16), icons.draw(256)
    made = icons.ico({16: small, 256: large})
    assert made[:6] == bytes([0, 0, 1, 0, 2, 0])
    assert made.endswith(small + large)
    for entry, picture in enumerate((small, large)):
        size, place = (int.from_bytes(made[6 + 16 * entry + at : 10 + 16 * entry + at], "little") for at in (8, 12))
        assert made[place : place + size] == picture
    assert QImage.fromData(made, "ICO").width() in (16, 256)
    apple = icons.icns({b"ic08": large})
    assert apple[:4] == b"icns"
    assert int.from_bytes(apple[4:8], "big") == len(apple)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is for Linux")
def test_a_bundle_that_has_grown_is_wrong(smoke, monkeypatch, tmp_path):
    bundle = smoke.Bundle(_program(tmp_path, "pass"), tmp_path / "home")
    smoke.try_size(bundle)
    (tmp_path / "library.so").write_bytes(bytes(1_100_000))
    monkeypatch.setattr(smoke, "LARGEST", 1)
    with pytest.raises(smoke.Wrong, match="the bundle has 1 MB, and may have 1: look for what has come into it"):
        smoke.try_size(bundle)
