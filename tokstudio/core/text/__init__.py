"""Facts about bytes and characters: UTF-8, encodings, Unicode classes, scripts, the byte-level alphabet.

May import `core.base`.
"""

# SPDX-License-Identifier: MIT
