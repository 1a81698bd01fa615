"""llama.cpp, by the package `xllamacpp`: reads the vocabulary of a GGUF file, and encodes and decodes by it.

The package offers no tokenizers without a model, so the functions of its compiled module are called. What they take
moves with each version: only known versions are used, and only after a trial. All of it belongs into a child process,
which llama.cpp ends where a file is damaged.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ctypes
import importlib.util
import os
import struct
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PACKAGE = "xllamacpp"
#: Where `vocab_only` stands in `llama_model_params`, in bytes, by the version of the package.
VOCABULARY_ONLY: Mapping[str, int] = {"2026.10.11549": 72}

_PARAMETERS = 256  # bytes, more than the parameters of a model take
_ERROR = 4  # the level of messages
_LONGEST_PIECE = 256
_AROUND = 4  # tokens at most that are added to a text


class LlamaUnusable(Exception):
    """llama.cpp is not there, or cannot be used as it is; the message is the end of a sentence."""


class _Parameters(ctypes.Structure):
    _fields_ = (("content", ctypes.c_ubyte * _PARAMETERS),)


def why_unusable() -> str:
    """Why llama.cpp cannot be used, as the end of a sentence; "" where it can.

    It loads a file without tensors and sizes of a model, which is refused where more than a vocabulary is read.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trial.gguf"
        path.write_bytes(_trial())
        try:
            ids = LlamaCpp(str(path)).encode("abba", True)
        except LlamaUnusable as error:
            return str(error)
        except ValueError as error:
            return f"{PACKAGE} {_version()} does not read a vocabulary alone ({error})"
    return "" if ids == [2, 1, 0] else f"{PACKAGE} {_version()} does not encode as llama.cpp does"


class LlamaCpp:
    """The vocabulary of a GGUF file, as llama.cpp reads it; `why_unusable` must have found that it can.

    Raises:
        LlamaUnusable: llama.cpp cannot be used.
        ValueError: It refuses the file, with its words.
    """

    def __init__(self, path: str) -> None:
        self._calls, self._said = _calls(), list[str]()
        # A reference, as the module only has its address.
        self._listener = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(self._listen)
        self._calls.llama_log_set(self._listener, None)
        self._model = self._load(path)
        self._vocabulary = self._calls.llama_model_get_vocab(self._model)

    def encode(self, text: str, specials: bool) -> Sequence[int]:
        """The ids of a text, with special tokens recognised in it or not."""
        return self._ids(text, False, specials)

    def encode_input(self, text: str, around: bool) -> Sequence[int]:
        """The ids of a text as a model gets them, with or without BOS and EOS."""
        return self._ids(text, around, True)

    def _ids(self, text: str, around: bool, specials: bool) -> Sequence[int]:
        raw = text.encode()
        ids = (ctypes.c_int32 * (len(raw) + _AROUND))()
        count = self._calls.llama_tokenize(self._vocabulary, raw, len(raw), ids, len(ids), around, specials)
        if count < 0:
            raise ValueError("it makes more tokens of a text than that has bytes")
        return ids[:count]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids."""
        return b"".join(map(self._piece, ids)).decode("utf-8", "replace")

    def _piece(self, token: int) -> bytes:
        size, longest = _LONGEST_PIECE, self._calls.llama_token_to_piece
        buffer = ctypes.create_string_buffer(size)
        count = longest(self._vocabulary, token, buffer, size, 0, True)
        if count < 0:
            size = -count
            buffer = ctypes.create_string_buffer(size)
            count = longest(self._vocabulary, token, buffer, size, 0, True)
        return buffer.raw[: max(count, 0)]

    def _load(self, path: str) -> int:
        parameters = self._calls.llama_model_default_params()
        parameters.content[_place()] = 1
        self._said.clear()
        model = self._calls.llama_model_load_from_file(os.fsencode(path), parameters)
        if not model:
            why = next((line for line in self._said if line), "it says no reason")
            raise ValueError(why.split("error loading model: ")[-1].removeprefix("error loading model vocabulary: "))
        return model

    def _listen(self, level: int, text: bytes | None, _: object) -> None:
        if level == _ERROR and text is not None:
            self._said.append(text.decode("utf-8", "replace").strip())


def _version() -> str:
    """The version of the package; raises ModuleNotFoundError where there is none."""
    from importlib.metadata import version

    return version(PACKAGE)


def _place() -> int:
    try:
        return VOCABULARY_ONLY[_version()]
    except ModuleNotFoundError:
        raise LlamaUnusable(f"{PACKAGE} is not installed") from None
    except KeyError:
        known = ", ".join(VOCABULARY_ONLY)
        raise LlamaUnusable(f"{PACKAGE} {_version()} is not known: install {known}") from None


def _calls() -> Any:  # noqa: ANN401 - a compiled module
    """The functions of llama.cpp with their types."""
    _place()
    spec = importlib.util.find_spec(PACKAGE)
    folders = [] if spec is None else spec.submodule_search_locations or []
    files = [file for folder in folders for file in sorted(Path(folder).glob(f"{PACKAGE}*")) if file.is_file()]
    # It would start a debugger where a file is damaged.
    os.environ["GGML_NO_BACKTRACE"] = "1"
    pointer, number, boolean, text = ctypes.c_void_p, ctypes.c_int32, ctypes.c_bool, ctypes.c_char_p
    types: Mapping[str, tuple[object, tuple[object, ...]]] = {
        "llama_model_default_params": (_Parameters, ()),
        "llama_model_load_from_file": (pointer, (text, _Parameters)),
        "llama_model_free": (None, (pointer,)),
        "llama_model_get_vocab": (pointer, (pointer,)),
        "llama_tokenize": (number, (pointer, text, number, pointer, number, boolean, boolean)),
        "llama_token_to_piece": (number, (pointer, number, pointer, number, number, boolean)),
        "llama_log_set": (None, (pointer, pointer)),
    }
    try:
        library = ctypes.CDLL(str(files[0]))
        for name, (result, arguments) in types.items():
            call = getattr(library, name)
            call.restype, call.argtypes = result, arguments
    except (IndexError, OSError, AttributeError) as error:
        raise LlamaUnusable(f"{PACKAGE} {_version()} cannot be called on this system") from error
    return library


def _trial() -> bytes:
    """A GGUF file of four tokens and a merge."""

    def text(content: str) -> bytes:
        return struct.pack("<Q", len(content.encode())) + content.encode()

    def texts(*contents: str) -> bytes:
        return struct.pack("<IIQ", 9, 8, len(contents)) + b"".join(map(text, contents))

    def string(content: str) -> bytes:
        return struct.pack("<I", 8) + text(content)

    values = {
        "general.architecture": string("llama"),
        "tokenizer.ggml.model": string("gpt2"),
        "tokenizer.ggml.pre": string("gpt-2"),
        "tokenizer.ggml.tokens": texts("a", "b", "ab", "Ċ"),
        "tokenizer.ggml.merges": texts("a b"),
        "tokenizer.ggml.bos_token_id": struct.pack("<II", 4, 0),
        "tokenizer.ggml.eos_token_id": struct.pack("<II", 4, 0),
    }
    content = b"".join(text(key) + value for key, value in values.items())
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(values)) + content + bytes(64)
