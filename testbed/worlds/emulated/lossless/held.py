"""Pauses that still held when a switch stopped. Each switch reports its own; put together, they show links that wait
for each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from switch_nodes.lossless.buffer import Account, Key, SharedBuffer
from switch_nodes.lossless.pauses import PauseState
from switch_nodes.lossless.waits import Place, Waiting, cycle_of, deadlocked
from testbed.history.pfc_events import PauseHeld, PfcDeadlocked
from testbed.scenario.lossless import buffer_of
from testbed.scenario.model import Scenario
from testbed.worlds.simulated.lossless import local
from testbed.worlds.simulated.lossless.fabric import cycle_texts
from testbed.worlds.simulated.lossless.switch import LosslessSwitch
from testbed.worlds.simulated.lossless.wire import LosslessWire
from topologies import Topology

__all__ = ["find_deadlock", "pauses_held"]

_AND, _SLOTS = " + ", "slots: "


def pauses_held(
    switch: LosslessSwitch,
    far: Mapping[int, str],
    asked_at: Mapping[Key, int],
    asked: Mapping[int, PauseState],
    now: int,
) -> Iterator[PauseHeld]:
    """Of a switch that stops. `far`: as of `waits_of`. `asked_at`: since when it asks, by (port, class). `asked`: what
    the neighbour at each port was asked for."""
    assert switch.buffer is not None
    waits = local.waits_of(switch, far, lambda port, pfc_class: asked[port].paused_since(pfc_class, now) is not None)
    since_of = {
        (f"{wire.link} {wire.direction}", pfc_class): since
        for port, wire in switch.wires.items()
        if isinstance(wire, LosslessWire)
        for of_port, pfc_class in switch.buffer.accounts
        if of_port == port and (since := wire.pauses.paused_since(pfc_class, now)) is not None
    }
    for key, account in switch.buffer.accounts.items():
        waiting = waits.get(local.place_of(switch, key))
        if waiting is None:
            continue
        bytes_by_text: dict[str, int] = {}
        since = max(switch.released_at.get(key, 0), asked_at.get(key, 0))
        for each in waiting:
            if each.behind:
                text = (_SLOTS if each.slot else "") + _AND.join(place for place, _, _ in each.behind)
                bytes_by_text[text] = bytes_by_text.get(text, 0) + each.size
                since = max(since, *(since_of.get((place, key[1]), 0) for place, _, _ in each.behind))
        link, direction = switch.links[key[0]]
        yield PauseHeld(link, direction, key[1], since, account.used, account.headroom_used, bytes_by_text)


def find_deadlock(scenario: Scenario, held: Sequence[tuple[int, str, PauseHeld]]) -> tuple[int, PfcDeadlocked] | None:
    """Links that wait for each other, and since when at the latest (ns). `held`: (time when a switch stopped, its
    name, pause).

    Switches stop one after the other. So what they report belongs together only if there was one time at which all of
    it held: after the last change of each, and before the first of them stopped.
    """
    assert scenario.pfc is not None
    topology, waits = scenario.topology, dict[Place, list[Waiting]]()
    times, accounts = dict[Place, tuple[int, int]](), dict[Place, tuple[SharedBuffer, Account]]()
    buffers = {switch.name: buffer_of(scenario.pfc, topology, switch.name) for switch in topology.switches}
    for stopped_at, switch, event in held:
        place = f"{event.link} {event.direction}", switch, event.pfc_class
        waits[place] = [_waiting(topology, switch, event.pfc_class, *item) for item in event.waiting.items()]
        port = next(port for port, link, _ in topology.ports(switch) if link.name == event.link)
        buffer = buffers[switch]
        account = buffer.accounts[port, event.pfc_class]
        account.used, account.headroom_used, account.is_paused = event.used, event.headroom_used, True
        times[place], accounts[place] = (event.since_ns, stopped_at), (buffer, account)
    stuck = deadlocked(waits, partial(local.that_go_on, accounts))
    cycle = cycle_of(stuck)
    if not cycle:
        return None
    since = max(times[place][0] for place, _ in cycle)
    if since > min(times[place][1] for place, _ in cycle):
        return None
    return since, PfcDeadlocked(cycle_texts(cycle), len(stuck))


def _waiting(topology: Topology, switch: str, pfc_class: int, text: str, size: int) -> Waiting:
    is_slot = text.startswith(_SLOTS)
    behind = []
    for name in text.removeprefix(_SLOTS).split(_AND):
        link = topology.link(name.partition(" ")[0])
        # A slot waits for what must come in by a link, a queue for what must go out by one.
        far = switch if is_slot else (link.a if link.b == switch else link.b)
        behind.append((name, far, pfc_class))
    return Waiting(size, tuple(behind), switch if is_slot else "")
