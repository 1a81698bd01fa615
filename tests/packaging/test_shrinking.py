"""What is taken out of a bundle's libraries is used by nothing, and what is left works as before."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from ctypes import CDLL
from pathlib import Path

import PySide6
import pytest

_PROGRAMS = ("as", "ld", "nm", "strip")
pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or not all(map(shutil.which, _PROGRAMS)),
    reason="libraries are shrunk on Linux, with binutils",
)
# What Qt asks ICU: the order of texts, letters of a language, old encodings. Dates and numbers are its own.
_ASKING = """
from PySide6.QtCore import QBuffer, QCollator, QDateTime, QLocale, QStringDecoder, QXmlStreamReader
words = "ä z a ö o Å ch c h d ll l 中 一 國 あ ア file10 file2 é e É i İ ı ñ n я ё е".split()
for name in ("C", "ar", "cs", "da", "de", "es", "fr_CA", "ja", "ko", "pl", "sv", "th", "tr", "zh_CN", "zh_TW"):
    locale, order = QLocale(name), QCollator(QLocale(name))
    order.setNumericMode(True)
    print(name, *sorted(words, key=order.sortKey), *map(order.compare, words, words[1:]))
    when = locale.toString(QDateTime.fromSecsSinceEpoch(0), QLocale.FormatType.ShortFormat)
    print(locale.toUpper("iıßéя"), locale.toLower("IİΣ"), when, locale.toCurrencyString(12.5))
for name in QStringDecoder.availableCodecs():
    head = f"<?xml version='1.0' encoding='{name}'?><a>"
    buffer = QBuffer()
    buffer.setData(head.encode() + b"abc\\xe4\\xf6\\xa4\\xa1</a>")
    buffer.open(QBuffer.OpenModeFlag.ReadOnly)
    reader = QXmlStreamReader(buffer)
    reader.readNextStartElement()
    print(name, repr(reader.readElementText()), reader.errorString())
"""


def _told_by_qt(folder=""):
    """What Qt makes of texts, with the libraries of a folder before its own, and the file of ICU that it loaded."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder), "PYTHONIOENCODING": "utf-8"}
    loaded = "print(next(line.split()[-1] for line in open('/proc/self/maps') if 'libicudata' in line))"
    command = [sys.executable, "-c", f"{_ASKING}\n{loaded}"]
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=True)
    *told, library = done.stdout.splitlines()
    return told, Path(library)


def test_qt_orders_and_decodes_with_the_tables_that_are_left_as_with_all(shrinking, tmp_path):
    before, original = _told_by_qt()
    assert original.is_relative_to(Path(PySide6.__file__).resolve().parent)
    shorter = tmp_path / original.name
    shutil.copyfile(original, shorter)
    shrinking.shrink_tables(shorter)
    assert shorter.stat().st_size < original.stat().st_size / 2
    after, library = _told_by_qt(tmp_path)
    assert library == shorter
    assert after == before
    assert len(before) > 200
    assert any("'abcäö¤¡'" in line for line in before)


def test_other_data_than_those_of_icu_are_refused(shrinking, system):
    with pytest.raises(system.SetupError, match="a format that"):
        shrinking.without_tables(bytes(64))


@pytest.fixture
def library(tmp_path):
    """Makes a library that has a function, may call another and needs others."""

    def make(name, function, *needs, calls=""):
        source, compiled, file = (tmp_path / f"{name}.{kind}" for kind in ("s", "o", "so"))
        called = f".quad {calls}\n" if calls else ""
        source.write_text(f".globl {function}\n.type {function}, %function\n{function}:\n.quad 0\n.data\n{called}")
        subprocess.run(["as", "-o", str(compiled), str(source)], check=True)
        options = ["-shared", "--no-as-needed", "-rpath", "$ORIGIN", "-soname", file.name, *map(str, needs)]
        subprocess.run(["ld", *options, "-o", str(file), str(compiled)], check=True)
        return file

    return make


def _needs(file):
    """The libraries that one asks for."""
    told = subprocess.run(["ldd", str(file)], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in told.splitlines() if "=>" in line]


def test_a_library_that_nothing_uses_goes_and_is_asked_for_no_more(shrinking, library, tmp_path):
    used, unused = library("libused", "used"), library("libunused", "unused")
    user = library("libuser", "user", unused, used, calls="used")
    assert _needs(user) == ["libunused.so", "libused.so"]
    (tmp_path / "libunused.so.1").symlink_to(unused)
    untouched = used.read_bytes()
    shrinking.leave_out(tmp_path, ("libunused",))
    assert sorted(file.name for file in tmp_path.glob("*.so*")) == ["libused.so", "libuser.so"]
    assert _needs(user) == ["libused.so"]
    assert used.read_bytes() == untouched
    assert CDLL(str(user)).user


def test_a_library_that_is_used_stays_and_the_user_is_named(shrinking, system, library, tmp_path):
    used = library("libused", "used")
    user = library("libuser", "user", used, calls="used")
    before = {file: file.read_bytes() for file in (used, user)}
    with pytest.raises(system.SetupError, match=r"libuser\.so uses used of a library"):
        shrinking.leave_out(tmp_path, ("libused",))
    assert {file: file.read_bytes() for file in (used, user)} == before


def test_a_library_of_another_kind_is_refused(shrinking, system, tmp_path):
    (tmp_path / "lib.so").write_bytes(b"\x7fELF\x01\x01" + bytes(64))
    with pytest.raises(system.SetupError, match="of a kind that"):
        shrinking.leave_out(tmp_path, ("libunused",))
