"""The tiktoken format: `NAME.tiktoken` with its side file.

May import `core.formats.common` and what that may import.
"""

# SPDX-License-Identifier: MIT
