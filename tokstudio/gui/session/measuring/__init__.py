"""What the session measures in jobs: how texts are compressed, what tokenizers make of them, facts about tokens.

May import `session.common`, `gui.state` and the core.
"""

# SPDX-License-Identifier: MIT
