"""The script of the installer for Windows, compiled with the programs that are here."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What the script asks for, with programs that are empty."""
    for name in ("packaging/windows/tokstudio.nsi", "LICENSE"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    for name in ("tokstudio.exe", "tokstudio-window.exe", "_internal/library.dll"):
        (tmp_path / "dist/tokstudio" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "dist/tokstudio" / name).touch()
    (tmp_path / "build/icons").mkdir(parents=True)
    image = QImage(16, 16, QImage.Format.Format_ARGB32)
    image.fill(0)
    assert image.save(str(tmp_path / "build/icons/tokstudio.ico"))
    return tmp_path


@pytest.mark.skipif(shutil.which("makensis") is None, reason="makensis is not here")
@pytest.mark.parametrize(
    ("version", "numbers"),
    [
        ("0.1.0", (0, 1, 0, 0)),
        ("0.2.0rc1", (0, 2, 0, 0)),
        ("1.2.3a4", (1, 2, 3, 0)),
        ("1.0.12b2", (1, 0, 12, 0)),
        ("1.2.3.dev4", (1, 2, 3, 0)),
        ("0.1.7.post1", (0, 1, 7, 0)),
        ("1.0.7+local", (1, 0, 7, 0)),
    ],
)
def test_the_installer_has_a_version_of_four_numbers(tree: Path, version: str, numbers: tuple[int, ...]) -> None:
    command = ["makensis", "-WX", "-V2", f"-DVERSION={version}", "packaging/windows/tokstudio.nsi"]
    made = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout
    data = (tree / "dist" / f"TokStudio-{version}-setup.exe").read_bytes()
    high, low = struct.unpack_from("<II", data, data.index(struct.pack("<I", 0xFEEF04BD)) + 16)
    assert (high >> 16, high & 0xFFFF, low >> 16, low & 0xFFFF) == numbers
    assert version.encode("utf-16-le") in data


def test_nothing_is_changed_while_a_program_runs() -> None:
    script = (ROOT / "packaging/windows/tokstudio.nsi").read_text(encoding="utf-8")
    for section in ("\nSection\n", '\nSection "Uninstall"\n'):
        body = script.partition(section)[2].partition("SectionEnd")[0]
        lines = [line.strip() for line in body.splitlines() if line.strip() and not line.strip().startswith(";")]
        assert lines[:2] == [
            '!insertmacro RequireEnd "tokstudio-window.exe"',
            '!insertmacro RequireEnd "tokstudio.exe"',
        ]
