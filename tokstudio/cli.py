"""The command line: opens the window, or drives the core without one.

It understands arguments, shows progress and prints results; all work is left to the core, the window to `gui.app`.
"""

# SPDX-License-Identifier: MIT
# Nothing that is slow to import stands up here, so that --help and --version answer at once.
from __future__ import annotations

import argparse
import io
import json
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

from tokstudio import __version__
from tokstudio.core.errors import ConfigError, CorpusError, FormatError, TokStudioError
from tokstudio.core.progress import Progress, Work

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType

    import numpy as np
    from numpy.typing import NDArray

    from tokstudio.core.corpus import Corpus, Source
    from tokstudio.core.run import MergeBatch, Run
    from tokstudio.core.tokenizer import Tokenizer
    from tokstudio.core.trainer import Trainer

T = TypeVar("T")

_DONE, _FAILED, _WRONG_USAGE, _INTERRUPTED = 0, 1, 2, 130
_REFRESH = 0.1  # seconds between two states of the progress line
_TIE_BREAKS = ("first", "lowest-id", "huggingface", "bytes")
_NPY_MAGIC = b"\x93NUMPY"
_LARGEST_UINT16 = 2**16 - 1


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: The arguments after the program's name; None for those of this process.

    Returns:
        The exit code: 0 done, 1 a `TokStudioError`, 2 wrong usage, 130 interrupted (143 when asked to terminate).
    """
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        # A folder's name need not be text, and the locale's encoding need not hold all text.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    command = _COMMANDS.get(words[0]) if words else None
    parser, work = command if command else (_window_parser, _open_window)
    try:
        code = _run(parser, words[1:] if command else words, work)
        if sys.stdout is not None:
            sys.stdout.flush()  # of a parser's help
    except BrokenPipeError:  # the reader has seen enough
        _abandon(sys.stdout)
        return _DONE
    except OSError as error:
        _abandon(sys.stdout)
        _say(f"tokstudio: {_not_written(error)}")
        return _FAILED
    return code


# --- What the commands are ----------------------------------------------------------------------------------------

_WINDOW_TEXT = """\
Opens the window, with the given texts in it. Other commands do without one:

  tokstudio train    train a tokenizer on text and export it
  tokstudio encode   turn text into token ids
  tokstudio decode   turn token ids into text

Each has its own --help. To open a file that is called like a command, write ./train.
"""


def _window_parser() -> argparse.ArgumentParser:
    parser = _parser("tokstudio", _WINDOW_TEXT)
    parser.add_argument("files", nargs="*", metavar="FILE", type=Path, help="a text or a folder to open")
    parser.add_argument("--demo", action="store_true", help="open on a sample corpus and train on it")
    parser.add_argument(
        "--screenshot", metavar="PNG", type=Path, help="with --demo: save a picture of the window, and quit"
    )
    parser.add_argument("--version", action="version", version=f"tokstudio {__version__}")
    return parser


def _train_parser() -> argparse.ArgumentParser:
    parser = _parser(
        "tokstudio train",
        "Trains a tokenizer on text. Set a vocabulary size, a minimum frequency, or both.\n"
        "Interrupted, it keeps and exports what it has trained so far.",
    )
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="a text, a folder of texts, or - for standard input")
    add("--vocab-size", type=_whole, metavar="N", help="stop when there are N tokens, the 256 bytes included")
    add("--min-frequency", type=_whole, metavar="N", help="stop when no pair occurs N times")
    add("--tie-break", choices=_TIE_BREAKS, default="first", help="which of the most frequent pairs is merged first")
    add("--max-token-bytes", type=_whole, metavar="N", help="make no token longer than N bytes")
    add("--documents", choices=("file", "line"), default="file", help="what a document is; merges never cross one")
    add("--encoding", metavar="NAME", help="how the files are written, such as utf-8 or bytes; detected if not given")
    add(
        "--export",
        action="append",
        default=[],
        type=_export_target,
        metavar="FORMAT=PATH",
        help="write the tokenizer: classic (a folder), huggingface, merges-csv or vocabulary-csv; may be repeated",
    )
    add("--json", action="store_true", help="print how it went as one JSON object")
    add("--print-merges", action="store_true", help="print each merge as it is made (with --json to standard error)")
    return _with_quiet(parser)


def _encode_parser() -> argparse.ArgumentParser:
    parser = _parser(
        "tokstudio encode",
        "Turns text into token ids and prints them as a JSON list. A file is taken byte by byte as it is.",
    )
    _add_source(parser, "a file to encode; - or nothing: standard input", "encode TEXT")
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="write the ids there: NAME.npy as a NumPy array (uint16 if the whole vocabulary fits, else uint32), "
        "any other name as a JSON list",
    )
    return _with_quiet(parser)


def _decode_parser() -> argparse.ArgumentParser:
    parser = _parser(
        "tokstudio decode",
        "Turns token ids into exactly the bytes they stand for. Ids are a JSON list, separated by white space, or\n"
        "a NumPy array.",
    )
    _add_source(parser, "a file of ids; - or nothing: standard input", "decode the ids in TEXT")
    parser.add_argument("--out", metavar="FILE", type=Path, help="write the bytes there")
    return _with_quiet(parser)


def _parser(program: str, text: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        program, description=text, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )


def _add_source(parser: argparse.ArgumentParser, file_help: str, text_help: str) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help=file_help)
    parser.add_argument("--text", metavar="TEXT", help=text_help)
    parser.add_argument(
        "--tokenizer", metavar="PATH", type=Path, required=True, help="the tokenizer's file, or the folder it is in"
    )


def _with_quiet(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--quiet", "-q", action="store_true", help="say nothing but errors")
    return parser


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is not a whole number') from None


def _export_target(text: str) -> tuple[str, Path]:
    name, _, path = text.partition("=")
    if not name or not path:
        raise argparse.ArgumentTypeError(f'"{text}" is not FORMAT=PATH, such as huggingface=tokenizer.json')
    return name, Path(path)


# --- What the commands do -----------------------------------------------------------------------------------------


def _open_window(arguments: argparse.Namespace, console: _Console, signals: _Signals) -> int:
    if arguments.screenshot and not arguments.demo:
        raise _WrongUsage("--screenshot needs --demo")
    if arguments.demo and arguments.files:
        raise _WrongUsage("--demo brings its own text: give no files with it")
    try:
        from tokstudio.gui.app import run
    except ImportError as error:
        raise TokStudioError(f"The window cannot open: {error}. Install what is missing.") from error
    return run(arguments.files, demo=arguments.demo, screenshot=arguments.screenshot)


def _train(arguments: argparse.Namespace, console: _Console, signals: _Signals) -> int:
    from tokstudio.core.run import TrainingConfig
    from tokstudio.core.trainer import Trainer

    _check_exports(arguments.export)
    if arguments.files.count("-") > 1:
        raise _WrongUsage("standard input can be read once only")
    config = TrainingConfig(
        vocabulary_size=arguments.vocab_size,
        min_frequency=arguments.min_frequency,
        tie_break=arguments.tie_break,
        max_token_bytes=arguments.max_token_bytes,
    )
    corpus = console.finish(_read_corpus(arguments.files, arguments.documents, arguments.encoding))
    for source in corpus.sources:
        _tell_of(source, console)
    console.finish(corpus.sha256_work())
    trainer = Trainer(corpus, config)
    printer = None
    if arguments.print_merges:
        printer = _MergePrinter(sys.stderr if arguments.json else sys.stdout, bool(arguments.export))
    code = _merge(trainer, printer, console, signals)
    trainer.stop()
    run = trainer.run
    console.say(_summary(run))
    files: list[str] = []
    if code == _DONE or len(run):
        failed = _export(trainer.tokenizer(), arguments.export, files, console)
        code = code or failed
    elif arguments.export:
        console.say("Interrupted before the first merge: nothing was exported.")
    if arguments.json:
        _put(sys.stdout, json.dumps(_as_json(run, files)) + "\n")
    return code


def _encode(arguments: argparse.Namespace, console: _Console, signals: _Signals) -> int:
    import numpy as np

    _, text = _read_input(arguments)
    tokenizer = _load(arguments.tokenizer, console)
    ids = console.finish(tokenizer.encode_work(text))
    if arguments.out is not None and arguments.out.suffix.lower() == ".npy":
        # By the vocabulary, not by the ids: all texts that a tokenizer encodes are arrays of one kind.
        small = len(tokenizer.tokens) - 1 <= _LARGEST_UINT16
        array = io.BytesIO()
        np.save(array, ids.astype(np.uint16 if small else np.uint32, copy=False))
        _deliver(array.getbuffer(), arguments.out, console)
    else:
        _deliver(json.dumps(ids.tolist()).encode() + b"\n", arguments.out, console)
    return _DONE


def _decode(arguments: argparse.Namespace, console: _Console, signals: _Signals) -> int:
    name, data = _read_input(arguments)
    ids = _read_ids(name, data)
    tokenizer = _load(arguments.tokenizer, console)
    _deliver(tokenizer.decode_bytes(ids), arguments.out, console)
    return _DONE


_Parser = Callable[[], argparse.ArgumentParser]
_Command = Callable[[argparse.Namespace, "_Console", "_Signals"], int]
_COMMANDS: dict[str, tuple[_Parser, _Command]] = {
    "train": (_train_parser, _train),
    "encode": (_encode_parser, _encode),
    "decode": (_decode_parser, _decode),
}


class _WrongUsage(Exception):
    """Arguments that do not go together; argparse says so, with the usage."""


def _run(make_parser: _Parser, words: list[str], work: _Command) -> int:
    """Understands the arguments, does the work, and turns what goes wrong into a sentence and an exit code."""
    parser = make_parser()
    try:
        arguments = parser.parse_args(words)
    except SystemExit as end:  # the parser has said why, or shown its help
        return end.code if isinstance(end.code, int) else _WRONG_USAGE
    # The window says what happens in its own place, and answers to signals in its own way.
    in_window = work is _open_window
    console = _Console(not in_window and not arguments.quiet and not getattr(arguments, "json", False))
    signals = _Signals()
    try:
        with nullcontext() if in_window else signals.caught():
            return work(arguments, console, signals)
    except _WrongUsage as error:
        parser.print_usage(sys.stderr)
        _say(f"{parser.prog}: error: {error}")
        return _WRONG_USAGE
    except TokStudioError as error:
        console.complain(str(error))
        return _FAILED
    except MemoryError:
        console.complain("This computer has not enough free memory for that.")
        return _FAILED
    except KeyboardInterrupt as interruption:
        console.complain("Interrupted.")
        return _code_of(interruption)
    finally:
        console.clear()


# --- Training -----------------------------------------------------------------------------------------------------


def _check_exports(exports: Iterable[tuple[str, Path]]) -> None:
    """Finds before an hour of training what would be in the way of its result."""
    from tokstudio.core.formats import FORMATS

    known = {name: kind for name, kind in FORMATS.items() if kind.writable}
    for name, path in exports:
        if name not in known:
            raise _WrongUsage(f'argument --export: format "{name}" is not known; known: {", ".join(known)}')
        folder = path.absolute().parent
        if not known[name].folder and not folder.is_dir():
            raise FormatError(f"{path.name}: the folder {folder} does not exist: make it, or choose another.")


def _read_corpus(files: Iterable[str], documents: str, encoding: str | None) -> Work[Corpus]:
    from tokstudio.core.corpus import Corpus

    sources: list[Source] = []
    for file in files:
        if file == "-":
            sources.append((yield from _read_standard_input(documents, encoding)))
        else:
            sources += (yield from Corpus.from_files_work([file], documents, encoding)).sources
    return Corpus(tuple(sources))


def _read_standard_input(documents: str, encoding: str | None) -> Work[Source]:
    import numpy as np

    from tokstudio.core.corpus import Source, document_ends
    from tokstudio.core.decoding import decode, detect, encoding_name

    chosen = None if encoding is None else encoding_name(encoding)
    raw = np.frombuffer(_standard_input(), np.uint8)
    decoded = yield from (detect(raw) if chosen is None else decode(raw, chosen))
    if not len(decoded.data):
        raise CorpusError("standard input: it holds no text.")
    ends = yield from document_ends(decoded.data, documents)
    return Source("standard input", None, decoded.encoding, decoded.note, decoded.data, ends)


def _tell_of(source: Source, console: _Console) -> None:
    """Says how a source was read, where that is not a matter of course."""
    remarks = [] if source.encoding in ("utf-8", "bytes") else [f"read as {source.encoding}"]
    remarks += [source.note] if source.note else []
    if remarks:
        console.say(f"{source.name}: {'; '.join(remarks)}.")


def _merge(trainer: Trainer, printer: _MergePrinter | None, console: _Console, signals: _Signals) -> int:
    """Trains to the end or to an interruption; gives the exit code."""
    try:
        with signals.held():
            while trainer.ended is None and not signals.asked:
                batch = trainer.advance()
                if printer:
                    printer.print(batch)
                # Both on one screen would be in each other's way.
                if trainer.ended is None and not (printer and printer.on_screen):
                    console.show(trainer.progress, f", {trainer.merges_made:,} merges" * (trainer.merges_made > 0))
    except KeyboardInterrupt as interruption:
        return _code_of(interruption)
    return 128 + signals.asked if signals.asked else _DONE


class _MergePrinter:
    """Prints merges in the words of the first source document.

    Args:
        stream: Where to.
        may_be_cut: Whether training goes on when nobody reads any longer, because something else is wanted of it.
    """

    def __init__(self, stream: TextIO | None, may_be_cut: bool) -> None:
        self._stream = stream
        self._may_be_cut = may_be_cut
        self.on_screen = stream is not None and stream.isatty()

    def print(self, batch: MergeBatch) -> None:
        """Prints each merge of a batch on a line."""
        if not len(batch):
            return
        # The ids of a run follow from the number of its merges: the first merge makes 256.
        pairs = enumerate(zip(batch.left.tolist(), batch.right.tolist(), strict=True), 255 + batch.first)
        lines = [f"Merge ({left}, {right}) into a new token {made}\n" for made, (left, right) in pairs]
        try:
            _put(self._stream, "".join(lines))
        except BrokenPipeError:
            if not self._may_be_cut:
                raise
            _abandon(self._stream)
            self._stream = None


def _summary(run: Run) -> str:
    merges = "1 merge" if len(run) == 1 else f"{len(run):,} merges"
    return (
        f"Trained in {run.seconds:.1f} s: {run.ended}. {merges}, {run.bytes_per_token():.2f} bytes per token, "
        f"{run.tokens_before:,} -> {_tokens(run):,} tokens."
    )


def _as_json(run: Run, files: list[str]) -> dict[str, object]:
    return {
        "merges": len(run),
        "vocabulary_size": 256 + len(run),
        "ended": run.ended,
        "tokens": _tokens(run),
        "bytes_per_token": run.bytes_per_token(),
        "seconds": run.seconds,
        "files": files,
    }


def _tokens(run: Run) -> int:
    return int(run.tokens_after[-1]) if len(run) else run.tokens_before


def _export(tokenizer: Tokenizer, exports: Iterable[tuple[str, Path]], files: list[str], console: _Console) -> int:
    """Writes every export that can be written, and names it in `files`; gives the exit code."""
    from tokstudio.core.formats import save_work

    code = _DONE
    for name, path in exports:
        try:
            report = console.finish(save_work(tokenizer, path, name))
        except TokStudioError as error:
            console.complain(str(error))
            code = _FAILED
            continue
        files += map(str, report.files)
        console.say(f"Exported {', '.join(map(str, report.files))}" + (f": {report.proof}." if report.proof else "."))
    return code


# --- Encoding and decoding ----------------------------------------------------------------------------------------


def _read_input(arguments: argparse.Namespace) -> tuple[str, bytes]:
    """The text or the ids to work on, and what to call them."""
    if arguments.text is not None:
        if arguments.file is not None:
            raise _WrongUsage("give either --text or a file")
        return "--text", _bytes_of_argument(arguments.text)
    if arguments.file in (None, "-"):
        return "standard input", _standard_input()
    path = Path(arguments.file)
    try:
        return path.name, path.read_bytes()
    except FileNotFoundError as error:
        raise CorpusError(f"{path.name}: there is no such file.") from error
    except IsADirectoryError as error:
        raise CorpusError(f"{path.name}: this is a folder, not a file.") from error
    except OSError as error:
        raise CorpusError(f"{path.name}: it cannot be read ({error.strerror or error}).") from error


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise CorpusError("standard input: it is closed.")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise CorpusError(f"standard input: it cannot be read ({error.strerror or error}).") from error


def _bytes_of_argument(text: str) -> bytes:
    """Gives back the bytes that were typed, those included that are not UTF-8."""
    from tokstudio.core.corpus import to_utf8

    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return to_utf8(text)


def _read_ids(name: str, data: bytes) -> list[int]:
    if data.startswith(_NPY_MAGIC):
        return _read_npy(name, data)
    if data.lstrip().startswith(b"["):
        try:
            ids = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{name}: this is not a JSON list of ids ({error}).") from error
        for place, token in enumerate(ids, 1):
            if type(token) is not int:
                raise ConfigError(f"{name}: item {place:,} of the list is not an id.")
        return ids
    ids = list[int]()
    for place, word in enumerate(data.split(), 1):
        if not re.fullmatch(rb"-?[0-9]{1,20}", word):
            shown = word[:40].decode("utf-8", "replace")
            raise ConfigError(
                f'{name}: word {place:,}, "{shown}", is not an id. Give a JSON list, or ids separated by white space.'
            )
        ids.append(int(word))
    return ids


def _read_npy(name: str, data: bytes) -> list[int]:
    import numpy as np

    try:
        ids: NDArray[np.generic] = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    except Exception as error:  # a damaged header can raise nearly anything
        raise ConfigError(f"{name}: this is not a NumPy array that can be read ({error}).") from error
    if ids.dtype.kind not in "iu" or ids.ndim != 1:
        raise ConfigError(f"{name}: the array must be a row of whole numbers, not {ids.ndim}-dimensional {ids.dtype}.")
    return ids.tolist()


def _load(path: Path, console: _Console) -> Tokenizer:
    from tokstudio.core.formats import load_work

    loaded = console.finish(load_work(path))
    if path.is_dir():
        console.say(f"Tokenizer: {', '.join(file.name for file in loaded.files)}.")
    return loaded.tokenizer


def _deliver(data: bytes | memoryview, out: Path | None, console: _Console) -> None:
    """Writes a result to its file, in one step, or to standard output."""
    if out is None:
        _put(sys.stdout, data)
        return
    from tokstudio.core.files import write_files

    console.finish(write_files({out: [data]}))


# --- The terminal -------------------------------------------------------------------------------------------------


class _Console:
    """Standard error: sentences, and on a terminal one line of progress that is written over.

    Args:
        chatty: Whether it says more than errors.
    """

    def __init__(self, chatty: bool) -> None:
        self._chatty = chatty
        self._live = chatty and sys.stderr is not None and sys.stderr.isatty()
        self._shown = 0
        self._next = time.monotonic() + _REFRESH

    def finish(self, work: Work[T]) -> T:
        """Drives `work` to its end, shows its progress and gives what it returns."""
        with closing(work):
            while True:
                try:
                    progress = next(work)
                except StopIteration as end:
                    return end.value
                self.show(progress)

    def show(self, progress: Progress, detail: str = "") -> None:
        """Shows how far the work is, unless that was done a moment ago."""
        now = time.monotonic()
        if not self._live or now < self._next:
            return
        self._next = now + _REFRESH
        share = f" {100 * progress.done // progress.total} %" if progress.total else ""
        line = f"{progress.phase.capitalize()}{share}{detail}"[: shutil.get_terminal_size().columns - 1]
        _say("\r" + line.ljust(self._shown), end="")
        self._shown = len(line)

    def clear(self) -> None:
        """Takes the line of progress away."""
        if self._shown:
            _say("\r" + " " * self._shown + "\r", end="")
            self._shown = 0

    def say(self, sentence: str) -> None:
        """Says something on a line of its own, if sentences are wanted."""
        if self._chatty:
            self.clear()
            _say(sentence)

    def complain(self, sentence: str) -> None:
        """Says what went wrong."""
        self.clear()
        _say(f"tokstudio: {sentence}")


def _say(text: str, end: str = "\n") -> None:
    # Where standard error is gone, nobody is left to tell.
    with suppress(OSError, ValueError):
        print(text, end=end, file=sys.stderr, flush=True)  # noqa: T201


def _put(stream: TextIO | None, data: str | bytes | memoryview) -> None:
    """Writes all of `data` to a standard stream at once, bytes exactly as they are."""
    if stream is None:
        return
    try:
        stream.flush()
        stream.buffer.write(data.encode() if isinstance(data, str) else data)
        stream.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _abandon(stream)
        raise TokStudioError(_not_written(error)) from error


def _not_written(error: OSError) -> str:
    return f"standard output: it cannot be written ({error.strerror or error})."


def _abandon(stream: TextIO | None) -> None:
    """Sends what is still to be written nowhere, so that Python's last flush does not fail once more."""
    import os

    if stream is None:
        return
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


# --- Signals ------------------------------------------------------------------------------------------------------


class _Interruption(KeyboardInterrupt):
    """A signal that ends the program, with its exit code."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.code = 128 + number


def _code_of(interruption: KeyboardInterrupt) -> int:
    return interruption.code if isinstance(interruption, _Interruption) else _INTERRUPTED


class _Signals:
    """Ctrl-C and the request to terminate.

    Attributes:
        asked: The signal that arrived while it was held back, or 0.
    """

    def __init__(self) -> None:
        self.asked = 0
        self._held = False

    @contextmanager
    def caught(self) -> Generator[None]:
        """Makes signals end the work as an exception does, so that nothing half-written is left behind."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        # One that is ignored, as for a job in the background, stays ignored.
        numbers = [one for one in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(one) != signal.SIG_IGN]
        before = [signal.signal(number, self._receive) for number in numbers]
        try:
            yield
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)

    @contextmanager
    def held(self) -> Generator[None]:
        """Holds back the first signal: it only sets `asked`, and the work ends between two of its pieces."""
        self._held = True
        try:
            yield
        finally:
            self._held = False

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        if self._held and not self.asked:
            self.asked = number
        else:
            raise _Interruption(number)
