"""The dialogs of the Tools menu that check: a tokenizer, and students' trainings; and that write an exercise.

May import `gui.session`, `gui.state`, `gui.widgets`, `gui.style` and the core.
"""

# SPDX-License-Identifier: MIT
