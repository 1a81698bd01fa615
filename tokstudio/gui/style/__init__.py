"""Colours, fonts, the style sheet and icons.

May import `core.base`.
"""

# SPDX-License-Identifier: MIT
