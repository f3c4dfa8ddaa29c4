"""The compiled loop against the reference where answers carry maps: `irn-held`."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from switch_nodes.netreduce import NetReduceProgram
from testbed.faults.model import Loss
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated.native.library import Why
from testbed.worlds.simulated.world import Simulation
from tests.support.both_loops import counted_returns, same
from tests.support.held_answers import map_in
from tests.support.native import needs_native
from tests.support.simulation import digests, expected_digests, of, rack_links, rack_plan
from workloads.events import Retransmission
from workloads.machine import Buffer
from workloads.wire import Opcode

needs_c = needs_native("simulator")
LOST = "{kind: loss, name: lost, links: all, direction: both, rate: 3%}"
BESIDE_LOSSES = {
    "damage": "{kind: corrupt, name: bits, links: all, direction: both, rate: 3%}",
    "copies": "{kind: duplicate, name: twice, links: all, direction: both, rate: 5%, delay: 1ms}",
    "late": "{kind: reorder, name: late, links: all, direction: both, rate: 5%, delay: 3ms}",
}


@needs_c
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", BESIDE_LOSSES)
def test_leaves_and_spines_of_irn_held(name: str, seed: int) -> None:
    """The PSNs wrap inside a message; with an odd seed packets take several ways."""
    changes = [f"faults=[{LOST}, {BESIDE_LOSSES[name]}]", "job.size=60kB", "job.message_packets=7", "job.dtype=int32"]
    changes += ["transport.start_psn=16777200", *(["topology.multipath=spray"] if seed % 2 else [])]
    plan = make_plan(load_scenario("irn-held-spine-leaf-lossy", changes, seed, "simulated"))
    reference = same(plan, tap=True)
    assert digests(reference["records"]) == expected_digests(plan)
    assert _mapped(reference["taps"]) > 10


def _mapped(taps: dict[str, Any]) -> int:
    """Answers with a map that left a switch."""
    frames = [frame for seen in taps.values() for _, _, frame, outgoing, *_ in seen if outgoing]
    return sum(map_in(frame) is not None for frame in frames)


@needs_c
def test_switches_of_irn_held_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they leave to the reference is what makes connections known, and messages whose first packet was lost."""
    asked: Counter[int] = Counter()
    slow = NetReduceProgram.receive_frame

    def ask(self: NetReduceProgram, port: int, frame: Buffer, now: int) -> None:
        asked[frame[42]] += 1
        slow(self, port, frame, now)

    plan = make_plan(load_scenario("irn-held-spine-leaf-lossy", ["job.size=200kB"], 1, "simulated"))
    monkeypatch.setattr(NetReduceProgram, "receive_frame", ask)
    simulation = Simulation(plan, lambda _: None)
    simulation.run()
    assert asked.total() < simulation.packet_hops / 20
    assert Opcode.IRN_ANSWER not in asked


@needs_c
@pytest.mark.parametrize("loss", [0.0, 0.02])
def test_hosts_with_irn_held_go_without_python(loss: float) -> None:
    """But for what a switch asks for."""
    faults = (Loss("loss", rack_links(4), rate=loss),) if loss else ()
    plan = rack_plan(4, job={"size_bytes": 4 * 43_516 * 2}, faults=faults, transport={"recovery": "irn-held"})
    records: list[Any] = []
    simulation = Simulation(plan, records.append)
    count = counted_returns(simulation)
    simulation.run()
    assert simulation.packet_hops > 2500
    assert bool(of(records, Retransmission)) == (loss > 0)
    assert count[Why.OFFER] + count[Why.NEWS] + count[Why.WAKE] < simulation.packet_hops / 15
    assert not count[Why.PULL] + count[Why.SETTLE]
