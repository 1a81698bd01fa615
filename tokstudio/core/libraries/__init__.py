"""Other tokenizer libraries, and Jinja for chat templates, called in child processes.

Imports `core.pretokenization` and the folders below it.
"""

# SPDX-License-Identifier: MIT
