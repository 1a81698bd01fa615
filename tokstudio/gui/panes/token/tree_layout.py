"""Computes the positions of the boxes of a binary tree of merges; without Qt. See also `tree_drawing`."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["merge", "leaf", "more"]

# Equal parts with many parents make a tree exponentially larger than its tokens: the rest becomes "…".
_MOST_BOXES = 20_000


@dataclass(frozen=True, eq=False)
class TreeNode:
    """A token and the two that were merged into it; a base token has none. Compared by identity.

    `truncated` means that its parts are omitted: they are drawn as one box, "…".
    """

    id: int
    label: str
    left: TreeNode | None = field(default=None, repr=False)
    right: TreeNode | None = field(default=None, repr=False)
    truncated: bool = False


@dataclass(frozen=True)
class TreeBox:
    """One box: the middle of its top edge in rows and pixels, and its place in the tree."""

    id: int
    label: str
    kind: Kind
    x: float
    row: int
    width: float
    parent: int
    children: tuple[int, ...]


def lay_out(root: TreeNode, width_of: Callable[[str], float], gap: float = 10.0) -> list[TreeBox]:
    """Places the boxes: leaves side by side, each parent above the middle of its children, without overlap.

    Boxes come row by row from the top and from left to right within a row. x begins at 0. It is not recursive, as
    a token of thousands of bytes may be a chain of thousands of merges. Widths and the least gap between two subtrees
    are in pixels.
    """
    nodes, kinds, parents, rows, children = _flatten(root)
    labels = ["…" if kind == "more" else node.label for node, kind in zip(nodes, kinds, strict=True)]
    widths = [width_of(label) for label in labels]
    # The extent of each subtree to the left and right of its root. Subtrees are side by side in separate strips, so no
    # two boxes can overlap.
    reach_left = [width / 2 for width in widths]
    reach_right = reach_left.copy()
    apart = [0.0] * len(nodes)
    for index in range(len(nodes) - 1, -1, -1):
        if not children[index]:
            continue
        left, right = children[index][0], children[index][-1]
        if left != right:
            apart[index] = (reach_right[left] + gap + reach_left[right]) / 2
        reach_left[index] = max(reach_left[index], apart[index] + reach_left[left])
        reach_right[index] = max(reach_right[index], apart[index] + reach_right[right])
    xs = [reach_left[0]] * len(nodes)
    for index, below in enumerate(children):
        for child, side in zip(below, (-1, 1), strict=False):
            xs[child] = xs[index] + side * apart[index]
    ids = [node.id for node in nodes]
    return list(map(TreeBox, ids, labels, kinds, xs, rows, widths, parents, map(tuple, children)))


def _flatten(root: TreeNode) -> tuple[list[TreeNode], list[Kind], list[int], list[int], list[list[int]]]:
    nodes, parents, rows = [root], [-1], [0]
    kinds: list[Kind] = [_kind(root)]
    children: list[list[int]] = [[]]
    index = 0
    while index < len(nodes):
        node = nodes[index]
        if kinds[index] != "more":
            parts: list[tuple[TreeNode, Kind]] = [(part, _kind(part)) for part in (node.left, node.right) if part]
            if node.truncated or (parts and len(nodes) >= _MOST_BOXES):
                parts = [(node, "more")]
            for part, kind in parts:
                children[index].append(len(nodes))
                nodes.append(part)
                kinds.append(kind)
                parents.append(index)
                rows.append(rows[index] + 1)
                children.append([])
        index += 1
    return nodes, kinds, parents, rows, children


def _kind(node: TreeNode) -> Kind:
    return "merge" if node.left or node.right or node.truncated else "leaf"
