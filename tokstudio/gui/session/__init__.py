"""What changes the state and tells of it, in parts: jobs, corpus, view, runs, training; and player, preferences.

`session.Session` builds the parts. May import `gui.state` and the core; no widgets.
"""

# SPDX-License-Identifier: MIT
