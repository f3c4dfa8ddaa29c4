from __future__ import annotations

from pathlib import Path

import pytest

import testbed as tb

SMALL = {"job.size": "8kB", "job.iterations": 1}


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, `run`, and a sweep with two points, `swept`."""
    top = tmp_path_factory.mktemp("made")
    tb.run("rack-lossy", set={"job.size": "20kB"}, world="simulated", out=top / "run")
    swept = tb.sweep(
        "rack", axes={"topology.hosts": [2, 4]}, seeds=1, worlds="simulated", set=SMALL, out=top / "swept", jobs=1
    )
    swept.plot()
    return top
