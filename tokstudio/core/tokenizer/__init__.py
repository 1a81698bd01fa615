"""Encoding and decoding.

Imports `core.libraries`, `core.model` and the folders below them.
"""

# SPDX-License-Identifier: MIT
