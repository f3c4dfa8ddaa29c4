"""What no machine can give the emulated world."""

from __future__ import annotations

from testbed.faults.model import Kill
from testbed.plan import Plan
from testbed.plan.commodity import openflow_switches
from testbed.scenario.keys.clocks import TRUE_CLOCKS
from testbed.worlds.emulated.dilation import refuse_dilation
from workloads.errors import ScenarioError

__all__ = ["refuse"]


def refuse(plan: Plan) -> None:
    """Raises ScenarioError."""
    if plan.scenario.clocks != TRUE_CLOCKS:
        raise ScenarioError("only the simulated world has clocks of its own", key="clocks", allowed="--world simulated")
    if plan.scenario.pfc is not None:
        _refuse_lossless(plan)
    refuse_dilation(plan)


def _refuse_lossless(plan: Plan) -> None:
    """Whatever sends past our nodes does not obey PFC, and a new process knows no pause."""
    for host, device in plan.scenario.nics:
        raise ScenarioError("a device does not obey PFC here", key=f"nics.{host}", found=device, allowed="soft")
    if names := sorted(openflow_switches(plan)):
        raise ScenarioError(
            f"Open vSwitch does not obey PFC ({', '.join(names)})", key="switch.commodity", allowed="soft"
        )
    for fault in plan.scenario.faults:
        if isinstance(fault, Kill) and fault.window.stop_ns is not None:
            raise ScenarioError(
                "a host that comes back does not know which pauses hold",
                key=f"faults.{fault.name}.until", allowed="no end; or --world simulated, where its NIC stays",
            )  # fmt: skip
    for flow in plan.background:
        if flow.kind == "tcp":
            raise ScenarioError(
                "the kernel's TCP does not obey PFC",
                key=f"background.{flow.config.name}.kind", found="tcp", allowed="udp",
            )  # fmt: skip
