"""Faults around a calm scenario: the whole vocabulary, several at once, within what `survival` allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

from testbed.faults.forge import DEADLY, FORGERIES
from testbed.faults.healing import kind_of
from testbed.faults.model import (
    Corrupt,
    Drop,
    Duplicate,
    Fault,
    Forge,
    Kill,
    Match,
    PacketFault,
    Pause,
    Reorder,
    Window,
)
from testbed.faults.opcodes import OPCODE_GROUPS
from testbed.hunt.fault_dice import FaultDice, drawn_once, kind_weights
from testbed.hunt.survival import LOSES, allowance_ns, disturbance_ns, may_fail, travel_ns, unsurvivable
from testbed.reading.problems import Problems
from testbed.scenario.checks.fault_checks import check_conflicts, check_match, check_window
from testbed.scenario.checks.fault_effects import busy_hosts, check_effects
from testbed.scenario.checks.pfc import check_pfc_faults
from testbed.scenario.geometry import Geometry, geometry_of
from testbed.scenario.model import Scenario
from topologies import Direction
from workloads.rc.recovery import rto_ns

__all__ = ["FORGED_ANSWERS", "draw_faults", "is_sensible"]

_COUNTS = {0: 4, 1: 30, 2: 30, 3: 20, 4: 11, 5: 5}
_FORGE_TRACED = 60
_POISON = ("changed", "shortened")
_PLAIN_STARTS = ("restarted", "old_plain")
"""harmless only behind the packet they were made of"""
_RAW = (*_PLAIN_STARTS, "stray_plain")
_UP_ONLY = ("bad_length", "reflected", "overrun", "stray_bad", *_POISON)
FORGED_ANSWERS = ("ack_unsent", "ack_stale", "nak_again", "rnr_again", "nak_fatal")


def draw_faults(draw: Random, scenario: Scenario) -> Scenario:
    """`scenario` with faults. A fault that would not be survivable is omitted, unless a failure is allowed anyway.

    A traced schedule gets many forgeries, so that traced schedules take all steps of the tables.
    """
    kinds: list[str] = []
    plain, once = kind_weights("roce"), drawn_once()
    for _ in range(draw.choices(list(_COUNTS), list(_COUNTS.values()))[0]):
        weights = {**plain, "forge": _FORGE_TRACED} if scenario.trace else plain
        kind = draw.choices(list(weights), list(weights.values()))[0]
        if kind not in once or kind not in kinds:
            kinds.append(kind)
    kinds.sort(key=lambda kind: kind == "forge")  # last: what is lost before it is not forged (see _POISON)
    maker = _Maker(draw, scenario)
    for kind in kinds:
        fault = maker.make(kind, f"{kind.replace('_', '-')}-{len(scenario.faults) + 1}")
        changed = replace(scenario, faults=(*scenario.faults, fault))
        if _fits(scenario, fault) and (may_fail(changed) or not unsurvivable(changed)):
            scenario = changed
    return replace(scenario, faults=_damaged_once(scenario))


def _damaged_once(scenario: Scenario) -> tuple[Fault, ...]:
    """Switches pass damaged packets on: all of pairs, else answers. Where damage met damage, the same bit would flip
    back now and then, and a receiver heed what no switch saw a sound copy of. So all damage is done on the links of
    hosts in one direction, or on one other link."""
    hosts = {host.name for host in scenario.topology.hosts}
    damage = [fault for fault in scenario.faults if isinstance(fault, Corrupt)]
    if not damage:
        return scenario.faults
    names = dict.fromkeys(name for fault in damage for name in fault.links)
    at_hosts = [link.name for link in map(scenario.topology.link, names) if hosts & {link.a, link.b}]
    places = tuple(at_hosts) or tuple(names)[:1]

    def once(fault: Fault) -> Fault:
        if not isinstance(fault, Corrupt):
            return fault
        links = tuple(name for name in fault.links if name in places) or places
        return replace(fault, links=links, directions=damage[0].directions[:1])

    return tuple(map(once, scenario.faults))


def _fits(scenario: Scenario, fault: Fault) -> bool:
    """Whether a fault fits with the faults that are there."""
    others = scenario.faults
    if isinstance(fault, Forge):
        forgeries = [other for other in others if isinstance(other, Forge)]
        if not _stands_alone(scenario, forgeries, fault):
            return False
    if isinstance(fault, Forge) and fault.what in _POISON:
        # The switch must have taken the packet first: so it comes, comes in order, and behind a FIRST that was not lost
        # (else it may be dropped, and its forgery be taken an instant later, when another rank has announced the
        # message).
        return not any(isinstance(other, (*LOSES, Reorder, Duplicate, Kill)) for other in others)
    if isinstance(fault, Forge) and fault.what in _PLAIN_STARTS and Direction.UP in fault.directions:
        # Where the switch knows no INA message yet, or missed its FIRST, a plain one makes it pass on raw what follows:
        # a ring connection must carry INA messages only (protocol text, rules D and I).
        return scenario.job.hello and not any(isinstance(other, (*LOSES, Reorder, Duplicate, Kill)) for other in others)
    if isinstance(fault, Pause | Kill) and any(isinstance(other, Pause | Kill) for other in others):
        return False
    return is_sensible(replace(scenario, faults=(*others, fault)))


def _stands_alone(scenario: Scenario, others: Sequence[Forge], fault: Forge) -> bool:
    """False for a forgery between switches, or one that starts plain messages, together with another forgery over a
    fabric.

    A spine takes what its leaves send for sums of racks. Two such forgeries together can make a packet that no honest
    leaf sends: one that is forged from the other's, or a host's own packet, passed on raw.
    """
    if not others or len(scenario.topology.switches) == 1:
        return True
    hosts = {host.name for host in scenario.topology.hosts}
    inner = {link.name for link in scenario.topology.links if link.a not in hosts}
    return not any(forge.what in _RAW or inner.intersection(forge.links) for forge in (fault, *others))


def is_sensible(scenario: Scenario) -> bool:
    """Whether the faults are as a scenario file requires: none contradicts another, and each can apply."""
    problems, topology, job, transport = Problems("drawn", {}), scenario.topology, scenario.job, scenario.transport
    placed = [((), kind_of(item), item) for item in scenario.faults]
    check_conflicts(problems, placed, topology)
    check_effects(problems, placed, topology, busy_hosts(topology, scenario.jobs or [job], scenario.background))
    if scenario.pfc is not None:
        check_pfc_faults(problems, scenario.pfc, topology, placed)
    sizes = geometry_of(job, transport)
    for fault in scenario.faults:
        check_window(problems, (), fault, scenario.time_limit_ns)
        if isinstance(fault, PacketFault):
            check_match(problems, (), fault.match, len(scenario.ranks), job, transport, sizes)
    return not problems


class _Maker(FaultDice):
    delay_share = 48

    def __init__(self, draw: Random, scenario: Scenario) -> None:
        super().__init__(draw, scenario, rto_ns(scenario.transport.chosen_timeout_code) or 0, travel_ns(scenario))
        hosts = {node.name for node in scenario.topology.hosts}
        self.hosts = len(scenario.ranks)
        self.host_links = tuple(link.name for link in scenario.topology.links if link.a in hosts)
        self.room = max(0, allowance_ns(scenario) - (disturbance_ns(scenario) or 0))
        """ns that windows may span together"""
        later = draw.random() < 0.3
        self.origin = draw.randrange(12 * self.travel) if later else 0
        """when trouble may begin"""
        geometry = geometry_of(scenario.job, scenario.transport)
        self.geometry = geometry or Geometry(False, 1, 1, 1, 1)

    def own(self) -> Mapping[str, Callable[[str], Fault]]:
        return {"drop": self.drop, "corrupt": self.corrupt, "duplicate": self.duplicate, "forge": self.forge}

    def window(self) -> Window:
        """Ends soon enough; begins while the job may still run."""
        end = max(2, self.room)
        start = 0 if self.draw.random() < 0.3 else self.draw.randrange(min(end - 1, 6 * self.travel))
        longest = self.draw.choice((end, min(end, start + self.travel), min(end, start + 4 * self.travel)))
        return Window(self.origin + start, self.origin + self.draw.randint(start + 1, max(start + 1, longest)))

    def match(self) -> Match:
        draw, form = self.draw, self.draw.random()
        if form < 0.5:
            return Match()
        if form < 0.75:
            opcodes, syndrome = OPCODE_GROUPS[draw.choice(("data", "data", "ack", "nak"))]
            return Match(opcodes, syndrome)
        if form < 0.85:
            return Match(source_rank=draw.randrange(self.hosts))
        return self.identity()

    def identity(self) -> Match:
        """One packet of each connection, or of one."""
        draw, sizes = self.draw, self.geometry
        message = draw.randrange(sizes.messages)
        rank = draw.randrange(self.hosts) if draw.random() < 0.6 else None
        if draw.random() < 0.2:
            return Match(psn_offset=draw.randrange(sizes.packets), source_rank=rank)
        packet = draw.choice((None, 0, -1, draw.randrange(sizes.packets_of(message))))
        opcodes, syndrome = OPCODE_GROUPS["data"] if draw.random() < 0.7 else (None, None)
        return Match(opcodes, syndrome, message=message, packet=packet, source_rank=rank)

    def drop(self, name: str) -> Drop:
        links, directions = self.where()
        if self.draw.random() < 0.3:
            return Drop(name, links, directions, self.window(), self.identity())
        if self.draw.random() < 0.2:
            opcodes, syndrome = OPCODE_GROUPS[self.draw.choice(("data", "ack", "nak", "nak"))]
            return Drop(name, links, directions, match=Match(opcodes, syndrome, attempt=self.draw.choice((1, 1, 2))))
        return Drop(name, links, directions, match=replace(self.identity(), attempt=self.draw.choice((1, 1, 1, 2, 3))))

    def corrupt(self, name: str) -> Corrupt:
        """A corruption, never with a repaired iCRC: its sum would be expected to be wrong."""
        if self.draw.random() < 0.4:
            return Corrupt(name, *self.where(), match=replace(self.identity(), attempt=1))
        return Corrupt(name, *self.where(), self.window(), self.match(), self.rate(0.02, 0.6))

    def duplicate(self, name: str) -> Duplicate:
        """Copies may come after windows, and after the end of messages."""
        later = self.draw.choice((0, self.draw.randint(0, self.travel), self.draw.randint(0, 4 * self.rto)))
        return Duplicate(name, *self.where(), self.maybe(), self.match(), self.rate(0.02, 1.0), later)

    def node(self) -> str:
        draw, topology = self.draw, self.scenario.topology
        if draw.random() >= 0.4:
            return draw.choice(topology.nodes).name
        switches = topology.switches
        return switches[0].name if len(switches) == 1 else draw.choice(switches).name

    def forge(self, name: str) -> Forge:
        draw = self.draw
        deadly = draw.random() < 0.25
        words = [word for word in FORGERIES if (word in DEADLY and word not in _POISON) or not deadly]
        what = draw.choice(words)
        links, directions = self.where()
        if what == "reflected":
            # Behind a leaf it would be reflected back: a host's own packet would be summed instead of its rack's sum.
            links = tuple(link for link in links if link in self.host_links) or self.host_links
        if deadly and what != "stray":
            directions = (Direction.DOWN,)
        elif what in _UP_ONLY or what in DEADLY:
            directions = (Direction.UP,)
        elif what in FORGED_ANSWERS:
            directions = (Direction.DOWN,)
        before = what not in _POISON and draw.random() < 0.5
        later = 0 if before or draw.random() < 0.5 else draw.randint(1, 4 * self.rto)
        window, match, rate = self.maybe(), Match(), self.rate(0.05, 0.8)
        if draw.random() < 0.5:
            match = replace(self.identity(), attempt=None)
        if what in FORGED_ANSWERS and match.opcodes is not None:
            match = replace(match, opcodes=None)
        return Forge(name, links, directions, window, match, rate, what, before, later)
