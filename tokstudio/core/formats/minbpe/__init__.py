"""The minbpe format: `NAME.model` and `NAME.vocab`.

Imports `core.formats.common` and the folders below it.
"""

# SPDX-License-Identifier: MIT
