"""The parts of the session that the others need: jobs, the corpus, the view, and the list of runs.

May import `gui.state` and the core, but no other part of the session.
"""

# SPDX-License-Identifier: MIT
