"""Encoding and decoding.

May import `core.libraries`, `core.model` and what those may import.
"""

# SPDX-License-Identifier: MIT
