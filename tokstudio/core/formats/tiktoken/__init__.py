"""The tiktoken format: `NAME.tiktoken` with its side file.

Imports `core.formats.common` and the folders below it.
"""

# SPDX-License-Identifier: MIT
