"""The arguments of each command, with their help; `parse.parse` finds the command.

May import `cli.process` and `core.base`.
"""

# SPDX-License-Identifier: MIT
