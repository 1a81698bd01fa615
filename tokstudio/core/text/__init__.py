"""Facts about bytes and characters: UTF-8, encodings, Unicode classes, scripts, the byte-level alphabet.

Imports `core.base`.
"""

# SPDX-License-Identifier: MIT
