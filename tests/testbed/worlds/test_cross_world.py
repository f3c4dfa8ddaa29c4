"""One scenario and seed in both worlds: the same sums, the same verdict, and the same fate for the same packet.

Which packets come by is not the same in both: time differs, so other ACKs are sent and other packets are sent again.
But every packet's first transmission happens in both, and an identity (flow, opcode, PSN, occurrence) that both worlds
saw must have met the same fate."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed.captures.pcapng import read_capture
from testbed.checkers import CheckContext
from testbed.faults.events import FaultStruck
from testbed.faults.identity import IdentityReader, flow_text
from testbed.history import Record, sort_history
from testbed.plan import make_plan
from testbed.report.document import judge
from testbed.runs.run import create_world
from testbed.scenario import parse_scenario
from tests.support.emulated import needs_root
from tests.support.simulation import digests, of

pytestmark = needs_root

_BASE = """
name: both-worlds
topology: {{kind: rack, hosts: 3, link: {{rate: 50Mbps}}}}
transport: {{timeout: 15, start_psn: {psn}}}
switch: {{program: {program}}}
job: {{protocol: {protocol}, size: 60kB, message_packets: 8, window_messages: 4}}
time_limit: 30s
dilation: 1
faults:
{faults}
"""
_FIRST = "opcode: data, attempt: 1"
"""what is sent in both worlds, whatever time does"""

FIRST_TRANSMISSIONS = {
    "drops": (
        "netreduce",
        "random",
        [
            (
                "{kind: drop, name: middle, links: [h2-s1], direction: up, match: {opcode: data, message: 3, packet: "
                "4, "
                "attempt: 1}}"
            ),
            (
                "{kind: drop, name: again, links: [h2-s1], direction: up, match: {opcode: data, message: 3, packet: 4, "
                "attempt: 2}}"
            ),
            (
                "{kind: drop, name: result, links: [h3-s1], direction: down, match: {opcode: data, message: 5, packet: "
                "0, "
                "attempt: 1}}"
            ),
            (
                "{kind: drop, name: tail, links: [h1-s1], direction: up, match: {opcode: data, message: 8, packet: "
                "last, "
                "attempt: 1}}"
            ),
        ],
    ),
    "loss": (
        "netreduce",
        "random",
        [f"{{kind: loss, name: loss, links: all, rate: 5%, match: {{{_FIRST}}}}}"],
    ),
    "corrupt": (
        "netreduce",
        "random",
        [f"{{kind: corrupt, name: corrupt, links: all, rate: 5%, match: {{{_FIRST}}}}}"],
    ),
    "duplicate": (
        "netreduce",
        "random",
        [f"{{kind: duplicate, name: twice, links: all, rate: 20%, match: {{{_FIRST}}}}}"],
    ),
    "psn-wrap": (
        "netreduce",
        "0xffffe0",
        [
            (
                "{kind: drop, name: zero, links: [h1-s1], direction: up, match: {opcode: data, psn_offset: 32, "
                "attempt: "
                "1}}"
            ),
            f"{{kind: loss, name: loss, links: all, rate: 5%, match: {{{_FIRST}}}}}",
        ],
    ),
    "ring": (
        "ring",
        "random",
        [f"{{kind: loss, name: loss, links: all, rate: 6%, match: {{{_FIRST}}}}}"],
    ),
    "shift": (
        "shift",
        "random",
        [f"{{kind: loss, name: loss, links: all, rate: 5%, match: {{{_FIRST}}}}}"],
    ),
}
ANY_TRANSMISSION = [
    "{kind: loss, name: loss, links: all, rate: 3%}",
    "{kind: burst, name: burst, links: [h1-s1], rate: 2%, recover: 40%}",
]

Identity = tuple[str, str, str, int, int]
"""link, direction, flow, opcode, PSN"""


@dataclass
class Run:
    records: list[Record]
    verdict: str
    capture: Path

    def struck(self) -> set[tuple[str, Identity, int]]:
        """(fault, identity, occurrence)"""
        return {
            (
                r.event.fault,
                (r.event.target, r.event.direction, r.event.flow, r.event.opcode, r.event.psn),
                r.event.occurrence,
            )
            for r in of(self.records, FaultStruck)
        }

    def seen(self) -> dict[Identity, Counter[int]]:
        """How often each identity came, per syndrome, to the filters of a switch whose faults only take frames away:
        what came in, and what a fault kept from coming in; what went out, before a fault could take it."""
        reader, found, links = IdentityReader(), defaultdict(Counter), []
        for frame in read_capture(self.capture, links):
            if frame.outgoing and frame.comment:
                continue
            who = reader.read(frame.frame)
            direction = "down" if frame.outgoing else "up"
            identity = (links[frame.interface].name, direction, flow_text(who.addresses), who.opcode, who.psn)
            found[identity][who.syndrome] += 1
        return found


def run(world: str, text: str, folder: Path) -> Run:
    scenario = parse_scenario(text, "test.yaml", seed=4, world=world)
    plan, records = make_plan(scenario), []
    folder.mkdir()
    facts = create_world(world).run(plan, folder, records.append)
    history = sort_history(records)
    document = judge(CheckContext(plan, history, facts.captures), facts, world=world, replay="")
    return Run(history, document["verdict"], facts.captures[0])


@pytest.fixture
def both(tmp_path, monkeypatch):
    monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))

    def go(protocol: str, psn: str, faults: list[str]) -> tuple[Run, Run]:
        program = "netreduce" if protocol == "netreduce" else "forward"
        lines = "\n".join(f"  - {fault}" for fault in faults)
        text = _BASE.format(protocol=protocol, psn=psn, program=program, faults=lines)
        runs = tuple(run(world, text, tmp_path / world) for world in ("simulated", "emulated"))
        simulated, emulated = runs
        assert digests(simulated.records) == digests(emulated.records)
        assert len(digests(simulated.records)) == 3
        assert simulated.verdict == emulated.verdict == "pass"
        return simulated, emulated

    return go


@pytest.mark.parametrize("name", FIRST_TRANSMISSIONS)
def test_the_same_first_transmissions_are_struck(both, name):
    protocol, psn, faults = FIRST_TRANSMISSIONS[name]
    simulated, emulated = both(protocol, psn, faults)
    assert simulated.struck() == emulated.struck()
    assert len(simulated.struck()) >= (4 if name == "drops" else 10)
    assert {fault for fault, _, _ in simulated.struck()} == {fault.split("name: ")[1].split(",")[0] for fault in faults}


def test_what_both_worlds_saw_met_the_same_fate(both):
    simulated, emulated = both("netreduce", "random", ANY_TRANSMISSION)
    common = compared = 0
    for one, other in ((simulated, emulated), (emulated, simulated)):
        seen, ours = other.seen(), one.seen()
        for fault, identity, occurrence in one.struck():
            # An ACK and a NAK of one PSN are two identities, and what struck does not say which of them it was.
            if len({*seen[identity], *ours[identity]}) > 1:
                continue
            # A fault takes away what an earlier one in the list left: only struck by either counts.
            if seen[identity].total() >= occurrence:
                compared += 1
                common += (fault, identity, occurrence) in other.struck()
                assert (fault, identity, occurrence) in other.struck()
    assert compared == common >= 40
    again = {occurrence for _, _, occurrence in simulated.struck() & emulated.struck()}
    assert again >= {1, 2}, "packets that were sent again were compared too"
