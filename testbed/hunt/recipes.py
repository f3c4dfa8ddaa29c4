"""Troubles that lead to steps of the tables which dice alone would seldom take: some traced schedules follow one of
them.

Each takes a calm scenario and gives it faults, and what else of transport and job the step needs. Amounts stay drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from testbed.faults.model import Drop, Fault, Forge, Kill, Loss, Match, Window
from testbed.faults.opcodes import OPCODE_GROUPS
from testbed.hunt.survival import travel_ns
from testbed.scenario.model import Scenario
from topologies import DIRECTIONS, Direction
from workloads.rc.numbers import rnr_wait_ns
from workloads.rc.recovery import rto_ns

__all__ = ["FABRIC_RECIPES", "RECIPES"]

_MOST_WAITS = 24
_UP, _DOWN = (Direction.UP,), (Direction.DOWN,)
_DATA, _ACK = Match(OPCODE_GROUPS["data"][0]), Match(*OPCODE_GROUPS["ack"])


def _links(scenario: Scenario) -> tuple[str, ...]:
    return tuple(link.name for link in scenario.topology.links)


def _host_links(scenario: Scenario) -> tuple[str, ...]:
    """Where recipes forge: between switches a forgery stands alone (`draw_faults`). In a rack these are all links."""
    hosts = {host.name for host in scenario.topology.hosts}
    return tuple(link.name for link in scenario.topology.links if link.a in hosts)


def _ranks(scenario: Scenario) -> int:
    return len(scenario.topology.hosts)


def _switch(draw: Random, scenario: Scenario) -> str:
    switches = scenario.topology.switches
    return switches[0].name if len(switches) == 1 else draw.choice(switches).name


def _rto(scenario: Scenario) -> int:
    return rto_ns(scenario.transport.chosen_timeout_code) or 0


def _soon(draw: Random, scenario: Scenario) -> Window:
    """From the begin, for as long as a survivable schedule may have it."""
    return Window(0, draw.randint(1, max(2, _rto(scenario))))


def _forge(
    draw: Random, scenario: Scenario, name: str, what: str, directions: tuple[Direction, ...], **more: object
) -> Forge:
    rate = draw.choice((0.1, 0.3, 0.7, 1.0))
    return Forge(name, _host_links(scenario), directions, rate=rate, what=what, **more)  # type: ignore[arg-type]


def _with(scenario: Scenario, *faults: Fault) -> Scenario:
    return replace(scenario, faults=faults)


def _late(draw: Random, scenario: Scenario) -> Scenario:
    """Receives come late, for about as long as the RNR timer says. Under IRN, which has none, they stay in time."""
    timers = [code for code in range(1, 17) if rnr_wait_ns(code) <= max(10_000, _rto(scenario) // 4)]
    late = draw.randint(1, max(1, _rto(scenario) // 4))
    timer = draw.choice(timers)
    if len(scenario.topology.switches) > 1:
        late = min(late, _MOST_WAITS * rnr_wait_ns(timer))
    if scenario.transport.speaks_irn:
        return scenario
    transport = replace(scenario.transport, receive_late_ns=late, rnr_timer_code=timer)
    return replace(scenario, transport=transport)


def spent(draw: Random, scenario: Scenario) -> Scenario:
    """Hardly any retry, and losses."""
    if draw.random() < 0.5:
        scenario = _late(draw, scenario)
    scenario = replace(scenario, transport=replace(scenario.transport, retry_count=draw.choice((0, 1, 2))))
    lost = Loss("loss-1", _links(scenario), DIRECTIONS, Window(0, 4 * _rto(scenario)), _DATA, draw.choice((0.2, 0.5)))
    again = _forge(draw, scenario, "forge-2", "nak_again", _DOWN, before=True)
    return _with(scenario, lost, again)


def strange_answers(draw: Random, scenario: Scenario) -> Scenario:
    """Forged answers, to senders that wait for a receiver too."""
    if draw.random() < 0.8:
        scenario = _late(draw, scenario)
        if draw.random() < 0.3:
            scenario = replace(scenario, transport=replace(scenario.transport, rnr_retry=draw.choice((0, 1))))
    words = draw.sample(("ack_unsent", "ack_stale", "nak_again", "rnr_again", "nak_fatal"), 2)
    before = draw.random() < 0.5
    later = 0 if before else draw.randint(0, 2 * travel_ns(scenario))
    return _with(
        scenario,
        *(
            _forge(draw, scenario, f"forge-{number}", what, _DOWN, before=before, delay_ns=later)
            for number, what in enumerate(words, 1)
        ),
    )


def acks_lost_then_fatal(draw: Random, scenario: Scenario) -> Scenario:
    """A refusal that acknowledges messages before the refused one."""
    scenario = replace(scenario, job=replace(scenario.job, window_messages=draw.choice((2, 3, 4))))
    lost = Drop("drop-1", _links(scenario), _UP, _soon(draw, scenario), replace(_ACK, psn_offset=draw.randrange(3)))
    fatal = Forge("forge-2", _host_links(scenario), _DOWN, what="nak_fatal", before=True, rate=draw.choice((0.2, 0.6)))
    return _with(scenario, lost, fatal)


def strange_requests(draw: Random, scenario: Scenario) -> Scenario:
    """To receivers, in gaps too: a packet of each place in a message where it does not belong."""
    what = draw.choice(("misplaced", "restarted", "shortened", "denied", "unserved", "unserved"))
    rate = draw.choice((0.05, 0.2, 0.5, 1.0))
    forge = Forge("forge-2", _host_links(scenario), _DOWN, what=what, before=True, rate=rate, match=_attempt(draw))
    lost: Fault = Loss("loss-1", _links(scenario), _DOWN, _soon(draw, scenario), _DATA, draw.choice((0.1, 0.3, 0.5)))
    if draw.random() < 0.6:  # the first or the last of a message: what is behind it makes the gap
        where = replace(_DATA, packet=draw.choice((0, -1, -1)), attempt=1)
        lost = Drop("drop-1", _links(scenario), _DOWN, match=where)
        scenario = replace(scenario, job=replace(scenario.job, window_messages=draw.choice((2, 3, 4))))
    after = Forge(
        "forge-3", _host_links(scenario), _DOWN, what=draw.choice(("unserved", "ack_unsent")), before=True, rate=0.5
    )
    return _with(scenario, lost, forge, *((after,) if draw.random() < 0.4 else ()))


def _attempt(draw: Random) -> Match:
    """Retransmissions come where a gap was."""
    return replace(_DATA, attempt=draw.choice((None, 2, 2, 3)))


def plain_between(draw: Random, scenario: Scenario) -> Scenario:
    """A message without INA header of long ago, then packets whose first one is lost."""
    job = replace(scenario.job, message_packets=draw.choice((2, 3, 4)), window_messages=draw.choice((2, 3)))
    scenario = replace(scenario, job=job)
    where = replace(_DATA, packet=0, attempt=1)
    lost = Drop("drop-1", _links(scenario), _UP, match=replace(where, source_rank=draw.randrange(_ranks(scenario))))
    plain = Forge("forge-2", _host_links(scenario), _UP, what="old_plain", before=draw.random() < 0.5)
    more = Forge(
        "forge-3", _host_links(scenario), _UP, what=draw.choice(("old_data", "stray_plain", "stray_bad")), rate=0.5
    )
    return _with(scenario, lost, plain, more)


def strays(draw: Random, scenario: Scenario) -> Scenario:
    """Late copies on connections that no host has."""
    later = draw.randint(1, 4 * travel_ns(scenario))
    if draw.random() < 0.4:
        first = _forge(draw, scenario, "forge-1", "stray_plain", _UP, before=True)
        return _with(scenario, first, _forge(draw, scenario, "forge-2", draw.choice(("stray_bad", "stray_plain")), _UP))
    stray = _forge(draw, scenario, "forge-1", "stray", _UP, delay_ns=later)
    plain = _forge(draw, scenario, "forge-2", draw.choice(("stray_plain", "stray_bad", "overrun")), _UP)
    return _with(scenario, stray, plain)


def changed_while_waiting(draw: Random, scenario: Scenario) -> Scenario:
    """Copies with another payload, of packets that wait for an earlier one."""
    job = replace(scenario.job, message_packets=draw.choice((2, 3, 4)))
    scenario = replace(scenario, job=job, switch=replace(scenario.switch, release="order"))
    # Of another rank than the loser: the switch has taken each of its packets when the forgery of it comes.
    loser, other = draw.sample(range(_ranks(scenario)), 2)
    lost = Drop("drop-1", _links(scenario), _UP, match=replace(_DATA, packet=0, source_rank=loser, attempt=1))
    match = replace(_DATA, source_rank=other)
    changed = Forge("forge-2", _host_links(scenario), _UP, match=match, what="changed", rate=draw.choice((0.5, 1.0)))
    return _with(scenario, lost, changed)


def forgetful_switch(draw: Random, scenario: Scenario) -> Scenario:
    """An ACK is lost, and the switch restarts: the retransmission is a contribution without company."""
    job = replace(scenario.job, message_packets=1, window_messages=draw.choice((2, 3)), hello=True)
    scenario = replace(scenario, job=replace(job, size_bytes=240 * draw.randint(3, 8), straggler=None))
    scenario = replace(scenario, transport=replace(scenario.transport, path_mtu=256, receive_late_ns=0))
    rank = draw.randrange(_ranks(scenario))
    lost = Drop("drop-1", _links(scenario), _UP, match=replace(_ACK, psn_offset=0, source_rank=rank, attempt=1))
    start = draw.randrange(1, 2 * travel_ns(scenario))
    return _with(scenario, lost, Kill("kill-2", _switch(draw, scenario), Window(start, start + draw.randint(1, 1000))))


def last_instead_of_only(draw: Random, scenario: Scenario) -> Scenario:
    """A LAST where a receiver that sees a gap between messages waits for an ONLY."""
    job = replace(scenario.job, message_packets=1, window_messages=draw.choice((2, 3)), hello=True)
    scenario = replace(scenario, job=replace(job, size_bytes=240 * draw.randint(3, 6)))
    scenario = replace(scenario, transport=replace(scenario.transport, path_mtu=256))
    lost = Drop("drop-1", _links(scenario), _DOWN, match=replace(_DATA, message=draw.choice((1, 2)), attempt=1))
    again = replace(_DATA, attempt=2)
    forge = Forge("forge-2", _host_links(scenario), _DOWN, what="misplaced", before=True, match=again)
    return _with(scenario, lost, forge)


RECIPES: tuple[Callable[[Random, Scenario], Scenario], ...] = (
    spent, strange_answers, acks_lost_then_fatal, strange_requests, strange_requests, plain_between, strays,
    changed_while_waiting, forgetful_switch, last_instead_of_only,
)  # fmt: skip
FABRIC_RECIPES = tuple(recipe for recipe in RECIPES if recipe not in (plain_between, strays))
"""where a host starts plain messages on its ring, its raw packets are taken for its rack's sum (protocol text, rules D,
I)"""
