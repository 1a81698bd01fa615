"""Sets TokStudio up beside its sources and runs it: `python3 packaging/dev.py app`, `test` and others.

Needs the standard library alone. It keeps `.venv` right and finds missing system libraries; how the tools behave is
configured in `pyproject.toml`.
"""

# SPDX-License-Identifier: MIT
# Python 3.7 must be able to read this file, so that whoever has an old one is told so in a sentence.
from __future__ import annotations

import hashlib
import importlib
import importlib.util
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

# Python started with -P or -I does not look beside the program by itself.
sys.path.insert(0, str(Path(__file__).resolve().parent))

import bundling
from system import (
    ROOT,
    SetupError,
    apt_command,
    check_libraries,
    has_apt,
    has_display,
    install_packages,
    is_root,
    needed_plugins,
    run_quietly,
    run_visibly,
    say,
)

MINIMUM_PYTHON = (3, 11)
ENVIRONMENT = ROOT / ".venv"
LOCK = ROOT / "packaging" / "requirements.lock"
DOCS_LOCK = ROOT / "packaging" / "requirements-docs.lock"
PICTURE = ROOT / "tokstudio-demo.png"
# Benchmarks that `bench` runs only by name.
ONLY_NAMED = ("encode_10gb", "mutation", "soak_random")
# All arguments of these commands; the others hand theirs on to those who know them.
TAKES = {"setup": [], "bundle": [], "smoke": [], "pictures": [], "docs": [], "deb": ["--quick"]}

# With SBK_EMBED=0, Qt's package unpacks sources that it would else compile at each start.
_COMPILE = """\
import compileall, contextlib, sys
folders = sys.argv[1:]
with contextlib.suppress(ImportError):
    import PySide6.QtCore, shiboken6
    folders.append(shiboken6.__path__[0])
for folder in folders:
    compileall.compile_dir(folder, quiet=2)
"""

USAGE = """\
Usage: python3 packaging/dev.py COMMAND [ARGUMENT ...]

  app     set up, then open the window on a sample corpus; without a display, write a picture of it
  test    set up, then linters, types, import contracts and all tests; arguments are passed to pytest
  setup   only make .venv, install the locked versions and compile the loops
  bench   set up, then run the benchmarks, or only those named (bench encode startup), and write BENCHMARKS.md
  bundle  set up, then build the program that needs no Python: dist/tokstudio
  smoke   same as bundle, then test it: without a display, and on an X server if there is one
  deb     same as bundle, then make a Debian package of it; --quick packs it fast and large, for testing
  pictures  draw the pictures of the guide, and write docs/guide.html
  docs    write docs/cli.md, and build the documentation site: build/docs/site
  lock    write the locked versions again (needs uv); --upgrade takes newer versions
"""


# --- The virtual environment --------------------------------------------------------------------------------------


def program(name: str) -> Path:
    """Where a program of the virtual environment stands."""
    if os.name == "nt":
        return ENVIRONMENT / "Scripts" / f"{name}.exe"
    return ENVIRONMENT / "bin" / name


def setup_key() -> str:
    """A hash of all that decides what belongs into the virtual environment, and of where it stands."""
    python = f"{sys.version_info[0]}.{sys.version_info[1]} {sysconfig.get_platform()}"
    key = hashlib.sha256()
    for part in (os.fsencode(ROOT), python.encode(), LOCK.read_bytes(), (ROOT / "pyproject.toml").read_bytes()):
        key.update(len(part).to_bytes(8, "little") + part)
    return key.hexdigest()


def read_stamp() -> dict[str, object]:
    """What the last complete set-up noted: its `key`, its `root`, and which `plugins` of Qt were found to load."""
    try:
        stamp = json.loads((ENVIRONMENT / "tokstudio-setup.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def write_stamp(**stamp: object) -> None:
    """Notes what has been done, in one step."""
    beside = ENVIRONMENT / "tokstudio-setup.json.new"
    beside.write_text(json.dumps(stamp), encoding="utf-8")
    beside.replace(ENVIRONMENT / "tokstudio-setup.json")


def unfinished_marker() -> Path:
    """A file that stands in the environment while it is being changed: found at a start, that start was killed."""
    return ENVIRONMENT / "tokstudio-unfinished"


def environment_fault() -> str | None:
    """Why the virtual environment must be made anew, or None while it works."""
    if unfinished_marker().exists():
        return "its set-up was interrupted"
    root = read_stamp().get("root")
    if root is not None and root != str(ROOT):
        return "the folder was moved"
    script = "import sys; print(*sys.version_info[:2], sys.prefix != sys.base_prefix)"
    try:
        command = [str(program("python")), "-I", "-c", script]
        answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return "its Python does not start"
    if answer.returncode != 0:
        return "its Python does not start"
    if answer.stdout.split() != [b"%d" % sys.version_info[0], b"%d" % sys.version_info[1], b"True"]:
        return "it belongs to another Python"
    # pip is the last thing that making an environment puts there.
    return None if program("pip").exists() else "it is incomplete"


def require_venv_module() -> None:
    """Sees to it that this Python can make virtual environments; Debian keeps that in a package of its own.

    Raises:
        SetupError: When it cannot, and we may not install what is missing.
    """
    if all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")):
        return
    executable = Path(base_python()).resolve()
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if not has_apt() or executable.parent != Path("/usr/bin"):
        raise SetupError(
            f"{executable} cannot create virtual environments: its modules venv and ensurepip are missing. "
            "Install them, or start this with another Python 3.11 or newer."
        )
    default = Path("/usr/bin/python3").resolve() == executable
    packages = ["python3-venv" if default else f"python{version}-venv"]
    say("this Python has no venv module (Debian has it in a separate package).")
    if not is_root():
        raise SetupError(f"Install it, then run this again: {apt_command(packages)}")
    install_packages(packages)
    importlib.invalidate_caches()
    if importlib.util.find_spec("ensurepip") is None:
        raise SetupError(f"{executable} still has no ensurepip after {packages[0]} was installed.")


def base_python() -> str:
    """The Python outside of any virtual environment, so that `.venv` can be remade by its own Python."""
    return getattr(sys, "_base_executable", None) or sys.executable


def make_environment() -> None:
    """Makes an empty virtual environment in place of whatever stands there.

    Raises:
        SetupError: When the old one cannot be removed or the new one cannot be made.
    """
    require_venv_module()
    say(f"creating .venv with Python {sys.version_info[0]}.{sys.version_info[1]} ...")
    try:
        if ENVIRONMENT.is_symlink() or ENVIRONMENT.is_file():
            ENVIRONMENT.unlink()
        ENVIRONMENT.mkdir(exist_ok=True)
        unfinished_marker().touch()
        # The marker outlives everything else, so that no half-removed environment is ever taken for a good one.
        for entry in set(ENVIRONMENT.iterdir()) - {unfinished_marker()}:
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    except OSError as error:
        raise SetupError(
            f"{ENVIRONMENT} cannot be created ({error}). Close the programs that use it, or delete it."
        ) from error
    run_quietly(
        [base_python(), "-I", "-m", "venv", str(ENVIRONMENT)], "Python could not create the virtual environment."
    )


def install_everything() -> None:
    """Installs the locked versions, then TokStudio itself as a link to these sources, and compiles all of it.

    Raises:
        SetupError: When pip fails, after its own output was shown.
    """
    pip = [str(program("python")), "-I", "-m", "pip", "install", "-q"]
    unfinished_marker().touch()
    say("installing the locked versions (a few minutes the first time) ...")
    failure = "The packages could not be installed; the reason is in pip's output above. Is there a network connection?"
    run_quietly([*pip, "--require-hashes", "-r", str(LOCK)], failure)
    say("installing TokStudio itself ...")
    run_quietly([*pip, "--no-deps", "--no-build-isolation", "-e", str(ROOT)], "TokStudio itself could not be built.")
    compile_sources()


def compile_sources() -> None:
    """Compiles the modules, and the loops that are not there yet, for which the first training would wait."""
    # Where Python may write no bytecode, it would compile all modules at each start; without them, starts are slower.
    run_visibly([str(program("python")), "-I", "-c", _COMPILE, str(ROOT / "tokstudio")], {"SBK_EMBED": "0"})
    say("compiling the loops (half a minute the first time) ...")
    if run_visibly([str(program("python")), "-P", "-m", "tokstudio.core.warm_up"], cwd=ROOT) != 0:
        say("they could not be saved: each start compiles them again.")


def set_up() -> None:
    """Brings the virtual environment and the system libraries up to what these sources need; quick if they are.

    Raises:
        SetupError: If something is missing that the user must install.
    """
    key = setup_key()
    fault = environment_fault()
    stamp = read_stamp()
    if fault is not None or stamp.get("key") != key:
        if fault is not None:
            if ENVIRONMENT.exists():
                say(f"the old .venv is not used: {fault}.")
            make_environment()
        try:
            install_everything()
        except SetupError:
            # pip has ended by itself and cleaned up, so what is installed can serve the next try.
            unfinished_marker().unlink()
            raise
        stamp = {"key": key, "root": str(ROOT), "plugins": []}
        write_stamp(**stamp)
        unfinished_marker().unlink()
    needed = needed_plugins(sys.platform, dict(os.environ))
    loaded = stamp.get("plugins")
    if not isinstance(loaded, list) or not set(needed) <= set(loaded):
        write_stamp(**{**stamp, "plugins": check_libraries(program("python"), needed)})


# --- The commands -------------------------------------------------------------------------------------------------


def app(arguments: list[str]) -> int:
    """Opens the window on a sample corpus, or writes a picture of it where there is no display."""
    set_up()
    # It runs in the current folder, as paths may be relative; modules there are not imported.
    command = [str(program("python")), "-P", "-m", "tokstudio", "--demo", *arguments]
    if has_display(sys.platform, dict(os.environ)):
        say("opening the window ...")
        return run_visibly(command)
    say("No display found: running the demo without a window.")
    variables = {"QT_QPA_PLATFORM": os.environ.get("QT_QPA_PLATFORM") or "offscreen"}
    if any(argument.split("=")[0] == "--screenshot" for argument in arguments):
        return run_visibly(command, variables)
    PICTURE.unlink(missing_ok=True)
    code = run_visibly([*command, "--screenshot", str(PICTURE)], variables)
    if code == 0 and PICTURE.exists():
        say(f"The picture of the window is {PICTURE}")
        return 0
    print(f"TokStudio: the demo ended with {code} and wrote no picture.", file=sys.stderr)
    return code or 1


def checks(arguments: list[str]) -> list[tuple[str, list[str]]]:
    """What `test` runs, in order; the bundle is built and tried beside them."""
    python = str(program("python"))
    # One more would keep the processors busy while tests wait, but each loads libraries, loops and all tests again.
    processes = os.cpu_count() or 1
    return [
        ("linter", [str(program("ruff")), "check"]),
        ("format", [str(program("ruff")), "format", "--check"]),
        ("types", [python, "-m", "pyright"]),
        ("import contracts", [str(program("lint-imports")), "--no-logo"]),
        # Before the tests: else several processes would compile the same loops.
        ("compiled loops", [python, "-m", "tokstudio.core.warm_up"]),
        ("tests", [python, "-m", "pytest", f"--numprocesses={processes}", *arguments]),
    ]


def test(arguments: list[str]) -> int:
    """Runs all checks and stops at the first that fails, with its exit code."""
    set_up()
    variables = {
        "QT_QPA_PLATFORM": os.environ.get("QT_QPA_PLATFORM") or "offscreen",
        "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1",  # Else it asks the network for its newest version.
        "PYTHONDONTWRITEBYTECODE": "",  # Else each program that a test starts compiles all sources again.
    }
    # Whoever wants some tests only does not wait for the bundle.
    with nullcontext(lambda: 0) if arguments else bundle_beside() as bundle_code:
        for name, command in checks(arguments):
            say(f"{name} ...")
            code = run_visibly(command, variables, cwd=ROOT)
            if code != 0:
                return code
        return bundle_code()


@contextmanager
def bundle_beside() -> Iterator[Callable[[], int]]:
    """Builds and tries the bundle while other checks run; it keeps one core busy at most.

    Where it cannot be built for want of something, that is said and no error.

    Yields:
        A function that waits for the end, shows what was printed and gives the exit code.
    """
    try:
        bundling.require_linker()
    except SetupError as error:
        say(f"the bundle is skipped: {error}")
        yield lambda: 0
        return
    say("the bundle is built and tried beside the other checks ...")
    command = [sys.executable, str(Path(__file__).resolve()), "smoke"]
    with tempfile.TemporaryFile() as printed:
        # A group of its own, so that what it starts ends with it.
        trial = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT, start_new_session=True
        )

        def wait() -> int:
            say("the bundle ...")
            code = trial.wait()
            printed.seek(0)
            print(printed.read().decode("utf-8", "replace"), end="", flush=True)
            return code if code >= 0 else 128 - code

        try:
            yield wait
        finally:
            if trial.poll() is None:
                trial.kill() if os.name == "nt" else os.killpg(trial.pid, signal.SIGTERM)
                trial.wait()


def benchmark_files(names: list[str]) -> list[Path]:
    """The benchmarks to run: those named, else all but those that take long and compare nothing.

    Raises:
        SetupError: When a name is none of them.
    """
    folder = ROOT / "tests" / "benchmarks"
    there = {file.stem: file for file in sorted(folder.glob("*.py")) if file.stem[0] != "_" and file.stem != "conftest"}
    wrong = [name for name in names if name not in there]
    if wrong:
        raise SetupError(f"There is no benchmark {wrong[0]}; the benchmarks are: {', '.join(there) or 'none'}.")
    return [there[name] for name in names] or [file for name, file in there.items() if name not in ONLY_NAMED]


def bench(arguments: list[str]) -> int:
    """Runs the benchmarks one after another; each prints its tables, and puts its results into BENCHMARKS.md."""
    files = benchmark_files(arguments)
    set_up()
    codes = []
    for file in files:
        say(f"{file.name} ...")
        variables = {"QT_QPA_PLATFORM": os.environ.get("QT_QPA_PLATFORM") or "offscreen", "TOKSTUDIO_RECORD": "1"}
        codes.append(run_visibly([str(program("python")), str(file)], variables, cwd=ROOT))
    return max(codes, default=0)


def lock(arguments: list[str]) -> int:
    """Writes the locked versions anew; versions that still fit stay, unless `--upgrade` is given."""
    uv = shutil.which("uv")
    if uv is None:
        raise SetupError("lock needs the program uv. Install it (for example: pipx install uv), then run this again.")
    options = ["--universal", "--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url", "-q"]
    command = [uv, "pip", "compile", *options, "--python-version", ".".join(map(str, MINIMUM_PYTHON)), *arguments]
    code = run_visibly([*command, "--extra", "dev", "-o", str(LOCK), "pyproject.toml"], cwd=ROOT)
    if code != 0:
        return code
    # What several locks name has one version: all are installed into one environment.
    pins = re.findall(r"^[\w.-]+==[^\\\n]+", LOCK.read_text(encoding="utf-8"), flags=re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        common = Path(folder) / "common.txt"
        common.write_text("\n".join(pins), encoding="utf-8")
        for one in (bundling.LOCK, DOCS_LOCK):
            wanted = ["-c", str(common), "-o", str(one), f"packaging/{one.stem}.in"]
            code = code or run_visibly([*command, *wanted], cwd=ROOT)
    return code


def bundle(arguments: list[str]) -> int:
    """Builds the bundle."""
    set_up()
    bundling.make_bundle(program("python"), setup_key())
    say(f"ready: {bundling.bundle_program()}")
    return 0


def smoke(arguments: list[str]) -> int:
    """Builds the bundle and tries it."""
    set_up()
    bundling.make_bundle(program("python"), setup_key())
    return bundling.smoke(program("python"))


def deb(arguments: list[str]) -> int:
    """Builds the bundle and a Debian package of it."""
    import debian

    set_up()
    bundling.make_bundle(program("python"), setup_key())
    debian.make_package(bundling.BUNDLE, quick="--quick" in arguments)
    return 0


def pictures(arguments: list[str]) -> int:
    """Draws the pictures of the guide, lists their labels, and writes the guide as one file."""
    set_up()
    return run_visibly([str(program("python")), str(ROOT / "packaging" / "pictures.py")], cwd=ROOT)


def docs(arguments: list[str]) -> int:
    """Writes the reference of the command line, and builds the documentation site; a warning is an error."""
    set_up()
    python, writer = str(program("python")), str(ROOT / "packaging" / "docs.py")
    say("installing mkdocs ...")
    pip = [python, "-I", "-m", "pip", "install", "-q", "--require-hashes", "-r", str(DOCS_LOCK)]
    run_quietly(pip, "mkdocs could not be installed; the reason is in pip's output above.")
    folder = ROOT / "build" / "docs"
    build = [python, "-m", "mkdocs", "build", "--strict", "-f", str(folder / "mkdocs.yml")]
    variables = {"NO_MKDOCS_2_WARNING": "1"}  # Else it speaks of its successor.
    for command in ([python, writer], build, [python, writer, "--check"]):
        code = run_visibly(command, variables, cwd=ROOT)
        if code != 0:
            return code
    say(f"ready: {folder / 'site' / 'index.html'}")
    return 0


def setup(arguments: list[str]) -> int:
    """Sets up, and compiles the loops of sources that have changed since."""
    set_up()
    compile_sources()
    say(f"ready: {ENVIRONMENT}")
    return 0


def main(arguments: list[str]) -> int:
    """Runs one command and gives the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # A path may hold what an old console cannot show.
    if sys.version_info < MINIMUM_PYTHON:
        version = ".".join(map(str, sys.version_info[:2]))
        print(f"TokStudio needs Python 3.11 or newer; this is Python {version} ({sys.executable}).", file=sys.stderr)
        print("Start it with a newer one, for example: python3.12 packaging/dev.py app", file=sys.stderr)
        return 1
    commands = {"app": app, "test": test, "setup": setup, "bench": bench, "lock": lock, "bundle": bundle}
    commands.update(smoke=smoke, deb=deb, pictures=pictures, docs=docs)
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE, end="")
        return 0
    if not arguments or arguments[0] not in commands:
        print(USAGE, end="", file=sys.stderr)
        return 2
    try:
        known = TAKES.get(arguments[0], arguments)
        for wrong in set(arguments[1:]) - set(known):
            raise SetupError(f"{arguments[0]} takes {' '.join(known) or 'no arguments'}, not {wrong}.")
        return commands[arguments[0]](arguments[1:])
    except SetupError as error:
        print(f"TokStudio: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
