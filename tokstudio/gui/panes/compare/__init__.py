"""The Compare pane: figures of several tokenizers on several texts, the texts, vocabularies and words themselves."""

# SPDX-License-Identifier: MIT
