"""What changes the state and tells of it: jobs, corpus, runs, view, training, player, preferences.

May import `gui.state` and the core; no widgets.
"""

# SPDX-License-Identifier: MIT
