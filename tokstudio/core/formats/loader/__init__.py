"""A folder with a tokenizer as data, and a loader in plain Python that encodes and decodes by itself.

Imports `core.tokenizer` and the folders below it, and `core.formats.common`.
"""

# SPDX-License-Identifier: MIT
