"""The figures of Compare as text, made from what computes them, so that the guide and the window agree."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from tokstudio.core.comparison.figures import FIGURES, Figure

#: What each figure says, by its name.
_SAYS = {
    "bytes_per_token": "How long a token is on average: how well a tokenizer compresses a text.",
    "tokens": "How many tokens the text becomes, which is what a model is paid for.",
    "characters_per_token": "How many letters, digits and signs a token has on average.",
    "tokens_per_line": "How many tokens a line takes: for parallel texts, what the same content costs.",
    "fertility": "Into how many tokens a word is cut on average. At 1, no word is cut.",
    "words_split": "How many of the words in the text are cut into several tokens.",
    "whole_words": "How many of the different words are one token. A word that occurs often counts once.",
    "premium": "How many times more tokens a text takes than the same content in another language.",
    "renyi": "Whether all tokens that occur are about equally frequent, where 1 means that they are. "
    "Frequent tokens weigh more than rare ones.",
    "renyi_whole": "Like Renyi efficiency, but tokens of the vocabulary that do not occur lower it.",
    "shannon": "How hard it is to guess a token of the text if only the frequencies of tokens are known.",
    "vocabulary_used": "How much of the vocabulary this text needs.",
    "not_utf8": "How often a token is not text by itself, as it cuts a character.",
    "begins_inside": "How often a token begins between two bytes of one character.",
    "normalised_length": "How many tokens the text takes for each token of a tokenizer that you choose.",
}
#: The figures whose note warns of a wrong conclusion; others say how they are computed.
_TRAPS = {
    *("bytes_per_token", "tokens_per_line", "fertility", "premium", "renyi", "renyi_whole", "shannon"),
    *("vocabulary_used", "whole_words"),
}


def figures_text() -> str:
    """A section for each figure, as Markdown: its words, formula, unit, better values, note or trap, and source."""
    return "\n\n".join(map(_section, FIGURES.values()))


def _section(figure: Figure) -> str:
    lines = [f"## {figure.title}", _SAYS[figure.name], f"Formula: `{figure.formula}`"]
    better = figure.said_better or "Neither more nor less is better."
    lines.append(f"Unit: {figure.unit}. {better}" if figure.unit else better)
    lines += [f"*{'Trap' if figure.name in _TRAPS else 'Note'}:* {figure.note}"] if figure.note else []
    lines += [f"Source: {figure.source}."] if figure.source else []
    return "\n\n".join(lines)
