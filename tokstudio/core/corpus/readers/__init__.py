"""Reads files of text and data sets, in any compression, as bytes with the ends of their documents.

Imports `core.base` and `core.text`; knows neither sources nor the corpus.
"""

# SPDX-License-Identifier: MIT
