"""From a schedule that fails to a small one that fails by the same check: greedy, down to 1-minimal.

Every change makes a scenario simpler in one way (`simpler`). The first that still fails is kept and all are tried
again; when none fails any more, no single change can be made without the failure going away. Nothing that fails for a
new reason gets in: the check must be the same. A schedule that had to survive must still have to. What is kept must
load from a file as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from testbed.faults.model import Fault, LinkDown, Match, PacketFault, RateChange, Window
from testbed.hunt.draw_fabric import plain_fabric
from testbed.hunt.expected import may_fail, unsurvivable
from testbed.hunt.protocols import hunted_in
from testbed.hunt.shrink_hosts import fewer_hosts
from testbed.scenario import dump_scenario, parse_scenario
from testbed.scenario.geometry import INA_HEADER_BYTES, geometry_of
from testbed.scenario.model import Job, Scenario, Transport
from testbed.scenario.own_program import with_stock_code
from topologies import LinkShape, rack
from workloads.errors import ScenarioError

__all__ = ["Shrunk", "shrink", "simpler"]

_MOST_TRIES = 2000


@dataclass(frozen=True, slots=True)
class Shrunk:
    scenario: Scenario
    tries: int
    """schedules that were run for it"""
    minimal: bool
    """False: the search ended at its limit"""


def shrink(scenario: Scenario, still_fails: Callable[[Scenario], bool], most: int = _MOST_TRIES) -> Shrunk:
    """`still_fails`: whether a scenario fails by the check in question."""
    tolerant, survivable, tries = may_fail(scenario) is not None, unsurvivable(scenario) is None, 0
    while True:
        for candidate in simpler(scenario):
            if (may_fail(candidate) is not None) and not tolerant:
                continue
            if survivable and not tolerant and unsurvivable(candidate) is not None:
                continue
            if tries >= most:
                return Shrunk(scenario, tries, False)
            tries += 1
            if still_fails(candidate) and _loads(candidate):
                scenario = candidate
                break
        else:
            return Shrunk(scenario, tries, True)


def _loads(scenario: Scenario) -> bool:
    scenario = with_stock_code(scenario)
    try:
        return parse_scenario(dump_scenario(scenario), "shrunk") == scenario
    except ScenarioError:
        return False


def simpler(scenario: Scenario) -> Iterator[Scenario]:
    """Every scenario that is one step simpler, the greatest steps first. No chain of steps comes back to its start."""
    faults, hunted = scenario.faults, hunted_in(scenario)
    if len(faults) > 1:
        yield replace(scenario, faults=())
    for index in range(len(faults)):
        yield replace(scenario, faults=(*faults[:index], *faults[index + 1 :]))
    if hunted is not None:
        yield from hunted.hunt.smaller(scenario, hunted)
    else:
        yield from fewer_hosts(scenario)
        yield from _smaller_job(scenario)
    yield from _plainer(scenario)
    for index, fault in enumerate(faults):
        for other in _simpler_fault(fault, scenario):
            yield replace(scenario, faults=(*faults[:index], other, *faults[index + 1 :]))


def _smaller_job(scenario: Scenario) -> Iterator[Scenario]:
    job, transport = scenario.job, scenario.transport
    if job.iterations > 1:
        yield replace(scenario, job=replace(job, iterations=1))
        yield replace(scenario, job=replace(job, iterations=job.iterations - 1))
    if job.message_packets > 1:
        for length in sorted({1, job.message_packets // 2, job.message_packets - 1}):
            yield _resized(scenario, replace(job, message_packets=length), transport)
    if job.window_messages > 1:
        for window in sorted({1, job.window_messages // 2, job.window_messages - 1}):
            yield replace(scenario, job=replace(job, window_messages=window))
    room = job.message_packets * transport.path_mtu - INA_HEADER_BYTES
    messages = -(-job.size_bytes // room)
    for fewer in sorted({1, messages // 2, messages - 1}):
        if 1 <= fewer < messages:
            yield replace(scenario, job=replace(job, size_bytes=job.size_bytes - (messages - fewer) * room))
    last = job.size_bytes - (messages - 1) * room
    for size in (4, transport.path_mtu - INA_HEADER_BYTES, last - transport.path_mtu):
        if 4 <= size < last:
            yield replace(scenario, job=replace(job, size_bytes=(messages - 1) * room + size))
    if transport.path_mtu > 256:
        yield _resized(scenario, job, replace(transport, path_mtu=256))


def _resized(scenario: Scenario, job: Job, transport: Transport) -> Scenario:
    """As many messages as before, the last one no longer than it was."""
    sizes = geometry_of(scenario.job, scenario.transport)
    if sizes is None:
        return replace(scenario, job=job, transport=transport)
    old = scenario.job.message_packets * scenario.transport.path_mtu - INA_HEADER_BYTES
    room = job.message_packets * transport.path_mtu - INA_HEADER_BYTES
    last = min(room, scenario.job.size_bytes - (sizes.per_iteration - 1) * old)
    job = replace(job, size_bytes=(sizes.per_iteration - 1) * room + last)
    return replace(scenario, job=job, transport=transport)


def _plainer(scenario: Scenario) -> Iterator[Scenario]:
    """Options back to what a person would choose first."""
    job, transport, switch = scenario.job, scenario.transport, scenario.switch
    if scenario.trace:
        yield replace(scenario, trace=False)
    if job.straggle_rank is not None:
        yield replace(scenario, job=replace(job, straggler=None))
    if job.workload != "synthetic":
        yield replace(scenario, job=replace(job, workload="synthetic"))
    if job.dtype == "int32sat":
        yield replace(scenario, job=replace(job, dtype="int32"))
    common: dict[str, Any] = {"op": "sum", "credit": "both", "hello": True}
    for name, value in common.items():
        if getattr(job, name) != value:
            yield replace(scenario, job=replace(job, **{name: value}))
    plain: dict[str, Any] = {
        "receive_late_ns": 0, "verb": "write", "ack_every": 16, "rnr_retry": 7, "rnr_timer_code": 1, "start_psn": 0,
    }  # fmt: skip
    for name, value in plain.items():
        if getattr(transport, name) != value:
            yield replace(scenario, transport=replace(transport, **{name: value}))
    if switch.release != "order":
        yield replace(scenario, switch=replace(switch, release="order"))
    if scenario.topology.kind == "rack":
        yield from _plainer_links(scenario)
    elif scenario.topology.kind == "spine_leaf" and (plainer := plain_fabric(scenario.topology, scenario.link)):
        yield replace(scenario, topology=plainer)


def _plainer_links(scenario: Scenario) -> Iterator[Scenario]:
    hosts, shape = len(scenario.topology.hosts), scenario.link
    if any(link.shape != shape for link in scenario.topology.links):
        yield replace(scenario, topology=rack(hosts, shape))
        return
    default = LinkShape()
    for field in fields(LinkShape):
        if field.name in ("jitter_ns", "delay_ns", "queue_packets"):
            plain = replace(shape, **{field.name: getattr(default, field.name)})
            if plain != shape and plain.jitter_ns <= plain.delay_ns:
                yield replace(scenario, link=plain, topology=rack(hosts, plain))


def _simpler_fault(fault: Fault, scenario: Scenario) -> Iterator[Fault]:
    if isinstance(fault, PacketFault | RateChange):
        if len(fault.links) > 1:
            for link in fault.links:
                yield replace(fault, links=(link,))
        if len(fault.directions) > 1:
            for direction in fault.directions:
                yield replace(fault, directions=(direction,))
        yield from _simpler_window(fault)
    if isinstance(fault, PacketFault):
        for name in ("opcodes", "syndrome", "psn_offset", "message", "packet", "attempt", "source_rank"):
            if getattr(fault.match, name) is not None and not (name == "opcodes" and fault.match.syndrome is not None):
                yield replace(fault, match=replace(fault.match, **{name: None}))
        if fault.rate < 1 and fault.match != Match():
            yield replace(fault, rate=1.0)
    if isinstance(fault, LinkDown) and fault.count > 1:
        yield replace(fault, count=1, period_ns=0)
    for name in ("delay_ns", "jitter_ns"):
        value = getattr(fault, name, 0)
        for less in sorted({0, value // 2}):
            if less < value:
                yield replace(fault, **{name: less})  # type: ignore[arg-type]


def _simpler_window(fault: PacketFault | RateChange) -> Iterator[Fault]:
    start, stop = fault.window.start_ns, fault.window.stop_ns
    if stop is not None and stop - start > 1000:
        yield replace(fault, window=Window(start, start + (stop - start) // 2))
        yield replace(fault, window=Window(start + (stop - start) // 2, stop))
