"""The dialogs of the Tools menu for classes: students' trainings are checked, and an exercise is written for a class.

May import `gui.session`, `gui.state`, `gui.widgets`, `gui.style` and the core.
"""

# SPDX-License-Identifier: MIT
