"""What the orchestrator does once so that no node process has to: a child shares what its parent has loaded."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager

from testbed.kernel.garbage import spared
from testbed.worlds.base import NODE_LIBRARIES
from workloads.native.build import load_library

__all__ = ["preload"]

_PARTS = (
    "numpy.random",
    "switch_nodes.dataplane",
    "switch_nodes.registry",
    "testbed.plan.filters",
    "testbed.captures.capture",
    "workloads.gradients",
    "workloads.rc.endpoint",
    "workloads.worker",
)
"""of `programs.build_node`"""


@contextmanager
def preload() -> Iterator[None]:
    """Fork nodes meanwhile. Their modules and C libraries are loaded, and nothing of that is garbage. So the garbage
    collector of a child looks at none of it: it would write to every page that it looks at."""
    for part in _PARTS:
        importlib.import_module(part)
    for name in NODE_LIBRARIES:
        load_library(name)
    with spared():
        yield
