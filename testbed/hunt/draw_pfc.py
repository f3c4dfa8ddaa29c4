"""PFC around drawn schedules: all models, small buffers, slow receivers, storms, and tenants that fill the buffers."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from testbed.faults.model import PauseStorm, Window
from testbed.hunt.draw_faults import is_sensible
from testbed.reading.problems import Problems
from testbed.scenario.checks.pfc import check_pfc
from testbed.scenario.keys.background import BackgroundFlow
from testbed.scenario.keys.pfc import Pfc
from testbed.scenario.lossless import largest_frame, limits_of, response_of
from testbed.scenario.model import Scenario
from topologies import Topology
from workloads.wire.pfc import MAX_QUANTA

__all__ = ["PFC", "with_pfc"]

PFC = "pfc"
"""kind of hunt: racks whose switch pauses its senders"""
_LATER = 6
"""steps of the RTO (each doubles it): slow receivers and pauses hold packets up"""
_MOST_TIMEOUT = 20
_LIMIT_NS = 600_000_000_000
_FRAMES = 40
"""frames' times for which tenants send"""
_MODELS = ("static", "static", "dynamic", "hpcc", "conweave")


def with_pfc(plain: Scenario, draw: Random) -> Scenario | None:
    """A drawn scenario with switches that pause. Faults that PFC cannot follow are left out. None: its links and drawn
    buffers do not fit."""
    topology = _without_jitter(plain.topology)
    pfc = _draw_pfc(draw, topology)
    transport = plain.transport
    if transport.timeout_code is not None:
        code = min(max(transport.timeout_code, _MOST_TIMEOUT), transport.timeout_code + _LATER)
        transport = replace(transport, timeout_code=code)
    found = replace(
        plain, topology=topology, link=replace(plain.link, jitter_ns=0, queue_full="drop"), pfc=pfc,
        transport=transport, faults=(), time_limit_ns=_LIMIT_NS, background=_tenants(draw, topology),
    )  # fmt: skip
    problems = Problems("drawn", {})
    check_pfc(problems, pfc, "simulated", topology, found.switch, ())
    if problems:
        return None
    faults = list(plain.faults)
    if draw.random() < 0.1:
        start = draw.randrange(1_000_000)
        host = draw.choice(topology.hosts).name
        faults.append(PauseStorm("storm", host, Window(start, start + draw.randint(1, 500_000)), pfc_class=3))
    for fault in faults:
        more = replace(found, faults=(*found.faults, fault))
        if is_sensible(more):
            found = more
    return found


def _without_jitter(topology: Topology) -> Topology:
    return replace(
        topology,
        links=tuple(
            replace(link, shape=replace(link.shape, jitter_ns=0, queue_full="drop", drop_low_above_packets=None))
            for link in topology.links
        ),
    )


def _tenants(draw: Random, topology: Topology) -> tuple[BackgroundFlow, ...]:
    """Two hosts, or one, that send more to another host than its link takes, for a while."""
    names = [host.name for host in topology.hosts]
    target = draw.choice(names)
    sources = [name for name in names if name != target]
    frame = min(link.shape.mtu for link in topology.links) - 28
    slowest = min(link.shape.rate_bps for link in topology.links)
    stop = _FRAMES * 8 * frame * 1_000_000_000 // slowest
    return tuple(
        BackgroundFlow(
            name=f"tenant{number}", kind="udp", source=name, target=target, rate_bps=slowest * draw.randint(6, 9) // 10,
            stop_ns=stop, payload_bytes=max(18, frame), dscp=draw.choice((0, 0, 8)),
        )
        for number, name in enumerate(draw.sample(sources, min(2, len(sources))))
    )  # fmt: skip


def _draw_pfc(draw: Random, topology: Topology) -> Pfc:
    frame = max(largest_frame(link.shape) for link in topology.links)
    slowest = min(link.shape.rate_bps for link in topology.links)
    model, threshold = draw.choice(_MODELS), frame * draw.randint(1, 6)
    classes, lossless = draw.choice((((3, 3, 3, 3), (3,)), ((3, 4, 5, 6), (3, 4)), ((3, 0, 0, 0), (3,))))
    slow = draw.sample([host.name for host in topology.hosts], draw.choice((1, 1, 2)))
    found = Pfc(
        model=model,
        buffer_bytes=1 << 30,
        threshold_bytes=threshold if model == "static" else None,
        response_time_ns=draw.choice((None, 0)),
        classes=classes,
        lossless=lossless,
        receivers=tuple((name, slowest * draw.randint(2, 9) // 10) for name in slow),
        receive_queue_bytes=frame * draw.randint(1, 4),
    )
    if model in ("hpcc", "conweave"):  # their own headroom is not exact
        exact = max(each.headroom for switch in topology.switches for each in limits_of(
            replace(found, model="dynamic"), topology, switch.name).values())  # fmt: skip
        found = replace(found, headroom_bytes=exact)
    kept = max(
        sum(each.headroom + each.reserve for each in limits_of(found, topology, switch.name).values())
        for switch in topology.switches
    )
    least = max(
        -(-4 * (2 * 8 * frame * 10**9 // link.shape.rate_bps + link.shape.delay_ns + response_of(found, link.shape))
          * link.shape.rate_bps // 512_000_000_000)
        for link in topology.links
    )  # fmt: skip
    quanta = MAX_QUANTA if least >= MAX_QUANTA else draw.choice((MAX_QUANTA, draw.randint(least, MAX_QUANTA), least))
    return replace(found, buffer_bytes=kept + frame * draw.randint(4, 40), quanta=quanta)
