"""The state of the window, without signals: runs with their tokens, training settings, source records, problems.

May import the core.
"""

# SPDX-License-Identifier: MIT
