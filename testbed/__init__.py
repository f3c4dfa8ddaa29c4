"""Scenarios, worlds, faults, checkers, reports and the command line.

`import testbed as tb` is the Python interface (docs/python.md): `tb.run`, `tb.load`, `tb.sweep`, `tb.compare` and what
they return. They are imported when they are first asked for: `import testbed` alone is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from testbed.api import (
        Comparison,
        HostCapabilityError,
        InternalError,
        LabError,
        Run,
        ScenarioError,
        SweepResult,
        TestbedError,
        compare,
        load,
        run,
        sweep,
    )

__all__ = [
    "Comparison",
    "HostCapabilityError",
    "InternalError",
    "LabError",
    "Run",
    "ScenarioError",
    "SweepResult",
    "TestbedError",
    "__version__",
    "compare",
    "load",
    "run",
    "sweep",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("testbed.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
