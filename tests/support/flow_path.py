"""The one way of a flow through a plan whose switches do not spray."""

from __future__ import annotations

from testbed.plan import Plan
from testbed.plan.paths import LinkUse, flow_paths
from workloads.wire import Envelope

__all__ = ["flow_path"]


def flow_path(plan: Plan, source: str, envelope: Envelope) -> tuple[LinkUse, ...]:
    """From host `source` to the host that `envelope` names."""
    (path,) = flow_paths(plan, source, envelope)
    return path
