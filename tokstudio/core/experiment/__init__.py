"""The experiment file: all that decides a training in one TOML file, and what it gave.

Imports `core.library_training`, `core.training`, `core.formats` and the folders below them.
"""

# SPDX-License-Identifier: MIT
