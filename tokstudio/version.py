"""The version of TokStudio."""

# SPDX-License-Identifier: MIT
__version__ = "0.2.0.dev0"
