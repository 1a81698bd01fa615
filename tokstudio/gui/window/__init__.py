"""The main window: tool bar, status bar, docks, message bar, offers, about.

May import every folder of the window but `gui.app`.
"""

# SPDX-License-Identifier: MIT
