"""Machines of several workers as the closed forms see them: the scenario that is measured, and its `EqualMachines` of
the cost models. Rates there are in bits of payload, and latencies follow from the links alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.bench.measure import conditions
from testbed.comparison.figures import Figure
from testbed.history import Record
from testbed.scenario.geometry import FRAME_OVERHEAD_BYTES
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from testbed.scenario.protocols.known import protocol_of
from topologies import LinkShape, machines
from workloads.costs import EqualMachines, machine_cost

__all__ = ["PROTOCOLS", "MachinesPlace", "closed_form"]

PROTOCOLS = {"FR": "ring", "TA": "tencent", "PN": "parallel_netreduce"}
"""name in the cost models -> `job.protocol`"""
_PATH_MTU = 1024
_MESSAGE_PACKETS = 170
_ACK_BYTES = FRAME_OVERHEAD_BYTES + 4
_QUEUE_PACKETS = 100_000
"""no link drops: a closed form knows no loss"""


@dataclass(frozen=True, slots=True)
class MachinesPlace:
    machines: int
    per_machine: int
    """n"""
    inter_bps: int
    """rate in bits of Ethernet frame, as all rates of links"""
    intra_bps: int
    inner_delay_ns: int
    """delay of each link inside a machine"""
    uplink_delay_ns: int
    world: str = "simulated"

    def scenario(self, algorithm: str, size_bytes: int, *, pipelined: bool = False, seed: int = 1) -> Scenario:
        """One lossless all-reduce. `pipelined` false: rings go step by step, which is what the closed forms count. The
        credit window holds a worker's whole piece, and there is no hello: the closed forms have neither."""
        protocol = PROTOCOLS[algorithm]
        inside = LinkShape(self.intra_bps, self.inner_delay_ns, queue_packets=_QUEUE_PACKETS)
        uplink = LinkShape(self.inter_bps, self.uplink_delay_ns, queue_packets=_QUEUE_PACKETS)
        largest = -(-size_bytes // self.per_machine) if algorithm == "PN" else size_bytes
        return Scenario(
            name=f"bench-{protocol.replace('_', '-')}",
            topology=machines(self.machines, self.per_machine, inside, uplink),
            link=inside,
            seed=seed,
            world=self.world,
            transport=Transport(path_mtu=_PATH_MTU, timeout_code=19, ack_every=64),
            switch=SwitchOptions(program=protocol_of(protocol).programs[0]),
            job=Job(
                protocol=protocol,
                size_bytes=size_bytes,
                message_packets=_MESSAGE_PACKETS,
                window_messages=max(2, -(-largest // (_MESSAGE_PACKETS * _PATH_MTU)) + 1),
                hello=False,
                pipelined=pipelined,
            ),
            capture=False,
            time_limit_ns=600_000_000_000,
        )

    @classmethod
    def of(cls, scenario: Scenario) -> MachinesPlace:
        """The place of such a scenario."""
        topology, inside = scenario.topology, scenario.link
        homes = {link.b for host in topology.hosts for _, link, _ in topology.ports(host.name)}
        uplink = next(link.shape for link in topology.links if link.a in homes)
        return cls(
            len(homes), len(topology.hosts) // len(homes), uplink.rate_bps, inside.rate_bps, inside.delay_ns,
            uplink.delay_ns, scenario.world,
        )  # fmt: skip

    def costs(self) -> EqualMachines:
        """The input of the cost models.

        Rates: link rate x 1024 / 1082. alpha is of a hop between machines in a step of a ring. It is what a step lasts
        in addition to its payload on the uplink, until the sender's next step may begin. That is the last frame on the
        three other links of the way, the delays, and the way back of the ACK. alpha_i: the same inside a machine.
        alpha_NR: the last frame on three more links and the delays; the next phase waits for no ACK."""
        frame, ack = 8 * (_PATH_MTU + FRAME_OVERHEAD_BYTES), 8 * _ACK_BYTES
        share = _PATH_MTU / (_PATH_MTU + FRAME_OVERHEAD_BYTES)
        inner, outer = 1 / self.intra_bps, 1 / self.inter_bps
        way = 2 * (self.inner_delay_ns + self.uplink_delay_ns) / 1e9
        inner_way = 2 * self.inner_delay_ns / 1e9
        there = frame * (2 * inner + outer) + way
        return EqualMachines(
            gpus=self.machines * self.per_machine,
            per_machine=self.per_machine,
            inter_bps=self.inter_bps * share,
            intra_bps=self.intra_bps * share,
            alpha_s=there + ack * (2 * inner + 2 * outer) + way,
            inner_alpha_s=frame * inner + inner_way + ack * 2 * inner + inner_way,
            switch_alpha_s=there,
        )


def closed_form(scenario: Scenario, history: Sequence[Record], document: Mapping[str, Any]) -> dict[str, Figure]:
    """`Point.measure`: the time by the closed form, None for pipelined rings, which it does not cover; and the
    conditions of real time."""
    algorithm = next(name for name, protocol in PROTOCOLS.items() if protocol == scenario.job.protocol)
    seconds = machine_cost(algorithm).seconds(MachinesPlace.of(scenario).costs(), scenario.job.size_bytes)
    return {"closed_form_s": None if scenario.job.pipelined else seconds, **conditions(scenario, history, document)}
