"""Checks whether a window can be opened before Qt tries: without a display, Qt aborts the process."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ctypes
import os
import socket
import sys
from pathlib import Path

from PySide6.QtCore import QLibraryInfo, QPluginLoader

_PLATFORM = "QT_QPA_PLATFORM"


def refusal() -> str | None:
    """Why no window can be opened, in one sentence; None if one can."""
    plugins = _plugins()
    asked = os.environ.get(_PLATFORM, "")
    if asked:
        # Such as "xcb:option=1;wayland": Qt uses the first that works.
        names = [name.partition(":")[0] for name in asked.split(";")]
        if os.environ.get("QT_QPA_PLATFORM_PLUGIN_PATH"):
            return None
        if not any(name in plugins for name in names):
            return f'{_PLATFORM} is "{asked}", which is not known here. Known: {", ".join(sorted(plugins))}.'
    else:
        names = _usual_names()
    if not sys.platform.startswith("linux"):
        return None
    faults = [_fault(name, plugins[name]) for name in names if name in plugins]
    if None in faults:
        return None
    return f"There is no display to open a window on{': ' if faults else ''}{'; '.join(filter(None, faults))}."


def _usual_names() -> list[str]:
    """The platforms that Qt tries by default on Linux."""
    wayland = os.environ.get("WAYLAND_DISPLAY") or os.environ.get("XDG_SESSION_TYPE") == "wayland"
    return [*(["wayland"] if wayland else []), *(["xcb"] if os.environ.get("DISPLAY") else [])]


def _plugins() -> dict[str, Path]:
    """Qt's platform plugins, by name."""
    folder = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath)) / "platforms"
    found: dict[str, Path] = {}
    for file in folder.glob("*"):
        about = QPluginLoader(str(file)).metaData().get("MetaData")
        if isinstance(about, dict):
            found.update(dict.fromkeys(about.get("Keys", ()), file))
    return found


def _fault(name: str, plugin: Path) -> str | None:
    """Why a display cannot be used; None if it can, or if its kind is unknown."""
    ask = _ask_x if name == "xcb" else _ask_wayland if name.startswith("wayland") else None
    if ask is None:
        return None
    try:
        ctypes.CDLL(str(plugin))
        return ask()
    except OSError as error:
        return f"Qt cannot load a library ({error}); install it"


def _ask_x() -> str | None:
    # Ask the library that Qt uses: it knows all forms of a display name and checks the authorization.
    library = ctypes.CDLL("libxcb.so.1")
    library.xcb_connect.restype = ctypes.c_void_p
    library.xcb_connection_has_error.argtypes = library.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = library.xcb_connect(None, None)
    failed = library.xcb_connection_has_error(connection)
    library.xcb_disconnect(connection)
    shown = os.environ.get("DISPLAY", "")
    return f"the X server {shown} (DISPLAY) does not answer, or refuses the connection" if failed else None


def _ask_wayland() -> str | None:
    if os.environ.get("WAYLAND_SOCKET"):
        return None
    name = os.environ.get("WAYLAND_DISPLAY") or "wayland-0"
    path = os.path.join(os.environ.get("XDG_RUNTIME_DIR", ""), name)
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(path)
        except OSError:
            return f"the Wayland desktop {path} (WAYLAND_DISPLAY) does not answer"
    return None
