"""Other tokenizer libraries, called in a process of their own.

May import `core.pretokenization` and what that may import.
"""

# SPDX-License-Identifier: MIT
