"""What every other folder builds on: errors, progress, wording, memory, files, private folders, child processes.

May import nothing of ours.
"""

# SPDX-License-Identifier: MIT
