"""Hatchling's hook for the long description: the README with links that work where it is shown without the sources."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)(\[[^\]]*\])\((?![a-z]+:|#)([^)\s]+)\)")


class ReadmeHook(MetadataHookInterface):
    """Sets the project's `readme`."""

    def update(self, metadata: dict) -> None:
        """Reads README.md; its links go to the files of this version at the project's address."""
        root = Path(self.root)
        source = (root / "tokstudio" / "version.py").read_text(encoding="utf-8")
        version = re.search(r'__version__ = "(.*)"', source)[1]  # type: ignore[index]
        text = absolute_links((root / "README.md").read_text(encoding="utf-8"), metadata["urls"]["Homepage"], version)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def absolute_links(text: str, homepage: str, version: str) -> str:
    """Gives Markdown with every relative link to a file made absolute; pictures are linked as what they are."""

    def absolute(link: re.Match[str]) -> str:
        mark, words, path = link.groups()
        return f"{mark}{words}({homepage}/{'raw' if mark else 'blob'}/v{version}/{path})"

    return _LINK.sub(absolute, text)
