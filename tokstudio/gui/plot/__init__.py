"""Curves and bars on axes, to look at, to read from and to export.

May import `gui.widgets` and `gui.style`.
"""

# SPDX-License-Identifier: MIT
