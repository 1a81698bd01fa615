"""The commands of `dev.py` that make and try packages: `bundle`, `smoke` and `deb`.

Needs the standard library alone. What goes into the bundle is said in `bundle/tokstudio.spec` and `shrinking.py`, into
the Debian package in `debian.py`, and what is tried with the bundle in `smoke.py`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import os
import shutil
import sys
import sysconfig
from pathlib import Path

import linking
import shrinking
from system import ROOT, SetupError, apt_command, has_apt, install_packages, is_root, run_quietly, run_visibly, say

LOCK = ROOT / "packaging" / "requirements-bundle.lock"
SPEC = ROOT / "packaging" / "bundle" / "tokstudio.spec"
BUILD = ROOT / "build"
BUNDLE = ROOT / "dist" / "tokstudio"
KEY = ROOT / "dist" / "tokstudio.key"
# What the X part of the smoke test starts, and Debian's packages that hold it.
X_PROGRAMS = {"Xvfb": "xvfb", "openbox": "openbox", "xdotool": "xdotool"}


def bundle_program() -> Path:
    """The program in the bundle."""
    return BUNDLE / ("tokstudio.exe" if os.name == "nt" else "tokstudio")


def bundle_key(environment_key: str) -> str:
    """A hash of all that the bundle is made of."""
    key = hashlib.sha256(environment_key.encode())
    folders = [ROOT / name for name in ("tokstudio", "resources", "packaging")]
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file() and file.suffix != ".pyc"]
    for file in sorted(file for file in files if "__pycache__" not in file.parts):
        content = file.read_bytes()
        key.update(f"{file.relative_to(ROOT).as_posix()} {len(content)}\n".encode() + content)
    return key.hexdigest()


def make_bundle(python: Path, environment_key: str) -> None:
    """Makes the bundle anew, unless nothing that it is made of has changed.

    Args:
        python: That of the virtual environment.
        environment_key: What its set-up noted.

    Raises:
        SetupError: When something is missing, or PyInstaller fails.
    """
    key = bundle_key(environment_key)
    if bundle_program().exists() and KEY.exists() and KEY.read_text(encoding="utf-8") == key:
        return
    require_linker()
    say("installing PyInstaller ...")
    pip = [str(python), "-I", "-m", "pip", "install", "-q", "--require-hashes", "-r", str(LOCK)]
    run_quietly(pip, "PyInstaller could not be installed; the reason is in pip's output above.")
    say("building the bundle (some minutes) ...")
    KEY.unlink(missing_ok=True)
    icons = [str(python), str(ROOT / "packaging" / "icons.py"), str(BUILD / "icons")]
    run_quietly(icons, "The icons could not be drawn.", {"QT_QPA_PLATFORM": "offscreen"})
    options = ["-y", "--log-level", "WARN", "--distpath", str(BUNDLE.parent), "--workpath", str(BUILD / "pyinstaller")]
    run_quietly([str(python), "-m", "PyInstaller", *options, str(SPEC)], "The bundle could not be built.")
    shrinking.shrink(BUNDLE)
    loops = BUNDLE / "_internal" / "tokstudio" / "loops"
    say("compiling the loops of the bundle ...")
    if linking.can_link():
        linking.link_loops(python, loops)
    else:
        compile_loops(loops)
    KEY.write_text(key, encoding="utf-8")
    say(f"{BUNDLE}: {folder_size(BUNDLE) / 1e6:,.0f} MB")


def require_linker() -> None:
    """Sees to what PyInstaller needs of a Linux system: `objcopy` and Python's own library.

    Raises:
        SetupError: When they are missing and we may not install them.
    """
    if not sys.platform.startswith("linux"):
        return
    packages = [] if shutil.which("objcopy") and shutil.which("objdump") else ["binutils"]
    library = Path(str(sysconfig.get_config_var("LIBDIR"))) / str(sysconfig.get_config_var("INSTSONAME"))
    if not sysconfig.get_config_var("Py_ENABLE_SHARED") or not library.exists():
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        folder = f"/usr/lib/{sysconfig.get_config_var('MULTIARCH') or ''}"
        if not Path(folder, f"libpython{version}.so.1.0").exists():
            if Path(sys.executable).resolve().parent != Path("/usr/bin"):
                raise SetupError("This Python was built without its library (--enable-shared): use another one.")
            packages.append(f"libpython{version}")
    if not packages:
        return
    if not has_apt() or not is_root():
        raise SetupError(f"The bundle needs {' and '.join(packages)}. Install them: {apt_command(packages)}")
    install_packages(packages)


def compile_loops(folder: Path) -> None:
    """Compiles the loops for a common kind of processor into the bundle, so that its first start need not."""
    command = [str(bundle_program()), "--process", "tokstudio.core.warm_up", "common"]
    run_quietly(command, "The loops of the bundle could not be compiled.", {"NUMBA_CACHE_DIR": str(folder)})
    if not any(folder.glob("*.nbc")):
        say("there are no loops for this kind of processor in the bundle: its first start compiles them.")


def folder_size(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


def smoke(python: Path) -> int:
    """Tries the bundle; as root on Debian the programs of the part on X11 are installed where they are missing."""
    missing = [package for name, package in X_PROGRAMS.items() if shutil.which(name) is None]
    if missing and sys.platform.startswith("linux") and has_apt() and is_root():
        try:
            install_packages(missing)
        except SetupError as error:
            say(f"{error}")
    return run_visibly([str(python), str(ROOT / "packaging" / "smoke.py"), str(bundle_program())])
