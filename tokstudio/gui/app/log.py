"""The log of the program: to standard error, and to a file on request."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import logging
import os
from io import TextIOWrapper
from pathlib import Path

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.private_folders import private_opener

_FORM = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}
# Messages that Qt's offscreen platforms repeat for every window; they are irrelevant.
_NO_HINTS = "This plugin does not support propagateSizeHints()"


class _PrivateFile(logging.FileHandler):
    """A log for this user alone: it names files and says what was done with them."""

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding=self.encoding, errors=self.errors, opener=private_opener)


class Log:
    """The log of one run of the program, also in the file `path`; a context manager.

    Raises:
        TokStudioError: The file cannot be written.
    """

    def __init__(self, path: Path | None) -> None:
        level = os.environ.get("TOKSTUDIO_LOG", "WARNING").upper()
        level = level if level in logging.getLevelNamesMapping() else "WARNING"
        logging.basicConfig(level=level)
        self._root = logging.getLogger()
        self._ours = logging.getLogger("tokstudio")
        self._file: logging.FileHandler | None = None
        self._level = self._ours.level
        if path is not None:
            try:
                self._file = _PrivateFile(path, encoding="utf-8", errors="backslashreplace")
            except OSError as error:
                raise TokStudioError(f"{path}: the log cannot be written there: {error.strerror or error}.") from error
            self._file.setFormatter(logging.Formatter(_FORM))

    def __enter__(self) -> None:
        self._others = [(handler, handler.level) for handler in self._root.handlers]
        # The file, and the report of a crash, also get the levels that standard error does not show.
        for handler, _ in self._others:
            handler.setLevel(max(handler.level, self._root.level))
        self._ours.setLevel(min(logging.INFO, self._root.level))
        if self._file is not None:
            self._root.addHandler(self._file)
        self._before = qInstallMessageHandler(self._take_qt)

    def __exit__(self, *_: object) -> None:
        qInstallMessageHandler(self._before)
        if self._file is not None:
            self._root.removeHandler(self._file)
            self._file.close()
        self._ours.setLevel(self._level)
        for handler, level in self._others:
            handler.setLevel(level)

    def _take_qt(self, kind: QtMsgType, context: QMessageLogContext, text: str | None) -> None:
        if text == _NO_HINTS:
            return
        logging.getLogger("qt").log(_LEVELS.get(kind, logging.WARNING), "%s", text)
        if self._before is not None:
            self._before(kind, context, text or "")
