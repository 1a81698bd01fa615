"""The GPT-2 format: `vocab.json` with `merges.txt`, `encoder.json` with `vocab.bpe`.

Imports `core.formats.common` and the folders below it.
"""

# SPDX-License-Identifier: MIT
