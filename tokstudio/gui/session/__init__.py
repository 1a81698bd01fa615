"""The parts of the session, which change the state and emit signals: jobs, corpus, view, runs, training and more.

`session.Session` builds the parts. May import `gui.state` and the core; no widgets.
"""

# SPDX-License-Identifier: MIT
