"""The command line as a process: its streams, whatever they are connected to."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tokstudio import __version__


def run_program(*arguments, **options):
    command = [sys.executable, "-m", "tokstudio", *arguments]
    return subprocess.run(command, capture_output=True, timeout=120, **options)


def test_the_module_is_the_command(text):
    done = run_program("--version")
    assert (done.returncode, done.stdout.decode().strip()) == (0, f"tokstudio {__version__}")


def test_a_reader_that_has_seen_enough_is_no_error(text, tmp_path):
    out = tmp_path / "whole.json"
    for exports, written in ([], False), (["--export", f"huggingface={out}"], True):
        command = [sys.executable, "-m", "tokstudio", "train", text, "--vocab-size", "306", "--print-merges", *exports]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
            program.stdout.close()
            errors = program.stderr.read()
        assert program.returncode == 0
        assert b"Error" not in errors
        assert out.exists() == written


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["train", "--vocab-size", "306", "--json"]])
def test_a_full_disk_is_said_once(text, arguments):
    files = [text] if arguments[0] == "train" else []
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "tokstudio", *arguments, *files]
        # Where Python is told not to buffer, argparse itself swallows the fault.
        environment = os.environ | {"PYTHONUNBUFFERED": ""}
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=120, env=environment)
    assert done.returncode == 1
    assert re.fullmatch(rb"tokstudio: standard output: it cannot be written \(.*\)\.\n", done.stderr)


def test_words_are_utf8_whatever_the_locale(tmp_path):
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = run_program("train", str(tmp_path / "büch.txt"), "--vocab-size", "300", env=environment)
    assert done.returncode == 1
    assert done.stderr.decode("utf-8") == "tokstudio: büch.txt: there is no such file or folder.\n"
