"""What the Debian package, the desktop and the installer say and bring, apart from the bundle itself."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import configparser
import os
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from tokstudio import __version__

# --- What the Debian package says and brings, apart from the bundle itself --------------------------------------------

ROOT = Path(__file__).resolve().parents[2]


def test_picture_and_homepage_come_from_the_projects_address(debian):
    component = ET.fromstring(debian.metainfo())
    assert component.findtext("url[@type='homepage']") == debian.homepage()
    picture = component.findtext("screenshots/screenshot/image") or ""
    before = f"{debian.homepage()}/raw/v{__version__}/"
    assert picture.startswith(before)
    assert (ROOT / picture.removeprefix(before)).is_file()
    assert "@" not in debian.metainfo()


def test_the_date_is_that_of_the_sources_and_not_of_today(debian, monkeypatch, tmp_path):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    assert debian.changelog().endswith("  Sun, 09 Sep 2001 01:46:40 +0000\n")
    assert 'date="2001-09-09"' in debian.metainfo()
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    monkeypatch.setattr(debian, "ROOT", tmp_path)
    (tmp_path / "CHANGELOG.md").touch()
    os.utime(tmp_path / "CHANGELOG.md", (86_400, 86_400))
    assert debian.date() == 86_400
    for name, value in {"GIT_AUTHOR_DATE": "1100000000 +0200", "GIT_COMMITTER_DATE": "1200000000 +0200"}.items():
        monkeypatch.setenv(name, value)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=A", "-c", "user.email=a@localhost"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    assert debian.date() == 1_200_000_000


def bundle_with(folder, *packages):
    """A bundle of packages that bring no licence."""
    texts = folder / "_internal/tokstudio/resources/licences"
    texts.mkdir(parents=True)
    for file in (ROOT / "resources/licences").iterdir():
        (texts / file.name).write_bytes(file.read_bytes())
    (texts / "system-libraries.txt").write_text("Debian")
    for package in packages:
        (folder / "_internal" / f"{package}.dist-info").mkdir()
    return folder


def test_the_licence_of_every_package_is_there_in_full(debian, tmp_path):
    packages = ("pyside6_essentials-6.11.3", "shiboken6-6.11.3", "tokenizers-0.23.3", "sentencepiece-0.2.2")
    found = dict(debian.licences(bundle_with(tmp_path, *packages)))
    for package in packages[:2]:
        assert "GNU LESSER GENERAL PUBLIC LICENSE" in found[f"{package}: LGPL-3"]
        assert "END OF TERMS AND CONDITIONS" in found[f"{package}: GPL-3"]
    for package in packages[2:]:
        assert "END OF TERMS AND CONDITIONS" in found[f"{package}: Apache-2.0"]


def test_a_package_whose_licence_is_not_known_is_not_packed(debian, system, tmp_path):
    with pytest.raises(system.SetupError, match=r"unknown-1\.0 comes without a licence"):
        list(debian.licences(bundle_with(tmp_path, "unknown-1.0")))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such shell")
def test_what_dpkg_runs_can_be_read_by_the_shell():
    checked = subprocess.run(["sh", "-n", str(ROOT / "packaging/linux/postinst")], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")


# --- What a desktop is told of the program ----------------------------------------------------------------------------

LINUX = ROOT / "packaging" / "linux"


def test_only_types_of_our_own_are_claimed():
    """A desktop may take any program that claims a type as the one that opens it, be it texts of all kinds."""
    entry = configparser.RawConfigParser()
    entry.read(LINUX / "tokstudio.desktop", encoding="utf-8")
    claimed = entry["Desktop Entry"]["MimeType"].rstrip(";").split(";")
    types = ET.parse(LINUX / "tokstudio.xml").getroot()
    defined = [one.get("type") for one in types if one.tag.endswith("mime-type")]
    assert claimed == defined


# --- The script of the installer for Windows, compiled with the programs that are here --------------------------------


@pytest.fixture
def tree(tmp_path):
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
def test_the_installer_has_a_version_of_four_numbers(tree, version, numbers):
    command = ["makensis", "-WX", "-V2", f"-DVERSION={version}", "packaging/windows/tokstudio.nsi"]
    made = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout
    data = (tree / "dist" / f"TokStudio-{version}-setup.exe").read_bytes()
    high, low = struct.unpack_from("<II", data, data.index(struct.pack("<I", 0xFEEF04BD)) + 16)
    assert (high >> 16, high & 0xFFFF, low >> 16, low & 0xFFFF) == numbers
    assert version.encode("utf-16-le") in data


def test_nothing_is_changed_while_a_program_runs():
    script = (ROOT / "packaging/windows/tokstudio.nsi").read_text(encoding="utf-8")
    for section in ("\nSection\n", '\nSection "Uninstall"\n'):
        body = script.partition(section)[2].partition("SectionEnd")[0]
        lines = [line.strip() for line in body.splitlines() if line.strip() and not line.strip().startswith(";")]
        assert lines[:2] == [
            '!insertmacro RequireEnd "tokstudio-window.exe"',
            '!insertmacro RequireEnd "tokstudio.exe"',
        ]
