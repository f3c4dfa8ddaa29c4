"""What the checker of link bytes makes of captures: of runs, and of runs whose captures say something else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from testbed.captures.capture import MemoryTap
from testbed.captures.pcapng import CapturedFrame
from testbed.checkers import CheckContext, run_checks
from testbed.history import sort_history
from testbed.history.verdict import Verdict
from testbed.plan import make_plan
from testbed.protocols.repair.link_bytes import cost_of, link_bytes, link_loads, skip_link_bytes
from testbed.scenario import parse_scenario
from testbed.worlds.simulated import simulate
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES

RUN = """
name: bytes
topology: {kind: spine_leaf, leaves: 2, hosts_per_leaf: HOSTS, spines: 1}
switch: {program: PROGRAM, memory: 8}
transport: {path_mtu: 256, rto: 100ms}
job: {protocol: repair, size: SIZE, iterations: 2, window_packets: 8, CODE}
"""


def context_of(program: str, code: str, size: str = "2400B", hosts: int = 3) -> CheckContext:
    text = RUN.replace("PROGRAM", program).replace("CODE", code).replace("SIZE", size).replace("HOSTS", str(hosts))
    plan = make_plan(parse_scenario(text, "bytes.yaml"))
    topology = plan.scenario.topology
    taps = {
        switch.name: MemoryTap(switch.name, [link.name for _, link, _ in sorted(topology.ports(switch.name))])
        for switch in plan.switches
    }
    history = sort_history(simulate(plan, taps=taps))
    return CheckContext(plan, history, tuple(taps.values()))


@dataclass(frozen=True)
class Edited:
    """A capture of which some frames are told in another way."""

    inner: Any
    change: Any

    @property
    def name(self) -> str:
        return str(self.inner.name)

    @property
    def switch(self) -> str:
        return str(self.inner.switch)

    def read(self) -> Iterator[tuple[str, CapturedFrame]]:
        for number, (interface, captured) in enumerate(self.inner.read()):
            for each in self.change(number, captured):
                yield interface, each


def edited(context: CheckContext, change: Any) -> CheckContext:
    return replace(context, captures=tuple(Edited(capture, change) for capture in context.captures))


def carries(captured: CapturedFrame) -> bool:
    return len(captured.frame) > AGGREGATION_OVERHEAD_BYTES


CASES = [
    ("repair", "n: 7, k: 5", 3, 4800, 24000),
    ("forward", "n: 7, k: 5", 3, 24000, 24000),
    ("forward", "code: msr, n: 4, k: 2, d: 3", 2, 7200, 7200),
    ("forward", "code: mbr, n: 4, k: 2, d: 3", 2, 4800, 4800),
]


@pytest.mark.parametrize(("program", "code", "hosts", "ingress", "egress"), CASES)
def test_runs_cost_what_their_codes_say(program: str, code: str, hosts: int, ingress: int, egress: int) -> None:
    context = context_of(program, code, hosts=hosts)
    result = link_bytes(context)
    assert result.verdict is Verdict.PASS, result.detail
    ((newcomer, (into, out)),) = link_loads(context)
    assert (into.payload_bytes, out.payload_bytes) == (ingress, egress)
    cost = cost_of(newcomer)
    assert (2 * cost.ingress, 2 * cost.egress) == (ingress, egress), "two iterations"
    for load in (into, out):
        assert load.repeated == 0
        assert load.frame_bytes == load.payload_bytes + load.packets * AGGREGATION_OVERHEAD_BYTES
    assert "link_bytes" in {check.name for check in run_checks(context).results}


def test_a_packet_that_never_came_is_missing() -> None:
    gone = [0]

    def change(number: int, captured: CapturedFrame) -> list[CapturedFrame]:
        if carries(captured) and not captured.outgoing and not gone[0]:
            gone[0] = 1
            return []
        return [captured]

    result = link_bytes(edited(context_of("repair", "n: 7, k: 5"), change))
    assert result.verdict is Verdict.FAIL
    assert "the code says 24000" in result.detail


def test_what_came_again_is_told_and_does_not_count() -> None:
    result = link_bytes(edited(context_of("repair", "n: 7, k: 5"), lambda number, captured: [captured, captured]))
    assert result.verdict is Verdict.PASS
    assert "a packet again" in result.detail


def test_what_a_fault_took_away_behind_the_switch_counts_once() -> None:
    def change(number: int, captured: CapturedFrame) -> list[CapturedFrame]:
        return [captured, captured._replace(comment="dropped: loss")] if captured.outgoing else [captured]

    ((_, (into, _)),) = link_loads(edited(context_of("repair", "n: 7, k: 5"), change))
    assert into.repeated == 0


def test_without_captures_or_an_end_nobody_knows() -> None:
    context = context_of("repair", "n: 7, k: 5")
    assert link_bytes(replace(context, captures=())).verdict is Verdict.UNKNOWN
    assert link_bytes(replace(context, history=())).verdict is Verdict.UNKNOWN
    quiet = replace(context.plan, scenario=replace(context.plan.scenario, capture=False))
    assert "capture: false" in (skip_link_bytes(replace(context, plan=quiet)) or "")
    assert skip_link_bytes(context) is None
