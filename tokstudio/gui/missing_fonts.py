"""Which scripts the fonts of this computer cannot show."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtGui import QFont, QFontMetrics

TIP = "No installed font has their characters, so they are drawn as boxes. Install one, such as Noto Sans."

# A letter that every font of the script has. Of scripts that are not named here nothing is said.
_LETTERS = {
    "Latin": "a", "Cyrillic": "ж", "Han": "中", "Hiragana": "あ", "Katakana": "ア", "Hangul": "가", "Arabic": "م",
    "Devanagari": "न", "Greek": "λ", "Hebrew": "ש", "Thai": "ส", "Bengali": "ক", "Tamil": "க", "Telugu": "క",
    "Kannada": "ಕ", "Malayalam": "ക", "Gujarati": "ક", "Gurmukhi": "ਕ", "Oriya": "କ", "Sinhala": "ක", "Georgian": "ა",
    "Armenian": "ա", "Ethiopic": "ሀ", "Khmer": "ក", "Lao": "ກ", "Myanmar": "က", "Tibetan": "ཀ", "Cherokee": "Ꭰ",
}  # fmt: skip


def lacks_font(script: str) -> bool:
    """Whether no font has a script, the system's substitutes included. The first look for one may take some ms."""
    return script in _LETTERS and not QFontMetrics(QFont()).inFontUcs4(ord(_LETTERS[script]))
