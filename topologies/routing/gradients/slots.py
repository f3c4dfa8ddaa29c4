"""Slots of switches, first come first served, as GOAT's paper counts them: which fragments leave a switch, and merged
how far.

A fragment that finds no slot goes on as it is. What becomes of its siblings is where readings differ. `sticky`: an
identity that has gone around once always goes around (with this the paper's 17 packets come out). `fcfs`: a sibling
takes a slot that is free, and waits there for one that has passed (14 packets; it never leaves)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Fragment", "SlotSwitch", "run_slots"]


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of the gradient, with the workers whose values are in it."""

    name: str
    workers: frozenset[int]

    def __str__(self) -> str:
        return self.name + "".join(str(worker) for worker in sorted(self.workers))


@dataclass
class SlotSwitch:
    expected: frozenset[int]
    """workers whose values a sum must hold before it leaves"""
    slots: int
    sticky: bool
    sent: list[Fragment] = field(default_factory=list)
    _held: dict[str, frozenset[int]] = field(default_factory=dict)
    _passed: set[str] = field(default_factory=set)

    def arrive(self, fragment: Fragment) -> Fragment | None:
        """What leaves now, if anything."""
        name = fragment.name
        held = self._held.get(name)
        if held is None and (len(self._held) >= self.slots or (self.sticky and name in self._passed)):
            self._passed.add(name)
            self.sent.append(fragment)
            return fragment
        together = (held or frozenset()) | fragment.workers
        if together != self.expected:
            self._held[name] = together
            return None
        self._held.pop(name, None)
        out = Fragment(name, together)
        self.sent.append(out)
        return out


def run_slots(
    racks: Sequence[Sequence[tuple[str, int]]], slots: int, *, sticky: bool
) -> tuple[list[SlotSwitch], SlotSwitch]:
    """(switch of each rack, switch next to the server). `racks`: of each rack, (fragment, worker) in the order of
    arrival. The n-th of all racks arrive together. What leaves arrives at the switch next to the server in the order of
    the racks.
    """
    everyone = [frozenset(worker for _, worker in rack) for rack in racks]
    tors = [SlotSwitch(workers, slots, sticky) for workers in everyone]
    top = SlotSwitch(frozenset().union(*everyone), slots, sticky)
    for step in range(max(len(rack) for rack in racks)):
        for rack, tor in zip(racks, tors, strict=True):
            out = tor.arrive(Fragment(rack[step][0], frozenset((rack[step][1],)))) if step < len(rack) else None
            if out is not None:
                top.arrive(out)
    return tors, top
