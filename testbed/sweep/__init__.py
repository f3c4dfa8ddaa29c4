"""Grids of models and algorithms, in parallel, resumable."""

from testbed.sweep.loader import builtin_sweeps, load_sweep
from testbed.sweep.model import Sweep

__all__ = ["Sweep", "builtin_sweeps", "load_sweep"]
