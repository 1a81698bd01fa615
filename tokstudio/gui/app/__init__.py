"""The process: start, single instance, signals, log, crash reports, checks of display and storage.

May import every folder of the window.
"""

# SPDX-License-Identifier: MIT
