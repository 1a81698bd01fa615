"""The corpus itself: its documents, its words, and where in it each token occurs.

Imports `core.analysis` and the folders below it. What is left out of a corpus, and rules that read text alone, are in
`core.corpus`.
"""

# SPDX-License-Identifier: MIT
