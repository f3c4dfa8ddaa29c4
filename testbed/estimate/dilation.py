"""The smallest dilation at which this machine has enough CPU time for a plan. Pure: it uses a calibration of the
machine and the load on it.

Every node costs CPU time per packet; the less often packets come, the less many are handled in one wake-up. The sum
over all nodes must stay under a share of the processors. A run must also last long enough in real time for wake-ups not
to count in its figures, and so must each iteration. The last packet of an iteration, the hash of its result and the
next gradient wait for a processor one after the other. Other tasks of the machine make all of this slower.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from testbed.plan import Plan
from testbed.plan.paths import data_flows
from testbed.plan.time_need import time_need
from testbed.scenario.protocols.names import MOST_DILATION
from topologies import Direction, Role

__all__ = ["SHARE", "CpuCalibration", "NodeLoad", "choose_dilation", "cpu_share", "least_real_s", "node_loads"]

SHARE = 0.5
"""share of the processors that all nodes together may take when nothing else runs"""
_LEAST_REAL_S = 1.5
"""real time that traffic lasts: a thousand times what a wake-up may be late"""
_ITERATION_REAL_S = 0.4
"""real time that an iteration lasts when nothing else runs: a hundred times what its waits for a processor take"""
_MOST_PATIENCE_S = 30.0
"""real time to which traffic is slowed at most for the sake of its iterations"""
_PRECEDENCE = 9
"""times the processor time of another process, that the kernel gives a host (nice -10, `HOST_NICE`)"""
_SHORTEST_S = 1e-3
"""shortest time of a job that time is slowed for: one that needs no bytes to speak of would come to a standstill"""
_WAKE_UPS = {"host": 1_000, "switch": 2_000}
"""wake-ups of a node in a real second, at most, while its traffic is dense and slowed"""
_ANSWERS = 1.1
"""packets for each one with data: ACKs and what else there is"""


@dataclass(frozen=True, slots=True)
class CpuCalibration:
    """CPU time of one packet, received or sent, by role (`host`, `switch`), in ns of a processor of this machine."""

    dense_ns: Mapping[str, Mapping[int, float]]
    """CPU time of a packet by payload bytes, when many are handled at once"""
    alone_ns: Mapping[str, float]
    """CPU time of a packet that wakes the node for itself"""

    def packet_ns(self, role: str, payload_bytes: int, per_second: float) -> float:
        """`per_second`: packets in a real second."""
        dense = _between(self.dense_ns[role], payload_bytes)
        alone = max(dense, self.alone_ns[role])
        return dense + (alone - dense) * min(1.0, _WAKE_UPS[role] / max(1.0, per_second))


@dataclass(frozen=True, slots=True)
class NodeLoad:
    node: str
    role: str
    packets_per_s: float
    """packets per second of emulated time, received and sent, while all links that it uses are full"""
    payload_bytes: int


def _between(costs: Mapping[int, float], size: int) -> float:
    """Linear between the sizes that were measured, and beyond them."""
    sizes = sorted(costs)
    if len(sizes) == 1:
        return costs[sizes[0]]
    above = next((number for number, known in enumerate(sizes) if known >= size and number), len(sizes) - 1)
    low, high = sizes[above - 1], sizes[above]
    slope = (costs[high] - costs[low]) / (high - low)
    return max(min(costs.values()) / 2, costs[low] + slope * (size - low))


def node_loads(plan: Plan) -> tuple[NodeLoad, ...]:
    """Of all nodes that a plan's data passes."""
    topology = plan.scenario.topology
    framing = min((worker.framing for worker in plan.workers), key=lambda framing: framing.frame_bytes)
    rates: defaultdict[str, float] = defaultdict(float)
    for name in {use[0] for use in data_flows(plan)}:
        link = topology.link(name)
        # Sums come back the way that data went.
        for node in (link.a, link.b):
            rates[node] += len(Direction) * link.shape.rate_bps / (8 * framing.frame_bytes) * _ANSWERS
    return tuple(
        NodeLoad(node.name, "host" if node.role is Role.HOST else "switch", rates[node.name], framing.payload_bytes)
        for node in topology.nodes
        if rates[node.name]
    )


def cpu_share(loads: tuple[NodeLoad, ...], calibration: CpuCalibration, processors: int, dilation: int) -> float:
    """Of the processors, that all nodes take at this dilation."""
    total = 0.0
    for load in loads:
        real = load.packets_per_s / dilation
        total += real * calibration.packet_ns(load.role, load.payload_bytes, real) / 1e9
    return total / processors


def least_real_s(plan: Plan, crowd: float = 0.0) -> float:
    """How long the traffic of a plan has to last in real time."""
    iterations = max(worker.workload.iterations for worker in plan.workers)
    return max(_LEAST_REAL_S, min(_MOST_PATIENCE_S, iterations * _ITERATION_REAL_S * (1 + crowd / _PRECEDENCE)))


def choose_dilation(
    plan: Plan,
    calibration: CpuCalibration,
    processors: int,
    least: int = 1,
    *,
    crowd: float = 0.0,
    traffic_s: float | None = None,
) -> int:
    """At least `least`, at most MOST_DILATION. `crowd`: tasks of other processes per processor. `traffic_s`: how long
    the traffic lasts in emulated time, where it is known; else the least time that the plan can take."""
    loads, share = node_loads(plan), SHARE / (1 + crowd / _PRECEDENCE)
    lasts_s = max(traffic_s or time_need(plan).least_s, _SHORTEST_S)
    low = max(least, min(MOST_DILATION, math.ceil(least_real_s(plan, crowd) / lasts_s)))
    high = MOST_DILATION
    while low < high:
        middle = (low + high) // 2
        if cpu_share(loads, calibration, processors, middle) <= share:
            high = middle
        else:
            low = middle + 1
    return low
