"""Grids of scenarios, or of models and algorithms: in parallel, resumable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from testbed.sweeps.builtin import builtin_sweeps, describe_sweep
    from testbed.sweeps.loader import load_sweep
    from testbed.sweeps.model import Sweep
    from testbed.sweeps.scenario_model import ScenarioSweep

__all__ = ["ScenarioSweep", "Sweep", "builtin_sweeps", "describe_sweep", "load_sweep"]

__getattr__ = lazily(
    __name__,
    {
        "ScenarioSweep": ".scenario_model",
        "Sweep": ".model",
        "builtin_sweeps": ".builtin",
        "describe_sweep": ".builtin",
        "load_sweep": ".loader",
    },
)
