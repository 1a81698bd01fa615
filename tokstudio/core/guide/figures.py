"""The figures of Compare as text, made from what computes them, so that the guide and the window agree."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from tokstudio.core.comparison.figures import FIGURES, Figure

_BETTER = {"more": "More is better.", "less": "Less is better.", None: "Neither more nor less is better."}


def figures_text() -> str:
    """A section for each figure, as Markdown: formula, unit, which value is better, the trap, the source."""
    return "\n\n".join(map(_section, FIGURES.values()))


def _section(figure: Figure) -> str:
    lines = [f"## {figure.title}", f"Formula: `{figure.formula}`"]
    lines.append(f"Unit: {figure.unit}. {_BETTER[figure.better]}" if figure.unit else _BETTER[figure.better])
    lines += [f"*Trap:* {figure.note}"] if figure.note else []
    lines += [f"Source: {figure.source}."] if figure.source else []
    return "\n\n".join(lines)
