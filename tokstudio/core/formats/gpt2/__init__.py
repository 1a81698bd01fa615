"""The GPT-2 format: `vocab.json` with `merges.txt`, `encoder.json` with `vocab.bpe`.

May import `core.formats.common` and what that may import.
"""

# SPDX-License-Identifier: MIT
