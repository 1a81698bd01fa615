"""Makes a Debian package of the bundle with `dpkg-deb`.

The bundle goes to `/usr/lib/tokstudio`, and what a desktop asks for where it looks: the entry, icons, types of files,
AppStream's description.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import time
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

from system import ROOT, SetupError, run_quietly, say

LINUX = ROOT / "packaging" / "linux"
STAGE = ROOT / "build" / "deb"
METAINFO = "org.tokstudio.TokStudio.metainfo.xml"
MAINTAINER = "The TokStudio developers <tokstudio@localhost>"
SUMMARY = "train a byte pair encoding tokenizer on your own text"
DESCRIPTION = """\
 Language models read tokens, not letters: a tokenizer first splits text into
 pieces that it has learned by byte pair encoding. TokStudio trains such a
 tokenizer, shows each step of the training and the merges behind any token,
 and exports files for other libraries, with proof that those encode the
 same.
 .
 It opens and writes the files of Hugging Face, GPT-2, tiktoken, minbpe and
 SentencePiece, in its window and on the command line.
"""
# What the bundle loads from the system, besides the C library, and fonts to write with.
DEPENDS = "libegl1, libgl1, libxcb1, fontconfig-config, fonts-dejavu-core | fonts-noto-core"
RECOMMENDS = "fonts-noto-cjk, fonts-noto-color-emoji"

_LICENCE = re.compile(r"licen[cs]e|copying|notice", re.IGNORECASE)
# What comes under a usual licence and brings no text of it; the GPL is what the LGPL adds to.
USUAL = {
    "pyside6_essentials": ("LGPL-3", "GPL-3"),
    "shiboken6": ("LGPL-3", "GPL-3"),
    "sentencepiece": ("Apache-2.0",),
    "tokenizers": ("Apache-2.0",),
    "pyarrow": ("Apache-2.0",),
}

BUNDLED = """\
Bundled software
=======================

Qt and PySide6 are used under the GNU Lesser General Public Licence, version 3:
see /usr/share/common-licenses/LGPL-3. Their libraries are files of their own in
/usr/lib/tokstudio and can be replaced. Python is used under the licence of the
Python Software Foundation, as is typing_extensions. numpy, numba, llvmlite,
zstandard, protobuf, httpx2, httpcore2, idna, fsspec, packaging, Jinja2 and
MarkupSafe come under BSD licences,
pyqtgraph, charset-normalizer, platformdirs, tiktoken, highspy, anyio, h11,
truststore, filelock and PyYAML under the MIT licence, tqdm under it and the Mozilla Public
Licence, version 2.0 (see /usr/share/common-licenses/MPL-2.0),
regex, tokenizers, sentencepiece, pyarrow and huggingface_hub under the Apache
Licence, version 2.0 (see /usr/share/common-licenses/Apache-2.0). Their texts
are in bundled-licences.txt.gz beside this file, with those of
the libraries of the build system, package by package.
"""


def version() -> str:
    """TokStudio's version."""
    text = (ROOT / "tokstudio" / "version.py").read_text(encoding="utf-8")
    return re.search(r'__version__ = "(.*)"', text)[1]  # type: ignore[index]


def homepage() -> str:
    """The project's address, from `pyproject.toml`."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"]["urls"]["Homepage"]


def date() -> float:
    """When this version was made, in seconds: as `SOURCE_DATE_EPOCH` says, else the time of the commit.

    Sources that are no clone have neither, and then the time of the changelog.
    """
    if told := os.environ.get("SOURCE_DATE_EPOCH"):
        return float(told)
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    if (ROOT / ".git").exists() and shutil.which("git"):
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            return float(asked.stdout)
    return (ROOT / "CHANGELOG.md").stat().st_mtime


def make_package(bundle: Path, quick: bool = False) -> Path:
    """Makes the package and gives its file.

    Args:
        bundle: The folder that `dev.py bundle` makes.
        quick: Whether to pack it fast and large (zstd) instead of small (xz, some minutes).

    Raises:
        SetupError: `dpkg-deb` is not there, or fails.
    """
    if shutil.which("dpkg-deb") is None:
        raise SetupError("Making a Debian package needs dpkg-deb, which Debian and its derivatives have.")
    architecture = subprocess.check_output(["dpkg", "--print-architecture"], text=True).strip()
    shutil.rmtree(STAGE, ignore_errors=True)
    place_bundle(bundle)
    place_desktop_files()
    place_documents(bundle)
    write_control(architecture)
    fix_modes()
    target = ROOT / "dist" / f"tokstudio_{version()}_{architecture}.deb"
    say("packing ..." if quick else "packing (some minutes) ...")
    packing = "-Zzstd" if quick else "-Zxz"
    run_quietly(["dpkg-deb", "--root-owner-group", packing, "--build", str(STAGE), str(target)], "dpkg-deb failed.")
    say(f"{target}: {target.stat().st_size / 1e6:,.0f} MB")
    return target


def place_bundle(bundle: Path) -> None:
    """Copies the bundle, and makes its program a command."""
    shutil.copytree(bundle, STAGE / "usr" / "lib" / "tokstudio", symlinks=True)
    (STAGE / "usr" / "bin").mkdir(parents=True)
    (STAGE / "usr" / "bin" / "tokstudio").symlink_to("../lib/tokstudio/tokstudio")


def place_desktop_files() -> None:
    """Copies what a desktop looks for."""
    share = STAGE / "usr" / "share"
    for source, target in (
        (LINUX / "tokstudio.desktop", share / "applications" / "tokstudio.desktop"),
        (LINUX / "tokstudio.xml", share / "mime" / "packages" / "tokstudio.xml"),
        (ROOT / "resources" / "icons" / "tokstudio.svg", share / "icons/hicolor/scalable/apps/tokstudio.svg"),
    ):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    for picture in (ROOT / "build" / "icons").glob("tokstudio-*.png"):
        size = picture.stem.rpartition("-")[2]
        target = share / "icons" / "hicolor" / f"{size}x{size}" / "apps" / "tokstudio.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(picture, target)
    (share / "metainfo").mkdir()
    (share / "metainfo" / METAINFO).write_text(metainfo(), encoding="utf-8")


def metainfo() -> str:
    """AppStream's description, with the project's address and the picture of this version there."""
    text = (LINUX / METAINFO).read_text(encoding="utf-8")
    day = time.strftime("%Y-%m-%d", time.gmtime(date()))
    return text.replace("@HOMEPAGE@", homepage()).replace("@VERSION@", version()).replace("@DATE@", day)


def place_documents(bundle: Path) -> None:
    """Writes copyright, changelog, manual page and lintian's overrides."""
    share = STAGE / "usr" / "share"
    documents, manual, overrides = share / "doc/tokstudio", share / "man/man1", share / "lintian/overrides"
    for folder in (documents, manual, overrides):
        folder.mkdir(parents=True)
    (documents / "copyright").write_text(copyright_text(), encoding="utf-8")
    write_packed(documents / "bundled-licences.txt.gz", bundled_licences(bundle).encode())
    write_packed(documents / "changelog.gz", changelog().encode())
    write_packed(manual / "tokstudio.1.gz", (LINUX / "tokstudio.1").read_bytes())
    shutil.copyfile(LINUX / "lintian-overrides", overrides / "tokstudio")


def write_packed(file: Path, content: bytes) -> None:
    """Writes a gzip file that is the same each time."""
    file.write_bytes(gzip.compress(content, 9, mtime=0))


def changelog() -> str:
    """The changelog in Debian's form: one entry, which points to ours."""
    # As any system writes it, whatever its language.
    made = format_datetime(datetime.fromtimestamp(date(), UTC))
    return (
        f"tokstudio ({version()}) stable; urgency=medium\n\n"
        f"  * Version {version()}; what is new is in the changelog of its sources.\n\n -- {MAINTAINER}  {made}\n"
    )


def copyright_text() -> str:
    """Debian's copyright file: our licence, and where those of what the bundle holds are."""
    ours = (ROOT / "LICENSE").read_text(encoding="utf-8")
    return f"TokStudio\n{'=' * 9}\n\n{ours}\n{BUNDLED}"


def bundled_licences(bundle: Path) -> str:
    """The licences of what the bundle holds, in their own words."""
    parts = [f"{name}\n{'-' * len(name)}\n\n{text.strip()}\n" for name, text in licences(bundle)]
    return "\n\n".join(parts)


def licences(bundle: Path) -> Iterator[tuple[str, str]]:
    """The texts of licences that the bundled packages bring, or come under, with their names.

    Raises:
        SetupError: A package brings none, and it is not known which of the usual ones it comes under.
    """
    ours = bundle / "_internal" / "tokstudio" / "resources" / "licences"
    for folder in sorted((bundle / "_internal").glob("*.dist-info")):
        name = folder.name[: -len(".dist-info")]
        files = [file for file in sorted(folder.rglob("*")) if file.is_file() and _LICENCE.search(file.name)]
        for file in files:
            yield f"{name}: {file.relative_to(folder)}", file.read_text(encoding="utf-8", errors="replace")
        usual = () if files else USUAL.get(name.partition("-")[0].lower())
        if usual is None:
            raise SetupError(f"{name} comes without a licence: name its licence in packaging/debian.py.")
        for licence in usual:
            yield f"{name}: {licence}", (ours / f"{licence}.txt").read_text(encoding="utf-8")
    yield "Libraries of the build system", (ours / "system-libraries.txt").read_text(encoding="utf-8")


def write_control(architecture: str) -> None:
    """Writes what apt reads, and the sums that `dpkg --verify` compares."""
    files = sorted(path for path in STAGE.rglob("*") if path.is_file() and not path.is_symlink())
    size = sum((path.stat().st_size + 1023) // 1024 for path in files)
    control = STAGE / "DEBIAN"
    sums = "".join(f"{md5(path)}  {path.relative_to(STAGE)}\n" for path in files)
    control.mkdir()
    (control / "md5sums").write_text(sums, encoding="utf-8")
    shutil.copyfile(LINUX / "postinst", control / "postinst")
    (control / "control").write_text(
        f"Package: tokstudio\nVersion: {version()}\nArchitecture: {architecture}\nMaintainer: {MAINTAINER}\n"
        f"Installed-Size: {size}\nDepends: libc6 (>= {needed_libc(files)}), {DEPENDS}\nRecommends: {RECOMMENDS}\n"
        f"Section: science\nPriority: optional\nHomepage: {homepage()}\nDescription: {SUMMARY}\n{DESCRIPTION}",
        encoding="utf-8",
    )


def md5(path: Path) -> str:
    """The sum of a file, as dpkg keeps it."""
    import hashlib

    return hashlib.md5(path.read_bytes()).hexdigest()


def needed_libc(files: list[Path]) -> str:
    """The newest version of the C library that one of these files asks for."""
    newest = (2, 17)
    for file in files:
        if ".so" in file.name or file.name == "tokstudio":
            found = re.findall(rb"GLIBC_2\.(\d+)", file.read_bytes())
            newest = max(newest, *((2, int(minor)) for minor in found)) if found else newest
    return ".".join(map(str, newest))


def fix_modes() -> None:
    """Gives every file the mode that Debian wants: only the program and dpkg's script can be executed."""
    programs = {STAGE / "usr/lib/tokstudio/tokstudio", STAGE / "DEBIAN/postinst"}
    for path in STAGE.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path in programs else 0o644)
    STAGE.chmod(0o755)
