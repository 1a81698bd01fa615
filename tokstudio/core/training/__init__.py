"""Training, from a corpus to a run.

May import `core.tokenizer` and what that may import; not `core.formats`, not `core.analysis`.
"""

# SPDX-License-Identifier: MIT
