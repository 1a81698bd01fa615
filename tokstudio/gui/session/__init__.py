"""The parts of the session, which change the state and emit signals: jobs, corpus, view, runs, training and more.

`session.Session` builds the parts. `common` has those that the others need, `training` and `measuring` those for these
tasks; beside them stand the parts that belong to no task. May import `gui.state` and the core; no widgets.
"""

# SPDX-License-Identifier: MIT
