"""Runs at each start of a bundle: empty modules for those of OpenGL, which are left out.

pyqtgraph imports them to derive a view that it makes only where `useOpenGL` is set, which is never here.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from types import ModuleType

for name in ("QtOpenGL", "QtOpenGLWidgets"):
    module = ModuleType(f"PySide6.{name}")
    module.__dict__["QOpenGLWidget"] = type("QOpenGLWidget", (), {})
    sys.modules[module.__name__] = module
