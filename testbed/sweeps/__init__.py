"""Grids of models and algorithms, in parallel, resumable."""

from testbed.sweeps.loader import builtin_sweeps, load_sweep
from testbed.sweeps.model import Sweep

__all__ = ["Sweep", "builtin_sweeps", "load_sweep"]
