"""The guide: its pages and its glossary, read from `resources/guide`, as HTML for the window or for one file.

May import every other folder of the core.
"""

# SPDX-License-Identifier: MIT
