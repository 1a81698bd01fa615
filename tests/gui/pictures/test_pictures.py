"""Six pictures of the window are the reference ones, but for what another computer draws differently.

After a change that is meant, `python tests/gui/pictures/test_pictures.py` draws the references anew: look at them.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtGui import QImage

from tests.gui.pictures.draw import PICTURES, RIGHT_TO_LEFT_FONT

HERE = Path(__file__).parent
BLOCK = 8  # pixels; within a block letters may be drawn a little differently
NOTICED = 24  # of 255: by so much the mean colour of a block that has changed differs
CHANGED = 0.01  # the share of blocks that may have changed

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the references are drawn by Qt on Linux"),
    pytest.mark.filterwarnings("ignore"),
]


def draw(folder: Path) -> None:
    """Draws all pictures in processes of their own."""
    command = [sys.executable, "-X", "faulthandler", str(HERE / "draw.py"), str(folder)]
    paths = os.pathsep.join([str(HERE.parents[2]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"exit code {done.returncode}: {done.stderr}"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory) -> Path:
    """The folder with all pictures."""
    folder = tmp_path_factory.mktemp("pictures")
    draw(folder)
    return folder


def blocks(file: Path) -> NDArray[np.float64]:
    """The mean colours of a picture's blocks, as float64 [rows, columns, 3]."""
    image = QImage(str(file)).convertToFormat(QImage.Format.Format_RGB888)
    assert not image.isNull(), file
    height, width = image.height(), image.width()
    lines = np.frombuffer(image.constBits(), np.uint8).reshape(height, image.bytesPerLine())
    pixels = lines[:, : 3 * width].reshape(height, width, 3)[: height // BLOCK * BLOCK, : width // BLOCK * BLOCK]
    return pixels.reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK, 3).mean(axis=(1, 3))


def changed(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which blocks differ, as bool [rows, columns]."""
    return np.abs(one - other).max(axis=2) > NOTICED


@pytest.mark.parametrize("name", PICTURES)
def test_the_window_looks_as_in_the_reference_picture(drawn, name):
    made, reference = drawn / f"{name}.png", HERE / f"{name}.png"
    if not made.exists() and not PICTURES[name].text.isascii():
        pytest.skip(f"the font {RIGHT_TO_LEFT_FONT} is not installed")
    now, before = blocks(made), blocks(reference)
    assert now.shape == before.shape
    different = changed(now, before)
    if different.mean() > CHANGED:
        shade = np.repeat(np.repeat(different, BLOCK, 0), BLOCK, 1).astype(np.uint8) * 255
        rows, columns = shade.shape
        QImage(shade.tobytes(), columns, rows, columns, QImage.Format.Format_Grayscale8).save(
            str(made.with_name(f"{name}-different.png"))
        )
    assert different.mean() <= CHANGED, f"{different.mean():.1%} of the picture has changed: see {made.parent}"


@pytest.mark.parametrize(
    ("one", "other"), [("light", "dark"), ("light", "right-to-left"), ("small-light", "small-dark")]
)
def test_pictures_of_other_states_are_told_apart(one, other):
    assert changed(blocks(HERE / f"{one}.png"), blocks(HERE / f"{other}.png")).mean() > 2 * CHANGED


if __name__ == "__main__":
    draw(HERE)
