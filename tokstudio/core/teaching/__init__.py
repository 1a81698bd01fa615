"""Exercises: a student's training is read and compared, and its mistakes are named; texts and settings for a class.

May import every other folder of the core but `core.comparison`.
"""

# SPDX-License-Identifier: MIT
