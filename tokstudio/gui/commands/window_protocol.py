"""What the actions need of the window."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Protocol

from tokstudio.gui.commands.export_commands import Exports
from tokstudio.gui.commands.open_commands import Questions


class Views(Exports, Questions, Protocol):
    """What the actions need of the window."""

    def focus_find(self) -> None:
        """Puts the keyboard into the field that finds tokens."""
        ...

    def focus_filter(self) -> None:
        """Puts the keyboard into the filter of the table that is shown."""
        ...

    def copy_ids(self) -> None:
        """Copies the ids of the selected tokens of the text."""
        ...

    def remove_sources(self) -> None:
        """Takes the chosen sources out of the corpus."""
        ...

    def show_why_not(self) -> None:
        """Says why what is selected of the text is not one token."""
        ...

    def show_steps(self) -> None:
        """Puts the keyboard on the steps of the text's encoding."""
        ...

    def show_why(self) -> None:
        """Brings the pane into sight that says why a merge was made."""
        ...

    def reload_sources(self) -> None:
        """Reads the chosen sources' files again."""
        ...

    def reset_layout(self) -> None:
        """Puts every pane back where it belongs."""
        ...

    def show_shortcuts(self) -> None:
        """Lists every key."""
        ...

    def show_about(self) -> None:
        """Says version and licence."""
        ...

    def close(self) -> bool:
        """Closes the window, unless the person would rather not."""
        ...
