"""The minbpe format: `NAME.model` and `NAME.vocab`.

May import `core.formats.common` and what that may import.
"""

# SPDX-License-Identifier: MIT
