"""The process of the command line: its streams, its signals, and a start of the window that fails.

May import `core.base`.
"""

# SPDX-License-Identifier: MIT
