"""The results of the benchmarks: the newest row of each work in `results.json`, and BENCHMARKS.md, which shows them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER / "results.json"
PAGE = FOLDER.parents[1] / "BENCHMARKS.md"
_HEADS = ("work", "text or input", "TokStudio", "beside", "ratio", "should reach", "measured")
_CPU = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Row:
    """One measured work.

    Attributes:
        program: The program in this folder that measures it.
        work: What is done.
        input: What it is done with: the text, and what decides the amount of work.
        ours: The value of TokStudio, in `unit`.
        unit: The unit of the values. One that ends in "/s" is better when higher, every other when lower.
        date: The day of the measurement, as in 2026-11-24.
        machine: Processor and number of cores.
        rival: What it is held against: a library, or another way to do the work; empty for none.
        version: The version of the rival; empty where it has none.
        theirs: The value of the rival, in `unit`; None for none.
        bar: What the value or the ratio should reach; empty for nothing.
    """

    program: str
    work: str
    input: str
    ours: float
    unit: str
    date: str
    machine: str
    rival: str = ""
    version: str = ""
    theirs: float | None = None
    bar: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What tells the rows apart; of those with one key the newest is kept."""
        return self.program, self.work, self.input, self.rival

    @property
    def ratio(self) -> float | None:
        """How many times as good as the rival."""
        if not self.theirs or not self.ours:
            return None
        return self.ours / self.theirs if self.unit.endswith("/s") else self.theirs / self.ours


def read(file: Path = RESULTS) -> list[Row]:
    """The rows of a file, none where there is none."""
    if not file.exists():
        return []
    entries = json.loads(file.read_text(encoding="utf-8"))
    return [Row(**{name: value for name, value in entry.items() if name != "ratio"}) for entry in entries]


def keep(new: Row, file: Path = RESULTS, page: Path = PAGE) -> None:
    """Puts a row into the file in place of an older one of the same work, and shows it on the page."""
    rows = read(file)
    places = [place for place, row in enumerate(rows) if row.key == new.key]
    if places:
        rows[places[0]] = new
    else:
        rows.append(new)
    write(rows, file, page)


def write(rows: Sequence[Row], file: Path = RESULTS, page: Path = PAGE) -> None:
    """Writes rows and page; the works of a program stay together."""
    programs = list(dict.fromkeys(row.program for row in rows))
    rows = sorted(rows, key=lambda row: programs.index(row.program))
    entries = [{**asdict(row), "ratio": row.ratio and round(row.ratio, 2)} for row in rows]
    file.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    page.write_text(shown(page.read_text(encoding="utf-8"), rows), encoding="utf-8")


def shown(page: str, rows: Iterable[Row]) -> str:
    """The page with the table of the rows in place of its table, which is its end."""
    head = page.partition(f"| {_HEADS[0]} |")[0].rstrip("\n")
    lines = [_line(_HEADS), _line(["---", "---", "---:", "---:", "---:", "---", "---"]), *map(_shown_row, rows)]
    return head + "\n\n" + "\n".join(lines) + "\n"


def _shown_row(row: Row) -> str:
    rival = f"{row.rival} {row.version}".strip()
    beside = rival if row.theirs is None else f"{rival}: {_number(row.theirs)} {row.unit}"
    ratio = "" if row.ratio is None else f"{row.ratio:.{2 if row.ratio < 2 else 1}f}x"
    ours, measured = f"{_number(row.ours)} {row.unit}", f"{row.date}, {row.machine}"
    return _line([f"{row.work} (`{row.program}`)", row.input, ours, beside, ratio, row.bar, measured])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def computer() -> str:
    """The processor and the number of cores that this is measured on."""
    names = [line for line in _CPU.read_text().splitlines() if line.startswith("model name")] if _CPU.exists() else []
    name = names[0].partition(":")[2].strip() if names else platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores"


if __name__ == "__main__":
    write(read())
