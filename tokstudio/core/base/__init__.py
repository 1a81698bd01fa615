"""The base of all other folders: errors, progress, wording, memory, files, private folders, child processes.

Imports no other folder of TokStudio.
"""

# SPDX-License-Identifier: MIT
