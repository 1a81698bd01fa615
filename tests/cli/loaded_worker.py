"""Loads what a worker of a cluster counts with: imported by the process of which workers are forks."""

# SPDX-License-Identifier: MIT
import distributed  # noqa: F401

from tokstudio import Corpus, count
from tokstudio.cli import counting  # noqa: F401

count(Corpus.from_text("the cat<e>"), "gpt2", ["<e>"], threads=1).divided(1)
