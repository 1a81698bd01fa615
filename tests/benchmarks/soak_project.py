"""Opens thousands of damaged projects: `python tests/benchmarks/soak_project.py [NUMBER]` (2,000 of each kind)."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

_TESTS = Path(__file__).resolve().parents[1] / "core"


def main() -> None:
    sys.path[:0] = [str(_TESTS / "project"), str(_TESTS / "formats")]
    from mutants import check_mutants_of_bytes, check_mutants_of_values
    from projects import saved, small_project

    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    with tempfile.TemporaryDirectory() as folder:
        for check in (check_mutants_of_bytes, check_mutants_of_values):
            path = saved(small_project(), Path(folder, "p.tokstudio"))
            started = time.perf_counter()
            refused = check(path, number, f"soak {number}")
            print(f"{check.__name__}: {refused:,} of {number:,} refused in {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
