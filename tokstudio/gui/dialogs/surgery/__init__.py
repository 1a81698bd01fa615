"""The dialogs of the Tokenizer menu: extend and fork, prune, special tokens, and what stayed the same.

Each makes a new entry in Runs; the tokenizer that it began with is never changed. May import `gui.token_text`,
`gui.session`, `gui.widgets` and what these may import.
"""

# SPDX-License-Identifier: MIT
