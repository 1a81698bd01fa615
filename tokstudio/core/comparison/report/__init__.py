"""The report of a comparison: one page of HTML that loads nothing and runs nothing.

Imports `core.comparison` and the folders below it.
"""

# SPDX-License-Identifier: MIT
