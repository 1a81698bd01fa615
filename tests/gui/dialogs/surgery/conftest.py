"""Opens dialogs of the Tokenizer menu."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt


@pytest.fixture
def opened(qtbot):
    shown = []

    def opened(dialog):
        qtbot.addWidget(dialog)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        shown.append(dialog)
        dialog.show()
        qtbot.waitExposed(dialog)
        return dialog

    yield opened
    for dialog in shown:
        dialog.close()
