"""What an algorithm adds to the table of merges: the arrays that a run keeps, and what the merge log shows of them.

Each algorithm lists its own (`Algorithm.columns`, `Algorithm.shown`); runs, recordings, projects, tables and the window
go by these lists. What a project holds of a column is also in `core/project/schema.py`, since files must stay as they
are. It loads no NumPy, so that the command line can list the algorithms at once.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from tokstudio.core.base.records import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: The arrays of a run, or of some of its merges, by the names of their columns.
Columns: TypeAlias = "Mapping[str, NDArray[Any]]"


@dataclass(frozen=True)
class MergeColumn:
    """An array that runs of an algorithm keep beside their merges."""

    name: str  # its key in `Run.columns` and in recordings
    # The names in projects of the numbers of a merge, one a column of the array: it is [n] for one, else [n, numbers].
    # Without any, the array is about the run, as a cell of it in projects, and comes with the first merge that it is
    # known for.
    numbers: tuple[str, ...] = ()
    least: tuple[int, ...] = ()  # the least of each number
    stray: str = ""  # what is wrong with a project where a run of another algorithm has such numbers
    missing: str = ""  # what is wrong where one of its own runs has not
    # A number in place of which a training that goes further may have a smaller one; None for none.
    later: int | None = None
    dtype: Literal["int16", "int64"] = "int64"  # the type of the array

    def shaped(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of merges, one after another, as such an array."""
        return values.reshape(-1, len(self.numbers)) if len(self.numbers) > 1 else values.reshape(-1)

    def joined(self, parts: Iterable[NDArray[Any]]) -> NDArray[Any]:
        """The arrays of consecutive merges as one, also where there are none."""
        import numpy as np

        return np.concatenate([self.shaped(np.empty(0, self.dtype)), *parts])

    def repeats(self, values: NDArray[Any], again: NDArray[Any]) -> bool:
        """Whether a training that repeats the merges of a run, to go further, makes the same array."""
        import numpy as np

        if self.later is not None and len(values) == len(again):
            again = np.where(values == self.later, np.minimum(again, self.later), again)
        return np.array_equal(values, again)


class _MergeTable(Protocol):
    """The part of a run, or of one in progress, that `LogColumn` reads."""

    @property
    def columns(self) -> Columns: ...
    @property
    def languages(self) -> tuple[str, ...]: ...
    @property
    def second_stage(self) -> tuple[int, NDArray[np.int64]] | None: ...


@dataclass(frozen=True)
class LogColumn:
    """What the merge log has for runs of one algorithm alone."""

    # Its value for a merge, counted from 0; None for none. A text, a number, a count in units of the run's, or whether
    # it is about the left and the right part of the merge.
    value: Callable[[_MergeTable, int], Any]
    kind: Literal["text", "number", "count", "parts"]  # which of these
    export: str = ""  # its name in exported tables; "" where only the window has it
    title: str = ""  # its head in the window; "" where only tables have it
    tip: str = ""  # an explanation of the title
    word: str = ""  # the word of the glossary that the title is, or ""
    muted: bool = False  # whether the window draws it in the muted colour
    nothing: str = ""  # what the window shows where there is no value


TOGETHER = "all"  # in place of a language, where all chose together

CHOSEN_BY = MergeColumn(
    "chosen_by",
    ("chosen_by",),
    (-1,),
    stray="only parity-aware BPE has languages that choose",
    missing="a merge was chosen by no language of the training",
    dtype="int16",
)
SECOND_COUNTS = MergeColumn("second_counts")
OVERTAKEN = MergeColumn(
    "overtaken",
    ("overtaken",),
    (-1,),
    stray=(which := "supermerges belong to BoundlessBPE, which says of each merge whether it is one"),
    missing=which,
    later=0,  # no merge within words was left; there may be one at a lower minimum frequency
)
REMOVALS = MergeColumn(
    "removals",
    ("result", "replaced", "left_gone", "right_gone"),
    (0, 0, -1, -1),
    stray="only Picky BPE removes tokens",
    missing="what a merge made or removed is missing",
)


def language_of(table: _MergeTable, merge: int) -> str | None:
    """The language that chose a merge, counted from 0; None where all chose together."""
    number = int(table.columns["chosen_by"][merge])
    return None if number < 0 else table.languages[number]


def stage_of(table: _MergeTable, merge: int) -> int:
    """The stage of SuperBPE, 1 or 2, that made a merge, counted from 0."""
    return 1 if table.second_stage is None or merge < table.second_stage[0] else 2


def _overtaken(table: _MergeTable, merge: int) -> int | None:
    count = int(table.columns["overtaken"][merge])
    return None if count < 0 else count


def _gone(table: _MergeTable, merge: int) -> list[int | None]:
    """How often the left and the right part of a merge fell apart after it; None for one that stayed."""
    _, _, *places = table.columns["removals"][merge].tolist()
    return [None if each < 0 else each for each in places]


def _fell_apart(table: _MergeTable, merge: int) -> int | None:
    gone = [places for places in _gone(table, merge) if places is not None]
    return sum(gone) if gone else None


SHOWN_OF_PARITY = (
    LogColumn(
        language_of,
        "text",
        export="chosen_by",
        title="Chosen by",
        tip="The language that chose this merge, by parity-aware BPE",
        word="algorithm",
        nothing=TOGETHER,
    ),
)
SHOWN_OF_STAGES = (
    LogColumn(
        stage_of,
        "number",
        export="stage",
        title="Stage",
        tip="Of SuperBPE: 1 merges within words, 2 across them",
        word="transition",
        muted=True,
    ),
)
SHOWN_OF_SUPERMERGES = (
    LogColumn(
        _overtaken,
        "count",
        export="overtaken",
        title="Came before",
        tip="Of a supermerge of BoundlessBPE: how often the next merge within words occurred",
        word="supermerge",
    ),
)
SHOWN_OF_REMOVALS = (
    LogColumn(lambda table, merge: _gone(table, merge)[0], "count", export="left_removed"),
    LogColumn(lambda table, merge: _gone(table, merge)[1], "count", export="right_removed"),
    LogColumn(
        lambda table, merge: [places is not None for places in _gone(table, merge)],
        "parts",
        title="Removed",
        tip="What was removed from the vocabulary after this merge, by Picky BPE",
        word="removed-token",
    ),
    LogColumn(
        _fell_apart,
        "count",
        title="Fell apart",
        tip="How often the removed tokens stood in the corpus, and fell into their parts",
        muted=True,
    ),
)
