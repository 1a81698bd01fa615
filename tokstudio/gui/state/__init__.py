"""The state of the window, without signals or work: runs with their tokens, training settings, problems.

May import the core.
"""

# SPDX-License-Identifier: MIT
