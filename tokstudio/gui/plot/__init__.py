"""Interactive plots of curves and bars, which can be exported.

May import `gui.widgets` and `gui.style`.
"""

# SPDX-License-Identifier: MIT
