"""Draws the icons of the packages from TokStudio's one SVG: `python icons.py FOLDER`, in the virtual environment.

PNGs for Linux, an `.ico` for Windows and an `.icns` for macOS; both of these hold PNGs behind a table of contents.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import struct
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "resources" / "icons" / "tokstudio.svg"
SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)
_ICO_SIZES = (16, 24, 32, 48, 64, 128, 256)
# Names that Apple gives to PNGs of so many pixels: 16 and 32 (also as 16 at twice the resolution), and so on.
_ICNS_NAMES = {b"icp4": 16, b"icp5": 32, b"ic11": 32, b"ic12": 64, b"ic07": 128, b"ic13": 256, b"ic08": 256,
               b"ic14": 512, b"ic09": 512, b"ic10": 1024}  # fmt: skip


def draw(size: int) -> bytes:
    """The icon as a PNG of so many pixels."""
    from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    image = QImage(size, size, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    QSvgRenderer(str(SOURCE)).render(painter)
    painter.end()
    content = QByteArray()
    buffer = QBuffer(content)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # pyright: ignore[reportArgumentType,reportCallIssue]
    return bytes(content.data())


def ico(pictures: dict[int, bytes]) -> bytes:
    """Joins PNGs, by their sizes of at most 256 pixels, to an icon file of Windows."""
    place = 6 + 16 * len(pictures)
    table = struct.pack("<HHH", 0, 1, len(pictures))
    for size, picture in pictures.items():
        table += struct.pack("<BBBBHHII", size % 256, size % 256, 0, 0, 1, 32, len(picture), place)
        place += len(picture)
    return table + b"".join(pictures.values())


def icns(pictures: dict[bytes, bytes]) -> bytes:
    """Joins PNGs, by Apple's names, to an icon file of macOS."""
    parts = b"".join(name + struct.pack(">I", 8 + len(picture)) + picture for name, picture in pictures.items())
    return b"icns" + struct.pack(">I", 8 + len(parts)) + parts


def main(folder: Path) -> None:
    """Draws all of them into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {size: draw(size) for size in (*SIZES, 1024)}
    for size in SIZES:
        (folder / f"tokstudio-{size}.png").write_bytes(drawn[size])
    (folder / "tokstudio.ico").write_bytes(ico({size: drawn[size] for size in _ICO_SIZES}))
    (folder / "tokstudio.icns").write_bytes(icns({name: drawn[size] for name, size in _ICNS_NAMES.items()}))


if __name__ == "__main__":
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    main(Path(sys.argv[1]))
