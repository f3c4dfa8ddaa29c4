"""Jobs whose sums are one part of what they do: what their switches and their network must be where switches sum."""

from __future__ import annotations

from collections.abc import Iterable

from switch_nodes.kinds import sums
from testbed.protocols.parts.checks_fabric import check_fabric
from testbed.reading.problems import Problems, show
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.switch import SwitchOptions
from testbed.scenario.protocols.known import protocol_of
from topologies import Topology, attachment
from workloads.collectives.kinds import ring_kind

__all__ = ["between_hosts", "check_switch_sums"]


def check_switch_sums(
    problems: Problems, topology: Topology, switch: SwitchOptions, job: Job, all_reduce: str, allowed: Iterable[str]
) -> bool:
    """`all_reduce`: protocol that sums; `allowed`: all that the key takes. False: no switch can sum."""
    others = between_hosts(allowed)
    if not sums(switch.program):
        problems.add(
            ("job", "all_reduce"), f"program {switch.program} sums nothing", found=show(all_reduce),
            allowed=f"{others}; or switch.program: {', '.join(protocol_of(all_reduce).programs)}",
        )  # fmt: skip
        return False
    if attachment(topology) is not None:
        problems.add(
            ("job", "all_reduce"), "an accelerator next to its switch serves one ring", found=show(all_reduce),
            allowed=f"{others}, or another topology.kind",
        )  # fmt: skip
        return False
    check_fabric(problems, topology, job)
    return True


def between_hosts(names: Iterable[str]) -> str:
    """Those that need no switch."""
    return ", ".join(name for name in names if not ring_kind(name).is_summed)
