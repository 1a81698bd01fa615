"""The Hugging Face format: `tokenizer.json` and `tokenizer_config.json`.

Imports `core.formats.common` and the folders below it.
"""

# SPDX-License-Identifier: MIT
