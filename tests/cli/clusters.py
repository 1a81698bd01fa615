"""A Dask cluster whose workers are threads of the tests' process, as processes of their own take seconds to start."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from distributed import LocalCluster


def cluster_here(workers: int) -> LocalCluster:
    """A cluster of so many workers with a thread each."""
    options = {"threads_per_worker": 1, "processes": False, "protocol": "tcp", "dashboard_address": ":0"}
    return LocalCluster(n_workers=workers, silence_logs=50, **options)
