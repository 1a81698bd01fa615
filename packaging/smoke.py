"""Tests a bundle as users run it: `python smoke.py PROGRAM`, in the virtual environment (Qt reads the pictures).

Its size, the command line, data sets, the window without a display and, where there is an X server to be had, that on
it: opening by file, a later start, training by keys, a crash and its report. Every start has a home of its own. Prints
what was tried, and ends with 1 at the first thing that is wrong.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from linking import can_link

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "resources" / "corpora" / "how-tokenizers-work.txt"
PATIENCE = 1500  # seconds; compiling all loops takes two minutes, and longer beside other checks
LARGEST = 275  # million bytes that a bundle for Linux may have
# The surface, and some of the tokens' colours, in light looks.
_COLOURS = ("#ffffff", "#ffdcd2", "#ffe9bd", "#cdefdd", "#cce9f6")
# Modules that the program and its processes import; none may be taken from the folder that it is started in.
_PLANTED = ("json", "numpy", "re", "regex", "sentencepiece", "tokenizers", "typing")
_LINUX = sys.platform.startswith("linux")
# Where a program looks for the folders of a user. Windows would say where they are without asking the variables.
_HOMES = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "WIN_PD_OVERRIDE_APPDATA", "WIN_PD_OVERRIDE_LOCAL_APPDATA")


class Wrong(Exception):
    """Something is not as it must be."""


def demand(condition: object, words: str) -> None:
    """Raises `Wrong` unless the condition holds."""
    if not condition:
        raise Wrong(words)


def wait_for(condition: Callable[[], object], words: str) -> None:
    """Waits until a condition holds.

    Raises:
        Wrong: It does not in time.
    """
    end = time.monotonic() + PATIENCE
    while not condition():
        demand(time.monotonic() < end, f"waited {PATIENCE} s: {words}")
        time.sleep(0.05)


class Bundle:
    """A bundle and a home for it.

    Args:
        program: The bundle's.
        home: An empty folder.
        loops: A home in which the loops have been compiled; this one begins with a copy of them.
    """

    def __init__(self, program: Path, home: Path, loops: Path | None = None) -> None:
        self.program = program
        self.home = home
        if loops is not None:
            for marker in loops.rglob("loops-*"):
                shutil.copytree(marker.parent, home / marker.parent.relative_to(loops), dirs_exist_ok=True)
        names = ("PATH", "SYSTEMROOT", "LANG", "LC_ALL", "NUMBER_OF_PROCESSORS")
        self.variables = {name: os.environ[name] for name in names if name in os.environ}
        for name in (*_HOMES, "TMPDIR", "TEMP", "TMP"):
            self.variables[name] = str(home)

    def started(self, *arguments: object, **variables: str) -> subprocess.Popen[bytes]:
        """A start of the program, which goes on; from standard input it gets nothing."""
        return subprocess.Popen(
            [str(self.program), *map(str, arguments)],
            env={**self.variables, **variables},
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def ended(self, *arguments: object, **variables: str) -> tuple[int, str]:
        """A start of the program that must end; gives its exit code and what it printed."""
        process = self.started(*arguments, **variables)
        try:
            printed = process.communicate(timeout=PATIENCE)[0].decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            raise Wrong(f"{arguments} did not end within {PATIENCE} s") from None
        finally:
            drain(process)
        return process.returncode, printed

    def run(self, *arguments: object, **variables: str) -> str:
        """A start of the program that must end with 0; gives what it printed."""
        code, printed = self.ended(*arguments, **variables)
        demand(code == 0, f"{arguments} ended with {code}: {printed}")
        return printed

    def files(self, pattern: str) -> list[Path]:
        """What there is in the home."""
        return sorted(self.home.rglob(pattern))


def check_log(log: Path, *words: str) -> None:
    """Demands the line of the start, these words, and that no error was logged."""
    lines = log.read_text(encoding="utf-8").splitlines()
    demand(lines and "(bundle)" in lines[0], f"the log does not begin with the start: {lines[:1]}")
    for word in (*words, "The window answers."):
        demand(any(word in line for line in lines), f"the log does not say {word!r}: {lines}")
    wrong = [line for line in lines if " ERROR " in line or " CRITICAL " in line]
    demand(not wrong, f"the log has errors: {wrong}")


def check_picture(file: Path, width: int, height: int) -> None:
    """Demands that a picture shows a window with tokens in it."""
    from PySide6.QtGui import QImage

    image = QImage(str(file))
    size = (image.width(), image.height())
    demand(size == (width, height), f"the picture is {size}")
    colours = {image.pixelColor(x, y).name() for x in range(0, width, 2) for y in range(0, height, 2)}
    missing = [colour for colour in _COLOURS if colour not in colours]
    demand(not missing, f"the picture lacks {missing}")
    demand(len(colours) > 300, f"the picture has {len(colours)} colours only: no text is drawn in it")


# --- What is tried ------------------------------------------------------------------------------------------------


def try_command_line(bundle: Bundle) -> None:
    """Trains, exports with the proofs that other processes make, encodes and decodes."""
    for name in _PLANTED:
        (bundle.home / f"{name}.py").write_text("open('executed', 'w').close()\nraise SystemExit(9)\n")
    demand(bundle.run("--version").startswith("tokstudio "), "--version says nothing")
    text = bundle.home / "книга one.txt"
    shutil.copyfile(SAMPLE, text)
    folder = bundle.home / "to take home"
    folder.mkdir()
    formats = ["huggingface", "gpt2", "tiktoken", "minbpe", "classic"]
    exports = [f"--export={name}={folder / name}" for name in formats]
    options = ["--vocab-size", 600, "--pattern", "cl100k", "--special", "<|end|>", "--accept-loss", "--json"]
    done = json.loads(bundle.run("train", text, *options, *exports))
    demand(done["vocabulary_size"] == 600, f"trained {done}")
    model = folder / "sentencepiece.model"
    bundle.run("train", text, "--vocab-size", 400, "--base", "characters", f"--export=sentencepiece={model}")
    sentence = "Watch the 🌍 turn,\ntoken by token."
    known = json.loads(bundle.run("encode", "-q", "--tokenizer", folder / "huggingface", "--text", sentence))
    for name in ("gpt2", "tiktoken", "classic"):
        options = ["--pattern", "cl100k"] if name in ("gpt2", "classic") else []
        ids = json.loads(bundle.run("encode", "-q", "--tokenizer", folder / name, "--text", sentence, *options))
        demand(ids == known, f"{name} encodes otherwise")
    out = bundle.home / "decoded.txt"
    bundle.run("decode", "--tokenizer", folder / "huggingface", "--text", json.dumps(known), "--out", out)
    demand(out.read_text(encoding="utf-8") == sentence, "decoding does not give the text back")
    # sentencepiece's own library, in its process.
    bundle.run("encode", "-q", "--tokenizer", model, "--text", "a token")
    demand(not bundle.files("executed"), "a module in the current folder was run")


def try_size(bundle: Bundle) -> None:
    """The bundle is as small as it has been, so that nothing comes into it unnoticed."""
    files = [file for file in bundle.program.parent.rglob("*") if file.is_file() and not file.is_symlink()]
    size = sum(file.stat().st_size for file in files) / 1e6
    demand(
        size <= LARGEST or not _LINUX,
        f"the bundle has {size:,.0f} MB, and may have {LARGEST}: look for what has come into it, leave that out in "
        "packaging/bundle/tokstudio.spec, or raise LARGEST in packaging/smoke.py with the reason",
    )
    print(f"    {size:,.0f} MB")


def try_data_sets(bundle: Bundle) -> None:
    """Each kind of data set gives the same ids, Parquet is written and read, and the solver of mixtures is there."""
    import pyarrow as pa
    import zstandard
    from pyarrow import csv, ipc, parquet

    texts = SAMPLE.read_text(encoding="utf-8").splitlines()
    table = pa.table({"number": range(len(texts)), "text": texts})
    rows = [bundle.home / f"rows.{kind}" for kind in ("parquet", "arrow", "csv", "jsonl.zst")]
    parquet.write_table(table, rows[0], compression="zstd")
    with ipc.new_file(rows[1], table.schema, options=ipc.IpcWriteOptions(compression="lz4")) as arrow:
        arrow.write_table(table)
    csv.write_csv(table, rows[2])
    rows[3].write_bytes(zstandard.compress("".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()))
    counts, model = bundle.home / "counts.parquet", bundle.home / "mine"
    bundle.run("count", rows[0], "--field", "text", "--pattern", "cl100k", "--out", counts)
    bundle.run("train", "--counts", counts, "--vocab-size", 600, f"--export=huggingface={model}")
    encoded: list[object] = []
    for file in rows:
        options = ["--field", "text", "--tokenizer", model, "--format", "parquet", "--json"]
        told = bundle.run("encode", "-q", file, *options, "--out", bundle.home / f"of {file.name}")
        shard = parquet.read_table(bundle.home / f"of {file.name}" / "shard-00000.parquet")
        demand(shard.num_rows == len(texts), f"{file.name} has {shard.num_rows} rows: {told}")
        encoded.append(shard.to_pydict())
        demand(encoded[-1] == encoded[0], f"{file.name} is encoded otherwise than {rows[0].name}")
    candidates = [SAMPLE, SAMPLE.with_name("eight-scripts.txt")]
    mixture = bundle.run("infer-mixture", "-q", model, "--candidates", *candidates, "--merges", 100, "--no-intervals")
    lines = [line.split() for line in mixture.splitlines()]
    demand([SAMPLE.name, "100.0", "%"] in lines, f"the mixture is {mixture}")


def try_own_process(bundle: Bundle) -> None:
    """The processes that ask the libraries are there, and end with those who ask."""
    for module in ("server", "template_server"):
        bundle.run("--process", f"tokstudio.core.libraries.{module}")


def try_names(bundle: Bundle) -> None:
    """The libraries that fetch tokenizers by their names are there; nothing is fetched."""
    code, said = bundle.ended("inspect", "hf:nobody/nothing", HF_ENDPOINT="http://127.0.0.1:9")
    demand(code == 1 and "127.0.0.1:9 cannot be reached" in said, f"fetching from nowhere ended with {code}: {said}")
    code, said = bundle.ended("inspect", "tiktoken:nothing")
    demand(code == 1 and "it has cl100k_base, " in said, f"an unknown encoding ended with {code}: {said}")


def try_picture(bundle: Bundle, platform: str = "offscreen", loops: object = "", **variables: str) -> float:
    """Trains in the window, with the loops that are named, and looks at its picture; gives the seconds that took."""
    file, log = bundle.home / "window.png", bundle.home / "window.log"
    file.unlink(missing_ok=True)
    log.unlink(missing_ok=True)
    begun = time.monotonic()
    bundle.run("--demo", "--screenshot", file, "--log-file", log, QT_QPA_PLATFORM=platform, **variables)
    took = time.monotonic() - begun
    check_log(log, f"({platform})", f"Compiled loops: {loops}", "ended: reached", "Ended with 0.")
    check_picture(file, 1440, 900)
    return took


def try_starts(bundle: Bundle) -> None:
    """The first start uses the loops of the bundle; the next one those of this computer, unless they are damaged.

    Where the bundle has no compiler, the next start uses those of the bundle, too.
    """
    shipped = bundle.program.parent / "_internal" / "tokstudio" / "loops"
    others = shipped if shipped.is_dir() else "compiled by this start"
    first = try_picture(bundle, loops=others)
    if can_link():
        demand(not any(bundle.program.parent.rglob("libllvmlite*")), "the bundle has a compiler that it does not use")
        second = try_picture(bundle, loops=others)
        demand(not bundle.files("*.nbc"), "loops were compiled")
    else:
        second = _try_own_loops(bundle, others)
    print(f"    with a training and its picture: first start {first:.1f} s, second {second:.1f} s")


def _try_own_loops(bundle: Bundle, others: object) -> float:
    """A start with the loops of this computer, and one where they are damaged; gives the seconds of the first."""
    _bring_loops(bundle)
    compile_all = ("--process", "tokstudio.core.warm_up")
    bundle.run(*compile_all)
    kept = bundle.files("*.nbc")
    demand(kept, "no compiled loops are kept")
    second = try_picture(bundle, loops=kept[0].parent)
    damaged = next(file for file in kept if file.name.startswith("merge.merge-"))  # one that is called by itself
    content = damaged.read_bytes()
    damaged.write_bytes(content[: len(content) // 2])
    try_picture(bundle, loops=others)
    bundle.run(*compile_all)
    demand(bundle.files("*.nbc") == kept, "damaged loops were not replaced")
    demand(damaged.stat().st_size > len(content) // 2, "a damaged loop was left as it was")
    return second


def _bring_loops(bundle: Bundle) -> None:
    """Gives a home all loops but one that the sources have compiled: the bundle compiled all when it was built."""
    from tokstudio.core.kernels.cache import identity, places

    folders = bundle.files(f"compiled-{identity()}")
    own = places().complete
    if not folders or own is None:
        print("    there are no loops of the sources that fit: the bundle compiles all")
        return
    for file in sorted(own.glob("*.nbc"))[:-1]:
        shutil.copyfile(file, folders[0] / file.name)


def try_no_display(bundle: Bundle) -> None:
    """A display that is not there is one sentence."""
    code, said = bundle.ended(DISPLAY=":7531")
    demand(code == 1, f"without a display it ended with {code}: {said}")
    demand(said.startswith("tokstudio: ") and said.count("\n") == 1, f"without a display it said {said}")


def try_end_of_session(bundle: Bundle) -> None:
    """A logout in the middle of it leaves what is not saved, and no report."""
    log = bundle.home / "ended.log"
    process = bundle.started("--demo", "--log-file", log, QT_QPA_PLATFORM="offscreen")
    try:
        wait_for(lambda: said(log, " ended: "), "it trains")
        process.terminate()
        process.wait(timeout=PATIENCE)
    finally:
        drain(process)
    demand(process.returncode == 128 + signal.SIGTERM, f"the end of the session ended it with {process.returncode}")
    demand(bundle.files("*.project.tokstudio"), "what was not saved is lost")
    demand(not bundle.files("run-*.txt"), "the end of a session was taken for a crash")


def try_read_only_home(bundle: Bundle) -> None:
    """A home that is no folder: it runs all the same."""
    nowhere = str(bundle.home / "a file")
    Path(nowhere).touch()
    file = bundle.home / "without.png"
    bundle.run("--demo", "--screenshot", file, QT_QPA_PLATFORM="offscreen", **dict.fromkeys(_HOMES, nowhere))
    check_picture(file, 1440, 900)


@contextmanager
def x_server() -> Iterator[str]:
    """An X server with a window manager; gives the name of its display."""
    read, write = os.pipe()
    options = ["-displayfd", str(write), "-screen", "0", "1440x900x24", "-nolisten", "tcp"]
    quiet: dict[str, int] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(["Xvfb", *options], pass_fds=[write], **quiet)
    os.close(write)
    try:
        with os.fdopen(read) as answer:
            display = f":{answer.readline().strip()}"
        demand(display != ":", "the X server does not start")
        manager = subprocess.Popen(["openbox"], env={**os.environ, "DISPLAY": display}, **quiet)
        try:
            yield display
        finally:
            manager.terminate()
            manager.wait()
    finally:
        server.terminate()
        server.wait()


def xdotool(display: str, *words: str) -> str:
    """What xdotool answers; nothing where it fails."""
    command = ["xdotool", *words]
    done = subprocess.run(command, env={**os.environ, "DISPLAY": display}, capture_output=True, timeout=60)
    return done.stdout.decode().strip() if done.returncode == 0 else ""


def active_title(display: str) -> str:
    """The title of the window that has the keyboard."""
    return xdotool(display, "getactivewindow", "getwindowname")


def said(log: Path, words: str) -> bool:
    """Whether a log says so already."""
    return log.exists() and words in log.read_text(encoding="utf-8")


def drain(process: subprocess.Popen[bytes]) -> None:
    """Ends a start that is not needed any more, and forgets what it printed."""
    with suppress(ProcessLookupError):
        process.kill()
    process.wait()
    stream: IO[bytes] | None = process.stdout
    if stream is not None:
        stream.close()


def try_window(bundle: Bundle) -> None:
    """Opens a file by its name, takes a second from a later start, trains by keys, crashes and tells of it."""
    with x_server() as display:
        bundle.variables["DISPLAY"] = display
        try_picture(bundle, "xcb")
        log = bundle.home / "first.log"
        first, second = bundle.home / "first book.txt", bundle.home / "вторая 書.txt"
        for file in (first, second):
            shutil.copyfile(SAMPLE, file)
        process = bundle.started("--log-file", log, first)
        try:
            wait_for(lambda: said(log, f"Sources: {first.name}"), "the file is opened")
            wait_for(lambda: "TokStudio" in active_title(display), "the window is there")
            xdotool(display, "getactivewindow", "windowminimize")
            wait_for(lambda: "TokStudio" not in active_title(display), "the window is minimized")
            bundle.run(second)
            wait_for(lambda: said(log, f"Sources: {first.name}, {second.name}"), "the later start's file is opened")
            wait_for(lambda: "TokStudio" in active_title(display), "the window comes to the front")
            wait_for(lambda: press_train(display, log), "the window trains")
            check_log(log, f"Sources: {first.name}", "A later start asks for")
            process.send_signal(signal.SIGABRT)
            process.wait(timeout=PATIENCE)
        finally:
            drain(process)
        reports = [file for file in bundle.files("run-*.txt") if "Fatal Python error" in file.read_text("utf-8")]
        demand(len(reports) == 1, f"the crash left {len(reports)} reports")
        log = bundle.home / "last.log"
        process = bundle.started("--log-file", log)
        try:
            wait_for(lambda: said(log, "The window answers."), "it starts after a crash")
            wait_for(lambda: "TokStudio" in active_title(display), "the window is there after a crash")
            wait_for(lambda: process.poll() is not None or press(display, "ctrl+q"), "the window closes")
            demand(process.returncode == 0, f"the window ended with {process.returncode}")
        finally:
            drain(process)
        check_log(log, "Ended with 0.")


def press(display: str, keys: str) -> bool:
    """Presses keys and waits a moment; False, so that it can be tried again."""
    xdotool(display, "key", "--clearmodifiers", keys)
    time.sleep(0.5)
    return False


def press_train(display: str, log: Path) -> bool:
    """Presses the key that trains, until a run has ended."""
    if said(log, "ended: "):
        return True
    press(display, "ctrl+r")
    return said(log, "ended: ")


def main(arguments: list[str]) -> int:
    """Tries everything that can be tried here."""
    program = Path(arguments[0]).absolute()
    parts: list[tuple[str, Callable[[Bundle], None]]] = [
        ("its size", try_size),
        ("the command line", try_command_line),
        ("data sets", try_data_sets),
        ("processes of its own", try_own_process),
        ("tokenizers by name", try_names),
        ("the window without a display, twice", try_starts),
        ("a home that cannot be written to", try_read_only_home),
    ]
    missing = [name for name in ("Xvfb", "openbox", "xdotool") if shutil.which(name) is None]
    if not _LINUX:
        print("not tried: the window on an X server, which is for Linux")
    elif missing:
        print(f"not tried: the window on an X server, as there is no {' and no '.join(missing)}")
    else:
        parts.append(("the window on an X server", try_window))
    if _LINUX:
        parts[-1:-1] = [("a display that is not there", try_no_display), ("the end of a session", try_end_of_session)]
    with tempfile.TemporaryDirectory(prefix="tokstudio smoke ", ignore_cleanup_errors=True) as homes:
        for name, attempt in parts:
            print(f"{name} ...", flush=True)
            begun = time.monotonic()
            home = Path(homes) / attempt.__name__
            home.mkdir()
            # Compiling is none of what these two try.
            warm = attempt in (try_end_of_session, try_window)
            try:
                attempt(Bundle(program, home, Path(homes) / try_starts.__name__ if warm else None))
            except (Wrong, subprocess.TimeoutExpired) as wrong:
                print(f"WRONG: {wrong}", flush=True)
                return 1
            print(f"    good, {time.monotonic() - begun:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
