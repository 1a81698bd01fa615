"""Training in the session: a run in a job, its settings and forecast, several in a queue, one that follows the weights.

May import `session.common`, `gui.state` and the core.
"""

# SPDX-License-Identifier: MIT
