"""Grids of scenarios, or of models and algorithms: in parallel, resumable."""

from testbed.sweeps.loader import builtin_sweeps, describe_sweep, load_sweep
from testbed.sweeps.model import Sweep
from testbed.sweeps.scenario_model import ScenarioSweep

__all__ = ["ScenarioSweep", "Sweep", "builtin_sweeps", "describe_sweep", "load_sweep"]
