"""The Python interface, offered as `import testbed as tb`: runs, sweeps and comparisons as values, for scripts and
notebooks."""

from testbed.api.runs import Comparison, Run, compare, load, run
from testbed.api.sweeps import SweepResult, sweep
from workloads.errors import HostCapabilityError, InternalError, LabError, ScenarioError, TestbedError

__all__ = [
    "Comparison",
    "HostCapabilityError",
    "InternalError",
    "LabError",
    "Run",
    "ScenarioError",
    "SweepResult",
    "TestbedError",
    "compare",
    "load",
    "run",
    "sweep",
]
