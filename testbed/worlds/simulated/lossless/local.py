"""What concerns one node of a lossless network alone: how its wires obey, what waits in it, what is congested there.

The simulated world asks it of all nodes at once. In the emulated world each process knows its own node only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from switch_nodes.lossless.buffer import Account, Key, SharedBuffer
from switch_nodes.lossless.waits import Place, Waiting
from switch_nodes.lossless.watchdog import Watchdog, WatchdogAction, WatchdogKnobs
from switch_nodes.program import slot_waits
from testbed.history.pfc_events import FlowsPaused, PfcWatchdogActed, PfcWatchdogMeasured, PfcWatchdogRestored
from testbed.scenario.keys.pfc import Pfc
from testbed.scenario.lossless import response_of
from testbed.worlds.simulated.lossless.charge import Charge
from testbed.worlds.simulated.lossless.switch import LosslessSwitch
from testbed.worlds.simulated.lossless.wire import LosslessWire
from testbed.worlds.simulated.wire import Wire
from topologies import LinkShape, format_ip
from workloads.machine import Event
from workloads.wire.pfc import pause_ns

__all__ = [
    "congested",
    "ends_of_wires",
    "half_pause_ns",
    "make_obey",
    "place_of",
    "that_go_on",
    "waits_of",
    "watchdog_event",
]


def make_obey(wire: LosslessWire, pfc: Pfc, shape: LinkShape, *, from_switch: bool, to_switch: bool) -> None:
    """Let the sender of a wire obey PFC. The filter of a switch at the far end delays frames, where there is one."""
    wire.obey(pfc.classes, frozenset(pfc.lossless), response_of(pfc, shape))
    wire.delay_ns = 0 if to_switch else shape.delay_ns
    if pfc.watchdog is not None and from_switch:
        known = pfc.watchdog
        knobs = WatchdogKnobs(WatchdogAction(known.action), known.detect_ns, known.restore_ns, known.poll_ns)
        wire.watchdog = Watchdog(knobs, wire.pauses)


def half_pause_ns(pfc: Pfc, wire: Wire) -> int:
    """Half of the time of a pause that leaves on this wire, in ns."""
    return max(1, pause_ns(pfc.quanta, wire.rate_bps) // 2)


def watchdog_event(pfc: Pfc, wire: LosslessWire, pfc_class: int, begins: bool, dropped: int) -> Event:
    """The watchdog of a port changed."""
    if not begins:
        return PfcWatchdogRestored(wire.link, wire.direction, pfc_class, dropped)
    assert pfc.watchdog is not None
    return PfcWatchdogActed(wire.link, wire.direction, pfc_class, pfc.watchdog.action, dropped)


def ends_of_wires(wires: Iterable[Wire]) -> Iterator[Event]:
    """End the pauses of a node's outgoing wires; what there is to report at the end of a run."""
    for wire in wires:
        assert isinstance(wire, LosslessWire)
        wire.finish()
        for pfc_class, dropped in enumerate(wire.watchdog_dropped):
            if dropped:
                yield PfcWatchdogMeasured(wire.link, wire.direction, pfc_class, dropped)
        if wire.flows:
            texts = {f"{format_ip(a)}>{format_ip(b)}": ns for (a, b), ns in sorted(wire.flows.items())}
            yield FlowsPaused(wire.link, wire.direction, texts)


def place_of(switch: LosslessSwitch, key: Key) -> Place:
    """The link by which packets come to a (port, class)."""
    link, direction = switch.links[key[0]]
    return f"{link} {direction}", switch.name, key[1]


def waits_of(
    switch: LosslessSwitch, far: Mapping[int, str], is_still: Callable[[int, int], bool]
) -> dict[Place, list[Waiting]]:
    """What is charged to each (port, class) of a switch that asked for a pause, and waits for something. `far`: the
    switch at the other end, by port that leads to one. `is_still(port, class)`: nothing of the class comes by it."""
    assert switch.buffer is not None
    found: dict[Key, list[Waiting]] = {key: [] for key, each in switch.buffer.accounts.items() if each.is_paused}
    behind = defaultdict[int, set[Place]](set)
    charges: dict[int, Charge] = {}
    for port, wire in switch.wires.items():
        assert isinstance(wire, LosslessWire)
        for pfc_class, charge in wire.charges():
            if pfc_class >= 0 and port in far and wire.is_still(pfc_class):
                charges[id(charge)] = charge
                behind[id(charge)].add((f"{wire.link} {wire.direction}", far[port], pfc_class))
    for identity, charge in charges.items():
        if charge.account.key in found:
            found[charge.account.key].append(Waiting(charge.size, tuple(sorted(behind[identity]))))
    if switch.charges_slots:
        _add_slots(switch, found, is_still)
    return {place_of(switch, key): waiting for key, waiting in found.items()}


def _add_slots(
    switch: LosslessSwitch, found: Mapping[Key, list[Waiting]], is_still: Callable[[int, int], bool]
) -> None:
    for slot in slot_waits(switch.machine):
        for (port, pfc_class), waiting in found.items():
            if port in slot.held:
                lacks = (
                    place_of(switch, (missing, pfc_class)) for missing in slot.missing if is_still(missing, pfc_class)
                )
                waiting.append(Waiting(slot.held[port], tuple(sorted(lacks)), switch.name))


def that_go_on(accounts: Mapping[Place, tuple[SharedBuffer, Account]], stuck: Mapping[Place, int]) -> Iterator[Place]:
    """Which of these links their switch would let go on if only so many bytes of each were left, and nothing of all
    others. `accounts`: of all links that switches receive by."""
    shared = defaultdict[str, int](int)
    for place, size in stuck.items():
        _, account = accounts[place]
        shared[place[1]] += max(0, min(size, account.used) - account.limits.reserve)
    for place, size in stuck.items():
        buffer, account = accounts[place]
        left = min(size, account.used)
        headroom = size - left
        own = max(0, left - account.limits.reserve)
        free = buffer.shared_bytes - shared[place[1]]
        if not headroom and buffer.may_resume(own, buffer.threshold_at(account, free, own)):
            yield place


def congested(switch: LosslessSwitch, key: Key) -> tuple[str, tuple[str, str] | None]:
    """What a switch sees as the cause when it begins to pause a (port, class): `LINK DIRECTION`, `slots of SWITCH`, or
    its own name. And (link, direction) where this link is itself paused, so that the cause is further on."""
    most, paused = defaultdict[tuple[str, str], int](int), set[tuple[str, str]]()
    for wire in switch.wires.values():
        assert isinstance(wire, LosslessWire)
        if wire.is_paused(key[1]):
            paused.add((wire.link, wire.direction))
        for _, charge in wire.charges():
            if charge.account.key == key:
                most[wire.link, wire.direction] += charge.size
    of_slots = sum(slot.held.get(key[0], 0) for slot in slot_waits(switch.machine)) if switch.charges_slots else 0
    if of_slots > max(most.values(), default=0):
        return f"slots of {switch.name}", None
    if not most:
        return switch.name, None
    place = max(most, key=lambda each: (most[each], each))
    return " ".join(place), place if place in paused else None
