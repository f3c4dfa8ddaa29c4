"""Queues that trim, in whole runs: what drop needs timers for is repaired at once, the sums are the same, and the
checkers know a switch that does it wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.netreduce import NetReduceProgram
from switch_nodes.netreduce.frames import FrameReader
from switch_nodes.netreduce.tables import FrameKind
from switch_nodes.registry import create_program
from testbed.captures.capture import TRIMMED, MemoryTap
from testbed.checkers.context import CheckContext
from testbed.checkers.registry import run_checks
from testbed.checkers.transparency import transparency
from testbed.figures.metrics import metrics
from testbed.history.verdict import CheckResult, Verdict
from testbed.plan import make_plan
from testbed.report.timeline import build_timeline
from testbed.scenario import load_scenario
from testbed.worlds.simulated.world import Simulation
from workloads.events import TrimmedCame
from workloads.rc.captured import parse_frame
from workloads.wire import decode_packet, encode_packet
from workloads.wire.trimming import trimmed_icrc

RECOVERIES = ("gbn", "irn", "irn-rack")
_PSN_END = 14 + 20 + 8 + 11
INCAST, FABRIC = "incast-trimmed", "spine-leaf-trimmed"


def run(name: str, recovery: str, queue_full: str = "trim", create: Any = create_program, *more: str) -> CheckContext:
    overrides = [f"transport.recovery={recovery}", f"topology.link.queue_full={queue_full}", *more]
    plan = make_plan(load_scenario(name, overrides, world="simulated"))
    taps = {
        config.name: MemoryTap(
            config.name, [link.name for _, link, _ in sorted(plan.scenario.topology.ports(config.name))]
        )
        for config in plan.switches
    }
    records: list[Any] = []
    simulation = Simulation(plan, records.append, taps, create)
    simulation.run()
    assert (simulation.event_loop == "native") == (queue_full == "drop")
    return CheckContext(plan, records, tuple(taps.values()))


def bad(context: CheckContext) -> list[CheckResult]:
    return [result for result in run_checks(context).results if result.verdict is not Verdict.PASS]


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_incast_is_repaired_without_a_timer(recovery: str) -> None:
    dropped, trimmed = run(INCAST, recovery, "drop"), run(INCAST, recovery)
    assert bad(trimmed) == []
    before, after = metrics(dropped), metrics(trimmed)
    assert (before["timeouts"] > 0, after["timeouts"]) == (True, 0)
    assert (before["queues"]["trimmed"], after["queues"]["dropped"]) == (0, 0)
    assert after["queues"]["trimmed"] == len(trimmed.events(TrimmedCame)) > 100
    assert set(after["queues"]["links"]) <= {f"leaf{n}-spine1 {way}" for n in (1, 2) for way in ("up", "down")}
    if recovery == "gbn":
        assert after["jct_s"] < before["jct_s"] / 4


@pytest.mark.parametrize("queue", [2, 4, 16, 32])
def test_go_back_n_gets_through_queues_of_any_length(queue: int) -> None:
    """Without a window that opens packet by packet it does not end with eight."""
    found = run(INCAST, "gbn", "trim", create_program, f"topology.link.queue={queue}", "time_limit=1s")
    assert bad(found) == []
    assert metrics(found)["jct_s"] < 0.1


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_switches_that_sum_never_count_what_was_trimmed(recovery: str) -> None:
    dropped, trimmed = run(FABRIC, recovery, "drop"), run(FABRIC, recovery)
    assert bad(trimmed) == []
    before, after = metrics(dropped), metrics(trimmed)
    assert after["queues"]["trimmed"] > 50
    assert after["queues"]["dropped"] == 0
    assert after["jct_s"] < before["jct_s"]
    assert after["timeouts"] < before["timeouts"] / 4


def test_captures_and_timelines_name_them() -> None:
    found = run(INCAST, "irn")
    frames = [(capture.switch, frame) for capture in found.captures for _, frame in capture.read()]
    cut = [(switch, frame) for switch, frame in frames if frame.comment == TRIMMED]
    assert len(cut) == metrics(found)["queues"]["trimmed"]
    for _, frame in cut:
        seen = parse_frame(frame.frame)
        assert frame.outgoing
        assert seen is not None
        assert seen.trimmed
    timeline = build_timeline(found.history)
    marks = [mark for lane in timeline.qps for mark in lane.marks]
    assert sum(mark.kind == "trimmed" for mark in marks) == len(cut)
    assert sum(mark.label == "it was trimmed, again" for mark in marks) > 0


class Keeps(NetReduceProgram):
    """What came trimmed goes nowhere: then only a timer or a later packet tells of it."""

    def bypass(self, port: int, frame: Any) -> None:
        if self.reader.read(port, frame)[0] is not FrameKind.TRIMMED:
            super().bypass(port, frame)


class Alters(NetReduceProgram):
    """What came trimmed leaves with another PSN."""

    def bypass(self, port: int, frame: Any) -> None:
        if self.reader.read(port, frame)[0] is FrameKind.TRIMMED:
            other = bytearray(frame)
            other[_PSN_END] ^= 1
            other[-4:] = trimmed_icrc(other[14:-4])
            frame = bytes(other)
        super().bypass(port, frame)


class Counts(NetReduceProgram):
    """What came trimmed counts as zeros."""

    def _set_rings(self, rings: Any) -> None:
        super()._set_rings(rings)
        self.reader = _Zeros(rings.values())


class _Zeros(FrameReader):
    def read(self, port: int, frame: Any) -> Any:
        found = super().read(port, frame)
        if found[0] is not FrameKind.TRIMMED:
            return found
        packet = decode_packet(frame)
        assert packet is not None
        return super().read(port, encode_packet(replace(packet, payload=bytes(1024))))


def planted(kind: type[NetReduceProgram]) -> Any:
    def create(config: SwitchConfig) -> Any:
        return kind(config) if config.rings else create_program(config)

    return create


@pytest.mark.parametrize(("kind", "rule"), [(Keeps, "rule 10"), (Alters, "rule 10")])
def test_a_switch_that_does_not_pass_them_on_as_they_came_is_found(kind: type[NetReduceProgram], rule: str) -> None:
    result = transparency(run(FABRIC, "irn", "trim", planted(kind)))
    assert result.verdict is Verdict.FAIL
    assert rule in result.detail


def test_a_switch_that_counts_them_is_found() -> None:
    """The packet itself contradicts what its slot holds then, and no right sum is ever made."""
    failed = [
        result.name
        for result in bad(run(FABRIC, "irn", "trim", planted(Counts), "time_limit=1s"))
        if result.verdict is Verdict.FAIL
    ]
    assert {"liveness", "bit_exact"} & set(failed)
