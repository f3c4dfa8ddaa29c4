"""What protocol `staged` adds to `job`, and what must hold between that and the rest of a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from testbed.protocols.parts.checks_switch_sums import check_switch_sums
from testbed.reading.fields import choice
from testbed.reading.problems import Problems
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.stages import StagesKeys
from testbed.scenario.keys.switch import SwitchOptions
from testbed.scenario.keys.transport import Transport
from testbed.scenario.protocols import names
from topologies import Topology
from workloads.collectives.kinds import ring_kind
from workloads.strategies.stages import REDUCE

__all__ = ["StrategyKeys", "check_strategy"]

_ELEMENT_BYTES = 4
_SWITCH_MEMORY = 1 << 30


@dataclass(frozen=True, slots=True)
class StrategyKeys(StagesKeys):
    all_reduce: Annotated[str, choice(names.STAGES)] = "netreduce"
    """how vectors are summed: `netreduce` (in the switches), `ring`"""

    def gradient_bytes(self, ranks: int) -> int:
        """Of all vectors of an iteration."""
        return _ELEMENT_BYTES * sum(stage.elements for stage in self.stages(ranks))


def check_strategy(
    problems: Problems,
    topology: Topology,
    switch: SwitchOptions,
    transport: Transport,
    job: Job,
    nics: Sequence[tuple[str, str]] = (),
) -> None:
    """The endpoints are our own, and switches that sum have room for the rings of all stages."""
    for host, device in nics:
        problems.add(
            ("nics", host), "a strategy has a ring for each of its stages, and a worker on an RDMA device has one ring",
            found=f"verbs:{device}", allowed="soft",
        )  # fmt: skip
    if ("job", "size") in problems.places:
        problems.add(("job", "size"), "follows from the chain and its strategy", allowed="leave the key out, or divide")
    keys: StrategyKeys = job.own
    if keys is None or not ring_kind(keys.all_reduce).is_summed:
        return
    if not check_switch_sums(problems, topology, switch, job, keys.all_reduce, names.STAGES):
        return
    ranks = len(job.hosts) or len(topology.hosts)
    rings = sum(stage.kind == REDUCE for stage in keys.stages(ranks))
    each = 2 * job.window_messages * job.message_packets * (ranks + 1) * transport.path_mtu
    if rings * each > _SWITCH_MEMORY:
        problems.add(
            ("job", "message_packets"), "the windows of all rings are too large for the switch's memory",
            found=f"{rings} rings of {each} bytes", allowed=f"at most {_SWITCH_MEMORY} bytes in all",
        )  # fmt: skip
