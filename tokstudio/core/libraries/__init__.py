"""Other tokenizer libraries, called in a child process.

Imports `core.pretokenization` and the folders below it.
"""

# SPDX-License-Identifier: MIT
