"""The process of the command line: its signals, and a start of the window that fails.

Imports nothing else of ours.
"""

# SPDX-License-Identifier: MIT
