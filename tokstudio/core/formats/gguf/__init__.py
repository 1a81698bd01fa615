"""GGUF, the files of models for llama.cpp: their header alone is read; a tokenizer is written into a file or a model.

Imports the folders that `core.formats` may; what other formats read is passed to `Gguf` by `known_formats.py`.
"""

# SPDX-License-Identifier: MIT
