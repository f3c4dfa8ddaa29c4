"""Schedules of the hunter with PFC drawn around them, and a rule for the PFC frames that switches send."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from unittest.mock import patch

from testbed.captures.capture import MemoryTap
from testbed.faults.model import PauseStorm, Window
from testbed.hunt import judge
from testbed.hunt.draw import draw_schedule
from testbed.hunt.draw_faults import is_sensible
from testbed.hunt.judge import CheckFailure, run_and_judge
from testbed.plan import Plan
from testbed.reading.problems import Problems
from testbed.scenario.background import BackgroundFlow
from testbed.scenario.checks_pfc import check_pfc
from testbed.scenario.lossless import largest_frame, limits_of, response_of
from testbed.scenario.model import Scenario
from testbed.scenario.pfc import Pfc
from topologies import Topology
from workloads.wire.pfc import MAX_QUANTA, decode_pfc, pause_ns

__all__ = ["draw_lossless", "judge_lossless", "unasked"]

_LATER = 6
"""steps of the RTO (each doubles it): slow receivers and pauses hold packets up"""
_MOST_TIMEOUT = 20
_LIMIT_NS = 600_000_000_000
_FRAMES = 40
"""frames' times for which tenants send"""
_MODELS = ("static", "static", "dynamic", "hpcc", "conweave")


def draw_lossless(seed: int, number: int) -> Scenario | None:
    """Schedule `number` with switches that pause: all models, small buffers, slow receivers, storms. None: what was
    drawn cannot have PFC."""
    plain = draw_schedule(seed, number).scenario
    draw = Random(f"lossless hunt {seed} {number}")
    topology = _without_jitter(plain.topology)
    pfc = _draw_pfc(draw, topology)
    transport = plain.transport
    if transport.timeout_code is not None:
        code = min(max(transport.timeout_code, _MOST_TIMEOUT), transport.timeout_code + _LATER)
        transport = replace(transport, timeout_code=code)
    found = replace(
        plain, topology=topology, link=replace(plain.link, jitter_ns=0, queue_full="drop"), pfc=pfc,
        transport=transport, faults=(), time_limit_ns=_LIMIT_NS, trace=False, background=_tenants(draw, topology),
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


def judge_lossless(scenario: Scenario) -> CheckFailure | None:
    """The checks of the hunt, and the rule below."""
    taps, make = list[MemoryTap](), judge._taps

    def keep(plan: Plan) -> dict[str, MemoryTap]:
        found = make(plan)
        taps.extend(found.values())
        return found

    with patch.object(judge, "_taps", keep):
        failure, history = run_and_judge(scenario)
    if failure is not None:
        return failure
    end = max((record.t for record in history), default=0)
    wrong = next(unasked(scenario, taps, end), None)
    return None if wrong is None else CheckFailure("pauses_answered", wrong)


def unasked(scenario: Scenario, taps: list[MemoryTap], end: int) -> Iterator[str]:
    """Pauses that a switch let run out: behind each PFC frame with a time, another one comes within half of this time
    (and the time of a frame). Faults behind the tap do not matter."""
    assert scenario.pfc is not None
    for tap in taps:
        last: dict[tuple[str, int], tuple[int, int]] = {}
        for name, captured in tap.read():
            times = decode_pfc(captured.frame) if captured.outgoing else None
            for pfc_class, quanta in (times or {}).items():
                yield from _late(scenario, name, last.get((name, pfc_class)), captured.time_ns)
                last[name, pfc_class] = captured.time_ns, quanta
        for (name, _), asked in last.items():
            yield from _late(scenario, name, asked, end)


def _late(scenario: Scenario, name: str, asked: tuple[int, int] | None, now: int) -> Iterator[str]:
    if asked is not None and asked[1]:
        rate = scenario.topology.link(name).shape.rate_bps
        if now > asked[0] + pause_ns(asked[1], rate) // 2 + 1:
            yield f"a pause on {name} from {asked[0]} ns was neither asked for again nor ended by {now} ns"
