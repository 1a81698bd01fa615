"""A data set encoded into files of ids that trainers of models read.

Imports `core.analysis`, `core.formats` and the folders below them.
"""

# SPDX-License-Identifier: MIT
