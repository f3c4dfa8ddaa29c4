"""Which losses of lossless classes faults explain: headroom is worked out for links that neither hold frames back, nor
add any, nor lose PFC frames.

A fault explains a loss if it hit the link of the lost packet before, in one of two ways (decided here):

1. It made packets late, or added some, in the direction of the packet. They come after the pause began.
2. In the other direction, it hit frames that are no packets of a transport, such as PFC frames, or it delayed any frame
   that others wait behind. XOFF is late or lost, or an old XON ends a pause.

In the emulated world, the machine may be late as well.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from testbed.checkers.context import CheckContext
from testbed.checkers.lateness import latest_ns
from testbed.faults.events import FaultStruck
from testbed.faults.kinds import FAULT_KINDS
from testbed.history import Record
from testbed.history.pfc_events import LinkPaused, PfcDropped
from testbed.terminal.numbers import nanoseconds

__all__ = ["Explained", "excuse_of_lateness", "explain_losses"]

_Place = tuple[str, str, int]
"""(link, direction, class)"""
_Hit = tuple[int, str]
"""(ns, name of the fault)"""
_NO_TRANSPORT = -1
_OPPOSITE = {"up": "down", "down": "up"}


@dataclass(frozen=True, slots=True)
class Explained:
    """Losses of one run, and the faults behind them."""

    losses: tuple[Record[PfcDropped], ...]
    """all losses of lossless classes"""
    unexplained: int
    """how many of them no fault explains"""
    faults: tuple[str, ...]
    """names of the faults that explain the others"""


def explain_losses(context: CheckContext) -> Explained:
    """By the rules above."""
    losses = context.events(PfcDropped)
    late, hit = defaultdict[tuple[str, str], list[_Hit]](list), defaultdict[tuple[str, str], list[_Hit]](list)
    for record in context.events(FaultStruck) if losses else ():
        place = record.event.target, record.event.direction
        if _makes_late(record.event.kind):
            late[place].append((record.t, record.event.fault))
        is_unknown = record.event.opcode == _NO_TRANSPORT and not record.event.packet
        if is_unknown or _holds_others(record.event.kind):
            hit[place].append((record.t, record.event.fault))
    unexplained, names = 0, set[str]()
    for loss in losses:
        link, direction = loss.event.link, loss.event.direction
        behind = [*late[link, direction], *hit[link, _OPPOSITE[direction]]]
        found = {name for t, name in behind if t <= loss.t}
        unexplained += not found
        names |= found
    return Explained(tuple(losses), unexplained, tuple(sorted(names)))


def excuse_of_lateness(context: CheckContext, losses: Sequence[Record[PfcDropped]]) -> str:
    """Why the losses of a run in real time say nothing: while an end of their links was late, more bytes came than did
    not fit. Counted are all losses of a link up to the end of its pause. Empty: they say something."""
    topology, latest, ends = context.plan.scenario.topology, 0, defaultdict[_Place, list[int]](list)
    for pause in (record.event for record in context.events(LinkPaused)):
        insort(ends[pause.link, pause.direction, pause.pfc_class], pause.until_ns)
    over = defaultdict[tuple[_Place, int], int](int)
    for record in sorted(losses, key=lambda each: each.t):
        event = record.event
        place = event.link, event.direction, event.pfc_class
        stretch = place, bisect_left(ends[place], record.t)
        # A packet that is dropped takes no room, so that all of the next one is too much.
        size = event.size if stretch in over else event.missing
        over[stretch] += size
    for ((name, _, _), _), size in over.items():
        link = topology.link(name)
        late_ns = latest_ns(context, link.a, link.b)
        if late_ns * link.shape.rate_bps < 8 * 10**9 * size:
            return ""
        latest = max(latest, late_ns)
    return f"the machine let nodes act up to {nanoseconds(latest)} late, and more came in that time than was missing"


def _makes_late(kind: str) -> bool:
    found = FAULT_KINDS.get(kind)
    return found is not None and (found.is_overtaken or found.delays or found.makes_copies)


def _holds_others(kind: str) -> bool:
    """A delayed frame keeps its place, so that those behind it are late as well."""
    found = FAULT_KINDS.get(kind)
    return found is not None and found.delays and not found.is_overtaken
