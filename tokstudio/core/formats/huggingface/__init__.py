"""The Hugging Face format: `tokenizer.json` and `tokenizer_config.json`.

May import `core.formats.common` and what that may import.
"""

# SPDX-License-Identifier: MIT
