"""The dialog Your Turn, in which a person chooses the merges of a short text.

It may import `gui/session`, `gui/token_text`, `gui/widgets` and `gui/style`.
"""
