"""The packet level by the same names as the fast paths: one protocol in the simulated world, without faults."""

from __future__ import annotations

from switch_nodes.events import PlaneStatistics
from testbed.history import of_kind
from testbed.plan import make_plan
from testbed.scale.model import RackPoint
from testbed.scale.outcome import ScaleOutcome
from testbed.scenario.model import Job, Scenario, SwitchOptions, Transport
from testbed.scenario.protocols.known import protocol_of
from testbed.worlds.simulated import simulate
from topologies import LinkShape, rack
from workloads.errors import InternalError
from workloads.events import CollectiveCompleted

__all__ = ["packet_level"]

_TIMEOUT_CODE = 24
"""over a minute: nothing is lost here"""
_TIME_LIMIT_NS = 1 << 62


def packet_level(protocol: str, point: RackPoint) -> ScaleOutcome:
    """`protocol` is netreduce or ring. The outcome counts every frame on every link; it has no events."""
    shape = LinkShape(rate_bps=int(point.rate_bps), delay_ns=round(point.delay_ns), mtu=9000, queue_packets=1 << 20)
    scenario = Scenario(
        name="scale", topology=rack(point.hosts, shape), link=shape, world="simulated", capture=False,
        transport=Transport(path_mtu=point.path_mtu, timeout_code=_TIMEOUT_CODE),
        switch=SwitchOptions(protocol_of(protocol).programs[0]),
        job=Job(
            protocol=protocol, size_bytes=point.size_bytes, message_packets=point.message_packets,
            window_messages=point.window_messages,
        ),
        time_limit_ns=_TIME_LIMIT_NS,
    )  # fmt: skip
    records = simulate(make_plan(scenario))
    ends = [record.event.completed_ns for record in of_kind(records, CollectiveCompleted)]
    if len(ends) != point.hosts:
        raise InternalError(f"{point.hosts - len(ends)} hosts of {point.hosts} did not finish: {point}")
    frames = sum(record.event.frames_out for record in of_kind(records, PlaneStatistics))
    return ScaleOutcome(max(ends) / 1e9, frames)
