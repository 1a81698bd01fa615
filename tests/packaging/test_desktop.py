"""What a desktop is told of the program."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import configparser
import xml.etree.ElementTree as ET
from pathlib import Path

LINUX = Path(__file__).resolve().parents[2] / "packaging" / "linux"


def test_only_types_of_our_own_are_claimed() -> None:
    """A desktop may take any program that claims a type as the one that opens it, be it texts of all kinds."""
    entry = configparser.RawConfigParser()
    entry.read(LINUX / "tokstudio.desktop", encoding="utf-8")
    claimed = entry["Desktop Entry"]["MimeType"].rstrip(";").split(";")
    types = ET.parse(LINUX / "tokstudio.xml").getroot()
    defined = [one.get("type") for one in types if one.tag.endswith("mime-type")]
    assert claimed == defined
